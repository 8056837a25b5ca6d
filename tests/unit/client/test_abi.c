/* SPDX-License-Identifier: Apache-2.0
 *
 * The binary interface of libtorc: sizes, places and numbers that compiled programs rely on. A
 * change here needs a new SONAME. What the library exports is compared by install.sh.
 */
#include <check.h>
#include <stdlib.h>

#include "core/base.h"
#include "torc/torc.h"

#define AT(type, member, offset) static_assert(offsetof(struct type, member) == (offset), "ABI")

static_assert(sizeof(void *) == 8, "the numbers below are those of 64-bit systems");

static_assert(sizeof(struct torc_bytes) == 16, "ABI");
AT(torc_bytes, data, 0);
AT(torc_bytes, len, 8);

static_assert(sizeof(struct torc_options) == 88, "ABI");
AT(torc_options, socket, 0);
AT(torc_options, name, 8);
AT(torc_options, slots, 16);
AT(torc_options, request_area_bytes, 20);
AT(torc_options, reply_area_bytes, 24);
AT(torc_options, database, 28);
AT(torc_options, deadline_ns, 32);
AT(torc_options, spin_ns, 40);
AT(torc_options, spin, 48);
AT(torc_options, reserved_word, 52);
AT(torc_options, reserved, 56);

static_assert(sizeof(struct torc_result) == 88, "ABI");
AT(torc_result, kind, 0);
AT(torc_result, error, 4);
AT(torc_result, integer, 8);
AT(torc_result, cursor, 16);
AT(torc_result, string, 24);
AT(torc_result, count, 40);
AT(torc_result, tag, 48);
AT(torc_result, impl, 56);
AT(torc_result, impl_word, 72);

static_assert(sizeof(struct torc_loan) == 8, "ABI");
AT(torc_loan, id, 0);

static_assert(sizeof(enum torc_kind) == 4 && sizeof(enum torc_spin) == 4, "ABI");
static_assert(TORC_NIL == 0 && TORC_OK_REPLY == 1 && TORC_INTEGER == 2 && TORC_STRING == 3 &&
                  TORC_SIMPLE == 4 && TORC_ARRAY == 5 && TORC_MAP == 6 && TORC_CURSOR == 7 &&
                  TORC_ERROR == 8,
              "ABI");
static_assert(TORC_SPIN_ADAPTIVE == 0 && TORC_SPIN_BUSY == 1 && TORC_SPIN_YIELD == 2, "ABI");

static_assert(sizeof(enum torc_flag) == 4 && TORC_FLAG_NX == 1 && TORC_FLAG_XX == 2 &&
                  TORC_FLAG_GT == 4 && TORC_FLAG_LT == 8 && TORC_FLAG_FNX == 16 &&
                  TORC_FLAG_FXX == 32 && TORC_FLAG_PX == 64 && TORC_FLAG_PXAT == 128 &&
                  TORC_FLAG_KEEPTTL == 256 && TORC_FLAG_PERSIST == 512 && TORC_FLAG_REPLACE == 1024,
              "ABI");
static_assert(TORC_FIELD_ABSENT == -2 && TORC_FIELD_NO_TIME == -1 && TORC_FIELD_REFUSED == 0 &&
                  TORC_FIELD_CHANGED == 1 && TORC_FIELD_REMOVED == 2 && TORC_NO_TIME == -1 &&
                  TORC_ABSENT == -2,
              "ABI");

/* What is above is checked by the compiler; this is what a program sees that zeroes its structs. */
START_TEST(zeroed_structs_are_the_defaults)
{
    static const struct torc_options options;
    static const struct torc_result result;
    struct torc *torc;
    const char *why;
    ck_assert_int_eq(setenv("TORC_SOCKET", "/nowhere/torc.sock", 1), 0);
    ck_assert_int_eq(torc_open(&options, &torc, &why), TORC_ENOENT);
    ck_assert_ptr_null(torc_result_at(&result, 0).data);
    ck_assert_int_eq(result.kind, TORC_NIL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi");
    TCase *tcase = tcase_create("abi");
    tcase_add_test(tcase, zeroed_structs_are_the_defaults);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
