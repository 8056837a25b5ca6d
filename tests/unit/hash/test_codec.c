/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "hash/codec.h"
#include "tests/support/prng.h"

static struct torc_part encode(const char *text, uint8_t *room)
{
    return torc_codec_encode(torc_slice_str(text), room);
}

/* Encode, decode, compare; returns the form. */
static uint8_t round_trip(struct torc_slice text)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    uint8_t out[TORC_CODEC_TEXT_MAX];
    struct torc_part part = torc_codec_encode(text, room);
    if (part.form == TORC_FORM_RAW) {
        ck_assert_ptr_eq(part.bytes.data, text.data);
        ck_assert_uint_eq(part.bytes.len, text.len);
        return TORC_FORM_RAW;
    }
    ck_assert_uint_eq(part.bytes.len, torc_codec_form_bytes(part.form));
    ck_assert_uint_lt(part.bytes.len, text.len);
    size_t len = torc_codec_decode(part.form, part.bytes.data, out);
    ck_assert_uint_eq(len, text.len);
    ck_assert_mem_eq(out, text.data, len);
    ck_assert(torc_codec_is_canonical(part.form, part.bytes.data));
    return part.form;
}

START_TEST(canonical_decimals_of_every_width_are_kept_in_binary)
{
    static const struct {
        const char *text;
        uint8_t form;
    } rows[] = {
        {"10", TORC_FORM_NATURAL},
        {"127", TORC_FORM_NATURAL},
        {"255", TORC_FORM_NATURAL},
        {"256", TORC_FORM_NATURAL + 1},
        {"65535", TORC_FORM_NATURAL + 1},
        {"65536", TORC_FORM_NATURAL + 2},
        {"9223372036854775807", TORC_FORM_NATURAL + 7},
        {"9223372036854775808", TORC_FORM_NATURAL + 7},
        {"18446744073709551615", TORC_FORM_NATURAL + 7},
        {"-1", TORC_FORM_NEGATIVE},
        {"-256", TORC_FORM_NEGATIVE},
        {"-257", TORC_FORM_NEGATIVE + 1},
        {"-9223372036854775808", TORC_FORM_NEGATIVE + 7},
        {"-18446744073709551615", TORC_FORM_NEGATIVE + 7},
        {"-18446744073709551616", TORC_FORM_NEGATIVE + 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(round_trip(torc_slice_str(rows[i].text)) == rows[i].form, "%s", rows[i].text);
    }
}
END_TEST

START_TEST(the_bytes_are_as_documented)
{
    static const struct {
        const char *text;
        uint8_t form;
        uint8_t n_bytes;
        uint8_t bytes[TORC_CODEC_ENCODED_MAX];
    } rows[] = {
        {"10", 0, 1, {0x0a}},
        {"127", 0, 1, {0x7f}},
        {"256", 1, 2, {0x00, 0x01}},
        {"-1", 8, 1, {0x00}},
        {"-257", 9, 2, {0x00, 0x01}},
        {"123e4567-e89b-12d3-a456-426614174000",
         16,
         16,
         {0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40,
          0x00}},
        {"123e4567e89b12d3a456426614174000",
         17,
         16,
         {0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40,
          0x00}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t room[TORC_CODEC_ENCODED_MAX];
        struct torc_part part = encode(rows[i].text, room);
        ck_assert_msg(part.form == rows[i].form, "%s", rows[i].text);
        ck_assert_uint_eq(part.bytes.len, rows[i].n_bytes);
        ck_assert_mem_eq(part.bytes.data, rows[i].bytes, rows[i].n_bytes);
    }
}
END_TEST

START_TEST(text_that_decoding_would_not_print_stays_raw)
{
    static const char *const rows[] = {
        "",
        "0",
        "7",
        " 0",
        "0 ",
        "00",
        "01",
        "+3",
        "-0",
        "-",
        "--1",
        "1.0",
        "1e3",
        "0x10",
        "-01",
        "1a",
        "18446744073709551616",
        "-18446744073709551617",
        "99999999999999999999",
        "-99999999999999999999",
        "123E4567-e89b-12d3-a456-426614174000",
        "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567e-89b-12d3-a456-426614174000",
        "123E4567e89b12d3a456426614174000",
        "123e4567e89b12d3a45642661417400",
        "123e4567e89b12d3a4564266141740000",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(round_trip(torc_slice_str(rows[i])) == TORC_FORM_RAW, "%s", rows[i]);
    }
}
END_TEST

START_TEST(lowercase_uuids_take_sixteen_bytes)
{
    ck_assert_uint_eq(round_trip(torc_slice_str("123e4567-e89b-12d3-a456-426614174000")),
                      TORC_FORM_UUID);
    ck_assert_uint_eq(round_trip(torc_slice_str("123e4567e89b12d3a456426614174000")),
                      TORC_FORM_UUID_BARE);
    ck_assert_uint_eq(round_trip(torc_slice_str("00000000000000000000000000000000")),
                      TORC_FORM_UUID_BARE);
}
END_TEST

START_TEST(a_form_wider_than_needed_is_not_canonical)
{
    const uint8_t small[8] = {100};
    const uint8_t digit[1] = {7};
    ck_assert(!torc_codec_is_canonical(TORC_FORM_NATURAL + 1, small));
    ck_assert(torc_codec_is_canonical(TORC_FORM_NATURAL, small));
    ck_assert(!torc_codec_is_canonical(TORC_FORM_NATURAL, digit));
    ck_assert(!torc_codec_is_canonical(TORC_FORM_COUNT, small));
}
END_TEST

START_TEST(integers_are_read_without_text)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    int64_t value = 0;
    struct torc_part part = encode("-9223372036854775808", room);
    ck_assert(torc_codec_integer(part.form, part.bytes.data, &value));
    ck_assert_int_eq(value, INT64_MIN);
    part = encode("9223372036854775807", room);
    ck_assert(torc_codec_integer(part.form, part.bytes.data, &value));
    ck_assert_int_eq(value, INT64_MAX);
    part = encode("9223372036854775808", room);
    ck_assert(!torc_codec_integer(part.form, part.bytes.data, &value));
    part = encode("123e4567e89b12d3a456426614174000", room);
    ck_assert(!torc_codec_integer(part.form, part.bytes.data, &value));
}
END_TEST

START_TEST(random_text_near_the_forms_comes_back_exactly)
{
    static const char alphabet[] = "0123456789-abcdefAF+ .\n";
    struct torc_prng prng = {torc_test_seed(3)};
    for (uint64_t step = 0; step < torc_test_ops(200000); step++) {
        uint8_t text[48];
        size_t len = torc_prng_below(&prng, sizeof text);
        /* Mostly digits, so that many are decimals. */
        uint64_t letters = torc_prng_below(&prng, 4) == 0 ? sizeof alphabet - 1 : 10;
        for (size_t i = 0; i < len; i++) {
            text[i] = (uint8_t)alphabet[torc_prng_below(&prng, letters)];
        }
        if (len > 0 && torc_prng_below(&prng, 4) == 0) {
            text[0] = '-';
        }
        (void)round_trip(torc_slice_of(text, len));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tcase = tcase_create("codec");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, canonical_decimals_of_every_width_are_kept_in_binary);
    tcase_add_test(tcase, the_bytes_are_as_documented);
    tcase_add_test(tcase, text_that_decoding_would_not_print_stays_raw);
    tcase_add_test(tcase, lowercase_uuids_take_sixteen_bytes);
    tcase_add_test(tcase, a_form_wider_than_needed_is_not_canonical);
    tcase_add_test(tcase, integers_are_read_without_text);
    tcase_add_test(tcase, random_text_near_the_forms_comes_back_exactly);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
