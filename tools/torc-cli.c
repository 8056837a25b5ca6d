/* SPDX-License-Identifier: Apache-2.0
 *
 * torc-cli: commands by hand or from scripts, over the ring. Speaks as redis-cli does.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "tools/cli_line.h"
#include "tools/cli_print.h"

/* Read by argp inside libc. */
__attribute__((visibility("default"))) const char *argp_program_version = "torc-cli " TORC_VERSION;

enum { OPTION_RAW = 1000, OPTION_NO_RAW };

static const struct argp_option option_table[] = {
    {"control-socket", 'c', "PATH", 0,
     "Control socket of the server (default: $TORC_SOCKET, else /run/torc/torc.sock, else "
     "$XDG_RUNTIME_DIR/torc.sock)",
     0},
    {"database", 'n', "NUMBER", 0, "Database (default: 0)", 0},
    {"timeout", 't', "SECONDS", 0, "Longest time to wait for a reply (default: 5)", 0},
    {"stdin", 'x', NULL, 0, "Take the last argument from standard input", 0},
    {"raw", OPTION_RAW, NULL, 0, "Print replies raw (default when standard output is no terminal)",
     0},
    {"no-raw", OPTION_NO_RAW, NULL, 0, "Print replies for a person (default on a terminal)", 0},
    {0},
};

struct settings {
    struct torc_options torc;
    bool raw;
    bool takes_stdin;
    char **command;
    size_t n_command;
};

static uint32_t parse_database(const char *text, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > UINT32_MAX) {
        argp_error(state, "not the number of a database: %s", text);
    }
    return (uint32_t)value;
}

static uint64_t parse_timeout_ns(const char *text, struct argp_state *state)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || !(seconds < 1e9)) {
        argp_error(state, "not a number of seconds: %s", text);
    }
    return (uint64_t)(seconds * 1e9);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'c':
        settings->torc.socket = argument;
        return 0;
    case 'n':
        settings->torc.database = parse_database(argument, state);
        return 0;
    case 't':
        settings->torc.deadline_ns = parse_timeout_ns(argument, state);
        return 0;
    case 'x':
        settings->takes_stdin = true;
        return 0;
    case OPTION_RAW:
        settings->raw = true;
        return 0;
    case OPTION_NO_RAW:
        settings->raw = false;
        return 0;
    case ARGP_KEY_ARG:
        /* From here on all is the command, also what looks like an option. */
        settings->command = &state->argv[state->next - 1];
        settings->n_command = (size_t)state->argc - (size_t)state->next + 1;
        state->next = state->argc;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "[COMMAND [ARGUMENT...]]",
    .doc = "Run one command on a torc server of this host, over its ring.\v"
           "Without a command, each line of standard input is one, with quotes as in redis-cli. "
           "Exit status: 0, or 1 when a command was answered with an error or the server could "
           "not be reached.",
};

/* Did the server answer, or the library in its place, with an error of the command? */
static bool is_answer(int error)
{
    return error == TORC_EINVAL || error == TORC_EWRONGTYPE || error == TORC_EOOM ||
           error == TORC_EREPLY || error == TORC_EMSGSIZE;
}

static void complain(const char *text)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "torc-cli: %s\n", text);
}

enum outcome { GOOD, FAILED, LOST /* the server */ };

/* Run a command and print its reply. */
static enum outcome run(struct torc *torc, const struct settings *settings,
                        const struct torc_bytes *words, size_t n_words)
{
    struct torc_result result;
    int rc = torc_command(torc, words, n_words, &result);
    if (rc == TORC_OK) {
        torc_cli_print(stdout, &result, settings->raw || torc_cli_is_prose(words, n_words));
        return GOOD;
    }
    if (is_answer(rc)) {
        torc_cli_print_error(stdout, torc_error_text(torc), settings->raw);
        return FAILED;
    }
    complain(torc_error_text(torc));
    return rc == TORC_EPIPE || rc == TORC_EBADMSG ? LOST : FAILED;
}

