/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a compact block, and walking it. Layout: compact_private.h. Lookup: compact_kernels.c.
 * Checker: compact_check.c.
 *
 * Offsets and entries (the "tail") always move together: offsets count from the start of the
 * entries, so none of them changes when the directory takes room from the slack or gives it back.
 */
#include "hash/compact.h"

#include "core/hashing.h"
#include "hash/compact_kernels.h"
#include "hash/compact_private.h"

/* --- sizes --- */

/* Bytes of a block with or without common lengths, without spare and slack. */
static size_t content_bytes(uint32_t common_bytes, uint32_t groups_log2, size_t count,
                            size_t entry_bytes)
{
    return TORC_COMPACT_HEAD_BYTES + common_bytes + torc_compact_count_bytes(groups_log2) +
           TORC_COMPACT_SLOT_BYTES * count + entry_bytes;
}

/* The same of a block that has this header. */
static size_t head_content_bytes(const struct torc_compact_head *head)
{
    return content_bytes(head->common_bytes, head->groups_log2, head->count, head->entry_bytes);
}

/* The least capacity for so much content. */
static size_t least_capacity(uint32_t common_bytes, size_t content)
{
    return torc_max_u64(content, TORC_COMPACT_MIN_BYTES + common_bytes);
}

/* Groups of a block of `count` fields that had none to begin with. */
static uint32_t fresh_groups_log2(size_t count)
{
    if (count <= TORC_COMPACT_ONE_GROUP) {
        return 0;
    }
    return torc_log2_ceil((count + TORC_COMPACT_MEAN_MAX - 1) / TORC_COMPACT_MEAN_MAX);
}

/* Groups after the block grew to `count` fields. A single group above the limit was folded because
 * its hashes do not spread (see append()), and stays as it is. */
static uint32_t grown_groups_log2(const struct torc_compact_head *head, size_t count)
{
    uint32_t now = head->groups_log2;
    bool folded = now == 0 && head->count > TORC_COMPACT_ONE_GROUP;
    if (folded || (now != 0 && count <= (size_t)TORC_COMPACT_MEAN_MAX << now)) {
        return now;
    }
    return fresh_groups_log2(count);
}

/* Spare slots that divide `room` free bytes between directory and entries as the content divides
 * itself, so that both run out at about the same time. */
static uint32_t fair_spare(size_t room, size_t count, size_t entry_bytes)
{
    if (count == 0) {
        return 0;
    }
    size_t slots = room * count / (TORC_COMPACT_SLOT_BYTES * count + entry_bytes);
    return (uint32_t)torc_min_u64(slots, TORC_COMPACT_SPARE_MAX - 1);
}

size_t torc_compact_entry_bytes(struct torc_slice field, struct torc_slice value, bool verbatim)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    return torc_compact_stored_bytes(torc_compact_encode(verbatim, field, room).bytes.len,
                                     torc_compact_encode(verbatim, value, room).bytes.len);
}

/* Whether common lengths are worth their two bytes for `n_alike` of `n` entries: each of these has
 * one byte less, but the others cost a reader a mispredicted branch. */
static bool are_worth_it(size_t n_alike, size_t n)
{
    return n_alike > (size_t)2 * TORC_COMPACT_COMMON_BYTES && n_alike >= n / 4;
}

void torc_compact_plan_add(struct torc_compact_plan *plan, struct torc_slice field,
                           struct torc_slice value)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    const struct torc_part stored_field = torc_compact_encode(plan->verbatim, field, room);
    const struct torc_part stored_value = torc_compact_encode(plan->verbatim, value, room);
    const struct torc_compact_lens lens = {torc_compact_lead(&stored_field),
                                           torc_compact_lead(&stored_value)};
    if (plan->n_pairs == 0) {
        plan->lens = lens;
    }
    plan->n_pairs++;
    plan->n_alike += torc_compact_is_common(plan->lens, lens.field, lens.value);
    plan->entry_bytes += torc_compact_stored_bytes(stored_field.bytes.len, stored_value.bytes.len);
}

/* Whether the block of a plan gets common lengths. */
static bool plans_common(const struct torc_compact_plan *plan)
{
    return (plan->lens.field | plan->lens.value) < TORC_COMPACT_LEN_2_FLAG &&
           are_worth_it(plan->n_alike, plan->n_pairs);
}

