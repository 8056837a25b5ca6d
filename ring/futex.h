/* SPDX-License-Identifier: Apache-2.0
 *
 * The two kernel calls of going to sleep: futex(2) on a shared word, membarrier(2).
 * Why and when: the table in ring/layout.h.
 */
#ifndef TORC_RING_FUTEX_H
#define TORC_RING_FUTEX_H

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base.h"

/* ThreadSanitizer knows seq_cst accesses but not membarrier(2): its builds are symmetric. */
#if defined(__SANITIZE_THREAD__)
#define TORC_SYMMETRIC_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TORC_SYMMETRIC_ONLY 1
#endif
#endif
#ifndef TORC_SYMMETRIC_ONLY
#define TORC_SYMMETRIC_ONLY 0
#endif

/* Sleep while *word is `expected`, at most timeout_ns. Returns at once if it is not; may return
 * early for no reason. The word may be in memory that this process can only read. One syscall. */
static inline void torc_futex_wait(const _Atomic uint32_t *word, uint32_t expected,
                                   uint64_t timeout_ns)
{
    struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / 1000000000u),
        .tv_nsec = (long)(timeout_ns % 1000000000u),
    };
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}

/* Wake one sleeper on the word, in any process: a session has one, and a hostile client that sends
 * more to sleep must not make this longer. One syscall, about 0.3 us when nobody sleeps. */
static inline void torc_futex_wake(const _Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Can this process use the asymmetric form? Asks the kernel: not for hot paths. */
static inline bool torc_membarrier_is_usable(void)
{
    if (TORC_SYMMETRIC_ONLY) {
        return false;
    }
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0 &&
           (commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0;
}

/* Take part in the barriers of others. Once per process is enough; repeating it is harmless. */
static inline bool torc_membarrier_register(void)
{
    return torc_membarrier_is_usable() &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/* A full barrier in every running thread of all registered processes, and in this one. 0.2 to
 * 2.3 us. */
static inline void torc_membarrier(void)
{
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

#endif
