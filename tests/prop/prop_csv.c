/* SPDX-License-Identifier: Apache-2.0
 *
 * Random tables, written as delimited text in every way the grammar allows, read back in chunks of
 * random size: cells, widths and line numbers must be those of the table. Then one byte is damaged:
 * the reader must come to the end all the same.
 */
#include "tools/csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/prng.h"

#define ROWS_MAX    12u
#define COLUMNS_MAX 6u
#define CELL_MAX    40u
#define TEXT_MAX    (ROWS_MAX * COLUMNS_MAX * (2u * CELL_MAX + 3u) + 64u)

struct cell {
    uint8_t bytes[CELL_MAX];
    size_t len;
};

struct table {
    struct cell cells[ROWS_MAX][COLUMNS_MAX];
    uint64_t lines[ROWS_MAX];
    size_t n_rows;
    size_t n_columns;
    char delimiter;
};

static struct table table;
static uint8_t text[TEXT_MAX];
static size_t text_len;

struct source {
    struct torc_prng *prng;
    size_t at;
};

static ssize_t read_source(void *context, void *buffer, size_t size)
{
    struct source *source = context;
    size_t rest = text_len - source->at;
    size_t n = rest < size ? rest : size;
    if (n > 1) {
        n = 1 + (size_t)torc_prng_below(source->prng, n);
    }
    memcpy(buffer, text + source->at, n);
    source->at += n;
    return (ssize_t)n;
}

/* Bytes that mean something come up often. */
static uint8_t draw_byte(struct torc_prng *prng)
{
    static const char special[] = "\"\r\n,;\"\"x";
    uint64_t kind = torc_prng_below(prng, 3);
    return kind == 0 ? (uint8_t)special[torc_prng_below(prng, sizeof special - 1)]
                     : (uint8_t)(kind == 1 ? 'a' + torc_prng_below(prng, 26)
                                           : torc_prng_below(prng, 256));
}

static void draw_table(struct torc_prng *prng)
{
    table.n_rows = (size_t)torc_prng_below(prng, ROWS_MAX + 1);
    table.n_columns = 1 + (size_t)torc_prng_below(prng, COLUMNS_MAX);
    table.delimiter = ",;\t|"[torc_prng_below(prng, 4)];
    for (size_t row = 0; row < table.n_rows; row++) {
        for (size_t column = 0; column < table.n_columns; column++) {
            struct cell *cell = &table.cells[row][column];
            cell->len = (size_t)torc_prng_below(prng, CELL_MAX + 1);
            if (torc_prng_below(prng, 2) == 0) {
                cell->len = (size_t)torc_prng_below(prng, 3);
            }
            for (size_t i = 0; i < cell->len; i++) {
                cell->bytes[i] = draw_byte(prng);
            }
        }
    }
}

static void put(uint8_t byte)
{
    text[text_len++] = byte;
}

static bool needs_quotes(const struct cell *cell)
{
    for (size_t i = 0; i < cell->len; i++) {
        uint8_t byte = cell->bytes[i];
        if (byte == '"' || byte == '\r' || byte == '\n' || byte == (uint8_t)table.delimiter) {
            return true;
        }
    }
    return false;
}

static void write_cell(struct torc_prng *prng, const struct cell *cell, uint64_t *line)
{
    bool quoted = needs_quotes(cell) || torc_prng_below(prng, 3) == 0;
    if (quoted) {
        put('"');
    }
    for (size_t i = 0; i < cell->len; i++) {
        *line += cell->bytes[i] == '\n';
        if (cell->bytes[i] == '"') {
            put('"');
        }
        put(cell->bytes[i]);
    }
    if (quoted) {
        put('"');
    }
}

static void write_table(struct torc_prng *prng)
{
    static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};
    uint64_t line = 1;
    text_len = 0;
    /* Also before a first cell that starts with the same bytes: only one is skipped. */
    for (size_t i = 0; i < sizeof mark; i++) {
        put(mark[i]);
    }
    for (size_t row = 0; row < table.n_rows; row++) {
        table.lines[row] = line;
        size_t start = text_len;
        for (size_t column = 0; column < table.n_columns; column++) {
            if (column > 0) {
                put((uint8_t)table.delimiter);
            }
            write_cell(prng, &table.cells[row][column], &line);
        }
        bool last = row + 1 == table.n_rows;
        if (last && text_len > start && torc_prng_below(prng, 2) == 0) {
            break;
        }
        if (torc_prng_below(prng, 2) == 0) {
            put('\r');
        }
        put('\n');
        line++;
    }
}

static struct torc_csv *open_text(struct source *source)
{
    struct torc_csv_options options = {
        .delimiter = table.delimiter,
        .row_bytes_max = TEXT_MAX,
        .read = read_source,
        .context = source,
    };
    struct torc_csv *csv = NULL;
    return torc_csv_create(&options, &csv) == 0 ? csv : NULL;
}

static bool reads_back(struct torc_prng *prng)
{
    struct source source = {.prng = prng};
    struct torc_csv *csv = open_text(&source);
    bool same = csv != NULL;
    struct torc_csv_row row;
    for (size_t i = 0; same && i < table.n_rows; i++) {
        same = torc_csv_next(csv, &row) == 1 && row.n_cells == table.n_columns &&
               row.line == table.lines[i];
        for (size_t column = 0; same && column < table.n_columns; column++) {
            const struct cell *cell = &table.cells[i][column];
            same = torc_slice_equal(row.cells[column], torc_slice_of(cell->bytes, cell->len));
        }
    }
    same = same && torc_csv_next(csv, &row) == 0 && torc_csv_consumed(csv) == text_len;
    torc_csv_destroy(csv);
    return same;
}

static bool survives_damage(struct torc_prng *prng)
{
    text[torc_prng_below(prng, text_len)] = draw_byte(prng);
    struct source source = {.prng = prng};
    struct torc_csv *csv = open_text(&source);
    struct torc_csv_row row;
    int rc = csv != NULL ? 1 : -ENOMEM;
    uint64_t line = 0;
    size_t steps = 0;
    while (rc != 0 && (rc == 1 || rc == -EBADMSG || rc == -EMSGSIZE) && steps <= text_len + 1) {
        rc = torc_csv_next(csv, &row);
        steps++;
        if (rc == 1 && row.line <= line) {
            rc = -EINVAL;
        }
        line = rc == 1 ? row.line : line;
    }
    bool good = rc == 0 && torc_csv_consumed(csv) == text_len;
    torc_csv_destroy(csv);
    return good;
}

int main(void)
{
    struct torc_prng prng = {.state = torc_test_seed(4180)};
    uint64_t ops = torc_test_ops(20000);
    for (uint64_t i = 0; i < ops; i++) {
        draw_table(&prng);
        write_table(&prng);
        if (!reads_back(&prng) || !survives_damage(&prng)) {
            printf("step %llu: a table was not read back\n", (unsigned long long)i);
            return EXIT_FAILURE;
        }
    }
    printf("%llu tables\n", (unsigned long long)ops);
    return EXIT_SUCCESS;
}
