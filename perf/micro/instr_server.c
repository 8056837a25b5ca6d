/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server does for a request: one round of the poller for requests in a ring, one visit to
 * a connection for RESP. The client's part is outside the count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hash/keyspace.h"
#include "perf/micro/bench_ring.h"
#include "perf/micro/instr.h"
#include "tools/torcd/poller.h"

#define HASHES        16u
#define PIPELINE      16u
#define REQUEST_BYTES 128u
#define RING_SLOTS    256u

struct backend {
    struct torc_settings settings;
    struct torc_shared shared;
    struct torc_service service;
};

static void backend_open(struct backend *b)
{
    char why[TORC_OPTION_ERROR_BYTES] = "";
    torc_settings_init(&b->settings);
    b->settings.huge_pages = TORC_HUGE_NO;
    int rc = torc_service_init(&b->service, &b->settings, &b->shared, NULL, why);
    torc_instr_require(rc == 0, why);
    /* The service drew a hash seed from the kernel; counts repeat only with a fixed one. */
    torc_keyspace_close(b->service.keyspace);
    torc_arena_destroy(b->service.arena);
    b->service.random_seed = 1;
    torc_instr_keyspace_open(&b->service.limits, &b->service.arena, &b->service.keyspace);
    for (uint64_t i = 0; i < HASHES; i++) {
        torc_instr_fill(b->service.keyspace, i);
    }
}

/* What request number `i` is about. */
struct subject {
    uint8_t key_bytes[TORC_INSTR_KEY_BYTES];
    uint8_t field_bytes[TORC_INSTR_FIELD_BYTES];
    uint8_t value_bytes[TORC_INSTR_VALUE_BYTES];
    struct torc_slice words[3]; /* key, field, value */
};

static void subject_set(struct subject *s, uint64_t i, uint64_t salt)
{
    uint64_t field = i / HASHES % TORC_INSTR_FIELDS;
    s->words[0] = torc_instr_key(s->key_bytes, i % HASHES);
    s->words[1] = torc_instr_field(s->field_bytes, field);
    s->words[2] = torc_instr_value(s->value_bytes, field, salt);
}

/* --- ring --- */

struct ring_state {
    const struct torc_instr_case *self;
    struct backend backend;
    struct torc_mailbox control;
    struct torc_poller *poller;
    struct torc_peer peer;
    struct torc_bench_ring ring;
    struct subject subject;
    bool did_work;
};

static void *ring_open(const struct torc_instr_case *self)
{
    struct ring_state *r = aligned_alloc(64, torc_align_up(sizeof *r, 64));
    torc_instr_require(r != NULL, "memory");
    memset(r, 0, sizeof *r);
    r->self = self;
    backend_open(&r->backend);
    torc_instr_require(torc_mailbox_init(&r->control) == 0, "mailbox");
    torc_instr_require(torc_poller_create(&r->backend.service, &r->control, &r->poller) == 0,
                       "poller");
    torc_bench_ring_open(&r->ring, RING_SLOTS, TORC_WAIT_BUSY);
    r->peer.session = r->ring.session;
    r->peer.attach.kind = TORC_MAIL_ATTACH;
    torc_mailbox_send(torc_poller_inbox(r->poller), &r->peer.attach);
    while (r->backend.service.gauges.sessions == 0) {
        (void)torc_poller_round(r->poller);
    }
    return r;
}

static void ring_close(void *state)
{
    struct ring_state *r = state;
    r->peer.close.kind = TORC_MAIL_CLOSE;
    torc_mailbox_send(torc_poller_inbox(r->poller), &r->peer.close);
    while (torc_mailbox_receive(&r->control) != &r->peer.release) {
        (void)torc_poller_round(r->poller);
    }
    torc_poller_destroy(r->poller);
    torc_bench_ring_close(&r->ring);
    torc_mailbox_fini(&r->control);
    torc_service_fini(&r->backend.service);
    free(r);
}

static void ring_submit(struct ring_state *r, uint8_t op, uint64_t i, uint32_t n_words)
{
    int error = 0;
    size_t len = torc_request_size(op, r->subject.words, n_words);
    uint8_t *to = torc_attachment_reserve(r->ring.attachment, len, &error);
    torc_instr_require(to != NULL, "room for a request");
    len = torc_request_encode(to, op, (uint32_t)i, NULL, r->subject.words, n_words);
    torc_instr_require(torc_attachment_commit(r->ring.attachment, len, 0) == 0, "a request");
}

static void ring_ping(void *state, uint64_t i)
{
    ring_submit(state, TORC_OP_PING, i, 0);
}

static void ring_hget(void *state, uint64_t i)
{
    struct ring_state *r = state;
    for (uint64_t j = 0; j < r->self->requests; j++) {
        subject_set(&r->subject, i * r->self->requests + j, 0);
        ring_submit(r, TORC_OP_HGET, i, 2);
    }
}

static void ring_hset(void *state, uint64_t i)
{
    struct ring_state *r = state;
    subject_set(&r->subject, i, i + 1);
    ring_submit(r, TORC_OP_HSET, i, 3);
}

static void ring_run(void *state, uint64_t i)
{
    (void)i;
    struct ring_state *r = state;
    r->did_work = torc_poller_round(r->poller);
}

static struct torc_reply ring_reply(struct ring_state *r)
{
    struct torc_slice message;
    struct torc_reply reply;
    torc_instr_require(torc_attachment_peek(r->ring.attachment, &message) == 0, "a reply");
    torc_instr_require(torc_reply_decode(message.data, message.len, &reply) == 0, "a sound reply");
    torc_attachment_consume(r->ring.attachment);
    return reply; /* its bytes lie in a slot that nobody writes before the next request */
}

