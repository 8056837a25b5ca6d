/* SPDX-License-Identifier: Apache-2.0
 *
 * Random requests and replies are encoded and read back; every shorter or longer message is
 * refused; a message with changed bytes is refused or gives slices inside it, whether it changes
 * before or after it is read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ring/message.h"
#include "tests/support/prng.h"

#define MAX_STRINGS 40u
#define POOL_BYTES  ((size_t)80 * 1024)

static uint64_t seed;
static uint64_t step;

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail(__LINE__, #condition);                                                            \
        }                                                                                          \
    } while (0)

static void fail(int line, const char *condition)
{
    (void)fprintf(stderr, "TORC_SEED=%llu step %llu line %d: %s\n", (unsigned long long)seed,
                  (unsigned long long)step, line, condition);
    exit(EXIT_FAILURE);
}

static uint8_t pool[POOL_BYTES]; /* where strings are cut from */

/* Mostly short; at times around the limits of a width. */
static size_t random_len(struct torc_prng *prng)
{
    switch (torc_prng_below(prng, 40)) {
    case 0:
        return 254 + torc_prng_below(prng, 4);
    case 1:
        return 300 + torc_prng_below(prng, 3000);
    case 2:
        return torc_prng_below(prng, 20) == 0 ? 65534 + torc_prng_below(prng, 4) : 0;
    default:
        return torc_prng_below(prng, 40);
    }
}

static struct torc_slice random_slice(struct torc_prng *prng)
{
    size_t len = random_len(prng);
    return torc_slice_of(pool + torc_prng_below(prng, POOL_BYTES - len), len);
}

/* An exact-size heap copy of the first `len` bytes: one byte too far is seen by the address
 * sanitizer. */
static uint8_t *copy_of(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len + (len == 0));
    REQUIRE(copy != NULL);
    memcpy(copy, data, len);
    return copy;
}

/* Cut points to try: all of a short message, some of a long one. */
static size_t next_cut(struct torc_prng *prng, size_t cut, size_t len)
{
    return len <= 300 ? cut + 1 : cut + 1 + torc_prng_below(prng, len / 20);
}

static bool is_inside(struct torc_slice part, const uint8_t *data, size_t len)
{
    return part.data >= data && part.data <= data + len &&
           part.len <= len - (size_t)(part.data - data);
}

/* --- requests --- */

static void check_changed_request(struct torc_prng *prng, uint8_t *data, size_t len)
{
    for (unsigned n = 1 + (unsigned)torc_prng_below(prng, 3); n > 0; n--) {
        data[torc_prng_below(prng, len)] = (uint8_t)torc_prng_next(prng);
    }
    struct torc_slice strings[MAX_STRINGS];
    struct torc_request request;
    int rc = torc_request_decode(data, len, strings, MAX_STRINGS, &request);
    REQUIRE(rc == 0 || rc == -EBADMSG || rc == -ENOENT || rc == -EMSGSIZE);
    if (rc == 0) {
        for (uint32_t i = 0; i < request.n_strings; i++) {
            REQUIRE(is_inside(strings[i], data, len));
        }
    } else if (rc == -EMSGSIZE) {
        REQUIRE(request.n_strings > MAX_STRINGS && request.n_strings <= len);
    }
}

static void check_request(struct torc_prng *prng)
{
    uint8_t op = (uint8_t)torc_prng_below(prng, TORC_OP_LIMIT);
    const struct torc_op_info *info = torc_op_info(op);
    uint32_t n = info->n_fixed;
    if (info->group != 0) {
        n += info->group * (uint32_t)torc_prng_below(prng, 12);
    }
    struct torc_slice strings[MAX_STRINGS];
    for (uint32_t i = 0; i < n; i++) {
        strings[i] = random_slice(prng);
    }
    uint64_t numbers[TORC_MESSAGE_NUMBERS] = {torc_prng_next(prng), torc_prng_next(prng)};
    uint32_t tag = (uint32_t)torc_prng_next(prng);

    size_t size = torc_request_size(op, strings, n);
    REQUIRE((size == 0) == (info->shape == NULL));
    if (size == 0) {
        return;
    }
    uint8_t *data = malloc(size);
    REQUIRE(data != NULL);
    REQUIRE(torc_request_encode_within(data, size - 1, op, tag, numbers, strings, n) == size);
    REQUIRE(torc_request_encode_within(data, size, op, tag, numbers, strings, n) == size);
    uint8_t *same = malloc(size);
    REQUIRE(same != NULL);
    REQUIRE(torc_request_encode(same, op, tag, numbers, strings, n) == size);
    REQUIRE(memcmp(same, data, size) == 0);
    free(same);

    struct torc_slice decoded[MAX_STRINGS];
    struct torc_request request;
    REQUIRE(torc_request_decode(data, size, decoded, MAX_STRINGS, &request) == 0);
    REQUIRE(request.op == op && request.tag == tag && request.n_strings == n);
    for (unsigned i = 0; i < TORC_MESSAGE_NUMBERS; i++) {
        REQUIRE(request.numbers[i] == (i < info->n_numbers ? numbers[i] : 0));
    }
    for (uint32_t i = 0; i < n; i++) {
        REQUIRE(torc_slice_equal(request.strings[i], strings[i]));
        REQUIRE(is_inside(request.strings[i], data, size));
    }
    if (n > 0) {
        REQUIRE(torc_request_decode(data, size, decoded, n - 1, &request) == -EMSGSIZE);
        REQUIRE(request.n_strings == n);
    }

    for (size_t cut = 0; cut < size; cut = next_cut(prng, cut, size)) {
        uint8_t *part = copy_of(data, cut);
        REQUIRE(torc_request_decode(part, cut, decoded, MAX_STRINGS, &request) == -EBADMSG);
        free(part);
    }
    uint8_t *longer = malloc(size + 1);
    REQUIRE(longer != NULL);
    memcpy(longer, data, size);
    longer[size] = (uint8_t)torc_prng_next(prng);
    REQUIRE(torc_request_decode(longer, size + 1, decoded, MAX_STRINGS, &request) == -EBADMSG);
    free(longer);

    check_changed_request(prng, data, size);
    free(data);
}

