/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "hash/keyspace_private.h"
#include "tests/support/arena_fixture.h"

#define ROOT_BYTES (1u << TORC_KEYSPACE_ROOT_LOG2)

static struct torc_arena *arena;
static struct torc_hash_limits limits;
static struct torc_keyspace *ks;

static void setup(void)
{
    arena = torc_test_arena(512 * TORC_MIB, 4242);
    limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    ck_assert_int_eq(torc_keyspace_open(arena, 0, &limits, &ks), 0);
}

static void teardown(void)
{
    torc_keyspace_close(ks);
    torc_arena_destroy(arena);
}

static void check(void)
{
    const char *why = "";
    ck_assert_msg(torc_keyspace_check(ks, &why) == 0, "%s", why);
    ck_assert_uint_eq(torc_arena_in_flight(arena), 0);
}

static struct torc_key key_of(const char *name)
{
    return torc_keyspace_key(ks, torc_slice_str(name));
}

static int64_t put(const char *name, const char *field, struct torc_slice value)
{
    struct torc_key key = key_of(name);
    struct torc_pair pair = {.field = torc_slice_str(field), .value = value};
    return torc_hash_put(ks, &key, &pair, 1);
}

static int64_t put_str(const char *name, const char *field, const char *value)
{
    return put(name, field, torc_slice_str(value));
}

static int get(const char *name, const char *field, struct torc_slice *out_value)
{
    struct torc_key key = key_of(name);
    return torc_hash_get(ks, &key, torc_slice_str(field), out_value);
}

static void expect(const char *name, const char *field, const char *value)
{
    struct torc_slice found;
    ck_assert_msg(get(name, field, &found) == 1, "%s of %s is missing", field, name);
    ck_assert(torc_slice_equal(found, torc_slice_str(value)));
}

static void expect_none(const char *name, const char *field)
{
    struct torc_slice found;
    ck_assert_int_eq(get(name, field, &found), 0);
}

static int64_t del(const char *name, const char *field)
{
    struct torc_key key = key_of(name);
    struct torc_slice slice = torc_slice_str(field);
    return torc_hash_del(ks, &key, &slice, 1);
}

static int64_t len(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_hash_len(ks, &key);
}

static enum torc_encoding encoding(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_encoding(ks, &key);
}

static uint64_t usage(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_usage(ks, &key);
}

static uint8_t *bytes_of(size_t n, int byte)
{
    uint8_t *data = malloc(n + 1);
    ck_assert_ptr_nonnull(data);
    memset(data, byte, n);
    return data;
}

static void settle(void)
{
    while (torc_keyspace_settle(ks, 100)) {
    }
}

/* --- what users see --- */

START_TEST(a_missing_key_reads_as_an_empty_hash)
{
    struct torc_key key = key_of("none");
    struct torc_slice fields[] = {torc_slice_str("a"), torc_slice_str("b")};
    struct torc_slice values[] = {fields[0], fields[1]};
    struct torc_pair pair;
    uint64_t cursor = 7;
    expect_none("none", "a");
    ck_assert_int_eq(len("none"), 0);
    ck_assert_int_eq(torc_hash_get_many(ks, &key, fields, 2, values), 0);
    ck_assert_ptr_null(values[0].data);
    ck_assert_ptr_null(values[1].data);
    ck_assert_int_eq(torc_hash_del(ks, &key, fields, 2), 0);
    ck_assert_int_eq(torc_hash_each(ks, &key, NULL, NULL), 0);
    ck_assert_int_eq(torc_hash_scan(ks, &key, 5, 10, NULL, NULL, &cursor), 0);
    ck_assert_uint_eq(cursor, 0);
    ck_assert_int_eq(torc_hash_random(ks, &key, 1, &pair), 0);
    ck_assert(!torc_keyspace_del(ks, &key));
    ck_assert_int_eq(torc_keyspace_type(ks, &key), TORC_TYPE_NONE);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_NONE);
    ck_assert_uint_eq(torc_keyspace_usage(ks, &key), 0);
    ck_assert_ptr_null(torc_keyspace_random(ks, 3).data);
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    check();
}
END_TEST

