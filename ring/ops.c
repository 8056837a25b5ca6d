/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of operations, and a name lookup that does not depend on how many there are.
 *
 * A name of up to 16 bytes is read as two words, its head and its tail, which with the length are
 * the whole name: the first and the last eight bytes, which overlap, or for up to eight bytes one
 * word and no tail. Mixed, with bit 0x20 of every byte set so that the case of letters does not
 * matter, they are hashed to a slot of an open-addressed index of op numbers. A candidate is the
 * one if the words differ from its name in nothing but the case bit of letters: one xor and one
 * mask each.
 *
 * The index is filled from TORC_OPS when the program is loaded, so that a new line there is all
 * that a new op takes.
 */
#include "ring/ops.h"

#include "ring/message.h"

#define CASE_BITS   0x2020202020202020ull
#define INDEX_SLOTS 512u /* four times TORC_OP_LIMIT: most lookups see one slot */

static struct torc_op_info infos[256] = {
#define ENTRY(number_, id_, name_, arity_, shape_, flags_, first_, last_, step_)                   \
    [number_] = {.name = (name_),                                                                  \
                 .shape = (shape_),                                                                \
                 .arity = (arity_),                                                                \
                 .flags = (flags_),                                                                \
                 .first_key = (first_),                                                            \
                 .last_key = (last_),                                                              \
                 .key_step = (step_)},
    TORC_OPS(ENTRY)
#undef ENTRY
};

/* sizeof of a NULL name is that of a pointer, which passes. */
#define CHECK(number_, id_, name_, arity_, shape_, flags_, first_, last_, step_)                   \
    static_assert(sizeof(name_) - 1 <= TORC_OP_NAME_BYTES, "the lookup reads two words");          \
    static_assert((number_) > 0 && (number_) < TORC_OP_LIMIT, "op number");
TORC_OPS(CHECK)
#undef CHECK
static_assert((TORC_OP_LIMIT & (TORC_OP_LIMIT - 1)) == 0, "used as a mask");

/* A name as the lookup compares it. */
struct op_key {
    uint64_t head, tail;             /* first and last bytes, lower case */
    uint64_t head_exact, tail_exact; /* the bits that count: all but 0x20 of a letter */
};

static struct op_key keys[TORC_OP_LIMIT];
static uint16_t index_of_ops[INDEX_SLOTS]; /* op, and length of its name << 8; 0: free */

/* All of a name of 4 to 8 bytes: its first and last four, which overlap. */
static inline uint64_t load_word(const char *name, size_t len)
{
    return torc_load_u32(name) | (uint64_t)torc_load_u32(name + len - 4) << 32;
}

/* Head and tail of a name of 1 to 16 bytes; no byte outside of it is read. */
static inline void load_words(const char *name, size_t len, uint64_t *out_head, uint64_t *out_tail)
{
    *out_tail = 0;
    if (len > 8) {
        *out_head = torc_load_u64(name);
        *out_tail = torc_load_u64(name + len - 8);
    } else if (len >= 4) {
        *out_head = load_word(name, len);
    } else {
        *out_head = (uint64_t)(uint8_t)name[0] | (uint64_t)(uint8_t)name[len / 2] << 8 |
                    (uint64_t)(uint8_t)name[len - 1] << 16;
    }
}

/* Whole bytes are rotated, so the case bits of both words meet and are set once. */
static inline size_t slot_of(uint64_t head, uint64_t tail)
{
    uint64_t x = (head ^ (tail << 24 | tail >> 40)) | CASE_BITS;
    return (x * 0x9e3779b97f4a7c15ull) >> 55;
}
static_assert(INDEX_SLOTS == 1u << (64 - 55), "slot_of() gives every slot");

static uint64_t exact_bits(uint64_t word)
{
    uint64_t mask = UINT64_MAX;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint8_t byte = (uint8_t)(word >> shift);
        if (byte >= 'a' && byte <= 'z') {
            mask &= ~(0x20ull << shift);
        }
    }
    return mask;
}

static void count_shape(struct torc_op_info *info)
{
    bool repeats = false;
    for (const char *c = info->shape; *c != '\0'; c++) {
        if (*c == '*') {
            repeats = true;
        } else if (*c == 'u' || *c == 'i') {
            info->n_numbers++;
        } else if (repeats) {
            info->group++;
        } else {
            info->n_fixed++;
        }
    }
    if (info->n_numbers == 0) {
        info->plain_flags = info->group != 0 ? TORC_MESSAGE_ONE : 0;
        info->plain_strings = (uint8_t)(info->n_fixed + info->group);
    }
}

static void insert_name(unsigned op)
{
    const char *name = infos[op].name;
    size_t len = strlen(name);
    struct op_key *key = &keys[op];
    load_words(name, len, &key->head, &key->tail);
    key->head_exact = exact_bits(key->head);
    key->tail_exact = exact_bits(key->tail);
    size_t slot = slot_of(key->head, key->tail);
    while (index_of_ops[slot] != 0) {
        slot = (slot + 1) % INDEX_SLOTS;
    }
    index_of_ops[slot] = (uint16_t)(len << 8 | op);
}

__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned op = 1; op < TORC_OP_LIMIT; op++) {
        if (infos[op].shape != NULL) {
            count_shape(&infos[op]);
        }
        if (infos[op].name != NULL) {
            insert_name(op);
        }
    }
}

const struct torc_op_info *torc_op_info(uint8_t op)
{
    return &infos[op];
}

/* Any name. Out of line, for torc_op_find() to be short. */
__attribute__((noinline)) static enum torc_op find_any(const char *name, size_t len)
{
    if (len == 0 || len > TORC_OP_NAME_BYTES) {
        return TORC_OP_NONE;
    }
    uint64_t head;
    uint64_t tail;
    load_words(name, len, &head, &tail);
    for (size_t slot = slot_of(head, tail);; slot = (slot + 1) % INDEX_SLOTS) {
        /* A free slot has no length in it and matches nothing. */
        unsigned entry = index_of_ops[slot];
        const struct op_key *key = &keys[entry & (TORC_OP_LIMIT - 1)];
        if (entry >> 8 == len && (((head ^ key->head) & key->head_exact) |
                                  ((tail ^ key->tail) & key->tail_exact)) == 0) {
            return (enum torc_op)(entry & (TORC_OP_LIMIT - 1));
        }
        if (entry == 0) {
            return TORC_OP_NONE;
        }
    }
}

enum torc_op torc_op_find(const char *name, size_t len)
{
    /* Nearly every name is one word, and in its own slot. */
    if (TORC_LIKELY(len - 4 <= 4)) {
        uint64_t head = load_word(name, len);
        unsigned entry = index_of_ops[slot_of(head, 0)];
        const struct op_key *key = &keys[entry & (TORC_OP_LIMIT - 1)];
        if (TORC_LIKELY(entry >> 8 == len && ((head ^ key->head) & key->head_exact) == 0)) {
            return (enum torc_op)(entry & (TORC_OP_LIMIT - 1));
        }
    }
    return find_any(name, len);
}
