/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/resp_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"
#include "tools/numbers.h"

#define CONNECT_SECONDS 5
#define IN_BYTES_FIRST  65536u
#define OUT_BYTES_FIRST 65536u
#define FLUSH_BYTES     16384u   /* queued bytes that are worth a write of their own */
#define OUT_BYTES_FULL  1048576u /* unsent bytes from which on nothing more is queued */
#define SPINS_PER_CLOCK 64u      /* reads between two looks at the deadline */

/* Bytes [start, end) of a growing block. */
struct buffer {
    uint8_t *bytes;
    size_t cap;
    size_t start;
    size_t end;
};

struct torc_resp_client {
    int fd;
    struct buffer out;
    struct buffer in;
    struct torc_resp_reply reply;
    size_t reply_at; /* where in `in` the reply starts */
    size_t outstanding;
};

/* --- connecting --- */

/* Non-blocking from here on; errors leave the descriptor to the caller. */
static bool prepare_socket(int fd, bool is_tcp)
{
    int yes = 1;
    if (is_tcp && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) {
        return false;
    }
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* A connected descriptor, or -1 with errno. */
static int connect_to(int family, const struct sockaddr *address, socklen_t len)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    /* Bounds connect() too. */
    struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, address, len) == 0 && prepare_socket(fd, family != AF_UNIX)) {
        return fd;
    }
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static int connect_unix(const char *path, int *out_fd, char *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES,
                       "the path of a Unix socket has 1 to %zu bytes", sizeof address.sun_path - 1);
        return -EINVAL;
    }
    memcpy(address.sun_path, path, len);
    int fd = connect_to(AF_UNIX, (const struct sockaddr *)&address, sizeof address);
    if (fd < 0) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES, "%s: %s", path, strerror(errno));
        return -ENOENT;
    }
    *out_fd = fd;
    return 0;
}

static int connect_tcp(const char *host, const char *port, int *out_fd, char *error)
{
    uint64_t number = 0;
    /* The resolver would take the number modulo 65536. */
    if (!torc_number_parse(port, 1, 65535, &number)) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES,
                       "'%s' is not a port: a number from 1 to 65535", port);
        return -EINVAL;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES, "%s port %s: %s", host, port,
                       gai_strerror(rc));
        return -EINVAL;
    }
    int fd = -1;
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = connect_to(at->ai_family, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(list);
    if (fd < 0) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES, "%s port %s: %s", host, port,
                       strerror(errno));
        return -ENOENT;
    }
    *out_fd = fd;
    return 0;
}

/* Tell the kinds of address apart, and connect. */
static int connect_address(const char *address, int *out_fd, char *error)
{
    if (strncmp(address, "unix:", 5) == 0) {
        return connect_unix(address + 5, out_fd, error);
    }
    if (address[0] == '/') {
        return connect_unix(address, out_fd, error);
    }
    const char *colon = strrchr(address, ':');
    if (colon == NULL) {
        return connect_tcp("127.0.0.1", address, out_fd, error);
    }
    char host[256];
    const char *start = address;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && start[0] == '[' && start[len - 1] == ']') {
        start++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof host) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES,
                       "not an address: use unix:/path, host:port or port");
        return -EINVAL;
    }
    memcpy(host, start, len);
    host[len] = '\0';
    return connect_tcp(host, colon + 1, out_fd, error);
}

