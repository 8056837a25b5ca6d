/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a session as both sides see it: public lines of the two areas, sizes, placing of
 * messages. Format: docs/formats/ring.md.
 *
 *   exchange      slots x 64 bytes; both sides write
 *   request area  128 bytes of public lines, then request_area_bytes; only the client writes
 *   reply area    128 bytes of public lines, then reply_area_bytes; only the server writes
 *
 * Each object is a memfd whose size is rounded up to a page.
 *
 *   word               written by  read by  what it publishes                           pair
 *   request.consumed   client      server   reply-area bytes below may be reused        A1 release,
 *                                                                                       A2 acquire
 *   reply.sleeping     server      client   "ring the doorbell"; 0 = awake              W1, W2
 *   request.sleeping   client      server   "wake me by the futex"; 0 = awake           W3, W4
 *   reply.batches      server      client   replies stored before are to be seen        W3, W4
 *   reply.futex        server      client   changes with each wake-up; slept on         W4
 *
 * W1, W2: the client publishes a slot (or `consumed`, for which a reply may be waiting), then loads
 * reply.sleeping; the server stores reply.sleeping, then looks at all slots. Release and acquire do
 * not keep a store ahead of a later load, so with less than one of the following both may miss, and
 * the server sleeps on a full slot:
 *
 *   symmetric   all four accesses are seq_cst, also the store of the slot
 *   asymmetric  the client publishes with release; the server calls membarrier() between its store
 *               and its look, which is a full barrier in each client that has registered. This
 *               takes the cost from each publication to the rare sleep
 *
 * W3, W4: the server publishes replies with release, then adds to `batches` (seq_cst), then loads
 * request.sleeping (seq_cst). The client loads `futex`, then stores request.sleeping (seq_cst),
 * then loads `batches` (seq_cst), then looks at its slot, then sleeps while futex has the value
 * that it loaded. If the server missed the client's flag, its addition comes before the client's
 * load of `batches` in the one order of all seq_cst accesses, so the client sees what was published
 * before it. If the server saw the flag, futex changes after the client has loaded it.
 *
 * A flag that is not 0 changes its value with each sleep, so that one sleep costs one wake-up.
 *
 * Model of all this: docs/models/wakeup.pml.
 */
#ifndef TORC_RING_LAYOUT_H
#define TORC_RING_LAYOUT_H

#include "ring/exchange.h"

#define TORC_AREA_LINES_BYTES   128u       /* two public lines; messages follow */
#define TORC_AREA_BYTES_MIN     (1u << 12) /* of messages, each direction */
#define TORC_AREA_BYTES_DEFAULT (1u << 16)
#define TORC_AREA_BYTES_MAX     (1u << 26)
#define TORC_AREA_ALIGN         64u /* messages start at multiples of it */

struct torc_request_lines {
    _Alignas(64) _Atomic uint64_t consumed;
    _Alignas(64) _Atomic uint32_t sleeping;
};
static_assert(sizeof(struct torc_request_lines) == TORC_AREA_LINES_BYTES, "two lines");
static_assert(offsetof(struct torc_request_lines, sleeping) == 64, "a line of its own");

struct torc_reply_lines {
    _Alignas(64) _Atomic uint64_t epoch;
    _Atomic uint32_t batches; /* hot for the server, so not on the line of the flag */
    _Alignas(64) _Atomic uint32_t sleeping;
    _Atomic uint32_t futex;
};
static_assert(sizeof(struct torc_reply_lines) == TORC_AREA_LINES_BYTES, "two lines");
static_assert(offsetof(struct torc_reply_lines, batches) == 8, "layout");
static_assert(offsetof(struct torc_reply_lines, sleeping) == 64, "a line of its own");
static_assert(offsetof(struct torc_reply_lines, futex) == 68, "layout");

/* Sizes of the three memfds. */
static inline size_t torc_exchange_map_bytes(uint32_t slots)
{
    return torc_align_up((uint64_t)slots * TORC_SLOT_BYTES, TORC_PAGE_BYTES);
}
static inline size_t torc_area_map_bytes(uint32_t area_bytes)
{
    return torc_align_up((uint64_t)TORC_AREA_LINES_BYTES + area_bytes, TORC_PAGE_BYTES);
}

/* Longest message that an area carries; longer ones go in parts. */
static inline uint32_t torc_area_message_max(uint32_t area_bytes)
{
    return area_bytes / 4;
}

static inline bool torc_slots_are_valid(uint32_t slots)
{
    return slots >= TORC_SLOTS_MIN && slots <= TORC_SLOTS_MAX && (slots & (slots - 1)) == 0;
}
static inline bool torc_area_bytes_are_valid(uint32_t bytes)
{
    return bytes >= TORC_AREA_BYTES_MIN && bytes <= TORC_AREA_BYTES_MAX &&
           (bytes & (bytes - 1)) == 0;
}

/* The writer's private view of its area: a ring of bytes. Positions count bytes ever used, also
 * those skipped at the end because a message is contiguous; they never wrap (64 bits).
 * Invariant: freed <= produced <= freed + size, both multiples of TORC_AREA_ALIGN. */
struct torc_area {
    uint8_t *bytes;
    uint32_t size; /* power of two */
    uint64_t produced;
    uint64_t freed; /* bytes below may be written again */
};

/* Where a message of `len` bytes (at most a quarter of the area) goes now: *out_start is its
 * position. False: no room; nothing changed. O(1). */
static inline bool torc_area_place(const struct torc_area *area, uint32_t len, uint64_t *out_start)
{
    uint32_t offset = (uint32_t)(area->produced & (area->size - 1));
    uint64_t start = area->produced;
    if (len > area->size - offset) {
        start += area->size - offset;
    }
    if (start + torc_align_up(len, TORC_AREA_ALIGN) - area->freed > area->size) {
        return false;
    }
    *out_start = start;
    return true;
}

/* The bytes at a position. */
static inline uint32_t torc_area_offset(const struct torc_area *area, uint64_t position)
{
    return (uint32_t)(position & (area->size - 1));
}

/* The position behind a message of `len` bytes at `start`. */
static inline uint64_t torc_area_end(uint64_t start, uint32_t len)
{
    return start + torc_align_up(len, TORC_AREA_ALIGN);
}

/* The reader's check of a descriptor: inside the area, and not longer than a message may be. */
static inline bool torc_descriptor_is_valid(struct torc_descriptor descriptor, uint32_t area_bytes)
{
    return descriptor.offset <= area_bytes && descriptor.length <= area_bytes - descriptor.offset &&
           descriptor.length <= torc_area_message_max(area_bytes);
}

#endif
