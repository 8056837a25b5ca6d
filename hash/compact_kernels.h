/* SPDX-License-Identifier: Apache-2.0
 *
 * The two vector jobs of the compact hash, one version per CPU level: finding a field by its
 * fingerprint, and adding to offsets after entries moved. A version holds the whole lookup, so that
 * choosing one costs a load and a jump, and nothing inside the search.
 */
#ifndef TORC_HASH_COMPACT_KERNELS_H
#define TORC_HASH_COMPACT_KERNELS_H

#include <stdatomic.h>

#include "core/cpu.h"
#include "hash/codec.h"

#define TORC_COMPACT_ABSENT SIZE_MAX

struct torc_compact_ops {
    const char *name;

    /* torc_compact_find(). */
    bool (*find)(const uint8_t *block, uint64_t hash, struct torc_slice field, uint64_t now,
                 struct torc_value *out_value);

    /* torc_compact_find_many(). */
    size_t (*find_many)(const uint8_t *block, size_t n, const uint64_t *hashes,
                        const struct torc_slice *fields, uint64_t now,
                        struct torc_value *out_values);

    /* The place of a field in directory order, past or not, and its value as stored, or
     * TORC_COMPACT_ABSENT and *out_value is untouched. The field is given as it is stored: its
     * bytes, and the first byte of their length (torc_compact_lead()), apart so that all of it
     * travels in registers. */
    size_t (*locate)(const uint8_t *block, uint64_t hash, struct torc_slice field, uint8_t lead,
                     struct torc_part *out_value);

    /* Fields in the groups before `group`: the sum of counts[0..group). `group` is below the number
     * of groups. */
    size_t (*count_before)(const uint8_t *counts, size_t group);

    /* Add `delta` (modulo 2^16) to each of the `n` offsets at `offsets` that is above `above`. */
    void (*shift)(uint8_t *offsets, size_t n, uint16_t above, uint16_t delta);
};

/* The version for `level`, or for the best level below that has one. Constant data. */
const struct torc_compact_ops *torc_compact_ops_at(enum torc_cpu_level level);

/* The version in use. At first it is one that chooses that of torc_cpu_level() and passes the call
 * on, so a call never asks; constant from then on. relaxed: threads that race choose alike, and
 * what is pointed at is constant. */
extern const struct torc_compact_ops *_Atomic torc_compact_ops_chosen;

static inline const struct torc_compact_ops *torc_compact_ops(void)
{
    return atomic_load_explicit(&torc_compact_ops_chosen, memory_order_relaxed);
}

#endif
