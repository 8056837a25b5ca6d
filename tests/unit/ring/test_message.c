/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/message.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring/exchange.h"

#define MAX_STRINGS 16u

static struct torc_slice str(const char *text)
{
    return torc_slice_str(text);
}

static void assert_slice_is(struct torc_slice slice, const char *text)
{
    ck_assert_ptr_nonnull(slice.data);
    ck_assert_msg(torc_slice_equal(slice, str(text)), "\"%.*s\" is not \"%s\"", (int)slice.len,
                  (const char *)slice.data, text);
}

/* --- the vectors of docs/formats/message.md --- */

static char *read_document(void)
{
    FILE *file = fopen(TORC_SOURCE_DIR "/docs/formats/message.md", "re");
    ck_assert_ptr_nonnull(file);
    static char text[64 * 1024];
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    return text;
}

/* The document has a line with this message and these bytes. */
static void assert_documented(const char *what, const uint8_t *data, size_t len)
{
    char row[512];
    int at = snprintf(row, sizeof row, "| %s | `", what);
    for (size_t i = 0; i < len; i++) {
        at += snprintf(row + at, sizeof row - (size_t)at, i == 0 ? "%02x" : " %02x", data[i]);
    }
    (void)snprintf(row + at, sizeof row - (size_t)at, "` |");
    ck_assert_msg(strstr(read_document(), row) != NULL, "not in docs/formats/message.md: %s", row);
}

struct request_vector {
    const char *what;
    enum torc_op op;
    uint32_t tag;
    uint64_t numbers[TORC_MESSAGE_NUMBERS];
    const char *strings[6];
};

static const struct request_vector request_vectors[] = {
    {"HGET user:1 name, tag 7", TORC_OP_HGET, 7, {0}, {"user:1", "name"}},
    {"HSET k f v, tag 1", TORC_OP_HSET, 1, {0}, {"k", "f", "v"}},
    {"HSET k a 1 b \"\", tag 2", TORC_OP_HSET, 2, {0}, {"k", "a", "1", "b", ""}},
    {"PING, tag 3", TORC_OP_PING, 3, {0}, {NULL}},
    {"SELECT -1, tag 4", TORC_OP_SELECT, 4, {UINT64_MAX}, {NULL}},
    {"HINCRBY k f -1, tag 5", TORC_OP_HINCRBY, 5, {UINT64_MAX}, {"k", "f"}},
    {"HSCAN k 9 COUNT 5, tag 6", TORC_OP_HSCAN, 6, {9}, {"k", "COUNT", "5"}},
    {"FETCH id 5 offset 4096, tag 0", TORC_OP_FETCH, 0, {5, 4096}, {NULL}},
};

START_TEST(request_vectors_of_the_document_hold)
{
    const struct request_vector *v = &request_vectors[_i];
    struct torc_slice strings[6];
    uint32_t n = 0;
    while (n < 6 && v->strings[n] != NULL) {
        strings[n] = str(v->strings[n]);
        n++;
    }
    uint8_t data[128];
    size_t len = torc_request_encode(data, (uint8_t)v->op, v->tag, v->numbers, strings, n);
    ck_assert_uint_gt(len, 0);
    ck_assert_uint_eq(len, torc_request_size((uint8_t)v->op, strings, n));
    assert_documented(v->what, data, len);

    struct torc_slice decoded[MAX_STRINGS];
    struct torc_request request;
    ck_assert_int_eq(torc_request_decode(data, len, decoded, MAX_STRINGS, &request), 0);
    ck_assert_uint_eq(request.op, v->op);
    ck_assert_uint_eq(request.tag, v->tag);
    ck_assert_uint_eq(request.n_strings, n);
    ck_assert_mem_eq(request.numbers, v->numbers, sizeof v->numbers);
    for (uint32_t i = 0; i < n; i++) {
        assert_slice_is(request.strings[i], v->strings[i]);
    }
}
END_TEST

static uint8_t built[256];

static struct torc_reply decode_documented(const char *what, const struct torc_reply_writer *w)
{
    ck_assert(torc_reply_is_complete(w));
    assert_documented(what, w->data, w->len);
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(w->data, w->len, &reply), 0);
    return reply;
}

static void begin(struct torc_reply_writer *w, enum torc_op op, uint32_t tag)
{
    torc_reply_begin(w, built, sizeof built, (uint8_t)op, tag);
}

