/* SPDX-License-Identifier: Apache-2.0
 *
 * Glob patterns of SCAN MATCH and CONFIG GET, as Redis defines them, on any bytes:
 *   *      any bytes, also none        [abc] [a-z] [^a-z]   one byte of (not of) the class
 *   ?      any one byte                \x                   the byte x itself
 * A class without its ] ends with the pattern; an empty class matches nothing.
 *
 * Only the last * is ever tried again (an earlier one cannot do better), so the cost is at most
 * pattern bytes times text bytes, never exponential. Pure; any thread.
 */
#ifndef TORC_TORCD_GLOB_H
#define TORC_TORCD_GLOB_H

#include "core/slice.h"

/* True if the whole of `text` matches `pattern`. ignore_case folds ASCII letters. */
bool torc_glob_matches(struct torc_slice pattern, struct torc_slice text, bool ignore_case);

#endif
