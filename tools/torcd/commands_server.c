/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tools/torcd/commands_private.h"
#include "tools/torcd/info.h"

void torc_command_ping(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    if (call->request.n_strings > 1) {
        torc_sink_fault_with(call->sink, TORC_FAULT_ARITY, torc_slice_str("ping"),
                             torc_slice_str(""));
    } else if (call->request.n_strings == 1) {
        torc_sink_bytes(call->sink, call->request.strings[0]);
    } else {
        torc_sink_text(call->sink, torc_slice_str("PONG"));
    }
}

void torc_command_echo(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    torc_sink_bytes(call->sink, call->request.strings[0]);
}

void torc_command_select(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    if (call->request.numbers[0] != 0) {
        torc_sink_fault(call->sink, TORC_FAULT_DB_RANGE);
    } else {
        torc_sink_ok(call->sink);
    }
}

void torc_command_quit(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    if (call->caller != NULL) {
        call->caller->wants_close = true;
    }
    torc_sink_ok(call->sink);
}

void torc_command_info(struct torc_service *service, struct torc_call *call)
{
    torc_text_reset(&service->text);
    torc_info_write(service, call->request.strings, call->request.n_strings, &service->text);
    if (service->text.failed) {
        torc_sink_fault(call->sink, TORC_FAULT_OUT_OF_MEMORY);
    } else {
        torc_sink_prose(call->sink, torc_text_slice(&service->text));
    }
}

static void give_number(struct torc_sink *sink, uint64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    torc_sink_item(sink, torc_slice_of(text, (size_t)len));
}

void torc_command_time(struct torc_service *service, struct torc_call *call)
{
    (void)service;
    uint64_t now_us = torc_clock_wall_us();
    torc_sink_array(call->sink, 2);
    give_number(call->sink, now_us / 1000000u);
    give_number(call->sink, now_us % 1000000u);
}
