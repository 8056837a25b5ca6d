/* SPDX-License-Identifier: Apache-2.0
 *
 * Compact hash: a small field-to-value map in one contiguous block, found by fingerprint.
 * Format: docs/formats/compact.md, version 4. Why this shape: docs/decisions/0002.
 *
 *   header 8 | common lengths | group counts | fingerprints -> | spare | <- offsets | entries -> |
 * slack | trailer
 *
 * The directory is grouped by hash bits independent of the fingerprint (torc_hash_group), 16 fields
 * a group on average at most (a block of up to 32 fields is one group without a count), so that a
 * hit and a miss look at one or two vectors whatever the number of fields. Entries stay in
 * insertion order; each is field length (1 or 2 bytes), value length (1 or 2), field, value. When
 * several entries have the same two lengths, these stand once, in the block, and each of the
 * entries has one byte instead: hashes of one shape are the rule. Fields and values are kept as the
 * codec (hash/codec.h) chooses, which the first byte of a length tells; a verbatim block keeps all
 * text as it came. The spare part lies between the fingerprints and their offsets, so that a field
 * that is appended to a block of one group moves nothing; a delete closes its gap.
 *
 * A field may have a time at which it ends (hash/expiry_time.h), in its entry, before the rest. A
 * block with such fields ends with a trailer: how many they are, and a lower bound of their times.
 * Fields and blocks without times cost nothing for it. A lookup is told the time and takes what is
 * past as absent; all else shows and counts what is past until torc_compact_reap() removed it.
 *
 * The block is plain bytes in the caller's memory: it can be moved and copied with memcpy. Nothing
 * here allocates. Every mutation either succeeds or leaves the block as it was. Borrowed slices die
 * at the next mutation of the block. Correctness does not depend on good hashes, only speed does.
 * Thread: one at a time; blocks are independent. Cost: find O(1) vectors; put and del O(bytes
 * moved), at most the block.
 */
#ifndef TORC_HASH_COMPACT_H
#define TORC_HASH_COMPACT_H

#include "hash/codec.h"
#include "hash/expiry_time.h"

#define TORC_COMPACT_MAX_BYTES  65535u /* of a block, slack included */
#define TORC_COMPACT_MAX_PART   32767u /* bytes of an encoded field or value */
#define TORC_COMPACT_MAX_FIELDS 65535u /* what a count holds; the bytes end it earlier */
#define TORC_COMPACT_LEN_1_MAX  107u   /* longest part whose length takes one byte */
#define TORC_COMPACT_VERBATIM   0x80u  /* in the first byte of a block: nothing is encoded */
#define TORC_COMPACT_EXPIRES    0x40u  /* the same: some fields have a time */
#define TORC_COMPACT_COMMON_AT  8u     /* where the common lengths are, in a block that has them */
#define TORC_COMPACT_AS_COMMON  0x7eu  /* in place of both lengths of an entry: the common ones */

#define TORC_COMPACT_EXPIRY_BYTES  7u /* that an entry with a time takes more */
#define TORC_COMPACT_TRAILER_BYTES 8u /* that a block with such entries takes more */

struct torc_pair {
    struct torc_slice field;
    struct torc_slice value;
};

/* Where a pair that was read is decoded to, if it has to be; and the rest of what is known of it.
 */
struct torc_pair_room {
    uint64_t expiry; /* when the field ends, past or not; TORC_EXPIRY_NONE never */
    uint8_t field[TORC_CODEC_TEXT_MAX];
    uint8_t value[TORC_CODEC_TEXT_MAX];
};

/* First length bytes of a field and its value, which tell length and form. */
struct torc_compact_lens {
    uint8_t field;
    uint8_t value;
};
/* No entry has these. */
static const struct torc_compact_lens torc_compact_no_common = {0x7f, 0x7f};

/* A block to be made for pairs that are known. Zero it but for `verbatim`, and add the pairs; those
 * that will have a time are counted by the caller. */
