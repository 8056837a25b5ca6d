/* SPDX-License-Identifier: Apache-2.0
 *
 * A point in time at which a key or a field ends: milliseconds since 1970-01-01 UTC, 1 to
 * TORC_EXPIRY_MAX. In records and blocks it takes six bytes, little endian.
 */
#ifndef TORC_HASH_EXPIRY_TIME_H
#define TORC_HASH_EXPIRY_TIME_H

#include "core/base.h"

#define TORC_EXPIRY_NONE  0ull               /* no time: does not end */
#define TORC_EXPIRY_MAX   ((1ull << 46) - 1) /* the largest time, in the year 4199 */
#define TORC_EXPIRY_KEEP  (UINT64_MAX - 1)   /* to a put: what the field has */
#define TORC_EXPIRY_NEVER UINT64_MAX         /* as a bound: later than any time */
#define TORC_EXPIRY_BYTES 6u                 /* of a time that is stored */

static inline uint64_t torc_expiry_load(const uint8_t *p)
{
    return torc_load_u32(p) | (uint64_t)torc_load_u16(p + 4) << 32;
}
static inline void torc_expiry_store(uint8_t *p, uint64_t when)
{
    torc_store_u32(p, (uint32_t)when);
    torc_store_u16(p + 4, (uint16_t)(when >> 32));
}
/* Is it over at `now`? */
static inline bool torc_expiry_is_past(uint64_t when, uint64_t now)
{
    return when - 1 < now; /* none wraps around and is not */
}

#endif
