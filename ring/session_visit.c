/* SPDX-License-Identifier: Apache-2.0
 *
 * A poller's visit to a session: requests in, replies out, parts of long messages.
 *
 * Each slot is looked at once per step: its control word and its bytes go into private memory, and
 * everything is decided from there. A request that waits for reply room keeps its private copy; its
 * slot is not read again.
 *
 * All parts of a long message go through one slot: the side whose turn it is writes the next part,
 * the turn word goes back and forth between request and reply of the same lap. So a pull needs no
 * free slot, and it gets on while all requests behind it wait. Model: docs/models/long.pml.
 */
#include <stdlib.h>

#include "ring/session_private.h"

#define PART_HEAD_BYTES (TORC_MESSAGE_HEAD_BYTES + 8u)           /* of TORC_REPLY_PART */
#define LONG_HEAD_BYTES (TORC_MESSAGE_HEAD_BYTES + 8u + 8u + 4u) /* of TORC_REPLY_LONG */
#define INLINE_PART     ((size_t)TORC_SLOT_MESSAGE - PART_HEAD_BYTES)

static int break_rule(struct torc_session *session)
{
    session->is_broken = true;
    session->is_plain = false;
    session->counters.broken_rules = 1;
    return -EBADMSG;
}

static void update_plain(struct torc_session *session)
{
    session->is_plain = !session->is_broken && !session->held.is_active &&
                        session->n_pending == 0 && session->gather.state != TORC_GATHER_PARTS;
}

/* What the slot at take_position says while no request is there: the reply of the lap before, or,
 * between the parts of a long request, our acknowledgement. */
static uint32_t idle_turn(const struct torc_session *session)
{
    uint32_t turn = torc_turn_request(session->take_position, session->slots_log2);
    return session->gather.state == TORC_GATHER_PARTS ? turn + 1 : turn - 1;
}

/* All slots are in use: the next request's slot is still that of the request at `position`, which
 * was not answered in full. What comes there is not the next request. */
static bool is_lap_ahead(const struct torc_session *session, uint64_t position)
{
    return session->take_position - position == (uint64_t)session->slot_mask + 1;
}

static bool next_slot_is_in_use(const struct torc_session *session)
{
    return (session->held.is_active && is_lap_ahead(session, session->held.position)) ||
           (session->n_pending > 0 &&
            is_lap_ahead(session, session->pending[session->first].position));
}

/* --- looking --- */

static bool consumed_has_moved(const struct torc_session *session)
{
    /* seq_cst: part of the look after W1. The value is not used for anything else. */
    return atomic_load_explicit(&session->request_lines->consumed, memory_order_seq_cst) !=
           session->reply_area.freed;
}

static bool is_ready_slow(const struct torc_session *session)
{
    if (session->is_broken) {
        return true;
    }
    const struct torc_held *held = &session->held;
    if (held->is_active) {
        uint32_t turn =
            torc_control_turn(torc_slot_look(torc_session_slot(session, held->position)));
        if (held->lacks_room ? consumed_has_moved(session)
                             : turn != torc_turn_reply(held->position, session->slots_log2)) {
            return true;
        }
    }
    if (session->n_pending > 0) {
        return session->stall == TORC_STALL_NONE ||
               (session->stall == TORC_STALL_ROOM && consumed_has_moved(session));
    }
    uint64_t control = torc_slot_look(torc_session_slot(session, session->take_position));
    return !next_slot_is_in_use(session) && torc_control_turn(control) != idle_turn(session);
}

bool torc_session_is_ready(const struct torc_session *session)
{
    if (TORC_UNLIKELY(!session->is_plain)) {
        return is_ready_slow(session);
    }
    uint64_t control = torc_slot_look(torc_session_slot(session, session->take_position));
    return torc_control_turn(control) !=
           torc_turn_request(session->take_position, session->slots_log2) - 1;
}

/* --- room in the reply area --- */

/* A place for `len` bytes in the reply area. The client's line is touched only when the last known
 * value of `consumed` leaves no room. 0, -EAGAIN, -EBADMSG. */
