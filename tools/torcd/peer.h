/* SPDX-License-Identifier: Apache-2.0
 *
 * Peer: a ring session as its poller sees it, and one visit to it.
 *
 * Life: the control thread makes it, sends it with `attach` to the poller, which serves it. At the
 * end the control thread sends `close`; the poller forgets it and sends `release`; the control
 * thread frees it. If the client breaks a rule, the poller stops serving at once and sends `broken`
 * first. So each of the four mails is sent at most once, and the memory is safe until `release`.
 */
#ifndef TORC_TORCD_PEER_H
#define TORC_TORCD_PEER_H

#include "tools/torcd/batch.h"
#include "tools/torcd/mailbox.h"
#include "tools/torcd/source.h"

struct torc_peer {
    struct torc_source source; /* its doorbell */
    struct torc_mail attach, close, broken, release;
    struct torc_session *session;
    uint64_t id;

    /* The poller's. */
    size_t index;    /* in its list; SIZE_MAX: not served */
    unsigned misses; /* looks in a row that found nothing */
    bool is_counted; /* the oldest request was counted already and waits for reply room */
    bool is_muted;   /* its doorbell rang too often for nothing */
    unsigned n_false_doorbells; /* in this second */
    const char *why;            /* with `broken`; static */
};

/* Serve up to max_requests requests, in batches, ending behind the one that makes
 * TORC_SESSION_VISIT_BYTES full. Returns how many were answered; a client without
 * room for its reply is left as it is for a later visit. -EBADMSG: the client broke a rule; close
 * it. One syscall at most, to wake the client. */
int torc_peer_serve(struct torc_peer *peer, struct torc_service *service, struct torc_batch *batch,
                    unsigned max_requests) TORC_MUST_USE;

#endif
