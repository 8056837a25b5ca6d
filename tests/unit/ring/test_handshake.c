/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/handshake.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/handshake_private.h"
#include "tests/support/ring_pair.h"

static char why[TORC_HANDSHAKE_TEXT_BYTES];

/* --- HELLO --- */

static const struct torc_session_options server_defaults = {
    .slots = 256,
    .request_area_bytes = 65536,
    .reply_area_bytes = 131072,
    .long_message_max = 1 << 20,
    .epoch = 42,
    .features = ~0ull,
};

static struct torc_hello good_hello(void)
{
    return (struct torc_hello){
        .magic = TORC_HANDSHAKE_MAGIC,
        .type = TORC_HELLO,
        .version_min = 1,
        .version_max = 1,
        .database = 3,
        .name = "pricing engine",
    };
}

static int check_hello(const struct torc_hello *hello, struct torc_session_options *options)
{
    struct torc_hello out;
    why[0] = '\0';
    return torc_handshake_check_hello(hello, sizeof *hello, options, &out, why);
}

START_TEST(a_hello_without_wishes_gets_the_defaults)
{
    struct torc_hello hello = good_hello();
    struct torc_hello out;
    struct torc_session_options options = server_defaults;
    ck_assert_int_eq(torc_handshake_check_hello(&hello, sizeof hello, &options, &out, why), 0);
    ck_assert_uint_eq(options.slots, 256);
    ck_assert_uint_eq(options.request_area_bytes, 65536);
    ck_assert_uint_eq(options.reply_area_bytes, 131072);
    ck_assert_uint_eq(options.long_message_max, 1 << 20);
    ck_assert_uint_eq(options.epoch, 42);
    ck_assert_uint_eq(out.database, 3);
    ck_assert_str_eq(out.name, "pricing engine");
}
END_TEST

START_TEST(wishes_are_granted_within_limits)
{
    struct torc_hello hello = good_hello();
    struct torc_session_options options = server_defaults;
    hello.slots = 2;
    hello.request_area_bytes = 4096;
    hello.reply_area_bytes = TORC_AREA_BYTES_MAX;
    ck_assert_int_eq(check_hello(&hello, &options), 0);
    ck_assert_uint_eq(options.slots, 2);
    ck_assert_uint_eq(options.request_area_bytes, 4096);
    ck_assert_uint_eq(options.reply_area_bytes, TORC_AREA_BYTES_MAX);
}
END_TEST

START_TEST(wishes_out_of_limits_are_refused_and_nothing_is_settled)
{
    for (unsigned i = 0; i < 5; i++) {
        struct torc_hello hello = good_hello();
        struct torc_session_options options = server_defaults;
        hello.slots = 16;
        uint32_t *fields[] = {&hello.slots, &hello.slots, &hello.request_area_bytes,
                              &hello.reply_area_bytes, &hello.reply_area_bytes};
        const uint32_t values[] = {1, 100, 2048, 5000, 1u << 31};
        *fields[i] = values[i];
        ck_assert_int_eq(check_hello(&hello, &options), -EINVAL);
        ck_assert(strstr(why, "power of two") != NULL);
        ck_assert_uint_eq(options.slots, server_defaults.slots);
        ck_assert_uint_eq(options.request_area_bytes, server_defaults.request_area_bytes);
        ck_assert_uint_eq(options.reply_area_bytes, server_defaults.reply_area_bytes);
        ck_assert_uint_eq(options.features, server_defaults.features);
    }
}
END_TEST

START_TEST(features_are_those_of_both_sides_and_unknown_bits_are_ignored)
{
    struct torc_hello hello = good_hello();
    struct torc_session_options options = server_defaults;
    hello.features = 0;
    ck_assert_int_eq(check_hello(&hello, &options), 0);
    ck_assert_uint_eq(options.features, 0);
    hello.features = ~0ull;
    ck_assert_int_eq(check_hello(&hello, &options), 0);
    ck_assert_uint_eq(options.features & ~(uint64_t)TORC_FEATURE_MEMBARRIER, 0);
}
END_TEST

