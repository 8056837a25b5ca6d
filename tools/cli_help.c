/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_help.h"

#include <stdlib.h>
#include <strings.h>

/* Arguments that the shape does not tell. */
static const struct {
    enum torc_op op;
    const char *text;
} arguments_of[] = {
    {TORC_OP_PING, "[message]"},
    {TORC_OP_ECHO, "message"},
    {TORC_OP_SELECT, "index"},
    {TORC_OP_QUIT, ""},
    {TORC_OP_COMMAND, "[COUNT|LIST|INFO|DOCS] [name ...]"},
    {TORC_OP_INFO, "[section ...]"},
    {TORC_OP_FLUSHALL, "[ASYNC|SYNC]"},
    {TORC_OP_HEXPIRE, "key seconds [NX|XX|GT|LT] FIELDS count field [field ...]"},
    {TORC_OP_HPEXPIRE, "key milliseconds [NX|XX|GT|LT] FIELDS count field [field ...]"},
    {TORC_OP_HEXPIREAT, "key unix-seconds [NX|XX|GT|LT] FIELDS count field [field ...]"},
    {TORC_OP_HPEXPIREAT, "key unix-milliseconds [NX|XX|GT|LT] FIELDS count field [field ...]"},
    {TORC_OP_HTTL, "key FIELDS count field [field ...]"},
    {TORC_OP_HPTTL, "key FIELDS count field [field ...]"},
    {TORC_OP_HEXPIRETIME, "key FIELDS count field [field ...]"},
    {TORC_OP_HPEXPIRETIME, "key FIELDS count field [field ...]"},
    {TORC_OP_HPERSIST, "key FIELDS count field [field ...]"},
    {TORC_OP_HGETEX, "key [EX seconds|PX milliseconds|EXAT unix-seconds|PXAT "
                     "unix-milliseconds|PERSIST] FIELDS count field [field ...]"},
    {TORC_OP_HSETEX, "key [FNX|FXX] [EX seconds|PX milliseconds|EXAT unix-seconds|PXAT "
                     "unix-milliseconds|KEEPTTL] FIELDS count field value [field value ...]"},
    {TORC_OP_HGETDEL, "key FIELDS count field [field ...]"},
    {TORC_OP_EXPIRE, "key seconds [NX|XX|GT|LT]"},
    {TORC_OP_PEXPIRE, "key milliseconds [NX|XX|GT|LT]"},
    {TORC_OP_EXPIREAT, "key unix-seconds [NX|XX|GT|LT]"},
    {TORC_OP_PEXPIREAT, "key unix-milliseconds [NX|XX|GT|LT]"},
    {TORC_OP_COPY, "source destination [DB index] [REPLACE]"},
    {TORC_OP_RENAME, "key newkey"},
    {TORC_OP_RENAMENX, "key newkey"},
    {TORC_OP_MEMORY_USAGE, "key [SAMPLES count]"},
    {TORC_OP_OPTIMIZE, "key|ALL"},
};

static const char *const own_names[] = {"exit", "help", "quit"};

/* --- arguments --- */

