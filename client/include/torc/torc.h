/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc: hashes in a torc server on the same host, over shared memory.
 *
 *   struct torc *torc;
 *   const char *why;
 *   if (torc_open(NULL, &torc, &why) != TORC_OK) { ... why ... }
 *   torc_hset(torc, torc_str("quote:EURUSD"), torc_str("bid"), torc_str("1.0851"));
 *   struct torc_bytes bid;
 *   if (torc_hget(torc, torc_str("quote:EURUSD"), torc_str("bid"), &bid) == 1) { ... }
 *   torc_close(torc);
 *
 * Threads. One handle is one session and belongs to the thread that opened it: any function called
 * by another thread, or in a child of fork(), gives TORC_EINVAL. Open one handle per thread. A
 * child closes the parent's handles with torc_close(), which then leaves the session alone.
 *
 * Bytes. Lengths are bytes; keys, fields and values may hold any byte and are borrowed for the time
 * of the call. What comes back is borrowed from the handle and good until the next call on it that
 * says so.
 *
 * Errors. Functions return 0 or a count, else a negative code of enum torc_error; then outputs are
 * untouched, and torc_error_text() says more. A request that is refused (TORC_EINVAL, TORC_EAGAIN,
 * TORC_ENOMEM or TORC_EMSGSIZE before it was sent; TORC_EWRONGTYPE, TORC_EOOM, TORC_EREPLY by the
 * server) has changed nothing. A write that timed out, or was in flight when the server died, has
 * an unknown outcome: TORC_ETIMEDOUT, TORC_EPIPE. The library never repeats it.
 *
 * Deadlines are durations in nanoseconds. A call that times out leaves the handle usable: its reply
 * is dropped when it comes. Later calls wait behind it, and when as many as there are slots are
 * still owed, TORC_EAGAIN.
 *
 * Cost. No call allocates, but to remember a request or reply with more items than any before. A
 * call is one message there and one back; no system call while the server polls.
 */
#ifndef TORC_TORC_H
#define TORC_TORC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TORC_API __attribute__((visibility("default")))

/* Pinned values: part of the ABI. */
enum torc_error {
    TORC_OK = 0,
    TORC_EINVAL = -1, /* caller's mistake: NULL, no fields, a handle of another thread or process,
                         unknown command, a synchronous call while results are outstanding */
    TORC_ENOMEM = -2,
    TORC_ENOENT = -3,      /* nobody listens on the control socket; or nothing outstanding */
    TORC_EPIPE = -4,       /* server gone: torc_reattach() */
    TORC_EPROTO = -5,      /* versions do not match */
    TORC_ETIMEDOUT = -6,   /* deadline passed */
    TORC_EAGAIN = -7,      /* pipeline full: collect first; or torc_try_collect(): not there yet */
    TORC_EMSGSIZE = -8,    /* request or reply above the session's cap; nothing was changed */
    TORC_EBADMSG = -9,     /* the server's bytes fail validation: torc_reattach() */
    TORC_EWRONGTYPE = -10, /* the key holds another type */
    TORC_EOOM = -11,       /* the server is at maxmemory; nothing was changed */
    TORC_EREPLY = -12,     /* any other error reply; torc_error_text() has Redis's text */
    TORC_ENOSPC = -13,     /* refused: quota of sessions or memory */
};

struct torc;

struct torc_bytes {
    const void *data; /* in results, NULL: absent (nil). In arguments NULL is fine when len is 0 */
    size_t len;
};

/* The bytes of a C string without its terminator; of any memory. Borrowed. */
static inline struct torc_bytes torc_str(const char *text)
{
    struct torc_bytes bytes = {text, strlen(text)};
    return bytes;
}
static inline struct torc_bytes torc_mem(const void *data, size_t len)
{
    struct torc_bytes bytes = {data, len};
    return bytes;
}

/* How to wait for a reply. */
enum torc_spin {
    TORC_SPIN_ADAPTIVE, /* spin for spin_ns, then sleep until the server wakes us */
    TORC_SPIN_BUSY,     /* spin: the lowest latency, a whole core */
    TORC_SPIN_YIELD,    /* give the core away between looks: for tests on few cores */
};

