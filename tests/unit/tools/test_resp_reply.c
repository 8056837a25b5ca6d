/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/resp_reply.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct torc_resp_reply reply;

static void tear_down(void)
{
    torc_resp_reply_fini(&reply);
}

/* Parse a copy of exactly that size, so that reading past it is seen by the address sanitizer. */
static int parse_bytes(const char *bytes, size_t len, size_t *out_used)
{
    uint8_t *copy = malloc(len + (len == 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    int rc = torc_resp_reply_parse(&reply, copy, len, out_used);
    free(copy);
    return rc;
}

static int parse(const char *text)
{
    size_t used = 0;
    int rc = parse_bytes(text, strlen(text), &used);
    if (rc == 1) {
        ck_assert_uint_eq(used, strlen(text));
    }
    return rc;
}

START_TEST(every_kind_is_understood)
{
    ck_assert_int_eq(parse("+PONG\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_SIMPLE);
    ck_assert_uint_eq(reply.text.start, 1);
    ck_assert_uint_eq(reply.text.len, 4);
    ck_assert_int_eq(parse("-ERR x\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_ERROR);
    ck_assert_uint_eq(reply.text.len, 5);
    ck_assert_int_eq(parse(":42\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_INTEGER);
    ck_assert_int_eq(reply.integer, 42);
    ck_assert_int_eq(parse("$5\r\nab\r\nc\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_BULK);
    ck_assert_uint_eq(reply.text.start, 4);
    ck_assert_uint_eq(reply.text.len, 5);
    ck_assert_int_eq(parse("$0\r\n\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_BULK);
    ck_assert_uint_eq(reply.text.len, 0);
    ck_assert_int_eq(parse("$-1\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_NIL);
    ck_assert_int_eq(parse("*-1\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_NIL);
    ck_assert_int_eq(parse("+\r\n"), 1);
    ck_assert_uint_eq(reply.text.len, 0);
}
END_TEST

START_TEST(arrays_hold_strings_and_nils)
{
    ck_assert_int_eq(parse("*3\r\n$1\r\na\r\n$-1\r\n$0\r\n\r\n"), 1);
    ck_assert_int_eq(reply.kind, TORC_RESP_ARRAY);
    ck_assert_uint_eq(reply.n_elements, 3);
    ck_assert_uint_eq(reply.elements[0].len, 1);
    ck_assert_uint_eq(reply.elements[1].len, SIZE_MAX);
    ck_assert_uint_eq(reply.elements[2].len, 0);
    ck_assert_int_eq(parse("*0\r\n"), 1);
    ck_assert_uint_eq(reply.n_elements, 0);
}
END_TEST

START_TEST(every_beginning_of_a_reply_is_incomplete)
{
    static const char *const whole[] = {"+PONG\r\n", "-ERR no\r\n",
                                        ":-12\r\n",  "$5\r\nhello\r\n",
                                        "$-1\r\n",   "*2\r\n$1\r\na\r\n$-1\r\n"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        for (size_t len = 0; len < strlen(whole[i]); len++) {
            size_t used = 77;
            ck_assert_int_eq(parse_bytes(whole[i], len, &used), 0);
            ck_assert_uint_eq(used, 77);
        }
    }
}
END_TEST

START_TEST(what_follows_a_reply_is_left_alone)
{
    size_t used = 0;
    ck_assert_int_eq(parse_bytes(":1\r\n:2\r\n", 8, &used), 1);
    ck_assert_uint_eq(used, 4);
}
END_TEST

START_TEST(integers_reach_the_ends_of_64_bits_and_not_beyond)
{
    ck_assert_int_eq(parse(":9223372036854775807\r\n"), 1);
    ck_assert_int_eq(reply.integer, INT64_MAX);
    ck_assert_int_eq(parse(":-9223372036854775808\r\n"), 1);
    ck_assert_int_eq(reply.integer, INT64_MIN);
    ck_assert_int_eq(parse(":9223372036854775808\r\n"), -EBADMSG);
    ck_assert_int_eq(parse(":-9223372036854775809\r\n"), -EBADMSG);
}
END_TEST

START_TEST(what_is_no_reply_is_refused)
{
    static const char *const bad[] = {
        "HTTP/1.1 200\r\n", ":\r\n",         ":-\r\n", ":1x\r\n", ": 1\r\n",
        ":+1\r\n",          "$-2\r\n",       "$x\r\n", "$\r\n",   "$1\r\nabc",
        "$1\r\na\n\n",      "+OK\n",         "\r\n",   "*-2\r\n", "*1\r\n:1\r\n",
        "*1\r\n*0\r\n",     "*1\r\n+OK\r\n", "%1\r\n", "_\r\n",   "*x\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(parse(bad[i]) == -EBADMSG, "taken: %s", bad[i]);
    }
}
END_TEST

START_TEST(limits_hold_before_the_bytes_are_there)
{
    char text[64];
    (void)snprintf(text, sizeof text, "$%d\r\n", TORC_RESP_BULK_BYTES + 1);
    ck_assert_int_eq(parse(text), -EMSGSIZE);
    (void)snprintf(text, sizeof text, "*%u\r\n", TORC_RESP_ELEMENTS_MAX + 1);
    ck_assert_int_eq(parse(text), -EMSGSIZE);
    (void)snprintf(text, sizeof text, "$%d\r\n", TORC_RESP_BULK_BYTES);
    ck_assert_int_eq(parse(text), 0);
    static char line[TORC_RESP_LINE_BYTES + 2];
    memset(line, '+', sizeof line - 1);
    ck_assert_int_eq(parse(line), -EMSGSIZE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resp_reply");
    TCase *tcase = tcase_create("resp_reply");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, every_kind_is_understood);
    tcase_add_test(tcase, arrays_hold_strings_and_nils);
    tcase_add_test(tcase, every_beginning_of_a_reply_is_incomplete);
    tcase_add_test(tcase, what_follows_a_reply_is_left_alone);
    tcase_add_test(tcase, integers_reach_the_ends_of_64_bits_and_not_beyond);
    tcase_add_test(tcase, what_is_no_reply_is_refused);
    tcase_add_test(tcase, limits_hold_before_the_bytes_are_there);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
