/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry: times at which keys and single fields end. Design: docs/decisions/0012-expiry.md.
 *
 * A time is absolute, in milliseconds since 1970-01-01 UTC, below 2^46 (year 4199). What has a time
 * at or before the keyspace's own is past: absent for every function of this module, whether its
 * memory was freed or not. It is found by lower bounds over ranges of hashes (hash/due.h), one tree
 * for the keys of a database and one for the fields of each full hash; a compact block has one
 * bound for all its fields. So what is due is removed in steps (torc_keyspace_reap()), and the work
 * is in proportion to what expires.
 *
 * Who needs an exact answer about a whole hash or about the database, such as a count, first has
 * what is due removed: torc_keyspace_reap_key(), torc_keyspace_reap(). Both are bounded: false, and
 * the caller comes again later. Single fields are looked at one by one and need no such step.
 *
 * Thread: the arena's owner. Functions that set times take memory and can be refused, then nothing
 * has changed: -ENOSPC over the limit, -ENOMEM; but of several fields of a full hash, those before
 * the one that was refused may be changed. -EINVAL: the key holds no hash (functions on fields
 * only).
 */
#ifndef TORC_HASH_EXPIRY_H
#define TORC_HASH_EXPIRY_H

#include "hash/expiry_time.h"
#include "hash/keyspace.h"

/* When a time is set only. XX may go with GT or LT; other pairs are the caller's fault. No time
 * counts as later than any. */
enum torc_expire_condition {
    TORC_EXPIRE_ALWAYS = 0,
    TORC_EXPIRE_NX = 1, /* if there is none */
    TORC_EXPIRE_XX = 2, /* if there is one */
    TORC_EXPIRE_GT = 4, /* if later than the one there is */
    TORC_EXPIRE_LT = 8, /* if earlier than the one there is */
};

/* What became of one field: the numbers that HEXPIRE and HPERSIST answer. */
enum torc_expire_result {
    TORC_EXPIRE_NO_FIELD = -2, /* or no key */
    TORC_EXPIRE_NO_TIME = -1,  /* persist: it had none */
    TORC_EXPIRE_NOT_MET = 0,   /* the condition */
    TORC_EXPIRE_SET = 1,       /* or taken away, by persist */
    TORC_EXPIRE_REMOVED = 2,   /* the time is past: the field is gone */
};

/* --- the clock --- */

/* The time from now on. The caller reads a clock once a round of its work. If that went back, the
 * keyspace keeps its own time until nothing is due by it, then follows: what is past never comes
 * back. O(1). */
void torc_keyspace_set_time(struct torc_keyspace *keyspace, uint64_t now_ms);
uint64_t torc_keyspace_time(const struct torc_keyspace *keyspace);

/* --- keys --- */

/* 1 the key ends at `when`, 2 `when` is past and the key was removed, 0 no such key or condition
 * not met. O(1), plus the bytes of the record if the key had no time. */
int torc_keyspace_expire(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t when,
                         unsigned conditions) TORC_MUST_USE;
/* 1 the key has no time any more, 0 it had none or there is no such key. Needs memory only if the
 * record is an extent. */
int torc_keyspace_persist(struct torc_keyspace *keyspace, const struct torc_key *key) TORC_MUST_USE;
/* The key's time; -1 it has none, -2 no such key. */
int64_t torc_keyspace_expiry(const struct torc_keyspace *keyspace, const struct torc_key *key);

/* --- fields --- */

/* Give n fields the time `when`, one after the other: out_results[i] is that of fields[i]. 0 or an
 * error. The key goes with its last field. Needs no step before. O(n), plus the bytes of a compact
 * block. */
int torc_hash_expire(struct torc_keyspace *keyspace, const struct torc_key *key,
                     const struct torc_slice *fields, size_t n_fields, uint64_t when,
                     unsigned conditions, int8_t *out_results) TORC_MUST_USE;
/* Take the times of n fields away. */
int torc_hash_persist(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_slice *fields, size_t n_fields,
                      int8_t *out_results) TORC_MUST_USE;
/* out_times[i] is the time of fields[i], -1 if it has none, -2 if there is no such field or key. */
int torc_hash_expiries(const struct torc_keyspace *keyspace, const struct torc_key *key,
                       const struct torc_slice *fields, size_t n_fields,
                       int64_t *out_times) TORC_MUST_USE;

/* As torc_hash_put(), and each field that is written ends at `when`: TORC_EXPIRY_NONE never (what
 * torc_hash_put() does), TORC_EXPIRY_KEEP as it did before, a new field never. A past time removes
 * them. */
int64_t torc_hash_put_expiring(struct torc_keyspace *keyspace, const struct torc_key *key,
                               const struct torc_pair *pairs, size_t n_pairs,
                               uint64_t when) TORC_MUST_USE;
/* The same under an eviction policy (hash/evict.h). */
struct torc_evictor;
int64_t torc_hash_put_expiring_evicting(struct torc_keyspace *keyspace,
                                        struct torc_evictor *evictor, const struct torc_key *key,
                                        const struct torc_pair *pairs, size_t n_pairs,
                                        uint64_t when) TORC_MUST_USE;

/* --- whole keys --- */

/* The key `from` is called `to` from now on, with its times; what `to` was is gone, unless
 * `only_if_absent`. 1 done, 0 `to` is there; -ENOENT no `from`. Both equal: 1, or 0. The caller has
 * reaped both. O(1), plus the bytes of a compact block. */
int torc_keyspace_rename(struct torc_keyspace *keyspace, const struct torc_key *from,
                         const struct torc_key *to, bool only_if_absent) TORC_MUST_USE;
/* `to` becomes a copy of `from`, with its times. 1 done, 0 no `from`, or `to` is there and not to
 * be replaced. The caller has reaped both, and they differ. O(size of the hash). */
int torc_keyspace_copy(struct torc_keyspace *keyspace, const struct torc_key *from,
                       const struct torc_key *to, bool replace) TORC_MUST_USE;

/* --- removing what is due --- */

/* Remove what is past of this key: the key, or fields of its hash, and the key with its last field;
 * at most about `budget` fields of a full hash, and all of a compact one. True: nothing past is
 * left; false: come again. O(1) if nothing is due. */
bool torc_keyspace_reap_key(struct torc_keyspace *keyspace, const struct torc_key *key,
                            unsigned budget) TORC_MUST_USE;
/* The same for all keys, of many that are due in no order. `budget` counts keys and fields looked
 * at. True: nothing past is left. O(1) if nothing is due. */
bool torc_keyspace_reap(struct torc_keyspace *keyspace, unsigned budget) TORC_MUST_USE;
/* When reap() has something to do next at the earliest; TORC_EXPIRY_NEVER. A poller that sleeps
 * wakes up by then. O(1). */
uint64_t torc_keyspace_next_due(const struct torc_keyspace *keyspace);

/* --- what there is --- */

struct torc_expiry_facts {
    uint64_t n_keys;         /* keys that have a time */
    uint64_t n_hashes;       /* hashes with fields that have one */
    uint64_t expired_keys;   /* since the handle was opened: keys that ended by their own time */
    uint64_t expired_fields; /* fields that did, by reap() and reap_key() */
    uint64_t expired_fields_in_passing; /* and by commands that came across them */
    uint64_t average_ttl_ms;            /* of a sample of the keys that have a time; 0 none */
};
/* O(1), but for the average: a sample of the table. */
void torc_keyspace_expiry_facts(const struct torc_keyspace *keyspace,
                                struct torc_expiry_facts *out_facts);

#endif
