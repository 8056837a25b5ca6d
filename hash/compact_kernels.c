/* SPDX-License-Identifier: Apache-2.0
 *
 * Lookup in a compact block, written once and compiled per level: the searches take the level's
 * small vector jobs as constants and are always inlined, so they are too.
 *
 * A vector load takes 16 fingerprints from a place in or right behind the fingerprints, however few
 * there are, or 16 group counts likewise; what lies beyond is ignored. It stays inside the block:
 *   - the first load of a block of one group is at 8, or at 10 behind common lengths, and no
 *     capacity is less than that + 16;
 *   - a second load (32 at most) happens only behind 16 fields of a group of more;
 *   - so but for the first case there are at least 16 fields (groups mean 16 or more, too), and
 *     behind the last fingerprint lie at least 32 bytes of offsets and 32 of entries.
 *
 * AVX2 has no version: it would save five instructions of about 85 in groups above 16 fields, and
 * none in the others, which are most.
 */
#include "hash/compact_kernels.h"

#include "hash/compact_private.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#define VECTORS 1
#else
#define VECTORS 0
#endif

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* The two cases of a lookup. The common one needs no register beyond those that a call may use and
 * calls nothing: names stored in up to 16 bytes in groups of up to 32 fields. The other does the
 * rest. The common one is compiled once more for blocks with times, so that the others do not ask
 * for them. */
#define SHORT_NAME_MAX  16u
#define SMALL_GROUP_MAX 32u

/* Groups whose first places search_many() keeps: 512 bytes of stack. */
#define SUMMED_GROUPS_MAX 256u

/* Whether `len` bytes, SHORT_NAME_MAX at most, are equal: two words that overlap but never leave
 * the names. */
INLINE bool short_names_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
    if (TORC_LIKELY(len >= 8)) {
        return ((torc_load_u64(a) ^ torc_load_u64(b)) |
                (torc_load_u64(a + len - 8) ^ torc_load_u64(b + len - 8))) == 0;
    }
    if (len >= 4) {
        return ((torc_load_u32(a) ^ torc_load_u32(b)) |
                (torc_load_u32(a + len - 4) ^ torc_load_u32(b + len - 4))) == 0;
    }
    /* 1 to 3 bytes: the first, the middle and the last are all. */
    return len == 0 || ((a[0] ^ b[0]) | (a[len / 2] ^ b[len / 2]) | (a[len - 1] ^ b[len - 1])) == 0;
}

/* A group: where to look for a field. */
struct group {
    const uint8_t *block;
    const uint8_t *prints;  /* of the block */
    const uint8_t *entries; /* of the block, and, before them, the offsets */
    size_t first;           /* place of its first field in directory order */
    size_t n;               /* fields */
};

/* Bit i of the result: prints[i] is `print`; i < n and i < 32. */
typedef uint32_t match_fn(const uint8_t *prints, size_t n, uint8_t print);
typedef size_t count_before_fn(const uint8_t *counts, size_t group);

INLINE struct group only_group(const uint8_t *block, struct torc_compact_head head)
{
    const uint8_t *prints = block + torc_compact_counts_at(&head);
    return (struct group){
        .block = block,
        .prints = prints,
        .entries = prints + TORC_COMPACT_SLOT_BYTES * (size_t)(head.count + head.spare),
        .first = 0,
        .n = head.count,
    };
}

/* The group of `hash` in `block`, whose header is `head`. */
INLINE struct group group_of(const uint8_t *block, struct torc_compact_head head, uint64_t hash,
                             count_before_fn *count_before)
{
    if (head.groups_log2 == 0) {
        return only_group(block, head);
    }
    const uint8_t *counts = block + torc_compact_counts_at(&head);
    const size_t group = torc_compact_group(head.groups_log2, hash);
    return (struct group){
        .block = block,
        .prints = block + torc_compact_prints_at(&head),
        .entries = block + torc_compact_entries_at(&head),
        .first = count_before(counts, group),
        .n = counts[group],
    };
}

