/* SPDX-License-Identifier: Apache-2.0
 *
 * Record streams against a naive model: an array of live records. Records here begin with a small
 * head of the test's own (length, live or dead), so that segments can be walked as the layer above
 * walks them. Held after each step: torc_arena_check(), torc_stream_check() of every stream, and
 * each stream's counters; now and then, and at the end, every record's bytes and a walk of all
 * segments.
 */
#include <check.h>
#include <stdlib.h>

#include "core/arena_private.h"
#include "tests/support/prng.h"

#define N_STREAMS  4u /* stream 0 is the shared one */
#define MAX_LIVE   8192u
#define HEAD_BYTES 8u /* u32 length, u8 live, padding */
#define CAPACITY   (48 * TORC_MIB)

struct record {
    uint64_t ref;
    uint64_t bytes;
    uint64_t mark;
    unsigned stream;
};

struct model {
    struct torc_arena *arena;
    struct torc_prng prng;
    struct torc_stream *streams[N_STREAMS];
    struct record live[MAX_LIVE];
    size_t n_live;
    uint64_t live_bytes[N_STREAMS];
    uint64_t step;
};

/* ---- contents ---- */

static void head_put(uint8_t *p, uint64_t bytes, bool live)
{
    torc_store_u32(p, (uint32_t)bytes);
    p[4] = live;
}

static uint8_t content(uint64_t mark, uint64_t i)
{
    return (uint8_t)(mark >> (i % 8 * 8)) ^ (uint8_t)i;
}

static void record_paint(const struct model *model, const struct record *record)
{
    uint8_t *p = torc_arena_at(model->arena, record->ref);
    head_put(p, record->bytes, true);
    for (uint64_t i = HEAD_BYTES; i < record->bytes; i++) {
        p[i] = content(record->mark, i);
    }
}

static void record_verify(const struct model *model, const struct record *record)
{
    const uint8_t *p = torc_arena_at(model->arena, record->ref);
    ck_assert_uint_eq(torc_load_u32(p), record->bytes);
    ck_assert_uint_eq(p[4], 1);
    for (uint64_t i = HEAD_BYTES; i < record->bytes; i++) {
        if (p[i] != content(record->mark, i)) {
            ck_abort_msg("step %llu: byte %llu of a record changed",
                         (unsigned long long)model->step, (unsigned long long)i);
        }
    }
}

/* ---- checks ---- */

static void model_check(const struct model *model)
{
    const char *why = NULL;
    if (torc_arena_check(model->arena, &why) != 0) {
        ck_abort_msg("step %llu: %s", (unsigned long long)model->step, why);
    }
    for (unsigned i = 0; i < N_STREAMS; i++) {
        if (torc_stream_check(model->arena, model->streams[i], &why) != 0) {
            ck_abort_msg("step %llu: stream %u: %s", (unsigned long long)model->step, i, why);
        }
        ck_assert_uint_eq(model->streams[i]->live, model->live_bytes[i]);
    }
}

/* Bytes of live records found by walking one segment. */
static uint64_t segment_walk(const struct model *model, uint64_t ref)
{
    const struct torc_segment *segment =
        (const struct torc_segment *)torc_arena_at(model->arena, ref);
    const uint8_t *p = (const uint8_t *)(segment + 1);
    uint64_t live = 0;
    uint64_t at = 0;
    while (at < segment->used) {
        uint64_t bytes = torc_load_u32(p + at);
        ck_assert(bytes >= HEAD_BYTES && bytes <= segment->used - at);
        live += p[at + 4] != 0 ? bytes : 0;
        at += bytes;
    }
    ck_assert_uint_eq(at, segment->used);
    ck_assert_uint_eq(live, segment->live);
    return live;
}

static void model_walk(const struct model *model)
{
    for (size_t i = 0; i < model->n_live; i++) {
        record_verify(model, &model->live[i]);
        const struct torc_segment *segment =
            torc_segment_of(model->arena, model->live[i].ref, model->live[i].bytes);
        ck_assert_uint_eq(segment->owner, model->streams[model->live[i].stream]->owner);
    }
    for (unsigned i = 0; i < N_STREAMS; i++) {
        const struct torc_stream *stream = model->streams[i];
        uint64_t live = 0;
        const uint64_t rings[] = {stream->closed, stream->extents};
        for (size_t k = 0; k < 2; k++) {
            uint64_t ref = rings[k];
            while (ref != TORC_REF_NONE) {
                live += segment_walk(model, ref);
                const struct torc_segment *segment =
                    (const struct torc_segment *)torc_arena_at(model->arena, ref);
                ref = segment->next == rings[k] ? TORC_REF_NONE : segment->next;
            }
        }
        if (stream->open != TORC_REF_NONE) {
            live += segment_walk(model, stream->open);
        }
        ck_assert_uint_eq(live, stream->live);
    }
}

