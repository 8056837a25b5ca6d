/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding, adding, replacing and removing entries. Sources of the method: hash/table.h.
 */
#include "hash/table.h"

#include "hash/table_private.h"

/* Where an entry is. */
struct spot {
    struct torc_home home;
    uint64_t line;
    unsigned slot;
};

/* memcmp() == 0 without a call, so that a lookup keeps its registers: whole words, the last one
 * overlapping that before it. */
static inline bool bytes_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t i = 0;
    if (TORC_LIKELY(len >= 8)) {
        for (; i < len - 8; i += 8) {
            if (torc_load_u64(a + i) != torc_load_u64(b + i)) {
                return false;
            }
        }
        return torc_load_u64(a + len - 8) == torc_load_u64(b + len - 8);
    }
    if (len >= 4) {
        return torc_load_u32(a) == torc_load_u32(b) &&
               torc_load_u32(a + len - 4) == torc_load_u32(b + len - 4);
    }
    while (i < len && a[i] == b[i]) {
        i++;
    }
    return i == len;
}

/* Of the entries in `slots` of a line (bit i: slot i), the reference of the one called `name`. */
static inline __attribute__((always_inline)) uint64_t find_named(const struct torc_arena *arena,
                                                                 const struct torc_line *line,
                                                                 unsigned slots,
                                                                 struct torc_slice name)
{
    for (; slots != 0; slots &= slots - 1) {
        uint64_t ref = torc_line_ref(line, (unsigned)__builtin_ctz(slots));
        struct torc_slice found = torc_record_name_inline(torc_arena_at(arena, ref));
        if (TORC_LIKELY(found.len == name.len && bytes_equal(found.data, name.data, name.len))) {
            return ref;
        }
    }
    return TORC_REF_NONE;
}

/* The entry called `name` in line i, if it is a guest there. */
static uint64_t find_guest(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t i, uint8_t fingerprint, struct torc_slice name)
{
    const struct torc_line *line = torc_table_line(arena, table, i);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_guest_slots(line);
    return find_named(arena, line, slots, name);
}

/* One lookup in ten: not at home. Apart from torc_table_find(), which needs fewer registers so. */
static __attribute__((noinline)) uint64_t find_away(const struct torc_arena *arena,
                                                    const struct torc_table *table, uint64_t hash,
                                                    struct torc_slice name)
{
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    unsigned kind = torc_line_kind(fingerprint);
    struct torc_home home = torc_table_home(table, hash);
    uint64_t ref = TORC_REF_NONE;
    if (torc_line_has_spilled(torc_table_line(arena, table, home.line), kind)) {
        ref = find_guest(arena, table, torc_table_guest_line(home, kind), fingerprint, name);
    }
    if (ref == TORC_REF_NONE && TORC_UNLIKELY(table->n_far != 0)) {
        uint64_t end = torc_table_far_end(table, home);
        for (uint64_t i = torc_table_far_begin(table, home); i < end && ref == TORC_REF_NONE;
             i = torc_table_far_next(table, i)) {
            ref = find_guest(arena, table, i, fingerprint, name);
        }
    }
    return ref;
}

uint64_t torc_table_find(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash, struct torc_slice name)
{
    if (TORC_UNLIKELY(table->count == 0)) {
        return TORC_REF_NONE;
    }
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    const struct torc_line *line = torc_table_line(arena, table, torc_table_home(table, hash).line);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_native_slots(line);
    uint64_t ref = find_named(arena, line, slots, name);
    if (ref == TORC_REF_NONE &&
        TORC_UNLIKELY(torc_line_has_spilled(line, torc_line_kind(fingerprint)) ||
                      table->n_far != 0)) {
        return find_away(arena, table, hash, name);
    }
    return ref;
}

void torc_table_prefetch(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t hash)
{
    if (table->count != 0) {
        TORC_PREFETCH(torc_table_line(arena, table, torc_table_home(table, hash).line));
    }
}

