/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of libtorc about times to live, copies and names, against a real server:
 * TORC_TEST_SOCKET names its control socket. It is emptied.
 */
#include "tests/support/client_fixture.h"

#define FAR_MS  INT64_C(4102444800000) /* 2100-01-01: no test runs then */
#define HOUR_MS INT64_C(3600000)

static struct torc *torc;

static void set_up(void)
{
    const char *path = getenv("TORC_TEST_SOCKET");
    ck_assert_msg(path != NULL, "TORC_TEST_SOCKET is not set");
    torc = client_open(path);
    ck_assert_int_eq(torc_flushdb(torc), TORC_OK);
}

static void tear_down(void)
{
    torc_close(torc);
}

static struct torc_bytes h(void)
{
    return torc_str("h");
}

static struct torc_bytes absent(void)
{
    return torc_str("absent");
}

/* The hash "h": a = 1, b = 2. */
static void fill(void)
{
    const struct torc_bytes pairs[] = {torc_str("a"), torc_str("1"), torc_str("b"), torc_str("2")};
    ck_assert_int_eq(torc_hset_many(torc, h(), pairs, 2), 2);
}

static const struct torc_bytes *abc(void)
{
    static struct torc_bytes fields[3];
    fields[0] = torc_str("a");
    fields[1] = torc_str("b");
    fields[2] = torc_str("c");
    return fields;
}

static int64_t key_time(struct torc_bytes key)
{
    int64_t when = 0;
    int rc = torc_expire_time(torc, key, &when);
    ck_assert_int_eq(rc, when >= 0);
    return when;
}

static int64_t field_time(struct torc_bytes key, const char *field)
{
    const struct torc_bytes name = torc_str(field);
    int64_t when = 0;
    int64_t rc = torc_hexpire_time(torc, key, &name, 1, &when);
    ck_assert_int_eq(rc, when >= 0);
    return when;
}

static void assert_codes(const int *codes, int a, int b, int c)
{
    ck_assert_int_eq(codes[0], a);
    ck_assert_int_eq(codes[1], b);
    ck_assert_int_eq(codes[2], c);
}

static void assert_refused(int64_t rc)
{
    assert_error(torc, rc, TORC_EINVAL, "flags that the call does not take, or not together");
}

/* --- keys --- */

START_TEST(a_key_gets_a_time_and_loses_it)
{
    int64_t left = 0;
    fill();
    ck_assert_int_eq(key_time(h()), TORC_NO_TIME);
    ck_assert_int_eq(key_time(absent()), TORC_ABSENT);
    ck_assert_int_eq(torc_ttl(torc, absent(), &left), 0);
    ck_assert_int_eq(left, TORC_ABSENT);
    ck_assert_int_eq(torc_ttl(torc, h(), &left), 0);
    ck_assert_int_eq(left, TORC_NO_TIME);
    ck_assert_int_eq(torc_expire(torc, absent(), HOUR_MS, 0), 0);
    ck_assert_int_eq(torc_expire(torc, h(), HOUR_MS, 0), 1);
    ck_assert_int_eq(torc_ttl(torc, h(), &left), 1);
    ck_assert_int_gt(left, 0);
    ck_assert_int_le(left, HOUR_MS);
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, 0), 1);
    ck_assert_int_eq(key_time(h()), FAR_MS);
    ck_assert_int_eq(torc_persist(torc, h()), 1);
    ck_assert_int_eq(torc_persist(torc, h()), 0);
    ck_assert_int_eq(torc_persist(torc, absent()), 0);
    ck_assert_int_eq(key_time(h()), TORC_NO_TIME);
    ck_assert_int_eq(torc_expire_at(torc, h(), 1, 0), 1);
    ck_assert_int_eq(key_time(h()), TORC_ABSENT);
    ck_assert_int_eq(torc_dbsize(torc), 0);
}
END_TEST

