/* SPDX-License-Identifier: Apache-2.0
 *
 * Full hash: fields in records, found through a table.
 *
 * A set of several fields must be all or nothing, so it runs in two parts. The plan may fail: it
 * looks every field up, allocates and writes each new record, and reserves room in the index and in
 * the due tree; nothing that a reader could see has changed. The rest cannot fail: it writes values
 * in place where they take as many bytes as before, and links the new records.
 *
 * The due tree is told a time only when it is sooner than the one that the field had: bounds may be
 * too early. So a field whose time is put off again and again costs one look when the first of its
 * times comes.
 */
#include "hash/full.h"

#include "core/hashing.h"
#include "hash/drain_private.h"
#include "hash/record.h"

/* Pairs whose plan fits the stack; more take arena memory for the time of the call. */
#define FEW_PAIRS 32u
/* How many pairs ahead of the plan index lines are prefetched, and then records. */
#define LINES_AHEAD   8u
#define RECORDS_AHEAD 4u
/* Units of one step of a hash that is destroyed at once. */
#define DESTROY_UNITS 64u
/* Past fields that are taken out of a cell of the due tree at once. */
#define REAP_REFS 64u
/* A due tree of at most so many bytes goes at once when no field has a time any more; else, of what
 * never held a bound, so many nodes at a time. */
#define SMALL_DUE_BYTES 512u
#define CLEAR_NODES     64u

/* What one pair of a set does:
 *   old_ref  new_ref
 *   0        0        nothing: a later pair of the set has the same, existing field
 *   set      0        value that takes as many bytes: written in place
 *   set      set      the new record replaces the old one
 *   0        set      new field, or one that an earlier pair of the set made */
struct put_slot {
    uint64_t hash;
    uint64_t old_ref;
    uint64_t new_ref;
};

static struct torc_stream *stream_of(struct torc_arena *arena, struct torc_full *full,
                                     const uint8_t *record)
{
    return torc_record_type(record) == TORC_RECORD_FIELD ? &full->stream
                                                         : torc_stream_shared(arena);
}

/* Bytes that an extent's record takes beside itself: 0 for records in segments. */
static uint64_t extra_of(uint64_t bytes)
{
    if (!torc_record_is_extent(bytes)) {
        return 0;
    }
    return torc_extent_bytes(bytes) - bytes;
}

static void count_in(struct torc_full *full, const uint8_t *record)
{
    uint64_t bytes = torc_record_bytes(record);
    full->record_bytes += bytes;
    full->extent_extra += extra_of(bytes);
    full->n_expiring += torc_record_expires(record);
}

static void release(struct torc_arena *arena, struct torc_full *full, uint64_t ref)
{
    const uint8_t *record = torc_arena_at(arena, ref);
    full->n_expiring -= torc_record_expires(record);
    uint64_t bytes = torc_record_release(arena, stream_of(arena, full, record), ref);
    full->record_bytes -= bytes;
    full->extent_extra -= extra_of(bytes);
}

/* Would `bytes` of records be enough for segments of its own? */
static bool is_large_with(const struct torc_full *full, uint64_t bytes)
{
    uint64_t least = full->stream.open != TORC_REF_NONE ? TORC_FULL_OWN_STREAM_BYTES / 4
                                                        : TORC_FULL_OWN_STREAM_BYTES;
    return bytes > least;
}

bool torc_full_is_large(const struct torc_full *full)
{
    return is_large_with(full, full->record_bytes);
}

/* Allocate and write a record that nothing refers to yet. `planned`: bytes of such records before.
 */
