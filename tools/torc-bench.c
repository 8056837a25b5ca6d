/* SPDX-License-Identifier: Apache-2.0
 *
 * torc-bench: latency and throughput of a ring beside RESP. Options and the order of work;
 * measuring is in bench_run.c.
 */
#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/placement.h"
#include "tools/bench_report.h"
#include "tools/bench_run.h"
#include "tools/numbers.h"

#define TIMEOUT_NS      5000000000ull
#define VALUE_BYTES_MAX 16777216u

/* Read by argp inside libc. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "torc-bench " TORC_VERSION;

static const char doc[] =
    "Measures a torc server: one request at a time, and with a window of requests under way; over "
    "the ring, over RESP, or both in turn, in rounds of at most half a second."
    "\v"
    "With --wait=busy both clients poll: the ring's spins on its slot, and RESP's spins on "
    "non-blocking reads of its socket, so that neither pays for a wake-up by the kernel and the "
    "two can be compared. Use two free cores, one for the server and one for this program "
    "(--cpu).\n"
    "\n"
    "On a core shared with the server a client that spins keeps the server from answering until "
    "its time slice ends. --wait=adaptive gives the core away and then sleeps until there is a "
    "reply, --wait=yield gives it away between looks. The default is adaptive when this program "
    "was started on one CPU only, else busy.\n"
    "\n"
    "Without -c and --resp the ring of the usual control socket is measured. Every reply is "
    "checked; "
    "updates write another value each time, and all of them are read back at the end. The hashes "
    "are "
    "made at the start and removed at the end. With two roads the last line of a table has the "
    "median "
    "of the rounds' ratios, and their spread. Ctrl-C ends early with what was measured.";

enum {
    OPTION_RESP = 1000,
    OPTION_SECONDS,
    OPTION_OP,
    OPTION_KEYS,
    OPTION_FIELDS,
    OPTION_KEY_BYTES,
    OPTION_FIELD_BYTES,
    OPTION_VALUE_BYTES,
    OPTION_KEY_PREFIX,
    OPTION_WINDOW,
    OPTION_CPU,
    OPTION_WAIT,
    OPTION_JSON,
    OPTION_HISTOGRAM,
    OPTION_SEED
};

static const struct argp_option argp_options[] = {
    {.doc = "Server"},
    {"control-socket", 'c', "PATH", 0, "measure the ring of this control socket", 0},
    {"resp", OPTION_RESP, "ADDRESS", 0, "measure RESP: unix:/path, host:port or port", 0},
    {.doc = "Work"},
    {"op", OPTION_OP, "OP", 0, "ping, hget or hset (default hget)", 0},
    {"seconds", OPTION_SECONDS, "N", 0, "measure for N seconds, all roads together (default 5)", 0},
    {"window", OPTION_WINDOW, "N", 0, "requests under way when pipelined (default 16)", 0},
    {"keys", OPTION_KEYS, "N", 0, "hashes (default 100)", 0},
    {"fields", OPTION_FIELDS, "N", 0, "fields of each (default 32)", 0},
    {"key-bytes", OPTION_KEY_BYTES, "N", 0, "length of key names (default 14)", 0},
    {"field-bytes", OPTION_FIELD_BYTES, "N", 0, "length of field names (default 14)", 0},
    {"value-bytes", OPTION_VALUE_BYTES, "N", 0, "length of values (default 16)", 0},
    {"key-prefix", OPTION_KEY_PREFIX, "TEXT", 0,
     "how the names of the hashes start (default 'bench'); no such hash may exist", 0},
    {"seed", OPTION_SEED, "N", 0, "of the random choice of fields (default 1)", 0},
    {"cpu", OPTION_CPU, "N", 0, "pin this program to CPU N", 0},
    {"wait", OPTION_WAIT, "HOW", 0,
     "for replies: busy, adaptive or yield (default busy; adaptive with one CPU)", 0},
    {.doc = "Output"},
    {"histogram", OPTION_HISTOGRAM, NULL, 0, "draw the latencies too", 0},
    {"json", OPTION_JSON, "FILE", 0, "append one JSON object per line to FILE", 0},
    {0},
};

static const char *const wait_names[] = {
    [TORC_ROAD_ADAPTIVE] = "adaptive",
    [TORC_ROAD_BUSY] = "busy",
    [TORC_ROAD_YIELD] = "yield",
};

struct arguments {
    struct torc_bench_options bench;
    const char *socket;
    const char *resp;
    const char *json;
    int cpu; /* -1: not pinned */
    enum torc_road_wait wait;
    bool histogram;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static uint64_t parse_count(const struct argp_state *state, const char *name, const char *text,
                            uint64_t min, uint64_t max)
{
    uint64_t n = 0;
    if (!torc_number_parse(text, min, max, &n)) {
        argp_error(state, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, name, text,
                   min, max);
    }
    return n;
}

