/* SPDX-License-Identifier: Apache-2.0
 *
 * Due tree: nodes, descents, splitting and merging of cells. The struct's first two members are a
 * slot like any other: the one that covers all hashes.
 */
#include "hash/due.h"

#define NODE_MIN_LOG2 2u
#define NODE_MAX_LOG2 5u
#define SLOT_LOG2     4u
#define SIZE_SHIFT    40u /* in a child: above the reference */
#define REF_MASK      (((uint64_t)1 << SIZE_SHIFT) - 1)
#define BYTES_MASK    (((uint64_t)1 << 40) - 1)
#define TURN_MASK     (((uint64_t)1 << 24) - 1)
#define USED_MAX      60u /* bits of a hash that choose slots, so a cell has 16 hashes or more */
#define STEPS_MAX     (USED_MAX / NODE_MAX_LOG2 + 2)
#define CELL_MIN      (TORC_DUE_CELL_MAX / 16) /* smaller cells are merged */
static_assert(TORC_ARENA_REF_BITS <= SIZE_SHIFT, "a reference and a size share 64 bits");
static_assert(SLOT_LOG2 + NODE_MIN_LOG2 >= TORC_BLOCK_MIN_LOG2, "a node is one block");

struct slot {
    uint64_t bound;
    uint64_t child; /* 0: the slot is a cell */
};
static_assert(sizeof(struct slot) == 1u << SLOT_LOG2, "format");

/* One slot on the way down. */
struct step {
    uint64_t *bound;
    uint64_t *child;
    unsigned used; /* upper bits of the hash that led here */
};
struct path {
    struct step steps[STEPS_MAX];
    unsigned n; /* the last step is at a cell */
};

static unsigned child_log2(uint64_t child)
{
    return (unsigned)(child >> SIZE_SHIFT);
}

static struct slot *child_slots(const struct torc_arena *arena, uint64_t child)
{
    return torc_arena_at(arena, child & REF_MASK);
}

/* The number of the slot that a hash has in a node of 2^log2, `used` bits being used up. */
static unsigned slot_of(uint64_t hash, unsigned used, unsigned log2)
{
    return (unsigned)(hash << used >> (64 - log2));
}

static struct slot *slot_below(const struct torc_arena *arena, uint64_t child, uint64_t hash,
                               unsigned used)
{
    return &child_slots(arena, child)[slot_of(hash, used, child_log2(child))];
}

static struct path path_to(const struct torc_arena *arena, struct torc_due *due, uint64_t hash)
{
    struct path path = {.steps[0] = {&due->bound, &due->root, 0}, .n = 1};
    for (const struct step *at = path.steps; *at->child != 0; at++) {
        struct slot *slot = slot_below(arena, *at->child, hash, at->used);
        path.steps[path.n++] =
            (struct step){&slot->bound, &slot->child, at->used + child_log2(*at->child)};
    }
    return path;
}

static bool is_too_large(uint64_t population, unsigned used)
{
    return population >> used > TORC_DUE_CELL_MAX;
}

/* The least size of a node below `used` bits whose cells are not too large, or the greatest. */
static unsigned wanted_log2(uint64_t population, unsigned used)
{
    unsigned log2 = NODE_MIN_LOG2;
    while (log2 < NODE_MAX_LOG2 && is_too_large(population, used + log2)) {
        log2++;
    }
    return log2;
}

static void free_node(struct torc_arena *arena, struct torc_due *due, uint64_t *child)
{
    unsigned block_log2 = child_log2(*child) + SLOT_LOG2;
    torc_arena_block_free(arena, *child & REF_MASK, block_log2, TORC_USE_INDEX);
    due->bytes = (due->bytes - ((uint64_t)1 << block_log2)) & BYTES_MASK;
    *child = 0;
}

