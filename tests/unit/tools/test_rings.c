/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring sessions of a running server: its threads run here, the test is the client.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ring/attachment.h"
#include "tests/unit/tools/server_fixture.h"

#define DEADLINE_NS 60000000000ull

static struct torc_fixture f;
static pthread_t server_thread;
static bool is_running;

static void *run_server(void *arg)
{
    int rc = torc_server_run(arg, NULL, NULL);
    return rc == 0 ? NULL : arg;
}

static void set_up(void)
{
    torc_fixture_init(&f);
    is_running = false;
}

static void start(void)
{
    torc_fixture_start(&f);
    ck_assert_int_eq(pthread_create(&server_thread, NULL, run_server, f.server), 0);
    is_running = true;
}

static void stop(void)
{
    void *result = NULL;
    torc_server_stop(f.server);
    ck_assert_int_eq(pthread_join(server_thread, &result), 0);
    ck_assert_ptr_null(result);
    is_running = false;
}

static void tear_down(void)
{
    if (is_running) {
        stop();
    }
    torc_fixture_fini(&f);
}

static uint64_t deadline(void)
{
    return torc_clock_monotonic_ns() + DEADLINE_NS;
}

static struct torc_attachment *attach_with(uint32_t slots, uint32_t area_bytes)
{
    struct torc_attachment_options options = {
        .path = f.control_path,
        .name = "test",
        .slots = slots,
        .request_area_bytes = area_bytes,
        .reply_area_bytes = area_bytes,
        .wait = TORC_WAIT_YIELD,
        .deadline_ns = deadline(),
    };
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    struct torc_attachment *attachment = NULL;
    int rc = torc_attachment_open(&options, &attachment, why);
    ck_assert_msg(rc == 0, "%d %s", rc, why);
    return attachment;
}

static struct torc_attachment *attach(void)
{
    return attach_with(0, 0);
}

/* Publish a request. */
static void submit(struct torc_attachment *a, uint8_t op, const uint64_t *numbers,
                   const struct torc_slice *strings, uint32_t n)
{
    size_t len = torc_request_size(op, strings, n);
    ck_assert_uint_ne(len, 0);
    int error = 0;
    uint8_t *to = torc_attachment_reserve(a, len, &error);
    ck_assert_msg(to != NULL, "reserve: %d", error);
    ck_assert_uint_eq(torc_request_encode(to, op, 5, numbers, strings, n), len);
    ck_assert_int_eq(torc_attachment_commit(a, len, deadline()), 0);
}

/* Wait for the oldest reply; it borrows until the next call. */
static struct torc_reply collect(struct torc_attachment *a)
{
    struct torc_slice message;
    struct torc_reply reply;
    int rc = torc_attachment_wait(a, deadline(), &message);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(torc_reply_decode(message.data, message.len, &reply), 0);
    return reply;
}

static void consume(struct torc_attachment *a)
{
    torc_attachment_consume(a);
}

static struct torc_reply call(struct torc_attachment *a, uint8_t op,
                              const struct torc_slice *strings, uint32_t n)
{
    static const uint64_t zero[TORC_MESSAGE_NUMBERS];
    submit(a, op, zero, strings, n);
    return collect(a);
}

#define S(text) torc_slice_str(text)
#define CALL(a, op, ...)                                                                           \
    call((a), (op), (const struct torc_slice[]){__VA_ARGS__},                                      \
         sizeof((const struct torc_slice[]){__VA_ARGS__}) / sizeof(struct torc_slice))

static void expect_integer(struct torc_attachment *a, struct torc_reply reply, int64_t wanted)
{
    ck_assert_int_eq(reply.kind, TORC_REPLY_INT);
    ck_assert_int_eq(reply.integer, wanted);
    consume(a);
}

static void expect_bytes(struct torc_attachment *a, struct torc_reply reply, const char *wanted)
{
    ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
    ck_assert_uint_eq(reply.bytes.len, strlen(wanted));
    ck_assert_mem_eq(reply.bytes.data, wanted, reply.bytes.len);
    consume(a);
}

static void expect_error(struct torc_attachment *a, struct torc_reply reply,
                         enum torc_wire_status status, const char *text)
{
    ck_assert_int_eq(reply.kind, TORC_REPLY_ERROR);
    ck_assert_int_eq(reply.status, status);
    ck_assert_uint_eq(reply.bytes.len, strlen(text));
    ck_assert_mem_eq(reply.bytes.data, text, reply.bytes.len);
    consume(a);
}

