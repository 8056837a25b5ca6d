/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's half, with a client that writes shared memory by hand: what is taken, what is
 * answered, what waits, and each rule against a hostile peer.
 */
#include "ring/session_private.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/failing_malloc.h"
#include "tests/support/ring_pair.h"

#define SLOTS    8u
#define AREA     4096u
#define QUARTER  (AREA / 4)
#define LONG_MAX 20000u

/* --- a client by hand --- */

static struct torc_ring_pair pair;
static struct torc_session *session;
static uint8_t message[LONG_MAX + 1];

static void make_session_of(uint32_t slots, uint32_t area)
{
    struct torc_session_options options = torc_ring_pair_options(slots, area, LONG_MAX);
    pair = torc_ring_pair_make(&options, 0, TORC_WAIT_YIELD, 0);
    session = pair.session;
}

static void make_session(void)
{
    make_session_of(SLOTS, AREA);
}

static void free_session(void)
{
    torc_malloc_fail_at(0);
    torc_ring_pair_free(&pair);
}

static struct torc_slot *slot_at(uint64_t position)
{
    return torc_session_slot(session, position);
}

static uint8_t *request_area(void)
{
    return (uint8_t *)session->request_map + TORC_AREA_LINES_BYTES;
}

static void store_control(uint64_t position, uint64_t control)
{
    atomic_store_explicit(&slot_at(position)->control, control, memory_order_release);
}

static uint64_t request_control(uint64_t position, uint16_t len, unsigned kind)
{
    return torc_control_make(torc_turn_request(position, session->slots_log2), len,
                             (enum torc_slot_kind)kind);
}

static void send_bytes(uint64_t position, const void *bytes, uint16_t len)
{
    memcpy(slot_at(position)->message, bytes, len);
    store_control(position, request_control(position, len, TORC_SLOT_INLINE));
}

static void send_small(uint64_t position, uint16_t len)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    torc_ring_message_fill(bytes, len, TORC_OP_HGET, (uint32_t)position);
    send_bytes(position, bytes, len);
}

static void send_descriptor(uint64_t position, uint32_t offset, uint32_t length)
{
    struct torc_descriptor descriptor = {offset, length};
    memcpy(slot_at(position)->message, &descriptor, sizeof descriptor);
    store_control(position, request_control(position, sizeof descriptor, TORC_SLOT_AREA));
}

static void send_area(uint64_t position, uint32_t offset, uint32_t len)
{
    torc_ring_message_fill(request_area() + offset, len, TORC_OP_HGET, (uint32_t)position);
    send_descriptor(position, offset, len);
}

static uint16_t encode(uint8_t *to, uint8_t op, uint64_t first, uint64_t second,
                       struct torc_slice *bytes)
{
    const uint64_t numbers[] = {first, second};
    return (uint16_t)torc_request_encode(to, op, 5, numbers, bytes, bytes != NULL ? 1 : 0);
}

static void send_fetch(uint64_t position, uint64_t id, uint64_t offset)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    send_bytes(position, bytes, encode(bytes, TORC_OP_FETCH, id, offset, NULL));
}

/* A part of `whole`, through the area. */
static void send_put(uint64_t position, const uint8_t *whole, uint64_t total, uint64_t offset,
                     size_t len)
{
    struct torc_slice part = torc_slice_of(whole + offset, len);
    uint16_t size = encode(request_area(), TORC_OP_PUT, total, offset, &part);
    send_descriptor(position, 0, size);
}

static bool has_reply(uint64_t position)
{
    uint64_t control = torc_slot_look(slot_at(position));
    return torc_control_turn(control) == torc_turn_reply(position, session->slots_log2) &&
           torc_control_is_sound(control);
}

/* The reply in a slot; asserts that it is there. */
static struct torc_slice reply_at(uint64_t position)
{
    ck_assert(has_reply(position));
    uint64_t control = torc_slot_look(slot_at(position));
    if (torc_control_kind(control) == TORC_SLOT_INLINE) {
        return torc_slice_of(slot_at(position)->message, torc_control_len(control));
    }
    struct torc_descriptor descriptor;
    memcpy(&descriptor, slot_at(position)->message, sizeof descriptor);
    ck_assert(torc_descriptor_is_valid(descriptor, session->reply_area.size));
    return torc_slice_of(session->reply_area.bytes + descriptor.offset, descriptor.length);
}

static struct torc_reply decoded_reply_at(uint64_t position)
{
    struct torc_slice bytes = reply_at(position);
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(bytes.data, bytes.len, &reply), 0);
    return reply;
}

static void consume_all(void)
{
    atomic_store_explicit(&session->request_lines->consumed, session->reply_area.produced,
                          memory_order_release);
}

/* Take exactly one request. */
static struct torc_taken take_one(void)
{
    struct torc_taken taken;
    ck_assert_int_eq(torc_session_take(session, &taken, 1), 1);
    return taken;
}

static int take_none(void)
{
    struct torc_taken taken[TORC_SESSION_BATCH];
    return torc_session_take(session, taken, TORC_SESSION_BATCH);
}

static int answer(size_t len)
{
    torc_ring_message_fill(message, len, TORC_OP_HGET, 1);
    return torc_session_reply(session, message, len);
}

static void assert_broken(void)
{
    ck_assert_int_eq(take_none(), -EBADMSG);
    ck_assert_int_eq(take_none(), -EBADMSG);
    ck_assert(torc_session_is_ready(session));
    ck_assert_int_eq(torc_session_reply_room(session, 8), -EBADMSG);
    ck_assert_uint_eq(torc_session_counters(session)->broken_rules, 1);
    ck_assert(torc_session_check(session));
}

/* --- requests --- */

START_TEST(a_fresh_session_has_nothing_ready)
{
    ck_assert(!torc_session_is_ready(session));
    ck_assert_int_eq(take_none(), 0);
    ck_assert(torc_session_check(session));
}
END_TEST

START_TEST(a_request_in_a_slot_is_taken_at_every_length)
{
    for (uint16_t len = TORC_MESSAGE_HEAD_BYTES; len <= TORC_SLOT_MESSAGE; len++) {
        uint64_t position = len - TORC_MESSAGE_HEAD_BYTES;
        send_small(position, len);
        ck_assert(torc_session_is_ready(session));
        struct torc_taken taken = take_one();
        ck_assert_uint_eq(taken.position, position);
        ck_assert(torc_ring_message_is(torc_slice_of(taken.data, taken.len), len, TORC_OP_HGET,
                                       (uint32_t)position));
        ck_assert_int_eq(answer(8), 0);
        ck_assert(!torc_session_is_ready(session));
    }
}
END_TEST

