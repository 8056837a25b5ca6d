/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/settings.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "core/placement.h"
#include "core/region.h"
#include "hash/press.h"
#include "ring/session.h"

/* Redis's words, so that a redis.conf is understood and refused for the right reason. */
static const char *const policy_words[] = {
    "noeviction",   "allkeys-random", "allkeys-lru",     "allkeys-lfu", "volatile-lru",
    "volatile-lfu", "volatile-ttl",   "volatile-random", NULL,
};
static_assert(TORC_EVICT_NEVER == 0 && TORC_EVICT_RANDOM == 1 && TORC_EVICT_LRU == 2,
              "order of policy_words");
static const char *const poll_words[] = {"busy", "adaptive", "yield", NULL};
static const char *const huge_words[] = {"no", "try", "yes", NULL};
static const char *const level_words[] = {"debug", "verbose", "notice", "warning", NULL};
static_assert(TORC_HUGE_NO == 0 && TORC_HUGE_TRY == 1 && TORC_HUGE_YES == 2, "order of huge_words");
static_assert(TORC_POLL_BUSY == 0 && TORC_POLL_ADAPTIVE == 1 && TORC_POLL_YIELD == 2,
              "order of poll_words");
static_assert(TORC_LOG_DEBUG == 0 && TORC_LOG_WARNING == 3, "order of level_words");

/* --- what is wrong with one value --- */

static bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

#define ADDRESSES_MAX (sizeof(((struct torc_settings *)NULL)->bind) / 2)

/* An address of `bind` in binary: its family and its bytes; * is all of IPv4. False: it is none. */
static bool parse_address(const char *word, uint8_t address[1 + sizeof(struct in6_addr)])
{
    memset(address, 0, 1 + sizeof(struct in6_addr));
    address[0] = AF_INET;
    if (strcmp(word, "*") == 0 || inet_pton(AF_INET, word, address + 1) == 1) {
        return true;
    }
    address[0] = AF_INET6;
    return inet_pton(AF_INET6, word, address + 1) == 1;
}

static const char *fault_of_addresses(const char *text)
{
    static const uint8_t all[4];
    char words[sizeof(((struct torc_settings *)NULL)->bind)];
    uint8_t addresses[ADDRESSES_MAX][1 + sizeof(struct in6_addr)];
    size_t n = 0;
    char *rest = NULL;
    (void)snprintf(words, sizeof words, "%s", text);
    for (const char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (!parse_address(word, addresses[n])) {
            return "is not an IPv4 or IPv6 address, *, or a list of these";
        }
        for (size_t i = 0; i < n; i++) {
            bool is_v4 = addresses[i][0] == AF_INET && addresses[n][0] == AF_INET;
            if (memcmp(addresses[i], addresses[n], sizeof addresses[0]) == 0) {
                return "names an address twice";
            }
            if (is_v4 &&
                (memcmp(addresses[i] + 1, all, 4) == 0 || memcmp(addresses[n] + 1, all, 4) == 0)) {
                return "names all addresses, and one of them again";
            }
        }
        n++;
    }
    return NULL;
}

static const char *fault_of_mode(const char *text)
{
    size_t len = strlen(text);
    return len <= 4 && strspn(text, "01234567") == len ? NULL : "is not an octal mode such as 770";
}

static const char *fault_of_shards(const char *text)
{
    return strtoll(text, NULL, 10) == 1 ? NULL
                                        : "is not supported: this version serves all keys from one "
                                          "poller, set shards 1";
}

static const char *fault_of_databases(const char *text)
{
    return strtoll(text, NULL, 10) == 1 ? NULL
                                        : "is not supported: this version has database 0 only, set "
                                          "databases 1";
}

static const char *fault_of_cpus(const char *text)
{
    int cpus[TORC_CPUS_MAX];
    return text[0] == '\0' || torc_placement_parse_cpus(text, cpus, TORC_CPUS_MAX) >= 1
               ? NULL
               : "is not a list of CPUs such as 2 or 0,2-5";
}

