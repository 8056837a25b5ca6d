/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory of a poller for one batch of requests, used again for the next: so that serving
 * allocates nothing once it is warm.
 */
#ifndef TORC_TORCD_BATCH_H
#define TORC_TORCD_BATCH_H

#include "ring/session.h"
#include "tools/torcd/commands.h"

#define TORC_BATCH_MAX TORC_SESSION_BATCH

struct torc_batch {
    struct torc_call calls[TORC_BATCH_MAX];
    uint32_t first[TORC_BATCH_MAX]; /* where a call's words start in `strings` */
    uint32_t count[TORC_BATCH_MAX]; /* and how many they are */
    size_t ends[TORC_BATCH_MAX];    /* where a request of a connection ends in its input */
    struct torc_slices strings;
    /* The last request, if it is an inline line with quotes: the bytes that the parser has changed,
     * to be put back if it is not run in this visit. */
    uint8_t *line;
    size_t line_cap;
    size_t line_at;  /* in the connection's input */
    size_t line_len; /* 0: none */
    char scratch[TORC_BATCH_MAX][TORC_FAULT_TEXT_BYTES];
    uint8_t *reply; /* ring replies are built here */
    size_t reply_cap;
    struct torc_ring_sink ring; /* and by this; it is that of the session last visited */
};

/* -ENOMEM. */
int torc_batch_init(struct torc_batch *batch) TORC_MUST_USE;
void torc_batch_fini(struct torc_batch *batch);

/* Room for a reply of n bytes; what is there is lost. False: no memory. */
bool torc_batch_grow_reply(struct torc_batch *batch, size_t n) TORC_MUST_USE;

/* Keep a copy of the line of n bytes. False: no memory. */
bool torc_batch_keep_line(struct torc_batch *batch, const uint8_t *line, size_t n) TORC_MUST_USE;

/* Kept between batches; more is given back. */
#define TORC_BATCH_KEEP_STRINGS ((size_t)64 * 1024)
#define TORC_BATCH_KEEP_REPLY   ((size_t)4 * 1024 * 1024)

/* Give back what an unusual request left. */
void torc_batch_shrink(struct torc_batch *batch);

/* Between two batches: the same if there is anything to give back. */
static inline void torc_batch_trim(struct torc_batch *batch)
{
    if (TORC_UNLIKELY(batch->strings.cap > TORC_BATCH_KEEP_STRINGS ||
                      batch->reply_cap > TORC_BATCH_KEEP_REPLY)) {
        torc_batch_shrink(batch);
    }
}

#endif
