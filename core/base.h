/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that every file uses: attributes, sizes, small arithmetic.
 *
 * Errors. A function that can fail returns an int: 0 or a count, else one of these negative errno
 * values. -EINVAL caller's mistake    -ENOMEM the kernel gives no memory   -ENOSPC a budget of ours
 * is reached -EAGAIN full or empty now   -EMSGSIZE can never fit              -ENOENT, -EEXIST
 *   -EBADMSG bytes fail validation   -EPROTO version or layout mismatch   -EPIPE peer gone
 * -ETIMEDOUT Outputs come last, are called out_*, and are untouched on failure.
 */
#ifndef TORC_CORE_BASE_H
#define TORC_CORE_BASE_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TORC_MUST_USE     __attribute__((warn_unused_result))
#define TORC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TORC_LIKELY(x)    __builtin_expect(!!(x), 1)
#define TORC_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define TORC_PREFETCH(p)  __builtin_prefetch(p)
/* Of which the compiler should not think that it is too long. */
#define TORC_ALWAYS_INLINE __attribute__((always_inline)) inline
#define TORC_NOINLINE      __attribute__((noinline))
/* Out of line, off the paths that are taken often. */
#define TORC_COLD __attribute__((cold, noinline))

#define TORC_CACHE_LINE_BYTES 64u
#define TORC_PAGE_BYTES       4096u
#define TORC_KIB              1024ull
#define TORC_MIB              (1024ull * TORC_KIB)
#define TORC_GIB              (1024ull * TORC_MIB)

/* Round `n` up to a multiple of `align`, a power of two. The caller keeps n below 2^63. */
static inline uint64_t torc_align_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static inline uint64_t torc_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t torc_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* High 64 bits of the product: (hash * n) >> 64 maps a hash to 0..n-1 and keeps its order. */
__extension__ typedef unsigned __int128 torc_u128;
static inline uint64_t torc_mul_high(uint64_t a, uint64_t b)
{
    return (uint64_t)(((torc_u128)a * b) >> 64);
}

/* floor(log2(n)); n > 0. */
static inline unsigned torc_log2_floor(uint64_t n)
{
    return 63u - (unsigned)__builtin_clzll(n);
}
/* The least k with 2^k >= n; n > 0. */
static inline unsigned torc_log2_ceil(uint64_t n)
{
    return n <= 1 ? 0 : torc_log2_floor(n - 1) + 1;
}

/* Unaligned little-endian loads and stores. torc runs on little-endian machines only. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shared layouts are little-endian");
static inline uint16_t torc_load_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t torc_load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t torc_load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void torc_store_u16(void *p, uint16_t v)
{
    memcpy(p, &v, 2);
}
static inline void torc_store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
static inline void torc_store_u64(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}
/* 40-bit values: arena references. */
static inline uint64_t torc_load_u40(const void *p)
{
    return torc_load_u32(p) | (uint64_t)((const uint8_t *)p)[4] << 32;
}
static inline void torc_store_u40(void *p, uint64_t v)
{
    torc_store_u32(p, (uint32_t)v);
    ((uint8_t *)p)[4] = (uint8_t)(v >> 32);
}

#endif
