/* SPDX-License-Identifier: Apache-2.0
 *
 * Attach, over the control socket (Unix, SOCK_SEQPACKET). One datagram each:
 *
 *   client                                      server
 *   HELLO  magic, versions, features, sizes, database, name ->
 *                                               <- WELCOME  version, sizes in force, epoch + 4
 * descriptors   (or REFUSED: reason as text) MAPPED (seals and sizes verified, mapped) ->
 *                                               <- READY
 * Then the socket stays open: its end of file is death. Two seconds for all of it.
 *
 * Numbers little-endian, structs of fixed size, asserted. Surplus descriptors are closed, a
 * truncated control message is fatal.
 */
#ifndef TORC_RING_HANDSHAKE_H
#define TORC_RING_HANDSHAKE_H

#include "ring/session.h"

#define TORC_HANDSHAKE_MAGIC      0x43524f54u /* "TORC" */
#define TORC_HANDSHAKE_VERSION    1u          /* major: must match */
#define TORC_HANDSHAKE_TIMEOUT_NS 2000000000ull
#define TORC_HANDSHAKE_NAME_BYTES 64u
#define TORC_HANDSHAKE_TEXT_BYTES 128u

enum torc_handshake_type {
    TORC_HELLO = 1,
    TORC_WELCOME = 2,
    TORC_REFUSED = 3,
    TORC_MAPPED = 4,
    TORC_READY = 5
};

struct torc_hello {
    uint32_t magic, type;
    uint32_t version_min, version_max;
    uint64_t features;
    uint32_t slots, request_area_bytes, reply_area_bytes; /* wishes; 0 = the server's default */
    uint32_t database;
    char name[TORC_HANDSHAKE_NAME_BYTES]; /* of the session, NUL-terminated */
};
static_assert(sizeof(struct torc_hello) == 104, "HELLO");

struct torc_welcome {
    uint32_t magic, type;
    uint32_t version, shard;
    uint64_t features, epoch, session_id;
    uint32_t slots, request_area_bytes, reply_area_bytes; /* authoritative */
    uint32_t n_shards;
    uint64_t long_message_max;
};
static_assert(sizeof(struct torc_welcome) == 64, "WELCOME");

struct torc_refused {
    uint32_t magic, type;
    char text[TORC_HANDSHAKE_TEXT_BYTES]; /* why, for a person */
};

/* Send one datagram with up to n_fds descriptors. -EPIPE, -EAGAIN, -EINVAL. */
int torc_handshake_send(int socket, const void *message, size_t len, const int *fds,
                        unsigned n_fds) TORC_MUST_USE;

/* Receive one datagram into `buffer`. *out_len bytes; exactly `n_fds` descriptors are kept in fds,
 * close-on-exec, all others closed. -EPIPE end of file, -EAGAIN nothing there (non-blocking
 * socket), -EBADMSG too long, control data cut off, or another number of descriptors (then all are
 * closed). */
int torc_handshake_receive(int socket, void *buffer, size_t cap, int *fds, unsigned n_fds,
                           size_t *out_len) TORC_MUST_USE;

/* Validate a HELLO and settle the sizes. 0; -EPROTO version, -EBADMSG, -EINVAL sizes: `why` gets a
 * text for REFUSED. */
int torc_handshake_check_hello(const void *message, size_t len,
                               struct torc_session_options *in_out_options,
                               struct torc_hello *out_hello,
                               char why[TORC_HANDSHAKE_TEXT_BYTES]) TORC_MUST_USE;

#endif
