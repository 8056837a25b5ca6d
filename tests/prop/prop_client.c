/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc against a model: random calls and pipelines over a fake server that is held now and then,
 * so that calls time out, and that dies now and then. A request that timed out is executed later,
 * in its order, and its reply never taken for another's. After a death the outcome of what was in
 * flight is unknown: the model asks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fake_server.h"
#include "tests/support/prng.h"
#include "torc/torc.h"

enum { N_KEYS = 4, N_FIELDS = 6, MAX_PENDING = 64 };
#define VALUE_BYTES 20000u

static uint64_t seed;
static uint64_t step;
static struct torc_fake_server *server;
static struct torc *torc;

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail(__LINE__, #condition);                                                            \
        }                                                                                          \
    } while (0)

static void fail(int line, const char *condition)
{
    (void)fprintf(stderr, "TORC_SEED=%llu step %llu line %d: %s (%s)\n", (unsigned long long)seed,
                  (unsigned long long)step, line, condition, torc_error_text(torc));
    exit(EXIT_FAILURE);
}

/* --- the model: a value is its length and a number that fills it --- */

struct value {
    bool is_set;
    size_t len;
    uint32_t fill;
};
static struct value model[N_KEYS][N_FIELDS];

static const char *const key_names[N_KEYS] = {"k0", "k1", "a longer key than a slot has room for.",
                                              "k3"};
static const char *const field_names[N_FIELDS] = {"f0", "f1", "f2", "", "field 4", "field-5"};

static struct torc_bytes key_of(unsigned k)
{
    return torc_str(key_names[k]);
}
static struct torc_bytes field_of(unsigned f)
{
    return torc_str(field_names[f]);
}

static struct value random_value(struct torc_prng *prng)
{
    static const size_t limits[] = {8, 40, 60, 300, 2000, VALUE_BYTES};
    size_t limit = limits[torc_prng_below(prng, 6)];
    return (struct value){true, torc_prng_below(prng, limit), (uint32_t)torc_prng_next(prng)};
}

static struct torc_bytes bytes_of(struct value value, uint8_t *buffer)
{
    for (size_t i = 0; i < value.len; i++) {
        buffer[i] = (uint8_t)(value.fill + i * 7);
    }
    return torc_mem(buffer, value.len);
}

static bool is_value(struct torc_bytes bytes, struct value value)
{
    if (!value.is_set) {
        return bytes.data == NULL;
    }
    if (bytes.data == NULL || bytes.len != value.len) {
        return false;
    }
    const uint8_t *got = bytes.data;
    for (size_t i = 0; i < value.len; i++) {
        if (got[i] != (uint8_t)(value.fill + i * 7)) {
            return false;
        }
    }
    return true;
}

static unsigned count_fields(unsigned k)
{
    unsigned n = 0;
    for (unsigned f = 0; f < N_FIELDS; f++) {
        n += model[k][f].is_set;
    }
    return n;
}

static bool set_in_model(unsigned k, unsigned f, struct value value)
{
    bool is_new = !model[k][f].is_set;
    model[k][f] = value;
    return is_new;
}

/* --- single calls --- */

static void check_all(unsigned k)
{
    struct torc_result result;
    REQUIRE(torc_hgetall(torc, key_of(k), &result) == TORC_OK);
    REQUIRE(result.count == (size_t)2 * count_fields(k));
    for (size_t i = 0; i < result.count; i += 2) {
        struct torc_bytes name = torc_result_at(&result, i);
        unsigned f = 0;
        while (f < N_FIELDS && !(strlen(field_names[f]) == name.len &&
                                 memcmp(field_names[f], name.data, name.len) == 0)) {
            f++;
        }
        REQUIRE(f < N_FIELDS && model[k][f].is_set);
        REQUIRE(is_value(torc_result_at(&result, i + 1), model[k][f]));
    }
}

