/* SPDX-License-Identifier: Apache-2.0
 *
 * Loans: replies of each kind and length that stay good across later calls, and what is refused.
 */
#include <stdio.h>

#include "tests/support/client_fixture.h"

/* Values that fit a slot, the reply area (of 4 KiB), and neither. */
static const size_t lens[] = {0, 1, 40, 41, 60, 700, 1000, 1024, 1025, 5000, 60000};

static char fill_of(size_t i)
{
    return (char)('a' + (int)i);
}

static struct torc_bytes field_of(size_t i)
{
    static char names[N_OF(lens)][8];
    (void)snprintf(names[i], sizeof names[i], "f%zu", i);
    return torc_str(names[i]);
}

static void store_values(struct torc *torc, const char *key)
{
    static char value[60000];
    for (size_t i = 0; i < N_OF(lens); i++) {
        memset(value, fill_of(i), sizeof value);
        ck_assert_int_eq(torc_hset(torc, torc_str(key), field_of(i), torc_mem(value, lens[i])), 1);
    }
}

/* Is it value i? */
static void assert_value(struct torc_bytes value, size_t i)
{
    ck_assert_ptr_nonnull(value.data);
    ck_assert_uint_eq(value.len, lens[i]);
    const char *bytes = value.data;
    size_t good = 0;
    while (good < value.len && bytes[good] == fill_of(i)) {
        good++;
    }
    ck_assert_msg(good == value.len, "value %zu differs from byte %zu on", i, good);
}

/* Replies of every length, so that all memory of the session is used anew. */
static void use_everything(struct torc *torc)
{
    struct torc_bytes value;
    struct torc_result result;
    for (size_t i = 0; i < N_OF(lens); i++) {
        ck_assert_int_eq(torc_hget(torc, torc_str("k"), field_of(i), &value), 1);
        assert_value(value, i);
    }
    ck_assert_int_eq(torc_hgetall(torc, torc_str("k"), &result), TORC_OK);
    ck_assert_uint_eq(result.count, 2 * N_OF(lens));
}

START_TEST(values_of_every_length_stay_until_they_are_released)
{
    struct client_fixture f = client_fixture_any();
    store_values(f.torc, "k");
    struct torc_bytes values[N_OF(lens)];
    struct torc_loan loans[N_OF(lens)];
    for (size_t i = 0; i < N_OF(lens); i++) {
        ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(i), &values[i]), 1);
        ck_assert_int_eq(torc_borrow_values(f.torc, &values[i], 1, &loans[i]), TORC_OK);
        ck_assert_uint_eq(torc_loans(f.torc), i + 1);
        use_everything(f.torc);
    }
    /* Released from the middle outwards. */
    for (size_t n = 0; n < N_OF(lens); n++) {
        size_t out = N_OF(lens) / 2 + (n % 2 == 0 ? n / 2 : N_OF(lens) - (n + 1) / 2);
        out %= N_OF(lens);
        assert_value(values[out], out);
        ck_assert_int_eq(torc_release(f.torc, loans[out]), TORC_OK);
        use_everything(f.torc);
    }
    ck_assert_uint_eq(torc_loans(f.torc), 0);
    client_fixture_end(&f);
}
END_TEST

