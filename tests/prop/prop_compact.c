/* SPDX-License-Identifier: Apache-2.0
 *
 * A compact block against a list of pairs in insertion order: random puts, batches of puts into a
 * capacity said beforehand, deletes, copies into other capacities, lookups and walks; with hashes
 * squeezed into few values, and everything checked after each step. Names and values are also such
 * as the codec encodes, or nearly would; some blocks are verbatim. In some, fields have times, by a
 * clock that the test sets: puts with a time, without and with the old one, times alone, lookups at
 * any time, and removing what is past.
 */
#include "hash/compact.h"

#include <stdio.h>
#include <stdlib.h>

#include "hash/compact_private.h"
#include "tests/support/coded_text.h"
#include "tests/support/compact_bytes.h"
#include "tests/support/prng.h"
#include "tests/support/squeezed_hash.h"

#define NAMES_MAX  2000
#define NAME_BYTES 200
#define BATCH_MAX  24

/* A pair of the model: which name, and its value. */
struct entry {
    size_t name;
    size_t len;
    uint8_t *value;
    uint64_t when; /* it ends; TORC_EXPIRY_NONE */
};

struct world {
    struct torc_prng prng;
    uint64_t mask;  /* what squeezed hashes keep */
    size_t n_names; /* to choose from */
    size_t len_max; /* of most values */
    bool verbatim;
    bool alike; /* most values have one length */
    bool timed; /* some fields have a time */
    uint8_t *memory;
    uint8_t *block; /* in `memory`, at any alignment, ending with it */
    struct entry entries[NAMES_MAX];
    size_t n;
};

/* Random bytes that values are cut out of. */
static uint8_t noise[2 * TORC_COMPACT_MAX_PART];
static uint8_t names[NAMES_MAX][NAME_BYTES];
static size_t name_lens[NAMES_MAX];

#define MUST(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            printf("line %d: not so: %s\n", __LINE__, #claim);                                     \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static struct torc_slice name_slice(size_t name)
{
    return torc_slice_of(names[name], name_lens[name]);
}

static uint64_t name_hash(const struct world *world, size_t name)
{
    return torc_squeezed_hash(world->mask, names[name], name_lens[name]);
}

/* Distinct names: the number, in as many bytes as it takes, then filling; a third are text of the
 * codec's kinds, whose second byte is one that the others do not have. */
static void make_names(void)
{
    struct torc_prng prng = {42};
    for (size_t i = 0; i < NAMES_MAX; i++) {
        size_t number_len = i == 0 ? 0 : i < 256 ? 1 : 2;
        uint64_t kind = torc_prng_below(&prng, 16);
        size_t filling = kind < 8 ? 0 : kind < 14 ? 2 + torc_prng_below(&prng, 30) : 150;
        names[i][0] = (uint8_t)i;
        names[i][1] = (uint8_t)(i >> 8);
        /* Filled names have a length of their own kind, so that none equals a bare number. */
        name_lens[i] = filling == 0 ? number_len : 2 + filling;
        for (size_t k = 2; k < NAME_BYTES; k++) {
            names[i][k] = 0xaa;
        }
        if (i % 3 == 2) {
            char room[TORC_CODED_BYTES];
            struct torc_slice text =
                torc_coded_text((unsigned)(i / 3) % TORC_CODED_KINDS, i + 10, room);
            memcpy(names[i], text.data, text.len);
            name_lens[i] = text.len;
        }
    }
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)torc_prng_next(&prng);
    }
}

/* `room`, of TORC_CODED_BYTES, must live as long as the value. */
static struct torc_slice draw_value(struct world *world, char *room)
{
    if (world->alike && torc_prng_below(&world->prng, 4) != 0) {
        return torc_slice_of(noise + torc_prng_below(&world->prng, TORC_COMPACT_MAX_PART), 3);
    }
    if (torc_prng_below(&world->prng, 3) == 0) {
        return torc_coded_random(&world->prng, room);
    }
    uint64_t kind = torc_prng_below(&world->prng, 200);
    size_t limit = kind < 100 ? 4 : kind < 180 ? world->len_max : kind < 199 ? 140 : 4000;
    return torc_slice_of(noise + torc_prng_below(&world->prng, TORC_COMPACT_MAX_PART),
                         torc_prng_below(&world->prng, limit));
}