START_TEST(a_hash_lives_with_its_fields)
{
    ck_assert_int_eq(put_str("h", "f", "v"), 1);
    ck_assert_int_eq(put_str("h", "f", "w"), 0);
    ck_assert_int_eq(put_str("h", "g", "x"), 1);
    expect("h", "f", "w");
    ck_assert_int_eq(len("h"), 2);
    ck_assert_uint_eq(torc_keyspace_count(ks), 1);
    ck_assert_int_eq(del("h", "f"), 1);
    ck_assert_int_eq(del("h", "f"), 0);
    check();
    ck_assert_int_eq(del("h", "g"), 1);
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_NONE);
    check();
}
END_TEST

START_TEST(a_put_of_nothing_makes_no_key)
{
    struct torc_key key = key_of("h");
    ck_assert_int_eq(torc_hash_put(ks, &key, NULL, 0), 0);
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
}
END_TEST

START_TEST(empty_names_and_values_are_legal)
{
    struct torc_slice value;
    for (int form = 0; form < 2; ++form) {
        limits.compact_max_entries = form == 0 ? 65535 : 0;
        ck_assert_int_eq(put_str("", "", ""), 1);
        ck_assert_int_eq(get("", "", &value), 1);
        ck_assert_uint_eq(value.len, 0);
        ck_assert_ptr_nonnull(value.data);
        struct torc_key key = key_of("");
        struct torc_slice field = torc_slice_str("");
        ck_assert_int_eq(torc_hash_get_many(ks, &key, &field, 1, &value), 0);
        ck_assert_ptr_nonnull(value.data);
        check();
        ck_assert_int_eq(del("", ""), 1);
        ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    }
}
END_TEST

START_TEST(parts_of_any_length_come_back_in_both_forms)
{
    static const size_t LENS[] = {0,    1,    107,   108,   127,   128,     191,
                                  192,  8383, 32767, 32768, 65535, 1048576};
    size_t n = sizeof(LENS) / sizeof(LENS[0]);
    uint8_t *part = bytes_of(1048576, 'p');
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < n; ++k) {
            for (uint32_t most = 0; most < 2; ++most) {
                struct torc_slice found;
                struct torc_slice name = torc_slice_of(part, LENS[(i + k) % n]);
                struct torc_key key = torc_keyspace_key(ks, name);
                struct torc_pair pair = {torc_slice_of(part, LENS[i]),
                                         torc_slice_of(part, LENS[k])};
                limits.compact_max_entries = most;
                ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
                ck_assert_int_eq(torc_hash_get(ks, &key, pair.field, &found), 1);
                ck_assert(torc_slice_equal(found, pair.value));
                bool compact = most == 1 && LENS[i] <= 32767 && LENS[k] <= 32767 &&
                               torc_compact_need(NULL, 1, LENS[i] + LENS[k] + 4) <= 65535;
                ck_assert_int_eq(torc_keyspace_encoding(ks, &key),
                                 compact ? TORC_ENCODING_COMPACT : TORC_ENCODING_FULL);
                if (i == k) {
                    check();
                }
                ck_assert(torc_keyspace_del(ks, &key));
            }
        }
    }
    free(part);
    settle();
    check();
}
END_TEST

START_TEST(of_pairs_with_one_field_the_last_wins_and_counts_once)
{
    struct torc_pair pairs[] = {
        {torc_slice_str("a"), torc_slice_str("1")},
        {torc_slice_str("b"), torc_slice_str("2")},
        {torc_slice_str("a"), torc_slice_str("333")},
    };
    struct torc_key key = key_of("h");
    for (int form = 0; form < 2; ++form) {
        limits.compact_max_entries = form == 0 ? 65535 : 0;
        ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 3), 2);
        expect("h", "a", "333");
        ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 3), 0);
        expect("h", "a", "333");
        struct torc_slice fields[] = {pairs[0].field, pairs[2].field, pairs[1].field};
        ck_assert_int_eq(torc_hash_del(ks, &key, fields, 3), 2);
        ck_assert_uint_eq(torc_keyspace_count(ks), 0);
        check();
    }
}
END_TEST

