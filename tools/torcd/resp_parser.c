/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/resp_parser.h"

#include <stdlib.h>
#include <strings.h>

/* Kept out of the hot function, whose frame it would make large. */
#define COLD __attribute__((noinline))

#define FIRST_WORDS 8u
#define KEEP_WORDS  1024u /* more than these are given back with the next request */

void torc_resp_parser_init(struct torc_resp_parser *parser, uint64_t max_bulk)
{
    *parser = (struct torc_resp_parser){.max_bulk = max_bulk, .is_done = true};
}

void torc_resp_parser_fini(struct torc_resp_parser *parser)
{
    free(parser->words);
    *parser = (struct torc_resp_parser){.max_bulk = parser->max_bulk, .is_done = true};
}

static enum torc_resp_outcome fault(struct torc_resp_parser *parser, enum torc_fault what)
{
    parser->fault = what;
    return TORC_RESP_FAULT;
}

/* Ready for the next request. */
static void restart(struct torc_resp_parser *parser)
{
    parser->at = 0;
    parser->searched = 0;
    parser->n_left = 0;
    parser->has_length = false;
    parser->is_done = false;
    parser->n_words = 0;
    if (parser->cap_words > KEEP_WORDS) {
        free(parser->words);
        parser->words = NULL;
        parser->cap_words = 0;
    }
}

COLD static bool grow_words(struct torc_resp_parser *parser)
{
    uint32_t cap = parser->cap_words == 0 ? FIRST_WORDS : 2 * parser->cap_words;
    struct torc_resp_span *words = realloc(parser->words, cap * sizeof *words);
    if (words == NULL) {
        return false;
    }
    parser->words = words;
    parser->cap_words = cap;
    return true;
}

static inline bool add_word(struct torc_resp_parser *parser, size_t at, size_t len)
{
    if (TORC_UNLIKELY(parser->n_words == parser->cap_words) && !grow_words(parser)) {
        return false;
    }
    parser->words[parser->n_words++] =
        (struct torc_resp_span){.at = (uint32_t)at, .len = (uint32_t)len};
    return true;
}

/* A canonical decimal integer (no plus, no leading zeros, no blanks, no "-0"), at most 10 digits:
 * all that headers can use. */
static bool parse_canonical(const uint8_t *text, size_t len, int64_t *out_value)
{
    bool negative = len != 0 && text[0] == '-';
    text += negative;
    len -= negative;
    if (len == 0 || len > 10 || (text[0] == '0' && (len > 1 || negative))) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    *out_value = negative ? -value : value;
    return true;
}

static inline bool is_crlf(const uint8_t *p)
{
    return torc_load_u16(p) == ('\r' | '\n' << 8);
}

/* Nearly every header is a number of one to three digits that is all here. Reads the line behind
 * the type byte, of which five bytes are readable; returns its length with CR LF, or 0 when it is
 * anything else. */
static inline unsigned read_short_header(const uint8_t *line, uint32_t *out_value)
{
    uint32_t value = (uint32_t)line[0] - '0';
    uint32_t next = (uint32_t)line[1] - '0';
    unsigned n = 1;
    if (value > 9) {
        return 0;
    }
    if (next <= 9) {
        if (value == 0) {
            return 0;
        }
        value = value * 10 + next;
        next = (uint32_t)line[2] - '0';
        n = 2;
        if (next <= 9) {
            value = value * 10 + next;
            n = 3;
        }
    }
    *out_value = value;
    return is_crlf(line + n) ? n + 2 : 0;
}

#define SHORT_HEADER_BYTES 6 /* readable bytes that the fast way needs, the type byte included */

/* The number of the header line at parser->at: a type byte, digits, CR LF. On TORC_RESP_REQUEST the
 * value is there and parser->at is behind the line. */
