/* SPDX-License-Identifier: Apache-2.0
 *
 * A session whose client is another process that rewrites everything it can, all the time: slots,
 * request area, public words, mostly with values that are nearly right, so that they get far. The
 * server must stay inside its bounds (the sanitizers watch), must never see a taken request change,
 * and must end each session at its first broken rule.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/prng.h"
#include "tests/support/ring_pair.h"

#define SLOTS      8u
#define AREA       4096u
#define LONG_MAX   12000u
#define VISITS_MAX 3000u

static _Noreturn void fail(uint64_t seed, uint64_t round, const char *what)
{
    (void)fprintf(stderr, "FAILED in round %llu of TORC_SEED=%llu: %s\n", (unsigned long long)round,
                  (unsigned long long)seed, what);
    exit(EXIT_FAILURE);
}

/* --- the client --- */

static void fill(struct torc_prng *prng, uint8_t *bytes, size_t len)
{
    static const uint8_t bad_ops[] = {TORC_OP_PUT, TORC_OP_FETCH};
    for (size_t i = 0; i + 8 <= len; i += 8) {
        torc_store_u64(bytes + i, torc_prng_next(prng));
    }
    bytes[0] = TORC_OP_HGET;
    if (torc_prng_below(prng, 2000) == 0) {
        bytes[0] = bad_ops[torc_prng_below(prng, sizeof bad_ops)]; /* and the rest is not */
    }
}

/* Once in a while, another number. */
static uint64_t nearly(struct torc_prng *prng, uint64_t number)
{
    return torc_prng_below(prng, 200) != 0 ? number : number + torc_prng_below(prng, 3) - 1;
}

/* What this client knows of the long messages in its slots. */
struct parts {
    uint64_t put_total, put_sent;
    uint64_t fetch_id, fetch_total;
};

static uint16_t fill_put(struct torc_prng *prng, uint8_t *bytes, struct parts *parts)
{
    static uint8_t part_bytes[30] = {TORC_OP_HSET};
    uint64_t left = parts->put_total - parts->put_sent;
    struct torc_slice part =
        torc_slice_of(part_bytes, torc_min_u64(left, 1 + torc_prng_below(prng, 30)));
    const uint64_t numbers[] = {nearly(prng, parts->put_total), nearly(prng, parts->put_sent)};
    parts->put_sent += part.len;
    return (uint16_t)torc_request_encode(bytes, TORC_OP_PUT, 1, numbers, &part, 1);
}

static uint16_t fill_fetch(struct torc_prng *prng, uint8_t *bytes, struct parts *parts)
{
    uint64_t offset = torc_prng_below(prng, 4) == 0 ? parts->fetch_total
                                                    : torc_prng_below(prng, parts->fetch_total);
    const uint64_t numbers[] = {nearly(prng, parts->fetch_id), nearly(prng, offset)};
    return (uint16_t)torc_request_encode(bytes, TORC_OP_FETCH, 1, numbers, NULL, 0);
}

/* The reply in a slot asks for more: go on with it. 0: it does not. */
static uint16_t fill_next_part(struct torc_prng *prng, struct torc_session *session,
                               struct torc_slot *slot, struct parts *parts)
{
    uint64_t control = atomic_load_explicit(&slot->control, memory_order_acquire);
    const uint8_t *reply = slot->message;
    if (torc_control_kind(control) == TORC_SLOT_AREA) {
        struct torc_descriptor descriptor;
        memcpy(&descriptor, slot->message, sizeof descriptor);
        if (!torc_descriptor_is_valid(descriptor, AREA)) {
            return 0;
        }
        reply = session->reply_area.bytes + descriptor.offset;
    }
    unsigned kind = reply[1] >> 4;
    if (reply[0] == TORC_OP_PUT && kind == TORC_REPLY_OK && parts->put_sent < parts->put_total) {
        return fill_put(prng, slot->message, parts);
    }
    if (kind == TORC_REPLY_LONG) {
        parts->fetch_total = torc_load_u64(reply + 8);
        parts->fetch_id = torc_load_u64(reply + 16);
    }
    if ((kind == TORC_REPLY_LONG || kind == TORC_REPLY_PART) && parts->fetch_total > 0) {
        bool is_last = kind == TORC_REPLY_PART && torc_prng_below(prng, 3) == 0;
        uint16_t len = fill_fetch(prng, slot->message, parts);
        parts->fetch_total = is_last ? 0 : parts->fetch_total;
        return len;
    }
    return 0;
}

