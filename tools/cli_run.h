/* SPDX-License-Identifier: Apache-2.0
 *
 * Run a command and print its reply, for arguments, scripts and the prompt alike.
 */
#ifndef TORC_TOOLS_CLI_RUN_H
#define TORC_TOOLS_CLI_RUN_H

#include "torc/torc.h"

#include "core/base.h"

struct torc_cli {
    struct torc *torc; /* borrowed */
    bool raw;          /* print replies for programs */
};

enum torc_cli_outcome {
    TORC_CLI_GOOD,
    TORC_CLI_FAILED, /* answered with an error, refused, or timed out; said so */
    TORC_CLI_LOST,   /* the server is gone; said so */
};

/* A line on standard error, behind what standard output holds. */
void torc_cli_complain(const char *format, ...) TORC_PRINTF(1, 2);

/* Run a command, its reply to standard output. */
enum torc_cli_outcome torc_cli_run(struct torc_cli *cli, const struct torc_bytes *words,
                                   size_t n_words);

/* Run each line of standard input, up to quit, exit or the loss of the server: a script cannot know
 * what it missed. True: all were good. */
bool torc_cli_run_script(struct torc_cli *cli);

#endif
