/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/control.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/futex.h"
#include "tools/torcd/guest.h"
#include "tools/torcd/listener.h"
#include "tools/torcd/poller.h"

#define LISTENERS_MAX   17 /* 16 addresses and a Unix socket */
#define HALF_OPEN_MAX   128u
#define ACCEPT_PER_STEP 32
#define EVENTS_MAX      64
#define PAUSE_NS        100000000u /* of listening, when descriptors have run out */
#define CONTROL_BACKLOG 128
#define CONTROL_MODE    0660
/* Descriptors beside those of clients: listeners, epoll sets, log, files opened for a moment. */
#define OWN_DESCRIPTORS 64u
/* Of a ring session: socket, pidfd, doorbell, and three memfds during the handshake. */
#define SESSION_DESCRIPTORS 3u

struct torc_control {
    const struct torc_settings *settings;
    struct torc_shared *shared;
    struct torc_log *log;
    struct torc_mailbox inbox;
    struct torc_mailbox *poller; /* NULL until it serves */
    int epoll_fd;
    int signal_fd; /* -1: takes none */
    int stop_fd;
    int reserve_fd; /* held back for accept */
    struct torc_source mail_source, signal_source, stop_source, attach_source, resp_source;
    struct torc_listener attach_listener;
    struct torc_listener listeners[LISTENERS_MAX];
    unsigned n_listeners;
    bool wants_stop;
    uint64_t paused_until_ns; /* 0: listening */

    struct torc_guest *guests; /* circular, NULL none */
    uint64_t n_guests;
    uint64_t n_half_open;      /* in the handshake */
    uint64_t n_silent;         /* of these: no HELLO yet, so no session */
    struct torc_guest *graves; /* to be freed after this step's events, through next */
    uint64_t next_guest_id;
    uint64_t next_connection_id;
    struct torc_session_options defaults;
    struct torc_mail stop_mail;
};

#define SAY(...) (void)snprintf(why, TORC_OPTION_ERROR_BYTES, __VA_ARGS__)

static void count(_Atomic uint64_t *word)
{
    atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
}

/* --- guests --- */

static void link_guest(struct torc_control *c, struct torc_guest *guest)
{
    if (c->guests == NULL) {
        guest->next = guest;
        guest->prev = guest;
        c->guests = guest;
    } else {
        guest->next = c->guests;
        guest->prev = c->guests->prev;
        guest->prev->next = guest;
        guest->next->prev = guest;
    }
    c->n_guests++;
}

static void set_half_open(struct torc_control *c, uint64_t n)
{
    c->n_half_open = n;
    atomic_store_explicit(&c->shared->sessions_half_open, n, memory_order_relaxed);
}

/* Take a guest out of the list; it is freed when the events at hand are done with. */
static void bury(struct torc_control *c, struct torc_guest *guest)
{
    guest->prev->next = guest->next;
    guest->next->prev = guest->prev;
    if (c->guests == guest) {
        c->guests = guest->next != guest ? guest->next : NULL;
    }
    c->n_guests--;
    guest->next = c->graves;
    c->graves = guest;
}

static void free_graves(struct torc_control *c)
{
    while (c->graves != NULL) {
        struct torc_guest *guest = c->graves;
        c->graves = guest->next;
        torc_guest_destroy(guest);
    }
}

/* Have the poller give the session back. */
static void send_close(struct torc_control *c, struct torc_guest *guest)
{
    if (!guest->close_is_sent) {
        guest->close_is_sent = true;
        guest->peer.close.kind = TORC_MAIL_CLOSE;
        torc_mailbox_send(c->poller, &guest->peer.close);
    }
}

static bool is_half_open(enum torc_guest_state state)
{
    return state == TORC_GUEST_WAIT_HELLO || state == TORC_GUEST_WAIT_MAPPED;
}