static enum torc_road_op parse_op(const struct argp_state *state, const char *text)
{
    static const enum torc_road_op ops[] = {TORC_ROAD_PING, TORC_ROAD_HGET, TORC_ROAD_HSET};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(text, torc_bench_op_name(ops[i])) == 0) {
            return ops[i];
        }
    }
    argp_error(state, "--op: '%s' is none of: ping, hget, hset", text);
    return TORC_ROAD_PING;
}

static enum torc_road_wait parse_wait(const struct argp_state *state, const char *text)
{
    for (int wait = TORC_ROAD_ADAPTIVE; wait <= TORC_ROAD_YIELD; wait++) {
        if (strcmp(text, wait_names[wait]) == 0) {
            return (enum torc_road_wait)wait;
        }
    }
    argp_error(state, "--wait: '%s' is none of: busy, adaptive, yield", text);
    return TORC_ROAD_BUSY;
}

/* Options that set a number; 0 if `key` is one of them. */
static error_t parse_number_option(int key, const char *arg, const struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct torc_bench_options *bench = &arguments->bench;
    switch (key) {
    case OPTION_SECONDS:
        bench->ns = parse_count(state, "seconds", arg, 1, 86400) * 1000000000u;
        return 0;
    case OPTION_WINDOW:
        bench->window = (size_t)parse_count(state, "window", arg, 1, TORC_BENCH_WINDOW_MAX);
        return 0;
    case OPTION_KEYS:
        bench->keys = (size_t)parse_count(state, "keys", arg, 1, TORC_BENCH_CELLS_MAX);
        return 0;
    case OPTION_FIELDS:
        bench->fields = (size_t)parse_count(state, "fields", arg, 1, TORC_BENCH_CELLS_MAX);
        return 0;
    case OPTION_KEY_BYTES:
        bench->key_bytes = (size_t)parse_count(state, "key-bytes", arg, 1, 32768);
        return 0;
    case OPTION_FIELD_BYTES:
        bench->field_bytes = (size_t)parse_count(state, "field-bytes", arg, 1, 32768);
        return 0;
    case OPTION_VALUE_BYTES:
        bench->value_bytes = (size_t)parse_count(state, "value-bytes", arg, 1, VALUE_BYTES_MAX);
        return 0;
    case OPTION_SEED:
        bench->seed = parse_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case OPTION_CPU:
        arguments->cpu = (int)parse_count(state, "cpu", arg, 0, TORC_CPUS_MAX - 1);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->socket = arg;
        return 0;
    case OPTION_RESP:
        arguments->resp = arg;
        return 0;
    case OPTION_OP:
        arguments->bench.op = parse_op(state, arg);
        return 0;
    case OPTION_KEY_PREFIX:
        arguments->bench.key_prefix = arg;
        return 0;
    case OPTION_WAIT:
        arguments->wait = parse_wait(state, arg);
        return 0;
    case OPTION_JSON:
        arguments->json = arg;
        return 0;
    case OPTION_HISTOGRAM:
        arguments->histogram = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is no option", arg);
        return 0;
    default:
        return parse_number_option(key, arg, state);
    }
}

static int fail(const char *text)
{
    (void)fprintf(stderr, "torc-bench: %s\n", text);
    return -1;
}

