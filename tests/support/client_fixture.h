/* SPDX-License-Identifier: Apache-2.0
 *
 * A handle on a server for tests of libtorc: on a fake server in this process, or on the server
 * whose control socket TORC_TEST_SOCKET names, which is emptied first.
 */
#ifndef TORC_TESTS_SUPPORT_CLIENT_FIXTURE_H
#define TORC_TESTS_SUPPORT_CLIENT_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "tests/support/fake_server.h"
#include "torc/torc.h"

struct client_fixture {
    struct torc_fake_server *server; /* NULL: a real one */
    struct torc *torc;
};

static inline struct torc *client_open(const char *path)
{
    /* A busy machine is not what is tested. */
    struct torc_options options = {.socket = path, .name = "test", .deadline_ns = 60000000000u};
    struct torc *torc = NULL;
    const char *why = "";
    int rc = torc_open(&options, &torc, &why);
    ck_assert_msg(rc == TORC_OK, "%s: %s", torc_error_name(rc), why);
    return torc;
}

/* On a fake server with these options. */
static inline struct client_fixture client_fixture_fake(const struct torc_fake_options *options)
{
    struct client_fixture f = {.server = torc_fake_server_start(options)};
    f.torc = client_open(torc_fake_server_path(f.server));
    return f;
}

static inline struct client_fixture client_fixture_any(void)
{
    const char *path = getenv("TORC_TEST_SOCKET");
    if (path == NULL) {
        return client_fixture_fake(NULL);
    }
    struct client_fixture f = {.torc = client_open(path)};
    ck_assert_int_eq(torc_flushall(f.torc), TORC_OK);
    return f;
}

static inline void client_fixture_end(struct client_fixture *f)
{
    torc_close(f->torc);
    if (f->server != NULL) {
        torc_fake_server_stop(f->server);
    }
}

static inline void assert_bytes(struct torc_bytes bytes, const char *text)
{
    ck_assert_ptr_nonnull(bytes.data);
    ck_assert_msg(bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0,
                  "\"%.*s\" is not \"%s\"", (int)bytes.len, (const char *)bytes.data, text);
}

/* The call gives this code, and a text that has `part` in it. */
static inline void assert_error(const struct torc *torc, int64_t rc, int code, const char *part)
{
    ck_assert_msg(rc == code, "%s instead of %s (%s)", torc_error_name((int)rc),
                  torc_error_name(code), torc_error_text(torc));
    ck_assert_msg(strstr(torc_error_text(torc), part) != NULL, "\"%s\" has no \"%s\"",
                  torc_error_text(torc), part);
}

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

#endif
