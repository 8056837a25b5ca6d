/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's half of the handshake: connect, HELLO, check and map what comes, MAPPED, READY.
 * Everything is bounded by one deadline. Also how an attachment is made and taken apart.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/clock.h"
#include "core/placement.h"
#include "ring/attachment_private.h"
#include "ring/futex.h"
#include "ring/handshake_private.h"

#define SPIN_NS_DEFAULT 20000u
#define SLEEP_NS_MAX    50000000u

struct mapping {
    void *memory; /* NULL: not mapped */
    size_t bytes;
};

/* --- making and taking apart --- */

struct torc_attachment *torc_attachment_make(const struct torc_attachment_parts *parts)
{
    const struct torc_welcome *welcome = parts->welcome;
    struct torc_attachment *attachment = calloc(1, sizeof *attachment);
    if (attachment == NULL) {
        return NULL;
    }
    attachment->area_ends = calloc(welcome->slots, sizeof *attachment->area_ends);
    if (attachment->area_ends == NULL) {
        free(attachment);
        return NULL;
    }
    attachment->slots = parts->exchange_map;
    attachment->slot_mask = welcome->slots - 1;
    attachment->slots_log2 = torc_log2_floor(welcome->slots);
    attachment->request_map = parts->request_map;
    attachment->request_lines = parts->request_map;
    attachment->request_area.bytes = (uint8_t *)parts->request_map + TORC_AREA_LINES_BYTES;
    attachment->request_area.size = welcome->request_area_bytes;
    attachment->reply_map = parts->reply_map;
    attachment->reply_lines = parts->reply_map;
    attachment->reply_bytes = (const uint8_t *)parts->reply_map + TORC_AREA_LINES_BYTES;
    attachment->reply_size = welcome->reply_area_bytes;
    attachment->is_asymmetric =
        !TORC_SYMMETRIC_ONLY && (welcome->features & TORC_FEATURE_MEMBARRIER) != 0;
    attachment->long_message_max = welcome->long_message_max;
    attachment->epoch = welcome->epoch;
    attachment->session_id = welcome->session_id;
    attachment->wait = parts->wait;
    attachment->spin_ns = parts->spin_ns != 0 ? parts->spin_ns : SPIN_NS_DEFAULT;
    if (torc_placement_cpus_allowed() <= 1) {
        attachment->spin_ns = 0;
    }
    attachment->sleep_ns_max = SLEEP_NS_MAX;
    attachment->socket = parts->socket;
    attachment->doorbell = parts->doorbell;
    return attachment;
}

void torc_attachment_close(struct torc_attachment *attachment)
{
    if (attachment == NULL) {
        return;
    }
    if (!attachment->borrows_mappings) {
        (void)munmap(attachment->slots, torc_exchange_map_bytes(attachment->slot_mask + 1));
        (void)munmap(attachment->request_map, torc_area_map_bytes(attachment->request_area.size));
        (void)munmap(attachment->reply_map, torc_area_map_bytes(attachment->reply_size));
    }
    if (attachment->socket >= 0) {
        (void)close(attachment->socket);
    }
    (void)close(attachment->doorbell);
    free(attachment->push.data);
    free(attachment->pull.data);
    free(attachment->area_ends);
    free(attachment);
}

/* --- the handshake --- */

/* One attach in progress. */
struct attach {
    uint64_t deadline_ns;
    int socket;
    int fds[TORC_SESSION_FDS];
    struct mapping maps[TORC_FD_DOORBELL]; /* by enum torc_session_fd */
    struct torc_welcome welcome;
    char why[TORC_HANDSHAKE_TEXT_BYTES];
};

static int fail(struct attach *attach, int error, const char *text)
{
    (void)snprintf(attach->why, sizeof attach->why, "%s", text);
    return error;
}

