/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5: the pidfd of whoever connected, which cannot be of another process that has got the
 * same number since. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A descriptor that becomes readable when the peer's process ends. 0 and *out_fd (-1: the kernel
 * cannot, the socket's end must do); -EPIPE it has ended, -EAGAIN out of descriptors. */
static int open_process(int socket, pid_t pid, int *out_fd)
{
    int fd = -1;
    socklen_t len = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0) {
        *out_fd = fd;
        return 0;
    }
    if (pid > 0) {
        fd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by nature */
    }
    if (fd < 0 && pid > 0 && errno == ESRCH) {
        return -EPIPE;
    }
    if (fd < 0 && pid > 0 && (errno == EMFILE || errno == ENFILE)) {
        return -EAGAIN;
    }
    *out_fd = fd;
    return 0;
}

int torc_guest_create(int socket, uint64_t id, const struct torc_session_options *options,
                      uint64_t now_ns, struct torc_guest **out_guest)
{
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0) {
        return -EPIPE;
    }
    int process;
    int rc = open_process(socket, who.pid, &process);
    if (rc != 0) {
        return rc;
    }
    struct torc_guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL) {
        if (process >= 0) {
            (void)close(process);
        }
        return -ENOMEM;
    }
    guest->socket_source.kind = TORC_SOURCE_GUEST;
    guest->process_source.kind = TORC_SOURCE_GUEST_PROCESS;
    guest->state = TORC_GUEST_WAIT_HELLO;
    guest->socket = socket;
    guest->process = process;
    guest->pid = who.pid;
    guest->uid = who.uid;
    guest->deadline_ns = now_ns + TORC_HANDSHAKE_TIMEOUT_NS;
    guest->options = *options;
    guest->peer.id = id;
    guest->peer.index = SIZE_MAX;
    *out_guest = guest;
    return 0;
}

static void close_descriptors(struct torc_guest *guest)
{
    if (guest->socket >= 0) {
        (void)close(guest->socket);
        guest->socket = -1;
    }
    if (guest->process >= 0) {
        (void)close(guest->process);
        guest->process = -1;
    }
}

void torc_guest_destroy(struct torc_guest *guest)
{
    close_descriptors(guest);
    torc_session_destroy(guest->peer.session);
    free(guest);
}

void torc_guest_end(struct torc_guest *guest)
{
    /* The client sees the end of its socket; the session's memory stays until the poller is done.
     */
    close_descriptors(guest);
    guest->state = guest->state == TORC_GUEST_ATTACHED || guest->state == TORC_GUEST_LEAVING
                       ? TORC_GUEST_LEAVING
                       : TORC_GUEST_DEAD;
}

static void refuse(struct torc_guest *guest, int error, const char *text)
{
    torc_handshake_refuse(guest->socket, error, text);
    guest->state = TORC_GUEST_DEAD;
}

/* HELLO: make the session and pass it. */
static void read_hello(struct torc_guest *guest, const void *message, size_t len,
                       char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    struct torc_hello hello;
    int rc = torc_handshake_check_hello(message, len, &guest->options, &hello, why);
    if (rc == 0 && hello.database != 0) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "there is no database %u", hello.database);
        rc = -EINVAL;
    }
    if (rc == 0 && guest->refusal != NULL) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "%s", guest->refusal);
        rc = -ENOSPC;
    }
    if (rc != 0) {
        refuse(guest, rc, why);
        return;
    }
    memcpy(guest->name, hello.name, sizeof guest->name);
    rc = torc_session_create(&guest->options, &guest->peer.session);
    if (rc != 0) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "no memory or descriptors for a session");
        refuse(guest, rc, why);
        return;
    }
    struct torc_welcome welcome = torc_handshake_welcome(&guest->options, guest->peer.id, 0, 1);
    int fds[TORC_SESSION_FDS];
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        fds[i] = torc_session_fd(guest->peer.session, (enum torc_session_fd)i);
    }
    rc = torc_handshake_send(guest->socket, &welcome, sizeof welcome, fds, TORC_SESSION_FDS);
    if (rc != 0) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "WELCOME could not be sent");
        guest->state = TORC_GUEST_DEAD;
        return;
    }
    guest->state = TORC_GUEST_WAIT_MAPPED;
}

/* MAPPED: the client has its mappings, so nobody needs to make others. */
static void read_mapped(struct torc_guest *guest, const void *message, size_t len,
                        char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    if (!torc_handshake_is_mark(message, len, TORC_MAPPED)) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "not a MAPPED");
        refuse(guest, -EBADMSG, why);
        return;
    }
    int rc = torc_session_seal(guest->peer.session);
    if (rc != 0) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "the session's memory cannot be sealed");
        refuse(guest, rc, why);
        return;
    }
    torc_session_close_memfds(guest->peer.session);
    guest->state = TORC_GUEST_ATTACHED;
}

void torc_guest_read(struct torc_guest *guest, char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    _Alignas(8) uint8_t message[256];
    size_t len;
    int none[1]; /* no descriptor is expected, and any that comes is closed */
    int rc = torc_handshake_receive(guest->socket, message, sizeof message, none, 0, &len);
    if (rc == -EAGAIN) {
        return;
    }
    if (rc == -EPIPE) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "%s",
                       guest->state == TORC_GUEST_ATTACHED ? "its client has closed"
                                                           : "gone during the handshake");
        torc_guest_end(guest);
        return;
    }
    if (rc != 0 || guest->state == TORC_GUEST_ATTACHED) {
        (void)snprintf(why, TORC_HANDSHAKE_TEXT_BYTES, "an unexpected or malformed datagram");
        if (guest->state != TORC_GUEST_ATTACHED) {
            torc_handshake_refuse(guest->socket, -EBADMSG, why);
        }
        torc_guest_end(guest);
        return;
    }
    if (guest->state == TORC_GUEST_WAIT_HELLO) {
        read_hello(guest, message, len, why);
    } else if (guest->state == TORC_GUEST_WAIT_MAPPED) {
        read_mapped(guest, message, len, why);
    }
}

int torc_guest_welcome(struct torc_guest *guest)
{
    struct torc_handshake_mark ready = torc_handshake_mark(TORC_READY);
    return torc_handshake_send(guest->socket, &ready, sizeof ready, NULL, 0) == 0 ? 0 : -EPIPE;
}
