/* SPDX-License-Identifier: Apache-2.0
 *
 * What hashes do: writes through either representation, and the way from compact to full.
 *
 * A write to a compact hash takes the first of these ways that is sure to work, so that a refused
 * command changes nothing:
 *   in place     the block's slack is enough for all pairs whatever they are
 *   rewritten    one pair: into a new record with room for it; several: in the handle's scratch
 *                memory first, which tells how much room they really take
 *   full         a full hash is built beside the block and replaces it
 *
 * Before all of them, what is past of the block goes, and if the fields get a time that is sooner
 * than any of the key, a place for it in the keyspace's due tree is made sure of.
 */
#include "hash/expiry.h"
#include "hash/keyspace_private.h"

/* See may_be_packed(). A block grows by a twelfth or more. */
#define PACK_ALWAYS_FIELDS 16u
#define PACK_STEP_PART     12u

/* Fields that are copied from a block into a full hash at once. */
#define COPY_BATCH 16u

/* Past fields that are removed before a put to a full hash that may have no others. */
#define REAP_FIELDS 256u

static uint8_t *record_at(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return torc_arena_at(keyspace->arena, ref);
}

/* Is this a time, and not one of the words TORC_EXPIRY_NONE and TORC_EXPIRY_KEEP? */
static inline bool is_time(uint64_t when)
{
    return when - 1 < TORC_EXPIRY_MAX;
}

/* --- put: full --- */

/* The pairs of one command. */
struct put {
    struct torc_keyspace *keyspace;
    const struct torc_key *key;
    const struct torc_pair *pairs;
    size_t n_pairs;
    uint64_t when;   /* of the fields, or TORC_EXPIRY_NONE or _KEEP */
    uint64_t expiry; /* the key's */
    struct torc_compact_plan
        plan; /* verbatim: as the compact block that is there, or would be made */
    bool may_be_compact;
};

int64_t torc_hash_put_to_full(struct torc_keyspace *keyspace, uint64_t root,
                              const struct torc_pair *pairs, size_t n_pairs, uint64_t when,
                              const uint64_t *whens)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    struct torc_full_put_options options = {
        .verbatim = limits->disable_encoding, .now = keyspace->now, .when = when, .whens = whens};
    if (TORC_UNLIKELY(limits->compress_min_bytes != 0) && !limits->disable_encoding) {
        options.press = keyspace->press;
        options.press->min_bytes = limits->compress_min_bytes;
    }
    return torc_full_put(keyspace->arena, root, pairs, n_pairs, &options);
}