/* The number behind `name:` in INFO. */
static uint64_t info(struct torc_attachment *a, const char *name)
{
    struct torc_reply reply = CALL(a, TORC_OP_INFO, S("all"));
    ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
    char *text = malloc(reply.bytes.len + 1);
    ck_assert_ptr_nonnull(text);
    memcpy(text, reply.bytes.data, reply.bytes.len);
    text[reply.bytes.len] = '\0';
    consume(a);
    const char *at = strstr(text, name);
    ck_assert_msg(at != NULL && at[strlen(name)] == ':', "%s", name);
    uint64_t value = strtoull(at + strlen(name) + 1, NULL, 10);
    free(text);
    return value;
}

static void wait_for(struct torc_attachment *a, const char *name, uint64_t wanted)
{
    uint64_t end = deadline();
    while (info(a, name) != wanted) {
        ck_assert_msg(torc_clock_monotonic_ns() < end, "%s stays %llu", name,
                      (unsigned long long)info(a, name));
        (void)sched_yield();
    }
}

START_TEST(every_op_is_served)
{
    start();
    struct torc_attachment *a = attach();
    ck_assert_int_eq(call(a, TORC_OP_PING, NULL, 0).kind, TORC_REPLY_TEXT);
    consume(a);
    expect_bytes(a, CALL(a, TORC_OP_PING, S("hi")), "hi");
    expect_bytes(a, CALL(a, TORC_OP_ECHO, S("hi")), "hi");
    expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("a"), S("1"), S("b"), S("2")), 2);
    expect_bytes(a, CALL(a, TORC_OP_HGET, S("h"), S("b")), "2");
    ck_assert_int_eq(CALL(a, TORC_OP_HGET, S("h"), S("zz")).kind, TORC_REPLY_NULL);
    consume(a);
    struct torc_reply reply = CALL(a, TORC_OP_HMGET, S("h"), S("b"), S("zz"), S("a"));
    ck_assert_int_eq(reply.kind, TORC_REPLY_ARRAY);
    ck_assert_uint_eq(reply.count, 3);
    ck_assert(torc_slice_equal(torc_reply_at(&reply, 0), S("2")));
    ck_assert_ptr_null(torc_reply_at(&reply, 1).data);
    consume(a);
    reply = CALL(a, TORC_OP_HGETALL, S("h"));
    ck_assert_int_eq(reply.kind, TORC_REPLY_PAIRS);
    ck_assert_uint_eq(reply.count, 4);
    consume(a);
    expect_integer(a, CALL(a, TORC_OP_HLEN, S("h")), 2);
    expect_integer(a, CALL(a, TORC_OP_HEXISTS, S("h"), S("a")), 1);
    expect_integer(a, CALL(a, TORC_OP_EXISTS, S("h"), S("h"), S("x")), 2);
    reply = CALL(a, TORC_OP_TYPE, S("h"));
    ck_assert(torc_slice_equal(reply.bytes, S("hash")));
    consume(a);
    expect_bytes(a, CALL(a, TORC_OP_OBJECT_ENCODING, S("h")), "listpack");
    ck_assert_int_gt(CALL(a, TORC_OP_MEMORY_USAGE, S("h"), S("SAMPLES"), S("0")).integer, 0);
    consume(a);
    expect_integer(a, call(a, TORC_OP_DBSIZE, NULL, 0), 1);
    reply = CALL(a, TORC_OP_SCAN, S("MATCH"), S("*"), S("COUNT"), S("100"));
    ck_assert_int_eq(reply.kind, TORC_REPLY_CURSOR);
    ck_assert_uint_eq(reply.cursor, 0);
    ck_assert_uint_eq(reply.count, 1);
    consume(a);
    ck_assert_int_eq(call(a, TORC_OP_SELECT, (const struct torc_slice *)NULL, 0).kind,
                     TORC_REPLY_OK);
    consume(a);
    ck_assert_int_eq(call(a, TORC_OP_COMMAND, NULL, 0).kind, TORC_REPLY_ARRAY);
    consume(a);
    ck_assert_int_gt(CALL(a, TORC_OP_COMMAND, S("COUNT")).integer, 20);
    consume(a);
    expect_integer(a, CALL(a, TORC_OP_HSETNX, S("h"), S("a"), S("x")), 0);
    ck_assert_int_eq(CALL(a, TORC_OP_HMSET, S("h"), S("n"), S("5")).kind, TORC_REPLY_OK);
    consume(a);
    static const uint64_t minus_7[TORC_MESSAGE_NUMBERS] = {(uint64_t)-7};
    submit(a, TORC_OP_HINCRBY, minus_7, (const struct torc_slice[]){S("h"), S("n")}, 2);
    expect_integer(a, collect(a), -2);
    expect_bytes(a, CALL(a, TORC_OP_HINCRBYFLOAT, S("h"), S("n"), S("0.5")), "-1.5");
    expect_integer(a, CALL(a, TORC_OP_HSTRLEN, S("h"), S("n")), 4);
    ck_assert_uint_eq(CALL(a, TORC_OP_HKEYS, S("h")).count, 3);
    consume(a);
    ck_assert_uint_eq(CALL(a, TORC_OP_HVALS, S("h")).count, 3);
    consume(a);
    ck_assert_uint_eq(CALL(a, TORC_OP_HSCAN, S("h"), S("NOVALUES")).count, 3);
    consume(a);
    ck_assert_int_eq(CALL(a, TORC_OP_HRANDFIELD, S("h")).kind, TORC_REPLY_BYTES);
    consume(a);
    ck_assert_uint_eq(CALL(a, TORC_OP_HRANDFIELD, S("h"), S("-9"), S("withvalues")).count, 18);
    consume(a);
    expect_integer(a, CALL(a, TORC_OP_TOUCH, S("h"), S("x")), 1);
    expect_bytes(a, call(a, TORC_OP_RANDOMKEY, NULL, 0), "h");
    ck_assert_uint_eq(CALL(a, TORC_OP_KEYS, S("*")).count, 1);
    consume(a);
    ck_assert_uint_eq(call(a, TORC_OP_TIME, NULL, 0).count, 2);
    consume(a);
    ck_assert_uint_eq(CALL(a, TORC_OP_CONFIG_GET, S("maxmemory"), S("save")).count, 4);
    consume(a);
    ck_assert_int_eq(call(a, TORC_OP_CONFIG_RESETSTAT, NULL, 0).kind, TORC_REPLY_OK);
    consume(a);
    expect_integer(a, CALL(a, TORC_OP_UNLINK, S("x")), 0);
    expect_integer(a, CALL(a, TORC_OP_HDEL, S("h"), S("a"), S("zz")), 1);
    ck_assert_int_eq(call(a, TORC_OP_FLUSHDB, NULL, 0).kind, TORC_REPLY_OK);
    consume(a);
    expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("a"), S("1")), 1);
    expect_integer(a, CALL(a, TORC_OP_DEL, S("h"), S("x")), 1);
    ck_assert_int_eq(CALL(a, TORC_OP_FLUSHALL, S("ASYNC")).kind, TORC_REPLY_OK);
    consume(a);
    ck_assert_int_eq(call(a, TORC_OP_QUIT, NULL, 0).kind, TORC_REPLY_OK);
    consume(a);
    torc_attachment_close(a);
}
END_TEST