START_TEST(vectors_of_replies_without_items_hold)
{
    struct torc_reply_writer w;
    begin(&w, TORC_OP_FLUSHALL, 9);
    torc_reply_ok(&w);
    struct torc_reply reply = decode_documented("reply OK to FLUSHALL, tag 9", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_OK);
    ck_assert_uint_eq(reply.op, TORC_OP_FLUSHALL);
    ck_assert_uint_eq(reply.tag, 9);

    begin(&w, TORC_OP_HGET, 7);
    torc_reply_error(&w, TORC_WIRE_WRONG_TYPE, "no");
    reply = decode_documented("reply ERROR, status 2, text \"no\", to HGET, tag 7", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_ERROR);
    ck_assert_int_eq(reply.status, TORC_WIRE_WRONG_TYPE);
    assert_slice_is(reply.bytes, "no");

    begin(&w, TORC_OP_HDEL, 8);
    torc_reply_int(&w, -2);
    reply = decode_documented("reply INT -2 to HDEL, tag 8", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_INT);
    ck_assert_int_eq(reply.integer, -2);

    begin(&w, TORC_OP_HGET, 7);
    torc_reply_bytes(&w, str("v"));
    reply = decode_documented("reply BYTES \"v\" to HGET, tag 7", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
    assert_slice_is(reply.bytes, "v");

    begin(&w, TORC_OP_HGET, 7);
    torc_reply_null(&w);
    reply = decode_documented("reply NULL to HGET, tag 7", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_NULL);

    begin(&w, TORC_OP_PING, 3);
    torc_reply_text(&w, str("PONG"));
    reply = decode_documented("reply TEXT PONG to PING, tag 3", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_TEXT);
    assert_slice_is(reply.bytes, "PONG");
}
END_TEST

START_TEST(vectors_of_replies_with_items_hold)
{
    struct torc_reply_writer w;
    begin(&w, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, 3);
    torc_reply_item(&w, str("ab"));
    torc_reply_item(&w, torc_slice_of(NULL, 0));
    torc_reply_item(&w, str(""));
    struct torc_reply reply =
        decode_documented("reply ARRAY \"ab\", null, \"\" to HMGET, tag 1", &w);
    ck_assert_uint_eq(reply.count, 3);
    assert_slice_is(torc_reply_at(&reply, 0), "ab");
    ck_assert_ptr_null(torc_reply_at(&reply, 1).data);
    assert_slice_is(torc_reply_at(&reply, 2), "");

    begin(&w, TORC_OP_HGETALL, 1);
    torc_reply_array_begin(&w, TORC_REPLY_PAIRS, 0, 2);
    torc_reply_item(&w, str("f"));
    torc_reply_item(&w, str("v"));
    reply = decode_documented("reply PAIRS f=v to HGETALL, tag 1", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_PAIRS);
    assert_slice_is(torc_reply_at(&reply, 1), "v");

    begin(&w, TORC_OP_SCAN, 1);
    torc_reply_array_begin(&w, TORC_REPLY_CURSOR, 17, 1);
    torc_reply_item(&w, str("k"));
    reply = decode_documented("reply CURSOR 17 with \"k\" to SCAN, tag 1", &w);
    ck_assert_uint_eq(reply.cursor, 17);
    ck_assert_uint_eq(reply.count, 1);
    assert_slice_is(torc_reply_at(&reply, 0), "k");
}
END_TEST

START_TEST(vectors_of_cut_replies_hold)
{
    struct torc_reply_writer w;
    begin(&w, TORC_OP_HGETALL, 1);
    torc_reply_long(&w, 300, 5, str("xy"));
    struct torc_reply reply =
        decode_documented("reply LONG of 300 bytes, id 5, part \"xy\", to HGETALL, tag 1", &w);
    ck_assert_uint_eq(reply.cursor, 300);
    ck_assert_uint_eq(reply.id, 5);
    assert_slice_is(reply.bytes, "xy");

    begin(&w, TORC_OP_FETCH, 0);
    torc_reply_part(&w, 298, str("zz"));
    reply = decode_documented("reply PART at 298, \"zz\", to FETCH, tag 0", &w);
    ck_assert_int_eq(reply.kind, TORC_REPLY_PART);
    ck_assert_uint_eq(reply.cursor, 298);
    assert_slice_is(reply.bytes, "zz");
}
END_TEST

/* --- requests --- */

static size_t encoded_size(enum torc_op op, const size_t *lens, uint32_t n)
{
    static uint8_t bytes[70000];
    static uint8_t out[3 * sizeof bytes];
    struct torc_slice strings[MAX_STRINGS];
    for (uint32_t i = 0; i < n; i++) {
        strings[i] = torc_slice_of(bytes, lens[i]);
    }
    size_t size = torc_request_encode(out, (uint8_t)op, 0, NULL, strings, n);
    struct torc_request request;
    struct torc_slice decoded[MAX_STRINGS];
    ck_assert_int_eq(torc_request_decode(out, size, decoded, MAX_STRINGS, &request), 0);
    return size;
}

START_TEST(hot_requests_and_replies_fit_a_slot)
{
    ck_assert_uint_le(encoded_size(TORC_OP_HGET, (size_t[]){20, 16}, 2), TORC_SLOT_MESSAGE);
    ck_assert_uint_le(encoded_size(TORC_OP_HSET, (size_t[]){14, 14, 16}, 3), TORC_SLOT_MESSAGE);
    struct torc_reply_writer w;
    uint8_t slot[TORC_SLOT_MESSAGE];
    torc_reply_begin(&w, slot, sizeof slot, TORC_OP_HGET, 1);
    torc_reply_bytes(&w, str("0123456789012345678901234567890123456789"));
    ck_assert(torc_reply_is_complete(&w));
}
END_TEST

START_TEST(lengths_take_the_narrowest_width_that_fits_all)
{
    ck_assert_uint_eq(encoded_size(TORC_OP_HGET, (size_t[]){255, 3}, 2), 8 + 1 + 255 + 1 + 3);
    ck_assert_uint_eq(encoded_size(TORC_OP_HGET, (size_t[]){3, 256}, 2), 8 + 2 + 3 + 2 + 256);
    ck_assert_uint_eq(encoded_size(TORC_OP_HGET, (size_t[]){65535, 0}, 2), 8 + 2 + 65535 + 2);
    ck_assert_uint_eq(encoded_size(TORC_OP_HGET, (size_t[]){65536, 0}, 2), 8 + 4 + 65536 + 4);
}
END_TEST

START_TEST(strings_that_do_not_suit_the_shape_are_not_encoded)
{
    struct torc_slice strings[4] = {str("a"), str("b"), str("c"), str("d")};
    uint8_t out[64];
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 1), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 3), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_HSET, strings, 0), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_HSET, strings, 2), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_HSET, strings, 4), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_DBSIZE, strings, 1), 0);
    ck_assert_uint_eq(torc_request_size(TORC_OP_NONE, strings, 0), 0);
    ck_assert_uint_eq(torc_request_size(255, strings, 0), 0);
    ck_assert_uint_eq(torc_request_encode(out, TORC_OP_HSET, 1, NULL, strings, 2), 0);
}
END_TEST

