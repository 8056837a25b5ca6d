/* SPDX-License-Identifier: Apache-2.0 */
#include "core/segment.h"

#include "core/arena_private.h"

#define SEGMENT_PAGES (TORC_SEGMENT_BYTES / TORC_PAGE_BYTES)

static struct torc_segment *segment_at(const struct torc_arena *arena, uint64_t ref)
{
    return (struct torc_segment *)torc_arena_at(arena, ref);
}

static uint64_t segment_ref(const struct torc_arena *arena, const struct torc_segment *segment)
{
    return (uint64_t)((const uint8_t *)segment - arena->base);
}

/* ---- rings ---- */

/* Add behind all others, which is before *first. */
static void ring_append(struct torc_arena *arena, uint64_t *first, uint64_t ref)
{
    struct torc_segment *segment = segment_at(arena, ref);
    if (*first == TORC_REF_NONE) {
        segment->next = ref;
        segment->prev = ref;
        *first = ref;
        return;
    }
    struct torc_segment *next = segment_at(arena, *first);
    segment->next = *first;
    segment->prev = next->prev;
    segment_at(arena, next->prev)->next = ref;
    next->prev = ref;
}

static void ring_unlink(struct torc_arena *arena, uint64_t *first, uint64_t ref)
{
    struct torc_segment *segment = segment_at(arena, ref);
    if (segment->next == ref) {
        *first = TORC_REF_NONE;
        return;
    }
    segment_at(arena, segment->prev)->next = segment->next;
    segment_at(arena, segment->next)->prev = segment->prev;
    if (*first == ref) {
        *first = segment->next;
    }
}

/* ---- segments ---- */

static void segment_init(struct torc_arena *arena, const struct torc_stream *stream, uint64_t ref,
                         enum torc_segment_kind kind, uint64_t n_pages)
{
    *segment_at(arena, ref) = (struct torc_segment){
        .magic = TORC_SEGMENT_MAGIC,
        .kind = kind,
        .owner = stream->owner,
        .n_pages = n_pages,
    };
}

/* Take a closed segment or an extent out of its stream with all that lives in it, and free it. The
 * magic goes first: freed memory must not look like a segment to whoever maps the arena. */
static void segment_drop(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref)
{
    struct torc_segment *segment = segment_at(arena, ref);
    bool extent = segment->kind == TORC_SEGMENT_EXTENT;
    stream->live -= segment->live;
    stream->dead -= segment->used - segment->live;
    if (segment->kind == TORC_SEGMENT_OPEN) {
        stream->open = TORC_REF_NONE;
    } else {
        ring_unlink(arena, extent ? &stream->extents : &stream->closed, ref);
    }
    segment->magic = 0;
    torc_arena_run_free(arena, ref, segment->n_pages, extent ? TORC_USE_EXTENT : TORC_USE_SEGMENT);
}

/* Have an open segment with room for `bytes`. */
static int segment_open(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                        uint64_t over)
{
    if (stream->open != TORC_REF_NONE &&
        bytes <= TORC_SEGMENT_ROOM_BYTES - segment_at(arena, stream->open)->used) {
        return 0;
    }
    uint64_t ref;
    int rc = torc_arena_run_take(arena, SEGMENT_PAGES, TORC_USE_SEGMENT, over, &ref);
    if (rc != 0) {
        return rc;
    }
    if (stream->open != TORC_REF_NONE) {
        segment_at(arena, stream->open)->kind = TORC_SEGMENT_CLOSED;
        ring_append(arena, &stream->closed, stream->open);
    }
    segment_init(arena, stream, ref, TORC_SEGMENT_OPEN, SEGMENT_PAGES);
    stream->open = ref;
    return 0;
}

/* ---- records ---- */

static int extent_alloc(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                        uint64_t *out_ref)
{
    if (bytes > TORC_ARENA_MAX_BYTES) {
        return -ENOSPC;
    }
    uint64_t n_pages = torc_extent_bytes(bytes) / TORC_PAGE_BYTES;
    uint64_t ref;
    int rc = torc_arena_run_take(arena, n_pages, TORC_USE_EXTENT, 0, &ref);
    if (rc != 0) {
        return rc;
    }
    segment_init(arena, stream, ref, TORC_SEGMENT_EXTENT, n_pages);
    segment_at(arena, ref)->used = bytes;
    segment_at(arena, ref)->live = bytes;
    ring_append(arena, &stream->extents, ref);
    stream->live += bytes;
    *out_ref = ref + TORC_SEGMENT_HEAD_BYTES;
    return 0;
}

