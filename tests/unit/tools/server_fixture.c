/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tools/server_fixture.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Generous: it only ends a test that would hang. */
#define DEADLINE_NS 60000000000ull

void torc_fixture_init(struct torc_fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    memcpy(fixture->folder, "/tmp/torc-test-XXXXXX", 22);
    ck_assert_ptr_nonnull(mkdtemp(fixture->folder));
    (void)snprintf(fixture->resp_path, sizeof fixture->resp_path, "%s/resp", fixture->folder);
    (void)snprintf(fixture->control_path, sizeof fixture->control_path, "%s/ring", fixture->folder);
    torc_settings_init(&fixture->settings);
    torc_fixture_set(fixture, "port", "0");
    torc_fixture_set(fixture, "unixsocket", fixture->resp_path);
    torc_fixture_set(fixture, "control-socket", fixture->control_path);
    torc_fixture_set(fixture, "max-sessions", "16");
    torc_fixture_set(fixture, "maxclients", "64");
    torc_fixture_set(fixture, "maxmemory", "256mb");
    fixture->log.fd = -1;
}

void torc_fixture_set(struct torc_fixture *fixture, const char *name, const char *value)
{
    char why[TORC_OPTION_ERROR_BYTES] = "";
    int rc = torc_options_set(torc_settings_options(), &fixture->settings, name, value, why);
    ck_assert_msg(rc == 0, "%s", why);
}

void torc_fixture_start(struct torc_fixture *fixture)
{
    char why[TORC_OPTION_ERROR_BYTES] = "";
    struct torc_server_options options = {.settings = &fixture->settings, .log = &fixture->log};
    ck_assert_msg(torc_settings_check(&fixture->settings, why) == 0, "%s", why);
    int rc = torc_server_create(&options, &fixture->server, why);
    ck_assert_msg(rc == 0, "%s", why);
}

void torc_fixture_fini(struct torc_fixture *fixture)
{
    if (fixture->server != NULL) {
        const char *why = "";
        int rc = torc_keyspace_check(torc_server_service(fixture->server)->keyspace, &why);
        ck_assert_msg(rc == 0, "%s", why);
    }
    torc_server_destroy(fixture->server);
    ck_assert_int_ne(access(fixture->resp_path, F_OK), 0);
    ck_assert_int_ne(access(fixture->control_path, F_OK), 0);
    ck_assert_int_eq(rmdir(fixture->folder), 0);
}

int torc_fixture_connect(struct torc_fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, fixture->resp_path, strlen(fixture->resp_path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void torc_fixture_settle(struct torc_fixture *fixture)
{
    for (int quiet = 0; quiet < 5;) {
        quiet = torc_server_step(fixture->server) ? 0 : quiet + 1;
    }
}

static void check_deadline(uint64_t start)
{
    ck_assert_msg(torc_clock_monotonic_ns() - start < DEADLINE_NS, "the server does nothing");
}

void torc_fixture_send(struct torc_fixture *fixture, int fd, const void *bytes, size_t len)
{
    uint64_t start = torc_clock_monotonic_ns();
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, (const char *)bytes + at, len - at, MSG_NOSIGNAL);
        if (n < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            (void)torc_server_step(fixture->server);
            check_deadline(start);
        } else {
            at += (size_t)n;
        }
    }
}

size_t torc_fixture_receive(struct torc_fixture *fixture, int fd, void *bytes, size_t len)
{
    uint64_t start = torc_clock_monotonic_ns();
    size_t at = 0;
    while (at < len) {
        ssize_t n = recv(fd, (char *)bytes + at, len - at, 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            break;
        }
        if (n < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            (void)torc_server_step(fixture->server);
            check_deadline(start);
        } else {
            at += (size_t)n;
        }
    }
    return at;
}

void torc_fixture_expect(struct torc_fixture *fixture, int fd, const char *request,
                         const char *reply)
{
    char got[4096];
    size_t len = strlen(reply);
    ck_assert_uint_lt(len, sizeof got);
    torc_fixture_send(fixture, fd, request, strlen(request));
    size_t n = torc_fixture_receive(fixture, fd, got, len);
    got[n] = '\0';
    ck_assert_str_eq(got, reply);
}

void torc_fixture_expect_end(struct torc_fixture *fixture, int fd)
{
    char byte;
    ck_assert_uint_eq(torc_fixture_receive(fixture, fd, &byte, 1), 0);
    ck_assert_int_eq(close(fd), 0);
    torc_fixture_settle(fixture);
}

unsigned torc_fixture_count_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    (void)closedir(folder);
    return n;
}
