/* SPDX-License-Identifier: Apache-2.0
 *
 * Table: finds a record by its name. One structure serves the keyspace (name = key) and full hashes
 * (name = field). Format: docs/formats/table.md; why it is so: docs/decisions/0003-table-growth.md.
 *
 * Buckets of one cache line (hash/line_private.h), as in Abseil's Swiss tables (Kulukundis, CppCon
 * 2017): ten fingerprints compared with one vector instruction, ten 5-byte references beside them.
 * No tombstones, no stored hashes, no side arrays.
 *
 * Placement. Bucket order is hash order: the home of an entry is line (hash * n_lines) >> 64. An
 * entry that its home has no room for is a guest in one other line, at a distance that three bits
 * of its fingerprint name; the home notes in eight bits which of these kinds are away. So a hit
 * looks at one line or two, a miss at one line and seldom at a second, and where a guest came from
 * is known without reading its record. Entries move between their two lines to make room (cuckoo
 * hashing with buckets: Pagh and Rodler 2001, Dietzfelbinger and Weidling 2007; the second place
 * from the fingerprint: Fan et al. 2014), found breadth-first within a fixed budget. Only when that
 * finds nothing, which is rare but for equal hashes, is an entry put into the nearest free slot
 * (far): then a miss also walks the lines as far as the farthest of these.
 *
 * Growth is an order-preserving stretch in place: n = (4 + j) * 2^k lines become n + 2^k. The new
 * 2^k lines are one block, so the block of a line follows from its top three bits, as in a
 * floating-point number. A frontier walks down from the top; each mutation moves at most two homes
 * across it, so there is no rehash pause, the lines that are there are always well filled, and a
 * stretch is over before the next one is due. Shrinking is the same walk upwards.
 *
 * A SCAN cursor names a range of hashes: it means the same entries after growth and shrinking.
 *
 * Threads: the arena's owner. The struct lives in the arena.
 */
#ifndef TORC_HASH_TABLE_H
#define TORC_HASH_TABLE_H

#include "core/arena.h"
#include "core/slice.h"

#define TORC_TABLE_INLINE_BLOCKS 8u

/* Lives in the arena, inside a keyspace or full-hash root. The first cache line is what a lookup
 * needs. Users read nothing but `count`. */
struct torc_table {
    uint64_t count;      /* entries */
    uint64_t n_lines;    /* homes in the mapping in force: everywhere, or on the side of the
                            frontier that was not reached yet */
    uint64_t n_target;   /* == n_lines at rest, else the size being stretched or shrunk to */
    uint64_t frontier;   /* growing: homes from here up are in the target's mapping; shrinking:
                            homes below; n_lines at rest */
    uint64_t directory;  /* array of references of the blocks that are not in `blocks`; or 0 */
    uint64_t n_far;      /* entries neither in their home nor in the line of their kind */
    uint32_t far_reach;  /* no far entry is more lines than this from its home; 0 when n_far is 0 */
    uint32_t n_promised; /* inserts still promised by torc_table_reserve() */
    uint16_t n_blocks;   /* blocks held, some perhaps for inserts still to come */
    uint8_t directory_log2;                    /* its capacity in references */
    uint8_t spare[5];                          /* 0 */
    uint64_t blocks[TORC_TABLE_INLINE_BLOCKS]; /* first block references */
};
static_assert(sizeof(struct torc_table) == 128, "two cache lines");
static_assert(offsetof(struct torc_table, blocks) == 64, "what a lookup needs is in the first");

/* An empty table: no memory until the first insert. */
void torc_table_init(struct torc_table *table);

/* The record called `name`, whose hash is `hash` (torc_hash_slice with the arena's seed), or
 * TORC_REF_NONE. O(1): one or two lines, and the record of each equal fingerprint. */
uint64_t torc_table_find(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash, struct torc_slice name) TORC_MUST_USE;

/* The steps of a batch of lookups, each for all names before the next: prefetch the home line for
 * `hash`; then prefetch torc_table_candidate(), the first record with the right fingerprint (or
 * TORC_REF_NONE), whose name nobody compared; then find. */
void torc_table_prefetch(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash);
uint64_t torc_table_candidate(const struct torc_arena *arena, const struct torc_table *table,
                              uint64_t hash) TORC_MUST_USE;