static const char *fault_of_memory(const char *text)
{
    uint64_t bytes = 0;
    static_assert(TORC_ARENA_MAX_BYTES / 2 == 512 * TORC_GIB, "as the text says");
    if (torc_options_parse_bytes(text, &bytes) != 0 || bytes > TORC_ARENA_MAX_BYTES / 2) {
        return "is above 512gb, the most that one shard can hold";
    }
    return bytes == 0 || bytes >= TORC_MIB
               ? NULL
               : "is neither 0 nor 1mb or more, what an empty server takes";
}

static const char *fault_of_policy(const char *text)
{
    for (int i = 0; i <= TORC_EVICT_LRU; i++) {
        if (strcasecmp(text, policy_words[i]) == 0) {
            return NULL;
        }
    }
    return "is not supported: set noeviction, allkeys-lru or allkeys-random";
}

static const char *fault_of_compression(const char *text)
{
    long long bytes = strtoll(text, NULL, 10);
    static_assert(TORC_PRESS_TEXT_MIN == 64, "as the text says");
    return bytes == 0 || bytes >= TORC_PRESS_TEXT_MIN ? NULL : "is neither 0 nor 64 or more";
}

static const char *fault_of_slots(const char *text)
{
    return is_power_of_two(strtoull(text, NULL, 10)) ? NULL : "is not a power of two";
}

static const char *fault_of_area(const char *text)
{
    uint64_t bytes = 0;
    static_assert(TORC_AREA_BYTES_MAX == 64 * TORC_MIB, "as the text says");
    return torc_options_parse_bytes(text, &bytes) == 0 && is_power_of_two(bytes) &&
                   bytes >= 4 * TORC_KIB && bytes <= TORC_AREA_BYTES_MAX
               ? NULL
               : "is not a power of two from 4kb to 64mb";
}

#define AT(field)     .offset = offsetof(struct torc_settings, field)
#define IN(low, high) .min = (low), .max = (high)
#define TEXT(field)                                                                                \
    .kind = TORC_OPTION_TEXT, AT(field), .size = sizeof(((struct torc_settings *)NULL)->field)

static const char *const block_decides[] = {"blob", NULL};

