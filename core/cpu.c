/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

#define N_LEVELS 4

static const char *const level_names[N_LEVELS] = {
    [TORC_CPU_SCALAR] = "scalar",
    [TORC_CPU_SSE2] = "sse2",
    [TORC_CPU_AVX2] = "avx2",
    [TORC_CPU_AVX512] = "avx512",
};

enum torc_cpu_level torc_cpu_level_max(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return TORC_CPU_AVX512;
    }
    return __builtin_cpu_supports("avx2") ? TORC_CPU_AVX2 : TORC_CPU_SSE2;
#else
    return TORC_CPU_SCALAR;
#endif
}

static enum torc_cpu_level decide(void)
{
    enum torc_cpu_level max = torc_cpu_level_max();
    const char *wish = getenv("TORC_CPU");
    for (unsigned i = 0; wish != NULL && i < N_LEVELS; i++) {
        if (strcasecmp(wish, level_names[i]) == 0) {
            return i < (unsigned)max ? (enum torc_cpu_level)i : max;
        }
    }
    return max;
}

enum torc_cpu_level torc_cpu_level(void)
{
    /* Level plus one, 0: not decided. Relaxed: threads that race here decide alike, and the word
     * publishes nothing but itself. */
    static atomic_uint decided;
    unsigned level = atomic_load_explicit(&decided, memory_order_relaxed);
    if (TORC_UNLIKELY(level == 0)) {
        level = (unsigned)decide() + 1;
        atomic_store_explicit(&decided, level, memory_order_relaxed);
    }
    return (enum torc_cpu_level)(level - 1);
}

const char *torc_cpu_level_name(enum torc_cpu_level level)
{
    assert((unsigned)level < N_LEVELS);
    return level_names[level];
}
