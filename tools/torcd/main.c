/* SPDX-License-Identifier: Apache-2.0
 *
 * torcd: the server as a program.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/torcd/arguments.h"
#include "tools/torcd/commands_page.h"
#include "tools/torcd/daemon.h"
#include "tools/torcd/output.h"
#include "tools/torcd/server.h"
#include "tools/torcd/settings_reference.h"

struct start {
    const struct torc_settings *settings;
    int daemon_fd; /* -1: in the foreground */
};

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

/* One argument that asks for a text instead of a server. */
static bool print_text(const char *argument)
{
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        torc_settings_print_help(stdout);
    } else if (strcmp(argument, "--version") == 0 || strcmp(argument, "-v") == 0) {
        (void)printf("torcd %s\n", TORC_VERSION);
    } else if (strcmp(argument, "--options-markdown") == 0) {
        torc_settings_print_markdown(stdout);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct torc_settings settings;
    char why[TORC_OPTION_ERROR_BYTES] = "";
    struct torc_arguments arguments;

    if (argc == 2 && print_text(argv[1])) {
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--commands-markdown") == 0) {
        return show_commands();
    }
    /* Buffers of long requests and replies go back when they are freed. By default glibc raises
     * this threshold with each such block that is freed, and keeps the next ones. */
    (void)mallopt(M_MMAP_THRESHOLD, (int)TORC_OUTPUT_BLOCK_BYTES);
    torc_settings_init(&settings);
    if (torc_arguments_parse(argc, argv, &arguments, why) != 0) {
        return fail(why);
    }
    if (arguments.checks_only) {
        bool good = torc_arguments_check(&arguments, argc, argv, &settings, stdout, stderr);
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (torc_arguments_apply(&arguments, argc, argv, &settings, why) != 0) {
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
    int rc = serve(&start, &log, arguments.config_file, why);
    if (rc != 0) {
        torc_log(&log, TORC_LOG_WARNING, "server: cannot start: %s", why);
    }
    torc_log_close(&log);
    return rc == 0 ? EXIT_SUCCESS : fail(why);
}
