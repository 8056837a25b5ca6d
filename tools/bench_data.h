/* SPDX-License-Identifier: Apache-2.0
 *
 * The hashes a benchmark works on: their names, and what each field holds now. Values are a letter
 * and hexadecimal digits; each update changes at least the letter.
 */
#ifndef TORC_TOOLS_BENCH_DATA_H
#define TORC_TOOLS_BENCH_DATA_H

#include "core/base.h"
#include "torc/torc.h"

struct torc_bench_data {
    size_t n_keys;
    size_t n_fields;
    size_t key_len; /* all names of a kind have one length */
    size_t field_len;
    size_t value_len;
    char *keys;
    char *fields;
    char *values; /* by key, then field */
    uint64_t state;
};

/* Names are `prefix` and a number, padded with zeros to `key_bytes` and `field_bytes`. -ENOMEM. */
int torc_bench_data_init(struct torc_bench_data *data, const char *prefix, size_t n_keys,
                         size_t n_fields, size_t key_bytes, size_t field_bytes, size_t value_bytes,
                         uint64_t seed) TORC_MUST_USE;
/* Fine on zeroed storage. */
void torc_bench_data_fini(struct torc_bench_data *data);

/* A random cell: 0 .. n_keys * n_fields - 1. A few ns. */
size_t torc_bench_data_pick(struct torc_bench_data *data);

/* Give the cell another value. */
void torc_bench_data_update(struct torc_bench_data *data, size_t cell);

static inline struct torc_bytes torc_bench_data_key(const struct torc_bench_data *data, size_t key)
{
    return (struct torc_bytes){data->keys + key * data->key_len, data->key_len};
}
static inline struct torc_bytes torc_bench_data_field(const struct torc_bench_data *data,
                                                      size_t field)
{
    return (struct torc_bytes){data->fields + field * data->field_len, data->field_len};
}
static inline struct torc_bytes torc_bench_data_value(const struct torc_bench_data *data,
                                                      size_t cell)
{
    return (struct torc_bytes){data->values + cell * data->value_len, data->value_len};
}

#endif
