/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a full hash that have a time.
 */
#include <check.h>
#include <limits.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/full.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"

#define NOW   1000000ull
#define LATER (NOW + 5000)
/* Fields of 100-byte values that are clearly enough for segments of its own. */
#define LARGE (TORC_FULL_OWN_STREAM_BYTES / 50)

static struct torc_arena *arena;
static uint64_t root;

static void setup(void)
{
    arena = torc_test_arena(256 * TORC_MIB, 77);
    ck_assert_int_eq(torc_full_create(arena, &root), 0);
}

static void teardown(void)
{
    torc_full_destroy(arena, root);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    ck_assert_uint_eq(torc_stream_shared(arena)->live, 0);
    torc_arena_destroy(arena);
}

static struct torc_full *full(void)
{
    return torc_full_at(arena, root);
}

static void check(void)
{
    const char *why = "";
    ck_assert_msg(torc_full_check(arena, root, &why) == 0, "%s", why);
    ck_assert_msg(torc_arena_check(arena, &why) == 0, "%s", why);
    ck_assert_uint_eq(torc_full_bytes(arena, root),
                      256 + torc_arena_used_by(arena, TORC_USE_INDEX) + full()->record_bytes +
                          full()->extent_extra + full()->stream.dead);
}

static uint64_t hash_of(const char *field)
{
    return torc_hash_slice(torc_arena_seed(arena), torc_slice_str(field));
}

static uint8_t *record_of(const char *field)
{
    uint64_t ref = torc_table_find(arena, &full()->table, hash_of(field), torc_slice_str(field));
    ck_assert_uint_ne(ref, TORC_REF_NONE);
    return torc_arena_at(arena, ref);
}

static int64_t put(const char *field, const char *value, uint64_t when)
{
    struct torc_pair pair = {torc_slice_str(field), torc_slice_str(value)};
    const struct torc_full_put_options options = {.now = NOW, .when = when};
    int64_t created = torc_full_put(arena, root, &pair, 1, &options);
    check();
    return created;
}

static bool is_there(const char *field, uint64_t now)
{
    struct torc_value value;
    return torc_full_find(arena, root, hash_of(field), torc_slice_str(field), now, &value);
}

static void expect(const char *field, const char *text, uint64_t when)
{
    struct torc_value value;
    uint64_t found;
    ck_assert(torc_full_find(arena, root, hash_of(field), torc_slice_str(field), NOW, &value));
    ck_assert(torc_slice_equal(value.text, torc_slice_str(text)));
    ck_assert(torc_full_expiry(arena, root, hash_of(field), torc_slice_str(field), NOW, &found));
    ck_assert_uint_eq(found, when);
}

static int set_expiry(const char *field, uint64_t now, uint64_t when)
{
    int rc = torc_full_set_expiry(arena, root, hash_of(field), torc_slice_str(field), now, when);
    check();
    return rc;
}

static int del(const char *field, uint64_t now)
{
    int rc = torc_full_del(arena, root, hash_of(field), torc_slice_str(field), now);
    check();
    return rc;
}

static const char *name_of(unsigned i, char *room)
{
    (void)snprintf(room, 16, "f%u", i);
    return room;
}

/* `n` fields f0 .. with values of `value_len` bytes, the i-th with the time when(i). */
static void fill(unsigned n, size_t value_len, uint64_t (*when)(unsigned i))
{
    uint8_t *value = malloc(value_len + 1);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', value_len);
    for (unsigned i = 0; i < n; ++i) {
        char room[16];
        struct torc_pair pair = {torc_slice_str(name_of(i, room)), torc_slice_of(value, value_len)};
        const struct torc_full_put_options options = {.now = NOW, .when = when(i)};
        ck_assert_int_ge(torc_full_put(arena, root, &pair, 1, &options), 0);
    }
    free(value);
}

static uint64_t every_third(unsigned i)
{
    return i % 3 == 0 ? LATER + i : TORC_EXPIRY_NONE;
}
static uint64_t one_after_the_other(unsigned i)
{
    return LATER + i;
}
static uint64_t at_once(unsigned i)
{
    (void)i;
    return LATER;
}

