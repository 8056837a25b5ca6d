/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/harness/pin.h"

#include <sched.h>
#include <stdio.h>

#include "core/placement.h"

/* "0-3,8": the CPUs this thread may use, as many as fit. */
static void list_allowed(char *out, size_t cap)
{
    cpu_set_t set;
    out[0] = '\0';
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return;
    }
    size_t at = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &set)) {
            continue;
        }
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)(last + 1), &set)) {
            last++;
        }
        char range[32];
        int len = last == cpu ? snprintf(range, sizeof range, "%d", cpu)
                              : snprintf(range, sizeof range, "%d-%d", cpu, last);
        if (len < 0 || at + (size_t)len + 2 > cap) {
            return;
        }
        at += (size_t)snprintf(out + at, cap - at, "%s%s", at == 0 ? "" : ",", range);
        cpu = last;
    }
}

int torc_pin(int cpu, char error[TORC_PIN_ERROR_BYTES])
{
    char allowed[96];
    list_allowed(allowed, sizeof allowed);
    if (torc_placement_pin_self(cpu) != 0) {
        (void)snprintf(error, TORC_PIN_ERROR_BYTES, "CPU %d is not to be had here; allowed: %s",
                       cpu, allowed);
        return -EINVAL;
    }
    return 0;
}
