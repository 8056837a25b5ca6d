/* SPDX-License-Identifier: Apache-2.0
 *
 * The versions of the compact hash's kernels against each other and against plain loops.
 */
#include "hash/compact_kernels.h"

#include "hash/compact_private.h"
#include "tests/support/coded_text.h"
#include "tests/support/compact_fixture.h"
#include "tests/support/prng.h"
#include "tests/support/squeezed_hash.h"

/* Those with a version of their own. */
static const enum torc_cpu_level levels[] = {TORC_CPU_SCALAR, TORC_CPU_SSE2};
#define N_LEVELS (sizeof levels / sizeof levels[0])

START_TEST(each_level_has_the_best_version_not_above_it)
{
    ck_assert_str_eq(torc_compact_ops_at(TORC_CPU_SCALAR)->name, "scalar");
#if defined(__SSE2__)
    ck_assert_str_eq(torc_compact_ops_at(TORC_CPU_SSE2)->name, "sse2");
    ck_assert_str_eq(torc_compact_ops_at(TORC_CPU_AVX2)->name, "sse2");
    ck_assert_str_eq(torc_compact_ops_at(TORC_CPU_AVX512)->name, "sse2");
#endif
    /* The first call chooses; from then on the version in use is the chosen one. */
    uint8_t counts[32] = {1, 2, 3};
    ck_assert_uint_eq(torc_compact_ops()->count_before(counts, 3), 6);
    ck_assert_ptr_eq(torc_compact_ops(), torc_compact_ops_at(torc_cpu_level()));
}
END_TEST

/* A lookup as torc_compact_find() does it: the name as the block keeps it. */
static size_t locate(const struct torc_compact_ops *ops, const uint8_t *block, uint64_t hash,
                     struct torc_slice name, struct torc_part *out_value)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    struct torc_part part = torc_compact_encode(torc_compact_is_verbatim(block), name, room);
    return ops->locate(block, hash, part.bytes, torc_compact_lead(&part), out_value);
}

/* All lookups in `block` by the level's version agree with what the walk says. */
static void check_lookups(const struct torc_compact_ops *ops, const uint8_t *block, uint64_t mask)
{
    const size_t n = torc_compact_count(block);
    struct torc_pair *pairs = calloc(n + 1, sizeof *pairs);
    struct torc_pair_room *rooms = calloc(n + 1, sizeof *rooms);
    struct torc_slice *fields = calloc(2 * n + 1, sizeof *fields);
    struct torc_value *values = calloc(2 * n + 1, sizeof *values);
    uint64_t *hashes = calloc(2 * n + 1, sizeof *hashes);
    uint8_t(*absent)[120] = calloc(n + 1, sizeof *absent);
    HOLDS(pairs != NULL && rooms != NULL && fields != NULL && values != NULL && hashes != NULL &&
          absent != NULL);

    uint64_t position = 0;
    for (size_t i = 0; i < n; i++) {
        HOLDS(torc_compact_next(block, &position, &rooms[i], &pairs[i]));
        const struct torc_slice field = pairs[i].field;
        fields[2 * i] = field;
        hashes[2 * i] = torc_squeezed_hash(mask, field.data, field.len);
        /* Absent: the hash of a field that is there, and its name but for one byte. */
        memcpy(absent[i], field.data, field.len);
        absent[i][i * 7 % field.len] ^= 0x80;
        fields[2 * i + 1] = torc_slice_of(absent[i], field.len);
        hashes[2 * i + 1] = hashes[2 * i];
    }
    fields[2 * n] = torc_slice_str("");
    hashes[2 * n] = torc_squeezed_hash(mask, "", 0);
    size_t n_found = ops->find_many(block, 2 * n + 1, hashes, fields, 0, values);
    HOLDS(n_found == n);
    for (size_t i = 0; i < 2 * n + 1; i++) {
        const struct torc_part untouched = torc_part_raw(torc_slice_str("untouched"));
        struct torc_part value = untouched;
        size_t place = locate(ops, block, hashes[i], fields[i], &value);
        if (i % 2 == 0 && i != 2 * n) {
            struct torc_pair pair;
            struct torc_pair_room room;
            uint8_t text[TORC_CODEC_TEXT_MAX];
            HOLDS(place < n);
            torc_compact_at(block, place, &room, &pair);
            HOLDS(torc_slice_equal(pair.field, pairs[i / 2].field));
            HOLDS(torc_slice_equal(torc_part_text(&value, text), pairs[i / 2].value));
            HOLDS(torc_slice_equal(values[i].text, pairs[i / 2].value));
            HOLDS(values[i].text.data ==
                  (value.form == TORC_FORM_RAW ? value.bytes.data : values[i].room));
        } else {
            HOLDS(place == TORC_COMPACT_ABSENT);
            HOLDS(memcmp(&value.bytes, &untouched.bytes, sizeof value.bytes) == 0);
            HOLDS(values[i].text.data == NULL);
        }
    }
    /* A few at a time: the groups are not summed up. */
    for (size_t i = 0; i < 2 * n + 1; i++) {
        struct torc_value one = {.text = torc_slice_of(NULL, 0)};
        HOLDS(ops->find(block, hashes[i], fields[i], 0, &one) == (values[i].text.data != NULL));
        HOLDS((one.text.data == NULL) == (values[i].text.data == NULL));
        HOLDS(torc_slice_equal(one.text, values[i].text));
        HOLDS(ops->find_many(block, 1, &hashes[i], &fields[i], 0, &one) ==
              (values[i].text.data != NULL));
        HOLDS((one.text.data == NULL) == (values[i].text.data == NULL));
        HOLDS(torc_slice_equal(one.text, values[i].text));
    }
    free(absent);
    free(hashes);
    free(values);
    free(fields);
    free(rooms);
    free(pairs);
}

