/* SPDX-License-Identifier: Apache-2.0
 *
 * Arena against a naive model: an array of live allocations and a map of pages in use. Held after
 * each step: torc_arena_check(), used bytes to the byte, no overlap, contents untouched, and that a
 * run is refused only when the limit says so or no aligned free block is there.
 */
#include <check.h>
#include <stdlib.h>

#include "core/arena_private.h"
#include "tests/support/prng.h"

#define MAX_LIVE    4096u
#define MAX_PAGES   (64u * TORC_MIB / TORC_PAGE_BYTES)
#define MAX_REQUEST 700u /* pages; above two commit steps with huge pages */

struct live {
    uint64_t ref;
    uint64_t bytes;
    uint64_t mark;
    unsigned size_log2; /* 0: a run */
    enum torc_use use;
};

struct model {
    struct torc_arena *arena;
    struct torc_prng prng;
    struct live live[MAX_LIVE];
    size_t n_live;
    uint64_t used[TORC_USE_COUNT];
    uint64_t n_pages;
    uint16_t holders[MAX_PAGES]; /* allocations in each page */
    uint64_t step;
};

/* First and last word of each page or block: enough to see any overlap. */
static void live_paint(const struct model *model, const struct live *live)
{
    uint64_t chunk = torc_min_u64(live->bytes, TORC_PAGE_BYTES);
    for (uint64_t at = 0; at < live->bytes; at += chunk) {
        uint8_t *p = torc_arena_at(model->arena, live->ref + at);
        torc_store_u64(p, live->mark + at);
        torc_store_u64(p + chunk - 8, ~(live->mark + at));
    }
}

static void live_verify(const struct model *model, const struct live *live)
{
    uint64_t chunk = torc_min_u64(live->bytes, TORC_PAGE_BYTES);
    for (uint64_t at = 0; at < live->bytes; at += chunk) {
        const uint8_t *p = torc_arena_at(model->arena, live->ref + at);
        ck_assert_uint_eq(torc_load_u64(p), live->mark + at);
        ck_assert_uint_eq(torc_load_u64(p + chunk - 8), ~(live->mark + at));
    }
}

static void model_hold(struct model *model, const struct live *live, bool take)
{
    uint64_t first = live->ref / TORC_PAGE_BYTES;
    uint64_t last = (live->ref + live->bytes - 1) / TORC_PAGE_BYTES;
    for (uint64_t page = first; page <= last; page++) {
        ck_assert(page >= model->arena->super->heap_first && page < model->n_pages);
        if (take) {
            ck_assert(live->size_log2 != 0 || model->holders[page] == 0);
            model->holders[page]++;
        } else {
            model->holders[page]--;
        }
    }
}

static bool model_has_block(const struct model *model, uint64_t n_pages)
{
    uint64_t size = 1ull << torc_log2_ceil(n_pages);
    uint64_t at = torc_align_up(model->arena->super->heap_first, size);
    for (; at + size <= model->n_pages; at += size) {
        uint64_t i = 0;
        while (i < size && model->holders[at + i] == 0) {
            i++;
        }
        if (i == size) {
            return true;
        }
    }
    return false;
}

static uint64_t model_used(const struct model *model)
{
    uint64_t used = 0;
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        used += model->used[use];
    }
    return used;
}

static bool model_limit_allows(const struct model *model, uint64_t bytes)
{
    uint64_t limit = torc_arena_limit(model->arena);
    uint64_t heap = (model->n_pages - model->arena->super->heap_first) * TORC_PAGE_BYTES;
    limit = limit == 0 || limit > heap ? heap : limit;
    uint64_t used = model_used(model);
    return used <= limit && bytes <= limit - used;
}

static void model_check(const struct model *model)
{
    const char *why = NULL;
    if (torc_arena_check(model->arena, &why) != 0) {
        ck_abort_msg("step %llu: %s", (unsigned long long)model->step, why);
    }
    for (unsigned use = 0; use < TORC_USE_COUNT; use++) {
        ck_assert_uint_eq(torc_arena_used_by(model->arena, (enum torc_use)use), model->used[use]);
    }
    ck_assert_uint_eq(torc_arena_used(model->arena), model_used(model));
    ck_assert(torc_arena_committed(model->arena) >= model_used(model));
    ck_assert(torc_arena_committed(model->arena) <= model->arena->region.capacity);
}

static void step_alloc(struct model *model)
{
    if (model->n_live == MAX_LIVE) {
        return;
    }
    struct live live = {.mark = torc_prng_next(&model->prng)};
    live.use = torc_prng_below(&model->prng, 2) == 0 ? TORC_USE_INDEX : TORC_USE_ROOT;
    uint64_t n_pages = 0;
    if (torc_prng_below(&model->prng, 4) == 0) {
        uint64_t most = torc_prng_below(&model->prng, 8) == 0 ? MAX_REQUEST : 40;
        n_pages = 1 + torc_prng_below(&model->prng, most);
        live.bytes = n_pages * TORC_PAGE_BYTES;
    } else {
        live.size_log2 = TORC_BLOCK_MIN_LOG2 + (unsigned)torc_prng_below(&model->prng, 9);
        live.bytes = 1ull << live.size_log2;
        if (live.size_log2 > TORC_BLOCK_MAX_LOG2) {
            n_pages = live.bytes / TORC_PAGE_BYTES;
        }
    }
    uint64_t fail = torc_prng_below(&model->prng, 16) == 0 ? 1 : 0;
    torc_arena_fail_after(model->arena, fail);
    live.ref = 12345;
    int rc = live.size_log2 == 0
                 ? torc_arena_run_alloc(model->arena, n_pages, live.use, &live.ref)
                 : torc_arena_block_alloc(model->arena, live.size_log2, live.use, &live.ref);
    torc_arena_fail_after(model->arena, 0);
    bool allowed = model_limit_allows(model, live.bytes);
    ck_assert(torc_arena_has_room(model->arena, live.bytes) == allowed || rc == 0);
    if (rc != 0) {
        ck_assert_int_eq(rc, -ENOSPC);
        ck_assert_uint_eq(live.ref, 12345);
        ck_assert(fail != 0 || !allowed || !model_has_block(model, n_pages != 0 ? n_pages : 1));
        return;
    }
    ck_assert(fail == 0 && allowed);
    uint64_t align =
        live.size_log2 != 0 ? live.bytes : (uint64_t)TORC_PAGE_BYTES << torc_log2_ceil(n_pages);
    ck_assert_uint_eq(live.ref % align, 0);
    model_hold(model, &live, true);
    live_paint(model, &live);
    model->used[live.use] += live.bytes;
    model->live[model->n_live++] = live;
}

