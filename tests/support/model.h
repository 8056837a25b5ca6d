/* SPDX-License-Identifier: Apache-2.0
 *
 * A naive keyspace of hashes, to compare the real one with: lists in the order of insertion,
 * searched from the front. Copies all that it keeps. Ends the test when memory runs out.
 */
#ifndef TORC_TESTS_SUPPORT_MODEL_H
#define TORC_TESTS_SUPPORT_MODEL_H

#include "core/slice.h"

struct torc_model;

struct torc_model *torc_model_create(void);
void torc_model_destroy(struct torc_model *model);

/* Set one field; true if it is new. Makes the key. */
bool torc_model_put(struct torc_model *model, struct torc_slice key, struct torc_slice field,
                    struct torc_slice value);
/* True: *out_value borrows the value until the field changes. */
bool torc_model_get(const struct torc_model *model, struct torc_slice key, struct torc_slice field,
                    struct torc_slice *out_value);
/* True if it was there; the key goes with its last field. */
bool torc_model_del(struct torc_model *model, struct torc_slice key, struct torc_slice field);
/* True if there was such a key. */
bool torc_model_drop(struct torc_model *model, struct torc_slice key);
void torc_model_flush(struct torc_model *model);

size_t torc_model_count(const struct torc_model *model);                      /* keys */
size_t torc_model_len(const struct torc_model *model, struct torc_slice key); /* fields */

/* The i-th key, and the i-th pair of a key, in order of insertion. i is in range. */
struct torc_slice torc_model_key_at(const struct torc_model *model, size_t i);
struct torc_slice torc_model_pair_at(const struct torc_model *model, struct torc_slice key,
                                     size_t i, struct torc_slice *out_value);

#endif
