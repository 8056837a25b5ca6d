/* SPDX-License-Identifier: Apache-2.0
 *
 * A reply as the user sees it. The view borrows what the reply borrows; the private words of a
 * torc_result hold the end table and the items' bytes of an array, and which reply it is of.
 */
#include "client/torc_private.h"

int torc_status_error(enum torc_wire_status status)
{
    switch (status) {
    case TORC_WIRE_WRONG_TYPE:
        return TORC_EWRONGTYPE;
    case TORC_WIRE_OUT_OF_MEMORY:
        return TORC_EOOM;
    case TORC_WIRE_TOO_LARGE:
        return TORC_EMSGSIZE;
    case TORC_WIRE_OK:
    case TORC_WIRE_ERROR:
    case TORC_WIRE_UNKNOWN_OP:
    case TORC_WIRE_BAD_REQUEST:
    case TORC_WIRE_SYNTAX:
    case TORC_WIRE_NOT_INTEGER:
    case TORC_WIRE_ARITY:
    case TORC_WIRE_DB_RANGE:
    case TORC_WIRE_BAD_CURSOR:
    case TORC_WIRE_SHUTDOWN:
    case TORC_WIRE_GONE:
        return TORC_EREPLY;
    }
    return TORC_EREPLY; /* a number of a newer server */
}

static const char *text_of_status(enum torc_wire_status status)
{
    switch (status) {
    case TORC_WIRE_WRONG_TYPE:
        return "WRONGTYPE Operation against a key holding the wrong kind of value";
    case TORC_WIRE_OUT_OF_MEMORY:
        return "OOM command not allowed when used memory > 'maxmemory'.";
    case TORC_WIRE_UNKNOWN_OP:
        return "ERR unknown operation";
    case TORC_WIRE_BAD_REQUEST:
        return "ERR malformed request";
    case TORC_WIRE_TOO_LARGE:
        return "ERR request or reply above the session's limit";
    case TORC_WIRE_SYNTAX:
        return "ERR syntax error";
    case TORC_WIRE_NOT_INTEGER:
        return "ERR value is not an integer or out of range";
    case TORC_WIRE_ARITY:
        return "ERR wrong number of arguments";
    case TORC_WIRE_DB_RANGE:
        return "ERR DB index is out of range";
    case TORC_WIRE_BAD_CURSOR:
        return "ERR invalid cursor";
    case TORC_WIRE_SHUTDOWN:
        return "ERR the server is shutting down";
    case TORC_WIRE_GONE:
        return "ERR the reply is no longer held";
    case TORC_WIRE_OK:
    case TORC_WIRE_ERROR:
        break;
    }
    return "ERR error";
}

struct torc_slice torc_reply_error_text(const struct torc_reply *reply)
{
    return reply->bytes.len > 0 ? reply->bytes : torc_slice_str(text_of_status(reply->status));
}

static struct torc_bytes bytes_of(struct torc_slice slice)
{
    return (struct torc_bytes){.data = slice.data, .len = slice.len};
}

bool torc_result_fill(const struct torc *torc, const struct torc_reply *reply, uint64_t user_tag,
                      struct torc_result *out_result)
{
    if (TORC_LIKELY(reply->kind == TORC_REPLY_BYTES)) {
        *out_result = (struct torc_result){.tag = user_tag,
                                           .kind = TORC_STRING,
                                           .string = bytes_of(reply->bytes),
                                           .impl_word[0] = torc->last_number};
        return true;
    }
    struct torc_result result = {.tag = user_tag, .impl_word[0] = torc->last_number};
    switch (reply->kind) {
    case TORC_REPLY_OK:
        result.kind = TORC_OK_REPLY;
        result.string = torc_str("OK");
        break;
    case TORC_REPLY_ERROR:
        result.kind = TORC_ERROR;
        result.error = torc_status_error(reply->status);
        result.string = bytes_of(torc_reply_error_text(reply));
        break;
    case TORC_REPLY_INT:
        result.kind = TORC_INTEGER;
        result.integer = reply->integer;
        break;
    case TORC_REPLY_BYTES:
        result.kind = TORC_STRING;
        result.string = bytes_of(reply->bytes);
        break;
    case TORC_REPLY_NULL:
        result.kind = TORC_NIL;
        break;
    case TORC_REPLY_ARRAY:
        result.kind = TORC_ARRAY;
        break;
    case TORC_REPLY_PAIRS:
        result.kind = TORC_MAP;
        break;
    case TORC_REPLY_CURSOR:
        result.kind = TORC_CURSOR;
        result.cursor = reply->cursor;
        break;
    case TORC_REPLY_TEXT:
        result.kind = TORC_SIMPLE;
        result.string = bytes_of(reply->bytes);
        break;
    case TORC_REPLY_LONG:
    case TORC_REPLY_PART:
        return false; /* the attachment puts these together */
    }
    result.count = reply->count;
    result.impl[0] = reply->ends;
    result.impl[1] = reply->items;
    *out_result = result;
    return true;
}

struct torc_bytes torc_result_at(const struct torc_result *result, size_t i)
{
    if (result == NULL || i >= result->count) {
        return (struct torc_bytes){.data = NULL, .len = 0};
    }
    struct torc_reply reply = {
        .count = (uint32_t)result->count,
        .ends = result->impl[0],
        .items = result->impl[1],
    };
    return bytes_of(torc_reply_at(&reply, (uint32_t)i));
}
