/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/load_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "perf/load/load_ahead.h"

#define AHEAD_BYTES_MAX (256u * TORC_MIB)
#define NS_EACH_LEAST   100u

/* A part of the stream: warm-up, timed part or winding up. */
struct part {
    uint64_t first; /* number of its first request in the stream */
    uint64_t requests;
    const struct torc_load_ahead *ahead; /* the first of them, made beforehand */
    bool is_timed;
    uint64_t end_ticks;   /* nothing is sent from here on; UINT64_MAX: no limit */
    uint64_t start_ticks; /* open loop: when request 0 is due */
    double ticks_each;    /* open loop: from one request to the next; 0: closed loop */
};

struct run {
    struct torc_load_ops *ops;
    struct torc_load_road *road;
    const struct torc_clock *clock;
    const struct torc_load_run_options *options;
    struct torc_load_outcome *outcome;

    /* Requests under way: [done, sent) of the part. [left, sent) are not sent yet, where requests
     * leave in batches. Those that were not made beforehand lie in a ring. */
    struct torc_load_flight *flights;
    uint64_t *sent_ticks;
    uint64_t mask;
    uint64_t sent;
    uint64_t left;
    uint64_t done;

    /* Request `sent` was made, but the road had no room yet. */
    bool is_pending;
    struct torc_load_request pending;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_open_loop(const struct part *part)
{
    return part->ticks_each > 0;
}

static uint64_t due_ticks(const struct part *part, uint64_t n)
{
    return part->start_ticks + (uint64_t)((double)n * part->ticks_each);
}

/* --- what ends a run --- */

static void note(struct run *run, const char *text)
{
    if (run->outcome->first_bad[0] == '\0') {
        (void)snprintf(run->outcome->first_bad, sizeof run->outcome->first_bad, "%s", text);
    }
}

/* The road failed. */
static int lose(struct run *run, int rc)
{
    const char *why = torc_load_road_error(run->road);
    note(run, why[0] != '\0' ? why : strerror(-rc));
    if (rc == -EINVAL) {
        run->outcome->errors++;
        run->outcome->end = TORC_LOAD_REFUSED;
    } else if (rc == -EBADMSG) {
        run->outcome->wrong++;
        run->outcome->end = TORC_LOAD_WRONG;
    } else {
        run->outcome->end = TORC_LOAD_LOST;
    }
    return rc;
}

/* --- sending --- */

/* The next request, made beforehand or now. */
static const struct torc_load_request *next_request(struct run *run, const struct part *part)
{
    if (run->sent < part->ahead->n) {
        return &part->ahead->requests[run->sent];
    }
    if (!run->is_pending) {
        torc_load_ops_make(run->ops, part->first + run->sent, &run->flights[run->sent & run->mask],
                           &run->pending);
        run->is_pending = true;
    }
    return &run->pending;
}

/* Submit the next request. 0; -EAGAIN no room; else the run is over. */
static int send_next(struct run *run, const struct part *part)
{
    const struct torc_load_request *request = next_request(run, part);
    uint64_t now = 0;
    if (is_open_loop(part)) {
        now = due_ticks(part, run->sent);
    } else if (!run->road->is_batched) {
        now = torc_clock_ticks(run->clock);
    }
    int rc = torc_load_road_submit(run->road, request);
    if (TORC_UNLIKELY(rc != 0)) {
        /* With nothing under way no reply can make room. */
        bool waits = rc == -EAGAIN && run->sent != run->done;
        return waits ? rc : lose(run, rc == -EAGAIN ? -EINVAL : rc);
    }
    run->sent_ticks[run->sent++ & run->mask] = now;
    run->is_pending = false;
    return 0;
}

/* Let the batch go, stamped with the time before it leaves. */
static int let_go(struct run *run, const struct part *part)
{
    if (!run->road->is_batched) {
        return 0;
    }
    if (run->left < run->sent && !is_open_loop(part)) {
        uint64_t now = torc_clock_ticks(run->clock);
        for (; run->left < run->sent; run->left++) {
            run->sent_ticks[run->left & run->mask] = now;
        }
    }
    run->left = run->sent;
    int rc = torc_load_road_flush(run->road);
    return rc == 0 ? 0 : lose(run, rc);
}

/* --- receiving --- */

/* Look at a reply and record its time. False ends the run. */
static bool take_reply(struct run *run, const struct part *part,
                       const struct torc_load_reply *reply)
{
    struct torc_load_outcome *outcome = run->outcome;
    uint64_t at = run->done++;
    const struct torc_load_flight *flight =
        at < part->ahead->n ? &part->ahead->flights[at] : &run->flights[at & run->mask];
    char text[TORC_LOAD_TEXT_BYTES];
    outcome->checked++;
    if (TORC_UNLIKELY(!torc_load_ops_check(run->ops, run->road, flight, reply, text))) {
        note(run, text);
        if (reply->kind == TORC_LOAD_ERROR) {
            outcome->errors++;
            outcome->end = TORC_LOAD_REFUSED;
            return false;
        }
        outcome->wrong++;
        outcome->end = TORC_LOAD_WRONG;
    }
    if (part->is_timed) {
        /* Rounding of the due time may put it behind the reply by a tick. */
        uint64_t sent = run->sent_ticks[at & run->mask];
        uint64_t read = run->road->read_ticks;
        uint64_t ns = read > sent ? torc_clock_ns(run->clock, read - sent) : 0;
        torc_histogram_add(&outcome->kinds[flight->kind], ns);
        outcome->requests++;
    }
    return true;
}

/* --- loops --- */

static bool may_send(const struct run *run, const struct part *part)
{
    return run->sent < part->requests && run->sent - run->done < run->options->window;
}

/* One reply, and what was sent before it has left. */
static int await_reply(struct run *run, const struct part *part, struct torc_load_reply *reply)
{
    if (run->road->is_batched) {
        int rc = torc_load_road_collect(run->road, TORC_LOAD_AT_HAND, reply);
        if (rc != -EAGAIN) {
            return rc == 0 ? 0 : lose(run, rc);
        }
        rc = let_go(run, part);
        if (rc != 0) {
            return rc;
        }
    }
    int rc = torc_load_road_collect(run->road, TORC_LOAD_WAIT, reply);
    return rc == 0 ? 0 : lose(run, rc);
}

static void run_closed(struct run *run, struct part *part)
{
    for (;;) {
        /* The time of the last reply tells whether there is time for more: one look less. */
        while (may_send(run, part)) {
            if (run->road->read_ticks >= part->end_ticks) {
                part->requests = run->sent;
                break;
            }
            int rc = send_next(run, part);
            if (rc == -EAGAIN) {
                break;
            }
            if (rc != 0) {
                return;
            }
        }
        if (run->done == run->sent) {
            return;
        }
        struct torc_load_reply reply;
        if (await_reply(run, part, &reply) != 0 || !take_reply(run, part, &reply)) {
            return;
        }
    }
}

/* Take all replies that came. 0; else the run is over. */
static int take_what_came(struct run *run, const struct part *part, uint64_t *last_reply_ticks)
{
    while (run->done != run->sent) {
        struct torc_load_reply reply;
        int rc = torc_load_road_collect(run->road, TORC_LOAD_LOOK, &reply);
        if (rc == -EAGAIN) {
            return 0;
        }
        if (rc != 0) {
            return lose(run, rc);
        }
        *last_reply_ticks = run->road->read_ticks;
        if (!take_reply(run, part, &reply)) {
            return -EINVAL;
        }
    }
    return 0;
}

static void run_open(struct run *run, struct part *part)
{
    uint64_t timeout_ticks = torc_clock_ticks_of_ns(run->clock, run->options->timeout_ns);
    uint64_t last_reply_ticks = part->start_ticks;
    while (run->done < part->requests) {
        uint64_t now = torc_clock_ticks(run->clock);
        while (may_send(run, part) && due_ticks(part, run->sent) <= now) {
            if (due_ticks(part, run->sent) >= part->end_ticks) {
                part->requests = run->sent;
                break;
            }
            int rc = send_next(run, part);
            if (rc == -EAGAIN) {
                break;
            }
            if (rc != 0) {
                return;
            }
        }
        if (run->done == run->sent) {
            last_reply_ticks = now; /* nothing is owed */
        }
        if (let_go(run, part) != 0 || take_what_came(run, part, &last_reply_ticks) != 0) {
            return;
        }
        if (run->done != run->sent && now > last_reply_ticks &&
            now - last_reply_ticks > timeout_ticks) {
            note(run, "no reply in time");
            run->outcome->end = TORC_LOAD_LOST;
            return;
        }
        if (run->options->yields) {
            (void)sched_yield();
        } else {
            __builtin_ia32_pause();
        }
    }
}

/* True: go on with the next part. */
static bool run_part(struct run *run, struct part *part)
{
    run->sent = run->left = run->done = 0;
    run->is_pending = false;
    part->start_ticks = torc_clock_ticks(run->clock);
    if (part->end_ticks != UINT64_MAX) {
        part->end_ticks += part->start_ticks;
    }
    run->road->read_ticks = part->start_ticks;
    uint64_t cpu = cpu_ns();
    if (is_open_loop(part)) {
        run_open(run, part);
    } else {
        run_closed(run, part);
    }
    if (part->is_timed) {
        run->outcome->ns = torc_clock_ns(run->clock, run->road->read_ticks - part->start_ticks);
        run->outcome->cpu_ns = cpu_ns() - cpu;
    }
    return run->outcome->end == TORC_LOAD_RIGHT || run->outcome->end == TORC_LOAD_WRONG
               ? run->done == run->sent
               : false;
}

/* Run the parts one after another, as long as all goes well. */
static int run_parts(struct run *run, const struct torc_load_run_options *options)
{
    static const struct torc_load_ahead none = {0};
    struct part warm = {.first = options->first,
                        .requests = options->warm,
                        .ahead = &none,
                        .end_ticks = UINT64_MAX};
    if (!run_part(run, &warm)) {
        return 0;
    }
    struct torc_load_ahead ahead;
    uint64_t first = options->first + options->warm;
    /* More than any server answers in the time there is are not needed. */
    uint64_t count = torc_min_u64(options->requests, options->ns / NS_EACH_LEAST + 1);
    int rc = torc_load_ahead_make(run->ops, run->road, first, count, AHEAD_BYTES_MAX, &ahead);
    if (rc != 0) {
        return rc;
    }
    run->outcome->made_ahead = ahead.n;
    struct part timed = {
        .first = first,
        .requests = options->requests,
        .ahead = &ahead,
        .is_timed = true,
        .end_ticks = options->ns == UINT64_MAX ? UINT64_MAX
                                               : torc_clock_ticks_of_ns(run->clock, options->ns),
        .ticks_each = options->rate > 0 ? (double)run->clock->ticks_per_second / options->rate : 0,
    };
    if (run_part(run, &timed)) {
        /* Blocks are counted from request 0 of the stream. */
        uint64_t at = first + run->sent;
        uint64_t period = torc_load_ops_period(run->ops);
        struct part rest = {.first = at,
                            .requests = (period - at % period) % period,
                            .ahead = &none,
                            .end_ticks = UINT64_MAX};
        (void)run_part(run, &rest);
    }
    torc_load_ahead_fini(&ahead);
    return 0;
}

int torc_load_run(struct torc_load_ops *ops, struct torc_load_road *road,
                  const struct torc_clock *clock, const struct torc_load_run_options *options,
                  struct torc_load_outcome *out_outcome)
{
    uint64_t size = 1ull << torc_log2_ceil(options->window);
    struct run run = {
        .ops = ops,
        .road = road,
        .clock = clock,
        .options = options,
        .outcome = out_outcome,
        .flights = calloc(size, sizeof *run.flights),
        .sent_ticks = calloc(size, sizeof *run.sent_ticks),
        .mask = size - 1,
    };
    int rc = -ENOMEM;
    if (run.flights != NULL && run.sent_ticks != NULL) {
        *out_outcome = (struct torc_load_outcome){.end = TORC_LOAD_RIGHT};
        rc = run_parts(&run, options);
    }
    for (unsigned kind = 0; rc == 0 && kind < TORC_LOAD_MIXED_KINDS; kind++) {
        torc_histogram_merge(&out_outcome->all, &out_outcome->kinds[kind]);
    }
    free(run.flights);
    free(run.sent_ticks);
    return rc;
}
