/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the server: spin, yield, sleep; its doorbell; its death.
 */
#include <poll.h>
#include <sched.h>

#include "core/clock.h"
#include "ring/attachment_private.h"
#include "ring/futex.h"

#define PAUSES_PER_LOOK_AT_CLOCK 16u
#define YIELDS_BEFORE_SLEEP      8u
#define YIELDS_NS_MAX            20000u /* longer: another program got the core, so sleep and be woken */
#define LIFE_CHECK_NS            1000000u /* while awake */

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__("yield");
#endif
}

void torc_attachment_ring(struct torc_attachment *attachment, uint32_t flag)
{
    if (flag == attachment->rung_word) {
        return;
    }
    attachment->rung_word = flag;
    /* Fails only when 2^64 - 2 rings have not been read: then the server has been woken. */
    uint64_t one = 1;
    ssize_t written = write(attachment->doorbell, &one, sizeof one);
    (void)written;
}

void torc_attachment_check_life(struct torc_attachment *attachment)
{
    if (attachment->socket < 0) {
        return;
    }
    struct pollfd end_of_file = {.fd = attachment->socket, .events = POLLRDHUP};
    if (poll(&end_of_file, 1, 0) == 1 &&
        (end_of_file.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) {
        attachment->is_dead = true;
    }
}

/* One sleep on the futex word, if there is still nothing to see after the server was told. */
static int sleep_once(struct torc_attachment *attachment, torc_attachment_look *look,
                      uint64_t limit_ns)
{
    _Atomic uint32_t *sleeping = &attachment->request_lines->sleeping;
    const struct torc_reply_lines *server = attachment->reply_lines;
    /* The futex word first: the server wakes once per value of the flag, and it may do so for
     * replies seen long ago. Whatever it does once it has seen the flag then ends this sleep. */
    uint32_t word = atomic_load_explicit(&server->futex, memory_order_acquire);
    /* A new value for each sleep. */
    attachment->sleep_word += attachment->sleep_word == UINT32_MAX ? 2 : 1;
    /* W4: see the table in ring/layout.h. */
    atomic_store_explicit(sleeping, attachment->sleep_word, memory_order_seq_cst);
    (void)atomic_load_explicit(&server->batches, memory_order_seq_cst);
    int result = look(attachment);
    if (result == -EAGAIN) {
        torc_futex_wait(&server->futex, word, limit_ns);
    }
    /* relaxed: a late wake-up is harmless. */
    atomic_store_explicit(sleeping, 0, memory_order_relaxed);
    return result == -EAGAIN ? look(attachment) : result;
}

/* A few looks, as the mode has it. `is_spinning`: adaptive, and the budget is not used up. */
static int look_awhile(struct torc_attachment *attachment, torc_attachment_look *look,
                       bool is_spinning)
{
    if (attachment->wait == TORC_WAIT_YIELD || !is_spinning) {
        (void)sched_yield();
        return look(attachment);
    }
    int result = -EAGAIN;
    for (unsigned i = 0; i < PAUSES_PER_LOOK_AT_CLOCK && result == -EAGAIN; i++) {
        pause_cpu();
        result = look(attachment);
    }
    return result;
}

int torc_attachment_await(struct torc_attachment *attachment, torc_attachment_look *look,
                          uint64_t deadline_ns)
{
    const bool is_adaptive = attachment->wait == TORC_WAIT_ADAPTIVE;
    uint64_t now = torc_clock_monotonic_ns();
    const uint64_t start = now;
    uint64_t life_checked = now;
    unsigned yields = 0;
    for (;;) {
        bool is_spinning = !is_adaptive || now - start < attachment->spin_ns;
        int result;
        if (is_spinning ||
            (yields < YIELDS_BEFORE_SLEEP && now - start < attachment->spin_ns + YIELDS_NS_MAX)) {
            result = look_awhile(attachment, look, is_spinning);
            yields += !is_spinning;
        } else {
            uint64_t limit = attachment->sleep_ns_max;
            if (deadline_ns != 0) {
                limit = torc_min_u64(limit, deadline_ns - now);
            }
            result = sleep_once(attachment, look, limit);
        }
        if (result != -EAGAIN) {
            return result;
        }
        now = torc_clock_monotonic_ns();
        if (now - life_checked >= LIFE_CHECK_NS) {
            life_checked = now;
            torc_attachment_check_life(attachment);
            if (attachment->is_dead) {
                /* Its last replies may have come before the end of file was seen. */
                result = look(attachment);
                return result == -EAGAIN ? -EPIPE : result;
            }
        }
        if (deadline_ns != 0 && now >= deadline_ns) {
            return -ETIMEDOUT;
        }
    }
}
