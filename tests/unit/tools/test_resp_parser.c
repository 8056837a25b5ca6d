/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/torcd/resp_parser.h"

#define MAX_BULK    (512ull * 1024 * 1024)
#define SHORT_WORDS 128u

/* What came out of a stream, as text: each word in brackets, requests apart by '/', at the end '!'
 * and a fault's text, or '#' for a foreign protocol. */
struct outcome {
    char text[8192];
    size_t len;
};

static void put(struct outcome *o, const void *bytes, size_t n)
{
    ck_assert_uint_lt(o->len + n, sizeof o->text);
    memcpy(o->text + o->len, bytes, n);
    o->len += n;
    o->text[o->len] = '\0';
}

static void put_request(struct outcome *o, const struct torc_resp_parser *parser,
                        const uint8_t *data)
{
    for (uint32_t i = 0; i < parser->n_words; i++) {
        struct torc_slice word = torc_resp_word(parser, data, i);
        put(o, "[", 1);
        put(o, word.data, word.len);
        put(o, "]", 1);
    }
    put(o, "/", 1);
}

/* The quick way found the words that the parser did. */
static void require_same(const struct torc_resp_parser *parser, const uint8_t *data,
                         const struct torc_slice *words, uint32_t n_words)
{
    ck_assert_uint_eq(n_words, parser->n_words);
    for (uint32_t i = 0; i < n_words; i++) {
        struct torc_slice word = torc_resp_word(parser, data, i);
        ck_assert_ptr_eq(words[i].data, word.data);
        ck_assert_uint_eq(words[i].len, word.len);
    }
}

/* Feed `input` in pieces: the k-th piece ends at cuts[k]. The unfinished rest is moved to fresh
 * memory of just its size before each call, so that a sanitizer sees any look beyond it. */
static void feed(const char *input, size_t len, const size_t *cuts, size_t n_cuts,
                 struct outcome *o)
{
    struct torc_resp_parser parser;
    torc_resp_parser_init(&parser, MAX_BULK);
    uint8_t *pending = NULL;
    size_t n_pending = 0;
    size_t at = 0;
    bool is_over = false;
    memset(o, 0, sizeof *o);
    for (size_t k = 0; k <= n_cuts && !is_over; k++) {
        size_t end = cuts != NULL && k < n_cuts ? cuts[k] : len;
        uint8_t *bytes = malloc(n_pending + (end - at) + 1);
        ck_assert_ptr_nonnull(bytes);
        if (n_pending != 0) {
            memcpy(bytes, pending, n_pending);
        }
        memcpy(bytes + n_pending, input + at, end - at);
        n_pending += end - at;
        at = end;
        free(pending);
        pending = bytes;
        for (;;) {
            size_t consumed = 0;
            uint8_t *exact = malloc(n_pending == 0 ? 1 : n_pending);
            ck_assert_ptr_nonnull(exact);
            memcpy(exact, pending, n_pending);
            size_t short_consumed = 0;
            struct torc_slice words[SHORT_WORDS];
            uint32_t n_short = torc_resp_parse_short(&parser, exact, n_pending, words, SHORT_WORDS,
                                                     &short_consumed);
            enum torc_resp_outcome outcome = torc_resp_parse(&parser, exact, n_pending, &consumed);
            if (n_short != 0) {
                ck_assert_int_eq(outcome, TORC_RESP_REQUEST);
                require_same(&parser, exact, words, n_short);
                ck_assert_uint_eq(short_consumed, consumed);
            }
            if (outcome == TORC_RESP_REQUEST) {
                ck_assert_uint_ge(parser.n_words, 1);
                put_request(o, &parser, exact);
            }
            free(exact);
            ck_assert_uint_le(consumed, n_pending);
            n_pending -= consumed;
            memmove(pending, pending + consumed, n_pending);
            if (outcome == TORC_RESP_REQUEST) {
                continue;
            }
            if (outcome == TORC_RESP_MORE) {
                size_t wants = torc_resp_parser_wants(&parser);
                ck_assert(wants == 0 || wants > n_pending);
            } else if (outcome == TORC_RESP_FAULT) {
                char buffer[TORC_FAULT_TEXT_BYTES];
                struct torc_slice text = torc_fault_text(
                    parser.fault, torc_slice_of(&parser.fault_byte, 1), torc_slice_str(""), buffer);
                put(o, "!", 1);
                put(o, text.data, text.len);
                is_over = true;
            } else {
                ck_assert_int_eq(outcome, TORC_RESP_FOREIGN);
                put(o, "#", 1);
                is_over = true;
            }
            break;
        }
    }
    free(pending);
    torc_resp_parser_fini(&parser);
}

