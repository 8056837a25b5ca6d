/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc: hashes in a torc server on the same host, over shared memory.
 *
 * One handle is one session and belongs to the thread that opened it. A process that forks must not
 * use the parent's handles in the child. Lengths are bytes; keys, fields and values may hold any
 * byte. Deadlines are durations in nanoseconds: 0 uses the handle's default.
 *
 * Errors: functions return 0 or a count, else a negative code of enum torc_error; torc_error_text()
 * of the handle says more. A write that timed out, or was in flight when the server died, has an
 * unknown outcome: TORC_ETIMEDOUT or TORC_EPIPE; it is never repeated by the library.
 */
#ifndef TORC_TORC_H
#define TORC_TORC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TORC_API __attribute__((visibility("default")))

/* Pinned values: part of the ABI. */
enum torc_error {
    TORC_OK = 0,
    TORC_EINVAL = -1, /* caller's mistake: NULL, lengths, a handle of another thread or process */
    TORC_ENOMEM = -2,
    TORC_ENOENT = -3,      /* nobody listens on the control socket; or nothing outstanding */
    TORC_EPIPE = -4,       /* server gone: torc_reattach() */
    TORC_EPROTO = -5,      /* versions do not match */
    TORC_ETIMEDOUT = -6,   /* deadline passed */
    TORC_EAGAIN = -7,      /* pipeline full: collect first */
    TORC_EMSGSIZE = -8,    /* request or reply above the session's cap */
    TORC_EBADMSG = -9,     /* the server's bytes fail validation */
    TORC_EWRONGTYPE = -10, /* the key holds another type */
    TORC_EOOM = -11,       /* the server is at maxmemory; nothing was changed */
    TORC_EREPLY = -12,     /* any other error reply; torc_error_text() has Redis's text */
    TORC_ENOSPC = -13,     /* refused: quota of sessions or memory */
};

struct torc;

struct torc_bytes {
    const void *data; /* NULL: absent (nil) */
    size_t len;
};

struct torc_options {
    const char *socket; /* control socket; NULL: $TORC_SOCKET, else /run/torc/torc.sock, else
                           $XDG_RUNTIME_DIR/torc.sock */
    const char *name;   /* of the session, shown by the server; NULL none */
    uint32_t slots;     /* requests in flight, power of two; 0 = 256 */
    uint32_t request_area_bytes; /* 0 = the server's default */
    uint32_t reply_area_bytes;
    uint64_t deadline_ns; /* default for each call; 0 = 5 s */
    uint64_t spin_ns;     /* spin this long before sleeping; 0 = 20 us */
    enum { TORC_SPIN_ADAPTIVE, TORC_SPIN_BUSY, TORC_SPIN_YIELD } spin;
};

/* Attach. `options` may be NULL. On error *out_error_text (may be NULL) is a static or thread-local
 * text for a person. */
TORC_API int torc_open(const struct torc_options *options, struct torc **out_torc,
                       const char **out_error_text);
TORC_API void torc_close(struct torc *torc);
/* After TORC_EPIPE: attach again with the same options. Replies outstanding are forgotten;
 * torc_epoch() tells whether the server is another. */
TORC_API int torc_reattach(struct torc *torc);
TORC_API uint64_t torc_epoch(const struct torc *torc);
TORC_API const char *
torc_error_text(const struct torc *torc);        /* of the last failed call; "" if none */
TORC_API const char *torc_error_name(int error); /* "TORC_EPIPE" */
TORC_API void torc_set_deadline(struct torc *torc, uint64_t deadline_ns);

/* --- one call, one round trip
 * --------------------------------------------------------------------------------------------
 * Values come back as borrowed bytes, good until the next call on the handle. */
TORC_API int torc_ping(struct torc *torc);
TORC_API int torc_hset(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes value); /* 1 new, 0 replaced */
/* pairs[2 * i] is a field, pairs[2 * i + 1] its value. Number of fields created. */
TORC_API int64_t torc_hset_many(struct torc *torc, struct torc_bytes key,
                                const struct torc_bytes *pairs, size_t n_pairs);
TORC_API int torc_hget(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes *out_value); /* 1 found, 0 absent */
/* out_values[n_fields]; absent ones have data NULL. Number found. */
TORC_API int64_t torc_hmget(struct torc *torc, struct torc_bytes key,
                            const struct torc_bytes *fields, size_t n_fields,
                            struct torc_bytes *out_values);
TORC_API int64_t torc_hdel(struct torc *torc, struct torc_bytes key,
                           const struct torc_bytes *fields, size_t n_fields);
TORC_API int64_t torc_hlen(struct torc *torc, struct torc_bytes key);
TORC_API int torc_hexists(struct torc *torc, struct torc_bytes key,
                          struct torc_bytes field); /* 1 or 0 */
TORC_API int64_t torc_del(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);
TORC_API int64_t torc_exists(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);
TORC_API int64_t torc_dbsize(struct torc *torc);
TORC_API int torc_flushall(struct torc *torc);

/* --- replies with several values
 * ----------------------------------------------------------------------------------------- A reply
 * is read through an iterator-free view; it borrows the handle's memory until the next call on it.
 */
enum torc_kind {
    TORC_NIL,
    TORC_OK_REPLY,
    TORC_INTEGER,
    TORC_STRING,
    TORC_SIMPLE,
    TORC_ARRAY,
    TORC_MAP,
    TORC_CURSOR,
    TORC_ERROR
};
struct torc_result {
    enum torc_kind kind;
    int error; /* TORC_ERROR: the code as a sync call would return it */
    int64_t integer;
    uint64_t cursor;
    struct torc_bytes string; /* TORC_STRING, TORC_SIMPLE, TORC_ERROR (text) */
    size_t count;             /* TORC_ARRAY, TORC_MAP (names and values), TORC_CURSOR */
    uint64_t tag;             /* as given to submit */
    const void *impl[2];      /* private */
    uint64_t impl_word[2];    /* private */
};
/* Element i < count of an array, map or cursor reply. O(1). */
TORC_API struct torc_bytes torc_result_at(const struct torc_result *result, size_t i);

TORC_API int torc_hgetall(struct torc *torc, struct torc_bytes key,
                          struct torc_result *out_result); /* TORC_MAP */
/* One page of keys. Start with cursor 0, go on with result->cursor until that is 0. match may be
 * {NULL, 0}; count 0 = 10. */
TORC_API int torc_scan(struct torc *torc, uint64_t cursor, struct torc_bytes match, uint64_t count,
                       struct torc_result *out_result);

/* Any command as words, as redis-cli sends it: {"HGET", "key", "field"}. TORC_EINVAL unknown
 * command or wrong number of words. */
TORC_API int torc_command(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                          struct torc_result *out_result);

/* --- pipeline
 * --------------------------------------------------------------------------------------------------------------
 * submit publishes at once and does not wait; collect gives the oldest result. At most `slots` may
 * be outstanding: TORC_EAGAIN. `tag` comes back in the result. A result borrows memory until the
 * next collect or sync call. Sync calls may not be mixed in while results are outstanding
 * (TORC_EINVAL). */
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
TORC_API int torc_collect(struct torc *torc,
                          struct torc_result *out_result); /* waits up to the deadline; TORC_ENOENT:
                                                              nothing outstanding */
TORC_API int torc_try_collect(struct torc *torc,
                              struct torc_result *out_result); /* TORC_EAGAIN: not there yet */
TORC_API size_t torc_outstanding(const struct torc *torc);

#ifdef __cplusplus
}
#endif
#endif
