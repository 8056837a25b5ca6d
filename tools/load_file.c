/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are sent without waiting; the queue of flights remembers what was sent, so that each reply
 * can be checked against its row and told with its line.
 */
#include "tools/load_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/csv.h"
#include "tools/key_template.h"
#include "tools/load_columns.h"
#include "tools/load_flights.h"
#include "tools/progress.h"

#define ROWS_PER_UPDATE   256u /* between looks at the clock */
#define DIFFERENCES_SHOWN 10u
#define SHOWN_BYTES       40

struct job {
    const struct torc_load_options *options;
    struct torc_load_totals *totals;
    struct torc_road *road;
    const char *path;
    bool verify;

    int fd;
    struct torc_csv *csv;
    struct torc_load_columns columns;
    struct torc_key_template *key_template;
    struct torc_progress progress;

    struct torc_load_flights *flights;
    struct torc_bytes *words; /* of the request being built */
    uint64_t rows;            /* read from this file */
    uint64_t shown;           /* differences told */
    bool failed;              /* a fault without keep_going, or the road is gone */
};

/* --- messages --- */

static void tell(struct job *job, uint64_t line, const char *format, ...) TORC_PRINTF(3, 4);

static void tell(struct job *job, uint64_t line, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    torc_progress_clear(&job->progress);
    if (line == 0) {
        (void)fprintf(stderr, "%s: %s\n", job->path, text);
    } else {
        (void)fprintf(stderr, "%s:%" PRIu64 ": %s\n", job->path, line, text);
    }
}

/* One row could not be used: count it, and give up unless asked to go on. */
static void count_faulty(struct job *job)
{
    job->totals->faulty++;
    job->failed = job->failed || !job->options->keep_going;
}

/* The road itself failed; what is under way will never be answered. */
static void fail_road(struct job *job, uint64_t line)
{
    tell(job, line, "%s: %s", job->road->name, torc_road_error(job->road));
    torc_load_flights_clear(job->flights);
    job->failed = true;
}

struct shown {
    char text[SHOWN_BYTES + sizeof "''..."];
};

/* Bytes as they may stand in a message; "nothing" for an absent value. */
static struct shown show(struct torc_bytes bytes)
{
    struct shown shown = {"nothing"};
    if (bytes.data == NULL) {
        return shown;
    }
    const uint8_t *data = bytes.data;
    size_t n = bytes.len < SHOWN_BYTES ? bytes.len : SHOWN_BYTES;
    size_t at = 0;
    shown.text[at++] = '\'';
    for (size_t i = 0; i < n; i++) {
        shown.text[at++] = (char)(data[i] < 0x20 || data[i] == 0x7f ? '?' : data[i]);
    }
    (void)snprintf(shown.text + at, sizeof shown.text - at, "%s", n == bytes.len ? "'" : "'...");
    return shown;
}

/* --- replies --- */

static void check_loaded(struct job *job, const struct torc_load_flight *flight,
                         const struct torc_road_reply *reply)
{
    if (reply->kind != TORC_ROAD_INTEGER || reply->integer < 0 ||
        (uint64_t)reply->integer > flight->n_fields) {
        tell(job, flight->line, "%s: the reply is not that of HSET", job->road->name);
        count_faulty(job);
        return;
    }
    job->totals->rows++;
    job->totals->fields += flight->n_fields;
    job->totals->existing += (uint64_t)reply->integer < flight->n_fields;
}

static void check_read_back(struct job *job, const struct torc_load_flight *flight,
                            const struct torc_road_reply *reply)
{
    if (reply->kind != TORC_ROAD_ARRAY || reply->count != flight->n_fields) {
        tell(job, flight->line, "%s: the reply is not that of HMGET", job->road->name);
        count_faulty(job);
        return;
    }
    const uint8_t *value = flight->bytes;
    bool differs = false;
    for (size_t i = 0; i < flight->n_fields; i++) {
        struct torc_bytes wanted = {value, flight->values[i].len};
        struct torc_bytes got = torc_road_at(job->road, i);
        value += wanted.len;
        if (got.data != NULL && got.len == wanted.len &&
            (wanted.len == 0 || memcmp(got.data, wanted.data, wanted.len) == 0)) {
            continue;
        }
        differs = true;
        if (job->shown++ < DIFFERENCES_SHOWN) {
            struct torc_slice name = job->columns.names[flight->values[i].column];
            tell(job, flight->line, "field %s is %s in the file, %s on the server",
                 show((struct torc_bytes){name.data, name.len}).text, show(wanted).text,
                 show(got).text);
        }
    }
    job->totals->rows++;
    job->totals->fields += flight->n_fields;
    job->totals->mismatched += differs;
}

