/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "hash/compact.h"
#include "hash/record.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/prng.h"

static const uint32_t lengths[] = {0,    1,    127,  128,    191,    192,    193,
                                   8382, 8383, 8384, 32767u, 32768u, 65535u, 1048576u};
#define N_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* `len` bytes, good until the next call with this `room`. */
static struct torc_slice filled(uint8_t *room, uint32_t len, int byte)
{
    memset(room, byte, len);
    return torc_slice_of(room, len);
}

static uint8_t names[1048576];
static uint8_t values[1048576];

/* A copy that ends where the memory ends, so that a sanitizer sees a read behind it. */
static uint8_t *exact_copy(const uint8_t *p, size_t len)
{
    uint8_t *copy = malloc(len);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, p, len);
    return copy;
}

START_TEST(lengths_take_the_least_bytes_and_come_back)
{
    static const struct {
        uint32_t len;
        size_t size;
    } cases[] = {{0, 1}, {191, 1}, {192, 2}, {8383, 2}, {8384, 5}, {1u << 20, 5}, {UINT32_MAX, 5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        uint8_t bytes[5];
        uint32_t len;
        ck_assert_uint_eq(torc_record_len_size(cases[i].len), cases[i].size);
        ck_assert_uint_eq(torc_record_len_put(bytes, cases[i].len), cases[i].size);
        ck_assert_uint_eq(torc_record_len_get(bytes, &len), cases[i].size);
        ck_assert_uint_eq(len, cases[i].len);
    }
}
END_TEST

/* Write a field record with the value as the codec keeps it. */
static void write_text(uint8_t *record, uint64_t owner, struct torc_slice field,
                       struct torc_slice value)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    struct torc_part part = torc_codec_encode(value, room);
    torc_record_write_field(record, owner, TORC_EXPIRY_NONE, field, &part);
}

static void check_field(uint32_t field_len, uint32_t value_len, uint64_t owner, uint64_t when)
{
    struct torc_slice field = filled(names, field_len, 'f');
    struct torc_slice value = filled(values, value_len, 'v');
    uint64_t bytes = torc_record_field_bytes(owner != 0, when != 0, field_len, value_len);
    uint64_t found_when;
    uint8_t *record = malloc(bytes);
    struct torc_record_view view;
    struct torc_part part = torc_part_raw(value);
    struct torc_part stored;
    ck_assert_ptr_nonnull(record);
    torc_record_write_field(record, owner, when, field, &part);
    ck_assert_uint_eq(torc_record_bytes(record), bytes);
    ck_assert(torc_record_expires(record) == (when != 0));
    ck_assert_uint_eq(torc_record_field_expiry(record), when);
    (void)torc_record_field_until(record, &stored, &found_when);
    ck_assert_uint_eq(found_when, when);
    ck_assert(torc_slice_equal(torc_record_name(record), field));
    ck_assert(torc_slice_equal(torc_record_field(record, &stored), field));
    ck_assert(torc_slice_equal(stored.bytes, value));
    ck_assert(!torc_record_is_dead(record));
    ck_assert_int_eq(torc_record_parse(record, bytes, &view), 0);
    ck_assert_uint_eq(view.bytes, bytes);
    ck_assert_uint_eq(view.owner, owner);
    ck_assert_uint_eq(view.expiry, when);
    ck_assert(torc_slice_equal(view.name, field));
    ck_assert(torc_slice_equal(view.payload, value));
    ck_assert_uint_eq(view.form, TORC_FORM_RAW);
    ck_assert_int_eq(view.type, owner != 0 ? TORC_RECORD_FIELD_OWNED : TORC_RECORD_FIELD);
    free(record);
}

START_TEST(a_field_record_holds_any_lengths)
{
    for (size_t i = 0; i < N_LENGTHS; ++i) {
        for (size_t k = 0; k < N_LENGTHS; ++k) {
            check_field(lengths[i], lengths[k], 0, TORC_EXPIRY_NONE);
            check_field(lengths[i], lengths[k], 0, TORC_EXPIRY_MAX);
            check_field(lengths[i], lengths[k], 0xfe12345600ull, TORC_EXPIRY_NONE);
            check_field(lengths[i], lengths[k], 0xfe12345600ull, 1);
        }
    }
}
END_TEST

