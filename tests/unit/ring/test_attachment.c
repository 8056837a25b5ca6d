/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's half: attaching to servers good and bad, requests, replies, waiting, death.
 */
#include "ring/attachment_private.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/ring_pair.h"

#define AREA     4096u
#define QUARTER  (AREA / 4)
#define LONG_MAX 30000u
#define MS       1000000ull

static uint8_t message[LONG_MAX + 1];

/* --- a server that plays a part, in a thread --- */

enum part {
    HONEST,
    CLOSES_AT_ONCE,
    SILENT,
    REFUSES,
    NOT_A_WELCOME,
    WELCOME_OUT_OF_RANGE,
    NO_DESCRIPTORS,
    TOO_FEW_DESCRIPTORS,
    TOO_MANY_DESCRIPTORS,
    EXCHANGE_OF_ANOTHER_SIZE,
    REPLY_AREA_OF_ANOTHER_SIZE,
    REQUEST_AREA_UNSEALED,
    REPLY_AREA_WRITABLE,
    NOT_A_MEMFD,
    ANOTHER_EPOCH,
    CLOSES_AFTER_MAPPED,
    SILENT_AFTER_MAPPED,
    REFUSES_AFTER_MAPPED,
    WELCOME_TWICE,
    DESCRIPTORS_WITH_READY,
    DIES_AFTER_READY,
};

struct server {
    enum part part;
    int listener;
    char folder[64], path[96];
    pthread_t thread;
    struct torc_hello hello; /* as received */
    _Atomic bool may_die;    /* DIES_AFTER_READY */
};

static struct server server;

/* Echo with a length that the request's tag says, until the client has gone. */
static void serve(struct torc_session *session, int socket)
{
    static uint8_t reply[LONG_MAX];
    char byte;
    while (recv(socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0) {
        struct torc_taken taken[TORC_SESSION_BATCH];
        int n = torc_session_take(session, taken, TORC_SESSION_BATCH);
        for (int i = 0; i < n; i++) {
            uint32_t len = torc_load_u32(taken[i].data + 4);
            torc_ring_message_fill(reply, len, TORC_OP_HGET, len);
            if (torc_session_reply(session, reply, len) != 0) {
                break;
            }
        }
        torc_session_wake(session);
        (void)sched_yield();
    }
}

static int send_welcome(int socket, struct torc_welcome welcome, const int *fds, unsigned n_fds)
{
    return torc_handshake_send(socket, &welcome, sizeof welcome, fds, n_fds);
}

static int unsealed_memfd(size_t bytes, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0) {
        abort();
    }
    return fd;
}

/* Everything up to the WELCOME. False: the part is over. */
static bool welcome_client(struct torc_session *session, const struct torc_session_options *options,
                           int socket)
{
    int fds[5];
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        fds[i] = torc_session_fd(session, (enum torc_session_fd)i);
    }
    fds[4] = fds[3];
    unsigned n_fds = 4;
    int extra = -1;
    struct torc_welcome welcome = torc_handshake_welcome(options, 9, 0, 1);
    switch ((int)server.part) {
    case REFUSES:
        torc_handshake_refuse(socket, -ENOSPC, "too many sessions of this user");
        return false;
    case NOT_A_WELCOME:
        welcome.type = TORC_READY;
        break;
    case WELCOME_OUT_OF_RANGE:
        welcome.slots = 7;
        break;
    case NO_DESCRIPTORS:
        n_fds = 0;
        break;
    case TOO_FEW_DESCRIPTORS:
        n_fds = 3;
        break;
    case TOO_MANY_DESCRIPTORS:
        n_fds = 5;
        break;
    case EXCHANGE_OF_ANOTHER_SIZE:
        welcome.slots = 1024;
        break;
    case REPLY_AREA_OF_ANOTHER_SIZE:
        welcome.reply_area_bytes *= 2;
        break;
    case REQUEST_AREA_UNSEALED:
        extra = fds[1] = unsealed_memfd(torc_area_map_bytes(AREA), F_SEAL_GROW);
        break;
    case REPLY_AREA_WRITABLE:
        extra = fds[2] =
            unsealed_memfd(torc_area_map_bytes(AREA), F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
        break;
    case NOT_A_MEMFD:
        fds[0] = fds[3];
        break;
    case ANOTHER_EPOCH:
        welcome.epoch++;
        break;
    default:
        break;
    }
    int result = send_welcome(socket, welcome, fds, n_fds);
    (void)result;
    if (extra >= 0) {
        (void)close(extra);
    }
    return true;
}

static void finish_handshake(struct torc_session *session, int socket,
                             const struct torc_session_options *options)
{
    struct torc_handshake_mark mark;
    size_t len;
    if (torc_handshake_receive(socket, &mark, sizeof mark, NULL, 0, &len) != 0 ||
        !torc_handshake_is_mark(&mark, len, TORC_MAPPED) || server.part == CLOSES_AFTER_MAPPED ||
        torc_session_seal(session) != 0) {
        return;
    }
    int result = 0;
    mark = torc_handshake_mark(TORC_READY);
    char byte;
    switch ((int)server.part) {
    case SILENT_AFTER_MAPPED:
        (void)recv(socket, &byte, 1, 0);
        return;
    case REFUSES_AFTER_MAPPED:
        torc_handshake_refuse(socket, -ENOMEM, "no memory to lock");
        return;
    case WELCOME_TWICE:
        result = send_welcome(socket, torc_handshake_welcome(options, 9, 0, 1), NULL, 0);
        break;
    case DESCRIPTORS_WITH_READY: {
        const int fds[4] = {socket, socket, socket, socket};
        result = torc_handshake_send(socket, &mark, sizeof mark, fds, 4);
        break;
    }
    case DIES_AFTER_READY:
        result = torc_handshake_send(socket, &mark, sizeof mark, NULL, 0);
        while (result == 0 && !atomic_load(&server.may_die)) {
            (void)sched_yield();
        }
        return;
    default:
        result = torc_handshake_send(socket, &mark, sizeof mark, NULL, 0);
        torc_session_close_memfds(session);
        break;
    }
    if (result == 0) {
        serve(session, socket);
    }
}

