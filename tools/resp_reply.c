/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/resp_reply.h"

#include <stdlib.h>

#define NIL_LEN SIZE_MAX

/* The bytes not parsed yet are data[at, len). */
struct cursor {
    const uint8_t *data;
    size_t len;
    size_t at;
};

/* Take a line off, without its CRLF. 1; 0 not complete; -EBADMSG, -EMSGSIZE. */
static int take_line(struct cursor *cursor, struct torc_resp_span *out_line)
{
    size_t rest = cursor->len - cursor->at;
    size_t window = rest < TORC_RESP_LINE_BYTES ? rest : TORC_RESP_LINE_BYTES;
    const uint8_t *start = cursor->data + cursor->at;
    const uint8_t *found = window > 0 ? memchr(start, '\n', window) : NULL;
    if (found == NULL) {
        return rest < TORC_RESP_LINE_BYTES ? 0 : -EMSGSIZE;
    }
    size_t len = (size_t)(found - start);
    if (len == 0 || start[len - 1] != '\r') {
        return -EBADMSG;
    }
    *out_line = (struct torc_resp_span){.start = cursor->at, .len = len - 1};
    cursor->at += len + 1;
    return 1;
}

/* A whole line as a number: an optional minus and digits. */
static bool parse_number(const struct cursor *cursor, struct torc_resp_span line, int64_t *out)
{
    const uint8_t *p = cursor->data + line.start;
    const uint8_t *end = p + line.len;
    bool negative = p < end && *p == '-';
    p += negative ? 1 : 0;
    if (p == end) {
        return false;
    }
    /* Counted downwards, where the range reaches one further. */
    int64_t n = 0;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_sub_overflow(n, *p - '0', &n)) {
            return false;
        }
    }
    if (!negative && n == INT64_MIN) {
        return false;
    }
    *out = negative ? n : -n;
    return true;
}

/* Take a length line and check it. 1 with -1..max; 0, -EBADMSG, -EMSGSIZE. */
static int take_length(struct cursor *cursor, int64_t max, int64_t *out_length)
{
    struct torc_resp_span line;
    int rc = take_line(cursor, &line);
    if (rc != 1) {
        return rc;
    }
    int64_t length = 0;
    if (!parse_number(cursor, line, &length) || length < -1) {
        return -EBADMSG;
    }
    if (length > max) {
        return -EMSGSIZE;
    }
    *out_length = length;
    return 1;
}

/* Take a bulk string, behind its dollar. 1; 0, -EBADMSG, -EMSGSIZE. */
static int take_bulk(struct cursor *cursor, struct torc_resp_span *out_text)
{
    int64_t length = 0;
    int rc = take_length(cursor, TORC_RESP_BULK_BYTES, &length);
    if (rc != 1) {
        return rc;
    }
    if (length < 0) {
        *out_text = (struct torc_resp_span){.start = cursor->at, .len = NIL_LEN};
        return 1;
    }
    size_t len = (size_t)length;
    if (cursor->len - cursor->at < len + 2) {
        return 0;
    }
    const uint8_t *end = cursor->data + cursor->at + len;
    if (end[0] != '\r' || end[1] != '\n') {
        return -EBADMSG;
    }
    *out_text = (struct torc_resp_span){.start = cursor->at, .len = len};
    cursor->at += len + 2;
    return 1;
}

static int reserve_elements(struct torc_resp_reply *reply, size_t n)
{
    if (n <= reply->elements_cap) {
        return 0;
    }
    struct torc_resp_span *grown = realloc(reply->elements, n * sizeof *grown);
    if (grown == NULL) {
        return -ENOMEM;
    }
    reply->elements = grown;
    reply->elements_cap = n;
    return 0;
}

/* Take an array, behind its star. */
static int take_array(struct cursor *cursor, struct torc_resp_reply *reply)
{
    int64_t length = 0;
    int rc = take_length(cursor, TORC_RESP_ELEMENTS_MAX, &length);
    if (rc != 1) {
        return rc;
    }
    reply->kind = length < 0 ? TORC_RESP_NIL : TORC_RESP_ARRAY;
    reply->n_elements = length < 0 ? 0 : (size_t)length;
    rc = reserve_elements(reply, reply->n_elements);
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < reply->n_elements; i++) {
        if (cursor->at == cursor->len) {
            return 0;
        }
        if (cursor->data[cursor->at++] != '$') {
            return -EBADMSG;
        }
        rc = take_bulk(cursor, &reply->elements[i]);
        if (rc != 1) {
            return rc;
        }
    }
    return 1;
}

static int take_reply(struct cursor *cursor, struct torc_resp_reply *reply)
{
    if (cursor->len == 0) {
        return 0;
    }
    int rc = 0;
    switch (cursor->data[cursor->at++]) {
    case '+':
        reply->kind = TORC_RESP_SIMPLE;
        return take_line(cursor, &reply->text);
    case '-':
        reply->kind = TORC_RESP_ERROR;
        return take_line(cursor, &reply->text);
    case ':':
        reply->kind = TORC_RESP_INTEGER;
        rc = take_line(cursor, &reply->text);
        if (rc == 1 && !parse_number(cursor, reply->text, &reply->integer)) {
            rc = -EBADMSG;
        }
        return rc;
    case '$':
        reply->kind = TORC_RESP_BULK;
        rc = take_bulk(cursor, &reply->text);
        if (rc == 1 && reply->text.len == NIL_LEN) {
            reply->kind = TORC_RESP_NIL;
        }
        return rc;
    case '*':
        return take_array(cursor, reply);
    default:
        return -EBADMSG;
    }
}

int torc_resp_reply_parse(struct torc_resp_reply *reply, const uint8_t *data, size_t len,
                          size_t *out_used)
{
    struct cursor cursor = {.data = data, .len = len};
    reply->n_elements = 0;
    int rc = take_reply(&cursor, reply);
    if (rc == 1) {
        *out_used = cursor.at;
    }
    return rc;
}

void torc_resp_reply_fini(struct torc_resp_reply *reply)
{
    free(reply->elements);
    *reply = (struct torc_resp_reply){0};
}