/* --- replies --- */

struct model {
    enum torc_reply_kind kind;
    uint8_t op;
    uint32_t tag;
    enum torc_wire_status status;
    uint64_t number, id;
    struct torc_slice bytes;
    char text[64];
    uint32_t n;
    struct torc_slice items[MAX_STRINGS];
};

static void make_model(struct torc_prng *prng, struct model *model)
{
    *model = (struct model){
        .kind = (enum torc_reply_kind)torc_prng_below(prng, TORC_REPLY_PART + 1),
        .op = (uint8_t)torc_prng_next(prng),
        .tag = (uint32_t)torc_prng_next(prng),
        .number = torc_prng_next(prng),
        .id = torc_prng_next(prng),
        .bytes = random_slice(prng),
    };
    if (model->kind == TORC_REPLY_ERROR) {
        model->status = (enum torc_wire_status)(1 + torc_prng_below(prng, 13));
        for (size_t i = 0, n = torc_prng_below(prng, sizeof model->text); i < n; i++) {
            model->text[i] = (char)('a' + torc_prng_below(prng, 26));
        }
        model->bytes = torc_slice_str(model->text);
    } else if (model->kind == TORC_REPLY_LONG) {
        model->number |= 1ull << 40; /* the total is above any part */
    } else if (model->kind == TORC_REPLY_ARRAY || model->kind == TORC_REPLY_CURSOR ||
               model->kind == TORC_REPLY_PAIRS) {
        model->n = (uint32_t)torc_prng_below(prng, MAX_STRINGS / 2) *
                   (model->kind == TORC_REPLY_PAIRS ? 2 : 1);
        for (uint32_t i = 0; i < model->n; i++) {
            model->items[i] =
                torc_prng_below(prng, 5) == 0 ? torc_slice_of(NULL, 0) : random_slice(prng);
        }
    }
}

static void build(struct torc_reply_writer *w, void *data, size_t cap, const struct model *model)
{
    torc_reply_begin(w, data, cap, model->op, model->tag);
    switch (model->kind) {
    case TORC_REPLY_OK:
        torc_reply_ok(w);
        break;
    case TORC_REPLY_ERROR:
        torc_reply_error(w, model->status, model->text);
        break;
    case TORC_REPLY_INT:
        torc_reply_int(w, (int64_t)model->number);
        break;
    case TORC_REPLY_BYTES:
        torc_reply_bytes(w, model->bytes);
        break;
    case TORC_REPLY_NULL:
        torc_reply_null(w);
        break;
    case TORC_REPLY_TEXT:
        torc_reply_text(w, model->bytes);
        break;
    case TORC_REPLY_LONG:
        torc_reply_long(w, model->number, model->id, model->bytes);
        break;
    case TORC_REPLY_PART:
        torc_reply_part(w, model->number, model->bytes);
        break;
    case TORC_REPLY_ARRAY:
    case TORC_REPLY_PAIRS:
    case TORC_REPLY_CURSOR:
        torc_reply_array_begin(w, model->kind, model->number, model->n);
        for (uint32_t i = 0; i < model->n; i++) {
            torc_reply_item(w, model->items[i]);
        }
        break;
    }
}