/* Bound the socket's next calls by what is left. False: nothing is. */
static bool set_time_limit(const struct attach *attach)
{
    uint64_t now = torc_clock_monotonic_ns();
    if (now >= attach->deadline_ns) {
        return false;
    }
    /* Up to the next microsecond: zero would mean no limit. */
    uint64_t left_us = (attach->deadline_ns - now) / 1000 + 1;
    struct timeval limit = {.tv_sec = (time_t)(left_us / 1000000),
                            .tv_usec = (suseconds_t)(left_us % 1000000)};
    return setsockopt(attach->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
           setsockopt(attach->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

static int fail_late(struct attach *attach)
{
    return fail(attach, -ETIMEDOUT, "the server did not finish the handshake in time");
}

static int connect_to(struct attach *attach, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path) {
        return fail(attach, -EINVAL, "the path of the control socket is empty or too long");
    }
    memcpy(address.sun_path, path, len);
    attach->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (attach->socket < 0) {
        return fail(attach, -ENOMEM, "no socket: out of descriptors or memory");
    }
    for (;;) {
        if (!set_time_limit(attach)) {
            return fail_late(attach);
        }
        if (connect(attach->socket, (const struct sockaddr *)&address, sizeof address) == 0) {
            return 0;
        }
        switch (errno) {
        case EINTR:
        case EAGAIN: /* a full backlog, until the time limit */
            continue;
        case ENOENT:
        case ENOTDIR:
        case ECONNREFUSED:
            (void)snprintf(attach->why, sizeof attach->why, "nobody listens on %s", path);
            return -ENOENT;
        case EACCES:
        case EPERM:
            (void)snprintf(attach->why, sizeof attach->why, "no permission for %s", path);
            return -EINVAL;
        default:
            (void)snprintf(attach->why, sizeof attach->why, "%s is no control socket of torc",
                           path);
            return -EINVAL;
        }
    }
}

static int send_to(struct attach *attach, const void *message, size_t len)
{
    for (;;) {
        if (!set_time_limit(attach)) {
            return fail_late(attach);
        }
        int result = torc_handshake_send(attach->socket, message, len, NULL, 0);
        if (result == 0) {
            return 0;
        }
        if (result != -EAGAIN) {
            return fail(attach, result, "the server closed the connection");
        }
    }
}

/* Receive one datagram, with all descriptors of a session or none. */
static int receive_from(struct attach *attach, void *buffer, size_t cap, size_t *out_len,
                        unsigned *out_n_fds)
{
    for (;;) {
        if (!set_time_limit(attach)) {
            return fail_late(attach);
        }
        int result = torc_handshake_receive_some(attach->socket, buffer, cap, attach->fds,
                                                 TORC_SESSION_FDS, out_len, out_n_fds);
        if (result == 0) {
            return 0;
        }
        if (result == -EPIPE) {
            return fail(attach, result, "the server closed the connection");
        }
        if (result != -EAGAIN) {
            return fail(attach, result, "the server's answer is not of this protocol");
        }
    }
}

static int say_hello(struct attach *attach, const struct torc_attachment_options *options)
{
    struct torc_hello hello = {
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_HELLO,
        .version_min = TORC_HANDSHAKE_VERSION,
        .version_max = TORC_HANDSHAKE_VERSION,
        .features = torc_membarrier_register() ? TORC_FEATURE_MEMBARRIER : 0,
        .slots = options->slots,
        .request_area_bytes = options->request_area_bytes,
        .reply_area_bytes = options->reply_area_bytes,
        .database = options->database,
    };
    const char *name = options->name != NULL ? options->name : "";
    size_t len = strlen(name);
    if (len >= sizeof hello.name) {
        return fail(attach, -EINVAL, "the name of the session is longer than 63 bytes");
    }
    memcpy(hello.name, name, len);
    return send_to(attach, &hello, sizeof hello);
}

static int hear_welcome(struct attach *attach)
{
    union {
        struct torc_welcome welcome;
        struct torc_refused refused;
    } answer;
    size_t len;
    unsigned n_fds;
    int result = receive_from(attach, &answer, sizeof answer, &len, &n_fds);
    if (result != 0) {
        return result;
    }
    result = torc_handshake_check_welcome(&answer, len, &attach->welcome, attach->why);
    if (result == 0 && n_fds != TORC_SESSION_FDS) {
        result = fail(attach, -EBADMSG, "the server's WELCOME came without descriptors");
    }
    return result;
}

/* Seals and size of one memfd are as the server promises; map it. */
static int map_one(struct attach *attach, enum torc_session_fd which, size_t bytes, int seals,
                   int protection)
{
    int fd = attach->fds[which];
    struct stat status;
    int has = fcntl(fd, F_GET_SEALS);
    if (has < 0 || (has & seals) != seals) {
        return fail(attach, -EBADMSG, "the server's memory is not sealed as it must be");
    }
    if (fstat(fd, &status) != 0 || (uint64_t)status.st_size != bytes) {
        return fail(attach, -EBADMSG, "the server's memory has not the size that it said");
    }
    void *memory = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        return fail(attach, -ENOMEM, "no address space for the session");
    }
    attach->maps[which] = (struct mapping){memory, bytes};
    int advice = (protection & PROT_WRITE) != 0 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (madvise(memory, bytes, MADV_DONTFORK) != 0 || madvise(memory, bytes, advice) != 0) {
        return fail(attach, -ENOMEM, "no memory for the session");
    }
    return 0;
}

static int map_all(struct attach *attach)
{
    const struct torc_welcome *welcome = &attach->welcome;
    const int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
    int result = map_one(attach, TORC_FD_EXCHANGE, torc_exchange_map_bytes(welcome->slots),
                         size_seals, PROT_READ | PROT_WRITE);
    if (result == 0) {
        result =
            map_one(attach, TORC_FD_REQUEST_AREA, torc_area_map_bytes(welcome->request_area_bytes),
                    size_seals, PROT_READ | PROT_WRITE);
    }
    if (result == 0) {
        result = map_one(attach, TORC_FD_REPLY_AREA, torc_area_map_bytes(welcome->reply_area_bytes),
                         size_seals | F_SEAL_FUTURE_WRITE, PROT_READ);
    }
    if (result != 0) {
        return result;
    }
    const struct torc_reply_lines *lines = attach->maps[TORC_FD_REPLY_AREA].memory;
    if (atomic_load_explicit(&lines->epoch, memory_order_acquire) != welcome->epoch) {
        return fail(attach, -EBADMSG, "the server's memory is of another run");
    }
    return 0;
}

static int hear_ready(struct attach *attach)
{
    struct torc_handshake_mark mapped = torc_handshake_mark(TORC_MAPPED);
    int result = send_to(attach, &mapped, sizeof mapped);
    if (result != 0) {
        return result;
    }
    struct torc_refused answer;
    size_t len;
    unsigned n_fds;
    int fds[TORC_SESSION_FDS];
    memcpy(fds, attach->fds, sizeof fds); /* none may come now: what is here stays ours */
    result = receive_from(attach, &answer, sizeof answer, &len, &n_fds);
    if (result == 0 && n_fds != 0) {
        for (unsigned i = 0; i < n_fds; i++) {
            (void)close(attach->fds[i]);
        }
        result = fail(attach, -EBADMSG, "the server sent descriptors again");
    }
    memcpy(attach->fds, fds, sizeof fds);
    if (result != 0 || torc_handshake_is_mark(&answer, len, TORC_READY)) {
        return result;
    }
    struct torc_welcome second;
    result = torc_handshake_check_welcome(&answer, len, &second, attach->why);
    return result != 0 ? result : fail(attach, -EBADMSG, "the server said WELCOME twice");
}

static int run_handshake(struct attach *attach, const struct torc_attachment_options *options)
{
    int result = connect_to(attach, options->path);
    if (result == 0) {
        result = say_hello(attach, options);
    }
    if (result == 0) {
        result = hear_welcome(attach);
    }
    if (result == 0) {
        result = map_all(attach);
    }
    return result == 0 ? hear_ready(attach) : result;
}

int torc_attachment_open(const struct torc_attachment_options *options,
                         struct torc_attachment **out_attachment,
                         char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    struct attach attach = {.socket = -1, .fds = {-1, -1, -1, -1}};
    attach.deadline_ns = options->deadline_ns != 0
                             ? options->deadline_ns
                             : torc_clock_monotonic_ns() + TORC_HANDSHAKE_TIMEOUT_NS;
    struct torc_attachment *attachment = NULL;
    int result = -EINVAL;
    if (options->path == NULL || options->wait > TORC_WAIT_YIELD) {
        (void)fail(&attach, result, "no path, or an unknown mode of waiting");
    } else {
        result = run_handshake(&attach, options);
    }
    if (result == 0) {
        struct torc_attachment_parts parts = {
            .welcome = &attach.welcome,
            .exchange_map = attach.maps[TORC_FD_EXCHANGE].memory,
            .request_map = attach.maps[TORC_FD_REQUEST_AREA].memory,
            .reply_map = attach.maps[TORC_FD_REPLY_AREA].memory,
            .socket = attach.socket,
            .doorbell = attach.fds[TORC_FD_DOORBELL],
            .wait = options->wait,
            .spin_ns = options->spin_ns,
        };
        attachment = torc_attachment_make(&parts);
        if (attachment == NULL) {
            result = fail(&attach, -ENOMEM, "no memory for the session");
        }
    }
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        bool is_kept = result == 0 && i == TORC_FD_DOORBELL;
        if (attach.fds[i] >= 0 && !is_kept) {
            (void)close(attach.fds[i]);
        }
    }
    if (result == 0) {
        *out_attachment = attachment;
        return 0;
    }
    for (unsigned i = 0; i < TORC_FD_DOORBELL; i++) {
        if (attach.maps[i].memory != NULL) {
            (void)munmap(attach.maps[i].memory, attach.maps[i].bytes);
        }
    }
    if (attach.socket >= 0) {
        (void)close(attach.socket);
    }
    if (why != NULL) {
        memcpy(why, attach.why, sizeof attach.why);
    }
    return result;
}
