/* SPDX-License-Identifier: Apache-2.0
 *
 * Loans against a model: random reads are kept and released in any order, between calls, pipelines
 * and deaths of the server, on a session whose reply area is used up many times over. At every step
 * one loan is compared with what it was when it was kept; what is not out is never released.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fake_server.h"
#include "tests/support/prng.h"
#include "torc/torc.h"

enum { N_FIELDS = 6, MAX_LOANS = 40, N_RELEASED = 64 };
#define VALUE_BYTES 9000u

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

/* --- the model: a value is its length and the byte that fills it --- */

struct value {
    size_t len;
    uint8_t fill;
    bool is_set;
};
static struct value model[N_FIELDS];

static struct torc_bytes field_of(unsigned f)
{
    static const char *const names[N_FIELDS] = {"0", "1", "2", "3", "4", "5"};
    return torc_str(names[f]);
}

static bool is_value(struct torc_bytes bytes, struct value value)
{
    if (!value.is_set || bytes.data == NULL) {
        return !value.is_set && bytes.data == NULL;
    }
    const uint8_t *got = bytes.data;
    size_t good = 0;
    while (good < bytes.len && got[good] == value.fill) {
        good++;
    }
    return bytes.len == value.len && good == value.len;
}

static void write_one(struct torc_prng *prng)
{
    static const size_t limits[] = {30, 60, 900, 1100, VALUE_BYTES};
    static uint8_t buffer[VALUE_BYTES];
    unsigned f = (unsigned)torc_prng_below(prng, N_FIELDS);
    struct value value = {torc_prng_below(prng, limits[torc_prng_below(prng, 5)]),
                          (uint8_t)torc_prng_next(prng), true};
    memset(buffer, value.fill, value.len);
    REQUIRE(torc_hset(torc, torc_str("k"), field_of(f), torc_mem(buffer, value.len)) ==
            !model[f].is_set);
    model[f] = value;
}

/* --- loans, each with what it must be for ever --- */

enum shape { ONE_VALUE, SOME_VALUES, MAP };

struct kept {
    struct torc_loan loan;
    enum shape shape;
    unsigned n; /* values */
    struct torc_bytes values[N_FIELDS];
    struct torc_result map;
    struct value expected[N_FIELDS];
};
static struct kept kept[MAX_LOANS];
static unsigned n_kept;
static struct torc_loan released[N_RELEASED];
static uint64_t n_released;

static void check_map(const struct kept *k)
{
    unsigned n_set = 0;
    for (unsigned f = 0; f < N_FIELDS; f++) {
        n_set += k->expected[f].is_set;
    }
    REQUIRE(k->map.kind == TORC_MAP && k->map.count == (size_t)2 * n_set);
    for (size_t i = 0; i < k->map.count; i += 2) {
        struct torc_bytes name = torc_result_at(&k->map, i);
        REQUIRE(name.len == 1);
        unsigned f = (unsigned)(((const char *)name.data)[0] - '0');
        REQUIRE(f < N_FIELDS && k->expected[f].is_set);
        REQUIRE(is_value(torc_result_at(&k->map, i + 1), k->expected[f]));
    }
}

static void check_kept(const struct kept *k)
{
    if (k->shape == MAP) {
        check_map(k);
        return;
    }
    for (unsigned i = 0; i < k->n; i++) {
        REQUIRE(is_value(k->values[i], k->expected[i]));
    }
}

/* Read into `k`, by a call. */
static void call(struct torc_prng *prng, struct kept *k)
{
    k->shape = (enum shape)torc_prng_below(prng, 3);
    unsigned f = (unsigned)torc_prng_below(prng, N_FIELDS);
    k->n = k->shape == ONE_VALUE ? 1 : N_FIELDS;
    if (k->shape == ONE_VALUE) {
        k->expected[0] = model[f];
        REQUIRE(torc_hget(torc, torc_str("k"), field_of(f), &k->values[0]) == model[f].is_set);
        return;
    }
    memcpy(k->expected, model, sizeof model);
    if (k->shape == MAP) {
        REQUIRE(torc_hgetall(torc, torc_str("k"), &k->map) == TORC_OK);
        return;
    }
    struct torc_bytes fields[N_FIELDS];
    for (unsigned i = 0; i < N_FIELDS; i++) {
        fields[i] = field_of(i);
    }
    REQUIRE(torc_hmget(torc, torc_str("k"), fields, N_FIELDS, k->values) >= 0);
}

