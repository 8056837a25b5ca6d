/* SPDX-License-Identifier: Apache-2.0
 *
 * torc-cli: commands by hand or from scripts, over the ring. Speaks as redis-cli does.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cli_export.h"
#include "tools/cli_pipe.h"
#include "tools/cli_prompt.h"
#include "tools/cli_run.h"

/* Read by argp inside libc. */
__attribute__((visibility("default"))) const char *argp_program_version = "torc-cli " TORC_VERSION;

enum { OPTION_RAW = 1000, OPTION_NO_RAW, OPTION_PIPE, OPTION_EXPORT };

static const struct argp_option option_table[] = {
    {"control-socket", 'c', "PATH", 0,
     "Control socket of the server (default: $TORC_SOCKET, else /run/torc/torc.sock, else "
     "$XDG_RUNTIME_DIR/torc.sock)",
     0},
    {"database", 'n', "NUMBER", 0, "Database (default: 0)", 0},
    {"timeout", 't', "SECONDS", 0, "Longest time to wait for a reply (default: 5)", 0},
    {"stdin", 'x', NULL, 0, "Take the last argument from standard input", 0},
    {"pipe", OPTION_PIPE, NULL, 0,
     "Send a stream of RESP commands from standard input, as redis-cli --pipe does", 0},
    {"export", OPTION_EXPORT, NULL, 0,
     "Write all hashes to standard output, as a stream for --pipe", 0},
    {"raw", OPTION_RAW, NULL, 0, "Print replies raw (default when standard output is no terminal)",
     0},
    {"no-raw", OPTION_NO_RAW, NULL, 0, "Print replies for a person (default on a terminal)", 0},
    {0},
};

struct settings {
    struct torc_options torc;
    bool raw;
    bool takes_stdin;
    bool pipes, exports;
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
    case OPTION_PIPE:
        settings->pipes = true;
        return 0;
    case OPTION_EXPORT:
        settings->exports = true;
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
           "Without a command, each line of standard input is one, with quotes as in redis-cli; "
           "on a terminal there is a prompt, whose lines are kept in $TORC_HISTORY, else in "
           "~/.torc_history. "
           "Exit status: 0, or 1 when a command was answered with an error or the server could "
           "not be reached.",
};

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
        torc_cli_complain("%s", bytes == NULL ? "out of memory" : "cannot read standard input");
        free(bytes);
        return NULL;
    }
    *out_len = len;
    return bytes;
}

static bool run_arguments(struct torc_cli *cli, const struct settings *settings)
{
    struct torc_bytes *words = malloc((settings->n_command + 1) * sizeof *words);
    if (words == NULL) {
        torc_cli_complain("out of memory");
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
    good = good && torc_cli_run(cli, words, n) == TORC_CLI_GOOD;
    free(last);
    free(words);
    return good;
}

static bool run_pipe(struct torc *torc)
{
    struct torc_cli_pipe_result result;
    bool good = torc_cli_pipe(torc, STDIN_FILENO, TORC_CLI_PIPE_COMMAND_MAX, &result);
    (void)printf("errors: %" PRIu64 ", replies: %" PRIu64 "\n", result.errors, result.replies);
    return good && result.errors == 0;
}

static bool run(struct torc *torc, const struct settings *settings)
{
    struct torc_cli cli = {.torc = torc, .raw = settings->raw};
    if (settings->pipes) {
        return run_pipe(torc);
    }
    if (settings->exports) {
        return torc_cli_export(torc, stdout);
    }
    if (settings->n_command > 0) {
        return run_arguments(&cli, settings);
    }
    bool has_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    return has_terminal ? torc_cli_prompt(&cli) : torc_cli_run_script(&cli);
}

/* What does not go together; NULL: it is fine. */
static const char *find_conflict(const struct settings *settings)
{
    if (settings->pipes && settings->exports) {
        return "--pipe and --export do not go together";
    }
    if ((settings->pipes || settings->exports) &&
        (settings->n_command > 0 || settings->takes_stdin)) {
        return "--pipe and --export take no command";
    }
    return settings->takes_stdin && settings->n_command == 0 ? "-x needs a command" : NULL;
}

int main(int argc, char **argv)
{
    struct settings settings = {.torc = {.name = "torc-cli"}, .raw = !isatty(STDOUT_FILENO)};
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &settings);
    const char *why = find_conflict(&settings);
    if (why != NULL) {
        torc_cli_complain("%s", why);
        return EXIT_FAILURE;
    }
    /* A reader that goes away is an error to report, not a reason to vanish. */
    (void)signal(SIGPIPE, SIG_IGN);
    struct torc *torc;
    if (torc_open(&settings.torc, &torc, &why) != TORC_OK) {
        torc_cli_complain("%s", why);
        return EXIT_FAILURE;
    }
    bool good = run(torc, &settings);
    torc_close(torc);
    if (good && (fflush(stdout) != 0 || ferror(stdout) != 0)) {
        torc_cli_complain("cannot write standard output");
        good = false;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
