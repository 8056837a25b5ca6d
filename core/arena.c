/* SPDX-License-Identifier: Apache-2.0 */
#include "core/arena.h"

#include <stdlib.h>

#include "core/arena_private.h"

#define MAX_HEAP_PAGES (1ull << TORC_PAGE_NUMBER_BITS)

uint64_t torc_arena_layout_hash(void)
{
    const uint64_t facts[] = {
        TORC_ARENA_LAYOUT,
        TORC_PAGE_BYTES,
        TORC_SEGMENT_BYTES,
        TORC_RECORD_MAX_BYTES,
        TORC_BLOCK_MIN_LOG2,
        TORC_BLOCK_MAX_LOG2,
        TORC_USE_COUNT,
        TORC_FREE_ORDERS,
        sizeof(struct torc_superblock),
        offsetof(struct torc_superblock, roots),
        offsetof(struct torc_superblock, used),
        offsetof(struct torc_superblock, free),
        offsetof(struct torc_superblock, partial),
        offsetof(struct torc_superblock, shared),
        sizeof(struct torc_page),
        sizeof(struct torc_segment),
        sizeof(struct torc_stream),
    };
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a, a word at a time */
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        hash = (hash ^ facts[i]) * 0x100000001b3ull;
    }
    return hash;
}

/* ---- accounting ---- */

uint64_t torc_arena_used(const struct torc_arena *arena)
{
    uint64_t used = 0;
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        used += arena->super->used[use];
    }
    return used;
}

/* True if `bytes` more are at most `over` above the limit. */
static bool has_room_over(const struct torc_arena *arena, uint64_t bytes, uint64_t over)
{
    const struct torc_superblock *super = arena->super;
    uint64_t ceiling = super->capacity - ((uint64_t)super->heap_first << TORC_PAGE_LOG2);
    if (super->limit != 0 && super->limit < ceiling) {
        ceiling = torc_min_u64(super->limit + over, ceiling);
    }
    uint64_t used = torc_arena_used(arena);
    return used <= ceiling && bytes <= ceiling - used;
}

bool torc_arena_has_room(const struct torc_arena *arena, uint64_t bytes)
{
    return has_room_over(arena, bytes, 0);
}

bool torc_arena_is_failing(struct torc_arena *arena)
{
    if (TORC_LIKELY(arena->fail_after == 0)) {
        return false;
    }
    if (arena->fail_after == 1) {
        return true;
    }
    arena->fail_after--;
    return false;
}

void torc_arena_fail_after(struct torc_arena *arena, uint64_t n)
{
    arena->fail_after = n;
}

int torc_arena_run_take(struct torc_arena *arena, uint64_t n_pages, enum torc_use use,
                        uint64_t over, uint64_t *out_ref)
{
    assert(n_pages != 0 && use < TORC_USE_COUNT && !arena->region.read_only);
    if (n_pages > MAX_HEAP_PAGES || !has_room_over(arena, n_pages << TORC_PAGE_LOG2, over)) {
        return -ENOSPC;
    }
    uint32_t number;
    int rc = torc_arena_pages_take(arena, n_pages, &number);
    if (rc != 0) {
        return rc;
    }
    *torc_arena_page(arena, number) = (struct torc_page){
        .word = n_pages,
        .links = torc_page_info(TORC_PAGE_RUN, use, 0),
    };
    arena->super->used[use] += n_pages << TORC_PAGE_LOG2;
    *out_ref = (uint64_t)number << TORC_PAGE_LOG2;
    return 0;
}

int torc_arena_run_alloc(struct torc_arena *arena, uint64_t n_pages, enum torc_use use,
                         uint64_t *out_ref)
{
    if (torc_arena_is_failing(arena)) {
        return -ENOSPC;
    }
    return torc_arena_run_take(arena, n_pages, use, 0, out_ref);
}

void torc_arena_run_free(struct torc_arena *arena, uint64_t ref, uint64_t n_pages,
                         enum torc_use use)
{
    uint32_t number = (uint32_t)(ref >> TORC_PAGE_LOG2);
    assert(ref % TORC_PAGE_BYTES == 0 && number >= arena->super->heap_first &&
           number < arena->super->top);
    assert(torc_page_state(torc_arena_page(arena, number)) == TORC_PAGE_RUN &&
           torc_arena_page(arena, number)->word == n_pages &&
           torc_page_use(torc_arena_page(arena, number)) == use);
    arena->super->used[use] -= n_pages << TORC_PAGE_LOG2;
    torc_arena_pages_give(arena, number, n_pages);
}

/* ---- blocks ---- */

