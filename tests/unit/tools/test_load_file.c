/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading and comparing over a road that leads to a store in memory.
 */
#include "tools/load_file.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tools/fake_road.h"

static char folder[32];
static char path[64];
static char said_path[64];
static int real_stderr = -1;
static struct fake_road *fake;
static struct torc_load_options options;
static struct torc_load_totals totals;

/* Standard error goes to a file, so that messages can be looked at. */
static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/torc-load-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/in.put.csv", folder);
    (void)snprintf(said_path, sizeof said_path, "%s/said", folder);
    (void)fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    int said = open(said_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
    ck_assert_int_ge(said, 0);
    ck_assert_int_eq(dup2(said, STDERR_FILENO), STDERR_FILENO);
    (void)close(said);
    fake = fake_road_create(8);
    options = (struct torc_load_options){
        .delimiter = ',', .limit = UINT64_MAX, .pipeline = 4, .progress = true};
    totals = (struct torc_load_totals){0};
}

static void tear_down(void)
{
    (void)fflush(stderr);
    (void)dup2(real_stderr, STDERR_FILENO);
    (void)close(real_stderr);
    fake_road_destroy(fake);
    (void)unlink(path);
    (void)unlink(said_path);
    (void)rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "wbe");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    ck_assert_int_eq(fclose(file), 0);
}

static int load(const char *text)
{
    write_file(text);
    return torc_load_file(fake_road_of(fake), path, &options, &totals);
}

static int verify(void)
{
    totals = (struct torc_load_totals){0};
    return torc_load_verify_file(fake_road_of(fake), path, &options, &totals);
}

/* What was told on standard error, without the name of the file. */
static const char *said(void)
{
    static char text[8192];
    static char stripped[8192];
    (void)fflush(stderr);
    FILE *file = fopen(said_path, "rbe");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    size_t at = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (strncmp(p, path, strlen(path)) == 0) {
            p += strlen(path) - 1;
            continue;
        }
        stripped[at++] = *p;
    }
    stripped[at] = '\0';
    return stripped;
}

START_TEST(each_row_is_a_hash_named_by_file_and_number)
{
    ck_assert_int_eq(load("a,b\n1,\"x,y\"\n2,\n"), 0);
    ck_assert_str_eq(fake_road_get(fake, "in.put:1", "a"), "1");
    ck_assert_str_eq(fake_road_get(fake, "in.put:1", "b"), "x,y");
    ck_assert_str_eq(fake_road_get(fake, "in.put:2", "a"), "2");
    ck_assert_str_eq(fake_road_get(fake, "in.put:2", "b"), "");
    ck_assert_uint_eq(fake_road_n_fields(fake), 4);
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.fields, 4);
    ck_assert_uint_eq(totals.existing, 0);
    ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(the_key_column_and_the_template_name_the_hash)
{
    options.key = "b";
    ck_assert_int_eq(load("a,b\n1,x\n"), 0);
    ck_assert_str_eq(fake_road_get(fake, "in.put:x", "a"), "1");
    options.key_template = "t:{key}:{a}";
    ck_assert_int_eq(load("a,b\n1,x\n"), 0);
    ck_assert_str_eq(fake_road_get(fake, "t:x:1", "b"), "x");
}
END_TEST

START_TEST(names_may_be_given_when_there_is_no_header)
{
    options.fields = "one,two";
    options.delimiter = ';';
    ck_assert_int_eq(load("a;b\nc;d\n"), 0);
    ck_assert_str_eq(fake_road_get(fake, "in.put:1", "one"), "a");
    ck_assert_str_eq(fake_road_get(fake, "in.put:2", "two"), "d");
}
END_TEST

START_TEST(empty_cells_may_be_left_out)
{
    options.skip_empty = true;
    ck_assert_int_eq(load("a,b\n1,\n,\n,2\n"), 0);
    ck_assert_ptr_null(fake_road_get(fake, "in.put:1", "b"));
    ck_assert_str_eq(fake_road_get(fake, "in.put:3", "b"), "2");
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.fields, 2);
    ck_assert_uint_eq(totals.blank, 1);
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.mismatched, 0);
}
END_TEST

START_TEST(the_limit_ends_the_load)
{
    options.limit = 2;
    ck_assert_int_eq(load("a\n1\n2\n3\n"), 0);
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(fake_road_n_requests(fake), 2);
}
END_TEST

