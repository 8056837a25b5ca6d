/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of the hash layer, in this process. A read or write of a hash includes the keyed hash
 * of the key and the look-up of the key.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/full.h"
#include "hash/keyspace.h"
#include "perf/micro/bench_text.h"
#include "perf/micro/instr.h"

#define HASH_SEED   0x5eed5eed5eed5eedull
#define ABSENT_FROM 1000000000ull /* numbers of fields that are nowhere */
#define WIDE_FIELDS 123u
#define WIDE_ASKED  94u
#define WIDE_VALUE  100u
#define MANY_FIELDS 1000000u
#define MANY_BYTES  18u
#define PAIRS_A_PUT 128u

_Noreturn void torc_instr_give_up(const char *what)
{
    (void)fprintf(stderr, "instr_driver: %s: not what it should be\n", what);
    exit(EXIT_FAILURE);
}

struct torc_slice torc_instr_key(uint8_t *to, uint64_t i)
{
    return torc_bench_text(to, TORC_INSTR_KEY_BYTES, i, 1);
}
struct torc_slice torc_instr_field(uint8_t *to, uint64_t i)
{
    return torc_bench_text(to, TORC_INSTR_FIELD_BYTES, i, 2);
}
struct torc_slice torc_instr_absent(uint8_t *to, uint64_t i)
{
    return torc_bench_text(to, TORC_INSTR_FIELD_BYTES, ABSENT_FROM + i, 2);
}
struct torc_slice torc_instr_value(uint8_t *to, uint64_t i, uint64_t salt)
{
    return torc_bench_text(to, TORC_INSTR_VALUE_BYTES, i, 3 + salt);
}

void torc_instr_keyspace_open(const struct torc_hash_limits *limits, struct torc_arena **out_arena,
                              struct torc_keyspace **out_keyspace)
{
    const struct torc_arena_options options = {
        .region = {.name = "torc-instr", .capacity = 512 * TORC_MIB, .numa_node = -1},
        .hash_seed = HASH_SEED,
        .epoch = 1,
    };
    torc_instr_require(torc_arena_create(&options, out_arena) == 0, "arena");
    torc_instr_require(torc_keyspace_open(*out_arena, 0, limits, out_keyspace) == 0, "keyspace");
}

void torc_instr_fill(struct torc_keyspace *keyspace, uint64_t key)
{
    uint8_t name[TORC_INSTR_KEY_BYTES];
    uint8_t fields[TORC_INSTR_FIELDS][TORC_INSTR_FIELD_BYTES];
    uint8_t values[TORC_INSTR_FIELDS][TORC_INSTR_VALUE_BYTES];
    struct torc_pair pairs[TORC_INSTR_FIELDS];
    for (uint64_t i = 0; i < TORC_INSTR_FIELDS; i++) {
        pairs[i].field = torc_instr_field(fields[i], i);
        pairs[i].value = torc_instr_value(values[i], i, 0);
    }
    struct torc_key k = torc_keyspace_key(keyspace, torc_instr_key(name, key));
    torc_instr_require(torc_hash_put(keyspace, &k, pairs, TORC_INSTR_FIELDS) == TORC_INSTR_FIELDS,
                       "filling");
}

/* --- one small hash --- */

struct small {
    struct torc_arena *arena;
    struct torc_keyspace *keyspace;
    struct torc_hash_limits limits;
    uint8_t key_bytes[TORC_INSTR_KEY_BYTES];
    uint8_t field_bytes[TORC_INSTR_FIELD_BYTES];
    uint8_t value_bytes[TORC_INSTR_VALUE_BYTES];
    struct torc_slice key, field, value;
    struct torc_value got;
    int64_t result;
    /* A block of its own with the same fields. */
    uint8_t block[4096];
};

static struct small *small_make(void)
{
    struct small *s = calloc(1, sizeof *s);
    torc_instr_require(s != NULL, "memory");
    s->limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    torc_instr_keyspace_open(&s->limits, &s->arena, &s->keyspace);
    s->key = torc_instr_key(s->key_bytes, 0);
    return s;
}

static void *small_open(const struct torc_instr_case *self)
{
    (void)self;
    struct small *s = small_make();
    torc_instr_fill(s->keyspace, 0);
    torc_compact_init(s->block, sizeof s->block, false);
    for (uint64_t i = 0; i < TORC_INSTR_FIELDS; i++) {
        struct torc_slice field = torc_instr_field(s->field_bytes, i);
        struct torc_slice value = torc_instr_value(s->value_bytes, i, 0);
        uint64_t hash = torc_hash_slice(HASH_SEED, field);
        torc_instr_require(torc_compact_put(s->block, HASH_SEED, hash, field, value) == 1, "block");
    }
    return s;
}

