/* SPDX-License-Identifier: Apache-2.0
 *
 * The level is decided once a process, so each wish is tried in a child of its own.
 */
#include "core/cpu.h"

#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The level a process gets that starts with TORC_CPU=wish (NULL: not set). */
static int level_with(const char *wish)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (wish == NULL ? unsetenv("TORC_CPU") : setenv("TORC_CPU", wish, 1)) {
            _exit(99);
        }
        int level = (int)torc_cpu_level();
        /* A later change of the environment must not matter. */
        (void)setenv("TORC_CPU", "scalar", 1);
        _exit((int)torc_cpu_level() == level ? level : 98);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(without_a_wish_the_level_is_the_best_there_is)
{
    ck_assert_int_eq(level_with(NULL), (int)torc_cpu_level_max());
}
END_TEST

START_TEST(a_wish_lowers_the_level_but_never_raises_it)
{
    int max = (int)torc_cpu_level_max();
    for (int wish = TORC_CPU_SCALAR; wish <= TORC_CPU_AVX512; wish++) {
        int level = level_with(torc_cpu_level_name((enum torc_cpu_level)wish));
        ck_assert_int_eq(level, wish < max ? wish : max);
    }
}
END_TEST

START_TEST(an_unknown_wish_is_as_if_not_set)
{
    ck_assert_int_eq(level_with(""), (int)torc_cpu_level_max());
    ck_assert_int_eq(level_with("mmx"), (int)torc_cpu_level_max());
    ck_assert_int_eq(level_with("scalars"), (int)torc_cpu_level_max());
}
END_TEST

START_TEST(names_are_those_the_environment_takes)
{
    ck_assert_str_eq(torc_cpu_level_name(TORC_CPU_SCALAR), "scalar");
    ck_assert_str_eq(torc_cpu_level_name(TORC_CPU_SSE2), "sse2");
    ck_assert_str_eq(torc_cpu_level_name(TORC_CPU_AVX2), "avx2");
    ck_assert_str_eq(torc_cpu_level_name(TORC_CPU_AVX512), "avx512");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu");
    TCase *tcase = tcase_create("cpu");
    tcase_add_test(tcase, without_a_wish_the_level_is_the_best_there_is);
    tcase_add_test(tcase, a_wish_lowers_the_level_but_never_raises_it);
    tcase_add_test(tcase, an_unknown_wish_is_as_if_not_set);
    tcase_add_test(tcase, names_are_those_the_environment_takes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
