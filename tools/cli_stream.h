/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes as a stream of RESP commands that makes them again: HSET, and where there are times
 * HPEXPIREAT and PEXPIREAT, which say when, not how long, so that the stream may wait.
 */
#ifndef TORC_TOOLS_CLI_STREAM_H
#define TORC_TOOLS_CLI_STREAM_H

#include <stdio.h>

#include "torc/torc.h"

#include "core/base.h"

/* Bounds of a command; a pair that is longer stands alone. */
#define TORC_CLI_STREAM_PAIRS_MAX 512
#define TORC_CLI_STREAM_BYTES_MAX 1048576

/* How many pairs of `hash`, fields and values in turns (TORC_MAP or TORC_CURSOR), go into one
 * command from item `at` on: 0 at the end, else 1 to TORC_CLI_STREAM_PAIRS_MAX. */
size_t torc_cli_stream_part(const struct torc_result *hash, size_t at);

/* Write n <= TORC_CLI_STREAM_PAIRS_MAX pairs from item `at` on as one HSET, then a HPEXPIREAT for
 * each time among them. times[i] is that of pair i in milliseconds since 1970, TORC_NO_TIME, or
 * TORC_ABSENT: the field has ended and is left out. Errors of `out` are left to ferror(). Number of
 * pairs written. */
size_t torc_cli_stream_pairs(FILE *out, struct torc_bytes key, const struct torc_result *hash,
                             size_t at, size_t n, const int64_t *times);

/* Write a PEXPIREAT. Errors as above. */
void torc_cli_stream_key_time(FILE *out, struct torc_bytes key, int64_t unix_ms);

#endif
