/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests out, replies in, and the parts of long ones. A request is written where the server reads
 * it: into its slot, or into the request area. See ring/layout.h for the orders of access.
 */
#include <stdlib.h>

#include "ring/attachment_private.h"

/* An empty look asks the socket for the server's life once in so many: a caller that polls with
 * peek() notices its death, and pays for the syscall next to never. */
#define LOOKS_PER_LIFE_CHECK 4096u

/* Slots that fetch_ahead() is ahead. Between two cores, a window of 64 takes 60 ns a request with
 * 4, 70 with 2 and 96 with none; 8 do no better there, and worse in smaller windows. */
#define SLOTS_AHEAD_MAX 4u

#define PUT_HEAD_BYTES (TORC_MESSAGE_HEAD_BYTES + 8u + 8u + 4u) /* with the widest length */

static struct torc_slot *slot_at(const struct torc_attachment *attachment, uint64_t position)
{
    return &attachment->slots[position & attachment->slot_mask];
}

static bool is_full(const struct torc_attachment *attachment)
{
    return attachment->head - attachment->tail > attachment->slot_mask;
}

/* --- publishing --- */

/* Store a word that the server waits for, then ring its doorbell if it sleeps. */
static inline void publish_word(struct torc_attachment *attachment, _Atomic uint64_t *word,
                                uint64_t value)
{
    const _Atomic uint32_t *sleeping = &attachment->reply_lines->sleeping;
    uint32_t flag;
    if (TORC_LIKELY(attachment->is_asymmetric)) {
        atomic_store_explicit(word, value, memory_order_release);
        /* W2: membarrier() in the server keeps our store ahead of this load. */
        torc_compiler_barrier();
        flag = atomic_load_explicit(sleeping, memory_order_relaxed);
    } else {
        /* W2 */
        atomic_store_explicit(word, value, memory_order_seq_cst);
        flag = atomic_load_explicit(sleeping, memory_order_seq_cst);
    }
    if (TORC_UNLIKELY(flag != 0)) {
        torc_attachment_ring(attachment, flag);
    }
}

static inline void publish(struct torc_attachment *attachment, uint64_t position, uint16_t len,
                           enum torc_slot_kind kind)
{
    struct torc_slot *slot = slot_at(attachment, position);
    uint32_t turn = torc_turn_request(position, attachment->slots_log2);
    /* S1, pairs with S2: the message is complete. */
    publish_word(attachment, &slot->control, torc_control_make(turn, len, kind));
}

static void publish_inline(struct torc_attachment *attachment, uint64_t position, const void *bytes,
                           size_t len)
{
    memcpy(slot_at(attachment, position)->message, bytes, len);
    publish(attachment, position, (uint16_t)len, TORC_SLOT_INLINE);
}

static void publish_area(struct torc_attachment *attachment, uint64_t position, uint64_t start,
                         uint32_t len)
{
    struct torc_descriptor descriptor = {torc_area_offset(&attachment->request_area, start), len};
    memcpy(slot_at(attachment, position)->message, &descriptor, sizeof descriptor);
    publish(attachment, position, sizeof descriptor, TORC_SLOT_AREA);
}

/* Tell the server how far its area may be written again. */
static void publish_consumed(struct torc_attachment *attachment, uint64_t position)
{
    attachment->reply_position = position;
    /* A1, pairs with A2: our reads of these bytes are done. */
    publish_word(attachment, &attachment->request_lines->consumed, position);
}

/* --- long requests: push --- */

/* Send the next part through the slot of the request. */
static void push_part(struct torc_attachment *attachment)
{
    struct torc_push *push = &attachment->push;
    struct torc_area *area = &attachment->request_area;
    uint32_t part = (uint32_t)torc_min_u64(push->total - push->sent,
                                           torc_area_message_max(area->size) - PUT_HEAD_BYTES);
    struct torc_slice bytes = torc_slice_of(push->data + push->sent, part);
    const uint64_t numbers[] = {push->total, push->sent};
    size_t len = torc_request_encode(area->bytes + torc_area_offset(area, push->start), TORC_OP_PUT,
                                     push->tag, numbers, &bytes, 1);
    assert(len > 0 && len <= torc_area_message_max(area->size));
    push->sent += part;
    publish_area(attachment, push->position, push->start, (uint32_t)len);
}

