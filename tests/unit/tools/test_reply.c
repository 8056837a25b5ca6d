/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/torcd/reply.h"

static struct torc_output output;
static struct torc_resp_sink resp;
static uint8_t protocol;

static void set_up(void)
{
    protocol = 2;
    torc_output_init(&output, 1 << 20);
    torc_resp_sink_init(&resp, &output, &protocol);
}

static void tear_down(void)
{
    torc_output_fini(&output);
}

static void expect(const char *wanted)
{
    size_t len = torc_output_pending(&output);
    ck_assert_uint_eq(len, strlen(wanted));
    ck_assert_mem_eq(output.data + output.start, wanted, len);
    torc_output_consume(&output, len);
}

START_TEST(scalars_are_written_as_resp2)
{
    struct torc_sink *sink = &resp.sink;
    torc_sink_ok(sink);
    expect("+OK\r\n");
    torc_sink_text(sink, torc_slice_str("PONG"));
    expect("+PONG\r\n");
    torc_sink_bytes(sink, torc_slice_str("hello"));
    expect("$5\r\nhello\r\n");
    torc_sink_bytes(sink, torc_slice_of(NULL, 0));
    expect("$0\r\n\r\n");
    torc_sink_null(sink);
    expect("$-1\r\n");
    torc_sink_prose(sink, torc_slice_str("text"));
    expect("$4\r\ntext\r\n");
    ck_assert(!sink->is_flat);
}
END_TEST

