/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies of a Redis server (RESP2), parsed out of a buffer. Simple strings, errors, integers, bulk
 * strings, nil, and arrays of bulk strings and nils: what the commands of torc's tools answer.
 * Anything else is refused, as is whatever is longer than its limit.
 */
#ifndef TORC_TOOLS_RESP_REPLY_H
#define TORC_TOOLS_RESP_REPLY_H

#include "core/slice.h"

#define TORC_RESP_LINE_BYTES   4096u     /* longest simple string, error or number, CRLF included */
#define TORC_RESP_BULK_BYTES   536870912 /* longest bulk string */
#define TORC_RESP_ELEMENTS_MAX 65536u

enum torc_resp_kind {
    TORC_RESP_SIMPLE,
    TORC_RESP_ERROR,
    TORC_RESP_INTEGER,
    TORC_RESP_BULK,
    TORC_RESP_NIL, /* $-1 or *-1 */
    TORC_RESP_ARRAY,
};

/* Where a value lies: an offset into the parsed bytes, so that it survives a move of the buffer. */
struct torc_resp_span {
    size_t start;
    size_t len; /* SIZE_MAX: nil */
};

/* One reply. Zero it before its first use; torc_resp_reply_fini() frees it. May be used again. */
struct torc_resp_reply {
    enum torc_resp_kind kind;
    int64_t integer;
    struct torc_resp_span text;      /* SIMPLE, ERROR, BULK */
    size_t n_elements;               /* ARRAY */
    struct torc_resp_span *elements; /* owned, kept for the next reply */
    size_t elements_cap;
};

/* Parse the reply at the start of data[0, len). 1 and the bytes it takes; 0 not complete yet;
 * -EBADMSG not a reply, or not one of those above; -EMSGSIZE above a limit; -ENOMEM. `reply` is
 * undefined unless 1. O(elements) plus the bytes of one line. */
int torc_resp_reply_parse(struct torc_resp_reply *reply, const uint8_t *data, size_t len,
                          size_t *out_used) TORC_MUST_USE;

void torc_resp_reply_fini(struct torc_resp_reply *reply);

#endif