START_TEST(all_values_of_a_reply_are_one_loan)
{
    struct client_fixture f = client_fixture_any();
    store_values(f.torc, "k");
    struct torc_bytes fields[N_OF(lens) + 1];
    struct torc_bytes values[N_OF(lens) + 1];
    for (size_t i = 0; i < N_OF(lens); i++) {
        fields[i] = field_of(i);
    }
    fields[N_OF(lens)] = torc_str("none");
    for (size_t n = 1; n <= N_OF(lens); n++) {
        struct torc_loan loan;
        /* The last n, the absent one among them. */
        const struct torc_bytes *from = &fields[N_OF(lens) + 1 - n];
        ck_assert_int_eq(torc_hmget(f.torc, torc_str("k"), from, n, values), (int64_t)n - 1);
        ck_assert_int_eq(torc_borrow_values(f.torc, values, n, &loan), TORC_OK);
        use_everything(f.torc);
        for (size_t i = 0; i + 1 < n; i++) {
            assert_value(values[i], N_OF(lens) + 1 - n + i);
        }
        ck_assert_ptr_null(values[n - 1].data);
        ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

/* Results of every kind, collected and kept. */
START_TEST(results_of_every_kind_stay_until_they_are_released)
{
    struct client_fixture f = client_fixture_any();
    store_values(f.torc, "k");
    const struct torc_bytes small[] = {torc_str("a"), torc_str("1"), torc_str("b"), torc_str("2")};
    const struct torc_bytes two[] = {torc_str("a"), torc_str("none")};
    ck_assert_int_eq(torc_hset_many(f.torc, torc_str("small"), small, 2), 2);
    const struct torc_bytes getall[] = {torc_str("HGETALL"), torc_str("k")};
    const struct torc_bytes type[] = {torc_str("TYPE"), torc_str("k")};
    const struct torc_bytes bad[] = {torc_str("HINCRBY"), torc_str("small"), torc_str("none"),
                                     torc_str("1")};
    enum { N = 7 };
    ck_assert_int_eq(torc_submit_hmget(f.torc, 0, torc_str("small"), two, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_command(f.torc, 1, getall, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_command(f.torc, 2, type, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 3, torc_str("k"), torc_str("none")), TORC_OK);
    ck_assert_int_eq(torc_submit_hdel(f.torc, 4, torc_str("k"), two, 2), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 5, torc_str("k"), field_of(6)), TORC_OK);
    ck_assert_int_eq(torc_submit_command(f.torc, 6, bad, 4), TORC_OK);
    struct torc_result results[N];
    struct torc_loan loans[N];
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(torc_collect(f.torc, &results[i]), TORC_OK);
        ck_assert_uint_eq(results[i].tag, i);
        ck_assert_int_eq(torc_borrow(f.torc, &results[i], &loans[i]), TORC_OK);
    }
    use_everything(f.torc);
    ck_assert_int_eq(results[0].kind, TORC_ARRAY);
    assert_bytes(torc_result_at(&results[0], 0), "1");
    ck_assert_ptr_null(torc_result_at(&results[0], 1).data);
    ck_assert_int_eq(results[1].kind, TORC_MAP);
    ck_assert_uint_eq(results[1].count, 2 * N_OF(lens));
    for (size_t i = 0; i < results[1].count; i += 2) {
        struct torc_bytes name = torc_result_at(&results[1], i);
        char digits[8] = "";
        memcpy(digits, (const char *)name.data + 1, name.len - 1);
        assert_value(torc_result_at(&results[1], i + 1), (size_t)atoi(digits)); /* NOLINT */
    }
    ck_assert_int_eq(results[2].kind, TORC_SIMPLE);
    assert_bytes(results[2].string, "hash");
    ck_assert_int_eq(results[3].kind, TORC_NIL);
    ck_assert_int_eq(results[4].integer, 0);
    assert_value(results[5].string, 6);
    for (size_t i = N; i-- > 0;) {
        ck_assert_int_eq(torc_release(f.torc, loans[i]), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

/* More than the reply area holds, many times: the session never waits for a release. */
START_TEST(loans_never_take_the_room_of_other_replies)
{
    struct client_fixture f = client_fixture_any();
    store_values(f.torc, "k");
    struct torc_bytes values[100];
    struct torc_loan loans[100];
    for (size_t i = 0; i < N_OF(values); i++) {
        size_t which = 5 + i % 3; /* of up to a quarter of the area */
        ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(which), &values[i]), 1);
        ck_assert_int_eq(torc_borrow_values(f.torc, &values[i], 1, &loans[i]), TORC_OK);
    }
    for (size_t i = 0; i < N_OF(values); i++) {
        assert_value(values[i], 5 + i % 3);
        ck_assert_int_eq(torc_release(f.torc, loans[i]), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_long_result_that_is_kept_leaves_its_slot)
{
    struct client_fixture f = client_fixture_fake(&(struct torc_fake_options){.slots = 4});
    store_values(f.torc, "k");
    for (size_t which = 5; which < N_OF(lens); which += 4) {
        struct torc_result result;
        struct torc_loan loan;
        ck_assert_int_eq(torc_submit_hget(f.torc, 0, torc_str("k"), field_of(which)), TORC_OK);
        ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
        ck_assert_int_eq(torc_borrow(f.torc, &result, &loan), TORC_OK);
        for (uint64_t i = 0; i < 4; i++) {
            ck_assert_int_eq(torc_submit_hget(f.torc, i, torc_str("k"), field_of(which)), TORC_OK);
        }
        assert_value(result.string, which);
        ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
        while (torc_outstanding(f.torc) > 0) {
            ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
            assert_value(result.string, which);
        }
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(only_the_last_reply_can_be_kept_and_once)
{
    struct client_fixture f = client_fixture_any();
    store_values(f.torc, "k");
    struct torc_loan loan = {.id = 77};
    struct torc_bytes value = torc_str("mine");
    struct torc_bytes none = {NULL, 0};
    struct torc_result result = {.kind = TORC_NIL};
    assert_error(f.torc, torc_borrow(f.torc, NULL, &loan), TORC_EINVAL, "NULL");
    assert_error(f.torc, torc_borrow(f.torc, &result, NULL), TORC_EINVAL, "NULL");
    assert_error(f.torc, torc_borrow_values(f.torc, NULL, 1, &loan), TORC_EINVAL, "NULL");
    assert_error(f.torc, torc_borrow_values(f.torc, &value, 1, NULL), TORC_EINVAL, "NULL");

    for (size_t which = 1; which < N_OF(lens); which++) {
        struct torc_result first;
        struct torc_result second;
        const struct torc_bytes words[] = {torc_str("HGET"), torc_str("k"), field_of(which)};
        ck_assert_int_eq(torc_command(f.torc, words, 3, &first), TORC_OK);
        ck_assert_int_eq(torc_command(f.torc, words, 3, &second), TORC_OK);
        assert_error(f.torc, torc_borrow(f.torc, &first, &loan), TORC_EINVAL, "earlier reply");
        assert_error(f.torc, torc_borrow_values(f.torc, &value, 1, &loan), TORC_EINVAL,
                     "not of the last reply");
        struct torc_bytes beyond = second.string;
        beyond.len += 100000;
        assert_error(f.torc, torc_borrow_values(f.torc, &beyond, 1, &loan), TORC_EINVAL,
                     "not of the last reply");
        ck_assert_uint_eq(loan.id, 77); /* a failing call leaves its outputs alone */
        assert_value(second.string, which);
        ck_assert_int_eq(torc_borrow(f.torc, &second, &loan), TORC_OK);
        assert_error(f.torc, torc_borrow(f.torc, &second, &loan), TORC_EINVAL, "no reply");
        assert_error(f.torc, torc_borrow_values(f.torc, &none, 1, &loan), TORC_EINVAL, "no reply");
        assert_value(second.string, which);
        ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
        loan.id = 77;
    }
    ck_assert_uint_eq(torc_loans(f.torc), 0);
    client_fixture_end(&f);
}
END_TEST

static bool answer_error(void *user, const struct torc_request *request,
                         struct torc_reply_writer *w)
{
    (void)user;
    (void)request;
    torc_reply_error(w, TORC_WIRE_SYNTAX,
                     "ERR an error of more bytes than a slot has, so that it "
                     "comes through the area");
    return true;
}

START_TEST(an_error_is_kept_where_it_is_a_result)
{
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_error});
    struct torc_bytes value = {NULL, 0};
    struct torc_result result;
    struct torc_loan loan;
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), TORC_EREPLY);
    assert_error(f.torc, torc_borrow_values(f.torc, &value, 1, &loan), TORC_EINVAL, "no reply");
    ck_assert_int_eq(torc_submit_hget(f.torc, 9, torc_str("k"), torc_str("f")), TORC_OK);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_int_eq(torc_borrow(f.torc, &result, &loan), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_EREPLY);
    ck_assert_int_eq(result.kind, TORC_ERROR);
    assert_bytes(result.string, "ERR an error of more bytes than a slot has, so that it comes "
                                "through the area");
    ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(so_many_loans_and_no_more)
{
    struct client_fixture f = client_fixture_fake(NULL);
    store_values(f.torc, "k");
    static struct torc_loan loans[TORC_LOANS_MAX];
    struct torc_loan one_more;
    struct torc_bytes value;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < TORC_LOANS_MAX; i++) {
            ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(5), &value), 1);
            ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &loans[i]), TORC_OK);
        }
        ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(5), &value), 1);
        assert_error(f.torc, torc_borrow_values(f.torc, &value, 1, &one_more), TORC_ENOSPC,
                     "release some first");
        assert_value(value, 5);
        /* One place is enough, and what was refused can be had then. */
        ck_assert_int_eq(torc_release(f.torc, loans[500]), TORC_OK);
        ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &loans[500]), TORC_OK);
        assert_value(value, 5);
        for (size_t i = 0; i < TORC_LOANS_MAX; i++) {
            ck_assert_int_eq(torc_release(f.torc, loans[i]), TORC_OK);
        }
        ck_assert_uint_eq(torc_loans(f.torc), 0);
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_loan_that_is_not_out_is_not_released)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct client_fixture g = client_fixture_fake(NULL);
    store_values(f.torc, "k");
    store_values(g.torc, "k");
    struct torc_loan old;
    struct torc_loan now;
    struct torc_loan others;
    struct torc_bytes value;
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(5), &value), 1);
    ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &old), TORC_OK);
    ck_assert_int_eq(torc_release(f.torc, old), TORC_OK);
    assert_error(f.torc, torc_release(f.torc, old), TORC_EINVAL, "released already");
    /* Its place is used anew. */
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(6), &value), 1);
    ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &now), TORC_OK);
    assert_error(f.torc, torc_release(f.torc, old), TORC_EINVAL, "released already");
    assert_error(f.torc, torc_release(f.torc, (struct torc_loan){0}), TORC_EINVAL, "no such loan");
    assert_error(f.torc, torc_release(f.torc, (struct torc_loan){UINT64_MAX}), TORC_EINVAL,
                 "no such loan");
    /* Nor another handle's, though both have done the same. */
    struct torc_bytes theirs;
    ck_assert_int_eq(torc_hget(g.torc, torc_str("k"), field_of(6), &theirs), 1);
    ck_assert_int_eq(torc_borrow_values(g.torc, &theirs, 1, &others), TORC_OK);
    ck_assert_int_eq(torc_release(g.torc, others), TORC_OK);
    ck_assert_int_eq(torc_hget(g.torc, torc_str("k"), field_of(6), &theirs), 1);
    assert_error(f.torc, torc_borrow_values(f.torc, &theirs, 1, &others), TORC_EINVAL, "no reply");
    ck_assert_int_eq(torc_borrow_values(g.torc, &theirs, 1, &others), TORC_OK);
    assert_error(f.torc, torc_release(f.torc, others), TORC_EINVAL, "no such loan");
    assert_error(g.torc, torc_release(g.torc, now), TORC_EINVAL, "no such loan");
    assert_value(value, 6);
    assert_value(theirs, 6);
    ck_assert_int_eq(torc_release(f.torc, now), TORC_OK);
    client_fixture_end(&g); /* with a loan that is out */
    client_fixture_end(&f);
}
END_TEST

