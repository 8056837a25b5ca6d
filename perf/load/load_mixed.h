/* SPDX-License-Identifier: Apache-2.0
 *
 * Which fields there are while a mixed phase inserts, updates, deletes and grows them at random:
 * what the generator has to know to name fields that are there, and to keep or change the length
 * of a value. Starts from data as loaded. 12 bytes a field. Threads: one at a time.
 */
#ifndef TORC_PERF_LOAD_MIXED_H
#define TORC_PERF_LOAD_MIXED_H

#include "perf/harness/scatter.h"
#include "perf/harness/shapes.h"

enum torc_load_mixed_kind {
    TORC_LOAD_MIXED_INSERT,
    TORC_LOAD_MIXED_UPDATE,
    TORC_LOAD_MIXED_DELETE,
    TORC_LOAD_MIXED_GROW
};

struct torc_load_mixed_step {
    enum torc_load_mixed_kind kind;
    struct torc_shape_cell cell;
    uint32_t bytes; /* of the value to write; 0 for delete */
};

struct torc_load_mixed;

/* `grow_bytes` is added to a value's length each time it grows. The shape is borrowed for the life
 * of the object. -ENOMEM. O(fields). */
int torc_load_mixed_create(const struct torc_shape *shape, uint32_t grow_bytes,
                           struct torc_load_mixed **out_mixed) TORC_MUST_USE;

/* NULL is fine. */
void torc_load_mixed_destroy(struct torc_load_mixed *mixed);

/* The next step, each kind equally likely, and the object is as if it was done. O(1). */
struct torc_load_mixed_step torc_load_mixed_next(struct torc_load_mixed *mixed,
                                                 struct torc_random *random) TORC_MUST_USE;

#endif