static const size_t field_counts[] = {
    0,  1,  2,  3,  7,  8,  9,   14,  15,  16,  17,  18,  30,  31,  32,  33,   34,   47,
    48, 49, 63, 64, 65, 66, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024, 1025, 1500};
#define N_COUNTS (sizeof field_counts / sizeof field_counts[0])

/* The masks keep: everything; 2 bits of fingerprint; no group bits; no bits at all. */
static const uint64_t masks[] = {UINT64_MAX, ~0xfcull, ~0xffff00ull, 0};
#define N_MASKS (sizeof masks / sizeof masks[0])

/* Fill with names of all short lengths, and some long ones and long values among them; each fourth
 * name and each fifth value is near what is encoded. */
static void fill_mixed(uint8_t *block, size_t n, uint64_t mask)
{
    for (size_t i = 0; i < n; i++) {
        char name[200];
        char value[200];
        memset(name, 'n', sizeof name);
        (void)snprintf(name, sizeof name, "%04zu", i);
        name[4] = '-';
        size_t name_len = i % 97 == 96 ? 120 : 4 + i % 16;
        size_t value_len = i % 53 == 52 ? 130 : i % 9;
        struct torc_slice field = torc_slice_of(name, name_len);
        if (i % 4 == 3) {
            field = torc_coded_text((unsigned)(i / 4) % TORC_CODED_KINDS, i + 10, name);
        }
        struct torc_slice text = filled(value, value_len, (char)i);
        if (i % 5 == 4) {
            text = torc_coded_text((unsigned)(i / 5) % TORC_CODED_KINDS, i, value);
        }
        uint64_t hash = torc_squeezed_hash(mask, field.data, field.len);
        HOLDS(torc_compact_put_hashed(block, torc_squeezed_hash, mask, hash, field, text) == 1);
    }
}

/* The same fields in a block where a 16th of them, or a few more, have the common lengths; in
 * memory that ends with it. */
