/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry of keys: the clock, the times of keys, and removing what is due, which includes fields.
 *
 * The keyspace's due tree has for each key a bound that is at or before its own time and those of
 * its hash's fields. It is told of a time only if that is sooner than any that the key had: bounds
 * may be too early, and then cost one look at the cell.
 */
#include "hash/expiry.h"

#include "hash/keyspace_private.h"

/* Keys of a cell that are looked into at once. */
#define REAP_KEYS 64u
/* Keys that are drawn for the average of times to live. */
#define SAMPLE_KEYS 64u
/* A due tree of at most so many bytes goes at once when nothing has a time any more; of what never
 * held a bound, so many nodes at a time. */
#define SMALL_DUE_BYTES 512u
#define CLEAR_NODES     64u

static uint8_t *record_at(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return torc_arena_at(keyspace->arena, ref);
}

static bool is_past(const struct torc_keyspace *keyspace, const uint8_t *record)
{
    return torc_expiry_is_past(torc_record_key_expiry(record), keyspace->now);
}

/* --- the clock --- */

void torc_keyspace_set_time(struct torc_keyspace *keyspace, uint64_t now_ms)
{
    if (now_ms >= keyspace->now || keyspace->root->due.bound > keyspace->now) {
        keyspace->now = now_ms;
    }
}

uint64_t torc_keyspace_time(const struct torc_keyspace *keyspace)
{
    return keyspace->now;
}

uint64_t torc_keyspace_next_due(const struct torc_keyspace *keyspace)
{
    return keyspace->root->due.bound;
}

/* --- for the files of the module --- */

uint64_t torc_keyspace_unless_past(const struct torc_keyspace *keyspace, uint64_t ref)
{
    return is_past(keyspace, record_at(keyspace, ref)) ? TORC_REF_NONE : ref;
}

/* Remove a key that is past. */
static void remove_past(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref)
{
    torc_keyspace_remove(keyspace, key, ref);
    ++keyspace->expired_keys;
}

uint64_t torc_keyspace_remove_if_past(struct torc_keyspace *keyspace, const struct torc_key *key,
                                      uint64_t ref)
{
    if (!is_past(keyspace, record_at(keyspace, ref))) {
        return ref;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, key->hash);
    remove_past(keyspace, key, ref);
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return TORC_REF_NONE;
}

bool torc_keyspace_has_times(const struct torc_keyspace *keyspace, const uint8_t *record)
{
    enum torc_record_type type = torc_record_type(record);
    if (type == TORC_RECORD_COMPACT) {
        return torc_compact_expires(torc_record_payload(record));
    }
    return type == TORC_RECORD_FULL &&
           torc_full_at(keyspace->arena, torc_record_root(record))->n_expiring != 0;
}

uint64_t torc_keyspace_bound(const struct torc_keyspace *keyspace, const uint8_t *record)
{
    enum torc_record_type type = torc_record_type(record);
    uint64_t when = torc_record_key_expiry(record);
    uint64_t bound = TORC_EXPIRY_NEVER;
    if (type == TORC_RECORD_COMPACT) {
        bound = torc_compact_due(torc_record_payload(record));
    } else if (type == TORC_RECORD_FULL) {
        bound = torc_full_due(torc_full_at(keyspace->arena, torc_record_root(record)));
    }
    return when != TORC_EXPIRY_NONE ? torc_min_u64(bound, when) : bound;
}

void torc_keyspace_recount(struct torc_keyspace *keyspace, bool had_times, const uint8_t *record)
{
    keyspace->root->n_expiring_hashes += torc_keyspace_has_times(keyspace, record);
    keyspace->root->n_expiring_hashes -= had_times;
}

int torc_keyspace_reserve_due(struct torc_keyspace *keyspace, const struct torc_key *key,
                              uint64_t when, uint64_t bound)
{
    struct torc_keyspace_root *root = keyspace->root;
    if (TORC_LIKELY(when >= bound)) {
        return 0;
    }
    int rc = torc_due_reserve(keyspace->arena, &root->due, key->hash, root->table.count + 1);
    if (rc != 0) {
        (void)torc_keyspace_tend_due(keyspace);
    }
    return rc;
}

void torc_keyspace_note_due(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t when, uint64_t bound)
{
    if (when < bound) {
        torc_due_note(keyspace->arena, &keyspace->root->due, key->hash, when);
    }
}

/* What the tree says is out of date. A large one goes by cells: it is sound in between, as times
 * may come again. */
static TORC_COLD bool clear_due(struct torc_keyspace *keyspace)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_due *due = &keyspace->root->due;
    uint64_t n_keys = keyspace->root->table.count;
    struct torc_due_cell cell;
    if (due->bytes > SMALL_DUE_BYTES && torc_due_next(arena, due, TORC_EXPIRY_MAX, n_keys, &cell)) {
        torc_due_set(arena, due, &cell, TORC_EXPIRY_NEVER, n_keys);
        return true;
    }
    unsigned i = 0;
    while (torc_due_drop_step(arena, due)) {
        if (++i == CLEAR_NODES) {
            return true;
        }
    }
    return false;
}

