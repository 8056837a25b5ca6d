/* SPDX-License-Identifier: Apache-2.0
 *
 * What an arena looks like inside: superblock and page descriptors. For core/arena*.c,
 * core/segment.c and their tests. Byte tables: docs/formats/arena.md.
 */
#ifndef TORC_CORE_ARENA_PRIVATE_H
#define TORC_CORE_ARENA_PRIVATE_H

#include "core/arena.h"
#include "core/segment.h"

#define TORC_ARENA_MIN_BYTES  (4ull * TORC_MIB)
#define TORC_PAGE_LOG2        12u
#define TORC_PAGE_NUMBER_BITS 28u /* 2^28 pages of 4 KiB are 1 TiB */
#define TORC_PAGE_NUMBER_MASK ((1u << TORC_PAGE_NUMBER_BITS) - 1u)
#define TORC_FREE_ORDERS      28u /* free blocks of 2^0 .. 2^27 pages; 2^28 is the whole range */
#define TORC_BLOCK_SIZES      (TORC_BLOCK_MAX_LOG2 - TORC_BLOCK_MIN_LOG2 + 1u)
#define TORC_SUPER_HOLD       1u /* flags: pages are never given back (the region is prefaulted) */
/* Commit granularity of the page table with 4 KiB pages: 16 KiB, which describe 4 MiB. */
#define TORC_TABLE_SMALL_BYTES 16384u

/* Free blocks come in two colours, and only blocks of one colour merge: so a whole block is one
 * or the other, and which pages are in memory needs no table of its own. */
enum torc_free_colour {
    TORC_FREE_RESIDENT = 0, /* its pages are committed */
    TORC_FREE_RELEASED = 1, /* they are not; only blocks of whole commit steps */
    TORC_FREE_COLOURS = 2,
};

/* First page of the arena. Written by the owner only. */
struct torc_superblock {
    uint64_t magic;       /* TORC_ARENA_MAGIC, stored last */
    uint32_t layout;      /* TORC_ARENA_LAYOUT */
    uint32_t flags;       /* TORC_SUPER_HOLD */
    uint64_t layout_hash; /* torc_arena_layout_hash() of the writer */
    uint64_t capacity;    /* bytes of the region */
    uint64_t hash_seed;
    uint64_t epoch;
    uint64_t limit;     /* of used bytes, 0 = none */
    uint64_t in_flight; /* operation being applied, 0 = none */
    uint64_t roots[TORC_ARENA_DATABASES];
    uint64_t used[TORC_USE_COUNT]; /* bytes by use */
    uint64_t committed;            /* bytes held from the kernel: superblock, table, heap */
    uint64_t idle_pages;           /* in resident free blocks of a commit step or more */
    uint64_t table_end;            /* the page table is committed up to this offset */
    uint32_t heap_first;           /* first page of the heap */
    uint32_t top;                  /* first page that was never in the heap */
    uint32_t step_order;           /* log2 of pages in a commit step: 6, or 9 with huge pages */
    uint32_t free_orders[TORC_FREE_COLOURS];            /* bit per non-empty free list */
    uint32_t free[TORC_FREE_COLOURS][TORC_FREE_ORDERS]; /* first block of each list, 0 = none */
    uint32_t partial[TORC_USE_COUNT][TORC_BLOCK_SIZES]; /* slabs with room, 0 = none */
    uint32_t reserved;
    struct torc_stream shared; /* shared record stream */
};
static_assert(offsetof(struct torc_superblock, roots) == 64, "superblock: roots");
static_assert(offsetof(struct torc_superblock, used) == 192, "superblock: used");
static_assert(offsetof(struct torc_superblock, heap_first) == 248, "superblock: heap_first");
static_assert(offsetof(struct torc_superblock, free) == 268, "superblock: free");
static_assert(offsetof(struct torc_superblock, partial) == 492, "superblock: partial");
static_assert(offsetof(struct torc_superblock, shared) == 592, "superblock: shared");
static_assert(sizeof(struct torc_superblock) == 640, "superblock");
static_assert(sizeof(struct torc_superblock) <= TORC_PAGE_BYTES, "superblock fits its page");

/* What a page is, in its descriptor. Only the first page of a free block or of a run has a kind:
 * the descriptors of all pages behind it are zero, so a descriptor never tells of the past. */
enum torc_page_state {
    TORC_PAGE_INSIDE = 0, /* behind the first of a run or free block, or not in the heap */
    TORC_PAGE_FREE = 1,
    TORC_PAGE_RUN = 2,
    TORC_PAGE_SLAB = 3,
};

/* One page. `links` packs next (bits 0-27), prev (28-55), state (56-57), use (58-59) and, of a
 * slab, log2 of its block size less TORC_BLOCK_MIN_LOG2 (60-63). */
struct torc_page {
    uint64_t
        word; /* FREE: order, plus TORC_PAGE_RELEASED; RUN: pages; SLAB: a bit per used block */
    uint64_t links;
};
static_assert(sizeof(struct torc_page) == 16, "page descriptor");

