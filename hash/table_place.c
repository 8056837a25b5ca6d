/* SPDX-License-Identifier: Apache-2.0
 *
 * Where entries go: into their home, else into the line of their kind, else whatever moves make
 * room in one of the two. All of it looks at lines only, never at records, as long as no far entry
 * is about and no stretch is at the wrap-around.
 */
#include "hash/table_private.h"

/* Lines that one search for room looks at, at most. Half of the lines have a free slot at 90 %
 * load, a quarter at 95 %, so a search that ends without one is a matter of hashes, not of luck. */
#define SEARCH_LINES 128u

/* A full line that the search came by: how its entry in `slot` of the line before, numbered
 * `parent`, would get here. The two lines of the new entry are their own parents. */
struct search_step {
    uint64_t line;
    unsigned parent;
    unsigned slot;
};

/* The only home that a guest of `kind` in `line` can have; false when its hash must tell. */
static bool guest_home(const struct torc_table *table, uint64_t line, unsigned kind,
                       struct torc_home *out_home)
{
    uint64_t home = torc_table_guest_home(line, table->n_lines, kind);
    if (table->n_far != 0) {
        return false;
    }
    if (!torc_table_is_resting(table) &&
        home != torc_table_guest_home(line, table->n_target, kind)) {
        return false;
    }
    *out_home = torc_table_home_at(table, home);
    return true;
}

bool torc_table_guest_is_from(const struct torc_arena *arena, const struct torc_table *table,
                              uint64_t line, unsigned slot, struct torc_home home)
{
    const struct torc_line *l = torc_table_line(arena, table, line);
    struct torc_home only;
    if (guest_home(table, line, torc_line_kind(l->fingerprints[slot]), &only)) {
        return only.line == home.line;
    }
    struct torc_home real =
        torc_table_home(table, torc_table_hash_of(arena, torc_line_ref(l, slot)));
    return real.line == home.line && real.n == home.n;
}

/* The slot of a guest of `kind` from `home`, TORC_LINE_SLOTS if there is none. */
static unsigned find_guest(const struct torc_arena *arena, const struct torc_table *table,
                           struct torc_home home, unsigned kind)
{
    uint64_t line = torc_table_guest_line(home, kind);
    const struct torc_line *l = torc_table_line(arena, table, line);
    for (unsigned slot = torc_line_natives(l); slot < torc_line_count(l); slot++) {
        if (torc_line_kind(l->fingerprints[slot]) == kind &&
            torc_table_guest_is_from(arena, table, line, slot, home)) {
            return slot;
        }
    }
    return TORC_LINE_SLOTS;
}

void torc_table_guest_left(const struct torc_arena *arena, const struct torc_table *table,
                           struct torc_home home, unsigned kind)
{
    if (find_guest(arena, table, home, kind) == TORC_LINE_SLOTS) {
        torc_line_clear_spilled(torc_table_line(arena, table, home.line), kind);
    }
}

void torc_table_call_home(const struct torc_arena *arena, const struct torc_table *table,
                          uint64_t line)
{
    struct torc_line *l = torc_table_line(arena, table, line);
    if (torc_line_spilled(l) == 0 || torc_line_is_full(l)) {
        return;
    }
    unsigned kind = (unsigned)__builtin_ctz(torc_line_spilled(l));
    struct torc_home home = torc_table_home_at(table, line);
    struct torc_line *away = torc_table_line(arena, table, torc_table_guest_line(home, kind));
    unsigned slot = find_guest(arena, table, home, kind);
    assert(slot < TORC_LINE_SLOTS);
    uint8_t fingerprint = away->fingerprints[slot];
    uint64_t ref = torc_line_ref(away, slot);
    bool is_marked = torc_line_is_marked(away, slot);
    torc_line_take(away, slot);
    torc_line_put_native(l, fingerprint, ref);
    torc_line_mark(l, (unsigned)is_marked << (torc_line_natives(l) - 1));
    torc_table_guest_left(arena, table, home, kind);
}

/* Move the entry in `slot` of `from` to its other line, which has a free slot. */
static void move_over(const struct torc_arena *arena, const struct torc_table *table, uint64_t from,
                      unsigned slot, uint64_t to)
{
    struct torc_line *source = torc_table_line(arena, table, from);
    struct torc_line *target = torc_table_line(arena, table, to);
    uint8_t fingerprint = source->fingerprints[slot];
    uint64_t ref = torc_line_ref(source, slot);
    bool is_native = slot < torc_line_natives(source);
    bool is_marked = torc_line_is_marked(source, slot);
    TORC_TABLE_NOTE(moved_over, 1);
    torc_line_take(source, slot);
    if (is_native) {
        torc_line_put_guest(target, fingerprint, ref);
        torc_line_mark(target, (unsigned)is_marked << (torc_line_count(target) - 1));
        torc_line_set_spilled(source, torc_line_kind(fingerprint));
    } else {
        torc_line_put_native(target, fingerprint, ref);
        torc_line_mark(target, (unsigned)is_marked << (torc_line_natives(target) - 1));
        torc_table_guest_left(arena, table, torc_table_home_at(table, to),
                              torc_line_kind(fingerprint));
    }
}

