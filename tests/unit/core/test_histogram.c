/* SPDX-License-Identifier: Apache-2.0 */
#include "core/histogram.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct torc_histogram h;
static struct torc_histogram other;

static void set_up(void)
{
    torc_histogram_reset(&h);
    torc_histogram_reset(&other);
}

START_TEST(buckets_follow_each_other_without_gap_or_overlap)
{
    ck_assert_uint_eq(torc_histogram_bucket_low(0), 0);
    for (unsigned i = 0; i < TORC_HISTOGRAM_BUCKETS; i++) {
        uint64_t low = torc_histogram_bucket_low(i);
        uint64_t high = torc_histogram_bucket_high(i);
        ck_assert_uint_le(low, high);
        ck_assert_uint_eq(torc_histogram_bucket_of(low), i);
        ck_assert_uint_eq(torc_histogram_bucket_of(high), i);
        if (i > 0) {
            ck_assert_uint_eq(torc_histogram_bucket_high(i - 1) + 1, low);
        }
    }
    ck_assert_uint_eq(torc_histogram_bucket_high(TORC_HISTOGRAM_BUCKETS - 1), UINT64_MAX);
}
END_TEST

START_TEST(values_up_to_63_have_buckets_of_their_own)
{
    for (uint64_t value = 0; value <= 63; value++) {
        unsigned bucket = torc_histogram_bucket_of(value);
        ck_assert_uint_eq(torc_histogram_bucket_low(bucket), value);
        ck_assert_uint_eq(torc_histogram_bucket_high(bucket), value);
    }
    ck_assert_uint_eq(torc_histogram_bucket_of(64), torc_histogram_bucket_of(65));
}
END_TEST

START_TEST(a_bucket_is_less_than_a_32nd_of_its_values_wide)
{
    for (unsigned i = 0; i < TORC_HISTOGRAM_BUCKETS; i++) {
        uint64_t low = torc_histogram_bucket_low(i);
        uint64_t error = torc_histogram_bucket_high(i) - low;
        ck_assert_msg(error == 0 || error < low / 32, "bucket %u", i);
    }
}
END_TEST

START_TEST(an_empty_one_answers_zero)
{
    ck_assert_uint_eq(torc_histogram_percentile(&h, 50), 0);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 100), 0);
    ck_assert_uint_eq(h.count, 0);
    ck_assert(torc_histogram_check(&h));
}
END_TEST

START_TEST(all_zero_bytes_are_an_empty_one)
{
    static struct torc_histogram zeroed;
    torc_histogram_add(&zeroed, 7);
    ck_assert(torc_histogram_check(&zeroed));
    ck_assert_uint_eq(zeroed.min, 7);
    ck_assert_uint_eq(zeroed.max, 7);
}
END_TEST

START_TEST(small_values_have_exact_percentiles)
{
    for (uint64_t value = 1; value <= 50; value++) {
        torc_histogram_add(&h, value);
    }
    ck_assert_uint_eq(torc_histogram_percentile(&h, 0), 1);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 2), 1);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 2.1), 2);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 50), 25);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 98), 49);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 98.01), 50);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 100), 50);
    ck_assert_uint_eq(h.sum, 1275);
}
END_TEST

START_TEST(percentages_without_exact_doubles_do_not_round_up)
{
    /* 0.68 * 10000 / 100 is a little above 68 in doubles. */
    for (int i = 0; i < 10000; i++) {
        torc_histogram_add(&h, i < 68 ? 10 : 60);
    }
    ck_assert_uint_eq(torc_histogram_percentile(&h, 0.68), 10);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 0.681), 60);
}
END_TEST

START_TEST(percentages_out_of_range_are_clamped)
{
    torc_histogram_add(&h, 3);
    torc_histogram_add(&h, 9);
    ck_assert_uint_eq(torc_histogram_percentile(&h, -1), 3);
    ck_assert_uint_eq(torc_histogram_percentile(&h, (double)NAN), 3);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 1e300), 9);
}
END_TEST

START_TEST(a_percentile_never_passes_the_greatest_value)
{
    torc_histogram_add(&h, 1000000);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 50), 1000000);
    torc_histogram_add(&h, 1000001);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 50), 1000001);
}
END_TEST

