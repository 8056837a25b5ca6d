/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies of a server that may be hostile. What is given out must lie inside the bytes, an
 * incomplete reply must not become another kind of failure by bytes that complete it, and every
 * shorter beginning of a complete reply is incomplete.
 */
#include "tools/resp_reply.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void require_inside(struct torc_resp_span span, size_t used)
{
    require(span.len == SIZE_MAX || (span.start <= used && span.len <= used - span.start));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct torc_resp_reply reply = {0};
    size_t used = 0;
    int rc = torc_resp_reply_parse(&reply, data, size, &used);
    require(rc == 1 || rc == 0 || rc == -EBADMSG || rc == -EMSGSIZE);
    if (rc == 1) {
        require(used > 0 && used <= size);
        if (reply.kind == TORC_RESP_SIMPLE || reply.kind == TORC_RESP_ERROR ||
            reply.kind == TORC_RESP_BULK) {
            require_inside(reply.text, used);
        }
        for (size_t i = 0; i < reply.n_elements; i++) {
            require_inside(reply.elements[i], used);
        }
        size_t step = used / 64 + 1;
        size_t ignored = 0;
        for (size_t len = 0; len < used; len += step) {
            require(torc_resp_reply_parse(&reply, data, len, &ignored) == 0);
        }
        require(torc_resp_reply_parse(&reply, data, used, &ignored) == 1 && ignored == used);
    }
    torc_resp_reply_fini(&reply);
    return 0;
}
