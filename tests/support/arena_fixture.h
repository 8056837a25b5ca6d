/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena for tests: 4 KiB pages, no NUMA node, committed as needed.
 */
#ifndef TORC_TESTS_SUPPORT_ARENA_FIXTURE_H
#define TORC_TESTS_SUPPORT_ARENA_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"

static inline struct torc_arena *torc_test_arena(uint64_t capacity, uint64_t hash_seed)
{
    struct torc_arena_options options = {
        .region =
            {
                .name = "torc-test",
                .capacity = capacity,
                .huge = TORC_HUGE_NO,
                .numa_node = -1,
            },
        .hash_seed = hash_seed,
    };
    struct torc_arena *arena;
    int rc = torc_arena_create(&options, &arena);
    if (rc != 0) {
        printf("no arena: %s\n", strerror(-rc));
        abort();
    }
    return arena;
}

#endif
