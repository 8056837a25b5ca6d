/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/evict.h"

#include "hash/expiry.h"
#include "hash/keyspace_private.h"

/* What lives is at most the limit less one part of it in so many. */
#define SPARE_PART 8u
/* A write finds at least this much free, or the spare part if that is less: a segment to open, and
 * one for the cleaner. */
#define RESERVE_BYTES (2ull * TORC_SEGMENT_BYTES)
/* Keys that a write evicts in passing. */
#define PACE_KEYS 8u
/* Units of maintenance in passing: for each eviction, and for so many bytes written one more. */
#define PACE_UNITS      24u
#define PACE_UNIT_BYTES 64u
/* When there is no room: steps of one key or so many units each, and one step more for so many
 * bytes. */
#define STEP_UNITS 64u
#define STEPS      256u
#define STEP_BYTES 64u
/* A put that has failed for want of memory is tried so often again, each time with more room. */
#define RETRIES    3u
#define RETRY_KEYS 8u
/* Lines of the index that are looked at for each of the samples. */
#define SAMPLE_LINES 4u
/* Beside its texts, what a pair and what a new key may take. */
#define PAIR_BYTES 24u
#define KEY_BYTES  64u
/* A text takes at least one part in so many of its length: no code is shorter. */
#define CODE_PART 3u

void torc_keyspace_touch(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    torc_table_mark(keyspace->arena, &keyspace->root->table, key->hash);
}

/* --- one key --- */

/* splitmix64 (S. Vigna). */
static uint64_t next_random(struct torc_evictor *evictor)
{
    uint64_t x = evictor->place += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint64_t random_victim(const struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                              uint64_t kept)
{
    const struct torc_table *table = &keyspace->root->table;
    uint64_t ref = kept;
    /* Drawn again only if it is the one key to keep; with others it soon is not. */
    for (unsigned i = 0; i < TORC_EVICT_SAMPLES_MAX && ref == kept; i++) {
        ref = torc_table_random(keyspace->arena, table, next_random(evictor));
    }
    return ref != kept ? ref : TORC_REF_NONE;
}

static uint64_t choose(const struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                       uint64_t kept)
{
    const struct torc_table *table = &keyspace->root->table;
    if (table->count == (kept != TORC_REF_NONE)) {
        return TORC_REF_NONE;
    }
    if (evictor->policy == TORC_EVICT_LRU) {
        return torc_table_unused(keyspace->arena, table, &evictor->place,
                                 evictor->samples * SAMPLE_LINES, kept);
    }
    return random_victim(keyspace, evictor, kept);
}

uint64_t torc_keyspace_evict(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                             const struct torc_key *kept)
{
    uint64_t kept_ref = kept != NULL ? torc_keyspace_find(keyspace, kept) : TORC_REF_NONE;
    uint64_t ref = choose(keyspace, evictor, kept_ref);
    if (ref == TORC_REF_NONE) {
        return 0;
    }
    uint64_t bytes = torc_keyspace_bytes_of(keyspace, ref);
    /* The name is in the arena, but removing looks at the hash only. */
    struct torc_key key =
        torc_keyspace_key(keyspace, torc_record_name(torc_arena_at(keyspace->arena, ref)));
    torc_keyspace_begin(keyspace, TORC_OPERATION_DEL, key.hash);
    torc_keyspace_remove(keyspace, &key, ref);
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    evictor->n_keys++;
    return bytes;
}

/* --- before a write --- */

/* What a write needs at most, but for a block or table that is rewritten with it. */
static uint64_t bytes_needed(const struct torc_key *key, const struct torc_pair *pairs,
                             size_t n_pairs)
{
    uint64_t bytes = KEY_BYTES + key->name.len + n_pairs * PAIR_BYTES;
    for (size_t i = 0; i < n_pairs; i++) {
        bytes += pairs[i].field.len + pairs[i].value.len;
    }
    return bytes;
}

static uint64_t spare_bytes(const struct torc_arena *arena)
{
    return torc_arena_limit(arena) / SPARE_PART;
}

/* Room for `need` bytes and the reserve. */
static bool has_room(const struct torc_arena *arena, uint64_t need)
{
    uint64_t reserve = RESERVE_BYTES;
    if (torc_arena_limit(arena) != 0) {
        reserve = torc_min_u64(reserve, spare_bytes(arena));
    }
    return torc_arena_has_room(arena, need + reserve);
}

/* With `need` bytes more, more would live than shall. Dead bytes of the segments of large hashes
 * are not known here and pass for live ones: one in ten at most. */
static bool lives_too_much(struct torc_arena *arena, uint64_t need)
{
    uint64_t limit = torc_arena_limit(arena);
    uint64_t live = torc_arena_used(arena) - torc_stream_shared(arena)->dead;
    return limit != 0 && live + need > limit - spare_bytes(arena);
}

/* A flush or a large hash is being freed: that comes first. */
static bool is_dropping(const struct torc_keyspace *keyspace)
{
    return keyspace->root->drop_hashes != TORC_REF_NONE || keyspace->root->dropped != TORC_REF_NONE;
}

static unsigned pace_units(uint64_t need)
{
    return (unsigned)torc_min_u64(PACE_UNITS + need / PACE_UNIT_BYTES, UINT32_MAX);
}

/* Dead bytes are left to become more for as long as there is room, since the more there are the
 * cheaper they are to clean. */
static bool wants_cleaning(const struct torc_keyspace *keyspace, uint64_t need)
{
    return is_dropping(keyspace) ||
           !torc_arena_has_room(keyspace->arena, need + spare_bytes(keyspace->arena) / 4);
}

/* Evict as much as is written, and clean in proportion. */
static void evict_in_passing(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                             const struct torc_key *kept, uint64_t need)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < PACE_KEYS && bytes < need && !is_dropping(keyspace); i++) {
        uint64_t won = torc_keyspace_evict(keyspace, evictor, kept);
        if (won == 0) {
            break;
        }
        bytes += won;
    }
    if (wants_cleaning(keyspace, need)) {
        (void)torc_keyspace_maintain(keyspace, pace_units(need));
    }
}