START_TEST(lengths_that_no_message_can_carry_are_not_encoded)
{
    /* Sizes only: the bytes are not looked at. */
    struct torc_slice strings[2] = {torc_slice_of("", 1ull << 32), str("f")};
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 2), 0);
    strings[0].len = TORC_MESSAGE_MAX_BYTES - 17;
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 2), TORC_MESSAGE_MAX_BYTES);
    strings[0].len++;
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 2), 0);
    strings[0].len = SIZE_MAX;
    strings[1].len = SIZE_MAX;
    ck_assert_uint_eq(torc_request_size(TORC_OP_HGET, strings, 2), 0);
}
END_TEST

START_TEST(a_request_that_does_not_fit_is_measured_and_not_written)
{
    struct torc_slice strings[2] = {str("key"), str("field")};
    uint8_t out[18] = {0};
    uint8_t zeros[18] = {0};
    ck_assert_uint_eq(torc_request_encode_within(out, 17, TORC_OP_HGET, 1, NULL, strings, 2), 18);
    ck_assert_mem_eq(out, zeros, sizeof out);
    ck_assert_uint_eq(torc_request_encode_within(out, 18, TORC_OP_HGET, 1, NULL, strings, 2), 18);
    ck_assert_uint_eq(out[0], TORC_OP_HGET);
    ck_assert_uint_eq(torc_request_encode_within(out, 18, TORC_OP_HGET, 1, NULL, strings, 1), 0);
}
END_TEST

