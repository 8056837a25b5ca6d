/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyspace: opening, keys, flush, maintenance. What hashes do is in hash/hash.c.
 */
#include "hash/keyspace.h"

#include <stdlib.h>

#include "hash/cleaner.h"
#include "hash/keyspace_private.h"

/* When the dead share of records is worth the cleaner's work: under load, when idle, and when idle
 * for long. */
static const struct torc_clean_goal busy_goal = {.dead_min_bytes = 64 * TORC_KIB, .dead_part = 20};
static const struct torc_clean_goal idle_goal = {.dead_min_bytes = 16 * TORC_KIB, .dead_part = 50};
static const struct torc_clean_goal rest_goal = {.dead_min_bytes = 4 * TORC_KIB, .dead_part = 250};

/* A home of the index that is moved counts as this many units: it has as many entries. */
#define HOME_UNITS 8u

/* What a flush frees itself. */
#define FLUSH_UNITS 64u

/* What is less than one part in so many of a block is left as it is. */
#define TRIM_KEEP_PART 256u

/* --- open and close --- */

static void format_root(struct torc_keyspace_root *root)
{
    memset(root, 0, 1u << TORC_KEYSPACE_ROOT_LOG2);
    torc_table_init(&root->table);
    torc_due_init(&root->due);
    root->magic = TORC_KEYSPACE_MAGIC;
}

static int alloc_root(struct torc_arena *arena, uint64_t *out_ref)
{
    uint64_t ref;
    int rc = torc_arena_block_alloc(arena, TORC_KEYSPACE_ROOT_LOG2, TORC_USE_ROOT, &ref);
    if (rc != 0) {
        return rc;
    }
    format_root(torc_keyspace_root_at(arena, ref));
    *out_ref = ref;
    return 0;
}

int torc_keyspace_open(struct torc_arena *arena, unsigned index,
                       const struct torc_hash_limits *limits, struct torc_keyspace **out_keyspace)
{
    if (index >= TORC_ARENA_DATABASES) {
        return -EINVAL;
    }
    struct torc_keyspace *keyspace = malloc(sizeof(*keyspace));
    struct torc_press *press = torc_press_create();
    uint64_t ref = torc_arena_root(arena, index);
    int rc = 0;
    if (keyspace == NULL || press == NULL) {
        rc = -ENOMEM;
    } else if (ref == TORC_REF_NONE) {
        rc = alloc_root(arena, &ref);
        if (rc == 0) {
            torc_arena_set_root(arena, index, ref);
        }
    } else if (torc_keyspace_root_at(arena, ref)->magic != TORC_KEYSPACE_MAGIC) {
        rc = -EBADMSG;
    }
    if (rc != 0) {
        torc_press_destroy(press);
        free(keyspace);
        return rc;
    }
    keyspace->arena = arena;
    keyspace->press = press;
    keyspace->root = torc_keyspace_root_at(arena, ref);
    keyspace->limits = limits;
    keyspace->seed = torc_arena_seed(arena);
    keyspace->index = index;
    keyspace->now = 0;
    keyspace->expired_keys = 0;
    keyspace->expired_fields = 0;
    keyspace->expired_in_passing = 0;
    *out_keyspace = keyspace;
    return 0;
}

void torc_keyspace_close(struct torc_keyspace *keyspace)
{
    if (keyspace != NULL) {
        torc_press_destroy(keyspace->press);
    }
    free(keyspace);
}

struct torc_key torc_keyspace_key(const struct torc_keyspace *keyspace, struct torc_slice name)
{
    return (struct torc_key){.name = name, .hash = torc_hash_slice(keyspace->seed, name)};
}

void torc_keyspace_prefetch_line(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    torc_table_prefetch(keyspace->arena, &keyspace->root->table, key->hash);
}

void torc_keyspace_prefetch_record(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_table_candidate(keyspace->arena, &keyspace->root->table, key->hash);
    if (ref != TORC_REF_NONE) {
        /* Head and key, and what a command reads next: the payload's front. */
        const uint8_t *record = torc_arena_at(keyspace->arena, ref);
        TORC_PREFETCH(record);
        TORC_PREFETCH(record + torc_record_key_head_bytes(key->name.len, false) +
                      TORC_CACHE_LINE_BYTES);
    }
}

/* --- keys --- */

static enum torc_type type_of(const uint8_t *record)
{
    return torc_record_type(record) == TORC_RECORD_STRING ? TORC_TYPE_STRING : TORC_TYPE_HASH;
}

enum torc_type torc_keyspace_type(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    return ref == TORC_REF_NONE ? TORC_TYPE_NONE : type_of(torc_arena_at(keyspace->arena, ref));
}

