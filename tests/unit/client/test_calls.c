/* SPDX-License-Identifier: Apache-2.0
 *
 * What the calls of libtorc say when nothing goes wrong. Set TORC_TEST_SOCKET to run them against a
 * real server.
 */
#include <stdio.h>

#include "tests/support/client_fixture.h"

static struct client_fixture f;

static void set_up(void)
{
    f = client_fixture_any();
}

static void tear_down(void)
{
    client_fixture_end(&f);
}

START_TEST(a_server_that_is_there_answers_ping)
{
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    ck_assert_str_eq(torc_error_text(f.torc), "");
    ck_assert_uint_ne(torc_epoch(f.torc), 0);
    ck_assert_uint_ge(torc_slots(f.torc), 2);
}
END_TEST

START_TEST(a_field_that_was_set_is_read_back)
{
    struct torc_bytes key = torc_str("h");
    struct torc_bytes value;
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("a"), torc_str("1")), 1);
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("a"), torc_str("22")), 0);
    ck_assert_int_eq(torc_hget(f.torc, key, torc_str("a"), &value), 1);
    assert_bytes(value, "22");
    ck_assert_int_eq(torc_hget(f.torc, key, torc_str("b"), &value), 0);
    ck_assert_ptr_null(value.data);
    ck_assert_int_eq(torc_hget(f.torc, torc_str("none"), torc_str("a"), &value), 0);
    ck_assert_int_eq(torc_hexists(f.torc, key, torc_str("a")), 1);
    ck_assert_int_eq(torc_hexists(f.torc, key, torc_str("b")), 0);
    ck_assert_int_eq(torc_hlen(f.torc, key), 1);
    ck_assert_int_eq(torc_hlen(f.torc, torc_str("none")), 0);
}
END_TEST

START_TEST(empty_names_and_values_and_any_byte_are_kept)
{
    struct torc_bytes key = torc_mem("\0\r\n", 3);
    struct torc_bytes value;
    ck_assert_int_eq(torc_hset(f.torc, key, torc_mem(NULL, 0), torc_mem("\0", 1)), 1);
    ck_assert_int_eq(torc_hget(f.torc, key, torc_str(""), &value), 1);
    ck_assert_uint_eq(value.len, 1);
    ck_assert_int_eq(((const char *)value.data)[0], 0);
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("\xff"), torc_str("")), 1);
    ck_assert_int_eq(torc_hget(f.torc, key, torc_str("\xff"), &value), 1);
    assert_bytes(value, "");
}
END_TEST

START_TEST(many_fields_go_and_come_in_one_call)
{
    struct torc_bytes key = torc_str("h");
    const struct torc_bytes pairs[] = {torc_str("a"), torc_str("1"), torc_str("b"),
                                       torc_str("2"), torc_str("c"), torc_str("3")};
    ck_assert_int_eq(torc_hset_many(f.torc, key, pairs, 3), 3);
    ck_assert_int_eq(torc_hset_many(f.torc, key, pairs, 2), 0);
    const struct torc_bytes fields[] = {torc_str("c"), torc_str("x"), torc_str("a")};
    struct torc_bytes values[3];
    ck_assert_int_eq(torc_hmget(f.torc, key, fields, 3, values), 2);
    assert_bytes(values[0], "3");
    ck_assert_ptr_null(values[1].data);
    assert_bytes(values[2], "1");
    ck_assert_int_eq(torc_hmget(f.torc, torc_str("none"), fields, 3, values), 0);
    ck_assert_ptr_null(values[2].data);
    ck_assert_int_eq(torc_hdel(f.torc, key, fields, 3), 2);
    ck_assert_int_eq(torc_hlen(f.torc, key), 1);
}
END_TEST

START_TEST(all_fields_come_as_names_and_values)
{
    struct torc_bytes key = torc_str("h");
    struct torc_result result;
    ck_assert_int_eq(torc_hgetall(f.torc, key, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_MAP);
    ck_assert_uint_eq(result.count, 0);
    unsigned seen[20] = {0};
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        char value[24];
        (void)snprintf(name, sizeof name, "f%u", i);
        (void)snprintf(value, sizeof value, "value %u", i);
        ck_assert_int_eq(torc_hset(f.torc, key, torc_str(name), torc_str(value)), 1);
    }
    ck_assert_int_eq(torc_hgetall(f.torc, key, &result), TORC_OK);
    ck_assert_uint_eq(result.count, 40);
    for (size_t i = 0; i < result.count; i += 2) {
        char name[16] = "";
        struct torc_bytes field = torc_result_at(&result, i);
        ck_assert_uint_lt(field.len, sizeof name);
        memcpy(name, field.data, field.len);
        unsigned n = (unsigned)strtoul(name + 1, NULL, 10);
        ck_assert_uint_lt(n, 20);
        seen[n]++;
        char value[24];
        (void)snprintf(value, sizeof value, "value %u", n);
        assert_bytes(torc_result_at(&result, i + 1), value);
    }
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_uint_eq(seen[i], 1);
    }
    ck_assert_ptr_null(torc_result_at(&result, 40).data);
    ck_assert_ptr_null(torc_result_at(NULL, 0).data);
}
END_TEST

