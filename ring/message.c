/* SPDX-License-Identifier: Apache-2.0
 *
 * Encoding is on the path of every request: sizes are summed in one pass, bytes are copied in a
 * second, and short copies are done in line. Format: docs/formats/message.md.
 */
#include "ring/message.h"

#include "ring/exchange.h"

#define STRING8(len) (1u + (len)) /* a byte string with a length of one byte */
static_assert(TORC_MESSAGE_HEAD_BYTES + STRING8(20) + STRING8(16) <= TORC_SLOT_MESSAGE,
              "HGET of a 20-byte key and a 16-byte field fits a slot");
static_assert(TORC_MESSAGE_HEAD_BYTES + STRING8(14) + STRING8(14) + STRING8(16) <=
                  TORC_SLOT_MESSAGE,
              "HSET of one pair, 14-byte key and field and a 16-byte value, fits a slot");
static_assert(TORC_MESSAGE_HEAD_BYTES + STRING8(40) <= TORC_SLOT_MESSAGE,
              "the reply with a 40-byte value fits a slot");

#define KIND_SHIFT     4
#define REPLY_RESERVED 0x0cu /* bits of a reply's flags that must be 0 */

#define SHORT_MAX 64u /* bytes of a string that is copied in line */

/* Copy at most SHORT_MAX bytes that do not overlap. Keys and fields are a few words long: moves
 * that may cover the same bytes are cheaper than the call of memcpy, and a function without a call
 * has nothing to save. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len > 32) {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    } else if (len >= 16) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else if (len >= 8) {
        torc_store_u64(to, torc_load_u64(from));
        torc_store_u64(to + len - 8, torc_load_u64(from + len - 8));
    } else if (len >= 4) {
        torc_store_u32(to, torc_load_u32(from));
        torc_store_u32(to + len - 4, torc_load_u32(from + len - 4));
    } else if (len > 0) {
        to[0] = from[0];
        to[len / 2] = from[len / 2];
        to[len - 1] = from[len - 1];
    }
}

static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len <= SHORT_MAX) {
        copy_short(to, from, len);
    } else {
        memcpy(to, from, len);
    }
}

/* --- lengths: 1, 2 or 4 bytes --- */

/* Width code for lengths whose bitwise or is `all`. */
static inline unsigned width_for(uint64_t all)
{
    return all <= UINT8_MAX ? 0 : all <= UINT16_MAX ? 1 : 2;
}

static inline void store_len(uint8_t *to, unsigned width, uint32_t len)
{
    if (width == 0) {
        to[0] = (uint8_t)len;
    } else if (width == 1) {
        torc_store_u16(to, (uint16_t)len);
    } else {
        torc_store_u32(to, len);
    }
}

static inline uint32_t load_len(const uint8_t *from, unsigned width)
{
    return width == 0 ? from[0] : width == 1 ? torc_load_u16(from) : torc_load_u32(from);
}

/* --- requests --- */

struct request_plan {
    size_t size; /* 0: cannot be encoded */
    unsigned width;
    uint32_t repeats;
    bool count_is_sent;
};

/* The common form: no numbers, as many strings as the op says, all of them short. 0: not of that
 * form, or longer than `cap`; else its size, and it is encoded. */
static inline size_t encode_plain(uint8_t *out, size_t cap, const struct torc_op_info *info,
                                  uint8_t op, uint32_t tag, const struct torc_slice *strings,
                                  uint32_t n_strings)
{
    if (n_strings != info->plain_strings || n_strings == 0) {
        return 0;
    }
    size_t all = 0;
    size_t size = TORC_MESSAGE_HEAD_BYTES + n_strings;
    for (uint32_t i = 0; i < n_strings; i++) {
        all |= strings[i].len;
        size += strings[i].len;
    }
    /* The or of lengths is at least the longest. */
    if (all >= SHORT_MAX || size > cap) {
        return 0;
    }
    torc_store_u64(out, op | (uint64_t)info->plain_flags << 8 | (uint64_t)tag << 32);
    uint8_t *to = out + TORC_MESSAGE_HEAD_BYTES;
    for (uint32_t i = 0; i < n_strings; i++) {
        size_t len = strings[i].len;
        to[0] = (uint8_t)len;
        copy_short(to + 1, strings[i].data, len);
        to += STRING8(len);
    }
    return size;
}