/* All zero is the default. Zero what you do not set: members may be added in `reserved`. */
struct torc_options {
    const char *socket; /* control socket; NULL: $TORC_SOCKET; without that
                           /run/torc/torc.sock, and if nobody listens there
                           $XDG_RUNTIME_DIR/torc.sock */
    const char *name;   /* of the session, shown by the server; up to 63 bytes; NULL none */
    uint32_t slots;     /* requests in flight, power of two; 0 = the server's default, 256 */
    uint32_t request_area_bytes; /* power of two; 0 = the server's default */
    uint32_t reply_area_bytes;   /* power of two; 0 = the server's default */
    uint32_t database;           /* number, as SELECT */
    uint64_t deadline_ns;        /* default for each call; 0 = 5 s. Attaching has 2 s of its own */
    uint64_t spin_ns;            /* ADAPTIVE: spin this long before sleeping; 0 = 20 us */
    enum torc_spin spin;
    uint32_t reserved_word; /* 0 */
    uint64_t reserved[4];   /* 0 */
};

/* Attach to a server. `options` may be NULL; it is copied. On failure *out_error_text (may be NULL)
 * is a text for a person, static or of this thread, good until this thread calls torc_open() again.
 * TORC_EINVAL, TORC_ENOMEM; TORC_ENOENT nobody listens; TORC_EPROTO; TORC_EPIPE the server went
 * away meanwhile; TORC_ENOSPC refused for a quota; TORC_EBADMSG; TORC_ETIMEDOUT. About 1 ms. */
TORC_API int torc_open(const struct torc_options *options, struct torc **out_torc,
                       const char **out_error_text);

/* Detach and free everything; NULL is fine. What was borrowed dies. In a child of fork(), frees the
 * memory of the handle only: the session stays the parent's. Not from another thread. */
TORC_API void torc_close(struct torc *torc);

/* After TORC_EPIPE or TORC_EBADMSG: attach again with the options of torc_open(). Works at any
 * time. Results outstanding are forgotten: writes among them have an unknown outcome. Errors as
 * torc_open(): then the handle stays without a session and calls give TORC_EPIPE; try again
 * later. */
TORC_API int torc_reattach(struct torc *torc);

/* Changes when the server was started anew, which means with other data unless it restored them.
 * 0 for NULL. */
TORC_API uint64_t torc_epoch(const struct torc *torc);

/* Requests that may be outstanding: `slots` in force. 0 without a session. */
TORC_API size_t torc_slots(const struct torc *torc);

/* Why the last call that failed did; "" if none did. Good until the next call that fails. */
TORC_API const char *torc_error_text(const struct torc *torc);

/* "TORC_EPIPE"; "TORC_OK" for 0 and counts; "unknown error" for other numbers. Static. */
TORC_API const char *torc_error_name(int error);

/* Deadline of the calls from here on; 0 = that of torc_open(), UINT64_MAX = none. */
TORC_API void torc_set_deadline(struct torc *torc, uint64_t deadline_ns);

/* "0.1.0": the version of the library in use. Static. */
TORC_API const char *torc_version(void);

/* --- one call, one round trip ---
 *
 * All of these: TORC_EINVAL, TORC_ENOMEM, TORC_EPIPE, TORC_ETIMEDOUT, TORC_EAGAIN (late replies
 * fill the session), TORC_EMSGSIZE, TORC_EBADMSG, TORC_EREPLY; those with a key TORC_EWRONGTYPE;
 * those that add TORC_EOOM. Values come back as borrowed bytes, good until the next call on the
 * handle. None may be used while results of a pipeline are outstanding (TORC_EINVAL). */

TORC_API int torc_ping(struct torc *torc);

/* 1 the field is new, 0 its value was replaced. */
TORC_API int torc_hset(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes value);

/* pairs[2 * i] is a field, pairs[2 * i + 1] its value; n_pairs > 0. All or none. Number of fields
 * created. */
TORC_API int64_t torc_hset_many(struct torc *torc, struct torc_bytes key,
                                const struct torc_bytes *pairs, size_t n_pairs);