static void *play(void *unused)
{
    (void)unused;
    int socket = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
    char hello[256];
    size_t len;
    char why[TORC_HANDSHAKE_TEXT_BYTES];
    if (server.part == CLOSES_AT_ONCE ||
        torc_handshake_receive(socket, hello, sizeof hello, NULL, 0, &len) != 0) {
        (void)close(socket);
        return NULL;
    }
    struct torc_session_options options = torc_ring_pair_options(8, AREA, LONG_MAX);
    struct torc_session *session = NULL;
    if (torc_handshake_check_hello(hello, len, &options, &server.hello, why) != 0 ||
        torc_session_create(&options, &session) != 0) {
        abort();
    }
    if (server.part == SILENT) {
        char byte;
        (void)recv(socket, &byte, 1, 0);
    } else if (welcome_client(session, &options, socket)) {
        finish_handshake(session, socket, &options);
    }
    torc_session_destroy(session);
    (void)close(socket);
    return NULL;
}

static void listen_at(const char *path, int type)
{
    server.listener = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    ck_assert_int_eq(bind(server.listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(server.listener, 0), 0);
}

static void make_folder(void)
{
    server = (struct server){.listener = -1};
    (void)snprintf(server.folder, sizeof server.folder, "/tmp/torc-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server.folder));
    (void)snprintf(server.path, sizeof server.path, "%s/sock", server.folder);
}

static void remove_folder(void)
{
    if (server.listener >= 0) {
        (void)close(server.listener);
    }
    (void)unlink(server.path);
    (void)rmdir(server.folder);
}

static void start(enum part part)
{
    server.part = part;
    listen_at(server.path, SOCK_SEQPACKET);
    ck_assert_int_eq(pthread_create(&server.thread, NULL, play, NULL), 0);
}

static void stop(void)
{
    (void)pthread_join(server.thread, NULL);
}

static struct torc_attachment_options options_for(const char *path)
{
    return (struct torc_attachment_options){.path = path, .wait = TORC_WAIT_YIELD};
}

static struct torc_attachment *attach(void)
{
    struct torc_attachment_options options = options_for(server.path);
    struct torc_attachment *attachment = NULL;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    int result = torc_attachment_open(&options, &attachment, why);
    ck_assert_msg(result == 0, "%d: %s", result, why);
    return attachment;
}

/* --- requests and replies, for any attachment --- */

static int submit(struct torc_attachment *attachment, size_t len, uint32_t tag)
{
    int error = 0;
    uint8_t *to = torc_attachment_reserve(attachment, len, &error);
    if (to == NULL) {
        return error;
    }
    torc_ring_message_fill(to, len, TORC_OP_HGET, tag);
    return torc_attachment_commit(attachment, len, 0);
}

/* Request of `len` bytes, reply of `reply_len`. */
static void call(struct torc_attachment *attachment, size_t len, uint32_t reply_len)
{
    ck_assert_int_eq(submit(attachment, len, reply_len), 0);
    struct torc_slice reply;
    ck_assert_int_eq(torc_attachment_wait(attachment, 0, &reply), 0);
    ck_assert(torc_ring_message_is(reply, reply_len, TORC_OP_HGET, reply_len));
    torc_attachment_consume(attachment);
    ck_assert_uint_eq(torc_attachment_outstanding(attachment), 0);
    ck_assert(torc_attachment_check(attachment));
}

/* --- attaching --- */

START_TEST(an_honest_server_is_attached_to_and_answers_messages_of_all_sizes)
{
    unsigned before = torc_open_fds();
    start(HONEST);
    struct torc_attachment_options options = options_for(server.path);
    options.slots = 4;
    options.reply_area_bytes = 2 * AREA;
    options.name = "unit test";
    options.database = 5;
    struct torc_attachment *attachment = NULL;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), 0);
    ck_assert_uint_eq(torc_attachment_slots(attachment), 4);
    ck_assert_uint_eq(torc_attachment_epoch(attachment), 1);
    ck_assert_uint_eq(torc_attachment_session_id(attachment), 9);
    ck_assert_uint_eq(torc_attachment_message_max(attachment), LONG_MAX);
    ck_assert(!torc_attachment_is_dead(attachment));
    const uint32_t lens[] = {8, 56, 57, QUARTER, QUARTER + 1, 2 * QUARTER + 1, 20000, LONG_MAX};
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < 8; k++) {
            call(attachment, lens[i], lens[k]);
        }
    }
    torc_attachment_close(attachment);
    stop();
    ck_assert_str_eq(server.hello.name, "unit test");
    ck_assert_uint_eq(server.hello.database, 5);
    (void)close(server.listener);
    server.listener = -1;
    ck_assert_uint_eq(torc_open_fds(), before);
}
END_TEST

