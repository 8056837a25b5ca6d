/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of commands on times.
 */
#include "tools/torcd/expire_words.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "hash/expiry.h"

#define NOW       1700000000000ull
#define WORDS_MAX 16u

static struct torc_slice words[WORDS_MAX];

static uint32_t split(const char *const *row)
{
    uint32_t n = 0;
    for (; row[n] != NULL; n++) {
        words[n] = torc_slice_str(row[n]);
    }
    return n;
}

static struct torc_field_words parsed;

static struct torc_words_fault parse_row(unsigned allowed, const char *const *row)
{
    return torc_field_words(words, split(row), allowed, "name", NOW, &parsed);
}
#define HEXPIRE             TORC_WORDS_CONDITION
#define HGETEX              (TORC_WORDS_TIME | TORC_WORDS_PERSIST)
#define HSETEX              (TORC_WORDS_TIME | TORC_WORDS_KEEPTTL | TORC_WORDS_EXISTENCE | TORC_WORDS_PAIRS)
#define PARSE(allowed, ...) parse_row((allowed), (const char *const[]){__VA_ARGS__, NULL})

static void expect(struct torc_words_fault got, enum torc_fault wanted)
{
    ck_assert_int_eq(got.fault, wanted);
}

static void expect_word(struct torc_words_fault got, enum torc_fault wanted, const char *word)
{
    ck_assert_int_eq(got.fault, wanted);
    ck_assert(torc_slice_equal(got.word, torc_slice_str(word)));
}

static void expect_field(uint32_t i, const char *wanted)
{
    ck_assert(torc_slice_equal(parsed.fields[i], torc_slice_str(wanted)));
}

START_TEST(options_stand_before_or_behind_the_block)
{
    expect(PARSE(HEXPIRE, "NX", "FIELDS", "2", "a", "b"), TORC_FAULT_NONE);
    ck_assert_uint_eq(parsed.n_fields, 2);
    ck_assert_uint_eq(parsed.conditions, TORC_EXPIRE_NX);
    expect_field(1, "b");
    expect(PARSE(HEXPIRE, "fields", "1", "a", "gt", "GT"), TORC_FAULT_NONE);
    ck_assert_uint_eq(parsed.conditions, TORC_EXPIRE_GT);
    expect(PARSE(HSETEX, "EX", "10", "FIELDS", "1", "a", "1", "FNX"), TORC_FAULT_NONE);
    ck_assert_uint_eq(parsed.when, NOW + 10000);
    ck_assert_int_eq(parsed.existence, TORC_FIELDS_ALL_NEW);
    expect(PARSE(HGETEX, "FIELDS", "1", "a", "PERSIST"), TORC_FAULT_NONE);
    ck_assert(parsed.persists && !parsed.has_time);
    expect(PARSE(HSETEX, "FIELDS", "1", "a", "1", "KEEPTTL"), TORC_FAULT_NONE);
    ck_assert(parsed.keeps && !parsed.has_time);
}
END_TEST

START_TEST(words_inside_the_block_are_never_options)
{
    expect(PARSE(HSETEX, "FIELDS", "1", "fields", "fields"), TORC_FAULT_NONE);
    expect_field(0, "fields");
    expect(PARSE(HSETEX, "FIELDS", "1", "EX", "10"), TORC_FAULT_NONE);
    ck_assert(!parsed.has_time);
    expect(PARSE(HEXPIRE, "FIELDS", "3", "NX", "XX", "FIELDS"), TORC_FAULT_NONE);
    ck_assert_uint_eq(parsed.conditions, 0);
    ck_assert_uint_eq(parsed.n_fields, 3);
}
END_TEST

