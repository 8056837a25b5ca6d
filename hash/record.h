/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a record: what a table reference points at. Format: docs/formats/record.md,
 * version 1.
 *
 *   key record     tag, key length (1-5), [expiry 6], key, payload
 *                  payload  compact: the blob (hash/compact.h), which knows its own size
 *                           full:    5-byte reference of the root (hash/full.h)
 *                           string:  value length (1-5), value
 *   field record   tag, [owner 5], [expiry 6], field length (1-5), value length (1-5), field, value
 *                  owner only in segments that several hashes share (TORC_RECORD_FIELD_OWNED)
 *   filler         one byte; left over by a trim too short for anything else
 *
 * A name is the key of a key record and the field of a field record: tables compare names and know
 * nothing more. A record that died keeps its bytes but for the dead bit, so that a segment can
 * always be walked.
 */
#ifndef TORC_HASH_RECORD_H
#define TORC_HASH_RECORD_H

#include "core/slice.h"

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
#define TORC_RECORD_EXPIRES   0x08u /* a 6-byte expiry, milliseconds, follows (room left) */
#define TORC_RECORD_DEAD      0x80u

/* Lengths inside records: 0..191 in one byte; 192..8,383 in two (0xc0 | high 5 bits, low 8 bits;
 * biased by 192); else 0xe0 and a u32. 0xe1..0xff are code points kept for the value codec. */
#define TORC_RECORD_LEN_1_MAX 191u
#define TORC_RECORD_LEN_2_MAX 8383u
#define TORC_RECORD_LEN_WIDE  0xe0u

static inline size_t torc_record_len_size(uint64_t len)
{
    return len <= TORC_RECORD_LEN_1_MAX ? 1 : len <= TORC_RECORD_LEN_2_MAX ? 2 : 5;
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

static inline enum torc_record_type torc_record_type(const uint8_t *record)
{
    return (enum torc_record_type)(record[0] & TORC_RECORD_TYPE_MASK);
}
static inline bool torc_record_is_dead(const uint8_t *record)
{
    return (record[0] & TORC_RECORD_DEAD) != 0 || record[0] == TORC_RECORD_FILLER;
}

/* The record's name: key or field. Borrowed from the record. */
static inline struct torc_slice torc_record_name(const uint8_t *record)
{
    const uint8_t *p = record + 1;
    enum torc_record_type type = torc_record_type(record);
    uint32_t name_len;
    if (type == TORC_RECORD_FIELD_OWNED) {
        p += 5;
    }
    if (type == TORC_RECORD_FIELD || type == TORC_RECORD_FIELD_OWNED) {
        uint32_t value_len;
        if (record[0] & TORC_RECORD_EXPIRES) {
            p += 6;
        }
        p += torc_record_len_get(p, &name_len);
        p += torc_record_len_get(p, &value_len);
        return torc_slice_of(p, name_len);
    }
    p += torc_record_len_get(p, &name_len);
    if (record[0] & TORC_RECORD_EXPIRES) {
        p += 6;
    }
    return torc_slice_of(p, name_len);
}

#endif
