/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP connections, against a whole server that is driven step by step.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/tools/server_fixture.h"
#include "tools/torcd/connection.h"

static struct torc_fixture f;

static void set_up(void)
{
    torc_fixture_init(&f);
}

static void tear_down(void)
{
    torc_fixture_fini(&f);
}

static void set(const char *name, const char *value)
{
    torc_fixture_set(&f, name, value);
}

static int open_server(void)
{
    torc_fixture_start(&f);
    return torc_fixture_connect(&f);
}

#define EXPECT(fd, request, reply) torc_fixture_expect(&f, (fd), (request), (reply))

static void hang_up(int fd)
{
    ck_assert_int_eq(close(fd), 0);
    torc_fixture_settle(&f);
}

static const struct torc_stats *stats(void)
{
    return &torc_server_service(f.server)->stats;
}

static uint64_t connections(void)
{
    return torc_server_service(f.server)->gauges.connections;
}

START_TEST(hashes_are_served)
{
    int fd = open_server();
    EXPECT(fd, "HSET h a 1 b 2\r\n", ":2\r\n");
    EXPECT(fd, "HSET h a 3 a 4\r\n", ":0\r\n");
    EXPECT(fd, "HGET h a\r\n", "$1\r\n4\r\n");
    EXPECT(fd, "HGET h zz\r\n", "$-1\r\n");
    EXPECT(fd, "HMGET h a zz b a\r\n", "*4\r\n$1\r\n4\r\n$-1\r\n$1\r\n2\r\n$1\r\n4\r\n");
    EXPECT(fd, "HGETALL h\r\n", "*4\r\n$1\r\na\r\n$1\r\n4\r\n$1\r\nb\r\n$1\r\n2\r\n");
    EXPECT(fd, "HLEN h\r\n", ":2\r\n");
    EXPECT(fd, "HEXISTS h a\r\n", ":1\r\n");
    EXPECT(fd, "HDEL h a a zz\r\n", ":1\r\n");
    EXPECT(fd, "HDEL h b\r\n", ":1\r\n");
    EXPECT(fd, "EXISTS h h\r\n", ":0\r\n");
    EXPECT(fd, "HGETALL h\r\n", "*0\r\n");
    hang_up(fd);
}
END_TEST

/* The replies must not depend on how the bytes arrive. */
START_TEST(a_pipeline_may_be_cut_at_every_byte)
{
    static const char request[] = "*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\nf\r\n$5\r\nv\r\n1v\r\n"
                                  "*3\r\n$4\r\nHGET\r\n$1\r\nk\r\n$1\r\nf\r\nPING x\r\n*2\r\n"
                                  "$4\r\nECHO\r\n$0\r\n\r\nDEL k\n";
    static const char reply[] = ":1\r\n$5\r\nv\r\n1v\r\n$1\r\nx\r\n$0\r\n\r\n:1\r\n";
    int fd = open_server();
    for (size_t cut = 0; cut < sizeof request; cut++) {
        char got[sizeof reply] = "";
        torc_fixture_send(&f, fd, request, cut < sizeof request - 1 ? cut : sizeof request - 1);
        torc_fixture_settle(&f);
        if (cut < sizeof request - 1) {
            torc_fixture_send(&f, fd, request + cut, sizeof request - 1 - cut);
        }
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, sizeof reply - 1), sizeof reply - 1);
        ck_assert_str_eq(got, reply);
    }
    for (size_t i = 0; i < sizeof request - 1; i++) {
        torc_fixture_send(&f, fd, request + i, 1);
        torc_fixture_settle(&f);
    }
    char got[sizeof reply] = "";
    ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, sizeof reply - 1), sizeof reply - 1);
    ck_assert_str_eq(got, reply);
    hang_up(fd);
}
END_TEST