static void keep(struct kept *k)
{
    int rc = k->shape == MAP ? torc_borrow(torc, &k->map, &k->loan)
                             : torc_borrow_values(torc, k->values, k->n, &k->loan);
    REQUIRE(rc == TORC_OK);
    for (unsigned i = 0; i < n_kept; i++) {
        REQUIRE(kept[i].loan.id != k->loan.id);
    }
    kept[n_kept++] = *k;
}

static void release(unsigned i)
{
    check_kept(&kept[i]);
    REQUIRE(torc_release(torc, kept[i].loan) == TORC_OK);
    released[n_released++ % N_RELEASED] = kept[i].loan;
    kept[i] = kept[--n_kept];
}

/* Reads under way together; some of the results are kept as they come. */
static void run_pipeline(struct torc_prng *prng)
{
    unsigned n = 1 + (unsigned)torc_prng_below(prng, 30);
    unsigned submitted = 0;
    unsigned collected = 0;
    while (collected < n) {
        unsigned f = submitted % N_FIELDS;
        if (submitted < n && torc_submit_hget(torc, f, torc_str("k"), field_of(f)) == TORC_OK) {
            submitted++;
            continue;
        }
        struct torc_result result;
        struct kept k = {.shape = ONE_VALUE, .n = 1};
        REQUIRE(torc_collect(torc, &result) == TORC_OK);
        k.expected[0] = model[result.tag];
        if (n_kept < MAX_LOANS && torc_prng_below(prng, 3) == 0) {
            REQUIRE(torc_borrow(torc, &result, &k.loan) == TORC_OK);
            k.values[0] = result.string;
            kept[n_kept++] = k;
        }
        REQUIRE(is_value(result.string, k.expected[0]));
        collected++;
    }
}

static void do_step(struct torc_prng *prng)
{
    struct kept k = {.n = 0};
    switch (torc_prng_below(prng, 10)) {
    case 0:
    case 1:
        write_one(prng);
        break;
    case 2:
        run_pipeline(prng);
        break;
    case 3:
        if (torc_prng_below(prng, 20) == 0) {
            torc_fake_server_kill(server);
            REQUIRE(torc_ping(torc) == TORC_EPIPE);
            REQUIRE(torc_reattach(torc) == TORC_OK);
        }
        break;
    case 4:
        if (n_released > 0) {
            REQUIRE(torc_release(torc, released[torc_prng_below(prng, n_released) % N_RELEASED]) ==
                    TORC_EINVAL);
        }
        break;
    case 5:
    case 6:
        if (n_kept > 0) {
            release((unsigned)torc_prng_below(prng, n_kept));
        }
        break;
    default:
        call(prng, &k);
        if (n_kept < MAX_LOANS) {
            keep(&k);
        }
        check_kept(&k);
        break;
    }
}

int main(void)
{
    seed = torc_test_seed(1851);
    struct torc_prng prng = {seed};
    server = torc_fake_server_start(&(struct torc_fake_options){.slots = 8});
    struct torc_options options = {.socket = torc_fake_server_path(server),
                                   .deadline_ns = 60000000000u};
    REQUIRE(torc_open(&options, &torc, NULL) == TORC_OK);
    uint64_t n = torc_test_ops(5000);
    for (step = 0; step < n; step++) {
        do_step(&prng);
        REQUIRE(torc_loans(torc) == n_kept);
        if (n_kept > 0) {
            check_kept(&kept[torc_prng_below(&prng, n_kept)]);
        }
    }
    while (n_kept > 10) {
        release(n_kept / 2);
    }
    torc_close(torc); /* frees the others */
    torc_fake_server_stop(server);
    return EXIT_SUCCESS;
}
