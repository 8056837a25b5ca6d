/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/table.h"

#include <check.h>
#include <stdlib.h>

#include "hash/table_private.h"
#include "tests/support/prng.h"
#include "tests/support/table_fixture.h"

#define MAX_NUMBERS 100000u

static struct torc_arena *arena;
static struct torc_table table;
static uint64_t refs[MAX_NUMBERS];
static bool seen[MAX_NUMBERS];

static void setup(void)
{
    arena = torc_test_dirty_arena(64 * TORC_MIB, 0x746f7263);
    torc_table_init(&table);
    torc_test_squeeze(~0ull, 0, 0);
    memset(refs, 0, sizeof refs);
}

static void teardown(void)
{
    torc_arena_destroy(arena);
}

static void check_table(void)
{
    const char *why = "";
    ck_assert_msg(torc_table_check(arena, &table, &why) == 0, "%s", why);
    ck_assert_uint_eq(torc_table_bytes(&table), torc_arena_used_by(arena, TORC_USE_INDEX));
}

/* Insert a record that has room. */
static void put(uint64_t number)
{
    refs[number] = torc_test_record(arena, number);
    torc_table_insert(arena, &table, torc_test_record_hash(arena, refs[number]), refs[number]);
}

static void add(uint64_t number)
{
    ck_assert_int_eq(torc_table_reserve(arena, &table, 1), 0);
    put(number);
}

static void take(uint64_t number)
{
    torc_table_remove(arena, &table, torc_test_record_hash(arena, refs[number]), refs[number]);
    torc_test_record_free(arena, refs[number]);
    refs[number] = TORC_REF_NONE;
}

static uint64_t find(uint64_t number)
{
    return torc_test_find(arena, &table, number);
}

/* Lines that the mappings in force span. */
static uint64_t n_lines(void)
{
    return torc_max_u64(table.n_lines, table.n_target);
}

START_TEST(an_empty_table_has_no_memory_and_finds_nothing)
{
    ck_assert_uint_eq(torc_table_bytes(&table), 0);
    ck_assert_uint_eq(find(1), TORC_REF_NONE);
    struct torc_slice name = torc_slice_str("1");
    uint64_t hash = torc_hash_slice(torc_arena_seed(arena), name);
    ck_assert_uint_eq(torc_table_candidate(arena, &table, hash), TORC_REF_NONE);
    torc_table_prefetch(arena, &table, hash);
    ck_assert_uint_eq(torc_table_random(arena, &table, 12345), TORC_REF_NONE);
    ck_assert(!torc_table_step(arena, &table, 8));
    ck_assert(!torc_table_drop_step(arena, &table));
    check_table();
}
END_TEST

START_TEST(sizes_blocks_and_lines_agree)
{
    unsigned n_blocks = 1;
    for (uint64_t n = 1; n < TORC_TABLE_MAX_LINES; n = torc_table_next_size(n), n_blocks++) {
        ck_assert_uint_eq(torc_table_blocks_for(n), n_blocks);
        ck_assert_uint_eq(torc_table_lines_in(n_blocks), n);
        ck_assert_uint_eq(torc_table_previous_size(torc_table_next_size(n)), n);
        /* The block that makes n the next size starts at line n. */
        ck_assert_uint_eq(torc_table_block_of(n), n_blocks);
        ck_assert_uint_eq(torc_table_block_of(n - 1), n_blocks - 1);
        ck_assert_uint_eq(n + (1ull << torc_table_block_scale(n_blocks)), torc_table_next_size(n));
        ck_assert_uint_eq(torc_table_lines_for(torc_table_grow_limit(n)), n);
        ck_assert_uint_eq(torc_table_lines_for(torc_table_grow_limit(n) + 1), n + 1);
        /* A stretch and a shrink are over, at two homes each time, before the next is due. */
        uint64_t next = torc_table_next_size(n);
        ck_assert_uint_le((n + 1) / 2, torc_table_grow_limit(next) - torc_table_grow_limit(n));
        if (n > 1) {
            ck_assert_uint_le((next + 1) / 2,
                              torc_table_shrink_limit(next) - torc_table_shrink_limit(n) + 1);
        }
    }
    ck_assert_uint_eq(torc_table_lines_in(torc_table_blocks_for(TORC_TABLE_MAX_LINES)),
                      TORC_TABLE_MAX_LINES);
}
END_TEST

