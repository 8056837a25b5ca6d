/* SPDX-License-Identifier: Apache-2.0
 *
 * The value codec: encoding and decoding of each kind of text.
 */
#include <inttypes.h>
#include <stdio.h>

#include "hash/codec.h"
#include "perf/micro/bench.h"
#include "perf/micro/bench_text.h"

#define TEXTS      256u /* of one kind, used in turn */
#define CHUNK      256u
#define OPERATIONS 2000000u
#define TEXT_MAX   40u

struct kind {
    const char *encode, *decode; /* names of the cases; decode NULL: it stays raw */
    unsigned bytes;              /* of a number */
    void (*make)(char text[TEXT_MAX], uint64_t random, unsigned bytes);
};

/* A number that takes exactly `bytes` bytes. */
static uint64_t number_of(uint64_t random, unsigned bytes)
{
    uint64_t top = 1ull << (8 * bytes - 1);
    return top | (random & (top - 1));
}

static void make_natural(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)snprintf(text, TEXT_MAX, "%" PRIu64, number_of(random, bytes));
}

static void make_negative(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)snprintf(text, TEXT_MAX, "-%" PRIu64, number_of(random, bytes));
}

static void make_uuid(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)bytes;
    uint64_t more = torc_bench_mix(random);
    (void)snprintf(text, TEXT_MAX, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)random,
                   (unsigned)(random >> 32) & 0xffffu, (unsigned)(random >> 48),
                   (unsigned)more & 0xffffu, more >> 16);
}

static void make_uuid_bare(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)bytes;
    (void)snprintf(text, TEXT_MAX, "%016" PRIx64 "%016" PRIx64, random, torc_bench_mix(random));
}

static void make_opaque(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)bytes;
    (void)snprintf(text, TEXT_MAX, "x%015" PRIx64, random >> 4);
}

/* Begins as a number does, and is none. */
static void make_date(char text[TEXT_MAX], uint64_t random, unsigned bytes)
{
    (void)bytes;
    (void)snprintf(text, TEXT_MAX, "20%02u-%02u-%02u", (unsigned)random % 100,
                   1 + (unsigned)(random >> 8) % 12, 1 + (unsigned)(random >> 16) % 28);
}

static const struct kind kinds[] = {
    {"codec-encode-natural-1", "codec-decode-natural-1", 1, make_natural},
    {"codec-encode-natural-2", "codec-decode-natural-2", 2, make_natural},
    {"codec-encode-natural-4", "codec-decode-natural-4", 4, make_natural},
    {"codec-encode-natural-8", "codec-decode-natural-8", 8, make_natural},
    {"codec-encode-negative-4", "codec-decode-negative-4", 4, make_negative},
    {"codec-encode-negative-8", "codec-decode-negative-8", 8, make_negative},
    {"codec-encode-uuid", "codec-decode-uuid", 16, make_uuid},
    {"codec-encode-uuid-bare", "codec-decode-uuid-bare", 16, make_uuid_bare},
    {"codec-encode-opaque", NULL, 0, make_opaque},
    {"codec-encode-date", NULL, 0, make_date},
};

struct sample {
    char text[TEXT_MAX];
    struct torc_slice slice;
    struct torc_part part;
    uint8_t room[TORC_CODEC_ENCODED_MAX];
};

static struct sample samples[TEXTS];

static bool encode(void *arg, uint64_t i)
{
    (void)arg;
    const struct sample *s = &samples[i % TEXTS];
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    struct torc_part part = torc_codec_encode(s->slice, room);
    return torc_part_is_like(&part, &s->part);
}

static bool decode(void *arg, uint64_t i)
{
    (void)arg;
    const struct sample *s = &samples[i % TEXTS];
    uint8_t room[TORC_CODEC_TEXT_MAX];
    return torc_slice_equal(torc_part_text(&s->part, room), s->slice);
}

static void make_samples(const struct kind *kind)
{
    for (unsigned i = 0; i < TEXTS; i++) {
        struct sample *s = &samples[i];
        kind->make(s->text, torc_bench_mix(i), kind->bytes);
        s->slice = torc_slice_str(s->text);
        s->part = torc_codec_encode(s->slice, s->room);
        bool is_raw = s->part.form == TORC_FORM_RAW;
        torc_bench_require(is_raw == (kind->decode == NULL), "a sample is not of its kind");
        uint8_t room[TORC_CODEC_TEXT_MAX];
        torc_bench_require(torc_slice_equal(torc_part_text(&s->part, room), s->slice),
                           "the codec changes a text");
    }
}

int main(int argc, char **argv)
{
    struct torc_bench bench;
    torc_bench_init(&bench, argc, argv,
                    "The value codec: encoding and decoding each kind of text.");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        make_samples(&kinds[k]);
        struct torc_bench_case c = {
            .name = kinds[k].encode,
            .params = {{"text_bytes", samples[0].slice.len},
                       {"kept_bytes", samples[0].part.bytes.len}},
            .n = torc_bench_scaled(&bench, OPERATIONS),
            .warm = CHUNK,
            .chunk = CHUNK,
            .run = encode,
        };
        if (torc_bench_wants(&bench, c.name)) {
            torc_bench_measure(&bench, &c);
        }
        c.name = kinds[k].decode;
        c.run = decode;
        if (c.name != NULL && torc_bench_wants(&bench, c.name)) {
            torc_bench_measure(&bench, &c);
        }
    }
    return 0;
}
