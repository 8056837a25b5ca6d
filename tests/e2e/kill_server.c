/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of a server under load, then a walk of the memory it left behind. Two client processes
 * write over rings and note in shared memory what was acknowledged; the parent holds the server's
 * arena memfd, kills the server at a random moment, maps the arena read-only, runs every checker
 * over it, and looks up every acknowledged write. Then it starts the server again and sees that
 * clients attach anew.
 *
 * Usage: e2e_kill_server TORCD [ROUNDS]
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/arena.h"
#include "hash/keyspace.h"
#include "tests/support/prng.h"
#include "torc/torc.h"

#define WRITERS       2
#define KEYS          64
#define FIELDS        64
#define WAIT_LIMIT_NS 60000000000ull
#define NS_PER_MS     1000000ull

/* What one writer knows of one field: the value acknowledged last, and the one sent but not
 * acknowledged (0 = the field is absent). */
struct cell {
    _Atomic uint32_t acknowledged;
    _Atomic uint32_t sent;
};
struct writer_log {
    _Atomic uint64_t n_acknowledged;
    struct cell cells[KEYS][FIELDS];
};

static struct writer_log *logs;

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

/* A value's text depends on its number alone; lengths vary so that records move, grow and are
 * cleaned. Some are large enough to promote the hash. */
static size_t value_text(uint32_t number, char *out)
{
    if (number % 4 == 3) {
        return (size_t)snprintf(out, 16, "%u", number); /* is kept in binary */
    }
    size_t len = number % 97 == 0 ? 40000 : 8 + number % 60;
    (void)snprintf(out, 16, "%08x", number);
    memset(out + 8, 'a' + (int)(number % 26), len - 8);
    return len;
}

static struct torc_bytes bytes(const char *text, size_t len)
{
    return (struct torc_bytes){text, len};
}

static _Noreturn void write_until_killed(const char *socket, unsigned writer, uint64_t seed)
{
    struct torc_options options = {.socket = socket, .name = "kill-server-writer"};
    struct torc *torc;
    const char *why = "";
    if (torc_open(&options, &torc, &why) != TORC_OK) {
        fail("writer attach", why);
    }
    static char value[65536];
    struct torc_prng prng = {seed + writer};
    struct writer_log *own = &logs[writer];
    for (;;) {
        unsigned k = (unsigned)torc_prng_below(&prng, KEYS);
        unsigned f = (unsigned)torc_prng_below(&prng, FIELDS);
        char key[32];
        char field[32];
        size_t key_len = (size_t)snprintf(key, sizeof key, "writer:%u:key:%u", writer, k);
        size_t field_len = (size_t)snprintf(field, sizeof field, "field-%u", f);
        struct cell *cell = &own->cells[k][f];
        uint32_t number =
            torc_prng_below(&prng, 5) == 0 ? 0 : 1 + (uint32_t)torc_prng_below(&prng, 1u << 30);
        atomic_store(&cell->sent, number);
        int64_t done;
        if (number == 0) {
            struct torc_bytes name = bytes(field, field_len);
            done = torc_hdel(torc, bytes(key, key_len), &name, 1);
        } else {
            done = torc_hset(torc, bytes(key, key_len), bytes(field, field_len),
                             bytes(value, value_text(number, value)));
        }
        if (done == TORC_EPIPE) {
            _exit(EXIT_SUCCESS); /* the server died, as planned: this write's outcome is unknown */
        }
        if (done < 0) {
            fail("write", torc_error_text(torc));
        }
        atomic_store(&cell->acknowledged, number);
        atomic_fetch_add(&own->n_acknowledged, 1);
    }
}

