/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves of a ring in two threads over one mapping: each request is echoed with a length of
 * its own, everything is verified on both sides. Pauses of random length make each side sleep at
 * any moment, and for some requests the other side waits until it does. Neither side has a time
 * limit on its sleep here, so a lost wake-up does not hide as a delay: the run ends by SIGALRM.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "tests/support/prng.h"
#include "tests/support/ring_pair.h"

#define SECONDS_MAX  100u
#define AREA_BYTES   16384u
#define LONG_MAX     40000u
#define IDLE_LOOKS   4u
#define PAUSE_NS_MAX 40000u
#define SLEEP_EVERY  16u /* for so many requests, each side waits until the other sleeps */

struct scene {
    const char *name;
    enum torc_wait_mode wait;
    uint64_t spin_ns;
    uint32_t slots;
    unsigned depth;      /* requests in flight */
    bool is_symmetric;   /* no membarrier */
    bool server_sleeps;  /* else it yields */
    bool has_sleeps;     /* both sides are absent now and then */
    bool has_large_ones; /* sizes beyond the slot and beyond the area */
    unsigned share;      /* of TORC_OPS, percent */
};

struct run {
    const struct scene *scene;
    struct torc_ring_pair pair;
    uint64_t n_requests;
    uint64_t seed;
    _Atomic bool is_over;
    uint64_t server_sleeps; /* by the server's thread */
};

static _Noreturn void fail(const struct run *run, const char *what, uint64_t n)
{
    (void)fprintf(stderr, "FAILED in scene '%s', seed %llu, request %llu: %s\n", run->scene->name,
                  (unsigned long long)run->seed, (unsigned long long)n, what);
    exit(EXIT_FAILURE);
}

/* Lengths follow from the request's number, so that both sides know them. */
static uint32_t length_of(const struct run *run, uint32_t tag, uint32_t salt)
{
    struct torc_prng prng = {.state = ((uint64_t)tag << 8) + salt};
    uint64_t kind = torc_prng_below(&prng, 64);
    if (!run->scene->has_large_ones || kind < 44) {
        return 8 + (uint32_t)torc_prng_below(&prng, TORC_SLOT_MESSAGE - 7);
    }
    if (kind < 63) {
        return 8 + (uint32_t)torc_prng_below(&prng, AREA_BYTES / 4 - 7);
    }
    return AREA_BYTES / 4 + 1 + (uint32_t)torc_prng_below(&prng, LONG_MAX - AREA_BYTES / 4);
}

/* Be absent, without giving the kernel a time to wake us. */
static void pause_randomly(struct torc_prng *prng)
{
    if (torc_prng_below(prng, 4) != 0) {
        return;
    }
    uint64_t until = torc_clock_monotonic_ns() + torc_prng_below(prng, PAUSE_NS_MAX);
    while (torc_clock_monotonic_ns() < until) {
        (void)sched_yield();
    }
}

static bool waits_for_sleep(const struct run *run, uint64_t n)
{
    return run->scene->has_sleeps && n % SLEEP_EVERY == 0;
}

/* The other side will sleep, for it has nothing else to do. */
static void await_sleep(_Atomic uint32_t *sleeping)
{
    while (atomic_load_explicit(sleeping, memory_order_relaxed) == 0) {
        (void)sched_yield();
    }
}

/* --- server --- */

static void sleep_until_rung(struct run *run)
{
    struct torc_session *session = run->pair.session;
    torc_session_set_sleeping(session, true);
    if (!torc_session_is_ready(session) &&
        !atomic_load_explicit(&run->is_over, memory_order_seq_cst)) {
        struct pollfd doorbell = {.fd = torc_session_fd(session, TORC_FD_DOORBELL),
                                  .events = POLLIN};
        run->server_sleeps++;
        if (poll(&doorbell, 1, -1) == 1) {
            torc_session_count_doorbell(session);
            uint64_t rings; /* a test may read it: its client is honest */
            if (read(doorbell.fd, &rings, sizeof rings) != (ssize_t)sizeof rings) {
                fail(run, "the doorbell does not read", 0);
            }
        }
    }
    torc_session_set_sleeping(session, false);
}

static void *serve(void *argument)
{
    struct run *run = argument;
    struct torc_session *session = run->pair.session;
    struct torc_prng prng = {.state = run->seed + 1};
    static uint8_t message[LONG_MAX];
    uint64_t n_served = 0;
    unsigned idle = 0;
    while (!atomic_load_explicit(&run->is_over, memory_order_relaxed)) {
        if (!torc_session_is_ready(session)) {
            if (!run->scene->has_sleeps || ++idle < IDLE_LOOKS) {
                (void)sched_yield();
            } else {
                sleep_until_rung(run);
                idle = 0;
            }
            continue;
        }
        idle = 0;
        struct torc_taken taken[TORC_SESSION_BATCH];
        int n = torc_session_take(session, taken, TORC_SESSION_BATCH);
        if (n < 0) {
            fail(run, "take says that a rule was broken", n_served);
        }
        for (int i = 0; i < n; i++) {
            uint32_t tag = (uint32_t)n_served;
            if (!torc_ring_message_is(torc_slice_of(taken[i].data, taken[i].len),
                                      length_of(run, tag, 1), TORC_OP_HSET, tag)) {
                fail(run, "the request is not what was sent", n_served);
            }
            uint32_t len = length_of(run, tag, 2);
            torc_ring_message_fill(message, len, TORC_OP_HSET, tag);
            torc_session_wake(session);
            if (waits_for_sleep(run, n_served)) {
                await_sleep(&session->request_lines->sleeping);
            }
            int result = torc_session_reply(session, message, len);
            if (result == -EAGAIN) {
                break;
            }
            if (result != 0) {
                fail(run, "reply failed", n_served);
            }
            n_served++;
        }
        torc_session_wake(session);
        if (run->scene->has_sleeps) {
            pause_randomly(&prng);
        }
    }
    return NULL;
}