/* The entry whose offset is at `place`. ~place is -place - 1: offsets go backwards. */
INLINE const uint8_t *entry_at(const uint8_t *entries, size_t place)
{
    return entries + torc_load_u16(entries + 2 * (ptrdiff_t)~place);
}

/* Whether `block` has several groups, or fields with times. */
INLINE bool has_more(const uint8_t *block)
{
    return (block[0] & (TORC_COMPACT_GROUPS | TORC_COMPACT_EXPIRES)) != 0;
}

/* The lengths of an entry, in a block with times if `timed`. */
INLINE const uint8_t *lens_of(const uint8_t *entry, bool timed)
{
    return timed && entry[0] == TORC_COMPACT_TIMED ? entry + TORC_COMPACT_EXPIRY_BYTES : entry;
}

/* How an entry with the common lengths of `block` begins, if such an entry may have a field whose
 * length begins with `lead`; else `lead` itself. */
INLINE uint8_t other_lead(const uint8_t *block, uint8_t lead)
{
    return (block[0] & TORC_COMPACT_COMMON) != 0 && block[TORC_COMPACT_COMMON_AT] == lead
               ? TORC_COMPACT_AS_COMMON
               : lead;
}

/* Find a short name in a small group: its entry, or NULL. `timed`: the block has times. */
INLINE const uint8_t *search_common(struct group group, uint64_t hash, struct torc_slice field,
                                    uint8_t lead, bool timed, match_fn *match, size_t *out_place)
{
    const uint8_t print = torc_hash_fingerprint(hash);
    const uint8_t other = other_lead(group.block, lead);
    uint32_t matches = match(group.prints + group.first, group.n, print);
    for (; matches != 0; matches &= matches - 1) {
        /* A field this short has a length of one byte, which tells its form, too; that of the value
         * is stepped over without a branch. */
        const size_t place = group.first + (size_t)__builtin_ctz(matches);
        const uint8_t *entry = entry_at(group.entries, place);
        const uint8_t *lens = lens_of(entry, timed);
        const uint8_t *name =
            lens[0] == TORC_COMPACT_AS_COMMON ? lens + 1 : lens + 2 + (lens[1] >> 7);
        if (TORC_LIKELY((lens[0] == lead || lens[0] == other) &&
                        short_names_equal(name, field.data, field.len))) {
            *out_place = place;
            return entry;
        }
    }
    return NULL;
}

/* The value of an entry whose field takes `field_bytes`, as stored; its length is behind one of one
 * byte. */
INLINE void get_value(const uint8_t *block, const uint8_t *entry, size_t field_bytes,
                      struct torc_part *out_value)
{
    if (entry[0] == TORC_COMPACT_AS_COMMON) {
        torc_compact_lead_get(block[TORC_COMPACT_COMMON_AT + 1], out_value);
        out_value->bytes.data = entry + 1 + field_bytes;
        return;
    }
    const size_t len_bytes = torc_compact_len_get(entry + 1, out_value);
    out_value->bytes.data = entry + 1 + len_bytes + field_bytes;
}

/* The same as text, of a value that is long or encoded. */
NOINLINE bool give_rare_text(const uint8_t *block, const uint8_t *entry, size_t field_bytes,
                             struct torc_value *out_value)
{
    struct torc_part value;
    get_value(block, entry, field_bytes, &value);
    out_value->text = torc_part_text(&value, out_value->room);
    return true;
}

