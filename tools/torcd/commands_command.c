/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND: the table of commands as clients read it.
 */
#include "tools/torcd/commands_private.h"

/* COMMAND lists commands of one word, then containers with their subcommands inside. */
static const char *listed_name(unsigned op)
{
    const char *name = torc_command_name(op);
    return name != NULL && strchr(name, '|') == NULL ? name : NULL;
}

static uint32_t count_listed(void)
{
    uint32_t n = 0;
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        n += listed_name(op) != NULL;
    }
    for (size_t i = 0; torc_command_container(i) != NULL; i++) {
        n++;
    }
    return n;
}

static bool is_inside(const char *container, unsigned op)
{
    const char *name = torc_command_name(op);
    size_t len = strlen(container);
    return name != NULL && strncmp(name, container, len) == 0 && name[len] == '|';
}

static struct torc_op_info facts_of(unsigned op)
{
    if (op < TORC_OP_LIMIT) {
        return *torc_op_info((uint8_t)op);
    }
    const struct torc_gateway_info *info = torc_gateway_info(op);
    return (struct torc_op_info){.name = info->name, .arity = info->arity, .flags = TORC_OP_FAST};
}

static void text(struct torc_sink *sink, const char *what)
{
    torc_sink_text(sink, torc_slice_str(what));
}

static void describe_flags(struct torc_sink *sink, uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {
        {TORC_OP_WRITE, "write"}, {TORC_OP_READ, "readonly"}, {TORC_OP_DENYOOM, "denyoom"},
        {TORC_OP_ADMIN, "admin"}, {TORC_OP_FAST, "fast"},
    };
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        n += (flags & words[i].flag) != 0;
    }
    torc_sink_set(sink, n);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((flags & words[i].flag) != 0) {
            text(sink, words[i].word);
        }
    }
}

static void describe_categories(struct torc_sink *sink, const struct torc_op_info *info)
{
    const char *group = info->first_key == 0   ? "@connection"
                        : info->name[0] == 'h' ? "@hash"
                                               : "@keyspace";
    bool has_access = (info->flags & (TORC_OP_READ | TORC_OP_WRITE)) != 0;
    torc_sink_set(sink, has_access ? 3 : 2);
    if (has_access) {
        text(sink, (info->flags & TORC_OP_WRITE) != 0 ? "@write" : "@read");
    }
    text(sink, group);
    text(sink, (info->flags & TORC_OP_FAST) != 0 ? "@fast" : "@slow");
}

static void spec_item(struct torc_sink *sink, const char *name, int64_t value)
{
    torc_sink_bytes(sink, torc_slice_str(name));
    torc_sink_integer(sink, value);
}

/* Where the keys are, in the form of Redis 7's key specifications. */
static void describe_keys(struct torc_sink *sink, const struct torc_op_info *info)
{
    if (info->first_key == 0) {
        torc_sink_set(sink, 0);
        return;
    }
    bool writes = (info->flags & TORC_OP_WRITE) != 0;
    torc_sink_set(sink, 1);
    torc_sink_pairs(sink, 3);
    torc_sink_bytes(sink, torc_slice_str("flags"));
    torc_sink_set(sink, 2);
    text(sink, writes ? "RW" : "RO");
    text(sink, writes ? "update" : "access");
    torc_sink_bytes(sink, torc_slice_str("begin_search"));
    torc_sink_pairs(sink, 2);
    torc_sink_bytes(sink, torc_slice_str("type"));
    torc_sink_bytes(sink, torc_slice_str("index"));
    torc_sink_bytes(sink, torc_slice_str("spec"));
    torc_sink_pairs(sink, 1);
    spec_item(sink, "index", info->first_key);
    torc_sink_bytes(sink, torc_slice_str("find_keys"));
    torc_sink_pairs(sink, 2);
    torc_sink_bytes(sink, torc_slice_str("type"));
    torc_sink_bytes(sink, torc_slice_str("range"));
    torc_sink_bytes(sink, torc_slice_str("spec"));
    torc_sink_pairs(sink, 3);
    /* Relative to the first key, or to the end when negative. */
    spec_item(sink, "lastkey",
              info->last_key < 0 ? info->last_key : info->last_key - info->first_key);
    spec_item(sink, "keystep", info->key_step);
    spec_item(sink, "limit", 0);
}

