/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropping in steps: hashes that were deleted, and all keys of a flushed keyspace.
 *
 * Lists in the live root of the keyspace say what is to be freed. An entry leaves its table before
 * its record is freed, so that whatever is still in a table is valid: the cleaner and the checker
 * treat a half-dropped keyspace like any other.
 */
#include "hash/keyspace_private.h"

/* A hash that is freed within this many units goes at once. */
#define DROP_NOW_UNITS 32u
/* Units of one hash before the budget is looked at again. */
#define DROP_SHARE_UNITS 128u
/* Keys collected for removal at a time; a home holds fewer. */
#define BATCH_KEYS 64u

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

/* Keys of some homes. */
struct drop_batch {
    uint64_t refs[BATCH_KEYS];
    unsigned n_refs;
    bool is_full; /* there were more */
};

static void collect_key(void *arg, uint64_t ref)
{
    struct drop_batch *batch = arg;
    if (batch->n_refs == BATCH_KEYS) {
        batch->is_full = true;
        return;
    }
    batch->refs[batch->n_refs++] = ref;
}

/* Free the keys of one home; returns how many there were. */
static unsigned drop_home(struct torc_keyspace *keyspace, struct torc_keyspace_root *root)
{
    struct torc_arena *arena = keyspace->arena;
    struct drop_batch batch = {.n_refs = 0};
    uint64_t next =
        torc_table_scan(arena, &root->table, root->drop_cursor, 1, collect_key, &batch);
    for (unsigned i = 0; i < batch.n_refs; ++i) {
        const uint8_t *record = torc_arena_at(arena, batch.refs[i]);
        uint64_t hash = torc_hash_slice(keyspace->seed, torc_record_name(record));
        if (torc_record_type(record) == TORC_RECORD_FULL) {
            uint64_t full = torc_record_root(record);
            torc_full_at(arena, full)->in_clean_list = 0;
            list_hash(keyspace, full);
        }
        torc_table_remove(arena, &root->table, hash, batch.refs[i]);
        (void)torc_record_release(arena, torc_stream_shared(arena), batch.refs[i]);
    }
    if (!batch.is_full) {
        root->drop_cursor = next;
    }
    return batch.n_refs;
}

static unsigned drop_flushed(struct torc_keyspace *keyspace, unsigned budget)
{
    struct torc_arena *arena = keyspace->arena;
    while (budget > 0 && keyspace->root->dropped != TORC_REF_NONE) {
        uint64_t ref = keyspace->root->dropped;
        struct torc_keyspace_root *root = torc_keyspace_root_at(arena, ref);
        if (root->table.count > 0) {
            budget -= (unsigned)torc_min_u64(budget, 1 + drop_home(keyspace, root));
            continue;
        }
        --budget;
        if (!torc_table_drop_step(arena, &root->table)) {
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