START_TEST(errors_have_status_and_redis_text)
{
    start();
    struct torc_attachment *a = attach();
    expect_error(a, CALL(a, TORC_OP_SCAN, S("COUNT"), S("x")), TORC_WIRE_NOT_INTEGER,
                 "ERR value is not an integer or out of range");
    expect_error(a, CALL(a, TORC_OP_SCAN, S("FOO"), S("x")), TORC_WIRE_SYNTAX, "ERR syntax error");
    expect_error(a, CALL(a, TORC_OP_HSET, S("h")), TORC_WIRE_ARITY,
                 "ERR wrong number of arguments for 'hset' command");
    expect_error(a, call(a, TORC_OP_DEL, NULL, 0), TORC_WIRE_ARITY,
                 "ERR wrong number of arguments for 'del' command");
    expect_error(a, CALL(a, TORC_OP_PING, S("a"), S("b")), TORC_WIRE_ARITY,
                 "ERR wrong number of arguments for 'ping' command");
    static const uint64_t one[TORC_MESSAGE_NUMBERS] = {1};
    submit(a, TORC_OP_SELECT, one, NULL, 0);
    expect_error(a, collect(a), TORC_WIRE_DB_RANGE, "ERR DB index is out of range");
    torc_attachment_close(a);
}
END_TEST

