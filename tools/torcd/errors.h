/* SPDX-License-Identifier: Apache-2.0
 *
 * Every error text that a client can see, in one table, with its number on the ring. The texts are
 * Redis's, because clients match on them; an answer of either path takes both from here.
 */
#ifndef TORC_TORCD_ERRORS_H
#define TORC_TORCD_ERRORS_H

#include "core/slice.h"
#include "ring/message.h"

enum torc_fault {
    TORC_FAULT_NONE,
    TORC_FAULT_ARITY, /* 1: command */
    TORC_FAULT_SYNTAX,
    TORC_FAULT_NOT_INTEGER,
    TORC_FAULT_NOT_FLOAT,
    TORC_FAULT_FLOAT_IS_INFINITE, /* an increment */
    TORC_FAULT_OUT_OF_RANGE,
    TORC_FAULT_TOO_MANY_PICKS,    /* of HRANDFIELD with repetition */
    TORC_FAULT_OUT_OF_LONG_RANGE, /* with the range */
    TORC_FAULT_FIELD_NOT_INTEGER, /* what a hash holds, not what was asked */
    TORC_FAULT_FIELD_NOT_FLOAT,
    TORC_FAULT_OVERFLOW,       /* the sum of integers */
    TORC_FAULT_FLOAT_OVERFLOW, /* the sum of floats */
    TORC_FAULT_WRONG_TYPE,
    TORC_FAULT_OUT_OF_MEMORY,
    TORC_FAULT_TOO_LONG,         /* a key, field or value */
    TORC_FAULT_REPLY_TOO_LARGE,  /* above the cap of a ring session */
    TORC_FAULT_OUTPUT_TOO_LARGE, /* above the output limit of a RESP connection */
    TORC_FAULT_DB_RANGE,
    TORC_FAULT_BAD_CURSOR,
    TORC_FAULT_UNKNOWN_COMMAND,       /* 1: name, 2: quoted arguments */
    TORC_FAULT_UNKNOWN_COMMAND_ALONE, /* 1: name; Redis 8 leaves the tail out without arguments */
    TORC_FAULT_UNKNOWN_SUBCOMMAND,    /* 1: word, 2: container in upper case */
    TORC_FAULT_NOT_A_COMMAND,         /* COMMAND GETKEYS: the next three */
    TORC_FAULT_NO_KEYS,
    TORC_FAULT_NOT_ITS_ARITY,
    TORC_FAULT_UNKNOWN_OP,
    TORC_FAULT_BAD_REQUEST,
    TORC_FAULT_NO_PROTOCOL,
    TORC_FAULT_HELLO_VERSION,
    TORC_FAULT_HELLO_OPTION, /* 1: word */
    TORC_FAULT_WRONG_PASSWORD,
    TORC_FAULT_CLIENT_NAME,
    TORC_FAULT_CLIENT_INFO_VALUE,  /* 1: LIB-NAME or LIB-VER, as sent */
    TORC_FAULT_CLIENT_INFO_OPTION, /* 1: word */
    TORC_FAULT_MAX_CLIENTS,
    TORC_FAULT_EXPIRE_TIME,     /* 1: command */
    TORC_FAULT_EXPIRE_NEGATIVE, /* of fields; keys take a negative time as one that is past */
    TORC_FAULT_EXPIRE_MISSING,
    TORC_FAULT_EXPIRE_NX, /* EXPIRE and its like: the next three */
    TORC_FAULT_EXPIRE_GT_LT,
    TORC_FAULT_EXPIRE_OPTION, /* 1: word */
    TORC_FAULT_CONDITIONS,    /* HEXPIRE: several */
    TORC_FAULT_ONE_TIME,      /* HGETEX: two times, or one and PERSIST */
    TORC_FAULT_ONE_TIME_KEEP, /* HSETEX: two times, or one and KEEPTTL */
    TORC_FAULT_FXX_FNX,
    TORC_FAULT_UNKNOWN_ARGUMENT, /* 1: word */
    TORC_FAULT_FIELDS_TWICE,
    TORC_FAULT_FIELDS_MISSING,
    TORC_FAULT_FIELDS_SHORT,      /* fewer arguments than numfields says */
    TORC_FAULT_NUMFIELDS,         /* HEXPIRE and its like */
    TORC_FAULT_NUMFIELDS_INVALID, /* HGETEX, HSETEX */
    TORC_FAULT_NUMFIELDS_RANGE,   /* HTTL, HPERSIST, HGETDEL: the next three */
    TORC_FAULT_NUMFIELDS_MISMATCH,
    TORC_FAULT_FIELDS_MISPLACED, /* the word is not where it must be */
    TORC_FAULT_NO_SUCH_KEY,
    TORC_FAULT_SAME_OBJECTS,
    TORC_FAULT_INTERNAL, /* a state that cannot be; nothing was changed */
    /* RESP framing: the connection is closed behind the text */
    TORC_FAULT_MULTIBULK_LENGTH,
    TORC_FAULT_BULK_LENGTH,
    TORC_FAULT_EXPECTED_DOLLAR, /* 1: the byte there instead */
    TORC_FAULT_MULTIBULK_STRING,
    TORC_FAULT_BULK_STRING,
    TORC_FAULT_INLINE_TOO_BIG,
    TORC_FAULT_UNBALANCED_QUOTES,
    TORC_FAULT_BAD_CRLF,
    TORC_FAULT_COUNT,
};

/* Longest text that torc_fault_text() makes, terminator included. */
#define TORC_FAULT_TEXT_BYTES 512

/* The number of `fault` on the ring. */
enum torc_wire_status torc_fault_status(enum torc_fault fault);

/* The text with `first` and `second` put in where the table says so; bytes that would break a line
 * of RESP become blanks, as in Redis, and what does not fit is cut. Returns a slice of `buffer`, or
 * of static memory when there is nothing to put in. */
struct torc_slice torc_fault_text(enum torc_fault fault, struct torc_slice first,
                                  struct torc_slice second, char buffer[TORC_FAULT_TEXT_BYTES]);

/* The fault that stands for a negative errno of the hash layer. */
enum torc_fault torc_fault_of_hash(int error);

#endif
