/* SPDX-License-Identifier: Apache-2.0
 *
 * Every synchronous call of libtorc once, with good arguments, to be met by every fault. Each sees
 * for itself that its outputs are left alone when it fails.
 */
#ifndef TORC_TESTS_SUPPORT_CLIENT_CALLS_H
#define TORC_TESTS_SUPPORT_CLIENT_CALLS_H

#include "ring/message.h"
#include "torc/torc.h"

/* A set of error codes, one bit each. */
#define CODE(code) (1u << -(code))

struct client_call {
    const char *name; /* of the function without torc_; behind a blank, which use of it */
    int64_t (*call)(struct torc *torc);
    enum torc_reply_kind kind; /* that it takes; ERROR: one of special content */
    uint32_t codes;            /* that torc.h says it may give */
};
extern const struct client_call client_calls[];
extern const size_t client_n_calls;

/* The call of that name. */
int64_t client_call(struct torc *torc, const char *name);

#endif