START_TEST(one_field_many_times_in_a_command_takes_no_more_than_once)
{
    enum { N = 600 };
    struct torc_pair pairs[N];
    struct torc_key key = key_of("h");
    for (int i = 0; i < N; ++i) {
        pairs[i] = (struct torc_pair){torc_slice_str("a"), torc_slice_str("1")};
    }
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, N), 1);
    ck_assert_int_eq(len("h"), 1);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_uint_le(usage("h"), 64);
    check();
}
END_TEST

struct order {
    unsigned n;
};

static void next_in_order(void *arg, const struct torc_pair *pair)
{
    struct order *order = arg;
    char field[16];
    (void)snprintf(field, sizeof(field), "f%u", order->n++);
    ck_assert(torc_slice_equal(pair->field, torc_slice_str(field)));
}

START_TEST(a_compact_hash_is_walked_in_the_order_of_insertion)
{
    struct torc_key key = key_of("h");
    struct order order = {0};
    uint64_t cursor = 1;
    for (unsigned i = 0; i < 200; ++i) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_eq(put_str("h", field, "v"), 1);
    }
    ck_assert_int_eq(torc_hash_each(ks, &key, next_in_order, &order), 0);
    ck_assert_uint_eq(order.n, 200);
    order.n = 0;
    ck_assert_int_eq(torc_hash_scan(ks, &key, 99, 1, next_in_order, &order, &cursor), 0);
    ck_assert_uint_eq(order.n, 200);
    ck_assert_uint_eq(cursor, 0);
}
END_TEST

START_TEST(a_key_that_holds_no_hash_is_left_alone)
{
    struct torc_key key = key_of("s");
    struct torc_slice field = torc_slice_str("f");
    struct torc_pair pair = {field, field};
    uint64_t ref;
    uint64_t cursor;
    /* No command makes a string yet. */
    ck_assert_int_eq(torc_record_alloc(arena, torc_stream_shared(arena),
                                       torc_record_key_head_bytes(1) + 1 + 5, &ref),
                     0);
    uint8_t *p = torc_record_write_key(torc_arena_at(arena, ref), TORC_RECORD_STRING, key.name);
    p += torc_record_len_put(p, 5);
    memset(p, 's', 5);
    ck_assert_int_eq(torc_keyspace_insert(ks, &key, ref), 0);
    check();
    ck_assert_int_eq(torc_keyspace_type(ks, &key), TORC_TYPE_STRING);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_NONE);
    ck_assert_uint_eq(torc_keyspace_usage(ks, &key), 9 + TORC_KEYSPACE_ENTRY_BYTES);
    ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), -EINVAL);
    ck_assert_int_eq(torc_hash_put(ks, &key, NULL, 0), -EINVAL);
    ck_assert_int_eq(torc_hash_get(ks, &key, field, &pair.value), -EINVAL);
    ck_assert_int_eq(torc_hash_get_many(ks, &key, &field, 1, &pair.value), -EINVAL);
    ck_assert_int_eq(torc_hash_del(ks, &key, &field, 1), -EINVAL);
    ck_assert_int_eq(torc_hash_len(ks, &key), -EINVAL);
    ck_assert_int_eq(torc_hash_each(ks, &key, NULL, NULL), -EINVAL);
    ck_assert_int_eq(torc_hash_scan(ks, &key, 0, 1, NULL, NULL, &cursor), -EINVAL);
    ck_assert_int_eq(torc_hash_random(ks, &key, 0, &pair), -EINVAL);
    check();
    ck_assert(torc_keyspace_del(ks, &key));
    check();
}
END_TEST

/* --- the way from compact to full --- */

/* `n` pairs of a 14-byte field and a 16-byte value. */
static void fill_pairs(struct torc_pair *pairs, char (*names)[24], unsigned n)
{
    for (unsigned i = 0; i < n; ++i) {
        (void)snprintf(names[i], sizeof(names[i]), "field:%08u", i);
        pairs[i] = (struct torc_pair){torc_slice_of(names[i], 14),
                                      torc_slice_of("v123456789abcdef", 16)};
    }
}

