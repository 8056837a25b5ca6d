/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options_file.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct settings {
    int64_t port;
    int64_t backlog;
    char name[64];
};

static const struct torc_option entries[] = {
    {.name = "port",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, port),
     .min = 0,
     .max = 65535,
     .initial = "6379"},
    {.name = "backlog",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, backlog),
     .min = 0,
     .max = 100},
    {.name = "name",
     .kind = TORC_OPTION_TEXT,
     .offset = offsetof(struct settings, name),
     .size = sizeof((struct settings *)0)->name},
};
static const struct torc_option_table options = {entries, sizeof entries / sizeof entries[0]};

/* Files of the memory. */
struct memory_file {
    const char *path, *text;
};

#define PROBLEMS_MAX 8

static const struct memory_file *files;
static size_t n_files;
static unsigned n_loads;
static struct settings settings;
static char error[TORC_OPTION_ERROR_BYTES];
static char problems[PROBLEMS_MAX][TORC_OPTION_ERROR_BYTES];
static size_t n_problems;

static int load(void *arg, const char *path, struct torc_options_text *out_text,
                char why[TORC_OPTION_ERROR_BYTES])
{
    (void)arg;
    n_loads++;
    for (size_t i = 0; i < n_files; i++) {
        if (strcmp(files[i].path, path) == 0) {
            *out_text = (struct torc_options_text){
                .data = strdup(files[i].text), .len = strlen(files[i].text), .identity = {i + 1}};
            ck_assert_ptr_nonnull(out_text->data);
            return 0;
        }
    }
    (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "%s: absent", path);
    return -ENOENT;
}

static void note_problem(void *arg, const char *text)
{
    (void)arg;
    ck_assert_uint_lt(n_problems, PROBLEMS_MAX);
    (void)snprintf(problems[n_problems++], TORC_OPTION_ERROR_BYTES, "%s", text);
}

static int read_from(const struct memory_file *list, size_t n, bool checks)
{
    const struct torc_options_source source = {.load = load,
                                               .problem = checks ? note_problem : NULL};
    files = list;
    n_files = n;
    n_loads = 0;
    n_problems = 0;
    error[0] = '\0';
    torc_options_init(&options, &settings);
    return torc_options_load(&options, &settings, list[0].path, &source, error);
}
#define READ(list)  read_from(list, sizeof(list) / sizeof((list)[0]), false)
#define CHECK(list) read_from(list, sizeof(list) / sizeof((list)[0]), true)

static void assert_defaults(void)
{
    ck_assert_int_eq(settings.port, 6379);
    ck_assert_int_eq(settings.backlog, 0);
    ck_assert_str_eq(settings.name, "");
}

START_TEST(an_include_stands_for_the_lines_of_its_file)
{
    static const struct memory_file list[] = {
        {"torc.conf", "port 1\nbacklog 1\nInclude more.conf\nbacklog 3\n"},
        {"more.conf", "port 2\nbacklog 2\nname x"},
    };
    ck_assert_int_eq(READ(list), 0);
    ck_assert_str_eq(error, "");
    ck_assert_int_eq(settings.port, 2);
    ck_assert_int_eq(settings.backlog, 3);
    ck_assert_str_eq(settings.name, "x");
}
END_TEST

START_TEST(a_path_is_taken_from_the_folder_of_the_including_file)
{
    static const struct memory_file list[] = {
        {"/etc/torc/torc.conf", "include conf.d/a.conf\n"},
        {"/etc/torc/conf.d/a.conf", "port 1\ninclude 'b c.conf'\ninclude /opt/d.conf\n"},
        {"/etc/torc/conf.d/b c.conf", "backlog 2\n"},
        {"/opt/d.conf", "include e.conf\n"},
        {"/opt/e.conf", "name e\n"},
    };
    ck_assert_int_eq(READ(list), 0);
    ck_assert_int_eq(settings.port, 1);
    ck_assert_int_eq(settings.backlog, 2);
    ck_assert_str_eq(settings.name, "e");
}
END_TEST