START_TEST(every_guest_line_leads_back_to_its_home)
{
    for (uint64_t n = 1; n < 1000; n = torc_table_next_size(n)) {
        for (uint64_t line = 0; line < n; line++) {
            for (unsigned kind = 0; kind < TORC_LINE_KINDS; kind++) {
                uint64_t guest = torc_table_guest_line((struct torc_home){line, n}, kind);
                ck_assert_uint_lt(guest, n);
                ck_assert(guest != line || n == 1);
                ck_assert_uint_eq(torc_table_guest_home(guest, n, kind), line);
            }
        }
    }
}
END_TEST

START_TEST(walks_stay_out_of_lines_that_are_not_there_yet)
{
    struct torc_table growing = {.n_lines = 512, .n_target = 640, .n_far = 1, .far_reach = 5};
    bool all_well = true;
    for (growing.frontier = 512; growing.frontier > 0; growing.frontier--) {
        uint64_t clean = torc_table_first_clean(&growing);
        ck_assert_uint_eq(clean, torc_max_u64(512, growing.frontier * 640 / 512));
        for (uint64_t i = 0; i < 640; i = i == 511 ? clean : i + 1) {
            struct torc_home home = torc_table_home_at(&growing, i);
            uint64_t line = torc_table_far_begin(&growing, home);
            uint64_t end = torc_table_far_end(&growing, home);
            all_well &= end == 640 || end == i + 6;
            all_well &= line == (i < 5 ? 0 : i - 5) || (line == clean && i - 5 < clean);
            for (; line < end; line = torc_table_far_next(&growing, line)) {
                all_well &= line < 512 || line >= clean;
            }
        }
    }
    ck_assert(all_well);
    /* No guest of the new mapping wraps around into a large block. */
    for (uint64_t n = 1; n < 1ull << 20; n = torc_table_next_size(n)) {
        uint64_t target = torc_table_next_size(n);
        for (unsigned kind = 0; target - n > TORC_TABLE_SMALL_BLOCK && kind < 8; kind++) {
            ck_assert_uint_lt(torc_table_distance(target, kind), n);
        }
    }
}
END_TEST

START_TEST(records_are_found_by_name_and_absent_names_are_not)
{
    for (uint64_t number = 0; number < 3000; number++) {
        add(number);
    }
    for (uint64_t number = 0; number < 3000; number++) {
        ck_assert_uint_eq(find(number), refs[number]);
        ck_assert_uint_eq(find(number + 3000), TORC_REF_NONE);
        /* Nearly always the only one with its fingerprint in reach, so the record itself. */
        uint64_t hash = torc_test_record_hash(arena, refs[number]);
        ck_assert(torc_table_candidate(arena, &table, hash) != TORC_REF_NONE);
    }
    check_table();
}
END_TEST

START_TEST(the_candidate_is_the_record_with_the_fingerprint)
{
    torc_test_squeeze(~0xffull, 0, SIZE_MAX);
    add(1);
    uint64_t hash = torc_test_record_hash(arena, refs[1]);
    ck_assert_uint_eq(torc_table_candidate(arena, &table, hash), refs[1]);
    ck_assert_uint_eq(torc_table_candidate(arena, &table, hash | 1), TORC_REF_NONE);
    /* Eleven of one home and kind: one of them is a guest, and is a candidate when it is alone. */
    torc_test_squeeze(0, 0, SIZE_MAX);
    for (uint64_t number = 2; number < 12; number++) {
        add(number);
    }
    for (uint64_t number = 2; number < 12; number++) {
        ck_assert(torc_table_candidate(arena, &table, 0) != TORC_REF_NONE);
        ck_assert_uint_eq(find(number), refs[number]);
    }
}
END_TEST

START_TEST(a_replaced_reference_is_found_by_the_same_name)
{
    for (uint64_t number = 0; number < 500; number++) {
        add(number);
    }
    for (uint64_t number = 0; number < 500; number += 3) {
        uint64_t ref = torc_test_record(arena, number);
        torc_table_replace(arena, &table, torc_test_record_hash(arena, ref), refs[number], ref);
        torc_test_record_free(arena, refs[number]);
        refs[number] = ref;
    }
    for (uint64_t number = 0; number < 500; number++) {
        ck_assert_uint_eq(find(number), refs[number]);
    }
    ck_assert_uint_eq(table.count, 500);
    check_table();
}
END_TEST

