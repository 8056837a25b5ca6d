/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagrams of the attach and their checks. The checks are pure functions on private bytes.
 */
#include "ring/handshake_private.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/futex.h"

#define FDS_MAX 8u
/* What the kernel may hand over in one datagram before it says MSG_CTRUNC: more than anyone asks
 * for, so that surplus ones are seen, counted and closed. */
#define FDS_RECEIVED_MAX 32u

static int error_of_socket(int error)
{
    switch (error) {
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
        return -EPIPE;
    case EAGAIN:
    case EINTR:
        return -EAGAIN;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
    case ETOOMANYREFS:
        return -ENOMEM;
    default:
        return -EINVAL;
    }
}

int torc_handshake_send(int socket, const void *message, size_t len, const int *fds, unsigned n_fds)
{
    if (n_fds > FDS_MAX || len == 0) {
        return -EINVAL;
    }
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec part = {.iov_len = len};
    memcpy(&part.iov_base, &message, sizeof message); /* iovec has no const; sendmsg only reads */
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds > 0) {
        memset(&control, 0, sizeof control);
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, n_fds * sizeof(int));
    }
    ssize_t sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    if (sent < 0) {
        return error_of_socket(errno);
    }
    return (size_t)sent == len ? 0 : -EINVAL;
}

static void close_all(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        (void)close(fds[i]);
    }
}

/* All descriptors of a received datagram; returns their number. */
static unsigned collect_fds(struct msghdr *header, int fds[FDS_RECEIVED_MAX])
{
    unsigned n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= bytes && n < FDS_RECEIVED_MAX; at += sizeof(int)) {
            memcpy(&fds[n++], CMSG_DATA(c) + at, sizeof(int));
        }
    }
    return n;
}

int torc_handshake_receive_some(int socket, void *buffer, size_t cap, int *fds, unsigned n_fds,
                                size_t *out_len, unsigned *out_n_fds)
{
    if (n_fds > FDS_MAX) {
        return -EINVAL;
    }
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_RECEIVED_MAX * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = buffer, .iov_len = cap};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    ssize_t len = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (len < 0) {
        return error_of_socket(errno);
    }
    int received[FDS_RECEIVED_MAX];
    unsigned n = collect_fds(&header, received);
    bool is_cut = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    if (len == 0 || is_cut || (n != 0 && n != n_fds)) {
        close_all(received, n);
        return len == 0 && !is_cut && n == 0 ? -EPIPE : -EBADMSG;
    }
    for (unsigned i = 0; i < n; i++) {
        fds[i] = received[i];
    }
    *out_len = (size_t)len;
    *out_n_fds = n;
    return 0;
}

int torc_handshake_receive(int socket, void *buffer, size_t cap, int *fds, unsigned n_fds,
                           size_t *out_len)
{
    int kept[FDS_MAX];
    size_t len;
    unsigned n;
    int result = torc_handshake_receive_some(socket, buffer, cap, kept, n_fds, &len, &n);
    if (result != 0) {
        return result;
    }
    if (n != n_fds) {
        return -EBADMSG; /* none came */
    }
    for (unsigned i = 0; i < n; i++) {
        fds[i] = kept[i];
    }
    *out_len = len;
    return 0;
}

static void say(char why[TORC_HANDSHAKE_TEXT_BYTES], const char *text)
{
    (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "%s", text);
}

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

/* Bytes in front of the first NUL; -1 if there is none, or one of them is not printable. */
static int name_length(const char name[TORC_HANDSHAKE_NAME_BYTES])
{
    int len = 0;
    while (len < (int)TORC_HANDSHAKE_NAME_BYTES && name[len] != '\0') {
        if (!is_printable(name[len])) {
            return -1;
        }
        len++;
    }
    return len < (int)TORC_HANDSHAKE_NAME_BYTES ? len : -1;
}

int torc_handshake_check_hello(const void *message, size_t len,
                               struct torc_session_options *in_out_options,
                               struct torc_hello *out_hello, char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    struct torc_hello hello;
    /* Magic, type and versions come first: an older or newer HELLO may be of another size, and is
     * told about versions, not about sizes. */
    size_t versions_end = offsetof(struct torc_hello, features);
    if (len < versions_end) {
        say(why, "not a HELLO of this protocol");
        return -EBADMSG;
    }
    memcpy(&hello, message, versions_end);
    if (hello.magic != TORC_HANDSHAKE_MAGIC || hello.type != TORC_HELLO) {
        say(why, "not a HELLO of this protocol");
        return -EBADMSG;
    }
    if (hello.version_min > TORC_HANDSHAKE_VERSION || hello.version_max < TORC_HANDSHAKE_VERSION) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES,
                       "client speaks protocol versions %u to %u, this server speaks %u",
                       hello.version_min, hello.version_max, TORC_HANDSHAKE_VERSION);
        return -EPROTO;
    }
    if (len != sizeof hello) {
        say(why, "HELLO has a wrong length");
        return -EBADMSG;
    }
    memcpy(&hello, message, sizeof hello);
    int name_len = name_length(hello.name);
    if (name_len < 0) {
        say(why, "session name is not printable ASCII of at most 63 bytes");
        return -EBADMSG;
    }
    memset(hello.name + name_len, 0, sizeof hello.name - (size_t)name_len);

    struct torc_session_options options = *in_out_options;
    options.slots = hello.slots != 0 ? hello.slots : options.slots;
    options.request_area_bytes =
        hello.request_area_bytes != 0 ? hello.request_area_bytes : options.request_area_bytes;
    options.reply_area_bytes =
        hello.reply_area_bytes != 0 ? hello.reply_area_bytes : options.reply_area_bytes;
    if (!torc_slots_are_valid(options.slots)) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "slots must be a power of two from %u to %u",
                       TORC_SLOTS_MIN, TORC_SLOTS_MAX);
        return -EINVAL;
    }
    if (!torc_area_bytes_are_valid(options.request_area_bytes) ||
        !torc_area_bytes_are_valid(options.reply_area_bytes)) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES,
                       "area bytes must be a power of two from %u to %u", TORC_AREA_BYTES_MIN,
                       TORC_AREA_BYTES_MAX);
        return -EINVAL;
    }
    options.features = 0;
    if ((hello.features & TORC_FEATURE_MEMBARRIER) != 0 && torc_membarrier_is_usable()) {
        options.features |= TORC_FEATURE_MEMBARRIER;
    }
    *in_out_options = options;
    *out_hello = hello;
    return 0;
}