/* Copy the fields of a compact block into a new full hash. */
static int copy_to_full(const struct put *put, uint64_t root, const uint8_t *block)
{
    struct torc_pair_room rooms[COPY_BATCH];
    struct torc_pair pairs[COPY_BATCH];
    uint64_t whens[COPY_BATCH];
    const bool expires = torc_compact_expires(block);
    uint64_t position = 0;
    size_t n = 0;
    bool more = true;
    while (more) {
        more = torc_compact_next(block, &position, &rooms[n], &pairs[n]);
        if (more) {
            whens[n] = rooms[n].expiry;
            ++n;
        }
        if (n == COPY_BATCH || (!more && n > 0)) {
            int64_t created = torc_hash_put_to_full(put->keyspace, root, pairs, n, TORC_EXPIRY_NONE,
                                                    expires ? whens : NULL);
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
        created =
            torc_hash_put_to_full(put->keyspace, root, put->pairs, put->n_pairs, put->when, NULL);
    }
    if (created < 0) {
        torc_full_destroy(arena, root);
        return created;
    }
    int rc =
        torc_record_alloc(arena, torc_stream_shared(arena),
                          torc_record_key_head_bytes(name.len, put->expiry != TORC_EXPIRY_NONE) +
                              TORC_RECORD_ROOT_BYTES,
                          &ref);
    if (rc != 0) {
        torc_full_destroy(arena, root);
        return rc;
    }
    uint8_t *record = torc_arena_at(arena, ref);
    torc_store_u40(torc_record_write_key(record, TORC_RECORD_FULL, put->expiry, name), root);
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

/* Bytes of the key's record in front of its block. */
static uint64_t head_bytes(const struct put *put)
{
    return torc_record_key_head_bytes(put->key->name.len, put->expiry != TORC_EXPIRY_NONE);
}

/* A record for the key with an unformatted block of `capacity` bytes. */
static TORC_ALWAYS_INLINE int alloc_compact(const struct put *put, size_t capacity,
                                            uint64_t *out_ref, uint8_t **out_block)
{
    struct torc_arena *arena = put->keyspace->arena;
    uint64_t ref;
    int rc = torc_record_alloc(arena, torc_stream_shared(arena), head_bytes(put) + capacity, &ref);
    if (rc != 0) {
        return rc;
    }
    *out_block = torc_record_write_key(torc_arena_at(arena, ref), TORC_RECORD_COMPACT, put->expiry,
                                       put->key->name);
    *out_ref = ref;
    return 0;
}

/* Capacity for a block that needs `need` bytes, with slack, unless it is the slack that would make
 * the record an extent. */
static size_t capacity_for(const struct put *put, size_t before, size_t need)
{
    uint64_t head = head_bytes(put);
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
        uint64_t hash = torc_hash_slice(seed, pair->field);
        int rc =
            TORC_LIKELY(put->when == TORC_EXPIRY_NONE)
                ? torc_compact_put(block, seed, hash, pair->field, pair->value)
                : torc_compact_put_expiring(block, seed, hash, pair->field, pair->value, put->when);
        if (rc < 0) {
            return rc;
        }
        created += rc;
    }
    return created;
}

/* The key is absent: a compact hash if the pairs fit one. */
static TORC_ALWAYS_INLINE int64_t put_new(const struct put *put)
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
        torc_hash_trim(put->keyspace, ref, block);
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

/* Bytes of entries that the pairs may add to the block, with their times. */
static size_t entry_bytes(const struct put *put, const uint8_t *block)
{
    size_t n_times = put->n_pairs;
    if (TORC_LIKELY(put->when == TORC_EXPIRY_NONE)) {
        return put->plan.entry_bytes;
    }
    if (put->when == TORC_EXPIRY_KEEP) {
        n_times = torc_min_u64(n_times, torc_compact_n_expiring(block));
    }
    return put->plan.entry_bytes + n_times * TORC_COMPACT_EXPIRY_BYTES +
           (torc_compact_expires(block) ? 0 : TORC_COMPACT_TRAILER_BYTES);
}

/* Rewrite the block into a new record with room for one pair, which it can hold. */
static int64_t rewrite_for_pair(const struct put *put, uint64_t old_ref, const uint8_t *old_block)
{
    size_t need = torc_compact_need(old_block, 1, entry_bytes(put, old_block));
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

/* The block in scratch memory takes the place of the old one, in a new record if it has to. */
static int store_scratch(const struct put *put, uint64_t old_ref, uint8_t *old_block)
{
    struct torc_keyspace *keyspace = put->keyspace;
    const uint8_t *scratch = keyspace->scratch;
    size_t used = torc_compact_used(scratch);
    int rc;
    if (used <= torc_compact_capacity(old_block)) {
        rc = torc_compact_copy(scratch, old_block, torc_compact_capacity(old_block));
        assert(rc == 0);
        return rc;
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
    return 0;
}

int torc_hash_store_scratch(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t ref)
{
    uint8_t *record = record_at(keyspace, ref);
    const struct put put = {
        .keyspace = keyspace, .key = key, .expiry = torc_record_key_expiry(record)};
    return store_scratch(&put, ref, torc_keyspace_payload(record, key->name.len));
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
    rc = store_scratch(put, old_ref, old_block);
    return rc != 0 ? rc : created;
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
                              put->pairs->field, put->keyspace->now, &value);
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
    } else if (torc_compact_need(block, put->n_pairs, entry_bytes(put, block)) <=
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
    int64_t created =
        torc_hash_put_to_full(keyspace, root, put->pairs, put->n_pairs, put->when, NULL);
    if (created >= 0) {
        torc_keyspace_note_full(keyspace, root);
    }
    return created;
}

/* The same for one pair, without a plan; nothing in the hash has a time, nor gets one. */
static TORC_ALWAYS_INLINE int64_t put_at_once_full(struct torc_keyspace *keyspace,
                                                   const struct torc_key *key, uint64_t root,
                                                   const struct torc_pair *pair)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    uint64_t most = torc_min_u64(limits->max_part_bytes, TORC_RECORD_PART_MAX);
    if (pair->field.len > most || pair->value.len > most) {
        return -EMSGSIZE;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, key->hash);
    int64_t created = torc_hash_put_to_full(keyspace, root, pair, 1, TORC_EXPIRY_NONE, NULL);
    if (created >= 0) {
        torc_keyspace_note_full(keyspace, root);
    }
    torc_keyspace_end(keyspace);
    return created;
}

/* In place, in a block with times or for a pair that gets one. */
static TORC_COLD int put_at_once_expiring(struct torc_keyspace *keyspace,
                                          const struct torc_key *key, uint8_t *record,
                                          uint8_t *block, const struct torc_pair *pair,
                                          uint64_t when)
{
    uint64_t bound = torc_keyspace_bound(keyspace, record);
    bool had_times = torc_compact_expires(block);
    uint64_t due = is_time(when) ? when : TORC_EXPIRY_NEVER;
    if (torc_compact_due(block) <= keyspace->now) {
        return -EAGAIN;
    }
    int rc = torc_keyspace_reserve_due(keyspace, key, due, bound);
    if (rc != 0) {
        return rc;
    }
    uint64_t hash = torc_hash_slice(keyspace->seed, pair->field);
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, key->hash);
    rc = torc_compact_put_expiring(block, keyspace->seed, hash, pair->field, pair->value, when);
    if (rc >= 0) {
        torc_keyspace_note_due(keyspace, key, due, bound);
        torc_keyspace_recount(keyspace, had_times, record);
        (void)torc_keyspace_tend_due(keyspace);
    }
    torc_keyspace_end(keyspace);
    return rc >= 0 ? rc : -EAGAIN;
}

