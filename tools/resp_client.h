/* SPDX-License-Identifier: Apache-2.0
 *
 * A small pipelining Redis client over a Unix or TCP socket, for measuring and loading. Requests
 * are queued and leave together when a reply has to be waited for, or when enough of them are
 * queued, so that a pipeline costs one write a batch. One thread.
 */
#ifndef TORC_TOOLS_RESP_CLIENT_H
#define TORC_TOOLS_RESP_CLIENT_H

#include "core/slice.h"
#include "tools/resp_reply.h"
#include "torc/torc.h"

#define TORC_RESP_CLIENT_ERROR_BYTES 256
#define TORC_RESP_CLIENT_REPLY_BYTES (256 * TORC_MIB) /* longest reply taken */

struct torc_resp_client;

enum torc_resp_wait {
    TORC_RESP_SLEEP, /* poll(2) */
    TORC_RESP_SPIN,  /* read until something comes: no wake-up in the way, a core kept busy */
};

/* Connect to "unix:/path", "/path", "host:port", "[v6]:port" or "port" (of 127.0.0.1). 0; -EINVAL
 * not an address, -ENOENT nobody there, -ENOMEM; `error` says more. */
int torc_resp_client_open(const char *address, struct torc_resp_client **out_client,
                          char error[TORC_RESP_CLIENT_ERROR_BYTES]) TORC_MUST_USE;
void torc_resp_client_close(struct torc_resp_client *client);

/* Queue a command of one word and more; the words are copied. 0; -EAGAIN too much is waiting to be
 * sent: receive a reply first; -EPIPE the server is gone; -ENOMEM. Nothing is queued on error. */
int torc_resp_client_send(struct torc_resp_client *client, const struct torc_bytes *words,
                          size_t n_words) TORC_MUST_USE;

/* Take the oldest outstanding reply, sending what is queued if that has to be waited for. 0;
 * -ENOENT nothing outstanding; -ETIMEDOUT no reply within `timeout_ns` (below 2^62), ask again;
 * -EPIPE, -EBADMSG, -EMSGSIZE, -ENOMEM: the connection is of no more use. The reply is borrowed
 * until the next call. Its error replies are replies: 0. */
int torc_resp_client_receive(struct torc_resp_client *client, enum torc_resp_wait wait,
                             uint64_t timeout_ns,
                             const struct torc_resp_reply **out_reply) TORC_MUST_USE;

/* The bytes of a span of the reply received last; data is NULL for nil. */
struct torc_slice torc_resp_client_bytes(const struct torc_resp_client *client,
                                         struct torc_resp_span span);

/* Commands sent or queued, whose replies were not taken yet. */
size_t torc_resp_client_outstanding(const struct torc_resp_client *client);

#endif
