/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyspace: one database of a shard, key -> hash. It chooses the representation (compact block or
 * full hash) and holds the rules that users see: a hash without fields does not exist; a refused
 * command leaves nothing behind.
 *
 * Everything is in the arena; this handle is a few words that can be made again from it (and
 * scratch memory: 64 KiB, and 2 MiB that stay untouched as long as no value is compressed). No
 * clock, no threads, no globals: the hash seed comes from the arena, limits from `struct
 * torc_hash_limits`.
 *
 * Thread: the arena's owner. Borrowed slices die at the next mutation of the arena, and every
 * maintenance step is one. The text of a value that was kept compressed lies in the handle and dies
 * at the next call for a value of any hash. Names and values passed to a function that changes
 * something must not be borrowed. Costs are those of the table and the representation: O(1) for a
 * key or field, O(bytes moved) for what is written, unless a function says otherwise.
 */
#ifndef TORC_HASH_KEYSPACE_H
#define TORC_HASH_KEYSPACE_H

#include "core/arena.h"
#include "hash/compact.h"

/* What MEMORY USAGE counts for the index entry of a key. An index line of 64 bytes holds at most
 * ten references and is 78 to 88 % full, so that an entry takes 7.3 to 8.2 bytes. */
#define TORC_KEYSPACE_ENTRY_BYTES 8u

struct torc_keyspace;

enum torc_type { TORC_TYPE_NONE, TORC_TYPE_HASH, TORC_TYPE_STRING };
enum torc_encoding { TORC_ENCODING_NONE, TORC_ENCODING_COMPACT, TORC_ENCODING_FULL };

struct torc_hash_limits {
    uint32_t compact_max_entries; /* hash-max-listpack-entries: 0 never compact, 65535 the block's
                                     size decides */
    uint32_t compact_max_value; /* hash-max-listpack-value: longest field or value in bytes, at most
                                   32767 */
    uint64_t max_part_bytes;    /* longest key, field or value: proto-max-bulk-len; 1 GiB - 1 is the
                                   most */
    bool
        disable_encoding; /* disable-encoding: store text as it comes from now on. A compact hash
                             that is there goes on as it was made; what is encoded stays readable */
    uint32_t compress_min_bytes; /* value-compression-min-bytes: a value of a full hash that is put
                                    from now on is compressed (hash/press.h) from this length on,
                                    if that makes it shorter by an eighth; at least 64, 0 = none.
                                    Not with disable_encoding. What is compressed stays readable */
};
#define TORC_HASH_LIMITS_DEFAULT                                                                   \
    {                                                                                              \
        .compact_max_entries = 65535, .compact_max_value = 32767, .max_part_bytes = 512 * TORC_MIB \
    }

/* A key with its hash: computed once per request (torc_keyspace_key), used by every step. */
struct torc_key {
    struct torc_slice name;
    uint64_t hash;
};

/* Open database `index` (< TORC_ARENA_DATABASES) of the arena; made when new. One handle for a
 * database at a time. The limits are read at every call, so the caller may change them; they live
 * longer than the handle. -EINVAL index, -ENOMEM, -ENOSPC, -EBADMSG what the arena holds there is
 * no keyspace. */
int torc_keyspace_open(struct torc_arena *arena, unsigned index,
                       const struct torc_hash_limits *limits,
                       struct torc_keyspace **out_keyspace) TORC_MUST_USE;
/* Free the handle; the data stay in the arena. NULL is fine. */
void torc_keyspace_close(struct torc_keyspace *keyspace);

struct torc_key torc_keyspace_key(const struct torc_keyspace *keyspace, struct torc_slice name);
/* First and second step of a batch: bring the index line, then the record, into the cache. */
void torc_keyspace_prefetch_line(const struct torc_keyspace *keyspace, const struct torc_key *key);
void torc_keyspace_prefetch_record(const struct torc_keyspace *keyspace,
                                   const struct torc_key *key);

