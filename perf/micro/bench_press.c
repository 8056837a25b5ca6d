/* SPDX-License-Identifier: Apache-2.0
 *
 * What compression costs and wins: values of a full hash written and read, kept raw and kept
 * compressed, for JSON documents and for bytes that nothing makes shorter.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/hashing.h"
#include "hash/full.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define FIELDS     256u
#define NAME_BYTES 18u
#define VALUE_MOST 10000u
#define CHUNK      16u
#define WORK_BYTES 400000000ull /* of text, for one case */
#define CAPACITY   (256 * TORC_MIB)

struct state {
    struct torc_arena *arena;
    struct torc_press *press;
    struct torc_full_put_options options; /* with the same press, or none: values are kept raw */
    uint64_t root;
    struct torc_pair pairs[FIELDS][2]; /* two values each, written in turn */
    uint8_t names[FIELDS][NAME_BYTES];
    uint8_t values[FIELDS][2][VALUE_MOST + 1];
};

struct kind {
    const char *put, *get; /* names of the cases */
    size_t bytes;
    bool is_json;
    bool compresses;
};

/* Rows such as a service would store: names repeat, numbers and identifiers do not. */
static void fill_json(uint8_t *to, size_t len, uint64_t number)
{
    static const char *const states[] = {"active", "paused", "closed", "pending"};
    char row[200];
    size_t at = 0;
    while (at < len) {
        uint64_t bits = torc_bench_mix(++number * 977);
        int n = snprintf(
            row, sizeof row,
            "{\"id\":%" PRIu64 ",\"user\":\"u%08" PRIx64
            "\",\"state\":\"%s\",\"price\":%u.%02u,\"updated\":\"2024-%02u-%02uT%02u:%02u:00Z\"},",
            bits >> 44, bits & 0xffffffffu, states[bits >> 62], (unsigned)(bits >> 20) % 1000,
            (unsigned)(bits >> 10) % 100, 1 + (unsigned)(bits >> 32) % 12,
            1 + (unsigned)(bits >> 36) % 28, (unsigned)(bits >> 24) % 24,
            (unsigned)(bits >> 14) % 60);
        size_t part = torc_min_u64((uint64_t)n, len - at);
        memcpy(to + at, row, part);
        at += part;
    }
}

static void fill_noise(uint8_t *to, size_t len, uint64_t number)
{
    for (size_t at = 0; at < len; at++) {
        to[at] = (uint8_t)torc_bench_mix(number * VALUE_MOST + at);
    }
}

static bool put(void *arg, uint64_t i)
{
    struct state *s = arg;
    return torc_full_put(s->arena, s->root, &s->pairs[i % FIELDS][i / FIELDS % 2], 1,
                         &s->options) == 0;
}

/* The text of a field. */
static bool read_field(struct state *s, struct torc_slice field, struct torc_value *out_value)
{
    uint64_t hash = torc_hash_slice(torc_arena_seed(s->arena), field);
    if (!torc_full_find(s->arena, s->root, hash, field, 0, out_value)) {
        return false;
    }
    if (out_value->text.data == NULL) {
        torc_press_forget(s->press);
        torc_full_expand(s->press, out_value);
    }
    return true;
}

static bool get(void *arg, uint64_t i)
{
    struct state *s = arg;
    const struct torc_pair *pair = &s->pairs[i % FIELDS][0];
    struct torc_value value;
    return read_field(s, pair->field, &value) && value.text.len == pair->value.len;
}

/* A hash whose fields hold their first values. */
static void load(struct state *s, const struct kind *kind)
{
    s->options.press = kind->compresses ? s->press : NULL;
    torc_bench_require(torc_full_create(s->arena, &s->root) == 0, "no memory for a hash");
    for (unsigned i = 0; i < FIELDS; i++) {
        struct torc_slice field = torc_bench_text(s->names[i], NAME_BYTES, i, 2);
        for (unsigned k = 0; k < 2; k++) {
            (kind->is_json ? fill_json : fill_noise)(s->values[i][k], kind->bytes, 1000 * k + i);
            s->pairs[i][k] = (struct torc_pair){
                .field = field, .value = torc_slice_of(s->values[i][k], kind->bytes)};
        }
        torc_bench_require(torc_full_put(s->arena, s->root, s->pairs[i], 1, &s->options) == 1,
                           "no memory for a field");
        struct torc_value value;
        torc_bench_require(read_field(s, field, &value) &&
                               torc_slice_equal(value.text, s->pairs[i][0].value),
                           "a value does not come back as it was");
    }
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        {"press-put-json-200-raw", "press-get-json-200-raw", 200, true, false},
        {"press-put-json-200", "press-get-json-200", 200, true, true},
        {"press-put-json-1000-raw", "press-get-json-1000-raw", 1000, true, false},
        {"press-put-json-1000", "press-get-json-1000", 1000, true, true},
        {"press-put-json-10000-raw", "press-get-json-10000-raw", 10000, true, false},
        {"press-put-json-10000", "press-get-json-10000", 10000, true, true},
        {"press-put-noise-1000-raw", "press-get-noise-1000-raw", 1000, false, false},
        {"press-put-noise-1000", "press-get-noise-1000", 1000, false, true},
    };
    static struct state state;
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv,
                    "Compression of values of a full hash: writing, reading and what is kept.");
    state.arena = torc_bench_arena(CAPACITY);
    state.press = torc_press_create();
    torc_bench_require(state.press != NULL, "no memory");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const struct kind *kind = &kinds[k];
        bool wants_put = torc_bench_wants(&bench, kind->put);
        bool wants_get = torc_bench_wants(&bench, kind->get);
        if (!wants_put && !wants_get) {
            continue;
        }
        load(&state, kind);
        const struct torc_full *full = torc_full_at(state.arena, state.root);
        struct torc_bench_case c = {
            .name = kind->get,
            .params = {{"text_bytes", kind->bytes}, {"record_bytes", full->record_bytes / FIELDS}},
            .n = torc_bench_scaled(&bench, WORK_BYTES / kind->bytes),
            .warm = 2ull * FIELDS,
            .chunk = CHUNK,
            .run = get,
            .arg = &state,
        };
        if (wants_get) {
            torc_bench_measure(&bench, &c);
        }
        c.name = kind->put;
        c.run = put;
        c.n /= 4;
        if (wants_put) {
            torc_bench_measure(&bench, &c);
        }
        torc_full_destroy(state.arena, state.root);
    }
    torc_press_destroy(state.press);
    torc_arena_destroy(state.arena);
    return 0;
}
