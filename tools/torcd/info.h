/* SPDX-License-Identifier: Apache-2.0
 *
 * INFO: the sections and fields that clients and monitors of Redis read, and our own beside them.
 */
#ifndef TORC_TORCD_INFO_H
#define TORC_TORCD_INFO_H

#include "tools/torcd/service.h"

/* Append the sections named by n words (any case; "default", "all" and "everything" are groups, no
 * word at all is "default"); an unknown name gives nothing. Poller's thread; two syscalls for the
 * resident size and the CPU times. */
void torc_info_write(const struct torc_service *service, const struct torc_slice *words, uint32_t n,
                     struct torc_text *text);

#endif
