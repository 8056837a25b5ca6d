/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/commands_private.h"

static_assert(sizeof(struct torc_pair) == 2 * sizeof(struct torc_slice),
              "a row of strings is a row of pairs");

void torc_call_fail(struct torc_call *call, int64_t error)
{
    torc_sink_fault(call->sink, torc_fault_of_hash((int)error));
}

bool torc_call_may_have_items(struct torc_call *call, uint64_t n)
{
    if (TORC_LIKELY(n <= call->sink->items_max)) {
        return true;
    }
    torc_sink_fault(call->sink, call->sink->too_many);
    return false;
}

/* A number, or the fault that a negative one stands for. */
static void reply_count(struct torc_call *call, int64_t count)
{
    if (TORC_LIKELY(count >= 0)) {
        torc_sink_integer(call->sink, count);
    } else {
        torc_call_fail(call, count);
    }
}

/* HSET and HMSET: the number of fields created or -errno; false: the answer was given. */
static TORC_ALWAYS_INLINE bool set_pairs(struct torc_service *service, struct torc_call *call,
                                         const char *name, int64_t *out_created)
{
    const struct torc_request *request = &call->request;
    if (request->n_strings % 2 == 0) {
        torc_sink_fault_with(call->sink, TORC_FAULT_ARITY, torc_slice_str(name),
                             torc_slice_str(""));
        return false;
    }
    const struct torc_pair *pairs = (const void *)(request->strings + 1);
    *out_created = torc_hash_put_evicting(service->keyspace, &service->evictor, &call->key, pairs,
                                          request->n_strings / 2);
    return true;
}

void torc_command_hset(struct torc_service *service, struct torc_call *call)
{
    int64_t created;
    if (set_pairs(service, call, "hset", &created)) {
        reply_count(call, created);
    }
}

void torc_command_hmset(struct torc_service *service, struct torc_call *call)
{
    int64_t created;
    if (!set_pairs(service, call, "hmset", &created)) {
        return;
    }
    if (created < 0) {
        torc_call_fail(call, created);
    } else {
        torc_sink_ok(call->sink);
    }
}

void torc_command_hsetnx(struct torc_service *service, struct torc_call *call)
{
    const struct torc_slice *strings = call->request.strings;
    struct torc_pair pair = {.field = strings[1], .value = strings[2]};
    reply_count(call, torc_hash_put_absent_evicting(service->keyspace, &service->evictor,
                                                    &call->key, &pair));
}

void torc_command_hget(struct torc_service *service, struct torc_call *call)
{
    struct torc_value value;
    int rc = torc_hash_get(service->keyspace, &call->key, call->request.strings[1], &value);
    if (rc == 1) {
        service->stats.hits++;
        torc_sink_bytes(call->sink, value.text);
    } else if (rc == 0) {
        service->stats.misses++;
        torc_sink_null(call->sink);
    } else {
        torc_call_fail(call, rc);
    }
}

void torc_command_hmget(struct torc_service *service, struct torc_call *call)
{
    uint32_t n = call->request.n_strings - 1;
    if (!torc_values_reserve(&service->values, n)) {
        torc_call_fail(call, -ENOMEM);
        return;
    }
    struct torc_value *values = service->values.items;
    uint64_t hits = 0;
    uint32_t done = 0;
    /* Once round, if there are not many values that are kept compressed. */
    do {
        int64_t got = torc_hash_get_many(service->keyspace, &call->key,
                                         call->request.strings + 1 + done, n - done, values);
        if (got < 0) {
            torc_call_fail(call, got); /* the wrong type, which the first round tells */
            return;
        }
        if (done == 0) {
            torc_sink_array(call->sink, n);
        }
        for (uint32_t i = 0; i < got; i++) {
            hits += values[i].text.data != NULL;
            torc_sink_item(call->sink, values[i].text);
        }
        done += (uint32_t)got;
    } while (TORC_UNLIKELY(done < n) && !torc_sink_is_full(call->sink));
    service->stats.hits += hits;
    service->stats.misses += n - hits;
}

void torc_command_hdel(struct torc_service *service, struct torc_call *call)
{
    reply_count(call, torc_hash_del(service->keyspace, &call->key, call->request.strings + 1,
                                    call->request.n_strings - 1));
}

static void give_pair(void *arg, const struct torc_pair *pair)
{
    struct torc_sink *sink = arg;
    torc_sink_item(sink, torc_slice_present(pair->field));
    torc_sink_item(sink, torc_slice_present(pair->value));
}

static void give_field(void *arg, const struct torc_pair *pair)
{
    struct torc_sink *sink = arg;
    torc_sink_item(sink, torc_slice_present(pair->field));
}

static void give_value(void *arg, const struct torc_pair *pair)
{
    struct torc_sink *sink = arg;
    torc_sink_item(sink, torc_slice_present(pair->value));
}

/* HGETALL, HKEYS, HVALS: `give` makes `per_field` items of each field; two are pairs. */
static void give_all(struct torc_service *service, struct torc_call *call, unsigned per_field,
                     enum torc_parts parts, void (*give)(void *arg, const struct torc_pair *pair))
{
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    int64_t n = torc_hash_len(service->keyspace, &call->key);
    if (n < 0) {
        torc_call_fail(call, n);
        return;
    }
    if (!torc_call_may_have_items(call, (uint64_t)n * per_field)) {
        return;
    }
    service->stats.hits += n != 0;
    service->stats.misses += n == 0;
    (per_field == 2 ? torc_sink_pairs : torc_sink_array)(call->sink, (uint32_t)n);
    int rc = torc_hash_each(service->keyspace, &call->key, parts, give, call->sink);
    assert(rc == 0); /* the type was checked by _len() */
    (void)rc;
}

void torc_command_hgetall(struct torc_service *service, struct torc_call *call)
{
    give_all(service, call, 2, TORC_PAIRS, give_pair);
}

void torc_command_hkeys(struct torc_service *service, struct torc_call *call)
{
    give_all(service, call, 1, TORC_FIELDS, give_field);
}

void torc_command_hvals(struct torc_service *service, struct torc_call *call)
{
    give_all(service, call, 1, TORC_PAIRS, give_value);
}

void torc_command_hlen(struct torc_service *service, struct torc_call *call)
{
    if (torc_call_reap(service, call, &call->key)) {
        reply_count(call, torc_hash_len(service->keyspace, &call->key));
    }
}

void torc_command_hexists(struct torc_service *service, struct torc_call *call)
{
    size_t len;
    int rc = torc_hash_value_len(service->keyspace, &call->key, call->request.strings[1], &len);
    service->stats.hits += rc == 1;
    service->stats.misses += rc == 0;
    reply_count(call, rc);
}

void torc_command_hstrlen(struct torc_service *service, struct torc_call *call)
{
    size_t len;
    int rc = torc_hash_value_len(service->keyspace, &call->key, call->request.strings[1], &len);
    service->stats.hits += rc == 1;
    service->stats.misses += rc == 0;
    reply_count(call, rc == 1 ? (int64_t)len : rc);
}
