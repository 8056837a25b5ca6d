/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaner: takes the live records out of the segments with the most dead bytes, in small steps, so
 * that a segment becomes free without a pause, a copy of everything, or a peak. A log cleaner as in
 * Rosenblum & Ousterhout 1992, greedy: its cost per byte won is live / dead of the victim.
 *
 * It keeps no state that could grow stale. Its victim is the segment at which the stream's ring of
 * closed segments starts, and its place in it is the end of a hole at the front, which it writes
 * over the records that it has moved away; nothing else makes a hole there. So a victim may be
 * freed in between, and any database may go on with it.
 *
 * A record is found in the table that refers to it: a field record by its owner, a key record by
 * its name, in all databases of the arena and in what was flushed but is not yet freed (why no
 * number in the record: docs/decisions/0004-cleaner.md).
 *
 * Thread: the arena's owner; borrowed slices die.
 */
#ifndef TORC_HASH_CLEANER_H
#define TORC_HASH_CLEANER_H

#include "hash/keyspace.h"

/* When a stream is cleaned: `dead_min_bytes` of dead records at least, and more than one part in
 * `dead_part` of all. */
struct torc_clean_goal {
    uint64_t dead_min_bytes;
    uint32_t dead_part;
};

/* Clean the shared stream and those of large hashes of this keyspace for `budget` units: a record
 * moved and each KiB of it are one, 16 dead records passed are one. Returns the units left;
 * *out_more: the goal is not reached yet, and more budget would help. */
unsigned torc_cleaner_step(struct torc_keyspace *keyspace, const struct torc_clean_goal *goal,
                           unsigned budget, bool *out_more);

#endif
