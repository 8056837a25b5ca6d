/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's half of a ring session: attach, publish requests, see replies. No threads, no
 * allocation after attach but for long messages. libtorc (client/) builds its calls on this; it
 * knows nothing of commands. Format: docs/formats/ring.md.
 *
 * Replies are seen strictly in the order of requests. A caller that gives up waiting still has that
 * request outstanding: its reply comes first, later, and is the caller's to recognise (by its tag)
 * and to drop.
 *
 * Long messages. A request above a quarter of the request area is pushed in parts, a reply above a
 * quarter of the reply area pulled; commit, peek and wait move them on. One long request at a time;
 * requests behind it may be published meanwhile.
 *
 * Thread: one, the one that attached. A forked child does not inherit the memory.
 */
#ifndef TORC_RING_ATTACHMENT_H
#define TORC_RING_ATTACHMENT_H

#include "ring/handshake.h"

struct torc_attachment;

/* How to wait for a reply. */
enum torc_wait_mode {
    TORC_WAIT_ADAPTIVE, /* spin for spin_ns, yield a few times, sleep */
    TORC_WAIT_BUSY,     /* spin: for a core of one's own */
    TORC_WAIT_YIELD,    /* yield: both sides on one core */
};

struct torc_attachment_options {
    const char *path;                                     /* control socket */
    const char *name;                                     /* of the session, NULL = none */
    uint32_t slots, request_area_bytes, reply_area_bytes; /* 0 = the server's default */
    uint32_t database;
    enum torc_wait_mode wait;
    uint64_t spin_ns;     /* adaptive: spin this long before sleeping; 0 = default 20 us. With one
                             CPU in the affinity mask never: the server could not run */
    uint64_t deadline_ns; /* for attaching, CLOCK_MONOTONIC; 0 = 2 s from now */
};

/* Attach. -ENOENT no socket or nobody listens, -EPIPE server went away, -EPROTO version refused,
 * -EINVAL options, or refused for what was wished, or no permission for the socket, -ENOMEM (here
 * or there), -ENOSPC refused for a quota, -EBADMSG the server's answer or memory is not as it must
 * be, -ETIMEDOUT. `why` (may be NULL) gets a text for a person. */
int torc_attachment_open(const struct torc_attachment_options *options,
                         struct torc_attachment **out_attachment,
                         char why[TORC_HANDSHAKE_TEXT_BYTES]) TORC_MUST_USE;
void torc_attachment_close(struct torc_attachment *attachment); /* NULL is fine */

/* Room for a request message of `len` bytes, at least TORC_MESSAGE_HEAD_BYTES: the bytes to encode
 * into, contiguous, aligned to 8 (in the slot, in the request area, or in private memory for a long
 * one that will be pushed). NULL and *out_error: -EAGAIN all slots or the area are in use, or a
 * long one is still being pushed (see replies first); -EMSGSIZE above long_message_max, -ENOMEM,
 * -EINVAL too short, -EPIPE. One at a time; end with _commit() or forget it by reserving again.
 * Bytes written here may be seen by the server, but not used before the commit. */
void *torc_attachment_reserve(struct torc_attachment *attachment, size_t len,
                              int *out_error) TORC_MUST_USE;
/* Publish what was written: `len` as reserved or less. One store, and a look whether the server
 * sleeps; then its doorbell is rung, one syscall. A long message that is the only one outstanding
 * is pushed whole before this returns, or until deadline_ns (CLOCK_MONOTONIC, 0 = for ever):
 * -ETIMEDOUT, and the request stays outstanding, its push goes on in peek and wait. When others are
 * outstanding it returns at once: the server may need them seen before it can go on.
 * -EPIPE the server is dead: not published, or while pushing; -EINVAL nothing reserved, or len. */
int torc_attachment_commit(struct torc_attachment *attachment, size_t len,
                           uint64_t deadline_ns) TORC_MUST_USE;

/* The oldest outstanding reply, if it is there. 0: *out_message borrows memory that only the server
 * can write (or private memory for a long reply), at least TORC_MESSAGE_HEAD_BYTES, good until
 * torc_attachment_consume(). -EAGAIN not yet, -ENOENT nothing outstanding, -EPIPE server dead and
 * the reply not there, -EBADMSG broken message, and nothing but that from now on; -ENOMEM for a
 * long reply: try again, or consume, which gives it up. No syscall in nearly all calls. */
int torc_attachment_peek(struct torc_attachment *attachment,
                         struct torc_slice *out_message) TORC_MUST_USE;
/* The same, waiting until deadline_ns (CLOCK_MONOTONIC, 0 = for ever): -ETIMEDOUT. The death of the
 * server is noticed within 50 ms. */
int torc_attachment_wait(struct torc_attachment *attachment, uint64_t deadline_ns,
                         struct torc_slice *out_message) TORC_MUST_USE;
/* The short way for most replies: if the oldest outstanding one is there, lies in its slot and none
 * is peeked, it is copied to `copy`, which is private, and consumed. Returns its length; 0 not yet,
 * but that may not be all: look with _peek() or _wait() now and then, which notice more;
 * -EAGAIN there is something for _peek(). */
int torc_attachment_take_small(struct torc_attachment *attachment,
                               uint8_t copy[TORC_SLOT_MESSAGE]) TORC_MUST_USE;
/* A peeked reply that was long lies in private memory: it becomes the caller's, to be freed with
 * free(). NULL if it was not long; it stays the peeked reply either way, until consume. */
uint8_t *torc_attachment_take_long(struct torc_attachment *attachment) TORC_MUST_USE;
/* Done with the peeked reply, or not interested in one that gave -ENOMEM. Else does nothing. */
void torc_attachment_consume(struct torc_attachment *attachment);

unsigned torc_attachment_outstanding(const struct torc_attachment *attachment);
unsigned torc_attachment_slots(const struct torc_attachment *attachment);
uint64_t torc_attachment_epoch(const struct torc_attachment *attachment);
uint64_t torc_attachment_session_id(const struct torc_attachment *attachment);
/* Longest message in either direction, as the server said. */
uint64_t torc_attachment_message_max(const struct torc_attachment *attachment);
/* As known so far; does not look. */
bool torc_attachment_is_dead(const struct torc_attachment *attachment);

#endif
