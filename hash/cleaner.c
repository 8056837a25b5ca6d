/* SPDX-License-Identifier: Apache-2.0
 *
 * The cleaner's steps: choose a victim, walk it record by record, move what lives.
 */
#include "hash/cleaner.h"

#include "hash/keyspace_private.h"

/* Closed segments compared to find the next victim. */
#define VICTIM_LOOK 32u
/* Costs in sixteenths of a unit. */
#define COST_UNIT      16u
#define COST_DEAD      1u  /* a dead record is passed */
#define COST_BYTES_LOG 6u  /* moving: one more for each 64 bytes */
#define COST_LOOK      32u /* a victim is looked for */

/* What is being cleaned. */
struct cleaning {
    struct torc_keyspace *keyspace;
    struct torc_stream *stream;
    uint64_t left; /* sixteenths of units */
    bool is_stuck; /* a record could not be moved: no memory */
};

static void spend(struct cleaning *c, uint64_t cost)
{
    c->left -= torc_min_u64(c->left, cost);
}

/* Does this table refer to the record at `ref`? */
static bool refers(const struct torc_arena *arena, const struct torc_table *table, uint64_t hash,
                   struct torc_slice name, uint64_t ref)
{
    return torc_table_find(arena, table, hash, name) == ref;
}

/* The table that refers to the key record at `ref`, or NULL. Names repeat in other databases, so
 * the reference decides. */
static struct torc_table *table_of_key(struct torc_keyspace *keyspace, uint64_t hash,
                                       struct torc_slice name, uint64_t ref)
{
    struct torc_arena *arena = keyspace->arena;
    for (unsigned i = 0; i < TORC_ARENA_DATABASES; ++i) {
        /* Most likely it is ours. */
        unsigned database = (keyspace->index + i) % TORC_ARENA_DATABASES;
        uint64_t next = torc_arena_root(arena, database);
        bool is_live = true;
        while (next != TORC_REF_NONE) {
            struct torc_keyspace_root *root = torc_keyspace_root_at(arena, next);
            if (refers(arena, &root->table, hash, name, ref)) {
                return &root->table;
            }
            next = is_live ? root->dropped : root->drop_next;
            is_live = false;
        }
    }
    return NULL;
}

static int move_key(struct torc_keyspace *keyspace, uint64_t ref, uint64_t bytes)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_stream *shared = torc_stream_shared(arena);
    struct torc_slice name = torc_record_name(torc_arena_at(arena, ref));
    uint64_t hash = torc_hash_slice(keyspace->seed, name);
    struct torc_table *table = table_of_key(keyspace, hash, name, ref);
    uint64_t target;
    if (table == NULL) {
        return -ENOENT;
    }
    int rc = torc_record_move(arena, shared, ref, bytes, &target);
    if (rc != 0) {
        return rc;
    }
    torc_table_replace(arena, table, hash, ref, target);
    (void)torc_record_release(arena, shared, ref);
    return 0;
}

/* Move the live record at `ref`. A record that nothing refers to was left by an owner that died
 * between allocating and linking it: it is released. */
static int move(struct cleaning *c, uint64_t ref, uint64_t bytes)
{
    struct torc_arena *arena = c->keyspace->arena;
    const uint8_t *record = torc_arena_at(arena, ref);
    int rc;
    if (torc_record_type(record) == TORC_RECORD_FIELD) {
        rc = torc_full_move(arena, c->stream->owner, ref);
    } else if (torc_record_type(record) == TORC_RECORD_FIELD_OWNED) {
        rc = torc_full_move(arena, torc_record_owner(record), ref);
    } else {
        rc = move_key(c->keyspace, ref, bytes);
    }
    if (rc == -ENOENT) {
        (void)torc_record_release(arena, c->stream, ref);
        return 0;
    }
    return rc;
}

/* The first record of a segment. */
static uint8_t *front_of(const struct torc_arena *arena, uint64_t segment)
{
    return (uint8_t *)torc_arena_at(arena, segment) + TORC_SEGMENT_HEAD_BYTES;
}

/* Go on with a victim until it is free or the budget is spent. */
static void empty_segment(struct cleaning *c, uint64_t victim)
{
    struct torc_arena *arena = c->keyspace->arena;
    const struct torc_segment *segment = torc_arena_at(arena, victim);
    uint8_t *front = front_of(arena, victim);
    const uint64_t end = segment->used; /* an open one may grow by what is moved */
    uint64_t place = 0;
    while (c->left > 0 && place < end) {
        const uint8_t *record = front + place;
        uint64_t bytes = torc_record_bytes(record);
        if (torc_record_is_dead(record)) {
            spend(c, COST_DEAD);
        } else {
            bool is_last = segment->live == bytes;
            if (move(c, victim + TORC_SEGMENT_HEAD_BYTES + place, bytes) != 0) {
                c->is_stuck = true;
                break;
            }
            spend(c, COST_UNIT + (bytes >> COST_BYTES_LOG));
            if (is_last) {
                return; /* the segment is gone */
            }
        }
        place += bytes;
    }
    if (place >= TORC_RECORD_HOLE_BYTES) {
        torc_record_write_hole(front, place);
    }
}

