/* SPDX-License-Identifier: Apache-2.0 */
#include "core/segment.h"

#include <check.h>
#include <stdlib.h>

#include "core/arena_private.h"

static struct torc_arena *arena;
static struct torc_stream *shared;

static void setup(void)
{
    struct torc_arena_options options = {
        .region = {.name = "torc-test-segment",
                   .capacity = 64 * TORC_MIB,
                   .huge = TORC_HUGE_NO,
                   .numa_node = -1},
    };
    ck_assert_int_eq(torc_arena_create(&options, &arena), 0);
    shared = torc_stream_shared(arena);
}

static void check_all(void)
{
    const char *why = "";
    ck_assert_msg(torc_arena_check(arena, &why) == 0, "%s", why);
}

static void teardown(void)
{
    check_all();
    torc_arena_destroy(arena);
}

static uint64_t record(uint64_t bytes)
{
    uint64_t ref = 0;
    ck_assert_int_eq(torc_record_alloc(arena, shared, bytes, &ref), 0);
    memset(torc_arena_at(arena, ref), (int)(bytes & 0xff), bytes);
    return ref;
}

static void drop(uint64_t ref, uint64_t bytes)
{
    torc_record_free(arena, shared, ref, bytes);
    check_all();
}

/* Fill one segment to its last byte with four records; returns the first. */
static const uint64_t quarter = TORC_SEGMENT_ROOM_BYTES / 4;
static uint64_t full_segment(void)
{
    static_assert(TORC_SEGMENT_ROOM_BYTES % 4 == 0, "four equal records fill a segment");
    uint64_t first = record(quarter);
    for (uint64_t i = 1; i < 4; i++) {
        ck_assert_uint_eq(record(quarter), first + i * quarter);
    }
    return first;
}

START_TEST(the_first_record_opens_a_segment_and_stands_behind_its_head)
{
    ck_assert_uint_eq(shared->owner, 0);
    ck_assert_uint_eq(shared->open, TORC_REF_NONE);
    uint64_t ref = record(1);
    ck_assert_uint_eq(ref, shared->open + TORC_SEGMENT_HEAD_BYTES);
    ck_assert_uint_eq(shared->open % TORC_SEGMENT_BYTES, 0);
    const struct torc_segment *segment = torc_segment_of(arena, ref, 1);
    ck_assert_uint_eq(segment->magic, TORC_SEGMENT_MAGIC);
    ck_assert_uint_eq(segment->kind, TORC_SEGMENT_OPEN);
    ck_assert_uint_eq(segment->used, 1);
    ck_assert_uint_eq(segment->live, 1);
    ck_assert_uint_eq(segment->n_pages, 64);
    ck_assert_uint_eq(record(30), ref + 1);
    ck_assert_uint_eq(record(7), ref + 31);
    ck_assert_uint_eq(shared->live, 38);
    ck_assert_uint_eq(shared->dead, 0);
    ck_assert_uint_eq(torc_arena_used(arena), TORC_SEGMENT_BYTES);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_SEGMENT), TORC_SEGMENT_BYTES);
}
END_TEST

START_TEST(a_segment_is_filled_to_its_last_byte)
{
    uint64_t first = full_segment();
    uint64_t segment = shared->open;
    ck_assert_uint_eq(shared->closed, TORC_REF_NONE);
    uint64_t next = record(1);
    ck_assert_uint_ne(shared->open, segment);
    ck_assert_uint_eq(next, shared->open + TORC_SEGMENT_HEAD_BYTES);
    ck_assert_uint_eq(shared->closed, segment);
    ck_assert_uint_eq(torc_segment_of(arena, first, quarter)->kind, TORC_SEGMENT_CLOSED);
    ck_assert_uint_eq(torc_segment_of(arena, first + 3 * quarter, quarter)->live,
                      TORC_SEGMENT_ROOM_BYTES);
}
END_TEST

START_TEST(a_record_that_does_not_fit_goes_to_the_next_segment)
{
    uint64_t first = record(TORC_RECORD_MAX_BYTES);
    record(TORC_RECORD_MAX_BYTES);
    record(TORC_RECORD_MAX_BYTES);
    uint64_t rest = TORC_SEGMENT_ROOM_BYTES - 3 * TORC_RECORD_MAX_BYTES;
    record(rest - 1);
    uint64_t next = record(2);
    ck_assert_uint_ge(next, first + TORC_SEGMENT_ROOM_BYTES);
    const struct torc_segment *segment = torc_segment_of(arena, first, TORC_RECORD_MAX_BYTES);
    ck_assert_uint_eq(segment->used, TORC_SEGMENT_ROOM_BYTES - 1);
    ck_assert_uint_eq(shared->dead, 0);
}
END_TEST