size_t torc_compact_plan_need(const struct torc_compact_plan *plan)
{
    if (plan->n_pairs > TORC_COMPACT_MAX_FIELDS ||
        plan->entry_bytes > TORC_COMPACT_MAX_BYTES + plan->n_alike) {
        return (size_t)TORC_COMPACT_MAX_BYTES + 1;
    }
    const uint32_t common_bytes = plans_common(plan) ? TORC_COMPACT_COMMON_BYTES : 0;
    const size_t saved = common_bytes != 0 ? plan->n_alike : 0;
    return least_capacity(common_bytes,
                          content_bytes(common_bytes, fresh_groups_log2(plan->n_pairs),
                                        plan->n_pairs, plan->entry_bytes - saved));
}

size_t torc_compact_empty_bytes(void)
{
    return TORC_COMPACT_MIN_BYTES;
}

size_t torc_compact_need(const uint8_t *block, size_t n_new, size_t entry_bytes)
{
    struct torc_compact_head head = {0};
    if (block != NULL) {
        head = torc_compact_head_load(block);
    }
    size_t count = head.count + n_new;
    if (count > TORC_COMPACT_MAX_FIELDS || entry_bytes > TORC_COMPACT_MAX_BYTES) {
        return (size_t)TORC_COMPACT_MAX_BYTES + 1;
    }
    return least_capacity(head.common_bytes,
                          content_bytes(head.common_bytes, grown_groups_log2(&head, count), count,
                                        head.entry_bytes + entry_bytes));
}

size_t torc_compact_grow(size_t before, size_t need)
{
    const size_t step_max = 64;
    if (need > TORC_COMPACT_MAX_BYTES) {
        return need;
    }
    size_t step = need > before ? torc_min_u64(need - before, step_max) : 0;
    return torc_min_u64(need + torc_max_u64(need / 12, step), TORC_COMPACT_MAX_BYTES);
}

size_t torc_compact_capacity(const uint8_t *block)
{
    return torc_compact_head_load(block).capacity;
}

size_t torc_compact_used(const uint8_t *block)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    return least_capacity(head.common_bytes, head_content_bytes(&head));
}

size_t torc_compact_count(const uint8_t *block)
{
    return torc_compact_head_load(block).count;
}

/* --- reading --- */

/* The place of a field in directory order, and its value as stored. */
static inline size_t locate(const uint8_t *block, uint64_t hash, const struct torc_part *field,
                            struct torc_part *out_value)
{
    return torc_compact_ops()->locate(block, hash, field->bytes, torc_compact_lead(field),
                                      out_value);
}

bool torc_compact_find(const uint8_t *block, uint64_t hash, struct torc_slice field,
                       struct torc_value *out_value)
{
    return torc_compact_ops()->find(block, hash, field, out_value);
}

size_t torc_compact_find_many(const uint8_t *block, size_t n, const uint64_t *hashes,
                              const struct torc_slice *fields, struct torc_value *out_values)
{
    return torc_compact_ops()->find_many(block, n, hashes, fields, out_values);
}

uint64_t torc_compact_entry_bounds(const uint8_t *block)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    uint64_t first = torc_compact_entries_at(&head);
    return (first + head.entry_bytes) << 32 | first;
}

size_t torc_compact_entry_read(const uint8_t *block, const uint8_t *entry,
                               struct torc_pair_room *room, struct torc_pair *out_pair)
{
    struct torc_compact_entry stored;
    const size_t bytes = torc_compact_entry_get(entry, torc_compact_common(block), &stored);
    out_pair->field = torc_part_text(&stored.field, room->field);
    out_pair->value = torc_part_text(&stored.value, room->value);
    return bytes;
}

void torc_compact_at(const uint8_t *block, size_t i, struct torc_pair_room *room,
                     struct torc_pair *out_pair)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    assert(i < head.count);
    size_t offset = torc_load_u16(block + torc_compact_offset_at(&head, i));
    (void)torc_compact_entry_read(block, block + torc_compact_entries_at(&head) + offset, room,
                                  out_pair);
}

/* --- moving parts --- */

