/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a compact block, and walking it. Layout: compact_private.h. Lookup: compact_kernels.c.
 * Removing what is past: compact_reap.c. Packing: compact_pack.c. Checker: compact_check.c.
 *
 * Offsets and entries (the "tail") always move together: offsets count from the start of the
 * entries, so none of them changes when the directory takes room from the slack or gives it back.
 * What the trailer says is loaded before anything moves and stored at the end, so that a trailer
 * that goes or comes is only a change of the slack in between.
 */
#include "hash/compact.h"

#include "core/hashing.h"
#include "hash/compact_kernels.h"
#include "hash/compact_private.h"

/* --- sizes --- */

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

size_t torc_compact_entry_bytes(struct torc_slice field, struct torc_slice value, bool verbatim)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    return torc_compact_stored_bytes(torc_compact_encode(verbatim, field, room).bytes.len,
                                     torc_compact_encode(verbatim, value, room).bytes.len);
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
           torc_compact_common_pays(plan->n_alike, plan->n_pairs);
}

size_t torc_compact_plan_need(const struct torc_compact_plan *plan)
{
    if (plan->n_pairs > TORC_COMPACT_MAX_FIELDS ||
        plan->entry_bytes > TORC_COMPACT_MAX_BYTES + plan->n_alike) {
        return (size_t)TORC_COMPACT_MAX_BYTES + 1;
    }
    assert(plan->n_expiring <= plan->n_pairs);
    const uint32_t common_bytes = plans_common(plan) ? TORC_COMPACT_COMMON_BYTES : 0;
    const uint32_t trailer_bytes = plan->n_expiring != 0 ? TORC_COMPACT_TRAILER_BYTES : 0;
    const size_t saved = common_bytes != 0 ? plan->n_alike : 0;
    const size_t time_bytes = TORC_COMPACT_EXPIRY_BYTES * plan->n_expiring;
    return torc_compact_least_capacity(
        common_bytes,
        torc_compact_content_bytes(common_bytes + trailer_bytes, fresh_groups_log2(plan->n_pairs),
                                   plan->n_pairs, plan->entry_bytes - saved + time_bytes));
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
    return torc_compact_least_capacity(
        head.common_bytes,
        torc_compact_content_bytes(torc_compact_fixed_bytes(&head), grown_groups_log2(&head, count),
                                   count, head.entry_bytes + entry_bytes));
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
    return torc_compact_least_capacity(head.common_bytes, torc_compact_head_content_bytes(&head));
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

/* The same of a name that may be encoded. */
static size_t locate_text(const uint8_t *block, uint64_t hash, struct torc_slice field)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    const struct torc_part part = torc_compact_encode(torc_compact_is_verbatim(block), field, room);
    struct torc_part value;
    return locate(block, hash, &part, &value);
}

/* Where the entry of the field at `place` begins. */
static size_t entry_at(const uint8_t *block, size_t place)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    return torc_compact_entries_at(&head) +
           torc_load_u16(block + torc_compact_offset_at(&head, place));
}

bool torc_compact_find(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                       struct torc_value *out_value)
{
    return torc_compact_ops()->find(block, hash, field, now, out_value);
}

size_t torc_compact_find_many(const uint8_t *block, size_t n, const uint64_t *hashes,
                              const struct torc_slice *fields, uint64_t now,
                              struct torc_value *out_values)
{
    return torc_compact_ops()->find_many(block, n, hashes, fields, now, out_values);
}

size_t torc_compact_n_expiring(const uint8_t *block)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    return torc_compact_times_load(block, &head).n;
}

uint64_t torc_compact_due(const uint8_t *block)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    return torc_compact_times_load(block, &head).bound;
}

bool torc_compact_expiry(const uint8_t *block, uint64_t hash, struct torc_slice field,
                         uint64_t *out_when)
{
    const size_t place = locate_text(block, hash, field);
    if (place == TORC_COMPACT_ABSENT) {
        return false;
    }
    *out_when = torc_compact_entry_time(block + entry_at(block, place));
    return true;
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
    room->expiry = stored.when;
    return bytes;
}

void torc_compact_at(const uint8_t *block, size_t i, struct torc_pair_room *room,
                     struct torc_pair *out_pair)
{
    assert(i < torc_compact_count(block));
    (void)torc_compact_entry_read(block, block + entry_at(block, i), room, out_pair);
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
    assert(tail_to + tail_bytes + head->trailer_bytes <= head->capacity);

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
    size_t room =
        head->capacity - torc_compact_content_bytes(torc_compact_fixed_bytes(head), groups_log2,
                                                    head->count, head->entry_bytes);
    relayout(block, head, groups_log2,
             torc_compact_fair_spare(room, head->count, head->entry_bytes));
}

