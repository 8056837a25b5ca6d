/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking replies. The right ones pass through a switch and a comparison; texts are made for the
 * wrong ones only.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "perf/load/load_ops.h"
#include "perf/load/load_ops_private.h"

#define SHOWN_BYTES 64u /* of a string, in a text */

/* --- texts --- */

struct text {
    char *bytes;
    size_t len; /* below TORC_LOAD_TEXT_BYTES */
};

static void add(struct text *text, const char *format, ...) TORC_PRINTF(2, 3);

/* What does not fit is cut. */
static void add(struct text *text, const char *format, ...)
{
    size_t room = TORC_LOAD_TEXT_BYTES - text->len;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text->bytes + text->len, room, format, args);
    va_end(args);
    if (len > 0) {
        text->len += torc_min_u64((uint64_t)len, room - 1);
    }
}

static void add_bytes(struct text *text, struct torc_bytes bytes)
{
    const uint8_t *data = bytes.data;
    for (size_t i = 0; i < bytes.len && i < SHOWN_BYTES; i++) {
        if (isprint(data[i]) && data[i] != '\\') {
            add(text, "%c", data[i]);
        } else {
            add(text, "\\x%02x", data[i]);
        }
    }
    if (bytes.len > SHOWN_BYTES) {
        add(text, "...");
    }
}

static void add_string(struct text *text, struct torc_bytes bytes)
{
    if (bytes.data == NULL) {
        add(text, "nil");
    } else {
        add(text, "%zu bytes '", bytes.len);
        add_bytes(text, bytes);
        add(text, "'");
    }
}

static void add_reply(struct text *text, const struct torc_load_reply *reply)
{
    switch (reply->kind) {
    case TORC_LOAD_STATUS:
        add(text, "status ");
        add_bytes(text, reply->text);
        break;
    case TORC_LOAD_INTEGER:
        add(text, "%" PRId64, reply->integer);
        break;
    case TORC_LOAD_STRING:
        add_string(text, reply->text);
        break;
    case TORC_LOAD_NIL:
        add(text, "nil");
        break;
    case TORC_LOAD_ARRAY:
        add(text, "an array of %zu", reply->count);
        break;
    case TORC_LOAD_ERROR:
        add_bytes(text, reply->text);
        break;
    }
}

/* "HGET h:000000000001 field:00000003: ", for a field if `field` is not NULL. `bytes` is
 * written through the text, which the linter does not see. */
// NOLINTBEGIN(readability-non-const-parameter)
static struct text begin(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                         const uint32_t *field, char *bytes)
{
    struct text text = {bytes, 0};
    add(&text, "%s ", torc_load_verb_name(flight->verb));
    bool has_key = flight->verb != TORC_LOAD_PING && flight->verb != TORC_LOAD_FLUSHALL &&
                   flight->verb != TORC_LOAD_HINCRBY;
    if (has_key) {
        uint8_t key[TORC_SHAPE_KEY_BYTES];
        size_t len = torc_shape_key(ops->spec.shape, flight->cell.hash, key);
        add_bytes(&text, torc_mem(key, len));
    }
    if (field != NULL) {
        uint8_t name[TORC_SHAPE_FIELD_BYTES];
        size_t len = torc_shape_field(ops->spec.shape, *field, name);
        add(&text, " ");
        add_bytes(&text, torc_mem(name, len));
    }
    add(&text, ": ");
    return text;
}
// NOLINTEND(readability-non-const-parameter)

/* The reply as a whole is wrong. */
static bool refuse(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                   const struct torc_load_reply *reply, const char *wanted, char *bytes)
{
    struct text text = begin(ops, flight, NULL, bytes);
    add_reply(&text, reply);
    add(&text, ", not %s", wanted);
    return false;
}

static bool refuse_value(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                         uint32_t field, struct torc_bytes value, char *bytes)
{
    struct text text = begin(ops, flight, &field, bytes);
    add_string(&text, value);
    add(&text, ", not a value of this field");
    if (ops->spec.verifies_salt) {
        add(&text, " with salt %" PRIu64, ops->spec.salt);
    }
    return false;
}

/* --- checks --- */

static bool value_is_right(const struct torc_load_ops *ops, uint64_t hash, uint32_t field,
                           struct torc_bytes value)
{
    struct torc_slice slice = torc_slice_of(value.data, value.len);
    struct torc_shape_cell cell = {hash, field};
    return value.data != NULL && torc_shape_value_is_of(cell, slice) &&
           (!ops->spec.verifies_salt || torc_shape_value_has_salt(slice, ops->spec.salt));
}

static bool check_integer(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                          const struct torc_load_reply *reply, char *text)
{
    if (TORC_LIKELY(reply->kind == TORC_LOAD_INTEGER && reply->integer == flight->expected)) {
        return true;
    }
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "%" PRId64, flight->expected);
    return refuse(ops, flight, reply, wanted, text);
}

static bool check_status(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                         const struct torc_load_reply *reply, const char *wanted, char *text)
{
    size_t len = strlen(wanted);
    if (reply->kind == TORC_LOAD_STATUS && reply->text.len == len &&
        memcmp(reply->text.data, wanted, len) == 0) {
        return true;
    }
    return refuse(ops, flight, reply, wanted, text);
}