START_TEST(versions_must_overlap)
{
    const struct {
        uint32_t min, max;
        int result;
    } cases[] = {{1, 1, 0},       {0, 7, 0},       {1, UINT32_MAX, 0}, {2, 3, -EPROTO},
                 {0, 0, -EPROTO}, {2, 1, -EPROTO}, {2, 0, -EPROTO}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct torc_hello hello = good_hello();
        struct torc_session_options options = server_defaults;
        hello.version_min = cases[i].min;
        hello.version_max = cases[i].max;
        ck_assert_int_eq(check_hello(&hello, &options), cases[i].result);
        ck_assert_int_eq(why[0] != '\0', cases[i].result != 0);
    }
}
END_TEST

START_TEST(a_hello_of_another_version_is_told_so_whatever_its_length)
{
    struct torc_hello hello = good_hello();
    struct torc_session_options options = server_defaults;
    struct torc_hello out;
    hello.version_min = hello.version_max = 2;
    for (size_t len = 16; len <= sizeof hello; len++) {
        ck_assert_int_eq(torc_handshake_check_hello(&hello, len, &options, &out, why), -EPROTO);
    }
    ck_assert_str_eq(why, "client speaks protocol versions 2 to 2, this server speaks 1");
    ck_assert_int_eq(torc_handshake_check_hello(&hello, 15, &options, &out, why), -EBADMSG);
}
END_TEST

START_TEST(what_is_no_hello_is_malformed)
{
    struct torc_hello hello = good_hello();
    struct torc_session_options options = server_defaults;
    struct torc_hello out;
    for (size_t len = 0; len < sizeof hello; len++) {
        ck_assert_int_eq(torc_handshake_check_hello(&hello, len, &options, &out, why), -EBADMSG);
    }
    uint8_t longer[sizeof hello + 1] = {0};
    memcpy(longer, &hello, sizeof hello);
    ck_assert_int_eq(torc_handshake_check_hello(longer, sizeof longer, &options, &out, why),
                     -EBADMSG);
    hello.magic ^= 1;
    ck_assert_int_eq(check_hello(&hello, &options), -EBADMSG);
    hello = good_hello();
    hello.type = TORC_WELCOME;
    ck_assert_int_eq(check_hello(&hello, &options), -EBADMSG);
}
END_TEST

START_TEST(names_are_printable_and_end)
{
    struct torc_hello hello = good_hello();
    struct torc_session_options options = server_defaults;
    memset(hello.name, 'x', sizeof hello.name);
    ck_assert_int_eq(check_hello(&hello, &options), -EBADMSG);
    hello.name[sizeof hello.name - 1] = '\0';
    ck_assert_int_eq(check_hello(&hello, &options), 0);
    const char bad[] = {'\n', '\x1b', '\x7f', '\x80', '\xff'};
    for (unsigned i = 0; i < sizeof bad; i++) {
        hello = good_hello();
        hello.name[2] = bad[i];
        ck_assert_int_eq(check_hello(&hello, &options), -EBADMSG);
    }
    /* What follows the end is nobody's business. */
    hello = good_hello();
    memcpy(hello.name, "a\0\n\xff", 4);
    struct torc_hello out;
    ck_assert_int_eq(torc_handshake_check_hello(&hello, sizeof hello, &options, &out, why), 0);
    const char expected[TORC_HANDSHAKE_NAME_BYTES] = "a";
    ck_assert_mem_eq(out.name, expected, sizeof expected);
}
END_TEST

/* --- WELCOME and REFUSED --- */