static uint8_t *with_common_lens(const uint8_t *block, uint64_t mask)
{
    struct torc_compact_plan plan = {.verbatim = false};
    for (size_t i = 0; i < 8; i++) {
        torc_compact_plan_add(&plan, torc_slice_str("0012-nnn"), torc_slice_str("abc"));
    }
    static uint8_t roomy[TORC_COMPACT_MAX_BYTES];
    torc_compact_init_planned(roomy, sizeof roomy, &plan);
    struct torc_pair pair;
    struct torc_pair_room room;
    for (uint64_t position = 0; torc_compact_next(block, &position, &room, &pair);) {
        uint64_t hash = torc_squeezed_hash(mask, pair.field.data, pair.field.len);
        HOLDS(torc_compact_put_hashed(roomy, torc_squeezed_hash, mask, hash, pair.field,
                                      pair.value) == 1);
    }
    size_t capacity = torc_compact_used(roomy);
    uint8_t *common = malloc(capacity);
    ck_assert_ptr_nonnull(common);
    ck_assert_int_eq(torc_compact_copy(roomy, common, capacity), 0);
    HOLDS(torc_compact_check_hashed(common, capacity, torc_squeezed_hash, mask, NULL) == 0);
    return common;
}

/* Give each field but every third a time. */
static void set_some_times(uint8_t *block, uint64_t mask)
{
    const size_t n = torc_compact_count(block);
    for (size_t i = 0; i < n; i++) {
        struct torc_pair pair;
        struct torc_pair_room room;
        torc_compact_at(block, i, &room, &pair);
        const struct torc_slice field = pair.field;
        HOLDS(i % 3 == 2 ||
              torc_compact_set_expiry(block, torc_squeezed_hash(mask, field.data, field.len), field,
                                      1000 + i) == 0);
    }
}

START_TEST(each_level_finds_what_is_there_at_each_count)
{
    static uint8_t roomy[TORC_COMPACT_MAX_BYTES];
    const char *why = "";
    for (size_t m = 0; m < N_MASKS; m++) {
        for (size_t c = 0; c < N_COUNTS; c++) {
            if (masks[m] != UINT64_MAX && field_counts[c] > 260) {
                continue; /* lookups are scans */
            }
            torc_compact_init(roomy, sizeof roomy, false);
            fill_mixed(roomy, field_counts[c], masks[m]);
            uint8_t *block = malloc(torc_compact_used(roomy));
            ck_assert_ptr_nonnull(block);
            ck_assert_int_eq(torc_compact_copy(roomy, block, torc_compact_used(roomy)), 0);
            int rc = torc_compact_check_hashed(block, torc_compact_used(roomy), torc_squeezed_hash,
                                               masks[m], &why);
            if (rc != 0) {
                ck_abort_msg("%s", why);
            }
            uint8_t *common = with_common_lens(block, masks[m]);
            for (size_t l = 0; l < N_LEVELS; l++) {
                check_lookups(torc_compact_ops_at(levels[l]), block, masks[m]);
                check_lookups(torc_compact_ops_at(levels[l]), roomy, masks[m]);
                check_lookups(torc_compact_ops_at(levels[l]), common, masks[m]);
            }
            /* The same with times, in the block with common lengths: they are for the future. */
            torc_compact_init(roomy, sizeof roomy, false);
            HOLDS(torc_compact_copy(common, roomy, sizeof roomy) == 0);
            set_some_times(roomy, masks[m]);
            HOLDS(torc_compact_check_hashed(roomy, sizeof roomy, torc_squeezed_hash, masks[m],
                                            NULL) == 0);
            for (size_t l = 0; l < N_LEVELS; l++) {
                check_lookups(torc_compact_ops_at(levels[l]), roomy, masks[m]);
            }
            free(common);
            free(block);
        }
    }
}
END_TEST

START_TEST(each_level_tells_names_apart_by_any_byte)
{
    for (size_t len = 1; len <= 130; len += len < 40 ? 1 : 30) {
        uint8_t block[300];
        uint8_t *name = malloc(len);
        struct torc_part value;
        ck_assert_ptr_nonnull(name);
        memset(name, 'n', len);
        torc_compact_init(block, sizeof block, false);
        ck_assert_int_eq(torc_compact_put_hashed(block, torc_squeezed_hash, 0, 0,
                                                 torc_slice_of(name, len), torc_slice_str("v")),
                         1);
        for (size_t l = 0; l < N_LEVELS; l++) {
            const struct torc_compact_ops *ops = torc_compact_ops_at(levels[l]);
            HOLDS(locate(ops, block, 0, torc_slice_of(name, len), &value) == 0);
            HOLDS(locate(ops, block, 0, torc_slice_of(name, len - 1), &value) ==
                  TORC_COMPACT_ABSENT);
            for (size_t i = 0; i < len; i++) {
                name[i] ^= 1;
                HOLDS(locate(ops, block, 0, torc_slice_of(name, len), &value) ==
                      TORC_COMPACT_ABSENT);
                name[i] ^= 1;
            }
        }
        free(name);
    }
}
END_TEST