/* How many fields of 14 and 16 bytes fit a block. */
static unsigned most_compact(void)
{
    unsigned n = 1;
    while (torc_compact_need(NULL, n + 1, (size_t)(n + 1) * 32) <= TORC_COMPACT_MAX_BYTES) {
        ++n;
    }
    return n;
}

START_TEST(a_block_that_is_full_becomes_a_full_hash)
{
    enum { N = 2000 };
    static struct torc_pair pairs[N];
    static char names[N][24];
    unsigned most = most_compact();
    struct torc_key all = key_of("all at once");
    struct torc_key one = key_of("one by one");
    ck_assert_uint_gt(most, 1840);
    ck_assert_uint_lt(most, 1900);
    fill_pairs(pairs, names, most + 1);
    ck_assert_int_eq(torc_hash_put(ks, &all, pairs, most), most);
    ck_assert_int_eq(encoding("all at once"), TORC_ENCODING_COMPACT);
    for (unsigned i = 0; i < most; ++i) {
        ck_assert_int_eq(torc_hash_put(ks, &one, &pairs[i], 1), 1);
    }
    ck_assert_int_eq(encoding("one by one"), TORC_ENCODING_COMPACT);
    check();
    ck_assert_int_eq(torc_hash_put(ks, &all, &pairs[most], 1), 1);
    ck_assert_int_eq(torc_hash_put(ks, &one, &pairs[most], 1), 1);
    ck_assert_int_eq(encoding("all at once"), TORC_ENCODING_FULL);
    ck_assert_int_eq(encoding("one by one"), TORC_ENCODING_FULL);
    check();
    struct torc_key over = key_of("over");
    ck_assert_int_eq(torc_hash_put(ks, &over, pairs, most + 1), most + 1);
    ck_assert_int_eq(encoding("over"), TORC_ENCODING_FULL);
    for (unsigned i = 0; i <= most; ++i) {
        struct torc_slice value;
        ck_assert_int_eq(torc_hash_get(ks, &all, pairs[i].field, &value), 1);
        ck_assert(torc_slice_equal(value, pairs[i].value));
        ck_assert_int_eq(torc_hash_get(ks, &one, pairs[i].field, &value), 1);
        ck_assert_int_eq(torc_hash_get(ks, &over, pairs[i].field, &value), 1);
    }
    ck_assert_int_eq(len("one by one"), most + 1);
    check();
}
END_TEST

START_TEST(updates_of_a_full_block_need_no_room)
{
    enum { N = 2000 };
    static struct torc_pair pairs[N];
    static char names[N][24];
    unsigned most = most_compact();
    struct torc_key key = key_of("h");
    fill_pairs(pairs, names, most);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, most), most);
    for (unsigned i = 0; i < most; ++i) {
        pairs[i].value = torc_slice_of("another 16 bytes", 16);
    }
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, most), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    struct torc_slice value;
    ck_assert_int_eq(torc_hash_get(ks, &key, pairs[most - 1].field, &value), 1);
    ck_assert(torc_slice_equal(value, pairs[0].value));
    check();
}
END_TEST

START_TEST(the_number_of_fields_decides_after_the_command)
{
    limits.compact_max_entries = 16;
    for (unsigned i = 0; i < 16; ++i) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_eq(put_str("h", field, "v"), 1);
        ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    }
    ck_assert_int_eq(put_str("h", "f3", "w"), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put_str("h", "one more", "v"), 1);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    expect("h", "f3", "w");
    expect("h", "one more", "v");
    /* It keeps its form. */
    ck_assert_int_eq(del("h", "one more"), 1);
    ck_assert_int_eq(del("h", "f3"), 1);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    check();
}
END_TEST

START_TEST(several_pairs_that_pass_the_number_make_a_full_hash)
{
    static struct torc_pair pairs[20];
    static char names[20][24];
    struct torc_key key = key_of("h");
    limits.compact_max_entries = 16;
    fill_pairs(pairs, names, 20);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 12), 12);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 12), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs + 10, 10), 8);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    ck_assert_int_eq(len("h"), 20);
    check();
    /* More pairs in one command than the limit, though of few fields. */
    struct torc_key other = key_of("other");
    for (int i = 0; i < 17; ++i) {
        pairs[i].field = torc_slice_str("same");
    }
    ck_assert_int_eq(torc_hash_put(ks, &other, pairs, 17), 1);
    ck_assert_int_eq(encoding("other"), TORC_ENCODING_FULL);
}
END_TEST