/* What one operation did stays within what is promised. One assertion, as it is called often. */
static void check_work(const struct torc_test_table_work *before)
{
    const struct torc_test_table_work *now = &torc_test_table_work;
    bool is_bounded = now->homes_moved - before->homes_moved <= TORC_TABLE_HOMES_PER_OP;
    /* Not by construction, but out of reach for random hashes: a home has nine entries or so. */
    is_bounded &= now->entries_moved - before->entries_moved <= 64;
    is_bounded &= now->hashed - before->hashed <= 192;
    is_bounded &= now->moved_over - before->moved_over <= 64;
    is_bounded &= now->searched - before->searched <= 512;
    is_bounded &= now->put_far == before->put_far;
    ck_assert(is_bounded);
}

START_TEST(from_1_to_100000_entries_and_back_without_a_large_step)
{
    uint64_t next_check = 1;
    for (uint64_t number = 0; number < MAX_NUMBERS; number++) {
        struct torc_test_table_work before = torc_test_table_work;
        bool was_resting = torc_table_is_resting(&table);
        uint64_t lines = table.n_lines;
        add(number);
        check_work(&before);
        bool is_well = find(number) == refs[number];
        is_well &= torc_table_bytes(&table) == torc_arena_used_by(arena, TORC_USE_INDEX);
        /* No growth is late, none is early: each begins with the entry that makes it due. */
        bool is_due = lines > 0 && number == torc_table_grow_limit(lines);
        is_well &= !was_resting || lines == 0 || (n_lines() > lines) == is_due;
        /* 0.9 * 4 / 5, the moment after the largest step */
        is_well &= number < 100 || table.count * 100 > n_lines() * TORC_LINE_SLOTS * 71;
        ck_assert(is_well);
        if (number == next_check) {
            check_table();
            next_check += 1 + next_check / 4;
        }
    }
    check_table();
    for (uint64_t number = 0; number < MAX_NUMBERS; number++) {
        ck_assert_uint_eq(find(number), refs[number]);
    }

    for (uint64_t number = MAX_NUMBERS; number-- > 0;) {
        struct torc_test_table_work before = torc_test_table_work;
        take(number);
        check_work(&before);
        bool is_well = find(number) == TORC_REF_NONE;
        is_well &= torc_table_bytes(&table) == torc_arena_used_by(arena, TORC_USE_INDEX);
        /* No shrink is late either: 0.75 * 0.9 * 4 / 5 - 0.05 */
        is_well &= number < 100 || number > MAX_NUMBERS / 2 ||
                   table.count * 100 > n_lines() * TORC_LINE_SLOTS * 48;
        ck_assert(is_well);
        if (number == next_check || number < 40) {
            check_table();
        }
        next_check = number < next_check ? number * 4 / 5 : next_check;
    }
    ck_assert_uint_eq(torc_table_bytes(&table), 0);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}
END_TEST

static uint64_t count_guests(void)
{
    uint64_t guests = 0;
    for (uint64_t i = 0; i < n_lines(); i = torc_table_far_next(&table, i)) {
        const struct torc_line *line = torc_table_line(arena, &table, i);
        guests += torc_line_count(line) - torc_line_natives(line);
    }
    return guests;
}

START_TEST(entries_stay_near_their_homes_however_many_come_and_go)
{
    /* 900 of 1,000 slots, filled once: about 0.11 of the entries are guests; and later too. */
    struct torc_prng prng = {torc_test_seed(5)};
    ck_assert_int_eq(torc_table_reserve(arena, &table, 9000), 0);
    uint64_t number = 0;
    while (number < 9000) {
        put(number++);
    }
    uint64_t built = count_guests();
    ck_assert_uint_lt(built, 9000 * 14 / 100);
    for (; number < 60000; number++) {
        uint64_t victim = torc_prng_below(&prng, number);
        while (refs[victim] == TORC_REF_NONE) {
            victim = torc_prng_below(&prng, number);
        }
        take(victim);
        add(number);
    }
    ck_assert_uint_lt(count_guests(), built * 5 / 4);
    ck_assert_uint_eq(table.n_far, 0);
    check_table();
}
END_TEST

