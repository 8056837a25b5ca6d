/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ops.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>

#include "ring/message.h"
#include "tests/support/prng.h"

/* The table once more, so that a test can walk it. */
static const struct {
    uint8_t op;
    const char *name, *shape;
} all_ops[] = {
#define ROW(number, id, name, arity, shape, flags, first, last, step) {(number), (name), (shape)},
    TORC_OPS(ROW)
#undef ROW
};
#define N_OPS (sizeof all_ops / sizeof all_ops[0])

/* What torc_op_find() must agree with. */
static enum torc_op find_slowly(const char *name, size_t len)
{
    for (size_t i = 0; i < N_OPS; i++) {
        if (all_ops[i].name == NULL || strlen(all_ops[i].name) != len) {
            continue;
        }
        size_t same = 0;
        while (same < len && tolower((unsigned char)name[same]) == all_ops[i].name[same]) {
            same++;
        }
        if (same == len) {
            return (enum torc_op)all_ops[i].op;
        }
    }
    return TORC_OP_NONE;
}

/* An exact-size copy on the heap, so that the address sanitizer sees a byte read too far. */
static enum torc_op find_tightly(const char *name, size_t len)
{
    char *copy = malloc(len + (len == 0));
    if (copy == NULL) {
        ck_abort_msg("out of memory");
    }
    memcpy(copy, name, len);
    enum torc_op op = torc_op_find(copy, len);
    free(copy);
    return op;
}

/* An assertion only when it fails: check writes a note at each. */
static void assert_found_alike(const char *name, size_t len)
{
    enum torc_op slow = find_slowly(name, len);
    enum torc_op found = find_tightly(name, len);
    if (slow != found) {
        ck_abort_msg("\"%.*s\" is %d, not %d", (int)len, name, (int)found, (int)slow);
    }
}

START_TEST(every_name_is_found_in_any_case)
{
    for (size_t i = 0; i < N_OPS; i++) {
        if (all_ops[i].name == NULL) {
            continue;
        }
        size_t len = strlen(all_ops[i].name);
        char word[TORC_OP_NAME_BYTES + 1];
        ck_assert_uint_le(len, TORC_OP_NAME_BYTES);
        for (unsigned style = 0; style < 3; style++) {
            for (size_t j = 0; j < len; j++) {
                int c = (unsigned char)all_ops[i].name[j];
                bool upper = style == 1 || (style == 2 && j % 2 == 0);
                word[j] = (char)(upper ? toupper(c) : c);
            }
            ck_assert_int_eq(find_tightly(word, len), all_ops[i].op);
        }
    }
}
END_TEST

START_TEST(a_name_with_any_one_byte_changed_is_another_name)
{
    for (size_t i = 0; i < N_OPS; i++) {
        if (all_ops[i].name == NULL) {
            continue;
        }
        size_t len = strlen(all_ops[i].name);
        char word[TORC_OP_NAME_BYTES + 1];
        for (size_t j = 0; j < len; j++) {
            memcpy(word, all_ops[i].name, len);
            for (int byte = 0; byte < 256; byte++) {
                word[j] = (char)byte;
                assert_found_alike(word, len);
            }
        }
    }
}
END_TEST

START_TEST(prefixes_and_extensions_of_names_are_not_found)
{
    for (size_t i = 0; i < N_OPS; i++) {
        if (all_ops[i].name == NULL) {
            continue;
        }
        size_t len = strlen(all_ops[i].name);
        for (size_t cut = 0; cut < len; cut++) {
            assert_found_alike(all_ops[i].name, cut);
        }
        char longer[TORC_OP_NAME_BYTES + 2] = {0};
        memcpy(longer, all_ops[i].name, len);
        for (int byte = 0; byte < 256; byte++) {
            longer[len] = (char)byte;
            assert_found_alike(longer, len + 1);
        }
    }
    ck_assert_int_eq(torc_op_find(NULL, 0), TORC_OP_NONE);
}
END_TEST

