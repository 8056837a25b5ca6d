/* SPDX-License-Identifier: Apache-2.0
 *
 * CONFIG: settings, which are read, and statistics, which are set back.
 */
#include "tools/torcd/commands_private.h"
#include "tools/torcd/glob.h"

/* Settings of Redis that tools ask for and that have one true answer here. */
static const char *const fixed_settings[][2] = {
    {"save", ""},
    {"appendonly", "no"},
};
#define N_FIXED (sizeof fixed_settings / sizeof fixed_settings[0])

/* The i-th setting's name; options first, then the fixed ones. */
static const char *setting_name(const struct torc_option_table *options, size_t i)
{
    return i < options->n ? options->table[i].name : fixed_settings[i - options->n][0];
}

/* How the setting is to be called in the reply: as it was asked for when the word is a plain name,
 * by its own name when the word is a pattern; data NULL when no word matches. */
static struct torc_slice asked_name(const struct torc_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->request.n_strings; i++) {
        struct torc_slice word = call->request.strings[i];
        if (torc_word_is(word, name)) {
            return word;
        }
        if (torc_glob_matches(word, torc_slice_str(name), true)) {
            return torc_slice_str(name);
        }
    }
    return torc_slice_of(NULL, 0);
}

void torc_command_config_get(struct torc_service *service, struct torc_call *call)
{
    const struct torc_option_table *options = torc_settings_options();
    size_t n_all = options->n + N_FIXED;
    uint32_t n = 0;
    for (size_t i = 0; i < n_all; i++) {
        n += asked_name(call, setting_name(options, i)).data != NULL;
    }
    torc_sink_pairs(call->sink, n);
    for (size_t i = 0; i < n_all; i++) {
        const char *name = setting_name(options, i);
        struct torc_slice asked = asked_name(call, name);
        if (asked.data == NULL) {
            continue;
        }
        char value[TORC_OPTION_VALUE_BYTES];
        const char *text = value;
        if (i >= options->n) {
            text = fixed_settings[i - options->n][1];
        } else {
            int rc = torc_options_get(options, service->settings, name, value, sizeof value);
            assert(rc == 0); /* the table's own names, and no value is longer */
            (void)rc;
        }
        torc_sink_item(call->sink, asked);
        torc_sink_item(call->sink, torc_slice_str(text));
    }
}

static void set_back(_Atomic uint64_t *word)
{
    atomic_store_explicit(word, 0, memory_order_relaxed);
}

void torc_command_config_resetstat(struct torc_service *service, struct torc_call *call)
{
    struct torc_stats *stats = &service->stats;
    struct torc_expiry_facts expiry;
    torc_keyspace_expiry_facts(service->keyspace, &expiry);
    /* Timers and random choices go on counting commands; the peak of memory is no event. */
    *stats = (struct torc_stats){
        .commands_total = stats->commands_total,
        .commands_before = stats->commands_total,
        .ops_per_sec = stats->ops_per_sec,
        .evicted_before = service->evictor.n_keys,
        .expired_keys_before = expiry.expired_keys,
        .expired_fields_before = expiry.expired_fields,
        .expired_in_passing_before = expiry.expired_fields_in_passing,
        .used_peak = stats->used_peak,
    };
    set_back(&service->shared->connections_received);
    set_back(&service->shared->connections_rejected);
    set_back(&service->shared->sessions_received);
    set_back(&service->shared->sessions_refused);
    torc_sink_ok(call->sink);
}
