/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vector level to use: the best the CPU has, or what TORC_CPU=scalar|sse2|avx2|avx512 asks
 * for (never above what it has). Any other text in TORC_CPU is as if it were not set.
 */
#ifndef TORC_CORE_CPU_H
#define TORC_CORE_CPU_H

#include "core/base.h"

/* Each level has all of those before it. AVX512 means F, BW, DQ and VL, so that byte lanes and
 * short vectors can be masked. Machines other than x86-64 are SCALAR. */
enum torc_cpu_level { TORC_CPU_SCALAR, TORC_CPU_SSE2, TORC_CPU_AVX2, TORC_CPU_AVX512 };

/* The level to use: decided at the first call, then constant. Any thread. */
enum torc_cpu_level torc_cpu_level(void);

/* What the CPU, and the kernel that saves its registers, have. Any thread. */
enum torc_cpu_level torc_cpu_level_max(void);

/* "scalar", "sse2", "avx2", "avx512": static text, as TORC_CPU takes it. */
const char *torc_cpu_level_name(enum torc_cpu_level level);

#endif
