/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is live, sorted by size, with what the recording began with first in each size. */
#include "replay/recording/growth_before.h"

#include "replay/recording/telling_lines.h"

#include <stdlib.h>

/* At least so many of a size must have been there: a model has a few dozen weights of one size. The recording must show
 * as many steps. It matters if it is a quarter of the need, each size from a 64th on. */
enum { BEFORE_LEAST = 48, STEPS_LEAST = 2, NEED_SHARE = 4, SIZE_SHARE = 64, LINES_TRIED = 64 };

static int compare_sizes(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->born < y->born ? -1 : x->born > y->born;
}

static bool is_own_or_forward(const struct phases *p, const struct holding *h)
{
    const int phase = h->stack == TRACE_NO_STACK ? PHASE_BACKWARD : p->of_stack[h->stack];
    return phase == PHASE_OWN || phase == PHASE_FORWARD;
}

/* In how many steps the line of h[first] left something of its size. What the step that is cut off requested may yet be
 * freed, so it does not count. */
static unsigned steps_left(const struct phases *p, const struct holding *h, size_t first, size_t n)
{
    const uint32_t line = p->line_of[h[first].stack];
    size_t last = SIZE_MAX;
    unsigned steps = 0;
    for (size_t i = first; i < n; i++) {
        if (!is_own_or_forward(p, &h[i]) || p->line_of[h[i].stack] != line)
            continue;
        const size_t step = phase_starts_up_to(&p->starts[PHASE_OPTIMIZER], h[i].born);
        steps += step != last && step < p->starts[PHASE_OPTIMIZER].n;
        last = step;
    }
    return steps;
}

/* Whether a line goes on leaving what so many were there of: h[0, before) are from before the recording. The first
 * LINES_TRIED lines are looked at. */
static bool goes_on(const struct phases *p, const struct holding *h, size_t before, size_t n)
{
    bool does = false;
    uint32_t line = UINT32_MAX;
    unsigned tried = 0;
    for (size_t i = before; i < n && before >= BEFORE_LEAST && tried < LINES_TRIED && !does; i++) {
        if (!is_own_or_forward(p, &h[i]) || p->line_of[h[i].stack] == line)
            continue;
        line = p->line_of[h[i].stack];
        does = steps_left(p, h, i, n) >= STEPS_LEAST;
        tried++;
    }
    return does;
}

/* Moves what of one size goes on to `to`, and returns how many those are. */
static size_t keep_size(const struct phases *p, struct holding *h, size_t n, uint64_t need_bytes, struct holding *to,
                        struct growth *out)
{
    size_t before = 0, kept = 0;
    while (before < n && h[before].born < 0)
        before++;
    if (before * h[0].bytes < need_bytes / SIZE_SHARE || !goes_on(p, h, before, n))
        return 0;
    out->before_bytes += before * h[0].bytes;
    out->before_requests += before;
    for (size_t i = before; i < n; i++)
        if (is_own_or_forward(p, &h[i]))
            to[kept++] = h[i];
    return kept;
}

static void keep_growing(const struct phases *p, struct holdings *h, uint64_t need_bytes, struct growth *out)
{
    size_t kept = 0, end;
    qsort(h->at, h->n, sizeof *h->at, compare_sizes);
    for (size_t begin = 0; begin < h->n; begin = end) {
        for (end = begin; end < h->n && h->at[end].bytes == h->at[begin].bytes;)
            end++;
        kept += keep_size(p, &h->at[begin], end - begin, need_bytes, &h->at[kept], out);
    }
    h->n = kept;
}

static void take_growth(const struct phases *p, const struct holdings *h, uint64_t moment, struct growth *out)
{
    for (size_t i = 0; i < h->n; i++) {
        out->held_bytes += h->at[i].bytes;
        out->phases |= 1U << p->of_stack[h->at[i].stack];
    }
    out->is_found = true;
    out->until = moment;
    out->turn = TURN_RUN;
    out->bytes_per_turn = out->held_bytes / h->n;
    out->held_bytes += out->before_bytes;
    out->held_requests = out->turns = h->n + out->before_requests;
    out->bytes = out->held_bytes;
}

enum err growth_before_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                            uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    if (!phases->has_python || phases->starts[PHASE_OPTIMIZER].n < STEPS_LEAST)
        return ERR_OK;
    enum err e = holdings_read(trace, MOMENT_EVENT, moment, &h, err);
    if (e != ERR_OK)
        return e;
    keep_growing(phases, &h, need_bytes, out);
    if (h.n > 0 && out->before_bytes >= need_bytes / NEED_SHARE) {
        take_growth(phases, &h, moment, out);
        e = telling_lines_group(trace, &h, &out->lines, err);
    } else {
        out->before_bytes = out->before_requests = 0;
    }
    holdings_close(&h);
    return e;
}
