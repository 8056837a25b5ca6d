/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench_report.h"

#include <inttypes.h>

#include "tools/numbers.h"

#define BAR_CELLS 26

/* Buckets of core/histogram that make one line: half of an octave's 32. */
#define BUCKETS_A_LINE 16u
#define N_LINES        (TORC_HISTOGRAM_BUCKETS / BUCKETS_A_LINE)

static const double percents[] = {50, 90, 99, 99.9, 100};
#define N_PERCENTS (sizeof percents / sizeof percents[0])

const char *torc_bench_op_name(enum torc_road_op op)
{
    switch (op) {
    case TORC_ROAD_PING:
        return "ping";
    case TORC_ROAD_HGET:
        return "hget";
    case TORC_ROAD_HSET:
        return "hset";
    case TORC_ROAD_HMGET:
        return "hmget";
    case TORC_ROAD_DEL:
        return "del";
    case TORC_ROAD_EXISTS:
        break;
    }
    return "exists";
}

static size_t window_of(const struct torc_bench *bench, enum torc_bench_depth depth)
{
    return depth == TORC_BENCH_SINGLE ? 1 : torc_bench_options(bench)->window;
}

static void print_title(FILE *out, const struct torc_bench *bench, enum torc_bench_depth depth)
{
    if (depth == TORC_BENCH_SINGLE) {
        (void)fprintf(out, "%-22s", "one request at a time");
    } else {
        char title[32];
        (void)snprintf(title, sizeof title, "%zu under way", window_of(bench, depth));
        (void)fprintf(out, "%-22s", title);
    }
}

/* "24.1x" */
static struct torc_number times(double ratio)
{
    struct torc_number number;
    (void)snprintf(number.text, sizeof number.text, "%.*fx", ratio < 9.95 ? 2 : 1, ratio);
    return number;
}

static void print_outcome(FILE *out, const char *name, const struct torc_bench_outcome *outcome)
{
    (void)fprintf(out, "  %-20s", name);
    if (outcome->ops == 0) {
        (void)fprintf(out, "nothing measured\n");
        return;
    }
    for (size_t i = 0; i < N_PERCENTS; i++) {
        uint64_t ns = torc_histogram_percentile(&outcome->latency, percents[i]);
        (void)fprintf(out, " %9s", torc_number_ns(ns).text);
    }
    (void)fprintf(out, " %12s\n", torc_number_rate(outcome->ops, outcome->ns).text);
}

static void print_lead(FILE *out, const struct torc_bench_outcome *first,
                       const struct torc_bench_outcome *second)
{
    if (first->ops == 0 || second->ops == 0 || first->ns == 0 || second->ns == 0) {
        return;
    }
    (void)fprintf(out, "  %-20s", "ahead by");
    for (size_t i = 0; i < N_PERCENTS; i++) {
        uint64_t a = torc_histogram_percentile(&first->latency, percents[i]);
        uint64_t b = torc_histogram_percentile(&second->latency, percents[i]);
        (void)fprintf(out, " %9s", a > 0 ? times((double)b / (double)a).text : "-");
    }
    double a = (double)first->ops / (double)first->ns;
    double b = (double)second->ops / (double)second->ns;
    (void)fprintf(out, " %12s\n", b > 0.0 ? times(a / b).text : "-");
}

static void print_ratios(FILE *out, const struct torc_bench *bench, enum torc_bench_depth depth)
{
    struct torc_bench_ratio p50;
    struct torc_bench_ratio ops;
    if (torc_bench_ratio_p50(bench, depth, &p50) && torc_bench_ratio_ops(bench, depth, &ops)) {
        (void)fprintf(out,
                      "  median of %" PRIu64
                      " rounds: p50 %s (%s to %s), operations a second %s (%s to %s)\n",
                      torc_bench_rounds(bench), times(p50.median).text, times(p50.least).text,
                      times(p50.most).text, times(ops.median).text, times(ops.least).text,
                      times(ops.most).text);
    }
}