/* --- keys --- */
enum torc_type torc_keyspace_type(const struct torc_keyspace *keyspace, const struct torc_key *key);
enum torc_encoding torc_keyspace_encoding(const struct torc_keyspace *keyspace,
                                          const struct torc_key *key);
/* True if it was there. A large hash is unlinked at once and freed in steps by
 * torc_keyspace_maintain(). Never fails. */
bool torc_keyspace_del(struct torc_keyspace *keyspace, const struct torc_key *key);
uint64_t torc_keyspace_count(const struct torc_keyspace *keyspace);
/* True to the byte: record (an extent with its pages), TORC_KEYSPACE_ENTRY_BYTES for the index, and
 * all of a full hash (torc_full_bytes). 0 = no such key. */
uint64_t torc_keyspace_usage(const struct torc_keyspace *keyspace, const struct torc_key *key);
/* As torc_table_scan(), with keys. */
uint64_t torc_keyspace_scan(const struct torc_keyspace *keyspace, uint64_t cursor,
                            uint64_t min_homes,
                            void (*visit)(void *arg, struct torc_slice key, enum torc_type type),
                            void *arg);
/* A random key; TORC_REF_NONE-like empty slice with data NULL if there is none. */
struct torc_slice torc_keyspace_random(const struct torc_keyspace *keyspace, uint64_t random_bits);
/* Forget everything now, in O(1) whatever there is; memory is freed in steps by
 * torc_keyspace_maintain(). Never fails. */
void torc_keyspace_flush(struct torc_keyspace *keyspace);

/* --- hashes ---
 * All of them: -EINVAL wrong type (the gateway says WRONGTYPE). Reads of a missing key see an empty
 * hash. */

/* Set all pairs, later duplicates win. Returns the number of fields created. -ENOSPC over the
 * limit, -ENOMEM, -EMSGSIZE a part above max_part_bytes: nothing changed, no key left behind.
 * A hash becomes full, and stays so until it has become small and torc_keyspace_settle() makes it
 * compact again (never by a command), when the command has more pairs than
 * compact_max_entries, when it has more fields than that afterwards, when a field or value is
 * longer than compact_max_value, or when it would pass a block of 64 KiB. */
int64_t torc_hash_put(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_pair *pairs, size_t n_pairs) TORC_MUST_USE;
/* Set `pair` if its field is absent: 1, or 0 when it is there. Errors as torc_hash_put(). */
int torc_hash_put_absent(struct torc_keyspace *keyspace, const struct torc_key *key,
                         const struct torc_pair *pair) TORC_MUST_USE;
/* 1 and *out_value, or 0. Its text borrows the arena, the handle or the struct itself. */
int torc_hash_get(const struct torc_keyspace *keyspace, const struct torc_key *key,
                  struct torc_slice field, struct torc_value *out_value) TORC_MUST_USE;
/* 1 and the length of the value, or 0. Expands nothing. */
int torc_hash_value_len(const struct torc_keyspace *keyspace, const struct torc_key *key,
                        struct torc_slice field, size_t *out_len) TORC_MUST_USE;
/* out_values[i].text has data NULL where absent (an empty value has non-NULL data). Returns how
 * many fields, from the first on, have got their value: all of them, or when the handle has no room
 * for more texts, some (1 at least, of n_fields > 0). Then use them and ask for the rest. */
int64_t torc_hash_get_many(const struct torc_keyspace *keyspace, const struct torc_key *key,
                           const struct torc_slice *fields, size_t n_fields,
                           struct torc_value *out_values) TORC_MUST_USE;
/* Number removed; the key goes with its last field. Allocates nothing, so the memory limit does not
 * stop it. */
int64_t torc_hash_del(struct torc_keyspace *keyspace, const struct torc_key *key,
                      const struct torc_slice *fields, size_t n_fields) TORC_MUST_USE;
int64_t torc_hash_len(const struct torc_keyspace *keyspace,
                      const struct torc_key *key) TORC_MUST_USE;