int torc_resp_client_open(const char *address, struct torc_resp_client **out_client,
                          char error[TORC_RESP_CLIENT_ERROR_BYTES])
{
    struct torc_resp_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        (void)snprintf(error, TORC_RESP_CLIENT_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    int rc = connect_address(address, &client->fd, error);
    if (rc != 0) {
        free(client);
        return rc;
    }
    *out_client = client;
    return 0;
}

void torc_resp_client_close(struct torc_resp_client *client)
{
    if (client != NULL) {
        (void)close(client->fd);
        free(client->out.bytes);
        free(client->in.bytes);
        torc_resp_reply_fini(&client->reply);
        free(client);
    }
}

/* --- buffers --- */

/* Make room for `n` bytes behind the end: by moving to the front, else by growing. 0, -ENOMEM. */
static int buffer_reserve(struct buffer *buffer, size_t n, size_t first)
{
    if (buffer->start == buffer->end) {
        buffer->start = buffer->end = 0;
    }
    if (buffer->cap - buffer->end >= n) {
        return 0;
    }
    if (buffer->start > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->end - buffer->start);
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (buffer->cap - buffer->end >= n) {
        return 0;
    }
    size_t cap = buffer->cap == 0 ? first : buffer->cap * 2;
    cap = cap - buffer->end >= n ? cap : buffer->end + n;
    uint8_t *grown = realloc(buffer->bytes, cap);
    if (grown == NULL) {
        return -ENOMEM;
    }
    buffer->bytes = grown;
    buffer->cap = cap;
    return 0;
}

/* Write what the socket takes now. 0, -EPIPE. */
static int flush(struct torc_resp_client *client)
{
    struct buffer *out = &client->out;
    while (out->start < out->end) {
        ssize_t n = send(client->fd, out->bytes + out->start, out->end - out->start, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno == EAGAIN ? 0 : -EPIPE;
        }
        out->start += (size_t)n;
    }
    return 0;
}

/* Read what is there. 1 something, 0 nothing yet; -EPIPE, -EMSGSIZE, -ENOMEM. */
static int drain(struct torc_resp_client *client)
{
    struct buffer *in = &client->in;
    if (in->end - in->start >= TORC_RESP_CLIENT_REPLY_BYTES) {
        return -EMSGSIZE;
    }
    int rc = buffer_reserve(in, 1, IN_BYTES_FIRST);
    if (rc != 0) {
        return rc;
    }
    ssize_t n = recv(client->fd, in->bytes + in->end, in->cap - in->end, 0);
    if (n > 0) {
        in->end += (size_t)n;
        return 1;
    }
    bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
    return later ? 0 : -EPIPE;
}

/* --- commands --- */

static void put(struct buffer *out, const void *bytes, size_t len)
{
    if (len > 0) {
        memcpy(out->bytes + out->end, bytes, len);
        out->end += len;
    }
}

/* "<type><n>\r\n" */
static void put_number(struct buffer *out, char type, size_t n)
{
    char line[32];
    char *p = line + sizeof line;
    *--p = '\n';
    *--p = '\r';
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    *--p = type;
    put(out, p, (size_t)(line + sizeof line - p));
}

int torc_resp_client_send(struct torc_resp_client *client, const struct torc_bytes *words,
                          size_t n_words)
{
    struct buffer *out = &client->out;
    size_t need = 32;
    for (size_t i = 0; i < n_words; i++) {
        need += words[i].len + 32;
    }
    if (out->end - out->start >= FLUSH_BYTES) {
        int rc = flush(client);
        if (rc != 0) {
            return rc;
        }
    }
    if (out->end - out->start >= OUT_BYTES_FULL) {
        return -EAGAIN;
    }
    int rc = buffer_reserve(out, need, OUT_BYTES_FIRST);
    if (rc != 0) {
        return rc;
    }
    put_number(out, '*', n_words);
    for (size_t i = 0; i < n_words; i++) {
        put_number(out, '$', words[i].len);
        put(out, words[i].data, words[i].len);
        put(out, "\r\n", 2);
    }
    client->outstanding++;
    return 0;
}

/* --- replies --- */

/* Take a reply out of what was read. 1, 0 not complete; -EBADMSG, -EMSGSIZE, -ENOMEM. */
static int take_reply(struct torc_resp_client *client)
{
    struct buffer *in = &client->in;
    size_t used = 0;
    if (in->start == in->end) {
        return 0;
    }
    int rc =
        torc_resp_reply_parse(&client->reply, in->bytes + in->start, in->end - in->start, &used);
    if (rc == 1) {
        client->reply_at = in->start;
        in->start += used;
        client->outstanding--;
    }
    return rc;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until the socket can be read, or written if anything is queued, or the deadline. */
static void sleep_on(const struct torc_resp_client *client, uint64_t now, uint64_t deadline)
{
    struct pollfd poller = {.fd = client->fd, .events = POLLIN};
    if (client->out.start < client->out.end) {
        poller.events |= POLLOUT;
    }
    uint64_t ms = (deadline - now) / 1000000 + 1;
    (void)poll(&poller, 1, ms > 1000 ? 1000 : (int)ms);
}

int torc_resp_client_receive(struct torc_resp_client *client, enum torc_resp_wait wait,
                             uint64_t timeout_ns, const struct torc_resp_reply **out_reply)
{
    if (client->outstanding == 0) {
        return -ENOENT;
    }
    int rc = take_reply(client);
    uint64_t deadline = 0;
    for (unsigned spins = 0; rc == 0; spins++) {
        rc = flush(client);
        if (rc == 0) {
            rc = drain(client);
        }
        if (rc == 1) {
            rc = take_reply(client);
            continue;
        }
        if (rc != 0) {
            return rc;
        }
        if (wait == TORC_RESP_SPIN && spins % SPINS_PER_CLOCK != SPINS_PER_CLOCK - 1) {
            relax();
            continue;
        }
        uint64_t now = torc_clock_monotonic_ns();
        if (deadline == 0) {
            deadline = now + timeout_ns;
        }
        if (now >= deadline) {
            return -ETIMEDOUT;
        }
        if (wait == TORC_RESP_SLEEP) {
            sleep_on(client, now, deadline);
        }
    }
    if (rc != 1) {
        return rc;
    }
    *out_reply = &client->reply;
    return 0;
}

struct torc_slice torc_resp_client_bytes(const struct torc_resp_client *client,
                                         struct torc_resp_span span)
{
    return span.len == SIZE_MAX
               ? torc_slice_of(NULL, 0)
               : torc_slice_of(client->in.bytes + client->reply_at + span.start, span.len);
}

size_t torc_resp_client_outstanding(const struct torc_resp_client *client)
{
    return client->outstanding;
}