START_TEST(bytes_of_any_value_are_a_field)
{
    words[0] = torc_slice_str("FIELDS");
    words[1] = torc_slice_str("2");
    words[2] = torc_slice_of("\0f\n", 3);
    words[3] = torc_slice_of("", 0);
    expect(torc_field_words(words, 4, HEXPIRE, "name", NOW, &parsed), TORC_FAULT_NONE);
    ck_assert_uint_eq(parsed.fields[0].len, 3);
    ck_assert_uint_eq(parsed.fields[1].len, 0);
    /* And a keyword with a NUL behind it is none. */
    words[0] = torc_slice_of("FIELDS\0", 7);
    ck_assert_int_eq(torc_field_words(words, 4, HEXPIRE, "name", NOW, &parsed).fault,
                     TORC_FAULT_UNKNOWN_ARGUMENT);
}
END_TEST

START_TEST(a_wrong_block_is_told)
{
    static const char *const counts[] = {
        "0", "-1", "x", "", "01", "9223372036854775807", "2147483648", "18446744073709551616"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        expect(PARSE(HEXPIRE, "FIELDS", counts[i], "a"), TORC_FAULT_NUMFIELDS);
        expect(PARSE(HGETEX, "FIELDS", counts[i], "a"), TORC_FAULT_NUMFIELDS_INVALID);
        expect(PARSE(HSETEX, "FIELDS", counts[i], "a", "1"), TORC_FAULT_NUMFIELDS_INVALID);
    }
    expect(PARSE(HEXPIRE, "FIELDS", "2147483647", "a"), TORC_FAULT_FIELDS_SHORT);
    expect(PARSE(HEXPIRE, "FIELDS", "2", "a"), TORC_FAULT_FIELDS_SHORT);
    expect(PARSE(HSETEX, "FIELDS", "2147483647", "a", "1"), TORC_FAULT_FIELDS_SHORT);
    expect(PARSE(HSETEX, "FIELDS", "1", "a"), TORC_FAULT_FIELDS_SHORT);
    expect_word(PARSE(HEXPIRE, "FIELDS", "1", "a", "b"), TORC_FAULT_UNKNOWN_ARGUMENT, "b");
    expect_word(PARSE(HSETEX, "FIELDS", "1", "a", "1", "b"), TORC_FAULT_UNKNOWN_ARGUMENT, "b");
    expect_word(PARSE(HEXPIRE, "FIELD", "1", "a"), TORC_FAULT_UNKNOWN_ARGUMENT, "FIELD");
    expect(PARSE(HEXPIRE, "FIELDS", "1", "a", "FIELDS", "1", "b"), TORC_FAULT_FIELDS_TWICE);
    expect(PARSE(HEXPIRE, "NX", "NX", "NX"), TORC_FAULT_FIELDS_MISSING);
    expect_word(PARSE(HGETEX, "EX", "10", "FIELDS"), TORC_FAULT_ARITY, "name");
}
END_TEST

START_TEST(a_wrong_option_is_told)
{
    expect(PARSE(HEXPIRE, "NX", "XX", "FIELDS", "1", "a"), TORC_FAULT_CONDITIONS);
    expect(PARSE(HEXPIRE, "GT", "FIELDS", "1", "a", "LT"), TORC_FAULT_CONDITIONS);
    expect_word(PARSE(HEXPIRE, "EX", "FIELDS", "1", "a"), TORC_FAULT_UNKNOWN_ARGUMENT, "EX");
    expect(PARSE(HGETEX, "EX", "1", "PX", "1", "FIELDS", "1", "a"), TORC_FAULT_ONE_TIME);
    expect(PARSE(HGETEX, "EX", "1", "EX", "1", "FIELDS", "1", "a"), TORC_FAULT_ONE_TIME);
    expect(PARSE(HGETEX, "PERSIST", "PXAT", "1", "FIELDS", "1", "a"), TORC_FAULT_ONE_TIME);
    expect_word(PARSE(HGETEX, "KEEPTTL", "FIELDS", "1", "a"), TORC_FAULT_UNKNOWN_ARGUMENT,
                "KEEPTTL");
    expect(PARSE(HSETEX, "KEEPTTL", "EX", "1", "FIELDS", "1", "a", "1"), TORC_FAULT_ONE_TIME_KEEP);
    expect_word(PARSE(HSETEX, "PERSIST", "FIELDS", "1", "a", "1"), TORC_FAULT_UNKNOWN_ARGUMENT,
                "PERSIST");
    expect_word(PARSE(HSETEX, "NX", "FIELDS", "1", "a", "1"), TORC_FAULT_UNKNOWN_ARGUMENT, "NX");
    expect(PARSE(HSETEX, "FNX", "FXX", "FIELDS", "1", "a", "1"), TORC_FAULT_FXX_FNX);
    expect(PARSE(HSETEX, "FNX", "FNX", "FIELDS", "1", "a", "1"), TORC_FAULT_FXX_FNX);
    expect(PARSE(HSETEX, "EX", "FIELDS", "1", "a", "1"), TORC_FAULT_NOT_INTEGER);
    expect(PARSE(HGETEX, "FIELDS", "1", "a", "EX"), TORC_FAULT_EXPIRE_MISSING);
    expect(PARSE(HGETEX, "EX", "-1", "FIELDS", "1", "a"), TORC_FAULT_EXPIRE_NEGATIVE);
    expect_word(PARSE(HGETEX, "EX", "9223372036854775807", "FIELDS", "1", "a"),
                TORC_FAULT_EXPIRE_TIME, "name");
}
END_TEST