struct torc_compact_plan {
    bool verbatim;
    struct torc_compact_lens lens; /* of the first pair: common if enough others have them */
    size_t n_pairs;
    size_t n_alike;     /* pairs with these lengths */
    size_t entry_bytes; /* sum of torc_compact_entry_bytes() */
    size_t n_expiring;  /* pairs that will have a time; not in entry_bytes */
};
/* Cost: that of encoding both. */
void torc_compact_plan_add(struct torc_compact_plan *plan, struct torc_slice field,
                           struct torc_slice value);
/* The capacity, without slack, of a block that takes all pairs, as torc_compact_need() says it. */
size_t torc_compact_plan_need(const struct torc_compact_plan *plan);
/* torc_compact_init() for the pairs of the plan. */
void torc_compact_init_planned(uint8_t *block, size_t capacity,
                               const struct torc_compact_plan *plan);

/* Bytes of the entry of this pair, without a time, in a block that is verbatim or not, directory
 * not counted and lengths in full: it may take one less. A part above TORC_COMPACT_MAX_PART makes
 * it larger than any block, so that a sum of entries shows it. Cost: that of encoding both. */
size_t torc_compact_entry_bytes(struct torc_slice field, struct torc_slice value, bool verbatim);

/* The least capacity of a block; it holds nothing, or a very small field. */
size_t torc_compact_empty_bytes(void);

/* The capacity, without slack, with which a block of this content takes `n_new` pairs more whose
 * entries sum up to `entry_bytes` (torc_compact_entry_bytes of each). Puts of these pairs into
 * such a block never return -ENOSPC, whatever their hashes. Times count as bytes of entries:
 * TORC_COMPACT_EXPIRY_BYTES for each pair that will have one, also of a field that is there, and
 * TORC_COMPACT_TRAILER_BYTES if no field of the block has one yet. Exact when all are new fields,
 * else an upper bound. Above TORC_COMPACT_MAX_BYTES: it must be a full hash. NULL = an empty block.
 * O(1). */
size_t torc_compact_need(const uint8_t *block, size_t n_new, size_t entry_bytes);

/* The capacity to give a block that grows and needs `need` bytes (torc_compact_need) where it used
 * `before` (torc_compact_used): 1/12 more, or room for another step like this one (64 bytes of it
 * at most). A block that is made and loaded in one command gets none: many are never changed, and
 * the first change costs one copy. Never above TORC_COMPACT_MAX_BYTES, except that a `need` above
 * it comes back as it is. */
size_t torc_compact_grow(size_t before, size_t need);

/* Format `capacity` bytes at `block` as an empty hash. capacity from torc_compact_empty_bytes() to
 * TORC_COMPACT_MAX_BYTES. `verbatim`: this block, and its copies, keep all text as it comes. */
void torc_compact_init(uint8_t *block, size_t capacity, bool verbatim);

size_t torc_compact_capacity(const uint8_t *block); /* bytes of the block, slack included */
size_t torc_compact_used(
    const uint8_t *block); /* the same without slack: the least capacity for this content */
size_t torc_compact_count(const uint8_t *block); /* fields, past ones too */

/* True if the block keeps all text as it came. */
static inline bool torc_compact_is_verbatim(const uint8_t *block)
{
    return (block[0] & TORC_COMPACT_VERBATIM) != 0;
}

/* True if some fields have a time, past or not. */
static inline bool torc_compact_expires(const uint8_t *block)
{
    return (block[0] & TORC_COMPACT_EXPIRES) != 0;
}

/* Find `field`, whose keyed hash (always that of the text) is `hash`, unless it is past at `now`
 * (0: nothing is). True: out_value->text borrows the block or out_value->room; its data is never
 * NULL. False: out_value->text is untouched. */
bool torc_compact_find(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                       struct torc_value *out_value) TORC_MUST_USE;

