/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of compact blocks share: fields with names of 14 and values of 16 bytes, blocks in
 * memory of their own, puts with a check behind them.
 */
#ifndef TORC_TESTS_SUPPORT_COMPACT_FIXTURE_H
#define TORC_TESTS_SUPPORT_COMPACT_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/compact.h"

/* As ck_assert, for loops: check writes down each assertion that it passes, which takes longer than
 * what is tested here. */
#define HOLDS(claim)                                                                               \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            ck_abort_msg("%s", #claim);                                                            \
        }                                                                                          \
    } while (0)

#define SEED       0x746f7263u
#define NAME_BYTES 48 /* room for a name or a value of these tests */

/* The i-th of many distinct names of 14 bytes. */
static inline struct torc_slice name_of(size_t i, char *room)
{
    (void)snprintf(room, NAME_BYTES, "field:%08zu", i);
    return torc_slice_of(room, 14);
}

/* A value of 16 bytes that tells i and round. */
static inline struct torc_slice value_of(size_t i, unsigned round, char *room)
{
    (void)snprintf(room, NAME_BYTES, "v%07zu-%07u", i, round);
    return torc_slice_of(room, 16);
}

static inline struct torc_slice filled(char *room, size_t len, char byte)
{
    memset(room, byte, len);
    return torc_slice_of(room, len);
}

/* The same in memory of its own that ends with it; for release(). */
static inline struct torc_slice exact(size_t len, char byte)
{
    char *room = malloc(len + (len == 0));
    ck_assert_ptr_nonnull(room);
    return filled(room, len, byte);
}

static inline void release(struct torc_slice s)
{
    void *room;
    memcpy(&room, &s.data, sizeof room); /* a cast would drop the const */
    free(room);
}

static inline uint64_t hash_of(struct torc_slice name)
{
    return torc_hash_slice(SEED, name);
}

/* A block in memory that ends where the block ends. */
static inline uint8_t *block_create(size_t capacity)
{
    uint8_t *block = malloc(capacity);
    ck_assert_ptr_nonnull(block);
    memset(block, 0xee, capacity);
    torc_compact_init(block, capacity, false);
    return block;
}

static inline void check_block(const uint8_t *block)
{
    const char *why = "";
    int rc = torc_compact_check(block, torc_compact_capacity(block), SEED, &why);
    if (rc != 0) {
        ck_abort_msg("%s", why);
    }
}

static inline int put(uint8_t *block, struct torc_slice name, struct torc_slice value)
{
    int rc = torc_compact_put(block, SEED, hash_of(name), name, value);
    check_block(block);
    return rc;
}

static inline int put_text(uint8_t *block, const char *name, const char *value)
{
    return put(block, torc_slice_str(name), torc_slice_str(value));
}

static inline int put_expiring_text(uint8_t *block, const char *name, const char *value,
                                    uint64_t when)
{
    const struct torc_slice field = torc_slice_str(name);
    int rc =
        torc_compact_put_expiring(block, SEED, hash_of(field), field, torc_slice_str(value), when);
    check_block(block);
    return rc;
}

/* Put fields [0, n), all of 14 and 16 bytes. */
static inline void fill_block(uint8_t *block, size_t n)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    for (size_t i = 0; i < n; i++) {
        struct torc_slice field = name_of(i, name);
        HOLDS(torc_compact_put(block, SEED, hash_of(field), field, value_of(i, 0, value)) == 1);
    }
    check_block(block);
}

static inline void expect(const uint8_t *block, struct torc_slice name, struct torc_slice value)
{
    struct torc_value found;
    HOLDS(torc_compact_find(block, hash_of(name), name, 0, &found));
    ck_assert_ptr_nonnull(found.text.data);
    HOLDS(torc_slice_equal(found.text, value));
}

static inline void expect_absent(const uint8_t *block, struct torc_slice name)
{
    struct torc_value found = {.text = torc_slice_str("untouched")};
    HOLDS(!torc_compact_find(block, hash_of(name), name, 0, &found));
    HOLDS(torc_slice_equal(found.text, torc_slice_str("untouched")));
}

static inline uint8_t *block_of(size_t n, size_t capacity)
{
    uint8_t *block = block_create(capacity);
    fill_block(block, n);
    return block;
}

#endif
