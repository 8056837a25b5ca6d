/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hashing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(the_hash_is_xxh3_with_that_seed)
{
    /* Published sanity values of XXH3_64bits: the empty input, without and with a seed. */
    ck_assert_uint_eq(torc_hash_bytes(0, "", 0), 0x2d06800538d394c2ull);
    ck_assert_uint_eq(torc_hash_bytes(0x9e3779b185ebca8dull, "", 0), 0xa8a6b918b2f0364aull);
}
END_TEST

START_TEST(a_slice_hashes_as_its_bytes)
{
    ck_assert_uint_eq(torc_hash_slice(7, torc_slice_str("field")), torc_hash_bytes(7, "field", 5));
    ck_assert_uint_eq(torc_hash_slice(7, torc_slice_of(NULL, 0)), torc_hash_bytes(7, "", 0));
}
END_TEST

START_TEST(another_seed_is_another_hash_at_every_length)
{
    char name[300];
    memset(name, 'n', sizeof name);
    for (size_t len = 0; len <= sizeof name; len++) {
        ck_assert_uint_eq(torc_hash_bytes(1, name, len), torc_hash_bytes(1, name, len));
        ck_assert_uint_ne(torc_hash_bytes(1, name, len), torc_hash_bytes(2, name, len));
    }
}
END_TEST

START_TEST(bytes_behind_the_length_do_not_matter)
{
    ck_assert_uint_eq(torc_hash_bytes(3, "abcX", 3), torc_hash_bytes(3, "abcY", 3));
    ck_assert_uint_ne(torc_hash_bytes(3, "abcX", 4), torc_hash_bytes(3, "abcY", 4));
    ck_assert_uint_ne(torc_hash_bytes(3, "a\0b", 3), torc_hash_bytes(3, "a\0c", 3));
}
END_TEST

START_TEST(fingerprint_and_group_take_bits_of_their_own)
{
    ck_assert_uint_eq(torc_hash_fingerprint(0x1122334455667788ull), 0x88);
    ck_assert_uint_eq(torc_hash_group(0x1122334455667788ull), 0x6677);
    ck_assert_uint_eq(torc_hash_fingerprint(0xffffffffffffff00ull), 0);
    ck_assert_uint_eq(torc_hash_group(0xffffffffff0000ffull), 0);
}
END_TEST

START_TEST(names_that_count_up_spread_over_fingerprints_groups_and_high_bits)
{
    unsigned fingerprints[256] = {0};
    unsigned groups[256] = {0};
    unsigned highs[256] = {0};
    for (int i = 0; i < 65536; i++) {
        char name[24];
        int len = snprintf(name, sizeof name, "user:%08d", i);
        uint64_t hash = torc_hash_bytes(0x5eed, name, (size_t)len);
        fingerprints[torc_hash_fingerprint(hash)]++;
        groups[torc_hash_group(hash) >> 8]++;
        highs[hash >> 56]++;
    }
    /* 256 expected in each; the standard deviation is 16, and seven of them is never by chance. */
    for (int i = 0; i < 256; i++) {
        ck_assert_uint_gt(fingerprints[i], 256 - 112);
        ck_assert_uint_lt(fingerprints[i], 256 + 112);
        ck_assert_uint_gt(groups[i], 256 - 112);
        ck_assert_uint_lt(groups[i], 256 + 112);
        ck_assert_uint_gt(highs[i], 256 - 112);
        ck_assert_uint_lt(highs[i], 256 + 112);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hashing");
    TCase *tcase = tcase_create("hashing");
    tcase_add_test(tcase, the_hash_is_xxh3_with_that_seed);
    tcase_add_test(tcase, a_slice_hashes_as_its_bytes);
    tcase_add_test(tcase, another_seed_is_another_hash_at_every_length);
    tcase_add_test(tcase, bytes_behind_the_length_do_not_matter);
    tcase_add_test(tcase, fingerprint_and_group_take_bits_of_their_own);
    tcase_add_test(tcase, names_that_count_up_spread_over_fingerprints_groups_and_high_bits);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
