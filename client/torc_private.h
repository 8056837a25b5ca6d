/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of libtorc: the handle, and the one way in which requests go out and replies come in.
 *
 *   torc.c       life of a handle, error texts
 *   channel.c    a request out, its reply in; replies that come too late
 *   loan.c       replies that are kept
 *   calls.c      synchronous calls            pipeline.c   submit and collect
 *   times.c      calls about times to live    result.c     reply to a torc_result
 *   command.c    words to a request
 *
 * Replies come in the order of the requests. Requests are numbered: `head` is the oldest whose
 * reply has not been seen, `tail` the next. The low half of the number is the message's tag, so a
 * reply that is not the one that is due shows. The first `n_late` of them belong to synchronous
 * calls that timed out: their replies are dropped.
 */
#ifndef TORC_CLIENT_TORC_PRIVATE_H
#define TORC_CLIENT_TORC_PRIVATE_H

#include "torc/torc.h"

#include "ring/attachment.h"

#define TORC_TEXT_BYTES          512u
#define TORC_DEADLINE_NS_DEFAULT 5000000000ull

/* What is remembered of a request until its reply is seen. */
struct torc_entry {
    uint64_t tag; /* of the user */
    uint8_t op;
};

/* Replies that are kept. The id of a loan is its place here, the place's generation, and the
 * handle's mark: one that was released, or is another handle's, is told from those that are out. */
struct torc_loan_place {
    uint8_t *bytes; /* the message; NULL: the place is free */
    uint8_t *ends;  /* the end table, if the message has none */
    uint32_t generation;
    uint32_t next_free; /* place + 1; 0 none */
};
struct torc_loans {
    struct torc_loan_place *places;
    uint32_t cap, used, n, first_free;
    uint16_t mark;
};

struct torc {
    struct torc_attachment *attachment; /* NULL: no session */
    const void *thread;                 /* a mark of the thread that opened it */
    unsigned fork_count;                /* of the process that opened it */
    bool holds;  /* the last reply seen is still the attachment's: consume it before the next */
    bool broken; /* the server's bytes made no sense: nothing more until torc_reattach() */
    uint64_t head, tail, n_late;
    struct torc_entry *entries; /* one for each slot */
    uint64_t entry_mask;
    uint64_t deadline_ns;
    struct torc_slice last; /* message of the last reply, as long as results may borrow it; else
                               its length is 0 */
    uint64_t last_number;   /* tells results of that reply from those of others */

    /* Scratch that grows: the strings of a request, the end table of a reply. */
    struct torc_slice *strings;
    size_t strings_cap;
    uint32_t *ends;
    uint32_t ends_cap;
    uint8_t small[TORC_SLOT_MESSAGE]; /* private copy of a reply that came in a slot */

    struct torc_loans loans;
    struct torc_options options; /* its texts are the two below */
    char *socket, *name;
    const char *text; /* of the last error: static, or in text_buffer */
    char text_buffer[TORC_TEXT_BYTES];
};

/* --- torc.c --- */

/* Note a static text, return `error`. Cheap: callers that poll meet it often. */
static inline int torc_fail(struct torc *torc, int error, const char *text)
{
    torc->text = text;
    return error;
}

/* The same with a text made for it. */
int torc_failf(struct torc *torc, int error, const char *format, ...) TORC_PRINTF(3, 4);

/* TORC_EINVAL for an output that is NULL: before anything is sent. */
int torc_fail_output(struct torc *torc);

/* The error of the API for a negative errno of the ring layer, and its text noted. */
int torc_fail_errno(struct torc *torc, int error);

/* May this thread of this process use the handle? NULL is refused too. A load or two. */
bool torc_is_ours(const struct torc *torc);

/* --- channel.c --- */

static inline uint64_t torc_live(const struct torc *torc)
{
    return torc->tail - torc->head - torc->n_late;
}

/* Begin a call: TORC_EINVAL if the handle is not ours, TORC_EPIPE without a session, TORC_EBADMSG
 * after a broken message. */
int torc_enter(struct torc *torc) TORC_MUST_USE;

/* The same for a synchronous call: also TORC_EINVAL while results are outstanding. What the last
 * reply lent is given back. */
int torc_enter_sync(struct torc *torc) TORC_MUST_USE;

/* Room for `n` strings: *out_strings is torc->strings. TORC_ENOMEM; TORC_EMSGSIZE when no message
 * has as many. */
int torc_strings(struct torc *torc, size_t n, struct torc_slice **out_strings) TORC_MUST_USE;

/* Publish a request; `user_tag` comes back with its reply. Does not wait, but for a long one. */
int torc_send(struct torc *torc, uint64_t user_tag, enum torc_op op, const uint64_t *numbers,
              const struct torc_slice *strings, size_t n_strings) TORC_MUST_USE;