START_TEST(a_repeat_of_none_is_well_formed)
{
    struct torc_slice key = str("k");
    uint8_t out[64];
    size_t len = torc_request_encode(out, TORC_OP_HMGET, 1, NULL, &key, 1);
    ck_assert_uint_gt(len, 0);
    struct torc_request request;
    struct torc_slice strings[MAX_STRINGS];
    ck_assert_int_eq(torc_request_decode(out, len, strings, MAX_STRINGS, &request), 0);
    ck_assert_uint_eq(request.n_strings, 1);
}
END_TEST

struct bad_request {
    const char *why;
    int error;
    uint8_t data[32];
    size_t len;
};

#define BYTES(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static const struct bad_request bad_requests[] = {
    {"no op 0", -ENOENT, BYTES(0, 0, 0, 0, 9, 0, 0, 0)},
    {"no op 255", -ENOENT, BYTES(255, 0, 0, 0, 9, 0, 0, 0)},
    {"width 3", -EBADMSG, BYTES(11, 3, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"reserved bit 3", -EBADMSG, BYTES(11, 8, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"reserved bit 7", -EBADMSG, BYTES(11, 128, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"ONE without repeats", -EBADMSG, BYTES(11, 4, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"a status", -EBADMSG, BYTES(11, 0, 1, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"trailing byte", -EBADMSG, BYTES(11, 0, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f', 0)},
    {"trailing bytes, no strings", -EBADMSG, BYTES(44, 0, 0, 0, 9, 0, 0, 0, 0)},
    {"length runs out", -EBADMSG, BYTES(11, 0, 0, 0, 9, 0, 0, 0, 1, 'k', 2, 'f')},
    {"no number", -EBADMSG, BYTES(3, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7)},
    {"no repeat count", -EBADMSG, BYTES(12, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0)},
    {"count above the bytes", -EBADMSG, BYTES(12, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
    {"huge count", -EBADMSG,
     BYTES(10, 0, 0, 0, 9, 0, 0, 0, 255, 255, 255, 255, 1, 'k', 1, 'f', 1, 'v')},
    {"pair cut in half", -EBADMSG, BYTES(10, 4, 0, 0, 9, 0, 0, 0, 1, 'k', 1, 'f')},
};

START_TEST(a_bad_request_is_refused_and_still_names_op_and_tag)
{
    const struct bad_request *bad = &bad_requests[_i];
    struct torc_slice strings[MAX_STRINGS];
    struct torc_request request;
    int rc = torc_request_decode(bad->data, bad->len, strings, MAX_STRINGS, &request);
    ck_assert_msg(rc == bad->error, "%s: %d", bad->why, rc);
    ck_assert_uint_eq(request.op, bad->data[0]);
    ck_assert_uint_eq(request.tag, 9);
    rc = torc_request_decode(bad->data, 7, strings, MAX_STRINGS, &request);
    ck_assert_int_eq(rc, -EBADMSG);
    ck_assert_uint_eq(request.op, 0);
    ck_assert_uint_eq(request.tag, 0);
}
END_TEST

START_TEST(a_decoder_takes_wider_lengths_and_a_count_of_one_too)
{
    static const uint8_t wide[] = {12, 2, 0, 0, 9, 0,   0, 0, 1, 0, 0,
                                   0,  1, 0, 0, 0, 'k', 1, 0, 0, 0, 'f'};
    struct torc_slice strings[MAX_STRINGS];
    struct torc_request request;
    ck_assert_int_eq(torc_request_decode(wide, sizeof wide, strings, MAX_STRINGS, &request), 0);
    ck_assert_uint_eq(request.n_strings, 2);
    assert_slice_is(strings[0], "k");
    assert_slice_is(strings[1], "f");
}
END_TEST

START_TEST(too_many_strings_for_the_caller_say_how_many_there_are)
{
    struct torc_slice in[5] = {str("k"), str("a"), str("b"), str("c"), str("d")};
    uint8_t out[64];
    size_t len = torc_request_encode(out, TORC_OP_HMGET, 3, NULL, in, 5);
    struct torc_slice strings[4];
    struct torc_request request;
    ck_assert_int_eq(torc_request_decode(out, len, strings, 4, &request), -EMSGSIZE);
    ck_assert_uint_eq(request.n_strings, 5);
    ck_assert_uint_eq(request.op, TORC_OP_HMGET);
    ck_assert_uint_eq(request.tag, 3);
    ck_assert_int_eq(torc_request_decode(out, len, NULL, 0, &request), -EMSGSIZE);
}
END_TEST

/* --- replies --- */

static const struct bad_request bad_replies[] = {
    {"seven bytes", 0, BYTES(11, 0, 0, 0, 9, 0, 0)},
    {"no kind 11", 0, BYTES(11, 11 << 4, 0, 0, 9, 0, 0, 0)},
    {"no kind 15", 0, BYTES(11, 15 << 4, 0, 0, 9, 0, 0, 0)},
    {"width 3", 0, BYTES(11, 3 << 4 | 3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0)},
    {"width where none is used", 0, BYTES(11, 1, 0, 0, 9, 0, 0, 0)},
    {"reserved bit 2", 0, BYTES(11, 4, 0, 0, 9, 0, 0, 0)},
    {"reserved bit 3", 0, BYTES(11, 8, 0, 0, 9, 0, 0, 0)},
    {"OK with a status", 0, BYTES(11, 0, 1, 0, 9, 0, 0, 0)},
    {"ERROR without a status", 0, BYTES(11, 1 << 4, 0, 0, 9, 0, 0, 0, 0)},
    {"OK with a byte", 0, BYTES(11, 0, 0, 0, 9, 0, 0, 0, 0)},
    {"NULL with a byte", 0, BYTES(11, 4 << 4, 0, 0, 9, 0, 0, 0, 0)},
    {"short INT", 0, BYTES(11, 2 << 4, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7)},
    {"long INT", 0, BYTES(11, 2 << 4, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)},
    {"BYTES run out", 0, BYTES(11, 3 << 4, 0, 0, 9, 0, 0, 0, 2, 'v')},
    {"BYTES and more", 0, BYTES(11, 3 << 4, 0, 0, 9, 0, 0, 0, 1, 'v', 'w')},
    {"ARRAY without count", 0, BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 0, 0, 0)},
    {"ARRAY count above its table", 0, BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)},
    {"ARRAY count near 2^32", 0,
     BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0)},
    {"ARRAY end above its bytes", 0,
     BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'a')},
    {"ARRAY end below its bytes", 0,
     BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'a')},
    {"ARRAY ends run backwards", 0,
     BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'a', 'b')},
    {"ARRAY null with bytes", 0,
     BYTES(12, 5 << 4, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 128, 'a')},
    {"PAIRS of one", 0, BYTES(12, 6 << 4, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'a')},
    {"CURSOR cut", 0, BYTES(43, 7 << 4, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)},
    {"LONG with another length", 0,
     BYTES(14, 9 << 4, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
           'a')},
    {"LONG above its total", 0,
     BYTES(14, 9 << 4, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
           'a')},
    {"LONG cut", 0, BYTES(14, 9 << 4, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)},
    {"PART cut", 0, BYTES(120, 10 << 4, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0)},
};

START_TEST(a_bad_reply_is_refused_and_the_output_untouched)
{
    const struct bad_request *bad = &bad_replies[_i];
    uint8_t before[sizeof(struct torc_reply)];
    memset(before, 0x5a, sizeof before);
    struct torc_reply reply;
    memcpy(&reply, before, sizeof reply);
    int rc = torc_reply_decode(bad->data, bad->len, &reply);
    ck_assert_msg(rc == -EBADMSG, "%s: %d", bad->why, rc);
    uint8_t after[sizeof reply];
    memcpy(after, &reply, sizeof reply);
    ck_assert_msg(memcmp(after, before, sizeof after) == 0, "%s", bad->why);
}
END_TEST

START_TEST(an_unknown_status_is_taken)
{
    static const uint8_t data[] = {11, 1 << 4, 0xff, 0x7f, 1, 0, 0, 0, 0};
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(data, sizeof data, &reply), 0);
    ck_assert_int_eq((int)reply.status, 0x7fff);
    ck_assert_uint_eq(reply.bytes.len, 0);
}
END_TEST

/* Builds the same reply whatever the room: an array with a null. */
static void build_array(struct torc_reply_writer *w, void *data, size_t cap)
{
    torc_reply_begin(w, data, cap, TORC_OP_HMGET, 77);
    torc_reply_array_begin(w, TORC_REPLY_CURSOR, 5, 4);
    torc_reply_item(w, str("alpha"));
    torc_reply_item(w, torc_slice_of(NULL, 0));
    torc_reply_item(w, str(""));
    torc_reply_item(w, str("omega"));
}

START_TEST(a_writer_without_room_says_how_much_it_takes)
{
    struct torc_reply_writer w;
    build_array(&w, NULL, 0);
    ck_assert(w.overflow);
    ck_assert(!torc_reply_is_complete(&w));
    size_t need = w.need;
    ck_assert_uint_eq(need, 8 + 8 + 4 + 4 * 4 + 10);
    for (size_t cap = 0; cap < need; cap++) {
        uint8_t *data = malloc(cap + (cap == 0));
        ck_assert_ptr_nonnull(data);
        build_array(&w, data, cap);
        ck_assert(w.overflow);
        ck_assert_uint_eq(w.need, need);
        free(data);
    }
    uint8_t *data = malloc(need);
    ck_assert_ptr_nonnull(data);
    build_array(&w, data, need);
    ck_assert(torc_reply_is_complete(&w));
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(data, w.len, &reply), 0);
    assert_slice_is(torc_reply_at(&reply, 3), "omega");
    free(data);
}
END_TEST

