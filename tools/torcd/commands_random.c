/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that choose at random: HRANDFIELD, RANDOMKEY.
 *
 * k distinct ones of n fields are chosen in one of three ways:
 *   all       k is n
 *   drawn     k is small beside n: draw fields, and draw again where one was drawn before. A set
 *             of the hashes of those drawn tells: O(k) time and memory, 4 MiB at most
 *   walked    else: one walk, in which each field is taken with probability (still wanted) / (still
 *             to come), which makes all choices of k equally likely and takes exactly k (selection
 *             sampling, Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): O(n), no
 *             memory
 */
#include <stdlib.h>

#include "core/hashing.h"
#include "tools/torcd/commands_private.h"
#include "tools/torcd/random.h"

#define WALK_PART 4u         /* one part in so many is not small */
#define DRAWN_MAX (1u << 18) /* nor is more than this */
#define SMALL_SET 64u        /* slots: on the stack */
/* Most picks with repetition: others wait while they are made, and no hash, however small, bounds
 * them. As many take less time than HGETALL of a hash of that many fields. */
#define REPEATING_MAX ((uint64_t)1 << 20)
#define LONG_HALF_MAX (INT64_MAX / 2) /* most pairs, as Redis has it */

struct picks {
    struct torc_service *service;
    struct torc_call *call;
    struct torc_random random;
    bool with_values;
    uint64_t n_wanted; /* walked: still wanted, */
    uint64_t n_left;   /* of so many still to come */
};

/* Begin a reply of n picks; false: it was refused. */
static bool begin(const struct picks *picks, uint64_t n, bool is_repeating)
{
    struct torc_sink *sink = picks->call->sink;
    /* Twice 2^63 - 1 is a number still. */
    if (!torc_call_may_have_items(picks->call, picks->with_values ? 2 * n : n)) {
        return false;
    }
    if (is_repeating && n > REPEATING_MAX) {
        torc_sink_fault(sink, TORC_FAULT_TOO_MANY_PICKS);
        return false;
    }
    (picks->with_values ? torc_sink_rows : torc_sink_array)(sink, (uint32_t)n);
    return true;
}

static void give(const struct picks *picks, const struct torc_pair *pair)
{
    struct torc_sink *sink = picks->call->sink;
    if (picks->with_values) {
        torc_sink_row(sink);
    }
    torc_sink_item(sink, torc_slice_present(pair->field));
    if (picks->with_values) {
        torc_sink_item(sink, torc_slice_present(pair->value));
    }
}

static enum torc_parts parts_of(const struct picks *picks)
{
    return picks->with_values ? TORC_PAIRS : TORC_FIELDS;
}

/* Show n random fields of a hash that has some; at most TORC_RANDOM_BATCH. */
static void draw(struct picks *picks, unsigned n,
                 void (*visit)(void *arg, const struct torc_pair *pair), void *arg)
{
    uint64_t bits[TORC_RANDOM_BATCH];
    for (unsigned i = 0; i < n; i++) {
        bits[i] = torc_random_next(&picks->random);
    }
    int rc = torc_hash_random_many(picks->service->keyspace, &picks->call->key, bits, n,
                                   parts_of(picks), visit, arg);
    assert(rc == 1);
    (void)rc;
}

static void give_drawn_pair(void *arg, const struct torc_pair *pair)
{
    give(arg, pair);
}

static void give_repeating(struct picks *picks, uint64_t n)
{
    if (!begin(picks, n, true)) {
        return;
    }
    while (n != 0 && !torc_sink_is_full(picks->call->sink)) {
        unsigned batch = (unsigned)torc_min_u64(n, TORC_RANDOM_BATCH);
        draw(picks, batch, give_drawn_pair, picks);
        n -= batch;
    }
}

static void see_field(void *arg, const struct torc_pair *pair)
{
    struct picks *picks = arg;
    if (torc_mul_high(torc_random_next(&picks->random), picks->n_left) < picks->n_wanted) {
        give(picks, pair);
        picks->n_wanted--;
    }
    picks->n_left--;
}

static void give_walked(struct picks *picks, uint64_t n, uint64_t n_fields)
{
    picks->n_wanted = n;
    picks->n_left = n_fields;
    if (begin(picks, n, false)) {
        int rc = torc_hash_each(picks->service->keyspace, &picks->call->key, parts_of(picks),
                                see_field, picks);
        assert(rc == 0);
        (void)rc;
    }
}

/* Fields that were drawn, by their hashes. */
struct drawn {
    struct picks *picks;
    uint64_t *set; /* slots, a power of two, of which half are never taken; 0 is a free one */
    size_t slots;
    uint64_t seed;
    uint64_t n_wanted;
};