static void call_once(struct torc_prng *prng)
{
    static uint8_t buffer[VALUE_BYTES];
    unsigned k = (unsigned)torc_prng_below(prng, N_KEYS);
    unsigned f = (unsigned)torc_prng_below(prng, N_FIELDS);
    struct torc_bytes key = key_of(k);
    struct torc_bytes field = field_of(f);
    struct torc_bytes got;
    switch (torc_prng_below(prng, 7)) {
    case 0:
    case 1: {
        struct value value = random_value(prng);
        int rc = torc_hset(torc, key, field, bytes_of(value, buffer));
        REQUIRE(rc == set_in_model(k, f, value));
        break;
    }
    case 2:
        REQUIRE(torc_hget(torc, key, field, &got) == model[k][f].is_set);
        REQUIRE(is_value(got, model[k][f]));
        break;
    case 3: {
        struct torc_bytes fields[N_FIELDS];
        struct torc_bytes values[N_FIELDS];
        for (unsigned i = 0; i < N_FIELDS; i++) {
            fields[i] = field_of(i);
        }
        REQUIRE(torc_hmget(torc, key, fields, N_FIELDS, values) == count_fields(k));
        for (unsigned i = 0; i < N_FIELDS; i++) {
            REQUIRE(is_value(values[i], model[k][i]));
        }
        break;
    }
    case 4:
        REQUIRE(torc_hdel(torc, key, &field, 1) == model[k][f].is_set);
        model[k][f].is_set = false;
        break;
    case 5:
        REQUIRE(torc_hlen(torc, key) == count_fields(k));
        break;
    default:
        check_all(k);
        break;
    }
}

/* --- pipelines --- */

/* What a result must be, known when its request is submitted. */
struct pending {
    bool is_get;
    struct value value;
    int64_t integer;
};

static void run_pipeline(struct torc_prng *prng)
{
    static uint8_t buffer[VALUE_BYTES];
    struct pending pending[MAX_PENDING];
    uint64_t submitted = 0;
    uint64_t collected = 0;
    uint64_t n = 1 + torc_prng_below(prng, 200);
    while (collected < n) {
        bool submits =
            submitted < n && submitted - collected < MAX_PENDING && torc_prng_below(prng, 3) != 0;
        if (submits) {
            unsigned k = (unsigned)torc_prng_below(prng, N_KEYS);
            unsigned f = (unsigned)torc_prng_below(prng, N_FIELDS);
            struct pending *p = &pending[submitted % MAX_PENDING];
            struct torc_bytes field = field_of(f);
            struct value value = random_value(prng);
            uint64_t what = torc_prng_below(prng, 4);
            int rc;
            if (what == 0) {
                const struct torc_bytes pair[] = {field, bytes_of(value, buffer)};
                rc = torc_submit_hset(torc, submitted, key_of(k), pair, 1);
            } else if (what == 1) {
                rc = torc_submit_hdel(torc, submitted, key_of(k), &field, 1);
            } else {
                rc = torc_submit_hget(torc, submitted, key_of(k), field);
            }
            REQUIRE(rc == TORC_OK || rc == TORC_EAGAIN);
            if (rc == TORC_OK) {
                *p = (struct pending){.is_get = what >= 2, .value = model[k][f]};
                if (what == 0) {
                    p->integer = set_in_model(k, f, value);
                } else if (what == 1) {
                    p->integer = model[k][f].is_set;
                    model[k][f].is_set = false;
                }
                submitted++;
                continue;
            }
        }
        struct torc_result result;
        int rc = torc_prng_below(prng, 2) == 0 ? torc_collect(torc, &result)
                                               : torc_try_collect(torc, &result);
        if (submitted == collected) {
            REQUIRE(rc == TORC_ENOENT);
            continue;
        }
        REQUIRE(rc == TORC_OK || rc == TORC_EAGAIN);
        if (rc == TORC_OK) {
            const struct pending *p = &pending[collected % MAX_PENDING];
            REQUIRE(result.tag == collected);
            if (p->is_get) {
                REQUIRE(result.kind == (p->value.is_set ? TORC_STRING : TORC_NIL));
                REQUIRE(is_value(result.string, p->value));
            } else {
                REQUIRE(result.kind == TORC_INTEGER && result.integer == p->integer);
            }
            collected++;
        }
        REQUIRE(torc_outstanding(torc) == submitted - collected);
    }
}

/* --- time-outs and deaths --- */

