/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/connection.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INPUT_FIRST_BYTES ((size_t)16 * 1024)
/* Buffers up to this size are kept while a connection is idle. */
#define IDLE_KEEP_BYTES ((size_t)64 * 1024)
/* Larger input buffers are given back as soon as they are empty. */
#define EMPTY_KEEP_BYTES ((size_t)4 * 1024 * 1024)
/* Words of a batch that leaves nothing to give back. */
#define USUAL_STRINGS 1024u

/* Kept out of the hot function, whose frame it would make large. */
#define COLD __attribute__((noinline))

int torc_connection_create(int fd, uint64_t id, const struct torc_settings *settings,
                           struct torc_connection **out_connection)
{
    struct torc_connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return -ENOMEM;
    }
    c->source.kind = TORC_SOURCE_CONNECTION;
    c->fd = fd;
    c->caller.id = id;
    c->caller.protocol = 2;
    c->is_readable = true;
    c->is_writable = true;
    torc_resp_parser_init(&c->parser, settings->proto_max_bulk_len);
    torc_output_init(&c->output, settings->client_output_buffer_max);
    c->output.fd = fd;
    torc_resp_sink_init(&c->sink, &c->output, &c->caller.protocol);
    c->pause_bytes =
        torc_min_u64(TORC_CONNECTION_PAUSE_BYTES, settings->client_output_buffer_max / 2);
    c->ahead_bytes =
        torc_min_u64(TORC_CONNECTION_AHEAD_BYTES, settings->client_query_buffer_limit / 2);
    *out_connection = c;
    return 0;
}

void torc_connection_destroy(struct torc_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    (void)close(connection->fd);
    torc_resp_parser_fini(&connection->parser);
    torc_output_fini(&connection->output);
    free(connection->input);
    free(connection);
}

uint64_t torc_connection_bytes(const struct torc_connection *connection)
{
    return sizeof *connection + connection->input_cap + torc_output_bytes(&connection->output) +
           torc_resp_parser_bytes(&connection->parser);
}

void torc_connection_note(struct torc_connection *connection, uint32_t events)
{
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        connection->is_readable = true;
    }
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        connection->has_hung_up = true;
    }
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        connection->is_writable = true;
    }
}

static void die(struct torc_connection *c, const char *why)
{
    if (c->phase != TORC_CONNECTION_DEAD) {
        c->phase = TORC_CONNECTION_DEAD;
        c->why = why;
    }
}

/* Nothing more is executed; close when the output is out. */
static void finish(struct torc_connection *c, uint64_t now_ns)
{
    c->phase = TORC_CONNECTION_LAST_REPLIES;
    c->linger_end = now_ns + TORC_CONNECTION_LINGER_NS;
}

/* --- input --- */

/* Make room to read into, at least one byte, better enough for what the parser knows to come. A
 * length in a header alone reserves nothing: the buffer at most doubles with what has come. */
COLD static bool make_more_room(struct torc_connection *c)
{
    size_t pending = c->input_end - c->input_start;
    if (pending == 0) {
        c->input_start = 0;
        c->input_end = 0;
        if (c->input_cap > EMPTY_KEEP_BYTES) {
            free(c->input);
            c->input = NULL;
            c->input_cap = 0;
        }
    }
    size_t wants = torc_max_u64(torc_resp_parser_wants(&c->parser), pending + 1);
    size_t need = torc_min_u64(wants, 2 * pending + INPUT_FIRST_BYTES);
    if (c->input_cap - c->input_start >= need) {
        return true;
    }
    if (need <= c->input_cap && pending <= c->input_cap / 2) {
        memmove(c->input, c->input + c->input_start, pending);
    } else {
        size_t cap = c->input_cap < INPUT_FIRST_BYTES ? INPUT_FIRST_BYTES : c->input_cap;
        while (cap < need || (cap == c->input_cap && pending > cap / 2)) {
            cap *= 2;
        }
        /* The kernel moves a large block by its page tables; but what lies before input_start is
         * not worth moving. */
        uint8_t *input;
        if (c->input_start == 0) {
            input = realloc(c->input, cap);
            if (input == NULL) {
                return false;
            }
        } else {
            input = malloc(cap);
            if (input == NULL) {
                return false;
            }
            memcpy(input, c->input + c->input_start, pending);
            free(c->input);
        }
        c->input = input;
        c->input_cap = cap;
    }
    c->input_start = 0;
    c->input_end = pending;
    return true;
}

