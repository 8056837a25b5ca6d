/* SPDX-License-Identifier: Apache-2.0
 *
 * The benchmark over roads that lead to a store in memory: what it does, not how fast.
 */
#include "tools/bench_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tools/fake_road.h"
#include "tools/bench_data.h"
#include "tools/bench_report.h"

static struct fake_road *fakes[2];
static struct torc_road *roads[2];
static struct torc_bench_options options;
static struct torc_bench *bench;
static volatile sig_atomic_t stop;
static char error[TORC_BENCH_ERROR_BYTES];

static void set_up(void)
{
    for (int i = 0; i < 2; i++) {
        fakes[i] = fake_road_create(8);
        roads[i] = fake_road_of(fakes[i]);
    }
    options = (struct torc_bench_options){.op = TORC_ROAD_HGET,
                                          .key_prefix = "b",
                                          .keys = 2,
                                          .fields = 3,
                                          .key_bytes = 10,
                                          .field_bytes = 8,
                                          .value_bytes = 20,
                                          .window = 4,
                                          .ns = 40000000,
                                          .seed = 9};
    stop = 0;
}

static void tear_down(void)
{
    torc_bench_destroy(bench);
    bench = NULL;
    fake_road_destroy(fakes[0]);
    fake_road_destroy(fakes[1]);
}

static int create(size_t n_roads)
{
    return torc_bench_create(&options, roads, n_roads, &stop, &bench, error);
}

START_TEST(hashes_are_made_before_and_removed_after)
{
    ck_assert_msg(create(2) == 0, "%s", error);
    ck_assert_uint_eq(fake_road_n_fields(fakes[0]), 6);
    ck_assert_uint_eq(fake_road_n_fields(fakes[1]), 6);
    const char *value = fake_road_get(fakes[0], "b1:0000001", "f0000002");
    ck_assert_ptr_nonnull(value);
    ck_assert_uint_eq(strlen(value), 20);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    ck_assert_int_eq(torc_bench_clean(bench, error), 0);
    ck_assert_uint_eq(fake_road_n_fields(fakes[0]), 0);
    ck_assert_uint_eq(fake_road_n_fields(fakes[1]), 0);
}
END_TEST

START_TEST(every_road_is_measured_at_both_depths)
{
    ck_assert_msg(create(2) == 0, "%s", error);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    ck_assert_uint_eq(torc_bench_rounds(bench), 1);
    for (size_t road = 0; road < 2; road++) {
        for (int depth = 0; depth < TORC_BENCH_DEPTHS; depth++) {
            const struct torc_bench_outcome *outcome =
                torc_bench_outcome(bench, road, (enum torc_bench_depth)depth);
            ck_assert_uint_gt(outcome->ops, 0);
            ck_assert_uint_gt(outcome->ns, 0);
            ck_assert_uint_eq(outcome->latency.count, outcome->ops);
            ck_assert(torc_histogram_check(&outcome->latency));
        }
        ck_assert_uint_eq(fake_road_most_outstanding(fakes[road]), 4);
    }
    struct torc_bench_ratio ratio;
    ck_assert(torc_bench_ratio_p50(bench, TORC_BENCH_SINGLE, &ratio));
    ck_assert(ratio.least <= ratio.median && ratio.median <= ratio.most);
    ck_assert(torc_bench_ratio_ops(bench, TORC_BENCH_PIPELINED, &ratio));
}
END_TEST

START_TEST(one_road_alone_has_no_ratio)
{
    options.op = TORC_ROAD_PING;
    ck_assert_msg(create(1) == 0, "%s", error);
    ck_assert_uint_eq(fake_road_n_fields(fakes[0]), 0);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    struct torc_bench_ratio ratio;
    ck_assert(!torc_bench_ratio_p50(bench, TORC_BENCH_SINGLE, &ratio));
    ck_assert_uint_gt(torc_bench_outcome(bench, 0, TORC_BENCH_SINGLE)->ops, 0);
}
END_TEST

START_TEST(updates_change_every_value_and_are_read_back)
{
    options.op = TORC_ROAD_HSET;
    ck_assert_msg(create(1) == 0, "%s", error);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    /* A value of the store that is not the last one written is found out. */
    fake_road_put(fakes[0], "b1:0000000", "f0000000", "stale");
    options.ns = 1;
    stop = 1;
    ck_assert_int_eq(torc_bench_run(bench, error), -EBADMSG);
    ck_assert_str_eq(error, "fake: wrong reply for field 0 of hash 0");
}
END_TEST

START_TEST(a_window_larger_than_the_road_takes_is_managed)
{
    options.op = TORC_ROAD_HSET;
    options.window = 40;
    ck_assert_msg(create(1) == 0, "%s", error);
    ck_assert_msg(torc_bench_run(bench, error) == 0, "%s", error);
    ck_assert_uint_eq(fake_road_most_outstanding(fakes[0]), 8);
}
END_TEST

START_TEST(a_wrong_reply_ends_the_run)
{
    ck_assert_msg(create(1) == 0, "%s", error);
    uint64_t next = fake_road_n_requests(fakes[0]) + 5;
    fake_road_set_faults(fakes[0], (struct fake_faults){.damage_at = next});
    ck_assert_int_eq(torc_bench_run(bench, error), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(error, "fake: wrong reply"));
}
END_TEST

START_TEST(a_refusal_ends_the_run_with_the_servers_words)
{
    ck_assert_msg(create(1) == 0, "%s", error);
    uint64_t next = fake_road_n_requests(fakes[0]) + 5;
    fake_road_set_faults(fakes[0], (struct fake_faults){.refuse_at = next});
    ck_assert_int_eq(torc_bench_run(bench, error), -EBADMSG);
    ck_assert_str_eq(error, "fake: the server says: ERR told to");
}
END_TEST

