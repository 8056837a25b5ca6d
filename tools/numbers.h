/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for people: counts with separators, durations, counts of nanoseconds.
 */
#ifndef TORC_TOOLS_NUMBERS_H
#define TORC_TOOLS_NUMBERS_H

#include "core/base.h"

#define TORC_NUMBER_BYTES 32

/* A number as text, by value: it lives as long as the expression it is used in. */
struct torc_number {
    char text[TORC_NUMBER_BYTES];
};

/* 1234567 as "1,234,567". */
struct torc_number torc_number_grouped(uint64_t n);

/* `n` things in `ns` nanoseconds, as things per second, grouped; "-" when no time passed. */
struct torc_number torc_number_rate(uint64_t n, uint64_t ns);

/* Nanoseconds with a unit and three digits: "412 ns", "1.23 us", "45.6 ms", "7.89 s". */
struct torc_number torc_number_ns(uint64_t ns);

/* Parse decimal digits and nothing else, `min` to `max`. False: not such a number. */
bool torc_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out) TORC_MUST_USE;

#endif
