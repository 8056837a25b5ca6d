/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms against a sorted array of the same values: random adds into two of them, merges,
 * resets, and percentiles asked at random.
 */
#include "core/histogram.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/prng.h"

#define VALUES_MAX 3000 /* by adding; */
#define MERGED_MAX 6000 /* by merging */

struct model {
    uint64_t values[MERGED_MAX];
    size_t n;
};

static struct torc_histogram hists[2];
static struct model models[2];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All magnitudes alike, with the edges of octaves more often than chance gives them. */
static uint64_t draw_value(struct torc_prng *prng)
{
    uint64_t bits = torc_prng_below(prng, 65);
    uint64_t value = bits == 0 ? 0 : torc_prng_next(prng) >> (64 - bits);
    switch (torc_prng_below(prng, 8)) {
    case 0:
        return bits == 0 ? 0 : 1ull << (bits - 1);
    case 1:
        return bits == 0 ? UINT64_MAX : (1ull << (bits - 1)) - 1;
    default:
        return value;
    }
}

/* Per mille in steps, so that the model's rank needs no floating point: least k with
 * k * 1000 >= n * per_mille, at least 1. */
static uint64_t expected(const struct model *model, uint64_t per_mille)
{
    if (model->n == 0) {
        return 0;
    }
    uint64_t rank = torc_max_u64(1, (model->n * per_mille + 999) / 1000);
    uint64_t value = model->values[rank - 1];
    uint64_t top = torc_histogram_bucket_high(torc_histogram_bucket_of(value));
    return torc_min_u64(top, model->values[model->n - 1]);
}

static bool agrees(struct torc_prng *prng, const struct torc_histogram *h, struct model *model)
{
    uint64_t sum = 0;
    qsort(model->values, model->n, sizeof model->values[0], compare);
    for (size_t i = 0; i < model->n; i++) {
        sum += model->values[i];
    }
    bool same = torc_histogram_check(h) && h->count == model->n && h->sum == sum;
    if (model->n > 0) {
        same = same && h->min == model->values[0] && h->max == model->values[model->n - 1];
    }
    for (int i = 0; i < 8; i++) {
        uint64_t per_mille = torc_prng_below(prng, 1001);
        same = same &&
               torc_histogram_percentile(h, (double)per_mille / 10.0) == expected(model, per_mille);
    }
    return same;
}

static void step(struct torc_prng *prng)
{
    uint64_t which = torc_prng_below(prng, 2);
    struct torc_histogram *h = &hists[which];
    struct model *model = &models[which];
    uint64_t kind = torc_prng_below(prng, 100);
    if (kind < 90) {
        for (uint64_t n = torc_prng_below(prng, 40); n > 0 && model->n < VALUES_MAX; n--) {
            uint64_t value = draw_value(prng);
            torc_histogram_add(h, value);
            model->values[model->n++] = value;
        }
    } else if (kind < 96) {
        struct model *from = &models[1 - which];
        if (model->n + from->n <= MERGED_MAX) {
            torc_histogram_merge(h, &hists[1 - which]);
            memcpy(model->values + model->n, from->values, from->n * sizeof from->values[0]);
            model->n += from->n;
        }
    } else {
        torc_histogram_reset(h);
        model->n = 0;
    }
}

int main(void)
{
    struct torc_prng prng = {.state = torc_test_seed(20240611)};
    uint64_t ops = torc_test_ops(4000);
    for (uint64_t i = 0; i < ops; i++) {
        step(&prng);
        if (!agrees(&prng, &hists[i % 2], &models[i % 2])) {
            printf("step %llu: histogram and model differ\n", (unsigned long long)i);
            return EXIT_FAILURE;
        }
    }
    printf("%llu steps\n", (unsigned long long)ops);
    return EXIT_SUCCESS;
}