uint64_t torc_table_candidate(const struct torc_arena *arena, const struct torc_table *table,
                              uint64_t hash)
{
    if (table->count == 0) {
        return TORC_REF_NONE;
    }
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    unsigned kind = torc_line_kind(fingerprint);
    struct torc_home home = torc_table_home(table, hash);
    const struct torc_line *line = torc_table_line(arena, table, home.line);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_native_slots(line);
    if (slots == 0 && torc_line_has_spilled(line, kind)) {
        line = torc_table_line(arena, table, torc_table_guest_line(home, kind));
        slots = torc_line_match(line, fingerprint) & torc_line_guest_slots(line);
    }
    return slots == 0 ? TORC_REF_NONE : torc_line_ref(line, (unsigned)__builtin_ctz(slots));
}

/* Look for `ref` in `slots` of line i. */
static bool locate_in(const struct torc_arena *arena, const struct torc_table *table, uint64_t i,
                      unsigned slots, uint64_t ref, struct spot *out_spot)
{
    const struct torc_line *line = torc_table_line(arena, table, i);
    for (; slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        if (torc_line_ref(line, slot) == ref) {
            out_spot->line = i;
            out_spot->slot = slot;
            return true;
        }
    }
    return false;
}

static bool locate_guest(const struct torc_arena *arena, const struct torc_table *table, uint64_t i,
                         uint8_t fingerprint, uint64_t ref, struct spot *out_spot)
{
    const struct torc_line *line = torc_table_line(arena, table, i);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_guest_slots(line);
    return locate_in(arena, table, i, slots, ref, out_spot);
}

/* Where the entry for `ref` is. It exists. */
static struct spot locate(const struct torc_arena *arena, const struct torc_table *table,
                          uint64_t hash, uint64_t ref)
{
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    unsigned kind = torc_line_kind(fingerprint);
    struct spot spot = {.home = torc_table_home(table, hash)};
    const struct torc_line *line = torc_table_line(arena, table, spot.home.line);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_native_slots(line);
    if (locate_in(arena, table, spot.home.line, slots, ref, &spot)) {
        return spot;
    }
    if (torc_line_has_spilled(line, kind) &&
        locate_guest(arena, table, torc_table_guest_line(spot.home, kind), fingerprint, ref,
                     &spot)) {
        return spot;
    }
    uint64_t end = torc_table_far_end(table, spot.home);
    for (uint64_t i = torc_table_far_begin(table, spot.home); i < end;
         i = torc_table_far_next(table, i)) {
        if (locate_guest(arena, table, i, fingerprint, ref, &spot)) {
            return spot;
        }
    }
    assert(false && "the entry must exist");
    return spot;
}

void torc_table_insert(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref)
{
    assert(table->n_lines > 0 && ref != TORC_REF_NONE);
    torc_table_begin_growth(arena, table, table->count + 1);
    torc_table_advance(arena, table, TORC_TABLE_HOMES_PER_OP);
    torc_table_place(arena, table, hash, ref);
    table->count++;
    if (table->n_promised != 0) {
        table->n_promised--;
    }
}

void torc_table_replace(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                        uint64_t old_ref, uint64_t new_ref)
{
    struct spot spot = locate(arena, table, hash, old_ref);
    torc_line_set_ref(torc_table_line(arena, table, spot.line), spot.slot, new_ref);
}

void torc_table_remove(struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                       uint64_t ref)
{
    struct spot spot = locate(arena, table, hash, ref);
    struct torc_line *line = torc_table_line(arena, table, spot.line);
    unsigned kind = torc_line_kind(line->fingerprints[spot.slot]);
    torc_line_take(line, spot.slot);
    table->count--;
    if (table->count == 0) {
        torc_line_clear_spilled(torc_table_line(arena, table, spot.home.line), kind);
        torc_table_become_empty(arena, table);
        return;
    }
    if (spot.line == torc_table_guest_line(spot.home, kind) && spot.line != spot.home.line) {
        torc_table_guest_left(arena, table, spot.home, kind);
    } else if (spot.line != spot.home.line) {
        torc_table_far_left(table);
    }
    torc_table_call_home(arena, table, spot.line);

    torc_table_begin_shrink(table);
    torc_table_advance(arena, table, TORC_TABLE_HOMES_PER_OP);
    if (torc_table_is_resting(table)) {
        (void)torc_table_free_spare(arena, table);
    }
}
