/* SPDX-License-Identifier: Apache-2.0
 *
 * One full hash after the other against the naive model: sets of many pairs with duplicates, an
 * allocator that fails in the middle, records moved as the cleaner does, sizes that take the hash
 * to segments of its own and back, and dropping in steps. Held after each step: torc_full_check(),
 * the count and the bytes; every few steps all fields. Values are also such as the codec encodes,
 * or nearly would, or that can be compressed, and are put now encoded, now verbatim, now
 * compressed.
 *
 * Fields also have times on a clock that the test moves on; the model keeps past fields until the
 * hash loses them too.
 */
#include <check.h>
#include <limits.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/full.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/coded_text.h"
#include "tests/support/model.h"
#include "tests/support/prng.h"

#define MAX_PAIRS  80u
#define MAX_FIELDS 400u
#define KEY        torc_slice_str("the only key")

struct bench {
    struct torc_arena *arena;
    struct torc_model *model;
    struct torc_press *press;
    struct torc_prng prng;
    uint64_t root;
    uint64_t step;
    unsigned n_fields;   /* names to choose from */
    uint64_t value_most; /* bytes */
    struct torc_pair pairs[MAX_PAIRS];
    uint8_t names[MAX_PAIRS][64];
    unsigned numbers[MAX_PAIRS]; /* of these names */
    uint64_t now;
    uint64_t whens[MAX_FIELDS]; /* the model's times, by number; 0 none */
    struct torc_pair_room room;
    uint8_t *values;
    char coded[MAX_PAIRS][TORC_CODED_BYTES];
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

/* --- what is put in --- */

/* The i-th name: 0 to 60 bytes, all different. */
static struct torc_slice name_of(unsigned i, uint8_t *room)
{
    size_t len = i == 0 ? 0 : 2 + i * 7 % 59;
    memset(room, 'a' + (int)(i % 26), len);
    if (len != 0) {
        torc_store_u16(room, (uint16_t)i);
    }
    return torc_slice_of(room, len);
}

/* The inverse. */
static unsigned number_of(struct torc_slice name)
{
    return name.len == 0 ? 0 : torc_load_u16(name.data);
}

static struct torc_slice random_name(struct bench *b, unsigned slot)
{
    b->numbers[slot] = (unsigned)below(b, b->n_fields);
    return name_of(b->numbers[slot], b->names[slot]);
}

static uint64_t random_time(struct bench *b)
{
    static const uint64_t ahead[] = {1, 10, 1000, TORC_EXPIRY_MAX / 2};
    return b->now + 1 + below(b, ahead[below(b, 4)]);
}

static size_t value_len(struct bench *b)
{
    static const size_t edges[] = {0, 1, 63, 64, 191, 192, 8383, 8384};
    switch (below(b, 8)) {
    case 0:
        return torc_min_u64(edges[below(b, 8)], b->value_most);
    case 1:
        return below(b, b->value_most + 1);
    default:
        return torc_min_u64(16 + below(b, 3), b->value_most); /* so that equal lengths are common */
    }
}

static size_t random_pairs(struct bench *b)
{
    size_t n = below(b, 3) == 0 ? 1 + below(b, MAX_PAIRS) : 1;
    for (unsigned i = 0; i < n; ++i) {
        uint8_t *value = b->values + i * (b->value_most + 8);
        b->pairs[i].field = random_name(b, i);
        if (below(b, 3) == 0) {
            b->pairs[i].value = torc_coded_random(&b->prng, b->coded[i]);
            continue;
        }
        size_t len = value_len(b);
        torc_compressible_fill(&b->prng, value, len);
        b->pairs[i].value = torc_slice_of(value, len);
    }
    return n;
}

/* --- comparing --- */

static bool find(const struct bench *b, struct torc_slice field, uint64_t now,
                 struct torc_value *out_value)
{
    uint64_t hash = torc_hash_slice(torc_arena_seed(b->arena), field);
    bool there = torc_full_find(b->arena, b->root, hash, field, now, out_value);
    if (there && out_value->text.data == NULL) {
        torc_press_forget(b->press);
        torc_full_expand(b->press, out_value);
    }
    return there;
}

/* Is the field with this number in the model, and not past at `now`? */
static bool is_live(const struct bench *b, unsigned number, uint64_t now)
{
    uint8_t room[64];
    struct torc_slice value;
    return torc_model_get(b->model, KEY, name_of(number, room), &value) &&
           !torc_expiry_is_past(b->whens[number], now);
}

static void count_pair(void *arg, const struct torc_pair *pair)
{
    struct bench *b = arg;
    struct torc_slice value;
    HOLD(b, b->room.expiry == b->whens[number_of(pair->field)]);
    HOLD(b, torc_model_get(b->model, KEY, pair->field, &value));
    HOLD(b, torc_slice_equal(value, pair->value));
}

static void compare_all(struct bench *b)
{
    uint8_t room[64];
    for (unsigned i = 0; i < b->n_fields; ++i) {
        struct torc_value ours;
        struct torc_slice theirs;
        struct torc_slice field = name_of(i, room);
        uint64_t now = below(b, 2) == 0 ? b->now : random_time(b);
        uint64_t when;
        bool there = is_live(b, i, now);
        HOLD(b, find(b, field, now, &ours) == there);
        HOLD(b, !there || (torc_model_get(b->model, KEY, field, &theirs) &&
                           torc_slice_equal(ours.text, theirs) && ours.text.data != NULL));
        HOLD(b,
             torc_full_expiry(b->arena, b->root, torc_hash_slice(torc_arena_seed(b->arena), field),
                              field, now, &when) == there);
        HOLD(b, !there || when == b->whens[i]);
    }
    uint64_t cursor = 0;
    do {
        cursor = torc_full_scan(b->arena, b->root, cursor, 1 + below(b, 4), b->press, &b->room,
                                count_pair, b);
    } while (cursor != 0);
}

static void check(struct bench *b)
{
    const char *why = NULL;
    const struct torc_full *full = torc_full_at(b->arena, b->root);
    if (torc_full_check(b->arena, b->root, &why) != 0) {
        fail_step(b, why);
    }
    HOLD(b, torc_full_count(b->arena, b->root) == torc_model_len(b->model, KEY));
    HOLD(b, torc_full_bytes(b->arena, b->root) ==
                256 + torc_arena_used_by(b->arena, TORC_USE_INDEX) + full->record_bytes +
                    full->extent_extra + full->stream.dead);
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_ROOT) == 256);
    if (b->step % 8 == 0) {
        compare_all(b);
        if (torc_arena_check(b->arena, &why) != 0) {
            fail_step(b, why);
        }
    }
}