/* The index of the name's pair, or world->n. */
static size_t model_find(const struct world *world, size_t name)
{
    size_t i = 0;
    while (i < world->n && world->entries[i].name != name) {
        i++;
    }
    return i;
}

/* Times are few, so that many fields end at one, and the clock is among them. */
static uint64_t draw_time(struct world *world)
{
    return torc_prng_below(&world->prng, 8) == 0 ? TORC_EXPIRY_MAX
                                                 : 1 + torc_prng_below(&world->prng, 100);
}

/* For a put. */
static uint64_t draw_when(struct world *world)
{
    if (!world->timed) {
        return TORC_EXPIRY_NONE;
    }
    switch (torc_prng_below(&world->prng, 4)) {
    case 0:
        return TORC_EXPIRY_NONE;
    case 1:
        return TORC_EXPIRY_KEEP;
    default:
        return draw_time(world);
    }
}

/* The time that the name's field has after a put with `when`. */
static uint64_t model_when(const struct world *world, size_t name, uint64_t when)
{
    if (when != TORC_EXPIRY_KEEP) {
        return when;
    }
    size_t i = model_find(world, name);
    return i < world->n ? world->entries[i].when : TORC_EXPIRY_NONE;
}

/* Fields that have a time, the i-th not counted. */
static size_t model_n_expiring(const struct world *world, size_t without)
{
    size_t n = 0;
    for (size_t i = 0; i < world->n; i++) {
        n += i != without && world->entries[i].when != TORC_EXPIRY_NONE;
    }
    return n;
}

static bool model_put(struct world *world, size_t name, struct torc_slice value, uint64_t when)
{
    size_t i = model_find(world, name);
    uint8_t *copy = malloc(value.len + 1);
    MUST(copy != NULL);
    memcpy(copy, value.data, value.len);
    if (i == world->n) {
        world->n++;
    } else {
        free(world->entries[i].value);
    }
    world->entries[i] = (struct entry){.name = name, .len = value.len, .value = copy, .when = when};
    return true;
}

static void model_del(struct world *world, size_t i)
{
    free(world->entries[i].value);
    world->n--;
    memmove(&world->entries[i], &world->entries[i + 1], (world->n - i) * sizeof world->entries[0]);
}

static bool check_world(const struct world *world)
{
    const char *why = "";
    int rc = torc_compact_check_hashed(world->block, torc_compact_capacity(world->block),
                                       torc_squeezed_hash, world->mask, &why);
    if (rc != 0) {
        printf("check: %s\n", why);
        return false;
    }
    MUST(torc_compact_count(world->block) == world->n);
    MUST(torc_compact_used(world->block) <= torc_compact_capacity(world->block));
    uint64_t position = 0;
    struct torc_pair pair;
    struct torc_pair_room room;
    MUST(torc_compact_is_verbatim(world->block) == world->verbatim);
    const size_t n_expiring = model_n_expiring(world, world->n);
    uint64_t least = TORC_EXPIRY_NEVER;
    MUST(torc_compact_n_expiring(world->block) == n_expiring);
    MUST(torc_compact_expires(world->block) == (n_expiring != 0));
    for (size_t i = 0; i < world->n; i++) {
        const struct entry *entry = &world->entries[i];
        MUST(torc_compact_next(world->block, &position, &room, &pair));
        MUST(torc_slice_equal(pair.field, name_slice(entry->name)));
        MUST(torc_slice_equal(pair.value, torc_slice_of(entry->value, entry->len)));
        MUST(room.expiry == entry->when);
        if (entry->when != TORC_EXPIRY_NONE) {
            least = torc_min_u64(least, entry->when);
        }
    }
    MUST(torc_compact_due(world->block) <= least);
    MUST((torc_compact_due(world->block) == TORC_EXPIRY_NEVER) == (n_expiring == 0));
    MUST(!torc_compact_next(world->block, &position, &room, &pair));
    return true;
}

/* An empty block; with common lengths if most values will be alike. */
static void init(struct world *world, uint8_t *block, size_t capacity)
{
    struct torc_compact_plan plan = {.verbatim = world->verbatim};
    for (size_t i = 0; world->alike && i < 8; i++) {
        torc_compact_plan_add(&plan, name_slice(1), torc_slice_of(noise, 3));
    }
    torc_compact_init_planned(block, capacity, &plan);
}

