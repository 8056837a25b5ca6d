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

/* Keys of commands that take several; call->key is the first one's. */
static struct torc_key key_at(const struct torc_service *service, const struct torc_call *call,
                              uint32_t i)
{
    return i == 0 ? call->key : torc_keyspace_key(service->keyspace, call->request.strings[i]);
}

void torc_command_del(struct torc_service *service, struct torc_call *call)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = key_at(service, call, i);
        n += torc_keyspace_del(service->keyspace, &key);
    }
    torc_sink_integer(call->sink, n);
}

void torc_command_exists(struct torc_service *service, struct torc_call *call)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = key_at(service, call, i);
        n += torc_keyspace_type(service->keyspace, &key) != TORC_TYPE_NONE;
    }
    service->stats.hits += (uint64_t)n;
    service->stats.misses += call->request.n_strings - (uint64_t)n;
    torc_sink_integer(call->sink, n);
}

void torc_command_touch(struct torc_service *service, struct torc_call *call)
{
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_key key = key_at(service, call, i);
        torc_keyspace_touch(service->keyspace, &key);
    }
    torc_command_exists(service, call);
}

void torc_command_type(struct torc_service *service, struct torc_call *call)
{
    enum torc_type type = torc_keyspace_type(service->keyspace, &call->key);
    torc_sink_text(call->sink, torc_slice_str(torc_type_name(type)));
}

void torc_command_dbsize(struct torc_service *service, struct torc_call *call)
{
    torc_sink_integer(call->sink, (int64_t)torc_keyspace_count(service->keyspace));
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

void torc_command_object_encoding(struct torc_service *service, struct torc_call *call)
{
    switch (torc_keyspace_encoding(service->keyspace, &call->key)) {
    case TORC_ENCODING_COMPACT:
        torc_sink_bytes(call->sink, torc_slice_str("listpack"));
        break;
    case TORC_ENCODING_FULL:
        torc_sink_bytes(call->sink, torc_slice_str("hashtable"));
        break;
    case TORC_ENCODING_NONE:
        torc_sink_null(call->sink);
        break;
    }
}
