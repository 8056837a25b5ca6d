/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of keys and fields against a naive model with a clock of its own, which goes on, jumps a
 * year and steps back: all functions on times, puts and deletes in both representations and between
 * them, renaming, copying, and an allocator that fails in the middle. After each step the index of
 * times is checked (torc_keyspace_check()) and what the call answered; every few steps all that can
 * be seen, before what is due was removed and after it.
 */
#include <check.h>
#include <stdlib.h>

#include "hash/expiry.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/prng.h"

#define MAX_KEYS   8u
#define MAX_FIELDS 400u
#define MAX_PAIRS  8u
#define NAME_MOST  40u
#define VALUE_MOST 700u
#define YEAR_MS    (365ull * 24 * 3600 * 1000)
#define ROOT_BYTES 256u

struct course {
    unsigned n_keys;
    unsigned n_fields;
    unsigned horizon_ms; /* how far ahead times are, mostly */
    unsigned check_every;
    uint64_t n_steps;
};

struct field {
    uint32_t value; /* 0: not there; else its text follows from it */
    uint64_t when;
};
struct key {
    uint64_t when;
    unsigned n; /* fields that are there */
    struct field fields[MAX_FIELDS];
};

struct bench {
    struct course course;
    struct torc_arena *arena;
    struct torc_hash_limits limits;
    struct torc_keyspace *ks;
    struct torc_prng prng;
    uint64_t step;
    uint64_t now;
    uint32_t last_value;
    struct key keys[MAX_KEYS];
    struct torc_pair pairs[MAX_PAIRS];
    unsigned numbers[MAX_PAIRS]; /* of the fields of a command, all different */
    uint8_t names[MAX_PAIRS][NAME_MOST];
    uint8_t values[MAX_PAIRS][VALUE_MOST];
    uint8_t key_names[2][NAME_MOST];
    unsigned seen_key, n_seen; /* by a walk */
};

static uint64_t below(struct bench *b, uint64_t n)
{
    return torc_prng_below(&b->prng, n);
}

static void fail_step(const struct bench *b, const char *what)
{
    ck_abort_msg("step %llu: %s", (unsigned long long)b->step, what);
}

#define HOLD(b, claim)                                                                             \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fail_step(b, #claim);                                                                  \
        }                                                                                          \
    } while (0)

/* --- names and values --- */

static struct torc_key key_of(struct bench *b, unsigned i, unsigned slot)
{
    size_t len = 1 + i * 4;
    memset(b->key_names[slot], 'K', len);
    b->key_names[slot][0] = (uint8_t)i;
    return torc_keyspace_key(b->ks, torc_slice_of(b->key_names[slot], len));
}

static struct torc_slice field_of(unsigned i, uint8_t *room)
{
    size_t len = 4 + i % 33;
    memset(room, 'f', len);
    torc_store_u32(room, i * 2654435761u);
    return torc_slice_of(room, len);
}

static struct torc_slice value_of(uint32_t value, uint8_t *room)
{
    size_t len = value % 16 != 0 ? 4 + value % 29 : 4 + value % 650;
    memset(room, 'v', len);
    torc_store_u32(room, value);
    return torc_slice_of(room, len);
}

/* --- the model --- */

static void forget_key(struct key *key)
{
    memset(key, 0, sizeof(*key));
}

static void set_field(struct key *key, unsigned i, uint32_t value, uint64_t when)
{
    key->n += value != 0;
    key->n -= key->fields[i].value != 0;
    key->fields[i] = (struct field){.value = value, .when = value != 0 ? when : 0};
    if (key->n == 0) {
        key->when = 0;
    }
}

/* What is past goes at once. */
static void purge(struct bench *b)
{
    for (unsigned k = 0; k < b->course.n_keys; ++k) {
        struct key *key = &b->keys[k];
        if (torc_expiry_is_past(key->when, b->now)) {
            forget_key(key);
        }
        for (unsigned i = 0; i < b->course.n_fields; ++i) {
            if (torc_expiry_is_past(key->fields[i].when, b->now)) {
                set_field(key, i, 0, 0);
            }
        }
    }
}

