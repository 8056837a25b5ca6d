/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/key_template.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* How much of a column name an error text shows. */
#define SHOWN_BYTES 64

struct part {
    bool is_text;
    size_t column; /* of the cell, or TORC_KEY_COLUMN_ROW */
    size_t start;  /* text: where in `text` */
    size_t len;
};

struct torc_key_template {
    char *text; /* what stands for itself, braces undone */
    size_t text_len;
    struct part *parts;
    size_t n_parts;
    uint8_t *key; /* the key made last */
    size_t key_cap;
};

void torc_key_template_destroy(struct torc_key_template *key_template)
{
    if (key_template != NULL) {
        free(key_template->text);
        free(key_template->parts);
        free(key_template->key);
        free(key_template);
    }
}

/* Room for a template made from `len` bytes: no more text than that, no more parts than one a byte.
 */
static struct torc_key_template *create_empty(size_t len)
{
    struct torc_key_template *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->text = malloc(len + 1);
    t->parts = calloc(len + 1, sizeof *t->parts);
    if (t->text == NULL || t->parts == NULL) {
        torc_key_template_destroy(t);
        return NULL;
    }
    return t;
}

static void add_byte(struct torc_key_template *t, char c)
{
    if (t->n_parts == 0 || !t->parts[t->n_parts - 1].is_text) {
        t->parts[t->n_parts++] = (struct part){.is_text = true, .start = t->text_len};
    }
    t->text[t->text_len++] = c;
    t->parts[t->n_parts - 1].len++;
}

static void add_column(struct torc_key_template *t, size_t column)
{
    t->parts[t->n_parts++] = (struct part){.is_text = false, .column = column};
}

struct torc_key_template *torc_key_template_default(const char *prefix, size_t key_column)
{
    size_t len = strlen(prefix);
    struct torc_key_template *t = create_empty(len + sizeof ":{key}");
    if (t != NULL) {
        for (size_t i = 0; i < len; i++) {
            add_byte(t, prefix[i]);
        }
        add_byte(t, ':');
        add_column(t, key_column);
    }
    return t;
}

/* The column {name} stands for. False: none. */
static bool find_column(struct torc_slice name, const struct torc_slice *columns, size_t n_columns,
                        size_t key_column, size_t *out_column)
{
    if (torc_slice_equal(name, torc_slice_str("key"))) {
        *out_column = key_column;
        return true;
    }
    for (size_t i = 0; i < n_columns; i++) {
        if (torc_slice_equal(name, columns[i])) {
            *out_column = i;
            return true;
        }
    }
    return false;
}

int torc_key_template_create(const char *text, const struct torc_slice *columns, size_t n_columns,
                             size_t key_column, struct torc_key_template **out_template,
                             char error[TORC_KEY_TEMPLATE_ERROR_BYTES])
{
    struct torc_key_template *t = create_empty(strlen(text));
    if (t == NULL) {
        (void)snprintf(error, TORC_KEY_TEMPLATE_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    bool varies = false;
    const char *p = text;
    while (*p != '\0') {
        if ((*p == '{' || *p == '}') && p[1] == *p) {
            add_byte(t, *p);
            p += 2;
            continue;
        }
        const char *close = *p == '{' ? strchr(p, '}') : NULL;
        if (*p == '}' || (*p == '{' && close == NULL)) {
            (void)snprintf(error, TORC_KEY_TEMPLATE_ERROR_BYTES,
                           "brace without its partner (write {{ or }} for a brace of the key)");
            goto out_invalid;
        }
        if (close == NULL) {
            add_byte(t, *p++);
            continue;
        }
        struct torc_slice name = torc_slice_of(p + 1, (size_t)(close - p) - 1);
        size_t column = 0;
        if (!find_column(name, columns, n_columns, key_column, &column)) {
            int shown = name.len < SHOWN_BYTES ? (int)name.len : SHOWN_BYTES;
            (void)snprintf(error, TORC_KEY_TEMPLATE_ERROR_BYTES, "there is no column '%.*s'", shown,
                           p + 1);
            goto out_invalid;
        }
        add_column(t, column);
        varies = true;
        p = close + 1;
    }
    if (!varies) {
        (void)snprintf(error, TORC_KEY_TEMPLATE_ERROR_BYTES,
                       "every row would have the same key (name a column, or {key})");
        goto out_invalid;
    }
    *out_template = t;
    return 0;

out_invalid:
    torc_key_template_destroy(t);
    return -EINVAL;
}

/* What a part is in this row; numbers are written into `digits`. */
static struct torc_slice part_bytes(const struct torc_key_template *t, const struct part *part,
                                    const struct torc_slice *cells, uint64_t row, char digits[24])
{
    if (part->is_text) {
        return torc_slice_of(t->text + part->start, part->len);
    }
    if (part->column != TORC_KEY_COLUMN_ROW) {
        return cells[part->column];
    }
    int len = snprintf(digits, 24, "%" PRIu64, row);
    return torc_slice_of(digits, (size_t)len);
}

int torc_key_template_expand(struct torc_key_template *key_template, const struct torc_slice *cells,
                             uint64_t row, struct torc_slice *out_key)
{
    struct torc_key_template *t = key_template;
    size_t len = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        char digits[24];
        struct torc_slice bytes = part_bytes(t, &t->parts[i], cells, row, digits);
        if (bytes.len > t->key_cap - len) {
            size_t cap = (len + bytes.len) * 2 + 64;
            uint8_t *grown = realloc(t->key, cap);
            if (grown == NULL) {
                return -ENOMEM;
            }
            t->key = grown;
            t->key_cap = cap;
        }
        if (bytes.len > 0) {
            memcpy(t->key + len, bytes.data, bytes.len);
        }
        len += bytes.len;
    }
    *out_key = torc_slice_of(t->key, len);
    return 0;
}
