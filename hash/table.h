/* SPDX-License-Identifier: Apache-2.0
 *
 * Table: finds a record by its name. One structure serves the keyspace (name = key) and full hashes
 * (name = field).
 *
 * Swiss-style buckets (Abseil, CppCon 2017) of one cache line: fingerprints compared with one
 * vector instruction, 5-byte record references beside them. No tombstones, no stored hashes, no
 * side arrays.
 *
 *   line, 64 bytes:  10 fingerprints | 10 references of 5 bytes | spill count | occupancy ... |
 * version
 *
 * Bucket order is hash order: home = (hash * n_lines) >> 64. A full home spills into the next
 * lines; each line counts the entries that passed it by, so a miss stops at the first line that
 * nobody passed, and deletes leave no tombstones.
 *
 * Growth is an order-preserving stretch in place: n = (8 + j) * 2^k lines become n + 2^k. The new
 * 2^k lines are one block, so the directory is like a floating-point number: line L is in block 8k'
 * + ... found from the top four bits of L. A frontier walks down from the top; each mutation moves
 * at most two homes across it, so there is no rehash pause and the load stays between 78 and 88 %
 * at every size. Shrinking is the same walk upwards.
 *
 * A SCAN cursor is a hash value: it means the same place after growth and shrinking.
 *
 * Thread: the arena's owner. The struct lives in the arena.
 */
#ifndef TORC_HASH_TABLE_H
#define TORC_HASH_TABLE_H

#include "core/arena.h"
#include "core/slice.h"

/* Lives in the arena, inside a keyspace or full-hash root. */
struct torc_table {
    uint64_t count;      /* entries */
    uint64_t n_lines;    /* homes in the mapping that is in force everywhere, or below the frontier
                            while stretching */
    uint64_t n_target;   /* == n_lines when at rest, else the size being stretched or shrunk to */
    uint64_t frontier;   /* homes on its far side are in the target's mapping */
    uint64_t directory;  /* reference of an array of block references once they do not fit below; 0
                            before */
    uint64_t blocks[11]; /* first block references */
};
static_assert(sizeof(struct torc_table) == 128, "two cache lines");

/* An empty table: no memory until the first insert. */
void torc_table_init(struct torc_table *table);

/* The record called `name`, whose hash is `hash` (torc_hash_slice with the arena's seed), or
 * TORC_REF_NONE. O(1). */
uint64_t torc_table_find(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash, struct torc_slice name) TORC_MUST_USE;

/* Prefetch the home line for `hash`: the first step of a batch. */
void torc_table_prefetch(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash);

/* Promise that the next n inserts cannot fail (as long as no other allocation comes between).
 * -ENOSPC, -ENOMEM: unchanged. */
int torc_table_reserve(struct torc_arena *arena, struct torc_table *table,
                       uint64_t n) TORC_MUST_USE;

/* Add a record whose name is absent; room must have been reserved. Also does the mutation's share
 * of growth (at most two homes moved). */
void torc_table_insert(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref);

/* The entry that points at old_ref points at new_ref from now on: the record was rewritten or
 * moved. The entry must exist. */
void torc_table_replace(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                        uint64_t old_ref, uint64_t new_ref);

/* Take the entry for `ref` out; it must exist. Never allocates. Also does the mutation's share of
 * shrinking. */
void torc_table_remove(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref);

/* Visit at least `min_homes` homes from `cursor` (0 = start): calls visit(arg, ref) for each entry.
 * Returns the next cursor, 0 at the end. Whatever is there from the first to the last call is
 * visited at least once, whatever happens between calls. The visitor must not change the table. */
uint64_t torc_table_scan(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t cursor, uint64_t min_homes,
                         void (*visit)(void *arg, uint64_t ref), void *arg);

/* A uniformly chosen entry from the caller's 64 random bits, by rejection with at most a bounded
 * number of tries then a walk; TORC_REF_NONE if empty. */
uint64_t torc_table_random(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t random_bits);

/* Move up to n homes of an unfinished stretch or shrink. Returns true while there is more. */
bool torc_table_step(struct torc_arena *arena, struct torc_table *table, unsigned n_homes);

/* Free the index memory one block a call, entries not visited. Returns true while there is more;
 * afterwards as after init. */
bool torc_table_drop_step(struct torc_arena *arena, struct torc_table *table);

/* Bytes of index memory. */
uint64_t torc_table_bytes(const struct torc_table *table);

/* Walk all invariants: counts, spill counters, every entry reachable from its name, mapping and
 * frontier. 0 or -EBADMSG. */
int torc_table_check(const struct torc_arena *arena, const struct torc_table *table,
                     const char **out_why) TORC_MUST_USE;

#endif