static bool is_met(unsigned conditions, uint64_t old_when, uint64_t when)
{
    if ((conditions & TORC_EXPIRE_NX) != 0 && old_when != 0) {
        return false;
    }
    if ((conditions & TORC_EXPIRE_XX) != 0 && old_when == 0) {
        return false;
    }
    if ((conditions & TORC_EXPIRE_GT) != 0 && (old_when == 0 || when <= old_when)) {
        return false;
    }
    return (conditions & TORC_EXPIRE_LT) == 0 || old_when == 0 || when < old_when;
}

/* --- choices --- */

static uint64_t random_when(struct bench *b)
{
    switch (below(b, 16)) {
    case 0:
        return 1 + below(b, b->now); /* past */
    case 1:
        return b->now + 1 + below(b, YEAR_MS);
    case 2:
        return b->now + 1;
    default:
        return b->now + 1 + below(b, b->course.horizon_ms);
    }
}

static unsigned random_conditions(struct bench *b)
{
    static const unsigned all[] = {TORC_EXPIRE_ALWAYS,
                                   TORC_EXPIRE_ALWAYS,
                                   TORC_EXPIRE_NX,
                                   TORC_EXPIRE_XX,
                                   TORC_EXPIRE_GT,
                                   TORC_EXPIRE_LT,
                                   TORC_EXPIRE_XX | TORC_EXPIRE_GT,
                                   TORC_EXPIRE_XX | TORC_EXPIRE_LT};
    return all[below(b, sizeof(all) / sizeof(*all))];
}

/* Up to MAX_PAIRS fields that follow each other. */
static size_t random_fields(struct bench *b)
{
    size_t n = below(b, 2) == 0 ? 1 : 1 + below(b, MAX_PAIRS);
    unsigned first = (unsigned)below(b, b->course.n_fields);
    for (unsigned i = 0; i < n; ++i) {
        b->numbers[i] = (first + i * 5) % b->course.n_fields;
        b->pairs[i].field = field_of(b->numbers[i], b->names[i]);
    }
    return n;
}

static unsigned random_key(struct bench *b)
{
    return (unsigned)below(b, b->course.n_keys);
}

/* As a server does before commands on whole keys. */
static void reap_key(struct bench *b, const struct torc_key *key)
{
    unsigned rounds = 0;
    while (!torc_keyspace_reap_key(b->ks, key, 1 + (unsigned)below(b, 20))) {
        HOLD(b, ++rounds < 10000);
    }
}

static bool refuse(struct bench *b)
{
    bool refused = below(b, 6) == 0;
    if (refused) {
        torc_arena_fail_after(b->arena, 1 + below(b, 5));
    }
    return refused;
}

static void allow(struct bench *b)
{
    torc_arena_fail_after(b->arena, 0);
}

/* --- comparing --- */

static void compare_field(struct bench *b, const struct torc_key *key, unsigned k, unsigned i)
{
    uint8_t name[NAME_MOST];
    uint8_t text[VALUE_MOST];
    const struct field *theirs = &b->keys[k].fields[i];
    struct torc_slice field = field_of(i, name);
    struct torc_value ours;
    int64_t when;
    size_t len;
    bool there = theirs->value != 0;
    HOLD(b, torc_hash_get(b->ks, key, field, &ours) == there);
    HOLD(b, !there || torc_slice_equal(ours.text, value_of(theirs->value, text)));
    HOLD(b, torc_hash_value_len(b->ks, key, field, &len) == there);
    HOLD(b, torc_hash_get_many(b->ks, key, &field, 1, &ours) == 1);
    HOLD(b, (ours.text.data != NULL) == there);
    HOLD(b, torc_hash_expiries(b->ks, key, &field, 1, &when) == 0);
    HOLD(b, when == (!there ? -2 : theirs->when == 0 ? -1 : (int64_t)theirs->when));
}

