/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyspace and value codec: what disable-encoding does to what is there and to what comes, at run
 * time, in both directions; what limits and sizes are about.
 */
#include "tests/unit/hash/keyspace_fixture.h"

/* Texts of all forms, and of none. */
static const char *const texts[] = {
    "10",
    "-70000",
    "18446744073709551615",
    "123e4567-e89b-12d3-a456-426614174000",
    "123e4567e89b12d3a456426614174000",
    "007",
    "18446744073709551616",
    "123E4567-E89B-12D3-A456-426614174000",
    "words",
};
#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

/* Put field texts[i] with value texts[i + shift], for all i, one by one. Returns fields made. */
static int64_t put_texts(const char *name, size_t shift)
{
    int64_t created = 0;
    for (size_t i = 0; i < N_TEXTS; ++i) {
        created += put_str(name, texts[i], texts[(i + shift) % N_TEXTS]);
    }
    check();
    return created;
}

static void expect_texts(const char *name, size_t shift)
{
    struct torc_key key = key_of(name);
    struct torc_slice fields[N_TEXTS + 1];
    struct torc_value values[N_TEXTS + 1];
    for (size_t i = 0; i < N_TEXTS; ++i) {
        expect(name, texts[i], texts[(i + shift) % N_TEXTS]);
        fields[i] = torc_slice_str(texts[i]);
    }
    fields[N_TEXTS] = torc_slice_str("11");
    ck_assert_int_eq(torc_hash_get_many(ks, &key, fields, N_TEXTS + 1, values), N_TEXTS + 1);
    for (size_t i = 0; i < N_TEXTS; ++i) {
        ck_assert(torc_slice_equal(values[i].text, torc_slice_str(texts[(i + shift) % N_TEXTS])));
    }
    ck_assert_ptr_null(values[N_TEXTS].text.data);
    ck_assert_int_eq(len(name), N_TEXTS);
}

START_TEST(what_is_stored_stays_readable_when_encoding_goes_off_and_on)
{
    for (uint32_t most = 0; most <= 100; most += 100) {
        for (int first = 0; first < 2; ++first) {
            limits.compact_max_entries = most;
            limits.disable_encoding = first != 0;
            ck_assert_int_eq(put_texts("h", 1), N_TEXTS);
            expect_texts("h", 1);
            uint64_t before = usage("h");
            /* The other way: what is there is found, replaced, and comes back. */
            limits.disable_encoding = first == 0;
            expect_texts("h", 1);
            ck_assert_int_eq(put_texts("h", 2), 0);
            expect_texts("h", 2);
            ck_assert_int_eq(put_str("h", "12345678", "12345678"), 1);
            expect("h", "12345678", "12345678");
            ck_assert_int_eq(del("h", "12345678"), 1);
            /* And back. */
            limits.disable_encoding = first != 0;
            expect_texts("h", 2);
            ck_assert_int_eq(put_texts("h", 1), 0);
            expect_texts("h", 1);
            settle();
            ck_assert_uint_le(usage("h"), before);
            for (size_t i = 0; i < N_TEXTS; ++i) {
                ck_assert_int_eq(del("h", texts[i]), 1);
            }
            check();
            ck_assert_uint_eq(torc_keyspace_count(ks), 0);
        }
    }
}
END_TEST

static const uint8_t *block_of(const char *name)
{
    struct torc_key key = key_of(name);
    uint64_t ref = torc_keyspace_find(ks, &key);
    ck_assert_int_eq(torc_keyspace_encoding(ks, &key), TORC_ENCODING_COMPACT);
    return torc_record_payload(torc_arena_at(arena, ref));
}

START_TEST(a_compact_hash_goes_on_as_it_was_made)
{
    static struct torc_pair pairs[64];
    static char names[64][24];
    fill_pairs(pairs, names, 64);
    ck_assert_int_eq(put_str("encoded", "100", "200"), 1);
    limits.disable_encoding = true;
    ck_assert_int_eq(put_str("verbatim", "100", "200"), 1);
    for (int round = 0; round < 2; ++round) {
        /* Through growth by one pair and by many, deletes, trims and moves. */
        ck_assert(!torc_compact_is_verbatim(block_of("encoded")));
        ck_assert(torc_compact_is_verbatim(block_of("verbatim")));
        static const char *const keys[] = {"encoded", "verbatim"};
        for (int k = 0; k < 2; ++k) {
            struct torc_key key = key_of(keys[k]);
            ck_assert_int_eq(put_str(keys[k], "300", "400"), 1);
            ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 64), 64);
            check();
            for (int i = 0; i < 64; ++i) {
                ck_assert_int_eq(torc_hash_del(ks, &key, &pairs[i].field, 1), 1);
            }
            expect(keys[k], "300", "400");
            ck_assert_int_eq(del(keys[k], "300"), 1);
            settle();
            check();
            expect(keys[k], "100", "200");
        }
        limits.disable_encoding = false;
    }
    /* A block that holds nothing is gone, and a new one is made as the setting says. */
    ck_assert_int_eq(del("verbatim", "100"), 1);
    ck_assert_int_eq(put_str("verbatim", "100", "200"), 1);
    ck_assert(!torc_compact_is_verbatim(block_of("verbatim")));
}
END_TEST

