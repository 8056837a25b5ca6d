/* SPDX-License-Identifier: Apache-2.0
 *
 * Compact hash: a small field-to-value map in one contiguous block, found by fingerprint.
 * Format: docs/formats/compact.md, version 1.
 *
 *   header | group ends | fingerprints, 1 byte a field | entry offsets, 2 bytes a field | entries |
 * slack
 *
 * The directory is grouped by hash bits independent of the fingerprint (torc_hash_group), at most
 * 32 fields a group, so that a hit and a miss look at one or two vectors whatever the count.
 * Entries stay in insertion order; each is field length (1 or 2 bytes), value length (1 or 2),
 * field, value. Slack behind the directory and behind the entries makes appends cheap; a delete
 * closes the gap.
 *
 * The block is plain bytes in the caller's memory: it can be moved and copied with memcpy. Nothing
 * here allocates. Every mutation either succeeds or leaves the block as it was. Borrowed slices die
 * at the next mutation of the block. Thread: one at a time. Cost: find O(1) vectors; put and del
 * O(bytes moved), at most the block.
 */
#ifndef TORC_HASH_COMPACT_H
#define TORC_HASH_COMPACT_H

#include "core/slice.h"

#define TORC_COMPACT_MAX_BYTES  65535u /* of a block, slack included */
#define TORC_COMPACT_MAX_PART   32767u /* bytes of an encoded field or value */
#define TORC_COMPACT_MAX_FIELDS 65535u

struct torc_pair {
    struct torc_slice field;
    struct torc_slice value;
};

/* The least block that holds nothing; and the bytes that an empty block needs to take `n` fields
 * whose names and values are `payload` bytes in all, at most `longest` in one part, without slack.
 * May exceed TORC_COMPACT_MAX_BYTES: then it must be a full hash. */
size_t torc_compact_empty_bytes(void);
size_t torc_compact_need(const uint8_t *block /* NULL = empty */, size_t n_new, size_t payload,
                         size_t longest);

/* Format `capacity` bytes at `block` as an empty hash. capacity from torc_compact_empty_bytes() to
 * TORC_COMPACT_MAX_BYTES. */
void torc_compact_init(uint8_t *block, size_t capacity);

size_t torc_compact_capacity(const uint8_t *block); /* bytes of the block, slack included */
size_t torc_compact_used(
    const uint8_t *block); /* the same without slack: the least capacity for this content */
size_t torc_compact_count(const uint8_t *block); /* fields */

/* Find `field`, whose keyed hash is `hash`. True: *out_value borrows the value. */
bool torc_compact_find(const uint8_t *block, uint64_t hash, struct torc_slice field,
                       struct torc_slice *out_value) TORC_MUST_USE;

/* Set `field` to a copy of `value`. 1 new, 0 replaced; -ENOSPC the block's capacity is too small
 * (grow with torc_compact_copy(), then again); -EMSGSIZE can never be compact (convert to a full
 * hash). On error nothing changed. `field` and `value` must not point into the block. `seed`
 * re-hashes the stored fields when groups split. */
int torc_compact_put(uint8_t *block, uint64_t seed, uint64_t hash, struct torc_slice field,
                     struct torc_slice value) TORC_MUST_USE;

/* Remove `field`. 1 removed, 0 was not there. Never fails. */
int torc_compact_del(uint8_t *block, uint64_t hash, struct torc_slice field);

/* Write the content of `block` into `target` with another capacity (>= torc_compact_used(block),
 * -ENOSPC otherwise). The memory must not overlap. */
int torc_compact_copy(const uint8_t *block, uint8_t *target, size_t capacity) TORC_MUST_USE;

/* Walk in insertion order: *position starts at 0; false at the end. Slices borrow the block. */
bool torc_compact_next(const uint8_t *block, size_t *position, struct torc_pair *out_pair);

/* The i-th field in directory order (i < count), for random picks. O(1). */
void torc_compact_at(const uint8_t *block, size_t i, struct torc_pair *out_pair);

/* Full walk of all invariants of a block that lies in `bytes` readable bytes; safe on any bytes. 0
 * or -EBADMSG. */
int torc_compact_check(const uint8_t *block, size_t bytes, uint64_t seed,
                       const char **out_why) TORC_MUST_USE;

#endif
