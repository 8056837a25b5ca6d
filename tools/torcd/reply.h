/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a command puts its reply. One interface, two makers: the ring's binary messages
 * (torc_ring_sink) and RESP2/RESP3 straight into a connection's output buffer (torc_resp_sink).
 *
 * A command makes exactly one reply: one scalar, or an array, map or page followed by exactly the
 * announced number of items. Only RESP nests; a command asks `is_flat` before it does.
 * A reply that does not fit sets the maker's overflow mark: the command need not look. But three
 * things it asks before it works for nothing, or changes what it cannot take back: items_max,
 * torc_sink_is_full(), torc_sink_reserve() and torc_sink_reserve_items().
 * Or it makes none and says that it is to be run again: torc_sink_postpone().
 */
#ifndef TORC_TORCD_REPLY_H
#define TORC_TORCD_REPLY_H

#include "ring/message.h"
#include "ring/session.h"
#include "tools/torcd/errors.h"
#include "tools/torcd/output.h"

struct torc_sink;

struct torc_sink_ops {
    void (*ok)(struct torc_sink *sink);
    void (*error)(struct torc_sink *sink, enum torc_wire_status status, struct torc_slice text);
    void (*integer)(struct torc_sink *sink, int64_t value);
    void (*bytes)(struct torc_sink *sink, struct torc_slice bytes);
    void (*null)(struct torc_sink *sink);
    void (*text)(struct torc_sink *sink, struct torc_slice text);
    void (*prose)(struct torc_sink *sink, struct torc_slice text);
    void (*array)(struct torc_sink *sink, uint32_t n);
    void (*set)(struct torc_sink *sink, uint32_t n);
    void (*pairs)(struct torc_sink *sink, uint32_t n_pairs);
    void (*rows)(struct torc_sink *sink, uint32_t n_rows);
    void (*row)(struct torc_sink *sink);
    void (*cursor)(struct torc_sink *sink, uint64_t cursor, uint32_t n);
    void (*item)(struct torc_sink *sink, struct torc_slice item);
    void (*integer_item)(struct torc_sink *sink, int64_t value);
    bool (*is_full)(const struct torc_sink *sink);
    bool (*reserve)(struct torc_sink *sink, size_t len);
    bool (*reserve_items)(struct torc_sink *sink, uint32_t n, size_t bytes);
    void (*postpone)(struct torc_sink *sink);
};

struct torc_sink {
    const struct torc_sink_ops *ops;
    bool is_flat;          /* no arrays in arrays */
    bool is_postponed;     /* torc_sink_postpone(); who reads it resets it */
    enum torc_fault fault; /* of the last error reply, for the counters; who reads it resets it */
    enum torc_fault too_many; /* the fault of more than items_max items */
    uint32_t items_max; /* more than these can never fit, however short they are: refuse before any
                           work, with too_many */
};

/* +OK */
static inline void torc_sink_ok(struct torc_sink *sink)
{
    sink->ops->ok(sink);
}
static inline void torc_sink_integer(struct torc_sink *sink, int64_t value)
{
    sink->ops->integer(sink, value);
}
/* A byte string; data may be NULL when len is 0. */
static inline void torc_sink_bytes(struct torc_sink *sink, struct torc_slice bytes)
{
    sink->ops->bytes(sink, bytes);
}
static inline void torc_sink_null(struct torc_sink *sink)
{
    sink->ops->null(sink);
}
/* A simple string: one line without CR and LF. */
static inline void torc_sink_text(struct torc_sink *sink, struct torc_slice text)
{
    sink->ops->text(sink, text);
}
/* Text for people, such as INFO's: a verbatim string in RESP3. */
static inline void torc_sink_prose(struct torc_sink *sink, struct torc_slice text)
{
    sink->ops->prose(sink, text);
}
/* n items follow. In nested arrays any reply function makes an item. */
static inline void torc_sink_array(struct torc_sink *sink, uint32_t n)
{
    sink->ops->array(sink, n);
}
/* As array; a set in RESP3. */
static inline void torc_sink_set(struct torc_sink *sink, uint32_t n)
{
    sink->ops->set(sink, n);
}
/* 2 * n_pairs items follow: name, value, name, value ... */
static inline void torc_sink_pairs(struct torc_sink *sink, uint32_t n_pairs)
{
    sink->ops->pairs(sink, n_pairs);
}
/* n_rows rows follow, each torc_sink_row() and its two items: name and value. Pairs that are no map
 * since names may repeat: arrays of two in RESP3, else flat as pairs. */
