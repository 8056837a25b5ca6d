/* SPDX-License-Identifier: Apache-2.0
 *
 * MEMORY, and TORC.OPTIMIZE, which makes memory compact.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/segment.h"
#include "hash/census.h"
#include "tools/torcd/commands_private.h"
#include "tools/torcd/random.h"

/* Keys that MEMORY STATS looks at, at most: below a millisecond. */
#define CENSUS_KEYS 1024u
/* TORC.OPTIMIZE may take so many units of work for each KiB: where others write all the time it
 * would never come to an end. */
#define OPTIMIZE_UNITS 4u

void torc_command_memory_usage(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    for (uint32_t i = 1; i < request->n_strings; i += 2) {
        int64_t samples;
        if (!torc_word_is(request->strings[i], "samples") || i + 1 == request->n_strings) {
            torc_sink_fault(call->sink, TORC_FAULT_SYNTAX);
            return;
        }
        /* The answer is exact without samples; the number is checked for form. */
        if (!torc_word_integer(request->strings[i + 1], &samples)) {
            torc_sink_fault(call->sink, TORC_FAULT_NOT_INTEGER);
            return;
        }
        if (samples < 0) {
            torc_sink_fault(call->sink, TORC_FAULT_SYNTAX);
            return;
        }
    }
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    uint64_t bytes = torc_keyspace_usage(service->keyspace, &call->key);
    if (bytes == 0) {
        torc_sink_null(call->sink);
    } else {
        torc_sink_integer(call->sink, (int64_t)bytes);
    }
}

/* --- MEMORY STATS --- */

struct fact {
    const char *name;
    bool is_ratio;
    uint64_t number;
    double ratio;
};

static struct fact whole(const char *name, uint64_t number)
{
    return (struct fact){.name = name, .number = number};
}

static struct fact ratio(const char *name, double part, double all)
{
    return (struct fact){.name = name, .is_ratio = true, .ratio = all != 0 ? part / all : 0};
}

static void give_fact(struct torc_call *call, const struct fact *fact)
{
    char text[40];
    torc_sink_item(call->sink, torc_slice_str(fact->name));
    if (!fact->is_ratio && !call->sink->is_flat) {
        torc_sink_integer(call->sink, (int64_t)fact->number);
        return;
    }
    int len = fact->is_ratio ? snprintf(text, sizeof text, "%.6g", fact->ratio)
                             : snprintf(text, sizeof text, "%" PRIu64, fact->number);
    torc_sink_item(call->sink, torc_slice_of(text, (size_t)len));
}

/* Redis has the index of a database in a map of its own; a ring's replies do not nest. */
static void give_database(struct torc_call *call, uint64_t index)
{
    struct fact fact = whole("db.0.overhead.hashtable.main", index);
    if (!call->sink->is_flat) {
        torc_sink_item(call->sink, torc_slice_str("db.0"));
        torc_sink_pairs(call->sink, 1);
        fact.name = "overhead.hashtable.main";
    }
    give_fact(call, &fact);
}

void torc_command_memory_stats(struct torc_service *service, struct torc_call *call)
{
    struct torc_arena *arena = service->arena;
    const struct torc_stream *shared = torc_stream_shared(arena);
    const struct torc_gauges *gauges = &service->gauges;
    struct torc_random random = torc_random_start(service);
    const struct torc_census census =
        torc_keyspace_census(service->keyspace, CENSUS_KEYS, torc_random_next(&random));
    const uint64_t used = torc_arena_used(arena);
    const uint64_t committed = torc_arena_committed(arena);
    const uint64_t resident = torc_facts_resident_bytes(&service->facts);
    const uint64_t index = torc_arena_used_by(arena, TORC_USE_INDEX);
    const uint64_t roots = torc_arena_used_by(arena, TORC_USE_ROOT);
    const uint64_t buffers = gauges->connection_bytes + gauges->session_bytes;
    const uint64_t peak = torc_max_u64(used, service->stats.used_peak);
    const uint64_t dataset = used - index - roots;
    const struct fact facts[] = {
        whole("peak.allocated", peak),
        whole("total.allocated", used),
        whole("startup.allocated", service->startup_bytes),
        whole("clients.normal", gauges->connection_bytes),
        whole("overhead.total", index + roots + buffers),
        whole("keys.count", census.n_keys),
        whole("keys.bytes-per-key",
              census.n_keys != 0 ? (used - service->startup_bytes) / census.n_keys : 0),
        whole("dataset.bytes", dataset),
        ratio("dataset.percentage", 100 * (double)dataset, (double)used),
        ratio("peak.percentage", 100 * (double)used, (double)peak),
        whole("allocator.allocated", used),
        whole("allocator.active", committed),
        whole("allocator.resident", resident),
        ratio("allocator-fragmentation.ratio", (double)committed, (double)used),
        whole("allocator-fragmentation.bytes", committed - torc_min_u64(used, committed)),
        ratio("fragmentation", (double)resident, (double)used),
        whole("torc.index.bytes", index),
        whole("torc.roots.bytes", roots),
        whole("torc.segments.bytes", torc_arena_used_by(arena, TORC_USE_SEGMENT)),
        whole("torc.extents.bytes", torc_arena_used_by(arena, TORC_USE_EXTENT)),
        whole("torc.shared-records.live.bytes", shared->live),
        whole("torc.shared-records.dead.bytes", shared->dead),
        whole("torc.compact.keys", census.n_compact),
        whole("torc.compact.bytes", census.compact_bytes),
        whole("torc.compact.slack.bytes", census.slack_bytes),
        whole("torc.full.keys", census.n_full),
        whole("torc.full.bytes", census.full_bytes),
        whole("torc.keys.looked-at", census.n_looked_at),
        whole("torc.connections.count", gauges->connections),
        whole("torc.sessions.count", gauges->sessions),
        whole("torc.sessions.bytes", gauges->session_bytes),
    };
    const uint32_t n = sizeof facts / sizeof facts[0];
    torc_sink_pairs(call->sink, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        give_fact(call, &facts[i]);
    }
    give_database(call, index);
}

