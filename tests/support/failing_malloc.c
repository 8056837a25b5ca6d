/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/failing_malloc.h"

#include <stddef.h>

/* The names are the linker's: --wrap=malloc. */
void *__real_malloc(size_t size); // NOLINT
void *__wrap_malloc(size_t size); // NOLINT

static _Thread_local unsigned calls_left;
static _Thread_local int has_failed;

void torc_malloc_fail_at(unsigned n)
{
    calls_left = n;
    has_failed = 0;
}

int torc_malloc_has_failed(void)
{
    return has_failed;
}

void *__wrap_malloc(size_t size) // NOLINT
{
    if (calls_left > 0 && --calls_left == 0) {
        has_failed = 1;
        return NULL;
    }
    return __real_malloc(size);
}