COLD static enum torc_resp_outcome parse_header(struct torc_resp_parser *parser,
                                                const uint8_t *data, size_t len,
                                                enum torc_fault bad_number,
                                                enum torc_fault too_long, int64_t *out_value)
{
    size_t from = parser->searched > parser->at ? parser->searched : parser->at;
    const uint8_t *cr = from < len ? memchr(data + from, '\r', len - from) : NULL;
    if (cr == NULL) {
        parser->searched = len;
        return len - parser->at > TORC_RESP_LINE_MAX ? fault(parser, too_long) : TORC_RESP_MORE;
    }
    size_t cr_at = (size_t)(cr - data);
    parser->searched = cr_at;
    if (cr_at - parser->at > TORC_RESP_LINE_MAX) {
        return fault(parser, too_long);
    }
    if (!parse_canonical(data + parser->at + 1, cr_at - parser->at - 1, out_value)) {
        return fault(parser, bad_number);
    }
    if (cr_at + 1 == len) {
        return TORC_RESP_MORE;
    }
    if (data[cr_at + 1] != '\n') {
        return fault(parser, TORC_FAULT_BAD_CRLF);
    }
    parser->at = cr_at + 2;
    return TORC_RESP_REQUEST;
}

/* The words at the front of the rest that are short and complete: the usual case, in one loop on
 * local variables. Stops at anything else, which parse_words() then looks at. */
static void parse_short_words(struct torc_resp_parser *parser, const uint8_t *data, size_t len)
{
    uint32_t most = parser->cap_words - parser->n_words;
    most = most < parser->n_left ? most : parser->n_left;
    if (most == 0) {
        return; /* room for words is made by whoever needs the first one */
    }
    struct torc_resp_span *to = parser->words + parser->n_words;
    const uint8_t *p = data + parser->at;
    const uint8_t *end = data + len;
    uint32_t n = 0;
    while (n < most && end - p >= SHORT_HEADER_BYTES && *p == '$') {
        uint32_t word_len = 0;
        unsigned head = read_short_header(p + 1, &word_len);
        const uint8_t *word = p + 1 + head;
        if (head == 0 || end - word < (ptrdiff_t)word_len + 2 || !is_crlf(word + word_len)) {
            break;
        }
        to[n++] = (struct torc_resp_span){.at = (uint32_t)(word - data), .len = word_len};
        p = word + word_len + 2;
    }
    parser->at = (size_t)(p - data);
    parser->n_words += n;
    parser->n_left -= n;
}

/* The words of an array whose first line is understood. */
static enum torc_resp_outcome parse_words(struct torc_resp_parser *parser, const uint8_t *data,
                                          size_t len)
{
    while (parser->n_left != 0) {
        if (!parser->has_length) {
            parse_short_words(parser, data, len);
            if (parser->n_left == 0) {
                break;
            }
            if (parser->at >= len) {
                return TORC_RESP_MORE;
            }
            if (data[parser->at] != '$') {
                parser->fault_byte = data[parser->at];
                return fault(parser, TORC_FAULT_EXPECTED_DOLLAR);
            }
            int64_t word_len;
            size_t header_at = parser->at;
            enum torc_resp_outcome outcome = parse_header(parser, data, len, TORC_FAULT_BULK_LENGTH,
                                                          TORC_FAULT_BULK_STRING, &word_len);
            if (outcome != TORC_RESP_REQUEST) {
                return outcome;
            }
            if (word_len < 0 || (uint64_t)word_len > parser->max_bulk) {
                parser->at = header_at;
                return fault(parser, TORC_FAULT_BULK_LENGTH);
            }
            parser->word_len = (uint32_t)word_len;
            parser->has_length = true;
        }
        if (len - parser->at < (size_t)parser->word_len + 2) {
            return TORC_RESP_MORE;
        }
        if (!is_crlf(data + parser->at + parser->word_len)) {
            return fault(parser, TORC_FAULT_BAD_CRLF);
        }
        if (!add_word(parser, parser->at, parser->word_len)) {
            return TORC_RESP_NO_MEMORY;
        }
        parser->at += (size_t)parser->word_len + 2;
        parser->has_length = false;
        parser->n_left--;
    }
    return TORC_RESP_REQUEST;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What \c stands for between double quotes. */
static uint8_t unescape(uint8_t c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return c;
    }
}

/* One word of the inline line [*in_out_from, end): unescaped to its own front, which is never
 * behind what is read. False: unbalanced quotes. */