/* The same for `n` fields with their hashes: out_values[i] is the value of fields[i], its text with
 * data NULL where there is none. Returns the number found. Cheaper than n times
 * torc_compact_find(). */
size_t torc_compact_find_many(const uint8_t *block, size_t n, const uint64_t *hashes,
                              const struct torc_slice *fields, uint64_t now,
                              struct torc_value *out_values);

/* Set `field` to a copy of `value`, encoded unless the block is verbatim, and without a time: one
 * that it had is gone. 1 new, 0 replaced, also if it was past; -ENOSPC the block's capacity is too
 * small (grow with torc_compact_copy(), then again); -EMSGSIZE can never be compact (convert to a
 * full hash). On error nothing changed. `field` and `value` must not point into the block. `seed`
 * re-hashes the stored fields when groups split: `hash` must be torc_hash_slice(seed, field), and
 * so must those of the fields before. */
int torc_compact_put(uint8_t *block, uint64_t seed, uint64_t hash, struct torc_slice field,
                     struct torc_slice value) TORC_MUST_USE;

/* The same, and the field ends at `when`: a time, TORC_EXPIRY_NONE, or TORC_EXPIRY_KEEP as it did
 * before, a new one never. */
int torc_compact_put_expiring(uint8_t *block, uint64_t seed, uint64_t hash, struct torc_slice field,
                              struct torc_slice value, uint64_t when) TORC_MUST_USE;

/* Remove `field`. 1 removed, also if it was past, 0 was not there. Never fails. */
int torc_compact_del(uint8_t *block, uint64_t hash, struct torc_slice field);

/* Fields that have a time, past ones too. O(1). */
size_t torc_compact_n_expiring(const uint8_t *block);

/* No field ends before this; TORC_EXPIRY_NEVER if none has a time. It may be too early, since it
 * stays when the field with the earliest time goes or gets another, until torc_compact_reap().
 * O(1).
 */
uint64_t torc_compact_due(const uint8_t *block);

/* Let `field` end at `when`; TORC_EXPIRY_NONE: never. 0; -ENOENT it is not there; -ENOSPC no room
 * for a time: make some as for a put, and if that is above TORC_COMPACT_MAX_BYTES, convert. On
 * error nothing changed. A field that had a time gets another in place. */
int torc_compact_set_expiry(uint8_t *block, uint64_t hash, struct torc_slice field,
                            uint64_t when) TORC_MUST_USE;

/* When `field` ends, past or not, TORC_EXPIRY_NONE never. False: it is not there. */
bool torc_compact_expiry(const uint8_t *block, uint64_t hash, struct torc_slice field,
                         uint64_t *out_when) TORC_MUST_USE;

/* Remove all fields that are past at `now`, and make the bound of torc_compact_due() exact. Returns
 * how many were removed. `scratch`: TORC_COMPACT_MAX_BYTES that are the caller's; what is there is
 * lost. O(1) if nothing is due by the bound, else O(bytes), however many go. */
size_t torc_compact_reap(uint8_t *block, uint8_t *scratch, uint64_t now);

/* As torc_compact_find_many(), for so many of the fields that reading the whole block once is
 * cheaper: half of them or more. The block has no fields with times. Needs no hashes; `seed` is
 * secret. n is at most TORC_COMPACT_JOIN_MAX. O(count + n), about 45 instructions a field of the
 * block. */
#define TORC_COMPACT_JOIN_MAX 128u
void torc_compact_join(const uint8_t *block, uint64_t seed, size_t n,
                       const struct torc_slice *fields, struct torc_value *out_values);

/* Write the content of `block` into `target` as small as it can be made, with the common lengths
 * that pay most, and give it `capacity`, or what it needs if that is more: at most
 * torc_compact_used(block). Returns the capacity. `target` has room for it. O(bytes). */
size_t torc_compact_pack(const uint8_t *block, uint8_t *target, size_t capacity);

/* Bytes that this would save at most, without more capacity: guessed in O(1) from the slack and,
 * where the block has no common lengths, from its count. */
