/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/compact.h"

#include "hash/compact_private.h"
#include "tests/support/compact_fixture.h"
#include "tests/support/squeezed_hash.h"

/* A copy to compare with: whatever a call may have changed. */
static uint8_t *snapshot(const uint8_t *block)
{
    size_t capacity = torc_compact_capacity(block);
    uint8_t *copy = malloc(capacity);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, block, capacity);
    return copy;
}

/* --- format --- */

START_TEST(the_bytes_of_blocks_are_as_documented)
{
    static const uint8_t empty[] = {0x10, 0, 24, 0, 0, 0, 0, 0};
    static const uint8_t one[] = {
        0x10, 1,    24,   0,    1,    0,    4, 0, /* header: a spare slot */
        0x26,                                     /* fingerprint */
        0xee, 0xee, 0xee,                         /* spare */
        0x00, 0x00,                               /* offset */
        0x6c, 0x6c, 0x7f, 0x7f,                   /* entry */
        0xee, 0xee, 0xee, 0xee, 0xee, 0xee,       /* slack */
    };
    static const uint8_t verbatim[] = {
        0x90, 0,    24,  0,   1,   0,   8,   0,   /* header */
        0x26,                                     /* fingerprint */
        0x00, 0x00,                               /* offset */
        3,    3,    '1', '2', '7', '1', '2', '7', /* entry */
    };
    static const uint8_t two[] = {
        0x10, 2,    40,   0,    2,    0,    9, 0, /* header: two spare slots */
        0x20, 0xab,                               /* fingerprints of "a" and "bb" */
        0xee, 0xee, 0xee, 0xee, 0xee, 0xee,       /* spare */
        4,    0,    0,    0,                      /* offsets of "bb" and "a" */
        1,    0x6c, 'a',  10,                     /* entries */
        2,    0x6c, 'b',  'b',  200,              /* */
        0xee, 0xee, 0xee, 0xee, 0xee,             /* slack */
    };
    uint8_t block[40];
    memset(block, 0xee, sizeof block);
    torc_compact_init(block, 24, false);
    ck_assert_mem_eq(block, empty, sizeof empty);
    ck_assert_int_eq(put_text(block, "127", "127"), 1);
    ck_assert_mem_eq(block, one, sizeof one);

    torc_compact_init(block, 24, true);
    ck_assert_int_eq(put_text(block, "127", "127"), 1);
    ck_assert_mem_eq(block, verbatim, sizeof verbatim);

    memset(block, 0xee, sizeof block);
    torc_compact_init(block, 40, false);
    ck_assert_int_eq(put_text(block, "a", "10"), 1);
    ck_assert_int_eq(put_text(block, "bb", "200"), 1);
    ck_assert_mem_eq(block, two, sizeof two);
}
END_TEST

/* 33 fields "00" to "32" with empty values: four groups, no spare, no slack. */
START_TEST(the_bytes_of_a_block_with_groups_are_as_documented)
{
    static const uint8_t front[] = {
        0x12, 0,    0xdc, 0,    33,   0,    0x6d, 0,                            /* header */
        10,   8,    3,    12,                                                   /* group counts */
        0xbb, 0xd5, 0x59, 0xd2, 0x90, 0x5f, 0x98, 0x57, 0x78, 0x6b,             /* group 0 */
        0xa9, 0xa1, 0x45, 0x71, 0xec, 0xe1, 0x1a, 0xc9,                         /* group 1 */
        0xfe, 0x4d, 0x74,                                                       /* group 2 */
        0x8c, 0x60, 0xbe, 0x21, 0x4c, 0x3e, 0x2c, 0x7d, 0x13, 0x80, 0x48, 0x23, /* group 3 */
    };
    static const char order[] = "01071113161718232832";
    char name[3];
    uint8_t *block = block_create(220);
    for (size_t i = 0; i < 33; i++) {
        (void)snprintf(name, sizeof name, "%02zu", i % 100);
        ck_assert_int_eq(put_text(block, name, ""), 1);
    }
    ck_assert_mem_eq(block, front, sizeof front);
    for (size_t i = 0; i < 10; i++) {
        struct torc_pair pair;
        struct torc_pair_room room;
        torc_compact_at(block, i, &room, &pair);
        ck_assert_mem_eq(pair.field.data, &order[2 * i], 2);
        /* They are in the order of the names; an entry is four bytes here, three from "10" on. */
        size_t number = (size_t)(order[2 * i] - '0') * 10 + (size_t)(order[2 * i + 1] - '0');
        ck_assert_uint_eq(torc_load_u16(&block[220 - 109 - 2 * (i + 1)]),
                          number < 10 ? number * 4 : 10 + number * 3);
    }
    free(block);
}
END_TEST