static int store(struct torc_arena *arena, struct torc_full *full, struct torc_slice field,
                 const struct torc_part *value, uint64_t when, uint64_t planned, uint64_t *out_ref)
{
    bool own = is_large_with(full, full->record_bytes + planned);
    uint64_t bytes =
        torc_record_field_bytes(!own, when != TORC_EXPIRY_NONE, field.len, value->bytes.len) +
        torc_record_compressed_extra(value);
    struct torc_stream *stream = own ? &full->stream : torc_stream_shared(arena);
    uint64_t ref;
    int rc = torc_record_alloc(arena, stream, bytes, &ref);
    if (rc != 0) {
        return rc;
    }
    torc_record_write_field(torc_arena_at(arena, ref), own ? TORC_REF_NONE : full->stream.owner,
                            when, field, value);
    *out_ref = ref;
    return 0;
}

int torc_full_create(struct torc_arena *arena, uint64_t *out_root)
{
    uint64_t root;
    int rc = torc_arena_block_alloc(arena, TORC_FULL_ROOT_LOG2, TORC_USE_ROOT, &root);
    if (rc != 0) {
        return rc;
    }
    struct torc_full *full = torc_full_at(arena, root);
    memset(full, 0, 1u << TORC_FULL_ROOT_LOG2);
    torc_table_init(&full->table);
    torc_due_init(&full->due);
    full->stream.owner = root;
    full->state = TORC_FULL_LIVE;
    full->magic = TORC_FULL_MAGIC;
    *out_root = root;
    return 0;
}

/* --- times --- */

/* Must the due tree hear of it when a field with `old_when` gets `when`? Either may be none. */
static bool is_sooner(uint64_t when, uint64_t old_when)
{
    return when - 1 < old_when - 1; /* none wraps around: later than all */
}

/* No field has a time, so whatever the tree says is out of date. A large tree goes by cells: it is
 * sound in between, as times may come again. */
static TORC_COLD void clear_due(struct torc_arena *arena, struct torc_full *full)
{
    struct torc_due *due = &full->due;
    struct torc_due_cell cell;
    if (due->bytes > SMALL_DUE_BYTES &&
        torc_due_next(arena, due, TORC_EXPIRY_MAX, full->table.count, &cell)) {
        torc_due_set(arena, due, &cell, TORC_EXPIRY_NEVER, full->table.count);
        return;
    }
    for (unsigned i = 0; i < CLEAR_NODES && torc_due_drop_step(arena, due); ++i) {
    }
}

/* After every change of times: give back what the due tree does not need. */
static void tend_due(struct torc_arena *arena, struct torc_full *full)
{
    if (TORC_UNLIKELY(full->due.bound != TORC_EXPIRY_NEVER || full->due.bytes != 0) &&
        full->n_expiring == 0) {
        clear_due(arena, full);
    }
}

/* --- set --- */

/* The pairs of one set. */
struct put {
    const struct torc_pair *pairs;
    size_t n_pairs;
    const struct torc_full_put_options *options;
};

/* How the i-th value is stored, unless it is compressed; `room` as in torc_codec_encode(). */
static TORC_ALWAYS_INLINE struct torc_part value_of(const struct put *put, size_t i, uint8_t *room)
{
    struct torc_slice text = put->pairs[i].value;
    return put->options->verbatim ? torc_part_raw(text) : torc_codec_encode(text, room);
}

/* The time that the i-th pair gives its field, which had `old_when`, or TORC_EXPIRY_NONE. */
static TORC_ALWAYS_INLINE uint64_t time_of(const struct put *put, size_t i, uint64_t old_when)
{
    const struct torc_full_put_options *options = put->options;
    uint64_t when = TORC_UNLIKELY(options->whens != NULL) ? options->whens[i] : options->when;
    if (when != TORC_EXPIRY_KEEP) {
        return when;
    }
    return torc_expiry_is_past(old_when, options->now) ? TORC_EXPIRY_NONE : old_when;
}

/* Can `value` and `when` be written over those of the record? */
static bool fits_in_place(const uint8_t *record, const struct torc_part *value, uint64_t when)
{
    struct torc_part old;
    (void)torc_record_field(record, &old);
    return old.bytes.len == value->bytes.len && old.form != TORC_FORM_COMPRESSED &&
           value->form != TORC_FORM_COMPRESSED &&
           torc_record_expires(record) == (when != TORC_EXPIRY_NONE);
}

