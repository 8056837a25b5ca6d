/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of the load generator: each is a stream of requests, numbered from 0, and what
 * the reply to each has to be. The stream is a function of the shape, the seed and the salt, so a
 * phase can be repeated, or gone on with from any number.
 *
 * Threads: one.
 */
#ifndef TORC_PERF_LOAD_OPS_H
#define TORC_PERF_LOAD_OPS_H

#include "perf/harness/shapes.h"
#include "perf/load/load_road.h"

#define TORC_LOAD_TEXT_BYTES  512
#define TORC_LOAD_ASK_MAX     4096u
#define TORC_LOAD_MIXED_KINDS 4u

enum torc_load_op {
    TORC_LOAD_OP_PING,
    TORC_LOAD_OP_LOAD_WHOLE,
    TORC_LOAD_OP_LOAD_FIELDS,
    TORC_LOAD_OP_HGET,
    TORC_LOAD_OP_HGET_MISS,
    TORC_LOAD_OP_HSET_SAME,
    TORC_LOAD_OP_HSET_WIDTH,
    TORC_LOAD_OP_HMGET,
    TORC_LOAD_OP_HGETALL,
    TORC_LOAD_OP_HEXISTS,
    TORC_LOAD_OP_HSTRLEN,
    TORC_LOAD_OP_HLEN,
    TORC_LOAD_OP_HINCRBY,
    TORC_LOAD_OP_HDEL_HSET,
    TORC_LOAD_OP_LOAD_WHOLE_EX,
    TORC_LOAD_OP_LOAD_FIELDS_EX,
    TORC_LOAD_OP_HSETEX,
    TORC_LOAD_OP_HSETEX_AT,
    TORC_LOAD_OP_HGETEX,
    TORC_LOAD_OP_HEXPIRE,
    TORC_LOAD_OP_HDEL_HSETEX,
    TORC_LOAD_OP_INSERT,
    TORC_LOAD_OP_DELETE,
    TORC_LOAD_OP_GROW,
    TORC_LOAD_OP_MIXED,
    TORC_LOAD_OP_VERIFY,
    TORC_LOAD_OP_FLUSH,
    TORC_LOAD_OP_DELETE_KEYS,
    TORC_LOAD_OPS
};

/* Which field of a hash a request names. */
enum torc_load_choice {
    TORC_LOAD_RANDOM,
    TORC_LOAD_FIRST,
    TORC_LOAD_MIDDLE,
    TORC_LOAD_LAST,
    TORC_LOAD_INDEX /* field_index */
};

struct torc_load_spec {
    enum torc_load_op op;
    const struct torc_shape *shape; /* borrowed for the life of the operation */
    enum torc_load_choice choice;
    uint32_t field_index;
    uint32_t ask;          /* fields of an HMGET; 0: 94 for wide, else 10, or all if fewer */
    uint32_t value_bytes2; /* the other width; 0: 64, wide 100 */
    uint64_t ttl_ms;       /* how long fields live, of operations that set times; 0: 1,000 s */
    uint64_t seed;
    uint64_t salt;      /* of what is written */
    bool verifies_salt; /* verify takes values of this salt only */
};

/* What is to be known about a request when its reply comes. */
struct torc_load_flight {
    struct torc_shape_cell cell; /* the first field it names */
    int64_t expected;            /* an integer reply */
    uint32_t count;              /* elements of an array reply */
    uint32_t stride;             /* from one field it names to the next, modulo the hash's fields */
    enum torc_load_verb verb;
    uint8_t kind;   /* mixed: index of torc_load_ops_kind_name(); else 0 */
    bool is_absent; /* HGET of a field that is not there */
};

struct torc_load_ops;

/* Name, as after --op, and description of an operation. Static. */
const char *torc_load_op_name(enum torc_load_op op) TORC_MUST_USE;
const char *torc_load_op_about(enum torc_load_op op) TORC_MUST_USE;

/* Operation of that name; -ENOENT. */
int torc_load_op_find(const char *name, enum torc_load_op *out_op) TORC_MUST_USE;

/* "insert", "update", "delete", "grow": what mixed is made of, by number. Static. */
const char *torc_load_ops_kind_name(unsigned kind) TORC_MUST_USE;

/* -EINVAL the shape and the numbers do not go together, -ENOMEM; with a text in `error`. */
int torc_load_ops_create(const struct torc_load_spec *spec, struct torc_load_ops **out_ops,
                         char error[TORC_LOAD_ERROR_BYTES]) TORC_MUST_USE;

/* NULL is fine. */
void torc_load_ops_destroy(struct torc_load_ops *ops);

/* Requests that the stream has: what one pass over the data takes, UINT64_MAX without an end. */
uint64_t torc_load_ops_limit(const struct torc_load_ops *ops) TORC_MUST_USE;

/* After a multiple of so many requests, counted from 0, the data have the shape they had. 1 where
 * every request leaves them so, or where they are meant to change. */
uint64_t torc_load_ops_period(const struct torc_load_ops *ops) TORC_MUST_USE;

/* Make request n < limit, calls with n, n + 1, n + 2 and so on. What *out_request borrows lives
 * until the next call. Where the stream has a period, any n may be asked for
 * again. */
void torc_load_ops_make(struct torc_load_ops *ops, uint64_t n, struct torc_load_flight *out_flight,
                        struct torc_load_request *out_request);

/* Whether the reply is right. Replies come in the order of requests. False: `text` says what is
 * wrong. An error reply is wrong, too. */
bool torc_load_ops_check(struct torc_load_ops *ops, const struct torc_load_road *road,
                         const struct torc_load_flight *flight, const struct torc_load_reply *reply,
                         char text[TORC_LOAD_TEXT_BYTES]) TORC_MUST_USE;

#endif