/* --- steps --- */

/* What a put says about times. */
static uint64_t random_option(struct bench *b)
{
    switch (below(b, 4)) {
    case 0:
        return TORC_EXPIRY_KEEP;
    case 1:
        return random_time(b);
    default:
        return TORC_EXPIRY_NONE;
    }
}

static void put(struct bench *b)
{
    size_t n = random_pairs(b);
    bool failing = below(b, 4) == 0;
    bool verbatim = below(b, 4) == 0;
    struct torc_press *press = below(b, 2) == 0 ? b->press : NULL;
    b->press->min_bytes = TORC_PRESS_TEXT_MIN + (uint32_t)below(b, 2) * 100;
    const struct torc_full *full = torc_full_at(b->arena, b->root);
    uint64_t index = torc_arena_used_by(b->arena, TORC_USE_INDEX) - full->due.bytes;
    uint64_t extents = torc_arena_used_by(b->arena, TORC_USE_EXTENT);
    uint64_t bytes = full->record_bytes;
    uint64_t n_expiring = full->n_expiring;
    uint64_t whens[MAX_PAIRS];
    const struct torc_full_put_options options = {
        .verbatim = verbatim,
        .press = press,
        .now = b->now,
        .when = random_option(b),
        .whens = below(b, 2) == 0 ? whens : NULL,
    };
    for (size_t i = 0; i < n; ++i) {
        whens[i] = random_option(b);
    }
    if (failing) {
        torc_arena_fail_after(b->arena, 1 + below(b, n + 3));
    }
    int64_t created = torc_full_put(b->arena, b->root, b->pairs, n, &options);
    torc_arena_fail_after(b->arena, 0);
    if (created < 0) {
        HOLD(b, failing && created == -ENOSPC);
        HOLD(b, torc_arena_used_by(b->arena, TORC_USE_INDEX) - full->due.bytes == index);
        HOLD(b, full->n_expiring == n_expiring);
        HOLD(b, torc_arena_used_by(b->arena, TORC_USE_EXTENT) == extents);
        HOLD(b, full->record_bytes == bytes);
        compare_all(b);
        return;
    }
    int64_t expected = 0;
    for (size_t i = 0; i < n; ++i) {
        if (options.whens == NULL) {
            whens[i] = options.when;
        }
        if (whens[i] == TORC_EXPIRY_KEEP) { /* what it had before the call */
            whens[i] = is_live(b, b->numbers[i], b->now) ? b->whens[b->numbers[i]] : 0;
        }
    }
    for (size_t i = 0; i < n; ++i) {
        expected += !is_live(b, b->numbers[i], b->now);
        (void)torc_model_put(b->model, KEY, b->pairs[i].field, b->pairs[i].value);
        b->whens[b->numbers[i]] = whens[i];
    }
    HOLD(b, created == expected);
}

