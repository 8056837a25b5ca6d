/* SPDX-License-Identifier: Apache-2.0
 *
 * Arena: all memory of one shard, in one region. Every reference inside is a 40-bit offset from the
 * base, never a pointer, and nothing that is needed to interpret the arena lives outside it, so
 * that it can be mapped again by a restarted server or a checker.
 *
 *   page 0       superblock
 *   page table   one descriptor per page of the capacity, committed as the arena grows
 *   heap         page runs, from a buddy allocator (Knowlton 1965): a run of n pages is cut out of
 *                a free block of the next power of two and the tail given back at once, so a run
 *                wastes less than a page;
 *                blocks of 64 to 2,048 bytes, a power of two: pages cut into equal blocks (slab,
 *                Bonwick 1994);
 *                segments and extents, see core/segment.h
 *
 * Accounting is exact: used bytes are counted by use - a run with its pages, a block with its size,
 * not with the page it is cut from - and are 0 again when all is freed. `limit` (maxmemory) is
 * compared with used bytes before an allocation, so a refused request leaves nothing behind. What
 * is committed above that is the page table (16 bytes a page), free blocks and the free rest of
 * slabs. Free memory is kept up to 1/16 of what is committed (at least 4 MiB), the rest is given
 * back to the kernel, a bounded piece with each free and all of it by torc_arena_tidy().
 *
 * Threads: one owner; readers of another process see a consistent arena only when the owner is dead
 * or stopped. Memory: allocations never move and live until freed. Costs: runs O(log capacity) plus
 * the commit of pages that are not in memory; blocks O(1) plus now and then a run of one page.
 * Format: docs/formats/arena.md.
 */
#ifndef TORC_CORE_ARENA_H
#define TORC_CORE_ARENA_H

#include "core/region.h"

#define TORC_ARENA_MAGIC     0x31616e6572616374ull /* "tcarena1" */
#define TORC_ARENA_LAYOUT    3u /* changed with every change of a layout inside the arena */
#define TORC_ARENA_REF_BITS  40u
#define TORC_ARENA_MAX_BYTES (1ull << TORC_ARENA_REF_BITS)
#define TORC_ARENA_DATABASES 16u
#define TORC_BLOCK_MIN_LOG2  6u  /* 64 bytes, one cache line */
#define TORC_BLOCK_MAX_LOG2  11u /* 2 KiB; larger powers of two are page runs */

/* What memory is used for; MEMORY STATS shows one line each. */
enum torc_use {
    TORC_USE_INDEX,   /* buckets and directories of tables */
    TORC_USE_ROOT,    /* roots of full hashes */
    TORC_USE_SEGMENT, /* record segments, live and dead bytes together */
    TORC_USE_EXTENT,  /* records too large for a segment */
    TORC_USE_COUNT,
};

/* 0 is never a valid reference: it is the superblock. */
#define TORC_REF_NONE 0ull

struct torc_superblock; /* core/arena_private.h: magic, layout, seed, epoch, roots, free lists,
                           shared stream, counters */

struct torc_arena_options {
    struct torc_region_options region; /* capacity at least 4 MiB */
    uint64_t limit;                    /* maxmemory for used bytes, 0 = the capacity decides */
    uint64_t hash_seed;
    uint64_t epoch; /* of the server, told to clients */
};

struct torc_arena {
    uint8_t *base;                 /* first, so that torc_arena_at() is one add */
    struct torc_superblock *super; /* == base */
    struct torc_region region;
    uint64_t fail_after; /* see torc_arena_fail_after() */
};

/* O(1). The pointer is good until the reference is freed. */
static inline void *torc_arena_at(const struct torc_arena *arena, uint64_t ref)
{
    return arena->base + ref;
}

/* Make an empty arena. -EINVAL, -ENOMEM, -ENOSPC as torc_region_open(). When region.expected is 0
 * and there is a limit, the region is asked for what the limit needs. */
int torc_arena_create(const struct torc_arena_options *options,
                      struct torc_arena **out_arena) TORC_MUST_USE;

/* Map a dead or stopped owner's arena read-only (`fd` stays the caller's). -EINVAL not a
 * descriptor, -EBADMSG not an arena, -EPROTO another layout, -ENOMEM. Only reading functions may be
 * called on it. */
