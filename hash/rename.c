/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole keys that get another name, or a copy under another name, with all times. The new record is
 * made beside what is there, so that a refused command changes nothing.
 */
#include "hash/expiry.h"
#include "hash/keyspace_private.h"

static uint8_t *record_at(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return torc_arena_at(keyspace->arena, ref);
}

static void release(struct torc_keyspace *keyspace, uint64_t ref)
{
    (void)torc_record_release(keyspace->arena, torc_stream_shared(keyspace->arena), ref);
}

/* A record for `to` with the type, time and payload of the record `from_ref`, whose key has
 * `from_len` bytes. */
static int make_record(struct torc_keyspace *keyspace, uint64_t from_ref, size_t from_len,
                       struct torc_slice to, uint64_t *out_ref)
{
    const uint8_t *record = record_at(keyspace, from_ref);
    uint64_t when = torc_record_key_expiry(record);
    bool expires = when != TORC_EXPIRY_NONE;
    uint64_t bytes = torc_record_bytes(record) - torc_record_key_head_bytes(from_len, expires);
    uint64_t ref;
    if (to.len > torc_min_u64(keyspace->limits->max_part_bytes, TORC_RECORD_PART_MAX)) {
        return -EMSGSIZE;
    }
    int rc = torc_record_alloc(keyspace->arena, torc_stream_shared(keyspace->arena),
                               torc_record_key_head_bytes(to.len, expires) + bytes, &ref);
    if (rc != 0) {
        return rc;
    }
    uint8_t *payload =
        torc_record_write_key(record_at(keyspace, ref), torc_record_type(record), when, to);
    memcpy(payload, torc_record_payload(record), bytes);
    *out_ref = ref;
    return 0;
}

/* The key is the record `ref` from now on. `old_ref`: what it was, or TORC_REF_NONE; that is gone
 * then. */
static int link_record(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t old_ref,
                       uint64_t ref)
{
    uint64_t bound = torc_keyspace_bound(keyspace, record_at(keyspace, ref));
    int rc = torc_keyspace_reserve_due(keyspace, key, bound, TORC_EXPIRY_NEVER);
    if (rc == 0 && old_ref == TORC_REF_NONE) {
        rc = torc_keyspace_insert(keyspace, key, ref);
    } else if (rc == 0) {
        torc_keyspace_supersede(keyspace, key, old_ref, ref);
    }
    if (rc == 0) {
        torc_keyspace_note_due(keyspace, key, bound, TORC_EXPIRY_NEVER);
    }
    return rc;
}

/* Take a key away whose hash another record has now. */
static void unlink_moved(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref)
{
    const uint8_t *record = record_at(keyspace, ref);
    keyspace->root->n_expiring -= torc_record_expires(record);
    keyspace->root->n_expiring_hashes -= torc_keyspace_has_times(keyspace, record);
    torc_table_remove(keyspace->arena, &keyspace->root->table, key->hash, ref);
    release(keyspace, ref);
}

static int rename_record(struct torc_keyspace *keyspace, const struct torc_key *from,
                         const struct torc_key *to, uint64_t from_ref, uint64_t to_ref)
{
    uint64_t ref;
    int rc = make_record(keyspace, from_ref, from->name.len, to->name, &ref);
    if (rc != 0) {
        return rc;
    }
    rc = link_record(keyspace, to, to_ref, ref);
    if (rc != 0) {
        release(keyspace, ref);
    } else {
        unlink_moved(keyspace, from, from_ref);
    }
    (void)torc_keyspace_tend_due(keyspace);
    return rc == 0 ? 1 : rc;
}

