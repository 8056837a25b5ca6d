/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests made before the clock runs: choosing, naming, making values and, for a socket, encoding
 * is done; in the timed part they are read one after another. One request takes about 150 bytes
 * and what it carries.
 *
 * Threads: constant after torc_load_ahead_make().
 */
#ifndef TORC_PERF_LOAD_AHEAD_H
#define TORC_PERF_LOAD_AHEAD_H

#include "perf/load/load_ops.h"

struct torc_load_chunk;

struct torc_load_ahead {
    uint64_t n;
    struct torc_load_flight *flights;
    struct torc_load_request *requests;
    struct torc_load_chunk *chunks; /* what the requests borrow */
    size_t bytes;                   /* of all of it, about */
};

/* Make requests first, first + 1 and so on of the stream, up to `count`, or until they take
 * `bytes_max`. `road` says how they are kept; it is not spoken to. The caller goes on with the
 * stream at first + n. -ENOMEM: the stream cannot be gone on with. */
int torc_load_ahead_make(struct torc_load_ops *ops, const struct torc_load_road *road,
                         uint64_t first, uint64_t count, size_t bytes_max,
                         struct torc_load_ahead *out_ahead) TORC_MUST_USE;

void torc_load_ahead_fini(struct torc_load_ahead *ahead);

#endif