/* After anything that may have ended a guest. `before` is its state until then. */
static void follow(struct torc_control *c, struct torc_guest *guest, enum torc_guest_state before,
                   const char *why)
{
    if (is_half_open(before) && !is_half_open(guest->state)) {
        set_half_open(c, c->n_half_open - 1);
    }
    c->n_silent -= before == TORC_GUEST_WAIT_HELLO && guest->state != TORC_GUEST_WAIT_HELLO;
    if (guest->state == TORC_GUEST_DEAD) {
        count(&c->shared->sessions_refused);
        torc_log(c->log, TORC_LOG_NOTICE, "control: attach %llu failed pid=%ld uid=%ld: %s",
                 (unsigned long long)guest->peer.id, (long)guest->pid, (long)guest->uid, why);
        bury(c, guest);
    } else if (guest->state == TORC_GUEST_LEAVING && before == TORC_GUEST_ATTACHED) {
        torc_log(c->log, TORC_LOG_NOTICE, "control: session %llu ends pid=%ld name=%s: %s",
                 (unsigned long long)guest->peer.id, (long)guest->pid, guest->name, why);
        send_close(c, guest);
    }
}

static void end_guest(struct torc_control *c, struct torc_guest *guest, const char *why)
{
    enum torc_guest_state before = guest->state;
    if (is_half_open(before)) {
        torc_handshake_refuse(guest->socket, -ETIMEDOUT, why);
    }
    torc_guest_end(guest);
    follow(c, guest, before, why);
}

static void attach(struct torc_control *c, struct torc_guest *guest)
{
    count(&c->shared->sessions_received);
    guest->peer.attach.kind = TORC_MAIL_ATTACH;
    torc_mailbox_send(c->poller, &guest->peer.attach);
    torc_log(c->log, TORC_LOG_NOTICE,
             "control: session %llu attached pid=%ld uid=%ld name=%s slots=%u areas=%u,%u",
             (unsigned long long)guest->peer.id, (long)guest->pid, (long)guest->uid, guest->name,
             guest->options.slots, guest->options.request_area_bytes,
             guest->options.reply_area_bytes);
    if (torc_guest_welcome(guest) != 0) {
        end_guest(c, guest, "READY could not be sent");
    }
}

/* Why this guest may not have a session, or NULL. */
static const char *quota_reached(const struct torc_control *c, const struct torc_guest *guest)
{
    const struct torc_settings *settings = c->settings;
    if (c->n_guests - c->n_silent >= (uint64_t)settings->max_sessions) {
        return "max-sessions are attached";
    }
    if (settings->max_sessions_per_user != 0) {
        int64_t n = 0;
        const struct torc_guest *other = c->guests;
        for (uint64_t i = c->n_guests; i > 0; i--) {
            n += other->uid == guest->uid && other->state != TORC_GUEST_WAIT_HELLO;
            other = other->next;
        }
        if (n >= settings->max_sessions_per_user) {
            return "max-sessions-per-user are attached";
        }
    }
    return NULL;
}

static void read_guest(struct torc_control *c, struct torc_guest *guest)
{
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    enum torc_guest_state before = guest->state;
    if (before == TORC_GUEST_LEAVING || before == TORC_GUEST_DEAD) {
        return; /* an event that came with the one that ended it */
    }
    if (before == TORC_GUEST_WAIT_HELLO) {
        guest->refusal = quota_reached(c, guest);
    }
    torc_guest_read(guest, why);
    follow(c, guest, before, why);
    if (before == TORC_GUEST_WAIT_MAPPED && guest->state == TORC_GUEST_ATTACHED) {
        attach(c, guest);
    }
}

/* Handshakes that take too long. Returns the time of the next deadline, UINT64_MAX none. */
static uint64_t expire_handshakes(struct torc_control *c, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    struct torc_guest *guest = c->n_half_open != 0 ? c->guests : NULL;
    for (uint64_t i = c->n_guests; guest != NULL && i > 0; i--) {
        struct torc_guest *after = guest->next;
        if (is_half_open(guest->state)) {
            if (guest->deadline_ns <= now_ns) {
                end_guest(c, guest, "the handshake took too long");
            } else {
                next = torc_min_u64(next, guest->deadline_ns);
            }
        }
        guest = after;
    }
    return next;
}

/* --- accepting --- */

static void watch_listeners(struct torc_control *c, bool watch)
{
    uint32_t events = watch ? EPOLLIN : 0;
    struct epoll_event event = {.events = events, .data = {.ptr = &c->attach_source}};
    (void)epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->attach_listener.fd, &event);
    event.data.ptr = &c->resp_source;
    for (unsigned i = 0; i < c->n_listeners; i++) {
        (void)epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->listeners[i].fd, &event);
    }
}

