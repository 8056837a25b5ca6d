/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing, measuring and validating records. Format: docs/formats/record.md.
 */
#include "hash/record.h"

#include "hash/compact.h"
#include "hash/press.h"

/* Bits that mean something in a tag that is not short; the others must be zero. */
#define KNOWN_BITS                                                                                 \
    (TORC_RECORD_TYPE_MASK | TORC_RECORD_EXPIRES | TORC_RECORD_CLAIMED | TORC_RECORD_DEAD)

static uint8_t *put_bytes(uint8_t *p, struct torc_slice s)
{
    if (s.len != 0) {
        memcpy(p, s.data, s.len);
    }
    return p + s.len;
}

uint8_t *torc_record_write_key(uint8_t *record, enum torc_record_type type, uint64_t when,
                               struct torc_slice key)
{
    uint8_t *p = record;
    *p++ = (uint8_t)((unsigned)type | (when != TORC_EXPIRY_NONE ? TORC_RECORD_EXPIRES : 0));
    p += torc_record_len_put(p, (uint32_t)key.len);
    if (when != TORC_EXPIRY_NONE) {
        torc_expiry_store(p, when);
        p += TORC_RECORD_EXPIRY_BYTES;
    }
    return put_bytes(p, key);
}

/* Write a value's length, or its code point, at p; returns the bytes written. */
static size_t value_len_put(uint8_t *p, const struct torc_part *value)
{
    if (value->form == TORC_FORM_RAW) {
        return torc_record_len_put(p, (uint32_t)value->bytes.len);
    }
    p[0] = (uint8_t)(TORC_RECORD_CODE_FIRST + value->form);
    if (value->form != TORC_FORM_COMPRESSED) {
        return 1;
    }
    size_t size = 1 + torc_record_len_put(p + 1, (uint32_t)value->bytes.len);
    return size + torc_record_len_put(p + size, value->text_len);
}

size_t torc_record_compressed_len_get(const uint8_t *p, uint64_t *out_len, uint32_t *out_text_len)
{
    uint32_t len;
    size_t size = 1 + torc_record_len_get(p + 1, &len);
    *out_len = len;
    return size + torc_record_len_get(p + size, out_text_len);
}

void torc_record_write_field(uint8_t *record, uint64_t owner, uint64_t when,
                             struct torc_slice field, const struct torc_part *value)
{
    uint8_t *p = record + 1;
    if (owner == TORC_REF_NONE && when == TORC_EXPIRY_NONE && field.len <= TORC_RECORD_SHORT_MAX) {
        record[0] = (uint8_t)(TORC_RECORD_SHORT | field.len);
    } else {
        record[0] = TORC_RECORD_FIELD;
        if (owner != TORC_REF_NONE) {
            record[0] = TORC_RECORD_FIELD_OWNED;
            torc_store_u40(p, owner);
            p += TORC_RECORD_OWNER_BYTES;
        }
        if (when != TORC_EXPIRY_NONE) {
            record[0] |= TORC_RECORD_EXPIRES;
            torc_expiry_store(p, when);
            p += TORC_RECORD_EXPIRY_BYTES;
        }
        p += torc_record_len_put(p, (uint32_t)field.len);
    }
    p += value_len_put(p, value);
    put_bytes(put_bytes(p, field), value->bytes);
}

void torc_record_rewrite_value(uint8_t *record, const struct torc_part *value)
{
    struct torc_part old;
    struct torc_slice field = torc_record_field(record, &old);
    assert(old.bytes.len == value->bytes.len);
    assert(old.form != TORC_FORM_COMPRESSED && value->form != TORC_FORM_COMPRESSED);
    /* A length lies right before the field, a code point is one byte; where the forms are alike
     * this writes what is there. */
    uint8_t *name = record + (field.data - record);
    (void)value_len_put(name - torc_record_len_size(old.bytes.len), value);
    put_bytes(name + field.len, value->bytes);
}

void torc_record_set_expiry(uint8_t *record, uint64_t when)
{
    uint8_t *p = record + 1;
    assert(torc_record_expires(record) && when - 1 < TORC_EXPIRY_MAX);
    if (torc_record_type(record) == TORC_RECORD_FIELD_OWNED) {
        p += TORC_RECORD_OWNER_BYTES;
    } else if (torc_record_type(record) != TORC_RECORD_FIELD) {
        p += torc_record_len_span(p[0]); /* of the key */
    }
    torc_expiry_store(p, when);
}

