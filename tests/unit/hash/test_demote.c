/* SPDX-License-Identifier: Apache-2.0
 *
 * Full hashes that became small are made compact in idle times.
 */
#include "tests/unit/hash/keyspace_fixture.h"

enum { N = 3500 };

/* A full hash of `n` fields with numbers and text in turns, made full by others that are
 * deleted again. */
static void shrunk(const char *name, unsigned n)
{
    struct torc_key key = key_of(name);
    for (unsigned i = 0; i < n + N; ++i) {
        char field[24];
        char value[40];
        (void)snprintf(field, sizeof field, "field:%08u", i);
        (void)snprintf(value, sizeof value, i % 2 == 0 ? "%u" : "text %u with some more", i + 1000);
        ck_assert_int_eq(put_str(name, field, value), 1);
    }
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_FULL);
    for (unsigned i = n; i < n + N; ++i) {
        char field[24];
        (void)snprintf(field, sizeof field, "field:%08u", i);
        ck_assert_int_eq(del(name, field), 1);
    }
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_FULL);
}

static void expect_shrunk(const char *name, unsigned n)
{
    ck_assert_int_eq(len(name), n);
    for (unsigned i = 0; i < n; ++i) {
        char field[24];
        char value[40];
        (void)snprintf(field, sizeof field, "field:%08u", i);
        (void)snprintf(value, sizeof value, i % 2 == 0 ? "%u" : "text %u with some more", i + 1000);
        expect(name, field, value);
    }
    expect_none(name, "field:00003000");
    check();
}

START_TEST(a_full_hash_that_became_small_is_compact_after_an_idle_moment)
{
    shrunk("h", 50);
    uint64_t before = usage("h");
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_uint_lt(usage("h"), before);
    expect_shrunk("h", 50);
    /* It goes on as a compact hash. */
    ck_assert_int_eq(put_str("h", "another", "1"), 1);
    ck_assert_int_eq(del("h", "another"), 1);
    expect_shrunk("h", 50);
    settle();
    struct torc_key key = key_of("h");
    ck_assert(torc_keyspace_del(ks, &key));
    settle();
    ck_assert_uint_eq(torc_arena_used(arena), 2ull * ROOT_BYTES);
}
END_TEST

START_TEST(sixty_four_fields_are_few_and_one_more_is_not)
{
    shrunk("64", 64);
    shrunk("65", 65);
    settle();
    ck_assert_int_eq(encoding("64"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(encoding("65"), TORC_ENCODING_FULL);
    expect_shrunk("64", 64);
    expect_shrunk("65", 65);
}
END_TEST

START_TEST(few_fields_of_many_bytes_stay_full)
{
    uint8_t *text = bytes_of(5000, 't');
    shrunk("h", 10);
    ck_assert_int_eq(put("h", "long", torc_slice_of(text, 5000)), 1);
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    ck_assert_int_eq(del("h", "long"), 1);
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    expect_shrunk("h", 10);
    free(text);
}
END_TEST

START_TEST(the_limits_of_compact_hashes_hold_for_those_that_come_back)
{
    shrunk("h", 10);
    limits.compact_max_value = 20; /* "text 1001 with some more" is longer */
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    limits.compact_max_value = 24;
    limits.compact_max_entries = 19; /* half of it is too few */
    shrunk("again", 10);
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    limits.compact_max_entries = 0;
    shrunk("never", 10);
    settle();
    ck_assert_int_eq(encoding("never"), TORC_ENCODING_FULL);
    limits.compact_max_entries = 20;
    shrunk("now", 10);
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(encoding("again"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(encoding("never"), TORC_ENCODING_COMPACT);
    expect_shrunk("h", 10);
    expect_shrunk("now", 10);
}
END_TEST

START_TEST(a_hash_that_is_verbatim_by_the_setting_comes_back_verbatim)
{
    shrunk("h", 10);
    limits.disable_encoding = true;
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    expect_shrunk("h", 10);
    struct torc_key key = key_of("h");
    const uint8_t *record = torc_arena_at(arena, torc_keyspace_find(ks, &key));
    ck_assert(torc_compact_is_verbatim(torc_record_payload(record)));
}
END_TEST

START_TEST(without_memory_for_the_block_all_stays_as_it_is)
{
    shrunk("h", 20);
    struct torc_key key = key_of("h");
    uint64_t ref = torc_keyspace_find(ks, &key);
    torc_arena_fail_after(arena, 1);
    ck_assert(!torc_hash_demote(ks, ref));
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_eq(torc_keyspace_find(ks, &key), ref);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    expect_shrunk("h", 20);
    ck_assert(torc_hash_demote(ks, ref));
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    expect_shrunk("h", 20);
}
END_TEST

START_TEST(many_of_them_come_back_in_steps)
{
    char name[24];
    for (unsigned i = 1; i < 20; ++i) {
        (void)snprintf(name, sizeof name, "h%u", i);
        shrunk(name, i);
    }
    unsigned steps = 0;
    while (torc_keyspace_settle(ks, steps % 2 == 0, 3)) {
        check();
        ++steps;
    }
    ck_assert_uint_gt(steps, 1);
    for (unsigned i = 1; i < 20; ++i) {
        (void)snprintf(name, sizeof name, "h%u", i);
        ck_assert_int_eq(encoding(name), TORC_ENCODING_COMPACT);
        expect_shrunk(name, i);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demote");
    TCase *tcase = add_case(suite, "demote");
    tcase_add_test(tcase, a_full_hash_that_became_small_is_compact_after_an_idle_moment);
    tcase_add_test(tcase, sixty_four_fields_are_few_and_one_more_is_not);
    tcase_add_test(tcase, few_fields_of_many_bytes_stay_full);
    tcase_add_test(tcase, the_limits_of_compact_hashes_hold_for_those_that_come_back);
    tcase_add_test(tcase, a_hash_that_is_verbatim_by_the_setting_comes_back_verbatim);
    tcase_add_test(tcase, without_memory_for_the_block_all_stays_as_it_is);
    tcase_add_test(tcase, many_of_them_come_back_in_steps);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
