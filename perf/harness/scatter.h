/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a measurement touches things, from a seed: random numbers with repetition
 * (splitmix64, S. Vigna), and a scattered order that visits each of n things once. Both are cheap
 * enough for a timed loop: a few ns, no memory.
 */
#ifndef TORC_PERF_SCATTER_H
#define TORC_PERF_SCATTER_H

#include "core/base.h"

/* One thread. Any state is a good seed. */
struct torc_random {
    uint64_t state;
};

static inline uint64_t torc_random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static inline uint64_t torc_random_next(struct torc_random *random)
{
    return torc_random_mix(random->state += 0x9e3779b97f4a7c15ull);
}

/* 0..n-1, n > 0; off by less than n / 2^64 from even. */
static inline uint64_t torc_random_below(struct torc_random *random, uint64_t n)
{
    return torc_mul_high(torc_random_next(random), n);
}

/* A bijection of 0..n-1. Constant after torc_scatter_init(): any number of threads. */
struct torc_scatter {
    uint64_t n;
    uint64_t mask; /* 2^k - 1, k the least with 2^k >= n */
    uint64_t mul;  /* odd */
    uint64_t add;
    unsigned shift; /* at least half of k, and 1 */
};

/* n from 1 to 2^63. */
static inline void torc_scatter_init(struct torc_scatter *scatter, uint64_t n, uint64_t seed)
{
    struct torc_random random = {seed};
    unsigned bits = torc_log2_ceil(n);
    *scatter = (struct torc_scatter){
        .n = n,
        .mask = (1ull << bits) - 1,
        .mul = torc_random_next(&random) | 1,
        .add = torc_random_next(&random),
        .shift = bits / 2 + 1,
    };
}

/* The i-th thing to visit; i < n. Each step is a bijection of 0..mask: a multiplication by an odd
 * number, an addition, a shift that is folded in. What falls outside of 0..n-1 goes round again,
 * which keeps the whole one to one and takes less than two rounds on average. */
static inline uint64_t torc_scatter_at(const struct torc_scatter *scatter, uint64_t i)
{
    do {
        i = (i * scatter->mul + scatter->add) & scatter->mask;
        i ^= i >> scatter->shift;
        i = (i * 0x9e3779b97f4a7c15ull) & scatter->mask;
        i ^= i >> scatter->shift;
    } while (i >= scatter->n);
    return i;
}

#endif
