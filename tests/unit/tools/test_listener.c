/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/torcd/listener.h"

static char folder[32];
static char path[64];
static char why[TORC_OPTION_ERROR_BYTES];

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/torc-listener-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    why[0] = '\0';
}

static void tear_down(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

static int listen_at(const char *where, int type, struct torc_listener *out_listener)
{
    struct torc_listener_unix_options options = {
        .path = where,
        .type = type,
        .mode = 0660,
        .group = "",
        .backlog = 4,
    };
    return torc_listener_unix(&options, out_listener, why);
}

static void expect_refused(const char *where, const char *word)
{
    struct torc_listener listener = {.fd = -1};
    ck_assert_int_eq(listen_at(where, SOCK_SEQPACKET, &listener), -EINVAL);
    ck_assert_msg(strstr(why, word) != NULL, "%s", why);
}

START_TEST(a_unix_socket_has_its_mode_and_goes_when_closed)
{
    struct torc_listener listener = {.fd = -1};
    struct stat st;
    (void)umask(0);
    ck_assert_int_eq(listen_at(path, SOCK_SEQPACKET, &listener), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISSOCK(st.st_mode));
    ck_assert_uint_eq(st.st_mode & 0777, 0660);
    ck_assert_int_ne(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_int_ne(fcntl(listener.fd, F_GETFL) & O_NONBLOCK, 0);
    torc_listener_close(&listener);
    ck_assert_int_ne(stat(path, &st), 0);
    torc_listener_close(&listener);
}
END_TEST

START_TEST(a_socket_that_nobody_listens_on_is_replaced)
{
    struct torc_listener dead = {.fd = -1};
    struct torc_listener listener = {.fd = -1};
    ck_assert_int_eq(listen_at(path, SOCK_STREAM, &dead), 0);
    ck_assert_int_eq(close(dead.fd), 0);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(listen_at(path, SOCK_SEQPACKET, &listener), 0);
    torc_listener_close(&listener);
}
END_TEST

START_TEST(a_living_server_is_left_alone)
{
    static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
    for (size_t i = 0; i < 2; i++) {
        struct torc_listener living = {.fd = -1};
        ck_assert_int_eq(listen_at(path, types[i], &living), 0);
        expect_refused(path, "another server is listening");
        ck_assert_int_eq(access(path, F_OK), 0);
        torc_listener_close(&living);
    }
}
END_TEST

START_TEST(what_is_no_socket_is_left_alone)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    expect_refused(path, "not a socket");
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_path_that_cannot_be_made_says_why)
{
    char long_path[200];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    expect_refused(long_path, "too long");
    expect_refused("/nonexistent/folder/s", "No such file");
    expect_refused("/dev/null/s", "Not a directory");
    expect_refused("/proc/s", "/proc/s");
}
END_TEST

START_TEST(a_file_that_replaced_ours_is_not_removed)
{
    struct torc_listener ours = {.fd = -1};
    struct torc_listener other = {.fd = -1};
    ck_assert_int_eq(listen_at(path, SOCK_SEQPACKET, &ours), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(listen_at(path, SOCK_SEQPACKET, &other), 0);
    torc_listener_close(&ours);
    ck_assert_int_eq(access(path, F_OK), 0);
    torc_listener_close(&other);
}
END_TEST

START_TEST(an_unknown_group_is_refused_and_leaves_no_file)
{
    struct torc_listener listener = {.fd = -1};
    struct torc_listener_unix_options options = {
        .path = path,
        .type = SOCK_STREAM,
        .mode = 0660,
        .group = "no-such-group",
        .backlog = 4,
    };
    ck_assert_int_eq(torc_listener_unix(&options, &listener, why), -EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "no-such-group"));
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

static int port_of(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t len = sizeof address;
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

START_TEST(a_tcp_port_in_use_is_named)
{
    struct torc_listener first = {.fd = -1};
    struct torc_listener second = {.fd = -1};
    ck_assert_int_eq(torc_listener_tcp("127.0.0.1", 0, 4, &first, why), 0);
    int port = port_of(first.fd);
    ck_assert_int_eq(torc_listener_tcp("127.0.0.1", port, 4, &second, why), -EINVAL);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "127.0.0.1 port %d: Address already in use", port);
    ck_assert_ptr_nonnull(strstr(why, wanted));
    torc_listener_close(&first);
}
END_TEST

START_TEST(addresses_are_numeric)
{
    struct torc_listener listener = {.fd = -1};
    ck_assert_int_eq(torc_listener_tcp("localhost.invalid", 0, 4, &listener, why), -EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "not an IPv4 or IPv6 address"));
    ck_assert_int_eq(torc_listener_tcp("*", 0, 4, &listener, why), 0);
    torc_listener_close(&listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener");
    TCase *tcase = tcase_create("listener");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_unix_socket_has_its_mode_and_goes_when_closed);
    tcase_add_test(tcase, a_socket_that_nobody_listens_on_is_replaced);
    tcase_add_test(tcase, a_living_server_is_left_alone);
    tcase_add_test(tcase, what_is_no_socket_is_left_alone);
    tcase_add_test(tcase, a_path_that_cannot_be_made_says_why);
    tcase_add_test(tcase, a_file_that_replaced_ours_is_not_removed);
    tcase_add_test(tcase, an_unknown_group_is_refused_and_leaves_no_file);
    tcase_add_test(tcase, a_tcp_port_in_use_is_named);
    tcase_add_test(tcase, addresses_are_numeric);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
