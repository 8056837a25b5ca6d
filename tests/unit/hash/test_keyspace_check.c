/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker on damaged arenas, read through a mapping of their own as of a dead server's.
 */
#include <check.h>
#include <stdlib.h>

#include "hash/keyspace_private.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/prng.h"

static struct torc_arena *arena;
static struct torc_arena *reader; /* the same memory, read-only */
static struct torc_hash_limits limits;
static struct torc_keyspace *ks;

static void put(const char *name, uint32_t field, size_t value_len)
{
    static uint8_t value[100000];
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str(name));
    struct torc_pair pair = {torc_slice_of(&field, 4), torc_slice_of(value, value_len)};
    ck_assert_int_ge(torc_hash_put(ks, &key, &pair, 1), 0);
}

/* Some of everything: compact, full, large and huge values, what was flushed and is half freed, a
 * hash that waits for the cleaner. */
static void setup(void)
{
    arena = torc_test_arena(16 * TORC_MIB, 99);
    limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    limits.compact_max_entries = 50;
    ck_assert_int_eq(torc_keyspace_open(arena, 1, &limits, &ks), 0);
    for (uint32_t i = 0; i < 200; ++i) {
        char name[16];
        (void)snprintf(name, sizeof(name), "old%u", i);
        put(name, i, 50);
        put("old full", i, 30);
    }
    torc_keyspace_flush(ks);
    (void)torc_keyspace_maintain(ks, 30);
    for (uint32_t i = 0; i < 100; ++i) {
        char name[16];
        (void)snprintf(name, sizeof(name), "h%u", i);
        put(name, i, i);
        put(name, i + 1, 20);
        put("full", i, 50);
    }
    for (uint32_t i = 0; i < 200; ++i) {
        put("large", i, 8000);
    }
    for (uint32_t i = 160; i < 200; ++i) {
        struct torc_key key = torc_keyspace_key(ks, torc_slice_str("large"));
        struct torc_slice field = torc_slice_of(&i, 4);
        ck_assert_int_eq(torc_hash_del(ks, &key, &field, 1), 1);
    }
    put("huge", 1, 90000);
    ck_assert_int_eq(torc_arena_open_fd(arena->region.fd, &reader), 0);
}

static void teardown(void)
{
    torc_keyspace_close(ks);
    torc_arena_destroy(reader);
    torc_arena_destroy(arena);
}

static bool is_sound(void)
{
    const char *why = NULL;
    int rc = torc_keyspace_check_arena(reader, &why);
    ck_assert(rc == 0 || (rc == -EBADMSG && why != NULL));
    return rc == 0;
}

static uint64_t find(const char *name)
{
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str(name));
    return torc_keyspace_find(ks, &key);
}

/* Change the 8 bytes at p; the checker must see it. */
static void expect_fault(void *p, uint64_t word, const char *what)
{
    uint64_t old = torc_load_u64(p);
    torc_store_u64(p, word);
    ck_assert_msg(!is_sound(), "%s", what);
    torc_store_u64(p, old);
    ck_assert(is_sound());
}

START_TEST(a_sound_arena_passes_through_a_mapping_of_its_own)
{
    const char *why = "";
    ck_assert_msg(torc_keyspace_check_arena(reader, &why) == 0, "%s", why);
    ck_assert_msg(torc_keyspace_check(ks, &why) == 0, "%s", why);
    ck_assert_uint_ne(ks->root->dropped, TORC_REF_NONE);
    ck_assert_uint_ne(ks->root->clean_first, TORC_REF_NONE);
    while (torc_keyspace_settle(ks, false, 10)) {
        ck_assert(is_sound());
    }
}
END_TEST

START_TEST(wrong_words_of_the_root_are_found)
{
    struct torc_keyspace_root *root = ks->root;
    static const uint64_t words[] = {1, TORC_PAGE_BYTES, 15 * TORC_MIB, 1ull << 39, UINT64_MAX};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        uint64_t word = words[i];
        expect_fault(&root->magic, word, "magic");
        expect_fault(&root->spare, word, "spare");
        expect_fault(&root->dropped, word, "dropped");
        expect_fault(&root->drop_hashes, word, "drop_hashes");
        expect_fault(&root->clean_first, word, "clean_first");
        expect_fault(&root->clean_last, word, "clean_last");
        expect_fault(&root->table.count, word, "table.count");
        expect_fault(&root->table.n_lines, word, "table.n_lines");
        expect_fault(&root->table.blocks[0], word, "table.blocks[0]");
    }
    expect_fault(&root->spare, 0, "no spare");
    expect_fault(&root->dropped, 0, "lost: what was flushed");
    expect_fault(&root->clean_first, 0, "lost: hashes to clean");
    /* Lists that never end. */
    struct torc_keyspace_root *dropped = torc_keyspace_root_at(arena, root->dropped);
    expect_fault(&dropped->drop_next, root->dropped, "a ring of flushed roots");
}
END_TEST