START_TEST(a_request_in_the_area_is_taken_up_to_a_quarter_and_up_to_the_end)
{
    const uint32_t lens[] = {8, 57, QUARTER - 1, QUARTER};
    for (unsigned i = 0; i < 4; i++) {
        send_area(i, AREA - lens[i], lens[i]);
        struct torc_taken taken = take_one();
        ck_assert(
            torc_ring_message_is(torc_slice_of(taken.data, taken.len), lens[i], TORC_OP_HGET, i));
        ck_assert_int_eq(answer(8), 0);
    }
    ck_assert_uint_eq(torc_session_counters(session)->area_requests, 4);
}
END_TEST

START_TEST(a_taken_request_is_private_and_given_again_until_it_is_answered)
{
    send_small(0, 40);
    send_area(1, 64, 300);
    struct torc_taken first[2];
    struct torc_taken second[2];
    ck_assert_int_eq(torc_session_take(session, first, 2), 2);
    /* The client changes its mind, after the look. */
    memset(slot_at(0)->message, 0xff, TORC_SLOT_MESSAGE);
    memset(slot_at(1)->message, 0xff, TORC_SLOT_MESSAGE);
    store_control(0, 77);
    memset(request_area(), 0xff, AREA);
    ck_assert_int_eq(torc_session_take(session, second, 2), 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_ptr_eq(first[i].data, second[i].data);
        ck_assert_uint_eq(second[i].position, i);
        ck_assert(torc_ring_message_is(torc_slice_of(second[i].data, second[i].len),
                                       i == 0 ? 40 : 300, TORC_OP_HGET, i));
    }
    ck_assert_int_eq(answer(8), 0);
    ck_assert(torc_session_is_ready(session));
    ck_assert_int_eq(torc_session_take(session, second, 2), 1);
    ck_assert_ptr_eq(second[0].data, first[1].data);
    ck_assert_int_eq(answer(8), 0);
    ck_assert(has_reply(0) && has_reply(1));
}
END_TEST

START_TEST(no_more_are_taken_than_asked_for_than_a_batch_than_there_are)
{
    free_session();
    make_session_of(64, AREA);
    for (uint64_t p = 0; p < 20; p++) {
        send_small(p, 16);
    }
    struct torc_taken taken[64];
    ck_assert_int_eq(torc_session_take(session, taken, 0), 0);
    ck_assert_int_eq(torc_session_take(session, taken, 3), 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(answer(8), 0);
    }
    ck_assert_int_eq(torc_session_take(session, taken, 64), TORC_SESSION_BATCH);
    /* All of these are unanswered: no new ones come with them. */
    ck_assert_int_eq(torc_session_take(session, taken, 64), TORC_SESSION_BATCH);
    for (unsigned i = 0; i < TORC_SESSION_BATCH; i++) {
        ck_assert_int_eq(answer(8), 0);
    }
    ck_assert_int_eq(torc_session_take(session, taken, 64), 1);
    ck_assert_uint_eq(taken[0].position, 19);
}
END_TEST

START_TEST(a_full_exchange_of_unanswered_requests_is_not_looked_at_again)
{
    free_session();
    make_session_of(2, AREA);
    send_small(0, 8);
    send_small(1, 8);
    struct torc_taken taken[TORC_SESSION_BATCH];
    ck_assert_int_eq(torc_session_take(session, taken, TORC_SESSION_BATCH), 2);
    ck_assert_int_eq(torc_session_take(session, taken, TORC_SESSION_BATCH), 2);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(torc_session_take(session, taken, TORC_SESSION_BATCH), 1);
    ck_assert_int_eq(answer(8), 0);
    ck_assert(!torc_session_is_ready(session));
}
END_TEST

START_TEST(a_take_stops_before_it_passes_the_bytes_of_a_visit)
{
    free_session();
    make_session_of(64, 65536);
    const uint32_t len = 6000; /* two in 16 KiB */
    for (uint32_t p = 0; p < 3; p++) {
        send_area(p, p * 8192, len);
    }
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 2);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert(
        torc_ring_message_is(torc_slice_of(taken[0].data, taken[0].len), len, TORC_OP_HGET, 2));
}
END_TEST

START_TEST(a_request_longer_than_a_visit_is_taken_alone)
{
    free_session();
    make_session_of(64, 256 * 1024);
    send_area(0, 0, 60000);
    send_small(1, 8);
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert_uint_eq(taken[0].len, 60000);
}
END_TEST

/* --- replies --- */

START_TEST(replies_go_by_slot_area_or_parts_by_their_length)
{
    const struct {
        uint32_t len;
        unsigned slot_kind;
        unsigned reply_kind;
    } cases[] = {
        {8, TORC_SLOT_INLINE, TORC_REPLY_BYTES},        {56, TORC_SLOT_INLINE, TORC_REPLY_BYTES},
        {57, TORC_SLOT_AREA, TORC_REPLY_BYTES},         {QUARTER, TORC_SLOT_AREA, TORC_REPLY_BYTES},
        {QUARTER + 1, TORC_SLOT_AREA, TORC_REPLY_LONG},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        send_small(i, 8);
        (void)take_one();
        ck_assert_int_eq(torc_session_reply_room(session, cases[i].len), 0);
        ck_assert_int_eq(answer(cases[i].len), 0);
        ck_assert_uint_eq(torc_control_kind(torc_slot_look(slot_at(i))), cases[i].slot_kind);
        struct torc_slice bytes = reply_at(i);
        ck_assert_uint_eq(bytes.data[1] >> 4, cases[i].reply_kind);
        if (cases[i].reply_kind == TORC_REPLY_BYTES) {
            ck_assert(torc_ring_message_is(bytes, cases[i].len, TORC_OP_HGET, 1));
        }
    }
}
END_TEST

START_TEST(a_reply_above_the_cap_never_has_room_and_consumes_nothing)
{
    send_small(0, 8);
    (void)take_one();
    ck_assert_int_eq(torc_session_reply_room(session, LONG_MAX), 0);
    ck_assert_int_eq(torc_session_reply_room(session, LONG_MAX + 1), -EMSGSIZE);
    ck_assert_int_eq(torc_session_reply_room(session, SIZE_MAX), -EMSGSIZE);
    ck_assert_int_eq(answer(LONG_MAX + 1), -EMSGSIZE);
    ck_assert(!has_reply(0));
    ck_assert_int_eq(answer(8), 0);
    ck_assert(has_reply(0));
}
END_TEST

