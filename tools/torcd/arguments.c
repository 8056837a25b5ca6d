/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/arguments.h"

static bool is_check_flag(const char *argument)
{
    return strcmp(argument, "--check-config") == 0;
}

int torc_arguments_parse(int argc, char **argv, struct torc_arguments *out_arguments,
                         char why[TORC_OPTION_ERROR_BYTES])
{
    struct torc_arguments arguments = {0};
    bool has_flags = false;
    for (int i = 1; i < argc; i++) {
        if (is_check_flag(argv[i])) {
            arguments.checks_only = true;
        } else if (argv[i][0] != '-' && arguments.config_file == NULL && !has_flags) {
            arguments.config_file = argv[i];
        } else if (strncmp(argv[i], "--", 2) != 0) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "unexpected argument: %.100s", argv[i]);
            return -EINVAL;
        } else if (i + 1 == argc) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "%.100s needs a value", argv[i]);
            return -EINVAL;
        } else {
            has_flags = true;
            i++;
        }
    }
    *out_arguments = arguments;
    return 0;
}

/* Read all of it; the first problem stops unless `source` takes problems. */
static int read_all(const struct torc_arguments *arguments, int argc, char **argv,
                    struct torc_settings *settings, const struct torc_options_source *source,
                    char *why)
{
    const struct torc_option_table *options = torc_settings_options();
    int first = 0;
    if (arguments->config_file != NULL) {
        first = torc_options_load(options, settings, arguments->config_file, source, why);
    }
    for (int i = 1; i < argc && (first == 0 || source->problem != NULL); i++) {
        if (is_check_flag(argv[i]) || argv[i] == arguments->config_file) {
            continue;
        }
        char text[TORC_OPTION_ERROR_BYTES];
        int rc = torc_options_set(options, settings, argv[i] + 2, argv[i + 1], text);
        i++; /* the value */
        if (rc != 0 && source->problem != NULL) {
            source->problem(source->arg, text);
        }
        if (rc != 0 && first == 0) {
            first = -EINVAL;
            memcpy(why, text, sizeof text);
        }
    }
    if (first != 0 && source->problem == NULL) {
        return first;
    }
    char text[TORC_OPTION_ERROR_BYTES];
    int rc = torc_settings_check_all(settings, source->problem, source->arg, text);
    if (rc != 0 && first == 0) {
        first = rc;
        memcpy(why, text, sizeof text);
    }
    return first;
}

int torc_arguments_apply(const struct torc_arguments *arguments, int argc, char **argv,
                         struct torc_settings *settings, char why[TORC_OPTION_ERROR_BYTES])
{
    static const struct torc_options_source source = {.load = torc_options_load_from_disk};
    return read_all(arguments, argc, argv, settings, &source, why);
}

static void print_problem(void *arg, const char *text)
{
    (void)fprintf(arg, "%s\n", text);
}

bool torc_arguments_check(const struct torc_arguments *arguments, int argc, char **argv,
                          struct torc_settings *settings, FILE *out, FILE *errors)
{
    const struct torc_options_source source = {
        .load = torc_options_load_from_disk, .problem = print_problem, .arg = errors};
    char why[TORC_OPTION_ERROR_BYTES];
    if (read_all(arguments, argc, argv, settings, &source, why) != 0) {
        return false;
    }
    (void)fprintf(out, "%s: ok\n",
                  arguments->config_file != NULL ? arguments->config_file : "command line");
    return true;
}
