/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests as RESP: an array of strings. Pure; any thread.
 */
#ifndef TORC_PERF_RESP_ENCODE_H
#define TORC_PERF_RESP_ENCODE_H

#include "perf/load/load_road.h"

/* Bytes that are enough for a request. O(words). */
size_t torc_resp_encode_bound(const struct torc_load_request *request) TORC_MUST_USE;

/* Write it; the number of bytes. `out` has room for the bound. */
size_t torc_resp_encode(const struct torc_load_request *request, uint8_t *out) TORC_MUST_USE;

#endif
