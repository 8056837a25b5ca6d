/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/errors.h"

/* \1 and \2 stand for the arguments. */
struct entry {
    enum torc_wire_status status;
    const char *text;
};

static const struct entry entries[TORC_FAULT_COUNT] = {
    [TORC_FAULT_NONE] = {TORC_WIRE_OK, ""},
    [TORC_FAULT_ARITY] = {TORC_WIRE_ARITY, "ERR wrong number of arguments for '\1' command"},
    [TORC_FAULT_SYNTAX] = {TORC_WIRE_SYNTAX, "ERR syntax error"},
    [TORC_FAULT_NOT_INTEGER] = {TORC_WIRE_NOT_INTEGER,
                                "ERR value is not an integer or out of range"},
    [TORC_FAULT_NOT_FLOAT] = {TORC_WIRE_ERROR, "ERR value is not a valid float"},
    [TORC_FAULT_FLOAT_IS_INFINITE] = {TORC_WIRE_ERROR, "ERR value is NaN or Infinity"},
    [TORC_FAULT_OUT_OF_RANGE] = {TORC_WIRE_ERROR, "ERR value is out of range"},
    [TORC_FAULT_TOO_MANY_PICKS] =
        {TORC_WIRE_ERROR, "ERR value is out of range, a negative count must be at least -1048576"},
    [TORC_FAULT_OUT_OF_LONG_RANGE] = {TORC_WIRE_ERROR,
                                      "ERR value is out of range, value must between "
                                      "-9223372036854775807 and 9223372036854775807"},
    [TORC_FAULT_FIELD_NOT_INTEGER] = {TORC_WIRE_ERROR, "ERR hash value is not an integer"},
    [TORC_FAULT_FIELD_NOT_FLOAT] = {TORC_WIRE_ERROR, "ERR hash value is not a float"},
    [TORC_FAULT_OVERFLOW] = {TORC_WIRE_ERROR, "ERR increment or decrement would overflow"},
    [TORC_FAULT_FLOAT_OVERFLOW] = {TORC_WIRE_ERROR, "ERR increment would produce NaN or Infinity"},
    [TORC_FAULT_WRONG_TYPE] = {TORC_WIRE_WRONG_TYPE,
                               "WRONGTYPE Operation against a key holding the wrong kind of value"},
    [TORC_FAULT_OUT_OF_MEMORY] = {TORC_WIRE_OUT_OF_MEMORY,
                                  "OOM command not allowed when used memory > 'maxmemory'."},
    [TORC_FAULT_TOO_LONG] = {TORC_WIRE_TOO_LARGE,
                             "ERR string exceeds maximum allowed size (proto-max-bulk-len)"},
    [TORC_FAULT_REPLY_TOO_LARGE] =
        {TORC_WIRE_TOO_LARGE, "ERR reply exceeds the session's limit (session-long-message-max)"},
    [TORC_FAULT_OUTPUT_TOO_LARGE] =
        {TORC_WIRE_TOO_LARGE, "ERR reply exceeds the output limit (client-output-buffer-max)"},
    [TORC_FAULT_DB_RANGE] = {TORC_WIRE_DB_RANGE, "ERR DB index is out of range"},
    [TORC_FAULT_BAD_CURSOR] = {TORC_WIRE_BAD_CURSOR, "ERR invalid cursor"},
    [TORC_FAULT_UNKNOWN_COMMAND] = {TORC_WIRE_UNKNOWN_OP,
                                    "ERR unknown command '\1', with args beginning with: \2"},
    [TORC_FAULT_UNKNOWN_COMMAND_ALONE] = {TORC_WIRE_UNKNOWN_OP, "ERR unknown command '\1'"},
    [TORC_FAULT_UNKNOWN_SUBCOMMAND] = {TORC_WIRE_ERROR,
                                       "ERR unknown subcommand '\1'. Try \2 HELP."},
    [TORC_FAULT_NOT_A_COMMAND] = {TORC_WIRE_ERROR, "ERR Invalid command specified"},
    [TORC_FAULT_NO_KEYS] = {TORC_WIRE_ERROR, "ERR The command has no key arguments"},
    [TORC_FAULT_NOT_ITS_ARITY] = {TORC_WIRE_ERROR,
                                  "ERR Invalid number of arguments specified for command"},
    [TORC_FAULT_UNKNOWN_OP] = {TORC_WIRE_UNKNOWN_OP, "ERR unknown operation"},
    [TORC_FAULT_BAD_REQUEST] = {TORC_WIRE_BAD_REQUEST, "ERR malformed request"},
    [TORC_FAULT_NO_PROTOCOL] = {TORC_WIRE_ERROR, "NOPROTO unsupported protocol version"},
    [TORC_FAULT_HELLO_VERSION] = {TORC_WIRE_ERROR,
                                  "ERR Protocol version is not an integer or out of range"},
    [TORC_FAULT_HELLO_OPTION] = {TORC_WIRE_ERROR, "ERR Syntax error in HELLO option '\1'"},
    [TORC_FAULT_WRONG_PASSWORD] = {TORC_WIRE_ERROR,
                                   "WRONGPASS invalid username-password pair or user is disabled."},
    [TORC_FAULT_CLIENT_NAME] =
        {TORC_WIRE_ERROR,
         "ERR Client names cannot contain spaces, newlines or special characters."},
    [TORC_FAULT_CLIENT_INFO_VALUE] =
        {TORC_WIRE_ERROR, "ERR \1 cannot contain spaces, newlines or special characters."},
    [TORC_FAULT_CLIENT_INFO_OPTION] = {TORC_WIRE_ERROR, "ERR Unrecognized option '\1'"},
    [TORC_FAULT_MAX_CLIENTS] = {TORC_WIRE_ERROR, "ERR max number of clients reached"},
    [TORC_FAULT_EXPIRE_TIME] = {TORC_WIRE_ERROR, "ERR invalid expire time in '\1' command"},
    [TORC_FAULT_EXPIRE_NEGATIVE] = {TORC_WIRE_ERROR, "ERR invalid expire time, must be >= 0"},
    [TORC_FAULT_EXPIRE_MISSING] = {TORC_WIRE_ERROR, "ERR missing expire time"},
    [TORC_FAULT_EXPIRE_NX] =
        {TORC_WIRE_ERROR, "ERR NX and XX, GT or LT options at the same time are not compatible"},
    [TORC_FAULT_EXPIRE_GT_LT] = {TORC_WIRE_ERROR,
                                 "ERR GT and LT options at the same time are not compatible"},
    [TORC_FAULT_EXPIRE_OPTION] = {TORC_WIRE_ERROR, "ERR Unsupported option \1"},
    [TORC_FAULT_CONDITIONS] = {TORC_WIRE_ERROR, "ERR Multiple condition flags specified"},
    [TORC_FAULT_ONE_TIME] =
        {TORC_WIRE_ERROR,
         "ERR Only one of EX, PX, EXAT, PXAT or PERSIST arguments can be specified"},
    [TORC_FAULT_ONE_TIME_KEEP] =
        {TORC_WIRE_ERROR,
         "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"},
    [TORC_FAULT_FXX_FNX] = {TORC_WIRE_ERROR,
                            "ERR Only one of FXX or FNX arguments can be specified"},
    [TORC_FAULT_UNKNOWN_ARGUMENT] = {TORC_WIRE_ERROR, "ERR unknown argument: \1"},
    [TORC_FAULT_FIELDS_TWICE] = {TORC_WIRE_ERROR, "ERR FIELDS keyword specified multiple times"},
    [TORC_FAULT_FIELDS_MISSING] = {TORC_WIRE_ERROR, "ERR missing FIELDS argument"},
    [TORC_FAULT_FIELDS_SHORT] = {TORC_WIRE_ERROR, "ERR wrong number of arguments"},
    [TORC_FAULT_NUMFIELDS] = {TORC_WIRE_ERROR,
                              "ERR Parameter `numFields` should be greater than 0"},
    [TORC_FAULT_NUMFIELDS_INVALID] = {TORC_WIRE_ERROR, "ERR invalid number of fields"},
    [TORC_FAULT_NUMFIELDS_RANGE] = {TORC_WIRE_ERROR,
                                    "ERR Number of fields must be a positive integer"},
    [TORC_FAULT_NUMFIELDS_MISMATCH] =
        {TORC_WIRE_ERROR, "ERR The `numfields` parameter must match the number of arguments"},
    [TORC_FAULT_FIELDS_MISPLACED] =
        {TORC_WIRE_ERROR, "ERR Mandatory argument FIELDS is missing or not at the right position"},
    [TORC_FAULT_NO_SUCH_KEY] = {TORC_WIRE_ERROR, "ERR no such key"},
    [TORC_FAULT_SAME_OBJECTS] = {TORC_WIRE_ERROR,
                                 "ERR source and destination objects are the same"},
    [TORC_FAULT_INTERNAL] = {TORC_WIRE_ERROR, "ERR internal error"},
    [TORC_FAULT_MULTIBULK_LENGTH] = {TORC_WIRE_ERROR,
                                     "ERR Protocol error: invalid multibulk length"},
    [TORC_FAULT_BULK_LENGTH] = {TORC_WIRE_ERROR, "ERR Protocol error: invalid bulk length"},
    [TORC_FAULT_EXPECTED_DOLLAR] = {TORC_WIRE_ERROR, "ERR Protocol error: expected '$', got '\1'"},
    [TORC_FAULT_MULTIBULK_STRING] = {TORC_WIRE_ERROR,
                                     "ERR Protocol error: too big mbulk count string"},
    [TORC_FAULT_BULK_STRING] = {TORC_WIRE_ERROR, "ERR Protocol error: too big bulk count string"},
    [TORC_FAULT_INLINE_TOO_BIG] = {TORC_WIRE_ERROR, "ERR Protocol error: too big inline request"},
    [TORC_FAULT_UNBALANCED_QUOTES] = {TORC_WIRE_ERROR,
                                      "ERR Protocol error: unbalanced quotes in request"},
    [TORC_FAULT_BAD_CRLF] = {TORC_WIRE_ERROR, "ERR Protocol error: invalid CRLF in request"},
};

