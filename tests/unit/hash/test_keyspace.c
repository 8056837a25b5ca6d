/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/hash/keyspace_fixture.h"

/* --- what users see --- */

START_TEST(a_missing_key_reads_as_an_empty_hash)
{
    struct torc_key key = key_of("none");
    struct torc_slice fields[] = {torc_slice_str("a"), torc_slice_str("b")};
    struct torc_value values[] = {{.text = fields[0]}, {.text = fields[1]}};
    struct torc_pair_room room;
    struct torc_pair pair;
    uint64_t cursor = 7;
    expect_none("none", "a");
    ck_assert_int_eq(len("none"), 0);
    ck_assert_int_eq(torc_hash_get_many(ks, &key, fields, 2, values), 2);
    ck_assert_ptr_null(values[0].text.data);
    ck_assert_ptr_null(values[1].text.data);
    ck_assert_int_eq(torc_hash_del(ks, &key, fields, 2), 0);
    ck_assert_int_eq(torc_hash_each(ks, &key, TORC_PAIRS, NULL, NULL), 0);
    ck_assert_int_eq(torc_hash_scan(ks, &key, 5, 10, TORC_PAIRS, NULL, NULL, &cursor), 0);
    ck_assert_uint_eq(cursor, 0);
    ck_assert_int_eq(torc_hash_random(ks, &key, 1, TORC_PAIRS, &room, &pair), 0);
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

START_TEST(a_field_is_put_if_absent_and_left_alone_if_not)
{
    struct torc_key key = key_of("h");
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_str("v")};
    struct torc_pair other = {torc_slice_str("f"), torc_slice_str("other")};
    for (int form = 0; form < 2; ++form) {
        limits.compact_max_entries = form == 0 ? 65535 : 0;
        ck_assert_int_eq(torc_hash_put_absent(ks, &key, &pair), 1);
        ck_assert_int_eq(torc_hash_put_absent(ks, &key, &other), 0);
        expect("h", "f", "v");
        limits.max_part_bytes = 3;
        other.field = torc_slice_str("long name");
        ck_assert_int_eq(torc_hash_put_absent(ks, &key, &other), -EMSGSIZE);
        ck_assert_int_eq(len("h"), 1);
        limits.max_part_bytes = 512 * TORC_MIB;
        other.field = torc_slice_str("f");
        check();
        ck_assert_int_eq(del("h", "f"), 1);
    }
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
    struct torc_value value;
    for (int form = 0; form < 2; ++form) {
        limits.compact_max_entries = form == 0 ? 65535 : 0;
        ck_assert_int_eq(put_str("", "", ""), 1);
        ck_assert_int_eq(get("", "", &value), 1);
        ck_assert_uint_eq(value.text.len, 0);
        ck_assert_ptr_nonnull(value.text.data);
        struct torc_key key = key_of("");
        struct torc_slice field = torc_slice_str("");
        ck_assert_int_eq(torc_hash_get_many(ks, &key, &field, 1, &value), 1);
        ck_assert_ptr_nonnull(value.text.data);
        check();
        ck_assert_int_eq(del("", ""), 1);
        ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    }
}
END_TEST