struct torc_welcome torc_handshake_welcome(const struct torc_session_options *options,
                                           uint64_t session_id, uint32_t shard, uint32_t n_shards)
{
    return (struct torc_welcome){
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_WELCOME,
        .version = TORC_HANDSHAKE_VERSION,
        .shard = shard,
        .features = options->features,
        .epoch = options->epoch,
        .session_id = session_id,
        .slots = options->slots,
        .request_area_bytes = options->request_area_bytes,
        .reply_area_bytes = options->reply_area_bytes,
        .n_shards = n_shards,
        .long_message_max = options->long_message_max,
    };
}

static enum torc_refusal refusal_of_error(int error)
{
    switch (error) {
    case -EPROTO:
        return TORC_REFUSAL_VERSION;
    case -ENOSPC:
        return TORC_REFUSAL_QUOTA;
    case -ENOMEM:
    case -EAGAIN:
        return TORC_REFUSAL_MEMORY;
    case -EBADMSG:
        return TORC_REFUSAL_MALFORMED;
    case -EINVAL:
        return TORC_REFUSAL_WISH;
    default:
        return TORC_REFUSAL_OTHER;
    }
}

static int error_of_refusal(uint32_t reason)
{
    switch (reason) {
    case TORC_REFUSAL_VERSION:
        return -EPROTO;
    case TORC_REFUSAL_QUOTA:
        return -ENOSPC;
    case TORC_REFUSAL_MEMORY:
        return -ENOMEM;
    case TORC_REFUSAL_MALFORMED:
        return -EBADMSG;
    default:
        return -EINVAL;
    }
}

void torc_handshake_refuse(int socket, int error, const char *text)
{
    struct torc_refused refused = {
        .magic = TORC_HANDSHAKE_MAGIC, .type = TORC_REFUSED, .reason = refusal_of_error(error)};
    (void)snprintf(refused.text, sizeof refused.text, "%s", text);
    int ignored = torc_handshake_send(socket, &refused, sizeof refused, NULL, 0);
    (void)ignored;
}

struct torc_handshake_mark torc_handshake_mark(enum torc_handshake_type type)
{
    return (struct torc_handshake_mark){.magic = TORC_HANDSHAKE_MAGIC, .type = type};
}

bool torc_handshake_is_mark(const void *message, size_t len, enum torc_handshake_type type)
{
    struct torc_handshake_mark mark;
    if (len != sizeof mark) {
        return false;
    }
    memcpy(&mark, message, sizeof mark);
    return mark.magic == TORC_HANDSHAKE_MAGIC && mark.type == type;
}

/* Take over a text for a person from the peer: it ends, and does nothing to a terminal. */
static void copy_text(char why[TORC_HANDSHAKE_TEXT_BYTES],
                      const char text[TORC_HANDSHAKE_TEXT_BYTES])
{
    size_t len = 0;
    while (len < TORC_HANDSHAKE_TEXT_BYTES - 1 && text[len] != '\0') {
        why[len] = text[len];
        if (!is_printable(why[len])) {
            why[len] = '?';
        }
        len++;
    }
    why[len] = '\0';
}

int torc_handshake_check_welcome(const void *message, size_t len, struct torc_welcome *out_welcome,
                                 char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    struct torc_handshake_mark head;
    if (len < sizeof head) {
        say(why, "the server's answer is cut off");
        return -EBADMSG;
    }
    memcpy(&head, message, sizeof head);
    if (head.magic == TORC_HANDSHAKE_MAGIC && head.type == TORC_REFUSED &&
        len == sizeof(struct torc_refused)) {
        struct torc_refused refused;
        memcpy(&refused, message, sizeof refused);
        copy_text(why, refused.text);
        return error_of_refusal(refused.reason);
    }
    struct torc_welcome welcome;
    if (head.magic != TORC_HANDSHAKE_MAGIC || head.type != TORC_WELCOME || len != sizeof welcome) {
        say(why, "the server's answer is neither WELCOME nor REFUSED");
        return -EBADMSG;
    }
    memcpy(&welcome, message, sizeof welcome);
    if (welcome.version != TORC_HANDSHAKE_VERSION) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES,
                       "server chose protocol version %u, this client speaks %u", welcome.version,
                       TORC_HANDSHAKE_VERSION);
        return -EPROTO;
    }
    if (!torc_slots_are_valid(welcome.slots) ||
        !torc_area_bytes_are_valid(welcome.request_area_bytes) ||
        !torc_area_bytes_are_valid(welcome.reply_area_bytes) ||
        welcome.long_message_max > TORC_MESSAGE_MAX_BYTES || welcome.n_shards == 0 ||
        welcome.shard >= welcome.n_shards) {
        say(why, "the server's WELCOME has sizes out of range");
        return -EBADMSG;
    }
    *out_welcome = welcome;
    return 0;
}