/* A node whose slots' bounds are the caller's to set. */
static int new_node(struct torc_arena *arena, struct torc_due *due, unsigned log2,
                    uint64_t *out_child)
{
    uint64_t ref;
    int rc = torc_arena_block_alloc(arena, log2 + SLOT_LOG2, TORC_USE_INDEX, &ref);
    if (rc == 0) {
        due->bytes = (due->bytes + ((uint64_t)1 << (log2 + SLOT_LOG2))) & BYTES_MASK;
        *out_child = ref | (uint64_t)log2 << SIZE_SHIFT;
    }
    return rc;
}

static uint64_t least_of(const struct slot *slots, unsigned n)
{
    uint64_t least = TORC_EXPIRY_NEVER;
    for (unsigned i = 0; i < n; i++) {
        least = torc_min_u64(least, slots[i].bound);
    }
    return least;
}

/* Give the node in *child, which has no children, 2^log2 slots: a slot cut up passes its bound on,
 * slots merged keep the least. */
static int resize_node(struct torc_arena *arena, struct torc_due *due, uint64_t *child,
                       unsigned log2)
{
    uint64_t resized;
    int rc = new_node(arena, due, log2, &resized);
    if (rc != 0) {
        return rc;
    }
    unsigned old_log2 = child_log2(*child);
    const struct slot *from = child_slots(arena, *child);
    struct slot *to = child_slots(arena, resized);
    for (unsigned i = 0; i < 1u << log2; i++) {
        to[i].child = 0;
        to[i].bound = log2 >= old_log2
                          ? from[i >> (log2 - old_log2)].bound
                          : least_of(from + (i << (old_log2 - log2)), 1u << (old_log2 - log2));
    }
    free_node(arena, due, child);
    *child = resized;
    return 0;
}

/* Make the cell at the end of the path smaller by one allocation. */
static int split(struct torc_arena *arena, struct torc_due *due, const struct path *path,
                 uint64_t population)
{
    const struct step *cell = &path->steps[path->n - 1];
    if (path->n > 1) {
        const struct step *above = cell - 1;
        if (child_log2(*above->child) < NODE_MAX_LOG2) {
            return resize_node(arena, due, above->child, wanted_log2(population, above->used));
        }
    }
    unsigned log2 = wanted_log2(population, cell->used);
    uint64_t child;
    int rc = new_node(arena, due, log2, &child);
    if (rc != 0) {
        return rc;
    }
    struct slot *slots = child_slots(arena, child);
    for (unsigned i = 0; i < 1u << log2; i++) {
        slots[i] = (struct slot){.bound = *cell->bound, .child = 0};
    }
    *cell->child = child;
    return 0;
}

void torc_due_init(struct torc_due *due)
{
    *due = (struct torc_due){.bound = TORC_EXPIRY_NEVER};
}

/* Bits of a hash that choose its cell. */
static unsigned used_bits(const struct torc_arena *arena, const struct torc_due *due, uint64_t hash)
{
    unsigned used = 0;
    for (uint64_t child = due->root; child != 0;) {
        unsigned log2 = child_log2(child);
        child = slot_below(arena, child, hash, used)->child;
        used += log2;
    }
    return used;
}

int torc_due_reserve(struct torc_arena *arena, struct torc_due *due, uint64_t hash,
                     uint64_t population)
{
    for (;;) {
        unsigned used = used_bits(arena, due, hash);
        if (TORC_LIKELY(!is_too_large(population, used)) || used + NODE_MAX_LOG2 > USED_MAX) {
            return 0;
        }
        struct path path = path_to(arena, due, hash);
        int rc = split(arena, due, &path, population);
        if (rc != 0) {
            return rc;
        }
    }
}

void torc_due_note(const struct torc_arena *arena, struct torc_due *due, uint64_t hash,
                   uint64_t when)
{
    due->bound = torc_min_u64(due->bound, when);
    unsigned used = 0;
    for (uint64_t child = due->root; child != 0;) {
        struct slot *slot = slot_below(arena, child, hash, used);
        /* Most notes change little near the root: leave those lines unwritten. */
        if (when < slot->bound) {
            slot->bound = when;
        }
        used += child_log2(child);
        child = slot->child;
    }
}