enum torc_encoding torc_keyspace_encoding(const struct torc_keyspace *keyspace,
                                          const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref == TORC_REF_NONE) {
        return TORC_ENCODING_NONE;
    }
    enum torc_record_type type = torc_record_type(torc_arena_at(keyspace->arena, ref));
    return type == TORC_RECORD_COMPACT ? TORC_ENCODING_COMPACT
           : type == TORC_RECORD_FULL  ? TORC_ENCODING_FULL
                                       : TORC_ENCODING_NONE;
}

/* The key with this record is there now. */
static inline void count_in(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t ref)
{
    uint8_t *record = torc_arena_at(keyspace->arena, ref);
    keyspace->root->n_expiring += torc_record_expires(record);
    if (TORC_LIKELY(torc_record_type(record) == TORC_RECORD_COMPACT)) {
        keyspace->root->n_expiring_hashes +=
            torc_compact_expires(torc_keyspace_payload(record, key->name.len));
    } else {
        keyspace->root->n_expiring_hashes += torc_keyspace_has_times(keyspace, record);
    }
}

int torc_keyspace_insert(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_keyspace_root *root = keyspace->root;
    uint64_t spare = TORC_REF_NONE;
    if (root->spare == TORC_REF_NONE) {
        int rc = alloc_root(arena, &spare);
        if (rc != 0) {
            return rc;
        }
    }
    int rc = torc_table_reserve(arena, &root->table, 1);
    if (rc != 0) {
        if (spare != TORC_REF_NONE) {
            torc_arena_block_free(arena, spare, TORC_KEYSPACE_ROOT_LOG2, TORC_USE_ROOT);
        }
        return rc;
    }
    if (spare != TORC_REF_NONE) {
        root->spare = spare;
    }
    torc_table_insert(arena, &root->table, key->hash, ref);
    count_in(keyspace, key, ref);
    return 0;
}

void torc_keyspace_replace(struct torc_keyspace *keyspace, const struct torc_key *key,
                           uint64_t old_ref, uint64_t ref)
{
    torc_table_replace(keyspace->arena, &keyspace->root->table, key->hash, old_ref, ref);
    (void)torc_record_release(keyspace->arena, torc_stream_shared(keyspace->arena), old_ref);
}

/* Free a record that no entry points at any more, with all that hangs on it. */
static void free_record(struct torc_keyspace *keyspace, uint64_t ref)
{
    struct torc_arena *arena = keyspace->arena;
    const uint8_t *record = torc_arena_at(arena, ref);
    uint64_t full =
        torc_record_type(record) == TORC_RECORD_FULL ? torc_record_root(record) : TORC_REF_NONE;
    keyspace->root->n_expiring -= torc_record_expires(record);
    keyspace->root->n_expiring_hashes -= torc_keyspace_has_times(keyspace, record);
    (void)torc_record_release(arena, torc_stream_shared(arena), ref);
    if (full != TORC_REF_NONE) {
        torc_keyspace_unlist(keyspace, torc_full_at(arena, full));
        torc_drop_full(keyspace, full);
    }
}

void torc_keyspace_supersede(struct torc_keyspace *keyspace, const struct torc_key *key,
                             uint64_t old_ref, uint64_t ref)
{
    count_in(keyspace, key, ref);
    torc_table_replace(keyspace->arena, &keyspace->root->table, key->hash, old_ref, ref);
    free_record(keyspace, old_ref);
}

void torc_keyspace_remove(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref)
{
    torc_table_remove(keyspace->arena, &keyspace->root->table, key->hash, ref);
    free_record(keyspace, ref);
}

bool torc_keyspace_del(struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref == TORC_REF_NONE) {
        return false;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_DEL, key->hash);
    torc_keyspace_remove(keyspace, key, ref);
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return true;
}

uint64_t torc_keyspace_count(const struct torc_keyspace *keyspace)
{
    return keyspace->root->table.count;
}

uint64_t torc_keyspace_bytes_of(const struct torc_keyspace *keyspace, uint64_t ref)
{
    const uint8_t *record = torc_arena_at(keyspace->arena, ref);
    uint64_t bytes = torc_record_bytes(record);
    if (torc_record_is_extent(bytes)) {
        bytes = torc_extent_bytes(bytes);
    }
    if (torc_record_type(record) == TORC_RECORD_FULL) {
        bytes += torc_full_bytes(keyspace->arena, torc_record_root(record));
    }
    return bytes + TORC_KEYSPACE_ENTRY_BYTES;
}

uint64_t torc_keyspace_usage(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    return ref == TORC_REF_NONE ? 0 : torc_keyspace_bytes_of(keyspace, ref);
}

