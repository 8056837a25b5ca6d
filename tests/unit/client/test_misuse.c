/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles in the wrong hands: of another thread, in a child of fork(), closed, without a session.
 * Every function of the library refuses them and leaves the session as it was.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/client_calls.h"
#include "tests/support/client_fixture.h"

/* The code that every function which has one gives; others say that there is nothing. NULL: all
 * right; else the function that does not. No assertion, so that any thread and process may ask. */
static const char *who_differs(struct torc *torc, int code)
{
    struct torc_result result = {.tag = 77};
    struct torc_bytes bytes = torc_str("x");
    struct torc_loan loan = {0};
    const struct torc_bytes words[] = {torc_str("HGET"), bytes, bytes};
    for (size_t i = 0; i < client_n_calls; i++) {
        if (client_calls[i].call(torc) != code) {
            return client_calls[i].name;
        }
    }
    const struct {
        const char *name;
        int64_t rc;
    } others[] = {
        {"submit_hget", torc_submit_hget(torc, 0, bytes, bytes)},
        {"submit_hset", torc_submit_hset(torc, 0, bytes, words, 1)},
        {"submit_hmget", torc_submit_hmget(torc, 0, bytes, words, 1)},
        {"submit_hdel", torc_submit_hdel(torc, 0, bytes, words, 1)},
        {"submit_expire", torc_submit_expire(torc, 0, bytes, 1000, 0)},
        {"submit_hexpire", torc_submit_hexpire(torc, 0, bytes, words, 1, 1000, 0)},
        {"submit_hsetex", torc_submit_hsetex(torc, 0, bytes, words, 1, 1000, TORC_FLAG_PX)},
        {"submit_hgetex", torc_submit_hgetex(torc, 0, bytes, words, 1, 0, 0)},
        {"submit_command", torc_submit_command(torc, 0, words, 3)},
        {"collect", torc_collect(torc, &result)},
        {"try_collect", torc_try_collect(torc, &result)},
    };
    for (size_t i = 0; i < N_OF(others); i++) {
        if (others[i].rc != code) {
            return others[i].name;
        }
    }
    if (torc_borrow(torc, &result, &loan) != TORC_EINVAL ||
        torc_borrow_values(torc, &bytes, 1, &loan) != TORC_EINVAL ||
        torc_release(torc, loan) != TORC_EINVAL) {
        return "borrow or release";
    }
    return torc_epoch(torc) == 0 && torc_slots(torc) == 0 && torc_outstanding(torc) == 0
               ? NULL
               : "epoch, slots or outstanding";
}

/* The same for a handle that is not the caller's. */
static const char *who_does_not_refuse(struct torc *torc)
{
    const char *who = who_differs(torc, TORC_EINVAL);
    if (who != NULL) {
        return who;
    }
    torc_set_deadline(torc, 1);
    if (torc_error_text(torc)[0] != '\0' || torc_loans(torc) != 0) {
        return "error_text or loans";
    }
    return torc_reattach(torc) == TORC_EINVAL ? NULL : "reattach";
}

static void assert_nobody(const char *who)
{
    ck_assert_msg(who == NULL, "torc_%s", who != NULL ? who : "");
}

/* What `act` does with the handle in a child: 0 it ended well, else how it died. */
static int status_of_child(struct torc *torc, void (*act)(struct torc *torc))
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        act(torc);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* --- another thread --- */

static void *use_from_another_thread(void *argument)
{
    const char *who = who_does_not_refuse(argument);
    return who != NULL ? (void *)argument : NULL;
}

START_TEST(another_thread_may_not_use_the_handle)
{
    struct client_fixture f = client_fixture_fake(NULL);
    pthread_t thread;
    void *outcome;
    ck_assert_int_eq(torc_submit_hget(f.torc, 5, torc_str("k"), torc_str("f")), TORC_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_from_another_thread, f.torc), 0);
    ck_assert_int_eq(pthread_join(thread, &outcome), 0);
    ck_assert_ptr_null(outcome);
    /* The deadline, the result and the session are as they were. */
    struct torc_result result;
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 5);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