START_TEST(every_kind_counts_what_it_takes_without_room)
{
    struct torc_reply_writer w;
    torc_reply_begin(&w, NULL, 0, TORC_OP_HGET, 1);
    torc_reply_ok(&w);
    ck_assert_uint_eq(w.need, 8);
    torc_reply_begin(&w, built, 8, TORC_OP_HGET, 1);
    torc_reply_int(&w, 1);
    ck_assert(w.overflow);
    ck_assert_uint_eq(w.need, 16);
    torc_reply_begin(&w, built, 9, TORC_OP_HGET, 1);
    torc_reply_bytes(&w, str("v"));
    ck_assert(w.overflow);
    ck_assert_uint_eq(w.need, 10);
    torc_reply_begin(&w, built, 9, TORC_OP_HGET, 1);
    torc_reply_error(&w, TORC_WIRE_ERROR, NULL);
    ck_assert(torc_reply_is_complete(&w));
    torc_reply_begin(&w, built, 9, TORC_OP_HGET, 1);
    torc_reply_long(&w, 100, 1, str("abc"));
    ck_assert_uint_eq(w.need, 8 + 20 + 3);
    torc_reply_begin(&w, built, 9, TORC_OP_FETCH, 1);
    torc_reply_part(&w, 100, str("abc"));
    ck_assert_uint_eq(w.need, 8 + 8 + 3);
}
END_TEST

