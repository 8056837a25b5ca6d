/* SPDX-License-Identifier: Apache-2.0
 *
 * libtorc: hashes in a torc server on the same host, over shared memory. Also as torc_client(3).
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
 * with it by another thread, or in a child of fork(), gives TORC_EINVAL (functions without an error
 * code: 0, "" or nothing). Open one handle per thread, and close it before the thread ends: a later
 * thread may be taken for it. A child closes the parent's handles with torc_close(), which then
 * leaves the session alone. A handle is not to be used after torc_close();
 * where the library was built with assertions, that gives TORC_EINVAL too, and closing a handle
 * twice, or by another thread, aborts.
 *
 * Bytes. Lengths are bytes; keys, fields and values may hold any byte and are borrowed for the time
 * of the call. What comes back is borrowed from the handle, and good until its next synchronous
 * call or collect, whatever comes of that; torc_borrow() keeps it longer. Values up to 16 KiB
 * (a quarter of the reply area) may lie in memory that the server can write: lengths and positions
 * were validated once and are private, so nothing leaves the reply, but a faulty server could
 * change the bytes. torc_borrow() and your own copy are private.
 *
 * Errors. Functions return 0 or a count, else a negative code of enum torc_error; then outputs are
 * untouched, and torc_error_text() says more. "Errors:" lists the codes of each function. A request
 * that is refused (TORC_EINVAL, TORC_EAGAIN, TORC_ENOMEM or TORC_EMSGSIZE before it was sent;
 * TORC_EWRONGTYPE, TORC_EOOM, TORC_EREPLY by the server) has changed nothing. A write that timed
 * out, or was in flight when the server died, has an unknown outcome: TORC_ETIMEDOUT, TORC_EPIPE,
 * TORC_EBADMSG. The library never repeats it.
 *
 * Deadlines are durations in nanoseconds. A call that times out leaves the handle usable: its reply
 * is dropped when it comes. Later calls wait behind it, and when as many as there are slots are
 * still owed, TORC_EAGAIN.
 *
 * Cost. No call allocates, but to remember a request or reply with more items than any before, or
 * one longer than a quarter of its area. A call is one message there and one back; no system call
 * while the server polls.
 */
#ifndef TORC_TORC_H
#define TORC_TORC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the library; everything else does not. */
#define TORC_API __attribute__((visibility("default")))

/* Pinned values: part of the ABI. */
enum torc_error {
    TORC_OK = 0,
    TORC_EINVAL = -1, /* caller's mistake: NULL, no fields, a handle of another thread or process,
                         unknown command, a synchronous call while results are outstanding */
    TORC_ENOMEM = -2, /* no memory in this process; the handle goes on */
    TORC_ENOENT = -3, /* nobody listens on the control socket; or nothing outstanding */
    TORC_EPIPE = -4,  /* server gone: torc_reattach() */
    TORC_EPROTO = -5, /* versions of library and server do not match */
    TORC_ETIMEDOUT = -6,   /* deadline passed */
    TORC_EAGAIN = -7,      /* pipeline full: collect first; or torc_try_collect(): not there yet */
    TORC_EMSGSIZE = -8,    /* request or reply above the session's cap; nothing was changed */
    TORC_EBADMSG = -9,     /* the server's bytes fail validation: torc_reattach() */
    TORC_EWRONGTYPE = -10, /* the key holds another type */
    TORC_EOOM = -11,       /* the server is at maxmemory; nothing was changed */
    TORC_EREPLY = -12,     /* any other error reply; torc_error_text() has Redis's text */
    TORC_ENOSPC = -13,     /* refused: quota of sessions or memory; too many loans */
};

struct torc;

struct torc_bytes {
    const void *data; /* in results, NULL: absent (nil). In arguments NULL is fine when len is 0 */
    size_t len;
};

/* The bytes of a C string without its terminator. Borrowed: `text` must outlive the use. */
static inline struct torc_bytes torc_str(const char *text)
{
    struct torc_bytes bytes = {text, strlen(text)};
    return bytes;
}
/* Any `len` bytes of memory. Borrowed. */
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
    const char *name;   /* of the session, shown by the server; up to 63 bytes of printable ASCII;
                           NULL none */
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

