/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, fields and values for measuring: opaque text, made from a number.
 */
#ifndef TORC_PERF_MICRO_BENCH_TEXT_H
#define TORC_PERF_MICRO_BENCH_TEXT_H

#include "core/slice.h"

#define TORC_BENCH_TEXT_DIGITS 6u

/* Write `len` bytes (1 or more) of text for number `id` and variant `salt`: a letter and up to
 * TORC_BENCH_TEXT_DIGITS digits in base 36 for the number, then hexadecimal digits that look
 * random. So the codec leaves it as it is. Texts of one length differ as long as id < 26 * 36^(len
 * - 1), at most 26 * 36^6 (56 thousand million); for one id, texts of two salts differ with all but
 * certainty from about 15 bytes on. Returns the slice of `to`. */
struct torc_slice torc_bench_text(uint8_t *to, size_t len, uint64_t id, uint64_t salt);

/* Random bits from `x`; never the same for two values of `x`. Pure. */
uint64_t torc_bench_mix(uint64_t x);

#endif
