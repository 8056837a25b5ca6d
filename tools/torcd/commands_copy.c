/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands on whole keys: COPY, RENAME, RENAMENX.
 */
#include "tools/torcd/commands_private.h"

/* DB n and REPLACE, in any order. There is one database. */
static enum torc_fault parse_copy(const struct torc_request *request, bool *out_replaces)
{
    *out_replaces = false;
    for (uint32_t i = 2; i < request->n_strings; i++) {
        int64_t database;
        if (torc_word_is(request->strings[i], "replace")) {
            *out_replaces = true;
        } else if (!torc_word_is(request->strings[i], "db") || i + 1 == request->n_strings) {
            return TORC_FAULT_SYNTAX;
        } else if (!torc_word_integer(request->strings[++i], &database)) {
            return TORC_FAULT_NOT_INTEGER;
        } else if (database != 0) {
            return TORC_FAULT_DB_RANGE;
        }
    }
    return torc_slice_equal(request->strings[0], request->strings[1]) ? TORC_FAULT_SAME_OBJECTS
                                                                      : TORC_FAULT_NONE;
}

void torc_command_copy(struct torc_service *service, struct torc_call *call)
{
    bool replaces;
    enum torc_fault fault = parse_copy(&call->request, &replaces);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    if (!torc_call_reap_keys(service, call, 2)) {
        return;
    }
    struct torc_key to = torc_call_key(service, call, 1);
    int rc = torc_keyspace_copy(service->keyspace, &call->key, &to, replaces);
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else {
        torc_sink_integer(call->sink, rc);
    }
}

/* 1 or 0 as torc_keyspace_rename(); -1: it was answered, or postponed. */
static int rename_key(struct torc_service *service, struct torc_call *call, bool only_if_absent)
{
    if (!torc_call_reap_keys(service, call, 2)) {
        return -1;
    }
    struct torc_key to = torc_call_key(service, call, 1);
    int rc = torc_keyspace_rename(service->keyspace, &call->key, &to, only_if_absent);
    if (rc == -ENOENT) {
        torc_sink_fault(call->sink, TORC_FAULT_NO_SUCH_KEY);
    } else if (rc < 0) {
        torc_call_fail(call, rc);
    }
    return rc < 0 ? -1 : rc;
}

void torc_command_rename(struct torc_service *service, struct torc_call *call)
{
    if (rename_key(service, call, false) >= 0) {
        torc_sink_ok(call->sink);
    }
}

void torc_command_renamenx(struct torc_service *service, struct torc_call *call)
{
    int rc = rename_key(service, call, true);
    if (rc >= 0) {
        torc_sink_integer(call->sink, rc);
    }
}