static bool resize(struct world *world, size_t capacity)
{
    size_t offset = torc_prng_below(&world->prng, 16);
    uint8_t *memory = malloc(offset + capacity);
    MUST(memory != NULL);
    memset(memory, 0xee, offset + capacity);
    if (world->block == NULL) {
        init(world, memory + offset, capacity);
    } else {
        size_t used = torc_compact_used(world->block);
        int rc = torc_compact_copy(world->block, memory + offset, capacity);
        if (rc != 0) {
            free(memory);
            MUST(rc == -ENOSPC && capacity < used);
            return true;
        }
        MUST(capacity >= used);
    }
    free(world->memory);
    world->memory = memory;
    world->block = memory + offset;
    MUST(torc_compact_capacity(world->block) == capacity);
    return true;
}

static size_t entry_bytes_of(const struct world *world, size_t name, struct torc_slice value)
{
    return torc_compact_bytes_in(world->block, name_slice(name), value);
}

/* What the block would use after this put. */
static size_t used_after(const struct world *world, size_t name, struct torc_slice value,
                         uint64_t when)
{
    size_t entry = entry_bytes_of(world, name, value);
    size_t i = model_find(world, name);
    entry += when != TORC_EXPIRY_NONE ? TORC_COMPACT_EXPIRY_BYTES : 0;
    if (i == world->n) {
        bool is_first = when != TORC_EXPIRY_NONE && !torc_compact_expires(world->block);
        return torc_compact_need(world->block, 1,
                                 entry + (is_first ? TORC_COMPACT_TRAILER_BYTES : 0));
    }
    struct torc_compact_head head = torc_compact_head_load(world->block);
    bool has_trailer = when != TORC_EXPIRY_NONE || model_n_expiring(world, i) != 0;
    const struct entry *old = &world->entries[i];
    size_t old_bytes = entry_bytes_of(world, name, torc_slice_of(old->value, old->len)) +
                       (old->when != TORC_EXPIRY_NONE ? TORC_COMPACT_EXPIRY_BYTES : 0);
    size_t bytes = torc_compact_prints_at(&head) + TORC_COMPACT_SLOT_BYTES * (size_t)head.count +
                   head.entry_bytes + entry - old_bytes +
                   (has_trailer ? TORC_COMPACT_TRAILER_BYTES : 0);
    return torc_max_u64(bytes, torc_compact_empty_bytes() + head.common_bytes);
}

static bool put(struct world *world, size_t name, struct torc_slice value, uint64_t when,
                int *out_rc)
{
    const size_t capacity = torc_compact_capacity(world->block);
    const uint64_t when_after = model_when(world, name, when);
    const size_t after = used_after(world, name, value, when_after);
    const bool is_new = model_find(world, name) == world->n;
    uint8_t *before = malloc(capacity);
    MUST(before != NULL);
    memcpy(before, world->block, capacity);
    int rc = when == TORC_EXPIRY_NONE
                 ? torc_compact_put_hashed(world->block, torc_squeezed_hash, world->mask,
                                           name_hash(world, name), name_slice(name), value)
                 : torc_compact_put_expiring_hashed(world->block, torc_squeezed_hash, world->mask,
                                                    name_hash(world, name), name_slice(name), value,
                                                    when);
    bool same = memcmp(before, world->block, capacity) == 0;
    free(before);
    *out_rc = rc;
    if (rc < 0) {
        MUST(same);
        MUST(rc == (after > TORC_COMPACT_MAX_BYTES ? -EMSGSIZE : -ENOSPC));
        MUST(after > capacity);
        return true;
    }
    MUST(rc == (is_new ? 1 : 0));
    MUST(after <= capacity);
    /* Less when hashes that do not spread gave up the groups. */
    MUST(torc_compact_used(world->block) <= after);
    MUST(torc_compact_used(world->block) == after || world->mask != UINT64_MAX);
    return model_put(world, name, value, when_after);
}

/* What `n` puts take for times at most. */
static size_t time_bytes(const struct world *world, size_t n)
{
    return world->timed ? TORC_COMPACT_EXPIRY_BYTES * n + TORC_COMPACT_TRAILER_BYTES : 0;
}

