/* SPDX-License-Identifier: Apache-2.0
 *
 * The exchange: an array of 64-byte slots. The reply overwrites the request in its own slot, so
 * that a round trip moves one cache line there and one back. Format: docs/formats/ring.md;
 * measurements: decision 0001.
 *
 *   offset  content
 *   0       u64 control, atomic, stored last with release
 *             bits  0..31  turn: 2 * lap for "request here", 2 * lap + 1 for "reply here"
 *             bits 32..47  bytes used in this slot: the message, or 8 of a descriptor
 *             bits 48..55  kind: INLINE, the message is here; AREA, a descriptor is
 *             bits 56..63  check bits of all the above
 *   8       56 bytes: message, or descriptor { u32 offset, u32 length } into the sender's area
 *
 * Position p, counted by each side for itself, is slot p mod slots in lap p / slots + 1. Nobody
 * writes a shared index. Turns are compared for equality only, so wrap-around is harmless.
 *
 *   word           written by            read by     what it publishes             pair
 *   slot.control   client, then server,  the other   the message in this slot,     S1 release,
 *                  in turns                          and whose turn it is          S2 (request);
 *                                                                                  S3 release,
 *                                                                                  S4 (reply)
 * S2 and S4 load with seq_cst, which is the same instruction as acquire on x86-64 and AArch64: the
 * look at a slot is also half of the handshake before a sleep (ring/layout.h, W1 to W4).
 */
#ifndef TORC_RING_EXCHANGE_H
#define TORC_RING_EXCHANGE_H

#include <stdatomic.h>

#include "core/base.h"

#define TORC_SLOT_BYTES    64u
#define TORC_SLOT_MESSAGE  56u
#define TORC_SLOTS_MIN     2u
#define TORC_SLOTS_DEFAULT 256u
#define TORC_SLOTS_MAX     65536u

enum torc_slot_kind { TORC_SLOT_INLINE = 1, TORC_SLOT_AREA = 2 };

struct torc_slot {
    _Atomic uint64_t control;
    uint8_t message[TORC_SLOT_MESSAGE];
};
static_assert(sizeof(struct torc_slot) == TORC_SLOT_BYTES, "one cache line");
static_assert(offsetof(struct torc_slot, message) == 8, "behind the control word");
static_assert(sizeof(_Atomic uint64_t) == 8, "control is a plain word");

struct torc_descriptor {
    uint32_t offset; /* into the sender's area, from its byte 128 (behind the two public lines) */
    uint32_t length;
};
static_assert(sizeof(struct torc_descriptor) == 8, "what an AREA slot holds");

/* Turn words for free-running position `pos` in an exchange of 2^slots_log2 slots. */
static inline uint32_t torc_turn_request(uint64_t pos, unsigned slots_log2)
{
    return (uint32_t)(((pos >> slots_log2) + 1) * 2);
}
static inline uint32_t torc_turn_reply(uint64_t pos, unsigned slots_log2)
{
    return torc_turn_request(pos, slots_log2) + 1;
}

/* Eight check bits over the other 56: any single-bit error shows, and all but 1 in 256 of others.
 * They guard against mistakes and torn memory; against a hostile peer only the bounds do. */
static inline uint8_t torc_control_check_bits(uint64_t low56)
{
    uint64_t x = (low56 & 0x00ffffffffffffffull) * 0x9e3779b97f4a7c15ull;
    return (uint8_t)(x >> 56);
}
static inline uint64_t torc_control_make(uint32_t turn, uint16_t len, enum torc_slot_kind kind)
{
    uint64_t low = turn | (uint64_t)len << 32 | (uint64_t)kind << 48;
    return low | (uint64_t)torc_control_check_bits(low) << 56;
}
static inline uint32_t torc_control_turn(uint64_t control)
{
    return (uint32_t)control;
}
static inline uint16_t torc_control_len(uint64_t control)
{
    return (uint16_t)(control >> 32);
}
static inline uint8_t torc_control_kind(uint64_t control)
{
    return (uint8_t)(control >> 48);
}
static inline bool torc_control_is_sound(uint64_t control)
{
    return (uint8_t)(control >> 56) == torc_control_check_bits(control);
}

/* The control word, without its check bits, of a message of 0 bytes in its slot. That of one of
 * `len` bytes has len << 32 more. */
static inline uint64_t torc_control_inline(uint32_t turn)
{
    return turn | (uint64_t)TORC_SLOT_INLINE << 48;
}
/* Is it that of a message of 8 to TORC_SLOT_MESSAGE bytes that lies in its slot, of this turn?
 * False tells nothing more. */
static inline bool torc_control_is_inline(uint64_t control, uint32_t turn)
{
    uint64_t len = (control & 0x00ffffffffffffffull) - torc_control_inline(turn);
    return (uint32_t)len == 0 && (len >> 32) - 8 <= TORC_SLOT_MESSAGE - 8 &&
           torc_control_is_sound(control);
}

/* S2, S4: what the slot's control word says now. Load it once, then use the value. */
static inline uint64_t torc_slot_look(const struct torc_slot *slot)
{
    return atomic_load_explicit(&slot->control, memory_order_seq_cst);
}

/* To the compiler, all memory may have changed here. No instruction; orders nothing in the CPU. */
static inline void torc_compiler_barrier(void)
{
    __asm__("" : : : "memory");
}

/* Copy bytes that the other process can change at any time. The compiler may not go back to the
 * source afterwards: to it, all memory has changed. What was copied is what is validated and used.
 */
static inline void torc_copy_once(void *restrict to, const void *restrict from, size_t len)
{
    memcpy(to, from, len);
    torc_compiler_barrier();
}

/* Copy a message of 8 to TORC_SLOT_MESSAGE bytes: moves that may cover the same bytes, which is
 * cheaper than a call of memcpy, and touches no byte outside of the message. */
static inline void torc_copy_message(uint8_t *restrict to, const uint8_t *restrict from, size_t len)
{
    if (len > 32) {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    } else if (len >= 16) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    }
}

#endif
