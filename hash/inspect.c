/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of an arena that may be damaged: one, those of a table, or all of a stream.
 */
#include "hash/inspect_private.h"

#include "hash/table_private.h"

/* Blocks of the largest table. */
#define MAX_BLOCKS      (TORC_TABLE_STEPS * TORC_ARENA_REF_BITS)
#define MAX_BLOCKS_LOG2 9u

bool torc_inspect_is_inside(const struct torc_arena *arena, uint64_t ref, uint64_t bytes)
{
    uint64_t end = arena->region.capacity;
    return ref >= TORC_PAGE_BYTES && ref <= end && bytes <= end - ref;
}

const char *torc_inspect_record(const struct torc_arena *arena, uint64_t ref, uint64_t owner,
                                struct torc_record_view *out_view)
{
    struct torc_record_view view;
    if (!torc_inspect_is_inside(arena, ref, 1) ||
        torc_record_parse(torc_arena_at(arena, ref), arena->region.capacity - ref, &view) != 0) {
        return "record: a reference to something else";
    }
    if (view.dead) {
        return "record: a reference to a dead one";
    }
    const struct torc_segment *segment = torc_segment_of(arena, ref, view.bytes);
    uint64_t head = (uint64_t)((const uint8_t *)segment - arena->base);
    if (!torc_inspect_is_inside(arena, head, TORC_SEGMENT_HEAD_BYTES) ||
        head % TORC_PAGE_BYTES != 0 || segment->magic != TORC_SEGMENT_MAGIC ||
        (segment->kind == TORC_SEGMENT_EXTENT) != torc_record_is_extent(view.bytes)) {
        return "record: not in a segment";
    }
    if (segment->owner != owner) {
        return "record: in a segment of another owner";
    }
    uint64_t place = ref - head - TORC_SEGMENT_HEAD_BYTES;
    if (ref - head < TORC_SEGMENT_HEAD_BYTES || place > segment->used ||
        view.bytes > segment->used - place) {
        return "record: outside what its segment uses";
    }
    *out_view = view;
    return NULL;
}

/* --- tables --- */

static bool is_size(uint64_t n)
{
    return n <= TORC_TABLE_MAX_LINES &&
           (n == 0 || torc_table_lines_in(torc_table_blocks_for(n)) == n);
}

static bool sizes_are_sane(const struct torc_table *table)
{
    uint64_t n = table->n_lines;
    uint64_t target = table->n_target;
    if (!is_size(n) || !is_size(target) || table->frontier > n || table->n_blocks > MAX_BLOCKS ||
        table->n_blocks < torc_table_blocks_for(torc_max_u64(n, target))) {
        return false;
    }
    return n == target ||
           (n != 0 && target != 0 &&
            (target == torc_table_next_size(n) || n == torc_table_next_size(target)));
}

static bool blocks_are_inside(const struct torc_arena *arena, const struct torc_table *table)
{
    const uint64_t *more = NULL;
    if (table->n_blocks > TORC_TABLE_INLINE_BLOCKS) {
        uint64_t bytes = (table->n_blocks - TORC_TABLE_INLINE_BLOCKS) * sizeof(*more);
        if (table->directory % sizeof(*more) != 0 || table->directory_log2 > MAX_BLOCKS_LOG2 ||
            !torc_inspect_is_inside(arena, table->directory, bytes)) {
            return false;
        }
        more = torc_arena_at(arena, table->directory);
    } else if (table->directory != TORC_REF_NONE || table->directory_log2 != 0) {
        return false;
    }
    for (unsigned block = 0; block < table->n_blocks; ++block) {
        uint64_t ref = block < TORC_TABLE_INLINE_BLOCKS ? table->blocks[block]
                                                        : more[block - TORC_TABLE_INLINE_BLOCKS];
        if (ref % TORC_LINE_BYTES != 0 ||
            !torc_inspect_is_inside(arena, ref,
                                    (uint64_t)TORC_LINE_BYTES << torc_table_block_scale(block))) {
            return false;
        }
    }
    return true;
}

