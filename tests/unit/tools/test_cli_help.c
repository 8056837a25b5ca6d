/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_help.h"

#include <check.h>
#include <stdlib.h>

static struct torc_cli_completion completion;

static void complete(const char *line)
{
    torc_cli_complete(line, strlen(line), &completion);
}

static bool offers(const char *name)
{
    for (size_t i = 0; i < completion.n; i++) {
        if (completion.name_len[i] == strlen(name) &&
            memcmp(completion.names[i], name, strlen(name)) == 0) {
            return true;
        }
    }
    return false;
}

static const char *hint(const char *line)
{
    static char text[TORC_CLI_HINT_BYTES];
    torc_cli_hint(line, strlen(line), text);
    return text;
}

static const char *arguments(enum torc_op op)
{
    static char text[TORC_CLI_HINT_BYTES];
    torc_cli_arguments(op, text);
    return text;
}

START_TEST(an_empty_line_offers_every_command_once_and_in_order)
{
    complete("");
    ck_assert(offers("hset"));
    ck_assert(offers("memory"));
    ck_assert(offers("help"));
    ck_assert(offers("quit"));
    ck_assert(!offers("usage"));
    ck_assert_uint_eq(completion.word_len, 0);
    ck_assert_uint_eq(completion.common, 0);
    for (size_t i = 1; i < completion.n; i++) {
        size_t a = completion.name_len[i - 1];
        size_t b = completion.name_len[i];
        int order = memcmp(completion.names[i - 1], completion.names[i], a < b ? a : b);
        ck_assert(order < 0 || (order == 0 && a < b));
    }
}
END_TEST

START_TEST(a_word_is_completed_as_far_as_it_is_certain)
{
    complete("HG");
    ck_assert(offers("hget"));
    ck_assert(offers("hgetall"));
    ck_assert_uint_eq(completion.word_len, 2);
    ck_assert_uint_eq(completion.common, 4);
    complete("  hgetal");
    ck_assert_uint_eq(completion.n, 1);
    ck_assert_uint_eq(completion.common, 7);
    complete("hgetallx");
    ck_assert_uint_eq(completion.n, 0);
    ck_assert_uint_eq(completion.common, 8);
}
END_TEST

START_TEST(the_second_word_of_a_container_is_completed)
{
    complete("Memory ");
    ck_assert(offers("usage"));
    ck_assert(!offers("memory"));
    complete("memory us");
    ck_assert_uint_eq(completion.n, 1);
    ck_assert_uint_eq(completion.word_len, 2);
    ck_assert_uint_eq(completion.common, 5);
    complete("hset us");
    ck_assert_uint_eq(completion.n, 0);
    complete("memory usage ");
    ck_assert_uint_eq(completion.n, 0);
}
END_TEST

START_TEST(help_is_followed_by_a_command)
{
    complete("help hgeta");
    ck_assert_uint_eq(completion.n, 1);
    ck_assert(offers("hgetall"));
    complete("help ex");
    ck_assert(offers("exists"));
    ck_assert(!offers("exit"));
}
END_TEST

START_TEST(arguments_are_named_by_shape_and_count)
{
    ck_assert_str_eq(arguments(TORC_OP_HSET), "key field value [field value ...]");
    ck_assert_str_eq(arguments(TORC_OP_HGET), "key field");
    ck_assert_str_eq(arguments(TORC_OP_HMGET), "key field [field ...]");
    ck_assert_str_eq(arguments(TORC_OP_HGETALL), "key");
    ck_assert_str_eq(arguments(TORC_OP_DEL), "key [key ...]");
    ck_assert_str_eq(arguments(TORC_OP_SCAN), "cursor [MATCH pattern] [COUNT count]");
    ck_assert_str_eq(arguments(TORC_OP_DBSIZE), "");
    ck_assert_str_eq(arguments(TORC_OP_PING), "[message]");
    ck_assert_str_eq(arguments(TORC_OP_MEMORY_USAGE), "key [SAMPLES count]");
    ck_assert_str_eq(arguments(TORC_OP_OBJECT_ENCODING), "key");
}
END_TEST

