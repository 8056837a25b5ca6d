/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyed hashing of names. XXH3 (xxHash 0.8, https://xxhash.com) with a 64-bit seed drawn at server
 * start, so that nobody outside can choose names that collide.
 *
 * The 64 bits are shared out once, here, so that no two users look at the same bits by accident:
 *   high bits    position of the bucket in a table (multiply-shift, hash order)
 *   bits 0..7    fingerprint
 *   bits 8..23   group of a compact directory
 */
#ifndef TORC_CORE_HASHING_H
#define TORC_CORE_HASHING_H

#include "core/slice.h"

/* O(len), about 15 ns for a short name. Pure; any thread. */
uint64_t torc_hash_bytes(uint64_t seed, const void *data, size_t len);

static inline uint64_t torc_hash_slice(uint64_t seed, struct torc_slice s)
{
    return torc_hash_bytes(seed, s.data, s.len);
}
static inline uint8_t torc_hash_fingerprint(uint64_t hash)
{
    return (uint8_t)hash;
}
static inline uint32_t torc_hash_group(uint64_t hash)
{
    return (uint32_t)(hash >> 8) & 0xffffu;
}

#endif