size_t torc_compact_loose(const uint8_t *block);

/* Write the content of `block` into `target` with another capacity (>= torc_compact_used(block),
 * -ENOSPC otherwise; at most TORC_COMPACT_MAX_BYTES); verbatim if the block is. The memory must not
 * overlap. */
int torc_compact_copy(const uint8_t *block, uint8_t *target, size_t capacity) TORC_MUST_USE;

/* Read the entry at `entry` in `block`, whatever it holds; returns its bytes. Text that is encoded
 * is decoded into `room`, other text borrows the entry. room->expiry is set. */
size_t torc_compact_entry_read(const uint8_t *block, const uint8_t *entry,
                               struct torc_pair_room *room, struct torc_pair *out_pair);

/* Where the entries lie: first byte, and behind the last in the upper half. */
uint64_t torc_compact_entry_bounds(const uint8_t *block);

/* Walk in insertion order: *position starts at 0 and belongs to the walk; false at the end. Slices
 * borrow the block or `room`; data is never NULL. Shows past fields, too.
 * For walks that do not ask for times: room->expiry is set only where there is one. Inline: about
 * 25 instructions a field of short raw text. */
static inline bool torc_compact_next_pair(const uint8_t *block, uint64_t *position,
                                          struct torc_pair_room *room, struct torc_pair *out_pair)
{
    uint64_t bounds = *position != 0 ? *position : torc_compact_entry_bounds(block);
    uint32_t at = (uint32_t)bounds;
    if (at == bounds >> 32) {
        return false;
    }
    const uint8_t *entry = block + at;
    size_t bytes;
    if (entry[0] <= TORC_COMPACT_LEN_1_MAX && TORC_LIKELY(entry[1] <= TORC_COMPACT_LEN_1_MAX)) {
        out_pair->field = torc_slice_of(entry + 2, entry[0]);
        out_pair->value = torc_slice_of(entry + 2 + entry[0], entry[1]);
        bytes = 2 + (size_t)entry[0] + entry[1];
    } else if (entry[0] == TORC_COMPACT_AS_COMMON &&
               TORC_LIKELY(
                   torc_max_u64(block[TORC_COMPACT_COMMON_AT], block[TORC_COMPACT_COMMON_AT + 1]) <=
                   TORC_COMPACT_LEN_1_MAX)) {
        const size_t field_len = block[TORC_COMPACT_COMMON_AT];
        const size_t value_len = block[TORC_COMPACT_COMMON_AT + 1];
        out_pair->field = torc_slice_of(entry + 1, field_len);
        out_pair->value = torc_slice_of(entry + 1 + field_len, value_len);
        bytes = 1 + field_len + value_len;
    } else {
        bytes = torc_compact_entry_read(block, entry, room, out_pair);
    }
    *position = bounds + bytes;
    return true;
}

/* The same, and room->expiry tells each field's time. */
static inline bool torc_compact_next(const uint8_t *block, uint64_t *position,
                                     struct torc_pair_room *room, struct torc_pair *out_pair)
{
    room->expiry = TORC_EXPIRY_NONE;
    return torc_compact_next_pair(block, position, room, out_pair);
}

/* The i-th field in directory order (i < count), past or not, for random picks; `room` as in
 * torc_compact_next(). O(1). */
void torc_compact_at(const uint8_t *block, size_t i, struct torc_pair_room *room,
                     struct torc_pair *out_pair);

/* Full walk of all invariants of a block that lies in `bytes` readable bytes, also that every part
 * is kept the one way the codec would keep it; safe on any bytes. 0 or -EBADMSG; then *out_why (may
 * be NULL) is a static text. After 0 every other function is safe on the block. Cost: hashes each
 * field, compares it with the fields of its group. */
int torc_compact_check(const uint8_t *block, size_t bytes, uint64_t seed,
                       const char **out_why) TORC_MUST_USE;

#endif