static bool parse_inline_word(uint8_t *line, size_t *in_out_from, size_t end, size_t *out_len)
{
    size_t from = *in_out_from;
    size_t to = from;
    uint8_t quote = 0;
    for (; from < end; from++) {
        uint8_t c = line[from];
        if (quote == 0) {
            if (is_blank(c)) {
                break;
            }
            if (c == '"' || c == '\'') {
                quote = c;
                continue;
            }
        } else if (c == quote) {
            /* A closing quote ends the word. */
            if (from + 1 < end && !is_blank(line[from + 1])) {
                return false;
            }
            quote = 0;
            from++;
            break;
        } else if (c == '\\' && quote == '"' && end - from >= 4 && line[from + 1] == 'x' &&
                   hex_digit(line[from + 2]) >= 0 && hex_digit(line[from + 3]) >= 0) {
            c = (uint8_t)(hex_digit(line[from + 2]) * 16 + hex_digit(line[from + 3]));
            from += 3;
        } else if (c == '\\' && quote == '"' && end - from >= 2) {
            c = unescape(line[++from]);
        } else if (c == '\\' && quote == '\'' && end - from >= 2 && line[from + 1] == '\'') {
            c = line[++from];
        }
        line[to++] = c;
    }
    *out_len = to - *in_out_from;
    *in_out_from = from;
    return quote == 0;
}

static bool word_is(const uint8_t *word, size_t len, const char *what)
{
    return len == strlen(what) && strncasecmp((const char *)word, what, len) == 0;
}

/* The inline line at the front of `data`. TORC_RESP_REQUEST with n_words 0 is an empty line. */
COLD static enum torc_resp_outcome parse_inline(struct torc_resp_parser *parser, uint8_t *data,
                                                size_t len)
{
    size_t from = parser->searched;
    const uint8_t *newline = from < len ? memchr(data + from, '\n', len - from) : NULL;
    size_t end = newline != NULL ? (size_t)(newline - data) : len;
    if (end > TORC_RESP_LINE_MAX) {
        return fault(parser, TORC_FAULT_INLINE_TOO_BIG);
    }
    if (newline == NULL) {
        parser->searched = len;
        return TORC_RESP_MORE;
    }
    parser->at = end + 1;
    if (end != 0 && data[end - 1] == '\r') {
        end--;
    }
    for (size_t p = 0;;) {
        while (p < end && is_blank(data[p])) {
            p++;
        }
        if (p == end) {
            break;
        }
        size_t word = p;
        size_t word_len;
        if (!parse_inline_word(data, &p, end, &word_len)) {
            return fault(parser, TORC_FAULT_UNBALANCED_QUOTES);
        }
        if (!add_word(parser, word, word_len)) {
            return TORC_RESP_NO_MEMORY;
        }
    }
    /* A web page that posts to our port must not get commands through in its body. */
    if (parser->n_words != 0 &&
        (word_is(data + parser->words[0].at, parser->words[0].len, "post") ||
         word_is(data + parser->words[0].at, parser->words[0].len, "host:"))) {
        return TORC_RESP_FOREIGN;
    }
    return TORC_RESP_REQUEST;
}

/* The first line of the request at the front of `data`. TORC_RESP_REQUEST: an array's words can be
 * parsed, or (n_left 0) the whole request is understood and may have no words. */
static enum torc_resp_outcome parse_start(struct torc_resp_parser *parser, uint8_t *data,
                                          size_t len)
{
    if (data[0] != '*') {
        return parse_inline(parser, data, len);
    }
    if (len >= SHORT_HEADER_BYTES) {
        uint32_t n_words;
        unsigned n = read_short_header(data + 1, &n_words);
        if (TORC_LIKELY(n != 0)) {
            parser->at = 1 + n;
            parser->n_left = n_words;
            return TORC_RESP_REQUEST;
        }
    }
    int64_t count;
    enum torc_resp_outcome outcome = parse_header(parser, data, len, TORC_FAULT_MULTIBULK_LENGTH,
                                                  TORC_FAULT_MULTIBULK_STRING, &count);
    if (outcome != TORC_RESP_REQUEST) {
        return outcome;
    }
    if (count > (int64_t)TORC_RESP_WORDS_MAX) {
        parser->at = 0;
        return fault(parser, TORC_FAULT_MULTIBULK_LENGTH);
    }
    parser->n_left = count > 0 ? (uint32_t)count : 0;
    return TORC_RESP_REQUEST;
}

