/* SPDX-License-Identifier: Apache-2.0
 *
 * Synchronous calls: one request, its reply, and a check that it is of the kind that the operation
 * gives.
 */
#include "client/torc_private.h"

#include <stdio.h>

int torc_fail_kind(struct torc *torc)
{
    torc->broken = true;
    return torc_fail(torc, TORC_EBADMSG,
                     "the server broke the protocol: a reply of another kind than the call has");
}

/* A call whose reply is a count. */
static int64_t call_count(struct torc *torc, enum torc_op op, const struct torc_slice *strings,
                          size_t n_strings)
{
    struct torc_reply reply;
    int rc = torc_call(torc, op, NULL, strings, n_strings, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    /* A negative count would look like an error. */
    return reply.kind == TORC_REPLY_INT && reply.integer >= 0 ? reply.integer
                                                              : torc_fail_kind(torc);
}

/* The same for a key and one or more other strings, or for one or more keys. */
static int64_t call_count_of(struct torc *torc, enum torc_op op, const struct torc_bytes *key,
                             const struct torc_bytes *more, size_t n)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_slice *strings;
    rc = torc_gather(torc, key, more, n, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    return call_count(torc, op, strings, n + (key != NULL ? 1 : 0));
}

/* A call with up to three strings, which need no scratch, and the numbers of its shape. */
static int call_few_with(struct torc *torc, enum torc_op op, const uint64_t *numbers,
                         const struct torc_bytes *bytes, size_t n, struct torc_reply *out_reply)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_slice strings[3];
    assert(n <= sizeof strings / sizeof strings[0]);
    bool valid = true;
    for (size_t i = 0; i < n; i++) {
        strings[i] = torc_slice_of_bytes(bytes[i]);
        valid &= torc_bytes_are_valid(bytes[i]);
    }
    if (!valid) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    return torc_call(torc, op, numbers, strings, n, out_reply);
}

int torc_call_few(struct torc *torc, enum torc_op op, const struct torc_bytes *bytes, size_t n,
                  struct torc_reply *out_reply)
{
    return call_few_with(torc, op, NULL, bytes, n, out_reply);
}

static int64_t call_few_count(struct torc *torc, enum torc_op op, const struct torc_bytes *bytes,
                              size_t n)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, op, bytes, n, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return reply.kind == TORC_REPLY_INT && reply.integer >= 0 ? reply.integer
                                                              : torc_fail_kind(torc);
}

int torc_ping(struct torc *torc)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_PING, NULL, 0, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return reply.kind == TORC_REPLY_TEXT ? TORC_OK : torc_fail_kind(torc);
}

int torc_hset(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
              struct torc_bytes value)
{
    const struct torc_bytes bytes[] = {key, field, value};
    int64_t n = call_few_count(torc, TORC_OP_HSET, bytes, 3);
    return n <= 1 ? (int)n : torc_fail_kind(torc);
}

int64_t torc_hset_many(struct torc *torc, struct torc_bytes key, const struct torc_bytes *pairs,
                       size_t n_pairs)
{
    /* So many pairs that their strings cannot be counted are too many, too. */
    size_t n = n_pairs <= SIZE_MAX / 4 ? 2 * n_pairs : SIZE_MAX;
    return call_count_of(torc, TORC_OP_HSET, &key, pairs, n);
}

int torc_hsetnx(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                struct torc_bytes value)
{
    const struct torc_bytes bytes[] = {key, field, value};
    int64_t n = call_few_count(torc, TORC_OP_HSETNX, bytes, 3);
    return n <= 1 ? (int)n : torc_fail_kind(torc);
}

/* A call whose reply is bytes, 1, or nil, 0. */
static int call_bytes(struct torc *torc, enum torc_op op, const struct torc_bytes *bytes, size_t n,
                      struct torc_bytes *out_bytes)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, op, bytes, n, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    if (reply.kind == TORC_REPLY_NULL) {
        *out_bytes = (struct torc_bytes){.data = NULL, .len = 0};
        return 0;
    }
    if (reply.kind != TORC_REPLY_BYTES) {
        return torc_fail_kind(torc);
    }
    *out_bytes = torc_mem(reply.bytes.data, reply.bytes.len);
    return 1;
}

int torc_hget(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
              struct torc_bytes *out_value)
{
    if (out_value == NULL) {
        return torc_fail_output(torc);
    }
    const struct torc_bytes bytes[] = {key, field};
    return call_bytes(torc, TORC_OP_HGET, bytes, 2, out_value);
}

