/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/csv.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A source in memory that gives `chunk` bytes at a time, and an error at its end if asked to. */
struct source {
    const char *bytes;
    size_t len;
    size_t at;
    size_t chunk;
    int error;
};

static ssize_t read_source(void *context, void *buffer, size_t size)
{
    struct source *source = context;
    size_t n = source->len - source->at;
    n = n < size ? n : size;
    n = n < source->chunk ? n : source->chunk;
    if (n == 0) {
        return source->error;
    }
    memcpy(buffer, source->bytes + source->at, n);
    source->at += n;
    return (ssize_t)n;
}

static struct source source;
static struct torc_csv *csv;
static struct torc_csv_row row;

static void open_bytes(const char *bytes, size_t len, struct torc_csv_options options)
{
    source = (struct source){.bytes = bytes, .len = len, .chunk = 7};
    if (options.delimiter == '\0') {
        options.delimiter = ',';
    }
    options.read = read_source;
    options.context = &source;
    torc_csv_destroy(csv);
    csv = NULL;
    ck_assert_int_eq(torc_csv_create(&options, &csv), 0);
}

static void open_text(const char *text)
{
    open_bytes(text, strlen(text), (struct torc_csv_options){0});
}

/* Overwrite part of a text, without a terminator. */
static void put(char *at, const char *bytes)
{
    while (*bytes != '\0') {
        *at++ = *bytes++;
    }
}

static void tear_down(void)
{
    torc_csv_destroy(csv);
    csv = NULL;
}

/* The cells of `row`, with | between them. */
static const char *cells(void)
{
    static char text[1024];
    size_t at = 0;
    for (size_t i = 0; i < row.n_cells; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i > 0 ? "|" : "",
                               (int)row.cells[i].len, (const char *)row.cells[i].data);
    }
    text[at] = '\0';
    return text;
}

static void assert_row(uint64_t line, const char *expected)
{
    ck_assert_int_eq(torc_csv_next(csv, &row), 1);
    ck_assert_str_eq(cells(), expected);
    ck_assert_uint_eq(row.line, line);
}

static void assert_end(void)
{
    ck_assert_int_eq(torc_csv_next(csv, &row), 0);
    ck_assert_int_eq(torc_csv_next(csv, &row), 0);
    ck_assert_uint_eq(torc_csv_consumed(csv), source.len);
}

static void assert_error(int code, uint64_t line, const char *text)
{
    ck_assert_int_eq(torc_csv_next(csv, &row), code);
    ck_assert_str_eq(torc_csv_error(csv), text);
    ck_assert_uint_eq(torc_csv_error_line(csv), line);
}

START_TEST(rows_of_bare_cells)
{
    open_text("a,b,c\n1,2,3\n");
    assert_row(1, "a|b|c");
    assert_row(2, "1|2|3");
    assert_end();
}
END_TEST

START_TEST(the_last_line_end_may_be_missing)
{
    open_text("a,b\n1,2");
    assert_row(1, "a|b");
    assert_row(2, "1|2");
    assert_end();
    open_text("a,b\r\n1,\"2\"");
    assert_row(1, "a|b");
    assert_row(2, "1|2");
    assert_end();
}
END_TEST

START_TEST(lf_and_crlf_may_be_mixed)
{
    open_text("a\r\nb\nc\r\n");
    assert_row(1, "a");
    assert_row(2, "b");
    assert_row(3, "c");
    assert_end();
}
END_TEST

START_TEST(an_empty_file_has_no_rows)
{
    open_text("");
    assert_end();
    open_text("\xef\xbb\xbf");
    assert_end();
}
END_TEST

START_TEST(an_empty_line_is_a_row_of_one_empty_cell)
{
    open_text("a\n\nb\n");
    assert_row(1, "a");
    assert_row(2, "");
    assert_row(3, "b");
    assert_end();
    open_text("a,b\n\n");
    assert_row(1, "a|b");
    assert_error(-EBADMSG, 2, "wrong number of columns: 1 instead of 2");
    assert_end();
}
END_TEST

START_TEST(empty_cells_are_kept)
{
    open_text(",,\n\"\",,x\n,\"\",");
    assert_row(1, "||");
    assert_row(2, "||x");
    assert_row(3, "||");
    ck_assert_uint_eq(row.n_cells, 3);
    assert_end();
}
END_TEST

