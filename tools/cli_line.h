/* SPDX-License-Identifier: Apache-2.0
 *
 * A line of text to the words of a command, with quotes as in redis-cli:
 *   "..."  may hold \n \r \t \b \a, \xHH for any byte, and a backslash before any other character
 *   '...'  is verbatim but for \'
 * A closing quote ends its word: a blank or the end of the line must follow.
 */
#ifndef TORC_TOOLS_CLI_LINE_H
#define TORC_TOOLS_CLI_LINE_H

#include "torc/torc.h"

#include "core/base.h"

struct torc_cli_line {
    struct torc_bytes *words; /* into `bytes` */
    size_t n_words;
    char *bytes;
};

/* Split `len` bytes. 0, and torc_cli_line_free() is due, also for a line without words; -EINVAL
 * quotes do not match; -ENOMEM. O(len). */
int torc_cli_line_split(const char *text, size_t len, struct torc_cli_line *out_line) TORC_MUST_USE;
void torc_cli_line_free(struct torc_cli_line *line);

/* Is `command`, a word in lower case, the first word of the line, in any case? */
bool torc_cli_line_says(const struct torc_cli_line *line, const char *command);

#endif
