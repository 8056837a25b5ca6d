/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP2 and RESP3 (https://redis.io/docs/latest/develop/reference/protocol-spec/). Each function
 * reserves once, for the longest form, and writes.
 */
#include "tools/torcd/reply.h"

#define NUMBER_BYTES   24u                 /* type byte, sign, 20 digits, CR LF */
#define ITEM_BYTES_MAX (NUMBER_BYTES + 2u) /* of an item but for its own bytes */
#define ITEM_BYTES_MIN 6u                  /* of an item: $0 CR LF CR LF */

static struct torc_resp_sink *resp_of(struct torc_sink *sink)
{
    return (struct torc_resp_sink *)(void *)((uint8_t *)sink -
                                             offsetof(struct torc_resp_sink, sink));
}

static void put_crlf(uint8_t *to)
{
    to[0] = '\r';
    to[1] = '\n';
}

static const char two_digits[] = "0001020304050607080910111213141516171819202122232425262728293031"
                                 "3233343536373839404142434445464748495051525354555657585960616263"
                                 "6465666768697071727374757677787980818283848586878889909192939495"
                                 "96979899";

/* Decimal digits of `value` at `to`; returns their number (1..20). */
static size_t put_digits(uint8_t *to, uint64_t value)
{
    if (value < 10) {
        to[0] = (uint8_t)('0' + value);
        return 1;
    }
    if (value < 100) {
        memcpy(to, two_digits + 2 * value, 2);
        return 2;
    }
    uint8_t reversed[20];
    size_t at = sizeof reversed;
    while (value >= 100) {
        at -= 2;
        memcpy(reversed + at, two_digits + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(reversed + at, two_digits + 2 * value, 2);
    } else {
        reversed[--at] = (uint8_t)('0' + value);
    }
    size_t n = sizeof reversed - at;
    memcpy(to, reversed + at, n);
    return n;
}

/* `type`, `value` in decimal, CR LF at `to`; returns the bytes written. */
static size_t put_number(uint8_t *to, char type, uint64_t value, bool negative)
{
    size_t n = 0;
    to[n++] = (uint8_t)type;
    if (negative) {
        to[n++] = '-';
    }
    n += put_digits(to + n, value);
    put_crlf(to + n);
    return n + 2;
}

/* put_number() of no sign, for the short lengths that nearly all headers have: one store each.
 * Writes up to 8 bytes. */
static inline size_t put_length(uint8_t *to, char type, uint64_t value)
{
    const uint64_t crlf = '\r' | '\n' << 8;
    if (value < 10) {
        torc_store_u32(to, (uint32_t)((uint64_t)type | ('0' + value) << 8 | crlf << 16));
        return 4;
    }
    if (value < 100) {
        uint64_t digits = torc_load_u16(two_digits + 2 * value);
        torc_store_u64(to, (uint64_t)type | digits << 8 | crlf << 24);
        return 5;
    }
    return put_number(to, type, value, false);
}

static void header(struct torc_sink *sink, char type, uint64_t n)
{
    struct torc_output *output = resp_of(sink)->output;
    uint8_t *to = torc_output_reserve(output, NUMBER_BYTES);
    if (to != NULL) {
        torc_output_commit(output, put_length(to, type, n));
    }
}

/* prefix byte, text, CR LF */
static void line(struct torc_sink *sink, char type, struct torc_slice text)
{
    struct torc_output *output = resp_of(sink)->output;
    uint8_t *to = torc_output_reserve(output, text.len + 3);
    if (to == NULL) {
        return;
    }
    to[0] = (uint8_t)type;
    if (text.len != 0) {
        memcpy(to + 1, text.data, text.len);
    }
    put_crlf(to + 1 + text.len);
    torc_output_commit(output, text.len + 3);
}

static void resp_ok(struct torc_sink *sink)
{
    torc_output_append(resp_of(sink)->output, "+OK\r\n", 5);
}

static void resp_error(struct torc_sink *sink, enum torc_wire_status status, struct torc_slice text)
{
    (void)status; /* the text says it all */
    line(sink, '-', text);
}

static void resp_integer(struct torc_sink *sink, int64_t value)
{
    struct torc_output *output = resp_of(sink)->output;
    uint8_t *to = torc_output_reserve(output, NUMBER_BYTES);
    if (to != NULL) {
        uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        torc_output_commit(output, value < 0 ? put_number(to, ':', magnitude, true)
                                             : put_length(to, ':', magnitude));
    }
}

__attribute__((noinline)) static void long_bytes(struct torc_output *output,
                                                 struct torc_slice bytes)
{
    uint8_t *to = torc_output_reserve(output, NUMBER_BYTES + bytes.len + 2);
    if (to == NULL) {
        return;
    }
    size_t n = put_length(to, '$', bytes.len);
    if (bytes.len != 0) {
        memcpy(to + n, bytes.data, bytes.len);
        n += bytes.len;
    }
    put_crlf(to + n);
    torc_output_commit(output, n + 2);
}

/* Most values are short: with copies of fixed sizes that overlap, nothing is called and no register
 * saved for it. */
static void resp_bytes(struct torc_sink *sink, struct torc_slice bytes)
{
    struct torc_output *output = resp_of(sink)->output;
    const size_t len = bytes.len;
    if (len < 8 || len > 32 || output->cap - output->end < NUMBER_BYTES + len + 2) {
        long_bytes(output, bytes);
        return;
    }
    uint8_t *to = output->data + output->end;
    size_t n = put_length(to, '$', len);
    if (len <= 16) {
        memcpy(to + n, bytes.data, 8);
        memcpy(to + n + len - 8, bytes.data + len - 8, 8);
    } else {
        memcpy(to + n, bytes.data, 16);
        memcpy(to + n + len - 16, bytes.data + len - 16, 16);
    }
    n += len;
    put_crlf(to + n);
    torc_output_commit(output, n + 2);
}

static void resp_null(struct torc_sink *sink)
{
    struct torc_resp_sink *resp = resp_of(sink);
    if (*resp->protocol == 3) {
        torc_output_append(resp->output, "_\r\n", 3);
    } else {
        torc_output_append(resp->output, "$-1\r\n", 5);
    }
}

static void resp_text(struct torc_sink *sink, struct torc_slice text)
{
    line(sink, '+', text);
}

static void resp_prose(struct torc_sink *sink, struct torc_slice text)
{
    struct torc_resp_sink *resp = resp_of(sink);
    if (*resp->protocol != 3) {
        resp_bytes(sink, text);
        return;
    }
    header(sink, '=', text.len + 4);
    torc_output_append(resp->output, "txt:", 4);
    torc_output_append(resp->output, text.data, text.len);
    torc_output_append(resp->output, "\r\n", 2);
}

static void resp_array(struct torc_sink *sink, uint32_t n)
{
    header(sink, '*', n);
}

static void resp_set(struct torc_sink *sink, uint32_t n)
{
    header(sink, *resp_of(sink)->protocol == 3 ? '~' : '*', n);
}

static void resp_pairs(struct torc_sink *sink, uint32_t n_pairs)
{
    if (*resp_of(sink)->protocol == 3) {
        header(sink, '%', n_pairs);
    } else {
        header(sink, '*', 2 * (uint64_t)n_pairs);
    }
}

static void resp_rows(struct torc_sink *sink, uint32_t n_rows)
{
    header(sink, '*', *resp_of(sink)->protocol == 3 ? n_rows : 2 * (uint64_t)n_rows);
}

static void resp_row(struct torc_sink *sink)
{
    struct torc_resp_sink *resp = resp_of(sink);
    if (*resp->protocol == 3) {
        torc_output_append(resp->output, "*2\r\n", 4);
    }
}

static void resp_cursor(struct torc_sink *sink, uint64_t cursor, uint32_t n)
{
    uint8_t digits[20];
    size_t len = put_digits(digits, cursor);
    header(sink, '*', 2);
    resp_bytes(sink, torc_slice_of(digits, len));
    header(sink, '*', n);
}

static void resp_item(struct torc_sink *sink, struct torc_slice item)
{
    if (item.data == NULL) {
        resp_null(sink);
    } else {
        resp_bytes(sink, item);
    }
}

static bool resp_is_full(const struct torc_sink *sink)
{
    const struct torc_resp_sink *resp =
        (const void *)((const uint8_t *)sink - offsetof(struct torc_resp_sink, sink));
    return resp->output->failed;
}

/* The output takes it, or the connection ends: as Redis, which keeps the change then. */
static bool resp_reserve(struct torc_sink *sink, size_t len)
{
    (void)sink;
    (void)len;
    return true;
}

/* In one piece, so that the items find it as it was left. */
static bool resp_reserve_items(struct torc_sink *sink, uint32_t n, size_t bytes)
{
    struct torc_output *output = resp_of(sink)->output;
    size_t room = NUMBER_BYTES + (size_t)n * ITEM_BYTES_MAX;
    if (bytes > output->limit || room > output->limit - bytes ||
        torc_output_pending(output) > output->limit - bytes - room) {
        torc_sink_fault(sink, sink->too_many);
        return false;
    }
    return torc_output_reserve(output, room + bytes) != NULL;
}

/* The connection sees is_postponed. */
static void resp_postpone(struct torc_sink *sink)
{
    (void)sink;
}

static const struct torc_sink_ops resp_ops = {
    .ok = resp_ok,
    .error = resp_error,
    .integer = resp_integer,
    .bytes = resp_bytes,
    .null = resp_null,
    .text = resp_text,
    .prose = resp_prose,
    .array = resp_array,
    .set = resp_set,
    .pairs = resp_pairs,
    .rows = resp_rows,
    .row = resp_row,
    .cursor = resp_cursor,
    .item = resp_item,
    .integer_item = resp_integer,
    .is_full = resp_is_full,
    .reserve = resp_reserve,
    .reserve_items = resp_reserve_items,
    .postpone = resp_postpone,
};

void torc_resp_sink_init(struct torc_resp_sink *resp, struct torc_output *output,
                         const uint8_t *protocol)
{
    *resp = (struct torc_resp_sink){
        .sink = {.ops = &resp_ops,
                 .too_many = TORC_FAULT_OUTPUT_TOO_LARGE,
                 .items_max = (uint32_t)torc_min_u64(output->limit / ITEM_BYTES_MIN, INT32_MAX)},
        .output = output,
        .protocol = protocol,
    };
}
