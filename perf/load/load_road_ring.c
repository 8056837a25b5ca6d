/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring, by libtorc.
 */
#include <stdio.h>
#include <stdlib.h>

#include "perf/load/load_road.h"

/* PING, or HSET of a hash in one piece at most: the command's name beside a request's words. */
#define COMMAND_WORDS 8u

struct ring {
    struct torc_load_road road;
    struct torc *torc;
    struct torc_load_road_options options;
    struct torc_result result; /* the last one collected */
    char error[TORC_LOAD_ERROR_BYTES];
};

static struct ring *of(struct torc_load_road *road)
{
    return (struct ring *)road;
}

static const struct ring *of_const(const struct torc_load_road *road)
{
    return (const struct ring *)road;
}

/* Keep the library's text, give our code. */
static int fail(struct ring *ring, int error)
{
    (void)snprintf(ring->error, sizeof ring->error, "%s", torc_error_text(ring->torc));
    switch ((enum torc_error)error) {
    case TORC_OK:
        return 0;
    case TORC_ENOMEM:
        return -ENOMEM;
    case TORC_ETIMEDOUT:
        (void)snprintf(ring->error, sizeof ring->error, "no reply within %.3g s",
                       (double)ring->options.timeout_ns / 1e9);
        return -ETIMEDOUT;
    case TORC_EAGAIN:
        return -EAGAIN;
    case TORC_EBADMSG:
    case TORC_EPROTO:
        return -EBADMSG;
    case TORC_EINVAL:
    case TORC_EMSGSIZE:
    case TORC_EWRONGTYPE:
    case TORC_EOOM:
    case TORC_EREPLY:
        return -EINVAL;
    case TORC_ENOENT:
    case TORC_EPIPE:
    case TORC_ENOSPC:
        break;
    }
    return -EPIPE;
}

/* By the general call, for commands without one of their own. */
static int submit_words(struct ring *ring, const struct torc_load_request *request)
{
    struct torc_bytes words[COMMAND_WORDS] = {torc_str(torc_load_verb_name(request->verb))};
    assert(request->n_words < COMMAND_WORDS);
    for (size_t i = 0; i < request->n_words; i++) {
        words[1 + i] = request->words[i];
    }
    return torc_submit_command(ring->torc, 0, words, 1 + request->n_words);
}

static int ring_submit(struct torc_load_road *road, const struct torc_load_request *request)
{
    struct ring *ring = of(road);
    const struct torc_bytes *words = request->words;
    size_t n = request->n_words;
    unsigned flags = request->is_absolute ? TORC_FLAG_PXAT : TORC_FLAG_PX;
    int rc = 0;
    switch (request->verb) {
    case TORC_LOAD_HGET:
        rc = torc_submit_hget(ring->torc, 0, words[0], words[1]);
        break;
    case TORC_LOAD_HSET:
        rc = torc_submit_hset(ring->torc, 0, words[0], words + 1, (n - 1) / 2);
        break;
    case TORC_LOAD_HMGET:
        rc = torc_submit_hmget(ring->torc, 0, words[0], words + 1, n - 1);
        break;
    case TORC_LOAD_HDEL:
        rc = torc_submit_hdel(ring->torc, 0, words[0], words + 1, n - 1);
        break;
    case TORC_LOAD_HSETEX:
        rc = torc_submit_hsetex(ring->torc, 0, words[0], words + TORC_LOAD_HSETEX_HEAD,
                                (n - TORC_LOAD_HSETEX_HEAD) / 2, request->ms, flags);
        break;
    case TORC_LOAD_HGETEX:
        rc = torc_submit_hgetex(ring->torc, 0, words[0], words + TORC_LOAD_HGETEX_HEAD,
                                n - TORC_LOAD_HGETEX_HEAD, request->ms, flags);
        break;
    case TORC_LOAD_HPEXPIRE:
        rc = torc_submit_hexpire(ring->torc, 0, words[0], words + TORC_LOAD_HPEXPIRE_HEAD,
                                 n - TORC_LOAD_HPEXPIRE_HEAD, request->ms, 0);
        break;
    case TORC_LOAD_PING:
    case TORC_LOAD_HGETALL:
    case TORC_LOAD_HEXISTS:
    case TORC_LOAD_HSTRLEN:
    case TORC_LOAD_HLEN:
    case TORC_LOAD_HINCRBY:
    case TORC_LOAD_DEL:
    case TORC_LOAD_FLUSHALL:
    case TORC_LOAD_VERBS:
        rc = submit_words(ring, request);
        break;
    }
    return TORC_LIKELY(rc == TORC_OK) ? 0 : fail(ring, rc);
}