static int slab_alloc(struct torc_arena *arena, unsigned size, enum torc_use use, uint64_t *out_ref)
{
    uint32_t *partial = &arena->super->partial[use][size];
    uint32_t number = *partial;
    if (number == 0) {
        int rc = torc_arena_pages_take(arena, 1, &number);
        if (rc != 0) {
            return rc;
        }
        *torc_arena_page(arena, number) = (struct torc_page){
            .word = 0,
            .links = torc_page_info(TORC_PAGE_SLAB, use, size),
        };
        torc_arena_list_push(arena, partial, number);
    }
    struct torc_page *page = torc_arena_page(arena, number);
    unsigned slot = (unsigned)__builtin_ctzll(~page->word);
    page->word |= 1ull << slot;
    if (page->word == torc_page_slab_full(size)) {
        torc_arena_list_unlink(arena, partial, number);
        page->links = torc_page_info(TORC_PAGE_SLAB, use, size);
    }
    *out_ref =
        ((uint64_t)number << TORC_PAGE_LOG2) + ((uint64_t)slot << (size + TORC_BLOCK_MIN_LOG2));
    return 0;
}

int torc_arena_block_alloc(struct torc_arena *arena, unsigned size_log2, enum torc_use use,
                           uint64_t *out_ref)
{
    assert(size_log2 >= TORC_BLOCK_MIN_LOG2 && size_log2 < 64 && use < TORC_USE_COUNT);
    if (size_log2 > TORC_BLOCK_MAX_LOG2) {
        return torc_arena_run_alloc(arena, 1ull << (size_log2 - TORC_PAGE_LOG2), use, out_ref);
    }
    if (torc_arena_is_failing(arena) || !torc_arena_has_room(arena, 1ull << size_log2)) {
        return -ENOSPC;
    }
    int rc = slab_alloc(arena, size_log2 - TORC_BLOCK_MIN_LOG2, use, out_ref);
    if (rc == 0) {
        arena->super->used[use] += 1ull << size_log2;
    }
    return rc;
}

void torc_arena_block_free(struct torc_arena *arena, uint64_t ref, unsigned size_log2,
                           enum torc_use use)
{
    if (size_log2 > TORC_BLOCK_MAX_LOG2) {
        torc_arena_run_free(arena, ref, 1ull << (size_log2 - TORC_PAGE_LOG2), use);
        return;
    }
    unsigned size = size_log2 - TORC_BLOCK_MIN_LOG2;
    uint32_t number = (uint32_t)(ref >> TORC_PAGE_LOG2);
    assert(ref % (1ull << size_log2) == 0 && number >= arena->super->heap_first &&
           number < arena->super->top);
    struct torc_page *page = torc_arena_page(arena, number);
    uint64_t bit = 1ull << (ref % TORC_PAGE_BYTES >> size_log2);
    assert(torc_page_state(page) == TORC_PAGE_SLAB && torc_page_use(page) == use &&
           torc_page_block_size(page) == size && (page->word & bit) != 0);
    uint32_t *partial = &arena->super->partial[use][size];
    if (page->word == torc_page_slab_full(size)) {
        torc_arena_list_push(arena, partial, number);
    }
    page->word &= ~bit;
    arena->super->used[use] -= 1ull << size_log2;
    if (page->word == 0) {
        torc_arena_list_unlink(arena, partial, number);
        torc_arena_pages_give(arena, number, 1);
    }
}

/* ---- the rest of the superblock ---- */

uint64_t torc_arena_used_by(const struct torc_arena *arena, enum torc_use use)
{
    assert(use < TORC_USE_COUNT);
    return arena->super->used[use];
}

uint64_t torc_arena_committed(const struct torc_arena *arena)
{
    return arena->super->committed;
}

uint64_t torc_arena_limit(const struct torc_arena *arena)
{
    return arena->super->limit;
}

void torc_arena_set_limit(struct torc_arena *arena, uint64_t limit)
{
    arena->super->limit = limit;
}

uint64_t torc_arena_seed(const struct torc_arena *arena)
{
    return arena->super->hash_seed;
}

uint64_t torc_arena_epoch(const struct torc_arena *arena)
{
    return arena->super->epoch;
}

uint64_t torc_arena_root(const struct torc_arena *arena, unsigned database)
{
    assert(database < TORC_ARENA_DATABASES);
    return arena->super->roots[database];
}

void torc_arena_set_root(struct torc_arena *arena, unsigned database, uint64_t ref)
{
    assert(database < TORC_ARENA_DATABASES);
    arena->super->roots[database] = ref;
}