int64_t torc_give_values(struct torc *torc, const struct torc_reply *reply, size_t n_values,
                         struct torc_bytes *out_values)
{
    if (reply->kind != TORC_REPLY_ARRAY || reply->count != n_values) {
        return torc_fail_kind(torc);
    }
    int64_t found = 0;
    for (uint32_t i = 0; i < reply->count; i++) {
        struct torc_slice value = torc_reply_at(reply, i);
        out_values[i] = torc_mem(value.data, value.len);
        found += value.data != NULL;
    }
    return found;
}

int64_t torc_hmget(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                   size_t n_fields, struct torc_bytes *out_values)
{
    if (out_values == NULL) {
        return torc_fail_output(torc);
    }
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_slice *strings;
    rc = torc_gather(torc, &key, fields, n_fields, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_reply reply;
    rc = torc_call(torc, TORC_OP_HMGET, NULL, strings, n_fields + 1, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_give_values(torc, &reply, n_fields, out_values);
}

int64_t torc_hdel(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                  size_t n_fields)
{
    return call_count_of(torc, TORC_OP_HDEL, &key, fields, n_fields);
}

int64_t torc_hlen(struct torc *torc, struct torc_bytes key)
{
    return call_few_count(torc, TORC_OP_HLEN, &key, 1);
}

int torc_hexists(struct torc *torc, struct torc_bytes key, struct torc_bytes field)
{
    const struct torc_bytes bytes[] = {key, field};
    int64_t n = call_few_count(torc, TORC_OP_HEXISTS, bytes, 2);
    return n <= 1 ? (int)n : torc_fail_kind(torc);
}

int64_t torc_hstrlen(struct torc *torc, struct torc_bytes key, struct torc_bytes field)
{
    const struct torc_bytes bytes[] = {key, field};
    return call_few_count(torc, TORC_OP_HSTRLEN, bytes, 2);
}

int torc_hincrby(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                 int64_t increment, int64_t *out_value)
{
    if (out_value == NULL) {
        return torc_fail_output(torc);
    }
    const struct torc_bytes bytes[] = {key, field};
    const uint64_t number = (uint64_t)increment;
    struct torc_reply reply;
    int rc = call_few_with(torc, TORC_OP_HINCRBY, &number, bytes, 2, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    if (reply.kind != TORC_REPLY_INT) {
        return torc_fail_kind(torc);
    }
    *out_value = reply.integer;
    return TORC_OK;
}

int torc_hincrbyfloat(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                      struct torc_bytes increment, struct torc_bytes *out_value)
{
    if (out_value == NULL) {
        return torc_fail_output(torc);
    }
    const struct torc_bytes bytes[] = {key, field, increment};
    struct torc_bytes value;
    int rc = call_bytes(torc, TORC_OP_HINCRBYFLOAT, bytes, 3, &value);
    if (rc == 1) {
        *out_value = value;
    }
    return rc == 1 ? TORC_OK : rc == 0 ? torc_fail_kind(torc) : rc;
}

int64_t torc_del(struct torc *torc, const struct torc_bytes *keys, size_t n_keys)
{
    return call_count_of(torc, TORC_OP_DEL, NULL, keys, n_keys);
}

int64_t torc_unlink(struct torc *torc, const struct torc_bytes *keys, size_t n_keys)
{
    return call_count_of(torc, TORC_OP_UNLINK, NULL, keys, n_keys);
}

int64_t torc_touch(struct torc *torc, const struct torc_bytes *keys, size_t n_keys)
{
    return call_count_of(torc, TORC_OP_TOUCH, NULL, keys, n_keys);
}

int64_t torc_exists(struct torc *torc, const struct torc_bytes *keys, size_t n_keys)
{
    return call_count_of(torc, TORC_OP_EXISTS, NULL, keys, n_keys);
}

int64_t torc_dbsize(struct torc *torc)
{
    return call_few_count(torc, TORC_OP_DBSIZE, NULL, 0);
}

int torc_randomkey(struct torc *torc, struct torc_bytes *out_key)
{
    if (out_key == NULL) {
        return torc_fail_output(torc);
    }
    return call_bytes(torc, TORC_OP_RANDOMKEY, NULL, 0, out_key);
}

static int call_flush(struct torc *torc, enum torc_op op)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, op, NULL, 0, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return reply.kind == TORC_REPLY_OK ? TORC_OK : torc_fail_kind(torc);
}

int torc_flushall(struct torc *torc)
{
    return call_flush(torc, TORC_OP_FLUSHALL);
}

int torc_flushdb(struct torc *torc)
{
    return call_flush(torc, TORC_OP_FLUSHDB);
}

/* Decimal digits, so few that a sum of microseconds with them fits 64 bits. */
static bool read_digits(struct torc_slice text, uint64_t *out_value)
{
    uint64_t value = 0;
    if (text.len == 0 || text.len > 12) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out_value = value;
    return true;
}

int64_t torc_time(struct torc *torc)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_TIME, NULL, 0, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    uint64_t seconds;
    uint64_t us;
    if (reply.kind != TORC_REPLY_ARRAY || reply.count != 2 ||
        !read_digits(torc_reply_at(&reply, 0), &seconds) ||
        !read_digits(torc_reply_at(&reply, 1), &us)) {
        return torc_fail_kind(torc);
    }
    return (int64_t)(seconds * 1000000u + us);
}

/* The reply as a result, if it is of that kind. */
static int give_result(struct torc *torc, const struct torc_reply *reply, enum torc_kind kind,
                       struct torc_result *out_result)
{
    struct torc_result result;
    if (!torc_result_fill(torc, reply, 0, &result) || result.kind != kind) {
        return torc_fail_kind(torc);
    }
    *out_result = result;
    return TORC_OK;
}

int torc_hgetall(struct torc *torc, struct torc_bytes key, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_HGETALL, &key, 1, &reply);
    return rc != TORC_OK ? rc : give_result(torc, &reply, TORC_MAP, out_result);
}

