/* SPDX-License-Identifier: Apache-2.0
 *
 * HRANDFIELD and RANDOMKEY: fair, distinct where they must be, one reply whatever the count.
 */
#include "tests/unit/tools/commands_fixture.h"

#define FIELDS 100u

static uint32_t hits[100000];

/* Count the picks of a reply; each field is a number below `end`. */
static void count_picks(const struct torc_reply *reply, unsigned end)
{
    for (uint32_t i = 0; i < reply->count; i++) {
        hits[number_of(torc_reply_at(reply, i), end)]++;
    }
}

/* Chi-square of n counts that should be equal. */
static double unevenness(unsigned n)
{
    double sum = 0;
    double total = 0;
    for (unsigned i = 0; i < n; i++) {
        total += hits[i];
    }
    double expected = total / n;
    for (unsigned i = 0; i < n; i++) {
        double off = hits[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

/* 99 degrees of freedom: above 200 by chance once in 10^8 runs. */
#define UNEVENNESS_MAX 200.0

static void expect_even_picks(void)
{
    memset(hits, 0, sizeof hits);
    for (int round = 0; round < 100; round++) {
        struct torc_reply reply = ASK("HRANDFIELD", "h", "-1000");
        ck_assert_int_eq(reply.kind, TORC_REPLY_ARRAY);
        ck_assert_uint_eq(reply.count, 1000);
        count_picks(&reply, FIELDS);
    }
    ck_assert_double_lt(unevenness(FIELDS), UNEVENNESS_MAX);
    memset(hits, 0, sizeof hits);
    for (int round = 0; round < 20000; round++) {
        struct torc_reply reply = ASK("HRANDFIELD", "h");
        REQUIRE(reply.kind == TORC_REPLY_BYTES);
        hits[number_of(reply.bytes, FIELDS)]++;
    }
    ck_assert_double_lt(unevenness(FIELDS), UNEVENNESS_MAX);
}

START_TEST(picks_from_a_compact_hash_are_fair)
{
    change_fields("HSET", 0, FIELDS);
    expect_bytes(ASK("OBJECT", "ENCODING", "h"), "listpack");
    expect_even_picks();
}
END_TEST

START_TEST(picks_from_a_full_hash_are_fair)
{
    use_full_hashes();
    change_fields("HSET", 0, FIELDS);
    expect_bytes(ASK("OBJECT", "ENCODING", "h"), "hashtable");
    expect_even_picks();
}
END_TEST

START_TEST(picks_from_a_hash_that_was_large_are_fair)
{
    change_fields("HSET", 0, 100000);
    change_fields("HDEL", FIELDS, 100000);
    expect_integer(ASK("HLEN", "h"), FIELDS);
    expect_even_picks();
    while (torc_keyspace_settle(service.keyspace, false, 1000)) {
    }
    expect_even_picks();
}
END_TEST

/* Ask for k of n fields: the answer has min(k, n) different ones, and values where asked for. */
static void expect_distinct(unsigned n, unsigned k, bool with_values)
{
    char count[16];
    (void)snprintf(count, sizeof count, "%u", k);
    struct torc_reply reply =
        with_values ? ASK("HRANDFIELD", "h", count, "WITHVALUES") : ASK("HRANDFIELD", "h", count);
    unsigned per_field = with_values ? 2 : 1;
    ck_assert_int_eq(reply.kind, with_values ? TORC_REPLY_PAIRS : TORC_REPLY_ARRAY);
    ck_assert_uint_eq(reply.count, (uint64_t)per_field * (k < n ? k : n));
    memset(hits, 0, n * sizeof hits[0]);
    for (uint32_t i = 0; i < reply.count; i += per_field) {
        REQUIRE(hits[number_of(torc_reply_at(&reply, i), n)]++ == 0);
        if (with_values) {
            REQUIRE(torc_slice_equal(torc_reply_at(&reply, i + 1), torc_slice_str("v")));
        }
    }
}

static void expect_distinct_up_to(unsigned n_max)
{
    for (unsigned n = 1; n <= n_max; n = n * 3 + 1) {
        change_fields("HSET", 0, n);
        const unsigned counts[] = {0, 1, 2, n / 8, n / 4, n / 4 + 1, n / 2, n - 1, n, n + 1, 2 * n};
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            expect_distinct(n, counts[i], false);
            expect_distinct(n, counts[i], true);
        }
    }
}

START_TEST(a_count_gives_different_fields_of_a_compact_hash)
{
    expect_distinct_up_to(2000);
}
END_TEST

START_TEST(a_count_gives_different_fields_of_a_full_hash)
{
    use_full_hashes();
    expect_distinct_up_to(100000);
}
END_TEST

START_TEST(each_field_is_as_likely_to_be_among_distinct_ones)
{
    /* Drawn with a set on the stack, drawn with one on the heap would need more fields, walked. */
    static const char *const counts[] = {"10", "25", "60", "99"};
    for (int form = 0; form < 2; form++) {
        service.limits.compact_max_entries = form == 0 ? 65535 : 0;
        (void)ASK("DEL", "h");
        change_fields("HSET", 0, FIELDS);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            memset(hits, 0, sizeof hits);
            for (int round = 0; round < 5000; round++) {
                struct torc_reply reply = ASK("HRANDFIELD", "h", counts[c]);
                count_picks(&reply, FIELDS);
            }
            /* Picks of one reply shun each other, which only makes the counts more even. */
            ck_assert_double_lt(unevenness(FIELDS), UNEVENNESS_MAX);
        }
    }
}
END_TEST

START_TEST(the_form_of_the_reply_depends_on_the_words_alone)
{
    (void)ASK("HSET", "h", "f", "v");
    ck_assert_int_eq(ASK("HRANDFIELD", "h").kind, TORC_REPLY_BYTES);
    ck_assert_int_eq(ASK("HRANDFIELD", "h", "1").kind, TORC_REPLY_ARRAY);
    ck_assert_int_eq(ASK("HRANDFIELD", "h", "-1").kind, TORC_REPLY_ARRAY);
    ck_assert_int_eq(ASK("HRANDFIELD", "h", "0").kind, TORC_REPLY_ARRAY);
    ck_assert_int_eq(ASK("HRANDFIELD", "h", "1", "WITHVALUES").kind, TORC_REPLY_PAIRS);
    ck_assert_int_eq(ASK("HRANDFIELD", "none").kind, TORC_REPLY_NULL);
    ck_assert_int_eq(ASK("HRANDFIELD", "none", "1").kind, TORC_REPLY_ARRAY);
    ck_assert_int_eq(ASK("HRANDFIELD", "none", "-5", "WITHVALUES").kind, TORC_REPLY_PAIRS);
}
END_TEST

START_TEST(every_count_has_one_reply)
{
    static const int64_t sizes[] = {0,
                                    1,
                                    INT64_C(1) << 29,
                                    INT64_C(1) << 30,
                                    INT32_MAX,
                                    INT64_C(1) << 31,
                                    UINT32_MAX,
                                    INT64_C(1) << 32,
                                    INT64_C(1) << 61,
                                    INT64_MAX / 2,
                                    INT64_C(1) << 62,
                                    INT64_MAX - 1,
                                    INT64_MAX};
    (void)ASK("HSET", "h", "a", "1", "b", "2", "c", "3");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char count[24];
        (void)snprintf(count, sizeof count, "%lld", (long long)sizes[i]);
        struct torc_reply reply = ASK("HRANDFIELD", "h", count);
        ck_assert_int_eq(reply.kind, TORC_REPLY_ARRAY);
        ck_assert_uint_eq(reply.count, sizes[i] < 3 ? (uint32_t)sizes[i] : 3);
        (void)snprintf(count, sizeof count, "%lld", (long long)-sizes[i]);
        reply = ASK("HRANDFIELD", "h", count);
        if (sizes[i] > 1) {
            expect_error(reply, "ERR reply exceeds the session's limit (session-long-message-max)");
        } else {
            ck_assert_int_eq(reply.count, sizes[i]);
        }
        reply = ASK("HRANDFIELD", "h", count, "WITHVALUES");
        if (sizes[i] > INT64_MAX / 2) {
            expect_error(reply, "ERR value is out of range");
        } else if (sizes[i] > 1) {
            expect_error(reply, "ERR reply exceeds the session's limit (session-long-message-max)");
        } else {
            ck_assert_int_eq(reply.count, 2 * sizes[i]);
        }
    }
    expect_error(ASK("HRANDFIELD", "h", "-9223372036854775808"),
                 "ERR value is out of range, value must between -9223372036854775807 and "
                 "9223372036854775807");
}
END_TEST

