/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes come back from the codec as they went in; any form that is canonical encodes back to
 * itself.
 */
#include <stdlib.h>

#include "hash/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* A form is canonical exactly if the encoder makes it of the text that it stands for. */
static void take_form(uint8_t form, const uint8_t *bytes)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    uint8_t text[TORC_CODEC_TEXT_MAX];
    bool is_same = false;
    if (form < TORC_FORM_COUNT) {
        size_t len = torc_codec_decode(form, bytes, text);
        struct torc_part part = torc_codec_encode(torc_slice_of(text, len), room);
        is_same = part.form == form && memcmp(part.bytes.data, bytes, part.bytes.len) == 0;
    }
    require(torc_codec_is_canonical(form, bytes) == is_same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t room[TORC_CODEC_ENCODED_MAX];
    uint8_t text[TORC_CODEC_TEXT_MAX];
    struct torc_part part = torc_codec_encode(torc_slice_of(data, size), room);
    if (part.form == TORC_FORM_RAW) {
        require(part.bytes.data == data && part.bytes.len == size);
    } else {
        size_t len = torc_codec_decode(part.form, part.bytes.data, text);
        require(len == size && memcmp(text, data, len) == 0);
    }
    if (size > TORC_CODEC_ENCODED_MAX) {
        take_form(data[0] % (TORC_FORM_COUNT + 2), data + 1);
    }
    return 0;
}