static uint64_t reverse_bits(uint64_t v)
{
    v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
    v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
    return __builtin_bswap64(v);
}

/* The number of the first slot that is due, from `wanted` on and then from the front; one is. */
static unsigned next_due(const struct slot *slots, unsigned n, unsigned wanted, uint64_t now)
{
    while (slots[wanted].bound > now) {
        wanted = (wanted + 1) % n;
    }
    return wanted;
}

/* The first hash of a cell that is due. Whoever removes entries in the order of their hashes
 * empties one end of a table while the other is full, and it cannot shrink then. So cells take
 * turns in the order of bit-reversed numbers (van der Corput 1935), as in a scan
 * (hash/table_scan.c). */
static uint64_t due_hash(const struct torc_arena *arena, const struct torc_due *due, uint64_t now)
{
    uint64_t wanted = reverse_bits(due->turn);
    uint64_t hash = 0;
    unsigned used = 0;
    for (uint64_t child = due->root; child != 0;) {
        const struct slot *slots = child_slots(arena, child);
        unsigned log2 = child_log2(child);
        unsigned next = next_due(slots, 1u << log2, slot_of(wanted, used, log2), now);
        used += log2;
        hash |= (uint64_t)next << (64 - used);
        child = slots[next].child;
    }
    return hash;
}

bool torc_due_next(struct torc_arena *arena, struct torc_due *due, uint64_t now,
                   uint64_t population, struct torc_due_cell *out_cell)
{
    if (due->bound > now || due->bound == TORC_EXPIRY_NEVER) {
        return false;
    }
    uint64_t hash = due_hash(arena, due, now);
    due->turn = (due->turn + 1) & TURN_MASK;
    /* Without memory the cell stays as large as it is: then more entries are looked at. */
    int rc = torc_due_reserve(arena, due, hash, population);
    (void)rc;
    struct path path = path_to(arena, due, hash);
    out_cell->first = hash;
    out_cell->last = hash | UINT64_MAX >> path.steps[path.n - 1].used;
    return true;
}

/* The cells of a node without children are far too small: make it smaller, or one cell. */
static void merge(struct torc_arena *arena, struct torc_due *due, const struct step *above,
                  uint64_t population)
{
    unsigned log2 = child_log2(*above->child);
    if (population >> (above->used + log2) >= CELL_MIN) {
        return;
    }
    if (!is_too_large(population, above->used)) {
        free_node(arena, due, above->child);
        return;
    }
    unsigned wanted = wanted_log2(population, above->used);
    if (wanted < log2) {
        /* Without memory it stays as it is, which is as good but for its size. */
        int rc = resize_node(arena, due, above->child, wanted);
        (void)rc;
    }
}

void torc_due_set(struct torc_arena *arena, struct torc_due *due, const struct torc_due_cell *cell,
                  uint64_t bound, uint64_t population)
{
    struct path path = path_to(arena, due, cell->first);
    *path.steps[path.n - 1].bound = bound;
    for (unsigned i = path.n - 1; i-- > 0;) {
        const struct step *above = &path.steps[i];
        const struct slot *slots = child_slots(arena, *above->child);
        unsigned n = 1u << child_log2(*above->child);
        bool has_children = false;
        for (unsigned k = 0; k < n; k++) {
            has_children |= slots[k].child != 0;
        }
        *above->bound = least_of(slots, n);
        if (has_children) {
            continue;
        }
        if (*above->bound == TORC_EXPIRY_NEVER) {
            free_node(arena, due, above->child);
        } else {
            merge(arena, due, above, population);
        }
    }
}

