/* SPDX-License-Identifier: Apache-2.0
 *
 * Two databases of one arena against naive models: few keys, few fields, mixed sizes, limits
 * squeezed so that hashes change their form all the time, an allocator that fails in the middle of
 * a command, a memory limit, and maintenance in small steps between the commands. Held after each
 * step: torc_keyspace_check() and what the command answered; every few steps all contents. Fields
 * and values are also such as the codec encodes, or nearly would, and encoding and compression go
 * off and on.
 */
#include <check.h>
#include <stdlib.h>

#include "hash/keyspace.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/coded_text.h"
#include "tests/support/model.h"
#include "tests/support/prng.h"

#define N_DATABASES 2u
#define MAX_KEYS    10u
#define MAX_PAIRS   30u
#define VALUE_MOST  70000u
#define NAME_MOST   300u
#define KEY_MOST    9000u
#define ROOT_BYTES  256u

/* How a run goes. */
struct course {
    unsigned value_scale; /* how large values are: 0 .. 2 */
    unsigned n_keys;
    unsigned n_fields;
    unsigned check_every;
    unsigned compare_every;
    uint64_t n_steps;
};

struct bench {
    struct course course;
    struct torc_arena *arena;
    struct torc_hash_limits limits;
    struct torc_keyspace *keyspaces[N_DATABASES];
    struct torc_model *models[N_DATABASES];
    unsigned db; /* of this step */
    struct torc_prng prng;
    uint64_t step;
    struct torc_pair pairs[MAX_PAIRS];
    struct torc_slice fields[MAX_PAIRS];
    uint8_t names[MAX_PAIRS][NAME_MOST];
    uint8_t key_name[KEY_MOST];
    uint8_t *values;
    size_t at; /* of the walk over a model */
};

static uint64_t below(struct bench *b, uint64_t n)
{
    return torc_prng_below(&b->prng, n);
}

static void fail_step(const struct bench *b, const char *what)
{
    ck_abort_msg("step %llu: %s", (unsigned long long)b->step, what);
}

#define HOLD(b, claim)                                                                             \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fail_step(b, #claim);                                                                  \
        }                                                                                          \
    } while (0)

static struct torc_keyspace *keyspace(const struct bench *b)
{
    return b->keyspaces[b->db];
}
static struct torc_model *model(const struct bench *b)
{
    return b->models[b->db];
}

/* --- names and values --- */

static struct torc_slice key_of(unsigned i, uint8_t *room)
{
    static const size_t lens[MAX_KEYS] = {0, 1, 14, 14, 14, 20, 191, 192, 300, KEY_MOST};
    memset(room, 'K', lens[i]);
    if (lens[i] > 0) {
        room[0] = (uint8_t)i;
    }
    return torc_slice_of(room, lens[i]);
}

static struct torc_key numbered_key(struct bench *b, unsigned number)
{
    return torc_keyspace_key(keyspace(b), key_of(number, b->key_name));
}

static struct torc_key random_key(struct bench *b)
{
    return numbered_key(b, (unsigned)below(b, b->course.n_keys));
}

static struct torc_slice field_of(unsigned i, uint8_t *room)
{
    static const size_t edges[] = {0, 1, 107, 108, 127, 128, 191, 192, 299};
    if (i >= 9 && i % 3 == 2) {
        char text[TORC_CODED_BYTES];
        struct torc_slice coded = torc_coded_text((i / 3) % TORC_CODED_KINDS, i, text);
        memcpy(room, coded.data, coded.len);
        return torc_slice_of(room, coded.len);
    }
    size_t len = i < 9 ? edges[i] : 5 + i % 11;
    memset(room, 'f', len);
    if (i >= 9) {
        torc_store_u32(room, i);
    } else if (len > 0) {
        room[0] = (uint8_t)i;
    }
    return torc_slice_of(room, len);
}

static struct torc_slice random_field(struct bench *b, unsigned slot)
{
    return field_of((unsigned)below(b, b->course.n_fields), b->names[slot]);
}

static size_t random_len(struct bench *b)
{
    static const size_t edges[] = {0, 1, 107, 108, 127, 128, 191, 192};
    uint64_t kind = below(b, 100);
    if (kind < 60) {
        return 15 + below(b, 3);
    }
    if (kind < 75) {
        return edges[below(b, 8)];
    }
    if (kind < 98 || b->course.value_scale == 0) {
        return below(b, 600);
    }
    return below(b, b->course.value_scale == 1 ? 9000 : VALUE_MOST);
}

