/* SPDX-License-Identifier: Apache-2.0
 *
 * torc_full_check(): every invariant of a full hash, on memory that may be damaged.
 */
#include "hash/full.h"

#include <stdlib.h>

#include "core/hashing.h"
#include "hash/inspect_private.h"

/* What the entries of the table add up to. */
struct tally {
    const struct torc_arena *arena;
    uint64_t root;
    uint64_t n_entries;
    uint64_t n_expiring;
    uint64_t own_bytes;
    uint64_t shared_bytes;
    uint64_t extent_extra;
    uint8_t *text; /* where compressed values are expanded; NULL until there is one */
    bool no_memory;
    const char *fault;
};

/* A fault of how a value is kept. */
static const char *value_fault(struct tally *tally, const struct torc_record_view *view)
{
    if (view->form == TORC_FORM_RAW) {
        return NULL;
    }
    if (view->form != TORC_FORM_COMPRESSED) {
        return torc_codec_is_canonical(view->form, view->payload.data)
                   ? NULL
                   : "full: a value is encoded as the codec would not";
    }
    if (tally->text == NULL && !tally->no_memory) {
        tally->text = malloc(TORC_PRESS_TEXT_MAX);
        tally->no_memory = tally->text == NULL;
    }
    const struct torc_part part = {
        .form = view->form, .text_len = view->text_len, .bytes = view->payload};
    return tally->no_memory || torc_press_is_sound(&part, tally->text)
               ? NULL
               : "full: a compressed value does not expand to its length";
}

static const char *entry_fault(struct tally *tally, uint64_t ref)
{
    struct torc_record_view view;
    if (!torc_inspect_is_inside(tally->arena, ref, 1)) {
        return "full: a reference outside the arena";
    }
    bool own = torc_record_type(torc_arena_at(tally->arena, ref)) == TORC_RECORD_FIELD;
    const char *fault =
        torc_inspect_record(tally->arena, ref, own ? tally->root : TORC_REF_NONE, &view);
    if (fault != NULL) {
        return fault;
    }
    if (view.claimed && torc_arena_in_flight(tally->arena) == 0) {
        return "full: a record is still claimed";
    }
    fault = value_fault(tally, &view);
    if (fault != NULL) {
        return fault;
    }
    ++tally->n_entries;
    if (own) {
        tally->own_bytes += view.bytes;
    } else if (view.type == TORC_RECORD_FIELD_OWNED && view.owner == tally->root) {
        tally->shared_bytes += view.bytes;
    } else {
        return "full: a record of somebody else";
    }
    if (view.expiry != TORC_EXPIRY_NONE) {
        const struct torc_full *full = torc_full_at(tally->arena, tally->root);
        uint64_t hash = torc_hash_slice(torc_arena_seed(tally->arena), view.name);
        ++tally->n_expiring;
        if (view.expiry < torc_due_bound_of(tally->arena, &full->due, hash)) {
            return "full: a field ends before the bound of its cell";
        }
    }
    if (torc_record_is_extent(view.bytes)) {
        tally->extent_extra += torc_extent_bytes(view.bytes) - view.bytes;
    }
    return NULL;
}

static void visit_entry(void *arg, uint64_t ref)
{
    struct tally *tally = arg;
    if (tally->fault == NULL) {
        tally->fault = entry_fault(tally, ref);
    }
}

/* A live record of the hash's own segments. */
static const char *visit_own(void *arg, uint64_t ref, const struct torc_record_view *view)
{
    const struct tally *tally = arg;
    const struct torc_full *full = torc_full_at(tally->arena, tally->root);
    uint64_t hash = torc_hash_slice(torc_arena_seed(tally->arena), view->name);
    if (view->type != TORC_RECORD_FIELD) {
        return "full: a record with an owner in a segment of its own";
    }
    /* A table that drains lets go of records that go with their segment. */
    if (full->state == TORC_FULL_LIVE &&
        torc_table_find(tally->arena, &full->table, hash, view->name) != ref) {
        return "full: a live record that the table does not know";
    }
    return NULL;
}

static const char *root_fault(const struct torc_arena *arena, uint64_t root)
{
    if (root % (1u << TORC_FULL_ROOT_LOG2) != 0 ||
        !torc_inspect_is_inside(arena, root, 1u << TORC_FULL_ROOT_LOG2)) {
        return "full: no place for a root";
    }
    const struct torc_full *full = torc_full_at(arena, root);
    if (full->magic != TORC_FULL_MAGIC || full->stream.owner != root ||
        full->state < TORC_FULL_LIVE || full->state > TORC_FULL_TEARING) {
        return "full: not a root";
    }
    return NULL;
}

int torc_full_check(const struct torc_arena *arena, uint64_t root, const char **out_why)
{
    const char *fault = root_fault(arena, root);
    if (fault != NULL) {
        return torc_inspect_result(fault, out_why);
    }
    const struct torc_full *full = torc_full_at(arena, root);
    int rc = torc_stream_check(arena, &full->stream, out_why);
    if (rc != 0 || full->state == TORC_FULL_TEARING) {
        return rc;
    }
    fault = torc_inspect_table(arena, &full->table);
    if (fault != NULL) {
        return torc_inspect_result(fault, out_why);
    }
    rc = full->state == TORC_FULL_LIVE ? torc_table_check(arena, &full->table, out_why) : 0;
    if (rc == 0) {
        rc = torc_due_check(arena, &full->due, out_why);
    }
    if (rc != 0) {
        return rc;
    }
    struct tally tally = {.arena = arena, .root = root};
    (void)torc_table_scan(arena, &full->table, 0, UINT64_MAX, visit_entry, &tally);
    free(tally.text);
    fault = tally.fault;
    if (fault == NULL) {
        fault = torc_inspect_stream(arena, &full->stream, visit_own, &tally);
    }
    if (fault == NULL && full->state == TORC_FULL_LIVE && tally.own_bytes != full->stream.live) {
        fault = "full: bytes of its own records";
    }
    if (fault == NULL && (tally.n_entries != full->table.count ||
                          full->stream.live + tally.shared_bytes != full->record_bytes)) {
        fault = "full: number or bytes of its records";
    }
    if (fault == NULL && full->state == TORC_FULL_LIVE &&
        tally.extent_extra != full->extent_extra) {
        fault = "full: pages of its extents";
    }
    if (fault == NULL && full->state == TORC_FULL_LIVE && tally.n_expiring != full->n_expiring) {
        fault = "full: number of fields with a time";
    }
    if (fault == NULL && tally.no_memory) {
        if (out_why != NULL) {
            *out_why = "full: no memory to look into compressed values";
        }
        return -ENOMEM;
    }
    return torc_inspect_result(fault, out_why);
}
