/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/info.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/torcd/commands_private.h"

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static const char *yes_no(bool yes)
{
    return yes ? "yes" : "no";
}

/* Why something is not as it was wanted, if it is not. */
static void add_reason(struct torc_text *text, const char *name, const char *why)
{
    if (why != NULL) {
        torc_text_add(text, "%s:%s\r\n", name, why);
    }
}

static void write_server(const struct torc_service *service, struct torc_text *text)
{
    static const char *const mode_names[] = {"busy", "adaptive", "yield"};
    const struct torc_facts *facts = &service->facts;
    const struct torc_region_report *report = &service->arena->region.report;
    uint64_t uptime_s = (torc_clock_monotonic_ns() - facts->start_ns) / 1000000000u;
    struct utsname name;
    bool has_name = uname(&name) == 0;

    torc_text_add(text,
                  "# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\n"
                  "server_name:torc\r\ntorc_version:%s\r\n",
                  TORC_REDIS_VERSION, TORC_VERSION);
    torc_text_add(text, "os:%s %s %s\r\narch_bits:64\r\n", has_name ? name.sysname : "unknown",
                  has_name ? name.release : "", has_name ? name.machine : "");
    torc_text_add(text, "process_id:%ld\r\nrun_id:%s\r\ntcp_port:%" PRId64 "\r\n", (long)facts->pid,
                  facts->run_id, service->settings->port);
    torc_text_add(text,
                  "server_time_usec:%" PRIu64 "\r\nuptime_in_seconds:%" PRIu64
                  "\r\nuptime_in_days:%" PRIu64 "\r\n",
                  torc_clock_wall_us(), uptime_s, uptime_s / 86400);
    torc_text_add(text, "config_file:%s\r\ncontrol_socket:%s\r\n", facts->config_file,
                  service->settings->control_socket);
    torc_text_add(text, "epoch:%016" PRIx64 "\r\nshards:1\r\npoll_mode:%s\r\npoller_cpu:%d\r\n",
                  torc_arena_epoch(service->arena), mode_names[service->settings->poll_mode],
                  facts->poller_cpu);
    add_reason(text, "poller_cpu_why", facts->pin_why);
    torc_text_add(text, "clock:%s\r\n", facts->clock.is_tsc ? "tsc" : "monotonic");
    torc_text_add(text, "huge_pages:%s\r\n", torc_page_kind_name(report->pages));
    add_reason(text, "huge_pages_why", report->pages_why);
    torc_text_add(text, "numa_node:%d\r\n", report->numa_node);
    add_reason(text, "numa_node_why", report->numa_why);
    torc_text_add(text, "memory_locked:%s\r\n", yes_no(report->locked));
    add_reason(text, "memory_locked_why", report->lock_why);
    torc_text_add(text, "realtime:%s\r\nprocess_locked:%s\r\n", yes_no(service->settings->realtime),
                  yes_no(facts->realtime.is_locked));
    add_reason(text, "process_locked_why", facts->realtime.why);
}

static void write_clients(const struct torc_service *service, struct torc_text *text)
{
    const struct torc_shared *shared = service->shared;
    torc_text_add(text,
                  "# Clients\r\nconnected_clients:%" PRIu64 "\r\ncluster_connections:0\r\n"
                  "maxclients:%" PRId64 "\r\nblocked_clients:0\r\n",
                  service->gauges.connections, service->settings->maxclients);
    torc_text_add(text,
                  "ring_sessions:%" PRIu64 "\r\nring_sessions_hot:%" PRIu64
                  "\r\nring_sessions_half_open:%" PRIu64 "\r\nmax_sessions:%" PRId64 "\r\n",
                  service->gauges.sessions, service->gauges.sessions_hot,
                  load(&shared->sessions_half_open), service->settings->max_sessions);
}

static void write_memory(const struct torc_service *service, struct torc_text *text)
{
    const struct torc_arena *arena = service->arena;
    uint64_t used = torc_arena_used(arena);
    uint64_t resident = torc_facts_resident_bytes(&service->facts);
    uint64_t peak = torc_max_u64(used, service->stats.used_peak);
    uint64_t index = torc_arena_used_by(arena, TORC_USE_INDEX);
    uint64_t buffers = service->gauges.connection_bytes + service->gauges.session_bytes;
    double ratio = used != 0 ? (double)resident / (double)used : 0;

    torc_text_add(text,
                  "# Memory\r\nused_memory:%" PRIu64 "\r\nused_memory_human:%.2fM\r\n"
                  "used_memory_rss:%" PRIu64 "\r\nused_memory_peak:%" PRIu64 "\r\n",
                  used, (double)used / (double)TORC_MIB, resident, peak);
    torc_text_add(text,
                  "used_memory_overhead:%" PRIu64 "\r\nused_memory_dataset:%" PRIu64
                  "\r\ntotal_system_memory:%" PRIu64 "\r\n",
                  index, used - index, service->facts.physical_bytes);
    torc_text_add(text,
                  "maxmemory:%" PRIu64 "\r\nmaxmemory_policy:%s\r\n"
                  "mem_fragmentation_ratio:%.2f\r\nmem_allocator:torc-arena\r\n",
                  torc_arena_limit(arena), torc_settings_policy_name(service->settings), ratio);
    torc_text_add(text,
                  "arena_committed:%" PRIu64 "\r\narena_index:%" PRIu64 "\r\narena_roots:%" PRIu64
                  "\r\narena_segments:%" PRIu64 "\r\narena_extents:%" PRIu64 "\r\n",
                  torc_arena_committed(arena), index, torc_arena_used_by(arena, TORC_USE_ROOT),
                  torc_arena_used_by(arena, TORC_USE_SEGMENT),
                  torc_arena_used_by(arena, TORC_USE_EXTENT));
    torc_text_add(text,
                  "mem_clients_normal:%" PRIu64 "\r\nring_session_memory:%" PRIu64
                  "\r\nmem_buffers:%" PRIu64 "\r\n",
                  service->gauges.connection_bytes, service->gauges.session_bytes, buffers);
}

