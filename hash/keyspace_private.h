/* SPDX-License-Identifier: Apache-2.0
 *
 * What a keyspace looks like inside: its root in the arena, the handle, and the steps that keys,
 * hashes and maintenance share. For the files of the module and its tests. Layout of the root:
 * docs/formats/record.md.
 */
#ifndef TORC_HASH_KEYSPACE_PRIVATE_H
#define TORC_HASH_KEYSPACE_PRIVATE_H

#include "core/hashing.h"
#include "hash/full.h"
#include "hash/keyspace.h"
#include "hash/record.h"
#include "hash/table.h"

#define TORC_KEYSPACE_MAGIC     0x656361707379656bull /* "keyspace" */
#define TORC_KEYSPACE_ROOT_LOG2 8u                    /* the block that holds a root */

/* One database, in the arena; torc_arena_root() refers to it.
 *
 * A flush must be O(1) and must not fail, so a database with keys always has a spare root: the
 * flush puts it in place of the old root, which goes to the list `dropped` with all that hangs on
 * it. Its table is then drained in steps; what is still in it is valid, so that the cleaner can
 * move these records like any others. */
struct torc_keyspace_root {
    uint64_t magic; /* TORC_KEYSPACE_MAGIC */
    struct torc_table table;
    uint64_t spare;       /* the next flush's root; set while the table holds entries */
    uint64_t dropped;     /* list of flushed roots; only in the live root */
    uint64_t drop_next;   /* next in that list; only in flushed roots */
    uint64_t drop_cursor; /* the next line to drain; only in flushed roots */
    uint64_t drop_hashes; /* list of full hashes that are being freed; only in the live root */
    uint64_t clean_first; /* list of full hashes for the cleaner; only in the live root */
    uint64_t clean_last;
    uint64_t slack_bytes; /* slack given to compact blocks since the last trimming began */
    uint64_t trim_cursor; /* how far the trimming is, as of torc_table_scan() */
    uint64_t trimming;    /* 1: a trimming is under way */
};
static_assert(offsetof(struct torc_keyspace_root, table) == 8, "database root: table");
static_assert(offsetof(struct torc_keyspace_root, spare) == 136, "database root: spare");
static_assert(offsetof(struct torc_keyspace_root, trimming) == 208, "database root: trimming");
static_assert(sizeof(struct torc_keyspace_root) == 216, "database root");
static_assert(sizeof(struct torc_keyspace_root) <= 1u << TORC_KEYSPACE_ROOT_LOG2,
              "a root is one block");

struct torc_keyspace {
    struct torc_arena *arena;
    struct torc_keyspace_root *root;
    const struct torc_hash_limits *limits;
    uint64_t seed;
    struct torc_press *press;                /* never NULL; its texts are those of the last call */
    unsigned index;                          /* database */
    uint8_t scratch[TORC_COMPACT_MAX_BYTES]; /* a compact block while it is rewritten */
};

/* In-flight word: operation << 56 | database << 48 | high 48 bits of the key's hash (0 when it is
 * not about one key). */
enum torc_keyspace_operation {
    TORC_OPERATION_PUT = 1,
    TORC_OPERATION_DEL = 2,
    TORC_OPERATION_FLUSH = 3,
    TORC_OPERATION_DROP = 4,
    TORC_OPERATION_CLEAN = 5,
    TORC_OPERATION_TRIM = 6,
};

static inline void torc_keyspace_begin(struct torc_keyspace *keyspace,
                                       enum torc_keyspace_operation operation, uint64_t hash)
{
    torc_arena_set_in_flight(keyspace->arena, (uint64_t)operation << 56 |
                                                  (uint64_t)keyspace->index << 48 | hash >> 16);
}
static inline void torc_keyspace_end(struct torc_keyspace *keyspace)
{
    torc_arena_set_in_flight(keyspace->arena, 0);
}

static inline struct torc_keyspace_root *torc_keyspace_root_at(const struct torc_arena *arena,
                                                               uint64_t ref)
{
    return torc_arena_at(arena, ref);
}

/* The key's record, or TORC_REF_NONE. */
static inline uint64_t torc_keyspace_find(const struct torc_keyspace *keyspace,
                                          const struct torc_key *key)
{
    return torc_table_find(keyspace->arena, &keyspace->root->table, key->hash, key->name);
}

/* The payload of a key record whose key is known to have `key_len` bytes: no length is read. */
static inline uint8_t *torc_keyspace_payload(uint8_t *record, size_t key_len)
{
    return record + torc_record_key_head_bytes(key_len) +
           (torc_record_expires(record) ? TORC_RECORD_EXPIRY_BYTES : 0);
}

/* --- keyspace.c --- */

/* Add the record of a key that is absent. -ENOSPC, -ENOMEM: nothing changed. */
int torc_keyspace_insert(struct torc_keyspace *keyspace, const struct torc_key *key,
                         uint64_t ref) TORC_MUST_USE;

/* The key's record is `ref` from now on; the old one is released. */
void torc_keyspace_replace(struct torc_keyspace *keyspace, const struct torc_key *key,
                           uint64_t old_ref, uint64_t ref);

/* Remove the key with its record and all that hangs on it. */
void torc_keyspace_remove(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref);

/* Bytes of the key record `ref` and all that hangs on it: torc_keyspace_usage(). */
uint64_t torc_keyspace_bytes_of(const struct torc_keyspace *keyspace, uint64_t ref);

/* A full hash of this keyspace has changed: note if the cleaner shall visit it. */
void torc_keyspace_note_full(struct torc_keyspace *keyspace, uint64_t root);

/* Take a full hash out of the list that the cleaner visits, if it is there. */
void torc_keyspace_unlist(struct torc_keyspace *keyspace, struct torc_full *full);

/* --- hash.c --- */

/* Make the block of a compact record as small as it gets, in place, if that saves `min_saved` bytes
 * (1 or more). The record is no extent. */
void torc_hash_pack(struct torc_keyspace *keyspace, uint64_t ref, size_t min_saved);

/* --- demote.c --- */

/* Whether the full hash of this root is so small that it should be compact, if its parts are short
 * enough for that. O(1). */
bool torc_hash_is_small(const struct torc_keyspace *keyspace, uint64_t root);

/* Make the full hash of the key record `ref` compact if it is small: true, and the record is gone.
 * False: it is not, a part is too long for a compact hash, or there is no memory; nothing changed.
 * Bounded work, about 10 us. */
bool torc_hash_demote(struct torc_keyspace *keyspace, uint64_t ref);

/* --- drop.c --- */

/* Free a full hash that no key refers to any more: a small one now, a large one in steps. */
void torc_drop_full(struct torc_keyspace *keyspace, uint64_t root);

/* Free what flushes and deletes have left, `budget` units of it; returns the units left. *out_more:
 * there is more to do. */
unsigned torc_drop_step(struct torc_keyspace *keyspace, unsigned budget, bool *out_more);

#endif
