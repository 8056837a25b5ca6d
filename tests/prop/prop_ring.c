/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves of a ring in one thread, against a queue: random message sizes from the least to many
 * parts, random interleaving, small slots and areas, so that wraps, stalls, pushes and pulls all
 * happen; now and then there is no memory for a long one. Every request must come out of the
 * session once, whole and in order; every reply likewise out of the attachment; and when both sides
 * only go on, everything must come to its end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/failing_malloc.h"
#include "tests/support/prng.h"
#include "tests/support/ring_pair.h"

#define OUTSTANDING_MAX 64u
#define MESSAGE_MAX     40000u
#define DRAIN_STEPS     200000u

/* What is known of one request in flight. */
struct expected {
    uint32_t tag;
    uint32_t request_len;
    uint32_t reply_len; /* 0: not answered yet */
    bool is_pushed;
    bool is_refused; /* by the session, for want of memory: nobody takes it */
};

struct run {
    struct torc_prng prng;
    uint64_t seed;
    uint64_t step;
    struct torc_ring_pair pair;
    uint32_t slots;
    uint32_t area;
    uint64_t long_max;
    /* Ring of requests in flight: seen < answered < sent. */
    struct expected queue[OUTSTANDING_MAX];
    uint64_t n_sent, n_answered, n_seen, n_refused, n_given_up;
    struct torc_session_counters total; /* of all rounds */
    uint8_t scratch[MESSAGE_MAX];
};

static _Noreturn void fail(const struct run *run, const char *what)
{
    (void)fprintf(stderr, "FAILED at step %llu of TORC_SEED=%llu: %s\n",
                  (unsigned long long)run->step, (unsigned long long)run->seed, what);
    exit(EXIT_FAILURE);
}

static void expect(const struct run *run, bool claim, const char *what)
{
    if (!claim) {
        fail(run, what);
    }
}

static struct expected *at(struct run *run, uint64_t n)
{
    return &run->queue[n % OUTSTANDING_MAX];
}

/* Once in a while there is no memory. */
static void arm(struct run *run)
{
    torc_malloc_fail_at(torc_prng_below(&run->prng, 4) == 0);
}

static bool disarm(void)
{
    bool has_failed = torc_malloc_has_failed();
    torc_malloc_fail_at(0);
    return has_failed;
}

/* The oldest request that the session has neither refused nor answered. */
static struct expected *next_unanswered(struct run *run)
{
    while (run->n_answered < run->n_sent && at(run, run->n_answered)->is_refused) {
        run->n_answered++;
    }
    return at(run, run->n_answered);
}

/* Mostly small, often around the borders where a message changes its way. */
static uint32_t random_len(struct run *run)
{
    static const uint32_t borders[] = {TORC_MESSAGE_HEAD_BYTES, TORC_SLOT_MESSAGE, 64, 128};
    uint64_t kind = torc_prng_below(&run->prng, 16);
    uint32_t quarter = torc_area_message_max(run->area);
    uint64_t len;
    if (kind < 6) {
        len = 8 + torc_prng_below(&run->prng, TORC_SLOT_MESSAGE - 7);
    } else if (kind < 11) {
        len = 8 + torc_prng_below(&run->prng, quarter);
    } else if (kind < 13) {
        len = borders[torc_prng_below(&run->prng, 4)] + torc_prng_below(&run->prng, 3);
    } else if (kind < 15) {
        len = quarter - 1 + torc_prng_below(&run->prng, 3);
    } else {
        len = quarter + 1 + torc_prng_below(&run->prng, run->long_max - quarter);
    }
    return (uint32_t)torc_min_u64(len, torc_max_u64(run->long_max, quarter));
}

static void submit(struct run *run)
{
    uint32_t len = random_len(run);
    uint32_t reserved = len + (torc_prng_below(&run->prng, 4) == 0 ? 3 : 0);
    reserved = (uint32_t)torc_min_u64(
        reserved, torc_max_u64(run->long_max, torc_area_message_max(run->area)));
    int error = 0;
    arm(run);
    uint8_t *to = torc_attachment_reserve(run->pair.attachment, reserved, &error);
    bool has_failed = disarm();
    if (to == NULL) {
        expect(run, error == -EAGAIN || (error == -ENOMEM && has_failed), "reserve failed");
        expect(run,
               reserved > TORC_SLOT_MESSAGE || run->n_sent - run->n_seen >= run->slots ||
                   run->pair.attachment->pull.state == TORC_PULL_GIVEN_UP,
               "no room for a small message though a slot is free");
        return;
    }
    uint32_t tag = (uint32_t)run->n_sent;
    torc_ring_message_fill(to, len, TORC_OP_HGET, tag);
    bool waits = reserved > torc_area_message_max(run->area) && run->n_sent == run->n_seen;
    *at(run, run->n_sent) = (struct expected){
        .tag = tag,
        .request_len = len,
        .is_pushed = reserved > torc_area_message_max(run->area),
    };
    run->n_sent++;
    /* One thread is both sides: a deadline in the past, so that a push does not wait for the
     * server. */
    int result = torc_attachment_commit(run->pair.attachment, len, 1);
    expect(run, result == 0 || (waits && result == -ETIMEDOUT), "commit failed");
}

