/* SPDX-License-Identifier: Apache-2.0
 *
 * The option table as text for people: --help, and the reference page docs/configuration.md.
 */
#ifndef TORC_TORCD_SETTINGS_REFERENCE_H
#define TORC_TORCD_SETTINGS_REFERENCE_H

#include <stdio.h>

/* What --help says. Errors of `out` are left to ferror(). */
void torc_settings_print_help(FILE *out);

/* The reference page, in Markdown. */
void torc_settings_print_markdown(FILE *out);

#endif
