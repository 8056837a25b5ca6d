/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a record: what a table reference points at. Format: docs/formats/record.md,
 * version 3.
 *
 *   key record     tag, key length (1-5), [expiry 6], key, payload
 *                  payload  compact: the blob (hash/compact.h), which knows its own size
 *                           full:    5-byte reference of the root (hash/full.h)
 *                           string:  value length (1-5), value
 *   field record   tag with the length of the field, value length (1-5), field, value
 *                  or, when the field is long, in a shared segment, or has an expiry:
 *                  tag, [owner 5], [expiry 6], field length (1-5), value length (1-5), field, value
 *                  owner only in segments that several hashes share (TORC_RECORD_FIELD_OWNED);
 *                  the value is kept as the codec chooses (hash/codec.h), which the first byte of
 *                  its length tells; the field is always raw, so that a name can be borrowed.
 *                  A long value may be compressed (hash/press.h): in place of its length there are
 *                  a code point, the length as stored (1-5) and the length of the text (1-5)
 *   filler         one byte; left over by a trim too short for anything else
 *   hole           tag, u32 length of the whole, dead bytes
 *
 * A name is the key of a key record and the field of a field record: tables compare names and know
 * nothing more. A record that died keeps its bytes but for the dead bit, so that a segment can
 * always be walked.
 *
 * Thread: the arena's owner. All of it is O(1) but for the copying of names and values.
 */
#ifndef TORC_HASH_RECORD_H
#define TORC_HASH_RECORD_H

#include "core/segment.h"
#include "hash/codec.h"
#include "hash/expiry_time.h"

enum torc_record_type {
    TORC_RECORD_FILLER = 0,      /* one dead byte */
    TORC_RECORD_COMPACT = 1,     /* key with a compact hash */
    TORC_RECORD_FULL = 2,        /* key with the root of a full hash */
    TORC_RECORD_STRING = 3,      /* key with a string (room left; no command makes one yet) */
    TORC_RECORD_FIELD = 4,       /* field of the full hash that owns the segment */
    TORC_RECORD_FIELD_OWNED = 5, /* field that names its owner */
    TORC_RECORD_HOLE = 6,        /* dead bytes of a given length: tag, u32 length of the whole */
};
#define TORC_RECORD_TYPE_MASK 0x07u
#define TORC_RECORD_EXPIRES   0x08u /* it has a time: a 6-byte expiry, milliseconds, follows */
#define TORC_RECORD_SHORT                                                                          \
    0x20u /* TORC_RECORD_FIELD; the five bits below are the field's length                         \
           */
#define TORC_RECORD_SHORT_MAX 0x1fu
#define TORC_RECORD_CLAIMED   0x40u /* only inside a multi-field write: it will change this */
#define TORC_RECORD_DEAD      0x80u

#define TORC_RECORD_OWNER_BYTES  5u
#define TORC_RECORD_ROOT_BYTES   5u
#define TORC_RECORD_EXPIRY_BYTES 6u
#define TORC_RECORD_HOLE_BYTES   5u /* the shortest hole; what is shorter is fillers */

/* Longest key, field or value: two of them and their lengths stay below 2^32, the reach of a hole.
 */
#define TORC_RECORD_PART_MAX (TORC_GIB - 1)

/* Lengths inside records: 0..191 in one byte; 192..8,383 in two (0xc0 | high 5 bits, low 8 bits;
 * biased by 192); else 0xe0 and a u32. Only as a value's length in a field record: 0xe1 + form of a
 * value that is encoded, with no further length; 0xf3 and two lengths, stored and text, of a value
 * that is compressed. 0xf4..0xff are not used. */
#define TORC_RECORD_LEN_1_MAX       191u
#define TORC_RECORD_LEN_2_MAX       8383u
#define TORC_RECORD_LEN_WIDE        0xe0u
#define TORC_RECORD_CODE_FIRST      (TORC_RECORD_LEN_WIDE + 1)
#define TORC_RECORD_CODE_COMPRESSED (TORC_RECORD_CODE_FIRST + TORC_FORM_COMPRESSED)

static inline size_t torc_record_len_size(uint64_t len)
{
    return len <= TORC_RECORD_LEN_1_MAX ? 1 : len <= TORC_RECORD_LEN_2_MAX ? 2 : 5;
}

