/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's half of a ring with a client that is the input: a program of one-byte operations
 * that write slots, request area and public words, and of visits in between. The sanitizers watch
 * the bounds; the invariants are walked after each step.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tests/support/ring_pair.h"

#define SLOTS    4u
#define AREA     4096u
#define LONG_MAX 6000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

/* The next `len` bytes, zeros where the input has ended. */
static void read_bytes(struct input *input, void *to, size_t len)
{
    size_t n = torc_min_u64(len, input->left);
    memset(to, 0, len);
    if (n > 0) {
        memcpy(to, input->data, n);
    }
    input->data += n;
    input->left -= n;
}

static uint64_t read_number(struct input *input, size_t bytes)
{
    uint64_t number = 0;
    read_bytes(input, &number, bytes);
    return number;
}

static void expect(bool claim)
{
    if (!claim) {
        abort();
    }
}

static void write_slot(struct torc_session *session, struct input *input, bool is_raw,
                       uint32_t turn_step)
{
    struct torc_slot *slot = &session->slots[read_number(input, 1) % SLOTS];
    uint64_t control = read_number(input, is_raw ? 8 : 2);
    if (!is_raw) {
        uint32_t turn = torc_control_turn(torc_slot_look(slot));
        control = torc_control_make(turn + turn_step, (uint16_t)(control & 0xff),
                                    (enum torc_slot_kind)(control >> 8));
    }
    read_bytes(input, slot->message, read_number(input, 1) % (TORC_SLOT_MESSAGE + 1));
    atomic_store_explicit(&slot->control, control, memory_order_release);
}

static void write_area(struct torc_session *session, struct input *input)
{
    uint8_t *area = (uint8_t *)session->request_map + TORC_AREA_LINES_BYTES;
    size_t offset = read_number(input, 2) % AREA;
    size_t len = torc_min_u64(read_number(input, 1), AREA - offset);
    read_bytes(input, area + offset, len);
}

static int take(struct torc_session *session, struct input *input)
{
    struct torc_taken taken[TORC_SESSION_BATCH];
    unsigned max = (unsigned)read_number(input, 1) % (TORC_SESSION_BATCH + 1);
    int n = torc_session_take(session, taken, max);
    expect(n <= (int)max);
    for (int i = 0; i < n; i++) {
        expect(taken[i].len >= TORC_MESSAGE_HEAD_BYTES && taken[i].len <= LONG_MAX);
        expect(taken[i].data[0] != TORC_OP_PUT && taken[i].data[0] != TORC_OP_FETCH);
        /* Each byte is there to be read. */
        uint8_t sum = 0;
        for (uint32_t k = 0; k < taken[i].len; k++) {
            sum = (uint8_t)(sum + taken[i].data[k]);
        }
        (void)sum;
    }
    return n;
}

static int reply(struct torc_session *session, struct input *input)
{
    static uint8_t message[LONG_MAX + 100];
    size_t len = read_number(input, 2) % sizeof message;
    torc_ring_message_fill(message, torc_max_u64(len, TORC_MESSAGE_HEAD_BYTES), TORC_OP_HGET, 1);
    int result = torc_session_reply(session, message, len);
    expect(result == 0 || result == -EAGAIN || result == -EINVAL || result == -EMSGSIZE ||
           result == -EBADMSG);
    expect(result != -EAGAIN || len > TORC_SLOT_MESSAGE);
    return result;
}

/* One operation. False: a rule was broken, the session is at its end. */
static bool step(struct torc_session *session, struct input *input)
{
    int result = 0;
    switch (read_number(input, 1) % 8) {
    case 0:
        write_slot(session, input, true, 0);
        break;
    case 1: /* the next request of this slot, if its reply is there */
        write_slot(session, input, false, 1);
        break;
    case 2: /* the same request again, if its reply is there: a part of a long message */
        write_slot(session, input, false, UINT32_MAX);
        break;
    case 3:
        write_area(session, input);
        break;
    case 4:
        atomic_store_explicit(&session->request_lines->consumed, read_number(input, 8),
                              memory_order_release);
        break;
    case 5:
        result = take(session, input);
        break;
    case 6:
        result = reply(session, input);
        break;
    default:
        (void)torc_session_is_ready(session);
        result = torc_session_reply_room(session, read_number(input, 2));
        torc_session_wake(session);
        break;
    }
    return result != -EBADMSG;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct torc_session_options options = torc_ring_pair_options(SLOTS, AREA, LONG_MAX);
    struct torc_ring_pair pair = torc_ring_pair_make(&options, 0, TORC_WAIT_YIELD, 0);
    struct input input = {.data = data, .left = size};
    bool goes_on = true;
    while (goes_on && input.left > 0) {
        goes_on = step(pair.session, &input);
        expect(torc_session_check(pair.session));
    }
    if (!goes_on) {
        struct torc_taken taken;
        expect(torc_session_is_ready(pair.session));
        expect(torc_session_take(pair.session, &taken, 1) == -EBADMSG);
        expect(torc_session_counters(pair.session)->broken_rules == 1);
    }
    torc_ring_pair_free(&pair);
    return 0;
}
