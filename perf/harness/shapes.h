/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes: what the data of a measurement look like. A shape names hashes by number and fields by
 * number, and makes the bytes of keys, fields and values from the numbers, so that nothing has to
 * be kept and any reply can be checked.
 *
 *   name     key / field / value bytes     fields of a hash      hashes
 *   small5   14 / 5 / 16                   32                    500,000 / fields
 *   small14  14 / 14 / 16                  32                    500,000 / fields
 *   million  14 / 18 / 16                  1,000,000             1
 *   wide     8 / 2 to 4 / 4                123                   500
 *   feast    49 / 4 binary / 5 to 10       23 to 123, by hash    10,000
 *
 * All hashes of a shape name their fields alike: field 0, 1, 2 and so on. Fields from the number of
 * a hash's own fields up are absent after loading; they are what an insert puts in. Absent names
 * look like names of fields but are none for any number.
 *
 * Values certify themselves. Byte 0 is a letter from g to v and stands for four bits of the salt;
 * then come salt digits (four hex digits; one if the value is shorter than 8 bytes), then hex
 * digits mixed from hash number, field number, length and salt. So a value tells whether it belongs
 * here, whole and uncut, without knowing who wrote it last, while two writes with different salts
 * write different bytes. A value of w bytes carries
 *
 *   w       salt    digits that certify
 *   1       16      0
 *   2..7    256     w - 2
 *   8..     2^20    w - 5
 *
 * Threads: a shape is constant after torc_shape_init(); any number may use it.
 */
#ifndef TORC_PERF_SHAPES_H
#define TORC_PERF_SHAPES_H

#include "core/slice.h"

#define TORC_SHAPE_KEY_BYTES       49u /* the longest key */
#define TORC_SHAPE_FIELD_BYTES     18u /* the longest field */
#define TORC_SHAPE_VALUE_BYTES_MAX 1048576u
#define TORC_SHAPE_CELLS_MAX       1000000000ull /* fields of all hashes together */
#define TORC_SHAPE_ERROR_BYTES     160

enum torc_shape_kind {
    TORC_SHAPE_SMALL5,
    TORC_SHAPE_SMALL14,
    TORC_SHAPE_MILLION,
    TORC_SHAPE_WIDE,
    TORC_SHAPE_FEAST
};

struct torc_shape {
    enum torc_shape_kind kind;
    const char *name;      /* static */
    uint64_t hashes;       /* at least 1 */
    uint64_t cells;        /* fields of all hashes together */
    uint32_t fields;       /* of each hash; 0: 23 to 123, see torc_shape_fields() */
    uint32_t fields_least; /* of any hash */
    uint32_t fields_most;  /* of any hash */
    uint32_t field_names;  /* fields with a name: numbers are below this */
    uint32_t value_bytes;  /* 0: 5 to 10, see torc_shape_value_bytes() */
    uint32_t *first_cells; /* NULL if all hashes have as many; else the first cell of each */
};

/* A field of a hash. */
struct torc_shape_cell {
    uint64_t hash;  /* below `hashes` */
    uint32_t field; /* below `field_names` */
};

/* A shape by its name; 0 for fields, hashes and value_bytes means the shape's own.
 * -EINVAL with a text for a person in `error`: no such shape, or a number out of range; -ENOMEM
 * too. */
int torc_shape_init(struct torc_shape *out_shape, const char *name, uint64_t fields,
                    uint64_t hashes, uint64_t value_bytes,
                    char error[TORC_SHAPE_ERROR_BYTES]) TORC_MUST_USE;

void torc_shape_fini(struct torc_shape *shape);

/* Fields that loading gives to a hash. O(1). */
uint32_t torc_shape_fields(const struct torc_shape *shape, uint64_t hash) TORC_MUST_USE;

/* Cell n < cells of those that are loaded, hash after hash. O(1); O(log hashes) where hashes
 * differ. */
struct torc_shape_cell torc_shape_cell(const struct torc_shape *shape, uint64_t n) TORC_MUST_USE;

/* The bytes of a key or a field; the length is returned. `out` has TORC_SHAPE_KEY_BYTES or
 * TORC_SHAPE_FIELD_BYTES bytes. A few ns. */
size_t torc_shape_key(const struct torc_shape *shape, uint64_t hash, uint8_t *out) TORC_MUST_USE;
size_t torc_shape_field(const struct torc_shape *shape, uint32_t field, uint8_t *out) TORC_MUST_USE;

/* A name as long as that of `field` that no field has, one of many, picked by `random`. */
size_t torc_shape_absent(const struct torc_shape *shape, uint32_t field, uint64_t random,
                         uint8_t *out) TORC_MUST_USE;

/* The number of the field of this name. -ENOENT: no field is called so. */
int torc_shape_find_field(const struct torc_shape *shape, struct torc_slice name,
                          uint32_t *out_field) TORC_MUST_USE;

/* Length of a value as loaded, at most TORC_SHAPE_VALUE_BYTES_MAX. */
uint32_t torc_shape_value_bytes(const struct torc_shape *shape,
                                struct torc_shape_cell cell) TORC_MUST_USE;

/* Make the value of a cell: exactly `bytes`, 1 or more. About 10 ns for 16 bytes. */
void torc_shape_value(struct torc_shape_cell cell, uint64_t salt, uint32_t bytes, uint8_t *out);

/* Whether a value belongs to the cell, whatever its salt and length. Cost as of making it. */
bool torc_shape_value_is_of(struct torc_shape_cell cell, struct torc_slice value) TORC_MUST_USE;

/* Whether a value that torc_shape_value_is_of() took was made with this salt, as far as it has room
 * to tell. */
bool torc_shape_value_has_salt(struct torc_slice value, uint64_t salt) TORC_MUST_USE;

#endif