/* The common case, without a plan: one short pair and a block with room for it, or a full hash.
 * -EAGAIN: nothing was done, it must go the long way. */
static TORC_ALWAYS_INLINE int64_t put_at_once(struct torc_keyspace *keyspace,
                                              const struct torc_key *key, uint64_t ref,
                                              const struct torc_pair *pair, uint64_t when)
{
    const struct torc_hash_limits *limits = keyspace->limits;
    uint64_t most = torc_min_u64(limits->compact_max_value, limits->max_part_bytes);
    uint8_t *record = record_at(keyspace, ref);
    uint8_t *block = torc_keyspace_payload(record, key->name.len);
    enum torc_record_type type = torc_record_type(record);
    if (type == TORC_RECORD_FULL) {
        uint64_t root = torc_load_u40(block);
        if (is_time(when) || TORC_UNLIKELY(torc_full_at(keyspace->arena, root)->n_expiring != 0)) {
            return -EAGAIN;
        }
        return put_at_once_full(keyspace, key, root, pair);
    }
    if (type != TORC_RECORD_COMPACT || pair->field.len > most || pair->value.len > most) {
        return -EAGAIN;
    }
    if (torc_compact_count(block) >= limits->compact_max_entries) {
        return -EAGAIN;
    }
    if (is_time(when) || TORC_UNLIKELY(torc_compact_expires(block))) {
        return put_at_once_expiring(keyspace, key, record, block, pair, when);
    }
    uint64_t hash = torc_hash_slice(keyspace->seed, pair->field);
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, key->hash);
    int rc = torc_compact_put(block, keyspace->seed, hash, pair->field, pair->value);
    torc_keyspace_end(keyspace);
    return rc >= 0 ? rc : -EAGAIN;
}

/* The put itself, and what the due tree and the counts of times must know of it. */
static int64_t put_and_note(struct put *put, uint64_t ref, enum torc_record_type type)
{
    struct torc_keyspace *keyspace = put->keyspace;
    uint64_t bound = TORC_EXPIRY_NEVER;
    bool had_times = false;
    uint64_t due = is_time(put->when) ? put->when : TORC_EXPIRY_NEVER;
    if (ref == TORC_REF_NONE && TORC_LIKELY(due == TORC_EXPIRY_NEVER)) {
        return put_new(put);
    }
    if (ref != TORC_REF_NONE) {
        const uint8_t *record = record_at(keyspace, ref);
        put->expiry = torc_record_key_expiry(record);
        had_times = torc_keyspace_has_times(keyspace, record);
        bound = torc_keyspace_bound(keyspace, record);
    }
    int rc = torc_keyspace_reserve_due(keyspace, put->key, due, bound);
    if (rc != 0) {
        return rc;
    }
    int64_t created = type == TORC_RECORD_COMPACT ? put_compact(put, ref)
                      : type == TORC_RECORD_FULL  ? put_full(put, ref)
                                                  : put_new(put);
    if (created >= 0 && (had_times || due != TORC_EXPIRY_NEVER)) {
        torc_keyspace_note_due(keyspace, put->key, due, bound);
        if (ref != TORC_REF_NONE) {
            /* It may be another record now; a new key was counted when it was inserted. */
            ref = torc_keyspace_find_any(keyspace, put->key);
            torc_keyspace_recount(keyspace, had_times, record_at(keyspace, ref));
        }
    }
    (void)torc_keyspace_tend_due(keyspace);
    return created;
}

