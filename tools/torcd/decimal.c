/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 17

/* Sign, digits in front of the point, the point, digits behind it, terminator. */
static_assert(1 + LDBL_MAX_10_EXP + 1 + 1 + PLACES + 1 <= TORC_DECIMAL_BYTES,
              "every finite number can be printed");

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool torc_decimal_parse(struct torc_slice text, long double *out_value)
{
    char copy[TORC_DECIMAL_BYTES]; /* terminated for strtold() */
    if (text.len == 0 || text.len >= sizeof copy || is_blank(text.data[0])) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    char *end;
    errno = 0;
    long double value = strtold(copy, &end);
    bool out_of_range = errno == ERANGE && (isinf(value) || value == 0);
    if ((size_t)(end - copy) != text.len || out_of_range || isnan(value)) {
        return false;
    }
    *out_value = value;
    return true;
}

size_t torc_decimal_print(long double value, char out[TORC_DECIMAL_BYTES])
{
    assert(isfinite(value));
    int n = snprintf(out, TORC_DECIMAL_BYTES, "%.*Lf", PLACES, value);
    assert(n > PLACES && n < (int)TORC_DECIMAL_BYTES);
    size_t len = (size_t)n;
    while (out[len - 1] == '0') {
        len--;
    }
    len -= out[len - 1] == '.';
    if (len == 2 && out[0] == '-' && out[1] == '0') {
        out[0] = '0';
        len = 1;
    }
    out[len] = '\0';
    return len;
}
