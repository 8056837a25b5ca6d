/* SPDX-License-Identifier: Apache-2.0
 *
 * Due tree against a naive model: an array of entries {hash, when}. Populations that grow and
 * shrink, hashes squeezed into one prefix or one value, an arena that refuses now and then. Held
 * after each step: torc_due_check(), the bytes, and that no entry ends before its cell's bound.
 */
#include "hash/due.h"

#include <check.h>
#include <stdlib.h>

#include "tests/support/prng.h"
#include "tests/support/table_fixture.h"

#define MAX_ENTRIES 3000u

struct entry {
    uint64_t hash, when;
};

static struct torc_arena *arena;
static struct torc_due due;
static struct torc_prng prng;
static struct entry entries[MAX_ENTRIES];
static unsigned n_entries;
/* Entries that one of the model stands for, so that trees get deep. */
static uint64_t weight;

static uint64_t population(void)
{
    return n_entries * weight;
}

static uint64_t least_between(uint64_t first, uint64_t last)
{
    uint64_t least = TORC_EXPIRY_NEVER;
    for (unsigned i = 0; i < n_entries; i++) {
        if (entries[i].hash >= first && entries[i].hash <= last) {
            least = torc_min_u64(least, entries[i].when);
        }
    }
    return least;
}

static void check_tree(void)
{
    const char *why = "";
    ck_assert_msg(torc_due_check(arena, &due, &why) == 0, "%s", why);
    ck_assert_uint_eq(due.bytes, torc_arena_used_by(arena, TORC_USE_INDEX));
    for (unsigned i = 0; i < n_entries; i++) {
        ck_assert_uint_le(torc_due_bound_of(arena, &due, entries[i].hash), entries[i].when);
    }
}

static void fail_sometimes(void)
{
    torc_arena_fail_after(arena,
                          torc_prng_below(&prng, 4) == 0 ? 1 + torc_prng_below(&prng, 4) : 0);
}

static void add(uint64_t and_mask, uint64_t or_mask)
{
    struct entry *entry = &entries[n_entries++];
    entry->hash = (torc_prng_next(&prng) & and_mask) | or_mask;
    entry->when = 1 + torc_prng_below(&prng, 100000);
    fail_sometimes();
    int rc = torc_due_reserve(arena, &due, entry->hash, population());
    ck_assert(rc == 0 || rc == -ENOSPC);
    torc_arena_fail_after(arena, 0);
    torc_due_note(arena, &due, entry->hash, entry->when);
}

/* Entries that are past go; the cell's bound is exact afterwards. */
static void reap_cell(uint64_t now)
{
    struct torc_due_cell cell;
    uint64_t bound = due.bound;
    fail_sometimes();
    bool found = torc_due_next(arena, &due, now, population(), &cell);
    torc_arena_fail_after(arena, 0);
    ck_assert(found == (bound <= now));
    if (!found) {
        ck_assert_uint_gt(least_between(0, UINT64_MAX), now);
        return;
    }
    check_tree();
    ck_assert_uint_le(cell.first, cell.last);
    ck_assert_uint_le(torc_due_bound_of(arena, &due, cell.first), now);
    ck_assert_uint_eq(torc_due_bound_of(arena, &due, cell.last),
                      torc_due_bound_of(arena, &due, cell.first));
    for (unsigned i = 0; i < n_entries;) {
        bool is_inside = entries[i].hash >= cell.first && entries[i].hash <= cell.last;
        if (is_inside && torc_expiry_is_past(entries[i].when, now)) {
            entries[i] = entries[--n_entries];
        } else {
            i++;
        }
    }
    uint64_t least = least_between(cell.first, cell.last);
    fail_sometimes();
    torc_due_set(arena, &due, &cell, least, population());
    torc_arena_fail_after(arena, 0);
    /* The cell may be part of a larger one now, whose bound is no later. */
    ck_assert_uint_le(torc_due_bound_of(arena, &due, cell.first), least);
    ck_assert_uint_gt(least, now);
}

static void round_of(uint64_t and_mask, uint64_t or_mask, unsigned n, unsigned weight_log2)
{
    torc_due_init(&due);
    n_entries = 0;
    weight = (uint64_t)1 << weight_log2;
    for (unsigned i = 0; i < n; i++) {
        add(and_mask, or_mask);
        if (i % 16 == 0) {
            check_tree();
        }
        if (torc_prng_below(&prng, 4) == 0) { /* gone or prolonged without a word */
            struct entry *entry = &entries[torc_prng_below(&prng, n_entries)];
            entry->when = torc_min_u64(entry->when + torc_prng_below(&prng, 5000), TORC_EXPIRY_MAX);
        }
        if (torc_prng_below(&prng, 16) == 0) {
            reap_cell(torc_prng_below(&prng, 60000));
        }
    }
    /* A cell that was not split in time, or not for want of memory, passes its bound on to its
     * parts, so no more visits than all cells of the finest size there may be, twice. */
    uint64_t n_reaped = 0;
    uint64_t reaps_max = 64 + 2 * (n + population() / (TORC_DUE_CELL_MAX / 32));
    for (unsigned i = 0; due.bound != TORC_EXPIRY_NEVER; i++) {
        n_reaped++;
        reap_cell(due.bound + torc_prng_below(&prng, 5000));
        if (i % 16 == 0) {
            check_tree();
        }
    }
    ck_assert_uint_eq(n_entries, 0);
    ck_assert_uint_le(n_reaped, reaps_max);
    while (torc_due_drop_step(arena, &due)) {
    }
    ck_assert_uint_eq(due.bytes, 0);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}