static pid_t start_server(const char *torcd, const char *folder, const char *socket)
{
    pid_t pid = fork();
    if (pid == 0) {
        char log[256];
        (void)snprintf(log, sizeof log, "%s/log", folder);
        (void)execl(torcd, torcd, "--port", "0", "--control-socket", socket, "--logfile", log,
                    (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Attach within the limit, waiting for the server to come up. */
static struct torc *attach(const char *socket)
{
    struct torc_options options = {.socket = socket};
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

/* A descriptor of our own for the server's arena, so that the memory outlives it. */
static int hold_arena(pid_t server)
{
    char folder[64];
    (void)snprintf(folder, sizeof folder, "/proc/%d/fd", (int)server);
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return -1;
    }
    int held = -1;
    for (struct dirent *entry; held < 0 && (entry = readdir(dir)) != NULL;) {
        char target[128];
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (n > 0) {
            target[n] = '\0';
            if (strncmp(target, "/memfd:torc-arena-0", strlen("/memfd:torc-arena-0")) == 0) {
                held = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
            }
        }
    }
    (void)closedir(dir);
    return held;
}

/* Every acknowledged write is there; a field with a write in flight may also show that one. */
static void look_up_all(const struct torc_keyspace *keyspace)
{
    static char expected[65536];
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        for (unsigned k = 0; k < KEYS; k++) {
            char name[32];
            size_t name_len = (size_t)snprintf(name, sizeof name, "writer:%u:key:%u", writer, k);
            struct torc_key key = torc_keyspace_key(keyspace, torc_slice_of(name, name_len));
            for (unsigned f = 0; f < FIELDS; f++) {
                char field[32];
                size_t field_len = (size_t)snprintf(field, sizeof field, "field-%u", f);
                const struct cell *cell = &logs[writer].cells[k][f];
                const uint32_t allowed[2] = {atomic_load(&cell->acknowledged),
                                             atomic_load(&cell->sent)};
                struct torc_value value;
                int found = torc_hash_get(keyspace, &key, torc_slice_of(field, field_len), &value);
                bool matches = false;
                for (unsigned i = 0; i < 2 && !matches; i++) {
                    matches =
                        allowed[i] == 0
                            ? found == 0
                            : found == 1 &&
                                  torc_slice_equal(
                                      value.text,
                                      torc_slice_of(expected, value_text(allowed[i], expected)));
                }
                if (!matches) {
                    char what[128];
                    (void)snprintf(what, sizeof what,
                                   "%s %s: found %d, acknowledged %08x, sent %08x", name, field,
                                   found, allowed[0], allowed[1]);
                    fail("acknowledged write lost", what);
                }
            }
        }
    }
}

/* Returns true if the arena said that an operation was half done. */
static bool walk_dead_arena(int fd)
{
    struct torc_arena *arena;
    int error = torc_arena_open_fd(fd, &arena);
    if (error != 0) {
        fail("open the dead arena", strerror(-error));
    }
    bool in_flight = torc_arena_in_flight(arena) != 0;
    const char *why = "";
    if (!in_flight) {
        if (torc_arena_check(arena, &why) != 0) {
            fail("arena check", why);
        }
        const struct torc_hash_limits limits = TORC_HASH_LIMITS_DEFAULT;
        struct torc_keyspace *keyspace;
        if (torc_keyspace_open(arena, 0, &limits, &keyspace) != 0) {
            fail("keyspace", "cannot be opened in the dead arena");
        }
        if (torc_keyspace_check(keyspace, &why) != 0) {
            fail("keyspace check", why);
        }
        look_up_all(keyspace);
        torc_keyspace_close(keyspace);
    }
    torc_arena_destroy(arena);
    return in_flight;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s TORCD [ROUNDS]\n", argv[0]);
        return 2;
    }
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
    uint64_t seed = torc_test_seed(20);
    struct torc_prng prng = {seed};
    char folder[] = "/tmp/torc-kill-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        fail("mkdtemp", "no scratch folder");
    }
    char socket[64];
    (void)snprintf(socket, sizeof socket, "%s/torc.sock", folder);
    logs = mmap(NULL, sizeof *logs * WRITERS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (logs == MAP_FAILED) {
        fail("mmap", "no shared memory");
    }
    unsigned half_done = 0;
    uint64_t acknowledged = 0;
    for (unsigned round = 0; round < rounds; round++) {
        memset(logs, 0, sizeof *logs * WRITERS);
        pid_t server = start_server(argv[1], folder, socket);
        struct torc *torc = attach(socket);
        int arena = hold_arena(server);
        if (arena < 0) {
            fail("the server's arena", "no memfd of that name");
        }
        pid_t writers[WRITERS];
        for (unsigned w = 0; w < WRITERS; w++) {
            writers[w] = fork();
            if (writers[w] == 0) {
                write_until_killed(socket, w, torc_prng_next(&prng));
            }
            (void)torc_prng_next(&prng);
        }
        /* The moment of the kill is a number of acknowledged writes, not a time. */
        uint64_t target = 500 + torc_prng_below(&prng, 4000);
        uint64_t limit = now_ns() + WAIT_LIMIT_NS;
        while (atomic_load(&logs[0].n_acknowledged) + atomic_load(&logs[1].n_acknowledged) <
               target) {
            if (now_ns() > limit) {
                fail("writers", "no progress");
            }
            (void)sched_yield();
        }
        (void)kill(server, SIGKILL);
        (void)waitpid(server, NULL, 0);
        for (unsigned w = 0; w < WRITERS; w++) {
            int status;
            if (waitpid(writers[w], &status, 0) < 0 || !WIFEXITED(status) ||
                WEXITSTATUS(status) != EXIT_SUCCESS) {
                fail("writer", "did not see the server's death as TORC_EPIPE");
            }
            acknowledged += atomic_load(&logs[w].n_acknowledged);
        }
        if (torc_ping(torc) != TORC_EPIPE) {
            fail("idle client", "did not see the server's death");
        }
        half_done += walk_dead_arena(arena);
        (void)close(arena);

        uint64_t old_epoch = torc_epoch(torc);
        pid_t next = start_server(argv[1], folder, socket);
        limit = now_ns() + WAIT_LIMIT_NS;
        while (torc_reattach(torc) != TORC_OK) {
            if (now_ns() > limit) {
                fail("reattach", torc_error_text(torc));
            }
            (void)sched_yield();
        }
        if (torc_epoch(torc) == old_epoch || torc_ping(torc) != TORC_OK || torc_dbsize(torc) != 0) {
            fail("reattach", "not a new, empty server");
        }
        torc_close(torc);
        (void)kill(next, SIGTERM);
        int status;
        if (waitpid(next, &status, 0) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status) != EXIT_SUCCESS) {
            fail("server", "SIGTERM did not end it cleanly");
        }
    }
    char log[128];
    (void)snprintf(log, sizeof log, "%s/log", folder);
    (void)unlink(log);
    (void)unlink(socket);
    (void)rmdir(folder);
    printf(
        "%u kills, %llu acknowledged writes all found, %u arenas said an operation was half done\n",
        rounds, (unsigned long long)acknowledged, half_done);
    if (half_done == rounds) {
        fail("every kill", "hit an operation: nothing was checked");
    }
    return EXIT_SUCCESS;
}