static int find_room(struct torc_session *session, uint32_t len, uint64_t *out_start)
{
    struct torc_area *area = &session->reply_area;
    if (TORC_LIKELY(torc_area_place(area, len, out_start))) {
        return 0;
    }
    /* A2 acquire, pairs with A1: the client has read the bytes that we will write over. */
    uint64_t consumed =
        atomic_load_explicit(&session->request_lines->consumed, memory_order_acquire);
    if (consumed - area->freed > area->produced - area->freed) {
        return break_rule(session); /* moved back, or beyond what was produced */
    }
    session->progress += consumed != area->freed;
    area->freed = consumed;
    return torc_area_place(area, len, out_start) ? 0 : -EAGAIN;
}

static int stall(struct torc_session *session, enum torc_stall why)
{
    if (session->n_pending > 0) {
        session->counters.stalls += session->stall == TORC_STALL_NONE;
        session->stall = why;
    }
    return -EAGAIN;
}

static int reserve_held(struct torc_session *session, uint32_t len)
{
    struct torc_held *held = &session->held;
    if (held->data != NULL && held->cap >= len) {
        return 0;
    }
    uint8_t *data = malloc(len);
    if (data == NULL) {
        return -ENOMEM;
    }
    free(held->data);
    held->data = data;
    held->cap = len;
    return 0;
}

static void release_held(struct torc_session *session)
{
    free(session->held.data);
    session->held = (struct torc_held){0};
    if (session->stall == TORC_STALL_HELD) {
        session->stall = TORC_STALL_NONE;
    }
    update_plain(session);
}

int torc_session_reply_room(struct torc_session *session, size_t len)
{
    if (TORC_UNLIKELY(session->is_broken)) {
        return -EBADMSG;
    }
    if (TORC_LIKELY(len <= TORC_SLOT_MESSAGE)) {
        return 0;
    }
    bool is_long = len > torc_area_message_max(session->reply_area.size);
    if (is_long && len > session->long_message_max) {
        return -EMSGSIZE;
    }
    if (session->held.is_active) {
        return stall(session, TORC_STALL_HELD);
    }
    if (is_long) {
        return reserve_held(session, (uint32_t)len);
    }
    uint64_t start;
    int result = find_room(session, (uint32_t)len, &start);
    return result == -EAGAIN ? stall(session, TORC_STALL_ROOM) : result;
}

/* --- publishing --- */

static void publish(struct torc_session *session, uint64_t position, const void *bytes,
                    uint16_t len, enum torc_slot_kind kind)
{
    struct torc_slot *slot = torc_session_slot(session, position);
    memcpy(slot->message, bytes, len);
    uint32_t turn = torc_turn_reply(position, session->slots_log2);
    /* S3 release, pairs with S4: the reply is complete; from here the slot is the client's. */
    atomic_store_explicit(&slot->control, torc_control_make(turn, len, kind), memory_order_release);
    session->has_news = true;
}

/* Publish `len` bytes that are already in the reply area at `start`. */
static void publish_area(struct torc_session *session, uint64_t position, uint64_t start,
                         uint32_t len)
{
    struct torc_area *area = &session->reply_area;
    struct torc_descriptor descriptor = {torc_area_offset(area, start), len};
    area->produced = torc_area_end(start, len);
    publish(session, position, &descriptor, sizeof descriptor, TORC_SLOT_AREA);
    session->counters.area_replies++;
}

static void publish_status(struct torc_session *session, uint64_t position, uint8_t op,
                           uint32_t tag, enum torc_wire_status status)
{
    uint8_t bytes[TORC_SLOT_MESSAGE];
    struct torc_reply_writer writer;
    torc_reply_begin(&writer, bytes, sizeof bytes, op, tag);
    if (status == TORC_WIRE_OK) {
        torc_reply_ok(&writer);
    } else {
        torc_reply_error(&writer, status, "");
    }
    publish(session, position, bytes, (uint16_t)writer.len, TORC_SLOT_INLINE);
}