START_TEST(a_field_is_there_until_its_time)
{
    uint64_t when = 77;
    ck_assert_int_eq(put("f", "value", LATER), 1);
    expect("f", "value", LATER);
    ck_assert(is_there("f", LATER - 1));
    ck_assert(!is_there("f", LATER));
    ck_assert(!is_there("f", TORC_EXPIRY_MAX));
    ck_assert(!torc_full_expiry(arena, root, hash_of("f"), torc_slice_str("f"), LATER, &when));
    ck_assert(!torc_full_expiry(arena, root, hash_of("g"), torc_slice_str("g"), NOW, &when));
    ck_assert_uint_eq(when, 77);
    ck_assert_uint_eq(full()->n_expiring, 1);
    ck_assert_uint_le(torc_full_due(full()), LATER);
}
END_TEST

START_TEST(a_put_removes_keeps_or_sets_the_time)
{
    ck_assert_int_eq(put("f", "value", LATER), 1);
    ck_assert_int_eq(put("f", "other", TORC_EXPIRY_KEEP), 0);
    expect("f", "other", LATER);
    ck_assert_int_eq(put("f", "longer than it", TORC_EXPIRY_KEEP), 0);
    expect("f", "longer than it", LATER);
    ck_assert_int_eq(put("f", "longer than it", LATER + 1), 0);
    expect("f", "longer than it", LATER + 1);
    ck_assert_int_eq(put("f", "longer than it", TORC_EXPIRY_NONE), 0);
    expect("f", "longer than it", TORC_EXPIRY_NONE);
    ck_assert_uint_eq(full()->n_expiring, 0);
    ck_assert_uint_eq(torc_full_due(full()), TORC_EXPIRY_NEVER);
    ck_assert_int_eq(put("f", "longer than it", TORC_EXPIRY_KEEP), 0);
    expect("f", "longer than it", TORC_EXPIRY_NONE);
    ck_assert_int_eq(put("g", "new", TORC_EXPIRY_KEEP), 1);
    expect("g", "new", TORC_EXPIRY_NONE);
}
END_TEST

START_TEST(value_and_time_of_equal_length_are_written_in_place)
{
    ck_assert_int_eq(put("f", "value", LATER), 1);
    const uint8_t *record = record_of("f");
    ck_assert_int_eq(put("f", "other", LATER - 1), 0);
    expect("f", "other", LATER - 1);
    ck_assert_int_eq(put("f", "third", LATER + 1), 0);
    expect("f", "third", LATER + 1);
    ck_assert_int_eq(put("f", "fifth", TORC_EXPIRY_KEEP), 0);
    ck_assert_int_eq(set_expiry("f", NOW, LATER + 2), 0);
    expect("f", "fifth", LATER + 2);
    ck_assert_ptr_eq(record_of("f"), record);
    ck_assert_uint_eq(torc_stream_shared(arena)->dead, 0);
}
END_TEST

START_TEST(a_past_field_counts_as_absent_for_a_put)
{
    ck_assert_int_eq(put("f", "value", NOW), 1); /* past already */
    ck_assert(!is_there("f", NOW));
    ck_assert_int_eq(put("f", "again", TORC_EXPIRY_KEEP), 1);
    expect("f", "again", TORC_EXPIRY_NONE);
    ck_assert_int_eq(put("f", "value", NOW), 0);
    ck_assert_int_eq(put("f", "other", LATER), 1); /* in place */
    expect("f", "other", LATER);
    ck_assert_uint_eq(torc_full_count(arena, root), 1);
    /* Named twice, it counts once. */
    ck_assert_int_eq(put("f", "other", NOW), 0);
    struct torc_pair pairs[] = {
        {torc_slice_str("f"), torc_slice_str("1")},
        {torc_slice_str("g"), torc_slice_str("2")},
        {torc_slice_str("f"), torc_slice_str("3")},
        {torc_slice_str("g"), torc_slice_str("4")},
    };
    const struct torc_full_put_options options = {.now = NOW, .when = LATER};
    ck_assert_int_eq(torc_full_put(arena, root, pairs, 4, &options), 2);
    check();
    expect("f", "3", LATER);
    expect("g", "4", LATER);
    ck_assert_uint_eq(full()->n_expiring, 2);
}
END_TEST

