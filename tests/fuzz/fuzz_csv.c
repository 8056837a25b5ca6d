/* SPDX-License-Identifier: Apache-2.0
 *
 * Delimited text. The first byte picks the delimiter and the limit of a row. The reader must come
 * to the end whatever the faults, give the same whether bytes come one by one or all at once, and
 * read its own rows back when they are written with quotes.
 */
#include "tools/csv.h"

#include <stdlib.h>

#include "core/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *data;
    size_t len;
    size_t at;
    size_t chunk;
};

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static ssize_t read_source(void *context, void *buffer, size_t size)
{
    struct source *source = context;
    size_t n = source->len - source->at;
    n = n < size ? n : size;
    n = n < source->chunk ? n : source->chunk;
    if (n > 0) {
        memcpy(buffer, source->data + source->at, n);
        source->at += n;
    }
    return (ssize_t)n;
}

static struct torc_csv *open_source(struct source *source, uint8_t choice)
{
    struct torc_csv_options options = {
        .delimiter = ",;\t "[choice & 3],
        .row_bytes_max = (choice & 4) != 0 ? 32 : 4096,
        .read = read_source,
        .context = source,
    };
    struct torc_csv *csv = NULL;
    require(torc_csv_create(&options, &csv) == 0);
    return csv;
}

/* Everything that comes out, as one checksum. Well-formed rows are written to `out` if it is given,
 * all cells in quotes. */
static uint32_t read_all(struct source *source, uint8_t choice, uint8_t *out, size_t *out_len,
                         size_t *out_rows)
{
    struct torc_csv *csv = open_source(source, choice);
    struct torc_csv_row row;
    uint32_t sum = 0;
    size_t steps = 0;
    *out_rows = 0;
    for (int rc = 1; rc != 0;) {
        rc = torc_csv_next(csv, &row);
        require(rc == 1 || rc == 0 || rc == -EBADMSG || rc == -EMSGSIZE);
        require(++steps <= source->len + 2);
        uint64_t line = rc < 0 ? torc_csv_error_line(csv) : rc == 1 ? row.line : 0;
        sum = torc_crc32c(sum, &rc, sizeof rc);
        sum = torc_crc32c(sum, &line, sizeof line);
        for (size_t i = 0; rc == 1 && i < row.n_cells; i++) {
            sum = torc_crc32c(sum, &row.cells[i].len, sizeof row.cells[i].len);
            sum = torc_crc32c(sum, row.cells[i].data, row.cells[i].len);
            if (out != NULL) {
                out[(*out_len)++] = '"';
                for (size_t b = 0; b < row.cells[i].len; b++) {
                    if (row.cells[i].data[b] == '"') {
                        out[(*out_len)++] = '"';
                    }
                    out[(*out_len)++] = row.cells[i].data[b];
                }
                out[(*out_len)++] = '"';
                out[(*out_len)++] =
                    i + 1 < row.n_cells ? (uint8_t) ",;\t "[choice & 3] : (uint8_t)'\n';
            }
        }
        *out_rows += rc == 1;
    }
    require(torc_csv_consumed(csv) == source->len);
    torc_csv_destroy(csv);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    uint8_t choice = data[0];
    struct source whole = {.data = data + 1, .len = size - 1, .chunk = SIZE_MAX};
    struct source bytes = {.data = data + 1, .len = size - 1, .chunk = 1};
    /* Each byte becomes two at most; each cell, which has a byte behind it or the end, four more.
     */
    uint8_t *again = malloc(6 * size + 8);
    require(again != NULL);
    size_t again_len = 0;
    size_t rows = 0;
    size_t rows_again = 0;
    uint32_t sum = read_all(&whole, choice, again, &again_len, &rows);
    require(sum == read_all(&bytes, choice, NULL, NULL, &rows_again) && rows == rows_again);

    /* A byte order mark in a first cell is behind a quote now, and the limit is out of the way. */
    struct source rewritten = {.data = again, .len = again_len, .chunk = SIZE_MAX};
    uint8_t *third = malloc(again_len + 8);
    require(third != NULL);
    size_t third_len = 0;
    bool fits = again_len < 32 || (choice & 4) == 0;
    if (fits && again_len < 4096) {
        (void)read_all(&rewritten, choice, third, &third_len, &rows_again);
        require(rows == rows_again && again_len == third_len);
        require(memcmp(again, third, again_len) == 0);
    }
    free(third);
    free(again);
    return 0;
}