static struct torc_slice random_value(struct bench *b, unsigned slot)
{
    uint8_t *value = b->values + slot * (size_t)VALUE_MOST;
    if (below(b, 3) == 0) {
        char text[TORC_CODED_BYTES];
        struct torc_slice coded = torc_coded_random(&b->prng, text);
        memcpy(value, coded.data, coded.len);
        return torc_slice_of(value, coded.len);
    }
    size_t len = random_len(b);
    torc_compressible_fill(&b->prng, value, len);
    return torc_slice_of(value, len);
}

static void change_limits(struct bench *b)
{
    static const uint32_t entries[] = {0, 4, 16, 65535};
    static const uint32_t values[] = {8, 64, 32767, 32767};
    static const uint32_t compress[] = {0, 64, 64, 500};
    b->limits.compact_max_entries = entries[below(b, 4)];
    b->limits.compact_max_value = values[below(b, 4)];
    b->limits.disable_encoding = below(b, 3) == 0;
    b->limits.compress_min_bytes = compress[below(b, 4)];
}

/* --- comparing --- */

static void compare_pair(void *arg, const struct torc_pair *pair)
{
    struct bench *b = arg;
    struct torc_slice value;
    struct torc_slice key = torc_slice_of(b->key_name, b->at);
    HOLD(b, torc_model_get(model(b), key, pair->field, &value));
    HOLD(b, torc_slice_equal(value, pair->value));
}

/* Compact hashes come in the order of insertion. */
static void compare_in_order(void *arg, const struct torc_pair *pair)
{
    struct bench *b = arg;
    struct torc_slice key = torc_slice_of(b->key_name, b->fields[0].len);
    struct torc_slice value;
    struct torc_slice field = torc_model_pair_at(model(b), key, b->at++, &value);
    HOLD(b, torc_slice_equal(field, pair->field) && torc_slice_equal(value, pair->value));
}

static void compare_key(struct bench *b, unsigned i)
{
    struct torc_key key = numbered_key(b, i);
    size_t len = torc_model_len(model(b), key.name);
    HOLD(b, torc_hash_len(keyspace(b), &key) == (int64_t)len);
    HOLD(b, torc_keyspace_type(keyspace(b), &key) == (len > 0 ? TORC_TYPE_HASH : TORC_TYPE_NONE));
    HOLD(b, (torc_keyspace_usage(keyspace(b), &key) > 0) == (len > 0));
    if (torc_keyspace_encoding(keyspace(b), &key) == TORC_ENCODING_COMPACT) {
        b->at = 0;
        b->fields[0] = key.name;
        HOLD(b, torc_hash_each(keyspace(b), &key, TORC_PAIRS, compare_in_order, b) == 0);
        HOLD(b, b->at == len);
    } else {
        uint64_t cursor = 0;
        b->at = key.name.len;
        do {
            HOLD(b, torc_hash_scan(keyspace(b), &key, cursor, 2, TORC_PAIRS, compare_pair, b,
                                   &cursor) == 0);
        } while (cursor != 0);
    }
    for (unsigned k = 0; k < b->course.n_fields; ++k) {
        struct torc_value ours;
        struct torc_slice theirs;
        struct torc_slice field = field_of(k, b->names[0]);
        bool there = torc_model_get(model(b), key.name, field, &theirs);
        HOLD(b, torc_hash_get(keyspace(b), &key, field, &ours) == there);
        HOLD(b, !there || torc_slice_equal(ours.text, theirs));
        size_t value_len;
        HOLD(b, torc_hash_value_len(keyspace(b), &key, field, &value_len) == there);
        HOLD(b, !there || value_len == theirs.len);
    }
}

static void see_key(void *arg, struct torc_slice key, enum torc_type type)
{
    struct bench *b = arg;
    HOLD(b, type == TORC_TYPE_HASH && torc_model_len(model(b), key) > 0);
    ++b->at;
}

