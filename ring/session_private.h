/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of a session: for session.c (memory, life), session_visit.c (requests, replies),
 * session_wake.c (sleeping) and tests.
 */
#ifndef TORC_RING_SESSION_PRIVATE_H
#define TORC_RING_SESSION_PRIVATE_H

#include "ring/layout.h"
#include "ring/session.h"

#define TORC_STAGING_ALIGN 16u

/* A request that was taken and is not yet answered. */
struct torc_pending {
    uint64_t position;
    const uint8_t *data; /* into copy, into the staging, or the gathered message */
    uint32_t len;
    _Alignas(8) uint8_t copy[TORC_SLOT_MESSAGE]; /* of what the slot held */
};

/* The long request that is being pushed, part by part, through the slot at take_position. */
enum torc_gather_state {
    TORC_GATHER_NONE,
    TORC_GATHER_PARTS, /* some parts are here */
    TORC_GATHER_WHOLE, /* all are; taken and not yet answered */
};
struct torc_gather {
    enum torc_gather_state state;
    uint8_t *data; /* `total` bytes; NULL when NONE */
    uint32_t total;
    uint32_t got;
    uint64_t position;
};

/* The long reply that is being pulled, part by part, through the slot of its request. */
struct torc_held {
    bool is_active;
    bool lacks_room; /* a part is wanted and does not fit now */
    uint8_t *data;   /* may be there before the reply is: torc_session_reply_room() reserves it */
    uint32_t cap;
    uint32_t len;
    uint64_t position;
    uint64_t id;
};

enum torc_stall {
    TORC_STALL_NONE,
    TORC_STALL_ROOM, /* the next reply does not fit the reply area now */
    TORC_STALL_HELD, /* the next reply waits until a long one has been pulled */
};

struct torc_session {
    /* Read by every look. */
    struct torc_slot *slots;
    uint64_t take_position; /* next request to take */
    uint32_t slot_mask;
    unsigned slots_log2;
    bool is_plain;       /* nothing pending, held, gathering or broken: one load tells all */
    bool is_broken;      /* a rule was broken */
    bool has_news;       /* replies published since the last wake */
    bool is_sleeping;    /* as told to the client */
    uint32_t sleep_word; /* of the last sleep; never 0 */
    uint32_t woken_word; /* the client's flag at the last wake-up */

    /* Requests taken and unanswered: pending[first .. first + n_pending). */
    unsigned first, n_pending;
    enum torc_stall stall;
    uint8_t *staging; /* copies of requests that came through the area */
    size_t staging_size, staging_used;
    const uint8_t *request_bytes; /* behind the public lines */
    uint32_t request_size;
    struct torc_area reply_area;              /* freed: the client's `consumed`, as last accepted */
    struct torc_request_lines *request_lines; /* never written here */
    struct torc_reply_lines *reply_lines;
    struct torc_held held;
    struct torc_gather gather;
    uint64_t next_long_id;
    uint64_t long_message_max;
    struct torc_session_counters counters;
    struct torc_pending pending[TORC_SESSION_BATCH];

    /* torc_session_is_overdue() */
    uint64_t progress; /* counts what the client did to get on */
    uint64_t overdue_progress, overdue_since_ns;
    bool is_owing;

    /* Life. */
    int fds[TORC_SESSION_FDS];
    bool is_asymmetric;
    uint32_t slots_count;
    void *request_map, *reply_map;
};

static inline struct torc_slot *torc_session_slot(const struct torc_session *session,
                                                  uint64_t position)
{
    return &session->slots[position & session->slot_mask];
}

/* Begin at `position`, as if all requests before it had been
 * served: set private positions and fill all slots with the turn that they have then. A session
 * begins at 0; tests begin near the places where turns wrap. Before any request. */
void torc_session_start_at(struct torc_session *session, uint64_t position);

/* All invariants of the private state. For tests; O(batch). */
bool torc_session_check(const struct torc_session *session) TORC_MUST_USE;

#endif
