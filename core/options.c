/* SPDX-License-Identifier: Apache-2.0
 *
 * Two parts: values (text to a checked value, and back), and names (look-up and suggestions).
 */
#include "core/options_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Longer names get no suggestion. */
#define NAME_BYTES 64

/* A checked value, not yet stored. */
union value {
    bool yes;
    int64_t integer;
    uint64_t bytes;
    int word;
    struct {
        const char *data; /* borrowed from the caller's text */
        size_t len;
    } text;
};

int torc_options_fail(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, TORC_OPTION_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

struct torc_options_shown torc_options_show(const char *text)
{
    struct torc_options_shown shown;
    size_t n = 0;
    for (; n < TORC_OPTIONS_SHOWN_BYTES && text[n] != '\0'; n++) {
        unsigned char c = (unsigned char)text[n];
        shown.text[n] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
    }
    (void)snprintf(shown.text + n, sizeof shown.text - n, "%s", text[n] == '\0' ? "" : "...");
    return shown;
}

/* --- values --- */

/* Digits at *text as a number, advanced past them. False: no digit, or 2^64 and above. */
static bool parse_digits(const char **text, uint64_t *out)
{
    const char *p = *text;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n)) {
            return false;
        }
    }
    if (p == *text) {
        return false;
    }
    *text = p;
    *out = n;
    return true;
}