static void compare_all(struct bench *b)
{
    for (b->db = 0; b->db < N_DATABASES; ++b->db) {
        uint64_t cursor = 0;
        HOLD(b, torc_keyspace_count(keyspace(b)) == torc_model_count(model(b)));
        b->at = 0;
        do {
            cursor = torc_keyspace_scan(keyspace(b), cursor, 1, see_key, b);
        } while (cursor != 0);
        HOLD(b, b->at == torc_model_count(model(b)));
        for (unsigned i = 0; i < b->course.n_keys; ++i) {
            compare_key(b, i);
        }
    }
    b->db = 0;
}

static void check(struct bench *b)
{
    const char *why = NULL;
    if (b->step % b->course.check_every == 0 && torc_keyspace_check(keyspace(b), &why) != 0) {
        fail_step(b, why);
    }
    HOLD(b, torc_arena_in_flight(b->arena) == 0);
    if (b->step % b->course.compare_every == 0) {
        compare_all(b);
    }
}

/* --- steps --- */

/* The form that a hash must have after a put that went well. */
static void check_form(struct bench *b, const struct torc_key *key, size_t n_pairs, bool was_full)
{
    bool full = torc_keyspace_encoding(keyspace(b), key) == TORC_ENCODING_FULL;
    size_t len = torc_model_len(model(b), key->name);
    size_t longest = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < n_pairs; ++i) {
        longest = torc_max_u64(longest, b->pairs[i].field.len);
        longest = torc_max_u64(longest, b->pairs[i].value.len);
    }
    for (size_t i = 0; i < len; ++i) {
        struct torc_slice value;
        bytes += torc_model_pair_at(model(b), key->name, i, &value).len + value.len + 8;
    }
    bool too_much = was_full || n_pairs > b->limits.compact_max_entries ||
                    len > b->limits.compact_max_entries || longest > b->limits.compact_max_value;
    HOLD(b, full || !too_much);
    HOLD(b, !full || too_much || bytes > 60000);
}

static void put(struct bench *b)
{
    unsigned key_number = (unsigned)below(b, b->course.n_keys);
    struct torc_key key = numbered_key(b, key_number);
    size_t n = below(b, 3) == 0 ? below(b, MAX_PAIRS + 1) : 1;
    bool was_full = torc_keyspace_encoding(keyspace(b), &key) == TORC_ENCODING_FULL;
    uint64_t index = torc_arena_used_by(b->arena, TORC_USE_INDEX);
    uint64_t roots = torc_arena_used_by(b->arena, TORC_USE_ROOT);
    uint64_t extents = torc_arena_used_by(b->arena, TORC_USE_EXTENT);
    uint64_t usage = torc_keyspace_usage(keyspace(b), &key);
    unsigned refuse = (unsigned)below(b, 8);
    for (unsigned i = 0; i < n; ++i) {
        b->pairs[i].field = random_field(b, i);
        b->pairs[i].value = random_value(b, i);
    }
    if (refuse == 0) {
        torc_arena_fail_after(b->arena, 1 + below(b, n + 4));
    } else if (refuse == 1) {
        torc_arena_set_limit(b->arena, torc_arena_used(b->arena) + below(b, 4096));
    }
    int64_t created = torc_hash_put(keyspace(b), &key, b->pairs, n);
    torc_arena_fail_after(b->arena, 0);
    torc_arena_set_limit(b->arena, 0);
    if (created < 0) {
        HOLD(b, refuse <= 1 && created == -ENOSPC);
        HOLD(b, torc_arena_used_by(b->arena, TORC_USE_INDEX) == index);
        HOLD(b, torc_arena_used_by(b->arena, TORC_USE_ROOT) == roots);
        HOLD(b, torc_arena_used_by(b->arena, TORC_USE_EXTENT) == extents);
        HOLD(b, torc_keyspace_usage(keyspace(b), &key) == usage);
        compare_key(b, key_number);
        return;
    }
    int64_t expected = 0;
    for (size_t i = 0; i < n; ++i) {
        expected += torc_model_put(model(b), key.name, b->pairs[i].field, b->pairs[i].value);
    }
    HOLD(b, created == expected);
    if (n > 0) {
        check_form(b, &key, n, was_full);
    }
}

static void del(struct bench *b)
{
    struct torc_key key = random_key(b);
    size_t n = 1 + below(b, 5);
    int64_t expected = 0;
    for (unsigned i = 0; i < n; ++i) {
        b->fields[i] = random_field(b, i);
        expected += torc_model_del(model(b), key.name, b->fields[i]);
    }
    torc_arena_fail_after(b->arena, 1); /* it needs no memory */
    HOLD(b, torc_hash_del(keyspace(b), &key, b->fields, n) == expected);
    torc_arena_fail_after(b->arena, 0);
}

