/* SPDX-License-Identifier: Apache-2.0
 *
 * A service that says that it is there, and survives a restart of the server.
 *
 *   presence [SOCKET [NAME [BEATS [REGISTRATIONS]]]]
 *
 * Registers as the hash "presence:NAME" and counts a heartbeat in it, BEATS times (default 100).
 * When the server goes away it attaches again; when that is another run of the server, which has no
 * data of the one before, it registers anew and begins to count again. It ends after BEATS
 * heartbeats of registration number REGISTRATIONS (default 1) or a later one.
 *
 * All writes say what is, not what to add: one with an unknown outcome can simply be repeated.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <torc/torc.h>

#define KEY_BYTES       128
#define ATTEMPTS        200
#define NS_PER_ATTEMPT  50000000
#define NS_PER_BEAT     10000000
#define MAX_BEAT_FAULTS 3

struct presence {
    struct torc *torc;
    struct torc_bytes key;
    uint64_t epoch; /* of the run of the server that knows us */
    unsigned registrations;
};

static void pause_ns(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};
    (void)nanosleep(&pause, NULL);
}

static int register_service(struct presence *presence)
{
    char pid[24];
    char since[24];
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    (void)snprintf(since, sizeof since, "%lld", (long long)time(NULL));
    const struct torc_bytes pairs[] = {torc_str("pid"), torc_str(pid),     torc_str("since"),
                                       torc_str(since), torc_str("beats"), torc_str("0")};
    int64_t rc = torc_hset_many(presence->torc, presence->key, pairs, 3);
    if (rc < 0) {
        return (int)rc;
    }
    presence->epoch = torc_epoch(presence->torc);
    presence->registrations++;
    printf("registered with run %" PRIx64 " of the server\n", presence->epoch);
    (void)fflush(stdout);
    return TORC_OK;
}

/* One heartbeat; registers first where nobody knows us. */
static int beat(struct presence *presence, unsigned *n_beats)
{
    if (presence->epoch != torc_epoch(presence->torc)) {
        int rc = register_service(presence);
        if (rc != TORC_OK) {
            return rc;
        }
        *n_beats = 0;
    }
    char count[16];
    (void)snprintf(count, sizeof count, "%u", *n_beats + 1);
    int rc = torc_hset(presence->torc, presence->key, torc_str("beats"), torc_str(count));
    if (rc < 0) {
        return rc;
    }
    ++*n_beats;
    return TORC_OK;
}

/* After an error: can we go on? */
static bool recover(struct presence *presence, int error)
{
    struct torc *torc = presence->torc;
    (void)fprintf(stderr, "%s: %s\n", torc_error_name(error), torc_error_text(torc));
    if (error == TORC_ETIMEDOUT || error == TORC_EAGAIN) {
        return true; /* slow, not gone: the handle is good, and the next beat says the same */
    }
    if (error != TORC_EPIPE && error != TORC_EBADMSG) {
        return false; /* WRONGTYPE, out of memory, ...: trying again would not help */
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (torc_reattach(torc) == TORC_OK) {
            return true; /* beat() sees whether it is another run */
        }
        pause_ns(NS_PER_ATTEMPT);
    }
    (void)fprintf(stderr, "%s\n", torc_error_text(torc));
    return false;
}

static bool keep_beating(struct presence *presence, unsigned max_beats, unsigned max_registrations)
{
    unsigned n_beats = 0;
    unsigned n_faults = 0; /* in a row */
    while (n_beats < max_beats || presence->registrations < max_registrations) {
        int rc = beat(presence, &n_beats);
        n_faults = rc == TORC_OK ? 0 : n_faults + 1;
        if (rc != TORC_OK && (n_faults > MAX_BEAT_FAULTS || !recover(presence, rc))) {
            return false;
        }
        pause_ns(NS_PER_BEAT);
    }
    printf("%u beats\n", n_beats);
    return true;
}

int main(int argc, char **argv)
{
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "presence:%s", argc > 2 ? argv[2] : "example");
    unsigned max_beats = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 100;
    unsigned max_registrations = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
    struct torc_options options = {
        .socket = argc > 1 ? argv[1] : NULL,
        .name = "presence",
        .deadline_ns = 1000000000, /* a heartbeat that takes a second is of no use */
    };
    struct presence presence = {.key = torc_str(key)};
    const char *why;
    if (torc_open(&options, &presence.torc, &why) != TORC_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    bool done = keep_beating(&presence, max_beats, max_registrations);
    torc_close(presence.torc);
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
