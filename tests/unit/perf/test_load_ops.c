/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/load_ops.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/prng.h"

static const char *const shapes[] = {"small5", "small14", "million", "wide", "feast"};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

static struct torc_shape shape;
static struct torc_load_spec spec;
static struct torc_load_ops *ops;
static char text[TORC_LOAD_TEXT_BYTES];

static void make_shape(const char *name, uint64_t fields, uint64_t hashes)
{
    char error[TORC_SHAPE_ERROR_BYTES];
    ck_assert_int_eq(torc_shape_init(&shape, name, fields, hashes, 0, error), 0);
    spec = (struct torc_load_spec){.shape = &shape, .seed = 3, .salt = 11};
}

static void make_ops(enum torc_load_op op)
{
    char error[TORC_LOAD_ERROR_BYTES];
    spec.op = op;
    ck_assert_msg(torc_load_ops_create(&spec, &ops, error) == 0, "%s", error);
}

static void tear_down(void)
{
    torc_load_ops_destroy(ops);
    ops = NULL;
    torc_shape_fini(&shape);
}

/* A field of a request, by number; the test fails if it is none. */
static uint32_t field_of(struct torc_bytes word)
{
    uint32_t field = 0;
    ck_assert_int_eq(torc_shape_find_field(&shape, torc_slice_of(word.data, word.len), &field), 0);
    return field;
}

/* What a server with just the loaded data would answer, for the commands that read one field. */
static struct torc_bytes elements[4096];

static struct torc_bytes element_at(const struct torc_load_road *road, size_t i)
{
    (void)road;
    return elements[i];
}

static const struct torc_load_road_ops road_ops = {.at = element_at};
static const struct torc_load_road road = {.ops = &road_ops, .name = "test"};

START_TEST(fields_of_one_hmget_differ)
{
    make_shape(shapes[_i], 0, 0);
    make_ops(TORC_LOAD_OP_HMGET);
    uint8_t *seen = calloc(shape.fields_most, 1);
    ck_assert_ptr_nonnull(seen);
    for (uint64_t n = 0; n < 60; n++) {
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, n, &flight, &request);
        ck_assert_int_eq(request.verb, TORC_LOAD_HMGET);
        ck_assert_uint_eq(request.n_words, 1u + (shape.kind == TORC_SHAPE_WIDE ? 94 : 10));
        for (size_t i = 1; i < request.n_words; i++) {
            uint32_t field = field_of(request.words[i]);
            ck_assert_uint_lt(field, torc_shape_fields(&shape, flight.cell.hash));
            ck_assert_uint_eq(seen[field]++, 0);
        }
        for (size_t i = 1; i < request.n_words; i++) {
            seen[field_of(request.words[i])] = 0;
        }
    }
    free(seen);
}
END_TEST

/* A number of fields that primes of the stride divide. */
START_TEST(all_fields_of_a_hash_can_be_asked_for)
{
    make_shape("million", 4000, 1);
    spec.ask = 4000;
    make_ops(TORC_LOAD_OP_HMGET);
    struct torc_load_flight flight;
    struct torc_load_request request;
    for (uint64_t n = 0; n < 20; n++) {
        uint8_t seen[4000] = {0};
        torc_load_ops_make(ops, n, &flight, &request);
        for (size_t i = 1; i < request.n_words; i++) {
            ck_assert_uint_eq(seen[field_of(request.words[i])]++, 0);
        }
    }
}
END_TEST

START_TEST(a_stream_is_the_same_for_the_same_seed)
{
    make_shape("small14", 0, 100);
    struct torc_load_ops *first = NULL;
    make_ops(TORC_LOAD_OP_HGET);
    first = ops;
    make_ops(TORC_LOAD_OP_HGET);
    unsigned hashes_of_zero = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        struct torc_load_flight a;
        struct torc_load_flight b;
        struct torc_load_request request;
        torc_load_ops_make(first, n, &a, &request);
        torc_load_ops_make(ops, n, &b, &request);
        ck_assert_uint_eq(a.cell.hash, b.cell.hash);
        ck_assert_uint_eq(a.cell.field, b.cell.field);
        hashes_of_zero += a.cell.hash == 0 ? 1 : 0;
    }
    ck_assert_uint_lt(hashes_of_zero, 50); /* and it is spread */
    torc_load_ops_destroy(first);
}
END_TEST

