/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring, by libtorc.
 */
#include "tools/road.h"

#include <stdio.h>
#include <stdlib.h>

struct ring_road {
    struct torc_road road;
    struct torc *torc;
    struct torc_result result; /* the last one collected */
    struct torc_bytes *values; /* of the last HMGET called; NULL: `result` has them */
    struct torc_bytes *scratch;
    size_t scratch_cap;
};

static struct ring_road *of(struct torc_road *road)
{
    return (struct ring_road *)road;
}

static const struct ring_road *of_const(const struct torc_road *road)
{
    return (const struct ring_road *)road;
}

static struct torc_bytes text_bytes(const char *text)
{
    return (struct torc_bytes){text, strlen(text)};
}

/* The library's codes as ours. */
static int road_code(int error)
{
    switch ((enum torc_error)error) {
    case TORC_OK:
        return 0;
    case TORC_ENOMEM:
        return -ENOMEM;
    case TORC_ENOENT:
        return -ENOENT;
    case TORC_EPIPE:
        return -EPIPE;
    case TORC_ETIMEDOUT:
        return -ETIMEDOUT;
    case TORC_EAGAIN:
        return -EAGAIN;
    case TORC_EMSGSIZE:
        return -EMSGSIZE;
    case TORC_EBADMSG:
    case TORC_EPROTO:
        return -EBADMSG;
    case TORC_ENOSPC:
        return -ENOSPC;
    case TORC_EINVAL:
    case TORC_EWRONGTYPE:
    case TORC_EOOM:
    case TORC_EREPLY:
        break;
    }
    return -EINVAL;
}

/* Codes by which a call says that the server answered with an error. */
static bool is_refusal(int error)
{
    return error == TORC_EWRONGTYPE || error == TORC_EOOM || error == TORC_EREPLY;
}

/* The outcome of a call as a reply, unless it is no reply at all. */
static int finish(struct ring_road *r, int64_t rc, struct torc_road_reply *out_reply)
{
    if (rc >= 0) {
        return 0;
    }
    if (is_refusal((int)rc)) {
        *out_reply = (struct torc_road_reply){.kind = TORC_ROAD_ERROR,
                                              .text = text_bytes(torc_error_text(r->torc))};
        return 0;
    }
    return road_code((int)rc);
}

static int ring_submit(struct torc_road *road, const struct torc_road_request *request)
{
    struct ring_road *r = of(road);
    struct torc_bytes words[2] = {text_bytes("PING"), request->key};
    switch (request->op) {
    case TORC_ROAD_HGET:
        return road_code(torc_submit_hget(r->torc, 0, request->key, request->words[0]));
    case TORC_ROAD_HSET:
        return road_code(
            torc_submit_hset(r->torc, 0, request->key, request->words, request->n_words / 2));
    case TORC_ROAD_HMGET:
        return road_code(
            torc_submit_hmget(r->torc, 0, request->key, request->words, request->n_words));
    case TORC_ROAD_PING:
        return road_code(torc_submit_command(r->torc, 0, words, 1));
    case TORC_ROAD_DEL:
        words[0] = text_bytes("DEL");
        return road_code(torc_submit_command(r->torc, 0, words, 2));
    case TORC_ROAD_EXISTS:
        words[0] = text_bytes("EXISTS");
        return road_code(torc_submit_command(r->torc, 0, words, 2));
    }
    return -EINVAL;
}

static int ring_collect(struct torc_road *road, struct torc_road_reply *out_reply)
{
    struct ring_road *r = of(road);
    r->values = NULL;
    int rc = torc_collect(r->torc, &r->result);
    if (rc != TORC_OK) {
        return finish(r, rc, out_reply);
    }
    const struct torc_result *result = &r->result;
    *out_reply = (struct torc_road_reply){.text = result->string};
    switch (result->kind) {
    case TORC_NIL:
        out_reply->kind = TORC_ROAD_NIL;
        return 0;
    case TORC_OK_REPLY:
    case TORC_SIMPLE:
        out_reply->kind = TORC_ROAD_STATUS;
        return 0;
    case TORC_INTEGER:
        out_reply->kind = TORC_ROAD_INTEGER;
        out_reply->integer = result->integer;
        return 0;
    case TORC_STRING:
        out_reply->kind = TORC_ROAD_STRING;
        return 0;
    case TORC_ARRAY:
        out_reply->kind = TORC_ROAD_ARRAY;
        out_reply->count = result->count;
        return 0;
    case TORC_ERROR:
        out_reply->kind = TORC_ROAD_ERROR;
        return 0;
    case TORC_MAP:
    case TORC_CURSOR:
        break;
    }
    return -EBADMSG;
}

