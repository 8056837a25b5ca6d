/* SPDX-License-Identifier: Apache-2.0
 *
 * Making requests; replies are checked in load_check.c.
 */
#include "perf/load/load_ops.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "perf/load/load_ops_private.h"

#define LONG_CHUNK       128u   /* fields of one command where a hash does not fit one */
#define WHOLE_FIELDS_MAX 65536u /* a hash of more is loaded by LONG_CHUNK at a time */
#define WHOLE_READ_MAX   4096u  /* a hash of more is verified by LONG_CHUNK at a time */
#define BLOCK_MAX        1024u
#define SCRATCH_MAX      (256u * TORC_MIB)
#define BYTES2_DEFAULT   64u
#define ASK_DEFAULT      10u
#define TTL_DEFAULT_MS   1000000u
#define SPREAD_MS        100u /* fields loaded with an absolute time end within so long */

static const struct {
    const char *name;
    const char *about;
} infos[TORC_LOAD_OPS] = {
    [TORC_LOAD_OP_PING] = {"ping", "PING"},
    [TORC_LOAD_OP_LOAD_WHOLE] = {"load-whole", "one HSET per hash (million: 128 fields per HSET)"},
    [TORC_LOAD_OP_LOAD_FIELDS] = {"load-fields", "one HSET per field, hash after hash"},
    [TORC_LOAD_OP_HGET] = {"hget", "HGET of a field that is there"},
    [TORC_LOAD_OP_HGET_MISS] = {"hget-miss", "HGET of absent fields of the same length"},
    [TORC_LOAD_OP_HSET_SAME] = {"hset-same", "HSET of the same length, other bytes each time"},
    [TORC_LOAD_OP_HSET_WIDTH] = {"hset-width", "HSET to --value-bytes2, and later back"},
    [TORC_LOAD_OP_HMGET] = {"hmget", "HMGET of --ask different fields of a hash"},
    [TORC_LOAD_OP_HGETALL] = {"hgetall", "HGETALL of a hash"},
    [TORC_LOAD_OP_HEXISTS] = {"hexists", "HEXISTS of a field that is there"},
    [TORC_LOAD_OP_HSTRLEN] = {"hstrlen", "HSTRLEN of a field that is there"},
    [TORC_LOAD_OP_HLEN] = {"hlen", "HLEN of a hash"},
    [TORC_LOAD_OP_HINCRBY] = {"hincrby", "HINCRBY of field 'n' of a hash of its own"},
    [TORC_LOAD_OP_HDEL_HSET] = {"hdel-hset", "HDEL of a field, and later HSET that puts it back"},
    [TORC_LOAD_OP_LOAD_WHOLE_EX] = {"load-whole-ex", "load-whole by HSETEX PXAT; all end at --ttl, "
                                                     "within 100 ms"},
    [TORC_LOAD_OP_LOAD_FIELDS_EX] = {"load-fields-ex", "one HSETEX PX per field, hash after hash"},
    [TORC_LOAD_OP_HSETEX] = {"hsetex", "HSETEX PX of a field that is there"},
    [TORC_LOAD_OP_HSETEX_AT] = {"hsetex-at", "HSETEX PXAT of a field that is there"},
    [TORC_LOAD_OP_HGETEX] = {"hgetex", "HGETEX PX of a field that is there"},
    [TORC_LOAD_OP_HEXPIRE] = {"hexpire", "HPEXPIRE of a field that is there"},
    [TORC_LOAD_OP_HDEL_HSETEX] = {"hdel-hsetex", "hdel-hset, put back by HSETEX PX"},
    [TORC_LOAD_OP_INSERT] = {"insert", "HSET of new fields, one more in each hash in turn"},
    [TORC_LOAD_OP_DELETE] = {"delete", "HDEL of what insert put in, in the same order"},
    [TORC_LOAD_OP_GROW] = {"grow", "HSET of each field to --value-bytes2, scattered"},
    [TORC_LOAD_OP_MIXED] = {"mixed", "quarters of insert, update, delete, grow; on loaded data"},
    [TORC_LOAD_OP_VERIFY] = {"verify", "read all back and check; --salt: all of that salt"},
    [TORC_LOAD_OP_FLUSH] = {"flush", "FLUSHALL"},
    [TORC_LOAD_OP_DELETE_KEYS] = {"delete-keys", "DEL of each hash"},
};