START_TEST(a_lowered_limit_works_at_the_next_write)
{
    ck_assert_int_eq(put_str("h", "a", "1"), 1);
    ck_assert_int_eq(put_str("h", "b", "2"), 1);
    limits.compact_max_entries = 1;
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put_str("h", "a", "3"), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    expect("h", "a", "3");
    expect("h", "b", "2");
    check();
}
END_TEST

START_TEST(a_long_part_makes_a_full_hash)
{
    uint8_t *value = bytes_of(65, 'v');
    limits.compact_max_value = 64;
    ck_assert_int_eq(put("h", "f", torc_slice_of(value, 64)), 1);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put("h", "f", torc_slice_of(value, 65)), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    value[64] = 0;
    ck_assert_int_eq(put_str("g", "f", "v"), 1);
    ck_assert_int_eq(put_str("g", "a field of more than sixty-four bytes, which is too many for it",
                             "v"),
                     1);
    ck_assert_int_eq(encoding("g"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put_str("g", "a field of more than sixty-four bytes, which is too many for it.."
                                  ,
                             "v"),
                     1);
    ck_assert_int_eq(encoding("g"), TORC_ENCODING_FULL);
    check();
    free(value);
}
END_TEST

START_TEST(parts_above_the_limit_are_refused)
{
    uint8_t *value = bytes_of(1001, 'v');
    struct torc_key key = key_of("h");
    struct torc_pair pairs[] = {{torc_slice_str("a"), torc_slice_str("1")},
                                {torc_slice_str("b"), torc_slice_of(value, 1001)}};
    limits.max_part_bytes = 1000;
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 2), -EMSGSIZE);
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    pairs[1] = (struct torc_pair){torc_slice_of(value, 1001), torc_slice_str("1")};
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 2), -EMSGSIZE);
    key = torc_keyspace_key(ks, torc_slice_of(value, 1001));
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 1), -EMSGSIZE);
    key = torc_keyspace_key(ks, torc_slice_of(value, 1000));
    pairs[0].value = torc_slice_of(value, 1000);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 1), 1);
    check();
    free(value);
}
END_TEST

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
    struct torc_slice found;
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
    uint64_t index = torc_full_bytes(arena, torc_record_root(torc_arena_at(
                                                arena, torc_keyspace_find(ks, &(struct torc_key){
                                                           torc_slice_str("h"), key_of("h").hash}))));
    ck_assert_uint_eq(usage("h"), 8 + TORC_KEYSPACE_ENTRY_BYTES + index);
    ck_assert_uint_gt(usage("h"), torc_arena_used_by(arena, TORC_USE_EXTENT));
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 49 * TORC_PAGE_BYTES);
    /* A compact hash of which key and block together pass a segment's largest record. */
    uint8_t *name = bytes_of(50000, 'k');
    struct torc_key key = torc_keyspace_key(ks, torc_slice_of(name, 50000));
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_of(value, 30000)};
    ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_COMPACT);
    ck_assert_uint_eq(torc_keyspace_usage(ks, &key),
                      torc_arena_used_by(arena, TORC_USE_EXTENT) - 49ull * TORC_PAGE_BYTES +
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

/* --- keyspaces --- */

START_TEST(a_flush_forgets_everything_at_once)
{
    char name[16];
    limits.compact_max_entries = 3;
    for (unsigned round = 0; round < 4; ++round) {
        for (unsigned i = 0; i < 500; ++i) {
            (void)snprintf(name, sizeof(name), "h%u", i);
            for (char field = 'a'; field <= 'e'; ++field) {
                char text[2] = {field, 0};
                ck_assert_int_eq(put_str(name, text, "value"), 1);
            }
        }
        torc_arena_fail_after(arena, 1);
        torc_keyspace_flush(ks);
        torc_arena_fail_after(arena, 0);
        ck_assert_uint_eq(torc_keyspace_count(ks), 0);
        expect_none("h7", "a");
        check();
        /* The next round comes while the last one is still being freed. */
        for (unsigned i = 0; i < 10; ++i) {
            ck_assert(torc_keyspace_maintain(ks, 20));
            check();
        }
    }
    settle();
    ck_assert_uint_eq(torc_arena_used(arena), ROOT_BYTES);
    torc_keyspace_flush(ks);
    ck_assert(!torc_keyspace_settle(ks, 1));
    ck_assert_uint_eq(torc_arena_used(arena), ROOT_BYTES);
    check();
}
END_TEST

START_TEST(a_flush_leaves_other_databases_alone)
{
    struct torc_keyspace *other;
    ck_assert_int_eq(torc_keyspace_open(arena, 5, &limits, &other), 0);
    struct torc_key key = torc_keyspace_key(other, torc_slice_str("h"));
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_str("other")};
    struct torc_slice value;
    ck_assert_int_eq(torc_hash_put(other, &key, &pair, 1), 1);
    ck_assert_int_eq(put_str("h", "f", "mine"), 1);
    expect("h", "f", "mine");
    torc_keyspace_flush(ks);
    settle();
    expect_none("h", "f");
    ck_assert_int_eq(torc_hash_get(other, &key, pair.field, &value), 1);
    ck_assert(torc_slice_equal(value, pair.value));
    check();
    torc_keyspace_close(other);
}
END_TEST