static bool ring_ping_is_right(void *state, uint64_t i)
{
    struct torc_reply reply = ring_reply(state);
    return reply.kind == TORC_REPLY_TEXT && reply.tag == (uint32_t)i;
}

static bool ring_hget_is_right(void *state, uint64_t i)
{
    struct ring_state *r = state;
    bool is_right = r->did_work;
    for (uint64_t j = 0; j < r->self->requests; j++) {
        subject_set(&r->subject, i * r->self->requests + j, 0);
        struct torc_reply reply = ring_reply(r);
        is_right &=
            reply.kind == TORC_REPLY_BYTES && torc_slice_equal(reply.bytes, r->subject.words[2]);
    }
    return is_right;
}

static bool ring_hset_is_right(void *state, uint64_t i)
{
    (void)i;
    struct torc_reply reply = ring_reply(state);
    return reply.kind == TORC_REPLY_INT && reply.integer == 0;
}

/* --- RESP --- */

struct resp_state {
    const struct torc_instr_case *self;
    struct backend backend;
    struct torc_batch batch;
    struct torc_connection *connection;
    int client;
    struct subject subject;
    uint8_t wanted[PIPELINE * REQUEST_BYTES]; /* the replies */
    size_t wanted_len;
};

static void *resp_open(const struct torc_instr_case *self)
{
    struct resp_state *r = calloc(1, sizeof *r);
    torc_instr_require(r != NULL, "memory");
    r->self = self;
    backend_open(&r->backend);
    torc_instr_require(torc_batch_init(&r->batch) == 0, "batch");
    int ends[2];
    torc_instr_require(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "sockets");
    r->client = ends[1];
    int rc = torc_connection_create(ends[0], 1, &r->backend.settings, &r->connection);
    torc_instr_require(rc == 0, "connection");
    torc_connection_note(r->connection, EPOLLOUT);
    return r;
}

static void resp_close(void *state)
{
    struct resp_state *r = state;
    torc_connection_destroy(r->connection);
    (void)close(r->client);
    torc_batch_fini(&r->batch);
    torc_service_fini(&r->backend.service);
    free(r);
}

static size_t put(uint8_t *to, size_t at, const void *bytes, size_t len)
{
    memcpy(to + at, bytes, len);
    return at + len;
}

static size_t put_bulk(uint8_t *to, size_t at, struct torc_slice text)
{
    char head[24];
    int n = snprintf(head, sizeof head, "$%zu\r\n", text.len);
    at = put(to, at, head, (size_t)n);
    at = put(to, at, text.data, text.len);
    return put(to, at, "\r\n", 2);
}

static void resp_send(struct resp_state *r, const uint8_t *bytes, size_t len)
{
    torc_instr_require(send(r->client, bytes, len, MSG_NOSIGNAL) == (ssize_t)len, "sending");
    torc_connection_note(r->connection, EPOLLIN);
}

static void resp_hget(void *state, uint64_t i)
{
    struct resp_state *r = state;
    uint8_t bytes[PIPELINE * REQUEST_BYTES];
    size_t len = 0;
    r->wanted_len = 0;
    for (uint64_t j = 0; j < r->self->requests; j++) {
        subject_set(&r->subject, i * r->self->requests + j, 0);
        len = put(bytes, len, "*3\r\n$4\r\nHGET\r\n", 14);
        len = put_bulk(bytes, len, r->subject.words[0]);
        len = put_bulk(bytes, len, r->subject.words[1]);
        r->wanted_len = put_bulk(r->wanted, r->wanted_len, r->subject.words[2]);
    }
    resp_send(r, bytes, len);
}

static void resp_hset(void *state, uint64_t i)
{
    struct resp_state *r = state;
    uint8_t bytes[REQUEST_BYTES];
    subject_set(&r->subject, i, i + 1);
    size_t len = put(bytes, 0, "*4\r\n$4\r\nHSET\r\n", 14);
    for (unsigned w = 0; w < 3; w++) {
        len = put_bulk(bytes, len, r->subject.words[w]);
    }
    r->wanted_len = put(r->wanted, 0, ":0\r\n", 4);
    resp_send(r, bytes, len);
}

static void resp_run(void *state, uint64_t i)
{
    struct resp_state *r = state;
    (void)torc_connection_serve(r->connection, &r->backend.service, &r->batch, i);
}

static bool resp_is_right(void *state, uint64_t i)
{
    (void)i;
    struct resp_state *r = state;
    uint8_t got[sizeof r->wanted];
    ssize_t n = recv(r->client, got, sizeof got, 0);
    return n == (ssize_t)r->wanted_len && memcmp(got, r->wanted, r->wanted_len) == 0;
}

const struct torc_instr_case torc_instr_server_cases[] = {
    {"ring-ping", 1600, 64, 1, ring_open, ring_ping, ring_run, ring_ping_is_right, ring_close},
    {"ring-hget", 1600, 64, 1, ring_open, ring_hget, ring_run, ring_hget_is_right, ring_close},
    {"ring-hget-16", 400, 64, PIPELINE, ring_open, ring_hget, ring_run, ring_hget_is_right,
     ring_close},
    {"ring-hset", 1600, 64, 1, ring_open, ring_hset, ring_run, ring_hset_is_right, ring_close},
    {"resp-hget", 1600, 64, 1, resp_open, resp_hget, resp_run, resp_is_right, resp_close},
    {"resp-hget-16", 400, 64, PIPELINE, resp_open, resp_hget, resp_run, resp_is_right, resp_close},
    {"resp-hset", 1600, 64, 1, resp_open, resp_hset, resp_run, resp_is_right, resp_close},
    {0},
};
