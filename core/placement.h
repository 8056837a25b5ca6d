/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads and memory go: CPU lists, pinning, NUMA nodes (libnuma). A machine without NUMA is
 * one node, number 0.
 */
#ifndef TORC_CORE_PLACEMENT_H
#define TORC_CORE_PLACEMENT_H

#include "core/base.h"

#define TORC_CPUS_MAX 1024 /* CPU numbers are below this */

/* Parse "0,2-5" into cpus[0..cap), in the order written: list[i] is the CPU of thread i. Returns
 * the count, at least 1; -EINVAL: empty, not a list, a number from TORC_CPUS_MAX on, a range that
 * goes down, or a CPU named twice; -ENOSPC: more than cap. Looks at the text only, not at the
 * machine. Any thread. */
int torc_placement_parse_cpus(const char *text, int *cpus, size_t cap) TORC_MUST_USE;

/* Pin the calling thread to one CPU. -EINVAL: no such CPU, or not allowed here (cpuset). */
int torc_placement_pin_self(int cpu) TORC_MUST_USE;

/* Number of CPUs in this thread's affinity mask, at least 1. */
int torc_placement_cpus_allowed(void);

/* NUMA node of a CPU; -1 unknown. Any thread; reads /sys at the first call. */
int torc_placement_node_of_cpu(int cpu);

#endif