START_TEST(each_level_finds_at_each_misalignment)
{
    static uint8_t roomy[TORC_COMPACT_MAX_BYTES];
    static const size_t some[] = {1, 15, 16, 17, 32, 33, 65, 130};
    for (size_t c = 0; c < sizeof some / sizeof some[0]; c++) {
        torc_compact_init(roomy, sizeof roomy, false);
        fill_mixed(roomy, some[c], UINT64_MAX);
        const size_t bytes = torc_compact_used(roomy);
        for (size_t offset = 0; offset < 32; offset++) {
            uint8_t *memory = malloc(offset + bytes);
            ck_assert_ptr_nonnull(memory);
            ck_assert_int_eq(torc_compact_copy(roomy, memory + offset, bytes), 0);
            for (size_t l = 0; l < N_LEVELS; l++) {
                check_lookups(torc_compact_ops_at(levels[l]), memory + offset, UINT64_MAX);
            }
            free(memory);
        }
    }
}
END_TEST

START_TEST(each_level_sums_up_group_counts_alike)
{
    struct torc_prng prng = {1};
    for (size_t n_groups = 4; n_groups <= 1024; n_groups *= 2) {
        for (size_t offset = 0; offset < 16; offset++) {
            /* Behind the counts of a block lie at least 16 fingerprints. */
            uint8_t *memory = malloc(offset + n_groups + 16);
            ck_assert_ptr_nonnull(memory);
            uint8_t *counts = memory + offset;
            for (size_t i = 0; i < n_groups + 16; i++) {
                counts[i] = offset == 0 ? 255 : (uint8_t)torc_prng_next(&prng);
            }
            size_t sum = 0;
            for (size_t group = 0; group < n_groups; group++) {
                for (size_t l = 0; l < N_LEVELS; l++) {
                    HOLDS(torc_compact_ops_at(levels[l])->count_before(counts, group) == sum);
                }
                sum += counts[group];
            }
            free(memory);
        }
    }
}
END_TEST

START_TEST(each_level_shifts_offsets_alike)
{
    static const uint16_t edges[] = {0, 1, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffd, 0xfffe};
    struct torc_prng prng = {2};
    for (size_t n = 0; n < 70; n++) {
        for (size_t offset = 0; offset < 8; offset++) {
            uint8_t *memory = malloc(offset + 2 * n + 1);
            ck_assert_ptr_nonnull(memory);
            uint8_t *offsets = memory + offset;
            for (size_t l = 0; l < N_LEVELS * 8; l++) {
                uint16_t old[70] = {0};
                uint16_t above = edges[l % 8];
                uint16_t delta = (uint16_t)torc_prng_next(&prng);
                for (size_t i = 0; i < n; i++) {
                    uint64_t random = torc_prng_next(&prng);
                    old[i] = random & 1 ? (uint16_t)(above + (random >> 1) % 3)
                                        : (uint16_t)(random >> 8);
                    torc_store_u16(offsets + 2 * i, old[i]);
                }
                torc_compact_ops_at(levels[l / 8])->shift(offsets, n, above, delta);
                for (size_t i = 0; i < n; i++) {
                    uint16_t wanted = old[i] > above ? (uint16_t)(old[i] + delta) : old[i];
                    HOLDS(torc_load_u16(offsets + 2 * i) == wanted);
                }
            }
            free(memory);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact_kernels");
    TCase *tcase = tcase_create("compact_kernels");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_level_has_the_best_version_not_above_it);
    tcase_add_test(tcase, each_level_finds_what_is_there_at_each_count);
    tcase_add_test(tcase, each_level_tells_names_apart_by_any_byte);
    tcase_add_test(tcase, each_level_finds_at_each_misalignment);
    tcase_add_test(tcase, each_level_sums_up_group_counts_alike);
    tcase_add_test(tcase, each_level_shifts_offsets_alike);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