static void end_push(struct torc_attachment *attachment)
{
    free(attachment->push.data);
    attachment->push = (struct torc_push){0};
}

static bool is_acknowledgement(const struct torc_slot *slot, uint64_t control)
{
    return torc_control_kind(control) == TORC_SLOT_INLINE &&
           torc_control_len(control) == TORC_MESSAGE_HEAD_BYTES &&
           slot->message[0] == TORC_OP_PUT && slot->message[1] >> 4 == TORC_REPLY_OK;
}

/* Go on with the push if the last part was acknowledged. It ends when all parts are sent (the next
 * reply is the request's) or when something else than an acknowledgement comes: an error, and that
 * is the request's reply. */
static void step_push(struct torc_attachment *attachment)
{
    struct torc_push *push = &attachment->push;
    const struct torc_slot *slot = slot_at(attachment, push->position);
    uint64_t control = torc_slot_look(slot);
    if (torc_control_turn(control) != torc_turn_reply(push->position, attachment->slots_log2)) {
        return;
    }
    if (is_acknowledgement(slot, control)) {
        push_part(attachment);
        if (push->sent < push->total) {
            return;
        }
    }
    end_push(attachment);
}

/* --- long replies: pull --- */

static int break_off(struct torc_attachment *attachment)
{
    attachment->is_broken = true;
    return -EBADMSG;
}

static void fetch(struct torc_attachment *attachment, uint32_t offset)
{
    uint8_t message[TORC_SLOT_MESSAGE];
    const uint64_t numbers[] = {attachment->pull.id, offset};
    size_t len = torc_request_encode(message, TORC_OP_FETCH, 0, numbers, NULL, 0);
    publish_inline(attachment, attachment->tail, message, len);
}

static int not_yet(struct torc_attachment *attachment)
{
    if (TORC_UNLIKELY(++attachment->empty_looks % LOOKS_PER_LIFE_CHECK == 0)) {
        torc_attachment_check_life(attachment);
    }
    return attachment->is_dead ? -EPIPE : -EAGAIN;
}

/* What the reply in the slot of `tail` says, validated as far as the slot goes. *out_end is where
 * the reply area is read up to then. 0 or -EBADMSG. */
static int read_slot(struct torc_attachment *attachment, uint64_t control,
                     struct torc_slice *out_message, bool *out_is_in_area, uint64_t *out_end)
{
    const struct torc_slot *slot = slot_at(attachment, attachment->tail);
    uint16_t used = torc_control_len(control);
    if (!torc_control_is_sound(control)) {
        return break_off(attachment);
    }
    if (TORC_LIKELY(torc_control_kind(control) == TORC_SLOT_INLINE)) {
        if (used < TORC_MESSAGE_HEAD_BYTES || used > TORC_SLOT_MESSAGE) {
            return break_off(attachment);
        }
        *out_message = torc_slice_of(slot->message, used);
        *out_is_in_area = false;
        *out_end = attachment->reply_position;
        return 0;
    }
    struct torc_descriptor descriptor;
    if (torc_control_kind(control) != TORC_SLOT_AREA || used != sizeof descriptor) {
        return break_off(attachment);
    }
    torc_copy_once(&descriptor, slot->message, sizeof descriptor);
    /* Messages follow each other; what does not fit before the end starts at 0. */
    uint32_t size = attachment->reply_size;
    uint32_t offset = (uint32_t)(attachment->reply_position & (size - 1));
    uint64_t start = attachment->reply_position;
    if (descriptor.offset == 0 && offset != 0) {
        start += size - offset;
        offset = 0;
    }
    if (!torc_descriptor_is_valid(descriptor, size) || descriptor.offset != offset ||
        descriptor.length < TORC_MESSAGE_HEAD_BYTES) {
        return break_off(attachment);
    }
    *out_message = torc_slice_of(attachment->reply_bytes + offset, descriptor.length);
    *out_is_in_area = true;
    *out_end = torc_area_end(start, descriptor.length);
    return 0;
}

static bool is_replied(const struct torc_attachment *attachment, uint64_t control)
{
    return torc_control_turn(control) == torc_turn_reply(attachment->tail, attachment->slots_log2);
}