START_TEST(loans_outlive_the_session)
{
    struct client_fixture f = client_fixture_fake(NULL);
    store_values(f.torc, "k");
    for (size_t which = 0; which < N_OF(lens); which++) {
        struct torc_bytes kept;
        struct torc_bytes last;
        struct torc_loan loans[2];
        ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(which), &kept), 1);
        ck_assert_int_eq(torc_borrow_values(f.torc, &kept, 1, &loans[0]), TORC_OK);
        ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(which), &last), 1);
        torc_fake_server_kill(f.server);
        /* Even what came before the death can be kept after it. */
        ck_assert_int_eq(torc_borrow_values(f.torc, &last, 1, &loans[1]), TORC_OK);
        assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "gone");
        ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
        use_everything(f.torc);
        assert_value(kept, which);
        assert_value(last, which);
        ck_assert_int_eq(torc_release(f.torc, loans[0]), TORC_OK);
        ck_assert_int_eq(torc_release(f.torc, loans[1]), TORC_OK);
    }
    /* What was not kept does not. */
    struct torc_bytes value;
    struct torc_loan loan;
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), field_of(5), &value), 1);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    assert_error(f.torc, torc_borrow_values(f.torc, &value, 1, &loan), TORC_EINVAL, "no reply");
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loans");
    TCase *any = tcase_create("any server");
    tcase_set_timeout(any, 60);
    tcase_add_test(any, values_of_every_length_stay_until_they_are_released);
    tcase_add_test(any, all_values_of_a_reply_are_one_loan);
    tcase_add_test(any, loans_never_take_the_room_of_other_replies);
    tcase_add_test(any, only_the_last_reply_can_be_kept_and_once);
    suite_add_tcase(suite, any);
    if (getenv("TORC_TEST_SOCKET") == NULL) {
        TCase *fake = tcase_create("fake server");
        tcase_set_timeout(fake, 60);
        tcase_add_test(fake, results_of_every_kind_stay_until_they_are_released);
        tcase_add_test(fake, a_long_result_that_is_kept_leaves_its_slot);
        tcase_add_test(fake, an_error_is_kept_where_it_is_a_result);
        tcase_add_test(fake, so_many_loans_and_no_more);
        tcase_add_test(fake, a_loan_that_is_not_out_is_not_released);
        tcase_add_test(fake, loans_outlive_the_session);
        suite_add_tcase(suite, fake);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
