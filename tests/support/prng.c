/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/prng.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : fallback;
}

uint64_t torc_test_seed(uint64_t fallback)
{
    uint64_t seed = from_environment("TORC_SEED", fallback);
    printf("seed: TORC_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return seed;
}

uint64_t torc_test_ops(uint64_t fallback)
{
    return from_environment("TORC_OPS", fallback);
}
