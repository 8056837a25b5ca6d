/* SPDX-License-Identifier: Apache-2.0
 *
 * Table against a naive model: for each number, its record or none. Small tables, hashes squeezed
 * into a few values, an arena that fails now and then, scans with changes between their pages.
 * Held after each step: torc_table_check(), the count, the bytes; every few steps the whole map.
 */
#include <check.h>
#include <stdlib.h>

#include "hash/table_private.h"
#include "tests/support/prng.h"
#include "tests/support/table_fixture.h"

#define MAX_NUMBERS 1500u

struct model {
    struct torc_arena *arena;
    struct torc_table table;
    struct torc_prng prng;
    uint64_t seed;
    uint64_t step;
    uint64_t n_numbers;         /* of this round */
    uint64_t refs[MAX_NUMBERS]; /* TORC_REF_NONE: absent */
    uint64_t n_present;
    bool stayed[MAX_NUMBERS]; /* present since the scan began */
    bool seen[MAX_NUMBERS];   /* in this scan */
    uint64_t cursor;          /* 0: no scan under way */
};

/* (real & and) | or: see torc_test_squeeze(). */
struct squeeze {
    uint64_t and_mask;
    uint64_t or_mask;
    uint64_t most; /* numbers: where homes are few, work is quadratic */
};
static const struct squeeze squeezes[] = {
    {~0ull, 0, MAX_NUMBERS},                        /* as in life */
    {~0ull, 0, 60},                                 /* the same, few lines */
    {~0xffull, 0x5a, 300},                          /* one fingerprint */
    {0xc0000000000000ffull, 0, 200},                /* four homes */
    {0x80000000000000ffull, 0x7ffffffffffff00, 90}, /* two homes, at the end of others' ranges */
    {0x07, ~0xffull, 120},                          /* the last home, all kinds */
    {0xe000000000000001ull, 0, 150},                /* eight homes, two kinds */
    {0, 0x123456789abcdef0ull, 70},                 /* one hash */
    {0, ~0ull, 70},                                 /* the last hash */
};

static struct model model;

static void check_all(bool with_map)
{
    const char *why = "";
    if (torc_table_check(model.arena, &model.table, &why) != 0) {
        ck_abort_msg("seed %llu step %llu: %s", (unsigned long long)model.seed,
                     (unsigned long long)model.step, why);
    }
    ck_assert_uint_eq(model.table.count, model.n_present);
    ck_assert_uint_eq(torc_table_bytes(&model.table),
                      torc_arena_used_by(model.arena, TORC_USE_INDEX));
    for (uint64_t number = 0; number < model.n_numbers && with_map; number++) {
        ck_assert_uint_eq(torc_test_find(model.arena, &model.table, number), model.refs[number]);
    }
}

/* Reserve n, perhaps from an arena that refuses; true if promised. */
static bool reserve(uint64_t n)
{
    struct torc_table before = model.table;
    uint64_t used = torc_arena_used(model.arena);
    bool refuse = torc_prng_below(&model.prng, 4) == 0;
    torc_arena_fail_after(model.arena, refuse ? 1 + torc_prng_below(&model.prng, 4) : 0);
    int rc = torc_table_reserve(model.arena, &model.table, n);
    torc_arena_fail_after(model.arena, 0);
    if (rc == 0) {
        return true;
    }
    ck_assert(refuse);
    ck_assert_int_eq(rc, -ENOSPC);
    ck_assert_mem_eq(&before, &model.table, offsetof(struct torc_table, blocks));
    ck_assert_uint_eq(torc_arena_used(model.arena), used);
    return false;
}

static void insert(uint64_t number)
{
    uint64_t ref = torc_test_record(model.arena, number);
    torc_table_insert(model.arena, &model.table, torc_test_record_hash(model.arena, ref), ref);
    model.refs[number] = ref;
    model.n_present++;
}

static void remove_number(uint64_t number)
{
    uint64_t ref = model.refs[number];
    torc_table_remove(model.arena, &model.table, torc_test_record_hash(model.arena, ref), ref);
    torc_test_record_free(model.arena, ref);
    model.refs[number] = TORC_REF_NONE;
    model.stayed[number] = false;
    model.n_present--;
}

static void replace(uint64_t number)
{
    uint64_t old = model.refs[number];
    uint64_t ref = torc_test_record(model.arena, number);
    torc_table_replace(model.arena, &model.table, torc_test_record_hash(model.arena, ref), old,
                       ref);
    torc_test_record_free(model.arena, old);
    model.refs[number] = ref;
}

/* Absent numbers, several of them, after one promise for all; other work may come between. */
static void insert_many(uint64_t n)
{
    uint64_t numbers[64];
    uint64_t found = 0;
    uint64_t number = torc_prng_below(&model.prng, model.n_numbers);
    for (uint64_t i = 0; i < model.n_numbers && found < n && found < 64; i++) {
        number = number + 1 < model.n_numbers ? number + 1 : 0;
        if (model.refs[number] == TORC_REF_NONE) {
            numbers[found++] = number;
        }
    }
    if (found == 0 || !reserve(found)) {
        return;
    }
    uint64_t used = torc_arena_used_by(model.arena, TORC_USE_INDEX);
    for (uint64_t i = 0; i < found; i++) {
        if (torc_prng_below(&model.prng, 8) == 0) {
            (void)torc_table_step(model.arena, &model.table, 1);
        }
        insert(numbers[i]);
        check_all(false);
    }
    ck_assert_uint_eq(torc_arena_used_by(model.arena, TORC_USE_INDEX), used);
}

