/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies of a server that may be hostile. What is given out must lie inside the bytes that came;
 * and replies do not depend on how the bytes were cut into pieces.
 */
#include "perf/load/resp_inplace.h"

#include <stdlib.h>

#include "core/hashing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Every byte given out is read, so that the sanitizer sees those that are not there. */
static uint64_t hash_bytes(uint64_t hash, struct torc_bytes bytes)
{
    return bytes.data == NULL ? hash + 1 : torc_hash_bytes(hash + bytes.len, bytes.data, bytes.len);
}

static uint64_t hash_reply(uint64_t hash, const struct torc_resp_reader *reader,
                           const struct torc_load_reply *reply)
{
    hash = torc_hash_bytes(hash, &reply->kind, sizeof reply->kind);
    hash = torc_hash_bytes(hash, &reply->integer, sizeof reply->integer);
    hash = hash_bytes(hash, reply->text);
    for (size_t i = 0; i < reply->count; i++) {
        hash = hash_bytes(hash, torc_resp_reader_at(reader, i));
    }
    return hash;
}

/* All replies, and how it ended, as one number. */
static uint64_t read_in_pieces(const uint8_t *data, size_t size, size_t piece)
{
    struct torc_resp_reader reader = {0};
    struct torc_load_reply reply;
    uint64_t hash = 0;
    int rc = -EAGAIN;
    for (size_t at = 0; at < size && rc == -EAGAIN; at += piece) {
        size_t n = torc_min_u64(piece, size - at);
        uint8_t *space = NULL;
        require(torc_resp_reader_reserve(&reader, n, &space) >= (int64_t)n);
        memcpy(space, data + at, n);
        torc_resp_reader_commit(&reader, n);
        while ((rc = torc_resp_reader_next(&reader, &reply)) == 0) {
            hash = hash_reply(hash, &reader, &reply);
        }
        require(rc == -EAGAIN || rc == -EBADMSG);
    }
    torc_resp_reader_fini(&reader);
    return rc == -EBADMSG ? hash + 1 : hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole = read_in_pieces(data, size, size + 1);
    require(read_in_pieces(data, size, 1) == whole);
    require(read_in_pieces(data, size, 7) == whole);
    return 0;
}