/* The outcome must not depend on how the stream is cut: whole, cut once anywhere, byte by byte. */
static void expect(const char *input, size_t len, const char *wanted)
{
    struct outcome o;
    feed(input, len, NULL, 0, &o);
    ck_assert_str_eq(o.text, wanted);
    for (size_t cut = 0; cut <= len; cut++) {
        feed(input, len, &cut, 1, &o);
        ck_assert_msg(strcmp(o.text, wanted) == 0, "cut at %zu of %.60s: %s", cut, input, o.text);
    }
    size_t *cuts = malloc((len + 1) * sizeof *cuts);
    ck_assert_ptr_nonnull(cuts);
    for (size_t i = 0; i <= len; i++) {
        cuts[i] = i;
    }
    feed(input, len, cuts, len + 1, &o);
    ck_assert_str_eq(o.text, wanted);
    free(cuts);
}

#define EXPECT(input, wanted) expect((input), sizeof(input) - 1, (wanted))

START_TEST(arrays_of_bulks_give_their_words)
{
    EXPECT("*1\r\n$4\r\nPING\r\n", "[PING]/");
    EXPECT("*3\r\n$4\r\nHGET\r\n$1\r\nk\r\n$2\r\nff\r\n", "[HGET][k][ff]/");
    EXPECT("*2\r\n$0\r\n\r\n$3\r\na\r\n\r\n", "[][a\r\n]/");
    EXPECT("*2\r\n$12\r\nabcdefghijkl\r\n$1\r\n*\r\n", "[abcdefghijkl][*]/");
}
END_TEST

START_TEST(pipelined_requests_come_one_by_one)
{
    EXPECT("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\nPING\r\n*1\r\n$1\r\na\r\n",
           "[PING]/[ECHO][x]/[PING]/[a]/");
    EXPECT("PING\nPING\r\nECHO x\n*1\r\n$4\r\nPING\r\n", "[PING]/[PING]/[ECHO][x]/[PING]/");
}
END_TEST

START_TEST(empty_lines_and_empty_arrays_are_skipped)
{
    EXPECT("\r\n\n  \t \r\nPING\n", "[PING]/");
    EXPECT("*0\r\n*-1\r\n*-10\r\n*1\r\n$1\r\na\r\n", "[a]/");
    EXPECT("\r\n\r\n", "");
}
END_TEST

START_TEST(inline_words_are_split_at_blanks)
{
    EXPECT("hset  k\ta b \r\n", "[hset][k][a][b]/");
    EXPECT(" lead\n", "[lead]/");
    EXPECT("a\vb\fc\n", "[a][b][c]/");
}
END_TEST

START_TEST(inline_quotes_and_escapes_are_undone)
{
    EXPECT("set \"a b\" 'c d'\n", "[set][a b][c d]/");
    EXPECT("x \"\\n\\r\\t\\b\\a\\x41\\\"\\\\\\q\"\n", "[x][\n\r\t\b\aA\"\\q]/");
    EXPECT("x '\\n \\' \\x41'\n", "[x][\\n ' \\x41]/");
    EXPECT("x \"\" ''\r\n", "[x][][]/");
    EXPECT("x \"\\x4\"\n", "[x][x4]/");
    EXPECT("a\"b c\"\n", "[ab c]/");
}
END_TEST

START_TEST(unbalanced_quotes_are_a_protocol_error)
{
    static const char wanted[] = "!ERR Protocol error: unbalanced quotes in request";
    EXPECT("x \"abc\n", wanted);
    EXPECT("x 'abc\r\n", wanted);
    EXPECT("\"a\"b\r\n", wanted);
    EXPECT("'a'b\n", wanted);
    EXPECT("x \"a\\\"\n", wanted);
    EXPECT("a\"b\r\n", wanted);
}
END_TEST

START_TEST(bad_multibulk_lengths_are_a_protocol_error)
{
    static const char wanted[] = "!ERR Protocol error: invalid multibulk length";
    EXPECT("*abc\r\n", wanted);
    EXPECT("*\r\n", wanted);
    EXPECT("*+1\r\n", wanted);
    EXPECT("*01\r\n", wanted);
    EXPECT("*-0\r\n", wanted);
    EXPECT("* 1\r\n", wanted);
    EXPECT("*1 \r\n", wanted);
    EXPECT("*2147483648\r\n", wanted);
    EXPECT("*99999999999999999999\r\n", wanted);
    EXPECT("*1\n$4\r\nPING\r\n", wanted);
    EXPECT("*2147483647\r\n", "");
}
END_TEST

