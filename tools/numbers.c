/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/numbers.h"

#include <inttypes.h>
#include <stdio.h>

struct torc_number torc_number_grouped(uint64_t n)
{
    /* 20 digits and 6 commas fit; written from the end. */
    char digits[TORC_NUMBER_BYTES];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    int written = 0;
    do {
        if (written > 0 && written % 3 == 0) {
            digits[--at] = ',';
        }
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
        written++;
    } while (n > 0);
    struct torc_number number;
    memcpy(number.text, digits + at, sizeof digits - at);
    return number;
}

struct torc_number torc_number_rate(uint64_t n, uint64_t ns)
{
    if (ns == 0) {
        return (struct torc_number){"-"};
    }
    torc_u128 rate = ((torc_u128)n * 1000000000u + ns / 2) / ns;
    return torc_number_grouped(rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate);
}

struct torc_number torc_number_ns(uint64_t ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    struct torc_number number;
    if (ns < 1000) {
        (void)snprintf(number.text, sizeof number.text, "%" PRIu64 " ns", ns);
        return number;
    }
    double value = (double)ns / 1000.0;
    size_t unit = 0;
    /* 999.5 would be printed as 1000. */
    while (value >= 999.5 && unit < 2) {
        value /= 1000.0;
        unit++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    (void)snprintf(number.text, sizeof number.text, "%.*f %s", decimals, value, units[unit]);
    return number;
}

bool torc_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n)) {
            return false;
        }
    }
    if (p == text || *p != '\0' || n < min || n > max) {
        return false;
    }
    *out = n;
    return true;
}