struct key_visit {
    const struct torc_arena *arena;
    uint64_t now;
    void (*visit)(void *arg, struct torc_slice key, enum torc_type type);
    void *arg;
};

static void visit_key(void *arg, uint64_t ref)
{
    const struct key_visit *v = arg;
    const uint8_t *record = torc_arena_at(v->arena, ref);
    if (TORC_LIKELY(!torc_expiry_is_past(torc_record_key_expiry(record), v->now))) {
        v->visit(v->arg, torc_record_name(record), type_of(record));
    }
}

uint64_t torc_keyspace_scan(const struct torc_keyspace *keyspace, uint64_t cursor,
                            uint64_t min_homes,
                            void (*visit)(void *arg, struct torc_slice key, enum torc_type type),
                            void *arg)
{
    struct key_visit v = {
        .arena = keyspace->arena, .now = keyspace->now, .visit = visit, .arg = arg};
    return torc_table_scan(keyspace->arena, &keyspace->root->table, cursor, min_homes, visit_key,
                           &v);
}

struct torc_slice torc_keyspace_random(const struct torc_keyspace *keyspace, uint64_t random_bits)
{
    uint64_t ref = torc_table_random(keyspace->arena, &keyspace->root->table, random_bits);
    if (ref == TORC_REF_NONE) {
        return torc_slice_of(NULL, 0);
    }
    return torc_record_name(torc_arena_at(keyspace->arena, ref));
}

void torc_keyspace_flush(struct torc_keyspace *keyspace)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_keyspace_root *old = keyspace->root;
    if (old->table.count == 0) {
        return;
    }
    /* A table with entries has a spare root: see torc_keyspace_insert(). */
    uint64_t old_ref = torc_arena_root(arena, keyspace->index);
    uint64_t new_ref = old->spare;
    struct torc_keyspace_root *root = torc_keyspace_root_at(arena, new_ref);
    torc_keyspace_begin(keyspace, TORC_OPERATION_FLUSH, 0);
    root->dropped = old_ref;
    root->drop_hashes = old->drop_hashes;
    old->drop_next = old->dropped;
    old->spare = TORC_REF_NONE;
    old->dropped = TORC_REF_NONE;
    old->drop_hashes = TORC_REF_NONE;
    old->clean_first = TORC_REF_NONE; /* what will be freed needs no cleaning */
    old->clean_last = TORC_REF_NONE;
    torc_arena_set_root(arena, keyspace->index, new_ref);
    keyspace->root = root;
    torc_keyspace_end(keyspace);
    /* A small one is freed at once, so that flushed roots do not pile up. */
    bool more;
    (void)torc_drop_step(keyspace, FLUSH_UNITS, &more);
}

/* --- the list of full hashes for the cleaner --- */

static void list_for_cleaner(struct torc_keyspace *keyspace, uint64_t root,
                             const struct torc_clean_goal *goal)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_full *full = torc_full_at(arena, root);
    if (full->in_clean_list != 0 ||
        !torc_full_wants_cleaning(full, goal->dead_min_bytes, goal->dead_part)) {
        return;
    }
    uint64_t last = keyspace->root->clean_last;
    full->clean_prev = last;
    full->clean_next = TORC_REF_NONE;
    if (last != TORC_REF_NONE) {
        torc_full_at(arena, last)->clean_next = root;
    } else {
        keyspace->root->clean_first = root;
    }
    keyspace->root->clean_last = root;
    full->in_clean_list = 1;
}

void torc_keyspace_note_full(struct torc_keyspace *keyspace, uint64_t root)
{
    list_for_cleaner(keyspace, root, &busy_goal);
}

void torc_keyspace_unlist(struct torc_keyspace *keyspace, struct torc_full *full)
{
    if (full->in_clean_list == 0) {
        return;
    }
    if (full->clean_prev != TORC_REF_NONE) {
        torc_full_at(keyspace->arena, full->clean_prev)->clean_next = full->clean_next;
    } else {
        keyspace->root->clean_first = full->clean_next;
    }
    if (full->clean_next != TORC_REF_NONE) {
        torc_full_at(keyspace->arena, full->clean_next)->clean_prev = full->clean_prev;
    } else {
        keyspace->root->clean_last = full->clean_prev;
    }
    full->in_clean_list = 0;
}

/* --- maintenance --- */

