/* SPDX-License-Identifier: Apache-2.0
 *
 * A progress bar on standard error: share of the bytes, rows, rows a second, time left. Drawn ten
 * times a second at most, and not at all unless standard error is a terminal.
 */
#ifndef TORC_TOOLS_PROGRESS_H
#define TORC_TOOLS_PROGRESS_H

#include "core/base.h"

struct torc_progress {
    bool shown;
    const char *name;      /* of what is worked on; the caller's memory */
    const char *unit;      /* what is counted: "rows" unless set after the start */
    uint64_t bytes_total;  /* 0: not known, as with a pipe */
    uint64_t start_ns;     /* CLOCK_MONOTONIC, as the rest */
    uint64_t next_draw_ns; /* not before */
};

/* Start a bar into the caller's storage; `wanted` false makes one that never shows. */
void torc_progress_start(struct torc_progress *progress, bool wanted, const char *name,
                         uint64_t bytes_total);

/* Say how far it is. Reads a clock, so call it now and then. */
void torc_progress_update(struct torc_progress *progress, uint64_t bytes, uint64_t rows);

/* Take the bar off the screen, before other text or at the end. The next update draws it again. */
void torc_progress_clear(struct torc_progress *progress);

#endif
