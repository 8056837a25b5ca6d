/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that only the gateway has: they are about the connection, or about settings.
 */
#include "tools/torcd/commands_private.h"

#include "tools/torcd/glob.h"

static struct torc_slice name_of(const char *text)
{
    return torc_slice_str(text);
}

/* Printable and without blanks, as CLIENT LIST needs it; and not longer than we keep. */
static bool is_clean(struct torc_slice name)
{
    if (name.len >= TORC_CALLER_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '!' || name.data[i] > '~') {
            return false;
        }
    }
    return true;
}

static void keep(char to[TORC_CALLER_NAME_BYTES], struct torc_slice name)
{
    if (name.len != 0) {
        memcpy(to, name.data, name.len);
    }
    to[name.len] = '\0';
}

static void hello_item(struct torc_sink *sink, const char *name, const char *value)
{
    torc_sink_item(sink, torc_slice_str(name));
    torc_sink_item(sink, torc_slice_str(value));
}

void torc_command_hello(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    const struct torc_slice *words = call->request.strings;
    uint32_t n = call->request.n_strings;
    struct torc_caller *caller = call->caller;
    int64_t protocol = caller->protocol;
    struct torc_slice name = {0};
    bool has_name = false;

    if (n != 0 && !torc_word_integer(words[0], &protocol)) {
        torc_sink_fault(call->sink, TORC_FAULT_HELLO_VERSION);
        return;
    }
    if (protocol != 2 && protocol != 3) {
        torc_sink_fault(call->sink, TORC_FAULT_NO_PROTOCOL);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        if (torc_word_is(words[i], "auth") && n - i > 2) {
            /* There are no passwords, so the default user is let in with any. */
            if (!torc_slice_equal(words[i + 1], name_of("default"))) {
                torc_sink_fault(call->sink, TORC_FAULT_WRONG_PASSWORD);
                return;
            }
            i += 2;
        } else if (torc_word_is(words[i], "setname") && n - i > 1) {
            name = words[++i];
            has_name = true;
            if (!is_clean(name)) {
                torc_sink_fault(call->sink, TORC_FAULT_CLIENT_NAME);
                return;
            }
        } else {
            torc_sink_fault_with(call->sink, TORC_FAULT_HELLO_OPTION, words[i], name_of(""));
            return;
        }
    }
    if (has_name) {
        keep(caller->name, name);
    }
    caller->protocol = (uint8_t)protocol; /* the reply is in the new protocol already */
    torc_sink_pairs(call->sink, 7);
    hello_item(call->sink, "server", "redis");
    hello_item(call->sink, "version", TORC_REDIS_VERSION);
    torc_sink_item(call->sink, name_of("proto"));
    torc_sink_integer(call->sink, protocol);
    torc_sink_item(call->sink, name_of("id"));
    torc_sink_integer(call->sink, (int64_t)caller->id);
    hello_item(call->sink, "mode", "standalone");
    hello_item(call->sink, "role", "master");
    torc_sink_item(call->sink, name_of("modules"));
    torc_sink_array(call->sink, 0);
}

void torc_command_client_id(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    torc_sink_integer(call->sink, (int64_t)call->caller->id);
}

void torc_command_client_getname(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    if (call->caller->name[0] == '\0') {
        torc_sink_null(call->sink);
    } else {
        torc_sink_bytes(call->sink, torc_slice_str(call->caller->name));
    }
}

void torc_command_client_setname(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    struct torc_slice name = call->request.strings[0];
    if (!is_clean(name)) {
        torc_sink_fault(call->sink, TORC_FAULT_CLIENT_NAME);
        return;
    }
    keep(call->caller->name, name);
    torc_sink_ok(call->sink);
}

void torc_command_client_setinfo(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    struct torc_slice option = call->request.strings[0];
    struct torc_slice value = call->request.strings[1];
    char *to = NULL;
    if (torc_word_is(option, "lib-name")) {
        to = call->caller->lib_name;
    } else if (torc_word_is(option, "lib-ver")) {
        to = call->caller->lib_version;
    }
    if (to == NULL) {
        torc_sink_fault_with(call->sink, TORC_FAULT_CLIENT_INFO_OPTION, option, name_of(""));
    } else if (!is_clean(value)) {
        torc_sink_fault_with(call->sink, TORC_FAULT_CLIENT_INFO_VALUE, option, name_of(""));
    } else {
        keep(to, value);
        torc_sink_ok(call->sink);
    }
}

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
