/* SPDX-License-Identifier: Apache-2.0
 *
 * Records for tests of the table: number i is the field record "i" in a block of its own.
 */
#ifndef TORC_TESTS_SUPPORT_TABLE_FIXTURE_H
#define TORC_TESTS_SUPPORT_TABLE_FIXTURE_H

#include "hash/table.h"
#include "tests/support/table_hooks.h"

/* From now on the hash of a name of at most max_len bytes is (real & and_mask) | or_mask. */
void torc_test_squeeze(uint64_t and_mask, uint64_t or_mask, size_t max_len);

/* Make an arena in which memory that was not written yet is likely to be this byte. A line of it
 * has ten entries, five of them guests, with this fingerprint and wild references. */
#define TORC_TEST_DIRT 0xa5
struct torc_arena *torc_test_dirty_arena(uint64_t capacity, uint64_t hash_seed);

/* A new record for `number`; several records may have one number. */
uint64_t torc_test_record(struct torc_arena *arena, uint64_t number);
void torc_test_record_free(struct torc_arena *arena, uint64_t ref);

/* The name of record `ref`, borrowed from it, and its hash. */
struct torc_slice torc_test_record_name(const struct torc_arena *arena, uint64_t ref);
uint64_t torc_test_record_hash(const struct torc_arena *arena, uint64_t ref);

/* The number of record `ref`. */
uint64_t torc_test_record_number(const struct torc_arena *arena, uint64_t ref);

/* What torc_table_find() says of the name of `number`. */
uint64_t torc_test_find(const struct torc_arena *arena, const struct torc_table *table,
                        uint64_t number);

#endif
