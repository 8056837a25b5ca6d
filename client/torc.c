/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a handle: open, close, attach again; who may use it; error names and texts.
 */
#include "client/torc_private.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SOCKET_SYSTEM "/run/torc/torc.sock"
#define SOCKET_USER   "torc.sock" /* in $XDG_RUNTIME_DIR */
#define PATH_BYTES    108         /* as sockaddr_un has */

#define N_CLOSED 64 /* closed handles that a build with assertions still knows */

/* --- who may use a handle --- */

/* Forks between the first process and this one. A child is alone when it counts. */
static unsigned fork_count;

static void count_fork(void)
{
    fork_count++;
}

static void watch_forks(void)
{
    /* Fails only for want of memory; then children are not told apart, as documented callers must
     * not use the handle there anyway. */
    (void)pthread_atfork(NULL, NULL, count_fork);
}

/* Its address tells threads apart. Initial-exec: an address and no call, also in the shared
 * library. */
static __attribute__((tls_model("initial-exec"))) _Thread_local char thread_mark;

bool torc_is_ours(const struct torc *torc)
{
    return torc != NULL && torc->thread == &thread_mark && torc->fork_count == fork_count;
}

/* --- errors --- */

int torc_failf(struct torc *torc, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(torc->text_buffer, sizeof torc->text_buffer, format, arguments);
    va_end(arguments);
    return torc_fail(torc, error, torc->text_buffer);
}

static int error_of_errno(int error)
{
    switch (error) {
    case -EINVAL:
        return TORC_EINVAL;
    case -ENOMEM:
        return TORC_ENOMEM;
    case -ENOENT:
        return TORC_ENOENT;
    case -EPIPE:
        return TORC_EPIPE;
    case -EPROTO:
        return TORC_EPROTO;
    case -ETIMEDOUT:
        return TORC_ETIMEDOUT;
    case -EAGAIN:
        return TORC_EAGAIN;
    case -EMSGSIZE:
        return TORC_EMSGSIZE;
    case -ENOSPC:
        return TORC_ENOSPC;
    default:
        return TORC_EBADMSG;
    }
}

int torc_fail_output(struct torc *torc)
{
    return torc_is_ours(torc)
               ? torc_fail(torc, TORC_EINVAL, "nowhere to put what comes back: an output is NULL")
               : TORC_EINVAL;
}

int torc_fail_errno(struct torc *torc, int error)
{
    switch (error) {
    case -EPIPE:
        return torc_fail(torc, TORC_EPIPE,
                         "the server is gone; what was in flight has an unknown outcome");
    case -ETIMEDOUT:
        return torc_failf(torc, TORC_ETIMEDOUT,
                          "no reply within %.3f ms; a write has an unknown outcome",
                          (double)torc->deadline_ns / 1e6);
    case -EAGAIN:
        return torc_fail(torc, TORC_EAGAIN,
                         torc->n_late > 0
                             ? "no room for another request behind those that timed out"
                             : "no room for another request: collect results first");
    case -EMSGSIZE:
        return torc_fail(torc, TORC_EMSGSIZE, "the request is above the session's cap");
    case -ENOMEM:
        return torc_fail(torc, TORC_ENOMEM, "out of memory");
    default:
        return torc_fail(torc, error_of_errno(error), "the server broke the protocol");
    }
}

const char *torc_error_text(const struct torc *torc)
{
    return torc_is_ours(torc) ? torc->text : "";
}

const char *torc_error_name(int error)
{
    static const char *const names[] = {
        "TORC_OK",         "TORC_EINVAL",    "TORC_ENOMEM", "TORC_ENOENT",   "TORC_EPIPE",
        "TORC_EPROTO",     "TORC_ETIMEDOUT", "TORC_EAGAIN", "TORC_EMSGSIZE", "TORC_EBADMSG",
        "TORC_EWRONGTYPE", "TORC_EOOM",      "TORC_EREPLY", "TORC_ENOSPC",
    };
    if (error >= 0) {
        return names[0];
    }
    return error >= TORC_ENOSPC ? names[-error] : "unknown error";
}

const char *torc_version(void)
{
    return TORC_VERSION;
}

/* --- attaching --- */