START_TEST(a_reply_needs_a_taken_request_and_a_head)
{
    ck_assert_int_eq(answer(8), -EINVAL);
    send_small(0, 8);
    ck_assert_int_eq(answer(8), -EINVAL);
    (void)take_one();
    ck_assert_int_eq(answer(7), -EINVAL);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(answer(8), -EINVAL);
}
END_TEST

/* Fill the reply area, and leave one request whose reply must wait. */
static void fill_reply_area(void)
{
    for (uint64_t p = 0; p < 5; p++) {
        send_small(p, 8);
    }
    struct torc_taken taken[TORC_SESSION_BATCH];
    ck_assert_int_eq(torc_session_take(session, taken, TORC_SESSION_BATCH), 5);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(answer(QUARTER), 0);
    }
    ck_assert_int_eq(torc_session_reply_room(session, 57), -EAGAIN);
}

START_TEST(a_reply_without_room_waits_in_its_slot_until_the_client_has_read)
{
    fill_reply_area();
    ck_assert_int_eq(answer(57), -EAGAIN);
    ck_assert_uint_eq(torc_session_counters(session)->stalls, 1);
    ck_assert(!has_reply(4));
    /* A sweep passes by, until the client has read. */
    ck_assert(!torc_session_is_ready(session));
    send_small(5, 8);
    ck_assert(!torc_session_is_ready(session));
    atomic_store_explicit(&session->request_lines->consumed, 64, memory_order_release);
    ck_assert(torc_session_is_ready(session));
    ck_assert_uint_eq(take_one().position, 4);
    ck_assert_int_eq(answer(65), -EAGAIN);
    ck_assert(!torc_session_is_ready(session));
    ck_assert_int_eq(answer(64), 0);
    ck_assert(torc_session_is_ready(session));
    ck_assert_uint_eq(take_one().position, 5);
    ck_assert(torc_session_check(session));
}
END_TEST

START_TEST(a_small_reply_has_room_when_the_area_has_none)
{
    fill_reply_area();
    ck_assert_int_eq(torc_session_reply_room(session, TORC_SLOT_MESSAGE), 0);
    ck_assert_int_eq(answer(TORC_SLOT_MESSAGE), 0);
    ck_assert(has_reply(4));
}
END_TEST

START_TEST(the_replies_of_one_stalled_session_do_not_hold_another)
{
    fill_reply_area();
    struct torc_ring_pair stalled = pair;
    make_session();
    send_small(0, 8);
    (void)take_one();
    ck_assert_int_eq(answer(QUARTER), 0);
    torc_ring_pair_free(&stalled);
}
END_TEST

static const uint64_t bad_consumed[] = {4 * QUARTER + 1, UINT64_MAX, 1ull << 63, 63};

START_TEST(consumed_that_goes_back_or_beyond_what_was_produced_breaks_the_session)
{
    fill_reply_area();
    _Atomic uint64_t *consumed = &session->request_lines->consumed;
    atomic_store_explicit(consumed, 64, memory_order_release);
    ck_assert_int_eq(answer(64), 0);
    send_small(5, 8);
    (void)take_one();
    uint64_t bad = _i == 0 ? session->reply_area.produced + 1 : bad_consumed[_i];
    atomic_store_explicit(consumed, bad, memory_order_release);
    ck_assert_int_eq(torc_session_reply_room(session, 64), -EBADMSG);
    ck_assert_int_eq(answer(64), -EBADMSG);
    assert_broken();
}
END_TEST

START_TEST(bad_consumed_breaks_the_session_at_a_long_reply_too)
{
    fill_reply_area();
    atomic_store_explicit(&session->request_lines->consumed, UINT64_MAX, memory_order_release);
    ck_assert_int_eq(answer(5000), -EBADMSG);
    ck_assert(!has_reply(4));
    assert_broken();
}
END_TEST

/* --- long replies --- */

static struct torc_reply send_long_reply(uint64_t position, uint32_t len)
{
    send_small(position, 8);
    ck_assert_uint_eq(take_one().position, position);
    ck_assert_int_eq(answer(len), 0);
    struct torc_reply reply = decoded_reply_at(position);
    ck_assert_int_eq(reply.kind, TORC_REPLY_LONG);
    ck_assert_uint_eq(reply.cursor, len);
    ck_assert_uint_eq(reply.tag, 1);
    return reply;
}

START_TEST(a_long_reply_is_pulled_through_the_slot_of_its_request)
{
    const uint32_t len = 5000;
    struct torc_reply reply = send_long_reply(0, len);
    uint8_t whole[5000];
    size_t got = reply.bytes.len;
    memcpy(whole, reply.bytes.data, got);
    consume_all();
    while (got < len) {
        ck_assert(!torc_session_is_ready(session));
        send_fetch(0, reply.id, got);
        ck_assert(torc_session_is_ready(session));
        ck_assert_int_eq(take_none(), 0);
        struct torc_reply part = decoded_reply_at(0);
        ck_assert_int_eq(part.kind, TORC_REPLY_PART);
        ck_assert_uint_eq(part.cursor, got);
        ck_assert_uint_gt(part.bytes.len, 0);
        memcpy(whole + got, part.bytes.data, part.bytes.len);
        got += part.bytes.len;
        consume_all();
        ck_assert(torc_session_check(session));
    }
    ck_assert(torc_ring_message_is(torc_slice_of(whole, len), len, TORC_OP_HGET, 1));
    ck_assert_uint_eq(torc_session_counters(session)->long_replies, 1);
    send_small(1, 8);
    ck_assert_uint_eq(take_one().position, 1);
}
END_TEST

START_TEST(while_a_long_reply_is_pulled_others_wait_unless_they_fit_a_slot)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    send_small(1, 8);
    send_small(2, 8);
    struct torc_taken taken[2];
    ck_assert_int_eq(torc_session_take(session, taken, 2), 2);
    ck_assert_int_eq(answer(57), -EAGAIN);
    ck_assert_int_eq(answer(QUARTER + 1), -EAGAIN);
    ck_assert(!torc_session_is_ready(session));
    ck_assert_int_eq(answer(56), 0);
    ck_assert_int_eq(answer(57), -EAGAIN);
    /* The client is not interested in the rest. */
    consume_all();
    send_fetch(0, reply.id, 5000);
    ck_assert(torc_session_is_ready(session));
    ck_assert_uint_eq(take_one().position, 2);
    ck_assert_uint_eq(decoded_reply_at(0).bytes.len, 0);
    ck_assert_int_eq(answer(57), 0);
    ck_assert_uint_eq(torc_session_counters(session)->stalls, 2);
}
END_TEST

