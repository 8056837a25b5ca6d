/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages: what travels in a slot, an area, or a datagram. Format: docs/formats/message.md,
 * version 1.
 *
 *   0  u8  op          the same in the reply
 *   1  u8  flags       bits 0..1 width of lengths: 0 = u8, 1 = u16, 2 = u32;  bit 2 the repeat
 * count is 1 and left out reply: bits 4..7 kind (enum torc_reply_kind) 2  u16 status      enum
 * torc_wire_status; 0 in requests 4  u32 tag         chosen by the client, echoed 8  request:
 * numbers of the shape, 8 bytes each; u32 repeat count if the shape repeats (and bit 2 is clear);
 * then the byte strings, each a length and its bytes reply:   by kind, see below
 *
 * All is little-endian. A decoder is given private bytes: nobody else can change them while it
 * reads. It checks every length by subtraction and refuses trailing bytes.
 */
#ifndef TORC_RING_MESSAGE_H
#define TORC_RING_MESSAGE_H

#include "core/slice.h"
#include "ring/ops.h"

#define TORC_MESSAGE_HEAD_BYTES 8u
#define TORC_MESSAGE_WIDTH_MASK 0x03u
#define TORC_MESSAGE_ONE        0x04u
#define TORC_MESSAGE_NUMBERS    2u /* most numbers a shape has */

/* Pinned numbers. Each has one Redis error text in the gateway (tools/torcd/errors.c). */
enum torc_wire_status {
    TORC_WIRE_OK = 0,
    TORC_WIRE_ERROR = 1, /* the text says which */
    TORC_WIRE_WRONG_TYPE = 2,
    TORC_WIRE_OUT_OF_MEMORY = 3,
    TORC_WIRE_UNKNOWN_OP = 4,
    TORC_WIRE_BAD_REQUEST = 5, /* does not decode; the session stays */
    TORC_WIRE_TOO_LARGE = 6,   /* reply or request above the session's cap */
    TORC_WIRE_SYNTAX = 7,
    TORC_WIRE_NOT_INTEGER = 8,
    TORC_WIRE_ARITY = 9,
    TORC_WIRE_DB_RANGE = 10,
    TORC_WIRE_BAD_CURSOR = 11,
    TORC_WIRE_SHUTDOWN = 12,
    TORC_WIRE_GONE = 13, /* FETCH of a reply that is no longer held */
};

enum torc_reply_kind {
    TORC_REPLY_OK = 0,     /* nothing follows: +OK */
    TORC_REPLY_ERROR = 1,  /* one byte string: text, may be empty; status says what */
    TORC_REPLY_INT = 2,    /* i64 */
    TORC_REPLY_BYTES = 3,  /* one byte string */
    TORC_REPLY_NULL = 4,   /* nothing follows */
    TORC_REPLY_ARRAY = 5,  /* u32 count, count x u32 end (high bit: null), bytes */
    TORC_REPLY_PAIRS = 6,  /* as ARRAY; count is even: name, value, name, value ... */
    TORC_REPLY_CURSOR = 7, /* u64 cursor, then as ARRAY */
    TORC_REPLY_TEXT = 8,   /* one byte string: a simple string (+PONG) */
    TORC_REPLY_LONG = 9, /* u64 total bytes, u64 reply id, u32 part, then the first bytes: fetch the
                            rest (FETCH id, offset) */
    TORC_REPLY_PART = 10, /* u64 offset, then bytes: answer of FETCH */
};

struct torc_request {
    uint8_t op;
    uint8_t flags;
    uint32_t tag;
    uint64_t numbers[TORC_MESSAGE_NUMBERS]; /* signed ones in two's complement */
    uint32_t n_strings;                     /* in all: key, fields, values */
    const struct torc_slice *strings;
};

/* Bytes of the encoded request; 0 if the strings do not match the op's shape. O(strings). */
size_t torc_request_size(uint8_t op, const struct torc_slice *strings,
                         uint32_t n_strings) TORC_MUST_USE;

/* Encode into `out` of at least torc_request_size() bytes; returns that size, 0 if the shape does
 * not match. The narrowest length width that fits is used. */
size_t torc_request_encode(uint8_t *out, uint8_t op, uint32_t tag, const uint64_t *numbers,
                           const struct torc_slice *strings, uint32_t n_strings) TORC_MUST_USE;

/* Decode `len` private bytes. `strings` has room for `cap` slices, which borrow `data`. 0; -EBADMSG
 * malformed or trailing bytes; -ENOENT unknown op (out_request has op and tag); -EMSGSIZE more than
 * cap strings (op, tag and n_strings are set: give more room). Cost O(strings). */
int torc_request_decode(const uint8_t *data, size_t len, struct torc_slice *strings, uint32_t cap,
                        struct torc_request *out_request) TORC_MUST_USE;

/* A reply being built in memory that the owner provides and grows.
 * `overflow` is set when something did not fit; then the content is worthless but `need` says how
 * many bytes would do. */
struct torc_reply_writer {
    uint8_t *data;
    size_t cap;
    size_t len;
    size_t need;     /* bytes that the whole reply takes, counted on after an overflow */
    size_t ends_at;  /* offset of the array's end table */
    size_t bytes_at; /* offset of the array's bytes */
    uint32_t n_items, item;
    bool overflow;
};

/* Start a reply; each of the functions below then makes one whole reply (array_begin with its
 * items). */
void torc_reply_begin(struct torc_reply_writer *w, void *data, size_t cap, uint8_t op,
                      uint32_t tag);
void torc_reply_ok(struct torc_reply_writer *w);
void torc_reply_error(struct torc_reply_writer *w, enum torc_wire_status status, const char *text);
void torc_reply_int(struct torc_reply_writer *w, int64_t value);
void torc_reply_bytes(struct torc_reply_writer *w, struct torc_slice bytes);
void torc_reply_null(struct torc_reply_writer *w);
void torc_reply_text(struct torc_reply_writer *w, struct torc_slice text);
/* kind ARRAY, PAIRS or CURSOR (then `cursor` is sent); exactly n items follow by torc_reply_item().
 */
void torc_reply_array_begin(struct torc_reply_writer *w, enum torc_reply_kind kind, uint64_t cursor,
                            uint32_t n);
void torc_reply_item(struct torc_reply_writer *w, struct torc_slice item); /* data NULL: null */

/* A decoded reply; slices borrow the message. */
struct torc_reply {
    enum torc_reply_kind kind;
    uint8_t op;
    enum torc_wire_status status;
    uint32_t tag;
    int64_t integer;         /* INT */
    uint64_t cursor;         /* CURSOR; LONG: total bytes; PART: offset */
    uint64_t id;             /* LONG */
    struct torc_slice bytes; /* BYTES, TEXT, ERROR; LONG and PART: the bytes */
    uint32_t count;          /* ARRAY, PAIRS, CURSOR */
    const uint8_t *ends;     /* end table */
    const uint8_t *items;    /* bytes of the items */
};

/* Decode and validate `len` private bytes. 0 or -EBADMSG. O(count). */
int torc_reply_decode(const uint8_t *data, size_t len, struct torc_reply *out_reply) TORC_MUST_USE;

/* Item i < count. data NULL: null. O(1). */
struct torc_slice torc_reply_at(const struct torc_reply *reply, uint32_t i);

#endif
