/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench_data.h"

#define SEGMENT_NS_MAX 500000000ull /* the machine's speed may change: keep turns short */
#define SEGMENT_NS_MIN 10000000ull
#define ROUNDS_WANTED  9u /* at least, if there is time */
#define WARM_UP_NS     100000000ull
#define LEAD_IN_NS     2000000ull /* of each segment, not recorded */
#define PAIRS_A_CALL   512u       /* when hashes are made */

/* A request under way. */
struct flight {
    size_t cell;
    uint64_t ticks;
};

/* One road, what it works on, and what it did. */
struct side {
    struct torc_road *road;
    struct torc_bench_data data;
    size_t n_made; /* hashes on the server that are ours, the last one maybe in part */
    struct torc_bench_outcome outcomes[TORC_BENCH_DEPTHS];
};

/* Figures of one round, by road. */
struct round {
    uint64_t p50_ns[TORC_BENCH_ROADS_MAX];
    double ops_per_ns[TORC_BENCH_ROADS_MAX];
};

struct torc_bench {
    struct torc_bench_options options;
    struct torc_clock clock;
    const volatile sig_atomic_t *stop;
    struct side sides[TORC_BENCH_ROADS_MAX];
    size_t n_sides;
    uint64_t segment_ns;
    size_t rounds_planned;
    size_t n_rounds;
    struct round *rounds[TORC_BENCH_DEPTHS];
    struct flight *flights;
    struct torc_bench_outcome segment; /* the one running */
};

static int fail(char *error, int code, const char *format, ...) TORC_PRINTF(3, 4);