START_TEST(a_long_part_has_a_length_of_two_bytes)
{
    char room[200];
    uint8_t block[200];
    torc_compact_init(block, sizeof block, false);
    ck_assert_int_eq(put(block, torc_slice_str(""), filled(room, 108, 'x')), 1);
    struct torc_compact_head head = torc_compact_head_load(block);
    const uint8_t *entry = block + torc_compact_entries_at(&head);
    ck_assert_uint_eq(head.entry_bytes, 111);
    ck_assert_uint_eq(block[0], 0x10);
    ck_assert_uint_eq(entry[0], 0);
    ck_assert_uint_eq(entry[1], 0x80);
    ck_assert_uint_eq(entry[2], 108);
    ck_assert_uint_eq(entry[3], 'x');
    ck_assert_int_eq(put(block, torc_slice_str(""), filled(room, 107, 'x')), 0);
    ck_assert_uint_eq(torc_compact_head_load(block).entry_bytes, 109);
    ck_assert_uint_eq(block[torc_compact_entries_at(&head) + 1], 107);
}
END_TEST

/* Groups go up with the count and come down later, so that no pair of put and del splits and merges
 * in turn. */
START_TEST(groups_follow_the_count_with_hysteresis)
{
    static const struct {
        size_t up_to;
        unsigned groups_log2;
    } up[] = {{32, 0}, {64, 2}, {128, 3}, {256, 4}, {512, 5}, {1024, 6}, {1300, 7}};
    static const struct {
        size_t down_to;
        unsigned groups_log2;
    } down[] = {{512, 7}, {256, 6}, {128, 5}, {64, 4}, {32, 3}, {16, 2}, {0, 0}};
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    size_t n = 0;
    for (size_t step = 0; step < sizeof up / sizeof up[0]; step++) {
        for (; n < up[step].up_to; n++) {
            struct torc_slice field = name_of(n, name);
            HOLDS(torc_compact_put(block, SEED, hash_of(field), field, value_of(n, 0, value)) == 1);
            HOLDS(torc_compact_head_load(block).groups_log2 == up[step].groups_log2);
        }
        check_block(block);
    }
    for (size_t step = 0; step < sizeof down / sizeof down[0]; step++) {
        for (; n > down[step].down_to; n--) {
            struct torc_slice field = name_of(n - 1, name);
            HOLDS(torc_compact_del(block, hash_of(field), field) == 1);
            HOLDS(torc_compact_head_load(block).groups_log2 == down[step].groups_log2);
        }
        check_block(block);
    }
    HOLDS(torc_compact_used(block) == torc_compact_empty_bytes());
    free(block);
}
END_TEST

/* --- lengths --- */

static const size_t lengths[] = {0,   1,   2,   3,   4,   7,   8,   9,   15,   16,    17,
                                 106, 107, 108, 109, 126, 127, 128, 129, 1000, 16384, 32767};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

START_TEST(fields_and_values_of_any_length_come_back)
{
    for (size_t i = 0; i < N_LENGTHS; i++) {
        for (size_t k = 0; k < N_LENGTHS; k++) {
            size_t need =
                torc_compact_need(NULL, 1, torc_compact_stored_bytes(lengths[i], lengths[k]));
            if (need > TORC_COMPACT_MAX_BYTES) {
                continue;
            }
            struct torc_slice field = exact(lengths[i], 'f');
            struct torc_slice value = exact(lengths[k], 'v');
            uint8_t *block = block_create(need);
            ck_assert_int_eq(put(block, field, value), 1);
            ck_assert_uint_eq(torc_compact_used(block), need);
            expect(block, field, value);
            expect_absent(block, torc_slice_str("absent"));
            struct torc_pair pair;
            struct torc_pair_room room;
            uint64_t position = 0;
            ck_assert(torc_compact_next(block, &position, &room, &pair));
            ck_assert(torc_slice_equal(pair.field, field) && torc_slice_equal(pair.value, value));
            ck_assert(!torc_compact_next(block, &position, &room, &pair));
            torc_compact_at(block, 0, &room, &pair);
            ck_assert(torc_slice_equal(pair.field, field) && torc_slice_equal(pair.value, value));
            ck_assert_int_eq(torc_compact_del(block, hash_of(field), field), 1);
            expect_absent(block, field);
            free(block);
            release(field);
            release(value);
        }
    }
}
END_TEST

