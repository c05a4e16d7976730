/*
 * Asking for memory before its turn, where tables are larger than the caches and are read in any order.
 */
#ifndef REPLAY_BASE_PREFETCH_H
#define REPLAY_BASE_PREFETCH_H

/* Has the cache line at `at` fetched, which will be written to. It need not be mapped. To gcc this is no effect: a call of
 * a function that does nothing else may be left out, unless it is HOT_INLINE (base/inline.h). */
static inline void prefetch(const void *at)
{
#if defined(__GNUC__)
    __builtin_prefetch(at, 1);
#else
    (void)at;
#endif
}

#endif
