/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Newer than the libc that torc is built with; the kernel answers EINVAL when it is older. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

#define POOL_DIR    "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define SHMEM_THP   "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define SIZE_SEALS  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define NAME_MAX_IN 200u /* the kernel takes 249 bytes */

const char *torc_page_kind_name(enum torc_page_kind kind)
{
    switch (kind) {
    case TORC_PAGES_4K:
        return "4 KiB pages";
    case TORC_PAGES_THP:
        return "transparent huge pages";
    case TORC_PAGES_HUGETLB_2M:
        return "2 MiB pages (hugetlb)";
    }
    return "unknown pages";
}

/* The number in a one-line file of /sys; 0 when it cannot be read. */
static uint64_t sys_number(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    char line[32] = "";
    uint64_t number = 0;
    if (fgets(line, sizeof(line), file) != NULL) {
        for (const char *p = line; *p >= '0' && *p <= '9'; p++) {
            number = number * 10 + (uint64_t)(*p - '0');
        }
    }
    (void)fclose(file);
    return number;
}

/* Bytes of 2 MiB pages that are free in the pool and promised to nobody. */
static uint64_t pool_free_bytes(void)
{
    uint64_t n_free = sys_number(POOL_DIR "free_hugepages");
    uint64_t n_promised = sys_number(POOL_DIR "resv_hugepages");
    return n_free > n_promised ? (n_free - n_promised) * TORC_REGION_HUGE_BYTES : 0;
}

/* NULL if the kernel gives transparent huge pages to shared memory that asks for them, else why
 * not. The file reads like "always within_size advise [never] deny force". */
static const char *shmem_thp_refusal(void)
{
    FILE *file = fopen(SHMEM_THP, "re");
    if (file == NULL) {
        return "kernel without transparent huge pages for shared memory";
    }
    char line[128] = "";
    const char *refusal = NULL;
    if (fgets(line, sizeof(line), file) == NULL) {
        refusal = "transparent_hugepage/shmem_enabled is unreadable";
    } else if (strstr(line, "[never]") != NULL) {
        refusal = "transparent_hugepage/shmem_enabled is never";
    } else if (strstr(line, "[deny]") != NULL) {
        refusal = "transparent_hugepage/shmem_enabled is deny";
    }
    (void)fclose(file);
    return refusal;
}

uint64_t torc_region_thp_bytes(const struct torc_region *region)
{
    FILE *file = region->base != NULL ? fopen("/proc/self/smaps", "re") : NULL;
    if (file == NULL) {
        return 0;
    }
    /* The mapping may be cut in several (locked and not), each with lines of its own. A line that
     * starts with a range of addresses opens an entry; its counters follow. */
    uintptr_t first = (uintptr_t)region->base;
    uintptr_t end = first + region->capacity;
    uint64_t bytes = 0;
    bool ours = false;
    char line[512];
    while (fgets(line, sizeof(line), file) != NULL) {
        uintptr_t from;
        uintptr_t to;
        uint64_t kib;
        /* Numbers that the kernel printed for addresses and sizes cannot overflow. */
        // NOLINTNEXTLINE(cert-err34-c)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            ours = from >= first && to <= end;
            // NOLINTNEXTLINE(cert-err34-c)
        } else if (ours && sscanf(line, "ShmemPmdMapped: %" SCNu64 " kB", &kib) == 1) {
            bytes += kib * TORC_KIB;
        }
    }
    (void)fclose(file);
    return bytes;
}

/* A sealed, empty file of `capacity` bytes that takes no memory yet. -ENOMEM, or -ENOSPC when the
 * kernel does not do `huge`. */
static int file_create(const char *name, uint64_t capacity, bool huge, int *out_fd)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0u);
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) { /* before Linux 6.3 */
        fd = memfd_create(name, flags);
    }
    if (fd < 0) {
        return huge ? -ENOSPC : -ENOMEM;
    }
    if (ftruncate(fd, (off_t)capacity) != 0 || fcntl(fd, F_ADD_SEALS, SIZE_SEALS) != 0) {
        (void)close(fd);
        return -ENOMEM;
    }
    *out_fd = fd;
    return 0;
}

