/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region.h"

#include <check.h>
#include <fcntl.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct torc_region_options small = {
    .name = "torc-test-region",
    .capacity = 8 * TORC_MIB,
    .huge = TORC_HUGE_NO,
    .numa_node = -1,
};

/* The thread sanitizer leaves too little of the address range for the largest region. */
#ifdef __SANITIZE_THREAD__
#define LARGEST_BYTES (64 * TORC_GIB)
#else
#define LARGEST_BYTES TORC_REGION_MAX_BYTES
#endif

/* Bytes that the kernel holds for the file. */
static uint64_t held_bytes(const struct torc_region *region)
{
    struct stat about;
    ck_assert_int_eq(fstat(region->fd, &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

static bool reads_as_zero(const uint8_t *p, uint64_t len)
{
    uint8_t any = 0;
    for (uint64_t i = 0; i < len; i++) {
        any |= p[i];
    }
    return any == 0;
}

/* Run `body` in a child, whose limits and identity it may spoil. Returns what it returns, 0-99. */
static int in_child(int (*body)(void))
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(body());
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static uint64_t pool_free_pages(void)
{
    FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
    char line[32] = "0";
    if (file != NULL) {
        ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
        ck_assert_int_eq(fclose(file), 0);
    }
    return strtoull(line, NULL, 10);
}

START_TEST(a_new_region_holds_no_memory_and_is_aligned_for_huge_pages)
{
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &small), 0);
    ck_assert_uint_eq((uintptr_t)region.base % TORC_REGION_HUGE_BYTES, 0);
    ck_assert_uint_eq(region.capacity, small.capacity);
    ck_assert_uint_eq(region.step, TORC_REGION_SMALL_STEP_BYTES);
    ck_assert(!region.read_only && !region.prefaulted);
    ck_assert_int_eq(region.report.pages, TORC_PAGES_4K);
    ck_assert_ptr_null(region.report.pages_why);
    ck_assert_int_eq(region.report.numa_node, -1);
    ck_assert_ptr_null(region.report.numa_why);
    ck_assert(!region.report.locked);
    ck_assert_ptr_null(region.report.lock_why);
    ck_assert_uint_eq(held_bytes(&region), 0);
    ck_assert_uint_eq(torc_region_thp_bytes(&region), 0);
    torc_region_close(&region);
    ck_assert_ptr_null(region.base);
    torc_region_close(&region);
}
END_TEST

START_TEST(commit_and_release_are_exact_to_the_page)
{
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &small), 0);
    ck_assert_int_eq(torc_region_commit(&region, 3ull * TORC_PAGE_BYTES, 5ull * TORC_PAGE_BYTES),
                     0);
    ck_assert_uint_eq(held_bytes(&region), 5ull * TORC_PAGE_BYTES);
    memset(region.base + 3ull * TORC_PAGE_BYTES, 0xee, 5ull * TORC_PAGE_BYTES);
    /* Again, and overlapping: what is there stays. */
    ck_assert_int_eq(torc_region_commit(&region, 0, 4ull * TORC_PAGE_BYTES), 0);
    ck_assert_uint_eq(held_bytes(&region), 8ull * TORC_PAGE_BYTES);
    ck_assert_uint_eq(region.base[3ull * TORC_PAGE_BYTES], 0xee);
    ck_assert_int_eq(torc_region_commit(&region, small.capacity - TORC_PAGE_BYTES, TORC_PAGE_BYTES),
                     0);
    region.base[small.capacity - 1] = 1;
    torc_region_release(&region, 2ull * TORC_PAGE_BYTES, 2ull * TORC_PAGE_BYTES);
    ck_assert_uint_eq(held_bytes(&region), 7ull * TORC_PAGE_BYTES);
    ck_assert_int_eq(torc_region_commit(&region, 2ull * TORC_PAGE_BYTES, 2ull * TORC_PAGE_BYTES),
                     0);
    ck_assert(reads_as_zero(region.base, 4ull * TORC_PAGE_BYTES));
    ck_assert_uint_eq(region.base[4ull * TORC_PAGE_BYTES], 0xee);
    torc_region_release(&region, 0, small.capacity);
    ck_assert_uint_eq(held_bytes(&region), 0);
    torc_region_release(&region, 0, small.capacity);
    torc_region_close(&region);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    char long_name[256];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    struct torc_region_options bad[] = {small, small, small, small, small, small, small, small};
    bad[0].name = NULL;
    bad[1].name = long_name;
    bad[2].capacity = 0;
    bad[3].capacity += TORC_PAGE_BYTES;
    bad[4].capacity = TORC_REGION_MAX_BYTES + TORC_REGION_HUGE_BYTES;
    bad[5].huge = (enum torc_huge_policy)(TORC_HUGE_YES + 1);
    bad[6].numa_node = -2;
    bad[7].expected = small.capacity + 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct torc_region region;
        memset(&region, 0xff, sizeof(region));
        ck_assert_int_eq(torc_region_open(&region, &bad[i]), -EINVAL);
        ck_assert_ptr_null(region.base);
        torc_region_close(&region);
    }
}
END_TEST