/* The value, compressed if it is worth it and within what one call may; *left: bytes of text that
 * it may still. */
static TORC_COLD struct torc_part pressed(struct torc_press *press, struct torc_part value,
                                          uint64_t *left)
{
    const uint64_t len = value.bytes.len;
    if (len >= press->min_bytes && len <= TORC_PRESS_TEXT_MAX && len <= *left) {
        *left -= len;
        (void)torc_press_compress(press, &value);
    }
    return value;
}

/* The time of the i-th pair, whose field has this record or none yet; reserves what the due tree
 * needs for it. */
static TORC_COLD int plan_time(struct torc_arena *arena, struct torc_full *full,
                               const struct put *put, size_t i, const uint8_t *record,
                               uint64_t population, uint64_t *out_when)
{
    uint64_t old_when = record != NULL ? torc_record_field_expiry(record) : TORC_EXPIRY_NONE;
    uint64_t when = time_of(put, i, old_when);
    *out_when = when;
    if (!is_sooner(when, old_when)) {
        return 0;
    }
    uint64_t hash = torc_hash_slice(torc_arena_seed(arena), put->pairs[i].field);
    return torc_due_reserve(arena, &full->due, hash, population);
}

static void prefetch(const struct torc_arena *arena, const struct torc_table *table,
                     const struct put_slot *slots, size_t i)
{
    if (i >= LINES_AHEAD) {
        torc_table_prefetch(arena, table, slots[i - LINES_AHEAD].hash);
    }
    if (i >= RECORDS_AHEAD) {
        uint64_t ref = torc_table_candidate(arena, table, slots[i - RECORDS_AHEAD].hash);
        if (ref != TORC_REF_NONE) {
            TORC_PREFETCH(torc_arena_at(arena, ref));
        }
    }
}

/* Fill the slots, which are zero. From the last pair to the first, so that of several pairs with an
 * existing field the last one claims it. *out_new: index entries that may be needed. */
static int plan(struct torc_arena *arena, struct torc_full *full, const struct put *put,
                struct put_slot *slots, uint64_t *out_new)
{
    const struct torc_pair *pairs = put->pairs;
    const size_t n_pairs = put->n_pairs;
    struct torc_press *press = put->options->press;
    uint64_t seed = torc_arena_seed(arena);
    uint64_t planned = 0;
    uint64_t n_new = 0;
    uint64_t may_compress = TORC_PRESS_CALL_MAX;
    const bool may_have_times =
        put->options->whens != NULL || put->options->when != TORC_EXPIRY_NONE;
    for (size_t i = 0; i < n_pairs; ++i) {
        slots[i].hash = torc_hash_slice(seed, pairs[i].field);
    }
    for (size_t i = n_pairs; i-- > 0;) {
        struct put_slot *slot = &slots[i];
        uint8_t room[TORC_CODEC_ENCODED_MAX];
        struct torc_part value = value_of(put, i, room);
        if (TORC_UNLIKELY(press != NULL)) {
            value = pressed(press, value, &may_compress);
        }
        prefetch(arena, &full->table, slots, i);
        uint64_t ref = torc_table_find(arena, &full->table, slot->hash, pairs[i].field);
        uint8_t *record = NULL;
        bool is_timed = may_have_times;
        if (ref != TORC_REF_NONE) {
            record = torc_arena_at(arena, ref);
            if ((record[0] & TORC_RECORD_CLAIMED) != 0) {
                continue;
            }
            record[0] |= TORC_RECORD_CLAIMED;
            slot->old_ref = ref;
            is_timed |= torc_record_expires(record);
        } else {
            ++n_new;
        }
        int rc = 0;
        uint64_t when = TORC_EXPIRY_NONE;
        if (TORC_UNLIKELY(is_timed)) {
            rc = plan_time(arena, full, put, i, record, full->table.count + n_new, &when);
        }
        if (rc == 0 && record != NULL && fits_in_place(record, &value, when)) {
            continue;
        }
        if (rc == 0) {
            rc = store(arena, full, pairs[i].field, &value, when, planned, &slot->new_ref);
        }
        if (rc != 0) {
            return rc;
        }
        planned += torc_record_bytes(torc_arena_at(arena, slot->new_ref));
    }
    *out_new = n_new;
    return 0;
}

