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
 * A field may have a time at which it ends (hash/expiry_time.h); its record is then 6 or 7 bytes
 * longer. Functions on single fields take the time it is, and a field that is past by it is absent
 * for them. The table keeps past fields until they are deleted, overwritten or reaped: counts,
 * scans and random picks have them too.
 *
 * Thread: the arena's owner. A multi-field set is all or nothing. Borrowed slices die at the next
 * mutation of the arena. Names and values passed in must not lie in the arena's memory, except that
 * torc_full_put() to one hash may borrow from another or from a compact block.
 */
#ifndef TORC_HASH_FULL_H
#define TORC_HASH_FULL_H

#include "core/segment.h"
#include "hash/compact.h"
#include "hash/due.h"
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
    struct torc_stream stream; /* owner = this root; used once the hash is large */
    uint64_t magic;            /* TORC_FULL_MAGIC */
    uint64_t record_bytes;     /* live bytes of all its field records, shared or own */
    uint64_t extent_extra;     /* heads and page rests of its records that are extents */
    union {
        uint64_t clean_next; /* list of hashes that the cleaner shall visit; only live ones */
        uint64_t drop_next;  /* next root in the list of hashes being dropped */
    };
    union {
        uint64_t clean_prev;
        uint64_t drop_cursor; /* TORC_FULL_DROPPING: next line to drain */
    };
    uint64_t n_expiring;    /* fields that have a time */
    struct torc_due due;    /* lower bounds of these times, by the hashes of the fields */
    uint32_t state;         /* enum torc_full_state */
    uint32_t in_clean_list; /* 1: clean_next and clean_prev hold */
};
static_assert(offsetof(struct torc_full, stream) == 128, "full root: stream");
static_assert(offsetof(struct torc_full, magic) == 176, "full root: magic");
static_assert(offsetof(struct torc_full, due) == 224, "full root: due");
static_assert(offsetof(struct torc_full, state) == 248, "full root: state");
static_assert(sizeof(struct torc_full) == 1u << TORC_FULL_ROOT_LOG2, "a root is one block");

static inline struct torc_full *torc_full_at(const struct torc_arena *arena, uint64_t root)
{
    return torc_arena_at(arena, root);
}

/* For torc_full_find(): is a field record that has a time past at `now`? Out of line, so that
 * fields without one do not pay for it. */
bool torc_full_is_past(const uint8_t *record, uint64_t now) TORC_COLD;

/* For torc_full_find(): leaves in *out_value what torc_full_expand() needs. */
void torc_full_leave_unread(struct torc_part value, struct torc_value *out_value) TORC_COLD;

/* An empty full hash. -ENOSPC, -ENOMEM. */
int torc_full_create(struct torc_arena *arena, uint64_t *out_root) TORC_MUST_USE;

/* How torc_full_put() stores what it is given. All zero: encoded, not compressed, without time. */
struct torc_full_put_options {
    bool verbatim;            /* values are kept as they come, else encoded (hash/codec.h) */
    struct torc_press *press; /* compresses raw values, and says from which length on; or NULL */
    uint64_t now;             /* by it a field is past */
    uint64_t when;            /* the time of each field: one, TORC_EXPIRY_NONE or _KEEP */
    const uint64_t *whens;    /* instead, the same for each pair by itself; or NULL */
};

/* Set all pairs (later duplicates win). Returns the number of fields created, of which some may be
 * in place of a past one; -ENOSPC, -ENOMEM: nothing changed. Parts are at most
 * TORC_RECORD_PART_MAX. At most TORC_PRESS_CALL_MAX bytes of values are compressed. What is stored
 * already stays readable whatever the options are. A value that takes as many bytes as the one
 * before is written over it in place, if neither is compressed and the field had a time and gets
 * one, or had none and gets none. TORC_EXPIRY_KEEP: as the field had before the call, and none if
 * it is new or was past. Cost: O(n_pairs + bytes), for pairs with a time as that of
 * torc_due_reserve(); takes 24 bytes a pair of arena memory for the time of the call when there are
 * more than a few pairs. */
int64_t torc_full_put(struct torc_arena *arena, uint64_t root, const struct torc_pair *pairs,
                      size_t n_pairs, const struct torc_full_put_options *options) TORC_MUST_USE;

/* True: out_value->text borrows the record or out_value->room, and its data is not NULL. But of a
 * value that is kept compressed it has the length alone, with data NULL, until torc_full_expand().
 * False: there is no such field, or it is past at `now`. O(1). */
static TORC_ALWAYS_INLINE bool torc_full_find(const struct torc_arena *arena, uint64_t root,
                                              uint64_t hash, struct torc_slice field, uint64_t now,
                                              struct torc_value *out_value) TORC_MUST_USE;