START_TEST(a_welcome_carries_the_settled_sizes)
{
    struct torc_welcome welcome = torc_handshake_welcome(&server_defaults, 77, 1, 4);
    struct torc_welcome out;
    ck_assert_int_eq(torc_handshake_check_welcome(&welcome, sizeof welcome, &out, why), 0);
    ck_assert_uint_eq(out.slots, 256);
    ck_assert_uint_eq(out.request_area_bytes, 65536);
    ck_assert_uint_eq(out.reply_area_bytes, 131072);
    ck_assert_uint_eq(out.session_id, 77);
    ck_assert_uint_eq(out.epoch, 42);
    ck_assert_uint_eq(out.shard, 1);
    ck_assert_uint_eq(out.n_shards, 4);
    ck_assert_uint_eq(out.long_message_max, 1 << 20);
}
END_TEST

START_TEST(a_welcome_out_of_range_is_refused_by_the_client)
{
    for (unsigned i = 0; i < 9; i++) {
        struct torc_welcome welcome = torc_handshake_welcome(&server_defaults, 77, 0, 1);
        int expected = -EBADMSG;
        switch (i) {
        case 0:
            welcome.slots = 3;
            break;
        case 1:
            welcome.request_area_bytes = 0;
            break;
        case 2:
            welcome.reply_area_bytes = 1u << 31;
            break;
        case 3:
            welcome.long_message_max = TORC_MESSAGE_MAX_BYTES + 1;
            break;
        case 4:
            welcome.n_shards = 0;
            break;
        case 5:
            welcome.shard = 1;
            break;
        case 6:
            welcome.magic++;
            break;
        case 7:
            welcome.type = TORC_READY;
            break;
        default:
            welcome.version = 2;
            expected = -EPROTO;
            break;
        }
        struct torc_welcome out;
        ck_assert_int_eq(torc_handshake_check_welcome(&welcome, sizeof welcome, &out, why),
                         expected);
    }
    struct torc_welcome welcome = torc_handshake_welcome(&server_defaults, 77, 0, 1);
    struct torc_welcome out;
    for (size_t len = 0; len < sizeof welcome; len++) {
        ck_assert_int_eq(torc_handshake_check_welcome(&welcome, len, &out, why), -EBADMSG);
    }
}
END_TEST

START_TEST(a_refusal_brings_its_reason_and_its_text)
{
    const struct {
        int error, arrives;
    } cases[] = {{-EPROTO, -EPROTO},   {-ENOSPC, -ENOSPC}, {-ENOMEM, -ENOMEM}, {-EAGAIN, -ENOMEM},
                 {-EBADMSG, -EBADMSG}, {-EINVAL, -EINVAL}, {-EPIPE, -EINVAL}};
    int sockets[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torc_handshake_refuse(sockets[0], cases[i].error, "no room for more sessions");
        struct torc_refused refused;
        size_t len;
        ck_assert_int_eq(
            torc_handshake_receive(sockets[1], &refused, sizeof refused, NULL, 0, &len), 0);
        struct torc_welcome none;
        ck_assert_int_eq(torc_handshake_check_welcome(&refused, len, &none, why), cases[i].arrives);
        ck_assert_str_eq(why, "no room for more sessions");
    }
    (void)close(sockets[1]);
    torc_handshake_refuse(sockets[0], -EINVAL, "nobody hears this");
    (void)close(sockets[0]);
}
END_TEST

START_TEST(a_text_from_the_server_ends_and_is_printable)
{
    struct torc_refused refused = {
        .magic = TORC_HANDSHAKE_MAGIC, .type = TORC_REFUSED, .reason = 1000};
    memset(refused.text, '\x1b', sizeof refused.text);
    struct torc_welcome none;
    ck_assert_int_eq(torc_handshake_check_welcome(&refused, sizeof refused, &none, why), -EINVAL);
    ck_assert_uint_eq(strlen(why), TORC_HANDSHAKE_TEXT_BYTES - 1);
    ck_assert_uint_eq(strspn(why, "?"), TORC_HANDSHAKE_TEXT_BYTES - 1);
}
END_TEST