/* Bytes that are no request: each is answered, and the session goes on. */
START_TEST(malformed_requests_are_answered_and_the_session_stays)
{
    start();
    struct torc_attachment *a = attach();
    static const struct {
        size_t len;
        enum torc_wire_status status;
        uint8_t bytes[12];
    } cases[] = {
        {8, TORC_WIRE_UNKNOWN_OP, {200, 0, 0, 0, 9, 0, 0, 0}},
        {8, TORC_WIRE_BAD_REQUEST, {TORC_OP_HGET, 0, 0, 0, 9, 0, 0, 0}},
        {10, TORC_WIRE_BAD_REQUEST, {TORC_OP_HGET, 0, 0, 0, 9, 0, 0, 0, 200, 'k'}},
        {11, TORC_WIRE_BAD_REQUEST, {TORC_OP_HLEN, 0, 0, 0, 9, 0, 0, 0, 1, 'k', 'x'}},
        {10, TORC_WIRE_BAD_REQUEST, {TORC_OP_HLEN, 3, 0, 0, 9, 0, 0, 0, 1, 'k'}},
        {8, TORC_WIRE_UNKNOWN_OP, {0, 0, 0, 0, 9, 0, 0, 0}},
        {12, TORC_WIRE_BAD_REQUEST, {TORC_OP_DEL, 0, 0, 0, 9, 0, 0, 0, 255, 255, 255, 255}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int error = 0;
        uint8_t *to = torc_attachment_reserve(a, cases[i].len, &error);
        ck_assert_ptr_nonnull(to);
        memcpy(to, cases[i].bytes, cases[i].len);
        ck_assert_int_eq(torc_attachment_commit(a, cases[i].len, deadline()), 0);
        struct torc_reply reply = collect(a);
        ck_assert_int_eq(reply.kind, TORC_REPLY_ERROR);
        ck_assert_int_eq(reply.status, cases[i].status);
        ck_assert_uint_eq(reply.tag, 9);
        consume(a);
    }
    expect_integer(a, CALL(a, TORC_OP_HSET, S("k"), S("f"), S("v")), 1);
    torc_attachment_close(a);
}
END_TEST

START_TEST(pipelines_are_answered_in_order)
{
    enum { N = 5000, DEPTH = 60 };
    start();
    struct torc_attachment *a = attach_with(64, 0);
    char field[16];
    char value[64];
    int collected = 0;
    for (int i = 0; i < N + DEPTH; i++) {
        if (i < N) {
            (void)snprintf(field, sizeof field, "f%d", i % 300);
            int len = snprintf(value, sizeof value, "%d-%0*d", i, i % 40, 0);
            const struct torc_slice strings[] = {S("h"), S(field),
                                                 torc_slice_of(value, (size_t)len)};
            if (i % 3 == 2) {
                submit(a, TORC_OP_HSET, NULL, strings, 3);
            } else {
                submit(a, TORC_OP_ECHO, NULL, strings + 2, 1);
            }
        }
        if (i >= DEPTH) {
            struct torc_reply reply = collect(a);
            if (collected % 3 == 2) {
                ck_assert_int_eq(reply.kind, TORC_REPLY_INT);
            } else {
                ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
                ck_assert_int_eq(strtol((const char *)reply.bytes.data, NULL, 10), collected);
            }
            consume(a);
            collected++;
        }
    }
    ck_assert_int_eq(collected, N);
    torc_attachment_close(a);
}
END_TEST

START_TEST(values_of_every_size_go_in_and_out)
{
    static const size_t lengths[] = {0,    1,    30,    47,    48,    49,    500,     1023,   1024,
                                     1025, 4000, 16383, 16384, 16385, 70000, 1 << 20, 3 << 20};
    start();
    struct torc_attachment *small = attach_with(16, 4096);
    struct torc_attachment *large = attach();
    char *value = malloc(3 << 20);
    ck_assert_ptr_nonnull(value);
    for (size_t i = 0; i < 3 << 20; i++) {
        value[i] = (char)(i * 31 >> 3);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct torc_attachment *a = lengths[i] > 100000 || i % 2 == 0 ? large : small;
        struct torc_slice wanted = torc_slice_of(value, lengths[i]);
        expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("f"), wanted), i == 0);
        struct torc_reply reply = CALL(a, TORC_OP_HGET, S("h"), S("f"));
        ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
        ck_assert(torc_slice_equal(reply.bytes, wanted));
        consume(a);
    }
    free(value);
    torc_attachment_close(small);
    torc_attachment_close(large);
}
END_TEST

START_TEST(a_reply_above_the_cap_is_an_error_and_the_session_stays)
{
    torc_fixture_set(&f, "session-long-message-max", "64kb");
    start();
    struct torc_attachment *a = attach();
    static char value[40000];
    expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("a"), torc_slice_of(value, sizeof value)), 1);
    expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("b"), torc_slice_of(value, sizeof value)), 1);
    expect_error(a, CALL(a, TORC_OP_HGETALL, S("h")), TORC_WIRE_TOO_LARGE,
                 "ERR reply exceeds the session's limit (session-long-message-max)");
    struct torc_reply reply = CALL(a, TORC_OP_HGET, S("h"), S("a"));
    ck_assert_uint_eq(reply.bytes.len, sizeof value);
    consume(a);
    torc_attachment_close(a);
}
END_TEST

