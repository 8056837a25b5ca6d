/* SPDX-License-Identifier: Apache-2.0
 *
 * Output buffer of a connection: replies are written straight into it and sent from its front.
 * Grows by doubling up to a limit; when the limit (or memory) is reached it fails for good, writes
 * become no-ops and the connection is to be closed.
 *
 * Memory: owns one block. Thread: one, the connection's poller.
 */
#ifndef TORC_TORCD_OUTPUT_H
#define TORC_TORCD_OUTPUT_H

#include "core/slice.h"

struct torc_output {
    uint8_t *data;
    size_t start; /* bytes before it are sent; start <= end <= cap */
    size_t end;
    size_t cap;
    size_t limit; /* most bytes pending */
    bool failed;
};

/* Empty, no memory yet. */
void torc_output_init(struct torc_output *output, size_t limit);
void torc_output_fini(struct torc_output *output);

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
    return output->end - output->start;
}

/* Append a copy. */
void torc_output_append(struct torc_output *output, const void *bytes, size_t n);

/* n bytes from the front are sent. */
void torc_output_consume(struct torc_output *output, size_t n);

/* Give memory back if nothing is pending and the block is larger than `keep` bytes. */
void torc_output_trim(struct torc_output *output, size_t keep);

#endif
