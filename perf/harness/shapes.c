/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/harness/shapes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "perf/harness/scatter.h"

#define CELLS_SMALL  500000u
#define FEAST_LEAST  23u
#define FEAST_MOST   123u
#define BLOCK_DIGITS 16u /* hex digits of one 64-bit number */

/* What the shapes have of their own. */
struct kind {
    const char *name;
    uint32_t fields; /* 0: differs by hash */
    uint32_t hashes; /* 0: CELLS_SMALL / fields */
    uint32_t value_bytes;
    uint32_t field_names;
    uint64_t hashes_max; /* that have a key */
};

static const struct kind kinds[] = {
    [TORC_SHAPE_SMALL5] = {"small5", 32, 0, 16, 1000, 1000000000000},
    [TORC_SHAPE_SMALL14] = {"small14", 32, 0, 16, 100000000, 1000000000000},
    [TORC_SHAPE_MILLION] = {"million", 1000000, 1, 16, UINT32_MAX, 1000000000000},
    [TORC_SHAPE_WIDE] = {"wide", 123, 500, 4, 1000, 1000000},
    [TORC_SHAPE_FEAST] = {"feast", 0, 10000, 0, 1u << 31, UINT64_MAX},
};

/* --- numbers as text --- */

/* Eight decimal digits in the bytes of a word, the first in the lowest byte; n < 10^8. Halves, then
 * quarters, then digits are parted in all lanes at once: (x * 10486) >> 20 is x / 100 below 10^4,
 * (x * 103) >> 10 is x / 10 below 100. */
static uint64_t digits_of_u32(uint32_t n)
{
    uint64_t v = n / 10000 | (uint64_t)(n % 10000) << 32;
    uint64_t hundreds = (v * 10486 >> 20) & 0x0000007f0000007full;
    v = hundreds | (v - hundreds * 100) << 16;
    uint64_t tens = (v * 103 >> 10) & 0x000f000f000f000full;
    v = tens | (v - tens * 10) << 8;
    return v + 0x3030303030303030ull;
}

/* `digits` decimal digits, at most 12, with leading zeros; n has no more. */
static void write_digits(uint8_t *out, uint64_t n, unsigned digits)
{
    uint8_t block[16];
    torc_store_u64(block, digits_of_u32((uint32_t)(n / 100000000)));
    torc_store_u64(block + 8, digits_of_u32((uint32_t)(n % 100000000)));
    memcpy(out, block + sizeof block - digits, digits);
}

static bool read_digits(const uint8_t *bytes, size_t digits, uint64_t *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)bytes[i] - '0';
        if (digit > 9) {
            return false;
        }
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* The 16 hex digits of a number. Its bytes become nibbles, high before low, all at once; those
 * above 9 are moved from behind '9' to 'a'. */
static void write_hex(uint8_t out[BLOCK_DIGITS], uint64_t n)
{
#ifdef __SSE2__
    __m128i nibble = _mm_set1_epi8(15);
    __m128i bytes = _mm_cvtsi64_si128((long long)__builtin_bswap64(n));
    __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
    __m128i digits = _mm_unpacklo_epi8(high, _mm_and_si128(bytes, nibble));
    __m128i letters = _mm_cmpgt_epi8(digits, _mm_set1_epi8(9));
    letters = _mm_and_si128(letters, _mm_set1_epi8('a' - '0' - 10));
    digits = _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8('0')), letters);
    _mm_storeu_si128((__m128i *)(void *)out, digits);
#else
    for (unsigned i = BLOCK_DIGITS; i-- > 0; n >>= 4) {
        out[i] = (uint8_t) "0123456789abcdef"[n & 15];
    }
#endif
}

/* The value of four hex digits, the first in the lowest byte; of other bytes, any. */
static uint32_t hex_value(uint32_t digits)
{
    uint32_t v = (digits & 0x0f0f0f0fu) + 9 * (digits >> 6 & 0x01010101u);
    v = __builtin_bswap32(v);
    v = (v | v >> 4) & 0x00ff00ffu; /* nibbles to bytes */
    return (v | v >> 8) & 0xffffu;  /* bytes to the number */
}

/* --- binary names of feast: a bijection of 32 bits, so that names never coincide --- */

#define FEAST_MUL 0x9e3779b1u

static uint32_t feast_mix(uint32_t n)
{
    n ^= n >> 16;
    n *= FEAST_MUL;
    return n ^ n >> 16;
}