/* Descriptors have run out: get rid of one waiting connection with the one held back. */
static void turn_away(struct torc_control *c, int listener)
{
    count(&c->shared->connections_rejected);
    torc_log(c->log, TORC_LOG_WARNING, "control: out of descriptors, a connection was turned away");
    if (c->reserve_fd >= 0) {
        (void)close(c->reserve_fd);
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            (void)close(fd);
        }
        c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && c->reserve_fd >= 0) {
            return;
        }
    }
    c->paused_until_ns = torc_clock_monotonic_ns() + PAUSE_NS;
    watch_listeners(c, false);
}

/* The next waiting connection, -1 none. */
static int accept_one(struct torc_control *c, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            return fd;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            turn_away(c, listener);
            return -1;
        }
        if (errno != EINTR && errno != ECONNABORTED) {
            return -1;
        }
    }
}

static bool watch_guest(struct torc_control *c, struct torc_guest *guest)
{
    return torc_source_watch(c->epoll_fd, guest->socket, &guest->socket_source, EPOLLIN) == 0 &&
           (guest->process < 0 ||
            torc_source_watch(c->epoll_fd, guest->process, &guest->process_source, EPOLLIN) == 0);
}

/* A connection on the control socket. */
static void admit(struct torc_control *c, int fd)
{
    struct torc_guest *guest = NULL;
    uint64_t id = ++c->next_guest_id;
    int rc = torc_guest_create(fd, id, &c->defaults, torc_clock_monotonic_ns(), &guest);
    const char *why = "no memory or descriptors for a session";
    if (rc == 0 && c->n_half_open >= HALF_OPEN_MAX) {
        rc = -ENOSPC;
        why = "too many clients are attaching at this moment";
    }
    if (rc == 0 && watch_guest(c, guest)) {
        link_guest(c, guest);
        set_half_open(c, c->n_half_open + 1);
        c->n_silent++;
        return;
    }
    torc_handshake_refuse(fd, rc != 0 ? rc : -ENOMEM, why);
    count(&c->shared->sessions_refused);
    torc_log(c->log, TORC_LOG_NOTICE, "control: attach %llu refused: %s", (unsigned long long)id,
             why);
    if (guest != NULL) {
        torc_guest_destroy(guest);
    } else {
        (void)close(fd);
    }
}

static void set_up_tcp(const struct torc_control *c, int fd)
{
    static const int one = 1;
    int seconds = (int)c->settings->tcp_keepalive;
    /* All of these fail on a Unix socket, and are no loss there. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (seconds > 0) {
        int interval = seconds / 3 > 0 ? seconds / 3 : 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    }
}

/* A RESP connection: hand it to the poller. */
static void hand_over(struct torc_control *c, int fd)
{
    struct torc_shared *shared = c->shared;
    count(&shared->connections_received);
    uint64_t open = atomic_load_explicit(&shared->connections_open, memory_order_relaxed);
    struct torc_newcomer *newcomer =
        open < (uint64_t)c->settings->maxclients ? calloc(1, sizeof *newcomer) : NULL;
    if (newcomer == NULL) {
        static const char text[] = "-ERR max number of clients reached\r\n";
        (void)!send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)close(fd);
        count(&shared->connections_rejected);
        return;
    }
    set_up_tcp(c, fd);
    count(&shared->connections_open);
    newcomer->mail.kind = TORC_MAIL_CONNECT;
    newcomer->fd = fd;
    newcomer->id = ++c->next_connection_id;
    torc_mailbox_send(c->poller, &newcomer->mail);
}

static void accept_from(struct torc_control *c, int listener, bool is_attach)
{
    for (int i = 0; i < ACCEPT_PER_STEP; i++) {
        int fd = accept_one(c, listener);
        if (fd < 0) {
            return;
        }
        if (is_attach) {
            admit(c, fd);
        } else {
            hand_over(c, fd);
        }
    }
}

/* --- mail and events --- */

static struct torc_guest *guest_of(struct torc_mail *mail, size_t offset)
{
    return (struct torc_guest *)(void *)((uint8_t *)mail - offset -
                                         offsetof(struct torc_guest, peer));
}

