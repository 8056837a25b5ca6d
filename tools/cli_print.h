/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies as redis-cli prints them: for a person (numbered, quoted, typed) or raw, for a program.
 */
#ifndef TORC_TOOLS_CLI_PRINT_H
#define TORC_TOOLS_CLI_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "torc/torc.h"

/* A whole reply and a line end. Errors of `out` are left to ferror(). */
void torc_cli_print(FILE *out, const struct torc_result *result, bool raw);

/* The same for a person where the items of an array are numbers, which travel as text. */
void torc_cli_print_numbers(FILE *out, const struct torc_result *result);

/* An error reply, or a command that was refused before it was sent. */
void torc_cli_print_error(FILE *out, const char *text, bool raw);

/* Is the reply of this command a text for people, printed as it is even for a person? */
bool torc_cli_is_prose(const struct torc_bytes *words, size_t n_words);

/* Are the items of this command's reply numbers? */
bool torc_cli_has_numbers(const struct torc_bytes *words, size_t n_words);

#endif