START_TEST(a_part_above_32767_bytes_is_refused)
{
    static char room[TORC_COMPACT_MAX_PART + 1];
    struct torc_slice part = filled(room, sizeof room, 'x');
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    ck_assert_int_eq(put_text(block, "x", "old"), 1);
    uint8_t *before = snapshot(block);
    ck_assert_int_eq(put(block, part, torc_slice_str("")), -EMSGSIZE);
    ck_assert_int_eq(put(block, torc_slice_str("x"), part), -EMSGSIZE);
    ck_assert_int_eq(put(block, torc_slice_str("new"), part), -EMSGSIZE);
    ck_assert_mem_eq(block, before, TORC_COMPACT_MAX_BYTES);
    ck_assert_uint_gt(
        torc_compact_need(NULL, 1, torc_compact_entry_bytes(part, torc_slice_str(""), false)),
        TORC_COMPACT_MAX_BYTES);
    ck_assert_uint_gt(
        torc_compact_need(NULL, 1, torc_compact_entry_bytes(torc_slice_str(""), part, true)),
        TORC_COMPACT_MAX_BYTES);
    free(before);
    free(block);
}
END_TEST

START_TEST(every_change_of_a_value_length_leaves_the_others_alone)
{
    static const size_t small[] = {0, 1, 2, 50, 106, 107, 108, 109, 255, 256, 300};
    static char room[300];
    const size_t n_small = sizeof small / sizeof small[0];
    char names[3][2] = {"a", "b", "c"};
    uint8_t *block = block_create(1000);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(put_text(block, names[i], names[i]), 1);
    }
    for (size_t from = 0; from < n_small; from++) {
        for (size_t to = 0; to < n_small; to++) {
            for (size_t i = 0; i < 3; i++) {
                struct torc_slice name = torc_slice_str(names[i]);
                ck_assert_int_eq(put(block, name, filled(room, small[from], 'x')), 0);
                ck_assert_int_eq(put(block, name, filled(room, small[to], 'y')), 0);
                expect(block, name, torc_slice_of(room, small[to]));
                ck_assert_int_eq(put_text(block, names[i], names[i]), 0);
                for (size_t k = 0; k < 3; k++) {
                    expect(block, torc_slice_str(names[k]), torc_slice_str(names[k]));
                }
            }
        }
    }
    ck_assert_uint_eq(torc_compact_used(block), 8 + 3 * (3 + 2 + 2));
    free(block);
}
END_TEST

/* --- forms --- */

/* Texts of all forms, and of none. */
static const char *const texts[] = {
    "10",
    "127",
    "256",
    "-1",
    "-257",
    "65536",
    "18446744073709551615",
    "-18446744073709551616",
    "123e4567-e89b-12d3-a456-426614174000",
    "123e4567e89b12d3a456426614174000",
    /* raw */
    "",
    "0",
    "7",
    "007",
    "-0",
    "+5",
    "18446744073709551616",
    "1.0",
    "a word of some bytes",
    "123E4567-E89B-12D3-A456-426614174000",
    "123E4567E89B12D3A456426614174000",
};
#define N_TEXTS (sizeof texts / sizeof texts[0])