static void small_close(void *state)
{
    struct small *s = state;
    torc_keyspace_close(s->keyspace);
    torc_arena_destroy(s->arena);
    free(s);
}

static void hit_prepare(void *state, uint64_t i)
{
    struct small *s = state;
    s->field = torc_instr_field(s->field_bytes, i % TORC_INSTR_FIELDS);
}

static void miss_prepare(void *state, uint64_t i)
{
    struct small *s = state;
    s->field = torc_instr_absent(s->field_bytes, i);
}

static void get_run(void *state, uint64_t i)
{
    (void)i;
    struct small *s = state;
    struct torc_key key = torc_keyspace_key(s->keyspace, s->key);
    s->result = torc_hash_get(s->keyspace, &key, s->field, &s->got);
}

static void find_run(void *state, uint64_t i)
{
    (void)i;
    struct small *s = state;
    uint64_t hash = torc_hash_slice(HASH_SEED, s->field);
    s->result = torc_compact_find(s->block, hash, s->field, 0, &s->got);
}

static bool hit_is_right(void *state, uint64_t i)
{
    struct small *s = state;
    struct torc_slice wanted = torc_instr_value(s->value_bytes, i % TORC_INSTR_FIELDS, 0);
    return s->result == 1 && torc_slice_equal(s->got.text, wanted);
}

static bool miss_is_right(void *state, uint64_t i)
{
    (void)i;
    return ((struct small *)state)->result == 0;
}

static void set_prepare(void *state, uint64_t i)
{
    struct small *s = state;
    s->field = torc_instr_field(s->field_bytes, i % TORC_INSTR_FIELDS);
    s->value = torc_instr_value(s->value_bytes, i % TORC_INSTR_FIELDS, i + 1);
}

static void set_run(void *state, uint64_t i)
{
    (void)i;
    struct small *s = state;
    struct torc_pair pair = {s->field, s->value};
    struct torc_key key = torc_keyspace_key(s->keyspace, s->key);
    s->result = torc_hash_put(s->keyspace, &key, &pair, 1);
}

/* The field holds the new value, `n_new` fields are new. */
static bool holds(struct small *s, int64_t n_new)
{
    struct torc_key key = torc_keyspace_key(s->keyspace, s->key);
    return s->result == n_new && torc_hash_get(s->keyspace, &key, s->field, &s->got) == 1 &&
           torc_slice_equal(s->got.text, s->value);
}

static bool set_is_right(void *state, uint64_t i)
{
    (void)i;
    return holds(state, 0);
}

/* --- new fields, new keys --- */

static void *hashes_open(const struct torc_instr_case *self)
{
    struct small *s = small_make();
    for (uint64_t i = 0; i < self->warm + self->n; i++) {
        torc_instr_fill(s->keyspace, i);
    }
    return s;
}

/* One new field for each of the hashes, in turn. */
static void insert_prepare(void *state, uint64_t i)
{
    struct small *s = state;
    s->key = torc_instr_key(s->key_bytes, i);
    s->field = torc_instr_absent(s->field_bytes, i);
    s->value = torc_instr_value(s->value_bytes, i, 0);
}

static void *empty_open(const struct torc_instr_case *self)
{
    (void)self;
    return small_make();
}

static bool insert_is_right(void *state, uint64_t i)
{
    (void)i;
    return holds(state, 1);
}

/* --- a wide hash --- */

struct wide {
    struct torc_arena *arena;
    struct torc_keyspace *keyspace;
    struct torc_hash_limits limits;
    uint8_t key_bytes[TORC_INSTR_KEY_BYTES];
    uint8_t field_bytes[WIDE_FIELDS][4];
    uint8_t value_bytes[WIDE_FIELDS][WIDE_VALUE];
    struct torc_pair pairs[WIDE_FIELDS];
    struct torc_slice key;
    struct torc_slice asked[WIDE_ASKED];
    struct torc_value got[WIDE_ASKED];
    size_t n_seen, bytes_seen;
    int64_t result;
};

