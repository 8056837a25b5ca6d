/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests out, replies in. A reply that came in a slot is copied and its slot freed at once; a
 * longer one stays where it is until torc_give_back(), with everything that decides about it in
 * private memory (torc_reply_decode_shared()): the server can change values, as it always can, and
 * nothing else.
 */
#include "client/torc_private.h"

#include <stdlib.h>

#include "core/clock.h"

/* Looks at a slot before the clock is read and the attachment decides how to wait: enough for the
 * round trip to a server that polls. */
#define EAGER_LOOKS 64

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__("yield");
#endif
}

int torc_enter(struct torc *torc)
{
    if (!torc_is_ours(torc)) {
        return TORC_EINVAL;
    }
    if (TORC_UNLIKELY(torc->attachment == NULL)) {
        return torc_fail(torc, TORC_EPIPE, "the handle has no session; torc_reattach()");
    }
    if (TORC_UNLIKELY(torc->broken)) {
        return torc_fail(torc, TORC_EBADMSG, "the server broke the protocol before");
    }
    return TORC_OK;
}

int torc_enter_sync(struct torc *torc)
{
    int rc = torc_enter(torc);
    if (rc != TORC_OK) {
        return rc;
    }
    if (TORC_UNLIKELY(torc_live(torc) != 0)) {
        return torc_fail(torc, TORC_EINVAL, "results are outstanding: collect them first");
    }
    torc_give_back(torc);
    return TORC_OK;
}

void torc_give_back(struct torc *torc)
{
    torc->last.len = 0;
    if (torc->holds) {
        torc->holds = false;
        torc_attachment_consume(torc->attachment);
    }
}

int torc_strings(struct torc *torc, size_t n, struct torc_slice **out_strings)
{
    if (TORC_UNLIKELY(n > torc->strings_cap)) {
        if (n > UINT32_MAX) {
            (void)torc_fail_errno(torc, -EMSGSIZE);
            return TORC_EMSGSIZE;
        }
        size_t cap = torc_max_u64(n, 2 * torc->strings_cap);
        cap = torc_max_u64(cap, 16);
        struct torc_slice *strings = realloc(torc->strings, cap * sizeof *strings);
        if (strings == NULL) {
            (void)torc_fail_errno(torc, -ENOMEM);
            return TORC_ENOMEM;
        }
        torc->strings = strings;
        torc->strings_cap = cap;
    }
    *out_strings = torc->strings;
    return TORC_OK;
}

int torc_gather(struct torc *torc, const struct torc_bytes *key, const struct torc_bytes *more,
                size_t n, struct torc_slice **out_strings)
{
    size_t n_keys = key != NULL ? 1 : 0;
    if (more == NULL || n == 0) {
        return torc_fail(torc, TORC_EINVAL, "no keys, fields or pairs");
    }
    if (n > SIZE_MAX / 2) {
        return torc_fail_errno(torc, -EMSGSIZE);
    }
    struct torc_slice *strings;
    int rc = torc_strings(torc, n_keys + n, &strings);
    if (rc != TORC_OK) {
        return rc;
    }
    bool valid = true;
    if (key != NULL) {
        strings[0] = torc_slice_of_bytes(*key);
        valid = torc_bytes_are_valid(*key);
    }
    for (size_t i = 0; i < n; i++) {
        strings[n_keys + i] = torc_slice_of_bytes(more[i]);
        valid &= torc_bytes_are_valid(more[i]);
    }
    if (!valid) {
        return torc_fail(torc, TORC_EINVAL, "bytes with a length and data NULL");
    }
    *out_strings = strings;
    return TORC_OK;
}

/* --- replies --- */

static int fail_broken(struct torc *torc, const char *what)
{
    torc->broken = true;
    return torc_failf(torc, TORC_EBADMSG, "the server broke the protocol: %s", what);
}

/* The absolute deadline of a call that begins now; 0 = none. */
static uint64_t deadline_from_now(const struct torc *torc)
{
    uint64_t now = torc_clock_monotonic_ns();
    return torc->deadline_ns < UINT64_MAX - now ? now + torc->deadline_ns : 0;
}

/* Is it the reply that is due? `head` is private. */
static bool is_due(const struct torc *torc, const uint8_t *head)
{
    return head[0] == torc->entries[torc->head & torc->entry_mask].op &&
           torc_load_u32(head + 4) == (uint32_t)torc->head;
}

/* Replies to calls that timed out, as far as they are there. TORC_OK, TORC_EPIPE, TORC_EBADMSG. */
static int drop_late_replies(struct torc *torc)
{
    while (torc->n_late > 0) {
        struct torc_slice message;
        int rc = torc_attachment_peek(torc->attachment, &message);
        if (rc == -EAGAIN) {
            break;
        }
        if (rc == -EPIPE) {
            return torc_fail_errno(torc, rc);
        }
        if (rc == 0) {
            uint8_t head[TORC_MESSAGE_HEAD_BYTES];
            torc_copy_once(head, message.data, sizeof head);
            if (!is_due(torc, head)) {
                return fail_broken(torc, "a late reply is not the one that is due");
            }
        } else if (rc != -ENOMEM) { /* no memory for a long one: then it is not even whole */
            return fail_broken(torc, "a slot is broken");
        }
        torc_attachment_consume(torc->attachment);
        torc->head++;
        torc->n_late--;
    }
    return TORC_OK;
}

