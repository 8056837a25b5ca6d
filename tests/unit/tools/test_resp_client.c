/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's end of the socket is held by the test itself: it writes replies ahead of time, so
 * that no second thread is needed.
 */
#include "tools/resp_client.h"

#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

static char folder[32];
static char path[64];
static int listener = -1;
static int server = -1;
static struct torc_resp_client *client;
static char error[TORC_RESP_CLIENT_ERROR_BYTES];
static const struct torc_resp_reply *reply;

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/torc-resp-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "unix:%s/s", folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path + 5);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_msg(torc_resp_client_open(path, &client, error) == 0, "%s", error);
    server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(server, 0);
}

static void tear_down(void)
{
    torc_resp_client_close(client);
    client = NULL;
    if (server >= 0) {
        (void)close(server);
    }
    (void)close(listener);
    (void)unlink(path + 5);
    (void)rmdir(folder);
}

static void answer(const char *text)
{
    ck_assert_int_eq(write(server, text, strlen(text)), (ssize_t)strlen(text));
}

static struct torc_bytes word(const char *text)
{
    return (struct torc_bytes){text, strlen(text)};
}

static int send_words(const char *first, const char *second)
{
    struct torc_bytes words[] = {word(first), word(second)};
    return torc_resp_client_send(client, words, 2);
}

static int receive(enum torc_resp_wait wait)
{
    return torc_resp_client_receive(client, wait, 10 * SECOND_NS, &reply);
}

static void assert_text(struct torc_resp_span span, const char *expected)
{
    struct torc_slice bytes = torc_resp_client_bytes(client, span);
    ck_assert_uint_eq(bytes.len, strlen(expected));
    ck_assert_mem_eq(bytes.data, expected, bytes.len);
}

START_TEST(commands_are_arrays_of_bulk_strings)
{
    static const char wanted[] = "*2\r\n$4\r\nHGET\r\n$12\r\nkey of twelv\r\n"
                                 "*3\r\n$1\r\na\r\n$0\r\n\r\n$2\r\n\0\xff\r\n";
    struct torc_bytes words[] = {word("a"), word(""), {"\0\xff", 2}};
    ck_assert_int_eq(send_words("HGET", "key of twelv"), 0);
    ck_assert_int_eq(torc_resp_client_send(client, words, 3), 0);
    ck_assert_uint_eq(torc_resp_client_outstanding(client), 2);
    answer(":1\r\n");
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    char got[sizeof wanted];
    ck_assert_int_eq(read(server, got, sizeof got), sizeof wanted - 1);
    ck_assert_mem_eq(got, wanted, sizeof wanted - 1);
}
END_TEST

START_TEST(replies_come_in_order_however_they_are_cut)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(send_words("HGET", "k"), 0);
    }
    answer(":7\r\n$5\r\nhel");
    ck_assert_int_eq(receive(TORC_RESP_SPIN), 0);
    ck_assert_int_eq(reply->integer, 7);
    ck_assert_int_eq(torc_resp_client_receive(client, TORC_RESP_SPIN, 1000000, &reply), -ETIMEDOUT);
    ck_assert_int_eq(torc_resp_client_receive(client, TORC_RESP_SLEEP, 1000000, &reply),
                     -ETIMEDOUT);
    answer("lo\r\n*2\r\n$1\r\nx\r\n$-1\r\n");
    ck_assert_int_eq(receive(TORC_RESP_SPIN), 0);
    assert_text(reply->text, "hello");
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    ck_assert_uint_eq(reply->n_elements, 2);
    assert_text(reply->elements[0], "x");
    ck_assert_ptr_null(torc_resp_client_bytes(client, reply->elements[1]).data);
    ck_assert_uint_eq(torc_resp_client_outstanding(client), 0);
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), -ENOENT);
}
END_TEST

START_TEST(an_error_reply_is_a_reply)
{
    ck_assert_int_eq(send_words("HGET", "k"), 0);
    answer("-WRONGTYPE no\r\n");
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    ck_assert_int_eq(reply->kind, TORC_RESP_ERROR);
    assert_text(reply->text, "WRONGTYPE no");
}
END_TEST

START_TEST(nonsense_from_the_server_is_refused)
{
    ck_assert_int_eq(send_words("HGET", "k"), 0);
    answer("HTTP/1.1 400 Bad Request\r\n");
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), -EBADMSG);
}
END_TEST

START_TEST(a_server_that_leaves_is_noticed)
{
    ck_assert_int_eq(send_words("HGET", "k"), 0);
    answer(":1\r\n$10\r\nhalf");
    (void)shutdown(server, SHUT_WR);
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    ck_assert_int_eq(send_words("HGET", "k"), 0);
    ck_assert_int_eq(receive(TORC_RESP_SPIN), -EPIPE);
}
END_TEST

/* Read what has arrived; the number of bytes. */
static size_t drain_server(void)
{
    static char bytes[65536];
    size_t total = 0;
    struct pollfd poller = {.fd = server, .events = POLLIN};
    while (poll(&poller, 1, 0) == 1) {
        ssize_t n = read(server, bytes, sizeof bytes);
        ck_assert_int_gt(n, 0);
        total += (size_t)n;
    }
    return total;
}