START_TEST(conditions_hold_for_keys)
{
    fill();
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, TORC_FLAG_XX), 0);
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, TORC_FLAG_GT), 0);
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, TORC_FLAG_XX | TORC_FLAG_LT), 0);
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, TORC_FLAG_LT), 1);
    ck_assert_int_eq(torc_expire(torc, h(), HOUR_MS, TORC_FLAG_NX), 0);
    ck_assert_int_eq(torc_expire(torc, h(), HOUR_MS, TORC_FLAG_XX | TORC_FLAG_GT), 0);
    ck_assert_int_eq(key_time(h()), FAR_MS);
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS + 1, TORC_FLAG_XX | TORC_FLAG_GT), 1);
    ck_assert_int_eq(key_time(h()), FAR_MS + 1);
}
END_TEST

START_TEST(wrong_flags_of_keys_are_refused)
{
    static const unsigned wrong[] = {TORC_FLAG_NX | TORC_FLAG_XX,
                                     TORC_FLAG_NX | TORC_FLAG_GT,
                                     TORC_FLAG_NX | TORC_FLAG_LT,
                                     TORC_FLAG_GT | TORC_FLAG_LT,
                                     TORC_FLAG_PX,
                                     TORC_FLAG_REPLACE,
                                     1u << 31};
    fill();
    for (size_t i = 0; i < N_OF(wrong); i++) {
        assert_refused(torc_expire(torc, h(), HOUR_MS, wrong[i]));
        assert_refused(torc_expire_at(torc, h(), FAR_MS, wrong[i]));
    }
    assert_refused(torc_copy(torc, h(), absent(), TORC_FLAG_NX));
    assert_refused(torc_rename(torc, h(), absent(), TORC_FLAG_REPLACE));
    assert_error(torc, torc_expire(torc, h(), INT64_MAX, 0), TORC_EREPLY,
                 "ERR invalid expire time in 'pexpire' command");
    ck_assert_int_eq(key_time(h()), TORC_NO_TIME);
}
END_TEST

START_TEST(a_copy_has_the_times)
{
    fill();
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, 0), 1);
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 1, FAR_MS + 1, 0, NULL), 1);
    ck_assert_int_eq(torc_copy(torc, absent(), torc_str("copy"), 0), 0);
    ck_assert_int_eq(torc_copy(torc, h(), torc_str("copy"), 0), 1);
    ck_assert_int_eq(torc_copy(torc, h(), torc_str("copy"), 0), 0);
    ck_assert_int_eq(torc_copy(torc, h(), torc_str("copy"), TORC_FLAG_REPLACE), 1);
    ck_assert_int_eq(key_time(torc_str("copy")), FAR_MS);
    ck_assert_int_eq(field_time(torc_str("copy"), "a"), FAR_MS + 1);
    ck_assert_int_eq(field_time(torc_str("copy"), "b"), TORC_NO_TIME);
    assert_error(torc, torc_copy(torc, h(), h(), 0), TORC_EREPLY,
                 "ERR source and destination objects are the same");
}
END_TEST

START_TEST(a_renamed_key_keeps_the_times)
{
    fill();
    ck_assert_int_eq(torc_expire_at(torc, h(), FAR_MS, 0), 1);
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 1, FAR_MS + 1, 0, NULL), 1);
    ck_assert_int_eq(torc_hset(torc, torc_str("other"), torc_str("f"), torc_str("v")), 1);
    ck_assert_int_eq(torc_rename(torc, h(), torc_str("other"), TORC_FLAG_NX), 0);
    ck_assert_int_eq(torc_rename(torc, h(), torc_str("other"), 0), 1);
    ck_assert_int_eq(torc_rename(torc, torc_str("other"), torc_str("new"), TORC_FLAG_NX), 1);
    ck_assert_int_eq(torc_dbsize(torc), 1);
    ck_assert_int_eq(key_time(torc_str("new")), FAR_MS);
    ck_assert_int_eq(field_time(torc_str("new"), "a"), FAR_MS + 1);
    assert_error(torc, torc_rename(torc, h(), torc_str("other"), 0), TORC_EREPLY,
                 "ERR no such key");
}
END_TEST

/* --- fields --- */