bool torc_keyspace_tend_due(struct torc_keyspace *keyspace)
{
    const struct torc_keyspace_root *root = keyspace->root;
    if (TORC_LIKELY(root->due.bound == TORC_EXPIRY_NEVER && root->due.bytes == 0) ||
        root->n_expiring != 0 || root->n_expiring_hashes != 0) {
        return false;
    }
    return clear_due(keyspace);
}

/* --- times of keys --- */

bool torc_keyspace_is_met(unsigned conditions, uint64_t old_when, uint64_t when)
{
    /* None is later than any. */
    uint64_t old_end = old_when != TORC_EXPIRY_NONE ? old_when : TORC_EXPIRY_NEVER;
    return !((conditions & TORC_EXPIRE_NX) != 0 && old_when != TORC_EXPIRY_NONE) &&
           !((conditions & TORC_EXPIRE_XX) != 0 && old_when == TORC_EXPIRY_NONE) &&
           !((conditions & TORC_EXPIRE_GT) != 0 && when <= old_end) &&
           !((conditions & TORC_EXPIRE_LT) != 0 && when >= old_end);
}

/* Write the record of a key anew with another time: one has none and the other has one. */
static int rewrite_with(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref,
                        uint64_t when)
{
    struct torc_arena *arena = keyspace->arena;
    const uint8_t *record = record_at(keyspace, ref);
    uint64_t payload_bytes = torc_record_bytes(record) -
                             torc_record_key_head_bytes(key->name.len, torc_record_expires(record));
    uint64_t new_ref;
    int rc = torc_record_alloc(arena, torc_stream_shared(arena),
                               torc_record_key_head_bytes(key->name.len, when != TORC_EXPIRY_NONE) +
                                   payload_bytes,
                               &new_ref);
    if (rc != 0) {
        return rc;
    }
    uint8_t *payload = torc_record_write_key(record_at(keyspace, new_ref), torc_record_type(record),
                                             when, key->name);
    memcpy(payload, torc_record_payload(record), payload_bytes);
    torc_keyspace_replace(keyspace, key, ref, new_ref);
    return 0;
}

static int set_key_time(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t ref,
                        uint64_t when)
{
    uint8_t *record = record_at(keyspace, ref);
    uint64_t bound = torc_keyspace_bound(keyspace, record);
    int rc = torc_keyspace_reserve_due(keyspace, key, when, bound);
    if (rc == 0 && torc_record_expires(record)) {
        torc_record_set_expiry(record, when);
    } else if (rc == 0) {
        rc = rewrite_with(keyspace, key, ref, when);
        keyspace->root->n_expiring += rc == 0;
    }
    if (rc == 0) {
        torc_keyspace_note_due(keyspace, key, when, bound);
    }
    (void)torc_keyspace_tend_due(keyspace);
    return rc == 0 ? TORC_EXPIRE_SET : rc;
}

int torc_keyspace_expire(struct torc_keyspace *keyspace, const struct torc_key *key, uint64_t when,
                         unsigned conditions)
{
    uint64_t ref = torc_keyspace_find_to_change(keyspace, key);
    assert(when - 1 < TORC_EXPIRY_MAX);
    if (ref == TORC_REF_NONE ||
        !torc_keyspace_is_met(conditions, torc_record_key_expiry(record_at(keyspace, ref)), when)) {
        return TORC_EXPIRE_NOT_MET;
    }
    int rc = TORC_EXPIRE_REMOVED;
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, key->hash);
    if (torc_expiry_is_past(when, keyspace->now)) {
        torc_keyspace_remove(keyspace, key, ref);
        (void)torc_keyspace_tend_due(keyspace);
    } else {
        rc = set_key_time(keyspace, key, ref, when);
    }
    torc_keyspace_end(keyspace);
    return rc;
}

/* Take the time out of a record that is no extent: what is behind it moves up. */
static void close_up(struct torc_keyspace *keyspace, uint64_t ref, size_t key_len)
{
    uint8_t *record = record_at(keyspace, ref);
    uint64_t bytes = torc_record_bytes(record);
    uint8_t *expiry = record + 1 + torc_record_len_size(key_len);
    memmove(expiry, expiry + TORC_RECORD_EXPIRY_BYTES,
            (size_t)(record + bytes - expiry) - TORC_RECORD_EXPIRY_BYTES);
    record[0] &= (uint8_t)~TORC_RECORD_EXPIRES;
    torc_record_write_hole(record + bytes - TORC_RECORD_EXPIRY_BYTES, TORC_RECORD_EXPIRY_BYTES);
    torc_record_trim(keyspace->arena, torc_stream_shared(keyspace->arena), ref, bytes,
                     TORC_RECORD_EXPIRY_BYTES);
}

