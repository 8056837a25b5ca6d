/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of libtorc beyond get and set, against a real server: TORC_TEST_SOCKET names its
 * control socket. It is emptied.
 */
#include <stdio.h>
#include <time.h>

#include "tests/support/client_fixture.h"

static struct torc *torc;
static const struct torc_bytes none = {NULL, 0};

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

/* 1,000 fields "0" .. "999" with the value "v". */
static void fill(void)
{
    static char names[1000][12];
    static struct torc_bytes pairs[2000];
    for (size_t i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof names[i], "%d", (int)i);
        pairs[2 * i] = torc_str(names[i]);
        pairs[2 * i + 1] = torc_str("v");
    }
    ck_assert_int_eq(torc_hset_many(torc, h(), pairs, 1000), 1000);
}

START_TEST(a_field_is_set_only_if_absent)
{
    struct torc_bytes value;
    ck_assert_int_eq(torc_hsetnx(torc, h(), torc_str("f"), torc_str("1")), 1);
    ck_assert_int_eq(torc_hsetnx(torc, h(), torc_str("f"), torc_str("22")), 0);
    ck_assert_int_eq(torc_hget(torc, h(), torc_str("f"), &value), 1);
    assert_bytes(value, "1");
    ck_assert_int_eq(torc_hstrlen(torc, h(), torc_str("f")), 1);
    ck_assert_int_eq(torc_hstrlen(torc, h(), torc_str("absent")), 0);
}
END_TEST

START_TEST(numbers_are_added)
{
    int64_t sum = 0;
    struct torc_bytes text;
    ck_assert_int_eq(torc_hincrby(torc, h(), torc_str("n"), INT64_MAX, &sum), TORC_OK);
    ck_assert_int_eq(sum, INT64_MAX);
    assert_error(torc, torc_hincrby(torc, h(), torc_str("n"), 1, &sum), TORC_EREPLY,
                 "ERR increment or decrement would overflow");
    ck_assert_int_eq(torc_hincrby(torc, h(), torc_str("n"), INT64_MIN, &sum), TORC_OK);
    ck_assert_int_eq(sum, -1);
    ck_assert_int_eq(torc_hincrbyfloat(torc, h(), torc_str("x"), torc_str("10.50"), &text),
                     TORC_OK);
    assert_bytes(text, "10.5");
    ck_assert_int_eq(torc_hincrbyfloat(torc, h(), torc_str("x"), torc_str("0x1p9966"), &text),
                     TORC_OK);
    ck_assert_uint_eq(text.len, 3001);
    assert_error(torc, torc_hincrbyfloat(torc, h(), torc_str("x"), torc_str("one"), &text),
                 TORC_EREPLY, "ERR value is not a valid float");
}
END_TEST

START_TEST(fields_and_values_come_in_the_same_order)
{
    struct torc_result fields;
    struct torc_bytes first;
    fill();
    ck_assert_int_eq(torc_hkeys(torc, h(), &fields), TORC_OK);
    ck_assert_int_eq(fields.kind, TORC_ARRAY);
    ck_assert_uint_eq(fields.count, 1000);
    ck_assert_int_eq(torc_hset(torc, h(), torc_result_at(&fields, 7), torc_str("seven")), 0);
    struct torc_result values;
    ck_assert_int_eq(torc_hvals(torc, h(), &values), TORC_OK);
    ck_assert_uint_eq(values.count, 1000);
    assert_bytes(torc_result_at(&values, 7), "seven");
    ck_assert_int_eq(torc_hkeys(torc, torc_str("absent"), &fields), TORC_OK);
    ck_assert_uint_eq(fields.count, 0);
    ck_assert_int_eq(torc_randomkey(torc, &first), 1);
    assert_bytes(first, "h");
}
END_TEST

START_TEST(a_scan_sees_every_field)
{
    static bool seen[1000];
    struct torc_result page = {0};
    fill();
    do {
        ck_assert_int_eq(torc_hscan(torc, h(), page.cursor, none, 50, 0, &page), TORC_OK);
        for (size_t i = 0; i < page.count; i++) {
            char name[8] = "";
            struct torc_bytes field = torc_result_at(&page, i);
            ck_assert_uint_lt(field.len, sizeof name);
            memcpy(name, field.data, field.len);
            seen[strtol(name, NULL, 10)] = true;
        }
    } while (page.cursor != 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert(seen[i]);
    }
    ck_assert_int_eq(torc_hscan(torc, h(), 0, torc_str("99?"), 1u << 20, 1, &page), TORC_OK);
    ck_assert_uint_eq(page.count, 20);
}
END_TEST

START_TEST(fields_are_chosen_at_random)
{
    struct torc_result picks;
    fill();
    ck_assert_int_eq(torc_hrandfield(torc, h(), 10, 0, &picks), TORC_OK);
    ck_assert_uint_eq(picks.count, 10);
    ck_assert_int_eq(torc_hrandfield(torc, h(), 5000, 1, &picks), TORC_OK);
    ck_assert_int_eq(picks.kind, TORC_MAP);
    ck_assert_uint_eq(picks.count, 2000);
    ck_assert_int_eq(torc_hrandfield(torc, h(), -5000, 0, &picks), TORC_OK);
    ck_assert_uint_eq(picks.count, 5000);
    assert_error(torc, torc_hrandfield(torc, h(), -INT64_MAX, 0, &picks), TORC_EMSGSIZE,
                 "ERR reply exceeds the session's limit");
    ck_assert_int_eq(torc_hrandfield(torc, torc_str("absent"), -INT64_MAX, 0, &picks), TORC_OK);
    ck_assert_uint_eq(picks.count, 0);
}
END_TEST

START_TEST(keys_are_found_and_removed)
{
    struct torc_bytes names[] = {torc_str("a"), torc_str("b"), torc_str("ab"), torc_str("absent")};
    struct torc_result keys;
    struct torc_bytes key;
    ck_assert_int_eq(torc_randomkey(torc, &key), 0);
    ck_assert_ptr_null(key.data);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(torc_hset(torc, names[i], torc_str("f"), torc_str("v")), 1);
    }
    ck_assert_int_eq(torc_touch(torc, names, 4), 3);
    ck_assert_int_eq(torc_keys(torc, torc_str("a*"), &keys), TORC_OK);
    ck_assert_uint_eq(keys.count, 2);
    ck_assert_int_eq(torc_unlink(torc, names + 1, 3), 2);
    ck_assert_int_eq(torc_dbsize(torc), 1);
}
END_TEST

START_TEST(the_time_is_ours)
{
    int64_t before = (int64_t)time(NULL) * 1000000;
    int64_t now = torc_time(torc);
    ck_assert_int_ge(now, before);
    ck_assert_int_le(now / 1000000, (int64_t)time(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash calls");
    TCase *tcase = tcase_create("hash calls");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_field_is_set_only_if_absent);
    tcase_add_test(tcase, numbers_are_added);
    tcase_add_test(tcase, fields_and_values_come_in_the_same_order);
    tcase_add_test(tcase, a_scan_sees_every_field);
    tcase_add_test(tcase, fields_are_chosen_at_random);
    tcase_add_test(tcase, keys_are_found_and_removed);
    tcase_add_test(tcase, the_time_is_ours);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