static int record_append(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                         uint64_t over, uint64_t *out_ref)
{
    if (torc_arena_is_failing(arena)) {
        return -ENOSPC;
    }
    if (torc_record_is_extent(bytes)) {
        return extent_alloc(arena, stream, bytes, out_ref);
    }
    int rc = segment_open(arena, stream, bytes, over);
    if (rc != 0) {
        return rc;
    }
    struct torc_segment *segment = segment_at(arena, stream->open);
    *out_ref = stream->open + TORC_SEGMENT_HEAD_BYTES + segment->used;
    segment->used += bytes;
    segment->live += bytes;
    stream->live += bytes;
    return 0;
}

int torc_record_alloc(struct torc_arena *arena, struct torc_stream *stream, uint64_t bytes,
                      uint64_t *out_ref)
{
    assert(bytes != 0);
    return record_append(arena, stream, bytes, 0, out_ref);
}

int torc_record_move(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                     uint64_t bytes, uint64_t *out_ref)
{
    assert(bytes != 0 && !torc_record_is_extent(bytes));
    uint64_t to;
    int rc = record_append(arena, stream, bytes, TORC_SEGMENT_BYTES, &to);
    if (rc != 0) {
        return rc;
    }
    memcpy(torc_arena_at(arena, to), torc_arena_at(arena, ref), bytes);
    *out_ref = to;
    return 0;
}

/* Bytes [ref, ref + bytes) of a live record die. */
static void bytes_die(const struct torc_arena *arena, struct torc_stream *stream,
                      struct torc_segment *segment, uint64_t ref, uint64_t bytes)
{
    uint64_t offset = ref - segment_ref(arena, segment) - TORC_SEGMENT_HEAD_BYTES;
    assert(segment->magic == TORC_SEGMENT_MAGIC && segment->owner == stream->owner &&
           bytes <= segment->live && offset <= segment->used && bytes <= segment->used - offset);
    segment->live -= bytes;
    stream->live -= bytes;
    if (segment->kind == TORC_SEGMENT_OPEN && offset + bytes == segment->used) {
        segment->used = offset;
    } else {
        stream->dead += bytes;
    }
}

void torc_record_free(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes)
{
    struct torc_segment *segment = torc_segment_of(arena, ref, bytes);
    bytes_die(arena, stream, segment, ref, bytes);
    if (segment->live != 0) {
        return;
    }
    if (segment->kind == TORC_SEGMENT_OPEN) {
        stream->dead -= segment->used;
        segment->used = 0;
    } else {
        segment_drop(arena, stream, segment_ref(arena, segment));
    }
}

void torc_record_trim(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref,
                      uint64_t bytes, uint64_t cut)
{
    assert(cut != 0 && cut < bytes && !torc_record_is_extent(bytes));
    bytes_die(arena, stream, torc_segment_of(arena, ref, bytes), ref + bytes - cut, cut);
}

/* ---- streams ---- */

uint64_t torc_stream_victim(struct torc_arena *arena, struct torc_stream *stream, unsigned look)
{
    uint64_t best = TORC_REF_NONE;
    uint64_t most = 0;
    uint64_t first = stream->closed;
    uint64_t ref = first;
    for (unsigned i = 0; i < look && ref != TORC_REF_NONE; i++) {
        const struct torc_segment *segment = segment_at(arena, ref);
        uint64_t dead = segment->used - segment->live;
        if (dead > most) {
            most = dead;
            best = ref;
        }
        ref = segment->next;
        if (ref == first) {
            break;
        }
    }
    stream->closed = ref;
    return best;
}

bool torc_stream_drop_step(struct torc_arena *arena, struct torc_stream *stream)
{
    uint64_t ref = stream->extents;
    if (ref == TORC_REF_NONE) {
        ref = stream->closed != TORC_REF_NONE ? stream->closed : stream->open;
    }
    if (ref != TORC_REF_NONE) {
        segment_drop(arena, stream, ref);
    }
    return (stream->extents | stream->closed | stream->open) != TORC_REF_NONE;
}

/* ---- check ---- */

static int fail(const char **out_why, const char *why)
{
    if (out_why != NULL) {
        *out_why = why;
    }
    return -EBADMSG;
}

