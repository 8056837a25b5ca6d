/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP2 over a Unix or TCP socket.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "perf/load/load_road.h"
#include "perf/load/resp_encode.h"
#include "perf/load/resp_inplace.h"
#include "tools/numbers.h"

#define READ_BYTES      131072u
#define OUT_BYTES_FIRST 262144u
#define FLUSH_BYTES     131072u /* so many encoded bytes leave at once, and cannot pile up */
#define OUT_BYTES_FULL  4194304u
#define LOOKS_PER_CLOCK 64u

struct resp {
    struct torc_load_road road;
    struct torc_load_road_options options;
    int fd;
    uint8_t *out;
    size_t out_cap;
    size_t out_start; /* bytes [out_start, out_end) did not leave yet */
    size_t out_end;
    struct torc_resp_reader in;
    char error[TORC_LOAD_ERROR_BYTES];
};

static struct resp *of(struct torc_load_road *road)
{
    return (struct resp *)road;
}

static const struct resp *of_const(const struct torc_load_road *road)
{
    return (const struct resp *)road;
}

static int fail(struct resp *resp, int code, const char *what)
{
    (void)snprintf(resp->error, sizeof resp->error, "%s", what);
    return code;
}

/* --- out --- */

/* Send what the socket takes now. 0, -EPIPE. */
static int send_some(struct resp *resp)
{
    while (resp->out_start < resp->out_end) {
        ssize_t n = send(resp->fd, resp->out + resp->out_start, resp->out_end - resp->out_start,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n < 0) {
            return fail(resp, -EPIPE, strerror(errno));
        }
        resp->out_start += (size_t)n;
    }
    resp->out_start = resp->out_end = 0;
    return 0;
}

/* Room for `n` more bytes. */
static int reserve_out(struct resp *resp, size_t n)
{
    if (resp->out_cap - resp->out_end >= n) {
        return 0;
    }
    if (resp->out_start > 0) {
        memmove(resp->out, resp->out + resp->out_start, resp->out_end - resp->out_start);
        resp->out_end -= resp->out_start;
        resp->out_start = 0;
    }
    if (resp->out_cap - resp->out_end >= n) {
        return 0;
    }
    size_t cap = resp->out_cap == 0 ? OUT_BYTES_FIRST : 2 * resp->out_cap;
    cap = cap - resp->out_end >= n ? cap : resp->out_end + n;
    uint8_t *grown = realloc(resp->out, cap);
    if (grown == NULL) {
        return fail(resp, -ENOMEM, "no memory");
    }
    resp->out = grown;
    resp->out_cap = cap;
    return 0;
}

static int socket_submit(struct torc_load_road *road, const struct torc_load_request *request)
{
    struct resp *resp = of(road);
    /* With so much unsent the peer is not reading: it may be waiting for us to read. */
    if (resp->out_end - resp->out_start >= OUT_BYTES_FULL) {
        return -EAGAIN;
    }
    bool is_encoded = request->wire.len > 0;
    int rc = reserve_out(resp, is_encoded ? request->wire.len : torc_resp_encode_bound(request));
    if (rc != 0) {
        return rc;
    }
    if (is_encoded) {
        memcpy(resp->out + resp->out_end, request->wire.data, request->wire.len);
        resp->out_end += request->wire.len;
    } else {
        resp->out_end += torc_resp_encode(request, resp->out + resp->out_end);
    }
    return resp->out_end - resp->out_start >= FLUSH_BYTES ? send_some(resp) : 0;
}

static int socket_flush(struct torc_load_road *road)
{
    return send_some(of(road));
}

/* --- in --- */

/* One recv(). The number of bytes that came; -EAGAIN, -EPIPE, -ENOMEM. */
static int receive(struct resp *resp, int flags)
{
    uint8_t *space = NULL;
    int64_t room = torc_resp_reader_reserve(&resp->in, READ_BYTES, &space);
    if (room < 0) {
        return fail(resp, -ENOMEM, "no memory");
    }
    ssize_t n = 0;
    do {
        n = recv(resp->fd, space, torc_min_u64((uint64_t)room, INT32_MAX), flags);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        resp->road.read_ticks = torc_clock_ticks(resp->options.clock);
        torc_resp_reader_commit(&resp->in, (size_t)n);
        return (int)n;
    }
    if (n == 0) {
        return fail(resp, -EPIPE, "the server closed the connection");
    }
    return errno == EAGAIN ? -EAGAIN : fail(resp, -EPIPE, strerror(errno));
}

/* Sleep until the socket can be read, or written while something is unsent; up to the deadline. */
static int sleep_for_socket(struct resp *resp, uint64_t left_ns)
{
    struct pollfd fd = {.fd = resp->fd, .events = POLLIN};
    if (resp->out_start < resp->out_end) {
        fd.events |= POLLOUT;
    }
    struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                            .tv_nsec = (long)(left_ns % 1000000000u)};
    if (ppoll(&fd, 1, &left, NULL) < 0 && errno != EINTR) {
        return fail(resp, -EPIPE, strerror(errno));
    }
    return 0;
}

