/* SPDX-License-Identifier: Apache-2.0
 *
 * A region: one memfd mapped once at a large reserved address range, filled from the front as
 * needed. It is what an arena stands on. Page kinds, in order of preference: hugetlb 2 MiB when the
 * pool has them, transparent huge pages when the kernel gives them to shared memory, else 4 KiB.
 * What was got is reported, never silent. Pages are committed (really allocated) before use, so
 * that a machine out of memory is an error code here and never a SIGBUS at a store.
 */
#ifndef TORC_CORE_REGION_H
#define TORC_CORE_REGION_H

#include "core/base.h"

enum torc_huge_policy {
    TORC_HUGE_NO,  /* 4 KiB pages */
    TORC_HUGE_TRY, /* the best kind there is; the fall-back is reported */
    TORC_HUGE_YES, /* hugetlb or fail */
};

enum torc_page_kind { TORC_PAGES_4K, TORC_PAGES_THP, TORC_PAGES_HUGETLB_2M };

struct torc_region_options {
    const char *name;  /* of the memfd, seen in /proc/PID/fd: "torc-arena-0" */
    uint64_t capacity; /* bytes of address range, a multiple of 2 MiB, at most 1 TiB */
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
    bool locked;
    const char *lock_why; /* why not locked though wanted, or NULL */
};

struct torc_region {
    uint8_t *base;
    uint64_t capacity;  /* bytes mapped */
    uint64_t committed; /* bytes from the front that were committed at least once */
    uint64_t step;      /* commit granularity: 256 KiB, or 2 MiB with huge pages */
    int fd;
    bool read_only;
    struct torc_region_report report;
};

/* Reserve and map. -EINVAL options, -ENOMEM address range or pages, -ENOSPC: huge yes (or prefault)
 * and the pool has too few. Caller's storage; torc_region_close() undoes it. Owner thread only. */
int torc_region_open(struct torc_region *region,
                     const struct torc_region_options *options) TORC_MUST_USE;

/* Map the region behind `fd` (kept by the caller, duplicated here) read-only: for checkers that
 * walk a dead server's memory. -EINVAL, -ENOMEM, -EBADMSG: not a plausible size. */
int torc_region_open_fd(struct torc_region *region, int fd) TORC_MUST_USE;

/* Commit [offset, offset + len): both multiples of TORC_PAGE_BYTES, inside capacity. -ENOMEM:
 * nothing to be had (already committed pages stay). Costs a syscall. */
int torc_region_commit(struct torc_region *region, uint64_t offset, uint64_t len) TORC_MUST_USE;

/* Give the pages of [offset, offset + len) back to the kernel; they read as zero when committed
 * again. With hugetlb only whole 2 MiB pages inside the range are given back. Never fails: at worst
 * nothing is returned. */
void torc_region_release(struct torc_region *region, uint64_t offset, uint64_t len);

/* Unmap and close. Fine on a region zeroed or half opened. */
void torc_region_close(struct torc_region *region);

/* "4 KiB pages", "transparent huge pages", "2 MiB pages (hugetlb)". */
const char *torc_page_kind_name(enum torc_page_kind kind);

#endif