/* A LONG reply is there: keep its first part and ask for the next. */
static int start_pull(struct torc_attachment *attachment, struct torc_slice message,
                      bool is_in_area, uint64_t end)
{
    struct torc_pull *pull = &attachment->pull;
    struct torc_reply reply;
    if (torc_reply_decode(message.data, message.len, &reply) != 0 ||
        reply.cursor > attachment->long_message_max || reply.cursor < TORC_MESSAGE_HEAD_BYTES ||
        reply.bytes.len >= reply.cursor) {
        return break_off(attachment);
    }
    *pull = (struct torc_pull){.state = TORC_PULL_LACKS_MEMORY,
                               .total = (uint32_t)reply.cursor,
                               .id = reply.id,
                               .data = malloc(reply.cursor)};
    attachment->peeked_is_in_area = is_in_area;
    attachment->peeked_end = end;
    if (pull->data == NULL) {
        return -ENOMEM;
    }
    memcpy(pull->data, reply.bytes.data, reply.bytes.len);
    pull->got = (uint32_t)reply.bytes.len;
    pull->state = TORC_PULL_PARTS;
    if (is_in_area) {
        publish_consumed(attachment, end);
    }
    fetch(attachment, pull->got);
    return -EAGAIN;
}

/* The part that was asked for, if it is there. 0 the reply is whole and peeked; -EAGAIN, -EBADMSG,
 * -EPIPE. */
static int step_pull(struct torc_attachment *attachment)
{
    struct torc_pull *pull = &attachment->pull;
    uint64_t control = torc_slot_look(slot_at(attachment, attachment->tail));
    if (!is_replied(attachment, control)) {
        return not_yet(attachment);
    }
    struct torc_slice message;
    bool is_in_area;
    uint64_t end;
    struct torc_reply part;
    if (read_slot(attachment, control, &message, &is_in_area, &end) != 0 ||
        torc_reply_decode(message.data, message.len, &part) != 0 || part.kind != TORC_REPLY_PART) {
        return break_off(attachment);
    }
    bool is_given_up = pull->state == TORC_PULL_GIVEN_UP;
    uint32_t expected = is_given_up ? pull->total : pull->got;
    if (part.cursor != expected || part.bytes.len > pull->total - expected ||
        (part.bytes.len == 0 && !is_given_up)) {
        return break_off(attachment);
    }
    if (!is_given_up) {
        memcpy(pull->data + pull->got, part.bytes.data, part.bytes.len);
        pull->got += (uint32_t)part.bytes.len;
    }
    if (is_in_area) {
        publish_consumed(attachment, end);
    }
    if (is_given_up) {
        *pull = (struct torc_pull){0};
        attachment->request_area.freed =
            attachment->area_ends[attachment->tail & attachment->slot_mask];
        attachment->tail++;
        return 0;
    }
    if (pull->got < pull->total) {
        fetch(attachment, pull->got);
        return -EAGAIN;
    }
    pull->state = TORC_PULL_WHOLE;
    attachment->peeked = torc_slice_of(pull->data, pull->total);
    attachment->peeked_is_in_area = false;
    attachment->has_peeked = true;
    return 0;
}

/* --- replies --- */

/* A reply is there, so those behind it may be: take the slot of one of them, which is read and then
 * written with a next request, in one go and while others are worked on. Each of these slots is
 * otherwise waited for twice. Not near the newest, where the server still writes. */
static inline void fetch_ahead(const struct torc_attachment *attachment)
{
    uint64_t ahead = (attachment->head - attachment->tail) / 4;
    if (ahead != 0) {
        ahead = torc_min_u64(ahead, SLOTS_AHEAD_MAX);
        TORC_PREFETCH_TO_WRITE(slot_at(attachment, attachment->tail + ahead));
    }
}

/* A reply that is there: make it the peeked one, or start to pull it. */
static int accept(struct torc_attachment *attachment, uint64_t control)
{
    struct torc_slice message;
    bool is_in_area;
    uint64_t end;
    int result = read_slot(attachment, control, &message, &is_in_area, &end);
    if (TORC_UNLIKELY(result != 0)) {
        return result;
    }
    if (TORC_UNLIKELY(message.data[1] >> 4 == TORC_REPLY_LONG)) {
        return start_pull(attachment, message, is_in_area, end);
    }
    fetch_ahead(attachment);
    attachment->peeked = message;
    attachment->peeked_is_in_area = is_in_area;
    attachment->peeked_end = end;
    attachment->has_peeked = true;
    return 0;
}