void torc_arena_set_in_flight(struct torc_arena *arena, uint64_t what)
{
    /* The signal fences keep the compiler from moving the stores of the operation out of the span
     * that the word covers. A reader comes only after the owner's death, so the CPU's order of
     * stores is seen whole. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&arena->super->in_flight, what, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

uint64_t torc_arena_in_flight(const struct torc_arena *arena)
{
    return arena->super->in_flight;
}

struct torc_stream *torc_stream_shared(struct torc_arena *arena)
{
    return &arena->super->shared;
}

/* ---- making, opening ---- */

static void super_init(struct torc_arena *arena, const struct torc_arena_options *options)
{
    struct torc_superblock *super = arena->super;
    unsigned step_order = torc_log2_floor(arena->region.step >> TORC_PAGE_LOG2);
    super->layout = TORC_ARENA_LAYOUT;
    super->flags = arena->region.prefaulted ? TORC_SUPER_HOLD : 0;
    super->layout_hash = torc_arena_layout_hash();
    super->capacity = arena->region.capacity;
    super->hash_seed = options->hash_seed;
    super->epoch = options->epoch;
    super->limit = options->limit;
    super->step_order = step_order;
    super->heap_first = (uint32_t)torc_arena_heap_first(super->capacity, step_order);
    super->top = super->heap_first;
    /* The table's front describes the pages before the heap and is never read: a hole. */
    super->table_end = torc_arena_table_first(super);
    super->committed =
        arena->region.prefaulted ? super->capacity : torc_arena_table_granule(step_order);
    /* Release: whoever sees the magic sees the rest. */
    __atomic_store_n(&super->magic, TORC_ARENA_MAGIC, __ATOMIC_RELEASE);
}

int torc_arena_create_in(const struct torc_region *region, const struct torc_arena_options *options,
                         struct torc_arena **out_arena)
{
    struct torc_arena *arena = calloc(1, sizeof(*arena));
    if (arena == NULL) {
        return -ENOMEM;
    }
    arena->region = *region;
    arena->base = arena->region.base;
    arena->super = (struct torc_superblock *)(void *)arena->base;
    if (!arena->region.prefaulted) {
        unsigned step_order = torc_log2_floor(arena->region.step >> TORC_PAGE_LOG2);
        int rc = torc_region_commit(&arena->region, 0, torc_arena_table_granule(step_order));
        if (rc != 0) {
            free(arena);
            return rc;
        }
    }
    super_init(arena, options);
    *out_arena = arena;
    return 0;
}

/* What a region should be able to hold for `limit` bytes in use: those, the descriptors of their
 * pages, and slack for free memory. At most the capacity. */
static uint64_t region_expected(uint64_t limit, uint64_t capacity)
{
    if (limit == 0 || limit >= capacity) {
        return capacity;
    }
    return torc_min_u64(limit + limit / 8 + 4ull * TORC_REGION_HUGE_BYTES, capacity);
}

int torc_arena_create(const struct torc_arena_options *options, struct torc_arena **out_arena)
{
    struct torc_region_options wanted = options->region;
    if (wanted.capacity < TORC_ARENA_MIN_BYTES) {
        return -EINVAL;
    }
    if (wanted.expected == 0) {
        wanted.expected = region_expected(options->limit, wanted.capacity);
    }
    struct torc_region region;
    int rc = torc_region_open(&region, &wanted);
    if (rc != 0) {
        return rc;
    }
    rc = torc_arena_create_in(&region, options, out_arena);
    if (rc != 0) {
        torc_region_close(&region);
    }
    return rc;
}

/* What must hold before a single reference is followed. */
static int super_validate(const struct torc_superblock *super, uint64_t capacity)
{
    if (__atomic_load_n(&super->magic, __ATOMIC_ACQUIRE) != TORC_ARENA_MAGIC) {
        return -EBADMSG;
    }
    if (super->layout != TORC_ARENA_LAYOUT || super->layout_hash != torc_arena_layout_hash()) {
        return -EPROTO;
    }
    if (super->capacity != capacity || (super->step_order != 6 && super->step_order != 9) ||
        super->heap_first != torc_arena_heap_first(capacity, super->step_order) ||
        super->top < super->heap_first || super->top > capacity >> TORC_PAGE_LOG2) {
        return -EBADMSG;
    }
    return 0;
}

int torc_arena_open_fd(int fd, struct torc_arena **out_arena)
{
    struct torc_arena *arena = calloc(1, sizeof(*arena));
    if (arena == NULL) {
        return -ENOMEM;
    }
    int rc = torc_region_open_fd(&arena->region, fd);
    if (rc != 0) {
        goto out_free;
    }
    arena->base = arena->region.base;
    arena->super = (struct torc_superblock *)(void *)arena->base;
    rc = arena->region.capacity < TORC_ARENA_MIN_BYTES
             ? -EBADMSG
             : super_validate(arena->super, arena->region.capacity);
    if (rc != 0) {
        goto out_close;
    }
    *out_arena = arena;
    return 0;

out_close:
    torc_region_close(&arena->region);
out_free:
    free(arena);
    return rc;
}

void torc_arena_destroy(struct torc_arena *arena)
{
    if (arena == NULL) {
        return;
    }
    torc_region_close(&arena->region);
    free(arena);
}
