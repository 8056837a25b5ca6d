/* SPDX-License-Identifier: Apache-2.0
 *
 * What hashes do: reads and deletes through either representation. Writes: hash/hash_put.c.
 */
#include "hash/full.h"
#include "hash/keyspace_private.h"

/* A delete leaves slack; above one part of what is used, and this, most of it is cut off. */
#define SLACK_PART      4u
#define SLACK_MIN_BYTES 128u
#define SLACK_KEPT_PART 8u

/* Fields of a full hash looked up together, so that their misses overlap. */
#define LOOKUP_BATCH 16u
/* Fields of a compact hash looked up together, so that its groups are summed up once. */
#define COMPACT_BATCH 128u
/* A block is walked for so many fields or more, if it has no more than twice as many. */
#define JOIN_FROM_FIELDS     8u
#define JOIN_COUNT_PER_FIELD 2u
/* A compact block is fetched as a whole for so many fields, if there are not more lines than two
 * for each. */
#define PREFETCH_FROM_FIELDS   4u
#define PREFETCH_BYTES_A_FIELD 128u

static uint8_t *record_at(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return torc_arena_at(keyspace->arena, ref);
}

/* --- reads --- */

/* What a key holds. */
struct found {
    enum torc_record_type type; /* TORC_RECORD_FILLER: no such key */
    const uint8_t *payload;     /* compact block, or reference of the full root */
};

/* 0, or -EINVAL: the key holds no hash. */
static int find_hash(const struct torc_keyspace *keyspace, const struct torc_key *key,
                     struct found *out_found)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref == TORC_REF_NONE) {
        out_found->type = TORC_RECORD_FILLER;
        return 0;
    }
    uint8_t *record = record_at(keyspace, ref);
    out_found->type = torc_record_type(record);
    out_found->payload = torc_keyspace_payload(record, key->name.len);
    return out_found->type == TORC_RECORD_STRING ? -EINVAL : 0;
}

static TORC_COLD int get_compressed(const struct torc_keyspace *keyspace,
                                    struct torc_value *out_value)
{
    torc_press_forget(keyspace->press);
    torc_full_expand(keyspace->press, out_value);
    return 1;
}

int torc_hash_get(const struct torc_keyspace *keyspace, const struct torc_key *key,
                  struct torc_slice field, struct torc_value *out_value)
{
    /* The hottest path of all, so it does not go through find_hash(). */
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (TORC_UNLIKELY(ref == TORC_REF_NONE)) {
        return 0;
    }
    uint8_t *record = record_at(keyspace, ref);
    const uint8_t *payload = torc_keyspace_payload(record, key->name.len);
    enum torc_record_type type = torc_record_type(record);
    if (TORC_UNLIKELY(type == TORC_RECORD_STRING)) {
        return -EINVAL;
    }
    uint64_t hash = torc_hash_slice(keyspace->seed, field);
    if (TORC_LIKELY(type == TORC_RECORD_COMPACT)) {
        return torc_compact_find(payload, hash, field, keyspace->now, out_value);
    }
    if (!torc_full_find(keyspace->arena, torc_load_u40(payload), hash, field, keyspace->now,
                        out_value)) {
        return 0;
    }
    return TORC_LIKELY(out_value->text.data != NULL) ? 1 : get_compressed(keyspace, out_value);
}

int torc_hash_value_len(const struct torc_keyspace *keyspace, const struct torc_key *key,
                        struct torc_slice field, size_t *out_len)
{
    struct found found;
    struct torc_value value;
    int rc = find_hash(keyspace, key, &found);
    if (rc != 0 || found.type == TORC_RECORD_FILLER) {
        return rc;
    }
    uint64_t hash = torc_hash_slice(keyspace->seed, field);
    bool there = found.type == TORC_RECORD_COMPACT
                     ? torc_compact_find(found.payload, hash, field, keyspace->now, &value)
                     : torc_full_find(keyspace->arena, torc_load_u40(found.payload), hash, field,
                                      keyspace->now, &value);
    if (there) {
        *out_len = value.text.len;
    }
    return there;
}

