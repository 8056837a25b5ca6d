/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands: one function per op, the same for both paths. A front end (a ring peer, a RESP
 * connection) makes a torc_call, has a batch of them prepared, and runs them in order.
 *
 * Thread: the service's poller.
 */
#ifndef TORC_TORCD_COMMANDS_H
#define TORC_TORCD_COMMANDS_H

#include "tools/torcd/reply.h"
#include "tools/torcd/service.h"

#define TORC_CALLER_NAME_BYTES 256u

/* Who asks over RESP: what a connection remembers between commands. */
struct torc_caller {
    uint64_t id;      /* growing, never used again */
    uint8_t protocol; /* 2 or 3 */
    bool wants_close; /* QUIT: close once the replies are out */
    char name[TORC_CALLER_NAME_BYTES];
    char lib_name[TORC_CALLER_NAME_BYTES];
    char lib_version[TORC_CALLER_NAME_BYTES];
};

struct torc_call;

/* Makes the reply of one call, exactly one; or none, and postpones it (tools/torcd/reply.h). */
typedef void torc_command_function(struct torc_service *service, struct torc_call *call);

struct torc_call {
    struct torc_request request; /* op may be a torc_gateway_op */
    struct torc_key key;         /* of the first string, if has_key */
    struct torc_sink *sink;
    struct torc_caller *caller; /* NULL on a ring */

    /* Set by torc_call_from_words() or torc_call_check(). */
    torc_command_function *run; /* the command, or what refuses the call */
    bool has_key;               /* the first string is a key */
    uint8_t counted_as;         /* in the statistics; 0: refused */
    enum torc_fault refusal;    /* what a refused call is answered, with these words */
    struct torc_slice refusal_words[2];
};

/* Fill `call` from the words of a RESP command: finds the op, checks the number of words, reads
 * numbers. Never fails: what is wrong becomes the call's answer. The words are borrowed, and moved
 * so that the strings of the request are a row without the numbers between them; so is
 * `scratch` of TORC_FAULT_TEXT_BYTES, which must live as long as the call. `sink` and `caller` are
 * set by the connection. */
void torc_call_from_words(struct torc_service *service, struct torc_slice *words, uint32_t n_words,
                          char *scratch, struct torc_call *out_call);

/* Find the command of a decoded ring request, and check its number of words. What is wrong becomes
 * the call's answer. */
void torc_call_check(struct torc_service *service, struct torc_call *call);

/* Answer the call with a fault instead. */
void torc_call_refuse(struct torc_call *call, enum torc_fault fault);

/* Hash the keys of n calls. For more than one, also bring their index lines, then their records,
 * into the cache, so that a batch waits for memory once and not n times; not while all data fits
 * the cache (service->fits_cache). */
void torc_calls_prepare(const struct torc_service *service, struct torc_call *calls, unsigned n);

/* Run one call: makes exactly one reply, or postpones it; counts and times it. */
void torc_call_run(struct torc_service *service, struct torc_call *call);

/* The same for a call that was counted: to build its reply in more room, or after it was postponed.
 */
void torc_call_repeat(struct torc_service *service, struct torc_call *call);

/* True if running the call again has the effect of running it once: all but writes. */
bool torc_call_is_repeatable(const struct torc_call *call);

/* Name of a command in lower case ("memory|usage"), NULL if the number is unused. Static. */
const char *torc_command_name(unsigned op);

#endif
