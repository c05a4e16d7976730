/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Transparent huge pages of Linux; most systems give them on request (Documentation/admin-guide/mm/transhuge.rst). */
#define _GNU_SOURCE                   /* MADV_HUGEPAGE */
#include "base/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>

void large_pages_want(void *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t large = (uintptr_t)2 << 20, first = ((uintptr_t)at + large - 1) & ~(large - 1);
    const uintptr_t end = ((uintptr_t)at + bytes) & ~(large - 1);
    if (end > first)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)at, (void)bytes;
#endif
}
