/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening sockets: made so that whatever is wrong is a sentence at start. All are non-blocking
 * and close-on-exec.
 */
#ifndef TORC_TORCD_LISTENER_H
#define TORC_TORCD_LISTENER_H

#include <sys/types.h>

#include "core/options.h"

struct torc_listener {
    int fd; /* -1: none */
    /* Unix: the file that was made, to remove no other at the end. */
    const char *path; /* borrowed; NULL for TCP */
    dev_t device;
    ino_t inode;
};

/* Listen on a numeric IPv4 or IPv6 address ("*" is all of IPv4). -EINVAL, with a text in `why`. */
int torc_listener_tcp(const char *address, int port, int backlog,
                      struct torc_listener *out_listener,
                      char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

struct torc_listener_unix_options {
    const char *path;  /* borrowed for the listener's life */
    int type;          /* SOCK_STREAM or SOCK_SEQPACKET */
    mode_t mode;       /* of the file; 0: as the umask says */
    const char *group; /* name, "" the server's */
    int backlog;
};

/* Listen on a path. A socket file that nobody listens on is replaced; anything else that stands
 * there is left alone. -EINVAL, with a text in `why`. Changes the umask for a moment: before
 * threads are started. */
int torc_listener_unix(const struct torc_listener_unix_options *options,
                       struct torc_listener *out_listener,
                       char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Close, and remove the file if it is still ours. Fine with fd -1. */
void torc_listener_close(struct torc_listener *listener);

#endif