static void drop(struct bench *b)
{
    struct torc_key key = random_key(b);
    torc_arena_fail_after(b->arena, 1);
    HOLD(b, torc_keyspace_del(keyspace(b), &key) == torc_model_drop(model(b), key.name));
    torc_arena_fail_after(b->arena, 0);
}

static void flush(struct bench *b)
{
    torc_arena_fail_after(b->arena, 1);
    torc_keyspace_flush(keyspace(b));
    torc_arena_fail_after(b->arena, 0);
    torc_model_flush(model(b));
}

static void get_many(struct bench *b)
{
    struct torc_key key = random_key(b);
    struct torc_value ours[MAX_PAIRS];
    size_t n = below(b, MAX_PAIRS + 1);
    for (unsigned i = 0; i < n; ++i) {
        b->fields[i] = random_field(b, i);
    }
    torc_keyspace_prefetch_line(keyspace(b), &key);
    torc_keyspace_prefetch_record(keyspace(b), &key);
    HOLD(b, torc_hash_get_many(keyspace(b), &key, b->fields, n, ours) == (int64_t)n);
    for (unsigned i = 0; i < n; ++i) {
        struct torc_slice theirs;
        bool there = torc_model_get(model(b), key.name, b->fields[i], &theirs);
        HOLD(b, (ours[i].text.data != NULL) == there);
        HOLD(b, !there || torc_slice_equal(ours[i].text, theirs));
    }
}

static void random_picks(struct bench *b)
{
    struct torc_key key = random_key(b);
    struct torc_pair pair;
    struct torc_pair_room room;
    struct torc_slice value;
    int any =
        torc_hash_random(keyspace(b), &key, torc_prng_next(&b->prng), TORC_PAIRS, &room, &pair);
    HOLD(b, any == (torc_model_len(model(b), key.name) > 0));
    HOLD(b, any == 0 || (torc_model_get(model(b), key.name, pair.field, &value) &&
                         torc_slice_equal(value, pair.value)));
    struct torc_slice name = torc_keyspace_random(keyspace(b), torc_prng_next(&b->prng));
    HOLD(b, (name.data != NULL) == (torc_model_count(model(b)) > 0));
    HOLD(b, name.data == NULL || torc_model_len(model(b), name) > 0);
}

/* Put a pair of the key behind those that the model has of it. */
static void put_last(void *arg, const struct torc_pair *pair)
{
    struct bench *b = arg;
    struct torc_slice key = torc_slice_of(b->key_name, b->fields[0].len);
    HOLD(b, torc_model_del(model(b), key, pair->field));
    HOLD(b, torc_model_put(model(b), key, pair->field, pair->value));
}

/* A full hash that becomes compact in an idle moment begins with the order that its table had. */
static void settle(struct bench *b)
{
    bool was_full[MAX_KEYS] = {false};
    for (unsigned i = 0; i < b->course.n_keys; ++i) {
        struct torc_key key = numbered_key(b, i);
        was_full[i] = torc_keyspace_encoding(keyspace(b), &key) == TORC_ENCODING_FULL;
    }
    (void)torc_keyspace_settle(keyspace(b), below(b, 2) == 0, (unsigned)below(b, 100));
    torc_arena_fail_after(b->arena, 0);
    for (unsigned i = 0; i < b->course.n_keys; ++i) {
        struct torc_key key = numbered_key(b, i);
        bool is_compact = torc_keyspace_encoding(keyspace(b), &key) == TORC_ENCODING_COMPACT;
        if (was_full[i] && is_compact) {
            size_t len = torc_model_len(model(b), key.name);
            HOLD(b, len <= 64 && len <= b->limits.compact_max_entries / 2);
            b->fields[0] = key.name;
            HOLD(b, torc_hash_each(keyspace(b), &key, TORC_PAIRS, put_last, b) == 0);
            HOLD(b, torc_model_len(model(b), key.name) == len);
        }
        HOLD(b, was_full[i] || is_compact || torc_model_len(model(b), key.name) == 0);
    }
}

