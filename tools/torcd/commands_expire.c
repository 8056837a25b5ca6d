/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of keys: EXPIRE, TTL, PERSIST and their like; and the step that commands take before they
 * say something about a whole hash or the database.
 */
#include "tools/torcd/commands_private.h"
#include "tools/torcd/expire_words.h"

/* Keys and fields that a command removes in one visit: some tens of microseconds. */
#define REAP_BUDGET 512u

static bool is_anything_due(const struct torc_service *service)
{
    return torc_keyspace_next_due(service->keyspace) <= torc_keyspace_time(service->keyspace);
}

bool torc_call_reap(struct torc_service *service, struct torc_call *call,
                    const struct torc_key *key)
{
    if (TORC_LIKELY(!is_anything_due(service)) ||
        torc_keyspace_reap_key(service->keyspace, key, REAP_BUDGET)) {
        return true;
    }
    torc_sink_postpone(call->sink);
    return false;
}

bool torc_call_reap_keys(struct torc_service *service, struct torc_call *call, uint32_t n)
{
    if (TORC_LIKELY(!is_anything_due(service))) {
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct torc_key key = torc_call_key(service, call, i);
        if (!torc_call_reap(service, call, &key)) {
            return false;
        }
    }
    return true;
}

bool torc_call_reap_all(struct torc_service *service, struct torc_call *call)
{
    if (TORC_LIKELY(!is_anything_due(service)) ||
        torc_keyspace_reap(service->keyspace, REAP_BUDGET)) {
        return true;
    }
    torc_sink_postpone(call->sink);
    return false;
}

uint64_t torc_call_time(struct torc_service *service)
{
    torc_keyspace_set_time(service->keyspace, torc_clock_wall_ms());
    return torc_keyspace_time(service->keyspace);
}

static struct torc_time_form form_of_expire(unsigned op)
{
    return (struct torc_time_form){
        .is_ms = op == TORC_OP_PEXPIRE || op == TORC_OP_PEXPIREAT,
        .is_absolute = op == TORC_OP_EXPIREAT || op == TORC_OP_PEXPIREAT,
    };
}

void torc_command_expire(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    uint64_t now = torc_call_time(service);
    unsigned conditions = 0;
    uint64_t when = 0;
    struct torc_words_fault fault =
        torc_key_conditions(request->strings + 1, request->n_strings - 1, &conditions);
    if (fault.fault == TORC_FAULT_NONE) {
        fault.fault = torc_expire_time((int64_t)request->numbers[0], form_of_expire(request->op),
                                       now, true, &when);
        fault.word = torc_slice_str(torc_command_name(request->op));
    }
    if (fault.fault != TORC_FAULT_NONE) {
        torc_sink_fault_with(call->sink, fault.fault, fault.word, torc_slice_str(""));
        return;
    }
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    int rc = torc_keyspace_expire(service->keyspace, &call->key, when, conditions);
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else {
        torc_sink_integer(call->sink, rc != 0);
    }
}

/* As Redis: to the nearest second. */
static int64_t round_to_seconds(int64_t ms)
{
    return (ms + 500) / 1000;
}

void torc_command_ttl(struct torc_service *service, struct torc_call *call)
{
    unsigned op = call->request.op;
    uint64_t now = torc_call_time(service);
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    int64_t value = torc_keyspace_expiry(service->keyspace, &call->key);
    service->stats.hits += value != -2;
    service->stats.misses += value == -2;
    if (value >= 0) {
        value -= op == TORC_OP_TTL || op == TORC_OP_PTTL ? (int64_t)now : 0;
        value = op == TORC_OP_TTL || op == TORC_OP_EXPIRETIME ? round_to_seconds(value) : value;
    }
    torc_sink_integer(call->sink, value);
}

void torc_command_persist(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    int rc = torc_keyspace_persist(service->keyspace, &call->key);
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else {
        torc_sink_integer(call->sink, rc);
    }
}
