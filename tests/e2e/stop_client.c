/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring client that stops itself (SIGSTOP) in the middle of something, and when it is continued
 * finishes that and checks all of it. The moment is exact, since what has been sent and taken is
 * this program's own choice.
 *
 * Usage: stop_client CONTROL-SOCKET window|request|reply|unread
 *   window   every slot holds a request, and no reply was taken
 *   request  a long request was pushed in part, behind others whose replies were not taken
 *   reply    a long reply was pulled in part
 *   unread   every slot holds a request with a long reply, and none was taken
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "torc/torc.h"

#define LONG_BYTES  ((size_t)1 << 20)
#define DEADLINE_NS 240000000000ull

static struct torc *torc;
static char text[LONG_BYTES];

static _Noreturn void fail(const char *what, int rc)
{
    (void)fprintf(stderr, "FAILED: %s: %s: %s\n", what, torc_error_name(rc),
                  torc != NULL ? torc_error_text(torc) : "");
    exit(EXIT_FAILURE);
}

/* The bytes of every long value: no part of them looks like another. */
static void fill(char *to, unsigned salt)
{
    for (size_t i = 0; i < LONG_BYTES; i++) {
        to[i] = (char)((i * 2654435761u + salt) >> 13);
    }
}

static void expect_collect(struct torc_result *result, uint64_t tag, enum torc_kind kind)
{
    int rc = torc_collect(torc, result);
    if (rc != TORC_OK || result->tag != tag || result->kind != kind) {
        fail("collect: not the reply to be expected", rc);
    }
}

static void expect_long(const struct torc_result *result)
{
    if (result->string.len != LONG_BYTES || memcmp(result->string.data, text, LONG_BYTES) != 0) {
        fail("a long value is not what was written", TORC_OK);
    }
}

static void submit_get(uint64_t tag, const char *field)
{
    int rc = torc_submit_hget(torc, tag, torc_str("stop"), torc_str(field));
    if (rc != TORC_OK) {
        fail("submit", rc);
    }
}

static void fill_window(const char *field, bool is_long)
{
    struct torc_result result;
    size_t n = torc_slots(torc);
    for (size_t i = 0; i < n; i++) {
        submit_get(i, field);
    }
    (void)raise(SIGSTOP);
    for (size_t i = 0; i < n; i++) {
        expect_collect(&result, i, TORC_STRING);
        if (is_long) {
            expect_long(&result);
        } else if (result.string.len != 5 || memcmp(result.string.data, "short", 5) != 0) {
            fail("a value is not what was written", TORC_OK);
        }
    }
}

static void stop_in_request(void)
{
    static char other[LONG_BYTES];
    struct torc_result result;
    const struct torc_bytes pair[2] = {torc_str("pushed"), torc_mem(other, sizeof other)};
    fill(other, 7);
    submit_get(1, "short");
    /* Others are outstanding, so this returns with the first part on its way. */
    int rc = torc_submit_hset(torc, 2, torc_str("stop"), pair, 1);
    if (rc != TORC_OK) {
        fail("submit", rc);
    }
    expect_collect(&result, 1, TORC_STRING);
    rc = torc_try_collect(torc, &result);
    if (rc != TORC_EAGAIN) {
        fail("the long request was not pushed in parts", rc);
    }
    (void)raise(SIGSTOP);
    expect_collect(&result, 2, TORC_INTEGER);
    struct torc_bytes value;
    if (result.integer != 1 || torc_hget(torc, torc_str("stop"), torc_str("pushed"), &value) != 1 ||
        value.len != sizeof other || memcmp(value.data, other, sizeof other) != 0) {
        fail("a value pushed in parts is not what was written", TORC_OK);
    }
}

static void stop_in_reply(void)
{
    struct torc_result result;
    submit_get(1, "long");
    submit_get(2, "long");
    expect_collect(&result, 1, TORC_STRING);
    expect_long(&result);
    /* The next long reply has begun to come, or is asked for: one look takes one part. */
    int rc = torc_try_collect(torc, &result);
    if (rc != TORC_EAGAIN) {
        fail("the long reply did not come in parts", rc);
    }
    (void)raise(SIGSTOP);
    expect_collect(&result, 2, TORC_STRING);
    expect_long(&result);
}

int main(int argc, char **argv)
{
    const char *why = "";
    if (argc != 3) {
        (void)fprintf(stderr, "usage: stop_client CONTROL-SOCKET window|request|reply|unread\n");
        return 2;
    }
    struct torc_options options = {.socket = argv[1], .name = "stop", .deadline_ns = DEADLINE_NS};
    int rc = torc_open(&options, &torc, &why);
    if (rc != TORC_OK) {
        fail(why, rc);
    }
    fill(text, 1);
    const struct torc_bytes pairs[4] = {torc_str("short"), torc_str("short"), torc_str("long"),
                                        torc_mem(text, sizeof text)};
    if (torc_hset_many(torc, torc_str("stop"), pairs, 2) < 0) {
        fail("HSET", TORC_OK);
    }
    if (strcmp(argv[2], "window") == 0) {
        fill_window("short", false);
    } else if (strcmp(argv[2], "unread") == 0) {
        fill_window("long", true);
    } else if (strcmp(argv[2], "request") == 0) {
        stop_in_request();
    } else if (strcmp(argv[2], "reply") == 0) {
        stop_in_reply();
    } else {
        (void)fprintf(stderr, "stop_client: %s is none of window, request, reply, unread\n",
                      argv[2]);
        return 2;
    }
    const struct torc_bytes key = torc_str("stop");
    if (torc_del(torc, &key, 1) != 1) {
        fail("DEL", TORC_OK);
    }
    torc_close(torc);
    return EXIT_SUCCESS;
}