/* Attach to a server. `options` may be NULL; it is copied. *out_torc is a handle of this thread, to
 * be closed with torc_close(). On failure *out_error_text (may be NULL) is a text for a person,
 * static or of this thread, good until this thread calls torc_open() again. Any thread. About 1 ms;
 * 2 s at most.
 * Errors: TORC_EINVAL out_torc is NULL, or options that cannot be, or the server refuses a wish;
 * TORC_ENOMEM here or there; TORC_ENOENT nobody listens; TORC_EPROTO another version; TORC_EPIPE
 * the server went away meanwhile; TORC_ENOSPC refused for a quota; TORC_EBADMSG what answers is no
 * torc server; TORC_ETIMEDOUT no answer within 2 s. */
TORC_API int torc_open(const struct torc_options *options, struct torc **out_torc,
                       const char **out_error_text);

/* Detach and free everything; NULL is fine. What was borrowed dies, loans too. Results outstanding
 * are dropped: writes among them are executed or not. In a child of fork(), frees the memory of the
 * handle only: the session stays the parent's. By another thread it does nothing (or aborts, see
 * "Threads"). Does not wait for the server. */
TORC_API void torc_close(struct torc *torc);

/* After TORC_EPIPE or TORC_EBADMSG: attach again with the options of torc_open(). Works at any
 * time, and drops a session that is in order. Results outstanding are forgotten: writes among them
 * have an unknown outcome. Loans stay, other borrowed bytes die. Compare torc_epoch() before and
 * after: another one means another run of the server, and other data. On failure the handle stays
 * without a session, calls give TORC_EPIPE, and it can be tried again. Costs as torc_open(), and is
 * not to be called in a loop without a pause.
 * Errors: TORC_EINVAL not this thread's handle, or the server refuses a wish of the options now;
 * TORC_ENOMEM; TORC_ENOENT nobody listens (yet); TORC_EPROTO; TORC_EPIPE; TORC_ENOSPC;
 * TORC_EBADMSG; TORC_ETIMEDOUT: as torc_open(). */
TORC_API int torc_reattach(struct torc *torc);

/* A number of this run of the server. Another one after torc_reattach() means that the server was
 * started anew, with other data unless somebody restored them. 0 without a session. No error; does
 * not ask the server. */
TORC_API uint64_t torc_epoch(const struct torc *torc);

/* Requests that may be outstanding: `slots` in force. 0 without a session. */
TORC_API size_t torc_slots(const struct torc *torc);

/* Why the last call that failed did, for a person; "" if none did. Error replies have Redis's text,
 * cut at 511 bytes. Owned by the handle, good until the next call that fails. */
TORC_API const char *torc_error_text(const struct torc *torc);

/* "TORC_EPIPE"; "TORC_OK" for 0 and counts; "unknown error" for other numbers. Static. Any
 * thread. */
TORC_API const char *torc_error_name(int error);

/* Longest wait of each call from here on, in nanoseconds: also of calls under way in a pipeline
 * when they are collected. 0 = that of torc_open(), UINT64_MAX = none. The death of the server ends
 * a wait, within about 50 ms, whatever the deadline. */
TORC_API void torc_set_deadline(struct torc *torc, uint64_t deadline_ns);

/* "0.1.0": the version of the library in use. Static. Any thread. */
TORC_API const char *torc_version(void);

/* --- one call, one round trip ---
 *
 * Each sends one request and waits for its reply, up to the deadline. The name says the Redis
 * command; semantics are Redis's, but for what is noted. Absent keys read as empty hashes. Values
 * come back as borrowed bytes, good until the next call on the handle or torc_borrow_values().
 *
 * Errors of each call:
 *
 * - TORC_EINVAL: not this thread's handle; bytes with a length and data NULL; an output that is
 *   NULL; no fields, pairs or keys where some must be; flags that the call does not take; results
 *   of a pipeline outstanding (collect them first)
 * - TORC_ENOMEM: no memory to remember the request or the reply
 * - TORC_EPIPE: the server is gone, or the handle has no session; a write in flight has an unknown
 *   outcome
 * - TORC_ETIMEDOUT: no reply before the deadline; a write has an unknown outcome
 * - TORC_EAGAIN: replies to calls that timed out fill the session; nothing was sent
 * - TORC_EMSGSIZE: request above the session's cap (nothing was sent), or reply above it (nothing
 *   was changed)
 * - TORC_EBADMSG: the server's bytes make no sense; so do all later calls until torc_reattach()
 * - TORC_EREPLY: another error reply: the text is Redis's
 */

