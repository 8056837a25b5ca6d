/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/commands.h"

#include <strings.h>

#include "tools/torcd/commands_private.h"

static torc_command_function *const functions[TORC_COMMAND_LIMIT] = {
    [TORC_OP_PING] = torc_command_ping,
    [TORC_OP_ECHO] = torc_command_echo,
    [TORC_OP_SELECT] = torc_command_select,
    [TORC_OP_QUIT] = torc_command_quit,
    [TORC_OP_COMMAND] = torc_command_command,
    [TORC_OP_INFO] = torc_command_info,
    [TORC_OP_TIME] = torc_command_time,
    [TORC_OP_CONFIG_GET] = torc_command_config_get,
    [TORC_OP_CONFIG_RESETSTAT] = torc_command_config_resetstat,
    [TORC_OP_HSET] = torc_command_hset,
    [TORC_OP_HGET] = torc_command_hget,
    [TORC_OP_HMGET] = torc_command_hmget,
    [TORC_OP_HDEL] = torc_command_hdel,
    [TORC_OP_HGETALL] = torc_command_hgetall,
    [TORC_OP_HLEN] = torc_command_hlen,
    [TORC_OP_HEXISTS] = torc_command_hexists,
    [TORC_OP_HSETNX] = torc_command_hsetnx,
    [TORC_OP_HMSET] = torc_command_hmset,
    [TORC_OP_HKEYS] = torc_command_hkeys,
    [TORC_OP_HVALS] = torc_command_hvals,
    [TORC_OP_HSTRLEN] = torc_command_hstrlen,
    [TORC_OP_HINCRBY] = torc_command_hincrby,
    [TORC_OP_HINCRBYFLOAT] = torc_command_hincrbyfloat,
    [TORC_OP_HSCAN] = torc_command_hscan,
    [TORC_OP_HRANDFIELD] = torc_command_hrandfield,
    [TORC_OP_HEXPIRE] = torc_command_hexpire,
    [TORC_OP_HPEXPIRE] = torc_command_hexpire,
    [TORC_OP_HEXPIREAT] = torc_command_hexpire,
    [TORC_OP_HPEXPIREAT] = torc_command_hexpire,
    [TORC_OP_HTTL] = torc_command_httl,
    [TORC_OP_HPTTL] = torc_command_httl,
    [TORC_OP_HEXPIRETIME] = torc_command_httl,
    [TORC_OP_HPEXPIRETIME] = torc_command_httl,
    [TORC_OP_HPERSIST] = torc_command_hpersist,
    [TORC_OP_HGETEX] = torc_command_hgetex,
    [TORC_OP_HSETEX] = torc_command_hsetex,
    [TORC_OP_HGETDEL] = torc_command_hgetdel,
    [TORC_OP_EXPIRE] = torc_command_expire,
    [TORC_OP_PEXPIRE] = torc_command_expire,
    [TORC_OP_EXPIREAT] = torc_command_expire,
    [TORC_OP_PEXPIREAT] = torc_command_expire,
    [TORC_OP_TTL] = torc_command_ttl,
    [TORC_OP_PTTL] = torc_command_ttl,
    [TORC_OP_EXPIRETIME] = torc_command_ttl,
    [TORC_OP_PEXPIRETIME] = torc_command_ttl,
    [TORC_OP_PERSIST] = torc_command_persist,
    [TORC_OP_COPY] = torc_command_copy,
    [TORC_OP_RENAME] = torc_command_rename,
    [TORC_OP_RENAMENX] = torc_command_renamenx,
    [TORC_OP_DEL] = torc_command_del,
    [TORC_OP_EXISTS] = torc_command_exists,
    [TORC_OP_TYPE] = torc_command_type,
    [TORC_OP_SCAN] = torc_command_scan,
    [TORC_OP_DBSIZE] = torc_command_dbsize,
    [TORC_OP_FLUSHALL] = torc_command_flushall,
    [TORC_OP_MEMORY_USAGE] = torc_command_memory_usage,
    [TORC_OP_MEMORY_STATS] = torc_command_memory_stats,
    [TORC_OP_MEMORY_DOCTOR] = torc_command_memory_doctor,
    [TORC_OP_OPTIMIZE] = torc_command_optimize,
    [TORC_OP_OBJECT_ENCODING] = torc_command_object_encoding,
    /* A delete is never slow: what is large is freed in steps. */
    [TORC_OP_UNLINK] = torc_command_del,
    [TORC_OP_TOUCH] = torc_command_touch,
    [TORC_OP_RANDOMKEY] = torc_command_randomkey,
    [TORC_OP_KEYS] = torc_command_keys,
    /* There is one database. */
    [TORC_OP_FLUSHDB] = torc_command_flushall,
    [TORC_GATEWAY_HELLO] = torc_command_hello,
    [TORC_GATEWAY_CLIENT_ID] = torc_command_client_id,
    [TORC_GATEWAY_CLIENT_GETNAME] = torc_command_client_getname,
    [TORC_GATEWAY_CLIENT_SETNAME] = torc_command_client_setname,
    [TORC_GATEWAY_CLIENT_SETINFO] = torc_command_client_setinfo,
};