static uint32_t feast_unmix(uint32_t n)
{
    uint32_t inverse = FEAST_MUL;
    for (int bits = 3; bits < 32; bits *= 2) {
        inverse *= 2 - FEAST_MUL * inverse; /* Newton's step doubles the bits that are right */
    }
    n ^= n >> 16;
    n *= inverse;
    return n ^ n >> 16;
}

/* --- shapes --- */

static int fail(char *error, int code, const char *format, ...) TORC_PRINTF(3, 4);

static int fail(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, TORC_SHAPE_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

static uint32_t feast_fields(uint64_t hash)
{
    return FEAST_LEAST +
           (uint32_t)torc_mul_high(torc_random_mix(hash + 1), FEAST_MOST - FEAST_LEAST + 1);
}

/* Where each hash starts, when they differ. The hashes' number is checked. */
static int lay_out_cells(struct torc_shape *shape)
{
    shape->first_cells = malloc(shape->hashes * sizeof *shape->first_cells);
    if (shape->first_cells == NULL) {
        return -ENOMEM;
    }
    uint64_t at = 0;
    for (uint64_t hash = 0; hash < shape->hashes; hash++) {
        shape->first_cells[hash] = (uint32_t)at;
        at += feast_fields(hash);
    }
    shape->cells = at;
    return 0;
}

int torc_shape_init(struct torc_shape *out_shape, const char *name, uint64_t fields,
                    uint64_t hashes, uint64_t value_bytes, char error[TORC_SHAPE_ERROR_BYTES])
{
    size_t at = 0;
    while (at < sizeof kinds / sizeof kinds[0] && strcmp(kinds[at].name, name) != 0) {
        at++;
    }
    if (at == sizeof kinds / sizeof kinds[0]) {
        return fail(error, -EINVAL, "'%s' is no shape: small5, small14, million, wide or feast",
                    name);
    }
    const struct kind *kind = &kinds[at];
    fields = fields != 0 ? fields : kind->fields;
    if (fields > kind->field_names) {
        return fail(error, -EINVAL, "%s has names for %" PRIu32 " fields, not for %" PRIu64, name,
                    kind->field_names, fields);
    }
    uint64_t most = fields != 0 ? fields : FEAST_MOST;
    if (hashes == 0) {
        hashes = kind->hashes != 0 ? kind->hashes : torc_max_u64(CELLS_SMALL / most, 1);
    }
    if (hashes > kind->hashes_max) {
        return fail(error, -EINVAL, "%s has keys for %" PRIu64 " hashes, not for %" PRIu64, name,
                    kind->hashes_max, hashes);
    }
    if (hashes > TORC_SHAPE_CELLS_MAX / most) {
        return fail(error, -EINVAL, "%" PRIu64 " hashes of %" PRIu64 " fields are more than %llu",
                    hashes, most, TORC_SHAPE_CELLS_MAX);
    }
    if (value_bytes > TORC_SHAPE_VALUE_BYTES_MAX) {
        return fail(error, -EINVAL, "values have up to %u bytes", TORC_SHAPE_VALUE_BYTES_MAX);
    }
    struct torc_shape shape = {
        .kind = (enum torc_shape_kind)at,
        .name = kind->name,
        .hashes = hashes,
        .cells = hashes * fields,
        .fields = (uint32_t)fields,
        .fields_least = (uint32_t)(fields != 0 ? fields : FEAST_LEAST),
        .fields_most = (uint32_t)most,
        .field_names = kind->field_names,
        .value_bytes = value_bytes != 0 ? (uint32_t)value_bytes : kind->value_bytes,
    };
    if (fields == 0 && lay_out_cells(&shape) != 0) {
        return fail(error, -ENOMEM, "no memory");
    }
    *out_shape = shape;
    return 0;
}

void torc_shape_fini(struct torc_shape *shape)
{
    free(shape->first_cells);
    shape->first_cells = NULL;
}

uint32_t torc_shape_fields(const struct torc_shape *shape, uint64_t hash)
{
    return shape->fields != 0 ? shape->fields : feast_fields(hash);
}

struct torc_shape_cell torc_shape_cell(const struct torc_shape *shape, uint64_t n)
{
    assert(n < shape->cells);
    if (shape->first_cells == NULL) {
        return (struct torc_shape_cell){n / shape->fields, (uint32_t)(n % shape->fields)};
    }
    /* The last hash that does not start behind n. */
    uint64_t low = 0;
    uint64_t high = shape->hashes;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (shape->first_cells[middle] <= n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (struct torc_shape_cell){low, (uint32_t)(n - shape->first_cells[low])};
}

/* --- names --- */

/* Text, then the number with leading zeros. */
static size_t write_name(uint8_t *out, const char *text, size_t text_len, uint64_t n,
                         unsigned digits)
{
    memcpy(out, text, text_len);
    write_digits(out + text_len, n, digits);
    return text_len + digits;
}

/* As a feature store writes an entity's key: tagged, with lengths in binary, then the project. */
static size_t write_feast_key(uint8_t *out, uint64_t hash)
{
    static const char head[] = "\x02\0\0\0entity_identity\x04\0\0\0\x08\0\0\0";
    static const char project[] = "ranking_stores";
    static_assert(sizeof head - 1 + 8 + sizeof project - 1 == TORC_SHAPE_KEY_BYTES,
                  "the longest key");
    memcpy(out, head, sizeof head - 1);
    torc_store_u64(out + sizeof head - 1, hash);
    memcpy(out + sizeof head - 1 + 8, project, sizeof project - 1);
    return TORC_SHAPE_KEY_BYTES;
}

size_t torc_shape_key(const struct torc_shape *shape, uint64_t hash, uint8_t *out)
{
    switch (shape->kind) {
    case TORC_SHAPE_SMALL5:
    case TORC_SHAPE_SMALL14:
    case TORC_SHAPE_MILLION:
        return write_name(out, "h:", 2, hash, 12);
    case TORC_SHAPE_WIDE:
        return write_name(out, "w:", 2, hash, 6);
    case TORC_SHAPE_FEAST:
        break;
    }
    return write_feast_key(out, hash);
}

static unsigned decimal_digits(uint32_t n)
{
    unsigned digits = 1;
    for (; n >= 10; n /= 10) {
        digits++;
    }
    return digits;
}

size_t torc_shape_field(const struct torc_shape *shape, uint32_t field, uint8_t *out)
{
    assert(field < shape->field_names);
    switch (shape->kind) {
    case TORC_SHAPE_SMALL5:
        return write_name(out, "f:", 2, field, 3);
    case TORC_SHAPE_SMALL14:
        return write_name(out, "field:", 6, field, 8);
    case TORC_SHAPE_MILLION:
        return write_name(out, "field:", 6, field, 12);
    case TORC_SHAPE_WIDE:
        return write_name(out, "f", 1, field, decimal_digits(field));
    case TORC_SHAPE_FEAST:
        break;
    }
    torc_store_u32(out, feast_mix(2 * field));
    return 4;
}

/* Where the digits of a text name start. */
static size_t prefix_bytes(enum torc_shape_kind kind)
{
    switch (kind) {
    case TORC_SHAPE_SMALL5:
        return 2;
    case TORC_SHAPE_WIDE:
        return 1;
    case TORC_SHAPE_SMALL14:
    case TORC_SHAPE_MILLION:
    case TORC_SHAPE_FEAST:
        break;
    }
    return 6;
}

size_t torc_shape_absent(const struct torc_shape *shape, uint32_t field, uint64_t random,
                         uint8_t *out)
{
    if (shape->kind == TORC_SHAPE_FEAST) {
        torc_store_u32(out, feast_mix((uint32_t)random | 1)); /* fields have the even numbers */
        return 4;
    }
    size_t len = torc_shape_field(shape, field, out);
    size_t start = prefix_bytes(shape->kind);
    uint64_t power = 1;
    for (size_t i = start; i < len; i++) {
        power *= 10;
    }
    /* Random digits, and a letter in place of one of them. */
    write_digits(out + start, random % power, (unsigned)(len - start));
    uint64_t more = torc_random_mix(random);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    out[start + more % (len - start)] =
        (uint8_t)letters[torc_mul_high(torc_random_mix(more), sizeof letters - 1)];
    return len;
}

int torc_shape_find_field(const struct torc_shape *shape, struct torc_slice name,
                          uint32_t *out_field)
{
    uint64_t field = 0;
    if (shape->kind == TORC_SHAPE_FEAST) {
        if (name.len != 4) {
            return -ENOENT;
        }
        uint32_t number = feast_unmix(torc_load_u32(name.data));
        if (number % 2 != 0) {
            return -ENOENT;
        }
        *out_field = number / 2;
        return 0;
    }
    size_t start = prefix_bytes(shape->kind);
    if (name.len <= start || name.len > TORC_SHAPE_FIELD_BYTES ||
        !read_digits(name.data + start, name.len - start, &field) || field >= shape->field_names) {
        return -ENOENT;
    }
    /* The prefix and the number of digits are compared by making the name. */
    uint8_t bytes[TORC_SHAPE_FIELD_BYTES];
    size_t len = torc_shape_field(shape, (uint32_t)field, bytes);
    if (!torc_slice_equal(name, torc_slice_of(bytes, len))) {
        return -ENOENT;
    }
    *out_field = (uint32_t)field;
    return 0;
}

/* --- values --- */

uint32_t torc_shape_value_bytes(const struct torc_shape *shape, struct torc_shape_cell cell)
{
    if (shape->value_bytes != 0) {
        return shape->value_bytes;
    }
    return 5 + (uint32_t)torc_mul_high(torc_random_mix(cell.hash * FEAST_MOST + cell.field + 1), 6);
}

/* Hex digits of the salt behind the letter. */
static unsigned salt_digits(size_t bytes)
{
    return bytes >= 8 ? 4 : bytes >= 2 ? 1 : 0;
}

static uint32_t salt_mask(size_t bytes)
{
    return (1u << (4 * salt_digits(bytes) + 4)) - 1;
}

/* What the digits that certify are made of. `salt` is cut to what the value has room for. */
static uint64_t certificate(struct torc_shape_cell cell, uint32_t salt, uint32_t bytes)
{
    return torc_random_mix(cell.hash * 0x9e3779b97f4a7c15ull + cell.field * 0xd6e8feb86659fd93ull +
                           bytes * 0xff51afd7ed558ccdull + salt * 0xc4ceb9fe1a85ec53ull + 1);
}

/* The first 16 digits behind the letter: those of the salt, then some that certify. */
static uint64_t first_block(uint64_t n, uint32_t salt, uint32_t bytes)
{
    unsigned bits = 4 * salt_digits(bytes);
    return bits == 0 ? n : (uint64_t)salt << (64 - bits) | n >> bits;
}

/* What follows a block of digits. */
static uint64_t next_block(uint64_t n)
{
    return torc_random_mix(n + 0x9e3779b97f4a7c15ull);
}

void torc_shape_value(struct torc_shape_cell cell, uint64_t salt, uint32_t bytes, uint8_t *out)
{
    assert(bytes > 0);
    uint32_t kept = (uint32_t)salt & salt_mask(bytes);
    uint64_t n = first_block(certificate(cell, kept, bytes), kept, bytes);
    out[0] = (uint8_t)('g' + (kept >> 4 * salt_digits(bytes)));
    for (size_t at = 1; at < bytes; at += BLOCK_DIGITS) {
        uint8_t block[BLOCK_DIGITS];
        write_hex(block, n);
        memcpy(out + at, block, torc_min_u64(BLOCK_DIGITS, bytes - at));
        n = next_block(n);
    }
}

/* The salt in the head of a value of 1 byte or more. Its digits are not looked at closely: who
 * makes the value again sees whether they are digits. */
static bool read_salt(struct torc_slice value, uint32_t *out_salt)
{
    unsigned digits = salt_digits(value.len);
    uint32_t high = (uint32_t)value.data[0] - 'g';
    uint32_t low = 0;
    if (digits == 4) {
        low = hex_value(torc_load_u32(value.data + 1));
    } else if (digits == 1) {
        low = hex_value((uint32_t)value.data[1] << 24);
    }
    *out_salt = high << 4 * digits | low;
    return high < 16;
}

/* n from 1 to 16: by two words that may overlap, as memcmp() with a variable length is a call. */
static bool is_same(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n >= 8) {
        return ((torc_load_u64(a) ^ torc_load_u64(b)) |
                (torc_load_u64(a + n - 8) ^ torc_load_u64(b + n - 8))) == 0;
    }
    return memcmp(a, b, n) == 0;
}

bool torc_shape_value_is_of(struct torc_shape_cell cell, struct torc_slice value)
{
    uint32_t salt = 0;
    if (value.len == 0 || value.len > TORC_SHAPE_VALUE_BYTES_MAX || !read_salt(value, &salt)) {
        return false;
    }
    uint32_t bytes = (uint32_t)value.len;
    uint64_t n = first_block(certificate(cell, salt, bytes), salt, bytes);
    for (size_t at = 1; at < value.len; at += BLOCK_DIGITS) {
        uint8_t block[BLOCK_DIGITS];
        write_hex(block, n);
        if (!is_same(value.data + at, block, torc_min_u64(BLOCK_DIGITS, value.len - at))) {
            return false;
        }
        n = next_block(n);
    }
    return true;
}

bool torc_shape_value_has_salt(struct torc_slice value, uint64_t salt)
{
    uint32_t found = 0;
    return value.len > 0 && read_salt(value, &found) &&
           found == ((uint32_t)salt & salt_mask(value.len));
}
