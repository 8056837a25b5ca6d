/* SPDX-License-Identifier: Apache-2.0
 *
 * The datagrams of the handshake, as each side checks them. The first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ring/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool claim)
{
    if (!claim) {
        abort();
    }
}

static void check_sizes(uint32_t slots, uint32_t request_area_bytes, uint32_t reply_area_bytes)
{
    expect(torc_slots_are_valid(slots));
    expect(torc_area_bytes_are_valid(request_area_bytes));
    expect(torc_area_bytes_are_valid(reply_area_bytes));
}

static void check_text(const char *text, size_t cap)
{
    size_t len = strnlen(text, cap);
    expect(len < cap);
    for (size_t i = 0; i < len; i++) {
        expect(text[i] >= ' ' && text[i] <= '~');
    }
}

static void hello(const uint8_t *data, size_t size)
{
    struct torc_session_options options = {
        .slots = 256, .request_area_bytes = 65536, .reply_area_bytes = 65536};
    struct torc_hello out;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    int result = torc_handshake_check_hello(data, size, &options, &out, why);
    check_text(why, sizeof why);
    check_sizes(options.slots, options.request_area_bytes, options.reply_area_bytes);
    if (result == 0) {
        check_text(out.name, sizeof out.name);
        expect(out.name[TORC_HANDSHAKE_NAME_BYTES - 1] == '\0');
    } else {
        expect(why[0] != '\0' && options.slots == 256);
    }
}

static void welcome(const uint8_t *data, size_t size)
{
    struct torc_welcome out;
    char why[TORC_HANDSHAKE_TEXT_BYTES] = "";
    int result = torc_handshake_check_welcome(data, size, &out, why);
    check_text(why, sizeof why);
    if (result == 0) {
        check_sizes(out.slots, out.request_area_bytes, out.reply_area_bytes);
        expect(out.shard < out.n_shards && out.long_message_max <= TORC_MESSAGE_MAX_BYTES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        hello(data + 1, size - 1);
        break;
    case 1:
        welcome(data + 1, size - 1);
        break;
    default:
        (void)torc_handshake_is_mark(data + 1, size - 1, TORC_MAPPED);
        break;
    }
    return 0;
}
