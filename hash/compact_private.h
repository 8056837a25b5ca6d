/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of a compact block (docs/formats/compact.md), for the files of the module and its
 * tests: header, places, entries. All of it trusts the block; torc_compact_check() is what makes
 * foreign bytes trustworthy.
 *
 *   at               bytes        what
 *   0                8            header: form and groups, spare, capacity, count, entry bytes
 *   8                G            fields per group, 1 byte each; G = number of groups, none if one
 *   8 + G            n            fingerprints in directory order
 *   8 + G + n        3 * spare    room for more of both neighbours
 *   E - 2n           2n           offsets, backwards: that of the i-th field lies at E - 2(i + 1)
 *   E                entry bytes  entries; E = 8 + G + 3(n + spare), and offsets count from here
 *   E + entry bytes  rest         slack, to the capacity
 */
#ifndef TORC_HASH_COMPACT_PRIVATE_H
#define TORC_HASH_COMPACT_PRIVATE_H

#include "core/hashing.h"
#include "hash/compact.h"

#define TORC_COMPACT_FORM_PLAIN 1u /* high half of the first byte */
#define TORC_COMPACT_HEAD_BYTES 8u
#define TORC_COMPACT_SLOT_BYTES 3u /* of the directory, per field */
#define TORC_COMPACT_SPARE_MAX  255u
#define TORC_COMPACT_GROUP_MAX  255u  /* a group's count fits its byte */
#define TORC_COMPACT_GROUP_BITS 16u   /* of torc_hash_group() */
#define TORC_COMPACT_ONE_GROUP  32u   /* fields that need no groups */
#define TORC_COMPACT_MEAN_MAX   16u   /* fields in a group on average, above: more groups */
#define TORC_COMPACT_MEAN_MIN   4u    /* the same, below: fewer groups */
#define TORC_COMPACT_CODE_FIRST 0x6cu /* length bytes kept for the value codec, to 0x7f */

/* A lookup loads 16 fingerprints however few there are, so a block is never smaller than the header
 * and one such load. */
#define TORC_COMPACT_MIN_BYTES (TORC_COMPACT_HEAD_BYTES + 16u)

/* The header, decoded. */
struct torc_compact_head {
    uint32_t groups_log2; /* 0, or 2 and more: two groups are never worth their counts */
    uint32_t spare;       /* unused directory slots */
    uint32_t capacity;    /* bytes of the block */
    uint32_t count;       /* fields */
    uint32_t entry_bytes;
};

static inline struct torc_compact_head torc_compact_head_load(const uint8_t *block)
{
    uint64_t word = torc_load_u64(block);
    return (struct torc_compact_head){
        .groups_log2 = (uint32_t)word & 0x0fu,
        .spare = (uint32_t)(word >> 8) & 0xffu,
        .capacity = (uint32_t)(word >> 16) & 0xffffu,
        .count = (uint32_t)(word >> 32) & 0xffffu,
        .entry_bytes = (uint32_t)(word >> 48),
    };
}

static inline void torc_compact_head_store(uint8_t *block, const struct torc_compact_head *head)
{
    assert(head->groups_log2 <= 0x0fu && head->spare <= TORC_COMPACT_SPARE_MAX);
    assert(head->capacity <= 0xffffu && head->count <= 0xffffu && head->entry_bytes <= 0xffffu);
    uint64_t word = head->entry_bytes;
    word = word << 16 | head->count;
    word = word << 16 | head->capacity;
    word = word << 8 | head->spare;
    word = word << 8 | TORC_COMPACT_FORM_PLAIN << 4 | head->groups_log2;
    torc_store_u64(block, word);
}

/* Bytes of the group counts: one a group, none for a single group. */
static inline size_t torc_compact_count_bytes(uint32_t groups_log2)
{
    return ((size_t)1 << groups_log2) & ~(size_t)1;
}

/* Where the fingerprints begin. */
static inline size_t torc_compact_prints_at(const struct torc_compact_head *head)
{
    return TORC_COMPACT_HEAD_BYTES + torc_compact_count_bytes(head->groups_log2);
}

/* Where the entries begin, and, downwards, the offsets. */
static inline size_t torc_compact_entries_at(const struct torc_compact_head *head)
{
    return torc_compact_prints_at(head) +
           TORC_COMPACT_SLOT_BYTES * (size_t)(head->count + head->spare);
}

/* Where the offset of the i-th field in directory order lies. */
static inline size_t torc_compact_offset_at(const struct torc_compact_head *head, size_t i)
{
    return torc_compact_entries_at(head) - 2 * (i + 1);
}

/* The group of a hash: the highest of its group bits, so that neighbours merge when groups halve.
 */
static inline uint32_t torc_compact_group(uint32_t groups_log2, uint64_t hash)
{
    return torc_hash_group(hash) << (32 - TORC_COMPACT_GROUP_BITS) >> (32 - groups_log2);
}

/* Write a length at p; returns its bytes. */
static inline size_t torc_compact_len_put(uint8_t *p, size_t len)
{
    if (len <= TORC_COMPACT_LEN_1_MAX) {
        p[0] = (uint8_t)len;
        return 1;
    }
    p[0] = (uint8_t)(TORC_COMPACT_LEN_2_FLAG | len >> 8);
    p[1] = (uint8_t)len;
    return 2;
}

/* How a field name is hashed: torc_hash_bytes() always, but for tests that squeeze hashes into few
 * values. */
typedef uint64_t torc_compact_hasher(uint64_t seed, const void *data, size_t len);

/* torc_compact_put() and torc_compact_check() with another hash function. */
int torc_compact_put_hashed(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed,
                            uint64_t hash, struct torc_slice field,
                            struct torc_slice value) TORC_MUST_USE;
int torc_compact_check_hashed(const uint8_t *block, size_t bytes, torc_compact_hasher *hasher,
                              uint64_t seed, const char **out_why) TORC_MUST_USE;

#endif