static void write_bytes(uint8_t *target, struct torc_slice bytes)
{
    if (bytes.len != 0) {
        memcpy(target, bytes.data, bytes.len);
    }
}

/* Give the directory other numbers of group counts and spare slots: move the tail, and the
 * fingerprints when the number of groups changes. The group counts are the caller's. `*head` is
 * changed, the stored header is not. */
static void relayout(uint8_t *block, struct torc_compact_head *head, uint32_t groups_log2,
                     uint32_t spare)
{
    const size_t offsets_bytes = 2 * (size_t)head->count;
    const size_t tail_bytes = offsets_bytes + head->entry_bytes;
    const size_t prints_from = torc_compact_prints_at(head);
    const size_t tail_from = torc_compact_entries_at(head) - offsets_bytes;
    head->groups_log2 = groups_log2;
    head->spare = spare;
    const size_t prints_to = torc_compact_prints_at(head);
    const size_t tail_to = torc_compact_entries_at(head) - offsets_bytes;
    assert(tail_to + tail_bytes <= head->capacity);

    /* The part that moves away from the other goes first. */
    if (tail_to > tail_from) {
        memmove(block + tail_to, block + tail_from, tail_bytes);
    }
    if (prints_to != prints_from) {
        memmove(block + prints_to, block + prints_from, head->count);
    }
    if (tail_to < tail_from) {
        memmove(block + tail_to, block + tail_from, tail_bytes);
    }
}

/* Deal the fields of the group at places [start, start + n) to 2^levels groups, in their order.
 * n <= TORC_COMPACT_GROUP_MAX. Writes the new groups' counts. */
static void split_group(uint8_t *block, const struct torc_compact_head *head, size_t start,
                        size_t n, unsigned levels, uint8_t *out_counts, torc_compact_hasher *hasher,
                        uint64_t seed)
{
    uint8_t *prints = block + torc_compact_prints_at(head) + start;
    uint8_t old_prints[TORC_COMPACT_GROUP_MAX];
    uint16_t old_offsets[TORC_COMPACT_GROUP_MAX];
    uint8_t parts[TORC_COMPACT_GROUP_MAX];
    const uint32_t n_parts = 1u << levels;
    size_t next[1u << 2] = {0};
    assert(n <= TORC_COMPACT_GROUP_MAX && n_parts <= sizeof next / sizeof next[0]);

    memset(out_counts, 0, n_parts);
    for (size_t i = 0; i < n; i++) {
        struct torc_compact_entry entry;
        uint8_t room[TORC_CODEC_TEXT_MAX];
        old_prints[i] = prints[i];
        old_offsets[i] = torc_load_u16(block + torc_compact_offset_at(head, start + i));
        (void)torc_compact_entry_get(block + torc_compact_entries_at(head) + old_offsets[i],
                                     torc_compact_common(block), &entry);
        const struct torc_slice field = torc_part_text(&entry.field, room);
        uint64_t hash = hasher(seed, field.data, field.len);
        parts[i] = (uint8_t)(torc_compact_group(head->groups_log2, hash) & (n_parts - 1));
        out_counts[parts[i]]++;
    }
    for (uint32_t part = 1; part < n_parts; part++) {
        next[part] = next[part - 1] + out_counts[part - 1];
    }
    for (size_t i = 0; i < n; i++) {
        size_t place = next[parts[i]]++;
        prints[place] = old_prints[i];
        torc_store_u16(block + torc_compact_offset_at(head, start + place), old_offsets[i]);
    }
}

/* Deal the fields of 2^old_log2 groups out to the more groups that the header says by now. Each old
 * group becomes adjacent new ones, so this goes group by group, from the last to the first: the
 * counts grow in place towards their end. */
static void split(uint8_t *block, const struct torc_compact_head *head, uint32_t old_log2,
                  torc_compact_hasher *hasher, uint64_t seed)
{
    const unsigned levels = head->groups_log2 - old_log2;
    uint8_t *counts = block + torc_compact_counts_at(head);
    size_t end = head->count;
    for (size_t group = (size_t)1 << old_log2; group-- > 0;) {
        const size_t n = old_log2 == 0 ? head->count : counts[group];
        end -= n;
        split_group(block, head, end, n, levels, counts + (group << levels), hasher, seed);
    }
    assert(end == 0);
}