/* Replies that do not fit any more wait in their slots; nothing is lost, others are served. */
START_TEST(a_client_that_takes_no_replies_stalls_alone)
{
    enum { N = 32 };
    start();
    struct torc_attachment *slow = attach_with(64, 4096);
    struct torc_attachment *other = attach();
    char value[900];
    memset(value, 'v', sizeof value);
    expect_integer(
        other, CALL(other, TORC_OP_HSET, S("h"), S("f"), torc_slice_of(value, sizeof value)), 1);
    const struct torc_slice strings[] = {S("h"), S("f")};
    for (int i = 0; i < N; i++) {
        submit(slow, TORC_OP_HGET, NULL, strings, 2);
    }
    uint64_t end = deadline();
    while (info(other, "ring_stalls") == 0) {
        ck_assert(torc_clock_monotonic_ns() < end);
    }
    for (int i = 0; i < N; i++) {
        struct torc_reply reply = collect(slow);
        ck_assert_uint_eq(reply.bytes.len, sizeof value);
        consume(slow);
    }
    torc_attachment_close(slow);
    torc_attachment_close(other);
}
END_TEST

/* Sums of a thousand digits fill the reply area, longer ones are fetched in parts: most requests
 * wait for room, and are looked at many times. Each must add once. */
START_TEST(an_increment_whose_reply_waits_for_room_adds_once)
{
    enum { N = 32 };
    /* Powers of two, so that sums are exact. */
    static const char *const increments[] = {"0x1p2990", "0x1p13290"};
    start();
    struct torc_attachment *slow = attach_with(64, 4096);
    struct torc_attachment *other = attach();
    for (size_t s = 0; s < 2; s++) {
        uint64_t stalls = info(other, "ring_stalls");
        (void)CALL(other, TORC_OP_HSET, S("h"), S("f"), S("0"));
        consume(other);
        for (int i = 0; i < N; i++) {
            const struct torc_slice strings[] = {S("h"), S("f"), S(increments[s])};
            submit(slow, TORC_OP_HINCRBYFLOAT, NULL, strings, 3);
        }
        uint64_t end = deadline();
        while (info(other, "ring_stalls") == stalls) {
            ck_assert(torc_clock_monotonic_ns() < end);
        }
        for (int i = 0; i < N; i++) {
            struct torc_reply reply = collect(slow);
            ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
            char sum[5000] = "";
            ck_assert_uint_lt(reply.bytes.len, sizeof sum);
            memcpy(sum, reply.bytes.data, reply.bytes.len);
            ck_assert(strtold(sum, NULL) == (i + 1) * strtold(increments[s], NULL));
            consume(slow);
        }
    }
    torc_attachment_close(slow);
    torc_attachment_close(other);
}
END_TEST

START_TEST(a_client_that_stalls_for_too_long_is_cut)
{
    torc_fixture_set(&f, "session-stall-timeout", "1");
    start();
    struct torc_attachment *slow = attach_with(64, 4096);
    struct torc_attachment *other = attach();
    char value[900];
    memset(value, 'v', sizeof value);
    expect_integer(
        other, CALL(other, TORC_OP_HSET, S("h"), S("f"), torc_slice_of(value, sizeof value)), 1);
    const struct torc_slice strings[] = {S("h"), S("f")};
    for (int i = 0; i < 32; i++) {
        submit(slow, TORC_OP_HGET, NULL, strings, 2);
    }
    wait_for(other, "ring_sessions_dropped", 1);
    wait_for(other, "ring_sessions", 1);
    torc_attachment_close(slow);
    torc_attachment_close(other);
}
END_TEST

START_TEST(sessions_leave_nothing_behind)
{
    start();
    struct torc_attachment *a = attach();
    expect_integer(a, CALL(a, TORC_OP_HSET, S("h"), S("f"), S("v")), 1);
    unsigned descriptors = torc_fixture_count_descriptors();
    for (int i = 0; i < 40; i++) {
        struct torc_attachment *b = attach();
        struct torc_attachment *c = attach();
        const struct torc_slice strings[] = {S("h"), S("f")};
        submit(b, TORC_OP_HGET, NULL, strings, 2);
        expect_bytes(c, CALL(c, TORC_OP_HGET, S("h"), S("f")), "v");
        torc_attachment_close(b);
        torc_attachment_close(c);
    }
    wait_for(a, "ring_sessions", 1);
    /* The poller has forgotten them; the control thread closes their descriptors next. */
    uint64_t end = deadline();
    while (torc_fixture_count_descriptors() != descriptors) {
        ck_assert(torc_clock_monotonic_ns() < end);
        (void)sched_yield();
    }
    ck_assert_uint_eq(info(a, "total_ring_sessions"), 81);
    torc_attachment_close(a);
}
END_TEST