/* Count the area reply in a slot as read, as an honest client would nearly do. */
static void consume(struct torc_prng *prng, struct torc_session *session, struct torc_slot *slot,
                    uint64_t *consumed)
{
    struct torc_descriptor descriptor;
    memcpy(&descriptor, slot->message, sizeof descriptor);
    uint64_t start = (*consumed & ~(uint64_t)(AREA - 1)) + descriptor.offset;
    if (start < *consumed) {
        start += AREA;
    }
    *consumed = torc_area_end(start, descriptor.length);
    atomic_store_explicit(&session->request_lines->consumed, nearly(prng, *consumed),
                          memory_order_release);
}

/* Change what the server may be reading just now, but not so that it must end the session. */
static void scribble(struct torc_prng *prng, struct torc_session *session, struct torc_slot *slot)
{
    uint8_t *area = (uint8_t *)session->request_map + TORC_AREA_LINES_BYTES;
    bool is_part = slot->message[0] == TORC_OP_PUT || slot->message[0] == TORC_OP_FETCH;
    if (is_part && torc_prng_below(prng, 5000) != 0) {
        return;
    }
    switch (torc_prng_below(prng, 3)) {
    case 0:
        fill(prng, area + 64 * torc_prng_below(prng, 32), 512);
        break;
    case 1:
        fill(prng, slot->message + 8, TORC_SLOT_MESSAGE - 8);
        break;
    default:
        atomic_store_explicit(&session->request_lines->sleeping, (uint32_t)torc_prng_next(prng),
                              memory_order_seq_cst);
        break;
    }
}

static void mutate(struct torc_prng *prng, struct torc_session *session, struct parts parts[SLOTS],
                   uint64_t *consumed)
{
    uint64_t index = torc_prng_below(prng, SLOTS);
    struct torc_slot *slot = &session->slots[index];
    uint8_t *area = (uint8_t *)session->request_map + TORC_AREA_LINES_BYTES;
    uint64_t control = atomic_load_explicit(&slot->control, memory_order_acquire);
    uint32_t turn = torc_control_turn(control);
    if (turn % 2 == 0) {
        scribble(prng, session, slot); /* it is the server's turn */
        return;
    }
    if (torc_control_kind(control) == TORC_SLOT_AREA) {
        consume(prng, session, slot, consumed);
    }
    uint16_t len = fill_next_part(prng, session, slot, &parts[index]);
    enum torc_slot_kind kind = TORC_SLOT_INLINE;
    if (len > 0) {
        turn -= 2; /* the request of this lap again */
    } else if (torc_prng_below(prng, 4) == 0) {
        /* Mostly inside the area. */
        struct torc_descriptor descriptor = {(uint32_t)torc_prng_below(prng, AREA - 250),
                                             (uint32_t)(8 + torc_prng_below(prng, 250))};
        fill(prng, area + descriptor.offset, 8);
        memcpy(slot->message, &descriptor, sizeof descriptor);
        kind = TORC_SLOT_AREA;
        len = sizeof descriptor;
    } else if (torc_prng_below(prng, 8) == 0) {
        parts[index].put_sent = 0;
        parts[index].put_total = 20 + torc_prng_below(prng, 60);
        len = fill_put(prng, slot->message, &parts[index]);
    } else {
        fill(prng, slot->message, TORC_SLOT_MESSAGE);
        len = (uint16_t)nearly(prng, 8 + torc_prng_below(prng, 49));
    }
    uint64_t request = torc_control_make(turn + 1, len, kind);
    atomic_store_explicit(&slot->control, request, memory_order_release);
    switch (torc_prng_below(prng, 400)) { /* and then it is not */
    case 0:
        fill(prng, slot->message, TORC_SLOT_MESSAGE);
        break;
    case 1:
        atomic_store_explicit(&slot->control, request ^ 1ull << torc_prng_below(prng, 64),
                              memory_order_release);
        break;
    case 2:
        atomic_store_explicit(&slot->control, torc_control_make(turn + 3, len, kind),
                              memory_order_release);
        break;
    default:
        break;
    }
}

static _Noreturn void be_hostile(struct torc_session *session, uint64_t seed)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct torc_prng prng = {.state = seed};
    static struct parts parts[SLOTS];
    uint64_t consumed = 0;
    for (;;) {
        mutate(&prng, session, parts, &consumed);
    }
}