START_TEST(bad_bulk_lengths_are_a_protocol_error)
{
    static const char wanted[] = "!ERR Protocol error: invalid bulk length";
    EXPECT("*1\r\n$x\r\n", wanted);
    EXPECT("*1\r\n$\r\n", wanted);
    EXPECT("*1\r\n$-1\r\n", wanted);
    EXPECT("*1\r\n$-5\r\n", wanted);
    EXPECT("*1\r\n$00\r\n", wanted);
    EXPECT("*1\r\n$+4\r\nPING\r\n", wanted);
    EXPECT("*1\r\n$536870913\r\n", wanted);
    EXPECT("*2\r\n$1\r\na\r\n$9999999999999\r\n", wanted);
    EXPECT("*1\r\n$536870912\r\n", "");
}
END_TEST

START_TEST(anything_but_a_dollar_is_named)
{
    EXPECT("*1\r\nPING\r\n", "!ERR Protocol error: expected '$', got 'P'");
    EXPECT("*2\r\n$1\r\na\r\n:1\r\n", "!ERR Protocol error: expected '$', got ':'");
    EXPECT("*1\r\n\r\n", "!ERR Protocol error: expected '$', got ' '");
}
END_TEST

START_TEST(a_bulk_must_end_with_crlf)
{
    static const char wanted[] = "!ERR Protocol error: invalid CRLF in request";
    EXPECT("*1\r\n$4\r\nPINGxx", wanted);
    EXPECT("*1\r\n$4\r\nPING\rx", wanted);
    EXPECT("*1\r\n$4\r\nPING\n\n", wanted);
    EXPECT("*1\rx", wanted);
    EXPECT("*1\r\n$1\rx", wanted);
}
END_TEST

START_TEST(valid_requests_before_an_error_are_kept)
{
    EXPECT("PING\r\n*1\r\n$1\r\na\r\n*x\r\nPING\r\n",
           "[PING]/[a]/!ERR Protocol error: invalid multibulk length");
}
END_TEST

START_TEST(http_requests_are_foreign)
{
    EXPECT("POST / HTTP/1.1\r\n", "#");
    EXPECT("post x\n", "#");
    EXPECT("Host: example\r\n", "#");
    EXPECT("hOST: example\r\n", "#");
    EXPECT("POSTED x\n", "[POSTED][x]/");
}
END_TEST

/* A stream of `n` bytes `fill` behind `front`, fed at once and in pieces of 4,096 and 65,537. */
static void expect_long(const char *front, char fill, size_t n, const char *back,
                        const char *wanted)
{
    size_t len = strlen(front) + n + strlen(back);
    char *input = malloc(len + 1);
    ck_assert_ptr_nonnull(input);
    char *end = stpcpy(input, front);
    memset(end, fill, n);
    (void)stpcpy(end + n, back);
    static const size_t pieces[] = {4096, 65537, 1 << 30};
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        size_t cuts[64];
        size_t n_cuts = 0;
        for (size_t at = pieces[p]; at < len; at += pieces[p]) {
            cuts[n_cuts++] = at;
        }
        struct outcome o;
        feed(input, len, cuts, n_cuts, &o);
        ck_assert_str_eq(o.text, wanted);
    }
    free(input);
}

START_TEST(lines_without_end_are_refused_at_64_kib)
{
    expect_long("", 'a', 65537, "", "!ERR Protocol error: too big inline request");
    expect_long("", 'a', 65536, "", "");
    expect_long("*", '1', 65537, "", "!ERR Protocol error: too big mbulk count string");
    expect_long("*1\r\n$", '1', 65537, "", "!ERR Protocol error: too big bulk count string");
    /* Also when the end is there: what a client gets must not depend on how its bytes are cut. */
    expect_long("", ' ', 65537, "PING\r\n", "!ERR Protocol error: too big inline request");
    expect_long("", ' ', 65000, "PING\r\n", "[PING]/");
    expect_long("*", '1', 65537, "\r\n", "!ERR Protocol error: too big mbulk count string");
}
END_TEST