/* However small the hash, the time of one command is bounded; so is what it may take. */
START_TEST(picks_with_repetition_have_a_limit)
{
    static const char wrong[] =
        "ERR value is out of range, a negative count must be at least -1048576";
    (void)ASK("HSET", "h", "a", "1", "b", "2", "c", "3");
    ck_assert_uint_eq(ASK("HRANDFIELD", "h", "-1048576").count, 1048576);
    expect_error(ASK("HRANDFIELD", "h", "-1048577"), wrong);
    expect_error(ASK("HRANDFIELD", "h", "-1048577", "WITHVALUES"), wrong);
    ck_assert_uint_eq(ASK("HRANDFIELD", "h", "1048577").count, 3);
    ck_assert_uint_eq(ASK("HRANDFIELD", "none", "-1048577").count, 0);
}
END_TEST

START_TEST(work_stops_when_a_reply_is_above_its_limit)
{
    /* The items could fit if they were short; they are not. */
    static char value[20000];
    memset(value, 'v', sizeof value - 1);
    (void)ASK("HSET", "h", value, "1");
    struct torc_caller caller = {.id = 1, .protocol = 2};
    struct torc_call call = {.caller = &caller};
    struct torc_ring_sink ring;
    char scratch[TORC_FAULT_TEXT_BYTES];
    struct torc_slice row[] = {torc_slice_str("HRANDFIELD"), torc_slice_str("h"),
                               torc_slice_str("-1000000")};
    torc_call_from_words(&service, row, 3, scratch, &call);
    torc_ring_sink_init(&ring, NULL, REPLY_BYTES, reply_bytes, 1000, 1, 0);
    call.sink = &ring.sink;
    torc_calls_prepare(&service, &call, 1);
    torc_call_run(&service, &call);
    ck_assert(ring.writer.overflow);
    ck_assert_uint_gt(ring.writer.need, REPLY_BYTES);
    ck_assert_uint_lt(ring.writer.item, 100000);

    struct torc_output output;
    struct torc_resp_sink resp;
    torc_output_init(&output, REPLY_BYTES);
    torc_resp_sink_init(&resp, &output, &caller.protocol);
    struct torc_slice again[] = {torc_slice_str("HRANDFIELD"), torc_slice_str("h"),
                                 torc_slice_str("-1000000")};
    torc_call_from_words(&service, again, 3, scratch, &call);
    call.sink = &resp.sink;
    torc_calls_prepare(&service, &call, 1);
    torc_call_run(&service, &call);
    ck_assert(output.failed);
    ck_assert_uint_le(output.cap, 2 * REPLY_BYTES);
    torc_output_fini(&output);
}
END_TEST

