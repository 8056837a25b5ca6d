/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of a compact block (docs/formats/compact.md), for the files of the module and its
 * tests: header, places, entries. All of it trusts the block; torc_compact_check() is what makes
 * foreign bytes trustworthy.
 *
 *   at               bytes        what
 *   0                8            header: form and groups, spare, capacity, count, entry bytes
 *   8                C            common lengths: 2 bytes, or none (C = 0)
 *   8 + C            G            fields per group, 1 byte each; G = number of groups, none if one
 *   8 + C + G        n            fingerprints in directory order
 *   8 + C + G + n    3 * spare    room for more of both neighbours
 *   E - 2n           2n           offsets, backwards: that of the i-th field lies at E - 2(i + 1)
 *   E                entry bytes  entries; E = 8 + C + G + 3(n + spare), offsets count from here
 *   E + entry bytes  rest         slack, to the trailer
 *   capacity - 8     8            trailer, in a block with times: lower bound of them 6, entries
 * that have one 2
 */
#ifndef TORC_HASH_COMPACT_PRIVATE_H
#define TORC_HASH_COMPACT_PRIVATE_H

#include "core/hashing.h"
#include "hash/compact.h"

#define TORC_COMPACT_PLAIN      0x10u /* in the first byte: always */
#define TORC_COMPACT_COMMON     0x20u /* in the first byte: there are common lengths */
#define TORC_COMPACT_GROUPS     0x0fu /* in the first byte: log2 of their number */
#define TORC_COMPACT_HEAD_BYTES 8u
#define TORC_COMPACT_SLOT_BYTES 3u /* of the directory, per field */
#define TORC_COMPACT_SPARE_MAX  255u
#define TORC_COMPACT_GROUP_MAX  255u  /* a group's count fits its byte */
#define TORC_COMPACT_GROUP_BITS 16u   /* of torc_hash_group() */
#define TORC_COMPACT_ONE_GROUP  32u   /* fields that need no groups */
#define TORC_COMPACT_MEAN_MAX   16u   /* fields in a group on average, above: more groups */
#define TORC_COMPACT_MEAN_MIN   4u    /* the same, below: fewer groups */
#define TORC_COMPACT_CODE_FIRST 0x6cu /* this + form: the length byte of a part that is encoded */
#define TORC_COMPACT_CODE_LIMIT (TORC_COMPACT_CODE_FIRST + TORC_FORM_COUNT)
#define TORC_COMPACT_LEN_2_FLAG 0x80u /* a long part: this | high 7 bits of its length, low 8 */

#define TORC_COMPACT_TIMED 0x7fu /* in front of an entry: its time follows, in 6 bytes */
static_assert(TORC_COMPACT_EXPIRY_BYTES == 1 + TORC_EXPIRY_BYTES, "a mark and a time");

#define TORC_COMPACT_COMMON_BYTES 2u
static_assert(TORC_COMPACT_CODE_LIMIT <= TORC_COMPACT_AS_COMMON, "lead bytes are distinct");

/* A lookup loads 16 fingerprints however few there are, so a block is never smaller than what is
 * before them and one such load. */
#define TORC_COMPACT_MIN_BYTES (TORC_COMPACT_HEAD_BYTES + 16u)

/* The header, decoded. */
struct torc_compact_head {
    uint32_t groups_log2; /* 0, or 2 and more: two groups are never worth their counts */
    uint32_t spare;       /* unused directory slots */
    uint32_t capacity;    /* bytes of the block */
    uint32_t count;       /* fields */
    uint32_t entry_bytes;
    uint32_t common_bytes;  /* 2, or 0: no common lengths */
    uint32_t trailer_bytes; /* 8, or 0: no entry has a time */
    bool verbatim;          /* nothing is encoded */
};

static inline struct torc_compact_head torc_compact_head_load(const uint8_t *block)
{
    uint64_t word = torc_load_u64(block);
    return (struct torc_compact_head){
        .groups_log2 = (uint32_t)word & TORC_COMPACT_GROUPS,
        .spare = (uint32_t)(word >> 8) & 0xffu,
        .capacity = (uint32_t)(word >> 16) & 0xffffu,
        .count = (uint32_t)(word >> 32) & 0xffffu,
        .entry_bytes = (uint32_t)(word >> 48),
        .common_bytes = (uint32_t)word >> 4 & TORC_COMPACT_COMMON_BYTES,
        .trailer_bytes = (uint32_t)word >> 3 & TORC_COMPACT_TRAILER_BYTES,
        .verbatim = (word & TORC_COMPACT_VERBATIM) != 0,
    };
}