START_TEST(what_no_message_can_hold_needs_size_max)
{
    /* Sizes only: with no room the bytes are not looked at. */
    struct torc_reply_writer w;
    torc_reply_begin(&w, NULL, 0, TORC_OP_HGET, 1);
    torc_reply_bytes(&w, torc_slice_of("", 1ull << 32));
    ck_assert_uint_eq(w.need, SIZE_MAX);

    torc_reply_begin(&w, NULL, 0, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, 3);
    torc_reply_item(&w, torc_slice_of("", 0x7ffffffe));
    ck_assert_uint_eq(w.need, 8 + 4 + 12 + 0x7ffffffeull);
    torc_reply_item(&w, torc_slice_of("", 2));
    ck_assert_uint_eq(w.need, SIZE_MAX);
    torc_reply_item(&w, str("more"));
    ck_assert_uint_eq(w.need, SIZE_MAX);

    torc_reply_begin(&w, NULL, 0, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, UINT32_MAX);
    torc_reply_item(&w, str("x"));
    ck_assert_uint_eq(w.need, SIZE_MAX);
    ck_assert(!torc_reply_is_complete(&w));
}
END_TEST

START_TEST(a_shared_reply_asks_for_room_and_does_not_change_any_more)
{
    struct torc_reply_writer w;
    begin(&w, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, 3);
    torc_reply_item(&w, str("one"));
    torc_reply_item(&w, torc_slice_of(NULL, 0));
    torc_reply_item(&w, str("three"));
    uint32_t ends[3];
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode_shared(w.data, w.len, NULL, 0, &reply), -EMSGSIZE);
    ck_assert_uint_eq(reply.count, 3);
    ck_assert_int_eq(torc_reply_decode_shared(w.data, w.len, ends, 2, &reply), -EMSGSIZE);
    ck_assert_int_eq(torc_reply_decode_shared(w.data, w.len, ends, 3, &reply), 0);
    memset(w.data, 0xff, w.len - 8); /* all but the items */
    ck_assert_uint_eq(reply.count, 3);
    assert_slice_is(torc_reply_at(&reply, 0), "one");
    ck_assert_ptr_null(torc_reply_at(&reply, 1).data);
    assert_slice_is(torc_reply_at(&reply, 2), "three");
    ck_assert_int_eq(torc_reply_decode_shared(w.data, 7, ends, 3, &reply), -EBADMSG);
}
END_TEST

