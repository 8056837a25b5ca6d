/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations, and what their requests carry. One table: the gateway, the client, torc-cli and
 * the docs read it.
 *
 * `shape` says what a request holds, in the order of the Redis command:
 *   k  a key          s  bytes          u  unsigned 64-bit number      i  signed 64-bit number
 *   *  what follows repeats: "*s" any number of byte strings, "*ss" of pairs; always last
 * Numbers travel in the fixed part, wherever the command has them, byte strings behind it
 * (docs/formats/message.md). At most TORC_MESSAGE_NUMBERS numbers, none behind '*', and one or two
 * byte strings in what repeats. HINCRBYFLOAT's number and the optional one of HRANDFIELD are byte
 * strings: the first because it is decimal and exact, the second because it may be absent.
 */
#ifndef TORC_RING_OPS_H
#define TORC_RING_OPS_H

#include "core/base.h"

#define TORC_OP_READ    1u /* does not change data */
#define TORC_OP_WRITE   2u
#define TORC_OP_FAST    4u /* O(1), or O(arguments) */
#define TORC_OP_DENYOOM 8u /* refused when memory is over the limit */
#define TORC_OP_ADMIN   16u

/*        number  identifier       Redis name         arity shape   flags first key, last, step */
#define TORC_OPS(X)                                                                                \
    X(1, PING, "ping", -1, "*s", TORC_OP_FAST, 0, 0, 0)                                            \
    X(2, ECHO, "echo", 2, "s", TORC_OP_FAST, 0, 0, 0)                                              \
    X(3, SELECT, "select", 2, "i", TORC_OP_FAST, 0, 0, 0)                                          \
    X(4, QUIT, "quit", -1, "*s", TORC_OP_FAST, 0, 0, 0)                                            \
    X(5, COMMAND, "command", -1, "*s", 0, 0, 0, 0)                                                 \
    X(6, INFO, "info", -1, "*s", 0, 0, 0, 0)                                                       \
    X(7, TIME, "time", 1, "", TORC_OP_FAST, 0, 0, 0)                                               \
    X(8, CONFIG_GET, "config|get", -3, "*s", TORC_OP_ADMIN, 0, 0, 0)                               \
    X(9, CONFIG_RESETSTAT, "config|resetstat", 2, "", TORC_OP_ADMIN, 0, 0, 0)                      \
    X(10, HSET, "hset", -4, "k*ss", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST, 1, 1, 1)       \
    X(11, HGET, "hget", 3, "ks", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                             \
    X(12, HMGET, "hmget", -3, "k*s", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                         \
    X(13, HDEL, "hdel", -3, "k*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                          \
    X(14, HGETALL, "hgetall", 2, "k", TORC_OP_READ, 1, 1, 1)                                       \
    X(15, HLEN, "hlen", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                              \
    X(16, HEXISTS, "hexists", 3, "ks", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                       \
    X(17, HSETNX, "hsetnx", 4, "kss", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST, 1, 1, 1)     \
    X(18, HMSET, "hmset", -4, "k*ss", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST, 1, 1, 1)     \
    X(19, HKEYS, "hkeys", 2, "k", TORC_OP_READ, 1, 1, 1)                                           \
    X(20, HVALS, "hvals", 2, "k", TORC_OP_READ, 1, 1, 1)                                           \
    X(21, HSTRLEN, "hstrlen", 3, "ks", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                       \
    X(22, HINCRBY, "hincrby", 4, "ksi", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST, 1, 1, 1)   \
    X(23, HINCRBYFLOAT, "hincrbyfloat", 4, "kss", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST,  \
      1, 1, 1)                                                                                     \
    X(24, HSCAN, "hscan", -3, "ku*s", TORC_OP_READ, 1, 1, 1)                                       \
    X(25, HRANDFIELD, "hrandfield", -2, "k*s", TORC_OP_READ, 1, 1, 1)                              \
    X(26, HEXPIRE, "hexpire", -6, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                   \
    X(27, HPEXPIRE, "hpexpire", -6, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                 \
    X(28, HEXPIREAT, "hexpireat", -6, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)               \
    X(29, HPEXPIREAT, "hpexpireat", -6, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)             \
    X(30, HTTL, "httl", -5, "k*s", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                           \
    X(31, HPTTL, "hpttl", -5, "k*s", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                         \
    X(32, HEXPIRETIME, "hexpiretime", -5, "k*s", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)             \
    X(33, HPEXPIRETIME, "hpexpiretime", -5, "k*s", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)           \
    X(34, HPERSIST, "hpersist", -5, "k*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                  \
    X(35, HGETEX, "hgetex", -5, "k*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                      \
    X(36, HSETEX, "hsetex", -6, "k*s", TORC_OP_WRITE | TORC_OP_DENYOOM | TORC_OP_FAST, 1, 1, 1)    \
    X(37, HGETDEL, "hgetdel", -5, "k*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                    \
    X(40, DEL, "del", -2, "*k", TORC_OP_WRITE, 1, -1, 1)                                           \
    X(41, EXISTS, "exists", -2, "*k", TORC_OP_READ | TORC_OP_FAST, 1, -1, 1)                       \
    X(42, TYPE, "type", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                              \
    X(43, SCAN, "scan", -2, "u*s", TORC_OP_READ, 0, 0, 0)                                          \
    X(44, DBSIZE, "dbsize", 1, "", TORC_OP_READ | TORC_OP_FAST, 0, 0, 0)                           \
    X(45, FLUSHALL, "flushall", -1, "*s", TORC_OP_WRITE, 0, 0, 0)                                  \
    X(46, MEMORY_USAGE, "memory|usage", -3, "k*s", TORC_OP_READ, 2, 2, 1)                          \
    X(47, OBJECT_ENCODING, "object|encoding", 3, "k", TORC_OP_READ, 2, 2, 1)                       \
    X(48, UNLINK, "unlink", -2, "*k", TORC_OP_WRITE | TORC_OP_FAST, 1, -1, 1)                      \
    X(49, TOUCH, "touch", -2, "*k", TORC_OP_READ | TORC_OP_FAST, 1, -1, 1)                         \
    X(50, RANDOMKEY, "randomkey", 1, "", TORC_OP_READ, 0, 0, 0)                                    \
    X(51, KEYS, "keys", 2, "s", TORC_OP_READ, 0, 0, 0)                                             \
    X(52, FLUSHDB, "flushdb", -1, "*s", TORC_OP_WRITE, 0, 0, 0)                                    \
    X(53, MEMORY_STATS, "memory|stats", 2, "", 0, 0, 0, 0)                                         \
    X(54, MEMORY_DOCTOR, "memory|doctor", 2, "", 0, 0, 0, 0)                                       \
    X(55, OPTIMIZE, "torc.optimize", 2, "k", TORC_OP_ADMIN, 1, 1, 1)                               \
    X(56, EXPIRE, "expire", -3, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                     \
    X(57, PEXPIRE, "pexpire", -3, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                   \
    X(58, EXPIREAT, "expireat", -3, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                 \
    X(59, PEXPIREAT, "pexpireat", -3, "ki*s", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)               \
    X(60, TTL, "ttl", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                                \
    X(61, PTTL, "pttl", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                              \
    X(62, EXPIRETIME, "expiretime", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                  \
    X(63, PEXPIRETIME, "pexpiretime", 2, "k", TORC_OP_READ | TORC_OP_FAST, 1, 1, 1)                \
    X(64, PERSIST, "persist", 2, "k", TORC_OP_WRITE | TORC_OP_FAST, 1, 1, 1)                       \
    X(65, COPY, "copy", -3, "kk*s", TORC_OP_WRITE | TORC_OP_DENYOOM, 1, 2, 1)                      \
    X(66, RENAME, "rename", 3, "kk", TORC_OP_WRITE, 1, 2, 1)                                       \
    X(67, RENAMENX, "renamenx", 3, "kk", TORC_OP_WRITE | TORC_OP_FAST, 1, 2, 1)                    \
    X(120, FETCH, NULL, 0, "uu", 0, 0, 0, 0)                                                       \
    X(121, PUT, NULL, 0, "uus", 0, 0, 0, 0)

enum torc_op {
    TORC_OP_NONE = 0,
#define TORC_OP_ENUM(number, id, name, arity, shape, flags, first, last, step)                     \
    TORC_OP_##id = (number),
    TORC_OPS(TORC_OP_ENUM)
#undef TORC_OP_ENUM
        TORC_OP_LIMIT = 128,
};

#define TORC_OP_NAME_BYTES 16u /* longest name */

struct torc_op_info {
    const char *name;  /* lower case, at most TORC_OP_NAME_BYTES; "container|sub" for subcommands;
                          NULL: internal to the ring, or an unused number */
    const char *shape; /* NULL: no such op */
    int arity; /* as COMMAND INFO: words with the name (container and sub count as two), negative =
                  at least */
    uint32_t flags;
    int first_key, last_key, key_step; /* as COMMAND INFO */

    /* What the shape says, counted once, for the encoder and the decoder. */
    uint8_t n_numbers; /* 'u' and 'i' */
    uint8_t n_fixed;   /* byte strings in front of '*' */
    uint8_t group;     /* byte strings behind '*': 0 nothing repeats, 1 or 2 */

    /* The common form of a request: no numbers, short strings, what repeats comes once. Its flags
     * and the number of its strings, which is 0 if the op has no such form. */
    uint8_t plain_flags;
    uint8_t plain_strings;
};

/* Facts of `op`; for any other number an all-zero entry. Static. Any thread; O(1). */
const struct torc_op_info *torc_op_info(uint8_t op);

/* The op of that name (any case; subcommands as "container|sub"), TORC_OP_NONE if there is none. A
 * caller that joins words to such a name first refuses words that have a '|' themselves.
 * Any thread; O(1), about 30 instructions: it runs once per RESP command. */
enum torc_op torc_op_find(const char *name, size_t len);

/* Do `n_words` words (the name included, container and sub as two) suit the arity? */
static inline bool torc_op_arity_is_ok(const struct torc_op_info *info, size_t n_words)
{
    return info->arity >= 0 ? n_words == (size_t)info->arity : n_words >= (size_t)-info->arity;
}

#endif
