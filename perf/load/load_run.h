/* SPDX-License-Identifier: Apache-2.0
 *
 * Running one phase: requests of an operation over a road, warm-up, the timed part, and the winding
 * up of an operation in blocks.
 *
 * Closed loop: `window` requests are under way; a reply lets the next one go. Latency is from the
 * moment the request left, for a batch that leaves by one write from before that write, to the
 * moment its reply was read. Open loop: request i is due at i / rate; latency is from then on, so
 * that what waits because the server stalls, or because the window is full, counts as waiting.
 */
#ifndef TORC_PERF_LOAD_RUN_H
#define TORC_PERF_LOAD_RUN_H

#include "core/histogram.h"
#include "perf/load/load_ops.h"

struct torc_load_run_options {
    size_t window;     /* 1 to TORC_LOAD_WINDOW_MAX */
    uint64_t first;    /* number of the first request in the stream */
    uint64_t warm;     /* requests that are not timed, before the others */
    uint64_t requests; /* timed; UINT64_MAX: as many as there is time for */
    uint64_t ns;       /* the timed part sends no longer than this; UINT64_MAX: no limit */
    double rate;       /* requests per second; 0: closed loop */
    bool yields;       /* open loop: give the core away between looks */
    uint64_t timeout_ns;
};

enum torc_load_end {
    TORC_LOAD_RIGHT = 0,
    TORC_LOAD_WRONG = 3,   /* a reply was wrong, or no reply at all */
    TORC_LOAD_REFUSED = 4, /* the server, or its client library, answered an error */
    TORC_LOAD_LOST = 5     /* the connection ended, or no reply came in time */
};

struct torc_load_outcome {
    enum torc_load_end end;
    uint64_t requests;   /* timed, with a reply */
    uint64_t made_ahead; /* timed requests that were made before the clock ran */
    uint64_t checked;    /* replies looked at, timed or not */
    uint64_t wrong;
    uint64_t errors;
    uint64_t ns;                          /* from the first timed request to the last timed reply */
    uint64_t cpu_ns;                      /* of this process, meanwhile */
    char first_bad[TORC_LOAD_TEXT_BYTES]; /* "" if nothing was */
    struct torc_histogram all;            /* ns */
    struct torc_histogram kinds[TORC_LOAD_MIXED_KINDS];
};

/* Run it. Wrong replies are counted and the run goes on; the first error reply and anything that
 * breaks the road end it. 0, *out_outcome tells how it went; -ENOMEM then nothing was done. */
int torc_load_run(struct torc_load_ops *ops, struct torc_load_road *road,
                  const struct torc_clock *clock, const struct torc_load_run_options *options,
                  struct torc_load_outcome *out_outcome) TORC_MUST_USE;

#endif
