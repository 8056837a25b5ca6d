/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing and shrinking in place, one home at a time.
 *
 * Growing, the frontier walks down: the entries of the highest home not yet moved go up into lines
 * that are new, or that the frontier left behind. Shrinking, it walks up and entries go down into
 * lines that it left behind. Either way entries only go where no home of the old mapping is, except
 * as guests.
 */
#include "hash/table_private.h"

/* Entries of one home that are lifted out: ten natives, up to ten guests in each of eight lines,
 * and a few far ones, which are enough unless hashes are equal. */
#define LIFTED_FAR_MAX 16u
/* A lifted entry was marked: above the bits of a reference. */
#define LIFTED_MARK (1ull << 63)
#define LIFTED_MAX  (TORC_LINE_SLOTS * (1 + TORC_LINE_KINDS) + LIFTED_FAR_MAX)

struct lifted {
    unsigned n;
    uint64_t refs[LIFTED_MAX];
};

void torc_table_begin_growth(const struct torc_arena *arena, struct torc_table *table,
                             uint64_t count)
{
    if (!torc_table_is_resting(table) || count <= torc_table_grow_limit(table->n_lines)) {
        return;
    }
    uint64_t target = torc_table_next_size(table->n_lines);
    if (torc_table_lines_in(table->n_blocks) < target) {
        return; /* the arena refused it: fuller for now */
    }
    table->n_target = target;
    for (uint64_t line = torc_table_first_clean(table); line < target; line++) {
        memset(torc_table_line(arena, table, line), 0, TORC_LINE_BYTES);
    }
}

void torc_table_begin_shrink(struct torc_table *table)
{
    if (torc_table_is_resting(table) && table->n_lines > 1 &&
        table->count + table->n_promised < torc_table_shrink_limit(table->n_lines)) {
        table->n_target = torc_table_previous_size(table->n_lines);
        table->frontier = 0;
    }
}

/* The next home to move. */
static uint64_t next_home(const struct torc_table *table)
{
    return torc_table_is_growing(table) ? table->frontier - 1 : table->frontier;
}

static void prefetch_natives(const struct torc_arena *arena, const struct torc_table *table,
                             uint64_t line)
{
    const struct torc_line *l = torc_table_line(arena, table, line);
    for (unsigned slot = 0; slot < torc_line_natives(l); slot++) {
        TORC_PREFETCH(torc_arena_at(arena, torc_line_ref(l, slot)));
    }
}

static void lift(struct lifted *lifted, const struct torc_line *line, unsigned slot)
{
    uint64_t mark = torc_line_is_marked(line, slot) ? LIFTED_MARK : 0;
    lifted->refs[lifted->n++] = torc_line_ref(line, slot) | mark;
}

/* Take the natives of `home` out of their line and of the lines of their kinds. */
static void lift_near(const struct torc_arena *arena, const struct torc_table *table,
                      struct torc_home home, struct lifted *lifted)
{
    struct torc_line *l = torc_table_line(arena, table, home.line);
    for (unsigned slot = 0; slot < torc_line_natives(l); slot++) {
        lift(lifted, l, slot);
    }
    torc_line_drop_natives(l);
    for (unsigned kind = 0; kind < TORC_LINE_KINDS; kind++) {
        if (!torc_line_has_spilled(l, kind)) {
            continue;
        }
        uint64_t line = torc_table_guest_line(home, kind);
        struct torc_line *away = torc_table_line(arena, table, line);
        for (unsigned slot = torc_line_count(away); slot-- > torc_line_natives(away);) {
            if (torc_line_kind(away->fingerprints[slot]) == kind &&
                torc_table_guest_is_from(arena, table, line, slot, home)) {
                TORC_PREFETCH(torc_arena_at(arena, torc_line_ref(away, slot)));
                lift(lifted, away, slot);
                torc_line_take(away, slot);
            }
        }
        torc_line_clear_spilled(l, kind);
    }
}

/* Take far entries of `home` out, up to LIFTED_FAR_MAX. */
static void lift_far(const struct torc_arena *arena, struct torc_table *table,
                     struct torc_home home, struct lifted *lifted)
{
    unsigned most = lifted->n + LIFTED_FAR_MAX;
    uint64_t end = torc_table_far_end(table, home);
    for (uint64_t line = torc_table_far_begin(table, home); line < end;
         line = torc_table_far_next(table, line)) {
        struct torc_line *l = torc_table_line(arena, table, line);
        for (unsigned slot = torc_line_count(l); slot-- > torc_line_natives(l);) {
            uint64_t ref = torc_line_ref(l, slot);
            struct torc_home real = torc_table_home(table, torc_table_hash_of(arena, ref));
            if (real.line != home.line || real.n != home.n) {
                continue;
            }
            if (lifted->n == most) {
                return;
            }
            lift(lifted, l, slot);
            torc_line_take(l, slot);
            torc_table_far_left(table);
        }
    }
}