/* A reply longer than a slot, decoded where it is. */
static int decode_in_place(struct torc *torc, struct torc_slice message,
                           struct torc_reply *out_reply)
{
    for (;;) {
        int rc = torc_reply_decode_shared(message.data, message.len, torc->ends, torc->ends_cap,
                                          out_reply);
        if (rc != -EMSGSIZE) {
            return rc;
        }
        uint32_t cap = out_reply->count;
        if (cap <= torc->ends_cap) {
            return -EBADMSG; /* the count changed between two looks */
        }
        uint32_t *ends = realloc(torc->ends, (size_t)cap * sizeof *ends);
        if (ends == NULL) {
            return -ENOMEM;
        }
        torc->ends = ends;
        torc->ends_cap = cap;
    }
}

/* `message`, which was decoded, is the reply of the oldest live request if it is the one due. */
static inline int accept_decoded(struct torc *torc, struct torc_slice message,
                                 const struct torc_reply *reply, uint64_t *out_user_tag)
{
    const struct torc_entry *entry = &torc->entries[torc->head & torc->entry_mask];
    if (TORC_UNLIKELY(reply->op != entry->op || reply->tag != (uint32_t)torc->head)) {
        return fail_broken(torc, "a reply is not the one that is due");
    }
    *out_user_tag = entry->tag;
    torc->head++;
    torc->last_number++;
    torc->last = message;
    return TORC_OK;
}

/* The same for one of `len` bytes in torc->small, which was consumed. */
static inline int accept_small(struct torc *torc, size_t len, struct torc_reply *out_reply,
                               uint64_t *out_user_tag)
{
    if (TORC_UNLIKELY(torc_reply_decode(torc->small, len, out_reply) != 0)) {
        return fail_broken(torc, "a reply does not decode");
    }
    return accept_decoded(torc, torc_slice_of(torc->small, len), out_reply, out_user_tag);
}

/* Take the peeked message as the reply of the oldest live request. */
static int accept_reply(struct torc *torc, struct torc_slice message, struct torc_reply *out_reply,
                        uint64_t *out_user_tag)
{
    if (message.len <= sizeof torc->small) {
        torc_copy_once(torc->small, message.data, message.len);
        torc_attachment_consume(torc->attachment);
        return accept_small(torc, message.len, out_reply, out_user_tag);
    }
    int rc = decode_in_place(torc, message, out_reply);
    if (rc == -ENOMEM) {
        return torc_fail_errno(torc, rc);
    }
    if (TORC_UNLIKELY(rc != 0)) {
        return fail_broken(torc, "a reply does not decode");
    }
    rc = accept_decoded(torc, message, out_reply, out_user_tag);
    torc->holds = rc == TORC_OK;
    return rc;
}

/* Wait until a reply is there. 0 or a negative errno. */
static int await_message(struct torc *torc, uint64_t *deadline_ns, struct torc_slice *out_message)
{
    if (*deadline_ns == 0) {
        int rc = torc_attachment_peek(torc->attachment, out_message);
        if (rc != -EAGAIN) {
            return rc;
        }
        *deadline_ns = deadline_from_now(torc);
    }
    return torc_attachment_wait(torc->attachment, *deadline_ns, out_message);
}

/* Look for a reply that lies in its slot, when no late one is in front of it: its length, now in
 * torc->small, or nothing. */
static inline int look_for_small(struct torc *torc, bool wait)
{
    int len = torc_attachment_take_small(torc->attachment, torc->small);
    for (int i = 0; wait && len == 0 && i < EAGER_LOOKS; i++) {
        relax();
        len = torc_attachment_take_small(torc->attachment, torc->small);
    }
    return len;
}

static int receive_any(struct torc *torc, bool wait, struct torc_reply *out_reply,
                       uint64_t *out_user_tag);

int torc_receive(struct torc *torc, bool wait, struct torc_reply *out_reply, uint64_t *out_user_tag)
{
    torc_give_back(torc);
    if (TORC_LIKELY(torc->n_late == 0)) {
        int len = look_for_small(torc, wait);
        if (TORC_LIKELY(len > 0)) {
            return accept_small(torc, (size_t)len, out_reply, out_user_tag);
        }
    }
    return receive_any(torc, wait, out_reply, out_user_tag);
}