START_TEST(nul_and_high_bytes_are_ordinary)
{
    static const char input[] = "*2\r\n$5\r\n\xff\xfe*\r\n\r\n$3\r\na\0b\r\nx\0y \0\n";
    static const char wanted[] = "[\xff\xfe*\r\n][a\0b]/[x\0y][\0]/";
    struct outcome o;
    feed(input, sizeof input - 1, NULL, 0, &o);
    ck_assert_uint_eq(o.len, sizeof wanted - 1);
    ck_assert_mem_eq(o.text, wanted, sizeof wanted - 1);
}
END_TEST

START_TEST(a_count_alone_reserves_no_memory)
{
    struct torc_resp_parser parser;
    torc_resp_parser_init(&parser, MAX_BULK);
    uint8_t input[] = "*2147483647\r\n$536870912\r\n";
    size_t consumed;
    enum torc_resp_outcome outcome = torc_resp_parse(&parser, input, sizeof input - 1, &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_MORE);
    ck_assert_uint_eq(torc_resp_parser_bytes(&parser), 0);
    torc_resp_parser_fini(&parser);
}
END_TEST

START_TEST(memory_of_a_wide_request_is_given_back)
{
    enum { N = 5000 };
    struct torc_resp_parser parser;
    torc_resp_parser_init(&parser, MAX_BULK);
    char *input = malloc(N * 8 + 64);
    ck_assert_ptr_nonnull(input);
    int len = snprintf(input, 64, "*%d\r\n", N);
    for (int i = 0; i < N; i++) {
        len += snprintf(input + len, 16, "$1\r\nx\r\n");
    }
    int first = len;
    len += snprintf(input + len, 16, "PING\r\n");
    size_t consumed;
    enum torc_resp_outcome outcome =
        torc_resp_parse(&parser, (uint8_t *)input, (size_t)len, &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_REQUEST);
    ck_assert_uint_eq(parser.n_words, N);
    ck_assert_uint_eq(consumed, (size_t)first);
    ck_assert_uint_ge(torc_resp_parser_bytes(&parser), N * sizeof(struct torc_resp_span));
    outcome = torc_resp_parse(&parser, (uint8_t *)input + first, (size_t)(len - first), &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_REQUEST);
    ck_assert_uint_eq(parser.n_words, 1);
    ck_assert_uint_lt(torc_resp_parser_bytes(&parser), 4096);
    torc_resp_parser_fini(&parser);
    free(input);
}
END_TEST

START_TEST(a_long_body_is_not_looked_at_before_it_is_complete)
{
    struct torc_resp_parser parser;
    torc_resp_parser_init(&parser, MAX_BULK);
    uint8_t input[] = "*1\r\n$100000\r\nabc";
    size_t consumed;
    enum torc_resp_outcome outcome = torc_resp_parse(&parser, input, sizeof input - 1, &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_MORE);
    ck_assert_uint_eq(torc_resp_parser_wants(&parser), 4 + 9 + 100000 + 2);
    torc_resp_parser_fini(&parser);
}
END_TEST

/* What torc_resp_parse_short() says of all of `input`, in memory of just its size. */
static uint32_t short_words(const char *input, size_t most)
{
    struct torc_resp_parser parser;
    struct torc_slice words[SHORT_WORDS];
    size_t consumed = 0;
    const struct torc_slice text = torc_slice_str(input);
    const size_t len = text.len;
    uint8_t *exact = malloc(len == 0 ? 1 : len);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text.data, len);
    torc_resp_parser_init(&parser, MAX_BULK);
    uint32_t n = torc_resp_parse_short(&parser, exact, len, words, most, &consumed);
    ck_assert_uint_eq(consumed, n != 0 ? len : 0);
    torc_resp_parser_fini(&parser);
    free(exact);
    return n;
}

START_TEST(short_requests_are_taken_at_once)
{
    ck_assert_uint_eq(short_words("*1\r\n$4\r\nPING\r\n", SHORT_WORDS), 1);
    ck_assert_uint_eq(short_words("*2\r\n$1\r\na\r\n$0\r\n\r\n", SHORT_WORDS), 2);
    ck_assert_uint_eq(short_words("*2\r\n$2\r\n\r\n\r\n$10\r\n0123456789\r\n", SHORT_WORDS), 2);
    char wide[4096];
    size_t at = (size_t)snprintf(wide, sizeof wide, "*99\r\n$999\r\n%0999d\r\n", 0);
    for (unsigned i = 1; i < 99; i++) {
        at += (size_t)snprintf(wide + at, sizeof wide - at, "$1\r\nx\r\n");
    }
    ck_assert_uint_eq(short_words(wide, SHORT_WORDS), 99);
    ck_assert_uint_eq(short_words(wide, 99), 99);
    ck_assert_uint_eq(short_words(wide, 98), 0);
    for (size_t len = 0; len < at; len++) {
        char cut[sizeof wide];
        memcpy(cut, wide, len);
        cut[len] = '\0';
        ck_assert_uint_eq(short_words(cut, SHORT_WORDS), 0);
    }
}
END_TEST