static bool line_is_readable(const struct torc_arena *arena, const struct torc_line *line)
{
    struct torc_record_view view;
    if (torc_line_count(line) > TORC_LINE_SLOTS ||
        torc_line_natives(line) > torc_line_count(line)) {
        return false;
    }
    for (unsigned slot = 0; slot < torc_line_count(line); ++slot) {
        uint64_t ref = torc_line_ref(line, slot);
        if (!torc_inspect_is_inside(arena, ref, 1) ||
            torc_record_parse(torc_arena_at(arena, ref), arena->region.capacity - ref, &view) !=
                0) {
            return false;
        }
    }
    return true;
}

const char *torc_inspect_table(const struct torc_arena *arena, const struct torc_table *table)
{
    if (!sizes_are_sane(table)) {
        return "table: not a size";
    }
    if (!blocks_are_inside(arena, table)) {
        return "table: a block outside the arena";
    }
    uint64_t end = torc_max_u64(table->n_lines, table->n_target);
    for (uint64_t i = 0; i < end; i = torc_table_far_next(table, i)) {
        if (!line_is_readable(arena, torc_table_line(arena, table, i))) {
            return "table: a line that refers to something else than records";
        }
    }
    return NULL;
}

/* --- streams --- */

struct walk {
    const struct torc_arena *arena;
    const char *(*visit)(void *arg, uint64_t ref, const struct torc_record_view *view);
    void *arg;
    const char *fault; /* the first */
};

static void walk_segment(struct walk *w, uint64_t head)
{
    const struct torc_segment *segment = torc_arena_at(w->arena, head);
    uint64_t first = head + TORC_SEGMENT_HEAD_BYTES;
    uint64_t live = 0;
    uint64_t place = 0;
    struct torc_record_view view;
    while (place < segment->used && w->fault == NULL) {
        if (torc_record_parse(torc_arena_at(w->arena, first + place), segment->used - place,
                              &view) != 0) {
            w->fault = "segment: records do not fill it";
            return;
        }
        if (!view.dead) {
            w->fault = w->visit(w->arg, first + place, &view);
            live += view.bytes;
        }
        place += view.bytes;
    }
    if (w->fault == NULL && live != segment->live) {
        w->fault = "segment: its live records are not as many bytes";
    }
}

static void walk_ring(struct walk *w, uint64_t first)
{
    uint64_t head = first;
    while (head != TORC_REF_NONE && w->fault == NULL) {
        walk_segment(w, head);
        head = ((const struct torc_segment *)torc_arena_at(w->arena, head))->next;
        if (head == first) {
            break;
        }
    }
}

const char *torc_inspect_stream(const struct torc_arena *arena, const struct torc_stream *stream,
                                const char *(*visit)(void *arg, uint64_t ref,
                                                     const struct torc_record_view *view),
                                void *arg)
{
    struct walk w = {.arena = arena, .visit = visit, .arg = arg};
    walk_ring(&w, stream->closed);
    walk_ring(&w, stream->extents);
    if (w.fault == NULL && stream->open != TORC_REF_NONE) {
        walk_segment(&w, stream->open);
    }
    return w.fault;
}

static uint64_t ring_bytes(const struct torc_arena *arena, uint64_t first)
{
    uint64_t bytes = 0;
    uint64_t head = first;
    while (head != TORC_REF_NONE) {
        const struct torc_segment *segment = torc_arena_at(arena, head);
        bytes += segment->n_pages * TORC_PAGE_BYTES;
        head = segment->next;
        if (head == first) {
            break;
        }
    }
    return bytes;
}

uint64_t torc_inspect_segment_bytes(const struct torc_arena *arena,
                                    const struct torc_stream *stream)
{
    return ring_bytes(arena, stream->closed) +
           (stream->open != TORC_REF_NONE ? TORC_SEGMENT_BYTES : 0);
}

uint64_t torc_inspect_extent_bytes(const struct torc_arena *arena, const struct torc_stream *stream)
{
    return ring_bytes(arena, stream->extents);
}
