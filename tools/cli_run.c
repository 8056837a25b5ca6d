/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/cli_line.h"
#include "tools/cli_print.h"

void torc_cli_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fflush(stdout);
    (void)fputs("torc-cli: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)putc('\n', stderr);
    va_end(args);
}

/* Did the server answer, or the library in its place, with an error of the command? */
static bool is_answer(int error)
{
    return error == TORC_EINVAL || error == TORC_EWRONGTYPE || error == TORC_EOOM ||
           error == TORC_EREPLY || error == TORC_EMSGSIZE;
}

enum torc_cli_outcome torc_cli_run(struct torc_cli *cli, const struct torc_bytes *words,
                                   size_t n_words)
{
    struct torc_result result;
    int rc = torc_command(cli->torc, words, n_words, &result);
    if (rc == TORC_OK) {
        bool raw = cli->raw || torc_cli_is_prose(words, n_words);
        if (!raw && torc_cli_has_numbers(words, n_words)) {
            torc_cli_print_numbers(stdout, &result);
        } else {
            torc_cli_print(stdout, &result, raw);
        }
        return TORC_CLI_GOOD;
    }
    if (is_answer(rc)) {
        torc_cli_print_error(stdout, torc_error_text(cli->torc), cli->raw);
        return TORC_CLI_FAILED;
    }
    torc_cli_complain("%s", torc_error_text(cli->torc));
    return rc == TORC_EPIPE || rc == TORC_EBADMSG ? TORC_CLI_LOST : TORC_CLI_FAILED;
}

/* Run a line of text; an empty one is good. *out_ends: it was quit or exit, and was not sent. */
static enum torc_cli_outcome run_line(struct torc_cli *cli, const char *text, size_t len,
                                      bool *out_ends)
{
    struct torc_cli_line line;
    int rc = torc_cli_line_split(text, len, &line);
    if (rc != 0) {
        torc_cli_complain("%s", rc == -EINVAL ? "quotes do not match" : "out of memory");
        return TORC_CLI_FAILED;
    }
    enum torc_cli_outcome outcome = TORC_CLI_GOOD;
    *out_ends = line.n_words == 1 &&
                (torc_cli_line_says(&line, "quit") || torc_cli_line_says(&line, "exit"));
    if (!*out_ends && line.n_words > 0) {
        outcome = torc_cli_run(cli, line.words, line.n_words);
    }
    torc_cli_line_free(&line);
    return outcome;
}

bool torc_cli_run_script(struct torc_cli *cli)
{
    bool all_good = true;
    bool ends = false;
    char *text = NULL;
    size_t cap = 0;
    while (!ends) {
        (void)fflush(stdout);
        ssize_t len = getline(&text, &cap, stdin);
        if (len < 0) {
            break;
        }
        enum torc_cli_outcome outcome = run_line(cli, text, (size_t)len, &ends);
        all_good &= outcome == TORC_CLI_GOOD;
        ends |= outcome == TORC_CLI_LOST;
    }
    free(text);
    return all_good;
}
