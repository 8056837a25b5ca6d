/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks. The time-stamp counter, calibrated against CLOCK_MONOTONIC_RAW, for intervals; wall
 * milliseconds for expiry. Where the TSC is missing, not invariant or fails its calibration,
 * torc_clock_ticks() is CLOCK_MONOTONIC_RAW in ns and `is_tsc` is false, so that the start report
 * can say so.
 */
#ifndef TORC_CORE_CLOCK_H
#define TORC_CORE_CLOCK_H

#include "core/base.h"

/* Filled by torc_clock_init(), constant afterwards: any number of threads may read it. */
struct torc_clock {
    uint64_t ticks_per_second;
    uint64_t ns_mult;  /* ns = (ticks * ns_mult) >> ns_shift: 64 bits hold the product for */
    unsigned ns_shift; /* intervals up to 1 hour, torc_clock_ns() is right for longer ones too */
    bool is_tsc;
};

/* Calibrate into the caller's storage. Sleeps about 10 ms; the rate is then right to about 20 parts
 * per million, and to about 200 when the thread is preempted at both ends. Never fails. */
void torc_clock_init(struct torc_clock *clock);

/* Ticks now; monotonic on one core, and across cores where the TSC is invariant. About 10 ns; no
 * syscall. Not a fence: neighbouring loads and stores may move across it. */
uint64_t torc_clock_ticks(const struct torc_clock *clock);

/* Length of an interval of `ticks` in ns, rounded down. Pure; saturates at UINT64_MAX. */
uint64_t torc_clock_ns(const struct torc_clock *clock, uint64_t ticks);

/* The other way, rounded down. Pure; saturates at UINT64_MAX, so that a deadline of "never" stays
 * one. */
uint64_t torc_clock_ticks_of_ns(const struct torc_clock *clock, uint64_t ns);

/* Milliseconds since 1970 by CLOCK_REALTIME; may step when the clock is set. A vDSO read. */
uint64_t torc_clock_wall_ms(void);

/* The same in microseconds. */
uint64_t torc_clock_wall_us(void);

/* CLOCK_MONOTONIC in ns: deadlines that are handed to the kernel. A vDSO read. */
uint64_t torc_clock_monotonic_ns(void);

#endif
