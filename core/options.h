/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: one table of options serves the config file (redis.conf grammar: `name value`, quotes,
 * comments), `--name value` flags, CONFIG GET and the reference page. Values are checked when they
 * are set; an error says what was wrong, where, and what was probably meant.
 */
#ifndef TORC_CORE_OPTIONS_H
#define TORC_CORE_OPTIONS_H

#include "core/base.h"

enum torc_option_kind {
    TORC_OPTION_BOOL,  /* bool: yes|no */
    TORC_OPTION_INT,   /* int64_t, min..max */
    TORC_OPTION_BYTES, /* uint64_t: 100, 4kb, 64mb, 2g (kb = 1,024, k = 1,000, as Redis) */
    TORC_OPTION_ENUM,  /* int: index into `words` */
    TORC_OPTION_TEXT,  /* char[size]: any text that fits */
};

struct torc_option {
    const char *name;
    enum torc_option_kind kind;
    size_t offset;            /* into the settings struct */
    size_t size;              /* TEXT: bytes of the array, terminator included */
    int64_t min, max;         /* INT */
    const char *const *words; /* ENUM: NULL-terminated */
    const char *initial;      /* default, as text */
    const char *help;         /* one line, for --help and the reference page */
    const char *alias_of;     /* another name for that option, or NULL */
};

struct torc_option_table {
    const struct torc_option *table;
    size_t n;
};

#define TORC_OPTION_ERROR_BYTES 256

/* Fill `settings` with the defaults. */
void torc_options_init(const struct torc_option_table *options, void *settings);

/* Set one option from text. -ENOENT unknown name, -EINVAL bad value; `error` says why (a suggestion
 * included). Unchanged on error. */
int torc_options_set(const struct torc_option_table *options, void *settings, const char *name,
                     const char *value, char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Read a file of `name value` lines. 0; -ENOENT cannot be opened, -EINVAL; `error` has "file:line:
 * ...". */
int torc_options_read(const struct torc_option_table *options, void *settings, const char *path,
                      char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Read `text` of `len` bytes the same way; `path` is for messages. The parser's fuzz target enters
 * here. */
int torc_options_parse(const struct torc_option_table *options, void *settings, const char *path,
                       const char *text, size_t len,
                       char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* The value as text, as CONFIG GET prints it. -ENOENT, -ENOSPC. */
int torc_options_get(const struct torc_option_table *options, const void *settings,
                     const char *name, char *out, size_t size) TORC_MUST_USE;

const struct torc_option *torc_options_find(const struct torc_option_table *options,
                                            const char *name);

/* Parse a size: "64mb". -EINVAL. */
int torc_options_parse_bytes(const char *text, uint64_t *out_bytes) TORC_MUST_USE;

#endif
