/* SPDX-License-Identifier: Apache-2.0
 *
 * Quotes in one hash: one field per instrument, whose value is a small struct as it is in memory.
 * Every request and reply of the writer fits one cache line.
 *
 *   quotes [SOCKET [write | read | both]]
 *
 * The writer moves the prices 3,000 times. The reader takes the whole book in one call, 500 times,
 * and prints the last. Run one of each at the same time, or "both" after each other.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <torc/torc.h>

#define N_INSTRUMENTS 6
#define N_UPDATES     3000
#define N_READS       500

/* Prices in units of 1e-5. Writers and readers share a host, so they share this layout. */
struct quote {
    int64_t bid, ask;
    uint64_t time_ns;
};

static const char *const instruments[N_INSTRUMENTS] = {"EURUSD", "USDJPY", "GBPUSD",
                                                       "AUDUSD", "USDCHF", "USDCAD"};
static const char book[] = "book:fx";

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Say what went wrong. When the server is gone, wait for the next one: true, try again. */
static bool recover(struct torc *torc, int64_t error)
{
    (void)fprintf(stderr, "%s: %s\n", torc_error_name((int)error), torc_error_text(torc));
    if (error != TORC_EPIPE) {
        return false;
    }
    /* What was being written has an unknown outcome. A quote is out of date by now anyway, so the
     * next one is written as if nothing had happened. */
    const struct timespec pause = {.tv_nsec = 200000000};
    for (int attempt = 0; attempt < 50; attempt++) {
        if (torc_reattach(torc) == TORC_OK) {
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)fprintf(stderr, "%s\n", torc_error_text(torc));
    return false;
}

static bool write_quotes(struct torc *torc)
{
    int64_t prices[N_INSTRUMENTS] = {108510, 14972000, 126340, 65120, 88410, 135660};
    uint64_t start = now_ns();
    for (int i = 0; i < N_UPDATES; i++) {
        int which = i % N_INSTRUMENTS;
        prices[which] += (i * 7919 % 5) - 2;
        struct quote quote = {prices[which] - 1, prices[which] + 1, now_ns()};
        int rc = torc_hset(torc, torc_str(book), torc_str(instruments[which]),
                           torc_mem(&quote, sizeof quote));
        if (rc < 0 && !recover(torc, rc)) {
            return false;
        }
    }
    printf("%d updates, %.0f ns each\n", N_UPDATES, (double)(now_ns() - start) / N_UPDATES);
    return true;
}

static bool read_quotes(struct torc *torc)
{
    struct torc_bytes fields[N_INSTRUMENTS];
    struct torc_bytes values[N_INSTRUMENTS];
    struct quote quotes[N_INSTRUMENTS] = {{0}};
    for (int i = 0; i < N_INSTRUMENTS; i++) {
        fields[i] = torc_str(instruments[i]);
    }
    uint64_t start = now_ns();
    for (int i = 0; i < N_READS; i++) {
        /* One call: all quotes are of the same moment. */
        int64_t found = torc_hmget(torc, torc_str(book), fields, N_INSTRUMENTS, values);
        if (found < 0) {
            if (!recover(torc, found)) {
                return false;
            }
            continue;
        }
        /* The values are borrowed until the next call: copy what is needed later. */
        for (int j = 0; j < N_INSTRUMENTS; j++) {
            if (values[j].len == sizeof quotes[j]) {
                memcpy(&quotes[j], values[j].data, sizeof quotes[j]);
            }
        }
    }
    uint64_t end = now_ns();
    printf("%d reads of the book, %.0f ns each\n", N_READS, (double)(end - start) / N_READS);
    for (int j = 0; j < N_INSTRUMENTS; j++) {
        if (quotes[j].time_ns != 0) {
            printf("%s  %" PRId64 ".%05" PRId64 " / %" PRId64 ".%05" PRId64 "  %.3f ms old\n",
                   instruments[j], quotes[j].bid / 100000, quotes[j].bid % 100000,
                   quotes[j].ask / 100000, quotes[j].ask % 100000,
                   (double)(end - quotes[j].time_ns) / 1e6);
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "both";
    bool writes = strcmp(mode, "read") != 0;
    bool reads = strcmp(mode, "write") != 0;
    struct torc_options options = {.socket = argc > 1 ? argv[1] : NULL, .name = "quotes"};
    struct torc *torc;
    const char *why;
    if (torc_open(&options, &torc, &why) != TORC_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    bool done = (!writes || write_quotes(torc)) && (!reads || read_quotes(torc));
    torc_close(torc);
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