static void maintain(struct bench *b)
{
    bool failing = below(b, 16) == 0;
    if (failing) {
        torc_arena_fail_after(b->arena, 1 + below(b, 5));
    }
    if (below(b, 8) == 0) {
        settle(b);
    } else {
        (void)torc_keyspace_maintain(keyspace(b), (unsigned)below(b, 100));
    }
    torc_arena_fail_after(b->arena, 0);
}

static void step(struct bench *b)
{
    b->db = (unsigned)below(b, N_DATABASES);
    switch (below(b, 24)) {
    case 0:
    case 1:
    case 2:
    case 3:
        del(b);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        maintain(b);
        break;
    case 8:
        get_many(b);
        break;
    case 9:
        random_picks(b);
        break;
    case 10:
        if (below(b, b->course.n_fields) < 12) {
            drop(b);
        }
        break;
    case 11:
        if (below(b, b->course.n_fields) == 0) {
            flush(b);
        }
        break;
    case 12:
        if (below(b, 8) == 0) {
            change_limits(b);
        }
        break;
    default:
        put(b);
        break;
    }
}

/* Everything goes, and nothing is left but the two roots. */
static void finish(struct bench *b)
{
    const char *why = NULL;
    for (b->db = 0; b->db < N_DATABASES; ++b->db) {
        struct torc_key key = torc_keyspace_key(keyspace(b), torc_slice_str("last"));
        struct torc_pair pair = {.field = torc_slice_str("f"), .value = torc_slice_str("v")};
        HOLD(b, torc_hash_put(keyspace(b), &key, &pair, 1) == 1);
        flush(b);
        while (torc_keyspace_settle(keyspace(b), true, 50)) {
        }
        HOLD(b, torc_keyspace_check(keyspace(b), &why) == 0);
    }
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_ROOT) == (uint64_t)N_DATABASES * ROOT_BYTES);
    HOLD(b, torc_arena_used(b->arena) == (uint64_t)N_DATABASES * ROOT_BYTES);
}

static void run(const struct course *course)
{
    struct bench b = {
        .course = *course,
        .arena = torc_test_arena(512 * TORC_MIB, 5),
        .limits = TORC_HASH_LIMITS_DEFAULT,
        .prng = {torc_test_seed(40)},
        .values = malloc((size_t)MAX_PAIRS * VALUE_MOST),
    };
    uint64_t n = torc_test_ops(course->n_steps);
    ck_assert_ptr_nonnull(b.values);
    for (unsigned i = 0; i < N_DATABASES; ++i) {
        ck_assert_int_eq(torc_keyspace_open(b.arena, 3 * i, &b.limits, &b.keyspaces[i]), 0);
        b.models[i] = torc_model_create();
    }
    for (b.step = 1; b.step <= n; ++b.step) {
        step(&b);
        check(&b);
    }
    compare_all(&b);
    finish(&b);
    for (unsigned i = 0; i < N_DATABASES; ++i) {
        torc_keyspace_close(b.keyspaces[i]);
        torc_model_destroy(b.models[i]);
    }
    free(b.values);
    torc_arena_destroy(b.arena);
}

START_TEST(small_values)
{
    static const struct course course = {
        .value_scale = 0,
        .n_keys = 10,
        .n_fields = 48,
        .check_every = 1,
        .compare_every = 64,
        .n_steps = 4000,
    };
    run(&course);
}
END_TEST

START_TEST(middling_values)
{
    static const struct course course = {
        .value_scale = 1,
        .n_keys = 10,
        .n_fields = 48,
        .check_every = 4,
        .compare_every = 64,
        .n_steps = 2500,
    };
    run(&course);
}
END_TEST

START_TEST(large_values)
{
    static const struct course course = {
        .value_scale = 2,
        .n_keys = 10,
        .n_fields = 48,
        .check_every = 8,
        .compare_every = 64,
        .n_steps = 2000,
    };
    run(&course);
}
END_TEST

START_TEST(large_hashes)
{
    static const struct course course = {
        .value_scale = 1,
        .n_keys = 2,
        .n_fields = 3000,
        .check_every = 64,
        .compare_every = 512,
        .n_steps = 5000,
    };
    run(&course);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace");
    TCase *tcase = tcase_create("keyspace");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, small_values);
    tcase_add_test(tcase, middling_values);
    tcase_add_test(tcase, large_values);
    tcase_add_test(tcase, large_hashes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
