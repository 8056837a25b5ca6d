/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies as the ring's binary messages: a thin layer over the writer in ring/message.h.
 */
#include "tools/torcd/reply.h"

#include <inttypes.h>
#include <stdio.h>

#define ITEM_BYTES_MIN   4u /* of an item: its end */
#define ARRAY_HEAD_BYTES (TORC_MESSAGE_HEAD_BYTES + 4u)

static struct torc_ring_sink *ring_of(struct torc_sink *sink)
{
    return (struct torc_ring_sink *)(void *)((uint8_t *)sink -
                                             offsetof(struct torc_ring_sink, sink));
}

static struct torc_reply_writer *writer_of(struct torc_sink *sink)
{
    return &ring_of(sink)->writer;
}

static void ring_ok(struct torc_sink *sink)
{
    torc_reply_ok(writer_of(sink));
}

static void ring_error(struct torc_sink *sink, enum torc_wire_status status, struct torc_slice text)
{
    /* The writer wants a terminated text. */
    char copy[TORC_FAULT_TEXT_BYTES];
    size_t len = torc_min_u64(text.len, sizeof copy - 1);
    memcpy(copy, text.data, len);
    copy[len] = '\0';
    torc_reply_error(writer_of(sink), status, copy);
}

static void ring_integer(struct torc_sink *sink, int64_t value)
{
    torc_reply_int(writer_of(sink), value);
}

static void ring_bytes(struct torc_sink *sink, struct torc_slice bytes)
{
    torc_reply_bytes(writer_of(sink), bytes);
}

static void ring_null(struct torc_sink *sink)
{
    torc_reply_null(writer_of(sink));
}

static void ring_text(struct torc_sink *sink, struct torc_slice text)
{
    torc_reply_text(writer_of(sink), text);
}

static void ring_array(struct torc_sink *sink, uint32_t n)
{
    torc_reply_array_begin(writer_of(sink), TORC_REPLY_ARRAY, 0, n);
}

static void ring_pairs(struct torc_sink *sink, uint32_t n_pairs)
{
    torc_reply_array_begin(writer_of(sink), TORC_REPLY_PAIRS, 0, 2 * n_pairs);
}

/* Pairs say themselves where the rows are. */
static void ring_row(struct torc_sink *sink)
{
    (void)sink;
}

static void ring_cursor(struct torc_sink *sink, uint64_t cursor, uint32_t n)
{
    torc_reply_array_begin(writer_of(sink), TORC_REPLY_CURSOR, cursor, n);
}

static void ring_item(struct torc_sink *sink, struct torc_slice item)
{
    torc_reply_item(writer_of(sink), item);
}

static bool ring_is_full(const struct torc_sink *sink)
{
    const struct torc_ring_sink *ring =
        (const void *)((const uint8_t *)sink - offsetof(struct torc_ring_sink, sink));
    return ring->writer.need > ring->limit;
}

static void ring_integer_item(struct torc_sink *sink, int64_t value)
{
    char digits[TORC_SINK_INTEGER_BYTES + 1];
    int len = snprintf(digits, sizeof digits, "%" PRId64, value);
    torc_reply_item(writer_of(sink), torc_slice_of(digits, (size_t)len));
}

/* Room for a message of `need` bytes. */
static bool reserve_message(struct torc_ring_sink *ring, size_t need)
{
    ring->was_asked = true;
    if (need > ring->writer.cap) {
        ring->writer.overflow = true;
        ring->writer.need = need;
        return false;
    }
    ring->room = ring->session != NULL ? torc_session_reply_room(ring->session, need) : 0;
    return ring->room == 0;
}

static bool ring_reserve(struct torc_sink *sink, size_t len)
{
    return reserve_message(ring_of(sink), torc_reply_bytes_size(len));
}

static bool ring_reserve_items(struct torc_sink *sink, uint32_t n, size_t bytes)
{
    /* An end table cannot say more; with as much the writer gives up by itself. */
    size_t need = bytes < TORC_MESSAGE_NULL_END
                      ? ARRAY_HEAD_BYTES + (size_t)n * ITEM_BYTES_MIN + bytes
                      : SIZE_MAX;
    return reserve_message(ring_of(sink), need);
}

/* As if there were no room for the reply now. */
static void ring_postpone(struct torc_sink *sink)
{
    ring_of(sink)->room = -EAGAIN;
}

static const struct torc_sink_ops ring_ops = {
    .ok = ring_ok,
    .error = ring_error,
    .integer = ring_integer,
    .bytes = ring_bytes,
    .null = ring_null,
    .text = ring_text,
    .prose = ring_bytes,
    .array = ring_array,
    .set = ring_array,
    .pairs = ring_pairs,
    .rows = ring_pairs,
    .row = ring_row,
    .cursor = ring_cursor,
    .item = ring_item,
    .integer_item = ring_integer_item,
    .is_full = ring_is_full,
    .reserve = ring_reserve,
    .reserve_items = ring_reserve_items,
    .postpone = ring_postpone,
};

void torc_ring_sink_init(struct torc_ring_sink *ring, struct torc_session *session, size_t limit,
                         void *data, size_t cap, uint8_t op, uint32_t tag)
{
    ring->sink = (struct torc_sink){
        .ops = &ring_ops,
        .is_flat = true,
        .too_many = TORC_FAULT_REPLY_TOO_LARGE,
        .items_max = (uint32_t)torc_min_u64(limit / ITEM_BYTES_MIN, INT32_MAX),
    };
    ring->session = session;
    ring->limit = limit;
    torc_ring_sink_begin(ring, data, cap, op, tag);
}
