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

/* Bytes of a block without spare and slack. */
static size_t content_bytes(uint32_t groups_log2, size_t count, size_t entry_bytes)
{
    return TORC_COMPACT_HEAD_BYTES + torc_compact_count_bytes(groups_log2) +
           TORC_COMPACT_SLOT_BYTES * count + entry_bytes;
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
    size_t bytes =
        content_bytes(grown_groups_log2(&head, count), count, head.entry_bytes + entry_bytes);
    return torc_max_u64(bytes, TORC_COMPACT_MIN_BYTES);
}

size_t torc_compact_grow(size_t before, size_t need)
{
    const size_t step_max = 64;
    if (need > TORC_COMPACT_MAX_BYTES) {
        return need;
    }
    size_t slack = need / 64;
    if (before != 0) {
        size_t step = need > before ? torc_min_u64(need - before, step_max) : 0;
        slack = torc_max_u64(need / 8, step);
    }
    return torc_min_u64(need + slack, TORC_COMPACT_MAX_BYTES);
}

size_t torc_compact_capacity(const uint8_t *block)
{
    return torc_compact_head_load(block).capacity;
}

size_t torc_compact_used(const uint8_t *block)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    return torc_max_u64(content_bytes(head.groups_log2, head.count, head.entry_bytes),
                        TORC_COMPACT_MIN_BYTES);
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

size_t torc_compact_entry_read(const uint8_t *entry, struct torc_pair_room *room,
                               struct torc_pair *out_pair)
{
    struct torc_compact_entry stored;
    const size_t bytes = torc_compact_entry_get(entry, &stored);
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
    (void)torc_compact_entry_read(block + torc_compact_entries_at(&head) + offset, room, out_pair);
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
                                     &entry);
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
    uint8_t *counts = block + TORC_COMPACT_HEAD_BYTES;
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
    uint8_t *counts = block + TORC_COMPACT_HEAD_BYTES;
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
    size_t room = head->capacity - content_bytes(groups_log2, head->count, head->entry_bytes);
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
    const size_t at = torc_load_u16(block + torc_compact_offset_at(&head, place));
    uint8_t *entry = block + torc_compact_entries_at(&head) + at;
    struct torc_compact_entry old;
    const size_t old_bytes = torc_compact_entry_get(entry, &old);
    const size_t field_bytes = old.field.bytes.len;
    const size_t new_bytes = torc_compact_stored_bytes(field_bytes, value->bytes.len);
    const size_t value_len_at = torc_compact_len_bytes(field_bytes);
    const size_t old_field_at = value_len_at + torc_compact_len_bytes(old.value.bytes.len);
    const size_t new_field_at = value_len_at + torc_compact_len_bytes(value->bytes.len);

    /* What is behind moves away before the entry grows, and follows after it shrank. */
    if (new_bytes > old_bytes) {
        const size_t entry_bytes = head.entry_bytes + (new_bytes - old_bytes);
        const size_t bytes = content_bytes(head.groups_log2, head.count, entry_bytes);
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
    (void)torc_compact_len_put(entry + value_len_at, value);
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
        uint8_t *counts = block + TORC_COMPACT_HEAD_BYTES;
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
    const size_t own_bytes = torc_compact_stored_bytes(field->bytes.len, value->bytes.len);
    const size_t entry_bytes = head.entry_bytes + own_bytes;
    const uint32_t groups_log2 = grown_groups_log2(&head, count);
    const size_t bytes = content_bytes(groups_log2, count, entry_bytes);
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
        block[TORC_COMPACT_HEAD_BYTES + torc_compact_group(groups_log2, hash)] ==
            TORC_COMPACT_GROUP_MAX) {
        /* Hashes that do not spread at all: 255 fields in one of many groups. Go to one group
         * without counts: finding stays right, and becomes a scan. */
        relayout(block, &head, 0, head.spare);
    }

    const size_t place = open_slot(block, &head, hash);
    block[torc_compact_prints_at(&head) + place] = torc_hash_fingerprint(hash);
    torc_store_u16(block + torc_compact_offset_at(&head, place), (uint16_t)head.entry_bytes);
    uint8_t *p = block + torc_compact_entries_at(&head) + head.entry_bytes;
    p += torc_compact_len_put(p, field);
    p += torc_compact_len_put(p, value);
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
        block[TORC_COMPACT_HEAD_BYTES + torc_compact_group(head->groups_log2, hash)]--;
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
    const size_t old_bytes =
        torc_compact_entry_get(block + torc_compact_entries_at(&head) + at, &old);

    close_slot(block, &head, place, hash);
    shift_entries(block, &head, at + old_bytes, -(ptrdiff_t)old_bytes);
    if (head.groups_log2 != 0 && head.count < TORC_COMPACT_MEAN_MIN << head.groups_log2) {
        merge(block, &head);
    } else if (head.spare > TORC_COMPACT_SPARE_MAX) {
        size_t room = head.capacity - content_bytes(head.groups_log2, head.count, head.entry_bytes);
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

int torc_compact_copy(const uint8_t *block, uint8_t *target, size_t capacity)
{
    const struct torc_compact_head from = torc_compact_head_load(block);
    const size_t bytes = content_bytes(from.groups_log2, from.count, from.entry_bytes);
    assert(capacity <= TORC_COMPACT_MAX_BYTES);
    if (capacity < torc_max_u64(bytes, TORC_COMPACT_MIN_BYTES)) {
        return -ENOSPC;
    }
    struct torc_compact_head to = from;
    to.capacity = (uint32_t)capacity;
    to.spare = fair_spare(capacity - bytes, from.count, from.entry_bytes);

    const size_t offsets_bytes = 2 * (size_t)from.count;
    torc_compact_head_store(target, &to);
    memcpy(target + TORC_COMPACT_HEAD_BYTES, block + TORC_COMPACT_HEAD_BYTES,
           torc_compact_count_bytes(from.groups_log2) + from.count);
    memcpy(target + torc_compact_entries_at(&to) - offsets_bytes,
           block + torc_compact_entries_at(&from) - offsets_bytes,
           offsets_bytes + from.entry_bytes);
    return 0;
}
