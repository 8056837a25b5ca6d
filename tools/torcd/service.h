/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands act on: one shard's data with the counters of its poller, and the facts about the
 * server that INFO shows.
 *
 * Threads: everything belongs to the poller, but for `shared`, whose words are atomic, and
 * `settings` and `facts`, which are constant once the poller runs.
 */
#ifndef TORC_TORCD_SERVICE_H
#define TORC_TORCD_SERVICE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/clock.h"
#include "hash/evict.h"
#include "hash/keyspace.h"
#include "ring/ops.h"
#include "tools/torcd/errors.h"
#include "tools/torcd/realtime.h"
#include "tools/torcd/settings.h"
#include "tools/torcd/text.h"

/* The level of Redis that clients may rely on, as HELLO and INFO tell it. */
#define TORC_REDIS_VERSION "7.2.4"

#define TORC_RUN_ID_BYTES 41u /* 40 hex digits */

/* Constant after start. */
struct torc_facts {
    pid_t pid;
    uint64_t start_wall_ms;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    char run_id[TORC_RUN_ID_BYTES];
    char config_file[TORC_SETTINGS_PATH_BYTES];
    uint64_t physical_bytes;
    int poller_cpu;      /* -1: not pinned */
    const char *pin_why; /* why not pinned though wanted, or NULL */
    struct torc_realtime realtime;
    struct torc_clock clock;
    uint64_t page_bytes;
    int statm_fd; /* /proc/self/statm, -1 none */
};

/* Words that the control thread and the poller both touch. Relaxed: each is only a count. */
struct torc_shared {
    _Atomic uint64_t connections_received;
    _Atomic uint64_t connections_rejected;
    _Atomic uint64_t connections_open; /* handed over and not yet closed */
    _Atomic uint64_t sessions_received;
    _Atomic uint64_t sessions_refused;
    _Atomic uint64_t sessions_half_open;
};

/* Ops of the ring have their numbers; commands that only the gateway has stand behind. */
enum torc_gateway_op {
    TORC_GATEWAY_HELLO = TORC_OP_LIMIT,
    TORC_GATEWAY_CLIENT_ID,
    TORC_GATEWAY_CLIENT_GETNAME,
    TORC_GATEWAY_CLIENT_SETNAME,
    TORC_GATEWAY_CLIENT_SETINFO,
    TORC_GATEWAY_END,
};
#define TORC_COMMAND_LIMIT 256u /* any op byte of a ring request is below */
static_assert((unsigned)TORC_GATEWAY_END <= TORC_COMMAND_LIMIT, "numbers are bytes");

/* Number 0 is no command: it stands for calls that were refused before they had one. */
struct torc_command_stats {
    uint64_t calls;
    uint64_t rejected; /* arity */
    uint64_t failed;   /* error replies of calls */
    uint64_t samples;  /* one call in TORC_STATS_SAMPLE is timed */
    uint64_t sample_ticks;
};

#define TORC_STATS_SAMPLE 16u

struct torc_stats {
    struct torc_command_stats commands[TORC_COMMAND_LIMIT];
    uint64_t faults[TORC_FAULT_COUNT];
    uint64_t commands_total;  /* since the start: never falls */
    uint64_t commands_before; /* CONFIG RESETSTAT: these are not shown */
    uint64_t ring_requests;
    uint64_t hits;   /* reads that found what they asked for */
    uint64_t misses; /* and those that did not */
    uint64_t net_input_bytes;
    uint64_t net_output_bytes;
    uint64_t ring_stalls;     /* visits that ended because a client takes no replies */
    uint64_t ring_dropped;    /* sessions closed for a broken rule or an overdue reply */
    uint64_t doorbells_muted; /* for a second, because they rang for nothing all the time */
    uint64_t resp_dropped;    /* connections closed for a limit or a protocol error */
    uint64_t evicted_before;  /* CONFIG RESETSTAT: these are not shown */
    uint64_t expired_keys_before;
    uint64_t expired_fields_before;
    uint64_t expired_in_passing_before;
    uint64_t used_peak;
    uint64_t sleeps;      /* times the poller slept */
    uint64_t ops_per_sec; /* over the last full second */
};

/* Gauges that the poller keeps. */
struct torc_gauges {
    uint64_t connections;
    uint64_t connection_bytes; /* buffers */
    uint64_t sessions;
    uint64_t sessions_hot;
    uint64_t session_bytes;
};

/* A growing array of slices: scratch for replies with several values. */
struct torc_slices {
    struct torc_slice *items;
    size_t n;
    size_t cap;
};

/* A growing array of values that were read: scratch, too. */
struct torc_values {
    struct torc_value *items;
    size_t cap;
};

struct torc_service {
    const struct torc_settings *settings;
    struct torc_arena *arena;
    struct torc_keyspace *keyspace;
    struct torc_hash_limits limits;
    struct torc_evictor evictor;
    uint64_t startup_bytes;  /* in use when there was no key yet */
    uint64_t optimize_units; /* of work left for TORC.OPTIMIZE */
    struct torc_facts facts;
    struct torc_shared *shared;
    struct torc_stats stats;
    struct torc_gauges gauges;
    bool fits_cache; /* the data does, as of the poller's last upkeep: no prefetching, which would
                        cost more than it saves */
    uint64_t random_seed; /* torc_random_start() */
    struct torc_slices slices;
    struct torc_values values;
    struct torc_text text;
};

/* Make arena and keyspace as the settings say; seeds come from the kernel. `settings` and `shared`
 * are borrowed for the service's life. Facts about this process are filled in; `config_file` (may
 * be NULL) is copied. Caller's storage. -ENOMEM, -ENOSPC, -EINVAL, with a text in `why`. */
int torc_service_init(struct torc_service *service, const struct torc_settings *settings,
                      struct torc_shared *shared, const char *config_file,
                      char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* Frees all; fine on an all-zero one. */
void torc_service_fini(struct torc_service *service);

/* Resident bytes of the process, as the kernel counts them; 0 when it does not tell. A syscall. */
uint64_t torc_facts_resident_bytes(const struct torc_facts *facts);

/* Make room for n items in all; contents stay. False: no memory. */
bool torc_slices_reserve(struct torc_slices *slices, size_t n) TORC_MUST_USE;

/* Make room for n values, whose contents are undefined. False: no memory, and those there were
 * stay. */
bool torc_values_reserve(struct torc_values *values, size_t n) TORC_MUST_USE;

#endif
