/* SPDX-License-Identifier: Apache-2.0
 *
 * Control: the thread that listens, attaches and lets go of ring clients, accepts RESP connections
 * and hands them to the poller, and takes signals. It never touches a shard's data, and shares
 * nothing with the poller but mailboxes and the counters of struct torc_shared.
 *
 * A ring client's death is the end of its socket or of its process, whichever is seen first. When
 * descriptors run out, a connection is taken with one held back for that and closed at once, so
 * that it does not wait for ever and the listener does not spin; if even that fails, listening
 * pauses.
 *
 * Thread: one calls all of it, but for torc_control_stop().
 */
#ifndef TORC_TORCD_CONTROL_H
#define TORC_TORCD_CONTROL_H

#include "tools/torcd/log.h"
#include "tools/torcd/mailbox.h"
#include "tools/torcd/service.h"

struct torc_control;

struct torc_control_options {
    const struct torc_settings *settings; /* borrowed, as are the next two */
    struct torc_shared *shared;
    struct torc_log *log;
    bool takes_signals; /* SIGINT and SIGTERM stop it, SIGHUP and SIGPIPE are ignored */
};

/* Make listeners and everything else that can fail. -EINVAL, -EAGAIN, -ENOMEM, with a text in
 * `why`. Before threads are started: changes the umask for a moment, and the signal mask for good.
 */
int torc_control_create(const struct torc_control_options *options,
                        struct torc_control **out_control,
                        char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Close listeners (files of Unix sockets are removed) and free. NULL is fine. */
void torc_control_destroy(struct torc_control *control);

/* Where the poller sends its mail; may be used before torc_control_serve(). */
struct torc_mailbox *torc_control_inbox(struct torc_control *control);

/* Start accepting: clients go to the poller behind `poller`, with sessions of this epoch. */
void torc_control_serve(struct torc_control *control, struct torc_mailbox *poller, uint64_t epoch);

/* Wait for events, at most timeout_ms (-1: no limit), and handle them. True if any came. */
bool torc_control_step(struct torc_control *control, int timeout_ms);

/* A signal, or torc_control_stop(), has asked for the end. */
bool torc_control_wants_stop(const struct torc_control *control);

/* Ask for it; any thread, and signal handlers. */
void torc_control_stop(struct torc_control *control);

/* Let all clients go and have the poller stop: then step until torc_control_is_empty(). */
void torc_control_begin_stop(struct torc_control *control);

/* No session is with the poller any more. */
bool torc_control_is_empty(const struct torc_control *control);

#endif