/* Map the whole file on a 2 MiB boundary, which huge pages need. NULL when there is no room. */
static uint8_t *file_map(int fd, uint64_t capacity, int protection)
{
    uint64_t spare = TORC_REGION_HUGE_BYTES;
    void *range =
        mmap(NULL, capacity + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        return NULL;
    }
    uint8_t *from = range;
    uint64_t before = torc_align_up((uintptr_t)from, spare) - (uintptr_t)from;
    void *base =
        mmap(from + before, capacity, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (base == MAP_FAILED) {
        (void)munmap(range, capacity + spare);
        return NULL;
    }
    if (before != 0) {
        (void)munmap(from, before);
    }
    if (before != spare) {
        (void)munmap(from + before + capacity, spare - before);
    }
    return base;
}

/* Prefer, not bind: a full node must not kill the process while another node has memory. */
static void region_place(struct torc_region *region, int node)
{
    struct torc_region_report *report = &region->report;
    report->numa_node = -1;
    if (node < 0) {
        return;
    }
    if (numa_available() < 0) {
        report->numa_why = "kernel without NUMA support";
        return;
    }
    if (node > numa_max_node() || !numa_bitmask_isbitset(numa_nodes_ptr, (unsigned)node)) {
        report->numa_why = "no such NUMA node";
        return;
    }
    struct bitmask *nodes = numa_allocate_nodemask();
    if (nodes == NULL) {
        report->numa_why = "no memory for a node mask";
        return;
    }
    numa_bitmask_setbit(nodes, (unsigned)node);
    if (mbind(region->base, region->capacity, MPOL_PREFERRED, nodes->maskp, nodes->size, 0) == 0) {
        report->numa_node = node;
    } else {
        report->numa_why = "the kernel refused the placement";
    }
    numa_bitmask_free(nodes);
}

/* Create, map and place with one kind of file. */
static int region_build(struct torc_region *region, const struct torc_region_options *options,
                        bool hugetlb)
{
    int fd;
    int rc = file_create(options->name, options->capacity, hugetlb, &fd);
    if (rc != 0) {
        return rc;
    }
    uint8_t *base = file_map(fd, options->capacity, PROT_READ | PROT_WRITE);
    if (base == NULL) {
        (void)close(fd);
        return -ENOMEM;
    }
    *region = (struct torc_region){
        .base = base,
        .capacity = options->capacity,
        .step = hugetlb ? TORC_REGION_HUGE_BYTES : TORC_REGION_SMALL_STEP_BYTES,
        .fd = fd,
        .lock = options->lock,
        .report.pages = hugetlb ? TORC_PAGES_HUGETLB_2M : TORC_PAGES_4K,
    };
    region_place(region, options->numa_node);
    /* Both are wishes: refused, the region works as well. */
    (void)madvise(base, options->capacity, MADV_DONTDUMP);
    (void)madvise(base, options->capacity, MADV_DONTFORK);
    return 0;
}

/* Ask for transparent huge pages and believe it only when the kernel shows one: the first 2 MiB are
 * committed for that, then given back. MADV_COLLAPSE would work in every setting, but takes
 * milliseconds for 2 MiB (it waits for every CPU), which no caller of commit can afford. */
static int region_try_thp(struct torc_region *region)
{
    const char *refusal = shmem_thp_refusal();
    if (refusal == NULL && madvise(region->base, region->capacity, MADV_HUGEPAGE) != 0) {
        refusal = "the kernel refused MADV_HUGEPAGE";
    }
    if (refusal == NULL) {
        bool lock = region->lock;
        region->lock = false;
        int rc = torc_region_commit(region, 0, TORC_REGION_HUGE_BYTES);
        region->lock = lock;
        if (rc != 0) {
            return rc;
        }
        if (torc_region_thp_bytes(region) >= TORC_REGION_HUGE_BYTES) {
            region->report.pages = TORC_PAGES_THP;
            region->step = TORC_REGION_HUGE_BYTES;
        } else {
            refusal = "the kernel gave small pages when asked for a huge one";
        }
        torc_region_release(region, 0, TORC_REGION_HUGE_BYTES);
    }
    if (refusal != NULL) {
        region->report.pages_why = refusal;
    }
    return 0;
}

static bool options_are_valid(const struct torc_region_options *options)
{
    return options->name != NULL && strlen(options->name) <= NAME_MAX_IN &&
           options->capacity != 0 && options->capacity % TORC_REGION_HUGE_BYTES == 0 &&
           options->capacity <= TORC_REGION_MAX_BYTES && options->expected <= options->capacity &&
           options->huge <= TORC_HUGE_YES && options->numa_node >= -1;
}

int torc_region_open(struct torc_region *region, const struct torc_region_options *options)
{
    *region = (struct torc_region){.base = NULL};
    if (!options_are_valid(options)) {
        return -EINVAL;
    }
    bool hugetlb = false;
    const char *no_hugetlb = NULL;
    if (options->huge != TORC_HUGE_NO) {
        uint64_t pool = pool_free_bytes();
        uint64_t wanted = TORC_REGION_HUGE_BYTES;
        if (options->prefault) {
            wanted = options->capacity;
        } else if (options->huge == TORC_HUGE_TRY) {
            wanted = options->expected != 0 ? options->expected : options->capacity;
        }
        hugetlb = pool >= wanted;
        if (!hugetlb) {
            no_hugetlb = pool == 0 ? "no free 2 MiB pages in the hugetlb pool"
                                   : "fewer free 2 MiB pages in the hugetlb pool than needed";
        }
    }
    if (options->huge == TORC_HUGE_YES && !hugetlb) {
        return -ENOSPC;
    }
    int rc = region_build(region, options, hugetlb);
    if (rc == -ENOSPC && options->huge == TORC_HUGE_TRY) {
        hugetlb = false;
        no_hugetlb = "kernel without memfd on hugetlb";
        rc = region_build(region, options, false);
    }
    if (rc != 0) {
        return rc;
    }
    if (options->huge == TORC_HUGE_TRY && !hugetlb) {
        region->report.pages_why = no_hugetlb;
        rc = region_try_thp(region);
    }
    if (rc == 0 && options->prefault) {
        rc = torc_region_commit(region, 0, region->capacity);
        if (rc != 0 && options->huge == TORC_HUGE_YES) {
            rc = -ENOSPC; /* somebody was faster at the pool */
        }
        region->prefaulted = rc == 0;
    }
    if (rc != 0) {
        torc_region_close(region);
    }
    return rc;
}

int torc_region_open_fd(struct torc_region *region, int fd)
{
    *region = (struct torc_region){.base = NULL};
    struct stat about;
    struct statfs system;
    if (fstat(fd, &about) != 0 || fstatfs(fd, &system) != 0) {
        return -EINVAL;
    }
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || about.st_size <= 0 ||
        (uint64_t)about.st_size % TORC_REGION_HUGE_BYTES != 0 ||
        (uint64_t)about.st_size > TORC_REGION_MAX_BYTES) {
        return -EBADMSG;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        return -ENOMEM;
    }
    uint8_t *base = file_map(own, (uint64_t)about.st_size, PROT_READ);
    if (base == NULL) {
        (void)close(own);
        return -ENOMEM;
    }
    bool hugetlb = system.f_type == HUGETLBFS_MAGIC;
    *region = (struct torc_region){
        .base = base,
        .capacity = (uint64_t)about.st_size,
        .step = hugetlb ? TORC_REGION_HUGE_BYTES : TORC_REGION_SMALL_STEP_BYTES,
        .fd = own,
        .read_only = true,
        .report = {.pages = hugetlb ? TORC_PAGES_HUGETLB_2M : TORC_PAGES_4K, .numa_node = -1},
    };
    (void)madvise(base, region->capacity, MADV_DONTDUMP);
    return 0;
}