/* Move long messages on. 0: now look at the oldest reply; else as peek(). */
static int step_long(struct torc_attachment *attachment)
{
    struct torc_push *push = &attachment->push;
    struct torc_pull *pull = &attachment->pull;
    if (push->is_active) {
        step_push(attachment);
        if (push->is_active && push->position == attachment->tail) {
            return not_yet(attachment);
        }
    }
    switch (pull->state) {
    case TORC_PULL_PARTS:
    case TORC_PULL_GIVEN_UP:
        return step_pull(attachment);
    case TORC_PULL_NONE:
    case TORC_PULL_LACKS_MEMORY:
    case TORC_PULL_WHOLE:
        break;
    }
    return 0;
}

/* One look; the result is in attachment->peeked. */
static int look_for_reply(struct torc_attachment *attachment)
{
    if (attachment->has_peeked) {
        return 0;
    }
    if (TORC_UNLIKELY(attachment->is_broken)) {
        return -EBADMSG;
    }
    if (TORC_UNLIKELY(attachment->push.is_active || attachment->pull.state != TORC_PULL_NONE)) {
        int result = step_long(attachment);
        if (torc_attachment_outstanding(attachment) == 0 && result != -EBADMSG) {
            return -ENOENT;
        }
        if (result != 0 || attachment->has_peeked) {
            return result;
        }
    }
    if (attachment->head == attachment->tail) {
        return -ENOENT;
    }
    uint64_t control = torc_slot_look(slot_at(attachment, attachment->tail)); /* S4 */
    return is_replied(attachment, control) ? accept(attachment, control) : not_yet(attachment);
}

int torc_attachment_take_small(struct torc_attachment *attachment, uint8_t copy[TORC_SLOT_MESSAGE])
{
    if (TORC_UNLIKELY(attachment->has_peeked || attachment->is_broken ||
                      attachment->push.is_active || attachment->pull.state != TORC_PULL_NONE ||
                      attachment->head == attachment->tail)) {
        return -EAGAIN;
    }
    uint64_t tail = attachment->tail;
    const struct torc_slot *slot = slot_at(attachment, tail);
    uint32_t turn = torc_turn_reply(tail, attachment->slots_log2);
    uint64_t control = torc_slot_look(slot); /* S4 */
    if (TORC_UNLIKELY(!torc_control_is_inline(control, turn))) {
        return torc_control_turn(control) == turn ? -EAGAIN : 0;
    }
    fetch_ahead(attachment);
    torc_copy_once(copy, slot->message, TORC_SLOT_MESSAGE);
    if (TORC_UNLIKELY(copy[1] >> 4 == TORC_REPLY_LONG)) {
        return -EAGAIN;
    }
    attachment->request_area.freed = attachment->area_ends[tail & attachment->slot_mask];
    attachment->tail = tail + 1;
    return torc_control_len(control);
}

int torc_attachment_peek(struct torc_attachment *attachment, struct torc_slice *out_message)
{
    int result = look_for_reply(attachment);
    if (result == 0) {
        *out_message = attachment->peeked;
    }
    return result;
}

int torc_attachment_wait(struct torc_attachment *attachment, uint64_t deadline_ns,
                         struct torc_slice *out_message)
{
    int result = look_for_reply(attachment);
    if (result == -EAGAIN) {
        result = torc_attachment_await(attachment, look_for_reply, deadline_ns);
    }
    if (result == 0) {
        *out_message = attachment->peeked;
    }
    return result;
}

uint8_t *torc_attachment_take_long(struct torc_attachment *attachment)
{
    struct torc_pull *pull = &attachment->pull;
    if (!attachment->has_peeked || pull->state != TORC_PULL_WHOLE) {
        return NULL;
    }
    uint8_t *data = pull->data;
    pull->data = NULL; /* for the free() in consume */
    return data;
}

void torc_attachment_consume(struct torc_attachment *attachment)
{
    struct torc_pull *pull = &attachment->pull;
    if (!attachment->has_peeked) {
        if (pull->state == TORC_PULL_LACKS_MEMORY) {
            pull->state = TORC_PULL_GIVEN_UP;
            if (attachment->peeked_is_in_area) {
                publish_consumed(attachment, attachment->peeked_end);
            }
            fetch(attachment, pull->total);
        }
        return;
    }
    if (attachment->peeked_is_in_area) {
        publish_consumed(attachment, attachment->peeked_end);
    }
    if (TORC_UNLIKELY(pull->state == TORC_PULL_WHOLE)) {
        free(pull->data);
        *pull = (struct torc_pull){0};
    }
    attachment->has_peeked = false;
    attachment->request_area.freed =
        attachment->area_ends[attachment->tail & attachment->slot_mask];
    attachment->tail++;
}