START_TEST(quotes_hold_delimiters_line_ends_and_quotes)
{
    open_text("\"a,b\",\"c\nd\",\"e\r\nf\"\n\"say \"\"hi\"\"\",\"\"\"\",\"\"\"\"\"\"\nx,y,z\n");
    assert_row(1, "a,b|c\nd|e\r\nf");
    assert_row(4, "say \"hi\"|\"|\"\"");
    assert_row(5, "x|y|z");
    assert_end();
}
END_TEST

START_TEST(bytes_of_any_value_are_kept)
{
    static const char bytes[] = "\xff\x80,\0x\n\"\0\",\xc3\xa4\n";
    open_bytes(bytes, sizeof bytes - 1, (struct torc_csv_options){0});
    ck_assert_int_eq(torc_csv_next(csv, &row), 1);
    ck_assert_mem_eq(row.cells[0].data, "\xff\x80", 2);
    ck_assert_uint_eq(row.cells[1].len, 2);
    ck_assert_mem_eq(row.cells[1].data, "\0x", 2);
    ck_assert_int_eq(torc_csv_next(csv, &row), 1);
    ck_assert_uint_eq(row.cells[0].len, 1);
    ck_assert_uint_eq(row.cells[1].len, 2);
    assert_end();
}
END_TEST

START_TEST(blanks_belong_to_the_cell)
{
    open_text(" a , b\t\n");
    assert_row(1, " a | b\t");
    open_text("a, \"b\"\n");
    assert_error(-EBADMSG, 1, "quote inside a cell that does not start with one");
}
END_TEST

START_TEST(the_byte_order_mark_is_skipped_only_at_the_start)
{
    open_text("\xef\xbb\xbf\"a\",b\n\xef\xbb\xbf,c\n");
    assert_row(1, "a|b");
    assert_row(2, "\xef\xbb\xbf|c");
    assert_end();
}
END_TEST

START_TEST(another_delimiter_makes_the_comma_a_byte)
{
    const char *text = "a;b,c;\"d;e\"\n";
    open_bytes(text, strlen(text), (struct torc_csv_options){.delimiter = ';'});
    assert_row(1, "a|b,c|d;e");
    text = "a\tb\n";
    open_bytes(text, strlen(text), (struct torc_csv_options){.delimiter = '\t'});
    assert_row(1, "a|b");
}
END_TEST

START_TEST(a_row_of_another_width_is_refused_and_left_behind)
{
    open_text("a,b\n1\n2,3,4\n5,6\n");
    assert_row(1, "a|b");
    assert_error(-EBADMSG, 2, "wrong number of columns: 1 instead of 2");
    assert_error(-EBADMSG, 3, "wrong number of columns: 3 instead of 2");
    assert_row(4, "5|6");
    assert_end();
}
END_TEST

START_TEST(the_width_may_be_given)
{
    const char *text = "a,b\n1,2,3\n";
    open_bytes(text, strlen(text), (struct torc_csv_options){.n_columns = 3});
    assert_error(-EBADMSG, 1, "wrong number of columns: 2 instead of 3");
    assert_row(2, "1|2|3");
    assert_end();
}
END_TEST

START_TEST(text_behind_a_closing_quote_is_refused_with_its_own_line)
{
    open_text("a,b\n\"1\n2\"x,3\n4,5\n\"6\" ,7\n8,9\n");
    assert_row(1, "a|b");
    assert_error(-EBADMSG, 3, "text behind a closing quote");
    assert_row(4, "4|5");
    assert_error(-EBADMSG, 5, "text behind a closing quote");
    assert_row(6, "8|9");
    assert_end();
}
END_TEST

START_TEST(a_quote_inside_a_bare_cell_is_refused)
{
    open_text("a,5\" pipe\nb,c\n");
    assert_error(-EBADMSG, 1, "quote inside a cell that does not start with one");
    assert_row(2, "b|c");
    assert_end();
}
END_TEST

START_TEST(a_carriage_return_alone_is_refused)
{
    open_text("a\rb\nc\n");
    assert_error(-EBADMSG, 1, "carriage return without a line feed");
    assert_row(2, "c");
    assert_end();
    open_text("a\r");
    assert_error(-EBADMSG, 1, "carriage return without a line feed");
    assert_end();
    open_text("\"a\"\rb\n");
    assert_error(-EBADMSG, 1, "carriage return without a line feed");
    assert_end();
}
END_TEST