START_TEST(the_strict_form_takes_the_block_only)
{
    static const struct {
        const char *row[6];
        enum torc_fault wanted;
    } cases[] = {
        {{"FIELDS", "1", "a"}, TORC_FAULT_NONE},
        {{"fields", "2", "a", "a"}, TORC_FAULT_NONE},
        {{"FIELDS", "0", "a"}, TORC_FAULT_NUMFIELDS_RANGE},
        {{"FIELDS", "-1", "a"}, TORC_FAULT_NUMFIELDS_RANGE},
        {{"FIELDS", "x", "a"}, TORC_FAULT_NUMFIELDS_RANGE},
        {{"FIELDS", "2", "a"}, TORC_FAULT_NUMFIELDS_MISMATCH},
        {{"FIELDS", "1", "a", "b"}, TORC_FAULT_NUMFIELDS_MISMATCH},
        {{"FIELDS", "9223372036854775807", "a"}, TORC_FAULT_NUMFIELDS_MISMATCH},
        {{"FIELD", "1", "a"}, TORC_FAULT_FIELDS_MISPLACED},
        {{"a", "FIELDS", "1"}, TORC_FAULT_FIELDS_MISPLACED},
        {{"FIELDS"}, TORC_FAULT_FIELDS_MISPLACED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(torc_field_block(words, split(cases[i].row), &parsed), cases[i].wanted);
    }
}
END_TEST

START_TEST(times_are_checked_at_their_ends)
{
    const struct torc_time_form in_s = {false, false};
    const struct torc_time_form in_ms = {true, false};
    const struct torc_time_form at_s = {false, true};
    const struct torc_time_form at_ms = {true, true};
    const int64_t last = (int64_t)TORC_EXPIRY_MAX;
    const int64_t now = (int64_t)NOW;
    const struct {
        int64_t value;
        struct torc_time_form form;
        bool takes_negative;
        enum torc_fault fault;
        uint64_t when;
    } cases[] = {
        {0, in_ms, false, TORC_FAULT_NONE, NOW},
        {0, at_ms, false, TORC_FAULT_NONE, 1},
        {1, in_s, false, TORC_FAULT_NONE, NOW + 1000},
        {now, at_ms, false, TORC_FAULT_NONE, NOW},
        {now - 1, at_ms, false, TORC_FAULT_NONE, NOW - 1},
        {last, at_ms, false, TORC_FAULT_NONE, TORC_EXPIRY_MAX},
        {last + 1, at_ms, false, TORC_FAULT_EXPIRE_TIME, 0},
        {last / 1000, at_s, false, TORC_FAULT_NONE, TORC_EXPIRY_MAX / 1000 * 1000},
        {last / 1000 + 1, at_s, false, TORC_FAULT_EXPIRE_TIME, 0},
        {last - now, in_ms, false, TORC_FAULT_NONE, TORC_EXPIRY_MAX},
        {last - now + 1, in_ms, false, TORC_FAULT_EXPIRE_TIME, 0},
        {INT64_MAX, in_ms, false, TORC_FAULT_EXPIRE_TIME, 0},
        {INT64_MAX, in_s, true, TORC_FAULT_EXPIRE_TIME, 0},
        {INT64_MAX, at_ms, true, TORC_FAULT_EXPIRE_TIME, 0},
        {INT64_MIN, in_s, true, TORC_FAULT_EXPIRE_TIME, 0},
        {INT64_MIN, in_ms, true, TORC_FAULT_NONE, 1},
        {INT64_MIN, at_ms, true, TORC_FAULT_NONE, 1},
        {-1, in_s, true, TORC_FAULT_NONE, NOW - 1000},
        {-1, in_s, false, TORC_FAULT_EXPIRE_NEGATIVE, 0},
        {INT64_MIN, at_s, false, TORC_FAULT_EXPIRE_NEGATIVE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t when = 0;
        ck_assert_int_eq(
            torc_expire_time(cases[i].value, cases[i].form, NOW, cases[i].takes_negative, &when),
            cases[i].fault);
        ck_assert_uint_eq(when, cases[i].when);
    }
}
END_TEST

static struct torc_words_fault conditions_of(const char *const *row, unsigned *out_conditions)
{
    return torc_key_conditions(words, split(row), out_conditions);
}
#define CONDITIONS(...) conditions_of((const char *const[]){__VA_ARGS__, NULL}, &all)

START_TEST(conditions_of_keys_go_together_or_not)
{
    unsigned all = 99;
    expect(torc_key_conditions(words, 0, &all), TORC_FAULT_NONE);
    ck_assert_uint_eq(all, 0);
    expect(CONDITIONS("xx", "GT"), TORC_FAULT_NONE);
    ck_assert_uint_eq(all, TORC_EXPIRE_XX | TORC_EXPIRE_GT);
    expect(CONDITIONS("NX", "nx"), TORC_FAULT_NONE);
    expect(CONDITIONS("NX", "XX"), TORC_FAULT_EXPIRE_NX);
    expect(CONDITIONS("LT", "NX"), TORC_FAULT_EXPIRE_NX);
    expect(CONDITIONS("GT", "LT"), TORC_FAULT_EXPIRE_GT_LT);
    expect_word(CONDITIONS("GT", "LT", "FOO"), TORC_FAULT_EXPIRE_OPTION, "FOO");
}
END_TEST

START_TEST(repeats_are_found_in_few_and_in_many)
{
    enum { MANY = 5000 };
    static char names[MANY][8];
    static struct torc_slice fields[MANY];
    static bool is_repeat[MANY];
    for (uint32_t n = 1; n <= MANY; n = n < 200 ? n + 1 : n * 5) {
        for (uint32_t i = 0; i < n; i++) {
            (void)snprintf(names[i], sizeof names[0], "%u", i % 100);
            fields[i] = torc_slice_str(names[i]);
        }
        ck_assert(torc_find_repeats(fields, n, 7, is_repeat));
        for (uint32_t i = 0; i < n; i++) {
            if (is_repeat[i] != (i >= 100)) {
                ck_abort_msg("field %u of %u", i, n);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expire_words");
    TCase *tcase = tcase_create("expire_words");
    tcase_add_test(tcase, options_stand_before_or_behind_the_block);
    tcase_add_test(tcase, words_inside_the_block_are_never_options);
    tcase_add_test(tcase, bytes_of_any_value_are_a_field);
    tcase_add_test(tcase, a_wrong_block_is_told);
    tcase_add_test(tcase, a_wrong_option_is_told);
    tcase_add_test(tcase, the_strict_form_takes_the_block_only);
    tcase_add_test(tcase, times_are_checked_at_their_ends);
    tcase_add_test(tcase, conditions_of_keys_go_together_or_not);
    tcase_add_test(tcase, repeats_are_found_in_few_and_in_many);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
