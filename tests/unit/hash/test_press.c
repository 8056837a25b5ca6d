/* SPDX-License-Identifier: Apache-2.0
 *
 * The press: exactness at all lengths, what is worth it, bytes that nobody compressed, and records
 * of compressed values.
 */
#include <check.h>
#include <stdlib.h>

#include "hash/press.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/coded_text.h"

static struct torc_press *press;
static uint8_t *text;
static uint8_t *copy;
static uint8_t *block; /* of compressed() */

static void setup(void)
{
    press = torc_press_create();
    text = malloc(TORC_PRESS_TEXT_MAX + 2);
    copy = malloc(TORC_PRESS_TEXT_MAX + 2);
    ck_assert(press != NULL && text != NULL && copy != NULL);
}

static void teardown(void)
{
    torc_press_destroy(press);
    free(text);
    free(copy);
}

/* Compress the first `len` bytes of `text` and put them into a block of their own; data NULL: they
 * stay as they are. The caller frees it: `block`. */
static struct torc_part compressed(size_t len)
{
    struct torc_part part = torc_part_raw(torc_slice_of(text, len));
    block = NULL;
    if (torc_press_compress(press, &part)) {
        ck_assert_uint_eq(part.form, TORC_FORM_COMPRESSED);
        ck_assert_uint_eq(part.text_len, len);
        ck_assert(torc_press_is_worth(len, part.bytes.len));
        block = malloc(part.bytes.len);
        ck_assert_ptr_nonnull(block);
        memcpy(block, part.bytes.data, part.bytes.len);
    } else {
        ck_assert_uint_eq(part.form, TORC_FORM_RAW);
        ck_assert(part.bytes.data == text && part.bytes.len == len);
    }
    part.bytes.data = block;
    return part;
}

/* True if it was compressed; then it came back as it was. */
static bool round_trip(size_t len)
{
    struct torc_part part = compressed(len);
    if (part.bytes.data == NULL) {
        return false;
    }
    struct torc_slice back = torc_press_expand(press, part);
    ck_assert(torc_slice_equal(back, torc_slice_of(text, len)));
    ck_assert(torc_press_is_sound(&part, copy));
    ck_assert(memcmp(copy, text, len) == 0);
    free(block);
    return true;
}

START_TEST(every_text_comes_back_as_it_was)
{
    struct torc_prng prng = {torc_test_seed(31)};
    unsigned n_compressed = 0;
    for (int i = 0; i < 6000; i++) {
        size_t len = i < 3000 ? (size_t)i / 4 : torc_prng_below(&prng, 1u << (6 + i % 12));
        torc_compressible_fill(&prng, text, len);
        n_compressed += round_trip(len);
    }
    ck_assert_uint_gt(n_compressed, 1500);
    ck_assert_uint_lt(n_compressed, 4500);
}
END_TEST

START_TEST(only_lengths_in_bounds_are_compressed)
{
    memset(text, 'a', TORC_PRESS_TEXT_MAX + 1);
    ck_assert(!round_trip(0));
    ck_assert(!round_trip(TORC_PRESS_TEXT_MIN - 1));
    ck_assert(round_trip(TORC_PRESS_TEXT_MIN));
    ck_assert(round_trip(TORC_PRESS_TEXT_MAX));
    ck_assert(!round_trip(TORC_PRESS_TEXT_MAX + 1));
    press->min_bytes = 1000;
    ck_assert(!round_trip(999));
    ck_assert(round_trip(1000));
    /* What the codec has encoded is none of its business. */
    struct torc_part part = {.form = TORC_FORM_UUID, .bytes = torc_slice_of(text, 2000)};
    ck_assert(!torc_press_compress(press, &part));
    ck_assert_uint_eq(part.form, TORC_FORM_UUID);
}
END_TEST

START_TEST(what_wins_less_than_an_eighth_stays_as_it_is)
{
    ck_assert(torc_press_is_worth(64, 56));
    ck_assert(!torc_press_is_worth(64, 57));
    ck_assert(!torc_press_is_worth(64, 0));
    ck_assert(!torc_press_is_worth(63, 20));
    ck_assert(torc_press_is_worth(TORC_PRESS_TEXT_MAX, 5000));
    ck_assert(!torc_press_is_worth(TORC_PRESS_TEXT_MAX + 1, 5000));
    /* So many bytes that repeat, after noise: the more of them, the more is won. */
    struct torc_prng prng = {torc_test_seed(32)};
    size_t least = 0;
    for (size_t i = 0; i < 1000; i++) {
        text[i] = (uint8_t)torc_prng_next(&prng);
    }
    for (size_t same = 0; same <= 400; same++) {
        memset(text + 1000 - same, 'a', same);
        bool was = round_trip(1000);
        ck_assert_msg(least == 0 || was, "%zu", same);
        least = was && least == 0 ? same : least;
    }
    ck_assert_uint_ge(least, 125);
    ck_assert_uint_le(least, 160);
}
END_TEST

START_TEST(texts_live_side_by_side_until_they_are_forgotten)
{
    enum { N = 20, LEN = 50000 };
    struct torc_slice texts[N];
    memset(text, 'a', LEN);
    struct torc_part part = compressed(LEN);
    for (int i = 0; i < N; i++) {
        texts[i] = torc_press_expand(press, part);
    }
    for (int i = 0; i < N; i++) {
        ck_assert(torc_slice_equal(texts[i], torc_slice_of(text, LEN)));
        ck_assert(i == 0 || texts[i].data == texts[i - 1].data + LEN);
    }
    ck_assert(!torc_press_is_used_up(press));
    (void)torc_press_expand(press, part);
    ck_assert(torc_press_is_used_up(press));
    torc_press_forget(press);
    ck_assert(torc_press_expand(press, part).data == texts[0].data);
    free(block);
}
END_TEST