uint64_t torc_record_bytes(const uint8_t *record)
{
    struct torc_slice name;
    struct torc_part value;
    const uint8_t *payload;
    uint32_t len;
    switch (torc_record_type(record)) {
    case TORC_RECORD_FILLER:
        return 1;
    case TORC_RECORD_HOLE:
        return torc_load_u32(record + 1);
    case TORC_RECORD_FIELD:
    case TORC_RECORD_FIELD_OWNED:
        (void)torc_record_field(record, &value);
        return (uint64_t)(value.bytes.data - record) + value.bytes.len;
    case TORC_RECORD_COMPACT:
        payload = torc_record_payload(record);
        return (uint64_t)(payload - record) + torc_compact_capacity(payload);
    case TORC_RECORD_STRING:
        payload = torc_record_payload(record);
        payload += torc_record_len_get(payload, &len);
        return (uint64_t)(payload - record) + len;
    case TORC_RECORD_FULL:
        break;
    }
    name = torc_record_name(record);
    return (uint64_t)(name.data - record) + name.len + TORC_RECORD_ROOT_BYTES;
}

void torc_record_write_hole(uint8_t *p, uint64_t bytes)
{
    if (bytes < TORC_RECORD_HOLE_BYTES) {
        memset(p, TORC_RECORD_FILLER, bytes);
        return;
    }
    assert(bytes <= UINT32_MAX);
    p[0] = TORC_RECORD_HOLE | TORC_RECORD_DEAD;
    torc_store_u32(p + 1, (uint32_t)bytes);
}

uint64_t torc_record_release(struct torc_arena *arena, struct torc_stream *stream, uint64_t ref)
{
    uint8_t *record = torc_arena_at(arena, ref);
    uint64_t bytes = torc_record_bytes(record);
    /* Before the segment hears of it, which may give the memory away. */
    record[0] |= TORC_RECORD_DEAD;
    torc_record_free(arena, stream, ref, bytes);
    return bytes;
}

/* Bytes not yet looked at. */
struct reader {
    const uint8_t *p;
    uint64_t left;
};

static bool reader_skip(struct reader *r, uint64_t bytes)
{
    if (bytes > r->left) {
        return false;
    }
    r->p += bytes;
    r->left -= bytes;
    return true;
}

static bool reader_slice(struct reader *r, uint64_t len, struct torc_slice *out_slice)
{
    const uint8_t *start = r->p;
    if (!reader_skip(r, len)) {
        return false;
    }
    *out_slice = torc_slice_of(start, len);
    return true;
}

/* A length in its shortest form and within what a part may have. */
static bool reader_len(struct reader *r, uint32_t *out_len)
{
    uint32_t len;
    if (r->left == 0 || r->p[0] > TORC_RECORD_LEN_WIDE) {
        return false;
    }
    size_t size = torc_record_len_span(r->p[0]);
    if (size > r->left) {
        return false;
    }
    (void)torc_record_len_get(r->p, &len);
    if (torc_record_len_size(len) != size || len > TORC_RECORD_PART_MAX) {
        return false;
    }
    *out_len = len;
    return reader_skip(r, size);
}

/* The same for a value, which may be encoded or compressed. */
static bool reader_value_len(struct reader *r, struct torc_record_view *view, uint32_t *out_len)
{
    if (r->left == 0 || r->p[0] < TORC_RECORD_CODE_FIRST) {
        return reader_len(r, out_len);
    }
    if (r->p[0] > TORC_RECORD_CODE_COMPRESSED) {
        return false;
    }
    view->form = (uint8_t)(r->p[0] - TORC_RECORD_CODE_FIRST);
    (void)reader_skip(r, 1);
    if (view->form == TORC_FORM_COMPRESSED) {
        return reader_len(r, out_len) && reader_len(r, &view->text_len) &&
               torc_press_is_worth(view->text_len, *out_len);
    }
    *out_len = (uint32_t)torc_codec_form_bytes(view->form);
    return true;
}