static inline struct request_plan plan_request(const struct torc_op_info *info,
                                               const struct torc_slice *strings, uint32_t n_strings)
{
    struct request_plan plan = {0};
    if (info->shape == NULL || n_strings < info->n_fixed) {
        return plan;
    }
    uint32_t n_repeated = n_strings - info->n_fixed;
    if (info->group == 0) {
        if (n_repeated != 0) {
            return plan;
        }
    } else {
        /* A group is one or two strings: no division. */
        plan.repeats = n_repeated >> (info->group - 1u);
        if (plan.repeats << (info->group - 1u) != n_repeated) {
            return plan;
        }
        plan.count_is_sent = plan.repeats != 1;
    }
    /* Each length is below 2^32 or refused, and so is their number: the sum does not wrap. */
    uint64_t all = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n_strings; i++) {
        all |= strings[i].len;
        sum += strings[i].len;
    }
    plan.width = width_for(all);
    uint64_t size = TORC_MESSAGE_HEAD_BYTES + (size_t)8 * info->n_numbers +
                    (plan.count_is_sent ? 4u : 0u) + ((uint64_t)n_strings << plan.width);
    if (all <= TORC_MESSAGE_MAX_BYTES && sum <= TORC_MESSAGE_MAX_BYTES &&
        size <= TORC_MESSAGE_MAX_BYTES - sum) {
        plan.size = size + sum;
    }
    return plan;
}

size_t torc_request_size(uint8_t op, const struct torc_slice *strings, uint32_t n_strings)
{
    return plan_request(torc_op_info(op), strings, n_strings).size;
}

/* torc_request_encode_within() of any request. */
static __attribute__((noinline)) size_t encode_any(uint8_t *out, size_t cap, uint8_t op,
                                                   uint32_t tag, const uint64_t *numbers,
                                                   const struct torc_slice *strings,
                                                   uint32_t n_strings)
{
    const struct torc_op_info *info = torc_op_info(op);
    struct request_plan plan = plan_request(info, strings, n_strings);
    if (plan.size == 0 || plan.size > cap) {
        return plan.size;
    }
    bool one = info->group != 0 && !plan.count_is_sent;
    out[0] = op;
    out[1] = (uint8_t)(plan.width | (one ? TORC_MESSAGE_ONE : 0));
    torc_store_u16(out + 2, TORC_WIRE_OK);
    torc_store_u32(out + 4, tag);
    uint8_t *to = out + TORC_MESSAGE_HEAD_BYTES;
    for (unsigned i = 0; i < info->n_numbers; i++, to += 8) {
        torc_store_u64(to, numbers[i]);
    }
    if (plan.count_is_sent) {
        torc_store_u32(to, plan.repeats);
        to += 4;
    }
    size_t len_bytes = (size_t)1 << plan.width;
    for (uint32_t i = 0; i < n_strings; i++) {
        store_len(to, plan.width, (uint32_t)strings[i].len);
        to += len_bytes;
        copy_bytes(to, strings[i].data, strings[i].len);
        to += strings[i].len;
    }
    assert((size_t)(to - out) == plan.size);
    return plan.size;
}

size_t torc_request_encode_within(uint8_t *out, size_t cap, uint8_t op, uint32_t tag,
                                  const uint64_t *numbers, const struct torc_slice *strings,
                                  uint32_t n_strings)
{
    size_t size = encode_plain(out, cap, torc_op_info(op), op, tag, strings, n_strings);
    return TORC_LIKELY(size != 0) ? size
                                  : encode_any(out, cap, op, tag, numbers, strings, n_strings);
}