/* See at most one reply. True: something moved. */
static bool collect(struct run *run)
{
    struct torc_slice message;
    arm(run);
    int result = torc_attachment_peek(run->pair.attachment, &message);
    bool has_failed = disarm();
    if (result == -ENOENT) {
        expect(run, run->n_sent == run->n_seen, "replies are missing");
        return false;
    }
    if (result == -EAGAIN) {
        return false;
    }
    if (result == -ENOMEM) {
        expect(run, has_failed, "no memory, though there was");
        if (torc_prng_below(&run->prng, 2) == 0) {
            torc_attachment_consume(run->pair.attachment); /* give it up; else try again */
            run->n_seen++;
            run->n_given_up++;
        }
        return true;
    }
    expect(run, result == 0, "peek failed");
    struct expected *e = at(run, run->n_seen);
    if (message.data[0] == TORC_OP_PUT) {
        struct torc_reply reply;
        expect(run,
               torc_reply_decode(message.data, message.len, &reply) == 0 &&
                   reply.status == TORC_WIRE_OUT_OF_MEMORY && reply.tag == e->tag && e->is_pushed &&
                   e->reply_len == 0,
               "a refusal of something else");
        e->is_refused = true;
        run->n_refused++;
        (void)next_unanswered(run);
    } else {
        (void)next_unanswered(run);
        expect(run, run->n_seen < run->n_answered, "a reply before its answer");
        expect(run, torc_ring_message_is(message, e->reply_len, TORC_OP_HGET, e->tag),
               "the reply is not what was answered");
    }
    struct torc_slice again;
    expect(run,
           torc_attachment_peek(run->pair.attachment, &again) == 0 && again.data == message.data &&
               again.len == message.len,
           "a second peek gives something else");
    torc_attachment_consume(run->pair.attachment);
    run->n_seen++;
    return true;
}

/* One visit: take, answer some. */
static void visit(struct run *run)
{
    struct torc_session *session = run->pair.session;
    struct torc_taken taken[TORC_SESSION_BATCH];
    bool is_ready = torc_session_is_ready(session);
    unsigned max = 1 + (unsigned)torc_prng_below(&run->prng, TORC_SESSION_BATCH);
    arm(run);
    int n = torc_session_take(session, taken, max);
    (void)disarm();
    expect(run, n >= 0, "take says that a rule was broken");
    expect(run, (unsigned)n <= max, "more than asked for");
    expect(run, is_ready || n == 0 || session->stall != TORC_STALL_NONE,
           "a request that the look did not show");
    unsigned n_answers = n > 0 ? (unsigned)torc_prng_below(&run->prng, (uint64_t)n + 1) : 0;
    (void)next_unanswered(run);
    uint64_t index = run->n_answered;
    for (unsigned i = 0; i < (unsigned)n; i++, index++) {
        struct torc_slice request = torc_slice_of(taken[i].data, taken[i].len);
        struct expected *e;
        for (;; index++) {
            expect(run, index < run->n_sent, "a request that nobody sent, or for the second time");
            e = at(run, index);
            if (e->is_refused || (e->is_pushed && torc_load_u32(request.data + 4) != e->tag)) {
                e->is_refused = true; /* its reply must say so, see collect() */
                continue;
            }
            break;
        }
        expect(run, torc_ring_message_is(request, e->request_len, TORC_OP_HGET, e->tag),
               "the request is not what was sent");
    }
    for (unsigned i = 0; i < n_answers; i++) {
        struct expected *e = next_unanswered(run);
        uint32_t len = random_len(run);
        if (torc_prng_below(&run->prng, 2) == 0) {
            int room = torc_session_reply_room(session, len);
            if (room == -EAGAIN) {
                break;
            }
            expect(run, room == 0, "room");
        }
        torc_ring_message_fill(run->scratch, len, TORC_OP_HGET, e->tag);
        arm(run);
        int result = torc_session_reply(session, run->scratch, len);
        bool has_failed = disarm();
        if (result == -ENOMEM) {
            expect(run, has_failed, "no memory, though there was");
            break;
        }
        if (result == -EAGAIN) {
            expect(run, len > TORC_SLOT_MESSAGE, "no room for a small reply");
            break;
        }
        expect(run, result == 0, "reply failed");
        e->reply_len = len;
        run->n_answered++;
    }
    if (torc_prng_below(&run->prng, 2) == 0) {
        torc_session_wake(session);
    }
}

