/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_print.h"

#include <inttypes.h>
#include <strings.h>

static void put_bytes(FILE *out, struct torc_bytes bytes)
{
    if (bytes.len > 0) {
        (void)fwrite(bytes.data, 1, bytes.len, out);
    }
}

/* In double quotes, with escapes that torc_cli_line_split() reads back. */
static void put_quoted(FILE *out, struct torc_bytes bytes)
{
    static const char special[] = "\n\r\t\b\a\\\"";
    static const char names[] = "nrtba\\\"";
    const char *text = bytes.data;
    (void)putc('"', out);
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *at = c != 0 ? strchr(special, c) : NULL;
        if (at != NULL) {
            (void)fprintf(out, "\\%c", names[at - special]);
        } else if (c >= 0x20 && c < 0x7f) {
            (void)putc(c, out);
        } else {
            (void)fprintf(out, "\\x%02x", c);
        }
    }
    (void)putc('"', out);
}

static void put_number(FILE *out, struct torc_bytes bytes)
{
    (void)fputs("(integer) ", out);
    put_bytes(out, bytes);
}

static int count_digits(size_t n)
{
    int digits = 1;
    for (; n >= 10; n /= 10) {
        digits++;
    }
    return digits;
}

/* Numbered items; the first one starts where the line is, the others `indent` blanks further in. */
static void put_items(FILE *out, const struct torc_result *result, int indent,
                      void (*put_item)(FILE *out, struct torc_bytes item))
{
    if (result->count == 0) {
        (void)fputs("(empty array)\n", out);
        return;
    }
    int width = count_digits(result->count);
    for (size_t i = 0; i < result->count; i++) {
        struct torc_bytes item = torc_result_at(result, i);
        (void)fprintf(out, "%*s%*zu) ", i == 0 ? 0 : indent, "", width, i + 1);
        if (item.data == NULL) {
            (void)fputs("(nil)", out);
        } else {
            put_item(out, item);
        }
        (void)putc('\n', out);
    }
}

static void print_for_person(FILE *out, const struct torc_result *result)
{
    switch (result->kind) {
    case TORC_NIL:
        (void)fputs("(nil)\n", out);
        break;
    case TORC_OK_REPLY:
    case TORC_SIMPLE:
        put_bytes(out, result->string);
        (void)putc('\n', out);
        break;
    case TORC_INTEGER:
        (void)fprintf(out, "(integer) %" PRId64 "\n", result->integer);
        break;
    case TORC_STRING:
        put_quoted(out, result->string);
        (void)putc('\n', out);
        break;
    case TORC_ARRAY:
    case TORC_MAP:
        put_items(out, result, 0, put_quoted);
        break;
    case TORC_CURSOR:
        (void)fprintf(out, "1) \"%" PRIu64 "\"\n2) ", result->cursor);
        put_items(out, result, 3, put_quoted);
        break;
    case TORC_ERROR:
        (void)fputs("(error) ", out);
        put_bytes(out, result->string);
        (void)putc('\n', out);
        break;
    }
}

static void print_raw(FILE *out, const struct torc_result *result)
{
    switch (result->kind) {
    case TORC_NIL:
        break;
    case TORC_OK_REPLY:
    case TORC_SIMPLE:
    case TORC_STRING:
    case TORC_ERROR:
        put_bytes(out, result->string);
        break;
    case TORC_INTEGER:
        (void)fprintf(out, "%" PRId64, result->integer);
        break;
    case TORC_CURSOR:
        (void)fprintf(out, "%" PRIu64 "\n", result->cursor);
        break;
    case TORC_ARRAY:
    case TORC_MAP:
        break;
    }
    for (size_t i = 0; i < result->count; i++) {
        if (i > 0) {
            (void)putc('\n', out);
        }
        put_bytes(out, torc_result_at(result, i));
    }
    (void)putc('\n', out);
}

void torc_cli_print(FILE *out, const struct torc_result *result, bool raw)
{
    if (raw) {
        print_raw(out, result);
    } else {
        print_for_person(out, result);
    }
}

void torc_cli_print_numbers(FILE *out, const struct torc_result *result)
{
    if (result->kind == TORC_ARRAY) {
        put_items(out, result, 0, put_number);
    } else {
        print_for_person(out, result);
    }
}

void torc_cli_print_error(FILE *out, const char *text, bool raw)
{
    (void)fprintf(out, "%s%s\n", raw ? "" : "(error) ", text);
}

static bool is_word(struct torc_bytes bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.data, word, bytes.len) == 0;
}

bool torc_cli_is_prose(const struct torc_bytes *words, size_t n_words)
{
    static const char *const commands[][2] = {
        {"info", NULL},       {"client", "list"},         {"client", "info"},
        {"memory", "doctor"}, {"memory", "malloc-stats"}, {"latency", "doctor"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *sub = commands[i][1];
        if (n_words >= 1 && is_word(words[0], commands[i][0]) &&
            (sub == NULL || (n_words >= 2 && is_word(words[1], sub)))) {
            return true;
        }
    }
    return false;
}

bool torc_cli_has_numbers(const struct torc_bytes *words, size_t n_words)
{
    static const char *const commands[] = {
        "hexpire", "hpexpire",    "hexpireat",    "hpexpireat", "httl",
        "hpttl",   "hexpiretime", "hpexpiretime", "hpersist",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (n_words >= 1 && is_word(words[0], commands[i])) {
            return true;
        }
    }
    return false;
}
