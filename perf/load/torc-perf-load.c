/* SPDX-License-Identifier: Apache-2.0
 *
 * torc-perf-load: one phase of work on one server, as one JSON line. The order of work; options are
 * in load_arguments.c, measuring is in load_run.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf/harness/json_line.h"
#include "perf/harness/pin.h"
#include "perf/load/load_arguments.h"

#define EXIT_USAGE       2
#define REQUESTS_DEFAULT 100000u

static int fail(int status, const char *text)
{
    (void)fprintf(stderr, "torc-perf-load: %s\n", text);
    return status;
}

/* What was asked for. */
static void print_question(struct torc_json_line *line, const struct torc_load_arguments *arguments)
{
    const struct torc_shape *shape = &arguments->shape;
    size_t road_len = strcspn(arguments->address, ":");
    char road[8];
    (void)snprintf(road, sizeof road, "%.*s", (int)road_len, arguments->address);
    torc_json_line_text(line, "op", torc_load_op_name(arguments->spec.op));
    torc_json_line_text(line, "road", road);
    torc_json_line_text(line, "shape", shape->name);
    if (shape->fields != 0) {
        torc_json_line_count(line, "fields", shape->fields);
    } else {
        torc_json_line_null(line, "fields");
    }
    torc_json_line_count(line, "hashes", shape->hashes);
    torc_json_line_count(line, "cells", shape->cells);
    if (shape->value_bytes != 0) {
        torc_json_line_count(line, "value_bytes", shape->value_bytes);
    } else {
        torc_json_line_null(line, "value_bytes");
    }
    torc_json_line_count(line, "window", arguments->run.window);
    torc_json_line_count(line, "seed", arguments->spec.seed);
    torc_json_line_count(line, "salt", arguments->spec.salt);
    torc_json_line_count(line, "first", arguments->run.first);
    torc_json_line_text(line, "wait", arguments->wait_name);
    if (arguments->run.rate > 0) {
        torc_json_line_number(line, "asked_rate", arguments->run.rate, 1);
    } else {
        torc_json_line_null(line, "asked_rate");
    }
}

/* How it went. */
static void print_answer(struct torc_json_line *line, const struct torc_load_arguments *arguments,
                         const struct torc_load_outcome *outcome)
{
    bool is_right = outcome->end == TORC_LOAD_RIGHT;
    double seconds = (double)outcome->ns / 1e9;
    torc_json_line_count(line, "requests", outcome->requests);
    torc_json_line_count(line, "made_ahead", torc_min_u64(outcome->made_ahead, outcome->requests));
    torc_json_line_number(line, "seconds", seconds, 6);
    torc_json_line_number(line, "cpu_seconds", (double)outcome->cpu_ns / 1e9, 6);
    if (is_right && outcome->ns > 0) {
        torc_json_line_number(line, "rate", (double)outcome->requests / seconds, 1);
    } else {
        torc_json_line_null(line, "rate");
    }
    torc_json_line_count(line, "checked", outcome->checked);
    torc_json_line_count(line, "wrong", outcome->wrong);
    torc_json_line_count(line, "errors", outcome->errors);
    torc_json_line_text(line, "first_bad",
                        outcome->first_bad[0] != '\0' ? outcome->first_bad : NULL);
    torc_json_line_text(line, "unit", "ns");
    if (!is_right) {
        return;
    }
    torc_json_line_percentiles(line, &outcome->all);
    if (arguments->spec.op == TORC_LOAD_OP_MIXED) {
        torc_json_line_open(line, "kinds");
        for (unsigned kind = 0; kind < TORC_LOAD_MIXED_KINDS; kind++) {
            torc_json_line_open(line, torc_load_ops_kind_name(kind));
            torc_json_line_count(line, "requests", outcome->kinds[kind].count);
            torc_json_line_percentiles(line, &outcome->kinds[kind]);
            torc_json_line_close(line);
        }
        torc_json_line_close(line);
    }
}

static int print(const struct torc_load_arguments *arguments,
                 const struct torc_load_outcome *outcome)
{
    struct torc_json_line line;
    torc_json_line_begin(&line, stdout);
    print_question(&line, arguments);
    print_answer(&line, arguments, outcome);
    if (torc_json_line_end(&line) != 0) {
        return fail(EXIT_FAILURE, "standard output cannot be written");
    }
    return (int)outcome->end;
}

/* The number of requests, when it was left open, and whether the stream has that many. */
static int settle_requests(struct torc_load_arguments *arguments, const struct torc_load_ops *ops)
{
    struct torc_load_run_options *run = &arguments->run;
    uint64_t limit = torc_load_ops_limit(ops);
    uint64_t taken = run->first + run->warm;
    uint64_t left = limit > taken ? limit - taken : 0;
    bool has_time_limit = run->ns != UINT64_MAX;
    if (run->requests == 0) {
        run->requests = limit == UINT64_MAX || arguments->spec.op == TORC_LOAD_OP_MIXED
                            ? torc_min_u64(REQUESTS_DEFAULT, left)
                            : left;
    } else if (has_time_limit) {
        run->requests = torc_min_u64(run->requests, left);
    }
    if (left == 0 || run->requests > left) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "--op %s has %" PRIu64 " requests with this shape: not %" PRIu64
                       " after %" PRIu64 " that come first",
                       torc_load_op_name(arguments->spec.op), limit, run->requests, taken);
        return fail(EXIT_USAGE, text);
    }
    return 0;
}

/* Connect and run; the exit status. */
static int run_phase(const struct torc_load_arguments *arguments, struct torc_load_ops *ops,
                     struct torc_load_outcome *outcome)
{
    struct torc_clock clock;
    torc_clock_init(&clock);
    struct torc_load_road_options options = {.window = arguments->run.window,
                                             .wait = arguments->wait,
                                             .timeout_ns = arguments->run.timeout_ns,
                                             .clock = &clock};
    struct torc_load_road *road = NULL;
    char error[TORC_LOAD_ERROR_BYTES];
    int rc = torc_load_road_open(arguments->address, &options, &road, error);
    if (rc == -EINVAL) {
        return fail(EXIT_USAGE, error);
    }
    if (rc != 0) {
        (void)snprintf(outcome->first_bad, sizeof outcome->first_bad, "%s", error);
        outcome->end = TORC_LOAD_LOST;
        return print(arguments, outcome);
    }
    rc = torc_load_run(ops, road, &clock, &arguments->run, outcome);
    torc_load_road_close(road);
    return rc == 0 ? print(arguments, outcome) : fail(EXIT_FAILURE, "no memory");
}

int main(int argc, char **argv)
{
    static struct torc_load_outcome outcome; /* 75 KiB */
    struct torc_load_arguments arguments;
    torc_load_arguments_parse(argc, argv, &arguments);
    int status = 0;
    char error[TORC_LOAD_ERROR_BYTES];
    struct torc_load_ops *ops = NULL;
    if (arguments.cpu >= 0 && torc_pin(arguments.cpu, error) != 0) {
        status = fail(EXIT_USAGE, error);
        goto out_shape;
    }
    int rc = torc_load_ops_create(&arguments.spec, &ops, error);
    if (rc != 0) {
        status = fail(rc == -EINVAL ? EXIT_USAGE : EXIT_FAILURE, error);
        goto out_shape;
    }
    status = settle_requests(&arguments, ops);
    if (status == 0) {
        status = run_phase(&arguments, ops, &outcome);
    }
    torc_load_ops_destroy(ops);
out_shape:
    torc_shape_fini(&arguments.shape);
    return status;
}