START_TEST(bytes_that_nobody_compressed_are_found_out)
{
    struct torc_prng prng = {torc_test_seed(33)};
    unsigned n_sound = 0;
    for (int i = 0; i < 20000; i++) {
        size_t len = 64 + torc_prng_below(&prng, 500);
        memset(text, 'b', len);
        struct torc_part part = compressed(len);
        uint8_t *data = block;
        uint8_t *room = malloc(len + 64);
        ck_assert(data != NULL && room != NULL);
        switch (i % 3) {
        case 0:
            data[torc_prng_below(&prng, part.bytes.len)] ^= (uint8_t)(1 + i % 255);
            break;
        case 1:
            part.text_len += 1;
            break;
        default:
            for (size_t k = 0; k < part.bytes.len; k++) {
                data[k] = (uint8_t)torc_prng_next(&prng);
            }
        }
        /* Other bytes may be the right ones for another text, but never for another length; that
         * nothing is read or written outside is the sanitizer's to see. */
        bool sound = torc_press_is_sound(&part, room);
        ck_assert(i % 3 != 1 || !sound);
        n_sound += sound;
        free(room);
        free(data);
    }
    ck_assert_uint_lt(n_sound, 12000);
}
END_TEST

START_TEST(a_record_of_a_compressed_value_is_measured_and_parsed)
{
    static const size_t field_lens[] = {0, 31, 32, 191, 192, 9000};
    static const size_t text_lens[] = {64, 191, 192, 8383, 8384, 70000};
    struct torc_prng prng = {torc_test_seed(34)};
    uint8_t *name = malloc(9000);
    ck_assert_ptr_nonnull(name);
    memset(name, 'n', 9000);
    for (unsigned i = 0; i < 6 * 6 * 4; i++) {
        struct torc_slice field = torc_slice_of(name, field_lens[i % 6]);
        size_t len = text_lens[i / 6 % 6];
        uint64_t owner = i / 36 % 2 != 0 ? 0x1234560 : TORC_REF_NONE;
        memset(text, 'a', len);
        for (size_t k = 0; i / 72 != 0 && k < len / 2; k++) {
            text[k] = (uint8_t)torc_prng_next(&prng);
        }
        struct torc_part part = compressed(len);
        ck_assert_ptr_nonnull(part.bytes.data);
        uint64_t bytes = torc_record_field_bytes(owner != 0, false, field.len, part.bytes.len) +
                         torc_record_compressed_extra(&part);
        uint8_t *record = malloc(bytes);
        struct torc_part stored;
        struct torc_record_view view;
        ck_assert_ptr_nonnull(record);
        torc_record_write_field(record, owner, TORC_EXPIRY_NONE, field, &part);
        ck_assert_uint_eq(torc_record_bytes(record), bytes);
        ck_assert(torc_slice_equal(torc_record_name(record), field));
        ck_assert(torc_slice_equal(torc_record_field(record, &stored), field));
        ck_assert_uint_eq(stored.form, TORC_FORM_COMPRESSED);
        ck_assert_uint_eq(stored.text_len, len);
        ck_assert(torc_slice_equal(stored.bytes, part.bytes));
        ck_assert_int_eq(torc_record_parse(record, bytes, &view), 0);
        ck_assert_uint_eq(view.bytes, bytes);
        ck_assert_uint_eq(view.form, TORC_FORM_COMPRESSED);
        ck_assert_uint_eq(view.text_len, len);
        ck_assert_uint_eq(view.owner, owner);
        ck_assert(torc_slice_equal(view.name, field));
        ck_assert(torc_slice_equal(view.payload, part.bytes));
        ck_assert_int_eq(torc_record_parse(record, bytes - 1, &view), -EBADMSG);
        free(record);
        free(block);
    }
    free(name);
}
END_TEST

START_TEST(the_example_of_the_format_expands)
{
    /* docs/formats/record.md */
    static const uint8_t record[] = {0x21, 0xf3, 0x0b, 0x64, 'f',  0x1f, 0x61, 0x01,
                                     0x00, 0x4b, 0x50, 0x61, 0x61, 0x61, 0x61, 0x61};
    struct torc_record_view view;
    struct torc_part stored;
    ck_assert_int_eq(torc_record_parse(record, sizeof(record), &view), 0);
    ck_assert_uint_eq(view.bytes, sizeof(record));
    ck_assert(torc_slice_equal(torc_record_field(record, &stored), torc_slice_str("f")));
    memset(text, 'a', 100);
    ck_assert(torc_slice_equal(torc_press_expand(press, stored), torc_slice_of(text, 100)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("press");
    TCase *tcase = tcase_create("press");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, every_text_comes_back_as_it_was);
    tcase_add_test(tcase, only_lengths_in_bounds_are_compressed);
    tcase_add_test(tcase, what_wins_less_than_an_eighth_stays_as_it_is);
    tcase_add_test(tcase, texts_live_side_by_side_until_they_are_forgotten);
    tcase_add_test(tcase, bytes_that_nobody_compressed_are_found_out);
    tcase_add_test(tcase, a_record_of_a_compressed_value_is_measured_and_parsed);
    tcase_add_test(tcase, the_example_of_the_format_expands);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
