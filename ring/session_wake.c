/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's half of sleeping: wake a sleeping client, tell clients that the poller sleeps. The
 * words and their order are in ring/layout.h.
 */
#include "ring/futex.h"
#include "ring/session_private.h"

void torc_session_wake(struct torc_session *session)
{
    if (!session->has_news) {
        return;
    }
    session->has_news = false;
    /* W3: see the table in ring/layout.h. */
    (void)atomic_fetch_add_explicit(&session->reply_lines->batches, 1, memory_order_seq_cst);
    uint32_t flag = atomic_load_explicit(&session->request_lines->sleeping, memory_order_seq_cst);
    if (TORC_LIKELY(flag == 0) || flag == session->woken_word) {
        return;
    }
    session->woken_word = flag;
    (void)atomic_fetch_add_explicit(&session->reply_lines->futex, 1, memory_order_release);
    torc_futex_wake(&session->reply_lines->futex);
    session->counters.wakes++;
}

void torc_sessions_set_sleeping(struct torc_session *const *sessions, size_t n_sessions,
                                bool sleeping)
{
    bool needs_barrier = false;
    for (size_t i = 0; i < n_sessions; i++) {
        struct torc_session *session = sessions[i];
        if (!sleeping) {
            if (session->is_sleeping) {
                /* relaxed: a late doorbell is harmless. */
                atomic_store_explicit(&session->reply_lines->sleeping, 0, memory_order_relaxed);
                session->is_sleeping = false;
            }
            continue;
        }
        /* A new value for each sleep: the client rings once per value. */
        session->sleep_word += session->sleep_word == UINT32_MAX ? 2 : 1;
        session->is_sleeping = true;
        /* W1: pairs with the client's look after it has published. */
        atomic_store_explicit(&session->reply_lines->sleeping, session->sleep_word,
                              memory_order_seq_cst);
        needs_barrier |= session->is_asymmetric;
    }
    if (needs_barrier) {
        torc_membarrier();
    }
}

void torc_session_set_sleeping(struct torc_session *session, bool sleeping)
{
    torc_sessions_set_sleeping(&session, 1, sleeping);
}

void torc_session_count_doorbell(struct torc_session *session)
{
    session->counters.doorbells++;
}