size_t torc_request_encode(uint8_t *out, uint8_t op, uint32_t tag, const uint64_t *numbers,
                           const struct torc_slice *strings, uint32_t n_strings)
{
    return torc_request_encode_within(out, SIZE_MAX, op, tag, numbers, strings, n_strings);
}

/* Cut `left` bytes at `at` into exactly n strings. False if they do not come out even. */
static inline bool cut_strings(const uint8_t *at, size_t left, unsigned width,
                               struct torc_slice *strings, uint32_t n)
{
    size_t len_bytes = (size_t)1 << width;
    for (uint32_t i = 0; i < n; i++) {
        if (left < len_bytes) {
            return false;
        }
        uint32_t len = load_len(at, width);
        at += len_bytes;
        left -= len_bytes;
        if (left < len) {
            return false;
        }
        strings[i] = torc_slice_of(at, len);
        at += len;
        left -= len;
    }
    return left == 0;
}

/* The same for lengths of one byte, in half the steps: a length that is too long shows in the next
 * one, or at the end, and then nobody uses the slices. */
static inline bool cut_short_strings(const uint8_t *at, size_t left, struct torc_slice *strings,
                                     uint32_t n)
{
    size_t offset = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (offset >= left) {
            return false;
        }
        size_t len = at[offset++];
        strings[i] = torc_slice_of(at + offset, len);
        offset += len;
    }
    return offset == left;
}

/* Any request; the common form has been tried. */
__attribute__((noinline)) static int decode_any(const uint8_t *data, size_t len,
                                                struct torc_slice *strings, uint32_t cap,
                                                struct torc_request *out_request)
{
    if (len < TORC_MESSAGE_HEAD_BYTES) {
        *out_request = (struct torc_request){0};
        return -EBADMSG;
    }
    *out_request = (struct torc_request){
        .op = data[0], .flags = data[1], .tag = torc_load_u32(data + 4), .strings = strings};
    const struct torc_op_info *info = torc_op_info(out_request->op);
    if (info->shape == NULL) {
        return -ENOENT;
    }
    unsigned width = out_request->flags & TORC_MESSAGE_WIDTH_MASK;
    bool one = (out_request->flags & TORC_MESSAGE_ONE) != 0;
    if ((out_request->flags & ~(TORC_MESSAGE_WIDTH_MASK | TORC_MESSAGE_ONE)) != 0 || width > 2 ||
        (one && info->group == 0) || torc_load_u16(data + 2) != TORC_WIRE_OK) {
        return -EBADMSG;
    }
    const uint8_t *at = data + TORC_MESSAGE_HEAD_BYTES;
    size_t left = len - TORC_MESSAGE_HEAD_BYTES;
    if (left < (size_t)8 * info->n_numbers) {
        return -EBADMSG;
    }
    for (unsigned i = 0; i < info->n_numbers; i++, at += 8, left -= 8) {
        out_request->numbers[i] = torc_load_u64(at);
    }
    uint64_t n_strings = info->n_fixed;
    if (one) {
        n_strings += info->group;
    } else if (info->group != 0) {
        if (left < 4) {
            return -EBADMSG;
        }
        n_strings += (uint64_t)torc_load_u32(at) * info->group;
        at += 4;
        left -= 4;
    }
    /* Each string takes its length at least, so a false count cannot ask for more room than the
     * message has bytes. */
    if (n_strings > left >> width || n_strings > UINT32_MAX) {
        return -EBADMSG;
    }
    out_request->n_strings = (uint32_t)n_strings;
    if (n_strings > cap) {
        return -EMSGSIZE;
    }
    return cut_strings(at, left, width, strings, out_request->n_strings) ? 0 : -EBADMSG;
}

