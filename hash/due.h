/* SPDX-License-Identifier: Apache-2.0
 *
 * Due tree: which entries of a table may end by a given time. A radix tree over hashes whose leaves
 * ("cells") are ranges of hashes with a few tens of entries each, and keep a lower bound of their
 * times; an inner slot keeps the least bound below it. It knows neither entries nor times that are
 * gone: a bound may be too early, never too late. Whoever finds a cell due looks at its entries
 * (torc_table_each_between()) and says what their least time is now, so that a bound which was too
 * early costs one look. No reference is kept, so nothing needs to be told when an entry moves, goes
 * or gets a later time. Why so: docs/decisions/0012-expiry.md; format: docs/formats/due.md.
 *
 *   node   4, 8, 16 or 32 slots of 16 bytes: bound, reference of a child with its size; one block.
 *          A node of less than 32 slots has no children. Paths that hold no time have no nodes.
 *
 * `population` is the number of entries of the table. A cell is split when it covers more than
 * about TORC_DUE_CELL_MAX of them by their share of hashes, as its hashes come up: there is no
 * moment at which all are.
 *
 * Thread: the arena's owner. The struct lives in the arena.
 */
#ifndef TORC_HASH_DUE_H
#define TORC_HASH_DUE_H

#include "core/arena.h"
#include "hash/expiry_time.h"

#define TORC_DUE_CELL_MAX 48u

struct torc_due {
    uint64_t bound; /* least of all; TORC_EXPIRY_NEVER: nothing will be due */
    uint64_t root;  /* reference of the root node with its size, 0 none: one cell for all hashes */
    uint64_t bytes : 40; /* of all nodes */
    uint64_t turn : 24;  /* counts what torc_due_next() gave */
};
static_assert(sizeof(struct torc_due) == 24, "part of the roots in the arena");

/* A cell that is due. */
struct torc_due_cell {
    uint64_t first, last; /* its hashes */
};

void torc_due_init(struct torc_due *due);

/* Make sure that the next torc_due_note() of this hash finds a cell of its size: allocates nodes on
 * its path, at most one on each level, and splits a cell that became too large. -ENOSPC, -ENOMEM:
 * the tree is as good as before, but a cell may be larger than it should be, and the caller may
 * refuse what it was asked. O(log population). */
int torc_due_reserve(struct torc_arena *arena, struct torc_due *due, uint64_t hash,
                     uint64_t population) TORC_MUST_USE;

/* An entry with this hash ends at `when`. Never fails, reserved or not. O(log population), about
 * one line that is not in the cache. */
void torc_due_note(const struct torc_arena *arena, struct torc_due *due, uint64_t hash,
                   uint64_t when);

/* A cell whose bound is at or before `now`; of many, they come in turns spread over all hashes.
 * Splits it first, as far as memory allows, while it is too large. False: nothing is due. */
bool torc_due_next(struct torc_arena *arena, struct torc_due *due, uint64_t now,
                   uint64_t population, struct torc_due_cell *out_cell) TORC_MUST_USE;

/* The entries of this cell, as torc_due_next() gave it just now, end at `bound` at the earliest
 * (TORC_EXPIRY_NEVER: none does). Frees nodes that hold no bound any more, and makes those smaller
 * that are far too large for the population. O(log population). */
void torc_due_set(struct torc_arena *arena, struct torc_due *due, const struct torc_due_cell *cell,
                  uint64_t bound, uint64_t population);

/* Of more than TORC_DUE_AT_ONCE past entries of a cell, is this one to be removed in this turn?
 * About half of them are, and the cell stays due. So a table from which very many entries go is
 * evenly filled at any moment: with whole cells missing it could not shrink, and what is left of it
 * would lie far from home. */
#define TORC_DUE_AT_ONCE 8u
static inline bool torc_due_takes(const struct torc_due *due, uint64_t ref)
{
    uint64_t mixed = (ref ^ due->turn * 0xbf58476d1ce4e5b9ull) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111ebull;
    return mixed >> 63 != 0;
}

/* Free one node. True while there is more; afterwards as after init. From the first call on nothing
 * is due. */
bool torc_due_drop_step(struct torc_arena *arena, struct torc_due *due) TORC_MUST_USE;

/* Walk all invariants: sizes, bounds of inner slots, bytes. 0 or -EBADMSG with *out_why (may be
 * NULL), a static text. Safe on any bytes. O(size). */
int torc_due_check(const struct torc_arena *arena, const struct torc_due *due,
                   const char **out_why) TORC_MUST_USE;
/* The bound of the cell of this hash, for checkers: no entry there may end before it. After
 * torc_due_check() only. */
uint64_t torc_due_bound_of(const struct torc_arena *arena, const struct torc_due *due,
                           uint64_t hash);

#endif
