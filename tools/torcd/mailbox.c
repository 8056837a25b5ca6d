/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

int torc_mailbox_init(struct torc_mailbox *box)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return -EAGAIN;
    }
    atomic_init(&box->stub.next, NULL);
    box->stub.kind = 0;
    atomic_init(&box->head, &box->stub);
    box->tail = &box->stub;
    box->wake_fd = fd;
    return 0;
}

void torc_mailbox_fini(struct torc_mailbox *box)
{
    if (box->tail != NULL) {
        (void)close(box->wake_fd);
        box->tail = NULL;
    }
}

static void push(struct torc_mailbox *box, struct torc_mail *mail)
{
    /* relaxed: M1 orders it */
    atomic_store_explicit(&mail->next, NULL, memory_order_relaxed);
    /* M1, pairs with M2 of the next sender: its M3 store into this mail comes behind the reset. */
    struct torc_mail *before = atomic_exchange_explicit(&box->head, mail, memory_order_acq_rel);
    /* M3 release: pairs with M4. The message and what it points at are complete. */
    atomic_store_explicit(&before->next, mail, memory_order_release);
}

void torc_mailbox_send(struct torc_mailbox *box, struct torc_mail *mail)
{
    static const uint64_t one = 1;
    push(box, mail);
    /* It fails only when the counter is full, and then the receiver has its edge already. */
    ssize_t n = write(box->wake_fd, &one, sizeof one);
    (void)n;
}

struct torc_mail *torc_mailbox_receive(struct torc_mailbox *box)
{
    struct torc_mail *tail = box->tail;
    /* M4 acquire: pairs with M3. */
    struct torc_mail *next = atomic_load_explicit(&tail->next, memory_order_acquire);
    if (tail == &box->stub) {
        if (next == NULL) {
            return NULL;
        }
        box->tail = next;
        tail = next;
        next = atomic_load_explicit(&tail->next, memory_order_acquire);
    }
    if (next != NULL) {
        box->tail = next;
        return tail;
    }
    /* tail is the last one linked. It can be given away only with something behind it: the stub,
     * unless a sender is half way, which will link its own. */
    if (tail != atomic_load_explicit(&box->head, memory_order_acquire)) {
        return NULL;
    }
    push(box, &box->stub);
    next = atomic_load_explicit(&tail->next, memory_order_acquire);
    if (next == NULL) {
        return NULL;
    }
    box->tail = next;
    return tail;
}