/* Newest record first, which is from the first slot on: so the segment forgets them all. */
static void undo(struct torc_arena *arena, struct torc_full *full, const struct put_slot *slots,
                 size_t n_pairs)
{
    for (size_t i = 0; i < n_pairs; ++i) {
        if (slots[i].old_ref != TORC_REF_NONE) {
            uint8_t *record = torc_arena_at(arena, slots[i].old_ref);
            record[0] &= (uint8_t)~TORC_RECORD_CLAIMED;
        }
        if (slots[i].new_ref != TORC_REF_NONE) {
            const uint8_t *record = torc_arena_at(arena, slots[i].new_ref);
            (void)torc_record_release(arena, stream_of(arena, full, record), slots[i].new_ref);
        }
    }
    if (full->stream.live == 0) {
        while (torc_stream_drop_step(arena, &full->stream)) {
        }
    }
    tend_due(arena, full);
}

/* Link record `ref` in place of `old_ref`. */
static void replace(struct torc_arena *arena, struct torc_full *full, uint64_t hash,
                    uint64_t old_ref, uint64_t ref)
{
    torc_table_replace(arena, &full->table, hash, old_ref, ref);
    count_in(full, torc_arena_at(arena, ref));
    release(arena, full, old_ref);
}

/* Write the i-th value over that of the record. */
static void rewrite(const struct put *put, size_t i, uint8_t *record)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    const struct torc_part value = value_of(put, i, room);
    torc_record_rewrite_value(record, &value);
}

/* Give a record that has a time another one. */
static TORC_COLD void change_time(struct torc_arena *arena, struct torc_full *full, uint64_t hash,
                                  uint8_t *record, uint64_t when)
{
    if (is_sooner(when, torc_record_field_expiry(record))) {
        torc_due_note(arena, &full->due, hash, when);
    }
    torc_record_set_expiry(record, when);
}

/* What a set came to. */
struct outcome {
    uint64_t n_inserted; /* entries more than before */
    uint64_t n_past;     /* and fields that were past and are there again */
};

static struct outcome apply(struct torc_arena *arena, struct torc_full *full, const struct put *put,
                            const struct put_slot *slots)
{
    struct outcome outcome = {0, 0};
    for (size_t i = 0; i < put->n_pairs; ++i) {
        uint64_t hash = slots[i].hash;
        uint64_t ref = slots[i].new_ref;
        uint64_t old_ref = slots[i].old_ref;
        uint64_t old_when = TORC_EXPIRY_NONE;
        if (old_ref != TORC_REF_NONE) {
            uint8_t *record = torc_arena_at(arena, old_ref);
            record[0] &= (uint8_t)~TORC_RECORD_CLAIMED;
            if (TORC_UNLIKELY(torc_record_expires(record))) {
                old_when = torc_record_field_expiry(record);
                outcome.n_past += torc_expiry_is_past(old_when, put->options->now);
            }
            if (ref == TORC_REF_NONE) {
                rewrite(put, i, record);
                if (TORC_UNLIKELY(old_when != TORC_EXPIRY_NONE)) {
                    change_time(arena, full, hash, record, time_of(put, i, old_when));
                }
                continue;
            }
        } else if (ref == TORC_REF_NONE) {
            continue;
        } else if (put->n_pairs > 1) {
            old_ref = torc_table_find(arena, &full->table, hash, put->pairs[i].field);
        }
        const uint8_t *record = torc_arena_at(arena, ref);
        uint64_t when = torc_record_field_expiry(record);
        if (TORC_UNLIKELY(is_sooner(when, old_when))) {
            torc_due_note(arena, &full->due, hash, when);
        }
        if (old_ref != TORC_REF_NONE) {
            replace(arena, full, hash, old_ref, ref);
        } else {
            torc_table_insert(arena, &full->table, hash, ref);
            count_in(full, record);
            ++outcome.n_inserted;
        }
    }
    return outcome;
}

