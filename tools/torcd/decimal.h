/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal text of HINCRBYFLOAT: what Redis takes for a number, and how it prints one.
 *
 * Numbers are `long double`: 80 bits on x86-64, so that integers up to 2^64 are exact and printing
 * shows the tail that Redis shows there (1000 + 0.1 = 1000.09999999999999998). Where long double is
 * another format, the tails are that format's.
 *
 * The program never leaves the C locale: the point is a point. Pure; any thread.
 */
#ifndef TORC_TORCD_DECIMAL_H
#define TORC_TORCD_DECIMAL_H

#include "core/slice.h"

#define TORC_DECIMAL_BYTES 5120u /* a text is shorter, one that is read and one that is printed */

/* Read a whole text as C's strtold() does: decimal with or without exponent, hexadecimal, infinity.
 * False: empty, TORC_DECIMAL_BYTES or longer, blanks at an end, other bytes, not a number, out of
 * range (above the largest number, or so small that it is 0). O(len). */
bool torc_decimal_parse(struct torc_slice text, long double *out_value) TORC_MUST_USE;

/* Print a finite number: fixed notation, 17 digits behind the point, without trailing zeros or a
 * bare point, never "-0". Returns the length. */
size_t torc_decimal_print(long double value, char out[TORC_DECIMAL_BYTES]);

#endif
