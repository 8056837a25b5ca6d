/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor: what two cores need to tell each other something. Three things, measured in turns, so
 * that they can be compared although the machine changes its speed every few seconds:
 *
 *   floor-one-line    a cache line with a 48-byte payload goes there and comes back: no request and
 *                     reply between two cores can be faster, so ring figures are multiples of it
 *   floor-two-lines   the same, but request and reply have a line each
 *   ring-null         a request that asks for nothing through a real ring session, `window` of them
 *                     outstanding; time per request
 *
 * A figure of a round is its time divided by the round trips. One JSON line per thing: quartiles of
 * the rounds' figures and each of them; how many times the floor of the same round it is; and,
 * where one is outstanding at a time, percentiles of single round trips.
 */
#include <argp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/histogram.h"
#include "core/placement.h"
#include "perf/micro/bench_ring.h"
#include "ring/session.h"

#define PAYLOAD_BYTES 48u
#define ROUNDS_MAX    1001u
#define RING_SLOTS    256u
#define WARM_TRIPS    2000u
#define CHUNK_TRIPS   500u
#define TRIPS_MIN     ((uint64_t)2 * CHUNK_TRIPS)
#define TRIPS_MAX     1000000u
#define CHUNKS_MAX    (TRIPS_MAX / CHUNK_TRIPS)
/* Two CPUs that are threads of one core, or share it for the moment, bounce a line within its L1:
 * 60 to 120 ns; between two cores it takes 260 or more on every machine that we know. */
#define SHARED_CORE_NS 180.0

struct line {
    _Alignas(TORC_CACHE_LINE_BYTES) _Atomic uint64_t turn;
    uint8_t payload[PAYLOAD_BYTES];
};

enum what { ONE_LINE, TWO_LINES, RING_NULL };

/* One thing that is measured, over all rounds. */
struct subject {
    const char *name;
    enum what what;
    unsigned window;
    double ns[ROUNDS_MAX];       /* per round trip, a figure a round */
    struct torc_histogram trips; /* ns of single round trips, where window is 1 */
};

static struct subject subjects[] = {
    {.name = "floor-one-line", .what = ONE_LINE, .window = 1},
    {.name = "floor-two-lines", .what = TWO_LINES, .window = 1},
    {.name = "ring-null", .what = RING_NULL, .window = 1},
    {.name = "ring-null", .what = RING_NULL, .window = 2},
    {.name = "ring-null", .what = RING_NULL, .window = 4},
    {.name = "ring-null", .what = RING_NULL, .window = 8},
    {.name = "ring-null", .what = RING_NULL, .window = 16},
    {.name = "ring-null", .what = RING_NULL, .window = 32},
    {.name = "ring-null", .what = RING_NULL, .window = 64},
    {.name = "ring-null", .what = RING_NULL, .window = 128},
    {.name = "ring-null", .what = RING_NULL, .window = 256},
};
#define N_SUBJECTS (sizeof subjects / sizeof subjects[0])

struct options {
    int cpus[2]; /* of the server, of the client */
    unsigned rounds;
    uint64_t trips; /* a round */
    bool lists;
};

/* What both threads of a round see. */
struct round {
    struct line request, reply; /* both in `request` when there is one line */
    struct torc_bench_ring ring;
    const struct subject *subject;
    const struct options *options;
    uint64_t trips;
    _Atomic bool is_serving;
};

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "floor: %s\n", what);
    exit(EXIT_FAILURE);
}

static void spin(unsigned *looks)
{
    /* With both sides on one CPU, only a yield lets the other run. */
    if (++*looks % 100000 == 0) {
        (void)sched_yield();
    }
    __builtin_ia32_pause();
}

static void pin(int cpu)
{
    if (torc_placement_pin_self(cpu) != 0) {
        (void)fprintf(stderr, "floor: CPU %d is not to be had\n", cpu);
        exit(EXIT_FAILURE);
    }
}

/* --- lines --- */

static struct line *reply_line(struct round *round)
{
    return round->subject->what == ONE_LINE ? &round->request : &round->reply;
}

