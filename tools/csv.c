/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffer always starts at a row. torc_csv_next() scans it from there: a complete row is cut off
 * the front; one that is not complete yet gets more bytes, and is scanned again from its start. The
 * buffer is filled to the brim before each scan and doubles when the row does not fit, so all scans
 * of one row together cost at most twice its length.
 *
 * The scan only notes where cells lie. Doubled quotes are undone, in place, once the whole row has
 * been found well-formed: after a fault the bytes are still those of the file, and any of its lines
 * can be gone back to.
 */
#include "tools/csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES_FIRST 65536u
#define CELLS_FIRST        64u
#define ROW_BYTES_LEAST    16u /* the buffer holds a byte order mark, and then some */

#define QUOTE     '"'
#define NOT_FOUND SIZE_MAX

/* A cell as scanned: inside its quotes, if it has any. */
struct span {
    size_t start; /* offset into the buffer */
    size_t end;
    bool has_doubled; /* quotes to undo */
};

struct torc_csv {
    struct torc_csv_options options;

    uint8_t *buffer;
    size_t cap;
    size_t start; /* offset of the row to come */
    size_t end;   /* bytes behind it are not filled */
    bool at_end;  /* the source has no more */
    bool at_first;
    bool skipping; /* a row was too long: its rest, up to the line end, is thrown away */

    struct span *spans;
    struct torc_slice *cells;
    size_t cells_cap;

    uint64_t line; /* of the byte at `start` */
    uint64_t consumed;
    uint64_t error_line;
    char error[TORC_CSV_ERROR_BYTES];
};

/* What one scan found. Offsets are into the buffer. */
struct scan {
    enum { SCAN_MORE, SCAN_ROW, SCAN_END } result;
    size_t next;    /* SCAN_ROW: behind the row and its line end */
    size_t n_cells; /* SCAN_ROW */
    size_t open;    /* SCAN_MORE: where the quote opens that is not closed yet; else NOT_FOUND */
};

int torc_csv_create(const struct torc_csv_options *options, struct torc_csv **out_csv)
{
    char d = options->delimiter;
    size_t limit = options->row_bytes_max;
    if (d == QUOTE || d == '\r' || d == '\n' || d == '\0' || options->read == NULL ||
        options->n_columns > TORC_CSV_COLUMNS_MAX || (limit != 0 && limit < ROW_BYTES_LEAST) ||
        limit == SIZE_MAX) {
        return -EINVAL;
    }
    struct torc_csv *csv = calloc(1, sizeof *csv);
    if (csv == NULL) {
        return -ENOMEM;
    }
    csv->options = *options;
    if (csv->options.row_bytes_max == 0) {
        csv->options.row_bytes_max = TORC_CSV_ROW_BYTES;
    }
    csv->line = 1;
    csv->at_first = true;
    *out_csv = csv;
    return 0;
}

void torc_csv_destroy(struct torc_csv *csv)
{
    if (csv != NULL) {
        free(csv->buffer);
        free(csv->spans);
        free(csv->cells);
        free(csv);
    }
}

const char *torc_csv_error(const struct torc_csv *csv)
{
    return csv->error;
}

uint64_t torc_csv_error_line(const struct torc_csv *csv)
{
    return csv->error_line;
}

uint64_t torc_csv_consumed(const struct torc_csv *csv)
{
    return csv->consumed;
}

static int fail(struct torc_csv *csv, int code, uint64_t line, const char *format, ...)
    TORC_PRINTF(4, 5);

static int fail(struct torc_csv *csv, int code, uint64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(csv->error, sizeof csv->error, format, args);
    va_end(args);
    csv->error_line = line;
    return code;
}

/* Line ends in buffer[from, to). */
static uint64_t count_lines(const struct torc_csv *csv, size_t from, size_t to)
{
    uint64_t n = 0;
    while (from < to) {
        const uint8_t *found = memchr(csv->buffer + from, '\n', to - from);
        if (found == NULL) {
            break;
        }
        n++;
        from = (size_t)(found - csv->buffer) + 1;
    }
    return n;
}

static void advance(struct torc_csv *csv, size_t to)
{
    csv->line += count_lines(csv, csv->start, to);
    csv->consumed += to - csv->start;
    csv->start = to;
}

/* Give up the row at the front because of what stands at offset `at`, and go on with the line
 * behind that. `line` and the text are for the message. Returns `code`. */
static int refuse(struct torc_csv *csv, int code, size_t at, uint64_t line, const char *text)
{
    const uint8_t *found = memchr(csv->buffer + at, '\n', csv->end - at);
    csv->skipping = found == NULL;
    advance(csv, found != NULL ? (size_t)(found - csv->buffer) + 1 : csv->end);
    return fail(csv, code, line, "%s", text);
}

/* --- bytes --- */

/* Move the row to the front, make room if there is none, read until the buffer is full or the
 * source ends. 0, -EMSGSIZE, -ENOMEM, an error of read(). */
