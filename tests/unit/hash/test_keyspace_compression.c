/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyspace and compressed values: the setting goes on and off while values stay readable, reads of
 * many, ways between compact and full, what they take, the cleaner, and damage.
 */
#include "core/hashing.h"
#include "hash/full.h"
#include "hash/record.h"
#include "tests/unit/hash/keyspace_fixture.h"

/* Like JSON: `n` bytes that compress well, different for each number. */
static struct torc_slice words(unsigned number, size_t n)
{
    static char text[TORC_PRESS_TEXT_MAX + 100];
    size_t at = 0;
    while (at < n) {
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "{\"name\":\"sensor-%u\",\"value\":%zu,\"unit\":\"degrees\"},",
                               number, at);
    }
    return torc_slice_of(text, n);
}

static uint64_t root_of(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_record_root(torc_arena_at(arena, torc_keyspace_find(ks, &key)));
}

static uint8_t *record_of(const char *name, const char *field)
{
    const struct torc_full *full = torc_full_at(arena, root_of(name));
    struct torc_slice slice = torc_slice_str(field);
    uint64_t ref =
        torc_table_find(arena, &full->table, torc_hash_slice(torc_arena_seed(arena), slice), slice);
    ck_assert_uint_ne(ref, TORC_REF_NONE);
    return torc_arena_at(arena, ref);
}

static bool is_compressed(const char *name, const char *field)
{
    struct torc_part value;
    (void)torc_record_field(record_of(name, field), &value);
    return value.form == TORC_FORM_COMPRESSED;
}

static void expect_words(const char *name, const char *field, unsigned number, size_t n)
{
    struct torc_value found;
    struct torc_key key = key_of(name);
    size_t value_len = 0;
    ck_assert_int_eq(get(name, field, &found), 1);
    ck_assert(torc_slice_equal(found.text, words(number, n)));
    ck_assert_int_eq(torc_hash_value_len(ks, &key, torc_slice_str(field), &value_len), 1);
    ck_assert_uint_eq(value_len, n);
}

START_TEST(values_stay_readable_when_compression_goes_on_and_off)
{
    limits.compact_max_entries = 0;
    ck_assert_int_eq(put("h", "before", words(1, 300)), 1);
    limits.compress_min_bytes = 200;
    ck_assert_int_eq(put("h", "short", words(2, 199)), 1);
    ck_assert_int_eq(put("h", "long", words(3, 200)), 1);
    ck_assert_int_eq(put_str("h", "number", "1234567890"), 1);
    ck_assert(!is_compressed("h", "before") && !is_compressed("h", "short"));
    ck_assert(is_compressed("h", "long"));
    check();
    /* Off: what is there stays as it is until it is written. */
    limits.compress_min_bytes = 0;
    expect_words("h", "long", 3, 200);
    ck_assert_int_eq(put("h", "later", words(4, 300)), 1);
    ck_assert(is_compressed("h", "long") && !is_compressed("h", "later"));
    ck_assert_int_eq(put("h", "long", words(5, 201)), 0);
    ck_assert(!is_compressed("h", "long"));
    expect_words("h", "long", 5, 201);
    /* On again: in place of a raw value of the same length, and back with another text. */
    limits.compress_min_bytes = 64;
    ck_assert_int_eq(put("h", "long", words(6, 201)), 0);
    ck_assert(is_compressed("h", "long"));
    expect_words("h", "long", 6, 201);
    ck_assert_int_eq(put("h", "long", words(7, 201)), 0);
    expect_words("h", "long", 7, 201);
    /* Verbatim is verbatim. */
    limits.disable_encoding = true;
    ck_assert_int_eq(put("h", "verbatim", words(8, 500)), 1);
    ck_assert(!is_compressed("h", "verbatim"));
    expect_words("h", "before", 1, 300);
    expect_words("h", "short", 2, 199);
    expect("h", "number", "1234567890");
    check();
    for (const char *const *field =
             (const char *const[]){"before", "short", "long", "number", "later", "verbatim", NULL};
         *field != NULL; ++field) {
        ck_assert_int_eq(del("h", *field), 1);
        check();
    }
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
}
END_TEST

