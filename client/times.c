/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about times to live, and the copies and names of keys. Options travel as the words of the
 * command, `PX 1000 FIELDS 2 a b`, so that the server has one parser for all; the number of EXPIRE
 * and its kind is part of the shape and travels as one. Numbers in an array reply are decimal text.
 */
#include "client/torc_private.h"

#include <stdio.h>

#define CONDITIONS  (TORC_FLAG_NX | TORC_FLAG_XX | TORC_FLAG_GT | TORC_FLAG_LT)
#define OPTIONS_MAX 6 /* strings in front of the fields: key, two flags, ms, FIELDS, how many */
#define DIGITS_MAX  18

/* --- requests --- */

static const struct {
    unsigned flag;
    const char *word;
} flag_words[] = {
    {TORC_FLAG_NX, "NX"},           {TORC_FLAG_XX, "XX"},           {TORC_FLAG_GT, "GT"},
    {TORC_FLAG_LT, "LT"},           {TORC_FLAG_FNX, "FNX"},         {TORC_FLAG_FXX, "FXX"},
    {TORC_FLAG_PX, "PX"},           {TORC_FLAG_PXAT, "PXAT"},       {TORC_FLAG_KEEPTTL, "KEEPTTL"},
    {TORC_FLAG_PERSIST, "PERSIST"}, {TORC_FLAG_REPLACE, "REPLACE"},
};

static bool at_most_one(unsigned flags)
{
    return (flags & (flags - 1)) == 0;
}

static bool flags_suit(enum torc_op op, unsigned flags)
{
    const unsigned set_times = TORC_FLAG_PX | TORC_FLAG_PXAT | TORC_FLAG_KEEPTTL;
    const unsigned get_times = TORC_FLAG_PX | TORC_FLAG_PXAT | TORC_FLAG_PERSIST;
    const unsigned presence = TORC_FLAG_FNX | TORC_FLAG_FXX;
    if (op == TORC_OP_PEXPIRE || op == TORC_OP_PEXPIREAT) {
        /* XX goes with GT and LT. */
        unsigned rest = (flags & TORC_FLAG_NX) != 0 ? flags : flags & ~(unsigned)TORC_FLAG_XX;
        return (flags & ~(unsigned)CONDITIONS) == 0 && at_most_one(rest);
    }
    if (op == TORC_OP_HPEXPIRE || op == TORC_OP_HPEXPIREAT) {
        return (flags & ~(unsigned)CONDITIONS) == 0 && at_most_one(flags);
    }
    if (op == TORC_OP_HSETEX) {
        return (flags & ~(set_times | presence)) == 0 && at_most_one(flags & set_times) &&
               at_most_one(flags & presence);
    }
    if (op == TORC_OP_HGETEX) {
        return (flags & ~get_times) == 0 && at_most_one(flags);
    }
    return flags == 0;
}

static int fail_flags(struct torc *torc)
{
    return torc_fail(torc, TORC_EINVAL, "flags that the call does not take, or not together");
}

/* The words of the flags, and of a time that goes with one. Returns how many. */
static size_t put_flags(struct torc_slice *strings, unsigned flags, const char *ms_text)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof flag_words / sizeof flag_words[0]; i++) {
        if ((flags & flag_words[i].flag) != 0) {
            strings[n++] = torc_slice_str(flag_words[i].word);
        }
    }
    if ((flags & (TORC_FLAG_PX | TORC_FLAG_PXAT)) != 0) {
        strings[n++] = torc_slice_str(ms_text);
    }
    return n;
}

