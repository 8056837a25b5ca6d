/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tools/fake_road.h"

#include <check.h>
#include <stdlib.h>

struct text {
    char *bytes; /* terminated too, for the tests */
    size_t len;
};

struct entry {
    struct text key;
    struct text field;
    struct text value;
};

/* An answer that waits to be collected. */
struct answer {
    uint64_t request;
    struct torc_road_reply reply;
    struct text text;
    struct text *values; /* of an array; bytes NULL: absent */
};

struct fake_road {
    struct torc_road road;
    struct fake_faults faults;
    size_t window;
    struct entry *entries;
    size_t n_entries;
    struct answer answers[FAKE_WINDOW_MAX];
    size_t first;
    size_t n_answers;
    size_t most;
    struct answer last; /* what the caller borrows */
    uint64_t n_requests;
};

static struct fake_road *of(struct torc_road *road)
{
    return (struct fake_road *)road;
}

static struct text copy(struct torc_bytes bytes)
{
    struct text text = {.bytes = malloc(bytes.len + 1), .len = bytes.len};
    ck_assert_ptr_nonnull(text.bytes);
    if (bytes.len > 0) {
        memcpy(text.bytes, bytes.data, bytes.len);
    }
    text.bytes[bytes.len] = '\0';
    return text;
}

static bool same(struct text text, struct torc_bytes bytes)
{
    return text.len == bytes.len && memcmp(text.bytes, bytes.data, bytes.len) == 0;
}

static struct entry *find(const struct fake_road *fake, struct torc_bytes key,
                          struct torc_bytes field)
{
    for (size_t i = 0; i < fake->n_entries; i++) {
        if (same(fake->entries[i].key, key) && same(fake->entries[i].field, field)) {
            return &fake->entries[i];
        }
    }
    return NULL;
}

/* 1 when the field is new. */
static int64_t put(struct fake_road *fake, struct torc_bytes key, struct torc_bytes field,
                   struct torc_bytes value)
{
    struct entry *entry = find(fake, key, field);
    if (entry != NULL) {
        free(entry->value.bytes);
        entry->value = copy(value);
        return 0;
    }
    fake->entries = realloc(fake->entries, (fake->n_entries + 1) * sizeof *fake->entries);
    ck_assert_ptr_nonnull(fake->entries);
    fake->entries[fake->n_entries++] =
        (struct entry){.key = copy(key), .field = copy(field), .value = copy(value)};
    return 1;
}

static void free_entry(struct entry *entry)
{
    free(entry->key.bytes);
    free(entry->field.bytes);
    free(entry->value.bytes);
}

/* 1 when there was such a key. */
static int64_t remove_key(struct fake_road *fake, struct torc_bytes key)
{
    size_t kept = 0;
    for (size_t i = 0; i < fake->n_entries; i++) {
        if (same(fake->entries[i].key, key)) {
            free_entry(&fake->entries[i]);
        } else {
            fake->entries[kept++] = fake->entries[i];
        }
    }
    bool removed = kept < fake->n_entries;
    fake->n_entries = kept;
    return removed;
}

static int64_t key_exists(const struct fake_road *fake, struct torc_bytes key)
{
    for (size_t i = 0; i < fake->n_entries; i++) {
        if (same(fake->entries[i].key, key)) {
            return 1;
        }
    }
    return 0;
}

static struct answer answer_text(enum torc_road_kind kind, struct torc_bytes text)
{
    struct answer answer = {.reply = {.kind = kind}, .text = copy(text)};
    answer.reply.text = (struct torc_bytes){answer.text.bytes, answer.text.len};
    return answer;
}

static struct answer answer_integer(int64_t integer)
{
    return (struct answer){.reply = {.kind = TORC_ROAD_INTEGER, .integer = integer}};
}

static struct answer answer_values(const struct fake_road *fake,
                                   const struct torc_road_request *request)
{
    struct answer answer = {.reply = {.kind = TORC_ROAD_ARRAY, .count = request->n_words}};
    answer.values = calloc(request->n_words, sizeof *answer.values);
    ck_assert_ptr_nonnull(answer.values);
    for (size_t i = 0; i < request->n_words; i++) {
        const struct entry *entry = find(fake, request->key, request->words[i]);
        if (entry != NULL) {
            answer.values[i] = copy((struct torc_bytes){entry->value.bytes, entry->value.len});
        }
    }
    return answer;
}

static struct answer execute(struct fake_road *fake, const struct torc_road_request *request)
{
    const struct entry *entry = NULL;
    int64_t created = 0;
    switch (request->op) {
    case TORC_ROAD_PING:
        return answer_text(TORC_ROAD_STATUS, (struct torc_bytes){"PONG", 4});
    case TORC_ROAD_HGET:
        entry = find(fake, request->key, request->words[0]);
        if (entry == NULL) {
            return (struct answer){.reply = {.kind = TORC_ROAD_NIL}};
        }
        return answer_text(TORC_ROAD_STRING,
                           (struct torc_bytes){entry->value.bytes, entry->value.len});
    case TORC_ROAD_HSET:
        for (size_t i = 0; i < request->n_words; i += 2) {
            created += put(fake, request->key, request->words[i], request->words[i + 1]);
        }
        return answer_integer(created);
    case TORC_ROAD_HMGET:
        return answer_values(fake, request);
    case TORC_ROAD_DEL:
        return answer_integer(remove_key(fake, request->key));
    case TORC_ROAD_EXISTS:
        return answer_integer(key_exists(fake, request->key));
    }
    ck_abort_msg("unknown request");
    return answer_integer(0);
}