static void see_pair(void *arg, const struct torc_pair *pair)
{
    struct bench *b = arg;
    uint8_t name[NAME_MOST];
    uint8_t text[VALUE_MOST];
    unsigned i = 0;
    while (i < b->course.n_fields && !torc_slice_equal(field_of(i, name), pair->field)) {
        ++i;
    }
    HOLD(b, i < b->course.n_fields);
    uint32_t value = b->keys[b->seen_key].fields[i].value;
    HOLD(b, value != 0 && torc_slice_equal(value_of(value, text), pair->value));
    ++b->n_seen;
}

static void compare_key(struct bench *b, unsigned k)
{
    struct torc_key key = key_of(b, k, 0);
    for (unsigned i = 0; i < b->course.n_fields; ++i) {
        compare_field(b, &key, k, i);
    }
    b->seen_key = k;
    b->n_seen = 0;
    HOLD(b, torc_hash_each(b->ks, &key, TORC_PAIRS, see_pair, b) == 0);
    HOLD(b, b->n_seen == b->keys[k].n);
    HOLD(b, b->keys[k].n == 0 || torc_keyspace_expiry(b->ks, &key) ==
                                     (b->keys[k].when == 0 ? -1 : (int64_t)b->keys[k].when));
}

static void see_key(void *arg, struct torc_slice key, enum torc_type type)
{
    struct bench *b = arg;
    HOLD(b, key.len >= 1 && type == TORC_TYPE_HASH && b->keys[key.data[0]].n != 0);
    ++b->n_seen;
}

/* After all that is due was removed, counts are exact. */
static void compare_counts(struct bench *b)
{
    unsigned n_keys = 0;
    unsigned n_expiring = 0;
    unsigned n_hashes = 0;
    for (unsigned k = 0; k < b->course.n_keys; ++k) {
        struct torc_key key = key_of(b, k, 0);
        bool has_times = false;
        for (unsigned i = 0; i < b->course.n_fields; ++i) {
            has_times |= b->keys[k].fields[i].when != 0;
        }
        n_keys += b->keys[k].n != 0;
        n_expiring += b->keys[k].when != 0;
        n_hashes += has_times;
        HOLD(b, torc_hash_len(b->ks, &key) == (int64_t)b->keys[k].n);
        HOLD(b, (torc_keyspace_type(b->ks, &key) == TORC_TYPE_HASH) == (b->keys[k].n != 0));
        HOLD(b, b->keys[k].n != 0 || torc_keyspace_expiry(b->ks, &key) == -2);
    }
    struct torc_expiry_facts facts;
    uint64_t cursor = 0;
    torc_keyspace_expiry_facts(b->ks, &facts);
    HOLD(b, torc_keyspace_count(b->ks) == n_keys);
    HOLD(b, facts.n_keys == n_expiring);
    HOLD(b, facts.n_hashes == n_hashes);
    HOLD(b, torc_keyspace_next_due(b->ks) > b->now);
    HOLD(b, n_expiring + n_hashes != 0 || torc_keyspace_next_due(b->ks) == TORC_EXPIRY_NEVER);
    b->n_seen = 0;
    do {
        cursor = torc_keyspace_scan(b->ks, cursor, 1, see_key, b);
    } while (cursor != 0);
    HOLD(b, b->n_seen == n_keys);
}

static void compare_all(struct bench *b)
{
    unsigned rounds = 0;
    for (unsigned k = 0; k < b->course.n_keys; ++k) {
        compare_key(b, k);
    }
    while (!torc_keyspace_reap(b->ks, 1 + (unsigned)below(b, 50))) {
        HOLD(b, ++rounds < 100000);
    }
    compare_counts(b);
    for (unsigned k = 0; k < b->course.n_keys; ++k) {
        compare_key(b, k);
    }
}

static void check(struct bench *b)
{
    const char *why = NULL;
    HOLD(b, torc_arena_in_flight(b->arena) == 0);
    if (b->step % b->course.check_every == 0 && torc_keyspace_check(b->ks, &why) != 0) {
        fail_step(b, why);
    }
}

/* --- steps --- */

