/* SPDX-License-Identifier: Apache-2.0
 *
 * Checker of compact blocks. Trusts nothing: each step reads only what the steps before it have
 * shown to lie inside the block.
 */
#include "core/hashing.h"
#include "hash/compact.h"
#include "hash/compact_kernels.h"
#include "hash/compact_private.h"

static int bad(const char **out_why, const char *why)
{
    if (out_why != NULL) {
        *out_why = why;
    }
    return -EBADMSG;
}

/* Whether a length of one byte is one: a number of bytes or a code that is in use. */
static bool is_lead(uint8_t first)
{
    return first < TORC_COMPACT_CODE_LIMIT;
}

/* Read the length at *at (below `end`) and step over it. False: cut off, a code that is reserved,
 * or two bytes for what fits one. */
static bool read_len(const uint8_t *entries, size_t end, size_t *at, struct torc_part *out_part)
{
    uint8_t first = entries[*at];
    if (!is_lead(first) && first < TORC_COMPACT_LEN_2_FLAG) {
        return false;
    }
    if (first >= TORC_COMPACT_LEN_2_FLAG && end - *at < 2) {
        return false;
    }
    size_t size = torc_compact_len_get(entries + *at, out_part);
    *at += size;
    return size == torc_compact_len_bytes(out_part->bytes.len);
}

/* Read the lengths of the entry at *at (below `end`) and step over them. */
static bool read_lens(const uint8_t *entries, size_t end, struct torc_compact_lens common,
                      size_t *at, struct torc_compact_entry *out_entry)
{
    const uint8_t *entry = entries + *at;
    if (entry[0] == TORC_COMPACT_AS_COMMON) {
        ++*at;
        torc_compact_lead_get(common.field, &out_entry->field);
        torc_compact_lead_get(common.value, &out_entry->value);
        return is_lead(common.field); /* false: the block has none */
    }
    return read_len(entries, end, at, &out_entry->field) && *at != end &&
           read_len(entries, end, at, &out_entry->value) &&
           !torc_compact_is_common(common, entry[0], torc_compact_lead(&out_entry->value));
}

static bool is_time(uint64_t when)
{
    return when != TORC_EXPIRY_NONE && when <= TORC_EXPIRY_MAX;
}

/* Read the entry at *at (below `end`) and step over it. */
static bool read_entry(const uint8_t *entries, size_t end, struct torc_compact_lens common,
                       size_t *at, struct torc_compact_entry *out_entry)
{
    const size_t from = *at;
    if (entries[from] == TORC_COMPACT_TIMED) {
        if (end - from <= TORC_COMPACT_EXPIRY_BYTES ||
            !is_time(torc_expiry_load(entries + from + 1))) {
            return false;
        }
        *at += TORC_COMPACT_EXPIRY_BYTES;
    }
    if (!read_lens(entries, end, common, at, out_entry) ||
        out_entry->field.bytes.len + out_entry->value.bytes.len > end - *at) {
        return false;
    }
    *at = from + torc_compact_entry_get(entries + from, common, out_entry);
    return true;
}

/* Whether a part is kept as the block would keep its text: there is one way, or a lookup, which
 * knows one, would not find it. */
static bool is_kept_right(bool verbatim, const struct torc_part *part)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    if (part->form != TORC_FORM_RAW) {
        return !verbatim && torc_codec_is_canonical(part->form, part->bytes.data);
    }
    return torc_compact_encode(verbatim, part->bytes, room).form == TORC_FORM_RAW;
}

static const char *check_head(const uint8_t *block, size_t bytes,
                              struct torc_compact_head *out_head)
{
    if (bytes < TORC_COMPACT_MIN_BYTES) {
        return "compact: shorter than the least block";
    }
    struct torc_compact_head head = torc_compact_head_load(block);
    if ((block[0] & TORC_COMPACT_PLAIN) == 0) {
        return "compact: unknown form";
    }
    if (head.capacity < TORC_COMPACT_MIN_BYTES + head.common_bytes || head.capacity > bytes) {
        return "compact: capacity below the least or above the bytes there are";
    }
    /* No others may be written, or a long part would be taken for a short one. */
    const struct torc_compact_lens common = torc_compact_common(block);
    if (head.common_bytes != 0 && !(is_lead(common.field) && is_lead(common.value))) {
        return "compact: common lengths of more than one byte";
    }
    if (head.groups_log2 == 1 ||
        (head.groups_log2 != 0 && (head.count < TORC_COMPACT_MEAN_MIN << head.groups_log2 ||
                                   head.count > TORC_COMPACT_MEAN_MAX << head.groups_log2))) {
        return "compact: number of groups does not suit the count";
    }
    if (torc_compact_entries_at(&head) + head.entry_bytes + head.trailer_bytes > head.capacity) {
        return "compact: directory, entries and trailer pass the capacity";
    }
    size_t sum = 0;
    for (size_t i = 0; i < torc_compact_count_bytes(head.groups_log2); i++) {
        sum += block[torc_compact_counts_at(&head) + i];
    }
    if (head.groups_log2 != 0 && sum != head.count) {
        return "compact: group counts do not sum up to the count";
    }
    *out_head = head;
    return NULL;
}