int torc_hkeys(struct torc *torc, struct torc_bytes key, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_HKEYS, &key, 1, &reply);
    return rc != TORC_OK ? rc : give_result(torc, &reply, TORC_ARRAY, out_result);
}

int torc_hvals(struct torc *torc, struct torc_bytes key, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_HVALS, &key, 1, &reply);
    return rc != TORC_OK ? rc : give_result(torc, &reply, TORC_ARRAY, out_result);
}

int torc_keys(struct torc *torc, struct torc_bytes pattern, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_KEYS, &pattern, 1, &reply);
    return rc != TORC_OK ? rc : give_result(torc, &reply, TORC_ARRAY, out_result);
}

int torc_hrandfield(struct torc *torc, struct torc_bytes key, int64_t count, int with_values,
                    struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    char decimal[TORC_DECIMAL_BYTES];
    int len = snprintf(decimal, sizeof decimal, "%lld", (long long)count);
    const struct torc_bytes bytes[] = {key, torc_mem(decimal, (size_t)len), torc_str("WITHVALUES")};
    struct torc_reply reply;
    int rc = torc_call_few(torc, TORC_OP_HRANDFIELD, bytes, with_values ? 3 : 2, &reply);
    return rc != TORC_OK
               ? rc
               : give_result(torc, &reply, with_values ? TORC_MAP : TORC_ARRAY, out_result);
}

/* SCAN or, with a key, HSCAN. */
static int call_scan(struct torc *torc, enum torc_op op, const struct torc_bytes *key,
                     uint64_t cursor, struct torc_bytes match, uint64_t count, bool has_values,
                     struct torc_result *out_result)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    if (!torc_bytes_are_valid(match) || (key != NULL && !torc_bytes_are_valid(*key))) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    struct torc_slice words[6];
    size_t n = 0;
    if (key != NULL) {
        words[n++] = torc_slice_of_bytes(*key);
    }
    if (match.data != NULL) {
        words[n++] = torc_slice_str("MATCH");
        words[n++] = torc_slice_of_bytes(match);
    }
    char decimal[TORC_DECIMAL_BYTES];
    if (count != 0) {
        /* Above what the server reads it is as good as its largest number. */
        count = torc_min_u64(count, INT64_MAX);
        (void)snprintf(decimal, sizeof decimal, "%llu", (unsigned long long)count);
        words[n++] = torc_slice_str("COUNT");
        words[n++] = torc_slice_str(decimal);
    }
    if (!has_values) {
        words[n++] = torc_slice_str("NOVALUES");
    }
    struct torc_reply reply;
    rc = torc_call(torc, op, &cursor, words, n, &reply);
    return rc != TORC_OK ? rc : give_result(torc, &reply, TORC_CURSOR, out_result);
}

int torc_scan(struct torc *torc, uint64_t cursor, struct torc_bytes match, uint64_t count,
              struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    return call_scan(torc, TORC_OP_SCAN, NULL, cursor, match, count, true, out_result);
}

int torc_hscan(struct torc *torc, struct torc_bytes key, uint64_t cursor, struct torc_bytes match,
               uint64_t count, int with_values, struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    return call_scan(torc, TORC_OP_HSCAN, &key, cursor, match, count, with_values != 0, out_result);
}

int torc_command(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                 struct torc_result *out_result)
{
    if (out_result == NULL) {
        return torc_fail_output(torc);
    }
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_words request;
    rc = torc_words_parse(torc, words, n_words, &request);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_reply reply;
    rc = torc_call(torc, request.op, request.numbers, request.strings, request.n_strings, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_result_fill(torc, &reply, 0, out_result) ? TORC_OK : torc_fail_kind(torc);
}
