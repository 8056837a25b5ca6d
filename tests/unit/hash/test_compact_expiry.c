/* SPDX-License-Identifier: Apache-2.0
 *
 * Compact blocks whose fields end at a time.
 */
#include "hash/compact.h"

#include "hash/compact_private.h"
#include "tests/support/compact_fixture.h"

static uint8_t scratch[TORC_COMPACT_MAX_BYTES];

static bool is_there(const uint8_t *block, const char *name, uint64_t now)
{
    struct torc_value value;
    const struct torc_slice field = torc_slice_str(name);
    const uint64_t hash = hash_of(field);
    const bool found = torc_compact_find(block, hash, field, now, &value);
    ck_assert_uint_eq(torc_compact_find_many(block, 1, &hash, &field, now, &value), found);
    return found;
}

static uint64_t time_of(const uint8_t *block, const char *name)
{
    uint64_t when = 0;
    const struct torc_slice field = torc_slice_str(name);
    ck_assert(torc_compact_expiry(block, hash_of(field), field, &when));
    return when;
}

static int set_time(uint8_t *block, const char *name, uint64_t when)
{
    const struct torc_slice field = torc_slice_str(name);
    int rc = torc_compact_set_expiry(block, hash_of(field), field, when);
    check_block(block);
    return rc;
}

START_TEST(the_bytes_are_as_documented)
{
    static const uint8_t bytes[] = {
        0x50, 0,    48,   0,    2, 0, 15, 0, /* header */
        0x26, 0x20,                          /* fingerprints */
        11,   0,    0,    0,                 /* offsets */
        0x7f, 5,    4,    3,    2, 1, 0,     /* time */
        0x6c, 0x6c, 0x7f, 0x7f,              /* and the rest of the entry */
        1,    0x6c, 'a',  10,                /* entry */
    };
    static const uint8_t trailer[] = {5, 4, 3, 2, 1, 0, 1, 0};
    uint8_t *block = block_create(48);
    ck_assert_int_eq(put_expiring_text(block, "127", "127", 0x0102030405u), 1);
    ck_assert_int_eq(put_text(block, "a", "10"), 1);
    ck_assert_mem_eq(block, bytes, sizeof bytes);
    ck_assert_mem_eq(block + 40, trailer, sizeof trailer);
    free(block);
}
END_TEST

START_TEST(a_field_is_absent_from_its_time_on)
{
    uint8_t *block = block_create(200);
    ck_assert_int_eq(put_expiring_text(block, "short", "value", 1000), 1);
    ck_assert_int_eq(put_expiring_text(block, "300", "256", 1001), 1);
    ck_assert_int_eq(put_text(block, "lasting", "value"), 1);
    ck_assert(is_there(block, "short", 0) && is_there(block, "short", 999));
    ck_assert(!is_there(block, "short", 1000) && is_there(block, "300", 1000));
    ck_assert(!is_there(block, "300", 1001));
    ck_assert(is_there(block, "lasting", TORC_EXPIRY_MAX));
    ck_assert_uint_eq(torc_compact_due(block), 1000);
    ck_assert_uint_eq(torc_compact_n_expiring(block), 2);
    ck_assert_uint_eq(torc_compact_reap(block, scratch, 999), 0);
    ck_assert_uint_eq(torc_compact_reap(block, scratch, 1000), 1);
    check_block(block);
    ck_assert_uint_eq(torc_compact_due(block), 1001);
    ck_assert_uint_eq(torc_compact_reap(block, scratch, 5000), 1);
    check_block(block);
    ck_assert_uint_eq(torc_compact_count(block), 1);
    ck_assert(!torc_compact_expires(block));
    ck_assert_uint_eq(torc_compact_due(block), TORC_EXPIRY_NEVER);
    free(block);
}
END_TEST

START_TEST(a_put_removes_keeps_or_sets_the_time)
{
    uint8_t *block = block_create(100);
    ck_assert_int_eq(put_expiring_text(block, "f", "one", 10), 1);
    const size_t with_time = torc_compact_used(block);
    ck_assert_int_eq(put_expiring_text(block, "f", "two", TORC_EXPIRY_KEEP), 0);
    ck_assert_uint_eq(time_of(block, "f"), 10);
    ck_assert_int_eq(put_expiring_text(block, "f", "six", 20), 0);
    ck_assert_uint_eq(time_of(block, "f"), 20);
    ck_assert_uint_eq(torc_compact_due(block), 20);
    ck_assert_int_eq(put_expiring_text(block, "f", "longer", TORC_EXPIRY_KEEP), 0);
    ck_assert_uint_eq(time_of(block, "f"), 20);
    ck_assert_uint_eq(torc_compact_used(block), with_time + 3);
    ck_assert_int_eq(put_text(block, "f", "one"), 0);
    ck_assert_uint_eq(time_of(block, "f"), TORC_EXPIRY_NONE);
    ck_assert_uint_eq(block[0], 0x10);
    ck_assert_int_eq(put_expiring_text(block, "new", "one", TORC_EXPIRY_KEEP), 1);
    ck_assert_uint_eq(block[0], 0x10);
    free(block);
}
END_TEST

