/* SPDX-License-Identifier: Apache-2.0
 *
 * Parser of RESP requests: arrays of bulk strings, and inline lines. Incremental: it is called
 * again with the same unfinished request and more bytes, and goes on where it stopped, so that no
 * byte is looked at twice however the stream is cut. Strict, with Redis's texts for what it
 * refuses; where Redis is careless (the bytes behind a bulk, cut headers) it demands CR LF.
 *
 * Words are spans into the caller's buffer; nothing is copied. Quoted inline words are unescaped in
 * place. A count or length in a header never reserves memory.
 *
 * Thread: one at a time.
 */
#ifndef TORC_TORCD_RESP_PARSER_H
#define TORC_TORCD_RESP_PARSER_H

#include "core/slice.h"
#include "tools/torcd/errors.h"

#define TORC_RESP_LINE_MAX   ((size_t)64 * 1024) /* longest header or inline line */
#define TORC_RESP_WORDS_MAX  2147483647u         /* of one request, as Redis */
#define TORC_RESP_BUFFER_MAX (1u << 30)          /* most bytes of one request: spans are 32-bit */

struct torc_resp_span {
    uint32_t at; /* from the first byte of the request */
    uint32_t len;
};

enum torc_resp_outcome {
    TORC_RESP_MORE,    /* unfinished: call again with more bytes */
    TORC_RESP_REQUEST, /* n_words >= 1 spans stand ready */
    TORC_RESP_FAULT,   /* answer the fault, then close */
    TORC_RESP_FOREIGN, /* an HTTP request: close without a word */
    TORC_RESP_NO_MEMORY,
};

struct torc_resp_parser {
    uint64_t max_bulk; /* longest word */

    struct torc_resp_span *words; /* n_words of them, owned */
    uint32_t n_words;
    uint32_t cap_words;

    enum torc_fault fault; /* after TORC_RESP_FAULT */
    uint8_t fault_byte;    /* with TORC_FAULT_EXPECTED_DOLLAR */

    /* Where the unfinished request stands; all zero between requests. */
    size_t at;         /* bytes understood; with a fault, up to the header or bulk that is wrong */
    size_t searched;   /* no line end before this one */
    uint32_t n_left;   /* words still to come; 0: the first line is still to come */
    bool has_length;   /* the next word's header is understood */
    uint32_t word_len; /* then: its length */
    bool is_done;      /* no request is unfinished: start afresh */
};

void torc_resp_parser_init(struct torc_resp_parser *parser, uint64_t max_bulk);
void torc_resp_parser_fini(struct torc_resp_parser *parser);

/* Parse the `len` bytes at `data`, which start with the request that is unfinished, if one is (the
 * same bytes as before, perhaps at another address, and more behind them).
 *
 * *out_consumed bytes from the front are done with: with TORC_RESP_REQUEST the request (the words
 * are good until the bytes change or the next call), with TORC_RESP_MORE empty lines and empty
 * arrays that need no answer. With a fault all the rest is worthless. len is at most
 * TORC_RESP_BUFFER_MAX. Cost: O(new bytes), bodies of bulk strings not looked at. */
enum torc_resp_outcome torc_resp_parse(struct torc_resp_parser *parser, uint8_t *data, size_t len,
                                       size_t *out_consumed) TORC_MUST_USE;

/* The same for the usual request: an array of at most 99 words that begins at `data`, all of it is
 * here, and no header but those of words of 0 to 999 bytes. Its words are put at `words`, at most
 * `most` of them (at least 1), which are good until the bytes change.
 *
 * Returns their number and the bytes of the request, or 0 for anything else, at which only
 * torc_resp_parse() knows what it is: call that. The parser is not changed. */
uint32_t torc_resp_parse_short(const struct torc_resp_parser *parser, const uint8_t *data,
                               size_t len, struct torc_slice *words, size_t most,
                               size_t *out_consumed) TORC_MUST_USE;

/* Forget what was understood of the request behind the last one that was given: it will be parsed
 * again from its front. */
static inline void torc_resp_parser_rewind(struct torc_resp_parser *parser)
{
    parser->is_done = true;
}

/* Bytes that the unfinished request takes for sure, from its front, when that is more than it has:
 * inside a bulk string. Else 0. */
size_t torc_resp_parser_wants(const struct torc_resp_parser *parser);

/* Bytes of memory held for words. */
static inline size_t torc_resp_parser_bytes(const struct torc_resp_parser *parser)
{
    return parser->cap_words * sizeof *parser->words;
}

static inline struct torc_slice torc_resp_word(const struct torc_resp_parser *parser,
                                               const uint8_t *data, uint32_t i)
{
    return torc_slice_of(data + parser->words[i].at, parser->words[i].len);
}

#endif