START_TEST(the_bytes_of_records_are_as_documented)
{
    static const uint8_t field[] = {0x21, 2, 'f', 'v', 'w'};
    static const uint8_t owned[] = {0x05, 0x00, 0x03, 0x02, 0x01, 0x00, 1, 0, 'f'};
    static const uint8_t number[] = {0x22, 0xe2, '2', '0', 0x00, 0x01};
    static const uint8_t negative[] = {0x21, 0xe9, 'f', 0x00};
    static const uint8_t uuid[] = {0x21, 0xf1, 'f',  0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12,
                                   0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0x00};
    static const uint8_t full[] = {0x02, 3, 'k', 'e', 'y', 0x00, 0x01, 0, 0, 0};
    static const uint8_t hole[] = {0x86, 7, 0, 0, 0};
    static const uint8_t longer[] = {0x04, 32, 1, 'n', 'n'};
    static const uint8_t timed[] = {0x0c, 0x00, 0x68, 0xe5, 0xcf, 0x8b, 0x01, 1, 2, 'f', 'v', 'w'};
    static const uint8_t owned_timed[] = {0x0d, 0x00, 0x03, 0x02, 0x01, 0x00, 0x00, 0x68,
                                          0xe5, 0xcf, 0x8b, 0x01, 1,    0,    'f'};
    uint8_t record[40];
    write_text(record, 0, torc_slice_str("f"), torc_slice_str("vw"));
    ck_assert_mem_eq(record, field, sizeof(field));
    write_text(record, 0x01020300, torc_slice_str("f"), torc_slice_str(""));
    ck_assert_mem_eq(record, owned, sizeof(owned));
    const struct torc_part vw = torc_part_raw(torc_slice_str("vw"));
    const struct torc_part nothing = torc_part_raw(torc_slice_str(""));
    torc_record_write_field(record, 0, 1700000000000, torc_slice_str("f"), &vw);
    ck_assert_mem_eq(record, timed, sizeof(timed));
    torc_record_write_field(record, 0x01020300, 1700000000000, torc_slice_str("f"), &nothing);
    ck_assert_mem_eq(record, owned_timed, sizeof(owned_timed));
    /* 31 bytes are the most that the tag takes. */
    write_text(record, 0, filled(names, 31, 'n'), torc_slice_str("v"));
    ck_assert_uint_eq(record[0], 0x3f);
    ck_assert_uint_eq(torc_record_bytes(record), 2 + 31 + 1);
    write_text(record, 0, filled(names, 32, 'n'), torc_slice_str("v"));
    ck_assert_mem_eq(record, longer, sizeof(longer));
    ck_assert_uint_eq(torc_record_bytes(record), 36);
    write_text(record, 0, torc_slice_str("20"), torc_slice_str("256"));
    ck_assert_mem_eq(record, number, sizeof(number));
    ck_assert_uint_eq(torc_record_bytes(record), sizeof(number));
    write_text(record, 0, torc_slice_str("f"), torc_slice_str("-1"));
    ck_assert_mem_eq(record, negative, sizeof(negative));
    write_text(record, 0, torc_slice_str("f"),
               torc_slice_str("123e4567-e89b-12d3-a456-426614174000"));
    ck_assert_mem_eq(record, uuid, sizeof(uuid));
    ck_assert_uint_eq(torc_record_bytes(record), sizeof(uuid));
    torc_store_u40(
        torc_record_write_key(record, TORC_RECORD_FULL, TORC_EXPIRY_NONE, torc_slice_str("key")),
        0x100);
    ck_assert_mem_eq(record, full, sizeof(full));
    ck_assert_uint_eq(torc_record_root(record), 0x100);
    ck_assert_uint_eq(torc_record_bytes(record), sizeof(full));
    torc_record_write_hole(record, 7);
    ck_assert_mem_eq(record, hole, sizeof(hole));
    ck_assert_uint_eq(torc_record_bytes(record), 7);
}
END_TEST

