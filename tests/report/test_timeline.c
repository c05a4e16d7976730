/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A run over time in few buckets has the extremes of the whole. */
#include "report/measure/timeline.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MOMENTS = 5000, SEED = 17 };

/* A random walk of the gauges; the meter's peaks follow. */
static void step(struct meter *m)
{
    m->now.requested = (uint64_t)(rand() % 1000);
    m->now.allocated = m->now.requested + (uint64_t)(rand() % 100);
    m->now.active = m->now.allocated + (uint64_t)(rand() % 50);
    m->now.reserved = m->now.active + (uint64_t)(rand() % 500);
    meter_raise(&m->peak.requested, m->now.requested);
    meter_raise(&m->peak.allocated, m->now.allocated);
    meter_raise(&m->peak.active, m->now.active);
    meter_raise(&m->peak.reserved, m->now.reserved);
}

Test(timeline, buckets_of_any_number_hold_the_exact_extremes_of_their_moments)
{
    for (size_t cap = 2; cap <= 64; cap *= 2) {
        struct timeline t;
        struct meter m = { .segments = NULL };
        uint64_t reserved[MOMENTS], unallocated[MOMENTS];
        srand(SEED);
        cr_assert_eq(timeline_open(&t, cap), ERR_OK);
        for (uint64_t i = 0; i < MOMENTS; i++) {
            step(&m);
            reserved[i] = m.now.reserved;
            unallocated[i] = m.now.reserved - m.now.allocated;
            timeline_take(&t, &m, i, i * 10);
        }
        cr_assert(t.n <= cap && t.n >= cap / 2);
        uint64_t seen = 0;
        for (size_t b = 0; b < t.n; b++) {
            uint64_t least = UINT64_MAX, most = 0, most_unallocated = 0;
            cr_assert_eq(t.buckets[b].event, seen, "buckets join without a gap");
            cr_assert_eq(t.buckets[b].time_ns, seen * 10);
            for (uint64_t i = 0; i < t.buckets[b].n_moments; i++, seen++) {
                least = reserved[seen] < least ? reserved[seen] : least;
                most = reserved[seen] > most ? reserved[seen] : most;
                most_unallocated = unallocated[seen] > most_unallocated ? unallocated[seen] : most_unallocated;
            }
            cr_expect_eq(t.buckets[b].least[TIMELINE_reserved], least, "seed %d, cap %zu, bucket %zu", SEED, cap, b);
            cr_expect_eq(t.buckets[b].most[TIMELINE_reserved], most, "seed %d, cap %zu, bucket %zu", SEED, cap, b);
            cr_expect_eq(t.buckets[b].most[TIMELINE_unallocated], most_unallocated);
        }
        cr_expect_eq(seen, MOMENTS);
        timeline_close(&t);
    }
}

Test(timeline, a_peak_within_an_event_is_not_lost)
{
    struct timeline t;
    struct meter m = { .now = { .reserved = 10 }, .peak = { .reserved = 10 } };
    cr_assert_eq(timeline_open(&t, 4), ERR_OK);
    timeline_take(&t, &m, 0, 0);
    m.peak.reserved = 90;                /* it rose and fell before the event ended */
    timeline_take(&t, &m, 1, 0);
    timeline_take(&t, &m, 2, 0);
    cr_expect_eq(t.buckets[1].most[TIMELINE_reserved], 90);
    cr_expect_eq(t.buckets[2].most[TIMELINE_reserved], 10, "and it is not seen again");
    timeline_close(&t);
}