START_TEST(a_sleeping_client_is_answered_too)
{
    start(HONEST);
    struct torc_attachment_options options = options_for(server.path);
    options.wait = TORC_WAIT_ADAPTIVE;
    options.spin_ns = 1;
    struct torc_attachment *attachment = NULL;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), 0);
    for (unsigned i = 0; i < 500; i++) {
        call(attachment, 8 + i, 8 + i);
    }
    torc_attachment_close(attachment);
    stop();
}
END_TEST

static const struct {
    enum part part;
    int error;
    const char *text; /* in the reason */
} bad_servers[] = {
    {CLOSES_AT_ONCE, -EPIPE, "closed"},
    {REFUSES, -ENOSPC, "too many sessions of this user"},
    {NOT_A_WELCOME, -EBADMSG, "neither"},
    {WELCOME_OUT_OF_RANGE, -EBADMSG, "out of range"},
    {NO_DESCRIPTORS, -EBADMSG, "without descriptors"},
    {TOO_FEW_DESCRIPTORS, -EBADMSG, "not of this protocol"},
    {TOO_MANY_DESCRIPTORS, -EBADMSG, "not of this protocol"},
    {EXCHANGE_OF_ANOTHER_SIZE, -EBADMSG, "size"},
    {REPLY_AREA_OF_ANOTHER_SIZE, -EBADMSG, "size"},
    {REQUEST_AREA_UNSEALED, -EBADMSG, "sealed"},
    {REPLY_AREA_WRITABLE, -EBADMSG, "sealed"},
    {NOT_A_MEMFD, -EBADMSG, "sealed"},
    {ANOTHER_EPOCH, -EBADMSG, "another run"},
    {CLOSES_AFTER_MAPPED, -EPIPE, "closed"},
    {REFUSES_AFTER_MAPPED, -ENOMEM, "no memory to lock"},
    {WELCOME_TWICE, -EBADMSG, "twice"},
    {DESCRIPTORS_WITH_READY, -EBADMSG, "descriptors again"},
};

START_TEST(a_bad_server_is_left_with_a_reason_and_without_a_trace)
{
    unsigned before = torc_open_fds();
    start(bad_servers[_i].part);
    struct torc_attachment_options options = options_for(server.path);
    struct torc_attachment *attachment = NULL;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), bad_servers[_i].error);
    ck_assert_ptr_null(attachment);
    ck_assert_msg(strstr(why, bad_servers[_i].text) != NULL, "\"%s\"", why);
    stop();
    (void)close(server.listener);
    server.listener = -1;
    ck_assert_uint_eq(torc_open_fds(), before);
}
END_TEST

static const enum part slow_servers[] = {SILENT, SILENT_AFTER_MAPPED};

START_TEST(a_server_that_says_nothing_is_left_at_the_deadline)
{
    start(slow_servers[_i]);
    struct torc_attachment_options options = options_for(server.path);
    options.deadline_ns = torc_clock_monotonic_ns() + 30 * MS;
    struct torc_attachment *attachment = NULL;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), -ETIMEDOUT);
    ck_assert_uint_ge(torc_clock_monotonic_ns(), options.deadline_ns);
    ck_assert(strstr(why, "in time") != NULL);
    stop();
}
END_TEST

START_TEST(a_full_backlog_is_left_at_the_deadline)
{
    listen_at(server.path, SOCK_SEQPACKET);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, server.path, sizeof server.path);
    int waiting[4];
    for (unsigned i = 0; i < 4; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int result = connect(waiting[i], (const struct sockaddr *)&address, sizeof address);
        (void)result;
    }
    struct torc_attachment_options options = options_for(server.path);
    options.deadline_ns = torc_clock_monotonic_ns() + 20 * MS;
    struct torc_attachment *attachment = NULL;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), -ETIMEDOUT);
    for (unsigned i = 0; i < 4; i++) {
        (void)close(waiting[i]);
    }
}
END_TEST

START_TEST(where_nobody_listens_there_is_no_entry)
{
    struct torc_attachment *attachment = NULL;
    char why[TORC_HANDSHAKE_TEXT_BYTES];
    struct torc_attachment_options options = options_for(server.path);
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), -ENOENT);
    ck_assert(strstr(why, server.path) != NULL);
    listen_at(server.path, SOCK_SEQPACKET);
    (void)close(server.listener);
    server.listener = -1;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), -ENOENT);
    char below[128];
    (void)snprintf(below, sizeof below, "%s/below", server.path);
    options.path = below;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), -ENOENT);
}
END_TEST

START_TEST(a_socket_of_another_kind_is_no_control_socket)
{
    listen_at(server.path, SOCK_STREAM);
    struct torc_attachment_options options = options_for(server.path);
    struct torc_attachment *attachment = NULL;
    char why[TORC_HANDSHAKE_TEXT_BYTES];
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, why), -EINVAL);
    ck_assert(strstr(why, "no control socket") != NULL);
}
END_TEST

START_TEST(options_that_cannot_be_are_refused_before_anything_else)
{
    unsigned before = torc_open_fds();
    char long_path[200];
    memset(long_path, 'p', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    struct torc_attachment *attachment = NULL;
    const char *paths[] = {NULL, "", long_path};
    for (unsigned i = 0; i < 3; i++) {
        struct torc_attachment_options options = options_for(paths[i]);
        ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), -EINVAL);
    }
    struct torc_attachment_options options = options_for(server.path);
    options.wait = (enum torc_wait_mode)3;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), -EINVAL);
    listen_at(server.path, SOCK_SEQPACKET);
    options = options_for(server.path);
    options.name = long_path;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), -EINVAL);
    (void)close(server.listener);
    server.listener = -1;
    ck_assert_uint_eq(torc_open_fds(), before);
}
END_TEST

