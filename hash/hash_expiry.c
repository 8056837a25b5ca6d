/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry of fields: setting, taking away and reading the times of fields in either representation.
 *
 * A compact block may need room for times: it is then made in the handle's scratch memory, and if
 * no block can hold them, the hash becomes full. Hashes that get a time tell the keyspace's due
 * tree.
 */
#include "hash/expiry.h"
#include "hash/keyspace_private.h"

static uint8_t *record_at(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return torc_arena_at(keyspace->arena, ref);
}

/* A command on the times of fields. */
struct change {
    struct torc_keyspace *keyspace;
    const struct torc_key *key;
    const struct torc_slice *fields;
    size_t n_fields;
    uint64_t when;       /* TORC_EXPIRY_NONE: take them away */
    unsigned conditions; /* of setting */
    int8_t *results;
};

static void fill(int8_t *results, size_t n, int8_t result)
{
    for (size_t i = 0; i < n; ++i) {
        results[i] = result;
    }
}

/* What comes of a field that is there and ends at `old_when`; TORC_EXPIRE_SET: the change is to be
 * made. */
static int8_t decide(const struct change *change, uint64_t old_when)
{
    if (change->when == TORC_EXPIRY_NONE) {
        return old_when != TORC_EXPIRY_NONE ? TORC_EXPIRE_SET : TORC_EXPIRE_NO_TIME;
    }
    if (!torc_keyspace_is_met(change->conditions, old_when, change->when)) {
        return TORC_EXPIRE_NOT_MET;
    }
    return torc_expiry_is_past(change->when, change->keyspace->now) ? TORC_EXPIRE_REMOVED
                                                                    : TORC_EXPIRE_SET;
}

/* --- compact --- */

/* Change a block from which nothing is past. -ENOSPC: it has no room; some may be done. */
static int change_block(const struct change *change, uint8_t *block)
{
    for (size_t i = 0; i < change->n_fields; ++i) {
        struct torc_slice field = change->fields[i];
        uint64_t hash = torc_hash_slice(change->keyspace->seed, field);
        uint64_t old_when;
        int8_t result = TORC_EXPIRE_NO_FIELD;
        if (torc_compact_expiry(block, hash, field, &old_when)) {
            result = decide(change, old_when);
        }
        if (result == TORC_EXPIRE_REMOVED) {
            (void)torc_compact_del(block, hash, field);
        } else if (result == TORC_EXPIRE_SET) {
            int rc = torc_compact_set_expiry(block, hash, field, change->when);
            if (rc != 0) {
                return rc;
            }
        }
        change->results[i] = result;
    }
    return 0;
}

/* Will the block hold the times of all fields for sure? To take some away needs no room. */
static bool has_room(const struct change *change, const uint8_t *block)
{
    size_t bytes = change->n_fields * TORC_COMPACT_EXPIRY_BYTES +
                   (torc_compact_expires(block) ? 0 : TORC_COMPACT_TRAILER_BYTES);
    return change->when == TORC_EXPIRY_NONE ||
           torc_expiry_is_past(change->when, change->keyspace->now) ||
           (change->n_fields <= TORC_COMPACT_MAX_BYTES / TORC_COMPACT_EXPIRY_BYTES &&
            torc_compact_need(block, 0, bytes) <= torc_compact_capacity(block));
}

static int change_full(const struct change *change, uint64_t root);

/* The block cannot hold the times: the hash becomes full, all of it beside the block first. */
static int change_to_full(const struct change *change, uint64_t ref)
{
    struct torc_keyspace *keyspace = change->keyspace;
    struct torc_arena *arena = keyspace->arena;
    uint64_t root;
    uint64_t new_ref;
    int rc = torc_hash_build_full(keyspace, change->key, ref, &root, &new_ref);
    if (rc != 0) {
        return rc;
    }
    rc = change_full(change, root);
    if (rc != 0) {
        (void)torc_record_release(arena, torc_stream_shared(arena), new_ref);
        torc_full_destroy(arena, root);
        return rc;
    }
    torc_keyspace_replace(keyspace, change->key, ref, new_ref);
    torc_keyspace_note_full(keyspace, root);
    return 0;
}

/* The key's record may be another one afterwards. */
static int change_compact(const struct change *change, uint64_t ref)
{
    struct torc_keyspace *keyspace = change->keyspace;
    uint8_t *block = torc_keyspace_payload(record_at(keyspace, ref), change->key->name.len);
    if (has_room(change, block)) {
        size_t before = torc_compact_used(block);
        int rc = change_block(change, block);
        assert(rc == 0);
        (void)rc;
        size_t after = torc_compact_used(block);
        if (after < before && torc_compact_count(block) != 0) {
            keyspace->root->slack_bytes += before - after;
            torc_hash_trim(keyspace, ref, block);
        }
        return 0;
    }
    int rc = torc_compact_copy(block, keyspace->scratch, TORC_COMPACT_MAX_BYTES);
    assert(rc == 0);
    rc = change_block(change, keyspace->scratch);
    if (rc == 0) {
        return torc_hash_store_scratch(keyspace, change->key, ref);
    }
    return change_to_full(change, ref);
}

/* --- full --- */