static bool read_mail(struct torc_control *c)
{
    bool any = false;
    for (;;) {
        struct torc_mail *mail = torc_mailbox_receive(&c->inbox);
        if (mail == NULL) {
            return any;
        }
        any = true;
        switch ((enum torc_control_mail)mail->kind) {
        case TORC_MAIL_BROKEN: {
            struct torc_guest *guest = guest_of(mail, offsetof(struct torc_peer, broken));
            end_guest(c, guest, guest->peer.why);
            break;
        }
        case TORC_MAIL_RELEASE:
            bury(c, guest_of(mail, offsetof(struct torc_peer, release)));
            break;
        case TORC_MAIL_EVENT: {
            struct torc_event *event = (struct torc_event *)(void *)mail;
            torc_log(c->log, TORC_LOG_NOTICE, "poller: connection %llu: %s",
                     (unsigned long long)event->connection_id, event->what);
            free(event);
            break;
        }
        }
    }
}
static_assert(offsetof(struct torc_event, mail) == 0, "found from its mail");

static void read_signal(struct torc_control *c)
{
    struct signalfd_siginfo info;
    if (read(c->signal_fd, &info, sizeof info) != sizeof info) {
        return;
    }
    if (info.ssi_signo == SIGHUP) {
        torc_log(c->log, TORC_LOG_NOTICE, "control: SIGHUP: nothing to do");
        return;
    }
    torc_log_always(c->log, "control: signal %u, stopping", info.ssi_signo);
    c->wants_stop = true;
}

static void handle(struct torc_control *c, struct torc_source *source)
{
    switch (source->kind) {
    case TORC_SOURCE_SIGNALS:
        read_signal(c);
        break;
    case TORC_SOURCE_STOP:
        c->wants_stop = true;
        break;
    case TORC_SOURCE_ATTACH_LISTENER:
        accept_from(c, c->attach_listener.fd, true);
        break;
    case TORC_SOURCE_RESP_LISTENER:
        for (unsigned i = 0; i < c->n_listeners; i++) {
            accept_from(c, c->listeners[i].fd, false);
        }
        break;
    case TORC_SOURCE_GUEST:
        read_guest(c, (struct torc_guest *)(void *)((uint8_t *)source -
                                                    offsetof(struct torc_guest, socket_source)));
        break;
    case TORC_SOURCE_GUEST_PROCESS: {
        struct torc_guest *guest =
            (struct torc_guest *)(void *)((uint8_t *)source -
                                          offsetof(struct torc_guest, process_source));
        if (guest->state != TORC_GUEST_LEAVING && guest->state != TORC_GUEST_DEAD) {
            end_guest(c, guest, "its process has ended");
        }
        break;
    }
    case TORC_SOURCE_MAIL: /* is looked at in every step */
    case TORC_SOURCE_DOORBELL:
    case TORC_SOURCE_CONNECTION:
        break;
    }
}

bool torc_control_step(struct torc_control *control, int timeout_ms)
{
    struct torc_control *c = control;
    uint64_t now_ns = torc_clock_monotonic_ns();
    if (c->paused_until_ns != 0 && now_ns >= c->paused_until_ns) {
        c->paused_until_ns = 0;
        watch_listeners(c, true);
    }
    uint64_t next_ns = expire_handshakes(c, now_ns);
    if (c->paused_until_ns != 0) {
        next_ns = torc_min_u64(next_ns, c->paused_until_ns);
    }
    if (next_ns != UINT64_MAX) {
        int ms = (int)((next_ns - now_ns) / 1000000u) + 1;
        timeout_ms = timeout_ms < 0 || ms < timeout_ms ? ms : timeout_ms;
    }
    bool did = read_mail(c);
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(c->epoll_fd, events, EVENTS_MAX, did ? 0 : timeout_ms);
    for (int i = 0; i < n; i++) {
        handle(c, events[i].data.ptr);
    }
    did |= read_mail(c);
    free_graves(c);
    return did || n > 0;
}

/* --- start and stop --- */

static void make_run_folder(const char *path)
{
    size_t len = strlen(TORC_SETTINGS_RUN_FOLDER);
    if (geteuid() == 0 && strncmp(path, TORC_SETTINGS_RUN_FOLDER, len) == 0 && path[len] == '/') {
        (void)mkdir(TORC_SETTINGS_RUN_FOLDER, 0755); /* if it cannot be made, listening says so */
    }
}

