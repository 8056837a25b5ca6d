/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields that are there lie in an array without order: a random one is a random index, and the
 * last one fills the hole of one that is deleted.
 */
#include "perf/load/load_mixed.h"

#include <stdlib.h>

struct live {
    uint32_t hash;
    uint32_t field;
    uint32_t bytes;
};

struct torc_load_mixed {
    const struct torc_shape *shape;
    uint32_t grow_bytes;
    uint64_t inserted;
    size_t n;
    size_t cap;
    struct live live[];
};

static_assert(TORC_SHAPE_CELLS_MAX < UINT32_MAX, "hash numbers fit a word");

int torc_load_mixed_create(const struct torc_shape *shape, uint32_t grow_bytes,
                           struct torc_load_mixed **out_mixed)
{
    /* Inserts and deletes are equally likely: the number of fields hardly moves. */
    size_t cap = shape->cells + shape->cells / 2 + 65536;
    struct torc_load_mixed *mixed = malloc(sizeof *mixed + cap * sizeof mixed->live[0]);
    if (mixed == NULL) {
        return -ENOMEM;
    }
    *mixed = (struct torc_load_mixed){.shape = shape, .grow_bytes = grow_bytes, .cap = cap};
    for (uint64_t hash = 0; hash < shape->hashes; hash++) {
        uint32_t fields = torc_shape_fields(shape, hash);
        for (uint32_t field = 0; field < fields; field++) {
            struct torc_shape_cell cell = {hash, field};
            mixed->live[mixed->n++] =
                (struct live){(uint32_t)hash, field, torc_shape_value_bytes(shape, cell)};
        }
    }
    *out_mixed = mixed;
    return 0;
}

void torc_load_mixed_destroy(struct torc_load_mixed *mixed)
{
    free(mixed);
}

/* The next field that was never there: one more in each hash, hash after hash. */
static struct torc_load_mixed_step insert(struct torc_load_mixed *mixed)
{
    const struct torc_shape *shape = mixed->shape;
    struct torc_shape_cell cell = {.hash = mixed->inserted % shape->hashes};
    cell.field = torc_shape_fields(shape, cell.hash) + (uint32_t)(mixed->inserted / shape->hashes);
    mixed->inserted++;
    uint32_t bytes = torc_shape_value_bytes(shape, cell);
    mixed->live[mixed->n++] = (struct live){(uint32_t)cell.hash, cell.field, bytes};
    return (struct torc_load_mixed_step){TORC_LOAD_MIXED_INSERT, cell, bytes};
}

struct torc_load_mixed_step torc_load_mixed_next(struct torc_load_mixed *mixed,
                                                 struct torc_random *random)
{
    enum torc_load_mixed_kind kind = (enum torc_load_mixed_kind)(torc_random_next(random) >> 62);
    /* A walk that wanders to an end of the array turns round there. */
    if (mixed->n == 0 || (kind == TORC_LOAD_MIXED_INSERT && mixed->n < mixed->cap)) {
        return insert(mixed);
    }
    if (kind == TORC_LOAD_MIXED_INSERT) {
        kind = TORC_LOAD_MIXED_DELETE;
    }
    size_t at = torc_random_below(random, mixed->n);
    struct live *live = &mixed->live[at];
    struct torc_load_mixed_step step = {.cell = {live->hash, live->field}, .bytes = live->bytes};
    if (kind == TORC_LOAD_MIXED_DELETE) {
        step.bytes = 0;
        *live = mixed->live[--mixed->n];
    } else if (kind == TORC_LOAD_MIXED_GROW) {
        if (live->bytes <= TORC_SHAPE_VALUE_BYTES_MAX - mixed->grow_bytes) {
            live->bytes += mixed->grow_bytes;
            step.bytes = live->bytes;
        } else {
            kind = TORC_LOAD_MIXED_UPDATE; /* it cannot grow any more */
        }
    }
    step.kind = kind;
    return step;
}