void torc_bench_print_table(FILE *out, const struct torc_bench *bench)
{
    const struct torc_bench_options *options = torc_bench_options(bench);
    size_t n_roads = torc_bench_n_roads(bench);
    (void)fprintf(out, "%s", torc_bench_op_name(options->op));
    if (options->op != TORC_ROAD_PING) {
        (void)fprintf(out, ", %zu hashes of %zu fields, values of %zu bytes", options->keys,
                      options->fields, options->value_bytes);
    }
    (void)fprintf(out, "; every reply checked\n");
    if (n_roads > 1) {
        (void)fprintf(out, "roads in turn, %.2f s each\n",
                      (double)torc_bench_segment_ns(bench) / 1e9);
    }
    if (!torc_bench_is_tsc(bench)) {
        (void)fprintf(out, "this machine has no steady time-stamp counter: times are the kernel's, "
                           "about 50 ns too long\n");
    }
    for (int d = 0; d < TORC_BENCH_DEPTHS; d++) {
        enum torc_bench_depth depth = (enum torc_bench_depth)d;
        (void)fprintf(out, "\n");
        print_title(out, bench, depth);
        (void)fprintf(out, " %9s %9s %9s %9s %9s %12s\n", "p50", "p90", "p99", "p99.9", "max",
                      "ops/s");
        for (size_t i = 0; i < n_roads; i++) {
            print_outcome(out, torc_bench_road_name(bench, i), torc_bench_outcome(bench, i, depth));
        }
        if (n_roads > 1) {
            print_lead(out, torc_bench_outcome(bench, 0, depth),
                       torc_bench_outcome(bench, 1, depth));
            print_ratios(out, bench, depth);
        }
    }
}

/* --- histograms --- */

static uint64_t line_count(const struct torc_histogram *h, unsigned line)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < BUCKETS_A_LINE; i++) {
        n += h->buckets[line * BUCKETS_A_LINE + i];
    }
    return n;
}

/* Eight times log2(n), n > 0, by the number's own top bits. */
static unsigned log2_eighths(uint64_t n)
{
    unsigned whole = torc_log2_floor(n);
    unsigned eighths = (unsigned)((whole >= 3 ? n >> (whole - 3) : n << (3 - whole)) & 7);
    return whole * 8 + eighths;
}

static void print_bar(FILE *out, uint64_t n, uint64_t most, uint64_t total)
{
    char bar[BAR_CELLS + 1];
    unsigned filled = n == 0 ? 0 : 1 + (BAR_CELLS - 1) * log2_eighths(n) / (log2_eighths(most) + 1);
    for (unsigned i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < filled ? '#' : ' ';
    }
    bar[BAR_CELLS] = '\0';
    if (n == 0) {
        (void)fprintf(out, "  %9s %s", "", bar);
    } else {
        (void)fprintf(out, "  %7.3f %% %s", 100.0 * (double)n / (double)total, bar);
    }
}

void torc_bench_print_histogram(FILE *out, const struct torc_bench *bench,
                                enum torc_bench_depth depth)
{
    size_t n_roads = torc_bench_n_roads(bench);
    unsigned first = N_LINES;
    unsigned last = 0;
    uint64_t most[TORC_BENCH_ROADS_MAX] = {0};
    for (size_t i = 0; i < n_roads; i++) {
        const struct torc_histogram *h = &torc_bench_outcome(bench, i, depth)->latency;
        for (unsigned line = 0; line < N_LINES; line++) {
            uint64_t n = line_count(h, line);
            if (n > 0) {
                first = line < first ? line : first;
                last = line > last ? line : last;
                most[i] = n > most[i] ? n : most[i];
            }
        }
    }
    print_title(out, bench, depth);
    (void)fprintf(out, "(latency from; share of requests; bars on a log scale)\n%10s", "");
    for (size_t i = 0; i < n_roads; i++) {
        (void)fprintf(out, "  %9s %-*s", "", BAR_CELLS, torc_bench_road_name(bench, i));
    }
    (void)fprintf(out, "\n");
    for (unsigned line = first; line <= last; line++) {
        uint64_t low = torc_histogram_bucket_low(line * BUCKETS_A_LINE);
        (void)fprintf(out, "%10s", torc_number_ns(low).text);
        for (size_t i = 0; i < n_roads; i++) {
            const struct torc_histogram *h = &torc_bench_outcome(bench, i, depth)->latency;
            print_bar(out, line_count(h, line), most[i], h->count);
        }
        (void)fprintf(out, "\n");
    }
}

