/* SPDX-License-Identifier: Apache-2.0
 *
 * torc_arena_check(): the full walk of an arena's invariants. Two passes: the heap from its first
 * page to its top, which must be covered exactly by runs, slabs and free blocks and yields the
 * counts of everything; then each list, which must hold exactly what was counted. The arena may be
 * a dead server's, so nothing is followed before it is known to be in bounds, and every loop is
 * bounded by a count of the first pass.
 */
#include "core/arena_private.h"

struct tally {
    uint64_t used[TORC_USE_COUNT];
    uint64_t free[TORC_FREE_COLOURS][TORC_FREE_ORDERS]; /* blocks */
    uint64_t partial[TORC_USE_COUNT][TORC_BLOCK_SIZES]; /* slabs with room */
    uint64_t released_pages;
    uint64_t idle_pages;
    uint64_t shared_segments; /* segments and extents of owner 0 */
    uint64_t shared_bytes;    /* records in them, live or dead */
};

static const char *super_fault(const struct torc_arena *arena)
{
    const struct torc_superblock *super = arena->super;
    if (super->magic != TORC_ARENA_MAGIC || super->layout != TORC_ARENA_LAYOUT ||
        super->layout_hash != torc_arena_layout_hash()) {
        return "superblock: magic or layout";
    }
    if (super->capacity != arena->region.capacity || super->capacity < TORC_ARENA_MIN_BYTES ||
        (super->flags & ~TORC_SUPER_HOLD) != 0 || super->reserved != 0) {
        return "superblock: capacity or flags";
    }
    uint64_t n_pages = super->capacity >> TORC_PAGE_LOG2;
    uint64_t step = 1ull << super->step_order % 64;
    if ((super->step_order != 6 && super->step_order != 9) ||
        super->heap_first != torc_arena_heap_first(super->capacity, super->step_order) ||
        super->top < super->heap_first || super->top > n_pages || super->top % step != 0) {
        return "superblock: bounds of the heap";
    }
    if (super->table_end % TORC_PAGE_BYTES != 0 ||
        super->table_end < torc_page_table_offset(super->top) * (super->top != super->heap_first) ||
        super->table_end > (uint64_t)super->heap_first << TORC_PAGE_LOG2) {
        return "superblock: end of the page table";
    }
    return NULL;
}

static const char *free_fault(const struct torc_arena *arena, uint64_t number, struct tally *tally,
                              uint64_t *out_len)
{
    const struct torc_superblock *super = arena->super;
    const struct torc_page *page = torc_arena_page(arena, number);
    uint64_t order = page->word & 0xffu;
    bool released = (page->word & TORC_PAGE_RELEASED) != 0;
    if ((page->word & ~(uint64_t)(0xffu | TORC_PAGE_RELEASED)) != 0 || order >= TORC_FREE_ORDERS ||
        (released && order < super->step_order) || number % (1ull << order) != 0 ||
        1ull << order > super->top - number) {
        return "free block: order";
    }
    uint64_t len = 1ull << order;
    uint64_t buddy = number ^ len;
    if (buddy >= super->heap_first && buddy < super->top && len <= super->top - buddy) {
        const struct torc_page *other = torc_arena_page(arena, buddy);
        if (torc_page_state(other) == TORC_PAGE_FREE && other->word == page->word) {
            return "free block: not merged with its buddy";
        }
    }
    tally->free[released ? TORC_FREE_RELEASED : TORC_FREE_RESIDENT][order]++;
    if (released) {
        tally->released_pages += len;
    } else if (order >= super->step_order) {
        tally->idle_pages += len;
    }
    *out_len = len;
    return NULL;
}

static const char *run_fault(const struct torc_arena *arena, uint64_t number, struct tally *tally,
                             uint64_t *out_len)
{
    const struct torc_page *page = torc_arena_page(arena, number);
    uint64_t len = page->word;
    unsigned use = torc_page_use(page);
    if (len == 0 || len > arena->super->top - number ||
        number % (1ull << torc_log2_ceil(len)) != 0) {
        return "run: length or place";
    }
    if (torc_page_next(page) != 0 || torc_page_prev(page) != 0 || torc_page_block_size(page) != 0) {
        return "run: links";
    }
    if (use == TORC_USE_SEGMENT || use == TORC_USE_EXTENT) {
        const char *fault = torc_segment_head_fault(arena, number << TORC_PAGE_LOG2);
        if (fault != NULL) {
            return fault;
        }
        const struct torc_segment *segment =
            (const struct torc_segment *)torc_arena_at(arena, number << TORC_PAGE_LOG2);
        if (segment->owner == 0) {
            tally->shared_segments++;
            tally->shared_bytes += segment->used;
        }
    }
    tally->used[use] += len << TORC_PAGE_LOG2;
    *out_len = len;
    return NULL;
}

static const char *slab_fault(const struct torc_arena *arena, uint64_t number, struct tally *tally,
                              uint64_t *out_len)
{
    const struct torc_page *page = torc_arena_page(arena, number);
    unsigned size = torc_page_block_size(page);
    unsigned use = torc_page_use(page);
    if (size >= TORC_BLOCK_SIZES || page->word == 0 ||
        (page->word & ~torc_page_slab_full(size)) != 0) {
        return "slab: block size or bitmap";
    }
    if (page->word != torc_page_slab_full(size)) {
        tally->partial[use][size]++;
    } else if (torc_page_next(page) != 0 || torc_page_prev(page) != 0) {
        return "slab: a full one in a list";
    }
    tally->used[use] += (uint64_t)__builtin_popcountll(page->word) << (size + TORC_BLOCK_MIN_LOG2);
    *out_len = 1;
    return NULL;
}

