/* SPDX-License-Identifier: Apache-2.0
 *
 * Words to requests: what is sent for them, and what is said when they are wrong.
 */
#include <stdio.h>

#include "tests/support/client_fixture.h"

#define WORDS_MAX 8

struct words {
    const char *line[WORDS_MAX]; /* NULL-terminated */
};

static size_t to_bytes(const struct words *words, struct torc_bytes out[WORDS_MAX])
{
    size_t n = 0;
    while (n < WORDS_MAX && words->line[n] != NULL) {
        out[n] = torc_str(words->line[n]);
        n++;
    }
    return n;
}

/* --- right words --- */

struct sent {
    struct words words;
    enum torc_op op;
    uint64_t number;
    uint32_t first_string; /* the word that is the first byte string */
    uint32_t n_strings;
};

static const struct sent sent[] = {
    {{{"HGET", "k", "f"}}, TORC_OP_HGET, 0, 1, 2},
    {{{"hGeT", "k", ""}}, TORC_OP_HGET, 0, 1, 2},
    {{{"HSET", "k", "f", "v", "g", "w"}}, TORC_OP_HSET, 0, 1, 5},
    {{{"HMGET", "k", "f"}}, TORC_OP_HMGET, 0, 1, 2},
    {{{"DEL", "a", "b", "c"}}, TORC_OP_DEL, 0, 1, 3},
    {{{"DBSIZE"}}, TORC_OP_DBSIZE, 0, 1, 0},
    {{{"PING"}}, TORC_OP_PING, 0, 1, 0},
    {{{"ping", "hello"}}, TORC_OP_PING, 0, 1, 1},
    {{{"FLUSHALL", "ASYNC"}}, TORC_OP_FLUSHALL, 0, 1, 1},
    {{{"MEMORY", "USAGE", "k"}}, TORC_OP_MEMORY_USAGE, 0, 2, 1},
    {{{"memory", "usage", "k", "SAMPLES", "5"}}, TORC_OP_MEMORY_USAGE, 0, 2, 3},
    {{{"OBJECT", "Encoding", "k"}}, TORC_OP_OBJECT_ENCODING, 0, 2, 1},
    {{{"COMMAND", "COUNT"}}, TORC_OP_COMMAND, 0, 1, 1},
    {{{"SCAN", "0"}}, TORC_OP_SCAN, 0, 2, 0},
    {{{"SCAN", "18446744073709551615", "MATCH", "*"}}, TORC_OP_SCAN, UINT64_MAX, 2, 2},
    {{{"SCAN", "007"}}, TORC_OP_SCAN, 7, 2, 0},
    {{{"SCAN", "00000000000000000000000007"}}, TORC_OP_SCAN, 7, 2, 0},
    {{{"SCAN", " \t\n\v\f\r7"}}, TORC_OP_SCAN, 7, 2, 0},
    {{{"HKEYS", "k"}}, TORC_OP_HKEYS, 0, 1, 1},
    {{{"HINCRBYFLOAT", "k", "f", "0.1"}}, TORC_OP_HINCRBYFLOAT, 0, 1, 3},
    {{{"HINCRBY", "k", "f", "-5"}}, TORC_OP_HINCRBY, (uint64_t)-5, 1, 2},
    {{{"HRANDFIELD", "k"}}, TORC_OP_HRANDFIELD, 0, 1, 1},
    {{{"HRANDFIELD", "k", "-3", "WITHVALUES"}}, TORC_OP_HRANDFIELD, 0, 1, 3},
    {{{"CONFIG", "RESETSTAT"}}, TORC_OP_CONFIG_RESETSTAT, 0, 2, 0},
    {{{"config", "get", "a", "b"}}, TORC_OP_CONFIG_GET, 0, 2, 2},
    {{{"TIME"}}, TORC_OP_TIME, 0, 1, 0},
    {{{"SELECT", "0"}}, TORC_OP_SELECT, 0, 2, 0},
    {{{"SELECT", "15"}}, TORC_OP_SELECT, 15, 2, 0},
    {{{"SELECT", "-1"}}, TORC_OP_SELECT, UINT64_MAX, 2, 0},
    {{{"SELECT", "9223372036854775807"}}, TORC_OP_SELECT, INT64_MAX, 2, 0},
    {{{"SELECT", "-9223372036854775808"}}, TORC_OP_SELECT, 1ull << 63, 2, 0},
};