START_TEST(a_broken_road_ends_the_run)
{
    ck_assert_msg(create(1) == 0, "%s", error);
    uint64_t next = fake_road_n_requests(fakes[0]) + 5;
    fake_road_set_faults(fakes[0], (struct fake_faults){.break_at = next});
    ck_assert_int_eq(torc_bench_run(bench, error), -EPIPE);
    ck_assert_str_eq(error, "fake: the road is broken");
}
END_TEST

START_TEST(a_hash_that_is_there_already_is_not_touched)
{
    fake_road_put(fakes[0], "b1:0000001", "mine", "kept");
    ck_assert_int_eq(create(1), -EEXIST);
    ck_assert_str_eq(error, "fake: 'b1:0000001' is there already; choose another --key-prefix");
    ck_assert_uint_eq(fake_road_n_fields(fakes[0]), 1);
    ck_assert_str_eq(fake_road_get(fakes[0], "b1:0000001", "mine"), "kept");
}
END_TEST

START_TEST(a_stop_ends_it_at_once_and_cleanly)
{
    stop = 1;
    ck_assert_msg(create(1) == 0, "%s", error);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    ck_assert_uint_eq(torc_bench_rounds(bench), 0);
    ck_assert_int_eq(torc_bench_clean(bench, error), 0);
    ck_assert_uint_eq(fake_road_n_fields(fakes[0]), 0);
    torc_bench_print_table(stdout, bench);
    torc_bench_print_histogram(stdout, bench, TORC_BENCH_SINGLE);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    options.window = TORC_BENCH_WINDOW_MAX + 1;
    ck_assert_int_eq(create(1), -EINVAL);
    options.window = 1;
    options.value_bytes = 0;
    ck_assert_int_eq(create(1), -EINVAL);
    options.value_bytes = TORC_BENCH_BYTES_MAX;
    ck_assert_int_eq(create(1), -EINVAL);
    options.value_bytes = 1;
    options.keys = SIZE_MAX;
    ck_assert_int_eq(create(1), -EINVAL);
    options.keys = 1;
    options.op = TORC_ROAD_DEL;
    ck_assert_int_eq(create(1), -EINVAL);
    ck_assert_int_eq(create(3), -EINVAL);
    ck_assert_ptr_null(bench);
}
END_TEST

START_TEST(reports_have_a_line_for_each_outcome)
{
    ck_assert_msg(create(2) == 0, "%s", error);
    ck_assert_int_eq(torc_bench_run(bench, error), 0);
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    torc_bench_print_table(file, bench);
    torc_bench_print_histogram(file, bench, TORC_BENCH_SINGLE);
    torc_bench_print_histogram(file, bench, TORC_BENCH_PIPELINED);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    ck_assert_int_gt(ftell(file), 500);
    rewind(file);
    ck_assert(torc_bench_print_json(file, bench));
    long end = ftell(file);
    rewind(file);
    int objects = 0;
    int compared = 0;
    char line[2048];
    while (ftell(file) < end && fgets(line, sizeof line, file) != NULL) {
        ck_assert_int_eq(line[0], '{');
        ck_assert_str_eq(line + strlen(line) - 2, "}\n");
        objects++;
        compared += strstr(line, "\"compare\":\"fake/fake\"") != NULL;
    }
    ck_assert_int_eq(objects, 6);
    ck_assert_int_eq(compared, 2);
    ck_assert_int_eq(fclose(file), 0);
}
END_TEST

START_TEST(values_differ_from_the_one_before_even_when_short)
{
    struct torc_bench_data data;
    ck_assert_int_eq(torc_bench_data_init(&data, "k", 12, 1, 1, 1, 1, 5), 0);
    ck_assert_uint_eq(data.key_len, 3);
    ck_assert_mem_eq(torc_bench_data_key(&data, 11).data, "k11", 3);
    ck_assert_mem_eq(torc_bench_data_field(&data, 0).data, "f0", 2);
    char before = data.values[3];
    for (int i = 0; i < 100; i++) {
        torc_bench_data_update(&data, 3);
        ck_assert_int_ne(data.values[3], before);
        ck_assert(data.values[3] >= 'a' && data.values[3] <= 'z');
        before = data.values[3];
        ck_assert_uint_lt(torc_bench_data_pick(&data), 12);
    }
    torc_bench_data_fini(&data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("bench");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, hashes_are_made_before_and_removed_after);
    tcase_add_test(tcase, every_road_is_measured_at_both_depths);
    tcase_add_test(tcase, one_road_alone_has_no_ratio);
    tcase_add_test(tcase, updates_change_every_value_and_are_read_back);
    tcase_add_test(tcase, a_window_larger_than_the_road_takes_is_managed);
    tcase_add_test(tcase, a_wrong_reply_ends_the_run);
    tcase_add_test(tcase, a_refusal_ends_the_run_with_the_servers_words);
    tcase_add_test(tcase, a_broken_road_ends_the_run);
    tcase_add_test(tcase, a_hash_that_is_there_already_is_not_touched);
    tcase_add_test(tcase, a_stop_ends_it_at_once_and_cleanly);
    tcase_add_test(tcase, options_out_of_range_are_refused);
    tcase_add_test(tcase, reports_have_a_line_for_each_outcome);
    tcase_add_test(tcase, values_differ_from_the_one_before_even_when_short);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