/* A block changes each of its fields once, then puts each back. */
START_TEST(blocks_change_different_fields_and_put_them_back)
{
    static const enum torc_load_op kinds[] = {TORC_LOAD_OP_HSET_WIDTH, TORC_LOAD_OP_HDEL_HSET};
    make_shape("small5", 0, 50);
    make_ops(kinds[_i]);
    uint64_t period = torc_load_ops_period(ops);
    ck_assert_uint_eq(period, 2048);
    uint8_t *changed = calloc(shape.cells, 1);
    ck_assert_ptr_nonnull(changed);
    for (uint64_t n = 0; n < 2 * period; n++) {
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, n, &flight, &request);
        uint64_t cell = flight.cell.hash * shape.fields + flight.cell.field;
        bool is_back = n % period >= period / 2;
        ck_assert_uint_eq(changed[cell], is_back ? 1 : 0);
        changed[cell] = is_back ? 0 : 1;
        if (kinds[_i] == TORC_LOAD_OP_HSET_WIDTH) {
            ck_assert_int_eq(request.verb, TORC_LOAD_HSET);
            ck_assert_uint_eq(request.words[2].len, is_back ? 16u : 64u);
        } else {
            ck_assert_int_eq(request.verb, is_back ? TORC_LOAD_HSET : TORC_LOAD_HDEL);
            ck_assert_int_eq(flight.expected, 1);
        }
    }
    free(changed);
}
END_TEST

START_TEST(updates_of_a_field_write_other_bytes_each_time)
{
    make_shape("small14", 4, 1);
    make_ops(TORC_LOAD_OP_HSET_SAME);
    uint8_t last[4][16];
    for (uint32_t field = 0; field < 4; field++) {
        torc_shape_value((struct torc_shape_cell){0, field}, spec.salt, 16, last[field]);
    }
    for (uint64_t n = 0; n < 2000; n++) {
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, n, &flight, &request);
        ck_assert_uint_eq(request.words[2].len, 16);
        ck_assert_mem_ne(request.words[2].data, last[flight.cell.field], 16);
        memcpy(last[flight.cell.field], request.words[2].data, 16);
    }
}
END_TEST

START_TEST(delete_follows_insert)
{
    make_shape("feast", 0, 30);
    struct torc_load_ops *insert = NULL;
    make_ops(TORC_LOAD_OP_INSERT);
    insert = ops;
    make_ops(TORC_LOAD_OP_DELETE);
    for (uint64_t n = 0; n < 300; n++) {
        struct torc_load_flight in;
        struct torc_load_flight out;
        struct torc_load_request request;
        torc_load_ops_make(insert, n, &in, &request);
        /* New: one more in each hash with each 30. */
        ck_assert_uint_eq(in.cell.field, torc_shape_fields(&shape, in.cell.hash) + n / 30);
        torc_load_ops_make(ops, n, &out, &request);
        ck_assert_uint_eq(in.cell.hash, out.cell.hash);
        ck_assert_uint_eq(in.cell.field, out.cell.field);
    }
    torc_load_ops_destroy(insert);
}
END_TEST

/* A naive model: the length of each value, 0 where there is no field. */
START_TEST(mixed_names_what_is_there_and_keeps_or_changes_the_length)
{
    enum { HASHES = 20, FIELDS = 1000 };
    static uint32_t model[HASHES][FIELDS];
    memset(model, 0, sizeof model);
    make_shape("small5", 10, HASHES);
    for (size_t hash = 0; hash < HASHES; hash++) {
        for (size_t field = 0; field < 10; field++) {
            model[hash][field] = 16;
        }
    }
    make_ops(TORC_LOAD_OP_MIXED);
    unsigned counts[TORC_LOAD_MIXED_KINDS] = {0};
    for (uint64_t n = 0; n < 8000; n++) {
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, n, &flight, &request);
        uint32_t *len = &model[flight.cell.hash][flight.cell.field];
        const char *kind = torc_load_ops_kind_name(flight.kind);
        uint32_t written = request.verb == TORC_LOAD_HSET ? (uint32_t)request.words[2].len : 0;
        if (strcmp(kind, "insert") == 0) {
            ck_assert(*len == 0 && written == 16 && flight.expected == 1);
        } else if (strcmp(kind, "update") == 0) {
            ck_assert(*len > 0 && written == *len && flight.expected == 0);
        } else if (strcmp(kind, "grow") == 0) {
            ck_assert(*len > 0 && written == *len + 48 && flight.expected == 0);
        } else {
            ck_assert_int_eq(request.verb, TORC_LOAD_HDEL);
            ck_assert(*len > 0 && flight.expected == 1);
        }
        *len = written;
        counts[flight.kind]++;
    }
    for (unsigned kind = 0; kind < TORC_LOAD_MIXED_KINDS; kind++) {
        ck_assert(counts[kind] > 1800 && counts[kind] < 2200);
    }
}
END_TEST

