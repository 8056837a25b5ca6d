/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/harness/shapes.h"

#include <check.h>
#include <stdlib.h>

#include "perf/harness/scatter.h"
#include "tests/support/prng.h"

static const char *const names[] = {"small5", "small14", "million", "wide", "feast"};
#define N_SHAPES (sizeof names / sizeof names[0])

static struct torc_shape shape;
static struct torc_prng prng;

static void make(const char *name, uint64_t fields, uint64_t hashes, uint64_t value_bytes)
{
    char error[TORC_SHAPE_ERROR_BYTES];
    ck_assert_msg(torc_shape_init(&shape, name, fields, hashes, value_bytes, error) == 0, "%s",
                  error);
}

static void set_up(void)
{
    prng.state = torc_test_seed(20);
}

/* Lengths that a value has here and there: the edges of the salt's room, and of blocks. */
static const uint32_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 20, 21, 22, 37, 60, 64, 100, 4099};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

START_TEST(names_and_values_have_the_lengths_of_the_shape)
{
    static const struct {
        size_t key, field_least, field_most;
        uint32_t value_least, value_most;
        uint64_t hashes;
    } wanted[N_SHAPES] = {
        {14, 5, 5, 16, 16, 15625}, {14, 14, 14, 16, 16, 15625}, {14, 18, 18, 16, 16, 1},
        {8, 2, 4, 4, 4, 500},      {49, 4, 4, 5, 10, 10000},
    };
    make(names[_i], 0, 0, 0);
    ck_assert_uint_eq(shape.hashes, wanted[_i].hashes);
    uint32_t value_least = UINT32_MAX;
    uint32_t value_most = 0;
    for (int i = 0; i < 2000; i++) {
        struct torc_shape_cell cell = torc_shape_cell(&shape, torc_prng_below(&prng, shape.cells));
        ck_assert_uint_lt(cell.hash, shape.hashes);
        ck_assert_uint_lt(cell.field, torc_shape_fields(&shape, cell.hash));
        uint8_t key[TORC_SHAPE_KEY_BYTES];
        uint8_t field[TORC_SHAPE_FIELD_BYTES];
        ck_assert_uint_eq(torc_shape_key(&shape, cell.hash, key), wanted[_i].key);
        size_t len = torc_shape_field(&shape, cell.field, field);
        ck_assert(len >= wanted[_i].field_least && len <= wanted[_i].field_most);
        uint32_t bytes = torc_shape_value_bytes(&shape, cell);
        value_least = bytes < value_least ? bytes : value_least;
        value_most = bytes > value_most ? bytes : value_most;
    }
    ck_assert_uint_eq(value_least, wanted[_i].value_least);
    ck_assert_uint_eq(value_most, wanted[_i].value_most);
    torc_shape_fini(&shape);
}
END_TEST

START_TEST(cells_walk_through_the_hashes_one_by_one)
{
    make(names[_i], 0, 40, 0);
    uint64_t n = 0;
    for (uint64_t hash = 0; hash < shape.hashes; hash++) {
        uint32_t fields = torc_shape_fields(&shape, hash);
        ck_assert(fields >= shape.fields_least && fields <= shape.fields_most);
        for (uint32_t field = 0; field < fields; field += field + 1 < fields ? fields / 7 + 1 : 1) {
            struct torc_shape_cell cell = torc_shape_cell(&shape, n + field);
            ck_assert_uint_eq(cell.hash, hash);
            ck_assert_uint_eq(cell.field, field);
        }
        n += fields;
    }
    ck_assert_uint_eq(n, shape.cells);
    torc_shape_fini(&shape);
}
END_TEST

START_TEST(a_field_is_found_by_its_name_and_by_no_other)
{
    make(names[_i], 0, 0, 0);
    for (int i = 0; i < 5000; i++) {
        uint32_t field = (uint32_t)torc_prng_below(&prng, shape.field_names);
        uint8_t name[TORC_SHAPE_FIELD_BYTES];
        size_t len = torc_shape_field(&shape, field, name);
        uint32_t found = ~field;
        ck_assert_int_eq(torc_shape_find_field(&shape, torc_slice_of(name, len), &found), 0);
        ck_assert_uint_eq(found, field);
        ck_assert_int_eq(torc_shape_find_field(&shape, torc_slice_of(name, len - 1), &found) == 0 &&
                             found == field,
                         0);
        name[torc_prng_below(&prng, len)] ^= (uint8_t)(1 + torc_prng_below(&prng, 255));
        int rc = torc_shape_find_field(&shape, torc_slice_of(name, len), &found);
        ck_assert(rc == -ENOENT || found != field);
    }
    torc_shape_fini(&shape);
}
END_TEST

