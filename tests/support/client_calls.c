/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/client_calls.h"

#include "tests/support/client_fixture.h"

static struct torc_bytes k(void)
{
    return torc_str("k");
}

static int64_t call_ping(struct torc *torc)
{
    return torc_ping(torc);
}
static int64_t call_hset(struct torc *torc)
{
    return torc_hset(torc, k(), torc_str("f"), torc_str("v"));
}
static int64_t call_hset_many(struct torc *torc)
{
    const struct torc_bytes pairs[] = {torc_str("f"), torc_str("v"), torc_str("g"), torc_str("w")};
    return torc_hset_many(torc, k(), pairs, 2);
}
static int64_t call_hget(struct torc *torc)
{
    struct torc_bytes value = {"kept", 4};
    int64_t rc = torc_hget(torc, k(), torc_str("f"), &value);
    ck_assert(rc >= 0 || value.len == 4); /* a failing call leaves its outputs alone */
    return rc;
}
static int64_t call_hmget(struct torc *torc)
{
    const struct torc_bytes fields[] = {torc_str("f"), torc_str("g")};
    struct torc_bytes values[2] = {{"kept", 4}, {"kept", 4}};
    int64_t rc = torc_hmget(torc, k(), fields, 2, values);
    ck_assert(rc >= 0 || (values[0].len == 4 && values[1].len == 4));
    return rc;
}
static int64_t call_hdel(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    return torc_hdel(torc, k(), &field, 1);
}
static int64_t call_hlen(struct torc *torc)
{
    return torc_hlen(torc, k());
}
static int64_t call_hexists(struct torc *torc)
{
    return torc_hexists(torc, k(), torc_str("f"));
}
static int64_t call_del(struct torc *torc)
{
    const struct torc_bytes key = k();
    return torc_del(torc, &key, 1);
}
static int64_t call_exists(struct torc *torc)
{
    const struct torc_bytes key = k();
    return torc_exists(torc, &key, 1);
}
static int64_t call_dbsize(struct torc *torc)
{
    return torc_dbsize(torc);
}
static int64_t call_flushall(struct torc *torc)
{
    return torc_flushall(torc);
}
static int64_t call_hgetall(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hgetall(torc, k(), &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_hsetnx(struct torc *torc)
{
    return torc_hsetnx(torc, k(), torc_str("f"), torc_str("v"));
}
static int64_t call_hstrlen(struct torc *torc)
{
    return torc_hstrlen(torc, k(), torc_str("f"));
}
static int64_t call_hincrby(struct torc *torc)
{
    int64_t value = 77;
    int64_t rc = torc_hincrby(torc, k(), torc_str("f"), -1, &value);
    ck_assert(rc >= 0 || value == 77);
    return rc;
}
static int64_t call_hincrbyfloat(struct torc *torc)
{
    struct torc_bytes value = {"kept", 4};
    int64_t rc = torc_hincrbyfloat(torc, k(), torc_str("f"), torc_str("0.1"), &value);
    ck_assert(rc >= 0 || value.len == 4);
    return rc;
}
static int64_t call_unlink(struct torc *torc)
{
    const struct torc_bytes key = k();
    return torc_unlink(torc, &key, 1);
}
static int64_t call_touch(struct torc *torc)
{
    const struct torc_bytes key = k();
    return torc_touch(torc, &key, 1);
}
static int64_t call_randomkey(struct torc *torc)
{
    struct torc_bytes key = {"kept", 4};
    int64_t rc = torc_randomkey(torc, &key);
    ck_assert(rc >= 0 || key.len == 4);
    return rc;
}
static int64_t call_flushdb(struct torc *torc)
{
    return torc_flushdb(torc);
}
static int64_t call_hkeys(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hkeys(torc, k(), &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_hvals(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hvals(torc, k(), &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_keys(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_keys(torc, torc_str("*"), &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_hrandfield(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hrandfield(torc, k(), -5, 0, &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_hrandfield_with_values(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hrandfield(torc, k(), 5, 1, &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_hscan(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_hscan(torc, k(), 0, torc_str("*"), 3, 0, &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_scan(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_scan(torc, 0, torc_str("*"), 3, &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}
static int64_t call_time(struct torc *torc)
{
    return torc_time(torc);
}
static int64_t call_command(struct torc *torc)
{
    const struct torc_bytes words[] = {torc_str("HGET"), k(), torc_str("f")};
    struct torc_result result = {.tag = 77};
    int64_t rc = torc_command(torc, words, 3, &result);
    ck_assert(rc >= 0 || result.tag == 77);
    return rc;
}

static int64_t call_expire(struct torc *torc)
{
    return torc_expire(torc, k(), 1000, TORC_FLAG_NX);
}
static int64_t call_expire_at(struct torc *torc)
{
    return torc_expire_at(torc, k(), 4000000000000, TORC_FLAG_XX | TORC_FLAG_GT);
}
static int64_t call_ttl(struct torc *torc)
{
    int64_t ms = 77;
    int64_t rc = torc_ttl(torc, k(), &ms);
    ck_assert(rc >= 0 || ms == 77);
    return rc;
}
static int64_t call_expire_time(struct torc *torc)
{
    int64_t ms = 77;
    int64_t rc = torc_expire_time(torc, k(), &ms);
    ck_assert(rc >= 0 || ms == 77);
    return rc;
}
static int64_t call_persist(struct torc *torc)
{
    return torc_persist(torc, k());
}
static int64_t call_hexpire(struct torc *torc)
{
    const struct torc_bytes fields[] = {torc_str("f"), torc_str("g")};
    int codes[2] = {77, 77};
    int64_t rc = torc_hexpire(torc, k(), fields, 2, 1000, TORC_FLAG_NX, codes);
    ck_assert(rc >= 0 || (codes[0] == 77 && codes[1] == 77));
    return rc;
}
static int64_t call_hexpire_at(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    int code = 77;
    int64_t rc = torc_hexpire_at(torc, k(), &field, 1, 4000000000000, 0, &code);
    ck_assert(rc >= 0 || code == 77);
    return rc;
}
static int64_t call_httl(struct torc *torc)
{
    const struct torc_bytes fields[] = {torc_str("f"), torc_str("g")};
    int64_t ms[2] = {77, 77};
    int64_t rc = torc_httl(torc, k(), fields, 2, ms);
    ck_assert(rc >= 0 || (ms[0] == 77 && ms[1] == 77));
    return rc;
}
static int64_t call_hexpire_time(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    int64_t ms = 77;
    int64_t rc = torc_hexpire_time(torc, k(), &field, 1, &ms);
    ck_assert(rc >= 0 || ms == 77);
    return rc;
}
static int64_t call_hpersist(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    int code = 77;
    int64_t rc = torc_hpersist(torc, k(), &field, 1, &code);
    ck_assert(rc >= 0 || code == 77);
    return rc;
}
static int64_t call_hsetex(struct torc *torc)
{
    const struct torc_bytes pairs[] = {torc_str("f"), torc_str("v"), torc_str("g"), torc_str("w")};
    return torc_hsetex(torc, k(), pairs, 2, 1000, TORC_FLAG_FNX | TORC_FLAG_PX);
}
static int64_t call_hgetex(struct torc *torc)
{
    const struct torc_bytes fields[] = {torc_str("f"), torc_str("g")};
    struct torc_bytes values[2] = {{"kept", 4}, {"kept", 4}};
    int64_t rc = torc_hgetex(torc, k(), fields, 2, 1000, TORC_FLAG_PX, values);
    ck_assert(rc >= 0 || (values[0].len == 4 && values[1].len == 4));
    return rc;
}
static int64_t call_hgetdel(struct torc *torc)
{
    const struct torc_bytes fields[] = {torc_str("f"), torc_str("g")};
    struct torc_bytes values[2] = {{"kept", 4}, {"kept", 4}};
    int64_t rc = torc_hgetdel(torc, k(), fields, 2, values);
    ck_assert(rc >= 0 || (values[0].len == 4 && values[1].len == 4));
    return rc;
}
static int64_t call_copy(struct torc *torc)
{
    return torc_copy(torc, k(), torc_str("to"), TORC_FLAG_REPLACE);
}
static int64_t call_rename(struct torc *torc)
{
    return torc_rename(torc, k(), torc_str("to"), 0);
}
static int64_t call_rename_nx(struct torc *torc)
{
    return torc_rename(torc, k(), torc_str("to"), TORC_FLAG_NX);
}

/* Codes as torc.h has them. */
#define CALL                                                                                       \
    (CODE(TORC_EINVAL) | CODE(TORC_ENOMEM) | CODE(TORC_EPIPE) | CODE(TORC_ETIMEDOUT) |             \
     CODE(TORC_EAGAIN) | CODE(TORC_EMSGSIZE) | CODE(TORC_EBADMSG) | CODE(TORC_EREPLY))
#define TYPED CODE(TORC_EWRONGTYPE)
#define ADDS  CODE(TORC_EOOM)

const struct client_call client_calls[] = {
    {"ping", call_ping, TORC_REPLY_TEXT, CALL},
    {"hset", call_hset, TORC_REPLY_INT, CALL | TYPED | ADDS},
    {"hset_many", call_hset_many, TORC_REPLY_INT, CALL | TYPED | ADDS},
    {"hget", call_hget, TORC_REPLY_BYTES, CALL | TYPED},
    {"hmget", call_hmget, TORC_REPLY_ARRAY, CALL | TYPED},
    {"hdel", call_hdel, TORC_REPLY_INT, CALL | TYPED},
    {"hlen", call_hlen, TORC_REPLY_INT, CALL | TYPED},
    {"hexists", call_hexists, TORC_REPLY_INT, CALL | TYPED},
    {"del", call_del, TORC_REPLY_INT, CALL},
    {"exists", call_exists, TORC_REPLY_INT, CALL},
    {"dbsize", call_dbsize, TORC_REPLY_INT, CALL},
    {"flushall", call_flushall, TORC_REPLY_OK, CALL},
    {"hgetall", call_hgetall, TORC_REPLY_PAIRS, CALL | TYPED},
    {"scan", call_scan, TORC_REPLY_CURSOR, CALL},
    {"hsetnx", call_hsetnx, TORC_REPLY_INT, CALL | TYPED | ADDS},
    {"hstrlen", call_hstrlen, TORC_REPLY_INT, CALL | TYPED},
    {"hincrby", call_hincrby, TORC_REPLY_INT, CALL | TYPED | ADDS},
    {"hincrbyfloat", call_hincrbyfloat, TORC_REPLY_BYTES, CALL | TYPED | ADDS},
    {"unlink", call_unlink, TORC_REPLY_INT, CALL},
    {"touch", call_touch, TORC_REPLY_INT, CALL},
    {"randomkey", call_randomkey, TORC_REPLY_BYTES, CALL},
    {"flushdb", call_flushdb, TORC_REPLY_OK, CALL},
    {"hkeys", call_hkeys, TORC_REPLY_ARRAY, CALL | TYPED},
    {"hvals", call_hvals, TORC_REPLY_ARRAY, CALL | TYPED},
    {"keys", call_keys, TORC_REPLY_ARRAY, CALL},
    {"hrandfield", call_hrandfield, TORC_REPLY_ARRAY, CALL | TYPED},
    {"hrandfield with values", call_hrandfield_with_values, TORC_REPLY_PAIRS, CALL | TYPED},
    {"hscan", call_hscan, TORC_REPLY_CURSOR, CALL | TYPED},
    {"expire", call_expire, TORC_REPLY_INT, CALL | ADDS},
    {"expire_at", call_expire_at, TORC_REPLY_INT, CALL | ADDS},
    {"ttl", call_ttl, TORC_REPLY_INT, CALL},
    {"expire_time", call_expire_time, TORC_REPLY_INT, CALL},
    {"persist", call_persist, TORC_REPLY_INT, CALL},
    {"hexpire", call_hexpire, TORC_REPLY_ERROR, CALL | TYPED | ADDS},
    {"hexpire_at", call_hexpire_at, TORC_REPLY_ERROR, CALL | TYPED | ADDS},
    {"httl", call_httl, TORC_REPLY_ERROR, CALL | TYPED},
    {"hexpire_time", call_hexpire_time, TORC_REPLY_ERROR, CALL | TYPED},
    {"hpersist", call_hpersist, TORC_REPLY_ERROR, CALL | TYPED},
    {"hsetex", call_hsetex, TORC_REPLY_INT, CALL | TYPED | ADDS},
    {"hgetex", call_hgetex, TORC_REPLY_ARRAY, CALL | TYPED | ADDS},
    {"hgetdel", call_hgetdel, TORC_REPLY_ARRAY, CALL | TYPED},
    {"copy", call_copy, TORC_REPLY_INT, CALL | ADDS},
    {"rename", call_rename, TORC_REPLY_OK, CALL | ADDS},
    {"rename with NX", call_rename_nx, TORC_REPLY_INT, CALL | ADDS},
    {"time", call_time, TORC_REPLY_ERROR, CALL},
    {"command", call_command, TORC_REPLY_BYTES, CALL | TYPED | ADDS},
};
const size_t client_n_calls = N_OF(client_calls);

int64_t client_call(struct torc *torc, const char *name)
{
    for (size_t i = 0; i < client_n_calls; i++) {
        if (strcmp(client_calls[i].name, name) == 0) {
            return client_calls[i].call(torc);
        }
    }
    ck_abort_msg("no call %s", name);
}