START_TEST(each_pair_may_have_a_time_of_its_own)
{
    struct torc_pair pairs[] = {
        {torc_slice_str("a"), torc_slice_str("1")},
        {torc_slice_str("b"), torc_slice_str("2")},
        {torc_slice_str("c"), torc_slice_str("3")},
    };
    const uint64_t whens[] = {LATER, TORC_EXPIRY_NONE, TORC_EXPIRY_KEEP};
    const struct torc_full_put_options options = {.now = NOW, .when = 5, .whens = whens};
    ck_assert_int_eq(put("c", "old", LATER + 3), 1);
    ck_assert_int_eq(torc_full_put(arena, root, pairs, 3, &options), 2);
    check();
    expect("a", "1", LATER);
    expect("b", "2", TORC_EXPIRY_NONE);
    expect("c", "3", LATER + 3);
}
END_TEST

START_TEST(a_past_field_is_removed_by_a_delete_that_does_not_count_it)
{
    ck_assert_int_eq(put("f", "value", LATER), 1);
    ck_assert_int_eq(put("g", "value", LATER), 1);
    ck_assert_int_eq(del("f", LATER - 1), 1);
    ck_assert_int_eq(del("g", LATER), 0);
    ck_assert_uint_eq(torc_full_count(arena, root), 0);
    ck_assert_uint_eq(full()->n_expiring, 0);
    ck_assert_uint_eq(torc_full_bytes(arena, root), 256);
}
END_TEST

START_TEST(a_time_is_set_and_taken_away)
{
    ck_assert_int_eq(set_expiry("f", NOW, LATER), -ENOENT);
    ck_assert_int_eq(put("f", "value", TORC_EXPIRY_NONE), 1);
    uint64_t bytes = full()->record_bytes;
    ck_assert_int_eq(set_expiry("f", NOW, TORC_EXPIRY_NONE), 0);
    ck_assert_uint_eq(torc_stream_shared(arena)->dead, 0);
    ck_assert_int_eq(set_expiry("f", NOW, LATER), 0);
    expect("f", "value", LATER);
    ck_assert_uint_eq(full()->record_bytes, bytes + TORC_EXPIRY_BYTES);
    ck_assert_int_eq(set_expiry("f", NOW, LATER - 10), 0);
    expect("f", "value", LATER - 10);
    ck_assert_uint_le(torc_full_due(full()), LATER - 10);
    ck_assert_int_eq(set_expiry("f", NOW, TORC_EXPIRY_NONE), 0);
    expect("f", "value", TORC_EXPIRY_NONE);
    ck_assert_uint_eq(full()->record_bytes, bytes);
    ck_assert_int_eq(set_expiry("f", NOW, LATER), 0);
    ck_assert_int_eq(set_expiry("f", LATER, LATER + 10), -ENOENT);
    ck_assert_int_eq(set_expiry("f", LATER, TORC_EXPIRY_NONE), -ENOENT);
    expect("f", "value", LATER);
}
END_TEST

