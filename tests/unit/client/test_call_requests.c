/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls with options and numbers send, and what they make of the reply. What the server does
 * with them is tested in tests/e2e/hash_calls.c.
 */
#include <pthread.h>
#include <stdio.h>

#include "tests/support/client_fixture.h"

/* The request that is expected, and a function that makes its reply. */
struct exchange {
    enum torc_op op;
    uint64_t number;
    const char *strings[8]; /* NULL-terminated */
    void (*answer)(struct torc_reply_writer *w);
};

/* The server's thread reads what the test's has written. They meet over two mappings of one memfd,
 * which ThreadSanitizer takes for two places, so it needs to be shown the order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool answer_exchange(void *user, const struct torc_request *request,
                            struct torc_reply_writer *w)
{
    (void)pthread_mutex_lock(&lock);
    const struct exchange *expected = user;
    bool same = request->op == expected->op && request->numbers[0] == expected->number;
    uint32_t n = 0;
    for (; same && expected->strings[n] != NULL; n++) {
        same = n < request->n_strings &&
               torc_slice_equal(request->strings[n], torc_slice_str(expected->strings[n]));
    }
    if (same && n == request->n_strings) {
        expected->answer(w);
    } else {
        torc_reply_error(w, TORC_WIRE_ERROR, "ERR another request was expected");
    }
    (void)pthread_mutex_unlock(&lock);
    return true;
}

static struct exchange exchange;
static struct client_fixture f;

static void expect_exchange(struct exchange expected)
{
    (void)pthread_mutex_lock(&lock);
    exchange = expected;
    (void)pthread_mutex_unlock(&lock);
}

static void set_up(void)
{
    f = client_fixture_fake(
        &(struct torc_fake_options){.answer = answer_exchange, .user = &exchange});
}

static void tear_down(void)
{
    client_fixture_end(&f);
}

static void answer_minus_7(struct torc_reply_writer *w)
{
    torc_reply_int(w, -7);
}

static void answer_page(struct torc_reply_writer *w)
{
    torc_reply_array_begin(w, TORC_REPLY_CURSOR, 99, 1);
    torc_reply_item(w, torc_slice_str("f"));
}

static void answer_row(struct torc_reply_writer *w)
{
    torc_reply_array_begin(w, TORC_REPLY_ARRAY, 0, 1);
    torc_reply_item(w, torc_slice_str("f"));
}

static void answer_pair(struct torc_reply_writer *w)
{
    torc_reply_array_begin(w, TORC_REPLY_PAIRS, 0, 2);
    torc_reply_item(w, torc_slice_str("f"));
    torc_reply_item(w, torc_slice_str("v"));
}

static void answer_text(struct torc_reply_writer *w)
{
    torc_reply_bytes(w, torc_slice_str("10.5"));
}

START_TEST(an_increment_travels_as_a_number_and_so_does_the_sum)
{
    int64_t sum = 0;
    expect_exchange((struct exchange){TORC_OP_HINCRBY, 1ull << 63, {"k", "f"}, answer_minus_7});
    ck_assert_int_eq(torc_hincrby(f.torc, torc_str("k"), torc_str("f"), INT64_MIN, &sum), TORC_OK);
    ck_assert_int_eq(sum, -7); /* negative, and no error */
}
END_TEST

START_TEST(a_decimal_increment_travels_as_text)
{
    struct torc_bytes sum;
    expect_exchange((struct exchange){TORC_OP_HINCRBYFLOAT, 0, {"k", "f", "1e1"}, answer_text});
    ck_assert_int_eq(torc_hincrbyfloat(f.torc, torc_str("k"), torc_str("f"), torc_str("1e1"), &sum),
                     TORC_OK);
    assert_bytes(sum, "10.5");
}
END_TEST

START_TEST(the_options_of_hscan_are_sent_when_they_are_set)
{
    struct torc_bytes none = {NULL, 0};
    struct torc_result result;
    expect_exchange((struct exchange){TORC_OP_HSCAN, 5, {"k"}, answer_page});
    ck_assert_int_eq(torc_hscan(f.torc, torc_str("k"), 5, none, 0, 1, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_CURSOR);
    ck_assert_uint_eq(result.cursor, 99);
    assert_bytes(torc_result_at(&result, 0), "f");
    expect_exchange((struct exchange){
        TORC_OP_HSCAN, 0, {"k", "MATCH", "f*", "COUNT", "100", "NOVALUES"}, answer_page});
    ck_assert_int_eq(torc_hscan(f.torc, torc_str("k"), 0, torc_str("f*"), 100, 0, &result),
                     TORC_OK);
    /* A count beyond what the server reads is its largest. */
    expect_exchange(
        (struct exchange){TORC_OP_SCAN, 7, {"COUNT", "9223372036854775807"}, answer_page});
    ck_assert_int_eq(torc_scan(f.torc, 7, none, UINT64_MAX, &result), TORC_OK);
    assert_error(f.torc, torc_hscan(f.torc, torc_mem(NULL, 1), 0, none, 0, 1, &result), TORC_EINVAL,
                 "data NULL");
}
END_TEST

START_TEST(the_count_of_hrandfield_is_sent_as_text)
{
    struct torc_result result;
    expect_exchange(
        (struct exchange){TORC_OP_HRANDFIELD, 0, {"k", "-9223372036854775808"}, answer_row});
    ck_assert_int_eq(torc_hrandfield(f.torc, torc_str("k"), INT64_MIN, 0, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_ARRAY);
    expect_exchange(
        (struct exchange){TORC_OP_HRANDFIELD, 0, {"k", "3", "WITHVALUES"}, answer_pair});
    ck_assert_int_eq(torc_hrandfield(f.torc, torc_str("k"), 3, 1, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_MAP);
    ck_assert_uint_eq(result.count, 2);
}
END_TEST

/* --- the time --- */

static const char *time_words[3];

static void answer_time(struct torc_reply_writer *w)
{
    uint32_t n = 0;
    while (n < 3 && time_words[n] != NULL) {
        n++;
    }
    torc_reply_array_begin(w, TORC_REPLY_ARRAY, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        torc_reply_item(w, torc_slice_str(time_words[i]));
    }
}

static void set_time(const char *const words[3])
{
    (void)pthread_mutex_lock(&lock);
    memcpy(time_words, words, sizeof time_words);
    (void)pthread_mutex_unlock(&lock);
}

START_TEST(the_time_is_one_number_and_nonsense_ends_the_session)
{
    static const char *const bad[][3] = {{"1", NULL}, {"1", "2", "3"}, {"x", "2"},
                                         {"1", ""},   {"-1", "2"},     {"9999999999999", "2"}};
    expect_exchange((struct exchange){TORC_OP_TIME, 0, {NULL}, answer_time});
    set_time((const char *const[3]){"1700000000", "999999"});
    ck_assert_int_eq(torc_time(f.torc), 1700000000999999);
    for (size_t i = 0; i < N_OF(bad); i++) {
        set_time(bad[i]);
        ck_assert_int_eq(torc_time(f.torc), TORC_EBADMSG);
        ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call requests");
    TCase *tcase = tcase_create("call requests");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, an_increment_travels_as_a_number_and_so_does_the_sum);
    tcase_add_test(tcase, a_decimal_increment_travels_as_text);
    tcase_add_test(tcase, the_options_of_hscan_are_sent_when_they_are_set);
    tcase_add_test(tcase, the_count_of_hrandfield_is_sent_as_text);
    tcase_add_test(tcase, the_time_is_one_number_and_nonsense_ends_the_session);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
