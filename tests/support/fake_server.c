/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_server.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define IDLE_LOOKS_BEFORE_SLEEP 200
#define ANSWER_BYTES            4096u

struct field {
    struct field *next;
    size_t key_len, field_len, value_len;
    uint8_t bytes[]; /* key, field, value */
};

struct torc_fake_server {
    char folder[64];
    char path[96];
    int listener, wake;
    pthread_t thread;

    /* Under the lock; the thread holds it through each round, so a setter that has it is sure of
     * what the thread sees next. */
    pthread_mutex_t lock;
    struct torc_fake_options options;
    char refuse_text[TORC_HANDSHAKE_TEXT_BYTES];
    bool stops, held;
    int client; /* -1 none */
    struct torc_session *session;
    struct torc_hello hello;
    uint64_t answered;
    int64_t changed; /* by the last command that changes */
    struct field *fields;
    uint8_t *reply;
    size_t reply_cap;
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        perror(what);
        abort();
    }
}

/* --- the list --- */

static struct torc_slice key_of(const struct field *f)
{
    return torc_slice_of(f->bytes, f->key_len);
}
static struct torc_slice field_of(const struct field *f)
{
    return torc_slice_of(f->bytes + f->key_len, f->field_len);
}
static struct torc_slice value_of(const struct field *f)
{
    return torc_slice_of(f->bytes + f->key_len + f->field_len, f->value_len);
}

/* The link to the field, or to the end of the list. `field` NULL: any of the key. */
static struct field **find(struct torc_fake_server *server, struct torc_slice key,
                           const struct torc_slice *field)
{
    struct field **link = &server->fields;
    while (*link != NULL && !(torc_slice_equal(key_of(*link), key) &&
                              (field == NULL || torc_slice_equal(field_of(*link), *field)))) {
        link = &(*link)->next;
    }
    return link;
}

static bool take_away(struct field **link)
{
    struct field *gone = *link;
    if (gone == NULL) {
        return false;
    }
    *link = gone->next;
    free(gone);
    return true;
}

/* True if the field is new. */
static bool put(struct torc_fake_server *server, struct torc_slice key, struct torc_slice field,
                struct torc_slice value)
{
    bool is_new = !take_away(find(server, key, &field));
    struct field *f = malloc(sizeof *f + key.len + field.len + value.len);
    require(f != NULL, "malloc");
    *f = (struct field){.key_len = key.len, .field_len = field.len, .value_len = value.len};
    uint8_t *to = f->bytes;
    const struct torc_slice parts[] = {key, field, value};
    for (size_t i = 0; i < 3; i++) {
        memcpy(to, parts[i].data, parts[i].len);
        to += parts[i].len;
    }
    struct field **end = &server->fields;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = f;
    return is_new;
}

static uint32_t count(struct torc_fake_server *server, struct torc_slice key)
{
    uint32_t n = 0;
    for (struct field *f = server->fields; f != NULL; f = f->next) {
        n += torc_slice_equal(key_of(f), key);
    }
    return n;
}

static bool is_first_of_key(struct torc_fake_server *server, const struct field *f)
{
    return *find(server, key_of(f), NULL) == f;
}

static uint32_t count_keys(struct torc_fake_server *server)
{
    uint32_t n = 0;
    for (struct field *f = server->fields; f != NULL; f = f->next) {
        n += is_first_of_key(server, f);
    }
    return n;
}

static void remove_all(struct torc_fake_server *server)
{
    while (take_away(&server->fields)) {
    }
}

/* --- commands --- */

static void answer_value(struct torc_fake_server *server, const struct torc_request *request,
                         struct torc_reply_writer *w)
{
    const struct field *f = *find(server, request->strings[0], &request->strings[1]);
    if (f == NULL) {
        torc_reply_null(w);
    } else {
        torc_reply_bytes(w, value_of(f));
    }
}

static void answer_values(struct torc_fake_server *server, const struct torc_request *request,
                          struct torc_reply_writer *w)
{
    torc_reply_array_begin(w, TORC_REPLY_ARRAY, 0, request->n_strings - 1);
    for (uint32_t i = 1; i < request->n_strings; i++) {
        const struct field *f = *find(server, request->strings[0], &request->strings[i]);
        torc_reply_item(w, f != NULL ? value_of(f) : torc_slice_of(NULL, 0));
    }
}

