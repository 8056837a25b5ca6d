/* SPDX-License-Identifier: Apache-2.0
 *
 * Mailbox: how the control thread and a poller talk. An intrusive queue without locks (D. Vyukov's
 * MPSC node queue): any thread sends, one thread receives, messages of one sender stay in order.
 * A message is a struct torc_mail inside something larger; the sender gives it away and gets it
 * back only if the receiver sends it, so sending never allocates and never fails.
 *
 *   word       written by        read by    what it publishes                        pair
 *   head       senders (swap)    both       the newest message; order of senders     M1, M2 acq_rel
 *   mail.next  sender            receiver   the message and all it points at         M3 release,
 *                                                                                    M4 acquire
 *
 * A sender that is interrupted between M1 and M3 hides what is sent behind it until it goes on: the
 * receiver sees a queue that is not empty and gives nothing yet.
 *
 * wake_fd is an eventfd that each send writes to. The receiver watches it edge-triggered and never
 * reads it.
 */
#ifndef TORC_TORCD_MAILBOX_H
#define TORC_TORCD_MAILBOX_H

#include <stdatomic.h>

#include "core/base.h"

struct torc_mail {
    _Atomic(struct torc_mail *) next;
    int kind; /* the receiver's words */
};

struct torc_mailbox {
    _Alignas(64) _Atomic(struct torc_mail *) head; /* newest */
    _Alignas(64) struct torc_mail *tail;           /* oldest; the receiver's */
    struct torc_mail stub;
    int wake_fd;
};

/* Caller's storage, which must not move. -EAGAIN: out of descriptors. */
int torc_mailbox_init(struct torc_mailbox *box) TORC_MUST_USE;
/* Messages still inside are the caller's business. Fine on an all-zero one. */
void torc_mailbox_fini(struct torc_mailbox *box);

/* Any thread. Wait-free, and one syscall. */
void torc_mailbox_send(struct torc_mailbox *box, struct torc_mail *mail);

/* The receiver: the oldest message, or NULL: none, or none to be had yet. O(1). */
struct torc_mail *torc_mailbox_receive(struct torc_mailbox *box);

/* The receiver: one load. False also while a sender is half way. */
static inline bool torc_mailbox_is_empty(const struct torc_mailbox *box)
{
    return box->tail == &box->stub &&
           atomic_load_explicit(&box->head, memory_order_acquire) == &box->stub;
}

#endif