/* Bytes of a length, or of the code point in place of an encoded value's length, by its first
 * byte. */
static inline size_t torc_record_len_span(uint8_t first)
{
    if (TORC_LIKELY(first <= TORC_RECORD_LEN_1_MAX)) {
        return 1;
    }
    return first < TORC_RECORD_LEN_WIDE ? 2 : first == TORC_RECORD_LEN_WIDE ? 5 : 1;
}

/* Write `len` at p; returns the bytes written. */
static inline size_t torc_record_len_put(uint8_t *p, uint32_t len)
{
    if (len <= TORC_RECORD_LEN_1_MAX) {
        p[0] = (uint8_t)len;
        return 1;
    }
    if (len <= TORC_RECORD_LEN_2_MAX) {
        uint32_t biased = len - (TORC_RECORD_LEN_1_MAX + 1);
        p[0] = (uint8_t)(0xc0u | biased >> 8);
        p[1] = (uint8_t)biased;
        return 2;
    }
    p[0] = TORC_RECORD_LEN_WIDE;
    torc_store_u32(p + 1, len);
    return 5;
}

/* Read a length at p into *out_len; returns the bytes read. Our own memory, so it is not validated
 * here. */
static inline size_t torc_record_len_get(const uint8_t *p, uint32_t *out_len)
{
    if (TORC_LIKELY(p[0] <= TORC_RECORD_LEN_1_MAX)) {
        *out_len = p[0];
        return 1;
    }
    if (p[0] < TORC_RECORD_LEN_WIDE) {
        *out_len = ((p[0] & 0x1fu) << 8 | p[1]) + TORC_RECORD_LEN_1_MAX + 1;
        return 2;
    }
    *out_len = torc_load_u32(p + 1);
    return 5;
}

/* Bytes of what stands for the length of a value that is compressed, from its code point on. */
static inline size_t torc_record_compressed_span(const uint8_t *p)
{
    size_t size = 1 + torc_record_len_span(p[1]);
    return size + torc_record_len_span(p[size]);
}

/* Read it. Out of line, so that others do not pay for it. */
size_t torc_record_compressed_len_get(const uint8_t *p, uint64_t *out_len,
                                      uint32_t *out_text_len) TORC_COLD;

/* Bytes of what stands for the length of any value. */
static inline size_t torc_record_value_len_span(const uint8_t *p)
{
    if (TORC_UNLIKELY(p[0] == TORC_RECORD_CODE_COMPRESSED)) {
        return torc_record_compressed_span(p);
    }
    return torc_record_len_span(p[0]);
}

/* Bytes by which that is longer for a compressed value than for a raw one of as many bytes. */
static inline uint64_t torc_record_compressed_extra(const struct torc_part *value)
{
    return value->form == TORC_FORM_COMPRESSED ? 1 + torc_record_len_size(value->text_len) : 0;
}

/* Read the length of a value in a field record: form and number of bytes, and of a compressed one
 * the text's. Returns the bytes read. */
static inline size_t torc_record_value_len_get(const uint8_t *p, struct torc_part *out_value)
{
    uint32_t len;
    out_value->text_len = 0;
    if (TORC_UNLIKELY(p[0] >= TORC_RECORD_CODE_FIRST)) {
        if (TORC_UNLIKELY(p[0] == TORC_RECORD_CODE_COMPRESSED)) {
            uint64_t stored;
            uint32_t text_len;
            size_t span = torc_record_compressed_len_get(p, &stored, &text_len);
            out_value->form = TORC_FORM_COMPRESSED;
            out_value->bytes.len = stored;
            out_value->text_len = text_len;
            return span;
        }
        out_value->form = (uint8_t)(p[0] - TORC_RECORD_CODE_FIRST);
        out_value->bytes.len = torc_codec_form_bytes(out_value->form);
        return 1;
    }
    size_t size = torc_record_len_get(p, &len);
    out_value->form = TORC_FORM_RAW;
    out_value->bytes.len = len;
    return size;
}