static void put(struct bench *b)
{
    unsigned k = random_key(b);
    struct key *model = &b->keys[k];
    struct torc_key key = key_of(b, k, 0);
    size_t n = random_fields(b);
    uint64_t kind = below(b, 8);
    uint64_t when = kind < 3 ? TORC_EXPIRY_NONE : kind == 3 ? TORC_EXPIRY_KEEP : random_when(b);
    uint32_t values[MAX_PAIRS];
    int64_t expected = 0;
    for (unsigned i = 0; i < n; ++i) {
        values[i] = ++b->last_value;
        b->pairs[i].value = value_of(values[i], b->values[i]);
        expected += model->fields[b->numbers[i]].value == 0;
    }
    if (model->n == 0) {
        /* A full hash that has past fields only would lend the key its time. */
        reap_key(b, &key);
    }
    bool refused = refuse(b);
    int64_t created = when == TORC_EXPIRY_NONE && kind == 0
                          ? torc_hash_put(b->ks, &key, b->pairs, n)
                          : torc_hash_put_expiring(b->ks, &key, b->pairs, n, when);
    allow(b);
    if (created < 0) {
        HOLD(b, refused && created == -ENOSPC);
        compare_key(b, k);
        return;
    }
    bool is_past = torc_expiry_is_past(when, b->now);
    HOLD(b, created == (is_past ? 0 : expected));
    for (unsigned i = 0; i < n; ++i) {
        uint64_t kept = model->fields[b->numbers[i]].when;
        set_field(model, b->numbers[i], is_past ? 0 : values[i],
                  when == TORC_EXPIRY_KEEP ? kept : when);
    }
}

static void del(struct bench *b)
{
    unsigned k = random_key(b);
    struct torc_key key = key_of(b, k, 0);
    struct torc_slice fields[MAX_PAIRS];
    size_t n = random_fields(b);
    int64_t expected = 0;
    for (unsigned i = 0; i < n; ++i) {
        fields[i] = b->pairs[i].field;
        expected += b->keys[k].fields[b->numbers[i]].value != 0;
        set_field(&b->keys[k], b->numbers[i], 0, 0);
    }
    torc_arena_fail_after(b->arena, 1); /* it needs no memory */
    HOLD(b, torc_hash_del(b->ks, &key, fields, n) == expected);
    allow(b);
}

/* A change of times of a full hash that was refused may have reached some fields. */
static void accept_some(struct bench *b, const struct torc_key *key, struct key *model, size_t n,
                        uint64_t when)
{
    for (unsigned i = 0; i < n; ++i) {
        struct field *field = &model->fields[b->numbers[i]];
        int64_t ours;
        HOLD(b, torc_hash_expiries(b->ks, key, &b->pairs[i].field, 1, &ours) == 0);
        if (field->value != 0 && ours == (when == 0 ? -1 : (int64_t)when)) {
            field->when = when;
        }
    }
}

static void expire_fields(struct bench *b)
{
    unsigned k = random_key(b);
    struct key *model = &b->keys[k];
    struct torc_key key = key_of(b, k, 0);
    struct torc_slice fields[MAX_PAIRS];
    int8_t results[MAX_PAIRS];
    size_t n = random_fields(b);
    uint64_t when = below(b, 4) == 0 ? TORC_EXPIRY_NONE : random_when(b);
    unsigned conditions = random_conditions(b);
    for (unsigned i = 0; i < n; ++i) {
        fields[i] = b->pairs[i].field;
    }
    bool refused = refuse(b);
    int rc = when == TORC_EXPIRY_NONE
                 ? torc_hash_persist(b->ks, &key, fields, n, results)
                 : torc_hash_expire(b->ks, &key, fields, n, when, conditions, results);
    allow(b);
    if (rc != 0) {
        HOLD(b, refused && rc == -ENOSPC);
        if (torc_keyspace_encoding(b->ks, &key) == TORC_ENCODING_FULL) {
            accept_some(b, &key, model, n, when);
        }
        compare_key(b, k);
        return;
    }
    for (unsigned i = 0; i < n; ++i) {
        struct field *field = &model->fields[b->numbers[i]];
        int expected = TORC_EXPIRE_SET;
        if (field->value == 0) {
            expected = TORC_EXPIRE_NO_FIELD;
        } else if (when == TORC_EXPIRY_NONE) {
            expected = field->when != 0 ? TORC_EXPIRE_SET : TORC_EXPIRE_NO_TIME;
            field->when = 0;
        } else if (!is_met(conditions, field->when, when)) {
            expected = TORC_EXPIRE_NOT_MET;
        } else if (torc_expiry_is_past(when, b->now)) {
            expected = TORC_EXPIRE_REMOVED;
            set_field(model, b->numbers[i], 0, 0);
        } else {
            field->when = when;
        }
        HOLD(b, results[i] == expected);
    }
}

