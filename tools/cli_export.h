/* SPDX-License-Identifier: Apache-2.0
 *
 * --export: all hashes as a stream of RESP commands (tools/cli_stream.h), for torc-cli --pipe and
 * redis-cli --pipe.
 */
#ifndef TORC_TOOLS_CLI_EXPORT_H
#define TORC_TOOLS_CLI_EXPORT_H

#include <stdio.h>

#include "torc/torc.h"

#include "core/base.h"

/* Write every hash of the session's database, with the times of keys and fields. A hash comes as it
 * is at one moment, unless it is too long for one reply, and its times as they are a moment later:
 * what has ended by then is left out. Different hashes may come as they are at different moments,
 * and one that is made meanwhile may be left out. Memory: one page of keys and the replies of some
 * hashes. Shows a
 * progress bar when standard error is a terminal. False: what is written is not complete; said
 * why. */
bool torc_cli_export(struct torc *torc, FILE *out);

#endif