START_TEST(a_problem_names_the_included_file_and_its_line)
{
    static const struct memory_file list[] = {
        {"d/torc.conf", "port 1\n\ninclude sub/bad.conf\n"},
        {"d/sub/bad.conf", "# nothing\nbacklog 101\n"},
    };
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_str_eq(error, "d/sub/bad.conf:2: backlog: '101' is not a whole number from 0 to 100");
    assert_defaults();
}
END_TEST

START_TEST(an_absent_include_is_a_problem_of_the_line_that_names_it)
{
    static const struct memory_file list[] = {{"d/torc.conf", "port 1\ninclude none.conf\n"}};
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_str_eq(error, "d/torc.conf:2: include: d/none.conf: absent");
    assert_defaults();
}
END_TEST

START_TEST(an_absent_first_file_is_a_problem_without_a_line)
{
    static const struct memory_file list[] = {{"torc.conf", ""}};
    const struct torc_options_source source = {.load = load};
    files = list;
    n_files = 1;
    ck_assert_int_eq(torc_options_load(&options, &settings, "none.conf", &source, error), -ENOENT);
    ck_assert_str_eq(error, "none.conf: absent");
}
END_TEST

START_TEST(a_file_that_includes_itself_is_a_cycle)
{
    static const struct memory_file list[] = {{"torc.conf", "port 1\ninclude torc.conf\n"}};
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_str_eq(error, "torc.conf:2: include: a cycle, torc.conf is being read already");
    assert_defaults();
}
END_TEST

START_TEST(a_cycle_over_other_files_is_found_where_it_closes)
{
    static const struct memory_file list[] = {
        {"a", "include b\n"}, {"b", "\ninclude c\n"}, {"c", "\n\ninclude a\n"}};
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_str_eq(error, "c:3: include: a cycle, a is being read already");
}
END_TEST

START_TEST(a_file_may_be_included_twice_side_by_side)
{
    static const struct memory_file list[] = {{"a", "include b\nport 1\ninclude b\n"},
                                              {"b", "port 2\n"}};
    ck_assert_int_eq(READ(list), 0);
    ck_assert_int_eq(settings.port, 2);
}
END_TEST

START_TEST(includes_may_be_eight_deep)
{
    static const struct memory_file list[] = {
        {"0", "include 1\n"}, {"1", "include 2\n"}, {"2", "include 3\n"},
        {"3", "include 4\n"}, {"4", "include 5\n"}, {"5", "include 6\n"},
        {"6", "include 7\n"}, {"7", "include 8\n"}, {"8", "port 8\n"},
    };
    ck_assert_int_eq(READ(list), 0);
    ck_assert_int_eq(settings.port, 8);

    static const struct memory_file deeper[] = {
        {"0", "include 1\n"}, {"1", "include 2\n"}, {"2", "include 3\n"},
        {"3", "include 4\n"}, {"4", "include 5\n"}, {"5", "include 6\n"},
        {"6", "include 7\n"}, {"7", "include 8\n"}, {"8", "port 8\ninclude 9\n"},
        {"9", "port 9\n"},
    };
    ck_assert_int_eq(READ(deeper), -EINVAL);
    ck_assert_str_eq(error, "8:2: include: more than 8 files deep");
    ck_assert_uint_eq(n_loads, 9);
    assert_defaults();
}
END_TEST

START_TEST(the_number_of_included_files_is_bounded)
{
    /* Each level includes the next 16 times: 16^6 files without a limit. */
    struct memory_file list[7];
    static char texts[7][16 * 10 + 1];
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6"};
    for (size_t level = 0; level < 7; level++) {
        list[level] = (struct memory_file){names[level], texts[level]};
        size_t len = 0;
        for (size_t i = 0; level < 6 && i < 16; i++) {
            len += (size_t)snprintf(texts[level] + len, sizeof texts[level] - len, "include %s\n",
                                    names[level + 1]);
        }
    }
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "include: more than 256 files in all"));
    ck_assert_uint_eq(n_loads, 257);
}
END_TEST

