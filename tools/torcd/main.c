/* SPDX-License-Identifier: Apache-2.0
 *
 * torcd: the server as a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/torcd/commands_page.h"
#include "tools/torcd/daemon.h"
#include "tools/torcd/server.h"

struct start {
    const struct torc_settings *settings;
    int daemon_fd; /* -1: in the foreground */
};

static void show_help(void)
{
    const struct torc_option_table *options = torc_settings_options();
    (void)printf("usage: torcd [CONFIG-FILE] [--name value ...]\n"
                 "       torcd --help | --version\n\n"
                 "Serves hashes to processes of this host over shared-memory rings, and to Redis\n"
                 "clients. A config file has lines of `name value`; an option behind it wins.\n\n"
                 "options (default):\n");
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        if (option->alias_of != NULL) {
            (void)printf("  --%s\n        the same as --%s\n", option->name, option->alias_of);
            continue;
        }
        (void)printf("  --%s", option->name);
        for (size_t w = 0; option->words != NULL && option->words[w] != NULL; w++) {
            (void)printf("%s%s", w == 0 ? " " : "|", option->words[w]);
        }
        (void)printf(" (%s)\n        %s\n", option->initial[0] != '\0' ? option->initial : "\"\"",
                     option->help);
    }
}

/* For the maintainer of docs/commands.md: not in the help. */
static int show_commands(void)
{
    struct torc_text text = {0};
    bool is_complete = torc_commands_page(&text);
    struct torc_slice page = torc_text_slice(&text);
    (void)fwrite(page.data, 1, page.len, stdout);
    torc_text_fini(&text);
    return is_complete ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Read the command line into the settings. Returns the config file's name or NULL in
 * *out_config_file; -EINVAL with a text in `why`. */
static int read_arguments(int argc, char **argv, struct torc_settings *settings,
                          const char **out_config_file, char why[TORC_OPTION_ERROR_BYTES])
{
    const struct torc_option_table *options = torc_settings_options();
    int i = 1;
    *out_config_file = NULL;
    if (argc > 1 && argv[1][0] != '-') {
        *out_config_file = argv[1];
        if (torc_options_read(options, settings, argv[1], why) != 0) {
            return -EINVAL;
        }
        i = 2;
    }
    for (; i < argc; i += 2) {
        if (strncmp(argv[i], "--", 2) != 0) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "unexpected argument: %.100s", argv[i]);
            return -EINVAL;
        }
        if (i + 1 == argc) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "%.100s needs a value", argv[i]);
            return -EINVAL;
        }
        if (torc_options_set(options, settings, argv[i] + 2, argv[i + 1], why) != 0) {
            return -EINVAL;
        }
    }
    return torc_settings_check(settings, why);
}

static void on_ready(void *arg)
{
    const struct start *start = arg;
    torc_daemon_notify("READY=1\nSTATUS=serving");
    if (start->daemon_fd >= 0) {
        torc_daemon_ready(start->daemon_fd);
    }
}

static int serve(struct start *start, struct torc_log *log, const char *config_file,
                 char why[TORC_OPTION_ERROR_BYTES])
{
    const struct torc_settings *settings = start->settings;
    struct torc_server_options options = {
        .settings = settings,
        .log = log,
        .config_file = config_file,
        .takes_signals = true,
    };
    struct torc_server *server;
    int rc = torc_server_create(&options, &server, why);
    if (rc != 0) {
        return rc;
    }
    if (settings->pidfile[0] != '\0') {
        rc = torc_daemon_write_pid(settings->pidfile, why);
    }
    if (rc == 0) {
        rc = torc_server_run(server, on_ready, start);
        torc_daemon_notify("STOPPING=1");
        if (rc != 0) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "cannot start a thread");
        }
        if (settings->pidfile[0] != '\0') {
            (void)unlink(settings->pidfile);
        }
    }
    torc_server_destroy(server);
    return rc;
}

static int fail(const char *why)
{
    (void)fprintf(stderr, "torcd: %s\n", why);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct torc_settings settings;
    char why[TORC_OPTION_ERROR_BYTES] = "";
    const char *config_file;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        show_help();
        return EXIT_SUCCESS;
    }
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0)) {
        (void)printf("torcd %s\n", TORC_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--commands-markdown") == 0) {
        return show_commands();
    }
    torc_settings_init(&settings);
    if (read_arguments(argc, argv, &settings, &config_file, why) != 0) {
        return fail(why);
    }
    struct start start = {.settings = &settings, .daemon_fd = -1};
    if (settings.daemonize && torc_daemon_detach(&start.daemon_fd) != 0) {
        return fail("cannot go to the background");
    }
    struct torc_log log;
    if (torc_log_open(&log, settings.logfile, (enum torc_log_level)settings.loglevel, why) != 0) {
        return fail(why);
    }
    int rc = serve(&start, &log, config_file, why);
    if (rc != 0) {
        torc_log(&log, TORC_LOG_WARNING, "server: cannot start: %s", why);
    }
    torc_log_close(&log);
    return rc == 0 ? EXIT_SUCCESS : fail(why);
}
