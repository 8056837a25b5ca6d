/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of the table: the arithmetic of sizes, blocks, homes and guests, and what its source files
 * share. table.c finds and changes entries, table_place.c makes room, table_stretch.c grows and
 * shrinks, table_blocks.c holds the memory, table_scan.c walks, table_check.c checks.
 *
 * Sizes. A table has n = 1, 2, 3 or n = (4 + j) * 2^k lines (j = 0..3). Lines are cut into blocks:
 * four blocks of one line, then four blocks of 2^k lines for each k. n_lines and n_target are
 * always such sizes, so each is a whole number of blocks.
 *
 * Mappings. While n_target != n_lines two mappings hold, each for a range of hashes, and a line is
 * the home of hashes of at most one of them: growing, lines below the frontier are homes of the old
 * mapping, lines from (frontier * n_target / n_lines) up are homes of the new one, and those
 * between are nobody's home. Shrinking, lines from the frontier up are homes of the old mapping,
 * and those below of the new one. So the home of a guest, and the mapping it is in, follow from its
 * kind and the line it is in, but for two exceptions in which its record must be hashed: near the
 * wrap-around, when the two sizes give two candidates; and when far entries are about.
 */
#ifndef TORC_HASH_TABLE_PRIVATE_H
#define TORC_HASH_TABLE_PRIVATE_H

#include "core/hashing.h"
#include "hash/line_private.h"
#include "hash/record.h"
#include "hash/table.h"

/* A test build may replace these: the hash of a name, to force collisions, and the notice of work
 * done, to count it. */
#ifndef TORC_TABLE_HASH
#define TORC_TABLE_HASH(arena, name) torc_hash_slice(torc_arena_seed(arena), (name))
#endif
#ifndef TORC_TABLE_NOTE
#define TORC_TABLE_NOTE(event, n) ((void)0)
#endif

#define TORC_TABLE_STEPS_LOG2     2u /* a doubling takes four stretches */
#define TORC_TABLE_STEPS          (1u << TORC_TABLE_STEPS_LOG2)
#define TORC_TABLE_MAX_LINES      (1ull << (TORC_ARENA_REF_BITS - 6))
#define TORC_TABLE_HOMES_PER_OP   2u /* moved by one insert or remove while stretching */
#define TORC_TABLE_FAR_EVERYWHERE UINT32_MAX
/* A new block of at most so many lines is zeroed when a stretch begins, a larger one little by
 * little.
 */
#define TORC_TABLE_SMALL_BLOCK 64u
/* The farthest that a guest is from its home. In a table with a larger block, so one of at least
 * TORC_TABLE_STEPS of these, no guest of the new mapping wraps around into lines not yet zeroed. */
#define TORC_TABLE_MAX_DISTANCE 449u
static_assert(2 * TORC_TABLE_SMALL_BLOCK * TORC_TABLE_STEPS > TORC_TABLE_MAX_DISTANCE, "");
static_assert(TORC_TABLE_INLINE_BLOCKS >= 1 &&
                  sizeof(struct torc_line) == 1u << TORC_BLOCK_MIN_LOG2,
              "a block of one line is the arena's smallest block");

/* --- sizes and blocks --- */

/* log2 of the lines in the block that holds `line`. */
static inline unsigned torc_table_scale(uint64_t line)
{
    return torc_log2_floor(line | TORC_TABLE_STEPS) - TORC_TABLE_STEPS_LOG2;
}
/* Number of the block that holds `line`. */
static inline uint64_t torc_table_block_of(uint64_t line)
{
    unsigned scale = torc_table_scale(line);
    return (uint64_t)TORC_TABLE_STEPS * scale + (line >> scale);
}
/* log2 of the lines in block `block`. */
static inline unsigned torc_table_block_scale(unsigned block)
{
    return block < TORC_TABLE_STEPS ? 0 : block / TORC_TABLE_STEPS - 1;
}
/* Lines in the first n_blocks blocks. */
static inline uint64_t torc_table_lines_in(unsigned n_blocks)
{
    if (n_blocks < TORC_TABLE_STEPS) {
        return n_blocks;
    }
    return (uint64_t)(TORC_TABLE_STEPS + n_blocks % TORC_TABLE_STEPS)
           << torc_table_block_scale(n_blocks);
}
/* Blocks that n lines take, n being a size. */
static inline unsigned torc_table_blocks_for(uint64_t n)
{
    return n == 0 ? 0 : (unsigned)torc_table_block_of(n - 1) + 1;
}
/* The sizes next to n; n > 0, and n > 1 for the smaller one. */
static inline uint64_t torc_table_next_size(uint64_t n)
{
    return n + (1ull << torc_table_scale(n));
}
static inline uint64_t torc_table_previous_size(uint64_t n)
{
    return n - (1ull << torc_table_scale(n - 1));
}

