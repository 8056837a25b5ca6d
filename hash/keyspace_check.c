/* SPDX-License-Identifier: Apache-2.0
 *
 * torc_keyspace_check(): everything that hangs on the roots of an arena, on memory that may be
 * damaged or a dead server's.
 *
 * First from the roots down: tables, key records, blocks, full hashes, lists. Then from the other
 * side: each live record of the shared segments must be one that a table refers to, and in bytes
 * both sides must be equal; so no record is lost and none is kept twice. Last, what the arena
 * counts as used must be what was found.
 */
#include "hash/inspect_private.h"
#include "hash/keyspace_private.h"

struct check {
    const struct torc_arena *arena;
    const struct torc_keyspace_root *root; /* that is being walked */
    bool is_live;                          /* it is a database's, not a flushed one */
    uint64_t n_keys;                       /* of this root */
    uint64_t n_expiring;                   /* those that have a time */
    uint64_t n_expiring_hashes;            /* and those whose fields have */
    uint64_t n_listed;                     /* hashes that say they wait for the cleaner */
    uint64_t shared_bytes;                 /* records that were found, in shared segments */
    uint64_t index_bytes;
    uint64_t root_bytes;
    uint64_t segment_bytes;
    uint64_t extent_bytes;
    uint64_t steps_left; /* of lists: all together are no longer than there are roots */
    const char *fault;   /* the first that was found */
};

static bool is_block(const struct torc_arena *arena, uint64_t ref, unsigned size_log2)
{
    return ref % (1u << size_log2) == 0 && torc_inspect_is_inside(arena, ref, 1u << size_log2);
}

/* Keep the first fault. */
static void note(struct check *c, const char *fault)
{
    if (c->fault == NULL) {
        c->fault = fault;
    }
}

/* --- from the roots down --- */

static void check_full(struct check *c, uint64_t ref, bool is_dropped)
{
    const char *why = NULL;
    if (torc_full_check(c->arena, ref, &why) != 0) {
        note(c, why);
        return;
    }
    const struct torc_full *full = torc_full_at(c->arena, ref);
    if (!is_dropped && full->state != TORC_FULL_LIVE) {
        note(c, "keyspace: a key refers to a hash that is being freed");
    }
    if (full->state != TORC_FULL_TEARING) {
        c->shared_bytes += full->record_bytes - full->stream.live;
    }
    c->index_bytes += torc_table_bytes(&full->table) + full->due.bytes;
    c->root_bytes += 1u << TORC_FULL_ROOT_LOG2;
    c->segment_bytes += torc_inspect_segment_bytes(c->arena, &full->stream);
    c->extent_bytes += torc_inspect_extent_bytes(c->arena, &full->stream);
    c->n_listed += !is_dropped && c->is_live && full->in_clean_list != 0;
}

/* Nothing ends before the due tree says, neither the key nor what is in its hash, whose times are
 * not before `bound`. */
static void check_times(struct check *c, const struct torc_record_view *view, uint64_t bound)
{
    c->n_expiring += view->expiry != TORC_EXPIRY_NONE;
    c->n_expiring_hashes += bound != TORC_EXPIRY_NEVER;
    if (view->expiry != TORC_EXPIRY_NONE) {
        bound = torc_min_u64(bound, view->expiry);
    }
    uint64_t hash = torc_hash_slice(torc_arena_seed(c->arena), view->name);
    if (c->fault == NULL && c->is_live &&
        torc_due_bound_of(c->arena, &c->root->due, hash) > bound) {
        note(c, "keyspace: a key or field that ends sooner than the due tree knows");
    }
}

static void check_key(struct check *c, uint64_t ref)
{
    struct torc_record_view view;
    const char *why = torc_inspect_record(c->arena, ref, TORC_REF_NONE, &view);
    if (why != NULL) {
        note(c, why);
        return;
    }
    ++c->n_keys;
    if (view.claimed) {
        note(c, "keyspace: a key record that is claimed");
    }
    c->shared_bytes += view.bytes;
    uint64_t bound = TORC_EXPIRY_NEVER;
    if (view.type == TORC_RECORD_FULL) {
        check_full(c, torc_load_u40(view.payload.data), false);
        if (c->fault == NULL) {
            bound = torc_full_due(torc_full_at(c->arena, torc_load_u40(view.payload.data)));
        }
    } else if (view.type == TORC_RECORD_COMPACT) {
        if (torc_compact_check(view.payload.data, view.payload.len, torc_arena_seed(c->arena),
                               &why) != 0) {
            note(c, why);
        } else if (torc_compact_count(view.payload.data) == 0) {
            note(c, "keyspace: a hash without fields");
        } else {
            bound = torc_compact_due(view.payload.data);
        }
    } else if (view.type != TORC_RECORD_STRING) {
        note(c, "keyspace: an entry that is no key");
    }
    check_times(c, &view, bound);
}