/* Keep the whole reply for FETCH and answer with its first part: as much as an area message takes,
 * or what fits the slot when the area has no room now. */
static int publish_long(struct torc_session *session, uint64_t position, const uint8_t *message,
                        uint32_t len)
{
    struct torc_area *area = &session->reply_area;
    struct torc_held *held = &session->held;
    uint32_t part_max = torc_area_message_max(area->size);
    uint64_t start;
    int room = find_room(session, part_max, &start);
    if (room == -EBADMSG) {
        return room;
    }
    memcpy(held->data, message, len);
    held->len = len;
    held->position = position;
    held->id = session->next_long_id++;
    held->is_active = true;

    uint8_t bytes[TORC_SLOT_MESSAGE] = {0};
    uint8_t *to = room == 0 ? area->bytes + torc_area_offset(area, start) : bytes;
    size_t cap = room == 0 ? part_max : sizeof bytes;
    struct torc_reply_writer writer;
    torc_reply_begin(&writer, to, cap, message[0], torc_load_u32(message + 4));
    torc_reply_long(&writer, len, held->id, torc_slice_of(held->data, cap - LONG_HEAD_BYTES));
    if (room == 0) {
        publish_area(session, position, start, (uint32_t)writer.len);
    } else {
        publish(session, position, bytes, (uint16_t)writer.len, TORC_SLOT_INLINE);
    }
    session->counters.long_replies++;
    return 0;
}

static void forget_answered(struct torc_session *session)
{
    struct torc_gather *gather = &session->gather;
    if (gather->state == TORC_GATHER_WHOLE &&
        gather->position == session->pending[session->first].position) {
        free(gather->data);
        *gather = (struct torc_gather){0};
    }
    if (TORC_UNLIKELY(session->held.data != NULL) && !session->held.is_active) {
        release_held(session); /* room was reserved, but the reply was a shorter one */
    }
    session->first++;
    session->n_pending--;
    session->stall = TORC_STALL_NONE;
    session->progress++;
    session->counters.replies++;
    update_plain(session);
}

/* A reply in its slot while nothing long is going on: torc_session_reply() for most. */
static void reply_plain(struct torc_session *session, const void *message, size_t len)
{
    uint64_t position = session->pending[session->first].position;
    struct torc_slot *slot = torc_session_slot(session, position);
    torc_copy_message(slot->message, message, len);
    uint64_t control = torc_control_make(torc_turn_reply(position, session->slots_log2),
                                         (uint16_t)len, TORC_SLOT_INLINE);
    /* S3 release, pairs with S4: as in publish(). */
    atomic_store_explicit(&slot->control, control, memory_order_release);
    session->has_news = true;
    session->first++;
    session->n_pending--;
    session->is_plain = session->n_pending == 0;
    session->stall = TORC_STALL_NONE;
    session->progress++;
    session->counters.replies++;
}

/* torc_session_reply() of anything. */
static __attribute__((noinline)) int reply_any(struct torc_session *session, const void *message,
                                               size_t len)
{
    if (session->n_pending == 0 || len < TORC_MESSAGE_HEAD_BYTES) {
        return -EINVAL;
    }
    int result = torc_session_reply_room(session, len);
    if (TORC_UNLIKELY(result != 0)) {
        return result;
    }
    uint64_t position = session->pending[session->first].position;
    struct torc_area *area = &session->reply_area;
    if (TORC_LIKELY(len <= TORC_SLOT_MESSAGE)) {
        publish(session, position, message, (uint16_t)len, TORC_SLOT_INLINE);
    } else if (len <= torc_area_message_max(area->size)) {
        uint64_t start = 0;
        bool has_room = torc_area_place(area, (uint32_t)len, &start);
        assert(has_room); /* torc_session_reply_room() has said so */
        (void)has_room;
        memcpy(area->bytes + torc_area_offset(area, start), message, len);
        publish_area(session, position, start, (uint32_t)len);
    } else {
        result = publish_long(session, position, message, (uint32_t)len);
        if (result != 0) {
            return result;
        }
    }
    forget_answered(session);
    return 0;
}

