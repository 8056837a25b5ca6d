/* SPDX-License-Identifier: Apache-2.0
 *
 * Config files: lines of `name value` over a table of options, in the grammar of redis.conf.
 *
 * Lines end with LF or CRLF; the last one may lack its end. A line is blank, or a comment (its
 * first character is #), or a name and a value, two words with blanks around them; the value of a
 * list may be several words. A # further on is a character like any other. The last value of a name
 * wins.
 *
 *   plain      bytes up to the next blank; may hold quoted parts
 *   "double"   \n \r \t \b \a, \xHH (two hex digits), \" and \\ stand for one byte; any other
 *              escape is an error
 *   'single'   literal but for \'
 *
 * A closing quote ends the word. A value has at most TORC_OPTION_VALUE_BYTES - 1 bytes, none of
 * them NUL.
 *
 * `include FILE` stands for the lines of that file. A path that does not start with / is taken from
 * the folder of the file that the line is in. A file that includes itself, directly or through
 * others, is an error, as is anything above the limits below.
 *
 * Threads: settings belong to the caller, one thread at a time.
 */
#ifndef TORC_CORE_OPTIONS_FILE_H
#define TORC_CORE_OPTIONS_FILE_H

#include "core/options.h"

#define TORC_OPTION_FILE_BYTES   1048576 /* longest file */
#define TORC_OPTION_DEPTH_MAX    8       /* includes within includes */
#define TORC_OPTION_INCLUDES_MAX 256     /* included files of one read, in all */

/* A file as it was loaded. */
struct torc_options_text {
    char *data; /* len bytes from malloc(), freed by the reader; NULL is fine when len is 0 */
    size_t len;
    uint64_t identity[2]; /* what tells files apart, such as device and inode: finds cycles */
};

/* Where files come from, and where problems go. */
struct torc_options_source {
    /* Load the file `path`. 0; else -ENOENT, -EINVAL or -ENOMEM with "path: reason" in `error`, and
     * *out_text untouched. */
    int (*load)(void *arg, const char *path, struct torc_options_text *out_text,
                char error[TORC_OPTION_ERROR_BYTES]);
    /* Called for each problem, "file:line: reason", instead of stopping at the first: for those who
     * check a file. The settings then take what lines hold. NULL: stop, all or nothing. */
    void (*problem)(void *arg, const char *text);
    /* Called for each setting that was taken, with the name of its option and its place: for those
     * who check settings against each other afterwards. May be NULL. */
    void (*taken)(void *arg, const char *name, const char *path, size_t line);
    void *arg;
};

/* Read the file `path` and what it includes. 0; -ENOENT or -ENOMEM from the source's load() of
 * `path` itself; -EINVAL its content, or an included file; -ENOMEM. `error` then has the first
 * problem, and unless the source has a problem() the settings are as they were. */
int torc_options_load(const struct torc_option_table *options, void *settings, const char *path,
                      const struct torc_options_source *source,
                      char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* A load() that reads the file system: -ENOENT cannot be opened or read, -EINVAL longer than
 * TORC_OPTION_FILE_BYTES, -ENOMEM. `arg` is not used. */
int torc_options_load_from_disk(void *arg, const char *path, struct torc_options_text *out_text,
                                char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* torc_options_load() from the file system, all or nothing. */
int torc_options_read(const struct torc_option_table *options, void *settings, const char *path,
                      char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Read `text` of `len` bytes the same way, where includes are errors; `path` is for messages. 0,
 * -EINVAL, -ENOMEM. */
int torc_options_parse(const struct torc_option_table *options, void *settings, const char *path,
                       const char *text, size_t len,
                       char error[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

#endif
