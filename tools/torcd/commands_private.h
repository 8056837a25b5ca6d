/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the single commands, for the dispatch table in commands.c.
 * Each makes exactly one reply. Arity has been checked; pairs have not.
 */
#ifndef TORC_TORCD_COMMANDS_PRIVATE_H
#define TORC_TORCD_COMMANDS_PRIVATE_H

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

/* "hash", "string" or "none". Static. */
const char *torc_type_name(enum torc_type type);

/* The value with data that is not NULL. */
static inline struct torc_slice torc_slice_present(struct torc_slice s)
{
    return s.data != NULL ? s : torc_slice_of("", 0);
}

#endif
