/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at records of an arena that may be damaged, for the checkers of hash/. Nothing is
 * followed before it is known to lie inside the arena. A fault is a static text, NULL when all is
 * well.
 */
#ifndef TORC_HASH_INSPECT_PRIVATE_H
#define TORC_HASH_INSPECT_PRIVATE_H

#include "hash/record.h"
#include "hash/table.h"

/* True if `bytes` at `ref` lie in the arena, behind its first page. O(1). */
bool torc_inspect_is_inside(const struct torc_arena *arena, uint64_t ref, uint64_t bytes);

/* Fault of what should be a live record at `ref`, in a segment or extent of `owner` (0 = shared).
 * O(1). */
const char *torc_inspect_record(const struct torc_arena *arena, uint64_t ref, uint64_t owner,
                                struct torc_record_view *out_view);

/* Fault of a table whose memory, or the records that it refers to, cannot be read. When there is
 * none, every function that reads the table is safe on it, torc_table_check() too, which looks at
 * what it says. O(size). */
const char *torc_inspect_table(const struct torc_arena *arena, const struct torc_table *table);

/* Walk all records, live and dead, of a stream that torc_stream_check() found sound: they must fill
 * each segment without a gap, and the live ones must be as many bytes as its head says. `visit` is
 * called for each live one and returns a fault of its own. O(bytes). */
const char *torc_inspect_stream(const struct torc_arena *arena, const struct torc_stream *stream,
                                const char *(*visit)(void *arg, uint64_t ref,
                                                     const struct torc_record_view *view),
                                void *arg);

/* Bytes of the segments, and of the extents, that such a stream holds. O(number of them). */
uint64_t torc_inspect_segment_bytes(const struct torc_arena *arena,
                                    const struct torc_stream *stream);
uint64_t torc_inspect_extent_bytes(const struct torc_arena *arena,
                                   const struct torc_stream *stream);

/* Report a fault: 0 for NULL, else -EBADMSG with *out_why (may be NULL). */
static inline int torc_inspect_result(const char *fault, const char **out_why)
{
    if (fault == NULL) {
        return 0;
    }
    if (out_why != NULL) {
        *out_why = fault;
    }
    return -EBADMSG;
}

#endif