START_TEST(the_whole_range_of_64_bits_is_counted)
{
    torc_histogram_add(&h, UINT64_MAX);
    torc_histogram_add(&h, 0);
    torc_histogram_add(&h, 1ull << 63);
    ck_assert(torc_histogram_check(&h));
    ck_assert_uint_eq(h.min, 0);
    ck_assert_uint_eq(h.max, UINT64_MAX);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 100), UINT64_MAX);
    ck_assert_uint_eq(torc_histogram_percentile(&h, 1), 0);
}
END_TEST

START_TEST(merging_is_adding_each_value)
{
    static struct torc_histogram both;
    for (uint64_t i = 0; i < 1000; i++) {
        struct torc_histogram *into = i % 3 == 0 ? &h : &other;
        torc_histogram_add(into, i * i * 31);
        torc_histogram_add(&both, i * i * 31);
    }
    torc_histogram_merge(&h, &other);
    ck_assert(torc_histogram_check(&h));
    ck_assert_mem_eq(&h, &both, sizeof both);
}
END_TEST

START_TEST(merging_an_empty_one_changes_nothing)
{
    torc_histogram_add(&h, 5);
    torc_histogram_merge(&h, &other);
    ck_assert_uint_eq(h.count, 1);
    ck_assert_uint_eq(h.min, 5);
    torc_histogram_merge(&other, &h);
    ck_assert_mem_eq(&h, &other, sizeof h);
}
END_TEST

static atomic_bool reader_looked;

static void *read_along(void *histogram)
{
    const struct torc_histogram *shared = histogram;
    static struct torc_histogram copy;
    for (uint64_t seen = 0; seen < 100000;) {
        torc_histogram_reset(&copy);
        torc_histogram_merge(&copy, shared);
        seen = copy.count;
        if (torc_histogram_percentile(shared, 99) > 1000) {
            return NULL;
        }
        atomic_store(&reader_looked, true);
        sched_yield();
    }
    return &copy;
}

/* The thread sanitizer is the judge of this one; here the reader must see the end. */
START_TEST(a_reader_may_look_while_the_writer_adds)
{
    pthread_t reader;
    ck_assert_int_eq(pthread_create(&reader, NULL, read_along, &h), 0);
    while (!atomic_load(&reader_looked)) {
        sched_yield();
    }
    for (uint64_t i = 0; i < 100000; i++) {
        torc_histogram_add(&h, i % 1000);
    }
    void *result = NULL;
    ck_assert_int_eq(pthread_join(reader, &result), 0);
    ck_assert_ptr_nonnull(result);
}
END_TEST

START_TEST(check_sees_a_lost_count)
{
    torc_histogram_add(&h, 5);
    torc_histogram_add(&h, 100);
    h.count++;
    ck_assert(!torc_histogram_check(&h));
    h.count--;
    ck_assert(torc_histogram_check(&h));
    h.max = 1000;
    ck_assert(!torc_histogram_check(&h));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("histogram");
    TCase *tcase = tcase_create("histogram");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, buckets_follow_each_other_without_gap_or_overlap);
    tcase_add_test(tcase, values_up_to_63_have_buckets_of_their_own);
    tcase_add_test(tcase, a_bucket_is_less_than_a_32nd_of_its_values_wide);
    tcase_add_test(tcase, an_empty_one_answers_zero);
    tcase_add_test(tcase, all_zero_bytes_are_an_empty_one);
    tcase_add_test(tcase, small_values_have_exact_percentiles);
    tcase_add_test(tcase, percentages_without_exact_doubles_do_not_round_up);
    tcase_add_test(tcase, percentages_out_of_range_are_clamped);
    tcase_add_test(tcase, a_percentile_never_passes_the_greatest_value);
    tcase_add_test(tcase, the_whole_range_of_64_bits_is_counted);
    tcase_add_test(tcase, merging_is_adding_each_value);
    tcase_add_test(tcase, merging_an_empty_one_changes_nothing);
    tcase_add_test(tcase, a_reader_may_look_while_the_writer_adds);
    tcase_add_test(tcase, check_sees_a_lost_count);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