int torc_request_decode(const uint8_t *data, size_t len, struct torc_slice *strings, uint32_t cap,
                        struct torc_request *out_request)
{
    if (TORC_LIKELY(len >= TORC_MESSAGE_HEAD_BYTES)) {
        const struct torc_op_info *info = torc_op_info(data[0]);
        uint32_t n = info->plain_strings;
        /* Flags and status in one look; an n of 0 wraps around to more than any cap. */
        if (TORC_LIKELY(torc_load_u32(data) >> 8 == info->plain_flags && n - 1 < cap)) {
            *out_request = (struct torc_request){.op = data[0],
                                                 .flags = data[1],
                                                 .tag = torc_load_u32(data + 4),
                                                 .n_strings = n,
                                                 .strings = strings};
            bool is_sound = cut_short_strings(data + TORC_MESSAGE_HEAD_BYTES,
                                              len - TORC_MESSAGE_HEAD_BYTES, strings, n);
            return TORC_LIKELY(is_sound) ? 0 : -EBADMSG;
        }
    }
    return decode_any(data, len, strings, cap, out_request);
}

/* --- building replies --- */

/* No message can hold this reply: `need` stays SIZE_MAX. */
static void give_up(struct torc_reply_writer *w)
{
    w->overflow = true;
    w->need = SIZE_MAX;
}

/* The next `len` bytes to write, or NULL when they do not fit or something before did not. */
static inline uint8_t *claim(struct torc_reply_writer *w, size_t len)
{
    if (len > TORC_MESSAGE_MAX_BYTES || w->need > TORC_MESSAGE_MAX_BYTES - len) {
        give_up(w);
        return NULL;
    }
    w->need += len;
    if (w->overflow || len > w->cap - w->len) {
        w->overflow = true;
        return NULL;
    }
    uint8_t *at = w->data + w->len;
    w->len += len;
    return at;
}

void torc_reply_begin(struct torc_reply_writer *w, void *data, size_t cap, uint8_t op, uint32_t tag)
{
    /* Not the places of an array: torc_reply_array_begin() sets them. */
    w->data = data;
    w->cap = cap;
    w->len = TORC_MESSAGE_HEAD_BYTES;
    w->need = TORC_MESSAGE_HEAD_BYTES;
    w->n_items = 0;
    w->item = 0;
    w->overflow = false;
    if (TORC_UNLIKELY(cap < TORC_MESSAGE_HEAD_BYTES)) {
        w->len = 0;
        w->overflow = true;
        return;
    }
    torc_store_u64(w->data, op | (uint64_t)tag << 32);
}

static inline void set_kind(struct torc_reply_writer *w, enum torc_reply_kind kind, unsigned width,
                            enum torc_wire_status status)
{
    assert(w->need == TORC_MESSAGE_HEAD_BYTES && "one reply per begin");
    if (!w->overflow) {
        w->data[1] = (uint8_t)((unsigned)kind << KIND_SHIFT | width);
        torc_store_u16(w->data + 2, (uint16_t)status);
    }
}

/* A byte string of any length. */
static __attribute__((noinline)) void put_any_string(struct torc_reply_writer *w,
                                                     enum torc_reply_kind kind,
                                                     enum torc_wire_status status,
                                                     struct torc_slice bytes)
{
    unsigned width = width_for(bytes.len);
    size_t len_bytes = (size_t)1 << width;
    set_kind(w, kind, width, status);
    uint8_t *at = claim(w, len_bytes + bytes.len);
    if (at != NULL) {
        store_len(at, width, (uint32_t)bytes.len);
        copy_bytes(at + len_bytes, bytes.data, bytes.len);
    }
}

static inline void put_string(struct torc_reply_writer *w, enum torc_reply_kind kind,
                              enum torc_wire_status status, struct torc_slice bytes)
{
    /* Nearly always it is short and there is room. */
    if (TORC_LIKELY(bytes.len <= SHORT_MAX && !w->overflow && bytes.len < w->cap - w->len)) {
        set_kind(w, kind, 0, status);
        uint8_t *to = w->data + TORC_MESSAGE_HEAD_BYTES;
        to[0] = (uint8_t)bytes.len;
        copy_short(to + 1, bytes.data, bytes.len);
        w->len = w->need = TORC_MESSAGE_HEAD_BYTES + STRING8(bytes.len);
        return;
    }
    put_any_string(w, kind, status, bytes);
}

