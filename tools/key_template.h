/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates of key names: 'zip:{zip_code}' with the cells of a row makes 'zip:00501'. Text stands
 * for itself, {name} for the cell of that column, {key} for the row's key (see below), {{ and }}
 * for one brace each. So '{{{key}}}:price' has a Redis Cluster hash tag: '{7}:price'.
 */
#ifndef TORC_TOOLS_KEY_TEMPLATE_H
#define TORC_TOOLS_KEY_TEMPLATE_H

#include "core/slice.h"

#define TORC_KEY_TEMPLATE_ERROR_BYTES 160

/* Columns that are no cell. */
#define TORC_KEY_COLUMN_ROW SIZE_MAX /* the row's number, counted from 1 */

struct torc_key_template;

/* Parse `text` for rows of these columns. {key} stands for column `key_column`, or for the row
 * number when that is TORC_KEY_COLUMN_ROW; it hides a column of that name. 0; -EINVAL with a text
 * in `error`: unknown column, a brace without its partner, nothing that differs between rows;
 * -ENOMEM.
 */
int torc_key_template_create(const char *text, const struct torc_slice *columns, size_t n_columns,
                             size_t key_column, struct torc_key_template **out_template,
                             char error[TORC_KEY_TEMPLATE_ERROR_BYTES]) TORC_MUST_USE;

/* The template '<prefix>:{key}', with no meaning of braces in `prefix`. NULL: no memory. */
struct torc_key_template *torc_key_template_default(const char *prefix,
                                                    size_t key_column) TORC_MUST_USE;

void torc_key_template_destroy(struct torc_key_template *key_template);

/* The key of one row, borrowed from the template until its next call. `cells` are those of the
 * columns given at creation. 0, -ENOMEM. */
int torc_key_template_expand(struct torc_key_template *key_template, const struct torc_slice *cells,
                             uint64_t row, struct torc_slice *out_key) TORC_MUST_USE;

#endif