START_TEST(fields_and_values_of_any_form_come_back_as_text)
{
    for (int verbatim = 0; verbatim < 2; verbatim++) {
        for (size_t shift = 0; shift < N_TEXTS; shift++) {
            size_t entry_bytes = 0;
            for (size_t i = 0; i < N_TEXTS; i++) {
                entry_bytes += torc_compact_entry_bytes(
                    torc_slice_str(texts[i]), torc_slice_str(texts[(i + shift) % N_TEXTS]),
                    verbatim != 0);
            }
            const size_t need = torc_compact_need(NULL, N_TEXTS, entry_bytes);
            uint8_t *block = malloc(need);
            ck_assert_ptr_nonnull(block);
            torc_compact_init(block, need, verbatim != 0);
            ck_assert_int_eq(torc_compact_is_verbatim(block), verbatim != 0);
            for (size_t i = 0; i < N_TEXTS; i++) {
                ck_assert_int_eq(put_text(block, texts[i], texts[(i + shift) % N_TEXTS]), 1);
            }
            ck_assert_uint_eq(torc_compact_used(block), need);
            uint64_t position = 0;
            struct torc_pair pair;
            struct torc_pair_room room;
            for (size_t i = 0; i < N_TEXTS; i++) {
                struct torc_slice value = torc_slice_str(texts[(i + shift) % N_TEXTS]);
                expect(block, torc_slice_str(texts[i]), value);
                HOLDS(torc_compact_next(block, &position, &room, &pair));
                HOLDS(torc_slice_equal(pair.field, torc_slice_str(texts[i])));
                HOLDS(torc_slice_equal(pair.value, value));
            }
            HOLDS(!torc_compact_next(block, &position, &room, &pair));
            for (size_t i = 0; i < N_TEXTS; i++) {
                struct torc_slice field = torc_slice_str(texts[i]);
                HOLDS(torc_compact_del(block, hash_of(field), field) == 1);
                check_block(block);
                expect_absent(block, field);
            }
            free(block);
        }
    }
}
END_TEST

START_TEST(every_change_of_a_value_form_leaves_the_others_alone)
{
    for (size_t from = 0; from < N_TEXTS; from++) {
        for (size_t to = 0; to < N_TEXTS; to++) {
            uint8_t *block = block_create(300);
            HOLDS(put_text(block, "100", "before") == 1);
            HOLDS(put_text(block, "200", texts[from]) == 1);
            HOLDS(put_text(block, "300", "behind") == 1);
            HOLDS(put_text(block, "200", texts[to]) == 0);
            expect(block, torc_slice_str("100"), torc_slice_str("before"));
            expect(block, torc_slice_str("200"), torc_slice_str(texts[to]));
            expect(block, torc_slice_str("300"), torc_slice_str("behind"));
            free(block);
        }
    }
}
END_TEST

/* The bytes of a name that is encoded can be the bytes of one that is not. */
START_TEST(names_with_the_bytes_of_others_are_others)
{
    char name[NAME_BYTES];
    uint8_t *block = block_create(200);
    const uint8_t bytes_of_256[] = {0x00, 0x01};
    const struct torc_slice alike = torc_slice_of(bytes_of_256, 2);
    struct torc_value found;
    HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, torc_slice_str("256"),
                                  torc_slice_str("1")) == 1);
    HOLDS(!torc_compact_find(block, 0, alike, 0, &found));
    HOLDS(!torc_compact_find(block, 0, torc_slice_str("-257"), 0, &found));
    HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, alike, torc_slice_str("2")) ==
          1);
    HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, torc_slice_str("-257"),
                                  torc_slice_str("3")) == 1);
    HOLDS(torc_compact_check_hashed(block, 200, torc_squeezed_hash, 0, NULL) == 0);
    HOLDS(torc_compact_find(block, 0, torc_slice_str("256"), 0, &found));
    HOLDS(torc_slice_equal(found.text, torc_slice_str("1")));
    HOLDS(torc_compact_find(block, 0, alike, 0, &found));
    HOLDS(torc_slice_equal(found.text, torc_slice_str("2")));
    HOLDS(torc_compact_find(block, 0, torc_slice_str("-257"), 0, &found));
    HOLDS(torc_slice_equal(found.text, torc_slice_str("3")));
    free(block);

    /* The same among so many names of one group that the lookup is the long one. */
    block = block_create(4000);
    for (size_t i = 0; i < 40; i++) {
        HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, name_of(i, name),
                                      torc_slice_str("")) == 1);
    }
    HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, torc_slice_str("256"),
                                  torc_slice_str("1")) == 1);
    HOLDS(!torc_compact_find(block, 0, alike, 0, &found));
    HOLDS(!torc_compact_find(block, 0, torc_slice_str("-257"), 0, &found));
    HOLDS(torc_compact_find(block, 0, torc_slice_str("256"), 0, &found));
    free(block);
}
END_TEST