enum torc_wire_status torc_fault_status(enum torc_fault fault)
{
    assert(fault < TORC_FAULT_COUNT);
    return entries[fault].status;
}

static size_t append(char *buffer, size_t at, struct torc_slice s)
{
    for (size_t i = 0; i < s.len && at < TORC_FAULT_TEXT_BYTES - 1; i++) {
        uint8_t c = s.data[i];
        buffer[at++] = (char)(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
    }
    return at;
}

struct torc_slice torc_fault_text(enum torc_fault fault, struct torc_slice first,
                                  struct torc_slice second, char buffer[TORC_FAULT_TEXT_BYTES])
{
    assert(fault < TORC_FAULT_COUNT);
    const char *text = entries[fault].text;
    if (text[strcspn(text, "\1\2")] == '\0') {
        return torc_slice_str(text);
    }
    size_t at = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\1') {
            at = append(buffer, at, first);
        } else if (*p == '\2') {
            at = append(buffer, at, second);
        } else {
            at = append(buffer, at, torc_slice_of(p, 1));
        }
    }
    buffer[at] = '\0';
    return torc_slice_of(buffer, at);
}

enum torc_fault torc_fault_of_hash(int error)
{
    switch (error) {
    case -EINVAL:
        return TORC_FAULT_WRONG_TYPE;
    case -ENOSPC:
    case -ENOMEM:
        return TORC_FAULT_OUT_OF_MEMORY;
    case -EMSGSIZE:
        return TORC_FAULT_TOO_LONG;
    default:
        return TORC_FAULT_INTERNAL;
    }
}
