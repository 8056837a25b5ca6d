/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/commands_page.h"

#include "tools/torcd/commands_private.h"

/* What the table of operations does not say: the arguments, and what comes of them. */
struct description {
    unsigned op; /* 0: the end */
    const char *arguments;
    const char *what;
};

struct section {
    const char *title;
    const char *text;
    const struct description *descriptions;
};

static const struct description hash_commands[] = {
    {TORC_OP_HSET, "key field value [field value ...]",
     "Set fields. Integer: how many are new. Later pairs win; all or none are set."},
    {TORC_OP_HSETNX, "key field value",
     "Set a field that is absent. Integer: 1 set, 0 it was there and is as it was."},
    {TORC_OP_HMSET, "key field value [field value ...]", "As HSET, but `OK`."},
    {TORC_OP_HGET, "key field", "String: the value; nil if absent."},
    {TORC_OP_HMGET, "key field [field ...]",
     "Array: one value for each field asked for, nil where absent."},
    {TORC_OP_HGETALL, "key", "Map of all fields and values; an array in turns in RESP2."},
    {TORC_OP_HKEYS, "key", "Array: all fields."},
    {TORC_OP_HVALS, "key", "Array: all values, in the order of HKEYS."},
    {TORC_OP_HLEN, "key", "Integer: number of fields."},
    {TORC_OP_HEXISTS, "key field", "Integer: 1 or 0."},
    {TORC_OP_HSTRLEN, "key field", "Integer: bytes of the value; 0 if absent."},
    {TORC_OP_HDEL, "key field [field ...]",
     "Integer: how many were removed. The key goes with its last field."},
    {TORC_OP_HINCRBY, "key field increment",
     "Add a 64-bit integer; an absent field counts as 0. Integer: the sum."},
    {TORC_OP_HINCRBYFLOAT, "key field increment",
     "Add a decimal number, in `long double`. String: the sum, with 17 digits behind the point at "
     "most and no exponent."},
    {TORC_OP_HEXPIRE, "key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     "Let fields end in so many seconds. Array: for each field 1 set, 0 condition not met, 2 gone, "
     "since the time is past, -2 no such field. The option may also stand behind the fields."},
    {TORC_OP_HPEXPIRE, "key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     "As HEXPIRE, in milliseconds."},
    {TORC_OP_HEXPIREAT, "key unix-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     "As HEXPIRE, at a time since 1970."},
    {TORC_OP_HPEXPIREAT,
     "key unix-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     "As HEXPIREAT, in milliseconds."},
    {TORC_OP_HTTL, "key FIELDS numfields field [field ...]",
     "Array: for each field the seconds it has left, rounded up; -1 no time, -2 no such field."},
    {TORC_OP_HPTTL, "key FIELDS numfields field [field ...]", "As HTTL, in milliseconds."},
    {TORC_OP_HEXPIRETIME, "key FIELDS numfields field [field ...]",
     "As HTTL: the second since 1970 at which a field ends, rounded up."},
    {TORC_OP_HPEXPIRETIME, "key FIELDS numfields field [field ...]",
     "As HEXPIRETIME, in milliseconds."},
    {TORC_OP_HPERSIST, "key FIELDS numfields field [field ...]",
     "Take the times of fields away. Array: for each field 1 done, -1 it had none, -2 no such "
     "field."},
    {TORC_OP_HGETEX,
     "key [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | PERSIST] "
     "FIELDS numfields field [field ...]",
     "As HMGET, and the fields get this time, or lose theirs. With a past time they are removed."},
    {TORC_OP_HSETEX,
     "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | "
     "KEEPTTL] FIELDS numfields field value [field value ...]",
     "Set fields with this time; without one they lose theirs. Integer: 1 all are set, 0 none, "
     "since one is there (FNX) or is not (FXX)."},
    {TORC_OP_HGETDEL, "key FIELDS numfields field [field ...]",
     "As HMGET, and the fields are removed. The key goes with its last field."},
    {TORC_OP_HRANDFIELD, "key [count [WITHVALUES]]",
     "Fields at random, each equally likely. Without a count a string or nil, else an array: "
     "`count` different fields at most, or with a negative count as many picks, which may repeat. "
     "With values: arrays of two in RESP3, in turns in RESP2, pairs on a ring. A count whose reply "
     "can never fit is refused, and so is a negative one below -1048576."},
    {TORC_OP_HSCAN, "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
     "One page of fields and values: the next cursor, 0 at the end, and an array. What is there "
     "all "
     "the time comes at least once. A compact hash comes in one page. COUNT is a hint."},
    {0, NULL, NULL},
};

static const struct description key_commands[] = {
    {TORC_OP_DEL, "key [key ...]",
     "Integer: how many were there. Large hashes are freed in steps afterwards."},
    {TORC_OP_UNLINK, "key [key ...]", "The same as DEL."},
    {TORC_OP_EXISTS, "key [key ...]", "Integer: how many exist; a key named twice counts twice."},
    {TORC_OP_TOUCH, "key [key ...]",
     "As EXISTS, and the keys count as used (`maxmemory-policy allkeys-lru`)."},
    {TORC_OP_EXPIRE, "key seconds [NX | XX | GT | LT]",
     "Let the key end in so many seconds; XX may stand with GT or LT. With a time that is past, or "
     "negative, it is removed. Integer: 1 done, 0 no such key or condition not met."},
    {TORC_OP_PEXPIRE, "key milliseconds [NX | XX | GT | LT]", "As EXPIRE, in milliseconds."},
    {TORC_OP_EXPIREAT, "key unix-seconds [NX | XX | GT | LT]", "As EXPIRE, at a time since 1970."},
    {TORC_OP_PEXPIREAT, "key unix-milliseconds [NX | XX | GT | LT]",
     "As EXPIREAT, in milliseconds."},
    {TORC_OP_TTL, "key",
     "Integer: the seconds that the key has left, to the nearest; -1 no time, -2 no such key."},
    {TORC_OP_PTTL, "key", "As TTL, in milliseconds."},
    {TORC_OP_EXPIRETIME, "key",
     "As TTL: the second since 1970 at which the key ends, to the nearest."},
    {TORC_OP_PEXPIRETIME, "key", "As EXPIRETIME, in milliseconds."},
    {TORC_OP_PERSIST, "key",
     "Take the key's time away. Integer: 1 done, 0 it had none or is absent."},
    {TORC_OP_COPY, "source destination [DB 0] [REPLACE]",
     "Copy a key, with all times. Integer: 1 done, 0 no source, or the destination is there."},
    {TORC_OP_RENAME, "key newkey",
     "Call a key otherwise, with its times; what had that name is gone. `OK`; absent is an error."},
    {TORC_OP_RENAMENX, "key newkey", "The same if there is no newkey. Integer: 1 done, 0 not."},
    {TORC_OP_TYPE, "key", "`hash`, `string` or `none`."},
    {TORC_OP_KEYS, "pattern",
     "Array: all keys that match. Looks at every key; nobody else is served meanwhile."},
    {TORC_OP_SCAN, "cursor [MATCH pattern] [COUNT count] [TYPE type]",
     "One page of keys, as HSCAN."},
    {TORC_OP_RANDOMKEY, "", "String: some key, each equally likely; nil if there is none."},
    {TORC_OP_DBSIZE, "", "Integer: number of keys."},
    {TORC_OP_FLUSHDB, "[ASYNC | SYNC]",
     "Remove all keys at once; their memory is freed in steps. `OK`."},
    {TORC_OP_FLUSHALL, "[ASYNC | SYNC]", "The same: there is one database."},
    {TORC_OP_MEMORY_USAGE, "key [SAMPLES count]",
     "Integer: all bytes that the key takes, exact whatever SAMPLES says; nil if absent."},
    {TORC_OP_OPTIMIZE, "key | ALL",
     "Make memory compact that would become so in quiet times. Of a compact hash at once, of a "
     "full "
     "one and of ALL in the background, in steps between commands. Integer: the bytes that this "
     "wins, or may win; nil if absent. A key called ALL is packed with all others."},
    {TORC_OP_OBJECT_ENCODING, "key",
     "String: `listpack` for a compact hash, `listpackex` while fields of it have times, "
     "`hashtable` for a full one; nil if absent."},
    {0, NULL, NULL},
};

static const struct description server_commands[] = {
    {TORC_OP_PING, "[message]", "`PONG`, or the message."},
    {TORC_OP_ECHO, "message", "String: the message."},
    {TORC_OP_SELECT, "index", "`OK` for 0, the one database."},
    {TORC_OP_QUIT, "", "`OK`; a RESP connection is closed behind it."},
    {TORC_OP_TIME, "", "Array: seconds since 1970, and microseconds of this second, as strings."},
    {TORC_OP_INFO, "[section ...]", "Text about the server."},
    {TORC_OP_COMMAND,
     "[COUNT | INFO [name ...] | LIST [FILTERBY ACLCAT category | PATTERN pattern | MODULE name] | "
     "GETKEYS command [argument ...] | DOCS [name ...]]",
     "About commands. On a ring, whose replies do not nest, names only. No DOCS are built in."},
    {TORC_OP_MEMORY_STATS, "",
     "Map of what memory is used for, in bytes. Kinds of hashes (`torc.compact...`, "
     "`torc.full...`) "
     "are estimates from 1024 keys where there are more (`torc.keys.looked-at`); all else is "
     "exact. On a ring `db.0` is flat."},
    {TORC_OP_MEMORY_DOCTOR, "", "Text: what is wrong with memory, and what to do about it."},
    {TORC_OP_CONFIG_GET, "pattern [pattern ...]",
     "Map of settings that match one of the patterns, and their values."},
    {TORC_OP_CONFIG_RESETSTAT, "", "Set the statistics of INFO back. `OK`."},
    {0, NULL, NULL},
};

static const struct description gateway_commands[] = {
    {TORC_GATEWAY_HELLO, "[2 | 3 [AUTH user password] [SETNAME name]]",
     "Choose the protocol. Map of facts about the server."},
    {TORC_GATEWAY_CLIENT_ID, "", "Integer: number of this connection."},
    {TORC_GATEWAY_CLIENT_GETNAME, "", "String: its name; nil if it has none."},
    {TORC_GATEWAY_CLIENT_SETNAME, "name", "`OK`."},
    {TORC_GATEWAY_CLIENT_SETINFO, "LIB-NAME | LIB-VER value", "`OK`."},
    {0, NULL, NULL},
};

static const struct section sections[] = {
    {"Hashes",
     "Reads of an absent key see an empty hash. A key that holds another type answers WRONGTYPE.",
     hash_commands},
    {"Keys", "", key_commands},
    {"Server and session", "", server_commands},
    {"Connection, RESP only", "", gateway_commands},
};
#define N_SECTIONS (sizeof sections / sizeof sections[0])

static const char head[] =
    "# Commands\n"
    "\n"
    "Made by `torcd --commands-markdown` from the table of operations, `ring/ops.h`; a test "
    "compares "
    "the two.\n"
    "\n"
    "Every command answers as in Redis, with its error texts, over RESP2, RESP3 and the ring. "
    "*Ring* is the number of the\n"
    "operation in a ring message and the shape of its request: `k` a key, `s` another byte string, "
    "`u` and `i` numbers of\n"
    "64 bits, `*` what follows repeats ([message format](formats/message.md)). *Flags*: `r` reads, "
    "`w` writes, `f` takes\n"
    "O(arguments) steps, `o` is refused when memory is over `maxmemory`, `a` is for the "
    "administrator. Names of commands and\n"
    "options may be written in any case. A reply above `session-long-message-max` (ring) is an "
    "error, and one above\n"
    "`client-output-buffer-max` (RESP) ends the connection, or is an error where that shows before "
    "any work.\n";

/* "config|get" as it is typed: CONFIG GET. */
static void write_upper(char *to, size_t cap, const char *name)
{
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < cap; n++) {
        to[n] = name[n];
        if (name[n] == '|') {
            to[n] = ' ';
        } else if (name[n] >= 'a' && name[n] <= 'z') {
            to[n] = (char)(name[n] - 'a' + 'A');
        }
    }
    to[n] = '\0';
}

static void write_flags(char flags[8], uint32_t bits)
{
    static const struct {
        uint32_t bit;
        char letter;
    } letters[] = {{TORC_OP_READ, 'r'},
                   {TORC_OP_WRITE, 'w'},
                   {TORC_OP_FAST, 'f'},
                   {TORC_OP_DENYOOM, 'o'},
                   {TORC_OP_ADMIN, 'a'}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if ((bits & letters[i].bit) != 0) {
            flags[n++] = letters[i].letter;
        }
    }
    flags[n] = '\0';
}

/* A cell of a table: a bar would end it. */
static void add_cell(struct torc_text *text, const char *cell)
{
    for (const char *c = cell; *c != '\0'; c++) {
        torc_text_add(text, "%s%c", *c == '|' ? "\\" : "", *c);
    }
}

static void add_row(struct torc_text *text, const struct description *d)
{
    char name[64];
    char flags[8];
    write_upper(name, sizeof name, torc_command_name(d->op));
    torc_text_add(text, "| `%s%s", name, d->arguments[0] != '\0' ? " " : "");
    add_cell(text, d->arguments);
    torc_text_add(text, "` | ");
    add_cell(text, d->what);
    if (d->op < TORC_OP_LIMIT) {
        const struct torc_op_info *info = torc_op_info((uint8_t)d->op);
        write_flags(flags, info->flags);
        torc_text_add(text, " | %u", d->op);
        if (info->shape[0] != '\0') {
            torc_text_add(text, " `%s`", info->shape);
        }
        torc_text_add(text, " | %s |\n", flags);
    } else {
        torc_text_add(text, " | | |\n");
    }
}

/* Is every command in exactly one section? */
static bool is_complete(void)
{
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        unsigned n = 0;
        for (size_t s = 0; s < N_SECTIONS; s++) {
            for (const struct description *d = sections[s].descriptions; d->op != 0; d++) {
                n += d->op == op;
            }
        }
        if (n != (torc_command_name(op) != NULL)) {
            return false;
        }
    }
    return true;
}

bool torc_commands_page(struct torc_text *text)
{
    torc_text_add(text, "%s", head);
    for (size_t s = 0; s < N_SECTIONS; s++) {
        torc_text_add(text, "\n## %s\n\n", sections[s].title);
        if (sections[s].text[0] != '\0') {
            torc_text_add(text, "%s\n\n", sections[s].text);
        }
        torc_text_add(text, "| command | what it does, and its reply | ring | flags |\n"
                            "|---|---|---|---|\n");
        for (const struct description *d = sections[s].descriptions; d->op != 0; d++) {
            add_row(text, d);
        }
    }
    return is_complete() && !text->failed;
}
