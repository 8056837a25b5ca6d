/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker of compact blocks against blocks that are wrong in one way.
 */
#include "hash/compact.h"

#include "hash/compact_private.h"
#include "tests/support/compact_fixture.h"

static int verdict(const uint8_t *block, size_t bytes)
{
    const char *why = NULL;
    int rc = torc_compact_check(block, bytes, SEED, &why);
    HOLDS(rc == 0 || (rc == -EBADMSG && why != NULL));
    HOLDS(torc_compact_check(block, bytes, SEED, NULL) == rc);
    return rc;
}

START_TEST(broken_headers_are_refused)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } cases[] = {
        {0, 0x00},  {0, 0x20},  {0, 0xa0}, /* form */
        {0, 0x11},  {0, 0x12},  {0, 0x1f}, /* groups without the fields for them */
        {1, 0xff},                         /* spare beyond the capacity */
        {2, 23},    {2, 0},     {3, 1},    /* capacity below the least, above the memory */
        {4, 0},     {4, 2},     {5, 1},    /* count */
        {6, 7},     {6, 9},     {7, 1},    /* entry bytes */
        {8, 0x00},                         /* fingerprint */
        {9, 1},     {10, 0x80},            /* offset */
        {11, 2},    {12, 2},    {13, 'x'}, /* lengths and name of the entry */
        {11, 0x6c}, {11, 0x7d}, {12, 0x6c}, {12, 0x7d}, /* encoded */
        {11, 0x7e}, {11, 0x7f}, {12, 0x7e}, {12, 0x7f}, /* code points without a form */
        {11, 0x80}, {12, 0x80}, {12, 0xff}, /* two bytes for what fits one; beyond the end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *block = block_create(24);
        ck_assert_int_eq(put_text(block, "key", "val"), 1);
        ck_assert_uint_ne(block[cases[i].at], cases[i].byte);
        block[cases[i].at] = cases[i].byte;
        ck_assert_msg(verdict(block, 24) == -EBADMSG, "case %zu was accepted", i);
        free(block);
    }
    uint8_t *block = block_create(24);
    ck_assert_int_eq(verdict(block, 24), 0);
    ck_assert_int_eq(verdict(block, 23), -EBADMSG);
    ck_assert_int_eq(verdict(block, 0), -EBADMSG);
    free(block);
}
END_TEST

/* The block {"127": "127"}, its entry replaced: what else is right about it stays right. */
static int verdict_on_entry(bool verbatim, const uint8_t *entry, uint8_t entry_bytes)
{
    uint8_t *block = block_create(50);
    torc_compact_init(block, 50, verbatim);
    ck_assert_int_eq(put_text(block, "127", "127"), 1);
    struct torc_compact_head head = torc_compact_head_load(block);
    memcpy(block + torc_compact_entries_at(&head), entry, entry_bytes);
    head.entry_bytes = entry_bytes;
    torc_compact_head_store(block, &head);
    int rc = verdict(block, 50);
    free(block);
    return rc;
}

START_TEST(entries_that_are_not_written_the_one_way_are_refused)
{
    static const struct {
        const char *what;
        uint8_t bytes[24];
        uint8_t n_bytes;
        bool good;          /* in a block that encodes */
        bool good_verbatim; /* in one that does not */
    } rows[] = {
        {"raw field", {3, 3, '1', '2', '7', 'x', 'y', 'z'}, 8, false, true},
        {"raw field, number as value", {3, 2, '1', '2', '7', '1', '0'}, 7, false, true},
        {"field with a long length", {0x80, 3, 3, '1', '2', '7', 'x', 'y', 'z'}, 9, false, false},
        {"value with a long length", {3, 0x80, 3, '1', '2', '7', 'x', 'y', 'z'}, 9, false, false},
        {"encoded field", {0x6c, 3, 0x7f, 'x', 'y', 'z'}, 6, true, false},
        {"no value", {0x6c, 0, 0x7f}, 3, true, false},
        {"encoded value", {0x6c, 0x6c, 0x7f, 10}, 4, true, false},
        {"a digit encoded", {0x6c, 0x6c, 0x7f, 9}, 4, false, false},
        {"number in two bytes", {0x6c, 0x6d, 0x7f, 0, 1}, 5, true, false},
        {"number in more bytes than needed", {0x6c, 0x6d, 0x7f, 10, 0}, 5, false, false},
        {"field in more bytes than needed", {0x6d, 0, 0x7f, 0}, 4, false, false},
        {"-1", {0x6c, 0x74, 0x7f, 0}, 4, true, false},
        {"number left raw", {0x6c, 2, 0x7f, '1', '0'}, 5, false, false},
        {"code without a form", {0x6c, 0x7e, 0x7f}, 3, false, false},
        {"code without a form", {0x6c, 0x7f, 0x7f}, 3, false, false},
        {"uuid", {0x6c, 0x7c, 0x7f}, 19, true, false},
        {"bare uuid", {0x6c, 0x7d, 0x7f}, 19, true, false},
        {"uuid cut off", {0x6c, 0x7c, 0x7f}, 18, false, false},
        {"number cut off", {0x6c, 0x6d, 0x7f, 1}, 4, false, false},
        {"nothing behind the codes", {0x6c, 0x6c}, 2, false, false},
        {"length cut off", {3, 0x80}, 2, false, false},
        {"lengths cut off", {3}, 1, false, false},
        {"value cut off", {3, 4, '1', '2', '7', 'x', 'y', 'z'}, 8, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int rc = verdict_on_entry(false, rows[i].bytes, rows[i].n_bytes);
        ck_assert_msg((rc == 0) == rows[i].good, "%s: %d", rows[i].what, rc);
        rc = verdict_on_entry(true, rows[i].bytes, rows[i].n_bytes);
        ck_assert_msg((rc == 0) == rows[i].good_verbatim, "verbatim, %s: %d", rows[i].what, rc);
    }
}
END_TEST

START_TEST(another_number_of_entries_than_the_count_is_refused)
{
    uint8_t *block = block_create(100);
    ck_assert_int_eq(put_text(block, "aa", "1"), 1);
    ck_assert_int_eq(put_text(block, "ab", "2"), 1);
    struct torc_compact_head head = torc_compact_head_load(block);
    head.entry_bytes -= 5;
    torc_compact_head_store(block, &head);
    ck_assert_int_eq(verdict(block, 100), -EBADMSG);
    head.entry_bytes = 0;
    torc_compact_head_store(block, &head);
    ck_assert_int_eq(verdict(block, 100), -EBADMSG);
    head.count = 0;
    head.spare += 2;
    torc_compact_head_store(block, &head);
    ck_assert_int_eq(verdict(block, 100), 0);
    free(block);
}
END_TEST

START_TEST(a_field_that_is_there_twice_is_refused)
{
    uint8_t *block = block_create(100);
    ck_assert_int_eq(put_text(block, "aa", "1"), 1);
    ck_assert_int_eq(put_text(block, "ab", "2"), 1);
    struct torc_compact_head head = torc_compact_head_load(block);
    block[torc_compact_entries_at(&head) + 5 + 3] = 'a';
    block[torc_compact_prints_at(&head) + 1] = block[torc_compact_prints_at(&head)];
    const char *why = "";
    ck_assert_int_eq(torc_compact_check(block, 100, SEED, &why), -EBADMSG);
    ck_assert_str_eq(why, "compact: a field is there twice");
    free(block);
}
END_TEST

START_TEST(times_and_trailers_that_disagree_are_refused)
{
    static const struct {
        size_t at;
        uint8_t byte;
        bool good;
    } cases[] = {
        {0, 0x10, false},                  /* no trailer */
        {42, 0, false},                    /* no bound */
        {40, 4, true},     {40, 6, false}, /* bound earlier, later than the time */
        {46, 0, false},    {46, 2, false},    {47, 1, false}, /* number */
        {15, 4, false},    {15, 6, true},                     /* time before, after the bound */
        {19, 0xff, true},  {20, 0x40, false},                 /* later still, above the largest */
        {21, 0x7f, false},                                    /* two times */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *block = block_create(48);
        ck_assert_int_eq(put_expiring_text(block, "127", "127", 0x0102030405u), 1);
        ck_assert_int_eq(put_text(block, "a", "10"), 1);
        block[cases[i].at] = cases[i].byte;
        if (cases[i].at == 42) {
            memset(block + 40, 0, 6); /* a bound of nothing */
        }
        ck_assert_msg((verdict(block, 48) == 0) == cases[i].good, "case %zu", i);
        free(block);
    }
    /* A trailer that no entry needs. */
    uint8_t *block = block_create(48);
    ck_assert_int_eq(put_text(block, "a", "10"), 1);
    block[0] |= TORC_COMPACT_EXPIRES;
    memset(block + 40, 0, 8);
    block[40] = 1;
    ck_assert_int_eq(verdict(block, 48), -EBADMSG);
    free(block);
}
END_TEST

/* Change each byte of a block with groups in many ways: the checker refuses, or every read works.
 */
START_TEST(a_block_with_any_one_byte_changed_is_refused_or_safe)
{
    uint8_t *block = block_create(1700);
    fill_block(block, 40);
    size_t n_accepted = 0;
    for (size_t at = 0; at < 1700; at++) {
        const uint8_t old = block[at];
        for (unsigned flip = 1; flip < 256; flip += at < 16 ? 1 : 51) {
            block[at] = old ^ (uint8_t)flip;
            if (verdict(block, 1700) == 0) {
                n_accepted++;
                uint64_t position = 0;
                struct torc_pair pair;
                struct torc_pair_room room;
                struct torc_value value;
                while (torc_compact_next(block, &position, &room, &pair)) {
                    HOLDS(torc_compact_find(block, hash_of(pair.field), pair.field, 0, &value));
                }
            }
        }
        block[at] = old;
    }
    /* Bytes of values, of the spare slots and of the slack may be any. */
    ck_assert_uint_gt(n_accepted, (size_t)40 * 16);
    check_block(block);
    free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact_check");
    TCase *tcase = tcase_create("compact_check");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, broken_headers_are_refused);
    tcase_add_test(tcase, entries_that_are_not_written_the_one_way_are_refused);
    tcase_add_test(tcase, another_number_of_entries_than_the_count_is_refused);
    tcase_add_test(tcase, a_field_that_is_there_twice_is_refused);
    tcase_add_test(tcase, times_and_trailers_that_disagree_are_refused);
    tcase_add_test(tcase, a_block_with_any_one_byte_changed_is_refused_or_safe);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