START_TEST(a_time_needs_room_and_gives_it_back)
{
    uint8_t *block = block_create(8 + 3 * 3 + 3 * 12);
    ck_assert_int_eq(put_text(block, "aa", "a value."), 1);
    ck_assert_int_eq(put_text(block, "bb", "a value."), 1);
    ck_assert_int_eq(put_text(block, "cc", "a value."), 1);
    const size_t full = torc_compact_capacity(block);
    ck_assert_uint_eq(torc_compact_used(block), full);
    ck_assert_int_eq(set_time(block, "aa", 5), -ENOSPC);
    ck_assert_int_eq(set_time(block, "zz", 5), -ENOENT);
    uint8_t *larger = block_create(full + TORC_COMPACT_EXPIRY_BYTES + TORC_COMPACT_TRAILER_BYTES);
    ck_assert_int_eq(torc_compact_copy(block, larger, full + 15), 0);
    ck_assert_int_eq(set_time(larger, "bb", TORC_EXPIRY_MAX), 0);
    ck_assert_int_eq(set_time(larger, "cc", 5), -ENOSPC);
    ck_assert_int_eq(set_time(larger, "bb", 3), 0);
    ck_assert_uint_eq(torc_compact_used(larger), full + 15);
    ck_assert_int_eq(set_time(larger, "bb", TORC_EXPIRY_NONE), 0);
    ck_assert_uint_eq(torc_compact_used(larger), full);
    expect(larger, torc_slice_str("bb"), torc_slice_str("a value."));
    free(larger);
    free(block);
}
END_TEST

/* Most of a block with groups goes at once: groups merge, what stays is in its order. */
START_TEST(many_past_fields_go_in_one_step)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    for (size_t i = 0; i < 1000; i++) {
        const struct torc_slice field = name_of(i, name);
        HOLDS(torc_compact_put_expiring(block, SEED, hash_of(field), field, value_of(i, 0, value),
                                        i % 100 == 7 ? 900 + i : 1 + i % 50) == 1);
    }
    check_block(block);
    ck_assert_uint_eq(torc_compact_reap(block, scratch, 800), 990);
    check_block(block);
    ck_assert_uint_eq(torc_compact_due(block), 907);
    ck_assert_uint_eq(torc_compact_count(block), 10);
    uint64_t position = 0;
    struct torc_pair pair;
    struct torc_pair_room room;
    for (size_t i = 7; i < 1000; i += 100) {
        HOLDS(torc_compact_next(block, &position, &room, &pair));
        HOLDS(torc_slice_equal(pair.field, name_of(i, name)) && room.expiry == 900 + i);
        expect(block, name_of(i, name), value_of(i, 0, value));
    }
    ck_assert_uint_eq(torc_compact_reap(block, scratch, 2000), 10);
    check_block(block);
    ck_assert_uint_eq(torc_compact_used(block), torc_compact_empty_bytes());
    free(block);
}
END_TEST

START_TEST(a_plan_leaves_room_for_times)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    struct torc_compact_plan plan = {.verbatim = false};
    for (size_t i = 0; i < 40; i++) {
        torc_compact_plan_add(&plan, name_of(i, name), value_of(i, 0, value));
    }
    plan.n_expiring = 40;
    const size_t need = torc_compact_plan_need(&plan);
    uint8_t *block = block_create(need);
    torc_compact_init_planned(block, need, &plan);
    for (size_t i = 0; i < 40; i++) {
        const struct torc_slice field = name_of(i, name);
        HOLDS(torc_compact_put_expiring(block, SEED, hash_of(field), field, value_of(i, 0, value),
                                        1 + i) == 1);
    }
    check_block(block);
    ck_assert_uint_eq(torc_compact_used(block), need);
    free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact_expiry");
    TCase *tcase = tcase_create("compact_expiry");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_bytes_are_as_documented);
    tcase_add_test(tcase, a_field_is_absent_from_its_time_on);
    tcase_add_test(tcase, a_put_removes_keeps_or_sets_the_time);
    tcase_add_test(tcase, a_time_needs_room_and_gives_it_back);
    tcase_add_test(tcase, many_past_fields_go_in_one_step);
    tcase_add_test(tcase, a_plan_leaves_room_for_times);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