static int attach_to(const struct torc_options *options, const char *path,
                     struct torc_attachment **out_attachment, char why[TORC_HANDSHAKE_TEXT_BYTES])
{
    static const enum torc_wait_mode modes[] = {
        [TORC_SPIN_ADAPTIVE] = TORC_WAIT_ADAPTIVE,
        [TORC_SPIN_BUSY] = TORC_WAIT_BUSY,
        [TORC_SPIN_YIELD] = TORC_WAIT_YIELD,
    };
    struct torc_attachment_options attach = {
        .path = path,
        .name = options->name,
        .slots = options->slots,
        .request_area_bytes = options->request_area_bytes,
        .reply_area_bytes = options->reply_area_bytes,
        .database = options->database,
        .wait = modes[options->spin],
        .spin_ns = options->spin_ns,
    };
    why[0] = '\0';
    return torc_attachment_open(&attach, out_attachment, why);
}

/* Try the places in their order; only one that nobody listens on gives way to the next. `path` gets
 * the one that the outcome is about. */
static int attach_somewhere(const struct torc_options *options,
                            struct torc_attachment **out_attachment,
                            char why[TORC_HANDSHAKE_TEXT_BYTES], char path[PATH_BYTES])
{
    const char *given = options->socket != NULL ? options->socket : getenv("TORC_SOCKET");
    if (given != NULL && given[0] != '\0') {
        (void)snprintf(path, PATH_BYTES, "%s", given);
        return attach_to(options, given, out_attachment, why);
    }
    (void)snprintf(path, PATH_BYTES, "%s", SOCKET_SYSTEM);
    int rc = attach_to(options, path, out_attachment, why);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (rc != -ENOENT || runtime == NULL || runtime[0] == '\0') {
        return rc;
    }
    char user_path[PATH_BYTES];
    if (snprintf(user_path, sizeof user_path, "%s/" SOCKET_USER, runtime) >= PATH_BYTES) {
        return rc;
    }
    int user_rc = attach_to(options, user_path, out_attachment, why);
    if (user_rc != -ENOENT) {
        memcpy(path, user_path, sizeof user_path);
    }
    return user_rc;
}

/* Attach and make room to remember as many requests as there are slots. The handle has no session.
 * On failure the text is noted and nothing else is changed. */
static int attach(struct torc *torc)
{
    char why[TORC_HANDSHAKE_TEXT_BYTES];
    char path[PATH_BYTES];
    struct torc_attachment *attachment;
    int rc = attach_somewhere(&torc->options, &attachment, why, path);
    if (rc != 0) {
        return torc_failf(torc, error_of_errno(rc), "cannot attach to %s: %s", path,
                          rc == -ENOENT ? "nobody listens there" : why);
    }
    size_t n = torc_attachment_slots(attachment);
    struct torc_entry *entries = realloc(torc->entries, n * sizeof *entries);
    if (entries == NULL) {
        torc_attachment_close(attachment);
        return torc_failf(torc, TORC_ENOMEM, "cannot attach to %s: out of memory", path);
    }
    torc->entries = entries;
    torc->entry_mask = n - 1;
    torc->attachment = attachment;
    return TORC_OK;
}

static void detach(struct torc *torc)
{
    torc_attachment_close(torc->attachment);
    torc->attachment = NULL;
    torc->holds = false;
    torc->last.len = 0;
    torc->broken = false;
    torc->head = 0;
    torc->tail = 0;
    torc->n_late = 0;
}

/* --- life --- */

static void free_content(struct torc *torc)
{
    torc_loans_fini(&torc->loans);
    free(torc->socket);
    free(torc->name);
    free(torc->entries);
    free(torc->strings);
    free(torc->ends);
}

/* The end of a handle that the user has seen. With assertions on, the memory of the last ones stays
 * for a while and belongs to no thread, so that use after close is refused like use by another
 * thread. */
static void bury(struct torc *torc)
{
#ifndef NDEBUG
    static _Atomic(struct torc *) closed[N_CLOSED];
    static _Atomic unsigned n_closed;
    memset(torc, 0, sizeof *torc);
    /* relaxed and acq_rel: each place is handed from one closing thread to another. */
    unsigned place = atomic_fetch_add_explicit(&n_closed, 1, memory_order_relaxed) % N_CLOSED;
    torc = atomic_exchange_explicit(&closed[place], torc, memory_order_acq_rel);
#endif
    free(torc);
}

