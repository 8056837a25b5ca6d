/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving when the number of descriptors depends on what comes: WELCOME has four, REFUSED none.
 */
#ifndef TORC_RING_HANDSHAKE_PRIVATE_H
#define TORC_RING_HANDSHAKE_PRIVATE_H

#include "ring/handshake.h"

/* As torc_handshake_receive(), but either no descriptor or exactly `n_fds`: *out_n_fds. */
int torc_handshake_receive_some(int socket, void *buffer, size_t cap, int *fds, unsigned n_fds,
                                size_t *out_len, unsigned *out_n_fds) TORC_MUST_USE;

#endif