/* --- the server --- */

struct sum {
    uint64_t taken, answered, stalled, broken;
};

/* One visit; false when the session is at its end. */
static bool visit(struct torc_session *session, struct torc_prng *prng, struct sum *sum,
                  uint64_t seed, uint64_t round)
{
    static uint8_t before[TORC_SESSION_BATCH][LONG_MAX];
    static uint8_t reply[LONG_MAX];
    struct torc_taken taken[TORC_SESSION_BATCH];
    struct torc_taken again[TORC_SESSION_BATCH];
    int n = torc_session_take(session, taken, TORC_SESSION_BATCH);
    if (n == -EBADMSG) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (taken[i].len < TORC_MESSAGE_HEAD_BYTES || taken[i].len > LONG_MAX) {
            fail(seed, round, "a length out of bounds");
        }
        memcpy(before[i], taken[i].data, taken[i].len);
    }
    (void)sched_yield();
    int n_again = torc_session_take(session, again, TORC_SESSION_BATCH);
    if (n_again == -EBADMSG) {
        return false; /* a part of a long reply was asked for wrongly in between */
    }
    for (int i = 0; i < n; i++) {
        if (n_again != n || again[i].len != taken[i].len ||
            memcmp(before[i], again[i].data, taken[i].len) != 0) {
            fail(seed, round, "a taken request has changed");
        }
    }
    sum->taken += (uint64_t)n;
    for (int i = 0; i < n_again; i++) {
        uint32_t len =
            8 + (uint32_t)torc_prng_below(prng, torc_prng_below(prng, 8) == 0 ? LONG_MAX - 8 : 100);
        torc_ring_message_fill(reply, len, TORC_OP_HGET, 1);
        int result = torc_session_reply(session, reply, len);
        if (result == -EBADMSG) {
            return false;
        }
        if (result == -EAGAIN) {
            /* This client reads nothing in good order: answer briefly. */
            sum->stalled++;
            result = torc_session_reply(session, reply, TORC_MESSAGE_HEAD_BYTES);
        }
        if (result != 0) {
            fail(seed, round, "reply failed");
        }
        sum->answered++;
    }
    torc_session_wake(session);
    return true;
}

static void one_round(uint64_t seed, uint64_t round, struct sum *sum)
{
    struct torc_session_options options = torc_ring_pair_options(SLOTS, AREA, LONG_MAX);
    struct torc_ring_pair pair = torc_ring_pair_make(&options, 0, TORC_WAIT_YIELD, 0);
    pid_t client = fork();
    if (client < 0) {
        fail(seed, round, "no process");
    }
    if (client == 0) {
        be_hostile(pair.session, seed * 1000003 + round);
    }
    struct torc_prng prng = {.state = seed + round};
    bool goes_on = true;
    for (unsigned i = 0; i < VISITS_MAX && goes_on; i++) {
        if (!torc_session_is_ready(pair.session)) {
            (void)sched_yield();
            continue;
        }
        goes_on = visit(pair.session, &prng, sum, seed, round);
        if (!torc_session_check(pair.session)) {
            fail(seed, round, "the session's invariants");
        }
    }
    sum->broken += !goes_on;
    if (!goes_on && torc_session_counters(pair.session)->broken_rules != 1) {
        fail(seed, round, "the end was not counted");
    }
    (void)kill(client, SIGKILL);
    if (waitpid(client, NULL, 0) != client) {
        fail(seed, round, "the client is lost");
    }
    torc_ring_pair_free(&pair);
}

int main(void)
{
    uint64_t seed = torc_test_seed(11);
    printf("\n");
    (void)fflush(stdout);
    uint64_t rounds = torc_test_ops(60);
    struct sum sum = {0};
    for (uint64_t round = 0; round < rounds; round++) {
        one_round(seed, round, &sum);
    }
    printf("%llu sessions, %llu broken; %llu requests taken, %llu answered, %llu stalls\n",
           (unsigned long long)rounds, (unsigned long long)sum.broken,
           (unsigned long long)sum.taken, (unsigned long long)sum.answered,
           (unsigned long long)sum.stalled);
    if (rounds >= 50 && (sum.broken == 0 || sum.taken < rounds)) {
        fail(seed, rounds, "the client did not get far enough to test anything");
    }
    return EXIT_SUCCESS;
}