/* Names of `first` .. 99 have the hash `equal`, up to 6500 the real one. */
static void grow_and_shrink_with_equal(uint64_t first, uint64_t equal)
{
    torc_test_squeeze(0, equal, 2);
    for (uint64_t number = first; number < 6500; number++) {
        uint64_t other = first + number % (100 - first);
        add(number);
        ck_assert_uint_eq(find(other), refs[other]);
        if (number < 100 || number % 307 == 0) {
            check_table();
        }
    }
    ck_assert_uint_gt(table.n_far, 0);
    for (uint64_t number = first; number < 6500; number++) {
        ck_assert_uint_eq(find(number), refs[number]);
    }
    for (uint64_t number = 6499; number >= first; number--) {
        uint64_t other = first + number % (100 - first);
        take(number);
        ck_assert_uint_eq(find(other), refs[other]);
        if (number < 100 || number % 307 == 0) {
            check_table();
        }
    }
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}

START_TEST(many_equal_hashes_are_stored_even_while_a_large_table_stretches)
{
    /* Where the hash is decides what the frontier meets first; its fingerprint is that of memory
     * not yet zeroed. So many that some stay where they are when their home is moved. */
    grow_and_shrink_with_equal(1, TORC_TEST_DIRT);
    grow_and_shrink_with_equal(1, 0x8000000000000000 | TORC_TEST_DIRT);
    grow_and_shrink_with_equal(1, 0xffffffffffffff00 | TORC_TEST_DIRT);
}
END_TEST

START_TEST(some_equal_hashes_are_moved_together_while_a_large_table_stretches)
{
    grow_and_shrink_with_equal(66, 0xa000000000000000 | TORC_TEST_DIRT);
    grow_and_shrink_with_equal(66, 0xef00000000000000 | TORC_TEST_DIRT);
    grow_and_shrink_with_equal(66, 0xffffffffffffff00 | TORC_TEST_DIRT);
}
END_TEST

START_TEST(far_entries_come_home_when_their_home_is_moved)
{
    torc_test_squeeze(0, 0x8000000000000000, 2);
    for (uint64_t number = 1; number < 100; number++) {
        add(number);
    }
    ck_assert_uint_gt(table.n_far, 0);
    for (uint64_t number = 1; number < 85; number++) {
        take(number);
    }
    for (uint64_t number = 100; number < 1000; number++) {
        add(number);
    }
    ck_assert_uint_eq(table.n_far, 0);
    ck_assert_uint_eq(table.far_reach, 0);
    check_table();
}
END_TEST

START_TEST(promised_inserts_need_nothing_from_the_arena)
{
    static const uint64_t sizes[] = {1, 10, 11, 30, 100, 1000, 5000, 20000};
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(torc_table_reserve(arena, &table, sizes[i]), 0);
        uint64_t bytes = torc_table_bytes(&table);
        for (uint64_t j = 0; j < sizes[i]; j++) {
            put(number++);
        }
        ck_assert_uint_eq(torc_table_bytes(&table), bytes);
        /* All of it is used, or due to be: nothing spare remains. */
        ck_assert_uint_le(table.count, torc_table_grow_limit(torc_table_lines_in(table.n_blocks)));
        check_table();
    }
}
END_TEST

START_TEST(an_empty_table_starts_at_the_promised_size)
{
    struct torc_test_table_work before = torc_test_table_work;
    ck_assert_int_eq(torc_table_reserve(arena, &table, 20000), 0);
    check_table();
    for (uint64_t number = 0; number < 20000; number++) {
        put(number);
    }
    ck_assert_uint_eq(torc_test_table_work.homes_moved, before.homes_moved);
    ck_assert_uint_lt(torc_table_bytes(&table), 9 * table.count);
    check_table();
}
END_TEST

