/* SPDX-License-Identifier: Apache-2.0
 *
 * One keyspace in an arena of its own, and short words for what tests do with it.
 */
#ifndef TORC_TESTS_UNIT_HASH_KEYSPACE_FIXTURE_H
#define TORC_TESTS_UNIT_HASH_KEYSPACE_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "hash/keyspace_private.h"
#include "tests/support/arena_fixture.h"

#define ROOT_BYTES (1u << TORC_KEYSPACE_ROOT_LOG2)

static struct torc_arena *arena;
static struct torc_hash_limits limits;
static struct torc_keyspace *ks;

static inline void setup(void)
{
    arena = torc_test_arena(512 * TORC_MIB, 4242);
    limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    ck_assert_int_eq(torc_keyspace_open(arena, 0, &limits, &ks), 0);
}

static inline void teardown(void)
{
    torc_keyspace_close(ks);
    torc_arena_destroy(arena);
}

static inline void check(void)
{
    const char *why = "";
    ck_assert_msg(torc_keyspace_check(ks, &why) == 0, "%s", why);
    ck_assert_uint_eq(torc_arena_in_flight(arena), 0);
}

static inline struct torc_key key_of(const char *name)
{
    return torc_keyspace_key(ks, torc_slice_str(name));
}

static inline int64_t put(const char *name, const char *field, struct torc_slice value)
{
    struct torc_key key = key_of(name);
    struct torc_pair pair = {.field = torc_slice_str(field), .value = value};
    return torc_hash_put(ks, &key, &pair, 1);
}

static inline int64_t put_str(const char *name, const char *field, const char *value)
{
    return put(name, field, torc_slice_str(value));
}

static inline int get(const char *name, const char *field, struct torc_value *out_value)
{
    struct torc_key key = key_of(name);
    return torc_hash_get(ks, &key, torc_slice_str(field), out_value);
}

static inline void expect(const char *name, const char *field, const char *value)
{
    struct torc_value found;
    ck_assert_msg(get(name, field, &found) == 1, "%s of %s is missing", field, name);
    ck_assert(torc_slice_equal(found.text, torc_slice_str(value)));
}

static inline void expect_none(const char *name, const char *field)
{
    struct torc_value found;
    ck_assert_int_eq(get(name, field, &found), 0);
}

static inline int64_t del(const char *name, const char *field)
{
    struct torc_key key = key_of(name);
    struct torc_slice slice = torc_slice_str(field);
    return torc_hash_del(ks, &key, &slice, 1);
}

static inline int64_t len(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_hash_len(ks, &key);
}

static inline enum torc_encoding encoding(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_encoding(ks, &key);
}

static inline uint64_t usage(const char *name)
{
    struct torc_key key = key_of(name);
    return torc_keyspace_usage(ks, &key);
}

static inline uint8_t *bytes_of(size_t n, int byte)
{
    uint8_t *data = malloc(n + 1);
    ck_assert_ptr_nonnull(data);
    memset(data, byte, n);
    return data;
}

static inline void settle(void)
{
    while (torc_keyspace_settle(ks, false, 100)) {
    }
}

/* `n` pairs of a 14-byte field and a 16-byte value. */
static inline void fill_pairs(struct torc_pair *pairs, char (*names)[24], unsigned n)
{
    for (unsigned i = 0; i < n; ++i) {
        (void)snprintf(names[i], sizeof(names[i]), "field:%08u", i);
        pairs[i] =
            (struct torc_pair){torc_slice_of(names[i], 14), torc_slice_of("v123456789abcdef", 16)};
    }
}

/* A test case of the fixture, added to the suite. */
static inline TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