static void damage(struct answer *answer)
{
    switch (answer->reply.kind) {
    case TORC_ROAD_INTEGER:
        answer->reply.integer += 1000;
        break;
    case TORC_ROAD_ARRAY:
        if (answer->values[0].len > 0) {
            answer->values[0].bytes[0] = '!';
        }
        break;
    case TORC_ROAD_STRING:
        answer->text.bytes[0] = answer->text.bytes[0] == '!' ? '?' : '!';
        break;
    case TORC_ROAD_STATUS:
    case TORC_ROAD_NIL:
    case TORC_ROAD_ERROR:
        answer->reply.kind = TORC_ROAD_INTEGER;
        break;
    }
}

static void free_answer(struct answer *answer)
{
    for (size_t i = 0; answer->values != NULL && i < answer->reply.count; i++) {
        free(answer->values[i].bytes);
    }
    free(answer->values);
    free(answer->text.bytes);
    *answer = (struct answer){0};
}

static int fake_submit(struct torc_road *road, const struct torc_road_request *request)
{
    struct fake_road *fake = of(road);
    if (fake->n_answers == fake->window) {
        return -EAGAIN;
    }
    uint64_t number = ++fake->n_requests;
    if (number == fake->faults.too_big_at) {
        return -EMSGSIZE;
    }
    struct answer answer = {0};
    if (number == fake->faults.refuse_at) {
        answer = answer_text(TORC_ROAD_ERROR, (struct torc_bytes){"ERR told to", 11});
    } else {
        answer = execute(fake, request);
    }
    if (number == fake->faults.damage_at) {
        damage(&answer);
    }
    answer.request = number;
    fake->answers[(fake->first + fake->n_answers) % FAKE_WINDOW_MAX] = answer;
    fake->n_answers++;
    fake->most = fake->n_answers > fake->most ? fake->n_answers : fake->most;
    return 0;
}

static int fake_collect(struct torc_road *road, struct torc_road_reply *out_reply)
{
    struct fake_road *fake = of(road);
    if (fake->n_answers == 0) {
        return -ENOENT;
    }
    if (fake->answers[fake->first].request == fake->faults.break_at) {
        return -EPIPE;
    }
    free_answer(&fake->last);
    fake->last = fake->answers[fake->first];
    fake->first = (fake->first + 1) % FAKE_WINDOW_MAX;
    fake->n_answers--;
    *out_reply = fake->last.reply;
    return 0;
}

static int fake_call(struct torc_road *road, const struct torc_road_request *request,
                     struct torc_road_reply *out_reply)
{
    ck_assert_uint_eq(of(road)->n_answers, 0);
    int rc = fake_submit(road, request);
    return rc != 0 ? rc : fake_collect(road, out_reply);
}

static struct torc_bytes fake_at(const struct torc_road *road, size_t i)
{
    const struct fake_road *fake = (const struct fake_road *)road;
    ck_assert_uint_lt(i, fake->last.reply.count);
    return (struct torc_bytes){fake->last.values[i].bytes, fake->last.values[i].len};
}

static const char *fake_error(const struct torc_road *road)
{
    (void)road;
    return "the road is broken";
}

static void fake_close(struct torc_road *road)
{
    fake_road_destroy(of(road));
}

struct fake_road *fake_road_create(size_t window)
{
    static const struct torc_road_ops ops = {
        .submit = fake_submit,
        .collect = fake_collect,
        .call = fake_call,
        .at = fake_at,
        .error = fake_error,
        .close = fake_close,
    };
    ck_assert_uint_le(window, FAKE_WINDOW_MAX);
    struct fake_road *fake = calloc(1, sizeof *fake);
    ck_assert_ptr_nonnull(fake);
    fake->road = (struct torc_road){.ops = &ops, .name = "fake"};
    fake->window = window;
    return fake;
}

void fake_road_destroy(struct fake_road *fake)
{
    if (fake == NULL) {
        return;
    }
    while (fake->n_answers > 0) {
        free_answer(&fake->answers[fake->first]);
        fake->first = (fake->first + 1) % FAKE_WINDOW_MAX;
        fake->n_answers--;
    }
    free_answer(&fake->last);
    for (size_t i = 0; i < fake->n_entries; i++) {
        free_entry(&fake->entries[i]);
    }
    free(fake->entries);
    free(fake);
}

struct torc_road *fake_road_of(struct fake_road *fake)
{
    return &fake->road;
}

void fake_road_set_faults(struct fake_road *fake, struct fake_faults faults)
{
    fake->faults = faults;
}

static struct torc_bytes bytes_of(const char *text)
{
    return (struct torc_bytes){text, strlen(text)};
}

const char *fake_road_get(const struct fake_road *fake, const char *key, const char *field)
{
    const struct entry *entry = find(fake, bytes_of(key), bytes_of(field));
    return entry != NULL ? entry->value.bytes : NULL;
}

void fake_road_put(struct fake_road *fake, const char *key, const char *field, const char *value)
{
    (void)put(fake, bytes_of(key), bytes_of(field), bytes_of(value));
}

size_t fake_road_n_fields(const struct fake_road *fake)
{
    return fake->n_entries;
}

uint64_t fake_road_n_requests(const struct fake_road *fake)
{
    return fake->n_requests;
}

size_t fake_road_most_outstanding(const struct fake_road *fake)
{
    return fake->most;
}