static bool check_hget(const struct torc_load_ops *ops, const struct torc_load_flight *flight,
                       const struct torc_load_reply *reply, char *text)
{
    if (flight->is_absent) {
        return reply->kind == TORC_LOAD_NIL || refuse(ops, flight, reply, "nil", text);
    }
    if (TORC_LIKELY(reply->kind == TORC_LOAD_STRING &&
                    value_is_right(ops, flight->cell.hash, flight->cell.field, reply->text))) {
        return true;
    }
    if (reply->kind == TORC_LOAD_STRING) {
        return refuse_value(ops, flight, flight->cell.field, reply->text, text);
    }
    return refuse(ops, flight, reply, "a value", text);
}

/* HPEXPIRE of one field: an array with a 1, which comes as a string. */
static bool check_hpexpire(const struct torc_load_ops *ops, const struct torc_load_road *road,
                           const struct torc_load_flight *flight,
                           const struct torc_load_reply *reply, char *text)
{
    if (reply->kind == TORC_LOAD_ARRAY && reply->count == 1) {
        struct torc_bytes code = torc_load_road_at(road, 0);
        if (code.len == 1 && *(const uint8_t *)code.data == '1') {
            return true;
        }
    }
    return refuse(ops, flight, reply, "an array with a 1", text);
}

static bool check_hmget(const struct torc_load_ops *ops, const struct torc_load_road *road,
                        const struct torc_load_flight *flight, const struct torc_load_reply *reply,
                        char *text)
{
    if (reply->kind != TORC_LOAD_ARRAY || reply->count != flight->count) {
        return refuse(ops, flight, reply, "as many values as asked for", text);
    }
    uint32_t fields = torc_shape_fields(ops->spec.shape, flight->cell.hash);
    uint64_t field = flight->cell.field;
    for (size_t i = 0; i < reply->count; i++) {
        struct torc_bytes value = torc_load_road_at(road, i);
        if (!value_is_right(ops, flight->cell.hash, (uint32_t)field, value)) {
            return refuse_value(ops, flight, (uint32_t)field, value, text);
        }
        field += flight->stride;
        field -= field >= fields ? fields : 0;
    }
    return true;
}

/* Every field once, in any order, each with a value of its own. */
static bool check_hgetall(struct torc_load_ops *ops, const struct torc_load_road *road,
                          const struct torc_load_flight *flight,
                          const struct torc_load_reply *reply, char *text)
{
    const struct torc_shape *shape = ops->spec.shape;
    uint32_t fields = torc_shape_fields(shape, flight->cell.hash);
    if (reply->kind != TORC_LOAD_ARRAY || reply->count != 2 * (size_t)fields) {
        char wanted[48];
        (void)snprintf(wanted, sizeof wanted, "%" PRIu32 " fields with values", fields);
        return refuse(ops, flight, reply, wanted, text);
    }
    memset(ops->seen, 0, (fields / 64 + 1) * sizeof ops->seen[0]);
    for (size_t i = 0; i < reply->count; i += 2) {
        struct torc_bytes name = torc_load_road_at(road, i);
        struct torc_bytes value = torc_load_road_at(road, i + 1);
        uint32_t field = 0;
        if (name.data == NULL ||
            torc_shape_find_field(shape, torc_slice_of(name.data, name.len), &field) != 0 ||
            field >= fields || (ops->seen[field / 64] >> field % 64 & 1) != 0) {
            struct text out = begin(ops, flight, NULL, text);
            add_string(&out, name);
            add(&out, " is no field of it, or comes twice");
            return false;
        }
        ops->seen[field / 64] |= 1ull << field % 64;
        if (!value_is_right(ops, flight->cell.hash, field, value)) {
            return refuse_value(ops, flight, field, value, text);
        }
    }
    return true;
}

/* The first sum may be any: the counter is that of phases before, too. */
static bool check_hincrby(struct torc_load_ops *ops, const struct torc_load_flight *flight,
                          const struct torc_load_reply *reply, char *text)
{
    if (reply->kind != TORC_LOAD_INTEGER) {
        return refuse(ops, flight, reply, "a sum", text);
    }
    struct torc_load_flight wanted = *flight;
    wanted.expected = ops->counter_is_known ? ops->counter + 1 : reply->integer;
    ops->counter_is_known = true;
    ops->counter = reply->integer;
    return check_integer(ops, &wanted, reply, text);
}

bool torc_load_ops_check(struct torc_load_ops *ops, const struct torc_load_road *road,
                         const struct torc_load_flight *flight, const struct torc_load_reply *reply,
                         char text[TORC_LOAD_TEXT_BYTES])
{
    switch (flight->verb) {
    case TORC_LOAD_PING:
        return check_status(ops, flight, reply, "PONG", text);
    case TORC_LOAD_FLUSHALL:
        return check_status(ops, flight, reply, "OK", text);
    case TORC_LOAD_HGET:
        return check_hget(ops, flight, reply, text);
    case TORC_LOAD_HPEXPIRE:
        return check_hpexpire(ops, road, flight, reply, text);
    case TORC_LOAD_HGETEX:
    case TORC_LOAD_HMGET:
        return check_hmget(ops, road, flight, reply, text);
    case TORC_LOAD_HGETALL:
        return check_hgetall(ops, road, flight, reply, text);
    case TORC_LOAD_HINCRBY:
        return check_hincrby(ops, flight, reply, text);
    case TORC_LOAD_HSET:
    case TORC_LOAD_HEXISTS:
    case TORC_LOAD_HSTRLEN:
    case TORC_LOAD_HLEN:
    case TORC_LOAD_HDEL:
    case TORC_LOAD_HSETEX:
    case TORC_LOAD_DEL:
    case TORC_LOAD_VERBS:
        break;
    }
    return check_integer(ops, flight, reply, text);
}
