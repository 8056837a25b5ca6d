/* SPDX-License-Identifier: Apache-2.0
 *
 * A malloc() that fails when told to. Link the test with -Wl,--wrap=malloc and failing_malloc.c:
 * calls from all objects of the program go through it, those inside libc do not. Per thread.
 */
#ifndef TORC_TESTS_SUPPORT_FAILING_MALLOC_H
#define TORC_TESTS_SUPPORT_FAILING_MALLOC_H

/* Let the n-th call from now on fail, once: 1 = the next one. 0 = none. */
void torc_malloc_fail_at(unsigned n);

/* Did a call fail since the last torc_malloc_fail_at()? */
int torc_malloc_has_failed(void);

#endif
