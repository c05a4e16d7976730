/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Prefetching, for tables that are larger than the caches and are read in random order.
 */
#ifndef REPLAY_BASE_PREFETCH_H
#define REPLAY_BASE_PREFETCH_H

/* Fetches the cache line at `at` for writing. The address need not be mapped. gcc does not count this as an effect: it
 * may drop the call of a function that does nothing else, unless the function is HOT_INLINE (base/inline.h). */
static inline void prefetch(const void *at)
{
#if defined(__GNUC__)
    __builtin_prefetch(at, 1);
#else
    (void)at;
#endif
}

#endif