/* ---- steps ---- */

static uint64_t draw_bytes(struct model *model)
{
    switch (torc_prng_below(&model->prng, 40)) {
    case 0: /* around the border to extents, and beyond */
        return TORC_RECORD_MAX_BYTES - 2 + torc_prng_below(&model->prng, 5);
    case 1:
        return HEAD_BYTES + torc_prng_below(&model->prng, 400 * TORC_KIB);
    case 2:
    case 3:
        return HEAD_BYTES + torc_prng_below(&model->prng, 40 * TORC_KIB);
    default:
        return HEAD_BYTES + torc_prng_below(&model->prng, 600);
    }
}

static void step_alloc(struct model *model)
{
    if (model->n_live == MAX_LIVE) {
        return;
    }
    struct record record = {
        .ref = 777,
        .bytes = draw_bytes(model),
        .mark = torc_prng_next(&model->prng),
        .stream = (unsigned)torc_prng_below(&model->prng, N_STREAMS),
    };
    struct torc_stream *stream = model->streams[record.stream];
    struct torc_stream before = *stream;
    uint64_t used = torc_arena_used(model->arena);
    uint64_t fail = torc_prng_below(&model->prng, 32) == 0 ? 1 : 0;
    torc_arena_fail_after(model->arena, fail);
    int rc = torc_record_alloc(model->arena, stream, record.bytes, &record.ref);
    torc_arena_fail_after(model->arena, 0);
    if (rc != 0) {
        ck_assert_int_eq(rc, -ENOSPC);
        ck_assert_uint_eq(record.ref, 777);
        ck_assert_mem_eq(stream, &before, sizeof(before));
        ck_assert_uint_eq(torc_arena_used(model->arena), used);
        return;
    }
    ck_assert_uint_eq(fail, 0);
    if (torc_prng_below(&model->prng, 16) == 0) {
        /* Taken back at once, it was never there, but for a segment that was opened for it. */
        torc_record_free(model->arena, stream, record.ref, record.bytes);
        ck_assert_uint_eq(stream->live, before.live);
        ck_assert_uint_eq(stream->dead, before.dead);
        return;
    }
    record_paint(model, &record);
    model->live_bytes[record.stream] += record.bytes;
    model->live[model->n_live++] = record;
}

static void step_free(struct model *model)
{
    if (model->n_live == 0) {
        return;
    }
    size_t i = torc_prng_below(&model->prng, model->n_live);
    struct record record = model->live[i];
    model->live[i] = model->live[--model->n_live];
    record_verify(model, &record);
    head_put(torc_arena_at(model->arena, record.ref), record.bytes, false);
    torc_record_free(model->arena, model->streams[record.stream], record.ref, record.bytes);
    model->live_bytes[record.stream] -= record.bytes;
}

static void step_trim(struct model *model)
{
    if (model->n_live == 0) {
        return;
    }
    struct record *record = &model->live[torc_prng_below(&model->prng, model->n_live)];
    if (torc_record_is_extent(record->bytes) || record->bytes < 2ull * HEAD_BYTES) {
        return;
    }
    uint64_t cut =
        HEAD_BYTES + torc_prng_below(&model->prng, record->bytes - 2ull * HEAD_BYTES + 1);
    uint8_t *p = torc_arena_at(model->arena, record->ref);
    head_put(p, record->bytes - cut, true);
    head_put(p + record->bytes - cut, cut, false);
    torc_record_trim(model->arena, model->streams[record->stream], record->ref, record->bytes, cut);
    record->bytes -= cut;
    model->live_bytes[record->stream] -= cut;
}

static struct record *model_find(struct model *model, uint64_t ref)
{
    for (size_t i = 0; i < model->n_live; i++) {
        if (model->live[i].ref == ref) {
            return &model->live[i];
        }
    }
    return NULL;
}