START_TEST(fields_get_times_and_lose_them)
{
    int codes[3];
    int64_t times[3];
    fill();
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 3, FAR_MS, TORC_FLAG_XX, codes), 0);
    assert_codes(codes, TORC_FIELD_REFUSED, TORC_FIELD_REFUSED, TORC_FIELD_ABSENT);
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 1, FAR_MS, TORC_FLAG_LT, NULL), 1);
    ck_assert_int_eq(torc_hexpire(torc, h(), abc(), 3, HOUR_MS, TORC_FLAG_NX, codes), 1);
    assert_codes(codes, TORC_FIELD_REFUSED, TORC_FIELD_CHANGED, TORC_FIELD_ABSENT);
    ck_assert_int_eq(torc_hexpire_time(torc, h(), abc(), 3, times), 2);
    ck_assert_int_eq(times[0], FAR_MS);
    ck_assert_int_lt(times[1], FAR_MS);
    ck_assert_int_eq(times[2], TORC_ABSENT);
    ck_assert_int_eq(torc_httl(torc, h(), abc(), 3, times), 2);
    ck_assert_int_gt(times[0], HOUR_MS);
    ck_assert_int_gt(times[1], 0);
    ck_assert_int_le(times[1], HOUR_MS);
    ck_assert_int_eq(times[2], TORC_ABSENT);
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 2, FAR_MS - 1, TORC_FLAG_GT, codes), 1);
    ck_assert_int_eq(codes[0], TORC_FIELD_REFUSED);
    ck_assert_int_eq(codes[1], TORC_FIELD_CHANGED);
    ck_assert_int_eq(torc_hpersist(torc, h(), abc() + 1, 1, NULL), 1);
    ck_assert_int_eq(torc_hpersist(torc, h(), abc(), 3, codes), 1);
    assert_codes(codes, TORC_FIELD_CHANGED, TORC_FIELD_NO_TIME, TORC_FIELD_ABSENT);
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
}
END_TEST

START_TEST(a_past_time_removes_fields)
{
    int codes[3];
    fill();
    ck_assert_int_eq(torc_hexpire(torc, h(), abc(), 1, 0, 0, codes), 1);
    ck_assert_int_eq(codes[0], TORC_FIELD_REMOVED);
    ck_assert_int_eq(torc_hlen(torc, h()), 1);
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 3, 1, 0, codes), 1);
    assert_codes(codes, TORC_FIELD_ABSENT, TORC_FIELD_REMOVED, TORC_FIELD_ABSENT);
    ck_assert_int_eq(torc_dbsize(torc), 0);
}
END_TEST

START_TEST(an_absent_hash_has_absent_fields)
{
    int codes[3];
    int64_t times[3];
    struct torc_bytes values[3];
    ck_assert_int_eq(torc_hexpire(torc, h(), abc(), 3, HOUR_MS, 0, codes), 0);
    assert_codes(codes, TORC_FIELD_ABSENT, TORC_FIELD_ABSENT, TORC_FIELD_ABSENT);
    ck_assert_int_eq(torc_hpersist(torc, h(), abc(), 3, codes), 0);
    assert_codes(codes, TORC_FIELD_ABSENT, TORC_FIELD_ABSENT, TORC_FIELD_ABSENT);
    ck_assert_int_eq(torc_httl(torc, h(), abc(), 3, times), 0);
    ck_assert_int_eq(times[2], TORC_ABSENT);
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 3, HOUR_MS, TORC_FLAG_PX, values), 0);
    ck_assert_ptr_null(values[0].data);
    ck_assert_int_eq(torc_hgetdel(torc, h(), abc(), 3, values), 0);
    ck_assert_ptr_null(values[2].data);
    ck_assert_int_eq(torc_dbsize(torc), 0);
}
END_TEST

