/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/poller.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/placement.h"
#include "hash/expiry.h"

#define SOCKETS_EVERY_NS    5000u    /* while rings are busy */
#define SOCKETS_BUDGET_NS   20000u   /* of a turn then; one connection is always served */
#define SOCKETS_PER_TURN    16u      /* connections visited in one turn */
#define RING_BUSY_NS        100000u  /* rings are busy for so long after a request */
#define CLOCK_EVERY_NS      100000u  /* the keyspace's time is as old as this at most */
#define UPKEEP_EVERY_NS     1000000u /* timers */
#define QUIET_COMMANDS      32u /* fewer in a second: a quiet time, memory may be made compact */
#define REST_SECONDS        5u  /* of quiet: as compact as it gets */
#define SECOND_NS           1000000000u
#define SPIN_STRETCH        4u /* times poll-spin-us, while sleeps turn out to be short */
#define SLEEP_MAX_MS        10 /* with sessions attached */
#define SLEEP_MAX_ALONE_MS  1000
#define EVENTS_MAX          128
#define HOT_ALWAYS          8u   /* so few sessions are all kept hot */
#define COOL_AFTER_MISSES   256u /* looks that found nothing */
#define COLD_PER_ROUND      2u
#define VISIT_SHARED        8u /* requests of a visit when more than one session has work */
#define MAIL_PER_ROUND      16u
#define FALSE_DOORBELLS_MAX 2000u /* a second */
#define WASTE_PER_ROUND     16u   /* output blocks freed in one round */
#define TICKS_PER_UPKEEP    64u   /* connections looked at in one upkeep */
#define MAINTAIN_EVERY      16u   /* commands between two steps of maintenance */
#define MAINTAIN_STEP       16u   /* units of such a step, and of a round while more is due */
#define MAINTAIN_IDLE       128u  /* units of a step when nothing else is to do */
#define REAP_STEP           64u   /* keys and fields looked at in a round, while more are due */
#define REAP_IDLE           512u  /* when nothing else is to do */
#define TRIM_BYTES          ((uint64_t)256 * 1024) /* given back in such a step: about 50 us */
#define CACHE_BYTES         ((uint64_t)512 * 1024) /* so much stays in a CPU's own caches */
#define TIDY_BYTES          ((uint64_t)2 * 1024 * 1024)

struct torc_poller {
    struct torc_mailbox inbox; /* has lines of its own, so it stands first */
    struct torc_service *service;
    struct torc_mailbox *control;

    /* Peers: [0, n_hot) are hot. `sessions` holds the same sessions, for calls that take many. */
    struct torc_peer **peers;
    struct torc_session **sessions;
    size_t n_peers, cap_peers, n_hot;
    size_t next_cold;

    struct torc_connection *connections; /* circular list through next and prev; NULL none */
    struct torc_connection *next_tick;
    struct torc_connection *ready_head, *ready_tail;
    struct torc_output_block *waste; /* of connections that are gone */

    /* Times in clock ticks, but for those named otherwise. */
    uint64_t sockets_every, sockets_budget, ring_busy, clock_every, upkeep_every, spin_least;
    uint64_t spin; /* before sleeping, as of now: see adapt_spin() */
    uint64_t sockets_due, ring_busy_until, clock_due, upkeep_due, last_work;
    uint64_t now_ns;          /* CLOCK_MONOTONIC, as of the last upkeep */
    uint64_t second_ns;       /* when the current second began */
    uint64_t second_commands; /* commands up to then */
    uint64_t maintained_at;   /* commands at the last step of maintenance */
    uint64_t settled_at;      /* commands when the last settling was done */

    struct torc_batch batch;
    struct torc_source mail_source;
    int epoll_fd;
    unsigned n_busy;        /* sessions that had work in the last round */
    unsigned quiet_seconds; /* with next to no commands, up to now */
    bool is_stopped;        /* TORC_MAIL_STOP was handled */
    bool flags_are_set;     /* the sessions' sleeping flags */
    bool has_maintenance;   /* the last step left some */
    bool is_reaping;        /* there is more that is past */
    bool has_settling;      /* in a quiet time */
    bool settled_fully;     /* the last settling was one for long quiet times */
    bool has_one_cpu;       /* a client cannot run while we spin */
};

