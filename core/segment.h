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
 * bytes how long it is and whether it lives; it walks a segment from its head's end over `used`
 * bytes.
 *
 * Failure: a caller that needs several records allocates them one by one and frees them again when
 * one fails; the newest first, and nothing is left of it.
 *
 * Thread: the arena's owner. References stay valid until freed, or until the cleaner moves the
 * record. Format: docs/formats/arena.md.
 */
#ifndef TORC_CORE_SEGMENT_H
#define TORC_CORE_SEGMENT_H

#include "core/arena.h"

#define TORC_SEGMENT_BYTES      262144u /* 256 KiB, and aligned to that */
#define TORC_SEGMENT_HEAD_BYTES 64u
#define TORC_SEGMENT_ROOM_BYTES (TORC_SEGMENT_BYTES - TORC_SEGMENT_HEAD_BYTES) /* for records */
#define TORC_RECORD_MAX_BYTES   65536u      /* a quarter of a segment; larger ones are extents */
#define TORC_SEGMENT_MAGIC      0x47455354u /* "TSEG" */

enum torc_segment_kind { TORC_SEGMENT_OPEN = 1, TORC_SEGMENT_CLOSED = 2, TORC_SEGMENT_EXTENT = 3 };

/* First 64 bytes of a segment or extent. Closed segments of a stream form a ring; extents form one
 * of their own; an open segment is in neither (next and prev 0). */
struct torc_segment {
    uint32_t magic;
    uint32_t kind;       /* enum torc_segment_kind */
    uint64_t owner;      /* of the stream: reference of the owning root, 0 = shared */
    uint64_t next, prev; /* references of the neighbours in the ring; itself when alone */
    uint64_t used;       /* bytes from the head's end that hold records, live or dead */
    uint64_t live;       /* bytes of them that live */
    uint64_t n_pages;    /* of the whole segment or extent */
    uint64_t reserved;
};
static_assert(sizeof(struct torc_segment) == TORC_SEGMENT_HEAD_BYTES, "segment head");

/* Where one owner's records go. Lives in the arena. All-zero with `owner` set is an empty stream;
 * so is one whose records are all freed, but for an open segment that it may still hold, which
 * torc_stream_drop_step() gives back. */
struct torc_stream {
    uint64_t owner;
    uint64_t open;    /* open segment, 0 = none yet */
    uint64_t closed;  /* the closed segment at which the cleaner looks next, 0 = none */
    uint64_t extents; /* newest extent, 0 = none */
    uint64_t live;    /* bytes, over all segments and extents */
    uint64_t dead;    /* bytes, over all segments */
};
static_assert(sizeof(struct torc_stream) == 48, "stream");

/* The arena's shared stream: owner 0. */
struct torc_stream *torc_stream_shared(struct torc_arena *arena);

/* Append room for `bytes` (1 or more), contents undefined, not aligned. -ENOSPC, -ENOMEM as
 * torc_arena_run_alloc(); nothing changed then. O(1), but O(log) when a segment is opened. */
int torc_record_alloc(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                      uint64_t *out_ref) TORC_MUST_USE;

/* For the cleaner: room for a copy of the live record at `ref`, which is copied there. The old one
 * stays until the caller, having changed what refers to it, frees it. Not for extents. As
 * torc_record_alloc(), but a segment opened for it may pass the limit, by one segment: at the limit
 * moving records is what makes room again. */
int torc_record_move(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                     uint64_t bytes, uint64_t *out_ref) TORC_MUST_USE;

/* The record is dead. `bytes` as given to alloc (less what was cut off). The last record of the
 * open segment is taken back altogether, as if never appended; any other keeps its bytes until its
 * segment goes. A segment whose last live record dies is freed, unless it is the open one, which
 * starts again from its front. O(1), O(log) when a segment is freed. */
void torc_record_free(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes);

/* The last `cut` bytes (less than `bytes`) of a live record of `bytes` become a dead record of
 * their own (the layer above has written a dead record's head there), or are taken back if they
 * are the last of the open segment. Not for extents. O(1). */
void torc_record_trim(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes, uint64_t cut);

/* True if a record of `bytes` is an extent's. */
static inline bool torc_record_is_extent(uint64_t bytes)
{
    return bytes > TORC_RECORD_MAX_BYTES;
}

/* Bytes of the pages that a record of `bytes` takes as an extent. */
static inline uint64_t torc_extent_bytes(uint64_t bytes)
{
    return torc_align_up(TORC_SEGMENT_HEAD_BYTES + bytes, TORC_PAGE_BYTES);
}

/* The segment or extent that holds the record at `ref` of `bytes`. O(1). */
static inline struct torc_segment *torc_segment_of(const struct torc_arena *arena, uint64_t ref,
                                                   uint64_t bytes)
{
    uint64_t head = torc_record_is_extent(bytes) ? ref - TORC_SEGMENT_HEAD_BYTES
                                                 : ref & ~(uint64_t)(TORC_SEGMENT_BYTES - 1);
    return (struct torc_segment *)torc_arena_at(arena, head);
}

/* The cleaner's next victim: the closed segment with the most dead bytes among the next `look` of
 * the ring, or TORC_REF_NONE when none of them has any. Each call looks on where the last one
 * stopped, so every segment gets its turn, and the best of a dozen or so is nearly as good as the
 * best of all ("d-choices": Van Houdt, SIGMETRICS 2013). O(look). */
uint64_t torc_stream_victim(struct torc_arena *arena, struct torc_stream *stream, unsigned look);

/* Free one segment or extent of the stream, whatever lives in it: drops a large owner in steps.
 * Returns true while there is more. O(log). */
bool torc_stream_drop_step(struct torc_arena *arena, struct torc_stream *stream);

/* Walk the stream's lists and counters (not the records, which are the layer above's). 0 or
 * -EBADMSG with *out_why (may be NULL) a static text. Ends whatever bytes it finds in the arena;
 * the stream's own must be readable. */
int torc_stream_check(const struct torc_arena *arena, const struct torc_stream *stream,
                      const char **out_why) TORC_MUST_USE;

#endif
