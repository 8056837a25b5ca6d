/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void torc_text_fini(struct torc_text *text)
{
    free(text->data);
    *text = (struct torc_text){0};
}

void torc_text_reset(struct torc_text *text)
{
    text->len = 0;
    text->failed = false;
}

static bool grow(struct torc_text *text, size_t need)
{
    size_t cap = text->cap == 0 ? 4096 : text->cap;
    while (cap < need) {
        cap *= 2;
    }
    char *data = realloc(text->data, cap);
    if (data == NULL) {
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void torc_text_add(struct torc_text *text, const char *format, ...)
{
    if (text->failed) {
        return;
    }
    for (;;) {
        size_t room = text->cap - text->len;
        va_list args;
        va_start(args, format);
        int n = vsnprintf(room != 0 ? text->data + text->len : NULL, room, format, args);
        va_end(args);
        if (n >= 0 && (size_t)n < room) {
            text->len += (size_t)n;
            return;
        }
        if (n < 0 || !grow(text, text->len + (size_t)n + 1)) {
            text->failed = true;
            return;
        }
    }
}