START_TEST(a_refused_change_of_a_time_changes_nothing)
{
    ck_assert_int_eq(put("f", "value", TORC_EXPIRY_NONE), 1);
    ck_assert_int_eq(put("g", "value", LATER), 1);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(set_expiry("f", NOW, LATER), -ENOSPC);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(set_expiry("g", NOW, TORC_EXPIRY_NONE), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    expect("f", "value", TORC_EXPIRY_NONE);
    expect("g", "value", LATER);
    ck_assert_uint_eq(full()->n_expiring, 1);
}
END_TEST

START_TEST(a_put_of_many_pairs_with_times_is_all_or_nothing)
{
    enum { N = 200, OLD = 40 };
    struct torc_pair pairs[N];
    char fields[N][16];
    for (unsigned i = 0; i < N; ++i) {
        pairs[i] = (struct torc_pair){torc_slice_str(name_of(i % 190, fields[i])),
                                      torc_slice_str("a new value")};
    }
    for (unsigned i = 0; i < OLD; ++i) {
        ck_assert_int_eq(
            put(fields[i], i % 2 ? "an old one!" : "old", i % 3 ? LATER : TORC_EXPIRY_NONE), 1);
    }
    uint64_t records = full()->record_bytes;
    const struct torc_full_put_options options = {.now = NOW, .when = LATER - 10};
    uint64_t n = 0;
    int64_t created;
    do {
        torc_arena_fail_after(arena, ++n);
        created = torc_full_put(arena, root, pairs, N, &options);
        torc_arena_fail_after(arena, 0);
        check();
        if (created < 0) {
            ck_assert_int_eq(created, -ENOSPC);
            ck_assert_uint_eq(torc_full_count(arena, root), OLD);
            ck_assert_uint_eq(full()->record_bytes, records);
            ck_assert_uint_eq(full()->n_expiring, OLD - (OLD + 2) / 3);
            expect("f0", "old", TORC_EXPIRY_NONE);
            expect("f1", "an old one!", LATER);
            expect("f2", "old", LATER);
            expect("f3", "an old one!", TORC_EXPIRY_NONE);
        }
    } while (created < 0);
    ck_assert_int_eq(created, 150);
    ck_assert_uint_gt(n, 150);
    ck_assert_uint_eq(full()->n_expiring, 190);
    expect("f0", "a new value", LATER - 10);
    expect("f1", "a new value", LATER - 10);
    expect("f189", "a new value", LATER - 10);
}
END_TEST

START_TEST(a_reap_removes_what_is_past_and_nothing_else)
{
    enum { N = 3000 };
    unsigned budget = UINT_MAX;
    uint64_t removed = 1;
    fill(N, 20, every_third);
    check();
    ck_assert(torc_full_reap(arena, root, NOW, &budget, &removed));
    ck_assert_uint_eq(removed, 0);
    ck_assert_uint_eq(budget, UINT_MAX);
    uint64_t now = LATER + N / 2; /* half of them */
    ck_assert(torc_full_reap(arena, root, now, &budget, &removed));
    ck_assert_uint_eq(removed, N / 6 + 1);
    ck_assert_uint_gt(torc_full_due(full()), now);
    check();
    for (unsigned i = 0; i < N; ++i) {
        char room[16];
        const char *name = name_of(i, room);
        ck_assert(is_there(name, now) == (i % 3 != 0 || i > N / 2));
    }
    ck_assert(torc_full_reap(arena, root, LATER + N, &budget, &removed));
    ck_assert_uint_eq(removed, N / 6 - 1);
    ck_assert_uint_eq(torc_full_count(arena, root), N - N / 3);
    ck_assert_uint_eq(full()->n_expiring, 0);
    check();
}
END_TEST

START_TEST(a_reap_goes_on_where_its_budget_ended)
{
    enum { N = 2000 };
    uint64_t sum = 0;
    unsigned calls = 0;
    bool done;
    fill(N, 20, at_once);
    do {
        unsigned budget = 10;
        uint64_t removed;
        uint64_t before = torc_full_count(arena, root);
        done = torc_full_reap(arena, root, LATER, &budget, &removed);
        ck_assert_uint_eq(torc_full_count(arena, root), before - removed);
        ck_assert(done == (before == removed));
        ck_assert_uint_gt(removed, 0);
        ck_assert(done || torc_full_due(full()) <= LATER);
        sum += removed;
        ++calls;
        check();
    } while (!done);
    ck_assert_uint_eq(sum, N);
    ck_assert_uint_gt(calls, 10);
    ck_assert_uint_eq(torc_full_bytes(arena, root), 256);
    unsigned none = 0;
    uint64_t removed;
    ck_assert_int_eq(put("f", "value", LATER), 1);
    ck_assert(!torc_full_reap(arena, root, LATER, &none, &removed));
    ck_assert_uint_eq(removed, 0);
}
END_TEST

/* Removal in the order of hashes would leave one end of the index full and the rest empty, and the
 * entries of the full end as guests all over it: each step then walks thousands of lines. */
START_TEST(a_mass_that_ends_leaves_the_index_even)
{
    enum { N = 60000 };
    uint64_t most_far = 0;
    bool done;
    fill(N, 20, at_once);
    do {
        unsigned budget = 64;
        uint64_t removed;
        done = torc_full_reap(arena, root, LATER, &budget, &removed);
        most_far = torc_max_u64(most_far, full()->table.n_far);
        if (torc_full_count(arena, root) % 64 == 0) {
            check();
        }
    } while (!done);
    ck_assert_uint_eq(torc_full_count(arena, root), 0);
    ck_assert_uint_le(most_far, N / 100);
}
END_TEST

START_TEST(a_time_put_off_costs_a_look_and_nothing_else)
{
    unsigned budget = 100;
    uint64_t removed;
    ck_assert_int_eq(put("f", "value", LATER), 1);
    ck_assert_int_eq(set_expiry("f", NOW, LATER + 100), 0);
    ck_assert_uint_le(torc_full_due(full()), LATER + 100);
    ck_assert(torc_full_reap(arena, root, LATER, &budget, &removed));
    ck_assert_uint_eq(removed, 0);
    ck_assert_uint_eq(torc_full_due(full()), LATER + 100);
    expect("f", "value", LATER + 100);
}
END_TEST

START_TEST(the_tree_goes_with_the_last_time)
{
    enum { N = 4000 };
    fill(N, 20, one_after_the_other);
    uint64_t most = full()->due.bytes;
    ck_assert_uint_gt(most, 0);
    for (unsigned i = 0; i < N; ++i) {
        char room[16];
        const char *name = name_of(i, room);
        ck_assert_int_eq(
            torc_full_set_expiry(arena, root, hash_of(name), torc_slice_str(name), NOW, 0), 0);
    }
    check();
    ck_assert_uint_eq(full()->n_expiring, 0);
    ck_assert_uint_eq(torc_full_due(full()), TORC_EXPIRY_NEVER);
    /* A time that comes while it goes is kept. */
    ck_assert_int_eq(put("f7", "value", LATER), 0);
    ck_assert_uint_le(torc_full_due(full()), LATER);
    expect("f7", "value", LATER);
    ck_assert_int_eq(put("f7", "value", TORC_EXPIRY_NONE), 0);
    for (unsigned i = 0; i < N && full()->due.bytes != 0; ++i) {
        char room[16];
        ck_assert_int_eq(put(name_of(i, room), "value", TORC_EXPIRY_NONE), 0);
    }
    ck_assert_uint_eq(full()->due.bytes, 0);
    ck_assert_uint_eq(full()->due.bound, TORC_EXPIRY_NEVER);
}
END_TEST

START_TEST(a_moved_record_keeps_its_time)
{
    struct torc_slice name = torc_slice_str("f0");
    fill(LARGE, 100, every_third);
    ck_assert_int_eq(torc_record_type(record_of("f0")), TORC_RECORD_FIELD_OWNED);
    uint64_t ref = torc_table_find(arena, &full()->table, hash_of("f0"), name);
    uint64_t bytes = full()->record_bytes;
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ck_assert_int_eq(torc_record_type(record_of("f0")), TORC_RECORD_FIELD);
    ck_assert_uint_eq(full()->record_bytes, bytes - TORC_RECORD_OWNER_BYTES);
    ck_assert_uint_eq(torc_record_field_expiry(record_of("f0")), LATER);
    ref = torc_table_find(arena, &full()->table, hash_of("f0"), name);
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ck_assert_uint_eq(torc_record_field_expiry(record_of("f0")), LATER);
    check();
    /* Back to the shared stream. */
    for (unsigned i = 1; i < LARGE; ++i) {
        char room[16];
        const char *field = name_of(i, room);
        ck_assert_int_eq(torc_full_del(arena, root, hash_of(field), torc_slice_str(field), NOW), 1);
    }
    ref = torc_table_find(arena, &full()->table, hash_of("f0"), name);
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ck_assert_int_eq(torc_record_type(record_of("f0")), TORC_RECORD_FIELD_OWNED);
    ck_assert_uint_eq(torc_record_field_expiry(record_of("f0")), LATER);
    check();
}
END_TEST

struct sum {
    struct torc_pair_room room;
    uint64_t n;
    uint64_t n_expiring;
};

static void add_pair(void *arg, const struct torc_pair *pair)
{
    struct sum *sum = arg;
    char name[16] = {0};
    ck_assert_uint_lt(pair->field.len, sizeof(name));
    memcpy(name, pair->field.data, pair->field.len);
    ck_assert_uint_eq(sum->room.expiry, every_third((unsigned)strtoul(name + 1, NULL, 10)));
    ++sum->n;
    sum->n_expiring += sum->room.expiry != TORC_EXPIRY_NONE;
}

START_TEST(walks_tell_the_times)
{
    struct sum sum = {.n = 0};
    struct torc_pair pair;
    fill(300, 20, every_third);
    ck_assert_uint_eq(torc_full_scan(arena, root, 0, UINT64_MAX, NULL, &sum.room, add_pair, &sum),
                      0);
    ck_assert_uint_eq(sum.n, 300);
    ck_assert_uint_eq(sum.n_expiring, 100);
    for (uint64_t i = 1; i < 100; ++i) {
        ck_assert(torc_full_random(arena, root, i * 0x9e3779b97f4a7c15ull, NULL, &sum.room, &pair));
        add_pair(&sum, &pair);
    }
}
END_TEST

START_TEST(a_hash_with_times_is_dropped_in_steps)
{
    const char *why = "";
    unsigned steps = 0;
    fill(20000, 20, one_after_the_other);
    while (torc_full_drop_step(arena, root, 16)) {
        if (++steps % 64 == 0) {
            ck_assert_msg(torc_full_check(arena, root, &why) == 0, "%s", why);
        }
    }
    ck_assert_uint_gt(steps, 1000);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), 0);
    ck_assert_int_eq(torc_full_create(arena, &root), 0);
}
END_TEST