static int open_control(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, f.control_path, strlen(f.control_path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Wait for REFUSED, then the end. */
static void expect_refused(int fd, enum torc_refusal reason)
{
    struct torc_refused refused = {0};
    ck_assert_int_eq(recv(fd, &refused, sizeof refused, 0), sizeof refused);
    ck_assert_uint_eq(refused.type, TORC_REFUSED);
    ck_assert_uint_eq(refused.reason, reason);
    ck_assert_uint_ne(strlen(refused.text), 0);
    ck_assert_int_le(recv(fd, &refused, sizeof refused, 0), 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(bad_handshakes_are_refused_with_a_reason)
{
    start();
    int fd = open_control();
    ck_assert_int_eq(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
    expect_refused(fd, TORC_REFUSAL_MALFORMED);

    struct torc_hello hello = {
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_HELLO,
        .version_min = 99,
        .version_max = 100,
    };
    fd = open_control();
    ck_assert_int_eq(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    expect_refused(fd, TORC_REFUSAL_VERSION);

    hello.version_min = 1;
    hello.database = 3;
    fd = open_control();
    ck_assert_int_eq(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    expect_refused(fd, TORC_REFUSAL_WISH);

    hello.database = 0;
    hello.slots = 3;
    fd = open_control();
    ck_assert_int_eq(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    expect_refused(fd, TORC_REFUSAL_WISH);

    /* Longer than any datagram of the handshake. */
    static char longer[5000];
    fd = open_control();
    ck_assert_int_eq(send(fd, longer, sizeof longer, MSG_NOSIGNAL), sizeof longer);
    expect_refused(fd, TORC_REFUSAL_MALFORMED);

    struct torc_attachment *a = attach();
    ck_assert_uint_eq(info(a, "ring_sessions"), 1);
    ck_assert_uint_eq(info(a, "ring_sessions_refused"), 5);
    torc_attachment_close(a);
}
END_TEST

START_TEST(a_handshake_that_stops_half_way_is_given_up)
{
    start();
    int fd = open_control();
    expect_refused(fd, TORC_REFUSAL_OTHER); /* after two seconds */

    struct torc_hello hello = {
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_HELLO,
        .version_min = 1,
        .version_max = 1,
    };
    struct torc_welcome welcome;
    int fds[TORC_SESSION_FDS];
    size_t len;
    fd = open_control();
    ck_assert_int_eq(torc_handshake_send(fd, &hello, sizeof hello, NULL, 0), 0);
    int rc = torc_handshake_receive(fd, &welcome, sizeof welcome, fds, TORC_SESSION_FDS, &len);
    ck_assert_int_eq(rc, 0);
    for (int i = 0; i < TORC_SESSION_FDS; i++) {
        ck_assert_int_eq(close(fds[i]), 0);
    }
    /* MAPPED never comes; a client that says something else is refused at once. */
    ck_assert_int_eq(torc_handshake_send(fd, &hello, sizeof hello, NULL, 0), 0);
    expect_refused(fd, TORC_REFUSAL_MALFORMED);
    struct torc_attachment *a = attach();
    ck_assert_uint_eq(info(a, "ring_sessions_half_open"), 0);
    torc_attachment_close(a);
}
END_TEST

START_TEST(quotas_of_sessions_hold)
{
    torc_fixture_set(&f, "max-sessions", "3");
    start();
    struct torc_attachment *many[3];
    for (int i = 0; i < 3; i++) {
        many[i] = attach();
    }
    struct torc_attachment_options options = {.path = f.control_path, .deadline_ns = deadline()};
    struct torc_attachment *more;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    ck_assert_int_eq(torc_attachment_open(&options, &more, why), -ENOSPC);
    ck_assert_str_eq(why, "max-sessions are attached");
    torc_attachment_close(many[0]);
    wait_for(many[1], "ring_sessions", 2);
    /* The poller has given it back; the control thread frees it a moment later. */
    uint64_t end = deadline();
    while (torc_attachment_open(&options, &many[0], why) != 0) {
        ck_assert(torc_clock_monotonic_ns() < end);
    }
    for (int i = 0; i < 3; i++) {
        torc_attachment_close(many[i]);
    }
}
END_TEST

/* A client that does the handshake by hand, and maps nothing but the exchange. */
struct raw_client {
    int socket;
    int doorbell;
    struct torc_slot *slots;
    unsigned slots_log2;
};

static struct raw_client attach_raw(void)
{
    struct torc_hello hello = {
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_HELLO,
        .version_min = 1,
        .version_max = 1,
    };
    struct torc_handshake_mark mark = torc_handshake_mark(TORC_MAPPED);
    struct raw_client client = {.socket = open_control()};
    struct torc_welcome welcome;
    int fds[TORC_SESSION_FDS];
    size_t len;
    ck_assert_int_eq(torc_handshake_send(client.socket, &hello, sizeof hello, NULL, 0), 0);
    int rc = torc_handshake_receive(client.socket, &welcome, sizeof welcome, fds, TORC_SESSION_FDS,
                                    &len);
    ck_assert_int_eq(rc, 0);
    client.slots_log2 = torc_log2_floor(welcome.slots);
    client.slots = mmap(NULL, torc_exchange_map_bytes(welcome.slots), PROT_READ | PROT_WRITE,
                        MAP_SHARED, fds[TORC_FD_EXCHANGE], 0);
    ck_assert_ptr_ne(client.slots, MAP_FAILED);
    client.doorbell = fds[TORC_FD_DOORBELL];
    for (int i = 0; i < TORC_SESSION_FDS; i++) {
        ck_assert(i == TORC_FD_DOORBELL || close(fds[i]) == 0);
    }
    ck_assert_int_eq(torc_handshake_send(client.socket, &mark, sizeof mark, NULL, 0), 0);
    ck_assert_int_eq(torc_handshake_receive(client.socket, &mark, sizeof mark, fds, 0, &len), 0);
    ck_assert(torc_handshake_is_mark(&mark, len, TORC_READY));
    return client;
}

static void ring_doorbell(const struct raw_client *client)
{
    static const uint64_t one = 1;
    ck_assert_int_eq(write(client->doorbell, &one, sizeof one), sizeof one);
}

static void detach_raw(struct raw_client *client)
{
    size_t bytes = torc_exchange_map_bytes(1u << client->slots_log2);
    ck_assert_int_eq(munmap(client->slots, bytes), 0);
    ck_assert_int_eq(close(client->doorbell), 0);
    ck_assert_int_eq(close(client->socket), 0);
}

START_TEST(talk_on_the_control_socket_of_a_session_ends_it)
{
    start();
    struct torc_attachment *a = attach();
    struct raw_client client = attach_raw();
    char byte;
    wait_for(a, "ring_sessions", 2);
    ck_assert_int_eq(send(client.socket, "x", 1, MSG_NOSIGNAL), 1);
    ck_assert_int_le(recv(client.socket, &byte, 1, 0), 0);
    wait_for(a, "ring_sessions", 1);
    detach_raw(&client);
    torc_attachment_close(a);
}
END_TEST

/* What no honest client writes: the session ends, nobody else notices. */
START_TEST(a_client_that_breaks_a_rule_of_the_ring_is_cut)
{
    start();
    struct torc_attachment *a = attach();
    for (int i = 0; i < 4; i++) {
        struct raw_client client = attach_raw();
        uint32_t turn = torc_turn_request(0, client.slots_log2);
        uint64_t controls[4];
        controls[0] = torc_control_make(turn, 4000, TORC_SLOT_INLINE);            /* too long */
        controls[1] = torc_control_make(turn, 20, TORC_SLOT_INLINE) ^ 1ull << 60; /* check bits */
        controls[2] = torc_control_make(turn, 20, (enum torc_slot_kind)77);
        controls[3] = torc_control_make(turn, 8, TORC_SLOT_AREA); /* descriptor outside */
        memset(client.slots[0].message, 0xff, sizeof client.slots[0].message);
        atomic_store(&client.slots[0].control, controls[i]);
        ring_doorbell(&client);
        char byte;
        ck_assert_int_le(recv(client.socket, &byte, 1, 0), 0);
        expect_bytes(a, CALL(a, TORC_OP_ECHO, S("x")), "x");
        wait_for(a, "ring_sessions_dropped", (uint64_t)i + 1);
        wait_for(a, "ring_sessions", 1);
        detach_raw(&client);
    }
    torc_attachment_close(a);
}
END_TEST

START_TEST(a_sleeping_poller_is_woken)
{
    static const char *const modes[] = {"adaptive", "yield", "busy"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        if (m != 0) {
            stop();
            torc_fixture_fini(&f);
            torc_fixture_init(&f);
        }
        torc_fixture_set(&f, "poll-mode", modes[m]);
        torc_fixture_set(&f, "poll-spin-us", "0");
        start();
        struct torc_attachment *a = attach();
        for (int i = 0; i < 300; i++) {
            expect_bytes(a, CALL(a, TORC_OP_ECHO, S("x")), "x");
        }
        ck_assert_uint_eq(info(a, "poller_sleeps") != 0, m == 0);
        torc_attachment_close(a);
    }
}
END_TEST

START_TEST(the_server_stops_while_clients_are_attached)
{
    start();
    struct torc_attachment *a = attach();
    struct torc_attachment *b = attach();
    expect_bytes(a, CALL(a, TORC_OP_ECHO, S("x")), "x");
    stop();
    struct torc_slice message;
    const struct torc_slice strings[] = {S("x")};
    int error = 0;
    size_t len = torc_request_size(TORC_OP_ECHO, strings, 1);
    uint8_t *to = torc_attachment_reserve(b, len, &error);
    if (to != NULL) {
        ck_assert_uint_eq(torc_request_encode(to, TORC_OP_ECHO, 1, NULL, strings, 1), len);
        if (torc_attachment_commit(b, len, deadline()) == 0) {
            ck_assert_int_eq(torc_attachment_wait(b, deadline(), &message), -EPIPE);
        }
    }
    torc_attachment_close(a);
    torc_attachment_close(b);
}
END_TEST

/* A client that rings its doorbell all the time, for nothing, is not listened to for a while; its
 * requests are served all the same. */
START_TEST(a_doorbell_that_rings_for_nothing_is_muted)
{
    start();
    struct torc_attachment *a = attach();
    struct raw_client client = attach_raw();
    uint64_t end = deadline();
    while (info(a, "ring_doorbells_muted") == 0) {
        uint64_t burst_end = torc_clock_monotonic_ns() + 300000000u;
        while (torc_clock_monotonic_ns() < burst_end) {
            ring_doorbell(&client);
        }
        ck_assert(torc_clock_monotonic_ns() < end);
    }
    expect_bytes(a, CALL(a, TORC_OP_ECHO, S("x")), "x");
    detach_raw(&client);
    wait_for(a, "ring_sessions", 1);
    torc_attachment_close(a);
}
END_TEST

/* More sessions than are kept hot, each used now and then. */
START_TEST(many_sessions_are_all_served)
{
    enum { N = 40 };
    torc_fixture_set(&f, "max-sessions", "64");
    start();
    struct torc_attachment *many[N];
    for (int i = 0; i < N; i++) {
        many[i] = attach_with(4, 4096);
    }
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) {
            char key[16];
            (void)snprintf(key, sizeof key, "k%d", i);
            expect_integer(many[i], CALL(many[i], TORC_OP_HSET, S(key), S("f"), S("v")),
                           round == 0);
        }
    }
    expect_integer(many[0], call(many[0], TORC_OP_DBSIZE, NULL, 0), N);
    for (int i = 0; i < N; i++) {
        torc_attachment_close(many[i]);
    }
}
END_TEST

/* Both paths at once, on the same keys. */
START_TEST(rings_and_sockets_are_served_together)
{
    start();
    struct torc_attachment *a = attach();
    int fd = torc_fixture_connect(&f);
    int flags = 1;
    uint64_t end = deadline();
    while (flags <= 300) {
        char request[64];
        char got[16] = "";
        int n = snprintf(request, sizeof request, "HSET h f %d\r\n", flags);
        ck_assert_int_eq(send(fd, request, (size_t)n, MSG_NOSIGNAL), n);
        while (recv(fd, got, 4, 0) != 4) {
            /* The ring stays busy meanwhile. */
            expect_bytes(a, CALL(a, TORC_OP_ECHO, S("x")), "x");
            ck_assert(torc_clock_monotonic_ns() < end);
        }
        (void)snprintf(request, sizeof request, "%d", flags);
        expect_bytes(a, CALL(a, TORC_OP_HGET, S("h"), S("f")), request);
        flags++;
    }
    ck_assert_int_eq(close(fd), 0);
    torc_attachment_close(a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rings");
    TCase *tcase = tcase_create("rings");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, every_op_is_served);
    tcase_add_test(tcase, errors_have_status_and_redis_text);
    tcase_add_test(tcase, malformed_requests_are_answered_and_the_session_stays);
    tcase_add_test(tcase, pipelines_are_answered_in_order);
    tcase_add_test(tcase, values_of_every_size_go_in_and_out);
    tcase_add_test(tcase, a_reply_above_the_cap_is_an_error_and_the_session_stays);
    tcase_add_test(tcase, a_client_that_takes_no_replies_stalls_alone);
    tcase_add_test(tcase, an_increment_whose_reply_waits_for_room_adds_once);
    tcase_add_test(tcase, a_client_that_stalls_for_too_long_is_cut);
    tcase_add_test(tcase, sessions_leave_nothing_behind);
    tcase_add_test(tcase, bad_handshakes_are_refused_with_a_reason);
    tcase_add_test(tcase, a_handshake_that_stops_half_way_is_given_up);
    tcase_add_test(tcase, quotas_of_sessions_hold);
    tcase_add_test(tcase, talk_on_the_control_socket_of_a_session_ends_it);
    tcase_add_test(tcase, a_client_that_breaks_a_rule_of_the_ring_is_cut);
    tcase_add_test(tcase, a_sleeping_poller_is_woken);
    tcase_add_test(tcase, the_server_stops_while_clients_are_attached);
    tcase_add_test(tcase, a_doorbell_that_rings_for_nothing_is_muted);
    tcase_add_test(tcase, many_sessions_are_all_served);
    tcase_add_test(tcase, rings_and_sockets_are_served_together);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