START_TEST(a_refused_reserve_changes_nothing)
{
    for (uint64_t number = 0; number < 300; number++) {
        add(number);
    }
    while (torc_table_step(arena, &table, 8)) {
    }
    uint64_t used = torc_arena_used(arena);
    struct torc_table before = table;
    int rc = -1;
    uint64_t n = 0;
    for (; rc != 0; n++) {
        torc_arena_fail_after(arena, n + 1);
        rc = torc_table_reserve(arena, &table, 5000);
        torc_arena_fail_after(arena, 0);
        if (rc != 0) {
            ck_assert_int_eq(rc, -ENOSPC);
            ck_assert_uint_eq(torc_arena_used(arena), used);
            ck_assert_mem_eq(&before, &table, sizeof table);
            check_table();
        }
    }
    ck_assert_uint_gt(n, 4);
    check_table();
    ck_assert_int_eq(torc_table_reserve(arena, &table, UINT64_MAX), -ENOSPC);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 1ull << 38), -ENOSPC);
    check_table();
}
END_TEST

START_TEST(a_refused_table_fills_to_95_percent_then_says_so_then_recovers)
{
    uint64_t number = 0;
    while (number < 8000) {
        add(number++);
    }
    while (torc_table_step(arena, &table, 8)) {
    }
    uint64_t lines = table.n_lines;
    uint64_t used = 0;
    for (;; number++) {
        torc_arena_fail_after(arena, 1);
        used = torc_arena_used(arena);
        int rc = torc_table_reserve(arena, &table, 1);
        torc_arena_fail_after(arena, 0);
        if (rc != 0) {
            ck_assert_int_eq(rc, -ENOSPC);
            break;
        }
        put(number);
    }
    ck_assert_uint_eq(table.n_lines, lines);
    ck_assert_uint_eq(table.count, lines * 19 / 2);
    ck_assert_uint_eq(torc_arena_used(arena), used);
    check_table();
    /* One goes, one comes. */
    take(17);
    refs[17] = torc_test_record(arena, 17);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 1), 0);
    torc_table_insert(arena, &table, torc_test_record_hash(arena, refs[17]), refs[17]);
    torc_arena_fail_after(arena, 0);
    check_table();
    for (; number < 12000; number++) {
        add(number);
        ck_assert(number % 211 != 0 || find(number) == refs[number]);
    }
    check_table();
    ck_assert_uint_eq(table.n_far, 0);
    for (uint64_t i = 0; i < 12000; i++) {
        ck_assert_uint_eq(find(i), refs[i]);
    }
}
END_TEST

START_TEST(a_promise_taken_back_is_freed_in_steps)
{
    ck_assert_int_eq(torc_table_reserve(arena, &table, 5000), 0);
    uint64_t bytes = torc_table_bytes(&table);
    ck_assert(!torc_table_step(arena, &table, 8));
    ck_assert_uint_eq(torc_table_bytes(&table), bytes);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 0), 0);
    while (torc_table_step(arena, &table, 8)) {
        check_table();
        ck_assert_uint_lt(torc_table_bytes(&table), bytes);
        bytes = torc_table_bytes(&table);
    }
    ck_assert_uint_eq(torc_arena_used(arena), 0);

    add(0);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 5000), 0);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 0), 0);
    while (torc_table_step(arena, &table, 8)) {
        check_table();
    }
    ck_assert_uint_eq(torc_table_bytes(&table), TORC_LINE_BYTES);
    take(0);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}
END_TEST

START_TEST(a_promise_outlives_the_removal_of_the_last_entry)
{
    add(0);
    ck_assert_int_eq(torc_table_reserve(arena, &table, 1), 0);
    uint64_t bytes = torc_table_bytes(&table);
    take(0);
    check_table();
    put(1);
    ck_assert_uint_eq(torc_table_bytes(&table), bytes);
    ck_assert_uint_eq(find(1), refs[1]);
    take(1);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}
END_TEST

struct pages {
    uint64_t visits;
    uint64_t prev_number;
};

static void visit(void *arg, uint64_t ref)
{
    struct pages *pages = arg;
    pages->prev_number = torc_test_record_number(arena, ref);
    ck_assert_uint_eq(refs[pages->prev_number], ref);
    seen[pages->prev_number] = true;
    pages->visits++;
}

START_TEST(a_scan_at_rest_visits_each_entry_once)
{
    torc_test_squeeze(0, 0x7777777777777777, 2); /* 100 equal hashes, so far entries too */
    for (uint64_t count = 1; count < 3000; count += 1 + count / 3) {
        while (table.count < count) {
            add(table.count);
        }
        struct pages pages = {0};
        uint64_t cursor = 0;
        memset(seen, 0, sizeof seen);
        do {
            uint64_t before = cursor;
            cursor = torc_table_scan(arena, &table, cursor, 3, visit, &pages);
            ck_assert(cursor == 0 || cursor > before);
        } while (cursor != 0);
        ck_assert_uint_eq(pages.visits, count);
        for (uint64_t number = 0; number < count; number++) {
            ck_assert(seen[number]);
        }
    }
}
END_TEST

