/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/codec.h"

#define DECIMAL_DIGITS_MAX 20u /* of 2^64 - 1, and of 2^64 */

/* --- decimals --- */

/* 1 to 8 bytes as a little-endian number: loads that overlap, never beyond them. */
static uint64_t load_bytes(const uint8_t *p, size_t n)
{
    if (n == 8) {
        return torc_load_u64(p);
    }
    if (n >= 4) {
        return torc_load_u32(p) | (uint64_t)torc_load_u32(p + n - 4) << 8 * (n - 4);
    }
    return p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
}

/* Read 1 to 8 digits, all at once: neighbours are added up to numbers of two, four, eight digits.
 * False: not all are digits. */
static bool read_digits(const uint8_t *p, size_t n, uint64_t *out_value)
{
    const uint64_t zeros = 0x3030303030303030u;
    const uint64_t highs = 0xf0f0f0f0f0f0f0f0u;
    /* The first digit is the lowest byte; zeros go before it. */
    uint64_t word = load_bytes(p, n) << (64 - 8 * n);
    word |= n == 8 ? 0 : zeros >> 8 * n;
    if ((word & highs) != zeros || ((word + 0x0606060606060606u) & highs) != zeros) {
        return false;
    }
    word -= zeros;
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
    *out_value = (word * 10000 + (word >> 32)) & 0xffffffffu;
    return true;
}

/* Bytes that hold `value`, at least one. */
static unsigned width_of(uint64_t value)
{
    return value == 0 ? 1 : torc_log2_floor(value) / 8 + 1;
}

static struct torc_part encode_decimal(struct torc_slice text, uint8_t *room)
{
    const bool negative = text.data[0] == '-';
    const uint8_t *digits = text.data + negative;
    const uint8_t *end = text.data + text.len;
    size_t n = text.len - negative;
    if (n > DECIMAL_DIGITS_MAX || (digits[0] == '0' && (n > 1 || negative))) {
        return torc_part_raw(text);
    }
    uint64_t value = 0;
    for (n = (n - 1) % 8 + 1; digits != end; digits += n, n = 8) {
        uint64_t eight;
        if (!read_digits(digits, n, &eight) ||
            __builtin_mul_overflow(value, (uint64_t)100000000, &value)) {
            return torc_part_raw(text);
        }
        /* Only the last step can pass 64 bits. There the sum of -2^64 wraps to 0, and is counted
         * down to what it is kept as, below. */
        if (__builtin_add_overflow(value, eight, &value) && !(negative && value == 0)) {
            return torc_part_raw(text);
        }
    }
    /* Of a negative number the magnitude less one is kept, so that -2^64 fits too. */
    value -= negative;
    const unsigned width = width_of(value);
    if (width >= text.len) {
        return torc_part_raw(text);
    }
    torc_store_u64(room, value);
    return (struct torc_part){
        .form = (uint8_t)((negative ? TORC_FORM_NEGATIVE : TORC_FORM_NATURAL) + width - 1),
        .bytes = torc_slice_of(room, width)};
}

static size_t decimal_digits(uint64_t value)
{
    static const uint64_t powers[DECIMAL_DIGITS_MAX] = {
        0, /* so that 0 has a digit, too */
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000u,
    };
    /* 1233 / 4096 is a little more than log10(2), so this is the number of digits or one less. */
    size_t least = (torc_log2_floor(value | 1) + 1) * 1233 / 4096;
    return least + (value >= powers[least]);
}

static size_t decode_decimal(uint8_t form, uint64_t value, uint8_t *room)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    static const uint8_t least[TORC_CODEC_DECIMAL_MAX] = "-18446744073709551616";
    size_t len = 0;
    if (form >= TORC_FORM_NEGATIVE) {
        if (value == UINT64_MAX) {
            memcpy(room, least, sizeof least);
            return TORC_CODEC_DECIMAL_MAX;
        }
        room[len++] = '-';
        value++;
    }
    const uint8_t *first = room + len;
    len += decimal_digits(value);
    uint8_t *p = room + len;
    for (; value >= 10; value /= 100) {
        p -= 2;
        memcpy(p, pairs + 2 * (value % 100), 2);
    }
    if (p != first) {
        *--p = (uint8_t)('0' + value);
    }
    return len;
}

/* --- UUIDs --- */

/* Value of a lowercase hexadecimal digit, above 15 for anything else. */
static unsigned hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - (unsigned)'0';
    }
    return c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10u : 16u;
}

static bool is_dash_place(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

static struct torc_part encode_uuid(struct torc_slice text, uint8_t *room)
{
    bool dashed = text.len == 36;
    unsigned n_digits = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (dashed && is_dash_place(i)) {
            if (text.data[i] != '-') {
                return torc_part_raw(text);
            }
            continue;
        }
        unsigned digit = hex_digit(text.data[i]);
        if (digit > 15) {
            return torc_part_raw(text);
        }
        room[n_digits / 2] = (uint8_t)(n_digits % 2 == 0 ? digit << 4 : room[n_digits / 2] | digit);
        n_digits++;
    }
    return (struct torc_part){.form = dashed ? TORC_FORM_UUID : TORC_FORM_UUID_BARE,
                              .bytes = torc_slice_of(room, 16)};
}

struct torc_part torc_codec_encode_candidate(struct torc_slice text, uint8_t *room)
{
    return text.len > TORC_CODEC_DECIMAL_MAX ? encode_uuid(text, room) : encode_decimal(text, room);
}

/* --- any form --- */

size_t torc_codec_decode(uint8_t form, const uint8_t *bytes, uint8_t *room)
{
    if (form < TORC_FORM_UUID) {
        return decode_decimal(form, load_bytes(bytes, torc_codec_form_bytes(form)), room);
    }
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;
    for (size_t i = 0; i < 16; i++) {
        if (form == TORC_FORM_UUID && is_dash_place(len)) {
            room[len++] = '-';
        }
        room[len++] = (uint8_t)digits[bytes[i] >> 4];
        room[len++] = (uint8_t)digits[bytes[i] & 15u];
    }
    return len;
}

bool torc_codec_is_canonical(uint8_t form, const uint8_t *bytes)
{
    uint8_t text[TORC_CODEC_TEXT_MAX];
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    if (torc_codec_form_bytes(form) == 0) {
        return false;
    }
    struct torc_part part =
        torc_codec_encode(torc_slice_of(text, torc_codec_decode(form, bytes, text)), room);
    return part.form == form && memcmp(part.bytes.data, bytes, part.bytes.len) == 0;
}

bool torc_codec_integer(uint8_t form, const uint8_t *bytes, int64_t *out_value)
{
    if (form >= TORC_FORM_UUID) {
        return false;
    }
    uint64_t value = load_bytes(bytes, torc_codec_form_bytes(form));
    if (value > INT64_MAX) {
        return false;
    }
    *out_value = form >= TORC_FORM_NEGATIVE ? -(int64_t)value - 1 : (int64_t)value;
    return true;
}
