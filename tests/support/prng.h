/* SPDX-License-Identifier: Apache-2.0
 *
 * Seeded random numbers for tests (splitmix64, S. Vigna). Set TORC_SEED to replay a run, TORC_OPS
 * to lengthen it.
 */
#ifndef TORC_TESTS_SUPPORT_PRNG_H
#define TORC_TESTS_SUPPORT_PRNG_H

#include "core/base.h"

struct torc_prng {
    uint64_t state;
};

static inline uint64_t torc_prng_next(struct torc_prng *prng)
{
    uint64_t z = (prng->state += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* 0..n-1; n > 0. */
static inline uint64_t torc_prng_below(struct torc_prng *prng, uint64_t n)
{
    return torc_mul_high(torc_prng_next(prng), n);
}

/* TORC_SEED from the environment, else `fallback` (fixed, so that a plain run is repeatable);
 * printed to stdout. */
uint64_t torc_test_seed(uint64_t fallback);
/* TORC_OPS from the environment, else `fallback`. */
uint64_t torc_test_ops(uint64_t fallback);

#endif
