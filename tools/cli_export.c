/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of keys is asked for and copied, then their hashes a batch at a time, in a pipeline: long
 * replies wait in the server's memory, so a batch is short. Its replies are kept until the times of
 * their fields are there, which are asked for command by command of the stream.
 */
#include "tools/cli_export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/cli_run.h"
#include "tools/cli_stream.h"
#include "tools/progress.h"

#define PAGE_KEYS    512
#define BATCH_KEYS   16 /* hashes asked for at a time */
#define BUFFER_BYTES ((size_t)256 * 1024)
#define HSCAN_FIELDS 256 /* of the first page */
#define NUMBER_BYTES 24

/* The keys of one page, copied. */
struct page {
    struct torc_bytes *keys; /* into `bytes` */
    char *bytes;
    size_t n;
    struct torc_bytes *long_ones; /* those whose hash does not fit one reply */
    size_t n_long;
};

/* The hashes of some keys. */
struct batch {
    size_t n;
    struct {
        struct torc_bytes key;
        struct torc_result hash; /* count 0: nothing to write */
        struct torc_loan loan;   /* of `hash` */
        int64_t time;            /* of the key, as torc_expire_time() gives it */
        bool is_written;         /* some of it */
    } keys[BATCH_KEYS];
};

/* A place in a batch: where a command of the stream begins. */
struct place {
    size_t key;
    size_t at; /* item of its hash */
};

struct export
{
    struct torc *torc;
    FILE *out;
    struct torc_progress progress;
    uint64_t n_keys; /* written */
    struct batch batch;
};

/* --- asking --- */

static bool fail(struct export *export, const char *why)
{
    torc_progress_clear(&export->progress);
    torc_cli_complain("%s", why);
    return false;
}

static bool fail_of_server(struct export *export)
{
    return fail(export, torc_error_text(export->torc));
}

static bool fail_of_reply(struct export *export, const struct torc_result *result)
{
    char why[200];
    (void)snprintf(why, sizeof why, "%.*s", (int)result->string.len,
                   (const char *)result->string.data);
    return fail(export, why);
}

/* After writing. False: said why. */
static bool output_is_good(struct export *export)
{
    if (ferror(export->out) == 0) {
        return true;
    }
    int error = errno;
    torc_progress_clear(&export->progress);
    torc_cli_complain("cannot write: %s", strerror(error));
    return false;
}

/* --- the times of fields --- */

/* From `place` to where the next command begins, which has *out_n_pairs. False: there is none. */
static bool next_part(const struct batch *batch, struct place *place, size_t *out_n_pairs)
{
    for (; place->key < batch->n; place->key++, place->at = 0) {
        *out_n_pairs = torc_cli_stream_part(&batch->keys[place->key].hash, place->at);
        if (*out_n_pairs > 0) {
            return true;
        }
    }
    return false;
}

/* Ask for the times of the part at `place`. TORC_EAGAIN: not now. */
static int ask_times(struct export *export, struct place place, size_t n_pairs)
{
    struct torc_bytes words[4 + TORC_CLI_STREAM_PAIRS_MAX];
    char n_text[NUMBER_BYTES];
    (void)snprintf(n_text, sizeof n_text, "%zu", n_pairs);
    words[0] = torc_str("HPEXPIRETIME");
    words[1] = export->batch.keys[place.key].key;
    words[2] = torc_str("FIELDS");
    words[3] = torc_str(n_text);
    for (size_t i = 0; i < n_pairs; i++) {
        words[4 + i] = torc_result_at(&export->batch.keys[place.key].hash, place.at + 2 * i);
    }
    return torc_submit_command(export->torc, 0, words, 4 + n_pairs);
}

/* A time of a reply; what is none, as the server never sends, is TORC_NO_TIME. */
static int64_t read_time(struct torc_bytes text)
{
    char copy[NUMBER_BYTES] = "";
    if (text.data == NULL) {
        return TORC_NO_TIME;
    }
    memcpy(copy, text.data, torc_min_u64(text.len, sizeof copy - 1));
    return strtoll(copy, NULL, 10);
}

/* The times of the part at `place`, and write it. */
static bool take_times(struct export *export, struct place place, size_t n_pairs)
{
    int64_t times[TORC_CLI_STREAM_PAIRS_MAX];
    struct torc_result result;
    if (torc_collect(export->torc, &result) != TORC_OK) {
        return fail_of_server(export);
    }
    if (result.kind == TORC_ERROR) {
        return fail_of_reply(export, &result);
    }
    for (size_t i = 0; i < n_pairs; i++) {
        times[i] = read_time(torc_result_at(&result, i));
    }
    errno = 0;
    size_t n = torc_cli_stream_pairs(export->out, export->batch.keys[place.key].key,
                                     &export->batch.keys[place.key].hash, place.at, n_pairs, times);
    export->batch.keys[place.key].is_written |= n > 0;
    return output_is_good(export);
}

