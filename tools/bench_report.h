/* SPDX-License-Identifier: Apache-2.0
 *
 * What a benchmark found, for people (a table, histograms side by side) and for programs (a JSON
 * object per line).
 */
#ifndef TORC_TOOLS_BENCH_REPORT_H
#define TORC_TOOLS_BENCH_REPORT_H

#include <stdio.h>

#include "tools/bench_run.h"

/* Percentiles, greatest latency and rate of each road at each depth; with two roads, how far the
 * first is ahead. */
void torc_bench_print_table(FILE *out, const struct torc_bench *bench);

/* Latency of all roads at one depth, side by side: half an octave a line, bars on a log scale so
 * that the tail can be seen. */
void torc_bench_print_histogram(FILE *out, const struct torc_bench *bench,
                                enum torc_bench_depth depth);

/* One object for each road and depth, then one for each comparison:
 *   {"tool","version","compiler","clock","seed","road","op","window","keys","fields","key_bytes",
 *    "field_bytes","value_bytes","rounds","segment_ns","n","ops_per_s","unit":"ns","min","p50","p90",
 *    "p99","p999","max"}
 *   {"tool",...,"compare":"ring/RESP","op","window","rounds","p50_ratio":{"least","median","most"},
 *    "ops_ratio":{...}}
 * False: the file took no more. */
bool torc_bench_print_json(FILE *out, const struct torc_bench *bench) TORC_MUST_USE;

/* "hget" */
const char *torc_bench_op_name(enum torc_road_op op);

#endif
