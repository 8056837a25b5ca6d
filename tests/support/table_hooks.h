/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before everything else in the build of the table that its tests use: the test decides
 * what a name's hash is, and sees the work that an operation did.
 */
#ifndef TORC_TESTS_SUPPORT_TABLE_HOOKS_H
#define TORC_TESTS_SUPPORT_TABLE_HOOKS_H

#include "core/arena.h"
#include "core/slice.h"

/* Counted since the start: a test looks at differences. */
struct torc_test_table_work {
    uint64_t hashed;        /* records read for their hash */
    uint64_t searched;      /* lines looked at for a free slot, beside home and guest line */
    uint64_t moved_over;    /* entries moved between their two lines */
    uint64_t homes_moved;   /* by a stretch or shrink */
    uint64_t entries_moved; /* with these homes */
    uint64_t put_far;       /* entries that found no place in their two lines */
};
extern struct torc_test_table_work torc_test_table_work;

/* The hash of `name`: the real one, or what torc_test_squeeze() makes of it. */
uint64_t torc_test_table_hash(const struct torc_arena *arena, struct torc_slice name);

#define TORC_TABLE_HASH(arena, name)   torc_test_table_hash((arena), (name))
#define TORC_TABLE_NOTE(event, amount) ((void)(torc_test_table_work.event += (amount)))

#endif