START_TEST(records_above_the_maximum_get_an_extent_each)
{
    record(5);
    const uint64_t sizes[] = {TORC_RECORD_MAX_BYTES + 1, 17ull * TORC_PAGE_BYTES - 64,
                              17ull * TORC_PAGE_BYTES - 63, 5 * TORC_MIB};
    const uint64_t pages[] = {17, 17, 18, 1281};
    uint64_t refs[4];
    uint64_t used = 0;
    for (size_t i = 0; i < 4; i++) {
        ck_assert(torc_record_is_extent(sizes[i]));
        refs[i] = record(sizes[i]);
        used += pages[i] * TORC_PAGE_BYTES;
        ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), used);
        ck_assert_uint_eq(torc_extent_bytes(sizes[i]), pages[i] * TORC_PAGE_BYTES);
        const struct torc_segment *extent = torc_segment_of(arena, refs[i], sizes[i]);
        ck_assert_uint_eq(extent->kind, TORC_SEGMENT_EXTENT);
        ck_assert_uint_eq(extent->live, sizes[i]);
        ck_assert_uint_eq(extent->n_pages, pages[i]);
        check_all();
    }
    ck_assert(!torc_record_is_extent(TORC_RECORD_MAX_BYTES));
    ck_assert_uint_eq(shared->live, 5 + sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    for (size_t i = 0; i < 4; i++) {
        drop(refs[(i + 1) % 4], sizes[(i + 1) % 4]);
    }
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_uint_eq(shared->extents, TORC_REF_NONE);
    ck_assert_uint_eq(shared->live, 5);
    ck_assert_uint_eq(shared->dead, 0);
}
END_TEST

START_TEST(a_record_that_cannot_be_had_changes_nothing)
{
    uint64_t first = record(10);
    struct torc_stream before = *shared;
    uint64_t ref = 4711;
    ck_assert_int_eq(torc_record_alloc(arena, shared, UINT64_MAX, &ref), -ENOSPC);
    ck_assert_int_eq(torc_record_alloc(arena, shared, TORC_ARENA_MAX_BYTES, &ref), -ENOSPC);
    ck_assert_int_eq(torc_record_alloc(arena, shared, 64 * TORC_MIB, &ref), -ENOSPC);
    torc_arena_set_limit(arena, TORC_SEGMENT_BYTES);
    ck_assert_int_eq(torc_record_alloc(arena, shared, TORC_RECORD_MAX_BYTES + 1, &ref), -ENOSPC);
    torc_arena_fail_after(arena, 1);
    ck_assert_int_eq(torc_record_alloc(arena, shared, 1, &ref), -ENOSPC);
    torc_arena_fail_after(arena, 0);
    ck_assert_uint_eq(ref, 4711);
    ck_assert_mem_eq(shared, &before, sizeof(before));
    /* The open segment can still be filled, then the limit is reached. */
    drop(first, 10);
    full_segment();
    before = *shared;
    ck_assert_int_eq(torc_record_alloc(arena, shared, 1, &ref), -ENOSPC);
    ck_assert_uint_eq(ref, 4711);
    ck_assert_mem_eq(shared, &before, sizeof(before));
}
END_TEST

START_TEST(the_last_record_of_the_open_segment_is_taken_back)
{
    uint64_t a = record(100);
    uint64_t b = record(200);
    uint64_t c = record(300);
    drop(c, 300);
    ck_assert_uint_eq(shared->live, 300);
    ck_assert_uint_eq(shared->dead, 0);
    ck_assert_uint_eq(record(50), c);
    drop(b, 200);
    ck_assert_uint_eq(shared->live, 150);
    ck_assert_uint_eq(shared->dead, 200);
    drop(c, 50);
    ck_assert_uint_eq(torc_segment_of(arena, a, 100)->used, 300);
    /* The last live one: from the front again. */
    drop(a, 100);
    ck_assert_uint_eq(shared->live, 0);
    ck_assert_uint_eq(shared->dead, 0);
    ck_assert_uint_ne(shared->open, TORC_REF_NONE);
    ck_assert_uint_eq(record(9), a);
}
END_TEST

START_TEST(a_closed_segment_goes_with_its_last_live_record)
{
    uint64_t first = full_segment();
    uint64_t other = full_segment();
    record(1);
    ck_assert_uint_eq(torc_arena_used(arena), 3ull * TORC_SEGMENT_BYTES);
    for (uint64_t i = 0; i < 3; i++) {
        drop(first + (i + 2) % 4 * quarter, quarter);
        ck_assert_uint_eq(shared->dead, (i + 1) * quarter);
    }
    ck_assert_uint_eq(torc_arena_used(arena), 3ull * TORC_SEGMENT_BYTES);
    drop(first + quarter, quarter);
    ck_assert_uint_eq(torc_arena_used(arena), 2ull * TORC_SEGMENT_BYTES);
    ck_assert_uint_eq(shared->dead, 0);
    ck_assert_uint_eq(shared->live, 4 * quarter + 1);
    ck_assert_uint_eq(shared->closed, other - TORC_SEGMENT_HEAD_BYTES);
}
END_TEST