START_TEST(an_encoded_value_is_stored_and_parsed_as_it_is)
{
    static const char *const texts[] = {"10",
                                        "-1",
                                        "70000",
                                        "18446744073709551615",
                                        "123e4567-e89b-12d3-a456-426614174000",
                                        "123e4567e89b12d3a456426614174000"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        for (uint64_t owner = 0; owner < 2; ++owner) {
            uint8_t room[TORC_CODEC_ENCODED_MAX];
            uint8_t text[TORC_CODEC_TEXT_MAX];
            struct torc_record_view view;
            struct torc_part stored;
            struct torc_part part = torc_codec_encode(torc_slice_str(texts[i]), room);
            uint64_t bytes = torc_record_field_bytes(owner != 0, false, 5, part.bytes.len);
            uint8_t *record = malloc(bytes);
            ck_assert_ptr_nonnull(record);
            torc_record_write_field(record, owner, TORC_EXPIRY_NONE, torc_slice_str("field"),
                                    &part);
            ck_assert_uint_eq(torc_record_bytes(record), bytes);
            ck_assert(torc_slice_equal(torc_record_name(record), torc_slice_str("field")));
            ck_assert(
                torc_slice_equal(torc_record_field(record, &stored), torc_slice_str("field")));
            ck_assert_uint_eq(stored.form, part.form);
            ck_assert(torc_slice_equal(torc_part_text(&stored, text), torc_slice_str(texts[i])));
            ck_assert_int_eq(torc_record_parse(record, bytes, &view), 0);
            ck_assert_uint_eq(view.form, part.form);
            ck_assert(torc_slice_equal(view.payload, part.bytes));
            free(record);
        }
    }
}
END_TEST

START_TEST(a_value_is_rewritten_by_any_that_takes_as_many_bytes)
{
    static const char *const texts[] = {"ab", "1000", "", "-1000", "zz", "65535"};
    uint8_t record[64];
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    uint8_t text[TORC_CODEC_TEXT_MAX];
    struct torc_part stored;
    write_text(record, 0, torc_slice_str("field"), torc_slice_str("xy"));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        struct torc_part part = torc_codec_encode(torc_slice_str(texts[i]), room);
        if (part.bytes.len != 2) {
            write_text(record, 0, torc_slice_str("field"), torc_slice_str(texts[i]));
            torc_record_rewrite_value(record, &part);
            ck_assert_uint_eq(torc_record_bytes(record), 2 + 5 + part.bytes.len);
            write_text(record, 0, torc_slice_str("field"), torc_slice_str("xy"));
            continue;
        }
        torc_record_rewrite_value(record, &part);
        ck_assert(torc_slice_equal(torc_record_field(record, &stored), torc_slice_str("field")));
        ck_assert(torc_slice_equal(torc_part_text(&stored, text), torc_slice_str(texts[i])));
        ck_assert_uint_eq(torc_record_bytes(record), 2 + 5 + 2);
    }
    /* Lengths of two and five bytes. */
    for (uint32_t len = 200; len < 20000; len += 9000) {
        struct torc_part part = torc_part_raw(filled(values, len, 'w'));
        uint8_t *large = malloc(len + 20);
        ck_assert_ptr_nonnull(large);
        write_text(large, 0, torc_slice_str("field"), filled(names, len, 'v'));
        torc_record_rewrite_value(large, &part);
        ck_assert(torc_slice_equal(torc_record_field(large, &stored), torc_slice_str("field")));
        ck_assert(torc_slice_equal(stored.bytes, part.bytes));
        free(large);
    }
}
END_TEST

