/* SPDX-License-Identifier: Apache-2.0
 *
 * A road to a server: the ring (libtorc) or RESP (a socket), behind the same few calls, so that a
 * tool is written once and both roads are compared doing the same. One thread. Replies come in the
 * order of requests; what a reply holds is borrowed until the next call on the road.
 *
 * Errors of a road, beside those named at each call: -EPIPE the server is gone, -ETIMEDOUT it does
 * not answer, -EBADMSG its bytes make no sense, -ENOMEM, -EINVAL a request it cannot carry. A
 * refusal by the server ("-WRONGTYPE ...") is a reply.
 */
#ifndef TORC_TOOLS_ROAD_H
#define TORC_TOOLS_ROAD_H

#include "core/base.h"
#include "torc/torc.h"

#define TORC_ROAD_ERROR_BYTES 256

enum torc_road_op {
    TORC_ROAD_PING,
    TORC_ROAD_HGET,
    TORC_ROAD_HSET,
    TORC_ROAD_HMGET,
    TORC_ROAD_DEL,
    TORC_ROAD_EXISTS
};

struct torc_road_request {
    enum torc_road_op op;
    struct torc_bytes key; /* all but PING */
    /* HGET: the field. HMGET: fields. HSET: field, value, field, value, ... */
    const struct torc_bytes *words;
    size_t n_words;
};

enum torc_road_kind {
    TORC_ROAD_STATUS,  /* PING */
    TORC_ROAD_INTEGER, /* HSET: fields created; DEL: keys removed; EXISTS: 0 or 1 */
    TORC_ROAD_STRING,  /* HGET */
    TORC_ROAD_NIL,     /* HGET of an absent field */
    TORC_ROAD_ARRAY,   /* HMGET: values in order, absent ones without data */
    TORC_ROAD_ERROR,
};

struct torc_road_reply {
    enum torc_road_kind kind;
    int64_t integer;
    struct torc_bytes text; /* STATUS ("" where the road carries none), STRING, ERROR */
    size_t count;           /* ARRAY: elements, for torc_road_at() */
};

struct torc_road;

/* What each road does; see the calls below. */
struct torc_road_ops {
    int (*submit)(struct torc_road *road, const struct torc_road_request *request);
    int (*collect)(struct torc_road *road, struct torc_road_reply *out_reply);
    int (*call)(struct torc_road *road, const struct torc_road_request *request,
                struct torc_road_reply *out_reply);
    struct torc_bytes (*at)(const struct torc_road *road, size_t i);
    const char *(*error)(const struct torc_road *road);
    void (*close)(struct torc_road *road);
};

/* The head of every road. */
struct torc_road {
    const struct torc_road_ops *ops;
    const char *name; /* "ring", "RESP" */
};

/* How to wait for a reply. */
enum torc_road_wait {
    TORC_ROAD_ADAPTIVE, /* look for a while, then sleep until there is one */
    TORC_ROAD_BUSY,     /* look all the time */
    TORC_ROAD_YIELD,    /* give the core away between two looks */
};

struct torc_road_options {
    size_t window; /* most requests outstanding, at least 1 */
    enum torc_road_wait wait;
    uint64_t timeout_ns; /* for each reply */
    uint32_t area_bytes; /* ring: of messages longer than a slot, each direction; 0: the server's
                            default */
    const char *name;    /* of the tool, for the server's list of sessions */
};

/* Open the ring of a control socket (NULL: the usual places, see torc_options). 0, or a negative
 * errno and a text for a person in `error`. */
int torc_road_open_ring(const char *socket, const struct torc_road_options *options,
                        struct torc_road **out_road,
                        char error[TORC_ROAD_ERROR_BYTES]) TORC_MUST_USE;

/* Connect by RESP to an address of torc_resp_client_open(). */
int torc_road_open_resp(const char *address, const struct torc_road_options *options,
                        struct torc_road **out_road,
                        char error[TORC_ROAD_ERROR_BYTES]) TORC_MUST_USE;

/* Send a request without waiting; its bytes are copied. 0; -EAGAIN no room now: collect a reply
 * first; -EMSGSIZE longer than the road can carry. On these two nothing was sent. */
static inline int torc_road_submit(struct torc_road *road, const struct torc_road_request *request)
{
    return road->ops->submit(road, request);
}

/* The oldest outstanding reply. 0; -ENOENT nothing outstanding. */
static inline int torc_road_collect(struct torc_road *road, struct torc_road_reply *out_reply)
{
    return road->ops->collect(road, out_reply);
}

/* One request, one reply, by the shortest way there is; nothing may be outstanding. 0, -EMSGSIZE.
 */
static inline int torc_road_call(struct torc_road *road, const struct torc_road_request *request,
                                 struct torc_road_reply *out_reply)
{
    return road->ops->call(road, request, out_reply);
}

/* Element i < count of the array that came last. */
static inline struct torc_bytes torc_road_at(const struct torc_road *road, size_t i)
{
    return road->ops->at(road, i);
}

/* Why the last call failed, for a person. */
static inline const char *torc_road_error(const struct torc_road *road)
{
    return road->ops->error(road);
}

static inline void torc_road_close(struct torc_road *road)
{
    if (road != NULL) {
        road->ops->close(road);
    }
}

#endif
