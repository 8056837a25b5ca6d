/* SPDX-License-Identifier: Apache-2.0
 *
 * The arena: blocks, page runs and records that come, go and change their size while many others
 * live; and the steps of the cleaner, of which the longest counts.
 */
#include <stdlib.h>

#include "core/segment.h"
#include "hash/keyspace.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define LIVE         8192u /* objects that live at a time */
#define CHUNK        64u
#define CAPACITY     (2 * TORC_GIB)
#define RUN_PAGES    16u /* longest run */
#define RECORD_MIN   24u
#define RECORD_RANGE 200u
#define HASHES       20000u
#define HASH_FIELDS  32u
#define NAME_BYTES   14u
#define VALUE_BYTES  16u
#define STEP_UNITS   16u /* of a maintenance step, as the server takes them */

struct state {
    struct torc_arena *arena;
    uint64_t refs[LIVE];
    uint64_t sizes[LIVE];
};

static struct state state;

/* Which object operation i is about, and how large it is then. */
static uint64_t slot_of(uint64_t i)
{
    return torc_bench_mix(i) % LIVE;
}
static uint64_t random_of(uint64_t i)
{
    return torc_bench_mix(i ^ 0xa5a5a5a5a5a5a5a5ull);
}

/* --- allocation --- */

static bool block_pair(void *arg, uint64_t i)
{
    (void)i;
    struct state *s = arg;
    uint64_t ref;
    if (torc_arena_block_alloc(s->arena, TORC_BLOCK_MIN_LOG2, TORC_USE_INDEX, &ref) != 0) {
        return false;
    }
    torc_arena_block_free(s->arena, ref, TORC_BLOCK_MIN_LOG2, TORC_USE_INDEX);
    return true;
}

static bool block_mix(void *arg, uint64_t i)
{
    struct state *s = arg;
    uint64_t at = slot_of(i);
    if (s->refs[at] != TORC_REF_NONE) {
        torc_arena_block_free(s->arena, s->refs[at], (unsigned)s->sizes[at], TORC_USE_INDEX);
    }
    s->sizes[at] =
        TORC_BLOCK_MIN_LOG2 + random_of(i) % (TORC_BLOCK_MAX_LOG2 - TORC_BLOCK_MIN_LOG2 + 1);
    return torc_arena_block_alloc(s->arena, (unsigned)s->sizes[at], TORC_USE_INDEX, &s->refs[at]) ==
           0;
}

static bool run_mix(void *arg, uint64_t i)
{
    struct state *s = arg;
    uint64_t at = slot_of(i);
    if (s->refs[at] != TORC_REF_NONE) {
        torc_arena_run_free(s->arena, s->refs[at], s->sizes[at], TORC_USE_INDEX);
    }
    s->sizes[at] = 1 + random_of(i) % RUN_PAGES;
    return torc_arena_run_alloc(s->arena, s->sizes[at], TORC_USE_INDEX, &s->refs[at]) == 0;
}

/* A record of another size takes the place of one: allocate, copy, free. Its segment goes when all
 * of it is dead. */
static bool record_mix(void *arg, uint64_t i)
{
    struct state *s = arg;
    struct torc_stream *stream = torc_stream_shared(s->arena);
    uint64_t at = slot_of(i);
    uint64_t size = RECORD_MIN + random_of(i) % RECORD_RANGE;
    uint64_t ref;
    if (torc_record_alloc(s->arena, stream, size, &ref) != 0) {
        return false;
    }
    if (s->refs[at] != TORC_REF_NONE) {
        memcpy(torc_arena_at(s->arena, ref), torc_arena_at(s->arena, s->refs[at]),
               torc_min_u64(size, s->sizes[at]));
        torc_record_free(s->arena, stream, s->refs[at], s->sizes[at]);
    } else {
        memset(torc_arena_at(s->arena, ref), 1, size);
    }
    s->refs[at] = ref;
    s->sizes[at] = size;
    return true;
}

static const struct {
    const char *name;
    bool (*run)(void *arg, uint64_t i);
    unsigned chunk;
    uint64_t n;
} cases[] = {
    {"arena-block-alloc-free", block_pair, CHUNK, 2000000},
    {"arena-block-mix", block_mix, CHUNK, 2000000},
    {"arena-block-mix-each", block_mix, 1, 500000},
    {"arena-run-mix", run_mix, CHUNK, 500000},
    {"arena-run-mix-each", run_mix, 1, 500000},
    {"arena-record-mix", record_mix, CHUNK, 2000000},
    {"arena-record-mix-each", record_mix, 1, 500000},
};

