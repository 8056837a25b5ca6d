/* SPDX-License-Identifier: Apache-2.0
 *
 * What the option table and the reader of config files share: error texts, and how much of a
 * settings struct the options cover.
 */
#ifndef TORC_CORE_OPTIONS_PRIVATE_H
#define TORC_CORE_OPTIONS_PRIVATE_H

#include "core/options.h"

/* How much of a name or value an error text shows. */
#define TORC_OPTIONS_SHOWN_BYTES 40

struct torc_options_shown {
    char text[TORC_OPTIONS_SHOWN_BYTES + sizeof "..."];
};

/* `text` as it may stand in a message: short, and free of what could upset a terminal. */
struct torc_options_shown torc_options_show(const char *text);

/* Write a text of at most TORC_OPTION_ERROR_BYTES into `error`; returns `code`. */
int torc_options_fail(char *error, int code, const char *format, ...) TORC_PRINTF(3, 4);

/* Bytes from the start of a settings struct that hold every option. */
size_t torc_options_extent(const struct torc_option_table *options);

#endif