/* Calls that nobody answers in time: executed later, in order. */
static void time_out(struct torc_prng *prng)
{
    static uint8_t buffer[VALUE_BYTES];
    torc_fake_server_hold(server, true);
    torc_set_deadline(torc, 20000);
    uint64_t n = 1 + torc_prng_below(prng, 6);
    for (uint64_t i = 0; i < n; i++) {
        unsigned k = (unsigned)torc_prng_below(prng, N_KEYS);
        unsigned f = (unsigned)torc_prng_below(prng, N_FIELDS);
        struct torc_bytes got;
        if (torc_prng_below(prng, 2) == 0) {
            struct value value = random_value(prng);
            int rc = torc_hset(torc, key_of(k), field_of(f), bytes_of(value, buffer));
            REQUIRE(rc == TORC_ETIMEDOUT || rc == TORC_EAGAIN);
            if (rc == TORC_ETIMEDOUT) {
                (void)set_in_model(k, f, value);
            }
        } else {
            int rc = torc_hget(torc, key_of(k), field_of(f), &got);
            REQUIRE(rc == TORC_ETIMEDOUT || rc == TORC_EAGAIN);
        }
    }
    torc_set_deadline(torc, 0);
    torc_fake_server_hold(server, false);
    /* Long requests are sent on only by calls that wait: one that finds no room must be repeated.
     */
    int rc = TORC_EAGAIN;
    while (rc == TORC_EAGAIN) {
        rc = torc_ping(torc);
    }
    REQUIRE(rc == TORC_OK);
}

/* What is there now is what is there. */
static void ask_model(void)
{
    for (unsigned k = 0; k < N_KEYS; k++) {
        for (unsigned f = 0; f < N_FIELDS; f++) {
            struct torc_bytes got;
            int rc = torc_hget(torc, key_of(k), field_of(f), &got);
            REQUIRE(rc >= 0);
            model[k][f].is_set = rc == 1;
            if (rc == 1) {
                model[k][f].len = got.len;
                model[k][f].fill = got.len > 0 ? ((const uint8_t *)got.data)[0] : 0;
                REQUIRE(is_value(got, model[k][f]));
            }
        }
    }
}

static void die(struct torc_prng *prng)
{
    uint64_t epoch = torc_epoch(torc);
    for (uint64_t n = torc_prng_below(prng, 10); n > 0; n--) {
        struct torc_bytes field = field_of((unsigned)torc_prng_below(prng, N_FIELDS));
        int rc = torc_submit_hdel(torc, n, key_of(0), &field, 1);
        REQUIRE(rc == TORC_OK || rc == TORC_EAGAIN);
    }
    torc_fake_server_kill(server);
    struct torc_result result;
    int rc = TORC_OK;
    while (rc == TORC_OK) {
        rc = torc_collect(torc, &result); /* what came before */
    }
    REQUIRE(rc == TORC_EPIPE || rc == TORC_ENOENT);
    if (rc == TORC_ENOENT) {
        REQUIRE(torc_ping(torc) == TORC_EPIPE);
    }
    REQUIRE(torc_reattach(torc) == TORC_OK);
    REQUIRE(torc_epoch(torc) != epoch);
    ask_model();
}

int main(void)
{
    seed = torc_test_seed(4711);
    struct torc_prng prng = {seed};
    server = torc_fake_server_start(&(struct torc_fake_options){.slots = 8});
    struct torc_options options = {.socket = torc_fake_server_path(server),
                                   .deadline_ns = 60000000000u};
    REQUIRE(torc_open(&options, &torc, NULL) == TORC_OK);
    uint64_t n = torc_test_ops(3000);
    for (step = 0; step < n; step++) {
        switch (torc_prng_below(&prng, 100)) {
        case 0:
            die(&prng);
            break;
        case 1:
        case 2:
        case 3:
            time_out(&prng);
            break;
        case 4:
        case 5:
            run_pipeline(&prng);
            break;
        default:
            call_once(&prng);
            break;
        }
    }
    for (unsigned k = 0; k < N_KEYS; k++) {
        check_all(k);
    }
    torc_close(torc);
    torc_fake_server_stop(server);
    return EXIT_SUCCESS;
}