START_TEST(a_pull_gets_on_when_every_slot_is_taken)
{
    free_session();
    make_session_of(2, AREA);
    struct torc_reply reply = send_long_reply(0, 5000);
    consume_all();
    send_small(1, 8);
    (void)take_one();
    ck_assert_int_eq(answer(8), 0);
    /* The next request would come in slot 0, where a part is wanted now. */
    send_fetch(0, reply.id, reply.bytes.len);
    ck_assert(torc_session_is_ready(session));
    ck_assert_int_eq(take_none(), 0);
    ck_assert_int_eq(decoded_reply_at(0).kind, TORC_REPLY_PART);
    ck_assert(!torc_session_is_ready(session));
    send_fetch(0, reply.id, 5000);
    ck_assert_int_eq(take_none(), 0);
    send_small(2, 8);
    ck_assert_uint_eq(take_one().position, 2);
}
END_TEST

START_TEST(a_part_without_room_waits_for_the_client)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    /* Nothing consumed: the first part takes a quarter, three more fit. */
    size_t got = reply.bytes.len;
    for (unsigned i = 0; i < 3; i++) {
        send_fetch(0, reply.id, got);
        ck_assert_int_eq(take_none(), 0);
        got += decoded_reply_at(0).bytes.len;
    }
    send_fetch(0, reply.id, got);
    ck_assert_int_eq(take_none(), 0);
    ck_assert(!has_reply(0));
    ck_assert(!torc_session_is_ready(session));
    ck_assert(torc_session_check(session));
    consume_all();
    ck_assert(torc_session_is_ready(session));
    ck_assert_int_eq(take_none(), 0);
    ck_assert(has_reply(0));
}
END_TEST

START_TEST(a_long_reply_begins_in_the_slot_when_the_area_is_full)
{
    fill_reply_area();
    ck_assert_int_eq(answer(5000), 0);
    struct torc_reply reply = decoded_reply_at(4);
    ck_assert_int_eq(reply.kind, TORC_REPLY_LONG);
    ck_assert_uint_eq(reply.bytes.len, TORC_SLOT_MESSAGE - 28);
}
END_TEST

START_TEST(a_long_reply_without_memory_consumes_nothing)
{
    send_small(0, 8);
    (void)take_one();
    torc_malloc_fail_at(1);
    int room = torc_session_reply_room(session, 5000);
    torc_malloc_fail_at(1);
    int answered = answer(5000);
    torc_malloc_fail_at(0);
    ck_assert_int_eq(room, -ENOMEM);
    ck_assert_int_eq(answered, -ENOMEM);
    ck_assert(!has_reply(0));
    ck_assert_int_eq(torc_session_reply_room(session, 5000), 0);
    torc_malloc_fail_at(1); /* room was promised: no memory is needed now */
    answered = answer(5000);
    torc_malloc_fail_at(0);
    ck_assert_int_eq(answered, 0);
}
END_TEST

START_TEST(memory_in_use_is_counted_and_given_back)
{
    uint64_t idle = torc_session_bytes(session);
    ck_assert_uint_ge(idle, torc_exchange_map_bytes(SLOTS) + 2 * torc_area_map_bytes(AREA));
    send_small(0, 8);
    (void)take_one();
    ck_assert_int_eq(torc_session_reply_room(session, 5000), 0);
    ck_assert_uint_eq(torc_session_bytes(session), idle + 5000);
    ck_assert_int_eq(answer(8), 0); /* a shorter one after all */
    ck_assert_uint_eq(torc_session_bytes(session), idle);
    struct torc_reply reply = send_long_reply(1, 6000);
    ck_assert_uint_eq(torc_session_bytes(session), idle + 6000);
    send_fetch(1, reply.id, 6000);
    ck_assert_int_eq(take_none(), 0);
    ck_assert_uint_eq(torc_session_bytes(session), idle);
}
END_TEST

/* --- long requests --- */

START_TEST(a_long_request_is_pushed_through_one_slot_and_taken_whole)
{
    const uint32_t len = 3000;
    torc_ring_message_fill(message, len, TORC_OP_HSET, 9);
    send_put(0, message, len, 0, 900);
    ck_assert_int_eq(take_none(), 0);
    ck_assert_int_eq(decoded_reply_at(0).kind, TORC_REPLY_OK);
    ck_assert_uint_eq(decoded_reply_at(0).tag, 5);
    ck_assert(!torc_session_is_ready(session));
    send_small(1, 8); /* behind it: waits */
    ck_assert_int_eq(take_none(), 0);
    send_put(0, message, len, 900, 900);
    ck_assert(torc_session_is_ready(session));
    ck_assert_int_eq(take_none(), 0);
    ck_assert(has_reply(0));
    send_put(0, message, len, 1800, 900);
    ck_assert_int_eq(take_none(), 0);
    ck_assert(torc_session_check(session));
    send_put(0, message, len, 2700, 300);
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 2);
    ck_assert_uint_eq(taken[0].position, 0);
    ck_assert(
        torc_ring_message_is(torc_slice_of(taken[0].data, taken[0].len), len, TORC_OP_HSET, 9));
    ck_assert_uint_eq(taken[1].position, 1);
    ck_assert_uint_eq(torc_session_bytes(session) - len, session->staging_size + sizeof *session +
                                                             torc_exchange_map_bytes(SLOTS) +
                                                             2 * torc_area_map_bytes(AREA));
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_uint_eq(torc_session_counters(session)->long_requests, 1);
    ck_assert_uint_eq(torc_session_counters(session)->requests, 2);
    ck_assert_ptr_null(session->gather.data);
}
END_TEST

START_TEST(a_second_long_request_waits_until_the_first_is_answered)
{
    torc_ring_message_fill(message, 900, TORC_OP_HSET, 9);
    send_put(0, message, 900, 0, 900);
    struct torc_slice part = torc_slice_of(message, 900);
    uint16_t size = encode(request_area() + 2048, TORC_OP_PUT, 900, 0, &part);
    send_descriptor(1, 2048, size);
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert_uint_eq(taken[0].position, 1);
    ck_assert_int_eq(answer(8), 0);
    ck_assert_uint_eq(torc_session_counters(session)->long_requests, 2);
}
END_TEST

START_TEST(a_long_request_above_the_cap_is_refused_and_the_next_one_served)
{
    send_put(0, message, LONG_MAX + 1, 0, 900);
    send_small(1, 8);
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert_uint_eq(taken[0].position, 1);
    ck_assert_int_eq(decoded_reply_at(0).kind, TORC_REPLY_ERROR);
    ck_assert_int_eq(decoded_reply_at(0).status, TORC_WIRE_TOO_LARGE);
    ck_assert_uint_eq(decoded_reply_at(0).tag, 5);
}
END_TEST

