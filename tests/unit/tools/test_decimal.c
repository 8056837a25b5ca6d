/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/decimal.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static char printed[TORC_DECIMAL_BYTES];

/* `text` read and printed again. */
static const char *round_trip(const char *text)
{
    long double value;
    ck_assert_msg(torc_decimal_parse(torc_slice_str(text), &value), "%s", text);
    size_t len = torc_decimal_print(value, printed);
    ck_assert_uint_eq(len, strlen(printed));
    return printed;
}

START_TEST(texts_that_are_numbers_are_read)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "0"},
        {"+5", "5"},
        {"007", "7"},
        {"5.", "5"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"5.0e3", "5000"},
        {"1E2", "100"},
        {"0x10", "16"},
        {"0x1p-2", "0.25"},
        {"1e-17", "0.00000000000000001"},
        {"1e-18", "0"},
        {"-1e-18", "0"},
        {"100", "100"},
        {"9223372036854775808", "9223372036854775808"},
        {"1e-4950", "0"}, /* less than the least normal number, but not 0 */
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        ck_assert_str_eq(round_trip(cases[i].text), cases[i].printed);
    }
}
END_TEST

START_TEST(infinity_is_read_in_every_spelling)
{
    static const char *const texts[] = {"inf", "+Inf", "INFINITY", "-inf"};
    for (size_t i = 0; i < N_OF(texts); i++) {
        long double value = 0;
        ck_assert(torc_decimal_parse(torc_slice_str(texts[i]), &value));
        ck_assert(isinf(value));
    }
}
END_TEST

START_TEST(other_texts_are_refused_and_leave_the_output_alone)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"", 0},       {" 1", 2},      {"1 ", 2},     {"\t1", 2}, {"1\n", 2},    {"\v1", 2},
        {"nan", 3},    {"-NaN", 4},    {"nan(1)", 6}, {"abc", 3}, {"1.5x", 4},   {"--1", 3},
        {"1e5000", 6}, {"-1e5000", 7}, {"1e", 2},     {"e5", 2},  {"1\0", 2},    {"\0", 1},
        {"1,5", 3},    {"1e-5000", 7}, {".", 1},      {"+", 1},   {"1\0002", 3}, {"1_0", 3},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        long double value = 42;
        ck_assert_msg(!torc_decimal_parse(torc_slice_of(cases[i].bytes, cases[i].len), &value),
                      "%s", cases[i].bytes);
        ck_assert(value == 42);
    }
}
END_TEST

START_TEST(a_text_must_be_shorter_than_its_limit)
{
    static char digits[TORC_DECIMAL_BYTES];
    memset(digits, '0', sizeof digits);
    long double value = 0;
    digits[sizeof digits - 2] = '7';
    ck_assert(torc_decimal_parse(torc_slice_of(digits, sizeof digits - 1), &value));
    ck_assert(value == 7);
    ck_assert(!torc_decimal_parse(torc_slice_of(digits, sizeof digits), &value));
}
END_TEST

START_TEST(the_largest_and_least_numbers_can_be_printed)
{
    static const long double values[] = {LDBL_MAX, -LDBL_MAX, LDBL_MIN, -LDBL_MIN};
    for (size_t i = 0; i < N_OF(values); i++) {
        size_t len = torc_decimal_print(values[i], printed);
        ck_assert_uint_lt(len, TORC_DECIMAL_BYTES);
        ck_assert_uint_eq(len, strlen(printed));
        ck_assert_ptr_null(strchr(printed, 'e'));
    }
    size_t len = torc_decimal_print(-LDBL_MAX, printed);
    ck_assert_uint_eq(len, LDBL_MAX_10_EXP + 2);
}
END_TEST

START_TEST(integers_of_64_bits_are_exact)
{
#if LDBL_MANT_DIG >= 64
    static const char *const texts[] = {"9007199254740993", "9223372036854775807",
                                        "-9223372036854775808", "18446744073709551615"};
    for (size_t i = 0; i < N_OF(texts); i++) {
        ck_assert_str_eq(round_trip(texts[i]), texts[i]);
    }
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decimal");
    TCase *tcase = tcase_create("decimal");
    tcase_add_test(tcase, texts_that_are_numbers_are_read);
    tcase_add_test(tcase, infinity_is_read_in_every_spelling);
    tcase_add_test(tcase, other_texts_are_refused_and_leave_the_output_alone);
    tcase_add_test(tcase, a_text_must_be_shorter_than_its_limit);
    tcase_add_test(tcase, the_largest_and_least_numbers_can_be_printed);
    tcase_add_test(tcase, integers_of_64_bits_are_exact);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