/* Find a short raw name in a small group, and the text of its value. */
INLINE bool find_common(struct group group, uint64_t hash, struct torc_slice field, bool timed,
                        uint64_t now, match_fn *match, struct torc_value *out_value)
{
    size_t place;
    const uint8_t *entry =
        search_common(group, hash, field, (uint8_t)field.len, timed, match, &place);
    if (entry == NULL) {
        return false;
    }
    if (timed && entry[0] == TORC_COMPACT_TIMED) {
        if (torc_expiry_is_past(torc_expiry_load(entry + 1), now)) {
            return false;
        }
        entry += TORC_COMPACT_EXPIRY_BYTES;
    }
    const bool alike = entry[0] == TORC_COMPACT_AS_COMMON;
    const uint8_t len = alike ? group.block[TORC_COMPACT_COMMON_AT + 1] : entry[1];
    if (TORC_UNLIKELY(len > TORC_COMPACT_LEN_1_MAX)) {
        return give_rare_text(group.block, entry, field.len, out_value);
    }
    out_value->text = torc_slice_of(entry + 2 - alike + field.len, len);
    return true;
}

INLINE size_t locate_common(struct group group, uint64_t hash, struct torc_slice field,
                            uint8_t lead, bool timed, match_fn *match, struct torc_part *out_value)
{
    size_t place;
    const uint8_t *entry = search_common(group, hash, field, lead, timed, match, &place);
    if (entry == NULL) {
        return TORC_COMPACT_ABSENT;
    }
    get_value(group.block, lens_of(entry, timed), field.len, out_value);
    return place;
}

/* The same for any name and any group. */
INLINE size_t search_any(struct group group, uint64_t hash, struct torc_slice field, uint8_t lead,
                         match_fn *match, struct torc_part *out_value)
{
    const uint8_t print = torc_hash_fingerprint(hash);
    for (size_t i = 0; i < group.n; i += 32) {
        uint32_t matches = match(group.prints + group.first + i, group.n - i, print);
        for (; matches != 0; matches &= matches - 1) {
            size_t place = group.first + i + (size_t)__builtin_ctz(matches);
            struct torc_compact_entry stored;
            const uint8_t *entry = entry_at(group.entries, place);
            (void)torc_compact_entry_get(entry, torc_compact_common(group.block), &stored);
            if (torc_compact_lead(&stored.field) == lead &&
                torc_slice_equal(stored.field.bytes, field)) {
                *out_value = stored.value;
                return place;
            }
        }
    }
    return TORC_COMPACT_ABSENT;
}

typedef size_t locate_fn(const uint8_t *block, uint64_t hash, struct torc_slice field, uint8_t lead,
                         struct torc_part *out_value);
typedef bool find_fn(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                     struct torc_value *out_value);

/* Is this a name for find_common(), in a small group? */
INLINE bool is_common(struct torc_slice field)
{
    return field.len <= SHORT_NAME_MAX && !torc_codec_is_candidate(field);
}

/* torc_compact_find() for names that are long, or that may be encoded in the block. */
INLINE bool find_by_part(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                         locate_fn *locate, struct torc_value *out_value)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    const struct torc_part part = torc_compact_encode(torc_compact_is_verbatim(block), field, room);
    struct torc_part value;
    const size_t place = locate(block, hash, part.bytes, torc_compact_lead(&part), &value);
    if (place == TORC_COMPACT_ABSENT) {
        return false;
    }
    if (torc_compact_expires(block)) {
        const struct torc_compact_head head = torc_compact_head_load(block);
        const uint8_t *entry = entry_at(block + torc_compact_entries_at(&head), place);
        if (torc_expiry_is_past(torc_compact_entry_time(entry), now)) {
            return false;
        }
    }
    out_value->text = torc_part_text(&value, out_value->room);
    return true;
}

/* One field of many, in its group: 1 found, 0 absent and *out_value has no text. */
INLINE size_t find_next(const uint8_t *block, struct group group, uint64_t hash,
                        struct torc_slice field, bool timed, uint64_t now, match_fn *match,
                        find_fn *find_any, struct torc_value *out_value)
{
    out_value->text = (struct torc_slice){.data = NULL, .len = 0};
    return TORC_LIKELY(is_common(field) && group.n <= SMALL_GROUP_MAX)
               ? find_common(group, hash, field, timed, now, match, out_value)
               : find_any(block, hash, field, now, out_value);
}

