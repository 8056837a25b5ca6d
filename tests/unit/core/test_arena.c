/* SPDX-License-Identifier: Apache-2.0 */
#include "core/arena.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena_private.h"
#include "tests/support/prng.h"

static struct torc_arena *arena;

static struct torc_arena_options options_of(uint64_t capacity)
{
    return (struct torc_arena_options){
        .region = {.name = "torc-test-arena",
                   .capacity = capacity,
                   .huge = TORC_HUGE_NO,
                   .numa_node = -1},
        .hash_seed = 0x5eed,
        .epoch = 77,
    };
}

static void setup(void)
{
    struct torc_arena_options options = options_of(16 * TORC_MIB);
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
}

static void teardown(void)
{
    const char *why = "";
    ck_assert_msg(torc_arena_check(arena, &why) == 0, "%s", why);
    torc_arena_destroy(arena);
    arena = NULL;
}

static uint64_t run_alloc(uint64_t n_pages)
{
    uint64_t ref = 0;
    ck_assert_int_eq(torc_arena_run_alloc(arena, n_pages, TORC_USE_INDEX, &ref), 0);
    return ref;
}

static uint64_t block_alloc(unsigned size_log2)
{
    uint64_t ref = 0;
    ck_assert_int_eq(torc_arena_block_alloc(arena, size_log2, TORC_USE_ROOT, &ref), 0);
    return ref;
}

static void run_free(uint64_t ref, uint64_t n_pages)
{
    torc_arena_run_free(arena, ref, n_pages, TORC_USE_INDEX);
}

static void block_free(uint64_t ref, unsigned size_log2)
{
    torc_arena_block_free(arena, ref, size_log2, TORC_USE_ROOT);
}

static uint64_t held_bytes(void)
{
    struct stat about;
    ck_assert_int_eq(fstat(arena->region.fd, &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

static uint64_t heap_pages(void)
{
    return arena->region.capacity / TORC_PAGE_BYTES - arena->super->heap_first;
}

/* ---- a new arena ---- */

START_TEST(a_new_arena_is_empty_and_small)
{
    ck_assert_uint_eq(torc_arena_used(arena), 0);
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        ck_assert_uint_eq(torc_arena_used_by(arena, (enum torc_use)use), 0);
    }
    ck_assert_uint_eq(torc_arena_limit(arena), 0);
    ck_assert_uint_eq(torc_arena_seed(arena), 0x5eed);
    ck_assert_uint_eq(torc_arena_epoch(arena), 77);
    ck_assert_uint_eq(torc_arena_in_flight(arena), 0);
    for (unsigned i = 0; i < TORC_ARENA_DATABASES; i++) {
        ck_assert_uint_eq(torc_arena_root(arena, i), TORC_REF_NONE);
    }
    ck_assert_uint_le(torc_arena_committed(arena), 16 * TORC_KIB);
    ck_assert_uint_eq(held_bytes(), torc_arena_committed(arena));
    /* The first block brings one commit step and a piece of the page table. */
    uint64_t ref = block_alloc(6);
    ck_assert_uint_le(torc_arena_committed(arena), 300 * TORC_KIB);
    block_free(ref, 6);
}
END_TEST

START_TEST(a_capacity_without_room_for_a_heap_is_refused)
{
    struct torc_arena *other = NULL;
    struct torc_arena_options options = options_of(TORC_ARENA_MIN_BYTES - TORC_REGION_HUGE_BYTES);
    ck_assert_int_eq(torc_arena_create(&options, &other), -EINVAL);
    options = options_of(TORC_ARENA_MIN_BYTES + TORC_PAGE_BYTES);
    ck_assert_int_eq(torc_arena_create(&options, &other), -EINVAL);
    options = options_of(TORC_ARENA_MAX_BYTES + TORC_REGION_HUGE_BYTES);
    ck_assert_int_eq(torc_arena_create(&options, &other), -EINVAL);
    ck_assert_ptr_null(other);
    torc_arena_destroy(NULL);
}
END_TEST

START_TEST(the_smallest_capacity_gives_nearly_all_of_it)
{
    teardown();
    struct torc_arena_options options = options_of(TORC_ARENA_MIN_BYTES);
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    uint64_t n = 0;
    uint64_t ref;
    while (torc_arena_run_alloc(arena, 1, TORC_USE_INDEX, &ref) == 0) {
        n++;
    }
    ck_assert_uint_eq(n, heap_pages());
    ck_assert_uint_eq(n, TORC_ARENA_MIN_BYTES / TORC_PAGE_BYTES - 64);
}
END_TEST

START_TEST(large_capacities_cost_nothing_until_used)
{
    const uint64_t capacities[] = {64 * TORC_GIB, TORC_ARENA_MAX_BYTES};
#ifdef __SANITIZE_THREAD__
    const size_t n = 1; /* no address range for the second */
#else
    const size_t n = 2;
#endif
    for (size_t i = 0; i < n; i++) {
        teardown();
        struct torc_arena_options options = options_of(capacities[i]);
        ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
        ck_assert_uint_le(held_bytes(), 16 * TORC_KIB);
        uint64_t ref = run_alloc(192);
        memset(torc_arena_at(arena, ref), 1, 3ull * TORC_SEGMENT_BYTES);
        ck_assert_uint_eq(held_bytes(), torc_arena_committed(arena));
        ck_assert_uint_le(held_bytes(), TORC_MIB);
        ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
        /* Half of the range in one run needs descriptors of it, but is refused before: a limit. */
        torc_arena_set_limit(arena, TORC_GIB);
        ck_assert_int_eq(
            torc_arena_run_alloc(arena, capacities[i] / 2 / TORC_PAGE_BYTES, TORC_USE_INDEX, &ref),
            -ENOSPC);
        ck_assert_uint_le(held_bytes(), TORC_MIB);
    }
}
END_TEST

/* ---- runs and blocks ---- */

START_TEST(runs_are_aligned_to_the_next_power_of_two_and_counted_by_the_page)
{
    static const uint64_t sizes[] = {1, 2, 3, 5, 63, 64, 65, 127, 128, 129, 511, 512};
    uint64_t refs[sizeof(sizes) / sizeof(sizes[0])];
    uint64_t used = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        refs[i] = run_alloc(sizes[i]);
        used += sizes[i] * TORC_PAGE_BYTES;
        ck_assert_uint_eq(refs[i] % ((uint64_t)TORC_PAGE_BYTES << torc_log2_ceil(sizes[i])), 0);
        ck_assert_uint_eq(torc_arena_used(arena), used);
        ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), used);
        ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        run_free(refs[i], sizes[i]);
        used -= sizes[i] * TORC_PAGE_BYTES;
        ck_assert_uint_eq(torc_arena_used(arena), used);
        ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
    }
}
END_TEST