static void del(struct bench *b)
{
    struct torc_slice field = random_name(b, 0);
    uint64_t hash = torc_hash_slice(torc_arena_seed(b->arena), field);
    bool there = is_live(b, b->numbers[0], b->now);
    (void)torc_model_del(b->model, KEY, field);
    b->whens[b->numbers[0]] = 0;
    HOLD(b, torc_full_del(b->arena, b->root, hash, field, b->now) == there);
}

static void set_expiry(struct bench *b)
{
    struct torc_slice field = random_name(b, 0);
    uint64_t hash = torc_hash_slice(torc_arena_seed(b->arena), field);
    uint64_t when = below(b, 4) == 0 ? TORC_EXPIRY_NONE : random_time(b);
    bool failing = below(b, 4) == 0;
    torc_arena_fail_after(b->arena, failing ? 1 : 0);
    int rc = torc_full_set_expiry(b->arena, b->root, hash, field, b->now, when);
    torc_arena_fail_after(b->arena, 0);
    bool there = is_live(b, b->numbers[0], b->now);
    HOLD(b, there == (rc != -ENOENT));
    if (rc == 0) {
        b->whens[b->numbers[0]] = when;
    } else if (there) {
        HOLD(b, failing && rc == -ENOSPC);
        compare_all(b);
    }
}

/* Time goes on, and some of what is past goes: the model learns which. */
static void reap(struct bench *b)
{
    uint64_t removed;
    unsigned budget = 1 + (unsigned)below(b, 200);
    const struct torc_full *full = torc_full_at(b->arena, b->root);
    b->now += below(b, 20);
    bool done = torc_full_reap(b->arena, b->root, b->now, &budget, &removed);
    HOLD(b, done || budget == 0);
    HOLD(b, done == (torc_full_due(full) > b->now));
    for (unsigned i = 0; i < b->n_fields; ++i) {
        uint8_t room[64];
        struct torc_slice field = name_of(i, room);
        uint64_t hash = torc_hash_slice(torc_arena_seed(b->arena), field);
        if (torc_expiry_is_past(b->whens[i], b->now) &&
            torc_table_find(b->arena, &full->table, hash, field) == TORC_REF_NONE) {
            HOLD(b, torc_model_del(b->model, KEY, field));
            b->whens[i] = 0;
            --removed;
        }
        HOLD(b, !done || !torc_expiry_is_past(b->whens[i], b->now));
    }
    HOLD(b, removed == 0);
}

