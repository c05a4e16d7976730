/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A run over time in bounded memory: the exact minimum and maximum of each gauge within each bucket.
 *
 * One pass, whatever the length of the trace. When all buckets are full, neighbours join in pairs:
 *
 *     |1|2|3|4|  ->  |1+2|3+4|   |   |
 */
#ifndef REPLAY_REPORT_MEASURE_TIMELINE_H
#define REPLAY_REPORT_MEASURE_TIMELINE_H

#include "report/measure/meter.h"

/* X(name, meaning): the gauges kept, in bytes. */
#define TIMELINE_GAUGES(X)                                                                                  \
    METER_GAUGES(X)                                                                                         \
    X(inactive_split, "free bytes in segments that also hold active blocks")                                \
    X(unallocated, "reserved, but not allocated: external fragmentation")                                   \
    X(rounding, "allocated, but not requested: internal fragmentation")

/* The gauges whose peaks the meter keeps: the meter's own, and the inactive split. */
enum { TIMELINE_N_PEAKS = 5 };

#define TIMELINE_ENUM(name, meaning) TIMELINE_##name,
enum timeline_gauge { TIMELINE_GAUGES(TIMELINE_ENUM) TIMELINE_N_GAUGES };
#undef TIMELINE_ENUM

struct timeline_bucket {
    uint64_t event, time_ns;         /* events before its first moment, and the time of that moment */
    uint64_t n_moments;
    uint64_t least[TIMELINE_N_GAUGES], most[TIMELINE_N_GAUGES];
};

struct timeline {
    struct timeline_bucket *buckets; /* n, at most cap; in order */
    size_t   n, cap;
    uint64_t moments_each;           /* moments that a bucket takes before the next begins */
    uint64_t peak[TIMELINE_N_PEAKS];         /* the meter's, at the last moment taken */
};

/* `cap`: an even number of buckets, at least 2. ERR_HOST_NOMEM. */
MUST_USE enum err timeline_open(struct timeline *out, size_t cap);
void timeline_close(struct timeline *t);         /* zero is accepted */

/* Takes the state after an event. A peak that the meter saw within the event counts too. */
void timeline_take(struct timeline *t, const struct meter *m, uint64_t event, uint64_t time_ns);

#endif
