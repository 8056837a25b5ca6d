/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/resp_inplace.h"

#include <stdlib.h>

#define BYTES_FIRST    262144u
#define LINE_BYTES_MAX 65536u /* of a status or an error */
#define DIGITS_MAX     20u    /* of a number, leading zeros too */

void torc_resp_reader_fini(struct torc_resp_reader *reader)
{
    free(reader->bytes);
    free(reader->items);
    *reader = (struct torc_resp_reader){0};
}

/* Forget the reply that was given out. */
static void drop_given(struct torc_resp_reader *reader)
{
    reader->start += reader->given;
    reader->given = 0;
    if (reader->start == reader->end) {
        reader->start = reader->end = 0;
    }
}

int64_t torc_resp_reader_reserve(struct torc_resp_reader *reader, size_t n, uint8_t **out_space)
{
    drop_given(reader);
    if (reader->cap - reader->end < n && reader->start > 0) {
        memmove(reader->bytes, reader->bytes + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    if (reader->cap - reader->end < n) {
        size_t cap = reader->cap == 0 ? BYTES_FIRST : 2 * reader->cap;
        cap = cap - reader->end >= n ? cap : reader->end + n;
        uint8_t *grown = realloc(reader->bytes, cap);
        if (grown == NULL) {
            return -ENOMEM;
        }
        reader->bytes = grown;
        reader->cap = cap;
    }
    *out_space = reader->bytes + reader->end;
    return (int64_t)(reader->cap - reader->end);
}

/* A line of digits, perhaps with a minus, up to its CR LF. The bytes of the line with its end;
 * -EAGAIN, -EBADMSG. */
static int read_number(const uint8_t *bytes, size_t len, int64_t *out_number)
{
    size_t at = len > 0 && bytes[0] == '-' ? 1 : 0;
    size_t first = at;
    uint64_t n = 0;
    while (at < len && bytes[at] >= '0' && bytes[at] <= '9') {
        if (n > (uint64_t)INT64_MAX / 10 - 1) {
            return -EBADMSG;
        }
        n = n * 10 + (uint64_t)(bytes[at] - '0');
        at++;
    }
    if (at - first > DIGITS_MAX) {
        return -EBADMSG;
    }
    if (at == len || (bytes[at] == '\r' && at + 1 == len && at > first)) {
        return -EAGAIN;
    }
    if (at == first || bytes[at] != '\r' || bytes[at + 1] != '\n') {
        return -EBADMSG;
    }
    *out_number = first == 0 ? (int64_t)n : -(int64_t)n;
    return (int)at + 2;
}

/* A string from its '$' on: *out_offset is where its bytes start, *out_len may be -1. The bytes it
 * takes in all; -EAGAIN, -EBADMSG. */
static int64_t read_string(const uint8_t *bytes, size_t len, size_t *out_offset, int64_t *out_len)
{
    int64_t n = 0;
    if (len == 0) {
        return -EAGAIN;
    }
    if (bytes[0] != '$') {
        return -EBADMSG;
    }
    int head = read_number(bytes + 1, len - 1, &n);
    if (head < 0) {
        return head;
    }
    size_t offset = 1 + (size_t)head;
    if (n == -1) {
        *out_offset = offset;
        *out_len = -1;
        return (int64_t)offset;
    }
    if (n < 0 || n > TORC_RESP_REPLY_BYTES_MAX) {
        return -EBADMSG;
    }
    if (len - offset < (size_t)n + 2) {
        return -EAGAIN;
    }
    if (bytes[offset + (size_t)n] != '\r' || bytes[offset + (size_t)n + 1] != '\n') {
        return -EBADMSG;
    }
    *out_offset = offset;
    *out_len = n;
    return (int64_t)offset + n + 2;
}

static int next_line(const uint8_t *bytes, size_t len, struct torc_load_reply *out_reply,
                     size_t *out_taken)
{
    const uint8_t *end = memchr(bytes, '\r', torc_min_u64(len, LINE_BYTES_MAX));
    if (end == NULL) {
        return len < LINE_BYTES_MAX ? -EAGAIN : -EBADMSG;
    }
    if ((size_t)(end - bytes) + 1 == len) {
        return -EAGAIN;
    }
    if (end[1] != '\n') {
        return -EBADMSG;
    }
    *out_reply = (struct torc_load_reply){
        .kind = bytes[0] == '+' ? TORC_LOAD_STATUS : TORC_LOAD_ERROR,
        .text = torc_mem(bytes + 1, (size_t)(end - bytes) - 1),
    };
    *out_taken = (size_t)(end - bytes) + 2;
    return 0;
}

/* The head of an array: how many elements it has. */
static int begin_array(struct torc_resp_reader *reader, const uint8_t *bytes, size_t len)
{
    int64_t n = 0;
    int head = read_number(bytes + 1, len - 1, &n);
    if (head < 0) {
        return head;
    }
    if (n < 0 || n > TORC_RESP_ITEMS_MAX) {
        return -EBADMSG;
    }
    if ((size_t)n > reader->items_cap) {
        struct torc_resp_item *grown = realloc(reader->items, (size_t)n * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        reader->items = grown;
        reader->items_cap = (size_t)n;
    }
    reader->items_done = 0;
    reader->items_wanted = (size_t)n;
    reader->at = 1 + (size_t)head;
    return 0;
}

/* An element of an array: a string, or a number, which is given as its digits. As read_string(). */
static int64_t read_item(const uint8_t *bytes, size_t len, size_t *out_offset, int64_t *out_len)
{
    if (len == 0 || bytes[0] != ':') {
        return read_string(bytes, len, out_offset, out_len);
    }
    int64_t n = 0;
    int head = read_number(bytes + 1, len - 1, &n);
    if (head < 0) {
        return head;
    }
    *out_offset = 1;
    *out_len = head - 2;
    return 1 + head;
}

static int next_array(struct torc_resp_reader *reader, const uint8_t *bytes, size_t len,
                      struct torc_load_reply *out_reply, size_t *out_taken)
{
    if (reader->at == 0) {
        int rc = begin_array(reader, bytes, len);
        if (rc != 0) {
            return rc;
        }
    }
    while (reader->items_done < reader->items_wanted) {
        size_t offset = 0;
        int64_t n = 0;
        int64_t taken = read_item(bytes + reader->at, len - reader->at, &offset, &n);
        if (taken < 0) {
            return (int)taken;
        }
        if (reader->at + (size_t)taken > TORC_RESP_REPLY_BYTES_MAX) {
            return -EBADMSG;
        }
        reader->items[reader->items_done++] =
            (struct torc_resp_item){.offset = (uint32_t)(reader->at + offset), .len = (int32_t)n};
        reader->at += (size_t)taken;
    }
    *out_reply = (struct torc_load_reply){.kind = TORC_LOAD_ARRAY, .count = reader->items_wanted};
    *out_taken = reader->at;
    reader->base = bytes;
    reader->at = 0;
    return 0;
}

static int next_string(const uint8_t *bytes, size_t len, struct torc_load_reply *out_reply,
                       size_t *out_taken)
{
    size_t offset = 0;
    int64_t n = 0;
    int64_t taken = read_string(bytes, len, &offset, &n);
    if (taken < 0) {
        return (int)taken;
    }
    *out_reply = (struct torc_load_reply){.kind = TORC_LOAD_NIL};
    if (n >= 0) {
        out_reply->kind = TORC_LOAD_STRING;
        out_reply->text = torc_mem(bytes + offset, (size_t)n);
    }
    *out_taken = (size_t)taken;
    return 0;
}

static int next_integer(const uint8_t *bytes, size_t len, struct torc_load_reply *out_reply,
                        size_t *out_taken)
{
    int64_t n = 0;
    int taken = read_number(bytes + 1, len - 1, &n);
    if (taken < 0) {
        return taken;
    }
    *out_reply = (struct torc_load_reply){.kind = TORC_LOAD_INTEGER, .integer = n};
    *out_taken = 1 + (size_t)taken;
    return 0;
}

int torc_resp_reader_next(struct torc_resp_reader *reader, struct torc_load_reply *out_reply)
{
    drop_given(reader);
    const uint8_t *bytes = reader->bytes + reader->start;
    size_t len = reader->end - reader->start;
    if (len == 0) {
        return -EAGAIN;
    }
    int rc = -EBADMSG;
    switch (bytes[0]) {
    case '$':
        rc = next_string(bytes, len, out_reply, &reader->given);
        break;
    case ':':
        rc = next_integer(bytes, len, out_reply, &reader->given);
        break;
    case '+':
    case '-':
        rc = next_line(bytes, len, out_reply, &reader->given);
        break;
    case '*':
        rc = next_array(reader, bytes, len, out_reply, &reader->given);
        break;
    default:
        break;
    }
    return rc;
}
