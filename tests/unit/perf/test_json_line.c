/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/harness/json_line.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static char *text;
static size_t len;
static struct torc_json_line line;

static void set_up(void)
{
    FILE *out = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(out);
    torc_json_line_begin(&line, out);
}

static void tear_down(void)
{
    free(text);
}

static void expect(const char *wanted)
{
    ck_assert_int_eq(torc_json_line_end(&line), 0);
    ck_assert_int_eq(fclose(line.out), 0);
    ck_assert_str_eq(text, wanted);
}

START_TEST(an_object_without_members_is_a_line)
{
    expect("{}\n");
}
END_TEST

START_TEST(members_come_in_order_with_commas_between)
{
    torc_json_line_text(&line, "op", "hget");
    torc_json_line_count(&line, "n", UINT64_MAX);
    torc_json_line_number(&line, "rate", 1.25, 1);
    torc_json_line_null(&line, "none");
    torc_json_line_open(&line, "in");
    torc_json_line_count(&line, "a", 1);
    torc_json_line_count(&line, "b", 2);
    torc_json_line_close(&line);
    torc_json_line_text(&line, "end", NULL);
    expect("{\"op\":\"hget\",\"n\":18446744073709551615,\"rate\":1.2,\"none\":null,"
           "\"in\":{\"a\":1,\"b\":2},\"end\":null}\n");
}
END_TEST

START_TEST(any_byte_of_a_text_leaves_the_line_valid)
{
    torc_json_line_text(&line, "t", "a\"b\\c\n\x01\xff\x7f~");
    expect("{\"t\":\"a\\\"b\\\\c\\u000a\\u0001\\u00ff\\u007f~\"}\n");
}
END_TEST

START_TEST(what_is_not_finite_is_null)
{
    torc_json_line_number(&line, "a", (double)NAN, 1);
    torc_json_line_number(&line, "b", HUGE_VAL, 1);
    expect("{\"a\":null,\"b\":null}\n");
}
END_TEST

START_TEST(percentiles_are_those_of_the_histogram)
{
    static struct torc_histogram histogram;
    torc_histogram_reset(&histogram);
    torc_json_line_percentiles(&line, &histogram);
    for (uint64_t i = 1; i <= 20; i++) {
        torc_histogram_add(&histogram, i);
    }
    torc_json_line_percentiles(&line, &histogram);
    expect("{\"min\":1,\"p50\":10,\"p90\":18,\"p99\":20,\"p999\":20,\"max\":20}\n");
}
END_TEST

START_TEST(a_line_that_cannot_be_written_is_told)
{
    struct torc_json_line full;
    FILE *out = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(out);
    torc_json_line_begin(&full, out);
    ck_assert_int_eq(torc_json_line_end(&full), -EPIPE);
    (void)fclose(out);
    expect("{}\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_line");
    TCase *tcase = tcase_create("json_line");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, an_object_without_members_is_a_line);
    tcase_add_test(tcase, members_come_in_order_with_commas_between);
    tcase_add_test(tcase, any_byte_of_a_text_leaves_the_line_valid);
    tcase_add_test(tcase, what_is_not_finite_is_null);
    tcase_add_test(tcase, percentiles_are_those_of_the_histogram);
    tcase_add_test(tcase, a_line_that_cannot_be_written_is_told);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
