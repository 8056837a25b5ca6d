/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/key_template.h"

#include <check.h>
#include <stdlib.h>

static struct torc_slice columns[3];
static struct torc_slice cells[3];
static struct torc_key_template *key_template;
static char error[TORC_KEY_TEMPLATE_ERROR_BYTES];

static void set_up(void)
{
    columns[0] = torc_slice_str("zip");
    columns[1] = torc_slice_str("city name");
    columns[2] = torc_slice_str("key");
    cells[0] = torc_slice_str("00501");
    cells[1] = torc_slice_str("Holtsville");
    cells[2] = torc_slice_str("K");
}

static void tear_down(void)
{
    torc_key_template_destroy(key_template);
    key_template = NULL;
}

static int create(const char *text, size_t key_column)
{
    torc_key_template_destroy(key_template);
    key_template = NULL;
    return torc_key_template_create(text, columns, 3, key_column, &key_template, error);
}

static void assert_key(uint64_t row, const char *expected)
{
    struct torc_slice key;
    ck_assert_int_eq(torc_key_template_expand(key_template, cells, row, &key), 0);
    ck_assert_uint_eq(key.len, strlen(expected));
    ck_assert_mem_eq(key.data, expected, key.len);
}

START_TEST(names_stand_for_cells)
{
    ck_assert_int_eq(create("zip:{zip}", 1), 0);
    assert_key(1, "zip:00501");
    ck_assert_int_eq(create("{zip}/{city name}/{zip}!", 1), 0);
    assert_key(1, "00501/Holtsville/00501!");
}
END_TEST

START_TEST(key_is_the_key_column_or_the_row_number)
{
    ck_assert_int_eq(create("a:{key}", 1), 0);
    assert_key(7, "a:Holtsville");
    ck_assert_int_eq(create("a:{key}", TORC_KEY_COLUMN_ROW), 0);
    assert_key(7, "a:7");
    assert_key(UINT64_MAX, "a:18446744073709551615");
}
END_TEST

START_TEST(doubled_braces_stand_for_one)
{
    ck_assert_int_eq(create("{{{key}}}:price}}", 0), 0);
    assert_key(1, "{00501}:price}");
    ck_assert_int_eq(create("{{}}{zip}", 0), 0);
    assert_key(1, "{}00501");
}
END_TEST

START_TEST(the_default_takes_any_prefix_literally)
{
    key_template = torc_key_template_default("my{file}", 0);
    ck_assert_ptr_nonnull(key_template);
    assert_key(1, "my{file}:00501");
    torc_key_template_destroy(key_template);
    key_template = torc_key_template_default("", TORC_KEY_COLUMN_ROW);
    ck_assert_ptr_nonnull(key_template);
    assert_key(12, ":12");
}
END_TEST

START_TEST(cells_of_any_bytes_and_size_fit)
{
    static uint8_t large[100000];
    memset(large, 0xfe, sizeof large);
    cells[0] = torc_slice_of(large, sizeof large);
    ck_assert_int_eq(create("<{zip}{zip}>", 1), 0);
    struct torc_slice key;
    ck_assert_int_eq(torc_key_template_expand(key_template, cells, 1, &key), 0);
    ck_assert_uint_eq(key.len, 2 * sizeof large + 2);
    ck_assert_uint_eq(key.data[0], '<');
    ck_assert_uint_eq(key.data[key.len - 1], '>');
    cells[0] = torc_slice_of(NULL, 0);
    assert_key(1, "<>");
}
END_TEST

START_TEST(faulty_templates_are_refused_with_the_reason)
{
    static const struct {
        const char *text;
        const char *why;
    } bad[] = {
        {"x", "every row would have the same key (name a column, or {key})"},
        {"", "every row would have the same key (name a column, or {key})"},
        {"{{zip}}", "every row would have the same key (name a column, or {key})"},
        {"{zap}", "there is no column 'zap'"},
        {"{}", "there is no column ''"},
        {"{zip", "brace without its partner (write {{ or }} for a brace of the key)"},
        {"zip}", "brace without its partner (write {{ or }} for a brace of the key)"},
        {"{zip}{", "brace without its partner (write {{ or }} for a brace of the key)"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(create(bad[i].text, 0) == -EINVAL, "'%s' was taken", bad[i].text);
        ck_assert_str_eq(error, bad[i].why);
        ck_assert_ptr_null(key_template);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key_template");
    TCase *tcase = tcase_create("key_template");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, names_stand_for_cells);
    tcase_add_test(tcase, key_is_the_key_column_or_the_row_number);
    tcase_add_test(tcase, doubled_braces_stand_for_one);
    tcase_add_test(tcase, the_default_takes_any_prefix_literally);
    tcase_add_test(tcase, cells_of_any_bytes_and_size_fit);
    tcase_add_test(tcase, faulty_templates_are_refused_with_the_reason);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
