/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of torcd: [CONFIG-FILE] [--name value ...] [--check-config]. Flags win over the
 * file.
 */
#ifndef TORC_TORCD_ARGUMENTS_H
#define TORC_TORCD_ARGUMENTS_H

#include <stdio.h>

#include "tools/torcd/settings.h"

struct torc_arguments {
    const char *config_file; /* into argv; NULL none */
    bool checks_only;        /* --check-config */
};

/* See what is asked for; no file is read and no value is looked at. 0; -EINVAL with a text for a
 * person. */
int torc_arguments_parse(int argc, char **argv, struct torc_arguments *out_arguments,
                         char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Read the config file and the flags into settings that torc_settings_init() filled, and check
 * them. `argv` has passed torc_arguments_parse(). 0; -EINVAL, -ENOENT, -ENOMEM with the first
 * problem in `why`, and settings that are worth nothing. */
int torc_arguments_apply(const struct torc_arguments *arguments, int argc, char **argv,
                         struct torc_settings *settings,
                         char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* The same for --check-config: goes on after a problem, prints one line to `out` when all is well,
 * else one for each problem to `errors`. True: all is well. */
bool torc_arguments_check(const struct torc_arguments *arguments, int argc, char **argv,
                          struct torc_settings *settings, FILE *out, FILE *errors);

#endif
