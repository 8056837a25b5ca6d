/* SPDX-License-Identifier: Apache-2.0
 *
 * What an entry takes in a given block, for models that predict sizes.
 */
#ifndef TORC_TESTS_SUPPORT_COMPACT_BYTES_H
#define TORC_TESTS_SUPPORT_COMPACT_BYTES_H

#include "hash/compact_private.h"

/* Bytes of the entry of this pair in `block`, exactly: its common lengths count. */
static inline size_t torc_compact_bytes_in(const uint8_t *block, struct torc_slice field,
                                           struct torc_slice value)
{
    uint8_t field_room[TORC_CODEC_ENCODED_MAX];
    uint8_t value_room[TORC_CODEC_ENCODED_MAX];
    const bool verbatim = torc_compact_is_verbatim(block);
    const struct torc_compact_entry entry = {
        .field = torc_compact_encode(verbatim, field, field_room),
        .value = torc_compact_encode(verbatim, value, value_room),
    };
    return torc_compact_front_bytes(torc_compact_common(block), &entry) + entry.field.bytes.len +
           entry.value.bytes.len;
}

#endif