START_TEST(the_tail_of_a_run_is_given_to_others)
{
    uint64_t ref = run_alloc(65); /* cut out of 128 pages */
    uint64_t top = arena->super->top;
    uint64_t tail = run_alloc(32);
    ck_assert_uint_eq(tail, ref + 96ull * TORC_PAGE_BYTES);
    for (int i = 0; i < 31; i++) {
        uint64_t page = run_alloc(1);
        ck_assert(page > ref && page < tail);
    }
    ck_assert_uint_eq(arena->super->top, top);
}
END_TEST

START_TEST(blocks_of_every_size_are_aligned_and_counted_by_their_size)
{
    for (unsigned log2 = TORC_BLOCK_MIN_LOG2; log2 <= 18; log2++) {
        uint64_t used = torc_arena_used(arena);
        uint64_t refs[66];
        for (size_t i = 0; i < 66 && log2 <= 12; i++) {
            refs[i] = block_alloc(log2);
            ck_assert_uint_eq(refs[i] % (1ull << log2), 0);
            ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), used + ((i + 1) << log2));
            memset(torc_arena_at(arena, refs[i]), (int)i, 1ull << log2);
        }
        for (size_t i = 0; i < 66 && log2 <= 12; i++) {
            const uint8_t *p = torc_arena_at(arena, refs[i]);
            ck_assert_uint_eq(p[0], i);
            ck_assert_uint_eq(p[(1ull << log2) - 1], i);
            block_free(refs[i], log2);
        }
        uint64_t ref = block_alloc(log2);
        ck_assert_uint_eq(ref % (1ull << log2), 0);
        ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
        block_free(ref, log2);
        ck_assert_uint_eq(torc_arena_used(arena), 0);
        ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
    }
}
END_TEST

