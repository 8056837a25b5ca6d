/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry of keys and fields: without memory nothing changes, times at the edges, a clock that goes
 * back, and memory that comes back.
 */
#include "hash/expiry.h"

#include "hash/evict.h"
#include "tests/unit/hash/keyspace_fixture.h"

#define N_FIELDS 40u
#define NOW      1000000u
#define SOON     (NOW + 1000)
#define LATER    (NOW + 500000)
#define A_YEAR   (365ull * 24 * 3600 * 1000)

static struct torc_pair pairs[N_FIELDS];
static char names[N_FIELDS][24];
static struct torc_slice fields[N_FIELDS];

/* The key "a" with all fields, in either form; "b" with one. */
static void setup_hashes(bool is_full)
{
    fill_pairs(pairs, names, N_FIELDS);
    for (unsigned i = 0; i < N_FIELDS; i++) {
        fields[i] = pairs[i].field;
    }
    if (is_full) {
        limits.compact_max_entries = 0;
    }
    torc_keyspace_set_time(ks, NOW);
    struct torc_key key = key_of("a");
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, N_FIELDS), N_FIELDS);
    ck_assert_int_eq(encoding("a"), is_full ? TORC_ENCODING_FULL : TORC_ENCODING_COMPACT);
    ck_assert_int_eq(put_str("b", "of b", "1"), 1);
}

static int64_t key_time(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_expiry(ks, &key);
}

static int64_t field_time(const char *name, struct torc_slice field)
{
    struct torc_key key = key_of(name);
    int64_t when;
    ck_assert_int_eq(torc_hash_expiries(ks, &key, &field, 1, &when), 0);
    return when;
}

static int8_t expire_field(const char *name, struct torc_slice field, uint64_t when)
{
    struct torc_key key = key_of(name);
    int8_t result;
    ck_assert_int_eq(torc_hash_expire(ks, &key, &field, 1, when, TORC_EXPIRE_ALWAYS, &result), 0);
    return result;
}

static int expire_key(const char *name, uint64_t when)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_expire(ks, &key, when, TORC_EXPIRE_ALWAYS);
}

/* --- no memory --- */

/* All that may be seen of a hash. */
struct hash_state {
    int64_t len;
    uint64_t usage;
    int64_t encoding;
    int64_t time;
    uint64_t content; /* a digest of values and times */
};

/* And of the keyspace; all members are 64 bits wide. */
struct state {
    struct hash_state a, b, c;
    uint64_t n_keys, n_timed_keys, n_timed_hashes, next_due;
    uint64_t index, roots, extents, live;
};

static struct hash_state hash_state_of(const char *name)
{
    struct torc_key key = key_of(name);
    struct hash_state state = {
        .len = len(name),
        .usage = usage(name),
        .encoding = (int64_t)encoding(name),
        .time = key_time(name),
    };
    for (unsigned i = 0; i < N_FIELDS; i++) {
        struct torc_value value;
        int64_t when = field_time(name, fields[i]);
        state.content = torc_hash_bytes(state.content, &when, sizeof when);
        if (torc_hash_get(ks, &key, fields[i], &value) == 1) {
            state.content = torc_hash_bytes(state.content, value.text.data, value.text.len);
        }
    }
    return state;
}

static struct state state_now(void)
{
    struct torc_expiry_facts facts;
    torc_keyspace_expiry_facts(ks, &facts);
    return (struct state){
        .a = hash_state_of("a"),
        .b = hash_state_of("b"),
        .c = hash_state_of("c"),
        .n_keys = torc_keyspace_count(ks),
        .n_timed_keys = facts.n_keys,
        .n_timed_hashes = facts.n_hashes,
        .next_due = torc_keyspace_next_due(ks),
        .index = torc_arena_used_by(arena, TORC_USE_INDEX),
        .roots = torc_arena_used_by(arena, TORC_USE_ROOT),
        .extents = torc_arena_used_by(arena, TORC_USE_EXTENT),
        .live = torc_stream_shared(arena)->live,
    };
}