static int64_t put_planned(struct torc_arena *arena, struct torc_full *full, const struct put *put,
                           struct put_slot *slots)
{
    uint64_t n_new = 0;
    int rc = plan(arena, full, put, slots, &n_new);
    if (rc == 0 && n_new != 0) {
        rc = torc_table_reserve(arena, &full->table, n_new);
    }
    if (rc != 0) {
        undo(arena, full, slots, put->n_pairs);
        return rc;
    }
    struct outcome outcome = apply(arena, full, put, slots);
    if (outcome.n_inserted < n_new) {
        /* Pairs named a new field twice: take the rest of the promise back. */
        rc = torc_table_reserve(arena, &full->table, 0);
        assert(rc == 0);
    }
    tend_due(arena, full);
    return (int64_t)(outcome.n_inserted + outcome.n_past);
}

int64_t torc_full_put(struct torc_arena *arena, uint64_t root, const struct torc_pair *pairs,
                      size_t n_pairs, const struct torc_full_put_options *options)
{
    struct torc_full *full = torc_full_at(arena, root);
    const struct put put = {.pairs = pairs, .n_pairs = n_pairs, .options = options};
    struct put_slot few[FEW_PAIRS];
    if (n_pairs <= FEW_PAIRS) {
        memset(few, 0, n_pairs * sizeof(*few));
        return put_planned(arena, full, &put, few);
    }
    if (n_pairs > TORC_ARENA_MAX_BYTES / sizeof(struct put_slot)) {
        return -ENOSPC;
    }
    uint64_t bytes = n_pairs * sizeof(struct put_slot);
    uint64_t n_pages = torc_align_up(bytes, TORC_PAGE_BYTES) / TORC_PAGE_BYTES;
    uint64_t scratch;
    int rc = torc_arena_run_alloc(arena, n_pages, TORC_USE_ROOT, &scratch);
    if (rc != 0) {
        return rc;
    }
    struct put_slot *slots = torc_arena_at(arena, scratch);
    memset(slots, 0, bytes);
    int64_t created = put_planned(arena, full, &put, slots);
    torc_arena_run_free(arena, scratch, n_pages, TORC_USE_ROOT);
    return created;
}

/* --- read, delete, walk --- */

/* What torc_full_find() leaves in the room of a value that is compressed. */
struct unread {
    const uint8_t *bytes;
    size_t len;
};
static_assert(sizeof(struct unread) <= TORC_CODEC_TEXT_MAX, "it fits the room of a value");

bool torc_full_is_past(const uint8_t *record, uint64_t now)
{
    return torc_expiry_is_past(torc_record_field_expiry(record), now);
}

void torc_full_leave_unread(struct torc_part value, struct torc_value *out_value)
{
    const struct unread unread = {.bytes = value.bytes.data, .len = value.bytes.len};
    memcpy(out_value->room, &unread, sizeof(unread));
    out_value->text = torc_slice_of(NULL, value.text_len);
}

void torc_full_expand(struct torc_press *press, struct torc_value *value)
{
    struct unread unread;
    memcpy(&unread, value->room, sizeof(unread));
    value->text = torc_press_expand(
        press, (struct torc_part){.form = TORC_FORM_COMPRESSED,
                                  .text_len = (uint32_t)value->text.len,
                                  .bytes = torc_slice_of(unread.bytes, unread.len)});
}