static inline bool make_room(struct torc_connection *c)
{
    /* Nothing pending, and a buffer that is kept: the usual case. */
    if (TORC_LIKELY(c->input_start == c->input_end && c->input_cap - 1 < EMPTY_KEEP_BYTES)) {
        c->input_start = 0;
        c->input_end = 0;
        return true;
    }
    return make_more_room(c);
}

/* Bytes of requests held that are not executed. */
static size_t held_bytes(const struct torc_connection *c)
{
    return c->input_end - c->input_start +
           (c->parser.is_done ? 0 : torc_resp_parser_bytes(&c->parser));
}

/* recv() and send() that never wait, as plain system calls: those of the C library are points of
 * cancellation, at which a process of several threads pays for four locked instructions. */
static inline ssize_t receive_now(int fd, void *bytes, size_t len)
{
    return syscall(SYS_recvfrom, fd, bytes, len, MSG_DONTWAIT, NULL, NULL);
}

static inline ssize_t send_now(int fd, struct torc_slice bytes)
{
    return syscall(SYS_sendto, fd, bytes.data, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
}

/* What recv() gave that is not bytes. */
COLD static void note_no_input(struct torc_connection *c, ssize_t n)
{
    if (n == 0) {
        c->has_ended = true;
        c->is_readable = false;
    } else if (errno == EAGAIN) {
        c->is_readable = false;
    } else if (errno != EINTR) {
        die(c, NULL);
    }
}

/* Read once, at most `most` bytes. Returns the bytes read; 0: nothing came, or has_ended or the
 * phase says that nothing will. */
static inline size_t read_some(struct torc_connection *c, struct torc_service *service, size_t most)
{
    size_t limit = service->settings->client_query_buffer_limit;
    size_t held = held_bytes(c);
    if (TORC_UNLIKELY(held >= limit)) {
        die(c, "query buffer limit reached");
        return 0;
    }
    if (TORC_UNLIKELY(!make_room(c))) {
        die(c, "no memory for a request");
        return 0;
    }
    size_t room = torc_min_u64(c->input_cap - c->input_end, limit - held);
    room = torc_min_u64(room, most);
    ssize_t n = receive_now(c->fd, c->input + c->input_end, room);
    if (TORC_UNLIKELY(n <= 0)) {
        note_no_input(c, n);
        return 0;
    }
    /* A short read has emptied the socket, but for its end, which only another read shows. */
    if ((size_t)n < room && !c->has_hung_up) {
        c->is_readable = false;
    }
    c->input_end += (size_t)n;
    service->stats.net_input_bytes += (size_t)n;
    return (size_t)n;
}

/* --- requests --- */

/* If a whole inline line with quotes is at the front of the input: keep its bytes, since words are
 * unescaped in place. False: no memory. */
static bool keep_line(struct torc_connection *c, struct torc_batch *batch)
{
    const uint8_t *from = c->input + c->input_start;
    const uint8_t *end = c->input + c->input_end;
    while (from < end && (*from == '\r' || *from == '\n' || *from == ' ' || *from == '\t')) {
        from++;
    }
    if (from == end || *from == '*') {
        return true;
    }
    const uint8_t *newline = memchr(from, '\n', (size_t)(end - from));
    size_t len = newline != NULL ? (size_t)(newline - from) : 0;
    if (len == 0 || (memchr(from, '"', len) == NULL && memchr(from, '\'', len) == NULL)) {
        return true;
    }
    batch->line_at = (size_t)(from - c->input);
    return torc_batch_keep_line(batch, from, len);
}

/* The request at the front of the input, of a kind that torc_resp_parse_short() does not take: its
 * words are appended to the batch. */
COLD static enum torc_resp_outcome collect_other(struct torc_connection *c,
                                                 struct torc_batch *batch, uint32_t *out_n_words)
{
    struct torc_slices *strings = &batch->strings;
    uint8_t *data = c->input + c->input_start;
    size_t consumed;
    if (!keep_line(c, batch)) {
        return TORC_RESP_NO_MEMORY;
    }
    enum torc_resp_outcome outcome =
        torc_resp_parse(&c->parser, data, c->input_end - c->input_start, &consumed);
    if (outcome == TORC_RESP_REQUEST &&
        !torc_slices_reserve(strings, strings->n + c->parser.n_words)) {
        return TORC_RESP_NO_MEMORY;
    }
    if (outcome != TORC_RESP_REQUEST) {
        c->input_start += outcome == TORC_RESP_MORE ? consumed : 0;
        return outcome;
    }
    for (uint32_t i = 0; i < c->parser.n_words; i++) {
        strings->items[strings->n + i] = torc_resp_word(&c->parser, data, i);
    }
    c->input_start += consumed;
    *out_n_words = c->parser.n_words;
    return outcome;
}

/* Collect complete requests from the input, at most `max`. Returns the number; *out_outcome says
 * why there are no more: TORC_RESP_REQUEST when there may be. */
static inline unsigned collect(struct torc_connection *c, struct torc_batch *batch, unsigned max,
                               enum torc_resp_outcome *out_outcome)
{
    struct torc_slices *strings = &batch->strings;
    enum torc_resp_outcome outcome = TORC_RESP_REQUEST;
    unsigned n = 0;
    size_t at = c->input_start; /* in locals, since the words written could be these fields */
    const size_t end = c->input_end;
    const uint8_t *input = c->input;
    strings->n = 0;
    batch->line_len = 0;
    while (n < max && batch->line_len == 0) {
        if (at == end) {
            outcome = TORC_RESP_MORE;
            break;
        }
        size_t consumed = 0;
        uint32_t n_words =
            torc_resp_parse_short(&c->parser, input + at, end - at, strings->items + strings->n,
                                  strings->cap - strings->n, &consumed);
        at += consumed;
        if (TORC_UNLIKELY(n_words == 0)) {
            c->input_start = at;
            outcome = collect_other(c, batch, &n_words);
            at = c->input_start;
            if (outcome != TORC_RESP_REQUEST) {
                break;
            }
        }
        batch->count[n] = n_words;
        batch->ends[n] = at;
        strings->n += n_words;
        n++;
    }
    c->input_start = at;
    *out_outcome = outcome;
    return n;
}

/* Run the call at the front of the input, which was postponed. */
COLD static void run_again(struct torc_connection *c, struct torc_service *service,
                           struct torc_call *call)
{
    c->is_counted = false;
    torc_call_repeat(service, call);
}

/* Leave the input from `at` on for a later visit. */
COLD static void leave_rest(struct torc_connection *c, const struct torc_batch *batch, size_t at)
{
    c->input_start = at;
    if (batch->line_len != 0) {
        memcpy(c->input + batch->line_at, batch->line, batch->line_len);
    }
    torc_resp_parser_rewind(&c->parser);
    if (c->sink.sink.is_postponed) {
        c->sink.sink.is_postponed = false;
        c->is_counted = true;
    }
}

/* Run what was collected, which begins at `start` of the input. Stops early when the connection is
 * to be closed, at a call that is postponed, or when `enough` bytes are pending: then the rest is
 * left in the input. Returns true if nothing is left. */
static inline bool execute(struct torc_connection *c, struct torc_service *service,
                           struct torc_batch *batch, unsigned n, size_t start, size_t enough)
{
    struct torc_slice *words = batch->strings.items;
    for (unsigned i = 0; i < n; i++) {
        struct torc_call *call = &batch->calls[i];
        torc_call_from_words(service, words, batch->count[i], batch->scratch[i], call);
        words += batch->count[i];
        call->sink = &c->sink.sink;
        call->caller = &c->caller;
    }
    torc_calls_prepare(service, batch->calls, n);
    unsigned i = 0;
    while (i < n && !c->caller.wants_close && !c->output.failed) {
        if (TORC_UNLIKELY(c->is_counted)) {
            run_again(c, service, &batch->calls[i]);
        } else {
            torc_call_run(service, &batch->calls[i]);
        }
        if (TORC_UNLIKELY(c->sink.sink.is_postponed)) {
            break;
        }
        i++;
        if (TORC_UNLIKELY(torc_output_pending(&c->output) >= enough)) {
            break;
        }
    }
    if (TORC_UNLIKELY(batch->strings.n > USUAL_STRINGS)) {
        torc_batch_trim(batch);
    }
    if (i == n || c->caller.wants_close || c->output.failed) {
        return true;
    }
    leave_rest(c, batch, i != 0 ? batch->ends[i - 1] : start);
    return false;
}

/* The input cannot go on: answer, if an answer is due, and close. */
COLD static void end_input(struct torc_connection *c, struct torc_service *service,
                           enum torc_resp_outcome outcome, uint64_t now_ns)
{
    if (outcome == TORC_RESP_FAULT) {
        torc_sink_fault_with(&c->sink.sink, c->parser.fault,
                             torc_slice_of(&c->parser.fault_byte, 1), torc_slice_str(""));
        service->stats.faults[c->parser.fault]++;
        service->stats.resp_dropped++;
        c->why = "protocol error";
        finish(c, now_ns);
    } else if (outcome == TORC_RESP_FOREIGN) {
        die(c, "an HTTP request: closed");
    } else {
        die(c, "no memory for a request");
    }
}

/* So many replies are unread that requests wait. */
static bool is_paused(const struct torc_connection *c)
{
    return torc_output_pending(&c->output) >= c->pause_bytes;
}

static bool may_read_ahead(const struct torc_connection *c)
{
    return c->is_readable && held_bytes(c) < c->ahead_bytes;
}

/* While requests wait: take what comes, up to its bound. */
COLD static void read_ahead(struct torc_connection *c, struct torc_service *service)
{
    size_t bytes = TORC_CONNECTION_VISIT_BYTES;
    size_t got = 1;
    while (got != 0 && bytes != 0 && may_read_ahead(c)) {
        got = read_some(c, service, torc_min_u64(bytes, c->ahead_bytes - held_bytes(c)));
        bytes -= got;
        c->has_ahead |= got != 0;
    }
}

/* Nothing more is to be had now. */
static void note_dry(struct torc_connection *c, uint64_t now_ns)
{
    if (c->has_ended && c->phase == TORC_CONNECTION_OPEN) {
        finish(c, now_ns); /* it may still want what it asked for */
    }
}

/* Read and execute within the budget of a visit. */
static inline void work(struct torc_connection *c, struct torc_service *service,
                        struct torc_batch *batch, uint64_t now_ns)
{
    unsigned commands = TORC_CONNECTION_VISIT_COMMANDS;
    size_t bytes = TORC_CONNECTION_VISIT_BYTES;
    const size_t enough = torc_output_pending(&c->output) + TORC_CONNECTION_VISIT_REPLY_BYTES;
    enum torc_resp_outcome outcome =
        c->input_start == c->input_end ? TORC_RESP_MORE : TORC_RESP_REQUEST;
    for (;;) {
        if (outcome == TORC_RESP_MORE) {
            size_t got = c->is_readable && bytes != 0 ? read_some(c, service, bytes) : 0;
            if (got == 0) {
                note_dry(c, now_ns);
                break;
            }
            bytes -= got;
        }
        c->has_ahead = false;
        unsigned max = commands < TORC_BATCH_MAX ? commands : TORC_BATCH_MAX;
        const size_t start = c->input_start;
        unsigned n = collect(c, batch, max, &outcome);
        if (n != 0) {
            if (!execute(c, service, batch, n, start, enough)) {
                break;
            }
            commands -= n;
            if (TORC_UNLIKELY(c->output.failed)) {
                service->stats.resp_dropped += !c->output.hung_up;
                die(c, c->output.hung_up ? "gone while its reply was made"
                                         : "output buffer limit reached");
                break;
            }
            if (TORC_UNLIKELY(c->caller.wants_close)) {
                finish(c, now_ns);
                break;
            }
        }
        if (TORC_UNLIKELY(outcome > TORC_RESP_REQUEST)) {
            end_input(c, service, outcome, now_ns);
            break;
        }
        if (commands == 0 || (outcome == TORC_RESP_MORE && !c->is_readable && !c->has_ended)) {
            break;
        }
    }
}
static_assert(TORC_RESP_MORE < TORC_RESP_REQUEST && TORC_RESP_REQUEST < TORC_RESP_FAULT &&
                  TORC_RESP_REQUEST < TORC_RESP_FOREIGN && TORC_RESP_REQUEST < TORC_RESP_NO_MEMORY,
              "what is above a request ends the input");

/* --- output --- */

static void send_output(struct torc_connection *c, struct torc_service *service, uint64_t now_ns)
{
    size_t sent = 0;
    while (c->is_writable && torc_output_pending(&c->output) != 0 &&
           sent < TORC_CONNECTION_VISIT_SEND_BYTES) {
        struct torc_slice front = torc_output_front(&c->output);
        ssize_t n = send_now(c->fd, front);
        if (n >= 0) {
            torc_output_consume(&c->output, (size_t)n);
            service->stats.net_output_bytes += (size_t)n;
            sent += (size_t)n;
            /* A short write: the socket is full, another send would only say so. */
            c->is_writable = (size_t)n == front.len;
        } else if (errno == EAGAIN) {
            c->is_writable = false;
        } else if (errno != EINTR) {
            die(c, NULL);
            return;
        }
    }
    if (sent != 0 && c->phase == TORC_CONNECTION_LAST_REPLIES) {
        c->linger_end = now_ns + TORC_CONNECTION_LINGER_NS;
    }
}

/* Throw away what comes after the last reply. */
static void drain(struct torc_connection *c)
{
    uint8_t waste[4096];
    size_t left = TORC_CONNECTION_VISIT_BYTES;
    while (c->is_readable && left >= sizeof waste) {
        ssize_t n = receive_now(c->fd, waste, sizeof waste);
        if (n > 0) {
            left -= (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            c->is_readable = false;
        } else {
            die(c, c->why);
            return;
        }
    }
}

/* The rest of a visit in which something is left to do, or the connection ends. Returns what
 * torc_connection_serve() does. */
COLD static bool serve_rest(struct torc_connection *c)
{
    if (c->phase == TORC_CONNECTION_LAST_REPLIES && torc_output_pending(&c->output) == 0) {
        (void)shutdown(c->fd, SHUT_WR);
        c->phase = TORC_CONNECTION_DRAINING;
    }
    if (c->phase == TORC_CONNECTION_DRAINING) {
        drain(c);
    }
    const bool can_send = c->is_writable && torc_output_pending(&c->output) != 0;
    switch (c->phase) {
    case TORC_CONNECTION_OPEN:
        if (is_paused(c)) {
            return can_send || may_read_ahead(c);
        }
        /* Complete requests may be left, or bytes in the socket. */
        return can_send || c->is_readable || c->has_ahead || c->has_ended ||
               (c->parser.is_done && c->input_start != c->input_end);
    case TORC_CONNECTION_LAST_REPLIES:
        return can_send;
    case TORC_CONNECTION_DRAINING:
        return c->is_readable;
    case TORC_CONNECTION_DEAD:
        break;
    }
    return false;
}

bool torc_connection_serve(struct torc_connection *connection, struct torc_service *service,
                           struct torc_batch *batch, uint64_t now_ns)
{
    struct torc_connection *c = connection;
    c->was_served = true;
    if (c->phase == TORC_CONNECTION_OPEN) {
        if (TORC_LIKELY(!is_paused(c))) {
            work(c, service, batch, now_ns);
        } else {
            read_ahead(c, service);
        }
    }
    if (c->phase == TORC_CONNECTION_OPEN || c->phase == TORC_CONNECTION_LAST_REPLIES) {
        send_output(c, service, now_ns);
    }
    /* All that came is answered: the usual end of a visit. */
    if (TORC_LIKELY(c->phase == TORC_CONNECTION_OPEN && c->input_start == c->input_end &&
                    torc_output_pending(&c->output) == 0 && !c->has_ended)) {
        return c->is_readable;
    }
    return serve_rest(c);
}

bool torc_connection_tick(struct torc_connection *connection, uint64_t now_ns)
{
    struct torc_connection *c = connection;
    if (!c->was_served) {
        torc_output_trim(&c->output, IDLE_KEEP_BYTES);
        if (c->input_start == c->input_end && c->input_cap > IDLE_KEEP_BYTES) {
            free(c->input);
            c->input = NULL;
            c->input_cap = 0;
            c->input_start = 0;
            c->input_end = 0;
        }
    }
    c->was_served = false;
    return c->phase != TORC_CONNECTION_OPEN && now_ns >= c->linger_end;
}