/* Wait for the oldest reply, and check it. */
static void settle_one(struct job *job)
{
    const struct torc_load_flight *flight = torc_load_flights_oldest(job->flights);
    struct torc_road_reply reply;
    if (torc_road_collect(job->road, &reply) != 0) {
        fail_road(job, flight->line);
        return;
    }
    if (reply.kind == TORC_ROAD_ERROR) {
        tell(job, flight->line, "the server says: %.*s", (int)torc_min_u64(reply.text.len, 400),
             (const char *)reply.text.data);
        count_faulty(job);
    } else if (job->verify) {
        check_read_back(job, flight, &reply);
    } else {
        check_loaded(job, flight, &reply);
    }
    torc_load_flights_drop(job->flights);
}

/* --- requests --- */

static void out_of_memory(struct job *job, uint64_t line)
{
    tell(job, line, "no memory");
    job->failed = true;
}

/* The words behind the key: fields with their values, or fields alone to verify. Their number. */
static size_t build_words(struct job *job, const struct torc_csv_row *row)
{
    size_t n = 0;
    for (size_t i = 0; i < row->n_cells; i++) {
        struct torc_slice cell = row->cells[i];
        struct torc_slice name = job->columns.names[i];
        if (cell.len == 0 && job->options->skip_empty) {
            continue;
        }
        job->words[n++] = (struct torc_bytes){name.data, name.len};
        if (!job->verify) {
            job->words[n++] = (struct torc_bytes){cell.data, cell.len};
        }
    }
    return n;
}

static void send_row(struct job *job, const struct torc_csv_row *row)
{
    size_t n_words = build_words(job, row);
    struct torc_slice key;
    if (n_words == 0) {
        job->totals->blank++;
        return;
    }
    if (torc_key_template_expand(job->key_template, row->cells, job->rows, &key) != 0) {
        out_of_memory(job, row->line);
        return;
    }
    struct torc_road_request request = {
        .op = job->verify ? TORC_ROAD_HMGET : TORC_ROAD_HSET,
        .key = {key.data, key.len},
        .words = job->words,
        .n_words = n_words,
    };
    while (torc_load_flights_is_full(job->flights)) {
        settle_one(job);
    }
    int rc = 0;
    while (!job->failed && (rc = torc_road_submit(job->road, &request)) == -EAGAIN &&
           torc_load_flights_count(job->flights) > 0) {
        settle_one(job);
    }
    if (job->failed) {
        return;
    }
    if (rc == -EMSGSIZE) {
        tell(job, row->line, "%s: %s", job->road->name, torc_road_error(job->road));
        count_faulty(job);
    } else if (rc != 0) {
        fail_road(job, row->line);
    } else if (torc_load_flights_add(job->flights, row, job->verify ? n_words : n_words / 2,
                                     job->verify, job->options->skip_empty) != 0) {
        /* The reply to come is of a request that is not in the queue: no others can be taken. */
        torc_load_flights_clear(job->flights);
        out_of_memory(job, row->line);
    }
}

/* --- the file --- */

static ssize_t read_source(void *context, void *buffer, size_t size)
{
    const struct job *job = context;
    for (;;) {
        ssize_t n = read(job->fd, buffer, size);
        if (n >= 0) {
            return n;
        }
        if (errno != EINTR) {
            return -errno;
        }
    }
}

/* The file's name without folder and extension: "data/zipcodes.csv" is zipcodes. NULL: no memory.
 */
static char *stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? strndup(name, (size_t)(dot - name)) : strdup(name);
}

static bool open_source(struct job *job)
{
    struct stat status;
    job->fd = open(job->path, O_RDONLY | O_CLOEXEC);
    if (job->fd < 0 || fstat(job->fd, &status) != 0) {
        tell(job, 0, "cannot be opened: %s", strerror(errno));
        return false;
    }
    uint64_t bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    const char *slash = strrchr(job->path, '/');
    torc_progress_start(&job->progress, job->options->progress,
                        slash != NULL ? slash + 1 : job->path, bytes);
    return true;
}

static bool open_csv(struct job *job)
{
    struct torc_csv_options options = {
        .delimiter = job->options->delimiter,
        .n_columns = job->columns.n,
        .read = read_source,
        .context = job,
    };
    int rc = torc_csv_create(&options, &job->csv);
    if (rc != 0) {
        tell(job, 0, rc == -EINVAL ? "this delimiter cannot be used" : "no memory");
    }
    return rc == 0;
}

