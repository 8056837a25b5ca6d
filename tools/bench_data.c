/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench_data.h"

#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (S. Vigna). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* n names of one length, one behind the other; NULL: no memory. */
static char *make_names(const char *prefix, size_t n, size_t bytes, size_t *out_len)
{
    size_t prefix_len = strlen(prefix);
    char digits[32];
    size_t least = (size_t)snprintf(digits, sizeof digits, "%zu", n - 1);
    size_t width = bytes > prefix_len + least ? bytes - prefix_len : least;
    size_t len = prefix_len + width;
    char *names = malloc(n * len);
    for (size_t i = 0; names != NULL && i < n; i++) {
        char *at = names + i * len;
        memcpy(at, prefix, prefix_len);
        size_t number = i;
        for (size_t d = width; d > 0; d--) {
            at[prefix_len + d - 1] = (char)('0' + number % 10);
            number /= 10;
        }
    }
    *out_len = len;
    return names;
}

int torc_bench_data_init(struct torc_bench_data *data, const char *prefix, size_t n_keys,
                         size_t n_fields, size_t key_bytes, size_t field_bytes, size_t value_bytes,
                         uint64_t seed)
{
    struct torc_bench_data made = {
        .n_keys = n_keys,
        .n_fields = n_fields,
        .value_len = value_bytes,
        .state = seed,
    };
    made.keys = make_names(prefix, n_keys, key_bytes, &made.key_len);
    made.fields = make_names("f", n_fields, field_bytes, &made.field_len);
    made.values = calloc(n_keys * n_fields, value_bytes);
    if (made.keys == NULL || made.fields == NULL || made.values == NULL) {
        torc_bench_data_fini(&made);
        return -ENOMEM;
    }
    for (size_t cell = 0; cell < n_keys * n_fields; cell++) {
        torc_bench_data_update(&made, cell);
    }
    *data = made;
    return 0;
}

void torc_bench_data_fini(struct torc_bench_data *data)
{
    free(data->keys);
    free(data->fields);
    free(data->values);
    *data = (struct torc_bench_data){0};
}

size_t torc_bench_data_pick(struct torc_bench_data *data)
{
    return torc_mul_high(next_random(&data->state), data->n_keys * data->n_fields);
}

void torc_bench_data_update(struct torc_bench_data *data, size_t cell)
{
    char *value = data->values + cell * data->value_len;
    /* Bytes are zero at first, so the first letter is an a. */
    value[0] = (char)(value[0] >= 'a' && value[0] < 'z' ? value[0] + 1 : 'a');
    uint64_t bits = 0;
    for (size_t i = 1; i < data->value_len; i++) {
        if (i % 16 == 1) {
            bits = next_random(&data->state);
        }
        value[i] = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    }
}