int torc_timed_key(struct torc *torc, enum torc_op op, struct torc_bytes key, int64_t ms,
                   unsigned flags, struct torc_timed *out)
{
    if (!flags_suit(op, flags)) {
        return fail_flags(torc);
    }
    if (!torc_bytes_are_valid(key)) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    struct torc_slice *strings;
    int rc = torc_strings(torc, OPTIONS_MAX, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    strings[0] = torc_slice_of_bytes(key);
    out->op = op;
    out->number = (uint64_t)ms;
    out->strings = strings;
    out->n_strings = 1 + put_flags(strings + 1, flags, "");
    return TORC_OK;
}

int torc_timed_fields(struct torc *torc, enum torc_op op, struct torc_bytes key,
                      struct torc_timed_fields fields, int64_t ms, unsigned flags,
                      struct torc_timed *out)
{
    if (!flags_suit(op, flags)) {
        return fail_flags(torc);
    }
    if (fields.strings == NULL || fields.n == 0) {
        return torc_fail(torc, TORC_EINVAL, "no fields or pairs");
    }
    struct torc_slice *strings;
    /* So many that their strings cannot be counted are too many, too. */
    size_t n_more = fields.n <= UINT32_MAX ? fields.n * fields.stride : UINT32_MAX;
    int rc = torc_strings(torc, OPTIONS_MAX + n_more, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    (void)snprintf(out->ms_text, sizeof out->ms_text, "%lld", (long long)ms);
    (void)snprintf(out->n_text, sizeof out->n_text, "%zu", fields.n);
    strings[0] = torc_slice_of_bytes(key);
    size_t n = 1 + put_flags(strings + 1, flags, out->ms_text);
    strings[n++] = torc_slice_str("FIELDS");
    strings[n++] = torc_slice_str(out->n_text);
    bool valid = torc_bytes_are_valid(key);
    for (size_t i = 0; i < n_more; i++) {
        strings[n++] = torc_slice_of_bytes(fields.strings[i]);
        valid &= torc_bytes_are_valid(fields.strings[i]);
    }
    if (!valid) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    out->op = op;
    out->number = (uint64_t)ms;
    out->strings = strings;
    out->n_strings = n;
    return TORC_OK;
}

/* --- replies --- */

/* A reply that is 0 or 1. */
static int give_flag(struct torc *torc, const struct torc_reply *reply)
{
    bool is_flag = reply->kind == TORC_REPLY_INT && (reply->integer == 0 || reply->integer == 1);
    return is_flag ? (int)reply->integer : torc_fail_kind(torc);
}

/* A number from TORC_ABSENT on. */
static bool read_number(struct torc_slice text, int64_t *out_value)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    size_t at = negative ? 1 : 0;
    if (text.len == at || text.len > DIGITS_MAX) {
        return false;
    }
    int64_t value = 0;
    for (; at < text.len; at++) {
        if (text.data[at] < '0' || text.data[at] > '9') {
            return false;
        }
        value = value * 10 + (text.data[at] - '0');
    }
    *out_value = negative ? -value : value;
    return *out_value >= TORC_ABSENT;
}

/* Item `i` of an array that is_number_array() took. */
static int64_t number_at(const struct torc_reply *reply, size_t i)
{
    int64_t value = 0;
    bool read = read_number(torc_reply_at(reply, (uint32_t)i), &value);
    assert(read);
    (void)read;
    return value;
}

/* Is the reply an array of `n` numbers that are not above `highest`? */
static bool is_number_array(const struct torc_reply *reply, size_t n, int64_t highest)
{
    if (reply->kind != TORC_REPLY_ARRAY || reply->count != n) {
        return false;
    }
    for (uint32_t i = 0; i < reply->count; i++) {
        int64_t value;
        if (!read_number(torc_reply_at(reply, i), &value) || value > highest) {
            return false;
        }
    }
    return true;
}

/* --- calls --- */

static int call_key(struct torc *torc, enum torc_op op, struct torc_bytes key, int64_t ms,
                    unsigned flags)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_timed timed;
    rc = torc_timed_key(torc, op, key, ms, flags, &timed);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_reply reply;
    rc = torc_call(torc, op, &timed.number, timed.strings, timed.n_strings, &reply);
    return rc != TORC_OK ? rc : give_flag(torc, &reply);
}

int torc_expire(struct torc *torc, struct torc_bytes key, int64_t ms, unsigned flags)
{
    return call_key(torc, TORC_OP_PEXPIRE, key, ms, flags);
}

int torc_expire_at(struct torc *torc, struct torc_bytes key, int64_t unix_ms, unsigned flags)
{
    return call_key(torc, TORC_OP_PEXPIREAT, key, unix_ms, flags);
}

