/* SPDX-License-Identifier: Apache-2.0
 *
 * Draining: a table that is to be dropped gives its entries away, line by line.
 *
 * Removing them one by one would not do: entries that go in the order of their hashes leave the
 * upper lines as full as they are, while a table that shrinks expects every line to get emptier.
 * So a drained table keeps its lines, and of an emptied line the marks of where its guests are. It
 * is no table that torc_table_check() would like, but what is still in it is found, scanned, and
 * can be pointed at another reference, and nothing in it points at a record that is gone.
 */
#ifndef TORC_HASH_DRAIN_PRIVATE_H
#define TORC_HASH_DRAIN_PRIVATE_H

#include "hash/table.h"

/* Take all entries out of `line` (0 = the first) and give each to `visit`, which may free the
 * record, but not change the table. Returns the next line, or 0 behind the last: the table is empty
 * then. Between the first call and the last nothing may be inserted or removed; end with
 * torc_table_drop_step(). O(1): ten entries at most. */
uint64_t torc_drain_line(struct torc_arena *arena, struct torc_table *table, uint64_t line,
                         void (*visit)(void *arg, uint64_t ref), void *arg);

#endif