START_TEST(small_blocks_fill_a_page_before_the_next_is_taken)
{
    uint64_t first = block_alloc(6);
    uint64_t page = first & ~(uint64_t)(TORC_PAGE_BYTES - 1);
    for (int i = 1; i < 64; i++) {
        uint64_t ref = block_alloc(6);
        ck_assert_uint_eq(ref & ~(uint64_t)(TORC_PAGE_BYTES - 1), page);
    }
    uint64_t next = block_alloc(6);
    ck_assert(next < page || next >= page + TORC_PAGE_BYTES);
    /* A freed one is used again before the fresh page. */
    block_free(first, 6);
    ck_assert_uint_eq(block_alloc(6), first);
    /* Another size, or another use, has pages of its own. */
    uint64_t other;
    ck_assert_int_eq(torc_arena_block_alloc(arena, 6, TORC_USE_INDEX, &other), 0);
    ck_assert(other / TORC_PAGE_BYTES != page / TORC_PAGE_BYTES &&
              other / TORC_PAGE_BYTES != next / TORC_PAGE_BYTES);
}
END_TEST

START_TEST(what_is_freed_becomes_one_piece_again)
{
    uint64_t refs[64];
    for (size_t i = 0; i < 64; i++) {
        refs[i] = i % 2 != 0 ? run_alloc(1 + i) : block_alloc(6 + (unsigned)i % 6);
    }
    for (size_t k = 0; k < 64; k++) {
        size_t i = k * 29 % 64;
        if (i % 2 != 0) {
            run_free(refs[i], 1 + i);
        } else {
            block_free(refs[i], 6 + (unsigned)i % 6);
        }
    }
    ck_assert_uint_eq(torc_arena_used(arena), 0);
    run_free(run_alloc(2048), 2048); /* 8 of 16 MiB */
}
END_TEST

/* ---- limits ---- */

START_TEST(the_limit_is_exact_and_a_refusal_changes_nothing)
{
    torc_arena_set_limit(arena, 10ull * TORC_PAGE_BYTES + 64);
    ck_assert(torc_arena_has_room(arena, 10ull * TORC_PAGE_BYTES + 64));
    ck_assert(!torc_arena_has_room(arena, 10ull * TORC_PAGE_BYTES + 65));
    ck_assert(!torc_arena_has_room(arena, UINT64_MAX));
    uint64_t ref = 4711;
    ck_assert_int_eq(torc_arena_run_alloc(arena, 11, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_uint_eq(ref, 4711);
    ck_assert_uint_eq(torc_arena_committed(arena), 16 * TORC_KIB);
    uint64_t run = run_alloc(10);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 7, TORC_USE_ROOT, &ref), -ENOSPC);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 12, TORC_USE_ROOT, &ref), -ENOSPC);
    uint64_t block = block_alloc(6);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 6, TORC_USE_ROOT, &ref), -ENOSPC);
    ck_assert_uint_eq(ref, 4711);
    ck_assert(torc_arena_has_room(arena, 0) && !torc_arena_has_room(arena, 1));
    /* Lowered below what is used: nothing more, but frees work. */
    torc_arena_set_limit(arena, TORC_PAGE_BYTES);
    ck_assert(!torc_arena_has_room(arena, 0));
    block_free(block, 6);
    run_free(run, 10);
    ck_assert(torc_arena_has_room(arena, TORC_PAGE_BYTES));
    ck_assert_uint_eq(torc_arena_limit(arena), TORC_PAGE_BYTES);
}
END_TEST

START_TEST(without_a_limit_the_heap_is_the_limit)
{
    uint64_t heap = heap_pages() * TORC_PAGE_BYTES;
    ck_assert(torc_arena_has_room(arena, heap));
    ck_assert(!torc_arena_has_room(arena, heap + 1));
    torc_arena_set_limit(arena, UINT64_MAX);
    ck_assert(!torc_arena_has_room(arena, heap + 1));
    uint64_t ref;
    ck_assert_int_eq(torc_arena_run_alloc(arena, UINT64_MAX, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_arena_run_alloc(arena, heap_pages() + 1, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 63, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_uint_eq(arena->super->top, arena->super->heap_first);
    while (torc_arena_run_alloc(arena, 64, TORC_USE_INDEX, &ref) == 0) {
    }
    ck_assert_uint_eq(torc_arena_used(arena), heap);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 6, TORC_USE_INDEX, &ref), -ENOSPC);
}
END_TEST

START_TEST(a_kernel_without_pages_is_an_error_that_changes_nothing)
{
    uint64_t kept = run_alloc(64);
    struct torc_superblock before = *arena->super;
    /* A descriptor on which nothing can be allocated stands for a machine out of memory. */
    int fd = arena->region.fd;
    arena->region.fd = -1;
    arena->region.report.pages = TORC_PAGES_HUGETLB_2M;
    uint64_t ref = 4711;
    ck_assert_int_eq(torc_arena_run_alloc(arena, 100, TORC_USE_INDEX, &ref), -ENOMEM);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 6, TORC_USE_ROOT, &ref), -ENOMEM);
    ck_assert_int_eq(torc_arena_run_alloc(arena, 1100, TORC_USE_INDEX, &ref), -ENOMEM);
    ck_assert_uint_eq(ref, 4711);
    ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
    ck_assert_uint_eq(torc_arena_committed(arena), before.committed);
    ck_assert_uint_eq(torc_arena_used(arena), 64ull * TORC_PAGE_BYTES);
    arena->region.fd = fd;
    arena->region.report.pages = TORC_PAGES_4K;
    run_free(run_alloc(1100), 1100);
    run_free(kept, 64);

    struct torc_region region;
    struct torc_arena_options options = options_of(8 * TORC_MIB);
    ck_assert_int_eq(torc_region_open(&region, &options.region), 0);
    fd = region.fd;
    region.fd = -1;
    region.report.pages = TORC_PAGES_HUGETLB_2M;
    struct torc_arena *other = NULL;
    ck_assert_int_eq(torc_arena_create_in(&region, &options, &other), -ENOMEM);
    ck_assert_ptr_null(other);
    region.fd = fd;
    torc_region_close(&region);
}
END_TEST