bool torc_due_drop_step(struct torc_arena *arena, struct torc_due *due)
{
    due->bound = TORC_EXPIRY_NEVER;
    if (due->root == 0) {
        return false;
    }
    uint64_t *child = &due->root;
    for (;;) {
        struct slot *slots = child_slots(arena, *child);
        unsigned n = 1u << child_log2(*child);
        unsigned i = 0;
        while (i < n && slots[i].child == 0) {
            i++;
        }
        if (i == n) {
            break;
        }
        child = &slots[i].child;
    }
    free_node(arena, due, child);
    return due->root != 0;
}

struct check {
    const struct torc_arena *arena;
    uint64_t bytes;
    uint64_t bytes_max; /* what the tree says it has: also ends a walk in a circle */
};

/* One node on the way of the checker's walk. */
struct frame {
    const struct slot *slots;
    uint64_t bound; /* what the slot above says */
    unsigned log2, used, next;
};

static const char *open_node(struct check *check, struct frame *frame, uint64_t child,
                             uint64_t bound, unsigned used)
{
    unsigned log2 = child_log2(child);
    uint64_t ref = child & REF_MASK;
    if (log2 < NODE_MIN_LOG2 || log2 > NODE_MAX_LOG2 || used + log2 > USED_MAX) {
        return "due tree: a node has a wrong size or is too deep";
    }
    uint64_t bytes = (uint64_t)1 << (log2 + SLOT_LOG2);
    uint64_t capacity = check->arena->region.capacity;
    if (ref == TORC_REF_NONE || ref % bytes != 0 || ref >= capacity || bytes > capacity - ref) {
        return "due tree: a node is not a block of the arena";
    }
    check->bytes += bytes;
    if (check->bytes > check->bytes_max) {
        return "due tree: more nodes than its bytes say";
    }
    *frame = (struct frame){torc_arena_at(check->arena, ref), bound, log2, used + log2, 0};
    if (least_of(frame->slots, 1u << log2) != bound) {
        return "due tree: a bound is not the least below it";
    }
    return NULL;
}

static const char *walk(struct check *check, const struct torc_due *due)
{
    struct frame frames[STEPS_MAX];
    unsigned depth = 0;
    const char *why =
        due->root == 0 ? NULL : open_node(check, &frames[depth++], due->root, due->bound, 0);
    while (why == NULL && depth > 0) {
        struct frame *at = &frames[depth - 1];
        if (at->next == 1u << at->log2) {
            depth--;
            continue;
        }
        const struct slot *slot = &at->slots[at->next++];
        if (slot->bound > TORC_EXPIRY_MAX && slot->bound != TORC_EXPIRY_NEVER) {
            why = "due tree: a bound is no time";
        } else if (slot->child != 0 && at->log2 < NODE_MAX_LOG2) {
            why = "due tree: a small node has children";
        } else if (slot->child != 0) {
            why = open_node(check, &frames[depth++], slot->child, slot->bound, at->used);
        }
    }
    return why;
}

int torc_due_check(const struct torc_arena *arena, const struct torc_due *due, const char **out_why)
{
    struct check check = {.arena = arena, .bytes_max = due->bytes};
    const char *why = walk(&check, due);
    if (why == NULL && check.bytes != due->bytes) {
        why = "due tree: its bytes are not those of its nodes";
    }
    if (why == NULL && due->bound > TORC_EXPIRY_MAX && due->bound != TORC_EXPIRY_NEVER) {
        why = "due tree: its bound is no time";
    }
    if (why != NULL && out_why != NULL) {
        *out_why = why;
    }
    return why == NULL ? 0 : -EBADMSG;
}

uint64_t torc_due_bound_of(const struct torc_arena *arena, const struct torc_due *due,
                           uint64_t hash)
{
    uint64_t bound = due->bound;
    unsigned used = 0;
    for (uint64_t child = due->root; child != 0;) {
        const struct slot *slot = slot_below(arena, child, hash, used);
        bound = slot->bound;
        used += child_log2(child);
        child = slot->child;
    }
    return bound;
}
