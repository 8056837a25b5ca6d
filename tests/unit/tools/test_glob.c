/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "tools/torcd/glob.h"

static bool matches(const char *pattern, const char *text)
{
    return torc_glob_matches(torc_slice_str(pattern), torc_slice_str(text), false);
}

START_TEST(plain_text_matches_itself_only)
{
    ck_assert(matches("abc", "abc"));
    ck_assert(!matches("abc", "abcd"));
    ck_assert(!matches("abc", "ab"));
    ck_assert(!matches("abc", "ABC"));
    ck_assert(matches("", ""));
    ck_assert(!matches("", "a"));
}
END_TEST

START_TEST(star_matches_any_bytes_also_none)
{
    ck_assert(matches("*", ""));
    ck_assert(matches("*", "anything"));
    ck_assert(matches("a*", "a"));
    ck_assert(matches("a*c", "abbbc"));
    ck_assert(matches("*a*b*", "xxaxxbxx"));
    ck_assert(!matches("*a*b*", "xxbxxaxx"));
    ck_assert(matches("**a**", "a"));
    ck_assert(matches("a*b*c", "aXbYbZc"));
    ck_assert(!matches("a*bc", "abcb"));
}
END_TEST

START_TEST(question_mark_matches_one_byte)
{
    ck_assert(matches("a?c", "abc"));
    ck_assert(!matches("a?c", "ac"));
    ck_assert(!matches("?", ""));
    ck_assert(matches("*?", "a"));
    ck_assert(!matches("*?", ""));
}
END_TEST

START_TEST(classes_hold_bytes_ranges_and_escapes)
{
    ck_assert(matches("[abc]", "b"));
    ck_assert(!matches("[abc]", "d"));
    ck_assert(matches("[a-c]x", "cx"));
    ck_assert(matches("[c-a]x", "bx"));
    ck_assert(matches("[^a-c]", "d"));
    ck_assert(!matches("[^a-c]", "a"));
    ck_assert(matches("[\\]]", "]"));
    ck_assert(matches("[\\-a]", "-"));
    ck_assert(!matches("[]", "a"));
    ck_assert(matches("[^]", "a"));
    ck_assert(matches("[abc", "c"));
    ck_assert(matches("h[ae]llo*", "hello world"));
    ck_assert(!matches("[a]", ""));
}
END_TEST

START_TEST(backslash_takes_the_next_byte_as_it_is)
{
    ck_assert(matches("\\*", "*"));
    ck_assert(!matches("\\*", "a"));
    ck_assert(matches("a\\?b", "a?b"));
    ck_assert(matches("\\\\", "\\"));
    ck_assert(matches("a\\", "a\\"));
}
END_TEST

START_TEST(case_is_ignored_when_asked)
{
    ck_assert(torc_glob_matches(torc_slice_str("MAX*[A-C]"), torc_slice_str("maxmemoryb"), true));
    ck_assert(!torc_glob_matches(torc_slice_str("MAX*"), torc_slice_str("maxmemory"), false));
}
END_TEST

START_TEST(patterns_and_texts_may_hold_any_byte)
{
    static const char pattern[] = {'*', '\0', '?', '\xff'};
    static const char text[] = {'a', '\0', '\n', '\xff'};
    ck_assert(torc_glob_matches(torc_slice_of(pattern, 4), torc_slice_of(text, 4), false));
    ck_assert(!torc_glob_matches(torc_slice_of(pattern, 4), torc_slice_of(text, 3), false));
    ck_assert(torc_glob_matches(torc_slice_of(NULL, 0), torc_slice_of(NULL, 0), false));
}
END_TEST

/* With retries of every star this would take 2^30 steps and more; ended by the suite's timeout. */
START_TEST(many_stars_do_not_blow_up)
{
    char pattern[128];
    char text[4096];
    for (size_t i = 0; i < 60; i += 2) {
        pattern[i] = 'a';
        pattern[i + 1] = '*';
    }
    pattern[60] = 'b';
    memset(text, 'a', sizeof text);
    for (int i = 0; i < 100; i++) {
        ck_assert(!torc_glob_matches(torc_slice_of(pattern, 61), torc_slice_of(text, sizeof text),
                                     false));
    }
}
END_TEST

/* The definition, retrying every star: right by its shape, and slow. */
static bool matches_slowly(const char *p, const char *t)
{
    if (*p == '\0') {
        return *t == '\0';
    }
    if (*p == '*') {
        return matches_slowly(p + 1, t) || (*t != '\0' && matches_slowly(p, t + 1));
    }
    return *t != '\0' && (*p == '?' || *p == *t) && matches_slowly(p + 1, t + 1);
}

/* Every pattern of up to five of "ab*?" on every text of up to five of "ab". */
START_TEST(it_agrees_with_the_definition_on_all_short_patterns)
{
    for (unsigned p = 0; p < 4 * 4 * 4 * 4 * 4; p++) {
        for (unsigned p_len = 0; p_len <= 5; p_len++) {
            char pattern[6] = "";
            for (unsigned i = 0; i < p_len; i++) {
                pattern[i] = "ab*?"[p >> 2 * i & 3];
            }
            for (unsigned t = 0; t < 64; t++) {
                char text[6] = "";
                unsigned t_len = t < 32 ? 5 : t % 6;
                for (unsigned i = 0; i < t_len; i++) {
                    text[i] = (t >> i & 1) != 0 ? 'b' : 'a';
                }
                ck_assert_msg(matches(pattern, text) == matches_slowly(pattern, text), "%s on %s",
                              pattern, text);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("glob");
    TCase *tcase = tcase_create("glob");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, plain_text_matches_itself_only);
    tcase_add_test(tcase, star_matches_any_bytes_also_none);
    tcase_add_test(tcase, question_mark_matches_one_byte);
    tcase_add_test(tcase, classes_hold_bytes_ranges_and_escapes);
    tcase_add_test(tcase, backslash_takes_the_next_byte_as_it_is);
    tcase_add_test(tcase, case_is_ignored_when_asked);
    tcase_add_test(tcase, patterns_and_texts_may_hold_any_byte);
    tcase_add_test(tcase, many_stars_do_not_blow_up);
    tcase_add_test(tcase, it_agrees_with_the_definition_on_all_short_patterns);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