/* Nothing is persisted; clients wait for loading:0. */
static void write_persistence(const struct torc_service *service, struct torc_text *text)
{
    (void)service;
    torc_text_add(text, "# Persistence\r\nloading:0\r\nasync_loading:0\r\n"
                        "rdb_bgsave_in_progress:0\r\nrdb_last_save_time:0\r\n"
                        "rdb_last_bgsave_status:ok\r\naof_enabled:0\r\n");
}

static uint64_t count_errors(const struct torc_stats *stats)
{
    uint64_t n = 0;
    for (unsigned fault = TORC_FAULT_NONE + 1; fault < TORC_FAULT_COUNT; fault++) {
        n += stats->faults[fault];
    }
    return n;
}

/* Commands run in the poller's thread, so these are its own: page faults since it was started. */
static void write_faults(struct torc_text *text)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    torc_text_add(text, "poller_faults:%ld\r\npoller_major_faults:%ld\r\n",
                  usage.ru_minflt + usage.ru_majflt, usage.ru_majflt);
}

/* How long what is removed next has been past: 0 when nothing is left to remove. */
static uint64_t expiry_backlog_ms(const struct torc_service *service)
{
    uint64_t now = torc_keyspace_time(service->keyspace);
    return now - torc_min_u64(now, torc_keyspace_next_due(service->keyspace));
}

static void write_stats(const struct torc_service *service, struct torc_text *text)
{
    const struct torc_stats *stats = &service->stats;
    const struct torc_shared *shared = service->shared;
    torc_text_add(text,
                  "# Stats\r\ntotal_connections_received:%" PRIu64
                  "\r\ntotal_commands_processed:%" PRIu64 "\r\ninstantaneous_ops_per_sec:%" PRIu64
                  "\r\n",
                  load(&shared->connections_received),
                  stats->commands_total - stats->commands_before, stats->ops_per_sec);
    torc_text_add(text,
                  "total_net_input_bytes:%" PRIu64 "\r\ntotal_net_output_bytes:%" PRIu64
                  "\r\nrejected_connections:%" PRIu64 "\r\n",
                  stats->net_input_bytes, stats->net_output_bytes,
                  load(&shared->connections_rejected));
    struct torc_expiry_facts expiry;
    torc_keyspace_expiry_facts(service->keyspace, &expiry);
    torc_text_add(text,
                  "expired_keys:%" PRIu64 "\r\nevicted_keys:%" PRIu64 "\r\nexpired_subkeys:%" PRIu64
                  "\r\nexpired_subkeys_active:%" PRIu64 "\r\n",
                  expiry.expired_keys - stats->expired_keys_before,
                  service->evictor.n_keys - stats->evicted_before,
                  expiry.expired_fields + expiry.expired_fields_in_passing -
                      stats->expired_fields_before - stats->expired_in_passing_before,
                  expiry.expired_fields - stats->expired_fields_before);
    torc_text_add(text, "expiry_backlog_ms:%" PRIu64 "\r\n", expiry_backlog_ms(service));
    torc_text_add(text,
                  "keyspace_hits:%" PRIu64 "\r\nkeyspace_misses:%" PRIu64
                  "\r\ntotal_error_replies:%" PRIu64 "\r\n",
                  stats->hits, stats->misses, count_errors(stats));
    torc_text_add(text,
                  "client_limit_disconnections:%" PRIu64 "\r\ntotal_ring_requests:%" PRIu64
                  "\r\ntotal_ring_sessions:%" PRIu64 "\r\n",
                  stats->resp_dropped, stats->ring_requests, load(&shared->sessions_received));
    torc_text_add(text,
                  "ring_sessions_refused:%" PRIu64 "\r\nring_sessions_dropped:%" PRIu64
                  "\r\nring_stalls:%" PRIu64 "\r\nring_doorbells_muted:%" PRIu64
                  "\r\npoller_sleeps:%" PRIu64 "\r\n",
                  load(&shared->sessions_refused), stats->ring_dropped, stats->ring_stalls,
                  stats->doorbells_muted, stats->sleeps);
    write_faults(text);
}