START_TEST(random_words_are_found_as_a_plain_scan_finds_them)
{
    struct torc_prng prng = {torc_test_seed(0x0905)};
    uint64_t n = torc_test_ops(200000);
    for (uint64_t step = 0; step < n; step++) {
        char word[24];
        size_t len = torc_prng_below(&prng, sizeof word);
        for (size_t i = 0; i < len; i++) {
            word[i] = "hgsetdlmcanEHX|y"[torc_prng_below(&prng, 16)];
        }
        assert_found_alike(word, len);
    }
}
END_TEST

START_TEST(numbers_that_are_no_op_have_an_empty_entry)
{
    for (unsigned op = 0; op < 256; op++) {
        const struct torc_op_info *info = torc_op_info((uint8_t)op);
        bool known = false;
        for (size_t i = 0; i < N_OPS; i++) {
            known |= all_ops[i].op == op;
        }
        if (known) {
            ck_assert_ptr_nonnull(info->shape);
        } else {
            ck_assert_mem_eq(info, &(struct torc_op_info){0}, sizeof *info);
        }
    }
}
END_TEST

START_TEST(every_shape_keeps_to_the_grammar)
{
    for (size_t i = 0; i < N_OPS; i++) {
        const struct torc_op_info *info = torc_op_info(all_ops[i].op);
        ck_assert_str_eq(info->shape, all_ops[i].shape);
        unsigned numbers = 0;
        unsigned fixed = 0;
        unsigned group = 0;
        const char *c = info->shape;
        for (; *c != '\0' && *c != '*'; c++) {
            ck_assert_msg(strchr("uiks", *c) != NULL, "%s", info->shape);
            *(*c == 'u' || *c == 'i' ? &numbers : &fixed) += 1;
        }
        if (*c == '*') {
            for (c++; *c != '\0'; c++, group++) {
                ck_assert_msg(*c == 'k' || *c == 's', "%s", info->shape);
            }
            ck_assert_uint_ge(group, 1);
        }
        ck_assert_uint_le(numbers, TORC_MESSAGE_NUMBERS);
        ck_assert_uint_le(group, 2);
        ck_assert_uint_eq(info->n_numbers, numbers);
        ck_assert_uint_eq(info->n_fixed, fixed);
        ck_assert_uint_eq(info->group, group);
    }
}
END_TEST

START_TEST(arity_and_shape_agree)
{
    for (size_t i = 0; i < N_OPS; i++) {
        const struct torc_op_info *info = torc_op_info(all_ops[i].op);
        if (info->name == NULL) {
            continue;
        }
        size_t name_words = strchr(info->name, '|') != NULL ? 2 : 1;
        size_t least = name_words + info->n_numbers + info->n_fixed;
        if (info->group == 0) {
            ck_assert_int_eq(info->arity, (int)least);
        } else {
            ck_assert_int_le(info->arity, -(int)least);
        }
        ck_assert(torc_op_arity_is_ok(info, (size_t)abs(info->arity)));
        ck_assert(!torc_op_arity_is_ok(info, (size_t)abs(info->arity) - 1));
        ck_assert_int_eq(torc_op_arity_is_ok(info, (size_t)abs(info->arity) + 1), info->arity < 0);
    }
}
END_TEST

START_TEST(names_and_numbers_are_unique)
{
    for (size_t i = 0; i < N_OPS; i++) {
        for (size_t j = 0; j < i; j++) {
            ck_assert_uint_ne(all_ops[i].op, all_ops[j].op);
            if (all_ops[i].name != NULL && all_ops[j].name != NULL) {
                ck_assert_str_ne(all_ops[i].name, all_ops[j].name);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops");
    TCase *tcase = tcase_create("ops");
    tcase_add_test(tcase, every_name_is_found_in_any_case);
    tcase_add_test(tcase, a_name_with_any_one_byte_changed_is_another_name);
    tcase_add_test(tcase, prefixes_and_extensions_of_names_are_not_found);
    tcase_add_test(tcase, random_words_are_found_as_a_plain_scan_finds_them);
    tcase_add_test(tcase, numbers_that_are_no_op_have_an_empty_entry);
    tcase_add_test(tcase, every_shape_keeps_to_the_grammar);
    tcase_add_test(tcase, arity_and_shape_agree);
    tcase_add_test(tcase, names_and_numbers_are_unique);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
