/* SPDX-License-Identifier: Apache-2.0
 *
 * A server in this process, for tests: in a fresh folder, without TCP, driven step by step.
 */
#ifndef TORC_TESTS_UNIT_TOOLS_SERVER_FIXTURE_H
#define TORC_TESTS_UNIT_TOOLS_SERVER_FIXTURE_H

#include "tools/torcd/server.h"

struct torc_fixture {
    char folder[64];
    char resp_path[96];
    char control_path[96];
    struct torc_settings settings;
    struct torc_log log;
    struct torc_server *server;
};

/* Make the folder and the settings; change these, then start. */
void torc_fixture_init(struct torc_fixture *fixture);
/* Set an option as the command line would. */
void torc_fixture_set(struct torc_fixture *fixture, const char *name, const char *value);
void torc_fixture_start(struct torc_fixture *fixture);
/* Close the server, check the data it leaves, remove the folder. */
void torc_fixture_fini(struct torc_fixture *fixture);

/* A connection to its RESP socket, non-blocking. */
int torc_fixture_connect(struct torc_fixture *fixture);

/* Step until nothing has happened for a few steps. */
void torc_fixture_settle(struct torc_fixture *fixture);

/* Send all of `bytes`, stepping where the socket is full. */
void torc_fixture_send(struct torc_fixture *fixture, int fd, const void *bytes, size_t len);

/* Step until `len` bytes came or the connection ended; returns what came. */
size_t torc_fixture_receive(struct torc_fixture *fixture, int fd, void *bytes, size_t len);

/* Send `request`, and check that exactly `reply` comes. */
void torc_fixture_expect(struct torc_fixture *fixture, int fd, const char *request,
                         const char *reply);

/* Check that the connection has ended, without further bytes; closes it. */
void torc_fixture_expect_end(struct torc_fixture *fixture, int fd);

/* Descriptors that this process has open. */
unsigned torc_fixture_count_descriptors(void);

#endif