static TORC_ALWAYS_INLINE bool torc_full_find(const struct torc_arena *arena, uint64_t root,
                                              uint64_t hash, struct torc_slice field, uint64_t now,
                                              struct torc_value *out_value)
{
    const struct torc_full *full = torc_full_at(arena, root);
    uint64_t ref = torc_table_find(arena, &full->table, hash, field);
    if (ref == TORC_REF_NONE) {
        return false;
    }
    const uint8_t *record = torc_arena_at(arena, ref);
    if (TORC_UNLIKELY(torc_record_expires(record)) && torc_full_is_past(record, now)) {
        return false;
    }
    struct torc_part value;
    (void)torc_record_field(record, &value);
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

/* 1 removed, 0 was not there; a field that is past at `now` is removed, and was not there. Never
 * fails. O(1). */
int torc_full_del(struct torc_arena *arena, uint64_t root, uint64_t hash, struct torc_slice field,
                  uint64_t now);

/* The field ends at `when`, or never (TORC_EXPIRY_NONE). 0; -ENOENT it is missing or past at `now`;
 * -ENOSPC, -ENOMEM: nothing changed. Six bytes in place if it had a time and gets another, else the
 * record is written anew. O(1) and that, and for a time as torc_due_reserve(). */
int torc_full_set_expiry(struct torc_arena *arena, uint64_t root, uint64_t hash,
                         struct torc_slice field, uint64_t now, uint64_t when) TORC_MUST_USE;

/* True: *out_when is the field's time, TORC_EXPIRY_NONE if it has none. False: it is missing or
 * past at `now`. O(1). */
bool torc_full_expiry(const struct torc_arena *arena, uint64_t root, uint64_t hash,
                      struct torc_slice field, uint64_t now, uint64_t *out_when) TORC_MUST_USE;

/* No field ends before this: a lower bound, TORC_EXPIRY_NEVER if none has a time. O(1). */
static inline uint64_t torc_full_due(const struct torc_full *full)
{
    return full->n_expiring == 0 ? TORC_EXPIRY_NEVER : full->due.bound;
}

/* Remove fields that are past at `now`, of many in no order. *budget, fields looked at, goes down
 * by what was used: at most by what there is, but the work may be that of one cell (hash/due.h)
 * more. *out_removed: how many were removed. True: nothing past is left, and torc_full_due() is
 * later than `now`. Never fails. O(1) if nothing is due. */
bool torc_full_reap(struct torc_arena *arena, uint64_t root, uint64_t now, unsigned *budget,
                    uint64_t *out_removed) TORC_MUST_USE;

/* Fields, past ones too. O(1). */
uint64_t torc_full_count(const struct torc_arena *arena, uint64_t root);

/* As torc_table_scan(), with pairs, whose text lives during the visit, past ones too: at each visit
 * room->expiry is the field's time. The text may be in `room`. The press takes values that are kept
 * compressed and forgets all other texts; if it is NULL, they have their length alone, with data
 * NULL. */
uint64_t torc_full_scan(const struct torc_arena *arena, uint64_t root, uint64_t cursor,
                        uint64_t min_homes, struct torc_press *press, struct torc_pair_room *room,
                        void (*visit)(void *arg, const struct torc_pair *pair), void *arg);

/* As torc_table_random(): false if there are no fields; may be a past one: room->expiry is its
 * time. The pair borrows its record, `room` or the press, which is as in torc_full_scan(). */
bool torc_full_random(const struct torc_arena *arena, uint64_t root, uint64_t random_bits,
                      struct torc_press *press, struct torc_pair_room *room,
                      struct torc_pair *out_pair);

/* Bytes that this hash uses, to the byte: root, index, due tree, live and dead records of its own
 * segments, live ones in shared segments, extents with their pages. O(1). */
uint64_t torc_full_bytes(const struct torc_arena *arena, uint64_t root);

/* --- for the keyspace and the cleaner --- */

/* True if new records of this hash go to its own stream. O(1). */
bool torc_full_is_large(const struct torc_full *full);

/* True if one part in `dead_part` of the records in its own segments is dead, `dead_min_bytes` at
 * least, or if it became too small for segments of its own. O(1). */
bool torc_full_wants_cleaning(const struct torc_full *full, uint64_t dead_min_bytes,
                              uint32_t dead_part);

/* Move the field record at `ref`, with its time, to where new records of this hash go, shared or
 * own. -ENOENT it is
 * not a record that the hash refers to; -ENOSPC, -ENOMEM; nothing changed then. Cost: the record's
 * bytes. */
int torc_full_move(struct torc_arena *arena, uint64_t root, uint64_t ref) TORC_MUST_USE;

/* Free at most about `budget` records, blocks, nodes or segments; true while there is more, then
 * the root is freed too. The first call unlinks nothing: the caller has taken the root out of its
 * key and out of the list for the cleaner. */
bool torc_full_drop_step(struct torc_arena *arena, uint64_t root, unsigned budget);

/* Free all at once: for hashes that a failed command has built. */
void torc_full_destroy(struct torc_arena *arena, uint64_t root);

/* Walk all invariants of the hash: root, table, records, segments, times, counters. 0 or -EBADMSG
 * with *out_why (may be NULL); -ENOMEM: no fault, but compressed values were not looked into. Reads
 * only, and nothing outside the arena's memory. O(size of the text). */
int torc_full_check(const struct torc_arena *arena, uint64_t root,
                    const char **out_why) TORC_MUST_USE;

#endif