/* Returns for how many of the fields there was room, see torc_hash_get_many(). */
static size_t get_many_full(const struct torc_keyspace *keyspace, uint64_t root,
                            const struct torc_slice *fields, size_t n_fields,
                            struct torc_value *out_values)
{
    struct torc_press *press = keyspace->press;
    const struct torc_table *table = &torc_full_at(keyspace->arena, root)->table;
    uint64_t hashes[LOOKUP_BATCH];
    torc_press_forget(press);
    for (size_t begin = 0; begin < n_fields; begin += LOOKUP_BATCH) {
        size_t n = torc_min_u64(n_fields - begin, LOOKUP_BATCH);
        for (size_t i = 0; i < n; ++i) {
            hashes[i] = torc_hash_slice(keyspace->seed, fields[begin + i]);
            torc_table_prefetch(keyspace->arena, table, hashes[i]);
        }
        for (size_t i = 0; i < n; ++i) {
            uint64_t ref = torc_table_candidate(keyspace->arena, table, hashes[i]);
            if (ref != TORC_REF_NONE) {
                TORC_PREFETCH(torc_arena_at(keyspace->arena, ref));
            }
        }
        for (size_t i = 0; i < n; ++i) {
            struct torc_value *value = &out_values[begin + i];
            if (!torc_full_find(keyspace->arena, root, hashes[i], fields[begin + i], keyspace->now,
                                value)) {
                value->text = torc_slice_of(NULL, 0);
            } else if (TORC_UNLIKELY(value->text.data == NULL)) {
                torc_full_expand(press, value);
                if (torc_press_is_used_up(press)) {
                    return begin + i + 1;
                }
            }
        }
    }
    return n_fields;
}

/* Fields are all over a block: when many are asked for, all of it is fetched while their names are
 * hashed. */
static void prefetch_block(const uint8_t *block, size_t n_fields)
{
    size_t bytes = torc_compact_capacity(block);
    if (n_fields < PREFETCH_FROM_FIELDS || bytes > n_fields * PREFETCH_BYTES_A_FIELD) {
        return;
    }
    for (size_t at = 0; at < bytes; at += TORC_CACHE_LINE_BYTES) {
        TORC_PREFETCH(block + at);
    }
}

static void get_many_compact(const struct torc_keyspace *keyspace, const uint8_t *block,
                             const struct torc_slice *fields, size_t n_fields,
                             struct torc_value *out_values)
{
    uint64_t hashes[COMPACT_BATCH];
    prefetch_block(block, n_fields);
    for (size_t begin = 0; begin < n_fields; begin += COMPACT_BATCH) {
        size_t n = torc_min_u64(n_fields - begin, COMPACT_BATCH);
        if (n >= JOIN_FROM_FIELDS && !torc_compact_expires(block) &&
            torc_compact_count(block) <= JOIN_COUNT_PER_FIELD * n) {
            torc_compact_join(block, keyspace->seed, n, fields + begin, out_values + begin);
            continue;
        }
        for (size_t i = 0; i < n; ++i) {
            hashes[i] = torc_hash_slice(keyspace->seed, fields[begin + i]);
        }
        (void)torc_compact_find_many(block, n, hashes, fields + begin, keyspace->now,
                                     out_values + begin);
    }
}

int64_t torc_hash_get_many(const struct torc_keyspace *keyspace, const struct torc_key *key,
                           const struct torc_slice *fields, size_t n_fields,
                           struct torc_value *out_values)
{
    struct found found;
    int rc = find_hash(keyspace, key, &found);
    if (rc != 0) {
        return rc;
    }
    if (found.type == TORC_RECORD_FULL) {
        return (int64_t)get_many_full(keyspace, torc_load_u40(found.payload), fields, n_fields,
                                      out_values);
    }
    if (found.type == TORC_RECORD_COMPACT) {
        get_many_compact(keyspace, found.payload, fields, n_fields, out_values);
        return (int64_t)n_fields;
    }
    for (size_t i = 0; i < n_fields; ++i) {
        out_values[i].text = torc_slice_of(NULL, 0);
    }
    return (int64_t)n_fields;
}

int64_t torc_hash_len(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    struct found found;
    int rc = find_hash(keyspace, key, &found);
    if (rc != 0 || found.type == TORC_RECORD_FILLER) {
        return rc;
    }
    return found.type == TORC_RECORD_COMPACT
               ? (int64_t)torc_compact_count(found.payload)
               : (int64_t)torc_full_count(keyspace->arena, torc_load_u40(found.payload));
}