START_TEST(an_absent_name_has_the_length_of_a_field_and_is_none)
{
    make(names[_i], 0, 0, 0);
    for (int i = 0; i < 5000; i++) {
        uint32_t field = (uint32_t)torc_prng_below(&prng, shape.fields_least);
        uint8_t name[TORC_SHAPE_FIELD_BYTES];
        uint8_t absent[TORC_SHAPE_FIELD_BYTES];
        size_t len = torc_shape_field(&shape, field, name);
        ck_assert_uint_eq(torc_shape_absent(&shape, field, torc_prng_next(&prng), absent), len);
        uint32_t found = 0;
        ck_assert_int_eq(torc_shape_find_field(&shape, torc_slice_of(absent, len), &found),
                         -ENOENT);
    }
    torc_shape_fini(&shape);
}
END_TEST

START_TEST(absent_names_vary)
{
    make(names[_i], 0, 0, 0);
    unsigned differ = 0;
    uint8_t last[TORC_SHAPE_FIELD_BYTES] = {0};
    for (int i = 0; i < 1000; i++) {
        uint8_t absent[TORC_SHAPE_FIELD_BYTES];
        size_t len =
            torc_shape_absent(&shape, shape.fields_least - 1, torc_prng_next(&prng), absent);
        differ += memcmp(absent, last, len) != 0 ? 1 : 0;
        memcpy(last, absent, len);
    }
    ck_assert_uint_gt(differ, 950);
    torc_shape_fini(&shape);
}
END_TEST

static struct torc_shape_cell random_cell(void)
{
    return (struct torc_shape_cell){torc_prng_below(&prng, 1000000),
                                    (uint32_t)torc_prng_below(&prng, 1000000)};
}

START_TEST(a_value_that_was_made_is_taken_with_its_salt_only)
{
    uint8_t value[5000];
    uint32_t bytes = lengths[_i];
    uint32_t salts = bytes == 1 ? 16 : bytes < 8 ? 256 : 1u << 20;
    for (int i = 0; i < 500; i++) {
        struct torc_shape_cell cell = random_cell();
        uint64_t salt = torc_prng_next(&prng);
        value[bytes] = 0xa5;
        torc_shape_value(cell, salt, bytes, value);
        ck_assert_uint_eq(value[bytes], 0xa5);
        struct torc_slice slice = torc_slice_of(value, bytes);
        ck_assert(value[0] >= 'g' && value[0] <= 'v');
        ck_assert(torc_shape_value_is_of(cell, slice));
        ck_assert(torc_shape_value_has_salt(slice, salt));
        ck_assert(torc_shape_value_has_salt(slice, salt + salts));
        ck_assert(!torc_shape_value_has_salt(slice, salt + 1));
        ck_assert(!torc_shape_value_has_salt(slice, salt + salts / 2));
    }
}
END_TEST

START_TEST(another_salt_writes_other_bytes)
{
    uint32_t bytes = lengths[_i];
    struct torc_shape_cell cell = random_cell();
    uint8_t value[5000];
    uint8_t other[5000];
    for (uint64_t salt = 0; salt + 1 < (bytes == 1 ? 16u : 256u); salt++) {
        torc_shape_value(cell, salt, bytes, value);
        torc_shape_value(cell, salt + 1, bytes, other);
        ck_assert_mem_ne(value, other, bytes);
    }
}
END_TEST

START_TEST(a_flipped_byte_is_refused)
{
    uint8_t value[5000];
    uint32_t bytes = lengths[_i];
    /* Shorter ones have too few digits to tell every change. */
    for (int i = 0; i < 2000 && bytes >= 16; i++) {
        struct torc_shape_cell cell = random_cell();
        torc_shape_value(cell, torc_prng_next(&prng), bytes, value);
        value[torc_prng_below(&prng, bytes)] ^= (uint8_t)(1 + torc_prng_below(&prng, 255));
        ck_assert(!torc_shape_value_is_of(cell, torc_slice_of(value, bytes)));
    }
}
END_TEST

