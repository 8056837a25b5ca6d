/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hashing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t torc_hash_bytes(uint64_t seed, const void *data, size_t len)
{
    return XXH3_64bits_withSeed(data, len, seed);
}
