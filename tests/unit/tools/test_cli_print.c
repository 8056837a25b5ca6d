/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_print.h"

#include <check.h>
#include <stdlib.h>

#include "ring/message.h"

/* What is printed, in a static buffer. */
static const char *printed(const struct torc_result *result, bool raw)
{
    static char text[4096];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(out);
    torc_cli_print(out, result, raw);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

static void assert_prints(const struct torc_result *result, const char *person, const char *raw)
{
    ck_assert_str_eq(printed(result, false), person);
    ck_assert_str_eq(printed(result, true), raw);
}

/* An array result over these items, NULL for nil. */
static struct torc_result array_of(enum torc_kind kind, const char *const *items, uint32_t n)
{
    static uint8_t message[2048];
    struct torc_reply_writer w;
    torc_reply_begin(&w, message, sizeof message, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        torc_reply_item(&w, items[i] != NULL ? torc_slice_str(items[i]) : torc_slice_of(NULL, 0));
    }
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(message, w.len, &reply), 0);
    return (struct torc_result){
        .kind = kind, .count = n, .cursor = 42, .impl = {reply.ends, reply.items}};
}

START_TEST(single_values_are_printed_by_their_type)
{
    assert_prints(&(struct torc_result){.kind = TORC_NIL}, "(nil)\n", "\n");
    assert_prints(&(struct torc_result){.kind = TORC_OK_REPLY, .string = torc_str("OK")}, "OK\n",
                  "OK\n");
    assert_prints(&(struct torc_result){.kind = TORC_SIMPLE, .string = torc_str("PONG")}, "PONG\n",
                  "PONG\n");
    assert_prints(&(struct torc_result){.kind = TORC_INTEGER, .integer = -7}, "(integer) -7\n",
                  "-7\n");
    assert_prints(&(struct torc_result){.kind = TORC_STRING, .string = torc_str("")}, "\"\"\n",
                  "\n");
    assert_prints(&(struct torc_result){.kind = TORC_ERROR, .string = torc_str("ERR no")},
                  "(error) ERR no\n", "ERR no\n");
}
END_TEST

START_TEST(strings_are_quoted_for_a_person_and_verbatim_for_a_program)
{
    assert_prints(&(struct torc_result){.kind = TORC_STRING,
                                        .string = torc_str("a \"b\" \\ \n\r\t\b\a \x01\x7f\xc3")},
                  "\"a \\\"b\\\" \\\\ \\n\\r\\t\\b\\a \\x01\\x7f\\xc3\"\n",
                  "a \"b\" \\ \n\r\t\b\a \x01\x7f\xc3\n");
    ck_assert_str_eq(
        printed(&(struct torc_result){.kind = TORC_STRING, .string = torc_mem("\0z", 2)}, false),
        "\"\\x00z\"\n");
}
END_TEST

START_TEST(items_are_numbered_for_a_person_and_lines_for_a_program)
{
    static const char *const items[] = {"a", NULL, "", "d", "e", "f", "g", "h", "i", "j"};
    struct torc_result result = array_of(TORC_ARRAY, items, 3);
    assert_prints(&result, "1) \"a\"\n2) (nil)\n3) \"\"\n", "a\n\n\n");
    result = array_of(TORC_MAP, items, 10);
    assert_prints(&result,
                  " 1) \"a\"\n 2) (nil)\n 3) \"\"\n 4) \"d\"\n 5) \"e\"\n 6) \"f\"\n 7) \"g\"\n"
                  " 8) \"h\"\n 9) \"i\"\n10) \"j\"\n",
                  "a\n\n\nd\ne\nf\ng\nh\ni\nj\n");
    result = array_of(TORC_ARRAY, items, 0);
    assert_prints(&result, "(empty array)\n", "\n");
}
END_TEST

START_TEST(items_that_are_numbers_are_not_quoted)
{
    static const char *const items[] = {"-2", "4102444800000"};
    static const struct torc_bytes numbers[] = {{"HTTL", 4}, {"k", 1}};
    static const struct torc_bytes strings[] = {{"HMGET", 5}, {"httl", 4}};
    char text[128] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(out);
    struct torc_result result = array_of(TORC_ARRAY, items, 2);
    torc_cli_print_numbers(out, &result);
    torc_cli_print_numbers(out, &(struct torc_result){.kind = TORC_NIL});
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(text, "1) (integer) -2\n2) (integer) 4102444800000\n(nil)\n");
    ck_assert(torc_cli_has_numbers(numbers, 2));
    ck_assert(!torc_cli_has_numbers(strings, 2));
    ck_assert(!torc_cli_has_numbers(numbers, 0));
}
END_TEST

START_TEST(a_page_has_its_cursor_first)
{
    static const char *const items[] = {"k1", "k2"};
    struct torc_result result = array_of(TORC_CURSOR, items, 2);
    assert_prints(&result, "1) \"42\"\n2) 1) \"k1\"\n   2) \"k2\"\n", "42\nk1\nk2\n");
    result = array_of(TORC_CURSOR, items, 0);
    assert_prints(&result, "1) \"42\"\n2) (empty array)\n", "42\n\n");
}
END_TEST

START_TEST(prose_is_known_by_its_command)
{
    const struct torc_bytes info[] = {torc_str("Info"), torc_str("server")};
    const struct torc_bytes list[] = {torc_str("CLIENT"), torc_str("LIST")};
    const struct torc_bytes get[] = {torc_str("HGET"), torc_str("info")};
    ck_assert(torc_cli_is_prose(info, 1));
    ck_assert(torc_cli_is_prose(info, 2));
    ck_assert(torc_cli_is_prose(list, 2));
    ck_assert(!torc_cli_is_prose(list, 1));
    ck_assert(!torc_cli_is_prose(get, 2));
    ck_assert(!torc_cli_is_prose(NULL, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli print");
    TCase *tcase = tcase_create("cli print");
    tcase_add_test(tcase, single_values_are_printed_by_their_type);
    tcase_add_test(tcase, strings_are_quoted_for_a_person_and_verbatim_for_a_program);
    tcase_add_test(tcase, items_are_numbered_for_a_person_and_lines_for_a_program);
    tcase_add_test(tcase, items_that_are_numbers_are_not_quoted);
    tcase_add_test(tcase, a_page_has_its_cursor_first);
    tcase_add_test(tcase, prose_is_known_by_its_command);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