/* The words that must be there; options may stand between them. */
static int words_outside_brackets(const char *text)
{
    int n = 0;
    int depth = 0;
    for (const char *p = text; *p != '\0'; p++) {
        depth += (*p == '[') - (*p == ']');
        bool begins = p == text || p[-1] == ' ';
        n += depth == 0 && begins && *p != ' ';
    }
    return n;
}

START_TEST(every_command_has_arguments_that_suit_its_arity)
{
    for (unsigned op = 1; op < TORC_OP_LIMIT; op++) {
        const struct torc_op_info *info = torc_op_info((uint8_t)op);
        if (info->name == NULL) {
            continue;
        }
        const char *text = arguments((enum torc_op)op);
        ck_assert_uint_lt(strlen(text), TORC_CLI_HINT_BYTES - 1);
        int required = strchr(info->name, '|') != NULL ? 2 : 1;
        required += words_outside_brackets(text);
        int arity = info->arity < 0 ? -info->arity : info->arity;
        ck_assert_msg(required == arity, "%s %s", info->name, text);
        ck_assert_msg((strchr(text, '[') != NULL) == (info->arity < 0) || op == TORC_OP_QUIT,
                      "%s %s", info->name, text);
    }
}
END_TEST

START_TEST(a_hint_shows_what_is_left_to_type)
{
    ck_assert_str_eq(hint(""), "");
    ck_assert_str_eq(hint("hset"), "");
    ck_assert_str_eq(hint("hset "), "key field value [field value ...]");
    ck_assert_str_eq(hint("HSET k"), "key field value [field value ...]");
    ck_assert_str_eq(hint("HSET k "), "field value [field value ...]");
    ck_assert_str_eq(hint("hset k f v "), "[field value ...]");
    ck_assert_str_eq(hint("hset k f v f v f "), "[field value ...]");
    ck_assert_str_eq(hint("hget k f "), "");
    ck_assert_str_eq(hint("hexpire k "), "seconds [NX|XX|GT|LT] FIELDS count field [field ...]");
    ck_assert_str_eq(hint("hexpire k 5 "), "[NX|XX|GT|LT] FIELDS count field [field ...]");
    ck_assert_str_eq(hint("memory "), "");
    ck_assert_str_eq(hint("memory usage"), "");
    ck_assert_str_eq(hint("memory usage "), "key [SAMPLES count]");
    ck_assert_str_eq(hint("memory usage k "), "[SAMPLES count]");
    ck_assert_str_eq(hint("memory|usage "), "");
    ck_assert_str_eq(hint("nonsense "), "");
    ck_assert_str_eq(hint("a-name-that-is-longer-than-any another-one-that-is-longer "), "");
}
END_TEST

START_TEST(help_lists_commands_by_their_start)
{
    static char text[16384];
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert(torc_cli_print_help(out, "MEMORY", 6));
    ck_assert(!torc_cli_print_help(out, "nonsense", 8));
    ck_assert_int_eq(fflush(out), 0);
    ck_assert_ptr_nonnull(strstr(text, "MEMORY USAGE key [SAMPLES count]\n"));
    ck_assert_ptr_null(strstr(text, "HSET"));
    ck_assert(torc_cli_print_help(out, "", 0));
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_ptr_nonnull(strstr(text, "\nHSET key field value [field value ...]\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nDBSIZE\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_help");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, an_empty_line_offers_every_command_once_and_in_order);
    tcase_add_test(tcase, a_word_is_completed_as_far_as_it_is_certain);
    tcase_add_test(tcase, the_second_word_of_a_container_is_completed);
    tcase_add_test(tcase, help_is_followed_by_a_command);
    tcase_add_test(tcase, arguments_are_named_by_shape_and_count);
    tcase_add_test(tcase, every_command_has_arguments_that_suit_its_arity);
    tcase_add_test(tcase, a_hint_shows_what_is_left_to_type);
    tcase_add_test(tcase, help_lists_commands_by_their_start);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
