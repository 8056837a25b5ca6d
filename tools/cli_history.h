/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of lines that were typed, the oldest first. Only its owner can read it. Lines are
 * appended as they are typed, so that several prompts can share it and none loses what it was told
 * when it is killed; at start it is cut to its newest lines.
 */
#ifndef TORC_TOOLS_CLI_HISTORY_H
#define TORC_TOOLS_CLI_HISTORY_H

#include "core/base.h"

#define TORC_CLI_HISTORY_LINES      1000    /* kept when the file is opened */
#define TORC_CLI_HISTORY_LINE_BYTES 4096    /* longer lines are not kept */
#define TORC_CLI_HISTORY_FILE_BYTES 1048576 /* read of a file, from its end */

struct torc_cli_history {
    int fd; /* -1: off */
};

/* Where the file is: $TORC_HISTORY, else ~/.torc_history. From malloc(). NULL: there is to be none,
 * TORC_HISTORY being empty or HOME not set; or no memory. */
char *torc_cli_history_path(void) TORC_MUST_USE;

/* Open the file, make it when it is not there, mode 0600. Calls `each` with every line that it
 * holds, the oldest first. A negative errno of the file, and history is off; other calls are fine
 * then. Off, with 0: `path` is NULL, or no regular file (/dev/null). */
int torc_cli_history_open(struct torc_cli_history *history, const char *path,
                          void (*each)(void *arg, const char *line), void *arg);

/* Append a line, which holds no line end. What cannot be written is dropped. */
void torc_cli_history_add(struct torc_cli_history *history, const char *line);

void torc_cli_history_close(struct torc_cli_history *history);

#endif