int torc_keyspace_rename(struct torc_keyspace *keyspace, const struct torc_key *from,
                         const struct torc_key *to, bool only_if_absent)
{
    uint64_t from_ref = torc_keyspace_find(keyspace, from);
    if (from_ref == TORC_REF_NONE) {
        return -ENOENT;
    }
    if (torc_slice_equal(from->name, to->name)) {
        return only_if_absent ? 0 : 1;
    }
    uint64_t to_ref = torc_keyspace_find_to_change(keyspace, to);
    if (to_ref != TORC_REF_NONE && only_if_absent) {
        return 0;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, to->hash);
    int rc = rename_record(keyspace, from, to, from_ref, to_ref);
    torc_keyspace_end(keyspace);
    return rc;
}

/* --- copy --- */

struct copy {
    struct torc_keyspace *keyspace;
    uint64_t root; /* of the copy */
    struct torc_pair_room room;
    int rc;
};

static void copy_pair(void *arg, const struct torc_pair *pair)
{
    struct copy *copy = arg;
    if (copy->rc != 0 || torc_expiry_is_past(copy->room.expiry, copy->keyspace->now)) {
        return;
    }
    int64_t created =
        torc_hash_put_to_full(copy->keyspace, copy->root, pair, 1, copy->room.expiry, NULL);
    copy->rc = created < 0 ? (int)created : 0;
}

/* Make a full hash with the fields of another one. */
static int copy_full(struct torc_keyspace *keyspace, uint64_t from_root, uint64_t *out_root)
{
    struct copy copy = {.keyspace = keyspace};
    copy.rc = torc_full_create(keyspace->arena, &copy.root);
    if (copy.rc != 0) {
        return copy.rc;
    }
    /* The keyspace's own press makes values short again while these are read. */
    struct torc_press *texts = torc_press_create();
    if (texts == NULL) {
        torc_full_destroy(keyspace->arena, copy.root);
        return -ENOMEM;
    }
    uint64_t cursor = 0;
    do {
        cursor = torc_full_scan(keyspace->arena, from_root, cursor, UINT64_MAX, texts, &copy.room,
                                copy_pair, &copy);
    } while (cursor != 0);
    torc_press_destroy(texts);
    if (copy.rc != 0) {
        torc_full_destroy(keyspace->arena, copy.root);
        return copy.rc;
    }
    *out_root = copy.root;
    return 0;
}

static int copy_record(struct torc_keyspace *keyspace, const struct torc_key *from,
                       const struct torc_key *to, uint64_t from_ref, uint64_t to_ref)
{
    uint64_t root = TORC_REF_NONE;
    uint64_t ref;
    int rc = make_record(keyspace, from_ref, from->name.len, to->name, &ref);
    if (rc != 0) {
        return rc;
    }
    if (torc_record_type(record_at(keyspace, from_ref)) == TORC_RECORD_FULL) {
        rc = copy_full(keyspace, torc_record_root(record_at(keyspace, from_ref)), &root);
        if (rc != 0) {
            release(keyspace, ref);
            return rc;
        }
        torc_store_u40(torc_keyspace_payload(record_at(keyspace, ref), to->name.len), root);
    }
    rc = link_record(keyspace, to, to_ref, ref);
    if (rc != 0) {
        release(keyspace, ref);
        if (root != TORC_REF_NONE) {
            torc_full_destroy(keyspace->arena, root);
        }
    }
    (void)torc_keyspace_tend_due(keyspace);
    return rc == 0 ? 1 : rc;
}

int torc_keyspace_copy(struct torc_keyspace *keyspace, const struct torc_key *from,
                       const struct torc_key *to, bool replace)
{
    assert(!torc_slice_equal(from->name, to->name));
    uint64_t from_ref = torc_keyspace_find(keyspace, from);
    if (from_ref == TORC_REF_NONE) {
        return 0;
    }
    uint64_t to_ref = torc_keyspace_find_to_change(keyspace, to);
    if (to_ref != TORC_REF_NONE && !replace) {
        return 0;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_PUT, to->hash);
    int rc = copy_record(keyspace, from, to, from_ref, to_ref);
    torc_keyspace_end(keyspace);
    return rc;
}
