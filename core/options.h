/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: one table of options serves the config file (core/options_file.h), `--name value`
 * flags, CONFIG GET and the reference page. Values are checked when they are set; an error says
 * what was wrong and what was probably meant. Names are compared without case.
 *
 * Threads: a table is constant; settings belong to the caller, one thread at a time.
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
    bool is_list;             /* TEXT: in a file, several words with blanks between them */
    size_t offset;            /* into the settings struct, aligned for the kind's type */
    size_t size;              /* TEXT: bytes of the array, terminator included */
    int64_t min, max;         /* INT, both allowed; BYTES, if max is not 0 */
    const char *const *words; /* ENUM: NULL-terminated; INT: a word for the default, or NULL */
    const char *initial;      /* default, as text; NULL is no, 0, the first word or "" */
    const char *help;         /* one line, for --help and the reference page */
    /* What is wrong with a value that its kind takes: a static text to follow name and value, as
     * "is not a power of two"; NULL: nothing. The member may be NULL, too. */
    const char *(*fault)(const char *text);
    const char *alias_of; /* another name for that option, which stands under its own name in the
                             table; the other members are not looked at. Or NULL */
};

struct torc_option_table {
    const struct torc_option *table;
    size_t n;
};

#define TORC_OPTION_ERROR_BYTES 256  /* of every error text, terminator included */
#define TORC_OPTION_VALUE_BYTES 4096 /* longest value, terminator included */
#define TORC_OPTION_SIZE_BYTES  24   /* a size as text, terminator included */

/* Fill `settings` with the defaults. A default that its own option refuses is a fault of the table:
 * an assertion. */
void torc_options_init(const struct torc_option_table *options, void *settings);

/* Set one option from text. 0; -ENOENT unknown name, -EINVAL bad value. On error `error` is a text
 * for a person (a suggestion included) and the settings are as they were; else it is untouched. */
int torc_options_set(const struct torc_option_table *options, void *settings, const char *name,
                     const char *value, char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* The value as canonical text, as CONFIG GET prints it: yes or no, an integer, bytes as a plain
 * integer, a word of the enum, the text itself. torc_options_set() takes it back. 0; -ENOENT
 * unknown name, -ENOSPC does not fit `size` bytes with its terminator. */
int torc_options_get(const struct torc_option_table *options, const void *settings,
                     const char *name, char *out, size_t size) TORC_MUST_USE;

/* The option of that name; the one behind it for an alias. NULL: none. The table's memory. */
const struct torc_option *torc_options_find(const struct torc_option_table *options,
                                            const char *name);

/* Parse a size: decimal digits and b, k, kb, m, mb, g, gb or nothing, in either case. "64mb" is
 * 67108864. -EINVAL: anything else, or 2^64 and above. */
int torc_options_parse_bytes(const char *text, uint64_t *out_bytes) TORC_MUST_USE;

/* A size as people write it and torc_options_parse_bytes() reads it, exactly: 1536kb, 2gb. */
void torc_options_show_size(uint64_t bytes, char text[TORC_OPTION_SIZE_BYTES]);

#endif