START_TEST(integers_of_every_width_are_written)
{
    static const struct {
        int64_t value;
        const char *wanted;
    } cases[] = {
        {0, ":0\r\n"},
        {9, ":9\r\n"},
        {10, ":10\r\n"},
        {99, ":99\r\n"},
        {100, ":100\r\n"},
        {12345, ":12345\r\n"},
        {-1, ":-1\r\n"},
        {-10, ":-10\r\n"},
        {1000000, ":1000000\r\n"},
        {INT64_MAX, ":9223372036854775807\r\n"},
        {INT64_MIN, ":-9223372036854775808\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torc_sink_integer(&resp.sink, cases[i].value);
        expect(cases[i].wanted);
    }
}
END_TEST

START_TEST(collections_are_flat_in_resp2)
{
    struct torc_sink *sink = &resp.sink;
    torc_sink_array(sink, 2);
    torc_sink_item(sink, torc_slice_str("a"));
    torc_sink_item(sink, torc_slice_of(NULL, 0));
    expect("*2\r\n$1\r\na\r\n$-1\r\n");
    torc_sink_pairs(sink, 1);
    torc_sink_item(sink, torc_slice_str("f"));
    torc_sink_item(sink, torc_slice_of("", 0));
    expect("*2\r\n$1\r\nf\r\n$0\r\n\r\n");
    torc_sink_set(sink, 0);
    expect("*0\r\n");
    torc_sink_cursor(sink, UINT64_MAX, 1);
    torc_sink_item(sink, torc_slice_str("k"));
    expect("*2\r\n$20\r\n18446744073709551615\r\n*1\r\n$1\r\nk\r\n");
}
END_TEST

START_TEST(resp3_has_its_own_null_map_set_and_text)
{
    struct torc_sink *sink = &resp.sink;
    protocol = 3;
    torc_sink_null(sink);
    expect("_\r\n");
    torc_sink_pairs(sink, 1);
    torc_sink_item(sink, torc_slice_str("f"));
    torc_sink_item(sink, torc_slice_of(NULL, 0));
    expect("%1\r\n$1\r\nf\r\n_\r\n");
    torc_sink_set(sink, 1);
    expect("~1\r\n");
    torc_sink_prose(sink, torc_slice_str("text"));
    expect("=8\r\ntxt:text\r\n");
    torc_sink_array(sink, 3);
    expect("*3\r\n");
    torc_sink_cursor(sink, 0, 0);
    expect("*2\r\n$1\r\n0\r\n*0\r\n");
}
END_TEST

START_TEST(rows_are_flat_in_resp2_and_nested_in_resp3)
{
    struct torc_sink *sink = &resp.sink;
    for (protocol = 2; protocol <= 3; protocol++) {
        torc_sink_rows(sink, 2);
        for (int i = 0; i < 2; i++) {
            torc_sink_row(sink);
            torc_sink_item(sink, torc_slice_str("f"));
            torc_sink_item(sink, torc_slice_str("v"));
        }
        expect(protocol == 2 ? "*4\r\n$1\r\nf\r\n$1\r\nv\r\n$1\r\nf\r\n$1\r\nv\r\n"
                             : "*2\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n");
        torc_sink_rows(sink, 0);
        expect("*0\r\n");
    }
}
END_TEST

START_TEST(a_resp_reply_is_full_once_the_output_has_failed)
{
    static uint8_t half[512 * 1024];
    ck_assert_uint_eq(resp.sink.items_max, (1 << 20) / 6);
    ck_assert_int_eq(resp.sink.too_many, TORC_FAULT_OUTPUT_TOO_LARGE);
    ck_assert(torc_sink_reserve(&resp.sink, SIZE_MAX));
    torc_sink_item(&resp.sink, torc_slice_of(half, sizeof half));
    ck_assert(!torc_sink_is_full(&resp.sink));
    torc_sink_item(&resp.sink, torc_slice_of(half, sizeof half));
    ck_assert(torc_sink_is_full(&resp.sink));
}
END_TEST

START_TEST(faults_have_redis_texts)
{
    torc_sink_fault(&resp.sink, TORC_FAULT_WRONG_TYPE);
    ck_assert_int_eq(resp.sink.fault, TORC_FAULT_WRONG_TYPE);
    expect("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    torc_sink_fault(&resp.sink, TORC_FAULT_OUT_OF_MEMORY);
    expect("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    torc_sink_fault_with(&resp.sink, TORC_FAULT_ARITY, torc_slice_str("hset"), torc_slice_str(""));
    expect("-ERR wrong number of arguments for 'hset' command\r\n");
    torc_sink_fault_with(&resp.sink, TORC_FAULT_UNKNOWN_COMMAND, torc_slice_str("A\r\nB"),
                         torc_slice_str("'x' "));
    expect("-ERR unknown command 'A  B', with args beginning with: 'x' \r\n");
}
END_TEST

START_TEST(a_long_reply_ends_when_its_client_has_hung_up)
{
    static uint8_t part[TORC_OUTPUT_BLOCK_BYTES];
    int fds[2];
    torc_output_init(&output, (size_t)64 << 20);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    output.fd = fds[0];
    torc_output_append(&output, part, sizeof part);
    torc_output_append(&output, part, sizeof part);
    ck_assert(!output.failed);
    /* Who sends no more may still read. */
    ck_assert_int_eq(shutdown(fds[1], SHUT_WR), 0);
    torc_output_append(&output, part, sizeof part);
    ck_assert(!output.failed && !torc_sink_is_full(&resp.sink));
    ck_assert_int_eq(close(fds[1]), 0);
    torc_output_append(&output, part, sizeof part);
    ck_assert(output.failed && output.hung_up && torc_sink_is_full(&resp.sink));
    ck_assert_int_eq(close(fds[0]), 0);
}
END_TEST

START_TEST(what_waits_in_many_blocks_comes_out_in_order_without_being_copied_again)
{
    torc_output_init(&output, (size_t)64 << 20);
    uint8_t part[5000];
    uint64_t written = 0;
    uint64_t read = 0;
    for (unsigned i = 0; i < 800; i++) {
        for (size_t k = 0; k < sizeof part; k++) {
            part[k] = (uint8_t)((written + k) * 31 >> 3);
        }
        torc_output_append(&output, part, sizeof part);
        written += sizeof part;
    }
    ck_assert(!output.failed);
    ck_assert_uint_eq(torc_output_pending(&output), written);
    ck_assert_uint_gt(output.queued, 2 * TORC_OUTPUT_BLOCK_BYTES);
    ck_assert_uint_le(torc_output_bytes(&output), written + 3 * TORC_OUTPUT_BLOCK_BYTES);
    while (torc_output_pending(&output) != 0) {
        struct torc_slice front = torc_output_front(&output);
        size_t n = front.len < 7777 ? front.len : 7777;
        unsigned n_other = 0;
        for (size_t k = 0; k < n; k++) {
            n_other += front.data[k] != (uint8_t)((read + k) * 31 >> 3);
        }
        ck_assert_uint_eq(n_other, 0);
        torc_output_consume(&output, n);
        read += n;
    }
    ck_assert_uint_eq(read, written);
    ck_assert_uint_eq(output.queued_cap, 0);
}
END_TEST

START_TEST(every_fault_has_a_text_that_is_one_line_and_a_status)
{
    char buffer[TORC_FAULT_TEXT_BYTES];
    char noise[1000];
    memset(noise, '\n', sizeof noise);
    for (unsigned fault = TORC_FAULT_NONE + 1; fault < TORC_FAULT_COUNT; fault++) {
        struct torc_slice text =
            torc_fault_text((enum torc_fault)fault, torc_slice_of(noise, sizeof noise),
                            torc_slice_of(noise, sizeof noise), buffer);
        ck_assert_uint_gt(text.len, 3);
        ck_assert_uint_lt(text.len, TORC_FAULT_TEXT_BYTES);
        ck_assert_ptr_null(memchr(text.data, '\n', text.len));
        ck_assert_ptr_null(memchr(text.data, '\r', text.len));
        ck_assert_int_ne(torc_fault_status((enum torc_fault)fault), TORC_WIRE_OK);
    }
}
END_TEST

START_TEST(errors_of_the_hash_layer_have_their_faults)
{
    ck_assert_int_eq(torc_fault_of_hash(-EINVAL), TORC_FAULT_WRONG_TYPE);
    ck_assert_int_eq(torc_fault_of_hash(-ENOSPC), TORC_FAULT_OUT_OF_MEMORY);
    ck_assert_int_eq(torc_fault_of_hash(-ENOMEM), TORC_FAULT_OUT_OF_MEMORY);
    ck_assert_int_eq(torc_fault_of_hash(-EMSGSIZE), TORC_FAULT_TOO_LONG);
    ck_assert_int_eq(torc_fault_of_hash(-EIO), TORC_FAULT_INTERNAL);
}
END_TEST

START_TEST(the_output_grows_moves_and_keeps_its_bytes)
{
    uint64_t written = 0;
    uint64_t read = 0;
    for (int round = 0; round < 2000; round++) {
        uint8_t chunk[701];
        for (size_t i = 0; i < sizeof chunk; i++) {
            chunk[i] = (uint8_t)(written + i);
        }
        torc_output_append(&output, chunk, sizeof chunk);
        written += sizeof chunk;
        /* The reader falls behind, then catches up. */
        size_t take = round % 50 == 49 ? torc_output_pending(&output) : (size_t)(round * 13 % 700);
        size_t n_wrong = 0;
        for (size_t i = 0; i < take; i++) {
            n_wrong += output.data[output.start + i] != (uint8_t)(read + i);
        }
        ck_assert_uint_eq(n_wrong, 0);
        torc_output_consume(&output, take);
        read += take;
        ck_assert_uint_eq(torc_output_pending(&output), written - read);
    }
    ck_assert(!output.failed);
    torc_output_consume(&output, torc_output_pending(&output));
    torc_output_trim(&output, 0);
    ck_assert_uint_eq(output.cap, 0);
}
END_TEST

START_TEST(the_output_fails_for_good_above_its_limit)
{
    static uint8_t half[512 * 1024];
    torc_output_append(&output, half, sizeof half);
    torc_output_append(&output, half, sizeof half);
    ck_assert(!output.failed);
    ck_assert_uint_eq(torc_output_pending(&output), 1 << 20);
    torc_sink_ok(&resp.sink);
    ck_assert(output.failed);
    torc_sink_bytes(&resp.sink, torc_slice_of(half, sizeof half));
    torc_sink_integer(&resp.sink, 1);
    ck_assert_uint_le(torc_output_pending(&output), 1 << 20);
}
END_TEST

/* --- ring --- */

static struct torc_ring_sink ring;
static uint8_t message[4096];

static struct torc_reply decode(void)
{
    struct torc_reply reply;
    ck_assert(torc_reply_is_complete(&ring.writer));
    ck_assert_int_eq(torc_reply_decode(message, ring.writer.len, &reply), 0);
    ck_assert_uint_eq(reply.op, TORC_OP_HGET);
    ck_assert_uint_eq(reply.tag, 77);
    return reply;
}

static struct torc_sink *start(void)
{
    torc_ring_sink_init(&ring, NULL, 1 << 20, message, sizeof message, TORC_OP_HGET, 77);
    return &ring.sink;
}

START_TEST(scalars_are_written_as_ring_messages)
{
    torc_sink_ok(start());
    ck_assert_int_eq(decode().kind, TORC_REPLY_OK);
    ck_assert(ring.sink.is_flat);
    torc_sink_integer(start(), -5);
    ck_assert_int_eq(decode().integer, -5);
    torc_sink_null(start());
    ck_assert_int_eq(decode().kind, TORC_REPLY_NULL);
    torc_sink_text(start(), torc_slice_str("PONG"));
    ck_assert_int_eq(decode().kind, TORC_REPLY_TEXT);
    torc_sink_bytes(start(), torc_slice_str("value"));
    struct torc_reply reply = decode();
    ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
    ck_assert(torc_slice_equal(reply.bytes, torc_slice_str("value")));
    torc_sink_prose(start(), torc_slice_str("text"));
    ck_assert_int_eq(decode().kind, TORC_REPLY_BYTES);
}
END_TEST

START_TEST(collections_are_written_as_ring_messages)
{
    struct torc_sink *sink = start();
    torc_sink_pairs(sink, 1);
    torc_sink_item(sink, torc_slice_str("f"));
    torc_sink_item(sink, torc_slice_str("v"));
    struct torc_reply reply = decode();
    ck_assert_int_eq(reply.kind, TORC_REPLY_PAIRS);
    ck_assert_uint_eq(reply.count, 2);
    sink = start();
    torc_sink_cursor(sink, 123, 2);
    torc_sink_item(sink, torc_slice_str("a"));
    torc_sink_item(sink, torc_slice_of(NULL, 0));
    reply = decode();
    ck_assert_int_eq(reply.kind, TORC_REPLY_CURSOR);
    ck_assert_uint_eq(reply.cursor, 123);
    ck_assert(torc_slice_equal(torc_reply_at(&reply, 0), torc_slice_str("a")));
    ck_assert_ptr_null(torc_reply_at(&reply, 1).data);
}
END_TEST

START_TEST(rows_are_pairs_on_the_ring)
{
    struct torc_sink *sink = start();
    torc_sink_rows(sink, 1);
    torc_sink_row(sink);
    torc_sink_item(sink, torc_slice_str("f"));
    torc_sink_item(sink, torc_slice_str("v"));
    struct torc_reply reply = decode();
    ck_assert_int_eq(reply.kind, TORC_REPLY_PAIRS);
    ck_assert_uint_eq(reply.count, 2);
}
END_TEST

START_TEST(room_for_an_array_is_asked_for_and_numbers_are_items)
{
    uint8_t bytes[64];
    struct torc_ring_sink mine;
    struct torc_reply reply;
    torc_ring_sink_init(&mine, NULL, 1000, bytes, sizeof bytes, TORC_OP_HTTL, 1);
    ck_assert(torc_sink_reserve_items(&mine.sink, 2, 8));
    torc_sink_array(&mine.sink, 2);
    torc_sink_integer_item(&mine.sink, -2);
    torc_sink_integer_item(&mine.sink, 123456);
    ck_assert(torc_reply_is_complete(&mine.writer));
    ck_assert_uint_eq(mine.writer.len, TORC_MESSAGE_HEAD_BYTES + 4 + 2 * 4 + 8);
    ck_assert_int_eq(torc_reply_decode(bytes, mine.writer.len, &reply), 0);
    ck_assert(torc_slice_equal(torc_reply_at(&reply, 1), torc_slice_str("123456")));

    /* Too much for the memory there is: the maker learns what it takes, and nothing was given. */
    torc_ring_sink_begin(&mine, bytes, sizeof bytes, TORC_OP_HTTL, 1);
    ck_assert(!torc_sink_reserve_items(&mine.sink, 3, 50));
    ck_assert(mine.was_asked && mine.writer.overflow);
    ck_assert_uint_eq(mine.writer.need, TORC_MESSAGE_HEAD_BYTES + 4 + 3 * 4 + 50);
    torc_ring_sink_begin(&mine, bytes, sizeof bytes, TORC_OP_HTTL, 1);
    ck_assert(!torc_sink_reserve_items(&mine.sink, 1, (size_t)1 << 31));
    ck_assert_uint_eq(mine.writer.need, SIZE_MAX);

    torc_ring_sink_begin(&mine, bytes, sizeof bytes, TORC_OP_HTTL, 1);
    torc_sink_postpone(&mine.sink);
    ck_assert(mine.sink.is_postponed && mine.room == -EAGAIN);
    torc_ring_sink_begin(&mine, bytes, sizeof bytes, TORC_OP_HTTL, 1);
    ck_assert(!mine.sink.is_postponed && mine.room == 0);
}
END_TEST

START_TEST(room_for_an_array_above_the_output_limit_is_refused)
{
    struct torc_output small;
    struct torc_resp_sink limited;
    const uint8_t version = 2;
    torc_output_init(&small, 1000);
    torc_resp_sink_init(&limited, &small, &version);
    ck_assert(!torc_sink_reserve_items(&limited.sink, 1, 1000));
    ck_assert(!small.failed);
    ck_assert_int_eq(limited.sink.fault, TORC_FAULT_OUTPUT_TOO_LARGE);
    ck_assert(!torc_sink_reserve_items(&limited.sink, 1, SIZE_MAX));
    ck_assert(!torc_sink_reserve_items(&limited.sink, INT32_MAX, 0));
    ck_assert(torc_sink_reserve_items(&limited.sink, 2, 4));
    size_t pending = torc_output_pending(&small);
    torc_sink_array(&limited.sink, 2);
    torc_sink_integer_item(&limited.sink, 17);
    torc_sink_integer_item(&limited.sink, -2);
    struct torc_slice all = torc_output_front(&small);
    ck_assert(torc_slice_equal(torc_slice_of(all.data + pending, all.len - pending),
                               torc_slice_str("*2\r\n:17\r\n:-2\r\n")));
    torc_output_fini(&small);
}
END_TEST

START_TEST(a_ring_reply_is_full_above_its_limit_and_room_is_asked_for)
{
    torc_ring_sink_init(&ring, NULL, 100, message, 50, TORC_OP_HGET, 77);
    struct torc_sink *sink = &ring.sink;
    ck_assert_uint_eq(sink->items_max, 25);
    ck_assert_int_eq(sink->too_many, TORC_FAULT_REPLY_TOO_LARGE);
    ck_assert(torc_sink_reserve(sink, 50 - 9));
    ck_assert(!ring.writer.overflow);
    ck_assert(!torc_sink_reserve(sink, 50 - 8));
    ck_assert(ring.writer.overflow && ring.was_asked);
    ck_assert_uint_eq(ring.writer.need, 51);

    torc_ring_sink_init(&ring, NULL, 100, message, 50, TORC_OP_HGET, 77);
    torc_sink_array(sink, 4); /* 12 bytes and 16 of ends */
    torc_sink_item(sink, torc_slice_of(message, 40));
    ck_assert(ring.writer.overflow);
    ck_assert(!torc_sink_is_full(sink));
    torc_sink_item(sink, torc_slice_of(message, 33));
    ck_assert(torc_sink_is_full(sink));
}
END_TEST

START_TEST(the_size_of_a_byte_string_reply_is_known_before)
{
    static uint8_t large[70000];
    static const size_t lengths[] = {0, 1, 255, 256, 65535, 65536};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct torc_reply_writer w;
        torc_reply_begin(&w, NULL, 0, TORC_OP_HGET, 1);
        torc_reply_bytes(&w, torc_slice_of(large, lengths[i]));
        ck_assert_uint_eq(torc_reply_bytes_size(lengths[i]), w.need);
    }
}
END_TEST

START_TEST(faults_have_the_same_text_on_the_ring_and_a_status)
{
    torc_sink_fault(start(), TORC_FAULT_WRONG_TYPE);
    struct torc_reply reply = decode();
    ck_assert_int_eq(reply.kind, TORC_REPLY_ERROR);
    ck_assert_int_eq(reply.status, TORC_WIRE_WRONG_TYPE);
    ck_assert(torc_slice_equal(
        reply.bytes,
        torc_slice_str("WRONGTYPE Operation against a key holding the wrong kind of value")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tcase = tcase_create("reply");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, scalars_are_written_as_resp2);
    tcase_add_test(tcase, integers_of_every_width_are_written);
    tcase_add_test(tcase, collections_are_flat_in_resp2);
    tcase_add_test(tcase, resp3_has_its_own_null_map_set_and_text);
    tcase_add_test(tcase, rows_are_flat_in_resp2_and_nested_in_resp3);
    tcase_add_test(tcase, a_resp_reply_is_full_once_the_output_has_failed);
    tcase_add_test(tcase, faults_have_redis_texts);
    tcase_add_test(tcase, a_long_reply_ends_when_its_client_has_hung_up);
    tcase_add_test(tcase, what_waits_in_many_blocks_comes_out_in_order_without_being_copied_again);
    tcase_add_test(tcase, every_fault_has_a_text_that_is_one_line_and_a_status);
    tcase_add_test(tcase, errors_of_the_hash_layer_have_their_faults);
    tcase_add_test(tcase, the_output_grows_moves_and_keeps_its_bytes);
    tcase_add_test(tcase, the_output_fails_for_good_above_its_limit);
    tcase_add_test(tcase, scalars_are_written_as_ring_messages);
    tcase_add_test(tcase, collections_are_written_as_ring_messages);
    tcase_add_test(tcase, rows_are_pairs_on_the_ring);
    tcase_add_test(tcase, a_ring_reply_is_full_above_its_limit_and_room_is_asked_for);
    tcase_add_test(tcase, room_for_an_array_is_asked_for_and_numbers_are_items);
    tcase_add_test(tcase, room_for_an_array_above_the_output_limit_is_refused);
    tcase_add_test(tcase, the_size_of_a_byte_string_reply_is_known_before);
    tcase_add_test(tcase, faults_have_the_same_text_on_the_ring_and_a_status);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
