/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_line.h"

#include <stdlib.h>
#include <strings.h>

/* Reads `text`, writes behind `to`: a word is never longer than what it is written as. */
struct splitter {
    const char *text, *end;
    char *to;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Behind a backslash inside double quotes. */
static void take_escape(struct splitter *s)
{
    static const char names[] = "nrtba";
    static const char bytes[] = "\n\r\t\b\a";
    if (s->end - s->text >= 3 && s->text[0] == 'x' && hex_digit(s->text[1]) >= 0 &&
        hex_digit(s->text[2]) >= 0) {
        *s->to++ = (char)(hex_digit(s->text[1]) * 16 + hex_digit(s->text[2]));
        s->text += 3;
        return;
    }
    const char *name = *s->text != '\0' ? strchr(names, *s->text) : NULL;
    const char *byte = name != NULL ? &bytes[name - names] : s->text;
    *s->to++ = *byte;
    s->text++;
}

/* Behind the opening quote, up to behind the closing one. */
static bool take_quoted(struct splitter *s, char quote)
{
    while (s->text < s->end && *s->text != quote) {
        bool escapes = *s->text == '\\' && s->end - s->text >= 2;
        if (escapes && quote == '"') {
            s->text++;
            take_escape(s);
        } else if (escapes && s->text[1] == '\'') {
            s->text += 2;
            *s->to++ = '\'';
        } else {
            *s->to++ = *s->text++;
        }
    }
    if (s->text == s->end) {
        return false;
    }
    s->text++;
    return s->text == s->end || is_blank(*s->text);
}

static bool take_word(struct splitter *s)
{
    while (s->text < s->end && !is_blank(*s->text)) {
        char c = *s->text++;
        if (c == '"' || c == '\'') {
            return take_quoted(s, c); /* which ends the word */
        }
        *s->to++ = c;
    }
    return true;
}

int torc_cli_line_split(const char *text, size_t len, struct torc_cli_line *out_line)
{
    /* No more words than every second byte. */
    struct torc_cli_line line = {
        .words = malloc((len / 2 + 1) * sizeof *line.words),
        .bytes = malloc(len + 1),
    };
    if (line.words == NULL || line.bytes == NULL) {
        torc_cli_line_free(&line);
        return -ENOMEM;
    }
    struct splitter s = {text, text + len, line.bytes};
    for (;;) {
        while (s.text < s.end && is_blank(*s.text)) {
            s.text++;
        }
        if (s.text == s.end) {
            break;
        }
        char *start = s.to;
        if (!take_word(&s)) {
            torc_cli_line_free(&line);
            return -EINVAL;
        }
        line.words[line.n_words++] = torc_mem(start, (size_t)(s.to - start));
    }
    *out_line = line;
    return 0;
}

void torc_cli_line_free(struct torc_cli_line *line)
{
    free(line->words);
    free(line->bytes);
}

bool torc_cli_line_says(const struct torc_cli_line *line, const char *command)
{
    return line->n_words > 0 && line->words[0].len == strlen(command) &&
           strncasecmp(line->words[0].data, command, line->words[0].len) == 0;
}