START_TEST(a_deep_pipeline_is_answered_in_order_and_in_bounded_visits)
{
    enum { N = 3000 };
    int fd = open_server();
    char *request = malloc((size_t)N * 64);
    ck_assert_ptr_nonnull(request);
    size_t len = 0;
    for (int i = 0; i < N; i++) {
        len += (size_t)snprintf(request + len, 64, "*2\r\n$4\r\nECHO\r\n$6\r\nn%05d\r\n", i);
    }
    torc_fixture_send(&f, fd, request, len);
    free(request);
    uint64_t before = stats()->commands_total;
    for (int i = 0; i < N; i++) {
        char wanted[32];
        char got[32] = "";
        size_t n = (size_t)snprintf(wanted, sizeof wanted, "$6\r\nn%05d\r\n", i);
        while (recv(fd, got, n, MSG_PEEK) != (ssize_t)n) {
            (void)torc_server_step(f.server);
            ck_assert_uint_le(stats()->commands_total - before, TORC_CONNECTION_VISIT_COMMANDS);
            before = stats()->commands_total;
        }
        ck_assert_int_eq(recv(fd, got, n, 0), (ssize_t)n);
        ck_assert_str_eq(got, wanted);
    }
    hang_up(fd);
}
END_TEST

/* $len\r\n, len bytes of `fill`, \r\n at `to`, which has 32 bytes more; returns its length. */
static size_t put_bulk(char *to, char fill, size_t len)
{
    size_t n = (size_t)snprintf(to, 32, "$%zu\r\n", len);
    memset(to + n, fill, len);
    to[n + len] = '\r';
    to[n + len + 1] = '\n';
    return n + len + 2;
}

static void send_hset(int fd, char *request, char fill, size_t len)
{
    size_t n = (size_t)snprintf(request, 64, "*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\n%c\r\n", fill);
    n += put_bulk(request + n, fill, len);
    torc_fixture_send(&f, fd, request, n);
}

START_TEST(large_values_go_in_and_out)
{
    static const size_t lengths[] = {33000, 65535, 65536, 1 << 20, (1 << 20) + 1, 9 << 20};
    int fd = open_server();
    char *buffer = malloc(10 << 20);
    char *got = malloc(10 << 20);
    ck_assert(buffer != NULL && got != NULL);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        send_hset(fd, buffer, 'v', lengths[i]);
        EXPECT(fd, "", i == 0 ? ":1\r\n" : ":0\r\n");
        torc_fixture_send(&f, fd, "HGET k v\r\n", 10);
        size_t n = put_bulk(buffer, 'v', lengths[i]);
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, n), n);
        ck_assert_mem_eq(got, buffer, n);
    }
    free(buffer);
    free(got);
    hang_up(fd);
}
END_TEST

/* Larger than all socket buffers together: neither side may wait for the other to read first. */
START_TEST(a_client_may_write_all_before_it_reads)
{
    const size_t len = 8 << 20;
    int fd = open_server();
    char *buffer = malloc(len + 64);
    ck_assert_ptr_nonnull(buffer);
    send_hset(fd, buffer, 'a', len);
    EXPECT(fd, "", ":1\r\n");
    torc_fixture_send(&f, fd, "HGET k a\r\n", 10);
    send_hset(fd, buffer, 'b', len);
    size_t n = put_bulk(buffer, 'a', len);
    char *got = malloc(n);
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, n), n);
    ck_assert_mem_eq(got, buffer, n);
    EXPECT(fd, "", ":1\r\n");
    free(got);
    free(buffer);
    hang_up(fd);
}
END_TEST

/* What is pending for slow readers is bounded, and nothing that they asked for is lost. */
START_TEST(a_client_that_takes_no_replies_waits_and_then_gets_them_all)
{
    enum { REPLIES = 64, LEN = 262144 };
    set("client-output-buffer-max", "2mb");
    int fd = open_server();
    int other = torc_fixture_connect(&f);
    char *buffer = malloc(LEN + 64);
    char *got = malloc(LEN + 64);
    ck_assert(buffer != NULL && got != NULL);
    send_hset(fd, buffer, 'v', LEN);
    EXPECT(fd, "", ":1\r\n");
    uint64_t before = stats()->commands_total;
    for (int i = 0; i < REPLIES; i++) {
        torc_fixture_send(&f, fd, "HGET k v\r\n", 10);
    }
    torc_fixture_settle(&f);
    /* Those that are pending, one that passed the mark, and what the socket took. */
    ck_assert_uint_lt(stats()->commands_total - before, 16);
    EXPECT(other, "HLEN k\r\n", ":1\r\n");
    size_t n = put_bulk(buffer, 'v', LEN);
    for (int i = 0; i < REPLIES; i++) {
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, n), n);
        ck_assert_mem_eq(got, buffer, n);
    }
    EXPECT(fd, "PING\r\n", "+PONG\r\n");
    ck_assert_uint_eq(stats()->resp_dropped, 0);
    free(buffer);
    free(got);
    hang_up(fd);
    hang_up(other);
}
END_TEST