static inline bool torc_record_is_short(const uint8_t *record)
{
    return (record[0] & TORC_RECORD_SHORT) != 0;
}
static inline enum torc_record_type torc_record_type(const uint8_t *record)
{
    return torc_record_is_short(record)
               ? TORC_RECORD_FIELD
               : (enum torc_record_type)(record[0] & TORC_RECORD_TYPE_MASK);
}
static inline bool torc_record_expires(const uint8_t *record)
{
    return (record[0] & (TORC_RECORD_SHORT | TORC_RECORD_EXPIRES)) == TORC_RECORD_EXPIRES;
}
static inline bool torc_record_is_dead(const uint8_t *record)
{
    return (record[0] & TORC_RECORD_DEAD) != 0 || record[0] == TORC_RECORD_FILLER;
}

/* torc_record_name(), inlined in any case: for the comparison of names in a lookup. */
static TORC_ALWAYS_INLINE struct torc_slice torc_record_name_inline(const uint8_t *record)
{
    const uint8_t *p = record + 1;
    if (torc_record_is_short(record)) {
        return torc_slice_of(p + torc_record_value_len_span(p), record[0] & TORC_RECORD_SHORT_MAX);
    }
    enum torc_record_type type = torc_record_type(record);
    uint32_t name_len;
    if (type == TORC_RECORD_FIELD_OWNED) {
        p += TORC_RECORD_OWNER_BYTES;
    }
    if (type == TORC_RECORD_FIELD || type == TORC_RECORD_FIELD_OWNED) {
        if (torc_record_expires(record)) {
            p += TORC_RECORD_EXPIRY_BYTES;
        }
        p += torc_record_len_get(p, &name_len);
        p += torc_record_value_len_span(p);
        return torc_slice_of(p, name_len);
    }
    p += torc_record_len_get(p, &name_len);
    if (torc_record_expires(record)) {
        p += TORC_RECORD_EXPIRY_BYTES;
    }
    return torc_slice_of(p, name_len);
}

/* The record's name: key or field. Borrowed from the record. */
static inline struct torc_slice torc_record_name(const uint8_t *record)
{
    return torc_record_name_inline(record);
}

/* --- key records --- */

/* Bytes of a key record, with an expiry or without, up to its payload. */
static inline uint64_t torc_record_key_head_bytes(uint64_t key_len, bool expires)
{
    return 1 + torc_record_len_size(key_len) + (expires ? TORC_RECORD_EXPIRY_BYTES : 0) + key_len;
}

/* Write tag, length, time (`when`, or TORC_EXPIRY_NONE) and key; returns where the payload goes:
 * torc_record_key_head_bytes() behind `record`. */
uint8_t *torc_record_write_key(uint8_t *record, enum torc_record_type type, uint64_t when,
                               struct torc_slice key);

/* The time of a key record; TORC_EXPIRY_NONE. */
static inline uint64_t torc_record_key_expiry(const uint8_t *record)
{
    if (TORC_LIKELY(!torc_record_expires(record))) {
        return TORC_EXPIRY_NONE;
    }
    return torc_expiry_load(record + 1 + torc_record_len_span(record[1]));
}

/* The payload of a key record, borrowed: compact block, root reference or string. */
static inline const uint8_t *torc_record_payload(const uint8_t *record)
{
    struct torc_slice key = torc_record_name(record);
    return key.data + key.len;
}

/* Reference of the full hash's root; of a TORC_RECORD_FULL. */
static inline uint64_t torc_record_root(const uint8_t *record)
{
    return torc_load_u40(torc_record_payload(record));
}

/* --- field records --- */

/* Bytes of a field record, with an expiry or without, whose value takes `value_len` bytes as
 * stored. (A value that is encoded is short, and its code point as long as its length would be; one
 * that is compressed takes torc_record_compressed_extra() more.) */
static inline uint64_t torc_record_field_bytes(bool owned, bool expires, uint64_t field_len,
                                               uint64_t value_len)
{
    uint64_t head = 1;
    if (owned) {
        head += TORC_RECORD_OWNER_BYTES;
    } else if (!expires && field_len <= TORC_RECORD_SHORT_MAX) {
        head = 0; /* the length is in the tag */
    }
    return head + (expires ? TORC_RECORD_EXPIRY_BYTES : 0) + torc_record_len_size(field_len) +
           torc_record_len_size(value_len) + field_len + value_len;
}

