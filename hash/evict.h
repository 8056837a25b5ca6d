/* SPDX-License-Identifier: Apache-2.0
 *
 * Eviction: removing keys to make room for what is written, when the arena has a limit.
 *
 * What is live is held at seven eighths of the limit. The rest is what the cleaner needs: the bytes
 * of an evicted key are dead, in the middle of a segment, until the cleaner has moved away what
 * lives around them, and with one byte in ten dead it moves up to nine for one. So a write that
 * adds evicts about as much as it brings, and pays for the cleaning of that: nobody has to wait
 * while much is evicted at once. Only a write that finds too little room left does more, up to a
 * bound that grows with its bytes. Why: docs/decisions/0010-eviction.md.
 *
 * Thread: the arena's owner. No clock: what was used lately is known from marks in the index.
 */
#ifndef TORC_HASH_EVICT_H
#define TORC_HASH_EVICT_H

#include "hash/keyspace.h"

enum torc_evict_policy {
    TORC_EVICT_NEVER,
    TORC_EVICT_RANDOM, /* every key is as likely as any other */
    TORC_EVICT_LRU,    /* a key that was not used for long, nearly the longest */
};

#define TORC_EVICT_SAMPLES_MAX 64u

/* What an evictor remembers. Caller's storage; the caller sets it up. */
struct torc_evictor {
    enum torc_evict_policy policy;
    unsigned samples; /* LRU: how far to look for one key, 1 to TORC_EVICT_SAMPLES_MAX */
    uint64_t place;   /* state of the random numbers, or the hand: any number to start with */
    uint64_t n_keys;  /* evicted so far */
};

/* The key is used: with TORC_EVICT_LRU it will be kept for some time. To be called for every
 * command on a key, after it; a key that is not there does no harm. O(1). */
void torc_keyspace_touch(const struct torc_keyspace *keyspace, const struct torc_key *key);

/* Evict one key, but not `kept` (may be NULL). Returns the bytes that it took, 0: there was none to
 * evict. They are to be had after torc_keyspace_maintain() only, and a large hash is freed by it in
 * steps. Never fails. */
uint64_t torc_keyspace_evict(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                             const struct torc_key *kept);

/* torc_hash_put() and torc_hash_put_absent(), for which keys are evicted when that is necessary,
 * but never `key`. Errors as theirs: -ENOSPC when the keys that one command may evict were not
 * enough; the hash is unchanged then, but they are gone. What could not fit an empty arena evicts
 * nothing. With TORC_EVICT_NEVER the same as those. */
int64_t torc_hash_put_evicting(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                               const struct torc_key *key, const struct torc_pair *pairs,
                               size_t n_pairs) TORC_MUST_USE;
int torc_hash_put_absent_evicting(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                                  const struct torc_key *key,
                                  const struct torc_pair *pair) TORC_MUST_USE;

#endif