START_TEST(wrong_times_are_found)
{
    const char *why = NULL;
    fill(30, 20, every_third);
    full()->n_expiring++;
    ck_assert_int_eq(torc_full_check(arena, root, &why), -EBADMSG);
    ck_assert_str_eq(why, "full: number of fields with a time");
    full()->n_expiring--;
    torc_record_set_expiry(record_of("f3"), 1);
    ck_assert_int_eq(torc_full_check(arena, root, &why), -EBADMSG);
    ck_assert_str_eq(why, "full: a field ends before the bound of its cell");
    torc_record_set_expiry(record_of("f3"), LATER);
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full_expiry");
    TCase *tcase = tcase_create("full_expiry");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_field_is_there_until_its_time);
    tcase_add_test(tcase, a_put_removes_keeps_or_sets_the_time);
    tcase_add_test(tcase, value_and_time_of_equal_length_are_written_in_place);
    tcase_add_test(tcase, a_past_field_counts_as_absent_for_a_put);
    tcase_add_test(tcase, each_pair_may_have_a_time_of_its_own);
    tcase_add_test(tcase, a_past_field_is_removed_by_a_delete_that_does_not_count_it);
    tcase_add_test(tcase, a_time_is_set_and_taken_away);
    tcase_add_test(tcase, a_refused_change_of_a_time_changes_nothing);
    tcase_add_test(tcase, a_put_of_many_pairs_with_times_is_all_or_nothing);
    tcase_add_test(tcase, a_reap_removes_what_is_past_and_nothing_else);
    tcase_add_test(tcase, a_reap_goes_on_where_its_budget_ended);
    tcase_add_test(tcase, a_mass_that_ends_leaves_the_index_even);
    tcase_add_test(tcase, a_time_put_off_costs_a_look_and_nothing_else);
    tcase_add_test(tcase, the_tree_goes_with_the_last_time);
    tcase_add_test(tcase, a_moved_record_keeps_its_time);
    tcase_add_test(tcase, walks_tell_the_times);
    tcase_add_test(tcase, a_hash_with_times_is_dropped_in_steps);
    tcase_add_test(tcase, wrong_times_are_found);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
