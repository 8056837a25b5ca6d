/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/census.h"

#include "hash/keyspace_private.h"

struct counting {
    const struct torc_keyspace *keyspace;
    struct torc_census census;
};

static void count_key(void *arg, uint64_t ref)
{
    struct counting *c = arg;
    const uint8_t *record = torc_arena_at(c->keyspace->arena, ref);
    uint64_t bytes = torc_keyspace_bytes_of(c->keyspace, ref);
    c->census.n_looked_at++;
    if (torc_record_type(record) == TORC_RECORD_FULL) {
        c->census.n_full++;
        c->census.full_bytes += bytes;
    } else if (torc_record_type(record) == TORC_RECORD_COMPACT) {
        c->census.n_compact++;
        c->census.compact_bytes += bytes;
        c->census.slack_bytes += torc_compact_loose(torc_record_payload(record));
    }
}

/* What holds for n_looked_at keys, for all of them. */
static uint64_t scaled(const struct torc_census *census, uint64_t n)
{
    return (uint64_t)((torc_u128)n * census->n_keys / torc_max_u64(census->n_looked_at, 1));
}

struct torc_census torc_keyspace_census(const struct torc_keyspace *keyspace, uint64_t most,
                                        uint64_t seed)
{
    const struct torc_table *table = &keyspace->root->table;
    struct counting c = {.keyspace = keyspace, .census = {.n_keys = table->count}};
    struct torc_census *census = &c.census;
    if (table->count <= most) {
        uint64_t cursor = 0;
        do {
            cursor = torc_table_scan(keyspace->arena, table, cursor, UINT64_MAX, count_key, &c);
        } while (cursor != 0);
        return *census;
    }
    for (uint64_t i = 0; i < most; i++) {
        seed += 0x9e3779b97f4a7c15ull;
        count_key(&c, torc_table_random(keyspace->arena, table, seed));
    }
    census->n_compact = scaled(census, census->n_compact);
    census->n_full = scaled(census, census->n_full);
    census->compact_bytes = scaled(census, census->compact_bytes);
    census->full_bytes = scaled(census, census->full_bytes);
    census->slack_bytes = scaled(census, census->slack_bytes);
    return *census;
}
