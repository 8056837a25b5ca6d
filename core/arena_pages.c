/* SPDX-License-Identifier: Apache-2.0
 *
 * Page runs: the buddy allocator behind an arena's heap, and its dealings with the kernel.
 *
 * The heap is pages [heap_first, top). Its free pages are kept as aligned blocks of 2^order pages,
 * a list for each order, twice: resident ones and released ones, which take no memory. A run comes
 * from the smallest resident block that is large enough, else from a released one, of which only
 * the commit steps that the run touches are committed, else the top is raised, which adds released
 * blocks. A freed run is resident; when there are more resident pages in whole steps than are worth
 * keeping, some are released.
 */
#include "core/arena_private.h"

#define KEEP_MIN_BYTES  (4ull * TORC_MIB) /* free memory kept at least... */
#define KEEP_SHARE_LOG2 4u                /* ...and 1/16 of what is committed */
#define TIDY_SHARE_LOG2 8u                /* torc_arena_tidy(): a commit step, or 1/256 */
/* Given back within one free: twice what it frees, so that no pattern of use leaves some behind,
 * but between these. */
#define FREE_TRIM_MIN_BYTES TORC_MIB
#define FREE_TRIM_MAX_BYTES (8 * TORC_MIB)
#define NO_ORDER            TORC_FREE_ORDERS

uint64_t torc_arena_heap_first(uint64_t capacity, unsigned step_order)
{
    uint64_t table_end = torc_page_table_offset(capacity >> TORC_PAGE_LOG2);
    return torc_align_up(table_end, (uint64_t)TORC_PAGE_BYTES << step_order) >> TORC_PAGE_LOG2;
}

uint64_t torc_arena_table_granule(unsigned step_order)
{
    uint64_t step = (uint64_t)TORC_PAGE_BYTES << step_order;
    return step > TORC_REGION_SMALL_STEP_BYTES ? step : TORC_TABLE_SMALL_BYTES;
}

uint64_t torc_arena_table_first(const struct torc_superblock *super)
{
    uint64_t granule = torc_arena_table_granule(super->step_order);
    return torc_max_u64(granule, torc_page_table_offset(super->heap_first) & ~(granule - 1));
}

/* Commit and count, or neither. A prefaulted region is committed and counted already. */
static int pages_commit(struct torc_arena *arena, uint64_t offset, uint64_t len)
{
    if (arena->super->flags & TORC_SUPER_HOLD) {
        return 0;
    }
    int rc = torc_region_commit(&arena->region, offset, len);
    if (rc != 0) {
        torc_region_release(&arena->region, offset, len);
        return rc;
    }
    arena->super->committed += len;
    return 0;
}

/* Make sure that the descriptors of all pages below `top` exist. */
static int table_commit(struct torc_arena *arena, uint64_t top)
{
    struct torc_superblock *super = arena->super;
    uint64_t end =
        torc_align_up(torc_page_table_offset(top), torc_arena_table_granule(super->step_order));
    if (end <= super->table_end) {
        return 0;
    }
    int rc = pages_commit(arena, super->table_end, end - super->table_end);
    if (rc == 0) {
        super->table_end = end;
    }
    return rc;
}

/* ---- free blocks ---- */

static uint64_t free_word(unsigned order, enum torc_free_colour colour)
{
    return order | (colour == TORC_FREE_RELEASED ? TORC_PAGE_RELEASED : 0u);
}

static void page_set_next(struct torc_page *page, uint32_t next)
{
    page->links = (page->links & ~(uint64_t)TORC_PAGE_NUMBER_MASK) | next;
}

static void page_set_prev(struct torc_page *page, uint32_t prev)
{
    page->links = (page->links & ~((uint64_t)TORC_PAGE_NUMBER_MASK << TORC_PAGE_PREV_SHIFT)) |
                  (uint64_t)prev << TORC_PAGE_PREV_SHIFT;
}

void torc_arena_list_push(struct torc_arena *arena, uint32_t *head, uint32_t number)
{
    struct torc_page *page = torc_arena_page(arena, number);
    page_set_next(page, *head);
    page_set_prev(page, 0);
    if (*head != 0) {
        page_set_prev(torc_arena_page(arena, *head), number);
    }
    *head = number;
}

void torc_arena_list_unlink(struct torc_arena *arena, uint32_t *head, uint32_t number)
{
    struct torc_page *page = torc_arena_page(arena, number);
    uint32_t next = torc_page_next(page);
    uint32_t prev = torc_page_prev(page);
    if (prev != 0) {
        page_set_next(torc_arena_page(arena, prev), next);
    } else {
        *head = next;
    }
    if (next != 0) {
        page_set_prev(torc_arena_page(arena, next), prev);
    }
}

