/* SPDX-License-Identifier: Apache-2.0
 *
 * HINCRBY and HINCRBYFLOAT.
 */
#include <float.h>

#include "tests/unit/tools/commands_fixture.h"

static const char no_integer[] = "ERR hash value is not an integer";
static const char overflow[] = "ERR increment or decrement would overflow";
static const char no_float[] = "ERR value is not a valid float";
static const char infinite[] = "ERR value is NaN or Infinity";
static const char no_float_field[] = "ERR hash value is not a float";
static const char float_overflow[] = "ERR increment would produce NaN or Infinity";

/* --- HINCRBY --- */

START_TEST(an_absent_field_counts_as_0)
{
    expect_integer(ASK("HINCRBY", "h", "f", "5"), 5);
    expect_integer(ASK("HINCRBY", "h", "f", "-7"), -2);
    expect_integer(ASK("HINCRBY", "h", "g", "0"), 0);
    expect_bytes(ASK("HGET", "h", "f"), "-2");
    expect_integer(ASK("HLEN", "h"), 2);
}
END_TEST

START_TEST(a_sum_that_is_no_64_bit_integer_is_refused_and_changes_nothing)
{
    static const char *const cases[][2] = {
        {"-9223372036854775484", "-10000"}, {"9223372036854775484", "10000"},
        {"9223372036854775807", "1"},       {"-9223372036854775808", "-1"},
        {"-1", "-9223372036854775808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ASK("HSET", "h", "n", cases[i][0]);
        expect_error(ASK("HINCRBY", "h", "n", cases[i][1]), overflow);
        expect_bytes(ASK("HGET", "h", "n"), cases[i][0]);
    }
    (void)ASK("HSET", "h", "n", "9223372036854775807");
    expect_integer(ASK("HINCRBY", "h", "n", "-9223372036854775808"), -1);
}
END_TEST

START_TEST(a_value_that_is_no_canonical_integer_is_refused)
{
    static const char *const values[] = {"",    " 5",  "5 ", "+5",  "007",
                                         "5.0", "abc", "-0", "0x5", "9223372036854775808"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        (void)ASK("HSET", "h", "n", values[i]);
        expect_error(ASK("HINCRBY", "h", "n", "1"), no_integer);
        expect_bytes(ASK("HGET", "h", "n"), values[i]);
    }
}
END_TEST

START_TEST(an_increment_that_fails_makes_no_key)
{
    (void)ASK("HINCRBY", "h", "n", "abc");
    (void)ASK("HINCRBY", "h", "n", "9223372036854775808");
    (void)ASK("HINCRBYFLOAT", "h", "n", "abc");
    (void)ASK("HINCRBYFLOAT", "h", "n", "nan");
    (void)ASK("HINCRBYFLOAT", "h", "n", "inf");
    expect_integer(ASK("DBSIZE"), 0);
}
END_TEST

START_TEST(a_long_field_or_sum_makes_the_hash_full)
{
    service.limits.compact_max_value = 8;
    expect_integer(ASK("HINCRBY", "a", "aaaaaaaaaaaa", "1"), 1);
    expect_bytes(ASK("OBJECT", "ENCODING", "a"), "hashtable");
    expect_bytes(ASK("HINCRBYFLOAT", "b", "f", "1.000000000005"), "1.000000000005");
    expect_bytes(ASK("OBJECT", "ENCODING", "b"), "hashtable");
    expect_integer(ASK("HINCRBY", "c", "f", "99999999"), 99999999);
    expect_bytes(ASK("OBJECT", "ENCODING", "c"), "listpack");
    expect_integer(ASK("HINCRBY", "c", "f", "1"), 100000000);
    expect_bytes(ASK("OBJECT", "ENCODING", "c"), "hashtable");
}
END_TEST

/* --- HINCRBYFLOAT --- */

/* Each line in its own hash, in both forms. */
static void expect_sum(const char *before, const char *increment, const char *sum)
{
    for (int form = 0; form < 2; form++) {
        service.limits.compact_max_entries = form == 0 ? 65535 : 0;
        (void)ASK("DEL", "h");
        if (before != NULL) {
            (void)ASK("HSET", "h", "f", before);
        }
        expect_bytes(ASK("HINCRBYFLOAT", "h", "f", increment), sum);
        expect_bytes(ASK("HGET", "h", "f"), sum);
    }
}

START_TEST(a_tenth_and_two_tenths_are_three_tenths)
{
    expect_sum(NULL, "0.1", "0.1");
    expect_sum("0.1", "0.2", "0.3");
    expect_sum("10.50", "0.1", "10.6");
}
END_TEST

START_TEST(exponents_are_read_and_never_printed)
{
    expect_sum("5.0e3", "2.0e2", "5200");
    expect_sum("3.0", "1.0", "4");
    for (int form = 0; form < 2; form++) {
        service.limits.compact_max_entries = form == 0 ? 65535 : 0;
        (void)ASK("DEL", "h");
        (void)ASK("HSET", "h", "f", "0");
        struct torc_reply reply = ASK("HINCRBYFLOAT", "h", "f", "1e300");
        ck_assert_int_eq(reply.kind, TORC_REPLY_BYTES);
        ck_assert_uint_eq(reply.bytes.len, 301);
        ck_assert_ptr_null(memchr(reply.bytes.data, 'e', reply.bytes.len));
    }
}
END_TEST

START_TEST(small_sums_keep_17_places)
{
    expect_sum("4", "1.000000000005", "5.000000000005");
    expect_sum(NULL, "1e-17", "0.00000000000000001");
    expect_sum(NULL, "1e-18", "0");
}
END_TEST

START_TEST(minus_zero_is_printed_as_0)
{
    expect_sum(NULL, "-0.0", "0");
    expect_sum("-0", "-0", "0");
    expect_sum(NULL, "-1e-18", "0");
}
END_TEST

START_TEST(hexadecimal_is_read)
{
    expect_sum("0x10", "0x10", "32");
}
END_TEST

/* What 80-bit arithmetic shows behind the point; other formats show other tails. */
START_TEST(tails_are_those_of_80_bits)
{
#if LDBL_MANT_DIG == 64
    expect_sum("1000", "0.1", "1000.09999999999999998");
    expect_sum("5200", "10.43", "5210.43000000000000016");
    expect_sum("76.52", "145.94", "222.45999999999999999");
    expect_sum("123456789.123456789", "0", "123456789.12345678899873747");
#endif
}
END_TEST

START_TEST(integers_beyond_doubles_are_exact)
{
    expect_sum("17179869184", "1.5", "17179869185.5");
#if LDBL_MANT_DIG >= 64
    expect_sum("9007199254740993", "1", "9007199254740994");
    expect_sum("99999999999999999999", "1", "100000000000000000000");
#endif
}
END_TEST

START_TEST(increments_that_are_no_numbers_are_refused)
{
    static const char *const increments[] = {"",    " 1", "1 ",     "abc",    "nan",
                                             "1,5", ".",  "1e5000", "1e-5000"};
    (void)ASK("HSET", "h", "f", "1");
    for (size_t i = 0; i < sizeof increments / sizeof increments[0]; i++) {
        expect_error(ASK("HINCRBYFLOAT", "h", "f", increments[i]), no_float);
    }
    expect_error(ASK("HINCRBYFLOAT", "h", "f", "inf"), infinite);
    expect_error(ASK("HINCRBYFLOAT", "h", "f", "-Infinity"), infinite);
    expect_bytes(ASK("HGET", "h", "f"), "1");
}
END_TEST

START_TEST(values_that_are_no_numbers_are_refused)
{
    static const char *const values[] = {"", " 1", "1 ", "abc", "nan", "1e5000"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        (void)ASK("HSET", "h", "f", values[i]);
        expect_error(ASK("HINCRBYFLOAT", "h", "f", "1"), no_float_field);
        expect_bytes(ASK("HGET", "h", "f"), values[i]);
    }
    /* The increment is looked at first. */
    expect_error(ASK("HINCRBYFLOAT", "h", "f", "x"), no_float);
}
END_TEST

START_TEST(a_sum_that_is_infinite_is_refused)
{
    (void)ASK("HSET", "h", "f", "inf", "g", "1.1e4932");
    expect_error(ASK("HINCRBYFLOAT", "h", "f", "1"), float_overflow);
#if LDBL_MAX_10_EXP == 4932
    expect_error(ASK("HINCRBYFLOAT", "h", "g", "1.1e4932"), float_overflow);
#endif
    expect_bytes(ASK("HGET", "h", "f"), "inf");
    expect_bytes(ASK("HGET", "h", "g"), "1.1e4932");
}
END_TEST

START_TEST(a_value_must_be_shorter_than_5120_bytes)
{
    static char digits[5121];
    memset(digits, '0', sizeof digits - 1);
    digits[5119] = '\0';
    (void)ASK("HSET", "h", "f", digits);
    expect_bytes(ASK("HINCRBYFLOAT", "h", "f", "1"), "1");
    digits[5119] = '0';
    (void)ASK("HSET", "h", "f", digits);
    expect_error(ASK("HINCRBYFLOAT", "h", "f", "1"), no_float_field);
}
END_TEST

int main(void)
{
    return RUN("numbers", an_absent_field_counts_as_0,
               a_sum_that_is_no_64_bit_integer_is_refused_and_changes_nothing,
               a_value_that_is_no_canonical_integer_is_refused,
               an_increment_that_fails_makes_no_key, a_long_field_or_sum_makes_the_hash_full,
               a_tenth_and_two_tenths_are_three_tenths, exponents_are_read_and_never_printed,
               small_sums_keep_17_places, minus_zero_is_printed_as_0, hexadecimal_is_read,
               tails_are_those_of_80_bits, integers_beyond_doubles_are_exact,
               increments_that_are_no_numbers_are_refused, values_that_are_no_numbers_are_refused,
               a_sum_that_is_infinite_is_refused, a_value_must_be_shorter_than_5120_bytes);
}