static void *wide_open(const struct torc_instr_case *self)
{
    (void)self;
    static const size_t value_bytes[] = {4, 60, WIDE_VALUE};
    struct wide *w = calloc(1, sizeof *w);
    torc_instr_require(w != NULL, "memory");
    w->limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    torc_instr_keyspace_open(&w->limits, &w->arena, &w->keyspace);
    w->key = torc_bench_text(w->key_bytes, 8, 0, 1);
    for (uint64_t i = 0; i < WIDE_FIELDS; i++) {
        w->pairs[i].field = torc_bench_text(w->field_bytes[i], 2 + i % 3, i, 2);
        w->pairs[i].value = torc_bench_text(w->value_bytes[i], value_bytes[i / 3 % 3], i, 3);
    }
    struct torc_key key = torc_keyspace_key(w->keyspace, w->key);
    torc_instr_require(torc_hash_put(w->keyspace, &key, w->pairs, WIDE_FIELDS) == WIDE_FIELDS,
                       "filling");
    return w;
}

static void wide_close(void *state)
{
    struct wide *w = state;
    torc_keyspace_close(w->keyspace);
    torc_arena_destroy(w->arena);
    free(w);
}

/* WIDE_ASKED distinct ones, in an order that is not that of the block: 50 has no divisor in common
 * with WIDE_FIELDS. */
static uint64_t wide_pick(uint64_t i, uint64_t j)
{
    return (i + 50 * j) % WIDE_FIELDS;
}

static void wide_prepare(void *state, uint64_t i)
{
    struct wide *w = state;
    for (uint64_t j = 0; j < WIDE_ASKED; j++) {
        w->asked[j] = w->pairs[wide_pick(i, j)].field;
    }
    w->n_seen = w->bytes_seen = 0;
}

static void wide_get_many(void *state, uint64_t i)
{
    (void)i;
    struct wide *w = state;
    struct torc_key key = torc_keyspace_key(w->keyspace, w->key);
    w->result = torc_hash_get_many(w->keyspace, &key, w->asked, WIDE_ASKED, w->got);
}

static bool wide_is_right(void *state, uint64_t i)
{
    struct wide *w = state;
    bool is_right = w->result == WIDE_ASKED;
    for (uint64_t j = 0; j < WIDE_ASKED; j++) {
        is_right &= torc_slice_equal(w->got[j].text, w->pairs[wide_pick(i, j)].value);
    }
    return is_right;
}

static void see(void *arg, const struct torc_pair *pair)
{
    struct wide *w = arg;
    w->n_seen++;
    w->bytes_seen += pair->field.len + pair->value.len;
}

static void wide_each(void *state, uint64_t i)
{
    (void)i;
    struct wide *w = state;
    struct torc_key key = torc_keyspace_key(w->keyspace, w->key);
    w->result = torc_hash_each(w->keyspace, &key, TORC_PAIRS, see, w);
}

static bool wide_all_is_right(void *state, uint64_t i)
{
    (void)i;
    struct wide *w = state;
    size_t bytes = 0;
    for (size_t j = 0; j < WIDE_FIELDS; j++) {
        bytes += w->pairs[j].field.len + w->pairs[j].value.len;
    }
    return w->result == 0 && w->n_seen == WIDE_FIELDS && w->bytes_seen == bytes;
}

/* --- a full hash of a million fields --- */

struct many {
    struct small small; /* first: the operations on a small hash do for this one */
    uint8_t name[MANY_BYTES];
    uint64_t root; /* of a full hash that belongs to no key */
};

static int64_t many_put(struct many *m, const struct torc_pair *pairs, size_t n)
{
    struct small *s = &m->small;
    if (m->root != TORC_REF_NONE) {
        static const struct torc_full_put_options plain = {0};
        return torc_full_put(s->arena, m->root, pairs, n, &plain);
    }
    struct torc_key key = torc_keyspace_key(s->keyspace, s->key);
    return torc_hash_put(s->keyspace, &key, pairs, n);
}

static void many_fill(struct many *m)
{
    static uint8_t fields[PAIRS_A_PUT][MANY_BYTES];
    static uint8_t values[PAIRS_A_PUT][TORC_INSTR_VALUE_BYTES];
    struct torc_pair pairs[PAIRS_A_PUT];
    for (uint64_t i = 0; i < MANY_FIELDS; i += PAIRS_A_PUT) {
        size_t n = torc_min_u64(PAIRS_A_PUT, MANY_FIELDS - i);
        for (size_t j = 0; j < n; j++) {
            pairs[j].field = torc_bench_text(fields[j], MANY_BYTES, i + j, 2);
            pairs[j].value = torc_instr_value(values[j], i + j, 0);
        }
        torc_instr_require(many_put(m, pairs, n) == (int64_t)n, "filling");
    }
}

static struct many *many_make(void)
{
    struct many *m = calloc(1, sizeof *m);
    torc_instr_require(m != NULL, "memory");
    struct small *s = &m->small;
    s->limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    torc_instr_keyspace_open(&s->limits, &s->arena, &s->keyspace);
    s->key = torc_instr_key(s->key_bytes, 0);
    return m;
}