static bool starts_with(const char *name, char c)
{
    return name[0] == c;
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* What the string number `i` of the repeated part, or behind the key, is. */
static const char *string_name(const char *name, size_t i)
{
    return !starts_with(name, 'h') ? "string" : i % 2 == 0 ? "field" : "value";
}

static void add(char out[TORC_CLI_HINT_BYTES], const char *before, const char *word)
{
    size_t at = strlen(out);
    (void)snprintf(out + at, TORC_CLI_HINT_BYTES - at, "%s%s", before, word);
}

/* The words of the part of a shape that repeats, in front of which `lead` stands. */
static void add_group(char out[TORC_CLI_HINT_BYTES], const char *lead,
                      const struct torc_op_info *info, const char *group)
{
    for (size_t i = 0; group[i] != '\0'; i++) {
        add(out, i == 0 ? lead : " ", group[i] == 'k' ? "key" : string_name(info->name, i));
    }
}

void torc_cli_arguments(enum torc_op op, char out[TORC_CLI_HINT_BYTES])
{
    out[0] = '\0';
    for (size_t i = 0; i < sizeof arguments_of / sizeof arguments_of[0]; i++) {
        if (arguments_of[i].op == op) {
            add(out, "", arguments_of[i].text);
            return;
        }
    }
    const struct torc_op_info *info = torc_op_info((uint8_t)op);
    bool scans = ends_with(info->name, "scan");
    size_t n_strings = 0;
    size_t n_words = 1 + (strchr(info->name, '|') != NULL); /* so far */
    const char *shape = info->shape;
    for (; *shape != '\0' && *shape != '*'; shape++, n_words++) {
        const char *blank = out[0] != '\0' ? " " : "";
        switch (*shape) {
        case 'k':
            add(out, blank, "key");
            break;
        case 's':
            add(out, blank, string_name(info->name, n_strings++));
            break;
        default:
            add(out, blank, scans && *shape == 'u' ? "cursor" : "number");
            break;
        }
    }
    if (*shape == '\0') {
        return;
    }
    if (scans) {
        add(out, " ", "[MATCH pattern] [COUNT count]");
        return;
    }
    /* Once as it must stand, if it must, and once as it may go on. */
    const char *blank = out[0] != '\0' ? " " : "";
    if (!torc_op_arity_is_ok(info, n_words)) {
        add_group(out, blank, info, shape + 1);
        blank = " ";
    }
    add(out, blank, "");
    add_group(out, "[", info, shape + 1);
    add(out, "", " ...]");
}

/* --- words of a line --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct word {
    const char *text;
    size_t len;
};

/* The first words of a line, by blanks; the last one ends where the line does, and is empty behind
 * a blank. Returns how many words there are in all, of which `words` has the first two. */
static size_t split(const char *line, size_t len, struct word words[2])
{
    size_t n = 0;
    size_t at = 0;
    while (at < len && is_blank(line[at])) {
        at++;
    }
    for (;;) {
        size_t start = at;
        while (at < len && !is_blank(line[at])) {
            at++;
        }
        if (n < 2) {
            words[n] = (struct word){line + start, at - start};
        }
        n++;
        if (at == len) {
            return n;
        }
        while (at < len && is_blank(line[at])) {
            at++;
        }
    }
}

static bool word_is(struct word word, const char *text, size_t len)
{
    return word.len == len && strncasecmp(word.text, text, len) == 0;
}

/* --- names --- */

static void add_name(struct torc_cli_completion *completion, struct word word, const char *name,
                     size_t len)
{
    if (len < word.len || strncasecmp(name, word.text, word.len) != 0) {
        return;
    }
    /* By insertion: there are some dozens. */
    size_t at = completion->n;
    for (; at > 0; at--) {
        size_t other_len = completion->name_len[at - 1];
        int order = memcmp(completion->names[at - 1], name, other_len < len ? other_len : len);
        if (order == 0 && other_len == len) {
            return; /* another subcommand of the same container: those in between are alike too */
        }
        if (order < 0 || (order == 0 && other_len < len)) {
            break;
        }
    }
    for (size_t i = completion->n; i > at; i--) {
        completion->names[i] = completion->names[i - 1];
        completion->name_len[i] = completion->name_len[i - 1];
    }
    completion->names[at] = name;
    completion->name_len[at] = len;
    completion->n++;
}

static void add_first_words(struct torc_cli_completion *completion, struct word word)
{
    for (unsigned op = 1; op < TORC_OP_LIMIT; op++) {
        const char *name = torc_op_info((uint8_t)op)->name;
        if (name != NULL) {
            add_name(completion, word, name, strcspn(name, "|"));
        }
    }
}

static void add_second_words(struct torc_cli_completion *completion, struct word container,
                             struct word word)
{
    for (unsigned op = 1; op < TORC_OP_LIMIT; op++) {
        const char *name = torc_op_info((uint8_t)op)->name;
        const char *bar = name != NULL ? strchr(name, '|') : NULL;
        if (bar != NULL && word_is(container, name, (size_t)(bar - name))) {
            add_name(completion, word, bar + 1, strlen(bar + 1));
        }
    }
}

void torc_cli_complete(const char *line, size_t len, struct torc_cli_completion *out_completion)
{
    struct word words[2];
    size_t n_words = split(line, len, words);
    struct torc_cli_completion *c = out_completion;
    c->n = 0;
    c->word_len = n_words <= 2 ? words[n_words - 1].len : 0;
    if (n_words == 1) {
        add_first_words(c, words[0]);
        for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++) {
            add_name(c, words[0], own_names[i], strlen(own_names[i]));
        }
    } else if (n_words == 2 && word_is(words[0], "help", 4)) {
        add_first_words(c, words[1]);
    } else if (n_words == 2) {
        add_second_words(c, words[0], words[1]);
    }
    c->common = c->n > 0 ? c->name_len[0] : c->word_len;
    for (size_t i = 1; i < c->n; i++) {
        size_t same = 0;
        while (same < c->common && same < c->name_len[i] &&
               c->names[0][same] == c->names[i][same]) {
            same++;
        }
        c->common = same;
    }
}

