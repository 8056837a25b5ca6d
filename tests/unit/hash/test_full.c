/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/full.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"

#define ROOT_BYTES (1u << TORC_FULL_ROOT_LOG2)
/* Fields of 100-byte values, 112 bytes each with the owner, that are just not enough for segments
 * of its own; and clearly enough. */
#define NOT_LARGE (TORC_FULL_OWN_STREAM_BYTES / 115)
#define LARGE     (TORC_FULL_OWN_STREAM_BYTES / 50)

static const struct torc_full_put_options plain = {0};
static const struct torc_full_put_options verbatim = {.verbatim = true};
static struct torc_arena *arena;
static uint64_t root;

static void setup(void)
{
    arena = torc_test_arena(256 * TORC_MIB, 77);
    ck_assert_int_eq(torc_full_create(arena, &root), 0);
}

static void teardown(void)
{
    torc_full_destroy(arena, root);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_uint_eq(torc_stream_shared(arena)->live, 0);
    torc_arena_destroy(arena);
}

static void check(void)
{
    const char *why = "";
    ck_assert_msg(torc_full_check(arena, root, &why) == 0, "%s", why);
    ck_assert_msg(torc_arena_check(arena, &why) == 0, "%s", why);
}

static uint64_t hash_of(struct torc_slice field)
{
    return torc_hash_slice(torc_arena_seed(arena), field);
}

static int64_t put(const char *field, struct torc_slice value)
{
    struct torc_pair pair = {.field = torc_slice_str(field), .value = value};
    return torc_full_put(arena, root, &pair, 1, &plain);
}

static bool get(const char *field, struct torc_value *out_value)
{
    struct torc_slice name = torc_slice_str(field);
    return torc_full_find(arena, root, hash_of(name), name, 0, out_value);
}

static int del(const char *field)
{
    struct torc_slice name = torc_slice_str(field);
    return torc_full_del(arena, root, hash_of(name), name, 0);
}

static void expect(const char *field, const char *value)
{
    struct torc_value found;
    ck_assert_msg(get(field, &found), "%s is missing", field);
    ck_assert(torc_slice_equal(found.text, torc_slice_str(value)));
}

static uint8_t *bytes_of(size_t len, int byte)
{
    uint8_t *data = malloc(len + 1);
    ck_assert_ptr_nonnull(data);
    memset(data, byte, len);
    return data;
}

/* `n` fields f0 .. with values of `value_len` bytes. */
static void fill(unsigned n, size_t value_len)
{
    uint8_t *value = bytes_of(value_len, 'v');
    for (unsigned i = 0; i < n; ++i) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_ge(put(field, torc_slice_of(value, value_len)), 0);
    }
    free(value);
}

START_TEST(an_empty_hash_has_nothing)
{
    struct torc_value value;
    struct torc_pair_room room;
    struct torc_pair pair;
    ck_assert_uint_eq(torc_full_count(arena, root), 0);
    ck_assert(!get("f", &value));
    ck_assert_int_eq(del("f"), 0);
    ck_assert(!torc_full_random(arena, root, 5, NULL, &room, &pair));
    ck_assert_uint_eq(torc_full_bytes(arena, root), ROOT_BYTES);
    check();
}
END_TEST

START_TEST(fields_and_values_of_any_length_come_back)
{
    static const size_t lens[] = {0,    1,    127,   128,   191,   192,
                                  8383, 8384, 32767, 32768, 65535, 1048576};
    size_t n = sizeof(lens) / sizeof(lens[0]);
    uint8_t *field = bytes_of(1048576, 'f');
    uint8_t *value = bytes_of(1048576, 'v');
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < n; ++k) {
            struct torc_pair pair = {torc_slice_of(field, lens[i]), torc_slice_of(value, lens[k])};
            struct torc_value found;
            ck_assert_int_eq(torc_full_put(arena, root, &pair, 1, &plain), k == 0);
            ck_assert(torc_full_find(arena, root, hash_of(pair.field), pair.field, 0, &found));
            ck_assert(torc_slice_equal(found.text, pair.value));
            ck_assert_ptr_nonnull(found.text.data);
        }
        check();
    }
    ck_assert_uint_eq(torc_full_count(arena, root), n);
    free(field);
    free(value);
}
END_TEST

START_TEST(a_value_of_equal_length_is_written_in_place)
{
    struct torc_value before;
    struct torc_value after;
    ck_assert_int_eq(put("f", torc_slice_str("one")), 1);
    ck_assert(get("f", &before));
    ck_assert_int_eq(put("f", torc_slice_str("two")), 0);
    ck_assert(get("f", &after));
    ck_assert_ptr_eq(before.text.data, after.text.data);
    expect("f", "two");
    ck_assert_uint_eq(torc_stream_shared(arena)->dead, 0);
    check();
}
END_TEST