/* Go to half as many groups (one instead of two): neighbours merge without moving, as groups are in
 * the order of their hash bits. */
static void merge(uint8_t *block, struct torc_compact_head *head)
{
    uint8_t *counts = block + torc_compact_counts_at(head);
    const size_t n_pairs = (size_t)1 << (head->groups_log2 - 1);
    uint32_t groups_log2 = head->groups_log2 > 2 ? head->groups_log2 - 1 : 0;

    for (size_t i = 0; i < n_pairs; i++) {
        if (counts[2 * i] + counts[2 * i + 1] > (int)TORC_COMPACT_GROUP_MAX) {
            groups_log2 = 0;
        }
    }
    for (size_t i = 0; i < n_pairs && groups_log2 != 0; i++) {
        counts[i] = (uint8_t)(counts[2 * i] + counts[2 * i + 1]);
    }
    size_t room = head->capacity -
                  content_bytes(head->common_bytes, groups_log2, head->count, head->entry_bytes);
    relayout(block, head, groups_log2, fair_spare(room, head->count, head->entry_bytes));
}

/* Bytes behind the entries. */
static size_t slack_bytes(const struct torc_compact_head *head)
{
    return head->capacity - torc_compact_entries_at(head) - head->entry_bytes;
}

/* Move everything from the entry byte `at` on by `delta` bytes and set its offsets right. */
static void shift_entries(uint8_t *block, struct torc_compact_head *head, size_t at,
                          ptrdiff_t delta)
{
    const size_t entries_at = torc_compact_entries_at(head);
    uint8_t *from = block + entries_at + at;
    if (at == head->entry_bytes) {
        head->entry_bytes = (uint32_t)((ptrdiff_t)at + delta);
        return;
    }
    memmove(from + delta, from, head->entry_bytes - at);
    head->entry_bytes = (uint32_t)((ptrdiff_t)head->entry_bytes + delta);
    torc_compact_ops()->shift(block + entries_at - 2 * (size_t)head->count, head->count,
                              (uint16_t)(at - 1), (uint16_t)delta);
}

/* --- put --- */

/* Give the field at `place` a value of another form or length. */
static int resize_value(uint8_t *block, size_t place, const struct torc_part *value)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    const struct torc_compact_lens common = torc_compact_common(block);
    const size_t at = torc_load_u16(block + torc_compact_offset_at(&head, place));
    uint8_t *entry = block + torc_compact_entries_at(&head) + at;
    struct torc_compact_entry old;
    const size_t old_bytes = torc_compact_entry_get(entry, common, &old);
    const struct torc_compact_entry new = {.field = old.field, .value = *value};
    const size_t field_bytes = old.field.bytes.len;
    const size_t old_field_at = (size_t)(old.field.bytes.data - entry);
    const size_t new_field_at = torc_compact_lens_bytes(common, &new);
    const size_t new_bytes = new_field_at + field_bytes + value->bytes.len;

    /* What is behind moves away before the entry grows, and follows after it shrank. */
    if (new_bytes > old_bytes) {
        const size_t entry_bytes = head.entry_bytes + (new_bytes - old_bytes);
        const size_t bytes =
            content_bytes(head.common_bytes, head.groups_log2, head.count, entry_bytes);
        if (bytes > TORC_COMPACT_MAX_BYTES) {
            return -EMSGSIZE;
        }
        if (bytes > head.capacity) {
            return -ENOSPC;
        }
        if (new_bytes - old_bytes > slack_bytes(&head)) {
            relayout(block, &head, head.groups_log2,
                     fair_spare(head.capacity - bytes, head.count, entry_bytes));
            entry = block + torc_compact_entries_at(&head) + at;
        }
        shift_entries(block, &head, at + old_bytes, (ptrdiff_t)(new_bytes - old_bytes));
    }
    if (new_field_at != old_field_at) {
        memmove(entry + new_field_at, entry + old_field_at, field_bytes);
    }
    torc_compact_lens_put(entry, common, &new);
    write_bytes(entry + new_field_at + field_bytes, value->bytes);
    if (new_bytes < old_bytes) {
        shift_entries(block, &head, at + old_bytes, (ptrdiff_t)new_bytes - (ptrdiff_t)old_bytes);
    }
    torc_compact_head_store(block, &head);
    return 0;
}

