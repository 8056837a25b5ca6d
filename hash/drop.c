/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropping in steps: hashes that were deleted, and all keys of a flushed keyspace.
 *
 * Lists in the live root of the keyspace say what is to be freed. An entry leaves its table before
 * its record is freed, so that whatever is still in a table is valid.
 */
#include "hash/drain_private.h"
#include "hash/keyspace_private.h"

/* A hash that is freed within this many units goes at once. */
#define DROP_NOW_UNITS 32u
/* Units of one hash before the budget is looked at again. */
#define DROP_SHARE_UNITS 128u

static void list_hash(struct torc_keyspace *keyspace, uint64_t root)
{
    struct torc_full *full = torc_full_at(keyspace->arena, root);
    full->drop_next = keyspace->root->drop_hashes;
    keyspace->root->drop_hashes = root;
}

void torc_drop_full(struct torc_keyspace *keyspace, uint64_t root)
{
    if (torc_full_drop_step(keyspace->arena, root, DROP_NOW_UNITS)) {
        list_hash(keyspace, root);
    }
}

static unsigned drop_hashes(struct torc_keyspace *keyspace, unsigned budget)
{
    struct torc_arena *arena = keyspace->arena;
    while (budget > 0 && keyspace->root->drop_hashes != TORC_REF_NONE) {
        uint64_t root = keyspace->root->drop_hashes;
        uint64_t next = torc_full_at(arena, root)->drop_next;
        unsigned share = (unsigned)torc_min_u64(budget, DROP_SHARE_UNITS);
        if (!torc_full_drop_step(arena, root, share)) {
            keyspace->root->drop_hashes = next;
        }
        budget -= share;
    }
    return budget;
}

struct drop_visit {
    struct torc_keyspace *keyspace;
    unsigned n_seen;
};

static void drop_key(void *arg, uint64_t ref)
{
    struct drop_visit *v = arg;
    struct torc_arena *arena = v->keyspace->arena;
    const uint8_t *record = torc_arena_at(arena, ref);
    ++v->n_seen;
    if (torc_record_type(record) == TORC_RECORD_FULL) {
        list_hash(v->keyspace, torc_record_root(record));
    }
    (void)torc_record_release(arena, torc_stream_shared(arena), ref);
}

static unsigned drop_flushed(struct torc_keyspace *keyspace, unsigned budget)
{
    struct torc_arena *arena = keyspace->arena;
    while (budget > 0 && keyspace->root->dropped != TORC_REF_NONE) {
        uint64_t ref = keyspace->root->dropped;
        struct torc_keyspace_root *root = torc_keyspace_root_at(arena, ref);
        if (root->table.count > 0) {
            struct drop_visit v = {.keyspace = keyspace};
            root->drop_cursor =
                torc_drain_line(arena, &root->table, root->drop_cursor, drop_key, &v);
            budget -= (unsigned)torc_min_u64(budget, 1 + v.n_seen);
            continue;
        }
        --budget;
        if (!torc_table_drop_step(arena, &root->table) && !torc_due_drop_step(arena, &root->due)) {
            keyspace->root->dropped = root->drop_next;
            torc_arena_block_free(arena, ref, TORC_KEYSPACE_ROOT_LOG2, TORC_USE_ROOT);
        }
    }
    return budget;
}

unsigned torc_drop_step(struct torc_keyspace *keyspace, unsigned budget, bool *out_more)
{
    const struct torc_keyspace_root *root = keyspace->root;
    if (root->drop_hashes == TORC_REF_NONE && root->dropped == TORC_REF_NONE) {
        *out_more = false;
        return budget;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_DROP, 0);
    budget = drop_hashes(keyspace, budget);
    budget = drop_flushed(keyspace, budget);
    torc_keyspace_end(keyspace);
    *out_more = root->drop_hashes != TORC_REF_NONE || root->dropped != TORC_REF_NONE;
    return budget;
}
