/* SPDX-License-Identifier: Apache-2.0
 *
 * A road of the load generator: requests out, replies in, in the same order, many under way. There
 * are two, the ring (libtorc) and a socket (RESP2), behind the same few calls. Both are made to
 * cost little: a socket's requests are encoded into one block that goes out by one write each time
 * the road would have to wait, replies are read in large blocks and parsed where they lie; nothing
 * is allocated for a request or a reply, but that buffers grow to the largest seen.
 *
 * Threads: one. What a reply holds is borrowed until the next call on the road.
 *
 * Errors beside those named at each call, all with a text in torc_load_road_error(): -EPIPE the
 * peer closed or the socket failed, -ETIMEDOUT no reply in time, -EBADMSG its bytes are no reply,
 * -ENOMEM. After one of these the road can only be closed.
 */
#ifndef TORC_PERF_LOAD_ROAD_H
#define TORC_PERF_LOAD_ROAD_H

#include "core/clock.h"
#include "torc/torc.h"

#define TORC_LOAD_ERROR_BYTES 256

enum torc_load_verb {
    TORC_LOAD_PING,
    TORC_LOAD_HSET,
    TORC_LOAD_HGET,
    TORC_LOAD_HMGET,
    TORC_LOAD_HGETALL,
    TORC_LOAD_HEXISTS,
    TORC_LOAD_HSTRLEN,
    TORC_LOAD_HLEN,
    TORC_LOAD_HINCRBY,
    TORC_LOAD_HDEL,
    TORC_LOAD_HSETEX,
    TORC_LOAD_HGETEX,
    TORC_LOAD_HPEXPIRE,
    TORC_LOAD_DEL,
    TORC_LOAD_FLUSHALL,
    TORC_LOAD_VERBS
};

/* The name of a command, in capitals. Static. */
const char *torc_load_verb_name(enum torc_load_verb verb) TORC_MUST_USE;

/* Words of a request in front of its first field: the key alone; of commands on times also the
 * option and its time, or the time, then FIELDS and the number of fields. */
#define TORC_LOAD_HEAD_WORDS     1u
#define TORC_LOAD_HSETEX_HEAD    5u
#define TORC_LOAD_HGETEX_HEAD    5u
#define TORC_LOAD_HPEXPIRE_HEAD  4u
#define TORC_LOAD_HEAD_WORDS_MAX 5u

struct torc_load_request {
    enum torc_load_verb verb;
    size_t n_words;                 /* arguments: the head, then fields, or fields and values */
    const struct torc_bytes *words; /* borrowed for the time of the call */
    int64_t ms;                     /* the time that the head tells, as a number */
    bool is_absolute;               /* since 1970, else from now on */
    struct torc_bytes wire;         /* len > 0: the same, encoded by torc_load_road_encode() */
};

enum torc_load_kind {
    TORC_LOAD_STATUS,  /* text: PONG, OK */
    TORC_LOAD_INTEGER, /* integer */
    TORC_LOAD_STRING,  /* text */
    TORC_LOAD_NIL,
    TORC_LOAD_ARRAY, /* count elements, see torc_load_road_at() */
    TORC_LOAD_ERROR  /* text */
};

struct torc_load_reply {
    enum torc_load_kind kind;
    int64_t integer;
    struct torc_bytes text;
    size_t count;
};

/* How to wait. */
enum torc_load_wait {
    TORC_LOAD_BUSY,     /* look all the time: a whole core, the least latency */
    TORC_LOAD_ADAPTIVE, /* ring: look, then sleep; socket: sleep in recv(), as most clients do */
    TORC_LOAD_YIELD,    /* give the core away between looks: for a core shared with the server */
};

/* How far a collect goes. */
enum torc_load_effort {
    TORC_LOAD_AT_HAND, /* a reply that was read already; no system call */
    TORC_LOAD_LOOK,    /* look whether one came; does not wait */
    TORC_LOAD_WAIT     /* wait until one comes */
};

struct torc_load_road;