/* In the server's thread: note whether the request is as expected, and answer so. */
static bool answer_compare(void *user, const struct torc_request *request,
                           struct torc_reply_writer *w)
{
    const struct sent *expected = user;
    bool same = request->op == expected->op && request->numbers[0] == expected->number &&
                request->n_strings == expected->n_strings;
    for (uint32_t i = 0; same && i < request->n_strings; i++) {
        const char *word = expected->words.line[expected->first_string + i];
        same = torc_slice_equal(request->strings[i], torc_slice_str(word));
    }
    torc_reply_int(w, same);
    return true;
}

START_TEST(words_are_sent_as_the_shape_says)
{
    struct sent expected = sent[_i];
    struct client_fixture f = client_fixture_fake(
        &(struct torc_fake_options){.answer = answer_compare, .user = &expected});
    struct torc_bytes words[WORDS_MAX];
    size_t n = to_bytes(&expected.words, words);
    struct torc_result result;
    ck_assert_msg(torc_command(f.torc, words, n, &result) == TORC_OK, "%s: %s",
                  expected.words.line[0], torc_error_text(f.torc));
    ck_assert_msg(result.integer == 1, "%s was sent as something else", expected.words.line[0]);
    ck_assert_int_eq(torc_submit_command(f.torc, 1, words, n), TORC_OK);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_int_eq(result.integer, 1);
    client_fixture_end(&f);
}
END_TEST

/* --- wrong words --- */

struct refused {
    struct words words;
    const char *text;
};

#define ARITY(name) "ERR wrong number of arguments for '" name "' command"

static const struct refused refused[] = {
    {{{"HSET"}}, ARITY("hset")},
    {{{"HSET", "k", "f"}}, ARITY("hset")},
    {{{"HSet", "k", "f", "v", "g"}}, ARITY("hset")},
    {{{"HGET", "k"}}, ARITY("hget")},
    {{{"HGET", "k", "f", "g"}}, ARITY("hget")},
    {{{"HMGET", "k"}}, ARITY("hmget")},
    {{{"DEL"}}, ARITY("del")},
    {{{"DBSIZE", "x"}}, ARITY("dbsize")},
    {{{"SCAN"}}, ARITY("scan")},
    {{{"SELECT"}}, ARITY("select")},
    {{{"MEMORY", "USAGE"}}, ARITY("memory|usage")},
    {{{"OBJECT", "ENCODING", "a", "b"}}, ARITY("object|encoding")},
    {{{"MEMORY"}}, ARITY("memory")},
    {{{"memory", "foo", "k"}}, "ERR unknown subcommand 'foo'. Try MEMORY HELP."},
    {{{"Object", "a|b"}}, "ERR unknown subcommand 'a|b'. Try OBJECT HELP."},
    {{{"SELECT", "abc"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", ""}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "-"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "+1"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "01"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "-0"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", " 1"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "1 "}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "9223372036854775808"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "-9223372036854775809"}}, "ERR value is not an integer or out of range"},
    {{{"SELECT", "99999999999999999999999"}}, "ERR value is not an integer or out of range"},
    {{{"HINCRBY", "k", "f"}}, ARITY("hincrby")},
    {{{"HINCRBY", "k", "f", "1.5"}}, "ERR value is not an integer or out of range"},
    {{{"HMSET", "k", "f", "v", "g"}}, ARITY("hmset")},
    {{{"HSCAN", "k"}}, ARITY("hscan")},
    {{{"HSCAN", "k", "x"}}, "ERR invalid cursor"},
    {{{"CONFIG"}}, ARITY("config")},
    {{{"CONFIG", "RESETSTAT", "x"}}, ARITY("config|resetstat")},
    {{{"CONFIG", "RESETSTATS"}}, "ERR unknown subcommand 'RESETSTATS'. Try CONFIG HELP."},
    {{{"SCAN", "abc"}}, "ERR invalid cursor"},
    {{{"SCAN", "-1"}}, "ERR invalid cursor"},
    {{{"SCAN", ""}}, "ERR invalid cursor"},
    {{{"SCAN", " "}}, "ERR invalid cursor"},
    {{{"SCAN", "0 "}}, "ERR invalid cursor"},
    {{{"SCAN", "+0"}}, "ERR invalid cursor"},
    {{{"SCAN", "18446744073709551616"}}, "ERR invalid cursor"},
    {{{"FOO"}}, "ERR unknown command 'FOO'"},
    {{{""}}, "ERR unknown command ''"},
    {{{"FOO", "a", "b"}}, "ERR unknown command 'FOO', with args beginning with: 'a' 'b' "},
    {{{"FOO", ""}}, "ERR unknown command 'FOO', with args beginning with: '' "},
    {{{"a\r\nb", "c\nd"}}, "ERR unknown command 'a  b', with args beginning with: 'c d' "},
    {{{"memory|usage", "k"}}, "ERR unknown command 'memory|usage', with args beginning with: 'k' "},
    {{{"memory|usag", "e"}}, "ERR unknown command 'memory|usag', with args beginning with: 'e' "},
    {{{"mem", "usage"}}, "ERR unknown command 'mem', with args beginning with: 'usage' "},
    {{{"fetch", "1", "2"}}, "ERR unknown command 'fetch', with args beginning with: '1' '2' "},
};