START_TEST(allocations_fail_from_the_asked_one_on)
{
    uint64_t ref;
    torc_arena_fail_after(arena, 3);
    uint64_t run = run_alloc(1);
    uint64_t block = block_alloc(13);
    ck_assert_int_eq(torc_arena_run_alloc(arena, 1, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 6, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_arena_block_alloc(arena, 13, TORC_USE_INDEX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_record_alloc(arena, torc_stream_shared(arena), 9, &ref), -ENOSPC);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_arena_run_alloc(arena, 1, TORC_USE_INDEX, &ref), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    run_free(run_alloc(1), 1);
    block_free(block, 13);
    run_free(run, 1);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
}
END_TEST

/* ---- giving back ---- */

START_TEST(committed_is_what_the_kernel_holds)
{
    teardown();
    struct torc_arena_options options = options_of(256 * TORC_MIB);
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    struct torc_prng prng = {.state = 5};
    uint64_t refs[200] = {0};
    for (int i = 0; i < 3000; i++) {
        size_t k = torc_prng_below(&prng, 200);
        uint64_t n_pages = k % 64 + (k % 10 == 0 ? 300 : 1);
        if (refs[k] != 0) {
            run_free(refs[k], n_pages);
            refs[k] = 0;
        } else {
            refs[k] = run_alloc(n_pages);
            memset(torc_arena_at(arena, refs[k]), 7, n_pages * TORC_PAGE_BYTES);
        }
        ck_assert_uint_eq(held_bytes(), torc_arena_committed(arena));
    }
}
END_TEST

START_TEST(free_memory_above_the_kept_share_goes_back_to_the_kernel)
{
    teardown();
    struct torc_arena_options options = options_of(256 * TORC_MIB);
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    uint64_t n_pages = 96 * TORC_MIB / TORC_PAGE_BYTES;
    uint64_t ref = run_alloc(n_pages);
    memset(torc_arena_at(arena, ref), 9, n_pages * TORC_PAGE_BYTES);
    uint64_t full = torc_arena_committed(arena);
    ck_assert(!torc_arena_tidy(arena, UINT64_MAX));
    run_free(ref, n_pages);
    /* One free gives back a bounded piece, the rest is for the moments after it. */
    ck_assert_uint_eq(torc_arena_committed(arena), full - 8 * TORC_MIB);
    ck_assert(torc_arena_trim(arena, 0));
    ck_assert_uint_eq(torc_arena_committed(arena), full - 8 * TORC_MIB - TORC_SEGMENT_BYTES);
    while (torc_arena_trim(arena, TORC_MIB)) {
    }
    ck_assert_uint_gt(torc_arena_committed(arena), 4 * TORC_MIB);
    ck_assert_uint_le(torc_arena_committed(arena), 8 * TORC_MIB);
    while (torc_arena_tidy(arena, 8 * TORC_MIB)) {
    }
    ck_assert_uint_le(torc_arena_committed(arena), 2 * TORC_MIB);
    ck_assert_uint_eq(held_bytes(), torc_arena_committed(arena));
    /* A run over kept and returned memory is whole again. */
    ref = run_alloc(n_pages);
    memset(torc_arena_at(arena, ref), 9, n_pages * TORC_PAGE_BYTES);
    ck_assert_uint_eq(held_bytes(), torc_arena_committed(arena));
    run_free(ref, n_pages);
}
END_TEST

/* A run a little larger than what one free used to give back, between others that stay: each round
 * left a commit step more behind. */
START_TEST(memory_kept_is_bounded_whatever_comes_and_goes)
{
    static const uint64_t sizes[] = {257, 256, 300, 513, 1000, 4097};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t small[3] = {0};
        uint64_t most = 0;
        teardown();
        struct torc_arena_options options = options_of(4 * TORC_GIB);
        ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
        for (unsigned round = 0; round < 600; round++) {
            uint64_t large;
            uint64_t *mine = &small[round % 3];
            ck_assert_int_eq(torc_arena_run_alloc(arena, sizes[s], TORC_USE_EXTENT, &large), 0);
            if (*mine != 0) {
                torc_arena_run_free(arena, *mine, 64, TORC_USE_SEGMENT);
            }
            ck_assert_int_eq(torc_arena_run_alloc(arena, 64, TORC_USE_SEGMENT, mine), 0);
            torc_arena_run_free(arena, large, sizes[s], TORC_USE_EXTENT);
            most = torc_max_u64(most, torc_arena_committed(arena));
        }
        /* In use, kept, and what a run has to be committed in. */
        uint64_t in_use = (sizes[s] + 3 * 64ull) * TORC_PAGE_BYTES;
        ck_assert_msg(most <= 2 * in_use + 8 * TORC_MIB, "%llu pages: %llu bytes committed",
                      (unsigned long long)sizes[s], (unsigned long long)most);
        for (unsigned i = 0; i < 3; i++) {
            torc_arena_run_free(arena, small[i], 64, TORC_USE_SEGMENT);
        }
    }
}
END_TEST

START_TEST(a_full_capacity_joins_kept_and_returned_neighbours)
{
    uint64_t ref = run_alloc(2048); /* 8 MiB of 16, all of its size that there is */
    run_free(ref, 2048);
    while (torc_arena_tidy(arena, UINT64_MAX)) {
    }
    ck_assert_uint_gt(arena->super->idle_pages, 0);
    ck_assert_uint_ne(arena->super->free_orders[TORC_FREE_RELEASED], 0);
    ck_assert_uint_eq(run_alloc(2048), ref);
    run_free(ref, 2048);
}
END_TEST

START_TEST(prefaulted_memory_is_never_given_back)
{
    teardown();
    struct torc_arena_options options = options_of(32 * TORC_MIB);
    options.region.prefault = true;
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    ck_assert_uint_eq(torc_arena_committed(arena), options.region.capacity);
    uint64_t ref = run_alloc(4096);
    run_free(ref, 4096);
    ck_assert(!torc_arena_tidy(arena, UINT64_MAX));
    ck_assert_uint_eq(torc_arena_committed(arena), options.region.capacity);
    ck_assert_uint_eq(held_bytes(), options.region.capacity);
    ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
}
END_TEST

/* ---- superblock words, readers ---- */

START_TEST(roots_and_the_in_flight_word_are_kept)
{
    for (unsigned i = 0; i < TORC_ARENA_DATABASES; i++) {
        torc_arena_set_root(arena, i, 1000 + i);
    }
    torc_arena_set_in_flight(arena, 0xfee1);
    ck_assert_uint_eq(torc_arena_in_flight(arena), 0xfee1);
    for (unsigned i = 0; i < TORC_ARENA_DATABASES; i++) {
        ck_assert_uint_eq(torc_arena_root(arena, i), 1000 + i);
    }
    torc_arena_set_root(arena, 3, TORC_REF_NONE);
    ck_assert_uint_eq(torc_arena_root(arena, 3), TORC_REF_NONE);
}
END_TEST

START_TEST(a_reader_sees_the_same_arena_at_another_address)
{
    uint64_t block = block_alloc(8);
    uint64_t run = run_alloc(70);
    uint64_t record;
    ck_assert_int_eq(torc_record_alloc(arena, torc_stream_shared(arena), 20, &record), 0);
    memcpy(torc_arena_at(arena, record), "twenty bytes of data", 20);
    torc_arena_set_root(arena, 2, block);
    struct torc_arena *readers[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &readers[i]), 0);
        ck_assert_ptr_ne(readers[i]->base, arena->base);
        ck_assert_uint_eq(torc_arena_root(readers[i], 2), block);
        ck_assert_uint_eq(torc_arena_used(readers[i]), torc_arena_used(arena));
        ck_assert_uint_eq(torc_arena_seed(readers[i]), 0x5eed);
        ck_assert_mem_eq(torc_arena_at(readers[i], record), "twenty bytes of data", 20);
        ck_assert_int_eq(torc_arena_check(readers[i], NULL), 0);
    }
    /* What is written later is seen too. */
    run_free(run, 70);
    ck_assert_uint_eq(torc_arena_used(readers[0]), torc_arena_used(arena));
    ck_assert_int_eq(torc_arena_check(readers[0], NULL), 0);
    torc_arena_destroy(readers[0]);
    /* And it outlives the owner. */
    torc_arena_destroy(arena);
    ck_assert_int_eq(torc_arena_check(readers[1], NULL), 0);
    ck_assert_mem_eq(torc_arena_at(readers[1], record), "twenty bytes of data", 20);
    arena = readers[1];
}
END_TEST

