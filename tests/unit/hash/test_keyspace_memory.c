/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyspace and memory: what is left when there is none, and what it says that it uses.
 */
#include "tests/unit/hash/keyspace_fixture.h"

/* --- no memory --- */

/* Let the first allocation fail, then the second, until the command goes through: every failure
 * must leave all as it was. Returns how many times it failed. */
static unsigned put_with_failures(const char *name, const struct torc_pair *pairs, size_t n,
                                  int64_t expected)
{
    struct torc_key key = key_of(name);
    uint64_t keys = torc_keyspace_count(ks);
    int64_t fields = len(name);
    uint64_t used = usage(name);
    enum torc_encoding form = encoding(name);
    uint64_t index = torc_arena_used_by(arena, TORC_USE_INDEX);
    uint64_t roots = torc_arena_used_by(arena, TORC_USE_ROOT);
    uint64_t live = torc_stream_shared(arena)->live;
    unsigned failures = 0;
    for (;;) {
        torc_arena_fail_after(arena, failures + 1);
        int64_t created = torc_hash_put(ks, &key, pairs, n);
        torc_arena_fail_after(arena, 0);
        check();
        if (created >= 0) {
            ck_assert_int_eq(created, expected);
            return failures;
        }
        ++failures;
        ck_assert_int_eq(created, -ENOSPC);
        ck_assert_uint_eq(torc_keyspace_count(ks), keys);
        ck_assert_int_eq(len(name), fields);
        ck_assert_uint_eq(usage(name), used);
        ck_assert_int_eq(encoding(name), form);
        ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), index);
        ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), roots);
        ck_assert_uint_eq(torc_stream_shared(arena)->live, live);
    }
}

START_TEST(without_memory_a_put_changes_nothing)
{
    static struct torc_pair pairs[64];
    static char names[64][24];
    fill_pairs(pairs, names, 64);
    /* New keys, compact and full; the first also needs the spare root and the index. */
    ck_assert_uint_ge(put_with_failures("h", pairs, 1, 1), 3);
    ck_assert_uint_ge(put_with_failures("h2", pairs, 20, 20), 1);
    limits.compact_max_entries = 30;
    ck_assert_uint_ge(put_with_failures("h3", pairs, 40, 40), 42);
    /* A block that grows: by one pair, by several. */
    ck_assert_uint_ge(put_with_failures("h", pairs + 1, 1, 1), 1);
    ck_assert_uint_ge(put_with_failures("h", pairs, 20, 18), 1);
    /* It becomes full, from the block and what comes. */
    ck_assert_uint_ge(put_with_failures("h", pairs + 20, 20, 20), 40);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    ck_assert_uint_ge(put_with_failures("h", pairs, 64, 24), 25);
    expect("h", "field:00000063", "v123456789abcdef");
    /* The first key of a database, full at once. */
    torc_keyspace_close(ks);
    ck_assert_int_eq(torc_keyspace_open(arena, 1, &limits, &ks), 0);
    limits.compact_max_entries = 0;
    ck_assert_uint_ge(put_with_failures("h", pairs, 3, 3), 8);
}
END_TEST

START_TEST(at_the_memory_limit_reads_and_deletes_work)
{
    uint8_t *value = bytes_of(3000, 'v');
    char name[16];
    unsigned n = 0;
    struct torc_value found;
    torc_arena_set_limit(arena, 8 * TORC_MIB);
    int64_t created;
    do {
        (void)snprintf(name, sizeof(name), "h%u", n++);
        created = put(name, "f", torc_slice_of(value, 3000));
    } while (created == 1);
    --n;
    ck_assert_int_eq(created, -ENOSPC);
    ck_assert_uint_gt(n, 2000);
    ck_assert_uint_eq(torc_keyspace_count(ks), n);
    expect_none(name, "f");
    ck_assert_uint_le(torc_arena_used(arena), 8 * TORC_MIB);
    check();
    ck_assert_int_eq(get("h0", "f", &found), 1);
    /* Every second one goes: no segment is free by that alone, the cleaner must make the room. */
    for (unsigned i = 0; i < n; i += 2) {
        (void)snprintf(name, sizeof(name), "h%u", i);
        ck_assert_int_eq(del(name, "f"), 1);
    }
    check();
    while (torc_keyspace_maintain(ks, 64)) {
    }
    check();
    ck_assert_uint_lt(torc_arena_used(arena), 6 * TORC_MIB);
    for (unsigned i = 0; i < n / 3; ++i) {
        (void)snprintf(name, sizeof(name), "new%u", i);
        ck_assert_int_eq(put(name, "f", torc_slice_of(value, 3000)), 1);
    }
    check();
    free(value);
}
END_TEST

