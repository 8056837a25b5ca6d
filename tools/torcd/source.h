/* SPDX-License-Identifier: Apache-2.0
 *
 * What an epoll event is about: the first member of whatever is watched, so that the event's
 * pointer tells its type.
 */
#ifndef TORC_TORCD_SOURCE_H
#define TORC_TORCD_SOURCE_H

#include <sys/epoll.h>

#include "core/base.h"

enum torc_source_kind {
    /* the poller's */
    TORC_SOURCE_MAIL,
    TORC_SOURCE_DOORBELL,
    TORC_SOURCE_CONNECTION,
    /* the control thread's */
    TORC_SOURCE_SIGNALS,
    TORC_SOURCE_STOP,
    TORC_SOURCE_ATTACH_LISTENER,
    TORC_SOURCE_RESP_LISTENER,
    TORC_SOURCE_GUEST,
    TORC_SOURCE_GUEST_PROCESS,
};

struct torc_source {
    enum torc_source_kind kind;
};

/* Watch `fd` for `events`. -ENOMEM: also when the kernel's limit of watches is reached. */
static inline int torc_source_watch(int epoll_fd, int fd, struct torc_source *source,
                                    uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = source}};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -ENOMEM;
}

static inline void torc_source_forget(int epoll_fd, int fd)
{
    /* It fails only if it was not watched. */
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

#endif