static void answer_all(struct torc_fake_server *server, struct torc_slice key,
                       struct torc_reply_writer *w)
{
    torc_reply_array_begin(w, TORC_REPLY_PAIRS, 0, 2 * count(server, key));
    for (struct field *f = server->fields; f != NULL; f = f->next) {
        if (torc_slice_equal(key_of(f), key)) {
            torc_reply_item(w, field_of(f));
            torc_reply_item(w, value_of(f));
        }
    }
}

/* Two keys a page; the cursor counts keys. Options are ignored. */
static void answer_scan(struct torc_fake_server *server, const struct torc_request *request,
                        struct torc_reply_writer *w)
{
    uint64_t from = request->numbers[0];
    uint32_t n_keys = count_keys(server);
    uint32_t n = from < n_keys ? (uint32_t)torc_min_u64(2, n_keys - from) : 0;
    torc_reply_array_begin(w, TORC_REPLY_CURSOR, from + n < n_keys ? from + n : 0, n);
    uint64_t at = 0;
    for (struct field *f = server->fields; f != NULL; f = f->next) {
        if (is_first_of_key(server, f)) {
            if (at >= from && at < from + n) {
                torc_reply_item(w, key_of(f));
            }
            at++;
        }
    }
}

static int64_t change(struct torc_fake_server *server, const struct torc_request *request)
{
    int64_t n = 0;
    if (request->op == TORC_OP_HSET) {
        for (uint32_t i = 1; i + 1 < request->n_strings; i += 2) {
            n += put(server, request->strings[0], request->strings[i], request->strings[i + 1]);
        }
    } else if (request->op == TORC_OP_HDEL) {
        for (uint32_t i = 1; i < request->n_strings; i++) {
            n += take_away(find(server, request->strings[0], &request->strings[i]));
        }
    } else {
        for (uint32_t i = 0; i < request->n_strings; i++) {
            bool existed = false;
            while (take_away(find(server, request->strings[i], NULL))) {
                existed = true;
            }
            n += existed;
        }
    }
    return n;
}

/* `is_first`: changes are made once, also when the reply is built again in more memory. */
static void answer(struct torc_fake_server *server, const struct torc_request *request,
                   bool is_first, struct torc_reply_writer *w)
{
    const struct torc_slice *strings = request->strings;
    switch (request->op) {
    case TORC_OP_PING:
        if (request->n_strings > 0) {
            torc_reply_bytes(w, strings[0]);
        } else {
            torc_reply_text(w, torc_slice_str("PONG"));
        }
        break;
    case TORC_OP_ECHO:
        torc_reply_bytes(w, strings[0]);
        break;
    case TORC_OP_HSET:
    case TORC_OP_HDEL:
    case TORC_OP_DEL:
        if (is_first) {
            server->changed = change(server, request);
        }
        torc_reply_int(w, server->changed);
        break;
    case TORC_OP_HGET:
        answer_value(server, request, w);
        break;
    case TORC_OP_HMGET:
        answer_values(server, request, w);
        break;
    case TORC_OP_HGETALL:
        answer_all(server, strings[0], w);
        break;
    case TORC_OP_HLEN:
        torc_reply_int(w, count(server, strings[0]));
        break;
    case TORC_OP_HEXISTS:
        torc_reply_int(w, *find(server, strings[0], &strings[1]) != NULL);
        break;
    case TORC_OP_EXISTS: {
        int64_t n = 0;
        for (uint32_t i = 0; i < request->n_strings; i++) {
            n += count(server, strings[i]) > 0;
        }
        torc_reply_int(w, n);
        break;
    }
    case TORC_OP_TYPE:
        torc_reply_text(w, torc_slice_str(count(server, strings[0]) > 0 ? "hash" : "none"));
        break;
    case TORC_OP_SCAN:
        answer_scan(server, request, w);
        break;
    case TORC_OP_DBSIZE:
        torc_reply_int(w, count_keys(server));
        break;
    case TORC_OP_FLUSHALL:
        remove_all(server);
        torc_reply_ok(w);
        break;
    case TORC_OP_SELECT:
        torc_reply_ok(w);
        break;
    case TORC_OP_INFO:
        torc_reply_bytes(w, torc_slice_str("# Server\r\ntorc_version:fake\r\n"));
        break;
    default:
        torc_reply_error(w, TORC_WIRE_UNKNOWN_OP, "ERR unknown operation");
        break;
    }
}