/* --- memory that is told --- */

START_TEST(usage_is_true_to_the_byte)
{
    static struct torc_pair pairs[200];
    static char names[200][24];
    struct torc_key key = key_of("a");
    fill_pairs(pairs, names, 200);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 20), 20);
    uint64_t a = usage("a");
    ck_assert_uint_eq(torc_stream_shared(arena)->live, a - TORC_KEYSPACE_ENTRY_BYTES);
    limits.compact_max_entries = 100;
    key = key_of("b");
    uint64_t index = torc_arena_used_by(arena, TORC_USE_INDEX);
    uint64_t roots = torc_arena_used_by(arena, TORC_USE_ROOT);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 200), 200);
    uint64_t b = usage("b");
    ck_assert_uint_eq(torc_stream_shared(arena)->live - (a - TORC_KEYSPACE_ENTRY_BYTES) +
                          torc_arena_used_by(arena, TORC_USE_INDEX) - index +
                          torc_arena_used_by(arena, TORC_USE_ROOT) - roots,
                      b - TORC_KEYSPACE_ENTRY_BYTES);
    /* 14 + 16 bytes of field and value in 35, the block's head and the key. */
    ck_assert_uint_le(a, 20 * 35 + 40);
}
END_TEST

START_TEST(usage_counts_extents_with_their_pages)
{
    uint8_t *value = bytes_of(200000, 'v');
    ck_assert_int_eq(put("h", "f", torc_slice_of(value, 200000)), 1);
    uint64_t index = torc_full_bytes(
        arena, torc_record_root(torc_arena_at(
                   arena, torc_keyspace_find(
                              ks, &(struct torc_key){torc_slice_str("h"), key_of("h").hash}))));
    ck_assert_uint_eq(usage("h"), 8 + TORC_KEYSPACE_ENTRY_BYTES + index);
    ck_assert_uint_gt(usage("h"), torc_arena_used_by(arena, TORC_USE_EXTENT));
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 49ull * TORC_PAGE_BYTES);
    /* A compact hash of which key and block together pass a segment's largest record. */
    uint8_t *name = bytes_of(50000, 'k');
    struct torc_key key = torc_keyspace_key(ks, torc_slice_of(name, 50000));
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_of(value, 30000)};
    ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_COMPACT);
    ck_assert_uint_eq(torc_keyspace_usage(ks, &key), torc_arena_used_by(arena, TORC_USE_EXTENT) -
                                                         49ull * TORC_PAGE_BYTES +
                                                         TORC_KEYSPACE_ENTRY_BYTES);
    check();
    free(value);
    free(name);
}
END_TEST

START_TEST(a_hash_that_loses_most_fields_gives_back_its_room)
{
    static struct torc_pair pairs[1000];
    static char names[1000][24];
    struct torc_key key = key_of("h");
    fill_pairs(pairs, names, 1000);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 1000), 1000);
    uint64_t before = usage("h");
    torc_arena_fail_after(arena, 1); /* which needs no memory */
    for (int i = 0; i < 900; ++i) {
        ck_assert_int_eq(torc_hash_del(ks, &key, &pairs[i].field, 1), 1);
    }
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_lt(usage("h"), before / 6);
    ck_assert_int_eq(len("h"), 100);
    expect("h", "field:00000950", "v123456789abcdef");
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace_memory");
    TCase *tcase = add_case(suite, "none left");
    tcase_add_test(tcase, without_memory_a_put_changes_nothing);
    tcase_add_test(tcase, at_the_memory_limit_reads_and_deletes_work);
    tcase = add_case(suite, "usage");
    tcase_add_test(tcase, usage_is_true_to_the_byte);
    tcase_add_test(tcase, usage_counts_extents_with_their_pages);
    tcase_add_test(tcase, a_hash_that_loses_most_fields_gives_back_its_room);
    return run_suite(suite);
}