static int call_time(struct torc *torc, enum torc_op op, struct torc_bytes key, int64_t *out_ms)
{
    if (out_ms == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = torc_call_few(torc, op, &key, 1, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    if (reply.kind != TORC_REPLY_INT || reply.integer < TORC_ABSENT) {
        return torc_fail_kind(torc);
    }
    *out_ms = reply.integer;
    return reply.integer >= 0 ? 1 : 0;
}

int torc_ttl(struct torc *torc, struct torc_bytes key, int64_t *out_ms)
{
    return call_time(torc, TORC_OP_PTTL, key, out_ms);
}

int torc_expire_time(struct torc *torc, struct torc_bytes key, int64_t *out_unix_ms)
{
    return call_time(torc, TORC_OP_PEXPIRETIME, key, out_unix_ms);
}

/* One or two keys, and a reply of 0 or 1. */
static int call_keys(struct torc *torc, enum torc_op op, const struct torc_bytes *bytes, size_t n)
{
    struct torc_reply reply;
    int rc = torc_call_few(torc, op, bytes, n, &reply);
    return rc != TORC_OK ? rc : give_flag(torc, &reply);
}

int torc_persist(struct torc *torc, struct torc_bytes key)
{
    return call_keys(torc, TORC_OP_PERSIST, &key, 1);
}

int torc_copy(struct torc *torc, struct torc_bytes from, struct torc_bytes to, unsigned flags)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    if ((flags & ~(unsigned)TORC_FLAG_REPLACE) != 0) {
        return fail_flags(torc);
    }
    const struct torc_bytes bytes[] = {from, to, torc_str("REPLACE")};
    return call_keys(torc, TORC_OP_COPY, bytes, flags != 0 ? 3 : 2);
}

int torc_rename(struct torc *torc, struct torc_bytes from, struct torc_bytes to, unsigned flags)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    if ((flags & ~(unsigned)TORC_FLAG_NX) != 0) {
        return fail_flags(torc);
    }
    const struct torc_bytes bytes[] = {from, to};
    if (flags != 0) {
        return call_keys(torc, TORC_OP_RENAMENX, bytes, 2);
    }
    struct torc_reply reply;
    rc = torc_call_few(torc, TORC_OP_RENAME, bytes, 2, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    return reply.kind == TORC_REPLY_OK ? 1 : torc_fail_kind(torc);
}

static int call_fields(struct torc *torc, enum torc_op op, struct torc_bytes key,
                       struct torc_timed_fields fields, int64_t ms, unsigned flags,
                       struct torc_reply *out_reply)
{
    int rc = torc_enter_sync(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    struct torc_timed timed;
    rc = torc_timed_fields(torc, op, key, fields, ms, flags, &timed);
    if (rc != TORC_OK) {
        return rc;
    }
    return torc_call(torc, op, &timed.number, timed.strings, timed.n_strings, out_reply);
}

/* A call whose reply is a code for each field. */
static int64_t call_codes(struct torc *torc, enum torc_op op, struct torc_bytes key,
                          struct torc_timed_fields fields, int64_t ms, unsigned flags,
                          int *out_codes)
{
    struct torc_reply reply;
    int rc = call_fields(torc, op, key, fields, ms, flags, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    if (!is_number_array(&reply, fields.n, TORC_FIELD_REMOVED)) {
        return torc_fail_kind(torc);
    }
    int64_t changed = 0;
    for (size_t i = 0; i < fields.n; i++) {
        int code = (int)number_at(&reply, i);
        changed += code > TORC_FIELD_REFUSED;
        if (out_codes != NULL) {
            out_codes[i] = code;
        }
    }
    return changed;
}

int64_t torc_hexpire(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                     size_t n_fields, int64_t ms, unsigned flags, int *out_codes)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return call_codes(torc, TORC_OP_HPEXPIRE, key, timed, ms, flags, out_codes);
}

int64_t torc_hexpire_at(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                        size_t n_fields, int64_t unix_ms, unsigned flags, int *out_codes)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return call_codes(torc, TORC_OP_HPEXPIREAT, key, timed, unix_ms, flags, out_codes);
}

int64_t torc_hpersist(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                      size_t n_fields, int *out_codes)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return call_codes(torc, TORC_OP_HPERSIST, key, timed, 0, 0, out_codes);
}

/* A call whose reply is a time for each field. */
static int64_t call_times(struct torc *torc, enum torc_op op, struct torc_bytes key,
                          const struct torc_bytes *fields, size_t n_fields, int64_t *out_ms)
{
    if (out_ms == NULL) {
        return torc_fail_output(torc);
    }
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    struct torc_reply reply;
    int rc = call_fields(torc, op, key, timed, 0, 0, &reply);
    if (rc != TORC_OK) {
        return rc;
    }
    if (!is_number_array(&reply, n_fields, INT64_MAX)) {
        return torc_fail_kind(torc);
    }
    int64_t n_timed = 0;
    for (size_t i = 0; i < n_fields; i++) {
        out_ms[i] = number_at(&reply, i);
        n_timed += out_ms[i] >= 0;
    }
    return n_timed;
}

int64_t torc_httl(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                  size_t n_fields, int64_t *out_ms)
{
    return call_times(torc, TORC_OP_HPTTL, key, fields, n_fields, out_ms);
}

int64_t torc_hexpire_time(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                          size_t n_fields, int64_t *out_unix_ms)
{
    return call_times(torc, TORC_OP_HPEXPIRETIME, key, fields, n_fields, out_unix_ms);
}

int torc_hsetex(struct torc *torc, struct torc_bytes key, const struct torc_bytes *pairs,
                size_t n_pairs, int64_t ms, unsigned flags)
{
    const struct torc_timed_fields timed = {pairs, n_pairs, 2};
    struct torc_reply reply;
    int rc = call_fields(torc, TORC_OP_HSETEX, key, timed, ms, flags, &reply);
    return rc != TORC_OK ? rc : give_flag(torc, &reply);
}

static int64_t call_values(struct torc *torc, enum torc_op op, struct torc_bytes key,
                           struct torc_timed_fields fields, int64_t ms, unsigned flags,
                           struct torc_bytes *out_values)
{
    if (out_values == NULL) {
        return torc_fail_output(torc);
    }
    struct torc_reply reply;
    int rc = call_fields(torc, op, key, fields, ms, flags, &reply);
    return rc != TORC_OK ? rc : torc_give_values(torc, &reply, fields.n, out_values);
}

int64_t torc_hgetex(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                    size_t n_fields, int64_t ms, unsigned flags, struct torc_bytes *out_values)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return call_values(torc, TORC_OP_HGETEX, key, timed, ms, flags, out_values);
}

int64_t torc_hgetdel(struct torc *torc, struct torc_bytes key, const struct torc_bytes *fields,
                     size_t n_fields, struct torc_bytes *out_values)
{
    const struct torc_timed_fields timed = {fields, n_fields, 1};
    return call_values(torc, TORC_OP_HGETDEL, key, timed, 0, 0, out_values);
}
