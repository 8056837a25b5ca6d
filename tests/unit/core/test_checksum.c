/* SPDX-License-Identifier: Apache-2.0
 *
 * Against published vectors, and against bit-by-bit versions at every length and misalignment.
 */
#include "core/checksum.h"

#include <check.h>
#include <stdlib.h>

#include "tests/support/prng.h"

/* One bit at a time, from the reflected polynomials. */
static uint32_t slow_crc32c(uint32_t crc, const uint8_t *data, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
        }
    }
    return ~crc;
}

static uint64_t slow_crc64(uint64_t crc, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x95ac9329ac4bc9b5ull : 0);
        }
    }
    return crc;
}

START_TEST(crc32c_of_the_digits_is_the_published_value)
{
    ck_assert_uint_eq(torc_crc32c(0, "123456789", 9), 0xe3069283u);
}
END_TEST

START_TEST(crc32c_agrees_with_the_vectors_of_rfc_3720)
{
    uint8_t bytes[32];
    memset(bytes, 0, sizeof bytes);
    ck_assert_uint_eq(torc_crc32c(0, bytes, sizeof bytes), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(torc_crc32c(0, bytes, sizeof bytes), 0x62a8ab43u);
    for (uint8_t i = 0; i < 32; i++) {
        bytes[i] = i;
    }
    ck_assert_uint_eq(torc_crc32c(0, bytes, sizeof bytes), 0x46dd794eu);
}
END_TEST

START_TEST(crc64_of_the_digits_is_that_of_redis)
{
    ck_assert_uint_eq(torc_crc64(0, "123456789", 9), 0xe9c6d914c4b8d9caull);
}
END_TEST

START_TEST(nothing_leaves_a_checksum_as_it_was)
{
    ck_assert_uint_eq(torc_crc32c(0, NULL, 0), 0);
    ck_assert_uint_eq(torc_crc32c(0x12345678, NULL, 0), 0x12345678);
    ck_assert_uint_eq(torc_crc64(0, NULL, 0), 0);
    ck_assert_uint_eq(torc_crc64(0x123456789abcdef0, NULL, 0), 0x123456789abcdef0);
}
END_TEST

START_TEST(every_length_and_misalignment_agrees_with_the_slow_version)
{
    struct torc_prng prng = {.state = 64};
    uint8_t bytes[600];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)torc_prng_next(&prng);
    }
    for (size_t shift = 0; shift < 16; shift++) {
        for (size_t len = 0; len + shift <= 560; len += len < 300 ? 1 : 13) {
            const uint8_t *data = bytes + shift;
            ck_assert_uint_eq(torc_crc32c(0, data, len), slow_crc32c(0, data, len));
            ck_assert_uint_eq(torc_crc64(0, data, len), slow_crc64(0, data, len));
        }
    }
}
END_TEST

START_TEST(parts_chain_to_the_checksum_of_the_whole)
{
    struct torc_prng prng = {.state = 46};
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)torc_prng_next(&prng);
    }
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        size_t rest = sizeof bytes - cut;
        ck_assert_uint_eq(torc_crc32c(torc_crc32c(0, bytes, cut), bytes + cut, rest),
                          torc_crc32c(0, bytes, sizeof bytes));
        ck_assert_uint_eq(torc_crc64(torc_crc64(0, bytes, cut), bytes + cut, rest),
                          torc_crc64(0, bytes, sizeof bytes));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checksum");
    TCase *tcase = tcase_create("checksum");
    tcase_add_test(tcase, crc32c_of_the_digits_is_the_published_value);
    tcase_add_test(tcase, crc32c_agrees_with_the_vectors_of_rfc_3720);
    tcase_add_test(tcase, crc64_of_the_digits_is_that_of_redis);
    tcase_add_test(tcase, nothing_leaves_a_checksum_as_it_was);
    tcase_add_test(tcase, every_length_and_misalignment_agrees_with_the_slow_version);
    tcase_add_test(tcase, parts_chain_to_the_checksum_of_the_whole);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