/* The op that one or two words name. */
static enum torc_op find_op(struct word first, struct word second, bool has_second,
                            size_t *out_name_words)
{
    *out_name_words = 1;
    enum torc_op op = TORC_OP_NONE;
    if (first.len > 0 && memchr(first.text, '|', first.len) == NULL) {
        op = torc_op_find(first.text, first.len);
    }
    if (op != TORC_OP_NONE || !has_second || first.len + 1 + second.len > TORC_OP_NAME_BYTES) {
        return op;
    }
    char both[TORC_OP_NAME_BYTES + 1];
    int len = snprintf(both, sizeof both, "%.*s|%.*s", (int)first.len, first.text, (int)second.len,
                       second.text);
    *out_name_words = 2;
    return torc_op_find(both, (size_t)len);
}

void torc_cli_hint(const char *line, size_t len, char out[TORC_CLI_HINT_BYTES])
{
    struct word words[2];
    size_t name_words = 0;
    size_t n_words = split(line, len, words) - 1; /* the last one is being typed */
    out[0] = '\0';
    if (n_words == 0) {
        return;
    }
    enum torc_op op = find_op(words[0], words[1], n_words >= 2, &name_words);
    if (op == TORC_OP_NONE) {
        return;
    }
    char all[TORC_CLI_HINT_BYTES];
    torc_cli_arguments(op, all);
    const char *left = all;
    for (size_t typed = n_words - name_words; typed > 0 && *left != '\0' && *left != '['; typed--) {
        left += strcspn(left, " ");
        left += *left == ' ';
    }
    add(out, "", left);
}

/* --- help --- */

/* The name of a command, its bar a blank, and its arguments. */
static void print_op(FILE *out, enum torc_op op)
{
    char arguments[TORC_CLI_HINT_BYTES];
    torc_cli_arguments(op, arguments);
    for (const char *c = torc_op_info((uint8_t)op)->name; *c != '\0'; c++) {
        (void)putc(*c == '|' ? ' ' : *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
    }
    (void)fprintf(out, "%s%s\n", arguments[0] != '\0' ? " " : "", arguments);
}

bool torc_cli_print_help(FILE *out, const char *word, size_t len)
{
    bool found = false;
    for (unsigned op = 1; op < TORC_OP_LIMIT; op++) {
        const char *name = torc_op_info((uint8_t)op)->name;
        if (name != NULL && strncasecmp(name, word, len) == 0) {
            print_op(out, (enum torc_op)op);
            found = true;
        }
    }
    return found;
}