int torc_session_reply(struct torc_session *session, const void *message, size_t len)
{
    bool fits_slot = len - TORC_MESSAGE_HEAD_BYTES <= TORC_SLOT_MESSAGE - TORC_MESSAGE_HEAD_BYTES;
    if (TORC_LIKELY(fits_slot && session->n_pending != 0 && !session->is_broken &&
                    session->held.data == NULL && session->gather.state == TORC_GATHER_NONE)) {
        reply_plain(session, message, len);
        return 0;
    }
    return reply_any(session, message, len);
}

/* --- requests --- */

/* What the slot at a position holds. */
struct reading {
    uint8_t kind;
    uint32_t len;                      /* of the message */
    struct torc_descriptor descriptor; /* kind AREA */
};

/* S2: copy the slot whose control word was loaded into `copy`, and validate all that can be before
 * the message itself is seen. 0 or -EBADMSG. */
static int read_slot(struct torc_session *session, uint64_t position, uint64_t control,
                     uint8_t copy[TORC_SLOT_MESSAGE], struct reading *out_reading)
{
    uint32_t turn = torc_turn_request(position, session->slots_log2);
    if (torc_control_turn(control) != turn || !torc_control_is_sound(control)) {
        return break_rule(session);
    }
    torc_copy_once(copy, torc_session_slot(session, position)->message, TORC_SLOT_MESSAGE);
    uint16_t used = torc_control_len(control);
    out_reading->kind = torc_control_kind(control);
    if (TORC_LIKELY(out_reading->kind == TORC_SLOT_INLINE)) {
        out_reading->len = used;
        return used >= TORC_MESSAGE_HEAD_BYTES && used <= TORC_SLOT_MESSAGE ? 0
                                                                            : break_rule(session);
    }
    struct torc_descriptor descriptor;
    if (out_reading->kind != TORC_SLOT_AREA || used != sizeof descriptor) {
        return break_rule(session);
    }
    memcpy(&descriptor, copy, sizeof descriptor);
    if (!torc_descriptor_is_valid(descriptor, session->request_size) ||
        descriptor.length < TORC_MESSAGE_HEAD_BYTES) {
        return break_rule(session);
    }
    out_reading->len = descriptor.length;
    out_reading->descriptor = descriptor;
    return 0;
}

/* Take the message in, as the next one pending. */
static void add_pending(struct torc_session *session, const uint8_t *data, uint32_t len)
{
    struct torc_pending *pending = &session->pending[session->n_pending++];
    pending->position = session->take_position++;
    pending->data = data;
    pending->len = len;
    session->counters.requests++;
}

/* Operations that move parts of long messages. */
static bool is_internal(uint8_t op)
{
    return op == TORC_OP_PUT || op == TORC_OP_FETCH;
}

/* Answer the request at take_position here: nobody above sees it. */
static int refuse(struct torc_session *session, const struct torc_request *request,
                  enum torc_wire_status status)
{
    publish_status(session, session->take_position, request->op, request->tag, status);
    session->take_position++;
    return 1;
}

/* One part of a long request: PUT total, offset, bytes. 1 done, 0 not now, -EBADMSG. */
static int take_put(struct torc_session *session, const struct torc_request *put)
{
    struct torc_gather *gather = &session->gather;
    uint64_t total = put->numbers[0];
    uint64_t offset = put->numbers[1];
    struct torc_slice part = put->strings[0];

    if (gather->state == TORC_GATHER_WHOLE) {
        return 0; /* one at a time: the one before is not answered yet */
    }
    if (gather->state == TORC_GATHER_NONE) {
        if (offset != 0 || total < TORC_MESSAGE_HEAD_BYTES) {
            return break_rule(session);
        }
        if (total > session->long_message_max) {
            return refuse(session, put, TORC_WIRE_TOO_LARGE);
        }
    } else if (total != gather->total || offset != gather->got) {
        return break_rule(session);
    }
    if (part.len == 0 || part.len > total - offset) {
        return break_rule(session);
    }
    if (offset == 0 && is_internal(part.data[0])) {
        return break_rule(session); /* a PUT in a PUT */
    }
    if (gather->state == TORC_GATHER_NONE) {
        uint8_t *data = malloc(total);
        if (data == NULL) {
            return refuse(session, put, TORC_WIRE_OUT_OF_MEMORY);
        }
        *gather = (struct torc_gather){.state = TORC_GATHER_PARTS,
                                       .data = data,
                                       .total = (uint32_t)total,
                                       .position = session->take_position};
    }
    memcpy(gather->data + gather->got, part.data, part.len);
    gather->got += (uint32_t)part.len;
    session->progress++;
    if (gather->got < gather->total) {
        publish_status(session, session->take_position, put->op, put->tag, TORC_WIRE_OK);
        return 1;
    }
    gather->state = TORC_GATHER_WHOLE;
    add_pending(session, gather->data, gather->total);
    session->counters.long_requests++;
    return 1;
}