static const struct torc_option table[] = {
    {.name = "port",
     .kind = TORC_OPTION_INT,
     AT(port),
     IN(0, 65535),
     .initial = "6379",
     .help = "TCP port for Redis clients; 0 = no TCP"},
    {.name = "bind",
     TEXT(bind),
     .fault = fault_of_addresses,
     .is_list = true,
     .initial = "127.0.0.1",
     .help = "addresses to listen on, separated by blanks; * = all IPv4"},
    {.name = "tcp-backlog",
     .kind = TORC_OPTION_INT,
     AT(tcp_backlog),
     IN(1, 65535),
     .initial = "511",
     .help = "length of the queue of connections not yet accepted"},
    {.name = "tcp-keepalive",
     .kind = TORC_OPTION_INT,
     AT(tcp_keepalive),
     IN(0, 32767),
     .initial = "300",
     .help = "seconds between probes of silent TCP connections; 0 = none"},
    {.name = "unixsocket",
     TEXT(unixsocket),
     .initial = "",
     .help = "path of a Unix socket for Redis clients; empty = none"},
    {.name = "unixsocketperm",
     TEXT(unixsocketperm),
     .fault = fault_of_mode,
     .initial = "",
     .help = "mode of that socket, octal; empty = as the umask says"},
    {.name = "control-socket",
     TEXT(control_socket),
     .initial = "",
     .help = "path of the socket where ring clients attach; mode 0660"},
    {.name = "control-socket-group",
     TEXT(control_socket_group),
     .initial = "",
     .help = "group of that socket; empty = the server's"},
    {.name = "shards",
     .kind = TORC_OPTION_INT,
     AT(shards),
     IN(1, 1024),
     .fault = fault_of_shards,
     .initial = "1",
     .help = "pollers, each with a shard of the keys; only 1 is supported"},
    {.name = "databases",
     .kind = TORC_OPTION_INT,
     AT(databases),
     IN(1, 16),
     .fault = fault_of_databases,
     .initial = "1",
     .help = "databases; only 1 is supported"},
    {.name = "poller-cpus",
     TEXT(poller_cpus),
     .fault = fault_of_cpus,
     .initial = "",
     .help = "CPU to pin the poller to, such as 3; empty = not pinned"},
    {.name = "poll-mode",
     .kind = TORC_OPTION_ENUM,
     AT(poll_mode),
     .words = poll_words,
     .initial = "adaptive",
     .help = "busy: always spins; adaptive: spins, then sleeps; yield: gives up the CPU"},
    {.name = "poll-spin-us",
     .kind = TORC_OPTION_INT,
     AT(poll_spin_us),
     IN(0, 1000000),
     .initial = "50",
     .help = "adaptive: microseconds without work before sleeping; up to 4 times that "
             "while sleeps are short"},
    {.name = "maxmemory",
     .kind = TORC_OPTION_BYTES,
     AT(maxmemory),
     .fault = fault_of_memory,
     .initial = "0",
     .help = "most bytes for data; 0 = bounded by the machine"},
    {.name = "maxmemory-policy",
     .kind = TORC_OPTION_ENUM,
     AT(maxmemory_policy),
     .words = policy_words,
     .fault = fault_of_policy,
     .initial = "noeviction",
     .help =
         "what to do at maxmemory: refuse writes (noeviction), or remove keys at random or those "
         "not used for long; the others are not supported"},
    {.name = "maxmemory-samples",
     .kind = TORC_OPTION_INT,
     AT(maxmemory_samples),
     IN(1, TORC_EVICT_SAMPLES_MAX),
     .initial = "5",
     .help = "allkeys-lru: how far to look for a key that was not used, 36 keys or so for each"},
    {.name = "huge-pages",
     .kind = TORC_OPTION_ENUM,
     AT(huge_pages),
     .words = huge_words,
     .initial = "try",
     .help = "2 MiB pages for data: yes = or do not start, try, no"},
    {.name = "realtime",
     .kind = TORC_OPTION_BOOL,
     AT(realtime),
     .initial = "no",
     .help = "take and lock all memory at start; needs maxmemory"},
    {.name = "realtime-buffers",
     .kind = TORC_OPTION_BYTES,
     AT(realtime_buffers),
     IN(TORC_MIB, 64 * TORC_GIB),
     .initial = "64mb",
     .help = "realtime: memory for buffers of clients, taken and locked at start beside maxmemory"},
    {.name = "hash-max-listpack-entries",
     .kind = TORC_OPTION_INT,
     AT(hash_max_listpack_entries),
     IN(0, INT32_MAX),
     .initial = "65535",
     .words = block_decides,
     .help = "most fields of a compact hash; 0 = never compact; 65535, or blob = its bytes decide"},
    {.name = "hash-listpack-max-entries", .alias_of = "hash-max-listpack-entries"},
    {.name = "hash-max-ziplist-entries", .alias_of = "hash-max-listpack-entries"},
    {.name = "hash-max-listpack-value",
     .kind = TORC_OPTION_INT,
     AT(hash_max_listpack_value),
     IN(0, INT32_MAX),
     .initial = "32767",
     .help = "longest field or value of a compact hash, bytes"},
    {.name = "hash-listpack-max-value", .alias_of = "hash-max-listpack-value"},
    {.name = "hash-max-ziplist-value", .alias_of = "hash-max-listpack-value"},
    {.name = "disable-encoding",
     .kind = TORC_OPTION_BOOL,
     AT(disable_encoding),
     .initial = "no",
     .help = "store values verbatim"},
    {.name = "value-compression-min-bytes",
     .kind = TORC_OPTION_INT,
     AT(value_compression_min_bytes),
     IN(0, TORC_PRESS_TEXT_MAX),
     .fault = fault_of_compression,
     .initial = "0",
     .help = "compress values of full hashes from this length on; 0 = none, else 64 or more"},
    {.name = "max-sessions",
     .kind = TORC_OPTION_INT,
     AT(max_sessions),
     IN(0, 65536),
     .initial = "1024",
     .help = "most ring sessions at a time"},
    {.name = "max-sessions-per-user",
     .kind = TORC_OPTION_INT,
     AT(max_sessions_per_user),
     IN(0, 65536),
     .initial = "0",
     .help = "most ring sessions of one user id; 0 = no such limit"},
    {.name = "session-long-message-max",
     .kind = TORC_OPTION_BYTES,
     AT(session_long_message_max),
     IN(4 * TORC_KIB, TORC_GIB),
     .initial = "64mb",
     .help = "longest request or reply of a ring session"},
    {.name = "session-stall-timeout",
     .kind = TORC_OPTION_INT,
     AT(session_stall_timeout),
     IN(0, 86400),
     .initial = "60",
     .help = "seconds before a ring client that takes no replies is cut; 0 = never"},
    {.name = "ring-slots",
     .kind = TORC_OPTION_INT,
     AT(ring_slots),
     IN(2, TORC_SLOTS_MAX),
     .fault = fault_of_slots,
     .initial = "256",
     .help = "default slots of a ring session, a power of two"},
    {.name = "ring-area-bytes",
     .kind = TORC_OPTION_BYTES,
     AT(ring_area_bytes),
     .fault = fault_of_area,
     .initial = "64kb",
     .help = "default bytes of each area of a ring session, a power of two"},
    {.name = "maxclients",
     .kind = TORC_OPTION_INT,
     AT(maxclients),
     IN(1, 1000000),
     .initial = "10000",
     .help = "most connections of Redis clients at a time"},
    {.name = "client-query-buffer-limit",
     .kind = TORC_OPTION_BYTES,
     AT(client_query_buffer_limit),
     IN(TORC_MIB, TORC_GIB),
     .initial = "1gb",
     .help = "most bytes of requests held for a connection"},
    {.name = "client-output-buffer-max",
     .kind = TORC_OPTION_BYTES,
     AT(client_output_buffer_max),
     IN(TORC_MIB, 1024 * TORC_GIB),
     .initial = "1gb",
     .help = "most bytes of replies held for a connection"},
    {.name = "proto-max-bulk-len",
     .kind = TORC_OPTION_BYTES,
     AT(proto_max_bulk_len),
     IN(TORC_MIB, 512 * TORC_MIB),
     .initial = "512mb",
     .help = "longest key, field or value"},
    {.name = "logfile",
     TEXT(logfile),
     .initial = "",
     .help = "file that the log is appended to; empty = standard output"},
    {.name = "loglevel",
     .kind = TORC_OPTION_ENUM,
     AT(loglevel),
     .words = level_words,
     .initial = "notice",
     .help = "least important events to log"},
    {.name = "daemonize",
     .kind = TORC_OPTION_BOOL,
     AT(daemonize),
     .initial = "no",
     .help = "run in the background"},
    {.name = "pidfile",
     TEXT(pidfile),
     .initial = "",
     .help = "file that holds the process id while the server runs"},
};