static bool parse_integer(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    const char *p = text + (negative ? 1 : 0);
    uint64_t magnitude = 0;
    if (!parse_digits(&p, &magnitude) || *p != '\0' ||
        magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

int torc_options_parse_bytes(const char *text, uint64_t *out_bytes)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {
        {"", 1},        {"b", 1},         {"k", 1000},       {"kb", TORC_KIB},
        {"m", 1000000}, {"mb", TORC_MIB}, {"g", 1000000000}, {"gb", TORC_GIB},
    };
    uint64_t n = 0;
    if (!parse_digits(&text, &n)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(text, units[i].unit) == 0) {
            if (__builtin_mul_overflow(n, units[i].factor, &n)) {
                return -EINVAL;
            }
            *out_bytes = n;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_bool(const struct torc_option *option, const char *text, bool *out, char *error)
{
    bool yes = strcasecmp(text, "yes") == 0;
    if (!yes && strcasecmp(text, "no") != 0) {
        return torc_options_fail(error, -EINVAL, "%s: '%s' is neither yes nor no", option->name,
                                 torc_options_show(text).text);
    }
    *out = yes;
    return 0;
}

static int parse_word(const struct torc_option *option, const char *text, int *out, char *error)
{
    for (int i = 0; option->words[i] != NULL; i++) {
        if (strcasecmp(text, option->words[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    char list[TORC_OPTION_ERROR_BYTES] = "";
    size_t used = 0;
    for (int i = 0; option->words[i] != NULL && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 option->words[i]);
    }
    return torc_options_fail(error, -EINVAL, "%s: '%s' is none of: %s", option->name,
                             torc_options_show(text).text, list);
}

void torc_options_show_size(uint64_t bytes, char text[TORC_OPTION_SIZE_BYTES])
{
    static const char *const units[] = {"", "kb", "mb", "gb"};
    unsigned unit = 0;
    while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, TORC_OPTION_SIZE_BYTES, "%" PRIu64 "%s", bytes, units[unit]);
}

static int parse_size(const struct torc_option *option, const char *text, uint64_t *out,
                      char *error)
{
    if (torc_options_parse_bytes(text, out) != 0) {
        return torc_options_fail(error, -EINVAL,
                                 "%s: '%s' is not a size such as 4096, 64kb, 16mb or 2gb",
                                 option->name, torc_options_show(text).text);
    }
    if (option->max != 0 && (*out < (uint64_t)option->min || *out > (uint64_t)option->max)) {
        char low[TORC_OPTION_SIZE_BYTES];
        char high[TORC_OPTION_SIZE_BYTES];
        torc_options_show_size((uint64_t)option->min, low);
        torc_options_show_size((uint64_t)option->max, high);
        return torc_options_fail(error, -EINVAL, "%s: '%s' is not from %s to %s", option->name,
                                 torc_options_show(text).text, low, high);
    }
    return 0;
}

/* By its kind alone. */
static int parse_kind(const struct torc_option *option, const char *text, union value *out,
                      char *error)
{
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        return parse_bool(option, text, &out->yes, error);
    case TORC_OPTION_INT:
        if (option->words != NULL && strcasecmp(text, option->words[0]) == 0) {
            text = option->initial;
        }
        if (!parse_integer(text, &out->integer) || out->integer < option->min ||
            out->integer > option->max) {
            return torc_options_fail(
                error, -EINVAL, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64,
                option->name, torc_options_show(text).text, option->min, option->max);
        }
        return 0;
    case TORC_OPTION_BYTES:
        return parse_size(option, text, &out->bytes, error);
    case TORC_OPTION_ENUM:
        return parse_word(option, text, &out->word, error);
    case TORC_OPTION_TEXT:
        out->text.data = text;
        out->text.len = strlen(text);
        if (out->text.len >= option->size) {
            return torc_options_fail(error, -EINVAL, "%s: the text has %zu bytes, at most %zu fit",
                                     option->name, out->text.len, option->size - 1);
        }
        return 0;
    }
    return torc_options_fail(error, -EINVAL, "%s: unknown kind of option", option->name);
}

static int parse_value(const struct torc_option *option, const char *text, union value *out,
                       char *error)
{
    int rc = parse_kind(option, text, out, error);
    const char *fault = rc == 0 && option->fault != NULL ? option->fault(text) : NULL;
    return fault == NULL ? rc
                         : torc_options_fail(error, -EINVAL, "%s %s %s", option->name,
                                             torc_options_show(text).text, fault);
}

static void store_value(const struct torc_option *option, void *settings, const union value *value)
{
    uint8_t *at = (uint8_t *)settings + option->offset;
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        memcpy(at, &value->yes, sizeof value->yes);
        break;
    case TORC_OPTION_INT:
        memcpy(at, &value->integer, sizeof value->integer);
        break;
    case TORC_OPTION_BYTES:
        memcpy(at, &value->bytes, sizeof value->bytes);
        break;
    case TORC_OPTION_ENUM:
        memcpy(at, &value->word, sizeof value->word);
        break;
    case TORC_OPTION_TEXT:
        /* The text may be that of the option itself. */
        memmove(at, value->text.data, value->text.len);
        at[value->text.len] = '\0';
        break;
    }
}

static size_t value_bytes(const struct torc_option *option)
{
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        return sizeof(bool);
    case TORC_OPTION_INT:
        return sizeof(int64_t);
    case TORC_OPTION_BYTES:
        return sizeof(uint64_t);
    case TORC_OPTION_ENUM:
        return sizeof(int);
    case TORC_OPTION_TEXT:
        break;
    }
    return option->size;
}

size_t torc_options_extent(const struct torc_option_table *options)
{
    size_t extent = 0;
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        if (option->alias_of == NULL) {
            extent = torc_max_u64(extent, option->offset + value_bytes(option));
        }
    }
    return extent;
}

/* The text of a stored value; numbers are written into `buffer`. */
static const char *value_text(const struct torc_option *option, const void *settings,
                              char buffer[24])
{
    const uint8_t *at = (const uint8_t *)settings + option->offset;
    union value value;
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        memcpy(&value.yes, at, sizeof value.yes);
        return value.yes ? "yes" : "no";
    case TORC_OPTION_INT:
        memcpy(&value.integer, at, sizeof value.integer);
        (void)snprintf(buffer, 24, "%" PRId64, value.integer);
        return buffer;
    case TORC_OPTION_BYTES:
        memcpy(&value.bytes, at, sizeof value.bytes);
        (void)snprintf(buffer, 24, "%" PRIu64, value.bytes);
        return buffer;
    case TORC_OPTION_ENUM:
        memcpy(&value.word, at, sizeof value.word);
        return option->words[value.word];
    case TORC_OPTION_TEXT:
        break;
    }
    return (const char *)at;
}

static const char *initial_text(const struct torc_option *option)
{
    if (option->initial != NULL) {
        return option->initial;
    }
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        return "no";
    case TORC_OPTION_ENUM:
        return option->words[0];
    case TORC_OPTION_INT:
    case TORC_OPTION_BYTES:
        return "0";
    case TORC_OPTION_TEXT:
        break;
    }
    return "";
}