START_TEST(the_cut_of_a_record_is_dead_or_taken_back)
{
    uint64_t a = record(100);
    uint64_t b = record(100);
    torc_record_trim(arena, shared, a, 100, 30);
    ck_assert_uint_eq(shared->live, 170);
    ck_assert_uint_eq(shared->dead, 30);
    torc_record_trim(arena, shared, b, 100, 99);
    ck_assert_uint_eq(shared->live, 71);
    ck_assert_uint_eq(shared->dead, 30);
    ck_assert_uint_eq(record(4), b + 1);
    check_all();
    drop(a, 70);
    ck_assert_uint_eq(shared->dead, 100);
    /* In a closed segment the end is not taken back. */
    drop(b + 1, 4);
    drop(b, 1);
    uint64_t first = full_segment();
    record(1);
    torc_record_trim(arena, shared, first + 3 * quarter, quarter, 5);
    ck_assert_uint_eq(shared->dead, 5);
    ck_assert_uint_eq(torc_segment_of(arena, first, quarter)->used, TORC_SEGMENT_ROOM_BYTES);
}
END_TEST

START_TEST(the_victim_has_the_most_dead_bytes_of_those_looked_at)
{
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 10), TORC_REF_NONE);
    uint64_t firsts[6];
    for (size_t i = 0; i < 6; i++) {
        firsts[i] = full_segment();
    }
    record(1);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 100), TORC_REF_NONE);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 0), TORC_REF_NONE);
    drop(firsts[1], quarter);
    drop(firsts[4], quarter);
    drop(firsts[4] + quarter, quarter);
    uint64_t one = firsts[1] - TORC_SEGMENT_HEAD_BYTES;
    uint64_t four = firsts[4] - TORC_SEGMENT_HEAD_BYTES;
    /* All of them, from any position. */
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 6), four);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 1000), four);
    /* Three by three: 0-2, 3-5, and around again. */
    ck_assert_uint_eq(shared->closed, firsts[0] - TORC_SEGMENT_HEAD_BYTES);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 3), one);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 3), four);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 1), TORC_REF_NONE);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 1), one);
    /* A victim emptied, the next is found. */
    drop(firsts[4] + 2 * quarter, quarter);
    drop(firsts[4] + 3 * quarter, quarter);
    ck_assert_uint_eq(torc_stream_victim(arena, shared, 5), one);
    check_all();
}
END_TEST

START_TEST(moving_goes_on_at_the_limit)
{
    uint64_t first = full_segment();
    uint64_t second = full_segment();
    drop(first, quarter);
    drop(first + quarter, quarter);
    torc_arena_set_limit(arena, torc_arena_used(arena));
    uint64_t ref = 0;
    ck_assert_int_eq(torc_record_alloc(arena, shared, 100, &ref), -ENOSPC);
    memset(torc_arena_at(arena, first + 2 * quarter), 0x55, quarter);
    ck_assert_int_eq(torc_record_move(arena, shared, first + 2 * quarter, quarter, &ref), 0);
    ck_assert_uint_eq(torc_arena_used(arena), torc_arena_limit(arena) + TORC_SEGMENT_BYTES);
    ck_assert_mem_eq(torc_arena_at(arena, ref), torc_arena_at(arena, first + 2 * quarter), quarter);
    drop(first + 2 * quarter, quarter);
    uint64_t other;
    ck_assert_int_eq(torc_record_move(arena, shared, first + 3 * quarter, quarter, &other), 0);
    ck_assert_uint_eq(other, ref + quarter);
    drop(first + 3 * quarter, quarter);
    /* The victim is gone; what was dead is room again. */
    ck_assert_uint_eq(torc_arena_used(arena), torc_arena_limit(arena));
    ck_assert_int_eq(torc_record_alloc(arena, shared, 2 * quarter, &other), -ENOSPC);
    ck_assert_int_eq(torc_record_alloc(arena, shared, quarter, &other), 0);
    /* But one segment is all: with a second stream at it, the limit holds. */
    struct torc_stream stream = {.owner = 0};
    torc_arena_set_limit(arena, torc_arena_used(arena) - TORC_SEGMENT_BYTES - 1);
    struct torc_stream before = stream;
    ck_assert_int_eq(torc_record_move(arena, &stream, second, quarter, &other), -ENOSPC);
    ck_assert_mem_eq(&stream, &before, sizeof(before));
}
END_TEST

