/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/table_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/hashing.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"

struct torc_test_table_work torc_test_table_work;

static uint64_t squeeze_and = ~0ull;
static uint64_t squeeze_or = 0;
static size_t squeeze_len = 0;

void torc_test_squeeze(uint64_t and_mask, uint64_t or_mask, size_t max_len)
{
    squeeze_and = and_mask;
    squeeze_or = or_mask;
    squeeze_len = max_len;
}

uint64_t torc_test_table_hash(const struct torc_arena *arena, struct torc_slice name)
{
    uint64_t real = torc_hash_slice(torc_arena_seed(arena), name);
    return name.len > squeeze_len ? real : (real & squeeze_and) | squeeze_or;
}

struct torc_arena *torc_test_dirty_arena(uint64_t capacity, uint64_t hash_seed)
{
    struct torc_arena *arena = torc_test_arena(capacity, hash_seed);
    uint64_t n_pages = 3 * TORC_MIB / TORC_PAGE_BYTES; /* so few that it keeps them when freed */
    uint64_t ref;
    if (torc_arena_run_alloc(arena, n_pages, TORC_USE_ROOT, &ref) != 0) {
        printf("no memory to make dirty\n");
        abort();
    }
    memset(torc_arena_at(arena, ref), TORC_TEST_DIRT, n_pages * TORC_PAGE_BYTES);
    torc_arena_run_free(arena, ref, n_pages, TORC_USE_ROOT);
    return arena;
}

/* The name of `number` in `text`; returns its length. */
static size_t name_of(uint64_t number, char text[24])
{
    return (size_t)snprintf(text, 24, "%llu", (unsigned long long)number);
}

uint64_t torc_test_record(struct torc_arena *arena, uint64_t number)
{
    uint64_t ref;
    char text[24];
    size_t len = name_of(number, text);
    if (torc_arena_block_alloc(arena, TORC_BLOCK_MIN_LOG2, TORC_USE_ROOT, &ref) != 0) {
        printf("no memory for a record\n");
        abort();
    }
    uint8_t *record = torc_arena_at(arena, ref);
    record[0] = TORC_RECORD_FIELD;
    record[1] = (uint8_t)len;
    record[2] = 0; /* an empty value */
    memcpy(record + 3, text, len);
    return ref;
}

void torc_test_record_free(struct torc_arena *arena, uint64_t ref)
{
    /* A table that still read it would take it for the record of another name. */
    memset(torc_arena_at(arena, ref), 0, TORC_CACHE_LINE_BYTES);
    torc_arena_block_free(arena, ref, TORC_BLOCK_MIN_LOG2, TORC_USE_ROOT);
}

struct torc_slice torc_test_record_name(const struct torc_arena *arena, uint64_t ref)
{
    return torc_record_name(torc_arena_at(arena, ref));
}

uint64_t torc_test_record_hash(const struct torc_arena *arena, uint64_t ref)
{
    return torc_test_table_hash(arena, torc_test_record_name(arena, ref));
}

uint64_t torc_test_record_number(const struct torc_arena *arena, uint64_t ref)
{
    char text[24] = {0};
    struct torc_slice name = torc_test_record_name(arena, ref);
    memcpy(text, name.data, torc_min_u64(name.len, sizeof text - 1));
    return strtoull(text, NULL, 10);
}

uint64_t torc_test_find(const struct torc_arena *arena, const struct torc_table *table,
                        uint64_t number)
{
    char text[24];
    struct torc_slice name = torc_slice_of(text, name_of(number, text));
    return torc_table_find(arena, table, torc_test_table_hash(arena, name), name);
}
