/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over a table: scan by hash order, random choice.
 */
#include "hash/table_private.h"

#define RANDOM_DRAWS 64u

static void visit_slots(const struct torc_line *line, unsigned slots,
                        void (*visit)(void *arg, uint64_t ref), void *arg)
{
    for (; slots != 0; slots &= slots - 1) {
        visit(arg, torc_line_ref(line, (unsigned)__builtin_ctz(slots)));
    }
}

static void prefetch_slots(const struct torc_arena *arena, const struct torc_line *line,
                           unsigned slots)
{
    for (; slots != 0; slots &= slots - 1) {
        TORC_PREFETCH(torc_arena_at(arena, torc_line_ref(line, (unsigned)__builtin_ctz(slots))));
    }
}

/* Guests of `kind` from `home`, as slots of their line. */
static unsigned guests_from(const struct torc_arena *arena, const struct torc_table *table,
                            struct torc_home home, unsigned kind, const struct torc_line **out_line)
{
    uint64_t i = torc_table_guest_line(home, kind);
    const struct torc_line *line = torc_table_line(arena, table, i);
    unsigned slots = 0;
    for (unsigned slot = torc_line_natives(line); slot < torc_line_count(line); slot++) {
        if (torc_line_kind(line->fingerprints[slot]) == kind &&
            torc_table_guest_is_from(arena, table, i, slot, home)) {
            slots |= 1u << slot;
        }
    }
    *out_line = line;
    return slots;
}

/* Visit far entries of `home`: those that neither it nor the line of their kind has. */
static void visit_far(const struct torc_arena *arena, const struct torc_table *table,
                      struct torc_home home, void (*visit)(void *arg, uint64_t ref), void *arg)
{
    uint64_t end = torc_table_far_end(table, home);
    for (uint64_t i = torc_table_far_begin(table, home); i < end;
         i = torc_table_far_next(table, i)) {
        const struct torc_line *line = torc_table_line(arena, table, i);
        for (unsigned slot = torc_line_natives(line); slot < torc_line_count(line); slot++) {
            uint64_t ref = torc_line_ref(line, slot);
            struct torc_home real = torc_table_home(table, torc_table_hash_of(arena, ref));
            unsigned kind = torc_line_kind(line->fingerprints[slot]);
            if (real.line == home.line && real.n == home.n &&
                i != torc_table_guest_line(home, kind)) {
                visit(arg, ref);
            }
        }
    }
}

static void visit_home(const struct torc_arena *arena, const struct torc_table *table,
                       struct torc_home home, void (*visit)(void *arg, uint64_t ref), void *arg)
{
    const struct torc_line *line = torc_table_line(arena, table, home.line);
    prefetch_slots(arena, line, torc_line_native_slots(line));
    visit_slots(line, torc_line_native_slots(line), visit, arg);
    for (unsigned spilled = torc_line_spilled(line); spilled != 0; spilled &= spilled - 1) {
        const struct torc_line *away;
        unsigned slots = guests_from(arena, table, home, (unsigned)__builtin_ctz(spilled), &away);
        visit_slots(away, slots, visit, arg);
    }
    if (TORC_UNLIKELY(table->n_far != 0)) {
        visit_far(arena, table, home, visit, arg);
    }
}

/* The least hash that torc_mul_high(hash, n) takes to `line`; 0, for 2^64, if line == n. */
static uint64_t first_hash(uint64_t line, uint64_t n)
{
    return line == n ? 0 : (uint64_t)((((torc_u128)line << 64) + n - 1) / n);
}

/* The least hash behind those of `home`; 0 if there is none. Where the new mapping is that of the
 * lower hashes, its last home ends at the frontier: the rest of its range is in old homes. */
static uint64_t hash_behind(const struct torc_table *table, struct torc_home home)
{
    uint64_t next = first_hash(home.line + 1, home.n);
    if (torc_table_is_shrinking(table) && home.n == table->n_target) {
        uint64_t boundary = first_hash(table->frontier, table->n_lines);
        next = next == 0 ? boundary : torc_min_u64(next, boundary);
    }
    return next;
}

uint64_t torc_table_scan(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t cursor, uint64_t min_homes,
                         void (*visit)(void *arg, uint64_t ref), void *arg)
{
    if (table->count == 0) {
        return 0;
    }
    /* A cursor in the middle of a home, from another mapping, visits all of it: twice is allowed,
     * and hashes from the cursor up are complete. */
    do {
        struct torc_home home = torc_table_home(table, cursor);
        cursor = hash_behind(table, home);
        if (cursor != 0) {
            torc_table_prefetch(arena, table, cursor);
        }
        visit_home(arena, table, home, visit, arg);
    } while (cursor != 0 && min_homes-- > 1);
    return cursor;
}

uint64_t torc_table_random(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t random_bits)
{
    if (table->count == 0) {
        return TORC_REF_NONE;
    }
    /* Lines are drawn by number, those not yet there left out. */
    uint64_t clean = torc_table_first_clean(table);
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    uint64_t missing = torc_table_is_growing(table) ? clean - table->n_lines : 0;
    uint64_t line = 0;
    for (unsigned draw = 0; draw < RANDOM_DRAWS; draw++) {
        uint64_t drawn = torc_mul_high(random_bits, (end - missing) * TORC_LINE_SLOTS);
        unsigned slot = (unsigned)(drawn % TORC_LINE_SLOTS);
        line = drawn / TORC_LINE_SLOTS;
        line += line < table->n_lines ? 0 : missing;
        const struct torc_line *l = torc_table_line(arena, table, line);
        if (slot < torc_line_count(l)) {
            return torc_line_ref(l, slot);
        }
        /* splitmix64 (S. Vigna): the next 64 bits. */
        random_bits += 0x9e3779b97f4a7c15ull;
        random_bits = (random_bits ^ random_bits >> 30) * 0xbf58476d1ce4e5b9ull;
        random_bits = (random_bits ^ random_bits >> 27) * 0x94d049bb133111ebull;
        random_bits ^= random_bits >> 31;
    }
    for (;;) {
        const struct torc_line *l = torc_table_line(arena, table, line);
        if (torc_line_count(l) != 0) {
            return torc_line_ref(l, 0);
        }
        line = torc_table_far_next(table, line);
        line = line < end ? line : 0;
    }
}