START_TEST(a_handle_can_be_made_again)
{
    ck_assert_int_eq(put_str("h", "f", "v"), 1);
    torc_keyspace_close(ks);
    ck_assert_int_eq(torc_keyspace_open(arena, 0, &limits, &ks), 0);
    expect("h", "f", "v");
    torc_keyspace_flush(ks);
    torc_keyspace_close(ks);
    ck_assert_int_eq(torc_keyspace_open(arena, 0, &limits, &ks), 0);
    expect_none("h", "f");
    settle();
    ck_assert_uint_eq(torc_arena_used(arena), ROOT_BYTES);
}
END_TEST

START_TEST(opening_refuses_what_it_must)
{
    struct torc_keyspace *other = NULL;
    ck_assert_int_eq(torc_keyspace_open(arena, TORC_ARENA_DATABASES, &limits, &other), -EINVAL);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_keyspace_open(arena, 1, &limits, &other), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_eq(torc_arena_root(arena, 1), TORC_REF_NONE);
    torc_arena_set_root(arena, 1, TORC_PAGE_BYTES);
    ck_assert_int_eq(torc_keyspace_open(arena, 1, &limits, &other), -EBADMSG);
    torc_arena_set_root(arena, 1, TORC_REF_NONE);
    ck_assert_ptr_null(other);
    torc_keyspace_close(NULL);
}
END_TEST

START_TEST(a_large_hash_is_unlinked_at_once_and_freed_in_steps)
{
    struct torc_key key = key_of("h");
    unsigned steps = 0;
    limits.compact_max_entries = 0;
    for (uint32_t i = 0; i < 20000; ++i) {
        struct torc_pair pair = {torc_slice_of(&i, 4), torc_slice_str("a value of a few bytes")};
        ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    }
    uint64_t used = torc_arena_used(arena);
    ck_assert(torc_keyspace_del(ks, &key));
    ck_assert_int_eq(len("h"), 0);
    ck_assert_uint_gt(torc_arena_used(arena), used / 2);
    check();
    while (torc_keyspace_settle(ks, 50)) {
        if (++steps % 16 == 0) {
            check();
        }
    }
    ck_assert_uint_gt(steps, 20);
    ck_assert_uint_eq(torc_arena_used(arena), 2 * ROOT_BYTES); /* and the spare one */
    check();
}
END_TEST

struct seen {
    uint8_t *keys;
};

static void see_key(void *arg, struct torc_slice key, enum torc_type type)
{
    struct seen *seen = arg;
    ck_assert_int_eq(type, TORC_TYPE_HASH);
    ck_assert_uint_eq(key.len, 4);
    seen->keys[torc_load_u32(key.data)] = 1;
}

