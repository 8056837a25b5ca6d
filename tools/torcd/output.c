/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/output.h"

#include <stdlib.h>

#define FIRST_BYTES ((size_t)16 * 1024)

void torc_output_init(struct torc_output *output, size_t limit)
{
    *output = (struct torc_output){.limit = limit};
}

void torc_output_fini(struct torc_output *output)
{
    free(output->data);
    *output = (struct torc_output){.limit = output->limit};
}

bool torc_output_grow(struct torc_output *output, size_t n)
{
    size_t pending = torc_output_pending(output);
    if (output->failed || n > output->limit || pending > output->limit - n) {
        output->failed = true;
        return false;
    }
    size_t need = pending + n;
    if (need <= output->cap && output->start >= output->cap / 2) {
        /* At least half of the block is sent: moving the rest is paid for by what was sent. */
        memmove(output->data, output->data + output->start, pending);
        output->start = 0;
        output->end = pending;
        return true;
    }
    size_t cap = output->cap < FIRST_BYTES ? FIRST_BYTES : output->cap;
    while (cap < need) {
        cap *= 2;
    }
    if (cap == output->cap) {
        cap *= 2; /* it would fit, but moving that much for little would make writing quadratic */
    }
    uint8_t *data = malloc(cap);
    if (data == NULL) {
        output->failed = true;
        return false;
    }
    if (pending != 0) {
        memcpy(data, output->data + output->start, pending);
    }
    free(output->data);
    output->data = data;
    output->cap = cap;
    output->start = 0;
    output->end = pending;
    return true;
}

void torc_output_append(struct torc_output *output, const void *bytes, size_t n)
{
    uint8_t *to = torc_output_reserve(output, n);
    if (to != NULL && n != 0) {
        memcpy(to, bytes, n);
        output->end += n;
    }
}

void torc_output_consume(struct torc_output *output, size_t n)
{
    assert(n <= torc_output_pending(output));
    output->start += n;
    if (output->start == output->end) {
        output->start = 0;
        output->end = 0;
    }
}

void torc_output_trim(struct torc_output *output, size_t keep)
{
    if (output->start == output->end && output->cap > keep) {
        free(output->data);
        output->data = NULL;
        output->cap = 0;
    }
}