static void expire_key(struct bench *b)
{
    unsigned k = random_key(b);
    struct key *model = &b->keys[k];
    struct torc_key key = key_of(b, k, 0);
    uint64_t when = random_when(b);
    unsigned conditions = random_conditions(b);
    bool persist = below(b, 3) == 0;
    int expected = 0;
    reap_key(b, &key);
    bool refused = refuse(b);
    int rc = persist ? torc_keyspace_persist(b->ks, &key)
                     : torc_keyspace_expire(b->ks, &key, when, conditions);
    allow(b);
    if (rc < 0) {
        HOLD(b, refused && rc == -ENOSPC);
        compare_key(b, k);
        return;
    }
    if (model->n != 0 && persist) {
        expected = model->when != 0;
        model->when = 0;
    } else if (model->n != 0 && is_met(conditions, model->when, when)) {
        expected = torc_expiry_is_past(when, b->now) ? 2 : 1;
        model->when = when;
        if (expected == 2) {
            forget_key(model);
        }
    }
    HOLD(b, rc == expected);
}

static void rename_or_copy(struct bench *b)
{
    unsigned f = random_key(b);
    unsigned t = random_key(b);
    struct torc_key from = key_of(b, f, 0);
    struct torc_key to = key_of(b, t, 1);
    bool copy = f != t && below(b, 2) == 0;
    bool over = below(b, 2) == 0;
    reap_key(b, &from);
    reap_key(b, &to);
    bool refused = refuse(b);
    int rc = copy ? torc_keyspace_copy(b->ks, &from, &to, over)
                  : torc_keyspace_rename(b->ks, &from, &to, !over);
    allow(b);
    if (rc == -ENOSPC) {
        HOLD(b, refused);
        compare_key(b, f);
        compare_key(b, t);
        return;
    }
    bool is_free = over || (b->keys[t].n == 0);
    if (b->keys[f].n == 0) {
        HOLD(b, rc == (copy ? 0 : -ENOENT));
        return;
    }
    HOLD(b, rc == is_free);
    if (is_free && f != t) {
        b->keys[t] = b->keys[f];
        if (!copy) {
            forget_key(&b->keys[f]);
        }
    }
}

static void drop(struct bench *b)
{
    unsigned k = random_key(b);
    struct torc_key key = key_of(b, k, 0);
    reap_key(b, &key);
    torc_arena_fail_after(b->arena, 1);
    HOLD(b, torc_keyspace_del(b->ks, &key) == (b->keys[k].n != 0));
    allow(b);
    forget_key(&b->keys[k]);
}

static void flush(struct bench *b)
{
    torc_arena_fail_after(b->arena, 1);
    torc_keyspace_flush(b->ks);
    allow(b);
    for (unsigned k = 0; k < b->course.n_keys; ++k) {
        forget_key(&b->keys[k]);
    }
}

static void change_clock(struct bench *b)
{
    uint64_t wall = b->now + below(b, b->course.horizon_ms / 8);
    if (below(b, 40) == 0) {
        wall = b->now + YEAR_MS;
    } else if (below(b, 10) == 0) {
        wall = b->now - below(b, torc_min_u64(b->now - 1, b->course.horizon_ms));
    }
    bool may_follow = wall >= b->now || torc_keyspace_next_due(b->ks) > b->now;
    torc_keyspace_set_time(b->ks, wall);
    HOLD(b, torc_keyspace_time(b->ks) == (may_follow ? wall : b->now));
    b->now = torc_keyspace_time(b->ks);
    purge(b);
}

