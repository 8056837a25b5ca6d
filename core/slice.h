/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice borrows bytes: a pointer with a length, any byte values, no terminator.
 * Who owns the bytes, and for how long, is said by the function that gives the slice.
 */
#ifndef TORC_CORE_SLICE_H
#define TORC_CORE_SLICE_H

#include "core/base.h"

struct torc_slice {
    const uint8_t *data; /* may be NULL when len is 0 */
    size_t len;          /* bytes */
};

static inline struct torc_slice torc_slice_of(const void *data, size_t len)
{
    return (struct torc_slice){.data = data, .len = len};
}

/* The bytes of a C string without its terminator; borrowed from it. */
static inline struct torc_slice torc_slice_str(const char *s)
{
    return torc_slice_of(s, strlen(s));
}

static inline bool torc_slice_equal(struct torc_slice a, struct torc_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif
