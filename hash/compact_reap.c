/* SPDX-License-Identifier: Apache-2.0
 *
 * Removing the fields of a compact block that are past, however many, in one pass over the entries
 * and one over the directory.
 *
 * The entries move together first. The directory is in another order, so where an entry went must
 * be told by its old offset: there is a bit for each byte of the entries, set where the entry is
 * gone, and a sum of them for each 64. So an entry moved by the bits that are set before it, and
 * its own first bit tells whether it is gone. Both lie in the scratch memory.
 */
#include "hash/compact.h"

#include "hash/compact_private.h"

/* What is gone, in scratch memory of any alignment: 64 bits for 64 bytes of entries, then, from
 * SUMS_AT on, the number of bits before each of these, 2 bytes each. */
#define WORD_BYTES ((size_t)8)
#define SUM_BYTES  ((size_t)2)
#define WORDS_MAX  ((TORC_COMPACT_MAX_BYTES + 64u) / 64u)
#define SUMS_AT    (WORD_BYTES * WORDS_MAX)
static_assert(SUMS_AT + SUM_BYTES * WORDS_MAX <= TORC_COMPACT_MAX_BYTES, "it has room");

/* Set the bits [from, from + n). */
static void mark(uint8_t *gone, size_t from, size_t n)
{
    while (n != 0) {
        const size_t bit = from % 64;
        const size_t here = torc_min_u64(n, 64 - bit);
        uint8_t *word = gone + WORD_BYTES * (from / 64);
        const uint64_t ones = here < 64 ? ((uint64_t)1 << here) - 1 : UINT64_MAX;
        torc_store_u64(word, torc_load_u64(word) | ones << bit);
        from += here;
        n -= here;
    }
}

static void sum_up(uint8_t *gone, size_t n_words)
{
    size_t sum = 0;
    for (size_t i = 0; i < n_words; i++) {
        torc_store_u16(gone + SUMS_AT + SUM_BYTES * i, (uint16_t)sum);
        sum += (size_t)__builtin_popcountll(torc_load_u64(gone + WORD_BYTES * i));
    }
}

/* Whether the entry at this offset is gone; if not, *out_offset is where it is now. */
static bool is_gone(const uint8_t *gone, uint16_t offset, uint16_t *out_offset)
{
    const uint64_t word = torc_load_u64(gone + WORD_BYTES * (offset / 64));
    const unsigned bit = offset % 64;
    const unsigned before = torc_load_u16(gone + SUMS_AT + SUM_BYTES * (offset / 64)) +
                            (unsigned)__builtin_popcountll(word & ((1ull << bit) - 1));
    *out_offset = (uint16_t)(offset - before);
    return (word >> bit & 1) != 0;
}

/* Move the bytes [from, end) to the front, to `to`. Returns their number. */
static size_t move_run(uint8_t *entries, size_t to, size_t from, size_t end)
{
    if (to != from) {
        memmove(entries + to, entries + from, end - from);
    }
    return end - from;
}

/* Move the entries that are not past together, mark the others, and tell the times that are left.
 * Returns how many are past; *out_entry_bytes is what the rest takes. */
static size_t squeeze_entries(uint8_t *block, const struct torc_compact_head *head, uint8_t *gone,
                              uint64_t now, struct torc_compact_times *out_times,
                              uint32_t *out_entry_bytes)
{
    const struct torc_compact_lens common = torc_compact_common(block);
    uint8_t *entries = block + torc_compact_entries_at(head);
    size_t n_past = 0;
    size_t run = 0; /* from here to `at` the entries stay, and have not moved yet */
    size_t to = 0;  /* where they go */
    *out_times = (struct torc_compact_times){.bound = TORC_EXPIRY_NEVER, .n = 0};
    for (size_t at = 0; at < head->entry_bytes;) {
        struct torc_compact_entry entry;
        const size_t bytes = torc_compact_entry_get(entries + at, common, &entry);
        if (torc_expiry_is_past(entry.when, now)) {
            n_past++;
            mark(gone, at, bytes);
            to += move_run(entries, to, run, at);
            run = at + bytes;
        } else {
            torc_compact_times_change(out_times, TORC_EXPIRY_NONE, entry.when);
        }
        at += bytes;
    }
    to += move_run(entries, to, run, head->entry_bytes);
    *out_entry_bytes = (uint32_t)to;
    return n_past;
}

/* Take the fields at places [from, from + n) whose entries are gone out of the directory, whose
 * places before `*to` are done. Returns how many are left. */
static size_t squeeze_places(uint8_t *block, const struct torc_compact_head *head,
                             const uint8_t *gone, size_t from, size_t n, size_t *to)
{
    uint8_t *prints = block + torc_compact_prints_at(head);
    const size_t first = *to;
    for (size_t i = from; i < from + n; i++) {
        uint16_t offset;
        if (!is_gone(gone, torc_load_u16(block + torc_compact_offset_at(head, i)), &offset)) {
            prints[*to] = prints[i];
            torc_store_u16(block + torc_compact_offset_at(head, *to), offset);
            ++*to;
        }
    }
    return *to - first;
}

/* The same for the whole directory, group by group. */
static void squeeze_directory(uint8_t *block, const struct torc_compact_head *head,
                              const uint8_t *gone)
{
    size_t to = 0;
    if (head->groups_log2 == 0) {
        (void)squeeze_places(block, head, gone, 0, head->count, &to);
        return;
    }
    uint8_t *counts = block + torc_compact_counts_at(head);
    size_t from = 0;
    for (size_t i = 0; i < (size_t)1 << head->groups_log2; i++) {
        const size_t n = counts[i];
        counts[i] = (uint8_t)squeeze_places(block, head, gone, from, n, &to);
        from += n;
    }
}

size_t torc_compact_reap(uint8_t *block, uint8_t *scratch, uint64_t now)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    struct torc_compact_times times = torc_compact_times_load(block, &head);
    if (times.bound > now) {
        return 0;
    }
    const size_t n_words = head.entry_bytes / 64 + 1;
    uint32_t entry_bytes;
    memset(scratch, 0, WORD_BYTES * n_words);
    const size_t n_past = squeeze_entries(block, &head, scratch, now, &times, &entry_bytes);
    if (n_past != 0) {
        sum_up(scratch, n_words);
        squeeze_directory(block, &head, scratch);
        /* The places that are free are spare ones, so that the entries stay where they are. */
        head.count -= (uint32_t)n_past;
        head.spare += (uint32_t)n_past;
        head.entry_bytes = entry_bytes;
        head.trailer_bytes = torc_compact_trailer_bytes(&times);
        torc_compact_settle(block, &head);
        torc_compact_head_store(block, &head);
    }
    torc_compact_times_store(block, &head, &times);
    return n_past;
}
