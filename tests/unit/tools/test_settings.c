/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/torcd/settings.h"

static struct torc_settings settings;
static char why[TORC_OPTION_ERROR_BYTES];

static void set_up(void)
{
    torc_settings_init(&settings);
    memcpy(settings.control_socket, "/tmp/x.sock", 12);
    why[0] = '\0';
}

static void set(const char *name, const char *value)
{
    int rc = torc_options_set(torc_settings_options(), &settings, name, value, why);
    ck_assert_msg(rc == 0, "%s %s: %s", name, value, why);
}

/* This value is refused where it stands, with this word in the reason, and changes nothing. */
static void expect_value_refused(const char *name, const char *value, const char *word)
{
    set_up();
    struct torc_settings before = settings;
    int rc = torc_options_set(torc_settings_options(), &settings, name, value, why);
    ck_assert_msg(rc == -EINVAL, "%s %s: %d", name, value, rc);
    ck_assert_msg(strstr(why, word) != NULL, "%s", why);
    ck_assert_msg(strncmp(why, name, strlen(name)) == 0, "%s", why);
    ck_assert_mem_eq(&settings, &before, sizeof settings);
}

/* Setting this makes a set that the server refuses, and says so with this word in it. */
static void expect_set_refused(const char *name, const char *value, const char *word)
{
    set_up();
    set(name, value);
    ck_assert_int_eq(torc_settings_check(&settings, why), -EINVAL);
    ck_assert_msg(strstr(why, word) != NULL, "%s", why);
}

START_TEST(the_defaults_are_a_set_that_serves)
{
    ck_assert_int_eq(torc_settings_check(&settings, why), 0);
    ck_assert_int_eq(settings.port, 6379);
    ck_assert_str_eq(settings.bind, "127.0.0.1");
    ck_assert_int_eq(settings.poll_mode, TORC_POLL_ADAPTIVE);
    ck_assert_uint_eq(settings.session_long_message_max, 64 * TORC_MIB);
    ck_assert_uint_eq(settings.proto_max_bulk_len, 512 * TORC_MIB);
    ck_assert(!settings.realtime);
}
END_TEST

START_TEST(every_option_says_what_it_is_and_takes_its_own_value_back)
{
    const struct torc_option_table *options = torc_settings_options();
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        char value[TORC_OPTION_VALUE_BYTES];
        const struct torc_option *real = torc_options_find(options, option->name);
        ck_assert_ptr_nonnull(real);
        ck_assert_ptr_nonnull(real->help);
        int rc = torc_options_get(options, &settings, option->name, value, sizeof value);
        ck_assert_int_eq(rc, 0);
        set(option->name, value);
    }
}
END_TEST

START_TEST(the_default_control_socket_depends_on_the_user)
{
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
    torc_settings_init(&settings);
    const char *wanted = geteuid() == 0 ? "/run/torc/torc.sock" : "/run/user/7/torc.sock";
    ck_assert_str_eq(settings.control_socket, wanted);
}
END_TEST

START_TEST(what_is_not_supported_is_refused_with_a_reason)
{
    expect_value_refused("shards", "2", "one poller");
    expect_value_refused("databases", "16", "database 0 only");
    expect_value_refused("maxmemory-policy", "allkeys-lfu", "set noeviction, allkeys-lru or");
    expect_value_refused("maxmemory-policy", "volatile-ttl", "volatile-ttl is not supported");
    expect_value_refused("poller-cpus", "1-", "list of CPUs");
    expect_value_refused("ring-slots", "100", "power of two");
    expect_value_refused("ring-area-bytes", "5000", "power of two");
    expect_value_refused("ring-area-bytes", "2kb", "power of two");
    expect_value_refused("ring-area-bytes", "128mb", "64mb");
    expect_value_refused("session-long-message-max", "1kb", "4kb");
    expect_value_refused("proto-max-bulk-len", "1gb", "512mb");
    expect_value_refused("client-query-buffer-limit", "2gb", "1gb");
    expect_value_refused("client-output-buffer-max", "1kb", "1mb");
    expect_value_refused("realtime-buffers", "65gb", "64gb");
    expect_value_refused("value-compression-min-bytes", "63", "64 or more");
    expect_value_refused("unixsocketperm", "9", "octal");
    expect_value_refused("maxmemory", "2000gb", "shard can hold");
    expect_value_refused("bind", "300.1.1.1", "not an IPv4 or IPv6 address");
    expect_value_refused("bind", "127.0.0.1 localhost", "not an IPv4 or IPv6 address");
    expect_value_refused("bind", "127.0.0.1 ::1 127.0.0.1", "names an address twice");
    expect_value_refused("bind", "::1 0:0::1", "names an address twice");
    expect_value_refused("bind", "* 127.0.0.1", "names all addresses");
    expect_value_refused("bind", "127.0.0.1 0.0.0.0", "names all addresses");
    expect_value_refused("maxmemory", "1000000", "neither 0 nor 1mb");
    expect_set_refused("realtime", "yes", "needs maxmemory");
    expect_set_refused("poller-cpus", "0,1", "names 2 CPUs");
    expect_set_refused("control-socket", "", "control-socket");
    expect_set_refused("unixsocket", "/tmp/x.sock", "same path");
}
END_TEST

