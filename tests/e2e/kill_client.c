/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of ring clients, round after round, each at a random moment of one of the things that a
 * client can be in the middle of. Two innocent clients, one on a ring and one on RESP, write and
 * read back all the while; each takes part in every round, sees only right answers, and loses no
 * acknowledged write. What the server holds (descriptors, sessions, memory, pages) is the same at
 * the end as it was after the first rounds.
 *
 * Usage: e2e_kill_client TORCD [ROUNDS]
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/prng.h"
#include "torc/torc.h"

#define INNOCENTS     2
#define FIELDS        256
#define WARM_ROUNDS   50u /* after which nothing may grow any more */
#define LONG_BYTES    ((size_t)1 << 20)
#define WAIT_LIMIT_NS 60000000000ull
#define ROUND_SAMPLE  50u

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif
/* How far resident memory may move. Private: the poller keeps a buffer of up to 4 MiB for replies,
 * which grows when a client asks for a long one, and pages of malloc come and go; a sanitizer keeps
 * what was freed for a while. Shared: the arena keeps 4 MiB of free pages, and dead records wait
 * for the cleaner. */
#ifdef HAS_SANITIZER
#define PRIVATE_SLACK ((uint64_t)512 << 20)
#else
#define PRIVATE_SLACK ((uint64_t)5 << 20)
#endif
#define SHARED_SLACK ((uint64_t)10 << 20)
/* How far the data's memory may move: values of one size are replaced all the time, and the old
 * ones wait for the cleaner. */
#define USED_SLACK ((uint64_t)1 << 20)

/* What a victim is killed in the middle of. */
enum moment {
    MOMENT_CONNECTED, /* to the control socket, no word said */
    MOMENT_ATTACHING,
    MOMENT_IDLE,
    MOMENT_WINDOW_FULL,  /* every slot holds a request; no reply is taken */
    MOMENT_LONG_REQUEST, /* pushed part by part */
    MOMENT_LONG_REPLY,   /* pulled part by part */
    MOMENT_LONG_REPLIES_UNREAD,
    MOMENTS
};

struct innocent_log {
    _Atomic uint64_t n_done; /* writes acknowledged and read back */
    _Atomic uint32_t acknowledged[FIELDS];
};

struct board {
    _Atomic bool is_over;
    _Atomic bool is_reached; /* by the victim of this round: its moment has begun */
    struct innocent_log innocents[INNOCENTS];
};

struct place {
    char folder[64];
    char control[96];
    char resp[96];
    char log[96];
};

struct holdings {
    uint64_t descriptors, sessions, half_open, used, resident_private, resident_shared;
};

static struct board *board;
static struct place place;

static _Noreturn void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "FAILED: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct torc *attach(const char *name)
{
    struct torc_options options = {
        .socket = place.control, .name = name, .deadline_ns = WAIT_LIMIT_NS};
    uint64_t limit = now_ns() + WAIT_LIMIT_NS;
    const char *why = "";
    while (now_ns() < limit) {
        struct torc *torc;
        if (torc_open(&options, &torc, &why) == TORC_OK) {
            return torc;
        }
        (void)sched_yield();
    }
    fail("attach", why);
}

/* A failure ends the parent at once; nothing is to stay behind. */
static pid_t fork_child(void)
{
    pid_t pid = fork();
    if (pid < 0) {
        fail("fork", "no process");
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return pid;
}

static int connect_to(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        fail("connect", path);
    }
    return fd;
}

/* --- innocents --- */

struct innocent {
    const char *key;
    struct torc *torc; /* NULL: on RESP, */
    int fd;            /* over this */
};

/* Send a line and compare what comes. */
static void expect_resp(int fd, const char *request, const char *reply)
{
    char got[64] = "";
    size_t len = strlen(request);
    size_t want = strlen(reply);
    size_t have = 0;
    if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len) {
        fail(request, "not sent");
    }
    while (have < want) {
        ssize_t n = recv(fd, got + have, want - have, 0);
        if (n <= 0) {
            fail(request, "the connection ended");
        }
        have += (size_t)n;
    }
    if (memcmp(got, reply, want) != 0) {
        fail(request, got);
    }
}

