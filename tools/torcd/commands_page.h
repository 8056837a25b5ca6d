/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference page of commands, docs/commands.md, made from the table of operations
 * (ring/ops.h): `torcd --commands-markdown`. A test compares the page with what this gives.
 */
#ifndef TORC_TORCD_COMMANDS_PAGE_H
#define TORC_TORCD_COMMANDS_PAGE_H

#include "tools/torcd/text.h"

/* Append the page. False: a command has no description, or there was no memory. */
bool torc_commands_page(struct torc_text *text) TORC_MUST_USE;

#endif
