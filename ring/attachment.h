/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's half of a ring session: attach, publish requests, see replies. No threads, no
 * allocation after attach but for long messages. libtorc (client/) builds its calls on this; it
 * knows nothing of commands.
 *
 * Thread: one, the one that attached.
 */
#ifndef TORC_RING_ATTACHMENT_H
#define TORC_RING_ATTACHMENT_H

#include "ring/handshake.h"

struct torc_attachment;

enum torc_wait_mode { TORC_WAIT_ADAPTIVE, TORC_WAIT_BUSY, TORC_WAIT_YIELD };

struct torc_attachment_options {
    const char *path;                                     /* control socket */
    const char *name;                                     /* of the session, NULL = none */
    uint32_t slots, request_area_bytes, reply_area_bytes; /* 0 = the server's default */
    uint32_t database;
    enum torc_wait_mode wait;
    uint64_t spin_ns; /* adaptive: spin this long before sleeping; 0 = default 20 us (0 us with one
                         CPU) */
    uint64_t deadline_ns; /* for attaching, CLOCK_MONOTONIC; 0 = 2 s from now */
};

/* Attach. -ENOENT no socket or nobody listens, -EPIPE server went away, -EPROTO version refused,
 * -EINVAL, -ENOMEM, -ENOSPC refused for a quota, -EBADMSG the server's memory is not as it must be,
 * -ETIMEDOUT. `why` (may be NULL) gets a text for a person. */
int torc_attachment_open(const struct torc_attachment_options *options,
                         struct torc_attachment **out_attachment,
                         char why[TORC_HANDSHAKE_TEXT_BYTES]) TORC_MUST_USE;
void torc_attachment_close(struct torc_attachment *attachment); /* NULL is fine */

/* Room for a request message of `len` bytes: the bytes to encode into, contiguous (in the slot, in
 * the request area, or in private memory for a long one that will be pushed). NULL and *out_error:
 * -EAGAIN all slots or the area are in use (see replies first), -EMSGSIZE above long_message_max,
 * -ENOMEM. One at a time; end with _commit() or forget it by reserving again. */
void *torc_attachment_reserve(struct torc_attachment *attachment, size_t len,
                              int *out_error) TORC_MUST_USE;
/* Publish what was written: `len` as reserved or less. One release store; a push of a long message
 * waits for its acknowledgements
 * (-ETIMEDOUT, -EPIPE). Rings the doorbell if the server sleeps. */
int torc_attachment_commit(struct torc_attachment *attachment, size_t len,
                           uint64_t deadline_ns) TORC_MUST_USE;

/* The oldest outstanding reply, if it is there. 0: *out_message borrows memory that only the server
 * can write (or private memory for a long reply), good until torc_attachment_consume(). -EAGAIN not
 * yet, -ENOENT nothing outstanding, -EPIPE server dead, -EBADMSG broken message. */
int torc_attachment_peek(struct torc_attachment *attachment,
                         struct torc_slice *out_message) TORC_MUST_USE;
/* The same, waiting until deadline_ns (CLOCK_MONOTONIC, 0 = for ever): -ETIMEDOUT. */
int torc_attachment_wait(struct torc_attachment *attachment, uint64_t deadline_ns,
                         struct torc_slice *out_message) TORC_MUST_USE;
/* Done with the peeked reply. */
void torc_attachment_consume(struct torc_attachment *attachment);

unsigned torc_attachment_outstanding(const struct torc_attachment *attachment);
unsigned torc_attachment_slots(const struct torc_attachment *attachment);
uint64_t torc_attachment_epoch(const struct torc_attachment *attachment);
uint64_t torc_attachment_session_id(const struct torc_attachment *attachment);
bool torc_attachment_is_dead(const struct torc_attachment *attachment);

#endif
