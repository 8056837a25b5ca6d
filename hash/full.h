/* SPDX-License-Identifier: Apache-2.0
 *
 * Full hash: a table of field records, for hashes that outgrew the compact block.
 *
 * The root lives in the arena at a fixed place, which is the hash's identity: field records (or the
 * heads of the segments that it owns) name it as their owner. A small full hash appends to the
 * arena's shared stream with an owner in each record; above TORC_FULL_OWN_STREAM_BYTES of live
 * records it gets segments of its own, and goes back to the shared stream below a quarter of that.
 * Records that are already there stay until they are rewritten or the cleaner moves them.
 *
 * Thread: the arena's owner. A multi-field set is all or nothing. Borrowed slices die at the next
 * mutation of the arena. Names and values passed in must not lie in the arena's memory, except that
 * torc_full_put() to one hash may borrow from another or from a compact block.
 */
#ifndef TORC_HASH_FULL_H
#define TORC_HASH_FULL_H

#include "core/segment.h"
#include "hash/compact.h"
#include "hash/press.h"
#include "hash/record.h"
#include "hash/table.h"

/* Segments of its own cost a hash half an open segment on average, 128 KiB; an owner in each record
 * costs 5 bytes a field. For fields of 40 bytes the two are equal at this size. */
#define TORC_FULL_OWN_STREAM_BYTES (1024u * 1024u)
#define TORC_FULL_MAGIC            0x6c6c75666374ull /* "tcfull" */
#define TORC_FULL_ROOT_LOG2        8u                /* the block that holds a root */

enum torc_full_state {
    TORC_FULL_LIVE = 1,
    TORC_FULL_DROPPING =
        2, /* unlinked; the records in shared segments are freed, the table drains */
    TORC_FULL_TEARING = 3, /* the table is not valid any more; its memory, then the segments go */
};

/* Root, in the arena. */
struct torc_full {
    struct torc_table table;
    struct torc_stream stream;       /* owner = this root; used once the hash is large */
    uint64_t magic;                  /* TORC_FULL_MAGIC */
    uint64_t record_bytes;           /* live bytes of all its field records, shared or own */
    uint64_t extent_extra;           /* heads and page rests of its records that are extents */
    uint64_t drop_next;              /* next root in the list of hashes being dropped */
    uint64_t clean_next, clean_prev; /* list of hashes that the cleaner shall visit */
    uint64_t drop_cursor;            /* TORC_FULL_DROPPING: next line to drain */
    uint32_t state;                  /* enum torc_full_state */
    uint32_t in_clean_list;          /* 1: clean_next and clean_prev hold */
};
static_assert(offsetof(struct torc_full, stream) == 128, "full root: stream");
static_assert(offsetof(struct torc_full, magic) == 176, "full root: magic");
static_assert(offsetof(struct torc_full, state) == 232, "full root: state");
static_assert(sizeof(struct torc_full) == 240, "full root");
static_assert(sizeof(struct torc_full) <= 1u << TORC_FULL_ROOT_LOG2, "a root is one block");

static inline struct torc_full *torc_full_at(const struct torc_arena *arena, uint64_t root)
{
    return torc_arena_at(arena, root);
}

/* For torc_full_find(): leaves in *out_value what torc_full_expand() needs. */
void torc_full_leave_unread(struct torc_part value, struct torc_value *out_value) TORC_COLD;

/* An empty full hash. -ENOSPC, -ENOMEM. */
int torc_full_create(struct torc_arena *arena, uint64_t *out_root) TORC_MUST_USE;

/* Set all pairs (later duplicates win). Returns the number of fields created; -ENOSPC, -ENOMEM:
 * nothing changed. Parts are at most TORC_RECORD_PART_MAX. Values are encoded (hash/codec.h), or
 * kept as they come if `verbatim`; raw ones are compressed if there is a `press` (else NULL; it
 * says from which length on), TORC_PRESS_CALL_MAX bytes of them at most. What is stored already
 * stays readable either way. A value that takes as many bytes as the one before is written over it
 * in place, if neither is compressed. Cost: O(n_pairs + bytes); takes 24 bytes a pair of arena
 * memory for the time of the call when there are more than a few pairs. */
int64_t torc_full_put(struct torc_arena *arena, uint64_t root, const struct torc_pair *pairs,
                      size_t n_pairs, bool verbatim, struct torc_press *press) TORC_MUST_USE;

