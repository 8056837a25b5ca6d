/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_line.h"

#include <check.h>
#include <stdlib.h>

#define WORDS_MAX   5
#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

struct line {
    const char *text;
    const char *words[WORDS_MAX]; /* NULL-terminated */
};

static const struct line good_lines[] = {
    {"", {NULL}},
    {"  \t \r\n", {NULL}},
    {"PING", {"PING"}},
    {" hset  k\tf v\n", {"hset", "k", "f", "v"}},
    {"\"\" ''", {"", ""}},
    {"\"a b\" 'c d'", {"a b", "c d"}},
    {"\"a\\nb\\rc\\td\\be\\af\"", {"a\nb\rc\td\be\af"}},
    {"\"\\x41\\x7E\\xff\"", {"A~\xff"}},
    {"\"\\x4\"", {"x4"}},
    {"\"\\xzz\"", {"xzz"}},
    {"\"say \\\"hi\\\" \\\\ \\q\"", {"say \"hi\" \\ q"}},
    {"'it\\'s \\n'", {"it's \\n"}},
    {"pre\"fix and\" more", {"prefix and", "more"}},
    {"back\\slash", {"back\\slash"}},
    {"a b c d e", {"a", "b", "c", "d", "e"}},
};

/* From memory that ends where the text does. */
static int split_tightly(const char *text, size_t len, struct torc_cli_line *out_line)
{
    char *copy = malloc(len + (len == 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, len);
    int rc = torc_cli_line_split(copy, len, out_line);
    free(copy);
    return rc;
}

START_TEST(a_line_becomes_its_words)
{
    const struct line *l = &good_lines[_i];
    struct torc_cli_line line;
    ck_assert_int_eq(split_tightly(l->text, strlen(l->text), &line), 0);
    size_t n = 0;
    while (n < WORDS_MAX && l->words[n] != NULL) {
        n++;
    }
    ck_assert_msg(line.n_words == n, "%s: %zu words", l->text, line.n_words);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(line.words[i].len == strlen(l->words[i]) &&
                          memcmp(line.words[i].data, l->words[i], line.words[i].len) == 0,
                      "%s: word %zu is %.*s", l->text, i, (int)line.words[i].len,
                      (const char *)line.words[i].data);
    }
    torc_cli_line_free(&line);
}
END_TEST

static const char *const bad_lines[] = {
    "\"",      "'",     "a \"b", "a 'b",     "\"a\"b", "'a'b",
    "\"a\\\"", "'a\\'", "\"a\\", "\"\"\"\"", "'a''b'", "x\"y\"z",
};

START_TEST(quotes_that_do_not_match_are_refused)
{
    struct torc_cli_line line;
    ck_assert_int_eq(split_tightly(bad_lines[_i], strlen(bad_lines[_i]), &line), -EINVAL);
}
END_TEST

START_TEST(any_byte_may_be_written)
{
    struct torc_cli_line line;
    ck_assert_int_eq(torc_cli_line_split("\"\\x00\\x01\" b", 12, &line), 0);
    ck_assert_uint_eq(line.n_words, 2);
    ck_assert_uint_eq(line.words[0].len, 2);
    ck_assert_mem_eq(line.words[0].data, "\0\1", 2);
    torc_cli_line_free(&line);
    /* A NUL parts words, as a blank. */
    ck_assert_int_eq(torc_cli_line_split("a\0b", 3, &line), 0);
    ck_assert_uint_eq(line.n_words, 2);
    torc_cli_line_free(&line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli line");
    TCase *tcase = tcase_create("cli line");
    tcase_add_loop_test(tcase, a_line_becomes_its_words, 0, N_OF(good_lines));
    tcase_add_loop_test(tcase, quotes_that_do_not_match_are_refused, 0, N_OF(bad_lines));
    tcase_add_test(tcase, any_byte_may_be_written);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