/* The first nine elements; the tenth, the subcommands, follows. */
static void describe_head(struct torc_sink *sink, const struct torc_op_info *info)
{
    torc_sink_array(sink, 10);
    torc_sink_bytes(sink, torc_slice_str(info->name));
    torc_sink_integer(sink, info->arity);
    describe_flags(sink, info->flags);
    torc_sink_integer(sink, info->first_key);
    torc_sink_integer(sink, info->last_key);
    torc_sink_integer(sink, info->key_step);
    describe_categories(sink, info);
    torc_sink_set(sink, 0); /* tips */
    describe_keys(sink, info);
}

static void describe(struct torc_sink *sink, unsigned op)
{
    struct torc_op_info info = facts_of(op);
    describe_head(sink, &info);
    torc_sink_set(sink, 0);
}

static void describe_container(struct torc_sink *sink, const char *name)
{
    struct torc_op_info info = {.name = name, .arity = -2};
    uint32_t n = 0;
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        n += is_inside(name, op);
    }
    describe_head(sink, &info);
    torc_sink_array(sink, n);
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        if (is_inside(name, op)) {
            describe(sink, op);
        }
    }
}

static void command_names(struct torc_sink *sink)
{
    torc_sink_array(sink, count_listed());
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        if (listed_name(op) != NULL) {
            torc_sink_item(sink, torc_slice_str(listed_name(op)));
        }
    }
    for (size_t i = 0; torc_command_container(i) != NULL; i++) {
        torc_sink_item(sink, torc_slice_str(torc_command_container(i)));
    }
}

static void command_all(struct torc_sink *sink)
{
    torc_sink_array(sink, count_listed());
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        if (listed_name(op) != NULL) {
            describe(sink, op);
        }
    }
    for (size_t i = 0; torc_command_container(i) != NULL; i++) {
        describe_container(sink, torc_command_container(i));
    }
}

static void command_one(struct torc_sink *sink, struct torc_slice name)
{
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        if (torc_command_name(op) != NULL && torc_word_is(name, torc_command_name(op))) {
            describe(sink, op);
            return;
        }
    }
    for (size_t i = 0; torc_command_container(i) != NULL; i++) {
        if (torc_word_is(name, torc_command_container(i))) {
            describe_container(sink, torc_command_container(i));
            return;
        }
    }
    torc_sink_null(sink);
}

static void command_some(struct torc_sink *sink, const struct torc_slice *names, uint32_t n)
{
    torc_sink_array(sink, n);
    for (uint32_t i = 0; i < n; i++) {
        command_one(sink, names[i]);
    }
}

/* On a ring, whose replies do not nest, a list of commands is a list of their names. */
void torc_command_command(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    struct torc_sink *sink = call->sink;
    const struct torc_slice *words = call->request.strings;
    uint32_t n = call->request.n_strings;
    bool is_info = n != 0 && torc_word_is(words[0], "info");
    if (n == 0 || (n == 1 && is_info)) {
        (sink->is_flat ? command_names : command_all)(sink);
    } else if (n == 1 && torc_word_is(words[0], "count")) {
        torc_sink_integer(sink, count_listed());
    } else if (n == 1 && torc_word_is(words[0], "list")) {
        command_names(sink);
    } else if (torc_word_is(words[0], "docs")) {
        torc_sink_pairs(sink, 0); /* no documentation is built in */
    } else if (is_info && !sink->is_flat) {
        command_some(sink, words + 1, n - 1);
    } else {
        torc_sink_fault_with(sink, TORC_FAULT_UNKNOWN_SUBCOMMAND, words[0],
                             torc_slice_str("COMMAND"));
    }
}
