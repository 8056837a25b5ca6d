/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's half of a ring session: one client thread and one poller. The server makes all
 * memory; the client only receives it. Format: docs/formats/ring.md.
 *
 *   object         may write                            content
 *   exchange       both                                 slots
 *   request area   client; mapped read-only here        line 0: consumed; line 1: sleeping;
 *                                                       bytes of requests that do not fit a slot
 *   reply area     server; the client maps read-only    line 0: epoch, batches; line 1: sleeping,
 *                                                       futex; bytes of replies that do not fit
 *
 * Everything that the client can write is hostile: loaded once, validated, used from the copy.
 * Positions, sizes and masks are private. A broken rule gives -EBADMSG, then and ever after: the
 * caller closes this session and nothing else.
 *
 * Life: create, pass the descriptors, wait for MAPPED, seal, close_memfds, READY, visits, destroy.
 * A visit: take, per request reply_room where needed and reply, at the end wake.
 *
 * Long messages. A reply above a quarter of the reply area is kept in private memory and pulled by
 * the client part by part; a request above a quarter of the request area is pushed part by part and
 * comes out of take() whole. All parts of one message travel through one slot, in turns. One long
 * request and one long reply at a time; while a long reply is being pulled, the next reply that
 * does not fit a slot waits (-EAGAIN), so the parts always find room.
 *
 * Threads: create, seal and destroy by the control thread; all others by one poller. Never both at
 * once.
 */
#ifndef TORC_RING_SESSION_H
#define TORC_RING_SESSION_H

#include "ring/exchange.h"
#include "ring/layout.h"
#include "ring/message.h"

#define TORC_SESSION_VISIT_REQUESTS 32u        /* most requests that a poller takes in one visit */
#define TORC_SESSION_VISIT_BYTES    (1u << 14) /* a take() stops before it passes this */
#define TORC_SESSION_BATCH          16u        /* most requests of one take() */

struct torc_session;

/* What a client may support; in force when both sides do. */
enum torc_feature {
    TORC_FEATURE_MEMBARRIER = 1, /* registered for MEMBARRIER_CMD_GLOBAL_EXPEDITED: it publishes
                                    with release only, the server does the barrier (layout.h) */
};

struct torc_session_options {
    uint32_t slots;              /* power of two, TORC_SLOTS_MIN..TORC_SLOTS_MAX */
    uint32_t request_area_bytes; /* power of two, TORC_AREA_BYTES_MIN..TORC_AREA_BYTES_MAX */
    uint32_t reply_area_bytes;
    uint64_t long_message_max; /* longest message, bytes; at most TORC_MESSAGE_MAX_BYTES. Cap for
                                  what is held in private memory, in each direction */
    uint64_t epoch;            /* of this run of the server */
    uint64_t features;         /* in force: bits of enum torc_feature */
};

/* The descriptors that the client gets, in this order. */
enum torc_session_fd {
    TORC_FD_EXCHANGE,
    TORC_FD_REQUEST_AREA,
    TORC_FD_REPLY_AREA,
    TORC_FD_DOORBELL,
    TORC_SESSION_FDS
};

/* Since the session began. Read by the poller, or by others as an estimate. */
struct torc_session_counters {
    uint64_t requests; /* seen by take(); a pushed one counts once */
    uint64_t replies;
    uint64_t area_requests; /* that did not fit a slot */
    uint64_t area_replies;
    uint64_t long_replies; /* pulled by the client */
    uint64_t long_requests;
    uint64_t stalls; /* times that a reply had to wait for room */
    uint64_t wakes;  /* of the sleeping client, one syscall each */
    uint64_t doorbells;
    uint64_t broken_rules; /* 0 or 1: the session is at its end then */
};

/* Make memory and descriptors, all close-on-exec; sealed against shrinking and growing, the reply
 * area against writing by others. Costs some 15 syscalls.
 * -EINVAL sizes, or a kernel without sealed memfds; -ENOMEM; -EAGAIN out of descriptors. */
int torc_session_create(const struct torc_session_options *options,
                        struct torc_session **out_session) TORC_MUST_USE;