START_TEST(checking_reports_every_problem_and_takes_what_holds)
{
    static const struct memory_file list[] = {
        {"a", "port 70000\ninclude b\nprot 1\nbacklog 7\ninclude a\n"},
        {"b", "name \"x\nbacklog\n"},
    };
    ck_assert_int_eq(CHECK(list), -EINVAL);
    ck_assert_uint_eq(n_problems, 5);
    ck_assert_str_eq(problems[0], "a:1: port: '70000' is not a whole number from 0 to 65535");
    ck_assert_str_eq(problems[1], "b:1: quote without an end");
    ck_assert_str_eq(problems[2], "b:2: 'backlog' has no value");
    ck_assert_str_eq(problems[3], "a:3: unknown option 'prot', did you mean 'port'?");
    ck_assert_str_eq(problems[4], "a:5: include: a cycle, a is being read already");
    ck_assert_str_eq(error, problems[0]);
    ck_assert_int_eq(settings.backlog, 7);
    ck_assert_int_eq(settings.port, 6379);
}
END_TEST

START_TEST(text_without_files_has_no_includes)
{
    static const char text[] = "port 1\ninclude x\n";
    torc_options_init(&options, &settings);
    ck_assert_int_eq(torc_options_parse(&options, &settings, "f", text, sizeof text - 1, error),
                     -EINVAL);
    ck_assert_str_eq(error, "f:2: include is not possible here");
    assert_defaults();
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
    static char text[5000];
    static char path[5000];
    (void)snprintf(text, sizeof text, "include %04090d\n", 0);
    memset(path, 'p', 4200);
    path[4199] = '/';
    const struct memory_file list[] = {{path, text}};
    ck_assert_int_eq(READ(list), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "/:1: include: the path is too long"));
    ck_assert_uint_eq(n_loads, 1);
}
END_TEST

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(on_disk_a_cycle_is_seen_through_a_link)
{
    char folder[] = "/tmp/torc-options-XXXXXX";
    char main_path[64];
    char link_path[64];
    char more_path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(main_path, sizeof main_path, "%s/torc.conf", folder);
    (void)snprintf(link_path, sizeof link_path, "%s/link.conf", folder);
    (void)snprintf(more_path, sizeof more_path, "%s/more.conf", folder);
    write_file(folder, "torc.conf", "port 1\ninclude more.conf\n");
    write_file(folder, "more.conf", "backlog 5\n");
    ck_assert_int_eq(symlink(main_path, link_path), 0);

    torc_options_init(&options, &settings);
    ck_assert_int_eq(torc_options_read(&options, &settings, main_path, error), 0);
    ck_assert_int_eq(settings.backlog, 5);

    write_file(folder, "more.conf", "include link.conf\n");
    ck_assert_int_eq(torc_options_read(&options, &settings, main_path, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "more.conf:1: include: a cycle, "));

    ck_assert_int_eq(unlink(main_path), 0);
    ck_assert_int_eq(unlink(link_path), 0);
    ck_assert_int_eq(unlink(more_path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options_file");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, an_include_stands_for_the_lines_of_its_file);
    tcase_add_test(tcase, a_path_is_taken_from_the_folder_of_the_including_file);
    tcase_add_test(tcase, a_problem_names_the_included_file_and_its_line);
    tcase_add_test(tcase, an_absent_include_is_a_problem_of_the_line_that_names_it);
    tcase_add_test(tcase, an_absent_first_file_is_a_problem_without_a_line);
    tcase_add_test(tcase, a_file_that_includes_itself_is_a_cycle);
    tcase_add_test(tcase, a_cycle_over_other_files_is_found_where_it_closes);
    tcase_add_test(tcase, a_file_may_be_included_twice_side_by_side);
    tcase_add_test(tcase, includes_may_be_eight_deep);
    tcase_add_test(tcase, the_number_of_included_files_is_bounded);
    tcase_add_test(tcase, checking_reports_every_problem_and_takes_what_holds);
    tcase_add_test(tcase, text_without_files_has_no_includes);
    tcase_add_test(tcase, a_path_that_is_too_long_is_refused);
    tcase_add_test(tcase, on_disk_a_cycle_is_seen_through_a_link);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