int torc_keyspace_persist(struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref == TORC_REF_NONE || !torc_record_expires(record_at(keyspace, ref))) {
        return 0;
    }
    int rc = 0;
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, key->hash);
    if (torc_record_is_extent(torc_record_bytes(record_at(keyspace, ref)))) {
        rc = rewrite_with(keyspace, key, ref, TORC_EXPIRY_NONE);
    } else {
        close_up(keyspace, ref, key->name.len);
    }
    if (rc == 0) {
        --keyspace->root->n_expiring;
        (void)torc_keyspace_tend_due(keyspace);
    }
    torc_keyspace_end(keyspace);
    return rc == 0 ? 1 : rc;
}

int64_t torc_keyspace_expiry(const struct torc_keyspace *keyspace, const struct torc_key *key)
{
    uint64_t ref = torc_keyspace_find(keyspace, key);
    if (ref == TORC_REF_NONE) {
        return -2;
    }
    uint64_t when = torc_record_key_expiry(record_at(keyspace, ref));
    return when != TORC_EXPIRY_NONE ? (int64_t)when : -1;
}

/* --- removing what is due --- */

/* Past fields of a compact hash. True: fields are left. */
static bool reap_compact(struct torc_keyspace *keyspace, uint64_t ref, uint64_t *out_removed)
{
    uint8_t *record = record_at(keyspace, ref);
    uint8_t *block = torc_keyspace_payload(record, torc_record_name(record).len);
    size_t before = torc_compact_used(block);
    *out_removed = torc_compact_reap(block, keyspace->scratch, keyspace->now);
    torc_keyspace_recount(keyspace, true, record);
    if (torc_compact_count(block) == 0) {
        return false;
    }
    if (*out_removed != 0) {
        keyspace->root->slack_bytes += before - torc_compact_used(block);
        torc_hash_trim(keyspace, ref, block);
    }
    return true;
}

/* Past fields of a full hash. True: fields are left, some perhaps past. */
static bool reap_full(struct torc_keyspace *keyspace, const uint8_t *record, unsigned *budget,
                      uint64_t *out_removed)
{
    uint64_t root = torc_record_root(record);
    bool had_times = torc_keyspace_has_times(keyspace, record);
    bool is_done = torc_full_reap(keyspace->arena, root, keyspace->now, budget, out_removed);
    assert(is_done || *budget == 0);
    (void)is_done;
    torc_keyspace_recount(keyspace, had_times, record);
    if (*out_removed != 0) {
        torc_keyspace_note_full(keyspace, root);
    }
    return torc_full_count(keyspace->arena, root) != 0;
}

/* Remove what is past of one key. Returns its bound afterwards: TORC_EXPIRY_NEVER also if it is
 * gone. */
static uint64_t reap_record(struct torc_keyspace *keyspace, const struct torc_key *key,
                            uint64_t ref, unsigned *budget)
{
    const uint8_t *record = record_at(keyspace, ref);
    enum torc_record_type type = torc_record_type(record);
    uint64_t removed = 0;
    bool is_left = true;
    if (is_past(keyspace, record)) {
        remove_past(keyspace, key, ref);
        return TORC_EXPIRY_NEVER;
    }
    if (torc_keyspace_bound(keyspace, record) <= keyspace->now) {
        is_left = type == TORC_RECORD_COMPACT ? reap_compact(keyspace, ref, &removed)
                                              : reap_full(keyspace, record, budget, &removed);
    }
    keyspace->expired_fields += removed;
    if (!is_left) {
        torc_keyspace_remove(keyspace, key, ref);
        return TORC_EXPIRY_NEVER;
    }
    return torc_keyspace_bound(keyspace, record);
}

uint64_t torc_keyspace_reap_block(struct torc_keyspace *keyspace, const struct torc_key *key,
                                  uint64_t ref)
{
    uint8_t *record = record_at(keyspace, ref);
    if (torc_record_type(record) != TORC_RECORD_COMPACT ||
        torc_compact_due(torc_keyspace_payload(record, key->name.len)) > keyspace->now) {
        return ref;
    }
    uint64_t removed;
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, key->hash);
    if (!reap_compact(keyspace, ref, &removed)) {
        torc_keyspace_remove(keyspace, key, ref);
        ref = TORC_REF_NONE;
    }
    keyspace->expired_in_passing += removed;
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return ref;
}

