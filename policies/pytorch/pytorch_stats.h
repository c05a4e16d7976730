/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The counters of PyTorch's memory_stats(), in its own names.
 * Source: PyTorch, c10/core/CachingDeviceAllocator.h (Stat, DeviceStats).
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_STATS_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* X(name): statistics that memory_stats() gives for all, large_pool and small_pool; in byte order. */
#define PYTORCH_STATS(X)                                                                                    \
    X(active) X(active_bytes) X(allocated_bytes) X(allocation) X(inactive_split) X(inactive_split_bytes)    \
    X(requested_bytes) X(reserved_bytes) X(segment)

enum pytorch_size_class { CLASS_SMALL, CLASS_LARGE, CLASS_ALL, SIZE_CLASSES };

/* `freed` is not stored: it is `allocated` - (current - current at the last reset). Sums wrap, which they can on an
 * unlimited device. A count may fall below 0 after max_split_size was changed at run time. */
struct pytorch_stat {
    uint64_t current[SIZE_CLASSES];
    uint64_t peak[SIZE_CLASSES];
    uint64_t allocated[CLASS_ALL];           /* sum of the increases; CLASS_ALL: of both classes */
    uint64_t current_at_reset[CLASS_ALL];
};

struct pytorch_stats {
#define PYTORCH_STAT(name) struct pytorch_stat name;
    PYTORCH_STATS(PYTORCH_STAT)
#undef PYTORCH_STAT
    struct pytorch_stat oversize_allocations, oversize_segments;   /* one class only, kept in CLASS_LARGE and read as
                                                                    * CLASS_ALL */
    bool has_waited;                         /* a free had to wait for a stream. Until then `active` is `allocation` and
                                              * `active_bytes` is `allocated_bytes`, and only those are kept */
    int64_t num_alloc_retries, num_ooms, num_sync_all_streams, num_device_alloc, num_device_free, num_oom_rejections;
};

static inline void pytorch_stat_add(struct pytorch_stat *s, enum pytorch_size_class c, uint64_t x)
{
    s->allocated[c] += x;
    s->current[c] += x;
    s->current[CLASS_ALL] += x;
    if ((int64_t)s->current[c] > (int64_t)s->peak[c])
        s->peak[c] = s->current[c];
    if ((int64_t)s->current[CLASS_ALL] > (int64_t)s->peak[CLASS_ALL])
        s->peak[CLASS_ALL] = s->current[CLASS_ALL];
}

static inline void pytorch_stat_subtract(struct pytorch_stat *s, enum pytorch_size_class c, uint64_t x)
{
    s->current[c] -= x;
    s->current[CLASS_ALL] -= x;
}

/* Counts a request that is served with a block of `size` bytes. */
static inline void pytorch_stats_hand_out(struct pytorch_stats *s, enum pytorch_size_class c, uint64_t size,
                                          uint64_t requested)
{
    pytorch_stat_add(&s->allocation, c, 1);
    pytorch_stat_add(&s->allocated_bytes, c, size);
    pytorch_stat_add(&s->requested_bytes, c, requested);
    if (s->has_waited) {
        pytorch_stat_add(&s->active, c, 1);
        pytorch_stat_add(&s->active_bytes, c, size);
    }
}

/* Counts a block that the program gives up. */
static inline void pytorch_stats_give_up(struct pytorch_stats *s, enum pytorch_size_class c, uint64_t size)
{
    pytorch_stat_subtract(&s->allocation, c, 1);
    pytorch_stat_subtract(&s->allocated_bytes, c, size);
}

/* Counts a block that is no longer in use after the program gave it up. */
static inline void pytorch_stats_end_use(struct pytorch_stats *s, enum pytorch_size_class c, uint64_t size,
                                         uint64_t requested)
{
    pytorch_stat_subtract(&s->requested_bytes, c, requested);
    if (s->has_waited) {
        pytorch_stat_subtract(&s->active, c, 1);
        pytorch_stat_subtract(&s->active_bytes, c, size);
    }
}

/* Call this before the program gives up a block that stays in use for a while. */
void pytorch_stats_wait(struct pytorch_stats *s);

/* The counters to read, with those filled in that are not kept. */
struct pytorch_stats pytorch_stats_read(const struct pytorch_stats *s);

void pytorch_stat_reset_peak(struct pytorch_stat *s);
void pytorch_stat_reset_accumulated(struct pytorch_stat *s);
void pytorch_stats_reset_peak(struct pytorch_stats *s);
void pytorch_stats_reset_accumulated(struct pytorch_stats *s);

typedef void (*pytorch_stat_visit)(void *arg, const char *key, int64_t value);

/* The 12 keys "<name>.<class>.<counter>" in byte order. */
void pytorch_stat_walk(const struct pytorch_stat *s, const char *name, pytorch_stat_visit visit, void *arg);

/* The 4 keys "<name>.<counter>" of a statistic without classes. */
void pytorch_stat_walk_one(const struct pytorch_stat *s, const char *name, pytorch_stat_visit visit, void *arg);

#endif
