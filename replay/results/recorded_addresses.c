/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Looks at where the recorded segments and expandable ranges begin. */
#include "replay/results/recorded_addresses.h"

#include "base/units.h"

/* ---- segments ---- */

/* Only segments of more than half a span are compared, each with the one before: under Linux each begins a span of its
 * own. Other memory of the process lies between them, so it takes several pairs to show an order. */
static bool segments_rose(const struct trace_segment_event *events, size_t n)
{
    enum { PAIRS_LEAST = 4 };
    const uint64_t half_span_bytes = 16 * MIB;
    size_t n_pairs = 0, n_rising = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind != TRACE_SEGMENT_ALLOC || events[i].bytes <= half_span_bytes)
            continue;
        n_pairs += last != 0;
        n_rising += last != 0 && events[i].addr > last;
        last = events[i].addr;
    }
    return n_pairs >= PAIRS_LEAST && 2 * n_rising > n_pairs;
}

/* ---- ranges ---- */

/* Where pages of a range have been: from its start, since the first pages are mapped there. */
struct known_range {
    uint64_t addr, end;
};

/* What comes after the first RANGES_MOST is not looked at: they show an order if there is one. */
enum { RANGES_MOST = 128 };

struct known_ranges {
    struct known_range all[RANGES_MOST];
    size_t n;
    size_t n_above, n_below;             /* new ones above all that were known, and below all */
};

static struct known_range *range_with(struct known_ranges *k, uint64_t addr)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->all[i].addr <= addr && addr <= k->all[i].end)
            return &k->all[i];
    return NULL;
}

static void count_new(struct known_ranges *k, uint64_t addr)
{
    bool is_above = k->n > 0, is_below = k->n > 0;
    for (size_t i = 0; i < k->n; i++) {
        is_above &= k->all[i].addr < addr;
        is_below &= k->all[i].addr > addr;
    }
    k->n_above += is_above;
    k->n_below += is_below;
}

static void learn_range(struct known_ranges *k, uint64_t addr, uint64_t bytes, bool is_new)
{
    struct known_range *r = range_with(k, addr);
    const uint64_t end = addr + bytes;
    if (r != NULL) {
        r->end = r->end > end ? r->end : end;
    } else if (k->n < RANGES_MOST) {
        if (is_new)
            count_new(k, addr);
        k->all[k->n++] = (struct known_range){ addr, end };
    }
}

/* A range is larger than the card, so the driver finds no room for it between others: one pair is enough. A new range
 * is compared with all that were seen before, since the addresses of one that was given up may come again. */
static bool ranges_rose(const struct trace_reader *trace, const struct trace_segment_event *events, size_t n)
{
    struct known_ranges k = { .n = 0 };
    size_t n_start;
    const struct trace_segment *start = trace_start_segments(trace, &n_start);
    for (size_t i = 0; i < n_start; i++)
        learn_range(&k, start[i].addr, start[i].bytes, false);
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == TRACE_SEGMENT_MAP || events[i].kind == TRACE_SEGMENT_UNMAP)
            learn_range(&k, events[i].addr, events[i].bytes, events[i].kind == TRACE_SEGMENT_MAP);
    return k.n_above > k.n_below;
}

/* ---- both ---- */

enum err addresses_rose(struct trace_reader *trace, bool *out, struct err_detail *err)
{
    const struct trace_segment_event *events;
    size_t n;
    const enum err e = trace_segment_events(trace, &events, &n, err);
    *out = e == ERR_OK && (segments_rose(events, n) || ranges_rose(trace, events, n));
    return e;
}