START_TEST(keys_are_counted_and_removed)
{
    const struct torc_bytes keys[] = {torc_str("k1"), torc_str("k2"), torc_str("k3"),
                                      torc_str("k1")};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(torc_hset(f.torc, keys[i], torc_str("f"), torc_str("v")), 1);
    }
    ck_assert_int_eq(torc_dbsize(f.torc), 3);
    ck_assert_int_eq(torc_exists(f.torc, keys, 4), 4);
    ck_assert_int_eq(torc_del(f.torc, keys, 2), 2);
    ck_assert_int_eq(torc_del(f.torc, keys, 4), 1);
    ck_assert_int_eq(torc_dbsize(f.torc), 0);
    ck_assert_int_eq(torc_hset(f.torc, keys[0], torc_str("f"), torc_str("v")), 1);
    ck_assert_int_eq(torc_flushall(f.torc), TORC_OK);
    ck_assert_int_eq(torc_dbsize(f.torc), 0);
}
END_TEST

START_TEST(a_scan_gives_every_key)
{
    unsigned seen[30] = {0};
    for (unsigned i = 0; i < 30; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "scan:%u", i);
        ck_assert_int_eq(torc_hset(f.torc, torc_str(key), torc_str("f"), torc_str("v")), 1);
    }
    struct torc_result page = {.cursor = 0};
    unsigned pages = 0;
    do {
        ck_assert_int_eq(torc_scan(f.torc, page.cursor, torc_str("scan:*"), 5, &page), TORC_OK);
        ck_assert_int_eq(page.kind, TORC_CURSOR);
        for (size_t i = 0; i < page.count; i++) {
            struct torc_bytes key = torc_result_at(&page, i);
            char text[16] = "";
            ck_assert_uint_lt(key.len, sizeof text);
            memcpy(text, key.data, key.len);
            unsigned n = (unsigned)strtoul(text + 5, NULL, 10);
            ck_assert_uint_lt(n, 30);
            seen[n]++;
        }
        ck_assert_uint_lt(pages++, 1000);
    } while (page.cursor != 0);
    for (unsigned i = 0; i < 30; i++) {
        ck_assert_uint_ge(seen[i], 1);
    }
}
END_TEST

