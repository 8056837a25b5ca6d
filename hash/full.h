/* SPDX-License-Identifier: Apache-2.0
 *
 * Full hash: a table of field records, for hashes that outgrew the compact block.
 *
 * The root lives in the arena at a fixed place, which is the hash's identity: field records (or the
 * heads of the segments that it owns) name it as their owner. A small full hash appends to the
 * arena's shared stream with an owner in each record; above TORC_FULL_OWN_STREAM_BYTES of live
 * records it gets segments of its own.
 *
 * Thread: the arena's owner. A multi-field set is all or nothing. Borrowed slices die at the next
 * mutation of the arena.
 */
#ifndef TORC_HASH_FULL_H
#define TORC_HASH_FULL_H

#include "core/segment.h"
#include "hash/compact.h"
#include "hash/table.h"

#define TORC_FULL_OWN_STREAM_BYTES (256u * 1024u)

struct torc_full {
    struct torc_table table;
    struct torc_stream stream; /* owner = this root; used once the hash is large */
    uint64_t record_bytes;     /* live bytes of all its field records, shared or own */
    uint64_t drop_next;        /* next root in the list of hashes being dropped */
};

/* An empty full hash. -ENOSPC, -ENOMEM. */
int torc_full_create(struct torc_arena *arena, uint64_t *out_root) TORC_MUST_USE;

/* Set all pairs (later duplicates win). Returns the number of fields created; -ENOSPC, -ENOMEM:
 * nothing changed. */
int64_t torc_full_put(struct torc_arena *arena, uint64_t root, const struct torc_pair *pairs,
                      size_t n_pairs) TORC_MUST_USE;

bool torc_full_find(const struct torc_arena *arena, uint64_t root, uint64_t hash,
                    struct torc_slice field, struct torc_slice *out_value) TORC_MUST_USE;

/* 1 removed, 0 was not there. */
int torc_full_del(struct torc_arena *arena, uint64_t root, uint64_t hash, struct torc_slice field);

uint64_t torc_full_count(const struct torc_arena *arena, uint64_t root);

/* As torc_table_scan(), with pairs. */
uint64_t torc_full_scan(const struct torc_arena *arena, uint64_t root, uint64_t cursor,
                        uint64_t min_homes, void (*visit)(void *arg, const struct torc_pair *pair),
                        void *arg);

/* Bytes that this hash uses, to the byte: root, index, live and dead records of its own segments,
 * live ones in shared segments. */
uint64_t torc_full_bytes(const struct torc_arena *arena, uint64_t root);

/* Free at most about `budget` records, blocks or segments; true while there is more, then the root
 * is freed too. */
bool torc_full_drop_step(struct torc_arena *arena, uint64_t root, unsigned budget);

int torc_full_check(const struct torc_arena *arena, uint64_t root,
                    const char **out_why) TORC_MUST_USE;

#endif