START_TEST(a_long_request_without_memory_is_refused_and_the_next_one_served)
{
    send_put(0, message, 5000, 0, 900);
    send_small(1, 8);
    torc_malloc_fail_at(1);
    struct torc_taken taken[4];
    int n = torc_session_take(session, taken, 4);
    torc_malloc_fail_at(0);
    ck_assert_int_eq(n, 1);
    ck_assert_uint_eq(taken[0].position, 1);
    ck_assert_int_eq(decoded_reply_at(0).status, TORC_WIRE_OUT_OF_MEMORY);
}
END_TEST

START_TEST(a_fetch_in_a_slot_of_its_own_is_told_that_nothing_is_held)
{
    send_fetch(0, 0, 0);
    send_small(1, 8);
    struct torc_taken taken[4];
    ck_assert_int_eq(torc_session_take(session, taken, 4), 1);
    ck_assert_uint_eq(taken[0].position, 1);
    ck_assert_int_eq(decoded_reply_at(0).status, TORC_WIRE_GONE);
}
END_TEST

/* --- the rules: each case breaks one --- */

static void bad_turn_next_lap(void)
{
    store_control(0, torc_control_make(4, 8, TORC_SLOT_INLINE));
}
static void bad_turn_own_reply(void)
{
    store_control(0, torc_control_make(3, 8, TORC_SLOT_INLINE));
}
static void bad_turn_zero(void)
{
    store_control(0, 0);
}
static void bad_check_bits(void)
{
    store_control(0, request_control(0, 8, TORC_SLOT_INLINE) ^ 1ull << 60);
}
static void bad_kind_zero(void)
{
    store_control(0, request_control(0, 8, 0));
}
static void bad_kind_unknown(void)
{
    store_control(0, request_control(0, 8, 3));
}
static void bad_len_none(void)
{
    store_control(0, request_control(0, 0, TORC_SLOT_INLINE));
}
static void bad_len_half_a_head(void)
{
    store_control(0, request_control(0, 7, TORC_SLOT_INLINE));
}
static void bad_len_beyond_slot(void)
{
    store_control(0, request_control(0, 57, TORC_SLOT_INLINE));
}
static void bad_len_huge(void)
{
    store_control(0, request_control(0, 65535, TORC_SLOT_INLINE));
}
static void bad_descriptor_len(void)
{
    store_control(0, request_control(0, 56, TORC_SLOT_AREA));
}
static void bad_descriptor_offset(void)
{
    send_descriptor(0, AREA + 1, 8);
}
static void bad_descriptor_end(void)
{
    send_descriptor(0, AREA - 7, 8);
}
static void bad_descriptor_overflow(void)
{
    send_descriptor(0, 0xfffffff0u, 0x20);
}
static void bad_descriptor_longer_than_a_quarter(void)
{
    send_descriptor(0, 0, QUARTER + 1);
}
static void bad_descriptor_huge(void)
{
    send_descriptor(0, 0, UINT32_MAX);
}
static void bad_descriptor_short(void)
{
    send_descriptor(0, 0, 7);
}
static void bad_fetch_trailing_byte(void)
{
    uint8_t bytes[TORC_SLOT_MESSAGE] = {0};
    uint16_t len = encode(bytes, TORC_OP_FETCH, 0, 0, NULL);
    send_bytes(0, bytes, (uint16_t)(len + 1));
}
static void bad_put_cut(void)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    struct torc_slice part = torc_slice_of(message, 20);
    uint16_t len = encode(bytes, TORC_OP_PUT, 900, 0, &part);
    send_bytes(0, bytes, (uint16_t)(len - 1));
}
static void bad_put_starts_inside(void)
{
    send_put(0, message, 900, 100, 100);
}
static void bad_put_total_without_head(void)
{
    send_put(0, message, 7, 0, 7);
}
static void bad_put_empty_part(void)
{
    send_put(0, message, 900, 0, 0);
}
static void bad_put_longer_than_total(void)
{
    send_put(0, message, 100, 0, 101);
}
static void begin_put(void)
{
    torc_ring_message_fill(message, 3000, TORC_OP_HSET, 1);
    send_put(0, message, 3000, 0, 500);
    ck_assert_int_eq(take_none(), 0);
    ck_assert(has_reply(0));
}
static void bad_put_other_total(void)
{
    begin_put();
    send_put(0, message, 3001, 500, 500);
}
static void bad_put_gap(void)
{
    begin_put();
    send_put(0, message, 3000, 501, 500);
}
static void bad_put_again(void)
{
    begin_put();
    send_put(0, message, 3000, 0, 500);
}
static void bad_put_beyond_total(void)
{
    torc_ring_message_fill(message, 3000, TORC_OP_HSET, 1);
    send_put(0, message, 600, 0, 500);
    ck_assert_int_eq(take_none(), 0);
    send_put(0, message, 600, 500, 101);
}
static void bad_put_other_op_between(void)
{
    begin_put();
    send_small(0, 8);
}
static void bad_put_fetch_between(void)
{
    begin_put();
    send_fetch(0, 0, 0);
}
static void bad_put_turn_between(void)
{
    begin_put();
    store_control(0, torc_control_make(4, 8, TORC_SLOT_INLINE));
}
static void bad_put_in_a_put(void)
{
    torc_ring_message_fill(message, 100, TORC_OP_PUT, 1);
    send_put(0, message, 100, 0, 100);
}
static void bad_fetch_in_a_put(void)
{
    torc_ring_message_fill(message, 100, TORC_OP_FETCH, 1);
    send_put(0, message, 100, 0, 100);
}
static void bad_pull_other_id(void)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    send_fetch(0, reply.id + 1, 100);
}
static void bad_pull_beyond_end(void)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    send_fetch(0, reply.id, 5001);
}
static void bad_pull_huge_offset(void)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    send_fetch(0, reply.id, UINT64_MAX);
}
static void bad_pull_other_op(void)
{
    (void)send_long_reply(0, 5000);
    send_small(0, 24);
}
static void bad_pull_in_the_area(void)
{
    (void)send_long_reply(0, 5000);
    send_descriptor(0, 0, 24);
}
static void bad_pull_next_lap(void)
{
    (void)send_long_reply(0, 5000);
    store_control(0, torc_control_make(4, 8, TORC_SLOT_INLINE));
}
static void bad_pull_check_bits(void)
{
    struct torc_reply reply = send_long_reply(0, 5000);
    send_fetch(0, reply.id, 100);
    store_control(0, torc_slot_look(slot_at(0)) ^ 1ull << 56);
}