/* Promise that the next n inserts cannot fail, whatever else is allocated or removed meanwhile. The
 * promise ends with the last of them, or is replaced by the next reserve: n = 0 takes it back, so
 * that memory held for it can be freed. The only function here that allocates. Costs
 * O(log lines), plus zeroing room for n entries when the table is empty (it then starts at the
 * right size). If the arena refuses, the table as it is takes the inserts as long as they fill it
 * to no more than 95 %; else -ENOSPC, -ENOMEM: unchanged. */
int torc_table_reserve(struct torc_arena *arena, struct torc_table *table,
                       uint64_t n) TORC_MUST_USE;

/* Add a record whose name is absent; room must have been reserved. Also does the mutation's share
 * of growth (at most two homes moved). */
void torc_table_insert(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref);

/* The entry that points at old_ref points at new_ref from now on: the record was rewritten or
 * moved. The entry must exist. O(1), reads no record. */
void torc_table_replace(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                        uint64_t old_ref, uint64_t new_ref);

/* Take the entry for `ref` out; it must exist. Its record is not read, but those of other entries
 * may be. Never allocates. Also does the mutation's share of shrinking (at most two homes moved);
 * with the last entry all index memory is freed, unless it is promised. */
void torc_table_remove(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref);

/* Visit all entries of at least `min_homes` homes (0 counts as 1; a home has nine entries or so)
 * from `cursor` (0 = start, any value is safe): calls visit(arg, ref) for each. Returns the next
 * cursor, 0 at the end. Whatever is there from the first to the last call is visited, whatever
 * happens between calls; nothing is visited twice unless it was removed and came back, or the table
 * shrank to an eighth since the first call: then the walk begins anew on what is left. The order is
 * scattered over the table, so that whoever deletes in this order leaves it evenly filled. The
 * visitor must not change the table. */
uint64_t torc_table_scan(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t cursor, uint64_t min_homes,
                         void (*visit)(void *arg, uint64_t ref), void *arg);

/* Visit every entry whose hash is from `first` to `last`, once each, in no order that means
 * anything: calls visit(arg, ref). None if first > last. O(homes of that range), and hashes the
 * records of homes that are partly outside. The visitor must not change the table. */
void torc_table_each_between(const struct torc_arena *arena, const struct torc_table *table,
                             uint64_t first, uint64_t last, void (*visit)(void *arg, uint64_t ref),
                             void *arg);

/* A uniformly chosen entry from the caller's 64 random bits; TORC_REF_NONE if the table is empty.
 * Slots are drawn until one is taken, 1.2 times on average and at most 64 times; after that (below
 * one in 10^15 unless the table is far from its usual load) the first entry behind the last draw is
 * given. */
uint64_t torc_table_random(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t random_bits) TORC_MUST_USE;

/* First step of a batch of such choices: bring the line of the first draw into the cache. */
void torc_table_random_prefetch(const struct torc_arena *arena, const struct torc_table *table,
                                uint64_t random_bits);

/* Note that the entry with this hash is used. Entries of the same line and fingerprint, one in 30
 * or so, are taken for it; nothing happens if there is none. O(1), reads no record. */
void torc_table_mark(const struct torc_arena *arena, const struct torc_table *table, uint64_t hash);

/* An entry that was not used for long, other than `kept` (which may be TORC_REF_NONE): the next one
 * without a mark from `*hand` on, which any number may start. Marks that the hand comes by are
 * taken away, so an entry that is not used again is found the next time round. When `n_lines` lines
 * (1 or more; a line has nine entries or so) have marked entries only, the first of these is given.
 * TORC_REF_NONE: there is no other, or, in a table that is nearly empty, none was met. */
uint64_t torc_table_unused(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t *hand, unsigned n_lines, uint64_t kept) TORC_MUST_USE;

/* For idle time: move up to n_homes homes of an unfinished stretch or shrink, start a shrink that
 * is due, free a block that nobody needs. Returns true while there is more. */
bool torc_table_step(struct torc_arena *arena, struct torc_table *table, unsigned n_homes);

/* Free the index memory one block a call, entries not visited. Returns true while there is more;
 * afterwards as after init. From the first call on the table is empty. */
bool torc_table_drop_step(struct torc_arena *arena, struct torc_table *table);

/* Bytes of index memory, as the arena counts them for TORC_USE_INDEX: blocks and directory. */
uint64_t torc_table_bytes(const struct torc_table *table);

/* Walk all invariants: counts, spilled kinds, every entry reachable from its name, mapping and
 * frontier. O(size); reads every record. 0 or -EBADMSG; then *out_why (may be NULL) is a static
 * text. */
int torc_table_check(const struct torc_arena *arena, const struct torc_table *table,
                     const char **out_why) TORC_MUST_USE;

#endif
