/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/reply.h"

void torc_sink_fault_with(struct torc_sink *sink, enum torc_fault fault, struct torc_slice first,
                          struct torc_slice second)
{
    char buffer[TORC_FAULT_TEXT_BYTES];
    struct torc_slice text = torc_fault_text(fault, first, second, buffer);
    sink->fault = fault;
    sink->ops->error(sink, torc_fault_status(fault), text);
}

void torc_sink_fault(struct torc_sink *sink, enum torc_fault fault)
{
    torc_sink_fault_with(sink, fault, torc_slice_str(""), torc_slice_str(""));
}
