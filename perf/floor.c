/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor: one cache line with a 48-byte payload, bounced between two cores. No request and reply
 * between two cores can be faster, so ring figures are quoted as multiples of it. Prints one JSON
 * line.
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

struct line {
    _Alignas(
        TORC_CACHE_LINE_BYTES) _Atomic uint64_t turn; /* even: the server's, odd: the client's */
    uint8_t payload[48];
};

struct floor_run {
    struct line line;
    uint64_t rounds;
    int server_cpu;
};

static void spin(unsigned *looks)
{
    /* With both sides on one core, only a yield lets the other run. */
    if (++*looks % 100000 == 0) {
        (void)sched_yield();
    }
    __builtin_ia32_pause();
}

static void *serve(void *arg)
{
    struct floor_run *run = arg;
    (void)!torc_placement_pin_self(run->server_cpu);
    unsigned looks = 0;
    for (uint64_t i = 0; i < run->rounds; i++) {
        while (atomic_load_explicit(&run->line.turn, memory_order_acquire) != 2 * i + 1) {
            spin(&looks);
        }
        uint8_t copy[sizeof run->line.payload];
        memcpy(copy, run->line.payload, sizeof copy);
        copy[0]++;
        memcpy(run->line.payload, copy, sizeof copy);
        atomic_store_explicit(&run->line.turn, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    uint64_t *rounds = state->input;
    if (key == 'n') {
        *rounds = strtoull(arg, NULL, 10);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
    uint64_t rounds = 2000000;
    const struct argp_option options[] = {
        {"rounds", 'n', "N", 0, "round trips to time (default 2,000,000)", 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .doc = "The least time of a round trip between CPU 0 and CPU 1."};
    (void)argp_parse(&argp, argc, argv, 0, NULL, &rounds);

    static struct floor_run run;
    static struct torc_histogram histogram;
    struct torc_clock clock;
    run.rounds = rounds;
    run.server_cpu = 0;
    torc_clock_init(&clock);
    torc_histogram_reset(&histogram);
    pthread_t server;
    if (pthread_create(&server, NULL, serve, &run) != 0) {
        (void)fprintf(stderr, "floor: cannot start a thread\n");
        return EXIT_FAILURE;
    }
    if (torc_placement_pin_self(1) != 0) {
        (void)fprintf(stderr, "floor: CPU 1 is not to be had: both sides share a core\n");
    }
    unsigned looks = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t start = torc_clock_ticks(&clock);
        uint8_t sent = (uint8_t)i;
        memset(run.line.payload, sent, sizeof run.line.payload);
        atomic_store_explicit(&run.line.turn, 2 * i + 1, memory_order_release);
        while (atomic_load_explicit(&run.line.turn, memory_order_acquire) != 2 * i + 2) {
            spin(&looks);
        }
        if (run.line.payload[0] != (uint8_t)(sent + 1)) {
            (void)fprintf(stderr, "floor: wrong payload at round %llu\n", (unsigned long long)i);
            return EXIT_FAILURE;
        }
        torc_histogram_add(&histogram, torc_clock_ns(&clock, torc_clock_ticks(&clock) - start));
    }
    (void)pthread_join(server, NULL);
    printf("{\"name\":\"floor\",\"unit\":\"ns\",\"n\":%llu,\"min\":%llu,\"p50\":%llu,\"p99\":%llu,"
           "\"p999\":%llu}\n",
           (unsigned long long)histogram.count, (unsigned long long)histogram.min,
           (unsigned long long)torc_histogram_percentile(&histogram, 50),
           (unsigned long long)torc_histogram_percentile(&histogram, 99),
           (unsigned long long)torc_histogram_percentile(&histogram, 99.9));
    return EXIT_SUCCESS;
}