START_TEST(wrong_flags_of_fields_are_refused)
{
    static const unsigned wrong[] = {TORC_FLAG_NX | TORC_FLAG_XX, TORC_FLAG_XX | TORC_FLAG_GT,
                                     TORC_FLAG_GT | TORC_FLAG_LT, TORC_FLAG_PXAT, TORC_FLAG_FNX};
    static const unsigned wrong_set[] = {TORC_FLAG_FNX | TORC_FLAG_FXX,
                                         TORC_FLAG_PX | TORC_FLAG_PXAT,
                                         TORC_FLAG_PX | TORC_FLAG_KEEPTTL,
                                         TORC_FLAG_PXAT | TORC_FLAG_KEEPTTL,
                                         TORC_FLAG_PERSIST,
                                         TORC_FLAG_NX};
    static const unsigned wrong_get[] = {
        TORC_FLAG_PX | TORC_FLAG_PXAT, TORC_FLAG_PX | TORC_FLAG_PERSIST,
        TORC_FLAG_PXAT | TORC_FLAG_PERSIST, TORC_FLAG_KEEPTTL, TORC_FLAG_FXX};
    const struct torc_bytes pair[] = {torc_str("a"), torc_str("other")};
    struct torc_bytes value;
    fill();
    for (size_t i = 0; i < N_OF(wrong); i++) {
        assert_refused(torc_hexpire(torc, h(), abc(), 1, HOUR_MS, wrong[i], NULL));
        assert_refused(torc_hexpire_at(torc, h(), abc(), 1, FAR_MS, wrong[i], NULL));
    }
    for (size_t i = 0; i < N_OF(wrong_set); i++) {
        assert_refused(torc_hsetex(torc, h(), pair, 1, HOUR_MS, wrong_set[i]));
    }
    for (size_t i = 0; i < N_OF(wrong_get); i++) {
        assert_refused(torc_hgetex(torc, h(), abc(), 1, HOUR_MS, wrong_get[i], &value));
    }
    assert_error(torc, torc_hexpire(torc, h(), abc(), 1, -1, 0, NULL), TORC_EREPLY, "ERR invalid");
    assert_error(torc, torc_hsetex(torc, h(), pair, 1, -1, TORC_FLAG_PX), TORC_EREPLY,
                 "ERR invalid");
    ck_assert_int_eq(torc_hget(torc, h(), torc_str("a"), &value), 1);
    assert_bytes(value, "1");
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
}
END_TEST

START_TEST(fields_are_set_with_a_time)
{
    const struct torc_bytes pairs[] = {torc_str("a"), torc_str("x"), torc_str("b"), torc_str("y")};
    const unsigned at = TORC_FLAG_PXAT;
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 2, FAR_MS, at | TORC_FLAG_FXX), 0);
    ck_assert_int_eq(torc_hlen(torc, h()), 0);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 1, FAR_MS, at | TORC_FLAG_FNX), 1);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 2, FAR_MS, at | TORC_FLAG_FNX), 0);
    ck_assert_int_eq(torc_hlen(torc, h()), 1);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 2, 0, TORC_FLAG_KEEPTTL), 1);
    ck_assert_int_eq(field_time(h(), "a"), FAR_MS);
    ck_assert_int_eq(field_time(h(), "b"), TORC_NO_TIME);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 2, HOUR_MS, TORC_FLAG_PX | TORC_FLAG_FXX), 1);
    ck_assert_int_gt(field_time(h(), "b"), 0);
    ck_assert_int_lt(field_time(h(), "a"), FAR_MS);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 1, 0, 0), 1);
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
    ck_assert_int_eq(torc_hsetex(torc, h(), pairs, 2, 1, at), 1);
    ck_assert_int_eq(torc_dbsize(torc), 0);
}
END_TEST

START_TEST(values_come_and_their_times_change)
{
    struct torc_bytes values[3];
    fill();
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 3, FAR_MS, TORC_FLAG_PXAT, values), 2);
    assert_bytes(values[0], "1");
    assert_bytes(values[1], "2");
    ck_assert_ptr_null(values[2].data);
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 1, 0, 0, values), 1);
    ck_assert_int_eq(field_time(h(), "a"), FAR_MS);
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 1, 0, TORC_FLAG_PERSIST, values), 1);
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 1, HOUR_MS, TORC_FLAG_PX, values), 1);
    ck_assert_int_lt(field_time(h(), "a"), field_time(h(), "b"));
    ck_assert_int_eq(torc_hgetex(torc, h(), abc(), 1, 1, TORC_FLAG_PXAT, values), 1);
    assert_bytes(values[0], "1");
    ck_assert_int_eq(torc_hlen(torc, h()), 1);
    ck_assert_int_eq(torc_hgetdel(torc, h(), abc(), 3, values), 1);
    ck_assert_ptr_null(values[0].data);
    assert_bytes(values[1], "2");
    ck_assert_int_eq(torc_dbsize(torc), 0);
}
END_TEST

