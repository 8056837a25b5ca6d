/* SPDX-License-Identifier: Apache-2.0
 *
 * What hashes do: reads and writes through either representation, and the way from compact to full.
 *
 * A write to a compact hash takes the first of these ways that is sure to work, so that a refused
 * command changes nothing:
 *   in place     the block's slack is enough for all pairs whatever they are
 *   rewritten    one pair: into a new record with room for it; several: in the handle's scratch
 *                memory first, which tells how much room they really take
 *   full         a full hash is built beside the block and replaces it
 */
#include "hash/full.h"
#include "hash/keyspace_private.h"

/* A delete leaves slack; above one part of what is used, and this, most of it is cut off. */
#define SLACK_PART      4u
#define SLACK_MIN_BYTES 128u
#define SLACK_KEPT_PART 8u

/* See may_be_packed(). A block grows by a twelfth or more. */
#define PACK_ALWAYS_FIELDS 16u
#define PACK_STEP_PART     12u

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
        return torc_compact_find(payload, hash, field, out_value);
    }
    if (!torc_full_find(keyspace->arena, torc_load_u40(payload), hash, field, 0, out_value)) {
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
    bool there =
        found.type == TORC_RECORD_COMPACT
            ? torc_compact_find(found.payload, hash, field, &value)
            : torc_full_find(keyspace->arena, torc_load_u40(found.payload), hash, field, 0, &value);
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
            if (!torc_full_find(keyspace->arena, root, hashes[i], fields[begin + i], 0, value)) {
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
        if (n >= JOIN_FROM_FIELDS && torc_compact_count(block) <= JOIN_COUNT_PER_FIELD * n) {
            torc_compact_join(block, keyspace->seed, n, fields + begin, out_values + begin);
            continue;
        }
        for (size_t i = 0; i < n; ++i) {
            hashes[i] = torc_hash_slice(keyspace->seed, fields[begin + i]);
        }
        (void)torc_compact_find_many(block, n, hashes, fields + begin, out_values + begin);
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
    while (torc_compact_next(block, &position, &room, &pair)) {
        visit(arg, &pair);
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
    struct torc_pair_room room;
    if (found.type == TORC_RECORD_COMPACT) {
        each_compact(found.payload, visit, arg);
    } else if (found.type == TORC_RECORD_FULL) {
        next = torc_full_scan(keyspace->arena, torc_load_u40(found.payload), cursor, min_homes,
                              press_for(keyspace, parts), &room, visit, arg);
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

static void trim_after_delete(struct torc_keyspace *keyspace, uint64_t ref, uint8_t *block)
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

/* --- put: full --- */

/* The pairs of one command. */
struct put {
    struct torc_keyspace *keyspace;
    const struct torc_key *key;
    const struct torc_pair *pairs;
    size_t n_pairs;
    struct torc_compact_plan
        plan; /* verbatim: as the compact block that is there, or would be made */
    bool may_be_compact;
};

static int64_t full_put(struct torc_keyspace *keyspace, uint64_t root,
                        const struct torc_pair *pairs, size_t n_pairs)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    struct torc_full_put_options options = {.verbatim = limits->disable_encoding};
    if (TORC_UNLIKELY(limits->compress_min_bytes != 0) && !limits->disable_encoding) {
        options.press = keyspace->press;
        options.press->min_bytes = limits->compress_min_bytes;
    }
    return torc_full_put(keyspace->arena, root, pairs, n_pairs, &options);
}

/* Copy the fields of a compact block into a new full hash. */
static int copy_to_full(const struct put *put, uint64_t root, const uint8_t *block)
{
    struct torc_pair_room rooms[LOOKUP_BATCH];
    struct torc_pair pairs[LOOKUP_BATCH];
    uint64_t position = 0;
    size_t n = 0;
    bool more = true;
    while (more) {
        more = torc_compact_next(block, &position, &rooms[n], &pairs[n]);
        n += more;
        if (n == LOOKUP_BATCH || (!more && n > 0)) {
            int64_t created = full_put(put->keyspace, root, pairs, n);
            if (created < 0) {
                return (int)created;
            }
            n = 0;
        }
    }
    return 0;
}

/* Make a full hash of `block` (NULL: nothing) and the pairs, and a key record for it; nothing
 * refers to either yet. */
static int64_t build_full(const struct put *put, const uint8_t *block, uint64_t *out_root,
                          uint64_t *out_ref)
{
    struct torc_arena *arena = put->keyspace->arena;
    struct torc_slice name = put->key->name;
    uint64_t root;
    uint64_t ref;
    int64_t created = torc_full_create(arena, &root);
    if (created < 0) {
        return created;
    }
    if (block != NULL) {
        created = copy_to_full(put, root, block);
    }
    if (created == 0) {
        created = full_put(put->keyspace, root, put->pairs, put->n_pairs);
    }
    if (created < 0) {
        torc_full_destroy(arena, root);
        return created;
    }
    int rc = torc_record_alloc(arena, torc_stream_shared(arena),
                               torc_record_key_head_bytes(name.len) + TORC_RECORD_ROOT_BYTES, &ref);
    if (rc != 0) {
        torc_full_destroy(arena, root);
        return rc;
    }
    uint8_t *record = torc_arena_at(arena, ref);
    torc_store_u40(torc_record_write_key(record, TORC_RECORD_FULL, name), root);
    *out_root = root;
    *out_ref = ref;
    return created;
}

/* The hash of record `old_ref` (TORC_REF_NONE: a new key) becomes a full one with the pairs. */
static int64_t put_as_full(const struct put *put, uint64_t old_ref)
{
    struct torc_keyspace *keyspace = put->keyspace;
    const uint8_t *block =
        old_ref == TORC_REF_NONE
            ? NULL
            : torc_keyspace_payload(record_at(keyspace, old_ref), put->key->name.len);
    uint64_t root = TORC_REF_NONE;
    uint64_t ref = TORC_REF_NONE;
    int64_t created = build_full(put, block, &root, &ref);
    if (created < 0) {
        return created;
    }
    if (old_ref != TORC_REF_NONE) {
        torc_keyspace_replace(keyspace, put->key, old_ref, ref);
        return created;
    }
    int rc = torc_keyspace_insert(keyspace, put->key, ref);
    if (rc != 0) {
        (void)torc_record_release(keyspace->arena, torc_stream_shared(keyspace->arena), ref);
        torc_full_destroy(keyspace->arena, root);
        return rc;
    }
    return created;
}

/* --- put: compact --- */

/* A record for the key with an unformatted block of `capacity` bytes. */
static int alloc_compact(const struct put *put, size_t capacity, uint64_t *out_ref,
                         uint8_t **out_block)
{
    struct torc_arena *arena = put->keyspace->arena;
    uint64_t ref;
    int rc = torc_record_alloc(arena, torc_stream_shared(arena),
                               torc_record_key_head_bytes(put->key->name.len) + capacity, &ref);
    if (rc != 0) {
        return rc;
    }
    *out_block =
        torc_record_write_key(torc_arena_at(arena, ref), TORC_RECORD_COMPACT, put->key->name);
    *out_ref = ref;
    return 0;
}

/* Capacity for a block that needs `need` bytes, with slack, unless it is the slack that would make
 * the record an extent. */
static size_t capacity_for(const struct put *put, size_t before, size_t need)
{
    uint64_t head = torc_record_key_head_bytes(put->key->name.len);
    size_t capacity = torc_compact_grow(before, need);
    if (torc_record_is_extent(head + capacity) && !torc_record_is_extent(head + need)) {
        capacity = TORC_RECORD_MAX_BYTES - head;
    }
    return capacity;
}

/* Put all pairs into a block. Number of fields created; -ENOSPC, -EMSGSIZE: some may be in. */
static int64_t put_pairs(const struct put *put, uint8_t *block)
{
    uint64_t seed = put->keyspace->seed;
    int64_t created = 0;
    for (size_t i = 0; i < put->n_pairs; ++i) {
        const struct torc_pair *pair = &put->pairs[i];
        int rc = torc_compact_put(block, seed, torc_hash_slice(seed, pair->field), pair->field,
                                  pair->value);
        if (rc < 0) {
            return rc;
        }
        created += rc;
    }
    return created;
}

/* The key is absent: a compact hash if the pairs fit one. */
static int64_t put_new(const struct put *put)
{
    size_t need =
        put->may_be_compact ? torc_compact_plan_need(&put->plan) : TORC_COMPACT_MAX_BYTES + 1;
    uint64_t ref;
    uint8_t *block;
    if (need > TORC_COMPACT_MAX_BYTES) {
        return put_as_full(put, TORC_REF_NONE);
    }
    int rc = alloc_compact(put, need, &ref, &block);
    if (rc != 0) {
        return rc;
    }
    torc_compact_init_planned(block, need, &put->plan);
    int64_t created = put_pairs(put, block);
    assert(created >= 0);
    rc = torc_keyspace_insert(put->keyspace, put->key, ref);
    if (rc != 0) {
        struct torc_arena *arena = put->keyspace->arena;
        (void)torc_record_release(arena, torc_stream_shared(arena), ref);
        return rc;
    }
    /* Pairs that named a field twice took less than was planned for. */
    if (created < (int64_t)put->n_pairs) {
        trim_after_delete(put->keyspace, ref, block);
    }
    return created;
}

/* Whether a block that is copied to grow is worth a look for common lengths: a small one always, a
 * large one each time that its count doubles, so that those without any pay little for it. */
static bool may_be_packed(const uint8_t *block)
{
    size_t count = torc_compact_count(block);
    return count < PACK_ALWAYS_FIELDS ||
           torc_log2_floor(count) != torc_log2_floor(count - count / PACK_STEP_PART);
}

/* Rewrite the block into a new record with room for one pair, which it can hold. */
static int64_t rewrite_for_pair(const struct put *put, uint64_t old_ref, const uint8_t *old_block)
{
    size_t need = torc_compact_need(old_block, 1, put->plan.entry_bytes);
    size_t capacity =
        capacity_for(put, torc_compact_used(old_block), torc_min_u64(need, TORC_COMPACT_MAX_BYTES));
    uint64_t ref;
    uint8_t *block;
    int rc = alloc_compact(put, capacity, &ref, &block);
    if (rc != 0) {
        return rc;
    }
    if (may_be_packed(old_block)) {
        (void)torc_compact_pack(old_block, block, capacity);
    } else {
        rc = torc_compact_copy(old_block, block, capacity);
        assert(rc == 0);
    }
    int64_t created = put_pairs(put, block);
    assert(created >= 0);
    put->keyspace->root->slack_bytes += capacity - torc_compact_used(block);
    torc_keyspace_replace(put->keyspace, put->key, old_ref, ref);
    return created;
}

/* Rewrite the block in scratch memory, and from there back into its place if that is large enough,
 * else into a new record. -EMSGSIZE: it must become full. */
static int64_t rewrite_for_pairs(const struct put *put, uint64_t old_ref, uint8_t *old_block)
{
    struct torc_keyspace *keyspace = put->keyspace;
    uint8_t *scratch = keyspace->scratch;
    int rc = torc_compact_copy(old_block, scratch, TORC_COMPACT_MAX_BYTES);
    assert(rc == 0);
    int64_t created = put_pairs(put, scratch);
    if (created == -EMSGSIZE) {
        /* A block that grew field by field has no common lengths yet: it may be made smaller. */
        (void)torc_compact_pack(old_block, scratch, TORC_COMPACT_MAX_BYTES);
        created = put_pairs(put, scratch);
    }
    if (created < 0 || torc_compact_count(scratch) > keyspace->limits->compact_max_entries) {
        return -EMSGSIZE;
    }
    size_t used = torc_compact_used(scratch);
    if (used <= torc_compact_capacity(old_block)) {
        rc = torc_compact_copy(scratch, old_block, torc_compact_capacity(old_block));
        assert(rc == 0);
        return created;
    }
    size_t capacity = capacity_for(put, torc_compact_used(old_block), used);
    uint64_t ref;
    uint8_t *block;
    rc = alloc_compact(put, capacity, &ref, &block);
    if (rc != 0) {
        return rc;
    }
    rc = torc_compact_copy(scratch, block, capacity);
    assert(rc == 0);
    keyspace->root->slack_bytes += capacity - used;
    torc_keyspace_replace(keyspace, put->key, old_ref, ref);
    return created;
}

/* Would one pair leave more fields than a compact hash may have? */
static bool pair_passes_count(const struct put *put, const uint8_t *block)
{
    size_t count = torc_compact_count(block);
    uint32_t most = put->keyspace->limits->compact_max_entries;
    struct torc_value value;
    if (TORC_LIKELY(count < most)) {
        return false;
    }
    return count > most ||
           !torc_compact_find(block, torc_hash_slice(put->keyspace->seed, put->pairs->field),
                              put->pairs->field, &value);
}

static int64_t put_compact(const struct put *put, uint64_t ref)
{
    struct torc_keyspace *keyspace = put->keyspace;
    uint8_t *block = torc_keyspace_payload(record_at(keyspace, ref), put->key->name.len);
    int64_t created;
    if (!put->may_be_compact || (put->n_pairs == 1 && pair_passes_count(put, block))) {
        return put_as_full(put, ref);
    }
    if (put->n_pairs == 1) {
        created = put_pairs(put, block);
        if (created == -ENOSPC) {
            created = rewrite_for_pair(put, ref, block);
        } else if (created == -EMSGSIZE) {
            created = rewrite_for_pairs(put, ref, block);
        }
    } else if (torc_compact_need(block, put->n_pairs, put->plan.entry_bytes) <=
                   torc_compact_capacity(block) &&
               torc_compact_count(block) + put->n_pairs <= keyspace->limits->compact_max_entries) {
        created = put_pairs(put, block);
        assert(created >= 0);
    } else {
        created = rewrite_for_pairs(put, ref, block);
    }
    return created == -EMSGSIZE ? put_as_full(put, ref) : created;
}

/* Sum up the pairs, for a hash that is full already only their lengths. -EMSGSIZE: a part is too
 * long. The limits are about the text, as users count; the sum is about what is stored. */
static int measure(struct put *put, bool is_full)
{
    const struct torc_hash_limits *limits = put->keyspace->limits;
    size_t most = torc_min_u64(limits->max_part_bytes, TORC_RECORD_PART_MAX);
    size_t compact_most = torc_min_u64(limits->compact_max_value, TORC_COMPACT_MAX_PART);
    size_t longest = 0;
    for (size_t i = 0; i < put->n_pairs; ++i) {
        const struct torc_pair *pair = &put->pairs[i];
        longest = torc_max_u64(longest, torc_max_u64(pair->field.len, pair->value.len));
        if (!is_full) {
            torc_compact_plan_add(&put->plan, pair->field, pair->value);
        }
    }
    if (longest > most || put->key->name.len > most) {
        return -EMSGSIZE;
    }
    put->may_be_compact = longest <= compact_most && put->n_pairs <= limits->compact_max_entries;
    return 0;
}

static int64_t put_full(const struct put *put, uint64_t ref)
{
    struct torc_keyspace *keyspace = put->keyspace;
    uint64_t root =
        torc_load_u40(torc_keyspace_payload(record_at(keyspace, ref), put->key->name.len));
    int64_t created = full_put(keyspace, root, put->pairs, put->n_pairs);
    if (created >= 0) {
        torc_keyspace_note_full(keyspace, root);
    }
    return created;
}

/* The same for one pair, without a plan. */
static int64_t put_at_once_full(struct torc_keyspace *keyspace, const struct torc_key *key,
                                uint64_t root, const struct torc_pair *pair)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    uint64_t most = torc_min_u64(limits->max_part_bytes, TORC_RECORD_PART_MAX);
    if (pair->field.len > most || pair->value.len > most) {
        return -EMSGSIZE;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, key->hash);
    int64_t created = full_put(keyspace, root, pair, 1);
    if (created >= 0) {
        torc_keyspace_note_full(keyspace, root);
    }
    torc_keyspace_end(keyspace);
    return created;
}

/* The common case, without a plan: one short pair and a block with room for it, or a full hash.
 * -EAGAIN: nothing was done, it must go the long way. */
static int64_t put_at_once(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref,
                           const struct torc_pair *pair)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    uint64_t most = torc_min_u64(limits->compact_max_value, limits->max_part_bytes);
    uint8_t *record = record_at(keyspace, ref);
    uint8_t *block = torc_keyspace_payload(record, key->name.len);
    enum torc_record_type type = torc_record_type(record);
    if (type == TORC_RECORD_FULL) {
        return put_at_once_full(keyspace, key, torc_load_u40(block), pair);
    }
    if (type != TORC_RECORD_COMPACT || pair->field.len > most || pair->value.len > most) {
        return -EAGAIN;
    }
    if (torc_compact_count(block) >= limits->compact_max_entries) {
        return -EAGAIN;
    }
    uint64_t hash = torc_hash_slice(keyspace->seed, pair->field);
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, key->hash);
    int rc = torc_compact_put(block, keyspace->seed, hash, pair->field, pair->value);
    torc_keyspace_end(keyspace);
    return rc >= 0 ? rc : -EAGAIN;
}