static int fail(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, TORC_BENCH_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

static int fail_road(char *error, int code, const struct side *side)
{
    const char *why = torc_road_error(side->road);
    return fail(error, code, "%s: %s", side->road->name, why[0] != '\0' ? why : strerror(-code));
}

static bool stopped(const struct torc_bench *bench)
{
    return bench->stop != NULL && *bench->stop != 0;
}

/* --- requests and their replies --- */

/* The request for a cell; `words` is the caller's and is used by it. */
static struct torc_road_request request_for(const struct torc_bench *bench, struct side *side,
                                            enum torc_road_op op, size_t cell,
                                            struct torc_bytes words[2])
{
    const struct torc_bench_data *data = &side->data;
    words[0] = torc_bench_data_field(data, cell % bench->options.fields);
    words[1] = torc_bench_data_value(data, cell);
    return (struct torc_road_request){
        .op = op,
        .key = torc_bench_data_key(data, cell / bench->options.fields),
        .words = words,
        .n_words = op == TORC_ROAD_HSET   ? 2
                   : op == TORC_ROAD_HGET ? 1
                                          : 0,
    };
}

/* Whether a reply is the one the request must have. */
static int check_reply(const struct side *side, enum torc_road_op op, size_t cell,
                       const struct torc_road_reply *reply, char *error)
{
    struct torc_bytes value = torc_bench_data_value(&side->data, cell);
    bool good = false;
    switch (op) {
    case TORC_ROAD_PING:
        good = reply->kind == TORC_ROAD_STATUS;
        break;
    case TORC_ROAD_HGET:
        good = reply->kind == TORC_ROAD_STRING && reply->text.len == value.len &&
               memcmp(reply->text.data, value.data, value.len) == 0;
        break;
    case TORC_ROAD_HSET:
        good = reply->kind == TORC_ROAD_INTEGER && reply->integer == 0;
        break;
    case TORC_ROAD_HMGET:
    case TORC_ROAD_DEL:
    case TORC_ROAD_EXISTS:
        break;
    }
    if (good) {
        return 0;
    }
    if (reply->kind == TORC_ROAD_ERROR) {
        return fail(error, -EBADMSG, "%s: the server says: %.*s", side->road->name,
                    (int)torc_min_u64(reply->text.len, 200), (const char *)reply->text.data);
    }
    return fail(error, -EBADMSG, "%s: wrong reply for field %zu of hash %zu", side->road->name,
                cell % side->data.n_fields, cell / side->data.n_fields);
}

/* The next cell to work on; an update gets its new value here, outside of what is timed. */
static size_t next_cell(const struct torc_bench *bench, struct side *side)
{
    size_t cell = torc_bench_data_pick(&side->data);
    if (bench->options.op == TORC_ROAD_HSET) {
        torc_bench_data_update(&side->data, cell);
    }
    return cell;
}

/* --- segments --- */

struct span {
    uint64_t record_from; /* ticks */
    uint64_t end;
};

static struct span start_span(const struct torc_bench *bench, uint64_t ns)
{
    uint64_t now = torc_clock_ticks(&bench->clock);
    return (struct span){
        .record_from = now + torc_clock_ticks_of_ns(&bench->clock, LEAD_IN_NS),
        .end = now + torc_clock_ticks_of_ns(&bench->clock, ns + LEAD_IN_NS),
    };
}

/* A segment ends with its time, but not before something was recorded: this program may not have
 * run at all meanwhile. */
static bool goes_on(const struct torc_bench *bench, const struct span *span, uint64_t now)
{
    return (now < span->end || bench->segment.ops == 0) && !stopped(bench);
}

static void record(struct torc_bench *bench, uint64_t from, uint64_t to)
{
    torc_histogram_add(&bench->segment.latency, torc_clock_ns(&bench->clock, to - from));
    bench->segment.ops++;
}

/* Time covered by a segment that ended at `now`. */
static void close_segment(struct torc_bench *bench, const struct span *span, uint64_t now)
{
    bench->segment.ns =
        now > span->record_from ? torc_clock_ns(&bench->clock, now - span->record_from) : 0;
}

static int run_single(struct torc_bench *bench, struct side *side, uint64_t ns, char *error)
{
    enum torc_road_op op = bench->options.op;
    struct span span = start_span(bench, ns);
    uint64_t now = 0;
    while (goes_on(bench, &span, now)) {
        struct torc_bytes words[2];
        struct torc_road_reply reply;
        size_t cell = next_cell(bench, side);
        struct torc_road_request request = request_for(bench, side, op, cell, words);
        uint64_t sent = torc_clock_ticks(&bench->clock);
        int rc = torc_road_call(side->road, &request, &reply);
        now = torc_clock_ticks(&bench->clock);
        if (rc != 0) {
            return fail_road(error, rc, side);
        }
        rc = check_reply(side, op, cell, &reply, error);
        if (rc != 0) {
            return rc;
        }
        if (sent >= span.record_from) {
            record(bench, sent, now);
        }
    }
    close_segment(bench, &span, now);
    return 0;
}

/* A window under way: requests [collected, submitted), by number. */
struct window {
    uint64_t submitted;
    uint64_t collected;
    uint64_t now; /* when the last reply came */
};

static int collect_one(struct torc_bench *bench, struct side *side, const struct span *span,
                       struct window *window, char *error)
{
    assert(bench->options.window > 0);
    const struct flight *flight = &bench->flights[window->collected % bench->options.window];
    struct torc_road_reply reply;
    int rc = torc_road_collect(side->road, &reply);
    window->now = torc_clock_ticks(&bench->clock);
    if (rc != 0) {
        return fail_road(error, rc, side);
    }
    window->collected++;
    if (flight->ticks >= span->record_from) {
        record(bench, flight->ticks, window->now);
    }
    return check_reply(side, bench->options.op, flight->cell, &reply, error);
}

static int submit_one(struct torc_bench *bench, struct side *side, const struct span *span,
                      struct window *window, char *error)
{
    assert(bench->options.window > 0);
    struct torc_bytes words[2];
    struct flight *flight = &bench->flights[window->submitted % bench->options.window];
    flight->cell = next_cell(bench, side);
    struct torc_road_request request =
        request_for(bench, side, bench->options.op, flight->cell, words);
    for (;;) {
        flight->ticks = torc_clock_ticks(&bench->clock);
        int rc = torc_road_submit(side->road, &request);
        if (rc == 0) {
            window->submitted++;
            return 0;
        }
        /* No room for this one before another is answered. */
        if (rc != -EAGAIN || window->submitted == window->collected) {
            return fail_road(error, rc, side);
        }
        rc = collect_one(bench, side, span, window, error);
        if (rc != 0) {
            return rc;
        }
    }
}

/* The window is kept full: each reply makes room for the next request. */
static int run_pipelined(struct torc_bench *bench, struct side *side, uint64_t ns, char *error)
{
    struct span span = start_span(bench, ns);
    struct window window = {0};
    int rc = 0;
    while (rc == 0 && goes_on(bench, &span, window.now)) {
        rc = window.submitted - window.collected < bench->options.window
                 ? submit_one(bench, side, &span, &window, error)
                 : collect_one(bench, side, &span, &window, error);
    }
    while (rc == 0 && window.collected < window.submitted) {
        rc = collect_one(bench, side, &span, &window, error);
    }
    close_segment(bench, &span, window.now);
    return rc;
}

static int run_segment(struct torc_bench *bench, struct side *side, enum torc_bench_depth depth,
                       uint64_t ns, char *error)
{
    torc_histogram_reset(&bench->segment.latency);
    bench->segment.ops = 0;
    bench->segment.ns = 0;
    return depth == TORC_BENCH_SINGLE ? run_single(bench, side, ns, error)
                                      : run_pipelined(bench, side, ns, error);
}

/* --- hashes --- */

/* A request of the preparation, whose reply must be an integer. */
static int call_for_integer(struct side *side, const struct torc_road_request *request,
                            int64_t *out_integer, char *error)
{
    struct torc_road_reply reply;
    int rc = torc_road_call(side->road, request, &reply);
    if (rc != 0) {
        return fail_road(error, rc, side);
    }
    if (reply.kind == TORC_ROAD_ERROR) {
        return fail(error, -EBADMSG, "%s: the server says: %.*s", side->road->name,
                    (int)torc_min_u64(reply.text.len, 200), (const char *)reply.text.data);
    }
    if (reply.kind != TORC_ROAD_INTEGER) {
        return fail(error, -EBADMSG, "%s: the reply is no integer", side->road->name);
    }
    *out_integer = reply.integer;
    return 0;
}

static int make_hash(struct torc_bench *bench, struct side *side, size_t key, char *error)
{
    struct torc_bytes words[2 * PAIRS_A_CALL];
    struct torc_bytes name = torc_bench_data_key(&side->data, key);
    struct torc_road_request exists = {.op = TORC_ROAD_EXISTS, .key = name};
    int64_t integer = 0;
    int rc = call_for_integer(side, &exists, &integer, error);
    if (rc == 0 && integer != 0) {
        rc = fail(error, -EEXIST, "%s: '%.*s' is there already; choose another --key-prefix",
                  side->road->name, (int)torc_min_u64(name.len, 100), (const char *)name.data);
    }
    size_t fields = bench->options.fields;
    for (size_t from = 0; from < fields && rc == 0; from += PAIRS_A_CALL) {
        size_t n = fields - from < PAIRS_A_CALL ? fields - from : PAIRS_A_CALL;
        for (size_t i = 0; i < n; i++) {
            words[2 * i] = torc_bench_data_field(&side->data, from + i);
            words[2 * i + 1] = torc_bench_data_value(&side->data, key * fields + from + i);
        }
        struct torc_road_request request = {
            .op = TORC_ROAD_HSET, .key = name, .words = words, .n_words = 2 * n};
        /* From here on it is ours to remove. */
        side->n_made = key + 1;
        rc = call_for_integer(side, &request, &integer, error);
        if (rc == 0 && integer != (int64_t)n) {
            rc = fail(error, -EBADMSG, "%s: %lld fields of %zu were new", side->road->name,
                      (long long)integer, n);
        }
    }
    return rc;
}

static int make_hashes(struct torc_bench *bench, struct side *side, char *error)
{
    for (size_t key = 0; key < bench->options.keys && !stopped(bench); key++) {
        int rc = make_hash(bench, side, key, error);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* Read everything back and compare. */
static int check_hashes(struct torc_bench *bench, struct side *side, char *error)
{
    size_t cells = side->n_made * bench->options.fields;
    for (size_t cell = 0; cell < cells; cell++) {
        struct torc_bytes words[2];
        struct torc_road_reply reply;
        struct torc_road_request request = request_for(bench, side, TORC_ROAD_HGET, cell, words);
        int rc = torc_road_call(side->road, &request, &reply);
        if (rc != 0) {
            return fail_road(error, rc, side);
        }
        rc = check_reply(side, TORC_ROAD_HGET, cell, &reply, error);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int torc_bench_clean(struct torc_bench *bench, char error[TORC_BENCH_ERROR_BYTES])
{
    for (size_t i = 0; i < bench->n_sides; i++) {
        struct side *side = &bench->sides[i];
        for (; side->n_made > 0; side->n_made--) {
            struct torc_road_request request = {
                .op = TORC_ROAD_DEL, .key = torc_bench_data_key(&side->data, side->n_made - 1)};
            int64_t removed = 0;
            int rc = call_for_integer(side, &request, &removed, error);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

/* --- all of it --- */

/* Divide the time: rounds of one segment for each road and depth. */
static void plan(struct torc_bench *bench)
{
    uint64_t segments = bench->n_sides * TORC_BENCH_DEPTHS;
    uint64_t ns = bench->options.ns / (segments * ROUNDS_WANTED);
    bench->segment_ns = torc_max_u64(SEGMENT_NS_MIN, torc_min_u64(SEGMENT_NS_MAX, ns));
    bench->rounds_planned =
        (size_t)torc_max_u64(1, bench->options.ns / (segments * bench->segment_ns));
}

static int check_options(const struct torc_bench_options *options, size_t n_roads, char *error)
{
    bool known = options->op == TORC_ROAD_PING || options->op == TORC_ROAD_HGET ||
                 options->op == TORC_ROAD_HSET;
    if (!known || n_roads == 0 || n_roads > TORC_BENCH_ROADS_MAX || options->window == 0 ||
        options->window > TORC_BENCH_WINDOW_MAX || options->keys == 0 || options->fields == 0 ||
        options->value_bytes == 0) {
        return fail(error, -EINVAL, "options out of range");
    }
    if (options->keys > TORC_BENCH_CELLS_MAX / options->fields ||
        options->keys * options->fields > TORC_BENCH_BYTES_MAX / options->value_bytes) {
        return fail(error, -EINVAL, "too much data: at most %llu fields and %llu bytes of values",
                    TORC_BENCH_CELLS_MAX, (unsigned long long)TORC_BENCH_BYTES_MAX);
    }
    return 0;
}

/* Names of a road's hashes start with the prefix and its number, so that two roads to one server do
 * not meet. */
static int init_side(struct torc_bench *bench, size_t i, struct torc_road *road, char *error)
{
    const struct torc_bench_options *options = &bench->options;
    struct side *side = &bench->sides[i];
    char prefix[128];
    int len = snprintf(prefix, sizeof prefix, "%s%zu:", options->key_prefix, i + 1);
    if (len < 0 || (size_t)len >= sizeof prefix) {
        return fail(error, -EINVAL, "the key prefix is too long");
    }
    side->road = road;
    bench->n_sides = i + 1;
    if (torc_bench_data_init(&side->data, prefix, options->keys, options->fields,
                             options->key_bytes, options->field_bytes, options->value_bytes,
                             options->seed + i) != 0) {
        return fail(error, -ENOMEM, "no memory for the names and values");
    }
    return options->op == TORC_ROAD_PING ? 0 : make_hashes(bench, side, error);
}

static int warm_up(struct torc_bench *bench, char *error)
{
    int rc = 0;
    for (size_t i = 0; i < bench->n_sides && rc == 0; i++) {
        rc = run_segment(bench, &bench->sides[i], TORC_BENCH_SINGLE, WARM_UP_NS, error);
        if (rc == 0) {
            rc = run_segment(bench, &bench->sides[i], TORC_BENCH_PIPELINED, WARM_UP_NS, error);
        }
    }
    return rc;
}

int torc_bench_create(const struct torc_bench_options *options, struct torc_road *const *roads,
                      size_t n_roads, const volatile sig_atomic_t *stop,
                      struct torc_bench **out_bench, char error[TORC_BENCH_ERROR_BYTES])
{
    int rc = check_options(options, n_roads, error);
    if (rc != 0) {
        return rc;
    }
    struct torc_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) {
        return fail(error, -ENOMEM, "no memory");
    }
    bench->options = *options;
    bench->stop = stop;
    torc_clock_init(&bench->clock);
    for (size_t i = 0; i < n_roads && rc == 0; i++) {
        rc = init_side(bench, i, roads[i], error);
    }
    if (rc == 0) {
        plan(bench);
        bench->flights = calloc(options->window, sizeof *bench->flights);
        bool got = bench->flights != NULL;
        for (int depth = 0; depth < TORC_BENCH_DEPTHS; depth++) {
            bench->rounds[depth] = calloc(bench->rounds_planned, sizeof *bench->rounds[depth]);
            got = got && bench->rounds[depth] != NULL;
        }
        rc = got ? warm_up(bench, error) : fail(error, -ENOMEM, "no memory");
    }
    if (rc != 0) {
        /* The first error is the one to tell. */
        char later[TORC_BENCH_ERROR_BYTES];
        int cleaned = torc_bench_clean(bench, later);
        (void)cleaned;
        torc_bench_destroy(bench);
        return rc;
    }
    *out_bench = bench;
    return 0;
}

void torc_bench_destroy(struct torc_bench *bench)
{
    if (bench == NULL) {
        return;
    }
    for (size_t i = 0; i < TORC_BENCH_ROADS_MAX; i++) {
        torc_bench_data_fini(&bench->sides[i].data);
    }
    for (int depth = 0; depth < TORC_BENCH_DEPTHS; depth++) {
        free(bench->rounds[depth]);
    }
    free(bench->flights);
    free(bench);
}

static void add_segment(struct torc_bench_outcome *into, const struct torc_bench_outcome *segment)
{
    torc_histogram_merge(&into->latency, &segment->latency);
    into->ops += segment->ops;
    into->ns += segment->ns;
}

/* All roads at one depth, in an order that changes from round to round. */
static int run_turns(struct torc_bench *bench, size_t round, enum torc_bench_depth depth,
                     char *error)
{
    struct round *figures = &bench->rounds[depth][round];
    for (size_t turn = 0; turn < bench->n_sides && !stopped(bench); turn++) {
        size_t i = (turn + round) % bench->n_sides;
        struct side *side = &bench->sides[i];
        int rc = run_segment(bench, side, depth, bench->segment_ns, error);
        if (rc != 0) {
            return rc;
        }
        const struct torc_bench_outcome *segment = &bench->segment;
        add_segment(&side->outcomes[depth], segment);
        figures->p50_ns[i] = torc_histogram_percentile(&segment->latency, 50);
        figures->ops_per_ns[i] = segment->ns > 0 ? (double)segment->ops / (double)segment->ns : 0.0;
    }
    return 0;
}

int torc_bench_run(struct torc_bench *bench, char error[TORC_BENCH_ERROR_BYTES])
{
    for (size_t round = 0; round < bench->rounds_planned && !stopped(bench); round++) {
        for (int depth = 0; depth < TORC_BENCH_DEPTHS; depth++) {
            int rc = run_turns(bench, round, (enum torc_bench_depth)depth, error);
            if (rc != 0) {
                return rc;
            }
        }
        bench->n_rounds += !stopped(bench);
    }
    if (bench->options.op != TORC_ROAD_HSET) {
        return 0;
    }
    int rc = 0;
    for (size_t i = 0; i < bench->n_sides && rc == 0; i++) {
        rc = check_hashes(bench, &bench->sides[i], error);
    }
    return rc;
}

/* --- what came out --- */

const struct torc_bench_options *torc_bench_options(const struct torc_bench *bench)
{
    return &bench->options;
}

size_t torc_bench_n_roads(const struct torc_bench *bench)
{
    return bench->n_sides;
}

const char *torc_bench_road_name(const struct torc_bench *bench, size_t road)
{
    return bench->sides[road].road->name;
}

const struct torc_bench_outcome *torc_bench_outcome(const struct torc_bench *bench, size_t road,
                                                    enum torc_bench_depth depth)
{
    return &bench->sides[road].outcomes[depth];
}

bool torc_bench_is_tsc(const struct torc_bench *bench)
{
    return bench->clock.is_tsc;
}

uint64_t torc_bench_rounds(const struct torc_bench *bench)
{
    return bench->n_rounds;
}

uint64_t torc_bench_segment_ns(const struct torc_bench *bench)
{
    return bench->segment_ns;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median and spread of a / b over the rounds in which both are known. */
static bool ratio_of(const struct torc_bench *bench, enum torc_bench_depth depth, bool of_ops,
                     struct torc_bench_ratio *out_ratio)
{
    if (bench->n_sides < 2 || bench->n_rounds == 0) {
        return false;
    }
    double *ratios = calloc(bench->n_rounds, sizeof *ratios);
    size_t n = 0;
    for (size_t i = 0; ratios != NULL && i < bench->n_rounds; i++) {
        const struct round *r = &bench->rounds[depth][i];
        double over = of_ops ? r->ops_per_ns[0] : (double)r->p50_ns[1];
        double under = of_ops ? r->ops_per_ns[1] : (double)r->p50_ns[0];
        if (over > 0.0 && under > 0.0) {
            ratios[n++] = over / under;
        }
    }
    if (n > 0) {
        qsort(ratios, n, sizeof *ratios, compare_doubles);
        *out_ratio = (struct torc_bench_ratio){
            .least = ratios[0],
            .median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2.0,
            .most = ratios[n - 1],
        };
    }
    free(ratios);
    return n > 0;
}

bool torc_bench_ratio_p50(const struct torc_bench *bench, enum torc_bench_depth depth,
                          struct torc_bench_ratio *out_ratio)
{
    return ratio_of(bench, depth, false, out_ratio);
}

bool torc_bench_ratio_ops(const struct torc_bench *bench, enum torc_bench_depth depth,
                          struct torc_bench_ratio *out_ratio)
{
    return ratio_of(bench, depth, true, out_ratio);
}