/* --- the session --- */

static void drop_client(struct torc_fake_server *server)
{
    torc_session_destroy(server->session);
    server->session = NULL;
    if (server->client >= 0) {
        (void)close(server->client);
        server->client = -1;
    }
}

/* The reply in server->reply; its length. */
static size_t build_reply(struct torc_fake_server *server, const struct torc_taken *taken)
{
    size_t cap = taken->len; /* no more strings than bytes */
    struct torc_slice *strings = calloc(cap, sizeof *strings);
    require(strings != NULL, "calloc");
    struct torc_request request;
    struct torc_reply_writer w;
    int rc = torc_request_decode(taken->data, taken->len, strings, (uint32_t)cap, &request);
    torc_reply_begin(&w, server->reply, server->reply_cap, request.op, request.tag);
    if (rc == -ENOENT) {
        torc_reply_error(&w, TORC_WIRE_UNKNOWN_OP, "ERR unknown operation");
    } else if (rc != 0) {
        torc_reply_error(&w, TORC_WIRE_BAD_REQUEST, NULL);
    } else if (server->options.answer == NULL ||
               !server->options.answer(server->options.user, &request, &w)) {
        torc_reply_begin(&w, server->reply, server->reply_cap, request.op, request.tag);
        answer(server, &request, true, &w);
        if (w.overflow) {
            server->reply_cap = w.need;
            server->reply = realloc(server->reply, server->reply_cap);
            require(server->reply != NULL, "realloc");
            torc_reply_begin(&w, server->reply, server->reply_cap, request.op, request.tag);
            answer(server, &request, false, &w);
        }
    }
    if (torc_session_reply_room(server->session, w.len) == -EMSGSIZE) {
        torc_reply_begin(&w, server->reply, server->reply_cap, request.op, request.tag);
        torc_reply_error(&w, TORC_WIRE_TOO_LARGE, "ERR reply too large");
    }
    free(strings);
    return w.len;
}

/* Answer what is there. True if something was. A reply that finds no room now is built again later:
 * by then nothing else was executed, and changes have replies that always find room. */
static bool visit(struct torc_fake_server *server)
{
    struct torc_taken taken[TORC_SESSION_BATCH];
    int n = torc_session_take(server->session, taken, TORC_SESSION_BATCH);
    if (n < 0 || (n > 0 && server->options.dies_at_request)) {
        drop_client(server);
        return true;
    }
    int done = 0;
    while (done < n) {
        size_t len = build_reply(server, &taken[done]);
        if (torc_session_reply(server->session, server->reply, len) != 0) {
            break;
        }
        server->answered++;
        done++;
    }
    torc_session_wake(server->session);
    return done > 0;
}

/* --- attaching --- */

static bool send_mark(int client, enum torc_handshake_type type)
{
    struct torc_handshake_mark mark = torc_handshake_mark(type);
    return torc_handshake_send(client, &mark, sizeof mark, NULL, 0) == 0;
}