int torc_full_del(struct torc_arena *arena, uint64_t root, uint64_t hash, struct torc_slice field,
                  uint64_t now)
{
    struct torc_full *full = torc_full_at(arena, root);
    uint64_t ref = torc_table_find(arena, &full->table, hash, field);
    if (ref == TORC_REF_NONE) {
        return 0;
    }
    bool is_past = torc_expiry_is_past(torc_record_field_expiry(torc_arena_at(arena, ref)), now);
    torc_table_remove(arena, &full->table, hash, ref);
    release(arena, full, ref);
    tend_due(arena, full);
    return is_past ? 0 : 1;
}

uint64_t torc_full_count(const struct torc_arena *arena, uint64_t root)
{
    return torc_full_at(arena, root)->table.count;
}

/* The pair of a record; `room` takes its time, and a value that has to be decoded, the front of the
 * press one that has to be expanded. */
static void pair_at(const struct torc_arena *arena, uint64_t ref, struct torc_press *press,
                    struct torc_pair_room *room, struct torc_pair *out_pair)
{
    struct torc_part value;
    out_pair->field = torc_record_field_until(torc_arena_at(arena, ref), &value, &room->expiry);
    if (TORC_LIKELY(value.form != TORC_FORM_COMPRESSED)) {
        out_pair->value = torc_part_text(&value, room->value);
        return;
    }
    out_pair->value = torc_slice_of(NULL, value.text_len);
    if (press != NULL) {
        torc_press_forget(press);
        out_pair->value = torc_press_expand(press, value);
    }
}

struct pair_visit {
    const struct torc_arena *arena;
    struct torc_press *press;
    struct torc_pair_room *room;
    void (*visit)(void *arg, const struct torc_pair *pair);
    void *arg;
};

static void visit_pair(void *arg, uint64_t ref)
{
    const struct pair_visit *v = arg;
    struct torc_pair pair;
    pair_at(v->arena, ref, v->press, v->room, &pair);
    v->visit(v->arg, &pair);
}

uint64_t torc_full_scan(const struct torc_arena *arena, uint64_t root, uint64_t cursor,
                        uint64_t min_homes, struct torc_press *press, struct torc_pair_room *room,
                        void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    struct pair_visit v = {
        .arena = arena, .press = press, .room = room, .visit = visit, .arg = arg};
    return torc_table_scan(arena, &torc_full_at(arena, root)->table, cursor, min_homes, visit_pair,
                           &v);
}

bool torc_full_random(const struct torc_arena *arena, uint64_t root, uint64_t random_bits,
                      struct torc_press *press, struct torc_pair_room *room,
                      struct torc_pair *out_pair)
{
    uint64_t ref = torc_table_random(arena, &torc_full_at(arena, root)->table, random_bits);
    if (ref == TORC_REF_NONE) {
        return false;
    }
    pair_at(arena, ref, press, room, out_pair);
    return true;
}

uint64_t torc_full_bytes(const struct torc_arena *arena, uint64_t root)
{
    const struct torc_full *full = torc_full_at(arena, root);
    return (1u << TORC_FULL_ROOT_LOG2) + torc_table_bytes(&full->table) + full->record_bytes +
           full->extent_extra + full->stream.dead + full->due.bytes;
}

/* --- times: change, read, reap --- */

int torc_full_set_expiry(struct torc_arena *arena, uint64_t root, uint64_t hash,
                         struct torc_slice field, uint64_t now, uint64_t when)
{
    struct torc_full *full = torc_full_at(arena, root);
    uint64_t ref = torc_table_find(arena, &full->table, hash, field);
    if (ref == TORC_REF_NONE) {
        return -ENOENT;
    }
    uint8_t *record = torc_arena_at(arena, ref);
    struct torc_part value;
    uint64_t old_when;
    uint64_t new_ref = ref;
    const struct torc_slice name = torc_record_field_until(record, &value, &old_when);
    if (torc_expiry_is_past(old_when, now)) {
        return -ENOENT;
    }
    int rc = 0;
    if (is_sooner(when, old_when)) {
        rc = torc_due_reserve(arena, &full->due, hash, full->table.count);
    }
    if (rc == 0 && (when == TORC_EXPIRY_NONE) != (old_when == TORC_EXPIRY_NONE)) {
        rc = store(arena, full, name, &value, when, 0, &new_ref);
    }
    if (rc == 0) {
        if (is_sooner(when, old_when)) {
            torc_due_note(arena, &full->due, hash, when);
        }
        if (new_ref != ref) {
            replace(arena, full, hash, ref, new_ref);
        } else if (when != TORC_EXPIRY_NONE) {
            torc_record_set_expiry(record, when);
        }
    }
    tend_due(arena, full);
    return rc;
}

