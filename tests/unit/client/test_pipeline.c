/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipelines. The first tests run against a real server, too: set TORC_TEST_SOCKET.
 */
#include <sched.h>
#include <stdio.h>

#include "tests/support/client_fixture.h"

START_TEST(results_come_in_the_order_of_the_requests)
{
    struct client_fixture f = client_fixture_any();
    struct torc_bytes key = torc_str("h");
    const struct torc_bytes pairs[] = {torc_str("a"), torc_str("1"), torc_str("b"), torc_str("2")};
    const struct torc_bytes fields[] = {torc_str("a"), torc_str("x"), torc_str("b")};
    const struct torc_bytes words[] = {torc_str("TYPE"), key};
    ck_assert_int_eq(torc_submit_hset(f.torc, 10, key, pairs, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 11, key, torc_str("b")), TORC_OK);
    ck_assert_int_eq(torc_submit_hmget(f.torc, 12, key, fields, 3), TORC_OK);
    ck_assert_int_eq(torc_submit_command(f.torc, 13, words, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_hdel(f.torc, UINT64_MAX, key, fields, 3), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 15, key, torc_str("b")), TORC_OK);
    ck_assert_uint_eq(torc_outstanding(f.torc), 6);

    struct torc_result result;
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 10);
    ck_assert_int_eq(result.kind, TORC_INTEGER);
    ck_assert_int_eq(result.integer, 2);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 11);
    ck_assert_int_eq(result.kind, TORC_STRING);
    assert_bytes(result.string, "2");
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 12);
    ck_assert_int_eq(result.kind, TORC_ARRAY);
    ck_assert_uint_eq(result.count, 3);
    assert_bytes(torc_result_at(&result, 0), "1");
    ck_assert_ptr_null(torc_result_at(&result, 1).data);
    assert_bytes(torc_result_at(&result, 2), "2");
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 13);
    ck_assert_int_eq(result.kind, TORC_SIMPLE);
    assert_bytes(result.string, "hash");
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, UINT64_MAX);
    ck_assert_int_eq(result.integer, 2);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 15);
    ck_assert_int_eq(result.kind, TORC_NIL);
    ck_assert_uint_eq(torc_outstanding(f.torc), 0);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ENOENT, "nothing is outstanding");
    assert_error(f.torc, torc_try_collect(f.torc, &result), TORC_ENOENT, "nothing");
    client_fixture_end(&f);
}
END_TEST

/* The pipeline is kept full for many times around the slots and areas, with values that fit a
 * slot, an area, and neither. */
