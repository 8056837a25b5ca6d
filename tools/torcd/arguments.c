/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/arguments.h"

#include <stdlib.h>

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

/* Where an option was set last. */
struct place {
    char path[TORC_OPTION_ERROR_BYTES / 2];
    size_t line; /* 0: in no file */
};

/* Who hears of settings and of problems. */
struct listener {
    FILE *errors; /* NULL: the first problem stops */
    struct place *places;
};

static size_t number_of(const char *name)
{
    const struct torc_option_table *options = torc_settings_options();
    const struct torc_option *option = torc_options_find(options, name);
    return option != NULL ? (size_t)(option - options->table) : SIZE_MAX;
}

static void note_place(void *arg, const char *name, const char *path, size_t line)
{
    struct listener *listener = arg;
    struct place *place = &listener->places[number_of(name)];
    (void)snprintf(place->path, sizeof place->path, "%s", path);
    place->line = line;
}

/* A problem of several settings together begins with the name of one: put its place in front. */
static void locate(const struct listener *listener, const char *text,
                   char out[TORC_OPTION_ERROR_BYTES])
{
    char name[64];
    size_t len = torc_min_u64(strcspn(text, " "), sizeof name - 1);
    memcpy(name, text, len);
    name[len] = '\0';
    size_t number = number_of(name);
    if (number != SIZE_MAX && listener->places[number].line != 0) {
        const struct place *place = &listener->places[number];
        (void)snprintf(out, TORC_OPTION_ERROR_BYTES, "%s:%zu: %s", place->path, place->line, text);
    } else {
        (void)snprintf(out, TORC_OPTION_ERROR_BYTES, "%s", text);
    }
}

static void print_problem(void *arg, const char *text)
{
    const struct listener *listener = arg;
    (void)fprintf(listener->errors, "%s\n", text);
}

static void print_located(void *arg, const char *text)
{
    char located[TORC_OPTION_ERROR_BYTES];
    locate(arg, text, located);
    print_problem(arg, located);
}

/* Read all of it; the first problem stops unless `source` takes problems. */
static int read_with(const struct torc_arguments *arguments, int argc, char **argv,
                     struct torc_settings *settings, const struct torc_options_source *source,
                     char *why)
{
    const struct torc_option_table *options = torc_settings_options();
    struct listener *listener = source->arg;
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
        size_t number = number_of(argv[i] + 2);
        if (rc == 0 && number != SIZE_MAX) {
            listener->places[number].line = 0;
        }
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
    int rc = torc_settings_check_all(settings, source->problem != NULL ? print_located : NULL,
                                     listener, text);
    if (rc != 0 && first == 0) {
        first = rc;
        locate(listener, text, why);
    }
    return first;
}

static int read_all(const struct torc_arguments *arguments, int argc, char **argv,
                    struct torc_settings *settings, FILE *errors, char *why)
{
    struct listener listener = {.errors = errors,
                                .places = calloc(torc_settings_options()->n, sizeof(struct place))};
    if (listener.places == NULL) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "no memory to read the settings");
        return -ENOMEM;
    }
    const struct torc_options_source source = {.load = torc_options_load_from_disk,
                                               .problem = errors != NULL ? print_problem : NULL,
                                               .taken = note_place,
                                               .arg = &listener};
    int rc = read_with(arguments, argc, argv, settings, &source, why);
    free(listener.places);
    return rc;
}

int torc_arguments_apply(const struct torc_arguments *arguments, int argc, char **argv,
                         struct torc_settings *settings, char why[TORC_OPTION_ERROR_BYTES])
{
    return read_all(arguments, argc, argv, settings, NULL, why);
}

bool torc_arguments_check(const struct torc_arguments *arguments, int argc, char **argv,
                          struct torc_settings *settings, FILE *out, FILE *errors)
{
    char why[TORC_OPTION_ERROR_BYTES];
    if (read_all(arguments, argc, argv, settings, errors, why) != 0) {
        return false;
    }
    (void)fprintf(out, "%s: ok\n",
                  arguments->config_file != NULL ? arguments->config_file : "command line");
    return true;
}
