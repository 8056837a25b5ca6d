/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP over a socket.
 */
#include "tools/road.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "tools/resp_client.h"

struct resp_road {
    struct torc_road road;
    struct torc_resp_client *client;
    const struct torc_resp_reply *reply; /* the last one */
    enum torc_resp_wait wait;
    bool is_yielding; /* then `wait` is not used */
    uint64_t timeout_ns;
    size_t window;
    struct torc_bytes *words; /* of the request being built */
    size_t words_cap;
    char error[TORC_ROAD_ERROR_BYTES];
};

static struct resp_road *of(struct torc_road *road)
{
    return (struct resp_road *)road;
}

static const struct resp_road *of_const(const struct torc_road *road)
{
    return (const struct resp_road *)road;
}

static int explain(struct resp_road *r, int code)
{
    const char *text = strerror(-code);
    switch (code) {
    case -EPIPE:
        text = "the server closed the connection";
        break;
    case -ETIMEDOUT:
        text = "the server does not answer";
        break;
    case -EBADMSG:
        text = "the server's reply is no reply to this command";
        break;
    case -EMSGSIZE:
        text = "the server's reply is too long";
        break;
    default:
        break;
    }
    (void)snprintf(r->error, sizeof r->error, "%s", text);
    return code;
}

static int resp_submit(struct torc_road *road, const struct torc_road_request *request)
{
    static const char *const names[] = {
        [TORC_ROAD_PING] = "PING",   [TORC_ROAD_HGET] = "HGET", [TORC_ROAD_HSET] = "HSET",
        [TORC_ROAD_HMGET] = "HMGET", [TORC_ROAD_DEL] = "DEL",   [TORC_ROAD_EXISTS] = "EXISTS",
    };
    struct resp_road *r = of(road);
    if (torc_resp_client_outstanding(r->client) >= r->window) {
        return -EAGAIN;
    }
    size_t n = request->n_words + 2;
    if (n > r->words_cap) {
        struct torc_bytes *grown = realloc(r->words, n * sizeof *grown);
        if (grown == NULL) {
            return explain(r, -ENOMEM);
        }
        r->words = grown;
        r->words_cap = n;
    }
    const char *name = names[request->op];
    r->words[0] = (struct torc_bytes){name, strlen(name)};
    r->words[1] = request->key;
    if (request->n_words > 0) {
        memcpy(r->words + 2, request->words, request->n_words * sizeof *request->words);
    }
    int rc = torc_resp_client_send(r->client, r->words, request->op == TORC_ROAD_PING ? 1 : n);
    return rc == 0 || rc == -EAGAIN ? rc : explain(r, rc);
}

static struct torc_bytes bytes_of(const struct resp_road *r, struct torc_resp_span span)
{
    struct torc_slice slice = torc_resp_client_bytes(r->client, span);
    return (struct torc_bytes){slice.data, slice.len};
}

/* The oldest outstanding reply, waited for as the road has it. */
static int receive(struct resp_road *r)
{
    if (!r->is_yielding) {
        return torc_resp_client_receive(r->client, r->wait, r->timeout_ns, &r->reply);
    }
    uint64_t deadline = torc_clock_monotonic_ns() + r->timeout_ns;
    /* Without time to wait, receiving is one look. */
    int rc = torc_resp_client_receive(r->client, TORC_RESP_SLEEP, 0, &r->reply);
    while (rc == -ETIMEDOUT && torc_clock_monotonic_ns() < deadline) {
        (void)sched_yield();
        rc = torc_resp_client_receive(r->client, TORC_RESP_SLEEP, 0, &r->reply);
    }
    return rc;
}

static int resp_collect(struct torc_road *road, struct torc_road_reply *out_reply)
{
    static const enum torc_road_kind kinds[] = {
        [TORC_RESP_SIMPLE] = TORC_ROAD_STATUS,   [TORC_RESP_ERROR] = TORC_ROAD_ERROR,
        [TORC_RESP_INTEGER] = TORC_ROAD_INTEGER, [TORC_RESP_BULK] = TORC_ROAD_STRING,
        [TORC_RESP_NIL] = TORC_ROAD_NIL,         [TORC_RESP_ARRAY] = TORC_ROAD_ARRAY,
    };
    struct resp_road *r = of(road);
    int rc = receive(r);
    if (rc != 0) {
        return rc == -ENOENT ? rc : explain(r, rc);
    }
    const struct torc_resp_reply *reply = r->reply;
    *out_reply = (struct torc_road_reply){.kind = kinds[reply->kind]};
    switch (reply->kind) {
    case TORC_RESP_INTEGER:
        out_reply->integer = reply->integer;
        break;
    case TORC_RESP_ARRAY:
        out_reply->count = reply->n_elements;
        break;
    case TORC_RESP_NIL:
        break;
    case TORC_RESP_SIMPLE:
    case TORC_RESP_ERROR:
    case TORC_RESP_BULK:
        out_reply->text = bytes_of(r, reply->text);
        break;
    }
    return 0;
}

static int resp_call(struct torc_road *road, const struct torc_road_request *request,
                     struct torc_road_reply *out_reply)
{
    int rc = resp_submit(road, request);
    return rc != 0 ? rc : resp_collect(road, out_reply);
}

static struct torc_bytes resp_at(const struct torc_road *road, size_t i)
{
    const struct resp_road *r = of_const(road);
    assert(i < r->reply->n_elements);
    return bytes_of(r, r->reply->elements[i]);
}

static const char *resp_error(const struct torc_road *road)
{
    return of_const(road)->error;
}

static void resp_close(struct torc_road *road)
{
    struct resp_road *r = of(road);
    torc_resp_client_close(r->client);
    free(r->words);
    free(r);
}

int torc_road_open_resp(const char *address, const struct torc_road_options *options,
                        struct torc_road **out_road, char error[TORC_ROAD_ERROR_BYTES])
{
    static const struct torc_road_ops ops = {
        .submit = resp_submit,
        .collect = resp_collect,
        .call = resp_call,
        .at = resp_at,
        .error = resp_error,
        .close = resp_close,
    };
    static_assert(TORC_ROAD_ERROR_BYTES >= TORC_RESP_CLIENT_ERROR_BYTES, "the client's texts fit");
    struct resp_road *r = calloc(1, sizeof *r);
    if (r == NULL) {
        (void)snprintf(error, TORC_ROAD_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    int rc = torc_resp_client_open(address, &r->client, error);
    if (rc != 0) {
        free(r);
        return rc;
    }
    r->road = (struct torc_road){.ops = &ops, .name = "RESP"};
    r->wait = options->wait == TORC_ROAD_BUSY ? TORC_RESP_SPIN : TORC_RESP_SLEEP;
    r->is_yielding = options->wait == TORC_ROAD_YIELD;
    r->timeout_ns = options->timeout_ns;
    r->window = options->window;
    *out_road = &r->road;
    return 0;
}