START_TEST(a_page_of_a_scan_is_as_many_homes_as_asked_for)
{
    const uint64_t count = 576; /* 64 lines, 90 % full */
    ck_assert_int_eq(torc_table_reserve(arena, &table, count), 0);
    for (uint64_t number = 0; number < count; number++) {
        put(number);
    }
    ck_assert_uint_eq(table.n_lines, 64);
    struct pages pages = {0};
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, 0, visit, &pages), 1ull << 58 | 6);
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, 1, visit, &pages), 1ull << 58 | 6);
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, 16, visit, &pages), 1ull << 62 | 6);
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, 63, visit, &pages), 63ull << 58 | 6);
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, 64, visit, &pages), 0);
    pages.visits = 0;
    ck_assert_uint_eq(torc_table_scan(arena, &table, 0, UINT64_MAX, visit, &pages), 0);
    ck_assert_uint_eq(pages.visits, table.count);
}
END_TEST

START_TEST(any_cursor_is_safe_and_comes_to_an_end)
{
    struct torc_prng prng = {torc_test_seed(3)};
    struct pages pages = {0};
    for (uint64_t number = 0; number < 2000; number++) {
        add(number);
        uint64_t cursor = torc_prng_next(&prng) | (number % 7 == 0 ? ~0ull << 40 : 0);
        uint64_t steps = 0;
        do {
            cursor = torc_table_scan(arena, &table, cursor, 2, visit, &pages);
            if (++steps > 16 * (table.n_lines + 1)) {
                ck_abort_msg("still going on after %llu steps", (unsigned long long)steps);
            }
        } while (cursor != 0 && number % 40 == 0);
    }
}
END_TEST

/* Pages of a scan with many changes between them: numbers below n_stay are there all the time. */
static void scan_through(uint64_t n_stay, uint64_t from, uint64_t to)
{
    struct pages pages = {0};
    uint64_t cursor = 0;
    uint64_t number = from;
    memset(seen, 0, sizeof seen);
    do {
        cursor = torc_table_scan(arena, &table, cursor, 2, visit, &pages);
        for (int i = 0; i < 40 && number != to; i++) {
            if (from < to) {
                add(number++);
            } else {
                take(--number);
            }
        }
    } while (cursor != 0);
    for (uint64_t i = 0; i < n_stay; i++) {
        ck_assert_msg(seen[i], "%llu was left out", (unsigned long long)i);
    }
    while (number < to) {
        add(number++);
    }
    while (number > to) {
        take(--number);
    }
    check_table();
}

START_TEST(a_scan_leaves_nothing_out_while_the_table_grows_and_shrinks)
{
    for (uint64_t number = 0; number < 1000; number++) {
        add(number);
    }
    for (int round = 0; round < 20; round++) {
        /* Different distances, so that scans meet frontiers everywhere. */
        uint64_t top = 1200 + 531 * (uint64_t)round;
        scan_through(1000, 1000, top);
        scan_through(1000, top, 1000);
    }
}
END_TEST

/* What one page showed. */
struct shown {
    size_t n;
    uint64_t numbers[4096];
};

static void show(void *arg, uint64_t ref)
{
    struct shown *shown = arg;
    ck_assert_uint_lt(shown->n, sizeof shown->numbers / sizeof shown->numbers[0]);
    shown->numbers[shown->n++] = torc_test_record_number(arena, ref);
}

