/* SPDX-License-Identifier: Apache-2.0
 *
 * The way back from a full hash to a compact one, for hashes that have become small. It is gone in
 * idle times only, so that no command pays for it, and only by hashes far below what makes a
 * compact hash full, so that none goes to and fro.
 */
#include "hash/full.h"
#include "hash/keyspace_private.h"

/* At most so many fields, whose records take at most so many bytes: the work of one step. */
#define DEMOTE_FIELDS_MAX 64u
#define DEMOTE_BYTES_MAX  4096u

/* The fields of one hash. */
struct content {
    struct torc_compact_plan plan;
    const struct torc_keyspace *keyspace;
    struct torc_pair_room room; /* of the pair that is shown */
    struct torc_pair pairs[DEMOTE_FIELDS_MAX];
    uint64_t whens[DEMOTE_FIELDS_MAX]; /* their times */
    size_t n;
    size_t longest;
    uint8_t *text; /* copies of the parts, to DEMOTE_TEXT_BYTES */
    size_t text_bytes;
};
/* A decoded value is longer than its record: 36 bytes at most for 16, and 20 for 2. What was
 * compressed may be longer than this: such a hash stays as it is. */
#define DEMOTE_TEXT_BYTES ((size_t)DEMOTE_FIELDS_MAX * TORC_CODEC_TEXT_MAX + DEMOTE_BYTES_MAX)

static struct torc_slice keep(struct content *content, struct torc_slice text)
{
    uint8_t *copy = content->text + content->text_bytes;
    assert(content->text_bytes + text.len <= DEMOTE_TEXT_BYTES);
    if (text.len != 0) {
        memcpy(copy, text.data, text.len);
    }
    content->text_bytes += text.len;
    return torc_slice_of(copy, text.len);
}

static void add_pair(void *arg, const struct torc_pair *pair)
{
    struct content *content = arg;
    uint64_t when = content->room.expiry;
    if (torc_expiry_is_past(when, content->keyspace->now)) {
        return;
    }
    content->plan.n_expiring += when != TORC_EXPIRY_NONE;
    content->whens[content->n] = when;
    struct torc_pair *mine = &content->pairs[content->n++];
    mine->field = keep(content, pair->field);
    mine->value = keep(content, pair->value);
    content->longest =
        torc_max_u64(content->longest, torc_max_u64(pair->field.len, pair->value.len));
    torc_compact_plan_add(&content->plan, mine->field, mine->value);
}

static void add_lens(void *arg, const struct torc_pair *pair)
{
    *(size_t *)arg += pair->field.len + pair->value.len;
}

/* Call `visit` for every pair, past or not; see torc_full_scan(). */
static void visit_all(const struct torc_keyspace *keyspace, uint64_t root, struct torc_press *press,
                      struct torc_pair_room *room,
                      void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    uint64_t cursor = 0;
    do {
        cursor = torc_full_scan(keyspace->arena, root, cursor, UINT64_MAX, press, room, visit, arg);
    } while (cursor != 0);
}

bool torc_hash_is_small(const struct torc_keyspace *keyspace, uint64_t root)
{
    const struct torc_full *full = torc_full_at(keyspace->arena, root);
    return full->table.count <= DEMOTE_FIELDS_MAX &&
           full->table.count <= keyspace->limits->compact_max_entries / 2 &&
           full->record_bytes + full->extent_extra <= DEMOTE_BYTES_MAX;
}

bool torc_hash_demote(struct torc_keyspace *keyspace, uint64_t ref)
{
    struct torc_arena *arena = keyspace->arena;
    struct torc_stream *shared = torc_stream_shared(arena);
    const uint8_t *record = torc_arena_at(arena, ref);
    uint64_t root = torc_record_root(record);
    uint8_t text[DEMOTE_TEXT_BYTES];
    struct content content = {.plan = {.verbatim = keyspace->limits->disable_encoding},
                              .keyspace = keyspace,
                              .text = text};
    size_t text_bytes = 0;
    uint64_t new_ref;
    if (!torc_hash_is_small(keyspace, root)) {
        return false;
    }
    visit_all(keyspace, root, NULL, &content.room, add_lens, &text_bytes);
    if (text_bytes > DEMOTE_TEXT_BYTES) {
        return false;
    }
    visit_all(keyspace, root, keyspace->press, &content.room, add_pair, &content);

    const struct torc_key key = torc_keyspace_key(keyspace, torc_record_name(record));
    const uint64_t when = torc_record_key_expiry(record);
    const size_t head = torc_record_key_head_bytes(key.name.len, when != TORC_EXPIRY_NONE);
    const size_t capacity = torc_compact_plan_need(&content.plan);
    if (content.n == 0 || content.longest > keyspace->limits->compact_max_value ||
        torc_record_is_extent(head + capacity) || capacity > torc_full_bytes(arena, root) ||
        torc_record_alloc(arena, shared, head + capacity, &new_ref) != 0) {
        return false;
    }
    uint8_t *block =
        torc_record_write_key(torc_arena_at(arena, new_ref), TORC_RECORD_COMPACT, when, key.name);
    torc_compact_init_planned(block, capacity, &content.plan);
    for (size_t i = 0; i < content.n; i++) {
        struct torc_slice field = content.pairs[i].field;
        int rc =
            torc_compact_put_expiring(block, keyspace->seed, torc_hash_slice(keyspace->seed, field),
                                      field, content.pairs[i].value, content.whens[i]);
        assert(rc == 1);
        (void)rc;
    }
    keyspace->expired_in_passing += torc_full_count(arena, root) - content.n;
    torc_keyspace_supersede(keyspace, &key, ref, new_ref);
    return true;
}