static void await(struct line *line, uint64_t turn, unsigned *looks)
{
    while (atomic_load_explicit(&line->turn, memory_order_acquire) != turn) {
        spin(looks);
    }
}

static void serve_lines(struct round *round)
{
    struct line *reply = reply_line(round);
    unsigned looks = 0;
    for (uint64_t i = 0; i < round->trips; i++) {
        await(&round->request, 2 * i + 1, &looks);
        uint8_t copy[PAYLOAD_BYTES];
        memcpy(copy, round->request.payload, sizeof copy);
        copy[0]++;
        memcpy(reply->payload, copy, sizeof copy);
        atomic_store_explicit(&reply->turn, 2 * i + 2, memory_order_release);
    }
}

/* One round trip. */
static void bounce(struct round *round, uint64_t i, unsigned *looks)
{
    struct line *reply = reply_line(round);
    uint8_t sent = (uint8_t)i;
    memset(round->request.payload, sent, sizeof round->request.payload);
    atomic_store_explicit(&round->request.turn, 2 * i + 1, memory_order_release);
    await(reply, 2 * i + 2, looks);
    if (reply->payload[0] != (uint8_t)(sent + 1) || reply->payload[PAYLOAD_BYTES - 1] != sent) {
        give_up("a line came back with a wrong payload");
    }
}

/* --- ring --- */

static void serve_ring(struct round *round)
{
    struct torc_session *session = round->ring.session;
    unsigned looks = 0;
    for (uint64_t served = 0; served < round->trips;) {
        if (!torc_session_is_ready(session)) {
            spin(&looks);
            continue;
        }
        struct torc_taken taken[TORC_SESSION_BATCH];
        int n = torc_session_take(session, taken, TORC_SESSION_BATCH);
        for (int i = 0; i < n; i++) {
            uint8_t bytes[TORC_SLOT_MESSAGE];
            struct torc_reply_writer writer;
            torc_reply_begin(&writer, bytes, sizeof bytes, TORC_OP_PING,
                             torc_load_u32(taken[i].data + 4));
            torc_reply_null(&writer);
            if (torc_session_reply(session, bytes, writer.len) != 0) {
                give_up("a reply was refused");
            }
        }
        if (n < 0) {
            give_up("the session broke");
        }
        torc_session_wake(session);
        served += (uint64_t)n;
    }
}

static void ask(struct torc_attachment *attachment, uint64_t i)
{
    int error = 0;
    uint8_t *to =
        torc_attachment_reserve(attachment, torc_request_size(TORC_OP_PING, NULL, 0), &error);
    if (to == NULL) {
        give_up("no room for a request");
    }
    size_t len = torc_request_encode(to, TORC_OP_PING, (uint32_t)i, NULL, NULL, 0);
    if (torc_attachment_commit(attachment, len, 0) != 0) {
        give_up("a request was refused");
    }
}

static void see(struct torc_attachment *attachment, uint64_t i)
{
    struct torc_slice message;
    if (torc_attachment_wait(attachment, 0, &message) != 0) {
        give_up("a reply did not come");
    }
    if (torc_load_u32(message.data + 4) != (uint32_t)i) {
        give_up("a reply is for another request");
    }
    torc_attachment_consume(attachment);
}

/* --- a round --- */

static void *serve(void *arg)
{
    struct round *round = arg;
    pin(round->options->cpus[0]);
    atomic_store_explicit(&round->is_serving, true, memory_order_release);
    if (round->subject->what == RING_NULL) {
        serve_ring(round);
    } else {
        serve_lines(round);
    }
    return NULL;
}

/* Time of the chunks of a round, as they end. */
struct chunks {
    const struct torc_clock *clock;
    uint64_t start; /* of the current chunk, in ticks */
    uint64_t next;  /* it ends with this trip */
    unsigned n;
    double ns[CHUNKS_MAX]; /* per trip */
};

static void chunks_begin(struct chunks *chunks)
{
    chunks->n = 0;
    chunks->next = WARM_TRIPS + CHUNK_TRIPS;
    chunks->start = torc_clock_ticks(chunks->clock);
}

