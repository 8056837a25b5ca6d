/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to know when entries of a table end: noting times in the due tree and taking them
 * out as they come up, beside a binary heap with an element of 16 bytes for each entry, the
 * textbook way. The heap moves the elements alone; that its entries must be told of each move, and
 * their elements found when they go early, is not in its figures.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hash/due.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define CAPACITY   (256 * TORC_MIB)
#define TIME_FIRST 1000000ull
#define TIME_SPAN  1000000ull
#define CHUNK      64u

struct heap_element {
    uint64_t when, ref;
};

struct state {
    struct torc_arena *arena;
    struct torc_due due;
    uint64_t n;      /* entries */
    uint64_t *times; /* in the order of their hashes: entry i has hash i * 2^64 / n */
    uint64_t *order; /* entry that is noted i-th */
    uint64_t n_visits, n_looked;
    struct heap_element *heap;
    uint64_t n_heap;
};

static uint64_t hash_of(const struct state *s, uint64_t i)
{
    return (UINT64_MAX / s->n) * i;
}

static bool note(void *arg, uint64_t i)
{
    struct state *s = arg;
    uint64_t entry = s->order[i];
    uint64_t hash = hash_of(s, entry);
    bool is_reserved = torc_due_reserve(s->arena, &s->due, hash, s->n) == 0;
    torc_due_note(s->arena, &s->due, hash, s->times[entry]);
    return is_reserved;
}

/* Take the next cell that is due, and of its entries those that are. */
static bool take(void *arg, uint64_t i)
{
    struct state *s = arg;
    struct torc_due_cell cell;
    (void)i;
    uint64_t now = s->due.bound;
    if (!torc_due_next(s->arena, &s->due, now, s->n, &cell)) {
        return true; /* there is none left */
    }
    uint64_t step = UINT64_MAX / s->n;
    uint64_t least = TORC_EXPIRY_NEVER;
    for (uint64_t e = (cell.first + step - 1) / step; e < s->n && e * step <= cell.last; e++) {
        s->n_looked++;
        if (torc_expiry_is_past(s->times[e], now)) {
            s->times[e] = TORC_EXPIRY_NONE;
        } else if (s->times[e] != TORC_EXPIRY_NONE) {
            least = torc_min_u64(least, s->times[e]);
        }
    }
    s->n_visits++;
    torc_due_set(s->arena, &s->due, &cell, least, s->n);
    return least > now;
}

static bool heap_push(void *arg, uint64_t i)
{
    struct state *s = arg;
    struct heap_element element = {s->times[s->order[i]], i};
    uint64_t at = s->n_heap++;
    for (; at > 0 && s->heap[(at - 1) / 2].when > element.when; at = (at - 1) / 2) {
        s->heap[at] = s->heap[(at - 1) / 2];
    }
    s->heap[at] = element;
    return true;
}

static bool heap_pop(void *arg, uint64_t i)
{
    struct state *s = arg;
    (void)i;
    struct heap_element last = s->heap[--s->n_heap];
    uint64_t at = 0;
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= s->n_heap) {
            break;
        }
        child += child + 1 < s->n_heap && s->heap[child + 1].when < s->heap[child].when;
        if (s->heap[child].when >= last.when) {
            break;
        }
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return true;
}

static void fill(struct state *s)
{
    for (uint64_t i = 0; i < s->n; i++) {
        s->times[i] = TIME_FIRST + torc_bench_mix(i) % TIME_SPAN;
        s->order[i] = i;
    }
    for (uint64_t i = s->n; i-- > 1;) {
        uint64_t k = torc_bench_mix(i * 31) % (i + 1);
        uint64_t swap = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swap;
    }
}

static void open_state(struct state *s, uint64_t n)
{
    s->arena = torc_bench_arena(CAPACITY);
    s->n = n;
    s->times = calloc(n, sizeof *s->times);
    s->order = calloc(n, sizeof *s->order);
    s->heap = calloc(n, sizeof *s->heap);
    torc_bench_require(s->times != NULL && s->order != NULL && s->heap != NULL, "no memory");
    torc_due_init(&s->due);
    fill(s);
}

static void close_state(struct state *s)
{
    torc_arena_destroy(s->arena);
    free(s->times);
    free(s->order);
    free(s->heap);
}

/* Of n entries all with times: noting them, then 9 of 10 of the least. */
static void measure_all(const struct torc_bench *bench, uint64_t n)
{
    struct state s = {0};
    if (!torc_bench_wants(bench, "due-note") && !torc_bench_wants(bench, "due-take") &&
        !torc_bench_wants(bench, "heap-push") && !torc_bench_wants(bench, "heap-pop")) {
        return;
    }
    open_state(&s, n);
    struct torc_bench_case c = {.params = {{"entries", n}}, .n = n, .chunk = CHUNK, .arg = &s};
    c.name = "heap-push";
    c.run = heap_push;
    torc_bench_measure(bench, &c);
    c.name = "due-note";
    c.run = note;
    torc_bench_measure(bench, &c);
    (void)fprintf(stderr, "due tree of %" PRIu64 " entries: %.2f bytes an entry, heap 16\n", n,
                  (double)s.due.bytes / (double)n);
    c.name = "heap-pop";
    c.run = heap_pop;
    torc_bench_measure(bench, &c);
    c.name = "due-take";
    c.run = take;
    torc_bench_measure(bench, &c);
    (void)fprintf(stderr, "due tree: looked at %.1f entries for each cell that was due\n",
                  (double)s.n_looked / (double)s.n_visits);
    close_state(&s);
}

/* One entry of n has a time. */
static void measure_one(const struct torc_bench *bench, uint64_t n)
{
    if (!torc_bench_wants(bench, "due-one")) {
        return;
    }
    enum { ROUNDS = 1000 };
    struct state s = {0};
    open_state(&s, n);
    uint64_t ticks = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(s.times, 0, n * sizeof *s.times);
        uint64_t entry = torc_bench_mix(i) % n;
        s.times[entry] = TIME_FIRST + i;
        uint64_t start = torc_clock_ticks(&bench->clock);
        uint64_t hash = hash_of(&s, entry);
        torc_bench_require(torc_due_reserve(s.arena, &s.due, hash, n) == 0, "no memory");
        torc_due_note(s.arena, &s.due, hash, s.times[entry]);
        torc_bench_require(take(&s, 0), "it was not found");
        ticks += torc_clock_ticks(&bench->clock) - start;
        torc_bench_require(s.times[entry] == TORC_EXPIRY_NONE && s.due.bytes == 0,
                           "it was not taken");
    }
    (void)fprintf(stderr,
                  "one time among %" PRIu64 " entries: noted and found in %" PRIu64
                  " ns, looked at %.1f entries\n",
                  n, torc_clock_ns(&bench->clock, ticks) / ROUNDS, (double)s.n_looked / ROUNDS);
    close_state(&s);
}

int main(int argc, char **argv)
{
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv,
                    "Times of entries: the due tree beside a binary heap. On stderr: bytes an "
                    "entry, and entries that were looked at.");
    measure_all(&bench, 10000);
    measure_all(&bench, torc_bench_scaled(&bench, 1000000));
    measure_one(&bench, 100);
    measure_one(&bench, torc_bench_scaled(&bench, 1000000));
    return 0;
}
