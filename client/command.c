/* SPDX-License-Identifier: Apache-2.0
 *
 * Words to a request: the operation by its name, then the arguments as its shape says, numbers
 * read from their text. Wrong words are answered here, in Redis's words, and never sent.
 */
#include "client/torc_private.h"

#include <strings.h>

#define SHOWN_BYTES 128 /* of a name, and of all arguments, in an error text */

/* --- error texts --- */

/* Append bytes that do not break the line; what does not fit is cut. */
static size_t append(char *text, size_t at, size_t cap, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && at < cap - 1; i++) {
        bool breaks = bytes[i] == '\r' || bytes[i] == '\n' || bytes[i] == '\0';
        text[at++] = bytes[i];
        if (breaks) {
            text[at - 1] = ' ';
        }
    }
    text[at] = '\0';
    return at;
}

static size_t append_word(char *text, size_t at, size_t cap, struct torc_bytes word)
{
    return append(text, at, cap, word.data, torc_min_u64(word.len, SHOWN_BYTES));
}

static bool is_container(struct torc_bytes word)
{
    for (unsigned op = 0; op < TORC_OP_LIMIT; op++) {
        const char *name = torc_op_info((uint8_t)op)->name;
        if (name != NULL && strncasecmp(name, word.data, word.len) == 0 && name[word.len] == '|') {
            return true;
        }
    }
    return false;
}

static int fail_arity(struct torc *torc, const char *name)
{
    return torc_failf(torc, TORC_EINVAL, "ERR wrong number of arguments for '%s' command", name);
}

static int fail_unknown(struct torc *torc, const struct torc_bytes *words, size_t n_words)
{
    char name[SHOWN_BYTES + 1] = "";
    (void)append_word(name, 0, sizeof name, words[0]);
    if (words[0].len > 0 && words[0].len <= TORC_OP_NAME_BYTES && is_container(words[0])) {
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)(*c | 0x20); /* a letter */
        }
        if (n_words == 1) {
            return fail_arity(torc, name);
        }
        char sub[SHOWN_BYTES + 1] = "";
        (void)append_word(sub, 0, sizeof sub, words[1]);
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)(*c & ~0x20);
        }
        return torc_failf(torc, TORC_EINVAL, "ERR unknown subcommand '%s'. Try %s HELP.", sub,
                          name);
    }
    if (n_words == 1) {
        return torc_failf(torc, TORC_EINVAL, "ERR unknown command '%s'", name);
    }
    char arguments[2 * SHOWN_BYTES] = "";
    size_t at = 0;
    for (size_t i = 1; i < n_words && at < SHOWN_BYTES; i++) {
        size_t shown = torc_min_u64(words[i].len, SHOWN_BYTES - at);
        at = append(arguments, at, sizeof arguments, "'", 1);
        at = append(arguments, at, sizeof arguments, words[i].data, shown);
        at = append(arguments, at, sizeof arguments, "' ", 2);
    }
    return torc_failf(torc, TORC_EINVAL, "ERR unknown command '%s', with args beginning with: %s",
                      name, arguments);
}

/* --- lookup --- */

/* The op that the first one or two words name. */
static enum torc_op find_op(const struct torc_bytes *words, size_t n_words, size_t *out_name_words)
{
    const char *name = words[0].data;
    size_t len = words[0].len;
    if (len == 0 || len > TORC_OP_NAME_BYTES || memchr(name, '|', len) != NULL) {
        return TORC_OP_NONE;
    }
    enum torc_op op = torc_op_find(name, len);
    *out_name_words = 1;
    if (op != TORC_OP_NONE || n_words < 2) {
        return op;
    }
    /* "container|sub" */
    size_t sub_len = words[1].len;
    if (sub_len == 0 || sub_len >= TORC_OP_NAME_BYTES - len ||
        memchr(words[1].data, '|', sub_len) != NULL) {
        return TORC_OP_NONE;
    }
    char both[TORC_OP_NAME_BYTES];
    memcpy(both, name, len);
    both[len] = '|';
    memcpy(both + len + 1, words[1].data, sub_len);
    *out_name_words = 2;
    return torc_op_find(both, len + 1 + sub_len);
}

/* --- numbers --- */

/* Decimal digits, no more than 2^64 - 1. */
static bool parse_unsigned(const char *text, size_t len, uint64_t *out_value)
{
    if (len == 0) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out_value = value;
    return true;
}

/* A canonical 64-bit number, as Redis takes it: no blanks, no plus, no leading zeros, no "-0". */
static bool parse_signed(const char *text, size_t len, uint64_t *out_value)
{
    if (len == 0) {
        return false;
    }
    bool negative = text[0] == '-';
    const char *digits = text + (negative ? 1 : 0);
    size_t n = len - (negative ? 1 : 0);
    uint64_t magnitude;
    if (!parse_unsigned(digits, n, &magnitude) || (digits[0] == '0' && (n > 1 || negative)) ||
        magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *out_value = negative ? 0 - magnitude : magnitude;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A cursor, as Redis takes it: blanks may stand in front. */
static bool parse_cursor(const char *text, size_t len, uint64_t *out_value)
{
    while (len != 0 && is_blank(text[0])) {
        text++;
        len--;
    }
    return parse_unsigned(text, len, out_value);
}

static bool name_ends_with_scan(const char *name)
{
    size_t len = strlen(name);
    return len >= 4 && strcmp(name + len - 4, "scan") == 0;
}

static bool parse_number(char kind, struct torc_bytes word, uint64_t *out_value)
{
    return kind == 'i' ? parse_signed(word.data, word.len, out_value)
                       : parse_cursor(word.data, word.len, out_value);
}

int torc_words_parse(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                     struct torc_words *out)
{
    if (words == NULL || n_words == 0) {
        return torc_fail(torc, TORC_EINVAL, "no command");
    }
    for (size_t i = 0; i < n_words; i++) {
        if (!torc_bytes_are_valid(words[i])) {
            return torc_fail(torc, TORC_EINVAL, "a word with a length and data NULL");
        }
    }
    size_t at = 0;
    enum torc_op op = find_op(words, n_words, &at);
    if (op == TORC_OP_NONE) {
        return fail_unknown(torc, words, n_words);
    }
    const struct torc_op_info *info = torc_op_info((uint8_t)op);
    if (!torc_op_arity_is_ok(info, n_words)) {
        return fail_arity(torc, info->name);
    }
    struct torc_slice *strings;
    int rc = torc_strings(torc, n_words, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_words parsed = {.op = op, .strings = strings};
    unsigned n_numbers = 0;
    const char *shape = info->shape;
    /* The arity covers the fixed part: see the test of ops. */
    for (; *shape != '\0' && *shape != '*'; shape++, at++) {
        assert(at < n_words);
        if (*shape == 'k' || *shape == 's') {
            strings[parsed.n_strings++] = torc_slice_of_bytes(words[at]);
        } else if (!parse_number(*shape, words[at], &parsed.numbers[n_numbers++])) {
            return torc_fail(torc, TORC_EINVAL,
                             *shape == 'u' && name_ends_with_scan(info->name)
                                 ? "ERR invalid cursor"
                                 : "ERR value is not an integer or out of range");
        }
    }
    if (info->group == 2 && (n_words - at) % 2 != 0) {
        return fail_arity(torc, info->name);
    }
    for (; at < n_words; at++) {
        strings[parsed.n_strings++] = torc_slice_of_bytes(words[at]);
    }
    *out = parsed;
    return TORC_OK;
}