START_TEST(the_pipeline_is_filled_but_not_passed)
{
    ck_assert_int_eq(load("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), 0);
    ck_assert_uint_eq(totals.rows, 9);
    ck_assert_uint_eq(fake_road_most_outstanding(fake), 4);
    options.pipeline = 60;
    ck_assert_int_eq(load("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), 0);
    ck_assert_uint_eq(totals.rows, 18);
    ck_assert_uint_eq(totals.existing, 9);
    ck_assert_uint_eq(fake_road_most_outstanding(fake), 8);
}
END_TEST

START_TEST(a_malformed_row_stops_the_load_with_its_line)
{
    ck_assert_int_eq(load("a,b\n1,2\n\"3\n\",4\n5\n6,7\n"), -EBADMSG);
    ck_assert_str_eq(said(), ":5: wrong number of columns: 1 instead of 2\n");
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.faulty, 1);
    ck_assert_ptr_null(fake_road_get(fake, "in.put:3", "a"));
}
END_TEST

START_TEST(malformed_rows_can_be_left_out)
{
    options.keep_going = true;
    ck_assert_int_eq(load("a,b\n1\n2,3\n\"4\"x,5\n6,7\n"), 0);
    ck_assert_str_eq(said(), ":2: wrong number of columns: 1 instead of 2\n"
                             ":4: text behind a closing quote\n");
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.faulty, 2);
    ck_assert_str_eq(fake_road_get(fake, "in.put:2", "a"), "6");
    options.faults_told = true;
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.rows, 2);
    ck_assert_uint_eq(totals.faulty, 2);
    ck_assert_uint_eq(totals.mismatched, 0);
}
END_TEST

START_TEST(a_refusal_is_told_with_the_line_of_its_row)
{
    fake_road_set_faults(fake, (struct fake_faults){.refuse_at = 2});
    ck_assert_int_eq(load("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), -EBADMSG);
    ck_assert_str_eq(said(), ":3: the server says: ERR told to\n");
    ck_assert_uint_eq(totals.faulty, 1);
    /* Those that were under way are counted, and nothing was sent afterwards. */
    ck_assert_uint_eq(totals.rows, fake_road_n_requests(fake) - 1);
    ck_assert_uint_lt(totals.rows, 8);
}
END_TEST

START_TEST(refused_rows_can_be_left_out)
{
    options.keep_going = true;
    fake_road_set_faults(fake, (struct fake_faults){.refuse_at = 2, .too_big_at = 5});
    ck_assert_int_eq(load("a\n1\n2\n3\n4\n5\n6\n7\n"), 0);
    ck_assert_uint_eq(totals.rows, 5);
    ck_assert_uint_eq(totals.faulty, 2);
    ck_assert_ptr_nonnull(strstr(said(), ":6: fake: the road is broken\n"));
}
END_TEST

START_TEST(a_reply_that_cannot_be_true_is_a_fault)
{
    fake_road_set_faults(fake, (struct fake_faults){.damage_at = 1});
    ck_assert_int_eq(load("a\n1\n"), -EBADMSG);
    ck_assert_str_eq(said(), ":2: fake: the reply is not that of HSET\n");
}
END_TEST

START_TEST(a_broken_road_ends_the_load_even_when_asked_to_go_on)
{
    options.keep_going = true;
    fake_road_set_faults(fake, (struct fake_faults){.break_at = 3});
    ck_assert_int_eq(load("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), -EBADMSG);
    ck_assert_str_eq(said(), ":4: fake: the road is broken\n");
    ck_assert_uint_eq(totals.rows, 2);
}
END_TEST

START_TEST(what_was_loaded_compares_equal)
{
    ck_assert_int_eq(load("a,b\n1,2\n\"x\ny\",\n\xff,\"\"\"\"\n"), 0);
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.rows, 3);
    ck_assert_uint_eq(totals.fields, 6);
    ck_assert_uint_eq(totals.mismatched, 0);
}
END_TEST

START_TEST(differences_are_told_and_counted)
{
    ck_assert_int_eq(load("a,b\n1,2\n3,4\n5,6\n"), 0);
    fake_road_put(fake, "in.put:1", "b", "2 ");
    fake_road_put(fake, "in.put:3", "a", "");
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.rows, 3);
    ck_assert_uint_eq(totals.mismatched, 2);
    ck_assert_str_eq(said(), ":2: field 'b' is '2' in the file, '2 ' on the server\n"
                             ":4: field 'a' is '5' in the file, '' on the server\n");
}
END_TEST

START_TEST(absent_fields_differ_and_many_are_told_short)
{
    write_file("a,b,c,d,e\n1,2,3,4,5\n6,7,8,9,0\n\x01,1,1,1,\n");
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.mismatched, 3);
    ck_assert_ptr_nonnull(
        strstr(said(), ":2: field 'a' is '1' in the file, nothing on the server"));
    ck_assert_ptr_nonnull(strstr(said(), ": 5 more fields differ\n"));
}
END_TEST

START_TEST(large_rows_are_compared_fewer_at_a_time)
{
    enum { CELL = 3000000 };
    char *text = malloc(4 * (CELL + 3) + 8);
    ck_assert_ptr_nonnull(text);
    size_t at = 0;
    text[at++] = 'a';
    text[at++] = '\n';
    for (int row = 0; row < 4; row++) {
        memset(text + at, 'c' + row, CELL);
        at += CELL;
        text[at++] = '\n';
    }
    text[at] = '\0';
    options.pipeline = 1;
    ck_assert_int_eq(load(text), 0);
    options.pipeline = 4;
    ck_assert_int_eq(verify(), 0);
    ck_assert_uint_eq(totals.rows, 4);
    ck_assert_uint_eq(totals.mismatched, 0);
    ck_assert_uint_eq(fake_road_most_outstanding(fake), 3);
    free(text);
}
END_TEST

START_TEST(files_that_cannot_be_loaded_say_why)
{
    ck_assert_int_eq(torc_load_file(fake_road_of(fake), path, &options, &totals), -EBADMSG);
    ck_assert_int_eq(load(""), -EBADMSG);
    ck_assert_int_eq(load("a,b,a\n"), -EBADMSG);
    ck_assert_int_eq(load("a,\"b\n"), -EBADMSG);
    options.key = "z";
    ck_assert_int_eq(load("a,b\n1,2\n"), -EBADMSG);
    options.key = NULL;
    options.key_template = "k";
    ck_assert_int_eq(load("a,b\n1,2\n"), -EBADMSG);
    options.key_template = NULL;
    options.fields = "x,x";
    ck_assert_int_eq(load("1,2\n"), -EBADMSG);
    ck_assert_str_eq(said(), ": cannot be opened: No such file or directory\n"
                             ": is empty: there is no row with the names of the columns\n"
                             ":1: column 'a' comes twice\n"
                             ":1: quote without an end\n"
                             ": there is no column 'z' to be the key\n"
                             ": key template 'k': every row would have the same key (name a "
                             "column, or {key})\n"
                             ": field names: column 'x' comes twice\n");
    ck_assert_uint_eq(fake_road_n_requests(fake), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_file");
    TCase *tcase = tcase_create("load_file");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, each_row_is_a_hash_named_by_file_and_number);
    tcase_add_test(tcase, the_key_column_and_the_template_name_the_hash);
    tcase_add_test(tcase, names_may_be_given_when_there_is_no_header);
    tcase_add_test(tcase, empty_cells_may_be_left_out);
    tcase_add_test(tcase, the_limit_ends_the_load);
    tcase_add_test(tcase, the_pipeline_is_filled_but_not_passed);
    tcase_add_test(tcase, a_malformed_row_stops_the_load_with_its_line);
    tcase_add_test(tcase, malformed_rows_can_be_left_out);
    tcase_add_test(tcase, a_refusal_is_told_with_the_line_of_its_row);
    tcase_add_test(tcase, refused_rows_can_be_left_out);
    tcase_add_test(tcase, a_reply_that_cannot_be_true_is_a_fault);
    tcase_add_test(tcase, a_broken_road_ends_the_load_even_when_asked_to_go_on);
    tcase_add_test(tcase, what_was_loaded_compares_equal);
    tcase_add_test(tcase, differences_are_told_and_counted);
    tcase_add_test(tcase, absent_fields_differ_and_many_are_told_short);
    tcase_add_test(tcase, large_rows_are_compared_fewer_at_a_time);
    tcase_add_test(tcase, files_that_cannot_be_loaded_say_why);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