/* False: it is in there. */
static bool add(struct drawn *drawn, uint64_t hash)
{
    hash += hash == 0;
    for (size_t at = hash & (drawn->slots - 1);; at = (at + 1) & (drawn->slots - 1)) {
        if (drawn->set[at] == hash) {
            return false;
        }
        if (drawn->set[at] == 0) {
            drawn->set[at] = hash;
            return true;
        }
    }
}

static void give_if_new(void *arg, const struct torc_pair *pair)
{
    struct drawn *drawn = arg;
    if (drawn->n_wanted != 0 && add(drawn, torc_hash_slice(drawn->seed, pair->field))) {
        give(drawn->picks, pair);
        drawn->n_wanted--;
    }
}

static void give_drawn(struct picks *picks, uint64_t n)
{
    uint64_t small[SMALL_SET] = {0};
    struct drawn drawn = {.picks = picks,
                          .set = small,
                          .slots = SMALL_SET,
                          .seed = torc_arena_seed(picks->service->arena),
                          .n_wanted = n};
    while (drawn.slots < 2 * n) {
        drawn.slots *= 2;
    }
    if (drawn.slots > SMALL_SET) {
        drawn.set = calloc(drawn.slots, sizeof *drawn.set);
        if (drawn.set == NULL) {
            torc_call_fail(picks->call, -ENOMEM);
            return;
        }
    }
    if (begin(picks, n, false)) {
        while (drawn.n_wanted != 0 && !torc_sink_is_full(picks->call->sink)) {
            draw(picks, (unsigned)torc_min_u64(drawn.n_wanted, TORC_RANDOM_BATCH), give_if_new,
                 &drawn);
        }
    }
    if (drawn.set != small) {
        free(drawn.set);
    }
}

static void give_distinct(struct picks *picks, uint64_t n, uint64_t n_fields)
{
    n = torc_min_u64(n, n_fields);
    if (n > n_fields / WALK_PART || n > DRAWN_MAX) {
        give_walked(picks, n, n_fields);
    } else {
        give_drawn(picks, n);
    }
}

/* The count and WITHVALUES. */
static enum torc_fault parse_count(const struct torc_request *request, int64_t *out_count,
                                   bool *out_with_values)
{
    const struct torc_slice *words = request->strings + 1;
    uint32_t n = request->n_strings - 1;
    if (!torc_word_integer(words[0], out_count)) {
        return TORC_FAULT_NOT_INTEGER;
    }
    if (*out_count == INT64_MIN) {
        return TORC_FAULT_OUT_OF_LONG_RANGE;
    }
    *out_with_values = n == 2 && torc_word_is(words[1], "withvalues");
    if (n > 1 && !*out_with_values) {
        return TORC_FAULT_SYNTAX;
    }
    bool is_long = *out_count > LONG_HALF_MAX || *out_count < -LONG_HALF_MAX;
    return *out_with_values && is_long ? TORC_FAULT_OUT_OF_RANGE : TORC_FAULT_NONE;
}

static void give_one(struct torc_service *service, struct torc_call *call)
{
    struct torc_random random = torc_random_start(service);
    struct torc_pair_room room;
    struct torc_pair pair;
    int rc = torc_hash_random(service->keyspace, &call->key, torc_random_next(&random), TORC_FIELDS,
                              &room, &pair);
    service->stats.hits += rc == 1;
    service->stats.misses += rc == 0;
    if (rc < 0) {
        torc_call_fail(call, rc);
    } else if (rc == 0) {
        torc_sink_null(call->sink);
    } else {
        torc_sink_bytes(call->sink, pair.field);
    }
}

void torc_command_hrandfield(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap(service, call, &call->key)) {
        return;
    }
    if (call->request.n_strings == 1) {
        give_one(service, call);
        return;
    }
    struct picks picks = {.service = service, .call = call, .random = torc_random_start(service)};
    int64_t count = 0;
    enum torc_fault fault = parse_count(&call->request, &count, &picks.with_values);
    if (fault != TORC_FAULT_NONE) {
        torc_sink_fault(call->sink, fault);
        return;
    }
    int64_t n_fields = torc_hash_len(service->keyspace, &call->key);
    if (n_fields < 0) {
        torc_call_fail(call, n_fields);
        return;
    }
    service->stats.hits += n_fields != 0;
    service->stats.misses += n_fields == 0;
    if (n_fields == 0 || count == 0) {
        (void)begin(&picks, 0, false);
    } else if (count < 0) {
        give_repeating(&picks, (uint64_t)-count);
    } else {
        give_distinct(&picks, (uint64_t)count, (uint64_t)n_fields);
    }
}

void torc_command_randomkey(struct torc_service *service, struct torc_call *call)
{
    if (!torc_call_reap_all(service, call)) {
        return;
    }
    struct torc_random random = torc_random_start(service);
    struct torc_slice key = torc_keyspace_random(service->keyspace, torc_random_next(&random));
    if (key.data == NULL) {
        torc_sink_null(call->sink);
    } else {
        torc_sink_bytes(call->sink, key);
    }
}