static void cpu_pause(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* --- peers --- */

static void place(struct torc_poller *p, size_t at, struct torc_peer *peer)
{
    p->peers[at] = peer;
    p->sessions[at] = peer->session;
    peer->index = at;
}

static void swap(struct torc_poller *p, size_t a, size_t b)
{
    struct torc_peer *other = p->peers[a];
    place(p, a, p->peers[b]);
    place(p, b, other);
}

static void warm(struct torc_poller *p, struct torc_peer *peer)
{
    peer->misses = 0;
    if (peer->index >= p->n_hot) {
        swap(p, peer->index, p->n_hot++);
    }
}

static void cool(struct torc_poller *p, struct torc_peer *peer)
{
    swap(p, peer->index, --p->n_hot);
}

static bool grow_peers(struct torc_poller *p)
{
    size_t cap = p->cap_peers == 0 ? 16 : 2 * p->cap_peers;
    struct torc_peer **peers = realloc(p->peers, cap * sizeof(struct torc_peer *));
    if (peers == NULL) {
        return false;
    }
    p->peers = peers;
    struct torc_session **sessions = realloc(p->sessions, cap * sizeof(struct torc_session *));
    if (sessions == NULL) {
        return false;
    }
    p->sessions = sessions;
    p->cap_peers = cap;
    return true;
}

/* Stop serving a peer; its memory stays. */
static void forget(struct torc_poller *p, struct torc_peer *peer)
{
    size_t last = p->n_peers - 1;
    torc_source_forget(p->epoll_fd, torc_session_fd(peer->session, TORC_FD_DOORBELL));
    if (peer->index < p->n_hot) {
        cool(p, peer);
    }
    place(p, peer->index, p->peers[last]);
    p->n_peers = last;
    p->service->gauges.sessions = last;
    peer->index = SIZE_MAX;
}

static void report_broken(struct torc_poller *p, struct torc_peer *peer, const char *why)
{
    peer->why = why;
    peer->broken.kind = TORC_MAIL_BROKEN;
    p->service->stats.ring_dropped++;
    torc_mailbox_send(p->control, &peer->broken);
}

static void attach_peer(struct torc_poller *p, struct torc_peer *peer)
{
    peer->source.kind = TORC_SOURCE_DOORBELL;
    peer->index = SIZE_MAX;
    if ((p->n_peers == p->cap_peers && !grow_peers(p)) ||
        torc_source_watch(p->epoll_fd, torc_session_fd(peer->session, TORC_FD_DOORBELL),
                          &peer->source, EPOLLIN | EPOLLET) != 0) {
        report_broken(p, peer, "no memory to serve it");
        return;
    }
    place(p, p->n_peers++, peer);
    warm(p, peer);
    p->service->gauges.sessions = p->n_peers;
    if (p->flags_are_set) {
        torc_session_set_sleeping(peer->session, true);
    }
}

static void close_peer(struct torc_poller *p, struct torc_peer *peer)
{
    if (peer->index != SIZE_MAX) {
        forget(p, peer);
    }
    peer->release.kind = TORC_MAIL_RELEASE;
    torc_mailbox_send(p->control, &peer->release);
}

/* Visit one session that looked ready. */
static void visit_peer(struct torc_poller *p, struct torc_peer *peer)
{
    unsigned max = p->n_busy > 1 ? VISIT_SHARED : TORC_SESSION_VISIT_REQUESTS;
    int n = torc_peer_serve(peer, p->service, &p->batch, max);
    if (n < 0) {
        forget(p, peer);
        report_broken(p, peer, "its client broke a rule of the ring");
    }
}

/* All hot sessions and the next cold ones. True if any had work: a part of a long message counts as
 * much as a request. */
static bool serve_rings(struct torc_poller *p)
{
    unsigned n_busy = 0;
    /* Downwards: a session that cools or is dropped is swapped with one that was looked at. */
    for (size_t i = p->n_hot; i-- > 0;) {
        struct torc_peer *peer = p->peers[i];
        if (torc_session_is_ready(peer->session)) {
            peer->misses = 0;
            n_busy++;
            visit_peer(p, peer);
        } else if (++peer->misses > COOL_AFTER_MISSES && p->n_hot > HOT_ALWAYS) {
            cool(p, peer);
        }
    }
    for (unsigned i = 0; i < COLD_PER_ROUND && p->n_hot < p->n_peers; i++) {
        if (p->next_cold < p->n_hot || p->next_cold >= p->n_peers) {
            p->next_cold = p->n_hot;
        }
        struct torc_peer *peer = p->peers[p->next_cold++];
        if (torc_session_is_ready(peer->session)) {
            warm(p, peer);
            n_busy++;
            visit_peer(p, peer);
        }
    }
    p->n_busy = n_busy;
    return n_busy != 0;
}

static bool any_peer_is_ready(const struct torc_poller *p)
{
    for (size_t i = 0; i < p->n_peers; i++) {
        if (torc_session_is_ready(p->sessions[i])) {
            return true;
        }
    }
    return false;
}

static void note_doorbell(struct torc_poller *p, struct torc_peer *peer)
{
    if (peer->index == SIZE_MAX) {
        return;
    }
    torc_session_count_doorbell(peer->session);
    if (torc_session_is_ready(peer->session)) {
        warm(p, peer);
    } else if (++peer->n_false_doorbells > FALSE_DOORBELLS_MAX) {
        /* It only keeps us awake: not listened to for the rest of the second. */
        struct epoll_event event = {.data = {.ptr = &peer->source}};
        int fd = torc_session_fd(peer->session, TORC_FD_DOORBELL);
        (void)epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, fd, &event);
        peer->is_muted = true;
        p->service->stats.doorbells_muted++;
    }
}