/* All that a pass writes or reads, once. */
START_TEST(one_pass_touches_each_field_once)
{
    static const enum torc_load_op kinds[] = {TORC_LOAD_OP_LOAD_WHOLE, TORC_LOAD_OP_LOAD_FIELDS,
                                              TORC_LOAD_OP_GROW};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        make_shape(shapes[_i], strcmp(shapes[_i], "million") == 0 ? 1000 : 0, 5);
        make_ops(kinds[kind]);
        uint8_t *seen = calloc(shape.hashes * shape.fields_most, 1);
        ck_assert_ptr_nonnull(seen);
        uint64_t touched = 0;
        uint64_t limit = torc_load_ops_limit(ops);
        for (uint64_t n = 0; n < limit; n++) {
            struct torc_load_flight flight;
            struct torc_load_request request;
            torc_load_ops_make(ops, n, &flight, &request);
            ck_assert_int_eq(request.verb, TORC_LOAD_HSET);
            for (size_t i = 1; i < request.n_words; i += 2) {
                uint32_t field = field_of(request.words[i]);
                struct torc_bytes value = request.words[i + 1];
                ck_assert_uint_eq(seen[flight.cell.hash * shape.fields_most + field]++, 0);
                struct torc_shape_cell cell = {flight.cell.hash, field};
                struct torc_slice slice = torc_slice_of(value.data, value.len);
                ck_assert(torc_shape_value_is_of(cell, slice));
                ck_assert(torc_shape_value_has_salt(slice, 11));
                touched++;
            }
        }
        ck_assert_uint_eq(touched, shape.cells);
        free(seen);
        tear_down();
    }
}
END_TEST

START_TEST(an_hgetall_is_right_in_any_order_and_wrong_with_one_twice)
{
    make_shape("small14", 8, 1);
    make_ops(TORC_LOAD_OP_HGETALL);
    uint8_t names[8][TORC_SHAPE_FIELD_BYTES];
    uint8_t values[8][16];
    for (size_t i = 0; i < 8; i++) {
        struct torc_shape_cell cell = {0, 7 - (uint32_t)i};
        elements[2 * i] = torc_mem(names[i], torc_shape_field(&shape, cell.field, names[i]));
        torc_shape_value(cell, i, 16, values[i]);
        elements[2 * i + 1] = torc_mem(values[i], 16);
    }
    struct torc_load_flight flight;
    struct torc_load_request request;
    struct torc_load_reply reply = {.kind = TORC_LOAD_ARRAY, .count = 16};
    torc_load_ops_make(ops, 0, &flight, &request);
    ck_assert(torc_load_ops_check(ops, &road, &flight, &reply, text));
    values[3][9] ^= 1;
    ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
    ck_assert_ptr_nonnull(strstr(text, "not a value of this field"));
    values[3][9] ^= 1;
    elements[0] = elements[2];
    elements[1] = elements[3];
    ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
    ck_assert_ptr_nonnull(strstr(text, "comes twice"));
    reply.count = 14;
    ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
}
END_TEST

START_TEST(a_reply_of_a_wrong_kind_is_refused_by_every_operation)
{
    make_shape("small14", 0, 50);
    for (unsigned op = 0; op < TORC_LOAD_OPS; op++) {
        make_ops((enum torc_load_op)op);
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, 0, &flight, &request);
        struct torc_load_reply reply = {.kind = TORC_LOAD_ERROR, .text = torc_str("ERR no")};
        ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
        ck_assert_ptr_nonnull(strstr(text, "ERR no"));
        reply.kind = TORC_LOAD_STATUS;
        ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
        reply = (struct torc_load_reply){.kind = TORC_LOAD_STRING, .text = torc_str("x")};
        ck_assert(!torc_load_ops_check(ops, &road, &flight, &reply, text));
        torc_load_ops_destroy(ops);
        ops = NULL;
    }
}
END_TEST

static struct torc_slice word_at(const struct torc_load_request *request, size_t i)
{
    ck_assert_uint_lt(i, request->n_words);
    return torc_slice_of(request->words[i].data, request->words[i].len);
}

