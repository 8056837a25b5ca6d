/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "hash/cleaner.h"
#include "hash/keyspace_private.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/prng.h"

#define VALUE_BYTES 400u

static struct torc_arena *arena;
static struct torc_hash_limits limits;
static struct torc_keyspace *ks;
static struct torc_stream *shared;

static void setup(void)
{
    arena = torc_test_arena(256 * TORC_MIB, 31337);
    limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    ck_assert_int_eq(torc_keyspace_open(arena, 2, &limits, &ks), 0);
    shared = torc_stream_shared(arena);
}

static void teardown(void)
{
    torc_keyspace_close(ks);
    torc_arena_destroy(arena);
}

static void check(void)
{
    const char *why = "";
    ck_assert_msg(torc_keyspace_check(ks, &why) == 0, "%s", why);
}

static void put_in(struct torc_keyspace *keyspace, uint32_t number, uint8_t byte, size_t len)
{
    uint8_t value[VALUE_BYTES];
    struct torc_key key = torc_keyspace_key(keyspace, torc_slice_of(&number, 4));
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_of(value, len)};
    memset(value, byte, len);
    ck_assert_int_ge(torc_hash_put(keyspace, &key, &pair, 1), 0);
}

static void put(uint32_t number, uint8_t byte)
{
    put_in(ks, number, byte, VALUE_BYTES);
}

static void del(uint32_t number)
{
    struct torc_key key = torc_keyspace_key(ks, torc_slice_of(&number, 4));
    ck_assert(torc_keyspace_del(ks, &key));
}

static void expect_in(const struct torc_keyspace *keyspace, uint32_t number, uint8_t byte)
{
    struct torc_key key = torc_keyspace_key(keyspace, torc_slice_of(&number, 4));
    struct torc_value value;
    ck_assert_msg(torc_hash_get(keyspace, &key, torc_slice_str("f"), &value) == 1, "key %u",
                  number);
    ck_assert_uint_eq(value.text.len, VALUE_BYTES);
    ck_assert_uint_eq(value.text.data[0], byte);
    ck_assert_uint_eq(value.text.data[VALUE_BYTES - 1], byte);
}

/* The share of dead records is at most one in `part`, but for what the open segment may hold. */
static void expect_share(const struct torc_stream *stream, uint64_t part)
{
    const struct torc_segment *open = torc_arena_at(arena, stream->open);
    uint64_t dead = stream->dead - (open->used - open->live);
    ck_assert_uint_le(dead, torc_max_u64((stream->live + stream->dead) / part, 64 * TORC_KIB));
}

/* The field `number` of the hash "big". */
static void put_field(uint32_t number, uint8_t byte)
{
    uint8_t value[VALUE_BYTES];
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str("big"));
    struct torc_pair pair = {torc_slice_of(&number, 4), torc_slice_of(value, VALUE_BYTES)};
    memset(value, byte, VALUE_BYTES);
    ck_assert_int_ge(torc_hash_put(ks, &key, &pair, 1), 0);
}

static void del_field(uint32_t number)
{
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str("big"));
    struct torc_slice field = torc_slice_of(&number, 4);
    ck_assert_int_eq(torc_hash_del(ks, &key, &field, 1), 1);
}

static void expect_field(uint32_t number, uint8_t byte)
{
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str("big"));
    struct torc_value value;
    ck_assert_int_eq(torc_hash_get(ks, &key, torc_slice_of(&number, 4), &value), 1);
    ck_assert_uint_eq(value.text.len, VALUE_BYTES);
    ck_assert_uint_eq(value.text.data[VALUE_BYTES / 2], byte);
}

static const struct torc_full *big(void)
{
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str("big"));
    return torc_full_at(arena,
                        torc_record_root(torc_arena_at(arena, torc_keyspace_find(ks, &key))));
}

START_TEST(the_dead_share_is_brought_down_in_small_steps)
{
    enum { N = 6000 };
    unsigned steps = 0;
    for (uint32_t i = 0; i < N; ++i) {
        put(i, (uint8_t)i);
    }
    for (uint32_t i = 0; i < N; ++i) {
        if (i % 3 != 0) {
            del(i);
        }
    }
    uint64_t before = torc_arena_used_by(arena, TORC_USE_SEGMENT);
    uint64_t live = shared->live;
    while (torc_keyspace_maintain(ks, 20)) {
        if (++steps % 8 == 0) {
            check();
        }
    }
    check();
    ck_assert_uint_gt(steps, 40); /* 2,000 live records, 20 a step at most */
    ck_assert_uint_eq(shared->live, live);
    expect_share(shared, 10);
    ck_assert_uint_lt(torc_arena_used_by(arena, TORC_USE_SEGMENT), before / 2);
    for (uint32_t i = 0; i < N; i += 3) {
        expect_in(ks, i, (uint8_t)i);
    }
}
END_TEST

