/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/output.h"

#include <poll.h>
#include <stdlib.h>

#define FIRST_BYTES ((size_t)16 * 1024)

void torc_output_init(struct torc_output *output, size_t limit)
{
    *output = (struct torc_output){.limit = limit, .fd = -1};
}

/* Has the peer closed its end for good? A TCP peer is seen to only once something was sent. */
static bool has_hung_up(const struct torc_output *output)
{
    struct pollfd poll_fd = {.fd = output->fd};
    return output->fd >= 0 && poll(&poll_fd, 1, 0) == 1 &&
           (poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static void drop_first(struct torc_output *output)
{
    struct torc_output_block *block = output->first;
    output->queued -= block->end - block->start;
    output->queued_cap -= block->cap;
    output->first = block->next;
    if (output->first == NULL) {
        output->last = NULL;
    }
    free(block->data);
    free(block);
}

void torc_output_fini(struct torc_output *output)
{
    while (output->first != NULL) {
        drop_first(output);
    }
    free(output->data);
    *output = (struct torc_output){.limit = output->limit, .fd = output->fd};
}

size_t torc_output_discard(struct torc_output *output, struct torc_output_block **waste)
{
    size_t bytes = output->queued_cap;
    if (output->first != NULL) {
        output->last->next = *waste;
        *waste = output->first;
        output->first = NULL;
        output->last = NULL;
        output->queued = 0;
        output->queued_cap = 0;
    }
    return bytes;
}

size_t torc_output_free_waste(struct torc_output_block **waste, unsigned n_blocks)
{
    size_t bytes = 0;
    for (; *waste != NULL && n_blocks > 0; n_blocks--) {
        struct torc_output_block *block = *waste;
        bytes += block->cap;
        *waste = block->next;
        free(block->data);
        free(block);
    }
    return bytes;
}

/* Queue the current block, which is left without memory. */
static bool queue_block(struct torc_output *output)
{
    struct torc_output_block *block = malloc(sizeof *block);
    if (block == NULL) {
        return false;
    }
    *block = (struct torc_output_block){
        .data = output->data, .start = output->start, .end = output->end, .cap = output->cap};
    if (output->last != NULL) {
        output->last->next = block;
    } else {
        output->first = block;
    }
    output->last = block;
    output->queued += block->end - block->start;
    output->queued_cap += block->cap;
    output->data = NULL;
    output->start = 0;
    output->end = 0;
    output->cap = 0;
    return true;
}

bool torc_output_grow(struct torc_output *output, size_t n)
{
    size_t all = torc_output_pending(output);
    if (output->failed || n > output->limit || all > output->limit - n) {
        output->failed = true;
        return false;
    }
    size_t pending = output->end - output->start;
    if (pending + n <= output->cap && output->start >= output->cap / 2) {
        /* At least half of the block is sent: moving the rest is paid for by what was sent. */
        memmove(output->data, output->data + output->start, pending);
        output->start = 0;
        output->end = pending;
        return true;
    }
    size_t cap = output->cap < FIRST_BYTES ? FIRST_BYTES : output->cap;
    if (pending >= TORC_OUTPUT_BLOCK_BYTES / 2) {
        /* A long reply looks at each block whether anyone still wants it. */
        output->hung_up = has_hung_up(output);
        if (output->hung_up || !queue_block(output)) {
            output->failed = true;
            return false;
        }
        pending = 0;
        cap = TORC_OUTPUT_BLOCK_BYTES;
    } else if (pending + n <= cap) {
        cap *= 2; /* it would fit, but moving that much for little would make writing quadratic */
    }
    while (cap < pending + n) {
        cap *= 2;
    }
    /* No more than the limit allows: the next growth is then the one that fails. */
    cap = torc_min_u64(cap, output->limit - output->queued);
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
    assert(n <= torc_output_front(output).len);
    if (output->first != NULL) {
        output->first->start += n;
        output->queued -= n;
        if (output->first->start == output->first->end) {
            drop_first(output);
        }
        return;
    }
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
