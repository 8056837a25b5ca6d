/* SPDX-License-Identifier: Apache-2.0
 *
 * Value codec: text that is exactly a canonical decimal or a UUID is kept in binary; all else as it
 * came. Exact and reversible: decoding gives the bytes that came in, for every byte string. Format:
 * docs/formats/codec.md.
 *
 * The form of a part is told by code points of its length byte that no length uses, so raw text
 * pays nothing.
 *
 *   form          text that it stands for             bytes kept
 *   RAW           anything                            the text
 *   NATURAL + n   decimal 0 .. 2^64 - 1               n + 1, little-endian, the least width
 *   NEGATIVE + n  decimal -1 .. -2^64                 n + 1 of (magnitude - 1), the least width
 *   UUID          8-4-4-4-12 lowercase hexadecimal    16
 *                 digits with dashes
 *   UUID_BARE     32 lowercase hexadecimal digits     16
 *
 * Text whose binary form is not shorter stays raw (single digits). Pure functions; any thread.
 */
#ifndef TORC_HASH_CODEC_H
#define TORC_HASH_CODEC_H

#include "core/slice.h"

enum torc_form {
    TORC_FORM_NATURAL = 0,  /* .. + 7 */
    TORC_FORM_NEGATIVE = 8, /* .. + 7 */
    TORC_FORM_UUID = 16,
    TORC_FORM_UUID_BARE = 17,
    TORC_FORM_COUNT = 18,
    TORC_FORM_COMPRESSED = TORC_FORM_COUNT, /* no form of the codec: hash/press.h makes it, for
                                               field records of full hashes alone */
    TORC_FORM_RAW = 255,
};

#define TORC_CODEC_ENCODED_MAX 16u /* bytes of an encoded form other than RAW */
#define TORC_CODEC_TEXT_MAX    36u /* bytes of the text of a form other than RAW */
#define TORC_CODEC_DECIMAL_MAX 21u /* bytes of the text of a decimal */

/* A part as it is kept: a form and its bytes. */
struct torc_part {
    uint8_t form;            /* enum torc_form (with the width added) */
    uint32_t text_len;       /* COMPRESSED: bytes of the text; else says nothing */
    struct torc_slice bytes; /* RAW: borrows the text; else points at `room` of the encoder, or at
                                where the part is stored */
};

/* A value that was read. The text borrows where the value is stored or, if it was decoded, `room`
 * beside it: so a copy of this struct does not hold the text. */
struct torc_value {
    struct torc_slice text;
    uint8_t room[TORC_CODEC_TEXT_MAX];
};

static inline struct torc_part torc_part_raw(struct torc_slice text)
{
    return (struct torc_part){.form = TORC_FORM_RAW, .bytes = text};
}

/* May `text` have a form other than RAW, by its length and first byte? A few instructions; false
 * for most text that is neither decimal nor UUID. */
static inline bool torc_codec_is_candidate(struct torc_slice text)
{
    if ((text.len & ~(size_t)4) == 32) {
        return true; /* 32 and 36 */
    }
    /* '-' and the digits, with '.' and '/' in between; from two bytes on, as one is never encoded.
     */
    return text.len - 2 <= TORC_CODEC_DECIMAL_MAX - 2 &&
           (unsigned)text.data[0] - '-' <= (unsigned)('9' - '-');
}

/* torc_codec_encode() of a text that passed torc_codec_is_candidate(). */
struct torc_part torc_codec_encode_candidate(struct torc_slice text, uint8_t *room);

/* Choose the form of `text`. `room` (TORC_CODEC_ENCODED_MAX bytes) takes the bytes of a form other
 * than RAW and must live as long as the part. O(len) for text of at most 36 bytes that starts like
 * a decimal or is as long as a UUID, else O(1). */
static inline struct torc_part torc_codec_encode(struct torc_slice text, uint8_t *room)
{
    return TORC_UNLIKELY(torc_codec_is_candidate(text)) ? torc_codec_encode_candidate(text, room)
                                                        : torc_part_raw(text);
}

/* Bytes kept for a form other than RAW; 0 if there is no such form. O(1). */
static inline size_t torc_codec_form_bytes(uint8_t form)
{
    if (form < TORC_FORM_UUID) {
        return (form & 7u) + 1;
    }
    return form < TORC_FORM_COUNT ? 16 : 0;
}

/* The text of a form other than RAW whose bytes are at `bytes` (torc_codec_form_bytes() of them),
 * written to `room` (TORC_CODEC_TEXT_MAX bytes). Returns its length. */
size_t torc_codec_decode(uint8_t form, const uint8_t *bytes, uint8_t *room);

/* The text of a part that is not compressed: borrows its bytes if it is raw, else `room`
 * (TORC_CODEC_TEXT_MAX bytes). */
static inline struct torc_slice torc_part_text(const struct torc_part *part, uint8_t *room)
{
    if (TORC_LIKELY(part->form == TORC_FORM_RAW)) {
        return part->bytes;
    }
    return torc_slice_of(room, torc_codec_decode(part->form, part->bytes.data, room));
}

/* Kept alike: the same form and the same number of bytes, so that one may be written over the
 * other. */
static inline bool torc_part_is_like(const struct torc_part *a, const struct torc_part *b)
{
    return a->form == b->form && a->bytes.len == b->bytes.len;
}

/* True if the bytes are what the encoder would have chosen for that form: least width, and shorter
 * than the text. For checkers. */
bool torc_codec_is_canonical(uint8_t form, const uint8_t *bytes);

/* The value of a decimal form as a signed 64-bit number; false if the form is not a decimal or the
 * value is outside. */
bool torc_codec_integer(uint8_t form, const uint8_t *bytes, int64_t *out_value);

#endif