START_TEST(a_step_moves_no_more_than_its_budget)
{
    enum { N = 3000, BUDGET = 10 };
    for (uint32_t i = 0; i < N; ++i) {
        put(i, 1);
    }
    for (uint32_t i = 0; i < N; i += 2) {
        del(i);
    }
    for (;;) {
        /* What a step moves is dead in the place that it leaves: dead bytes grow by it, or shrink
         * when the segment goes. */
        uint64_t dead = shared->dead;
        bool more = torc_keyspace_maintain(ks, BUDGET);
        if (shared->dead > dead) {
            ck_assert_uint_le(shared->dead - dead, (uint64_t)BUDGET * (VALUE_BYTES + 64));
        }
        if (!more) {
            break;
        }
    }
    expect_share(shared, 10);
}
END_TEST

START_TEST(records_of_all_databases_are_found)
{
    enum { N = 1500 };
    struct torc_keyspace *other;
    ck_assert_int_eq(torc_keyspace_open(arena, 15, &limits, &other), 0);
    for (uint32_t i = 0; i < N; ++i) {
        put_in(other, i, 1, VALUE_BYTES);
        put(i, 2);
        put(i + N, 3);
    }
    for (uint32_t i = 0; i < N; ++i) {
        del(i + N);
    }
    /* The databases take turns with the same victims. */
    unsigned turn = 0;
    while (torc_keyspace_maintain(++turn % 2 == 0 ? ks : other, 15)) {
        if (turn % 16 == 0) {
            check();
        }
    }
    check();
    expect_share(shared, 10);
    for (uint32_t i = 0; i < N; ++i) {
        expect_in(ks, i, 2);
        expect_in(other, i, 1);
    }
    torc_keyspace_close(other);
}
END_TEST

START_TEST(records_may_change_and_die_between_two_steps)
{
    enum { N = 3000 };
    struct torc_prng prng = {torc_test_seed(8)};
    static uint8_t bytes[N]; /* 0: no such key */
    for (uint32_t i = 0; i < N; ++i) {
        put(i, bytes[i] = 1);
    }
    for (unsigned round = 0; round < 4000; ++round) {
        uint32_t i = (uint32_t)torc_prng_below(&prng, N);
        if (bytes[i] != 0 && torc_prng_below(&prng, 3) != 0) {
            del(i);
            bytes[i] = 0;
        } else {
            put(i, bytes[i] = (uint8_t)(1 + round % 200));
        }
        (void)torc_keyspace_maintain(ks, (unsigned)torc_prng_below(&prng, 6));
        if (round % 64 == 0) {
            check();
        }
    }
    for (uint32_t i = 0; i < N; ++i) {
        if (bytes[i] != 0) {
            expect_in(ks, i, bytes[i]);
        }
    }
    check();
}
END_TEST

START_TEST(flushed_keys_and_the_cleaner_do_not_meet)
{
    enum { N = 2000 };
    struct torc_keyspace *other;
    ck_assert_int_eq(torc_keyspace_open(arena, 15, &limits, &other), 0);
    for (uint32_t i = 0; i < N; ++i) {
        put_in(other, i, 1, VALUE_BYTES);
        put(i, 2);
    }
    /* Every flushed record lies between two that stay; the other database cleans while ours has
     * freed but a part. */
    torc_keyspace_flush(ks);
    for (uint32_t i = 0; i < N / 2; ++i) {
        put(i, 3);
    }
    bool more = true;
    while (more) {
        more = torc_keyspace_maintain(ks, 12);
        check();
        for (unsigned i = 0; i < 4; ++i) {
            more |= torc_keyspace_maintain(other, 24);
        }
        check();
    }
    for (uint32_t i = 0; i < N; ++i) {
        expect_in(other, i, 1);
        if (i < N / 2) {
            expect_in(ks, i, 3);
        }
    }
    torc_keyspace_close(other);
}
END_TEST