static bool step_put(struct world *world)
{
    size_t name = torc_prng_below(&world->prng, world->n_names);
    char room[TORC_CODED_BYTES];
    struct torc_slice value = draw_value(world, room);
    uint64_t when = draw_when(world);
    int rc;
    if (!put(world, name, value, when, &rc)) {
        return false;
    }
    if (rc != -ENOSPC) {
        return true;
    }
    size_t before = torc_compact_used(world->block);
    size_t need = torc_compact_need(world->block, 1,
                                    entry_bytes_of(world, name, value) + time_bytes(world, 1));
    size_t capacity =
        torc_prng_below(&world->prng, 3) == 0 ? need : torc_compact_grow(before, need);
    if (capacity > TORC_COMPACT_MAX_BYTES) {
        return true;
    }
    MUST(resize(world, capacity) && put(world, name, value, when, &rc));
    MUST(rc >= 0);
    return true;
}

/* A command of many pairs: one new capacity, in which no put may fail. */
static bool step_batch(struct world *world)
{
    static char rooms[BATCH_MAX][TORC_CODED_BYTES];
    size_t chosen[BATCH_MAX];
    struct torc_slice values[BATCH_MAX];
    size_t n = 1 + torc_prng_below(&world->prng, BATCH_MAX);
    size_t entry_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        chosen[i] = torc_prng_below(&world->prng, world->n_names);
        values[i] = draw_value(world, rooms[i]);
        entry_bytes += entry_bytes_of(world, chosen[i], values[i]);
    }
    size_t need = torc_compact_need(world->block, n, entry_bytes + time_bytes(world, n));
    if (need > TORC_COMPACT_MAX_BYTES) {
        return true;
    }
    if (need > torc_compact_capacity(world->block)) {
        MUST(resize(world, need));
    }
    for (size_t i = 0; i < n; i++) {
        int rc;
        MUST(put(world, chosen[i], values[i], draw_when(world), &rc));
        MUST(rc >= 0);
    }
    return true;
}

static bool step_del(struct world *world)
{
    size_t name = torc_prng_below(&world->prng, world->n_names);
    if (world->n != 0 && torc_prng_below(&world->prng, 4) != 0) {
        name = world->entries[torc_prng_below(&world->prng, world->n)].name;
    }
    size_t i = model_find(world, name);
    int rc = torc_compact_del(world->block, name_hash(world, name), name_slice(name));
    MUST(rc == (i < world->n));
    if (rc == 1) {
        model_del(world, i);
    }
    return true;
}

static bool step_set_expiry(struct world *world)
{
    const size_t name = torc_prng_below(&world->prng, world->n_names);
    const uint64_t when =
        torc_prng_below(&world->prng, 3) == 0 ? TORC_EXPIRY_NONE : draw_time(world);
    const size_t i = model_find(world, name);
    const size_t capacity = torc_compact_capacity(world->block);
    uint64_t old = 0;
    MUST(torc_compact_expiry(world->block, name_hash(world, name), name_slice(name), &old) ==
         (i < world->n));
    uint8_t *before = malloc(capacity);
    MUST(before != NULL);
    memcpy(before, world->block, capacity);
    int rc = torc_compact_set_expiry(world->block, name_hash(world, name), name_slice(name), when);
    const bool same = memcmp(before, world->block, capacity) == 0;
    free(before);
    if (i == world->n) {
        MUST(rc == -ENOENT && same);
        return true;
    }
    MUST(old == world->entries[i].when);
    const size_t more =
        (when != TORC_EXPIRY_NONE && old == TORC_EXPIRY_NONE
             ? TORC_COMPACT_EXPIRY_BYTES +
                   (model_n_expiring(world, world->n) == 0 ? TORC_COMPACT_TRAILER_BYTES : 0)
             : 0);
    if (rc != 0) {
        MUST(rc == -ENOSPC && same && more != 0);
        const size_t need = torc_compact_need(world->block, 0, more);
        MUST(need > capacity);
        if (need > TORC_COMPACT_MAX_BYTES) {
            return true;
        }
        MUST(resize(world, need));
        MUST(torc_compact_set_expiry(world->block, name_hash(world, name), name_slice(name),
                                     when) == 0);
    }
    world->entries[i].when = when;
    return true;
}

