/* SPDX-License-Identifier: Apache-2.0
 *
 * A road that leads to a naive store in memory, for tests of the tools: it answers in order,
 * notices when requests are not collected in time, and can be told to misbehave.
 */
#ifndef TORC_TESTS_UNIT_TOOLS_FAKE_ROAD_H
#define TORC_TESTS_UNIT_TOOLS_FAKE_ROAD_H

#include "tools/road.h"

#define FAKE_WINDOW_MAX 64u

/* Misbehaviour counts requests from 1; 0: never. */
struct fake_faults {
    uint64_t refuse_at;  /* this request gets an error reply, and does nothing */
    uint64_t break_at;   /* the reply of this one never comes: -EPIPE */
    uint64_t damage_at;  /* this one's reply is changed */
    uint64_t too_big_at; /* this one cannot be sent: -EMSGSIZE */
};

struct fake_road;

/* At most `window` requests are taken before one is collected. */
struct fake_road *fake_road_create(size_t window);
void fake_road_destroy(struct fake_road *fake);
struct torc_road *fake_road_of(struct fake_road *fake);

void fake_road_set_faults(struct fake_road *fake, struct fake_faults faults);

/* A value in the store, as C strings; "" for a value of no bytes, NULL: none. */
const char *fake_road_get(const struct fake_road *fake, const char *key, const char *field);
void fake_road_put(struct fake_road *fake, const char *key, const char *field, const char *value);
size_t fake_road_n_fields(const struct fake_road *fake);     /* in the whole store */
uint64_t fake_road_n_requests(const struct fake_road *fake); /* taken so far */
size_t fake_road_most_outstanding(const struct fake_road *fake);

#endif