/* torc_compact_find_many(). What one lookup computes anew is computed once here: the places of the
 * block, and where each group begins, unless there are far more groups than fields to find. */
INLINE size_t search_many(const uint8_t *block, size_t n, const uint64_t *hashes,
                          const struct torc_slice *fields, bool timed, uint64_t now,
                          match_fn *match, count_before_fn *count_before, find_fn *find_any,
                          struct torc_value *out_values)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    size_t n_found = 0;
    if (head.groups_log2 == 0) {
        const struct group group = only_group(block, head);
        for (size_t i = 0; i < n; i++) {
            n_found += find_next(block, group, hashes[i], fields[i], timed, now, match, find_any,
                                 &out_values[i]);
        }
        return n_found;
    }

    uint16_t firsts[SUMMED_GROUPS_MAX];
    const size_t n_groups = (size_t)1 << head.groups_log2;
    const uint8_t *counts = block + torc_compact_counts_at(&head);
    if (n_groups > SUMMED_GROUPS_MAX || n_groups > 4 * n) {
        for (size_t i = 0; i < n; i++) {
            n_found += find_next(block, group_of(block, head, hashes[i], count_before), hashes[i],
                                 fields[i], timed, now, match, find_any, &out_values[i]);
        }
        return n_found;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < n_groups; i++) {
        firsts[i] = (uint16_t)first;
        first += counts[i];
    }
    struct group group = {
        .block = block,
        .prints = block + torc_compact_prints_at(&head),
        .entries = block + torc_compact_entries_at(&head),
    };
    for (size_t i = 0; i < n; i++) {
        const size_t number = torc_compact_group(head.groups_log2, hashes[i]);
        group.first = firsts[number];
        group.n = counts[number];
        n_found += find_next(block, group, hashes[i], fields[i], timed, now, match, find_any,
                             &out_values[i]);
    }
    return n_found;
}

/* --- scalar, the reference --- */

INLINE uint32_t match_scalar(const uint8_t *prints, size_t n, uint8_t print)
{
    uint32_t matches = 0;
    for (size_t i = 0; i < 32 && i < n; i++) {
        matches |= (uint32_t)(prints[i] == print) << i;
    }
    return matches;
}

INLINE size_t count_before_scalar(const uint8_t *counts, size_t group)
{
    size_t sum = 0;
    for (size_t i = 0; i < group; i++) {
        sum += counts[i];
    }
    return sum;
}

static void shift_scalar(uint8_t *offsets, size_t n, uint16_t above, uint16_t delta)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t offset = torc_load_u16(offsets + 2 * i);
        if (offset > above) {
            torc_store_u16(offsets + 2 * i, (uint16_t)(offset + delta));
        }
    }
}

#define LEVEL(name) name##_scalar
#define LEVEL_NAME  "scalar"
#include "hash/compact_level.inc"

#if VECTORS

/* --- SSE2, the baseline of x86-64 --- */

INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The lowest n of 32 bits. A table, as a shift by a variable costs more than the load. */
static const uint32_t low_bits[33] = {
    0x00000000, 0x00000001, 0x00000003, 0x00000007, 0x0000000f, 0x0000001f, 0x0000003f,
    0x0000007f, 0x000000ff, 0x000001ff, 0x000003ff, 0x000007ff, 0x00000fff, 0x00001fff,
    0x00003fff, 0x00007fff, 0x0000ffff, 0x0001ffff, 0x0003ffff, 0x0007ffff, 0x000fffff,
    0x001fffff, 0x003fffff, 0x007fffff, 0x00ffffff, 0x01ffffff, 0x03ffffff, 0x07ffffff,
    0x0fffffff, 0x1fffffff, 0x3fffffff, 0x7fffffff, 0xffffffff,
};