static void set_field(const struct innocent *innocent, unsigned field, uint32_t number, bool is_new)
{
    char name[16];
    char value[16];
    char line[128];
    (void)snprintf(name, sizeof name, "field-%03u", field);
    (void)snprintf(value, sizeof value, "value%08x", number);
    if (innocent->torc == NULL) {
        (void)snprintf(line, sizeof line, "HSET %s %s %s\r\n", innocent->key, name, value);
        expect_resp(innocent->fd, line, is_new ? ":1\r\n" : ":0\r\n");
    } else if (torc_hset(innocent->torc, torc_str(innocent->key), torc_str(name),
                         torc_str(value)) != is_new) {
        fail("innocent HSET", torc_error_text(innocent->torc));
    }
}

static void expect_field(const struct innocent *innocent, unsigned field, uint32_t number)
{
    char name[16];
    char value[16];
    char line[128];
    char reply[64];
    (void)snprintf(name, sizeof name, "field-%03u", field);
    (void)snprintf(value, sizeof value, "value%08x", number);
    if (innocent->torc == NULL) {
        (void)snprintf(line, sizeof line, "HGET %s %s\r\n", innocent->key, name);
        (void)snprintf(reply, sizeof reply, "$13\r\n%s\r\n", value);
        expect_resp(innocent->fd, line, reply);
        return;
    }
    struct torc_bytes got;
    if (torc_hget(innocent->torc, torc_str(innocent->key), torc_str(name), &got) != 1 ||
        got.len != strlen(value) || memcmp(got.data, value, got.len) != 0) {
        fail("innocent HGET: not what was acknowledged", torc_error_text(innocent->torc));
    }
}

static _Noreturn void be_innocent(unsigned which, uint64_t seed)
{
    struct innocent innocent = {.key = which == 0 ? "innocent:ring" : "innocent:resp", .fd = -1};
    struct innocent_log *log = &board->innocents[which];
    struct torc_prng prng = {seed};
    if (which == 0) {
        innocent.torc = attach("innocent");
    } else {
        innocent.fd = connect_to(place.resp, SOCK_STREAM);
    }
    for (unsigned field = 0; field < FIELDS; field++) {
        set_field(&innocent, field, 0, true);
    }
    while (!atomic_load(&board->is_over)) {
        unsigned field = (unsigned)torc_prng_below(&prng, FIELDS);
        uint32_t number = (uint32_t)torc_prng_next(&prng);
        set_field(&innocent, field, number, false);
        atomic_store(&log->acknowledged[field], number);
        unsigned other = (unsigned)torc_prng_below(&prng, FIELDS);
        expect_field(&innocent, other, atomic_load(&log->acknowledged[other]));
        atomic_fetch_add(&log->n_done, 1);
    }
    for (unsigned field = 0; field < FIELDS; field++) {
        expect_field(&innocent, field, atomic_load(&log->acknowledged[field]));
    }
    torc_close(innocent.torc);
    _exit(EXIT_SUCCESS);
}

/* --- victims --- */

static _Noreturn void wait_for_death(void)
{
    for (;;) {
        (void)pause();
    }
}

static _Noreturn void be_victim(enum moment moment)
{
    static char text[LONG_BYTES];
    struct torc *torc = NULL;
    struct torc_result result;
    memset(text, 'v', sizeof text);
    if (moment == MOMENT_CONNECTED) {
        (void)connect_to(place.control, SOCK_SEQPACKET);
        atomic_store(&board->is_reached, true);
        wait_for_death();
    }
    if (moment == MOMENT_ATTACHING) {
        atomic_store(&board->is_reached, true);
    }
    torc = attach("victim");
    const struct torc_bytes value[2] = {torc_str("f"), torc_mem(text, sizeof text)};
    atomic_store(&board->is_reached, true);
    switch (moment) {
    case MOMENT_WINDOW_FULL:
        for (uint64_t i = 0; i < torc_slots(torc); i++) {
            (void)torc_submit_hget(torc, i, torc_str("innocent:ring"), torc_str("field-001"));
        }
        break;
    case MOMENT_LONG_REQUEST:
        for (;;) {
            (void)torc_hset_many(torc, torc_str("victim"), value, 1);
        }
    case MOMENT_LONG_REPLY:
        for (;;) {
            (void)torc_hgetall(torc, torc_str("large"), &result);
        }
    case MOMENT_LONG_REPLIES_UNREAD:
        while (torc_outstanding(torc) < 8) {
            (void)torc_submit_hget(torc, 1, torc_str("large"), torc_str("f"));
        }
        break;
    case MOMENT_CONNECTED:
    case MOMENT_ATTACHING:
    case MOMENT_IDLE:
    case MOMENTS:
        break;
    }
    wait_for_death();
}