/* The form of the value of a field of a full hash. */
static uint8_t form_of(const char *name, const char *field)
{
    struct torc_key key = key_of(name);
    struct torc_slice slice = torc_slice_str(field);
    struct torc_part value;
    uint64_t root = torc_record_root(torc_arena_at(arena, torc_keyspace_find(ks, &key)));
    uint64_t ref = torc_table_find(arena, &torc_full_at(arena, root)->table,
                                   torc_hash_slice(torc_arena_seed(arena), slice), slice);
    (void)torc_record_field(torc_arena_at(arena, ref), &value);
    return value.form;
}

START_TEST(a_hash_that_becomes_full_is_stored_as_the_setting_says)
{
    limits.compact_max_entries = 2;
    ck_assert_int_eq(put_str("a", "100", "200"), 1);
    ck_assert_int_eq(put_str("a", "-100", "2000000"), 1);
    limits.disable_encoding = true;
    ck_assert_int_eq(put_str("b", "100", "200"), 1);
    ck_assert_int_eq(put_str("b", "-100", "2000000"), 1);
    ck_assert_int_eq(put_str("a", "300", "400"), 1);
    limits.disable_encoding = false;
    ck_assert_int_eq(put_str("b", "300", "400"), 1);
    ck_assert_uint_eq(form_of("a", "100"), TORC_FORM_RAW);
    ck_assert_uint_eq(form_of("a", "300"), TORC_FORM_RAW);
    ck_assert_uint_eq(form_of("b", "100"), TORC_FORM_NATURAL);
    ck_assert_uint_eq(form_of("b", "300"), TORC_FORM_NATURAL + 1);
    for (int k = 0; k < 2; ++k) {
        const char *name = k == 0 ? "a" : "b";
        expect(name, "100", "200");
        expect(name, "-100", "2000000");
        expect(name, "300", "400");
        ck_assert_int_eq(encoding(name), TORC_ENCODING_FULL);
    }
    check();
}
END_TEST

START_TEST(the_value_limit_is_about_the_text)
{
    limits.compact_max_value = 35;
    ck_assert_int_eq(put_str("a", "f", "123e4567e89b12d3a456426614174000"), 1);
    ck_assert_int_eq(encoding("a"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put_str("b", "f", "123e4567-e89b-12d3-a456-426614174000"), 1);
    ck_assert_int_eq(encoding("b"), TORC_ENCODING_FULL);
    ck_assert_int_eq(put_str("c", "123e4567-e89b-12d3-a456-426614174000", "v"), 1);
    ck_assert_int_eq(encoding("c"), TORC_ENCODING_FULL);
}
END_TEST

START_TEST(usage_is_that_of_the_encoded_text)
{
    static struct torc_pair pairs[100];
    static char numbers[100][24];
    struct torc_key key;
    uint64_t used[2][2];
    for (int i = 0; i < 100; ++i) {
        (void)snprintf(numbers[i], sizeof(numbers[i]), "%d", 1000000000 + i);
        pairs[i] = (struct torc_pair){torc_slice_str(numbers[i]), torc_slice_str(numbers[i])};
    }
    for (int full = 0; full < 2; ++full) {
        limits.compact_max_entries = full != 0 ? 0 : 65535;
        for (int off = 0; off < 2; ++off) {
            limits.disable_encoding = off != 0;
            key = key_of("h");
            ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 100), 100);
            check();
            used[full][off] = usage("h");
            ck_assert(torc_keyspace_del(ks, &key));
            settle();
        }
    }
    /* Ten digits are four bytes: in a compact hash both field and value, with 1/64 of slack. */
    ck_assert_uint_ge(used[0][1] - used[0][0], 100ull * 12);
    ck_assert_uint_le(used[0][1] - used[0][0], 100ull * 12 + 40);
    ck_assert_uint_eq(used[1][1] - used[1][0], 100ull * 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace_encoding");
    TCase *tcase = add_case(suite, "encoding");
    tcase_add_test(tcase, what_is_stored_stays_readable_when_encoding_goes_off_and_on);
    tcase_add_test(tcase, a_compact_hash_goes_on_as_it_was_made);
    tcase_add_test(tcase, a_hash_that_becomes_full_is_stored_as_the_setting_says);
    tcase_add_test(tcase, the_value_limit_is_about_the_text);
    tcase_add_test(tcase, usage_is_that_of_the_encoded_text);
    return run_suite(suite);
}