/* --- MEMORY DOCTOR --- */

#define SMALL_BYTES (5 * TORC_MIB)

static void advise(struct torc_service *service, struct torc_text *text)
{
    struct torc_arena *arena = service->arena;
    const struct torc_settings *settings = service->settings;
    const struct torc_region_report *report = &arena->region.report;
    uint64_t used = torc_arena_used(arena);
    uint64_t limit = torc_arena_limit(arena);
    uint64_t peak = torc_max_u64(used, service->stats.used_peak);
    uint64_t dead = torc_stream_shared(arena)->dead;
    uint64_t buffers = service->gauges.connection_bytes + service->gauges.session_bytes;
    if (limit == 0) {
        torc_text_add(text, "* There is no maxmemory: data may grow until the machine has no "
                            "memory left. Set maxmemory.\n");
    }
    if (limit != 0 && service->evictor.policy == TORC_EVICT_NEVER && used > limit / 10 * 9) {
        torc_text_add(text, "* More than 90 %% of maxmemory is in use, and with noeviction writes "
                            "will be refused at the limit. Raise maxmemory, or remove keys.\n");
    }
    if (dead > used / 4 && dead > TORC_MIB) {
        torc_text_add(text,
                      "* %" PRIu64 " bytes are of records that were changed or removed, more "
                      "than a quarter of all. They are cleaned up in time; TORC.OPTIMIZE ALL "
                      "does it sooner.\n",
                      dead);
    }
    if (used < peak / 3 * 2) {
        torc_text_add(text,
                      "* Memory in use was %" PRIu64 " bytes once, half as much again as "
                      "now or more. What is free goes back to the kernel in quiet times.\n",
                      peak);
    }
    if (buffers > used) {
        torc_text_add(text,
                      "* Buffers of clients and rings take more memory than the data: %" PRIu64
                      " bytes. Fewer sessions, or smaller areas (ring-area-bytes), take "
                      "less.\n",
                      buffers);
    }
    if (settings->huge_pages != TORC_HUGE_NO && report->pages == TORC_PAGES_4K) {
        torc_text_add(text, "* Data are in 4 KiB pages, which cost time for each access: %s.\n",
                      report->pages_why != NULL ? report->pages_why : "no huge pages");
    }
    if (settings->realtime && !report->locked) {
        torc_text_add(text, "* realtime is yes, but memory is not locked: %s.\n",
                      report->lock_why != NULL ? report->lock_why : "the kernel refused it");
    }
}

void torc_command_memory_doctor(struct torc_service *service, struct torc_call *call)
{
    struct torc_text *text = &service->text;
    torc_text_reset(text);
    advise(service, text);
    if (text->len == 0 && !text->failed) {
        bool is_small = torc_arena_used(service->arena) < SMALL_BYTES;
        torc_text_add(text, is_small ? "There is next to nothing in memory, and nothing wrong.\n"
                                     : "Nothing is wrong with memory.\n");
    }
    if (text->failed) {
        torc_sink_fault(call->sink, TORC_FAULT_OUT_OF_MEMORY);
    } else {
        torc_sink_prose(call->sink, torc_text_slice(text));
    }
}

/* --- TORC.OPTIMIZE --- */

void torc_command_optimize(struct torc_service *service, struct torc_call *call)
{
    if (torc_word_is(call->request.strings[0], "all")) {
        struct torc_random random = torc_random_start(service);
        struct torc_census census =
            torc_keyspace_census(service->keyspace, CENSUS_KEYS, torc_random_next(&random));
        uint64_t bytes = census.slack_bytes + torc_stream_shared(service->arena)->dead;
        torc_keyspace_optimize_all(service->keyspace);
        service->optimize_units = torc_arena_used(service->arena) / TORC_KIB * OPTIMIZE_UNITS;
        torc_sink_integer(call->sink, (int64_t)bytes);
        return;
    }
    bool is_later = false;
    int64_t won = torc_keyspace_optimize(service->keyspace, &call->key, &is_later);
    if (won < 0) {
        torc_sink_null(call->sink);
        return;
    }
    if (is_later) {
        service->optimize_units =
            torc_max_u64(service->optimize_units, (uint64_t)won / TORC_KIB * OPTIMIZE_UNITS);
    }
    torc_sink_integer(call->sink, won);
}
