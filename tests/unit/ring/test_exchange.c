/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/exchange.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring/layout.h"
#include "tests/support/prng.h"

/* --- turns --- */

START_TEST(laps_start_at_one_and_alternate_request_and_reply)
{
    ck_assert_uint_eq(torc_turn_request(0, 3), 2);
    ck_assert_uint_eq(torc_turn_reply(0, 3), 3);
    ck_assert_uint_eq(torc_turn_request(7, 3), 2);
    ck_assert_uint_eq(torc_turn_request(8, 3), 4);
    ck_assert_uint_eq(torc_turn_reply(8, 3), 5);
}
END_TEST

START_TEST(a_turn_differs_from_those_of_the_laps_around_it_also_where_it_wraps)
{
    static const uint64_t laps[] = {0, (1ull << 30) - 2, (1ull << 31) - 2, (1ull << 32) - 2};
    for (unsigned log2 = 1; log2 <= 16; log2++) {
        for (unsigned i = 0; i < sizeof laps / sizeof laps[0]; i++) {
            for (uint64_t lap = laps[i]; lap < laps[i] + 4; lap++) {
                uint64_t pos = lap << log2 | 1;
                uint64_t next = pos + (1ull << log2);
                uint32_t request = torc_turn_request(pos, log2);
                ck_assert_uint_eq(torc_turn_reply(pos, log2), request + 1);
                ck_assert_uint_eq(torc_turn_request(next, log2), request + 2);
                ck_assert_uint_ne(torc_turn_request(next, log2), request);
                ck_assert_uint_eq(request % 2, 0);
            }
        }
    }
}
END_TEST

/* --- control words --- */

/* Also in docs/formats/ring.md. */
static const struct {
    uint32_t turn;
    uint16_t len;
    enum torc_slot_kind kind;
    uint64_t control;
} vectors[] = {
    {2, 46, TORC_SLOT_INLINE, 0x9701002e00000002},
    {3, 49, TORC_SLOT_INLINE, 0xb301003100000003},
    {4, 8, TORC_SLOT_AREA, 0x6b02000800000004},
    {0xfffffffe, 56, TORC_SLOT_INLINE, 0x97010038fffffffe},
};

static char *read_document(void)
{
    FILE *file = fopen(TORC_SOURCE_DIR "/docs/formats/ring.md", "re");
    ck_assert_ptr_nonnull(file);
    static char text[64 * 1024];
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    return text;
}

START_TEST(control_words_are_as_in_the_document)
{
    ck_assert_uint_eq(torc_control_make(vectors[_i].turn, vectors[_i].len, vectors[_i].kind),
                      vectors[_i].control);
    char line[128];
    (void)snprintf(line, sizeof line, "| %u | %u | %u | `%016llx` |", vectors[_i].turn,
                   vectors[_i].len, vectors[_i].kind, (unsigned long long)vectors[_i].control);
    ck_assert_msg(strstr(read_document(), line) != NULL, "docs/formats/ring.md lacks: %s", line);
}
END_TEST

START_TEST(a_control_word_gives_back_what_it_was_made_of)
{
    struct torc_prng prng = {.state = 1};
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t turn = (uint32_t)torc_prng_next(&prng);
        uint16_t len = (uint16_t)torc_prng_next(&prng);
        enum torc_slot_kind kind = i % 2 ? TORC_SLOT_INLINE : TORC_SLOT_AREA;
        uint64_t control = torc_control_make(turn, len, kind);
        ck_assert_uint_eq(torc_control_turn(control), turn);
        ck_assert_uint_eq(torc_control_len(control), len);
        ck_assert_uint_eq(torc_control_kind(control), kind);
        ck_assert(torc_control_is_sound(control));
    }
}
END_TEST

START_TEST(every_single_bit_error_of_a_control_word_shows)
{
    struct torc_prng prng = {.state = 2};
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t control = torc_control_make((uint32_t)torc_prng_next(&prng),
                                             (uint16_t)torc_prng_next(&prng), TORC_SLOT_INLINE);
        for (unsigned bit = 0; bit < 64; bit++) {
            ck_assert(!torc_control_is_sound(control ^ 1ull << bit));
        }
    }
}
END_TEST

START_TEST(a_control_word_of_zeros_is_no_message)
{
    /* What a hole in the memory reads as: sound, but of turn 0 and kind 0, which nobody expects. */
    ck_assert_uint_eq(torc_control_turn(0), 0);
    ck_assert_uint_eq(torc_control_kind(0), 0);
    ck_assert_uint_ne(torc_turn_request(0, 8) - 1, 0);
}
END_TEST

/* --- areas --- */

START_TEST(a_message_of_a_quarter_has_room_in_an_empty_area_wherever_it_stands)
{
    struct torc_area area = {.size = 4096};
    for (uint64_t at = 0; at <= 8192; at += TORC_AREA_ALIGN) {
        area.produced = area.freed = at;
        uint64_t start;
        ck_assert(torc_area_place(&area, torc_area_message_max(area.size), &start));
        ck_assert_uint_ge(start, at);
        uint32_t offset = torc_area_offset(&area, start);
        ck_assert_uint_le(offset + torc_area_message_max(area.size), area.size);
        ck_assert_uint_eq(offset % TORC_AREA_ALIGN, 0);
    }
}
END_TEST

