/* SPDX-License-Identifier: Apache-2.0
 *
 * Server: control thread, poller and data put together. main.c runs it as a process; tests run it
 * step by step in one thread.
 */
#ifndef TORC_TORCD_SERVER_H
#define TORC_TORCD_SERVER_H

#include "tools/torcd/log.h"
#include "tools/torcd/service.h"

struct torc_server;

struct torc_server_options {
    const struct torc_settings *settings; /* borrowed; checked with torc_settings_check() */
    struct torc_log *log;                 /* borrowed */
    const char *config_file;              /* for INFO; may be NULL */
    bool takes_signals;
};

/* Listen, make memory: all that can fail. The log gets what was got and what was not. -EINVAL,
 * -ENOMEM, -ENOSPC, -EAGAIN, with a text for a person in `why`. No thread runs yet. */
int torc_server_create(const struct torc_server_options *options, struct torc_server **out_server,
                       char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Start the poller's thread, call on_ready(arg) (may be NULL), and be the control thread until a
 * signal or torc_server_stop(); then stop cleanly. 0; -EAGAIN no thread. */
int torc_server_run(struct torc_server *server, void (*on_ready)(void *arg),
                    void *arg) TORC_MUST_USE;

/* Ask torc_server_run() to return. Any thread, and signal handlers. */
void torc_server_stop(struct torc_server *server);

/* Instead of run: one step of the control thread and one round of the poller, in this thread,
 * without waiting. True if something happened. */
bool torc_server_step(struct torc_server *server);

/* After run, or between steps. */
struct torc_service *torc_server_service(struct torc_server *server);

/* Let clients go, close and free. NULL is fine. */
void torc_server_destroy(struct torc_server *server);

#endif
