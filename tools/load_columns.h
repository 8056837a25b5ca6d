/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a file to load: their names, from its first row or from the command line.
 */
#ifndef TORC_TOOLS_LOAD_COLUMNS_H
#define TORC_TOOLS_LOAD_COLUMNS_H

#include "core/slice.h"

#define TORC_LOAD_COLUMNS_ERROR_BYTES 160

struct torc_load_columns {
    struct torc_slice *names; /* into `bytes` */
    size_t n;
    uint8_t *bytes;
};

/* Copy names. 0; -EINVAL a name comes twice, with a text in `error`; -ENOMEM. */
int torc_load_columns_init(struct torc_load_columns *columns, const struct torc_slice *names,
                           size_t n, char error[TORC_LOAD_COLUMNS_ERROR_BYTES]) TORC_MUST_USE;

/* Names separated by commas. -EINVAL too if one is empty, or there are too many. */
int torc_load_columns_parse(struct torc_load_columns *columns, const char *text,
                            char error[TORC_LOAD_COLUMNS_ERROR_BYTES]) TORC_MUST_USE;

/* Position of a name; SIZE_MAX: none. */
size_t torc_load_columns_find(const struct torc_load_columns *columns, const char *name);

/* Fine on zeroed storage. */
void torc_load_columns_fini(struct torc_load_columns *columns);

#endif