const char *torc_load_op_name(enum torc_load_op op)
{
    return infos[op].name;
}

const char *torc_load_op_about(enum torc_load_op op)
{
    return infos[op].about;
}

int torc_load_op_find(const char *name, enum torc_load_op *out_op)
{
    for (unsigned op = 0; op < TORC_LOAD_OPS; op++) {
        if (strcmp(infos[op].name, name) == 0) {
            *out_op = (enum torc_load_op)op;
            return 0;
        }
    }
    return -ENOENT;
}

const char *torc_load_ops_kind_name(unsigned kind)
{
    static const char *const names[TORC_LOAD_MIXED_KINDS] = {
        [TORC_LOAD_MIXED_INSERT] = "insert",
        [TORC_LOAD_MIXED_UPDATE] = "update",
        [TORC_LOAD_MIXED_DELETE] = "delete",
        [TORC_LOAD_MIXED_GROW] = "grow",
    };
    return names[kind];
}

/* --- putting a request together --- */

/* The key of a hash as the request's first word. */
static void put_key(struct torc_load_ops *ops, uint64_t hash)
{
    struct torc_load_scratch *scratch = &ops->scratch;
    scratch->words[0] = torc_mem(scratch->key, torc_shape_key(ops->spec.shape, hash, scratch->key));
}

/* The name of a field into place `item`; borrowed from there. */
static struct torc_bytes name_at(struct torc_load_ops *ops, size_t item, uint32_t field)
{
    uint8_t *name = ops->scratch.names + item * TORC_SHAPE_FIELD_BYTES;
    return torc_mem(name, torc_shape_field(ops->spec.shape, field, name));
}

static struct torc_bytes value_at(struct torc_load_ops *ops, size_t item,
                                  struct torc_shape_cell cell, uint64_t salt, uint32_t bytes)
{
    uint8_t *value = ops->scratch.values + item * ops->scratch.value_room;
    torc_shape_value(cell, salt, bytes, value);
    return torc_mem(value, bytes);
}

static struct torc_load_request request_of(const struct torc_load_ops *ops,
                                           enum torc_load_verb verb, size_t n_words)
{
    return (struct torc_load_request){
        .verb = verb, .n_words = n_words, .words = ops->scratch.words};
}

/* A command that names a hash only. */
static struct torc_load_request ask_hash(struct torc_load_ops *ops, struct torc_load_flight *flight,
                                         enum torc_load_verb verb, uint64_t hash, int64_t expected)
{
    *flight = (struct torc_load_flight){.verb = verb, .cell.hash = hash, .expected = expected};
    put_key(ops, hash);
    return request_of(ops, verb, 1);
}

/* A command that names one field. */
static struct torc_load_request ask_field(struct torc_load_ops *ops,
                                          struct torc_load_flight *flight, enum torc_load_verb verb,
                                          struct torc_shape_cell cell, int64_t expected)
{
    *flight = (struct torc_load_flight){.verb = verb, .cell = cell, .expected = expected};
    put_key(ops, cell.hash);
    ops->scratch.words[1] = name_at(ops, 0, cell.field);
    return request_of(ops, verb, 2);
}

/* HSET of one field; `created` is what it answers. */
static struct torc_load_request set_field(struct torc_load_ops *ops,
                                          struct torc_load_flight *flight,
                                          struct torc_shape_cell cell, uint64_t salt,
                                          uint32_t bytes, int64_t created)
{
    (void)ask_field(ops, flight, TORC_LOAD_HSET, cell, created);
    ops->scratch.words[2] = value_at(ops, 0, cell, salt, bytes);
    return request_of(ops, TORC_LOAD_HSET, 3);
}

/* The head of a command on times: the time as an option, or where the command has it, then FIELDS
 * and their number. Returns the words that it has. */