static int fill(struct torc_csv *csv)
{
    if (csv->start > 0) {
        memmove(csv->buffer, csv->buffer + csv->start, csv->end - csv->start);
        csv->end -= csv->start;
        csv->start = 0;
    }
    if (csv->end == csv->cap) {
        /* One byte more than a row may have: only a longer one fills the buffer. */
        size_t cap_max = csv->options.row_bytes_max + 1;
        size_t cap = csv->cap == 0 ? BUFFER_BYTES_FIRST : csv->cap * 2;
        cap = cap < cap_max ? cap : cap_max;
        if (cap <= csv->cap) {
            return -EMSGSIZE;
        }
        uint8_t *grown = realloc(csv->buffer, cap);
        if (grown == NULL) {
            return fail(csv, -ENOMEM, csv->line, "no memory for a row of more than %zu bytes",
                        csv->cap);
        }
        csv->buffer = grown;
        csv->cap = cap;
    }
    while (csv->end < csv->cap) {
        ssize_t n =
            csv->options.read(csv->options.context, csv->buffer + csv->end, csv->cap - csv->end);
        if (n < 0) {
            return fail(csv, (int)n, csv->line, "cannot be read: %s", strerror((int)-n));
        }
        if (n == 0) {
            csv->at_end = true;
            break;
        }
        csv->end += (size_t)n;
    }
    return 0;
}

static void skip_byte_order_mark(struct torc_csv *csv)
{
    static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};
    if (csv->end >= sizeof mark && memcmp(csv->buffer, mark, sizeof mark) == 0) {
        advance(csv, sizeof mark);
    }
}

/* --- scanning --- */

static int reserve_cell(struct torc_csv *csv, size_t n)
{
    if (n < csv->cells_cap) {
        return 0;
    }
    if (n >= TORC_CSV_COLUMNS_MAX) {
        return -EMSGSIZE;
    }
    size_t cap = csv->cells_cap == 0 ? CELLS_FIRST : csv->cells_cap * 2;
    struct span *spans = realloc(csv->spans, cap * sizeof *spans);
    if (spans == NULL) {
        return -ENOMEM;
    }
    csv->spans = spans;
    struct torc_slice *cells = realloc(csv->cells, cap * sizeof *cells);
    if (cells == NULL) {
        return -ENOMEM;
    }
    csv->cells = cells;
    csv->cells_cap = cap;
    return 0;
}

static int malformed(struct torc_csv *csv, size_t at, const char *what)
{
    return refuse(csv, -EBADMSG, at, csv->line + count_lines(csv, csv->start, at), what);
}

/* The quoted cell whose quote opens at `p`. Returns the offset behind its closing quote; NOT_FOUND
 * when that is not in the buffer. A quote at the very end of the buffer is taken for the closing
 * one, though it may be the first half of a doubled one: the caller asks for more bytes there. */
static size_t scan_quoted(const struct torc_csv *csv, size_t p, struct span *span)
{
    span->start = ++p;
    span->has_doubled = false;
    while (p < csv->end) {
        const uint8_t *found = memchr(csv->buffer + p, QUOTE, csv->end - p);
        if (found == NULL) {
            return NOT_FOUND;
        }
        p = (size_t)(found - csv->buffer) + 1;
        if (p == csv->end || csv->buffer[p] != QUOTE) {
            span->end = p - 1;
            return p;
        }
        span->has_doubled = true;
        p++;
    }
    return NOT_FOUND;
}

static size_t scan_bare(const struct torc_csv *csv, size_t p, struct span *span)
{
    uint8_t delimiter = (uint8_t)csv->options.delimiter;
    const uint8_t *bytes = csv->buffer;
    span->start = p;
    span->has_doubled = false;
    while (p < csv->end && bytes[p] != delimiter && bytes[p] != '\n' && bytes[p] != '\r' &&
           bytes[p] != QUOTE) {
        p++;
    }
    span->end = p;
    return p;
}

/* Behind the cells of a row: its line end at `p`, or what should not be there. */
static int scan_line_end(struct torc_csv *csv, size_t p, bool quoted, struct scan *scan)
{
    const uint8_t *bytes = csv->buffer;
    if (p == csv->end || bytes[p] == '\n') {
        scan->result = SCAN_ROW;
        scan->next = p == csv->end ? p : p + 1;
        return 0;
    }
    if (bytes[p] != '\r') {
        return malformed(csv, p,
                         quoted ? "text behind a closing quote"
                                : "quote inside a cell that does not start with one");
    }
    if (p + 1 == csv->end && !csv->at_end) {
        return 0;
    }
    if (p + 1 == csv->end || bytes[p + 1] != '\n') {
        return malformed(csv, p, "carriage return without a line feed");
    }
    scan->result = SCAN_ROW;
    scan->next = p + 2;
    return 0;
}

/* Go through one row of the buffer. 0 and `scan`; -EBADMSG or -EMSGSIZE when the row was refused,
 * -ENOMEM. */
