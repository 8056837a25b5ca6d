/* SPDX-License-Identifier: Apache-2.0
 *
 * One bucket of a table: ten entries in one cache line. Format: docs/formats/table.md.
 *
 *   0           10      12        14                                                     64
 *   | 10 finger- | shape | marks   | 10 references of 5 bytes                             |
 *   | prints     |       |         |                                                      |
 *
 *   shape   bits 0..3   natives: entries whose home is this line, in slots 0 .. natives - 1
 *           bits 4..7   count: all entries; those behind the natives are guests from other homes
 *           bits 8..15  spilled: bit c is set when a native of fingerprint kind c is a guest
 *                       elsewhere (hash/table_private.h says where)
 *   marks   bits 0..9   bit i is set when the entry in slot i was used lately (hash/table_marks.c);
 *                       it goes with the entry when that is moved
 *           bits 10..15 reserved, 0
 *
 * Slots are dense, so a free slot needs no mark and every fingerprint value is usable. The order
 * within natives and within guests means nothing.
 *
 * Thread: the arena's owner. Every function is O(1) and touches this line only.
 */
#ifndef TORC_HASH_LINE_PRIVATE_H
#define TORC_HASH_LINE_PRIVATE_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/base.h"

#define TORC_LINE_BYTES 64u
#define TORC_LINE_SLOTS 10u
#define TORC_LINE_KINDS 8u /* a fingerprint's low three bits */

struct torc_line {
    uint8_t fingerprints[TORC_LINE_SLOTS];
    uint16_t shape;
    uint16_t marks;
    uint8_t refs[TORC_LINE_SLOTS][5];
};
static_assert(sizeof(struct torc_line) == TORC_LINE_BYTES, "a line is a cache line");
static_assert(offsetof(struct torc_line, shape) == 10, "layout");
static_assert(offsetof(struct torc_line, marks) == 12, "layout");
static_assert(offsetof(struct torc_line, refs) == 14, "layout");

#define TORC_LINE_SHAPE_NATIVE 0x0001u
#define TORC_LINE_SHAPE_COUNT  0x0010u

static inline unsigned torc_line_kind(uint8_t fingerprint)
{
    return fingerprint & (TORC_LINE_KINDS - 1);
}
static inline unsigned torc_line_natives(const struct torc_line *line)
{
    return line->shape & 15u;
}
static inline unsigned torc_line_count(const struct torc_line *line)
{
    return line->shape >> 4 & 15u;
}
static inline bool torc_line_is_full(const struct torc_line *line)
{
    return torc_line_count(line) == TORC_LINE_SLOTS;
}
static inline unsigned torc_line_spilled(const struct torc_line *line)
{
    return line->shape >> 8;
}
static inline bool torc_line_has_spilled(const struct torc_line *line, unsigned kind)
{
    return (line->shape >> 8 >> kind & 1u) != 0;
}
static inline void torc_line_set_spilled(struct torc_line *line, unsigned kind)
{
    line->shape = (uint16_t)(line->shape | 0x100u << kind);
}
static inline void torc_line_clear_spilled(struct torc_line *line, unsigned kind)
{
    line->shape = (uint16_t)(line->shape & ~(0x100u << kind));
}

/* Slots of natives, slots of guests: bit i stands for slot i. */
static inline unsigned torc_line_native_slots(const struct torc_line *line)
{
    return (1u << torc_line_natives(line)) - 1;
}
static inline unsigned torc_line_guest_slots(const struct torc_line *line)
{
    return (1u << torc_line_count(line)) - (1u << torc_line_natives(line));
}

/* The reference in `slot`: one load of 8 bytes that end with the slot's, so it stays inside the
 * line even for the last. */
static inline uint64_t torc_line_ref(const struct torc_line *line, unsigned slot)
{
    size_t end = offsetof(struct torc_line, refs) + 5 * ((size_t)slot + 1);
    return torc_load_u64((const uint8_t *)line + end - 8) >> 24;
}
static inline void torc_line_set_ref(struct torc_line *line, unsigned slot, uint64_t ref)
{
    torc_store_u40(line->refs[slot], ref);
}

/* Slots whose fingerprint is `fingerprint`, used or not: mask the result with the slots wanted. The
 * reference for the vector version. */
static inline unsigned torc_line_match_scalar(const struct torc_line *line, uint8_t fingerprint)
{
    unsigned found = 0;
    for (unsigned i = 0; i < TORC_LINE_SLOTS; i++) {
        found |= (unsigned)(line->fingerprints[i] == fingerprint) << i;
    }
    return found;
}

/* The same, and bits from TORC_LINE_SLOTS on mean nothing. */
static inline unsigned torc_line_match(const struct torc_line *line, uint8_t fingerprint)
{
#if defined(__SSE2__)
    /* 16 bytes from the start of the line: the fingerprints and six bytes behind them. */
    __m128i row = _mm_loadu_si128((const void *)line);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(row, _mm_set1_epi8((char)fingerprint)));