START_TEST(a_stream_is_dropped_step_by_step)
{
    uint64_t root;
    ck_assert_int_eq(torc_arena_block_alloc(arena, 7, TORC_USE_ROOT, &root), 0);
    struct torc_stream *stream = (struct torc_stream *)torc_arena_at(arena, root);
    *stream = (struct torc_stream){.owner = root};
    ck_assert(!torc_stream_drop_step(arena, stream));
    uint64_t ref;
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(torc_record_alloc(arena, stream, quarter, &ref), 0);
    }
    ck_assert_uint_eq(torc_segment_of(arena, ref, quarter)->owner, root);
    ck_assert_int_eq(torc_record_alloc(arena, stream, TORC_MIB, &ref), 0);
    ck_assert_uint_eq(torc_segment_of(arena, ref, TORC_MIB)->owner, root);
    record(77);
    int n = 0;
    bool more = true;
    while (more) {
        more = torc_stream_drop_step(arena, stream);
        ck_assert_int_eq(torc_stream_check(arena, stream, NULL), 0);
        check_all();
        n++;
    }
    ck_assert_int_eq(n, 4); /* three segments and an extent */
    ck_assert_uint_eq(stream->live + stream->dead, 0);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_SEGMENT), TORC_SEGMENT_BYTES);
    ck_assert_uint_eq(torc_arena_used_by(arena, TORC_USE_EXTENT), 0);
    ck_assert_int_eq(torc_record_alloc(arena, stream, 5, &ref), 0);
    ck_assert(!torc_stream_drop_step(arena, stream));
    torc_arena_block_free(arena, root, 7, TORC_USE_ROOT);
}
END_TEST

START_TEST(check_finds_foreign_and_miscounted_segments)
{
    full_segment();
    full_segment();
    uint64_t extent = record(100000) - TORC_SEGMENT_HEAD_BYTES;
    struct torc_stream kept = *shared;
    const uint64_t bad[] = {1,
                            TORC_PAGE_BYTES,
                            kept.open,
                            kept.closed + TORC_PAGE_BYTES,
                            kept.closed + 8,
                            extent,
                            arena->region.capacity,
                            UINT64_MAX,
                            TORC_REF_NONE};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *why = NULL;
        shared->closed = bad[i];
        ck_assert_int_eq(torc_stream_check(arena, shared, &why), -EBADMSG);
        ck_assert_ptr_nonnull(why);
        *shared = kept;
        shared->extents = bad[i] == extent ? kept.closed : bad[i];
        ck_assert_int_eq(torc_stream_check(arena, shared, NULL), -EBADMSG);
        *shared = kept;
        shared->open = bad[i] == kept.open ? kept.closed : bad[i];
        ck_assert_int_eq(torc_arena_check(arena, NULL), -EBADMSG);
        *shared = kept;
    }
    shared->dead++;
    ck_assert_int_eq(torc_stream_check(arena, shared, NULL), -EBADMSG);
    *shared = kept;
    shared->owner = TORC_PAGE_BYTES;
    ck_assert_int_eq(torc_stream_check(arena, shared, NULL), -EBADMSG);
    *shared = kept;
    /* A ring that leads back to its middle never meets its first member. */
    full_segment();
    full_segment();
    record(1);
    struct torc_segment *first = (struct torc_segment *)torc_arena_at(arena, shared->closed);
    struct torc_segment *second = (struct torc_segment *)torc_arena_at(arena, first->next);
    struct torc_segment *third = (struct torc_segment *)torc_arena_at(arena, second->next);
    struct torc_segment kept_second = *second;
    uint64_t third_next = third->next;
    third->next = first->next;
    second->prev = second->next;
    ck_assert_int_eq(torc_stream_check(arena, shared, NULL), -EBADMSG);
    *second = kept_second;
    third->next = third_next;
    ck_assert_int_eq(torc_stream_check(arena, shared, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("segment");
    TCase *tcase = tcase_create("segment");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_first_record_opens_a_segment_and_stands_behind_its_head);
    tcase_add_test(tcase, a_segment_is_filled_to_its_last_byte);
    tcase_add_test(tcase, a_record_that_does_not_fit_goes_to_the_next_segment);
    tcase_add_test(tcase, records_above_the_maximum_get_an_extent_each);
    tcase_add_test(tcase, a_record_that_cannot_be_had_changes_nothing);
    tcase_add_test(tcase, the_last_record_of_the_open_segment_is_taken_back);
    tcase_add_test(tcase, a_closed_segment_goes_with_its_last_live_record);
    tcase_add_test(tcase, the_cut_of_a_record_is_dead_or_taken_back);
    tcase_add_test(tcase, the_victim_has_the_most_dead_bytes_of_those_looked_at);
    tcase_add_test(tcase, moving_goes_on_at_the_limit);
    tcase_add_test(tcase, a_stream_is_dropped_step_by_step);
    tcase_add_test(tcase, check_finds_foreign_and_miscounted_segments);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 1;
}