START_TEST(a_stray_quote_costs_its_line_and_not_the_file)
{
    open_text("a,b\n\"1,2\n3,4\n5,6\n");
    assert_row(1, "a|b");
    assert_error(-EBADMSG, 2, "quote without an end");
    assert_row(3, "3|4");
    assert_row(4, "5|6");
    assert_end();
    open_text("x,\"y\nz\",\"\n1,2\n");
    assert_error(-EBADMSG, 2, "quote without an end");
    assert_row(3, "1|2");
    assert_end();
    open_text("\"");
    assert_error(-EBADMSG, 1, "quote without an end");
    assert_end();
    open_text("\"a\"\"");
    assert_error(-EBADMSG, 1, "quote without an end");
    assert_end();
}
END_TEST

START_TEST(a_row_may_have_the_limit_but_not_more)
{
    struct torc_csv_options options = {.row_bytes_max = 16};
    open_bytes("123456789012345\nb\n", 18, options);
    assert_row(1, "123456789012345");
    assert_row(2, "b");
    assert_end();
    open_bytes("1234567890123456", 16, options);
    assert_row(1, "1234567890123456");
    assert_end();
    open_bytes("1234567890123456\nb\n", 19, options);
    assert_error(-EMSGSIZE, 1, "row longer than 16 bytes");
    assert_row(2, "b");
    assert_end();
}
END_TEST

START_TEST(a_long_row_is_thrown_away_up_to_its_line_end)
{
    static char text[4000];
    memset(text, 'x', sizeof text);
    put(text, "a\n");
    put(text + 3000, "\nb\n");
    memset(text + 3003, 'y', sizeof text - 3003);
    open_bytes(text, sizeof text, (struct torc_csv_options){.row_bytes_max = 50});
    assert_row(1, "a");
    assert_error(-EMSGSIZE, 2, "row longer than 50 bytes");
    assert_row(3, "b");
    assert_error(-EMSGSIZE, 4, "row longer than 50 bytes");
    assert_end();
}
END_TEST

START_TEST(a_stray_quote_in_a_large_file_is_found_at_the_limit)
{
    const char *text = "a\n\"b\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
    open_bytes(text, strlen(text), (struct torc_csv_options){.row_bytes_max = 16});
    assert_row(1, "a");
    assert_error(-EMSGSIZE, 2, "quote without an end, or a row longer than 16 bytes");
    assert_row(3, "c");
    for (uint64_t line = 4; line < 14; line++) {
        ck_assert_int_eq(torc_csv_next(csv, &row), 1);
        ck_assert_uint_eq(row.line, line);
    }
    assert_end();
}
END_TEST

START_TEST(a_row_larger_than_the_first_buffer_is_whole)
{
    enum { SIZE = 500000 };
    char *text = malloc(SIZE);
    ck_assert_ptr_nonnull(text);
    memset(text, 'q', SIZE);
    put(text, "k,\"");
    text[1000] = '\n';
    text[200000] = text[200001] = '"';
    put(text + SIZE - 2, "\"\n");
    open_bytes(text, SIZE, (struct torc_csv_options){0});
    source.chunk = 4096;
    ck_assert_int_eq(torc_csv_next(csv, &row), 1);
    ck_assert_uint_eq(row.n_cells, 2);
    ck_assert_uint_eq(row.cells[1].len, SIZE - 6);
    ck_assert_uint_eq(row.cells[1].data[200000 - 3], '"');
    ck_assert_uint_eq(row.cells[1].data[200001 - 3], 'q');
    assert_end();
    free(text);
}
END_TEST

/* The buffer starts with 65,536 bytes: what takes two bytes is cut there in every way. */
START_TEST(pairs_of_bytes_may_be_cut_by_the_buffer)
{
    enum { SIZE = 65600 };
    static char text[SIZE];
    for (size_t at = 65530; at < 65542; at++) {
        memset(text, 'z', sizeof text);
        put(text, "\"");
        put(text + at, "\"\"z\"\r\nb\n");
        open_bytes(text, at + 8, (struct torc_csv_options){0});
        source.chunk = 10000;
        ck_assert_int_eq(torc_csv_next(csv, &row), 1);
        ck_assert_uint_eq(row.cells[0].len, at + 1);
        ck_assert_uint_eq(row.cells[0].data[at - 1], '"');
        ck_assert_uint_eq(row.cells[0].data[at], 'z');
        assert_row(2, "b");
        assert_end();
    }
}
END_TEST

