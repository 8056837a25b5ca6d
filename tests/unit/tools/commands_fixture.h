/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands without a server around them: words go in as a RESP connection gives them, the reply
 * comes back as a decoded ring message, whose items are easily counted.
 */
#ifndef TORC_TESTS_UNIT_TOOLS_COMMANDS_FIXTURE_H
#define TORC_TESTS_UNIT_TOOLS_COMMANDS_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/prng.h"
#include "tools/torcd/commands.h"

#define REPLY_BYTES ((size_t)16 << 20)
#define WORDS_MAX   4096u

/* An assertion that check hears of only when it fails: it writes a note at each of its own. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg("line %d: %s", __LINE__, #condition);                                     \
        }                                                                                          \
    } while (0)

static struct torc_settings settings;
static struct torc_shared shared;
static struct torc_service service;
static uint8_t *reply_bytes;
static struct torc_slice *words; /* of the command that ask_words() runs */
static uint32_t n_words;

static inline void set_up(void)
{
    char why[TORC_OPTION_ERROR_BYTES] = "";
    torc_settings_init(&settings);
    ck_assert_int_eq(
        torc_options_set(torc_settings_options(), &settings, "maxmemory", "512mb", why), 0);
    ck_assert_msg(torc_service_init(&service, &settings, &shared, NULL, why) == 0, "%s", why);
    reply_bytes = malloc(REPLY_BYTES);
    words = calloc(WORDS_MAX, sizeof *words);
    ck_assert_ptr_nonnull(reply_bytes);
    ck_assert_ptr_nonnull(words);
    n_words = 0;
}

static inline void tear_down(void)
{
    const char *why = "";
    ck_assert_msg(torc_keyspace_check(service.keyspace, &why) == 0, "%s", why);
    torc_service_fini(&service);
    free(reply_bytes);
    free(words);
}

static inline void use_full_hashes(void)
{
    service.limits.compact_max_entries = 0;
}

static inline void add_word(struct torc_slice word)
{
    REQUIRE(n_words < WORDS_MAX);
    words[n_words++] = word;
}

/* Run the command that was added word by word. */
static inline struct torc_reply ask_words(void)
{
    static char scratch[TORC_FAULT_TEXT_BYTES];
    struct torc_caller caller = {.id = 1, .protocol = 2};
    struct torc_call call = {.caller = &caller};
    struct torc_ring_sink ring;
    struct torc_reply reply;
    torc_call_from_words(&service, words, n_words, scratch, &call);
    torc_ring_sink_init(&ring, NULL, REPLY_BYTES, reply_bytes, REPLY_BYTES, 1, 0);
    call.sink = &ring.sink;
    torc_calls_prepare(&service, &call, 1);
    torc_call_run(&service, &call);
    n_words = 0;
    REQUIRE(torc_reply_is_complete(&ring.writer));
    REQUIRE(torc_reply_decode(reply_bytes, ring.writer.len, &reply) == 0);
    return reply;
}

static inline struct torc_reply ask_row(const char *const *row)
{
    for (; *row != NULL; row++) {
        add_word(torc_slice_str(*row));
    }
    return ask_words();
}
#define ASK(...) ask_row((const char *const[]){__VA_ARGS__, NULL})

static inline void expect_integer(struct torc_reply reply, int64_t wanted)
{
    REQUIRE(reply.kind == TORC_REPLY_INT && reply.integer == wanted);
}

static inline void expect_bytes(struct torc_reply reply, const char *wanted)
{
    ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
    ck_assert_msg(torc_slice_equal(reply.bytes, torc_slice_str(wanted)), "%.*s is not %s",
                  (int)reply.bytes.len, (const char *)reply.bytes.data, wanted);
}

static inline void expect_error(struct torc_reply reply, const char *wanted)
{
    ck_assert_int_eq(reply.kind, TORC_REPLY_ERROR);
    ck_assert_msg(torc_slice_equal(reply.bytes, torc_slice_str(wanted)), "%.*s is not %s",
                  (int)reply.bytes.len, (const char *)reply.bytes.data, wanted);
}

/* Fields of hash "h" are numbers. Set or delete those from `first` up to `end`. */
static inline void change_fields(const char *command, unsigned first, unsigned end)
{
    static char names[WORDS_MAX][12];
    const unsigned step = 1000;
    bool sets = strcmp(command, "HSET") == 0;
    for (unsigned at = first; at < end; at += step) {
        add_word(torc_slice_str(command));
        add_word(torc_slice_str("h"));
        for (unsigned i = at; i < end && i < at + step; i++) {
            (void)snprintf(names[i - at], sizeof names[0], "%u", i);
            add_word(torc_slice_str(names[i - at]));
            if (sets) {
                add_word(torc_slice_str("v"));
            }
        }
        REQUIRE(ask_words().kind == TORC_REPLY_INT);
    }
}

/* The number that is a field's name, below `end`. */
static inline unsigned number_of(struct torc_slice field, unsigned end)
{
    char text[16] = "";
    REQUIRE(field.len < sizeof text);
    memcpy(text, field.data, field.len);
    unsigned long number = strtoul(text, NULL, 10);
    REQUIRE(number < end);
    return (unsigned)number;
}

static inline int run_cases(const char *name, const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 100);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    for (size_t i = 0; i < n; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#define RUN(name, ...)                                                                             \
    run_cases((name), (const TTest *const[]){__VA_ARGS__},                                         \
              sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *))

#endif