/* Wait for bytes. > 0, -ETIMEDOUT, -EPIPE, -ENOMEM. */
static int wait_for_bytes(struct resp *resp)
{
    uint64_t deadline_ns = torc_clock_monotonic_ns() + resp->options.timeout_ns;
    for (unsigned looks = 1;; looks++) {
        int rc = send_some(resp);
        if (rc != 0) {
            return rc;
        }
        bool sleeps = resp->options.wait == TORC_LOAD_ADAPTIVE;
        bool has_unsent = resp->out_start < resp->out_end;
        /* SO_RCVTIMEO bounds a recv() that sleeps. */
        rc = receive(resp, sleeps && !has_unsent ? 0 : MSG_DONTWAIT);
        if (rc != -EAGAIN) {
            return rc;
        }
        if (sleeps || looks % LOOKS_PER_CLOCK == 0) {
            uint64_t now_ns = torc_clock_monotonic_ns();
            if (now_ns >= deadline_ns) {
                (void)snprintf(resp->error, sizeof resp->error, "no reply within %.3g s",
                               (double)resp->options.timeout_ns / 1e9);
                return -ETIMEDOUT;
            }
            rc = sleeps ? sleep_for_socket(resp, deadline_ns - now_ns) : 0;
            if (rc != 0) {
                return rc;
            }
        }
        if (resp->options.wait == TORC_LOAD_YIELD) {
            (void)sched_yield();
        }
    }
}

static int socket_collect(struct torc_load_road *road, enum torc_load_effort effort,
                          struct torc_load_reply *out_reply)
{
    struct resp *resp = of(road);
    for (;;) {
        int rc = torc_resp_reader_next(&resp->in, out_reply);
        if (rc == -EBADMSG) {
            return fail(resp, rc, "these bytes are no reply of RESP2");
        }
        if (rc != -EAGAIN || effort == TORC_LOAD_AT_HAND) {
            return rc == -ENOMEM ? fail(resp, rc, "no memory") : rc;
        }
        rc = effort == TORC_LOAD_WAIT ? wait_for_bytes(resp) : receive(resp, MSG_DONTWAIT);
        if (rc < 0) {
            return rc;
        }
    }
}

static struct torc_bytes socket_at(const struct torc_load_road *road, size_t i)
{
    return torc_resp_reader_at(&of_const(road)->in, i);
}

static const char *socket_error(const struct torc_load_road *road)
{
    return of_const(road)->error;
}

static void socket_close(struct torc_load_road *road)
{
    struct resp *resp = of(road);
    if (resp->fd >= 0) {
        (void)close(resp->fd);
    }
    free(resp->out);
    torc_resp_reader_fini(&resp->in);
    free(resp);
}

/* --- connecting --- */

/* A connected socket whose calls are bounded by the timeout, or -1 with errno. */
static int connect_to(const struct resp *resp, int family, const struct sockaddr *address,
                      socklen_t len)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    uint64_t ns = resp->options.timeout_ns;
    struct timeval limit = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_usec = (suseconds_t)(ns % 1000000000u / 1000u)};
    int yes = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, address, len) == 0 &&
        (family == AF_UNIX || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0)) {
        return fd;
    }
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static int connect_unix(struct resp *resp, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path) {
        return fail(resp, -EINVAL, "the path of a Unix socket has 1 to 107 bytes");
    }
    memcpy(address.sun_path, path, len);
    resp->fd = connect_to(resp, AF_UNIX, (const struct sockaddr *)&address, sizeof address);
    if (resp->fd < 0) {
        (void)snprintf(resp->error, sizeof resp->error, "%s: %s", path, strerror(errno));
        return -EPIPE;
    }
    return 0;
}

/* "host:port", "[host]:port". */
static int connect_tcp(struct resp *resp, const char *address)
{
    const char *colon = strrchr(address, ':');
    uint64_t port = 0;
    char host[256];
    size_t len = colon != NULL ? (size_t)(colon - address) : 0;
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    /* The resolver would take the port modulo 65536. */
    if (len == 0 || len >= sizeof host || !torc_number_parse(colon + 1, 1, 65535, &port)) {
        return fail(resp, -EINVAL, "after tcp: come a host, a colon and a port from 1 to 65535");
    }
    memcpy(host, address, len);
    host[len] = '\0';
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, colon + 1, &hints, &list);
    if (rc != 0) {
        (void)snprintf(resp->error, sizeof resp->error, "%.100s: %s", host, gai_strerror(rc));
        return -EPIPE;
    }
    for (const struct addrinfo *at = list; at != NULL && resp->fd < 0; at = at->ai_next) {
        resp->fd = connect_to(resp, at->ai_family, at->ai_addr, at->ai_addrlen);
    }
    int saved = errno;
    freeaddrinfo(list);
    if (resp->fd < 0) {
        (void)snprintf(resp->error, sizeof resp->error, "%.100s port %.5s: %s", host, colon + 1,
                       strerror(saved));
        return -EPIPE;
    }
    return 0;
}

int torc_load_road_open_socket(const char *address, const struct torc_load_road_options *options,
                               struct torc_load_road **out_road, char error[TORC_LOAD_ERROR_BYTES])
{
    static const struct torc_load_road_ops ops = {
        .bound = torc_resp_encode_bound,
        .encode = torc_resp_encode,
        .submit = socket_submit,
        .flush = socket_flush,
        .collect = socket_collect,
        .at = socket_at,
        .error = socket_error,
        .close = socket_close,
    };
    struct resp *resp = calloc(1, sizeof *resp);
    if (resp == NULL) {
        (void)snprintf(error, TORC_LOAD_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    bool is_unix = strncmp(address, "unix:", 5) == 0;
    resp->road =
        (struct torc_load_road){.ops = &ops, .name = is_unix ? "unix" : "tcp", .is_batched = true};
    resp->options = *options;
    resp->fd = -1;
    int rc = is_unix ? connect_unix(resp, address + 5) : connect_tcp(resp, address + 4);
    if (rc != 0) {
        memcpy(error, resp->error, TORC_LOAD_ERROR_BYTES);
        socket_close(&resp->road);
        return rc;
    }
    *out_road = &resp->road;
    return 0;
}
