/* SPDX-License-Identifier: Apache-2.0
 *
 * A torc server in a thread of the test: the ring's own session and handshake over a small list of
 * fields. It refuses, keeps silent, lies and dies when told to. One client at a time.
 *
 * Mistakes of the environment (no memory, no thread) end the test program.
 */
#ifndef TORC_TESTS_SUPPORT_FAKE_SERVER_H
#define TORC_TESTS_SUPPORT_FAKE_SERVER_H

#include "ring/handshake.h"

struct torc_fake_server;

/* What happens to a client that attaches. */
enum torc_fake_attach {
    TORC_FAKE_ACCEPT,
    TORC_FAKE_REFUSE,        /* with refuse_error and refuse_text */
    TORC_FAKE_HANG_UP,       /* close after HELLO */
    TORC_FAKE_SILENT,        /* no answer to HELLO */
    TORC_FAKE_BABBLE,        /* an answer that is none of the protocol */
    TORC_FAKE_NEXT_VERSION,  /* WELCOME of a version that no client has */
    TORC_FAKE_OTHER_EPOCH,   /* WELCOME names another epoch than the memory has */
    TORC_FAKE_TWO_WELCOMES,  /* WELCOME instead of READY */
    TORC_FAKE_REFUSE_MAPPED, /* refuse after MAPPED */
};

/* Called instead of the list of fields, in the server's thread. Make a whole reply with `writer`,
 * whose memory holds 4 KiB; what is written there may be spoiled afterwards. False: answer from the
 * list. */
typedef bool torc_fake_answer(void *user, const struct torc_request *request,
                              struct torc_reply_writer *writer);

struct torc_fake_options {
    enum torc_fake_attach attach;
    int refuse_error;
    const char *refuse_text;
    uint32_t slots, area_bytes; /* 0: 16, 4 KiB */
    uint64_t long_message_max;  /* 0: 1 MiB */
    uint64_t epoch;             /* 0: 1; one more with each torc_fake_server_kill() */
    bool dies_at_request;       /* instead of answering */
    torc_fake_answer *answer;   /* may be NULL */
    void *user;
};

/* `options` may be NULL. Listens on a socket in a folder of its own when this returns. */
struct torc_fake_server *torc_fake_server_start(const struct torc_fake_options *options);
void torc_fake_server_stop(struct torc_fake_server *server);
const char *torc_fake_server_path(const struct torc_fake_server *server);

/* Change what clients that attach from now on meet, or what answers from now on. */
void torc_fake_server_set(struct torc_fake_server *server, const struct torc_fake_options *options);

/* Held, the server looks at no request; when released, it answers all that came. Has effect when
 * this returns. */
void torc_fake_server_hold(struct torc_fake_server *server, bool held);

/* Die for the client that is attached: its memory and socket are dropped when this returns. What it
 * had stored stays. The next client meets another epoch. */
void torc_fake_server_kill(struct torc_fake_server *server);

/* Requests answered so far, over all clients. */
uint64_t torc_fake_server_answered(struct torc_fake_server *server);

/* Database and name of the last HELLO. */
struct torc_hello torc_fake_server_hello(struct torc_fake_server *server);

#endif
