/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define NS_PER_SECOND 1000000000ull
#define NS_PER_HOUR   (3600ull * NS_PER_SECOND)

/* How long the calibration watches the counter, and how often it tries to catch both clocks at one
 * moment. */
#define CALIBRATION_NS      10000000ull
#define CALIBRATION_SAMPLES 16

/* A counter outside this range is no time-stamp counter of a real machine: better the kernel's. */
#define TICKS_PER_SECOND_MIN 10000000ull
#define TICKS_PER_SECOND_MAX 100000000000ull

/* ns = (ticks * mult) >> shift with mult = 10^9 * 2^shift / rate: one hour of ticks makes a product
 * of 3600 * 10^9 * 2^shift whatever the rate, and 2^22 is the largest power that stays below 2^64.
 */
#define NS_SHIFT 22u
static_assert((NS_PER_HOUR + 1) <= (UINT64_MAX >> NS_SHIFT), "one hour fits 64 bits");

static uint64_t read_ns(clockid_t id)
{
    struct timespec now = {0};
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void set_rate(struct torc_clock *clock, uint64_t ticks_per_second, bool is_tsc)
{
    *clock = (struct torc_clock){
        .ticks_per_second = ticks_per_second,
        .ns_mult = ((NS_PER_SECOND << NS_SHIFT) + ticks_per_second / 2) / ticks_per_second,
        .ns_shift = NS_SHIFT,
        .is_tsc = is_tsc,
    };
}

#if defined(__x86_64__)
/* One moment, seen by both clocks. */
struct moment {
    uint64_t ticks;
    uint64_t ns;
};

static bool tsc_is_invariant(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    /* Advanced power management leaf, EDX bit 8: constant rate in all P-, C- and T-states. */
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) == 1 && (d & 1u << 8) != 0;
}

/* Of several tries, the one with the narrowest bracket around the kernel's clock: a preemption or a
 * hypervisor exit between the two reads makes a wide bracket and is left out. */
static struct moment catch_moment(void)
{
    struct moment best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < CALIBRATION_SAMPLES; i++) {
        uint64_t before = __rdtsc();
        uint64_t ns = read_ns(CLOCK_MONOTONIC_RAW);
        uint64_t width = __rdtsc() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct moment){.ticks = before + width / 2, .ns = ns};
        }
    }
    return best;
}

/* Ticks per second, or 0 when the counter did not behave. */
static uint64_t measure_tsc_rate(void)
{
    struct moment start = catch_moment();
    uint64_t until = torc_clock_monotonic_ns() + CALIBRATION_NS;
    struct timespec deadline = {.tv_sec = (time_t)(until / NS_PER_SECOND),
                                .tv_nsec = (long)(until % NS_PER_SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) {
    }
    struct moment end = catch_moment();
    if (end.ns <= start.ns || end.ticks <= start.ticks) {
        return 0;
    }
    uint64_t ticks = end.ticks - start.ticks;
    uint64_t ns = end.ns - start.ns;
    torc_u128 rate = (torc_u128)ticks * NS_PER_SECOND / ns;
    return rate >= TICKS_PER_SECOND_MIN && rate <= TICKS_PER_SECOND_MAX ? (uint64_t)rate : 0;
}
#endif

void torc_clock_init(struct torc_clock *clock)
{
#if defined(__x86_64__)
    uint64_t rate = tsc_is_invariant() ? measure_tsc_rate() : 0;
    if (rate != 0) {
        set_rate(clock, rate, true);
        return;
    }
#endif
    set_rate(clock, NS_PER_SECOND, false);
}

uint64_t torc_clock_ticks(const struct torc_clock *clock)
{
#if defined(__x86_64__)
    if (TORC_LIKELY(clock->is_tsc)) {
        return __rdtsc();
    }
#else
    (void)clock;
#endif
    return read_ns(CLOCK_MONOTONIC_RAW);
}

uint64_t torc_clock_ns(const struct torc_clock *clock, uint64_t ticks)
{
    torc_u128 ns = (torc_u128)ticks * clock->ns_mult >> clock->ns_shift;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t torc_clock_ticks_of_ns(const struct torc_clock *clock, uint64_t ns)
{
    /* Whole seconds and the rest apart: both products but the first fit 64 bits, and no 128-bit
     * division is needed. */
    uint64_t whole = 0;
    if (__builtin_mul_overflow(ns / NS_PER_SECOND, clock->ticks_per_second, &whole)) {
        return UINT64_MAX;
    }
    uint64_t rest = ns % NS_PER_SECOND * clock->ticks_per_second / NS_PER_SECOND;
    return whole > UINT64_MAX - rest ? UINT64_MAX : whole + rest;
}

uint64_t torc_clock_wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000u;
}

uint64_t torc_clock_wall_us(void)
{
    return read_ns(CLOCK_REALTIME) / 1000u;
}

uint64_t torc_clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}