static bool step_reap(struct world *world)
{
    static uint8_t scratch[TORC_COMPACT_MAX_BYTES];
    const uint64_t now = torc_prng_below(&world->prng, 3) == 0 ? torc_prng_below(&world->prng, 110)
                                                               : torc_prng_below(&world->prng, 12);
    size_t n_past = 0;
    uint64_t least = TORC_EXPIRY_NEVER;
    for (size_t i = world->n; i-- > 0;) {
        const uint64_t when = world->entries[i].when;
        if (when != TORC_EXPIRY_NONE && when <= now) {
            n_past++;
            model_del(world, i);
        } else if (when != TORC_EXPIRY_NONE) {
            least = torc_min_u64(least, when);
        }
    }
    const bool was_due = torc_compact_due(world->block) <= now;
    memset(scratch, 0x5a, sizeof scratch);
    MUST(torc_compact_reap(world->block, scratch, now) == n_past);
    MUST(!was_due || torc_compact_due(world->block) == least);
    MUST(torc_compact_due(world->block) > now);
    return true;
}

static bool step_copy(struct world *world)
{
    size_t used = torc_compact_used(world->block);
    size_t capacity = used;
    switch (torc_prng_below(&world->prng, 4)) {
    case 0:
        break;
    case 1:
        capacity += torc_prng_below(&world->prng, 100);
        break;
    case 2:
        capacity += torc_prng_below(&world->prng, 10000);
        break;
    default:
        capacity -= torc_prng_below(&world->prng, used / 2);
        break;
    }
    return resize(world, torc_min_u64(capacity, TORC_COMPACT_MAX_BYTES));
}

/* Into the least memory, or some more. */
static bool step_pack(struct world *world)
{
    static uint8_t packed[TORC_COMPACT_MAX_BYTES];
    const size_t used = torc_compact_used(world->block);
    const bool is_common = (world->block[0] & TORC_COMPACT_COMMON) != 0;
    const size_t loose = torc_compact_loose(world->block);
    size_t wanted = torc_prng_below(&world->prng, 2) * torc_prng_below(&world->prng, 2 * used);
    wanted = torc_min_u64(wanted, TORC_COMPACT_MAX_BYTES);
    const size_t capacity = torc_compact_pack(world->block, packed, wanted);
    MUST(capacity >= wanted && capacity <= torc_max_u64(wanted, used));
    MUST(capacity == torc_max_u64(wanted, torc_compact_used(packed)));
    MUST(torc_compact_used(packed) <= used);
    MUST(torc_compact_capacity(packed) == capacity);
    MUST(is_common || torc_compact_capacity(world->block) - torc_compact_used(packed) <= loose);
    uint8_t *memory = malloc(capacity);
    MUST(memory != NULL);
    memcpy(memory, packed, capacity);
    free(world->memory);
    world->memory = memory;
    world->block = memory;
    return true;
}

static bool step_find(struct world *world)
{
    uint64_t hashes[BATCH_MAX] = {0};
    struct torc_slice fields[BATCH_MAX] = {{0}};
    static struct torc_value values[BATCH_MAX];
    size_t n = torc_prng_below(&world->prng, BATCH_MAX + 1);
    size_t n_there = 0;
    const uint64_t now = world->timed ? torc_prng_below(&world->prng, 110) : 0;
    for (size_t i = 0; i < n; i++) {
        size_t name = torc_prng_below(&world->prng, world->n_names);
        struct torc_value value;
        size_t k = model_find(world, name);
        hashes[i] = name_hash(world, name);
        fields[i] = name_slice(name);
        bool found = torc_compact_find(world->block, hashes[i], fields[i], now, &value);
        MUST(found == (k < world->n && (world->entries[k].when == TORC_EXPIRY_NONE ||
                                        world->entries[k].when > now)));
        if (found) {
            const struct entry *entry = &world->entries[k];
            MUST(torc_slice_equal(value.text, torc_slice_of(entry->value, entry->len)));
            n_there++;
        }
    }
    MUST(torc_compact_find_many(world->block, n, hashes, fields, now, values) == n_there);
    for (size_t i = 0; i < n; i++) {
        struct torc_value value = {.text = torc_slice_of(NULL, 0)};
        MUST(torc_compact_find(world->block, hashes[i], fields[i], now, &value) ==
             (values[i].text.data != NULL));
        MUST(torc_slice_equal(value.text, values[i].text));
        MUST(values[i].text.data == value.text.data || values[i].text.data == values[i].room);
    }
    if (world->n != 0) {
        struct torc_pair pair;
        struct torc_pair_room room;
        struct torc_value value;
        torc_compact_at(world->block, torc_prng_below(&world->prng, world->n), &room, &pair);
        uint64_t hash = torc_squeezed_hash(world->mask, pair.field.data, pair.field.len);
        MUST(torc_compact_find(world->block, hash, pair.field, 0, &value));
        MUST(torc_slice_equal(value.text, pair.value));
    }
    return true;
}

