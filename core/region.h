/* SPDX-License-Identifier: Apache-2.0
 *
 * A region: one memfd mapped once at a large reserved address range, filled as needed. It is what
 * an arena stands on. Page kinds, in order of preference: hugetlb 2 MiB when the pool has them,
 * transparent huge pages when the kernel gives them to shared memory, else 4 KiB. What was got is
 * reported, never silent. Pages are committed (really allocated) before use, so that a machine out
 * of memory is an error code here and never a SIGBUS at a store.
 *
 * The descriptor is close-on-exec and sealed against any change of its size (and against further
 * seals), so that whoever maps it may trust the size. The mapping starts on a 2 MiB boundary, is
 * left out of core dumps (it is as large as all data; the data outlives the process in the memfd
 * as long as somebody holds the descriptor) and is not inherited over fork(): a child must neither
 * pay for its page tables nor write to it.
 */
#ifndef TORC_CORE_REGION_H
#define TORC_CORE_REGION_H

#include "core/base.h"

#define TORC_REGION_SMALL_STEP_BYTES 262144u  /* 256 KiB: commit granularity, 4 KiB pages */
#define TORC_REGION_HUGE_BYTES       2097152u /* 2 MiB: a huge page, and the granularity with them */
#define TORC_REGION_MAX_BYTES        (1024ull * TORC_GIB)

enum torc_huge_policy {
    TORC_HUGE_NO,  /* 4 KiB pages */
    TORC_HUGE_TRY, /* the best kind there is; the fall-back is reported */
    TORC_HUGE_YES, /* hugetlb or fail */
};

enum torc_page_kind { TORC_PAGES_4K, TORC_PAGES_THP, TORC_PAGES_HUGETLB_2M };

struct torc_region_options {
    const char *name;  /* of the memfd, seen in /proc/PID/fd: "torc-arena-0" */
    uint64_t capacity; /* bytes of address range, a multiple of 2 MiB, at most 1 TiB */
    uint64_t expected; /* bytes that must fit for hugetlb to be tried; 0 = the capacity. The pool
                          bounds a hugetlb region, so "try" takes it only when it is large enough */
    enum torc_huge_policy huge;
    int numa_node; /* -1: no preference */
    bool prefault; /* commit the whole capacity at once */
    bool lock;     /* mlock what is committed */
};

/* What was really got; every text is static. */
struct torc_region_report {
    enum torc_page_kind pages;
    const char *pages_why; /* why not a larger kind, or NULL */
    int numa_node;         /* node in force, -1 none */
    const char *numa_why;  /* why the wanted node is not in force, or NULL */
    bool locked;           /* all that was committed so far is locked; false while nothing is */
    const char *lock_why;  /* why not locked though wanted, or NULL */
};

struct torc_region {
    uint8_t *base;
    uint64_t capacity; /* bytes mapped */
    uint64_t step;     /* commit granularity: 256 KiB, or 2 MiB with huge pages */
    int fd;            /* meaningful while base is not NULL */
    bool read_only;
    bool prefaulted; /* all is committed, and the owner wants it to stay so */
    bool lock;       /* lock what is committed from here on */
    struct torc_region_report report;
};

/* Reserve and map. -EINVAL options, -ENOMEM no address range, descriptor or pages, -ENOSPC: huge
 * yes and the pool has too few (one page, or the capacity with prefault). Caller's storage;
 * torc_region_close() undoes it. On failure *region is zeroed. One thread at a time. Cost: some
 * syscalls, and the commit of all pages with prefault. */
int torc_region_open(struct torc_region *region,
                     const struct torc_region_options *options) TORC_MUST_USE;

/* Map the region behind `fd` (kept by the caller, duplicated here) read-only: for checkers that
 * walk a dead server's memory. -EINVAL not a descriptor, -ENOMEM, -EBADMSG: not sealed against
 * shrinking or not a plausible size. report.pages tells hugetlb from the rest. */
int torc_region_open_fd(struct torc_region *region, int fd) TORC_MUST_USE;

/* Commit [offset, offset + len): both multiples of TORC_PAGE_BYTES, inside capacity, len not 0.
 * -ENOMEM: nothing to be had (pages of the range that were committed stay). Costs a syscall and the
 * zeroing of the new pages. Does not fail when locking is refused: report.lock_why then says so. */
int torc_region_commit(struct torc_region *region, uint64_t offset, uint64_t len) TORC_MUST_USE;

/* Give the pages of [offset, offset + len) back to the kernel; they read as zero when committed
 * again. With hugetlb only whole 2 MiB pages inside the range are given back. Never fails: at worst
 * nothing is returned. */
void torc_region_release(struct torc_region *region, uint64_t offset, uint64_t len);

/* Bytes of the region that are mapped by transparent huge pages now, as the kernel tells in
 * /proc/self/smaps; 0 when it does not tell. For reports: reads and parses a file. */
uint64_t torc_region_thp_bytes(const struct torc_region *region);

/* Unmap and close. Fine on a region zeroed or half opened; leaves it zeroed. */
void torc_region_close(struct torc_region *region);

/* "4 KiB pages", "transparent huge pages", "2 MiB pages (hugetlb)". */
const char *torc_page_kind_name(enum torc_page_kind kind);

#endif