static bool was_seen(const struct search_step *steps, unsigned n_steps, uint64_t line)
{
    for (unsigned i = 0; i < n_steps; i++) {
        if (steps[i].line == line) {
            return true;
        }
    }
    return false;
}

/* The entry in `slot` of the line of `step` has a free slot waiting in `to`: move it there, the one
 * before it into its place, and so on. Returns the first line, which then has a free slot. */
static uint64_t shift_along(const struct torc_arena *arena, const struct torc_table *table,
                            const struct search_step *steps, unsigned step, unsigned slot,
                            uint64_t to)
{
    for (;;) {
        move_over(arena, table, steps[step].line, slot, to);
        if (steps[step].parent == step) {
            return steps[step].line;
        }
        to = steps[step].line;
        slot = steps[step].slot;
        step = steps[step].parent;
    }
}

/* Free a slot in `home` or `guest`, both full, by moving entries to their other lines: the shortest
 * way, breadth first. No line is come by twice, so a move leaves the slots of the other lines on
 * the way as they are. False if the budget ends first. */
static bool make_room(const struct torc_arena *arena, const struct torc_table *table, uint64_t home,
                      uint64_t guest, uint64_t *out_line)
{
    struct search_step steps[SEARCH_LINES];
    unsigned n_steps = 0;
    steps[n_steps++] = (struct search_step){home, 0, 0};
    if (guest != home) {
        steps[n_steps++] = (struct search_step){guest, 1, 0};
    }
    for (unsigned step = 0; step < n_steps; step++) {
        uint64_t from = steps[step].line;
        const struct torc_line *l = torc_table_line(arena, table, from);
        unsigned seen[2] = {0, 0}; /* kinds of guests, of natives: each leads to one line */
        for (unsigned slot = 0; slot < torc_line_count(l); slot++) {
            unsigned kind = torc_line_kind(l->fingerprints[slot]);
            bool is_native = slot < torc_line_natives(l);
            struct torc_home at = torc_table_home_at(table, from);
            if ((seen[is_native] >> kind & 1u) != 0) {
                continue;
            }
            seen[is_native] |= 1u << kind;
            if (!is_native && !guest_home(table, from, kind, &at)) {
                continue;
            }
            uint64_t to = is_native ? torc_table_guest_line(at, kind) : at.line;
            TORC_TABLE_NOTE(searched, 1);
            if (!torc_line_is_full(torc_table_line(arena, table, to))) {
                *out_line = shift_along(arena, table, steps, step, slot, to);
                return true;
            }
            if (n_steps < SEARCH_LINES && !was_seen(steps, n_steps, to)) {
                steps[n_steps++] = (struct search_step){to, step, slot};
            }
        }
        if (n_steps == SEARCH_LINES) {
            return false;
        }
    }
    return false;
}

static bool has_room(const struct torc_arena *arena, const struct torc_table *table, uint64_t line)
{
    bool is_clean = line < table->n_lines || line >= torc_table_first_clean(table);
    return is_clean && !torc_line_is_full(torc_table_line(arena, table, line));
}

/* The last resort, in the nearest free slot: without it many equal hashes could not be stored. The
 * home and the line of the kind are full. */
static void put_far(const struct torc_arena *arena, struct torc_table *table, struct torc_home home,
                    uint8_t fingerprint, uint64_t ref)
{
    /* Lines that a shrink will free get no entries of its target's mapping. */
    uint64_t end = torc_max_u64(home.n, table->n_target);
    for (uint64_t distance = 1; distance < end; distance++) {
        uint64_t line = home.line + distance;
        if (line >= end || !has_room(arena, table, line)) {
            line = home.line - distance;
            if (distance > home.line || !has_room(arena, table, line)) {
                continue;
            }
        }
        torc_line_put_guest(torc_table_line(arena, table, line), fingerprint, ref);
        torc_table_far_came(table, line, home.line);
        TORC_TABLE_NOTE(put_far, 1);
        return;
    }
    assert(false && "room was reserved");
}

void torc_table_place(const struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                      uint64_t ref)
{
    struct torc_home home = torc_table_home(table, hash);
    struct torc_line *l = torc_table_line(arena, table, home.line);
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    if (TORC_LIKELY(!torc_line_is_full(l))) {
        torc_line_put_native(l, fingerprint, ref);
        return;
    }
    unsigned kind = torc_line_kind(fingerprint);
    uint64_t guest = torc_table_guest_line(home, kind);
    uint64_t room = guest;
    if (torc_line_is_full(torc_table_line(arena, table, guest)) &&
        !make_room(arena, table, home.line, guest, &room)) {
        put_far(arena, table, home, fingerprint, ref);
        return;
    }
    if (room == home.line) {
        torc_line_put_native(l, fingerprint, ref);
    } else {
        torc_line_put_guest(torc_table_line(arena, table, room), fingerprint, ref);
        torc_line_set_spilled(l, kind);
    }
}