bool torc_keyspace_reap_key(struct torc_keyspace *keyspace, const struct torc_key *key,
                            unsigned budget)
{
    if (TORC_LIKELY(keyspace->root->due.bound > keyspace->now)) {
        return true;
    }
    uint64_t ref = torc_keyspace_find_any(keyspace, key);
    if (ref == TORC_REF_NONE ||
        torc_keyspace_bound(keyspace, record_at(keyspace, ref)) > keyspace->now) {
        return true;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, key->hash);
    uint64_t bound = reap_record(keyspace, key, ref, &budget);
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return bound > keyspace->now;
}

/* A look at the keys of a cell. */
struct cell_visit {
    const struct torc_keyspace *keyspace;
    uint64_t refs[REAP_KEYS]; /* of keys that are due */
    unsigned n_refs;
    unsigned n_seen;
    bool is_more;   /* there are more of them */
    uint64_t bound; /* of the others */
};

static void look(void *arg, uint64_t ref)
{
    struct cell_visit *v = arg;
    uint64_t bound = torc_keyspace_bound(v->keyspace, record_at(v->keyspace, ref));
    ++v->n_seen;
    if (bound > v->keyspace->now) {
        v->bound = torc_min_u64(v->bound, bound);
    } else if (v->n_refs < REAP_KEYS) {
        v->refs[v->n_refs++] = ref;
    } else {
        v->is_more = true;
    }
}

/* Look at a cell that is due. Either nothing in it is due afterwards, or there were more keys than
 * the budget or the visit had room for: then it stays due, and has fewer of them. */
static void reap_cell(struct torc_keyspace *keyspace, const struct torc_due_cell *cell,
                      unsigned *budget)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_keyspace_root *root = keyspace->root;
    struct cell_visit v = {.keyspace = keyspace, .bound = TORC_EXPIRY_NEVER};
    torc_table_each_between(arena, &root->table, cell->first, cell->last, look, &v);
    *budget -= (unsigned)torc_min_u64(*budget, 1 + v.n_seen);
    bool is_part = v.n_refs > TORC_DUE_AT_ONCE;
    bool got_on = false;
    for (unsigned i = 0; i < v.n_refs; i++) {
        /* One key at least, so that a small budget gets on, too. */
        if ((is_part && !torc_due_takes(&root->due, v.refs[i])) || (got_on && *budget == 0)) {
            v.is_more = true;
            continue;
        }
        got_on = true;
        /* The name is in the arena, but it is not looked at once the record is gone. */
        struct torc_key key =
            torc_keyspace_key(keyspace, torc_record_name(record_at(keyspace, v.refs[i])));
        unsigned units = (unsigned)torc_max_u64(*budget, 1);
        v.bound = torc_min_u64(v.bound, reap_record(keyspace, &key, v.refs[i], &units));
        *budget = (unsigned)torc_min_u64(*budget, units);
    }
    if (!v.is_more) {
        torc_due_set(arena, &root->due, cell, v.bound, root->table.count);
    }
}

bool torc_keyspace_reap(struct torc_keyspace *keyspace, unsigned budget)
{
    struct torc_keyspace_root *root = keyspace->root;
    struct torc_due_cell cell;
    if (TORC_LIKELY(root->due.bound > keyspace->now)) {
        return true;
    }
    torc_keyspace_begin(keyspace, TORC_OPERATION_EXPIRE, 0);
    while (budget > 0 &&
           torc_due_next(keyspace->arena, &root->due, keyspace->now, root->table.count, &cell)) {
        reap_cell(keyspace, &cell, &budget);
    }
    (void)torc_keyspace_tend_due(keyspace);
    torc_keyspace_end(keyspace);
    return root->due.bound > keyspace->now;
}

/* --- what there is --- */

/* splitmix64 (S. Vigna). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint64_t average_ttl(const struct torc_keyspace *keyspace)
{
    uint64_t state = keyspace->seed;
    uint64_t sum = 0;
    uint64_t n = 0;
    for (unsigned i = 0; i < SAMPLE_KEYS; ++i) {
        uint64_t ref =
            torc_table_random(keyspace->arena, &keyspace->root->table, next_random(&state));
        uint64_t when = torc_record_key_expiry(record_at(keyspace, ref));
        if (when > keyspace->now) {
            sum += when - keyspace->now;
            ++n;
        }
    }
    return n != 0 ? sum / n : 0;
}

void torc_keyspace_expiry_facts(const struct torc_keyspace *keyspace,
                                struct torc_expiry_facts *out_facts)
{
    const struct torc_keyspace_root *root = keyspace->root;
    *out_facts = (struct torc_expiry_facts){
        .n_keys = root->n_expiring,
        .n_hashes = root->n_expiring_hashes,
        .expired_keys = keyspace->expired_keys,
        .expired_fields = keyspace->expired_fields,
        .expired_fields_in_passing = keyspace->expired_in_passing,
        .average_ttl_ms = root->n_expiring != 0 ? average_ttl(keyspace) : 0,
    };
}