START_TEST(the_largest_capacity_can_be_opened_and_used_at_both_ends)
{
    struct torc_region_options options = small;
    options.capacity = LARGEST_BYTES;
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    uint64_t last = options.capacity - region.step;
    ck_assert_int_eq(torc_region_commit(&region, 0, region.step), 0);
    ck_assert_int_eq(torc_region_commit(&region, last, region.step), 0);
    region.base[0] = 1;
    region.base[options.capacity - 1] = 2;
    ck_assert_uint_eq(held_bytes(&region), 2 * region.step);
    torc_region_close(&region);
}
END_TEST

START_TEST(the_descriptor_is_sealed_in_size_and_closed_on_exec)
{
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &small), 0);
    int seals = fcntl(region.fd, F_GET_SEALS);
    ck_assert_int_ge(seals, 0);
    ck_assert((seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW) && (seals & F_SEAL_SEAL));
    ck_assert_int_ne(ftruncate(region.fd, 0), 0);
    ck_assert_int_ne(ftruncate(region.fd, (off_t)(2 * small.capacity)), 0);
    ck_assert_int_ne(fcntl(region.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    ck_assert(fcntl(region.fd, F_GETFD) & FD_CLOEXEC);
    torc_region_close(&region);
}
END_TEST

START_TEST(prefault_commits_the_whole_capacity)
{
    struct torc_region_options options = small;
    options.prefault = true;
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    ck_assert(region.prefaulted);
    ck_assert_uint_eq(held_bytes(&region), options.capacity);
    torc_region_close(&region);
}
END_TEST

START_TEST(huge_yes_gives_hugetlb_or_fails_for_want_of_pages)
{
    struct torc_region_options options = small;
    options.huge = TORC_HUGE_YES;
    struct torc_region region;
    uint64_t n_free = pool_free_pages();
    int rc = torc_region_open(&region, &options);
    if (n_free == 0) {
        ck_assert_int_eq(rc, -ENOSPC);
        ck_assert_ptr_null(region.base);
        return;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(region.report.pages, TORC_PAGES_HUGETLB_2M);
    ck_assert_uint_eq(region.step, TORC_REGION_HUGE_BYTES);
    ck_assert_uint_eq(held_bytes(&region), 0);
    ck_assert_int_eq(torc_region_commit(&region, 0, region.step), 0);
    memset(region.base, 1, region.step);
    ck_assert_uint_eq(held_bytes(&region), region.step);
    torc_region_release(&region, 0, region.step);
    ck_assert_uint_eq(held_bytes(&region), 0);
    torc_region_close(&region);
}
END_TEST

START_TEST(huge_try_reports_why_when_it_falls_back)
{
    struct torc_region_options options = small;
    options.huge = TORC_HUGE_TRY;
    /* More than any pool of a test machine, so hugetlb cannot be the answer. */
    options.capacity = LARGEST_BYTES;
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    ck_assert_int_ne(region.report.pages, TORC_PAGES_HUGETLB_2M);
    ck_assert_ptr_nonnull(region.report.pages_why);
    ck_assert_uint_eq(region.step, region.report.pages == TORC_PAGES_THP
                                       ? TORC_REGION_HUGE_BYTES
                                       : TORC_REGION_SMALL_STEP_BYTES);
    ck_assert_uint_eq(held_bytes(&region), 0);
    ck_assert_int_eq(torc_region_commit(&region, 0, TORC_REGION_HUGE_BYTES), 0);
    ck_assert_uint_eq(torc_region_thp_bytes(&region),
                      region.report.pages == TORC_PAGES_THP ? TORC_REGION_HUGE_BYTES : 0);
    torc_region_close(&region);
}
END_TEST

START_TEST(a_numa_node_is_in_force_or_the_report_says_why_not)
{
    struct torc_region_options options = small;
    options.numa_node = 0;
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    if (numa_available() >= 0 && numa_bitmask_isbitset(numa_nodes_ptr, 0)) {
        ck_assert_int_eq(region.report.numa_node, 0);
        ck_assert_ptr_null(region.report.numa_why);
    } else {
        ck_assert_int_eq(region.report.numa_node, -1);
        ck_assert_ptr_nonnull(region.report.numa_why);
    }
    ck_assert_int_eq(torc_region_commit(&region, 0, region.step), 0);
    torc_region_close(&region);

    options.numa_node = 100000;
    ck_assert_int_eq(torc_region_open(&region, &options), 0);
    ck_assert_int_eq(region.report.numa_node, -1);
    ck_assert_ptr_nonnull(region.report.numa_why);
    ck_assert_int_eq(torc_region_commit(&region, 0, region.step), 0);
    torc_region_close(&region);
}
END_TEST

/* Without the privilege to lock, and with room to lock `limit` bytes: open, commit two steps. The
 * result says after which commit the report had the text, 1 or 2; 3: it never had; more: broken. */
static int lock_with_limit(rlim_t limit)
{
    struct rlimit rlimit = {.rlim_cur = limit, .rlim_max = limit};
    if (setrlimit(RLIMIT_MEMLOCK, &rlimit) != 0 || (geteuid() == 0 && setuid(65534) != 0)) {
        return 90;
    }
    struct torc_region_options options = small;
    options.lock = true;
    struct torc_region region;
    if (torc_region_open(&region, &options) != 0 || region.report.locked) {
        return 91;
    }
    for (int i = 0; i < 2; i++) {
        if (torc_region_commit(&region, (uint64_t)i * region.step, region.step) != 0) {
            return 92;
        }
        if (region.report.locked == (region.report.lock_why != NULL)) {
            return 93;
        }
        if (region.report.lock_why != NULL) {
            return i + 1;
        }
    }
    return 3;
}

static int lock_with_no_limit(void)
{
    return lock_with_limit(0);
}
static int lock_with_room_for_one(void)
{
    return lock_with_limit(TORC_REGION_SMALL_STEP_BYTES);
}
static int lock_with_room_for_two(void)
{
    return lock_with_limit(2ull * TORC_REGION_SMALL_STEP_BYTES);
}

START_TEST(a_refused_lock_is_reported_and_commits_go_on)
{
    ck_assert_int_eq(in_child(lock_with_no_limit), 1);
    ck_assert_int_eq(in_child(lock_with_room_for_one), 2);
    ck_assert_int_eq(in_child(lock_with_room_for_two), 3);
}
END_TEST

static int open_without_address_space(void)
{
    struct rlimit rlimit = {.rlim_cur = 4 * TORC_GIB, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &rlimit) != 0) {
        return 90;
    }
    struct torc_region_options options = small;
    options.capacity = 64 * TORC_GIB;
    struct torc_region region;
    int next = dup(0);
    (void)close(next);
    int rc = torc_region_open(&region, &options);
    int after = dup(0); /* the same number: no descriptor was left open */
    return rc == -ENOMEM && region.base == NULL && next == after ? 0 : 1;
}

START_TEST(no_address_space_is_an_error_that_leaves_nothing_open)
{
    ck_assert_int_eq(in_child(open_without_address_space), 0);
}
END_TEST

static int open_without_descriptors(void)
{
    struct torc_region region;
    struct torc_region other;
    if (torc_region_open(&region, &small) != 0) {
        return 90;
    }
    struct rlimit rlimit = {.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_NOFILE, &rlimit) != 0) {
        return 91;
    }
    if (torc_region_open(&other, &small) != -ENOMEM) {
        return 1;
    }
    return torc_region_open_fd(&other, region.fd) == -ENOMEM ? 0 : 2;
}

