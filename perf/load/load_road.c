/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/load_road.h"

#include <stdio.h>

const char *torc_load_verb_name(enum torc_load_verb verb)
{
    static const char *const names[TORC_LOAD_VERBS] = {
        [TORC_LOAD_PING] = "PING",         [TORC_LOAD_HSET] = "HSET",
        [TORC_LOAD_HGET] = "HGET",         [TORC_LOAD_HMGET] = "HMGET",
        [TORC_LOAD_HGETALL] = "HGETALL",   [TORC_LOAD_HEXISTS] = "HEXISTS",
        [TORC_LOAD_HSTRLEN] = "HSTRLEN",   [TORC_LOAD_HLEN] = "HLEN",
        [TORC_LOAD_HINCRBY] = "HINCRBY",   [TORC_LOAD_HDEL] = "HDEL",
        [TORC_LOAD_HSETEX] = "HSETEX",     [TORC_LOAD_HGETEX] = "HGETEX",
        [TORC_LOAD_HPEXPIRE] = "HPEXPIRE", [TORC_LOAD_DEL] = "DEL",
        [TORC_LOAD_FLUSHALL] = "FLUSHALL",
    };
    return names[verb];
}

int torc_load_road_open(const char *address, const struct torc_load_road_options *options,
                        struct torc_load_road **out_road, char error[TORC_LOAD_ERROR_BYTES])
{
    if (strncmp(address, "ring:", 5) == 0 && address[5] != '\0') {
        return torc_load_road_open_ring(address + 5, options, out_road, error);
    }
    if (strncmp(address, "unix:", 5) == 0 || strncmp(address, "tcp:", 4) == 0) {
        return torc_load_road_open_socket(address, options, out_road, error);
    }
    (void)snprintf(error, TORC_LOAD_ERROR_BYTES,
                   "'%.128s' is no address: ring:/path, unix:/path or tcp:host:port", address);
    return -EINVAL;
}