static void write_replication(const struct torc_service *service, struct torc_text *text)
{
    torc_text_add(text,
                  "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
                  "master_replid:%s\r\nmaster_repl_offset:0\r\n",
                  service->facts.run_id);
}

static void write_cpu(const struct torc_service *service, struct torc_text *text)
{
    (void)service;
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    torc_text_add(text, "# CPU\r\nused_cpu_sys:%ld.%06ld\r\nused_cpu_user:%ld.%06ld\r\n",
                  (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec,
                  (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec);
}

static void write_commandstats(const struct torc_service *service, struct torc_text *text)
{
    const struct torc_clock *clock = &service->facts.clock;
    torc_text_add(text, "# Commandstats\r\n");
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        const struct torc_command_stats *s = &service->stats.commands[op];
        if (torc_command_name(op) == NULL || (s->calls == 0 && s->rejected == 0)) {
            continue;
        }
        /* One call in TORC_STATS_SAMPLE was timed: the rest is taken to be like them. */
        double sampled_us = (double)torc_clock_ns(clock, s->sample_ticks) / 1000;
        double per_call = s->samples != 0 ? sampled_us / (double)s->samples : 0;
        torc_text_add(text,
                      "cmdstat_%s:calls=%" PRIu64
                      ",usec=%.0f,usec_per_call=%.2f,rejected_calls=%" PRIu64
                      ",failed_calls=%" PRIu64 "\r\n",
                      torc_command_name(op), s->calls, per_call * (double)s->calls, per_call,
                      s->rejected, s->failed);
    }
}

static void write_errorstats(const struct torc_service *service, struct torc_text *text)
{
    static const char *const prefixes[] = {"ERR", "WRONGTYPE", "OOM", "NOPROTO", "WRONGPASS"};
    torc_text_add(text, "# Errorstats\r\n");
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        uint64_t n = 0;
        size_t len = strlen(prefixes[p]);
        for (unsigned fault = TORC_FAULT_NONE + 1; fault < TORC_FAULT_COUNT; fault++) {
            char buffer[TORC_FAULT_TEXT_BYTES];
            struct torc_slice what = torc_fault_text((enum torc_fault)fault, torc_slice_str(""),
                                                     torc_slice_str(""), buffer);
            bool is_it =
                what.len > len && memcmp(what.data, prefixes[p], len) == 0 && what.data[len] == ' ';
            n += is_it ? service->stats.faults[fault] : 0;
        }
        if (n != 0) {
            torc_text_add(text, "errorstat_%s:count=%" PRIu64 "\r\n", prefixes[p], n);
        }
    }
}

static void write_cluster(const struct torc_service *service, struct torc_text *text)
{
    (void)service;
    torc_text_add(text, "# Cluster\r\ncluster_enabled:0\r\n");
}

static void write_keyspace(const struct torc_service *service, struct torc_text *text)
{
    uint64_t keys = torc_keyspace_count(service->keyspace);
    torc_text_add(text, "# Keyspace\r\n");
    if (keys != 0) {
        struct torc_expiry_facts expiry;
        torc_keyspace_expiry_facts(service->keyspace, &expiry);
        torc_text_add(text,
                      "db0:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=%" PRIu64
                      ",subexpiry=%" PRIu64 "\r\n",
                      keys, expiry.n_keys, expiry.average_ttl_ms, expiry.n_hashes);
    }
}

static const struct section {
    const char *name;
    bool is_default;
    void (*write)(const struct torc_service *service, struct torc_text *text);
} sections[] = {
    {"server", true, write_server},
    {"clients", true, write_clients},
    {"memory", true, write_memory},
    {"persistence", true, write_persistence},
    {"stats", true, write_stats},
    {"replication", true, write_replication},
    {"cpu", true, write_cpu},
    {"commandstats", false, write_commandstats},
    {"errorstats", true, write_errorstats},
    {"cluster", true, write_cluster},
    {"keyspace", true, write_keyspace},
};

static bool is_wanted(const struct section *section, const struct torc_slice *words, uint32_t n)
{
    if (n == 0) {
        return section->is_default;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (torc_word_is(words[i], section->name) || torc_word_is(words[i], "all") ||
            torc_word_is(words[i], "everything") ||
            (section->is_default && torc_word_is(words[i], "default"))) {
            return true;
        }
    }
    return false;
}

void torc_info_write(const struct torc_service *service, const struct torc_slice *words, uint32_t n,
                     struct torc_text *text)
{
    bool is_first = true;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!is_wanted(&sections[i], words, n)) {
            continue;
        }
        if (!is_first) {
            torc_text_add(text, "\r\n");
        }
        sections[i].write(service, text);
        is_first = false;
    }
}