START_TEST(only_an_arena_of_this_layout_is_opened)
{
    struct torc_arena *reader = NULL;
    ck_assert_int_eq(torc_arena_open_fd(-1, &reader), -EINVAL);
    struct torc_superblock *super = arena->super;
    struct torc_superblock kept = *super;

    super->magic ^= 1;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EBADMSG);
    *super = kept;
    super->layout++;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EPROTO);
    *super = kept;
    super->layout_hash++;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EPROTO);
    *super = kept;
    super->capacity *= 2;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EBADMSG);
    *super = kept;
    super->step_order = 7;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EBADMSG);
    *super = kept;
    super->heap_first++;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EBADMSG);
    *super = kept;
    super->top = UINT32_MAX;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), -EBADMSG);
    *super = kept;
    ck_assert_ptr_null(reader);

    struct torc_region_options options = options_of(TORC_REGION_HUGE_BYTES).region;
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    ck_assert_int_eq(torc_arena_open_fd(region.fd, &reader), -EBADMSG);
    torc_region_close(&region);
    options.capacity = 8 * TORC_MIB;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    ck_assert_int_eq(torc_arena_open_fd(region.fd, &reader), -EBADMSG);
    torc_region_close(&region);
    ck_assert_ptr_null(reader);
}
END_TEST