static const struct torc_gateway_info gateway[TORC_GATEWAY_END - TORC_OP_LIMIT] = {
    [TORC_GATEWAY_HELLO - TORC_OP_LIMIT] = {"hello", -1},
    [TORC_GATEWAY_CLIENT_ID - TORC_OP_LIMIT] = {"client|id", 2},
    [TORC_GATEWAY_CLIENT_GETNAME - TORC_OP_LIMIT] = {"client|getname", 2},
    [TORC_GATEWAY_CLIENT_SETNAME - TORC_OP_LIMIT] = {"client|setname", 3},
    [TORC_GATEWAY_CLIENT_SETINFO - TORC_OP_LIMIT] = {"client|setinfo", 4},
};

static const char *const containers[] = {"memory", "object", "client", "config", NULL};

/* What the hot path asks about each command, worked out when the program is loaded. */
struct traits {
    torc_command_function *run; /* NULL: no such command */
    uint32_t min_strings;       /* words behind the name and the numbers: at least, */
    uint32_t more_strings;      /* and at most so many more */
    uint8_t name_words;         /* 2 for "container|sub" */
    uint8_t n_numbers;          /* of its shape, among the n_fixed words in front of '*' */
    uint8_t n_fixed;
    bool has_key;  /* the first string is a key */
    bool uses_key; /* and it is used: eviction by age takes note */
};
static struct traits traits[TORC_COMMAND_LIMIT];

static bool is_number(char kind)
{
    return kind == 'u' || kind == 'i';
}

/* Does the command use its key? DEL does not, nor does what only tells about a key. TOUCH has many
 * keys and notes them itself. */
static bool uses_key(unsigned op)
{
    return op >= TORC_OP_HSET && op <= TORC_OP_HGETDEL;
}
static_assert(TORC_OP_HSET == 10 && TORC_OP_HGETDEL == 37,
              "the numbers of the commands on hashes are one range");

static void fill_trait(unsigned op, const char *name, const char *shape, int arity)
{
    struct traits *t = &traits[op];
    int least = arity < 0 ? -arity : arity;
    t->run = functions[op];
    t->name_words = strchr(name, '|') != NULL ? 2 : 1;
    t->n_fixed = (uint8_t)strcspn(shape, "*");
    t->n_numbers = 0;
    for (unsigned i = 0; i < t->n_fixed; i++) {
        t->n_numbers += is_number(shape[i]);
    }
    t->has_key = shape[strspn(shape, "*")] == 'k';
    t->uses_key = t->has_key && uses_key(op);
    t->min_strings = (uint32_t)(least - t->name_words - t->n_numbers);
    t->more_strings = arity < 0 ? INT32_MAX : 0;
}

__attribute__((constructor)) static void fill_traits(void)
{
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        if (functions[op] == NULL) {
            continue;
        }
        if (op < TORC_OP_LIMIT) {
            const struct torc_op_info *info = torc_op_info((uint8_t)op);
            fill_trait(op, info->name, info->shape, info->arity);
        } else {
            const struct torc_gateway_info *info = torc_gateway_info(op);
            fill_trait(op, info->name, "", info->arity);
        }
    }
}

