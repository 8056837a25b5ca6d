/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of use, and the hand that finds what was not used: second chance, or CLOCK (Corbato 1968),
 * with one bit for each entry, in its line. Why it is so: docs/decisions/0010-eviction.md.
 *
 * The hand is a counter. Times a prime, modulo the number of lines, it gives the line: so every
 * line has its turn once in a round, and what is removed is spread over the table at any moment,
 * which shrinking needs (hash/table_scan.c).
 */
#include "hash/table_private.h"

/* A prime, so without a factor in common with a number of lines. */
#define STRIDE 2654435761ull
/* Empty lines are passed for nothing, but not without end. */
#define LINES_MAX 512u

void torc_table_mark(const struct torc_arena *arena, const struct torc_table *table, uint64_t hash)
{
    if (table->count == 0) {
        return;
    }
    uint8_t fingerprint = torc_hash_fingerprint(hash);
    unsigned kind = torc_line_kind(fingerprint);
    struct torc_home home = torc_table_home(table, hash);
    struct torc_line *line = torc_table_line(arena, table, home.line);
    unsigned slots = torc_line_match(line, fingerprint) & torc_line_native_slots(line);
    if (slots == 0 && torc_line_has_spilled(line, kind)) {
        line = torc_table_line(arena, table, torc_table_guest_line(home, kind));
        slots = torc_line_match(line, fingerprint) & torc_line_guest_slots(line);
    }
    torc_line_mark(line, slots);
}

/* The first of the entries in `slots` that is not `kept`. */
static uint64_t first_of(const struct torc_line *line, unsigned slots, uint64_t kept)
{
    for (; slots != 0; slots &= slots - 1) {
        uint64_t ref = torc_line_ref(line, (unsigned)__builtin_ctz(slots));
        if (ref != kept) {
            return ref;
        }
    }
    return TORC_REF_NONE;
}

/* The line that the hand points at; those not yet there are left out. */
static struct torc_line *line_at(const struct torc_arena *arena, const struct torc_table *table,
                                 uint64_t hand)
{
    uint64_t missing = torc_table_first_clean(table) - table->n_lines;
    uint64_t n = torc_max_u64(table->n_lines, table->n_target) - missing;
    uint64_t line = (uint64_t)((torc_u128)(hand % n) * STRIDE % n);
    return torc_table_line(arena, table, line < table->n_lines ? line : line + missing);
}

uint64_t torc_table_unused(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t *hand, unsigned n_lines, uint64_t kept)
{
    uint64_t best = TORC_REF_NONE;
    unsigned looked = 0;
    if (table->count == 0) {
        return TORC_REF_NONE;
    }
    for (unsigned i = 0; i < LINES_MAX && looked < n_lines; i++) {
        struct torc_line *line = line_at(arena, table, *hand);
        unsigned all = (1u << torc_line_count(line)) - 1;
        uint64_t ref = first_of(line, all & ~torc_line_marked_slots(line), kept);
        if (ref != TORC_REF_NONE) {
            return ref; /* the hand stays: there may be more */
        }
        if (best == TORC_REF_NONE) {
            best = first_of(line, all, kept);
        }
        looked += all != 0;
        torc_line_clear_marks(line);
        ++*hand;
    }
    if (best == TORC_REF_NONE) {
        best = torc_table_random(arena, table, *hand * 0x9e3779b97f4a7c15ull);
    }
    return best != kept ? best : TORC_REF_NONE;
}