/* Make room in the directory for one field more: returns its place, at the end of its group. */
static size_t open_slot(uint8_t *block, struct torc_compact_head *head, uint64_t hash)
{
    size_t place = head->count;
    if (head->groups_log2 != 0) {
        uint8_t *counts = block + torc_compact_counts_at(head);
        uint32_t group = torc_compact_group(head->groups_log2, hash);
        place = torc_compact_ops()->count_before(counts, group) + counts[group];
        counts[group]++;
    }
    uint8_t *prints = block + torc_compact_prints_at(head);
    uint8_t *offsets = block + torc_compact_entries_at(head) - 2 * (size_t)head->count;
    const size_t behind = head->count - place;
    if (behind != 0) {
        memmove(prints + place + 1, prints + place, behind);
        memmove(offsets - 2, offsets, 2 * behind);
    }
    head->count++;
    head->spare--;
    return place;
}

/* Append a field that is not there. */
static int append(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed, uint64_t hash,
                  const struct torc_part *field, const struct torc_part *value)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    const size_t count = (size_t)head.count + 1;
    const struct torc_compact_lens common = torc_compact_common(block);
    const struct torc_compact_entry entry = {.field = *field, .value = *value};
    const size_t lens_bytes = torc_compact_lens_bytes(common, &entry);
    const size_t own_bytes = lens_bytes + field->bytes.len + value->bytes.len;
    const size_t entry_bytes = head.entry_bytes + own_bytes;
    const uint32_t groups_log2 = grown_groups_log2(&head, count);
    const size_t bytes = content_bytes(head.common_bytes, groups_log2, count, entry_bytes);
    if (bytes > TORC_COMPACT_MAX_BYTES) {
        return -EMSGSIZE;
    }
    if (bytes > head.capacity) {
        return -ENOSPC;
    }

    if (groups_log2 != head.groups_log2 || head.spare == 0 || slack_bytes(&head) < own_bytes) {
        const uint32_t spare = 1 + fair_spare(head.capacity - bytes, count, entry_bytes);
        const uint32_t old_groups_log2 = head.groups_log2;
        relayout(block, &head, groups_log2, spare);
        if (groups_log2 != old_groups_log2) {
            split(block, &head, old_groups_log2, hasher, seed);
        }
    }
    if (groups_log2 != 0 &&
        block[torc_compact_counts_at(&head) + torc_compact_group(groups_log2, hash)] ==
            TORC_COMPACT_GROUP_MAX) {
        /* Hashes that do not spread at all: 255 fields in one of many groups. Go to one group
         * without counts: finding stays right, and becomes a scan. */
        relayout(block, &head, 0, head.spare);
    }

    const size_t place = open_slot(block, &head, hash);
    block[torc_compact_prints_at(&head) + place] = torc_hash_fingerprint(hash);
    torc_store_u16(block + torc_compact_offset_at(&head, place), (uint16_t)head.entry_bytes);
    uint8_t *p = block + torc_compact_entries_at(&head) + head.entry_bytes;
    torc_compact_lens_put(p, common, &entry);
    p += lens_bytes;
    write_bytes(p, field->bytes);
    write_bytes(p + field->bytes.len, value->bytes);
    head.entry_bytes = (uint32_t)entry_bytes;
    torc_compact_head_store(block, &head);
    return 1;
}

/* Put what is not kept like the value before it: `place` is that of the field. */
static int change(uint8_t *block, size_t place, torc_compact_hasher *hasher, uint64_t seed,
                  uint64_t hash, const struct torc_part *field, const struct torc_part *value)
{
    if (field->bytes.len > TORC_COMPACT_MAX_PART || value->bytes.len > TORC_COMPACT_MAX_PART) {
        return -EMSGSIZE;
    }
    return place != TORC_COMPACT_ABSENT ? resize_value(block, place, value)
                                        : append(block, hasher, seed, hash, field, value);
}

