/* SPDX-License-Identifier: Apache-2.0
 *
 * The full walk of a table's invariants.
 */
#include "hash/table_private.h"

/* What one walk over the lines counts. */
struct tally {
    uint64_t entries;
    uint64_t far_entries;
};

static int bad(const char **out_why, const char *why)
{
    if (out_why != NULL) {
        *out_why = why;
    }
    return -EBADMSG;
}

static bool is_size(uint64_t n)
{
    return n <= TORC_TABLE_MAX_LINES &&
           (n == 0 || torc_table_lines_in(torc_table_blocks_for(n)) == n);
}

/* The words of the struct alone. */
static const char *check_sizes(const struct torc_table *table)
{
    uint64_t n = table->n_lines;
    uint64_t target = table->n_target;
    if (!is_size(n) || !is_size(target)) {
        return "not a size of a table";
    }
    if (n != target && (n == 0 || target == 0 ||
                        (target != torc_table_next_size(n) && n != torc_table_next_size(target)))) {
        return "stretching to a size that is not the next";
    }
    if (table->frontier > n || (n == target && table->frontier != n)) {
        return "frontier out of place";
    }
    if (n != target && table->frontier == (target > n ? 0 : n)) {
        return "stretch at its end but not ended";
    }
    if (torc_table_lines_in(table->n_blocks) < torc_max_u64(n, target)) {
        return "fewer blocks than lines";
    }
    if ((table->directory != TORC_REF_NONE) != (table->n_blocks > TORC_TABLE_INLINE_BLOCKS)) {
        return "directory without need, or need without directory";
    }
    if (table->directory != TORC_REF_NONE &&
        1u << table->directory_log2 < table->n_blocks - TORC_TABLE_INLINE_BLOCKS) {
        return "directory too small";
    }
    if (table->directory == TORC_REF_NONE && table->directory_log2 != 0) {
        return "size of no directory";
    }
    if ((table->n_far == 0) != (table->far_reach == 0)) {
        return "reach of far entries";
    }
    return NULL;
}

static const char *check_blocks(const struct torc_arena *arena, const struct torc_table *table)
{
    const uint64_t *more = torc_arena_at(arena, table->directory);
    for (unsigned block = 0; block < table->n_blocks; block++) {
        uint64_t ref = block < TORC_TABLE_INLINE_BLOCKS ? table->blocks[block]
                                                        : more[block - TORC_TABLE_INLINE_BLOCKS];
        if (ref == TORC_REF_NONE || ref % TORC_LINE_BYTES != 0 || ref >= arena->region.capacity) {
            return "not a block reference";
        }
    }
    return NULL;
}

/* One entry, and what must hold elsewhere because it is here. */
static const char *check_entry(const struct torc_arena *arena, const struct torc_table *table,
                               uint64_t i, unsigned slot, struct tally *tally)
{
    const struct torc_line *line = torc_table_line(arena, table, i);
    uint64_t ref = torc_line_ref(line, slot);
    if (ref == TORC_REF_NONE || ref >= arena->region.capacity) {
        return "entry without a reference";
    }
    struct torc_slice name = torc_record_name(torc_arena_at(arena, ref));
    uint64_t hash = TORC_TABLE_HASH(arena, name);
    struct torc_home home = torc_table_home(table, hash);
    unsigned kind = torc_line_kind(torc_hash_fingerprint(hash));
    if (line->fingerprints[slot] != torc_hash_fingerprint(hash)) {
        return "fingerprint is not that of the name";
    }
    if ((slot < torc_line_natives(line)) != (home.line == i)) {
        return "native of another home, or guest at home";
    }
    if (home.n == table->n_target && i >= table->n_target) {
        return "entry of the new mapping in a line that goes";
    }
    if (torc_table_home_at(table, home.line).n != home.n) {
        return "home in two mappings";
    }
    if (slot >= torc_line_natives(line) && i == torc_table_guest_line(home, kind)) {
        if (!torc_line_has_spilled(torc_table_line(arena, table, home.line), kind)) {
            return "guest that its home does not know of";
        }
    } else if (slot >= torc_line_natives(line)) {
        uint64_t distance = i > home.line ? i - home.line : home.line - i;
        tally->far_entries++;
        if (distance > table->far_reach && table->far_reach != TORC_TABLE_FAR_EVERYWHERE) {
            return "far entry out of reach";
        }
    }
    if (torc_table_find(arena, table, hash, name) != ref) {
        return "entry not found by its name";
    }
    return NULL;
}

/* Every kind that a home says is away has somebody there. */
static const char *check_spilled(const struct torc_arena *arena, const struct torc_table *table,
                                 uint64_t i)
{
    unsigned spilled = torc_line_spilled(torc_table_line(arena, table, i));
    struct torc_home home = torc_table_home_at(table, i);
    for (; spilled != 0; spilled &= spilled - 1) {
        unsigned kind = (unsigned)__builtin_ctz(spilled);
        uint64_t at = torc_table_guest_line(home, kind);
        if (at >= table->n_lines && at < torc_table_first_clean(table)) {
            return "spilled kind of a line that is no home";
        }
        const struct torc_line *line = torc_table_line(arena, table, at);
        bool found = false;
        for (unsigned slot = torc_line_natives(line); slot < torc_line_count(line); slot++) {
            uint64_t hash = torc_table_hash_of(arena, torc_line_ref(line, slot));
            struct torc_home real = torc_table_home(table, hash);
            found |= real.line == i && real.n == home.n &&
                     torc_line_kind(torc_hash_fingerprint(hash)) == kind;
        }
        if (!found) {
            return "spilled kind without a guest";
        }
    }
    return NULL;
}

static const char *check_line(const struct torc_arena *arena, const struct torc_table *table,
                              uint64_t i, struct tally *tally)
{
    const struct torc_line *line = torc_table_line(arena, table, i);
    if (torc_line_natives(line) > torc_line_count(line) ||
        torc_line_count(line) > TORC_LINE_SLOTS) {
        return "shape of a line";
    }
    if (line->marks >> TORC_LINE_SLOTS != 0) {
        return "marks above the slots are reserved";
    }
    tally->entries += torc_line_count(line);
    const char *why = check_spilled(arena, table, i);
    for (unsigned slot = 0; slot < torc_line_count(line) && why == NULL; slot++) {
        why = check_entry(arena, table, i, slot, tally);
    }
    return why;
}

int torc_table_check(const struct torc_arena *arena, const struct torc_table *table,
                     const char **out_why)
{
    const char *why = check_sizes(table);
    if (why == NULL) {
        why = check_blocks(arena, table);
    }
    if (why != NULL) {
        return bad(out_why, why);
    }

    struct tally tally = {0};
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    for (uint64_t i = 0; i < end; i = torc_table_far_next(table, i)) {
        why = check_line(arena, table, i, &tally);
        if (why != NULL) {
            return bad(out_why, why);
        }
    }
    if (tally.entries != table->count) {
        return bad(out_why, "count of entries");
    }
    if (tally.far_entries != table->n_far) {
        return bad(out_why, "count of far entries");
    }
    return 0;
}