static int64_t put_planned(struct put *put, uint64_t ref)
{
    struct torc_keyspace *keyspace = put->keyspace;
    enum torc_record_type type = TORC_RECORD_FILLER;
    put->plan.verbatim = keyspace->limits->disable_encoding;
    if (ref != TORC_REF_NONE) {
        uint8_t *record = record_at(keyspace, ref);
        type = torc_record_type(record);
        if (type == TORC_RECORD_COMPACT) {
            put->plan.verbatim =
                torc_compact_is_verbatim(torc_keyspace_payload(record, put->key->name.len));
        }
    }
    int rc = measure(put, type == TORC_RECORD_FULL);
    if (rc != 0) {
        return rc;
    }
    if (type == TORC_RECORD_STRING) {
        return -EINVAL;
    }
    if (put->n_pairs == 0) {
        return 0;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, put->key->hash);
    int64_t created = type == TORC_RECORD_COMPACT ? put_compact(put, ref)
                      : type == TORC_RECORD_FULL  ? put_full(put, ref)
                                                  : put_new(put);
    torc_keyspace_end(keyspace);
    return created;
}

int64_t torc_hash_put(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_pair *pairs, size_t n_pairs)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref != TORC_REF_NONE && n_pairs == 1) {
        int64_t created = put_at_once(keyspace, key, ref, pairs);
        if (TORC_LIKELY(created != -EAGAIN)) {
            return created;
        }
    }
    struct put put = {.keyspace = keyspace, .key = key, .pairs = pairs, .n_pairs = n_pairs};
    return put_planned(&put, ref);
}

int torc_hash_put_absent(struct torc_keyspace *keyspace, const struct torc_key *key,
                         const struct torc_pair *pair)
{
    size_t len;
    int rc = torc_hash_value_len(keyspace, key, pair->field, &len);
    if (rc != 0) {
        return rc == 1 ? 0 : rc;
    }
    return (int)torc_hash_put(keyspace, key, pair, 1);
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
                                 fields[i], 0);
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
    torc_keyspace_begin(keyspace, TORC_OPERATION_DEL, key->hash);
    if (torc_record_type(record) == TORC_RECORD_COMPACT) {
        removed = del_compact(keyspace, payload, fields, n_fields);
        is_empty = torc_compact_count(payload) == 0;
        if (!is_empty && removed > 0) {
            trim_after_delete(keyspace, ref, payload);
        }
    } else {
        removed = del_full(keyspace, torc_load_u40(payload), fields, n_fields);
        is_empty = torc_full_count(keyspace->arena, torc_load_u40(payload)) == 0;
    }
    if (is_empty) {
        torc_keyspace_remove(keyspace, key, ref);
    }
    torc_keyspace_end(keyspace);
    return removed;
}