START_TEST(anything_else_is_left_to_the_parser)
{
    static const char *const others[] = {
        "",
        "\r\n",
        "PING\r\n",
        "*0\r\n",
        "*-1\r\n",
        "*01\r\n$4\r\nPING\r\n",
        "*00\r\n$4\r\nPING\r\n",
        "*1\r\r$4\r\nPING\r\n",
        "*/\r\n$4\r\nPING\r\n",
        "*:\r\n$4\r\nPING\r\n",
        "*1/\r\n$4\r\nPING\r\n",
        "*100\r\n$4\r\nPING\r\n",
        "*1\r\n#4\r\nPING\r\n",
        "*1\r\n$04\r\nPING\r\n",
        "*1\r\n$004\r\nPING\r\n",
        "*1\r\n$-1\r\nPING\r\n",
        "*1\r\n$+4\r\nPING\r\n",
        "*1\r\n$4 \r\nPING\r\n",
        "*1\r\n$1/0\r\nPING\r\n",
        "*1\r\n$1:0\r\nPING\r\n",
        "*1\r\n$/00\r\nPING\r\n",
        "*1\r\n$1000\r\nPING\r\n",
        "*1\r\n$4\r\nPINGXX",
        "*1\r\n$4\r\nPING\n\r",
        "*1\r\n$4\r\nPING\r",
        "*1\r\n$5\r\nPING\r\n",
        "*2\r\n$4\r\nPING\r\n",
        "*2\r\n$4\r\nPING\r\n$1\r\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(short_words(others[i], SHORT_WORDS) == 0, "case %zu", i);
    }
}
END_TEST

START_TEST(an_unfinished_request_is_gone_on_with_by_the_parser)
{
    struct torc_resp_parser parser;
    struct torc_slice words[SHORT_WORDS];
    uint8_t input[] = "*1\r\n$4\r\nPING\r\n";
    size_t len = sizeof input - 1;
    size_t consumed = 0;
    torc_resp_parser_init(&parser, MAX_BULK);
    enum torc_resp_outcome outcome = torc_resp_parse(&parser, input, len - 1, &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_MORE);
    ck_assert_uint_eq(torc_resp_parse_short(&parser, input, len, words, SHORT_WORDS, &consumed), 0);
    outcome = torc_resp_parse(&parser, input, len, &consumed);
    ck_assert_int_eq(outcome, TORC_RESP_REQUEST);
    ck_assert_uint_eq(torc_resp_parse_short(&parser, input, len, words, SHORT_WORDS, &consumed), 1);
    torc_resp_parser_fini(&parser);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resp_parser");
    TCase *tcase = tcase_create("resp_parser");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, arrays_of_bulks_give_their_words);
    tcase_add_test(tcase, pipelined_requests_come_one_by_one);
    tcase_add_test(tcase, empty_lines_and_empty_arrays_are_skipped);
    tcase_add_test(tcase, inline_words_are_split_at_blanks);
    tcase_add_test(tcase, inline_quotes_and_escapes_are_undone);
    tcase_add_test(tcase, unbalanced_quotes_are_a_protocol_error);
    tcase_add_test(tcase, bad_multibulk_lengths_are_a_protocol_error);
    tcase_add_test(tcase, bad_bulk_lengths_are_a_protocol_error);
    tcase_add_test(tcase, anything_but_a_dollar_is_named);
    tcase_add_test(tcase, a_bulk_must_end_with_crlf);
    tcase_add_test(tcase, valid_requests_before_an_error_are_kept);
    tcase_add_test(tcase, http_requests_are_foreign);
    tcase_add_test(tcase, lines_without_end_are_refused_at_64_kib);
    tcase_add_test(tcase, nul_and_high_bytes_are_ordinary);
    tcase_add_test(tcase, a_count_alone_reserves_no_memory);
    tcase_add_test(tcase, memory_of_a_wide_request_is_given_back);
    tcase_add_test(tcase, a_long_body_is_not_looked_at_before_it_is_complete);
    tcase_add_test(tcase, short_requests_are_taken_at_once);
    tcase_add_test(tcase, anything_else_is_left_to_the_parser);
    tcase_add_test(tcase, an_unfinished_request_is_gone_on_with_by_the_parser);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