START_TEST(copies_of_a_verbatim_block_are_verbatim)
{
    uint8_t block[200];
    uint8_t copy[300];
    torc_compact_init(block, sizeof block, true);
    ck_assert_int_eq(put_text(block, "100", "200"), 1);
    ck_assert_int_eq(torc_compact_copy(block, copy, sizeof copy), 0);
    check_block(copy);
    ck_assert(torc_compact_is_verbatim(copy));
    expect(copy, torc_slice_str("100"), torc_slice_str("200"));
    ck_assert_int_eq(put_text(copy, "100", "300"), 0);
    ck_assert_int_eq(put_text(copy, "101", "300"), 1);
    ck_assert_uint_eq(torc_compact_used(copy), 8 + 2 * (3 + 8));
    torc_compact_init(block, sizeof block, false);
    ck_assert_int_eq(torc_compact_copy(block, copy, sizeof copy), 0);
    ck_assert(!torc_compact_is_verbatim(copy));
}
END_TEST

/* --- cases --- */

START_TEST(an_empty_field_name_and_an_empty_value_are_legal)
{
    uint8_t *block = block_create(torc_compact_empty_bytes());
    struct torc_slice nothing = {.data = NULL, .len = 0};
    expect_absent(block, nothing);
    ck_assert_int_eq(put(block, nothing, nothing), 1);
    expect(block, nothing, nothing);
    ck_assert_int_eq(put_text(block, "x", ""), 1);
    ck_assert_int_eq(put(block, nothing, torc_slice_str("y")), 0);
    expect(block, nothing, torc_slice_str("y"));
    ck_assert_int_eq(torc_compact_del(block, hash_of(nothing), nothing), 1);
    check_block(block);
    expect_absent(block, nothing);
    expect(block, torc_slice_str("x"), nothing);
    free(block);
}
END_TEST

START_TEST(fields_with_one_fingerprint_are_all_found_and_a_missing_one_is_not)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    const char *why = "";
    uint8_t *block = block_create(4000);
    for (size_t i = 0; i < 40; i++) {
        ck_assert_int_eq(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0, name_of(i, name),
                                                 value_of(i, 0, value)),
                         1);
    }
    ck_assert_int_eq(torc_compact_check_hashed(block, 4000, torc_squeezed_hash, 0, &why), 0);
    struct torc_value found;
    for (size_t i = 0; i < 40; i++) {
        ck_assert(torc_compact_find(block, 0, name_of(i, name), 0, &found));
        ck_assert(torc_slice_equal(found.text, value_of(i, 0, value)));
    }
    ck_assert(!torc_compact_find(block, 0, name_of(40, name), 0, &found));
    free(block);
}
END_TEST

/* A group's count is a byte: when hashes spread so badly that 255 do not suffice, the block goes on
 * as one group. */
START_TEST(hashes_that_do_not_spread_cost_time_only)
{
    const uint64_t mask = ~0xffff00ull;
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    const char *why = "";
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    for (size_t i = 0; i < 600; i++) {
        struct torc_slice field = name_of(i, name);
        uint64_t hash = torc_squeezed_hash(mask, field.data, field.len);
        HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, mask, hash, field,
                                      value_of(i, 0, value)) == 1);
        HOLDS((torc_compact_head_load(block).groups_log2 == 0) == (i < 32 || i >= 255));
    }
    HOLDS(torc_compact_check_hashed(block, TORC_COMPACT_MAX_BYTES, torc_squeezed_hash, mask,
                                    &why) == 0);
    for (size_t i = 0; i < 600; i++) {
        struct torc_value found;
        struct torc_slice field = name_of(i, name);
        uint64_t hash = torc_squeezed_hash(mask, field.data, field.len);
        HOLDS(torc_compact_find(block, hash, field, 0, &found));
        HOLDS(torc_slice_equal(found.text, value_of(i, 0, value)));
        HOLDS(torc_compact_del(block, hash, field) == 1);
    }
    HOLDS(torc_compact_count(block) == 0);
    free(block);
}
END_TEST

/* The same when groups halve: two of 128 neighbours take 260 fields more, the others lose theirs.
 */