START_TEST(columns_have_a_limit)
{
    size_t n = TORC_CSV_COLUMNS_MAX;
    char *text = malloc(n + 4);
    ck_assert_ptr_nonnull(text);
    memset(text, ',', n);
    memcpy(text + n - 1, "\nz\n", 4);
    open_text(text);
    ck_assert_int_eq(torc_csv_next(csv, &row), 1);
    ck_assert_uint_eq(row.n_cells, n);
    memcpy(text + n - 1, ",\nz\n", 5);
    open_text(text);
    assert_error(-EMSGSIZE, 1, "too many columns");
    assert_row(2, "z");
    assert_end();
    free(text);
}
END_TEST

START_TEST(errors_of_the_source_are_passed_on)
{
    open_text("a\nb");
    source.error = -EIO;
    assert_error(-EIO, 1, "cannot be read: Input/output error");
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
    struct torc_csv *none = NULL;
    static const char delimiters[] = {'"', '\r', '\n', '\0'};
    for (size_t i = 0; i < sizeof delimiters; i++) {
        struct torc_csv_options options = {.delimiter = delimiters[i], .read = read_source};
        ck_assert_int_eq(torc_csv_create(&options, &none), -EINVAL);
    }
    struct torc_csv_options unread = {.delimiter = ','};
    ck_assert_int_eq(torc_csv_create(&unread, &none), -EINVAL);
    struct torc_csv_options wide = {
        .delimiter = ',', .read = read_source, .n_columns = TORC_CSV_COLUMNS_MAX + 1};
    ck_assert_int_eq(torc_csv_create(&wide, &none), -EINVAL);
    struct torc_csv_options short_rows = {
        .delimiter = ',', .read = read_source, .row_bytes_max = 15};
    ck_assert_int_eq(torc_csv_create(&short_rows, &none), -EINVAL);
    ck_assert_ptr_null(none);
    torc_csv_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("csv");
    TCase *tcase = tcase_create("csv");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, rows_of_bare_cells);
    tcase_add_test(tcase, the_last_line_end_may_be_missing);
    tcase_add_test(tcase, lf_and_crlf_may_be_mixed);
    tcase_add_test(tcase, an_empty_file_has_no_rows);
    tcase_add_test(tcase, an_empty_line_is_a_row_of_one_empty_cell);
    tcase_add_test(tcase, empty_cells_are_kept);
    tcase_add_test(tcase, quotes_hold_delimiters_line_ends_and_quotes);
    tcase_add_test(tcase, bytes_of_any_value_are_kept);
    tcase_add_test(tcase, blanks_belong_to_the_cell);
    tcase_add_test(tcase, the_byte_order_mark_is_skipped_only_at_the_start);
    tcase_add_test(tcase, another_delimiter_makes_the_comma_a_byte);
    tcase_add_test(tcase, a_row_of_another_width_is_refused_and_left_behind);
    tcase_add_test(tcase, the_width_may_be_given);
    tcase_add_test(tcase, text_behind_a_closing_quote_is_refused_with_its_own_line);
    tcase_add_test(tcase, a_quote_inside_a_bare_cell_is_refused);
    tcase_add_test(tcase, a_carriage_return_alone_is_refused);
    tcase_add_test(tcase, a_stray_quote_costs_its_line_and_not_the_file);
    tcase_add_test(tcase, a_row_may_have_the_limit_but_not_more);
    tcase_add_test(tcase, a_long_row_is_thrown_away_up_to_its_line_end);
    tcase_add_test(tcase, a_stray_quote_in_a_large_file_is_found_at_the_limit);
    tcase_add_test(tcase, a_row_larger_than_the_first_buffer_is_whole);
    tcase_add_test(tcase, pairs_of_bytes_may_be_cut_by_the_buffer);
    tcase_add_test(tcase, columns_have_a_limit);
    tcase_add_test(tcase, errors_of_the_source_are_passed_on);
    tcase_add_test(tcase, options_that_make_no_sense_are_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
