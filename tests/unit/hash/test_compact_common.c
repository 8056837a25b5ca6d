/* SPDX-License-Identifier: Apache-2.0
 *
 * Compact blocks whose entries share their lengths.
 */
#include "hash/compact.h"

#include "hash/compact_private.h"
#include "tests/support/compact_fixture.h"

/* Fill a block as one command would: `n` fields of 14 bytes with values of 16. */
static uint8_t *loaded(size_t n, size_t slack)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    struct torc_compact_plan plan = {.verbatim = false};
    for (size_t i = 0; i < n; i++) {
        torc_compact_plan_add(&plan, name_of(i, name), value_of(i, 0, value));
    }
    size_t need = torc_compact_plan_need(&plan);
    uint8_t *block = malloc(need + slack);
    ck_assert_ptr_nonnull(block);
    torc_compact_init_planned(block, need + slack, &plan);
    for (size_t i = 0; i < n; i++) {
        HOLDS(put(block, name_of(i, name), value_of(i, 0, value)) == 1);
    }
    ck_assert_uint_eq(torc_compact_used(block), need);
    return block;
}

static bool has_common(const uint8_t *block)
{
    return (block[0] & TORC_COMPACT_COMMON) != 0;
}

START_TEST(fields_of_one_shape_cost_four_bytes_each_beside_their_text)
{
    static const struct {
        size_t n, bytes;
    } rows[] = {{8, 10 + 8 * 34},         {32, 10 + 32 * 34},        {64, 10 + 4 + 64 * 34},
                {128, 10 + 8 + 128 * 34}, {512, 10 + 32 + 512 * 34}, {1923, 10 + 128 + 1923 * 34}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char name[NAME_BYTES];
        char value[NAME_BYTES];
        uint8_t *block = loaded(rows[r].n, 0);
        ck_assert_uint_eq(torc_compact_capacity(block), rows[r].bytes);
        ck_assert(has_common(block));
        for (size_t i = 0; i < rows[r].n; i++) {
            expect(block, name_of(i, name), value_of(i, 0, value));
            expect_absent(block, name_of(i + rows[r].n, name));
        }
        check_block(block);
        free(block);
    }
}
END_TEST

START_TEST(few_fields_and_fields_of_many_shapes_have_no_common_lengths)
{
    struct torc_compact_plan plan = {.verbatim = false};
    char room[NAME_BYTES];
    for (size_t i = 0; i < 4; i++) {
        torc_compact_plan_add(&plan, name_of(i, room), torc_slice_str("abc"));
        size_t plain = torc_compact_need(NULL, plan.n_pairs, plan.entry_bytes);
        ck_assert_uint_eq(torc_compact_plan_need(&plan), plain);
    }
    torc_compact_plan_add(&plan, name_of(4, room), torc_slice_str("abc"));
    ck_assert_uint_eq(torc_compact_plan_need(&plan),
                      torc_compact_need(NULL, 5, plan.entry_bytes) - 5 + 2);
    for (size_t i = 5; i < 20; i++) {
        torc_compact_plan_add(&plan, name_of(i, room), torc_slice_str("abcd"));
    }
    ck_assert_uint_eq(plan.n_alike, 5);
    ck_assert_uint_eq(torc_compact_plan_need(&plan),
                      torc_compact_need(NULL, 20, plan.entry_bytes) - 5 + 2);
    torc_compact_plan_add(&plan, name_of(20, room), torc_slice_str("abcd"));
    torc_compact_plan_add(&plan, name_of(21, room), torc_slice_str("abcd"));
    torc_compact_plan_add(&plan, name_of(22, room), torc_slice_str("abcd"));
    torc_compact_plan_add(&plan, name_of(23, room), torc_slice_str("abcd"));
    ck_assert_uint_eq(torc_compact_plan_need(&plan),
                      torc_compact_need(NULL, 24, plan.entry_bytes)); /* 5 of 24: below a quarter */
    /* Long ones never. */
    plan = (struct torc_compact_plan){.verbatim = false};
    for (size_t i = 0; i < 20; i++) {
        char value[200];
        torc_compact_plan_add(&plan, name_of(i, room), filled(value, 108, 'x'));
    }
    ck_assert_uint_eq(torc_compact_plan_need(&plan), torc_compact_need(NULL, 20, plan.entry_bytes));
}
END_TEST