static size_t put_time_head(struct torc_load_ops *ops, enum torc_load_verb verb, uint64_t hash,
                            size_t n_fields, int64_t ms, bool is_absolute)
{
    struct torc_load_scratch *scratch = &ops->scratch;
    (void)snprintf(scratch->time, sizeof scratch->time, "%" PRId64, ms);
    (void)snprintf(scratch->number, sizeof scratch->number, "%zu", n_fields);
    put_key(ops, hash);
    size_t n = 1;
    if (verb != TORC_LOAD_HPEXPIRE) {
        scratch->words[n++] = torc_str(is_absolute ? "PXAT" : "PX");
    }
    scratch->words[n++] = torc_str(scratch->time);
    scratch->words[n++] = torc_str("FIELDS");
    scratch->words[n++] = torc_str(scratch->number);
    return n;
}

/* A command on the time of one field. HSETEX gets a value of `bytes` with `salt`. */
static struct torc_load_request time_field(struct torc_load_ops *ops,
                                           struct torc_load_flight *flight,
                                           enum torc_load_verb verb, struct torc_shape_cell cell,
                                           uint64_t salt, bool is_absolute)
{
    int64_t ms = (int64_t)(is_absolute ? ops->ends_at_ms : ops->spec.ttl_ms);
    size_t n = put_time_head(ops, verb, cell.hash, 1, ms, is_absolute);
    ops->scratch.words[n++] = name_at(ops, 0, cell.field);
    if (verb == TORC_LOAD_HSETEX) {
        uint32_t bytes = torc_shape_value_bytes(ops->spec.shape, cell);
        ops->scratch.words[n++] = value_at(ops, 0, cell, salt, bytes);
    }
    *flight = (struct torc_load_flight){.verb = verb, .cell = cell, .expected = 1, .count = 1};
    struct torc_load_request request = request_of(ops, verb, n);
    request.ms = ms;
    request.is_absolute = is_absolute;
    return request;
}

/* HMGET of `count` fields from `first` on, `stride` apart, modulo the hash's fields. */
static struct torc_load_request ask_fields(struct torc_load_ops *ops,
                                           struct torc_load_flight *flight, uint64_t hash,
                                           uint32_t first, uint32_t count, uint32_t stride)
{
    *flight = (struct torc_load_flight){
        .verb = TORC_LOAD_HMGET, .cell = {hash, first}, .count = count, .stride = stride};
    put_key(ops, hash);
    uint32_t fields = torc_shape_fields(ops->spec.shape, hash);
    uint64_t field = first;
    for (uint32_t i = 0; i < count; i++) {
        ops->scratch.words[1 + i] = name_at(ops, i, (uint32_t)field);
        field += stride;
        field -= field >= fields ? fields : 0;
    }
    return request_of(ops, TORC_LOAD_HMGET, 1 + (size_t)count);
}

/* --- choosing --- */

static struct torc_shape_cell choose_cell(struct torc_load_ops *ops)
{
    const struct torc_shape *shape = ops->spec.shape;
    struct torc_shape_cell cell = {.hash = torc_random_below(&ops->random, shape->hashes)};
    uint32_t fields = torc_shape_fields(shape, cell.hash);
    switch (ops->spec.choice) {
    case TORC_LOAD_RANDOM:
        cell.field = (uint32_t)torc_random_below(&ops->random, fields);
        break;
    case TORC_LOAD_FIRST:
        break;
    case TORC_LOAD_MIDDLE:
        cell.field = fields / 2;
        break;
    case TORC_LOAD_LAST:
        cell.field = fields - 1;
        break;
    case TORC_LOAD_INDEX:
        cell.field = ops->spec.field_index;
        break;
    }
    return cell;
}

/* A random step that visits all of `fields` before it comes to one again: a prime that does not
 * divide their number. */
static uint32_t choose_stride(struct torc_load_ops *ops, uint32_t fields)
{
    static const uint32_t primes[] = {7841, 7853, 7867, 7873, 7877, 7879, 7883, 7901,
                                      7907, 7919, 7927, 7933, 7937, 7949, 7951, 7963};
    size_t n = sizeof primes / sizeof primes[0];
    size_t at = torc_random_below(&ops->random, n);
    /* Ends: not all of them divide a number of 32 bits. */
    while (fields % primes[at] == 0) {
        at = (at + 1) % n;
    }
    return primes[at] % fields;
}

