/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/load_columns.h"

#include <check.h>
#include <stdlib.h>

#include "tools/csv.h"

static struct torc_load_columns columns;
static char error[TORC_LOAD_COLUMNS_ERROR_BYTES];

static void tear_down(void)
{
    torc_load_columns_fini(&columns);
}

START_TEST(names_are_copied)
{
    char bytes[] = "abcd";
    struct torc_slice names[] = {torc_slice_of(bytes, 1), torc_slice_of(bytes + 1, 0),
                                 torc_slice_of(bytes + 1, 3)};
    ck_assert_int_eq(torc_load_columns_init(&columns, names, 3, error), 0);
    memset(bytes, 'x', sizeof bytes);
    ck_assert_uint_eq(columns.n, 3);
    ck_assert_uint_eq(torc_load_columns_find(&columns, "a"), 0);
    ck_assert_uint_eq(torc_load_columns_find(&columns, ""), 1);
    ck_assert_uint_eq(torc_load_columns_find(&columns, "bcd"), 2);
    ck_assert_uint_eq(torc_load_columns_find(&columns, "bc"), SIZE_MAX);
}
END_TEST

START_TEST(names_are_taken_apart_at_commas)
{
    ck_assert_int_eq(torc_load_columns_parse(&columns, "one,two words,3", error), 0);
    ck_assert_uint_eq(columns.n, 3);
    ck_assert_uint_eq(torc_load_columns_find(&columns, "two words"), 1);
    ck_assert_uint_eq(torc_load_columns_find(&columns, "3"), 2);
}
END_TEST

START_TEST(a_name_that_comes_twice_is_refused)
{
    ck_assert_int_eq(torc_load_columns_parse(&columns, "b,a,c,a", error), -EINVAL);
    ck_assert_str_eq(error, "column 'a' comes twice");
    ck_assert_ptr_null(columns.names);
    ck_assert_int_eq(torc_load_columns_parse(&columns, "a,ab,abc", error), 0);
}
END_TEST

START_TEST(empty_names_on_the_command_line_are_refused)
{
    ck_assert_int_eq(torc_load_columns_parse(&columns, "", error), -EINVAL);
    ck_assert_int_eq(torc_load_columns_parse(&columns, "a,,b", error), -EINVAL);
    ck_assert_int_eq(torc_load_columns_parse(&columns, "a,", error), -EINVAL);
    ck_assert_str_eq(error, "a name is empty");
}
END_TEST

START_TEST(too_many_names_are_refused)
{
    static char text[2 * TORC_CSV_COLUMNS_MAX + 2];
    memset(text, ',', sizeof text - 1);
    ck_assert_int_eq(torc_load_columns_parse(&columns, text, error), -EINVAL);
    ck_assert_str_eq(error, "too many names");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_columns");
    TCase *tcase = tcase_create("load_columns");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, names_are_copied);
    tcase_add_test(tcase, names_are_taken_apart_at_commas);
    tcase_add_test(tcase, a_name_that_comes_twice_is_refused);
    tcase_add_test(tcase, empty_names_on_the_command_line_are_refused);
    tcase_add_test(tcase, too_many_names_are_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