void torc_compact_settle(uint8_t *block, struct torc_compact_head *head)
{
    while (head->groups_log2 != 0 && head->count < TORC_COMPACT_MEAN_MIN << head->groups_log2) {
        merge(block, head);
    }
    if (head->spare > TORC_COMPACT_SPARE_MAX) {
        const size_t room = head->capacity - torc_compact_head_content_bytes(head);
        relayout(block, head, head->groups_log2,
                 torc_compact_fair_spare(room, head->count, head->entry_bytes));
    }
}

/* Bytes behind the entries that are free; negative where a trailer that is to come lacks so many.
 */
static ptrdiff_t slack_bytes(const struct torc_compact_head *head)
{
    return (ptrdiff_t)head->capacity - (ptrdiff_t)head->trailer_bytes -
           (ptrdiff_t)(torc_compact_entries_at(head) + head->entry_bytes);
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

/* Give the field at `place` another value, NULL: the one it has; and the time `when`, or none. */
static int rewrite(uint8_t *block, size_t place, const struct torc_part *value, uint64_t when)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    struct torc_compact_times times = torc_compact_times_load(block, &head);
    const struct torc_compact_lens common = torc_compact_common(block);
    const size_t at = torc_load_u16(block + torc_compact_offset_at(&head, place));
    uint8_t *entry = block + torc_compact_entries_at(&head) + at;
    struct torc_compact_entry old;
    const size_t old_bytes = torc_compact_entry_get(entry, common, &old);
    const struct torc_compact_entry new = {
        .when = when,
        .field = old.field,
        .value = value != NULL ? *value : old.value,
    };
    const size_t kept_bytes = old.field.bytes.len + (value != NULL ? 0 : old.value.bytes.len);
    const size_t old_kept_at = (size_t)(old.field.bytes.data - entry);
    const size_t new_kept_at = torc_compact_front_bytes(common, &new);
    const ptrdiff_t delta =
        (ptrdiff_t)(new_kept_at + new.field.bytes.len + new.value.bytes.len) - (ptrdiff_t)old_bytes;
    const size_t entry_bytes = (size_t)((ptrdiff_t)head.entry_bytes + delta);

    torc_compact_times_change(&times, old.when, when);
    head.trailer_bytes = torc_compact_trailer_bytes(&times);
    const size_t bytes = torc_compact_content_bytes(torc_compact_fixed_bytes(&head),
                                                    head.groups_log2, head.count, entry_bytes);
    if (bytes > TORC_COMPACT_MAX_BYTES) {
        return -EMSGSIZE;
    }
    if (bytes > head.capacity) {
        return -ENOSPC;
    }
    const uint32_t spare = torc_compact_fair_spare(head.capacity - bytes, head.count, entry_bytes);

    /* What is behind moves away before the entry grows, and follows after it shrank. */
    if (delta > 0) {
        if (slack_bytes(&head) < delta) {
            relayout(block, &head, head.groups_log2, spare);
            entry = block + torc_compact_entries_at(&head) + at;
        }
        shift_entries(block, &head, at + old_bytes, delta);
    }
    if (new_kept_at != old_kept_at) {
        memmove(entry + new_kept_at, entry + old_kept_at, kept_bytes);
    }
    torc_compact_front_put(entry, common, &new);
    if (value != NULL) {
        write_bytes(entry + new_kept_at + kept_bytes, value->bytes);
    }
    if (delta < 0) {
        shift_entries(block, &head, at + old_bytes, delta);
    }
    if (slack_bytes(&head) < 0) {
        relayout(block, &head, head.groups_log2, spare); /* for the first trailer */
    }
    torc_compact_head_store(block, &head);
    torc_compact_times_store(block, &head, &times);
    return 0;
}