static const char *heap_fault(const struct torc_arena *arena, struct tally *tally)
{
    const struct torc_superblock *super = arena->super;
    uint64_t number = super->heap_first;
    while (number < super->top) {
        uint64_t len = 0;
        const char *fault = NULL;
        switch (torc_page_state(torc_arena_page(arena, number))) {
        case TORC_PAGE_INSIDE:
            fault = "heap: a page that belongs to nothing";
            break;
        case TORC_PAGE_FREE:
            fault = free_fault(arena, number, tally, &len);
            break;
        case TORC_PAGE_RUN:
            fault = run_fault(arena, number, tally, &len);
            break;
        case TORC_PAGE_SLAB:
            fault = slab_fault(arena, number, tally, &len);
            break;
        }
        if (fault != NULL) {
            return fault;
        }
        for (uint64_t inside = number + 1; inside < number + len; inside++) {
            const struct torc_page *page = torc_arena_page(arena, inside);
            if ((page->word | page->links) != 0) {
                return "heap: a descriptor inside a run or free block";
            }
        }
        number += len;
    }
    return NULL;
}

/* A list must have exactly `n` members, each of the given descriptor but for its links, each with
 * the right way back. A member met twice would have two ways back, so n steps see n members. */
static const char *list_fault(const struct torc_arena *arena, uint32_t head, uint64_t n,
                              uint64_t info, const uint64_t *word)
{
    const struct torc_superblock *super = arena->super;
    uint32_t prev = 0;
    uint32_t number = head;
    for (; n != 0; n--) {
        if (number < super->heap_first || number >= super->top) {
            return "list: too short or out of the heap";
        }
        const struct torc_page *page = torc_arena_page(arena, number);
        if (page->links >> TORC_PAGE_INFO_SHIFT != info >> TORC_PAGE_INFO_SHIFT ||
            (word != NULL && page->word != *word) || torc_page_prev(page) != prev) {
            return "list: a member that is none";
        }
        prev = number;
        number = torc_page_next(page);
    }
    return number == 0 ? NULL : "list: too long";
}

static const char *lists_fault(const struct torc_arena *arena, const struct tally *tally)
{
    const struct torc_superblock *super = arena->super;
    for (unsigned colour = 0; colour < TORC_FREE_COLOURS; colour++) {
        for (unsigned order = 0; order < TORC_FREE_ORDERS; order++) {
            uint64_t word = order | (colour == TORC_FREE_RELEASED ? TORC_PAGE_RELEASED : 0u);
            const char *fault =
                list_fault(arena, super->free[colour][order], tally->free[colour][order],
                           torc_page_info(TORC_PAGE_FREE, 0, 0), &word);
            if (fault != NULL) {
                return fault;
            }
            if ((super->free_orders[colour] >> order & 1u) != (super->free[colour][order] != 0)) {
                return "superblock: bits of the free lists";
            }
        }
        if (super->free_orders[colour] >> TORC_FREE_ORDERS != 0) {
            return "superblock: bits of the free lists";
        }
    }
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        for (unsigned size = 0; size < TORC_BLOCK_SIZES; size++) {
            const char *fault =
                list_fault(arena, super->partial[use][size], tally->partial[use][size],
                           torc_page_info(TORC_PAGE_SLAB, use, size), NULL);
            if (fault != NULL) {
                return fault;
            }
        }
    }
    return NULL;
}

static const char *counters_fault(const struct torc_arena *arena, const struct tally *tally)
{
    const struct torc_superblock *super = arena->super;
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        if (super->used[use] != tally->used[use]) {
            return "superblock: used bytes";
        }
    }
    if (super->idle_pages != tally->idle_pages) {
        return "superblock: idle pages";
    }
    uint64_t committed = super->capacity;
    if ((super->flags & TORC_SUPER_HOLD) == 0) {
        uint64_t granule = torc_arena_table_granule(super->step_order);
        committed = granule + super->table_end - torc_arena_table_first(super) +
                    ((super->top - super->heap_first - tally->released_pages) << TORC_PAGE_LOG2);
    }
    return super->committed == committed ? NULL : "superblock: committed bytes";
}

/* The shared stream, and that nothing else claims to be of it. */
static const char *shared_fault(const struct torc_arena *arena, const struct tally *tally)
{
    const struct torc_stream *stream = &arena->super->shared;
    const char *fault = NULL;
    if (torc_stream_check(arena, stream, &fault) != 0) {
        return fault;
    }
    uint64_t n = stream->open != TORC_REF_NONE;
    const uint64_t rings[] = {stream->closed, stream->extents};
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        uint64_t ref = rings[i];
        while (ref != TORC_REF_NONE) {
            n++;
            ref = ((const struct torc_segment *)torc_arena_at(arena, ref))->next;
            if (ref == rings[i]) {
                break;
            }
        }
    }
    return n == tally->shared_segments && stream->live + stream->dead == tally->shared_bytes &&
                   stream->owner == 0
               ? NULL
               : "shared stream: a segment that is not in it";
}

int torc_arena_check(const struct torc_arena *arena, const char **out_why)
{
    struct tally tally = {.released_pages = 0};
    const char *fault = super_fault(arena);
    if (fault == NULL) {
        fault = heap_fault(arena, &tally);
    }
    if (fault == NULL) {
        fault = lists_fault(arena, &tally);
    }
    if (fault == NULL) {
        fault = counters_fault(arena, &tally);
    }
    if (fault == NULL) {
        fault = shared_fault(arena, &tally);
    }
    if (fault == NULL) {
        return 0;
    }
    if (out_why != NULL) {
        *out_why = fault;
    }
    return -EBADMSG;
}
