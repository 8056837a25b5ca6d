/* SPDX-License-Identifier: Apache-2.0
 *
 * Press: compresses long values of full hashes with LZ4 and expands them again, with the memory for
 * both. Format: docs/formats/record.md; why so: docs/decisions/0011-value-compression.md.
 *
 * Exact: expanding gives the bytes that came in, whatever they are. A value that does not get
 * shorter by an eighth stays as it is, so that nobody pays for what wins little.
 *
 * Memory:  one block of 2 MiB, taken when the press is made, touched as far as it is used. Nothing
 *          is allocated later, so reads of compressed values cannot fail.
 * Bounded: texts above TORC_PRESS_TEXT_MAX are not compressed, nor more than TORC_PRESS_CALL_MAX
 *          bytes of text in one call: compressing takes about 2 ns a byte, and others wait for it.
 * Thread:  one at a time.
 */
#ifndef TORC_HASH_PRESS_H
#define TORC_HASH_PRESS_H

#include "hash/codec.h"

#define TORC_PRESS_TEXT_MIN 64u      /* shortest and */
#define TORC_PRESS_TEXT_MAX TORC_MIB /* longest text that is compressed, bytes */
#define TORC_PRESS_CALL_MAX (4 * TORC_MIB)

/* Of LZ4's, asserted in the code. */
#define TORC_PRESS_STATE_BYTES 16416u

struct torc_press {
    uint32_t min_bytes; /* shortest text to compress now; not below TORC_PRESS_TEXT_MIN */
    size_t used;        /* bytes of `room` that hold expanded texts */
    uint64_t state[TORC_PRESS_STATE_BYTES / sizeof(uint64_t)];
    uint8_t room[2 * TORC_PRESS_TEXT_MAX]; /* texts, or what was compressed last */
};

/* NULL: no memory. */
struct torc_press *torc_press_create(void) TORC_MUST_USE;
/* NULL is fine. */
void torc_press_destroy(struct torc_press *press);

/* True if a text of `text_len` bytes may be kept compressed to `len` bytes. */
static inline bool torc_press_is_worth(uint64_t text_len, uint64_t len)
{
    return text_len >= TORC_PRESS_TEXT_MIN && text_len <= TORC_PRESS_TEXT_MAX && len > 0 &&
           len <= text_len - text_len / 8;
}

/* Compress a raw part in place: true if it became TORC_FORM_COMPRESSED, which borrows the press
 * until its next call; false and unchanged if it is too short, too long, or would not get shorter
 * by an eighth. O(len). */
bool torc_press_compress(struct torc_press *press, struct torc_part *part);

/* Expand a compressed part behind the texts that are there: one more always has room while
 * torc_press_is_used_up() is false. Texts live until torc_press_forget() or
 * torc_press_compress(). O(text). */
struct torc_slice torc_press_expand(struct torc_press *press, struct torc_part part) TORC_COLD;

/* Forget all texts: the next one goes to the front. */
static inline void torc_press_forget(struct torc_press *press)
{
    press->used = 0;
}
static inline bool torc_press_is_used_up(const struct torc_press *press)
{
    return press->used > TORC_PRESS_TEXT_MAX;
}

/* True if the bytes of a compressed part, whatever they are, expand to exactly its text_len (at
 * most TORC_PRESS_TEXT_MAX) bytes. `room` takes that many. For checkers. O(text). */
bool torc_press_is_sound(const struct torc_part *part, uint8_t *room);

#endif