START_TEST(a_reply_made_again_is_the_same)
{
    change_fields("HSET", 0, 50);
    static uint8_t first[4096];
    static uint8_t second[4096];
    struct torc_ring_sink ring;
    struct torc_call call = {0};
    char scratch[TORC_FAULT_TEXT_BYTES];
    static const char *const counts[] = {"-20", "20", "5", "40"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct torc_slice row[] = {torc_slice_str("HRANDFIELD"), torc_slice_str("h"),
                                   torc_slice_str(counts[i])};
        torc_call_from_words(&service, row, 3, scratch, &call);
        torc_calls_prepare(&service, &call, 1);
        call.sink = &ring.sink;
        torc_ring_sink_init(&ring, NULL, sizeof first, first, sizeof first, 1, 0);
        torc_call_run(&service, &call);
        size_t len = ring.writer.len;
        torc_ring_sink_init(&ring, NULL, sizeof second, second, sizeof second, 1, 0);
        torc_call_repeat(&service, &call);
        ck_assert_uint_eq(ring.writer.len, len);
        ck_assert_mem_eq(first, second, len);
    }
}
END_TEST

START_TEST(random_keys_are_fair)
{
    ck_assert_int_eq(ASK("RANDOMKEY").kind, TORC_REPLY_NULL);
    for (unsigned i = 0; i < FIELDS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", i);
        expect_integer(ASK("HSET", name, "f", "v"), 1);
    }
    memset(hits, 0, sizeof hits);
    for (int i = 0; i < 100000; i++) {
        hits[number_of(ASK("RANDOMKEY").bytes, FIELDS)]++;
    }
    ck_assert_double_lt(unevenness(FIELDS), UNEVENNESS_MAX);
}
END_TEST

int main(void)
{
    return RUN("random", picks_from_a_compact_hash_are_fair, picks_from_a_full_hash_are_fair,
               picks_from_a_hash_that_was_large_are_fair,
               a_count_gives_different_fields_of_a_compact_hash,
               a_count_gives_different_fields_of_a_full_hash,
               each_field_is_as_likely_to_be_among_distinct_ones,
               the_form_of_the_reply_depends_on_the_words_alone, every_count_has_one_reply,
               picks_with_repetition_have_a_limit, work_stops_when_a_reply_is_above_its_limit,
               a_reply_made_again_is_the_same, random_keys_are_fair);
}