static inline void torc_sink_rows(struct torc_sink *sink, uint32_t n_rows)
{
    sink->ops->rows(sink, n_rows);
}
static inline void torc_sink_row(struct torc_sink *sink)
{
    sink->ops->row(sink);
}
/* A page of n items with the cursor to go on with. */
static inline void torc_sink_cursor(struct torc_sink *sink, uint64_t cursor, uint32_t n)
{
    sink->ops->cursor(sink, cursor, n);
}
/* One item; data NULL is null, so an empty one needs data. */
static inline void torc_sink_item(struct torc_sink *sink, struct torc_slice item)
{
    sink->ops->item(sink, item);
}
/* One item that is a number: in RESP an integer, in the ring's messages its decimal text. */
static inline void torc_sink_integer_item(struct torc_sink *sink, int64_t value)
{
    sink->ops->integer_item(sink, value);
}
/* True once the reply that is being made can only be thrown away, because it is above a limit:
 * whoever makes many items looks now and then, and stops. */
static inline bool torc_sink_is_full(const struct torc_sink *sink)
{
    return sink->ops->is_full(sink);
}
/* Before a change whose reply is one byte string of `len` bytes: make sure that it can be given.
 * False: change nothing, make no reply and return; the maker calls again later or answers. */
static inline bool torc_sink_reserve(struct torc_sink *sink, size_t len) TORC_MUST_USE;
static inline bool torc_sink_reserve(struct torc_sink *sink, size_t len)
{
    return sink->ops->reserve(sink, len);
}

/* The same for an array of n items, at most items_max, of `bytes` bytes together; a number takes
 * TORC_SINK_INTEGER_BYTES at most. */
#define TORC_SINK_INTEGER_BYTES 20u
static inline bool torc_sink_reserve_items(struct torc_sink *sink, uint32_t n,
                                           size_t bytes) TORC_MUST_USE;
static inline bool torc_sink_reserve_items(struct torc_sink *sink, uint32_t n, size_t bytes)
{
    return sink->ops->reserve_items(sink, n, bytes);
}
/* Instead of a reply, and before any change: the command has done a share of work that must come
 * first, and is run again, as a whole, at the next visit to its client. Others are served in
 * between; requests behind it wait. */
static inline void torc_sink_postpone(struct torc_sink *sink)
{
    sink->is_postponed = true;
    sink->ops->postpone(sink);
}

void torc_sink_fault(struct torc_sink *sink, enum torc_fault fault);
/* With the words that the text names (torc_fault_text()). */
void torc_sink_fault_with(struct torc_sink *sink, enum torc_fault fault, struct torc_slice first,
                          struct torc_slice second);

/* --- RESP --- */

struct torc_resp_sink {
    struct torc_sink sink;
    struct torc_output *output;
    const uint8_t *protocol; /* 2 or 3; HELLO changes it between two replies */
};

/* Caller's storage; `output` and `protocol` are borrowed. */
void torc_resp_sink_init(struct torc_resp_sink *resp, struct torc_output *output,
                         const uint8_t *protocol);

/* --- ring --- */

struct torc_ring_sink {
    struct torc_sink sink;
    struct torc_reply_writer writer;
    struct torc_session *session; /* whose reply it is; NULL: there is always room */
    size_t limit;                 /* longest message */
    bool was_asked;               /* by torc_sink_reserve() */
    int room; /* 0, or what torc_session_reply_room() said, or -EAGAIN for a reply that is
                 postponed: there is none then */
};

/* Start a reply to (op, tag) in `cap` bytes at `data`, which are borrowed, for a session (may be
 * NULL) that takes messages of up to `limit` bytes. The reply is writer.len bytes, or
 * writer.overflow and writer.need say what it takes, at least: a reply above the limit may have
 * been left early. */
void torc_ring_sink_init(struct torc_ring_sink *ring, struct torc_session *session, size_t limit,
                         void *data, size_t cap, uint8_t op, uint32_t tag);

/* The next reply, or the same once more, of the same session: for much less than init. */
static inline void torc_ring_sink_begin(struct torc_ring_sink *ring, void *data, size_t cap,
                                        uint8_t op, uint32_t tag)
{
    ring->was_asked = false;
    ring->sink.is_postponed = false;
    ring->room = 0;
    torc_reply_begin(&ring->writer, data, cap, op, tag);
}

#endif