/* Field n of the stream that insert makes and delete follows. */
static struct torc_shape_cell new_cell(const struct torc_load_ops *ops, uint64_t n)
{
    const struct torc_shape *shape = ops->spec.shape;
    struct torc_shape_cell cell = {.hash = torc_scatter_at(&ops->hashes, n % shape->hashes)};
    cell.field = torc_shape_fields(shape, cell.hash) + (uint32_t)(n / shape->hashes);
    return cell;
}

/* --- operations of several requests --- */

static struct torc_load_request make_load_whole(struct torc_load_ops *ops, uint64_t n,
                                                struct torc_load_flight *flight)
{
    const struct torc_shape *shape = ops->spec.shape;
    uint64_t hash = n / ops->chunks;
    uint64_t first = n % ops->chunks * ops->chunk;
    uint64_t count = torc_min_u64(ops->chunk, torc_shape_fields(shape, hash) - first);
    bool has_time = ops->spec.op == TORC_LOAD_OP_LOAD_WHOLE_EX;
    enum torc_load_verb verb = has_time ? TORC_LOAD_HSETEX : TORC_LOAD_HSET;
    int64_t ms = (int64_t)(ops->ends_at_ms + n % SPREAD_MS);
    size_t head = TORC_LOAD_HEAD_WORDS;
    put_key(ops, hash);
    if (has_time) {
        head = put_time_head(ops, verb, hash, count, ms, true);
    }
    for (size_t i = 0; i < count; i++) {
        struct torc_shape_cell cell = {hash, (uint32_t)(first + i)};
        ops->scratch.words[head + 2 * i] = name_at(ops, i, cell.field);
        ops->scratch.words[head + 1 + 2 * i] =
            value_at(ops, i, cell, ops->spec.salt, torc_shape_value_bytes(shape, cell));
    }
    *flight = (struct torc_load_flight){
        .verb = verb, .cell = {hash, (uint32_t)first}, .expected = has_time ? 1 : (int64_t)count};
    struct torc_load_request request = request_of(ops, verb, head + 2 * count);
    request.ms = ms;
    request.is_absolute = has_time;
    return request;
}

static struct torc_load_request make_verify(struct torc_load_ops *ops, uint64_t n,
                                            struct torc_load_flight *flight)
{
    uint64_t hash = n / ops->chunks;
    uint64_t chunk = n % ops->chunks;
    uint32_t fields = torc_shape_fields(ops->spec.shape, hash);
    if (ops->verifies_whole) {
        return ask_hash(ops, flight, TORC_LOAD_HGETALL, hash, 0);
    }
    /* The values by pieces; that there are no other fields is seen by their number. */
    if (chunk == ops->chunks - 1) {
        return ask_hash(ops, flight, TORC_LOAD_HLEN, hash, fields);
    }
    uint32_t first = (uint32_t)(chunk * ops->chunk);
    return ask_fields(ops, flight, hash, first, (uint32_t)torc_min_u64(ops->chunk, fields - first),
                      1);
}

static struct torc_load_request make_hmget(struct torc_load_ops *ops,
                                           struct torc_load_flight *flight)
{
    uint64_t hash = torc_random_below(&ops->random, ops->spec.shape->hashes);
    uint32_t fields = torc_shape_fields(ops->spec.shape, hash);
    uint32_t first = (uint32_t)torc_random_below(&ops->random, fields);
    return ask_fields(ops, flight, hash, first, ops->spec.ask, choose_stride(ops, fields));
}

/* The field that request n of an operation in blocks is about. */
static struct torc_shape_cell block_cell(const struct torc_load_ops *ops, uint64_t n,
                                         bool *out_is_back)
{
    uint64_t within = n % (2 * ops->block);
    uint64_t at = n / (2 * ops->block) * ops->block + within % ops->block;
    *out_is_back = within >= ops->block;
    const struct torc_shape *shape = ops->spec.shape;
    return torc_shape_cell(shape, torc_scatter_at(&ops->cells, at % shape->cells));
}

