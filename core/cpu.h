/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vector level to use: the best the CPU has, or what TORC_CPU=scalar|sse2|avx2|avx512 asks
 * for (never above what it has).
 */
#ifndef TORC_CORE_CPU_H
#define TORC_CORE_CPU_H

#include "core/base.h"

enum torc_cpu_level { TORC_CPU_SCALAR, TORC_CPU_SSE2, TORC_CPU_AVX2, TORC_CPU_AVX512 };

enum torc_cpu_level torc_cpu_level(void);     /* decided at the first call, then constant */
enum torc_cpu_level torc_cpu_level_max(void); /* what the CPU has */
const char *torc_cpu_level_name(enum torc_cpu_level level);

#endif