void torc_options_init(const struct torc_option_table *options, void *settings)
{
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        if (option->alias_of != NULL) {
            assert(torc_options_find(options, option->name) != NULL);
            continue;
        }
        char error[TORC_OPTION_ERROR_BYTES];
        union value value;
        int rc = parse_value(option, initial_text(option), &value, error);
        assert(rc == 0);
        if (rc == 0) {
            store_value(option, settings, &value);
        }
    }
}

/* --- names --- */

static const struct torc_option *find_entry(const struct torc_option_table *options,
                                            const char *name)
{
    for (size_t i = 0; i < options->n; i++) {
        if (strcasecmp(options->table[i].name, name) == 0) {
            return &options->table[i];
        }
    }
    return NULL;
}

const struct torc_option *torc_options_find(const struct torc_option_table *options,
                                            const char *name)
{
    const struct torc_option *option = find_entry(options, name);
    if (option == NULL || option->alias_of == NULL) {
        return option;
    }
    /* One step only: an alias of an alias would be a fault of the table, and is not found. */
    option = find_entry(options, option->alias_of);
    return option != NULL && option->alias_of == NULL ? option : NULL;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) from one name to the other: the optimal
 * string alignment distance by the usual table, of which three rows are kept. Both below
 * NAME_BYTES. */
static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][NAME_BYTES + 1];
    for (unsigned j = 0; j <= b_len; j++) {
        rows[0][j] = j;
    }
    for (unsigned i = 1; i <= a_len; i++) {
        const unsigned *before_last = rows[(i + 1) % 3];
        const unsigned *last = rows[(i + 2) % 3];
        unsigned *row = rows[i % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned edits = least(last[j], row[j - 1]) + 1;
            edits = least(edits, last[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1])) {
                edits = least(edits, before_last[j - 2] + 1);
            }
            row[j] = edits;
        }
    }
    return rows[a_len % 3][b_len];
}

/* The name nearest to `name`, if at most a third of it differs; else NULL. */
static const char *suggestion(const struct torc_option_table *options, const char *name)
{
    size_t len = strlen(name);
    const char *best = NULL;
    unsigned best_edits = UINT32_MAX;
    for (size_t i = 0; len < NAME_BYTES && i < options->n; i++) {
        const char *known = options->table[i].name;
        size_t known_len = strlen(known);
        if (known_len >= NAME_BYTES) {
            continue;
        }
        unsigned edits = edit_distance(name, len, known, known_len);
        if (edits < best_edits && edits <= known_len / 3) {
            best_edits = edits;
            best = known;
        }
    }
    return best;
}

/* Look `name` up and check `text` for it. 0, -ENOENT, -EINVAL. */
static int check_setting(const struct torc_option_table *options, const char *name,
                         const char *text, const struct torc_option **out_option,
                         union value *out_value, char *error)
{
    const struct torc_option *option = torc_options_find(options, name);
    if (option == NULL) {
        const char *meant = suggestion(options, name);
        bool found = meant != NULL;
        (void)torc_options_fail(error, -ENOENT, "unknown option '%s'%s%s%s",
                                torc_options_show(name).text, found ? ", did you mean '" : "",
                                found ? meant : "", found ? "'?" : "");
        return -ENOENT;
    }
    *out_option = option;
    return parse_value(option, text, out_value, error);
}

int torc_options_set(const struct torc_option_table *options, void *settings, const char *name,
                     const char *value, char error[TORC_OPTION_ERROR_BYTES])
{
    const struct torc_option *option = NULL;
    union value checked;
    int rc = check_setting(options, name, value, &option, &checked, error);
    if (rc == 0) {
        store_value(option, settings, &checked);
    }
    return rc;
}

int torc_options_get(const struct torc_option_table *options, const void *settings,
                     const char *name, char *out, size_t size)
{
    const struct torc_option *option = torc_options_find(options, name);
    if (option == NULL) {
        return -ENOENT;
    }
    char buffer[24];
    const char *text = value_text(option, settings, buffer);
    size_t len = strlen(text);
    if (len >= size) {
        return -ENOSPC;
    }
    memcpy(out, text, len + 1);
    return 0;
}