START_TEST(a_large_hash_is_cleaned_in_its_own_segments)
{
    enum { N = 7000 };
    limits.compact_max_entries = 0;
    for (uint32_t i = 0; i < N; ++i) {
        put_field(i, 1);
    }
    ck_assert_uint_gt(big()->stream.live, TORC_MIB);
    for (uint32_t i = 0; i < N; ++i) {
        if (i % 4 != 0) {
            del_field(i);
        }
    }
    check();
    ck_assert_uint_ne(big()->in_clean_list, 0);
    for (unsigned step = 0; torc_keyspace_maintain(ks, 25); ++step) {
        if (step % 16 == 0) {
            check();
        }
    }
    ck_assert_uint_eq(big()->in_clean_list, 0);
    expect_share(&big()->stream, 10);
    expect_share(shared, 10);
    for (uint32_t i = 0; i < N; i += 4) {
        expect_field(i, 1);
    }
}
END_TEST

START_TEST(a_hash_that_became_small_leaves_its_own_segments)
{
    enum { N = 6000 };
    limits.compact_max_entries = 0;
    for (uint32_t i = 0; i < N; ++i) {
        put_field(i, 1);
    }
    ck_assert_uint_ne(big()->stream.closed, TORC_REF_NONE);
    for (uint32_t i = 0; i < N; ++i) {
        if (i % 40 != 0) {
            del_field(i);
        }
    }
    ck_assert_uint_gt(big()->stream.live, 0);
    for (uint32_t i = 0; i < 10; ++i) {
        put_field(N + i, 2);
    }
    for (unsigned step = 0; torc_keyspace_maintain(ks, 5); ++step) {
        if (step % 16 == 0) {
            check();
        }
    }
    ck_assert_uint_eq(big()->stream.open, TORC_REF_NONE);
    ck_assert_uint_eq(big()->stream.live, 0);
    for (uint32_t i = 0; i < N; i += 40) {
        expect_field(i, 1);
    }
    expect_field(N + 9, 2);
    check();
}
END_TEST

START_TEST(a_hash_at_the_edge_of_small_ends_in_one_place_or_the_other)
{
    /* Records of 10 bytes in its own segments, of 15 in shared ones: by leaving, it becomes too
     * large to leave. */
    uint32_t n = TORC_FULL_OWN_STREAM_BYTES / 8;
    uint32_t left = 0;
    struct torc_key key = torc_keyspace_key(ks, torc_slice_str("big"));
    limits.compact_max_entries = 0;
    for (uint32_t i = 0; i < n; ++i) {
        struct torc_pair pair = {torc_slice_of(&i, 4), torc_slice_str("abc")};
        ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    }
    for (; torc_full_is_large(big()); ++left) {
        del_field(left);
    }
    ck_assert_uint_gt(big()->stream.live, big()->record_bytes / 2);
    check();
    while (torc_keyspace_maintain(ks, 200)) {
    }
    check();
    ck_assert_uint_eq(big()->in_clean_list, 0);
    ck_assert(torc_full_is_large(big()) == (big()->stream.open != TORC_REF_NONE));
    for (uint32_t i = left; i < n; ++i) {
        struct torc_value value;
        ck_assert_int_eq(torc_hash_get(ks, &key, torc_slice_of(&i, 4), &value), 1);
        ck_assert(torc_slice_equal(value.text, torc_slice_str("abc")));
    }
}
END_TEST

START_TEST(hashes_that_wait_for_the_cleaner_can_go)
{
    limits.compact_max_entries = 0;
    for (unsigned which = 0; which < 3; ++which) {
        static const char *names[] = {"first", "second", "third"};
        struct torc_key keys[3];
        for (unsigned h = 0; h < 3; ++h) {
            keys[h] = torc_keyspace_key(ks, torc_slice_str(names[h]));
            for (uint32_t i = 0; i < 4000; ++i) {
                uint8_t value[VALUE_BYTES] = {0};
                struct torc_pair pair = {torc_slice_of(&i, 4), torc_slice_of(value, VALUE_BYTES)};
                ck_assert_int_eq(torc_hash_put(ks, &keys[h], &pair, 1), 1);
            }
            for (uint32_t i = 2000; i < 3500; ++i) {
                struct torc_slice field = torc_slice_of(&i, 4);
                ck_assert_int_eq(torc_hash_del(ks, &keys[h], &field, 1), 1);
            }
        }
        check();
        ck_assert_uint_ne(ks->root->clean_first, ks->root->clean_last);
        ck_assert(torc_keyspace_del(ks, &keys[which])); /* from either end, and the middle */
        check();
        torc_keyspace_flush(ks);
        check();
        while (torc_keyspace_settle(ks, false, 60)) {
        }
        check();
    }
    ck_assert_uint_eq(torc_arena_used(arena), 1u << TORC_KEYSPACE_ROOT_LOG2);
}
END_TEST