static struct torc_load_request make_in_blocks(struct torc_load_ops *ops, uint64_t n,
                                               struct torc_load_flight *flight)
{
    bool is_back = false;
    struct torc_shape_cell cell = block_cell(ops, n, &is_back);
    uint32_t own_bytes = torc_shape_value_bytes(ops->spec.shape, cell);
    uint64_t salt = ops->spec.salt + 1 + n;
    if (ops->spec.op == TORC_LOAD_OP_HSET_WIDTH) {
        return set_field(ops, flight, cell, salt, is_back ? own_bytes : ops->spec.value_bytes2, 0);
    }
    if (is_back && ops->spec.op == TORC_LOAD_OP_HDEL_HSETEX) {
        return time_field(ops, flight, TORC_LOAD_HSETEX, cell, salt, false);
    }
    return is_back ? set_field(ops, flight, cell, salt, own_bytes, 1)
                   : ask_field(ops, flight, TORC_LOAD_HDEL, cell, 1);
}

static struct torc_load_request make_hget_miss(struct torc_load_ops *ops,
                                               struct torc_load_flight *flight)
{
    struct torc_shape_cell cell = choose_cell(ops);
    *flight = (struct torc_load_flight){.verb = TORC_LOAD_HGET, .cell = cell, .is_absent = true};
    put_key(ops, cell.hash);
    size_t len = torc_shape_absent(ops->spec.shape, cell.field, torc_random_next(&ops->random),
                                   ops->scratch.names);
    ops->scratch.words[1] = torc_mem(ops->scratch.names, len);
    return request_of(ops, TORC_LOAD_HGET, 2);
}

static struct torc_load_request make_hincrby(struct torc_load_ops *ops,
                                             struct torc_load_flight *flight)
{
    *flight = (struct torc_load_flight){.verb = TORC_LOAD_HINCRBY};
    ops->scratch.words[0] = torc_str("n:000000000000");
    ops->scratch.words[1] = torc_str("n");
    ops->scratch.words[2] = torc_str("1");
    return request_of(ops, TORC_LOAD_HINCRBY, 3);
}

static struct torc_load_request make_mixed(struct torc_load_ops *ops, uint64_t n,
                                           struct torc_load_flight *flight)
{
    struct torc_load_mixed_step step = torc_load_mixed_next(ops->mixed, &ops->random);
    struct torc_load_request request =
        step.kind == TORC_LOAD_MIXED_DELETE
            ? ask_field(ops, flight, TORC_LOAD_HDEL, step.cell, 1)
            : set_field(ops, flight, step.cell, ops->spec.salt + 1 + n, step.bytes,
                        step.kind == TORC_LOAD_MIXED_INSERT ? 1 : 0);
    flight->kind = (uint8_t)step.kind;
    return request;
}