/* A thread of the fake server may be allocating at a fork. glibc's allocator can be used in the
 * child all the same; that of gcc's AddressSanitizer may stay locked for good. */
#ifndef __SANITIZE_ADDRESS__
/* The control socket of a server for children, which open handles of their own there. */
static char path_for_child[128];

static struct torc *open_own(void)
{
    struct torc *torc = NULL;
    struct torc_options options = {.socket = path_for_child};
    return torc_open(&options, &torc, NULL) == TORC_OK && torc_ping(torc) == TORC_OK ? torc : NULL;
}
#endif

#if !defined(__SANITIZE_ADDRESS__) &&                                                              \
    !defined(__SANITIZE_THREAD__) /* it lets no forked child start threads */
static void *close_from_another_thread(void *torc)
{
    torc_close(torc);
    return NULL;
}

static void let_another_thread_close(struct torc *parents)
{
    torc_close(parents);
    struct torc *own = open_own();
    pthread_t thread;
    if (own == NULL || pthread_create(&thread, NULL, close_from_another_thread, own) != 0 ||
        pthread_join(thread, NULL) != 0) {
        _exit(1);
    }
    _exit(torc_ping(own) == TORC_OK ? 0 : 2);
}

START_TEST(another_thread_does_not_close_the_handle)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_fake_server *second = torc_fake_server_start(NULL);
    (void)snprintf(path_for_child, sizeof path_for_child, "%s", torc_fake_server_path(second));
    int status = status_of_child(f.torc, let_another_thread_close);
#ifdef NDEBUG
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
#else
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", (unsigned)status);
#endif
    torc_fake_server_stop(second);
    client_fixture_end(&f);
}
END_TEST
#endif

/* --- a child of fork() --- */

static void use_and_close(struct torc *torc)
{
    bool refused = who_does_not_refuse(torc) == NULL;
    torc_close(torc);
    _exit(refused ? 0 : 1);
}

START_TEST(a_forked_child_may_only_close_the_handle)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_bytes value;
    struct torc_loan loan;
    ck_assert_int_eq(torc_hset(f.torc, torc_str("k"), torc_str("f"), torc_str("v")), 1);
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), 1);
    ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &loan), TORC_OK);
    int status = status_of_child(f.torc, use_and_close);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
    assert_bytes(value, "v");
    ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
static void use_own(struct torc *parents)
{
    (void)parents;
    struct torc *own = open_own();
    bool good = own != NULL && torc_epoch(own) != 0;
    torc_close(own);
    _exit(good ? 0 : 1);
}

START_TEST(a_forked_child_may_have_handles_of_its_own)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_fake_server *second = torc_fake_server_start(NULL);
    (void)snprintf(path_for_child, sizeof path_for_child, "%s", torc_fake_server_path(second));
    int status = status_of_child(f.torc, use_own);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    torc_fake_server_stop(second);
    client_fixture_end(&f);
}
END_TEST
#endif

/* --- closed handles: seen where assertions are on --- */