/* 1 the field was set, 0 it was there and is as it was. */
TORC_API int torc_hsetnx(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                         struct torc_bytes value);

/* 1 found, 0 absent (then out_value->data is NULL). */
TORC_API int torc_hget(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes *out_value);

/* n_fields > 0 values; absent ones have data NULL. Number found. */
TORC_API int64_t torc_hmget(struct torc *torc, struct torc_bytes key,
                            const struct torc_bytes *fields, size_t n_fields,
                            struct torc_bytes *out_values);

/* Number of fields removed; n_fields > 0. */
TORC_API int64_t torc_hdel(struct torc *torc, struct torc_bytes key,
                           const struct torc_bytes *fields, size_t n_fields);

/* Number of fields; 0 if the key is absent. */
TORC_API int64_t torc_hlen(struct torc *torc, struct torc_bytes key);

/* 1 or 0. */
TORC_API int torc_hexists(struct torc *torc, struct torc_bytes key, struct torc_bytes field);

/* Bytes of the field's value; 0 if it is absent. */
TORC_API int64_t torc_hstrlen(struct torc *torc, struct torc_bytes key, struct torc_bytes field);

/* Add to the number that the field holds, 0 if it is absent; *out_value is the sum. TORC_OK, or
 * TORC_EREPLY when the field holds no integer of 64 bits or the sum would not be one: then nothing
 * was changed. */
TORC_API int torc_hincrby(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                          int64_t increment, int64_t *out_value);

/* The same for numbers with a fraction, as decimal text so that they are exact: "0.1", "-2e3". The
 * sum is computed in the server's long double; *out_value is its text, borrowed. TORC_OK, or
 * TORC_EREPLY. */
TORC_API int torc_hincrbyfloat(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                               struct torc_bytes increment, struct torc_bytes *out_value);

