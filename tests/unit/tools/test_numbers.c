/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/numbers.h"

#include <check.h>
#include <stdlib.h>

START_TEST(counts_are_grouped_by_thousands)
{
    ck_assert_str_eq(torc_number_grouped(0).text, "0");
    ck_assert_str_eq(torc_number_grouped(999).text, "999");
    ck_assert_str_eq(torc_number_grouped(1000).text, "1,000");
    ck_assert_str_eq(torc_number_grouped(1234567).text, "1,234,567");
    ck_assert_str_eq(torc_number_grouped(UINT64_MAX).text, "18,446,744,073,709,551,615");
}
END_TEST

START_TEST(rates_are_rounded_and_never_divide_by_zero)
{
    ck_assert_str_eq(torc_number_rate(200000, 1000000000).text, "200,000");
    ck_assert_str_eq(torc_number_rate(1, 3000000000).text, "0");
    ck_assert_str_eq(torc_number_rate(2, 3000000000).text, "1");
    ck_assert_str_eq(torc_number_rate(5, 0).text, "-");
    ck_assert_str_eq(torc_number_rate(UINT64_MAX, 1).text, "18,446,744,073,709,551,615");
}
END_TEST

START_TEST(durations_have_three_digits_and_a_unit)
{
    ck_assert_str_eq(torc_number_ns(0).text, "0 ns");
    ck_assert_str_eq(torc_number_ns(999).text, "999 ns");
    ck_assert_str_eq(torc_number_ns(1000).text, "1.00 us");
    ck_assert_str_eq(torc_number_ns(12345).text, "12.3 us");
    ck_assert_str_eq(torc_number_ns(999400).text, "999 us");
    ck_assert_str_eq(torc_number_ns(999999).text, "1.00 ms");
    ck_assert_str_eq(torc_number_ns(45600000).text, "45.6 ms");
    ck_assert_str_eq(torc_number_ns(7890000000).text, "7.89 s");
    ck_assert_str_eq(torc_number_ns(99960000).text, "100 ms");
    ck_assert_str_eq(torc_number_ns(7200000000000).text, "7200 s");
}
END_TEST

START_TEST(numbers_are_parsed_within_their_range_only)
{
    uint64_t n = 7;
    ck_assert(torc_number_parse("0", 0, 10, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert(torc_number_parse("18446744073709551615", 0, UINT64_MAX, &n));
    ck_assert_uint_eq(n, UINT64_MAX);
    static const char *const bad[] = {"",  " 1", "1 ",  "+1", "-1", "1.0",
                                      "x", "1x", "0x1", "11", "0",  "18446744073709551616"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        n = 7;
        ck_assert_msg(!torc_number_parse(bad[i], 1, 10, &n), "'%s' was taken", bad[i]);
        ck_assert_uint_eq(n, 7);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numbers");
    TCase *tcase = tcase_create("numbers");
    tcase_add_test(tcase, counts_are_grouped_by_thousands);
    tcase_add_test(tcase, rates_are_rounded_and_never_divide_by_zero);
    tcase_add_test(tcase, durations_have_three_digits_and_a_unit);
    tcase_add_test(tcase, numbers_are_parsed_within_their_range_only);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