START_TEST(groups_too_full_to_merge_become_one)
{
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    struct torc_slice nothing = torc_slice_str("");
    uint32_t n = 0;
    for (size_t n_more = 0; n_more < 260; n++) {
        struct torc_slice field = torc_slice_of(&n, sizeof n);
        bool in_pair = torc_compact_group(7, hash_of(field)) < 2;
        if (n <= 1024 || in_pair) {
            HOLDS(torc_compact_put(block, SEED, hash_of(field), field, nothing) == 1);
            n_more += n > 1024;
        }
    }
    ck_assert_uint_eq(torc_compact_head_load(block).groups_log2, 7);
    for (uint32_t i = 0; torc_compact_count(block) > 511; i++) {
        struct torc_slice field = torc_slice_of(&i, sizeof i);
        if (torc_compact_group(7, hash_of(field)) >= 2) {
            ck_assert_uint_eq(torc_compact_head_load(block).groups_log2, 7);
            HOLDS(torc_compact_del(block, hash_of(field), field) == 1);
        }
    }
    ck_assert_uint_eq(torc_compact_head_load(block).groups_log2, 0);
    check_block(block);
    free(block);
}
END_TEST

START_TEST(deletes_leave_the_rest_in_order)
{
    static const size_t places[] = {0, 15, 16, 39};
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    for (size_t g = 0; g < 4; g++) {
        uint8_t *block = block_of(40, 3000);
        struct torc_slice gone = name_of(places[g], name);
        ck_assert_int_eq(torc_compact_del(block, hash_of(gone), gone), 1);
        ck_assert_int_eq(torc_compact_del(block, hash_of(gone), gone), 0);
        check_block(block);
        expect_absent(block, gone);
        ck_assert_uint_eq(torc_compact_count(block), 39);
        uint64_t position = 0;
        struct torc_pair pair;
        struct torc_pair_room room;
        for (size_t i = 0; i < 40; i++) {
            if (i != places[g]) {
                ck_assert(torc_compact_next(block, &position, &room, &pair));
                ck_assert(torc_slice_equal(pair.field, name_of(i, name)));
                ck_assert(torc_slice_equal(pair.value, value_of(i, 0, value)));
                expect(block, pair.field, pair.value);
            }
        }
        ck_assert(!torc_compact_next(block, &position, &room, &pair));
        free(block);
    }
}
END_TEST

START_TEST(of_duplicates_the_last_wins_in_the_place_of_the_first)
{
    static const char *const pairs[][2] = {{"a", "1"}, {"b", "2"}, {"a", "333"}, {"c", "4"}};
    static const char *const order[][2] = {{"a", "333"}, {"b", "2"}, {"c", "4"}};
    uint8_t *block = block_create(100);
    int n_new = 0;
    for (size_t i = 0; i < 4; i++) {
        n_new += put_text(block, pairs[i][0], pairs[i][1]);
    }
    ck_assert_int_eq(n_new, 3);
    uint64_t position = 0;
    struct torc_pair pair;
    struct torc_pair_room room;
    for (size_t i = 0; i < 3; i++) {
        ck_assert(torc_compact_next(block, &position, &room, &pair));
        ck_assert(torc_slice_equal(pair.field, torc_slice_str(order[i][0])));
        ck_assert(torc_slice_equal(pair.value, torc_slice_str(order[i][1])));
    }
    ck_assert(!torc_compact_next(block, &position, &room, &pair));
    free(block);
}
END_TEST

START_TEST(directory_order_visits_each_field_once)
{
    char name[NAME_BYTES];
    uint8_t *block = block_of(300, 20000);
    bool seen[300] = {false};
    for (size_t i = 0; i < 300; i++) {
        struct torc_pair pair;
        struct torc_pair_room room;
        torc_compact_at(block, i, &room, &pair);
        size_t number = 0;
        while (!torc_slice_equal(pair.field, name_of(number, name))) {
            number++;
        }
        HOLDS(!seen[number]);
        seen[number] = true;
    }
    free(block);
}
END_TEST

/* --- room --- */

START_TEST(a_put_without_room_changes_nothing)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    char wide[NAME_BYTES] = "seventeen bytes..";
    for (size_t n = 1; n < 40; n++) {
        size_t need = torc_compact_need(NULL, n, n * torc_compact_stored_bytes(14, 16));
        uint8_t *block = block_of(n, need);
        uint8_t *before = snapshot(block);
        ck_assert_uint_eq(torc_compact_used(block), need);
        ck_assert_int_eq(put(block, name_of(n, name), value_of(n, 0, value)), -ENOSPC);
        ck_assert_int_eq(put(block, torc_slice_str(""), torc_slice_str("")), -ENOSPC);
        ck_assert_int_eq(put(block, name_of(n / 2, name), torc_slice_of(wide, 17)), -ENOSPC);
        ck_assert_mem_eq(block, before, need);
        /* The same width, and narrower, need none. */
        ck_assert_int_eq(put(block, name_of(n / 2, name), value_of(n, 1, value)), 0);
        ck_assert_int_eq(put(block, name_of(n / 2, name), torc_slice_of(wide, 15)), 0);
        ck_assert_int_eq(put(block, name_of(n / 2, name), torc_slice_of(wide, 16)), 0);
        free(before);
        free(block);
    }
}
END_TEST