/* --- connections --- */

static void make_ready(struct torc_poller *p, struct torc_connection *c)
{
    if (c->is_ready) {
        return;
    }
    c->is_ready = true;
    c->next_ready = NULL;
    if (p->ready_tail != NULL) {
        p->ready_tail->next_ready = c;
    } else {
        p->ready_head = c;
    }
    p->ready_tail = c;
}

static struct torc_connection *take_ready(struct torc_poller *p)
{
    struct torc_connection *c = p->ready_head;
    p->ready_head = c->next_ready;
    if (p->ready_head == NULL) {
        p->ready_tail = NULL;
    }
    c->is_ready = false;
    return c;
}

static void count_bytes(struct torc_poller *p, struct torc_connection *c)
{
    uint64_t bytes = torc_connection_bytes(c);
    p->service->gauges.connection_bytes += bytes - c->n_counted;
    c->n_counted = bytes;
}

/* A message for the log. Losing one when memory is short is no harm. */
static void report_connection(struct torc_poller *p, const struct torc_connection *c)
{
    struct torc_event *event = c->why != NULL ? calloc(1, sizeof *event) : NULL;
    if (event != NULL) {
        event->mail.kind = TORC_MAIL_EVENT;
        event->connection_id = c->caller.id;
        event->what = c->why;
        torc_mailbox_send(p->control, &event->mail);
    }
}

/* Not in the ready list. */
static void drop_connection(struct torc_poller *p, struct torc_connection *c)
{
    struct torc_service *service = p->service;
    report_connection(p, c);
    if (p->next_tick == c) {
        p->next_tick = c->next != c ? c->next : NULL;
    }
    c->prev->next = c->next;
    c->next->prev = c->prev;
    if (p->connections == c) {
        p->connections = c->next != c ? c->next : NULL;
    }
    service->gauges.connections--;
    service->gauges.connection_bytes -= c->n_counted;
    service->gauges.connection_bytes += torc_output_discard(&c->output, &p->waste);
    torc_connection_destroy(c);
    atomic_fetch_sub_explicit(&service->shared->connections_open, 1, memory_order_relaxed);
}

static void free_waste(struct torc_poller *p, unsigned n_blocks)
{
    p->service->gauges.connection_bytes -= torc_output_free_waste(&p->waste, n_blocks);
}

static void connect(struct torc_poller *p, struct torc_newcomer *newcomer)
{
    struct torc_connection *c;
    int fd = newcomer->fd;
    int rc = torc_connection_create(fd, newcomer->id, p->service->settings, &c);
    free(newcomer);
    if (rc != 0) {
        (void)close(fd);
        atomic_fetch_sub_explicit(&p->service->shared->connections_open, 1, memory_order_relaxed);
        return;
    }
    if (p->connections == NULL) {
        c->next = c;
        c->prev = c;
        p->connections = c;
    } else {
        c->next = p->connections;
        c->prev = p->connections->prev;
        c->prev->next = c;
        c->next->prev = c;
    }
    p->service->gauges.connections++;
    count_bytes(p, c);
    if (torc_source_watch(p->epoll_fd, fd, &c->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) !=
        0) {
        drop_connection(p, c);
        return;
    }
    make_ready(p, c);
}

