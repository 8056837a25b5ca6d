/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of keys is asked for and copied, then their hashes in a short pipeline: long replies wait
 * in the server's memory, so there must not be many of them.
 */
#include "tools/cli_export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ring/ops.h"
#include "tools/cli_run.h"
#include "tools/progress.h"

#define PAGE_KEYS    512
#define WINDOW       16 /* hashes asked for at a time */
#define BUFFER_BYTES ((size_t)256 * 1024)
#define HSCAN_FIELDS 256 /* of the first page */
#define NUMBER_BYTES 24

/* The keys of one page, copied. */
struct page {
    struct torc_bytes *keys; /* into `bytes` */
    char *bytes;
    size_t n;
    size_t *long_ones; /* indexes of those whose hash does not fit one reply */
    size_t n_long;
};

struct export
{
    struct torc *torc;
    FILE *out;
    struct torc_progress progress;
    uint64_t n_keys; /* written */
};

/* --- writing --- */

static void put_bulk(FILE *out, struct torc_bytes bytes)
{
    (void)fprintf(out, "$%zu\r\n", bytes.len);
    if (bytes.len > 0) {
        (void)fwrite(bytes.data, 1, bytes.len, out);
    }
    (void)fputs("\r\n", out);
}

/* How many pairs from item `at` on go into one command. */
static size_t pairs_of_command(const struct torc_result *result, size_t at)
{
    size_t n = 0;
    size_t bytes = 0;
    for (; n < TORC_CLI_EXPORT_PAIRS_MAX && at + 2 * n + 1 < result->count; n++) {
        size_t pair_bytes = torc_result_at(result, at + 2 * n).len;
        pair_bytes += torc_result_at(result, at + 2 * n + 1).len;
        if (n > 0 && bytes + pair_bytes > TORC_CLI_EXPORT_BYTES_MAX) {
            break;
        }
        bytes += pair_bytes;
    }
    return n;
}

void torc_cli_export_hash(FILE *out, struct torc_bytes key, const struct torc_result *result)
{
    for (size_t at = 0; at + 1 < result->count;) {
        size_t n = pairs_of_command(result, at);
        (void)fprintf(out, "*%zu\r\n$4\r\nHSET\r\n", 2 + 2 * n);
        put_bulk(out, key);
        for (size_t end = at + 2 * n; at < end; at++) {
            put_bulk(out, torc_result_at(result, at));
        }
    }
}

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

/* Write a part of a hash. False: said why. */
static bool put_hash(struct export *export, struct torc_bytes key, const struct torc_result *result)
{
    errno = 0;
    torc_cli_export_hash(export->out, key, result);
    if (ferror(export->out) != 0) {
        int error = errno;
        torc_progress_clear(&export->progress);
        torc_cli_complain("cannot write: %s", strerror(error));
        return false;
    }
    return true;
}

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

/* A hash that is too long for one reply, in pages, which get smaller until they fit. */
static bool scan_hash(struct export *export, struct torc_bytes key)
{
    if (torc_op_find("hscan", 5) == TORC_OP_NONE) {
        return fail_too_long(export, key);
    }
    unsigned n_fields = HSCAN_FIELDS;
    uint64_t cursor = 0;
    for (;;) {
        char cursor_text[NUMBER_BYTES];
        char count_text[NUMBER_BYTES];
        (void)snprintf(cursor_text, sizeof cursor_text, "%" PRIu64, cursor);
        (void)snprintf(count_text, sizeof count_text, "%u", n_fields);
        struct torc_bytes words[] = {torc_str("HSCAN"), key, torc_str(cursor_text),
                                     torc_str("COUNT"), torc_str(count_text)};
        struct torc_result result;
        int rc = torc_command(export->torc, words, 5, &result);
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
        if (!put_hash(export, key, &result)) {
            return false;
        }
        cursor = result.cursor;
        if (cursor == 0) {
            return true;
        }
    }
}

/* The reply about key `i` of the page. */
static bool take_reply(struct export *export, struct page *page, size_t i)
{
    struct torc_result result;
    if (torc_collect(export->torc, &result) != TORC_OK) {
        return fail_of_server(export);
    }
    if (result.kind == TORC_ERROR && result.error == TORC_EMSGSIZE) {
        page->long_ones[page->n_long++] = i;
        return true;
    }
    if (result.kind == TORC_ERROR) {
        char why[200];
        (void)snprintf(why, sizeof why, "%.*s", (int)result.string.len,
                       (const char *)result.string.data);
        return fail(export, why);
    }
    export->n_keys++;
    torc_progress_update(&export->progress, export->n_keys, export->n_keys);
    return put_hash(export, page->keys[i], &result);
}

static bool export_page(struct export *export, struct page *page)
{
    size_t n_sent = 0;
    for (size_t n_taken = 0; n_taken < page->n;) {
        int rc = TORC_EAGAIN;
        if (n_sent < page->n && n_sent - n_taken < WINDOW) {
            struct torc_bytes words[] = {torc_str("HGETALL"), page->keys[n_sent]};
            rc = torc_submit_command(export->torc, n_sent, words, 2);
        }
        if (rc == TORC_OK) {
            n_sent++;
        } else if (rc != TORC_EAGAIN || n_sent == n_taken) {
            return fail_of_server(export);
        } else if (!take_reply(export, page, n_taken++)) {
            return false;
        }
    }
    for (size_t i = 0; i < page->n_long; i++) {
        if (!scan_hash(export, page->keys[page->long_ones[i]])) {
            return false;
        }
        export->n_keys++;
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
