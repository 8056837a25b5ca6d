/* SPDX-License-Identifier: Apache-2.0
 *
 * What a keyspace looks like inside: its root in the arena, the handle, and the steps that keys,
 * hashes and maintenance share. For the files of the module and its tests. Layout of the root:
 * docs/formats/record.md.
 */
#ifndef TORC_HASH_KEYSPACE_PRIVATE_H
#define TORC_HASH_KEYSPACE_PRIVATE_H

#include "core/hashing.h"
#include "hash/due.h"
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
    uint64_t slack_bytes;       /* slack given to compact blocks since the last trimming began */
    uint64_t trim_cursor;       /* how far the trimming is, as of torc_table_scan() */
    uint64_t trimming;          /* 1: a trimming is under way */
    struct torc_due due;        /* per key: no later than its time and those of its hash's fields */
    uint64_t n_expiring;        /* keys that have a time */
    uint64_t n_expiring_hashes; /* hashes with fields that have one */
};
static_assert(offsetof(struct torc_keyspace_root, table) == 8, "database root: table");
static_assert(offsetof(struct torc_keyspace_root, spare) == 136, "database root: spare");
static_assert(offsetof(struct torc_keyspace_root, trimming) == 208, "database root: trimming");
static_assert(offsetof(struct torc_keyspace_root, due) == 216, "database root: due");
static_assert(sizeof(struct torc_keyspace_root) == 1u << TORC_KEYSPACE_ROOT_LOG2,
              "a root is one block");