static int file_allocate(int fd, uint64_t offset, uint64_t len)
{
    int rc;
    do {
        rc = fallocate(fd, 0, (off_t)offset, (off_t)len);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : -ENOMEM;
}

/* Allocate and map at once, so that the first store does not even fault. */
static int range_populate(const struct torc_region *region, uint64_t offset, uint64_t len)
{
    int rc;
    do {
        rc = madvise(region->base + offset, len, MADV_POPULATE_WRITE);
    } while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    if (rc != 0 && errno == EINVAL) { /* before Linux 5.14 */
        return file_allocate(region->fd, offset, len);
    }
    return rc == 0 ? 0 : -ENOMEM;
}

static void range_lock(struct torc_region *region, uint64_t offset, uint64_t len)
{
    if (mlock2(region->base + offset, len, 0) == 0) {
        region->report.locked = true;
        return;
    }
    region->report.lock_why = errno == EPERM ? "no permission to lock memory"
                                             : "the limit of locked memory (RLIMIT_MEMLOCK)";
    region->report.locked = false;
    region->lock = false; /* partly locked is not locked: say so once, and stop trying */
}

int torc_region_commit(struct torc_region *region, uint64_t offset, uint64_t len)
{
    assert(!region->read_only && len != 0 && offset % TORC_PAGE_BYTES == 0 &&
           len % TORC_PAGE_BYTES == 0 && offset <= region->capacity &&
           len <= region->capacity - offset);
    int rc;
    if (region->report.pages == TORC_PAGES_HUGETLB_2M) {
        /* Only fallocate() reports an empty pool; a fault would be a SIGBUS. */
        rc = file_allocate(region->fd, offset, len);
    } else {
        rc = range_populate(region, offset, len);
    }
    if (rc == 0 && region->lock) {
        range_lock(region, offset, len);
    }
    return rc;
}

void torc_region_release(struct torc_region *region, uint64_t offset, uint64_t len)
{
    assert(!region->read_only && offset <= region->capacity && len <= region->capacity - offset);
    int rc;
    do {
        rc = fallocate(region->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                       (off_t)len);
    } while (rc != 0 && errno == EINTR);
}

void torc_region_close(struct torc_region *region)
{
    if (region->base != NULL) {
        (void)munmap(region->base, region->capacity);
        (void)close(region->fd);
    }
    *region = (struct torc_region){.base = NULL};
}
