/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* How buckets take moments, and how two buckets become one. */
#include "report/measure/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err timeline_open(struct timeline *out, size_t cap)
{
    assert(cap >= 2 && cap % 2 == 0);
    *out = (struct timeline){ .buckets = calloc(cap, sizeof *out->buckets), .cap = cap, .moments_each = 1 };
    return out->buckets != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

void timeline_close(struct timeline *t)
{
    free(t->buckets);
    *t = (struct timeline){ .buckets = NULL };
}

static void bucket_join(struct timeline_bucket *a, const struct timeline_bucket *b)
{
    a->n_moments += b->n_moments;
    for (int i = 0; i < TIMELINE_N_GAUGES; i++) {
        if (b->least[i] < a->least[i])
            a->least[i] = b->least[i];
        if (b->most[i] > a->most[i])
            a->most[i] = b->most[i];
    }
}

static void timeline_halve(struct timeline *t)
{
    assert(t->n % 2 == 0);
    for (size_t i = 0; i < t->n / 2; i++) {
        t->buckets[i] = t->buckets[2 * i];
        bucket_join(&t->buckets[i], &t->buckets[2 * i + 1]);
    }
    t->n /= 2;
    t->moments_each *= 2;
}

/* Reads every gauge. Pending frees count as requested but no longer as allocated, so differences stop at 0. */
static void timeline_read(const struct meter *m, uint64_t now[TIMELINE_N_GAUGES])
{
    const struct meter_bytes *b = &m->now;
#define METER_GAUGE(name, meaning) now[TIMELINE_##name] = b->name;
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
    now[TIMELINE_inactive_split] = meter_inactive_split(m);
    now[TIMELINE_unallocated] = b->reserved > b->allocated ? b->reserved - b->allocated : 0;
    now[TIMELINE_rounding] = b->allocated > b->requested ? b->allocated - b->requested : 0;
}

void timeline_take(struct timeline *t, const struct meter *m, uint64_t event, uint64_t time_ns)
{
    const uint64_t peak[] = { m->peak.requested, m->peak.allocated, m->peak.active, m->peak.reserved,
                              m->inactive_split_peak };
    struct timeline_bucket now = { .event = event, .time_ns = time_ns, .n_moments = 1 };
    static_assert(sizeof peak / sizeof peak[0] == TIMELINE_N_PEAKS, "one for each gauge that has one");
    timeline_read(m, now.least);
    memcpy(now.most, now.least, sizeof now.most);
    for (int i = 0; i < TIMELINE_N_PEAKS; i++) {
        if (peak[i] > t->peak[i] && peak[i] > now.most[i])
            now.most[i] = peak[i];
        t->peak[i] = peak[i];
    }
    if (t->n > 0 && t->buckets[t->n - 1].n_moments < t->moments_each) {
        bucket_join(&t->buckets[t->n - 1], &now);
        return;
    }
    if (t->n == t->cap)
        timeline_halve(t);
    t->buckets[t->n++] = now;
}
