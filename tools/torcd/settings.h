/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of the server: the struct that the option table fills, and the checks that need more
 * than one option. The table serves the config file, the --name flags, CONFIG GET and --help.
 *
 * Filled once before the server starts, constant afterwards: any thread may read it.
 */
#ifndef TORC_TORCD_SETTINGS_H
#define TORC_TORCD_SETTINGS_H

#include "core/options_file.h"
#include "hash/evict.h"
#include "hash/keyspace.h"

#define TORC_SETTINGS_PATH_BYTES 512
/* Of the default control socket, for root: made when it is missing, since /run is empty at boot. */
#define TORC_SETTINGS_RUN_FOLDER "/run/torc"

enum torc_poll_mode { TORC_POLL_BUSY, TORC_POLL_ADAPTIVE, TORC_POLL_YIELD };
enum torc_log_level { TORC_LOG_DEBUG, TORC_LOG_VERBOSE, TORC_LOG_NOTICE, TORC_LOG_WARNING };

struct torc_settings {
    /* where it listens */
    int64_t port; /* 0: no TCP */
    int64_t tcp_backlog;
    int64_t tcp_keepalive; /* seconds, 0: off */
    char bind[256];
    char unixsocket[TORC_SETTINGS_PATH_BYTES];
    char unixsocketperm[8]; /* octal, "" as the umask says */
    char control_socket[TORC_SETTINGS_PATH_BYTES];
    char control_socket_group[64];

    /* pollers and memory */
    int64_t shards;
    int64_t databases;
    char poller_cpus[256];
    int poll_mode; /* enum torc_poll_mode */
    int64_t poll_spin_us;
    uint64_t maxmemory;   /* bytes, 0: bounded by the machine */
    int maxmemory_policy; /* enum torc_evict_policy, or a word that is not supported */
    int64_t maxmemory_samples;
    int huge_pages; /* enum torc_huge_policy */
    bool realtime;
    uint64_t realtime_buffers; /* bytes of heap */

    /* hashes */
    int64_t hash_max_listpack_entries;
    int64_t hash_max_listpack_value;
    bool disable_encoding;
    int64_t value_compression_min_bytes; /* 0: none */

    /* ring sessions */
    int64_t max_sessions;
    int64_t max_sessions_per_user; /* 0: no limit of its own */
    uint64_t session_long_message_max;
    int64_t session_stall_timeout; /* seconds, 0: never */
    int64_t ring_slots;
    uint64_t ring_area_bytes;

    /* RESP connections */
    int64_t maxclients;
    uint64_t client_query_buffer_limit;
    uint64_t client_output_buffer_max;
    uint64_t proto_max_bulk_len;

    /* the process */
    char logfile[TORC_SETTINGS_PATH_BYTES];
    int loglevel; /* enum torc_log_level */
    bool daemonize;
    char pidfile[TORC_SETTINGS_PATH_BYTES];
};

/* The option table. Static. */
const struct torc_option_table *torc_settings_options(void);

/* Defaults, among them the control socket's path: /run/torc/torc.sock for root, else
 * $XDG_RUNTIME_DIR/torc.sock; empty when that is not set. */
void torc_settings_init(struct torc_settings *settings);

/* What no single option can check, and what this version does not do. 0; -EINVAL with a text for a
 * person in `why`, the first problem's. */
int torc_settings_check(const struct torc_settings *settings,
                        char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* The same, with a call of `problem` (may be NULL) for each of the problems. */
int torc_settings_check_all(const struct torc_settings *settings,
                            void (*problem)(void *arg, const char *text), void *arg,
                            char why[TORC_OPTION_ERROR_BYTES]) TORC_MUST_USE;

/* The limits of hashes that the settings stand for, brought into the ranges of the hash layer. */
struct torc_hash_limits torc_settings_hash_limits(const struct torc_settings *settings);

/* Name of a policy that torc_settings_check() lets pass. Static. */
const char *torc_settings_policy_name(const struct torc_settings *settings);

/* Bytes of address range for the arena: room for maxmemory with the allocator's fragmentation; with
 * maxmemory 0 twice `physical_bytes`, between 1 GiB and the arena's 1 TiB. A multiple of 2 MiB. */
uint64_t torc_settings_arena_capacity(const struct torc_settings *settings,
                                      uint64_t physical_bytes);

#endif