/* False: the client is dropped. */
static bool shake_hands(struct torc_fake_server *server)
{
    const struct torc_fake_options *options = &server->options;
    uint32_t area_bytes = options->area_bytes != 0 ? options->area_bytes : TORC_AREA_BYTES_MIN;
    struct torc_session_options session = {
        .slots = options->slots != 0 ? options->slots : 16,
        .request_area_bytes = area_bytes,
        .reply_area_bytes = area_bytes,
        .long_message_max = options->long_message_max != 0 ? options->long_message_max : TORC_MIB,
        .epoch = options->epoch != 0 ? options->epoch : 1,
        .features = TORC_FEATURE_MEMBARRIER,
    };
    uint8_t buffer[256];
    char why[TORC_HANDSHAKE_TEXT_BYTES];
    size_t len;
    int fds[TORC_SESSION_FDS] = {-1, -1, -1, -1};
    int client = server->client;
    if (torc_handshake_receive(client, buffer, sizeof buffer, fds, 0, &len) != 0) {
        return false;
    }
    int rc = torc_handshake_check_hello(buffer, len, &session, &server->hello, why);
    if (rc != 0) {
        torc_handshake_refuse(client, rc, why);
        return false;
    }
    switch (options->attach) {
    case TORC_FAKE_REFUSE:
        torc_handshake_refuse(client, options->refuse_error, server->refuse_text);
        return false;
    case TORC_FAKE_HANG_UP:
        return false;
    case TORC_FAKE_SILENT:
        return true; /* keeps the socket, has no session */
    case TORC_FAKE_BABBLE:
        return torc_handshake_send(client, "hello yourself", 14, NULL, 0) == 0;
    case TORC_FAKE_ACCEPT:
    case TORC_FAKE_NEXT_VERSION:
    case TORC_FAKE_OTHER_EPOCH:
    case TORC_FAKE_TWO_WELCOMES:
    case TORC_FAKE_REFUSE_MAPPED:
        break;
    }
    if (torc_session_create(&session, &server->session) != 0) {
        torc_handshake_refuse(client, -ENOMEM, "no memory");
        return false;
    }
    struct torc_welcome welcome = torc_handshake_welcome(&session, 7, 0, 1);
    welcome.version += options->attach == TORC_FAKE_NEXT_VERSION;
    welcome.epoch += options->attach == TORC_FAKE_OTHER_EPOCH;
    for (unsigned i = 0; i < TORC_SESSION_FDS; i++) {
        fds[i] = torc_session_fd(server->session, (enum torc_session_fd)i);
    }
    if (torc_handshake_send(client, &welcome, sizeof welcome, fds, TORC_SESSION_FDS) != 0 ||
        torc_handshake_receive(client, buffer, sizeof buffer, fds, 0, &len) != 0 ||
        !torc_handshake_is_mark(buffer, len, TORC_MAPPED)) {
        return false;
    }
    if (options->attach == TORC_FAKE_TWO_WELCOMES) {
        return torc_handshake_send(client, &welcome, sizeof welcome, NULL, 0) == 0;
    }
    if (options->attach == TORC_FAKE_REFUSE_MAPPED) {
        torc_handshake_refuse(client, options->refuse_error, server->refuse_text);
        return false;
    }
    rc = torc_session_seal(server->session);
    if (rc != 0) {
        torc_handshake_refuse(client, rc, "cannot seal");
        return false;
    }
    torc_session_close_memfds(server->session);
    return send_mark(client, TORC_READY);
}