static void measure_allocation(const struct torc_bench *bench)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        if (!torc_bench_wants(bench, cases[k].name)) {
            continue;
        }
        memset(&state, 0, sizeof state);
        state.arena = torc_bench_arena(CAPACITY);
        const struct torc_bench_case c = {
            .name = cases[k].name,
            .params = {{"live", cases[k].run == block_pair ? 0 : LIVE}},
            .n = torc_bench_scaled(bench, cases[k].n),
            .warm = (uint64_t)4 * LIVE,
            .chunk = cases[k].chunk,
            .run = cases[k].run,
            .arg = &state,
        };
        torc_bench_measure(bench, &c);
        torc_arena_destroy(state.arena);
    }
}

/* --- cleaning --- */

struct cleaning {
    struct torc_keyspace *keyspace;
    uint64_t n_hashes;
    bool has_more; /* the last step left work */
};

static struct torc_key key_of(const struct cleaning *c, uint64_t i, uint8_t *name)
{
    return torc_keyspace_key(c->keyspace, torc_bench_text(name, NAME_BYTES, i, 1));
}

static void put_hash(struct cleaning *c, uint64_t i)
{
    uint8_t name[NAME_BYTES];
    uint8_t fields[HASH_FIELDS][NAME_BYTES];
    uint8_t values[HASH_FIELDS][VALUE_BYTES];
    struct torc_pair pairs[HASH_FIELDS];
    for (unsigned j = 0; j < HASH_FIELDS; j++) {
        pairs[j].field = torc_bench_text(fields[j], NAME_BYTES, j, 2);
        pairs[j].value = torc_bench_text(values[j], VALUE_BYTES, j, 3 + i);
    }
    struct torc_key key = key_of(c, i, name);
    torc_bench_require(torc_hash_put(c->keyspace, &key, pairs, HASH_FIELDS) == HASH_FIELDS,
                       "no memory for the hashes");
}

/* While nothing is left to clean: delete a random hash and make another, outside the time. */
static void make_dirty(void *arg, uint64_t i, unsigned n)
{
    (void)n;
    struct cleaning *c = arg;
    uint8_t name[NAME_BYTES];
    for (uint64_t j = 0; !c->has_more && j < c->n_hashes / 8; j++) {
        uint64_t victim = torc_bench_mix(i + (j << 32)) % c->n_hashes;
        struct torc_key key = key_of(c, victim, name);
        if (torc_keyspace_del(c->keyspace, &key)) {
            put_hash(c, victim);
        }
    }
}

static bool clean(void *arg, uint64_t i)
{
    (void)i;
    struct cleaning *c = arg;
    c->has_more = torc_keyspace_maintain(c->keyspace, STEP_UNITS);
    return true;
}

static void measure_cleaning(const struct torc_bench *bench)
{
    if (!torc_bench_wants(bench, "arena-clean-step")) {
        return;
    }
    struct torc_arena *arena = torc_bench_arena(CAPACITY);
    const struct torc_hash_limits limits = TORC_HASH_LIMITS_DEFAULT;
    struct cleaning cleaning = {.n_hashes = torc_bench_scaled(bench, HASHES)};
    torc_bench_require(torc_keyspace_open(arena, 0, &limits, &cleaning.keyspace) == 0,
                       "no memory for a keyspace");
    for (uint64_t i = 0; i < cleaning.n_hashes; i++) {
        put_hash(&cleaning, i);
    }
    const struct torc_bench_case c = {
        .name = "arena-clean-step",
        .params = {{"hashes", cleaning.n_hashes}, {"fields", HASH_FIELDS}, {"units", STEP_UNITS}},
        .n = torc_bench_scaled(bench, 50000),
        .warm = 1,
        .chunk = 1,
        .run = clean,
        .prepare = make_dirty,
        .arg = &cleaning,
    };
    torc_bench_measure(bench, &c);
    const char *why = "";
    torc_bench_require(torc_keyspace_check(cleaning.keyspace, &why) == 0, why);
    torc_keyspace_close(cleaning.keyspace);
    torc_arena_destroy(arena);
}

int main(int argc, char **argv)
{
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv, "The arena: allocation mixes, and steps of the cleaner.");
    measure_allocation(&bench);
    measure_cleaning(&bench);
    return EXIT_SUCCESS;
}