const struct torc_gateway_info *torc_gateway_info(unsigned op)
{
    assert(op >= TORC_OP_LIMIT && op < TORC_GATEWAY_END);
    return &gateway[op - TORC_OP_LIMIT];
}

const char *torc_command_container(size_t i)
{
    return containers[i];
}

const char *torc_command_name(unsigned op)
{
    if (op >= TORC_GATEWAY_END) {
        return NULL;
    }
    return op < TORC_OP_LIMIT ? torc_op_info((uint8_t)op)->name : gateway[op - TORC_OP_LIMIT].name;
}

bool torc_word_is(struct torc_slice word, const char *what)
{
    return word.len == strlen(what) && strncasecmp((const char *)word.data, what, word.len) == 0;
}

/* Digits only, up to 2^64 - 1. */
static bool take_digits(struct torc_slice word, uint64_t *out_value)
{
    uint64_t value = 0;
    if (word.len == 0) {
        return false;
    }
    for (size_t i = 0; i < word.len; i++) {
        unsigned digit = (unsigned)word.data[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out_value = value;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool torc_word_cursor(struct torc_slice word, uint64_t *out_value)
{
    while (word.len != 0 && is_blank((char)word.data[0])) {
        word = torc_slice_of(word.data + 1, word.len - 1);
    }
    return take_digits(word, out_value);
}

bool torc_word_integer(struct torc_slice word, int64_t *out_value)
{
    bool negative = word.len != 0 && word.data[0] == '-';
    struct torc_slice digits = torc_slice_of(word.data + negative, word.len - negative);
    uint64_t magnitude;
    if (!take_digits(digits, &magnitude) || (digits.data[0] == '0' && word.len > 1) ||
        magnitude > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *out_value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* --- from words to a call --- */

/* The number of a command with this whole name, as "container|sub"; TORC_OP_NONE. */
static unsigned find_name(const char *name, size_t len)
{
    unsigned op = torc_op_find(name, len);
    for (unsigned g = TORC_OP_LIMIT; op == TORC_OP_NONE && g < TORC_GATEWAY_END; g++) {
        if (torc_word_is(torc_slice_of(name, len), gateway[g - TORC_OP_LIMIT].name)) {
            op = g;
        }
    }
    return op;
}

static const char *find_container(struct torc_slice word)
{
    for (size_t i = 0; containers[i] != NULL; i++) {
        if (torc_word_is(word, containers[i])) {
            return containers[i];
        }
    }
    return NULL;
}

/* "container|sub"; TORC_OP_NONE. */
static unsigned find_subcommand(struct torc_slice container, struct torc_slice sub)
{
    char name[64];
    if (sub.len >= sizeof name / 2) {
        return TORC_OP_NONE;
    }
    memcpy(name, container.data, container.len);
    name[container.len] = '|';
    if (sub.len != 0) {
        memcpy(name + container.len + 1, sub.data, sub.len);
    }
    return find_name(name, container.len + 1 + sub.len);
}

unsigned torc_command_find(const struct torc_slice *words, uint32_t n_words)
{
    const char *container = find_container(words[0]);
    if (container != NULL) {
        return n_words > 1 ? find_subcommand(torc_slice_str(container), words[1]) : TORC_OP_NONE;
    }
    unsigned op = find_name((const char *)words[0].data, words[0].len);
    return op != TORC_OP_NONE && traits[op].name_words == 1 ? op : TORC_OP_NONE;
}

static void answer_refusal(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    torc_sink_fault_with(call->sink, call->refusal, call->refusal_words[0], call->refusal_words[1]);
}

static void refuse(struct torc_call *call, enum torc_fault fault, struct torc_slice first,
                   struct torc_slice second)
{
    call->run = answer_refusal;
    call->has_key = false;
    call->counted_as = 0;
    call->refusal = fault;
    call->refusal_words[0] = first;
    call->refusal_words[1] = second;
}

void torc_call_refuse(struct torc_call *call, enum torc_fault fault)
{
    refuse(call, fault, torc_slice_str(""), torc_slice_str(""));
}

static void refuse_unknown(struct torc_call *call, const struct torc_slice *words, uint32_t n_words,
                           char *scratch)
{
    /* As Redis: the name and the arguments together are cut at about 128 bytes each. */
    const size_t most = 128;
    size_t len = 0;
    for (uint32_t i = 1; i < n_words && len < most; i++) {
        size_t part = torc_min_u64(words[i].len, most - len);
        scratch[len++] = '\'';
        memcpy(scratch + len, words[i].data, part);
        len += part;
        scratch[len++] = '\'';
        scratch[len++] = ' ';
    }
    struct torc_slice name = torc_slice_of(words[0].data, torc_min_u64(words[0].len, most));
    refuse(call, len > 0 ? TORC_FAULT_UNKNOWN_COMMAND : TORC_FAULT_UNKNOWN_COMMAND_ALONE, name,
           torc_slice_of(scratch, len));
}

/* A command that torc_op_find() does not know by its first word: one of the gateway's, a container
 * with its subcommand, or nothing. Returns its number, or 0: the call is refused. */
static unsigned find_rare(struct torc_call *call, const struct torc_slice *words, uint32_t n_words,
                          char *scratch)
{
    const char *container = find_container(words[0]);
    if (container == NULL) {
        unsigned op = find_name((const char *)words[0].data, words[0].len);
        if (op == TORC_OP_NONE || traits[op].name_words != 1) {
            refuse_unknown(call, words, n_words, scratch);
            return TORC_OP_NONE;
        }
        return op;
    }
    struct torc_slice container_name = torc_slice_str(container);
    if (n_words < 2) {
        refuse(call, TORC_FAULT_ARITY, container_name, torc_slice_str(""));
        return TORC_OP_NONE;
    }
    unsigned op = find_subcommand(container_name, words[1]);
    if (op == TORC_OP_NONE) {
        for (size_t i = 0; i < container_name.len; i++) {
            scratch[i] = (char)(container[i] - 'a' + 'A');
        }
        refuse(call, TORC_FAULT_UNKNOWN_SUBCOMMAND,
               torc_slice_of(words[1].data, torc_min_u64(words[1].len, 128)),
               torc_slice_of(scratch, container_name.len));
    }
    return op;
}

/* The call is of command `op`, with n_strings words behind name and numbers. False: refused. */
static inline bool admit(struct torc_service *service, struct torc_call *call, unsigned op,
                         uint32_t n_strings)
{
    const struct traits *t = &traits[op];
    if (TORC_UNLIKELY(n_strings - t->min_strings > t->more_strings)) {
        service->stats.commands[op].rejected++;
        refuse(call, TORC_FAULT_ARITY, torc_slice_str(torc_command_name(op)), torc_slice_str(""));
        return false;
    }
    call->run = t->run;
    call->has_key = t->has_key && n_strings != 0;
    call->counted_as = (uint8_t)op;
    return true;
}

/* Take the numbers out of the words that a command's shape has in front of '*': at most
 * TORC_MESSAGE_NUMBERS. The strings among them move up, to where those behind begin. */
static void take_numbers(struct torc_call *call, struct torc_slice *words, const struct traits *t)
{
    const char *shape = torc_op_info(call->request.op)->shape;
    unsigned number = t->n_numbers;
    unsigned to = t->n_fixed;
    /* Backwards, so that of two bad numbers the first is complained of. */
    for (unsigned i = t->n_fixed; i-- > 0;) {
        if (!is_number(shape[i])) {
            words[--to] = words[i];
            continue;
        }
        int64_t value = 0;
        number--;
        if (shape[i] == 'u') {
            if (!torc_word_cursor(words[i], &call->request.numbers[number])) {
                torc_call_refuse(call, TORC_FAULT_BAD_CURSOR);
            }
        } else if (torc_word_integer(words[i], &value)) {
            call->request.numbers[number] = (uint64_t)value;
        } else {
            torc_call_refuse(call, TORC_FAULT_NOT_INTEGER);
        }
    }
}

void torc_call_from_words(struct torc_service *service, struct torc_slice *words, uint32_t n_words,
                          char *scratch, struct torc_call *out_call)
{
    struct torc_call *call = out_call;
    unsigned op = torc_op_find((const char *)words[0].data, words[0].len);
    if (TORC_UNLIKELY(op == TORC_OP_NONE || traits[op].name_words != 1)) {
        op = find_rare(call, words, n_words, scratch);
        if (op == TORC_OP_NONE) {
            return;
        }
    }
    call->request.op = (uint8_t)op;
    /* Too few words wrap around to more than more_strings. */
    uint32_t at = (uint32_t)traits[op].name_words + traits[op].n_numbers;
    if (TORC_UNLIKELY(!admit(service, call, op, n_words - at))) {
        return;
    }
    if (TORC_UNLIKELY(traits[op].n_numbers != 0)) {
        take_numbers(call, words + traits[op].name_words, &traits[op]);
    }
    call->request.strings = words + at;
    call->request.n_strings = n_words - at;
}

void torc_call_check(struct torc_service *service, struct torc_call *call)
{
    unsigned op = call->request.op;
    if (TORC_UNLIKELY(traits[op].run == NULL)) {
        torc_call_refuse(call, TORC_FAULT_UNKNOWN_OP);
        return;
    }
    (void)admit(service, call, op, call->request.n_strings);
}

/* --- running --- */

static inline void hash_key(const struct torc_service *service, struct torc_call *call)
{
    if (call->has_key) {
        call->key = torc_keyspace_key(service->keyspace, call->request.strings[0]);
    }
}

/* Apart, so that a single call does not save the registers of these loops. */
static __attribute__((noinline)) void prepare_many(const struct torc_service *service,
                                                   struct torc_call *calls, unsigned n)
{
    if (service->fits_cache) {
        for (unsigned i = 0; i < n; i++) {
            hash_key(service, &calls[i]);
        }
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        if (calls[i].has_key) {
            calls[i].key = torc_keyspace_key(service->keyspace, calls[i].request.strings[0]);
            torc_keyspace_prefetch_line(service->keyspace, &calls[i].key);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (calls[i].has_key) {
            torc_keyspace_prefetch_record(service->keyspace, &calls[i].key);
        }
    }
}

void torc_calls_prepare(const struct torc_service *service, struct torc_call *calls, unsigned n)
{
    if (n == 1) {
        hash_key(service, calls);
    } else if (n != 0) {
        prepare_many(service, calls, n);
    }
}

static __attribute__((noinline)) void run_timed(struct torc_service *service,
                                                struct torc_call *call)
{
    struct torc_command_stats *mine = &service->stats.commands[call->counted_as];
    uint64_t start = torc_clock_ticks(&service->facts.clock);
    call->run(service, call);
    mine->samples++;
    mine->sample_ticks += torc_clock_ticks(&service->facts.clock) - start;
}

static __attribute__((noinline)) void count_fault(struct torc_stats *stats, struct torc_call *call)
{
    stats->commands[call->counted_as].failed++;
    stats->faults[call->sink->fault]++;
    call->sink->fault = TORC_FAULT_NONE;
}

void torc_call_run(struct torc_service *service, struct torc_call *call)
{
    struct torc_stats *stats = &service->stats;
    stats->commands[call->counted_as].calls++;
    if (TORC_UNLIKELY(stats->commands_total++ % TORC_STATS_SAMPLE == 0)) {
        run_timed(service, call);
    } else {
        call->run(service, call);
    }
    if (TORC_UNLIKELY(service->evictor.policy == TORC_EVICT_LRU) && call->has_key &&
        traits[call->counted_as].uses_key) {
        torc_keyspace_touch(service->keyspace, &call->key);
    }
    if (TORC_UNLIKELY(call->sink->fault != TORC_FAULT_NONE)) {
        count_fault(stats, call);
    }
}

void torc_call_repeat(struct torc_service *service, struct torc_call *call)
{
    call->run(service, call);
    if (TORC_UNLIKELY(call->sink->fault != TORC_FAULT_NONE)) {
        count_fault(&service->stats, call);
    }
}

bool torc_call_is_repeatable(const struct torc_call *call)
{
    unsigned op = call->counted_as;
    return op >= TORC_OP_LIMIT || (torc_op_info((uint8_t)op)->flags & TORC_OP_WRITE) == 0;
}
