/* SPDX-License-Identifier: Apache-2.0
 *
 * Log: one line per event, as
 *   2026-11-30T18:36:01.123456Z notice control: session 17 attached pid=4711 name=quotes
 * to a file (appended) or to standard output. Values of keys and fields are never logged. At most
 * TORC_LOG_BURST lines a second are written; what is left out is counted in a line of its own, so
 * that no client can fill the disk.
 *
 * Thread: the control thread (and main before and after it). Never called by a poller.
 */
#ifndef TORC_TORCD_LOG_H
#define TORC_TORCD_LOG_H

#include "tools/torcd/settings.h"

#define TORC_LOG_BURST      200u
#define TORC_LOG_LINE_BYTES 1024u /* longer ones are cut */

struct torc_log {
    int fd; /* -1: nowhere */
    bool owns_fd;
    enum torc_log_level level;
    uint64_t second; /* the one that n_lines counts in */
    unsigned n_lines;
    unsigned n_left_out;
};

/* Open `path`, "" for standard output. -EINVAL: cannot be opened, with a text in `why`. */
int torc_log_open(struct torc_log *log, const char *path, enum torc_log_level level,
                  char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;
void torc_log_close(struct torc_log *log);

void torc_log(struct torc_log *log, enum torc_log_level level, const char *format, ...)
    TORC_PRINTF(3, 4);

/* The few lines of a server's own life (ready, stopping, stopped): never left out, whatever the
 * level and the second; what was left out before is told first. */
void torc_log_always(struct torc_log *log, const char *format, ...) TORC_PRINTF(2, 3);

#endif