static void accept_client(struct torc_fake_server *server)
{
    int client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    drop_client(server);
    struct timeval limit = {.tv_sec = 2};
    (void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    server->client = client;
    if (!shake_hands(server)) {
        drop_client(server);
    }
}

/* --- the thread --- */

/* Sockets; sleeps when `idle`. */
static void look_at_sockets(struct torc_fake_server *server, bool idle)
{
    struct torc_session *session = server->session;
    struct pollfd fds[] = {
        {.fd = server->listener, .events = POLLIN},
        {.fd = server->wake, .events = POLLIN},
        {.fd = server->client, .events = POLLIN | POLLRDHUP},
        {.fd = session != NULL ? torc_session_fd(session, TORC_FD_DOORBELL) : -1, .events = POLLIN},
    };
    if (idle && session != NULL) {
        torc_session_set_sleeping(session, true);
        idle = server->held || !torc_session_is_ready(session);
    }
    /* A setter may have the lock while this sleeps: it wakes us. */
    (void)pthread_mutex_unlock(&server->lock);
    int n = poll(fds, 4, idle ? 10 : 0);
    (void)sched_yield();
    (void)pthread_mutex_lock(&server->lock);
    if (server->session != session) {
        return; /* killed meanwhile */
    }
    if (session != NULL) {
        torc_session_set_sleeping(session, false);
    }
    if (n <= 0) {
        return;
    }
    uint64_t bell;
    if (fds[1].revents != 0) {
        require(read(server->wake, &bell, sizeof bell) == sizeof bell, "read");
    }
    if (fds[3].revents != 0 && read(fds[3].fd, &bell, sizeof bell) < 0) {
        perror("doorbell");
    }
    if ((fds[2].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        drop_client(server);
    }
    if (fds[0].revents != 0) {
        accept_client(server);
    }
}

static void *serve(void *argument)
{
    struct torc_fake_server *server = argument;
    unsigned idle_looks = 0;
    (void)pthread_mutex_lock(&server->lock);
    while (!server->stops) {
        bool busy = server->session != NULL && !server->held && visit(server);
        idle_looks = busy ? 0 : idle_looks + 1;
        if (!busy) {
            look_at_sockets(server,
                            idle_looks > IDLE_LOOKS_BEFORE_SLEEP || server->session == NULL);
        }
    }
    drop_client(server);
    (void)pthread_mutex_unlock(&server->lock);
    return NULL;
}

static void wake(struct torc_fake_server *server)
{
    uint64_t one = 1;
    require(write(server->wake, &one, sizeof one) == sizeof one, "write");
}

/* --- what tests call --- */

static void set_options(struct torc_fake_server *server, const struct torc_fake_options *options)
{
    uint64_t epoch = server->options.epoch;
    server->options = options != NULL ? *options : (struct torc_fake_options){0};
    if (server->options.epoch == 0) {
        server->options.epoch = epoch != 0 ? epoch : 1;
    }
    (void)snprintf(server->refuse_text, sizeof server->refuse_text, "%s",
                   server->options.refuse_text != NULL ? server->options.refuse_text : "");
}

struct torc_fake_server *torc_fake_server_start(const struct torc_fake_options *options)
{
    struct torc_fake_server *server = calloc(1, sizeof *server);
    require(server != NULL, "calloc");
    server->client = -1;
    server->reply_cap = ANSWER_BYTES;
    server->reply = malloc(server->reply_cap);
    require(server->reply != NULL, "malloc");
    set_options(server, options);
    (void)snprintf(server->folder, sizeof server->folder, "/tmp/torc-test-XXXXXX");
    require(mkdtemp(server->folder) != NULL, "mkdtemp");
    (void)snprintf(server->path, sizeof server->path, "%s/torc.sock", server->folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, server->path, strlen(server->path) + 1);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(server->listener >= 0, "socket");
    require(bind(server->listener, (const struct sockaddr *)&address, sizeof address) == 0, "bind");
    require(listen(server->listener, 8) == 0, "listen");
    server->wake = eventfd(0, EFD_CLOEXEC);
    require(server->wake >= 0, "eventfd");
    require(pthread_mutex_init(&server->lock, NULL) == 0, "mutex");
    require(pthread_create(&server->thread, NULL, serve, server) == 0, "thread");
    return server;
}

void torc_fake_server_stop(struct torc_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    server->stops = true;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
    (void)pthread_join(server->thread, NULL);
    remove_all(server);
    free(server->reply);
    (void)close(server->listener);
    (void)close(server->wake);
    (void)unlink(server->path);
    (void)rmdir(server->folder);
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *torc_fake_server_path(const struct torc_fake_server *server)
{
    return server->path;
}

void torc_fake_server_set(struct torc_fake_server *server, const struct torc_fake_options *options)
{
    (void)pthread_mutex_lock(&server->lock);
    set_options(server, options);
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
}

void torc_fake_server_hold(struct torc_fake_server *server, bool held)
{
    (void)pthread_mutex_lock(&server->lock);
    server->held = held;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
}

void torc_fake_server_kill(struct torc_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    drop_client(server);
    server->options.epoch++;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
}

uint64_t torc_fake_server_answered(struct torc_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    uint64_t answered = server->answered;
    (void)pthread_mutex_unlock(&server->lock);
    return answered;
}

struct torc_hello torc_fake_server_hello(struct torc_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    struct torc_hello hello = server->hello;
    (void)pthread_mutex_unlock(&server->lock);
    return hello;
}