static const struct torc_option_table options = {
    .table = table,
    .n = sizeof table / sizeof table[0],
};

const struct torc_option_table *torc_settings_options(void)
{
    return &options;
}

void torc_settings_init(struct torc_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    torc_options_init(&options, settings);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    size_t cap = sizeof settings->control_socket;
    if (geteuid() == 0) {
        (void)snprintf(settings->control_socket, cap, TORC_SETTINGS_RUN_FOLDER "/torc.sock");
    } else if (runtime != NULL && *runtime != '\0') {
        (void)snprintf(settings->control_socket, cap, "%s/torc.sock", runtime);
    }
}

/* Where problems go: the first one's text is kept, each is passed on. */
struct refusals {
    unsigned n;
    char *first;
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *arg;
};

static void refuse(struct refusals *why, const char *format, ...) TORC_PRINTF(2, 3);

static void refuse(struct refusals *why, const char *format, ...)
{
    char text[TORC_OPTION_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (why->n++ == 0) {
        memcpy(why->first, text, sizeof text);
    }
    if (why->problem != NULL) {
        why->problem(why->arg, text);
    }
}

static void check(const struct torc_settings *s, struct refusals *why)
{
    int cpus[TORC_CPUS_MAX];
    int n_cpus = s->poller_cpus[0] == '\0'
                     ? 0
                     : torc_placement_parse_cpus(s->poller_cpus, cpus, TORC_CPUS_MAX);
    if (n_cpus > 0 && n_cpus != (int)s->shards) {
        refuse(why,
               "poller-cpus %.100s names %d CPUs, but there is one poller for each of %lld shards",
               s->poller_cpus, n_cpus, (long long)s->shards);
    }
    if (s->realtime && s->maxmemory == 0) {
        refuse(why, "realtime yes takes all memory at start, so it needs maxmemory");
    }
    if (s->control_socket[0] == '\0') {
        refuse(why, "control-socket has no default without XDG_RUNTIME_DIR: give a path");
    }
    if (s->unixsocket[0] != '\0' && strcmp(s->control_socket, s->unixsocket) == 0) {
        refuse(why, "control-socket and unixsocket are the same path");
    }
}

int torc_settings_check_all(const struct torc_settings *settings,
                            void (*problem)(void *arg, const char *text), void *arg,
                            char why[TORC_OPTION_ERROR_BYTES])
{
    struct refusals refusals = {.problem = problem, .arg = arg};
    refusals.first = why;
    check(settings, &refusals);
    return refusals.n == 0 ? 0 : -EINVAL;
}

int torc_settings_check(const struct torc_settings *settings, char why[TORC_OPTION_ERROR_BYTES])
{
    return torc_settings_check_all(settings, NULL, NULL, why);
}

const char *torc_settings_policy_name(const struct torc_settings *settings)
{
    return policy_words[settings->maxmemory_policy];
}

struct torc_hash_limits torc_settings_hash_limits(const struct torc_settings *settings)
{
    uint64_t entries = (uint64_t)settings->hash_max_listpack_entries;
    uint64_t value = (uint64_t)settings->hash_max_listpack_value;
    return (struct torc_hash_limits){
        .compact_max_entries = (uint32_t)torc_min_u64(entries, TORC_COMPACT_MAX_FIELDS),
        .compact_max_value = (uint32_t)torc_min_u64(value, TORC_COMPACT_MAX_PART),
        .max_part_bytes = settings->proto_max_bulk_len,
        .disable_encoding = settings->disable_encoding,
        .compress_min_bytes = (uint32_t)settings->value_compression_min_bytes,
    };
}

uint64_t torc_settings_arena_capacity(const struct torc_settings *settings, uint64_t physical_bytes)
{
    uint64_t capacity;
    if (settings->realtime) {
        /* All of it will be taken from the kernel, so only what fragmentation needs on top. */
        capacity = settings->maxmemory + settings->maxmemory / 4 + 64 * TORC_MIB;
    } else if (settings->maxmemory != 0) {
        capacity = 2 * settings->maxmemory + 256 * TORC_MIB;
    } else {
        capacity = torc_max_u64(2 * torc_min_u64(physical_bytes, TORC_ARENA_MAX_BYTES), TORC_GIB);
    }
    capacity = torc_align_up(capacity, 2 * TORC_MIB);
    return torc_min_u64(capacity, TORC_ARENA_MAX_BYTES);
}
