/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and life of a session. The order of sealing and mapping is the point of this file:
 *
 *   create   make, size and map; SHRINK and GROW sealed, so that nobody can truncate under us; the
 *            reply area FUTURE_WRITE too, so that the client can never map it for writing
 *   (the client maps exchange and request area for writing)
 *   seal     FUTURE_WRITE on these two: no new writable mappings, and no holes punched from now on;
 *            then all pages are made present. A page that cannot be had is an error here, never a
 *            SIGBUS in a poller
 */
#include "ring/session_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "ring/futex.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#define SEALS_SIZE  (F_SEAL_SHRINK | F_SEAL_GROW)
#define SEALS_WRITE (F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static int error_of_errno(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
        return -EAGAIN;
    case ENOMEM:
    case ENOSPC:
        return -ENOMEM;
    default:
        return -EINVAL;
    }
}

static int make_memfd(const char *name, size_t bytes)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) {
        fd = memfd_create(name, flags); /* before Linux 6.3 */
    }
    if (fd < 0) {
        return error_of_errno(errno);
    }
    if (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, SEALS_SIZE) != 0) {
        int error = error_of_errno(errno);
        (void)close(fd);
        return error;
    }
    return fd;
}

static void *map(int fd, size_t bytes, int protection)
{
    void *memory = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int populate(void *memory, size_t bytes, int advice)
{
    if (madvise(memory, bytes, advice) == 0) {
        return 0;
    }
    return errno == ENOMEM ? -ENOMEM : errno == EINVAL ? -EINVAL : -EBADMSG;
}

static size_t exchange_bytes(const struct torc_session *session)
{
    return torc_exchange_map_bytes(session->slots_count);
}

void torc_session_start_at(struct torc_session *session, uint64_t position)
{
    session->take_position = position;
    for (uint64_t p = position; p - position < session->slots_count; p++) {
        /* The reply of the lap before has been seen. */
        uint32_t turn = torc_turn_request(p, session->slots_log2) - 1;
        atomic_store_explicit(&torc_session_slot(session, p)->control,
                              torc_control_make(turn, TORC_MESSAGE_HEAD_BYTES, TORC_SLOT_INLINE),
                              memory_order_release);
    }
}

static bool options_are_valid(const struct torc_session_options *options)
{
    return torc_slots_are_valid(options->slots) &&
           torc_area_bytes_are_valid(options->request_area_bytes) &&
           torc_area_bytes_are_valid(options->reply_area_bytes) &&
           options->long_message_max <= TORC_MESSAGE_MAX_BYTES;
}

int torc_session_create(const struct torc_session_options *options,
                        struct torc_session **out_session)
{
    if (!options_are_valid(options)) {
        return -EINVAL;
    }
    struct torc_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        session->fds[i] = -1;
    }
    session->slots_count = options->slots;
    session->slot_mask = options->slots - 1;
    session->slots_log2 = torc_log2_floor(options->slots);
    session->request_size = options->request_area_bytes;
    session->reply_area.size = options->reply_area_bytes;
    session->long_message_max = options->long_message_max;
    session->is_asymmetric =
        !TORC_SYMMETRIC_ONLY && (options->features & TORC_FEATURE_MEMBARRIER) != 0;
    session->is_plain = true;

    int error = -ENOMEM;
    session->staging_size =
        torc_max_u64(TORC_SESSION_VISIT_BYTES, torc_area_message_max(options->request_area_bytes)) +
        (size_t)TORC_SESSION_BATCH * TORC_STAGING_ALIGN;
    session->staging = malloc(session->staging_size);
    if (session->staging == NULL) {
        goto fail;
    }
    /* Present from now on: a poller should not take page faults. */
    memset(session->staging, 0, session->staging_size);

    const struct {
        const char *name;
        size_t bytes;
    } memfds[] = {
        [TORC_FD_EXCHANGE] = {"torc-exchange", exchange_bytes(session)},
        [TORC_FD_REQUEST_AREA] = {"torc-request", torc_area_map_bytes(options->request_area_bytes)},
        [TORC_FD_REPLY_AREA] = {"torc-reply", torc_area_map_bytes(options->reply_area_bytes)},
    };
    for (unsigned i = 0; i < sizeof memfds / sizeof memfds[0]; i++) {
        session->fds[i] = error = make_memfd(memfds[i].name, memfds[i].bytes);
        if (error < 0) {
            goto fail;
        }
    }
    error = session->fds[TORC_FD_DOORBELL] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (error < 0) {
        error = error_of_errno(errno);
        goto fail;
    }

    error = -ENOMEM;
    session->slots =
        map(session->fds[TORC_FD_EXCHANGE], memfds[TORC_FD_EXCHANGE].bytes, PROT_READ | PROT_WRITE);
    if (session->slots == NULL) {
        goto fail;
    }
    session->reply_map = map(session->fds[TORC_FD_REPLY_AREA], memfds[TORC_FD_REPLY_AREA].bytes,
                             PROT_READ | PROT_WRITE);
    if (session->reply_map == NULL) {
        goto fail;
    }
    /* Our own mapping stays writable: the seal is about mappings made later. */
    if (fcntl(session->fds[TORC_FD_REPLY_AREA], F_ADD_SEALS, SEALS_WRITE) != 0) {
        error = error_of_errno(errno);
        goto fail;
    }
    session->reply_lines = session->reply_map;
    session->reply_area.bytes = (uint8_t *)session->reply_map + TORC_AREA_LINES_BYTES;
    atomic_store_explicit(&session->reply_lines->epoch, options->epoch, memory_order_release);
    torc_session_start_at(session, 0);
    *out_session = session;
    return 0;

fail:
    torc_session_destroy(session);
    return error;
}