void torc_reply_ok(struct torc_reply_writer *w)
{
    set_kind(w, TORC_REPLY_OK, 0, TORC_WIRE_OK);
}

void torc_reply_error(struct torc_reply_writer *w, enum torc_wire_status status, const char *text)
{
    assert(status != TORC_WIRE_OK);
    put_string(w, TORC_REPLY_ERROR, status, torc_slice_str(text != NULL ? text : ""));
}

void torc_reply_int(struct torc_reply_writer *w, int64_t value)
{
    set_kind(w, TORC_REPLY_INT, 0, TORC_WIRE_OK);
    uint8_t *at = claim(w, 8);
    if (at != NULL) {
        torc_store_u64(at, (uint64_t)value);
    }
}

void torc_reply_bytes(struct torc_reply_writer *w, struct torc_slice bytes)
{
    put_string(w, TORC_REPLY_BYTES, TORC_WIRE_OK, bytes);
}

size_t torc_reply_bytes_size(size_t len)
{
    return TORC_MESSAGE_HEAD_BYTES + ((size_t)1 << width_for(len)) + len;
}

void torc_reply_null(struct torc_reply_writer *w)
{
    set_kind(w, TORC_REPLY_NULL, 0, TORC_WIRE_OK);
}

void torc_reply_text(struct torc_reply_writer *w, struct torc_slice text)
{
    put_string(w, TORC_REPLY_TEXT, TORC_WIRE_OK, text);
}

void torc_reply_array_begin(struct torc_reply_writer *w, enum torc_reply_kind kind, uint64_t cursor,
                            uint32_t n)
{
    assert(kind == TORC_REPLY_ARRAY || kind == TORC_REPLY_PAIRS || kind == TORC_REPLY_CURSOR);
    assert(kind != TORC_REPLY_PAIRS || n % 2 == 0);
    set_kind(w, kind, 0, TORC_WIRE_OK);
    if (kind == TORC_REPLY_CURSOR) {
        uint8_t *at = claim(w, 8);
        if (at != NULL) {
            torc_store_u64(at, cursor);
        }
    }
    uint8_t *count = claim(w, 4);
    if (count != NULL) {
        torc_store_u32(count, n);
    }
    w->ends_at = w->need;
    w->n_items = n;
    (void)claim(w, (size_t)n * 4);
    w->bytes_at = w->need;
}

void torc_reply_item(struct torc_reply_writer *w, struct torc_slice item)
{
    assert(w->item < w->n_items);
    size_t len = item.data != NULL ? item.len : 0;
    size_t before = w->need - w->bytes_at; /* huge after give_up() */
    if (before >= TORC_MESSAGE_NULL_END || len >= TORC_MESSAGE_NULL_END - before) {
        give_up(w);
    }
    uint8_t *at = claim(w, len);
    if (at != NULL) {
        copy_bytes(at, item.data, len);
        uint32_t end = (uint32_t)(before + len) | (item.data == NULL ? TORC_MESSAGE_NULL_END : 0);
        torc_store_u32(w->data + w->ends_at + (size_t)w->item * 4, end);
    }
    w->item++;
}

void torc_reply_long(struct torc_reply_writer *w, uint64_t total, uint64_t id,
                     struct torc_slice part)
{
    assert(part.len <= total);
    set_kind(w, TORC_REPLY_LONG, 0, TORC_WIRE_OK);
    uint8_t *at = claim(w, 20 + part.len);
    if (at != NULL) {
        torc_store_u64(at, total);
        torc_store_u64(at + 8, id);
        torc_store_u32(at + 16, (uint32_t)part.len);
        copy_bytes(at + 20, part.data, part.len);
    }
}

void torc_reply_part(struct torc_reply_writer *w, uint64_t offset, struct torc_slice part)
{
    set_kind(w, TORC_REPLY_PART, 0, TORC_WIRE_OK);
    uint8_t *at = claim(w, 8 + part.len);
    if (at != NULL) {
        torc_store_u64(at, offset);
        copy_bytes(at + 8, part.data, part.len);
    }
}