/* Change an arena of one's own for ever, telling each step; first where the arena is found. */
static void live_and_be_killed(int out)
{
    struct torc_arena_options options = options_of(16 * TORC_MIB);
    struct torc_arena *own;
    if (torc_arena_create(&options, &own) != 0 ||
        write(out, &own->region.fd, sizeof(own->region.fd)) != sizeof(own->region.fd)) {
        _exit(1);
    }
    struct torc_stream *stream = torc_stream_shared(own);
    uint64_t runs[32] = {0};
    uint64_t records[32] = {0};
    struct torc_prng prng = {.state = 6};
    for (;;) {
        size_t i = torc_prng_below(&prng, 32);
        torc_arena_set_in_flight(own, i + 1);
        if (runs[i] == 0) {
            if (torc_arena_run_alloc(own, 1 + i * 2, TORC_USE_INDEX, &runs[i]) != 0 ||
                torc_record_alloc(own, stream, 1 + i * 3000, &records[i]) != 0) {
                _exit(2);
            }
        } else {
            torc_arena_run_free(own, runs[i], 1 + i * 2, TORC_USE_INDEX);
            torc_record_free(own, stream, records[i], 1 + i * 3000);
            runs[i] = 0;
        }
        (void)torc_arena_tidy(own, TORC_MIB);
        torc_arena_set_in_flight(own, 0);
        if (write(out, "", 1) != 1) {
            _exit(3);
        }
    }
}

START_TEST(a_killed_owner_leaves_a_sound_arena_or_the_in_flight_word)
{
    struct torc_prng prng = {.state = torc_test_seed(35)};
    for (int i = 0; i < 30; i++) {
        int pipes[2];
        ck_assert_int_eq(pipe(pipes), 0);
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            live_and_be_killed(pipes[1]);
        }
        int number = -1;
        ck_assert_int_eq(read(pipes[0], &number, sizeof(number)), sizeof(number));
        char path[64];
        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        for (uint64_t n = torc_prng_below(&prng, 2000); n != 0; n--) {
            char step;
            ck_assert_int_eq(read(pipes[0], &step, 1), 1);
        }
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        int status = 0;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        struct torc_arena *dead;
        ck_assert_int_eq(torc_arena_open_fd(fd, &dead), 0);
        const char *why = NULL;
        int rc = torc_arena_check(dead, &why);
        ck_assert_msg(rc == 0 || (rc == -EBADMSG && torc_arena_in_flight(dead) != 0), "%s", why);
        torc_arena_destroy(dead);
        ck_assert_int_eq(close(fd), 0);
        ck_assert_int_eq(close(pipes[0]), 0);
        ck_assert_int_eq(close(pipes[1]), 0);
    }
}
END_TEST

