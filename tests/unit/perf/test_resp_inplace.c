/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/resp_inplace.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/prng.h"

static struct torc_resp_reader reader;
static struct torc_load_reply reply;

static void tear_down(void)
{
    torc_resp_reader_fini(&reader);
}

static void feed(const char *bytes, size_t len)
{
    uint8_t *space = NULL;
    ck_assert_int_ge(torc_resp_reader_reserve(&reader, len, &space), (int64_t)len);
    memcpy(space, bytes, len);
    torc_resp_reader_commit(&reader, len);
}

static int next(void)
{
    return torc_resp_reader_next(&reader, &reply);
}

static void expect_bytes(struct torc_bytes got, const char *wanted)
{
    if (wanted == NULL) {
        ck_assert_ptr_null(got.data);
        return;
    }
    ck_assert_uint_eq(got.len, strlen(wanted));
    ck_assert_ptr_nonnull(got.data);
    ck_assert_mem_eq(got.data, wanted, got.len);
}

/* One of each kind. */
static const char all[] = "+PONG\r\n:12\r\n:-3\r\n$5\r\nhe\r\no\r\n$-1\r\n$0\r\n\r\n"
                          "*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n*0\r\n-ERR no\r\n";

static void expect_all(void)
{
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_STATUS);
    expect_bytes(reply.text, "PONG");
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_INTEGER);
    ck_assert_int_eq(reply.integer, 12);
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.integer, -3);
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_STRING);
    expect_bytes(reply.text, "he\r\no");
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_NIL);
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_STRING);
    expect_bytes(reply.text, "");
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_ARRAY);
    ck_assert_uint_eq(reply.count, 3);
    expect_bytes(torc_resp_reader_at(&reader, 0), "a");
    expect_bytes(torc_resp_reader_at(&reader, 1), NULL);
    expect_bytes(torc_resp_reader_at(&reader, 2), "bc");
    ck_assert_int_eq(next(), 0);
    ck_assert_uint_eq(reply.count, 0);
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(reply.kind, TORC_LOAD_ERROR);
    expect_bytes(reply.text, "ERR no");
    ck_assert_int_eq(next(), -EAGAIN);
}

START_TEST(replies_of_each_kind_are_read)
{
    ck_assert_int_eq(next(), -EAGAIN);
    feed(all, sizeof all - 1);
    expect_all();
}
END_TEST

/* Until the last byte came there is no reply, however often one looks. */
START_TEST(a_reply_in_pieces_is_the_same_reply)
{
    size_t len = strlen(all);
    for (size_t cut = 1; cut < len; cut++) {
        feed(all, cut);
        unsigned n = 0;
        int rc;
        while ((rc = next()) == 0) {
            n++;
        }
        ck_assert_int_eq(rc, -EAGAIN);
        ck_assert_int_eq(next(), -EAGAIN);
        feed(all + cut, len - cut);
        while ((rc = next()) == 0) {
            n++;
        }
        ck_assert_int_eq(rc, -EAGAIN);
        ck_assert_uint_eq(n, 9);
    }
    feed(all, len);
    expect_all();
}
END_TEST

START_TEST(a_long_array_arrives_in_random_pieces)
{
    struct torc_prng prng = {torc_test_seed(4)};
    enum { COUNT = 30000 };
    char *bytes = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&bytes, &len);
    ck_assert_ptr_nonnull(out);
    (void)fprintf(out, ":1\r\n*%d\r\n", COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0) {
            (void)fprintf(out, ":%d\r\n", i - 5);
        } else {
            (void)fprintf(out, "$9\r\nvalue%04d\r\n", i % 10000);
        }
    }
    ck_assert_int_eq(fclose(out), 0);
    size_t at = 0;
    int rc = -EAGAIN;
    unsigned n = 0;
    while (n < 2) {
        rc = next();
        if (rc == 0) {
            n++;
            continue;
        }
        ck_assert_int_eq(rc, -EAGAIN);
        size_t piece = torc_min_u64(len - at, 1 + torc_prng_below(&prng, 5000));
        ck_assert_uint_gt(piece, 0);
        feed(bytes + at, piece);
        at += piece;
    }
    ck_assert_uint_eq(at, len);
    ck_assert_uint_eq(reply.count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char wanted[16];
        if (i % 3 == 0) {
            (void)snprintf(wanted, sizeof wanted, "%d", (int)i - 5);
        } else {
            (void)snprintf(wanted, sizeof wanted, "value%04zu", i % 10000);
        }
        expect_bytes(torc_resp_reader_at(&reader, i), wanted);
    }
    free(bytes);
}
END_TEST

START_TEST(what_is_no_reply_is_refused)
{
    static const char *const bad[] = {
        "x",
        "HTTP/1.1 200 OK\r\n",
        "$x\r\n",
        "$3\r\nabcde",
        "$-2\r\n",
        "$1\rx",
        "$99999999999\r\n",
        "$2000000000\r\n",
        "$1\r\naxx",
        ":\r\n",
        ":1 \r\n",
        ":--1\r\n",
        ":9223372036854775808\r\n",
        ":000000000000000000000000",
        "*1\r\n:x\r\n",
        "*1\r\n*0\r\n",
        "*-1\r\n",
        "*99999999999\r\n",
        "*2\r\n$1\r\na\r\n+b\r\n",
        "+ok\rx",
    };
    ck_assert_uint_lt((size_t)_i, sizeof bad / sizeof bad[0]);
    feed(bad[_i], strlen(bad[_i]));
    ck_assert_int_eq(next(), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resp_inplace");
    TCase *tcase = tcase_create("resp_inplace");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, replies_of_each_kind_are_read);
    tcase_add_test(tcase, a_reply_in_pieces_is_the_same_reply);
    tcase_add_test(tcase, a_long_array_arrives_in_random_pieces);
    tcase_add_loop_test(tcase, what_is_no_reply_is_refused, 0, 20);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