START_TEST(no_descriptor_left_is_an_error)
{
    ck_assert_int_eq(in_child(open_without_descriptors), 0);
}
END_TEST

START_TEST(pages_that_the_pool_does_not_have_are_an_error_code)
{
    /* A descriptor on which nothing can be allocated stands for an empty pool. */
    struct torc_region region;
    ck_assert_int_eq(torc_region_open(&region, &small), 0);
    int fd = region.fd;
    region.fd = -1;
    region.report.pages = TORC_PAGES_HUGETLB_2M;
    ck_assert_int_eq(torc_region_commit(&region, 0, TORC_REGION_HUGE_BYTES), -ENOMEM);
    torc_region_release(&region, 0, TORC_REGION_HUGE_BYTES);
    region.fd = fd;
    ck_assert_int_eq(torc_region_commit(&region, 0, TORC_REGION_HUGE_BYTES), 0);
    torc_region_close(&region);
}
END_TEST

START_TEST(a_reader_maps_what_the_writer_wrote_and_outlives_it)
{
    struct torc_region writer;
    struct torc_region reader;
    ck_assert_int_eq(torc_region_open(&writer, &small), 0);
    ck_assert_int_eq(torc_region_commit(&writer, 0, writer.step), 0);
    writer.base[5] = 55;
    ck_assert_int_eq(torc_region_open_fd(&reader, writer.fd), 0);
    ck_assert(reader.read_only);
    ck_assert_uint_eq(reader.capacity, writer.capacity);
    ck_assert_int_eq(reader.report.pages, TORC_PAGES_4K);
    ck_assert(reader.base != writer.base && reader.fd != writer.fd);
    ck_assert_uint_eq(reader.base[5], 55);
    writer.base[6] = 66;
    ck_assert_uint_eq(reader.base[6], 66);
    torc_region_close(&writer);
    ck_assert_uint_eq(reader.base[5], 55);
    torc_region_close(&reader);
}
END_TEST