/* Write all hashes of the batch. */
static bool put_hashes(struct export *export)
{
    struct batch *batch = &export->batch;
    struct place to_ask = {0};
    struct place to_take = {0};
    size_t n_asked = 0;
    size_t n_taken = 0;
    size_t n_pairs;
    for (;;) {
        int rc = TORC_EAGAIN;
        if (next_part(batch, &to_ask, &n_pairs)) {
            rc = ask_times(export, to_ask, n_pairs);
        }
        if (rc == TORC_OK) {
            to_ask.at += 2 * n_pairs;
            n_asked++;
        } else if (rc != TORC_EAGAIN) {
            return fail_of_server(export);
        } else if (n_taken == n_asked) {
            /* All is done, unless the server has room for nothing. */
            return !next_part(batch, &to_ask, &n_pairs) || fail_of_server(export);
        } else {
            (void)next_part(batch, &to_take, &n_pairs);
            if (!take_times(export, to_take, n_pairs)) {
                return false;
            }
            to_take.at += 2 * n_pairs;
            n_taken++;
        }
    }
}

/* The time of key `i` of the batch, behind all of its fields. */
static bool put_key_time(struct export *export, size_t i)
{
    errno = 0;
    if (export->batch.keys[i].is_written && export->batch.keys[i].time >= 0) {
        torc_cli_stream_key_time(export->out, export->batch.keys[i].key,
                                 export->batch.keys[i].time);
    }
    return output_is_good(export);
}

/* --- hashes --- */

