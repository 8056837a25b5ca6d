/* SPDX-License-Identifier: Apache-2.0
 *
 * Guest: a process at the control socket, from its connection to the end of its ring session. This
 * is the server's half of the handshake (ring/handshake.h) as a state machine on a non-blocking
 * socket; the control thread drives it.
 *
 *   WAIT_HELLO -> WAIT_MAPPED -> ATTACHED -> LEAVING -> (freed)
 *        \------------\--------------------> DEAD -> (freed)
 *
 * LEAVING: the poller still has the session; it is freed when the poller has released it.
 */
#ifndef TORC_TORCD_GUEST_H
#define TORC_TORCD_GUEST_H

#include <sys/types.h>

#include "ring/handshake.h"
#include "tools/torcd/peer.h"
#include "tools/torcd/source.h"

enum torc_guest_state {
    TORC_GUEST_WAIT_HELLO,
    TORC_GUEST_WAIT_MAPPED,
    TORC_GUEST_ATTACHED,
    TORC_GUEST_LEAVING,
    TORC_GUEST_DEAD,
};

struct torc_guest {
    struct torc_source socket_source;
    struct torc_source process_source;
    enum torc_guest_state state;
    int socket;  /* -1 once closed */
    int process; /* pidfd, -1 when the kernel has none */
    pid_t pid;
    uid_t uid;
    uint64_t deadline_ns; /* of the handshake, CLOCK_MONOTONIC */
    const char *refusal;  /* a quota that its HELLO will be refused for; static. NULL: none */
    struct torc_session_options options;
    char name[TORC_HANDSHAKE_NAME_BYTES];
    struct torc_peer peer; /* peer.session: from WAIT_MAPPED on */
    bool close_is_sent;
    struct torc_guest *next, *prev;
};

/* Take over an accepted control connection; who the peer is comes from the kernel. `options` are
 * the server's defaults for its session. -ENOMEM, -EPIPE it is gone already, -EAGAIN out of
 * descriptors: the socket stays the caller's. */
int torc_guest_create(int socket, uint64_t id, const struct torc_session_options *options,
                      uint64_t now_ns, struct torc_guest **out_guest) TORC_MUST_USE;

/* Close and free all; the poller must not have it. */
void torc_guest_destroy(struct torc_guest *guest);

/* A datagram, or the end, is there to be read. Goes on with the handshake: afterwards `state` says
 * where it stands, and DEAD means that it failed, was refused, or ended; `why` then has a text for
 * the log (TORC_HANDSHAKE_TEXT_BYTES). When the state becomes ATTACHED the caller sends peer.attach
 * to a poller and then calls torc_guest_welcome(). An attached guest that is to be let go becomes
 * LEAVING. */
void torc_guest_read(struct torc_guest *guest, char why[TORC_HANDSHAKE_TEXT_BYTES]);

/* READY. -EPIPE. */
int torc_guest_welcome(struct torc_guest *guest) TORC_MUST_USE;

/* Let it go, for a reason other than its socket: the process ended, a rule was broken, the server
 * stops. ATTACHED becomes LEAVING, what comes before becomes DEAD. */
void torc_guest_end(struct torc_guest *guest);

#endif