START_TEST(a_forked_child_does_not_inherit_the_memory)
{
    start(HONEST);
    struct torc_attachment *attachment = attach();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        /* msync() of what is not mapped fails with ENOMEM. */
        bool absent = msync(attachment->slots, TORC_PAGE_BYTES, MS_ASYNC) != 0 &&
                      msync(attachment->request_map, TORC_PAGE_BYTES, MS_ASYNC) != 0 &&
                      msync(attachment->reply_map, TORC_PAGE_BYTES, MS_ASYNC) != 0;
        _exit(absent ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    call(attachment, 8, 8);
    torc_attachment_close(attachment);
    stop();
}
END_TEST

START_TEST(the_death_of_the_server_is_noticed_by_wait_and_by_peek)
{
    start(DIES_AFTER_READY);
    struct torc_attachment *attachment = attach();
    ck_assert_int_eq(submit(attachment, 8, 8), 0);
    struct torc_slice reply;
    ck_assert_int_eq(torc_attachment_wait(attachment, 1, &reply), -ETIMEDOUT);
    atomic_store(&server.may_die, true);
    stop();
    if (_i == 0) {
        ck_assert_int_eq(torc_attachment_wait(attachment, 0, &reply), -EPIPE);
    } else {
        int result;
        do {
            result = torc_attachment_peek(attachment, &reply);
        } while (result == -EAGAIN);
        ck_assert_int_eq(result, -EPIPE);
    }
    ck_assert(torc_attachment_is_dead(attachment));
    ck_assert_int_eq(submit(attachment, 8, 8), -EPIPE);
    ck_assert_int_eq(torc_attachment_wait(attachment, 0, &reply), -EPIPE);
    ck_assert_uint_eq(torc_attachment_outstanding(attachment), 1);
    torc_attachment_close(attachment);
}
END_TEST

START_TEST(a_sleeping_client_notices_the_death_of_the_server)
{
    start(DIES_AFTER_READY);
    struct torc_attachment_options options = options_for(server.path);
    options.wait = TORC_WAIT_ADAPTIVE;
    options.spin_ns = 1;
    struct torc_attachment *attachment = NULL;
    ck_assert_int_eq(torc_attachment_open(&options, &attachment, NULL), 0);
    ck_assert_int_eq(submit(attachment, 8, 8), 0);
    atomic_store(&server.may_die, true);
    struct torc_slice reply;
    ck_assert_int_eq(torc_attachment_wait(attachment, 0, &reply), -EPIPE);
    torc_attachment_close(attachment);
    stop();
}
END_TEST

/* --- requests and replies, with the server's half in the same thread --- */

static struct torc_ring_pair pair;
static struct torc_attachment *client;

static void make_pair_of(uint32_t slots)
{
    struct torc_session_options options = torc_ring_pair_options(slots, AREA, LONG_MAX);
    pair = torc_ring_pair_make(&options, 0, TORC_WAIT_YIELD, 0);
    client = pair.attachment;
}

static void make_pair(void)
{
    make_pair_of(8);
}

static void free_pair(void)
{
    torc_malloc_fail_at(0);
    torc_ring_pair_free(&pair);
}

/* The server answers all that is there, with `len` bytes each. Returns how many. */
static unsigned answer_all(size_t len)
{
    struct torc_taken taken[TORC_SESSION_BATCH];
    int n = torc_session_take(pair.session, taken, TORC_SESSION_BATCH);
    ck_assert_int_ge(n, 0);
    unsigned answered = 0;
    for (int i = 0; i < n; i++) {
        torc_ring_message_fill(message, len, TORC_OP_HGET, torc_load_u32(taken[i].data + 4));
        if (torc_session_reply(pair.session, message, len) == 0) {
            answered++;
        }
    }
    torc_session_wake(pair.session);
    return answered;
}

static int peek(void)
{
    struct torc_slice reply;
    return torc_attachment_peek(client, &reply);
}

START_TEST(with_nothing_outstanding_there_is_nothing_to_see)
{
    struct torc_slice reply;
    ck_assert_int_eq(peek(), -ENOENT);
    ck_assert_int_eq(torc_attachment_wait(client, 0, &reply), -ENOENT);
    torc_attachment_consume(client);
    ck_assert_uint_eq(torc_attachment_outstanding(client), 0);
    ck_assert(torc_attachment_check(client));
}
END_TEST

START_TEST(replies_come_in_the_order_of_requests)
{
    for (uint32_t tag = 0; tag < 8; tag++) {
        ck_assert_int_eq(submit(client, 8 + tag * 100, tag), 0);
    }
    ck_assert_int_eq(peek(), -EAGAIN);
    ck_assert_uint_eq(answer_all(60), 8);
    for (uint32_t tag = 0; tag < 8; tag++) {
        struct torc_slice reply;
        ck_assert_int_eq(torc_attachment_peek(client, &reply), 0);
        ck_assert(torc_ring_message_is(reply, 60, TORC_OP_HGET, tag));
        torc_attachment_consume(client);
    }
    ck_assert_int_eq(peek(), -ENOENT);
}
END_TEST

START_TEST(no_more_requests_than_slots_are_outstanding)
{
    for (uint32_t tag = 0; tag < 8; tag++) {
        ck_assert_int_eq(submit(client, 8, tag), 0);
    }
    ck_assert_int_eq(submit(client, 8, 9), -EAGAIN);
    ck_assert_uint_eq(answer_all(8), 8);
    ck_assert_int_eq(submit(client, 8, 9), -EAGAIN);
    ck_assert_int_eq(peek(), 0);
    ck_assert_int_eq(submit(client, 8, 9), -EAGAIN);
    torc_attachment_consume(client);
    ck_assert_int_eq(submit(client, 8, 9), 0);
}
END_TEST

START_TEST(room_in_the_request_area_comes_back_with_replies)
{
    for (uint32_t tag = 0; tag < 4; tag++) {
        ck_assert_int_eq(submit(client, QUARTER, tag), 0);
    }
    ck_assert_int_eq(submit(client, 57, 4), -EAGAIN);
    ck_assert_int_eq(submit(client, QUARTER + 1, 4), -EAGAIN);
    ck_assert_int_eq(submit(client, 56, 4), 0);
    ck_assert_uint_eq(answer_all(8), 5);
    ck_assert_int_eq(peek(), 0);
    torc_attachment_consume(client);
    ck_assert_int_eq(submit(client, QUARTER, 5), 0);
    ck_assert_int_eq(submit(client, 57, 6), -EAGAIN);
}
END_TEST

START_TEST(a_reservation_is_forgotten_by_the_next_one_and_committed_once)
{
    int error = 0;
    ck_assert_int_eq(torc_attachment_commit(client, 8, 0), -EINVAL);
    void *first = torc_attachment_reserve(client, 500, &error);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(torc_attachment_reserve(client, 500, &error), first);
    ck_assert_ptr_nonnull(torc_attachment_reserve(client, 5000, &error));
    ck_assert_ptr_nonnull(torc_attachment_reserve(client, 5000, &error));
    uint8_t *to = torc_attachment_reserve(client, 40, &error);
    ck_assert_ptr_nonnull(to);
    torc_ring_message_fill(to, 40, TORC_OP_HGET, 1);
    ck_assert_int_eq(torc_attachment_commit(client, 41, 0), -EINVAL);
    ck_assert_int_eq(torc_attachment_commit(client, 7, 0), -EINVAL);
    ck_assert_int_eq(torc_attachment_commit(client, 30, 0), 0);
    ck_assert_int_eq(torc_attachment_commit(client, 30, 0), -EINVAL);
    struct torc_taken taken;
    ck_assert_int_eq(torc_session_take(pair.session, &taken, 1), 1);
    ck_assert_uint_eq(taken.len, 30);
}
END_TEST

START_TEST(messages_too_short_or_too_long_are_never_reserved)
{
    int error = 0;
    ck_assert_ptr_null(torc_attachment_reserve(client, 7, &error));
    ck_assert_int_eq(error, -EINVAL);
    ck_assert_ptr_null(torc_attachment_reserve(client, LONG_MAX + 1, &error));
    ck_assert_int_eq(error, -EMSGSIZE);
    ck_assert_ptr_null(torc_attachment_reserve(client, SIZE_MAX, &error));
    ck_assert_int_eq(error, -EMSGSIZE);
    torc_malloc_fail_at(1);
    void *none = torc_attachment_reserve(client, LONG_MAX, &error);
    torc_malloc_fail_at(0);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(error, -ENOMEM);
    ck_assert_int_eq(torc_attachment_commit(client, 8, 0), -EINVAL);
}
END_TEST

START_TEST(a_timed_out_request_stays_outstanding_and_its_reply_comes_first)
{
    struct torc_slice reply;
    ck_assert_int_eq(submit(client, 8, 1), 0);
    ck_assert_int_eq(torc_attachment_wait(client, 1, &reply), -ETIMEDOUT);
    ck_assert_int_eq(torc_attachment_wait(client, torc_clock_monotonic_ns() + MS, &reply),
                     -ETIMEDOUT);
    client->wait = TORC_WAIT_ADAPTIVE;
    ck_assert_int_eq(torc_attachment_wait(client, torc_clock_monotonic_ns() + 2 * MS, &reply),
                     -ETIMEDOUT);
    client->wait = TORC_WAIT_BUSY;
    ck_assert_int_eq(torc_attachment_wait(client, torc_clock_monotonic_ns() + MS, &reply),
                     -ETIMEDOUT);
    ck_assert_uint_eq(atomic_load(&client->request_lines->sleeping), 0);
    ck_assert_uint_eq(torc_attachment_outstanding(client), 1);
    ck_assert_int_eq(submit(client, 8, 2), 0);
    ck_assert_uint_eq(answer_all(8), 2);
    ck_assert_int_eq(torc_attachment_wait(client, 1, &reply), 0);
    ck_assert(torc_ring_message_is(reply, 8, TORC_OP_HGET, 1));
}
END_TEST

START_TEST(the_doorbell_rings_once_for_each_sleep_of_the_server)
{
    int doorbell = torc_session_fd(pair.session, TORC_FD_DOORBELL);
    uint64_t rings;
    ck_assert_int_eq(submit(client, 8, 0), 0);
    ck_assert_int_eq(read(doorbell, &rings, sizeof rings), -1);
    for (unsigned i = 0; i < 2; i++) {
        torc_session_set_sleeping(pair.session, true);
        ck_assert_int_eq(submit(client, 8, 0), 0);
        ck_assert_int_eq(submit(client, 8, 0), 0);
        ck_assert_int_eq(read(doorbell, &rings, sizeof rings), sizeof rings);
        ck_assert_uint_eq(rings, 1);
        torc_session_set_sleeping(pair.session, false);
    }
    ck_assert_uint_eq(answer_all(57), 5);
    torc_session_set_sleeping(pair.session, true);
    ck_assert_int_eq(peek(), 0);
    torc_attachment_consume(client); /* room in the reply area: a reply may wait for it */
    ck_assert_int_eq(read(doorbell, &rings, sizeof rings), sizeof rings);
}
END_TEST

/* One step of the client and one of the server, until a reply is there. */
static struct torc_slice step_until_reply(size_t reply_len)
{
    struct torc_slice reply = {0};
    int result = -EAGAIN;
    for (unsigned i = 0; i < 1000 && result == -EAGAIN; i++) {
        (void)answer_all(reply_len);
        result = torc_attachment_peek(client, &reply);
        ck_assert(torc_attachment_check(client));
        ck_assert(torc_session_check(pair.session));
    }
    ck_assert_int_eq(result, 0);
    return reply;
}

START_TEST(a_long_request_behind_others_is_pushed_while_they_are_seen)
{
    ck_assert_int_eq(submit(client, 8, 0), 0);
    ck_assert_int_eq(submit(client, 20000, 1), 0);
    ck_assert_int_eq(submit(client, 8, 2), 0);
    ck_assert_int_eq(submit(client, 20000, 3), -EAGAIN);
    for (uint32_t tag = 0; tag < 3; tag++) {
        ck_assert(torc_ring_message_is(step_until_reply(100), 100, TORC_OP_HGET, tag));
        torc_attachment_consume(client);
    }
    ck_assert_uint_eq(torc_session_counters(pair.session)->long_requests, 1);
}
END_TEST

START_TEST(a_long_request_that_times_out_goes_on_later)
{
    int error = 0;
    uint8_t *to = torc_attachment_reserve(client, 20000, &error);
    torc_ring_message_fill(to, 20000, TORC_OP_HGET, 7);
    ck_assert_int_eq(torc_attachment_commit(client, 20000, 1), -ETIMEDOUT);
    ck_assert_uint_eq(torc_attachment_outstanding(client), 1);
    ck_assert(torc_ring_message_is(step_until_reply(8), 8, TORC_OP_HGET, 7));
}
END_TEST

START_TEST(a_long_reservation_committed_short_is_one_part)
{
    int error = 0;
    uint8_t *to = torc_attachment_reserve(client, 20000, &error);
    torc_ring_message_fill(to, 9, TORC_OP_HGET, 7);
    ck_assert_int_eq(torc_attachment_commit(client, 9, 0), 0);
    struct torc_taken taken;
    ck_assert_int_eq(torc_session_take(pair.session, &taken, 1), 1);
    ck_assert(torc_ring_message_is(torc_slice_of(taken.data, taken.len), 9, TORC_OP_HGET, 7));
}
END_TEST

START_TEST(the_refusal_of_a_long_request_is_its_reply)
{
    ck_assert_int_eq(submit(client, 8, 0), 0);
    ck_assert_int_eq(submit(client, 20000, 1), 0);
    torc_malloc_fail_at(1);
    unsigned answered = answer_all(8);
    torc_malloc_fail_at(0);
    ck_assert_uint_eq(answered, 1);
    ck_assert_int_eq(peek(), 0);
    torc_attachment_consume(client);
    struct torc_slice bytes;
    struct torc_reply reply;
    ck_assert_int_eq(torc_attachment_peek(client, &bytes), 0);
    ck_assert_int_eq(torc_reply_decode(bytes.data, bytes.len, &reply), 0);
    ck_assert_int_eq(reply.status, TORC_WIRE_OUT_OF_MEMORY);
    ck_assert_uint_eq(reply.tag, 1);
    torc_attachment_consume(client);
    ck_assert_int_eq(submit(client, 56, 2), 0);
    ck_assert(torc_ring_message_is(step_until_reply(8), 8, TORC_OP_HGET, 2));
}
END_TEST

START_TEST(long_messages_are_whole_at_lengths_around_the_ends_of_their_parts)
{
    const size_t first = QUARTER - 28; /* bytes in LONG, in PART, in PUT */
    const size_t part = QUARTER - 16;
    const size_t pushed = QUARTER - 28;
    for (size_t n = 1; n < 4; n++) {
        for (size_t extra = 0; extra < 3; extra++) {
            size_t reply_len = first + n * part + extra - 1;
            size_t len = (n + 1) * pushed + extra - 1;
            ck_assert_int_eq(submit(client, 8, 0), 0); /* so that the next one does not wait */
            ck_assert_int_eq(submit(client, len, 1), 0);
            ck_assert(
                torc_ring_message_is(step_until_reply(reply_len), reply_len, TORC_OP_HGET, 0));
            torc_attachment_consume(client);
            ck_assert(
                torc_ring_message_is(step_until_reply(reply_len), reply_len, TORC_OP_HGET, 1));
            torc_attachment_consume(client);
        }
    }
}
END_TEST

START_TEST(long_replies_in_a_row_are_pulled_one_after_the_other)
{
    for (uint32_t tag = 0; tag < 8; tag++) {
        ck_assert_int_eq(submit(client, 8, tag), 0);
    }
    for (uint32_t tag = 0; tag < 8; tag++) {
        ck_assert(torc_ring_message_is(step_until_reply(LONG_MAX), LONG_MAX, TORC_OP_HGET, tag));
        torc_attachment_consume(client);
    }
}
END_TEST

START_TEST(a_long_reply_without_memory_can_be_tried_again_or_given_up)
{
    for (unsigned gives_up = 0; gives_up < 2; gives_up++) {
        /* As soon as the first has been pulled, the second is answered in the same step. */
        size_t second_len = gives_up ? 200 : 20000;
        ck_assert_int_eq(submit(client, 8, 1), 0);
        ck_assert_int_eq(submit(client, 8, 2), 0);
        ck_assert_uint_eq(answer_all(20000), 1);
        for (unsigned i = 0; i < 3; i++) {
            torc_malloc_fail_at(1);
            int result = peek();
            torc_malloc_fail_at(0);
            ck_assert_int_eq(result, -ENOMEM);
            ck_assert_uint_eq(torc_attachment_outstanding(client), 2);
        }
        if (gives_up) {
            torc_attachment_consume(client);
            ck_assert_uint_eq(torc_attachment_outstanding(client), 1);
            torc_attachment_consume(client); /* nothing peeked: does nothing */
            ck_assert_uint_eq(torc_attachment_outstanding(client), 1);
        } else {
            ck_assert(torc_ring_message_is(step_until_reply(20000), 20000, TORC_OP_HGET, 1));
            torc_attachment_consume(client);
        }
        ck_assert(torc_ring_message_is(step_until_reply(second_len), second_len, TORC_OP_HGET, 2));
        torc_attachment_consume(client);
        ck_assert_int_eq(peek(), -ENOENT);
    }
}
END_TEST

START_TEST(a_long_reply_is_taken_and_stays_whole_when_others_come)
{
    ck_assert_ptr_null(torc_attachment_take_long(client)); /* nothing is peeked */
    ck_assert_int_eq(submit(client, 8, 1), 0);
    ck_assert_uint_eq(answer_all(20000), 1);
    ck_assert(torc_ring_message_is(step_until_reply(20000), 20000, TORC_OP_HGET, 1));
    uint8_t *taken = torc_attachment_take_long(client);
    ck_assert_ptr_nonnull(taken);
    ck_assert_ptr_null(torc_attachment_take_long(client));
    ck_assert_int_eq(peek(), 0); /* still the peeked one */
    torc_attachment_consume(client);
    ck_assert(torc_attachment_check(client));
    static const size_t lens[] = {20, 200, 20000}; /* in a slot, the area, in parts again */
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(submit(client, 8, 2 + i), 0);
        ck_assert_uint_eq(answer_all(lens[i]), 1);
        ck_assert(torc_ring_message_is(step_until_reply(lens[i]), lens[i], TORC_OP_HGET, 2 + i));
        if (i < 2) {
            ck_assert_ptr_null(torc_attachment_take_long(client)); /* not private memory */
        }
        torc_attachment_consume(client);
    }
    ck_assert(torc_ring_message_is(torc_slice_of(taken, 20000), 20000, TORC_OP_HGET, 1));
    free(taken);
}
END_TEST