START_TEST(what_is_at_the_edge_is_taken)
{
    static const char *const pairs[][2] = {
        {"ring-area-bytes", "4kb"},    {"ring-area-bytes", "64mb"},
        {"ring-slots", "2"},           {"session-long-message-max", "4kb"},
        {"proto-max-bulk-len", "1mb"}, {"proto-max-bulk-len", "512mb"},
        {"maxmemory", "512gb"},        {"value-compression-min-bytes", "64"},
        {"unixsocketperm", "0770"},    {"bind", "127.0.0.2 ::1 127.0.0.1"},
        {"poller-cpus", "3"},          {"maxmemory-policy", "allkeys-lru"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        set_up();
        set(pairs[i][0], pairs[i][1]);
        ck_assert_msg(torc_settings_check(&settings, why) == 0, "%s", why);
    }
}
END_TEST

START_TEST(limits_of_hashes_are_brought_into_range)
{
    set("hash-max-ziplist-entries", "1000000");
    set("hash-max-listpack-value", "100000");
    struct torc_hash_limits limits = torc_settings_hash_limits(&settings);
    ck_assert_uint_eq(limits.compact_max_entries, TORC_COMPACT_MAX_FIELDS);
    ck_assert_uint_eq(limits.compact_max_value, TORC_COMPACT_MAX_PART);
    set("hash-max-listpack-entries", "0");
    limits = torc_settings_hash_limits(&settings);
    ck_assert_uint_eq(limits.compact_max_entries, 0);
}
END_TEST

START_TEST(the_block_of_a_compact_hash_may_decide_by_its_bytes)
{
    set("hash-listpack-max-entries", "10");
    ck_assert_int_eq(settings.hash_max_listpack_entries, 10);
    set("hash-max-listpack-entries", "BLOB");
    ck_assert_int_eq(settings.hash_max_listpack_entries, 65535);
    set("hash-listpack-max-value", "77");
    ck_assert_int_eq(settings.hash_max_listpack_value, 77);
    char text[32];
    ck_assert_int_eq(torc_options_get(torc_settings_options(), &settings,
                                      "hash-max-listpack-entries", text, sizeof text),
                     0);
    ck_assert_str_eq(text, "65535");
}
END_TEST

START_TEST(the_arena_has_room_for_maxmemory)
{
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, 24 * TORC_GIB), 48 * TORC_GIB);
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, 64 * TORC_MIB), TORC_GIB);
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, UINT64_MAX), TORC_ARENA_MAX_BYTES);
    set("maxmemory", "100mb");
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, 24 * TORC_GIB), 456 * TORC_MIB);
    set("realtime", "yes");
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, 24 * TORC_GIB), 190 * TORC_MIB);
    set("maxmemory", "1048577");
    ck_assert_uint_eq(torc_settings_arena_capacity(&settings, 24 * TORC_GIB) % (2 * TORC_MIB), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, the_defaults_are_a_set_that_serves);
    tcase_add_test(tcase, every_option_says_what_it_is_and_takes_its_own_value_back);
    tcase_add_test(tcase, the_default_control_socket_depends_on_the_user);
    tcase_add_test(tcase, what_is_not_supported_is_refused_with_a_reason);
    tcase_add_test(tcase, what_is_at_the_edge_is_taken);
    tcase_add_test(tcase, limits_of_hashes_are_brought_into_range);
    tcase_add_test(tcase, the_block_of_a_compact_hash_may_decide_by_its_bytes);
    tcase_add_test(tcase, the_arena_has_room_for_maxmemory);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
