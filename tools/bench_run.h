/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures roads to servers against each other: the same requests, in turn, in short rounds, one at
 * a time and pipelined. Every reply is checked. The first moments of each segment, and a warm-up
 * before the first round, are not recorded.
 */
#ifndef TORC_TOOLS_BENCH_RUN_H
#define TORC_TOOLS_BENCH_RUN_H

#include <signal.h>

#include "core/clock.h"
#include "core/histogram.h"
#include "tools/road.h"

#define TORC_BENCH_ERROR_BYTES 320
#define TORC_BENCH_ROADS_MAX   2
#define TORC_BENCH_CELLS_MAX   67108864ull /* keys * fields */
#define TORC_BENCH_BYTES_MAX   TORC_GIB    /* values of one road */
#define TORC_BENCH_WINDOW_MAX  4096u

/* One request at a time, and a window of them. */
enum torc_bench_depth { TORC_BENCH_SINGLE, TORC_BENCH_PIPELINED, TORC_BENCH_DEPTHS };

struct torc_bench_options {
    enum torc_road_op op; /* PING, HGET, HSET */
    const char *key_prefix;
    size_t keys; /* hashes */
    size_t fields;
    size_t key_bytes; /* names are padded to this; longer where the number needs it */
    size_t field_bytes;
    size_t value_bytes;
    size_t window;
    uint64_t ns; /* of measuring, all roads and depths together */
    uint64_t seed;
};

/* What one road did at one depth. */
struct torc_bench_outcome {
    struct torc_histogram latency; /* ns */
    uint64_t ops;
    uint64_t ns;
};

/* How one figure of the second road compares with the first, over all whole rounds. */
struct torc_bench_ratio {
    double least;
    double median;
    double most;
};

struct torc_bench;

/* Prepare: make hashes over each road, with names of its own, and warm up. Takes the roads' use
 * until destroy, not their ownership. `stop`: ends everything early when set, as by a signal; may
 * be NULL. 0; -EINVAL options, -EEXIST a hash is there already, else as a road; with a text in
 * `error`. */
int torc_bench_create(const struct torc_bench_options *options, struct torc_road *const *roads,
                      size_t n_roads, const volatile sig_atomic_t *stop,
                      struct torc_bench **out_bench,
                      char error[TORC_BENCH_ERROR_BYTES]) TORC_MUST_USE;

/* Measure, then read back what an HSET run wrote last. 0, also when stopped early; -EBADMSG a wrong
 * reply, else as a road; with a text in `error`. What was measured before stays. */
int torc_bench_run(struct torc_bench *bench, char error[TORC_BENCH_ERROR_BYTES]) TORC_MUST_USE;

/* Remove the hashes that were made. 0, or as a road. */
int torc_bench_clean(struct torc_bench *bench, char error[TORC_BENCH_ERROR_BYTES]) TORC_MUST_USE;

void torc_bench_destroy(struct torc_bench *bench);

/* --- what came out; borrowed from the bench --- */

const struct torc_bench_options *torc_bench_options(const struct torc_bench *bench);
size_t torc_bench_n_roads(const struct torc_bench *bench);
const char *torc_bench_road_name(const struct torc_bench *bench, size_t road);
const struct torc_bench_outcome *torc_bench_outcome(const struct torc_bench *bench, size_t road,
                                                    enum torc_bench_depth depth);
bool torc_bench_is_tsc(const struct torc_bench *bench);     /* the clock in use */
uint64_t torc_bench_rounds(const struct torc_bench *bench); /* whole ones */
uint64_t torc_bench_segment_ns(const struct torc_bench *bench);

/* Second road over first: median latency, and first over second: operations a second. So both say
 * how far the first is ahead. False: fewer than two roads, or no whole round. */
bool torc_bench_ratio_p50(const struct torc_bench *bench, enum torc_bench_depth depth,
                          struct torc_bench_ratio *out_ratio);
bool torc_bench_ratio_ops(const struct torc_bench *bench, enum torc_bench_depth depth,
                          struct torc_bench_ratio *out_ratio);

#endif