static void visit_key(void *arg, uint64_t ref)
{
    struct check *c = arg;
    if (c->fault == NULL) {
        check_key(c, ref);
    }
}

static void check_clean_list(struct check *c, const struct torc_keyspace_root *root)
{
    uint64_t previous = TORC_REF_NONE;
    uint64_t ref = root->clean_first;
    uint64_t n = 0;
    while (ref != TORC_REF_NONE && c->fault == NULL) {
        if (c->steps_left-- == 0 || !is_block(c->arena, ref, TORC_FULL_ROOT_LOG2)) {
            note(c, "keyspace: broken list of hashes to clean");
            return;
        }
        const struct torc_full *full = torc_full_at(c->arena, ref);
        if (full->magic != TORC_FULL_MAGIC || full->state != TORC_FULL_LIVE ||
            full->in_clean_list == 0 || full->clean_prev != previous) {
            note(c, "keyspace: list of hashes to clean");
        }
        previous = ref;
        ref = full->clean_next;
        ++n;
    }
    if (root->clean_last != previous || n != c->n_listed) {
        note(c, "keyspace: a hash to clean is not in the list");
    }
}

static void check_drop_list(struct check *c, uint64_t ref)
{
    while (ref != TORC_REF_NONE && c->fault == NULL) {
        if (c->steps_left-- == 0) {
            note(c, "keyspace: endless list of hashes to free");
            return;
        }
        check_full(c, ref, true);
        if (c->fault == NULL) {
            ref = torc_full_at(c->arena, ref)->drop_next;
        }
    }
}

/* One root without its lists. */
static void check_root(struct check *c, uint64_t ref, bool is_live)
{
    const char *why = NULL;
    if (!is_block(c->arena, ref, TORC_KEYSPACE_ROOT_LOG2) ||
        torc_keyspace_root_at(c->arena, ref)->magic != TORC_KEYSPACE_MAGIC) {
        note(c, "keyspace: not a root");
        return;
    }
    const struct torc_keyspace_root *root = torc_keyspace_root_at(c->arena, ref);
    note(c, torc_inspect_table(c->arena, &root->table));
    if (c->fault == NULL && is_live && torc_table_check(c->arena, &root->table, &why) != 0) {
        note(c, why);
    }
    if (c->fault == NULL && torc_due_check(c->arena, &root->due, &why) != 0) {
        note(c, why);
    }
    if (c->fault != NULL) {
        return;
    }
    c->root = root;
    c->is_live = is_live;
    c->n_keys = 0;
    c->n_expiring = 0;
    c->n_expiring_hashes = 0;
    (void)torc_table_scan(c->arena, &root->table, 0, UINT64_MAX, visit_key, c);
    if (c->n_keys != root->table.count) {
        note(c, "keyspace: number of keys");
    }
    if (is_live &&
        (c->n_expiring != root->n_expiring || c->n_expiring_hashes != root->n_expiring_hashes)) {
        note(c, "keyspace: number of keys or hashes with times");
    }
    c->index_bytes += torc_table_bytes(&root->table) + root->due.bytes;
    c->root_bytes += 1u << TORC_KEYSPACE_ROOT_LOG2;
}

static void check_database(struct check *c, uint64_t ref)
{
    c->n_listed = 0;
    check_root(c, ref, true);
    if (c->fault != NULL) {
        return;
    }
    const struct torc_keyspace_root *root = torc_keyspace_root_at(c->arena, ref);
    if (root->spare != TORC_REF_NONE) {
        c->root_bytes += 1u << TORC_KEYSPACE_ROOT_LOG2;
        if (!is_block(c->arena, root->spare, TORC_KEYSPACE_ROOT_LOG2) ||
            torc_keyspace_root_at(c->arena, root->spare)->magic != TORC_KEYSPACE_MAGIC) {
            note(c, "keyspace: spare root");
        }
    } else if (root->table.count != 0) {
        note(c, "keyspace: keys and no spare root");
    }
    check_clean_list(c, root);
    check_drop_list(c, root->drop_hashes);
    uint64_t dropped = root->dropped;
    while (dropped != TORC_REF_NONE && c->fault == NULL) {
        if (c->steps_left-- == 0) {
            note(c, "keyspace: endless list of flushed roots");
            return;
        }
        check_root(c, dropped, false);
        if (c->fault == NULL) {
            dropped = torc_keyspace_root_at(c->arena, dropped)->drop_next;
        }
    }
}

