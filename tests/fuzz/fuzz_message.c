/* SPDX-License-Identifier: Apache-2.0
 *
 * Both decoders on any bytes: they refuse, or give what lies inside the message, and what they
 * accept is encoded again to a message of the same meaning.
 */
#include <stdlib.h>

#include "ring/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define SOME_STRINGS 8u

static bool is_inside(struct torc_slice part, const uint8_t *data, size_t size)
{
    return part.data >= data && part.data <= data + size &&
           part.len <= size - (size_t)(part.data - data);
}

static void check_request(const uint8_t *data, size_t size)
{
    struct torc_slice few[SOME_STRINGS];
    struct torc_slice *strings = few;
    struct torc_request request;
    int rc = torc_request_decode(data, size, few, SOME_STRINGS, &request);
    if (rc == -EMSGSIZE) {
        REQUIRE(request.n_strings > SOME_STRINGS && request.n_strings <= size);
        strings = calloc(request.n_strings, sizeof *strings);
        REQUIRE(strings != NULL);
        rc = torc_request_decode(data, size, strings, request.n_strings, &request);
        REQUIRE(rc == 0 || rc == -EBADMSG);
    }
    if (rc == 0) {
        for (uint32_t i = 0; i < request.n_strings; i++) {
            REQUIRE(is_inside(strings[i], data, size));
        }
        size_t len = torc_request_size(request.op, strings, request.n_strings);
        REQUIRE(len > 0 && len <= size);
        uint8_t *again = malloc(len);
        REQUIRE(again != NULL);
        REQUIRE(torc_request_encode(again, request.op, request.tag, request.numbers, strings,
                                    request.n_strings) == len);
        struct torc_slice *copies = calloc(request.n_strings + 1u, sizeof *copies);
        REQUIRE(copies != NULL);
        struct torc_request copy;
        REQUIRE(torc_request_decode(again, len, copies, request.n_strings, &copy) == 0);
        REQUIRE(copy.op == request.op && copy.tag == request.tag &&
                copy.n_strings == request.n_strings);
        for (uint32_t i = 0; i < request.n_strings; i++) {
            REQUIRE(torc_slice_equal(copies[i], strings[i]));
        }
        free(copies);
        free(again);
    }
    if (strings != few) {
        free(strings);
    }
}

static void check_slices(const struct torc_reply *reply, const uint8_t *data, size_t size)
{
    REQUIRE((reply->status != TORC_WIRE_OK) == (reply->kind == TORC_REPLY_ERROR));
    REQUIRE(reply->bytes.data == NULL || is_inside(reply->bytes, data, size));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < reply->count; i++) {
        struct torc_slice item = torc_reply_at(reply, i);
        REQUIRE(item.data == NULL || is_inside(item, data, size));
        sum += item.len;
    }
    REQUIRE(sum <= size);
}

static void check_reply(const uint8_t *data, size_t size)
{
    struct torc_reply reply;
    int rc = torc_reply_decode(data, size, &reply);
    REQUIRE(rc == 0 || rc == -EBADMSG);
    if (rc == 0) {
        check_slices(&reply, data, size);
    }
    struct torc_reply shared = {.count = 0};
    int shared_rc = torc_reply_decode_shared(data, size, NULL, 0, &shared);
    if (shared_rc == -EMSGSIZE) {
        REQUIRE(shared.count > 0 && shared.count <= size / 4);
        uint32_t *ends = calloc(shared.count, sizeof *ends);
        REQUIRE(ends != NULL);
        shared_rc = torc_reply_decode_shared(data, size, ends, shared.count, &shared);
        REQUIRE(shared_rc == rc);
        if (shared_rc == 0) {
            check_slices(&shared, data, size);
        }
        free(ends);
    } else {
        REQUIRE(shared_rc == rc);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_request(data, size);
    check_reply(data, size);
    return 0;
}
