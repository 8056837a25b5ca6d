/* SPDX-License-Identifier: Apache-2.0
 *
 * Realtime: nothing that the kernel would have to give is asked for while requests are served. The
 * arena is committed at start (core/region.h); this is about the rest of the process: the heap, in
 * which buffers of clients lie, the code, and the stacks.
 *
 * The heap is grown once, by as much as buffers may take, and never shrinks; blocks are not mapped
 * one by one. All of the process is locked, now and in future, so that what the control thread maps
 * for a session is present before the poller sees it. Where locking is not allowed, everything is
 * present all the same, but the kernel may take it away when memory is short: that is reported.
 * Beyond the reserve the heap grows as any other, with page faults that INFO counts.
 */
#ifndef TORC_TORCD_REALTIME_H
#define TORC_TORCD_REALTIME_H

#include "core/base.h"

/* Of the poller's stack, present before it serves: what its deepest call takes, many times. */
#define TORC_REALTIME_STACK_BYTES ((size_t)256 * 1024)

struct torc_realtime {
    bool is_locked;  /* the process: all that is mapped, and what will be */
    const char *why; /* why not, or NULL; static */
};

/* For the rest of the process's life. `reserve_bytes` of heap are present afterwards. Before the
 * poller's thread is started. -ENOMEM: there is not as much. Not being allowed to lock is no error.
 */
int torc_realtime_enter(size_t reserve_bytes, struct torc_realtime *out_realtime) TORC_MUST_USE;

/* In the thread that will serve: make its stack present. */
void torc_realtime_touch_stack(void);

#endif