/* Write a whole field record. `owner` TORC_REF_NONE: the segment knows it (TORC_RECORD_FIELD), else
 * the record names it. `when`: TORC_EXPIRY_NONE, or its time. */
void torc_record_write_field(uint8_t *record, uint64_t owner, uint64_t when,
                             struct torc_slice field, const struct torc_part *value);

/* Write `value` over the value of a record that has room for exactly it: both take as many bytes,
 * and neither is compressed. */
void torc_record_rewrite_value(uint8_t *record, const struct torc_part *value);

/* Field and value of a field record, borrowed; the value as it is stored. *out_when: its time, or
 * TORC_EXPIRY_NONE. */
static TORC_ALWAYS_INLINE struct torc_slice
torc_record_field_until(const uint8_t *record, struct torc_part *out_value, uint64_t *out_when)
{
    const uint8_t *p = record + 1;
    uint32_t field_len = record[0] & TORC_RECORD_SHORT_MAX;
    *out_when = TORC_EXPIRY_NONE;
    if (!torc_record_is_short(record)) {
        if (torc_record_type(record) == TORC_RECORD_FIELD_OWNED) {
            p += TORC_RECORD_OWNER_BYTES;
        }
        if (TORC_UNLIKELY(torc_record_expires(record))) {
            *out_when = torc_expiry_load(p);
            p += TORC_RECORD_EXPIRY_BYTES;
        }
        p += torc_record_len_get(p, &field_len);
    }
    p += torc_record_value_len_get(p, out_value);
    out_value->bytes.data = p + field_len;
    return torc_slice_of(p, field_len);
}

/* The same without the time. */
static inline struct torc_slice torc_record_field(const uint8_t *record,
                                                  struct torc_part *out_value)
{
    uint64_t when;
    return torc_record_field_until(record, out_value, &when);
}

/* The time of a field record alone; TORC_EXPIRY_NONE. */
static inline uint64_t torc_record_field_expiry(const uint8_t *record)
{
    if (TORC_LIKELY(!torc_record_expires(record))) {
        return TORC_EXPIRY_NONE;
    }
    return torc_expiry_load(torc_record_type(record) == TORC_RECORD_FIELD_OWNED
                                ? record + 1 + TORC_RECORD_OWNER_BYTES
                                : record + 1);
}

/* Root that a TORC_RECORD_FIELD_OWNED names. */
static inline uint64_t torc_record_owner(const uint8_t *record)
{
    return torc_load_u40(record + 1);
}

/* --- any record --- */

/* Give a key or field record that has a time another one, in place. */
void torc_record_set_expiry(uint8_t *record, uint64_t when);

/* Bytes of the whole record, live or dead. Trusts the bytes. */
uint64_t torc_record_bytes(const uint8_t *record);

/* Fill `bytes` (1 or more) at p with a hole, or with fillers where a hole does not fit. */
void torc_record_write_hole(uint8_t *p, uint64_t bytes);

/* Mark the record at `ref` dead and give its bytes back to the stream it came from. The bytes must
 * not be looked at afterwards. Returns how many they were. */
uint64_t torc_record_release(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref);

/* A record whose bytes were validated. All slices borrow the record. */
struct torc_record_view {
    enum torc_record_type type;
    bool dead;
    bool claimed;
    uint64_t bytes;         /* of the whole record */
    uint64_t owner;         /* TORC_RECORD_FIELD_OWNED, else TORC_REF_NONE */
    uint64_t expiry;        /* TORC_EXPIRY_NONE: it has no time */
    struct torc_slice name; /* key or field; empty for holes and fillers */
    struct torc_slice
        payload;       /* value as stored; compact block at its capacity; 5 bytes of a root */
    uint8_t form;      /* of the value of a field record, else TORC_FORM_RAW */
    uint32_t text_len; /* of a compressed value */
};

/* Look at the record in `avail` readable bytes at p (1 or more), whatever they hold: nothing beyond
 * them is read. -EBADMSG: not a record. The insides of a compact block and of an encoded or
 * compressed value are not looked at. */
int torc_record_parse(const uint8_t *p, uint64_t avail,
                      struct torc_record_view *out_view) TORC_MUST_USE;

#endif
