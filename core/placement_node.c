/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of placement that asks libnuma: apart, so that clients link without it.
 */
#include <numa.h>
#include <pthread.h>
#include <unistd.h>

#include "core/placement.h"

int torc_placement_node_of_cpu(int cpu)
{
    /* libnuma fills a table at the first look-up, without a lock of its own. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (cpu < 0 || cpu >= sysconf(_SC_NPROCESSORS_CONF)) {
        return -1;
    }
    if (numa_available() < 0) {
        return 0;
    }
    (void)pthread_mutex_lock(&lock);
    int node = numa_node_of_cpu(cpu);
    (void)pthread_mutex_unlock(&lock);
    return node;
}