/* Give the field at `place`, which has a time, another. */
static void retime(uint8_t *block, size_t place, uint64_t when)
{
    const struct torc_compact_head head = torc_compact_head_load(block);
    struct torc_compact_times times = torc_compact_times_load(block, &head);
    uint8_t *entry = block + entry_at(block, place);
    torc_compact_times_change(&times, torc_compact_entry_time(entry), when);
    torc_expiry_store(entry + 1, when);
    torc_compact_times_store(block, &head, &times);
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
                  const struct torc_part *field, const struct torc_part *value, uint64_t when)
{
    struct torc_compact_head head = torc_compact_head_load(block);
    struct torc_compact_times times = torc_compact_times_load(block, &head);
    const size_t count = (size_t)head.count + 1;
    const struct torc_compact_lens common = torc_compact_common(block);
    const struct torc_compact_entry entry = {.when = when, .field = *field, .value = *value};
    const size_t front_bytes = torc_compact_front_bytes(common, &entry);
    const size_t own_bytes = front_bytes + field->bytes.len + value->bytes.len;
    const size_t entry_bytes = head.entry_bytes + own_bytes;
    const uint32_t groups_log2 = grown_groups_log2(&head, count);
    torc_compact_times_change(&times, TORC_EXPIRY_NONE, when);
    head.trailer_bytes = torc_compact_trailer_bytes(&times);
    const size_t bytes = torc_compact_content_bytes(torc_compact_fixed_bytes(&head), groups_log2,
                                                    count, entry_bytes);
    if (bytes > TORC_COMPACT_MAX_BYTES) {
        return -EMSGSIZE;
    }
    if (bytes > head.capacity) {
        return -ENOSPC;
    }

    if (groups_log2 != head.groups_log2 || head.spare == 0 ||
        slack_bytes(&head) < (ptrdiff_t)own_bytes) {
        const uint32_t spare =
            1 + torc_compact_fair_spare(head.capacity - bytes, count, entry_bytes);
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
    torc_compact_front_put(p, common, &entry);
    p += front_bytes;
    write_bytes(p, field->bytes);
    write_bytes(p + field->bytes.len, value->bytes);
    head.entry_bytes = (uint32_t)entry_bytes;
    torc_compact_head_store(block, &head);
    torc_compact_times_store(block, &head, &times);
    return 1;
}

/* Put what is not kept like the value before it: `place` is that of the field. */
static int change(uint8_t *block, size_t place, torc_compact_hasher *hasher, uint64_t seed,
                  uint64_t hash, const struct torc_part *field, const struct torc_part *value,
                  uint64_t when)
{
    if (field->bytes.len > TORC_COMPACT_MAX_PART || value->bytes.len > TORC_COMPACT_MAX_PART) {
        return -EMSGSIZE;
    }
    return place != TORC_COMPACT_ABSENT ? rewrite(block, place, value, when)
                                        : append(block, hasher, seed, hash, field, value, when);
}

/* The same of raw text without a time. Apart, so that the common way to here makes no parts in
 * memory. */
static __attribute__((noinline)) int change_raw(uint8_t *block, size_t place,
                                                torc_compact_hasher *hasher, uint64_t seed,
                                                uint64_t hash, struct torc_slice field,
                                                struct torc_slice value)
{
    const struct torc_part raw_field = torc_part_raw(field);
    const struct torc_part raw_value = torc_part_raw(value);
    return change(block, place, hasher, seed, hash, &raw_field, &raw_value, TORC_EXPIRY_NONE);
}

/* Put anything into any block; `when` as in torc_compact_put_expiring(). */
static __attribute__((noinline)) int put_any(uint8_t *block, torc_compact_hasher *hasher,
                                             uint64_t seed, uint64_t hash, struct torc_slice field,
                                             struct torc_slice value, uint64_t when)
{
    assert(when <= TORC_EXPIRY_MAX || when == TORC_EXPIRY_KEEP);
    uint8_t field_room[TORC_CODEC_ENCODED_MAX];
    uint8_t value_room[TORC_CODEC_ENCODED_MAX];
    const bool verbatim = torc_compact_is_verbatim(block);
    const struct torc_part new_field = torc_compact_encode(verbatim, field, field_room);
    const struct torc_part new_value = torc_compact_encode(verbatim, value, value_room);
    struct torc_part old;
    size_t place = locate(block, hash, &new_field, &old);
    uint64_t old_when = TORC_EXPIRY_NONE;
    if (place != TORC_COMPACT_ABSENT && torc_compact_expires(block)) {
        old_when = torc_compact_entry_time(block + entry_at(block, place));
    }
    if (when == TORC_EXPIRY_KEEP) {
        when = old_when;
    }
    if (place != TORC_COMPACT_ABSENT && torc_part_is_like(&old, &new_value) &&
        (when != TORC_EXPIRY_NONE) == (old_when != TORC_EXPIRY_NONE)) {
        write_bytes(block + (old.bytes.data - block), new_value.bytes);
        if (when != old_when) {
            retime(block, place, when);
        }
        return 0;
    }
    return change(block, place, hasher, seed, hash, &new_field, &new_value, when);
}

/* Both forms of put, below; inlined, so that the common one passes no hasher on. */
static inline __attribute__((always_inline)) int put(uint8_t *block, torc_compact_hasher *hasher,
                                                     uint64_t seed, uint64_t hash,
                                                     struct torc_slice field,
                                                     struct torc_slice value)
{
    if (TORC_UNLIKELY(torc_codec_is_candidate(field) || torc_codec_is_candidate(value) ||
                      torc_compact_expires(block))) {
        return put_any(block, hasher, seed, hash, field, value, TORC_EXPIRY_NONE);
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

int torc_compact_put_expiring_hashed(uint8_t *block, torc_compact_hasher *hasher, uint64_t seed,
                                     uint64_t hash, struct torc_slice field,
                                     struct torc_slice value, uint64_t when)
{
    return put_any(block, hasher, seed, hash, field, value, when);
}

int torc_compact_put_expiring(uint8_t *block, uint64_t seed, uint64_t hash, struct torc_slice field,
                              struct torc_slice value, uint64_t when)
{
    return put_any(block, torc_hash_bytes, seed, hash, field, value, when);
}

int torc_compact_set_expiry(uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t when)
{
    assert(when <= TORC_EXPIRY_MAX);
    const size_t place = locate_text(block, hash, field);
    if (place == TORC_COMPACT_ABSENT) {
        return -ENOENT;
    }
    const uint64_t old_when = torc_compact_entry_time(block + entry_at(block, place));
    if (when == old_when) {
        return 0;
    }
    if (when != TORC_EXPIRY_NONE && old_when != TORC_EXPIRY_NONE) {
        retime(block, place, when);
        return 0;
    }
    return rewrite(block, place, NULL, when) == 0 ? 0 : -ENOSPC;
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
    const size_t place = locate_text(block, hash, field);
    if (place == TORC_COMPACT_ABSENT) {
        return 0;
    }
    struct torc_compact_head head = torc_compact_head_load(block);
    struct torc_compact_times times = torc_compact_times_load(block, &head);
    const size_t at = torc_load_u16(block + torc_compact_offset_at(&head, place));
    struct torc_compact_entry old;
    const size_t old_bytes = torc_compact_entry_get(block + torc_compact_entries_at(&head) + at,
                                                    torc_compact_common(block), &old);

    close_slot(block, &head, place, hash);
    shift_entries(block, &head, at + old_bytes, -(ptrdiff_t)old_bytes);
    torc_compact_times_change(&times, old.when, TORC_EXPIRY_NONE);
    head.trailer_bytes = torc_compact_trailer_bytes(&times);
    torc_compact_settle(block, &head);
    torc_compact_head_store(block, &head);
    torc_compact_times_store(block, &head, &times);
    return 1;
}

/* --- whole blocks --- */

void torc_compact_init(uint8_t *block, size_t capacity, bool verbatim)
{
    assert(capacity >= TORC_COMPACT_MIN_BYTES && capacity <= TORC_COMPACT_MAX_BYTES);
    struct torc_compact_head head = {.capacity = (uint32_t)capacity, .verbatim = verbatim};
    torc_compact_head_store(block, &head);
}

void torc_compact_init_planned(uint8_t *block, size_t capacity,
                               const struct torc_compact_plan *plan)
{
    torc_compact_init(block, capacity, plan->verbatim);
    if (plans_common(plan)) {
        assert(capacity >= TORC_COMPACT_MIN_BYTES + TORC_COMPACT_COMMON_BYTES);
        block[0] |= TORC_COMPACT_COMMON;
        torc_compact_common_store(block, plan->lens);
    }
}

int torc_compact_copy(const uint8_t *block, uint8_t *target, size_t capacity)
{
    const struct torc_compact_head from = torc_compact_head_load(block);
    const size_t bytes = torc_compact_head_content_bytes(&from);
    assert(capacity <= TORC_COMPACT_MAX_BYTES);
    if (capacity < torc_compact_least_capacity(from.common_bytes, bytes)) {
        return -ENOSPC;
    }
    struct torc_compact_head to = from;
    to.capacity = (uint32_t)capacity;
    to.spare = torc_compact_fair_spare(capacity - bytes, from.count, from.entry_bytes);

    const size_t offsets_bytes = 2 * (size_t)from.count;
    const struct torc_compact_times times = torc_compact_times_load(block, &from);
    torc_compact_head_store(target, &to);
    torc_compact_times_store(target, &to, &times);
    memcpy(target + TORC_COMPACT_HEAD_BYTES, block + TORC_COMPACT_HEAD_BYTES,
           from.common_bytes + torc_compact_count_bytes(from.groups_log2) + from.count);
    memcpy(target + torc_compact_entries_at(&to) - offsets_bytes,
           block + torc_compact_entries_at(&from) - offsets_bytes,
           offsets_bytes + from.entry_bytes);
    return 0;
}
