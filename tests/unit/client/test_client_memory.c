/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc without memory: each allocation fails in turn.
 */
#include <stdio.h>

#include "tests/support/client_fixture.h"
#include "tests/support/failing_heap.h"

START_TEST(attaching_without_memory_fails_cleanly)
{
    struct torc_fake_server *server = torc_fake_server_start(NULL);
    struct torc_options options = {.socket = torc_fake_server_path(server), .name = "m"};
    unsigned n = 0;
    do {
        struct torc *torc = NULL;
        const char *why = NULL;
        torc_heap_fail_at(++n);
        int rc = torc_open(&options, &torc, &why);
        torc_heap_fail_at(0);
        if (rc == TORC_OK) {
            ck_assert_int_eq(torc_ping(torc), TORC_OK);
            torc_close(torc);
            break;
        }
        ck_assert_int_eq(rc, TORC_ENOMEM);
        ck_assert_ptr_null(torc);
        ck_assert_ptr_nonnull(strstr(why, "memory"));
    } while (n < 100);
    ck_assert_uint_ge(n, 4);
    ck_assert_uint_lt(n, 100);
    torc_fake_server_stop(server);
}
END_TEST

START_TEST(attaching_again_without_memory_leaves_a_handle_to_try_again)
{
    struct client_fixture f = client_fixture_fake(NULL);
    for (unsigned n = 1; n < 3; n++) {
        torc_heap_fail_at(n);
        assert_error(f.torc, torc_reattach(f.torc), TORC_ENOMEM, "memory");
        ck_assert(torc_heap_has_failed());
        assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "no session");
        ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
        ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

/* A call with every allocation failing once: it says so, and the handle goes on. What it gives when
 * none fails. */
static int64_t meet_failures(struct torc *torc, int64_t (*call)(struct torc *torc))
{
    for (unsigned n = 1;; n++) {
        torc_heap_fail_at(n);
        int64_t rc = call(torc);
        bool failed = torc_heap_has_failed();
        torc_heap_fail_at(0);
        ck_assert_int_eq(torc_ping(torc), TORC_OK);
        if (!failed) {
            return rc;
        }
        ck_assert_int_eq(rc, TORC_ENOMEM);
    }
}

enum { N_FIELDS = 300 };
static char names[N_FIELDS][16];
static struct torc_bytes fields[N_FIELDS];
static struct torc_bytes pairs[2 * N_FIELDS];

static void make_fields(void)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
        fields[i] = torc_str(names[i]);
        pairs[2 * i] = fields[i];
        pairs[2 * i + 1] = fields[i];
    }
}

static int64_t set_fields(struct torc *torc)
{
    return torc_hset_many(torc, torc_str("k"), pairs, N_FIELDS);
}

static int64_t get_all(struct torc *torc)
{
    struct torc_result result;
    int rc = torc_hgetall(torc, torc_str("k"), &result);
    return rc != TORC_OK ? rc : (int64_t)result.count;
}

static int64_t get_some(struct torc *torc)
{
    static struct torc_bytes values[N_FIELDS];
    return torc_hmget(torc, torc_str("k"), fields, 50, values);
}

START_TEST(calls_without_memory_fail_and_the_next_ones_do_not)
{
    struct client_fixture f = client_fixture_fake(NULL);
    make_fields();
    ck_assert_int_ge(meet_failures(f.torc, set_fields), 0);
    ck_assert_int_eq(meet_failures(f.torc, get_some), 50);
    ck_assert_int_eq(meet_failures(f.torc, get_all), (int64_t)2 * N_FIELDS);
    ck_assert_int_eq(torc_hlen(f.torc, torc_str("k")), N_FIELDS);
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_result_without_memory_stays_outstanding)
{
    struct client_fixture f = client_fixture_fake(NULL);
    make_fields();
    ck_assert_int_eq(set_fields(f.torc), N_FIELDS);
    ck_assert_int_eq(torc_submit_hmget(f.torc, 7, torc_str("k"), fields, 50), TORC_OK);
    struct torc_result result;
    torc_heap_fail_at(1);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ENOMEM, "out of memory");
    ck_assert_uint_eq(torc_outstanding(f.torc), 1);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 7);
    ck_assert_uint_eq(result.count, 50);
    client_fixture_end(&f);
}
END_TEST

/* Each allocation of a loan fails once: the reply is as good as before, and can be kept later. */
START_TEST(a_loan_without_memory_is_refused_and_can_be_had_later)
{
    struct client_fixture f = client_fixture_fake(NULL);
    make_fields();
    ck_assert_int_eq(set_fields(f.torc), N_FIELDS);
    static const size_t counts[] = {1, 50, N_FIELDS}; /* in a slot, the area, neither */
    for (size_t i = 0; i < N_OF(counts); i++) {
        unsigned n_failed = 0;
        for (bool done = false; !done; n_failed++) {
            struct torc_result result;
            struct torc_loan loan;
            ck_assert_int_eq(torc_submit_hmget(f.torc, 0, torc_str("k"), fields, counts[i]),
                             TORC_OK);
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
            torc_heap_fail_at(n_failed + 1);
            int rc = torc_borrow(f.torc, &result, &loan);
            done = !torc_heap_has_failed();
            torc_heap_fail_at(0);
            if (!done) {
                assert_error(f.torc, rc, TORC_ENOMEM, "out of memory");
                ck_assert_uint_eq(torc_loans(f.torc), 0);
                ck_assert_int_eq(torc_borrow(f.torc, &result, &loan), TORC_OK);
            }
            ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
            ck_assert_uint_eq(result.count, counts[i]);
            assert_bytes(torc_result_at(&result, counts[i] - 1), names[counts[i] - 1]);
            ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
        }
        ck_assert_uint_ge(n_failed, 2);
    }
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client memory");
    TCase *tcase = tcase_create("client memory");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, attaching_without_memory_fails_cleanly);
    tcase_add_test(tcase, attaching_again_without_memory_leaves_a_handle_to_try_again);
    tcase_add_test(tcase, calls_without_memory_fail_and_the_next_ones_do_not);
    tcase_add_test(tcase, a_result_without_memory_stays_outstanding);
    tcase_add_test(tcase, a_loan_without_memory_is_refused_and_can_be_had_later);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
