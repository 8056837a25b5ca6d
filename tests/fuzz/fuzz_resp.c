/* SPDX-License-Identifier: Apache-2.0
 *
 * The RESP parser on any bytes: no access outside of what it was given, and the same outcome
 * however the stream is cut. The first byte says how long the pieces are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "tools/torcd/resp_parser.h"

#define SHORT_WORDS 16u

/* A digest of all that came out. */
struct trace {
    uint64_t digest;
    uint64_t n_requests;
    enum torc_resp_outcome end;
    enum torc_fault fault;
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "fuzz_resp: %s\n", what);
        abort();
    }
}

static void take_request(struct trace *trace, const struct torc_resp_parser *parser,
                         const uint8_t *data, size_t consumed)
{
    require(parser->n_words >= 1, "a request has words");
    for (uint32_t i = 0; i < parser->n_words; i++) {
        struct torc_slice word = torc_resp_word(parser, data, i);
        require(parser->words[i].at <= consumed &&
                    parser->words[i].len <= consumed - parser->words[i].at,
                "a word lies in its request");
        trace->digest = torc_hash_slice(trace->digest + word.len, word);
    }
    trace->digest = trace->digest * 31 + parser->n_words;
    trace->n_requests++;
}

static void require_same(const struct torc_resp_parser *parser, const uint8_t *data,
                         const struct torc_slice *words, uint32_t n_words)
{
    require(n_words == parser->n_words, "as many words by both ways");
    for (uint32_t i = 0; i < n_words; i++) {
        struct torc_slice word = torc_resp_word(parser, data, i);
        require(words[i].data == word.data && words[i].len == word.len, "the same words");
    }
}

/* Parse `len` bytes that arrive in pieces of `piece`. */
static struct trace run(const uint8_t *input, size_t len, size_t piece)
{
    struct trace trace = {.end = TORC_RESP_MORE};
    struct torc_resp_parser parser;
    torc_resp_parser_init(&parser, 1 << 20);
    /* The parser may change what it understood: a copy. Kept at its exact size for sanitizers. */
    uint8_t *pending = NULL;
    size_t n_pending = 0;
    for (size_t at = 0; trace.end == TORC_RESP_MORE && at < len;) {
        size_t n = len - at < piece ? len - at : piece;
        uint8_t *bytes = malloc(n_pending + n);
        require(bytes != NULL, "memory");
        if (n_pending != 0) {
            memcpy(bytes, pending, n_pending);
        }
        memcpy(bytes + n_pending, input + at, n);
        free(pending);
        pending = bytes;
        n_pending += n;
        at += n;
        size_t start = 0;
        do {
            size_t consumed = 0;
            size_t short_consumed = 0;
            struct torc_slice words[SHORT_WORDS];
            uint32_t n_short =
                n_pending == start
                    ? 0
                    : torc_resp_parse_short(&parser, pending + start, n_pending - start, words,
                                            SHORT_WORDS, &short_consumed);
            trace.end = torc_resp_parse(&parser, pending + start, n_pending - start, &consumed);
            require(consumed <= n_pending - start, "consumes what there is");
            if (n_short != 0) {
                require(trace.end == TORC_RESP_REQUEST && short_consumed == consumed,
                        "the quick way takes the request that the parser sees");
                require_same(&parser, pending + start, words, n_short);
            }
            if (trace.end == TORC_RESP_REQUEST) {
                take_request(&trace, &parser, pending + start, consumed);
            }
            start += consumed;
        } while (trace.end == TORC_RESP_REQUEST);
        n_pending -= start;
        memmove(pending, pending + start, n_pending);
    }
    trace.fault = trace.end == TORC_RESP_FAULT ? parser.fault : TORC_FAULT_NONE;
    free(pending);
    torc_resp_parser_fini(&parser);
    return trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct trace whole = run(data + 1, size - 1, size);
    struct trace cut = run(data + 1, size - 1, 1 + data[0] % 16);
    require(whole.end == cut.end && whole.fault == cut.fault &&
                whole.n_requests == cut.n_requests && whole.digest == cut.digest,
            "the outcome depends on how the stream is cut");
    return 0;
}