/* --- requests --- */

/* Private memory for the message, and a quarter of the area for its parts. */
static void *reserve_long(struct torc_attachment *attachment, size_t len, int *out_error)
{
    struct torc_push *push = &attachment->push;
    struct torc_area *area = &attachment->request_area;
    uint64_t start;
    if (push->is_active || !torc_area_place(area, torc_area_message_max(area->size), &start)) {
        *out_error = -EAGAIN;
        return NULL;
    }
    free(push->data); /* of a reservation that was forgotten */
    push->data = malloc(len);
    if (push->data == NULL) {
        *out_error = -ENOMEM;
        return NULL;
    }
    attachment->reservation = TORC_RESERVED_LONG;
    attachment->reserved_start = start;
    return push->data;
}

static void *reserve_area(struct torc_attachment *attachment, size_t len, int *out_error)
{
    struct torc_area *area = &attachment->request_area;
    uint64_t start;
    if (!torc_area_place(area, (uint32_t)len, &start)) {
        *out_error = -EAGAIN;
        return NULL;
    }
    attachment->reservation = TORC_RESERVED_AREA;
    attachment->reserved_start = start;
    return area->bytes + torc_area_offset(area, start);
}

/* torc_attachment_reserve() of anything, and what is wrong with it. */
static __attribute__((noinline)) void *reserve_any(struct torc_attachment *attachment, size_t len,
                                                   int *out_error)
{
    attachment->reservation = TORC_RESERVED_NOTHING;
    attachment->reserved_len = len;
    if (TORC_UNLIKELY(is_full(attachment)) && attachment->pull.state == TORC_PULL_GIVEN_UP) {
        int result = step_long(attachment); /* frees the slot, if the server has agreed */
        (void)result;
    }
    bool fits_area = len <= torc_area_message_max(attachment->request_area.size);
    if (TORC_UNLIKELY(len < TORC_MESSAGE_HEAD_BYTES)) {
        *out_error = -EINVAL;
    } else if (TORC_UNLIKELY(attachment->is_dead)) {
        *out_error = -EPIPE;
    } else if (!fits_area && len > attachment->long_message_max) {
        *out_error = -EMSGSIZE;
    } else if (is_full(attachment)) {
        *out_error = -EAGAIN;
    } else if (len <= TORC_SLOT_MESSAGE) { /* a step above has made room */
        attachment->reservation = TORC_RESERVED_SLOT;
        return slot_at(attachment, attachment->head)->message;
    } else if (fits_area) {
        return reserve_area(attachment, len, out_error);
    } else {
        return reserve_long(attachment, len, out_error);
    }
    return NULL;
}

void *torc_attachment_reserve(struct torc_attachment *attachment, size_t len, int *out_error)
{
    bool fits_slot = len - TORC_MESSAGE_HEAD_BYTES <= TORC_SLOT_MESSAGE - TORC_MESSAGE_HEAD_BYTES;
    if (TORC_UNLIKELY(!fits_slot || attachment->is_dead || is_full(attachment))) {
        return reserve_any(attachment, len, out_error);
    }
    attachment->reservation = TORC_RESERVED_SLOT;
    attachment->reserved_len = len;
    return slot_at(attachment, attachment->head)->message;
}

/* 0 when the message has been pushed, or its reply is there before its end. */
static int look_for_push(struct torc_attachment *attachment)
{
    if (attachment->push.is_active) {
        step_push(attachment);
    }
    return attachment->push.is_active ? not_yet(attachment) : 0;
}