START_TEST(a_value_of_another_field_or_hash_or_length_is_refused)
{
    uint8_t value[64];
    for (int i = 0; i < 2000; i++) {
        struct torc_shape_cell cell = random_cell();
        struct torc_shape_cell next_field = {cell.hash, cell.field + 1};
        struct torc_shape_cell next_hash = {cell.hash + 1, cell.field};
        torc_shape_value(cell, 5, 64, value);
        ck_assert(!torc_shape_value_is_of(next_field, torc_slice_of(value, 64)));
        ck_assert(!torc_shape_value_is_of(next_hash, torc_slice_of(value, 64)));
        ck_assert(!torc_shape_value_is_of(cell, torc_slice_of(value, 63)));
    }
    ck_assert(!torc_shape_value_is_of(random_cell(), torc_slice_of(value, 0)));
}
END_TEST

START_TEST(short_values_refuse_most_changes)
{
    /* Four bytes have two digits that certify: one of 256 foreign values passes. */
    unsigned taken = 0;
    uint8_t value[4];
    for (int i = 0; i < 10000; i++) {
        torc_shape_value(random_cell(), torc_prng_next(&prng), sizeof value, value);
        taken += torc_shape_value_is_of(random_cell(), torc_slice_of(value, sizeof value)) ? 1 : 0;
    }
    ck_assert_uint_lt(taken, 100);
}
END_TEST

START_TEST(a_scattered_order_visits_each_once)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 65, 1000, 4096, 100003};
    uint64_t n = sizes[_i];
    uint8_t *seen = calloc(n, 1);
    ck_assert_ptr_nonnull(seen);
    struct torc_scatter scatter;
    torc_scatter_init(&scatter, n, torc_prng_next(&prng));
    uint64_t in_order = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = torc_scatter_at(&scatter, i);
        ck_assert_uint_lt(at, n);
        ck_assert_uint_eq(seen[at], 0);
        seen[at] = 1;
        in_order += at == i ? 1 : 0;
    }
    ck_assert(n < 1000 || in_order < n / 100);
    free(seen);
}
END_TEST

START_TEST(numbers_that_do_not_fit_are_refused_with_a_text)
{
    static const struct {
        const char *name;
        uint64_t fields, hashes, value_bytes;
    } bad[] = {
        {"small", 0, 0, 0},
        {"", 0, 0, 0},
        {"small5", 1001, 0, 0},
        {"wide", 0, 1000001, 0},
        {"wide", 1001, 1, 0},
        {"small14", 100000001, 1, 0},
        {"million", 1000, 1000001, 0},
        {"small14", 32, 1, TORC_SHAPE_VALUE_BYTES_MAX + 1ull},
        {"feast", UINT64_MAX, 1, 0},
        {"million", 2, UINT64_MAX, 0},
    };
    char error[TORC_SHAPE_ERROR_BYTES] = "";
    ck_assert_int_eq(torc_shape_init(&shape, bad[_i].name, bad[_i].fields, bad[_i].hashes,
                                     bad[_i].value_bytes, error),
                     -EINVAL);
    ck_assert_uint_gt(strlen(error), 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *tcase = tcase_create("shapes");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, names_and_values_have_the_lengths_of_the_shape, 0, N_SHAPES);
    tcase_add_loop_test(tcase, cells_walk_through_the_hashes_one_by_one, 0, N_SHAPES);
    tcase_add_loop_test(tcase, a_field_is_found_by_its_name_and_by_no_other, 0, N_SHAPES);
    tcase_add_loop_test(tcase, an_absent_name_has_the_length_of_a_field_and_is_none, 0, N_SHAPES);
    tcase_add_loop_test(tcase, absent_names_vary, 0, N_SHAPES);
    tcase_add_loop_test(tcase, a_value_that_was_made_is_taken_with_its_salt_only, 0, N_LENGTHS);
    tcase_add_loop_test(tcase, another_salt_writes_other_bytes, 0, N_LENGTHS);
    tcase_add_loop_test(tcase, a_flipped_byte_is_refused, 0, N_LENGTHS);
    tcase_add_test(tcase, a_value_of_another_field_or_hash_or_length_is_refused);
    tcase_add_test(tcase, short_values_refuse_most_changes);
    tcase_add_loop_test(tcase, a_scattered_order_visits_each_once, 0, 11);
    tcase_add_loop_test(tcase, numbers_that_do_not_fit_are_refused_with_a_text, 0, 10);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
