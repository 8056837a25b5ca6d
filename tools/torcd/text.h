/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing text, built with printf formats: INFO, start reports.
 * Memory: owns one block. Thread: one at a time.
 */
#ifndef TORC_TORCD_TEXT_H
#define TORC_TORCD_TEXT_H

#include "core/slice.h"

struct torc_text {
    char *data;
    size_t len; /* without the terminator */
    size_t cap;
    bool failed; /* no memory: what follows is dropped, what stands is whole lines */
};

/* All-zero is an empty text. */
void torc_text_fini(struct torc_text *text);
/* Empty again; keeps the memory. */
void torc_text_reset(struct torc_text *text);
/* Append; all of it or nothing. */
void torc_text_add(struct torc_text *text, const char *format, ...) TORC_PRINTF(2, 3);

static inline struct torc_slice torc_text_slice(const struct torc_text *text)
{
    return torc_slice_of(text->len != 0 ? text->data : "", text->len);
}

#endif