START_TEST(need_is_exact_for_new_fields_and_enough_for_old_ones)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    const size_t entry = torc_compact_stored_bytes(14, 16);
    HOLDS(torc_compact_need(NULL, 0, 0) == torc_compact_empty_bytes());
    for (size_t n = 1; n < 150; n += n / 7 + 1) {
        for (size_t more = 1; more < 600; more += more / 3 + 1) {
            uint8_t *block = block_of(n, 8000);
            size_t need = torc_compact_need(block, more, more * entry);
            uint8_t *grown = malloc(need);
            ck_assert_ptr_nonnull(grown);
            HOLDS(torc_compact_copy(block, grown, need) == 0);
            for (size_t i = n; i < n + more; i++) {
                struct torc_slice field = name_of(i, name);
                HOLDS(torc_compact_put(grown, SEED, hash_of(field), field, value_of(i, 0, value)) ==
                      1);
            }
            check_block(grown);
            HOLDS(torc_compact_used(grown) == need);
            free(grown);

            grown = malloc(need);
            ck_assert_ptr_nonnull(grown);
            HOLDS(torc_compact_copy(block, grown, need) == 0);
            for (size_t i = 0; i < more; i++) {
                struct torc_slice field = name_of(i * 7 % (n + more), name);
                int rc =
                    torc_compact_put(grown, SEED, hash_of(field), field, value_of(i, 1, value));
                HOLDS(rc == 0 || rc == 1);
            }
            check_block(grown);
            free(grown);
            free(block);
        }
    }
}
END_TEST

START_TEST(copies_hold_the_same_in_any_capacity)
{
    static const size_t slacks[] = {0, 1, 2, 3, 10, 100, 1000, 5000};
    static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 200};
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
        uint8_t *block = block_of(sizes[c], 9000);
        size_t used = torc_compact_used(block);
        uint8_t *target = malloc(used + 5000);
        ck_assert_ptr_nonnull(target);
        HOLDS(torc_compact_copy(block, target, used - 1) == -ENOSPC);
        for (size_t s = 0; s < sizeof slacks / sizeof slacks[0]; s++) {
            HOLDS(torc_compact_copy(block, target, used + slacks[s]) == 0);
            check_block(target);
            HOLDS(torc_compact_capacity(target) == used + slacks[s]);
            HOLDS(torc_compact_used(target) == used);
            HOLDS(torc_compact_count(target) == sizes[c]);
            uint64_t position = 0;
            struct torc_pair pair;
            struct torc_pair_room room;
            for (size_t i = 0; i < sizes[c]; i++) {
                HOLDS(torc_compact_next(target, &position, &room, &pair));
                HOLDS(torc_slice_equal(pair.field, name_of(i, name)));
                expect(target, pair.field, value_of(i, 0, value));
            }
            HOLDS(!torc_compact_next(target, &position, &room, &pair));
        }
        free(target);
        free(block);
    }
}
END_TEST

START_TEST(growth_gives_a_twelfth_or_another_step)
{
    ck_assert_uint_eq(torc_compact_grow(43, 78), 78 + 35);
    ck_assert_uint_eq(torc_compact_grow(100, 1200), 1200 + 100);
    ck_assert_uint_eq(torc_compact_grow(400, 450), 450 + 50);
    ck_assert_uint_eq(torc_compact_grow(100, 96), 96 + 8);
    ck_assert_uint_eq(torc_compact_grow(65000, 65500), TORC_COMPACT_MAX_BYTES);
    ck_assert_uint_eq(torc_compact_grow(65000, 65535), TORC_COMPACT_MAX_BYTES);
    ck_assert_uint_eq(torc_compact_grow(65000, 65536), 65536);
}
END_TEST

