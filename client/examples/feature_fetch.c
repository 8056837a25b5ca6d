/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of many entities for one prediction: a pipeline of HMGETs, as deep as the session takes.
 * While the server looks up later entities, this side puts earlier ones into the matrix.
 *
 *   feature_fetch [SOCKET]
 *
 * Stores 500 entities with 20 features each, fetches 512 of them (the last 12 are unknown) and
 * prints what came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <torc/torc.h>

#define N_STORED    500
#define N_ENTITIES  512
#define N_FEATURES  20
#define KEY_BYTES   24
#define FIELD_BYTES 16
#define MISSING     (-1.0f) /* what the model was trained to see for no value */

static char field_names[N_FEATURES][FIELD_BYTES];
static struct torc_bytes fields[N_FEATURES];
static float matrix[N_ENTITIES][N_FEATURES];

static struct torc_bytes key_of(unsigned entity, char buffer[KEY_BYTES])
{
    (void)snprintf(buffer, KEY_BYTES, "user:%08u", entity);
    return torc_str(buffer);
}

static int fail(const struct torc *torc, int error)
{
    (void)fprintf(stderr, "%s: %s\n", torc_error_name(error), torc_error_text(torc));
    return error;
}

/* The oldest result; waits for it. */
static int collect_one(struct torc *torc, struct torc_result *out_result)
{
    int rc = torc_collect(torc, out_result);
    if (rc != TORC_OK) {
        return fail(torc, rc);
    }
    if (out_result->kind == TORC_ERROR) {
        (void)fprintf(stderr, "%.*s\n", (int)out_result->string.len,
                      (const char *)out_result->string.data);
        return out_result->error;
    }
    return TORC_OK;
}

static int store_features(struct torc *torc)
{
    float values[N_FEATURES];
    struct torc_bytes pairs[2 * N_FEATURES];
    for (unsigned entity = 0; entity < N_STORED; entity++) {
        for (size_t i = 0; i < N_FEATURES; i++) {
            values[i] = (float)entity + (float)i / 100.0f;
            pairs[2 * i] = fields[i];
            pairs[2 * i + 1] = torc_mem(&values[i], sizeof values[i]);
        }
        char key[KEY_BYTES];
        int64_t rc = torc_hset_many(torc, key_of(entity, key), pairs, N_FEATURES);
        if (rc < 0) {
            return fail(torc, (int)rc);
        }
    }
    return TORC_OK;
}

/* The tag of a request is the row that its result belongs to. */
static void fill_row(const struct torc_result *result)
{
    float *row = matrix[result->tag];
    for (unsigned i = 0; i < N_FEATURES; i++) {
        struct torc_bytes value = torc_result_at(result, i);
        row[i] = MISSING;
        if (value.len == sizeof row[i]) {
            memcpy(&row[i], value.data, sizeof row[i]);
        }
    }
}

static int fetch_features(struct torc *torc)
{
    unsigned submitted = 0;
    unsigned collected = 0;
    while (collected < N_ENTITIES) {
        /* As many requests as there is room for... */
        while (submitted < N_ENTITIES) {
            char key[KEY_BYTES];
            int rc = torc_submit_hmget(torc, submitted, key_of(submitted, key), fields, N_FEATURES);
            if (rc == TORC_EAGAIN) {
                break; /* full: collect first */
            }
            if (rc != TORC_OK) {
                return fail(torc, rc);
            }
            submitted++;
        }
        /* ...then a result, which makes room for the next. */
        struct torc_result result;
        int rc = collect_one(torc, &result);
        if (rc != TORC_OK) {
            return rc;
        }
        fill_row(&result);
        collected++;
    }
    return TORC_OK;
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < N_FEATURES; i++) {
        (void)snprintf(field_names[i], sizeof field_names[i], "feature_%02u", i);
        fields[i] = torc_str(field_names[i]);
    }
    struct torc_options options = {.socket = argc > 1 ? argv[1] : NULL, .name = "features"};
    struct torc *torc;
    const char *why;
    if (torc_open(&options, &torc, &why) != TORC_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    struct timespec start;
    struct timespec end;
    int rc = store_features(torc);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    if (rc == TORC_OK) {
        rc = fetch_features(torc);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (rc == TORC_OK) {
        unsigned unknown = 0;
        for (unsigned entity = 0; entity < N_ENTITIES; entity++) {
            unknown += matrix[entity][0] == MISSING;
        }
        double us =
            (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) / 1e3;
        printf("%d features of %d entities in %.0f us; %u entities unknown\n", N_FEATURES,
               N_ENTITIES, us, unknown);
        printf("user 42, feature_07: %.2f\n", (double)matrix[42][7]);
    }
    torc_close(torc);
    return rc == TORC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