/* Every field of this full hash may be past: then the key is to be made anew, without the time that
 * it had. The record, or TORC_REF_NONE if so. Where more are past than are looked at here, the key
 * lives on. */
static TORC_COLD uint64_t reap_before_put(struct torc_keyspace *keyspace,
                                          const struct torc_key *key, uint64_t ref)
{
    const uint8_t *record = record_at(keyspace, ref);
    const struct torc_full *full = torc_full_at(keyspace->arena, torc_record_root(record));
    if (full->n_expiring != full->table.count || torc_full_due(full) > keyspace->now) {
        return ref;
    }
    return torc_keyspace_reap_key(keyspace, key, REAP_FIELDS)
               ? torc_keyspace_find_any(keyspace, key)
               : ref;
}

static int64_t put_planned(struct put *put, uint64_t ref)
{
    struct torc_keyspace *keyspace = put->keyspace;
    enum torc_record_type type = TORC_RECORD_FILLER;
    put->plan.verbatim = keyspace->limits->disable_encoding;
    if (ref != TORC_REF_NONE) {
        ref = torc_keyspace_reap_block(keyspace, put->key, ref);
    }
    if (ref != TORC_REF_NONE && torc_record_type(record_at(keyspace, ref)) == TORC_RECORD_FULL &&
        TORC_UNLIKELY(torc_record_expires(record_at(keyspace, ref)))) {
        ref = reap_before_put(keyspace, put->key, ref);
    }
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
    put->plan.n_expiring = is_time(put->when) ? put->n_pairs : 0;
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, put->key->hash);
    int64_t created = put_and_note(put, ref, type);
    torc_keyspace_end(keyspace);
    return created;
}

static TORC_ALWAYS_INLINE int64_t put_pairs_until(struct torc_keyspace *keyspace,
                                                  const struct torc_key *key,
                                                  const struct torc_pair *pairs, size_t n_pairs,
                                                  uint64_t when)
{
    uint64_t ref = torc_keyspace_find_to_change(keyspace, key);
    if (ref != TORC_REF_NONE && n_pairs == 1) {
        int64_t created = put_at_once(keyspace, key, ref, pairs, when);
        if (TORC_LIKELY(created != -EAGAIN)) {
            return created;
        }
    }
    struct put put = {
        .keyspace = keyspace, .key = key, .pairs = pairs, .n_pairs = n_pairs, .when = when};
    return put_planned(&put, ref);
}

int64_t torc_hash_put(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_pair *pairs, size_t n_pairs)
{
    return put_pairs_until(keyspace, key, pairs, n_pairs, TORC_EXPIRY_NONE);
}

/* The fields of the pairs go: 0, or an error. */
static int64_t remove_fields(struct torc_keyspace *keyspace, const struct torc_key *key,
                             const struct torc_pair *pairs, size_t n_pairs)
{
    for (size_t i = 0; i < n_pairs; ++i) {
        int64_t removed = torc_hash_del(keyspace, key, &pairs[i].field, 1);
        if (removed < 0) {
            return removed;
        }
    }
    return 0;
}

int64_t torc_hash_put_expiring(struct torc_keyspace *keyspace, const struct torc_key *key,
                               const struct torc_pair *pairs, size_t n_pairs, uint64_t when)
{
    if (when == TORC_EXPIRY_NONE) {
        return torc_hash_put(keyspace, key, pairs, n_pairs);
    }
    assert(is_time(when) || when == TORC_EXPIRY_KEEP);
    if (torc_expiry_is_past(when, keyspace->now)) {
        return remove_fields(keyspace, key, pairs, n_pairs);
    }
    return put_pairs_until(keyspace, key, pairs, n_pairs, when);
}

int torc_hash_build_full(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref,
                         uint64_t *out_root, uint64_t *out_ref)
{
    uint8_t *record = record_at(keyspace, ref);
    const struct put put = {
        .keyspace = keyspace, .key = key, .expiry = torc_record_key_expiry(record)};
    int64_t created =
        build_full(&put, torc_keyspace_payload(record, key->name.len), out_root, out_ref);
    return created < 0 ? (int)created : 0;
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