START_TEST(usage_falls_by_what_is_won)
{
    limits.compact_max_entries = 0;
    ck_assert_int_eq(put("raw", "field", words(1, 1000)), 1);
    limits.compress_min_bytes = 64;
    ck_assert_int_eq(put("less", "field", words(1, 1000)), 1);
    uint64_t raw = torc_record_bytes(record_of("raw", "field"));
    uint64_t less = torc_record_bytes(record_of("less", "field"));
    ck_assert_uint_lt(less, raw / 3);
    /* The key of the one is a byte longer. */
    ck_assert_uint_eq(usage("raw") - raw + 1, usage("less") - less);
    /* Of a value that is an extent, too: compressed it is none any more, and frees its pages. */
    ck_assert_int_eq(put("less", "large", words(2, 200000)), 1);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_int_eq(put("less", "larger", words(3, TORC_PRESS_TEXT_MAX)), 1);
    ck_assert(is_compressed("less", "larger"));
    ck_assert_uint_gt(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_int_eq(put("less", "largest", words(4, TORC_PRESS_TEXT_MAX + 1)), 1);
    ck_assert(!is_compressed("less", "largest"));
    expect_words("less", "large", 2, 200000);
    expect_words("less", "larger", 3, TORC_PRESS_TEXT_MAX);
    expect_words("less", "largest", 4, TORC_PRESS_TEXT_MAX + 1);
    check();
}
END_TEST

START_TEST(many_large_values_come_in_several_calls)
{
    enum { N = 40, LEN = 300000 };
    char names[N][8];
    struct torc_slice fields[N + 1];
    struct torc_value values[N + 1];
    struct torc_key key = key_of("h");
    limits.compress_min_bytes = 64;
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "f%u", i);
        fields[i] = torc_slice_str(names[i]);
        ck_assert_int_eq(put("h", names[i], words(i, LEN)), 1);
    }
    fields[N] = torc_slice_str("none");
    unsigned calls = 0;
    for (size_t done = 0; done < N + 1; calls++) {
        int64_t got = torc_hash_get_many(ks, &key, fields + done, N + 1 - done, values);
        ck_assert_int_gt(got, 0);
        for (size_t i = done; i < done + (size_t)got && i < N; i++) {
            ck_assert(torc_slice_equal(values[i - done].text, words((unsigned)i, LEN)));
        }
        done += (size_t)got;
        ck_assert(done <= N || values[got - 1].text.data == NULL);
    }
    ck_assert_uint_eq(calls, N / 4 + 1);
}
END_TEST

START_TEST(one_call_compresses_a_bounded_amount)
{
    enum { N = 8 };
    struct torc_slice value = words(1, TORC_PRESS_TEXT_MAX);
    char names[N][8];
    struct torc_pair pairs[N];
    struct torc_key key = key_of("h");
    unsigned n_compressed = 0;
    limits.compress_min_bytes = 64;
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "f%u", i);
        pairs[i] = (struct torc_pair){torc_slice_str(names[i]), value};
    }
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, N), N);
    for (unsigned i = 0; i < N; i++) {
        n_compressed += is_compressed("h", names[i]);
        expect_words("h", names[i], 1, TORC_PRESS_TEXT_MAX);
    }
    ck_assert_uint_eq(n_compressed, TORC_PRESS_CALL_MAX / TORC_PRESS_TEXT_MAX);
    check();
}
END_TEST

struct walk {
    unsigned n;
    size_t text_len;
    unsigned n_without;
};

static void see(void *arg, const struct torc_pair *pair)
{
    struct walk *walk = arg;
    unsigned number = 0;
    for (size_t i = 1; i < pair->field.len; i++) {
        number = 10 * number + (pair->field.data[i] - (unsigned)'0');
    }
    walk->n++;
    walk->text_len += pair->value.len;
    if (pair->value.data == NULL) {
        walk->n_without++;
    } else {
        ck_assert(torc_slice_equal(pair->value, words(number, pair->value.len)));
    }
}

START_TEST(walks_expand_values_when_they_are_asked_for)
{
    enum { N = 100 };
    struct torc_key key = key_of("h");
    struct torc_pair_room room;
    struct torc_pair pair;
    limits.compress_min_bytes = 64;
    limits.compact_max_value = 1000;
    for (unsigned i = 0; i < N; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "f%u", i);
        ck_assert_int_eq(put("h", name, words(i, 1000 + i)), 1);
    }
    /* Compact so far; the next makes it full, and what is copied is compressed. */
    struct walk all = {.n = 0};
    struct walk names = {.n = 0};
    ck_assert_int_eq(torc_hash_each(ks, &key, TORC_PAIRS, see, &all), 0);
    ck_assert_int_eq(torc_hash_each(ks, &key, TORC_FIELDS, see, &names), 0);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    ck_assert_uint_eq(all.n, N);
    ck_assert_uint_eq(all.n_without, 0);
    ck_assert_uint_eq(names.n, N);
    ck_assert_uint_eq(names.n_without, N);
    ck_assert_uint_eq(names.text_len, all.text_len);
    ck_assert_int_eq(torc_hash_random(ks, &key, 12345, TORC_PAIRS, &room, &pair), 1);
    see(&all, &pair);
    ck_assert_int_eq(torc_hash_random(ks, &key, 12345, TORC_FIELDS, &room, &pair), 1);
    ck_assert_ptr_null(pair.value.data);
    /* An existing field is not touched, without its value being read. */
    const struct torc_pair again = {torc_slice_str("f7"), torc_slice_str("other")};
    ck_assert_int_eq(torc_hash_put_absent(ks, &key, &again), 0);
    expect_words("h", "f7", 7, 1007);
}
END_TEST