static void change_limits(struct bench *b)
{
    static const uint32_t entries[] = {0, 4, 16, 65535, 65535};
    static const uint32_t compress[] = {0, 0, 64};
    b->limits.compact_max_entries = entries[below(b, 5)];
    b->limits.compact_max_value = below(b, 3) == 0 ? 20 : 32767;
    b->limits.disable_encoding = below(b, 3) == 0;
    b->limits.compress_min_bytes = compress[below(b, 3)];
}

static void tend(struct bench *b)
{
    if (below(b, 16) == 0) {
        torc_arena_fail_after(b->arena, 1 + below(b, 3));
    }
    switch (below(b, 4)) {
    case 0:
        (void)torc_keyspace_settle(b->ks, below(b, 2) == 0, (unsigned)below(b, 100));
        break;
    case 1:
        (void)torc_keyspace_maintain(b->ks, (unsigned)below(b, 100));
        break;
    default:
        if (torc_keyspace_reap(b->ks, 1 + (unsigned)below(b, 30))) {
            HOLD(b, torc_keyspace_next_due(b->ks) > b->now);
        }
        break;
    }
    allow(b);
}

static void step(struct bench *b)
{
    uint64_t choice = below(b, 100);
    if (choice < 35) {
        put(b);
    } else if (choice < 45) {
        del(b);
    } else if (choice < 65) {
        expire_fields(b);
    } else if (choice < 70) {
        expire_key(b);
    } else if (choice < 74) {
        rename_or_copy(b);
    } else if (choice < 84) {
        change_clock(b);
    } else if (choice < 95) {
        tend(b);
    } else if (choice < 97) {
        change_limits(b);
    } else if (choice < 98) {
        compare_all(b);
    } else if (below(b, 4) == 0) {
        drop(b);
    } else if (below(b, 20) == 0) {
        flush(b);
    }
}

/* Everything goes, and nothing is left but the root. */
static void finish(struct bench *b)
{
    const char *why = NULL;
    flush(b);
    while (torc_keyspace_settle(b->ks, true, 50)) {
    }
    HOLD(b, torc_keyspace_check(b->ks, &why) == 0);
    HOLD(b, torc_arena_used_by(b->arena, TORC_USE_INDEX) == 0);
    HOLD(b, torc_arena_used(b->arena) <= (uint64_t)2 * ROOT_BYTES);
}

static void run(const struct course *course)
{
    struct bench *b = calloc(1, sizeof(*b));
    ck_assert_ptr_nonnull(b);
    b->course = *course;
    b->arena = torc_test_arena(512 * TORC_MIB, 5);
    b->limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    b->prng = (struct torc_prng){torc_test_seed(41)};
    b->now = 1700000000000ull;
    uint64_t n = torc_test_ops(course->n_steps);
    ck_assert_int_eq(torc_keyspace_open(b->arena, 0, &b->limits, &b->ks), 0);
    torc_keyspace_set_time(b->ks, b->now);
    for (b->step = 1; b->step <= n; ++b->step) {
        step(b);
        check(b);
    }
    compare_all(b);
    finish(b);
    torc_keyspace_close(b->ks);
    torc_arena_destroy(b->arena);
    free(b);
}

START_TEST(few_fields)
{
    static const struct course course = {
        .n_keys = 8, .n_fields = 12, .horizon_ms = 4000, .check_every = 1, .n_steps = 20000};
    run(&course);
}
END_TEST

START_TEST(more_fields)
{
    static const struct course course = {
        .n_keys = 6, .n_fields = 60, .horizon_ms = 20000, .check_every = 1, .n_steps = 8000};
    run(&course);
}
END_TEST

START_TEST(large_hashes)
{
    static const struct course course = {
        .n_keys = 2, .n_fields = 400, .horizon_ms = 100000, .check_every = 4, .n_steps = 8000};
    run(&course);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyspace_expiry");
    TCase *tcase = tcase_create("keyspace_expiry");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, few_fields);
    tcase_add_test(tcase, more_fields);
    tcase_add_test(tcase, large_hashes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