START_TEST(a_scan_sees_every_key_that_stays)
{
    enum { N = 3000 };
    static uint8_t keys[N];
    struct seen seen = {keys};
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_str("v")};
    uint64_t cursor = 0;
    uint32_t gone = 1;
    for (uint32_t i = 0; i < N; ++i) {
        struct torc_key key = torc_keyspace_key(ks, torc_slice_of(&i, 4));
        ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    }
    do {
        cursor = torc_keyspace_scan(ks, cursor, 3, see_key, &seen);
        for (int i = 0; i < 20 && gone < N; ++i, gone += 2) {
            struct torc_key key = torc_keyspace_key(ks, torc_slice_of(&gone, 4));
            ck_assert(torc_keyspace_del(ks, &key));
        }
        (void)torc_keyspace_maintain(ks, 10);
    } while (cursor != 0);
    for (uint32_t i = 0; i < N; i += 2) {
        ck_assert_msg(keys[i] != 0, "key %u was not returned", i);
    }
}
END_TEST

START_TEST(every_key_is_drawn_at_random)
{
    static const char *NAMES[] = {"a", "b", "c", "d", "e", "f"};
    uint8_t seen[6] = {0};
    unsigned n = 0;
    for (int i = 0; i < 6; ++i) {
        ck_assert_int_eq(put_str(NAMES[i], "f", "v"), 1);
    }
    for (uint64_t i = 0; i < 1000 && n < 6; ++i) {
        struct torc_slice key = torc_keyspace_random(ks, i * 0x9e3779b97f4a7c15ull);
        n += seen[key.data[0] - 'a'] == 0;
        seen[key.data[0] - 'a'] = 1;
    }
    ck_assert_uint_eq(n, 6);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("keyspace");
    TCase *tcase = add_case(suite, "hashes");
    tcase_add_test(tcase, a_missing_key_reads_as_an_empty_hash);
    tcase_add_test(tcase, a_hash_lives_with_its_fields);
    tcase_add_test(tcase, a_put_of_nothing_makes_no_key);
    tcase_add_test(tcase, empty_names_and_values_are_legal);
    tcase_add_test(tcase, parts_of_any_length_come_back_in_both_forms);
    tcase_add_test(tcase, of_pairs_with_one_field_the_last_wins_and_counts_once);
    tcase_add_test(tcase, one_field_many_times_in_a_command_takes_no_more_than_once);
    tcase_add_test(tcase, a_compact_hash_is_walked_in_the_order_of_insertion);
    tcase_add_test(tcase, a_key_that_holds_no_hash_is_left_alone);
    tcase = add_case(suite, "forms");
    tcase_add_test(tcase, a_block_that_is_full_becomes_a_full_hash);
    tcase_add_test(tcase, updates_of_a_full_block_need_no_room);
    tcase_add_test(tcase, the_number_of_fields_decides_after_the_command);
    tcase_add_test(tcase, several_pairs_that_pass_the_number_make_a_full_hash);
    tcase_add_test(tcase, a_lowered_limit_works_at_the_next_write);
    tcase_add_test(tcase, a_long_part_makes_a_full_hash);
    tcase_add_test(tcase, parts_above_the_limit_are_refused);
    tcase = add_case(suite, "memory");
    tcase_add_test(tcase, without_memory_a_put_changes_nothing);
    tcase_add_test(tcase, at_the_memory_limit_reads_and_deletes_work);
    tcase_add_test(tcase, usage_is_true_to_the_byte);
    tcase_add_test(tcase, usage_counts_extents_with_their_pages);
    tcase_add_test(tcase, a_hash_that_loses_most_fields_gives_back_its_room);
    tcase = add_case(suite, "keyspaces");
    tcase_add_test(tcase, a_flush_forgets_everything_at_once);
    tcase_add_test(tcase, a_flush_leaves_other_databases_alone);
    tcase_add_test(tcase, a_handle_can_be_made_again);
    tcase_add_test(tcase, opening_refuses_what_it_must);
    tcase_add_test(tcase, a_large_hash_is_unlinked_at_once_and_freed_in_steps);
    tcase_add_test(tcase, a_scan_sees_every_key_that_stays);
    tcase_add_test(tcase, every_key_is_drawn_at_random);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