static void free_push(struct torc_arena *arena, uint32_t number, unsigned order,
                      enum torc_free_colour colour)
{
    struct torc_superblock *super = arena->super;
    *torc_arena_page(arena, number) = (struct torc_page){
        .word = free_word(order, colour),
        .links = torc_page_info(TORC_PAGE_FREE, 0, 0),
    };
    torc_arena_list_push(arena, &super->free[colour][order], number);
    super->free_orders[colour] |= 1u << order;
    if (colour == TORC_FREE_RESIDENT && order >= super->step_order) {
        super->idle_pages += 1ull << order;
    }
}

/* Leaves the descriptor zero: what it describes next is up to the caller. */
static void free_unlink(struct torc_arena *arena, uint32_t number, unsigned order,
                        enum torc_free_colour colour)
{
    struct torc_superblock *super = arena->super;
    torc_arena_list_unlink(arena, &super->free[colour][order], number);
    if (super->free[colour][order] == 0) {
        super->free_orders[colour] &= ~(1u << order);
    }
    if (colour == TORC_FREE_RESIDENT && order >= super->step_order) {
        super->idle_pages -= 1ull << order;
    }
    *torc_arena_page(arena, number) = (struct torc_page){.word = 0};
}

/* Add one aligned block to the free ones, merged with its buddy as often as that is free too. */
static void free_block(struct torc_arena *arena, uint32_t number, unsigned order,
                       enum torc_free_colour colour)
{
    const struct torc_superblock *super = arena->super;
    while (order + 1 < TORC_FREE_ORDERS) {
        uint32_t buddy = number ^ 1u << order;
        if (buddy < super->heap_first || buddy + (1u << order) > super->top) {
            break;
        }
        const struct torc_page *page = torc_arena_page(arena, buddy);
        if (torc_page_state(page) != TORC_PAGE_FREE || page->word != free_word(order, colour)) {
            break;
        }
        free_unlink(arena, buddy, order, colour);
        number &= ~(1u << order);
        order++;
    }
    free_push(arena, number, order, colour);
}

/* Add pages [from, to), cut into aligned blocks. */
static void free_range(struct torc_arena *arena, uint64_t from, uint64_t to,
                       enum torc_free_colour colour)
{
    while (from < to) {
        unsigned order = (unsigned)__builtin_ctzll(from);
        unsigned fits = torc_log2_floor(to - from);
        order = order < fits ? order : fits;
        free_block(arena, (uint32_t)from, order, colour);
        from += 1ull << order;
    }
}

/* The least order from `order` up with a free block of this colour, or NO_ORDER. */
static unsigned free_find(const struct torc_superblock *super, enum torc_free_colour colour,
                          unsigned order)
{
    uint32_t orders = super->free_orders[colour] >> order << order;
    return orders != 0 ? (unsigned)__builtin_ctz(orders) : NO_ORDER;
}

/* ---- giving back ---- */

static uint64_t keep_pages(const struct torc_superblock *super)
{
    uint64_t keep = torc_max_u64(super->committed >> KEEP_SHARE_LOG2, KEEP_MIN_BYTES);
    return keep >> TORC_PAGE_LOG2;
}

/* Release resident free blocks, largest first, until `keep` pages of them are left or `budget`
 * pages were given back. */
static void idle_release(struct torc_arena *arena, uint64_t keep, uint64_t budget)
{
    struct torc_superblock *super = arena->super;
    if (super->flags & TORC_SUPER_HOLD) {
        return;
    }
    uint64_t step = 1ull << super->step_order;
    while (super->idle_pages > keep && budget != 0) {
        unsigned order = torc_log2_floor(super->free_orders[TORC_FREE_RESIDENT]);
        uint32_t number = super->free[TORC_FREE_RESIDENT][order];
        uint64_t surplus = torc_align_up(torc_min_u64(super->idle_pages - keep, budget), step);
        uint64_t n = torc_min_u64(1ull << order, surplus);
        free_unlink(arena, number, order, TORC_FREE_RESIDENT);
        torc_region_release(&arena->region, (uint64_t)number << TORC_PAGE_LOG2,
                            n << TORC_PAGE_LOG2);
        super->committed -= n << TORC_PAGE_LOG2;
        free_range(arena, number, number + n, TORC_FREE_RELEASED);
        free_range(arena, number + n, number + (1ull << order), TORC_FREE_RESIDENT);
        budget -= torc_min_u64(n, budget);
    }
}

static bool release_down_to(struct torc_arena *arena, uint64_t keep, uint64_t max_bytes)
{
    const struct torc_superblock *super = arena->super;
    idle_release(arena, keep, torc_max_u64(max_bytes >> TORC_PAGE_LOG2, 1));
    return (super->flags & TORC_SUPER_HOLD) == 0 && super->idle_pages > keep;
}

bool torc_arena_trim(struct torc_arena *arena, uint64_t max_bytes)
{
    return release_down_to(arena, keep_pages(arena->super), max_bytes);
}

bool torc_arena_tidy(struct torc_arena *arena, uint64_t max_bytes)
{
    const struct torc_superblock *super = arena->super;
    uint64_t keep = torc_max_u64(super->committed >> TIDY_SHARE_LOG2 >> TORC_PAGE_LOG2,
                                 1ull << super->step_order);
    return release_down_to(arena, keep, max_bytes);
}

