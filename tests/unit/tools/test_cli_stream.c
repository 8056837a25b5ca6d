/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_stream.h"

#include <check.h>
#include <stdlib.h>

#include "ring/message.h"
#include "tools/torcd/resp_parser.h"

#define MESSAGE_BYTES ((size_t)8 << 20)

static uint8_t *message;
static char *stream;
static size_t stream_len;

/* A result of n pairs, whose fields are numbers and whose values have value_len(i) bytes. */
static struct torc_result pairs(size_t n, size_t (*value_len)(size_t i))
{
    static uint8_t value[2 << 20];
    struct torc_reply_writer w;
    message = malloc(MESSAGE_BYTES);
    ck_assert_ptr_nonnull(message);
    memset(value, 'v', sizeof value);
    torc_reply_begin(&w, message, MESSAGE_BYTES, TORC_OP_HGETALL, 1);
    torc_reply_array_begin(&w, TORC_REPLY_PAIRS, 0, (uint32_t)(2 * n));
    for (size_t i = 0; i < n; i++) {
        char field[24];
        int len = snprintf(field, sizeof field, "%zu", i);
        torc_reply_item(&w, torc_slice_of(field, (size_t)len));
        torc_reply_item(&w, torc_slice_of(value, value_len(i)));
    }
    struct torc_reply reply;
    ck_assert_int_eq(torc_reply_decode(message, w.len, &reply), 0);
    return (struct torc_result){
        .kind = TORC_MAP, .count = 2 * n, .impl = {reply.ends, reply.items}};
}

static const int64_t *no_times(void)
{
    static int64_t times[TORC_CLI_STREAM_PAIRS_MAX];
    for (size_t i = 0; i < TORC_CLI_STREAM_PAIRS_MAX; i++) {
        times[i] = TORC_NO_TIME;
    }
    return times;
}

static void export(const struct torc_result *result)
{
    FILE *out = open_memstream(&stream, &stream_len);
    ck_assert_ptr_nonnull(out);
    size_t n;
    for (size_t at = 0; (n = torc_cli_stream_part(result, at)) > 0; at += 2 * n) {
        ck_assert_uint_eq(torc_cli_stream_pairs(out, torc_str("k"), result, at, n, no_times()), n);
    }
    ck_assert_int_eq(fclose(out), 0);
    free(message);
}

/* Pairs of each command of the stream, as the server's own parser reads it; ends with 0. Fields
 * must come in their order, each once. */
static const size_t *commands(void)
{
    static size_t sizes[64];
    struct torc_resp_parser parser;
    size_t n = 0;
    size_t next_field = 0;
    torc_resp_parser_init(&parser, 512 * TORC_MIB);
    for (size_t at = 0; at < stream_len;) {
        size_t used = 0;
        uint8_t *data = (uint8_t *)stream + at;
        ck_assert_int_eq(torc_resp_parse(&parser, data, stream_len - at, &used), TORC_RESP_REQUEST);
        ck_assert(torc_slice_equal(torc_resp_word(&parser, data, 0), torc_slice_str("HSET")));
        ck_assert(torc_slice_equal(torc_resp_word(&parser, data, 1), torc_slice_str("k")));
        for (uint32_t i = 2; i < parser.n_words; i += 2) {
            char field[24];
            (void)snprintf(field, sizeof field, "%zu", next_field++);
            ck_assert(torc_slice_equal(torc_resp_word(&parser, data, i), torc_slice_str(field)));
        }
        sizes[n++] = (parser.n_words - 2) / 2;
        at += used;
    }
    sizes[n] = 0;
    torc_resp_parser_fini(&parser);
    free(stream);
    return sizes;
}

static size_t none(size_t i)
{
    (void)i;
    return 0;
}

static size_t third(size_t i)
{
    (void)i;
    return 350000;
}

static size_t one_is_long(size_t i)
{
    return i == 1 ? (size_t)2 << 20 : 5;
}

START_TEST(a_hash_that_is_gone_writes_nothing)
{
    struct torc_result result = pairs(0, none);
    export(&result);
    ck_assert_uint_eq(stream_len, 0);
    free(stream);
}
END_TEST

