/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a table: blocks of lines and the directory of their references. Blocks are held in
 * order, so their number says which they are; those that the present sizes do not need are spare.
 */
#include "hash/table_private.h"

#define DIRECTORY_MIN_LOG2 3u /* 64 bytes, the arena's smallest block */

static unsigned block_size_log2(unsigned block)
{
    return TORC_BLOCK_MIN_LOG2 + torc_table_block_scale(block);
}

/* Blocks that the lines of the mappings in force take. */
static unsigned blocks_in_use(const struct torc_table *table)
{
    return torc_table_blocks_for(torc_max_u64(table->n_lines, table->n_target));
}

/* The least size that takes n > 0 entries without being due to grow. */
static uint64_t size_for(uint64_t n)
{
    uint64_t lines = torc_table_lines_for(n);
    return torc_align_up(lines, 1ull << torc_table_scale(lines - 1));
}

void torc_table_init(struct torc_table *table)
{
    *table = (struct torc_table){0};
}

uint64_t torc_table_bytes(const struct torc_table *table)
{
    uint64_t directory =
        table->directory == TORC_REF_NONE ? 0 : sizeof(uint64_t) << table->directory_log2;
    return torc_table_lines_in(table->n_blocks) * TORC_LINE_BYTES + directory;
}

/* Hold at least n_blocks blocks. On failure everything is as before. */
static int add_blocks(struct torc_arena *arena, struct torc_table *table, unsigned n_blocks)
{
    uint64_t directory = table->directory;
    unsigned directory_log2 = table->directory_log2;
    if (n_blocks > TORC_TABLE_INLINE_BLOCKS) {
        unsigned needed = torc_log2_ceil(n_blocks - TORC_TABLE_INLINE_BLOCKS);
        needed = needed < DIRECTORY_MIN_LOG2 ? DIRECTORY_MIN_LOG2 : needed;
        if (directory == TORC_REF_NONE || needed > directory_log2) {
            directory_log2 = needed;
            int err = torc_arena_block_alloc(arena, needed + 3, TORC_USE_INDEX, &directory);
            if (err != 0) {
                return err;
            }
            if (table->directory != TORC_REF_NONE) {
                memcpy(torc_arena_at(arena, directory), torc_arena_at(arena, table->directory),
                       sizeof(uint64_t) << table->directory_log2);
            }
        }
    }

    /* Slots behind n_blocks mean nothing, so filling them changes nothing yet. */
    uint64_t *more = torc_arena_at(arena, directory);
    unsigned block = table->n_blocks;
    int err = 0;
    for (; block < n_blocks && err == 0; block++) {
        uint64_t *slot = block < TORC_TABLE_INLINE_BLOCKS ? &table->blocks[block]
                                                          : &more[block - TORC_TABLE_INLINE_BLOCKS];
        err = torc_arena_block_alloc(arena, block_size_log2(block), TORC_USE_INDEX, slot);
    }
    if (err != 0) {
        block--; /* the one that failed */
        while (block > table->n_blocks) {
            block--;
            uint64_t ref = block < TORC_TABLE_INLINE_BLOCKS
                               ? table->blocks[block]
                               : more[block - TORC_TABLE_INLINE_BLOCKS];
            torc_arena_block_free(arena, ref, block_size_log2(block), TORC_USE_INDEX);
        }
    }
    uint64_t old = err == 0 ? table->directory : directory;
    unsigned old_log2 = err == 0 ? table->directory_log2 : directory_log2;
    if (directory != table->directory && old != TORC_REF_NONE) {
        torc_arena_block_free(arena, old, old_log2 + 3, TORC_USE_INDEX);
    }
    if (err == 0) {
        table->directory = directory;
        table->directory_log2 = (uint8_t)directory_log2;
        table->n_blocks = (uint16_t)n_blocks;
    }
    return err;
}

/* The empty table has n lines from now on; their blocks are there. */
static void open_lines(const struct torc_arena *arena, struct torc_table *table, uint64_t n)
{
    for (uint64_t line = table->n_lines; line < n; line++) {
        memset(torc_table_line(arena, table, line), 0, TORC_LINE_BYTES);
    }
    table->n_lines = n;
    table->n_target = n;
    table->frontier = n;
}

int torc_table_reserve(struct torc_arena *arena, struct torc_table *table, uint64_t n)
{
    if (n == 0) {
        table->n_promised = 0;
        return 0;
    }
    if (n > torc_table_grow_limit(TORC_TABLE_MAX_LINES) - table->count) {
        return -ENOSPC;
    }
    uint64_t want = size_for(table->count + n);
    if (want > torc_table_lines_in(table->n_blocks)) {
        int err = add_blocks(arena, table, torc_table_blocks_for(want));
        uint64_t lines = torc_min_u64(table->n_lines, table->n_target);
        if (err != 0 && table->count + n > torc_table_dense_limit(lines)) {
            return err;
        }
        if (err != 0) {
            want = lines;
        }
    }
    if (table->count == 0) {
        open_lines(arena, table, want);
    }
    table->n_promised = (uint32_t)torc_min_u64(n, UINT32_MAX);
    return 0;
}

bool torc_table_free_spare(struct torc_arena *arena, struct torc_table *table)
{
    if (table->n_promised != 0 || table->n_blocks <= blocks_in_use(table)) {
        return false;
    }
    unsigned block = table->n_blocks - 1u;
    const uint64_t *more = torc_arena_at(arena, table->directory);
    uint64_t ref = block < TORC_TABLE_INLINE_BLOCKS ? table->blocks[block]
                                                    : more[block - TORC_TABLE_INLINE_BLOCKS];
    torc_arena_block_free(arena, ref, block_size_log2(block), TORC_USE_INDEX);
    table->n_blocks = (uint16_t)block;
    if (block <= TORC_TABLE_INLINE_BLOCKS && table->directory != TORC_REF_NONE) {
        torc_arena_block_free(arena, table->directory, table->directory_log2 + 3u, TORC_USE_INDEX);
        table->directory = TORC_REF_NONE;
        table->directory_log2 = 0;
    }
    return true;
}

void torc_table_become_empty(struct torc_arena *arena, struct torc_table *table)
{
    /* No entry is left, so all lines below n_lines are as if new and any mapping holds. */
    if (table->n_promised == 0) {
        table->n_lines = 0;
    }
    table->n_target = table->n_lines;
    table->frontier = table->n_lines;
    table->n_far = 0;
    table->far_reach = 0;
    while (torc_table_free_spare(arena, table)) {
    }
}

bool torc_table_step(struct torc_arena *arena, struct torc_table *table, unsigned n_homes)
{
    if (table->count == 0 && table->n_promised == 0) {
        table->n_lines = 0;
        table->n_target = 0;
        table->frontier = 0;
    }
    torc_table_begin_shrink(table);
    torc_table_advance(arena, table, n_homes);
    if (torc_table_is_resting(table)) {
        (void)torc_table_free_spare(arena, table);
        torc_table_begin_shrink(table);
    }
    return !torc_table_is_resting(table) ||
           (table->n_promised == 0 && table->n_blocks > blocks_in_use(table));
}

bool torc_table_drop_step(struct torc_arena *arena, struct torc_table *table)
{
    table->count = 0;
    table->n_lines = 0;
    table->n_target = 0;
    table->frontier = 0;
    table->n_far = 0;
    table->far_reach = 0;
    table->n_promised = 0;
    (void)torc_table_free_spare(arena, table);
    if (table->n_blocks != 0) {
        return true;
    }
    torc_table_init(table);
    return false;
}
