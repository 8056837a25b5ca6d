/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/load_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A part of the stream: warm-up, timed part or winding up. */
struct part {
    uint64_t requests;
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
    uint64_t next; /* number in the stream */

    /* Requests under way: [done, sent) of the part, in a ring. [left, sent) are not sent yet,
     * where requests leave in batches. */
    struct torc_load_flight *flights;
    uint64_t mask;
    uint64_t sent;
    uint64_t left;
    uint64_t done;

    /* Made, but the road had no room yet. */
    bool is_pending;
    struct torc_load_flight pending;
    struct torc_load_request request;
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

/* Submit the next request. 0; -EAGAIN no room; else the run is over. */
static int send_next(struct run *run, const struct part *part)
{
    if (!run->is_pending) {
        torc_load_ops_make(run->ops, run->next, &run->pending, &run->request);
        run->next++;
        run->is_pending = true;
    }
    uint64_t now = 0;
    if (is_open_loop(part)) {
        now = due_ticks(part, run->sent);
    } else if (!run->road->is_batched) {
        now = torc_clock_ticks(run->clock);
    }
    int rc = torc_load_road_submit(run->road, &run->request);
    if (TORC_UNLIKELY(rc != 0)) {
        /* With nothing under way no reply can make room. */
        bool waits = rc == -EAGAIN && run->sent != run->done;
        return waits ? rc : lose(run, rc == -EAGAIN ? -EINVAL : rc);
    }
    struct torc_load_flight *flight = &run->flights[run->sent++ & run->mask];
    *flight = run->pending;
    flight->sent_ticks = now;
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
            run->flights[run->left & run->mask].sent_ticks = now;
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
    const struct torc_load_flight *flight = &run->flights[run->done++ & run->mask];
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
        /* Ticks of two cores may be apart by a few. */
        uint64_t read = run->road->read_ticks;
        uint64_t ns =
            read > flight->sent_ticks ? torc_clock_ns(run->clock, read - flight->sent_ticks) : 0;
        torc_histogram_add(&outcome->all, ns);
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
        .next = options->first,
        .flights = calloc(size, sizeof *run.flights),
        .mask = size - 1,
    };
    if (run.flights == NULL) {
        return -ENOMEM;
    }
    *out_outcome = (struct torc_load_outcome){.end = TORC_LOAD_RIGHT};
    struct part warm = {.requests = options->warm, .end_ticks = UINT64_MAX};
    struct part timed = {
        .requests = options->requests,
        .is_timed = true,
        .end_ticks =
            options->ns == UINT64_MAX ? UINT64_MAX : torc_clock_ticks_of_ns(clock, options->ns),
        .ticks_each = options->rate > 0 ? (double)clock->ticks_per_second / options->rate : 0,
    };
    if (run_part(&run, &warm) && run_part(&run, &timed)) {
        /* Blocks are counted from request 0 of the stream; one that was made and could not be
         * sent is sent here. */
        uint64_t at = run.next - (run.is_pending ? 1 : 0);
        uint64_t period = torc_load_ops_period(ops);
        struct part rest = {.requests = (period - at % period) % period, .end_ticks = UINT64_MAX};
        (void)run_part(&run, &rest);
    }
    free(run.flights);
    return 0;
}