static bool maintain(struct torc_keyspace *keyspace, unsigned budget,
                     const struct torc_clean_goal *goal)
{
    bool dropping;
    bool cleaning;
    /* Half for each of the two, and for one what the other leaves: neither can starve. */
    unsigned left = torc_drop_step(keyspace, budget - budget / 2, &dropping) + budget / 2;
    left = torc_cleaner_step(keyspace, goal, left, &cleaning);
    if (dropping && left > 0) {
        left = torc_drop_step(keyspace, left, &dropping);
    }
    bool growing = torc_table_step(keyspace->arena, &keyspace->root->table, 1 + left / HOME_UNITS);
    bool tending = torc_keyspace_tend_due(keyspace);
    return dropping || cleaning || growing || tending;
}

bool torc_keyspace_maintain(struct torc_keyspace *keyspace, unsigned budget)
{
    return maintain(keyspace, budget, &busy_goal);
}

struct trim_visit {
    struct torc_keyspace *keyspace;
    const struct torc_clean_goal *goal;
    unsigned n_seen;
};

/* May move a record, but changes nothing in the table but the reference to it. */
static void visit_to_trim(void *arg, uint64_t ref)
{
    struct trim_visit *v = arg;
    const uint8_t *record = torc_arena_at(v->keyspace->arena, ref);
    ++v->n_seen;
    if (torc_record_type(record) == TORC_RECORD_FULL) {
        if (!torc_hash_demote(v->keyspace, ref)) {
            list_for_cleaner(v->keyspace, torc_record_root(record), v->goal);
        }
        return;
    }
    if (torc_record_type(record) != TORC_RECORD_COMPACT ||
        torc_record_is_extent(torc_record_bytes(record))) {
        return;
    }
    const uint8_t *block = torc_record_payload(record);
    size_t least = 1 + torc_compact_capacity(block) / TRIM_KEEP_PART;
    if (torc_compact_loose(block) >= least) {
        torc_hash_pack(v->keyspace, ref, least);
    }
}

/* One walk over all keys after enough slack was given out: as much as may be dead. Returns the
 * units left. */
static unsigned trim_step(struct torc_keyspace *keyspace, const struct torc_clean_goal *goal,
                          unsigned budget, bool *out_more)
{
    struct torc_keyspace_root *root = keyspace->root;
    uint64_t live = torc_stream_shared(keyspace->arena)->live;
    if (root->trimming == 0 && root->slack_bytes > live / goal->dead_part) {
        root->slack_bytes = 0;
        root->trim_cursor = 0;
        root->trimming = 1;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_TRIM, 0);
    while (root->trimming != 0 && budget > 0) {
        struct trim_visit v = {.keyspace = keyspace, .goal = goal};
        root->trim_cursor =
            torc_table_scan(keyspace->arena, &root->table, root->trim_cursor, 1, visit_to_trim, &v);
        root->trimming = root->trim_cursor != 0;
        budget -= (unsigned)torc_min_u64(budget, 1 + v.n_seen);
    }
    torc_keyspace_end(keyspace);
    *out_more = root->trimming != 0;
    return budget;
}

int64_t torc_keyspace_optimize(struct torc_keyspace *keyspace, const struct torc_key *key,
                               bool *out_is_later)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    *out_is_later = false;
    if (ref == TORC_REF_NONE) {
        return -ENOENT;
    }
    struct trim_visit v = {.keyspace = keyspace, .goal = &rest_goal};
    uint64_t before = torc_keyspace_bytes_of(keyspace, ref);
    torc_keyspace_begin(keyspace, TORC_OPERATION_TRIM, key->hash);
    visit_to_trim(&v, ref);
    torc_keyspace_end(keyspace);
    ref = torc_keyspace_find(keyspace, key);
    const uint8_t *record = torc_arena_at(keyspace->arena, ref);
    if (torc_record_type(record) == TORC_RECORD_FULL) {
        *out_is_later = true;
        return (int64_t)torc_full_at(keyspace->arena, torc_record_root(record))->stream.dead;
    }
    return (int64_t)before - (int64_t)torc_keyspace_bytes_of(keyspace, ref);
}

void torc_keyspace_optimize_all(struct torc_keyspace *keyspace)
{
    keyspace->root->slack_bytes = 0;
    keyspace->root->trim_cursor = 0;
    keyspace->root->trimming = 1;
}

bool torc_keyspace_settle(struct torc_keyspace *keyspace, bool fully, unsigned budget)
{
    const struct torc_clean_goal *goal = fully ? &rest_goal : &idle_goal;
    bool trimming;
    unsigned left = trim_step(keyspace, goal, budget, &trimming);
    if (left == 0 || maintain(keyspace, left, goal) || trimming) {
        return true;
    }
    /* Nothing lives: give the open segment back as well. */
    struct torc_stream *shared = torc_stream_shared(keyspace->arena);
    return shared->live == 0 && torc_stream_drop_step(keyspace->arena, shared);
}