START_TEST(what_becomes_full_is_compressed_and_what_becomes_compact_is_not)
{
    limits.compress_min_bytes = 64;
    limits.compact_max_entries = 20;
    for (unsigned i = 0; i < 20; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "f%u", i);
        ck_assert_int_eq(put("h", name, words(i, 100)), 1);
    }
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put("h", "last", words(99, 100)), 1);
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    ck_assert(is_compressed("h", "f3"));
    for (unsigned i = 2; i < 20; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "f%u", i);
        expect_words("h", name, i, 100);
        ck_assert_int_eq(del("h", name), 1);
    }
    uint64_t before = usage("h");
    settle();
    check();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_COMPACT);
    ck_assert_uint_lt(usage("h"), before);
    expect_words("h", "f1", 1, 100);
    expect_words("h", "last", 99, 100);
    /* One whose text is much longer than its records stays full. */
    limits.compact_max_value = 100;
    ck_assert_int_eq(put("h", "long", words(5, 30000)), 1);
    ck_assert_int_eq(del("h", "f0"), 1);
    limits.compact_max_value = 32767;
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    settle();
    ck_assert_int_eq(encoding("h"), TORC_ENCODING_FULL);
    expect_words("h", "long", 5, 30000);
    check();
}
END_TEST

START_TEST(the_cleaner_moves_compressed_values_as_they_are)
{
    enum { N = 20000 };
    char name[16];
    limits.compact_max_entries = 0;
    limits.compress_min_bytes = 64;
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        ck_assert_int_eq(put("h", name, words(i, 2000)), 1);
    }
    /* So that moving them cannot compress anew. */
    limits.compress_min_bytes = 0;
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        if (i % 3 != 0) {
            ck_assert_int_eq(del("h", name), 1);
        }
    }
    uint64_t before = torc_arena_used(arena);
    settle();
    check();
    ck_assert_uint_lt(torc_arena_used(arena), before / 2);
    for (unsigned i = 0; i < N; i += 3) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        ck_assert(is_compressed("h", name));
        expect_words("h", name, i, 2000);
    }
}
END_TEST

START_TEST(a_damaged_value_is_found)
{
    const char *why = "";
    struct torc_part value;
    limits.compact_max_entries = 0;
    limits.compress_min_bytes = 64;
    ck_assert_int_eq(put("h", "field", words(1, 1000)), 1);
    check();
    uint8_t *record = record_of("h", "field");
    (void)torc_record_field(record, &value);
    uint8_t *bytes = record + (value.bytes.data - record);
    uint8_t saved = bytes[0];
    bytes[0] = 0; /* no literals, then a match with what is not there */
    ck_assert_int_eq(torc_keyspace_check(ks, &why), -EBADMSG);
    ck_assert_str_eq(why, "full: a compressed value does not expand to its length");
    bytes[0] = saved;
    check();
    /* The length of the text: two bytes in front of the name. */
    uint8_t *len_end = bytes - strlen("field") - 1;
    *len_end ^= 1;
    ck_assert_int_eq(torc_keyspace_check(ks, &why), -EBADMSG);
    *len_end ^= 1;
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace compression");
    TCase *tcase = add_case(suite, "compression");
    tcase_add_test(tcase, values_stay_readable_when_compression_goes_on_and_off);
    tcase_add_test(tcase, usage_falls_by_what_is_won);
    tcase_add_test(tcase, many_large_values_come_in_several_calls);
    tcase_add_test(tcase, one_call_compresses_a_bounded_amount);
    tcase_add_test(tcase, walks_expand_values_when_they_are_asked_for);
    tcase_add_test(tcase, what_becomes_full_is_compressed_and_what_becomes_compact_is_not);
    tcase_add_test(tcase, the_cleaner_moves_compressed_values_as_they_are);
    tcase_add_test(tcase, a_damaged_value_is_found);
    return run_suite(suite);
}