static void (*const rule_breakers[])(void) = {
    bad_turn_next_lap,
    bad_turn_own_reply,
    bad_turn_zero,
    bad_check_bits,
    bad_kind_zero,
    bad_kind_unknown,
    bad_len_none,
    bad_len_half_a_head,
    bad_len_beyond_slot,
    bad_len_huge,
    bad_descriptor_len,
    bad_descriptor_offset,
    bad_descriptor_end,
    bad_descriptor_overflow,
    bad_descriptor_longer_than_a_quarter,
    bad_descriptor_huge,
    bad_descriptor_short,
    bad_fetch_trailing_byte,
    bad_put_cut,
    bad_put_starts_inside,
    bad_put_total_without_head,
    bad_put_empty_part,
    bad_put_longer_than_total,
    bad_put_other_total,
    bad_put_gap,
    bad_put_again,
    bad_put_beyond_total,
    bad_put_other_op_between,
    bad_put_fetch_between,
    bad_put_turn_between,
    bad_put_in_a_put,
    bad_fetch_in_a_put,
    bad_pull_other_id,
    bad_pull_beyond_end,
    bad_pull_huge_offset,
    bad_pull_other_op,
    bad_pull_in_the_area,
    bad_pull_next_lap,
    bad_pull_check_bits,
};

START_TEST(a_broken_rule_ends_the_session_and_is_counted)
{
    rule_breakers[_i]();
    ck_assert(torc_session_is_ready(session));
    assert_broken();
}
END_TEST

START_TEST(a_broken_rule_leaves_other_sessions_alone)
{
    bad_turn_zero();
    assert_broken();
    struct torc_ring_pair broken = pair;
    make_session();
    send_small(0, 8);
    (void)take_one();
    ck_assert_int_eq(answer(8), 0);
    ck_assert_uint_eq(torc_session_counters(session)->broken_rules, 0);
    torc_ring_pair_free(&broken);
}
END_TEST

/* --- sleeping, waking, debts --- */

START_TEST(a_sleeping_client_is_woken_once_per_sleep_and_only_for_news)
{
    const struct torc_session_counters *counters = torc_session_counters(session);
    const struct torc_reply_lines *lines = session->reply_lines;
    _Atomic uint32_t *sleeping = &session->request_lines->sleeping;
    uint32_t word = atomic_load(&lines->futex);
    atomic_store(sleeping, 1);
    torc_session_wake(session);
    ck_assert_uint_eq(counters->wakes, 0);
    ck_assert_uint_eq(atomic_load(&lines->batches), 0);
    for (uint64_t p = 0; p < 4; p++) {
        send_small(p, 8);
        (void)take_one();
        ck_assert_int_eq(answer(8), 0);
        if (p == 2) {
            atomic_store(sleeping, 0);
        } else if (p == 3) {
            atomic_store(sleeping, 2);
        }
        torc_session_wake(session);
        torc_session_wake(session);
        ck_assert_uint_eq(atomic_load(&lines->batches), p + 1);
    }
    ck_assert_uint_eq(counters->wakes, 2);
    ck_assert_uint_eq(atomic_load(&lines->futex), word + 2);
}
END_TEST

START_TEST(the_flag_of_a_sleeping_server_changes_with_each_sleep)
{
    const _Atomic uint32_t *flag = &session->reply_lines->sleeping;
    ck_assert_uint_eq(atomic_load(flag), 0);
    torc_session_set_sleeping(session, true);
    uint32_t first = atomic_load(flag);
    ck_assert_uint_ne(first, 0);
    torc_session_set_sleeping(session, false);
    ck_assert_uint_eq(atomic_load(flag), 0);
    torc_session_set_sleeping(session, true);
    uint32_t second = atomic_load(flag);
    ck_assert_uint_ne(second, first);
    torc_session_set_sleeping(session, true);
    ck_assert_uint_ne(atomic_load(flag), second);
    session->sleep_word = UINT32_MAX;
    torc_session_set_sleeping(session, true);
    ck_assert_uint_ne(atomic_load(flag), 0);
}
END_TEST

START_TEST(doorbells_are_counted)
{
    torc_session_count_doorbell(session);
    torc_session_count_doorbell(session);
    ck_assert_uint_eq(torc_session_counters(session)->doorbells, 2);
}
END_TEST

START_TEST(many_sessions_are_told_at_once)
{
    struct torc_ring_pair other = pair;
    make_session();
    struct torc_session *both[] = {other.session, session};
    torc_sessions_set_sleeping(both, 2, true);
    ck_assert_uint_ne(atomic_load(&both[0]->reply_lines->sleeping), 0);
    ck_assert_uint_ne(atomic_load(&both[1]->reply_lines->sleeping), 0);
    torc_sessions_set_sleeping(both, 2, false);
    ck_assert_uint_eq(atomic_load(&both[0]->reply_lines->sleeping), 0);
    ck_assert_uint_eq(atomic_load(&both[1]->reply_lines->sleeping), 0);
    torc_sessions_set_sleeping(NULL, 0, true);
    torc_ring_pair_free(&other);
}
END_TEST

START_TEST(a_client_that_owes_nothing_is_never_overdue)
{
    ck_assert(!torc_session_is_overdue(session, 0, 10));
    ck_assert(!torc_session_is_overdue(session, 1000, 10));
    send_small(0, 8);
    ck_assert(!torc_session_is_overdue(session, 2000, 10));
    (void)take_one();
    ck_assert(!torc_session_is_overdue(session, 3000, 10));
}
END_TEST

START_TEST(a_client_that_does_not_read_is_overdue_after_the_limit)
{
    fill_reply_area();
    ck_assert(!torc_session_is_overdue(session, 5000, 10));
    ck_assert(!torc_session_is_overdue(session, 5009, 10));
    ck_assert(torc_session_is_overdue(session, 5010, 10));
    atomic_store(&session->request_lines->consumed, 64);
    ck_assert_int_eq(torc_session_reply_room(session, 128), -EAGAIN);
    ck_assert(!torc_session_is_overdue(session, 5020, 10)); /* it has read some */
    ck_assert(torc_session_is_overdue(session, 5030, 10));
    ck_assert_int_eq(answer(64), 0);
    ck_assert(!torc_session_is_overdue(session, 6000, 10));
}
END_TEST

START_TEST(a_half_done_long_message_is_overdue_after_the_limit)
{
    begin_put();
    ck_assert(!torc_session_is_overdue(session, 100, 10));
    ck_assert(torc_session_is_overdue(session, 110, 10));
    send_put(0, message, 3000, 500, 500);
    ck_assert_int_eq(take_none(), 0);
    ck_assert(!torc_session_is_overdue(session, 115, 10));
    ck_assert(torc_session_is_overdue(session, 125, 10));
    free_session();
    make_session();
    struct torc_reply reply = send_long_reply(0, 5000);
    ck_assert(!torc_session_is_overdue(session, 100, 10));
    ck_assert(torc_session_is_overdue(session, 110, 10));
    send_fetch(0, reply.id, 5000);
    ck_assert_int_eq(take_none(), 0);
    ck_assert(!torc_session_is_overdue(session, 120, 10));
}
END_TEST