/* One segment or extent of the stream, before anything else in it is believed. */
static const char *segment_fault(const struct torc_arena *arena, const struct torc_stream *stream,
                                 uint64_t ref, enum torc_segment_kind kind)
{
    const char *fault = torc_segment_head_fault(arena, ref);
    if (fault != NULL) {
        return fault;
    }
    const struct torc_segment *segment = segment_at(arena, ref);
    if (segment->kind != kind) {
        return "stream: a segment of another kind than its list";
    }
    return segment->owner == stream->owner ? NULL : "stream: a segment of another owner";
}

const char *torc_segment_head_fault(const struct torc_arena *arena, uint64_t ref)
{
    const struct torc_superblock *super = arena->super;
    uint64_t number = ref >> TORC_PAGE_LOG2;
    if (ref % TORC_PAGE_BYTES != 0 || number < super->heap_first || number >= super->top) {
        return "segment: reference outside the heap";
    }
    const struct torc_page *page = torc_arena_page(arena, number);
    unsigned use = torc_page_use(page);
    if (torc_page_state(page) != TORC_PAGE_RUN || page->word > super->top - number ||
        (use != TORC_USE_SEGMENT && use != TORC_USE_EXTENT)) {
        return "segment: reference to something else";
    }
    const struct torc_segment *segment = segment_at(arena, ref);
    if (segment->magic != TORC_SEGMENT_MAGIC || segment->n_pages != page->word ||
        segment->reserved != 0 || segment->live > segment->used) {
        return "segment: head";
    }
    if (use == TORC_USE_EXTENT) {
        bool sound = segment->kind == TORC_SEGMENT_EXTENT && segment->live == segment->used &&
                     torc_record_is_extent(segment->used) &&
                     segment->used <= TORC_ARENA_MAX_BYTES &&
                     torc_extent_bytes(segment->used) == segment->n_pages * TORC_PAGE_BYTES;
        return sound ? NULL : "segment: head of an extent";
    }
    bool sound = segment->n_pages == SEGMENT_PAGES && ref % TORC_SEGMENT_BYTES == 0 &&
                 segment->used <= TORC_SEGMENT_ROOM_BYTES;
    if (segment->kind == TORC_SEGMENT_OPEN) {
        sound = sound && segment->next == 0 && segment->prev == 0 &&
                (segment->live != 0 || segment->used == 0);
    } else {
        sound = sound && segment->kind == TORC_SEGMENT_CLOSED && segment->live != 0;
    }
    return sound ? NULL : "segment: counters or place";
}

/* Walk one ring, adding up bytes. Every step is checked against the step before, so a ring that
 * closes is one, and one of foreign links ends at `limit`. */
static const char *ring_fault(const struct torc_arena *arena, const struct torc_stream *stream,
                              enum torc_segment_kind kind, uint64_t *live, uint64_t *dead)
{
    uint64_t first = kind == TORC_SEGMENT_EXTENT ? stream->extents : stream->closed;
    if (first == TORC_REF_NONE) {
        return NULL;
    }
    const struct torc_superblock *super = arena->super;
    uint64_t limit = super->top - super->heap_first;
    uint64_t ref = first;
    do {
        const char *fault = segment_fault(arena, stream, ref, kind);
        if (fault != NULL) {
            return fault;
        }
        const struct torc_segment *segment = segment_at(arena, ref);
        *live += segment->live;
        *dead += segment->used - segment->live;
        uint64_t next = segment->next;
        fault = segment_fault(arena, stream, next, kind);
        if (fault != NULL) {
            return fault;
        }
        if (segment_at(arena, next)->prev != ref) {
            return "stream: broken ring";
        }
        ref = next;
    } while (ref != first && --limit != 0);
    return ref == first ? NULL : "stream: endless ring";
}

int torc_stream_check(const struct torc_arena *arena, const struct torc_stream *stream,
                      const char **out_why)
{
    uint64_t live = 0;
    uint64_t dead = 0;
    if (stream->open != TORC_REF_NONE) {
        const char *fault = segment_fault(arena, stream, stream->open, TORC_SEGMENT_OPEN);
        if (fault != NULL) {
            return fail(out_why, fault);
        }
        const struct torc_segment *open = segment_at(arena, stream->open);
        live += open->live;
        dead += open->used - open->live;
    }
    const char *fault = ring_fault(arena, stream, TORC_SEGMENT_CLOSED, &live, &dead);
    if (fault == NULL) {
        fault = ring_fault(arena, stream, TORC_SEGMENT_EXTENT, &live, &dead);
    }
    if (fault == NULL && (live != stream->live || dead != stream->dead)) {
        fault = "stream: live or dead bytes";
    }
    return fault == NULL ? 0 : fail(out_why, fault);
}
