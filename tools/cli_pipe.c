/* SPDX-License-Identifier: Apache-2.0
 *
 * One buffer holds the unfinished command and what came behind it. Replies are collected when the
 * pipeline is full, and before waiting for a stream that is slow, so that none stays with the
 * server for long.
 */
#include "tools/cli_pipe.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cli_run.h"
#include "tools/torcd/resp_parser.h"

#define FIRST_BYTES  ((size_t)256 * 1024)
#define SHOWN_ERRORS 10

struct pipe {
    struct torc *torc;
    int fd;
    struct torc_resp_parser parser;
    uint8_t *buffer; /* [at, len) is not sent yet */
    size_t at, len, cap, cap_max;
    uint64_t offset;          /* of buffer[at] in the stream */
    struct torc_bytes *words; /* of one command */
    size_t cap_words;
    struct torc_cli_pipe_result result;
    bool is_lost; /* the server */
};

static void count_error(struct pipe *pipe, uint64_t offset, struct torc_bytes text)
{
    pipe->result.errors++;
    if (pipe->result.errors <= SHOWN_ERRORS) {
        torc_cli_complain("command at byte %" PRIu64 ": %.*s", offset, (int)text.len,
                          text.len > 0 ? (const char *)text.data : "");
    } else if (pipe->result.errors == SHOWN_ERRORS + 1) {
        torc_cli_complain("more errors are counted, not shown");
    }
}

/* The server is gone, or does not answer. */
static void lose(struct pipe *pipe, const char *why, size_t n_unknown)
{
    pipe->is_lost = true;
    torc_cli_complain("%s", why);
    torc_cli_complain("%" PRIu64 " replies came; whether the last %zu commands in front of byte "
                      "%" PRIu64 " were run is not known",
                      pipe->result.replies, n_unknown, pipe->offset);
}

/* The oldest reply. False: none will come, said so. */
static bool collect(struct pipe *pipe)
{
    size_t n_outstanding = torc_outstanding(pipe->torc);
    struct torc_result result;
    if (torc_collect(pipe->torc, &result) != TORC_OK) {
        lose(pipe, torc_error_text(pipe->torc), n_outstanding);
        return false;
    }
    pipe->result.replies++;
    if (result.kind == TORC_ERROR) {
        count_error(pipe, result.tag, result.string);
    }
    return true;
}

static bool collect_all(struct pipe *pipe)
{
    while (torc_outstanding(pipe->torc) > 0) {
        if (!collect(pipe)) {
            return false;
        }
    }
    return true;
}

/* Send the command that was parsed, which starts at pipe->offset. */
static bool send_command(struct pipe *pipe)
{
    size_t n = pipe->parser.n_words;
    if (n > pipe->cap_words) {
        struct torc_bytes *words = realloc(pipe->words, n * sizeof *words);
        if (words == NULL) {
            torc_cli_complain("out of memory");
            return false;
        }
        pipe->words = words;
        pipe->cap_words = n;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct torc_slice word = torc_resp_word(&pipe->parser, pipe->buffer + pipe->at, i);
        pipe->words[i] = torc_mem(word.data, word.len);
    }
    for (;;) {
        size_t n_outstanding = torc_outstanding(pipe->torc);
        int rc = torc_submit_command(pipe->torc, pipe->offset, pipe->words, n);
        switch (rc) {
        case TORC_OK:
            return true;
        case TORC_EAGAIN:
            if (!collect(pipe)) {
                return false;
            }
            break;
        case TORC_EINVAL:
        case TORC_EMSGSIZE:
            /* The library answers in place of the server. */
            pipe->result.replies++;
            count_error(pipe, pipe->offset, torc_str(torc_error_text(pipe->torc)));
            return true;
        default:
            lose(pipe, torc_error_text(pipe->torc), n_outstanding);
            return false;
        }
    }
}