/* True: out_value->text borrows the record or out_value->room, and its data is not NULL. But of a
 * value that is kept compressed it has the length alone, with data NULL, until torc_full_expand().
 * O(1). */
static inline bool torc_full_find(const struct torc_arena *arena, uint64_t root, uint64_t hash,
                                  struct torc_slice field,
                                  struct torc_value *out_value) TORC_MUST_USE;
static inline bool torc_full_find(const struct torc_arena *arena, uint64_t root, uint64_t hash,
                                  struct torc_slice field, struct torc_value *out_value)
{
    const struct torc_full *full = torc_full_at(arena, root);
    uint64_t ref = torc_table_find(arena, &full->table, hash, field);
    if (ref == TORC_REF_NONE) {
        return false;
    }
    struct torc_part value;
    (void)torc_record_field(torc_arena_at(arena, ref), &value);
    if (TORC_UNLIKELY(value.form == TORC_FORM_COMPRESSED)) {
        torc_full_leave_unread(value, out_value);
        return true;
    }
    out_value->text = torc_part_text(&value, out_value->room);
    return true;
}

/* Get the text of such a value into the press, behind the texts that are there. `value` is as
 * torc_full_find() left it, and nothing was changed since. O(text). */
void torc_full_expand(struct torc_press *press, struct torc_value *value) TORC_COLD;

/* 1 removed, 0 was not there. Never fails. O(1). */
int torc_full_del(struct torc_arena *arena, uint64_t root, uint64_t hash, struct torc_slice field);

/* Fields. O(1). */
uint64_t torc_full_count(const struct torc_arena *arena, uint64_t root);

/* As torc_table_scan(), with pairs, whose text lives during the visit. The press takes values that
 * are kept compressed and forgets all other texts; if it is NULL, they have their length alone,
 * with data NULL. */
uint64_t torc_full_scan(const struct torc_arena *arena, uint64_t root, uint64_t cursor,
                        uint64_t min_homes, struct torc_press *press,
                        void (*visit)(void *arg, const struct torc_pair *pair), void *arg);

/* As torc_table_random(): false if there are no fields. The pair borrows its record, `room` or the
 * press, which is as in torc_full_scan(). */
bool torc_full_random(const struct torc_arena *arena, uint64_t root, uint64_t random_bits,
                      struct torc_press *press, struct torc_pair_room *room,
                      struct torc_pair *out_pair);

/* Bytes that this hash uses, to the byte: root, index, live and dead records of its own segments,
 * live ones in shared segments, extents with their pages. O(1). */
uint64_t torc_full_bytes(const struct torc_arena *arena, uint64_t root);

/* --- for the keyspace and the cleaner --- */

/* True if new records of this hash go to its own stream. O(1). */
bool torc_full_is_large(const struct torc_full *full);

/* True if one part in `dead_part` of the records in its own segments is dead, `dead_min_bytes` at
 * least, or if it became too small for segments of its own. O(1). */
bool torc_full_wants_cleaning(const struct torc_full *full, uint64_t dead_min_bytes,
                              uint32_t dead_part);

/* Move the field record at `ref` to where new records of this hash go, shared or own. -ENOENT it is
 * not a record that the hash refers to; -ENOSPC, -ENOMEM; nothing changed then. Cost: the record's
 * bytes. */
int torc_full_move(struct torc_arena *arena, uint64_t root, uint64_t ref) TORC_MUST_USE;

/* Free at most about `budget` records, blocks or segments; true while there is more, then the root
 * is freed too. The first call unlinks nothing: the caller has taken the root out of its key. */
bool torc_full_drop_step(struct torc_arena *arena, uint64_t root, unsigned budget);

/* Free all at once: for hashes that a failed command has built. */
void torc_full_destroy(struct torc_arena *arena, uint64_t root);

/* Walk all invariants of the hash: root, table, records, segments, counters. 0 or -EBADMSG with
 * *out_why (may be NULL); -ENOMEM: no fault, but compressed values were not looked into. Reads
 * only, and nothing outside the arena's memory. O(size of the text). */
int torc_full_check(const struct torc_arena *arena, uint64_t root,
                    const char **out_why) TORC_MUST_USE;

#endif