static void check(struct run *run)
{
    expect(run, torc_session_check(run->pair.session), "the session's invariants");
    expect(run, torc_attachment_check(run->pair.attachment), "the attachment's invariants");
    expect(run, torc_attachment_outstanding(run->pair.attachment) == run->n_sent - run->n_seen,
           "the count of outstanding requests");
}

static void one_round(struct run *run, uint64_t n_steps)
{
    static const uint64_t starts[] = {0, 5, (1ull << 31) - 3, (1ull << 32) - 3, (1ull << 40) - 1};
    static const uint32_t areas[] = {4096, 8192, 32768};
    run->slots = 2u << torc_prng_below(&run->prng, 5);
    run->area = areas[torc_prng_below(&run->prng, 3)];
    run->long_max = torc_prng_below(&run->prng, 4) == 0 ? run->area / 4 + 100 : MESSAGE_MAX - 8;
    /* Laps, not positions, are what wraps. */
    uint64_t start = starts[torc_prng_below(&run->prng, 5)];
    start *= torc_prng_below(&run->prng, 2) == 0 ? run->slots : 1;
    struct torc_session_options options =
        torc_ring_pair_options(run->slots, run->area, run->long_max);
    options.features = torc_prng_below(&run->prng, 2) == 0 ? TORC_FEATURE_MEMBARRIER : 0;
    run->pair = torc_ring_pair_make(&options, start, TORC_WAIT_YIELD, 0);
    run->n_sent = run->n_answered = run->n_seen = 0;
    uint64_t refused_before = run->n_refused;

    /* How busy each side is changes from round to round. */
    uint64_t weights[3];
    for (unsigned i = 0; i < 3; i++) {
        weights[i] = 1 + torc_prng_below(&run->prng, 8);
    }
    for (uint64_t i = 0; i < n_steps; i++) {
        run->step++;
        uint64_t pick = torc_prng_below(&run->prng, weights[0] + weights[1] + weights[2]);
        if (pick < weights[0]) {
            submit(run);
        } else if (pick < weights[0] + weights[1]) {
            visit(run);
        } else {
            (void)collect(run);
        }
        check(run);
    }
    /* No more requests: all must come to its end. */
    for (uint64_t i = 0;
         run->n_seen < run->n_sent || run->pair.attachment->pull.state == TORC_PULL_GIVEN_UP; i++) {
        run->step++;
        expect(run, i < DRAIN_STEPS, "both sides go on and nothing moves");
        visit(run);
        (void)collect(run);
        check(run);
    }
    const struct torc_session_counters *counters = torc_session_counters(run->pair.session);
    uint64_t n_taken = run->n_sent - (run->n_refused - refused_before);
    expect(run, counters->requests == n_taken && counters->replies == n_taken, "the counters");
    run->total.stalls += counters->stalls;
    run->total.area_replies += counters->area_replies;
    run->total.area_requests += counters->area_requests;
    run->total.long_replies += counters->long_replies;
    run->total.long_requests += counters->long_requests;
    expect(run, !torc_session_is_ready(run->pair.session), "a look shows work where none is");
    torc_ring_pair_free(&run->pair);
}

int main(void)
{
    static struct run run;
    run.seed = torc_test_seed(20250301);
    run.prng.state = run.seed;
    uint64_t n = torc_test_ops(300000);
    const uint64_t per_round = 1500;
    for (uint64_t done = 0; done < n; done += per_round) {
        one_round(&run, torc_min_u64(per_round, n - done));
    }
    printf("%llu steps; area requests %llu, replies %llu; long requests %llu, replies %llu; "
           "stalls %llu; refused %llu, given up %llu\n",
           (unsigned long long)run.step, (unsigned long long)run.total.area_requests,
           (unsigned long long)run.total.area_replies, (unsigned long long)run.total.long_requests,
           (unsigned long long)run.total.long_replies, (unsigned long long)run.total.stalls,
           (unsigned long long)run.n_refused, (unsigned long long)run.n_given_up);
    bool all_happened = run.total.stalls > 0 && run.total.long_requests > 0 &&
                        run.total.long_replies > 0 && run.n_refused > 0 && run.n_given_up > 0;
    expect(&run, all_happened || run.step < 20000, "something never happened");
    return EXIT_SUCCESS;
}