START_TEST(a_reply_given_up_frees_its_slot_once_the_server_knows)
{
    free_pair();
    make_pair_of(2);
    ck_assert_int_eq(submit(client, 8, 1), 0);
    ck_assert_uint_eq(answer_all(20000), 1);
    torc_malloc_fail_at(1);
    int result = peek();
    torc_malloc_fail_at(0);
    ck_assert_int_eq(result, -ENOMEM);
    torc_attachment_consume(client);
    ck_assert_int_eq(peek(), -ENOENT);
    ck_assert_int_eq(submit(client, 8, 2), 0);
    ck_assert_int_eq(submit(client, 8, 3), -EAGAIN);
    ck_assert_uint_eq(answer_all(8), 1);
    ck_assert_int_eq(submit(client, 8, 3), 0);
    ck_assert(torc_ring_message_is(step_until_reply(8), 8, TORC_OP_HGET, 2));
}
END_TEST

/* --- a server that breaks the rules --- */

static void store_reply(uint16_t len, unsigned kind)
{
    uint64_t control = torc_control_make(torc_turn_reply(client->tail, client->slots_log2), len,
                                         (enum torc_slot_kind)kind);
    atomic_store(&client->slots[client->tail & client->slot_mask].control, control);
}

static void put_bytes(const void *bytes, uint16_t len)
{
    memcpy(client->slots[client->tail & client->slot_mask].message, bytes, len);
    store_reply(len, TORC_SLOT_INLINE);
}

