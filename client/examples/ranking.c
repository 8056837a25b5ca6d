/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch in a pipeline: many requests under way, and results of several kinds, errors among them.
 *
 *   ranking [SOCKET] <points
 *
 * Adds each line of "player points" to the player's hash, then fetches all players that the lines
 * name, keeps their replies until they are sorted, and prints the best. Wrong lines are reported
 * with their number, and the others counted.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <torc/torc.h>

#define LINE_BYTES  256
#define KEY_BYTES   (LINE_BYTES + 16)
#define MAX_PLAYERS TORC_LOANS_MAX

/* The key of a player, and later the reply of HGETALL: what it lends stays good until the loan is
 * given back. */
struct player {
    char key[KEY_BYTES];
    struct torc_result hash;
    struct torc_loan loan;
    int64_t points;
};

static struct player players[MAX_PLAYERS];
static size_t n_players;
static unsigned n_refused;

static void report(const char *what, uint64_t number, struct torc_bytes text)
{
    (void)fprintf(stderr, "%s %" PRIu64 ": %.*s\n", what, number, (int)text.len,
                  (const char *)text.data);
}

static bool fail(const struct torc *torc, int error)
{
    (void)fprintf(stderr, "%s: %s\n", torc_error_name(error), torc_error_text(torc));
    return false;
}

/* --- adding points --- */

/* The oldest result. An error reply concerns its line only; an error of torc_collect() itself ends
 * the batch. */
static bool collect_sum(struct torc *torc)
{
    struct torc_result result;
    int rc = torc_collect(torc, &result);
    if (rc != TORC_OK) {
        return fail(torc, rc);
    }
    if (result.kind == TORC_ERROR) {
        n_refused++;
        report("line", result.tag, result.string);
        return result.error != TORC_EOOM; /* no room: the other lines would not fit either */
    }
    return true;
}

static struct player *find_player(const char *key)
{
    for (size_t i = 0; i < n_players; i++) {
        if (strcmp(players[i].key, key) == 0) {
            return &players[i];
        }
    }
    if (n_players == MAX_PLAYERS) {
        return NULL;
    }
    (void)snprintf(players[n_players].key, KEY_BYTES, "%s", key);
    return &players[n_players++];
}

/* HINCRBY player:NAME points POINTS, under way when this returns. */
static bool submit_points(struct torc *torc, uint64_t line, const char *key, const char *points)
{
    const struct torc_bytes words[] = {torc_str("HINCRBY"), torc_str(key), torc_str("points"),
                                       torc_str(points)};
    for (;;) {
        int rc = torc_submit_command(torc, line, words, 4);
        if (rc == TORC_EINVAL || rc == TORC_EMSGSIZE) { /* this line is wrong; nothing was sent */
            n_refused++;
            report("line", line, torc_str(torc_error_text(torc)));
            return true;
        }
        if (rc != TORC_EAGAIN) {
            return rc == TORC_OK || fail(torc, rc);
        }
        if (!collect_sum(torc)) { /* full: take a result, which makes room */
            return false;
        }
    }
}

static bool add_points(struct torc *torc)
{
    char line[LINE_BYTES];
    for (uint64_t number = 1; fgets(line, sizeof line, stdin) != NULL; number++) {
        char *rest;
        const char *name = strtok_r(line, " \t\r\n", &rest);
        const char *points = strtok_r(NULL, " \t\r\n", &rest);
        if (name == NULL || points == NULL) {
            n_refused++;
            report("line", number, torc_str("not \"player points\""));
            continue;
        }
        char key[KEY_BYTES];
        (void)snprintf(key, sizeof key, "player:%s", name);
        if (find_player(key) == NULL) {
            n_refused++;
            report("line", number, torc_str("too many players"));
        } else if (!submit_points(torc, number, key, points)) {
            return false;
        }
    }
    while (torc_outstanding(torc) > 0) {
        if (!collect_sum(torc)) {
            return false;
        }
    }
    return true;
}

/* --- fetching --- */

static int64_t points_of(const struct torc_result *hash)
{
    for (size_t i = 0; i + 1 < hash->count; i += 2) {
        struct torc_bytes name = torc_result_at(hash, i);
        struct torc_bytes value = torc_result_at(hash, i + 1);
        char text[24] = "";
        if (name.len == 6 && memcmp(name.data, "points", 6) == 0 && value.len < sizeof text) {
            memcpy(text, value.data, value.len);
            return strtoll(text, NULL, 10);
        }
    }
    return 0;
}

/* The oldest result is the whole hash of a player: keep it beyond the next collect. */
static bool collect_player(struct torc *torc)
{
    struct torc_result result;
    int rc = torc_collect(torc, &result);
    if (rc != TORC_OK) {
        return fail(torc, rc);
    }
    if (result.kind != TORC_MAP) {
        report("player", result.tag, result.string);
        return false;
    }
    struct player *player = &players[result.tag];
    rc = torc_borrow(torc, &result, &player->loan);
    if (rc != TORC_OK) {
        return fail(torc, rc);
    }
    player->hash = result;
    player->points = points_of(&player->hash);
    return true;
}

static bool fetch_players(struct torc *torc)
{
    for (size_t i = 0; i < n_players;) {
        const struct torc_bytes words[] = {torc_str("HGETALL"), torc_str(players[i].key)};
        int rc = torc_submit_command(torc, i, words, 2);
        if (rc == TORC_OK) {
            i++;
        } else if (rc != TORC_EAGAIN) {
            return fail(torc, rc);
        } else if (!collect_player(torc)) {
            return false;
        }
    }
    while (torc_outstanding(torc) > 0) {
        if (!collect_player(torc)) {
            return false;
        }
    }
    return true;
}

static int by_points(const void *a, const void *b)
{
    int64_t left = ((const struct player *)a)->points;
    int64_t right = ((const struct player *)b)->points;
    return (left < right) - (left > right);
}

static void print_players(struct torc *torc)
{
    qsort(players, n_players, sizeof players[0], by_points);
    for (size_t i = 0; i < n_players; i++) {
        printf("%zu. %s: %" PRId64 " points, %zu fields\n", i + 1, players[i].key,
               players[i].points, players[i].hash.count / 2);
        (void)torc_release(torc, players[i].loan);
    }
    printf("%zu players, %u lines refused\n", n_players, n_refused);
}

int main(int argc, char **argv)
{
    struct torc_options options = {.socket = argc > 1 ? argv[1] : NULL, .name = "ranking"};
    struct torc *torc;
    const char *why;
    if (torc_open(&options, &torc, &why) != TORC_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    bool done = add_points(torc) && fetch_players(torc);
    if (done) {
        print_players(torc);
    }
    torc_close(torc);
    return done && n_refused == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
