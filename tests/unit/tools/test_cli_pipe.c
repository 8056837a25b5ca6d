/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_pipe.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/fake_server.h"

#define PING "*1\r\n$4\r\nPING\r\n" /* 14 bytes */

static struct torc_fake_server *server;
static struct torc *torc;
static struct torc_cli_pipe_result result;
static char said[8192]; /* on standard error */

static void setup(void)
{
    server = torc_fake_server_start(NULL);
    struct torc_options options = {.socket = torc_fake_server_path(server)};
    ck_assert_int_eq(torc_open(&options, &torc, NULL), TORC_OK);
}

static void teardown(void)
{
    torc_close(torc);
    torc_fake_server_stop(server);
}

static bool run_fd(int fd, size_t command_max)
{
    int memory = memfd_create("stderr", MFD_CLOEXEC);
    int saved = dup(STDERR_FILENO);
    ck_assert_int_ge(memory, 0);
    ck_assert_int_ge(saved, 0);
    ck_assert_int_ge(dup2(memory, STDERR_FILENO), 0);
    bool good = torc_cli_pipe(torc, fd, command_max, &result);
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    ck_assert_int_eq(close(saved), 0);
    ssize_t n = pread(memory, said, sizeof said - 1, 0);
    ck_assert_int_ge(n, 0);
    said[n] = '\0';
    ck_assert_int_eq(close(memory), 0);
    return good;
}

/* The stream as a file. */
static bool run(const char *stream, size_t len, size_t command_max)
{
    int fd = memfd_create("stream", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, stream, len), (ssize_t)len);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    bool good = run_fd(fd, command_max);
    ck_assert_int_eq(close(fd), 0);
    return good;
}

static bool run_text(const char *stream)
{
    return run(stream, strlen(stream), TORC_CLI_PIPE_COMMAND_MAX);
}

/* Fill `stream` from `len` on, as often as `text` fits. Returns the new length. */
static size_t repeat(char *stream, size_t size, size_t len, const char *text)
{
    while (size - len > strlen(text)) {
        len += (size_t)snprintf(stream + len, size - len, "%s", text);
    }
    return len;
}

static void assert_fails(const char *stream, uint64_t replies, const char *text)
{
    ck_assert(!run_text(stream));
    ck_assert_msg(strstr(said, text) != NULL, "'%s' said '%s', not '%s'", stream, said, text);
    ck_assert_uint_eq(result.replies, replies);
    ck_assert_uint_eq(result.errors, 0);
    ck_assert_uint_eq(torc_outstanding(torc), 0);
}

