/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options_file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct settings {
    int64_t port;
    int64_t balance;
    uint64_t maxmemory;
    int mode;
    bool lock;
    char dir[16];
    char name[64];
    char peers[24];
    uint64_t pool;
    int64_t depth;
};

static const char *const modes[] = {"busy", "adaptive", "yield", NULL};

static const char *fault_of_peers(const char *text)
{
    return strstr(text, "nobody") != NULL ? "names nobody" : NULL;
}

static const char *const deepest[] = {"all", NULL};

static const struct torc_option entries[] = {
    {.name = "port",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, port),
     .min = 0,
     .max = 65535,
     .initial = "6379"},
    {.name = "balance",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, balance),
     .min = INT64_MIN,
     .max = INT64_MAX},
    {.name = "maxmemory",
     .kind = TORC_OPTION_BYTES,
     .offset = offsetof(struct settings, maxmemory),
     .initial = "64mb"},
    {.name = "poll-mode",
     .kind = TORC_OPTION_ENUM,
     .offset = offsetof(struct settings, mode),
     .words = modes,
     .initial = "adaptive"},
    {.name = "lock-memory",
     .kind = TORC_OPTION_BOOL,
     .offset = offsetof(struct settings, lock),
     .initial = "yes"},
    {.name = "dir",
     .kind = TORC_OPTION_TEXT,
     .offset = offsetof(struct settings, dir),
     .size = sizeof((struct settings *)0)->dir,
     .initial = "/tmp"},
    {.name = "name",
     .kind = TORC_OPTION_TEXT,
     .offset = offsetof(struct settings, name),
     .size = sizeof((struct settings *)0)->name},
    {.name = "max-memory", .alias_of = "maxmemory"},
    {.name = "peers",
     .kind = TORC_OPTION_TEXT,
     .offset = offsetof(struct settings, peers),
     .size = sizeof((struct settings *)0)->peers,
     .fault = fault_of_peers,
     .is_list = true},
    {.name = "pool",
     .kind = TORC_OPTION_BYTES,
     .offset = offsetof(struct settings, pool),
     .min = 1000,
     .max = 3 * TORC_MIB,
     .initial = "4kb"},
    {.name = "depth",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, depth),
     .max = 99,
     .words = deepest,
     .initial = "12"},
};
static const struct torc_option_table options = {entries, sizeof entries / sizeof entries[0]};

static struct settings settings;
static char error[TORC_OPTION_ERROR_BYTES];

static void set_up(void)
{
    memset(&settings, 0, sizeof settings);
    torc_options_init(&options, &settings);
    error[0] = '\0';
}

static int parse(const char *text)
{
    return torc_options_parse(&options, &settings, "torc.conf", text, strlen(text), error);
}

static int set(const char *name, const char *value)
{
    return torc_options_set(&options, &settings, name, value, error);
}

static const char *get(const char *name)
{
    static char text[128];
    ck_assert_int_eq(torc_options_get(&options, &settings, name, text, sizeof text), 0);
    return text;
}

/* The text is refused with that message, and nothing is changed by it. */
static void assert_refused(const char *text, const char *message)
{
    struct settings before;
    memcpy(&before, &settings, sizeof before);
    ck_assert_msg(parse(text) == -EINVAL, "taken: %s", text);
    ck_assert_str_eq(error, message);
    ck_assert_mem_eq(&before, &settings, sizeof before);
}

START_TEST(defaults_are_those_of_the_table)
{
    ck_assert_int_eq(settings.port, 6379);
    ck_assert_int_eq(settings.balance, 0);
    ck_assert_uint_eq(settings.maxmemory, 64 * TORC_MIB);
    ck_assert_int_eq(settings.mode, 1);
    ck_assert(settings.lock);
    ck_assert_str_eq(settings.dir, "/tmp");
    ck_assert_str_eq(settings.name, "");
}
END_TEST