START_TEST(a_time_is_changed_in_place)
{
    uint8_t record[64];
    struct torc_part stored;
    struct torc_record_view view;
    const struct torc_part value = torc_part_raw(torc_slice_str("value"));
    for (uint64_t owner = 0; owner < 2; ++owner) {
        torc_record_write_field(record, owner, 77, torc_slice_str("field"), &value);
        uint64_t bytes = torc_record_bytes(record);
        for (uint64_t when = 1; when <= TORC_EXPIRY_MAX; when = when * 3 + 1) {
            torc_record_set_expiry(record, when);
            ck_assert_uint_eq(torc_record_field_expiry(record), when);
            ck_assert(
                torc_slice_equal(torc_record_field(record, &stored), torc_slice_str("field")));
            ck_assert(torc_slice_equal(stored.bytes, value.bytes));
            ck_assert_int_eq(torc_record_parse(record, bytes, &view), 0);
            ck_assert_uint_eq(view.expiry, when);
        }
        const struct torc_part other = torc_part_raw(torc_slice_str("other"));
        uint64_t when = torc_record_field_expiry(record);
        torc_record_rewrite_value(record, &other);
        ck_assert_uint_eq(torc_record_field_expiry(record), when);
        (void)torc_record_field(record, &stored);
        ck_assert(torc_slice_equal(stored.bytes, other.bytes));
    }
}
END_TEST

START_TEST(a_key_record_knows_its_payload)
{
    uint8_t record[600];
    struct torc_record_view view;
    for (uint32_t key_len = 0; key_len < 400; key_len += 57) {
        struct torc_slice key = filled(names, key_len, 'k');
        uint8_t *block = torc_record_write_key(record, TORC_RECORD_COMPACT, TORC_EXPIRY_NONE, key);
        ck_assert_uint_eq((size_t)(block - record), torc_record_key_head_bytes(key_len, false));
        torc_compact_init(block, 100, false);
        ck_assert_ptr_eq(torc_record_payload(record), block);
        ck_assert_uint_eq(torc_record_bytes(record),
                          torc_record_key_head_bytes(key_len, false) + 100);
        ck_assert_int_eq(torc_record_parse(record, sizeof(record), &view), 0);
        ck_assert_uint_eq(view.bytes, torc_record_bytes(record));
        ck_assert(torc_slice_equal(view.name, key));
        ck_assert_ptr_eq(view.payload.data, block);
        ck_assert_uint_eq(view.payload.len, 100);
        ck_assert(torc_slice_equal(torc_record_name(record), key));
    }
}
END_TEST

START_TEST(a_string_record_is_measured_and_parsed)
{
    uint8_t record[300];
    struct torc_record_view view;
    uint8_t *p =
        torc_record_write_key(record, TORC_RECORD_STRING, TORC_EXPIRY_NONE, torc_slice_str("s"));
    p += torc_record_len_put(p, 200);
    memset(p, 'x', 200);
    ck_assert_uint_eq(torc_record_bytes(record), 3 + 2 + 200);
    ck_assert_int_eq(torc_record_parse(record, sizeof(record), &view), 0);
    ck_assert_uint_eq(view.bytes, 3 + 2 + 200);
    ck_assert_uint_eq(view.payload.len, 200);
}
END_TEST

START_TEST(a_hole_of_any_length_can_be_walked)
{
    for (size_t bytes = 1; bytes < 40; ++bytes) {
        uint8_t *p = malloc(bytes);
        size_t walked = 0;
        ck_assert_ptr_nonnull(p);
        memset(p, 0xff, bytes);
        torc_record_write_hole(p, bytes);
        while (walked < bytes) {
            struct torc_record_view view;
            ck_assert_int_eq(torc_record_parse(p + walked, bytes - walked, &view), 0);
            ck_assert(view.dead && torc_record_is_dead(p + walked));
            ck_assert_uint_eq(view.bytes, torc_record_bytes(p + walked));
            walked += view.bytes;
        }
        ck_assert_uint_eq(walked, bytes);
        free(p);
    }
}
END_TEST

