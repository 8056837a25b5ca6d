/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/due.h"

#include <check.h>
#include <stdlib.h>

#include "tests/support/table_fixture.h"

#define MILLION 1000000ull

static struct torc_arena *arena;
static struct torc_due due;

static void open_arena(void)
{
    arena = torc_test_dirty_arena(32 * TORC_MIB, 1);
    torc_due_init(&due);
}

static void close_arena(void)
{
    while (torc_due_drop_step(arena, &due)) {
    }
    ck_assert_uint_eq(due.bytes, 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    torc_arena_destroy(arena);
}

static void note(uint64_t hash, uint64_t when, uint64_t population)
{
    ck_assert_int_eq(torc_due_reserve(arena, &due, hash, population), 0);
    torc_due_note(arena, &due, hash, when);
}

static void check_tree(void)
{
    const char *why = "";
    ck_assert_msg(torc_due_check(arena, &due, &why) == 0, "%s", why);
}

START_TEST(an_empty_tree_is_never_due)
{
    struct torc_due_cell cell;
    ck_assert(!torc_due_next(arena, &due, UINT64_MAX, MILLION, &cell));
    ck_assert(!torc_due_drop_step(arena, &due));
    ck_assert_uint_eq(torc_due_bound_of(arena, &due, 5), TORC_EXPIRY_NEVER);
    check_tree();
}
END_TEST

START_TEST(a_small_table_has_one_cell_and_no_memory)
{
    struct torc_due_cell cell;
    note(0, 7, TORC_DUE_CELL_MAX);
    note(UINT64_MAX, 5, TORC_DUE_CELL_MAX);
    ck_assert_uint_eq(due.bytes, 0);
    ck_assert(!torc_due_next(arena, &due, 4, TORC_DUE_CELL_MAX, &cell));
    ck_assert(torc_due_next(arena, &due, 5, TORC_DUE_CELL_MAX, &cell));
    ck_assert_uint_eq(cell.first, 0);
    ck_assert_uint_eq(cell.last, UINT64_MAX);
    torc_due_set(arena, &due, &cell, 7, TORC_DUE_CELL_MAX);
    ck_assert_uint_eq(due.bound, 7);
}
END_TEST

START_TEST(cells_at_the_ends_of_all_hashes)
{
    static const uint64_t hashes[] = {0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX};
    struct torc_due_cell cell;
    for (unsigned i = 0; i < 5; i++) {
        note(hashes[i], 10 + i, MILLION);
        check_tree();
        ck_assert(torc_due_next(arena, &due, 10 + i, MILLION, &cell));
        ck_assert(cell.first <= hashes[i] && hashes[i] <= cell.last);
        ck_assert_uint_le((cell.last - cell.first) / (UINT64_MAX / MILLION), TORC_DUE_CELL_MAX);
        torc_due_set(arena, &due, &cell, TORC_EXPIRY_NEVER, MILLION);
        ck_assert_uint_eq(due.bytes, 0);
        check_tree();
    }
}
END_TEST

START_TEST(one_time_in_a_million_is_found_in_one_cell)
{
    struct torc_due_cell cell;
    note(0x123456789abcdef0ull, 42, MILLION);
    ck_assert_uint_le(due.bytes, 2048);
    ck_assert(torc_due_next(arena, &due, 42, MILLION, &cell));
    ck_assert_uint_le((cell.last - cell.first) / (UINT64_MAX / MILLION), TORC_DUE_CELL_MAX);
    torc_due_set(arena, &due, &cell, TORC_EXPIRY_NEVER, MILLION);
    ck_assert(!torc_due_next(arena, &due, UINT64_MAX, MILLION, &cell));
}
END_TEST

START_TEST(what_is_due_first_comes_first)
{
    struct torc_due_cell cell;
    uint64_t before = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        note(i * (UINT64_MAX / 1000), 1 + i * 7919 % 1000, MILLION);
    }
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t bound = due.bound;
        ck_assert_uint_gt(bound, before);
        before = bound;
        ck_assert(torc_due_next(arena, &due, bound, MILLION, &cell));
        ck_assert_uint_eq(torc_due_bound_of(arena, &due, cell.first), bound);
        torc_due_set(arena, &due, &cell, TORC_EXPIRY_NEVER, MILLION);
    }
    ck_assert_uint_eq(due.bound, TORC_EXPIRY_NEVER);
    ck_assert_uint_eq(due.bytes, 0);
}
END_TEST

START_TEST(a_refused_node_leaves_a_tree_that_works)
{
    struct torc_due_cell cell;
    unsigned refused = 0;
    for (unsigned fail_at = 1; fail_at < 10; fail_at++) {
        torc_arena_fail_after(arena, fail_at);
        int rc = torc_due_reserve(arena, &due, UINT64_MAX / 3, 100 * MILLION);
        torc_arena_fail_after(arena, 0);
        ck_assert(rc == 0 || rc == -ENOSPC);
        refused += rc != 0;
        torc_due_note(arena, &due, UINT64_MAX / 3, fail_at);
        check_tree();
        /* A cell that is cut up late passes its bound on to all parts: the entry is in one. */
        bool was_shown = false;
        while (due.bound != TORC_EXPIRY_NEVER) {
            ck_assert(torc_due_next(arena, &due, fail_at, 10000, &cell));
            was_shown |= cell.first <= UINT64_MAX / 3 && UINT64_MAX / 3 <= cell.last;
            torc_due_set(arena, &due, &cell, TORC_EXPIRY_NEVER, 10000);
        }
        ck_assert(was_shown);
        while (torc_due_drop_step(arena, &due)) {
        }
    }
    ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(the_checker_finds_what_is_wrong)
{
    const char *why = NULL;
    note(1, 100, MILLION);
    check_tree();
    struct torc_due good = due;
    due.bound = 99; /* not the least of its slots */
    ck_assert_int_eq(torc_due_check(arena, &due, &why), -EBADMSG);
    ck_assert_ptr_nonnull(why);
    due = good;
    due.bytes += 64;
    ck_assert_int_eq(torc_due_check(arena, &due, NULL), -EBADMSG);
    due.bytes -= 128;
    ck_assert_int_eq(torc_due_check(arena, &due, NULL), -EBADMSG);
    due = good;
    due.root ^= 1ull << 39; /* beyond the arena */
    ck_assert_int_eq(torc_due_check(arena, &due, NULL), -EBADMSG);
    due = good;
    due.root ^= 1ull << 42; /* no such size */
    ck_assert_int_eq(torc_due_check(arena, &due, NULL), -EBADMSG);
    due = good;
    due.root |= 1; /* no block begins there */
    ck_assert_int_eq(torc_due_check(arena, &due, NULL), -EBADMSG);
    due = good;
    check_tree();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("due");
    TCase *tcase = tcase_create("due");
    tcase_add_checked_fixture(tcase, open_arena, close_arena);
    tcase_add_test(tcase, an_empty_tree_is_never_due);
    tcase_add_test(tcase, a_small_table_has_one_cell_and_no_memory);
    tcase_add_test(tcase, cells_at_the_ends_of_all_hashes);
    tcase_add_test(tcase, one_time_in_a_million_is_found_in_one_cell);
    tcase_add_test(tcase, what_is_due_first_comes_first);
    tcase_add_test(tcase, a_refused_node_leaves_a_tree_that_works);
    tcase_add_test(tcase, the_checker_finds_what_is_wrong);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