struct torc_load_road_ops {
    size_t (*bound)(const struct torc_load_request *request); /* NULL: nothing to encode */
    size_t (*encode)(const struct torc_load_request *request, uint8_t *out);
    int (*submit)(struct torc_load_road *road, const struct torc_load_request *request);
    int (*flush)(struct torc_load_road *road);
    int (*collect)(struct torc_load_road *road, enum torc_load_effort effort,
                   struct torc_load_reply *out_reply);
    struct torc_bytes (*at)(const struct torc_load_road *road, size_t i);
    const char *(*error)(const struct torc_load_road *road);
    void (*close)(struct torc_load_road *road);
};

/* The head of every road. */
struct torc_load_road {
    const struct torc_load_road_ops *ops;
    const char *name;    /* "ring", "unix", "tcp" */
    bool is_batched;     /* submitted requests leave at torc_load_road_flush(), not at once */
    uint64_t read_ticks; /* when the reply that came last was read */
};

struct torc_load_road_options {
    size_t window; /* most requests under way, 1 to TORC_LOAD_WINDOW_MAX */
    enum torc_load_wait wait;
    uint64_t timeout_ns;            /* longest time without a reply */
    const struct torc_clock *clock; /* borrowed for the life of the road */
};

#define TORC_LOAD_WINDOW_MAX 4096u

/* Connect to "ring:/path", "unix:/path" or "tcp:host:port". 0; -EINVAL the address makes no sense,
 * -EPIPE nobody answers there, -ENOMEM; each with a text in `error`. */
int torc_load_road_open(const char *address, const struct torc_load_road_options *options,
                        struct torc_load_road **out_road,
                        char error[TORC_LOAD_ERROR_BYTES]) TORC_MUST_USE;

/* The two kinds of road, for torc_load_road_open(). */
int torc_load_road_open_ring(const char *path, const struct torc_load_road_options *options,
                             struct torc_load_road **out_road,
                             char error[TORC_LOAD_ERROR_BYTES]) TORC_MUST_USE;
int torc_load_road_open_socket(const char *address, const struct torc_load_road_options *options,
                               struct torc_load_road **out_road,
                               char error[TORC_LOAD_ERROR_BYTES]) TORC_MUST_USE;

/* Bytes that a request needs at most when it is encoded beforehand; 0: this road takes words only.
 */
static inline size_t torc_load_road_bound(const struct torc_load_road *road,
                                          const struct torc_load_request *request)
{
    return road->ops->bound != NULL ? road->ops->bound(request) : 0;
}

/* Encode beforehand, where the bound is not 0 and `out` has room for it: the number of bytes. With
 * them as request->wire, words are not looked at any more. */
static inline size_t torc_load_road_encode(const struct torc_load_road *road,
                                           const struct torc_load_request *request, uint8_t *out)
{
    return road->ops->encode(request, out);
}

/* Take a request; its bytes are copied. 0; -EAGAIN no room now, collect a reply first; -EINVAL the
 * client library itself refuses it, the text is as the server's would be. On these nothing was
 * sent. */
static inline int torc_load_road_submit(struct torc_load_road *road,
                                        const struct torc_load_request *request)
{
    return road->ops->submit(road, request);
}

/* Send what was taken and did not leave yet, as far as the peer takes it without a wait. */
static inline int torc_load_road_flush(struct torc_load_road *road)
{
    return road->ops->flush(road);
}

/* The oldest reply. 0; -EAGAIN none with this effort. The caller knows that one is owed. */
static inline int torc_load_road_collect(struct torc_load_road *road, enum torc_load_effort effort,
                                         struct torc_load_reply *out_reply)
{
    return road->ops->collect(road, effort, out_reply);
}

/* Element i of the array that came last; data NULL is nil. */
static inline struct torc_bytes torc_load_road_at(const struct torc_load_road *road, size_t i)
{
    return road->ops->at(road, i);
}

/* Why the last call failed. Good until the next call on the road. */
static inline const char *torc_load_road_error(const struct torc_load_road *road)
{
    return road->ops->error(road);
}

/* NULL is fine. */
static inline void torc_load_road_close(struct torc_load_road *road)
{
    if (road != NULL) {
        road->ops->close(road);
    }
}

#endif
