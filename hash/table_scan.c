/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over a table: scan, random choice.
 *
 * Bucket order is hash order, but a scan does not go by it: whoever deletes what a scan shows him
 * (a most common way to clean up) would empty one end of the table while the other stays full, and
 * a shrink would then find no room there. So the hash range is cut into 2^k cells of one to two
 * homes, and cells are visited in the order of their bit-reversed numbers (van der Corput 1935):
 * what was visited so far is spread evenly over the table at any moment.
 *
 *   cursor   bits 0..5    k, chosen from the size of the table when the scan began
 *            bits 6..63   place: the cell's number, k bits reversed; then the next 58 - k bits of
 * the hash inside the cell, not 0 only where a cell came to hold many homes
 *
 * A cell is a range of hashes and so means the same in every mapping; an entry is in one cell. So
 * whatever is there all the time is visited once, growth and shrinking or not. Only a cursor whose
 * cells are far smaller than homes, since the table shrank to an eighth or the cursor was made up,
 * begins anew: going on would take as many steps as the old table had cells, nearly all of them for
 * nothing.
 */
#include "hash/table_private.h"

#define RANDOM_DRAWS   64u
#define CURSOR_K_BITS  6u
#define CURSOR_K_MASK  ((1u << CURSOR_K_BITS) - 1)
#define CURSOR_K_SPARE 3u /* see above */
#define PLACE_BITS     (64u - CURSOR_K_BITS)
#define STEP_HOMES_MAX 64u /* homes of one cell visited in one step */

/* A walk over the entries whose hash is from `first` to `last`. */
struct walk {
    const struct torc_arena *arena;
    const struct torc_table *table;
    uint64_t first, last;
    bool is_whole; /* all of the home that is being visited is inside: no need to hash */
    void (*visit)(void *arg, uint64_t ref);
    void *arg;
};

static void visit_ref(const struct walk *walk, uint64_t ref)
{
    if (!walk->is_whole) {
        uint64_t hash = torc_table_hash_of(walk->arena, ref);
        if (hash < walk->first || hash > walk->last) {
            return;
        }
    }
    walk->visit(walk->arg, ref);
}

