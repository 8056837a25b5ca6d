/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading many fields by a walk, against reading them by searches.
 */
#include "tests/support/coded_text.h"
#include "tests/support/compact_fixture.h"
#include "tests/support/prng.h"

#define NAMES 400u

/* A name or a value: coded, empty, or of any length that takes another way through the code. */
static struct torc_slice any_text(struct torc_prng *prng, char room[TORC_CODED_BYTES])
{
    if (torc_prng_below(prng, 4) == 0) {
        return torc_coded_random(prng, room);
    }
    size_t len = torc_prng_below(prng, torc_prng_below(prng, 2) != 0 ? 5 : TORC_CODED_BYTES);
    for (size_t i = 0; i < len; i++) {
        room[i] = (char)('a' + torc_prng_below(prng, 3)); /* few letters: names alike but for one */
    }
    return torc_slice_of(room, len);
}

static void expect_alike(const struct torc_value *a, const struct torc_value *b)
{
    HOLDS((a->text.data == NULL) == (b->text.data == NULL));
    HOLDS(torc_slice_equal(a->text, b->text));
}

/* All of `names` in exact memory, so that a byte read beside a name is noticed. */
static void expect_join_is_search(const uint8_t *block, uint64_t seed,
                                  const struct torc_slice *names, size_t n)
{
    struct torc_slice *fields = calloc(n, sizeof *fields);
    uint64_t *hashes = calloc(n, sizeof *hashes);
    struct torc_value *joined = malloc(n * sizeof *joined);
    struct torc_value *found = malloc(n * sizeof *found);
    HOLDS(fields != NULL && hashes != NULL && joined != NULL && found != NULL);
    for (size_t i = 0; i < n; i++) {
        char *own = malloc(names[i].len + (names[i].len == 0));
        HOLDS(own != NULL);
        if (names[i].len != 0) {
            memcpy(own, names[i].data, names[i].len);
        }
        fields[i] = torc_slice_of(own, names[i].len);
        hashes[i] = torc_hash_slice(SEED, fields[i]);
    }
    torc_compact_join(block, seed, n, fields, joined);
    (void)torc_compact_find_many(block, n, hashes, fields, 0, found);
    for (size_t i = 0; i < n; i++) {
        expect_alike(&joined[i], &found[i]);
    }
    for (size_t i = 0; i < n; i++) {
        release(fields[i]);
    }
    free(fields);
    free(hashes);
    free(joined);
    free(found);
}

START_TEST(a_join_gives_what_searches_give)
{
    struct torc_prng prng = {torc_test_seed(29)};
    static char rooms[NAMES][TORC_CODED_BYTES];
    static uint8_t block[TORC_COMPACT_MAX_BYTES];
    for (uint64_t round = torc_test_ops(400); round-- > 0;) {
        struct torc_slice names[NAMES];
        size_t n_stored = torc_prng_below(&prng, NAMES / 2);
        torc_compact_init(block, sizeof block - 1, torc_prng_below(&prng, 2) != 0);
        for (size_t i = 0; i < NAMES; i++) {
            char value[TORC_CODED_BYTES];
            names[i] = any_text(&prng, rooms[i]);
            if (i < n_stored) {
                HOLDS(torc_compact_put(block, SEED, torc_hash_slice(SEED, names[i]), names[i],
                                       any_text(&prng, value)) >= 0);
            }
        }
        struct torc_slice asked[TORC_COMPACT_JOIN_MAX];
        size_t n = torc_prng_below(&prng, TORC_COMPACT_JOIN_MAX + 1);
        for (size_t i = 0; i < n; i++) {
            asked[i] =
                names[torc_prng_below(&prng, i % 2 == 0 && n_stored != 0 ? n_stored : NAMES)];
        }
        expect_join_is_search(block, torc_prng_next(&prng), asked, n);
    }
}
END_TEST

START_TEST(equal_names_all_get_the_value)
{
    static uint8_t block[TORC_COMPACT_MAX_BYTES];
    static const char *const texts[] = {"", "f", "1234567", "12345678", "a longer name than eight"};
    struct torc_slice asked[TORC_COMPACT_JOIN_MAX];
    torc_compact_init(block, 4096, false);
    for (size_t i = 0; i < 5; i++) {
        struct torc_slice name = torc_slice_str(texts[i]);
        /* One value is kept encoded, and read into the room of each that asked for it. */
        HOLDS(torc_compact_put(block, SEED, torc_hash_slice(SEED, name), name,
                               torc_slice_str(i % 2 == 0 ? "123456" : "raw")) == 1);
    }
    for (size_t i = 0; i < TORC_COMPACT_JOIN_MAX; i++) {
        asked[i] = torc_slice_str(texts[i % 5]);
    }
    expect_join_is_search(block, 1, asked, TORC_COMPACT_JOIN_MAX);
}
END_TEST

/* Names whose ids differ in nothing but what the table's hash throws away. */
START_TEST(names_that_collide_are_found)
{
    static uint8_t block[TORC_COMPACT_MAX_BYTES];
    static char rooms[TORC_COMPACT_JOIN_MAX][8];
    struct torc_slice asked[TORC_COMPACT_JOIN_MAX];
    torc_compact_init(block, 16384, false);
    size_t n = 0;
    for (uint64_t word = 0; n < TORC_COMPACT_JOIN_MAX; word++) {
        uint64_t id = 0x61000000000000ull | word | 7ull << 56;
        if (id * 0x9e3779b97f4a7c15ull >> 56 != 5) {
            continue;
        }
        memcpy(rooms[n], &id, 7);
        asked[n] = torc_slice_of(rooms[n], 7);
        HOLDS(torc_compact_put(block, SEED, torc_hash_slice(SEED, asked[n]), asked[n], asked[n]) ==
              1);
        n++;
    }
    expect_join_is_search(block, 0, asked, n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact_join");
    TCase *tcase = tcase_create("compact_join");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_join_gives_what_searches_give);
    tcase_add_test(tcase, equal_names_all_get_the_value);
    tcase_add_test(tcase, names_that_collide_are_found);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