static void visit(void *arg, uint64_t ref)
{
    struct model *m = arg;
    uint64_t number = torc_test_record_number(m->arena, ref);
    ck_assert(number < m->n_numbers && m->refs[number] == ref);
    m->seen[number] = true;
}

static void scan_page(void)
{
    if (model.cursor == 0) {
        for (uint64_t number = 0; number < model.n_numbers; number++) {
            model.stayed[number] = model.refs[number] != TORC_REF_NONE;
            model.seen[number] = false;
        }
    }
    uint64_t before = model.cursor;
    model.cursor = torc_table_scan(model.arena, &model.table, model.cursor,
                                   torc_prng_below(&model.prng, 4), visit, &model);
    ck_assert(model.cursor == 0 || model.cursor > before);
    if (model.cursor == 0) {
        for (uint64_t number = 0; number < model.n_numbers; number++) {
            ck_assert_msg(!model.stayed[number] || model.seen[number],
                          "seed %llu step %llu: scan left out %llu", (unsigned long long)model.seed,
                          (unsigned long long)model.step, (unsigned long long)number);
        }
    }
}

static void do_step(uint64_t inserts_in_ten)
{
    uint64_t number = torc_prng_below(&model.prng, model.n_numbers);
    uint64_t dice = torc_prng_below(&model.prng, 100);
    bool present = model.refs[number] != TORC_REF_NONE;
    if (dice < 60) {
        bool want = torc_prng_below(&model.prng, 10) < inserts_in_ten;
        if (want && !present && reserve(1)) {
            insert(number);
        } else if (!want && present) {
            remove_number(number);
        }
    } else if (dice < 70) {
        scan_page();
    } else if (dice < 78 && present) {
        replace(number);
    } else if (dice < 82) {
        insert_many(torc_prng_below(&model.prng, 4) * inserts_in_ten);
    } else if (dice < 86) {
        uint64_t ref = torc_table_random(model.arena, &model.table, torc_prng_next(&model.prng));
        ck_assert((ref == TORC_REF_NONE) == (model.n_present == 0));
        if (ref != TORC_REF_NONE) {
            ck_assert_uint_eq(model.refs[torc_test_record_number(model.arena, ref)], ref);
        }
    } else if (dice < 88) {
        (void)torc_table_step(model.arena, &model.table, (unsigned)torc_prng_below(&model.prng, 6));
    } else if (dice == 88) {
        (void)reserve(torc_prng_below(&model.prng, 200)); /* a promise never used */
    } else if (dice == 89 && present && model.n_present == 1 && reserve(1)) {
        remove_number(number); /* the only one goes, another comes, as promised */
        insert(number);
    }
}

static void round_of(const struct squeeze *squeeze, uint64_t n_steps)
{
    torc_test_squeeze(squeeze->and_mask, squeeze->or_mask, SIZE_MAX);
    torc_table_init(&model.table);
    model.n_numbers = 1 + torc_prng_below(&model.prng, squeeze->most);
    model.cursor = 0;
    /* Up, to and fro, down. */
    for (uint64_t i = 0; i < n_steps; i++, model.step++) {
        do_step(i < n_steps / 2 ? 8 : i < n_steps * 3 / 4 ? 5 : 1);
        check_all(i % 16 == 0);
    }
    for (uint64_t number = 0; number < model.n_numbers; number++) {
        if (model.refs[number] != TORC_REF_NONE) {
            remove_number(number);
            check_all(number % 16 == 0);
        }
    }
    ck_assert_int_eq(torc_table_reserve(model.arena, &model.table, 0), 0);
    while (torc_table_step(model.arena, &model.table, 1)) {
        check_all(false);
    }
    ck_assert_uint_eq(torc_table_bytes(&model.table), 0);
    ck_assert_uint_eq(torc_arena_used(model.arena), 0);
}

START_TEST(a_table_is_a_map)
{
    model.seed = torc_test_seed(20240611);
    model.prng.state = model.seed;
    uint64_t n_ops = torc_test_ops(6000);
    model.arena = torc_test_dirty_arena(32 * TORC_MIB, model.seed);
    while (model.step < n_ops) {
        const struct squeeze *squeeze =
            &squeezes[torc_prng_below(&model.prng, sizeof squeezes / sizeof *squeezes)];
        round_of(squeeze, 50 + torc_prng_below(&model.prng, 2 * squeeze->most));
    }
    ck_assert_uint_gt(torc_test_table_work.put_far, 0); /* not a test of the easy part only */
    torc_arena_destroy(model.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table properties");
    TCase *tcase = tcase_create("table properties");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, a_table_is_a_map);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
