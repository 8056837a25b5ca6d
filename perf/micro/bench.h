/* SPDX-License-Identifier: Apache-2.0
 *
 * What the in-process benches share: options, timing, JSON lines.
 *
 * An operation is called in chunks and each chunk is timed, so that the clock costs next to
 * nothing; a figure is a chunk's time divided by its operations. A chunk of one shows the longest
 * single step. Each operation says whether it did what it should; one that did not ends the program
 * with status 3.
 */
#ifndef TORC_PERF_MICRO_BENCH_H
#define TORC_PERF_MICRO_BENCH_H

#include "core/clock.h"
#include "core/slice.h"

struct torc_bench {
    struct torc_clock clock;
    const char *program;
    const char *match; /* run cases whose name has this in it; NULL all */
    bool is_quick;
    bool lists;
};

/* A parameter of a case, for its JSON line. */
struct torc_bench_param {
    const char *name;
    uint64_t value;
};
#define TORC_BENCH_PARAMS 4u

struct torc_bench_case {
    const char *name;
    struct torc_bench_param params[TORC_BENCH_PARAMS]; /* those with a name, from the front */
    uint64_t n;                                        /* operations that are timed */
    uint64_t warm;                                     /* operations before them */
    unsigned chunk;                                    /* operations timed together, at least 1 */
    /* Operation number i, from 0, warm ones included. False: it did the wrong thing. */
    bool (*run)(void *arg, uint64_t i);
    void (*prepare)(void *arg, uint64_t i, unsigned n); /* before operations i .. i + n - 1 of a
                                                           chunk, not timed; NULL: nothing */
    void *arg;
};

/* Read the command line: --quick, --list, --only TEXT, --cpu N, --help. Pins to the CPU. Ends the
 * program when it is wrong, with status 2. */
void torc_bench_init(struct torc_bench *bench, int argc, char **argv, const char *doc);

/* Is a case of this name to be measured? False also with --list, which prints the name. To be asked
 * before making what the case works on. */
bool torc_bench_wants(const struct torc_bench *bench, const char *name);

/* `n`, or a small part of it with --quick, at least 1. */
uint64_t torc_bench_scaled(const struct torc_bench *bench, uint64_t n);

/* Measure and print one JSON line. */
void torc_bench_measure(const struct torc_bench *bench, const struct torc_bench_case *c);

/* End the program: what a bench needs is not to be had. */
_Noreturn void torc_bench_give_up(const char *what);

static inline void torc_bench_require(bool condition, const char *what)
{
    if (!condition) {
        torc_bench_give_up(what);
    }
}

struct torc_arena;

/* An arena with `capacity` bytes of range (a multiple of 2 MiB), the best pages there are, and a
 * fixed hash seed. */
struct torc_arena *torc_bench_arena(uint64_t capacity);
#define TORC_BENCH_HASH_SEED 0x5eed5eed5eed5eedull

#endif