/* As the cleaner does it: move what lives in a victim, until the victim is gone. */
static void step_clean(struct model *model)
{
    unsigned i = (unsigned)torc_prng_below(&model->prng, N_STREAMS);
    struct torc_stream *stream = model->streams[i];
    unsigned look = 1 + (unsigned)torc_prng_below(&model->prng, 12);
    uint64_t victim = torc_stream_victim(model->arena, stream, look);
    model_check(model);
    if (victim == TORC_REF_NONE) {
        return;
    }
    const struct torc_segment *segment =
        (const struct torc_segment *)torc_arena_at(model->arena, victim);
    ck_assert(segment->used > segment->live && segment->kind == TORC_SEGMENT_CLOSED);
    ck_assert_uint_eq(segment->owner, stream->owner);
    uint64_t live = segment->live;
    uint64_t used = segment->used;
    uint64_t dead_before = stream->dead;
    uint64_t at = 0;
    uint64_t moved = 0;
    while (moved < live) {
        uint64_t ref = victim + TORC_SEGMENT_HEAD_BYTES + at;
        uint64_t bytes = torc_load_u32(torc_arena_at(model->arena, ref));
        at += bytes;
        struct record *record = model_find(model, ref);
        if (record == NULL) {
            continue;
        }
        uint64_t to;
        if (torc_record_move(model->arena, stream, ref, bytes, &to) != 0) {
            return; /* capacity; the victim stays as it is, half moved */
        }
        record->ref = to;
        record_verify(model, record);
        head_put(torc_arena_at(model->arena, ref), bytes, false);
        torc_record_free(model->arena, stream, ref, bytes);
        moved += bytes;
    }
    ck_assert_uint_eq(stream->dead, dead_before - (used - live));
}

static void step_drop(struct model *model)
{
    unsigned i = 1 + (unsigned)torc_prng_below(&model->prng, N_STREAMS - 1);
    size_t kept = 0;
    for (size_t k = 0; k < model->n_live; k++) {
        if (model->live[k].stream != i) {
            model->live[kept++] = model->live[k];
        }
    }
    model->n_live = kept;
    for (;;) {
        bool more = torc_stream_drop_step(model->arena, model->streams[i]);
        model->live_bytes[i] = model->streams[i]->live;
        model_check(model);
        if (!more) {
            break;
        }
    }
    ck_assert_uint_eq(model->streams[i]->live + model->streams[i]->dead, 0);
}

START_TEST(streams_follow_the_model)
{
    struct torc_arena_options options = {
        .region = {.name = "torc-prop-segment", .capacity = CAPACITY, .numa_node = -1},
    };
    struct model *model = calloc(1, sizeof(*model));
    ck_assert_ptr_nonnull(model);
    ck_assert_int_eq(torc_arena_create(&options, &model->arena), 0);
    model->prng.state = torc_test_seed(21);
    model->streams[0] = torc_stream_shared(model->arena);
    uint64_t roots[N_STREAMS] = {0};
    for (unsigned i = 1; i < N_STREAMS; i++) {
        ck_assert_int_eq(torc_arena_block_alloc(model->arena, 6, TORC_USE_ROOT, &roots[i]), 0);
        model->streams[i] = (struct torc_stream *)torc_arena_at(model->arena, roots[i]);
        *model->streams[i] = (struct torc_stream){.owner = roots[i]};
    }
    uint64_t ops = torc_test_ops(30000);
    uint64_t share = 50;
    for (model->step = 0; model->step < ops; model->step++) {
        if (model->step % 1024 == 0) {
            share = 30 + torc_prng_below(&model->prng, 40);
            uint64_t limit = torc_prng_below(&model->prng, 2) * 20 * TORC_MIB;
            torc_arena_set_limit(model->arena, limit);
            model_walk(model);
        }
        uint64_t dice = torc_prng_below(&model->prng, 10000);
        if (dice < 4) {
            step_drop(model);
        } else if (dice < 300) {
            step_clean(model);
        } else if (dice < 1000) {
            step_trim(model);
        } else if (dice % 100 < share) {
            step_alloc(model);
        } else {
            step_free(model);
        }
        model_check(model);
    }
    model_walk(model);
    while (model->n_live != 0) {
        step_free(model);
    }
    model_check(model);
    for (unsigned i = 0; i < N_STREAMS; i++) {
        /* Only an open segment may be left, and nothing in it. */
        ck_assert_uint_eq(model->streams[i]->closed | model->streams[i]->extents, 0);
        ck_assert_uint_eq(model->streams[i]->dead, 0);
        ck_assert(!torc_stream_drop_step(model->arena, model->streams[i]));
    }
    for (unsigned i = 1; i < N_STREAMS; i++) {
        torc_arena_block_free(model->arena, roots[i], 6, TORC_USE_ROOT);
    }
    ck_assert_uint_eq(torc_arena_used(model->arena), 0);
    ck_assert_int_eq(torc_arena_check(model->arena, NULL), 0);
    torc_arena_destroy(model->arena);
    free(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prop_segment");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, streams_follow_the_model);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
