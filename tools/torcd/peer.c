/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/peer.h"

/* Decode request i into the batch. What is wrong with it becomes its answer. */
static void decode(struct torc_service *service, struct torc_batch *batch, unsigned i,
                   const struct torc_taken *taken)
{
    struct torc_call *call = &batch->calls[i];
    struct torc_slices *strings = &batch->strings;
    call->caller = NULL;
    batch->first[i] = (uint32_t)strings->n;
    for (;;) {
        size_t room = strings->cap - strings->n; /* far below 2^32, as messages are */
        int rc = torc_request_decode(taken->data, taken->len, strings->items + strings->n,
                                     (uint32_t)room, &call->request);
        if (TORC_LIKELY(rc == 0)) {
            strings->n += call->request.n_strings;
            torc_call_check(service, call);
            return;
        }
        if (rc != -EMSGSIZE) {
            torc_call_refuse(call, rc == -ENOENT ? TORC_FAULT_UNKNOWN_OP : TORC_FAULT_BAD_REQUEST);
            return;
        }
        if (!torc_slices_reserve(strings, strings->n + call->request.n_strings)) {
            torc_call_refuse(call, TORC_FAULT_OUT_OF_MEMORY);
            return;
        }
    }
}

static void start_reply(struct torc_batch *batch, const struct torc_call *call)
{
    torc_ring_sink_begin(&batch->ring, batch->reply, batch->reply_cap, call->request.op,
                         call->request.tag);
}

/* Build the reply to `call` in the batch's reply memory. */
static void build_reply(struct torc_peer *peer, struct torc_service *service,
                        struct torc_batch *batch, struct torc_call *call)
{
    struct torc_ring_sink *ring = &batch->ring;
    start_reply(batch, call);
    call->sink = &ring->sink;
    if (peer->is_counted) {
        torc_call_repeat(service, call);
    } else {
        torc_call_run(service, call);
    }
    if (TORC_LIKELY(!ring->writer.overflow)) {
        return;
    }
    /* A call that is postponed made no reply. Reads have replies of that size, and writes that
     * asked for room before they change anything: doing it again does it once. */
    assert(torc_call_is_repeatable(call) || ring->was_asked);
    size_t need = ring->writer.need;
    enum torc_fault fault = TORC_FAULT_NONE;
    if (need > service->settings->session_long_message_max) {
        fault = TORC_FAULT_REPLY_TOO_LARGE;
    } else if (!torc_batch_grow_reply(batch, need)) {
        fault = TORC_FAULT_OUT_OF_MEMORY;
    }
    start_reply(batch, call);
    if (fault == TORC_FAULT_NONE) {
        torc_call_repeat(service, call);
    } else {
        torc_sink_fault(&ring->sink, fault);
    }
    assert(!ring->writer.overflow);
}

/* Run `call` and publish its reply. 0; -EAGAIN no room for it now, -EBADMSG. */
static int answer(struct torc_peer *peer, struct torc_service *service, struct torc_batch *batch,
                  struct torc_call *call)
{
    struct torc_ring_sink *ring = &batch->ring;
    build_reply(peer, service, batch, call);
    int rc = ring->room;
    if (TORC_LIKELY(rc == 0)) {
        rc = torc_session_reply(peer->session, batch->reply, ring->writer.len);
    }
    if (TORC_LIKELY(rc == 0)) {
        peer->is_counted = false;
        return 0;
    }
    if (rc == -EMSGSIZE || rc == -ENOMEM) {
        start_reply(batch, call);
        torc_sink_fault(&ring->sink,
                        rc == -EMSGSIZE ? TORC_FAULT_REPLY_TOO_LARGE : TORC_FAULT_OUT_OF_MEMORY);
        rc = torc_session_reply(peer->session, batch->reply, ring->writer.len);
    }
    /* A write that changed something has a reply that fits its slot, or had room reserved for it.
     * So what is run again for want of room is a read, or was refused, or did nothing yet. */
    peer->is_counted = rc == -EAGAIN;
    return rc == 0 || rc == -EAGAIN ? rc : -EBADMSG;
}

int torc_peer_serve(struct torc_peer *peer, struct torc_service *service, struct torc_batch *batch,
                    unsigned max_requests)
{
    unsigned served = 0;
    size_t bytes = 0;
    int rc = 0;
    if (batch->ring.session != peer->session) {
        torc_ring_sink_init(&batch->ring, peer->session,
                            (size_t)service->settings->session_long_message_max, batch->reply,
                            batch->reply_cap, TORC_OP_NONE, 0);
    }
    while (rc == 0 && served < max_requests && bytes < TORC_SESSION_VISIT_BYTES) {
        struct torc_taken taken[TORC_BATCH_MAX];
        unsigned most = max_requests - served;
        most = most < TORC_BATCH_MAX ? most : TORC_BATCH_MAX;
        int n = torc_session_take(peer->session, taken, most);
        if (n <= 0) {
            rc = n;
            break;
        }
        batch->strings.n = 0;
        const struct torc_slice *items = batch->strings.items;
        for (int i = 0; i < n; i++) {
            bytes += taken[i].len;
            decode(service, batch, (unsigned)i, &taken[i]);
        }
        if (TORC_UNLIKELY(batch->strings.items != items)) {
            for (int i = 0; i < n; i++) {
                batch->calls[i].request.strings = batch->strings.items + batch->first[i];
            }
        }
        torc_calls_prepare(service, batch->calls, (unsigned)n);
        for (int i = 0; rc == 0 && i < n; i++) {
            rc = answer(peer, service, batch, &batch->calls[i]);
            served += rc == 0;
        }
        if ((unsigned)n < most) {
            break; /* no more were there; what has come meanwhile is found by the next look */
        }
    }
    torc_session_wake(peer->session);
    torc_batch_trim(batch);
    service->stats.ring_requests += served;
    service->stats.ring_stalls += rc == -EAGAIN && !batch->ring.sink.is_postponed;
    return rc == -EBADMSG ? rc : (int)served;
}
