/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies that are kept beyond the next call. A loan is private memory: a long reply changes its
 * owner, a shorter one is copied once. It never pins the reply area, which the client consumes in
 * order and through which long replies come in parts: one loan kept there would stop the session.
 * Decision: docs/decisions/0008-loans.md.
 */
#include "client/torc_private.h"

#include <stdatomic.h>
#include <stdlib.h>

#define PLACES_MIN 16u

/* --- places --- */

void torc_loans_init(struct torc_loans *loans)
{
    static _Atomic uint16_t handles;
    *loans = (struct torc_loans){
        /* relaxed: only different numbers matter. */
        .mark = (uint16_t)(atomic_fetch_add_explicit(&handles, 1, memory_order_relaxed) + 1),
    };
}

static void free_place(struct torc_loan_place *place)
{
    free(place->bytes);
    free(place->ends);
    place->bytes = NULL;
    place->ends = NULL;
}

void torc_loans_fini(struct torc_loans *loans)
{
    for (uint32_t i = 0; i < loans->used; i++) {
        free_place(&loans->places[i]);
    }
    free(loans->places);
    *loans = (struct torc_loans){.mark = loans->mark};
}

static uint64_t id_of(const struct torc_loans *loans, uint32_t i)
{
    return (uint64_t)loans->mark << 48 | (uint64_t)loans->places[i].generation << 16 | (i + 1);
}

static_assert(TORC_LOANS_MAX < UINT16_MAX, "a place and 1 more fit the id");

/* Make sure that one place is free: TORC_ENOSPC, TORC_ENOMEM. */
static int make_room(struct torc *torc)
{
    struct torc_loans *loans = &torc->loans;
    if (loans->n == TORC_LOANS_MAX) {
        return torc_fail(torc, TORC_ENOSPC, "too many loans are out: release some first");
    }
    if (loans->n < loans->cap) {
        return TORC_OK;
    }
    uint32_t cap = loans->cap > 0 ? 2 * loans->cap : PLACES_MIN;
    struct torc_loan_place *places = realloc(loans->places, cap * sizeof *places);
    if (places == NULL) {
        (void)torc_fail_errno(torc, -ENOMEM);
        return TORC_ENOMEM;
    }
    loans->places = places;
    loans->cap = cap;
    return TORC_OK;
}

/* After make_room(). */
static uint32_t take_place(struct torc_loans *loans)
{
    uint32_t i;
    if (loans->first_free != 0) {
        i = loans->first_free - 1;
        loans->first_free = loans->places[i].next_free;
    } else {
        i = loans->used++;
        loans->places[i] = (struct torc_loan_place){0};
    }
    loans->n++;
    return i;
}

/* --- borrowing --- */

/* From where to where the bytes of a reply move. */
struct move {
    const uint8_t *from;
    uint8_t *to;
    size_t len;
};

static bool is_inside(struct torc_slice message, const void *data, size_t len)
{
    uintptr_t offset = (uintptr_t)data - (uintptr_t)message.data;
    return offset <= message.len && len <= message.len - offset;
}

/* Bytes of the message as they are after the move; others (texts of the library) stay. */
static const void *moved(const struct move *move, const void *data)
{
    uintptr_t offset = (uintptr_t)data - (uintptr_t)move->from;
    return data != NULL && offset <= move->len ? move->to + offset : data;
}

static int enter(struct torc *torc, bool arguments_are_valid)
{
    if (!torc_is_ours(torc)) {
        return TORC_EINVAL;
    }
    if (!arguments_are_valid) {
        return torc_fail(torc, TORC_EINVAL, "an argument is NULL");
    }
    if (torc->last.len == 0) {
        return torc_fail(torc, TORC_EINVAL,
                         "there is no reply to borrow: a later call has ended it");
    }
    return TORC_OK;
}

/* A private copy of `len` bytes; NULL no memory. */
static uint8_t *copy_of(const void *data, size_t len)
{
    uint8_t *copy = malloc(len);
    if (copy != NULL) {
        torc_copy_once(copy, data, len);
    }
    return copy;
}