START_TEST(the_bytes_are_as_documented)
{
    /* docs/formats/compact.md, test vectors. */
    static const uint8_t expected[] = {
        0x30, 0x00, 0x2e, 0x00, 0x06, 0x00, 0x12, 0x00, /* header */
        0x01, 0x01,                                     /* common lengths */
    };
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct torc_compact_plan plan = {.verbatim = false};
    for (size_t i = 0; i < 5; i++) {
        torc_compact_plan_add(&plan, torc_slice_str(names[i]), torc_slice_str("v"));
    }
    torc_compact_plan_add(&plan, torc_slice_str("f"), torc_slice_str(""));
    ck_assert_uint_eq(torc_compact_plan_need(&plan), 46);
    uint8_t *block = malloc(46);
    ck_assert_ptr_nonnull(block);
    torc_compact_init_planned(block, 46, &plan);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(put(block, torc_slice_str(names[i]), torc_slice_str("v")), 1);
    }
    ck_assert_int_eq(put(block, torc_slice_str("f"), torc_slice_str("")), 1);
    check_block(block);
    ck_assert_mem_eq(block, expected, sizeof expected);
    static const uint8_t entries[] = {0x7e, 'a', 'v', 0x7e, 'b', 'v', 0x7e, 'c', 'v',
                                      0x7e, 'd', 'v', 0x7e, 'e', 'v', 1,    0,   'f'};
    ck_assert_uint_eq(torc_compact_used(block), 46);
    ck_assert_mem_eq(block + 28, entries, sizeof entries);
    free(block);
}
END_TEST

START_TEST(a_value_may_leave_the_common_length_and_come_back)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    static const size_t counts[] = {5, 20, 32, 33, 100};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const size_t n = counts[c];
        uint8_t *block = loaded(n, 400);
        const size_t used = torc_compact_used(block);
        for (size_t i = 0; i < n; i += 1 + n / 7) {
            for (size_t len = 0; len < NAME_BYTES - 1; len++) {
                char other[NAME_BYTES];
                ck_assert_int_eq(put(block, name_of(i, name), filled(other, len, 'x')), 0);
                ck_assert_uint_eq(torc_compact_used(block), used + (len != 16) + len - 16);
                expect(block, name_of(i, name), filled(other, len, 'x'));
                expect(block, name_of((i + 1) % n, name), value_of((i + 1) % n, 0, value));
            }
            ck_assert_int_eq(put(block, name_of(i, name), value_of(i, 0, value)), 0);
            ck_assert_uint_eq(torc_compact_used(block), used);
            /* Encoded, too: the same number of bytes, another form. */
            ck_assert_int_eq(put(block, name_of(i, name), torc_slice_str("12345678")), 0);
            expect(block, name_of(i, name), torc_slice_str("12345678"));
            ck_assert_int_eq(put(block, name_of(i, name), value_of(i, 0, value)), 0);
            check_block(block);
        }
        for (size_t i = 0; i < n; i++) {
            expect(block, name_of(i, name), value_of(i, 0, value));
        }
        free(block);
    }
}
END_TEST

START_TEST(fields_come_and_go_in_a_block_with_common_lengths)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    uint8_t *block = loaded(100, 4000);
    for (size_t i = 100; i < 200; i++) {
        ck_assert_int_eq(put(block, name_of(i, name), value_of(i, 0, value)), 1);
    }
    ck_assert_uint_eq(torc_compact_used(block), 10 + 16 + 200 * 34);
    for (size_t i = 0; i < 197; i++) {
        struct torc_slice field = name_of(i * 77 % 200, name);
        ck_assert_int_eq(torc_compact_del(block, hash_of(field), field), 1);
    }
    check_block(block);
    ck_assert(has_common(block));
    ck_assert_uint_eq(torc_compact_used(block), 10 + 3 * 34);
    for (size_t i = 197; i < 200; i++) {
        struct torc_slice field = name_of(i * 77 % 200, name);
        expect(block, field, value_of(i * 77 % 200, 0, value));
        ck_assert_int_eq(torc_compact_del(block, hash_of(field), field), 1);
    }
    check_block(block);
    ck_assert_uint_eq(torc_compact_used(block), 26);
    free(block);
}
END_TEST

START_TEST(packing_finds_the_lengths_that_most_entries_have)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    static uint8_t packed[TORC_COMPACT_MAX_BYTES];
    static const size_t counts[] = {0, 1, 4, 5, 31, 32, 33, 300, 1868};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const size_t n = counts[c];
        uint8_t *block = block_of(n, TORC_COMPACT_MAX_BYTES);
        const size_t used = torc_compact_used(block);
        ck_assert(!has_common(block));
        size_t capacity = torc_compact_pack(block, packed, 0);
        ck_assert_uint_eq(capacity, n < 5 ? used : used - n + 2);
        ck_assert_uint_ge(torc_compact_loose(block), torc_compact_capacity(block) - capacity);
        ck_assert_uint_eq(torc_compact_loose(packed), 0);
        check_block(packed);
        for (size_t i = 0; i < n; i++) {
            expect(packed, name_of(i, name), value_of(i, 0, value));
        }
        /* Again: nothing more to win. With more room: only slack. */
        ck_assert_uint_eq(torc_compact_pack(packed, block, 0), capacity);
        ck_assert_uint_eq(torc_compact_pack(packed, block, 65000), torc_max_u64(65000, capacity));
        check_block(block);
        ck_assert_uint_eq(torc_compact_used(block), capacity);
        free(block);
    }
}
END_TEST