/* --- client --- */

static bool submit(struct run *run, uint64_t n)
{
    uint32_t tag = (uint32_t)n;
    uint32_t len = length_of(run, tag, 1);
    int error = 0;
    uint8_t *to = torc_attachment_reserve(run->pair.attachment, len, &error);
    if (to == NULL) {
        if (error != -EAGAIN) {
            fail(run, "reserve failed", n);
        }
        return false;
    }
    torc_ring_message_fill(to, len, TORC_OP_HSET, tag);
    if (waits_for_sleep(run, n)) {
        await_sleep(&run->pair.session->reply_lines->sleeping);
    }
    if (torc_attachment_commit(run->pair.attachment, len, 0) != 0) {
        fail(run, "commit failed", n);
    }
    return true;
}

static void run_client(struct run *run)
{
    struct torc_attachment *attachment = run->pair.attachment;
    struct torc_prng prng = {.state = run->seed};
    uint64_t n_sent = 0;
    for (uint64_t n_seen = 0; n_seen < run->n_requests; n_seen++) {
        while (n_sent < run->n_requests && n_sent - n_seen < run->scene->depth &&
               submit(run, n_sent)) {
            n_sent++;
        }
        struct torc_slice reply;
        if (torc_attachment_wait(attachment, 0, &reply) != 0) {
            fail(run, "wait failed", n_seen);
        }
        uint32_t tag = (uint32_t)n_seen;
        if (!torc_ring_message_is(reply, length_of(run, tag, 2), TORC_OP_HSET, tag)) {
            fail(run, "the reply is not what was answered", n_seen);
        }
        torc_attachment_consume(attachment);
        if (run->scene->has_sleeps) {
            pause_randomly(&prng);
        }
    }
}

static void play(const struct scene *scene, uint64_t n_requests, uint64_t seed)
{
    struct run run = {.scene = scene, .n_requests = n_requests, .seed = seed};
    struct torc_session_options options =
        torc_ring_pair_options(scene->slots, AREA_BYTES, LONG_MAX);
    if (scene->is_symmetric) {
        options.features = 0;
    }
    run.pair = torc_ring_pair_make(&options, 0, scene->wait, scene->spin_ns);
    run.pair.attachment->sleep_ns_max = SECONDS_MAX * 2000000000ull;
    pthread_t server;
    if (pthread_create(&server, NULL, serve, &run) != 0) {
        fail(&run, "no thread", 0);
    }
    run_client(&run);
    atomic_store_explicit(&run.is_over, true, memory_order_seq_cst);
    uint64_t one = 1;
    if (write(torc_session_fd(run.pair.session, TORC_FD_DOORBELL), &one, sizeof one) !=
        (ssize_t)sizeof one) {
        fail(&run, "the doorbell does not ring", 0);
    }
    (void)pthread_join(server, NULL);
    const struct torc_session_counters *c = torc_session_counters(run.pair.session);
    printf("%-28s %7llu requests, %llu wakes, %llu server sleeps, %llu doorbells, %llu stalls, "
           "%llu long requests, %llu long replies\n",
           scene->name, (unsigned long long)c->requests, (unsigned long long)c->wakes,
           (unsigned long long)run.server_sleeps, (unsigned long long)c->doorbells,
           (unsigned long long)c->stalls, (unsigned long long)c->long_requests,
           (unsigned long long)c->long_replies);
    (void)fflush(stdout);
    if (c->requests != n_requests || c->replies != n_requests ||
        !torc_session_check(run.pair.session) || !torc_attachment_check(run.pair.attachment)) {
        fail(&run, "the state at the end", n_requests);
    }
    if (scene->has_sleeps && (c->wakes < n_requests / SLEEP_EVERY / 2 || c->doorbells == 0)) {
        fail(&run, "the sleepers did not sleep", n_requests);
    }
    torc_ring_pair_free(&run.pair);
}

int main(void)
{
    static const struct scene scenes[] = {
        {.name = "yield, one outstanding",
         .wait = TORC_WAIT_YIELD,
         .slots = 2,
         .depth = 1,
         .share = 100},
        {.name = "yield, pipeline",
         .wait = TORC_WAIT_YIELD,
         .slots = 64,
         .depth = 64,
         .share = 200},
        {.name = "yield, all sizes",
         .wait = TORC_WAIT_YIELD,
         .slots = 16,
         .depth = 16,
         .has_large_ones = true,
         .share = 50},
        {.name = "sleep both, one outstanding",
         .spin_ns = 1,
         .slots = 4,
         .depth = 1,
         .has_sleeps = true,
         .share = 50},
        {.name = "sleep both, symmetric",
         .spin_ns = 1,
         .slots = 4,
         .depth = 1,
         .is_symmetric = true,
         .has_sleeps = true,
         .share = 50},
        {.name = "sleep both, all sizes",
         .spin_ns = 2000,
         .slots = 8,
         .depth = 6,
         .has_sleeps = true,
         .has_large_ones = true,
         .share = 40},
    };
    (void)alarm(SECONDS_MAX);
    uint64_t seed = torc_test_seed(7);
    printf("\n");
    uint64_t n = torc_test_ops(20000);
    for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        play(&scenes[i], n * scenes[i].share / 100, seed + i);
    }
    return EXIT_SUCCESS;
}
