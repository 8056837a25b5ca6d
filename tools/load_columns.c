/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/load_columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/csv.h"

#define SHOWN_BYTES 64

void torc_load_columns_fini(struct torc_load_columns *columns)
{
    free(columns->names);
    free(columns->bytes);
    *columns = (struct torc_load_columns){0};
}

static int explain(char *error, int code, const char *text)
{
    (void)snprintf(error, TORC_LOAD_COLUMNS_ERROR_BYTES, "%s", text);
    return code;
}

static int compare_names(const void *a, const void *b)
{
    const struct torc_slice *x = a;
    const struct torc_slice *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = len > 0 ? memcmp(x->data, y->data, len) : 0;
    if (order != 0) {
        return order;
    }
    return x->len < y->len ? -1 : x->len > y->len;
}

/* 0; -EINVAL a name comes twice; -ENOMEM. */
static int check_distinct(const struct torc_load_columns *columns, char *error)
{
    struct torc_slice *sorted = malloc(columns->n * sizeof *sorted);
    if (sorted == NULL) {
        return explain(error, -ENOMEM, "no memory");
    }
    memcpy(sorted, columns->names, columns->n * sizeof *sorted);
    qsort(sorted, columns->n, sizeof *sorted, compare_names);
    int rc = 0;
    for (size_t i = 1; i < columns->n && rc == 0; i++) {
        if (torc_slice_equal(sorted[i - 1], sorted[i])) {
            int shown = sorted[i].len < SHOWN_BYTES ? (int)sorted[i].len : SHOWN_BYTES;
            (void)snprintf(error, TORC_LOAD_COLUMNS_ERROR_BYTES, "column '%.*s' comes twice", shown,
                           (const char *)sorted[i].data);
            rc = -EINVAL;
        }
    }
    free(sorted);
    return rc;
}

int torc_load_columns_init(struct torc_load_columns *columns, const struct torc_slice *names,
                           size_t n, char error[TORC_LOAD_COLUMNS_ERROR_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        len += names[i].len;
    }
    struct torc_load_columns copy = {
        .names = malloc((n + 1) * sizeof *copy.names),
        .n = n,
        .bytes = malloc(len + 1),
    };
    int rc = -ENOMEM;
    if (copy.names == NULL || copy.bytes == NULL) {
        (void)explain(error, rc, "no memory");
        goto out_free;
    }
    uint8_t *at = copy.bytes;
    for (size_t i = 0; i < n; i++) {
        if (names[i].len > 0) {
            memcpy(at, names[i].data, names[i].len);
        }
        copy.names[i] = torc_slice_of(at, names[i].len);
        at += names[i].len;
    }
    rc = check_distinct(&copy, error);
    if (rc == 0) {
        *columns = copy;
        return 0;
    }

out_free:
    torc_load_columns_fini(&copy);
    return rc;
}

int torc_load_columns_parse(struct torc_load_columns *columns, const char *text,
                            char error[TORC_LOAD_COLUMNS_ERROR_BYTES])
{
    size_t n = 1;
    for (const char *p = text; *p != '\0'; p++) {
        n += *p == ',';
    }
    if (n > TORC_CSV_COLUMNS_MAX) {
        return explain(error, -EINVAL, "too many names");
    }
    struct torc_slice *names = malloc(n * sizeof *names);
    if (names == NULL) {
        return explain(error, -ENOMEM, "no memory");
    }
    int rc = 0;
    const char *p = text;
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t len = strcspn(p, ",");
        names[i] = torc_slice_of(p, len);
        p += len + 1;
        rc = len > 0 ? 0 : explain(error, -EINVAL, "a name is empty");
    }
    if (rc == 0) {
        rc = torc_load_columns_init(columns, names, n, error);
    }
    free(names);
    return rc;
}

size_t torc_load_columns_find(const struct torc_load_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->n; i++) {
        if (torc_slice_equal(columns->names[i], torc_slice_str(name))) {
            return i;
        }
    }
    return SIZE_MAX;
}