/* ---- check ---- */

/* A heap with something of everything. */
static void fill_arena(void)
{
    for (unsigned i = 0; i < 40; i++) {
        uint64_t run = run_alloc(1 + i % 9);
        uint64_t block = block_alloc(6 + i % 6);
        uint64_t record;
        ck_assert_int_eq(torc_record_alloc(arena, torc_stream_shared(arena), 60000 + i, &record),
                         0);
        if (i % 3 == 0) {
            run_free(run, 1 + i % 9);
            block_free(block, 6 + i % 6);
            torc_record_free(arena, torc_stream_shared(arena), record, 60000 + i);
        }
        if (i % 8 == 0) {
            ck_assert_int_eq(
                torc_record_alloc(arena, torc_stream_shared(arena), 70000 + i, &record), 0);
        }
    }
    run_free(run_alloc(1024), 1024);
    while (torc_arena_tidy(arena, UINT64_MAX)) {
    }
    ck_assert_int_eq(torc_arena_check(arena, NULL), 0);
}

/* Overwrite 4 bytes, expect the check to notice and to end, through a reader's mapping too. */
static void corrupt(struct torc_arena *reader, struct torc_prng *prng, uint64_t offset)
{
    uint8_t *p = torc_arena_at(arena, offset);
    uint32_t kept = torc_load_u32(p);
    uint32_t value = kept;
    while (value == kept) {
        switch (torc_prng_below(prng, 5)) {
        case 0:
            value = (uint32_t)torc_prng_next(prng);
            break;
        case 1:
            value = kept ^ 1u << torc_prng_below(prng, 32);
            break;
        case 2:
            value = kept + (uint32_t)torc_prng_below(prng, 3) - 1;
            break;
        case 3:
            value = arena->super->heap_first + (uint32_t)torc_prng_below(prng, 4096);
            break;
        default:
            value = 0u - (uint32_t)torc_prng_below(prng, 2);
            break;
        }
    }
    torc_store_u32(p, value);
    const char *why = NULL;
    int rc = torc_arena_check(reader, &why);
    torc_store_u32(p, kept);
    ck_assert_msg(rc == -EBADMSG && why != NULL, "offset %llu: %x taken for %x",
                  (unsigned long long)offset, value, kept);
}

START_TEST(check_notices_a_changed_superblock)
{
    fill_arena();
    struct torc_arena *reader;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), 0);
    struct torc_prng prng = {.state = torc_test_seed(31)};
    for (uint64_t i = 0; i < torc_test_ops(4000); i++) {
        uint64_t at = torc_prng_below(&prng, sizeof(struct torc_superblock) / 4) * 4;
        bool free_form = at >= offsetof(struct torc_superblock, hash_seed) &&
                         at < offsetof(struct torc_superblock, used);
        /* Any member of a ring may stand for it. */
        bool ring = at >= offsetof(struct torc_superblock, shared.closed) &&
                    at < offsetof(struct torc_superblock, shared.live);
        if (!free_form && !ring) {
            corrupt(reader, &prng, at);
        }
    }
    torc_arena_destroy(reader);
}
END_TEST

START_TEST(check_notices_a_changed_page_descriptor)
{
    fill_arena();
    struct torc_arena *reader;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), 0);
    struct torc_prng prng = {.state = torc_test_seed(32)};
    uint64_t first = torc_page_table_offset(arena->super->heap_first);
    uint64_t end = torc_page_table_offset(arena->super->top);
    for (uint64_t i = 0; i < torc_test_ops(6000); i++) {
        corrupt(reader, &prng, first + torc_prng_below(&prng, (end - first) / 4) * 4);
    }
    torc_arena_destroy(reader);
}
END_TEST

