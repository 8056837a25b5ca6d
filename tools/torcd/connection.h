/* SPDX-License-Identifier: Apache-2.0
 *
 * Connection: one RESP client, TCP or Unix, served without blocking inside a poller.
 *
 *   socket -> [ input buffer ] -> parser -> batch of calls -> [ output buffer ] -> socket
 *
 * Words of requests are slices of the input buffer; replies are written straight into the output
 * buffer, which is sent once per visit. While a client leaves many replies unread its requests
 * wait: they are read ahead, up to a bound, so that a client that writes all before it reads is not
 * locked out, but not executed (docs/decisions/0007-slow-readers.md).
 *
 * Thread: the poller's.
 */
#ifndef TORC_TORCD_CONNECTION_H
#define TORC_TORCD_CONNECTION_H

#include "tools/torcd/batch.h"
#include "tools/torcd/resp_parser.h"
#include "tools/torcd/source.h"

#define TORC_CONNECTION_VISIT_COMMANDS 64u
#define TORC_CONNECTION_VISIT_BYTES    ((size_t)64 * 1024)
/* Replies of one visit: no more requests are executed in it beyond this. */
#define TORC_CONNECTION_VISIT_REPLY_BYTES ((size_t)512 * 1024)
/* Sent in one visit, and so the output blocks freed in it. */
#define TORC_CONNECTION_VISIT_SEND_BYTES ((size_t)4 * 1024 * 1024)
/* With so many bytes of replies pending, or half of the output limit if that is less, no further
 * request is executed; then so many bytes of requests, or half of the query limit, are read ahead.
 */
#define TORC_CONNECTION_PAUSE_BYTES ((size_t)16 * 1024 * 1024)
#define TORC_CONNECTION_AHEAD_BYTES ((size_t)64 * 1024 * 1024)
/* A connection that is being closed may take this long without taking any of its last replies. */
#define TORC_CONNECTION_LINGER_NS 2000000000ull

enum torc_connection_phase {
    TORC_CONNECTION_OPEN,
    TORC_CONNECTION_LAST_REPLIES, /* nothing is read any more; the output goes out */
    TORC_CONNECTION_DRAINING,     /* our half is shut; input is thrown away until its end, because
                                     closing with unread input makes TCP lose the last replies */
    TORC_CONNECTION_DEAD,
};

struct torc_connection {
    struct torc_source source;
    int fd;
    struct torc_caller caller;
    struct torc_resp_parser parser;
    struct torc_resp_sink sink;
    struct torc_output output;

    uint8_t *input; /* bytes [start, end) are to be parsed */
    size_t input_start;
    size_t input_end;
    size_t input_cap;
    size_t pause_bytes; /* TORC_CONNECTION_PAUSE_BYTES, as this server's limits have it, */
    size_t ahead_bytes; /* and TORC_CONNECTION_AHEAD_BYTES */
    bool has_ahead;     /* input was read while requests waited, and not looked at since */
    bool is_counted;    /* the request at the front was counted already, and postponed */
    bool has_ended;     /* its client sends no more; what it sent is still executed */

    enum torc_connection_phase phase;
    bool is_readable; /* may have bytes to read: an edge came, and no read has found none since */
    bool is_writable; /* the last send took all, or an edge came since */
    bool has_hung_up; /* an end or error is to be read, behind the bytes */
    const char *why;  /* of its end, if it is for the log; static */
    uint64_t linger_end; /* CLOCK_MONOTONIC ns, once it is being closed */

    /* The poller's lists. */
    struct torc_connection *next, *prev; /* all of them */
    struct torc_connection *next_ready;
    bool is_ready;      /* in the list of those to visit */
    bool was_served;    /* since the last tick */
    uint64_t n_counted; /* bytes in the gauge */
};

/* Take over a connected, non-blocking socket. -ENOMEM: it stays the caller's. */
int torc_connection_create(int fd, uint64_t id, const struct torc_settings *settings,
                           struct torc_connection **out_connection) TORC_MUST_USE;

/* Close and free. NULL is fine. */
void torc_connection_destroy(struct torc_connection *connection);

/* Note what epoll reported (edge-triggered EPOLLIN | EPOLLOUT | EPOLLRDHUP). */
void torc_connection_note(struct torc_connection *connection, uint32_t events);

/* One visit: execute up to TORC_CONNECTION_VISIT_COMMANDS requests, read up to
 * TORC_CONNECTION_VISIT_BYTES, send up to about TORC_CONNECTION_VISIT_SEND_BYTES. Returns true if
 * another visit has work to do without a new event. Afterwards phase DEAD means: destroy it. */
bool torc_connection_serve(struct torc_connection *connection, struct torc_service *service,
                           struct torc_batch *batch, uint64_t now_ns);

/* Now and then: gives back buffers of an idle connection. True if it has been closing for too long:
 * destroy it. */
bool torc_connection_tick(struct torc_connection *connection, uint64_t now_ns);

/* Bytes of its buffers. */
uint64_t torc_connection_bytes(const struct torc_connection *connection);

#endif