START_TEST(a_due_tree_bounds_all_entries)
{
    static const uint64_t masks[][2] = {
        {~0ull, 0}, {0xffffffffffull, 0xabull << 56}, {0, 0}, {0, ~0ull}, {~0ull << 60, 0xff},
    };
    prng.state = torc_test_seed(20250117);
    uint64_t n_rounds = torc_test_ops(40);
    arena = torc_test_dirty_arena(32 * TORC_MIB, 1);
    for (uint64_t i = 0; i < n_rounds; i++) {
        const uint64_t *mask = masks[i % 5];
        unsigned weight_log2 = (unsigned)torc_prng_below(&prng, 9);
        unsigned n = 1 + (unsigned)torc_prng_below(&prng, 600 >> weight_log2 | 7);
        round_of(mask[0], mask[1], n, weight_log2);
    }
    torc_arena_destroy(arena);
}
END_TEST

/* --- the walk over a range of hashes --- */

struct seen {
    uint64_t first, last; /* counted are those inside */
    uint64_t n, sum;
};

static void count_inside(void *arg, uint64_t ref)
{
    struct seen *seen = arg;
    uint64_t hash = torc_test_record_hash(arena, ref);
    if (hash >= seen->first && hash <= seen->last) {
        seen->n++;
        seen->sum += ref * 0x9e3779b97f4a7c15ull;
    }
}

static void count_all(void *arg, uint64_t ref)
{
    struct seen *seen = arg;
    uint64_t hash = torc_test_record_hash(arena, ref);
    ck_assert(hash >= seen->first && hash <= seen->last);
    seen->n++;
    seen->sum += ref * 0x9e3779b97f4a7c15ull;
}

static void compare_walks(const struct torc_table *table)
{
    uint64_t first = torc_prng_next(&prng);
    unsigned shift = (unsigned)torc_prng_below(&prng, 64);
    uint64_t last = torc_prng_below(&prng, 2) ? first | UINT64_MAX >> shift : torc_prng_next(&prng);
    first = torc_prng_below(&prng, 8) == 0 ? 0 : first & ~(UINT64_MAX >> shift);
    last = torc_prng_below(&prng, 8) == 0 ? UINT64_MAX : last;
    struct seen want = {first, last, 0, 0}, got = want;
    uint64_t cursor = 0;
    do {
        cursor = torc_table_scan(arena, table, cursor, 1, count_inside, &want);
    } while (cursor != 0);
    torc_table_each_between(arena, table, first, last, count_all, &got);
    ck_assert_uint_eq(got.n, want.n);
    ck_assert_uint_eq(got.sum, want.sum);
}

START_TEST(a_range_shows_what_a_scan_shows)
{
    static uint64_t refs[MAX_ENTRIES];
    static const uint64_t masks[][2] = {
        {~0ull, 0}, {0xc0000000000000ffull, 0}, {0, ~0ull}, {0x07, ~0xffull}};
    static const unsigned sizes[] = {MAX_ENTRIES, 150, 60, 100};
    prng.state = torc_test_seed(20250118);
    arena = torc_test_dirty_arena(32 * TORC_MIB, 1);
    for (unsigned round = 0; round < 4; round++) {
        struct torc_table table;
        torc_table_init(&table);
        torc_test_squeeze(masks[round][0], masks[round][1], 64);
        for (unsigned i = 0; i < sizes[round]; i++) {
            refs[i] = torc_test_record(arena, i);
            ck_assert_int_eq(torc_table_reserve(arena, &table, 1), 0);
            torc_table_insert(arena, &table, torc_test_record_hash(arena, refs[i]), refs[i]);
            compare_walks(&table);
        }
        for (unsigned i = 0; i < sizes[round]; i++) {
            torc_table_remove(arena, &table, torc_test_record_hash(arena, refs[i]), refs[i]);
            torc_test_record_free(arena, refs[i]);
            compare_walks(&table);
        }
        ck_assert_uint_eq(table.count, 0);
    }
    torc_arena_destroy(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("due properties");
    TCase *tcase = tcase_create("due properties");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, a_due_tree_bounds_all_entries);
    tcase_add_test(tcase, a_range_shows_what_a_scan_shows);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