START_TEST(wrong_words_of_a_full_hash_are_found)
{
    struct torc_full *full =
        torc_full_at(arena, torc_record_root(torc_arena_at(arena, find("large"))));
    expect_fault(&full->magic, 0, "magic");
    expect_fault(&full->record_bytes, full->record_bytes + 1, "record_bytes");
    expect_fault(&full->extent_extra, 1, "extent_extra");
    expect_fault(&full->stream.owner, 64, "owner");
    expect_fault(&full->stream.open, 0, "open");
    expect_fault(&full->stream.closed, 12345, "closed");
    expect_fault(&full->stream.live, 0, "live");
    expect_fault(&full->stream.dead, 0, "dead");
    expect_fault(&full->clean_next, 4096, "clean_next");
    expect_fault(&full->clean_prev, 4096, "clean_prev");
    expect_fault(&full->state, TORC_FULL_DROPPING, "state");
    expect_fault(&full->state, 9 | 1ull << 32, "state");
    expect_fault(&full->state, TORC_FULL_LIVE, "in_clean_list");
}
END_TEST

START_TEST(wrong_bytes_of_records_are_found)
{
    uint8_t *record = torc_arena_at(arena, find("h50"));
    uint64_t word = torc_load_u64(record);
    for (unsigned bit = 0; bit < 8; ++bit) {
        expect_fault(record, word ^ 1ull << bit, "the tag");
    }
    expect_fault(record, word + 0x100, "the key's length");
    expect_fault(record, word + 0x10000, "the key");
    uint8_t *block = torc_keyspace_payload(record, 3);
    expect_fault(block, torc_load_u64(block) + (1ull << 32), "the number of fields");
    struct torc_segment *segment = torc_segment_of(arena, find("h50"), 100);
    expect_fault(&segment->live, segment->live - 1, "live bytes of a segment");
    expect_fault(&segment->owner, 256, "owner of a segment");
    /* A live record turned into a hole: nothing refers to a hole. */
    expect_fault(record, TORC_RECORD_HOLE | TORC_RECORD_DEAD | torc_record_bytes(record) << 8,
                 "a hole");
}
END_TEST

START_TEST(no_damage_makes_the_checker_crash)
{
    struct torc_prng prng = {torc_test_seed(17)};
    uint64_t n = torc_test_ops(1000);
    unsigned found = 0;
    /* What is in use lies in the first 4 MiB or so. Heads of things are at multiples of 64. */
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t places[4];
        uint64_t old[4];
        unsigned n_places = 1 + (unsigned)torc_prng_below(&prng, 4);
        for (unsigned k = 0; k < n_places; ++k) {
            uint64_t at =
                torc_prng_below(&prng, 4 * TORC_MIB / 64) * 64 + torc_prng_below(&prng, 64);
            if (torc_prng_below(&prng, 3) == 0) {
                /* The roots and what is near them are hit more often. */
                at = torc_arena_root(arena, 1) / 4096 * 4096 + torc_prng_below(&prng, 4096);
            }
            places[k] = at;
            old[k] = torc_load_u64(torc_arena_at(arena, at));
            uint64_t word = torc_prng_below(&prng, 4) == 0
                                ? torc_prng_next(&prng) >> torc_prng_below(&prng, 64)
                                : old[k] ^ 1ull << torc_prng_below(&prng, 64);
            torc_store_u64(torc_arena_at(arena, at), word);
        }
        found += !is_sound();
        for (unsigned k = n_places; k-- > 0;) {
            torc_store_u64(torc_arena_at(arena, places[k]), old[k]);
        }
    }
    ck_assert_uint_gt(found, n / 10);
    ck_assert(is_sound());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace_check");
    TCase *tcase = tcase_create("keyspace_check");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_sound_arena_passes_through_a_mapping_of_its_own);
    tcase_add_test(tcase, wrong_words_of_the_root_are_found);
    tcase_add_test(tcase, wrong_words_of_a_full_hash_are_found);
    tcase_add_test(tcase, wrong_bytes_of_records_are_found);
    tcase_add_test(tcase, no_damage_makes_the_checker_crash);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