/* PING: is the server there? TORC_OK. Errors: each call's. */
TORC_API int torc_ping(struct torc *torc);

/* HSET of one field. 1 the field is new, 0 its value was replaced.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_hset(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes value);

/* HSET of several fields: pairs[2 * i] is a field, pairs[2 * i + 1] its value; n_pairs > 0. All or
 * none; of a field named twice the last value stays. Number of fields created.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int64_t torc_hset_many(struct torc *torc, struct torc_bytes key,
                                const struct torc_bytes *pairs, size_t n_pairs);

/* HSETNX. 1 the field was set, 0 it was there and is as it was.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_hsetnx(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                         struct torc_bytes value);

/* HGET. 1 found, 0 absent (then out_value->data is NULL). An empty value has data that is not NULL.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hget(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                       struct torc_bytes *out_value);

/* HMGET. n_fields > 0 values in the order of the fields; absent ones have data NULL. All are of the
 * same moment. Number found.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hmget(struct torc *torc, struct torc_bytes key,
                            const struct torc_bytes *fields, size_t n_fields,
                            struct torc_bytes *out_values);

/* HDEL. Number of fields removed; n_fields > 0. The key goes with its last field.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hdel(struct torc *torc, struct torc_bytes key,
                           const struct torc_bytes *fields, size_t n_fields);

/* HLEN. Number of fields; 0 if the key is absent.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hlen(struct torc *torc, struct torc_bytes key);

/* HEXISTS. 1 or 0.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hexists(struct torc *torc, struct torc_bytes key, struct torc_bytes field);

/* HSTRLEN. Bytes of the field's value; 0 if it is absent.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hstrlen(struct torc *torc, struct torc_bytes key, struct torc_bytes field);

/* HINCRBY: add to the number that the field holds, 0 if it is absent; *out_value is the sum.
 * TORC_OK. TORC_EREPLY also when the field holds no integer of 64 bits or the sum would not be one:
 * then nothing was changed.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_hincrby(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                          int64_t increment, int64_t *out_value);

/* HINCRBYFLOAT: the same for numbers with a fraction, as decimal text so that they are exact:
 * "0.1", "-2e3". The sum is computed in the server's long double; *out_value is its text, with 17
 * digits behind the point at most and no exponent, borrowed. TORC_OK. TORC_EREPLY also when either
 * is no number.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_hincrbyfloat(struct torc *torc, struct torc_bytes key, struct torc_bytes field,
                               struct torc_bytes increment, struct torc_bytes *out_value);

/* DEL. Number of keys removed; n_keys > 0. Large hashes are freed in steps afterwards.
 * Errors: each call's. */