START_TEST(deleting_what_a_scan_shows_keeps_the_table_evenly_filled)
{
    static struct shown shown;
    const uint64_t count = 30000;
    for (uint64_t number = 0; number < count; number++) {
        add(number);
    }
    uint64_t cursor = 0;
    do {
        shown.n = 0;
        cursor = torc_table_scan(arena, &table, cursor, 5, show, &shown);
        for (size_t i = 0; i < shown.n; i++) {
            take(shown.numbers[i]);
        }
        /* Far entries make every operation walk. A few may come up in a small table. */
        ck_assert_uint_le(table.n_far, 2);
    } while (cursor != 0);
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

static void check_uniform(uint64_t n)
{
    static unsigned drawn[MAX_NUMBERS];
    struct torc_prng prng = {torc_test_seed(n)};
    const uint64_t each = 400;
    memset(drawn, 0, sizeof drawn);
    for (uint64_t i = 0; i < n * each; i++) {
        uint64_t ref = torc_table_random(arena, &table, torc_prng_next(&prng));
        drawn[torc_test_record_number(arena, ref)]++;
    }
    /* Chi square has mean n - 1 and variance 2 (n - 1); the seed is fixed. */
    uint64_t chi = 0;
    for (uint64_t number = 0; number < n; number++) {
        uint64_t off = drawn[number] > each ? drawn[number] - each : each - drawn[number];
        chi += off * off;
    }
    chi /= each;
    ck_assert_uint_lt(chi, n + 6 * (1 + n / 10));
    ck_assert_uint_gt(chi + 6 * (1 + n / 10), n);
}

START_TEST(random_choice_is_uniform_at_rest_and_in_a_stretch)
{
    static const uint64_t sizes[] = {1, 2, 10, 60, 163, 700};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        while (table.count < sizes[i]) {
            add(table.count);
        }
        check_uniform(sizes[i]);
    }
    ck_assert(!torc_table_is_resting(&table) || torc_table_step(arena, &table, 0) ||
              table.n_lines > 0);
}
END_TEST

START_TEST(random_choice_ends_in_a_nearly_empty_table)
{
    ck_assert_int_eq(torc_table_reserve(arena, &table, 50000), 0);
    put(7);
    struct torc_prng prng = {torc_test_seed(4)};
    for (int i = 0; i < 20; i++) {
        ck_assert_uint_eq(torc_table_random(arena, &table, torc_prng_next(&prng)), refs[7]);
    }
}
END_TEST

START_TEST(steps_finish_a_stretch_and_a_shrink)
{
    uint64_t number = 0;
    while (number < 1000 || torc_table_is_resting(&table)) {
        add(number++);
    }
    ck_assert(torc_table_is_growing(&table));
    struct torc_test_table_work before = torc_test_table_work;
    ck_assert(torc_table_step(arena, &table, 3));
    ck_assert_uint_eq(torc_test_table_work.homes_moved - before.homes_moved, 3);
    while (torc_table_step(arena, &table, 3)) {
        check_table();
    }
    ck_assert(torc_table_is_resting(&table));

    while (number > 300) {
        take(--number);
    }
    while (torc_table_step(arena, &table, 5)) {
        check_table();
    }
    ck_assert(torc_table_is_resting(&table));
    ck_assert_uint_ge(table.count, torc_table_shrink_limit(table.n_lines));
    ck_assert_uint_eq(table.n_blocks, torc_table_blocks_for(table.n_lines));
}
END_TEST

START_TEST(a_dropped_table_goes_block_by_block)
{
    for (uint64_t number = 0; number < 2000; number++) {
        add(number);
    }
    struct torc_table fresh;
    torc_table_init(&fresh);
    unsigned n_blocks = table.n_blocks;
    ck_assert_uint_gt(n_blocks, 10);
    while (torc_table_drop_step(arena, &table)) {
        n_blocks--;
        ck_assert_uint_eq(table.n_blocks, n_blocks);
        ck_assert_uint_eq(find(1), TORC_REF_NONE);
        check_table();
    }
    ck_assert_uint_eq(n_blocks, 1);
    ck_assert_mem_eq(&fresh, &table, sizeof table);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
}
END_TEST

static void check_fails(const char *expected)
{
    const char *why = "";
    ck_assert_int_eq(torc_table_check(arena, &table, &why), -EBADMSG);
    ck_assert_str_eq(why, expected);
    ck_assert_int_eq(torc_table_check(arena, &table, NULL), -EBADMSG);
}