START_TEST(parts_of_any_length_come_back_in_both_forms)
{
    static const size_t lens[] = {0,   1,    107,   108,   127,   128,    191,
                                  192, 8383, 32767, 32768, 65535, 1048576};
    size_t n = sizeof(lens) / sizeof(lens[0]);
    uint8_t *part = bytes_of(1048576, 'p');
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < n; ++k) {
            for (uint32_t most = 0; most < 2; ++most) {
                struct torc_value found;
                struct torc_slice name = torc_slice_of(part, lens[(i + k) % n]);
                struct torc_key key = torc_keyspace_key(ks, name);
                struct torc_pair pair = {torc_slice_of(part, lens[i]),
                                         torc_slice_of(part, lens[k])};
                limits.compact_max_entries = most;
                ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
                ck_assert_int_eq(torc_hash_get(ks, &key, pair.field, &found), 1);
                ck_assert(torc_slice_equal(found.text, pair.value));
                bool compact = most == 1 && lens[i] <= 32767 && lens[k] <= 32767 &&
                               torc_compact_need(NULL, 1, lens[i] + lens[k] + 4) <= 65535;
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
    ck_assert_int_eq(torc_hash_each(ks, &key, TORC_PAIRS, next_in_order, &order), 0);
    ck_assert_uint_eq(order.n, 200);
    order.n = 0;
    ck_assert_int_eq(torc_hash_scan(ks, &key, 99, 1, TORC_PAIRS, next_in_order, &order, &cursor),
                     0);
    ck_assert_uint_eq(order.n, 200);
    ck_assert_uint_eq(cursor, 0);
}
END_TEST

START_TEST(a_key_that_holds_no_hash_is_left_alone)
{
    struct torc_key key = key_of("s");
    struct torc_slice field = torc_slice_str("f");
    struct torc_pair pair = {field, field};
    struct torc_pair_room room;
    struct torc_value value;
    uint64_t ref;
    uint64_t cursor;
    /* No command makes a string yet. */
    ck_assert_int_eq(torc_record_alloc(arena, torc_stream_shared(arena),
                                       torc_record_key_head_bytes(1, false) + 1 + 5, &ref),
                     0);
    uint8_t *p = torc_record_write_key(torc_arena_at(arena, ref), TORC_RECORD_STRING,
                                       TORC_EXPIRY_NONE, key.name);
    p += torc_record_len_put(p, 5);
    memset(p, 's', 5);
    ck_assert_int_eq(torc_keyspace_insert(ks, &key, ref), 0);
    check();
    ck_assert_int_eq(torc_keyspace_type(ks, &key), TORC_TYPE_STRING);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_NONE);
    ck_assert_uint_eq(torc_keyspace_usage(ks, &key), 9 + TORC_KEYSPACE_ENTRY_BYTES);
    ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), -EINVAL);
    ck_assert_int_eq(torc_hash_put(ks, &key, NULL, 0), -EINVAL);
    ck_assert_int_eq(torc_hash_get(ks, &key, field, &value), -EINVAL);
    ck_assert_int_eq(torc_hash_get_many(ks, &key, &field, 1, &value), -EINVAL);
    ck_assert_int_eq(torc_hash_del(ks, &key, &field, 1), -EINVAL);
    ck_assert_int_eq(torc_hash_len(ks, &key), -EINVAL);
    ck_assert_int_eq(torc_hash_each(ks, &key, TORC_PAIRS, NULL, NULL), -EINVAL);
    ck_assert_int_eq(torc_hash_scan(ks, &key, 0, 1, TORC_PAIRS, NULL, NULL, &cursor), -EINVAL);
    ck_assert_int_eq(torc_hash_random(ks, &key, 0, TORC_PAIRS, &room, &pair), -EINVAL);
    ck_assert_int_eq(torc_hash_random_many(ks, &key, &cursor, 1, TORC_PAIRS, NULL, NULL), -EINVAL);
    check();
    ck_assert(torc_keyspace_del(ks, &key));
    check();
}
END_TEST

/* --- the way from compact to full --- */