START_TEST(a_record_that_was_never_linked_is_released)
{
    enum { N = 1500 };
    uint64_t ref;
    for (uint32_t i = 0; i < N; ++i) {
        put(i, 1);
        if (i == 10) {
            /* As left by an owner that died in the middle of a put: its block is formatted. */
            uint64_t bytes = torc_record_key_head_bytes(5, false) + 40;
            ck_assert_int_eq(torc_record_alloc(arena, shared, bytes, &ref), 0);
            torc_compact_init(torc_record_write_key(torc_arena_at(arena, ref), TORC_RECORD_COMPACT,
                                                    TORC_EXPIRY_NONE, torc_slice_str("stray")),
                              40, false);
        }
    }
    ck_assert_int_eq(torc_keyspace_check(ks, NULL), -EBADMSG);
    for (uint32_t i = 0; i < N; i += 2) {
        del(i);
    }
    while (torc_keyspace_maintain(ks, 50)) {
    }
    check();
}
END_TEST

START_TEST(without_memory_the_cleaner_waits)
{
    enum { N = 3000 };
    for (uint32_t i = 0; i < N; ++i) {
        put(i, 1);
    }
    for (uint32_t i = 0; i < N; i += 2) {
        del(i);
    }
    torc_arena_fail_after(arena, 1);
    while (torc_keyspace_maintain(ks, 100)) { /* ends, as more budget would not help */
    }
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_gt(shared->dead, shared->live / 2);
    check();
    while (torc_keyspace_maintain(ks, 100)) {
    }
    expect_share(shared, 10);
    check();
}
END_TEST

START_TEST(settling_takes_slack_and_dead_records_away)
{
    enum { N = 2000 };
    uint64_t content = 0;
    uint64_t slack = 0;
    for (uint32_t i = 0; i < N; ++i) {
        struct torc_key key = torc_keyspace_key(ks, torc_slice_of(&i, 4));
        for (uint32_t f = 0; f < 20; ++f) { /* one by one, so with slack and dead copies */
            struct torc_pair pair = {torc_slice_of(&f, 4), torc_slice_str("sixteen bytes ..")};
            ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
        }
        const uint8_t *block =
            torc_record_payload(torc_arena_at(arena, torc_keyspace_find(ks, &key)));
        content += torc_compact_used(block) + 6;
        slack += torc_compact_capacity(block) - torc_compact_used(block);
    }
    ck_assert_uint_gt(slack, content / 50);
    while (torc_keyspace_settle(ks, false, 40)) {
    }
    check();
    expect_share(shared, 50);
    ck_assert_uint_le(shared->live, content + content / 30);
    ck_assert_uint_le(torc_arena_used_by(arena, TORC_USE_SEGMENT),
                      content + content / 10 + 2ull * TORC_SEGMENT_BYTES);
    /* Little has changed since: nothing to do. */
    put_in(ks, 5, 1, 10);
    ck_assert(!torc_keyspace_settle(ks, false, 40));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cleaner");
    TCase *tcase = tcase_create("cleaner");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_dead_share_is_brought_down_in_small_steps);
    tcase_add_test(tcase, a_step_moves_no_more_than_its_budget);
    tcase_add_test(tcase, records_of_all_databases_are_found);
    tcase_add_test(tcase, records_may_change_and_die_between_two_steps);
    tcase_add_test(tcase, flushed_keys_and_the_cleaner_do_not_meet);
    tcase_add_test(tcase, a_large_hash_is_cleaned_in_its_own_segments);
    tcase_add_test(tcase, a_hash_that_became_small_leaves_its_own_segments);
    tcase_add_test(tcase, a_hash_at_the_edge_of_small_ends_in_one_place_or_the_other);
    tcase_add_test(tcase, hashes_that_wait_for_the_cleaner_can_go);
    tcase_add_test(tcase, a_record_that_was_never_linked_is_released);
    tcase_add_test(tcase, without_memory_the_cleaner_waits);
    tcase_add_test(tcase, settling_takes_slack_and_dead_records_away);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
