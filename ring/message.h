/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages: what travels in a slot, an area, or a datagram. Format: docs/formats/message.md,
 * version 1. All is little-endian.
 *
 *   offset  type  field
 *   0       u8    op       the same in the reply
 *   1       u8    flags    bits 0..1: width of lengths, 0 = u8, 1 = u16, 2 = u32
 *                          bit 2, requests: the repeat count is 1 and left out
 *                          bits 4..7, replies: kind, enum torc_reply_kind
 *   2       u16   status   enum torc_wire_status; 0 in requests
 *   4       u32   tag      chosen by the client, echoed
 *   8             request: numbers of the shape, 8 bytes each
 *                          u32 repeat count, if the shape repeats and bit 2 is clear
 *                          the byte strings, each a length and its bytes
 *                 reply:   by kind, see there
 *
 * Decoders take private bytes: nobody else can change them while they are read. They check every
 * length by subtraction, refuse trailing bytes and reserved bits, and allocate nothing. A message
 * is at most 4 GiB - 1. No function here blocks or keeps state: any thread.
 */
#ifndef TORC_RING_MESSAGE_H
#define TORC_RING_MESSAGE_H

#include "core/slice.h"
#include "ring/ops.h"

#define TORC_MESSAGE_HEAD_BYTES 8u
#define TORC_MESSAGE_WIDTH_MASK 0x03u
#define TORC_MESSAGE_ONE        0x04u
#define TORC_MESSAGE_NUMBERS    2u /* most numbers a shape has */
#define TORC_MESSAGE_MAX_BYTES  0xffffffffull
#define TORC_MESSAGE_NULL_END   0x80000000u /* in an end table: the item is null */

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

/* What follows the head of a reply. The status is TORC_WIRE_OK in all but ERROR, where it is not.
 * The width bits count in ERROR, BYTES and TEXT, and are 0 in all others. */
enum torc_reply_kind {
    TORC_REPLY_OK = 0,     /* nothing: +OK */
    TORC_REPLY_ERROR = 1,  /* one byte string: text, may be empty; status says what */
    TORC_REPLY_INT = 2,    /* i64 */
    TORC_REPLY_BYTES = 3,  /* one byte string */
    TORC_REPLY_NULL = 4,   /* nothing */
    TORC_REPLY_ARRAY = 5,  /* u32 count, count x u32 end (high bit: null), bytes */
    TORC_REPLY_PAIRS = 6,  /* as ARRAY; count is even: name, value, name, value ... */
    TORC_REPLY_CURSOR = 7, /* u64 cursor, then as ARRAY */
    TORC_REPLY_TEXT = 8,   /* one byte string: a simple string (+PONG) */
    TORC_REPLY_LONG = 9,   /* u64 bytes of the whole reply message, u64 reply id, u32 length of this
                              part, then the first part of that message: FETCH the rest */
    TORC_REPLY_PART = 10,  /* u64 offset into the whole message, then bytes: answer of FETCH */
};

struct torc_request {
    uint8_t op;
    uint8_t flags;
    uint32_t tag;
    uint64_t numbers[TORC_MESSAGE_NUMBERS]; /* signed ones in two's complement; 0 where unused */
    uint32_t n_strings;                     /* in all: key, fields, values */
    const struct torc_slice *strings;       /* data is never NULL in a decoded request */
};

/* Bytes of the encoded request; 0 if the op is unknown, the number of strings does not suit its
 * shape, or a message cannot be that long. Whether repeats may be none is the arity's matter
 * (torc_op_arity_is_ok()), not the shape's. O(strings). */
size_t torc_request_size(uint8_t op, const struct torc_slice *strings,
                         uint32_t n_strings) TORC_MUST_USE;

/* Encode into `out` of at least torc_request_size() bytes; returns that size, 0 where that function
 * does (nothing is written then). `numbers` has as many as the shape, in its order, and may be NULL
 * if that is none. The narrowest length width that fits is used. */
size_t torc_request_encode(uint8_t *out, uint8_t op, uint32_t tag, const uint64_t *numbers,
                           const struct torc_slice *strings, uint32_t n_strings) TORC_MUST_USE;

/* The same into `cap` bytes: returns the size, and writes nothing if that is more. For a caller who
 * tries a slot first: the strings are measured once. */
size_t torc_request_encode_within(uint8_t *out, size_t cap, uint8_t op, uint32_t tag,
                                  const uint64_t *numbers, const struct torc_slice *strings,
                                  uint32_t n_strings) TORC_MUST_USE;

