/* SPDX-License-Identifier: Apache-2.0
 *
 * Record storage: records are byte-packed into segments, log-style, and counted live or dead. A log
 * of records (Rosenblum & Ousterhout 1992; memory form: Rumble et al., FAST 2014) instead of size
 * classes: no rounding, and a cleaner can empty any segment by moving its live records.
 *
 *   segment, TORC_SEGMENT_BYTES:  [ head, 64 bytes ][ record ][ record ] ... [ free ]
 *
 * A stream is a place where records are appended: it has one open segment. The shared stream (in
 * the superblock) takes key records; a large full hash has a stream of its own, so that the owner
 * stands once in the segment head and costs its records nothing. Records above
 * TORC_RECORD_MAX_BYTES get page runs of their own (extents), each a head (64 bytes, same struct)
 * with one record.
 *
 * This layer knows nothing of what a record says. The layer above can tell from a record's first
 * bytes how long it is and whether it lives.
 *
 * Thread: the arena's owner. References stay valid until freed, or until the cleaner moves the
 * record.
 */
#ifndef TORC_CORE_SEGMENT_H
#define TORC_CORE_SEGMENT_H

#include "core/arena.h"

#define TORC_SEGMENT_BYTES      (256u * 1024u)
#define TORC_SEGMENT_HEAD_BYTES 64u
#define TORC_RECORD_MAX_BYTES   (64u * 1024u) /* a quarter of a segment; larger ones are extents */
#define TORC_SEGMENT_MAGIC      0x47455354u   /* "TSEG" */

enum torc_segment_kind { TORC_SEGMENT_OPEN = 1, TORC_SEGMENT_CLOSED = 2, TORC_SEGMENT_EXTENT = 3 };

/* First 64 bytes of a segment or extent. */
struct torc_segment {
    uint32_t magic;
    uint32_t kind;       /* enum torc_segment_kind */
    uint64_t owner;      /* reference of the owning root, 0 = shared */
    uint64_t next, prev; /* list of the stream's segments (extents: of the stream's extents) */
    uint64_t used;       /* bytes from the head's end that hold records, live or dead */
    uint64_t live;       /* bytes of them that live */
    uint64_t n_pages;    /* of the whole segment or extent */
    uint64_t reserved;
};
static_assert(sizeof(struct torc_segment) == TORC_SEGMENT_HEAD_BYTES, "segment head");

/* Where one owner's records go. Lives in the arena. All-zero with `owner` set is an empty stream.
 */
struct torc_stream {
    uint64_t owner;
    uint64_t open;    /* open segment, 0 = none yet */
    uint64_t closed;  /* head of the list of closed segments */
    uint64_t extents; /* head of the list of extents */
    uint64_t live;    /* bytes, over all segments and extents */
    uint64_t dead;    /* bytes, over all segments */
};

/* The arena's shared stream. */
struct torc_stream *torc_stream_shared(struct torc_arena *arena);

/* Append room for `bytes` (1 or more), contents undefined, not aligned. -ENOSPC, -ENOMEM as
 * torc_arena_run_alloc(). O(1), but O(log) when a segment is opened. */
int torc_record_alloc(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                      uint64_t *out_ref) TORC_MUST_USE;

/* The record is dead. `bytes` as given to alloc (less what was cut off). A segment whose last live
 * record dies is freed, unless it is the open one, which starts again from its front. */
void torc_record_free(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes);

/* The last `cut` bytes of a record of `bytes` become a dead record of their own (the layer above
 * has written a dead record's head there). Not for extents. */
void torc_record_trim(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes, uint64_t cut);

/* True if `bytes` at `ref` are an extent's record. */
static inline bool torc_record_is_extent(uint64_t bytes)
{
    return bytes > TORC_RECORD_MAX_BYTES;
}

/* The segment or extent that holds the record at `ref` of `bytes`. O(1). */
struct torc_segment *torc_segment_of(const struct torc_arena *arena, uint64_t ref, uint64_t bytes);

/* Promise that the next records, `bytes` in all with none above `largest`, can be allocated without
 * failing, as long as nothing else is allocated between. -ENOSPC, -ENOMEM; nothing changed then. */
int torc_record_reserve(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                        uint64_t largest) TORC_MUST_USE;

/* The closed segment with the most dead bytes among at most `look` of them, or TORC_REF_NONE: the
 * cleaner's next victim. */
uint64_t torc_stream_victim(struct torc_arena *arena, struct torc_stream *stream, unsigned look);

/* Free one segment or extent of the stream, whatever lives in it: drops a large owner in steps.
 * Returns true while there is more. O(log). */
bool torc_stream_drop_step(struct torc_arena *arena, struct torc_stream *stream);

/* Walk the stream's lists and counters. 0 or -EBADMSG with *out_why. */
int torc_stream_check(const struct torc_arena *arena, const struct torc_stream *stream,
                      const char **out_why) TORC_MUST_USE;

#endif
