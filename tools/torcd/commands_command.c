/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND: the table of commands as clients read it.
 */
#include "tools/torcd/commands_private.h"
#include "tools/torcd/glob.h"

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

/* Categories of access control as Redis has them; how many there are at most. */
#define CATEGORIES_MAX 4u

static bool is_dangerous(const struct torc_op_info *info)
{
    /* They tell about others, take long, or lose much. */
    static const char *const names[] = {"flushall", "flushdb", "info", "keys"};
    bool hit = (info->flags & TORC_OP_ADMIN) != 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hit |= strcmp(info->name, names[i]) == 0;
    }
    return hit;
}

static uint32_t categories_of(const struct torc_op_info *info,
                              const char *out_words[CATEGORIES_MAX])
{
    bool has_access = (info->flags & (TORC_OP_READ | TORC_OP_WRITE)) != 0;
    uint32_t n = 0;
    if (has_access) {
        out_words[n++] = (info->flags & TORC_OP_WRITE) != 0 ? "@write" : "@read";
    }
    out_words[n++] = (info->flags & TORC_OP_ADMIN) != 0             ? "@admin"
                     : !has_access                                  ? "@connection"
                     : info->first_key != 0 && info->name[0] == 'h' ? "@hash"
                                                                    : "@keyspace";
    out_words[n++] = (info->flags & TORC_OP_FAST) != 0 ? "@fast" : "@slow";
    if (is_dangerous(info)) {
        out_words[n++] = "@dangerous";
    }
    return n;
}

static void describe_categories(struct torc_sink *sink, const struct torc_op_info *info)
{
    const char *words[CATEGORIES_MAX];
    uint32_t n = categories_of(info, words);
    torc_sink_set(sink, n);
    for (uint32_t i = 0; i < n; i++) {
        text(sink, words[i]);
    }
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
    torc_sink_array(sink, 0);
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

/* What COMMAND LIST is filtered by; all zero: nothing. */
struct filter {
    struct torc_slice pattern;  /* data NULL: any */
    struct torc_slice category; /* without the '@'; data NULL: any */
    bool hides_all;
};

static bool passes(const struct filter *filter, const struct torc_op_info *info)
{
    if (filter->hides_all ||
        (filter->pattern.data != NULL &&
         !torc_glob_matches(filter->pattern, torc_slice_str(info->name), true))) {
        return false;
    }
    const char *words[CATEGORIES_MAX];
    uint32_t n = filter->category.data != NULL ? categories_of(info, words) : 0;
    bool hit = filter->category.data == NULL;
    for (uint32_t i = 0; i < n; i++) {
        hit |= torc_word_is(filter->category, words[i] + 1);
    }
    return hit;
}

/* Give the names that pass, or count them. Subcommands have names, too. */
static uint32_t list_names(struct torc_sink *sink, const struct filter *filter, bool gives)
{
    uint32_t n = 0;
    for (unsigned op = 1; op < TORC_GATEWAY_END; op++) {
        struct torc_op_info info = facts_of(op);
        if (info.name != NULL && passes(filter, &info)) {
            n++;
            if (gives) {
                torc_sink_item(sink, torc_slice_str(info.name));
            }
        }
    }
    for (size_t i = 0; torc_command_container(i) != NULL; i++) {
        struct torc_op_info info = {.name = torc_command_container(i)};
        if (passes(filter, &info)) {
            n++;
            if (gives) {
                torc_sink_item(sink, torc_slice_str(info.name));
            }
        }
    }
    return n;
}

static void command_names(struct torc_sink *sink, const struct filter *filter)
{
    torc_sink_array(sink, list_names(sink, filter, false));
    (void)list_names(sink, filter, true);
}

/* COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern] */
static void command_list(struct torc_sink *sink, const struct torc_slice *words, uint32_t n)
{
    struct filter filter = {0};
    bool is_valid = n == 0;
    if (n == 3 && torc_word_is(words[0], "filterby")) {
        is_valid = true;
        if (torc_word_is(words[1], "pattern")) {
            filter.pattern = torc_slice_present(words[2]);
        } else if (torc_word_is(words[1], "aclcat")) {
            filter.category = torc_slice_present(words[2]);
        } else if (torc_word_is(words[1], "module")) {
            filter.hides_all = true; /* there are no modules */
        } else {
            is_valid = false;
        }
    }
    if (is_valid) {
        command_names(sink, &filter);
    } else {
        torc_sink_fault(sink, TORC_FAULT_SYNTAX);
    }
}

/* COMMAND GETKEYS: the keys among the words of a command, the place of its name left out. */
static void command_getkeys(struct torc_sink *sink, const struct torc_slice *words, uint32_t n)
{
    unsigned op = torc_command_find(words, n);
    if (op == TORC_OP_NONE) {
        torc_sink_fault(sink, TORC_FAULT_NOT_A_COMMAND);
        return;
    }
    struct torc_op_info info = facts_of(op);
    if (info.first_key == 0) {
        torc_sink_fault(sink, TORC_FAULT_NO_KEYS);
        return;
    }
    if (!torc_op_arity_is_ok(&info, n)) {
        torc_sink_fault(sink, TORC_FAULT_NOT_ITS_ARITY);
        return;
    }
    uint32_t first = (uint32_t)info.first_key;
    uint32_t last = info.last_key < 0 ? n - (uint32_t)-info.last_key : (uint32_t)info.last_key;
    uint32_t step = (uint32_t)info.key_step;
    torc_sink_array(sink, (last - first) / step + 1);
    for (uint32_t i = first; i <= last; i += step) {
        torc_sink_item(sink, torc_slice_present(words[i]));
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

static void refuse_arity(struct torc_sink *sink, const char *name)
{
    torc_sink_fault_with(sink, TORC_FAULT_ARITY, torc_slice_str(name), torc_slice_str(""));
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
        if (sink->is_flat) {
            command_names(sink, &(struct filter){0});
        } else {
            command_all(sink);
        }
    } else if (torc_word_is(words[0], "count")) {
        if (n == 1) {
            torc_sink_integer(sink, count_listed());
        } else {
            refuse_arity(sink, "command|count");
        }
    } else if (torc_word_is(words[0], "list")) {
        command_list(sink, words + 1, n - 1);
    } else if (torc_word_is(words[0], "getkeys")) {
        if (n > 1) {
            command_getkeys(sink, words + 1, n - 1);
        } else {
            refuse_arity(sink, "command|getkeys");
        }
    } else if (torc_word_is(words[0], "docs")) {
        torc_sink_pairs(sink, 0); /* no documentation is built in */
    } else if (is_info && !sink->is_flat) {
        command_some(sink, words + 1, n - 1);
    } else {
        torc_sink_fault_with(sink, TORC_FAULT_UNKNOWN_SUBCOMMAND, words[0],
                             torc_slice_str("COMMAND"));
    }
}