START_TEST(only_a_sealed_file_of_a_plausible_size_is_mapped)
{
    struct torc_region region;
    ck_assert_int_eq(torc_region_open_fd(&region, -1), -EINVAL);
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(torc_region_open_fd(&region, pipes[0]), -EBADMSG);
    ck_assert_int_eq(close(pipes[0]), 0);
    ck_assert_int_eq(close(pipes[1]), 0);

    const uint64_t sizes[] = {0, 4096, TORC_REGION_HUGE_BYTES + 4096,
                              TORC_REGION_MAX_BYTES + TORC_REGION_HUGE_BYTES};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int fd = memfd_create("torc-test-size", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(ftruncate(fd, (off_t)sizes[i]), 0);
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        ck_assert_int_eq(torc_region_open_fd(&region, fd), -EBADMSG);
        ck_assert_ptr_null(region.base);
        ck_assert_int_eq(close(fd), 0);
    }
    int fd = memfd_create("torc-test-seal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)TORC_REGION_HUGE_BYTES), 0);
    ck_assert_int_eq(torc_region_open_fd(&region, fd), -EBADMSG);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    ck_assert_int_eq(torc_region_open_fd(&region, fd), 0);
    torc_region_close(&region);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

static struct torc_region inherited;

static int look_for_inherited(void)
{
    unsigned char resident;
    return mincore(inherited.base, TORC_PAGE_BYTES, &resident) != 0 && errno == ENOMEM ? 0 : 1;
}

START_TEST(a_forked_child_does_not_get_the_mapping)
{
    ck_assert_int_eq(torc_region_open(&inherited, &small), 0);
    ck_assert_int_eq(torc_region_commit(&inherited, 0, inherited.step), 0);
    ck_assert_int_eq(in_child(look_for_inherited), 0);
    torc_region_close(&inherited);
}
END_TEST

START_TEST(every_page_kind_has_a_name)
{
    ck_assert_str_eq(torc_page_kind_name(TORC_PAGES_4K), "4 KiB pages");
    ck_assert_str_eq(torc_page_kind_name(TORC_PAGES_THP), "transparent huge pages");
    ck_assert_str_eq(torc_page_kind_name(TORC_PAGES_HUGETLB_2M), "2 MiB pages (hugetlb)");
    ck_assert_ptr_nonnull(torc_page_kind_name((enum torc_page_kind)77));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *tcase = tcase_create("region");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_new_region_holds_no_memory_and_is_aligned_for_huge_pages);
    tcase_add_test(tcase, commit_and_release_are_exact_to_the_page);
    tcase_add_test(tcase, options_out_of_range_are_refused);
    tcase_add_test(tcase, the_largest_capacity_can_be_opened_and_used_at_both_ends);
    tcase_add_test(tcase, the_descriptor_is_sealed_in_size_and_closed_on_exec);
    tcase_add_test(tcase, prefault_commits_the_whole_capacity);
    tcase_add_test(tcase, huge_yes_gives_hugetlb_or_fails_for_want_of_pages);
    tcase_add_test(tcase, huge_try_reports_why_when_it_falls_back);
    tcase_add_test(tcase, a_numa_node_is_in_force_or_the_report_says_why_not);
    tcase_add_test(tcase, a_refused_lock_is_reported_and_commits_go_on);
    tcase_add_test(tcase, no_address_space_is_an_error_that_leaves_nothing_open);
    tcase_add_test(tcase, no_descriptor_left_is_an_error);
    tcase_add_test(tcase, pages_that_the_pool_does_not_have_are_an_error_code);
    tcase_add_test(tcase, a_reader_maps_what_the_writer_wrote_and_outlives_it);
    tcase_add_test(tcase, only_a_sealed_file_of_a_plausible_size_is_mapped);
    tcase_add_test(tcase, a_forked_child_does_not_get_the_mapping);
    tcase_add_test(tcase, every_page_kind_has_a_name);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