START_TEST(packing_changes_common_lengths_that_no_longer_are)
{
    char name[NAME_BYTES];
    static uint8_t packed[TORC_COMPACT_MAX_BYTES];
    uint8_t *block = loaded(60, 4000);
    for (size_t i = 0; i < 50; i++) {
        ck_assert_int_eq(put(block, name_of(i, name), torc_slice_str("abc")), 0);
    }
    const size_t used = torc_compact_used(block);
    ck_assert_uint_eq(torc_compact_pack(block, packed, 0), used - 50 + 10);
    check_block(packed);
    ck_assert_uint_eq(packed[8], 14);
    ck_assert_uint_eq(packed[9], 3);
    for (size_t i = 0; i < 60; i++) {
        char value[NAME_BYTES];
        expect(packed, name_of(i, name), i < 50 ? torc_slice_str("abc") : value_of(i, 0, value));
    }
    /* None at all any more: the two bytes go, too. */
    for (size_t i = 0; i < 60; i++) {
        char value[200];
        ck_assert_int_eq(put(block, name_of(i, name), filled(value, i, 'y')), 0);
    }
    ck_assert_uint_eq(torc_compact_pack(block, packed, 0), torc_compact_used(block) - 2 + 1);
    ck_assert(!has_common(packed));
    check_block(packed);
    for (size_t i = 0; i < 60; i++) {
        char value[200];
        expect(packed, name_of(i, name), filled(value, i, 'y'));
    }
    free(block);
}
END_TEST

START_TEST(encoded_parts_have_common_lengths_too)
{
    struct torc_compact_plan plan = {.verbatim = false};
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "%zu", 1000 + i);
        (void)snprintf(value, sizeof value, "%zu", 100000 + i);
        torc_compact_plan_add(&plan, torc_slice_str(name), torc_slice_str(value));
    }
    ck_assert_uint_eq(plan.n_alike, 40);
    size_t need = torc_compact_plan_need(&plan);
    ck_assert_uint_eq(need, 10 + 4 + 40 * (3 + 1 + 2 + 3));
    uint8_t *block = malloc(need);
    ck_assert_ptr_nonnull(block);
    torc_compact_init_planned(block, need, &plan);
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "%zu", 1000 + i);
        (void)snprintf(value, sizeof value, "%zu", 100000 + i);
        ck_assert_int_eq(put(block, torc_slice_str(name), torc_slice_str(value)), 1);
    }
    check_block(block);
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "%zu", 1000 + i);
        (void)snprintf(value, sizeof value, "%zu", 100000 + i);
        expect(block, torc_slice_str(name), torc_slice_str(value));
    }
    free(block);
}
END_TEST

START_TEST(common_lengths_that_are_wrong_are_refused)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } cases[] = {
        {0, 0x10}, {0, 0x70}, /* form: none, reserved */
        {2, 25},              /* capacity below the least for this form */
        {8, 13},   {8, 0x7e}, {8, 0x7f}, {8, 0x80}, {8, 0xff}, /* the field's */
        {9, 15},   {9, 17},   {9, 0x7e}, {9, 0x80}, {9, 0xff}, /* the value's */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *block = loaded(6, 0);
        const size_t capacity = torc_compact_capacity(block);
        ck_assert_uint_ne(block[cases[i].at], cases[i].byte);
        block[cases[i].at] = cases[i].byte;
        ck_assert_msg(torc_compact_check(block, capacity, SEED, NULL) == -EBADMSG,
                      "case %zu was accepted", i);
        free(block);
    }
    /* Lengths in full where the common ones would do: the other way to write it. */
    uint8_t *block = loaded(6, 1);
    struct torc_compact_head head = torc_compact_head_load(block);
    uint8_t *last = block + torc_compact_entries_at(&head) + (size_t)5 * 31;
    ck_assert_uint_eq(last[0], TORC_COMPACT_AS_COMMON);
    memmove(last + 2, last + 1, 30);
    last[0] = 14;
    last[1] = 16;
    head.entry_bytes++;
    torc_compact_head_store(block, &head);
    ck_assert_int_eq(torc_compact_check(block, head.capacity, SEED, NULL), -EBADMSG);
    free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact_common");
    TCase *tcase = tcase_create("common lengths");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, fields_of_one_shape_cost_four_bytes_each_beside_their_text);
    tcase_add_test(tcase, few_fields_and_fields_of_many_shapes_have_no_common_lengths);
    tcase_add_test(tcase, the_bytes_are_as_documented);
    tcase_add_test(tcase, a_value_may_leave_the_common_length_and_come_back);
    tcase_add_test(tcase, fields_come_and_go_in_a_block_with_common_lengths);
    tcase_add_test(tcase, packing_finds_the_lengths_that_most_entries_have);
    tcase_add_test(tcase, packing_changes_common_lengths_that_no_longer_are);
    tcase_add_test(tcase, encoded_parts_have_common_lengths_too);
    tcase_add_test(tcase, common_lengths_that_are_wrong_are_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