/* ---- page runs ---- */

/* True if pages [from, top) are all free and of this colour, so that growth would merge with them.
 */
static bool tail_is_free(const struct torc_arena *arena, uint64_t from,
                         enum torc_free_colour colour)
{
    while (from < arena->super->top) {
        const struct torc_page *page = torc_arena_page(arena, from);
        unsigned order = (unsigned)page->word & 0xffu;
        if (torc_page_state(page) != TORC_PAGE_FREE || page->word != free_word(order, colour)) {
            return false;
        }
        from += 1ull << order;
    }
    return true;
}

/* Raise the top until there is a free block of 2^order pages; it is not committed yet. -ENOSPC the
 * capacity has no room for it, -ENOMEM no pages for the descriptors. */
static int heap_grow(struct torc_arena *arena, unsigned order)
{
    struct torc_superblock *super = arena->super;
    enum torc_free_colour colour =
        super->flags & TORC_SUPER_HOLD ? TORC_FREE_RESIDENT : TORC_FREE_RELEASED;
    uint64_t n_pages = super->capacity >> TORC_PAGE_LOG2;
    uint64_t size = 1ull << (order > super->step_order ? order : super->step_order);
    uint64_t target = super->top & ~(size - 1);
    if (target < super->heap_first || !tail_is_free(arena, target, colour)) {
        target = torc_align_up(super->top, size);
    }
    if (target > n_pages || size > n_pages - target) {
        return -ENOSPC;
    }
    int rc = table_commit(arena, target + size);
    if (rc != 0) {
        return rc;
    }
    uint64_t from = super->top;
    super->top = (uint32_t)(target + size);
    free_range(arena, from, super->top, colour);
    return 0;
}

/* Find a free block of 2^order pages or more; what is in memory goes before what has to be
 * committed, old before new. Nothing is taken yet. */
static int block_find(struct torc_arena *arena, unsigned order, unsigned *out_order,
                      enum torc_free_colour *out_colour)
{
    struct torc_superblock *super = arena->super;
    const uint64_t n_pages = 1ull << order;
    bool joined = false;
    bool unified = false;
    for (;;) {
        for (unsigned colour = 0; colour < TORC_FREE_COLOURS; colour++) {
            unsigned found = free_find(super, (enum torc_free_colour)colour, order);
            if (found != NO_ORDER) {
                *out_order = found;
                *out_colour = (enum torc_free_colour)colour;
                return 0;
            }
        }
        /* Free neighbours of different colour may be what is missing: make them one. Without it a
         * pattern of large runs could grow the heap for ever, as none finds the place of the last.
         */
        if (!joined && super->idle_pages >= n_pages / 2) {
            joined = true;
            idle_release(arena, 0, 2 * n_pages);
            continue;
        }
        int rc = heap_grow(arena, order);
        if (rc == -ENOSPC && !unified) {
            unified = true;
            idle_release(arena, 0, UINT64_MAX);
        } else if (rc != 0) {
            return rc;
        }
    }
}

int torc_arena_pages_take(struct torc_arena *arena, uint64_t n_pages, uint32_t *out_number)
{
    struct torc_superblock *super = arena->super;
    unsigned order = torc_log2_ceil(n_pages);
    if (order >= TORC_FREE_ORDERS) {
        return -ENOSPC;
    }
    enum torc_free_colour colour = TORC_FREE_RESIDENT;
    int rc = block_find(arena, order, &order, &colour);
    if (rc != 0) {
        return rc;
    }
    uint32_t number = super->free[colour][order];
    uint64_t end = number + (1ull << order);
    uint64_t resident_end = end;
    if (colour == TORC_FREE_RELEASED) {
        uint64_t len = torc_align_up(n_pages, 1ull << super->step_order);
        resident_end = number + len;
        rc = pages_commit(arena, (uint64_t)number << TORC_PAGE_LOG2, len << TORC_PAGE_LOG2);
        if (rc != 0) {
            return rc;
        }
    }
    free_unlink(arena, number, order, colour);
    free_range(arena, number + n_pages, resident_end, TORC_FREE_RESIDENT);
    free_range(arena, resident_end, end, TORC_FREE_RELEASED);
    *out_number = number;
    return 0;
}

void torc_arena_pages_give(struct torc_arena *arena, uint32_t number, uint64_t n_pages)
{
    *torc_arena_page(arena, number) = (struct torc_page){.word = 0};
    free_range(arena, number, number + n_pages, TORC_FREE_RESIDENT);
    uint64_t keep = keep_pages(arena->super);
    if (TORC_UNLIKELY(arena->super->idle_pages > keep)) {
        uint64_t bytes = torc_min_u64(2 * n_pages * TORC_PAGE_BYTES, FREE_TRIM_MAX_BYTES);
        idle_release(arena, keep, torc_max_u64(bytes, FREE_TRIM_MIN_BYTES) >> TORC_PAGE_LOG2);
    }
}
