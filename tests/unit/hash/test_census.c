/* SPDX-License-Identifier: Apache-2.0
 *
 * What the keys are and take, and making them compact on request.
 */
#include "hash/census.h"

#include "tests/support/prng.h"
#include "tests/unit/hash/keyspace_fixture.h"

static void put_compact_keys(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "c%u", i);
        ck_assert_int_eq(put_str(name, "field", "value"), 1);
    }
}

static void put_full_keys(unsigned n)
{
    limits.compact_max_entries = 0;
    for (unsigned i = 0; i < n; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "f%u", i);
        ck_assert_int_eq(put_str(name, "field", "value"), 1);
    }
    limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
}

START_TEST(of_few_keys_the_census_is_exact)
{
    struct torc_census census = torc_keyspace_census(ks, 10, 1);
    ck_assert_uint_eq(census.n_keys, 0);
    ck_assert_uint_eq(census.n_looked_at, 0);
    ck_assert_uint_eq(census.compact_bytes, 0);
    put_compact_keys(70);
    put_full_keys(30);
    census = torc_keyspace_census(ks, 100, 1);
    ck_assert_uint_eq(census.n_keys, 100);
    ck_assert_uint_eq(census.n_looked_at, 100);
    ck_assert_uint_eq(census.n_compact, 70);
    ck_assert_uint_eq(census.n_full, 30);
    uint64_t full = 0;
    for (unsigned i = 0; i < 30; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "f%u", i);
        full += usage(name);
    }
    ck_assert_uint_eq(census.full_bytes, full);
}
END_TEST

START_TEST(of_many_keys_a_part_stands_for_all)
{
    put_compact_keys(7000);
    put_full_keys(3000);
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct torc_census census = torc_keyspace_census(ks, 1000, seed * 77);
        ck_assert_uint_eq(census.n_looked_at, 1000);
        ck_assert_uint_eq(census.n_keys, 10000);
        ck_assert_uint_ge(census.n_compact, 6300);
        ck_assert_uint_le(census.n_compact, 7700);
        ck_assert_uint_eq(census.n_compact + census.n_full, 10000);
    }
}
END_TEST

START_TEST(a_compact_hash_is_packed_at_once)
{
    bool is_later = true;
    struct torc_key key = key_of("h");
    ck_assert_int_eq(torc_keyspace_optimize(ks, &key, &is_later), -ENOENT);
    for (unsigned i = 0; i < 100; i++) {
        char field[24];
        (void)snprintf(field, sizeof(field), "field:%08u", i);
        ck_assert_int_eq(put_str("h", field, "value"), 1);
    }
    uint64_t before = usage("h");
    int64_t won = torc_keyspace_optimize(ks, &key, &is_later);
    ck_assert(!is_later);
    ck_assert_int_gt(won, 0);
    ck_assert_uint_eq(usage("h"), before - (uint64_t)won);
    ck_assert_int_eq(torc_keyspace_optimize(ks, &key, &is_later), 0);
    ck_assert_int_eq(len("h"), 100);
    check();
}
END_TEST

START_TEST(a_full_hash_is_packed_by_settling)
{
    static char names[60000][24];
    static struct torc_pair pairs[60000];
    struct torc_key key = key_of("h");
    bool is_later = false;
    fill_pairs(pairs, names, 60000);
    limits.compact_max_entries = 0;
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 60000), 60000);
    put_compact_keys(100);
    settle();
    for (unsigned i = 0; i < 60000; i += 40) {
        ck_assert_int_eq(del("h", names[i]), 1);
    }
    int64_t may_win = torc_keyspace_optimize(ks, &key, &is_later);
    ck_assert(is_later);
    ck_assert_int_gt(may_win, 10000);
    uint64_t before = usage("h");
    while (torc_keyspace_settle(ks, true, 64)) {
    }
    check();
    ck_assert_uint_le(usage("h"), before - (uint64_t)may_win / 2);
}
END_TEST

START_TEST(all_keys_are_walked_over_however_little_has_changed)
{
    put_compact_keys(1000);
    while (torc_keyspace_settle(ks, true, 64)) {
    }
    ck_assert(!torc_keyspace_settle(ks, true, 1));
    torc_keyspace_optimize_all(ks);
    unsigned steps = 0;
    while (torc_keyspace_settle(ks, true, 16)) {
        steps++;
    }
    ck_assert_uint_ge(steps, 1000 / 64);
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("census");
    TCase *tcase = add_case(suite, "census");
    tcase_add_test(tcase, of_few_keys_the_census_is_exact);
    tcase_add_test(tcase, of_many_keys_a_part_stands_for_all);
    tcase_add_test(tcase, a_compact_hash_is_packed_at_once);
    tcase_add_test(tcase, a_full_hash_is_packed_by_settling);
    tcase_add_test(tcase, all_keys_are_walked_over_however_little_has_changed);
    return run_suite(suite);
}
