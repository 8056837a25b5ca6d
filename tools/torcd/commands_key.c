/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/commands_private.h"

const char *torc_type_name(enum torc_type type)
{
    switch (type) {
    case TORC_TYPE_HASH:
        return "hash";
    case TORC_TYPE_STRING:
        return "string";
    case TORC_TYPE_NONE:
        break;
    }
    return "none";
}

void torc_command_del(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap_keys(service, call, call->request.n_strings)) {
        return;
    }
    int64_t n = 0;
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = torc_call_key(service, call, i);
        n += torc_keyspace_del(service->keyspace, &key);
    }
    torc_sink_integer(call->sink, n);
}

void torc_command_exists(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap_keys(service, call, call->request.n_strings)) {
        return;
    }
    int64_t n = 0;
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = torc_call_key(service, call, i);
        n += torc_keyspace_type(service->keyspace, &key) != TORC_TYPE_NONE;
    }
    service->stats.hits += (uint64_t)n;
    service->stats.misses += call->request.n_strings - (uint64_t)n;
    torc_sink_integer(call->sink, n);
}

void torc_command_touch(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap_keys(service, call, call->request.n_strings)) {
        return;
    }
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = torc_call_key(service, call, i);
        torc_keyspace_touch(service->keyspace, &key);
    }
    torc_command_exists(service, call);
}

void torc_command_type(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    enum torc_type type = torc_keyspace_type(service->keyspace, &call->key);
    torc_sink_text(call->sink, torc_slice_str(torc_type_name(type)));
}

void torc_command_dbsize(struct torc_service *service, struct torc_call *call)
{
    if (torc_call_reap_all(service, call)) {
        torc_sink_integer(call->sink, (int64_t)torc_keyspace_count(service->keyspace));
    }
}

void torc_command_flushall(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    if (request->n_strings > 1 ||
        (request->n_strings == 1 && !torc_word_is(request->strings[0], "async") &&
         !torc_word_is(request->strings[0], "sync"))) {
        torc_sink_fault(call->sink, TORC_FAULT_SYNTAX);
        return;
    }
    /* SYNC or not: the keys are gone at once, their memory follows in steps. */
    torc_keyspace_flush(service->keyspace);
    torc_sink_ok(call->sink);
}

struct time_look {
    struct torc_service *service;
    const struct torc_key *key;
    bool has_time;
};

static void see_field_time(void *arg, const struct torc_pair *pair)
{
    struct time_look *look = arg;
    int64_t when = -1;
    if (!look->has_time) {
        int rc = torc_hash_expiries(look->service->keyspace, look->key, &pair->field, 1, &when);
        look->has_time = rc == 0 && when >= 0;
    }
}

/* Does a field of this compact hash have a time? A rare question, and the hash is small: field by
 * field. */
static bool has_field_times(struct torc_service *service, const struct torc_key *key)
{
    struct torc_expiry_facts facts;
    torc_keyspace_expiry_facts(service->keyspace, &facts);
    struct time_look look = {.service = service, .key = key};
    if (facts.n_hashes != 0) {
        int rc = torc_hash_each(service->keyspace, key, TORC_FIELDS, see_field_time, &look);
        assert(rc == 0);
        (void)rc;
    }
    return look.has_time;
}

void torc_command_object_encoding(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    switch (torc_keyspace_encoding(service->keyspace, &call->key)) {
    case TORC_ENCODING_COMPACT:
        torc_sink_bytes(
            call->sink,
            torc_slice_str(has_field_times(service, &call->key) ? "listpackex" : "listpack"));
        break;
    case TORC_ENCODING_FULL:
        torc_sink_bytes(call->sink, torc_slice_str("hashtable"));
        break;
    case TORC_ENCODING_NONE:
        torc_sink_null(call->sink);
        break;
    }
}