/* --- reading replies --- */

/* The longest fixed part: head, and that of LONG. */
#define PREFIX_BYTES (TORC_MESSAGE_HEAD_BYTES + 20u)

/* A message being read. `prefix` has its first bytes, up to PREFIX_BYTES, in private memory. */
struct reading {
    const uint8_t *prefix;
    const uint8_t *data;
    size_t len;
    bool is_shared; /* copy the end table to `ends` */
    uint32_t *ends;
    uint32_t cap;
};

static int decode_string(const struct reading *in, unsigned width, struct torc_slice *out_bytes)
{
    size_t at = TORC_MESSAGE_HEAD_BYTES + ((size_t)1 << width);
    if (in->len < at || load_len(in->prefix + TORC_MESSAGE_HEAD_BYTES, width) != in->len - at) {
        return -EBADMSG;
    }
    *out_bytes = torc_slice_of(in->data + at, in->len - at);
    return 0;
}

/* Ends never fall, nulls have no bytes, and the last one is where the message ends. */
static bool ends_are_valid(const uint8_t *ends, uint32_t count, size_t n_bytes)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = torc_load_u32(ends + (size_t)i * 4);
        uint32_t end = word & ~TORC_MESSAGE_NULL_END;
        if (end < before || (word != end && end != before)) {
            return false;
        }
        before = end;
    }
    return before == n_bytes;
}

/* An array whose count is at `at`. */
static int decode_array(const struct reading *in, size_t at, struct torc_reply *reply)
{
    if (in->len < at + 4) {
        return -EBADMSG;
    }
    reply->count = torc_load_u32(in->prefix + at);
    at += 4;
    size_t left = in->len - at;
    if (reply->count > left / 4 || (reply->kind == TORC_REPLY_PAIRS && reply->count % 2 != 0)) {
        return -EBADMSG;
    }
    size_t table_bytes = (size_t)reply->count * 4;
    reply->ends = in->data + at;
    reply->items = in->data + at + table_bytes;
    if (in->is_shared && reply->count > 0) {
        if (reply->count > in->cap) {
            return -EMSGSIZE;
        }
        /* The copy is what is checked and used: nothing is loaded again from the message. */
        torc_copy_once(in->ends, reply->ends, table_bytes);
        reply->ends = (const uint8_t *)in->ends;
    }
    return ends_are_valid(reply->ends, reply->count, left - table_bytes) ? 0 : -EBADMSG;
}

/* What follows the head, by kind. */
static int decode_body(const struct reading *in, unsigned width, struct torc_reply *reply)
{
    const uint8_t *fixed = in->prefix + TORC_MESSAGE_HEAD_BYTES;
    size_t left = in->len - TORC_MESSAGE_HEAD_BYTES;
    const uint8_t *rest = in->data + TORC_MESSAGE_HEAD_BYTES;
    switch (reply->kind) {
    case TORC_REPLY_OK:
    case TORC_REPLY_NULL:
        return left == 0 ? 0 : -EBADMSG;
    case TORC_REPLY_ERROR:
    case TORC_REPLY_BYTES:
    case TORC_REPLY_TEXT:
        return decode_string(in, width, &reply->bytes);
    case TORC_REPLY_INT:
        if (left != 8) {
            return -EBADMSG;
        }
        reply->integer = (int64_t)torc_load_u64(fixed);
        return 0;
    case TORC_REPLY_ARRAY:
    case TORC_REPLY_PAIRS:
        return decode_array(in, TORC_MESSAGE_HEAD_BYTES, reply);
    case TORC_REPLY_CURSOR:
        if (left < 8) {
            return -EBADMSG;
        }
        reply->cursor = torc_load_u64(fixed);
        return decode_array(in, TORC_MESSAGE_HEAD_BYTES + 8, reply);
    case TORC_REPLY_LONG:
        if (left < 20 || torc_load_u32(fixed + 16) != left - 20) {
            return -EBADMSG;
        }
        reply->cursor = torc_load_u64(fixed);
        reply->id = torc_load_u64(fixed + 8);
        reply->bytes = torc_slice_of(rest + 20, left - 20);
        return reply->bytes.len <= reply->cursor ? 0 : -EBADMSG;
    case TORC_REPLY_PART:
        if (left < 8) {
            return -EBADMSG;
        }
        reply->cursor = torc_load_u64(fixed);
        reply->bytes = torc_slice_of(rest + 8, left - 8);
        return 0;
    }
    return -EBADMSG;
}