/* Ask the kernel what happened, at most timeout_ms. Returns the number of events. */
static int poll_events(struct torc_poller *p, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(p->epoll_fd, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < n; i++) {
        struct torc_source *source = events[i].data.ptr;
        if (source->kind == TORC_SOURCE_CONNECTION) {
            struct torc_connection *c = (struct torc_connection *)(void *)source;
            torc_connection_note(c, events[i].events);
            make_ready(p, c);
        } else if (source->kind == TORC_SOURCE_DOORBELL) {
            note_doorbell(p, (struct torc_peer *)(void *)source);
        }
    }
    return n < 0 ? 0 : n;
}
static_assert(offsetof(struct torc_connection, source) == 0, "found from its source");
static_assert(offsetof(struct torc_peer, source) == 0, "found from its source");

/* Visit ready connections; while rings are busy, not for long. True if any was visited. */
static bool serve_sockets(struct torc_poller *p, bool rings_are_busy, uint64_t now)
{
    struct torc_clock *clock = &p->service->facts.clock;
    struct torc_connection *last = p->ready_tail;
    unsigned n = 0;
    while (p->ready_head != NULL && n < SOCKETS_PER_TURN) {
        struct torc_connection *c = take_ready(p);
        bool has_more = torc_connection_serve(c, p->service, &p->batch, p->now_ns);
        n++;
        if (c->phase == TORC_CONNECTION_DEAD) {
            bool was_last = c == last;
            drop_connection(p, c);
            if (was_last) {
                break;
            }
            continue;
        }
        if (has_more) {
            make_ready(p, c);
        }
        if (c == last || (rings_are_busy && torc_clock_ticks(clock) - now > p->sockets_budget)) {
            break;
        }
    }
    return n != 0;
}

/* --- mail --- */

static void stop(struct torc_poller *p)
{
    /* What was executed is answered, as far as the sockets take it. */
    while (p->connections != NULL) {
        struct torc_connection *c = p->connections;
        (void)torc_connection_serve(c, p->service, &p->batch, p->now_ns);
        drop_connection(p, c);
    }
    p->ready_head = NULL;
    p->ready_tail = NULL;
    p->is_stopped = true;
}

static struct torc_peer *peer_of(struct torc_mail *mail, size_t offset)
{
    return (struct torc_peer *)(void *)((uint8_t *)mail - offset);
}

static bool read_mail(struct torc_poller *p)
{
    unsigned n = 0;
    while (n < MAIL_PER_ROUND && !p->is_stopped) {
        struct torc_mail *mail = torc_mailbox_receive(&p->inbox);
        if (mail == NULL) {
            break;
        }
        n++;
        switch ((enum torc_poller_mail)mail->kind) {
        case TORC_MAIL_ATTACH:
            attach_peer(p, peer_of(mail, offsetof(struct torc_peer, attach)));
            break;
        case TORC_MAIL_CLOSE:
            close_peer(p, peer_of(mail, offsetof(struct torc_peer, close)));
            break;
        case TORC_MAIL_CONNECT:
            connect(p, (struct torc_newcomer *)(void *)mail);
            break;
        case TORC_MAIL_STOP:
            stop(p);
            break;
        }
    }
    return n != 0;
}
static_assert(offsetof(struct torc_newcomer, mail) == 0, "found from its mail");

/* --- upkeep --- */