INLINE uint32_t match_sse2(const uint8_t *prints, size_t n, uint8_t print)
{
    const __m128i wanted = _mm_set1_epi8((char)print);
    uint32_t matches = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(load_16(prints), wanted));
    if (n > 16) {
        __m128i equal = _mm_cmpeq_epi8(load_16(prints + 16), wanted);
        matches |= (uint32_t)_mm_movemask_epi8(equal) << 16;
    }
    return matches & low_bits[n < 32 ? n : 32];
}

/* psadbw against zero adds up eight bytes at a time. The last vector keeps the bytes below `group`
 * only, by a window of ones that ends there. */
INLINE size_t count_before_sse2(const uint8_t *counts, size_t group)
{
    static const uint8_t window[32] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* the upper half is 0 */
    };
    const __m128i zero = _mm_setzero_si128();
    size_t last = group & ~(size_t)15;
    __m128i keep = load_16(window + 16 - (group - last));
    __m128i sum = _mm_sad_epu8(_mm_and_si128(load_16(counts + last), keep), zero);
    for (size_t i = 0; i < last; i += 16) {
        sum = _mm_add_epi64(sum, _mm_sad_epu8(load_16(counts + i), zero));
    }
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
}

/* Saturating subtraction of `above` leaves zero exactly where an offset is not above it. */
static void shift_sse2(uint8_t *offsets, size_t n, uint16_t above, uint16_t delta)
{
    const __m128i limit = _mm_set1_epi16((short)above);
    const __m128i step = _mm_set1_epi16((short)delta);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i old = load_16(offsets + 2 * i);
        __m128i stays = _mm_cmpeq_epi16(_mm_subs_epu16(old, limit), _mm_setzero_si128());
        __m128i moved = _mm_add_epi16(old, _mm_andnot_si128(stays, step));
        _mm_storeu_si128((__m128i *)(void *)(offsets + 2 * i), moved);
    }
    shift_scalar(offsets + 2 * i, n - i, above, delta);
}

#define LEVEL(name) name##_sse2
#define LEVEL_NAME  "sse2"
#include "hash/compact_level.inc"

#endif

const struct torc_compact_ops *torc_compact_ops_at(enum torc_cpu_level level)
{
#if VECTORS
    if (level >= TORC_CPU_SSE2) {
        return &ops_sse2;
    }
#endif
    (void)level;
    return &ops_scalar;
}

/* --- the choice --- */

static const struct torc_compact_ops *choose(void)
{
    const struct torc_compact_ops *ops = torc_compact_ops_at(torc_cpu_level());
    atomic_store_explicit(&torc_compact_ops_chosen, ops, memory_order_relaxed);
    return ops;
}

static bool find_first(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                       struct torc_value *out_value)
{
    return choose()->find(block, hash, field, now, out_value);
}

static size_t find_many_first(const uint8_t *block, size_t n, const uint64_t *hashes,
                              const struct torc_slice *fields, uint64_t now,
                              struct torc_value *out_values)
{
    return choose()->find_many(block, n, hashes, fields, now, out_values);
}

static size_t locate_first(const uint8_t *block, uint64_t hash, struct torc_slice field,
                           uint8_t lead, struct torc_part *out_value)
{
    return choose()->locate(block, hash, field, lead, out_value);
}

static size_t count_before_first(const uint8_t *counts, size_t group)
{
    return choose()->count_before(counts, group);
}

static void shift_first(uint8_t *offsets, size_t n, uint16_t above, uint16_t delta)
{
    choose()->shift(offsets, n, above, delta);
}

static const struct torc_compact_ops ops_first = {
    .name = "not chosen yet",
    .find = find_first,
    .find_many = find_many_first,
    .locate = locate_first,
    .count_before = count_before_first,
    .shift = shift_first,
};

const struct torc_compact_ops *_Atomic torc_compact_ops_chosen = &ops_first;