/* How many fields of 14 and 16 bytes fit a block that has their lengths once. */
static unsigned most_compact(void)
{
    unsigned n = 1;
    while (torc_compact_need(NULL, n + 1, (size_t)(n + 1) * 31 + 2) <= TORC_COMPACT_MAX_BYTES) {
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
    ck_assert_uint_eq(most, 1923);
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
        struct torc_value value;
        ck_assert_int_eq(torc_hash_get(ks, &all, pairs[i].field, &value), 1);
        ck_assert(torc_slice_equal(value.text, pairs[i].value));
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
    struct torc_value value;
    ck_assert_int_eq(torc_hash_get(ks, &key, pairs[most - 1].field, &value), 1);
    ck_assert(torc_slice_equal(value.text, pairs[0].value));
    check();
}
END_TEST

START_TEST(pairs_that_fit_the_slack_are_written_in_place)
{
    struct torc_pair pairs[] = {{torc_slice_str("a"), torc_slice_str("1")},
                                {torc_slice_str("b"), torc_slice_str("2")},
                                {torc_slice_str("f3"), torc_slice_str("another")}};
    struct torc_key key = key_of("h");
    for (unsigned i = 0; i < 100; ++i) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_eq(put_str("h", field, "some value"), 1);
    }
    /* Make it grow, so that there is room for the next ones. */
    uint64_t before = usage("h");
    for (unsigned i = 100; usage("h") == before; ++i) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_eq(put_str("h", field, "some value"), 1);
    }
    uint64_t ref = torc_keyspace_find(ks, &key);
    torc_arena_fail_after(arena, 1); /* which takes no memory */
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 3), 2);
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_eq(torc_keyspace_find(ks, &key), ref);
    expect("h", "b", "2");
    expect("h", "f3", "another");
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
    ck_assert_int_eq(
        put_str("g", "a field of more than sixty-four bytes, which is too many for it", "v"), 1);
    ck_assert_int_eq(encoding("g"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(
        put_str("g", "a field of more than sixty-four bytes, which is too many for it..", "v"), 1);
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

/* --- keyspaces --- */

START_TEST(a_flush_forgets_everything_at_once)
{
    char name[16];
    limits.compact_max_entries = 3;
    for (unsigned round = 0; round < 4; ++round) {
        for (unsigned i = 0; i < 500; ++i) {
            (void)snprintf(name, sizeof(name), "h%u", i);
            for (int field = 0; field < 5; ++field) {
                char text[2] = {(char)('a' + field), 0};
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
    ck_assert(!torc_keyspace_settle(ks, false, 1));
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
    struct torc_value value;
    ck_assert_int_eq(torc_hash_put(other, &key, &pair, 1), 1);
    ck_assert_int_eq(put_str("h", "f", "mine"), 1);
    expect("h", "f", "mine");
    torc_keyspace_flush(ks);
    settle();
    expect_none("h", "f");
    ck_assert_int_eq(torc_hash_get(other, &key, pair.field, &value), 1);
    ck_assert(torc_slice_equal(value.text, pair.value));
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
    while (torc_keyspace_settle(ks, false, 50)) {
        if (++steps % 16 == 0) {
            check();
        }
    }
    ck_assert_uint_gt(steps, 20);
    ck_assert_uint_eq(torc_arena_used(arena), 2ull * ROOT_BYTES); /* and the spare one */
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
    static const char *names[] = {"a", "b", "c", "d", "e", "f"};
    uint8_t seen[6] = {0};
    unsigned n = 0;
    for (int i = 0; i < 6; ++i) {
        ck_assert_int_eq(put_str(names[i], "f", "v"), 1);
    }
    for (uint64_t i = 0; i < 1000 && n < 6; ++i) {
        struct torc_slice key = torc_keyspace_random(ks, i * 0x9e3779b97f4a7c15ull);
        n += seen[key.data[0] - 'a'] == 0;
        seen[key.data[0] - 'a'] = 1;
    }
    ck_assert_uint_eq(n, 6);
}
END_TEST

struct shown {
    char texts[TORC_RANDOM_BATCH][64];
    unsigned n;
};

static void note_shown(void *arg, const struct torc_pair *pair)
{
    struct shown *shown = arg;
    ck_assert_uint_lt(shown->n, TORC_RANDOM_BATCH);
    ck_assert_uint_lt(pair->field.len + pair->value.len, 63);
    char *text = shown->texts[shown->n++];
    memset(text, 0, sizeof shown->texts[0]);
    memcpy(text, pair->field.data, pair->field.len);
    text[pair->field.len] = '=';
    memcpy(text + pair->field.len + 1, pair->value.data, pair->value.len);
}

START_TEST(many_random_fields_are_those_of_single_choices)
{
    enum { N = 500 };
    struct torc_key key = key_of("h");
    uint64_t bits[TORC_RANDOM_BATCH];
    for (unsigned form = 0; form < 2; form++) {
        limits.compact_max_entries = form == 0 ? 65535 : 0;
        ck_assert_int_eq(torc_hash_random_many(ks, &key, bits, 1, TORC_PAIRS, NULL, NULL), 0);
        for (unsigned i = 0; i < N; i++) {
            char field[16];
            char value[16];
            (void)snprintf(field, sizeof field, "f%u", i);
            (void)snprintf(value, sizeof value, "value-%u", i * i);
            ck_assert_int_eq(put_str("h", field, value), 1);
        }
        for (unsigned n = 1; n <= TORC_RANDOM_BATCH; n++) {
            struct shown many = {.n = 0};
            for (unsigned i = 0; i < n; i++) {
                bits[i] = (n * TORC_RANDOM_BATCH + i) * 0x9e3779b97f4a7c15ull;
            }
            ck_assert_int_eq(
                torc_hash_random_many(ks, &key, bits, n, TORC_PAIRS, note_shown, &many), 1);
            ck_assert_uint_eq(many.n, n);
            for (unsigned i = 0; i < n; i++) {
                struct shown one = {.n = 0};
                struct torc_pair_room room;
                struct torc_pair pair;
                ck_assert_int_eq(torc_hash_random(ks, &key, bits[i], TORC_PAIRS, &room, &pair), 1);
                note_shown(&one, &pair);
                ck_assert_str_eq(one.texts[0], many.texts[i]);
            }
        }
        ck_assert(torc_keyspace_del(ks, &key));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace");
    TCase *tcase = add_case(suite, "hashes");
    tcase_add_test(tcase, a_missing_key_reads_as_an_empty_hash);
    tcase_add_test(tcase, a_hash_lives_with_its_fields);
    tcase_add_test(tcase, a_field_is_put_if_absent_and_left_alone_if_not);
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
    tcase_add_test(tcase, pairs_that_fit_the_slack_are_written_in_place);
    tcase_add_test(tcase, the_number_of_fields_decides_after_the_command);
    tcase_add_test(tcase, several_pairs_that_pass_the_number_make_a_full_hash);
    tcase_add_test(tcase, a_lowered_limit_works_at_the_next_write);
    tcase_add_test(tcase, a_long_part_makes_a_full_hash);
    tcase_add_test(tcase, parts_above_the_limit_are_refused);
    tcase = add_case(suite, "keyspaces");
    tcase_add_test(tcase, a_flush_forgets_everything_at_once);
    tcase_add_test(tcase, a_flush_leaves_other_databases_alone);
    tcase_add_test(tcase, a_handle_can_be_made_again);
    tcase_add_test(tcase, opening_refuses_what_it_must);
    tcase_add_test(tcase, a_large_hash_is_unlinked_at_once_and_freed_in_steps);
    tcase_add_test(tcase, a_scan_sees_every_key_that_stays);
    tcase_add_test(tcase, every_key_is_drawn_at_random);
    tcase_add_test(tcase, many_random_fields_are_those_of_single_choices);
    return run_suite(suite);
}