/* Whether the entry at offset `at` of a field with this hash has its slot: in its group, under its
 * fingerprint. */
static bool has_slot(const uint8_t *block, const struct torc_compact_head *head, uint64_t hash,
                     size_t at)
{
    const uint8_t *prints = block + torc_compact_prints_at(head);
    size_t i = 0;
    size_t end = head->count;
    if (head->groups_log2 != 0) {
        const uint8_t *counts = block + torc_compact_counts_at(head);
        uint32_t group = torc_compact_group(head->groups_log2, hash);
        for (uint32_t before = 0; before < group; before++) {
            i += counts[before];
        }
        end = i + counts[group];
    }
    for (; i < end; i++) {
        if (prints[i] == torc_hash_fingerprint(hash) &&
            torc_load_u16(block + torc_compact_offset_at(head, i)) == at) {
            return true;
        }
    }
    return false;
}

/* Whether the trailer says what the entries, with `times`, say. */
static bool is_trailer_right(const uint8_t *block, const struct torc_compact_head *head,
                             const struct torc_compact_times *times)
{
    const struct torc_compact_times stored = torc_compact_times_load(block, head);
    return (times->n != 0) == (head->trailer_bytes != 0) && stored.n == times->n &&
           stored.bound != TORC_EXPIRY_NONE && stored.bound <= times->bound;
}

int torc_compact_check_hashed(const uint8_t *block, size_t bytes, torc_compact_hasher *hasher,
                              uint64_t seed, const char **out_why)
{
    struct torc_compact_head head;
    const char *why = check_head(block, bytes, &head);
    if (why != NULL) {
        return bad(out_why, why);
    }

    /* As many slots as entries, and a slot for each entry: so every slot is the slot of one entry,
     * and its offset is good. */
    const uint8_t *entries = block + torc_compact_entries_at(&head);
    const struct torc_compact_lens common = torc_compact_common(block);
    struct torc_compact_times times = {.bound = TORC_EXPIRY_NEVER, .n = 0};
    struct torc_compact_entry entry;
    uint8_t room[TORC_CODEC_TEXT_MAX];
    size_t n = 0;
    for (size_t at = 0; at < head.entry_bytes; n++) {
        const size_t entry_at = at;
        if (n == head.count || !read_entry(entries, head.entry_bytes, common, &at, &entry)) {
            return bad(out_why, "compact: broken entry, or more of them than the count");
        }
        if (!is_kept_right(head.verbatim, &entry.field) ||
            !is_kept_right(head.verbatim, &entry.value)) {
            return bad(out_why, "compact: a part is not kept in its one form");
        }
        torc_compact_times_change(&times, TORC_EXPIRY_NONE, entry.when);
        const struct torc_slice field = torc_part_text(&entry.field, room);
        if (!has_slot(block, &head, hasher(seed, field.data, field.len), entry_at)) {
            return bad(out_why, "compact: an entry is not in its group of the directory");
        }
    }
    if (n != head.count) {
        return bad(out_why, "compact: fewer entries than the count");
    }
    if (!is_trailer_right(block, &head, &times)) {
        return bad(out_why, "compact: the trailer is not that of the times, or later than one");
    }

    /* A field that is there twice shows when the later one is looked up and the other is found. */
    for (size_t at = 0; at < head.entry_bytes;) {
        const size_t entry_at = at;
        struct torc_part value;
        (void)read_entry(entries, head.entry_bytes, common, &at, &entry);
        const struct torc_slice field = torc_part_text(&entry.field, room);
        size_t place =
            torc_compact_ops()->locate(block, hasher(seed, field.data, field.len),
                                       entry.field.bytes, torc_compact_lead(&entry.field), &value);
        if (place == TORC_COMPACT_ABSENT ||
            torc_load_u16(block + torc_compact_offset_at(&head, place)) != entry_at) {
            return bad(out_why, "compact: a field is there twice");
        }
    }
    return 0;
}

int torc_compact_check(const uint8_t *block, size_t bytes, uint64_t seed, const char **out_why)
{
    return torc_compact_check_hashed(block, bytes, torc_hash_bytes, seed, out_why);
}
