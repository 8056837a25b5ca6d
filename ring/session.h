/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's half of a ring session: one client thread and one poller. The server makes all
 * memory; the client only receives it.
 *
 *   object         may write                          content
 *   exchange       both                               slots
 *   request area   client; mapped read-only here      line 0: consumed | line 1: sleeping | bytes
 * of requests that do not fit a slot reply area     server; client maps it read-only   line 0:
 * epoch | line 1: sleeping, futex word | bytes of replies that do not fit
 *
 * Everything that the client can write is hostile: loaded once, validated, used from the copy.
 * Positions, sizes and masks are private. A broken rule gives -EBADMSG: the caller closes this
 * session and nothing else.
 *
 * Threads: create, seal and destroy by the control thread; take .. wake by one poller. Never both
 * at once.
 */
#ifndef TORC_RING_SESSION_H
#define TORC_RING_SESSION_H

#include "ring/exchange.h"
#include "ring/message.h"

#define TORC_AREA_BYTES_DEFAULT     (64u * 1024u) /* each direction */
#define TORC_AREA_BYTES_MAX         (64u * 1024u * 1024u)
#define TORC_SESSION_VISIT_REQUESTS 32u /* most requests taken in one visit */
#define TORC_SESSION_VISIT_BYTES    (16u * 1024u)
#define TORC_SESSION_BATCH          16u

struct torc_session;

struct torc_session_options {
    uint32_t slots;              /* power of two, 2..TORC_SLOTS_MAX */
    uint32_t request_area_bytes; /* power of two, 4 KiB..TORC_AREA_BYTES_MAX */
    uint32_t reply_area_bytes;
    uint64_t
        long_message_max; /* cap for pulled replies and pushed requests held in private memory */
    uint64_t epoch;
};

/* The descriptors that the client gets, in this order. */
enum torc_session_fd {
    TORC_FD_EXCHANGE,
    TORC_FD_REQUEST_AREA,
    TORC_FD_REPLY_AREA,
    TORC_FD_DOORBELL,
    TORC_SESSION_FDS
};

struct torc_session_counters {
    uint64_t requests, replies, area_requests, area_replies, long_replies, long_requests,
        stalls /* reply room lacking */, doorbells;
};

/* Make memory and descriptors; sealed against shrinking, reply area against writing by others.
 * -EINVAL, -ENOMEM; -EAGAIN: out of descriptors. */
int torc_session_create(const struct torc_session_options *options,
                        struct torc_session **out_session) TORC_MUST_USE;
/* The client has mapped: seal the rest, populate our mappings. -ENOMEM, -EBADMSG: refuse the
 * client. */
int torc_session_seal(struct torc_session *session) TORC_MUST_USE;
void torc_session_destroy(struct torc_session *session);
int torc_session_fd(const struct torc_session *session, enum torc_session_fd which); /* borrowed */
/* Close our copies of the three memfds once the client has them. The doorbell stays. */
void torc_session_close_memfds(struct torc_session *session);

/* A request taken into private memory. */
struct torc_taken {
    uint64_t position;
    const uint8_t *data; /* private copy, good until the next take */
    uint32_t len;
};

/* True if a request is ready at the private position: one load. What a sweep over many sessions
 * does. */
bool torc_session_is_ready(const struct torc_session *session);

/* Copy up to `max` (at most TORC_SESSION_BATCH) ready requests into private memory, in order,
 * without consuming them. Returns the count, 0 none ready; -EBADMSG the client broke a rule. FETCH
 * and PUT are answered inside and never seen here. */
int torc_session_take(struct torc_session *session, struct torc_taken *out_taken,
                      unsigned max) TORC_MUST_USE;

/* Room for a reply of `len` bytes now? 0 yes, -EAGAIN not now (the request stays in its slot and is
 * taken again later), -EMSGSIZE never (answer TORC_WIRE_TOO_LARGE). Ask before a change whose reply
 * is not small. Replies up to TORC_SLOT_MESSAGE always have room. */
int torc_session_reply_room(struct torc_session *session, size_t len) TORC_MUST_USE;

/* Publish the reply of the oldest taken, unanswered request, and consume that request. Errors as
 * reply_room; nothing is consumed then. */
int torc_session_reply(struct torc_session *session, const void *message, size_t len) TORC_MUST_USE;

/* After a batch: wake the client if it sleeps. At most one syscall. */
void torc_session_wake(struct torc_session *session);

/* The poller is about to sleep (true) or is awake (false): the client rings the doorbell when true.
 * After setting true, look at all sessions once more (seq_cst inside). */
void torc_session_set_sleeping(struct torc_session *session, bool sleeping);

const struct torc_session_counters *torc_session_counters(const struct torc_session *session);
uint64_t torc_session_bytes(const struct torc_session *session); /* shared and private memory */

#endif
