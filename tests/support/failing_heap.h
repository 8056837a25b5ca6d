/* SPDX-License-Identifier: Apache-2.0
 *
 * malloc(), calloc() and realloc() that fail when told to. Link the test with --wrap for all three;
 * those inside libc (strdup) do not fail. Each thread counts for itself: a server in another thread
 * is not touched. What a test does in between (check allocates, too) counts.
 */
#ifndef TORC_TESTS_SUPPORT_FAILING_HEAP_H
#define TORC_TESTS_SUPPORT_FAILING_HEAP_H

#include <stdbool.h>

/* Let the n-th call of this thread from now on fail, once: 1 = the next one. 0 = none. */
void torc_heap_fail_at(unsigned n);

/* Did a call fail since the last torc_heap_fail_at()? */
bool torc_heap_has_failed(void);

#endif
