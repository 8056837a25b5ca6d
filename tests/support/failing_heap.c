/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/failing_heap.h"

#include <stddef.h>

/* The names are the linker's. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
/* NOLINTBEGIN(readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static _Thread_local unsigned calls_left;
static _Thread_local bool has_failed;

void torc_heap_fail_at(unsigned n)
{
    calls_left = n;
    has_failed = false;
}

bool torc_heap_has_failed(void)
{
    return has_failed;
}

static bool fails(void)
{
    if (calls_left == 0 || --calls_left != 0) {
        return false;
    }
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* NOLINTEND(readability-identifier-naming) */
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
