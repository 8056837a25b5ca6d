/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc without memory: each allocation fails in turn. Linked with --wrap for malloc, calloc and
 * realloc; those inside libc (strdup) do not fail.
 */
#include <stdio.h>

#include "tests/support/client_fixture.h"

/* The names are the linker's. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
/* NOLINTBEGIN(readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* Calls of this thread until the one that fails; 0 none. The server's thread is not touched. */
static _Thread_local unsigned calls_left;
static _Thread_local bool has_failed;

static bool fails(void)
{
    if (calls_left == 0 || --calls_left != 0) {
        return false;
    }
    has_failed = true;
    return true;
}

static void fail_at(unsigned n)
{
    calls_left = n;
    has_failed = false;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* NOLINTEND(readability-identifier-naming) */
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

START_TEST(attaching_without_memory_fails_cleanly)
{
    struct torc_fake_server *server = torc_fake_server_start(NULL);
    struct torc_options options = {.socket = torc_fake_server_path(server), .name = "m"};
    unsigned n = 0;
    do {
        struct torc *torc = NULL;
        const char *why = NULL;
        fail_at(++n);
        int rc = torc_open(&options, &torc, &why);
        fail_at(0);
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
        fail_at(n);
        assert_error(f.torc, torc_reattach(f.torc), TORC_ENOMEM, "memory");
        ck_assert(has_failed);
        assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "no session");
        ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
        ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

/* A call with every allocation failing once: it says so, and the handle goes on. */
static void meet_failures(struct torc *torc, int64_t (*call)(struct torc *torc))
{
    for (unsigned n = 1;; n++) {
        fail_at(n);
        int64_t rc = call(torc);
        bool failed = has_failed;
        fail_at(0);
        ck_assert_int_eq(torc_ping(torc), TORC_OK);
        if (!failed) {
            ck_assert_int_ge(rc, 0);
            break;
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
    calls_left = 0; /* check allocates, too */
    ck_assert(rc != TORC_OK || result.count == 2 * (size_t)N_FIELDS);
    return rc;
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
    meet_failures(f.torc, set_fields);
    meet_failures(f.torc, get_some);
    meet_failures(f.torc, get_all);
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
    fail_at(1);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ENOMEM, "out of memory");
    ck_assert_uint_eq(torc_outstanding(f.torc), 1);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 7);
    ck_assert_uint_eq(result.count, 50);
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
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
