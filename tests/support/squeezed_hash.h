/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash function that keeps only the bits of its seed: with few bits, names collide as hashes
 * never do. UINT64_MAX keeps all, 0 none.
 */
#ifndef TORC_TESTS_SUPPORT_SQUEEZED_HASH_H
#define TORC_TESTS_SUPPORT_SQUEEZED_HASH_H

#include "core/hashing.h"

static inline uint64_t torc_squeezed_hash(uint64_t mask, const void *data, size_t len)
{
    return torc_hash_bytes(0, data, len) & mask;
}

#endif