START_TEST(a_value_of_another_length_makes_the_old_record_dead)
{
    uint64_t bytes = torc_record_field_bytes(true, false, 1, 3);
    ck_assert_int_eq(put("f", torc_slice_str("one")), 1);
    ck_assert_int_eq(put("g", torc_slice_str("other")), 1);
    ck_assert_int_eq(put("f", torc_slice_str("three")), 0);
    expect("f", "three");
    expect("g", "other");
    ck_assert_uint_eq(torc_stream_shared(arena)->dead, bytes);
    check();
}
END_TEST

/* The record of a field. */
static uint8_t *record_of(const char *field)
{
    struct torc_slice name = torc_slice_str(field);
    uint64_t ref = torc_table_find(arena, &torc_full_at(arena, root)->table, hash_of(name), name);
    ck_assert_uint_ne(ref, TORC_REF_NONE);
    return torc_arena_at(arena, ref);
}

START_TEST(values_are_kept_in_their_form_and_read_as_text)
{
    static const struct {
        const char *text;
        uint8_t form;
        size_t bytes;
    } rows[] = {
        {"7", TORC_FORM_RAW, 1},
        {"10", TORC_FORM_NATURAL, 1},
        {"010", TORC_FORM_RAW, 3},
        {"-65536", TORC_FORM_NEGATIVE + 1, 2},
        {"18446744073709551615", TORC_FORM_NATURAL + 7, 8},
        {"18446744073709551616", TORC_FORM_RAW, 20},
        {"123e4567-e89b-12d3-a456-426614174000", TORC_FORM_UUID, 16},
        {"123E4567-E89B-12D3-A456-426614174000", TORC_FORM_RAW, 36},
        {"123e4567e89b12d3a456426614174000", TORC_FORM_UUID_BARE, 16},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        struct torc_part value;
        ck_assert_int_eq(put("1000", torc_slice_str(rows[i].text)), i == 0);
        struct torc_slice name = torc_record_field(record_of("1000"), &value);
        ck_assert(torc_slice_equal(name, torc_slice_str("1000")));
        ck_assert_uint_eq(value.form, rows[i].form);
        ck_assert_uint_eq(value.bytes.len, rows[i].bytes);
        expect("1000", rows[i].text);
        ck_assert_uint_eq(torc_full_at(arena, root)->record_bytes,
                          torc_record_field_bytes(true, false, 4, rows[i].bytes));
        check();
    }
}
END_TEST

START_TEST(a_value_of_another_form_and_as_many_bytes_is_written_in_place)
{
    static const char *const rows[] = {"1000", "ab", "-1000", "02", "65535", "-257"};
    ck_assert_int_eq(put("f", torc_slice_str("zz")), 1);
    const uint8_t *record = record_of("f");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        ck_assert_int_eq(put("f", torc_slice_str(rows[i])), 0);
        ck_assert_ptr_eq(record_of("f"), record);
        expect("f", rows[i]);
        check();
    }
    ck_assert_uint_eq(torc_stream_shared(arena)->dead, 0);
}
END_TEST