/* Once a second. */
static void count_second(struct torc_poller *p)
{
    struct torc_service *service = p->service;
    uint64_t elapsed_ns = p->now_ns - p->second_ns;
    uint64_t commands = service->stats.commands_total;
    service->stats.ops_per_sec =
        (uint64_t)((double)(commands - p->second_commands) * 1e9 / (double)elapsed_ns);
    bool is_quiet = commands - p->second_commands < QUIET_COMMANDS;
    p->quiet_seconds = is_quiet ? (unsigned)torc_min_u64(p->quiet_seconds + 1, REST_SECONDS) : 0;
    p->second_ns = p->now_ns;
    p->second_commands = commands;

    uint64_t limit_ns = (uint64_t)service->settings->session_stall_timeout * SECOND_NS;
    uint64_t bytes = 0;
    for (size_t i = p->n_peers; i-- > 0;) {
        struct torc_peer *peer = p->peers[i];
        bytes += torc_session_bytes(peer->session);
        peer->n_false_doorbells = 0;
        if (peer->is_muted) {
            struct epoll_event event = {.events = EPOLLIN | EPOLLET,
                                        .data = {.ptr = &peer->source}};
            int fd = torc_session_fd(peer->session, TORC_FD_DOORBELL);
            (void)epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, fd, &event);
            peer->is_muted = false;
        }
        if (limit_ns != 0 && torc_session_is_overdue(peer->session, p->now_ns, limit_ns)) {
            forget(p, peer);
            report_broken(p, peer, "its client took no replies for session-stall-timeout");
        }
    }
    service->gauges.session_bytes = bytes;
}

static void tick_connections(struct torc_poller *p)
{
    uint64_t n = torc_min_u64(TICKS_PER_UPKEEP, p->service->gauges.connections);
    for (uint64_t i = 0; i < n && p->connections != NULL; i++) {
        struct torc_connection *c = p->next_tick != NULL ? p->next_tick : p->connections;
        p->next_tick = c->next;
        if (torc_connection_tick(c, p->now_ns) && !c->is_ready) {
            drop_connection(p, c);
        } else {
            count_bytes(p, c);
        }
    }
}

/* Timers: every millisecond at most. */
static void upkeep(struct torc_poller *p)
{
    struct torc_stats *stats = &p->service->stats;
    p->now_ns = torc_clock_monotonic_ns();
    uint64_t used = torc_arena_used(p->service->arena);
    stats->used_peak = torc_max_u64(stats->used_peak, used);
    p->service->fits_cache = used <= CACHE_BYTES;
    p->service->gauges.sessions_hot = p->n_hot;
    if (p->now_ns - p->second_ns >= SECOND_NS) {
        count_second(p);
        tick_connections(p);
    } else if (p->service->gauges.connections > TICKS_PER_UPKEEP) {
        tick_connections(p);
    }
}

/* Give the keyspace its time, and remove what is past by it: a step now and one each round until
 * nothing is left. What is removed leaves work for maintenance. */
static void keep_time(struct torc_poller *p, bool is_idle)
{
    struct torc_keyspace *keyspace = p->service->keyspace;
    torc_keyspace_set_time(keyspace, torc_clock_wall_ms());
    p->is_reaping = false;
    if (torc_keyspace_next_due(keyspace) <= torc_keyspace_time(keyspace)) {
        p->is_reaping = !torc_keyspace_reap(keyspace, is_idle ? REAP_IDLE : REAP_STEP);
        p->has_maintenance = true;
    }
}

/* TORC.OPTIMIZE: settling, between commands too, until all is done or its share of work is. */
static void optimize(struct torc_poller *p, unsigned budget)
{
    struct torc_service *service = p->service;
    bool more = torc_keyspace_settle(service->keyspace, true, budget);
    service->optimize_units -= torc_min_u64(service->optimize_units, more ? budget : UINT64_MAX);
    p->maintained_at = service->stats.commands_total;
    p->has_maintenance = more;
}

/* Maintenance in proportion to what was done, and while some is left. */
static void maintain(struct torc_poller *p, bool is_idle)
{
    uint64_t commands = p->service->stats.commands_total;
    uint64_t n = commands - p->maintained_at;
    if (TORC_UNLIKELY(p->service->optimize_units != 0)) {
        optimize(p, is_idle ? MAINTAIN_IDLE : MAINTAIN_STEP);
        return;
    }
    if (p->has_maintenance || n >= MAINTAIN_EVERY || (is_idle && n != 0)) {
        p->maintained_at = commands;
        p->has_maintenance =
            torc_keyspace_maintain(p->service->keyspace, is_idle ? MAINTAIN_IDLE : MAINTAIN_STEP);
        p->has_maintenance |= torc_arena_trim(p->service->arena, TRIM_BYTES);
    }
    /* In quiet times: make memory compact, and give back what is free. */
    p->has_settling = false;
    bool fully = p->quiet_seconds == REST_SECONDS;
    bool is_settled = p->settled_at == commands && (p->settled_fully || !fully);
    /* The seconds that are over were quiet, and this one is so far. */
    bool is_quiet = p->quiet_seconds != 0 && commands - p->second_commands < QUIET_COMMANDS;
    if (is_idle && is_quiet && !p->has_maintenance && !is_settled) {
        p->has_settling = torc_keyspace_settle(p->service->keyspace, fully, MAINTAIN_IDLE) ||
                          torc_arena_tidy(p->service->arena, TIDY_BYTES);
        if (!p->has_settling) {
            p->settled_at = commands;
            p->settled_fully = fully;
        }
    }
}

