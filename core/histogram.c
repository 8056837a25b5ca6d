/* SPDX-License-Identifier: Apache-2.0
 *
 * Bucket number: values below 32 are their own number. Above, with e = log2(value) - 5 the five
 * bits behind the leading one pick the step and e + 1 the octave, so numbers go on without a gap:
 * 32..63 are octave 1 with steps of width 1, 64..127 octave 2 with steps of width 2, and so on.
 */
#include "core/histogram.h"

#include <float.h>

#define SUB_COUNT (1u << TORC_HISTOGRAM_SUB_BITS)

/* The single writer may use plain arithmetic between a relaxed load and a relaxed store; both are
 * ordinary moves, and they keep a concurrent reader free of data races. */
static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The builtin writes through `word`, which the linter does not see. */
// NOLINTNEXTLINE(readability-non-const-parameter)
static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

void torc_histogram_reset(struct torc_histogram *h)
{
    store(&h->count, 0);
    store(&h->sum, 0);
    store(&h->min, 0);
    store(&h->max, 0);
    for (unsigned i = 0; i < TORC_HISTOGRAM_BUCKETS; i++) {
        store(&h->buckets[i], 0);
    }
}

unsigned torc_histogram_bucket_of(uint64_t value)
{
    if (value < SUB_COUNT) {
        return (unsigned)value;
    }
    unsigned e = torc_log2_floor(value) - TORC_HISTOGRAM_SUB_BITS;
    unsigned step = (unsigned)(value >> e) & (SUB_COUNT - 1);
    return (e + 1) << TORC_HISTOGRAM_SUB_BITS | step;
}

uint64_t torc_histogram_bucket_low(unsigned bucket)
{
    assert(bucket < TORC_HISTOGRAM_BUCKETS);
    if (bucket < SUB_COUNT) {
        return bucket;
    }
    unsigned e = (bucket >> TORC_HISTOGRAM_SUB_BITS) - 1;
    return (uint64_t)(SUB_COUNT | (bucket & (SUB_COUNT - 1))) << e;
}

uint64_t torc_histogram_bucket_high(unsigned bucket)
{
    assert(bucket < TORC_HISTOGRAM_BUCKETS);
    return bucket + 1 == TORC_HISTOGRAM_BUCKETS ? UINT64_MAX
                                                : torc_histogram_bucket_low(bucket + 1) - 1;
}

void torc_histogram_add(struct torc_histogram *h, uint64_t value)
{
    uint64_t count = load(&h->count);
    if (count == 0 || value < load(&h->min)) {
        store(&h->min, value);
    }
    if (value > load(&h->max)) {
        store(&h->max, value);
    }
    uint64_t *bucket = &h->buckets[torc_histogram_bucket_of(value)];
    store(bucket, load(bucket) + 1);
    store(&h->sum, load(&h->sum) + value);
    store(&h->count, count + 1);
}

void torc_histogram_merge(struct torc_histogram *into, const struct torc_histogram *from)
{
    assert(into != from);
    uint64_t added = load(&from->count);
    if (added == 0) {
        return;
    }
    uint64_t count = load(&into->count);
    uint64_t min = load(&from->min);
    uint64_t max = load(&from->max);
    if (count == 0 || min < load(&into->min)) {
        store(&into->min, min);
    }
    if (max > load(&into->max)) {
        store(&into->max, max);
    }
    for (unsigned i = 0; i < TORC_HISTOGRAM_BUCKETS; i++) {
        uint64_t n = load(&from->buckets[i]);
        if (n != 0) {
            store(&into->buckets[i], load(&into->buckets[i]) + n);
        }
    }
    store(&into->sum, load(&into->sum) + load(&from->sum));
    store(&into->count, count + added);
}

/* How many values at least `percent` of `count` are: 1..count. */
static uint64_t rank_of(uint64_t count, double percent)
{
    /* The comparisons are written so that NaN takes the first way out. */
    if (!(percent > 0.0)) {
        return 1;
    }
    if (percent >= 100.0) {
        return count;
    }
    /* Most percentages have no exact double: without the slack, 0.68 % of 10000 would be 69. */
    double exact = percent * (double)count / 100.0;
    exact -= exact * 4.0 * DBL_EPSILON;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact) {
        rank++;
    }
    return torc_max_u64(1, torc_min_u64(rank, count));
}

uint64_t torc_histogram_percentile(const struct torc_histogram *h, double percent)
{
    uint64_t count = load(&h->count);
    uint64_t max = load(&h->max);
    if (count == 0) {
        return 0;
    }
    uint64_t rank = rank_of(count, percent);
    uint64_t seen = 0;
    unsigned last = torc_histogram_bucket_of(max);
    for (unsigned i = 0; i < last; i++) {
        seen += load(&h->buckets[i]);
        if (seen >= rank) {
            return torc_histogram_bucket_high(i);
        }
    }
    return max;
}

bool torc_histogram_check(const struct torc_histogram *h)
{
    uint64_t total = 0;
    unsigned first = TORC_HISTOGRAM_BUCKETS;
    unsigned last = 0;
    for (unsigned i = 0; i < TORC_HISTOGRAM_BUCKETS; i++) {
        if (h->buckets[i] != 0) {
            total += h->buckets[i];
            first = first == TORC_HISTOGRAM_BUCKETS ? i : first;
            last = i;
        }
    }
    if (total != h->count) {
        return false;
    }
    if (total == 0) {
        return h->max == 0 && h->sum == 0;
    }
    return h->min <= h->max && torc_histogram_bucket_of(h->min) == first &&
           torc_histogram_bucket_of(h->max) == last;
}
