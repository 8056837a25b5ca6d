/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of login sessions, each of which ends by itself.
 *
 *   sessions [SOCKET] <commands
 *
 * A user is the hash "session:USER", and each device on which the user is logged in a field of it
 * with a time of its own; the hash goes with the last of them. A line is one command:
 *
 *   login USER DEVICE MS   the session lasts MS milliseconds, unless there is one already
 *   check USER DEVICE MS   is the session good? It lasts MS milliseconds from now on, then
 *   logout USER DEVICE     end the session
 *   devices USER           how many sessions are there?
 *
 * Wrong lines are reported with their number, and the others done.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <torc/torc.h>

#define LINE_BYTES 256
#define KEY_BYTES  (LINE_BYTES + 16)
#define WORDS_MAX  4

struct request {
    const char *user;
    const char *device; /* NULL where the command has none */
    int64_t ms;
    struct torc_bytes key;
};

/* --- commands: 0 or a negative error of libtorc --- */

static int login(struct torc *torc, const struct request *request)
{
    const struct torc_bytes pair[] = {torc_str(request->device), torc_str("in")};
    /* Field and time in one step: no session without an end is ever seen. */
    int rc = torc_hsetex(torc, request->key, pair, 1, request->ms, TORC_FLAG_FNX | TORC_FLAG_PX);
    if (rc >= 0) {
        printf("%s: %s %s\n", request->user, rc == 1 ? "logged in on" : "already on",
               request->device);
    }
    return rc < 0 ? rc : TORC_OK;
}

static int check(struct torc *torc, const struct request *request)
{
    const struct torc_bytes field = torc_str(request->device);
    struct torc_bytes value;
    /* In one step, too: a session that is found cannot end before it is made longer. */
    int64_t rc = torc_hgetex(torc, request->key, &field, 1, request->ms, TORC_FLAG_PX, &value);
    if (rc >= 0) {
        printf("%s: %s is %s\n", request->user, request->device, rc == 1 ? "good" : "unknown");
    }
    return rc < 0 ? (int)rc : TORC_OK;
}

static int logout(struct torc *torc, const struct request *request)
{
    const struct torc_bytes field = torc_str(request->device);
    int64_t rc = torc_hdel(torc, request->key, &field, 1);
    if (rc >= 0) {
        printf("%s: %s %s\n", request->user, rc == 1 ? "logged out of" : "was not on",
               request->device);
    }
    return rc < 0 ? (int)rc : TORC_OK;
}

static int devices(struct torc *torc, const struct request *request)
{
    int64_t rc = torc_hlen(torc, request->key); /* sessions that have ended do not count */
    if (rc >= 0) {
        printf("%s: %lld devices\n", request->user, (long long)rc);
    }
    return rc < 0 ? (int)rc : TORC_OK;
}

static const struct {
    const char *name;
    size_t n_words;
    int (*run)(struct torc *torc, const struct request *request);
} commands[] = {
    {"login", 4, login}, {"check", 4, check}, {"logout", 3, logout}, {"devices", 2, devices}};

/* --- lines --- */

static bool read_ms(const char *text, int64_t *out_ms)
{
    char *end;
    errno = 0;
    long long ms = strtoll(text, &end, 10);
    *out_ms = ms;
    return errno == 0 && end != text && *end == '\0' && ms >= 0;
}

/* Do one line. False: it is no command. */
static bool run_line(struct torc *torc, char *line, int *out_error)
{
    const char *words[WORDS_MAX + 1];
    size_t n_words = 0;
    char *rest;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL && n_words <= WORDS_MAX;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        words[n_words++] = word;
    }
    if (n_words < 2) {
        return false; /* each command has a user */
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (n_words != commands[i].n_words || strcmp(words[0], commands[i].name) != 0) {
            continue;
        }
        char key[KEY_BYTES];
        (void)snprintf(key, sizeof key, "session:%s", words[1]);
        struct request request = {.user = words[1], .key = torc_str(key)};
        if (n_words > 2) {
            request.device = words[2];
        }
        if (n_words > 3 && !read_ms(words[3], &request.ms)) {
            return false;
        }
        *out_error = commands[i].run(torc, &request);
        return true;
    }
    return false;
}

static bool run_lines(struct torc *torc)
{
    bool all_good = true;
    char line[LINE_BYTES];
    for (unsigned number = 1; fgets(line, sizeof line, stdin) != NULL; number++) {
        int error = TORC_OK;
        if (!run_line(torc, line, &error)) {
            (void)fprintf(stderr, "line %u: not a command\n", number);
            all_good = false;
        } else if (error != TORC_OK) {
            (void)fprintf(stderr, "line %u: %s: %s\n", number, torc_error_name(error),
                          torc_error_text(torc));
            all_good = false;
        }
    }
    return all_good;
}

int main(int argc, char **argv)
{
    struct torc_options options = {.socket = argc > 1 ? argv[1] : NULL, .name = "sessions"};
    struct torc *torc;
    const char *why;
    if (torc_open(&options, &torc, &why) != TORC_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    bool done = run_lines(torc);
    torc_close(torc);
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
