/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing a compact block: choosing the common lengths that pay most, and writing it anew with
 * them.
 */
#include "hash/compact.h"

#include "hash/compact_private.h"

/* The lengths that most entries of a block have, if one pair of lengths has more than half of them
 * (Boyer and Moore 1981), else some that occur. They are of one byte each, or no entry's. */
static struct torc_compact_lens frequent_lens(const uint8_t *block,
                                              const struct torc_compact_head *head)
{
    const uint8_t *entry = block + torc_compact_entries_at(head);
    const uint8_t *end = entry + head->entry_bytes;
    struct torc_compact_lens best = torc_compact_no_common;
    size_t votes = 0;
    while (entry < end) {
        struct torc_compact_entry stored;
        entry += torc_compact_entry_get(entry, torc_compact_common(block), &stored);
        const struct torc_compact_lens lens = {torc_compact_lead(&stored.field),
                                               torc_compact_lead(&stored.value)};
        if ((lens.field | lens.value) >= TORC_COMPACT_LEN_2_FLAG) {
            continue;
        }
        if (votes == 0) {
            best = lens;
        }
        votes = torc_compact_is_common(best, lens.field, lens.value) ? votes + 1 : votes - 1;
    }
    return best;
}

/* How far each entry moves towards the front when lengths become common, by its old offset: the
 * entries before it that get one byte shorter, less those that get longer. A bit for each offset,
 * and sums by word, so that any offset is answered in O(1). */
#define MOVES_WORDS ((TORC_COMPACT_MAX_BYTES + 64u) / 64u)
struct moves {
    uint64_t shorter[MOVES_WORDS];
    uint64_t longer[MOVES_WORDS];
    int16_t before[MOVES_WORDS]; /* of the words before this one */
};

static void sum_up_moves(struct moves *moves, size_t n_words)
{
    int sum = 0;
    for (size_t i = 0; i < n_words; i++) {
        moves->before[i] = (int16_t)sum;
        sum += __builtin_popcountll(moves->shorter[i]) - __builtin_popcountll(moves->longer[i]);
    }
}

static uint16_t moved_offset(const struct moves *moves, uint16_t offset)
{
    const uint64_t below = (1ull << offset % 64) - 1;
    const size_t word = offset / 64;
    int move = moves->before[word] + __builtin_popcountll(moves->shorter[word] & below) -
               __builtin_popcountll(moves->longer[word] & below);
    return (uint16_t)(offset - move);
}

/* Write the entries of `block` to `to` as a block with the lengths `common` has them, and note how
 * they move. */
static void rewrite_entries(const uint8_t *block, const struct torc_compact_head *head,
                            struct torc_compact_lens common, uint8_t *to, struct moves *out_moves)
{
    const struct torc_compact_lens old_common = torc_compact_common(block);
    const uint8_t *entries = block + torc_compact_entries_at(head);
    const size_t n_words = head->entry_bytes / 64 + 1;
    memset(out_moves->shorter, 0, n_words * sizeof out_moves->shorter[0]);
    memset(out_moves->longer, 0, n_words * sizeof out_moves->longer[0]);
    for (size_t at = 0; at < head->entry_bytes;) {
        struct torc_compact_entry stored;
        const size_t old_bytes = torc_compact_entry_get(entries + at, old_common, &stored);
        const size_t front_bytes = torc_compact_front_bytes(common, &stored);
        const size_t part_bytes = stored.field.bytes.len + stored.value.bytes.len;
        torc_compact_front_put(to, common, &stored);
        memcpy(to + front_bytes, stored.field.bytes.data, part_bytes);
        to += front_bytes + part_bytes;
        out_moves->shorter[at / 64] |= (uint64_t)(front_bytes + part_bytes < old_bytes) << at % 64;
        out_moves->longer[at / 64] |= (uint64_t)(front_bytes + part_bytes > old_bytes) << at % 64;
        at += old_bytes;
    }
    sum_up_moves(out_moves, n_words);
}

/* Entries that have these lengths. */
static size_t count_alike(const uint8_t *block, const struct torc_compact_head *head,
                          struct torc_compact_lens lens)
{
    const uint8_t *entry = block + torc_compact_entries_at(head);
    const uint8_t *end = entry + head->entry_bytes;
    size_t n_alike = 0;
    while (entry < end) {
        struct torc_compact_entry stored;
        entry += torc_compact_entry_get(entry, torc_compact_common(block), &stored);
        n_alike += torc_compact_is_common(lens, torc_compact_lead(&stored.field),
                                          torc_compact_lead(&stored.value));
    }
    return n_alike;
}

size_t torc_compact_pack(const uint8_t *block, uint8_t *target, size_t capacity)
{
    const struct torc_compact_head from = torc_compact_head_load(block);
    const struct torc_compact_lens old_common = torc_compact_common(block);
    const size_t n_before = from.common_bytes != 0 ? count_alike(block, &from, old_common) : 0;
    struct torc_compact_lens common = frequent_lens(block, &from);
    const size_t n_alike = count_alike(block, &from, common);
    struct torc_compact_head to = from;
    to.common_bytes = torc_compact_common_pays(n_alike, from.count) ? TORC_COMPACT_COMMON_BYTES : 0;
    common = to.common_bytes != 0 ? common : torc_compact_no_common;
    to.entry_bytes += (uint32_t)(n_before - (to.common_bytes != 0 ? n_alike : 0));
    to.spare = 0;
    const size_t packed =
        torc_compact_least_capacity(to.common_bytes, torc_compact_head_content_bytes(&to));
    const size_t used = torc_compact_used(block);
    if (packed > used || torc_compact_is_common(common, old_common.field, old_common.value)) {
        capacity = torc_max_u64(capacity, used);
        int rc = torc_compact_copy(block, target, capacity);
        assert(rc == 0);
        (void)rc;
        return capacity;
    }
    to.capacity = (uint32_t)torc_max_u64(capacity, packed);
    assert(to.capacity <= TORC_COMPACT_MAX_BYTES);

    struct moves moves;
    const struct torc_compact_times times = torc_compact_times_load(block, &from);
    torc_compact_head_store(target, &to);
    torc_compact_times_store(target, &to, &times);
    if (to.common_bytes != 0) {
        torc_compact_common_store(target, common);
    }
    memcpy(target + torc_compact_counts_at(&to), block + torc_compact_counts_at(&from),
           torc_compact_count_bytes(from.groups_log2) + from.count);
    rewrite_entries(block, &from, common, target + torc_compact_entries_at(&to), &moves);
    for (size_t i = 0; i < from.count; i++) {
        torc_store_u16(
            target + torc_compact_offset_at(&to, i),
            moved_offset(&moves, torc_load_u16(block + torc_compact_offset_at(&from, i))));
    }
    return to.capacity;
}

size_t torc_compact_loose(const uint8_t *block)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    const size_t slack = head.capacity - torc_compact_used(block);
    return slack + (head.common_bytes == 0 && torc_compact_common_pays(head.count, head.count)
                        ? head.count - TORC_COMPACT_COMMON_BYTES
                        : 0);
}
