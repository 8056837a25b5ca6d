/* SPDX-License-Identifier: Apache-2.0
 *
 * Delimited text, strictly by RFC 4180, read as a stream: one row at a time out of a buffer that is
 * as large as the largest row so far, up to a limit.
 *
 *   file = [BOM] row *(line-end row) [line-end]        line-end = LF | CRLF
 *   row  = cell *(delimiter cell)
 *   cell = any bytes but quote, delimiter, CR and LF   an empty cell is an empty value
 *        | quote *(any byte but quote | quote quote) quote
 *
 * Rows have the same number of cells. Bytes are bytes: NUL and anything above 0x7f are kept as they
 * are. An empty line is a row with one empty cell. The byte order mark is that of UTF-8.
 */
#ifndef TORC_TOOLS_CSV_H
#define TORC_TOOLS_CSV_H

#include <sys/types.h>

#include "core/slice.h"

#define TORC_CSV_ROW_BYTES   (16 * TORC_MIB) /* default of row_bytes_max */
#define TORC_CSV_COLUMNS_MAX 16384u
#define TORC_CSV_ERROR_BYTES 128

struct torc_csv;

struct torc_csv_options {
    char delimiter;       /* not a quote, CR, LF or NUL */
    size_t n_columns;     /* cells of every row; 0: the first row decides */
    size_t row_bytes_max; /* longest row with its quotes and line end; 0: TORC_CSV_ROW_BYTES */

    /* Where bytes come from: like read(2), but a negative errno on error; 0 at the end. */
    ssize_t (*read)(void *context, void *buffer, size_t size);
    void *context;
};

/* One row. Everything in it is borrowed from the reader until its next call. */
struct torc_csv_row {
    const struct torc_slice *cells;
    size_t n_cells;
    uint64_t line; /* on which the row starts, from 1 */
};

/* A reader on the heap. -EINVAL options, -ENOMEM. One thread at a time. Bytes are first asked for
 * by torc_csv_next(). */
int torc_csv_create(const struct torc_csv_options *options,
                    struct torc_csv **out_csv) TORC_MUST_USE;
void torc_csv_destroy(struct torc_csv *csv);

/* The next row. 1, or 0 at the end. Errors, with torc_csv_error() and torc_csv_error_line():
 *   -EBADMSG   malformed: a quote without an end, text behind a closing quote, a quote inside a
 * bare cell, CR without LF, another number of cells than the rows before -EMSGSIZE  longer than
 * row_bytes_max, or more cells than TORC_CSV_COLUMNS_MAX Both cost one row: the next call goes on
 * with a line behind it. That is the line after the faulty one; where a quote has no end, the line
 * after the one that opens it, so that a stray quote does not swallow the rest of the file.
 *   -ENOMEM, or what read() gave: the stream cannot be gone on with. */
int torc_csv_next(struct torc_csv *csv, struct torc_csv_row *out_row) TORC_MUST_USE;

/* Of the last failed torc_csv_next(): what is wrong, and on which line. */
const char *torc_csv_error(const struct torc_csv *csv);
uint64_t torc_csv_error_line(const struct torc_csv *csv);

/* Bytes of the input that lie behind the rows given so far: for a progress bar. */
uint64_t torc_csv_consumed(const struct torc_csv *csv);

#endif
