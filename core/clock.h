/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks. The time-stamp counter, calibrated against CLOCK_MONOTONIC_RAW, for intervals; wall
 * milliseconds for expiry. Where the TSC is not invariant, torc_clock_ticks() is
 * CLOCK_MONOTONIC_RAW in ns and the report says so.
 */
#ifndef TORC_CORE_CLOCK_H
#define TORC_CORE_CLOCK_H

#include "core/base.h"

struct torc_clock {
    uint64_t ticks_per_second;
    uint64_t
        ns_mult; /* ns = (ticks * ns_mult) >> ns_shift, no overflow for intervals up to 1 hour */
    unsigned ns_shift;
    bool is_tsc;
};

/* Calibrate; takes about 10 ms. Any thread; the result may be copied freely. Never fails. */
void torc_clock_init(struct torc_clock *clock);

/* Ticks now; monotonic on one core, and across cores where the TSC is invariant. About 10 ns. */
uint64_t torc_clock_ticks(const struct torc_clock *clock);

uint64_t torc_clock_ns(const struct torc_clock *clock,
                       uint64_t ticks); /* an interval, ticks to ns */
uint64_t torc_clock_ticks_of_ns(const struct torc_clock *clock,
                                uint64_t ns); /* an interval, ns to ticks */

uint64_t
torc_clock_wall_ms(void); /* milliseconds since 1970, CLOCK_REALTIME; a syscall-free vDSO read */
uint64_t torc_clock_monotonic_ns(void); /* CLOCK_MONOTONIC */

#endif
