/* SPDX-License-Identifier: Apache-2.0
 *
 * Many fields of a compact block, by walking it: the names that are asked for go into a small table
 * on the stack, and each entry of the block looks itself up there. A search looks at the places of
 * a field one after the other, and hashes its name so well that nobody can choose names that
 * collide; a walk reads the block from front to back, and since no more than TORC_COMPACT_JOIN_MAX
 * names are in its table, a multiplication will do (keyed, and the worst that chosen names can do
 * is bounded by their number).
 */
#include "hash/compact.h"

#include "hash/compact_private.h"

#define SLOTS_LOG2 8u
static_assert(TORC_COMPACT_JOIN_MAX * 2 <= 1u << SLOTS_LOG2, "at most half full");
static_assert(TORC_COMPACT_JOIN_MAX <= UINT8_MAX, "a slot is a byte");

/* A name as one word: of up to ID_ALL_MAX bytes all of it, and its length in the highest byte. Of a
 * longer one its first and last bytes with a mark, so that the names themselves are compared. */
#define ID_ALL_MAX 7u
#define ID_SHIFT   56u
#define ID_LONG    ((uint64_t)0xff << ID_SHIFT)

struct join {
    uint64_t seed;
    uint64_t ids[TORC_COMPACT_JOIN_MAX];
    uint8_t slots[1u << SLOTS_LOG2]; /* number of the name + 1; 0 free */
};

static inline uint64_t id_of_long(struct torc_slice name)
{
    const uint64_t last = torc_load_u64(name.data + name.len - 8);
    return (torc_load_u64(name.data) * 3 + last + name.len) | ID_LONG;
}

/* Of a name that is asked for: no byte beside it is read. */
static inline uint64_t id_of_asked(struct torc_slice name)
{
    const uint8_t *p = name.data;
    const size_t len = name.len;
    if (len > ID_ALL_MAX) {
        return id_of_long(name);
    }
    const uint64_t mark = (uint64_t)len << ID_SHIFT;
    if (len >= 4) {
        return torc_load_u32(p) | (uint64_t)torc_load_u32(p + len - 4) << 8 * (len - 4) | mark;
    }
    return len == 0 ? mark
                    : p[0] | (uint64_t)p[len / 2] << 8 * (len / 2) |
                          (uint64_t)p[len - 1] << 8 * (len - 1) | mark;
}

/* Of a name in a block, in front of which there are eight bytes at least, or in `room`. */
static inline uint64_t id_of_stored(struct torc_slice name, const uint8_t *room)
{
    if (TORC_LIKELY(name.len - 1 < ID_ALL_MAX && name.data != room)) {
        return torc_load_u64(name.data + name.len - 8) >> (64 - 8 * name.len) | (uint64_t)name.len
                                                                                    << ID_SHIFT;
    }
    return id_of_asked(name);
}

/* The slot of a name, or the free one where it would be. */
static inline size_t find_slot(const struct join *join, const struct torc_slice *fields,
                               struct torc_slice name, uint64_t id)
{
    size_t slot = (id ^ join->seed) * 0x9e3779b97f4a7c15ull >> (64 - SLOTS_LOG2);
    for (;; slot = (slot + 1) % sizeof join->slots) {
        const size_t number = join->slots[slot];
        if (number == 0 || (join->ids[number - 1] == id &&
                            (id < ID_LONG || torc_slice_equal(fields[number - 1], name)))) {
            return slot;
        }
    }
}

/* The value has this text, which borrows the block or lies in `room`: then it is copied. */
static inline void give(const struct torc_slice *text, const uint8_t *room,
                        struct torc_value *value)
{
    value->text = *text;
    if (TORC_UNLIKELY(text->data == room)) {
        memcpy(value->room, room, sizeof value->room);
        value->text.data = value->room;
    }
}

/* Not inlined: its loop needs all registers. */
TORC_NOINLINE void torc_compact_join(const uint8_t *block, uint64_t seed, size_t n,
                                     const struct torc_slice *fields, struct torc_value *out_values)
{
    struct join join;
    uint8_t first[TORC_COMPACT_JOIN_MAX]; /* number of the first name that is equal */
    size_t n_left = 0;
    assert(n <= TORC_COMPACT_JOIN_MAX);
    join.seed = seed;
    memset(join.slots, 0, sizeof join.slots);
    for (size_t i = 0; i < n; i++) {
        join.ids[i] = id_of_asked(fields[i]);
        uint8_t *slot = &join.slots[find_slot(&join, fields, fields[i], join.ids[i])];
        if (TORC_LIKELY(*slot == 0)) {
            *slot = (uint8_t)(i + 1);
            n_left++;
        }
        first[i] = (uint8_t)(*slot - 1u);
        out_values[i].text = torc_slice_of(NULL, 0);
    }
    const bool has_repeats = n_left != n;

    uint64_t position = 0;
    struct torc_pair_room room;
    struct torc_pair pair;
    while (n_left != 0 && torc_compact_next_pair(block, &position, &room, &pair)) {
        const size_t number =
            join.slots[find_slot(&join, fields, pair.field, id_of_stored(pair.field, room.field))];
        if (number != 0) {
            give(&pair.value, room.value, &out_values[number - 1]);
            n_left--;
        }
    }
    for (size_t i = 0; has_repeats && i < n; i++) {
        if (first[i] != i) {
            give(&out_values[first[i]].text, out_values[first[i]].room, &out_values[i]);
        }
    }
}