/* It writes more than is read ahead, and only its own writing waits. */
START_TEST(requests_of_a_client_that_takes_no_replies_are_read_ahead_up_to_a_bound)
{
    enum { LEN = 262144, AHEAD = 512 * 1024 };
    static const char echo[] = "*2\r\n$4\r\nECHO\r\n$4\r\nnext\r\n";
    set("client-output-buffer-max", "1mb");
    set("client-query-buffer-limit", "1mb");
    int fd = open_server();
    char *buffer = malloc(LEN + 64);
    ck_assert_ptr_nonnull(buffer);
    send_hset(fd, buffer, 'v', LEN);
    EXPECT(fd, "", ":1\r\n");
    torc_fixture_send(&f, fd, "HGET k v\r\nHGET k v\r\nHGET k v\r\nHGET k v\r\n", 40);
    torc_fixture_settle(&f);
    size_t n_echoes = 0;
    for (;;) {
        ssize_t n = send(fd, echo, sizeof echo - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            torc_fixture_settle(&f);
            n = send(fd, echo, sizeof echo - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (n < 0) {
            break;
        }
        ck_assert_int_eq(n, sizeof echo - 1);
        n_echoes++;
    }
    ck_assert_uint_gt(n_echoes * (sizeof echo - 1), AHEAD);
    ck_assert_uint_lt(n_echoes * (sizeof echo - 1), (size_t)2 * AHEAD);
    ck_assert_uint_eq(connections(), 1);
    size_t n = put_bulk(buffer, 'v', LEN);
    char *got = malloc(n);
    ck_assert_ptr_nonnull(got);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, n), n);
        ck_assert_mem_eq(got, buffer, n);
    }
    for (size_t i = 0; i < n_echoes; i++) {
        EXPECT(fd, "", "$4\r\nnext\r\n");
    }
    free(got);
    free(buffer);
    hang_up(fd);
}
END_TEST

/* The end of the client's half does not overtake its requests. */
START_TEST(requests_that_wait_are_executed_though_their_client_has_shut_its_half)
{
    enum { REPLIES = 24, LEN = 262144 };
    set("client-output-buffer-max", "1mb");
    int fd = open_server();
    char *buffer = malloc(LEN + 64);
    char *got = malloc(LEN + 64);
    ck_assert(buffer != NULL && got != NULL);
    send_hset(fd, buffer, 'v', LEN);
    EXPECT(fd, "", ":1\r\n");
    for (int i = 0; i < REPLIES; i++) {
        torc_fixture_send(&f, fd, "HGET k v\r\n", 10);
    }
    torc_fixture_send(&f, fd, "HSET k last 1\r\n", 15);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    torc_fixture_settle(&f);
    size_t n = put_bulk(buffer, 'v', LEN);
    for (int i = 0; i < REPLIES; i++) {
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, got, n), n);
        ck_assert_mem_eq(got, buffer, n);
    }
    EXPECT(fd, "", ":1\r\n");
    torc_fixture_expect_end(&f, fd);
    free(buffer);
    free(got);
}
END_TEST

