/* SPDX-License-Identifier: Apache-2.0
 *
 * A process among others: going to the background, the pid file, and telling the service manager.
 */
#ifndef TORC_TORCD_DAEMON_H
#define TORC_TORCD_DAEMON_H

#include "core/options.h"

/* Go on in the background: the caller's process waits for torc_daemon_ready() or the end of the new
 * one, shows its message, and exits with 0 or 1; this function returns in the new process, in a
 * session of its own and with no standard input. Before threads are started. 0 and *out_fd for
 * _ready() and _failed(); -EAGAIN. */
int torc_daemon_detach(int *out_fd) TORC_MUST_USE;

/* Let the waiting process exit with 0; closes standard output and error. */
void torc_daemon_ready(int fd);

/* Write the pid to `path`; -EINVAL, with a text in `why`. */
int torc_daemon_write_pid(const char *path, char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Send `state` ("READY=1") to the service manager, if $NOTIFY_SOCKET names one: sd_notify(3)'s
 * datagram. */
void torc_daemon_notify(const char *state);

#endif