static void each_compact(const uint8_t *block,
                         void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    uint64_t position = 0;
    struct torc_pair_room room;
    struct torc_pair pair;
    while (torc_compact_next_pair(block, &position, &room, &pair)) {
        visit(arg, &pair);
    }
}

/* A walk over a hash that has fields with times: those that are past are not shown. */
struct live_visit {
    uint64_t now;
    struct torc_pair_room room; /* of the pair that is looked at */
    void (*visit)(void *arg, const struct torc_pair *pair);
    void *arg;
};

static void visit_live(void *arg, const struct torc_pair *pair)
{
    const struct live_visit *v = arg;
    if (!torc_expiry_is_past(v->room.expiry, v->now)) {
        v->visit(v->arg, pair);
    }
}

static TORC_COLD void each_live_compact(const uint8_t *block, struct live_visit *v)
{
    uint64_t position = 0;
    struct torc_pair pair;
    while (torc_compact_next(block, &position, &v->room, &pair)) {
        visit_live(v, &pair);
    }
}

/* The press for what a walk shows, if it needs one. */
static struct torc_press *press_for(const struct torc_keyspace *keyspace, enum torc_parts parts)
{
    return parts == TORC_PAIRS ? keyspace->press : NULL;
}

int torc_hash_each(const struct torc_keyspace *keyspace, const struct torc_key *key,
                   enum torc_parts parts, void (*visit)(void *arg, const struct torc_pair *pair),
                   void *arg)
{
    uint64_t cursor = 0;
    do {
        int rc = torc_hash_scan(keyspace, key, cursor, UINT64_MAX, parts, visit, arg, &cursor);
        if (rc != 0) {
            return rc;
        }
    } while (cursor != 0);
    return 0;
}

int torc_hash_scan(const struct torc_keyspace *keyspace, const struct torc_key *key,
                   uint64_t cursor, uint64_t min_homes, enum torc_parts parts,
                   void (*visit)(void *arg, const struct torc_pair *pair), void *arg,
                   uint64_t *out_cursor)
{
    struct found found;
    int rc = find_hash(keyspace, key, &found);
    if (rc != 0) {
        return rc;
    }
    uint64_t next = 0;
    struct live_visit v = {.now = keyspace->now, .visit = visit, .arg = arg};
    if (found.type == TORC_RECORD_COMPACT) {
        if (TORC_LIKELY(!torc_compact_expires(found.payload))) {
            each_compact(found.payload, visit, arg);
        } else {
            each_live_compact(found.payload, &v);
        }
    } else if (found.type == TORC_RECORD_FULL) {
        uint64_t root = torc_load_u40(found.payload);
        bool all_live = torc_full_at(keyspace->arena, root)->n_expiring == 0;
        next = torc_full_scan(keyspace->arena, root, cursor, min_homes, press_for(keyspace, parts),
                              &v.room, all_live ? visit : visit_live, all_live ? arg : &v);
    }
    *out_cursor = next;
    return 0;
}

int torc_hash_random(const struct torc_keyspace *keyspace, const struct torc_key *key,
                     uint64_t random_bits, enum torc_parts parts, struct torc_pair_room *room,
                     struct torc_pair *out_pair)
{
    struct found found;
    int rc = find_hash(keyspace, key, &found);
    if (rc != 0 || found.type == TORC_RECORD_FILLER) {
        return rc;
    }
    if (found.type == TORC_RECORD_FULL) {
        return torc_full_random(keyspace->arena, torc_load_u40(found.payload), random_bits,
                                press_for(keyspace, parts), room, out_pair);
    }
    torc_compact_at(found.payload, torc_mul_high(random_bits, torc_compact_count(found.payload)),
                    room, out_pair);
    return 1;
}

/* --- trimming --- */