/* A dead client's replies are freed over many steps, each of them short. */
START_TEST(replies_that_nobody_takes_any_more_are_freed_in_steps)
{
    enum { LEN = 48 << 20, STEP_MAX = 5 << 20 };
    set("client-output-buffer-max", "256mb");
    int fd = open_server();
    int other = torc_fixture_connect(&f);
    char *buffer = malloc((1 << 20) + 64);
    ck_assert_ptr_nonnull(buffer);
    send_hset(fd, buffer, 'v', 1 << 10);
    EXPECT(fd, "", ":1\r\n");
    char request[64];
    size_t n =
        (size_t)snprintf(request, sizeof request, "HRANDFIELD k -%d WITHVALUES\r\n", LEN / 1024);
    torc_fixture_send(&f, fd, request, n);
    torc_fixture_settle(&f);
    const uint64_t *held = &torc_server_service(f.server)->gauges.connection_bytes;
    ck_assert_int_eq(close(fd), 0);
    unsigned n_steps = 0;
    uint64_t most = 0;
    while (connections() == 2) {
        (void)torc_server_step(f.server);
    }
    uint64_t last = *held;
    ck_assert_uint_gt(last, LEN - STEP_MAX);
    while (*held > STEP_MAX) {
        (void)torc_server_step(f.server);
        most = torc_max_u64(most, last - *held);
        last = *held;
        n_steps++;
    }
    ck_assert_uint_le(most, STEP_MAX);
    ck_assert_uint_ge(n_steps, LEN / STEP_MAX - 1);
    EXPECT(other, "HLEN k\r\n", ":1\r\n");
    free(buffer);
    hang_up(other);
}
END_TEST

START_TEST(a_count_whose_reply_can_never_fit_is_refused_and_the_connection_stays)
{
    static const char *const counts[] = {"-536870912",  "-1073741824",          "-2147483647",
                                         "-2147483648", "-4611686018427387904", "-4294967296",
                                         "-200000",     "-9223372036854775807"};
    set("client-output-buffer-max", "1mb");
    int fd = open_server();
    EXPECT(fd, "HSET h f v\r\n", ":1\r\n");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char request[128];
        (void)snprintf(request, sizeof request, "HRANDFIELD h %s\r\nECHO nonce\r\n", counts[i]);
        EXPECT(fd, request,
               "-ERR reply exceeds the output limit (client-output-buffer-max)\r\n"
               "$5\r\nnonce\r\n");
    }
    EXPECT(fd, "HRANDFIELD h 2147483648 WITHVALUES\r\nECHO nonce\r\n",
           "*2\r\n$1\r\nf\r\n$1\r\nv\r\n$5\r\nnonce\r\n");
    EXPECT(fd, "HRANDFIELD h 0\r\nHRANDFIELD none -9223372036854775807\r\n", "*0\r\n*0\r\n");
    /* It could fit if fields had no bytes. It does not: memory stays within the limit. */
    EXPECT(fd, "HRANDFIELD h -170000\r\n", "");
    torc_fixture_expect_end(&f, fd);
    ck_assert_uint_eq(stats()->resp_dropped, 1);
    ck_assert_uint_eq(torc_server_service(f.server)->gauges.connection_bytes, 0);
}
END_TEST