START_TEST(every_kind_is_set_and_printed_in_canonical_form)
{
    ck_assert_int_eq(set("port", "0080"), 0);
    ck_assert_str_eq(get("port"), "80");
    ck_assert_int_eq(set("maxmemory", "2GB"), 0);
    ck_assert_str_eq(get("maxmemory"), "2147483648");
    ck_assert_int_eq(set("poll-mode", "YIELD"), 0);
    ck_assert_str_eq(get("poll-mode"), "yield");
    ck_assert_int_eq(set("lock-memory", "No"), 0);
    ck_assert_str_eq(get("lock-memory"), "no");
    ck_assert_int_eq(set("dir", "/var/lib"), 0);
    ck_assert_str_eq(get("dir"), "/var/lib");
    ck_assert_int_eq(set("balance", "-12"), 0);
    ck_assert_str_eq(get("balance"), "-12");
}
END_TEST

START_TEST(names_do_not_depend_on_case)
{
    ck_assert_int_eq(set("PORT", "1"), 0);
    ck_assert_int_eq(settings.port, 1);
    ck_assert_str_eq(get("Port"), "1");
}
END_TEST

START_TEST(an_alias_stands_for_its_option)
{
    ck_assert_int_eq(set("max-memory", "1kb"), 0);
    ck_assert_uint_eq(settings.maxmemory, 1024);
    ck_assert_str_eq(get("max-memory"), "1024");
    ck_assert_ptr_eq(torc_options_find(&options, "max-memory"),
                     torc_options_find(&options, "maxmemory"));
    ck_assert_ptr_null(torc_options_find(&options, "none"));
}
END_TEST

