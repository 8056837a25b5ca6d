/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/glob.h"

static uint8_t fold(uint8_t c, bool ignore_case)
{
    return ignore_case && c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* `at` is behind the '[' of a class. Tests `c` and returns the position behind the class. */
static size_t match_class(struct torc_slice pattern, size_t at, uint8_t c, bool ignore_case,
                          bool *out_hit)
{
    bool negate = at < pattern.len && pattern.data[at] == '^';
    bool hit = false;
    at += negate;
    c = fold(c, ignore_case);
    while (at < pattern.len && pattern.data[at] != ']') {
        uint8_t low = pattern.data[at];
        if (low == '\\' && pattern.len - at >= 2) {
            low = pattern.data[at + 1];
            hit |= fold(low, ignore_case) == c;
            at += 2;
        } else if (pattern.len - at >= 3 && pattern.data[at + 1] == '-') {
            low = fold(low, ignore_case);
            uint8_t high = fold(pattern.data[at + 2], ignore_case);
            hit |= low <= high ? c >= low && c <= high : c >= high && c <= low;
            at += 3;
        } else {
            hit |= fold(low, ignore_case) == c;
            at++;
        }
    }
    *out_hit = hit != negate;
    return at < pattern.len ? at + 1 : at;
}

/* Match one pattern element, not a '*', at `at` with `c`. Returns the position behind the element,
 * or 0 if it does not match. */
static size_t match_one(struct torc_slice pattern, size_t at, uint8_t c, bool ignore_case)
{
    uint8_t p = pattern.data[at];
    if (p == '?') {
        return at + 1;
    }
    if (p == '[') {
        bool hit;
        size_t next = match_class(pattern, at + 1, c, ignore_case, &hit);
        return hit ? next : 0;
    }
    if (p == '\\' && pattern.len - at >= 2) {
        p = pattern.data[++at];
    }
    return fold(p, ignore_case) == fold(c, ignore_case) ? at + 1 : 0;
}

bool torc_glob_matches(struct torc_slice pattern, struct torc_slice text, bool ignore_case)
{
    size_t p = 0;
    size_t t = 0;
    bool has_star = false;
    size_t star_p = 0; /* behind the last star */
    size_t star_t = 0; /* where its match ends, so far */
    while (t < text.len) {
        if (p < pattern.len && pattern.data[p] == '*') {
            has_star = true;
            star_p = ++p;
            star_t = t;
            continue;
        }
        size_t next = p < pattern.len ? match_one(pattern, p, text.data[t], ignore_case) : 0;
        if (next != 0) {
            p = next;
            t++;
        } else if (has_star) {
            p = star_p;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*') {
        p++;
    }
    return p == pattern.len;
}