int torc_arena_open_fd(int fd, struct torc_arena **out_arena) TORC_MUST_USE;

void torc_arena_destroy(struct torc_arena *arena); /* NULL is fine */

/* A run of n_pages (1 or more) adjacent pages, contents undefined. Its reference is aligned to the
 * next power of two of its size (so a run of 64 pages to 256 KiB); it needs that much room in one
 * piece. -ENOSPC limit or capacity reached, -ENOMEM the kernel gives no pages; nothing changed. */
int torc_arena_run_alloc(struct torc_arena *arena, uint64_t n_pages, enum torc_use use,
                         uint64_t *out_ref) TORC_MUST_USE;
/* Exactly as allocated: a run is freed whole. */
void torc_arena_run_free(struct torc_arena *arena, uint64_t ref, uint64_t n_pages,
                         enum torc_use use);

/* A block of 2^size_log2 bytes aligned to its size (size_log2 from TORC_BLOCK_MIN_LOG2; above
 * TORC_BLOCK_MAX_LOG2 it is a page run), contents undefined. Errors as run_alloc. */
int torc_arena_block_alloc(struct torc_arena *arena, unsigned size_log2, enum torc_use use,
                           uint64_t *out_ref) TORC_MUST_USE;
void torc_arena_block_free(struct torc_arena *arena, uint64_t ref, unsigned size_log2,
                           enum torc_use use);

/* True if `bytes` more can be used without passing the limit (without one: the heap's size). A
 * request checks its worst case with this before it changes anything. O(1). */
bool torc_arena_has_room(const struct torc_arena *arena, uint64_t bytes);

/* Bytes in use: runs and blocks, not the superblock and the page table. */
uint64_t torc_arena_used(const struct torc_arena *arena);
uint64_t torc_arena_used_by(const struct torc_arena *arena, enum torc_use use);
uint64_t torc_arena_committed(const struct torc_arena *arena); /* bytes held from the kernel */
uint64_t torc_arena_limit(const struct torc_arena *arena);
void torc_arena_set_limit(struct torc_arena *arena, uint64_t limit);
uint64_t torc_arena_seed(const struct torc_arena *arena);
uint64_t torc_arena_epoch(const struct torc_arena *arena);

/* Roots: one reference per database, for the keyspace layer. TORC_REF_NONE when unset. */
uint64_t torc_arena_root(const struct torc_arena *arena, unsigned database);
void torc_arena_set_root(struct torc_arena *arena, unsigned database, uint64_t ref);

/* The in-flight word: names the operation being applied (0 = none), set before its first store and
 * cleared after its last, so that whoever maps a dead arena knows what may be half done. To be set
 * around every call that changes the arena, torc_arena_tidy() included: with 0 the arena is sound.
 */
void torc_arena_set_in_flight(struct torc_arena *arena, uint64_t what);
uint64_t torc_arena_in_flight(const struct torc_arena *arena);

/* Give free memory above what is kept for the next allocation (1/16 of what is committed, 4 MiB at
 * least) back to the kernel, at most about `max_bytes` a call (a commit step, 256 KiB or 2 MiB with
 * huge pages, is the least). True while there is more. A free gives back up to twice as much as it
 * frees itself, 1 to 8 MiB; the rest of a large one is for the moments after it. Costs a syscall
 * per piece, about 0.2 ms a MiB; nothing when there is nothing to give. */
bool torc_arena_trim(struct torc_arena *arena, uint64_t max_bytes);

/* The same for idle moments: gives all back but for 1/256 of what is committed, a commit step at
 * least. */
bool torc_arena_tidy(struct torc_arena *arena, uint64_t max_bytes);

/* For tests: let the n-th allocation from now (1 = the next) and all later ones fail with -ENOSPC;
 * 0 = never. A run, a block or a record counts as one, whatever it takes inside. */
void torc_arena_fail_after(struct torc_arena *arena, uint64_t n);

/* Walk everything: free lists, page descriptors, blocks, segments, counters. 0 or -EBADMSG; on
 * -EBADMSG *out_why (may be NULL) is a static text. O(size). Works on a read-only arena, and ends
 * whatever bytes it finds there. Expects that segments and extents were made by core/segment.h
 * only. */
int torc_arena_check(const struct torc_arena *arena, const char **out_why) TORC_MUST_USE;

#endif