/* Open the roads asked for: the ring first. Their number, or -1 with a message. */
static int open_roads(const struct arguments *arguments,
                      struct torc_road *roads[TORC_BENCH_ROADS_MAX])
{
    struct torc_road_options options = {
        .window = arguments->bench.window,
        .wait = arguments->wait,
        .timeout_ns = TIMEOUT_NS,
        .name = "torc-bench",
    };
    char error[TORC_ROAD_ERROR_BYTES];
    int n = 0;
    if (arguments->socket != NULL || arguments->resp == NULL) {
        if (torc_road_open_ring(arguments->socket, &options, &roads[n], error) != 0) {
            return fail(error);
        }
        n++;
    }
    if (arguments->resp != NULL) {
        if (torc_road_open_resp(arguments->resp, &options, &roads[n], error) != 0) {
            return fail(error);
        }
        n++;
    }
    return n;
}

static int fail_file(const char *path)
{
    (void)fprintf(stderr, "torc-bench: %s: %s\n", path, strerror(errno));
    return -1;
}

/* `json` may be NULL: not asked for. 0, or -1 with a message. */
static int report(const struct arguments *arguments, const struct torc_bench *bench, FILE *json)
{
    printf("waiting for replies: %s\n", wait_names[arguments->wait]);
    torc_bench_print_table(stdout, bench);
    if (arguments->histogram) {
        for (int depth = 0; depth < TORC_BENCH_DEPTHS; depth++) {
            printf("\n");
            torc_bench_print_histogram(stdout, bench, (enum torc_bench_depth)depth);
        }
    }
    (void)fflush(stdout);
    if (json != NULL && !torc_bench_print_json(json, bench)) {
        return fail_file(arguments->json);
    }
    return 0;
}

/* 0, or -1 with a message. */
static int measure(const struct arguments *arguments, struct torc_road *const *roads,
                   size_t n_roads, FILE *json)
{
    struct torc_bench *bench = NULL;
    char error[TORC_BENCH_ERROR_BYTES];
    if (torc_bench_create(&arguments->bench, roads, n_roads, &interrupted, &bench, error) != 0) {
        return fail(error);
    }
    int rc = torc_bench_run(bench, error);
    if (rc == 0) {
        rc = report(arguments, bench, json);
    } else {
        rc = fail(error);
    }
    if (torc_bench_clean(bench, error) != 0 && rc == 0) {
        rc = fail(error);
    }
    torc_bench_destroy(bench);
    return rc;
}

/* Open the roads, measure, close them. 0, or -1 with a message. */
static int measure_roads(const struct arguments *arguments, FILE *json)
{
    struct torc_road *roads[TORC_BENCH_ROADS_MAX] = {NULL};
    int n_roads = open_roads(arguments, roads);
    int rc = n_roads < 0 ? -1 : measure(arguments, roads, (size_t)n_roads, json);
    for (size_t i = 0; i < TORC_BENCH_ROADS_MAX; i++) {
        torc_road_close(roads[i]);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {
        .bench = {.op = TORC_ROAD_HGET,
                  .key_prefix = "bench",
                  .keys = 100,
                  .fields = 32,
                  .key_bytes = 14,
                  .field_bytes = 14,
                  .value_bytes = 16,
                  .window = 16,
                  .ns = 5000000000u,
                  .seed = 1},
        .cpu = -1,
        /* Asked before --cpu pins: who was given one CPU most likely shares it with the server. */
        .wait = torc_placement_cpus_allowed() == 1 ? TORC_ROAD_ADAPTIVE : TORC_ROAD_BUSY,
    };
    static const struct argp argp = {argp_options, parse_option, NULL, doc, NULL, NULL, NULL};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
        return EXIT_FAILURE;
    }
    if (arguments.cpu >= 0 && torc_placement_pin_self(arguments.cpu) != 0) {
        (void)fprintf(stderr, "torc-bench: CPU %d is not there, or not allowed\n", arguments.cpu);
        return EXIT_FAILURE;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);

    /* First of all: a path that is no good should not cost a measurement. */
    FILE *json = NULL;
    if (arguments.json != NULL && (json = fopen(arguments.json, "ae")) == NULL) {
        (void)fail_file(arguments.json);
        return EXIT_FAILURE;
    }
    int rc = measure_roads(&arguments, json);
    if (json != NULL && fclose(json) != 0 && rc == 0) {
        rc = fail_file(arguments.json);
    }
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