static void complain_of_fault(const struct pipe *pipe)
{
    static const char prefix[] = "ERR Protocol error: ";
    char buffer[TORC_FAULT_TEXT_BYTES];
    const struct torc_resp_parser *parser = &pipe->parser;
    struct torc_slice text = torc_fault_text(parser->fault, torc_slice_of(&parser->fault_byte, 1),
                                             torc_slice_of(NULL, 0), buffer);
    size_t skip = sizeof prefix - 1;
    /* Of a bulk string the end is wrong, not the start. */
    size_t inside = parser->at + (parser->has_length ? parser->word_len : 0);
    torc_cli_complain(
        "malformed stream at byte %" PRIu64 ": %.*s (in the command at byte %" PRIu64 ")",
        pipe->offset + inside, (int)(text.len - skip), text.data + skip, pipe->offset);
}

/* Send all commands that the buffer holds whole. */
static bool send_commands(struct pipe *pipe)
{
    for (;;) {
        size_t used = 0;
        enum torc_resp_outcome outcome =
            torc_resp_parse(&pipe->parser, pipe->buffer + pipe->at, pipe->len - pipe->at, &used);
        /* Spans count from where the parser was started, behind which nothing may be skipped. */
        bool good = outcome != TORC_RESP_REQUEST || send_command(pipe);
        pipe->at += used;
        pipe->offset += used;
        if (!good) {
            return false;
        }
        switch (outcome) {
        case TORC_RESP_REQUEST:
            break;
        case TORC_RESP_MORE:
            return true;
        case TORC_RESP_FOREIGN:
            torc_cli_complain("malformed stream at byte %" PRIu64 ": this is HTTP", pipe->offset);
            return false;
        case TORC_RESP_FAULT:
            complain_of_fault(pipe);
            return false;
        case TORC_RESP_NO_MEMORY:
            torc_cli_complain("out of memory");
            return false;
        }
    }
}

/* Room behind the unfinished command. */
static bool make_room(struct pipe *pipe)
{
    if (pipe->at > 0) {
        memmove(pipe->buffer, pipe->buffer + pipe->at, pipe->len - pipe->at);
        pipe->len -= pipe->at;
        pipe->at = 0;
    }
    if (pipe->len < pipe->cap) {
        return true;
    }
    if (pipe->cap == pipe->cap_max) {
        torc_cli_complain("the command at byte %" PRIu64 " is longer than %zu bytes", pipe->offset,
                          pipe->cap_max);
        return false;
    }
    size_t cap = pipe->cap == 0 ? FIRST_BYTES : 2 * pipe->cap;
    cap = cap < pipe->cap_max ? cap : pipe->cap_max;
    uint8_t *buffer = realloc(pipe->buffer, cap);
    if (buffer == NULL) {
        torc_cli_complain("out of memory");
        return false;
    }
    pipe->buffer = buffer;
    pipe->cap = cap;
    return true;
}

static bool is_ready(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) != 0;
}

/* More of the stream. False: said why. */
static bool read_more(struct pipe *pipe, bool *out_ended)
{
    if (!make_room(pipe) || (!is_ready(pipe->fd) && !collect_all(pipe))) {
        return false;
    }
    ssize_t n;
    do {
        n = read(pipe->fd, pipe->buffer + pipe->len, pipe->cap - pipe->len);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        torc_cli_complain("cannot read standard input: %s", strerror(errno));
        return false;
    }
    pipe->len += (size_t)n;
    *out_ended = n == 0;
    return true;
}

static bool run(struct pipe *pipe)
{
    bool ended = false;
    while (!ended) {
        if (!read_more(pipe, &ended) || !send_commands(pipe)) {
            return false;
        }
    }
    if (!collect_all(pipe)) {
        return false;
    }
    if (pipe->at != pipe->len) {
        torc_cli_complain("the stream ends at byte %" PRIu64
                          ", within the command at byte %" PRIu64,
                          pipe->offset + (pipe->len - pipe->at), pipe->offset);
        return false;
    }
    return true;
}

bool torc_cli_pipe(struct torc *torc, int fd, size_t command_max,
                   struct torc_cli_pipe_result *out_result)
{
    struct pipe pipe = {.torc = torc, .fd = fd, .cap_max = command_max};
    torc_resp_parser_init(&pipe.parser, command_max);
    bool good = run(&pipe);
    if (!good && !pipe.is_lost) {
        /* The stream is at fault; what was sent in front of that is answered. */
        (void)collect_all(&pipe);
    }
    *out_result = pipe.result;
    torc_resp_parser_fini(&pipe.parser);
    free(pipe.words);
    free(pipe.buffer);
    return good;
}