START_TEST(a_missing_item_leaves_the_reply_incomplete)
{
    struct torc_reply_writer w;
    begin(&w, TORC_OP_HMGET, 1);
    torc_reply_array_begin(&w, TORC_REPLY_ARRAY, 0, 2);
    torc_reply_item(&w, str("a"));
    ck_assert(!torc_reply_is_complete(&w));
    torc_reply_item(&w, str("b"));
    ck_assert(torc_reply_is_complete(&w));
}
END_TEST

START_TEST(copies_of_every_length_are_exact)
{
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t len = 0; len <= sizeof bytes; len++) {
        uint8_t out[400];
        memset(out, 0xee, sizeof out);
        struct torc_reply_writer w;
        torc_reply_begin(&w, out, sizeof out, TORC_OP_HGET, 1);
        torc_reply_bytes(&w, torc_slice_of(bytes, len));
        struct torc_reply reply;
        ck_assert_int_eq(torc_reply_decode(out, w.len, &reply), 0);
        ck_assert_uint_eq(reply.bytes.len, len);
        ck_assert(memcmp(reply.bytes.data, bytes, len) == 0);
        ck_assert_uint_eq(out[w.len], 0xee);
    }
}
END_TEST

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *vectors = tcase_create("vectors");
    tcase_add_loop_test(vectors, request_vectors_of_the_document_hold, 0,
                        COUNT_OF(request_vectors));
    tcase_add_test(vectors, vectors_of_replies_without_items_hold);
    tcase_add_test(vectors, vectors_of_replies_with_items_hold);
    tcase_add_test(vectors, vectors_of_cut_replies_hold);
    suite_add_tcase(suite, vectors);
    TCase *requests = tcase_create("requests");
    tcase_add_test(requests, hot_requests_and_replies_fit_a_slot);
    tcase_add_test(requests, lengths_take_the_narrowest_width_that_fits_all);
    tcase_add_test(requests, strings_that_do_not_suit_the_shape_are_not_encoded);
    tcase_add_test(requests, lengths_that_no_message_can_carry_are_not_encoded);
    tcase_add_test(requests, a_request_that_does_not_fit_is_measured_and_not_written);
    tcase_add_test(requests, a_repeat_of_none_is_well_formed);
    tcase_add_loop_test(requests, a_bad_request_is_refused_and_still_names_op_and_tag, 0,
                        COUNT_OF(bad_requests));
    tcase_add_test(requests, a_decoder_takes_wider_lengths_and_a_count_of_one_too);
    tcase_add_test(requests, too_many_strings_for_the_caller_say_how_many_there_are);
    suite_add_tcase(suite, requests);
    TCase *replies = tcase_create("replies");
    tcase_add_loop_test(replies, a_bad_reply_is_refused_and_the_output_untouched, 0,
                        COUNT_OF(bad_replies));
    tcase_add_test(replies, an_unknown_status_is_taken);
    tcase_add_test(replies, a_writer_without_room_says_how_much_it_takes);
    tcase_add_test(replies, every_kind_counts_what_it_takes_without_room);
    tcase_add_test(replies, what_no_message_can_hold_needs_size_max);
    tcase_add_test(replies, a_shared_reply_asks_for_room_and_does_not_change_any_more);
    tcase_add_test(replies, a_missing_item_leaves_the_reply_incomplete);
    tcase_add_test(replies, copies_of_every_length_are_exact);
    suite_add_tcase(suite, replies);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
