/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs each operation of the instruction budget a fixed number of times. Under callgrind, as
 * perf/instr starts it, only the operations are counted, and a dump named after each case is
 * written; by itself it only checks that they do what they should. Prints one JSON line per case.
 */
#include <argp.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

#include "core/cpu.h"
#include "perf/micro/instr.h"

/* What the brackets around an operation take is counted with an operation that does nothing. */
static void *nothing_open(const struct torc_instr_case *self)
{
    static uint64_t state;
    (void)self;
    return &state;
}
static void nothing_run(void *state, uint64_t i)
{
    (void)state;
    (void)i;
}
static bool nothing_is_right(void *state, uint64_t i)
{
    (void)i;
    return state != NULL;
}
static void nothing_close(void *state)
{
    (void)state;
}

static const struct torc_instr_case nothing[] = {
    {.name = "nothing",
     .n = 1000,
     .requests = 1,
     .open = nothing_open,
     .run = nothing_run,
     .is_right = nothing_is_right,
     .close = nothing_close},
    {0},
};

static void count(const struct torc_instr_case *c)
{
    /* Making a million fields goes several times faster when nothing is watched. */
    void *state = c->open(c);
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (uint64_t i = 0; i < c->warm + c->n; i++) {
        if (c->prepare != NULL) {
            c->prepare(state, i);
        }
        if (i >= c->warm) {
            CALLGRIND_TOGGLE_COLLECT;
            c->run(state, i);
            CALLGRIND_TOGGLE_COLLECT;
        } else {
            c->run(state, i);
        }
        torc_instr_require(c->is_right(state, i), c->name);
    }
    CALLGRIND_DUMP_STATS_AT(c->name);
    CALLGRIND_STOP_INSTRUMENTATION;
    c->close(state);
    (void)printf("{\"name\":\"%s\",\"operations\":%llu,\"requests\":%llu,\"cpu\":\"%s\"}\n",
                 c->name, (unsigned long long)c->n, (unsigned long long)c->requests,
                 torc_cpu_level_name(torc_cpu_level()));
    (void)fflush(stdout);
}

/* Counts can be compared when all of this is the same. */
static void tell_build(void)
{
#if defined(__clang__)
    const char *compiler = "clang";
#else
    const char *compiler = "gcc";
#endif
#if defined(__OPTIMIZE__)
    const char *optimized = "true";
#else
    const char *optimized = "false";
#endif
    (void)printf("{\"build\":\"%s %s, glibc %s\",\"optimized\":%s}\n", compiler, __VERSION__,
                 gnu_get_libc_version(), optimized);
}

struct wish {
    bool lists;
    char *only;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case 'l':
        wish->lists = true;
        return 0;
    case 'o':
        wish->only = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    struct wish wish = {0};
    const struct argp_option options[] = {
        {"list", 'l', NULL, 0, "print the names of the cases", 0},
        {"only", 'o', "NAME", 0, "this case alone (and the empty one)", 0},
        {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Operations of the instruction budget, to be counted by perf/instr."};
    argp_err_exit_status = 2;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &wish);

    if (!wish.lists) {
        tell_build();
    }
    const struct torc_instr_case *const tables[] = {nothing, torc_instr_hash_cases,
                                                    torc_instr_server_cases, NULL};
    bool found = false;
    for (size_t t = 0; tables[t] != NULL; t++) {
        for (const struct torc_instr_case *c = tables[t]; c->name != NULL; c++) {
            bool is_wanted = wish.only == NULL || strcmp(wish.only, c->name) == 0;
            found |= is_wanted;
            if (wish.lists) {
                (void)printf("%s\n", c->name);
            } else if (is_wanted || t == 0) {
                count(c);
            }
        }
    }
    if (!found) {
        (void)fprintf(stderr, "instr_driver: there is no case %s; --list names them\n", wish.only);
        return 2;
    }
    return EXIT_SUCCESS;
}