/* What the words say is what the numbers say: one road takes the words, the other the numbers. */
START_TEST(times_are_the_same_as_words_and_as_numbers)
{
    static const struct {
        size_t head;
        const char *option; /* in front of the time, if any */
        enum torc_load_op op;
        bool is_absolute;
    } cases[] = {
        {TORC_LOAD_HSETEX_HEAD, "PXAT", TORC_LOAD_OP_LOAD_WHOLE_EX, true},
        {TORC_LOAD_HSETEX_HEAD, "PX", TORC_LOAD_OP_LOAD_FIELDS_EX, false},
        {TORC_LOAD_HSETEX_HEAD, "PX", TORC_LOAD_OP_HSETEX, false},
        {TORC_LOAD_HSETEX_HEAD, "PXAT", TORC_LOAD_OP_HSETEX_AT, true},
        {TORC_LOAD_HGETEX_HEAD, "PX", TORC_LOAD_OP_HGETEX, false},
        {TORC_LOAD_HPEXPIRE_HEAD, NULL, TORC_LOAD_OP_HEXPIRE, false},
    };
    make_shape("small14", 8, 100);
    spec.ttl_ms = 4321;
    make_ops(cases[_i].op);
    for (uint64_t n = 0; n < 50; n++) {
        struct torc_load_flight flight;
        struct torc_load_request request;
        torc_load_ops_make(ops, n, &flight, &request);
        size_t at = 1;
        if (cases[_i].option != NULL) {
            ck_assert(torc_slice_equal(word_at(&request, at++), torc_slice_str(cases[_i].option)));
        }
        char number[32];
        (void)snprintf(number, sizeof number, "%" PRId64, request.ms);
        ck_assert(torc_slice_equal(word_at(&request, at++), torc_slice_str(number)));
        ck_assert(torc_slice_equal(word_at(&request, at++), torc_slice_str("FIELDS")));
        size_t each = request.verb == TORC_LOAD_HSETEX ? 2 : 1;
        ck_assert_uint_eq(at + 1, cases[_i].head);
        (void)snprintf(number, sizeof number, "%zu", (request.n_words - cases[_i].head) / each);
        ck_assert(torc_slice_equal(word_at(&request, at++), torc_slice_str(number)));
        ck_assert_uint_eq(field_of(request.words[at]), flight.cell.field);
        ck_assert_int_eq(request.is_absolute, cases[_i].is_absolute);
        ck_assert(cases[_i].is_absolute ? request.ms > 1600000000000 : request.ms == 4321);
    }
}
END_TEST

START_TEST(operations_are_found_by_their_names)
{
    for (unsigned op = 0; op < TORC_LOAD_OPS; op++) {
        enum torc_load_op found = TORC_LOAD_OPS;
        ck_assert_int_eq(torc_load_op_find(torc_load_op_name((enum torc_load_op)op), &found), 0);
        ck_assert_uint_eq(found, op);
        ck_assert_uint_gt(strlen(torc_load_op_about((enum torc_load_op)op)), 3);
    }
    enum torc_load_op found = TORC_LOAD_OP_PING;
    ck_assert_int_eq(torc_load_op_find("hge", &found), -ENOENT);
    ck_assert_int_eq(found, TORC_LOAD_OP_PING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_ops");
    TCase *tcase = tcase_create("load_ops");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_loop_test(tcase, fields_of_one_hmget_differ, 0, N_SHAPES);
    tcase_add_test(tcase, all_fields_of_a_hash_can_be_asked_for);
    tcase_add_test(tcase, a_stream_is_the_same_for_the_same_seed);
    tcase_add_loop_test(tcase, blocks_change_different_fields_and_put_them_back, 0, 2);
    tcase_add_test(tcase, updates_of_a_field_write_other_bytes_each_time);
    tcase_add_test(tcase, delete_follows_insert);
    tcase_add_test(tcase, mixed_names_what_is_there_and_keeps_or_changes_the_length);
    tcase_add_loop_test(tcase, one_pass_touches_each_field_once, 0, N_SHAPES);
    tcase_add_test(tcase, an_hgetall_is_right_in_any_order_and_wrong_with_one_twice);
    tcase_add_test(tcase, a_reply_of_a_wrong_kind_is_refused_by_every_operation);
    tcase_add_loop_test(tcase, times_are_the_same_as_words_and_as_numbers, 0, 6);
    tcase_add_test(tcase, operations_are_found_by_their_names);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