START_TEST(check_finds_what_is_wrong)
{
    for (uint64_t number = 0; number < 400; number++) {
        add(number);
    }
    while (torc_table_step(arena, &table, 8)) {
    }
    check_table();
    struct torc_table kept = table;
    uint64_t i = 0;
    while (torc_line_spilled(torc_table_line(arena, &table, i)) != 0 ||
           torc_line_count(torc_table_line(arena, &table, i)) == 0) {
        i++;
    }
    struct torc_line *line = torc_table_line(arena, &table, i);
    struct torc_line kept_line = *line;

    table.count++;
    check_fails("count of entries");
    table = kept;
    table.n_lines = 33;
    check_fails("not a size of a table");
    table = kept;
    table.frontier--;
    check_fails("frontier out of place");
    table = kept;
    table.n_target = 4;
    check_fails("stretching to a size that is not the next");
    table = kept;
    table.n_blocks--;
    check_fails("fewer blocks than lines");
    table = kept;
    table.directory_log2 = 0;
    check_fails("directory too small");
    table = kept;
    table.blocks[3] |= 1;
    check_fails("not a block reference");
    table = kept;
    table.n_far = 1;
    check_fails("reach of far entries");
    table.far_reach = 1;
    check_fails("count of far entries");
    table = kept;

    line->fingerprints[0] ^= 1;
    check_fails("fingerprint is not that of the name");
    *line = kept_line;
    torc_line_set_ref(line, 0, TORC_REF_NONE);
    check_fails("entry without a reference");
    *line = kept_line;
    torc_line_set_spilled(line, 3);
    check_fails("spilled kind without a guest");
    *line = kept_line;
    line->marks = 1u << TORC_LINE_SLOTS;
    check_fails("marks above the slots are reserved");
    *line = kept_line;
    line->shape = 0x00ff;
    check_fails("shape of a line");
    *line = kept_line;
    line->shape = (uint16_t)(line->shape - TORC_LINE_SHAPE_NATIVE);
    check_fails("native of another home, or guest at home");
    *line = kept_line;
    check_table();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_empty_table_has_no_memory_and_finds_nothing);
    tcase_add_test(tcase, sizes_blocks_and_lines_agree);
    tcase_add_test(tcase, every_guest_line_leads_back_to_its_home);
    tcase_add_test(tcase, walks_stay_out_of_lines_that_are_not_there_yet);
    tcase_add_test(tcase, records_are_found_by_name_and_absent_names_are_not);
    tcase_add_test(tcase, the_candidate_is_the_record_with_the_fingerprint);
    tcase_add_test(tcase, a_replaced_reference_is_found_by_the_same_name);
    tcase_add_test(tcase, from_1_to_100000_entries_and_back_without_a_large_step);
    tcase_add_test(tcase, entries_stay_near_their_homes_however_many_come_and_go);
    tcase_add_test(tcase, many_equal_hashes_are_stored_even_while_a_large_table_stretches);
    tcase_add_test(tcase, some_equal_hashes_are_moved_together_while_a_large_table_stretches);
    tcase_add_test(tcase, far_entries_come_home_when_their_home_is_moved);
    tcase_add_test(tcase, promised_inserts_need_nothing_from_the_arena);
    tcase_add_test(tcase, an_empty_table_starts_at_the_promised_size);
    tcase_add_test(tcase, a_refused_reserve_changes_nothing);
    tcase_add_test(tcase, a_refused_table_fills_to_95_percent_then_says_so_then_recovers);
    tcase_add_test(tcase, a_promise_taken_back_is_freed_in_steps);
    tcase_add_test(tcase, a_promise_outlives_the_removal_of_the_last_entry);
    tcase_add_test(tcase, a_scan_at_rest_visits_each_entry_once);
    tcase_add_test(tcase, a_page_of_a_scan_is_as_many_homes_as_asked_for);
    tcase_add_test(tcase, any_cursor_is_safe_and_comes_to_an_end);
    tcase_add_test(tcase, deleting_what_a_scan_shows_keeps_the_table_evenly_filled);
    tcase_add_test(tcase, a_scan_leaves_nothing_out_while_the_table_grows_and_shrinks);
    tcase_add_test(tcase, random_choice_is_uniform_at_rest_and_in_a_stretch);
    tcase_add_test(tcase, random_choice_ends_in_a_nearly_empty_table);
    tcase_add_test(tcase, steps_finish_a_stretch_and_a_shrink);
    tcase_add_test(tcase, a_dropped_table_goes_block_by_block);
    tcase_add_test(tcase, check_finds_what_is_wrong);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