static void visit_slots(const struct walk *walk, const struct torc_line *line, unsigned slots)
{
    for (; slots != 0; slots &= slots - 1) {
        visit_ref(walk, torc_line_ref(line, (unsigned)__builtin_ctz(slots)));
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
static void visit_far(const struct walk *walk, struct torc_home home)
{
    const struct torc_table *table = walk->table;
    uint64_t end = torc_table_far_end(table, home);
    for (uint64_t i = torc_table_far_begin(table, home); i < end;
         i = torc_table_far_next(table, i)) {
        const struct torc_line *line = torc_table_line(walk->arena, table, i);
        for (unsigned slot = torc_line_natives(line); slot < torc_line_count(line); slot++) {
            uint64_t ref = torc_line_ref(line, slot);
            struct torc_home real = torc_table_home(table, torc_table_hash_of(walk->arena, ref));
            unsigned kind = torc_line_kind(line->fingerprints[slot]);
            if (real.line == home.line && real.n == home.n &&
                i != torc_table_guest_line(home, kind)) {
                visit_ref(walk, ref);
            }
        }
    }
}

static void visit_home(const struct walk *walk, struct torc_home home)
{
    const struct torc_line *line = torc_table_line(walk->arena, walk->table, home.line);
    prefetch_slots(walk->arena, line, torc_line_native_slots(line));
    visit_slots(walk, line, torc_line_native_slots(line));
    for (unsigned spilled = torc_line_spilled(line); spilled != 0; spilled &= spilled - 1) {
        const struct torc_line *away;
        unsigned slots =
            guests_from(walk->arena, walk->table, home, (unsigned)__builtin_ctz(spilled), &away);
        visit_slots(walk, away, slots);
    }
    if (TORC_UNLIKELY(walk->table->n_far != 0)) {
        visit_far(walk, home);
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

/* The last hash of the homes from that of `first` on, at most `most` of them, and at most `end`. */
static uint64_t last_of_homes(const struct torc_table *table, uint64_t first, uint64_t end,
                              uint64_t most)
{
    uint64_t hash = first;
    for (; most > 0; most--) {
        uint64_t behind = hash_behind(table, torc_table_home(table, hash));
        if (behind == 0 || behind - 1 >= end) {
            return end;
        }
        hash = behind;
    }
    /* A place has the upper bits of a hash only: end where one begins. */
    return (hash & ~(uint64_t)CURSOR_K_MASK) - 1;
}

/* Visit all homes that have hashes in the walk's range. Returns how many. */
static uint64_t visit_range(struct walk *walk)
{
    uint64_t n = 1;
    for (uint64_t hash = walk->first;; n++) {
        struct torc_home home = torc_table_home(walk->table, hash);
        uint64_t behind = hash_behind(walk->table, home);
        bool is_last = behind == 0 || behind - 1 >= walk->last;
        /* `behind` is 0 for 2^64: less one, it is the greatest hash. */
        walk->is_whole = first_hash(home.line, home.n) >= walk->first && behind - 1 <= walk->last;
        if (!is_last) {
            torc_table_prefetch(walk->arena, walk->table, behind);
        }
        visit_home(walk, home);
        if (is_last) {
            return n;
        }
        hash = behind;
    }
}

void torc_table_each_between(const struct torc_arena *arena, const struct torc_table *table,
                             uint64_t first, uint64_t last, void (*visit)(void *arg, uint64_t ref),
                             void *arg)
{
    if (table->count == 0 || first > last) {
        return;
    }
    struct walk walk = {
        .arena = arena, .table = table, .first = first, .last = last, .visit = visit, .arg = arg};
    (void)visit_range(&walk);
}

static uint64_t reverse_bits(uint64_t v)
{
    v = __builtin_bswap64(v);
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
    v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
    return (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
}

/* The upper k bits of a place reversed: from cursor to hash and back. */
static uint64_t reverse_cell(uint64_t place, unsigned k)
{
    unsigned rest = PLACE_BITS - k;
    uint64_t inside = place & (((uint64_t)1 << rest) - 1);
    return k == 0 ? place : reverse_bits(place >> rest) >> (64 - k) << rest | inside;
}

uint64_t torc_table_scan(const struct torc_arena *arena, const struct torc_table *table,
                         uint64_t cursor, uint64_t min_homes,
                         void (*visit)(void *arg, uint64_t ref), void *arg)
{
    if (table->count == 0) {
        return 0;
    }
    unsigned k = (unsigned)cursor & CURSOR_K_MASK;
    uint64_t place = cursor >> CURSOR_K_BITS;
    unsigned k_now = torc_log2_floor(table->n_lines);
    if (cursor == 0 || k > k_now + CURSOR_K_SPARE) {
        k = k_now;
        place = 0;
    }
    unsigned rest = PLACE_BITS - k;
    uint64_t n_visited = 0;
    do {
        uint64_t at = reverse_cell(place, k);
        uint64_t end = (((at >> rest) + 1) << rest << CURSOR_K_BITS) - 1;
        struct walk walk = {.arena = arena,
                            .table = table,
                            .first = at << CURSOR_K_BITS,
                            .visit = visit,
                            .arg = arg};
        walk.last = last_of_homes(table, walk.first, end, STEP_HOMES_MAX);
        n_visited += visit_range(&walk);
        if (walk.last != end) {
            place = reverse_cell((walk.last + 1) >> CURSOR_K_BITS, k);
        } else if ((place >> rest) + 1 < (uint64_t)1 << k) {
            place = ((place >> rest) + 1) << rest;
        } else {
            return 0;
        }
    } while (n_visited < min_homes);
    return place << CURSOR_K_BITS | k;
}

/* Where slots are drawn from: lines are drawn by number, those not yet there left out. */
struct lottery {
    uint64_t n_slots;
    uint64_t n_lines; /* from this line on, ... */
    uint64_t missing; /* ... so many are left out */
};

static struct lottery lottery_of(const struct torc_table *table)
{
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    uint64_t missing =
        torc_table_is_growing(table) ? torc_table_first_clean(table) - table->n_lines : 0;
    return (struct lottery){(end - missing) * TORC_LINE_SLOTS, table->n_lines, missing};
}

/* The line of a draw, and its slot. */
static uint64_t draw(const struct lottery *lottery, uint64_t random_bits, unsigned *out_slot)
{
    uint64_t drawn = torc_mul_high(random_bits, lottery->n_slots);
    uint64_t line = drawn / TORC_LINE_SLOTS;
    *out_slot = (unsigned)(drawn % TORC_LINE_SLOTS);
    return line + (line < lottery->n_lines ? 0 : lottery->missing);
}

void torc_table_random_prefetch(const struct torc_arena *arena, const struct torc_table *table,
                                uint64_t random_bits)
{
    if (table->count != 0) {
        struct lottery lottery = lottery_of(table);
        unsigned slot;
        TORC_PREFETCH(torc_table_line(arena, table, draw(&lottery, random_bits, &slot)));
    }
}

uint64_t torc_table_random(const struct torc_arena *arena, const struct torc_table *table,
                           uint64_t random_bits)
{
    if (table->count == 0) {
        return TORC_REF_NONE;
    }
    struct lottery lottery = lottery_of(table);
    uint64_t line = 0;
    for (unsigned i = 0; i < RANDOM_DRAWS; i++) {
        unsigned slot;
        line = draw(&lottery, random_bits, &slot);
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
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    for (;;) {
        const struct torc_line *l = torc_table_line(arena, table, line);
        if (torc_line_count(l) != 0) {
            return torc_line_ref(l, 0);
        }
        line = torc_table_far_next(table, line);
        line = line < end ? line : 0;
    }
}