/* n lines are due to grow when they would hold more entries than this: 90 %, and one line may be
 * full. With two homes moved by each insert, a stretch from n = (4 + j) * 2^k is over after n / 2
 * inserts, the next is due after 9 * 2^k. */
static inline uint64_t torc_table_grow_limit(uint64_t n)
{
    return 9 * n + 1;
}
/* The inverse: the least lines that n > 0 entries leave not due to grow, not yet made a size. */
static inline uint64_t torc_table_lines_for(uint64_t n)
{
    return torc_max_u64((n + 7) / 9, 1);
}
/* n > 1 lines are due to shrink when they hold fewer entries than this: three quarters of what the
 * smaller size may, so a quarter of it must come or go between two changes of direction. A shrink
 * to n = (4 + j) * 2^k is over after (n + 2^k) / 2 removes, the next is due after 6.75 * 2^k. */
static inline uint64_t torc_table_shrink_limit(uint64_t n)
{
    return torc_table_grow_limit(torc_table_previous_size(n)) * 3 / 4;
}
/* Entries that n lines hold when the arena gives no more: 95 %. */
static inline uint64_t torc_table_dense_limit(uint64_t n)
{
    return n * 19 / 2;
}

static inline bool torc_table_is_resting(const struct torc_table *table)
{
    return table->n_lines == table->n_target;
}
static inline bool torc_table_is_growing(const struct torc_table *table)
{
    return table->n_target > table->n_lines;
}
static inline bool torc_table_is_shrinking(const struct torc_table *table)
{
    return table->n_target < table->n_lines;
}

/* Where line `line` is. Good until its block is freed. */
static inline struct torc_line *torc_table_line(const struct torc_arena *arena,
                                                const struct torc_table *table, uint64_t line)
{
    unsigned scale = torc_table_scale(line);
    uint64_t block = (uint64_t)TORC_TABLE_STEPS * scale + (line >> scale);
    uint64_t within = line & ((1ull << scale) - 1);
    const uint64_t *more = torc_arena_at(arena, table->directory);
    uint64_t ref = block < TORC_TABLE_INLINE_BLOCKS ? table->blocks[block]
                                                    : more[block - TORC_TABLE_INLINE_BLOCKS];
    return torc_arena_at(arena, ref + within * TORC_LINE_BYTES);
}

/* Lines that exist: all below max(n_lines, n_target), except that those of a large new block are
 * zeroed only just before they become homes. [n_lines, first clean) is not to be read yet. */
static inline uint64_t torc_table_first_clean(const struct torc_table *table)
{
    uint64_t block_lines = table->n_target - table->n_lines;
    if (!torc_table_is_growing(table) || block_lines <= TORC_TABLE_SMALL_BLOCK) {
        return table->n_lines;
    }
    /* frontier * n_target / n_lines, rounded down: n_lines is a multiple of block_lines, 4 to 7. */
    uint64_t multiple = torc_max_u64(table->n_lines / block_lines, 1);
    return torc_max_u64(table->frontier + table->frontier / multiple, table->n_lines);
}

/* --- homes and guests --- */

struct torc_home {
    uint64_t line;
    uint64_t n; /* size of the mapping it is in */
};

static inline struct torc_home torc_table_home(const struct torc_table *table, uint64_t hash)
{
    struct torc_home home = {torc_mul_high(hash, table->n_lines), table->n_lines};
    if (TORC_UNLIKELY(!torc_table_is_resting(table)) &&
        (home.line >= table->frontier) == torc_table_is_growing(table)) {
        home = (struct torc_home){torc_mul_high(hash, table->n_target), table->n_target};
    }
    return home;
}

/* The mapping in which `line` is a home, if it is one. */
static inline struct torc_home torc_table_home_at(const struct torc_table *table, uint64_t line)
{
    bool is_old = (line < table->frontier) != torc_table_is_shrinking(table);
    return (struct torc_home){line, is_old ? table->n_lines : table->n_target};
}

/* How far guests of a kind go, of n lines. The long distances even out that some stretches of a
 * few hundred lines have more entries than fit; without common factors, the lines that a search
 * comes by are many. In few lines the distances are folded, to 0 only if there is just one line. */