START_TEST(marks_are_exact)
{
    struct torc_handshake_mark mark = torc_handshake_mark(TORC_MAPPED);
    ck_assert(torc_handshake_is_mark(&mark, sizeof mark, TORC_MAPPED));
    ck_assert(!torc_handshake_is_mark(&mark, sizeof mark, TORC_READY));
    ck_assert(!torc_handshake_is_mark(&mark, sizeof mark - 1, TORC_MAPPED));
    mark.magic = 0;
    ck_assert(!torc_handshake_is_mark(&mark, sizeof mark, TORC_MAPPED));
}
END_TEST

/* --- datagrams and descriptors --- */

static int ends[2];
static unsigned fds_before;

static void make_sockets(void)
{
    fds_before = torc_open_fds();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                     0);
}

static void close_sockets(void)
{
    (void)close(ends[0]);
    (void)close(ends[1]);
    ck_assert_uint_eq(torc_open_fds(), fds_before);
}

/* Send one byte with n copies of a descriptor, past all checks of our own. */
static void send_with_fds(unsigned n)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = CMSG_SPACE(n * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(n * sizeof(int));
    for (unsigned i = 0; i < n; i++) {
        memcpy(CMSG_DATA(rights) + i * sizeof(int), &ends[0], sizeof(int));
    }
    ck_assert_int_eq(sendmsg(ends[0], &header, 0), 1);
}

START_TEST(a_datagram_arrives_with_its_descriptors_closed_on_exec)
{
    int sent[4] = {ends[0], ends[1], ends[0], ends[1]};
    int fds[4];
    char buffer[16];
    size_t len = 0;
    ck_assert_int_eq(torc_handshake_send(ends[0], "hello", 5, sent, 4), 0);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, sizeof buffer, fds, 4, &len), 0);
    ck_assert_uint_eq(len, 5);
    ck_assert_mem_eq(buffer, "hello", 5);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_ne(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, 0);
        (void)close(fds[i]);
    }
}
END_TEST

static const unsigned wrong_counts[] = {1, 3, 5, 32, 33, 60};

START_TEST(another_number_of_descriptors_is_refused_and_all_are_closed)
{
    unsigned n = wrong_counts[_i];
    unsigned before = torc_open_fds();
    int fds[4] = {-1, -1, -1, -1};
    char buffer[16];
    size_t len = 7;
    unsigned n_fds = 7;
    send_with_fds(n);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, sizeof buffer, fds, 4, &len),
                     -EBADMSG);
    send_with_fds(n);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, sizeof buffer, fds, 0, &len),
                     -EBADMSG);
    send_with_fds(n);
    ck_assert_int_eq(
        torc_handshake_receive_some(ends[1], buffer, sizeof buffer, fds, 4, &len, &n_fds),
        -EBADMSG);
    ck_assert_uint_eq(torc_open_fds(), before);
    ck_assert_int_eq(fds[0], -1);
    ck_assert_uint_eq(len, 7);
    ck_assert_uint_eq(n_fds, 7);
}
END_TEST

START_TEST(no_descriptors_where_some_must_be_are_refused_unless_either_will_do)
{
    int fds[4];
    char buffer[16];
    size_t len;
    unsigned n_fds = 7;
    ck_assert_int_eq(torc_handshake_send(ends[0], "x", 1, NULL, 0), 0);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, sizeof buffer, fds, 4, &len),
                     -EBADMSG);
    ck_assert_int_eq(torc_handshake_send(ends[0], "x", 1, NULL, 0), 0);
    ck_assert_int_eq(
        torc_handshake_receive_some(ends[1], buffer, sizeof buffer, fds, 4, &len, &n_fds), 0);
    ck_assert_uint_eq(n_fds, 0);
}
END_TEST

