/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_history.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[96];
static struct torc_cli_history file;
static size_t n_lines;
static char first[64], last[64];

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/torc-history-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/history", folder);
    file.fd = -1;
}

static void teardown(void)
{
    torc_cli_history_close(&file);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void note(void *arg, const char *line)
{
    (void)arg;
    if (n_lines++ == 0) {
        (void)snprintf(first, sizeof first, "%s", line);
    }
    (void)snprintf(last, sizeof last, "%s", line);
}

static void reopen(void)
{
    torc_cli_history_close(&file);
    n_lines = 0;
    ck_assert_int_eq(torc_cli_history_open(&file, path, note, NULL), 0);
}

static off_t file_size(void)
{
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_size;
}

static void write_lines(size_t n, size_t len)
{
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(out, "%0*zu\n", (int)len - 1, i);
    }
    ck_assert_int_eq(fclose(out), 0);
}

START_TEST(lines_come_back_in_their_order)
{
    reopen();
    ck_assert_uint_eq(n_lines, 0);
    torc_cli_history_add(&file, "hget a b");
    torc_cli_history_add(&file, "");
    torc_cli_history_add(&file, "dbsize");
    reopen();
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_str_eq(first, "hget a b");
    ck_assert_str_eq(last, "dbsize");
    torc_cli_history_add(&file, "ping");
    reopen();
    ck_assert_uint_eq(n_lines, 3);
    ck_assert_str_eq(last, "ping");
}
END_TEST

START_TEST(only_the_owner_can_read_it)
{
    struct stat info;
    mode_t before = umask(0);
    reopen();
    (void)umask(before);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0600);
    ck_assert_int_eq(chmod(path, 0644), 0);
    reopen();
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0600);
}
END_TEST

START_TEST(it_is_cut_to_its_newest_lines)
{
    write_lines(TORC_CLI_HISTORY_LINES, 10);
    reopen();
    ck_assert_uint_eq(n_lines, TORC_CLI_HISTORY_LINES);
    ck_assert_str_eq(first, "000000000");
    torc_cli_history_add(&file, "one more");
    reopen();
    ck_assert_uint_eq(n_lines, TORC_CLI_HISTORY_LINES);
    ck_assert_str_eq(first, "000000001");
    ck_assert_str_eq(last, "one more");
    ck_assert_int_eq(file_size(), 10 * TORC_CLI_HISTORY_LINES - 1);
}
END_TEST

START_TEST(of_a_large_file_only_the_end_is_read)
{
    /* Fewer lines than are kept, but more bytes than are read. */
    write_lines(900, 4000);
    reopen();
    ck_assert_uint_eq(n_lines, TORC_CLI_HISTORY_FILE_BYTES / 4000);
    ck_assert_int_le(file_size(), TORC_CLI_HISTORY_FILE_BYTES);
    reopen();
    ck_assert_uint_eq(n_lines, TORC_CLI_HISTORY_FILE_BYTES / 4000);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_not_kept)
{
    static char line[TORC_CLI_HISTORY_LINE_BYTES + 2];
    memset(line, 'x', TORC_CLI_HISTORY_LINE_BYTES + 1);
    reopen();
    torc_cli_history_add(&file, line);
    ck_assert_int_eq(file_size(), 0);
    torc_cli_history_add(&file, line + 1);
    ck_assert_int_eq(file_size(), TORC_CLI_HISTORY_LINE_BYTES + 1);
}
END_TEST

START_TEST(a_last_line_without_an_end_is_a_line)
{
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs("a\n\nb", out), 0);
    ck_assert_int_eq(fclose(out), 0);
    reopen();
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_str_eq(last, "b");
}
END_TEST

START_TEST(without_a_file_it_is_off)
{
    n_lines = 0;
    ck_assert_int_eq(torc_cli_history_open(&file, NULL, note, NULL), 0);
    torc_cli_history_add(&file, "x");
    ck_assert_int_eq(file.fd, -1);
    ck_assert_int_eq(torc_cli_history_open(&file, "/dev/null", note, NULL), 0);
    torc_cli_history_add(&file, "x");
    ck_assert_int_eq(file.fd, -1);
    ck_assert_int_eq(torc_cli_history_open(&file, "/nonexistent/x", note, NULL), -ENOENT);
    torc_cli_history_add(&file, "x");
    ck_assert_uint_eq(n_lines, 0);
}
END_TEST

START_TEST(the_environment_says_where_it_is)
{
    ck_assert_int_eq(unsetenv("TORC_HISTORY"), 0);
    ck_assert_int_eq(setenv("HOME", "/home/x", 1), 0);
    char *at = torc_cli_history_path();
    ck_assert_str_eq(at, "/home/x/.torc_history");
    free(at);
    ck_assert_int_eq(setenv("TORC_HISTORY", "/else/where", 1), 0);
    at = torc_cli_history_path();
    ck_assert_str_eq(at, "/else/where");
    free(at);
    ck_assert_int_eq(setenv("TORC_HISTORY", "", 1), 0);
    ck_assert_ptr_null(torc_cli_history_path());
    ck_assert_int_eq(unsetenv("TORC_HISTORY"), 0);
    ck_assert_int_eq(unsetenv("HOME"), 0);
    ck_assert_ptr_null(torc_cli_history_path());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_history");
    TCase *tcase = tcase_create("all");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, lines_come_back_in_their_order);
    tcase_add_test(tcase, only_the_owner_can_read_it);
    tcase_add_test(tcase, it_is_cut_to_its_newest_lines);
    tcase_add_test(tcase, of_a_large_file_only_the_end_is_read);
    tcase_add_test(tcase, a_line_that_is_too_long_is_not_kept);
    tcase_add_test(tcase, a_last_line_without_an_end_is_a_line);
    tcase_add_test(tcase, without_a_file_it_is_off);
    tcase_add_test(tcase, the_environment_says_where_it_is);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