/* Let the first allocation fail, then the second, until the command goes through: every failure
 * must leave all as it was. Returns what it answered. */
static int64_t without_memory(int64_t (*command)(void), unsigned least_failures)
{
    const struct state before = state_now();
    for (unsigned failures = 0;; failures++) {
        torc_arena_fail_after(arena, failures + 1);
        int64_t rc = command();
        torc_arena_fail_after(arena, 0);
        check();
        if (rc >= 0) {
            ck_assert_uint_ge(failures, least_failures);
            return rc;
        }
        ck_assert_int_eq(rc, -ENOSPC);
        const struct state after = state_now();
        ck_assert_mem_eq(&after, &before, sizeof after);
    }
}

static int64_t expire_a(void)
{
    return expire_key("a", LATER);
}

static int64_t persist_a(void)
{
    struct torc_key key = key_of("a");
    return torc_keyspace_persist(ks, &key);
}

START_TEST(without_memory_times_of_keys_stay)
{
    setup_hashes(_i == 1);
    ck_assert_int_eq(without_memory(expire_a, 1), TORC_EXPIRE_SET);
    ck_assert_int_eq(key_time("a"), LATER);
    ck_assert_int_eq(without_memory(expire_a, 0), TORC_EXPIRE_SET);
    ck_assert_int_eq(without_memory(persist_a, 0), 1);
    ck_assert_int_eq(key_time("a"), -1);
    ck_assert_int_eq(without_memory(persist_a, 0), 0);
    ck_assert_uint_eq(torc_keyspace_next_due(ks), TORC_EXPIRY_NEVER);
}
END_TEST

/* A record so large that it is an extent needs memory also to lose its time. */
START_TEST(without_memory_an_extent_keeps_its_time)
{
    setup_hashes(false);
    uint8_t *value = bytes_of(30000, 'v');
    uint8_t *name = bytes_of(50000, 'k');
    struct torc_key key = torc_keyspace_key(ks, torc_slice_of(name, 50000));
    struct torc_pair pair = {torc_slice_str("f"), torc_slice_of(value, 30000)};
    ck_assert_int_eq(torc_hash_put(ks, &key, &pair, 1), 1);
    ck_assert_int_eq(torc_keyspace_expire(ks, &key, LATER, TORC_EXPIRE_ALWAYS), TORC_EXPIRE_SET);
    const struct state before = state_now();
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_keyspace_persist(ks, &key), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    const struct state after = state_now();
    ck_assert_mem_eq(&after, &before, sizeof after);
    ck_assert_int_eq(torc_keyspace_expiry(ks, &key), LATER);
    ck_assert_int_eq(torc_keyspace_persist(ks, &key), 1);
    ck_assert_int_eq(torc_keyspace_expiry(ks, &key), -1);
    check();
    free(name);
    free(value);
}
END_TEST

static unsigned n_changed = 1; /* fields that a command changes */

static int64_t expire_fields(void)
{
    struct torc_key key = key_of("a");
    int8_t results[N_FIELDS];
    return torc_hash_expire(ks, &key, fields, n_changed, LATER, TORC_EXPIRE_ALWAYS, results);
}

static int64_t persist_fields(void)
{
    struct torc_key key = key_of("a");
    int8_t results[N_FIELDS];
    return torc_hash_persist(ks, &key, fields, n_changed, results);
}

START_TEST(without_memory_times_of_fields_stay)
{
    setup_hashes(_i == 1);
    n_changed = _i == 1 ? 1 : N_FIELDS;
    ck_assert_int_eq(without_memory(expire_fields, 1), 0);
    ck_assert_int_eq(field_time("a", fields[0]), LATER);
    ck_assert_int_eq(field_time("a", fields[n_changed - 1]), LATER);
    ck_assert_int_eq(without_memory(persist_fields, _i == 1 ? 1 : 0), 0);
    ck_assert_int_eq(field_time("a", fields[0]), -1);
    ck_assert_int_eq(len("a"), N_FIELDS);
    ck_assert_uint_eq(torc_keyspace_next_due(ks), TORC_EXPIRY_NEVER);
}
END_TEST

