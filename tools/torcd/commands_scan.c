/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that walk: SCAN, HSCAN, KEYS. A page is walked twice, once to count what will be in it
 * and once to give it: the count comes first in a reply, and nothing changes in between. So a walk
 * needs no memory, whatever COUNT says.
 */
#include "tools/torcd/commands_private.h"
#include "tools/torcd/glob.h"

/* A page visits whole lines of an index, which hold about eight entries each. */
#define ENTRIES_PER_HOME 8u
/* COUNT is a hint: more than this is not visited in one go, so that others need not wait long. */
#define COUNT_MAX 65536u

/* What a walk shows. */
struct scan {
    struct torc_slice match; /* data NULL: all */
    struct torc_slice type;  /* SCAN: data NULL: all */
    int64_t count;
    bool has_type;          /* TYPE is an option of this command, */
    bool has_values;        /* and NOVALUES, not given yet */
    uint32_t n;             /* items seen */
    struct torc_sink *sink; /* NULL: only count */
};

static enum torc_fault parse_options(const struct torc_slice *words, uint32_t n, struct scan *scan)
{
    for (uint32_t i = 0; i < n; i++) {
        bool has_value = i + 1 < n;
        if (torc_word_is(words[i], "count") && has_value) {
            if (!torc_word_integer(words[++i], &scan->count)) {
                return TORC_FAULT_NOT_INTEGER;
            }
            if (scan->count < 1) {
                return TORC_FAULT_SYNTAX;
            }
        } else if (torc_word_is(words[i], "match") && has_value) {
            scan->match = torc_slice_present(words[++i]);
        } else if (torc_word_is(words[i], "type") && has_value && scan->has_type) {
            scan->type = torc_slice_present(words[++i]);
        } else if (torc_word_is(words[i], "novalues") && !scan->has_type) {
            scan->has_values = false;
        } else {
            return TORC_FAULT_SYNTAX;
        }
    }
    return TORC_FAULT_NONE;
}

static uint64_t homes_of(const struct scan *scan)
{
    uint64_t count = torc_min_u64((uint64_t)scan->count, COUNT_MAX);
    return (count + ENTRIES_PER_HOME - 1) / ENTRIES_PER_HOME;
}

static void show(struct scan *scan, struct torc_slice item)
{
    scan->n++;
    if (scan->sink != NULL) {
        torc_sink_item(scan->sink, torc_slice_present(item));
    }
}

static void see_key(void *arg, struct torc_slice key, enum torc_type type)
{
    struct scan *scan = arg;
    if ((scan->type.data == NULL || torc_word_is(scan->type, torc_type_name(type))) &&
        (scan->match.data == NULL || torc_glob_matches(scan->match, key, false))) {
        show(scan, key);
    }
}

static void see_pair(void *arg, const struct torc_pair *pair)
{
    struct scan *scan = arg;
    if (scan->match.data != NULL && !torc_glob_matches(scan->match, pair->field, false)) {
        return;
    }
    show(scan, pair->field);
    if (scan->has_values) {
        show(scan, pair->value);
    }
}

void torc_command_scan(struct torc_service *service, struct torc_call *call)
{
    struct scan scan = {.count = 10, .has_type = true};
    const struct torc_request *request = &call->request;
    enum torc_fault fault = parse_options(request->strings, request->n_strings, &scan);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    if (!torc_call_reap_all(service, call)) {
        return;
    }
    uint64_t cursor = request->numbers[0];
    uint64_t next = torc_keyspace_scan(service->keyspace, cursor, homes_of(&scan), see_key, &scan);
    torc_sink_cursor(call->sink, next, scan.n);
    scan.sink = call->sink;
    (void)torc_keyspace_scan(service->keyspace, cursor, homes_of(&scan), see_key, &scan);
}

void torc_command_hscan(struct torc_service *service, struct torc_call *call)
{
    struct scan scan = {.count = 10, .has_values = true};
    const struct torc_request *request = &call->request;
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    int64_t len = torc_hash_len(service->keyspace, &call->key);
    if (len < 0) {
        torc_call_fail(call, len);
        return;
    }
    service->stats.hits += len != 0;
    service->stats.misses += len == 0;
    if (len == 0) {
        /* As Redis: what the options are does not matter then. */
        torc_sink_cursor(call->sink, 0, 0);
        return;
    }
    enum torc_fault fault = parse_options(request->strings + 1, request->n_strings - 1, &scan);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    uint64_t cursor = request->numbers[0];
    uint64_t next = 0;
    int rc = torc_hash_scan(service->keyspace, &call->key, cursor, homes_of(&scan), TORC_FIELDS,
                            see_pair, &scan, &next);
    assert(rc == 0); /* the type was checked by _len() */
    torc_sink_cursor(call->sink, next, scan.n);
    scan.sink = call->sink;
    rc = torc_hash_scan(service->keyspace, &call->key, cursor, homes_of(&scan),
                        scan.has_values ? TORC_PAIRS : TORC_FIELDS, see_pair, &scan, &next);
    assert(rc == 0);
    (void)rc;
}

static void walk_keys(struct torc_service *service, struct scan *scan)
{
    uint64_t cursor = 0;
    do {
        cursor = torc_keyspace_scan(service->keyspace, cursor, UINT64_MAX, see_key, scan);
    } while (cursor != 0);
}

void torc_command_keys(struct torc_service *service, struct torc_call *call)
{
    struct scan scan = {.match = torc_slice_present(call->request.strings[0])};
    if (!torc_call_reap_all(service, call)) {
        return;
    }
    walk_keys(service, &scan);
    if (torc_call_may_have_items(call, scan.n)) {
        torc_sink_array(call->sink, scan.n);
        scan.sink = call->sink;
        walk_keys(service, &scan);
    }
}
