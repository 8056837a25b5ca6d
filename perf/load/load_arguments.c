/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/load_arguments.h"

#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/placement.h"
#include "tools/numbers.h"

#define EXIT_USAGE 2

/* Read by argp inside libc. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "torc-perf-load " TORC_VERSION;

static const char doc[] =
    "Runs one operation against one server and prints one JSON line: how fast it was, how long "
    "requests took, and whether every reply was right."
    "\v"
    "Every reply is parsed and checked while the clock runs. Values certify themselves, so a reply "
    "that is cut, damaged or belongs to another field is found whoever wrote it.\n"
    "\n"
    "Without --rate, --window requests are under way all the time (closed loop). With --rate, "
    "requests are due at fixed times whether or not earlier ones were answered, and latency counts "
    "from when a request was due (open loop).\n"
    "\n"
    "A phase is a function of --shape, --seed and --salt. What changes the data (insert, delete, "
    "grow, load) is gone on with in a later invocation by --first; mixed starts from data as "
    "loaded. hset-width and hdel-hset change up to 1,024 fields, one request each, then put these "
    "back, at the end untimed if need be. Without --salt each invocation draws one, so that writes "
    "of two rounds differ; it is printed.\n"
    "\n"
    "Exit status: 0; 2 usage; 3 a wrong reply; 4 the server answered an error; 5 the connection "
    "was refused or lost, or no reply came in time. With 3, 4 and 5 the line has \"rate\":null and "
    "no latencies, and \"first_bad\" says what was wrong.\n";

enum {
    OPTION_CONNECT = 1000,
    OPTION_CPU,
    OPTION_SHAPE,
    OPTION_FIELDS,
    OPTION_HASHES,
    OPTION_VALUE_BYTES,
    OPTION_VALUE_BYTES2,
    OPTION_OP,
    OPTION_WINDOW,
    OPTION_REQUESTS,
    OPTION_SECONDS,
    OPTION_FIRST,
    OPTION_TTL,
    OPTION_SEED,
    OPTION_SALT,
    OPTION_RATE,
    OPTION_WARM,
    OPTION_ASK,
    OPTION_FIELD_INDEX,
    OPTION_WAIT,
    OPTION_TIMEOUT
};

static const struct argp_option options[] = {
    {.doc = "Server"},
    {"connect", OPTION_CONNECT, "ADDRESS", 0,
     "ring:/path of a control socket, unix:/path or tcp:host:port", 0},
    {"wait", OPTION_WAIT, "HOW", 0,
     "for replies: busy, adaptive (a socket sleeps in recv) or yield. Default: busy on a ring with "
     "two CPUs or more, else adaptive",
     0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "longest time without a reply (default 10)", 0},
    {"cpu", OPTION_CPU, "N", 0, "pin this program to CPU N", 0},
    {.doc = "Data"},
    {"shape", OPTION_SHAPE, "NAME", 0,
     "small5, small14 (default), million, wide or feast: lengths of keys, fields and values", 0},
    {"fields", OPTION_FIELDS, "N", 0, "of each hash (default: the shape's)", 0},
    {"hashes", OPTION_HASHES, "N", 0, "default: the shape's", 0},
    {"value-bytes", OPTION_VALUE_BYTES, "N", 0, "length of values (default: the shape's)", 0},
    {"value-bytes2", OPTION_VALUE_BYTES2, "N", 0,
     "the other length, of hset-width, grow and mixed (default 64, wide 100)", 0},
    {"ttl", OPTION_TTL, "MS", 0,
     "how long fields live, of operations that set times (default 1000000)", 0},
    {"seed", OPTION_SEED, "N", 0, "of every random choice (default 1)", 0},
    {"salt", OPTION_SALT, "N", 0, "of the values written; of those verified", 0},
    {.doc = "Work"},
    {"op", OPTION_OP, "NAME", 0, "the operation, see below (default hget)", 0},
    {"window", OPTION_WINDOW, "N", 0, "requests under way (default 1)", 0},
    {"requests", OPTION_REQUESTS, "N", 0,
     "timed requests (default: one pass for what has an end; else 100,000)", 0},
    {"seconds", OPTION_SECONDS, "S", 0, "or: as many as are sent in S seconds, such as 0.5", 0},
    {"warm", OPTION_WARM, "N", 0, "requests before them that are not timed (default 0)", 0},
    {"first", OPTION_FIRST, "N", 0, "number of the first request in the stream (default 0)", 0},
    {"rate", OPTION_RATE, "R", 0, "open loop: R requests a second", 0},
    {"ask", OPTION_ASK, "N", 0, "fields of an hmget (default 94 for wide, else 10)", 0},
    {"field-index", OPTION_FIELD_INDEX, "WHICH", 0,
     "field of each request: a number, first, middle, last or random (default)", 0},
    {0},
};

/* What was given, before it is put together. */
struct given {
    struct torc_load_arguments *out;
    const char *shape;
    uint64_t fields;
    uint64_t hashes;
    uint64_t value_bytes;
    bool has_requests;
    bool has_seconds;
    bool has_salt;
    bool has_wait;
};

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

