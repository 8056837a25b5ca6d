/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/drain_private.h"

#include "hash/table_private.h"

#define SPILLED_BITS 0xff00u /* of a line's shape */

uint64_t torc_drain_line(struct torc_arena *arena, struct torc_table *table, uint64_t line,
                         void (*visit)(void *arg, uint64_t ref), void *arg)
{
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    if (line >= end) {
        return 0;
    }
    struct torc_line *from = torc_table_line(arena, table, line);
    unsigned n = torc_line_count(from);
    uint64_t next = torc_table_far_next(table, line);
    if (next < end) {
        TORC_PREFETCH(torc_table_line(arena, table, next));
    }
    for (unsigned slot = 0; slot < n; ++slot) {
        TORC_PREFETCH(torc_arena_at(arena, torc_line_ref(from, slot)));
    }
    from->shape &= SPILLED_BITS;
    table->count -= n;
    for (unsigned slot = 0; slot < n; ++slot) {
        visit(arg, torc_line_ref(from, slot)); /* the line keeps its bytes */
    }
    return next < end ? next : 0;
}