/* The hash of the guest in `slot` if it is one that lift_far() left behind: its home in the old
 * mapping is `home`. */
static bool is_left_behind(const struct torc_arena *arena, const struct torc_table *table,
                           const struct torc_line *line, unsigned slot, struct torc_home home,
                           uint64_t *out_hash)
{
    *out_hash = torc_table_hash_of(arena, torc_line_ref(line, slot));
    return torc_mul_high(*out_hash, table->n_lines) == home.line;
}

/* `home` was moved, except for far entries that lift_far() left behind. They stay where they are,
 * but what they are is another matter now: natives, guests, or far from their new home. */
static void settle_far(const struct torc_arena *arena, struct torc_table *table,
                       struct torc_home home)
{
    uint64_t end = torc_table_far_end(table, home);
    uint64_t hash;
    for (uint64_t line = torc_table_far_begin(table, home); line < end;
         line = torc_table_far_next(table, line)) {
        struct torc_line *l = torc_table_line(arena, table, line);
        /* A new native changes places with the first guest, which was seen already. */
        for (unsigned slot = torc_line_natives(l); slot < torc_line_count(l); slot++) {
            if (is_left_behind(arena, table, l, slot, home, &hash) &&
                torc_table_home(table, hash).line == line) {
                torc_line_make_native(l, slot);
                torc_table_far_left(table);
            }
        }
        for (unsigned slot = torc_line_count(l); slot-- > torc_line_natives(l);) {
            if (!is_left_behind(arena, table, l, slot, home, &hash)) {
                continue;
            }
            struct torc_home now = torc_table_home(table, hash);
            unsigned kind = torc_line_kind(l->fingerprints[slot]);
            if (line == torc_table_guest_line(now, kind)) {
                torc_line_set_spilled(torc_table_line(arena, table, now.line), kind);
                torc_table_far_left(table);
            } else if (line < torc_max_u64(now.n, table->n_target)) {
                torc_table_far_came(table, line, now.line);
                torc_table_far_left(table);
            } else {
                /* All lines that it can go to are behind us. */
                uint64_t ref = torc_line_ref(l, slot);
                torc_line_take(l, slot);
                torc_table_far_left(table);
                torc_table_place(arena, table, hash, ref);
            }
        }
    }
}

static void move_home(const struct torc_arena *arena, struct torc_table *table)
{
    struct lifted lifted; /* not zeroed: it is large */
    lifted.n = 0;
    struct torc_home home = {next_home(table), table->n_lines};
    lift_near(arena, table, home, &lifted);
    if (TORC_UNLIKELY(table->n_far != 0)) {
        lift_far(arena, table, home, &lifted);
    }
    if (torc_table_is_growing(table)) {
        uint64_t clean = torc_table_first_clean(table);
        table->frontier--;
        for (uint64_t line = torc_table_first_clean(table); line < clean; line++) {
            memset(torc_table_line(arena, table, line), 0, TORC_LINE_BYTES);
        }
    } else {
        table->frontier++;
    }
    if (TORC_UNLIKELY(table->n_far != 0)) {
        settle_far(arena, table, home);
    }
    for (unsigned i = 0; i < lifted.n; i++) {
        uint64_t ref = lifted.refs[i] & ~LIFTED_MARK;
        uint64_t hash = torc_table_hash_of(arena, ref);
        torc_table_place(arena, table, hash, ref);
        if (TORC_UNLIKELY(lifted.refs[i] != ref)) {
            torc_table_mark(arena, table, hash);
        }
    }
    TORC_TABLE_NOTE(homes_moved, 1);
    TORC_TABLE_NOTE(entries_moved, lifted.n);
}

void torc_table_advance(const struct torc_arena *arena, struct torc_table *table, unsigned n_homes)
{
    if (torc_table_is_resting(table) || n_homes == 0) {
        return;
    }
    prefetch_natives(arena, table, next_home(table));
    while (n_homes-- > 0) {
        /* The records of the home after this one are fetched while this one is moved; after the
         * last, for the next call. */
        uint64_t last = torc_table_is_growing(table) ? 0 : table->n_lines - 1;
        uint64_t home = next_home(table);
        if (home != last) {
            prefetch_natives(arena, table, torc_table_is_growing(table) ? home - 1 : home + 1);
        }
        move_home(arena, table);
        if (home == last) {
            table->n_lines = table->n_target;
            table->frontier = table->n_lines;
            return;
        }
    }
}
