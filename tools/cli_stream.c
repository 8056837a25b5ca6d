/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_stream.h"

#include <inttypes.h>
#include <stdlib.h>

#define NUMBER_BYTES 24

size_t torc_cli_stream_part(const struct torc_result *hash, size_t at)
{
    size_t n = 0;
    size_t bytes = 0;
    for (; n < TORC_CLI_STREAM_PAIRS_MAX && at + 2 * n + 1 < hash->count; n++) {
        size_t pair_bytes = torc_result_at(hash, at + 2 * n).len;
        pair_bytes += torc_result_at(hash, at + 2 * n + 1).len;
        if (n > 0 && bytes + pair_bytes > TORC_CLI_STREAM_BYTES_MAX) {
            break;
        }
        bytes += pair_bytes;
    }
    return n;
}

/* --- writing --- */

static void put_bulk(FILE *out, struct torc_bytes bytes)
{
    (void)fprintf(out, "$%zu\r\n", bytes.len);
    if (bytes.len > 0) {
        (void)fwrite(bytes.data, 1, bytes.len, out);
    }
    (void)fputs("\r\n", out);
}

static void put_number(FILE *out, int64_t number)
{
    char text[NUMBER_BYTES];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    put_bulk(out, torc_str(text));
}

/* The head of a command on a key with so many more words. */
static void put_command(FILE *out, const char *name, struct torc_bytes key, size_t n_more)
{
    (void)fprintf(out, "*%zu\r\n", 2 + n_more);
    put_bulk(out, torc_str(name));
    put_bulk(out, key);
}

/* --- times --- */

struct timed {
    int64_t time;
    size_t pair;
};

/* By time, and those of one time in their order. */
static int compare_timed(const void *left, const void *right)
{
    const struct timed *a = left;
    const struct timed *b = right;
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    return a->pair < b->pair ? -1 : 1;
}

/* The pairs that have a time, sorted. Returns how many. */
static size_t sort_timed(const int64_t *times, size_t n, struct timed *out_timed)
{
    size_t n_timed = 0;
    for (size_t i = 0; i < n; i++) {
        if (times[i] >= 0) {
            out_timed[n_timed++] = (struct timed){times[i], i};
        }
    }
    qsort(out_timed, n_timed, sizeof *out_timed, compare_timed);
    return n_timed;
}

/* A command for all fields of one time: no longer than the HSET was. */
static void put_field_times(FILE *out, struct torc_bytes key, const struct torc_result *hash,
                            size_t at, size_t n, const int64_t *times)
{
    struct timed timed[TORC_CLI_STREAM_PAIRS_MAX] = {0};
    size_t n_timed = sort_timed(times, n, timed);
    for (size_t i = 0; i < n_timed;) {
        size_t end = i + 1;
        while (end < n_timed && timed[end].time == timed[i].time) {
            end++;
        }
        put_command(out, "HPEXPIREAT", key, 3 + (end - i));
        put_number(out, timed[i].time);
        put_bulk(out, torc_str("FIELDS"));
        put_number(out, (int64_t)(end - i));
        for (; i < end; i++) {
            put_bulk(out, torc_result_at(hash, at + 2 * timed[i].pair));
        }
    }
}

size_t torc_cli_stream_pairs(FILE *out, struct torc_bytes key, const struct torc_result *hash,
                             size_t at, size_t n, const int64_t *times)
{
    assert(n <= TORC_CLI_STREAM_PAIRS_MAX);
    size_t n_there = 0;
    for (size_t i = 0; i < n; i++) {
        n_there += times[i] != TORC_ABSENT;
    }
    if (n_there == 0) {
        return 0;
    }
    put_command(out, "HSET", key, 2 * n_there);
    for (size_t i = 0; i < n; i++) {
        if (times[i] != TORC_ABSENT) {
            put_bulk(out, torc_result_at(hash, at + 2 * i));
            put_bulk(out, torc_result_at(hash, at + 2 * i + 1));
        }
    }
    put_field_times(out, key, hash, at, n, times);
    return n_there;
}

void torc_cli_stream_key_time(FILE *out, struct torc_bytes key, int64_t unix_ms)
{
    put_command(out, "PEXPIREAT", key, 1);
    put_number(out, unix_ms);
}