START_TEST(a_datagram_too_long_is_refused)
{
    char buffer[4];
    size_t len;
    ck_assert_int_eq(torc_handshake_send(ends[0], "12345", 5, NULL, 0), 0);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, 4, NULL, 0, &len), -EBADMSG);
    ck_assert_int_eq(torc_handshake_send(ends[0], "12345", 5, ends, 2), 0);
    int fds[2];
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, 4, fds, 2, &len), -EBADMSG);
}
END_TEST

START_TEST(nothing_there_and_end_of_file_are_told_apart)
{
    char buffer[4];
    size_t len;
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, 4, NULL, 0, &len), -EAGAIN);
    ck_assert_int_eq(shutdown(ends[0], SHUT_WR), 0);
    ck_assert_int_eq(torc_handshake_receive(ends[1], buffer, 4, NULL, 0, &len), -EPIPE);
    ck_assert_int_eq(shutdown(ends[1], SHUT_RD), 0);
    ck_assert_int_eq(torc_handshake_send(ends[0], "x", 1, NULL, 0), -EPIPE);
}
END_TEST

START_TEST(a_full_socket_says_again_and_limits_are_checked)
{
    static char large[4096];
    int result = 0;
    for (unsigned i = 0; i < 100000 && result == 0; i++) {
        result = torc_handshake_send(ends[0], large, sizeof large, NULL, 0);
    }
    ck_assert_int_eq(result, -EAGAIN);
    int many[9] = {0};
    size_t len;
    ck_assert_int_eq(torc_handshake_send(ends[0], "x", 1, many, 9), -EINVAL);
    ck_assert_int_eq(torc_handshake_send(ends[0], "", 0, NULL, 0), -EINVAL);
    ck_assert_int_eq(torc_handshake_receive(ends[1], large, sizeof large, many, 9, &len), -EINVAL);
    ck_assert_int_eq(torc_handshake_send(-1, "x", 1, NULL, 0), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake");
    TCase *hello = tcase_create("hello");
    tcase_add_test(hello, a_hello_without_wishes_gets_the_defaults);
    tcase_add_test(hello, wishes_are_granted_within_limits);
    tcase_add_test(hello, wishes_out_of_limits_are_refused_and_nothing_is_settled);
    tcase_add_test(hello, features_are_those_of_both_sides_and_unknown_bits_are_ignored);
    tcase_add_test(hello, versions_must_overlap);
    tcase_add_test(hello, a_hello_of_another_version_is_told_so_whatever_its_length);
    tcase_add_test(hello, what_is_no_hello_is_malformed);
    tcase_add_test(hello, names_are_printable_and_end);
    suite_add_tcase(suite, hello);
    TCase *answers = tcase_create("answers");
    tcase_add_test(answers, a_welcome_carries_the_settled_sizes);
    tcase_add_test(answers, a_welcome_out_of_range_is_refused_by_the_client);
    tcase_add_test(answers, a_refusal_brings_its_reason_and_its_text);
    tcase_add_test(answers, a_text_from_the_server_ends_and_is_printable);
    tcase_add_test(answers, marks_are_exact);
    suite_add_tcase(suite, answers);
    TCase *datagrams = tcase_create("datagrams");
    tcase_add_checked_fixture(datagrams, make_sockets, close_sockets);
    tcase_add_test(datagrams, a_datagram_arrives_with_its_descriptors_closed_on_exec);
    tcase_add_loop_test(datagrams, another_number_of_descriptors_is_refused_and_all_are_closed, 0,
                        (int)(sizeof wrong_counts / sizeof wrong_counts[0]));
    tcase_add_test(datagrams, no_descriptors_where_some_must_be_are_refused_unless_either_will_do);
    tcase_add_test(datagrams, a_datagram_too_long_is_refused);
    tcase_add_test(datagrams, nothing_there_and_end_of_file_are_told_apart);
    tcase_add_test(datagrams, a_full_socket_says_again_and_limits_are_checked);
    suite_add_tcase(suite, datagrams);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
