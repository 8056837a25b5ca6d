/* SPDX-License-Identifier: Apache-2.0
 *
 * Compact hashes, hot: one block, without a keyspace. A look-up includes the keyed hash of the
 * field.
 */
#include "core/hashing.h"
#include "hash/compact.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define FIELDS_MAX  2048u
#define NAME_MAX    14u
#define VALUE_MAX   100u
#define VALUE_BYTES 16u
#define VALUE_WIDER 21u
#define CHUNK       64u
#define ABSENT_FROM 20000000u
#define WIDE_ASKED  94u
#define WIDE_FIELDS 123u

/* Fields and bytes of a field name: small5, small14; the last is about the largest block. */
static const struct {
    unsigned fields, name_bytes;
} shapes[] = {{8, 5},   {32, 5},  {64, 5},   {128, 5},  {8, 14},
              {32, 14}, {64, 14}, {128, 14}, {512, 14}, {2048, 5}};

struct pick {
    unsigned field;                /* number of the field asked for, or that is absent */
    uint8_t name[NAME_MAX];        /* when it is not one of the block's */
    uint8_t value[VALUE_MAX];      /* to be put */
    struct torc_slice name_slice;  /* what is asked for */
    struct torc_slice value_slice; /* what is there, or is put */
};

struct state {
    unsigned n, name_bytes;
    uint8_t names[FIELDS_MAX][NAME_MAX];
    uint8_t values[FIELDS_MAX][VALUE_MAX];
    struct torc_pair pairs[FIELDS_MAX];
    struct pick picks[CHUNK];
    struct torc_value got[WIDE_ASKED];
    uint8_t block[TORC_COMPACT_MAX_BYTES];
};

static struct state state;

static uint64_t hash_of(struct torc_slice field)
{
    return torc_hash_slice(TORC_BENCH_HASH_SEED, field);
}

static int put(struct state *s, struct torc_slice field, struct torc_slice value)
{
    return torc_compact_put(s->block, TORC_BENCH_HASH_SEED, hash_of(field), field, value);
}

static void fill(struct state *s, unsigned n)
{
    s->n = n;
    torc_compact_init(s->block, sizeof s->block, false);
    for (unsigned i = 0; i < n; i++) {
        torc_bench_require(put(s, s->pairs[i].field, s->pairs[i].value) == 1, "a block is full");
    }
}

static void fill_small(struct state *s, unsigned n, unsigned name_bytes)
{
    s->name_bytes = name_bytes;
    for (unsigned i = 0; i < n; i++) {
        s->pairs[i].field = torc_bench_text(s->names[i], name_bytes, i, 2);
        s->pairs[i].value = torc_bench_text(s->values[i], VALUE_BYTES, i, 3);
    }
    fill(s, n);
}

static void fill_wide(struct state *s)
{
    static const size_t value_bytes[] = {4, 60, VALUE_MAX};
    for (unsigned i = 0; i < WIDE_FIELDS; i++) {
        s->pairs[i].field = torc_bench_text(s->names[i], 2 + i % 3, i, 2);
        s->pairs[i].value = torc_bench_text(s->values[i], value_bytes[i / 3 % 3], i, 3);
    }
    fill(s, WIDE_FIELDS);
}

/* --- which field --- */

static void pick(struct state *s, unsigned j, unsigned field)
{
    s->picks[j].field = field;
    s->picks[j].name_slice = s->pairs[field].field;
    s->picks[j].value_slice = s->pairs[field].value;
}

static void pick_first(void *arg, uint64_t i, unsigned n)
{
    (void)i;
    for (unsigned j = 0; j < n; j++) {
        pick(arg, j, 0);
    }
}
static void pick_middle(void *arg, uint64_t i, unsigned n)
{
    (void)i;
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        pick(s, j, s->n / 2);
    }
}
static void pick_last(void *arg, uint64_t i, unsigned n)
{
    (void)i;
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        pick(s, j, s->n - 1);
    }
}
static void pick_random(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        pick(s, j, (unsigned)(torc_bench_mix(i + j) % s->n));
    }
}
static void pick_absent(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        struct pick *p = &s->picks[j];
        p->name_slice = torc_bench_text(p->name, s->name_bytes, ABSENT_FROM + (i + j) % 1000000, 2);
    }
}
/* A random field, and another value of the same width. */
static void pick_new_value(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    pick_random(s, i, n);
    for (unsigned j = 0; j < n; j++) {
        struct pick *p = &s->picks[j];
        p->value_slice = torc_bench_text(p->value, VALUE_BYTES, p->field, 4 + i + j);
    }
}
/* The fields in turn, and a value that is as long in one turn and longer in the next. */
static void pick_new_width(void *arg, uint64_t i, unsigned n)
{
    struct state *s = arg;
    for (unsigned j = 0; j < n; j++) {
        struct pick *p = &s->picks[j];
        pick(s, j, (unsigned)((i + j) % s->n));
        size_t len = (i + j) / s->n % 2 == 0 ? VALUE_WIDER : VALUE_BYTES;
        p->value_slice = torc_bench_text(p->value, len, p->field, 4 + i + j);
    }
}

