/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/service.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/placement.h"
#include "hash/expiry.h"

bool torc_slices_reserve(struct torc_slices *slices, size_t n)
{
    if (n <= slices->cap) {
        return true;
    }
    size_t cap = torc_max_u64(256, 2 * slices->cap);
    cap = torc_max_u64(cap, n);
    struct torc_slice *items = realloc(slices->items, cap * sizeof *items);
    if (items == NULL) {
        return false;
    }
    slices->items = items;
    slices->cap = cap;
    return true;
}

bool torc_values_reserve(struct torc_values *values, size_t n)
{
    if (n <= values->cap) {
        return true;
    }
    size_t cap = torc_max_u64(64, 2 * values->cap);
    cap = torc_max_u64(cap, n);
    struct torc_value *items = malloc(cap * sizeof *items);
    if (items == NULL) {
        return false;
    }
    free(values->items);
    values->items = items;
    values->cap = cap;
    return true;
}

static int fill_random(void *bytes, size_t len)
{
    ssize_t n = getrandom(bytes, len, 0);
    return n == (ssize_t)len ? 0 : -EINVAL;
}

static int fill_facts(struct torc_facts *facts, const struct torc_settings *settings,
                      const char *config_file)
{
    uint8_t id[(TORC_RUN_ID_BYTES - 1) / 2];
    if (fill_random(id, sizeof id) != 0) {
        return -EINVAL;
    }
    for (size_t i = 0; i < sizeof id; i++) {
        static const char hex[] = "0123456789abcdef";
        facts->run_id[2 * i] = hex[id[i] >> 4];
        facts->run_id[2 * i + 1] = hex[id[i] & 15];
    }
    facts->pid = getpid();
    facts->start_wall_ms = torc_clock_wall_ms();
    facts->start_ns = torc_clock_monotonic_ns();
    (void)snprintf(facts->config_file, sizeof facts->config_file, "%s",
                   config_file != NULL ? config_file : "");
    facts->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    facts->physical_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * facts->page_bytes;
    torc_clock_init(&facts->clock);
    facts->poller_cpu = -1;
    int cpus[TORC_CPUS_MAX];
    if (settings->poller_cpus[0] != '\0' &&
        torc_placement_parse_cpus(settings->poller_cpus, cpus, TORC_CPUS_MAX) > 0) {
        facts->poller_cpu = cpus[0];
    }
    /* Without it INFO shows 0: not worth failing for. */
    facts->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    return 0;
}

uint64_t torc_facts_resident_bytes(const struct torc_facts *facts)
{
    char line[128];
    ssize_t n = facts->statm_fd >= 0 ? pread(facts->statm_fd, line, sizeof line - 1, 0) : -1;
    if (n <= 0) {
        return 0;
    }
    line[n] = '\0';
    char *end;
    (void)strtoull(line, &end, 10); /* total pages; resident ones follow */
    return strtoull(end, NULL, 10) * facts->page_bytes;
}

static int make_arena(struct torc_service *service, const struct torc_settings *settings,
                      char why[TORC_OPTION_ERROR_BYTES])
{
    uint64_t random[4];
    if (fill_random(random, sizeof random) != 0) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "the kernel gives no random numbers");
        return -EINVAL;
    }
    service->random_seed = random[2];
    service->evictor = (struct torc_evictor){
        .policy = (enum torc_evict_policy)settings->maxmemory_policy,
        .samples = (unsigned)settings->maxmemory_samples,
        .place = random[3],
    };
    int cpu = service->facts.poller_cpu;
    struct torc_arena_options options = {
        .region =
            {
                .name = "torc-arena-0",
                .capacity = torc_settings_arena_capacity(settings, service->facts.physical_bytes),
                .huge = (enum torc_huge_policy)settings->huge_pages,
                .numa_node = cpu >= 0 ? torc_placement_node_of_cpu(cpu) : -1,
                .prefault = settings->realtime,
                .lock = settings->realtime,
            },
        .limit = settings->maxmemory,
        .hash_seed = random[0],
        .epoch = random[1] | 1, /* a client takes 0 for "none yet" */
    };
    int rc = torc_arena_create(&options, &service->arena);
    if (rc != 0) {
        const char *hint = rc == -ENOSPC   ? ": not enough huge pages (huge-pages yes)"
                           : rc == -ENOMEM ? ": the kernel gives no memory"
                                           : "";
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "cannot make an arena of %llu MiB%s",
                       (unsigned long long)(options.region.capacity / TORC_MIB), hint);
    }
    return rc;
}

int torc_service_init(struct torc_service *service, const struct torc_settings *settings,
                      struct torc_shared *shared, const char *config_file,
                      char why[TORC_OPTION_ERROR_BYTES])
{
    *service = (struct torc_service){
        .settings = settings,
        .shared = shared,
        .limits = torc_settings_hash_limits(settings),
        .facts = {.statm_fd = -1},
    };
    int rc = fill_facts(&service->facts, settings, config_file);
    if (rc != 0) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "the kernel gives no random numbers");
        goto out_fini;
    }
    rc = make_arena(service, settings, why);
    if (rc != 0) {
        goto out_fini;
    }
    rc = torc_keyspace_open(service->arena, 0, &service->limits, &service->keyspace);
    if (rc != 0) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES,
                       "maxmemory is too small for an empty keyspace");
        goto out_fini;
    }
    torc_keyspace_set_time(service->keyspace, torc_clock_wall_ms());
    service->startup_bytes = torc_arena_used(service->arena);
    return 0;

out_fini:
    torc_service_fini(service);
    return rc;
}

void torc_service_fini(struct torc_service *service)
{
    if (service->keyspace != NULL) {
        torc_keyspace_close(service->keyspace);
    }
    torc_arena_destroy(service->arena);
    if (service->facts.statm_fd > 0) {
        (void)close(service->facts.statm_fd);
    }
    free(service->slices.items);
    free(service->values.items);
    torc_text_fini(&service->text);
    *service = (struct torc_service){.facts = {.statm_fd = -1}};
}