static void compare(const struct torc_reply *reply, const struct model *model)
{
    REQUIRE(reply->kind == model->kind && reply->op == model->op && reply->tag == model->tag &&
            reply->status == model->status && reply->count == model->n);
    switch (model->kind) {
    case TORC_REPLY_OK:
    case TORC_REPLY_NULL:
        break;
    case TORC_REPLY_INT:
        REQUIRE(reply->integer == (int64_t)model->number);
        break;
    case TORC_REPLY_ERROR:
    case TORC_REPLY_BYTES:
    case TORC_REPLY_TEXT:
        REQUIRE(torc_slice_equal(reply->bytes, model->bytes));
        break;
    case TORC_REPLY_LONG:
        REQUIRE(reply->id == model->id);
        REQUIRE(reply->cursor == model->number && torc_slice_equal(reply->bytes, model->bytes));
        break;
    case TORC_REPLY_PART:
        REQUIRE(reply->cursor == model->number && torc_slice_equal(reply->bytes, model->bytes));
        break;
    case TORC_REPLY_CURSOR:
        REQUIRE(reply->cursor == model->number);
        break;
    case TORC_REPLY_ARRAY:
    case TORC_REPLY_PAIRS:
        break;
    }
    for (uint32_t i = 0; i < model->n; i++) {
        struct torc_slice item = torc_reply_at(reply, i);
        REQUIRE((item.data == NULL) == (model->items[i].data == NULL));
        REQUIRE(torc_slice_equal(item, model->items[i]));
    }
}

static void check_inside(const struct torc_reply *reply, const uint8_t *data, size_t len)
{
    for (uint32_t i = 0; i < reply->count; i++) {
        struct torc_slice item = torc_reply_at(reply, i);
        REQUIRE(item.data == NULL || is_inside(item, data, len));
    }
    REQUIRE(reply->bytes.data == NULL || is_inside(reply->bytes, data, len));
}

static void check_changed_reply(struct torc_prng *prng, uint8_t *data, size_t len)
{
    for (unsigned n = 1 + (unsigned)torc_prng_below(prng, 3); n > 0; n--) {
        data[torc_prng_below(prng, len)] = (uint8_t)torc_prng_next(prng);
    }
    struct torc_reply reply;
    int rc = torc_reply_decode(data, len, &reply);
    if (rc == 0) {
        check_inside(&reply, data, len);
    }
    static uint32_t ends[POOL_BYTES];
    int shared_rc = torc_reply_decode_shared(data, len, ends, POOL_BYTES, &reply);
    REQUIRE(shared_rc == rc);
    if (rc == 0) {
        /* The peer scribbles over the message that was found good. */
        for (size_t i = 0; i < len && i < 400; i++) {
            data[i] = (uint8_t)torc_prng_next(prng);
        }
        check_inside(&reply, data, len);
    }
}

static void check_reply(struct torc_prng *prng)
{
    struct model model;
    make_model(prng, &model);
    struct torc_reply_writer w;
    build(&w, NULL, 0, &model);
    REQUIRE(w.overflow);
    size_t need = w.need;
    uint8_t *data = malloc(need);
    REQUIRE(data != NULL);

    /* Without quite enough room nothing beyond it is touched, and the need is the same. */
    size_t cap = torc_prng_below(prng, need);
    uint8_t *small = malloc(cap + (cap == 0));
    REQUIRE(small != NULL);
    build(&w, small, cap, &model);
    REQUIRE(w.overflow && w.need == need);
    free(small);

    build(&w, data, need, &model);
    REQUIRE(torc_reply_is_complete(&w) && w.len == need);
    struct torc_reply reply;
    REQUIRE(torc_reply_decode(data, need, &reply) == 0);
    compare(&reply, &model);

    uint32_t ends[MAX_STRINGS];
    REQUIRE(torc_reply_decode_shared(data, need, ends, MAX_STRINGS, &reply) == 0);
    compare(&reply, &model);
    if (model.n > 0) {
        REQUIRE(torc_reply_decode_shared(data, need, ends, model.n - 1, &reply) == -EMSGSIZE);
        REQUIRE(reply.count == model.n);
    }

    /* The last bytes of a PART are as long as the message is: a shorter one is another. */
    size_t least = model.kind == TORC_REPLY_PART ? TORC_MESSAGE_HEAD_BYTES + 8 : need;
    for (size_t cut = 0; cut < least; cut = next_cut(prng, cut, least)) {
        uint8_t *part = copy_of(data, cut);
        REQUIRE(torc_reply_decode(part, cut, &reply) == -EBADMSG);
        REQUIRE(torc_reply_decode_shared(part, cut, ends, MAX_STRINGS, &reply) == -EBADMSG);
        free(part);
    }
    check_changed_reply(prng, data, need);
    free(data);
}

int main(void)
{
    seed = torc_test_seed(20240917);
    struct torc_prng prng = {seed};
    for (size_t i = 0; i < POOL_BYTES; i++) {
        pool[i] = (uint8_t)torc_prng_next(&prng);
    }
    uint64_t n = torc_test_ops(20000);
    for (step = 0; step < n; step++) {
        check_request(&prng);
        check_reply(&prng);
    }
    return EXIT_SUCCESS;
}
