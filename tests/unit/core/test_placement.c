/* SPDX-License-Identifier: Apache-2.0 */
#include "core/placement.h"

#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int cpus[TORC_CPUS_MAX];

static int parse(const char *text)
{
    return torc_placement_parse_cpus(text, cpus, TORC_CPUS_MAX);
}

START_TEST(a_list_of_numbers_and_ranges_keeps_its_order)
{
    ck_assert_int_eq(parse("0,2-5"), 5);
    static const int first[] = {0, 2, 3, 4, 5};
    ck_assert_mem_eq(cpus, first, sizeof first);
    ck_assert_int_eq(parse("7,3-4,0"), 4);
    static const int second[] = {7, 3, 4, 0};
    ck_assert_mem_eq(cpus, second, sizeof second);
}
END_TEST

START_TEST(one_number_and_a_range_of_one_are_lists)
{
    ck_assert_int_eq(parse("11"), 1);
    ck_assert_int_eq(cpus[0], 11);
    ck_assert_int_eq(parse("3-3"), 1);
    ck_assert_int_eq(cpus[0], 3);
}
END_TEST

START_TEST(the_largest_list_is_all_cpus)
{
    char text[32];
    (void)snprintf(text, sizeof text, "0-%d", TORC_CPUS_MAX - 1);
    ck_assert_int_eq(parse(text), TORC_CPUS_MAX);
    ck_assert_int_eq(cpus[TORC_CPUS_MAX - 1], TORC_CPUS_MAX - 1);
}
END_TEST

START_TEST(what_is_not_a_list_is_refused)
{
    static const char *const bad[] = {
        "",
        ",",
        "1,",
        ",1",
        "1,,2",
        "-1",
        "1-",
        "5-2",
        "1-2-3",
        "a",
        "1a",
        " 1",
        "1 ",
        "1, 2",
        "0x1",
        "+1",
        "1024",
        "0-1024",
        "99999999999999999999",
        "1.5",
        "1;2",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(parse(bad[i]) == -EINVAL, "'%s' was taken", bad[i]);
    }
}
END_TEST

START_TEST(a_cpu_named_twice_is_refused)
{
    ck_assert_int_eq(parse("1,1"), -EINVAL);
    ck_assert_int_eq(parse("0-3,2"), -EINVAL);
}
END_TEST

START_TEST(a_failed_call_leaves_the_list_alone)
{
    int list[2] = {-7, -7};
    ck_assert_int_eq(torc_placement_parse_cpus("0-2", list, 2), -ENOSPC);
    ck_assert_int_eq(torc_placement_parse_cpus("0,1,x", list, 2), -EINVAL);
    ck_assert_int_eq(list[0], -7);
    ck_assert_int_eq(list[1], -7);
    ck_assert_int_eq(torc_placement_parse_cpus("4-5", list, 2), 2);
    ck_assert_int_eq(list[1], 5);
}
END_TEST

START_TEST(a_pinned_thread_runs_there_and_nowhere_else)
{
    cpu_set_t old;
    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    ck_assert_int_eq(torc_placement_cpus_allowed(), CPU_COUNT(&old));
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &old)) {
        cpu++;
    }
    ck_assert_int_eq(torc_placement_pin_self(cpu), 0);
    ck_assert_int_eq(sched_getcpu(), cpu);
    ck_assert_int_eq(torc_placement_cpus_allowed(), 1);
    ck_assert_int_eq(sched_setaffinity(0, sizeof old, &old), 0);
}
END_TEST

START_TEST(pinning_to_a_cpu_that_is_not_there_changes_nothing)
{
    int before = torc_placement_cpus_allowed();
    ck_assert_int_eq(torc_placement_pin_self(-1), -EINVAL);
    ck_assert_int_eq(torc_placement_pin_self(TORC_CPUS_MAX), -EINVAL);
    ck_assert_int_eq(torc_placement_pin_self(TORC_CPUS_MAX - 1), -EINVAL);
    ck_assert_int_eq(torc_placement_cpus_allowed(), before);
}
END_TEST

START_TEST(the_cpu_we_run_on_has_a_node)
{
    ck_assert_int_ge(torc_placement_node_of_cpu(sched_getcpu()), 0);
    ck_assert_int_eq(torc_placement_node_of_cpu(-1), -1);
    ck_assert_int_eq(torc_placement_node_of_cpu(TORC_CPUS_MAX * 1000), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement");
    TCase *tcase = tcase_create("placement");
    tcase_add_test(tcase, a_list_of_numbers_and_ranges_keeps_its_order);
    tcase_add_test(tcase, one_number_and_a_range_of_one_are_lists);
    tcase_add_test(tcase, the_largest_list_is_all_cpus);
    tcase_add_test(tcase, what_is_not_a_list_is_refused);
    tcase_add_test(tcase, a_cpu_named_twice_is_refused);
    tcase_add_test(tcase, a_failed_call_leaves_the_list_alone);
    tcase_add_test(tcase, a_pinned_thread_runs_there_and_nowhere_else);
    tcase_add_test(tcase, pinning_to_a_cpu_that_is_not_there_changes_nothing);
    tcase_add_test(tcase, the_cpu_we_run_on_has_a_node);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
