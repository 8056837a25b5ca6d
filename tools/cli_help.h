/* SPDX-License-Identifier: Apache-2.0
 *
 * What the prompt knows of commands: how a name goes on, and which arguments follow. All of it
 * comes from the table of operations, so a new one needs nothing here.
 */
#ifndef TORC_TOOLS_CLI_HELP_H
#define TORC_TOOLS_CLI_HELP_H

#include <stdio.h>

#include "ring/ops.h"

#define TORC_CLI_NAMES_MAX  (TORC_OP_LIMIT + 3) /* the table's, and help, quit, exit */
#define TORC_CLI_HINT_BYTES 256

/* The ways a word can go on. */
struct torc_cli_completion {
    size_t n;                              /* 0: none is known */
    const char *names[TORC_CLI_NAMES_MAX]; /* lower case, sorted, no two alike; static */
    size_t name_len[TORC_CLI_NAMES_MAX];   /* a name may be the start of its string */
    size_t word_len;                       /* bytes of the word that stand there already */
    size_t common; /* bytes that all of the names start with, at least word_len */
};

/* Names that fit the word at the end of line[0, len): a command, the second word of one such as
 * MEMORY USAGE, or what can follow `help`. */
void torc_cli_complete(const char *line, size_t len, struct torc_cli_completion *out_completion);

/* Arguments of an op for a person: "key field value [field value ...]"; "" when there are none. */
void torc_cli_arguments(enum torc_op op, char out[TORC_CLI_HINT_BYTES]);

/* The arguments that the command in line[0, len) still takes; "" while its name is being typed, or
 * when it is not known. */
void torc_cli_hint(const char *line, size_t len, char out[TORC_CLI_HINT_BYTES]);

/* All commands with their arguments, or those that start with `word` (len 0: all). False: none. */
bool torc_cli_print_help(FILE *out, const char *word, size_t len);

#endif