/* The reply of the oldest live request. It borrows shared memory or the handle until
 * torc_give_back(). TORC_EAGAIN not there (wait false), TORC_ETIMEDOUT, TORC_ENOENT none
 * outstanding, TORC_EPIPE, TORC_EBADMSG, TORC_ENOMEM: nothing was consumed then. */
int torc_receive(struct torc *torc, bool wait, struct torc_reply *out_reply,
                 uint64_t *out_user_tag) TORC_MUST_USE;

/* Give back what the last reply lent. */
void torc_give_back(struct torc *torc);

/* A synchronous call, after torc_enter_sync(): send, and the reply of exactly that. An error reply
 * is this function's error. Here and in torc_receive(), *out_reply is undefined on failure. */
int torc_call(struct torc *torc, enum torc_op op, const uint64_t *numbers,
              const struct torc_slice *strings, size_t n_strings,
              struct torc_reply *out_reply) TORC_MUST_USE;

/* --- result.c --- */

/* The code of an error reply's status. */
int torc_status_error(enum torc_wire_status status);

/* The text of an error reply: the server's, or one for its status when it sent none. */
struct torc_slice torc_reply_error_text(const struct torc_reply *reply);

/* The last reply as a result. False for a kind that no call may see. */
bool torc_result_fill(const struct torc *torc, const struct torc_reply *reply, uint64_t user_tag,
                      struct torc_result *out_result) TORC_MUST_USE;

/* --- loan.c --- */

void torc_loans_init(struct torc_loans *loans);
void torc_loans_fini(struct torc_loans *loans); /* releases all that are out */

/* --- command.c --- */

struct torc_words {
    enum torc_op op;
    uint64_t numbers[TORC_MESSAGE_NUMBERS];
    const struct torc_slice *strings; /* torc->strings */
    size_t n_strings;
};

/* Words to a request. TORC_EINVAL with Redis's text, TORC_ENOMEM. */
int torc_words_parse(struct torc *torc, const struct torc_bytes *words, size_t n_words,
                     struct torc_words *out) TORC_MUST_USE;

/* --- calls.c --- */

/* A reply of another kind than the call has: TORC_EBADMSG, and so is all that follows. */
int torc_fail_kind(struct torc *torc);

/* A whole synchronous call with up to three strings, which need no scratch, and no numbers. */
int torc_call_few(struct torc *torc, enum torc_op op, const struct torc_bytes *bytes, size_t n,
                  struct torc_reply *out_reply) TORC_MUST_USE;

/* The items of an array reply of n_values as values; number of those that are no nil. */
int64_t torc_give_values(struct torc *torc, const struct torc_reply *reply, size_t n_values,
                         struct torc_bytes *out_values) TORC_MUST_USE;

/* --- times.c --- */

#define TORC_DECIMAL_BYTES 21u /* 2^64 - 1 or -2^63, and a terminator */

/* A request about times. The strings may point into the struct: it is filled where it stays. */
struct torc_timed {
    enum torc_op op;
    uint64_t number;
    const struct torc_slice *strings; /* torc->strings */
    size_t n_strings;
    char ms_text[TORC_DECIMAL_BYTES], n_text[TORC_DECIMAL_BYTES];
};

/* The fields of such a request, or fields and values in turns. */
struct torc_timed_fields {
    const struct torc_bytes *strings;
    size_t n;      /* fields */
    size_t stride; /* strings of each: 1 or 2 */
};

/* The request of EXPIRE's kind about a key: `ms` travels as a number. TORC_EINVAL, TORC_ENOMEM. */
int torc_timed_key(struct torc *torc, enum torc_op op, struct torc_bytes key, int64_t ms,
                   unsigned flags, struct torc_timed *out) TORC_MUST_USE;

/* The request of an operation on fields: `ms` travels as a number for those whose shape has one,
 * else with the flags PX and PXAT as text. TORC_EINVAL, TORC_ENOMEM, TORC_EMSGSIZE. */
int torc_timed_fields(struct torc *torc, enum torc_op op, struct torc_bytes key,
                      struct torc_timed_fields fields, int64_t ms, unsigned flags,
                      struct torc_timed *out) TORC_MUST_USE;

/* --- shared by calls.c, times.c, pipeline.c, command.c --- */

static inline bool torc_bytes_are_valid(struct torc_bytes bytes)
{
    return bytes.data != NULL || bytes.len == 0;
}
static inline struct torc_slice torc_slice_of_bytes(struct torc_bytes bytes)
{
    return torc_slice_of(bytes.data, bytes.len);
}

/* key and `n` more strings to torc->strings, checked: TORC_EINVAL, TORC_ENOMEM, TORC_EMSGSIZE. A
 * key of NULL is none. */
int torc_gather(struct torc *torc, const struct torc_bytes *key, const struct torc_bytes *more,
                size_t n, struct torc_slice **out_strings) TORC_MUST_USE;

#endif