/* Number of keys removed; n_keys > 0. */
TORC_API int64_t torc_del(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* The same: in torc no delete is slow. For programs written for Redis. */
TORC_API int64_t torc_unlink(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* Number of keys that exist, one named twice counts twice; n_keys > 0. */
TORC_API int64_t torc_exists(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* The same: no key's age is kept. For programs written for Redis. */
TORC_API int64_t torc_touch(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* Some key, each equally likely: 1, or 0 if there is none (then out_key->data is NULL). */
TORC_API int torc_randomkey(struct torc *torc, struct torc_bytes *out_key);

/* Number of keys in the session's database. */
TORC_API int64_t torc_dbsize(struct torc *torc);

/* Remove all keys of all databases. */
TORC_API int torc_flushall(struct torc *torc);

/* Remove all keys of the session's database. */
TORC_API int torc_flushdb(struct torc *torc);

/* The server's wall clock: microseconds since 1970. */
TORC_API int64_t torc_time(struct torc *torc);

/* --- replies with several values ---
 *
 * A reply is read through a view that borrows the handle's memory. */
enum torc_kind {
    TORC_NIL,
    TORC_OK_REPLY, /* +OK */
    TORC_INTEGER,
    TORC_STRING,
    TORC_SIMPLE, /* a short text for a person or a protocol, such as PONG or a type's name */
    TORC_ARRAY,
    TORC_MAP,    /* names and values in turns: count is even */
    TORC_CURSOR, /* one page of an array */
    TORC_ERROR   /* only from torc_collect() and torc_try_collect() */
};

struct torc_result {
    enum torc_kind kind;
    int error;       /* TORC_ERROR: the code as a synchronous call would return it; else 0 */
    int64_t integer; /* TORC_INTEGER */
    uint64_t cursor; /* TORC_CURSOR: where to go on; 0 the end */
    struct torc_bytes string; /* TORC_STRING, TORC_SIMPLE, TORC_ERROR (text), TORC_OK_REPLY */
    size_t count;             /* TORC_ARRAY, TORC_MAP (names and values), TORC_CURSOR; else 0 */
    uint64_t tag;             /* as given to submit */
    const void *impl[2];      /* private */
    uint64_t impl_word[2];    /* private */
};

/* Element i of an array, map or cursor reply, borrowed like the result. data NULL: nil, or i is not
 * below count. O(1). */
TORC_API struct torc_bytes torc_result_at(const struct torc_result *result, size_t i);

/* All fields and values: TORC_MAP, count 0 if the key is absent. */
TORC_API int torc_hgetall(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);

/* All fields, or all values: TORC_ARRAY, in the same order, count 0 if the key is absent. */
TORC_API int torc_hkeys(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);
TORC_API int torc_hvals(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);

/* Fields chosen at random, each equally likely. count >= 0: so many different ones, or all if there
 * are fewer; count < 0: -count picks, the same field perhaps several times. TORC_ARRAY; with_values
 * not 0: TORC_MAP, in which names may repeat. Count 0 if the key is absent. TORC_EMSGSIZE, before
 * any work, when the reply could never fit the session's cap. */
TORC_API int torc_hrandfield(struct torc *torc, struct torc_bytes key, int64_t count,
                             int with_values, struct torc_result *out_result);

/* One page of fields, each followed by its value unless with_values is 0: TORC_CURSOR, to be used
 * as torc_scan(). `match` is about fields. A small hash comes in one page, whatever the count. */
TORC_API int torc_hscan(struct torc *torc, struct torc_bytes key, uint64_t cursor,
                        struct torc_bytes match, uint64_t count, int with_values,
                        struct torc_result *out_result);

/* All keys that match a pattern of Redis ("user:*"): TORC_ARRAY. Looks at every key, and nobody
 * else is served meanwhile: torc_scan() is for databases that are not small. */
TORC_API int torc_keys(struct torc *torc, struct torc_bytes pattern,
                       struct torc_result *out_result);

/* One page of keys: TORC_CURSOR. Start with cursor 0, go on with result->cursor until that is 0. A
 * key that is there all the time comes at least once. `match` is a pattern of Redis, or {NULL, 0}
 * for all; count is a hint of how many, 0 = 10. */
TORC_API int torc_scan(struct torc *torc, uint64_t cursor, struct torc_bytes match, uint64_t count,
                       struct torc_result *out_result);

/* Any command as words, as redis-cli sends it: {"HGET", "key", "field"}, {"MEMORY", "USAGE", "k"}.
 * TORC_EINVAL unknown command, wrong number of words or not a number, with Redis's text. An error
 * reply is this function's error, never a TORC_ERROR result. */
TORC_API int torc_command(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                          struct torc_result *out_result);

/* --- pipeline ---
 *
 * submit publishes at once and does not wait (but for a request longer than a quarter of the
 * request area, which is pushed in parts); collect gives the oldest result. `tag` comes back in it.
 * At most torc_slots() may be outstanding, a result that is too long for a slot (more than 40 bytes
 * or so) counting until the next collect: TORC_EAGAIN, collect first. A result borrows memory until
 * the next collect or synchronous call; submitting more leaves it alone. */
TORC_API int torc_submit_hget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              struct torc_bytes field);
TORC_API int torc_submit_hset(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              const struct torc_bytes *pairs, size_t n_pairs);
TORC_API int torc_submit_hmget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                               const struct torc_bytes *fields, size_t n_fields);
TORC_API int torc_submit_hdel(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              const struct torc_bytes *fields, size_t n_fields);
TORC_API int torc_submit_command(struct torc *torc, uint64_t tag, const struct torc_bytes *words,
                                 size_t n_words);

/* The oldest result, waiting up to the deadline. An error reply is a result: kind TORC_ERROR, and 0
 * is returned. TORC_ENOENT nothing outstanding; TORC_ETIMEDOUT it stays outstanding, collect
 * again; TORC_EPIPE and TORC_EBADMSG none of the outstanding will come; TORC_ENOMEM; TORC_EINVAL.
 */
TORC_API int torc_collect(struct torc *torc, struct torc_result *out_result);

/* The same without waiting: TORC_EAGAIN not there yet. */
TORC_API int torc_try_collect(struct torc *torc, struct torc_result *out_result);

/* Submitted and not collected. */
TORC_API size_t torc_outstanding(const struct torc *torc);

#ifdef __cplusplus
}
#endif
#endif
