/* SPDX-License-Identifier: Apache-2.0 */
#include "core/placement.h"

#include <sched.h>
#include <unistd.h>

/* Decimal digits at *text, advanced past them. -1: none, or TORC_CPUS_MAX and above. */
static int parse_number(const char **text)
{
    const char *p = *text;
    int n = 0;
    if (*p < '0' || *p > '9') {
        return -1;
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (*p - '0');
        if (n >= TORC_CPUS_MAX) {
            return -1;
        }
    }
    *text = p;
    return n;
}

int torc_placement_parse_cpus(const char *text, int *cpus, size_t cap)
{
    /* The list is built here first: the caller's is untouched when the last word turns out bad. No
     * CPU comes twice, so it fits. */
    int list[TORC_CPUS_MAX];
    bool taken[TORC_CPUS_MAX] = {false};
    size_t n = 0;
    for (const char *p = text;; p++) {
        int first = parse_number(&p);
        int last = first;
        if (first >= 0 && *p == '-') {
            p++;
            last = parse_number(&p);
        }
        if (first < 0 || last < first) {
            return -EINVAL;
        }
        for (int cpu = first; cpu <= last; cpu++) {
            if (taken[cpu]) {
                return -EINVAL;
            }
            taken[cpu] = true;
            list[n++] = cpu;
        }
        if (*p == '\0') {
            break;
        }
        if (*p != ',') {
            return -EINVAL;
        }
    }
    if (n > cap) {
        return -ENOSPC;
    }
    memcpy(cpus, list, n * sizeof list[0]);
    return (int)n;
}

int torc_placement_pin_self(int cpu)
{
    if (cpu < 0 || cpu >= TORC_CPUS_MAX) {
        return -EINVAL;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : -EINVAL;
}

int torc_placement_cpus_allowed(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    /* The kernel is built for more CPUs than the set holds: the machine's count is near enough. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
