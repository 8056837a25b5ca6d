/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/resp_encode.h"

#define HEAD_BYTES 32u /* of a request, and of each word, beside the word itself */

/* A mark, a number, CR LF. */
static uint8_t *put_head(uint8_t *at, uint8_t mark, size_t n)
{
    uint8_t digits[20];
    size_t len = 0;
    do {
        digits[len++] = (uint8_t)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    *at++ = mark;
    while (len > 0) {
        *at++ = digits[--len];
    }
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

static uint8_t *put_word(uint8_t *at, const void *bytes, size_t len)
{
    at = put_head(at, '$', len);
    memcpy(at, bytes, len);
    at += len;
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

size_t torc_resp_encode_bound(const struct torc_load_request *request)
{
    size_t bound = (2 + request->n_words) * HEAD_BYTES;
    for (size_t i = 0; i < request->n_words; i++) {
        bound += request->words[i].len;
    }
    return bound;
}

size_t torc_resp_encode(const struct torc_load_request *request, uint8_t *out)
{
    const char *name = torc_load_verb_name(request->verb);
    uint8_t *at = put_head(out, '*', 1 + request->n_words);
    at = put_word(at, name, strlen(name));
    for (size_t i = 0; i < request->n_words; i++) {
        at = put_word(at, request->words[i].data, request->words[i].len);
    }
    return (size_t)(at - out);
}