static bool copy_text(const char *text, char **out_copy)
{
    *out_copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *out_copy != NULL;
}

static bool copy_options(struct torc *torc, const struct torc_options *options)
{
    if (!copy_text(options->socket, &torc->socket) || !copy_text(options->name, &torc->name)) {
        return false;
    }
    torc->options = *options;
    torc->options.socket = torc->socket;
    torc->options.name = torc->name;
    return true;
}

/* What is wrong with the options, or NULL. Sizes are the server's business. */
static const char *fault_of(const struct torc_options *options)
{
    for (const char *c = options->name; c != NULL && *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            return "the name of the session is not printable ASCII";
        }
    }
    if (options->name != NULL && strlen(options->name) >= TORC_HANDSHAKE_NAME_BYTES) {
        return "the name of the session is too long";
    }
    if ((unsigned)options->spin > TORC_SPIN_YIELD) {
        return "spin is none of enum torc_spin";
    }
    for (size_t i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++) {
        if (options->reserved[i] != 0 || options->reserved_word != 0) {
            return "reserved members of the options must be 0";
        }
    }
    return NULL;
}

int torc_open(const struct torc_options *options, struct torc **out_torc,
              const char **out_error_text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local char error_text[TORC_TEXT_BYTES];
    static const struct torc_options defaults;

    if (options == NULL) {
        options = &defaults;
    }
    int error = TORC_EINVAL;
    const char *fault = out_torc == NULL ? "out_torc is NULL" : fault_of(options);
    struct torc *torc = NULL;
    if (fault != NULL) {
        goto out_error;
    }
    (void)pthread_once(&once, watch_forks);
    error = TORC_ENOMEM;
    fault = "out of memory";
    torc = calloc(1, sizeof *torc);
    if (torc == NULL || !copy_options(torc, options)) {
        goto out_error;
    }
    torc->text = "";
    torc_loans_init(&torc->loans);
    torc->thread = &thread_mark;
    torc->fork_count = fork_count;
    if (torc->options.deadline_ns == 0) {
        torc->options.deadline_ns = TORC_DEADLINE_NS_DEFAULT;
    }
    torc->deadline_ns = torc->options.deadline_ns;
    error = attach(torc);
    if (error != TORC_OK) {
        (void)snprintf(error_text, sizeof error_text, "%s", torc->text);
        fault = error_text;
        goto out_error;
    }
    *out_torc = torc;
    return TORC_OK;

out_error:
    if (torc != NULL) {
        free_content(torc);
        free(torc);
    }
    if (out_error_text != NULL) {
        *out_error_text = fault;
    }
    return error;
}

void torc_close(struct torc *torc)
{
    if (torc == NULL) {
        return;
    }
    bool is_parents = torc->fork_count != fork_count;
    assert(torc->thread != NULL && "this handle is closed already");
    assert((is_parents || torc->thread == &thread_mark) && "this handle is another thread's");
    if (!is_parents && torc->thread != &thread_mark) {
        return; /* its thread may be in the middle of a call: a leak is the lesser evil */
    }
    if (!is_parents) {
        detach(torc);
    }
    free_content(torc);
    bury(torc);
}

int torc_reattach(struct torc *torc)
{
    if (!torc_is_ours(torc)) {
        return TORC_EINVAL;
    }
    detach(torc);
    return attach(torc);
}

uint64_t torc_epoch(const struct torc *torc)
{
    return torc_is_ours(torc) && torc->attachment != NULL ? torc_attachment_epoch(torc->attachment)
                                                          : 0;
}

size_t torc_slots(const struct torc *torc)
{
    return torc_is_ours(torc) && torc->attachment != NULL ? torc_attachment_slots(torc->attachment)
                                                          : 0;
}

void torc_set_deadline(struct torc *torc, uint64_t deadline_ns)
{
    if (torc_is_ours(torc)) {
        torc->deadline_ns = deadline_ns != 0 ? deadline_ns : torc->options.deadline_ns;
    }
}

size_t torc_outstanding(const struct torc *torc)
{
    return torc_is_ours(torc) ? torc_live(torc) : 0;
}