START_TEST(check_notices_a_changed_segment_head)
{
    fill_arena();
    struct torc_arena *reader;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), 0);
    struct torc_prng prng = {.state = torc_test_seed(33)};
    uint64_t n = 0;
    for (uint64_t page = arena->super->heap_first; page < arena->super->top; page++) {
        const struct torc_page *about = torc_arena_page(arena, page);
        unsigned use = torc_page_use(about);
        if (torc_page_state(about) == TORC_PAGE_RUN &&
            (use == TORC_USE_SEGMENT || use == TORC_USE_EXTENT)) {
            for (uint64_t at = 0; at < TORC_SEGMENT_HEAD_BYTES; at += 4) {
                corrupt(reader, &prng, page * TORC_PAGE_BYTES + at);
            }
            n++;
        }
    }
    ck_assert_uint_gt(n, 10);
    torc_arena_destroy(reader);
}
END_TEST

START_TEST(check_ends_on_any_bytes)
{
    fill_arena();
    struct torc_arena *reader;
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), 0);
    struct torc_prng prng = {.state = torc_test_seed(34)};
    uint64_t table = torc_page_table_offset(arena->super->heap_first);
    uint64_t table_len = torc_page_table_offset(arena->super->top) - table;
    struct torc_superblock kept = *arena->super;
    uint8_t *kept_table = malloc(table_len);
    ck_assert_ptr_nonnull(kept_table);
    memcpy(kept_table, arena->base + table, table_len);
    for (uint64_t i = 0; i < torc_test_ops(500); i++) {
        /* Behind the part that is compared first, so that the walk begins. */
        for (uint64_t n = torc_prng_below(&prng, 4) * 50; n != 0; n--) {
            uint64_t at = torc_prng_below(&prng, sizeof(kept) - 260) + 260;
            ((uint8_t *)arena->super)[at] = (uint8_t)torc_prng_next(&prng);
        }
        for (uint64_t n = torc_prng_below(&prng, 200); n != 0; n--) {
            arena->base[table + torc_prng_below(&prng, table_len)] = (uint8_t)torc_prng_next(&prng);
        }
        (void)!torc_arena_check(reader, NULL);
        *arena->super = kept;
        memcpy(arena->base + table, kept_table, table_len);
    }
    free(kept_table);
    torc_arena_destroy(reader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tcase = tcase_create("arena");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_new_arena_is_empty_and_small);
    tcase_add_test(tcase, a_capacity_without_room_for_a_heap_is_refused);
    tcase_add_test(tcase, the_smallest_capacity_gives_nearly_all_of_it);
    tcase_add_test(tcase, large_capacities_cost_nothing_until_used);
    tcase_add_test(tcase, runs_are_aligned_to_the_next_power_of_two_and_counted_by_the_page);
    tcase_add_test(tcase, the_tail_of_a_run_is_given_to_others);
    tcase_add_test(tcase, blocks_of_every_size_are_aligned_and_counted_by_their_size);
    tcase_add_test(tcase, small_blocks_fill_a_page_before_the_next_is_taken);
    tcase_add_test(tcase, what_is_freed_becomes_one_piece_again);
    tcase_add_test(tcase, the_limit_is_exact_and_a_refusal_changes_nothing);
    tcase_add_test(tcase, without_a_limit_the_heap_is_the_limit);
    tcase_add_test(tcase, a_kernel_without_pages_is_an_error_that_changes_nothing);
    tcase_add_test(tcase, allocations_fail_from_the_asked_one_on);
    tcase_add_test(tcase, committed_is_what_the_kernel_holds);
    tcase_add_test(tcase, free_memory_above_the_kept_share_goes_back_to_the_kernel);
    tcase_add_test(tcase, memory_kept_is_bounded_whatever_comes_and_goes);
    tcase_add_test(tcase, memory_kept_is_bounded_whatever_comes_and_goes);
    tcase_add_test(tcase, a_full_capacity_joins_kept_and_returned_neighbours);
    tcase_add_test(tcase, prefaulted_memory_is_never_given_back);
    tcase_add_test(tcase, roots_and_the_in_flight_word_are_kept);
    tcase_add_test(tcase, a_reader_sees_the_same_arena_at_another_address);
    tcase_add_test(tcase, only_an_arena_of_this_layout_is_opened);
    tcase_add_test(tcase, a_killed_owner_leaves_a_sound_arena_or_the_in_flight_word);
    tcase_add_test(tcase, check_notices_a_changed_superblock);
    tcase_add_test(tcase, check_notices_a_changed_page_descriptor);
    tcase_add_test(tcase, check_notices_a_changed_segment_head);
    tcase_add_test(tcase, check_ends_on_any_bytes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