START_TEST(a_command_has_a_bounded_number_of_pairs)
{
    struct torc_result result = pairs(512, none);
    export(&result);
    const size_t *sizes = commands();
    ck_assert_uint_eq(sizes[0], 512);
    ck_assert_uint_eq(sizes[1], 0);
    result = pairs(1025, none);
    export(&result);
    sizes = commands();
    ck_assert_uint_eq(sizes[0], 512);
    ck_assert_uint_eq(sizes[1], 512);
    ck_assert_uint_eq(sizes[2], 1);
    ck_assert_uint_eq(sizes[3], 0);
}
END_TEST

START_TEST(a_command_has_a_bounded_number_of_bytes)
{
    struct torc_result result = pairs(5, third);
    export(&result);
    const size_t *sizes = commands();
    ck_assert_uint_eq(sizes[0], 2);
    ck_assert_uint_eq(sizes[1], 2);
    ck_assert_uint_eq(sizes[2], 1);
    ck_assert_uint_eq(sizes[3], 0);
}
END_TEST

START_TEST(a_pair_above_the_bound_stands_alone)
{
    struct torc_result result = pairs(3, one_is_long);
    export(&result);
    const size_t *sizes = commands();
    ck_assert_uint_eq(sizes[0], 1);
    ck_assert_uint_eq(sizes[1], 1);
    ck_assert_uint_eq(sizes[2], 1);
    ck_assert_uint_eq(sizes[3], 0);
}
END_TEST

/* --- times --- */

/* The stream is these commands, each a line of words. */
static void assert_stream(const char *const *lines, size_t n_lines)
{
    struct torc_resp_parser parser;
    size_t n = 0;
    torc_resp_parser_init(&parser, 512 * TORC_MIB);
    for (size_t at = 0; at < stream_len; n++) {
        char line[200] = "";
        size_t used = 0;
        uint8_t *data = (uint8_t *)stream + at;
        ck_assert_int_eq(torc_resp_parse(&parser, data, stream_len - at, &used), TORC_RESP_REQUEST);
        for (uint32_t i = 0; i < parser.n_words; i++) {
            struct torc_slice word = torc_resp_word(&parser, data, i);
            size_t len = strlen(line);
            (void)snprintf(line + len, sizeof line - len, "%s%.*s", i == 0 ? "" : " ",
                           (int)word.len, (const char *)word.data);
        }
        ck_assert_uint_lt(n, n_lines);
        ck_assert_str_eq(line, lines[n]);
        at += used;
    }
    ck_assert_uint_eq(n, n_lines);
    torc_resp_parser_fini(&parser);
    free(stream);
    free(message);
}

START_TEST(fields_of_one_time_share_a_command_and_those_that_ended_are_left_out)
{
    static const char *const lines[] = {
        "HSET k 1  2  3  4  5 ",        "HPEXPIREAT k 0 FIELDS 1 5",
        "HPEXPIREAT k 7000 FIELDS 1 3", "HPEXPIREAT k 70368744177663 FIELDS 2 1 4",
        "PEXPIREAT k 4000000000000",
    };
    const int64_t times[] = {TORC_ABSENT, 70368744177663, TORC_NO_TIME, 7000, 70368744177663, 0};
    struct torc_result result = pairs(6, none);
    FILE *out = open_memstream(&stream, &stream_len);
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(torc_cli_stream_pairs(out, torc_str("k"), &result, 0, 6, times), 5);
    torc_cli_stream_key_time(out, torc_str("k"), 4000000000000);
    ck_assert_int_eq(fclose(out), 0);
    assert_stream(lines, 5);
}
END_TEST

START_TEST(a_part_whose_fields_have_all_ended_writes_nothing)
{
    const int64_t times[] = {TORC_ABSENT, TORC_ABSENT};
    struct torc_result result = pairs(3, none);
    FILE *out = open_memstream(&stream, &stream_len);
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(torc_cli_stream_pairs(out, torc_str("k"), &result, 2, 2, times), 0);
    ck_assert_int_eq(fclose(out), 0);
    assert_stream(NULL, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_stream");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, a_hash_that_is_gone_writes_nothing);
    tcase_add_test(tcase, a_command_has_a_bounded_number_of_pairs);
    tcase_add_test(tcase, a_command_has_a_bounded_number_of_bytes);
    tcase_add_test(tcase, a_pair_above_the_bound_stands_alone);
    tcase_add_test(tcase, fields_of_one_time_share_a_command_and_those_that_ended_are_left_out);
    tcase_add_test(tcase, a_part_whose_fields_have_all_ended_writes_nothing);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
