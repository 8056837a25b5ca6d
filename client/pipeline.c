/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipelines: requests are published as they are submitted, results come in the same order.
 */
#include "client/torc_private.h"

/* A key and one or more other strings. */
static int submit(struct torc *torc, uint64_t tag, enum torc_op op, struct torc_bytes key,
                  const struct torc_bytes *more, size_t n)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_slice *strings;
    rc = torc_gather(torc, &key, more, n, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_send(torc, tag, op, NULL, strings, n + 1);
}

int torc_submit_hget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                     struct torc_bytes field)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    if (TORC_UNLIKELY(!torc_bytes_are_valid(key) || !torc_bytes_are_valid(field))) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    const struct torc_slice strings[] = {torc_slice_of_bytes(key), torc_slice_of_bytes(field)};
    return torc_send(torc, tag, TORC_OP_HGET, NULL, strings, 2);
}

int torc_submit_hset(struct torc *torc, uint64_t tag, struct torc_bytes key,
                     const struct torc_bytes *pairs, size_t n_pairs)
{
    /* So many pairs that their strings cannot be counted are too many, too. */
    size_t n = n_pairs <= SIZE_MAX / 4 ? 2 * n_pairs : SIZE_MAX;
    return submit(torc, tag, TORC_OP_HSET, key, pairs, n);
}

int torc_submit_hmget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                      const struct torc_bytes *fields, size_t n_fields)
{
    return submit(torc, tag, TORC_OP_HMGET, key, fields, n_fields);
}

int torc_submit_hdel(struct torc *torc, uint64_t tag, struct torc_bytes key,
                     const struct torc_bytes *fields, size_t n_fields)
{
    return submit(torc, tag, TORC_OP_HDEL, key, fields, n_fields);
}

int torc_submit_expire(struct torc *torc, uint64_t tag, struct torc_bytes key, int64_t ms,
                       unsigned flags)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_timed timed;
    rc = torc_timed_key(torc, TORC_OP_PEXPIRE, key, ms, flags, &timed);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_send(torc, tag, timed.op, &timed.number, timed.strings, timed.n_strings);
}

static int submit_timed(struct torc *torc, uint64_t tag, enum torc_op op, struct torc_bytes key,
                        struct torc_timed_fields fields, int64_t ms, unsigned flags)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_timed timed;
    rc = torc_timed_fields(torc, op, key, fields, ms, flags, &timed);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_send(torc, tag, op, &timed.number, timed.strings, timed.n_strings);
}

int torc_submit_hexpire(struct torc *torc, uint64_t tag, struct torc_bytes key,
                        const struct torc_bytes *fields, size_t n_fields, int64_t ms,
                        unsigned flags)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return submit_timed(torc, tag, TORC_OP_HPEXPIRE, key, timed, ms, flags);
}

int torc_submit_hsetex(struct torc *torc, uint64_t tag, struct torc_bytes key,
                       const struct torc_bytes *pairs, size_t n_pairs, int64_t ms, unsigned flags)
{
    const struct torc_timed_fields timed = {pairs, n_pairs, 2};
    return submit_timed(torc, tag, TORC_OP_HSETEX, key, timed, ms, flags);
}

int torc_submit_hgetex(struct torc *torc, uint64_t tag, struct torc_bytes key,
                       const struct torc_bytes *fields, size_t n_fields, int64_t ms, unsigned flags)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return submit_timed(torc, tag, TORC_OP_HGETEX, key, timed, ms, flags);
}

int torc_submit_command(struct torc *torc, uint64_t tag, const struct torc_bytes *words,
                        size_t n_words)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_words request;
    rc = torc_words_parse(torc, words, n_words, &request);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_send(torc, tag, request.op, request.numbers, request.strings, request.n_strings);
}

static int collect(struct torc *torc, bool wait, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_reply reply;
    uint64_t tag;
    rc = torc_receive(torc, wait, &reply, &tag);
    if (rc != TORC_OK) {
        return rc;
    }
    if (!torc_result_fill(torc, &reply, tag, out_result)) {
        torc->broken = true;
        return torc_fail(torc, TORC_EBADMSG,
                         "the server broke the protocol: part of a reply instead of a reply");
    }
    return TORC_OK;
}

int torc_collect(struct torc *torc, struct torc_result *out_result)
{
    return collect(torc, true, out_result);
}

int torc_try_collect(struct torc *torc, struct torc_result *out_result)
{
    return collect(torc, false, out_result);
}