static void move(struct bench *b)
{
    const struct torc_full *full = torc_full_at(b->arena, b->root);
    uint64_t ref = torc_table_random(b->arena, &full->table, torc_prng_next(&b->prng));
    if (ref == TORC_REF_NONE ||
        torc_record_is_extent(torc_record_bytes(torc_arena_at(b->arena, ref)))) {
        return;
    }
    bool failing = below(b, 4) == 0;
    torc_arena_fail_after(b->arena, failing ? 1 : 0);
    int rc = torc_full_move(b->arena, b->root, ref);
    torc_arena_fail_after(b->arena, 0);
    HOLD(b, rc == (failing ? -ENOSPC : 0));
}

static void random_field(struct bench *b)
{
    struct torc_pair pair;
    bool any =
        torc_full_random(b->arena, b->root, torc_prng_next(&b->prng), b->press, &b->room, &pair);
    HOLD(b, any == (torc_model_len(b->model, KEY) > 0));
    if (any) {
        count_pair(b, &pair);
    }
}

/* The hash goes in steps, sound after each of them; a new one comes. */
static void renew(struct bench *b)
{
    const char *why = NULL;
    while (torc_full_drop_step(b->arena, b->root, 1 + (unsigned)below(b, 20))) {
        if (torc_full_check(b->arena, b->root, &why) != 0) {
            fail_step(b, why);
        }
    }
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_ROOT) == 0);
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_INDEX) == 0);
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_EXTENT) == 0);
    HOLD(b, torc_stream_shared(b->arena)->live == 0);
    torc_model_flush(b->model);
    memset(b->whens, 0, sizeof(b->whens));
    HOLD(b, torc_full_create(b->arena, &b->root) == 0);
}

