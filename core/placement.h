/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads and memory go: CPU lists, pinning, NUMA nodes (libnuma). A machine without NUMA is
 * one node.
 */
#ifndef TORC_CORE_PLACEMENT_H
#define TORC_CORE_PLACEMENT_H

#include "core/base.h"

#define TORC_CPUS_MAX 1024

/* Parse "0,2-5" into cpus[]. Returns the count; -EINVAL text, -ENOSPC more than cap. */
int torc_placement_parse_cpus(const char *text, int *cpus, size_t cap) TORC_MUST_USE;
int torc_placement_pin_self(int cpu) TORC_MUST_USE; /* -EINVAL: no such CPU or not allowed */
int torc_placement_cpus_allowed(void);   /* CPUs in this thread's affinity mask, at least 1 */
int torc_placement_node_of_cpu(int cpu); /* NUMA node, -1 unknown */

#endif