/* Making it takes seconds under callgrind, so the cases on it follow one another on the same one.
 */
static struct many *kept;

static void *many_open(const struct torc_instr_case *self)
{
    (void)self;
    if (kept != NULL) {
        return kept;
    }
    struct many *m = many_make();
    many_fill(m);
    struct torc_key key = torc_keyspace_key(m->small.keyspace, m->small.key);
    torc_instr_require(torc_keyspace_encoding(m->small.keyspace, &key) == TORC_ENCODING_FULL,
                       "full");
    kept = m;
    return m;
}

static void many_keep(void *state)
{
    torc_instr_require(state == kept, "the hash that is kept");
}

/* What the representation alone takes. */
static void *alone_open(const struct torc_instr_case *self)
{
    (void)self;
    struct many *m = many_make();
    torc_instr_require(torc_full_create(m->small.arena, &m->root) == 0, "full hash");
    many_fill(m);
    return m;
}

static void alone_run(void *state, uint64_t i)
{
    (void)i;
    struct many *m = state;
    struct small *s = &m->small;
    uint64_t hash = torc_hash_slice(HASH_SEED, s->field);
    s->result = torc_full_find(s->arena, m->root, hash, s->field, 0, &s->got);
}

static void many_close(void *state)
{
    struct many *m = state;
    torc_keyspace_close(m->small.keyspace);
    torc_arena_destroy(m->small.arena);
    free(m);
    kept = NULL;
}

static uint64_t many_pick(uint64_t i)
{
    return torc_bench_mix(i) % MANY_FIELDS;
}

static void many_hit_prepare(void *state, uint64_t i)
{
    struct many *m = state;
    m->small.field = torc_bench_text(m->name, MANY_BYTES, many_pick(i), 2);
    m->small.value = torc_instr_value(m->small.value_bytes, many_pick(i), 0);
}

static bool many_hit_is_right(void *state, uint64_t i)
{
    (void)i;
    struct small *s = state;
    return s->result == 1 && torc_slice_equal(s->got.text, s->value);
}

static void many_absent_prepare(void *state, uint64_t i)
{
    struct many *m = state;
    m->small.field = torc_bench_text(m->name, MANY_BYTES, ABSENT_FROM + i, 2);
    m->small.value = torc_instr_value(m->small.value_bytes, i, 0);
}

static void many_set_prepare(void *state, uint64_t i)
{
    struct many *m = state;
    m->small.field = torc_bench_text(m->name, MANY_BYTES, many_pick(i), 2);
    m->small.value = torc_instr_value(m->small.value_bytes, many_pick(i), i + 1);
}

const struct torc_instr_case torc_instr_hash_cases[] = {
    {"compact-find-hit", 3200, 64, 1, small_open, hit_prepare, find_run, hit_is_right, small_close},
    {"compact-find-miss", 3200, 64, 1, small_open, miss_prepare, find_run, miss_is_right,
     small_close},
    {"full-find-hit", 3200, 64, 1, alone_open, many_hit_prepare, alone_run, many_hit_is_right,
     many_close},
    {"hget-hit", 3200, 64, 1, small_open, hit_prepare, get_run, hit_is_right, small_close},
    {"hget-miss", 3200, 64, 1, small_open, miss_prepare, get_run, miss_is_right, small_close},
    {"hset-same", 3200, 64, 1, small_open, set_prepare, set_run, set_is_right, small_close},
    {"hset-new-field", 1000, 100, 1, hashes_open, insert_prepare, set_run, insert_is_right,
     small_close},
    {"hset-new-key", 3200, 100, 1, empty_open, insert_prepare, set_run, insert_is_right,
     small_close},
    {"hmget-94-of-123", 246, 8, 1, wide_open, wide_prepare, wide_get_many, wide_is_right,
     wide_close},
    {"hgetall-123", 246, 8, 1, wide_open, wide_prepare, wide_each, wide_all_is_right, wide_close},
    {"full-hget-hit", 3200, 64, 1, many_open, many_hit_prepare, get_run, many_hit_is_right,
     many_keep},
    {"full-hget-miss", 3200, 64, 1, many_open, many_absent_prepare, get_run, miss_is_right,
     many_keep},
    {"full-hset-same", 3200, 64, 1, many_open, many_set_prepare, set_run, set_is_right, many_keep},
    {"full-hset-new", 3200, 64, 1, many_open, many_absent_prepare, set_run, insert_is_right,
     many_close},
    {0},
};