/* The block of record `ref`, no extent, becomes what is in the scratch memory, which is smaller. */
static void shrink_to_scratch(struct torc_keyspace *keyspace, uint64_t ref, uint8_t *block,
                              size_t wanted)
{
    struct torc_arena *arena = keyspace->arena;
    size_t capacity = torc_compact_capacity(block);
    uint64_t bytes = torc_record_bytes(record_at(keyspace, ref));
    assert(wanted < capacity);
    memcpy(block, keyspace->scratch, wanted);
    torc_record_write_hole(block + wanted, capacity - wanted);
    torc_record_trim(arena, torc_stream_shared(arena), ref, bytes, capacity - wanted);
}

void torc_hash_pack(struct torc_keyspace *keyspace, uint64_t ref, size_t min_saved)
{
    uint8_t *record = record_at(keyspace, ref);
    uint8_t *block = torc_keyspace_payload(record, torc_record_name(record).len);
    size_t wanted = torc_compact_pack(block, keyspace->scratch, 0);
    if (torc_compact_capacity(block) - wanted >= min_saved) {
        shrink_to_scratch(keyspace, ref, block, wanted);
    }
}

void torc_hash_trim(struct torc_keyspace *keyspace, uint64_t ref, uint8_t *block)
{
    size_t used = torc_compact_used(block);
    size_t slack = torc_compact_capacity(block) - used;
    if (slack > used / SLACK_PART + SLACK_MIN_BYTES &&
        !torc_record_is_extent(torc_record_bytes(record_at(keyspace, ref)))) {
        size_t wanted = used + used / SLACK_KEPT_PART;
        int rc = torc_compact_copy(block, keyspace->scratch, wanted);
        assert(rc == 0);
        (void)rc;
        shrink_to_scratch(keyspace, ref, block, wanted);
    }
}

/* --- delete --- */

static int64_t del_compact(struct torc_keyspace *keyspace, uint8_t *block,
                           const struct torc_slice *fields, size_t n_fields)
{
    size_t before = torc_compact_used(block);
    int64_t removed = 0;
    for (size_t i = 0; i < n_fields; ++i) {
        removed += torc_compact_del(block, torc_hash_slice(keyspace->seed, fields[i]), fields[i]);
    }
    keyspace->root->slack_bytes += before - torc_compact_used(block);
    return removed;
}

static int64_t del_full(struct torc_keyspace *keyspace, uint64_t root,
                        const struct torc_slice *fields, size_t n_fields)
{
    int64_t removed = 0;
    bool was_small = torc_hash_is_small(keyspace, root);
    for (size_t i = 0; i < n_fields; ++i) {
        removed += torc_full_del(keyspace->arena, root, torc_hash_slice(keyspace->seed, fields[i]),
                                 fields[i], keyspace->now);
    }
    torc_keyspace_note_full(keyspace, root);
    if (!was_small && torc_hash_is_small(keyspace, root)) {
        /* What it takes beside its records can be won back in an idle moment. */
        keyspace->root->slack_bytes += torc_full_bytes(keyspace->arena, root) -
                                       torc_full_at(keyspace->arena, root)->record_bytes;
    }
    return removed;
}

int64_t torc_hash_del(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_slice *fields, size_t n_fields)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref != TORC_REF_NONE) {
        ref = torc_keyspace_reap_block(keyspace, key, ref);
    }
    if (ref == TORC_REF_NONE) {
        return 0;
    }
    uint8_t *record = record_at(keyspace, ref);
    uint8_t *payload = torc_keyspace_payload(record, key->name.len);
    int64_t removed;
    bool is_empty;
    if (torc_record_type(record) == TORC_RECORD_STRING) {
        return -EINVAL;
    }
    bool had_times = torc_keyspace_has_times(keyspace, record);
    torc_keyspace_begin(keyspace, TORC_OPERATION_DEL, key->hash);
    if (torc_record_type(record) == TORC_RECORD_COMPACT) {
        removed = del_compact(keyspace, payload, fields, n_fields);
        is_empty = torc_compact_count(payload) == 0;
        if (!is_empty && removed > 0) {
            torc_hash_trim(keyspace, ref, payload);
        }
    } else {
        removed = del_full(keyspace, torc_load_u40(payload), fields, n_fields);
        is_empty = torc_full_count(keyspace->arena, torc_load_u40(payload)) == 0;
    }
    torc_keyspace_recount(keyspace, had_times, record);
    if (is_empty) {
        torc_keyspace_remove(keyspace, key, ref);
    }
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return removed;
}