/* --- JSON --- */

static void print_json_head(FILE *out, const struct torc_bench *bench, enum torc_bench_depth depth)
{
    const struct torc_bench_options *options = torc_bench_options(bench);
    (void)fprintf(out,
                  "{\"tool\":\"torc-bench\",\"version\":\"%s\",\"compiler\":\"%s\","
                  "\"clock\":\"%s\",\"seed\":%" PRIu64 ",\"op\":\"%s\",\"window\":%zu,"
                  "\"rounds\":%" PRIu64 ",\"segment_ns\":%" PRIu64,
                  TORC_VERSION, __VERSION__, torc_bench_is_tsc(bench) ? "tsc" : "monotonic_raw",
                  options->seed, torc_bench_op_name(options->op), window_of(bench, depth),
                  torc_bench_rounds(bench), torc_bench_segment_ns(bench));
    if (options->op != TORC_ROAD_PING) {
        (void)fprintf(out,
                      ",\"keys\":%zu,\"fields\":%zu,\"key_bytes\":%zu,\"field_bytes\":%zu,"
                      "\"value_bytes\":%zu",
                      options->keys, options->fields, options->key_bytes, options->field_bytes,
                      options->value_bytes);
    }
}

static void print_json_outcome(FILE *out, const struct torc_bench *bench, size_t road,
                               enum torc_bench_depth depth)
{
    const struct torc_bench_outcome *outcome = torc_bench_outcome(bench, road, depth);
    const struct torc_histogram *h = &outcome->latency;
    double rate = outcome->ns > 0 ? (double)outcome->ops * 1e9 / (double)outcome->ns : 0.0;
    print_json_head(out, bench, depth);
    (void)fprintf(out,
                  ",\"road\":\"%s\",\"n\":%" PRIu64 ",\"ops_per_s\":%.1f,\"unit\":\"ns\","
                  "\"min\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64
                  ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64 "}\n",
                  torc_bench_road_name(bench, road), outcome->ops, rate, h->count > 0 ? h->min : 0,
                  torc_histogram_percentile(h, 50), torc_histogram_percentile(h, 90),
                  torc_histogram_percentile(h, 99), torc_histogram_percentile(h, 99.9), h->max);
}

static void print_json_ratio(FILE *out, const char *name, const struct torc_bench_ratio *ratio)
{
    (void)fprintf(out, ",\"%s\":{\"least\":%.4f,\"median\":%.4f,\"most\":%.4f}", name, ratio->least,
                  ratio->median, ratio->most);
}

bool torc_bench_print_json(FILE *out, const struct torc_bench *bench)
{
    for (int d = 0; d < TORC_BENCH_DEPTHS; d++) {
        enum torc_bench_depth depth = (enum torc_bench_depth)d;
        for (size_t i = 0; i < torc_bench_n_roads(bench); i++) {
            print_json_outcome(out, bench, i, depth);
        }
        struct torc_bench_ratio p50;
        struct torc_bench_ratio ops;
        if (torc_bench_ratio_p50(bench, depth, &p50) && torc_bench_ratio_ops(bench, depth, &ops)) {
            print_json_head(out, bench, depth);
            (void)fprintf(out, ",\"compare\":\"%s/%s\"", torc_bench_road_name(bench, 0),
                          torc_bench_road_name(bench, 1));
            print_json_ratio(out, "p50_ratio", &p50);
            print_json_ratio(out, "ops_ratio", &ops);
            (void)fprintf(out, "}\n");
        }
    }
    return fflush(out) == 0 && ferror(out) == 0;
}
