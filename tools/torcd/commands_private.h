/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the single commands, for the dispatch table in commands.c.
 * Each makes exactly one reply. Arity has been checked; pairs have not.
 */
#ifndef TORC_TORCD_COMMANDS_PRIVATE_H
#define TORC_TORCD_COMMANDS_PRIVATE_H

#include "hash/expiry.h"
#include "tools/torcd/commands.h"

/* commands_hash.c */
torc_command_function torc_command_hset, torc_command_hmset, torc_command_hsetnx, torc_command_hget,
    torc_command_hmget, torc_command_hdel, torc_command_hgetall, torc_command_hkeys,
    torc_command_hvals, torc_command_hlen, torc_command_hexists, torc_command_hstrlen;

/* commands_number.c */
torc_command_function torc_command_hincrby, torc_command_hincrbyfloat;

/* commands_random.c */
torc_command_function torc_command_hrandfield, torc_command_randomkey;

/* commands_scan.c */
torc_command_function torc_command_scan, torc_command_hscan, torc_command_keys;

/* commands_key.c */
torc_command_function torc_command_del, torc_command_exists, torc_command_touch, torc_command_type,
    torc_command_dbsize, torc_command_flushall, torc_command_object_encoding;

/* commands_expire.c */
torc_command_function torc_command_expire, torc_command_ttl, torc_command_persist;

/* commands_field_expire.c */
torc_command_function torc_command_hexpire, torc_command_httl, torc_command_hpersist;

/* commands_field_values.c */
torc_command_function torc_command_hgetex, torc_command_hsetex, torc_command_hgetdel;

/* commands_copy.c */
torc_command_function torc_command_copy, torc_command_rename, torc_command_renamenx;

/* commands_memory.c */
torc_command_function torc_command_memory_usage, torc_command_memory_stats,
    torc_command_memory_doctor, torc_command_optimize;

/* commands_server.c */
torc_command_function torc_command_ping, torc_command_echo, torc_command_select, torc_command_quit,
    torc_command_info, torc_command_time;

/* commands_config.c */
torc_command_function torc_command_config_get, torc_command_config_resetstat;

/* commands_command.c */
torc_command_function torc_command_command;

/* commands_client.c: RESP only, call->caller is set */
torc_command_function torc_command_hello, torc_command_client_id, torc_command_client_getname,
    torc_command_client_setname, torc_command_client_setinfo;

/* A gateway command's name and arity, as in torc_op_info(). */
struct torc_gateway_info {
    const char *name;
    int arity;
};
const struct torc_gateway_info *torc_gateway_info(unsigned op);

/* Name of the i-th command that only has subcommands ("memory"), NULL behind the last. Static. */
const char *torc_command_container(size_t i);

/* The command that the first word names, or the first two for a subcommand; TORC_OP_NONE. */
unsigned torc_command_find(const struct torc_slice *words, uint32_t n_words);

/* Case-insensitive comparison of a word. */
bool torc_word_is(struct torc_slice word, const char *what);

/* A 64-bit decimal in canonical form: no plus, no leading zeros, no blanks. */
bool torc_word_integer(struct torc_slice word, int64_t *out_value);

/* A cursor: digits, up to 2^64 - 1. As in Redis, blanks may stand in front. */
bool torc_word_cursor(struct torc_slice word, uint64_t *out_value);

/* Answer with what a negative errno of the hash layer stands for. */
void torc_call_fail(struct torc_call *call, int64_t error);

/* May the reply have `n` items? False: that it may not was answered. */
bool torc_call_may_have_items(struct torc_call *call, uint64_t n);

/* Have what is past of `key` removed, before something is said about it or its whole hash. False:
 * there is too much for one visit; the call is postponed, and the command returns. What becomes due
 * meanwhile is less than a visit removes, so it ends. A load and a comparison if nothing is due. */
bool torc_call_reap(struct torc_service *service, struct torc_call *call,
                    const struct torc_key *key) TORC_MUST_USE;
/* The same for all keys of a command whose strings, from the first on, are n keys, */
bool torc_call_reap_keys(struct torc_service *service, struct torc_call *call,
                         uint32_t n) TORC_MUST_USE;
/* and for all keys there are. */
bool torc_call_reap_all(struct torc_service *service, struct torc_call *call) TORC_MUST_USE;

/* Key i of a command whose first strings are keys; call->key is the first one's. */
static inline struct torc_key torc_call_key(const struct torc_service *service,
                                            const struct torc_call *call, uint32_t i)
{
    return i == 0 ? call->key : torc_keyspace_key(service->keyspace, call->request.strings[i]);
}

/* Milliseconds since 1970, for a command that reckons with them: the keyspace's time, which is
 * brought up to date first. */
uint64_t torc_call_time(struct torc_service *service);

/* "hash", "string" or "none". Static. */
const char *torc_type_name(enum torc_type type);

/* The value with data that is not NULL. */
static inline struct torc_slice torc_slice_present(struct torc_slice s)
{
    return s.data != NULL ? s : torc_slice_of("", 0);
}

#endif