/* Room for the values of an HMGET. */
static int reserve_values(struct ring_road *r, size_t n)
{
    if (n <= r->scratch_cap) {
        return 0;
    }
    struct torc_bytes *grown = realloc(r->scratch, n * sizeof *grown);
    if (grown == NULL) {
        return -ENOMEM;
    }
    r->scratch = grown;
    r->scratch_cap = n;
    return 0;
}

static int ring_call(struct torc_road *road, const struct torc_road_request *request,
                     struct torc_road_reply *out_reply)
{
    struct ring_road *r = of(road);
    struct torc_road_reply reply = {.kind = TORC_ROAD_STATUS};
    int64_t rc = -EINVAL;
    switch (request->op) {
    case TORC_ROAD_PING:
        rc = torc_ping(r->torc);
        break;
    case TORC_ROAD_HGET:
        rc = torc_hget(r->torc, request->key, request->words[0], &reply.text);
        reply.kind = rc == 1 ? TORC_ROAD_STRING : TORC_ROAD_NIL;
        break;
    case TORC_ROAD_HSET:
        rc = request->n_words == 2
                 ? torc_hset(r->torc, request->key, request->words[0], request->words[1])
                 : torc_hset_many(r->torc, request->key, request->words, request->n_words / 2);
        reply.kind = TORC_ROAD_INTEGER;
        reply.integer = rc;
        break;
    case TORC_ROAD_HMGET:
        if (reserve_values(r, request->n_words) != 0) {
            return -ENOMEM;
        }
        r->values = r->scratch;
        rc = torc_hmget(r->torc, request->key, request->words, request->n_words, r->values);
        reply.kind = TORC_ROAD_ARRAY;
        reply.count = request->n_words;
        break;
    case TORC_ROAD_DEL:
        rc = torc_del(r->torc, &request->key, 1);
        reply.kind = TORC_ROAD_INTEGER;
        reply.integer = rc;
        break;
    case TORC_ROAD_EXISTS:
        rc = torc_exists(r->torc, &request->key, 1);
        reply.kind = TORC_ROAD_INTEGER;
        reply.integer = rc;
        break;
    }
    if (rc >= 0) {
        *out_reply = reply;
    }
    return finish(r, rc, out_reply);
}

static struct torc_bytes ring_at(const struct torc_road *road, size_t i)
{
    const struct ring_road *r = of_const(road);
    return r->values != NULL ? r->values[i] : torc_result_at(&r->result, i);
}

static const char *ring_error(const struct torc_road *road)
{
    return torc_error_text(of_const(road)->torc);
}

static void ring_close(struct torc_road *road)
{
    struct ring_road *r = of(road);
    torc_close(r->torc);
    free(r->scratch);
    free(r);
}

int torc_road_open_ring(const char *socket, const struct torc_road_options *options,
                        struct torc_road **out_road, char error[TORC_ROAD_ERROR_BYTES])
{
    static const enum torc_spin spins[] = {[TORC_ROAD_ADAPTIVE] = TORC_SPIN_ADAPTIVE,
                                           [TORC_ROAD_BUSY] = TORC_SPIN_BUSY,
                                           [TORC_ROAD_YIELD] = TORC_SPIN_YIELD};
    static const struct torc_road_ops ops = {
        .submit = ring_submit,
        .collect = ring_collect,
        .call = ring_call,
        .at = ring_at,
        .error = ring_error,
        .close = ring_close,
    };
    struct ring_road *r = calloc(1, sizeof *r);
    if (r == NULL) {
        (void)snprintf(error, TORC_ROAD_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    struct torc_options torc_options = {
        .socket = socket,
        .name = options->name,
        .slots = 1u << torc_log2_ceil(torc_max_u64(options->window, 2)),
        .request_area_bytes = options->area_bytes,
        .reply_area_bytes = options->area_bytes,
        .deadline_ns = options->timeout_ns,
        .spin = spins[options->wait],
    };
    const char *why = "";
    int rc = torc_open(&torc_options, &r->torc, &why);
    if (rc != TORC_OK) {
        (void)snprintf(error, TORC_ROAD_ERROR_BYTES, "%s", why);
        free(r);
        return road_code(rc);
    }
    r->road = (struct torc_road){.ops = &ops, .name = "ring"};
    *out_road = &r->road;
    return 0;
}