/* A request that is the ring's own. 1 done, 0 not now, -EBADMSG. */
static int take_internal(struct torc_session *session, const uint8_t *data, uint32_t len)
{
    struct torc_request request;
    struct torc_slice string;
    if (torc_request_decode(data, len, &string, 1, &request) != 0) {
        return break_rule(session);
    }
    if (request.op == TORC_OP_PUT) {
        return take_put(session, &request);
    }
    /* A FETCH belongs into the slot of the reply that it continues. */
    return refuse(session, &request, TORC_WIRE_GONE);
}

/* Take one more request at take_position. `in_out_bytes`: bytes of those taken in this visit.
 * 1 taken or dealt with, 0 none or not now, -EBADMSG. */
static int take_next(struct torc_session *session, size_t *in_out_bytes)
{
    if (next_slot_is_in_use(session)) {
        return 0;
    }
    uint64_t position = session->take_position;
    uint64_t control = torc_slot_look(torc_session_slot(session, position));
    if (torc_control_turn(control) == idle_turn(session)) {
        return 0;
    }
    uint8_t *copy = session->pending[session->n_pending].copy;
    struct reading reading;
    int result = read_slot(session, position, control, copy, &reading);
    if (result != 0) {
        return result;
    }
    if (session->n_pending > 0 && *in_out_bytes + reading.len > TORC_SESSION_VISIT_BYTES) {
        return 0;
    }
    const uint8_t *data = copy;
    if (TORC_UNLIKELY(reading.kind == TORC_SLOT_AREA)) {
        uint8_t *to = session->staging + session->staging_used;
        torc_copy_once(to, session->request_bytes + reading.descriptor.offset, reading.len);
        data = to;
    }
    if (TORC_UNLIKELY(session->gather.state == TORC_GATHER_PARTS && data[0] != TORC_OP_PUT)) {
        return break_rule(session); /* its message is not whole */
    }
    if (TORC_UNLIKELY(is_internal(data[0]))) {
        return take_internal(session, data, reading.len);
    }
    add_pending(session, data, reading.len);
    *in_out_bytes += reading.len;
    if (reading.kind == TORC_SLOT_AREA) {
        session->staging_used += torc_align_up(reading.len, TORC_STAGING_ALIGN);
        session->counters.area_requests++;
    }
    return 1;
}

/* Take requests that lie in their slots, while nothing else is going on: most visits are no more
 * than this. Ends at what is not of that kind, which take_next() judges; `*out_is_all` says that
 * nothing is there. Returns how many were taken. */
