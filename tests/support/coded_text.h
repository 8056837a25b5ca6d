/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that the value codec encodes, and text that it nearly would: decimals at the ends of their
 * range, with leading zeros and signs, UUIDs in the right and the wrong case. And bytes that can be
 * compressed more or less, or not at all.
 */
#ifndef TORC_TESTS_SUPPORT_CODED_TEXT_H
#define TORC_TESTS_SUPPORT_CODED_TEXT_H

#include <inttypes.h>
#include <stdio.h>

#include "core/slice.h"
#include "tests/support/prng.h"

#define TORC_CODED_KINDS 14u
#define TORC_CODED_BYTES 48u

/* The text of this kind (below TORC_CODED_KINDS) for a number. Texts differ as long as numbers
 * below 8,000, or kinds, do. */
static inline struct torc_slice torc_coded_text(unsigned kind, uint64_t number, char *room)
{
    static const char *const formats[TORC_CODED_KINDS] = {
        "%" PRIu64,
        "-%" PRIu64,
        "0%" PRIu64,
        "+%" PRIu64,
        "%" PRIu64,                    /* from 2^64 - 1 down */
        "-%" PRIu64,                   /* from -2^64 + 1 up */
        "1844674407370955%04" PRIu64,  /* from 2^64 up */
        "-1844674407370955%04" PRIu64, /* from -2^64 down */
        "%08" PRIx64 "-89ab-cdef-0123-456789abcdef",
        "%08" PRIX64 "-89AB-CDEF-0123-456789ABCDEF",
        "%08" PRIx64 "-89ab-cdef-0123-456789abcdeg",
        "%08" PRIx64 "89abcdef0123456789abcdef",
        "%08" PRIX64 "89ABCDEF0123456789ABCDEF",
        "%" PRIu64 ".0",
    };
    if (kind == 4 || kind == 5) {
        number = UINT64_MAX - number;
    } else if (kind == 6 || kind == 7) {
        number = 1616 + number % 8000;
    } else if (kind >= 8 && kind <= 12) {
        number = (uint32_t)number;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int len = snprintf(room, TORC_CODED_BYTES, formats[kind], number);
#pragma GCC diagnostic pop
    return torc_slice_of(room, (size_t)len);
}

/* Any of them, for numbers of any width. */
static inline struct torc_slice torc_coded_random(struct torc_prng *prng, char *room)
{
    unsigned kind = (unsigned)torc_prng_below(prng, TORC_CODED_KINDS);
    return torc_coded_text(kind, torc_prng_next(prng) >> torc_prng_below(prng, 64), room);
}

/* Fill `len` bytes: with one byte, with words of a small alphabet, or with bytes that nothing makes
 * shorter. */
static inline void torc_compressible_fill(struct torc_prng *prng, uint8_t *data, size_t len)
{
    uint64_t kind = torc_prng_below(prng, 4);
    if (kind < 2) {
        memset(data, (int)torc_prng_below(prng, 256), len);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        uint64_t bits = torc_prng_next(prng);
        data[i] = kind == 2 && i >= 8 && bits % 8 != 0 ? data[i - 8] : (uint8_t)(bits >> 8);
    }
}

#endif