START_TEST(a_full_pipeline_keeps_its_order)
{
    static const size_t lens[] = {3, 100, 20, 700, 45, 5000, 1, 40000};
    struct client_fixture f = client_fixture_any();
    struct torc_bytes key = torc_str("h");
    static char value[40000];
    for (unsigned i = 0; i < N_OF(lens); i++) {
        char field[16];
        (void)snprintf(field, sizeof field, "%u", i);
        memset(value, 'a' + (int)i, sizeof value);
        ck_assert_int_eq(torc_hset(f.torc, key, torc_str(field), torc_mem(value, lens[i])), 1);
    }
    uint64_t submitted = 0;
    uint64_t collected = 0;
    struct torc_result result;
    while (collected < 2000) {
        int rc = TORC_EAGAIN;
        if (submitted < 2000) {
            char field[16];
            (void)snprintf(field, sizeof field, "%u", (unsigned)(submitted % N_OF(lens)));
            rc = torc_submit_hget(f.torc, submitted, key, torc_str(field));
            ck_assert(rc == TORC_OK || rc == TORC_EAGAIN);
            submitted += rc == TORC_OK;
        }
        if (rc == TORC_EAGAIN) {
            ck_assert_msg(torc_collect(f.torc, &result) == TORC_OK, "%s", torc_error_text(f.torc));
            ck_assert_uint_eq(result.tag, collected);
            ck_assert_int_eq(result.kind, TORC_STRING);
            size_t i = collected % N_OF(lens);
            ck_assert_uint_eq(result.string.len, lens[i]);
            const char *got = result.string.data;
            ck_assert(got[0] == (char)('a' + (int)i) && got[lens[i] - 1] == (char)('a' + (int)i));
            collected++;
        }
        ck_assert_uint_eq(torc_outstanding(f.torc), submitted - collected);
        ck_assert_uint_le(torc_outstanding(f.torc), torc_slots(f.torc));
    }
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(long_requests_wait_their_turn_in_a_pipeline)
{
    struct client_fixture f = client_fixture_any();
    static char text[60000];
    memset(text, 'L', sizeof text);
    struct torc_bytes key = torc_str("h");
    struct torc_result result;
    uint64_t submitted = 0;
    uint64_t collected = 0;
    while (collected < 60) {
        int rc = TORC_EAGAIN;
        if (submitted < 60) {
            const struct torc_bytes pair[] = {torc_str("f"),
                                              torc_mem(text, submitted % 3 == 0 ? 60000 : 10)};
            rc = torc_submit_hset(f.torc, submitted, key, pair, 1);
            ck_assert(rc == TORC_OK || rc == TORC_EAGAIN);
            submitted += rc == TORC_OK;
        }
        if (rc == TORC_EAGAIN) {
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
            ck_assert_uint_eq(result.tag, collected);
            ck_assert_int_eq(result.integer, collected == 0);
            collected++;
        }
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(as_many_as_slots_may_be_outstanding)
{
    struct client_fixture f = client_fixture_fake(&(struct torc_fake_options){.slots = 8});
    struct torc_result result;
    for (int round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 8; i++) {
            ck_assert_int_eq(torc_submit_hget(f.torc, i, torc_str("k"), torc_str("f")), TORC_OK);
        }
        assert_error(f.torc, torc_submit_hget(f.torc, 9, torc_str("k"), torc_str("f")), TORC_EAGAIN,
                     "collect results first");
        for (uint64_t i = 0; i < 8; i++) {
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
            ck_assert_uint_eq(result.tag, i);
            /* A result that fits a slot leaves it free at once. */
            ck_assert_int_eq(torc_submit_hget(f.torc, i, torc_str("k"), torc_str("f")), TORC_OK);
        }
        for (uint64_t i = 0; i < 8; i++) {
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
        }
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_result_outlives_submits_but_not_the_next_collect)
{
    struct client_fixture f = client_fixture_fake(NULL);
    char text[300];
    memset(text, 'r', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct torc_bytes key = torc_str("k");
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("long"), torc_str(text)), 1);
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("short"), torc_str("s")), 1);
    struct torc_result result;
    for (int i = 0; i < 50; i++) {
        const char *field = i % 2 == 0 ? "long" : "short";
        ck_assert_int_eq(torc_submit_hget(f.torc, 0, key, torc_str(field)), TORC_OK);
        ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
        unsigned more = 0;
        while (torc_submit_hget(f.torc, 0, key, torc_str("long")) == TORC_OK) {
            more++;
        }
        /* A long result keeps its slot. */
        ck_assert_uint_eq(more, torc_slots(f.torc) - (i % 2 == 0));
        /* Replies to those may be there by now. */
        assert_bytes(result.string, i % 2 == 0 ? text : "s");
        while (torc_outstanding(f.torc) > 0) {
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
            assert_bytes(result.string, text);
        }
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(synchronous_calls_do_not_mix_with_results_outstanding)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_result result;
    struct torc_bytes value;
    ck_assert_int_eq(torc_submit_hget(f.torc, 3, torc_str("k"), torc_str("f")), TORC_OK);
    assert_error(f.torc, torc_ping(f.torc), TORC_EINVAL, "collect them first");
    assert_error(f.torc, torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), TORC_EINVAL,
                 "collect them first");
    assert_error(f.torc, torc_hgetall(f.torc, torc_str("k"), &result), TORC_EINVAL, "collect");
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 3);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(results_that_came_before_the_death_are_collected)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_result result;
    ck_assert_int_eq(torc_submit_hget(f.torc, 1, torc_str("k"), torc_str("f")), TORC_OK);
    while (torc_fake_server_answered(f.server) < 1) {
        (void)sched_yield();
    }
    torc_fake_server_hold(f.server, true);
    ck_assert_int_eq(torc_submit_hget(f.torc, 2, torc_str("k"), torc_str("f")), TORC_OK);
    torc_fake_server_kill(f.server);
    torc_fake_server_hold(f.server, false);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 1);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_EPIPE, "gone");
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ENOENT, "nothing");
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *any = tcase_create("any server");
    tcase_set_timeout(any, 60);
    tcase_add_test(any, results_come_in_the_order_of_the_requests);
    tcase_add_test(any, a_full_pipeline_keeps_its_order);
    tcase_add_test(any, long_requests_wait_their_turn_in_a_pipeline);
    suite_add_tcase(suite, any);
    if (getenv("TORC_TEST_SOCKET") == NULL) {
        TCase *fake = tcase_create("fake server");
        tcase_set_timeout(fake, 60);
        tcase_add_test(fake, as_many_as_slots_may_be_outstanding);
        tcase_add_test(fake, a_result_outlives_submits_but_not_the_next_collect);
        tcase_add_test(fake, synchronous_calls_do_not_mix_with_results_outstanding);
        tcase_add_test(fake, results_that_came_before_the_death_are_collected);
        suite_add_tcase(suite, fake);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