/* The client has mapped: seal exchange and request area against new writable mappings and holes,
 * map the request area, and have all pages present, so that no later access can fail.
 * -ENOMEM; -EINVAL a kernel before 5.14; -EBADMSG otherwise: refuse the client, destroy. */
int torc_session_seal(struct torc_session *session) TORC_MUST_USE;

/* Unmap, close and free everything. NULL is fine, and so is a session at any step of its life. */
void torc_session_destroy(struct torc_session *session);

/* Borrowed; -1 after torc_session_close_memfds(), but the doorbell stays. */
int torc_session_fd(const struct torc_session *session, enum torc_session_fd which);

/* Close our copies of the three memfds, once sealed. */
void torc_session_close_memfds(struct torc_session *session);

/* A request taken into private memory. */
struct torc_taken {
    uint64_t position;
    const uint8_t *data; /* private copy; good until a torc_session_take() after its reply */
    uint32_t len;        /* at least TORC_MESSAGE_HEAD_BYTES */
};

/* True if a visit is worth while: a request is ready at the private position (one load), or a
 * request taken before may be answered now, or a part of a long reply is wanted, or the session is
 * broken and take() says so. What a sweep over many sessions does. */
bool torc_session_is_ready(const struct torc_session *session);

/* Copy ready requests into private memory, in order, without consuming them: at most `max`, at most
 * TORC_SESSION_BATCH, and not beyond TORC_SESSION_VISIT_BYTES unless the first alone is longer.
 * While requests taken before are unanswered, gives those again, from the same copies, and no new
 * ones. Serves the parts of long messages: FETCH and PUT are answered inside and never seen here.
 * Returns the count, 0 none ready; -EBADMSG the client broke a rule. No syscall but for the memory
 * of a long request. */
int torc_session_take(struct torc_session *session, struct torc_taken *out_taken,
                      unsigned max) TORC_MUST_USE;

/* Room for a reply of `len` bytes now? 0 yes, and it stays so until that reply; -EAGAIN not now:
 * end the visit, the request stays in its slot and is taken again later; -EMSGSIZE never (answer
 * TORC_WIRE_TOO_LARGE); -ENOMEM for a long one (answer TORC_WIRE_OUT_OF_MEMORY); -EBADMSG. Ask
 * before a change whose reply is not small: up to TORC_SLOT_MESSAGE there always is room. */
int torc_session_reply_room(struct torc_session *session, size_t len) TORC_MUST_USE;

/* Publish the reply of the oldest taken, unanswered request, and consume that request. The message
 * is copied. Errors as reply_room, and -EINVAL if no request is unanswered or the message is
 * shorter than its head; nothing is consumed then. */
int torc_session_reply(struct torc_session *session, const void *message, size_t len) TORC_MUST_USE;

/* After a batch: wake the client if it sleeps. Free when nothing was published since the last
 * time; else a locked instruction, and at most one syscall. */
void torc_session_wake(struct torc_session *session);

/* The poller is about to sleep (true) or is awake (false): the client rings the doorbell when true.
 * Set it anew before each sleep: one setting brings one doorbell. After setting true, look at all
 * sessions once more with is_ready() before sleeping; sleep at most 10 ms, because a client may
 * lie. The second form does many with one barrier. */
void torc_session_set_sleeping(struct torc_session *session, bool sleeping);
void torc_sessions_set_sleeping(struct torc_session *const *sessions, size_t n_sessions,
                                bool sleeping);

/* The doorbell woke the poller: counted. The eventfd is watched edge-triggered and never read,
 * since the client can make a read block. */
void torc_session_count_doorbell(struct torc_session *session);

/* True if the client owes something (room for a waiting reply, the next part of a long message)
 * and has made no progress for `limit_ns`: the caller may close it. Call it now and then, with a
 * monotonic clock; time is measured between calls. O(1). */
bool torc_session_is_overdue(struct torc_session *session, uint64_t now_ns, uint64_t limit_ns);

const struct torc_session_counters *torc_session_counters(const struct torc_session *session);
uint64_t torc_session_bytes(const struct torc_session *session); /* shared and private memory */

#endif