static int listen_attach(struct torc_control *c, char why[TORC_OPTION_ERROR_BYTES])
{
    struct torc_listener_unix_options options = {
        .path = c->settings->control_socket,
        .type = SOCK_SEQPACKET,
        .mode = CONTROL_MODE,
        .group = c->settings->control_socket_group,
        .backlog = CONTROL_BACKLOG,
    };
    make_run_folder(options.path);
    int rc = torc_listener_unix(&options, &c->attach_listener, why);
    if (rc == 0 &&
        torc_source_watch(c->epoll_fd, c->attach_listener.fd, &c->attach_source, 0) != 0) {
        SAY("cannot watch the control socket");
        rc = -ENOMEM;
    }
    return rc;
}

static int add_listener(struct torc_control *c, struct torc_listener listener,
                        char why[TORC_OPTION_ERROR_BYTES])
{
    c->listeners[c->n_listeners++] = listener;
    if (torc_source_watch(c->epoll_fd, listener.fd, &c->resp_source, 0) != 0) {
        SAY("cannot watch a listening socket");
        return -ENOMEM;
    }
    return 0;
}

static int listen_tcp(struct torc_control *c, char why[TORC_OPTION_ERROR_BYTES])
{
    char addresses[sizeof c->settings->bind];
    char *rest = NULL;
    int rc = 0;
    memcpy(addresses, c->settings->bind, sizeof addresses);
    for (char *address = strtok_r(addresses, " \t,", &rest); rc == 0 && address != NULL;
         address = strtok_r(NULL, " \t,", &rest)) {
        struct torc_listener listener;
        if (c->n_listeners == LISTENERS_MAX - 1) {
            SAY("bind has more than %d addresses", LISTENERS_MAX - 1);
            return -EINVAL;
        }
        rc = torc_listener_tcp(address, (int)c->settings->port, (int)c->settings->tcp_backlog,
                               &listener, why);
        if (rc == 0) {
            rc = add_listener(c, listener, why);
        }
    }
    return rc;
}

static int listen_resp(struct torc_control *c, char why[TORC_OPTION_ERROR_BYTES])
{
    int rc = c->settings->port != 0 ? listen_tcp(c, why) : 0;
    if (rc != 0 || c->settings->unixsocket[0] == '\0') {
        return rc;
    }
    struct torc_listener listener;
    struct torc_listener_unix_options options = {
        .path = c->settings->unixsocket,
        .type = SOCK_STREAM,
        .mode = (mode_t)strtoul(c->settings->unixsocketperm, NULL, 8),
        .group = "",
        .backlog = (int)c->settings->tcp_backlog,
    };
    rc = torc_listener_unix(&options, &listener, why);
    return rc == 0 ? add_listener(c, listener, why) : rc;
}

static int take_signals(struct torc_control *c, char why[TORC_OPTION_ERROR_BYTES])
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)signal(SIGPIPE, SIG_IGN);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) {
        SAY("cannot block signals");
        return -EINVAL;
    }
    c->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (c->signal_fd < 0 ||
        torc_source_watch(c->epoll_fd, c->signal_fd, &c->signal_source, EPOLLIN) != 0) {
        SAY("cannot take signals: %s", strerror(errno));
        return -EAGAIN;
    }
    return 0;
}

/* Room for the descriptors that the settings may need; with less, the rest is turned away. */
static void raise_descriptor_limit(struct torc_control *c)
{
    struct rlimit limit;
    rlim_t need = OWN_DESCRIPTORS + (rlim_t)c->settings->maxclients +
                  (rlim_t)c->settings->max_sessions * SESSION_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need) {
        return;
    }
    rlim_t wanted = need < limit.rlim_max ? need : limit.rlim_max;
    struct rlimit raised = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
    if (wanted <= limit.rlim_cur || setrlimit(RLIMIT_NOFILE, &raised) != 0) {
        wanted = limit.rlim_cur;
    }
    if (wanted < need) {
        torc_log(c->log, TORC_LOG_WARNING,
                 "control: the limit of open files is %llu; maxclients and max-sessions may need "
                 "%llu",
                 (unsigned long long)wanted, (unsigned long long)need);
    }
}

