/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of an operation: shared by what makes requests and what checks replies.
 */
#ifndef TORC_PERF_LOAD_OPS_PRIVATE_H
#define TORC_PERF_LOAD_OPS_PRIVATE_H

#include "perf/harness/scatter.h"
#include "perf/load/load_mixed.h"
#include "perf/load/load_ops.h"

/* Where the bytes of the request being made are put together. */
struct torc_load_scratch {
    uint8_t key[TORC_SHAPE_KEY_BYTES];
    uint8_t *names;           /* TORC_SHAPE_FIELD_BYTES each */
    uint8_t *values;          /* value_room each */
    size_t value_room;        /* the longest value */
    size_t items;             /* names, and values, there is room for */
    struct torc_bytes *words; /* a head and two for each item */
    char time[24];            /* the time and the number of fields that a head has, as text */
    char number[24];
};

struct torc_load_ops {
    struct torc_load_spec spec;
    struct torc_random random;
    struct torc_scatter cells;  /* order of visits to the fields that are loaded */
    struct torc_scatter hashes; /* order of visits to hashes */
    uint64_t chunk;             /* fields of one HSET of load-whole, or of one HMGET of verify */
    uint64_t chunks;            /* requests for each hash, of load-whole and verify */
    uint64_t block;             /* hset-width, hdel-hset: fields written one way, then the other */
    bool verifies_whole;        /* verify asks for whole hashes */
    struct torc_load_scratch scratch;
    struct torc_load_mixed *mixed; /* mixed only */
    uint64_t *seen;                /* a bit for each field of a hash, for HGETALL */
    uint64_t ends_at_ms;           /* since 1970: --ttl after the operation was created */
    int64_t counter;               /* HINCRBY: the last sum */
    bool counter_is_known;
};

#endif
