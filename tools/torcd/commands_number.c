/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that take a field for a number: read it, compute, write it back. The poller runs one
 * command at a time, so nothing comes between.
 */
#include <math.h>
#include <stdio.h>

#include "tools/torcd/commands_private.h"
#include "tools/torcd/decimal.h"

/* The text of the field, data NULL if it is absent; false: the answer was given. */
static bool read_field(struct torc_service *service, struct torc_call *call,
                       struct torc_value *out_value)
{
    int rc = torc_hash_get(service->keyspace, &call->key, call->request.strings[1], out_value);
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else if (rc == 0) {
        out_value->text = torc_slice_of(NULL, 0);
    }
    return rc >= 0;
}

/* Write the field; false: the answer was given. */
static bool write_field(struct torc_service *service, struct torc_call *call, const char *text,
                        size_t len)
{
    struct torc_pair pair = {.field = call->request.strings[1], .value = torc_slice_of(text, len)};
    int64_t created = torc_hash_put_expiring_evicting(service->keyspace, &service->evictor,
                                                      &call->key, &pair, 1, TORC_EXPIRY_KEEP);
    if (created < 0) {
        torc_call_fail(call, created);
    }
    return created >= 0;
}

void torc_command_hincrby(struct torc_service *service, struct torc_call *call)
{
    struct torc_value held;
    int64_t value = 0;
    if (!read_field(service, call, &held)) {
        return;
    }
    if (held.text.data != NULL && !torc_word_integer(held.text, &value)) {
        torc_sink_fault(call->sink, TORC_FAULT_FIELD_NOT_INTEGER);
        return;
    }
    if (__builtin_add_overflow(value, (int64_t)call->request.numbers[0], &value)) {
        torc_sink_fault(call->sink, TORC_FAULT_OVERFLOW);
        return;
    }
    char sum[24];
    int len = snprintf(sum, sizeof sum, "%lld", (long long)value);
    if (write_field(service, call, sum, (size_t)len)) {
        torc_sink_integer(call->sink, value);
    }
}

void torc_command_hincrbyfloat(struct torc_service *service, struct torc_call *call)
{
    struct torc_value held;
    long double increment;
    long double value = 0;
    if (!torc_decimal_parse(call->request.strings[2], &increment)) {
        torc_sink_fault(call->sink, TORC_FAULT_NOT_FLOAT);
        return;
    }
    if (isinf(increment)) {
        torc_sink_fault(call->sink, TORC_FAULT_FLOAT_IS_INFINITE);
        return;
    }
    if (!read_field(service, call, &held)) {
        return;
    }
    if (held.text.data != NULL && !torc_decimal_parse(held.text, &value)) {
        torc_sink_fault(call->sink, TORC_FAULT_FIELD_NOT_FLOAT);
        return;
    }
    value += increment;
    if (!isfinite(value)) {
        torc_sink_fault(call->sink, TORC_FAULT_FLOAT_OVERFLOW);
        return;
    }
    char sum[TORC_DECIMAL_BYTES];
    size_t len = torc_decimal_print(value, sum);
    /* The sum may be too long for a slot: the reply needs its room before the field changes. */
    if (torc_sink_reserve(call->sink, len) && write_field(service, call, sum, len)) {
        torc_sink_bytes(call->sink, torc_slice_of(sum, len));
    }
}