static bool fail_too_long(struct export *export, struct torc_bytes key)
{
    char shown[61];
    size_t n = 0;
    for (; n < key.len && n < sizeof shown - 1; n++) {
        char c = ((const char *)key.data)[n];
        shown[n] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    shown[n] = '\0';
    char why[200];
    (void)snprintf(why, sizeof why,
                   "the hash '%s' is too long for one reply: raise the server's "
                   "session-long-message-max",
                   shown);
    return fail(export, why);
}

/* Keep the reply `result` as hash `i` of the batch. */
static bool keep_hash(struct export *export, size_t i, const struct torc_result *result)
{
    struct torc_result hash = *result;
    if (torc_borrow(export->torc, &hash, &export->batch.keys[i].loan) != TORC_OK) {
        return fail_of_server(export);
    }
    export->batch.keys[i].hash = hash;
    return true;
}

/* One page of a hash, which is the only one of the batch. */
static bool put_page(struct export *export, const struct torc_result *page)
{
    if (!keep_hash(export, 0, page)) {
        return false;
    }
    bool good = put_hashes(export);
    (void)torc_release(export->torc, export->batch.keys[0].loan);
    return good;
}

/* A hash that is too long for one reply, in pages, which get smaller until they fit. */
static bool scan_hash(struct export *export, struct torc_bytes key)
{
    const struct torc_bytes all = {NULL, 0};
    unsigned n_fields = HSCAN_FIELDS;
    uint64_t cursor = 0;
    export->batch = (struct batch){.n = 1, .keys[0].key = key};
    for (;;) {
        struct torc_result page;
        int rc = torc_hscan(export->torc, key, cursor, all, n_fields, 1, &page);
        if (rc == TORC_EMSGSIZE && n_fields == 1) {
            return fail_too_long(export, key);
        }
        if (rc == TORC_EMSGSIZE) {
            n_fields /= 2;
            continue;
        }
        if (rc != TORC_OK) {
            return fail_of_server(export);
        }
        cursor = page.cursor;
        if (!put_page(export, &page)) {
            return false;
        }
        if (cursor == 0) {
            break;
        }
    }
    if (torc_expire_time(export->torc, key, &export->batch.keys[0].time) < 0) {
        return fail_of_server(export);
    }
    return put_key_time(export, 0);
}

/* Two requests for each key of the batch: its hash and its time. */
static int ask_request(struct export *export, size_t request)
{
    const struct torc_bytes words[] = {torc_str(request % 2 == 0 ? "HGETALL" : "PEXPIRETIME"),
                                       export->batch.keys[request / 2].key};
    return torc_submit_command(export->torc, request, words, 2);
}

/* A reply. A hash that is too long for one is noted in the page. */
static bool take_reply(struct export *export, struct page *page)
{
    struct torc_result result;
    if (torc_collect(export->torc, &result) != TORC_OK) {
        return fail_of_server(export);
    }
    size_t i = result.tag / 2;
    if (result.kind == TORC_INTEGER) {
        export->batch.keys[i].time = result.integer;
        return true;
    }
    if (result.kind == TORC_ERROR && result.error == TORC_EMSGSIZE) {
        page->long_ones[page->n_long++] = export->batch.keys[i].key;
        return true;
    }
    return result.kind == TORC_ERROR ? fail_of_reply(export, &result)
                                     : keep_hash(export, i, &result);
}

static bool ask_hashes(struct export *export, struct page *page)
{
    size_t n = 2 * export->batch.n;
    size_t n_asked = 0;
    for (size_t n_taken = 0; n_taken < n;) {
        int rc = n_asked < n ? ask_request(export, n_asked) : TORC_EAGAIN;
        if (rc == TORC_OK) {
            n_asked++;
        } else if (rc != TORC_EAGAIN || n_asked == n_taken) {
            return fail_of_server(export);
        } else if (!take_reply(export, page)) {
            return false;
        } else {
            n_taken++;
        }
    }
    return true;
}

/* The hashes of up to BATCH_KEYS keys of the page, from the first of them on. */
static bool export_batch(struct export *export, struct page *page, size_t first)
{
    struct batch *batch = &export->batch;
    *batch = (struct batch){.n = torc_min_u64(page->n - first, BATCH_KEYS)};
    for (size_t i = 0; i < batch->n; i++) {
        batch->keys[i].key = page->keys[first + i];
    }
    bool good = ask_hashes(export, page) && put_hashes(export);
    for (size_t i = 0; i < batch->n; i++) {
        good = good && put_key_time(export, i);
        if (batch->keys[i].loan.id != 0) {
            (void)torc_release(export->torc, batch->keys[i].loan);
        }
    }
    return good;
}

static bool export_page(struct export *export, struct page *page)
{
    for (size_t first = 0; first < page->n; first += BATCH_KEYS) {
        if (!export_batch(export, page, first)) {
            return false;
        }
        export->n_keys += torc_min_u64(page->n - first, BATCH_KEYS);
        torc_progress_update(&export->progress, export->n_keys, export->n_keys);
    }
    for (size_t i = 0; i < page->n_long; i++) {
        if (!scan_hash(export, page->long_ones[i])) {
            return false;
        }
    }
    return true;
}

/* Copy the keys of a reply, which the next call on the handle takes back. False: no memory. */
static bool page_init(struct page *page, const struct torc_result *result)
{
    size_t bytes = 0;
    for (size_t i = 0; i < result->count; i++) {
        bytes += torc_result_at(result, i).len;
    }
    *page = (struct page){
        .keys = malloc((result->count + 1) * sizeof *page->keys),
        .bytes = malloc(bytes + 1),
        .long_ones = malloc((result->count + 1) * sizeof *page->long_ones),
        .n = result->count,
    };
    if (page->keys == NULL || page->bytes == NULL || page->long_ones == NULL) {
        return false;
    }
    char *to = page->bytes;
    for (size_t i = 0; i < result->count; i++) {
        struct torc_bytes key = torc_result_at(result, i);
        if (key.len > 0) {
            memcpy(to, key.data, key.len);
        }
        page->keys[i] = torc_mem(to, key.len);
        to += key.len;
    }
    return true;
}

static void page_fini(struct page *page)
{
    free(page->keys);
    free(page->bytes);
    free(page->long_ones);
}

/* One page of keys and their hashes. */
static bool export_keys(struct export *export, uint64_t *in_out_cursor)
{
    struct torc_result result;
    struct torc_bytes all = {NULL, 0};
    if (torc_scan(export->torc, *in_out_cursor, all, PAGE_KEYS, &result) != TORC_OK) {
        return fail_of_server(export);
    }
    *in_out_cursor = result.cursor;
    struct page page;
    bool good = page_init(&page, &result) ? export_page(export, &page) : fail(export, "no memory");
    page_fini(&page);
    return good;
}

bool torc_cli_export(struct torc *torc, FILE *out)
{
    struct export export = {.torc = torc, .out = out};
    int64_t n_keys = torc_dbsize(torc);
    bool good = n_keys >= 0;
    if (!good) {
        torc_cli_complain("%s", torc_error_text(torc));
    }
    (void)setvbuf(out, NULL, _IOFBF, BUFFER_BYTES);
    torc_progress_start(&export.progress, good, "export", good ? (uint64_t)n_keys : 0);
    export.progress.unit = "keys";
    uint64_t cursor = 0;
    do {
        good = good && export_keys(&export, &cursor);
    } while (good && cursor != 0);
    if (good && fflush(out) != 0) {
        good = fail(&export, strerror(errno));
    }
    torc_progress_clear(&export.progress);
    if (!good) {
        torc_cli_complain("the export is not complete");
    }
    return good;
}