static int ring_flush(struct torc_load_road *road)
{
    (void)road; /* a request is published when it is submitted */
    return 0;
}

static int ring_collect(struct torc_load_road *road, enum torc_load_effort effort,
                        struct torc_load_reply *out_reply)
{
    struct ring *ring = of(road);
    struct torc_result *result = &ring->result;
    int rc = effort == TORC_LOAD_WAIT ? torc_collect(ring->torc, result)
                                      : torc_try_collect(ring->torc, result);
    if (rc != TORC_OK) {
        return rc == TORC_EAGAIN ? -EAGAIN : fail(ring, rc);
    }
    road->read_ticks = torc_clock_ticks(ring->options.clock);
    *out_reply = (struct torc_load_reply){
        .integer = result->integer, .text = result->string, .count = result->count};
    switch (result->kind) {
    case TORC_NIL:
        out_reply->kind = TORC_LOAD_NIL;
        return 0;
    case TORC_OK_REPLY:
    case TORC_SIMPLE:
        out_reply->kind = TORC_LOAD_STATUS;
        return 0;
    case TORC_INTEGER:
        out_reply->kind = TORC_LOAD_INTEGER;
        return 0;
    case TORC_STRING:
        out_reply->kind = TORC_LOAD_STRING;
        return 0;
    case TORC_ARRAY:
    case TORC_MAP:
        out_reply->kind = TORC_LOAD_ARRAY;
        return 0;
    case TORC_ERROR:
        out_reply->kind = TORC_LOAD_ERROR;
        return 0;
    case TORC_CURSOR:
        break;
    }
    (void)snprintf(ring->error, sizeof ring->error, "a page of a scan that nobody asked for");
    return -EBADMSG;
}

static struct torc_bytes ring_at(const struct torc_load_road *road, size_t i)
{
    return torc_result_at(&of_const(road)->result, i);
}

static const char *ring_error(const struct torc_load_road *road)
{
    return of_const(road)->error;
}

static void ring_close(struct torc_load_road *road)
{
    struct ring *ring = of(road);
    torc_close(ring->torc);
    free(ring);
}

int torc_load_road_open_ring(const char *path, const struct torc_load_road_options *options,
                             struct torc_load_road **out_road, char error[TORC_LOAD_ERROR_BYTES])
{
    static const enum torc_spin spins[] = {[TORC_LOAD_ADAPTIVE] = TORC_SPIN_ADAPTIVE,
                                           [TORC_LOAD_BUSY] = TORC_SPIN_BUSY,
                                           [TORC_LOAD_YIELD] = TORC_SPIN_YIELD};
    static const struct torc_load_road_ops ops = {
        .submit = ring_submit,
        .flush = ring_flush,
        .collect = ring_collect,
        .at = ring_at,
        .error = ring_error,
        .close = ring_close,
    };
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) {
        (void)snprintf(error, TORC_LOAD_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    ring->road = (struct torc_load_road){.ops = &ops, .name = "ring"};
    ring->options = *options;
    struct torc_options torc_options = {
        .socket = path,
        .name = "torc-perf-load",
        .slots = 1u << torc_log2_ceil(torc_max_u64(options->window, 2)),
        .deadline_ns = options->timeout_ns,
        .spin = spins[options->wait],
    };
    const char *why = "";
    int rc = torc_open(&torc_options, &ring->torc, &why);
    if (rc != TORC_OK) {
        (void)snprintf(error, TORC_LOAD_ERROR_BYTES, "%s", why);
        free(ring);
        return rc == TORC_ENOMEM ? -ENOMEM : rc == TORC_EINVAL ? -EINVAL : -EPIPE;
    }
    *out_road = &ring->road;
    return 0;
}