static void put_descriptor(uint32_t offset, uint32_t length)
{
    struct torc_descriptor descriptor = {offset, length};
    memcpy(client->slots[client->tail & client->slot_mask].message, &descriptor, sizeof descriptor);
    store_reply(sizeof descriptor, TORC_SLOT_AREA);
}

static void put_long(uint64_t total, size_t part)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    struct torc_reply_writer writer;
    torc_reply_begin(&writer, bytes, sizeof bytes, TORC_OP_HGETALL, 1);
    torc_reply_long(&writer, total, 1, torc_slice_of(message, part));
    put_bytes(bytes, (uint16_t)writer.len);
}

static void put_part(uint64_t offset, size_t part)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    struct torc_reply_writer writer;
    torc_reply_begin(&writer, bytes, sizeof bytes, TORC_OP_FETCH, 0);
    torc_reply_part(&writer, offset, torc_slice_of(message, part));
    put_bytes(bytes, (uint16_t)writer.len);
}

static void break_server(int how)
{
    switch (how) {
    case 0:
        store_reply(8, 0);
        break;
    case 1:
        store_reply(7, TORC_SLOT_INLINE);
        break;
    case 2:
        store_reply(57, TORC_SLOT_INLINE);
        break;
    case 3:
        store_reply(9, TORC_SLOT_AREA);
        break;
    case 4:
        put_descriptor(64, 100); /* not where the next message must be */
        break;
    case 5:
        put_descriptor(0, QUARTER + 1);
        break;
    case 6:
        put_descriptor(0, 7);
        break;
    case 7:
        put_descriptor(AREA, UINT32_MAX);
        break;
    case 8:
        put_long(LONG_MAX + 1, 20);
        break;
    case 9:
        put_long(20, 20);
        break;
    case 10:
        put_long(7, 0);
        break;
    case 11: /* a LONG that is cut */
        memset(message, 0, TORC_SLOT_MESSAGE);
        message[1] = TORC_REPLY_LONG << 4;
        put_bytes(message, 20);
        break;
    case 12:
        put_long(1000, 20);
        ck_assert_int_eq(peek(), -EAGAIN);
        put_part(21, 10);
        break;
    case 13:
        put_long(30, 20);
        ck_assert_int_eq(peek(), -EAGAIN);
        put_part(20, 11);
        break;
    case 14:
        put_long(1000, 20);
        ck_assert_int_eq(peek(), -EAGAIN);
        put_part(20, 0);
        break;
    case 15:
        put_long(1000, 20);
        ck_assert_int_eq(peek(), -EAGAIN);
        put_long(1000, 20);
        break;
    default:
        store_reply(8, TORC_SLOT_INLINE);
        atomic_fetch_xor(&client->slots[client->tail & client->slot_mask].control, 1ull << 59);
        break;
    }
}
#define WAYS_TO_BREAK 17