/* Of several fields of a full hash some may have the time; each has the old one or the new one, and
 * all are counted. */
START_TEST(without_memory_a_full_hash_has_old_or_new_times)
{
    setup_hashes(true);
    n_changed = N_FIELDS;
    unsigned failures = 0;
    int64_t rc;
    do {
        torc_arena_fail_after(arena, ++failures);
        rc = expire_fields();
        torc_arena_fail_after(arena, 0);
        check();
        ck_assert(rc == 0 || rc == -ENOSPC);
        for (unsigned i = 0; i < N_FIELDS; i++) {
            int64_t when = field_time("a", fields[i]);
            ck_assert(when == LATER || (rc != 0 && when == -1));
        }
        ck_assert_int_eq(len("a"), N_FIELDS);
    } while (rc != 0);
    ck_assert_uint_gt(failures, 1);
}
END_TEST

/* A block without room for a time becomes full. */
START_TEST(without_memory_a_block_does_not_become_full)
{
    setup_hashes(false);
    uint8_t *value = bytes_of(TORC_COMPACT_MAX_PART, 'v');
    struct torc_key key = key_of("a");
    ck_assert(torc_keyspace_del(ks, &key));
    const struct torc_pair large[] = {{fields[0], torc_slice_of(value, TORC_COMPACT_MAX_PART)},
                                      {fields[1], torc_slice_of(value, 32716)}};
    limits.compact_max_value = TORC_COMPACT_MAX_PART;
    ck_assert_int_eq(torc_hash_put(ks, &key, large, 2), 2);
    ck_assert_int_eq(encoding("a"), TORC_ENCODING_COMPACT);
    n_changed = 2;
    ck_assert_int_eq(without_memory(expire_fields, 4), 0);
    ck_assert_int_eq(encoding("a"), TORC_ENCODING_FULL);
    ck_assert_int_eq(field_time("a", fields[1]), LATER);
    free(value);
}
END_TEST

static uint64_t put_when;
static const char *put_value;

static int64_t put_fields(void)
{
    struct torc_pair changed[N_FIELDS];
    struct torc_key key = key_of("a");
    for (unsigned i = 0; i < N_FIELDS; i++) {
        changed[i] = (struct torc_pair){fields[i], torc_slice_str(put_value)};
    }
    return torc_hash_put_expiring(ks, &key, changed, N_FIELDS, put_when);
}

START_TEST(without_memory_a_put_with_times_changes_nothing)
{
    setup_hashes(_i == 1);
    put_when = LATER;
    put_value = "longer than the value that was there before, by far";
    ck_assert_int_eq(without_memory(put_fields, 1), 0);
    ck_assert_int_eq(field_time("a", fields[N_FIELDS - 1]), LATER);
    put_when = TORC_EXPIRY_KEEP;
    put_value = "even longer than the value that was there before, and that by very far";
    ck_assert_int_eq(without_memory(put_fields, 1), 0);
    ck_assert_int_eq(field_time("a", fields[0]), LATER);
    put_when = SOON;
    ck_assert_int_eq(without_memory(put_fields, 0), 0);
    ck_assert_int_eq(field_time("a", fields[0]), SOON);
    put_when = TORC_EXPIRY_NONE;
    put_value = "and longer again than the one that was there before, which was longer already";
    ck_assert_int_eq(without_memory(put_fields, _i == 1 ? 1 : 0), 0);
    ck_assert_int_eq(field_time("a", fields[0]), -1);
    put_when = NOW;
    ck_assert_int_eq(without_memory(put_fields, 0), 0);
    ck_assert_int_eq(encoding("a"), TORC_ENCODING_NONE);
    /* And a key that is new. */
    put_when = LATER;
    ck_assert_int_eq(without_memory(put_fields, 1), N_FIELDS);
    ck_assert_int_eq(field_time("a", fields[0]), LATER);
}
END_TEST

