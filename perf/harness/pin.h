/* SPDX-License-Identifier: Apache-2.0
 *
 * Pinning a measuring program to one CPU, with a reason when it cannot be had.
 */
#ifndef TORC_PERF_PIN_H
#define TORC_PERF_PIN_H

#include "core/base.h"

#define TORC_PIN_ERROR_BYTES 160

/* Pin the calling thread. -EINVAL with a text in `error`, which says which CPUs may be used. */
int torc_pin(int cpu, char error[TORC_PIN_ERROR_BYTES]) TORC_MUST_USE;

#endif