START_TEST(a_server_that_does_not_read_fills_the_queue_and_loses_nothing)
{
    static char value[50000];
    memset(value, 'v', sizeof value);
    struct torc_bytes words[] = {word("HSET"), word("k"), word("f"), {value, sizeof value}};
    size_t n = 0;
    int rc = 0;
    while ((rc = torc_resp_client_send(client, words, 4)) == 0) {
        ck_assert_uint_lt(++n, 1000);
    }
    ck_assert_int_eq(rc, -EAGAIN);
    ck_assert_uint_gt(n, 1);
    ck_assert_uint_eq(torc_resp_client_outstanding(client), n);

    size_t each =
        sizeof "*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\nf\r\n$50000\r\n\r\n" - 1 + sizeof value;
    size_t got = 0;
    while (got < n * each) {
        ck_assert_int_eq(torc_resp_client_receive(client, TORC_RESP_SPIN, 1000, &reply),
                         -ETIMEDOUT);
        got += drain_server();
    }
    ck_assert_uint_eq(got, n * each);
    for (size_t i = 0; i < n; i++) {
        answer(":1\r\n");
    }
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    }
    ck_assert_int_eq(send_words("HGET", "k"), 0);
}
END_TEST

START_TEST(a_large_reply_arrives_whole)
{
    enum { SIZE = 300000 };
    static char value[SIZE];
    memset(value, 'w', sizeof value);
    ck_assert_int_eq(send_words("HGET", "k"), 0);
    answer("$300000\r\n");
    size_t sent = 0;
    while (sent < SIZE) {
        ssize_t n = send(server, value + sent, SIZE - sent, MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        ck_assert_int_eq(torc_resp_client_receive(client, TORC_RESP_SPIN, 1000, &reply),
                         -ETIMEDOUT);
    }
    answer("\r\n");
    ck_assert_int_eq(receive(TORC_RESP_SLEEP), 0);
    ck_assert_uint_eq(reply->text.len, SIZE);
    ck_assert_mem_eq(torc_resp_client_bytes(client, reply->text).data, value, SIZE);
}
END_TEST

START_TEST(a_port_of_this_host_is_an_address_too)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(tcp, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(tcp, 4), 0);
    ck_assert_int_eq(getsockname(tcp, (struct sockaddr *)&address, &len), 0);
    static const char *const hosts[] = {"", "127.0.0.1:", "[127.0.0.1]:"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s%u", hosts[i], ntohs(address.sin_port));
        struct torc_resp_client *other = NULL;
        ck_assert_msg(torc_resp_client_open(text, &other, error) == 0, "%s: %s", text, error);
        torc_resp_client_close(other);
    }
    (void)close(tcp);
}
END_TEST

START_TEST(a_number_beyond_the_ports_is_not_a_port)
{
    static const char *const bad[] = {
        "0",           "65536",      "71915",         "4294967376",      "-1", "+80", "127.0.0.1:0",
        "[::1]:65536", "localhost:", "127.0.0.1: 80", "127.0.0.1:65536", ""};
    struct torc_resp_client *none = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(torc_resp_client_open(bad[i], &none, error), -EINVAL);
        ck_assert_msg(strstr(error, "not a port") != NULL, "'%s': %s", bad[i], error);
    }
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(what_cannot_be_reached_says_why)
{
    struct torc_resp_client *none = NULL;
    ck_assert_int_eq(torc_resp_client_open("unix:/nowhere/at/all", &none, error), -ENOENT);
    ck_assert_str_eq(error, "/nowhere/at/all: No such file or directory");
    ck_assert_int_eq(torc_resp_client_open("/nowhere", &none, error), -ENOENT);
    ck_assert_int_eq(torc_resp_client_open("unix:", &none, error), -EINVAL);
    ck_assert_int_eq(torc_resp_client_open(":6379", &none, error), -EINVAL);
    ck_assert_int_eq(torc_resp_client_open("127.0.0.1:port", &none, error), -EINVAL);
    ck_assert_int_eq(torc_resp_client_open("127.0.0.1:1", &none, error), -ENOENT);
    char text[300];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    text[0] = '/';
    ck_assert_int_eq(torc_resp_client_open(text, &none, error), -EINVAL);
    ck_assert_ptr_null(none);
    torc_resp_client_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resp_client");
    TCase *tcase = tcase_create("resp_client");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, commands_are_arrays_of_bulk_strings);
    tcase_add_test(tcase, replies_come_in_order_however_they_are_cut);
    tcase_add_test(tcase, an_error_reply_is_a_reply);
    tcase_add_test(tcase, nonsense_from_the_server_is_refused);
    tcase_add_test(tcase, a_server_that_leaves_is_noticed);
    tcase_add_test(tcase, a_server_that_does_not_read_fills_the_queue_and_loses_nothing);
    tcase_add_test(tcase, a_large_reply_arrives_whole);
    tcase_add_test(tcase, a_port_of_this_host_is_an_address_too);
    tcase_add_test(tcase, a_number_beyond_the_ports_is_not_a_port);
    tcase_add_test(tcase, what_cannot_be_reached_says_why);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
