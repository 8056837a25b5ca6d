/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

static struct torc_clock calibrated(void)
{
    struct torc_clock clock;
    torc_clock_init(&clock);
    return clock;
}

/* A clock of any rate, filled the way the header describes. */
static struct torc_clock clock_of_rate(uint64_t ticks_per_second)
{
    return (struct torc_clock){.ticks_per_second = ticks_per_second,
                               .ns_mult = (1000000000ull << 22) / ticks_per_second,
                               .ns_shift = 22,
                               .is_tsc = false};
}

START_TEST(calibration_fills_in_a_plausible_rate)
{
    struct torc_clock clock = calibrated();
    ck_assert_uint_ge(clock.ticks_per_second, 10000000);
    ck_assert_uint_le(clock.ticks_per_second, 100000000000);
    ck_assert_uint_gt(clock.ns_mult, 0);
    ck_assert_uint_lt(clock.ns_shift, 64);
    if (!clock.is_tsc) {
        ck_assert_uint_eq(clock.ticks_per_second, 1000000000);
    }
}
END_TEST

START_TEST(one_hour_of_ticks_fits_64_bits_before_the_shift)
{
    struct torc_clock clock = calibrated();
    uint64_t product = 0;
    ck_assert(!__builtin_mul_overflow(clock.ticks_per_second * 3600, clock.ns_mult, &product));
    ck_assert_uint_eq(product >> clock.ns_shift,
                      torc_clock_ns(&clock, clock.ticks_per_second * 3600));
}
END_TEST

START_TEST(ticks_never_go_back)
{
    struct torc_clock clock = calibrated();
    uint64_t last = torc_clock_ticks(&clock);
    for (int i = 0; i < 100000; i++) {
        uint64_t now = torc_clock_ticks(&clock);
        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

/* Both clocks are read outside and inside of each other, so that the interval by ticks has a lower
 * and an upper bound by the kernel's clock that hold however long the thread is held up. */
START_TEST(an_interval_agrees_with_the_kernel_clock_within_a_thousandth)
{
    struct torc_clock clock = calibrated();
    uint64_t outer = torc_clock_monotonic_ns();
    uint64_t ticks = torc_clock_ticks(&clock);
    uint64_t inner = torc_clock_monotonic_ns();
    uint64_t inner_end = inner;
    while (inner_end - inner < 20000000) {
        inner_end = torc_clock_monotonic_ns();
    }
    ticks = torc_clock_ticks(&clock) - ticks;
    uint64_t outer_end = torc_clock_monotonic_ns();
    uint64_t ns = torc_clock_ns(&clock, ticks);
    uint64_t least = inner_end - inner;
    uint64_t most = outer_end - outer;
    ck_assert_uint_ge(ns + least / 1000, least);
    ck_assert_uint_le(ns, most + most / 1000);
}
END_TEST

START_TEST(a_second_of_ticks_is_a_second_at_every_rate)
{
    static const uint64_t rates[] = {10000000, 999999999, 1000000000, 2100000007, 5400000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct torc_clock clock = clock_of_rate(rates[i]);
        ck_assert_uint_eq(torc_clock_ticks_of_ns(&clock, 1000000000), rates[i]);
        ck_assert_uint_eq(torc_clock_ticks_of_ns(&clock, 7200000000000), rates[i] * 7200);
        uint64_t ns = torc_clock_ns(&clock, rates[i]);
        ck_assert_uint_ge(ns, 1000000000 - 2000);
        ck_assert_uint_le(ns, 1000000000);
    }
}
END_TEST

START_TEST(zero_is_zero_both_ways)
{
    struct torc_clock clock = calibrated();
    ck_assert_uint_eq(torc_clock_ns(&clock, 0), 0);
    ck_assert_uint_eq(torc_clock_ticks_of_ns(&clock, 0), 0);
}
END_TEST

START_TEST(intervals_that_do_not_fit_saturate)
{
    struct torc_clock slow = clock_of_rate(10000000);
    ck_assert_uint_eq(torc_clock_ns(&slow, UINT64_MAX), UINT64_MAX);
    struct torc_clock fast = clock_of_rate(4000000000);
    ck_assert_uint_eq(torc_clock_ticks_of_ns(&fast, UINT64_MAX), UINT64_MAX);
    /* Days are long past the hour of the short formula, and still right. */
    uint64_t day_ns = torc_clock_ns(&fast, 86400ull * 4000000000);
    ck_assert_uint_ge(day_ns, 86399990000000);
    ck_assert_uint_le(day_ns, 86400000000000);
}
END_TEST

START_TEST(wall_milliseconds_are_those_of_the_system)
{
    time_t before = time(NULL);
    uint64_t ms = torc_clock_wall_ms();
    time_t after = time(NULL);
    /* time() may lag behind by one tick of the kernel. */
    ck_assert_uint_ge(ms, (uint64_t)before * 1000);
    ck_assert_uint_le(ms, (uint64_t)after * 1000 + 2000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_test(tcase, calibration_fills_in_a_plausible_rate);
    tcase_add_test(tcase, one_hour_of_ticks_fits_64_bits_before_the_shift);
    tcase_add_test(tcase, ticks_never_go_back);
    tcase_add_test(tcase, an_interval_agrees_with_the_kernel_clock_within_a_thousandth);
    tcase_add_test(tcase, a_second_of_ticks_is_a_second_at_every_rate);
    tcase_add_test(tcase, zero_is_zero_both_ways);
    tcase_add_test(tcase, intervals_that_do_not_fit_saturate);
    tcase_add_test(tcase, wall_milliseconds_are_those_of_the_system);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
