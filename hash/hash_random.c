/* SPDX-License-Identifier: Apache-2.0
 *
 * Many random fields of one hash. A choice from a large hash misses the cache twice, in the index
 * and in the record; the choices of a batch do so together.
 */
#include "hash/keyspace_private.h"

static void show_full(const struct torc_keyspace *keyspace, uint64_t root,
                      const uint64_t *random_bits, unsigned n, enum torc_parts parts,
                      void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    const struct torc_arena *arena = keyspace->arena;
    const struct torc_table *table = &torc_full_at(arena, root)->table;
    struct torc_press *press = parts == TORC_PAIRS ? keyspace->press : NULL;
    for (unsigned i = 0; i < n; i++) {
        torc_table_random_prefetch(arena, table, random_bits[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        TORC_PREFETCH(torc_arena_at(arena, torc_table_random(arena, table, random_bits[i])));
    }
    for (unsigned i = 0; i < n; i++) {
        struct torc_pair_room room;
        struct torc_pair pair;
        (void)torc_full_random(arena, root, random_bits[i], press, &room, &pair);
        visit(arg, &pair);
    }
}

static void show_compact(const uint8_t *block, const uint64_t *random_bits, unsigned n,
                         void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    const size_t count = torc_compact_count(block);
    for (unsigned i = 0; i < n; i++) {
        struct torc_pair_room room;
        struct torc_pair pair;
        torc_compact_at(block, torc_mul_high(random_bits[i], count), &room, &pair);
        visit(arg, &pair);
    }
}

int torc_hash_random_many(const struct torc_keyspace *keyspace, const struct torc_key *key,
                          const uint64_t *random_bits, unsigned n, enum torc_parts parts,
                          void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    assert(n >= 1 && n <= TORC_RANDOM_BATCH);
    if (ref == TORC_REF_NONE) {
        return 0;
    }
    uint8_t *record = torc_arena_at(keyspace->arena, ref);
    const uint8_t *payload = torc_keyspace_payload(record, key->name.len);
    enum torc_record_type type = torc_record_type(record);
    if (type == TORC_RECORD_FULL) {
        show_full(keyspace, torc_load_u40(payload), random_bits, n, parts, visit, arg);
        return 1;
    }
    if (type == TORC_RECORD_COMPACT) {
        show_compact(payload, random_bits, n, visit, arg);
        return 1;
    }
    return -EINVAL;
}