/* torc_attachment_commit() of anything, and what is wrong with it. */
static __attribute__((noinline)) int commit_any(struct torc_attachment *attachment, size_t len,
                                                uint64_t deadline_ns)
{
    if (attachment->reservation == TORC_RESERVED_NOTHING || len > attachment->reserved_len ||
        len < TORC_MESSAGE_HEAD_BYTES) {
        return -EINVAL;
    }
    if (TORC_UNLIKELY(attachment->is_dead)) {
        return -EPIPE;
    }
    enum torc_reservation reservation = attachment->reservation;
    attachment->reservation = TORC_RESERVED_NOTHING;
    uint64_t position = attachment->head++;
    struct torc_area *area = &attachment->request_area;
    uint64_t *area_end = &attachment->area_ends[position & attachment->slot_mask];
    uint64_t start = attachment->reserved_start;

    assert(reservation != TORC_RESERVED_SLOT); /* was tried before */
    if (reservation == TORC_RESERVED_AREA) {
        area->produced = *area_end = torc_area_end(start, (uint32_t)len);
        publish_area(attachment, position, start, (uint32_t)len);
        return 0;
    }
    area->produced = *area_end = torc_area_end(start, torc_area_message_max(area->size));
    attachment->push.is_active = true;
    attachment->push.total = (uint32_t)len;
    attachment->push.sent = 0;
    attachment->push.tag = torc_load_u32(attachment->push.data + 4);
    attachment->push.position = position;
    attachment->push.start = start;
    push_part(attachment);
    if (attachment->push.sent == attachment->push.total) {
        end_push(attachment); /* committed shorter than reserved */
        return 0;
    }
    if (position != attachment->tail) {
        return 0;
    }
    return torc_attachment_await(attachment, look_for_push, deadline_ns);
}

int torc_attachment_commit(struct torc_attachment *attachment, size_t len, uint64_t deadline_ns)
{
    if (TORC_UNLIKELY(attachment->reservation != TORC_RESERVED_SLOT || attachment->is_dead ||
                      len > attachment->reserved_len || len < TORC_MESSAGE_HEAD_BYTES)) {
        return commit_any(attachment, len, deadline_ns);
    }
    attachment->reservation = TORC_RESERVED_NOTHING;
    uint64_t position = attachment->head++;
    attachment->area_ends[position & attachment->slot_mask] = attachment->request_area.produced;
    publish(attachment, position, (uint16_t)len, TORC_SLOT_INLINE);
    return 0;
}

/* --- facts --- */

unsigned torc_attachment_outstanding(const struct torc_attachment *attachment)
{
    bool is_given_up = attachment->pull.state == TORC_PULL_GIVEN_UP;
    return (unsigned)(attachment->head - attachment->tail) - is_given_up;
}

unsigned torc_attachment_slots(const struct torc_attachment *attachment)
{
    return attachment->slot_mask + 1;
}

uint64_t torc_attachment_epoch(const struct torc_attachment *attachment)
{
    return attachment->epoch;
}

uint64_t torc_attachment_session_id(const struct torc_attachment *attachment)
{
    return attachment->session_id;
}

uint64_t torc_attachment_message_max(const struct torc_attachment *attachment)
{
    return attachment->long_message_max;
}

bool torc_attachment_is_dead(const struct torc_attachment *attachment)
{
    return attachment->is_dead;
}

bool torc_attachment_check(const struct torc_attachment *attachment)
{
    const struct torc_area *area = &attachment->request_area;
    const struct torc_push *push = &attachment->push;
    const struct torc_pull *pull = &attachment->pull;
    uint64_t outstanding = attachment->head - attachment->tail;
    bool sound = outstanding <= (uint64_t)attachment->slot_mask + 1 &&
                 area->produced - area->freed <= area->size &&
                 (area->produced & (TORC_AREA_ALIGN - 1)) == 0 &&
                 (attachment->reply_position & (TORC_AREA_ALIGN - 1)) == 0;
    sound = sound && (!attachment->has_peeked || outstanding > 0);
    sound = sound && (!push->is_active || (push->data != NULL && push->sent < push->total &&
                                           push->position - attachment->tail < outstanding));
    sound = sound && (pull->state != TORC_PULL_PARTS ||
                      (pull->data != NULL && pull->got < pull->total && outstanding > 0));
    sound = sound && ((pull->state == TORC_PULL_WHOLE) <= attachment->has_peeked);
    /* What is freed with each reply never goes back, and all is free when the last one is seen. */
    uint64_t freed = area->freed;
    for (uint64_t p = attachment->tail; sound && p != attachment->head; p++) {
        uint64_t end = attachment->area_ends[p & attachment->slot_mask];
        sound = end - freed <= area->size && end - area->freed <= area->produced - area->freed;
        freed = end;
    }
    return sound && freed == area->produced;
}