/* --- rounds --- */

/* Work came after a sleep, `gap` ticks after the last work. Where that is so little more than the
 * spinning that some more of it would have spared the sleep, whose end alone takes tens of
 * microseconds, spin longer from now on; where it is not, spin less again. */
static void adapt_spin(struct torc_poller *p, uint64_t gap)
{
    const uint64_t most = SPIN_STRETCH * p->spin_least;
    p->spin =
        gap <= most ? torc_min_u64(2 * p->spin, most) : torc_max_u64(p->spin / 2, p->spin_least);
}

static void wake_up(struct torc_poller *p, uint64_t now)
{
    if (p->flags_are_set) {
        torc_sessions_set_sleeping(p->sessions, p->n_peers, false);
        p->flags_are_set = false;
        adapt_spin(p, now - p->last_work);
    }
}

bool torc_poller_round(struct torc_poller *poller)
{
    struct torc_poller *p = poller;
    uint64_t now = torc_clock_ticks(&p->service->facts.clock);
    bool did_work = false;
    if (serve_rings(p)) {
        did_work = true;
        p->ring_busy_until = now + p->ring_busy;
    }
    if (!torc_mailbox_is_empty(&p->inbox)) {
        did_work |= read_mail(p);
    }
    bool rings_are_busy = now < p->ring_busy_until;
    if (p->connections != NULL && (!rings_are_busy || now >= p->sockets_due)) {
        (void)poll_events(p, 0);
        did_work |= serve_sockets(p, rings_are_busy, now);
        p->sockets_due = now + p->sockets_every;
    }
    if (p->waste != NULL) {
        free_waste(p, WASTE_PER_ROUND);
        did_work = true;
    }
    if (now >= p->clock_due) {
        keep_time(p, !did_work);
        p->clock_due = p->is_reaping ? 0 : now + p->clock_every;
        if (now >= p->upkeep_due) {
            upkeep(p);
            p->upkeep_due = now + p->upkeep_every;
        }
    }
    maintain(p, !did_work);
    if (did_work) {
        wake_up(p, now);
        p->last_work = now;
    }
    return did_work;
}

static int sleep_timeout_ms(const struct torc_poller *p)
{
    if (p->n_peers != 0) {
        return SLEEP_MAX_MS;
    }
    /* Linger times of connections, and the settling that comes after the last command. */
    bool is_settled = p->settled_fully && p->settled_at == p->service->stats.commands_total;
    bool has_timers = p->connections != NULL || !is_settled;
    return has_timers ? SLEEP_MAX_ALONE_MS / 10 : SLEEP_MAX_ALONE_MS;
}

/* `timeout_ms`, or less if something is due by then. */
static int until_next_due_ms(const struct torc_poller *p, int timeout_ms)
{
    const struct torc_keyspace *keyspace = p->service->keyspace;
    uint64_t due = torc_keyspace_next_due(keyspace);
    uint64_t now = torc_keyspace_time(keyspace);
    return due > now ? (int)torc_min_u64(due - now, (uint64_t)timeout_ms) : 0;
}

static void sleep_until_woken(struct torc_poller *p)
{
    if (p->is_reaping || p->has_maintenance || p->has_settling) {
        return;
    }
    if (!p->flags_are_set) {
        torc_sessions_set_sleeping(p->sessions, p->n_peers, true);
        p->flags_are_set = true;
    }
    /* The flags stay set over sleeps in which nothing came, so that an idle server does little. A
     * request or message that came before the look below is seen by it, one that comes later rings.
     */
    if (any_peer_is_ready(p) || p->ready_head != NULL || !torc_mailbox_is_empty(&p->inbox)) {
        return;
    }
    p->service->stats.sleeps++;
    (void)poll_events(p, until_next_due_ms(p, sleep_timeout_ms(p)));
    p->clock_due = 0;
    p->upkeep_due = 0;
    if (p->ready_head != NULL) {
        p->sockets_due = 0;
    }
}

