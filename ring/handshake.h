/* SPDX-License-Identifier: Apache-2.0
 *
 * Attach, over the control socket (Unix, SOCK_SEQPACKET). One datagram each:
 *
 *   client                                          server
 *   HELLO: magic, versions, features, sizes,
 *          database, name                   ->
 *                                           <-      WELCOME: version, sizes in force, epoch,
 *                                                   and 4 descriptors
 *                                                   or, here or later, REFUSED: reason and text
 *   MAPPED: seals and sizes verified,
 *           memory mapped                   ->
 *                                                   (seals, populates)
 *                                           <-      READY
 * Then the socket stays open: its end of file is death. Two seconds for all of it.
 *
 * Numbers are little-endian, structs of fixed size, asserted. Surplus descriptors are closed, a
 * truncated datagram or control message is fatal. Byte tables: docs/formats/ring.md.
 *
 * Here are the words and their checks, which need no socket, and the two calls that move datagrams.
 * The client's steps are torc_attachment_open(); the server's belong to its control thread. All
 * functions: any thread.
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
    uint64_t features;                                    /* bits of enum torc_feature */
    uint32_t slots, request_area_bytes, reply_area_bytes; /* wishes; 0 = the server's default */
    uint32_t database;
    char name[TORC_HANDSHAKE_NAME_BYTES]; /* of the session, NUL-terminated */
};
static_assert(sizeof(struct torc_hello) == 104, "HELLO");
static_assert(offsetof(struct torc_hello, name) == 40, "HELLO");

struct torc_welcome {
    uint32_t magic, type;
    uint32_t version, shard;
    uint64_t features; /* in force */
    uint64_t epoch, session_id;
    uint32_t slots, request_area_bytes, reply_area_bytes; /* authoritative */
    uint32_t n_shards;
    uint64_t long_message_max;
};
static_assert(sizeof(struct torc_welcome) == 64, "WELCOME");
static_assert(offsetof(struct torc_welcome, features) == 16, "WELCOME");
static_assert(offsetof(struct torc_welcome, long_message_max) == 56, "WELCOME");

/* Why a client is refused. Pinned numbers; one not known is as OTHER. */
enum torc_refusal {
    TORC_REFUSAL_OTHER = 0,     /* policy, shutting down: the text says */
    TORC_REFUSAL_VERSION = 1,   /* no common version */
    TORC_REFUSAL_QUOTA = 2,     /* sessions or bytes of this user, or of all */
    TORC_REFUSAL_MEMORY = 3,    /* the kernel gave none */
    TORC_REFUSAL_MALFORMED = 4, /* a datagram of the handshake is not as it must be */
    TORC_REFUSAL_WISH = 5,      /* sizes, database or name */
};

struct torc_refused {
    uint32_t magic, type;
    uint32_t reason;                      /* enum torc_refusal */
    uint32_t reserved;                    /* 0 */
    char text[TORC_HANDSHAKE_TEXT_BYTES]; /* for a person, NUL-terminated */
};
static_assert(sizeof(struct torc_refused) == 144, "REFUSED");

/* MAPPED and READY. */
struct torc_handshake_mark {
    uint32_t magic, type;
};
static_assert(sizeof(struct torc_handshake_mark) == 8, "MAPPED, READY");

/* Send one datagram with up to n_fds (at most 8) descriptors. Never raises SIGPIPE.
 * -EPIPE the peer is gone, -EAGAIN no room (non-blocking socket, or one with a time limit),
 * -ENOMEM, -EINVAL. */
int torc_handshake_send(int socket, const void *message, size_t len, const int *fds,
                        unsigned n_fds) TORC_MUST_USE;

/* Receive one datagram into `buffer`. *out_len bytes; exactly `n_fds` (at most 8) descriptors are
 * kept in fds, close-on-exec, owned by the caller. -EPIPE end of file, -EAGAIN nothing there
 * (non-blocking socket, or one with a time limit); -EBADMSG too long, control data cut off, or
 * another number of descriptors; -ENOMEM. On any error every descriptor that came is closed. */
int torc_handshake_receive(int socket, void *buffer, size_t cap, int *fds, unsigned n_fds,
                           size_t *out_len) TORC_MUST_USE;

/* Server: validate a HELLO and settle sizes and features. In: *in_out_options has the server's
 * defaults. Out: sizes as wished, where wished, and the features that both sides have; all else as
 * it was. out_hello->name is printable ASCII, zeros behind it.
 * -EPROTO no common version; -EBADMSG not a HELLO, or the name is not printable; -EINVAL sizes.
 * `why` gets a text for REFUSED then; in_out_options and out_hello are untouched. */
int torc_handshake_check_hello(const void *message, size_t len,
                               struct torc_session_options *in_out_options,
                               struct torc_hello *out_hello,
                               char why[TORC_HANDSHAKE_TEXT_BYTES]) TORC_MUST_USE;

/* Server: the WELCOME for a session made with these options. */
struct torc_welcome torc_handshake_welcome(const struct torc_session_options *options,
                                           uint64_t session_id, uint32_t shard, uint32_t n_shards);

/* Server: refuse and forget. `error` is a negative errno: -EPROTO version, -ENOSPC quota, -ENOMEM
 * and -EAGAIN memory, -EBADMSG malformed, -EINVAL wish, any other: other. Best effort: the client
 * may be gone. */
void torc_handshake_refuse(int socket, int error, const char *text);

/* The datagrams MAPPED and READY, and their check. */
struct torc_handshake_mark torc_handshake_mark(enum torc_handshake_type type);
bool torc_handshake_is_mark(const void *message, size_t len, enum torc_handshake_type type);

/* Client: validate what answers a HELLO. 0: a WELCOME, *out_welcome has valid sizes. If it is
 * REFUSED, by reason: -EPROTO, -ENOSPC (quota), -ENOMEM, -EBADMSG (malformed), else -EINVAL; `why`
 * gets its text, made printable. -EBADMSG neither of them, or not valid: `why` says so. */
int torc_handshake_check_welcome(const void *message, size_t len, struct torc_welcome *out_welcome,
                                 char why[TORC_HANDSHAKE_TEXT_BYTES]) TORC_MUST_USE;

#endif