static void step(struct bench *b)
{
    switch (below(b, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
        del(b);
        break;
    case 4:
    case 5:
        move(b);
        break;
    case 6:
        random_field(b);
        break;
    case 7:
        if (below(b, 40) == 0) {
            renew(b);
        }
        break;
    case 8:
    case 9:
        set_expiry(b);
        break;
    case 10:
    case 11:
        reap(b);
        break;
    default:
        put(b);
        break;
    }
}

static void run(unsigned n_fields, uint64_t value_most, uint64_t n_steps)
{
    struct bench b = {
        .arena = torc_test_arena(256 * TORC_MIB, 7),
        .model = torc_model_create(),
        .press = torc_press_create(),
        .prng = {torc_test_seed(20)},
        .now = 1000,
        .n_fields = n_fields,
        .value_most = value_most,
        .values = calloc(MAX_PAIRS, value_most + 8),
    };
    uint64_t n = torc_test_ops(n_steps);
    ck_assert_ptr_nonnull(b.values);
    ck_assert_ptr_nonnull(b.press);
    ck_assert_int_eq(torc_full_create(b.arena, &b.root), 0);
    for (b.step = 1; b.step <= n; ++b.step) {
        step(&b);
        check(&b);
    }
    compare_all(&b);
    renew(&b);
    torc_full_destroy(b.arena, b.root);
    free(b.values);
    torc_press_destroy(b.press);
    torc_model_destroy(b.model);
    torc_arena_destroy(b.arena);
}

START_TEST(few_fields_of_a_few_bytes)
{
    run(12, 40, 12000);
}
END_TEST

START_TEST(many_fields)
{
    run(MAX_FIELDS, 300, 4000);
}
END_TEST

START_TEST(sizes_around_a_stream_of_its_own)
{
    run(60, 40000, 2000);
}
END_TEST

START_TEST(values_that_are_extents)
{
    run(12, 150000, 1000);
}
END_TEST

/* What is there from the first to the last call of a scan is seen, whatever comes and goes. */
#define SCAN_FIELDS 3000u

static const struct torc_full_put_options plain = {0};

struct scan {
    struct torc_arena *arena;
    struct torc_pair_room room;
    uint8_t *seen;
};

static void see(void *arg, const struct torc_pair *pair)
{
    struct scan *scan = arg;
    scan->seen[torc_load_u32(pair->field.data)] = 1;
}

static void set_number(struct torc_arena *arena, uint64_t root, uint32_t number)
{
    struct torc_pair pair = {.field = torc_slice_of(&number, 4), .value = torc_slice_str("value")};
    ck_assert_int_ge(torc_full_put(arena, root, &pair, 1, &plain), 0);
}

START_TEST(a_scan_sees_all_that_stays)
{
    struct torc_prng prng = {torc_test_seed(3)};
    struct torc_arena *arena = torc_test_arena(64 * TORC_MIB, 9);
    uint64_t root;
    ck_assert_int_eq(torc_full_create(arena, &root), 0);
    for (int round = 0; round < 20; ++round) {
        uint8_t seen[2 * SCAN_FIELDS] = {0};
        struct scan scan = {.arena = arena, .seen = seen};
        uint64_t cursor = 0;
        bool growing = round % 2 == 0;
        for (uint32_t i = 0; i < SCAN_FIELDS; ++i) {
            set_number(arena, root, i);
        }
        /* Even numbers stay; the others go while it is scanned, or as many come. */
        uint32_t next = growing ? SCAN_FIELDS : 1;
        do {
            cursor = torc_full_scan(arena, root, cursor, 1 + torc_prng_below(&prng, 8), NULL,
                                    &scan.room, see, &scan);
            for (int i = 0; i < 40 && next < (growing ? 2 * SCAN_FIELDS : SCAN_FIELDS); ++i) {
                if (growing) {
                    set_number(arena, root, next++);
                } else {
                    struct torc_slice field = torc_slice_of(&next, 4);
                    (void)torc_full_del(arena, root, torc_hash_slice(torc_arena_seed(arena), field),
                                        field, 0);
                    next += 2;
                }
            }
        } while (cursor != 0);
        for (uint32_t i = 0; i < SCAN_FIELDS; i += 2) {
            ck_assert_msg(seen[i] != 0, "round %d: field %u was not returned", round, i);
        }
    }
    torc_full_destroy(arena, root);
    torc_arena_destroy(arena);
}
END_TEST

/* So many fields with times that the due tree gets levels: numbers, compared with an array. All
 * come, go and get times, are reaped, and lose their times. */
#define NUMBERS 20000u

struct crowd {
    struct torc_arena *arena;
    struct torc_prng prng;
    uint64_t root;
    uint64_t now;
    bool there[NUMBERS];
    uint64_t whens[NUMBERS];
};

static uint64_t crowd_time(struct crowd *c)
{
    return c->now + 1 + torc_prng_below(&c->prng, 5000);
}

/* Give a number a time, take it away, or delete the number. */
static void crowd_change(struct crowd *c, bool may_have_times)
{
    uint32_t number = (uint32_t)torc_prng_below(&c->prng, NUMBERS);
    struct torc_pair pair = {.field = torc_slice_of(&number, 4), .value = torc_slice_str("value")};
    uint64_t hash = torc_hash_slice(torc_arena_seed(c->arena), pair.field);
    uint64_t when = may_have_times ? crowd_time(c) : TORC_EXPIRY_NONE;
    const struct torc_full_put_options options = {.now = c->now, .when = when};
    bool is_live = c->there[number] && !torc_expiry_is_past(c->whens[number], c->now);
    switch (torc_prng_below(&c->prng, 8)) {
    case 0:
        ck_assert_int_eq(torc_full_del(c->arena, c->root, hash, pair.field, c->now), is_live);
        c->there[number] = false;
        when = TORC_EXPIRY_NONE;
        break;
    case 1:
    case 2:
    case 3:
        ck_assert_int_eq(torc_full_put(c->arena, c->root, &pair, 1, &options), !is_live);
        c->there[number] = true;
        break;
    default:
        ck_assert_int_eq(torc_full_set_expiry(c->arena, c->root, hash, pair.field, c->now, when),
                         is_live ? 0 : -ENOENT);
        when = is_live ? when : c->whens[number];
        break;
    }
    c->whens[number] = when;
}

static void crowd_reap(struct crowd *c, unsigned budget)
{
    uint64_t removed;
    bool done = torc_full_reap(c->arena, c->root, c->now, &budget, &removed);
    const struct torc_full *full = torc_full_at(c->arena, c->root);
    for (uint32_t number = 0; removed > 0 && number < NUMBERS; ++number) {
        struct torc_slice field = torc_slice_of(&number, 4);
        uint64_t hash = torc_hash_slice(torc_arena_seed(c->arena), field);
        if (c->there[number] && torc_expiry_is_past(c->whens[number], c->now) &&
            torc_table_find(c->arena, &full->table, hash, field) == TORC_REF_NONE) {
            c->there[number] = false;
            c->whens[number] = TORC_EXPIRY_NONE;
            --removed;
        }
    }
    ck_assert_uint_eq(removed, 0);
    ck_assert(done == (torc_full_due(full) > c->now));
}

static void crowd_check(struct crowd *c)
{
    const char *why = NULL;
    uint64_t n_there = 0;
    ck_assert_msg(torc_full_check(c->arena, c->root, &why) == 0, "%s", why);
    for (uint32_t number = 0; number < NUMBERS; ++number) {
        struct torc_slice field = torc_slice_of(&number, 4);
        uint64_t hash = torc_hash_slice(torc_arena_seed(c->arena), field);
        uint64_t when;
        bool is_live = c->there[number] && !torc_expiry_is_past(c->whens[number], c->now);
        ck_assert(torc_full_expiry(c->arena, c->root, hash, field, c->now, &when) == is_live);
        ck_assert(!is_live || when == c->whens[number]);
        n_there += c->there[number];
    }
    ck_assert_uint_eq(torc_full_count(c->arena, c->root), n_there);
}

START_TEST(a_crowd_with_times)
{
    static struct crowd crowd;
    struct crowd *c = &crowd;
    c->arena = torc_test_arena(64 * TORC_MIB, 9);
    c->prng = (struct torc_prng){torc_test_seed(5)};
    c->now = 1000;
    uint64_t most = 0;
    ck_assert_int_eq(torc_full_create(c->arena, &c->root), 0);
    const struct torc_full *full = torc_full_at(c->arena, c->root);
    for (int round = 0; round < 6; ++round) {
        for (uint64_t i = 0; i < torc_test_ops(60000); ++i) {
            crowd_change(c, true);
            c->now += i % 20 == 0;
            if (i % 256 == 0) {
                crowd_reap(c, 1 + (unsigned)torc_prng_below(&c->prng, 400));
            }
            if (i % 4000 == 0) {
                crowd_check(c);
            }
        }
        most = torc_max_u64(most, full->due.bytes);
        /* Odd rounds: everything ends. Even ones: nothing has a time any more. */
        if (round % 2 != 0) {
            c->now += 10000;
            crowd_reap(c, UINT_MAX);
            crowd_check(c);
            ck_assert_uint_eq(full->n_expiring, 0);
        }
        for (uint64_t i = 0; round % 2 == 0 && full->n_expiring > 0; ++i) {
            ck_assert_uint_lt(i, 4000000);
            crowd_change(c, false);
            if (i % 1024 == 0) {
                crowd_reap(c, 1000);
            }
        }
        crowd_check(c);
    }
    ck_assert_uint_gt(most, 512);
    torc_full_destroy(c->arena, c->root);
    ck_assert_uint_eq(torc_arena_used_by(c->arena, TORC_USE_INDEX), 0);
    torc_arena_destroy(c->arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full");
    TCase *tcase = tcase_create("full");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, few_fields_of_a_few_bytes);
    tcase_add_test(tcase, many_fields);
    tcase_add_test(tcase, sizes_around_a_stream_of_its_own);
    tcase_add_test(tcase, values_that_are_extents);
    tcase_add_test(tcase, a_scan_sees_all_that_stays);
    tcase_add_test(tcase, a_crowd_with_times);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
