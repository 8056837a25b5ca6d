/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves of one ring session in this process, attached to each other as a server and a client
 * are: each has mappings of its own.
 */
#ifndef TORC_PERF_MICRO_BENCH_RING_H
#define TORC_PERF_MICRO_BENCH_RING_H

#include "ring/attachment.h"

struct torc_bench_ring {
    struct torc_session *session;       /* the server's half: one thread */
    struct torc_attachment *attachment; /* the client's half: one thread */
    int control;                        /* the server's end of the control socket */
};

/* Make and attach; `slots` is a power of two. Uses a thread and a socket in a temporary folder
 * while it runs; both are gone when it returns. Ends the program with a text on failure. */
void torc_bench_ring_open(struct torc_bench_ring *ring, uint32_t slots, enum torc_wait_mode wait);

/* Neither half is in use any more. */
void torc_bench_ring_close(struct torc_bench_ring *ring);

#endif
