/* SPDX-License-Identifier: Apache-2.0
 *
 * SCAN, HSCAN and KEYS: what is there all the time is seen, what never was is not, and it ends.
 */
#include "tests/unit/tools/commands_fixture.h"

#define STABLE 2000u /* fields 0 .. STABLE stay from the first page to the last */
#define END    20000u

static uint8_t seen[END];

/* One page of "h" or, without a hash, of keys; marks what it has. Returns the next cursor. */
static uint64_t scan_page(bool of_hash, uint64_t cursor, const char *count, uint32_t *out_n)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)cursor);
    struct torc_reply reply = of_hash ? ASK("HSCAN", "h", number, "COUNT", count, "NOVALUES")
                                      : ASK("SCAN", number, "COUNT", count);
    REQUIRE(reply.kind == TORC_REPLY_CURSOR);
    for (uint32_t i = 0; i < reply.count; i++) {
        seen[number_of(torc_reply_at(&reply, i), END)] = 1;
    }
    *out_n = reply.count;
    return reply.cursor;
}

static void expect_stable_ones_seen(void)
{
    for (unsigned i = 0; i < STABLE; i++) {
        REQUIRE(seen[i] == 1);
    }
}

/* Scan "h" while `change` is called between two pages. The number of pages must have an end. */
static void scan_while(void (*change)(struct torc_prng *prng, unsigned page))
{
    struct torc_prng prng = {torc_test_seed(0x5ca9)};
    uint64_t cursor = 0;
    unsigned page = 0;
    memset(seen, 0, sizeof seen);
    do {
        uint32_t n;
        cursor = scan_page(true, cursor, "10", &n);
        change(&prng, page++);
        REQUIRE(page < 50000);
    } while (cursor != 0);
    expect_stable_ones_seen();
}

static void insert_some(struct torc_prng *prng, unsigned page)
{
    (void)prng;
    unsigned first = STABLE + page * 7;
    if (first + 7 <= END) {
        change_fields("HSET", first, first + 7);
    }
}

static void delete_some(struct torc_prng *prng, unsigned page)
{
    (void)prng;
    unsigned first = STABLE + page * 100;
    if (first + 100 <= END) {
        change_fields("HDEL", first, first + 100);
    }
}

static void change_some(struct torc_prng *prng, unsigned page)
{
    (void)page;
    unsigned first = STABLE + (unsigned)torc_prng_below(prng, END - STABLE - 200);
    unsigned end = first + 1 + (unsigned)torc_prng_below(prng, 200);
    change_fields(torc_prng_below(prng, 2) == 0 ? "HSET" : "HDEL", first, end);
}

START_TEST(nothing_is_missed_while_a_hash_grows)
{
    use_full_hashes();
    change_fields("HSET", 0, STABLE);
    scan_while(insert_some);
}
END_TEST

START_TEST(nothing_is_missed_while_a_hash_shrinks_tenfold)
{
    use_full_hashes();
    change_fields("HSET", 0, END);
    scan_while(delete_some);
    expect_integer(ASK("HLEN", "h"), STABLE);
}
END_TEST

START_TEST(nothing_is_missed_while_fields_come_and_go)
{
    use_full_hashes();
    change_fields("HSET", 0, STABLE);
    scan_while(change_some);
}
END_TEST

START_TEST(nothing_is_missed_when_a_compact_hash_becomes_full)
{
    /* Its one page comes first: all that is there then. */
    change_fields("HSET", 0, STABLE);
    expect_bytes(ASK("OBJECT", "ENCODING", "h"), "listpack");
    scan_while(insert_some);
    /* And with a cursor of a hash that was full and is compact now, it comes again. */
    memset(seen, 0, sizeof seen);
    uint32_t n;
    ck_assert_uint_eq(scan_page(true, 12345, "10", &n), 0);
    ck_assert_uint_eq(n, STABLE + 7);
    change_fields("HSET", 0, END);
    expect_bytes(ASK("OBJECT", "ENCODING", "h"), "hashtable");
    scan_while(change_some);
}
END_TEST

START_TEST(what_never_was_is_never_seen)
{
    use_full_hashes();
    change_fields("HSET", 0, STABLE);
    scan_while(insert_some);
    expect_integer(ASK("DEL", "h"), 1);
    change_fields("HSET", 0, STABLE);
    memset(seen, 0, sizeof seen);
    uint64_t cursor = 0;
    do {
        uint32_t n;
        cursor = scan_page(true, cursor, "100", &n);
    } while (cursor != 0);
    expect_stable_ones_seen();
    for (unsigned i = STABLE; i < END; i++) {
        REQUIRE(seen[i] == 0);
    }
}
END_TEST

START_TEST(keys_are_not_missed_while_keys_come_and_go)
{
    char name[16];
    struct torc_prng prng = {torc_test_seed(0x5ca8)};
    for (unsigned i = 0; i < STABLE; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        expect_integer(ASK("HSET", name, "f", "v"), 1);
    }
    memset(seen, 0, sizeof seen);
    uint64_t cursor = 0;
    unsigned page = 0;
    do {
        uint32_t n;
        cursor = scan_page(false, cursor, "10", &n);
        for (unsigned i = 0; i < 20; i++) {
            unsigned key = STABLE + (unsigned)torc_prng_below(&prng, END - STABLE);
            (void)snprintf(name, sizeof name, "%u", key);
            bool sets = torc_prng_below(&prng, 3) != 0;
            REQUIRE((sets ? ASK("HSET", name, "f", "v") : ASK("UNLINK", name)).kind ==
                    TORC_REPLY_INT);
        }
        REQUIRE(++page < 50000);
    } while (cursor != 0);
    expect_stable_ones_seen();
}
END_TEST