START_TEST(a_request_above_the_query_limit_is_cut)
{
    set("client-query-buffer-limit", "1mb");
    int fd = open_server();
    char *buffer = malloc(2 << 20);
    ck_assert_ptr_nonnull(buffer);
    size_t n = (size_t)snprintf(buffer, 64, "*3\r\n$4\r\nHGET\r\n");
    n += put_bulk(buffer + n, 'k', (1 << 20) + 100);
    size_t sent = 0;
    while (sent < n) {
        ssize_t now = send(fd, buffer + sent, n - sent, MSG_NOSIGNAL);
        if (now < 0 && errno != EAGAIN) {
            break;
        }
        sent += now > 0 ? (size_t)now : 0;
        (void)torc_server_step(f.server);
    }
    free(buffer);
    torc_fixture_expect_end(&f, fd);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

START_TEST(a_protocol_error_comes_behind_the_replies_due_and_ends_the_connection)
{
    int fd = open_server();
    EXPECT(fd, "PING\r\n*1\r\n$x\r\nPING\r\n",
           "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n");
    torc_fixture_expect_end(&f, fd);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

/* What the poller has to say of it at its end is the last message there is; leaks are for the
 * sanitizer to find. */
START_TEST(a_connection_may_be_at_its_end_when_the_server_stops)
{
    int fd = open_server();
    EXPECT(fd, "*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n");
    ck_assert_uint_eq(connections(), 1);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(http_is_closed_without_a_word)
{
    int fd = open_server();
    torc_fixture_send(&f, fd, "POST / HTTP/1.1\r\nHost: x\r\n\r\nHSET k f v\r\n", 41);
    torc_fixture_expect_end(&f, fd);
    fd = torc_fixture_connect(&f);
    EXPECT(fd, "EXISTS k\r\n", ":0\r\n");
    hang_up(fd);
}
END_TEST

START_TEST(nothing_behind_quit_is_executed)
{
    int fd = open_server();
    EXPECT(fd, "QUIT\r\nHSET k f v\r\n", "+OK\r\n");
    torc_fixture_expect_end(&f, fd);
    fd = torc_fixture_connect(&f);
    EXPECT(fd, "EXISTS k\r\n", ":0\r\n");
    hang_up(fd);
}
END_TEST

START_TEST(a_client_that_shuts_its_half_still_gets_its_replies)
{
    int fd = open_server();
    torc_fixture_send(&f, fd, "HSET k f v\r\nHGET k f\r\n", 22);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    EXPECT(fd, "", ":1\r\n$1\r\nv\r\n");
    torc_fixture_expect_end(&f, fd);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

START_TEST(hello_switches_the_protocol_for_what_follows)
{
    int fd = open_server();
    EXPECT(fd, "HGET k f\r\n", "$-1\r\n");
    EXPECT(fd, "HELLO 3 SETNAME me\r\nHGET k f\r\nHGETALL k\r\nCLIENT GETNAME\r\n",
           "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n$5\r\nproto\r\n"
           ":3\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\n"
           "master\r\n$7\r\nmodules\r\n*0\r\n_\r\n%0\r\n$2\r\nme\r\n");
    EXPECT(fd, "HELLO 4\r\n", "-NOPROTO unsupported protocol version\r\n");
    EXPECT(fd, "HGET k f\r\n", "_\r\n");
    EXPECT(fd, "CLIENT ID\r\nCLIENT SETNAME \"\"\r\nCLIENT GETNAME\r\n", ":1\r\n+OK\r\n_\r\n");
    hang_up(fd);
}
END_TEST

START_TEST(writes_are_refused_at_maxmemory_and_nothing_else_is)
{
    set("maxmemory", "3mb");
    int fd = open_server();
    char *buffer = malloc(200000);
    ck_assert_ptr_nonnull(buffer);
    char reply[8];
    int n_stored = 0;
    do {
        char field = (char)('A' + n_stored);
        send_hset(fd, buffer, field, 100000);
        ck_assert_uint_eq(torc_fixture_receive(&f, fd, reply, 4), 4);
        n_stored += memcmp(reply, ":1\r\n", 4) == 0;
        ck_assert_int_lt(n_stored, 50);
    } while (memcmp(reply, ":1\r\n", 4) == 0);
    EXPECT(fd, "", " command not allowed when used memory > 'maxmemory'.\r\n");
    ck_assert_mem_eq(reply, "-OOM", 4);
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, ":%d\r\n", n_stored);
    EXPECT(fd, "HLEN k\r\n", wanted);
    EXPECT(fd, "HEXISTS k A\r\nDEL k\r\n", ":1\r\n:1\r\n");
    torc_fixture_settle(&f);
    send_hset(fd, buffer, 'z', 100000);
    EXPECT(fd, "", ":1\r\n");
    free(buffer);
    hang_up(fd);
}
END_TEST

START_TEST(clients_above_the_limit_are_told_and_closed)
{
    set("maxclients", "2");
    int a = open_server();
    int b = torc_fixture_connect(&f);
    EXPECT(a, "PING\r\n", "+PONG\r\n");
    EXPECT(b, "PING\r\n", "+PONG\r\n");
    int c = torc_fixture_connect(&f);
    EXPECT(c, "", "-ERR max number of clients reached\r\n");
    torc_fixture_expect_end(&f, c);
    hang_up(a);
    c = torc_fixture_connect(&f);
    EXPECT(c, "PING\r\n", "+PONG\r\n");
    hang_up(b);
    hang_up(c);
}
END_TEST

START_TEST(connections_leave_nothing_behind)
{
    int fd = open_server();
    EXPECT(fd, "HSET k f v\r\n", ":1\r\n");
    hang_up(fd);
    unsigned descriptors = torc_fixture_count_descriptors();
    uint64_t bytes = torc_server_service(f.server)->gauges.connection_bytes;
    for (int i = 0; i < 100; i++) {
        int many[8];
        for (int j = 0; j < 8; j++) {
            many[j] = torc_fixture_connect(&f);
            torc_fixture_send(&f, many[j], "HGETALL k\r\n*3\r\n$4\r\nHG", (size_t)11 + (size_t)j);
        }
        (void)torc_server_step(f.server);
        for (int j = 0; j < 8; j++) {
            ck_assert_int_eq(close(many[j]), 0);
        }
        torc_fixture_settle(&f);
    }
    ck_assert_uint_eq(torc_fixture_count_descriptors(), descriptors);
    ck_assert_uint_eq(torc_server_service(f.server)->gauges.connection_bytes, bytes);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

START_TEST(the_same_value_takes_the_same_memory_inline_and_in_an_array)
{
    int fd = open_server();
    EXPECT(fd, "HSET a f 123456789012345678901234567890abc\r\n", ":1\r\n");
    EXPECT(fd,
           "*4\r\n$4\r\nHSET\r\n$1\r\nb\r\n$1\r\nf\r\n$33\r\n123456789012345678901234567890abc\r\n",
           ":1\r\n");
    char a[64] = "";
    torc_fixture_send(&f, fd, "MEMORY USAGE a\r\n", 16);
    torc_fixture_settle(&f);
    ck_assert_int_gt(recv(fd, a, sizeof a - 1, 0), 0);
    EXPECT(fd, "MEMORY USAGE b SAMPLES 0\r\n", a);
    hang_up(fd);
}
END_TEST

START_TEST(scan_sees_every_key_once_it_pages_through)
{
    enum { N = 500 };
    int fd = open_server();
    for (int i = 0; i < N; i++) {
        char request[64];
        (void)snprintf(request, sizeof request, "HSET key:%d f v\r\n", i);
        EXPECT(fd, request, ":1\r\n");
    }
    static bool seen[N];
    memset(seen, 0, sizeof seen);
    unsigned long long cursor = 0;
    int pages = 0;
    do {
        char request[64];
        char reply[65536];
        int n = snprintf(request, sizeof request, "SCAN %llu COUNT 20 MATCH key:*\r\n", cursor);
        torc_fixture_send(&f, fd, request, (size_t)n);
        torc_fixture_settle(&f);
        ssize_t len = recv(fd, reply, sizeof reply - 1, 0);
        ck_assert_int_gt(len, 0);
        reply[len] = '\0';
        cursor = strtoull(strchr(strchr(reply, '$'), '\n') + 1, NULL, 10);
        for (const char *p = strstr(reply, "key:"); p != NULL; p = strstr(p + 1, "key:")) {
            seen[strtoul(p + 4, NULL, 10)] = true;
        }
        ck_assert_int_lt(++pages, N);
    } while (cursor != 0);
    ck_assert_int_gt(pages, 5);
    for (int i = 0; i < N; i++) {
        ck_assert(seen[i]);
    }
    hang_up(fd);
}
END_TEST

START_TEST(too_few_and_too_many_words_are_refused)
{
    static const struct {
        const char *request;
        const char *name;
    } cases[] = {
        {"HGET\r\n", "hget"},
        {"HGET k\r\n", "hget"},
        {"HGET k f x\r\n", "hget"},
        {"HSET k f\r\n", "hset"},
        {"HSET k f v x\r\n", "hset"},
        {"HMGET k\r\n", "hmget"},
        {"HGETALL\r\n", "hgetall"},
        {"HGETALL k x\r\n", "hgetall"},
        {"DEL\r\n", "del"},
        {"SCAN\r\n", "scan"},
        {"SELECT\r\n", "select"},
        {"SELECT 0 0\r\n", "select"},
        {"DBSIZE x\r\n", "dbsize"},
        {"MEMORY\r\n", "memory"},
        {"MEMORY USAGE\r\n", "memory|usage"},
        {"OBJECT ENCODING\r\n", "object|encoding"},
        {"OBJECT ENCODING k x\r\n", "object|encoding"},
        {"CLIENT ID x\r\n", "client|id"},
        {"CONFIG GET\r\n", "config|get"},
    };
    int fd = open_server();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "-ERR wrong number of arguments for '%s' command\r\n",
                       cases[i].name);
        EXPECT(fd, cases[i].request, wanted);
    }
    EXPECT(fd, "memory|usage k\r\n",
           "-ERR unknown command 'memory|usage', with args beginning with: 'k' \r\n");
    EXPECT(fd, "client|id\r\n", "-ERR unknown command 'client|id'\r\n");
    EXPECT(fd, "\"\" x\r\n", "-ERR unknown command '', with args beginning with: 'x' \r\n");
    hang_up(fd);
}
END_TEST

START_TEST(counters_of_commands_and_errors_are_kept)
{
    int fd = open_server();
    EXPECT(fd, "HSET k f v\r\nHGET k f\r\nHGET k g\r\n", ":1\r\n$1\r\nv\r\n$-1\r\n");
    EXPECT(fd, "HGET k\r\n", "-ERR wrong number of arguments for 'hget' command\r\n");
    EXPECT(fd, "SCAN 0 COUNT x\r\n", "-ERR value is not an integer or out of range\r\n");
    EXPECT(fd, "FOO\r\n", "-ERR unknown command 'FOO'\r\n");
    ck_assert_uint_eq(stats()->commands[TORC_OP_HGET].calls, 2);
    ck_assert_uint_eq(stats()->commands[TORC_OP_HGET].rejected, 1);
    ck_assert_uint_eq(stats()->commands[TORC_OP_SCAN].failed, 1);
    ck_assert_uint_eq(stats()->hits, 1);
    ck_assert_uint_eq(stats()->misses, 1);
    ck_assert_uint_eq(stats()->faults[TORC_FAULT_UNKNOWN_COMMAND_ALONE], 1);
    hang_up(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connection");
    TCase *tcase = tcase_create("connection");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, hashes_are_served);
    tcase_add_test(tcase, a_pipeline_may_be_cut_at_every_byte);
    tcase_add_test(tcase, a_deep_pipeline_is_answered_in_order_and_in_bounded_visits);
    tcase_add_test(tcase, large_values_go_in_and_out);
    tcase_add_test(tcase, a_client_may_write_all_before_it_reads);
    tcase_add_test(tcase, a_client_that_takes_no_replies_waits_and_then_gets_them_all);
    tcase_add_test(tcase, requests_of_a_client_that_takes_no_replies_are_read_ahead_up_to_a_bound);
    tcase_add_test(tcase, requests_that_wait_are_executed_though_their_client_has_shut_its_half);
    tcase_add_test(tcase, replies_that_nobody_takes_any_more_are_freed_in_steps);
    tcase_add_test(tcase, a_count_whose_reply_can_never_fit_is_refused_and_the_connection_stays);
    tcase_add_test(tcase, a_request_above_the_query_limit_is_cut);
    tcase_add_test(tcase, a_protocol_error_comes_behind_the_replies_due_and_ends_the_connection);
    tcase_add_test(tcase, a_connection_may_be_at_its_end_when_the_server_stops);
    tcase_add_test(tcase, http_is_closed_without_a_word);
    tcase_add_test(tcase, nothing_behind_quit_is_executed);
    tcase_add_test(tcase, a_client_that_shuts_its_half_still_gets_its_replies);
    tcase_add_test(tcase, hello_switches_the_protocol_for_what_follows);
    tcase_add_test(tcase, writes_are_refused_at_maxmemory_and_nothing_else_is);
    tcase_add_test(tcase, clients_above_the_limit_are_told_and_closed);
    tcase_add_test(tcase, connections_leave_nothing_behind);
    tcase_add_test(tcase, the_same_value_takes_the_same_memory_inline_and_in_an_array);
    tcase_add_test(tcase, scan_sees_every_key_once_it_pages_through);
    tcase_add_test(tcase, too_few_and_too_many_words_are_refused);
    tcase_add_test(tcase, counters_of_commands_and_errors_are_kept);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