START_TEST(a_write_takes_the_time_away_and_a_sum_keeps_it)
{
    int64_t sum;
    fill();
    ck_assert_int_eq(torc_hexpire_at(torc, h(), abc(), 2, FAR_MS, 0, NULL), 2);
    ck_assert_int_eq(torc_hset(torc, h(), torc_str("a"), torc_str("3")), 0);
    ck_assert_int_eq(torc_hincrby(torc, h(), torc_str("b"), 5, &sum), TORC_OK);
    ck_assert_int_eq(sum, 7);
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
    ck_assert_int_eq(field_time(h(), "b"), FAR_MS);
}
END_TEST

/* --- pipelines --- */

static struct torc_result collect(uint64_t tag, enum torc_kind kind)
{
    struct torc_result result;
    ck_assert_int_eq(torc_collect(torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, tag);
    ck_assert_int_eq(result.kind, kind);
    return result;
}

START_TEST(times_are_set_in_a_pipeline)
{
    const struct torc_bytes pairs[] = {torc_str("a"), torc_str("1"), torc_str("b"), torc_str("2")};
    ck_assert_int_eq(torc_submit_hsetex(torc, 1, h(), pairs, 2, FAR_MS, TORC_FLAG_PXAT), TORC_OK);
    ck_assert_int_eq(torc_submit_hexpire(torc, 2, h(), abc(), 3, HOUR_MS, TORC_FLAG_LT), TORC_OK);
    ck_assert_int_eq(torc_submit_hgetex(torc, 3, h(), abc(), 1, 0, TORC_FLAG_PERSIST), TORC_OK);
    ck_assert_int_eq(torc_submit_expire(torc, 4, h(), HOUR_MS, TORC_FLAG_NX), TORC_OK);
    assert_refused(torc_submit_expire(torc, 5, h(), 1, TORC_FLAG_NX | TORC_FLAG_XX));
    assert_refused(torc_submit_hexpire(torc, 5, h(), abc(), 1, 1, TORC_FLAG_GT | TORC_FLAG_LT));
    assert_refused(torc_submit_hsetex(torc, 5, h(), pairs, 1, 1, TORC_FLAG_FNX | TORC_FLAG_FXX));
    assert_refused(torc_submit_hgetex(torc, 5, h(), abc(), 1, 1, TORC_FLAG_KEEPTTL));
    ck_assert_int_eq(collect(1, TORC_INTEGER).integer, 1);
    struct torc_result result = collect(2, TORC_ARRAY);
    ck_assert_uint_eq(result.count, 3);
    assert_bytes(torc_result_at(&result, 0), "1");
    assert_bytes(torc_result_at(&result, 2), "-2");
    result = collect(3, TORC_ARRAY);
    assert_bytes(torc_result_at(&result, 0), "1");
    ck_assert_int_eq(collect(4, TORC_INTEGER).integer, 1);
    ck_assert_uint_eq(torc_outstanding(torc), 0);
    ck_assert_int_eq(field_time(h(), "a"), TORC_NO_TIME);
    ck_assert_int_gt(field_time(h(), "b"), 0);
    ck_assert_int_gt(key_time(h()), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time calls");
    TCase *tcase = tcase_create("time calls");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_key_gets_a_time_and_loses_it);
    tcase_add_test(tcase, conditions_hold_for_keys);
    tcase_add_test(tcase, wrong_flags_of_keys_are_refused);
    tcase_add_test(tcase, a_copy_has_the_times);
    tcase_add_test(tcase, a_renamed_key_keeps_the_times);
    tcase_add_test(tcase, fields_get_times_and_lose_them);
    tcase_add_test(tcase, a_past_time_removes_fields);
    tcase_add_test(tcase, an_absent_hash_has_absent_fields);
    tcase_add_test(tcase, wrong_flags_of_fields_are_refused);
    tcase_add_test(tcase, fields_are_set_with_a_time);
    tcase_add_test(tcase, values_come_and_their_times_change);
    tcase_add_test(tcase, a_write_takes_the_time_away_and_a_sum_keeps_it);
    tcase_add_test(tcase, times_are_set_in_a_pipeline);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