/* --- from the segments up --- */

/* Some table of keys refers to the record. All roots were found sound. */
static bool key_is_known(const struct torc_arena *arena, uint64_t ref, struct torc_slice name)
{
    uint64_t hash = torc_hash_slice(torc_arena_seed(arena), name);
    for (unsigned i = 0; i < TORC_ARENA_DATABASES; ++i) {
        uint64_t next = torc_arena_root(arena, i);
        bool is_live = true;
        while (next != TORC_REF_NONE) {
            const struct torc_keyspace_root *root = torc_keyspace_root_at(arena, next);
            if (torc_table_find(arena, &root->table, hash, name) == ref) {
                return true;
            }
            next = is_live ? root->dropped : root->drop_next;
            is_live = false;
        }
    }
    return false;
}

static bool field_is_known(const struct torc_arena *arena, uint64_t ref,
                           const struct torc_record_view *view)
{
    if (!is_block(arena, view->owner, TORC_FULL_ROOT_LOG2)) {
        return false;
    }
    const struct torc_full *full = torc_full_at(arena, view->owner);
    uint64_t hash = torc_hash_slice(torc_arena_seed(arena), view->name);
    return full->magic == TORC_FULL_MAGIC && full->stream.owner == view->owner &&
           (full->state == TORC_FULL_LIVE || full->state == TORC_FULL_DROPPING) &&
           torc_table_find(arena, &full->table, hash, view->name) == ref;
}

static const char *visit_shared(void *arg, uint64_t ref, const struct torc_record_view *view)
{
    const struct check *c = arg;
    if (view->type == TORC_RECORD_FIELD) {
        return "keyspace: a record without owner in a shared segment";
    }
    bool is_known = view->type == TORC_RECORD_FIELD_OWNED ? field_is_known(c->arena, ref, view)
                                                          : key_is_known(c->arena, ref, view->name);
    return is_known ? NULL : "keyspace: a live record that no table knows";
}

static void check_shared(struct check *c)
{
    /* The shared stream lies in the superblock; asking for it changes nothing. */
    struct torc_arena reader = *c->arena;
    const struct torc_stream *shared = torc_stream_shared(&reader);
    note(c, torc_inspect_stream(c->arena, shared, visit_shared, c));
    c->segment_bytes += torc_inspect_segment_bytes(c->arena, shared);
    c->extent_bytes += torc_inspect_extent_bytes(c->arena, shared);
    if (c->shared_bytes != shared->live) {
        note(c, "keyspace: records found are not as many bytes as live");
    }
}

int torc_keyspace_check_arena(const struct torc_arena *arena, const char **out_why)
{
    int rc = torc_arena_check(arena, out_why);
    if (rc != 0) {
        return rc;
    }
    struct check c = {
        .arena = arena,
        .steps_left = torc_arena_used_by(arena, TORC_USE_ROOT) >> TORC_KEYSPACE_ROOT_LOG2,
    };
    for (unsigned i = 0; i < TORC_ARENA_DATABASES && c.fault == NULL; ++i) {
        uint64_t ref = torc_arena_root(arena, i);
        if (ref != TORC_REF_NONE) {
            check_database(&c, ref);
        }
    }
    if (c.fault == NULL) {
        check_shared(&c);
    }
    if (c.index_bytes != torc_arena_used_by(arena, TORC_USE_INDEX)) {
        note(&c, "keyspace: index memory that belongs to no table");
    }
    if (c.root_bytes != torc_arena_used_by(arena, TORC_USE_ROOT)) {
        note(&c, "keyspace: roots that nothing refers to");
    }
    if (c.segment_bytes != torc_arena_used_by(arena, TORC_USE_SEGMENT) ||
        c.extent_bytes != torc_arena_used_by(arena, TORC_USE_EXTENT)) {
        note(&c, "keyspace: segments or extents that belong to no stream");
    }
    return torc_inspect_result(c.fault, out_why);
}

int torc_keyspace_check(const struct torc_keyspace *keyspace, const char **out_why)
{
    uint64_t ref = torc_arena_root(keyspace->arena, keyspace->index);
    if (ref == TORC_REF_NONE || torc_arena_at(keyspace->arena, ref) != keyspace->root) {
        return torc_inspect_result("keyspace: the handle's root is another", out_why);
    }
    return torc_keyspace_check_arena(keyspace->arena, out_why);
}