void torc_load_ops_make(struct torc_load_ops *ops, uint64_t n, struct torc_load_flight *out_flight,
                        struct torc_load_request *out_request)
{
    const struct torc_shape *shape = ops->spec.shape;
    uint64_t salt = ops->spec.salt;
    struct torc_load_flight *flight = out_flight;
    struct torc_load_request request = {.verb = TORC_LOAD_PING};
    struct torc_shape_cell cell;
    uint64_t hash = 0;
    switch (ops->spec.op) {
    case TORC_LOAD_OP_PING:
        *flight = (struct torc_load_flight){.verb = TORC_LOAD_PING};
        break;
    case TORC_LOAD_OP_LOAD_WHOLE:
    case TORC_LOAD_OP_LOAD_WHOLE_EX:
        request = make_load_whole(ops, n, flight);
        break;
    case TORC_LOAD_OP_LOAD_FIELDS:
        cell = torc_shape_cell(shape, n);
        request = set_field(ops, flight, cell, salt, torc_shape_value_bytes(shape, cell), 1);
        break;
    case TORC_LOAD_OP_HGET:
        request = ask_field(ops, flight, TORC_LOAD_HGET, choose_cell(ops), 0);
        break;
    case TORC_LOAD_OP_HGET_MISS:
        request = make_hget_miss(ops, flight);
        break;
    case TORC_LOAD_OP_HSET_SAME:
        cell = choose_cell(ops);
        request =
            set_field(ops, flight, cell, salt + 1 + n, torc_shape_value_bytes(shape, cell), 0);
        break;
    case TORC_LOAD_OP_LOAD_FIELDS_EX:
        request = time_field(ops, flight, TORC_LOAD_HSETEX, torc_shape_cell(shape, n), salt, false);
        break;
    case TORC_LOAD_OP_HSETEX:
    case TORC_LOAD_OP_HSETEX_AT:
        request = time_field(ops, flight, TORC_LOAD_HSETEX, choose_cell(ops), salt + 1 + n,
                             ops->spec.op == TORC_LOAD_OP_HSETEX_AT);
        break;
    case TORC_LOAD_OP_HGETEX:
        request = time_field(ops, flight, TORC_LOAD_HGETEX, choose_cell(ops), 0, false);
        break;
    case TORC_LOAD_OP_HEXPIRE:
        request = time_field(ops, flight, TORC_LOAD_HPEXPIRE, choose_cell(ops), 0, false);
        break;
    case TORC_LOAD_OP_HSET_WIDTH:
    case TORC_LOAD_OP_HDEL_HSET:
    case TORC_LOAD_OP_HDEL_HSETEX:
        request = make_in_blocks(ops, n, flight);
        break;
    case TORC_LOAD_OP_HMGET:
        request = make_hmget(ops, flight);
        break;
    case TORC_LOAD_OP_HGETALL:
        hash = torc_random_below(&ops->random, shape->hashes);
        request = ask_hash(ops, flight, TORC_LOAD_HGETALL, hash, 0);
        break;
    case TORC_LOAD_OP_HEXISTS:
        request = ask_field(ops, flight, TORC_LOAD_HEXISTS, choose_cell(ops), 1);
        break;
    case TORC_LOAD_OP_HSTRLEN:
        cell = choose_cell(ops);
        request =
            ask_field(ops, flight, TORC_LOAD_HSTRLEN, cell, torc_shape_value_bytes(shape, cell));
        break;
    case TORC_LOAD_OP_HLEN:
        hash = torc_random_below(&ops->random, shape->hashes);
        request = ask_hash(ops, flight, TORC_LOAD_HLEN, hash, torc_shape_fields(shape, hash));
        break;
    case TORC_LOAD_OP_HINCRBY:
        request = make_hincrby(ops, flight);
        break;
    case TORC_LOAD_OP_INSERT:
        cell = new_cell(ops, n);
        request = set_field(ops, flight, cell, salt, torc_shape_value_bytes(shape, cell), 1);
        break;
    case TORC_LOAD_OP_DELETE:
        request = ask_field(ops, flight, TORC_LOAD_HDEL, new_cell(ops, n), 1);
        break;
    case TORC_LOAD_OP_GROW:
        cell = torc_shape_cell(shape, torc_scatter_at(&ops->cells, n));
        request = set_field(ops, flight, cell, salt, ops->spec.value_bytes2, 0);
        break;
    case TORC_LOAD_OP_MIXED:
        request = make_mixed(ops, n, flight);
        break;
    case TORC_LOAD_OP_VERIFY:
        request = make_verify(ops, n, flight);
        break;
    case TORC_LOAD_OP_FLUSH:
        *flight = (struct torc_load_flight){.verb = TORC_LOAD_FLUSHALL};
        request.verb = TORC_LOAD_FLUSHALL;
        break;
    case TORC_LOAD_OP_DELETE_KEYS:
        request = ask_hash(ops, flight, TORC_LOAD_DEL, n, 1);
        break;
    case TORC_LOAD_OPS:
        break;
    }
    *out_request = request;
}

/* --- creating --- */

