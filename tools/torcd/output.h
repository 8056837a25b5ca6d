/* SPDX-License-Identifier: Apache-2.0
 *
 * Output buffer of a connection: replies are written straight into it and sent from its front.
 *
 *   [ full block ] -> [ full block ] -> [ current block: sent | pending | free ]
 *
 * A small buffer is one block that doubles. From TORC_OUTPUT_BLOCK_BYTES on, a block that is full
 * is queued and a new one begun, so that what waits for a slow reader is never copied again. When
 * the limit (or memory) is reached the buffer fails for good, writes become no-ops and the
 * connection is to be closed.
 *
 * Memory: owns its blocks. Thread: one, the connection's poller.
 */
#ifndef TORC_TORCD_OUTPUT_H
#define TORC_TORCD_OUTPUT_H

#include "core/slice.h"

#define TORC_OUTPUT_BLOCK_BYTES ((size_t)256 * 1024)

/* A full block. */
struct torc_output_block {
    struct torc_output_block *next;
    uint8_t *data;
    size_t start; /* bytes before it are sent */
    size_t end;
    size_t cap;
};

struct torc_output {
    /* The current block. */
    uint8_t *data;
    size_t start; /* bytes before it are sent; start <= end <= cap */
    size_t end;
    size_t cap;

    struct torc_output_block *first, *last; /* full blocks before it, oldest first */
    size_t queued;                          /* bytes pending in them */
    size_t queued_cap;                      /* bytes of memory they take */
    size_t limit;                           /* most bytes pending */
    int fd;       /* of the connection, or -1: who has hung up gets no more */
    bool hung_up; /* that is why it failed */
    bool failed;
};

/* Empty, no memory yet. */
void torc_output_init(struct torc_output *output, size_t limit);
void torc_output_fini(struct torc_output *output); /* frees all blocks; see torc_output_discard() */

/* Give up what is pending in full blocks: they are put before those of *waste (NULL: none), to be
 * freed a few at a time by torc_output_free_waste(), since freeing very many at once takes long.
 * Returns the bytes of memory moved. O(1). */
size_t torc_output_discard(struct torc_output *output, struct torc_output_block **waste);

/* Free at most n_blocks of *waste. Returns the bytes of memory freed. */
size_t torc_output_free_waste(struct torc_output_block **waste, unsigned n_blocks);

/* Make room for n more bytes. False: over the limit or no memory; `failed` is set. */
bool torc_output_grow(struct torc_output *output, size_t n);

/* n writable bytes at the end, or NULL once failed. Write at most n, then torc_output_commit(). */
static inline uint8_t *torc_output_reserve(struct torc_output *output, size_t n)
{
    if (TORC_UNLIKELY(output->cap - output->end < n) && !torc_output_grow(output, n)) {
        return NULL;
    }
    return output->data + output->end;
}
static inline void torc_output_commit(struct torc_output *output, size_t n)
{
    assert(n <= output->cap - output->end);
    output->end += n;
}

static inline size_t torc_output_pending(const struct torc_output *output)
{
    return output->queued + (output->end - output->start);
}

/* Bytes of memory held. */
static inline size_t torc_output_bytes(const struct torc_output *output)
{
    return output->queued_cap + output->cap;
}

/* The oldest pending bytes that lie in one piece; empty if nothing is pending. */
static inline struct torc_slice torc_output_front(const struct torc_output *output)
{
    const struct torc_output_block *block = output->first;
    return block != NULL ? torc_slice_of(block->data + block->start, block->end - block->start)
                         : torc_slice_of(output->data + output->start, output->end - output->start);
}

/* Append a copy. */
void torc_output_append(struct torc_output *output, const void *bytes, size_t n);

/* n bytes of the front (at most torc_output_front().len) are sent. */
void torc_output_consume(struct torc_output *output, size_t n);

/* Give memory back if nothing is pending and the current block is larger than `keep` bytes. */
void torc_output_trim(struct torc_output *output, size_t keep);

#endif