/* The goal is not reached in the closed segments, so that a victim is to be found there. (What is
 * dead in the open segment must wait until it is closed.) */
static bool is_over(const struct cleaning *c, const struct torc_clean_goal *goal)
{
    const struct torc_stream *stream = c->stream;
    uint64_t dead = stream->dead;
    if (stream->open != TORC_REF_NONE) {
        const struct torc_segment *open = torc_arena_at(c->keyspace->arena, stream->open);
        dead -= open->used - open->live;
    }
    return dead >= goal->dead_min_bytes && dead > (stream->live + stream->dead) / goal->dead_part;
}

/* The segment to go on with, or the best of those that are looked at now, or TORC_REF_NONE if none
 * of these is worth it. It becomes the first of the ring. */
static uint64_t choose_victim(struct cleaning *c, const struct torc_clean_goal *goal)
{
    struct torc_arena *arena = c->keyspace->arena;
    struct torc_stream *stream = c->stream;
    if (torc_record_type(front_of(arena, stream->closed)) == TORC_RECORD_HOLE) {
        return stream->closed;
    }
    spend(c, COST_LOOK);
    uint64_t victim = torc_stream_victim(arena, stream, VICTIM_LOOK);
    if (victim == TORC_REF_NONE) {
        return TORC_REF_NONE;
    }
    const struct torc_segment *segment = torc_arena_at(arena, victim);
    if (segment->used - segment->live <= segment->used / goal->dead_part / 2) {
        return TORC_REF_NONE;
    }
    stream->closed = victim;
    return victim;
}

/* Clean one stream. True if the goal is not reached yet. */
static bool clean_stream(struct cleaning *c, struct torc_stream *stream,
                         const struct torc_clean_goal *goal)
{
    c->stream = stream;
    while (is_over(c, goal)) {
        if (c->left == 0 || c->is_stuck) {
            return true;
        }
        uint64_t victim = choose_victim(c, goal);
        if (victim != TORC_REF_NONE) {
            empty_segment(c, victim);
        }
    }
    return false;
}

/* A hash that became small leaves its own segments, the open one too. True if there is more. (It
 * may pass for large again on the way, as records grow by their owner; then the rest stays.) */
static bool leave_stream(struct cleaning *c, struct torc_full *full)
{
    c->stream = &full->stream;
    while (full->stream.live != 0) {
        if (torc_full_is_large(full)) {
            return false;
        }
        if (c->left == 0 || c->is_stuck) {
            return true;
        }
        empty_segment(c, full->stream.closed != TORC_REF_NONE ? full->stream.closed
                                                              : full->stream.open);
    }
    while (torc_stream_drop_step(c->keyspace->arena, &full->stream)) {
    }
    return false;
}

/* Clean the hashes that wait for it, the one that waits longest first. */
static bool clean_hashes(struct cleaning *c, const struct torc_clean_goal *goal)
{
    struct torc_keyspace *keyspace = c->keyspace;
    while (keyspace->root->clean_first != TORC_REF_NONE) {
        struct torc_full *full = torc_full_at(keyspace->arena, keyspace->root->clean_first);
        if (c->left == 0 || c->is_stuck ||
            (torc_full_is_large(full) ? clean_stream(c, &full->stream, goal)
                                      : leave_stream(c, full))) {
            return true;
        }
        torc_keyspace_unlist(keyspace, full);
    }
    return false;
}

unsigned torc_cleaner_step(struct torc_keyspace *keyspace, const struct torc_clean_goal *goal,
                           unsigned budget, bool *out_more)
{
    struct torc_stream *shared = torc_stream_shared(keyspace->arena);
    struct cleaning c = {.keyspace = keyspace, .left = (uint64_t)budget * COST_UNIT / 2};
    uint64_t other_half = (uint64_t)budget * COST_UNIT - c.left;
    torc_keyspace_begin(keyspace, TORC_OPERATION_CLEAN, 0);
    bool more = clean_stream(&c, shared, goal);
    c.left += other_half;
    bool more_hashes = clean_hashes(&c, goal);
    if (more) {
        more = clean_stream(&c, shared, goal);
    }
    torc_keyspace_end(keyspace);
    *out_more = (more || more_hashes) && !c.is_stuck;
    return (unsigned)(c.left / COST_UNIT);
}