/* The same for any reply. */
static __attribute__((noinline)) int
receive_any(struct torc *torc, bool wait, struct torc_reply *out_reply, uint64_t *out_user_tag)
{
    uint64_t deadline_ns = 0; /* not known yet */
    for (;;) {
        if (torc_live(torc) == 0) {
            return torc_fail(torc, TORC_ENOENT, "nothing is outstanding");
        }
        struct torc_slice message;
        int rc = wait ? await_message(torc, &deadline_ns, &message)
                      : torc_attachment_peek(torc->attachment, &message);
        if (rc == -EAGAIN) {
            return torc_fail(torc, TORC_EAGAIN, "the reply is not there yet");
        }
        if (rc == -EBADMSG) {
            return fail_broken(torc, "a slot is broken");
        }
        if (rc != 0) {
            return torc_fail_errno(torc, rc);
        }
        if (TORC_LIKELY(torc->n_late == 0)) {
            return accept_reply(torc, message, out_reply, out_user_tag);
        }
        rc = drop_late_replies(torc);
        if (rc != TORC_OK) {
            return rc;
        }
    }
}

/* --- requests --- */

/* The request was published: remember it. */
static inline void note_sent(struct torc *torc, uint64_t user_tag, enum torc_op op)
{
    torc->entries[torc->tail & torc->entry_mask] =
        (struct torc_entry){.tag = user_tag, .op = (uint8_t)op};
    torc->tail++;
}

/* A request of `size` bytes, which no slot takes. */
static __attribute__((noinline)) int send_large(struct torc *torc, uint64_t user_tag,
                                                enum torc_op op, const uint64_t *numbers,
                                                const struct torc_slice *strings,
                                                uint32_t n_strings, size_t size)
{
    int error = 0;
    uint8_t *message = torc_attachment_reserve(torc->attachment, size, &error);
    if (message == NULL) {
        return torc_fail_errno(torc, error);
    }
    size_t len = torc_request_encode(message, (uint8_t)op, (uint32_t)torc->tail, numbers, strings,
                                     n_strings);
    assert(len == size);
    (void)len;
    /* Only a request that no area takes is waited for. */
    bool may_wait = size > torc_area_message_max(TORC_AREA_BYTES_MIN);
    int rc = torc_attachment_commit(torc->attachment, size, may_wait ? deadline_from_now(torc) : 0);
    if (rc != 0 && rc != -ETIMEDOUT) {
        return torc_fail_errno(torc, rc);
    }
    note_sent(torc, user_tag, op);
    if (rc == -ETIMEDOUT) {
        /* It is the only one outstanding, its push goes on, and nobody will ask for the reply. */
        assert(torc->tail - torc->head == 1);
        torc->n_late = 1;
        return torc_fail_errno(torc, rc);
    }
    return TORC_OK;
}

int torc_send(struct torc *torc, uint64_t user_tag, enum torc_op op, const uint64_t *numbers,
              const struct torc_slice *strings, size_t n_strings)
{
    if (TORC_UNLIKELY(torc->n_late > 0)) {
        int rc = drop_late_replies(torc);
        if (rc != TORC_OK) {
            return rc;
        }
    }
    if (TORC_UNLIKELY(n_strings > UINT32_MAX)) {
        return torc_fail_errno(torc, -EMSGSIZE);
    }
    /* Most requests fit a slot: try that first. What does not fit is measured by the way. */
    int rc = 0;
    uint8_t *message = torc_attachment_reserve(torc->attachment, TORC_SLOT_MESSAGE, &rc);
    if (TORC_UNLIKELY(message == NULL)) {
        return torc_fail_errno(torc, rc);
    }
    size_t size =
        torc_request_encode_within(message, TORC_SLOT_MESSAGE, (uint8_t)op, (uint32_t)torc->tail,
                                   numbers, strings, (uint32_t)n_strings);
    if (TORC_UNLIKELY(size == 0)) {
        return torc_fail_errno(torc, -EMSGSIZE);
    }
    if (TORC_UNLIKELY(size > TORC_SLOT_MESSAGE)) {
        return send_large(torc, user_tag, op, numbers, strings, (uint32_t)n_strings, size);
    }
    rc = torc_attachment_commit(torc->attachment, size, 0);
    if (TORC_UNLIKELY(rc != 0)) {
        return torc_fail_errno(torc, rc);
    }
    note_sent(torc, user_tag, op);
    return TORC_OK;
}

int torc_call(struct torc *torc, enum torc_op op, const uint64_t *numbers,
              const struct torc_slice *strings, size_t n_strings, struct torc_reply *out_reply)
{
    int rc = torc_send(torc, 0, op, numbers, strings, n_strings);
    if (rc != TORC_OK) {
        return rc;
    }
    uint64_t user_tag;
    rc = torc_receive(torc, true, out_reply, &user_tag);
    if (rc != TORC_OK) {
        torc->n_late = torc->tail - torc->head; /* whatever it was: nobody asks for it again */
        return rc;
    }
    if (TORC_UNLIKELY(out_reply->kind == TORC_REPLY_ERROR)) {
        struct torc_slice text = torc_reply_error_text(out_reply);
        torc->last.len = 0; /* the caller got nothing of it */
        return torc_failf(torc, torc_status_error(out_reply->status), "%.*s",
                          (int)torc_min_u64(text.len, TORC_TEXT_BYTES), (const char *)text.data);
    }
    return TORC_OK;
}