/* Decode `len` private bytes. `strings` has room for `cap` slices, which borrow `data`.
 * 0; -EBADMSG malformed or trailing bytes; -ENOENT unknown op; -EMSGSIZE more than `cap` strings
 * (n_strings, which is at most `len`, is set: give more room). On each of these errors out_request
 * has op and tag, for the error reply; both are 0 if not even the head is there. Cost O(strings).
 */
int torc_request_decode(const uint8_t *data, size_t len, struct torc_slice *strings, uint32_t cap,
                        struct torc_request *out_request) TORC_MUST_USE;

/* A reply being built in memory that the owner provides and grows.
 *
 * `overflow` is set when something did not fit; then the content is worthless but `need` says how
 * many bytes would do, once all items were given: get that many and build it again. `need` is
 * SIZE_MAX if no message can hold it (items of 2 GiB together, or 4 GiB in one byte string). */
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
 * items): data[0 .. len). `data` may be NULL when cap is 0, to count only. */
void torc_reply_begin(struct torc_reply_writer *w, void *data, size_t cap, uint8_t op,
                      uint32_t tag);
void torc_reply_ok(struct torc_reply_writer *w);
/* `status` is not TORC_WIRE_OK. `text` is copied; NULL is as "". */
void torc_reply_error(struct torc_reply_writer *w, enum torc_wire_status status, const char *text);
void torc_reply_int(struct torc_reply_writer *w, int64_t value);
void torc_reply_bytes(struct torc_reply_writer *w, struct torc_slice bytes);
/* Bytes of the message that torc_reply_bytes() makes of `len` bytes. Pure. */
size_t torc_reply_bytes_size(size_t len);
void torc_reply_null(struct torc_reply_writer *w);
void torc_reply_text(struct torc_reply_writer *w, struct torc_slice text);
/* kind ARRAY, PAIRS or CURSOR (then `cursor` is sent); exactly n items follow by torc_reply_item(),
 * each O(1) and its copy. */
void torc_reply_array_begin(struct torc_reply_writer *w, enum torc_reply_kind kind, uint64_t cursor,
                            uint32_t n);
/* data NULL: null. An empty item has length 0 and data that is not NULL. */
void torc_reply_item(struct torc_reply_writer *w, struct torc_slice item);
/* The first `part` of a whole reply message of `total` bytes, and a later part from `offset`. */
void torc_reply_long(struct torc_reply_writer *w, uint64_t total, uint64_t id,
                     struct torc_slice part);
void torc_reply_part(struct torc_reply_writer *w, uint64_t offset, struct torc_slice part);

/* Whole: nothing overflowed, and all items were given. */
static inline bool torc_reply_is_complete(const struct torc_reply_writer *w)
{
    return !w->overflow && w->item == w->n_items && w->len == w->need;
}

/* A decoded reply; slices borrow the message, and are not NULL where the kind has them. */
struct torc_reply {
    enum torc_reply_kind kind;
    uint8_t op;
    enum torc_wire_status status; /* may be a number that this version does not know */
    uint32_t tag;
    int64_t integer;         /* INT */
    uint64_t cursor;         /* CURSOR; LONG: total bytes; PART: offset */
    uint64_t id;             /* LONG */
    struct torc_slice bytes; /* BYTES, TEXT, ERROR; LONG and PART: the bytes */
    uint32_t count;          /* ARRAY, PAIRS, CURSOR */
    const uint8_t *ends;     /* end table */
    const uint8_t *items;    /* bytes of the items */
};

/* Decode and validate `len` private bytes, every item included. 0 or -EBADMSG. O(count). */
int torc_reply_decode(const uint8_t *data, size_t len, struct torc_reply *out_reply) TORC_MUST_USE;

/* The same for a message in memory that another process can still write: whatever happens to the
 * bytes meanwhile, no slice of out_reply leaves the message. Each byte that decides anything is
 * loaded once, into private memory: the fixed part on the stack, the end table into `ends`, which
 * has room for `cap` items. The bytes of items and strings are not copied. 0; -EBADMSG; -EMSGSIZE
 * more than `cap` items (out_reply->count is set and at most len / 4: give more room, call again).
 * O(count). */
int torc_reply_decode_shared(const uint8_t *data, size_t len, uint32_t *ends, uint32_t cap,
                             struct torc_reply *out_reply) TORC_MUST_USE;

/* Item i < count. data NULL: null. O(1). */
struct torc_slice torc_reply_at(const struct torc_reply *reply, uint32_t i);

#endif