/* The time of a record whose tag says that it has one. */
static bool reader_expiry(struct reader *r, struct torc_record_view *view)
{
    struct torc_slice bytes;
    if (!reader_slice(r, TORC_RECORD_EXPIRY_BYTES, &bytes)) {
        return false;
    }
    view->expiry = torc_expiry_load(bytes.data);
    return view->expiry != TORC_EXPIRY_NONE && view->expiry <= TORC_EXPIRY_MAX;
}

static bool parse_short(struct reader *r, struct torc_record_view *view, uint32_t field_len)
{
    uint32_t value_len;
    return reader_value_len(r, view, &value_len) && reader_slice(r, field_len, &view->name) &&
           reader_slice(r, value_len, &view->payload);
}

static bool parse_field(struct reader *r, struct torc_record_view *view, bool expires)
{
    struct torc_slice owner;
    uint32_t field_len;
    uint32_t value_len;
    if (view->type == TORC_RECORD_FIELD_OWNED) {
        if (!reader_slice(r, TORC_RECORD_OWNER_BYTES, &owner)) {
            return false;
        }
        view->owner = torc_load_u40(owner.data);
    }
    /* What can be short is short: there is one way to write a record. */
    return (!expires || reader_expiry(r, view)) && reader_len(r, &field_len) &&
           (expires || view->type == TORC_RECORD_FIELD_OWNED ||
            field_len > TORC_RECORD_SHORT_MAX) &&
           reader_value_len(r, view, &value_len) && reader_slice(r, field_len, &view->name) &&
           reader_slice(r, value_len, &view->payload);
}

static bool parse_key(struct reader *r, struct torc_record_view *view, bool expires)
{
    uint32_t len;
    if (!reader_len(r, &len) || (expires && !reader_expiry(r, view)) ||
        !reader_slice(r, len, &view->name)) {
        return false;
    }
    if (view->type == TORC_RECORD_FULL) {
        return reader_slice(r, TORC_RECORD_ROOT_BYTES, &view->payload);
    }
    if (view->type == TORC_RECORD_STRING) {
        return reader_len(r, &len) && reader_slice(r, len, &view->payload);
    }
    if (r->left < torc_compact_empty_bytes()) {
        return false;
    }
    size_t capacity = torc_compact_capacity(r->p);
    return capacity >= torc_compact_empty_bytes() && reader_slice(r, capacity, &view->payload);
}

int torc_record_parse(const uint8_t *p, uint64_t avail, struct torc_record_view *out_view)
{
    struct reader r = {.p = p, .left = avail};
    struct torc_record_view view = {.form = TORC_FORM_RAW};
    bool is_short = torc_record_is_short(p);
    bool expires = torc_record_expires(p);
    bool good;
    if (!is_short &&
        ((p[0] & ~KNOWN_BITS) != 0 || (p[0] & TORC_RECORD_TYPE_MASK) > TORC_RECORD_HOLE)) {
        return -EBADMSG;
    }
    view.type = torc_record_type(p);
    view.dead = torc_record_is_dead(p);
    view.claimed = (p[0] & TORC_RECORD_CLAIMED) != 0;
    (void)reader_skip(&r, 1);
    if (is_short) {
        good = parse_short(&r, &view, p[0] & TORC_RECORD_SHORT_MAX);
    } else if (view.type == TORC_RECORD_FILLER) {
        good = p[0] == TORC_RECORD_FILLER;
    } else if (view.type == TORC_RECORD_HOLE) {
        good = p[0] == (TORC_RECORD_HOLE | TORC_RECORD_DEAD) && avail >= TORC_RECORD_HOLE_BYTES &&
               torc_load_u32(p + 1) >= TORC_RECORD_HOLE_BYTES &&
               reader_skip(&r, torc_load_u32(p + 1) - 1);
    } else if (view.type == TORC_RECORD_FIELD || view.type == TORC_RECORD_FIELD_OWNED) {
        good = parse_field(&r, &view, expires);
    } else {
        good = parse_key(&r, &view, expires);
    }
    if (!good) {
        return -EBADMSG;
    }
    view.bytes = (uint64_t)(r.p - p);
    *out_view = view;
    return 0;
}
