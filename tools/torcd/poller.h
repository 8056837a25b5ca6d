/* SPDX-License-Identifier: Apache-2.0
 *
 * Poller: the thread that serves. In rounds it looks at ring sessions, RESP sockets, messages from
 * the control thread and upkeep, each with a budget, so that none starves another:
 *
 *   rings      every hot session and the next two cold ones, each at most 32 requests (8 when more
 *              than one has work)
 *   sockets    while rings are busy every 5 us, bounded in time but at least one connection; else
 *              every round
 *   messages   one load a round when there are none
 *   upkeep     steps of the keyspace's maintenance, in proportion to the commands; timers
 *
 * A round that serves rings makes no syscall but to wake sleeping clients. When nothing happens the
 * poller spins, yields, or (adaptive) sets the sessions' sleeping flags, looks once more and sleeps
 * in epoll until a doorbell, a socket or a message; at most 10 ms with sessions attached, because a
 * client may lie. Before that it spins for poll-spin-us, up to four times as long where sleeps
 * prove to be that short.
 *
 * Thread: the one that calls torc_poller_round() or _run(). Other threads talk to `inbox`.
 */
#ifndef TORC_TORCD_POLLER_H
#define TORC_TORCD_POLLER_H

#include "tools/torcd/connection.h"
#include "tools/torcd/mailbox.h"
#include "tools/torcd/peer.h"

/* Kinds of mail to a poller. */
enum torc_poller_mail {
    TORC_MAIL_ATTACH = 1, /* in a torc_peer: serve it */
    TORC_MAIL_CLOSE,      /* in a torc_peer: forget it and send `release` */
    TORC_MAIL_CONNECT,    /* a torc_newcomer: serve its socket; freed by the poller */
    TORC_MAIL_STOP,       /* send the last replies and end */
};

/* Kinds of mail from a poller. */
enum torc_control_mail {
    TORC_MAIL_BROKEN = 1, /* in a torc_peer: its client broke a rule; send `close` */
    TORC_MAIL_RELEASE,    /* in a torc_peer: it is the control thread's again */
    TORC_MAIL_EVENT,      /* a torc_event, for the log; freed by the control thread */
};

struct torc_newcomer {
    struct torc_mail mail;
    int fd; /* connected, non-blocking */
    uint64_t id;
};

struct torc_event {
    struct torc_mail mail;
    uint64_t connection_id;
    const char *what; /* static */
};

struct torc_poller;

/* Make a poller that serves `service` (borrowed). `control` is where it sends its mail; both live
 * longer than it does. -ENOMEM, -EAGAIN out of descriptors. */
int torc_poller_create(struct torc_service *service, struct torc_mailbox *control,
                       struct torc_poller **out_poller) TORC_MUST_USE;

/* Close connections and free. Peers must have been released. NULL is fine. */
void torc_poller_destroy(struct torc_poller *poller);

/* Where others send mail to it. */
struct torc_mailbox *torc_poller_inbox(struct torc_poller *poller);

/* One round, without waiting. True if it did something for somebody. */
bool torc_poller_round(struct torc_poller *poller);

/* Rounds with waiting in between, until TORC_MAIL_STOP was handled. Pins itself as the settings
 * say. */
void torc_poller_run(struct torc_poller *poller);

/* TORC_MAIL_STOP was handled. */
bool torc_poller_is_stopped(const struct torc_poller *poller);

#endif
