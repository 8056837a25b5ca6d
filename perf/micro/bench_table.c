/* SPDX-License-Identifier: Apache-2.0
 *
 * A full hash of a million fields: reads and writes through its table, hot and cold. Writes are
 * timed one by one too, because it is the longest that counts.
 */
#include "core/hashing.h"
#include "hash/full.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define FIELDS        1000000u
#define HOT_FIELDS    256u
#define NAME_BYTES    18u
#define VALUE_BYTES   16u
#define GROWN_BYTES   64u
#define CHUNK         64u
#define ABSENT_FROM   1000000000ull
#define LOAD_PAIRS    128u
#define CAPACITY      (4 * TORC_GIB)
#define QUICK_DIVISOR 20u

struct pick {
    uint8_t name[NAME_BYTES];
    uint8_t value[GROWN_BYTES];
    struct torc_pair pair;
    uint64_t number;
};

struct state {
    struct torc_arena *arena;
    uint64_t root;
    uint64_t n_fields, n_inserted;
    struct pick picks[CHUNK];
};

static const struct torc_full_put_options plain = {0};

static void set_pick(struct pick *p, uint64_t number, size_t value_bytes, uint64_t salt)
{
    p->number = number;
    p->pair.field = torc_bench_text(p->name, NAME_BYTES, number, 2);
    p->pair.value = torc_bench_text(p->value, value_bytes, number, salt);
}

static void load(struct state *s)
{
    static struct pick picks[LOAD_PAIRS];
    struct torc_pair pairs[LOAD_PAIRS];
    torc_bench_require(torc_full_create(s->arena, &s->root) == 0, "no memory for a hash");
    for (uint64_t i = 0; i < s->n_fields; i += LOAD_PAIRS) {
        size_t n = torc_min_u64(LOAD_PAIRS, s->n_fields - i);
        for (size_t j = 0; j < n; j++) {
            set_pick(&picks[j], i + j, VALUE_BYTES, 3);
            pairs[j] = picks[j].pair;
        }
        torc_bench_require(torc_full_put(s->arena, s->root, pairs, n, &plain) == (int64_t)n,
                           "no memory for the fields");
    }
}

/* --- which field --- */

static void pick_hot(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        set_pick(&s->picks[j], torc_bench_mix((i + j) % HOT_FIELDS) % s->n_fields, VALUE_BYTES, 3);
    }
}
static void pick_cold(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        set_pick(&s->picks[j], torc_bench_mix(i + j) % s->n_fields, VALUE_BYTES, 3);
    }
}
static void pick_absent(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        set_pick(&s->picks[j], ABSENT_FROM + i + j, VALUE_BYTES, 3);
    }
}
static void pick_new_value(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        uint64_t number = torc_bench_mix(i + j) % s->n_fields;
        set_pick(&s->picks[j], number, VALUE_BYTES, 4 + i + j);
    }
}
/* Each field once. */
static void pick_grown(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        set_pick(&s->picks[j], (i + j) % s->n_fields, GROWN_BYTES, 4);
    }
}
static void pick_new(void *arg, uint64_t i, unsigned n)
{
    (void)i;
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        set_pick(&s->picks[j], s->n_fields + s->n_inserted++, VALUE_BYTES, 3);
    }
}

/* --- operations --- */

static bool find(struct state *s, const struct pick *p, struct torc_value *value)
{
    uint64_t hash = torc_hash_slice(TORC_BENCH_HASH_SEED, p->pair.field);
    return torc_full_find(s->arena, s->root, hash, p->pair.field, 0, value);
}

static struct pick *pick_of(struct state *s, uint64_t i, unsigned chunk)
{
    return &s->picks[i % chunk];
}

static bool get_hit(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct pick *p = pick_of(s, i, CHUNK);
    struct torc_value value;
    return find(s, p, &value) && torc_slice_equal(value.text, p->pair.value);
}
static bool get_miss(void *arg, uint64_t i)
{
    struct state *s = arg;
    struct torc_value value;
    return !find(s, pick_of(s, i, CHUNK), &value);
}
static bool put_there(void *arg, uint64_t i)
{
    struct state *s = arg;
    return torc_full_put(s->arena, s->root, &pick_of(s, i, CHUNK)->pair, 1, &plain) == 0;
}
static bool put_there_alone(void *arg, uint64_t i)
{
    (void)i;
    struct state *s = arg;
    return torc_full_put(s->arena, s->root, &s->picks[0].pair, 1, &plain) == 0;
}
static bool insert_alone(void *arg, uint64_t i)
{
    (void)i;
    struct state *s = arg;
    return torc_full_put(s->arena, s->root, &s->picks[0].pair, 1, &plain) == 1;
}

/* In this order: reads see the values that the load has put. */
static const struct {
    const char *name;
    void (*prepare)(void *arg, uint64_t i, unsigned n);
    bool (*run)(void *arg, uint64_t i);
    uint64_t n;
    unsigned chunk;
} cases[] = {
    {"full-get-hit-hot", pick_hot, get_hit, 1000000, CHUNK},
    {"full-get-hit-cold", pick_cold, get_hit, 1000000, CHUNK},
    {"full-get-miss-cold", pick_absent, get_miss, 1000000, CHUNK},
    {"full-put-same", pick_new_value, put_there, 1000000, CHUNK},
    {"full-put-same-each", pick_new_value, put_there_alone, 1000000, 1},
    {"full-put-grow-each", pick_grown, put_there_alone, 1000000, 1},
    {"full-insert-each", pick_new, insert_alone, 1000000, 1},
};

int main(int argc, char **argv)
{
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv,
                    "A full hash of a million fields (a twentieth of them with --quick).");
    struct state state = {.n_fields = bench.is_quick ? FIELDS / QUICK_DIVISOR : FIELDS};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        if (!torc_bench_wants(&bench, cases[k].name)) {
            continue;
        }
        if (state.arena == NULL) {
            state.arena = torc_bench_arena(CAPACITY);
            load(&state);
        }
        const struct torc_bench_case c = {
            .name = cases[k].name,
            .params = {{"fields", torc_full_count(state.arena, state.root)},
                       {"field_bytes", NAME_BYTES},
                       {"value_bytes", VALUE_BYTES}},
            .n = torc_bench_scaled(&bench, cases[k].n),
            .warm = 0,
            .chunk = cases[k].chunk,
            .run = cases[k].run,
            .prepare = cases[k].prepare,
            .arg = &state,
        };
        torc_bench_measure(&bench, &c);
    }
    torc_arena_destroy(state.arena);
    return 0;
}
