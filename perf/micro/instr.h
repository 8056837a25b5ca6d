/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations whose instructions perf/instr counts under callgrind: fixed inputs, one operation at a
 * time, everything around it outside the count.
 */
#ifndef TORC_PERF_MICRO_INSTR_H
#define TORC_PERF_MICRO_INSTR_H

#include "core/slice.h"

struct torc_instr_case {
    const char *name;
    uint64_t n;        /* operations that are counted */
    uint64_t warm;     /* operations before them, with numbers 0 .. warm - 1 */
    uint64_t requests; /* of one operation; the count is per request */
    /* Make what the operations work on. Not counted; ends the program when it cannot. */
    void *(*open)(const struct torc_instr_case *self);
    void (*prepare)(void *state, uint64_t i);  /* before operation i; not counted; may be NULL */
    void (*run)(void *state, uint64_t i);      /* counted */
    bool (*is_right)(void *state, uint64_t i); /* what operation i did; not counted */
    void (*close)(void *state);
};

/* Bytes of keys, fields and values of the small shape (small14-32). */
#define TORC_INSTR_KEY_BYTES   14u
#define TORC_INSTR_FIELD_BYTES 14u
#define TORC_INSTR_VALUE_BYTES 16u
#define TORC_INSTR_FIELDS      32u

/* The tables end with a case without a name. */
extern const struct torc_instr_case torc_instr_hash_cases[]; /* operations of the hash layer */
extern const struct torc_instr_case
    torc_instr_server_cases[]; /* one request through ring or RESP */

/* A hash key of the small shape, and the texts of its fields: the i-th field, a field that is
 * absent, the i-th value of generation `salt`. All are torc_bench_text() with numbers kept apart.
 */
struct torc_slice torc_instr_key(uint8_t *to, uint64_t i);
struct torc_slice torc_instr_field(uint8_t *to, uint64_t i);
struct torc_slice torc_instr_absent(uint8_t *to, uint64_t i);
struct torc_slice torc_instr_value(uint8_t *to, uint64_t i, uint64_t salt);

struct torc_arena;
struct torc_keyspace;
struct torc_hash_limits;

/* An arena with a fixed hash seed, so that counts repeat, and its keyspace. */
void torc_instr_keyspace_open(const struct torc_hash_limits *limits, struct torc_arena **out_arena,
                              struct torc_keyspace **out_keyspace);

/* Put fields 0 .. TORC_INSTR_FIELDS - 1 of the small shape with values of salt 0 into hash `key`.
 */
void torc_instr_fill(struct torc_keyspace *keyspace, uint64_t key);

/* End the program: `what` is not as it should be. */
_Noreturn void torc_instr_give_up(const char *what);

/* `condition` holds, or the program ends and says what did not. */
static inline void torc_instr_require(bool condition, const char *what)
{
    if (!condition) {
        torc_instr_give_up(what);
    }
}

#endif
