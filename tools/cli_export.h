/* SPDX-License-Identifier: Apache-2.0
 *
 * --export: all hashes as a stream of RESP commands that makes them again, for torc-cli --pipe and
 * redis-cli --pipe.
 */
#ifndef TORC_TOOLS_CLI_EXPORT_H
#define TORC_TOOLS_CLI_EXPORT_H

#include <stdio.h>

#include "torc/torc.h"

#include "core/base.h"

/* Bounds of a command; a pair that is longer stands alone. */
#define TORC_CLI_EXPORT_PAIRS_MAX 512
#define TORC_CLI_EXPORT_BYTES_MAX 1048576

/* Write the hash `key` as HSET commands. `result` holds fields and values in turns (TORC_MAP or
 * TORC_CURSOR). Errors of `out` are left to ferror(). */
void torc_cli_export_hash(FILE *out, struct torc_bytes key, const struct torc_result *result);

/* Write every hash of the session's database. A hash comes as it is at one moment, unless it is too
 * long for one reply; different hashes may come as they are at different moments, and one that is
 * made meanwhile may be left out. Memory: one page of keys and the replies of some hashes. Shows a
 * progress bar when standard error is a terminal. False: what is written is not complete; said
 * why. */
bool torc_cli_export(struct torc *torc, FILE *out);

#endif