static unsigned take_plain(struct torc_session *session, struct torc_taken *out_taken, unsigned max,
                           bool *out_is_all)
{
    static_assert(TORC_SESSION_BATCH * TORC_SLOT_MESSAGE <= TORC_SESSION_VISIT_BYTES,
                  "a batch out of slots is no long visit");
    /* Not into the next lap: its slots are in use by what is taken here. */
    max = max <= session->slot_mask ? max : session->slot_mask + 1;
    const struct torc_slot *slots = session->slots;
    const uint32_t slot_mask = session->slot_mask;
    const unsigned slots_log2 = session->slots_log2;
    uint64_t position = session->take_position;
    unsigned n = 0;
    for (; n < max; n++, position++) {
        const struct torc_slot *slot = &slots[position & slot_mask];
        uint32_t turn = torc_turn_request(position, slots_log2);
        uint64_t control = torc_slot_look(slot); /* S2 */
        if (!torc_control_is_inline(control, turn)) {
            *out_is_all = torc_control_turn(control) == turn - 1;
            break;
        }
        struct torc_pending *pending = &session->pending[n];
        torc_copy_once(pending->copy, slot->message, TORC_SLOT_MESSAGE);
        if (TORC_UNLIKELY(is_internal(pending->copy[0]))) {
            break;
        }
        pending->position = position;
        pending->data = pending->copy;
        pending->len = torc_control_len(control);
        out_taken[n] =
            (struct torc_taken){.position = position, .data = pending->copy, .len = pending->len};
    }
    session->take_position = position;
    session->first = 0;
    session->n_pending = n;
    session->staging_used = 0;
    session->counters.requests += n;
    session->is_plain = n == 0;
    return n;
}

/* The next part of the long reply that is held, if the client asks for it and there is room.
 * 0 or -EBADMSG. */
static int serve_fetch(struct torc_session *session)
{
    struct torc_held *held = &session->held;
    uint64_t control = torc_slot_look(torc_session_slot(session, held->position));
    if (torc_control_turn(control) == torc_turn_reply(held->position, session->slots_log2)) {
        return 0;
    }
    uint8_t copy[TORC_SLOT_MESSAGE];
    struct reading reading;
    int result = read_slot(session, held->position, control, copy, &reading);
    if (result != 0) {
        return result;
    }
    struct torc_request fetch;
    if (reading.kind != TORC_SLOT_INLINE ||
        torc_request_decode(copy, reading.len, NULL, 0, &fetch) != 0 || fetch.op != TORC_OP_FETCH ||
        fetch.numbers[0] != held->id || fetch.numbers[1] > held->len) {
        return break_rule(session);
    }
    /* An offset at the end asks for nothing: the client gives the rest up. */
    uint32_t offset = (uint32_t)fetch.numbers[1];
    struct torc_area *area = &session->reply_area;
    size_t part =
        torc_min_u64(held->len - offset, torc_area_message_max(area->size) - PART_HEAD_BYTES);
    bool is_inline = part <= INLINE_PART;
    uint64_t start = 0;
    if (!is_inline) {
        result = find_room(session, (uint32_t)part + PART_HEAD_BYTES, &start);
        held->lacks_room = result == -EAGAIN;
        if (result != 0) {
            return result == -EAGAIN ? 0 : result;
        }
    }
    uint8_t bytes[TORC_SLOT_MESSAGE] = {0};
    uint8_t *to = is_inline ? bytes : area->bytes + torc_area_offset(area, start);
    struct torc_reply_writer writer;
    torc_reply_begin(&writer, to, part + PART_HEAD_BYTES, fetch.op, fetch.tag);
    torc_reply_part(&writer, offset, torc_slice_of(held->data + offset, part));
    if (is_inline) {
        publish(session, held->position, bytes, (uint16_t)writer.len, TORC_SLOT_INLINE);
    } else {
        publish_area(session, held->position, start, (uint32_t)writer.len);
    }
    session->progress++;
    if (offset + part == held->len) {
        release_held(session);
    }
    return 0;
}

