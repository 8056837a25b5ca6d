/* SPDX-License-Identifier: Apache-2.0
 *
 * --pipe: a stream of RESP commands, as redis-cli --pipe takes it, sent over the ring as a
 * pipeline.
 */
#ifndef TORC_TOOLS_CLI_PIPE_H
#define TORC_TOOLS_CLI_PIPE_H

#include "torc/torc.h"

#include "core/base.h"

/* Longest command, with all its words: as long as a session can be made to take. */
#define TORC_CLI_PIPE_COMMAND_MAX (1u << 30)

struct torc_cli_pipe_result {
    uint64_t replies; /* one for each command that was sent, or refused before that */
    uint64_t errors;  /* of them */
};

/* Send the commands that `fd` holds. Memory: a command of the stream, once here and once on its
 * way, and no command longer than `command_max` (at most TORC_CLI_PIPE_COMMAND_MAX). The first
 * error replies are said on standard error, with the byte offset of their command.
 *
 * True: the stream ended behind a whole command and every reply came, errors among them. False: the
 * stream is malformed or cannot be read, or the server is gone, which is said with the byte offset.
 * Commands in front of that have been sent, and *out_result counts the replies that came. */
bool torc_cli_pipe(struct torc *torc, int fd, size_t command_max,
                   struct torc_cli_pipe_result *out_result);

#endif
