/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of an attachment: for attach.c (making one), attachment.c (requests, replies),
 * attachment_wait.c (waiting) and tests.
 */
#ifndef TORC_RING_ATTACHMENT_PRIVATE_H
#define TORC_RING_ATTACHMENT_PRIVATE_H

#include "ring/attachment.h"
#include "ring/layout.h"

/* Take a line that will be written from the other side's cache at once, not first to read and then
 * again to write. Compilers have PREFETCHW only where the target is said to know it; an x86-64 CPU
 * that does not executes it as nothing. */
#if defined(__x86_64__)
#define TORC_PREFETCH_TO_WRITE(p) __asm__("prefetchw %0" : : "m"(*(const unsigned char *)(p)))
#else
#define TORC_PREFETCH_TO_WRITE(p) __builtin_prefetch((p), 1)
#endif

enum torc_reservation {
    TORC_RESERVED_NOTHING,
    TORC_RESERVED_SLOT,
    TORC_RESERVED_AREA,
    TORC_RESERVED_LONG,
};

/* The long request that is being pushed. Its parts use one place in the request area, one after
 * the other, and one slot. */
struct torc_push {
    bool is_active;
    uint8_t *data; /* the whole message; also while it is only reserved */
    uint32_t total;
    uint32_t sent;
    uint32_t tag;
    uint64_t position;
    uint64_t start; /* in the request area: a quarter of it */
};

/* The long reply that is being pulled, always the oldest outstanding one. */
enum torc_pull_state {
    TORC_PULL_NONE,
    TORC_PULL_LACKS_MEMORY, /* seen, and no memory for it */
    TORC_PULL_PARTS,        /* some parts are here, one is asked for */
    TORC_PULL_WHOLE,        /* all are: it is the peeked reply */
    TORC_PULL_GIVEN_UP,     /* consumed before it was whole; the server has not yet said yes */
};
struct torc_pull {
    enum torc_pull_state state;
    uint8_t *data;
    uint32_t total;
    uint32_t got;
    uint64_t id;
};

struct torc_attachment {
    struct torc_slot *slots;
    uint64_t head, tail; /* positions: next to publish, oldest outstanding */
    uint32_t slot_mask;
    unsigned slots_log2;
    bool is_asymmetric; /* publishes with release only; see ring/layout.h */
    bool is_dead, is_broken;
    bool has_peeked;
    bool peeked_is_in_area;
    uint32_t rung_word;  /* the server's flag when its doorbell was last rung */
    uint32_t sleep_word; /* of our last sleep; never 0 */
    uint32_t empty_looks;
    struct torc_request_lines *request_lines;
    const struct torc_reply_lines *reply_lines;

    struct torc_area request_area;
    uint64_t *area_ends; /* per slot: freed up to here when its reply has been consumed */
    const uint8_t *reply_bytes;
    uint32_t reply_size;
    uint64_t reply_position; /* of the next message in the reply area */
    uint64_t peeked_end;
    struct torc_slice peeked;

    enum torc_reservation reservation;
    size_t reserved_len;
    uint64_t reserved_start;
    struct torc_push push;
    struct torc_pull pull;

    enum torc_wait_mode wait;
    uint64_t spin_ns;
    uint64_t sleep_ns_max; /* one sleep; then the server's life is checked */
    uint64_t long_message_max;
    uint64_t epoch, session_id;
    int socket;            /* -1 in a test without one */
    int doorbell;          /* eventfd */
    bool borrows_mappings; /* they are not unmapped: tests over one mapping in one process */
    void *request_map, *reply_map;
};

/* What an attachment is made of, once mapped. Takes over the descriptors, not the mappings, and
 * only if it succeeds; NULL no memory. */
struct torc_attachment_parts {
    const struct torc_welcome *welcome;
    void *exchange_map, *request_map, *reply_map;
    int socket, doorbell;
    enum torc_wait_mode wait;
    uint64_t spin_ns;
};
struct torc_attachment *
torc_attachment_make(const struct torc_attachment_parts *parts) TORC_MUST_USE;

/* One look at whether something that is waited for is there: -EAGAIN not yet. */
typedef int torc_attachment_look(struct torc_attachment *attachment);

/* Look until the result is not -EAGAIN, or until the deadline: -ETIMEDOUT. */
int torc_attachment_await(struct torc_attachment *attachment, torc_attachment_look *look,
                          uint64_t deadline_ns) TORC_MUST_USE;

/* The server sleeps, as its `flag` says: ring its doorbell, once per value. */
void torc_attachment_ring(struct torc_attachment *attachment, uint32_t flag);

/* Ask the control socket whether the server lives. One syscall; sets is_dead. */
void torc_attachment_check_life(struct torc_attachment *attachment);

/* All invariants of the private state. For tests; O(slots). */
bool torc_attachment_check(const struct torc_attachment *attachment) TORC_MUST_USE;

#endif