int torc_session_seal(struct torc_session *session)
{
    int exchange = session->fds[TORC_FD_EXCHANGE];
    int request = session->fds[TORC_FD_REQUEST_AREA];
    if (session->request_map != NULL || exchange < 0 || request < 0) {
        return -EINVAL;
    }
    if (fcntl(exchange, F_ADD_SEALS, SEALS_WRITE) != 0 ||
        fcntl(request, F_ADD_SEALS, SEALS_WRITE) != 0) {
        return -EBADMSG; /* someone else added seals of their own */
    }
    size_t request_bytes = torc_area_map_bytes(session->request_size);
    void *memory = map(request, request_bytes, PROT_READ);
    if (memory == NULL) {
        return -ENOMEM;
    }
    int error = populate(session->slots, exchange_bytes(session), MADV_POPULATE_WRITE);
    if (error == 0) {
        error = populate(session->reply_map, torc_area_map_bytes(session->reply_area.size),
                         MADV_POPULATE_WRITE);
    }
    if (error == 0) {
        error = populate(memory, request_bytes, MADV_POPULATE_READ);
    }
    if (error != 0) {
        (void)munmap(memory, request_bytes);
        return error;
    }
    session->request_map = memory;
    session->request_lines = memory;
    session->request_bytes = (const uint8_t *)memory + TORC_AREA_LINES_BYTES;
    return 0;
}

void torc_session_close_memfds(struct torc_session *session)
{
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        if (i != TORC_FD_DOORBELL && session->fds[i] >= 0) {
            (void)close(session->fds[i]);
            session->fds[i] = -1;
        }
    }
}

void torc_session_destroy(struct torc_session *session)
{
    if (session == NULL) {
        return;
    }
    if (session->slots != NULL) {
        (void)munmap(session->slots, exchange_bytes(session));
    }
    if (session->request_map != NULL) {
        (void)munmap(session->request_map, torc_area_map_bytes(session->request_size));
    }
    if (session->reply_map != NULL) {
        (void)munmap(session->reply_map, torc_area_map_bytes(session->reply_area.size));
    }
    torc_session_close_memfds(session);
    if (session->fds[TORC_FD_DOORBELL] >= 0) {
        (void)close(session->fds[TORC_FD_DOORBELL]);
    }
    free(session->held.data);
    free(session->gather.data);
    free(session->staging);
    free(session);
}

int torc_session_fd(const struct torc_session *session, enum torc_session_fd which)
{
    return session->fds[which];
}

const struct torc_session_counters *torc_session_counters(const struct torc_session *session)
{
    return &session->counters;
}

uint64_t torc_session_bytes(const struct torc_session *session)
{
    uint64_t bytes = sizeof *session + session->staging_size + exchange_bytes(session) +
                     torc_area_map_bytes(session->request_size) +
                     torc_area_map_bytes(session->reply_area.size);
    bytes += session->held.data != NULL ? session->held.cap : 0;
    bytes += session->gather.data != NULL ? session->gather.total : 0;
    return bytes;
}
