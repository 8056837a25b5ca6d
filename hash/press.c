/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/press.h"

#include <lz4.h>
#include <stdlib.h>

static_assert(sizeof(LZ4_stream_t) <= TORC_PRESS_STATE_BYTES, "room for the state of LZ4");
static_assert(TORC_PRESS_TEXT_MAX <= LZ4_MAX_INPUT_SIZE, "lengths are int");

#define ACCELERATION 1 /* LZ4's default: the best ratio of its fast mode */

struct torc_press *torc_press_create(void)
{
    struct torc_press *press = malloc(sizeof *press);
    if (press != NULL) {
        press->min_bytes = TORC_PRESS_TEXT_MIN;
        press->used = 0;
    }
    return press;
}

void torc_press_destroy(struct torc_press *press)
{
    free(press);
}

bool torc_press_compress(struct torc_press *press, struct torc_part *part)
{
    const size_t len = part->bytes.len;
    assert(press->min_bytes >= TORC_PRESS_TEXT_MIN);
    if (part->form != TORC_FORM_RAW || len < press->min_bytes || len > TORC_PRESS_TEXT_MAX) {
        return false;
    }
    /* It stops as soon as the result is too long to be worth it. */
    int made = LZ4_compress_fast_extState(press->state, (const char *)part->bytes.data,
                                          (char *)press->room, (int)len, (int)(len - len / 8),
                                          ACCELERATION);
    press->used = 0;
    if (made <= 0) {
        return false;
    }
    part->form = TORC_FORM_COMPRESSED;
    part->text_len = (uint32_t)len;
    part->bytes = torc_slice_of(press->room, (size_t)made);
    return true;
}

/* Bytes of text made at `room`; never more than the part's text_len, whatever the bytes are. */
static size_t expand(const struct torc_part *part, uint8_t *room)
{
    int made = LZ4_decompress_safe((const char *)part->bytes.data, (char *)room,
                                   (int)part->bytes.len, (int)part->text_len);
    return made < 0 ? 0 : (size_t)made;
}

struct torc_slice torc_press_expand(struct torc_press *press, struct torc_part part)
{
    uint8_t *text = press->room + press->used;
    assert(!torc_press_is_used_up(press) && part.text_len <= TORC_PRESS_TEXT_MAX);
    size_t made = expand(&part, text);
    assert(made == part.text_len);
    if (TORC_UNLIKELY(made != part.text_len)) {
        /* Our own memory was written over: at least no other value's text is shown. */
        memset(text, 0, part.text_len);
    }
    press->used += part.text_len;
    return torc_slice_of(text, part.text_len);
}

bool torc_press_is_sound(const struct torc_part *part, uint8_t *room)
{
    return torc_press_is_worth(part->text_len, part->bytes.len) &&
           expand(part, room) == part->text_len;
}