struct torc_keyspace {
    struct torc_arena *arena;
    struct torc_keyspace_root *root;
    const struct torc_hash_limits *limits;
    uint64_t seed;
    uint64_t now; /* what ends at this or before is past; 0: no time was set yet */
    uint64_t expired_keys, expired_fields, expired_in_passing; /* as struct torc_expiry_facts */
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
    TORC_OPERATION_EXPIRE = 7, /* times of a key or its fields are set, or what is past removed */
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

/* The key's record, past or not, or TORC_REF_NONE. */
static inline uint64_t torc_keyspace_find_any(const struct torc_keyspace *keyspace,
                                              const struct torc_key *key)
{
    return torc_table_find(keyspace->arena, &keyspace->root->table, key->hash, key->name);
}

/* Of the record of a key that has a time: it, or TORC_REF_NONE if that is past. */
uint64_t torc_keyspace_unless_past(const struct torc_keyspace *keyspace, uint64_t ref) TORC_COLD;

/* The key's record, or TORC_REF_NONE: also if the key is past. */
static inline uint64_t torc_keyspace_find(const struct torc_keyspace *keyspace,
                                          const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find_any(keyspace, key);
    if (TORC_LIKELY(ref != TORC_REF_NONE) &&
        TORC_UNLIKELY(torc_record_expires(torc_arena_at(keyspace->arena, ref)))) {
        return torc_keyspace_unless_past(keyspace, ref);
    }
    return ref;
}

/* What torc_keyspace_find_to_change() does about a key that has a time. */
uint64_t torc_keyspace_remove_if_past(struct torc_keyspace *keyspace, const struct torc_key *key,
                                      uint64_t ref) TORC_COLD;

/* The same for commands that may make the key anew: one that is past is removed. */
static inline uint64_t torc_keyspace_find_to_change(struct torc_keyspace *keyspace,
                                                    const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find_any(keyspace, key);
    if (TORC_LIKELY(ref != TORC_REF_NONE) &&
        TORC_UNLIKELY(torc_record_expires(torc_arena_at(keyspace->arena, ref)))) {
        return torc_keyspace_remove_if_past(keyspace, key, ref);
    }
    return ref;
}

/* The payload of a key record whose key is known to have `key_len` bytes: no length is read. */
static inline uint8_t *torc_keyspace_payload(uint8_t *record, size_t key_len)
{
    return record + torc_record_key_head_bytes(key_len, torc_record_expires(record));
}

/* --- keyspace.c --- */

/* Add the record of a key that is absent. -ENOSPC, -ENOMEM: nothing changed. */
int torc_keyspace_insert(struct torc_keyspace *keyspace, const struct torc_key *key,
                         uint64_t ref) TORC_MUST_USE;

/* The key's record is `ref` from now on; the old one is released. */
void torc_keyspace_replace(struct torc_keyspace *keyspace, const struct torc_key *key,
                           uint64_t old_ref, uint64_t ref);

/* The entry of the key points at `ref` from now on; what `old_ref` was is gone, with all that hangs
 * on it. */
void torc_keyspace_supersede(struct torc_keyspace *keyspace, const struct torc_key *key,
                             uint64_t old_ref, uint64_t ref);

/* Remove the key with its record and all that hangs on it. */
void torc_keyspace_remove(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref);

/* Bytes of the key record `ref` and all that hangs on it: torc_keyspace_usage(). */
uint64_t torc_keyspace_bytes_of(const struct torc_keyspace *keyspace, uint64_t ref);

/* A full hash of this keyspace has changed: note if the cleaner shall visit it. */
void torc_keyspace_note_full(struct torc_keyspace *keyspace, uint64_t root);

/* Take a full hash out of the list that the cleaner visits, if it is there. */
void torc_keyspace_unlist(struct torc_keyspace *keyspace, struct torc_full *full);

/* --- expiry.c --- */

/* Shall what ends at `old_when` (TORC_EXPIRY_NONE: never) end at `when`? Of enum
 * torc_expire_condition. */
bool torc_keyspace_is_met(unsigned conditions, uint64_t old_when, uint64_t when);

/* Do fields of this key's hash have times? */
bool torc_keyspace_has_times(const struct torc_keyspace *keyspace, const uint8_t *record);

/* Neither the key nor a field of its hash ends before this; TORC_EXPIRY_NEVER. */
uint64_t torc_keyspace_bound(const struct torc_keyspace *keyspace, const uint8_t *record);

/* The hash of `record` had fields with times, or had none: count it anew. */
void torc_keyspace_recount(struct torc_keyspace *keyspace, bool had_times, const uint8_t *record);

/* Something of the key will end at `when` (TORC_EXPIRY_NEVER: nothing), and until now nothing did
 * before `bound`: make sure that it can be noted. -ENOSPC, -ENOMEM. */
int torc_keyspace_reserve_due(struct torc_keyspace *keyspace, const struct torc_key *key,
                              uint64_t when, uint64_t bound) TORC_MUST_USE;
/* And note it. */
void torc_keyspace_note_due(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t when, uint64_t bound);

/* When nothing has a time any more, the due tree goes, in steps if it is large. True while there is
 * more. */
bool torc_keyspace_tend_due(struct torc_keyspace *keyspace);

/* Remove what is past of a compact hash in passing. The record `ref`, or TORC_REF_NONE if nothing
 * is left and the key was removed. O(1) if nothing is due. */
uint64_t torc_keyspace_reap_block(struct torc_keyspace *keyspace, const struct torc_key *key,
                                  uint64_t ref);

/* --- hash.c --- */

/* After fields were removed from the block of the compact record `ref`: cut slack off if there is
 * much. */
void torc_hash_trim(struct torc_keyspace *keyspace, uint64_t ref, uint8_t *block);

/* Make the block of a compact record as small as it gets, in place, if that saves `min_saved` bytes
 * (1 or more). The record is no extent. */
void torc_hash_pack(struct torc_keyspace *keyspace, uint64_t ref, size_t min_saved);

/* --- hash_put.c --- */

/* Make a full hash of the fields of the compact one of the key's record `ref`, and a record for it
 * to take the place of that; nothing refers to either yet. -ENOSPC, -ENOMEM: nothing changed. */
int torc_hash_build_full(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref,
                         uint64_t *out_root, uint64_t *out_ref) TORC_MUST_USE;

/* Write the compact block in the handle's scratch memory over that of the key's record `ref`: in
 * place, or into a new record that replaces it. -ENOSPC, -ENOMEM: nothing changed. */
int torc_hash_store_scratch(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t ref) TORC_MUST_USE;

/* torc_full_put() as the limits say. `whens`: a time for each pair, or NULL: `when` for all. */
int64_t torc_hash_put_to_full(struct torc_keyspace *keyspace, uint64_t root,
                              const struct torc_pair *pairs, size_t n_pairs, uint64_t when,
                              const uint64_t *whens) TORC_MUST_USE;

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