/* --- the server, seen from outside --- */

static pid_t start_server(const char *torcd)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        (void)execl(torcd, torcd, "--port", "0", "--control-socket", place.control, "--unixsocket",
                    place.resp, "--logfile", place.log, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static uint64_t count_descriptors(pid_t server)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)server);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        fail("server", "it has ended");
    }
    uint64_t n = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(dir);
    return n;
}

/* A line of /proc/PID/status, such as RssAnon, in bytes. */
static uint64_t resident_bytes(pid_t server, const char *name)
{
    char path[64];
    char line[128];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)server);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail("server", "it has ended");
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtoull(line + strlen(name) + 1, NULL, 10);
        }
    }
    (void)fclose(file);
    return kib << 10;
}

static uint64_t info_number(const char *text, const char *field)
{
    char name[64];
    (void)snprintf(name, sizeof name, "\n%s:", field);
    const char *at = strstr(text, name);
    if (at == NULL) {
        fail("INFO has no", field);
    }
    return strtoull(at + strlen(name), NULL, 10);
}

static void look(pid_t server, struct torc *torc, struct holdings *out_holdings)
{
    static char text[16384];
    struct torc_result result;
    const struct torc_bytes words[] = {torc_str("INFO"), torc_str("all")};
    if (torc_command(torc, words, 2, &result) != TORC_OK || result.kind != TORC_STRING ||
        result.string.len >= sizeof text) {
        fail("INFO", torc_error_text(torc));
    }
    memcpy(text, result.string.data, result.string.len);
    text[result.string.len] = '\0';
    *out_holdings = (struct holdings){
        .descriptors = count_descriptors(server),
        .sessions = info_number(text, "ring_sessions"),
        .half_open = info_number(text, "ring_sessions_half_open"),
        .used = info_number(text, "used_memory"),
        .resident_private = resident_bytes(server, "RssAnon"),
        .resident_shared = resident_bytes(server, "RssShmem"),
    };
}

/* Until the dead are gone: the sessions and descriptors are again those of the living. */
static void settle(pid_t server, struct torc *torc, const struct holdings *base,
                   struct holdings *out_holdings)
{
    const struct torc_bytes key = torc_str("victim");
    uint64_t limit = now_ns() + WAIT_LIMIT_NS;
    *out_holdings = (struct holdings){0};
    do {
        if (now_ns() > limit) {
            char text[128];
            (void)snprintf(
                text, sizeof text, "%llu descriptors and %llu sessions, %llu and %llu before",
                (unsigned long long)out_holdings->descriptors,
                (unsigned long long)out_holdings->sessions, (unsigned long long)base->descriptors,
                (unsigned long long)base->sessions);
            fail("the dead have left something", text);
        }
        (void)sched_yield();
        look(server, torc, out_holdings);
    } while (out_holdings->sessions != base->sessions || out_holdings->half_open != 0 ||
             out_holdings->descriptors != base->descriptors);
    if (torc_del(torc, &key, 1) < 0) {
        fail("DEL", torc_error_text(torc));
    }
    look(server, torc, out_holdings);
}

/* Each innocent has got on since `before`. */
static void wait_for_innocents(const uint64_t before[INNOCENTS])
{
    uint64_t limit = now_ns() + WAIT_LIMIT_NS;
    for (unsigned i = 0; i < INNOCENTS; i++) {
        while (atomic_load(&board->innocents[i].n_done) <= before[i]) {
            if (now_ns() > limit) {
                fail(i == 0 ? "innocent on a ring" : "innocent on RESP", "no progress");
            }
            (void)sched_yield();
        }
    }
}