static const char *target;

static int64_t rename_a(void)
{
    struct torc_key from = key_of("a");
    struct torc_key to = key_of(target);
    return torc_keyspace_rename(ks, &from, &to, false);
}

static int64_t copy_a(void)
{
    struct torc_key from = key_of("a");
    struct torc_key to = key_of(target);
    return torc_keyspace_copy(ks, &from, &to, true);
}

START_TEST(without_memory_keys_are_not_renamed_or_copied)
{
    setup_hashes((_i & 1) != 0);
    target = (_i & 2) != 0 ? "b" : "c";
    ck_assert_int_eq(expire_key("a", LATER), TORC_EXPIRE_SET);
    ck_assert_int_eq(expire_field("a", fields[3], SOON), TORC_EXPIRE_SET);
    ck_assert_int_eq(without_memory(copy_a, 1), 1);
    ck_assert_int_eq(key_time(target), LATER);
    ck_assert_int_eq(field_time(target, fields[3]), SOON);
    ck_assert_int_eq(len(target), N_FIELDS);
    ck_assert_int_eq(len("a"), N_FIELDS);
    /* Then onto the copy. */
    ck_assert_int_eq(without_memory(rename_a, 1), 1);
    ck_assert_int_eq(len("a"), 0);
    ck_assert_int_eq(key_time(target), LATER);
    ck_assert_int_eq(field_time(target, fields[3]), SOON);
    ck_assert_int_eq(field_time(target, fields[4]), -1);
}
END_TEST

START_TEST(puts_with_times_evict)
{
    static const uint8_t text[1000];
    struct torc_evictor evictor = {.policy = TORC_EVICT_LRU, .samples = 5, .place = 7};
    const uint64_t limit = 8 * TORC_MIB;
    char name[24];
    setup_hashes(_i == 1);
    torc_arena_set_limit(arena, limit);
    for (unsigned i = 0; i < 12000; i++) {
        (void)snprintf(name, sizeof(name), "key:%u", i);
        struct torc_key key = key_of(name);
        struct torc_pair pair = {torc_slice_str("field"), torc_slice_of(text, sizeof text)};
        ck_assert_int_eq(torc_hash_put_expiring_evicting(ks, &evictor, &key, &pair, 1, LATER + i),
                         1);
        torc_keyspace_touch(ks, &key);
        ck_assert_uint_le(torc_arena_used(arena), limit);
    }
    ck_assert_uint_gt(evictor.n_keys, 0);
    ck_assert_int_eq(field_time(name, torc_slice_str("field")), LATER + 11999);
    check();
    struct torc_expiry_facts facts;
    torc_keyspace_expiry_facts(ks, &facts);
    ck_assert_uint_ge(facts.n_hashes, torc_keyspace_count(ks) - 2);
    /* All of them end. */
    torc_keyspace_set_time(ks, LATER + 12000);
    while (!torc_keyspace_reap(ks, 100)) {
    }
    ck_assert_uint_le(torc_keyspace_count(ks), 2);
    check();
}
END_TEST

/* --- edges --- */