/* --- memory and life --- */

static const struct torc_session_options good_options = {
    .slots = SLOTS, .request_area_bytes = AREA, .reply_area_bytes = AREA, .long_message_max = 1000};

START_TEST(sizes_out_of_range_make_no_session)
{
    struct torc_session_options bad[8];
    for (unsigned i = 0; i < 8; i++) {
        bad[i] = good_options;
    }
    bad[0].slots = 0;
    bad[1].slots = 1;
    bad[2].slots = 6;
    bad[3].slots = TORC_SLOTS_MAX * 2;
    bad[4].request_area_bytes = TORC_AREA_BYTES_MIN / 2;
    bad[5].reply_area_bytes = TORC_AREA_BYTES_MAX * 2;
    bad[6].reply_area_bytes = AREA + 64;
    bad[7].long_message_max = TORC_MESSAGE_MAX_BYTES + 1;
    for (unsigned i = 0; i < 8; i++) {
        struct torc_session *none = NULL;
        ck_assert_int_eq(torc_session_create(&bad[i], &none), -EINVAL);
        ck_assert_ptr_null(none);
    }
}
END_TEST

static struct torc_session *create(void)
{
    struct torc_session *made = NULL;
    ck_assert_int_eq(torc_session_create(&good_options, &made), 0);
    return made;
}

START_TEST(a_session_comes_and_goes_without_a_trace)
{
    unsigned before = torc_open_fds();
    for (unsigned i = 0; i < 50; i++) {
        struct torc_session *made = create();
        if (i % 2 == 0) {
            ck_assert_int_eq(torc_session_seal(made), 0);
            torc_session_close_memfds(made);
        }
        torc_session_destroy(made);
    }
    torc_session_destroy(NULL);
    ck_assert_uint_eq(torc_open_fds(), before);
}
END_TEST

START_TEST(without_descriptors_or_memory_nothing_is_left_behind)
{
    unsigned before = torc_open_fds();
    struct torc_session *none = NULL;
    torc_malloc_fail_at(1);
    int created = torc_session_create(&good_options, &none);
    torc_malloc_fail_at(0);
    ck_assert_int_eq(created, -ENOMEM);
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(lowest, 0);
    (void)close(lowest);
    struct rlimit usual;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (unsigned n = 0; n < 4; n++) {
        struct rlimit low = {.rlim_cur = (rlim_t)lowest + n, .rlim_max = usual.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
        int result = torc_session_create(&good_options, &none);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        ck_assert_int_eq(result, -EAGAIN);
        ck_assert_ptr_null(none);
    }
    ck_assert_uint_eq(torc_open_fds(), before);
}
END_TEST

START_TEST(descriptors_are_closed_on_exec_and_the_doorbell_outlives_the_memfds)
{
    struct torc_session *made = create();
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        int fd = torc_session_fd(made, (enum torc_session_fd)i);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    }
    torc_session_close_memfds(made);
    ck_assert_int_eq(torc_session_fd(made, TORC_FD_EXCHANGE), -1);
    ck_assert_int_eq(torc_session_fd(made, TORC_FD_REQUEST_AREA), -1);
    ck_assert_int_eq(torc_session_fd(made, TORC_FD_REPLY_AREA), -1);
    ck_assert_int_ge(torc_session_fd(made, TORC_FD_DOORBELL), 0);
    ck_assert_int_eq(torc_session_seal(made), -EINVAL);
    torc_session_destroy(made);
}
END_TEST

static void assert_size_is_fixed(int fd)
{
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(fd, 1 << 20), -1);
    ck_assert_int_eq(errno, EPERM);
}

