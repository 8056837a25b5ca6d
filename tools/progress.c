/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "tools/numbers.h"

#define DRAW_INTERVAL_NS 100000000ull
#define BAR_CELLS        20
#define NAME_BYTES       20

void torc_progress_start(struct torc_progress *progress, bool wanted, const char *name,
                         uint64_t bytes_total)
{
    *progress = (struct torc_progress){
        .shown = wanted && isatty(STDERR_FILENO) == 1,
        .name = name,
        .unit = "rows",
        .bytes_total = bytes_total,
    };
    if (progress->shown) {
        progress->start_ns = torc_clock_monotonic_ns();
        progress->next_draw_ns = progress->start_ns + DRAW_INTERVAL_NS;
    }
}

void torc_progress_update(struct torc_progress *progress, uint64_t bytes, uint64_t rows)
{
    if (!progress->shown) {
        return;
    }
    uint64_t now = torc_clock_monotonic_ns();
    if (now < progress->next_draw_ns) {
        return;
    }
    progress->next_draw_ns = now + DRAW_INTERVAL_NS;
    uint64_t spent_ns = now - progress->start_ns;
    struct torc_number n = torc_number_grouped(rows);
    struct torc_number rate = torc_number_rate(rows, spent_ns);
    if (progress->bytes_total == 0 || bytes == 0) {
        (void)fprintf(stderr, "\r\033[K%.*s  %s %s  %s %s/s", NAME_BYTES, progress->name, n.text,
                      progress->unit, rate.text, progress->unit);
        return;
    }
    uint64_t done = torc_min_u64(bytes, progress->bytes_total);
    double share = (double)done / (double)progress->bytes_total;
    uint64_t left_s = (uint64_t)((double)spent_ns * (1.0 - share) / share / 1e9 + 0.5);
    char bar[BAR_CELLS + 1];
    int filled = (int)(share * BAR_CELLS);
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    (void)fprintf(stderr,
                  "\r\033[K%.*s [%s] %3d %%  %s %s  %s %s/s  %" PRIu64 ":%02" PRIu64 " left",
                  NAME_BYTES, progress->name, bar, (int)(share * 100), n.text, progress->unit,
                  rate.text, progress->unit, left_s / 60, left_s % 60);
}

void torc_progress_clear(struct torc_progress *progress)
{
    if (progress->shown) {
        (void)fprintf(stderr, "\r\033[K");
    }
}