/* The same of raw text. Apart, so that the common way to here makes no parts in memory. */
static __attribute__((noinline)) int change_raw(uint8_t *block, size_t place,
                                                torc_compact_hasher *hasher, uint64_t seed,
                                                uint64_t hash, struct torc_slice field,
                                                struct torc_slice value)
{
    const struct torc_part raw_field = torc_part_raw(field);
    const struct torc_part raw_value = torc_part_raw(value);
    return change(block, place, hasher, seed, hash, &raw_field, &raw_value);
}

/* Put what may be encoded. */
static __attribute__((noinline)) int put_candidate(uint8_t *block, torc_compact_hasher *hasher,
                                                   uint64_t seed, uint64_t hash,
                                                   struct torc_slice field, struct torc_slice value)
{
    uint8_t field_room[TORC_CODEC_ENCODED_MAX];
    uint8_t value_room[TORC_CODEC_ENCODED_MAX];
    const bool verbatim = torc_compact_is_verbatim(block);
    const struct torc_part new_field = torc_compact_encode(verbatim, field, field_room);
    const struct torc_part new_value = torc_compact_encode(verbatim, value, value_room);
    struct torc_part old;
    size_t place = locate(block, hash, &new_field, &old);
    if (place != TORC_COMPACT_ABSENT && torc_part_is_like(&old, &new_value)) {
        write_bytes(block + (old.bytes.data - block), new_value.bytes);
        return 0;
    }
    return change(block, place, hasher, seed, hash, &new_field, &new_value);
}

/* Both forms of put, below; inlined, so that the common one passes no hasher on. */
static inline __attribute__((always_inline)) int put(uint8_t *block, torc_compact_hasher *hasher,
                                                     uint64_t seed, uint64_t hash,
                                                     struct torc_slice field,
                                                     struct torc_slice value)
{
    if (TORC_UNLIKELY(torc_codec_is_candidate(field) || torc_codec_is_candidate(value))) {
        return put_candidate(block, hasher, seed, hash, field, value);
    }
    const struct torc_part raw_field = torc_part_raw(field);
    struct torc_part old;
    size_t place = locate(block, hash, &raw_field, &old);
    if (place != TORC_COMPACT_ABSENT && old.form == TORC_FORM_RAW && old.bytes.len == value.len) {
        write_bytes(block + (old.bytes.data - block), value);
        return 0;
    }
    return change_raw(block, place, hasher, seed, hash, field, value);
}

int torc_compact_put_hashed(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed,
                            uint64_t hash, struct torc_slice field, struct torc_slice value)
{
    return put(block, hasher, seed, hash, field, value);
}

int torc_compact_put(uint8_t *block, uint64_t seed, uint64_t hash, struct torc_slice field,
                     struct torc_slice value)
{
    return put(block, torc_hash_bytes, seed, hash, field, value);
}

/* --- del --- */

/* Take the field at `place` out of the directory. */
static void close_slot(uint8_t *block, struct torc_compact_head *head, size_t place, uint64_t hash)
{
    if (head->groups_log2 != 0) {
        block[torc_compact_counts_at(head) + torc_compact_group(head->groups_log2, hash)]--;
    }
    uint8_t *prints = block + torc_compact_prints_at(head);
    uint8_t *offsets = block + torc_compact_entries_at(head) - 2 * (size_t)head->count;
    const size_t behind = head->count - place - 1;
    if (behind != 0) {
        memmove(prints + place, prints + place + 1, behind);
        memmove(offsets + 2, offsets, 2 * behind);
    }
    head->count--;
    head->spare++;
}

int torc_compact_del(uint8_t *block, uint64_t hash, struct torc_slice field)
{
    uint8_t field_room[TORC_CODEC_ENCODED_MAX];
    const struct torc_part wanted =
        torc_compact_encode(torc_compact_is_verbatim(block), field, field_room);
    struct torc_part old_value;
    size_t place = locate(block, hash, &wanted, &old_value);
    if (place == TORC_COMPACT_ABSENT) {
        return 0;
    }
    struct torc_compact_head head = torc_compact_head_load(block);
    const size_t at = torc_load_u16(block + torc_compact_offset_at(&head, place));
    struct torc_compact_entry old;
    const size_t old_bytes = torc_compact_entry_get(block + torc_compact_entries_at(&head) + at,
                                                    torc_compact_common(block), &old);

    close_slot(block, &head, place, hash);
    shift_entries(block, &head, at + old_bytes, -(ptrdiff_t)old_bytes);
    if (head.groups_log2 != 0 && head.count < TORC_COMPACT_MEAN_MIN << head.groups_log2) {
        merge(block, &head);
    } else if (head.spare > TORC_COMPACT_SPARE_MAX) {
        size_t room = head.capacity - head_content_bytes(&head);
        relayout(block, &head, head.groups_log2, fair_spare(room, head.count, head.entry_bytes));
    }
    torc_compact_head_store(block, &head);
    return 1;
}

