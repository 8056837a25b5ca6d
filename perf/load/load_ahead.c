/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes lie in chunks that never move, in the order of requests. They are written, so that
 * their pages are there before the clock runs.
 */
#include "perf/load/load_ahead.h"

#include <stdlib.h>

#define CHUNK_BYTES 1048576u

struct torc_load_chunk {
    struct torc_load_chunk *next;
    size_t used;
    size_t cap;
    uint8_t bytes[];
};

static_assert(offsetof(struct torc_load_chunk, bytes) % sizeof(void *) == 0,
              "words lie where pointers may");

/* Room for `n` bytes, or NULL. */
static uint8_t *take(struct torc_load_ahead *ahead, size_t n)
{
    struct torc_load_chunk *chunk = ahead->chunks;
    if (chunk == NULL || chunk->cap - chunk->used < n) {
        size_t cap = torc_max_u64(n, CHUNK_BYTES);
        struct torc_load_chunk *fresh = malloc(sizeof *fresh + cap);
        if (fresh == NULL) {
            return NULL;
        }
        *fresh = (struct torc_load_chunk){.next = chunk, .cap = cap};
        ahead->chunks = chunk = fresh;
    }
    uint8_t *bytes = chunk->bytes + chunk->used;
    chunk->used += n;
    ahead->bytes += n;
    return bytes;
}

/* Encoded, as a socket takes it. */
static bool keep_wire(struct torc_load_ahead *ahead, const struct torc_load_road *road,
                      struct torc_load_request *request, size_t bound)
{
    uint8_t *bytes = take(ahead, bound);
    if (bytes == NULL) {
        return false;
    }
    size_t len = torc_load_road_encode(road, request, bytes);
    ahead->chunks->used -= bound - len;
    ahead->bytes -= bound - len;
    request->wire = torc_mem(bytes, len);
    request->words = NULL;
    request->n_words = 0;
    return true;
}

/* A copy of its words, the table before the bytes. */
static bool keep_words(struct torc_load_ahead *ahead, struct torc_load_request *request)
{
    size_t table = request->n_words * sizeof request->words[0];
    size_t size = table;
    for (size_t i = 0; i < request->n_words; i++) {
        size += request->words[i].len;
    }
    uint8_t *bytes = take(ahead, torc_align_up(size, sizeof(void *)));
    if (bytes == NULL) {
        return false;
    }
    struct torc_bytes *words = (void *)bytes;
    bytes += table;
    for (size_t i = 0; i < request->n_words; i++) {
        memcpy(bytes, request->words[i].data, request->words[i].len);
        words[i] = torc_mem(bytes, request->words[i].len);
        bytes += request->words[i].len;
    }
    request->words = words;
    return true;
}

int torc_load_ahead_make(struct torc_load_ops *ops, const struct torc_load_road *road,
                         uint64_t first, uint64_t count, size_t bytes_max,
                         struct torc_load_ahead *out_ahead)
{
    struct torc_load_ahead ahead = {0};
    size_t each = sizeof *ahead.flights + sizeof *ahead.requests;
    count = torc_min_u64(count, bytes_max / each);
    ahead.flights = malloc(torc_max_u64(count, 1) * sizeof *ahead.flights);
    ahead.requests = malloc(torc_max_u64(count, 1) * sizeof *ahead.requests);
    if (ahead.flights == NULL || ahead.requests == NULL) {
        goto out_ahead;
    }
    while (ahead.n < count && ahead.bytes < bytes_max) {
        struct torc_load_request *request = &ahead.requests[ahead.n];
        torc_load_ops_make(ops, first + ahead.n, &ahead.flights[ahead.n], request);
        size_t bound = torc_load_road_bound(road, request);
        if (!(bound > 0 ? keep_wire(&ahead, road, request, bound) : keep_words(&ahead, request))) {
            goto out_ahead;
        }
        ahead.n++;
        ahead.bytes += each;
    }
    *out_ahead = ahead;
    return 0;
out_ahead:
    torc_load_ahead_fini(&ahead);
    return -ENOMEM;
}

void torc_load_ahead_fini(struct torc_load_ahead *ahead)
{
    while (ahead->chunks != NULL) {
        struct torc_load_chunk *chunk = ahead->chunks;
        ahead->chunks = chunk->next;
        free(chunk);
    }
    free(ahead->flights);
    free(ahead->requests);
    *ahead = (struct torc_load_ahead){0};
}
