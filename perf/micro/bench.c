/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/micro/bench.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/histogram.h"
#include "core/placement.h"

#define QUICK_PART   20u
#define WRONG        3
#define PS_PER_NS    1000u
#define NO_CPU       (-1)
#define CHUNK_MAX    4096u
#define STATUS_USAGE 2

struct wish {
    struct torc_bench *bench;
    int cpu;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case 'q':
        wish->bench->is_quick = true;
        return 0;
    case 'l':
        wish->bench->lists = true;
        return 0;
    case 'o':
        wish->bench->match = arg;
        return 0;
    case 'c':
        if (torc_placement_parse_cpus(arg, &wish->cpu, 1) != 1) {
            argp_error(state, "%s: not the number of a CPU", arg);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void torc_bench_init(struct torc_bench *bench, int argc, char **argv, const char *doc)
{
    const struct argp_option options[] = {
        {"quick", 'q', NULL, 0, "a twentieth of the operations: to see that it works", 0},
        {"list", 'l', NULL, 0, "print the names of the cases", 0},
        {"only", 'o', "TEXT", 0, "cases whose name has TEXT in it", 0},
        {"cpu", 'c', "N", 0, "run on this CPU", 0},
        {0}};
    const struct argp argp = {.options = options, .parser = parse, .doc = doc};
    *bench = (struct torc_bench){.program = argv[0]};
    struct wish wish = {.bench = bench, .cpu = NO_CPU};
    argp_err_exit_status = STATUS_USAGE;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &wish);
    if (wish.cpu != NO_CPU && torc_placement_pin_self(wish.cpu) != 0) {
        (void)fprintf(stderr, "%s: CPU %d is not to be had\n", argv[0], wish.cpu);
        exit(STATUS_USAGE);
    }
    torc_clock_init(&bench->clock);
}

bool torc_bench_wants(const struct torc_bench *bench, const char *name)
{
    if (bench->match != NULL && strstr(name, bench->match) == NULL) {
        return false;
    }
    if (bench->lists) {
        printf("%s\n", name);
        return false;
    }
    return true;
}

uint64_t torc_bench_scaled(const struct torc_bench *bench, uint64_t n)
{
    return bench->is_quick ? torc_max_u64(n / QUICK_PART, 1) : n;
}

_Noreturn void torc_bench_give_up(const char *what)
{
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(EXIT_FAILURE);
}

struct torc_arena *torc_bench_arena(uint64_t capacity)
{
    const struct torc_arena_options options = {
        .region = {.name = "torc-bench",
                   .capacity = capacity,
                   .huge = TORC_HUGE_TRY,
                   .numa_node = -1},
        .hash_seed = TORC_BENCH_HASH_SEED,
        .epoch = 1,
    };
    struct torc_arena *arena;
    torc_bench_require(torc_arena_create(&options, &arena) == 0, "no memory for an arena");
    return arena;
}

/* Operations i .. i + n - 1. */
static uint64_t run_chunk(const struct torc_bench *bench, const struct torc_bench_case *c,
                          uint64_t i, unsigned n)
{
    bool is_right = true;
    if (c->prepare != NULL) {
        c->prepare(c->arg, i, n);
    }
    uint64_t start = torc_clock_ticks(&bench->clock);
    for (unsigned j = 0; j < n; j++) {
        is_right &= c->run(c->arg, i + j);
    }
    uint64_t ticks = torc_clock_ticks(&bench->clock) - start;
    if (!is_right) {
        (void)fprintf(stderr, "%s: %s: an operation from number %llu on did the wrong thing\n",
                      bench->program, c->name, (unsigned long long)i);
        exit(WRONG);
    }
    return ticks;
}

static void print(const struct torc_bench_case *c, const struct torc_histogram *h)
{
    printf("{\"name\":\"%s\",\"param\":{", c->name);
    for (unsigned i = 0; i < TORC_BENCH_PARAMS && c->params[i].name != NULL; i++) {
        printf("%s\"%s\":%llu", i == 0 ? "" : ",", c->params[i].name,
               (unsigned long long)c->params[i].value);
    }
    printf("},\"unit\":\"ns\",\"n\":%llu,\"chunk\":%u,\"min\":%.1f,\"p50\":%.1f,\"p99\":%.1f,"
           "\"max\":%.1f}\n",
           (unsigned long long)c->n, c->chunk, (double)h->min / PS_PER_NS,
           (double)torc_histogram_percentile(h, 50) / PS_PER_NS,
           (double)torc_histogram_percentile(h, 99) / PS_PER_NS, (double)h->max / PS_PER_NS);
    (void)fflush(stdout);
}

void torc_bench_measure(const struct torc_bench *bench, const struct torc_bench_case *c)
{
    static struct torc_histogram histogram; /* picoseconds an operation */
    torc_bench_require(c->chunk >= 1 && c->chunk <= CHUNK_MAX, "a chunk that is empty or too long");
    torc_histogram_reset(&histogram);
    uint64_t end = c->warm + c->n;
    for (uint64_t i = 0; i < end;) {
        uint64_t stop = i < c->warm ? c->warm : end;
        unsigned n = (unsigned)torc_min_u64(c->chunk, stop - i);
        uint64_t ticks = run_chunk(bench, c, i, n);
        if (i >= c->warm) {
            torc_histogram_add(&histogram, torc_clock_ns(&bench->clock, ticks * PS_PER_NS) / n);
        }
        i += n;
    }
    print(c, &histogram);
}
