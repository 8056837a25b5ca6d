/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model.h"

#include <stdio.h>
#include <stdlib.h>

struct text {
    uint8_t *data;
    size_t len;
    uint64_t tag; /* of equal texts equal, of others mostly not: what a search looks at first */
};

struct field {
    struct text name;
    struct text value;
};

struct hash {
    struct text key;
    struct field *fields;
    size_t n_fields;
};

struct torc_model {
    struct hash *hashes;
    size_t n_hashes;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        perror("model");
        abort();
    }
    return memory;
}

/* Length and first bytes. */
static uint64_t tag_of(struct torc_slice s)
{
    uint64_t tag = 0;
    if (s.len != 0) {
        memcpy(&tag, s.data, s.len < sizeof(tag) ? s.len : sizeof(tag));
    }
    return tag ^ (uint64_t)s.len << 48;
}

static struct text text_of(struct torc_slice s)
{
    /* One byte more, so that an empty text has an address too. */
    struct text text = {.data = must(malloc(s.len + 1)), .len = s.len, .tag = tag_of(s)};
    if (s.len != 0) {
        memcpy(text.data, s.data, s.len);
    }
    return text;
}

static bool is(const struct text *text, struct torc_slice s)
{
    return torc_slice_equal(torc_slice_of(text->data, text->len), s);
}

static struct hash *find_hash(const struct torc_model *model, struct torc_slice key)
{
    uint64_t tag = tag_of(key);
    for (size_t i = 0; i < model->n_hashes; ++i) {
        if (model->hashes[i].key.tag == tag && is(&model->hashes[i].key, key)) {
            return &model->hashes[i];
        }
    }
    return NULL;
}

static struct field *find_field(const struct hash *hash, struct torc_slice name)
{
    uint64_t tag = tag_of(name);
    for (size_t i = 0; i < hash->n_fields; ++i) {
        if (hash->fields[i].name.tag == tag && is(&hash->fields[i].name, name)) {
            return &hash->fields[i];
        }
    }
    return NULL;
}

static void free_hash(struct hash *hash)
{
    for (size_t i = 0; i < hash->n_fields; ++i) {
        free(hash->fields[i].name.data);
        free(hash->fields[i].value.data);
    }
    free(hash->fields);
    free(hash->key.data);
}

struct torc_model *torc_model_create(void)
{
    return must(calloc(1, sizeof(struct torc_model)));
}

void torc_model_destroy(struct torc_model *model)
{
    if (model != NULL) {
        torc_model_flush(model);
        free(model);
    }
}

bool torc_model_put(struct torc_model *model, struct torc_slice key, struct torc_slice field,
                    struct torc_slice value)
{
    struct hash *hash = find_hash(model, key);
    if (hash == NULL) {
        model->hashes =
            must(realloc(model->hashes, (model->n_hashes + 1) * sizeof(*model->hashes)));
        hash = &model->hashes[model->n_hashes++];
        *hash = (struct hash){.key = text_of(key)};
    }
    struct field *old = find_field(hash, field);
    if (old != NULL) {
        free(old->value.data);
        old->value = text_of(value);
        return false;
    }
    hash->fields = must(realloc(hash->fields, (hash->n_fields + 1) * sizeof(*hash->fields)));
    hash->fields[hash->n_fields++] =
        (struct field){.name = text_of(field), .value = text_of(value)};
    return true;
}

bool torc_model_get(const struct torc_model *model, struct torc_slice key, struct torc_slice field,
                    struct torc_slice *out_value)
{
    const struct hash *hash = find_hash(model, key);
    const struct field *found = hash != NULL ? find_field(hash, field) : NULL;
    if (found == NULL) {
        return false;
    }
    *out_value = torc_slice_of(found->value.data, found->value.len);
    return true;
}

bool torc_model_del(struct torc_model *model, struct torc_slice key, struct torc_slice field)
{
    struct hash *hash = find_hash(model, key);
    struct field *found = hash != NULL ? find_field(hash, field) : NULL;
    if (found == NULL) {
        return false;
    }
    size_t i = (size_t)(found - hash->fields);
    free(found->name.data);
    free(found->value.data);
    memmove(found, found + 1, (hash->n_fields - i - 1) * sizeof(*found));
    if (--hash->n_fields == 0) {
        (void)torc_model_drop(model, key);
    }
    return true;
}

bool torc_model_drop(struct torc_model *model, struct torc_slice key)
{
    struct hash *hash = find_hash(model, key);
    if (hash == NULL) {
        return false;
    }
    size_t i = (size_t)(hash - model->hashes);
    free_hash(hash);
    memmove(hash, hash + 1, (model->n_hashes - i - 1) * sizeof(*hash));
    --model->n_hashes;
    return true;
}

void torc_model_flush(struct torc_model *model)
{
    for (size_t i = 0; i < model->n_hashes; ++i) {
        free_hash(&model->hashes[i]);
    }
    free(model->hashes);
    *model = (struct torc_model){0};
}

size_t torc_model_count(const struct torc_model *model)
{
    return model->n_hashes;
}

size_t torc_model_len(const struct torc_model *model, struct torc_slice key)
{
    const struct hash *hash = find_hash(model, key);
    return hash != NULL ? hash->n_fields : 0;
}

struct torc_slice torc_model_key_at(const struct torc_model *model, size_t i)
{
    return torc_slice_of(model->hashes[i].key.data, model->hashes[i].key.len);
}

struct torc_slice torc_model_pair_at(const struct torc_model *model, struct torc_slice key,
                                     size_t i, struct torc_slice *out_value)
{
    const struct field *field = &find_hash(model, key)->fields[i];
    *out_value = torc_slice_of(field->value.data, field->value.len);
    return torc_slice_of(field->name.data, field->name.len);
}