/* A number above 0 and up to `max`, perhaps with a fraction. */
static double parse_real(const struct argp_state *state, const char *name, const char *text,
                         double max)
{
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || number <= 0 || number > max) {
        argp_error(state, "--%s: '%s' is not a number above 0 and up to %.0f", name, text, max);
    }
    return number;
}

static void parse_wait(struct given *given, const struct argp_state *state, const char *text)
{
    static const char *const names[] = {
        [TORC_LOAD_BUSY] = "busy", [TORC_LOAD_ADAPTIVE] = "adaptive", [TORC_LOAD_YIELD] = "yield"};
    for (unsigned wait = TORC_LOAD_BUSY; wait <= TORC_LOAD_YIELD; wait++) {
        if (strcmp(names[wait], text) == 0) {
            given->out->wait = (enum torc_load_wait)wait;
            given->out->wait_name = names[wait];
            given->has_wait = true;
            return;
        }
    }
    argp_error(state, "--wait: '%s' is none of: busy, adaptive, yield", text);
}

static void parse_field_index(struct torc_load_spec *spec, const struct argp_state *state,
                              const char *text)
{
    static const char *const names[] = {[TORC_LOAD_RANDOM] = "random",
                                        [TORC_LOAD_FIRST] = "first",
                                        [TORC_LOAD_MIDDLE] = "middle",
                                        [TORC_LOAD_LAST] = "last"};
    for (unsigned choice = TORC_LOAD_RANDOM; choice <= TORC_LOAD_LAST; choice++) {
        if (strcmp(names[choice], text) == 0) {
            spec->choice = (enum torc_load_choice)choice;
            return;
        }
    }
    uint64_t index = 0;
    if (!torc_number_parse(text, 0, UINT32_MAX, &index)) {
        argp_error(state, "--field-index: '%s' is neither first, middle, last, random nor a number",
                   text);
    }
    spec->choice = TORC_LOAD_INDEX;
    spec->field_index = (uint32_t)index;
}