START_TEST(a_block_holds_1868_fields_of_14_and_16_bytes)
{
    char name[NAME_BYTES];
    char value[NAME_BYTES];
    ck_assert_uint_le(torc_compact_need(NULL, 1868, 1868 * torc_compact_stored_bytes(14, 16)),
                      TORC_COMPACT_MAX_BYTES);
    uint8_t *block = block_of(1868, TORC_COMPACT_MAX_BYTES);
    uint8_t *before = snapshot(block);
    ck_assert_int_eq(put(block, name_of(1868, name), value_of(1868, 0, value)), -EMSGSIZE);
    ck_assert_int_eq(put(block, name_of(0, name),
                         torc_slice_str("a value of more than thirty-five.."
                                        "and a few bytes")),
                     -EMSGSIZE);
    ck_assert_mem_eq(block, before, TORC_COMPACT_MAX_BYTES);
    ck_assert_uint_eq(torc_compact_count(block), 1868);
    for (size_t i = 0; i < 1868; i++) {
        expect(block, name_of(i, name), value_of(i, 0, value));
        expect_absent(block, name_of(i + 1868, name));
    }
    /* One out, one in. */
    struct torc_slice gone = name_of(700, name);
    ck_assert_int_eq(torc_compact_del(block, hash_of(gone), gone), 1);
    ck_assert_int_eq(put(block, name_of(1868, name), value_of(1868, 0, value)), 1);
    ck_assert_uint_eq(torc_compact_capacity(block) - torc_compact_used(block), 19);
    free(before);
    free(block);
}
END_TEST

START_TEST(the_most_fields_there_can_be_are_held)
{
    uint8_t *block = block_create(TORC_COMPACT_MAX_BYTES);
    uint8_t name[3];
    size_t n = 0;
    int rc = 1;
    for (; rc == 1; n += rc == 1) {
        size_t len = n == 0 ? 0 : n <= 256 ? 1 : 2;
        size_t number = n - (len == 0 ? 0 : len == 1 ? 1 : 257);
        name[0] = (uint8_t)number;
        name[1] = (uint8_t)(number >> 8);
        struct torc_slice field = torc_slice_of(name, len);
        rc = torc_compact_put(block, SEED, hash_of(field), field, torc_slice_str(""));
    }
    ck_assert_int_eq(rc, -EMSGSIZE);
    ck_assert_uint_eq(n, 9251);
    check_block(block);
    free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact");
    TCase *tcase = tcase_create("compact");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_bytes_of_blocks_are_as_documented);
    tcase_add_test(tcase, the_bytes_of_a_block_with_groups_are_as_documented);
    tcase_add_test(tcase, a_long_part_has_a_length_of_two_bytes);
    tcase_add_test(tcase, groups_follow_the_count_with_hysteresis);
    tcase_add_test(tcase, fields_and_values_of_any_length_come_back);
    tcase_add_test(tcase, a_part_above_32767_bytes_is_refused);
    tcase_add_test(tcase, every_change_of_a_value_length_leaves_the_others_alone);
    tcase_add_test(tcase, fields_and_values_of_any_form_come_back_as_text);
    tcase_add_test(tcase, every_change_of_a_value_form_leaves_the_others_alone);
    tcase_add_test(tcase, names_with_the_bytes_of_others_are_others);
    tcase_add_test(tcase, copies_of_a_verbatim_block_are_verbatim);
    tcase_add_test(tcase, an_empty_field_name_and_an_empty_value_are_legal);
    tcase_add_test(tcase, fields_with_one_fingerprint_are_all_found_and_a_missing_one_is_not);
    tcase_add_test(tcase, hashes_that_do_not_spread_cost_time_only);
    tcase_add_test(tcase, groups_too_full_to_merge_become_one);
    tcase_add_test(tcase, deletes_leave_the_rest_in_order);
    tcase_add_test(tcase, of_duplicates_the_last_wins_in_the_place_of_the_first);
    tcase_add_test(tcase, directory_order_visits_each_field_once);
    tcase_add_test(tcase, a_put_without_room_changes_nothing);
    tcase_add_test(tcase, need_is_exact_for_new_fields_and_enough_for_old_ones);
    tcase_add_test(tcase, copies_hold_the_same_in_any_capacity);
    tcase_add_test(tcase, growth_gives_a_twelfth_or_another_step);
    tcase_add_test(tcase, a_block_holds_1868_fields_of_14_and_16_bytes);
    tcase_add_test(tcase, the_most_fields_there_can_be_are_held);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
