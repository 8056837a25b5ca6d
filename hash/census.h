/* SPDX-License-Identifier: Apache-2.0
 *
 * Census: what the keys of a keyspace are and what they take, by kind. What the arena counts is
 * exact and needs no census (torc_arena_used_by(), torc_stream_shared()); this is about the rest,
 * and looks at a bounded number of keys.
 *
 * Thread: the arena's owner. Changes nothing.
 */
#ifndef TORC_HASH_CENSUS_H
#define TORC_HASH_CENSUS_H

#include "hash/keyspace.h"

struct torc_census {
    uint64_t n_keys;
    uint64_t n_looked_at;   /* == n_keys: the numbers below are exact; else they are estimates */
    uint64_t n_compact;     /* keys */
    uint64_t n_full;        /* keys */
    uint64_t compact_bytes; /* as torc_keyspace_usage() */
    uint64_t full_bytes;
    uint64_t slack_bytes; /* of compact_bytes: what packing would win */
};

/* Look at all keys if there are at most `most` (1 or more), else at `most` drawn with `seed`. Cost:
 * a miss of the cache or three for each that is looked at. */
struct torc_census torc_keyspace_census(const struct torc_keyspace *keyspace, uint64_t most,
                                        uint64_t seed);

#endif