bool torc_full_expiry(const struct torc_arena *arena, uint64_t root, uint64_t hash,
                      struct torc_slice field, uint64_t now, uint64_t *out_when)
{
    uint64_t ref = torc_table_find(arena, &torc_full_at(arena, root)->table, hash, field);
    if (ref == TORC_REF_NONE) {
        return false;
    }
    uint64_t when = torc_record_field_expiry(torc_arena_at(arena, ref));
    if (torc_expiry_is_past(when, now)) {
        return false;
    }
    *out_when = when;
    return true;
}

/* A look at the entries of a cell. */
struct reap_visit {
    const struct torc_arena *arena;
    uint64_t now;
    uint64_t refs[REAP_REFS]; /* of past ones */
    unsigned n_refs;
    bool is_more; /* there are more past ones */
    unsigned n_seen;
    uint64_t bound; /* least time of the others */
};

static void look(void *arg, uint64_t ref)
{
    struct reap_visit *v = arg;
    uint64_t when = torc_record_field_expiry(torc_arena_at(v->arena, ref));
    ++v->n_seen;
    if (when == TORC_EXPIRY_NONE) {
        return;
    }
    if (!torc_expiry_is_past(when, v->now)) {
        v->bound = torc_min_u64(v->bound, when);
    } else if (v->n_refs < REAP_REFS) {
        v->refs[v->n_refs++] = ref;
    } else {
        v->is_more = true;
    }
}

/* Look at a cell that is due. Returns how many fields were removed. */
static unsigned reap_cell(struct torc_arena *arena, struct torc_full *full, uint64_t now,
                          const struct torc_due_cell *cell, unsigned *out_seen)
{
    struct reap_visit v = {.arena = arena, .now = now, .bound = TORC_EXPIRY_NEVER};
    torc_table_each_between(arena, &full->table, cell->first, cell->last, look, &v);
    bool is_part = v.n_refs > TORC_DUE_AT_ONCE;
    unsigned n_removed = 0;
    for (unsigned i = 0; i < v.n_refs; ++i) {
        if (is_part && !torc_due_takes(&full->due, v.refs[i])) {
            v.is_more = true;
            continue;
        }
        const uint8_t *record = torc_arena_at(arena, v.refs[i]);
        uint64_t hash = torc_hash_slice(torc_arena_seed(arena), torc_record_name(record));
        torc_table_remove(arena, &full->table, hash, v.refs[i]);
        release(arena, full, v.refs[i]);
        ++n_removed;
    }
    if (!v.is_more) {
        torc_due_set(arena, &full->due, cell, v.bound, full->table.count);
    }
    *out_seen = v.n_seen;
    return n_removed;
}

bool torc_full_reap(struct torc_arena *arena, uint64_t root, uint64_t now, unsigned *budget,
                    uint64_t *out_removed)
{
    struct torc_full *full = torc_full_at(arena, root);
    struct torc_due_cell cell;
    uint64_t removed = 0;
    while (*budget > 0 && full->n_expiring != 0 &&
           torc_due_next(arena, &full->due, now, full->table.count, &cell)) {
        unsigned n_seen;
        removed += reap_cell(arena, full, now, &cell, &n_seen);
        *budget -= (unsigned)torc_min_u64(*budget, 1 + n_seen);
    }
    tend_due(arena, full);
    *out_removed = removed;
    return torc_full_due(full) > now;
}

/* --- cleaning --- */

