/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/realtime.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

/* One heap for all threads, grown by its end only and never cut. */
static void keep_heap(void)
{
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, -1);
}

/* A store to each page; volatile, or the compiler drops them as nobody reads. */
static void touch(volatile uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += TORC_PAGE_BYTES) {
        bytes[at] = 0;
    }
}

int torc_realtime_enter(size_t reserve_bytes, struct torc_realtime *out_realtime)
{
    keep_heap();
    uint8_t *reserve = malloc(reserve_bytes);
    if (reserve == NULL) {
        return -ENOMEM;
    }
    touch(reserve, reserve_bytes);
    free(reserve); /* it stays the heap's */
    *out_realtime = (struct torc_realtime){.is_locked = true};
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        out_realtime->is_locked = false;
        out_realtime->why = errno == EPERM ? "no permission to lock memory"
                                           : "the limit of locked memory (RLIMIT_MEMLOCK)";
    }
    return 0;
}

void torc_realtime_touch_stack(void)
{
    uint8_t stack[TORC_REALTIME_STACK_BYTES];
    touch(stack, sizeof stack);
}