START_TEST(times_at_the_edges)
{
    fill_pairs(pairs, names, 2);
    struct torc_slice field = pairs[0].field;
    struct torc_key key = key_of("h");
    limits.compact_max_entries = _i == 1 ? 0 : 100;
    /* No clock yet: nothing is past. */
    ck_assert_int_eq(torc_hash_put_expiring(ks, &key, pairs, 2, 1), 2);
    ck_assert_int_eq(field_time("h", field), 1);
    ck_assert_int_eq(len("h"), 2);
    torc_keyspace_set_time(ks, 1);
    expect_none("h", names[0]);
    ck_assert_int_eq(field_time("h", field), -2);
    ck_assert(torc_keyspace_reap_key(ks, &key, 10));
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    check();

    torc_keyspace_set_time(ks, NOW);
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 2), 2);
    ck_assert_int_eq(expire_field("h", field, NOW + 1), TORC_EXPIRE_SET);
    ck_assert_int_eq(expire_field("h", field, TORC_EXPIRY_MAX), TORC_EXPIRE_SET);
    ck_assert_int_eq(field_time("h", field), TORC_EXPIRY_MAX);
    ck_assert_int_eq(expire_key("h", TORC_EXPIRY_MAX), TORC_EXPIRE_SET);
    ck_assert_int_eq(key_time("h"), TORC_EXPIRY_MAX);
    ck_assert_int_eq(expire_field("h", field, NOW - 1), TORC_EXPIRE_REMOVED);
    ck_assert_int_eq(expire_field("h", field, NOW - 1), TORC_EXPIRE_NO_FIELD);
    ck_assert_int_eq(len("h"), 1);
    ck_assert_int_eq(expire_field("h", pairs[1].field, NOW), TORC_EXPIRE_REMOVED);
    ck_assert_uint_eq(torc_keyspace_count(ks), 0);
    check();

    const uint64_t past[] = {1, NOW - 1, NOW};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 2), 2);
        ck_assert_int_eq(expire_key("h", past[i]), TORC_EXPIRE_REMOVED);
        ck_assert_uint_eq(torc_keyspace_count(ks), 0);
        check();
    }
    ck_assert_int_eq(torc_hash_put(ks, &key, pairs, 2), 2);
    ck_assert_int_eq(expire_key("h", NOW + 1), TORC_EXPIRE_SET);
    expect("h", names[0], "v123456789abcdef");
    torc_keyspace_set_time(ks, NOW + 1);
    expect_none("h", names[0]);
    ck_assert_int_eq(key_time("h"), -2);
    ck_assert(torc_keyspace_reap(ks, 10));
    check();
}
END_TEST

START_TEST(a_clock_that_goes_back_revives_nothing)
{
    setup_hashes(_i == 1);
    ck_assert_int_eq(expire_field("a", fields[0], SOON), TORC_EXPIRE_SET);
    ck_assert_int_eq(expire_key("b", SOON), TORC_EXPIRE_SET);
    torc_keyspace_set_time(ks, NOW - 500); /* nothing was due: it follows */
    ck_assert_uint_eq(torc_keyspace_time(ks), NOW - 500);
    torc_keyspace_set_time(ks, SOON);
    torc_keyspace_set_time(ks, NOW);
    expect_none("a", names[0]);
    ck_assert_int_eq(key_time("b"), -2);
    ck_assert_uint_eq(torc_keyspace_time(ks), SOON);
    while (!torc_keyspace_reap(ks, 3)) {
        torc_keyspace_set_time(ks, NOW);
        expect_none("a", names[0]);
        ck_assert_int_eq(key_time("b"), -2);
    }
    torc_keyspace_set_time(ks, NOW);
    ck_assert_uint_eq(torc_keyspace_time(ks), NOW);
    expect_none("a", names[0]);
    ck_assert_int_eq(len("a"), N_FIELDS - 1);
    ck_assert_int_eq(key_time("b"), -2);
    check();
}
END_TEST

/* Hashes of which every key and field ends within a minute. */
static void put_many_with_times(unsigned n_keys)
{
    char name[24];
    for (unsigned i = 0; i < n_keys; i++) {
        (void)snprintf(name, sizeof(name), "many:%u", i);
        struct torc_key key = key_of(name);
        ck_assert_int_eq(torc_hash_put_expiring(ks, &key, pairs, N_FIELDS, NOW + 60000 - i % 9999),
                         N_FIELDS);
        if (i % 3 == 0) {
            ck_assert_int_eq(expire_key(name, NOW + 1 + i % 60000), TORC_EXPIRE_SET);
        }
    }
    check();
}