/* What a walk shows. */
enum torc_parts {
    TORC_PAIRS,
    TORC_FIELDS, /* a pair's value has the right length, but data NULL if it is kept compressed */
};
/* Every pair once, insertion order when compact. Its text lives during the visit; the visitor must
 * not change the keyspace, nor ask it for values. 0. */
int torc_hash_each(const struct torc_keyspace *keyspace, const struct torc_key *key,
                   enum torc_parts parts, void (*visit)(void *arg, const struct torc_pair *pair),
                   void *arg) TORC_MUST_USE;
/* HSCAN: compact hashes answer everything with cursor 0; else as torc_table_scan(). */
int torc_hash_scan(const struct torc_keyspace *keyspace, const struct torc_key *key,
                   uint64_t cursor, uint64_t min_homes, enum torc_parts parts,
                   void (*visit)(void *arg, const struct torc_pair *pair), void *arg,
                   uint64_t *out_cursor) TORC_MUST_USE;
/* A random pair: 1 and *out_pair, which borrows the arena, the handle or `room`, or 0 when there is
 * none. */
int torc_hash_random(const struct torc_keyspace *keyspace, const struct torc_key *key,
                     uint64_t random_bits, enum torc_parts parts, struct torc_pair_room *room,
                     struct torc_pair *out_pair) TORC_MUST_USE;

/* n random pairs, n from 1 to TORC_RANDOM_BATCH, one for each of `random_bits` and each as by
 * torc_hash_random(), shown as by torc_hash_each(): the key is looked up once, and their misses
 * overlap. 1, or 0 when there is none. */
#define TORC_RANDOM_BATCH 16u
int torc_hash_random_many(const struct torc_keyspace *keyspace, const struct torc_key *key,
                          const uint64_t *random_bits, unsigned n, enum torc_parts parts,
                          void (*visit)(void *arg, const struct torc_pair *pair),
                          void *arg) TORC_MUST_USE;

/* --- maintenance and checks --- */

/* Do up to `budget` units (about one record moved or freed, or 1 KiB moved, each) of what is due:
 * dropping, cleaning, finishing growth. True while there is more. May pass the memory limit by a
 * segment or two for the moment, as records must be copied before their place is free. */
bool torc_keyspace_maintain(struct torc_keyspace *keyspace, unsigned budget);

/* The same for idle moments: also packs compact blocks that have got slack, makes full hashes that
 * became small (64 fields, 4 KiB) compact if their parts are short enough, and cleans until two per
 * cent of the records are dead; `fully`, until 0.4 per cent are, which moves up to 250 bytes for
 * each that is won, so it is for times when nobody writes. A hash that is written to next gets its
 * slack again. True while there is more; false without work when little has changed. */
bool torc_keyspace_settle(struct torc_keyspace *keyspace, bool fully, unsigned budget);

/* Make the key as compact as torc_keyspace_settle(fully) would. Returns the bytes won, or with
 * *out_is_later, for a full hash, those that settling fully may win: it is then noted to be
 * visited. -ENOENT no such key. Cost: that of rewriting a compact hash. */
int64_t torc_keyspace_optimize(struct torc_keyspace *keyspace, const struct torc_key *key,
                               bool *out_is_later);
/* Have torc_keyspace_settle() walk over all keys from the start, however little has changed. O(1).
 */
void torc_keyspace_optimize_all(struct torc_keyspace *keyspace);

/* Every invariant of the keyspaces of this arena and of what hangs on them: tables, blocks,
 * records, streams, accounting. 0 or -EBADMSG with *out_why (may be NULL); -ENOMEM: no fault, but
 * compressed values were not looked into. O(size). */
int torc_keyspace_check(const struct torc_keyspace *keyspace, const char **out_why) TORC_MUST_USE;

/* The same on any arena, a dead server's too (torc_arena_open_fd): reads only, ends whatever the
 * bytes are. The in-flight word is not 0 if the owner died in the middle of an operation; what that
 * names may then be half done and found wrong here. */
int torc_keyspace_check_arena(const struct torc_arena *arena, const char **out_why) TORC_MUST_USE;

#endif