/* Open the reader and get the names of the columns: from the options, else from the first row. */
static bool find_columns(struct job *job)
{
    char error[TORC_LOAD_COLUMNS_ERROR_BYTES];
    if (job->options->fields != NULL) {
        if (torc_load_columns_parse(&job->columns, job->options->fields, error) != 0) {
            tell(job, 0, "field names: %s", error);
            return false;
        }
        return open_csv(job);
    }
    if (!open_csv(job)) {
        return false;
    }
    struct torc_csv_row row;
    int rc = torc_csv_next(job->csv, &row);
    if (rc == 0) {
        tell(job, 0, "is empty: there is no row with the names of the columns");
        return false;
    }
    if (rc < 0) {
        tell(job, torc_csv_error_line(job->csv), "%s", torc_csv_error(job->csv));
        return false;
    }
    if (torc_load_columns_init(&job->columns, row.cells, row.n_cells, error) != 0) {
        tell(job, row.line, "%s", error);
        return false;
    }
    return true;
}

static bool make_key_template(struct job *job)
{
    size_t key_column = TORC_KEY_COLUMN_ROW;
    if (job->options->key != NULL) {
        key_column = torc_load_columns_find(&job->columns, job->options->key);
        if (key_column == SIZE_MAX) {
            tell(job, 0, "there is no column '%s' to be the key", job->options->key);
            return false;
        }
    }
    if (job->options->key_template == NULL) {
        char *prefix = stem(job->path);
        job->key_template = prefix != NULL ? torc_key_template_default(prefix, key_column) : NULL;
        free(prefix);
        if (job->key_template == NULL) {
            out_of_memory(job, 0);
        }
        return job->key_template != NULL;
    }
    char error[TORC_KEY_TEMPLATE_ERROR_BYTES];
    if (torc_key_template_create(job->options->key_template, job->columns.names, job->columns.n,
                                 key_column, &job->key_template, error) != 0) {
        tell(job, 0, "key template '%s': %s", job->options->key_template, error);
        return false;
    }
    return true;
}

static bool allocate(struct job *job)
{
    job->words = calloc(2 * job->columns.n, sizeof *job->words);
    if (job->words == NULL ||
        torc_load_flights_create(job->options->pipeline, &job->flights) != 0) {
        out_of_memory(job, 0);
        return false;
    }
    return true;
}

static void run_rows(struct job *job)
{
    while (!job->failed && job->rows < job->options->limit) {
        struct torc_csv_row row;
        int rc = torc_csv_next(job->csv, &row);
        if (rc == 0) {
            break;
        }
        if (rc < 0) {
            if (!job->options->faults_told) {
                tell(job, torc_csv_error_line(job->csv), "%s", torc_csv_error(job->csv));
            }
            count_faulty(job);
            /* Only faults of a row can be gone on from. */
            job->failed = job->failed || (rc != -EBADMSG && rc != -EMSGSIZE);
            continue;
        }
        job->rows++;
        send_row(job, &row);
        if (job->rows % ROWS_PER_UPDATE == 0) {
            torc_progress_update(&job->progress, torc_csv_consumed(job->csv), job->rows);
        }
    }
    /* After a fault too: what was sent is answered, and is counted. */
    while (torc_load_flights_count(job->flights) > 0) {
        settle_one(job);
    }
    torc_progress_clear(&job->progress);
    if (job->shown > DIFFERENCES_SHOWN) {
        tell(job, 0, "%" PRIu64 " more fields differ", job->shown - DIFFERENCES_SHOWN);
    }
}

static void fini(struct job *job)
{
    torc_load_flights_destroy(job->flights);
    free(job->words);
    torc_key_template_destroy(job->key_template);
    torc_load_columns_fini(&job->columns);
    torc_csv_destroy(job->csv);
    if (job->fd >= 0) {
        (void)close(job->fd);
    }
}

static int run(struct torc_road *road, const char *path, const struct torc_load_options *options,
               struct torc_load_totals *totals, bool verify)
{
    struct job job = {
        .options = options,
        .totals = totals,
        .road = road,
        .path = path,
        .verify = verify,
        .fd = -1,
    };
    job.failed =
        !open_source(&job) || !find_columns(&job) || !make_key_template(&job) || !allocate(&job);
    if (!job.failed) {
        run_rows(&job);
    }
    fini(&job);
    return job.failed ? -EBADMSG : 0;
}

int torc_load_file(struct torc_road *road, const char *path,
                   const struct torc_load_options *options, struct torc_load_totals *totals)
{
    return run(road, path, options, totals, false);
}

int torc_load_verify_file(struct torc_road *road, const char *path,
                          const struct torc_load_options *options, struct torc_load_totals *totals)
{
    return run(road, path, options, totals, true);
}