static inline uint64_t torc_table_distance(uint64_t n, unsigned kind)
{
    static const uint16_t distances[TORC_LINE_KINDS] = {1,   9,   29,  67,
                                                        131, 211, 317, TORC_TABLE_MAX_DISTANCE};
    uint64_t distance = distances[kind];
    if (TORC_UNLIKELY(distance >= n)) {
        distance = n == 1 ? 0 : 1 + distance % (n - 1);
    }
    return distance;
}
/* The line where guests of a kind from `home` are; home.line itself if there is no other. */
static inline uint64_t torc_table_guest_line(struct torc_home home, unsigned kind)
{
    uint64_t line = home.line + torc_table_distance(home.n, kind);
    return line < home.n ? line : line - home.n;
}
/* The inverse: the home, in the mapping of n lines, of guests of a kind in `line`. May be no line
 * of that mapping when `line` is none. */
static inline uint64_t torc_table_guest_home(uint64_t line, uint64_t n, unsigned kind)
{
    uint64_t distance = torc_table_distance(n, kind);
    return line >= distance ? line - distance : line + n - distance;
}

/* The lines where far entries of `home` may be: for (l = begin; l < end; l = next(l)). */
static inline uint64_t torc_table_far_begin(const struct torc_table *table, struct torc_home home)
{
    bool everywhere = table->far_reach == TORC_TABLE_FAR_EVERYWHERE;
    uint64_t line = everywhere || home.line < table->far_reach ? 0 : home.line - table->far_reach;
    return line < table->n_lines ? line : torc_max_u64(line, torc_table_first_clean(table));
}
static inline uint64_t torc_table_far_end(const struct torc_table *table, struct torc_home home)
{
    uint64_t n = torc_max_u64(table->n_lines, table->n_target);
    bool everywhere = table->far_reach == TORC_TABLE_FAR_EVERYWHERE;
    return everywhere ? n : torc_min_u64(n, home.line + table->far_reach + 1);
}
static inline uint64_t torc_table_far_next(const struct torc_table *table, uint64_t line)
{
    return line + 1 == table->n_lines ? torc_table_first_clean(table) : line + 1;
}

/* Keep the account of far entries: one came to `line`, one left or is none any more. */
static inline void torc_table_far_came(struct torc_table *table, uint64_t line, uint64_t home)
{
    uint64_t reach = torc_max_u64(table->far_reach, line > home ? line - home : home - line);
    table->n_far++;
    table->far_reach = (uint32_t)torc_min_u64(reach, TORC_TABLE_FAR_EVERYWHERE);
}
static inline void torc_table_far_left(struct torc_table *table)
{
    table->n_far--;
    table->far_reach = table->n_far == 0 ? 0 : table->far_reach;
}

static inline uint64_t torc_table_hash_of(const struct torc_arena *arena, uint64_t ref)
{
    TORC_TABLE_NOTE(hashed, 1);
    return TORC_TABLE_HASH(arena, torc_record_name(torc_arena_at(arena, ref)));
}

/* --- table_place.c --- */

/* True if the guest in `slot` of `line`, of the right kind and in the right line for it, is from
 * `home`. */
bool torc_table_guest_is_from(const struct torc_arena *arena, const struct torc_table *table,
                              uint64_t line, unsigned slot, struct torc_home home);

/* After a guest of `kind` from `home` left: clear the home's bit if it was the last. */
void torc_table_guest_left(const struct torc_arena *arena, const struct torc_table *table,
                           struct torc_home home, unsigned kind);

/* Put an entry where the mapping in force wants it; there is a free slot somewhere. Does not touch
 * `count`. */
void torc_table_place(const struct torc_arena *arena, struct torc_table *table, uint64_t hash,
                      uint64_t ref);

/* `line` got a free slot: let a native that is a guest elsewhere come home, if there is one. */
void torc_table_call_home(const struct torc_arena *arena, const struct torc_table *table,
                          uint64_t line);

/* --- table_stretch.c --- */

/* Begin to grow if `count` entries make it due and the blocks are there. */
void torc_table_begin_growth(const struct torc_arena *arena, struct torc_table *table,
                             uint64_t count);
/* Begin to shrink if it is due. */
void torc_table_begin_shrink(struct torc_table *table);
/* Move up to n_homes homes of a stretch or shrink. At its end n_lines == n_target. */
void torc_table_advance(const struct torc_arena *arena, struct torc_table *table, unsigned n_homes);

/* --- table_blocks.c --- */

/* Free the last block, unless homes or a promise need it. True if there was one to free. */
bool torc_table_free_spare(struct torc_arena *arena, struct torc_table *table);
/* The table has no entries: forget the lines, and free the blocks unless they are promised. */
void torc_table_become_empty(struct torc_arena *arena, struct torc_table *table);

#endif