static int open_waiting(struct torc_control *c, char why[TORC_OPTION_ERROR_BYTES])
{
    int rc = torc_mailbox_init(&c->inbox);
    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    c->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (rc != 0 || c->epoll_fd < 0 || c->stop_fd < 0 || c->reserve_fd < 0) {
        SAY("out of descriptors");
        return -EAGAIN;
    }
    if (torc_source_watch(c->epoll_fd, c->inbox.wake_fd, &c->mail_source, EPOLLIN | EPOLLET) != 0 ||
        torc_source_watch(c->epoll_fd, c->stop_fd, &c->stop_source, EPOLLIN | EPOLLET) != 0) {
        SAY("cannot watch descriptors");
        return -ENOMEM;
    }
    return 0;
}

int torc_control_create(const struct torc_control_options *options,
                        struct torc_control **out_control, char why[TORC_OPTION_ERROR_BYTES])
{
    struct torc_control *c = aligned_alloc(64, torc_align_up(sizeof *c, 64));
    if (c == NULL) {
        SAY("no memory");
        return -ENOMEM;
    }
    memset(c, 0, sizeof *c);
    c->settings = options->settings;
    c->shared = options->shared;
    c->log = options->log;
    c->signal_fd = -1;
    c->attach_listener.fd = -1;
    c->mail_source.kind = TORC_SOURCE_MAIL;
    c->signal_source.kind = TORC_SOURCE_SIGNALS;
    c->stop_source.kind = TORC_SOURCE_STOP;
    c->attach_source.kind = TORC_SOURCE_ATTACH_LISTENER;
    c->resp_source.kind = TORC_SOURCE_RESP_LISTENER;
    raise_descriptor_limit(c);
    int rc = open_waiting(c, why);
    if (rc == 0 && options->takes_signals) {
        rc = take_signals(c, why);
    }
    if (rc == 0) {
        rc = listen_attach(c, why);
    }
    if (rc == 0) {
        rc = listen_resp(c, why);
    }
    if (rc != 0) {
        torc_control_destroy(c);
        return rc;
    }
    *out_control = c;
    return 0;
}

void torc_control_destroy(struct torc_control *control)
{
    struct torc_control *c = control;
    if (c == NULL) {
        return;
    }
    while (c->guests != NULL) {
        bury(c, c->guests);
    }
    free_graves(c);
    for (unsigned i = 0; i < c->n_listeners; i++) {
        torc_listener_close(&c->listeners[i]);
    }
    torc_listener_close(&c->attach_listener);
    const int fds[] = {c->epoll_fd, c->signal_fd, c->stop_fd, c->reserve_fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    torc_mailbox_fini(&c->inbox);
    free(c);
}

struct torc_mailbox *torc_control_inbox(struct torc_control *control)
{
    return &control->inbox;
}

void torc_control_serve(struct torc_control *control, struct torc_mailbox *poller, uint64_t epoch)
{
    const struct torc_settings *settings = control->settings;
    control->poller = poller;
    control->defaults = (struct torc_session_options){
        .slots = (uint32_t)settings->ring_slots,
        .request_area_bytes = (uint32_t)settings->ring_area_bytes,
        .reply_area_bytes = (uint32_t)settings->ring_area_bytes,
        .long_message_max = settings->session_long_message_max,
        .epoch = epoch,
        .features = torc_membarrier_is_usable() ? TORC_FEATURE_MEMBARRIER : 0,
    };
    watch_listeners(control, true);
}

bool torc_control_wants_stop(const struct torc_control *control)
{
    return control->wants_stop;
}

void torc_control_stop(struct torc_control *control)
{
    static const uint64_t one = 1;
    ssize_t n = write(control->stop_fd, &one, sizeof one);
    (void)n; /* a full counter has woken it already */
}

void torc_control_begin_stop(struct torc_control *control)
{
    struct torc_control *c = control;
    watch_listeners(c, false);
    c->paused_until_ns = 0;
    struct torc_guest *guest = c->guests;
    for (uint64_t i = c->n_guests; i > 0; i--) {
        struct torc_guest *after = guest->next;
        if (guest->state != TORC_GUEST_LEAVING) {
            end_guest(c, guest, "the server stops");
        }
        guest = after;
    }
    c->stop_mail.kind = TORC_MAIL_STOP;
    torc_mailbox_send(c->poller, &c->stop_mail);
}

bool torc_control_is_empty(const struct torc_control *control)
{
    return control->guests == NULL;
}