static void assert_no_new_writers(int fd, size_t bytes)
{
    ck_assert_ptr_eq(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    void *read_only = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(read_only, MAP_FAILED);
    ck_assert_int_ne(mprotect(read_only, bytes, PROT_READ | PROT_WRITE), 0);
    ck_assert_int_ne(madvise(read_only, bytes, MADV_REMOVE), 0);
    (void)munmap(read_only, bytes);
    ck_assert_int_ne(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes), 0);
    uint8_t byte = 1;
    ck_assert_int_eq(pwrite(fd, &byte, 1, 0), -1);
    ck_assert_int_ne(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

START_TEST(nobody_can_change_the_size_and_no_client_can_write_the_reply_area)
{
    struct torc_session *made = create();
    assert_size_is_fixed(torc_session_fd(made, TORC_FD_EXCHANGE));
    assert_size_is_fixed(torc_session_fd(made, TORC_FD_REQUEST_AREA));
    assert_size_is_fixed(torc_session_fd(made, TORC_FD_REPLY_AREA));
    assert_no_new_writers(torc_session_fd(made, TORC_FD_REPLY_AREA), torc_area_map_bytes(AREA));
    torc_session_destroy(made);
}
END_TEST

START_TEST(once_sealed_nobody_maps_for_writing_or_punches_holes_and_the_client_still_writes)
{
    struct torc_session *made = create();
    int exchange = torc_session_fd(made, TORC_FD_EXCHANGE);
    int request = torc_session_fd(made, TORC_FD_REQUEST_AREA);
    size_t exchange_bytes = torc_exchange_map_bytes(SLOTS);
    size_t request_bytes = torc_area_map_bytes(AREA);
    struct torc_slot *slots =
        mmap(NULL, exchange_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, exchange, 0);
    uint8_t *area = mmap(NULL, request_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, request, 0);
    ck_assert_ptr_ne(slots, MAP_FAILED);
    ck_assert_ptr_ne(area, MAP_FAILED);
    ck_assert_int_eq(torc_session_seal(made), 0);
    ck_assert_int_eq(torc_session_seal(made), -EINVAL);
    assert_no_new_writers(exchange, exchange_bytes);
    assert_no_new_writers(request, request_bytes);
    ck_assert_int_ne(madvise(slots, exchange_bytes, MADV_REMOVE), 0);
    ck_assert_int_ne(madvise(area, request_bytes, MADV_REMOVE), 0);

    torc_ring_message_fill(area + TORC_AREA_LINES_BYTES, 100, TORC_OP_HGET, 3);
    struct torc_descriptor descriptor = {0, 100};
    memcpy(slots[0].message, &descriptor, sizeof descriptor);
    atomic_store(&slots[0].control, torc_control_make(2, 8, TORC_SLOT_AREA));
    struct torc_taken taken;
    ck_assert_int_eq(torc_session_take(made, &taken, 1), 1);
    ck_assert(torc_ring_message_is(torc_slice_of(taken.data, taken.len), 100, TORC_OP_HGET, 3));
    (void)munmap(slots, exchange_bytes);
    (void)munmap(area, request_bytes);
    torc_session_destroy(made);
}
END_TEST

START_TEST(a_hole_punched_before_sealing_breaks_that_session_and_faults_nowhere)
{
    struct torc_session *made = create();
    const enum torc_session_fd which[] = {TORC_FD_EXCHANGE, TORC_FD_REQUEST_AREA};
    for (unsigned i = 0; i < 2; i++) {
        struct stat status;
        ck_assert_int_eq(fstat(torc_session_fd(made, which[i]), &status), 0);
        ck_assert_int_eq(fallocate(torc_session_fd(made, which[i]),
                                   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size),
                         0);
    }
    ck_assert_int_eq(torc_session_seal(made), 0);
    ck_assert(torc_session_is_ready(made));
    struct torc_taken taken;
    ck_assert_int_eq(torc_session_take(made, &taken, 1), -EBADMSG);
    torc_session_destroy(made);
}
END_TEST

START_TEST(a_client_that_seals_the_seals_is_refused)
{
    const enum torc_session_fd which[] = {TORC_FD_EXCHANGE, TORC_FD_REQUEST_AREA};
    for (unsigned i = 0; i < 2; i++) {
        struct torc_session *made = create();
        ck_assert_int_eq(fcntl(torc_session_fd(made, which[i]), F_ADD_SEALS, F_SEAL_SEAL), 0);
        ck_assert_int_eq(torc_session_seal(made), -EBADMSG);
        torc_session_destroy(made);
    }
}
END_TEST

static TCase *case_with_session(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, make_session, free_session);
    suite_add_tcase(suite, tcase);
    return tcase;
}

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *t = case_with_session(suite, "requests");
    tcase_add_test(t, a_fresh_session_has_nothing_ready);
    tcase_add_test(t, a_request_in_a_slot_is_taken_at_every_length);
    tcase_add_test(t, a_request_in_the_area_is_taken_up_to_a_quarter_and_up_to_the_end);
    tcase_add_test(t, a_taken_request_is_private_and_given_again_until_it_is_answered);
    tcase_add_test(t, no_more_are_taken_than_asked_for_than_a_batch_than_there_are);
    tcase_add_test(t, a_full_exchange_of_unanswered_requests_is_not_looked_at_again);
    tcase_add_test(t, a_take_stops_before_it_passes_the_bytes_of_a_visit);
    tcase_add_test(t, a_request_longer_than_a_visit_is_taken_alone);
    t = case_with_session(suite, "replies");
    tcase_add_test(t, replies_go_by_slot_area_or_parts_by_their_length);
    tcase_add_test(t, a_reply_above_the_cap_never_has_room_and_consumes_nothing);
    tcase_add_test(t, a_reply_needs_a_taken_request_and_a_head);
    tcase_add_test(t, a_reply_without_room_waits_in_its_slot_until_the_client_has_read);
    tcase_add_test(t, a_small_reply_has_room_when_the_area_has_none);
    tcase_add_test(t, the_replies_of_one_stalled_session_do_not_hold_another);
    tcase_add_loop_test(t, consumed_that_goes_back_or_beyond_what_was_produced_breaks_the_session,
                        0, COUNT_OF(bad_consumed));
    tcase_add_test(t, bad_consumed_breaks_the_session_at_a_long_reply_too);
    t = case_with_session(suite, "long messages");
    tcase_add_test(t, a_long_reply_is_pulled_through_the_slot_of_its_request);
    tcase_add_test(t, while_a_long_reply_is_pulled_others_wait_unless_they_fit_a_slot);
    tcase_add_test(t, a_pull_gets_on_when_every_slot_is_taken);
    tcase_add_test(t, a_part_without_room_waits_for_the_client);
    tcase_add_test(t, a_long_reply_begins_in_the_slot_when_the_area_is_full);
    tcase_add_test(t, a_long_reply_without_memory_consumes_nothing);
    tcase_add_test(t, memory_in_use_is_counted_and_given_back);
    tcase_add_test(t, a_long_request_is_pushed_through_one_slot_and_taken_whole);
    tcase_add_test(t, a_second_long_request_waits_until_the_first_is_answered);
    tcase_add_test(t, a_long_request_above_the_cap_is_refused_and_the_next_one_served);
    tcase_add_test(t, a_long_request_without_memory_is_refused_and_the_next_one_served);
    tcase_add_test(t, a_fetch_in_a_slot_of_its_own_is_told_that_nothing_is_held);
    t = case_with_session(suite, "rules");
    tcase_add_loop_test(t, a_broken_rule_ends_the_session_and_is_counted, 0,
                        COUNT_OF(rule_breakers));
    tcase_add_test(t, a_broken_rule_leaves_other_sessions_alone);
    t = case_with_session(suite, "sleeping and debts");
    tcase_add_test(t, a_sleeping_client_is_woken_once_per_sleep_and_only_for_news);
    tcase_add_test(t, the_flag_of_a_sleeping_server_changes_with_each_sleep);
    tcase_add_test(t, doorbells_are_counted);
    tcase_add_test(t, many_sessions_are_told_at_once);
    tcase_add_test(t, a_client_that_owes_nothing_is_never_overdue);
    tcase_add_test(t, a_client_that_does_not_read_is_overdue_after_the_limit);
    tcase_add_test(t, a_half_done_long_message_is_overdue_after_the_limit);
    t = tcase_create("memory and life");
    suite_add_tcase(suite, t);
    tcase_add_test(t, sizes_out_of_range_make_no_session);
    tcase_add_test(t, a_session_comes_and_goes_without_a_trace);
    tcase_add_test(t, without_descriptors_or_memory_nothing_is_left_behind);
    tcase_add_test(t, descriptors_are_closed_on_exec_and_the_doorbell_outlives_the_memfds);
    tcase_add_test(t, nobody_can_change_the_size_and_no_client_can_write_the_reply_area);
    tcase_add_test(
        t, once_sealed_nobody_maps_for_writing_or_punches_holes_and_the_client_still_writes);
    tcase_add_test(t, a_hole_punched_before_sealing_breaks_that_session_and_faults_nowhere);
    tcase_add_test(t, a_client_that_seals_the_seals_is_refused);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