static void wait(struct torc_poller *p)
{
    uint64_t idle = torc_clock_ticks(&p->service->facts.clock) - p->last_work;
    switch ((enum torc_poll_mode)p->service->settings->poll_mode) {
    case TORC_POLL_BUSY:
        cpu_pause();
        break;
    case TORC_POLL_YIELD:
        (void)sched_yield();
        break;
    case TORC_POLL_ADAPTIVE:
        if (p->has_one_cpu && idle < p->spin) {
            (void)sched_yield(); /* a client cannot run while we spin */
        } else if (idle < p->spin) {
            cpu_pause();
        } else {
            sleep_until_woken(p);
        }
        break;
    }
}

void torc_poller_run(struct torc_poller *poller)
{
    struct torc_poller *p = poller;
    p->has_one_cpu = torc_placement_cpus_allowed() == 1;
    if (p->service->facts.poller_cpu >= 0) {
        /* That it can be done was tried before the thread was started. */
        int rc = torc_placement_pin_self(p->service->facts.poller_cpu);
        (void)rc;
    }
    while (!p->is_stopped) {
        if (!torc_poller_round(p)) {
            wait(p);
        }
    }
}

/* --- making and freeing --- */

int torc_poller_create(struct torc_service *service, struct torc_mailbox *control,
                       struct torc_poller **out_poller)
{
    struct torc_poller *p = aligned_alloc(64, torc_align_up(sizeof *p, 64));
    if (p == NULL) {
        return -ENOMEM;
    }
    memset(p, 0, sizeof *p);
    p->service = service;
    p->control = control;
    p->epoll_fd = -1;
    int rc = torc_mailbox_init(&p->inbox);
    if (rc == 0) {
        rc = torc_batch_init(&p->batch);
    }
    if (rc == 0) {
        p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        rc = p->epoll_fd < 0 ? -EAGAIN : 0;
    }
    if (rc == 0) {
        p->mail_source.kind = TORC_SOURCE_MAIL;
        rc = torc_source_watch(p->epoll_fd, p->inbox.wake_fd, &p->mail_source, EPOLLIN | EPOLLET);
    }
    if (rc != 0) {
        torc_poller_destroy(p);
        return rc;
    }
    const struct torc_clock *clock = &service->facts.clock;
    p->sockets_every = torc_clock_ticks_of_ns(clock, SOCKETS_EVERY_NS);
    p->sockets_budget = torc_clock_ticks_of_ns(clock, SOCKETS_BUDGET_NS);
    p->ring_busy = torc_clock_ticks_of_ns(clock, RING_BUSY_NS);
    p->clock_every = torc_clock_ticks_of_ns(clock, CLOCK_EVERY_NS);
    p->upkeep_every = torc_clock_ticks_of_ns(clock, UPKEEP_EVERY_NS);
    p->spin_least = torc_clock_ticks_of_ns(clock, (uint64_t)service->settings->poll_spin_us * 1000);
    p->spin = p->spin_least;
    p->now_ns = torc_clock_monotonic_ns();
    p->second_ns = p->now_ns;
    *out_poller = p;
    return 0;
}

void torc_poller_destroy(struct torc_poller *poller)
{
    struct torc_poller *p = poller;
    if (p == NULL) {
        return;
    }
    while (p->connections != NULL) {
        drop_connection(p, p->connections);
    }
    free_waste(p, UINT_MAX);
    if (p->epoll_fd >= 0) {
        (void)close(p->epoll_fd);
    }
    torc_mailbox_fini(&p->inbox);
    torc_batch_fini(&p->batch);
    free(p->peers);
    free(p->sessions);
    free(p);
}

struct torc_mailbox *torc_poller_inbox(struct torc_poller *poller)
{
    return &poller->inbox;
}

bool torc_poller_is_stopped(const struct torc_poller *poller)
{
    return poller->is_stopped;
}
