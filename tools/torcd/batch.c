/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/batch.h"

#include <stdlib.h>

#define FIRST_STRINGS 1024u
#define FIRST_REPLY   ((size_t)64 * 1024)

int torc_batch_init(struct torc_batch *batch)
{
    memset(batch, 0, sizeof *batch);
    if (!torc_slices_reserve(&batch->strings, FIRST_STRINGS) ||
        !torc_batch_grow_reply(batch, FIRST_REPLY)) {
        torc_batch_fini(batch);
        return -ENOMEM;
    }
    return 0;
}

void torc_batch_fini(struct torc_batch *batch)
{
    free(batch->strings.items);
    free(batch->reply);
    free(batch->line);
    memset(batch, 0, sizeof *batch);
}

bool torc_batch_grow_reply(struct torc_batch *batch, size_t n)
{
    if (n <= batch->reply_cap) {
        return true;
    }
    size_t cap = torc_max_u64(n, 2 * batch->reply_cap);
    uint8_t *reply = malloc(cap);
    if (reply == NULL) {
        return false;
    }
    free(batch->reply);
    batch->reply = reply;
    batch->reply_cap = cap;
    return true;
}

bool torc_batch_keep_line(struct torc_batch *batch, const uint8_t *line, size_t n)
{
    if (n > batch->line_cap) {
        uint8_t *copy = realloc(batch->line, n);
        if (copy == NULL) {
            return false;
        }
        batch->line = copy;
        batch->line_cap = n;
    }
    memcpy(batch->line, line, n);
    batch->line_len = n;
    return true;
}

void torc_batch_shrink(struct torc_batch *batch)
{
    if (batch->strings.cap > TORC_BATCH_KEEP_STRINGS) {
        struct torc_slice *items =
            realloc(batch->strings.items, FIRST_STRINGS * sizeof(struct torc_slice));
        if (items != NULL) {
            batch->strings.items = items;
            batch->strings.cap = FIRST_STRINGS;
        }
    }
    if (batch->reply_cap > TORC_BATCH_KEEP_REPLY) {
        uint8_t *reply = realloc(batch->reply, FIRST_REPLY);
        if (reply != NULL) {
            batch->reply = reply;
            batch->reply_cap = FIRST_REPLY;
        }
    }
}