START_TEST(a_broken_reply_ends_the_attachment)
{
    ck_assert_int_eq(submit(client, 8, 1), 0);
    break_server(_i);
    ck_assert_int_eq(peek(), -EBADMSG);
    ck_assert_int_eq(peek(), -EBADMSG);
    struct torc_slice reply;
    ck_assert_int_eq(torc_attachment_wait(client, 0, &reply), -EBADMSG);
}
END_TEST

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(void)
{
    Suite *suite = suite_create("attachment");
    TCase *t = tcase_create("attaching");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, an_honest_server_is_attached_to_and_answers_messages_of_all_sizes);
    tcase_add_test(t, a_sleeping_client_is_answered_too);
    tcase_add_loop_test(t, a_bad_server_is_left_with_a_reason_and_without_a_trace, 0,
                        COUNT_OF(bad_servers));
    tcase_add_loop_test(t, a_server_that_says_nothing_is_left_at_the_deadline, 0,
                        COUNT_OF(slow_servers));
    tcase_add_test(t, a_full_backlog_is_left_at_the_deadline);
    tcase_add_test(t, where_nobody_listens_there_is_no_entry);
    tcase_add_test(t, a_socket_of_another_kind_is_no_control_socket);
    tcase_add_test(t, options_that_cannot_be_are_refused_before_anything_else);
    tcase_add_test(t, a_forked_child_does_not_inherit_the_memory);
    tcase_add_loop_test(t, the_death_of_the_server_is_noticed_by_wait_and_by_peek, 0, 2);
    tcase_add_test(t, a_sleeping_client_notices_the_death_of_the_server);
    suite_add_tcase(suite, t);
    t = tcase_create("requests and replies");
    tcase_add_checked_fixture(t, make_pair, free_pair);
    tcase_add_test(t, with_nothing_outstanding_there_is_nothing_to_see);
    tcase_add_test(t, replies_come_in_the_order_of_requests);
    tcase_add_test(t, no_more_requests_than_slots_are_outstanding);
    tcase_add_test(t, room_in_the_request_area_comes_back_with_replies);
    tcase_add_test(t, a_reservation_is_forgotten_by_the_next_one_and_committed_once);
    tcase_add_test(t, messages_too_short_or_too_long_are_never_reserved);
    tcase_add_test(t, a_timed_out_request_stays_outstanding_and_its_reply_comes_first);
    tcase_add_test(t, the_doorbell_rings_once_for_each_sleep_of_the_server);
    tcase_add_test(t, a_long_request_behind_others_is_pushed_while_they_are_seen);
    tcase_add_test(t, a_long_request_that_times_out_goes_on_later);
    tcase_add_test(t, a_long_reservation_committed_short_is_one_part);
    tcase_add_test(t, the_refusal_of_a_long_request_is_its_reply);
    tcase_add_test(t, long_messages_are_whole_at_lengths_around_the_ends_of_their_parts);
    tcase_add_test(t, long_replies_in_a_row_are_pulled_one_after_the_other);
    tcase_add_test(t, a_long_reply_without_memory_can_be_tried_again_or_given_up);
    tcase_add_test(t, a_long_reply_is_taken_and_stays_whole_when_others_come);
    tcase_add_test(t, a_reply_given_up_frees_its_slot_once_the_server_knows);
    tcase_add_loop_test(t, a_broken_reply_ends_the_attachment, 0, WAYS_TO_BREAK);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