/* Keep the last reply, and `n_ends` entries of the handle's end table (0: the reply has none, or in
 * its message). The handle lends it no more. */
static int lend(struct torc *torc, size_t n_ends, struct move *out_move, const void **out_ends,
                struct torc_loan *out_loan)
{
    int rc = make_room(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    uint8_t *ends = NULL;
    if (n_ends > 0) {
        ends = copy_of(torc->ends, n_ends * sizeof *torc->ends);
        if (ends == NULL) {
            (void)torc_fail_errno(torc, -ENOMEM);
            return TORC_ENOMEM;
        }
    }
    struct torc_slice message = torc->last;
    uint8_t *bytes = torc->holds ? torc_attachment_take_long(torc->attachment) : NULL;
    if (bytes == NULL) {
        bytes = copy_of(message.data, message.len);
        if (bytes == NULL) {
            free(ends);
            (void)torc_fail_errno(torc, -ENOMEM);
            return TORC_ENOMEM;
        }
    }
    struct torc_loans *loans = &torc->loans;
    uint32_t i = take_place(loans);
    loans->places[i].bytes = bytes;
    loans->places[i].ends = ends;
    *out_move = (struct move){.from = message.data, .to = bytes, .len = message.len};
    *out_ends = ends;
    *out_loan = (struct torc_loan){.id = id_of(loans, i)};
    torc_give_back(torc);
    return TORC_OK;
}

int torc_borrow(struct torc *torc, struct torc_result *result, struct torc_loan *out_loan)
{
    int rc = enter(torc, result != NULL && out_loan != NULL);
    if (rc != TORC_OK) {
        return rc;
    }
    if (result->impl_word[0] != torc->last_number) {
        return torc_fail(torc, TORC_EINVAL, "the result is of an earlier reply");
    }
    bool has_table = torc->ends != NULL && result->impl[0] == torc->ends;
    if (has_table && result->count > torc->ends_cap) {
        return torc_fail(torc, TORC_EINVAL, "the result was changed");
    }
    struct move move;
    const void *ends;
    rc = lend(torc, has_table ? result->count : 0, &move, &ends, out_loan);
    if (rc != TORC_OK) {
        return rc;
    }
    result->string.data = moved(&move, result->string.data);
    result->impl[0] = has_table ? ends : moved(&move, result->impl[0]);
    result->impl[1] = moved(&move, result->impl[1]);
    result->impl_word[0] = 0;
    return TORC_OK;
}

int torc_borrow_values(struct torc *torc, struct torc_bytes *values, size_t n_values,
                       struct torc_loan *out_loan)
{
    int rc = enter(torc, values != NULL && n_values > 0 && out_loan != NULL);
    if (rc != TORC_OK) {
        return rc;
    }
    for (size_t i = 0; i < n_values; i++) {
        if (values[i].data != NULL && !is_inside(torc->last, values[i].data, values[i].len)) {
            return torc_fail(torc, TORC_EINVAL, "a value is not of the last reply");
        }
    }
    struct move move;
    const void *ends;
    rc = lend(torc, 0, &move, &ends, out_loan);
    for (size_t i = 0; rc == TORC_OK && i < n_values; i++) {
        values[i].data = moved(&move, values[i].data);
    }
    return rc;
}

/* --- releasing --- */

int torc_release(struct torc *torc, struct torc_loan loan)
{
    if (!torc_is_ours(torc)) {
        return TORC_EINVAL;
    }
    struct torc_loans *loans = &torc->loans;
    uint32_t i = (uint32_t)(loan.id & 0xffff) - 1; /* 0 becomes too large */
    if (i >= loans->used || loan.id != id_of(loans, i) || loans->places[i].bytes == NULL) {
        return torc_fail(torc, TORC_EINVAL, "no such loan is out: released already?");
    }
    free_place(&loans->places[i]);
    loans->places[i].generation++;
    loans->places[i].next_free = loans->first_free;
    loans->first_free = i + 1;
    loans->n--;
    return TORC_OK;
}

size_t torc_loans(const struct torc *torc)
{
    return torc_is_ours(torc) ? torc->loans.n : 0;
}
