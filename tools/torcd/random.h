/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers of commands: splitmix64 (S. Vigna), 64 bits a step, from a state that is a hash of
 * the server's seed and of the number of commands so far. So each command has its own row of
 * numbers, and one that makes its reply again makes the same one. Not for secrets.
 * Thread: the service's poller.
 */
#ifndef TORC_TORCD_RANDOM_H
#define TORC_TORCD_RANDOM_H

#include "tools/torcd/service.h"

struct torc_random {
    uint64_t state;
};

static inline uint64_t torc_random_next(struct torc_random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* The row of the command that runs now. The number of commands goes through a step of its own: rows
 * that began one step apart would be one row, shifted. */
static inline struct torc_random torc_random_start(const struct torc_service *service)
{
    struct torc_random random = {service->random_seed + service->stats.commands_total};
    random.state = torc_random_next(&random);
    return random;
}

#endif