static int scan_row(struct torc_csv *csv, struct scan *scan)
{
    size_t p = csv->start;
    *scan = (struct scan){.result = SCAN_MORE, .open = NOT_FOUND};
    if (p == csv->end) {
        scan->result = csv->at_end ? SCAN_END : SCAN_MORE;
        return 0;
    }
    for (size_t n = 0;; n++, p++) {
        int rc = reserve_cell(csv, n);
        if (rc == -EMSGSIZE) {
            return refuse(csv, rc, p, csv->line, "too many columns");
        }
        if (rc != 0) {
            return fail(csv, rc, csv->line, "no memory for %zu columns", n + 1);
        }
        bool quoted = p < csv->end && csv->buffer[p] == QUOTE;
        if (quoted) {
            size_t open = p;
            p = scan_quoted(csv, p, &csv->spans[n]);
            if (p == NOT_FOUND && csv->at_end) {
                return malformed(csv, open, "quote without an end");
            }
            if (p == NOT_FOUND) {
                scan->open = open;
                return 0;
            }
        } else {
            p = scan_bare(csv, p, &csv->spans[n]);
        }
        if (p == csv->end && !csv->at_end) {
            return 0;
        }
        if (p == csv->end || csv->buffer[p] != (uint8_t)csv->options.delimiter) {
            scan->n_cells = n + 1;
            return scan_line_end(csv, p, quoted, scan);
        }
    }
}

/* "a""b" to a"b, in place. The length of the outcome. */
static size_t undo_doubled(uint8_t *bytes, size_t len)
{
    size_t out = 0;
    for (size_t in = 0; in < len; in++) {
        bytes[out++] = bytes[in];
        in += bytes[in] == QUOTE;
    }
    return out;
}

/* A row is complete: check it, give its cells out, move on. */
static int deliver(struct torc_csv *csv, const struct scan *scan, struct torc_csv_row *out_row)
{
    uint64_t line = csv->line;
    size_t len = scan->next - csv->start;
    /* Lines are counted before bytes are moved about. */
    advance(csv, scan->next);
    if (len > csv->options.row_bytes_max) {
        return fail(csv, -EMSGSIZE, line, "row longer than %zu bytes", csv->options.row_bytes_max);
    }
    if (csv->options.n_columns == 0) {
        csv->options.n_columns = scan->n_cells;
    }
    if (scan->n_cells != csv->options.n_columns) {
        return fail(csv, -EBADMSG, line, "wrong number of columns: %zu instead of %zu",
                    scan->n_cells, csv->options.n_columns);
    }
    for (size_t i = 0; i < scan->n_cells; i++) {
        const struct span *span = &csv->spans[i];
        uint8_t *bytes = csv->buffer + span->start;
        size_t cell_len = span->end - span->start;
        csv->cells[i] =
            torc_slice_of(bytes, span->has_doubled ? undo_doubled(bytes, cell_len) : cell_len);
    }
    *out_row = (struct torc_csv_row){.cells = csv->cells, .n_cells = scan->n_cells, .line = line};
    return 1;
}

/* The row fills the largest buffer. If it ends in an open quote, that is taken for a stray one. */
static int refuse_long_row(struct torc_csv *csv, size_t open)
{
    char text[TORC_CSV_ERROR_BYTES];
    (void)snprintf(text, sizeof text, "%s longer than %zu bytes",
                   open != NOT_FOUND ? "quote without an end, or a row" : "row",
                   csv->options.row_bytes_max);
    return open != NOT_FOUND
               ? refuse(csv, -EMSGSIZE, open, csv->line + count_lines(csv, csv->start, open), text)
               : refuse(csv, -EMSGSIZE, csv->end, csv->line, text);
}

/* Throw away what is left of a refused line. 0, or an error of fill(). */
static int skip_line(struct torc_csv *csv)
{
    while (csv->skipping) {
        const uint8_t *found = memchr(csv->buffer + csv->start, '\n', csv->end - csv->start);
        advance(csv, found != NULL ? (size_t)(found - csv->buffer) + 1 : csv->end);
        csv->skipping = found == NULL && !csv->at_end;
        int rc = csv->skipping ? fill(csv) : 0;
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int torc_csv_next(struct torc_csv *csv, struct torc_csv_row *out_row)
{
    int rc = 0;
    if (csv->at_first) {
        rc = fill(csv);
        if (rc != 0) {
            return rc;
        }
        csv->at_first = false;
        skip_byte_order_mark(csv);
    }
    rc = skip_line(csv);
    while (rc == 0) {
        struct scan scan;
        rc = scan_row(csv, &scan);
        if (rc != 0 || scan.result == SCAN_END) {
            return rc;
        }
        if (scan.result == SCAN_ROW) {
            return deliver(csv, &scan, out_row);
        }
        rc = fill(csv);
        if (rc == -EMSGSIZE) {
            return refuse_long_row(csv, scan.open);
        }
    }
    return rc;
}
