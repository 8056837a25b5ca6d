/* SPDX-License-Identifier: Apache-2.0
 *
 * The interactive prompt: line editing, history, completion of command names, and at the right edge
 * the arguments that the command still takes. Needs a terminal on standard input and output.
 */
#ifndef TORC_TOOLS_CLI_PROMPT_H
#define TORC_TOOLS_CLI_PROMPT_H

#include "tools/cli_run.h"

/* Read and run lines until quit, exit or the end of input. Attaches again when the server went away
 * and came back. False: there can be no prompt; said so. */
bool torc_cli_prompt(struct torc_cli *cli);

#endif