/* Trips below `done` are done. */
static void chunks_note(struct chunks *chunks, uint64_t done)
{
    if (done >= chunks->next) {
        uint64_t now = torc_clock_ticks(chunks->clock);
        uint64_t trips = done - (chunks->next - CHUNK_TRIPS);
        chunks->ns[chunks->n++] =
            (double)torc_clock_ns(chunks->clock, now - chunks->start) / (double)trips;
        chunks->start = now;
        chunks->next = done + CHUNK_TRIPS;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One trip at a time; those behind the warm ones are timed. */
static void go_one(struct round *round, struct chunks *chunks, struct torc_histogram *trips)
{
    unsigned looks = 0;
    uint64_t before = 0;
    for (uint64_t i = 0; i < round->trips; i++) {
        if (round->subject->what == RING_NULL) {
            ask(round->ring.attachment, i);
            see(round->ring.attachment, i);
        } else {
            bounce(round, i, &looks);
        }
        if (i + 1 < WARM_TRIPS) {
            continue;
        }
        uint64_t now = torc_clock_ticks(chunks->clock);
        if (i + 1 == WARM_TRIPS) {
            chunks_begin(chunks);
        } else {
            torc_histogram_add(trips, torc_clock_ns(chunks->clock, now - before));
            chunks_note(chunks, i + 1);
        }
        before = now;
    }
}

/* As many outstanding as the window has: all replies that are there are taken, then their places
 * are filled again. */
static void go_windowed(struct round *round, struct chunks *chunks)
{
    struct torc_attachment *attachment = round->ring.attachment;
    struct torc_slice message;
    uint64_t asked = 0;
    bool is_warm = false;
    for (uint64_t seen = 0; seen < round->trips;) {
        while (asked < round->trips && asked - seen < round->subject->window) {
            ask(attachment, asked++);
        }
        do {
            see(attachment, seen++);
        } while (seen < asked && torc_attachment_peek(attachment, &message) == 0);
        if (is_warm) {
            chunks_note(chunks, seen);
        } else if (seen >= WARM_TRIPS) {
            is_warm = true;
            chunks_begin(chunks);
            chunks->next = seen + CHUNK_TRIPS;
        }
    }
}

/* Nanoseconds of a round trip: the median of its chunks, so that a chunk in which this machine did
 * something else does not count. */
static double measure(struct subject *subject, const struct options *options,
                      const struct torc_clock *clock)
{
    static struct round round;
    static struct chunks chunks;
    memset(&round, 0, sizeof round);
    chunks.clock = clock;
    round.subject = subject;
    round.options = options;
    round.trips = WARM_TRIPS + options->trips;
    if (subject->what == RING_NULL) {
        torc_bench_ring_open(&round.ring, RING_SLOTS, TORC_WAIT_BUSY);
    }
    pthread_t server;
    if (pthread_create(&server, NULL, serve, &round) != 0) {
        give_up("cannot start a thread");
    }
    unsigned looks = 0;
    while (!atomic_load_explicit(&round.is_serving, memory_order_acquire)) {
        spin(&looks);
    }
    if (subject->window == 1) {
        go_one(&round, &chunks, &subject->trips);
    } else {
        go_windowed(&round, &chunks);
    }
    (void)pthread_join(server, NULL);
    if (subject->what == RING_NULL) {
        torc_bench_ring_close(&round.ring);
    }
    qsort(chunks.ns, chunks.n, sizeof *chunks.ns, compare);
    return chunks.ns[chunks.n / 2];
}

/* --- results --- */

static void print_quartiles(const char *name, const double *values, unsigned n)
{
    static double sorted[ROUNDS_MAX];
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare);
    printf(",\"%s\":{\"min\":%.2f,\"q1\":%.2f,\"median\":%.2f,\"q3\":%.2f,\"max\":%.2f}", name,
           sorted[0], sorted[n / 4], sorted[n / 2], sorted[3 * n / 4], sorted[n - 1]);
}

static void print_subject(const struct subject *subject, const struct options *options)
{
    static double times[ROUNDS_MAX];
    const double *floor = subjects[0].ns;
    unsigned n = options->rounds;
    unsigned n_shared = 0;
    for (unsigned i = 0; i < n; i++) {
        times[i] = subject->ns[i] / floor[i];
        n_shared += floor[i] < SHARED_CORE_NS;
    }
    printf("{\"name\":\"%s\",\"window\":%u,\"unit\":\"ns\",\"n\":%llu,\"cpus\":[%d,%d],"
           "\"rounds\":%u,\"rounds_on_one_core\":%u",
           subject->name, subject->window, (unsigned long long)options->trips * n, options->cpus[0],
           options->cpus[1], n, n_shared);
    print_quartiles("round", subject->ns, n);
    print_quartiles("times_floor", times, n);
    if (subject->window == 1) {
        const struct torc_histogram *h = &subject->trips;
        printf(",\"trip\":{\"min\":%llu,\"p50\":%llu,\"p99\":%llu,\"p999\":%llu,\"max\":%llu}",
               (unsigned long long)h->min, (unsigned long long)torc_histogram_percentile(h, 50),
               (unsigned long long)torc_histogram_percentile(h, 99),
               (unsigned long long)torc_histogram_percentile(h, 99.9), (unsigned long long)h->max);
    }
    printf(",\"seen\":[");
    for (unsigned i = 0; i < n; i++) {
        printf("%s%.1f", i == 0 ? "" : ",", subject->ns[i]);
    }
    printf("]}\n");
}

/* --- options --- */

static uint64_t number(const char *text, uint64_t min, uint64_t max, struct argp_state *state)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' || value < min ||
        value > max) {
        argp_error(state, "%s: not a number from %llu to %llu", text, (unsigned long long)min,
                   (unsigned long long)max);
    }
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'c':
        if (torc_placement_parse_cpus(arg, options->cpus, 2) != 2) {
            argp_error(state, "%s: not two different CPUs, as in 0,1", arg);
        }
        return 0;
    case 'r':
        options->rounds = (unsigned)number(arg, 1, ROUNDS_MAX, state);
        return 0;
    case 'n':
        options->trips = number(arg, TRIPS_MIN, TRIPS_MAX, state);
        return 0;
    case 'l':
        options->lists = true;
        return 0;
    case 'q':
        options->rounds = 9;
        options->trips = 10000;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    struct options options = {.cpus = {0, 1}, .rounds = 21, .trips = 50000};
    const struct argp_option table[] = {
        {"cpus", 'c', "SERVER,CLIENT", 0, "where the two sides run (default 0,1)", 0},
        {"rounds", 'r', "N", 0, "rounds of all things in turn (default 21)", 0},
        {"trips", 'n', "N", 0, "round trips of each in a round (default 50,000)", 0},
        {"quick", 'q', NULL, 0, "9 rounds of 10,000 trips", 0},
        {"list", 'l', NULL, 0, "print the names and windows of what is measured", 0},
        {0}};
    const struct argp argp = {
        .options = table,
        .parser = parse,
        .doc =
            "The least time of a round trip between two CPUs, and of an empty one through a ring."
            "\vOne JSON line each for: one cache line there and back; one line each way; a ring "
            "with 1 to 256 requests outstanding. `seen` has the figure of each round. Where two "
            "CPUs shared a core for the moment, floor-one-line shows it by a figure below 180, "
            "counted in rounds_on_one_core."};
    argp_err_exit_status = 2;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &options);

    if (options.lists) {
        for (size_t s = 0; s < N_SUBJECTS; s++) {
            printf("%s %u\n", subjects[s].name, subjects[s].window);
        }
        return EXIT_SUCCESS;
    }
    struct torc_clock clock;
    torc_clock_init(&clock);
    pin(options.cpus[1]);
    for (unsigned r = 0; r < options.rounds; r++) {
        for (size_t s = 0; s < N_SUBJECTS; s++) {
            subjects[s].ns[r] = measure(&subjects[s], &options, &clock);
        }
    }
    for (size_t s = 0; s < N_SUBJECTS; s++) {
        print_subject(&subjects[s], &options);
    }
    return EXIT_SUCCESS;
}
