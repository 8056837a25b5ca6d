/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a load that are under way, oldest first: which row each one is, and, to compare,
 * the values the server should hold. Bounded by number and, with values, by bytes.
 */
#ifndef TORC_TOOLS_LOAD_FLIGHTS_H
#define TORC_TOOLS_LOAD_FLIGHTS_H

#include "tools/csv.h"

struct torc_load_flight {
    uint64_t line; /* of the row */
    size_t n_fields;
    struct torc_load_value *values; /* n_fields, when they were kept */
    uint8_t *bytes;                 /* of the values, one behind the other */
    size_t bytes_len;
    size_t bytes_cap;
};

struct torc_load_value {
    size_t column;
    size_t len;
};

struct torc_load_flights;

/* At most `cap` (at least 1) under way. -ENOMEM. */
int torc_load_flights_create(size_t cap, struct torc_load_flights **out_flights) TORC_MUST_USE;
void torc_load_flights_destroy(struct torc_load_flights *flights);

size_t torc_load_flights_count(const struct torc_load_flights *flights);

/* No room for another before one is dropped: by number, or because enough bytes are kept. */
bool torc_load_flights_is_full(const struct torc_load_flights *flights);

/* Add the request of `row`, as the youngest. If `keep`, its cells are copied, without the empty
 * ones if `skip_empty`; all rows have the same number of cells. Not when full. 0, -ENOMEM. */
int torc_load_flights_add(struct torc_load_flights *flights, const struct torc_csv_row *row,
                          size_t n_fields, bool keep, bool skip_empty) TORC_MUST_USE;

/* The oldest, until it is dropped; there is one. */
const struct torc_load_flight *torc_load_flights_oldest(const struct torc_load_flights *flights);
void torc_load_flights_drop(struct torc_load_flights *flights);

/* Drop all. */
void torc_load_flights_clear(struct torc_load_flights *flights);

#endif