/* No cut of it passes for a record, and nothing behind the cut is read. */
static void check_cuts(const uint8_t *record, size_t bytes)
{
    struct torc_record_view view;
    ck_assert_int_eq(torc_record_parse(record, bytes, &view), 0);
    ck_assert_uint_eq(view.bytes, bytes);
    for (size_t cut = 1; cut < bytes; ++cut) {
        uint8_t *copy = exact_copy(record, cut);
        ck_assert_int_eq(torc_record_parse(copy, cut, &view), -EBADMSG);
        free(copy);
    }
}

START_TEST(a_record_that_is_cut_off_is_refused)
{
    uint8_t record[700];
    struct torc_slice wide = filled(names, 300, 'w');
    write_text(record, 0, torc_slice_str("field"), wide);
    check_cuts(record, torc_record_bytes(record));
    write_text(record, 0, wide, torc_slice_str("1234567890"));
    check_cuts(record, torc_record_bytes(record));
    write_text(record, 77, wide, torc_slice_str(""));
    check_cuts(record, torc_record_bytes(record));
    const struct torc_part part = torc_part_raw(torc_slice_str("value"));
    for (uint64_t owner = 0; owner < 2; ++owner) {
        torc_record_write_field(record, owner, 123456, torc_slice_str("field"), &part);
        check_cuts(record, torc_record_bytes(record));
    }
    torc_store_u40(torc_record_write_key(record, TORC_RECORD_FULL, TORC_EXPIRY_NONE, wide), 1);
    check_cuts(record, torc_record_bytes(record));
    torc_compact_init(torc_record_write_key(record, TORC_RECORD_COMPACT, TORC_EXPIRY_NONE, wide),
                      60, false);
    check_cuts(record, torc_record_bytes(record));
    torc_record_write_hole(record, 50);
    check_cuts(record, 50);
}
END_TEST