START_TEST(wrong_words_are_refused_in_the_words_of_redis)
{
    const struct refused *r = &refused[_i];
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_bytes words[WORDS_MAX];
    size_t n = to_bytes(&r->words, words);
    struct torc_result result;
    assert_error(f.torc, torc_command(f.torc, words, n, &result), TORC_EINVAL, "");
    ck_assert_str_eq(torc_error_text(f.torc), r->text);
    ck_assert_int_eq(torc_submit_command(f.torc, 0, words, n), TORC_EINVAL);
    ck_assert_uint_eq(torc_outstanding(f.torc), 0);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    ck_assert_uint_eq(torc_fake_server_answered(f.server), 1); /* the ping */
    client_fixture_end(&f);
}
END_TEST

START_TEST(long_unknown_words_are_cut)
{
    struct client_fixture f = client_fixture_fake(NULL);
    char word[1000];
    memset(word, 'w', sizeof word);
    struct torc_bytes words[20];
    for (size_t i = 0; i < N_OF(words); i++) {
        words[i] = torc_mem(word, i == 0 ? sizeof word : 50);
    }
    struct torc_result result;
    assert_error(f.torc, torc_command(f.torc, words, N_OF(words), &result), TORC_EINVAL,
                 "' 'wwwwwwwwwwwwwwwwwwwwww' ");
    ck_assert_uint_lt(strlen(torc_error_text(f.torc)), 400);
    words[0] = torc_str("MEMORY");
    words[1] = torc_mem(word, sizeof word);
    assert_error(f.torc, torc_command(f.torc, words, 2, &result), TORC_EINVAL, "Try MEMORY HELP.");
    /* Bytes without an end: nothing is read behind them. */
    char *tight = malloc(4);
    ck_assert_ptr_nonnull(tight);
    for (size_t i = 0; i < 4; i++) {
        tight[i] = "HGET"[i];
    }
    words[0] = torc_mem(tight, 4);
    words[1] = torc_mem(tight, 1);
    words[2] = torc_mem(tight, 2);
    ck_assert_int_eq(torc_command(f.torc, words, 3, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_NIL);
    free(tight);
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *tcase = tcase_create("words");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, words_are_sent_as_the_shape_says, 0, (int)N_OF(sent));
    tcase_add_loop_test(tcase, wrong_words_are_refused_in_the_words_of_redis, 0,
                        (int)N_OF(refused));
    tcase_add_test(tcase, long_unknown_words_are_cut);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