TORC_API int64_t torc_del(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* UNLINK: the same as torc_del(), since no delete is slow. For programs written for Redis.
 * Errors: each call's. */
TORC_API int64_t torc_unlink(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* EXISTS. Number of keys that exist, one named twice counts twice; n_keys > 0.
 * Errors: each call's. */
TORC_API int64_t torc_exists(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* TOUCH: the same as torc_exists(), since no key's age is kept. For programs written for Redis.
 * Errors: each call's. */
TORC_API int64_t torc_touch(struct torc *torc, const struct torc_bytes *keys, size_t n_keys);

/* RANDOMKEY: some key, each equally likely: 1, or 0 if there is none (then out_key->data is NULL).
 * Errors: each call's. */
TORC_API int torc_randomkey(struct torc *torc, struct torc_bytes *out_key);

/* DBSIZE. Number of keys in the session's database.
 * Errors: each call's. */
TORC_API int64_t torc_dbsize(struct torc *torc);

/* FLUSHALL: remove all keys of all databases, at once; memory is freed in steps. TORC_OK.
 * Errors: each call's. */
TORC_API int torc_flushall(struct torc *torc);

/* FLUSHDB: remove all keys of the session's database. TORC_OK.
 * Errors: each call's. */
TORC_API int torc_flushdb(struct torc *torc);

/* TIME: the server's wall clock, microseconds since 1970, as one number where Redis has two.
 * Errors: each call's. */
TORC_API int64_t torc_time(struct torc *torc);

/* --- times to live ---
 *
 * A key, and each field of a hash, may have a time at which it ends: from then on it is absent for
 * every call. A key ends with its last field, too. Times are milliseconds, as the P-forms of the
 * commands: "ms" from the moment at which the server takes the request, "unix_ms" since 1970-01-01
 * UTC by the server's wall clock, below 2^46 (year 4199). One that is past removes at once; one
 * that cannot be is TORC_EREPLY.
 *
 * The time of a key and those of its fields know nothing of each other. Giving a field a value
 * (torc_hset(), torc_hset_many()) takes its time away; torc_hincrby() and torc_hincrbyfloat() keep
 * it. No write to fields changes the key's time.
 *
 * Keys and fields without a time cost nothing for it. One with a time takes some bytes more, so
 * setting one can meet TORC_EOOM. */

/* Words of the commands, to be joined by '|'. Each function names those that it takes; others, and
 * two that exclude each other, are TORC_EINVAL. Pinned values: part of the ABI. */
enum torc_flag {
    TORC_FLAG_NX = 1,        /* only if there is no time yet; torc_rename(): if there is no key */
    TORC_FLAG_XX = 2,        /* only if there is a time */
    TORC_FLAG_GT = 4,        /* only if later than the time there is; none is later than any */
    TORC_FLAG_LT = 8,        /* only if earlier than the time there is; none is later than any */
    TORC_FLAG_FNX = 16,      /* only if none of the fields is there */
    TORC_FLAG_FXX = 32,      /* only if all of the fields are there */
    TORC_FLAG_PX = 64,       /* set the fields' time: `ms` from now */
    TORC_FLAG_PXAT = 128,    /* set the fields' time: `ms` since 1970 */
    TORC_FLAG_KEEPTTL = 256, /* keep the time of a field that gets another value */
    TORC_FLAG_PERSIST = 512, /* take the fields' time away */
    TORC_FLAG_REPLACE = 1024 /* remove what is there */
};

/* What became of one field. Pinned values: part of the ABI, and those of the commands. */
enum torc_field_code {
    TORC_FIELD_ABSENT = -2,  /* no such field, or no such key */
    TORC_FIELD_NO_TIME = -1, /* torc_hpersist(): it had none */
    TORC_FIELD_REFUSED = 0,  /* the condition does not hold: it is as it was */
    TORC_FIELD_CHANGED = 1,  /* the time was set, or taken away */
    TORC_FIELD_REMOVED = 2   /* the time is past: the field is gone */
};

/* Where a time is asked for. Pinned values: part of the ABI, and those of the commands. */
enum torc_no_time {
    TORC_NO_TIME = -1, /* it is there and does not end */
    TORC_ABSENT = -2   /* no such key or field */
};

/* PEXPIRE: the key ends in `ms`; at once if that is not above 0. Flags: NX, XX, GT or LT, also XX
 * with GT or LT. 1 done, 0 no such key or the condition does not hold.
 * Errors: each call's; TORC_EOOM. */
TORC_API int torc_expire(struct torc *torc, struct torc_bytes key, int64_t ms, unsigned flags);

/* PEXPIREAT: the same with the time at which the key ends.
 * Errors: each call's; TORC_EOOM. */
TORC_API int torc_expire_at(struct torc *torc, struct torc_bytes key, int64_t unix_ms,
                            unsigned flags);

/* PTTL: milliseconds that are left of the key. 1 it has a time, else 0, and *out_ms is TORC_NO_TIME
 * or TORC_ABSENT.
 * Errors: each call's. */
TORC_API int torc_ttl(struct torc *torc, struct torc_bytes key, int64_t *out_ms);

/* PEXPIRETIME: the same with the time at which the key ends.
 * Errors: each call's. */
TORC_API int torc_expire_time(struct torc *torc, struct torc_bytes key, int64_t *out_unix_ms);

/* PERSIST: take the key's time away. 1 it had one, 0 it had none or there is no such key.
 * Errors: each call's. */
TORC_API int torc_persist(struct torc *torc, struct torc_bytes key);

/* HPEXPIRE: fields end in `ms` >= 0, those given 0 at once; n_fields > 0. Flags: one of NX, XX, GT
 * and LT. out_codes[i] is the enum torc_field_code of fields[i]; out_codes may be NULL. Number of
 * fields that have the new time or were removed.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int64_t torc_hexpire(struct torc *torc, struct torc_bytes key,
                              const struct torc_bytes *fields, size_t n_fields, int64_t ms,
                              unsigned flags, int *out_codes);

/* HPEXPIREAT: the same with the time at which the fields end.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int64_t torc_hexpire_at(struct torc *torc, struct torc_bytes key,
                                 const struct torc_bytes *fields, size_t n_fields, int64_t unix_ms,
                                 unsigned flags, int *out_codes);

/* HPTTL: milliseconds that are left of each field, in the order of the fields, or TORC_NO_TIME or
 * TORC_ABSENT; n_fields > 0. Number of fields that have a time.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_httl(struct torc *torc, struct torc_bytes key,
                           const struct torc_bytes *fields, size_t n_fields, int64_t *out_ms);

/* HPEXPIRETIME: the same with the times at which the fields end.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hexpire_time(struct torc *torc, struct torc_bytes key,
                                   const struct torc_bytes *fields, size_t n_fields,
                                   int64_t *out_unix_ms);

/* HPERSIST: take the times of fields away; n_fields > 0. out_codes[i] is the enum torc_field_code
 * of fields[i]; out_codes may be NULL. Number of fields that had a time.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hpersist(struct torc *torc, struct torc_bytes key,
                               const struct torc_bytes *fields, size_t n_fields, int *out_codes);

/* HSETEX: set fields and their time together; pairs as torc_hset_many(). Flags: one of FNX and FXX,
 * and one of PX, PXAT (then `ms` >= 0 counts, else it is ignored) and KEEPTTL; without these the
 * fields have no time afterwards. All or none. 1 done (a past time: the fields are gone), 0 the
 * condition does not hold.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_hsetex(struct torc *torc, struct torc_bytes key, const struct torc_bytes *pairs,
                         size_t n_pairs, int64_t ms, unsigned flags);

/* HGETEX: the values as torc_hmget(), and another time for the fields that are there. Flags: one of
 * PX, PXAT (then `ms` >= 0 counts, else it is ignored) and PERSIST; without these no time changes.
 * The values come even if the time is past and the fields are gone. Number found.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int64_t torc_hgetex(struct torc *torc, struct torc_bytes key,
                             const struct torc_bytes *fields, size_t n_fields, int64_t ms,
                             unsigned flags, struct torc_bytes *out_values);

/* HGETDEL: the values as torc_hmget(), and the fields are removed. The key goes with its last
 * field. Number found.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int64_t torc_hgetdel(struct torc *torc, struct torc_bytes key,
                              const struct torc_bytes *fields, size_t n_fields,
                              struct torc_bytes *out_values);

/* COPY within the database, times included. Flags: REPLACE. 1 done, 0 there is no `from`, or there
 * is a `to` and no REPLACE. TORC_EREPLY also when both are the same key. O(bytes of the hash).
 * Errors: each call's; TORC_EOOM. */
TORC_API int torc_copy(struct torc *torc, struct torc_bytes from, struct torc_bytes to,
                       unsigned flags);

/* RENAME: `to` is removed, and `from` with its times goes by that name. Flags: NX, not if there is
 * a `to` (RENAMENX). 1 done, 0 only with NX: there is a `to`. TORC_EREPLY also when there is no
 * `from`. O(1).
 * Errors: each call's; TORC_EOOM. */
TORC_API int torc_rename(struct torc *torc, struct torc_bytes from, struct torc_bytes to,
                         unsigned flags);

/* --- replies with several values ---
 *
 * A reply is read through a view that borrows the handle's memory, until the next synchronous call
 * or collect, or torc_borrow(). */
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
 * below count, or `result` is NULL. Any thread, as long as what it borrows is good. O(1). */
TORC_API struct torc_bytes torc_result_at(const struct torc_result *result, size_t i);

/* HGETALL, all fields and values: TORC_MAP, count 0 if the key is absent. No order is promised.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hgetall(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);

/* HKEYS, all fields: TORC_ARRAY, count 0 if the key is absent.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hkeys(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);

/* HVALS, all values: TORC_ARRAY, in the order of torc_hkeys() as long as nothing was written in
 * between; count 0 if the key is absent.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hvals(struct torc *torc, struct torc_bytes key, struct torc_result *out_result);

/* HRANDFIELD with a count: fields chosen at random, each equally likely. count >= 0: so many
 * different ones, or all if there are fewer; count < 0: -count picks, the same field perhaps
 * several times. TORC_ARRAY; with_values not 0: TORC_MAP, in which names may repeat. Count 0 if the
 * key is absent. TORC_EMSGSIZE, before any work, when the reply could never fit the session's cap.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hrandfield(struct torc *torc, struct torc_bytes key, int64_t count,
                             int with_values, struct torc_result *out_result);

/* HSCAN: one page of fields, each followed by its value unless with_values is 0: TORC_CURSOR, to be
 * used as torc_scan(). `match` is about fields. A small hash comes in one page, whatever the count.
 * Errors: each call's; TORC_EWRONGTYPE. */
TORC_API int torc_hscan(struct torc *torc, struct torc_bytes key, uint64_t cursor,
                        struct torc_bytes match, uint64_t count, int with_values,
                        struct torc_result *out_result);

/* KEYS: all keys that match a pattern of Redis ("user:*"): TORC_ARRAY. Looks at every key, and
 * nobody else is served meanwhile: torc_scan() is for databases that are not small.
 * Errors: each call's. */
TORC_API int torc_keys(struct torc *torc, struct torc_bytes pattern,
                       struct torc_result *out_result);

/* SCAN: one page of keys: TORC_CURSOR. Start with cursor 0, go on with result->cursor until that is
 * 0. A key that is there all the time comes at least once. `match` is a pattern of Redis, or
 * {NULL, 0} for all; count is a hint of how many, 0 = 10. A page may be empty before the end.
 * Errors: each call's. */
TORC_API int torc_scan(struct torc *torc, uint64_t cursor, struct torc_bytes match, uint64_t count,
                       struct torc_result *out_result);

/* Any command as words, as redis-cli sends it: {"HGET", "key", "field"}, {"MEMORY", "USAGE", "k"}.
 * The result's kind is that of the command's reply. Words are checked here: TORC_EINVAL unknown
 * command, wrong number of words or not a number, with Redis's text. An error reply is this
 * function's error, never a TORC_ERROR result.
 * Errors: each call's; TORC_EWRONGTYPE; TORC_EOOM. */
TORC_API int torc_command(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                          struct torc_result *out_result);

/* --- pipeline ---
 *
 * submit publishes at once and does not wait (but for a request longer than a quarter of the
 * request area, which is pushed in parts, up to the deadline); collect gives the oldest result.
 * `tag` comes back in it. At most torc_slots() may be outstanding, a result that is too long for a
 * slot (more than 40 bytes or so) counting until the next collect or torc_borrow(). A result
 * borrows memory until the next collect or synchronous call; submitting more leaves it alone.
 *
 * Errors of each submit, and none of them has an effect but TORC_ETIMEDOUT:
 *
 * - TORC_EINVAL: not this thread's handle; bytes with a length and data NULL; no fields or pairs;
 *   flags that the call does not take
 * - TORC_ENOMEM: no memory to remember the request
 * - TORC_EPIPE: the server is gone, or the handle has no session
 * - TORC_EAGAIN: no slot, or no room in the request area: collect first
 * - TORC_EMSGSIZE: above the session's cap
 * - TORC_EBADMSG: the server broke the protocol before: torc_reattach()
 * - TORC_ETIMEDOUT: a long request was not taken before the deadline: it is not outstanding, and
 *   its outcome is unknown
 */

/* HGET. Its result: TORC_STRING or TORC_NIL. Errors: each submit's, without TORC_ENOMEM. */
TORC_API int torc_submit_hget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              struct torc_bytes field);

/* HSET of n_pairs > 0 fields, as torc_hset_many(). TORC_INTEGER. Errors: each submit's. */
TORC_API int torc_submit_hset(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              const struct torc_bytes *pairs, size_t n_pairs);

/* HMGET of n_fields > 0. TORC_ARRAY. Errors: each submit's. */
TORC_API int torc_submit_hmget(struct torc *torc, uint64_t tag, struct torc_bytes key,
                               const struct torc_bytes *fields, size_t n_fields);

/* HDEL of n_fields > 0. TORC_INTEGER. Errors: each submit's. */
TORC_API int torc_submit_hdel(struct torc *torc, uint64_t tag, struct torc_bytes key,
                              const struct torc_bytes *fields, size_t n_fields);

/* PEXPIRE, as torc_expire(). TORC_INTEGER. Errors: each submit's. */
TORC_API int torc_submit_expire(struct torc *torc, uint64_t tag, struct torc_bytes key, int64_t ms,
                                unsigned flags);

/* HPEXPIRE of n_fields > 0, as torc_hexpire(). TORC_ARRAY of enum torc_field_code as decimal text.
 * Errors: each submit's. */
TORC_API int torc_submit_hexpire(struct torc *torc, uint64_t tag, struct torc_bytes key,
                                 const struct torc_bytes *fields, size_t n_fields, int64_t ms,
                                 unsigned flags);

/* HSETEX of n_pairs > 0, as torc_hsetex(). TORC_INTEGER. Errors: each submit's. */
TORC_API int torc_submit_hsetex(struct torc *torc, uint64_t tag, struct torc_bytes key,
                                const struct torc_bytes *pairs, size_t n_pairs, int64_t ms,
                                unsigned flags);

/* HGETEX of n_fields > 0, as torc_hgetex(). TORC_ARRAY. Errors: each submit's. */
TORC_API int torc_submit_hgetex(struct torc *torc, uint64_t tag, struct torc_bytes key,
                                const struct torc_bytes *fields, size_t n_fields, int64_t ms,
                                unsigned flags);

/* Any command as words, as torc_command(); wrong words are refused here. Errors: each submit's. */
TORC_API int torc_submit_command(struct torc *torc, uint64_t tag, const struct torc_bytes *words,
                                 size_t n_words);

/* The oldest result, waiting up to the deadline. An error reply is a result: kind TORC_ERROR, and
 * TORC_OK is returned.
 * Errors: TORC_ENOENT nothing outstanding; TORC_ETIMEDOUT it stays outstanding, collect again;
 * TORC_EPIPE and TORC_EBADMSG none of the outstanding will come; TORC_ENOMEM it stays outstanding;
 * TORC_EINVAL not this thread's handle. */
TORC_API int torc_collect(struct torc *torc, struct torc_result *out_result);

/* The same without waiting.
 * Errors: TORC_EAGAIN not there yet; TORC_ENOENT; TORC_EPIPE; TORC_EBADMSG; TORC_ENOMEM;
 * TORC_EINVAL: as torc_collect(). */
TORC_API int torc_try_collect(struct torc *torc, struct torc_result *out_result);

/* Submitted and not collected. */
TORC_API size_t torc_outstanding(const struct torc *torc);

/* --- keeping replies ---
 *
 * A loan keeps the bytes of one reply until it is released: across calls, collects, torc_reattach()
 * and the death of the server. Its bytes are private memory of this process that nobody changes. A
 * reply longer than a quarter of the reply area was put together in such memory, and changes its
 * owner; a shorter one is copied, once. It never stays in the reply area: the server fills that in
 * order, and a loan there would in time leave no room for any other reply.
 *
 * Loans are released in any order. TORC_LOANS_MAX may be out at a time; the memory is the caller's
 * to count. */
#define TORC_LOANS_MAX 1024

struct torc_loan {
    uint64_t id; /* private; 0 is none */
};

/* Keep the reply of the last call or collect, whose `result` this is: from here on, until
 * torc_release(), *result borrows the loan. Other copies of the result, and values read
 * from it before, die with this call: read them again. Frees the slot that a long result counts
 * for. Once for each reply. O(1) for a long reply, else one allocation and a copy of its bytes; an
 * array that does not fit a slot has 4 bytes for each element copied as well.
 * Errors: TORC_EINVAL not this thread's handle, NULL, or not the result of the last reply;
 * TORC_ENOSPC TORC_LOANS_MAX are out; TORC_ENOMEM. On each, *result is good as before. */
TORC_API int torc_borrow(struct torc *torc, struct torc_result *result, struct torc_loan *out_loan);

/* The same for the values of torc_hget(), torc_hmget(), torc_hgetex(), torc_hgetdel(),
 * torc_hincrbyfloat() or torc_randomkey(): n_values > 0 of them, which point into the loan
 * afterwards; those with data NULL stay so. Give all that are needed: other values of the reply die
 * with this call. Errors: TORC_EINVAL not this thread's handle, NULL, none, or not values of the
 * last reply; TORC_ENOSPC; TORC_ENOMEM: as torc_borrow(). */
TORC_API int torc_borrow_values(struct torc *torc, struct torc_bytes *values, size_t n_values,
                                struct torc_loan *out_loan);

/* Give a loan back: what borrows it dies. TORC_OK. O(1).
 * Errors: TORC_EINVAL not this thread's handle, or no loan of it that is out: released before. */
TORC_API int torc_release(struct torc *torc, struct torc_loan loan);

/* Loans that are out. */
TORC_API size_t torc_loans(const struct torc *torc);

#ifdef __cplusplus
}
#endif
#endif