START_TEST(a_scan_of_any_size_ends_and_empty_last_pages_are_rare)
{
    use_full_hashes();
    unsigned n_empty = 0;
    for (unsigned size = 1; size <= 2000; size++) {
        change_fields("HSET", size - 1, size);
        uint64_t cursor = 0;
        unsigned pages = 0;
        unsigned total = 0;
        uint32_t n;
        do {
            cursor = scan_page(true, cursor, "10", &n);
            total += n;
            REQUIRE(++pages <= size + 1);
        } while (cursor != 0);
        REQUIRE(total >= size);
        n_empty += n == 0 && pages > 1;
    }
    ck_assert_uint_le(n_empty, 20);
}
END_TEST

START_TEST(any_cursor_is_safe_and_comes_to_an_end)
{
    struct torc_prng prng = {torc_test_seed(0x5ca7)};
    for (int form = 0; form < 2; form++) {
        service.limits.compact_max_entries = form == 0 ? 65535 : 0;
        (void)ASK("DEL", "h");
        change_fields("HSET", 0, 300);
        for (int i = 0; i < 2000; i++) {
            uint64_t cursor = torc_prng_next(&prng) >> torc_prng_below(&prng, 64);
            uint32_t n;
            unsigned pages = 0;
            do {
                cursor = scan_page(true, cursor, "10", &n);
                REQUIRE(++pages < 500);
            } while (cursor != 0);
        }
    }
}
END_TEST

START_TEST(a_small_hash_comes_in_one_page)
{
    change_fields("HSET", 0, 512);
    struct torc_reply reply = ASK("HSCAN", "h", "0", "COUNT", "10");
    ck_assert_uint_eq(reply.cursor, 0);
    ck_assert_uint_eq(reply.count, 1024);
}
END_TEST

START_TEST(patterns_are_about_names_and_values_stay_with_them)
{
    for (int form = 0; form < 2; form++) {
        service.limits.compact_max_entries = form == 0 ? 65535 : 0;
        (void)ASK("DEL", "h");
        (void)ASK("HSET", "h", "1", "a", "2", "b", "key1", "3");
        struct torc_reply reply = ASK("HSCAN", "h", "0", "COUNT", "100", "MATCH", "1");
        ck_assert_uint_eq(reply.count, 2);
        ck_assert(torc_slice_equal(torc_reply_at(&reply, 0), torc_slice_str("1")));
        ck_assert(torc_slice_equal(torc_reply_at(&reply, 1), torc_slice_str("a")));
        reply = ASK("HSCAN", "h", "0", "MATCH", "key1", "COUNT", "100");
        ck_assert_uint_eq(reply.count, 2);
        ck_assert(torc_slice_equal(torc_reply_at(&reply, 1), torc_slice_str("3")));
        ck_assert_uint_eq(ASK("HSCAN", "h", "0", "MATCH", "*", "COUNT", "100").count, 6);
        ck_assert_uint_eq(ASK("HSCAN", "h", "0", "MATCH", "zz", "COUNT", "100").count, 0);
        ck_assert_uint_eq(ASK("HSCAN", "h", "0", "NOVALUES", "MATCH", "[12]", "COUNT", "100").count,
                          2);
    }
}
END_TEST

START_TEST(a_giant_count_takes_no_memory)
{
    use_full_hashes();
    change_fields("HSET", 0, 1000);
    struct torc_reply reply = ASK("HSCAN", "h", "0", "COUNT", "9223372036854775807");
    ck_assert_uint_eq(reply.count, 2000);
    ck_assert_uint_eq(reply.cursor, 0);
    reply = ASK("SCAN", "0", "COUNT", "9223372036854775807");
    ck_assert_uint_eq(reply.count, 1);
    ck_assert_uint_eq(service.slices.cap, 0);
}
END_TEST

START_TEST(keys_gives_each_key_that_matches_once)
{
    char name[16];
    for (unsigned i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        expect_integer(ASK("HSET", name, "f", "v"), 1);
    }
    struct torc_reply reply = ASK("KEYS", "*");
    ck_assert_int_eq(reply.kind, TORC_REPLY_ARRAY);
    ck_assert_uint_eq(reply.count, 3000);
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < reply.count; i++) {
        REQUIRE(seen[number_of(torc_reply_at(&reply, i), 3000)]++ == 0);
    }
    ck_assert_uint_eq(ASK("KEYS", "1?").count, 10);
    ck_assert_uint_eq(ASK("KEYS", "none").count, 0);
}
END_TEST

int main(void)
{
    return RUN("scan", nothing_is_missed_while_a_hash_grows,
               nothing_is_missed_while_a_hash_shrinks_tenfold,
               nothing_is_missed_while_fields_come_and_go,
               nothing_is_missed_when_a_compact_hash_becomes_full, what_never_was_is_never_seen,
               keys_are_not_missed_while_keys_come_and_go,
               a_scan_of_any_size_ends_and_empty_last_pages_are_rare,
               any_cursor_is_safe_and_comes_to_an_end, a_small_hash_comes_in_one_page,
               patterns_are_about_names_and_values_stay_with_them, a_giant_count_takes_no_memory,
               keys_gives_each_key_that_matches_once);
}
