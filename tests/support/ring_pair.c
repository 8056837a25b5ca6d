/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/ring_pair.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/futex.h"

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "ring_pair: %s\n", what);
    exit(EXIT_FAILURE);
}

struct torc_session_options torc_ring_pair_options(uint32_t slots, uint32_t area_bytes,
                                                   uint64_t long_message_max)
{
    return (struct torc_session_options){
        .slots = slots,
        .request_area_bytes = area_bytes,
        .reply_area_bytes = area_bytes,
        .long_message_max = long_message_max,
        .epoch = 1,
        .features = TORC_FEATURE_MEMBARRIER,
    };
}

struct torc_ring_pair torc_ring_pair_make(const struct torc_session_options *options,
                                          uint64_t position, enum torc_wait_mode wait,
                                          uint64_t spin_ns)
{
    struct torc_ring_pair pair;
    struct torc_session_options settled = *options;
    if (!torc_membarrier_register()) {
        settled.features = 0;
    }
    if (torc_session_create(&settled, &pair.session) != 0) {
        give_up("no session");
    }
    struct torc_session *session = pair.session;
    torc_session_start_at(session, position);
    void *request = mmap(NULL, torc_area_map_bytes(session->request_size), PROT_READ | PROT_WRITE,
                         MAP_SHARED, torc_session_fd(session, TORC_FD_REQUEST_AREA), 0);
    int doorbell = dup(torc_session_fd(session, TORC_FD_DOORBELL));
    if (request == MAP_FAILED || doorbell < 0) {
        give_up("no memory or descriptors");
    }
    session->request_map = request;
    session->request_lines = request;
    session->request_bytes = (const uint8_t *)request + TORC_AREA_LINES_BYTES;

    struct torc_welcome welcome = torc_handshake_welcome(&settled, 1, 0, 1);
    struct torc_attachment_parts parts = {
        .welcome = &welcome,
        .exchange_map = session->slots,
        .request_map = request,
        .reply_map = session->reply_map,
        .socket = -1,
        .doorbell = doorbell,
        .wait = wait,
        .spin_ns = spin_ns,
    };
    pair.attachment = torc_attachment_make(&parts);
    if (pair.attachment == NULL) {
        give_up("no attachment");
    }
    pair.attachment->borrows_mappings = true;
    pair.attachment->head = pair.attachment->tail = position;
    return pair;
}

void torc_ring_pair_free(struct torc_ring_pair *pair)
{
    torc_attachment_close(pair->attachment);
    torc_session_destroy(pair->session);
}

static uint8_t byte_at(uint32_t tag, size_t offset)
{
    uint32_t x = tag * 0x9e3779b1u + (uint32_t)offset * 0x85ebca6bu;
    return (uint8_t)(x >> 24);
}

void torc_ring_message_fill(uint8_t *message, size_t len, uint8_t op, uint32_t tag)
{
    message[0] = op;
    message[1] = TORC_REPLY_BYTES << 4;
    torc_store_u16(message + 2, 0);
    torc_store_u32(message + 4, tag);
    for (size_t i = TORC_MESSAGE_HEAD_BYTES; i < len; i++) {
        message[i] = byte_at(tag, i);
    }
}

bool torc_ring_message_is(struct torc_slice message, size_t len, uint8_t op, uint32_t tag)
{
    if (message.len != len || message.data[0] != op || message.data[1] != TORC_REPLY_BYTES << 4 ||
        torc_load_u32(message.data + 4) != tag) {
        return false;
    }
    for (size_t i = TORC_MESSAGE_HEAD_BYTES; i < len; i++) {
        if (message.data[i] != byte_at(tag, i)) {
            return false;
        }
    }
    return true;
}

unsigned torc_open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        give_up("no /proc");
    }
    unsigned n = 0;
    while (readdir(folder) != NULL) {
        n++;
    }
    (void)closedir(folder);
    return n;
}