/* All of standard input; the caller frees it. NULL: an error was reported. */
static char *read_stdin(size_t *out_len)
{
    size_t len = 0;
    size_t cap = 4096;
    char *bytes = malloc(cap);
    while (bytes != NULL) {
        len += fread(bytes + len, 1, cap - len, stdin);
        if (len < cap) {
            break;
        }
        cap *= 2;
        char *more = realloc(bytes, cap);
        if (more == NULL) {
            free(bytes);
        }
        bytes = more;
    }
    if (bytes == NULL || ferror(stdin) != 0) {
        complain(bytes == NULL ? "out of memory" : "cannot read standard input");
        free(bytes);
        return NULL;
    }
    *out_len = len;
    return bytes;
}

static bool run_arguments(struct torc *torc, const struct settings *settings)
{
    struct torc_bytes *words = malloc((settings->n_command + 1) * sizeof *words);
    if (words == NULL) {
        complain("out of memory");
        return false;
    }
    size_t n = 0;
    for (; n < settings->n_command; n++) {
        words[n] = torc_str(settings->command[n]);
    }
    char *last = NULL;
    bool good = true;
    if (settings->takes_stdin) {
        size_t len = 0;
        last = read_stdin(&len);
        good = last != NULL;
        words[n++] = torc_mem(last, len);
    }
    good = good && run(torc, settings, words, n) == GOOD;
    free(last);
    free(words);
    return good;
}

static bool is_goodbye(const struct torc_cli_line *line)
{
    static const char *const words[] = {"quit", "exit"};
    for (size_t i = 0; i < 2; i++) {
        if (line->n_words == 1 && line->words[0].len == 4 &&
            strncasecmp(line->words[0].data, words[i], 4) == 0) {
            return true;
        }
    }
    return false;
}

/* Run one line; *out_ends if it says so. */
static enum outcome run_line(struct torc *torc, const struct settings *settings, const char *text,
                             size_t len, bool *out_ends)
{
    struct torc_cli_line line;
    int rc = torc_cli_line_split(text, len, &line);
    if (rc != 0) {
        complain(rc == -EINVAL ? "quotes do not match" : "out of memory");
        return FAILED;
    }
    enum outcome outcome = GOOD;
    *out_ends = is_goodbye(&line);
    if (!*out_ends && line.n_words > 0) {
        outcome = run(torc, settings, line.words, line.n_words);
    }
    torc_cli_line_free(&line);
    return outcome;
}

/* Each line of standard input. False if any command failed. */
static bool run_lines(struct torc *torc, const struct settings *settings)
{
    bool prompts = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    bool all_good = true;
    bool ends = false;
    char *text = NULL;
    size_t cap = 0;
    while (!ends) {
        if (prompts) {
            (void)fputs("torc> ", stdout);
        }
        (void)fflush(stdout);
        ssize_t len = getline(&text, &cap, stdin);
        if (len < 0) {
            break;
        }
        enum outcome outcome = run_line(torc, settings, text, (size_t)len, &ends);
        all_good &= outcome == GOOD;
        if (outcome == LOST) {
            /* A person may go on with the next server; a script cannot know what it missed. */
            ends = !prompts || torc_reattach(torc) != TORC_OK;
            if (ends && prompts) {
                complain(torc_error_text(torc));
            }
        }
    }
    free(text);
    return all_good;
}

int main(int argc, char **argv)
{
    struct settings settings = {.torc = {.name = "torc-cli"}, .raw = !isatty(STDOUT_FILENO)};
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &settings);
    if (settings.takes_stdin && settings.n_command == 0) {
        complain("-x needs a command");
        return EXIT_FAILURE;
    }
    struct torc *torc;
    const char *why;
    if (torc_open(&settings.torc, &torc, &why) != TORC_OK) {
        complain(why);
        return EXIT_FAILURE;
    }
    bool good =
        settings.n_command > 0 ? run_arguments(torc, &settings) : run_lines(torc, &settings);
    torc_close(torc);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        complain("cannot write standard output");
        return EXIT_FAILURE;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
