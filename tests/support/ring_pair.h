/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves of a ring session in one process, over one mapping: a race detector sees a race only
 * when both threads use one address. Replaces attaching and sealing.
 */
#ifndef TORC_TESTS_SUPPORT_RING_PAIR_H
#define TORC_TESTS_SUPPORT_RING_PAIR_H

#include "ring/attachment_private.h"
#include "ring/session_private.h"

struct torc_ring_pair {
    struct torc_session *session;
    struct torc_attachment *attachment;
};

/* Small sizes, so that wraps and stalls come soon. */
struct torc_session_options torc_ring_pair_options(uint32_t slots, uint32_t area_bytes,
                                                   uint64_t long_message_max);

/* Make both, their next request at `position`. Ends the test program on failure. */
struct torc_ring_pair torc_ring_pair_make(const struct torc_session_options *options,
                                          uint64_t position, enum torc_wait_mode wait,
                                          uint64_t spin_ns);
void torc_ring_pair_free(struct torc_ring_pair *pair);

/* A message of `len` bytes (at least 8) with a head (`op`, `tag`) that passes for a request and a
 * reply of kind BYTES, and bytes that follow from tag and offset. */
void torc_ring_message_fill(uint8_t *message, size_t len, uint8_t op, uint32_t tag);
/* Is it what torc_ring_message_fill() makes? */
bool torc_ring_message_is(struct torc_slice message, size_t len, uint8_t op, uint32_t tag);

/* Descriptors open in this process. */
unsigned torc_open_fds(void);

#endif
