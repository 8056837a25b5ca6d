/* SPDX-License-Identifier: Apache-2.0 */
#include "core/checksum.h"

#include <limits.h>

#include <isa-l/crc.h>
#include <isa-l/crc64.h>

uint32_t torc_crc32c(uint32_t crc, const void *data, size_t len)
{
    /* crc32_iscsi() leaves the inversions to its caller, and its length is an int. Its pointer is
     * not const though it only reads. */
    union {
        const void *given;
        unsigned char *taken;
    } at = {.given = data};
    uint32_t state = ~crc;
    while (len > 0) {
        size_t step = len < (size_t)INT_MAX ? len : (size_t)INT_MAX;
        state = crc32_iscsi(at.taken, (int)step, state);
        at.taken += step;
        len -= step;
    }
    return ~state;
}

uint64_t torc_crc64(uint64_t crc, const void *data, size_t len)
{
    /* crc64_jones_refl() inverts before and after; Redis does neither. */
    return len == 0 ? crc : ~crc64_jones_refl(~crc, data, len);
}
