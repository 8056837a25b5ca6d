/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that read or write values and change times with them, or remove what they have read:
 * HGETEX, HSETEX, HGETDEL.
 *
 * HGETEX and HGETDEL change data and have long replies. The lengths of the values are known first,
 * and room for the reply is certain before anything changes; what can be refused for want of memory
 * comes before the first item, and what removes values, which never fails, behind the last.
 */
#include <stdlib.h>

#include "tools/torcd/commands_private.h"
#include "tools/torcd/expire_words.h"

static void refuse(struct torc_call *call, struct torc_words_fault fault)
{
    torc_sink_fault_with(call->sink, fault.fault, fault.word, torc_slice_str(""));
}

/* Make sure of room for the values of these fields. False: it was answered, or the sink calls
 * again. `is_repeat`, if not NULL, marks fields that will be null since they stand there before. */
static bool reserve_values(struct torc_service *service, struct torc_call *call,
                           const struct torc_field_words *words, const bool *is_repeat)
{
    size_t bytes = 0;
    if (!torc_call_may_have_items(call, words->n_fields)) {
        return false;
    }
    if (!torc_values_reserve(&service->values, words->n_fields)) {
        torc_call_fail(call, -ENOMEM);
        return false;
    }
    for (uint32_t i = 0; i < words->n_fields; i++) {
        size_t len = 0;
        int rc = torc_hash_value_len(service->keyspace, &call->key, words->fields[i], &len);
        if (rc < 0) {
            torc_call_fail(call, rc);
            return false;
        }
        bytes += rc == 1 && (is_repeat == NULL || !is_repeat[i]) ? len : 0;
    }
    return torc_sink_reserve_items(call->sink, words->n_fields, bytes);
}

/* The reply for which room was reserved. */
static void give_values(struct torc_service *service, struct torc_call *call,
                        const struct torc_field_words *words, const bool *is_repeat)
{
    struct torc_value *values = service->values.items;
    uint32_t n = words->n_fields;
    uint64_t hits = 0;
    torc_sink_array(call->sink, n);
    for (uint32_t done = 0; done < n;) {
        int64_t got = torc_hash_get_many(service->keyspace, &call->key, words->fields + done,
                                         n - done, values);
        assert(got > 0); /* the type was checked with the lengths */
        for (uint32_t i = 0; i < got; i++) {
            bool is_null = is_repeat != NULL && is_repeat[done + i];
            struct torc_slice text = is_null ? torc_slice_of(NULL, 0) : values[i].text;
            hits += text.data != NULL;
            torc_sink_item(call->sink, text);
        }
        done += (uint32_t)got;
    }
    service->stats.hits += hits;
    service->stats.misses += n - hits;
}

/* The values, and then the fields are gone. */
static void give_and_remove(struct torc_service *service, struct torc_call *call,
                            const struct torc_field_words *words)
{
    bool *is_repeat = malloc(words->n_fields);
    if (is_repeat == NULL || !torc_find_repeats(words->fields, words->n_fields,
                                                torc_arena_seed(service->arena), is_repeat)) {
        torc_call_fail(call, -ENOMEM);
    } else if (reserve_values(service, call, words, is_repeat)) {
        give_values(service, call, words, is_repeat);
        int64_t removed =
            torc_hash_del(service->keyspace, &call->key, words->fields, words->n_fields);
        assert(removed >= 0);
        (void)removed;
    }
    free(is_repeat);
}

void torc_command_hgetdel(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    struct torc_field_words words;
    enum torc_fault fault = torc_field_block(request->strings + 1, request->n_strings - 1, &words);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    give_and_remove(service, call, &words);
}

void torc_command_hgetex(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    uint64_t now = torc_call_time(service);
    struct torc_field_words words;
    struct torc_words_fault fault =
        torc_field_words(request->strings + 1, request->n_strings - 1,
                         TORC_WORDS_TIME | TORC_WORDS_PERSIST, "hgetex", now, &words);
    if (fault.fault != TORC_FAULT_NONE) {
        refuse(call, fault);
        return;
    }
    if (words.has_time && torc_expiry_is_past(words.when, now)) {
        give_and_remove(service, call, &words);
        return;
    }
    if (!reserve_values(service, call, &words, NULL)) {
        return;
    }
    int rc = 0;
    int8_t *results = (void *)service->values.items; /* nobody asks for them */
    if (words.has_time) {
        rc = torc_hash_expire(service->keyspace, &call->key, words.fields, words.n_fields,
                              words.when, TORC_EXPIRE_ALWAYS, results);
    } else if (words.persists) {
        rc =
            torc_hash_persist(service->keyspace, &call->key, words.fields, words.n_fields, results);
    }
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else {
        give_values(service, call, &words, NULL);
    }
}

/* FNX, FXX: 1 the fields are as wanted, 0 not, or an error. */
static int check_existence(const struct torc_service *service, const struct torc_call *call,
                           const struct torc_field_words *words)
{
    if (words->existence == TORC_FIELDS_ANY) {
        return 1;
    }
    const int wanted = words->existence == TORC_FIELDS_ALL_THERE;
    for (uint32_t i = 0; i < words->n_fields; i++) {
        size_t len;
        int rc =
            torc_hash_value_len(service->keyspace, &call->key, words->fields[2 * (size_t)i], &len);
        if (rc != wanted) {
            return rc < 0 ? rc : 0;
        }
    }
    return 1;
}

void torc_command_hsetex(struct torc_service *service, struct torc_call *call)
{
    const struct torc_request *request = &call->request;
    struct torc_field_words words;
    struct torc_words_fault fault = torc_field_words(request->strings + 1, request->n_strings - 1,
                                                     TORC_WORDS_TIME | TORC_WORDS_KEEPTTL |
                                                         TORC_WORDS_EXISTENCE | TORC_WORDS_PAIRS,
                                                     "hsetex", torc_call_time(service), &words);
    if (fault.fault != TORC_FAULT_NONE) {
        refuse(call, fault);
        return;
    }
    int64_t rc = check_existence(service, call, &words);
    if (rc == 1) {
        uint64_t when = words.has_time ? words.when
                        : words.keeps  ? TORC_EXPIRY_KEEP
                                       : TORC_EXPIRY_NONE;
        rc = torc_hash_put_expiring_evicting(service->keyspace, &service->evictor, &call->key,
                                             (const void *)words.fields, words.n_fields, when);
        rc = rc < 0 ? rc : 1;
    }
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else {
        torc_sink_integer(call->sink, rc);
    }
}