START_TEST(an_unknown_name_gets_a_suggestion)
{
    ck_assert_int_eq(set("prot", "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option 'prot', did you mean 'port'?");
    ck_assert_int_eq(set("MAXMEMROY", "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option 'MAXMEMROY', did you mean 'maxmemory'?");
    ck_assert_int_eq(set("lock-memry", "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option 'lock-memry', did you mean 'lock-memory'?");
}
END_TEST

START_TEST(a_name_like_no_other_gets_none)
{
    ck_assert_int_eq(set("appendfsync", "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option 'appendfsync'");
    ck_assert_int_eq(set("", "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option ''");
    char text[128];
    ck_assert_int_eq(torc_options_get(&options, &settings, "nope", text, sizeof text), -ENOENT);
}
END_TEST

START_TEST(long_and_unprintable_names_are_shown_short_and_clean)
{
    char name[3000];
    memset(name, 'a', sizeof name);
    name[0] = '\x1b';
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(set(name, "1"), -ENOENT);
    ck_assert_str_eq(error, "unknown option '?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'");
}
END_TEST

START_TEST(numbers_keep_to_their_range)
{
    static const char *const bad[] = {"65536", "-1", "",     "1x",  " 1",
                                      "1 ",    "+1", "0x10", "1.0", "99999999999999999999",
                                      "--1",   "-"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(set("port", bad[i]) == -EINVAL, "'%s' was taken", bad[i]);
        ck_assert_int_eq(settings.port, 6379);
    }
    ck_assert_int_eq(set("port", "65536"), -EINVAL);
    ck_assert_str_eq(error, "port: '65536' is not a whole number from 0 to 65535");
    ck_assert_int_eq(set("port", "65535"), 0);
    ck_assert_int_eq(set("port", "0"), 0);
}
END_TEST

START_TEST(the_extremes_of_64_bits_are_numbers)
{
    ck_assert_int_eq(set("balance", "9223372036854775807"), 0);
    ck_assert_int_eq(settings.balance, INT64_MAX);
    ck_assert_int_eq(set("balance", "-9223372036854775808"), 0);
    ck_assert_int_eq(settings.balance, INT64_MIN);
    ck_assert_str_eq(get("balance"), "-9223372036854775808");
    ck_assert_int_eq(set("balance", "9223372036854775808"), -EINVAL);
    ck_assert_int_eq(set("balance", "-9223372036854775809"), -EINVAL);
    ck_assert_int_eq(set("balance", "18446744073709551616"), -EINVAL);
    ck_assert_int_eq(settings.balance, INT64_MIN);
}
END_TEST

START_TEST(sizes_have_the_units_of_redis)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"100", 100},
        {"7b", 7},
        {"1k", 1000},
        {"1kb", 1024},
        {"3m", 3000000},
        {"3mb", 3145728},
        {"2g", 2000000000},
        {"2gb", 2147483648},
        {"1Kb", 1024},
        {"1MB", 1048576},
        {"1G", 1000000000},
        {"007", 7},
        {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t bytes = 1;
        ck_assert_int_eq(torc_options_parse_bytes(good[i].text, &bytes), 0);
        ck_assert_uint_eq(bytes, good[i].bytes);
    }
}
END_TEST

START_TEST(what_is_not_a_size_is_refused)
{
    static const char *const bad[] = {
        "",
        "mb",
        "-1",
        "-1mb",
        "1 mb",
        "1mbx",
        "1t",
        "1kib",
        "1.5gb",
        " 1",
        "1 ",
        "0x10",
        "18446744073709551616",
        "18446744073709551615kb",
        "17179869184gb",
        "99999999999999999999",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t bytes = 77;
        ck_assert_msg(torc_options_parse_bytes(bad[i], &bytes) == -EINVAL, "'%s'", bad[i]);
        ck_assert_uint_eq(bytes, 77);
    }
    ck_assert_int_eq(set("maxmemory", "-1"), -EINVAL);
    ck_assert_str_eq(error, "maxmemory: '-1' is not a size such as 4096, 64kb, 16mb or 2gb");
}
END_TEST

START_TEST(words_outside_the_list_are_refused_with_the_list)
{
    ck_assert_int_eq(set("poll-mode", "lazy"), -EINVAL);
    ck_assert_str_eq(error, "poll-mode: 'lazy' is none of: busy, adaptive, yield");
    ck_assert_int_eq(set("lock-memory", "true"), -EINVAL);
    ck_assert_str_eq(error, "lock-memory: 'true' is neither yes nor no");
    ck_assert(settings.lock);
}
END_TEST

START_TEST(text_may_fill_its_array_but_not_pass_it)
{
    ck_assert_int_eq(set("dir", "123456789012345"), 0);
    ck_assert_int_eq(set("dir", "1234567890123456"), -EINVAL);
    ck_assert_str_eq(error, "dir: the text has 16 bytes, at most 15 fit");
    ck_assert_str_eq(settings.dir, "123456789012345");
    ck_assert_int_eq(set("dir", ""), 0);
    ck_assert_str_eq(settings.dir, "");
}
END_TEST

START_TEST(get_needs_room_for_the_terminator)
{
    char text[5] = "....";
    ck_assert_int_eq(torc_options_get(&options, &settings, "port", text, 4), -ENOSPC);
    ck_assert_str_eq(text, "....");
    ck_assert_int_eq(torc_options_get(&options, &settings, "port", text, 5), 0);
    ck_assert_str_eq(text, "6379");
}
END_TEST

START_TEST(a_file_has_settings_comments_and_blank_lines)
{
    ck_assert_int_eq(parse("# a comment\n"
                           "\n"
                           "   \t\n"
                           "  # another, indented\n"
                           "port 7000\n"
                           "\tMAXMEMORY\t1gb  \n"
                           "name a#b\n"),
                     0);
    ck_assert_int_eq(settings.port, 7000);
    ck_assert_uint_eq(settings.maxmemory, TORC_GIB);
    ck_assert_str_eq(settings.name, "a#b");
}
END_TEST

START_TEST(line_ends_may_be_crlf_and_the_last_may_be_missing)
{
    ck_assert_int_eq(parse("port 7000\r\n\r\n# x\r\nname \"x\"\r\nbalance 5"), 0);
    ck_assert_int_eq(settings.port, 7000);
    ck_assert_str_eq(settings.name, "x");
    ck_assert_int_eq(settings.balance, 5);
    ck_assert_int_eq(parse("balance 6\r"), 0);
    ck_assert_int_eq(settings.balance, 6);
    ck_assert_int_eq(parse(""), 0);
}
END_TEST

START_TEST(the_last_of_several_values_wins)
{
    ck_assert_int_eq(parse("port 1\nport 2\nPORT 3\n"), 0);
    ck_assert_int_eq(settings.port, 3);
}
END_TEST

START_TEST(double_quotes_hold_blanks_and_escapes)
{
    ck_assert_int_eq(parse("name \"a b\\n\\r\\t\\\"\\\\\\x41\\xfF'#\"\n"), 0);
    ck_assert_str_eq(settings.name, "a b\n\r\t\"\\A\xff'#");
    ck_assert_int_eq(parse("name \"\"\n"), 0);
    ck_assert_str_eq(settings.name, "");
    ck_assert_int_eq(parse("\"port\" \"12\""), 0);
    ck_assert_int_eq(settings.port, 12);
}
END_TEST

START_TEST(single_quotes_are_literal_but_for_the_quote)
{
    ck_assert_int_eq(parse("name 'a \\n \"b\" \\' \\\\ '\n"), 0);
    ck_assert_str_eq(settings.name, "a \\n \"b\" ' \\\\ ");
}
END_TEST

START_TEST(a_quote_may_start_inside_a_word)
{
    ck_assert_int_eq(parse("name pre\"post it\"\n"), 0);
    ck_assert_str_eq(settings.name, "prepost it");
    ck_assert_int_eq(parse("name back\\slash\n"), 0);
    ck_assert_str_eq(settings.name, "back\\slash");
}
END_TEST

START_TEST(the_value_of_a_list_is_all_words_of_its_line)
{
    ck_assert_int_eq(parse("peers a  'b c'\t d \n"), 0);
    ck_assert_str_eq(settings.peers, "a b c d");
    ck_assert_int_eq(parse("peers alone\n"), 0);
    ck_assert_str_eq(settings.peers, "alone");
    assert_refused("peers a 'b\n", "torc.conf:1: quote without an end");
    assert_refused("peers a nobody\n", "torc.conf:1: peers a nobody names nobody");
    assert_refused("peers 12345678 12345678 12345678\n",
                   "torc.conf:1: peers: the text has 26 bytes, at most 23 fit");
    ck_assert_str_eq(settings.peers, "alone");
    /* Longer than any value. */
    static const char word[] = " 0123456789";
    static char line[sizeof "peers" + 400 * sizeof word] = "peers";
    static_assert(400 * (sizeof word - 1) > TORC_OPTION_VALUE_BYTES, "");
    for (size_t i = 0; i < 400; i++) {
        memcpy(line + 5 + i * (sizeof word - 1), word, sizeof word);
    }
    assert_refused(line, "torc.conf:1: list too long");
}
END_TEST

START_TEST(a_value_may_be_refused_for_what_it_says)
{
    ck_assert_int_eq(set("peers", "nobody"), -EINVAL);
    ck_assert_str_eq(error, "peers nobody names nobody");
    ck_assert_int_eq(set("pool", "999"), -EINVAL);
    ck_assert_str_eq(error, "pool: '999' is not from 1000 to 3mb");
    ck_assert_int_eq(set("pool", "3145729"), -EINVAL);
    ck_assert_int_eq(set("pool", "1000"), 0);
    ck_assert_int_eq(set("pool", "3mb"), 0);
    ck_assert_uint_eq(settings.pool, 3 * TORC_MIB);
    ck_assert_int_eq(set("depth", "7"), 0);
    ck_assert_int_eq(settings.depth, 7);
    ck_assert_int_eq(set("depth", "ALL"), 0);
    ck_assert_int_eq(settings.depth, 12);
    ck_assert_int_eq(set("depth", "most"), -EINVAL);
}
END_TEST

START_TEST(errors_name_the_file_and_the_line)
{
    assert_refused("port 1\n\nprot 6380\n",
                   "torc.conf:3: unknown option 'prot', did you mean 'port'?");
    assert_refused("port 70000",
                   "torc.conf:1: port: '70000' is not a whole number from 0 to 65535");
    assert_refused("#\r\nport\r\n", "torc.conf:2: 'port' has no value");
    assert_refused("port 1 2\n", "torc.conf:1: more than one value (quote a value with blanks; a "
                                 "comment has its own line)");
    assert_refused("port 1 # the port\n", "torc.conf:1: more than one value (quote a value with "
                                          "blanks; a comment has its own line)");
    assert_refused("name \"abc\nport 1\n", "torc.conf:1: quote without an end");
    assert_refused("name 'abc", "torc.conf:1: quote without an end");
    assert_refused("name \"abc\\\"\n", "torc.conf:1: quote without an end");
    assert_refused("name \"a\"b\n", "torc.conf:1: text behind a closing quote");
    assert_refused("name 'a''b'\n", "torc.conf:1: text behind a closing quote");
    assert_refused("name \"\\x00\"\n", "torc.conf:1: NUL byte");
}
END_TEST

START_TEST(unknown_escapes_are_errors)
{
    static const char *const bad[] = {"name \"\\q\"",   "name \"\\x4\"", "name \"\\x4g\"",
                                      "name \"\\xg4\"", "name \"\\x",    "name \"\\N\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_refused(bad[i], "torc.conf:1: unknown escape in quotes, known are \\n \\r \\t \\b "
                               "\\a \\xHH \\\" \\\\");
    }
    assert_refused("name \"\\", "torc.conf:1: quote without an end");
}
END_TEST

START_TEST(a_nul_byte_anywhere_is_an_error)
{
    static const char in_comment[] = "port 1\n# \0\n";
    static const char in_value[] = "port 1\0\n";
    ck_assert_int_eq(torc_options_parse(&options, &settings, "torc.conf", in_comment,
                                        sizeof in_comment - 1, error),
                     -EINVAL);
    ck_assert_str_eq(error, "torc.conf:2: NUL byte");
    ck_assert_int_eq(
        torc_options_parse(&options, &settings, "torc.conf", in_value, sizeof in_value - 1, error),
        -EINVAL);
    ck_assert_str_eq(error, "torc.conf:1: NUL byte");
    ck_assert_int_eq(settings.port, 6379);
}
END_TEST

START_TEST(a_fault_in_the_last_line_undoes_the_lines_before)
{
    assert_refused("port 1\nname x\nlock-memory no\nmaxmemory 1tb\n",
                   "torc.conf:4: maxmemory: '1tb' is not a size such as 4096, 64kb, 16mb or 2gb");
}
END_TEST

START_TEST(words_and_texts_have_limits)
{
    static char text[TORC_OPTION_FILE_BYTES + 1];
    memset(text, ' ', sizeof text);
    memset(text, 'x', TORC_OPTION_VALUE_BYTES);
    ck_assert_int_eq(torc_options_parse(&options, &settings, "f", text, 5000, error), -EINVAL);
    ck_assert_str_eq(error, "f:1: word too long");
    memset(text, '\n', sizeof text);
    ck_assert_int_eq(
        torc_options_parse(&options, &settings, "f", text, TORC_OPTION_FILE_BYTES, error), 0);
    ck_assert_int_eq(torc_options_parse(&options, &settings, "f", text, sizeof text, error),
                     -EINVAL);
    ck_assert_str_eq(error, "f: longer than 1048576 bytes");
}
END_TEST

START_TEST(a_long_path_does_not_push_the_reason_out)
{
    char path[4000];
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(torc_options_parse(&options, &settings, path, "x", 1, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, ":1: unknown option 'x'"));
}
END_TEST

START_TEST(a_file_is_read_from_disk)
{
    char path[] = "/tmp/torc-options-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    static const char text[] = "port 1234\nname 'from disk'";
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    ck_assert_int_eq(torc_options_read(&options, &settings, path, error), 0);
    ck_assert_int_eq(settings.port, 1234);
    ck_assert_str_eq(settings.name, "from disk");

    ck_assert_int_eq(ftruncate(fd, TORC_OPTION_FILE_BYTES + 1), 0);
    ck_assert_int_eq(torc_options_read(&options, &settings, path, error), -EINVAL);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(torc_options_read(&options, &settings, path, error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "cannot be opened"));
    ck_assert_int_eq(torc_options_read(&options, &settings, "/", error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "cannot be read"));
    ck_assert_int_eq(settings.port, 1234);
}
END_TEST

START_TEST(what_get_prints_set_takes_back)
{
    ck_assert_int_eq(parse("port 9\nbalance -9\nmaxmemory 9kb\npoll-mode busy\nlock-memory no\n"
                           "dir \"a b\"\nname '\"'\n"),
                     0);
    struct settings copy;
    memset(&copy, 0, sizeof copy);
    torc_options_init(&options, &copy);
    for (size_t i = 0; i < options.n; i++) {
        char text[128];
        ck_assert_int_eq(torc_options_get(&options, &settings, entries[i].name, text, sizeof text),
                         0);
        ck_assert_int_eq(torc_options_set(&options, &copy, entries[i].name, text, error), 0);
    }
    ck_assert_int_eq(copy.port, 9);
    ck_assert_int_eq(copy.balance, -9);
    ck_assert_uint_eq(copy.maxmemory, 9216);
    ck_assert_int_eq(copy.mode, 0);
    ck_assert(!copy.lock);
    ck_assert_str_eq(copy.dir, "a b");
    ck_assert_str_eq(copy.name, "\"");
}
END_TEST

static void add_value_tests(TCase *tcase)
{
    tcase_add_test(tcase, defaults_are_those_of_the_table);
    tcase_add_test(tcase, every_kind_is_set_and_printed_in_canonical_form);
    tcase_add_test(tcase, names_do_not_depend_on_case);
    tcase_add_test(tcase, an_alias_stands_for_its_option);
    tcase_add_test(tcase, an_unknown_name_gets_a_suggestion);
    tcase_add_test(tcase, a_name_like_no_other_gets_none);
    tcase_add_test(tcase, long_and_unprintable_names_are_shown_short_and_clean);
    tcase_add_test(tcase, numbers_keep_to_their_range);
    tcase_add_test(tcase, the_extremes_of_64_bits_are_numbers);
    tcase_add_test(tcase, sizes_have_the_units_of_redis);
    tcase_add_test(tcase, what_is_not_a_size_is_refused);
    tcase_add_test(tcase, words_outside_the_list_are_refused_with_the_list);
    tcase_add_test(tcase, text_may_fill_its_array_but_not_pass_it);
    tcase_add_test(tcase, get_needs_room_for_the_terminator);
    tcase_add_test(tcase, what_get_prints_set_takes_back);
}

static void add_file_tests(TCase *tcase)
{
    tcase_add_test(tcase, a_file_has_settings_comments_and_blank_lines);
    tcase_add_test(tcase, line_ends_may_be_crlf_and_the_last_may_be_missing);
    tcase_add_test(tcase, the_last_of_several_values_wins);
    tcase_add_test(tcase, double_quotes_hold_blanks_and_escapes);
    tcase_add_test(tcase, single_quotes_are_literal_but_for_the_quote);
    tcase_add_test(tcase, a_quote_may_start_inside_a_word);
    tcase_add_test(tcase, the_value_of_a_list_is_all_words_of_its_line);
    tcase_add_test(tcase, a_value_may_be_refused_for_what_it_says);
    tcase_add_test(tcase, errors_name_the_file_and_the_line);
    tcase_add_test(tcase, unknown_escapes_are_errors);
    tcase_add_test(tcase, a_nul_byte_anywhere_is_an_error);
    tcase_add_test(tcase, a_fault_in_the_last_line_undoes_the_lines_before);
    tcase_add_test(tcase, words_and_texts_have_limits);
    tcase_add_test(tcase, a_long_path_does_not_push_the_reason_out);
    tcase_add_test(tcase, a_file_is_read_from_disk);
}

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *values = tcase_create("values");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(values, set_up, NULL);
    tcase_add_checked_fixture(files, set_up, NULL);
    add_value_tests(values);
    add_file_tests(files);
    suite_add_tcase(suite, values);
    suite_add_tcase(suite, files);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