/* Options that are not plain numbers. */
static error_t parse_word_option(int key, const char *arg, const struct argp_state *state)
{
    struct given *given = state->input;
    switch (key) {
    case OPTION_CONNECT:
        given->out->address = arg;
        return 0;
    case OPTION_SHAPE:
        given->shape = arg;
        return 0;
    case OPTION_OP:
        if (torc_load_op_find(arg, &given->out->spec.op) != 0) {
            argp_error(state, "--op: there is no '%s'; see --help", arg);
        }
        return 0;
    case OPTION_WAIT:
        parse_wait(given, state, arg);
        return 0;
    case OPTION_FIELD_INDEX:
        parse_field_index(&given->out->spec, state, arg);
        return 0;
    case OPTION_SECONDS:
        given->out->run.ns = (uint64_t)(parse_real(state, "seconds", arg, 86400) * 1e9);
        given->has_seconds = true;
        return 0;
    case OPTION_TIMEOUT:
        given->out->run.timeout_ns = (uint64_t)(parse_real(state, "timeout", arg, 3600) * 1e9);
        return 0;
    case OPTION_RATE:
        given->out->run.rate = parse_real(state, "rate", arg, 1e9);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_number_option(int key, const char *arg, const struct argp_state *state)
{
    struct given *given = state->input;
    struct torc_load_arguments *out = given->out;
    switch (key) {
    case OPTION_CPU:
        out->cpu = (int)parse_count(state, "cpu", arg, 0, TORC_CPUS_MAX - 1);
        return 0;
    case OPTION_FIELDS:
        given->fields = parse_count(state, "fields", arg, 1, TORC_SHAPE_CELLS_MAX);
        return 0;
    case OPTION_HASHES:
        given->hashes = parse_count(state, "hashes", arg, 1, TORC_SHAPE_CELLS_MAX);
        return 0;
    case OPTION_VALUE_BYTES:
        given->value_bytes = parse_count(state, "value-bytes", arg, 1, TORC_SHAPE_VALUE_BYTES_MAX);
        return 0;
    case OPTION_VALUE_BYTES2:
        out->spec.value_bytes2 =
            (uint32_t)parse_count(state, "value-bytes2", arg, 1, TORC_SHAPE_VALUE_BYTES_MAX);
        return 0;
    case OPTION_TTL:
        out->spec.ttl_ms = parse_count(state, "ttl", arg, 1, UINT32_MAX);
        return 0;
    case OPTION_SEED:
        out->spec.seed = parse_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case OPTION_SALT:
        out->spec.salt = parse_count(state, "salt", arg, 0, UINT64_MAX);
        given->has_salt = true;
        return 0;
    case OPTION_WINDOW:
        out->run.window = (size_t)parse_count(state, "window", arg, 1, TORC_LOAD_WINDOW_MAX);
        return 0;
    case OPTION_REQUESTS:
        out->run.requests = parse_count(state, "requests", arg, 1, UINT32_MAX);
        given->has_requests = true;
        return 0;
    case OPTION_WARM:
        out->run.warm = parse_count(state, "warm", arg, 0, UINT32_MAX);
        return 0;
    case OPTION_FIRST:
        out->run.first = parse_count(state, "first", arg, 0, UINT32_MAX);
        return 0;
    case OPTION_ASK:
        out->spec.ask = (uint32_t)parse_count(state, "ask", arg, 1, TORC_LOAD_ASK_MAX);
        return 0;
    default:
        return parse_word_option(key, arg, state);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    const struct given *given = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is no option", arg);
        return 0;
    case ARGP_KEY_END:
        if (given->out->address == NULL) {
            argp_error(state, "--connect is missing");
        }
        if (given->has_requests && given->has_seconds) {
            argp_error(state, "--requests and --seconds: one of them only");
        }
        return 0;
    default:
        return parse_number_option(key, arg, state);
    }
}

/* The list of operations, behind the rest of --help. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA) {
        union {
            const char *in;
            char *out;
        } same = {text}; /* argp takes its own text back as not const */
        return same.out;
    }
    char *list = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&list, &len);
    if (out == NULL) {
        return NULL;
    }
    (void)fprintf(out, "Operations:\n");
    for (unsigned op = 0; op < TORC_LOAD_OPS; op++) {
        (void)fprintf(out, "  %-15s %s\n", torc_load_op_name((enum torc_load_op)op),
                      torc_load_op_about((enum torc_load_op)op));
    }
    return fclose(out) == 0 ? list : NULL;
}

static _Noreturn void refuse(const char *text)
{
    (void)fprintf(stderr, "torc-perf-load: %s\n", text);
    exit(EXIT_USAGE);
}

void torc_load_arguments_parse(int argc, char **argv, struct torc_load_arguments *out)
{
    static const struct argp argp = {options, parse_option, NULL, doc, NULL, filter_help, NULL};
    *out = (struct torc_load_arguments){
        .spec = {.op = TORC_LOAD_OP_HGET, .seed = 1},
        .run = {.window = 1, .requests = UINT64_MAX, .ns = UINT64_MAX, .timeout_ns = 10000000000u},
        .cpu = -1,
    };
    struct given given = {.out = out, .shape = "small14"};
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &given) != 0) {
        exit(EXIT_USAGE);
    }
    char error[TORC_SHAPE_ERROR_BYTES];
    if (torc_shape_init(&out->shape, given.shape, given.fields, given.hashes, given.value_bytes,
                        error) != 0) {
        refuse(error);
    }
    out->spec.shape = &out->shape;
    out->spec.verifies_salt = given.has_salt && out->spec.op == TORC_LOAD_OP_VERIFY;
    if (!given.has_salt) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        out->spec.salt = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >> 10;
    }
    if (!given.has_wait) {
        /* Asked before --cpu pins: who was given one CPU most likely shares it with the server. */
        bool is_busy = strncmp(out->address, "ring:", 5) == 0 && torc_placement_cpus_allowed() > 1;
        out->wait = is_busy ? TORC_LOAD_BUSY : TORC_LOAD_ADAPTIVE;
        out->wait_name = is_busy ? "busy" : "adaptive";
    }
    out->run.yields = out->wait != TORC_LOAD_BUSY;
    if (!given.has_requests && !given.has_seconds) {
        out->run.requests = 0;
    }
}