START_TEST(an_empty_stream_is_fine)
{
    ck_assert(run_text(""));
    ck_assert_uint_eq(result.replies, 0);
    ck_assert(run_text("\r\n*0\r\n\n"));
    ck_assert_uint_eq(result.replies, 0);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(more_commands_than_slots_are_all_answered)
{
    static char stream[5000 * 14 + 1];
    ck_assert_uint_eq(repeat(stream, sizeof stream, 0, PING), 70000);
    ck_assert(run_text(stream));
    ck_assert_uint_eq(result.replies, 5000);
    ck_assert_uint_eq(result.errors, 0);
    ck_assert_uint_eq(torc_fake_server_answered(server), 5000);
}
END_TEST

START_TEST(inline_commands_are_commands)
{
    ck_assert(run_text("PING\r\n" PING "hset k \"f 1\" v\n"));
    ck_assert_uint_eq(result.replies, 3);
    ck_assert_uint_eq(result.errors, 0);
}
END_TEST

START_TEST(refused_commands_are_errors_with_their_place)
{
    ck_assert(run_text(PING "FOO bar\r\nhset k\r\n" PING));
    ck_assert_uint_eq(result.replies, 4);
    ck_assert_uint_eq(result.errors, 2);
    ck_assert_ptr_nonnull(strstr(said, "command at byte 14: ERR unknown command 'FOO'"));
    ck_assert_ptr_nonnull(strstr(said, "command at byte 23: ERR wrong number of arguments"));
}
END_TEST

START_TEST(of_many_errors_ten_are_shown)
{
    char stream[30 * 5 + 1];
    ck_assert_uint_eq(repeat(stream, sizeof stream, 0, "FOO\r\n"), 150);
    ck_assert(run_text(stream));
    ck_assert_uint_eq(result.errors, 30);
    ck_assert_ptr_nonnull(strstr(said, "command at byte 45: "));
    ck_assert_ptr_null(strstr(said, "command at byte 50: "));
    ck_assert_ptr_nonnull(strstr(said, "more errors are counted, not shown"));
}
END_TEST

START_TEST(a_malformed_stream_is_refused_with_its_place)
{
    assert_fails(PING "*1\r\n+PING\r\n", 1,
                 "malformed stream at byte 18: expected '$', got '+' (in the command at byte 14)");
    assert_fails(
        PING PING "*x\r\n", 2,
        "malformed stream at byte 28: invalid multibulk length (in the command at byte 28)");
    assert_fails("*2\r\n$4\r\nECHO\r\n$3\r\nabcdef\r\n", 0,
                 "malformed stream at byte 21: invalid CRLF in request (in the command at byte 0)");
    assert_fails("*1\r\n$-5\r\n", 0, "malformed stream at byte 4: invalid bulk length");
    assert_fails("*1\r\n$99999999999\r\n", 0, "malformed stream at byte 4: invalid bulk length");
    assert_fails("PING \"x\r\n", 0, "unbalanced quotes in request (in the command at byte 0)");
    assert_fails("\r\n\r\n*1\r\n:", 0,
                 "at byte 8: expected '$', got ':' (in the command at byte 4)");
    assert_fails(PING "POST / HTTP/1.1\r\n", 1, "malformed stream at byte 14: this is HTTP");
}
END_TEST

START_TEST(a_stream_that_ends_within_a_command_is_an_error)
{
    static const char stream[] = PING "*2\r\n$4\r\nECHO\r\n$3\r\nabc\r\n";
    for (size_t len = 15; len < sizeof stream - 1; len++) {
        ck_assert(!run(stream, len, TORC_CLI_PIPE_COMMAND_MAX));
        char text[100];
        (void)snprintf(text, sizeof text,
                       "the stream ends at byte %zu, within the command at byte 14", len);
        ck_assert_msg(strstr(said, text) != NULL, "%s", said);
        ck_assert_uint_eq(result.replies, 1);
    }
}
END_TEST

START_TEST(a_command_above_the_limit_is_refused)
{
    /* Endless in what it announces: only what comes counts. */
    static char stream[4000];
    size_t len = (size_t)snprintf(stream, sizeof stream, "%s", PING "*2000000000\r\n");
    len = repeat(stream, sizeof stream, len, "$0\r\n\r\n");
    ck_assert(!run(stream, len, 1024));
    ck_assert_ptr_nonnull(strstr(said, "the command at byte 14 is longer than 1024 bytes"));
    ck_assert_uint_eq(result.replies, 1);
    ck_assert(!run("*1\r\n$1000\r\n", 11, 999));
    ck_assert_ptr_nonnull(strstr(said, "malformed stream at byte 4: invalid bulk length"));
}
END_TEST

struct feed {
    int fd;
    const char *stream;
    size_t len;
};

static void *feed(void *arg)
{
    const struct feed *f = arg;
    for (size_t i = 0; i < f->len; i++) {
        if (write(f->fd, f->stream + i, 1) != 1) {
            break;
        }
        (void)sched_yield();
    }
    (void)close(f->fd);
    return NULL;
}

START_TEST(a_slow_stream_is_taken_byte_by_byte)
{
    static const char stream[] =
        PING "*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$3\r\nf\r\n\r\n$0\r\n\r\nPING\r\n" PING;
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    struct feed f = {fds[1], stream, sizeof stream - 1};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, feed, &f), 0);
    ck_assert(run_fd(fds[0], TORC_CLI_PIPE_COMMAND_MAX));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(close(fds[0]), 0);
    ck_assert_uint_eq(result.replies, 4);
    ck_assert_uint_eq(result.errors, 0);
    struct torc_bytes value;
    ck_assert_int_eq(torc_hget(torc, torc_str("k"), torc_str("f\r\n"), &value), 1);
    ck_assert_uint_eq(value.len, 0);
}
END_TEST

START_TEST(the_death_of_the_server_is_said)
{
    struct torc_fake_options options = {.dies_at_request = true};
    torc_fake_server_set(server, &options);
    ck_assert(!run_text(PING PING));
    ck_assert_ptr_nonnull(strstr(said, "0 replies came; whether the last "));
    ck_assert_ptr_nonnull(strstr(said, "were run is not known"));
    ck_assert_uint_eq(result.replies, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_pipe");
    TCase *tcase = tcase_create("all");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_empty_stream_is_fine);
    tcase_add_test(tcase, more_commands_than_slots_are_all_answered);
    tcase_add_test(tcase, inline_commands_are_commands);
    tcase_add_test(tcase, refused_commands_are_errors_with_their_place);
    tcase_add_test(tcase, of_many_errors_ten_are_shown);
    tcase_add_test(tcase, a_malformed_stream_is_refused_with_its_place);
    tcase_add_test(tcase, a_stream_that_ends_within_a_command_is_an_error);
    tcase_add_test(tcase, a_command_above_the_limit_is_refused);
    tcase_add_test(tcase, a_slow_stream_is_taken_byte_by_byte);
    tcase_add_test(tcase, the_death_of_the_server_is_said);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