START_TEST(a_message_that_would_pass_the_end_starts_at_the_front)
{
    struct torc_area area = {.size = 4096, .produced = 4096 - 64, .freed = 4096 - 64};
    uint64_t start;
    ck_assert(torc_area_place(&area, 64, &start));
    ck_assert_uint_eq(start, 4096 - 64);
    ck_assert(torc_area_place(&area, 65, &start));
    ck_assert_uint_eq(start, 4096);
    ck_assert_uint_eq(torc_area_offset(&area, start), 0);
    ck_assert_uint_eq(torc_area_end(start, 65), 4096 + 128);
}
END_TEST

START_TEST(a_full_area_has_no_room_until_some_is_freed)
{
    struct torc_area area = {.size = 4096};
    uint64_t start = 77;
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(torc_area_place(&area, 1024, &start));
        area.produced = torc_area_end(start, 1024);
    }
    start = 77;
    ck_assert(!torc_area_place(&area, 1, &start));
    ck_assert_uint_eq(start, 77);
    area.freed = 64;
    ck_assert(torc_area_place(&area, 64, &start));
    ck_assert(!torc_area_place(&area, 65, &start));
}
END_TEST

START_TEST(skipped_bytes_count_as_used)
{
    /* 1024 bytes in use at the front, the writer 64 bytes before the end. */
    struct torc_area area = {.size = 4096, .produced = 8192 - 64, .freed = 4096 + 1024};
    uint64_t start;
    ck_assert(torc_area_place(&area, 1024, &start));
    area.freed = 4096 + 960;
    ck_assert(!torc_area_place(&area, 1024, &start));
}
END_TEST

START_TEST(descriptors_stay_inside_the_area)
{
    const uint32_t size = 4096;
    static const struct {
        struct torc_descriptor descriptor;
        bool is_valid;
    } cases[] = {
        {{0, 0}, true},
        {{0, 1024}, true},
        {{4096 - 1024, 1024}, true},
        {{4096 - 1023, 1024}, false},
        {{4096, 0}, true},
        {{4096, 1}, false},
        {{4097, 0}, false},
        {{0, 1025}, false},
        {{UINT32_MAX, 0}, false},
        {{UINT32_MAX, UINT32_MAX}, false},
        {{0, UINT32_MAX}, false},
        {{0xfffffff0u, 0x20}, false},
        {{2048, 0xfffff800u}, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(torc_descriptor_is_valid(cases[i].descriptor, size) == cases[i].is_valid,
                      "case %u", i);
    }
}
END_TEST

START_TEST(sizes_are_powers_of_two_within_limits)
{
    ck_assert(!torc_slots_are_valid(0));
    ck_assert(!torc_slots_are_valid(1));
    ck_assert(torc_slots_are_valid(2));
    ck_assert(!torc_slots_are_valid(3));
    ck_assert(torc_slots_are_valid(65536));
    ck_assert(!torc_slots_are_valid(131072));
    ck_assert(!torc_slots_are_valid(1u << 31));
    ck_assert(!torc_area_bytes_are_valid(0));
    ck_assert(!torc_area_bytes_are_valid(2048));
    ck_assert(torc_area_bytes_are_valid(4096));
    ck_assert(!torc_area_bytes_are_valid(4097));
    ck_assert(torc_area_bytes_are_valid(64u << 20));
    ck_assert(!torc_area_bytes_are_valid(128u << 20));
    ck_assert(!torc_area_bytes_are_valid(1u << 31));
    ck_assert_uint_eq(torc_exchange_map_bytes(2), 4096);
    ck_assert_uint_eq(torc_exchange_map_bytes(65536), 4u << 20);
    ck_assert_uint_eq(torc_area_map_bytes(4096), 8192);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *turns = tcase_create("turns and control words");
    tcase_add_test(turns, laps_start_at_one_and_alternate_request_and_reply);
    tcase_add_test(turns, a_turn_differs_from_those_of_the_laps_around_it_also_where_it_wraps);
    tcase_add_loop_test(turns, control_words_are_as_in_the_document, 0,
                        (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_test(turns, a_control_word_gives_back_what_it_was_made_of);
    tcase_add_test(turns, every_single_bit_error_of_a_control_word_shows);
    tcase_add_test(turns, a_control_word_of_zeros_is_no_message);
    suite_add_tcase(suite, turns);
    TCase *areas = tcase_create("areas");
    tcase_add_test(areas, a_message_of_a_quarter_has_room_in_an_empty_area_wherever_it_stands);
    tcase_add_test(areas, a_message_that_would_pass_the_end_starts_at_the_front);
    tcase_add_test(areas, a_full_area_has_no_room_until_some_is_freed);
    tcase_add_test(areas, skipped_bytes_count_as_used);
    tcase_add_test(areas, descriptors_stay_inside_the_area);
    tcase_add_test(areas, sizes_are_powers_of_two_within_limits);
    suite_add_tcase(suite, areas);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