#define TORC_PAGE_RELEASED   0x100u
#define TORC_PAGE_PREV_SHIFT 28u
#define TORC_PAGE_INFO_SHIFT 56u

static inline uint32_t torc_page_next(const struct torc_page *page)
{
    return (uint32_t)page->links & TORC_PAGE_NUMBER_MASK;
}

static inline uint32_t torc_page_prev(const struct torc_page *page)
{
    return (uint32_t)(page->links >> TORC_PAGE_PREV_SHIFT) & TORC_PAGE_NUMBER_MASK;
}

static inline enum torc_page_state torc_page_state(const struct torc_page *page)
{
    return (enum torc_page_state)(page->links >> TORC_PAGE_INFO_SHIFT & 3u);
}

static inline unsigned torc_page_use(const struct torc_page *page)
{
    return (unsigned)(page->links >> (TORC_PAGE_INFO_SHIFT + 2)) & 3u;
}

/* 0 = 64 bytes. Only of slabs. */
static inline unsigned torc_page_block_size(const struct torc_page *page)
{
    return (unsigned)(page->links >> (TORC_PAGE_INFO_SHIFT + 4)) & 15u;
}

static inline uint64_t torc_page_info(enum torc_page_state state, unsigned use, unsigned size)
{
    return (uint64_t)(state | use << 2 | size << 4) << TORC_PAGE_INFO_SHIFT;
}

/* The bitmap of a slab with no room. */
static inline uint64_t torc_page_slab_full(unsigned size)
{
    unsigned n_blocks = TORC_PAGE_BYTES >> (size + TORC_BLOCK_MIN_LOG2);
    return n_blocks == 64 ? UINT64_MAX : (1ull << n_blocks) - 1;
}

/* Descriptor of page `number`. The table follows the superblock and is indexed by page number, so
 * that a block's buddy is found without knowing where the heap begins. */
static inline struct torc_page *torc_arena_page(const struct torc_arena *arena, uint64_t number)
{
    return (struct torc_page *)(void *)(arena->base + TORC_PAGE_BYTES) + number;
}

/* Offset of the descriptor of page `number`. */
static inline uint64_t torc_page_table_offset(uint64_t number)
{
    return TORC_PAGE_BYTES + number * sizeof(struct torc_page);
}

/* torc_arena_create() on a region that is open, which becomes the arena's; on failure it stays the
 * caller's. -ENOMEM. */
int torc_arena_create_in(const struct torc_region *region, const struct torc_arena_options *options,
                         struct torc_arena **out_arena) TORC_MUST_USE;

/* A hash over the sizes and places that an arena's reader and writer must agree on. */
uint64_t torc_arena_layout_hash(void);

/* First page of the heap: behind the table, on the boundary of a commit step. */
uint64_t torc_arena_heap_first(uint64_t capacity, unsigned step_order);

/* The page table is committed in pieces of this many bytes; the first holds the superblock. */
uint64_t torc_arena_table_granule(unsigned step_order);

/* Where the part of the table begins that is committed as the heap grows. What lies between the
 * first granule and this describes pages before the heap, is never used, and is a hole. */
uint64_t torc_arena_table_first(const struct torc_superblock *super);

/* Cut n_pages (1 or more) out of the free pages; the descriptor of the first is left zero, for the
 * caller to fill. -ENOSPC no room in the capacity, -ENOMEM no pages from the kernel; nothing
 * changed then but the bounds of the heap. */
int torc_arena_pages_take(struct torc_arena *arena, uint64_t n_pages,
                          uint32_t *out_number) TORC_MUST_USE;

/* Undo that: pages are free again, and their first descriptor too. */
void torc_arena_pages_give(struct torc_arena *arena, uint32_t number, uint64_t n_pages);

/* Put page `number` in front of the list at *head; take it out of it. Links are in descriptors,
 * the rest of which stays. */
void torc_arena_list_push(struct torc_arena *arena, uint32_t *head, uint32_t number);
void torc_arena_list_unlink(struct torc_arena *arena, uint32_t *head, uint32_t number);

/* Counts one allocation for torc_arena_fail_after(); true: it must fail. */
bool torc_arena_is_failing(struct torc_arena *arena);

/* torc_arena_run_alloc() without that count, and allowed to pass the limit by `over` bytes: for the
 * segment layer, whose own calls are what is counted, and whose cleaner must go on at the limit. */
int torc_arena_run_take(struct torc_arena *arena, uint64_t n_pages, enum torc_use use,
                        uint64_t over, uint64_t *out_ref) TORC_MUST_USE;

/* What is wrong with the head of the segment or extent at `ref`, NULL if nothing. Reads nothing
 * that the page table does not vouch for. */
const char *torc_segment_head_fault(const struct torc_arena *arena, uint64_t ref);

#endif
