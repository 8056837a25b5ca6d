/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/micro/bench_text.h"

/* SplitMix64: Steele, Lea and Flood, OOPSLA 2014. */
uint64_t torc_bench_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

struct torc_slice torc_bench_text(uint8_t *to, size_t len, uint64_t id, uint64_t salt)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    size_t at = 0;
    uint64_t rest = id / 26;
    to[at++] = (uint8_t)('a' + id % 26);
    for (; at < len && at <= TORC_BENCH_TEXT_DIGITS; rest /= 36) {
        to[at++] = (uint8_t)digits[rest % 36];
    }
    uint64_t bits = 0;
    for (unsigned n = 0; at < len; n++) {
        bits = n % 16 == 0 ? torc_bench_mix(id ^ torc_bench_mix(salt + n)) : bits >> 4;
        to[at++] = (uint8_t)digits[bits & 15];
    }
    return torc_slice_of(to, len);
}