/* Evict and clean until there is room for `need` bytes, or the steps are used up. */
static void make_room(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                      const struct torc_key *kept, uint64_t need)
{
    uint64_t steps = STEPS + need / STEP_BYTES;
    for (; steps > 0 && !has_room(keyspace->arena, need); steps--) {
        if (!torc_keyspace_maintain(keyspace, STEP_UNITS) &&
            torc_keyspace_evict(keyspace, evictor, kept) == 0) {
            return;
        }
    }
}

static void admit(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                  const struct torc_key *kept, uint64_t need)
{
    if (lives_too_much(keyspace->arena, need)) {
        evict_in_passing(keyspace, evictor, kept, need);
    }
    if (!has_room(keyspace->arena, need)) {
        make_room(keyspace, evictor, kept, need);
    }
}

/* After a put was refused: keys that make room in the index as well, and room for twice as much. */
static void admit_more(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                       const struct torc_key *kept, uint64_t need)
{
    for (unsigned i = 0; i < RETRY_KEYS; i++) {
        (void)torc_keyspace_evict(keyspace, evictor, kept);
    }
    make_room(keyspace, evictor, kept, need);
}

/* Can these bytes be had at all? */
static bool may_ever_fit(const struct torc_arena *arena, uint64_t need)
{
    uint64_t limit = torc_arena_limit(arena);
    return limit == 0 || need / CODE_PART <= limit;
}

int64_t torc_hash_put_evicting(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                               const struct torc_key *key, const struct torc_pair *pairs,
                               size_t n_pairs)
{
    if (TORC_LIKELY(evictor->policy == TORC_EVICT_NEVER)) {
        return torc_hash_put(keyspace, key, pairs, n_pairs);
    }
    return torc_hash_put_expiring_evicting(keyspace, evictor, key, pairs, n_pairs,
                                           TORC_EXPIRY_NONE);
}

int64_t torc_hash_put_expiring_evicting(struct torc_keyspace *keyspace,
                                        struct torc_evictor *evictor, const struct torc_key *key,
                                        const struct torc_pair *pairs, size_t n_pairs,
                                        uint64_t when)
{
    if (TORC_LIKELY(evictor->policy == TORC_EVICT_NEVER)) {
        return torc_hash_put_expiring(keyspace, key, pairs, n_pairs, when);
    }
    uint64_t need = bytes_needed(key, pairs, n_pairs);
    if (!may_ever_fit(keyspace->arena, need)) {
        return torc_hash_put_expiring(keyspace, key, pairs, n_pairs, when);
    }
    admit(keyspace, evictor, key, need);
    int64_t created = torc_hash_put_expiring(keyspace, key, pairs, n_pairs, when);
    for (unsigned i = 0; i < RETRIES && created == -ENOSPC; i++) {
        need *= 2;
        admit_more(keyspace, evictor, key, need);
        created = torc_hash_put_expiring(keyspace, key, pairs, n_pairs, when);
    }
    return created;
}

int torc_hash_put_absent_evicting(struct torc_keyspace *keyspace, struct torc_evictor *evictor,
                                  const struct torc_key *key, const struct torc_pair *pair)
{
    struct torc_value value;
    int rc = torc_hash_get(keyspace, key, pair->field, &value);
    if (rc != 0) {
        return rc == 1 ? 0 : rc;
    }
    return (int)torc_hash_put_evicting(keyspace, evictor, key, pair, 1);
}
