/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines are read into a copy of the settings, which replaces them at the end: a fault in the last
 * line of the last file leaves them alone.
 */
#include "core/options_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/options_private.h"

/* How much of a path an error text shows. */
#define SHOWN_PATH_BYTES 80

/* --- words --- */

/* What is left of one line. */
struct line {
    const char *p;
    const char *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_blanks(struct line *line)
{
    while (line->p < line->end && is_blank(*line->p)) {
        line->p++;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The byte behind a backslash in double quotes; line->p stands on the letter. -1: no such escape.
 */
static int read_escape(struct line *line)
{
    static const char letters[] = "nrtba\"\\";
    static const char bytes[] = "\n\r\t\b\a\"\\";
    char letter = *line->p++;
    if (letter == 'x') {
        int high = line->end - line->p >= 2 ? hex_digit(line->p[0]) : -1;
        int low = high >= 0 ? hex_digit(line->p[1]) : -1;
        line->p += low >= 0 ? 2 : 0;
        return low >= 0 ? high * 16 + low : -1;
    }
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    return found != NULL ? (unsigned char)bytes[found - letters] : -1;
}

/* A word being put together. */
struct word {
    char text[TORC_OPTION_VALUE_BYTES];
    size_t len;
};

/* The next byte of a quoted part; line->p stands on it. 0 and the byte, or a text for the error. */
static const char *read_quoted_byte(struct line *line, char quote, char *out)
{
    char c = *line->p++;
    if (c == '\\' && line->p < line->end) {
        if (quote == '"') {
            int byte = read_escape(line);
            if (byte < 0) {
                return "unknown escape in quotes, known are \\n \\r \\t \\b \\a \\xHH \\\" \\\\";
            }
            c = (char)byte;
        } else if (*line->p == '\'') {
            c = *line->p++;
        }
    }
    *out = c;
    return NULL;
}

/* Take the next word off the line, quotes undone. NULL, or what is wrong with it. */
static const char *read_word(struct line *line, struct word *word)
{
    char quote = '\0';
    word->len = 0;
    while (line->p < line->end && (quote != '\0' || !is_blank(*line->p))) {
        char c = *line->p;
        if (quote != '\0' && c == quote) {
            line->p++;
            if (line->p < line->end && !is_blank(*line->p)) {
                return "text behind a closing quote";
            }
            quote = '\0';
            break;
        }
        if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
            line->p++;
            continue;
        }
        if (quote == '\0') {
            line->p++;
        } else {
            const char *problem = read_quoted_byte(line, quote, &c);
            if (problem != NULL) {
                return problem;
            }
        }
        if (c == '\0') {
            return "NUL byte";
        }
        if (word->len + 1 >= sizeof word->text) {
            return "word too long";
        }
        word->text[word->len++] = c;
    }
    word->text[word->len] = '\0';
    return quote == '\0' ? NULL : "quote without an end";
}

/* More words of a list, behind `value`: what is wrong with them, or NULL. */
static const char *read_list(struct line *line, struct word *value)
{
    const char *problem = NULL;
    while (problem == NULL && line->p != line->end) {
        struct word more;
        problem = read_word(line, &more);
        if (problem == NULL && value->len + 1 + more.len >= sizeof value->text) {
            problem = "list too long";
        }
        if (problem == NULL) {
            value->text[value->len] = ' ';
            memcpy(value->text + value->len + 1, more.text, more.len + 1);
            value->len += 1 + more.len;
        }
        skip_blanks(line);
    }
    return problem;
}

/* A line as two words, or more for a list; *out_has_setting false: blank, or a comment. 0, else
 * -EINVAL and a message without its place. */
static int split_line(const struct torc_option_table *options, struct line line, struct word *name,
                      struct word *value, bool *out_has_setting, char *error)
{
    value->len = 0;
    value->text[0] = '\0';
    if (memchr(line.p, '\0', (size_t)(line.end - line.p)) != NULL) {
        return torc_options_fail(error, -EINVAL, "NUL byte");
    }
    skip_blanks(&line);
    *out_has_setting = line.p < line.end && *line.p != '#';
    if (!*out_has_setting) {
        return 0;
    }
    const char *problem = read_word(&line, name);
    skip_blanks(&line);
    const struct torc_option *option =
        problem == NULL ? torc_options_find(options, name->text) : NULL;
    if (problem == NULL && option == NULL && strcasecmp(name->text, "include") != 0) {
        return 0; /* an unknown option, whatever follows: who sets it says so */
    }
    if (problem == NULL && line.p == line.end) {
        return torc_options_fail(error, -EINVAL, "'%s' has no value",
                                 torc_options_show(name->text).text);
    }
    if (problem == NULL) {
        problem = read_word(&line, value);
        skip_blanks(&line);
        if (problem == NULL && option != NULL && option->is_list) {
            problem = read_list(&line, value);
        }
    }
    if (problem == NULL && line.p != line.end) {
        problem = "more than one value (quote a value with blanks; a comment has its own line)";
    }
    return problem == NULL ? 0 : torc_options_fail(error, -EINVAL, "%s", problem);
}

/* --- files --- */

/* A file that is being read; the ones that include it are behind it. */
struct file {
    const char *path;
    uint64_t identity[2];
    const struct file *includer;
    unsigned depth;
};

struct reader {
    const struct torc_option_table *options;
    void *copy; /* of the settings */
    const struct torc_options_source *source;
    unsigned n_includes;
    int rc;      /* of the first problem */
    char *error; /* its text */
    struct word name, value;
    char path[2 * TORC_OPTION_VALUE_BYTES]; /* of the file to include next */
};

static bool goes_on(const struct reader *reader)
{
    return reader->rc == 0 || reader->source->problem != NULL;
}

static void report(struct reader *reader, int code, const char *problem)
{
    if (reader->rc == 0) {
        reader->rc = code;
        (void)torc_options_fail(reader->error, code, "%s", problem);
    }
    if (reader->source->problem != NULL) {
        reader->source->problem(reader->source->arg, problem);
    }
}

/* The end of a long path says more than its start. */
static const char *shown_path(const char *path)
{
    size_t len = strlen(path);
    return len <= SHOWN_PATH_BYTES ? path : path + (len - SHOWN_PATH_BYTES);
}

/* `name` as the file with the path `from` means it, into reader->path. */
static bool resolve(struct reader *reader, const char *from, const char *name)
{
    const char *slash = name[0] != '/' ? strrchr(from, '/') : NULL;
    int folder_len = slash != NULL ? (int)(slash - from) + 1 : 0;
    int len = snprintf(reader->path, sizeof reader->path, "%.*s%s", folder_len, from, name);
    return len >= 0 && (size_t)len < sizeof reader->path;
}

static void read_lines(struct reader *reader, const struct file *file, const char *text,
                       size_t len);

/* The file that `file` includes, named in reader->value. 0, or the code of a problem with the line
 * that includes it; problems with its content are reported under its own name. */
static int include(struct reader *reader, const struct file *file, char *error)
{
    if (reader->source->load == NULL) {
        return torc_options_fail(error, -EINVAL, "include is not possible here");
    }
    if (file->depth == TORC_OPTION_DEPTH_MAX) {
        return torc_options_fail(error, -EINVAL, "include: more than %d files deep",
                                 TORC_OPTION_DEPTH_MAX);
    }
    if (reader->n_includes == TORC_OPTION_INCLUDES_MAX) {
        return torc_options_fail(error, -EINVAL, "include: more than %d files in all",
                                 TORC_OPTION_INCLUDES_MAX);
    }
    if (!resolve(reader, file->path, reader->value.text)) {
        return torc_options_fail(error, -EINVAL, "include: the path is too long");
    }
    struct torc_options_text text = {0};
    char problem[TORC_OPTION_ERROR_BYTES];
    reader->n_includes++;
    int rc = reader->source->load(reader->source->arg, reader->path, &text, problem);
    if (rc != 0) {
        return torc_options_fail(error, rc == -ENOMEM ? rc : -EINVAL, "include: %s", problem);
    }
    for (const struct file *f = file; rc == 0 && f != NULL; f = f->includer) {
        if (memcmp(f->identity, text.identity, sizeof f->identity) == 0) {
            rc = torc_options_fail(error, -EINVAL, "include: a cycle, %s is being read already",
                                   shown_path(reader->path));
        }
    }
    char *path = rc == 0 ? strdup(reader->path) : NULL; /* the next include writes over it */
    if (rc == 0 && path == NULL) {
        rc = torc_options_fail(error, -ENOMEM, "include: no memory");
    }
    if (rc == 0) {
        struct file included = {.path = path, .includer = file, .depth = file->depth + 1};
        memcpy(included.identity, text.identity, sizeof included.identity);
        read_lines(reader, &included, text.data, text.len);
    }
    free(path);
    free(text.data);
    return rc;
}

static int read_line(struct reader *reader, const struct file *file, struct line line,
                     size_t number, char *error)
{
    bool has_setting = false;
    int rc = split_line(reader->options, line, &reader->name, &reader->value, &has_setting, error);
    if (rc != 0 || !has_setting) {
        return rc;
    }
    if (strcasecmp(reader->name.text, "include") == 0) {
        return include(reader, file, error);
    }
    rc = torc_options_set(reader->options, reader->copy, reader->name.text, reader->value.text,
                          error);
    if (rc == 0 && reader->source->taken != NULL) {
        const struct torc_option *option = torc_options_find(reader->options, reader->name.text);
        reader->source->taken(reader->source->arg, option->name, file->path, number);
    }
    return rc != 0 ? -EINVAL : 0;
}

static void read_lines(struct reader *reader, const struct file *file, const char *text, size_t len)
{
    size_t number = 1;
    for (size_t at = 0; at < len && goes_on(reader); number++) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : len;
        char reason[TORC_OPTION_ERROR_BYTES];
        struct line line = {.p = text + at, .end = text + end};
        int rc = read_line(reader, file, line, number, reason);
        if (rc != 0) {
            char problem[TORC_OPTION_ERROR_BYTES];
            report(reader,
                   torc_options_fail(problem, rc, "%s:%zu: %s", shown_path(file->path), number,
                                     reason),
                   problem);
        }
        at = end + 1;
    }
}

/* Read `text` into a copy of the settings, and that into the settings if it may be. */
static int read_text(const struct torc_option_table *options, void *settings,
                     const struct file *file, const char *text, size_t len,
                     const struct torc_options_source *source, char *error)
{
    size_t extent = torc_options_extent(options);
    struct reader *reader = malloc(sizeof *reader);
    void *copy = malloc(extent + 1);
    int rc = -ENOMEM;
    if (reader == NULL || copy == NULL) {
        (void)torc_options_fail(error, rc, "%s: no memory to read it", shown_path(file->path));
        goto out;
    }
    memcpy(copy, settings, extent);
    reader->options = options;
    reader->copy = copy;
    reader->source = source;
    reader->n_includes = 0;
    reader->rc = 0;
    reader->error = error;
    read_lines(reader, file, text, len);
    rc = reader->rc;
    if (goes_on(reader)) {
        memcpy(settings, copy, extent);
    }
out:
    free(copy);
    free(reader);
    return rc;
}

int torc_options_load(const struct torc_option_table *options, void *settings, const char *path,
                      const struct torc_options_source *source, char error[TORC_OPTION_ERROR_BYTES])
{
    struct torc_options_text text = {0};
    char problem[TORC_OPTION_ERROR_BYTES];
    int rc = source->load(source->arg, path, &text, problem);
    if (rc != 0) {
        if (source->problem != NULL) {
            source->problem(source->arg, problem);
        }
        return torc_options_fail(error, rc, "%s", problem);
    }
    struct file file = {.path = path, .identity = {text.identity[0], text.identity[1]}};
    rc = read_text(options, settings, &file, text.data, text.len, source, error);
    free(text.data);
    return rc;
}

int torc_options_read(const struct torc_option_table *options, void *settings, const char *path,
                      char error[TORC_OPTION_ERROR_BYTES])
{
    static const struct torc_options_source disk = {.load = torc_options_load_from_disk};
    return torc_options_load(options, settings, path, &disk, error);
}

int torc_options_parse(const struct torc_option_table *options, void *settings, const char *path,
                       const char *text, size_t len, char error[TORC_OPTION_ERROR_BYTES])
{
    static const struct torc_options_source none = {.load = NULL};
    if (len > TORC_OPTION_FILE_BYTES) {
        return torc_options_fail(error, -EINVAL, "%s: longer than %d bytes", shown_path(path),
                                 TORC_OPTION_FILE_BYTES);
    }
    struct file file = {.path = path};
    return read_text(options, settings, &file, text, len, &none, error);
}

int torc_options_load_from_disk(void *arg, const char *path, struct torc_options_text *out_text,
                                char error[TORC_OPTION_ERROR_BYTES])
{
    (void)arg;
    /* Not blocking: a FIFO would wait for a writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (file == NULL) {
        int rc = torc_options_fail(error, -ENOENT, "%s: cannot be opened: %s", shown_path(path),
                                   strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return rc;
    }
    /* One byte more than allowed, so that a longer file shows. */
    int rc = 0;
    struct stat stat;
    char *data = malloc(TORC_OPTION_FILE_BYTES + 1);
    if (data == NULL) {
        rc = torc_options_fail(error, -ENOMEM, "%s: no memory to read it", shown_path(path));
        goto out;
    }
    if (fstat(fd, &stat) == 0 && S_ISFIFO(stat.st_mode)) {
        rc = torc_options_fail(error, -EINVAL, "%s: is a FIFO, not a file", shown_path(path));
        goto out;
    }
    size_t len = fread(data, 1, TORC_OPTION_FILE_BYTES + 1, file);
    if (ferror(file) != 0 || fstat(fd, &stat) != 0) {
        rc = torc_options_fail(error, -ENOENT, "%s: cannot be read: %s", shown_path(path),
                               strerror(errno));
        goto out;
    }
    if (len > TORC_OPTION_FILE_BYTES) {
        rc = torc_options_fail(error, -EINVAL, "%s: longer than %d bytes", shown_path(path),
                               TORC_OPTION_FILE_BYTES);
        goto out;
    }
    *out_text = (struct torc_options_text){
        .data = data, .len = len, .identity = {(uint64_t)stat.st_dev, (uint64_t)stat.st_ino}};
    data = NULL;
out:
    free(data);
    (void)fclose(file);
    return rc;
}