/* --- operations --- */

static bool get_hit(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct pick *p = &s->picks[i % CHUNK];
    struct torc_value value;
    return torc_compact_find(s->block, hash_of(p->name_slice), p->name_slice, 0, &value) &&
           torc_slice_equal(value.text, p->value_slice);
}

static bool get_miss(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct pick *p = &s->picks[i % CHUNK];
    struct torc_value value;
    return !torc_compact_find(s->block, hash_of(p->name_slice), p->name_slice, 0, &value);
}

static bool put_there(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct pick *p = &s->picks[i % CHUNK];
    return put(s, p->name_slice, p->value_slice) == 0;
}

static bool delete_insert(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct pick *p = &s->picks[i % CHUNK];
    return torc_compact_del(s->block, hash_of(p->name_slice), p->name_slice) == 1 &&
           put(s, p->name_slice, p->value_slice) == 1;
}

static bool get_all(void *arg, uint64_t i)
{
    (void)i;
    struct state *s = arg;
    struct torc_pair_room room;
    struct torc_pair pair;
    uint64_t position = 0;
    unsigned n = 0;
    while (torc_compact_next(s->block, &position, &room, &pair)) {
        n++;
    }
    return n == s->n;
}

static bool get_many(void *arg, uint64_t i)
{
    struct state *s = arg;
    struct torc_slice fields[WIDE_ASKED];
    uint64_t hashes[WIDE_ASKED];
    for (unsigned j = 0; j < WIDE_ASKED; j++) {
        fields[j] = s->pairs[(i + (uint64_t)50 * j) % WIDE_FIELDS].field;
        hashes[j] = hash_of(fields[j]);
    }
    return torc_compact_find_many(s->block, WIDE_ASKED, hashes, fields, 0, s->got) == WIDE_ASKED &&
           torc_slice_equal(s->got[0].text, s->pairs[i % WIDE_FIELDS].value);
}

/* --- cases --- */

static const struct {
    const char *name;
    void (*prepare)(void *arg, uint64_t i, unsigned n);
    bool (*run)(void *arg, uint64_t i);
    uint64_t n;
} cases[] = {
    {"compact-get-first", pick_first, get_hit, 500000},
    {"compact-get-middle", pick_middle, get_hit, 500000},
    {"compact-get-last", pick_last, get_hit, 500000},
    {"compact-get-hit", pick_random, get_hit, 500000},
    {"compact-get-miss", pick_absent, get_miss, 500000},
    {"compact-put-same", pick_new_value, put_there, 200000},
    {"compact-put-width", pick_new_width, put_there, 100000},
    {"compact-delete-insert", pick_random, delete_insert, 50000},
    {"compact-getall", NULL, get_all, 20000},
};

int main(int argc, char **argv)
{
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv, "Compact hashes: reads and writes of one hot block.");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        if (!torc_bench_wants(&bench, cases[k].name)) {
            continue;
        }
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            fill_small(&state, shapes[i].fields, shapes[i].name_bytes);
            const struct torc_bench_case c = {
                .name = cases[k].name,
                .params = {{"fields", shapes[i].fields},
                           {"field_bytes", shapes[i].name_bytes},
                           {"value_bytes", VALUE_BYTES},
                           {"block_bytes", torc_compact_used(state.block)}},
                .n = torc_bench_scaled(&bench, cases[k].n),
                .warm = CHUNK,
                .chunk = CHUNK,
                .run = cases[k].run,
                .prepare = cases[k].prepare,
                .arg = &state,
            };
            torc_bench_measure(&bench, &c);
        }
    }
    struct torc_bench_case wide = {
        .params = {{"fields", WIDE_FIELDS}, {"asked", WIDE_ASKED}},
        .n = torc_bench_scaled(&bench, 20000),
        .warm = CHUNK,
        .chunk = CHUNK,
        .arg = &state,
    };
    fill_wide(&state);
    wide.name = "compact-get-many";
    wide.run = get_many;
    if (torc_bench_wants(&bench, wide.name)) {
        torc_bench_measure(&bench, &wide);
    }
    wide.name = "compact-getall-wide";
    wide.run = get_all;
    wide.params[1].name = NULL;
    if (torc_bench_wants(&bench, wide.name)) {
        torc_bench_measure(&bench, &wide);
    }
    return 0;
}