/* --- whole blocks --- */

void torc_compact_init(uint8_t *block, size_t capacity, bool verbatim)
{
    assert(capacity >= TORC_COMPACT_MIN_BYTES && capacity <= TORC_COMPACT_MAX_BYTES);
    struct torc_compact_head head = {.capacity = (uint32_t)capacity, .verbatim = verbatim};
    torc_compact_head_store(block, &head);
}

static void store_common(uint8_t *block, struct torc_compact_lens common)
{
    block[TORC_COMPACT_COMMON_AT] = common.field;
    block[TORC_COMPACT_COMMON_AT + 1] = common.value;
}

void torc_compact_init_planned(uint8_t *block, size_t capacity,
                               const struct torc_compact_plan *plan)
{
    torc_compact_init(block, capacity, plan->verbatim);
    if (plans_common(plan)) {
        assert(capacity >= TORC_COMPACT_MIN_BYTES + TORC_COMPACT_COMMON_BYTES);
        block[0] |= TORC_COMPACT_COMMON;
        store_common(block, plan->lens);
    }
}

int torc_compact_copy(const uint8_t *block, uint8_t *target, size_t capacity)
{
    const struct torc_compact_head from = torc_compact_head_load(block);
    const size_t bytes = head_content_bytes(&from);
    assert(capacity <= TORC_COMPACT_MAX_BYTES);
    if (capacity < least_capacity(from.common_bytes, bytes)) {
        return -ENOSPC;
    }
    struct torc_compact_head to = from;
    to.capacity = (uint32_t)capacity;
    to.spare = fair_spare(capacity - bytes, from.count, from.entry_bytes);

    const size_t offsets_bytes = 2 * (size_t)from.count;
    torc_compact_head_store(target, &to);
    memcpy(target + TORC_COMPACT_HEAD_BYTES, block + TORC_COMPACT_HEAD_BYTES,
           from.common_bytes + torc_compact_count_bytes(from.groups_log2) + from.count);
    memcpy(target + torc_compact_entries_at(&to) - offsets_bytes,
           block + torc_compact_entries_at(&from) - offsets_bytes,
           offsets_bytes + from.entry_bytes);
    return 0;
}

/* --- packing --- */

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
        const size_t lens_bytes = torc_compact_lens_bytes(common, &stored);
        const size_t part_bytes = stored.field.bytes.len + stored.value.bytes.len;
        torc_compact_lens_put(to, common, &stored);
        memcpy(to + lens_bytes, stored.field.bytes.data, part_bytes);
        to += lens_bytes + part_bytes;
        out_moves->shorter[at / 64] |= (uint64_t)(lens_bytes + part_bytes < old_bytes) << at % 64;
        out_moves->longer[at / 64] |= (uint64_t)(lens_bytes + part_bytes > old_bytes) << at % 64;
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
    to.common_bytes = are_worth_it(n_alike, from.count) ? TORC_COMPACT_COMMON_BYTES : 0;
    common = to.common_bytes != 0 ? common : torc_compact_no_common;
    to.entry_bytes += (uint32_t)(n_before - (to.common_bytes != 0 ? n_alike : 0));
    to.spare = 0;
    const size_t packed = least_capacity(to.common_bytes, head_content_bytes(&to));
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
    torc_compact_head_store(target, &to);
    if (to.common_bytes != 0) {
        store_common(target, common);
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
    return slack + (head.common_bytes == 0 && are_worth_it(head.count, head.count)
                        ? head.count - TORC_COMPACT_COMMON_BYTES
                        : 0);
}
