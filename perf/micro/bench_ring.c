/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/micro/bench_ring.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AREA_BYTES 65536u

static _Noreturn void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "cannot make a ring session: %s %s\n", what, why);
    exit(EXIT_FAILURE);
}

struct host {
    int listener;
    uint32_t slots;
    struct torc_bench_ring *ring;
};

static void receive(int socket, void *message, size_t cap, size_t *out_len)
{
    int none[1];
    if (torc_handshake_receive(socket, message, cap, none, 0, out_len) != 0) {
        give_up("the handshake", "stopped");
    }
}

/* The server's part of the handshake; every step that fails ends the program. */
static void *host(void *arg)
{
    struct host *host = arg;
    struct torc_bench_ring *ring = host->ring;
    ring->control = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC);
    if (ring->control < 0) {
        give_up("accept:", strerror(errno));
    }
    _Alignas(8) uint8_t message[256];
    size_t len;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    struct torc_hello hello;
    struct torc_session_options options = {
        .slots = host->slots,
        .request_area_bytes = AREA_BYTES,
        .reply_area_bytes = AREA_BYTES,
        .long_message_max = TORC_MIB,
        .epoch = 1,
        .features = TORC_FEATURE_MEMBARRIER,
    };
    receive(ring->control, message, sizeof message, &len);
    if (torc_handshake_check_hello(message, len, &options, &hello, why) != 0 ||
        torc_session_create(&options, &ring->session) != 0) {
        give_up("the session", why);
    }
    int fds[TORC_SESSION_FDS];
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        fds[i] = torc_session_fd(ring->session, (enum torc_session_fd)i);
    }
    struct torc_welcome welcome = torc_handshake_welcome(&options, 1, 0, 1);
    if (torc_handshake_send(ring->control, &welcome, sizeof welcome, fds, TORC_SESSION_FDS) != 0) {
        give_up("the handshake", "stopped");
    }
    receive(ring->control, message, sizeof message, &len);
    if (!torc_handshake_is_mark(message, len, TORC_MAPPED) ||
        torc_session_seal(ring->session) != 0) {
        give_up("its memory", "cannot be sealed");
    }
    torc_session_close_memfds(ring->session);
    struct torc_handshake_mark ready = torc_handshake_mark(TORC_READY);
    if (torc_handshake_send(ring->control, &ready, sizeof ready, NULL, 0) != 0) {
        give_up("the handshake", "stopped");
    }
    return NULL;
}

void torc_bench_ring_open(struct torc_bench_ring *ring, uint32_t slots, enum torc_wait_mode wait)
{
    char folder[] = "/tmp/torc-bench-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (mkdtemp(folder) == NULL) {
        give_up("a folder in /tmp:", strerror(errno));
    }
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/ring", folder);
    struct host state = {
        .listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
        .slots = slots,
        .ring = ring,
    };
    if (state.listener < 0 ||
        bind(state.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(state.listener, 1) != 0) {
        give_up("a socket:", strerror(errno));
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, host, &state) != 0) {
        give_up("a thread:", "not to be had");
    }
    struct torc_attachment_options options = {
        .path = address.sun_path,
        .name = "bench",
        .slots = slots,
        .wait = wait,
    };
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    if (torc_attachment_open(&options, &ring->attachment, why) != 0) {
        give_up("attaching:", why);
    }
    (void)pthread_join(thread, NULL);
    (void)close(state.listener);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

void torc_bench_ring_close(struct torc_bench_ring *ring)
{
    torc_attachment_close(ring->attachment);
    torc_session_destroy(ring->session);
    (void)close(ring->control);
}
