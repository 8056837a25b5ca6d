/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP on standard input and output, over a ring session: so that a test written for sockets can
 * compare the two paths word for word. Usage: ring_over_stdio CONTROL-SOCKET
 * Prints +attached when it is. An error of the client library that has no text of Redis is given by
 * its name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/torcd/reply.h"
#include "tools/torcd/resp_parser.h"
#include "torc/torc.h"

/* They only end what would hang. */
#define CALL_DEADLINE_NS 60000000000ull
#define ATTACH_TRIES     30

static void put_error(struct torc_sink *sink, const struct torc *torc, int error)
{
    const char *text = torc_error_text(torc);
    if (text[0] == '\0') {
        text = torc_error_name(error);
    }
    sink->ops->error(sink, TORC_WIRE_ERROR, torc_slice_str(text));
}

static struct torc_slice slice(struct torc_bytes bytes)
{
    return torc_slice_of(bytes.data, bytes.len);
}

static void put_result(struct torc_sink *sink, const struct torc_result *result)
{
    switch (result->kind) {
    case TORC_NIL:
        torc_sink_null(sink);
        break;
    case TORC_OK_REPLY:
        torc_sink_ok(sink);
        break;
    case TORC_INTEGER:
        torc_sink_integer(sink, result->integer);
        break;
    case TORC_STRING:
        torc_sink_bytes(sink, slice(result->string));
        break;
    case TORC_SIMPLE:
        torc_sink_text(sink, slice(result->string));
        break;
    case TORC_ERROR:
        sink->ops->error(sink, TORC_WIRE_ERROR, slice(result->string));
        break;
    case TORC_ARRAY:
        torc_sink_array(sink, (uint32_t)result->count);
        break;
    case TORC_MAP:
        torc_sink_pairs(sink, (uint32_t)(result->count / 2));
        break;
    case TORC_CURSOR:
        torc_sink_cursor(sink, result->cursor, (uint32_t)result->count);
        break;
    }
    bool has_items =
        result->kind == TORC_ARRAY || result->kind == TORC_MAP || result->kind == TORC_CURSOR;
    for (size_t i = 0; has_items && i < result->count; i++) {
        torc_sink_item(sink, slice(torc_result_at(result, i)));
    }
}

/* Run one command and append its reply. */
static void run(struct torc *torc, const struct torc_resp_parser *parser, const uint8_t *data,
                struct torc_sink *sink)
{
    struct torc_bytes *words = calloc(parser->n_words, sizeof *words);
    if (words == NULL) {
        put_error(sink, torc, TORC_ENOMEM);
        return;
    }
    for (uint32_t i = 0; i < parser->n_words; i++) {
        struct torc_slice word = torc_resp_word(parser, data, i);
        words[i] = (struct torc_bytes){.data = word.data, .len = word.len};
    }
    struct torc_result result = {0};
    int rc = torc_command(torc, words, parser->n_words, &result);
    if (rc < 0) {
        put_error(sink, torc, rc);
    } else {
        put_result(sink, &result);
    }
    free(words);
}

static bool write_all(struct torc_output *output)
{
    while (torc_output_pending(output) != 0) {
        struct torc_slice front = torc_output_front(output);
        ssize_t n = write(STDOUT_FILENO, front.data, front.len);
        if (n <= 0) {
            return false;
        }
        torc_output_consume(output, (size_t)n);
    }
    return true;
}

static int serve(struct torc *torc)
{
    static uint8_t input[64u << 20];
    size_t len = 0;
    uint8_t protocol = 2;
    struct torc_resp_parser parser;
    struct torc_output output;
    struct torc_resp_sink resp;
    torc_resp_parser_init(&parser, sizeof input);
    torc_output_init(&output, SIZE_MAX / 2);
    torc_resp_sink_init(&resp, &output, &protocol);
    torc_sink_text(&resp.sink, torc_slice_str("attached"));
    while (write_all(&output)) {
        size_t at = 0;
        size_t consumed = 0;
        enum torc_resp_outcome outcome;
        while ((outcome = torc_resp_parse(&parser, input + at, len - at, &consumed)) ==
               TORC_RESP_REQUEST) {
            run(torc, &parser, input + at, &resp.sink);
            at += consumed;
        }
        at += consumed;
        len -= at;
        memmove(input, input + at, len);
        if (outcome != TORC_RESP_MORE || !write_all(&output)) {
            break;
        }
        ssize_t n = read(STDIN_FILENO, input + len, sizeof input - len);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    torc_output_fini(&output);
    torc_resp_parser_fini(&parser);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct torc *torc = NULL;
    const char *why = "";
    if (argc != 2) {
        (void)fprintf(stderr, "usage: ring_over_stdio CONTROL-SOCKET\n");
        return EXIT_FAILURE;
    }
    /* On a machine that is busy beyond measure attaching may time out; only that is tried again. */
    struct torc_options options = {
        .socket = argv[1], .name = "stdio", .deadline_ns = CALL_DEADLINE_NS};
    int rc;
    unsigned tries = 0;
    do {
        rc = torc_open(&options, &torc, &why);
    } while (rc == TORC_ETIMEDOUT && ++tries < ATTACH_TRIES);
    if (rc != 0) {
        (void)fprintf(stderr, "ring_over_stdio: %s: %s\n", torc_error_name(rc), why);
        return EXIT_FAILURE;
    }
    int status = serve(torc);
    torc_close(torc);
    return status;
}
