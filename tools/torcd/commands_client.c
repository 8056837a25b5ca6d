/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that only the gateway has: they are about the connection.
 */
#include "tools/torcd/commands_private.h"

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