START_TEST(bytes_that_are_no_record_are_refused)
{
    static const struct {
        uint8_t bytes[8];
        const char *why;
    } cases[] = {
        {{0x07, 0, 0, 0, 0, 0, 0, 0}, "type 7"},
        {{0x14, 0, 0, 0, 0, 0, 0, 0}, "unknown tag bit"},
        {{0x3f, 0, 0, 0, 0, 0, 0, 0}, "a short field that is cut off"},
        {{0x04, 1, 1, 'f', 'v', 0, 0, 0}, "a field that would be short"},
        {{0x0c, 0, 0, 0, 0, 0, 0, 0}, "a field whose time is none"},
        {{0x0c, 0, 0, 0, 0, 0, 0x40, 0}, "a field whose time is above all"},
        {{0x80, 0, 0, 0, 0, 0, 0, 0}, "filler with a dead bit"},
        {{0x06, 5, 0, 0, 0, 0, 0, 0}, "hole without a dead bit"},
        {{0x86, 4, 0, 0, 0, 0, 0, 0}, "hole shorter than its head"},
        {{0x86, 9, 0, 0, 0, 0, 0, 0}, "hole longer than there is"},
        {{0x04, 0xe1, 0, 0, 0, 0, 0, 0}, "a field that is encoded"},
        {{0x20, 0xf3, 0, 0, 0, 0, 0, 0}, "a compressed value of nothing"},
        {{0x20, 0xf3, 1, 63, 0, 0, 0, 0}, "a compressed value of a short text"},
        {{0x20, 0xf3, 57, 64, 0, 0, 0, 0}, "a compressed value that wins too little"},
        {{0x20, 0xf3, 1, 0xe0, 1, 0, 16, 0}, "a compressed value of a long text"},
        {{0x20, 0xf3, 7, 64, 0, 0, 0, 0}, "a compressed value that is cut off"},
        {{0x20, 0xf3, 0xe1, 64, 0, 0, 0, 0}, "a compressed value that is encoded"},
        {{0x20, 0xf4, 0, 0, 0, 0, 0, 0}, "code point without a form"},
        {{0x20, 0xff, 0, 0, 0, 0, 0, 0}, "code point without a form"},
        {{0x03, 1, 'k', 0xe1, 9, 0, 0, 0}, "a string that is encoded"},
        {{0x04, 0xe0, 1, 0, 0, 0, 0, 0}, "a length wider than it need be"},
        {{0x04, 0xe0, 0xff, 0xff, 0xff, 0xff, 0, 0}, "a length above all"},
        {{0x01, 0, 0, 0, 0, 0, 0, 0}, "a block that does not fit"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct torc_record_view view;
        ck_assert_msg(torc_record_parse(cases[i].bytes, 8, &view) == -EBADMSG, "%s", cases[i].why);
    }
}
END_TEST

START_TEST(parsing_never_reads_beyond_the_bytes_it_got)
{
    struct torc_prng prng = {torc_test_seed(11)};
    size_t good = 0;
    for (int i = 0; i < 200000; ++i) {
        struct torc_record_view view;
        size_t len = 1 + torc_prng_below(&prng, 40);
        uint8_t *p = malloc(len);
        ck_assert_ptr_nonnull(p);
        for (size_t k = 0; k < len; ++k) {
            p[k] = (uint8_t)torc_prng_next(&prng);
        }
        if (i % 4 != 0) {
            p[0] &= (uint8_t)~0x30u; /* or most would be short, or end at the tag */
        }
        if (torc_record_parse(p, len, &view) == 0) {
            ck_assert_uint_le(view.bytes, len);
            ck_assert_uint_ge(view.bytes, 1);
            ck_assert_uint_eq(view.bytes, torc_record_bytes(p));
            ++good;
        }
        free(p);
    }
    ck_assert_uint_gt(good, 0);
}
END_TEST

START_TEST(a_released_record_can_still_be_walked)
{
    struct torc_arena *arena = torc_test_arena(16 * TORC_MIB, 1);
    struct torc_stream *shared = torc_stream_shared(arena);
    uint64_t refs[2];
    uint64_t bytes = torc_record_field_bytes(true, false, 5, 7);
    for (int i = 0; i < 2; ++i) {
        ck_assert_int_eq(torc_record_alloc(arena, shared, bytes, &refs[i]), 0);
        write_text(torc_arena_at(arena, refs[i]), 99, torc_slice_str("field"),
                   torc_slice_str("value-1"));
    }
    ck_assert_uint_eq(torc_record_release(arena, shared, refs[0]), bytes);
    ck_assert_uint_eq(shared->live, bytes);
    ck_assert_uint_eq(shared->dead, bytes);
    const uint8_t *dead = torc_arena_at(arena, refs[0]);
    ck_assert(torc_record_is_dead(dead));
    ck_assert_uint_eq(torc_record_bytes(dead), bytes);
    ck_assert_uint_eq(torc_record_release(arena, shared, refs[1]), bytes);
    ck_assert_uint_eq(shared->live, 0);
    torc_arena_destroy(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("record");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, lengths_take_the_least_bytes_and_come_back);
    tcase_add_test(tcase, a_field_record_holds_any_lengths);
    tcase_add_test(tcase, the_bytes_of_records_are_as_documented);
    tcase_add_test(tcase, an_encoded_value_is_stored_and_parsed_as_it_is);
    tcase_add_test(tcase, a_value_is_rewritten_by_any_that_takes_as_many_bytes);
    tcase_add_test(tcase, a_time_is_changed_in_place);
    tcase_add_test(tcase, a_key_record_knows_its_payload);
    tcase_add_test(tcase, a_string_record_is_measured_and_parsed);
    tcase_add_test(tcase, a_hole_of_any_length_can_be_walked);
    tcase_add_test(tcase, a_record_that_is_cut_off_is_refused);
    tcase_add_test(tcase, bytes_that_are_no_record_are_refused);
    tcase_add_test(tcase, parsing_never_reads_beyond_the_bytes_it_got);
    tcase_add_test(tcase, a_released_record_can_still_be_walked);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
