/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP2 replies read where they lie. The reader owns the block that bytes arrive in; a reply is a
 * view of it. A reply that came in part is gone on with where the reading stopped, so a long one
 * costs its length once, in however many pieces it arrives. Arrays hold strings only, as replies to
 * commands of hashes do; anything else is no reply.
 *
 * Limits: a reply has at most TORC_RESP_REPLY_BYTES_MAX bytes and TORC_RESP_ITEMS_MAX elements.
 * Threads: one at a time.
 */
#ifndef TORC_PERF_RESP_INPLACE_H
#define TORC_PERF_RESP_INPLACE_H

#include "perf/load/load_road.h"

#define TORC_RESP_REPLY_BYTES_MAX 1073741824
#define TORC_RESP_ITEMS_MAX       16777216

/* An element of an array: where it starts behind the start of the reply. */
struct torc_resp_item {
    uint32_t offset;
    int32_t len; /* -1: nil */
};

struct torc_resp_reader {
    uint8_t *bytes;
    size_t cap;
    size_t start; /* bytes [start, end) came and were not given out */
    size_t end;
    size_t given; /* bytes of the reply that was given out last: dropped at the next call */

    /* The array that is being read, or was read last. Offsets are behind its start. */
    struct torc_resp_item *items;
    size_t items_cap;
    size_t items_done;
    size_t items_wanted; /* 0: no array was begun */
    size_t at;           /* bytes of it that are read */
    const uint8_t *base; /* where it starts, once it was given out */
};

/* All zero bytes are a reader that is ready. */
void torc_resp_reader_fini(struct torc_resp_reader *reader);

/* Room for at least `n` bytes to be written at *out_space; what was given out dies. The number of
 * bytes there is room for, or -ENOMEM. */
int64_t torc_resp_reader_reserve(struct torc_resp_reader *reader, size_t n,
                                 uint8_t **out_space) TORC_MUST_USE;

/* `n` bytes were written there. */
static inline void torc_resp_reader_commit(struct torc_resp_reader *reader, size_t n)
{
    assert(n <= reader->cap - reader->end);
    reader->end += n;
}

/* The next reply; the one before dies. 0; -EAGAIN it is not complete; -EBADMSG these bytes are no
 * reply; -ENOMEM. */
int torc_resp_reader_next(struct torc_resp_reader *reader,
                          struct torc_load_reply *out_reply) TORC_MUST_USE;

/* Element i < count of the array given out last. */
static inline struct torc_bytes torc_resp_reader_at(const struct torc_resp_reader *reader, size_t i)
{
    struct torc_resp_item item = reader->items[i];
    return item.len < 0 ? torc_mem(NULL, 0)
                        : torc_mem(reader->base + item.offset, (size_t)item.len);
}

#endif
