/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-linear histogram of unsigned values (HdrHistogram's idea, G. Tene): exact up to 63, then 32
 * steps an octave, so the error is below 1/32. Fixed size, no allocation. One writer; a reader of a
 * torn copy gets a count that is off by a few.
 */
#ifndef TORC_CORE_HISTOGRAM_H
#define TORC_CORE_HISTOGRAM_H

#include "core/base.h"

#define TORC_HISTOGRAM_SUB_BITS 5u
#define TORC_HISTOGRAM_BUCKETS  ((64u - TORC_HISTOGRAM_SUB_BITS) << TORC_HISTOGRAM_SUB_BITS)

struct torc_histogram {
    uint64_t count, sum, min, max;
    uint64_t buckets[TORC_HISTOGRAM_BUCKETS];
};

void torc_histogram_reset(struct torc_histogram *h);
void torc_histogram_add(struct torc_histogram *h, uint64_t value); /* O(1) */
void torc_histogram_merge(struct torc_histogram *into, const struct torc_histogram *from);
/* The least bucket top that at least `percent` (0..100) of the values do not pass; 0 when empty;
 * never above max. */
uint64_t torc_histogram_percentile(const struct torc_histogram *h, double percent);
unsigned torc_histogram_bucket_of(uint64_t value);
uint64_t torc_histogram_bucket_low(unsigned bucket);  /* least value of the bucket */
uint64_t torc_histogram_bucket_high(unsigned bucket); /* greatest value of the bucket */

#endif