static bool kind_has_width(enum torc_reply_kind kind)
{
    return kind == TORC_REPLY_ERROR || kind == TORC_REPLY_BYTES || kind == TORC_REPLY_TEXT;
}

/* Untouched on failure, but for the count at -EMSGSIZE. */
static int decode_reply(const struct reading *in, struct torc_reply *out_reply)
{
    uint8_t flags = in->prefix[1];
    unsigned width = flags & TORC_MESSAGE_WIDTH_MASK;
    struct torc_reply reply = {
        .kind = (enum torc_reply_kind)(flags >> KIND_SHIFT),
        .op = in->prefix[0],
        .status = (enum torc_wire_status)torc_load_u16(in->prefix + 2),
        .tag = torc_load_u32(in->prefix + 4),
    };
    if ((flags & REPLY_RESERVED) != 0 || width > 2 || (width != 0 && !kind_has_width(reply.kind)) ||
        (reply.status != TORC_WIRE_OK) != (reply.kind == TORC_REPLY_ERROR)) {
        return -EBADMSG;
    }
    int rc = decode_body(in, width, &reply);
    if (rc == 0) {
        *out_reply = reply;
    } else if (rc == -EMSGSIZE) {
        out_reply->count = reply.count;
    }
    return rc;
}

int torc_reply_decode(const uint8_t *data, size_t len, struct torc_reply *out_reply)
{
    if (len < TORC_MESSAGE_HEAD_BYTES) {
        return -EBADMSG;
    }
    /* The common one: a short byte string. Flags and status in one look. */
    size_t at = TORC_MESSAGE_HEAD_BYTES + STRING8(0);
    if (TORC_LIKELY(torc_load_u32(data) >> 8 == TORC_REPLY_BYTES << KIND_SHIFT && len >= at &&
                    data[TORC_MESSAGE_HEAD_BYTES] == len - at)) {
        *out_reply = (struct torc_reply){.kind = TORC_REPLY_BYTES,
                                         .op = data[0],
                                         .tag = torc_load_u32(data + 4),
                                         .bytes = torc_slice_of(data + at, len - at)};
        return 0;
    }
    struct reading in = {.prefix = data, .data = data, .len = len};
    return decode_reply(&in, out_reply);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): `ends` is written through `in`. */
int torc_reply_decode_shared(const uint8_t *data, size_t len, uint32_t *ends, uint32_t cap,
                             struct torc_reply *out_reply)
{
    if (len < TORC_MESSAGE_HEAD_BYTES) {
        return -EBADMSG;
    }
    uint8_t prefix[PREFIX_BYTES];
    torc_copy_once(prefix, data, torc_min_u64(len, sizeof prefix));
    struct reading in = {
        .prefix = prefix, .data = data, .len = len, .is_shared = true, .ends = ends, .cap = cap};
    return decode_reply(&in, out_reply);
}

struct torc_slice torc_reply_at(const struct torc_reply *reply, uint32_t i)
{
    assert(i < reply->count);
    const uint8_t *word = reply->ends + (size_t)i * 4;
    uint32_t end = torc_load_u32(word);
    if ((end & TORC_MESSAGE_NULL_END) != 0) {
        return torc_slice_of(NULL, 0);
    }
    uint32_t start = i > 0 ? torc_load_u32(word - 4) & ~TORC_MESSAGE_NULL_END : 0;
    return torc_slice_of(reply->items + start, end - start);
}