uint64_t torc_load_ops_limit(const struct torc_load_ops *ops)
{
    const struct torc_shape *shape = ops->spec.shape;
    uint64_t new_names = shape->field_names - shape->fields_most;
    switch (ops->spec.op) {
    case TORC_LOAD_OP_LOAD_WHOLE:
    case TORC_LOAD_OP_LOAD_WHOLE_EX:
    case TORC_LOAD_OP_VERIFY:
        return shape->hashes * ops->chunks;
    case TORC_LOAD_OP_LOAD_FIELDS:
    case TORC_LOAD_OP_LOAD_FIELDS_EX:
    case TORC_LOAD_OP_GROW:
        return shape->cells;
    case TORC_LOAD_OP_INSERT:
    case TORC_LOAD_OP_DELETE:
    case TORC_LOAD_OP_MIXED: /* were all of them inserts */
        return new_names * shape->hashes;
    case TORC_LOAD_OP_DELETE_KEYS:
        return shape->hashes;
    case TORC_LOAD_OP_FLUSH:
        return 1;
    case TORC_LOAD_OP_PING:
    case TORC_LOAD_OP_HGET:
    case TORC_LOAD_OP_HGET_MISS:
    case TORC_LOAD_OP_HSET_SAME:
    case TORC_LOAD_OP_HSET_WIDTH:
    case TORC_LOAD_OP_HMGET:
    case TORC_LOAD_OP_HGETALL:
    case TORC_LOAD_OP_HEXISTS:
    case TORC_LOAD_OP_HSTRLEN:
    case TORC_LOAD_OP_HLEN:
    case TORC_LOAD_OP_HINCRBY:
    case TORC_LOAD_OP_HDEL_HSET:
    case TORC_LOAD_OP_HSETEX:
    case TORC_LOAD_OP_HSETEX_AT:
    case TORC_LOAD_OP_HGETEX:
    case TORC_LOAD_OP_HEXPIRE:
    case TORC_LOAD_OP_HDEL_HSETEX:
    case TORC_LOAD_OPS:
        break;
    }
    return UINT64_MAX;
}

uint64_t torc_load_ops_period(const struct torc_load_ops *ops)
{
    bool is_in_blocks = ops->spec.op == TORC_LOAD_OP_HSET_WIDTH ||
                        ops->spec.op == TORC_LOAD_OP_HDEL_HSET ||
                        ops->spec.op == TORC_LOAD_OP_HDEL_HSETEX;
    return is_in_blocks ? 2 * ops->block : 1;
}

static bool is_load_whole(const struct torc_load_ops *ops)
{
    return ops->spec.op == TORC_LOAD_OP_LOAD_WHOLE || ops->spec.op == TORC_LOAD_OP_LOAD_WHOLE_EX;
}

/* Requests for each hash, and fields of each. */
static void set_chunks(struct torc_load_ops *ops)
{
    const struct torc_shape *shape = ops->spec.shape;
    bool is_load = is_load_whole(ops);
    uint32_t most = is_load ? WHOLE_FIELDS_MAX : WHOLE_READ_MAX;
    bool is_whole = shape->fields_most <= most && !(is_load && shape->kind == TORC_SHAPE_MILLION);
    ops->chunk = is_whole ? shape->fields_most : LONG_CHUNK;
    ops->chunks = (shape->fields_most + ops->chunk - 1) / ops->chunk;
    ops->verifies_whole = !is_load && is_whole;
    if (!is_load && !is_whole) {
        ops->chunks++; /* HLEN */
    }
}

static int fail(char *error, int code, const char *format, ...) TORC_PRINTF(3, 4);