enum torc_resp_outcome torc_resp_parse(struct torc_resp_parser *parser, uint8_t *data, size_t len,
                                       size_t *out_consumed)
{
    assert(len <= TORC_RESP_BUFFER_MAX);
    size_t skipped = 0;
    if (parser->is_done) {
        restart(parser);
    }
    for (;;) {
        enum torc_resp_outcome outcome = TORC_RESP_REQUEST;
        if (parser->n_left == 0) {
            outcome =
                skipped < len ? parse_start(parser, data + skipped, len - skipped) : TORC_RESP_MORE;
        }
        if (outcome == TORC_RESP_REQUEST) {
            outcome = parse_words(parser, data + skipped, len - skipped);
        }
        if (outcome == TORC_RESP_REQUEST && parser->n_words == 0) {
            /* Empty line or array: no answer is due. */
            skipped += parser->at;
            restart(parser);
            continue;
        }
        if (outcome == TORC_RESP_REQUEST) {
            for (uint32_t i = 0; skipped != 0 && i < parser->n_words; i++) {
                parser->words[i].at += (uint32_t)skipped;
            }
            parser->is_done = true;
            *out_consumed = skipped + parser->at;
        } else {
            *out_consumed = skipped;
        }
        return outcome;
    }
}

/* The shortest word, "$0\r\n\r\n"; so many bytes at its front are readable, and hold a header of up
 * to three digits. */
#define WORD_BYTES_MIN 6u

/* Do the low bytes of `front` begin with `type`, n_digits bytes of any kind, CR LF? */
static inline bool is_line(uint64_t front, char type, unsigned n_digits)
{
    const unsigned shift = 8 * (1 + n_digits);
    const uint64_t mask = 0xff | (uint64_t)0xffff << shift;
    return (front & mask) == ((uint64_t)type | (uint64_t)('\r' | '\n' << 8) << shift);
}

/* The header of `type` in the WORD_BYTES_MIN low bytes of `front`: its length with CR LF, or 0 if
 * it is not a canonical number of one to `digits_max` digits. */
static inline unsigned read_line(uint64_t front, char type, unsigned digits_max,
                                 uint32_t *out_value)
{
    /* A byte below '0' borrows from the next; it is itself too large then, and refused. */
    const uint32_t digits = (uint32_t)(front >> 8) - 0x303030;
    const uint32_t first = (uint8_t)digits;
    const uint32_t second = (uint8_t)(digits >> 8);
    if (is_line(front, type, 2)) {
        *out_value = first * 10 + second;
        return first - 1 <= 8 && second <= 9 ? 5 : 0;
    }
    if (is_line(front, type, 1)) {
        *out_value = first;
        return first <= 9 ? 4 : 0;
    }
    const uint32_t third = (uint8_t)(digits >> 16);
    if (digits_max == 3 && is_line(front, type, 3)) {
        *out_value = (first * 10 + second) * 10 + third;
        return first - 1 <= 8 && second <= 9 && third <= 9 ? 6 : 0;
    }
    return 0;
}

static inline uint64_t load_front(const uint8_t *p)
{
    return torc_load_u32(p) | (uint64_t)torc_load_u16(p + 4) << 32;
}

uint32_t torc_resp_parse_short(const struct torc_resp_parser *parser, const uint8_t *data,
                               size_t len, struct torc_slice *words, size_t most,
                               size_t *out_consumed)
{
    /* What a huge request left is given back by restart(). */
    if (!parser->is_done || parser->cap_words > KEEP_WORDS || len < WORD_BYTES_MIN) {
        return 0;
    }
    uint32_t n_words = 0;
    size_t at = read_line(load_front(data), '*', 2, &n_words);
    if (at == 0 || n_words == 0 || n_words > most) {
        return 0;
    }
    const struct torc_slice *words_end = words + n_words;
    do {
        if (at > len - WORD_BYTES_MIN) {
            return 0;
        }
        uint32_t word_len = 0;
        unsigned head = read_line(load_front(data + at), '$', 3, &word_len);
        at += head;
        size_t word_end = at + word_len;
        if (head == 0 || word_end > len - 2 || !is_crlf(data + word_end)) {
            return 0;
        }
        *words++ = torc_slice_of(data + at, word_len);
        at = word_end + 2;
    } while (words != words_end);
    *out_consumed = at;
    return n_words;
}

size_t torc_resp_parser_wants(const struct torc_resp_parser *parser)
{
    return parser->has_length ? parser->at + parser->word_len + 2 : 0;
}
