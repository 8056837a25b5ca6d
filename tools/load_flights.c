/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/load_flights.h"

#include <stdlib.h>

/* Values kept, unless one row alone has more. */
#define BYTES_FULL (8 * TORC_MIB)

struct torc_load_flights {
    size_t cap;
    size_t first;
    size_t count;
    size_t bytes_len; /* of all that are under way */
    struct torc_load_flight ring[];
};

int torc_load_flights_create(size_t cap, struct torc_load_flights **out_flights)
{
    struct torc_load_flights *flights = calloc(1, sizeof *flights + cap * sizeof flights->ring[0]);
    if (flights == NULL) {
        return -ENOMEM;
    }
    flights->cap = cap;
    *out_flights = flights;
    return 0;
}

void torc_load_flights_destroy(struct torc_load_flights *flights)
{
    if (flights != NULL) {
        for (size_t i = 0; i < flights->cap; i++) {
            free(flights->ring[i].values);
            free(flights->ring[i].bytes);
        }
        free(flights);
    }
}

size_t torc_load_flights_count(const struct torc_load_flights *flights)
{
    return flights->count;
}

bool torc_load_flights_is_full(const struct torc_load_flights *flights)
{
    return flights->count == flights->cap ||
           (flights->count > 0 && flights->bytes_len > BYTES_FULL);
}

/* Room for a row's values; what an earlier row of this place had is used again. */
static int reserve_values(struct torc_load_flight *flight, const struct torc_csv_row *row)
{
    assert(row->n_cells > 0);
    size_t len = 1;
    for (size_t i = 0; i < row->n_cells; i++) {
        len += row->cells[i].len;
    }
    if (flight->values == NULL) {
        flight->values = calloc(row->n_cells, sizeof *flight->values);
    }
    if (flight->bytes_cap < len) {
        uint8_t *grown = realloc(flight->bytes, len);
        if (grown == NULL) {
            return -ENOMEM;
        }
        flight->bytes = grown;
        flight->bytes_cap = len;
    }
    return flight->values != NULL ? 0 : -ENOMEM;
}

int torc_load_flights_add(struct torc_load_flights *flights, const struct torc_csv_row *row,
                          size_t n_fields, bool keep, bool skip_empty)
{
    assert(flights->count < flights->cap);
    struct torc_load_flight *flight =
        &flights->ring[(flights->first + flights->count) % flights->cap];
    if (keep && reserve_values(flight, row) != 0) {
        return -ENOMEM;
    }
    flight->line = row->line;
    flight->n_fields = n_fields;
    flight->bytes_len = 0;
    size_t n = 0;
    for (size_t i = 0; keep && i < row->n_cells; i++) {
        struct torc_slice cell = row->cells[i];
        if (cell.len > 0 || !skip_empty) {
            flight->values[n++] = (struct torc_load_value){.column = i, .len = cell.len};
            memcpy(flight->bytes + flight->bytes_len, cell.data, cell.len);
            flight->bytes_len += cell.len;
        }
    }
    flights->bytes_len += flight->bytes_len;
    flights->count++;
    return 0;
}

const struct torc_load_flight *torc_load_flights_oldest(const struct torc_load_flights *flights)
{
    assert(flights->count > 0);
    return &flights->ring[flights->first];
}

void torc_load_flights_drop(struct torc_load_flights *flights)
{
    assert(flights->count > 0);
    flights->bytes_len -= flights->ring[flights->first].bytes_len;
    flights->first = (flights->first + 1) % flights->cap;
    flights->count--;
}

void torc_load_flights_clear(struct torc_load_flights *flights)
{
    while (flights->count > 0) {
        torc_load_flights_drop(flights);
    }
}