START_TEST(a_clock_that_jumps_a_year_ends_all)
{
    setup_hashes(_i == 1);
    put_many_with_times(500);
    torc_keyspace_set_time(ks, NOW + A_YEAR);
    expect_none("many:0", names[0]);
    expect_none("many:1", names[0]);
    unsigned rounds = 0;
    while (!torc_keyspace_reap(ks, 64)) {
        ck_assert_uint_lt(++rounds, 100000);
    }
    ck_assert_uint_eq(torc_keyspace_count(ks), 2);
    ck_assert_int_eq(len("a"), N_FIELDS);
    ck_assert_uint_eq(torc_keyspace_next_due(ks), TORC_EXPIRY_NEVER);
    check();
}
END_TEST

START_TEST(a_flush_with_times_gives_all_memory_back)
{
    const uint64_t roots = torc_arena_used_by(arena, TORC_USE_ROOT);
    setup_hashes(_i == 1);
    put_many_with_times(500);
    torc_keyspace_flush(ks);
    check();
    ck_assert_uint_eq(torc_keyspace_next_due(ks), TORC_EXPIRY_NEVER);
    while (torc_keyspace_maintain(ks, 64)) {
    }
    check();
    struct torc_expiry_facts facts;
    torc_keyspace_expiry_facts(ks, &facts);
    ck_assert_uint_eq(facts.n_keys, 0);
    ck_assert_uint_eq(facts.n_hashes, 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_INDEX), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_ROOT), roots);
    ck_assert_uint_eq(torc_stream_shared(arena)->live, 0);
}
END_TEST

/* --- made anew --- */

START_TEST(a_hash_of_past_fields_is_made_anew_without_its_time)
{
    setup_hashes(_i == 1);
    put_when = SOON;
    put_value = "v";
    ck_assert_int_eq(put_fields(), 0);
    ck_assert_int_eq(expire_key("a", LATER), TORC_EXPIRE_SET);
    torc_keyspace_set_time(ks, SOON);
    ck_assert_int_eq(put_str("a", names[0], "new"), 1);
    ck_assert_int_eq(key_time("a"), -1);
    ck_assert_int_eq(field_time("a", fields[0]), -1);
    ck_assert_int_eq(len("a"), 1);
    check();
    /* With one field that lives the key does, too. */
    ck_assert_int_eq(expire_key("a", LATER), TORC_EXPIRE_SET);
    ck_assert_int_eq(expire_field("a", fields[0], LATER), TORC_EXPIRE_SET);
    ck_assert_int_eq(put_str("a", names[1], "more"), 1);
    ck_assert_int_eq(expire_field("a", fields[1], SOON + 1), TORC_EXPIRE_SET);
    torc_keyspace_set_time(ks, SOON + 1);
    ck_assert_int_eq(put_str("a", names[1], "again"), 1);
    ck_assert_int_eq(key_time("a"), LATER);
    check();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expiry");
    TCase *tcase = add_case(suite, "no memory");
    tcase_add_loop_test(tcase, without_memory_times_of_keys_stay, 0, 2);
    tcase_add_test(tcase, without_memory_an_extent_keeps_its_time);
    tcase_add_loop_test(tcase, without_memory_times_of_fields_stay, 0, 2);
    tcase_add_test(tcase, without_memory_a_full_hash_has_old_or_new_times);
    tcase_add_test(tcase, without_memory_a_block_does_not_become_full);
    tcase_add_loop_test(tcase, without_memory_a_put_with_times_changes_nothing, 0, 2);
    tcase_add_loop_test(tcase, without_memory_keys_are_not_renamed_or_copied, 0, 4);
    tcase_add_loop_test(tcase, puts_with_times_evict, 0, 2);
    tcase = add_case(suite, "edges");
    tcase_add_loop_test(tcase, times_at_the_edges, 0, 2);
    tcase_add_loop_test(tcase, a_clock_that_goes_back_revives_nothing, 0, 2);
    tcase_add_loop_test(tcase, a_clock_that_jumps_a_year_ends_all, 0, 2);
    tcase_add_loop_test(tcase, a_flush_with_times_gives_all_memory_back, 0, 2);
    tcase_add_loop_test(tcase, a_hash_of_past_fields_is_made_anew_without_its_time, 0, 2);
    return run_suite(suite);
}
