/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/line_private.h"

#include <check.h>
#include <stdlib.h>

#include "tests/support/prng.h"

/* A line as a list: natives first. References are numbers that say who is who. */
struct model {
    uint8_t fingerprints[TORC_LINE_SLOTS];
    uint64_t refs[TORC_LINE_SLOTS];
    bool native[TORC_LINE_SLOTS];
    bool marked[TORC_LINE_SLOTS];
    unsigned count;
};

static unsigned model_natives(const struct model *model)
{
    unsigned natives = 0;
    for (unsigned i = 0; i < model->count; i++) {
        natives += model->native[i];
    }
    return natives;
}

/* The line holds what the model holds, natives in the first slots. */
static void check_same(const struct torc_line *line, const struct model *model)
{
    ck_assert_uint_eq(torc_line_count(line), model->count);
    ck_assert_uint_eq(torc_line_natives(line), model_natives(model));
    for (unsigned i = 0; i < model->count; i++) {
        unsigned found = 0;
        for (unsigned slot = 0; slot < torc_line_count(line); slot++) {
            if (torc_line_ref(line, slot) == model->refs[i]) {
                ck_assert_uint_eq(line->fingerprints[slot], model->fingerprints[i]);
                ck_assert(model->native[i] == (slot < torc_line_natives(line)));
                found++;
            }
        }
        ck_assert_uint_eq(found, 1);
    }
}

/* Every entry has the mark that it had, wherever it is now. */
static void check_marks(const struct torc_line *line, const struct model *model)
{
    ck_assert_uint_eq(line->marks >> TORC_LINE_SLOTS, 0);
    for (unsigned i = 0; i < model->count; i++) {
        for (unsigned slot = 0; slot < torc_line_count(line); slot++) {
            if (torc_line_ref(line, slot) == model->refs[i]) {
                ck_assert(torc_line_is_marked(line, slot) == model->marked[i]);
            }
        }
    }
}

static void model_remove(struct model *model, uint64_t ref)
{
    for (unsigned i = 0; i < model->count; i++) {
        if (model->refs[i] == ref) {
            model->count--;
            model->refs[i] = model->refs[model->count];
            model->native[i] = model->native[model->count];
            model->fingerprints[i] = model->fingerprints[model->count];
            model->marked[i] = model->marked[model->count];
            return;
        }
    }
    ck_abort_msg("not in the model");
}

START_TEST(a_line_holds_what_was_put_and_natives_come_first)
{
    struct torc_prng prng = {torc_test_seed(1)};
    struct torc_line line = {0};
    struct model model = {.count = 0};
    uint64_t next_ref = 1;
    for (int step = 0; step < 5000; step++) {
        uint64_t dice = torc_prng_below(&prng, 100);
        unsigned slot = (unsigned)torc_prng_below(&prng, TORC_LINE_SLOTS);
        if (dice < 55 && !torc_line_is_full(&line)) {
            /* Both ends of the 40 bits, so that a neighbour's bytes would show. */
            uint64_t ref = next_ref++ % 2 == 0 ? next_ref : (1ull << 40) - next_ref;
            uint8_t fingerprint = (uint8_t)torc_prng_next(&prng);
            model.refs[model.count] = ref;
            model.fingerprints[model.count] = fingerprint;
            model.native[model.count] = dice < 30;
            model.marked[model.count] = false;
            model.count++;
            if (dice < 30) {
                torc_line_put_native(&line, fingerprint, ref);
            } else {
                torc_line_put_guest(&line, fingerprint, ref);
            }
        } else if (dice < 90 && slot < model.count) {
            model_remove(&model, torc_line_ref(&line, slot));
            torc_line_take(&line, slot);
        } else if (dice < 96 && slot < model.count && slot >= torc_line_natives(&line)) {
            for (unsigned i = 0; i < model.count; i++) {
                model.native[i] |= model.refs[i] == torc_line_ref(&line, slot);
            }
            torc_line_make_native(&line, slot);
        } else if (dice >= 98) {
            for (unsigned i = model.count; i-- > 0;) {
                if (model.native[i]) {
                    model_remove(&model, model.refs[i]);
                }
            }
            torc_line_drop_natives(&line);
        }
        for (unsigned i = 0; i < model.count; i++) {
            if (torc_line_ref(&line, slot) == model.refs[i] && slot < torc_line_count(&line)) {
                torc_line_mark(&line, 1u << slot);
                model.marked[i] = true;
            }
        }
        if (dice == 97) {
            torc_line_clear_marks(&line);
            memset(model.marked, 0, sizeof model.marked);
        }
        check_same(&line, &model);
        check_marks(&line, &model);
    }
}
END_TEST

START_TEST(spilled_kinds_are_eight_bits_beside_the_counts)
{
    struct torc_line line = {0};
    torc_line_put_native(&line, 0xff, 1);
    for (unsigned kind = 0; kind < TORC_LINE_KINDS; kind++) {
        ck_assert(!torc_line_has_spilled(&line, kind));
        torc_line_set_spilled(&line, kind);
        ck_assert(torc_line_has_spilled(&line, kind));
        ck_assert_uint_eq(torc_line_spilled(&line), 1u << kind);
        ck_assert_uint_eq(torc_line_count(&line), 1);
        ck_assert_uint_eq(torc_line_natives(&line), 1);
        torc_line_clear_spilled(&line, kind);
        ck_assert_uint_eq(torc_line_spilled(&line), 0);
    }
    for (unsigned i = 1; i < TORC_LINE_SLOTS; i++) {
        torc_line_put_guest(&line, (uint8_t)i, i + 1);
    }
    ck_assert(torc_line_is_full(&line));
    ck_assert_uint_eq(torc_line_native_slots(&line), 1);
    ck_assert_uint_eq(torc_line_guest_slots(&line), 0x3fe);
    ck_assert_uint_eq(torc_line_kind(0xf5), 5);
}
END_TEST

START_TEST(the_vector_match_equals_the_scalar_one)
{
    const unsigned all = (1u << TORC_LINE_SLOTS) - 1;
    struct torc_prng prng = {torc_test_seed(2)};
    for (int step = 0; step < 2000; step++) {
        struct torc_line line;
        uint8_t *bytes = (uint8_t *)&line;
        for (size_t i = 0; i < sizeof line; i++) {
            bytes[i] = (uint8_t)(torc_prng_next(&prng) & 3); /* many equal ones */
        }
        bool all_equal = true;
        for (unsigned fingerprint = 0; fingerprint < 256; fingerprint++) {
            all_equal &= (torc_line_match(&line, (uint8_t)fingerprint) & all) ==
                         torc_line_match_scalar(&line, (uint8_t)fingerprint);
        }
        ck_assert(all_equal);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("line");
    TCase *tcase = tcase_create("line");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_line_holds_what_was_put_and_natives_come_first);
    tcase_add_test(tcase, spilled_kinds_are_eight_bits_beside_the_counts);
    tcase_add_test(tcase, the_vector_match_equals_the_scalar_one);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