static int change_full(const struct change *change, uint64_t root)
{
    struct torc_keyspace *keyspace = change->keyspace;
    struct torc_arena *arena = keyspace->arena;
    int rc = 0;
    for (size_t i = 0; i < change->n_fields && rc == 0; ++i) {
        struct torc_slice field = change->fields[i];
        uint64_t hash = torc_hash_slice(keyspace->seed, field);
        uint64_t old_when;
        int8_t result = TORC_EXPIRE_NO_FIELD;
        if (torc_full_expiry(arena, root, hash, field, keyspace->now, &old_when)) {
            result = decide(change, old_when);
        }
        if (result == TORC_EXPIRE_REMOVED) {
            (void)torc_full_del(arena, root, hash, field, keyspace->now);
        } else if (result == TORC_EXPIRE_SET) {
            rc = torc_full_set_expiry(arena, root, hash, field, keyspace->now, change->when);
        }
        change->results[i] = result;
    }
    return rc;
}

/* --- both --- */

static bool is_empty(const struct torc_keyspace *keyspace, const uint8_t *record)
{
    return torc_record_type(record) == TORC_RECORD_COMPACT
               ? torc_compact_count(torc_record_payload(record)) == 0
               : torc_full_count(keyspace->arena, torc_record_root(record)) == 0;
}

static int change_record(const struct change *change, uint64_t ref)
{
    struct torc_keyspace *keyspace = change->keyspace;
    const struct torc_key *key = change->key;
    const uint8_t *record = record_at(keyspace, ref);
    bool had_times = torc_keyspace_has_times(keyspace, record);
    uint64_t bound = torc_keyspace_bound(keyspace, record);
    uint64_t due =
        change->when == TORC_EXPIRY_NONE || torc_expiry_is_past(change->when, keyspace->now)
            ? TORC_EXPIRY_NEVER
            : change->when;
    int rc = torc_keyspace_reserve_due(keyspace, key, due, bound);
    if (rc != 0) {
        return rc;
    }
    if (torc_record_type(record) == TORC_RECORD_COMPACT) {
        rc = change_compact(change, ref);
    } else {
        rc = change_full(change, torc_record_root(record));
        torc_keyspace_note_full(keyspace, torc_record_root(record));
    }
    /* Of a full hash some fields may have their time if others were refused it. */
    ref = torc_keyspace_find_any(keyspace, key);
    record = record_at(keyspace, ref);
    torc_keyspace_recount(keyspace, had_times, record);
    if (torc_keyspace_bound(keyspace, record) < bound) {
        torc_keyspace_note_due(keyspace, key, due, bound);
    }
    if (is_empty(keyspace, record)) {
        torc_keyspace_remove(keyspace, key, ref);
    }
    (void)torc_keyspace_tend_due(keyspace);
    return rc;
}

static int change_times(const struct change *change)
{
    struct torc_keyspace *keyspace = change->keyspace;
    uint64_t ref = torc_keyspace_find(keyspace, change->key);
    if (ref != TORC_REF_NONE && torc_record_type(record_at(keyspace, ref)) == TORC_RECORD_STRING) {
        return -EINVAL;
    }
    if (ref != TORC_REF_NONE) {
        ref = torc_keyspace_reap_block(keyspace, change->key, ref);
    }
    if (ref == TORC_REF_NONE) {
        fill(change->results, change->n_fields, TORC_EXPIRE_NO_FIELD);
        return 0;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, change->key->hash);
    int rc = change_record(change, ref);
    torc_keyspace_end(keyspace);
    return rc;
}

int torc_hash_expire(struct torc_keyspace *keyspace, const struct torc_key *key,
                     const struct torc_slice *fields, size_t n_fields, uint64_t when,
                     unsigned conditions, int8_t *out_results)
{
    assert(when - 1 < TORC_EXPIRY_MAX);
    struct change change = {
        .keyspace = keyspace,
        .key = key,
        .fields = fields,
        .n_fields = n_fields,
        .when = when,
        .conditions = conditions,
    };
    change.results = out_results;
    return change_times(&change);
}

int torc_hash_persist(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_slice *fields, size_t n_fields, int8_t *out_results)
{
    struct change change = {
        .keyspace = keyspace,
        .key = key,
        .fields = fields,
        .n_fields = n_fields,
        .when = TORC_EXPIRY_NONE,
    };
    change.results = out_results;
    return change_times(&change);
}

/* The field's time; TORC_EXPIRY_NEVER: it is not there, or past. */
static uint64_t time_of(const struct torc_keyspace *keyspace, const uint8_t *record,
                        struct torc_slice field)
{
    uint64_t hash = torc_hash_slice(keyspace->seed, field);
    uint64_t when = TORC_EXPIRY_NEVER;
    bool there = torc_record_type(record) == TORC_RECORD_COMPACT
                     ? torc_compact_expiry(torc_record_payload(record), hash, field, &when)
                     : torc_full_expiry(keyspace->arena, torc_record_root(record), hash, field,
                                        keyspace->now, &when);
    return there && !torc_expiry_is_past(when, keyspace->now) ? when : TORC_EXPIRY_NEVER;
}

int torc_hash_expiries(const struct torc_keyspace *keyspace, const struct torc_key *key,
                       const struct torc_slice *fields, size_t n_fields, int64_t *out_times)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    const uint8_t *record = ref != TORC_REF_NONE ? record_at(keyspace, ref) : NULL;
    if (record != NULL && torc_record_type(record) == TORC_RECORD_STRING) {
        return -EINVAL;
    }
    for (size_t i = 0; i < n_fields; ++i) {
        uint64_t when = record != NULL ? time_of(keyspace, record, fields[i]) : TORC_EXPIRY_NEVER;
        out_times[i] = when == TORC_EXPIRY_NEVER  ? TORC_EXPIRE_NO_FIELD
                       : when == TORC_EXPIRY_NONE ? TORC_EXPIRE_NO_TIME
                                                  : (int64_t)when;
    }
    return 0;
}