static int fail(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, TORC_LOAD_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

/* Fill in what was left to the shape, and refuse what does not go together. */
static int complete_spec(struct torc_load_spec *spec, char *error)
{
    const struct torc_shape *shape = spec->shape;
    if (spec->ask == 0) {
        uint32_t usual = shape->kind == TORC_SHAPE_WIDE ? 94 : ASK_DEFAULT;
        spec->ask = (uint32_t)torc_min_u64(usual, shape->fields_least);
    }
    if (spec->ask > TORC_LOAD_ASK_MAX || spec->ask > shape->fields_least) {
        return fail(error, -EINVAL, "--ask: no %" PRIu32 " different fields in a hash of %" PRIu32,
                    spec->ask, shape->fields_least);
    }
    if (spec->choice == TORC_LOAD_INDEX && spec->field_index >= shape->fields_least) {
        return fail(error, -EINVAL, "--field-index: no field %" PRIu32 " in a hash of %" PRIu32,
                    spec->field_index, shape->fields_least);
    }
    if (spec->ttl_ms == 0) {
        spec->ttl_ms = TTL_DEFAULT_MS;
    }
    if (spec->value_bytes2 == 0) {
        spec->value_bytes2 = shape->kind == TORC_SHAPE_WIDE ? 100 : BYTES2_DEFAULT;
    }
    uint32_t own_most = shape->value_bytes != 0 ? shape->value_bytes : 10;
    if ((spec->op == TORC_LOAD_OP_GROW || spec->op == TORC_LOAD_OP_MIXED) &&
        spec->value_bytes2 <= own_most) {
        return fail(error, -EINVAL,
                    "--value-bytes2: values of %" PRIu32 " bytes do not grow to %" PRIu32, own_most,
                    spec->value_bytes2);
    }
    if (spec->op == TORC_LOAD_OP_HSET_WIDTH && spec->value_bytes2 == shape->value_bytes) {
        return fail(error, -EINVAL, "--value-bytes2: it has to differ from --value-bytes");
    }
    return 0;
}

/* The longest value this operation writes. mixed grows in steps, as often as it comes to it. */
static size_t longest_value(const struct torc_load_spec *spec)
{
    if (spec->op == TORC_LOAD_OP_MIXED) {
        return TORC_SHAPE_VALUE_BYTES_MAX;
    }
    uint32_t own_most = spec->shape->value_bytes != 0 ? spec->shape->value_bytes : 10;
    return torc_max_u64(own_most, spec->value_bytes2);
}

static int create_scratch(struct torc_load_ops *ops, char *error)
{
    struct torc_load_scratch *scratch = &ops->scratch;
    bool is_load = is_load_whole(ops);
    bool is_verify = ops->spec.op == TORC_LOAD_OP_VERIFY && !ops->verifies_whole;
    scratch->items = is_load || is_verify                 ? ops->chunk
                     : ops->spec.op == TORC_LOAD_OP_HMGET ? ops->spec.ask
                                                          : 1;
    scratch->value_room = longest_value(&ops->spec);
    size_t values = is_load ? scratch->items : 1; /* reads and single writes need no more */
    if (values * scratch->value_room > SCRATCH_MAX) {
        return fail(error, -EINVAL, "an HSET of %zu values of %zu bytes is too long", values,
                    scratch->value_room);
    }
    scratch->names = malloc(scratch->items * TORC_SHAPE_FIELD_BYTES);
    scratch->values = malloc(values * scratch->value_room);
    scratch->words =
        malloc((TORC_LOAD_HEAD_WORDS_MAX + 2 + 2 * scratch->items) * sizeof scratch->words[0]);
    ops->seen = calloc(ops->spec.shape->fields_most / 64 + 1, sizeof ops->seen[0]);
    if (scratch->names == NULL || scratch->values == NULL || scratch->words == NULL ||
        ops->seen == NULL) {
        return fail(error, -ENOMEM, "no memory");
    }
    return 0;
}

int torc_load_ops_create(const struct torc_load_spec *spec, struct torc_load_ops **out_ops,
                         char error[TORC_LOAD_ERROR_BYTES])
{
    struct torc_load_ops *ops = calloc(1, sizeof *ops);
    if (ops == NULL) {
        return fail(error, -ENOMEM, "no memory");
    }
    ops->spec = *spec;
    int rc = complete_spec(&ops->spec, error);
    if (rc != 0) {
        goto out_ops;
    }
    const struct torc_shape *shape = spec->shape;
    ops->random.state = torc_random_mix(spec->seed + 1);
    torc_scatter_init(&ops->cells, shape->cells, spec->seed);
    torc_scatter_init(&ops->hashes, shape->hashes, spec->seed);
    ops->block = torc_min_u64(BLOCK_MAX, shape->cells);
    set_chunks(ops);
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    ops->ends_at_ms =
        (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + ops->spec.ttl_ms;
    rc = create_scratch(ops, error);
    if (rc != 0) {
        goto out_ops;
    }
    if (spec->op == TORC_LOAD_OP_MIXED) {
        uint32_t own_most = shape->value_bytes != 0 ? shape->value_bytes : 10;
        rc = torc_load_mixed_create(shape, ops->spec.value_bytes2 - own_most, &ops->mixed);
        if (rc != 0) {
            (void)fail(error, rc, "no memory");
            goto out_ops;
        }
    }
    *out_ops = ops;
    return 0;
out_ops:
    torc_load_ops_destroy(ops);
    return rc;
}

void torc_load_ops_destroy(struct torc_load_ops *ops)
{
    if (ops != NULL) {
        free(ops->scratch.names);
        free(ops->scratch.values);
        free(ops->scratch.words);
        free(ops->seen);
        torc_load_mixed_destroy(ops->mixed);
        free(ops);
    }
}