START_TEST(commands_are_words)
{
    struct torc_result result;
    const struct torc_bytes set[] = {torc_str("HSet"), torc_str("h"), torc_str("f"),
                                     torc_str("value")};
    ck_assert_int_eq(torc_command(f.torc, set, 4, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_INTEGER);
    ck_assert_int_eq(result.integer, 1);
    const struct torc_bytes get[] = {torc_str("hget"), torc_str("h"), torc_str("f")};
    ck_assert_int_eq(torc_command(f.torc, get, 3, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_STRING);
    assert_bytes(result.string, "value");
    const struct torc_bytes get_absent[] = {torc_str("hget"), torc_str("h"), torc_str("g")};
    ck_assert_int_eq(torc_command(f.torc, get_absent, 3, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_NIL);
    const struct torc_bytes mget[] = {torc_str("HMGET"), torc_str("h"), torc_str("g"),
                                      torc_str("f")};
    ck_assert_int_eq(torc_command(f.torc, mget, 4, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_ARRAY);
    ck_assert_uint_eq(result.count, 2);
    ck_assert_ptr_null(torc_result_at(&result, 0).data);
    assert_bytes(torc_result_at(&result, 1), "value");
    const struct torc_bytes all[] = {torc_str("HGETALL"), torc_str("h")};
    ck_assert_int_eq(torc_command(f.torc, all, 2, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_MAP);
    ck_assert_uint_eq(result.count, 2);
    const struct torc_bytes ping[] = {torc_str("PING")};
    ck_assert_int_eq(torc_command(f.torc, ping, 1, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_SIMPLE);
    assert_bytes(result.string, "PONG");
    const struct torc_bytes type[] = {torc_str("TYPE"), torc_str("h")};
    ck_assert_int_eq(torc_command(f.torc, type, 2, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_SIMPLE);
    assert_bytes(result.string, "hash");
    const struct torc_bytes scan[] = {torc_str("SCAN"), torc_str("0")};
    ck_assert_int_eq(torc_command(f.torc, scan, 2, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_CURSOR);
    ck_assert_uint_eq(result.count, 1);
    const struct torc_bytes select[] = {torc_str("SELECT"), torc_str("0")};
    ck_assert_int_eq(torc_command(f.torc, select, 2, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_OK_REPLY);
    assert_bytes(result.string, "OK");
}
END_TEST

/* Sizes around each limit of the way: width of lengths, slot, area, parts. */
static const size_t sizes[] = {0,     1,     30,    46,    47,    48,    49,     200,
                               255,   256,   1000,  1024,  1100,  4000,  4096,   5000,
                               16000, 16384, 17000, 65535, 65536, 66000, 200000, 500000};

START_TEST(values_of_every_size_survive)
{
    size_t len = sizes[_i];
    char *value = malloc(len + 1);
    ck_assert_ptr_nonnull(value);
    for (size_t i = 0; i < len; i++) {
        value[i] = (char)(i * 31 + len);
    }
    struct torc_bytes key = torc_str("big");
    struct torc_bytes got;
    ck_assert_msg(torc_hset(f.torc, key, torc_str("f"), torc_mem(value, len)) == 1, "%s",
                  torc_error_text(f.torc));
    ck_assert_msg(torc_hget(f.torc, key, torc_str("f"), &got) == 1, "%s", torc_error_text(f.torc));
    ck_assert_uint_eq(got.len, len);
    ck_assert(memcmp(got.data, value, len) == 0);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    free(value);
}
END_TEST

START_TEST(many_hundreds_of_fields_in_one_call)
{
    enum { N = 1500 };
    static char names[N][16];
    static struct torc_bytes pairs[2 * N];
    static struct torc_bytes fields[N];
    static struct torc_bytes values[N];
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%zu", i);
        fields[i] = torc_str(names[i]);
        pairs[2 * i] = fields[i];
        pairs[2 * i + 1] = torc_str(names[i] + 1);
    }
    struct torc_bytes key = torc_str("wide");
    ck_assert_int_eq(torc_hset_many(f.torc, key, pairs, N), N);
    ck_assert_int_eq(torc_hmget(f.torc, key, fields, N, values), N);
    for (size_t i = 0; i < N; i++) {
        assert_bytes(values[i], names[i] + 1);
    }
    struct torc_result all;
    ck_assert_int_eq(torc_hgetall(f.torc, key, &all), TORC_OK);
    ck_assert_uint_eq(all.count, 2 * (size_t)N);
    ck_assert_int_eq(torc_hdel(f.torc, key, fields, N), N);
}
END_TEST

START_TEST(a_value_stays_until_the_next_call)
{
    struct torc_bytes key = torc_str("h");
    struct torc_bytes value;
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(torc_hset(f.torc, key, torc_str("f"), torc_str(text)), 1);
    /* Through the reply area many times around. */
    for (int i = 0; i < 500; i++) {
        text[0] = (char)('a' + i % 26);
        ck_assert_int_eq(torc_hset(f.torc, key, torc_str("f"), torc_str(text)), 0);
        ck_assert_int_eq(torc_hget(f.torc, key, torc_str("f"), &value), 1);
        assert_bytes(value, text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calls");
    TCase *tcase = tcase_create("calls");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_server_that_is_there_answers_ping);
    tcase_add_test(tcase, a_field_that_was_set_is_read_back);
    tcase_add_test(tcase, empty_names_and_values_and_any_byte_are_kept);
    tcase_add_test(tcase, many_fields_go_and_come_in_one_call);
    tcase_add_test(tcase, all_fields_come_as_names_and_values);
    tcase_add_test(tcase, keys_are_counted_and_removed);
    tcase_add_test(tcase, a_scan_gives_every_key);
    tcase_add_test(tcase, commands_are_words);
    tcase_add_loop_test(tcase, values_of_every_size_survive, 0, (int)N_OF(sizes));
    tcase_add_test(tcase, many_hundreds_of_fields_in_one_call);
    tcase_add_test(tcase, a_value_stays_until_the_next_call);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