#ifndef NDEBUG
START_TEST(a_closed_handle_is_refused)
{
    struct client_fixture f = client_fixture_fake(NULL);
    for (int i = 0; i < 100; i++) {
        struct torc *closed = f.torc;
        torc_close(closed);
        assert_nobody(who_does_not_refuse(closed));
        f.torc = client_open(torc_fake_server_path(f.server));
        ck_assert_ptr_ne(f.torc, closed); /* its memory is not used anew soon */
        assert_nobody(who_does_not_refuse(closed));
        ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

static void close_twice(struct torc *torc)
{
    torc_close(torc);
    torc_close(torc);
}

START_TEST(closing_twice_aborts)
{
    struct client_fixture f = client_fixture_fake(NULL);
    int status = status_of_child(f.torc, close_twice);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", (unsigned)status);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST
#endif

/* --- no session, no handle --- */

START_TEST(a_handle_that_could_not_attach_again_refuses_all_but_another_try)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_bytes value;
    struct torc_loan loan;
    ck_assert_int_eq(torc_hset(f.torc, torc_str("k"), torc_str("f"), torc_str("v")), 1);
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), 1);
    ck_assert_int_eq(torc_borrow_values(f.torc, &value, 1, &loan), TORC_OK);
    torc_fake_server_set(f.server, &(struct torc_fake_options){.attach = TORC_FAKE_HANG_UP});
    for (int i = 0; i < 3; i++) {
        assert_error(f.torc, torc_reattach(f.torc), TORC_EPIPE, "closed");
        assert_nobody(who_differs(f.torc, TORC_EPIPE));
    }
    assert_bytes(value, "v"); /* loans stay */
    torc_fake_server_set(f.server, NULL);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    ck_assert_int_eq(torc_release(f.torc, loan), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(closing_a_handle_without_a_session_frees_it)
{
    struct client_fixture f = client_fixture_fake(NULL);
    torc_fake_server_set(f.server, &(struct torc_fake_options){.attach = TORC_FAKE_HANG_UP});
    ck_assert_int_eq(torc_reattach(f.torc), TORC_EPIPE);
    client_fixture_end(&f);
}
END_TEST

START_TEST(null_handles_are_refused)
{
    assert_nobody(who_does_not_refuse(NULL));
    torc_close(NULL);
    ck_assert_ptr_null(torc_result_at(NULL, 0).data);
}
END_TEST

/* Every output, each of them in a call that would change or say something. */
START_TEST(an_output_that_is_null_is_refused_before_anything_is_sent)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc *torc = f.torc;
    const struct torc_bytes x = torc_str("x");
    const struct torc_bytes none = {NULL, 0};
    const struct torc_bytes words[] = {torc_str("PING")};
    const int64_t given[] = {
        torc_hget(torc, x, x, NULL),
        torc_hmget(torc, x, &x, 1, NULL),
        torc_hincrby(torc, x, x, 1, NULL),
        torc_hincrbyfloat(torc, x, x, torc_str("1"), NULL),
        torc_randomkey(torc, NULL),
        torc_hgetall(torc, x, NULL),
        torc_hkeys(torc, x, NULL),
        torc_hvals(torc, x, NULL),
        torc_hrandfield(torc, x, 1, 0, NULL),
        torc_hscan(torc, x, 0, none, 0, 1, NULL),
        torc_keys(torc, x, NULL),
        torc_scan(torc, 0, none, 0, NULL),
        torc_command(torc, words, 1, NULL),
        torc_collect(torc, NULL),
        torc_try_collect(torc, NULL),
    };
    for (size_t i = 0; i < N_OF(given); i++) {
        ck_assert_msg(given[i] == TORC_EINVAL, "call %zu: %lld", i, (long long)given[i]);
    }
    ck_assert_ptr_nonnull(strstr(torc_error_text(torc), "output"));
    ck_assert_uint_eq(torc_outstanding(torc), 0);
    ck_assert_int_eq(torc_ping(torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("misuse");
    TCase *tcase = tcase_create("misuse");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, another_thread_may_not_use_the_handle);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tcase, another_thread_does_not_close_the_handle);
#endif
    tcase_add_test(tcase, a_forked_child_may_only_close_the_handle);
#ifndef __SANITIZE_ADDRESS__
    tcase_add_test(tcase, a_forked_child_may_have_handles_of_its_own);
#endif
#ifndef NDEBUG
    tcase_add_test(tcase, a_closed_handle_is_refused);
    tcase_add_test(tcase, closing_twice_aborts);
#endif
    tcase_add_test(tcase, a_handle_that_could_not_attach_again_refuses_all_but_another_try);
    tcase_add_test(tcase, closing_a_handle_without_a_session_frees_it);
    tcase_add_test(tcase, null_handles_are_refused);
    tcase_add_test(tcase, an_output_that_is_null_is_refused_before_anything_is_sent);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