/* torc_session_take() of anything, behind the `n_plain` that take_plain() took. */
static __attribute__((noinline)) int
take_any(struct torc_session *session, struct torc_taken *out_taken, unsigned max, unsigned n_plain)
{
    if (TORC_UNLIKELY(session->is_broken)) {
        return -EBADMSG;
    }
    if (TORC_UNLIKELY(session->held.is_active)) {
        int result = serve_fetch(session);
        if (result != 0) {
            return result;
        }
    }
    if (session->n_pending == n_plain) {
        session->first = 0;
        session->staging_used = 0;
        size_t bytes = 0;
        for (unsigned n = 0; n < n_plain; n++) {
            bytes += session->pending[n].len;
        }
        for (unsigned n = n_plain; n < max; n++) {
            int result = take_next(session, &bytes);
            if (result < 0) {
                return result;
            }
            if (result == 0) {
                break;
            }
        }
        update_plain(session);
    }
    unsigned n = session->n_pending < max ? session->n_pending : max;
    for (unsigned i = 0; i < n; i++) {
        const struct torc_pending *pending = &session->pending[session->first + i];
        out_taken[i] = (struct torc_taken){
            .position = pending->position, .data = pending->data, .len = pending->len};
    }
    return (int)n;
}

int torc_session_take(struct torc_session *session, struct torc_taken *out_taken, unsigned max)
{
    max = max < TORC_SESSION_BATCH ? max : TORC_SESSION_BATCH;
    unsigned n_plain = 0;
    if (TORC_LIKELY(session->is_plain)) {
        bool is_all = false;
        n_plain = take_plain(session, out_taken, max, &is_all);
        if (TORC_LIKELY(is_all || n_plain == max)) {
            return (int)n_plain;
        }
    }
    return take_any(session, out_taken, max, n_plain);
}

/* --- debts --- */

bool torc_session_is_overdue(struct torc_session *session, uint64_t now_ns, uint64_t limit_ns)
{
    bool is_owing = session->held.is_active || session->gather.state == TORC_GATHER_PARTS ||
                    session->stall != TORC_STALL_NONE;
    if (!is_owing || !session->is_owing || session->progress != session->overdue_progress) {
        session->is_owing = is_owing;
        session->overdue_progress = session->progress;
        session->overdue_since_ns = now_ns;
        return false;
    }
    return now_ns - session->overdue_since_ns >= limit_ns;
}

/* --- invariants --- */

static bool pending_is_sound(const struct torc_session *session, const struct torc_pending *pending)
{
    const struct torc_gather *gather = &session->gather;
    bool is_copy = pending->data == pending->copy && pending->len <= TORC_SLOT_MESSAGE;
    bool is_gathered = gather->state == TORC_GATHER_WHOLE && pending->data == gather->data &&
                       pending->position == gather->position && pending->len == gather->total;
    bool is_staged = pending->data >= session->staging &&
                     pending->data + pending->len <= session->staging + session->staging_used;
    return pending->len >= TORC_MESSAGE_HEAD_BYTES &&
           session->take_position - pending->position <= (uint64_t)session->slot_mask + 1 &&
           is_copy + is_gathered + is_staged == 1;
}

bool torc_session_check(const struct torc_session *session)
{
    const struct torc_area *area = &session->reply_area;
    const struct torc_held *held = &session->held;
    const struct torc_gather *gather = &session->gather;
    bool sound = session->slot_mask + 1 == session->slots_count &&
                 session->first + session->n_pending <= TORC_SESSION_BATCH &&
                 session->staging_used <= session->staging_size &&
                 area->produced - area->freed <= area->size &&
                 (area->produced & (TORC_AREA_ALIGN - 1)) == 0;
    sound = sound &&
            session->is_plain == (!session->is_broken && !held->is_active &&
                                  session->n_pending == 0 && gather->state != TORC_GATHER_PARTS);
    sound = sound && (session->stall != TORC_STALL_HELD || held->is_active);
    sound = sound && (session->stall == TORC_STALL_NONE || session->n_pending > 0);
    sound = sound && (held->is_active ? held->data != NULL && held->len <= held->cap &&
                                            session->take_position > held->position
                                      : !held->lacks_room);
    sound = sound && (gather->state == TORC_GATHER_NONE
                          ? gather->data == NULL
                          : gather->data != NULL && gather->got <= gather->total);
    sound = sound && (gather->state != TORC_GATHER_PARTS ||
                      (gather->got < gather->total && gather->position == session->take_position));
    for (unsigned i = 0; sound && i < session->n_pending; i++) {
        sound = pending_is_sound(session, &session->pending[session->first + i]);
    }
    return sound;
}
