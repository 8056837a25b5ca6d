/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of fields: HEXPIRE, HTTL, HPERSIST and their like. The reply is an array with a number for
 * each field; a command that changes something makes sure of its room first.
 */
#include "tools/torcd/commands_private.h"
#include "tools/torcd/expire_words.h"

/* Longest of enum torc_expire_result in decimal. */
#define RESULT_BYTES 2u

static struct torc_time_form form_of_hexpire(unsigned op)
{
    return (struct torc_time_form){
        .is_ms = op == TORC_OP_HPEXPIRE || op == TORC_OP_HPEXPIREAT,
        .is_absolute = op == TORC_OP_HEXPIREAT || op == TORC_OP_HPEXPIREAT,
    };
}

/* Memory for the results of n fields, and room for their reply. NULL: it was answered, or the
 * sink calls again. */
static int8_t *prepare_results(struct torc_service *service, struct torc_call *call, uint32_t n)
{
    if (!torc_values_reserve(&service->values, n)) {
        torc_call_fail(call, -ENOMEM);
        return NULL;
    }
    bool is_ready = torc_call_may_have_items(call, n) &&
                    torc_sink_reserve_items(call->sink, n, (size_t)n * RESULT_BYTES);
    return is_ready ? (void *)service->values.items : NULL;
}

static void give_results(struct torc_call *call, int rc, const int8_t *results, uint32_t n)
{
    if (rc < 0) {
        torc_call_fail(call, rc);
        return;
    }
    torc_sink_array(call->sink, n);
    for (uint32_t i = 0; i < n; i++) {
        torc_sink_integer_item(call->sink, results[i]);
    }
}

void torc_command_hexpire(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    const char *name = torc_command_name(request->op);
    uint64_t now = torc_call_time(service);
    struct torc_field_words words;
    uint64_t when = 0;
    struct torc_words_fault fault = {
        .fault = torc_expire_time((int64_t)request->numbers[0], form_of_hexpire(request->op), now,
                                  false, &when),
        .word = torc_slice_str(name),
    };
    if (fault.fault == TORC_FAULT_NONE) {
        fault = torc_field_words(request->strings + 1, request->n_strings - 1, TORC_WORDS_CONDITION,
                                 name, now, &words);
    }
    if (fault.fault != TORC_FAULT_NONE) {
        torc_sink_fault_with(call->sink, fault.fault, fault.word, torc_slice_str(""));
        return;
    }
    int8_t *results = prepare_results(service, call, words.n_fields);
    if (results != NULL) {
        int rc = torc_hash_expire(service->keyspace, &call->key, words.fields, words.n_fields, when,
                                  words.conditions, results);
        give_results(call, rc, results, words.n_fields);
    }
}

void torc_command_hpersist(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    struct torc_field_words words;
    enum torc_fault fault = torc_field_block(request->strings + 1, request->n_strings - 1, &words);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    int8_t *results = prepare_results(service, call, words.n_fields);
    if (results != NULL) {
        int rc =
            torc_hash_persist(service->keyspace, &call->key, words.fields, words.n_fields, results);
        give_results(call, rc, results, words.n_fields);
    }
}

/* As Redis, and other than the time of a key: up, so that a field that lives never shows 0. */
static int64_t round_up_to_seconds(int64_t ms)
{
    return (ms + 999) / 1000;
}

void torc_command_httl(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    unsigned op = request->op;
    uint64_t now = torc_call_time(service);
    struct torc_field_words words;
    enum torc_fault fault = torc_field_block(request->strings + 1, request->n_strings - 1, &words);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    uint32_t n = words.n_fields;
    if (!torc_values_reserve(&service->values, n)) {
        torc_call_fail(call, -ENOMEM);
        return;
    }
    int64_t *times = (void *)service->values.items;
    int rc = torc_hash_expiries(service->keyspace, &call->key, words.fields, n, times);
    if (rc < 0) {
        torc_call_fail(call, rc);
        return;
    }
    if (!torc_call_may_have_items(call, n)) {
        return;
    }
    torc_sink_array(call->sink, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t value = times[i];
        if (value >= 0) {
            value -= op == TORC_OP_HTTL || op == TORC_OP_HPTTL ? (int64_t)now : 0;
            value = op == TORC_OP_HTTL || op == TORC_OP_HEXPIRETIME ? round_up_to_seconds(value)
                                                                    : value;
        }
        torc_sink_integer_item(call->sink, value);
    }
}
static_assert(sizeof(struct torc_value) >= sizeof(int64_t),
              "memory for values holds as many times, or results");