static inline void torc_compact_head_store(uint8_t *block, const struct torc_compact_head *head)
{
    assert(head->groups_log2 <= TORC_COMPACT_GROUPS && head->spare <= TORC_COMPACT_SPARE_MAX);
    assert(head->capacity <= 0xffffu && head->count <= 0xffffu && head->entry_bytes <= 0xffffu);
    uint64_t word = head->entry_bytes;
    word = word << 16 | head->count;
    word = word << 16 | head->capacity;
    word = word << 8 | head->spare;
    word = word << 8 | (head->verbatim ? TORC_COMPACT_VERBATIM : 0) | head->trailer_bytes << 3 |
           head->common_bytes << 4 | TORC_COMPACT_PLAIN | head->groups_log2;
    torc_store_u64(block, word);
}

/* Bytes of the group counts: one a group, none for a single group. */
static inline size_t torc_compact_count_bytes(uint32_t groups_log2)
{
    return ((size_t)1 << groups_log2) & ~(size_t)1;
}

/* Where the group counts begin. */
static inline size_t torc_compact_counts_at(const struct torc_compact_head *head)
{
    return TORC_COMPACT_HEAD_BYTES + head->common_bytes;
}

/* Where the fingerprints begin. */
static inline size_t torc_compact_prints_at(const struct torc_compact_head *head)
{
    return torc_compact_counts_at(head) + torc_compact_count_bytes(head->groups_log2);
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

/* --- sizes --- */

/* Bytes of content that takes no directory slots and lies between no entries, beside the header. */
static inline uint32_t torc_compact_fixed_bytes(const struct torc_compact_head *head)
{
    return head->common_bytes + head->trailer_bytes;
}

/* Bytes of a block with common lengths and a trailer or without (torc_compact_fixed_bytes()), but
 * without spare and slack. */
static inline size_t torc_compact_content_bytes(uint32_t fixed_bytes, uint32_t groups_log2,
                                                size_t count, size_t entry_bytes)
{
    return TORC_COMPACT_HEAD_BYTES + fixed_bytes + torc_compact_count_bytes(groups_log2) +
           TORC_COMPACT_SLOT_BYTES * count + entry_bytes;
}

/* The same of a block that has this header. */
static inline size_t torc_compact_head_content_bytes(const struct torc_compact_head *head)
{
    return torc_compact_content_bytes(torc_compact_fixed_bytes(head), head->groups_log2,
                                      head->count, head->entry_bytes);
}

/* The least capacity for so much content. */
static inline size_t torc_compact_least_capacity(uint32_t common_bytes, size_t content)
{
    return torc_max_u64(content, TORC_COMPACT_MIN_BYTES + common_bytes);
}

/* Spare slots that divide `room` free bytes between directory and entries as the content divides
 * itself, so that both run out at about the same time. */
static inline uint32_t torc_compact_fair_spare(size_t room, size_t count, size_t entry_bytes)
{
    if (count == 0) {
        return 0;
    }
    size_t slots = room * count / (TORC_COMPACT_SLOT_BYTES * count + entry_bytes);
    return (uint32_t)torc_min_u64(slots, TORC_COMPACT_SPARE_MAX - 1);
}

/* Whether common lengths are worth their two bytes for `n_alike` of `n` entries: each of these has
 * one byte less, but the others cost a reader a mispredicted branch. */
static inline bool torc_compact_common_pays(size_t n_alike, size_t n)
{
    return n_alike > (size_t)2 * TORC_COMPACT_COMMON_BYTES && n_alike >= n / 4;
}

/* --- times --- */

/* What a trailer says. */
struct torc_compact_times {
    uint64_t bound; /* no time is before it; TORC_EXPIRY_NEVER if there are none */
    uint32_t n;     /* entries that have a time */
};

static inline struct torc_compact_times
torc_compact_times_load(const uint8_t *block, const struct torc_compact_head *head)
{
    if (head->trailer_bytes == 0) {
        return (struct torc_compact_times){.bound = TORC_EXPIRY_NEVER, .n = 0};
    }
    const uint8_t *trailer = block + head->capacity - TORC_COMPACT_TRAILER_BYTES;
    return (struct torc_compact_times){.bound = torc_expiry_load(trailer),
                                       .n = torc_load_u16(trailer + TORC_EXPIRY_BYTES)};
}

/* Whether there is a trailer is for the header to say: torc_compact_trailer_bytes(). */
static inline void torc_compact_times_store(uint8_t *block, const struct torc_compact_head *head,
                                            const struct torc_compact_times *times)
{
    assert((times->n != 0) == (head->trailer_bytes != 0));
    if (times->n != 0) {
        uint8_t *trailer = block + head->capacity - TORC_COMPACT_TRAILER_BYTES;
        torc_expiry_store(trailer, times->bound);
        torc_store_u16(trailer + TORC_EXPIRY_BYTES, (uint16_t)times->n);
    }
}

static inline uint32_t torc_compact_trailer_bytes(const struct torc_compact_times *times)
{
    return times->n != 0 ? TORC_COMPACT_TRAILER_BYTES : 0;
}

/* An entry has the time `when` where it had `old`; either may be TORC_EXPIRY_NONE. */
static inline void torc_compact_times_change(struct torc_compact_times *times, uint64_t old,
                                             uint64_t when)
{
    times->n -= old != TORC_EXPIRY_NONE;
    if (times->n == 0) {
        times->bound = TORC_EXPIRY_NEVER;
    }
    if (when != TORC_EXPIRY_NONE) {
        times->n++;
        times->bound = torc_min_u64(times->bound, when);
    }
}

/* The time of the entry at `entry`. */
static inline uint64_t torc_compact_entry_time(const uint8_t *entry)
{
    return entry[0] == TORC_COMPACT_TIMED ? torc_expiry_load(entry + 1) : TORC_EXPIRY_NONE;
}

/* --- parts and entries as they are stored --- */

/* How `text` is kept in a block: `room` as in torc_codec_encode(). */
static inline struct torc_part torc_compact_encode(bool verbatim, struct torc_slice text,
                                                   uint8_t *room)
{
    return verbatim ? torc_part_raw(text) : torc_codec_encode(text, room);
}

/* Bytes of the length of a part that takes `len` bytes. (A part that is encoded is short, and so is
 * its length.) */
static inline size_t torc_compact_len_bytes(size_t len)
{
    return len <= TORC_COMPACT_LEN_1_MAX ? 1 : 2;
}

/* Bytes of an entry whose parts take so many; above any block if one of them can be in none. */
static inline size_t torc_compact_stored_bytes(size_t field_len, size_t value_len)
{
    if (TORC_UNLIKELY(field_len > TORC_COMPACT_MAX_PART || value_len > TORC_COMPACT_MAX_PART)) {
        return TORC_COMPACT_MAX_BYTES + 1;
    }
    return torc_compact_len_bytes(field_len) + torc_compact_len_bytes(value_len) + field_len +
           value_len;
}

/* The first byte of the length of a part, which tells its form, too. */
static inline uint8_t torc_compact_lead(const struct torc_part *part)
{
    if (part->form != TORC_FORM_RAW) {
        return (uint8_t)(TORC_COMPACT_CODE_FIRST + part->form);
    }
    const size_t len = part->bytes.len;
    return (uint8_t)(len <= TORC_COMPACT_LEN_1_MAX ? len : TORC_COMPACT_LEN_2_FLAG | len >> 8);
}

/* Whether an entry whose lengths begin so has the common lengths of a block. */
static inline bool torc_compact_is_common(struct torc_compact_lens common, uint8_t field_lead,
                                          uint8_t value_lead)
{
    return common.field == field_lead && common.value == value_lead;
}

/* The common lengths of a block; torc_compact_no_common if it has none. */
static inline struct torc_compact_lens torc_compact_common(const uint8_t *block)
{
    if ((block[0] & TORC_COMPACT_COMMON) == 0) {
        return torc_compact_no_common;
    }
    return (struct torc_compact_lens){.field = block[TORC_COMPACT_HEAD_BYTES],
                                      .value = block[TORC_COMPACT_HEAD_BYTES + 1]};
}

/* Set them, in a block whose header says that it has some. */
static inline void torc_compact_common_store(uint8_t *block, struct torc_compact_lens common)
{
    block[TORC_COMPACT_COMMON_AT] = common.field;
    block[TORC_COMPACT_COMMON_AT + 1] = common.value;
}

/* Write the length of a part at p; returns its bytes. */
static inline size_t torc_compact_len_put(uint8_t *p, const struct torc_part *part)
{
    p[0] = torc_compact_lead(part);
    if (p[0] < TORC_COMPACT_LEN_2_FLAG) {
        return 1;
    }
    p[1] = (uint8_t)part->bytes.len;
    return 2;
}

/* What a length of one byte says: the form and the number of bytes of the part. */
static inline void torc_compact_lead_get(uint8_t lead, struct torc_part *out_part)
{
    bool is_raw = lead <= TORC_COMPACT_LEN_1_MAX;
    out_part->form = is_raw ? TORC_FORM_RAW : (uint8_t)(lead - TORC_COMPACT_CODE_FIRST);
    out_part->bytes.len = is_raw ? lead : torc_codec_form_bytes(out_part->form);
}

/* Read the length at p, in an entry: form and number of bytes of the part. Returns its own bytes.
 */
static inline size_t torc_compact_len_get(const uint8_t *p, struct torc_part *out_part)
{
    if (p[0] >= TORC_COMPACT_LEN_2_FLAG) {
        out_part->form = TORC_FORM_RAW;
        out_part->bytes.len = (size_t)(p[0] & ~TORC_COMPACT_LEN_2_FLAG) << 8 | p[1];
        return 2;
    }
    torc_compact_lead_get(p[0], out_part);
    return 1;
}

struct torc_compact_entry {
    uint64_t when; /* its time; TORC_EXPIRY_NONE */
    struct torc_part field;
    struct torc_part value;
};

/* Bytes in front of the parts of an entry, time and lengths, in a block with these common lengths.
 */
static inline size_t torc_compact_front_bytes(struct torc_compact_lens common,
                                              const struct torc_compact_entry *entry)
{
    const size_t time_bytes = entry->when != TORC_EXPIRY_NONE ? TORC_COMPACT_EXPIRY_BYTES : 0;
    if (torc_compact_is_common(common, torc_compact_lead(&entry->field),
                               torc_compact_lead(&entry->value))) {
        return time_bytes + 1;
    }
    return time_bytes + torc_compact_len_bytes(entry->field.bytes.len) +
           torc_compact_len_bytes(entry->value.bytes.len);
}

/* Write them at p. */
static inline void torc_compact_front_put(uint8_t *p, struct torc_compact_lens common,
                                          const struct torc_compact_entry *entry)
{
    if (entry->when != TORC_EXPIRY_NONE) {
        p[0] = TORC_COMPACT_TIMED;
        torc_expiry_store(p + 1, entry->when);
        p += TORC_COMPACT_EXPIRY_BYTES;
    }
    if (torc_compact_is_common(common, torc_compact_lead(&entry->field),
                               torc_compact_lead(&entry->value))) {
        p[0] = TORC_COMPACT_AS_COMMON;
        return;
    }
    p += torc_compact_len_put(p, &entry->field);
    (void)torc_compact_len_put(p, &entry->value);
}

/* Read the entry at `entry`, in a block with these common lengths; returns its bytes. */
static inline size_t torc_compact_entry_get(const uint8_t *entry, struct torc_compact_lens common,
                                            struct torc_compact_entry *out_entry)
{
    const uint8_t *p = entry;
    out_entry->when = torc_compact_entry_time(p);
    if (out_entry->when != TORC_EXPIRY_NONE) {
        p += TORC_COMPACT_EXPIRY_BYTES;
    }
    if (p[0] == TORC_COMPACT_AS_COMMON) {
        torc_compact_lead_get(common.field, &out_entry->field);
        torc_compact_lead_get(common.value, &out_entry->value);
        p++;
    } else {
        p += torc_compact_len_get(p, &out_entry->field);
        p += torc_compact_len_get(p, &out_entry->value);
    }
    out_entry->field.bytes.data = p;
    out_entry->value.bytes.data = p + out_entry->field.bytes.len;
    return (size_t)(p - entry) + out_entry->field.bytes.len + out_entry->value.bytes.len;
}

/* How a field name is hashed: torc_hash_bytes() always, but for tests that squeeze hashes into few
 * values. */
typedef uint64_t torc_compact_hasher(uint64_t seed, const void *data, size_t len);

/* torc_compact_put(), torc_compact_put_expiring() and torc_compact_check() with another hash
 * function. */
int torc_compact_put_hashed(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed,
                            uint64_t hash, struct torc_slice field,
                            struct torc_slice value) TORC_MUST_USE;
int torc_compact_put_expiring_hashed(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed,
                                     uint64_t hash, struct torc_slice field,
                                     struct torc_slice value, uint64_t when) TORC_MUST_USE;
int torc_compact_check_hashed(const uint8_t *block, size_t bytes, torc_compact_hasher *hasher,
                              uint64_t seed, const char **out_why) TORC_MUST_USE;

/* Bring the directory of a block in line with fewer fields: `*head` says by now how many there are,
 * and may have any number of spare slots. The stored header is the caller's. */
void torc_compact_settle(uint8_t *block, struct torc_compact_head *head);

#endif
