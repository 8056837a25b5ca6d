/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-linear histogram of unsigned values (HdrHistogram's idea, G. Tene): exact up to 63, then 32
 * steps an octave, so the error is below 1/32. Fixed size (15 KiB), no allocation; covers all of 64
 * bits. One that is all zero bytes is empty and ready.
 *
 * Threads: one writer. Others may read it, copy it or merge from it meanwhile: words are loaded and
 * stored whole (relaxed), so a reader of a torn copy gets a count that is off by a few.
 */
#ifndef TORC_CORE_HISTOGRAM_H
#define TORC_CORE_HISTOGRAM_H

#include "core/base.h"

#define TORC_HISTOGRAM_SUB_BITS 5u
/* Values below 32, then 59 octaves (2^5 .. 2^63) of 32 steps each. */
#define TORC_HISTOGRAM_BUCKETS ((65u - TORC_HISTOGRAM_SUB_BITS) << TORC_HISTOGRAM_SUB_BITS)

struct torc_histogram {
    uint64_t count;
    uint64_t sum; /* modulo 2^64: 584 years of ns */
    uint64_t min; /* of no meaning while count is 0 */
    uint64_t max; /* 0 while count is 0 */
    uint64_t buckets[TORC_HISTOGRAM_BUCKETS];
};

void torc_histogram_reset(struct torc_histogram *h);

/* O(1), a few ns; the writer's thread. */
void torc_histogram_add(struct torc_histogram *h, uint64_t value);

/* Add all of `from` to `into`: the same as adding each of its values. The two differ. Writer's
 * thread of `into`. */
void torc_histogram_merge(struct torc_histogram *into, const struct torc_histogram *from);

/* The least bucket top that at least `percent` (0..100, clamped; NaN counts as 0) of the values do
 * not pass; 0 when empty; never above max. Walks the buckets: about a microsecond. */
uint64_t torc_histogram_percentile(const struct torc_histogram *h, double percent);

/* The bucket a value falls into, below TORC_HISTOGRAM_BUCKETS. O(1), pure. */
unsigned torc_histogram_bucket_of(uint64_t value);
/* Least and greatest value of a bucket below TORC_HISTOGRAM_BUCKETS. O(1), pure. */
uint64_t torc_histogram_bucket_low(unsigned bucket);
uint64_t torc_histogram_bucket_high(unsigned bucket);

/* Walk the invariants: buckets add up to count, min and max lie in the outermost filled buckets.
 * For tests; no writer meanwhile. */
bool torc_histogram_check(const struct torc_histogram *h) TORC_MUST_USE;

#endif