static void kill_one(struct torc_prng *prng, enum moment moment)
{
    uint64_t before[INNOCENTS];
    for (unsigned i = 0; i < INNOCENTS; i++) {
        before[i] = atomic_load(&board->innocents[i].n_done);
    }
    atomic_store(&board->is_reached, false);
    pid_t victim = fork_child();
    if (victim == 0) {
        be_victim(moment);
    }
    while (!atomic_load(&board->is_reached)) {
        if (waitpid(victim, NULL, WNOHANG) != 0) {
            fail("victim", "it ended by itself");
        }
        (void)sched_yield();
    }
    for (uint64_t n = torc_prng_below(prng, 40); n > 0; n--) {
        (void)sched_yield();
    }
    (void)kill(victim, SIGKILL);
    (void)waitpid(victim, NULL, 0);
    wait_for_innocents(before);
}

static void compare(const char *what, uint64_t now, uint64_t then, uint64_t slack)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%llu, was %llu after the first rounds",
                   (unsigned long long)now, (unsigned long long)then);
    if (now > then + slack) {
        fail(what, text);
    }
}

static void make_place(void)
{
    (void)snprintf(place.folder, sizeof place.folder, "/tmp/torc-kill-XXXXXX");
    if (mkdtemp(place.folder) == NULL) {
        fail("mkdtemp", "no scratch folder");
    }
    (void)snprintf(place.control, sizeof place.control, "%s/ring", place.folder);
    (void)snprintf(place.resp, sizeof place.resp, "%s/resp", place.folder);
    (void)snprintf(place.log, sizeof place.log, "%s/log", place.folder);
}

static void remove_place(void)
{
    (void)unlink(place.log);
    (void)unlink(place.control);
    (void)unlink(place.resp);
    (void)rmdir(place.folder);
}

static void expect_success(pid_t process, const char *what)
{
    int status;
    if (waitpid(process, &status, 0) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) != EXIT_SUCCESS) {
        fail(what, "did not end cleanly");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s TORCD [ROUNDS]\n", argv[0]);
        return 2;
    }
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
    struct torc_prng prng = {torc_test_seed(21)};
    make_place();
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        fail("mmap", "no shared memory");
    }
    pid_t server = start_server(argv[1]);
    struct torc *torc = attach("parent");
    static char text[LONG_BYTES];
    memset(text, 'l', sizeof text);
    if (torc_hset(torc, torc_str("large"), torc_str("f"), torc_mem(text, sizeof text)) != 1) {
        fail("HSET", torc_error_text(torc));
    }
    pid_t innocents[INNOCENTS];
    for (unsigned i = 0; i < INNOCENTS; i++) {
        innocents[i] = fork_child();
        if (innocents[i] == 0) {
            be_innocent(i, torc_prng_next(&prng));
        }
    }
    wait_for_innocents((uint64_t[INNOCENTS]){0});
    struct holdings base;
    struct holdings warm = {0};
    struct holdings last;
    look(server, torc, &base);
    for (unsigned round = 1; round <= rounds; round++) {
        kill_one(&prng, (enum moment)(round % MOMENTS));
        if (round % ROUND_SAMPLE != 0 && round != rounds) {
            continue;
        }
        settle(server, torc, &base, &last);
        if (round == WARM_ROUNDS) {
            warm = last;
        } else if (round > WARM_ROUNDS) {
            compare("used memory", last.used, warm.used, USED_SLACK);
            compare("private memory", last.resident_private, warm.resident_private, PRIVATE_SLACK);
            compare("shared memory", last.resident_shared, warm.resident_shared, SHARED_SLACK);
        }
        if (round == WARM_ROUNDS || round == rounds) {
            printf("after %u kills: %llu descriptors, %llu sessions, used %llu, "
                   "private %llu, shared %llu\n",
                   round, (unsigned long long)last.descriptors, (unsigned long long)last.sessions,
                   (unsigned long long)last.used, (unsigned long long)last.resident_private,
                   (unsigned long long)last.resident_shared);
        }
    }
    atomic_store(&board->is_over, true);
    for (unsigned i = 0; i < INNOCENTS; i++) {
        expect_success(innocents[i], i == 0 ? "innocent on a ring" : "innocent on RESP");
        printf("innocent on %s: %llu writes, each found\n", i == 0 ? "a ring" : "RESP",
               (unsigned long long)atomic_load(&board->innocents[i].n_done));
    }
    torc_close(torc);
    (void)kill(server, SIGTERM);
    expect_success(server, "server");
    remove_place();
    return EXIT_SUCCESS;
}