/* Times of growth and times of shrinking in turn, so that groups split and merge. */
static bool step(struct world *world, uint64_t i)
{
    const bool grows = i / (2 * world->n_names) % 2 == 0;
    if (world->timed && torc_prng_below(&world->prng, 8) == 0) {
        return torc_prng_below(&world->prng, 4) == 0 ? step_reap(world) : step_set_expiry(world);
    }
    uint64_t dice = torc_prng_below(&world->prng, 100);
    if (dice < 7) {
        return step_copy(world);
    }
    if (dice < 10) {
        return step_pack(world);
    }
    if (dice < 15) {
        return grows ? step_batch(world) : step_del(world);
    }
    if (dice < 30) {
        return step_find(world);
    }
    return (dice < 80) == grows ? step_put(world) : step_del(world);
}

static bool run(struct world *world, uint64_t n_steps)
{
    bool good = resize(world, torc_compact_empty_bytes() + TORC_COMPACT_COMMON_BYTES);
    for (uint64_t i = 0; good && i < n_steps; i++) {
        good = step(world, i) && check_world(world);
        if (!good) {
            printf("at step %llu of mask %016llx, %zu names\n", (unsigned long long)i,
                   (unsigned long long)world->mask, world->n_names);
        }
    }
    while (world->n > 0) {
        model_del(world, world->n - 1);
    }
    free(world->memory);
    return good;
}

int main(void)
{
    /* Everything; 2 bits of fingerprint; 2 bits of group; the group without the fingerprint; no
     * group; nothing. Steps are shares of TORC_OPS. */
    static const struct {
        uint64_t mask;
        size_t n_names;
        size_t len_max;
        unsigned per_cent;
        bool verbatim;
        bool alike;
        bool timed;
    } cases[] = {
        {UINT64_MAX, 5, 40, 5, false, false, false},
        {UINT64_MAX, 60, 40, 20, false, false, false},
        {UINT64_MAX, 500, 40, 8, false, false, false},
        {UINT64_MAX, 2000, 40, 4, false, false, false},
        {UINT64_MAX, 400, 1000, 6, false, false, false},
        {~0xfcull, 60, 40, 10, false, false, false},
        {~0xfcull, 300, 40, 5, false, false, false},
        {~0x3fff00ull, 60, 40, 10, false, false, false},
        {~0x3fff00ull, 700, 40, 4, false, false, false},
        {~0xffull, 150, 40, 8, false, false, false},
        {~0xffff00ull, 60, 40, 7, false, false, false},
        {~0xffff00ull, 500, 40, 6, false, false, false},
        {0, 40, 40, 7, false, false, false},
        {UINT64_MAX, 60, 40, 10, true, false, false},
        {~0xffff00ull, 200, 40, 5, true, false, false},
        {UINT64_MAX, 60, 40, 8, false, true, false},
        {UINT64_MAX, 800, 40, 4, false, true, false},
        {~0xfcull, 60, 40, 5, true, true, false},
        {0, 40, 40, 4, false, true, false},
        {UINT64_MAX, 5, 40, 5, false, false, true},
        {UINT64_MAX, 60, 40, 15, false, false, true},
        {UINT64_MAX, 700, 40, 5, false, false, true},
        {UINT64_MAX, 400, 1000, 4, false, false, true},
        {~0xfcull, 60, 40, 5, true, true, true},
        {~0x3fff00ull, 700, 40, 4, false, true, true},
        {~0xffff00ull, 500, 40, 5, false, false, true},
        {0, 40, 40, 7, false, true, true},
    };
    uint64_t seed = torc_test_seed(20260701);
    uint64_t n_ops = torc_test_ops(24000);
    static struct world world;
    make_names();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world = (struct world){
            .prng = {seed + i},
            .mask = cases[i].mask,
            .n_names = cases[i].n_names,
            .len_max = cases[i].len_max,
            .verbatim = cases[i].verbatim,
            .alike = cases[i].alike,
            .timed = cases[i].timed,
        };
        if (!run(&world, n_ops * cases[i].per_cent / 100)) {
            printf("failed: TORC_SEED=%llu TORC_OPS=%llu\n", (unsigned long long)seed,
                   (unsigned long long)n_ops);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