static void step_free(struct model *model)
{
    if (model->n_live == 0) {
        return;
    }
    size_t i = torc_prng_below(&model->prng, model->n_live);
    struct live live = model->live[i];
    model->live[i] = model->live[--model->n_live];
    live_verify(model, &live);
    if (live.size_log2 == 0) {
        torc_arena_run_free(model->arena, live.ref, live.bytes / TORC_PAGE_BYTES, live.use);
    } else {
        torc_arena_block_free(model->arena, live.ref, live.size_log2, live.use);
    }
    model->used[live.use] -= live.bytes;
    model_hold(model, &live, false);
}

static void model_run(struct torc_arena *arena, uint64_t seed, uint64_t ops)
{
    struct model *model = calloc(1, sizeof(*model));
    ck_assert_ptr_nonnull(model);
    model->arena = arena;
    model->prng.state = seed;
    model->n_pages = arena->region.capacity / TORC_PAGE_BYTES;
    uint64_t full = torc_arena_committed(arena);
    uint64_t share = 50; /* percent of allocations; drifts, so that the heap fills and drains */
    for (model->step = 0; model->step < ops; model->step++) {
        if (model->step % 512 == 0) {
            share = 25 + torc_prng_below(&model->prng, 50);
            uint64_t limit = torc_prng_below(&model->prng, arena->region.capacity);
            torc_arena_set_limit(arena, limit % 3 == 0 ? limit : 0);
        }
        uint64_t dice = torc_prng_below(&model->prng, 1000);
        if (dice < 2) {
            (void)torc_arena_tidy(arena, torc_prng_below(&model->prng, 4 * TORC_MIB));
        } else if (dice < 4) {
            while (model->n_live != 0) {
                step_free(model);
            }
        } else if (dice % 100 < share) {
            step_alloc(model);
        } else {
            step_free(model);
        }
        model_check(model);
    }
    while (model->n_live != 0) {
        step_free(model);
    }
    model_check(model);
    ck_assert_uint_eq(torc_arena_used(arena), 0);
    while (torc_arena_tidy(arena, TORC_MIB)) {
        model_check(model);
    }
    /* Nothing but the kept share and the page table is held. */
    if (!arena->region.prefaulted) {
        uint64_t kept = torc_max_u64(torc_arena_committed(arena) / 16, 4 * TORC_MIB);
        uint64_t table = arena->super->table_end;
        ck_assert(torc_arena_committed(arena) <= full + table + kept + arena->region.step);
    }
    /* And all of it is one piece again. */
    torc_arena_set_limit(arena, 0);
    uint64_t ref;
    uint64_t half = 1ull << torc_log2_floor(model->n_pages / 2);
    ck_assert_int_eq(torc_arena_run_alloc(arena, half, TORC_USE_INDEX, &ref), 0);
    torc_arena_run_free(arena, ref, half, TORC_USE_INDEX);
    model_check(model);
    free(model);
}

static struct torc_arena_options options_for(uint64_t capacity, bool prefault)
{
    return (struct torc_arena_options){
        .region = {.name = "torc-prop-arena",
                   .capacity = capacity,
                   .huge = TORC_HUGE_NO,
                   .numa_node = -1,
                   .prefault = prefault},
    };
}

START_TEST(small_pages_follow_the_model)
{
    const uint64_t capacities[] = {4 * TORC_MIB, 16 * TORC_MIB, 62 * TORC_MIB};
    uint64_t seed = torc_test_seed(11);
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        struct torc_arena_options options = options_for(capacities[i], false);
        struct torc_arena *arena;
        ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
        model_run(arena, seed + i, torc_test_ops(4000));
        torc_arena_destroy(arena);
    }
}
END_TEST

START_TEST(a_prefaulted_arena_follows_the_model)
{
    struct torc_arena_options options = options_for(12 * TORC_MIB, true);
    struct torc_arena *arena;
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    model_run(arena, torc_test_seed(12), torc_test_ops(4000));
    ck_assert_uint_eq(torc_arena_committed(arena), options.region.capacity);
    torc_arena_destroy(arena);
}
END_TEST

/* The arithmetic of huge commit steps, which needs no huge pages to be tested. */
START_TEST(huge_steps_follow_the_model)
{
    struct torc_arena_options options = options_for(48 * TORC_MIB, false);
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options.region), 0);
    region.step = TORC_REGION_HUGE_BYTES;
    struct torc_arena *arena;
    ck_assert_int_eq(torc_arena_create_in(&region, &options, &arena), 0);
    ck_assert_uint_eq(arena->super->step_order, 9);
    model_run(arena, torc_test_seed(13), torc_test_ops(4000));
    torc_arena_destroy(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prop_arena");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, small_pages_follow_the_model);
    tcase_add_test(tcase, a_prefaulted_arena_follows_the_model);
    tcase_add_test(tcase, huge_steps_follow_the_model);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