bool torc_full_wants_cleaning(const struct torc_full *full, uint64_t dead_min_bytes,
                              uint32_t dead_part)
{
    const struct torc_stream *stream = &full->stream;
    if (stream->open == TORC_REF_NONE) {
        return false;
    }
    return !torc_full_is_large(full) || (stream->dead >= dead_min_bytes &&
                                         stream->dead > (stream->live + stream->dead) / dead_part);
}

int torc_full_move(struct torc_arena *arena, uint64_t root, uint64_t ref)
{
    struct torc_full *full = torc_full_at(arena, root);
    const uint8_t *record = torc_arena_at(arena, ref);
    bool own = torc_record_type(record) == TORC_RECORD_FIELD;
    struct torc_part value;
    uint64_t when;
    const struct torc_slice field = torc_record_field_until(record, &value, &when);
    uint64_t target;
    int rc;
    uint64_t hash = torc_hash_slice(torc_arena_seed(arena), field);
    if (torc_table_find(arena, &full->table, hash, field) != ref) {
        return -ENOENT;
    }
    if (torc_full_is_large(full) == own) {
        rc = torc_record_move(arena, stream_of(arena, full, record), ref, torc_record_bytes(record),
                              &target);
    } else {
        rc = store(arena, full, field, &value, when, 0, &target);
        if (rc != 0 && !own) {
            /* At the limit it stays in the shared stream, where a move may pass the limit. */
            rc = torc_record_move(arena, torc_stream_shared(arena), ref, torc_record_bytes(record),
                                  &target);
        }
    }
    if (rc == 0) {
        replace(arena, full, hash, ref, target);
    }
    return rc;
}

/* --- dropping --- */

struct drop_visit {
    struct torc_arena *arena;
    struct torc_full *full;
    unsigned n_seen;
};

static void drop_record(void *arg, uint64_t ref)
{
    struct drop_visit *v = arg;
    ++v->n_seen;
    if (torc_record_type(torc_arena_at(v->arena, ref)) == TORC_RECORD_FIELD_OWNED) {
        release(v->arena, v->full, ref);
    }
}

/* Free the records that are in shared segments; those in its own go with the segments. Returns what
 * is left of the budget. */
static unsigned drop_shared(struct torc_arena *arena, struct torc_full *full, unsigned budget)
{
    while (budget > 0 && full->record_bytes > full->stream.live) {
        struct drop_visit v = {.arena = arena, .full = full};
        full->drop_cursor =
            torc_drain_line(arena, &full->table, full->drop_cursor, drop_record, &v);
        budget -= (unsigned)torc_min_u64(budget, 1 + v.n_seen);
    }
    return budget;
}

bool torc_full_drop_step(struct torc_arena *arena, uint64_t root, unsigned budget)
{
    struct torc_full *full = torc_full_at(arena, root);
    if (full->state == TORC_FULL_LIVE) {
        full->state = TORC_FULL_DROPPING;
        full->drop_cursor = 0; /* where clean_prev was */
        full->in_clean_list = 0;
    }
    if (full->state == TORC_FULL_DROPPING) {
        budget = drop_shared(arena, full, budget);
        if (full->record_bytes > full->stream.live) {
            return true;
        }
        full->state = TORC_FULL_TEARING;
    }
    bool more = true;
    while (budget > 0 && (more = torc_table_drop_step(arena, &full->table))) {
        --budget;
    }
    while (!more && budget > 0 && (more = torc_due_drop_step(arena, &full->due))) {
        --budget;
    }
    while (!more && budget > 0 && (more = torc_stream_drop_step(arena, &full->stream))) {
        --budget;
    }
    if (more || budget == 0) {
        return true;
    }
    torc_arena_block_free(arena, root, TORC_FULL_ROOT_LOG2, TORC_USE_ROOT);
    return false;
}

void torc_full_destroy(struct torc_arena *arena, uint64_t root)
{
    while (torc_full_drop_step(arena, root, DESTROY_UNITS)) {
    }
}