#else
    return torc_line_match_scalar(line, fingerprint);
#endif
}

/* Slots whose entries are marked: mask the result with the slots in use, as marks of others mean
 * nothing. */
static inline unsigned torc_line_marked_slots(const struct torc_line *line)
{
    return line->marks;
}
static inline bool torc_line_is_marked(const struct torc_line *line, unsigned slot)
{
    return (line->marks >> slot & 1u) != 0;
}
/* Mark the entries in `slots`, bit i for slot i. Stores nothing if they are. */
static inline void torc_line_mark(struct torc_line *line, unsigned slots)
{
    if ((slots & ~(unsigned)line->marks) != 0) {
        line->marks = (uint16_t)(line->marks | slots);
    }
}
static inline void torc_line_clear_marks(struct torc_line *line)
{
    line->marks = 0;
}
static inline void torc_line_set_mark(struct torc_line *line, unsigned slot, bool is_marked)
{
    line->marks = (uint16_t)((line->marks & ~(1u << slot)) | (unsigned)is_marked << slot);
}

/* A new entry is not marked. */
static inline void torc_line_set_slot(struct torc_line *line, unsigned slot, uint8_t fingerprint,
                                      uint64_t ref)
{
    line->fingerprints[slot] = fingerprint;
    torc_line_set_ref(line, slot, ref);
    if (TORC_UNLIKELY(line->marks != 0)) {
        torc_line_set_mark(line, slot, false);
    }
}
static inline void torc_line_copy_slot(struct torc_line *line, unsigned to, unsigned from)
{
    line->fingerprints[to] = line->fingerprints[from];
    torc_store_u40(line->refs[to], torc_load_u40(line->refs[from]));
    /* Only a keyspace that evicts by age has marks. */
    if (TORC_UNLIKELY(line->marks != 0)) {
        torc_line_set_mark(line, to, torc_line_is_marked(line, from));
    }
}

/* Add an entry; the line is not full. A native takes the place of the first guest, which goes to
 * the end. */
static inline void torc_line_put_native(struct torc_line *line, uint8_t fingerprint, uint64_t ref)
{
    unsigned natives = torc_line_natives(line);
    assert(!torc_line_is_full(line));
    torc_line_copy_slot(line, torc_line_count(line), natives);
    torc_line_set_slot(line, natives, fingerprint, ref);
    line->shape = (uint16_t)(line->shape + TORC_LINE_SHAPE_NATIVE + TORC_LINE_SHAPE_COUNT);
}
static inline void torc_line_put_guest(struct torc_line *line, uint8_t fingerprint, uint64_t ref)
{
    assert(!torc_line_is_full(line));
    torc_line_set_slot(line, torc_line_count(line), fingerprint, ref);
    line->shape = (uint16_t)(line->shape + TORC_LINE_SHAPE_COUNT);
}

/* Take the entry in `slot` (below count) out. The last native or guest fills its place, so other
 * slots may change meaning: walk downwards when taking several. */
static inline void torc_line_take(struct torc_line *line, unsigned slot)
{
    unsigned hole = slot;
    unsigned shape = line->shape - TORC_LINE_SHAPE_COUNT;
    assert(slot < torc_line_count(line));
    if (slot < torc_line_natives(line)) {
        hole = torc_line_natives(line) - 1;
        torc_line_copy_slot(line, slot, hole);
        shape -= TORC_LINE_SHAPE_NATIVE;
    }
    torc_line_copy_slot(line, hole, torc_line_count(line) - 1);
    line->shape = (uint16_t)shape;
}

/* All natives left; guests move up. */
static inline void torc_line_drop_natives(struct torc_line *line)
{
    unsigned natives = torc_line_natives(line);
    for (unsigned slot = natives; slot < torc_line_count(line); slot++) {
        torc_line_copy_slot(line, slot - natives, slot);
    }
    line->shape =
        (uint16_t)(line->shape - natives * (TORC_LINE_SHAPE_NATIVE + TORC_LINE_SHAPE_COUNT));
}

/* The guest in `slot` is a native: it changes places with the first guest. */
static inline void torc_line_make_native(struct torc_line *line, unsigned slot)
{
    unsigned first = torc_line_natives(line);
    uint8_t fingerprint = line->fingerprints[slot];
    uint64_t ref = torc_line_ref(line, slot);
    bool is_marked = torc_line_is_marked(line, slot);
    assert(slot >= first && slot < torc_line_count(line));
    torc_line_copy_slot(line, slot, first);
    torc_line_set_slot(line, first, fingerprint, ref);
    torc_line_mark(line, (unsigned)is_marked << first);
    line->shape = (uint16_t)(line->shape + TORC_LINE_SHAPE_NATIVE);
}

#endif