START_TEST(verbatim_values_live_beside_those_that_are_encoded)
{
    struct torc_part stored;
    struct torc_pair pairs[] = {
        {torc_slice_str("a"), torc_slice_str("1234567890")},
        {torc_slice_str("b"), torc_slice_str("1234567890")},
    };
    ck_assert_int_eq(torc_full_put(arena, root, &pairs[0], 1, &plain), 1);
    ck_assert_int_eq(torc_full_put(arena, root, &pairs[1], 1, &verbatim), 1);
    (void)torc_record_field(record_of("a"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_NATURAL + 3);
    (void)torc_record_field(record_of("b"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_RAW);
    expect("a", "1234567890");
    expect("b", "1234567890");
    check();
    /* And each the other way round. */
    ck_assert_int_eq(torc_full_put(arena, root, &pairs[0], 1, &verbatim), 0);
    ck_assert_int_eq(torc_full_put(arena, root, &pairs[1], 1, &plain), 0);
    (void)torc_record_field(record_of("a"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_RAW);
    (void)torc_record_field(record_of("b"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_NATURAL + 3);
    expect("a", "1234567890");
    expect("b", "1234567890");
    check();
}
END_TEST

START_TEST(a_moved_value_keeps_its_form)
{
    struct torc_part stored;
    struct torc_slice name = torc_slice_str("f");
    ck_assert_int_eq(put("f", torc_slice_str("4000000000")), 1);
    uint64_t ref = torc_table_find(arena, &torc_full_at(arena, root)->table, hash_of(name), name);
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    (void)torc_record_field(record_of("f"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_NATURAL + 3);
    expect("f", "4000000000");
    check();
    /* To segments of its own: the record is written anew. */
    fill(LARGE, 100);
    ref = torc_table_find(arena, &torc_full_at(arena, root)->table, hash_of(name), name);
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ck_assert_int_eq(torc_record_type(record_of("f")), TORC_RECORD_FIELD);
    (void)torc_record_field(record_of("f"), &stored);
    ck_assert_uint_eq(stored.form, TORC_FORM_NATURAL + 3);
    expect("f", "4000000000");
    check();
}
END_TEST

START_TEST(of_pairs_with_one_field_the_last_wins_and_counts_once)
{
    struct torc_pair pairs[] = {
        {torc_slice_str("a"), torc_slice_str("1")},   {torc_slice_str("b"), torc_slice_str("2")},
        {torc_slice_str("a"), torc_slice_str("333")}, {torc_slice_str("c"), torc_slice_str("4")},
        {torc_slice_str("a"), torc_slice_str("5")},
    };
    ck_assert_int_eq(torc_full_put(arena, root, pairs, 5, &plain), 3);
    expect("a", "5");
    ck_assert_int_eq(torc_full_put(arena, root, pairs, 4, &plain), 0);
    expect("a", "333");
    /* In place is what the first of these would do, and what the last one must not. */
    ck_assert_int_eq(torc_full_put(arena, root, pairs, 5, &plain), 0);
    expect("a", "5");
    expect("b", "2");
    check();
}
END_TEST

START_TEST(a_set_of_many_pairs_is_all_or_nothing)
{
    enum { N = 100 };
    struct torc_pair pairs[N];
    char fields[N][8];
    for (int i = 0; i < N; ++i) {
        (void)snprintf(fields[i], sizeof(fields[i]), "f%d", i % 90);
        pairs[i] = (struct torc_pair){torc_slice_str(fields[i]), torc_slice_str("a new value")};
    }
    for (int i = 0; i < 40; ++i) {
        ck_assert_int_eq(put(fields[i], torc_slice_str(i % 2 ? "an old one!" : "old")), 1);
    }
    uint64_t bytes = torc_full_bytes(arena, root);
    uint64_t roots = torc_arena_used_by(arena, TORC_USE_ROOT);
    uint64_t n = 0;
    int64_t created;
    do {
        torc_arena_fail_after(arena, ++n);
        created = torc_full_put(arena, root, pairs, N, &plain);
        torc_arena_fail_after(arena, 0);
        check();
        if (created < 0) {
            ck_assert_int_eq(created, -ENOSPC);
            ck_assert_uint_eq(torc_full_count(arena, root), 40);
            ck_assert_uint_eq(torc_full_bytes(arena, root), bytes);
            ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), roots);
            expect("f0", "old");
            expect("f1", "an old one!");
        }
    } while (created < 0);
    ck_assert_int_eq(created, 50);
    ck_assert_uint_gt(n, 70); /* it did fail at each of the records */
    expect("f0", "a new value");
    expect("f89", "a new value");
}
END_TEST

START_TEST(a_deleted_field_is_gone)
{
    struct torc_value value;
    fill(50, 20);
    for (unsigned i = 0; i < 50; i += 2) {
        char field[16];
        (void)snprintf(field, sizeof(field), "f%u", i);
        ck_assert_int_eq(del(field), 1);
        ck_assert_int_eq(del(field), 0);
        ck_assert(!get(field, &value));
        check();
    }
    ck_assert_uint_eq(torc_full_count(arena, root), 25);
}
END_TEST

START_TEST(a_large_hash_gets_segments_of_its_own)
{
    const struct torc_full *full = torc_full_at(arena, root);
    fill(NOT_LARGE, 100);
    ck_assert_uint_eq(full->stream.live, 0);
    ck_assert(!torc_full_is_large(full));
    uint64_t shared = torc_stream_shared(arena)->live;
    ck_assert_uint_eq(shared, full->record_bytes);
    fill(LARGE, 100);
    ck_assert(torc_full_is_large(full));
    ck_assert_uint_gt(full->stream.live, TORC_FULL_OWN_STREAM_BYTES / 2);
    ck_assert_uint_eq(torc_stream_shared(arena)->live, full->record_bytes - full->stream.live);
    check();
    ck_assert_uint_eq(torc_full_bytes(arena, root),
                      ROOT_BYTES + torc_arena_used_by(arena, TORC_USE_INDEX) + full->record_bytes);
}
END_TEST

START_TEST(one_set_of_many_bytes_uses_own_segments_at_once)
{
    enum { N = 4000 };
    static struct torc_pair pairs[N];
    static uint32_t numbers[N];
    uint8_t *value = bytes_of(1000, 'v');
    for (uint32_t i = 0; i < N; ++i) {
        numbers[i] = i;
        pairs[i] = (struct torc_pair){torc_slice_of(&numbers[i], 4), torc_slice_of(value, 1000)};
    }
    ck_assert_int_eq(torc_full_put(arena, root, pairs, N, &plain), N);
    const struct torc_full *full = torc_full_at(arena, root);
    ck_assert_uint_gt(full->stream.live, full->record_bytes / 2);
    check();
    free(value);
}
END_TEST

START_TEST(a_failed_set_leaves_no_segments_behind)
{
    enum { N = 25 };
    uint8_t *value = bytes_of(60000, 'v');
    struct torc_pair pairs[N];
    for (int i = 0; i < N; ++i) {
        pairs[i] =
            (struct torc_pair){torc_slice_of(value + i, (size_t)i), torc_slice_of(value, 60000)};
    }
    torc_arena_fail_after(arena, N);
    ck_assert_int_eq(torc_full_put(arena, root, pairs, N, &plain), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_eq(torc_full_at(arena, root)->stream.open, 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    check();
    free(value);
}
END_TEST

START_TEST(extents_are_counted_with_their_pages)
{
    uint8_t *value = bytes_of(100000, 'v');
    ck_assert_int_eq(put("f", torc_slice_of(value, 100000)), 1);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 102400);
    ck_assert_uint_eq(torc_full_bytes(arena, root),
                      ROOT_BYTES + torc_arena_used_by(arena, TORC_USE_INDEX) + 102400);
    ck_assert_int_eq(put("f", torc_slice_of(value, 10)), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    check();
    free(value);
}
END_TEST

static void count_pair(void *arg, const struct torc_pair *pair)
{
    ck_assert_uint_eq(pair->value.len, 20);
    ++*(unsigned *)arg;
}

START_TEST(a_scan_in_one_go_sees_each_pair_once)
{
    unsigned seen = 0;
    struct torc_pair_room room;
    fill(777, 20);
    ck_assert_uint_eq(torc_full_scan(arena, root, 0, UINT64_MAX, NULL, &room, count_pair, &seen),
                      0);
    ck_assert_uint_eq(seen, 777);
}
END_TEST

START_TEST(every_field_is_drawn_at_random)
{
    uint8_t seen[16] = {0};
    unsigned n = 0;
    fill(10, 20);
    for (uint64_t i = 0; i < 2000 && n < 10; ++i) {
        struct torc_pair pair;
        struct torc_pair_room room;
        ck_assert(torc_full_random(arena, root, i * 0x9e3779b97f4a7c15ull, NULL, &room, &pair));
        unsigned which = (unsigned)(pair.field.data[1] - '0');
        n += seen[which] == 0;
        seen[which] = 1;
    }
    ck_assert_uint_eq(n, 10);
}
END_TEST

START_TEST(a_moved_record_is_found_at_its_new_place)
{
    struct torc_value value;
    ck_assert_int_eq(put("f", torc_slice_str("value")), 1);
    ck_assert_int_eq(put("g", torc_slice_str("value")), 1);
    struct torc_slice name = torc_slice_str("f");
    uint64_t ref = torc_table_find(arena, &torc_full_at(arena, root)->table, hash_of(name), name);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_full_move(arena, root, ref), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ck_assert_int_eq(torc_full_move(arena, root, ref), -ENOENT);
    ck_assert(get("f", &value));
    expect("f", "value");
    check();
}
END_TEST

START_TEST(records_move_to_own_segments_once_it_is_large)
{
    const struct torc_full *full = torc_full_at(arena, root);
    struct torc_slice name = torc_slice_str("f0");
    fill(LARGE, 100);
    uint64_t ref = torc_table_find(arena, &full->table, hash_of(name), name);
    ck_assert_int_eq(torc_record_type(torc_arena_at(arena, ref)), TORC_RECORD_FIELD_OWNED);
    uint64_t bytes = full->record_bytes;
    ck_assert_int_eq(torc_full_move(arena, root, ref), 0);
    ref = torc_table_find(arena, &full->table, hash_of(name), name);
    ck_assert_int_eq(torc_record_type(torc_arena_at(arena, ref)), TORC_RECORD_FIELD);
    ck_assert_uint_eq(full->record_bytes, bytes - TORC_RECORD_OWNER_BYTES - 1 /* the length */);
    check();
}
END_TEST

START_TEST(dropping_takes_small_steps_and_stays_sound)
{
    const char *why = "";
    unsigned steps = 0;
    fill(LARGE, 100);
    while (torc_full_drop_step(arena, root, 16)) {
        if (++steps % 32 == 0) {
            ck_assert_msg(torc_full_check(arena, root, &why) == 0, "%s", why);
        }
    }
    /* The records in shared segments one by one, the rest by the segment. */
    ck_assert_uint_gt(steps, 100);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), 0);
    ck_assert_int_eq(torc_full_create(arena, &root), 0);
}
END_TEST

START_TEST(damage_is_found)
{
    struct torc_full *full = torc_full_at(arena, root);
    const char *why = NULL;
    fill(30, 20);
    full->record_bytes++;
    ck_assert_int_eq(torc_full_check(arena, root, &why), -EBADMSG);
    ck_assert_ptr_nonnull(why);
    full->record_bytes--;
    full->table.count--;
    ck_assert_int_eq(torc_full_check(arena, root, NULL), -EBADMSG);
    full->table.count++;
    struct torc_slice name = torc_slice_str("f7");
    uint8_t *record =
        torc_arena_at(arena, torc_table_find(arena, &full->table, hash_of(name), name));
    static const uint8_t bits[] = {TORC_RECORD_DEAD, TORC_RECORD_CLAIMED, 0x20, 1};
    for (size_t i = 0; i < sizeof(bits); ++i) {
        record[0] ^= bits[i];
        ck_assert_msg(torc_full_check(arena, root, NULL) == -EBADMSG, "tag bit %u", bits[i]);
        record[0] ^= bits[i];
    }
    record[1] ^= 1; /* the owner */
    ck_assert_int_eq(torc_full_check(arena, root, NULL), -EBADMSG);
    record[1] ^= 1;
    ck_assert_int_eq(torc_full_check(arena, root + 64, NULL), -EBADMSG);
    ck_assert_int_eq(put("g", torc_slice_str("1000")), 1);
    struct torc_part stored;
    (void)torc_record_field(record_of("g"), &stored);
    uint8_t *encoded = record_of("g") + (stored.bytes.data - record_of("g"));
    check();
    encoded[1] = 0; /* 232 in two bytes, where one would do */
    ck_assert_int_eq(torc_full_check(arena, root, &why), -EBADMSG);
    ck_assert_str_eq(why, "full: a value is encoded as the codec would not");
    encoded[1] = 3;
    ck_assert_int_eq(torc_full_check(arena, arena->region.capacity, NULL), -EBADMSG);
    ck_assert_int_eq(torc_full_check(arena, 0, NULL), -EBADMSG);
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full");
    TCase *tcase = tcase_create("full");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_empty_hash_has_nothing);
    tcase_add_test(tcase, fields_and_values_of_any_length_come_back);
    tcase_add_test(tcase, a_value_of_equal_length_is_written_in_place);
    tcase_add_test(tcase, a_value_of_another_length_makes_the_old_record_dead);
    tcase_add_test(tcase, values_are_kept_in_their_form_and_read_as_text);
    tcase_add_test(tcase, a_value_of_another_form_and_as_many_bytes_is_written_in_place);
    tcase_add_test(tcase, verbatim_values_live_beside_those_that_are_encoded);
    tcase_add_test(tcase, a_moved_value_keeps_its_form);
    tcase_add_test(tcase, of_pairs_with_one_field_the_last_wins_and_counts_once);
    tcase_add_test(tcase, a_set_of_many_pairs_is_all_or_nothing);
    tcase_add_test(tcase, a_deleted_field_is_gone);
    tcase_add_test(tcase, a_large_hash_gets_segments_of_its_own);
    tcase_add_test(tcase, one_set_of_many_bytes_uses_own_segments_at_once);
    tcase_add_test(tcase, a_failed_set_leaves_no_segments_behind);
    tcase_add_test(tcase, extents_are_counted_with_their_pages);
    tcase_add_test(tcase, a_scan_in_one_go_sees_each_pair_once);
    tcase_add_test(tcase, every_field_is_drawn_at_random);
    tcase_add_test(tcase, a_moved_record_is_found_at_its_new_place);
    tcase_add_test(tcase, records_move_to_own_segments_once_it_is_large);
    tcase_add_test(tcase, dropping_takes_small_steps_and_stays_sound);
    tcase_add_test(tcase, damage_is_found);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
