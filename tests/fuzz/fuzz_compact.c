/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a compact block. What the checker accepts must be safe to read and to change, and
 * must say the same by walk, by lookup and by index. The first byte of the input chooses how names
 * are hashed, so that not only blocks with true hashes get past the checker.
 */
#include "hash/compact.h"

#include <stdlib.h>

#include "hash/compact_private.h"
#include "tests/support/compact_bytes.h"
#include "tests/support/squeezed_hash.h"

static const uint64_t masks[] = {UINT64_MAX, 0, 0x3, 0xc00000, 0xc00003};
#define N_MASKS (sizeof masks / sizeof masks[0])

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim)
{
    if (!claim) {
        abort();
    }
}

static uint64_t hash_of(uint64_t mask, struct torc_slice name)
{
    return torc_squeezed_hash(mask, name.data, name.len);
}

static void read_all(const uint8_t *block, uint64_t mask)
{
    struct torc_pair pair;
    struct torc_pair_room room;
    struct torc_value value;
    size_t n = 0;
    uint64_t bytes = 0;
    for (uint64_t position = 0; torc_compact_next(block, &position, &room, &pair); n++) {
        uint64_t hash = hash_of(mask, pair.field);
        must(torc_compact_find(block, hash, pair.field, 0, &value));
        must(value.text.data != NULL && torc_slice_equal(value.text, pair.value));
        must(torc_compact_find_many(block, 1, &hash, &pair.field, 0, &value) == 1);
        must(value.text.data != NULL && torc_slice_equal(value.text, pair.value));
        if (room.expiry != TORC_EXPIRY_NONE) {
            must(torc_compact_due(block) <= room.expiry);
            must(torc_compact_find(block, hash, pair.field, room.expiry - 1, &value));
            must(!torc_compact_find(block, hash, pair.field, room.expiry, &value));
        }
        bytes += torc_compact_bytes_in(block, pair.field, pair.value);
    }
    must(n == torc_compact_count(block));
    must(bytes + TORC_COMPACT_EXPIRY_BYTES * torc_compact_n_expiring(block) ==
         torc_compact_head_load(block).entry_bytes);
    for (size_t i = 0; i < n; i++) {
        torc_compact_at(block, i, &room, &pair);
        must(torc_compact_find(block, hash_of(mask, pair.field), pair.field, 0, &value));
        must(torc_slice_equal(value.text, pair.value));
    }
    struct torc_slice absent = torc_slice_str("a name that is hardly there");
    uint64_t hash = hash_of(mask, absent);
    must(torc_compact_find(block, hash, absent, 0, &value) ==
         (torc_compact_find_many(block, 1, &hash, &absent, 0, &value) == 1));
}

/* Packed, it is a block that says the same. */
static void pack(const uint8_t *block, uint64_t mask)
{
    uint8_t *packed = malloc(TORC_COMPACT_MAX_BYTES);
    must(packed != NULL);
    size_t capacity = torc_compact_pack(block, packed, 0);
    must(capacity <= torc_compact_used(block) && capacity == torc_compact_capacity(packed));
    must(torc_compact_check_hashed(packed, capacity, torc_squeezed_hash, mask, NULL) == 0);
    must(torc_compact_count(packed) == torc_compact_count(block));
    struct torc_pair pair;
    struct torc_pair there;
    struct torc_pair_room room;
    struct torc_pair_room there_room;
    uint64_t position = 0;
    for (uint64_t at = 0; torc_compact_next(block, &at, &room, &pair);) {
        must(torc_compact_next(packed, &position, &there_room, &there));
        must(torc_slice_equal(pair.field, there.field) &&
             torc_slice_equal(pair.value, there.value));
    }
    free(packed);
}

/* Remove from a copy what is past at the time of each field. */
static void reap_all(const uint8_t *block, uint64_t mask)
{
    static uint8_t scratch[TORC_COMPACT_MAX_BYTES];
    const size_t capacity = torc_compact_used(block);
    uint8_t *copy = malloc(capacity);
    must(copy != NULL);
    must(torc_compact_copy(block, copy, capacity) == 0);
    struct torc_pair pair;
    struct torc_pair_room room;
    for (uint64_t position = 0; torc_compact_next(block, &position, &room, &pair);) {
        const size_t count = torc_compact_count(copy);
        must(count - torc_compact_reap(copy, scratch, room.expiry) == torc_compact_count(copy));
        must(torc_compact_due(copy) > room.expiry);
        must(torc_compact_check_hashed(copy, capacity, torc_squeezed_hash, mask, NULL) == 0);
    }
    must(torc_compact_n_expiring(copy) == 0);
    free(copy);
}

/* Delete all fields of a copy, one by one, and put each back. */
static void change_all(const uint8_t *block, uint64_t mask)
{
    size_t capacity = torc_min_u64(torc_compact_used(block) + 40, TORC_COMPACT_MAX_BYTES);
    uint8_t *copy = malloc(capacity);
    must(copy != NULL);
    must(torc_compact_copy(block, copy, capacity) == 0);
    struct torc_pair pair;
    struct torc_pair_room room;
    for (uint64_t position = 0; torc_compact_next(block, &position, &room, &pair);) {
        must(torc_compact_del(copy, hash_of(mask, pair.field), pair.field) == 1);
        must(torc_compact_check_hashed(copy, capacity, torc_squeezed_hash, mask, NULL) == 0);
    }
    for (uint64_t position = 0; torc_compact_next(block, &position, &room, &pair);) {
        must(torc_compact_put_expiring_hashed(copy, torc_squeezed_hash, mask,
                                              hash_of(mask, pair.field), pair.field, pair.value,
                                              room.expiry) == 1);
        must(torc_compact_check_hashed(copy, capacity, torc_squeezed_hash, mask, NULL) == 0);
    }
    must(torc_compact_count(copy) == torc_compact_count(block));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const uint64_t mask = masks[data[0] % N_MASKS];
    const char *why = NULL;
    if (torc_compact_check_hashed(data + 1, size - 1, torc_squeezed_hash, mask, &why) != 0) {
        must(why != NULL);
        return 0;
    }
    read_all(data + 1, mask);
    pack(data + 1, mask);
    if (torc_compact_count(data + 1) <= 64) {
        change_all(data + 1, mask);
        reap_all(data + 1, mask);
    }
    return 0;
}
