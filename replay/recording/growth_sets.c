/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is live, sorted by line and time; a line's requests are then cut into sets by the steps between them. */
#include "replay/recording/growth_sets.h"

#include "replay/recording/telling_lines.h"

#include <stdlib.h>

/* So many sets are a growth; of fewer, so many may have been there before, of which the copies are what exceeds
 * weights, gradients and two states. It matters if it is an 8th of the need. */
enum { SETS_LEAST = 3, SETS_SEEN_LEAST = 2, SETS_BEFORE_LEAST = 6, SETS_OF_TRAINING = 4, NEED_SHARE = 8 };

/* None is more than twice as many steps from the next as another, nor the last from the end. */
enum { STEPS_APART = 2 };

struct sets {
    const struct phases *phases;
    const struct phase_starts *steps;
    const struct holdings *h;        /* sorted by line */
    size_t   begin, end;             /* one line's: h->at[begin, end) */
    size_t   n, each;                /* sets, and requests in each */
    size_t   kept;                   /* where the last set that counts ends */
    uint64_t set_bytes;
};

static uint32_t line_of(const struct phases *p, const struct holding *h)
{
    return h->stack == TRACE_NO_STACK || h->born < 0 ? UINT32_MAX : p->line_of[h->stack];
}

/* qsort has no argument for the phases, so the line stands in `died`, which nobody needs here. */
static int compare_lines(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    if (x->died != y->died)
        return x->died < y->died ? -1 : 1;
    return x->born < y->born ? -1 : x->born > y->born;
}

static size_t step_of(const struct sets *s, size_t i)
{
    return phase_starts_up_to(s->steps, s->h->at[i].born);
}

/* Where the set that begins at `i` ends: at the next step. */
static size_t set_end(const struct sets *s, size_t i)
{
    size_t end = i;
    while (end < s->end && step_of(s, end) == step_of(s, i))
        end++;
    return end;
}

/* Whether the n requests at `i` are, size for size, the first ones of the first set. */
static bool is_like_first(const struct sets *s, size_t i, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (s->h->at[i + k].bytes != s->h->at[s->begin + k].bytes)
            return false;
    return true;
}

/* Whether the set at `i` is the last one, which the refusal cut off after two whole ones. */
static bool is_cut_off(const struct sets *s, size_t i)
{
    const size_t n = set_end(s, i) - i;
    return n < s->each && i + n == s->end && s->n >= SETS_SEEN_LEAST && is_like_first(s, i, n);
}

/* A forward pass that is cut off holds what it needs itself. */
static bool is_of_own_pass(const struct sets *s)
{
    return s->phases->of_stack[s->h->at[s->begin].stack] == PHASE_FORWARD;
}

/* Counts a line's sets, if all are alike and about as far apart. The last one may be cut off. */
static bool count_sets(struct sets *s)
{
    size_t nearest = SIZE_MAX, farthest = s->steps->n - step_of(s, s->end - 1), last = 0;
    s->n = s->set_bytes = 0;
    s->each = set_end(s, s->begin) - s->begin;
    for (size_t i = s->begin; i < s->end; i += s->each, s->n++) {
        const bool is_whole = set_end(s, i) - i == s->each && is_like_first(s, i, s->each);
        if (!is_whole && !is_cut_off(s, i))
            return false;
        if (!is_whole && is_of_own_pass(s))
            break;
        s->kept = set_end(s, i);
        const size_t step = step_of(s, i), apart = step - last;
        nearest = s->n > 0 && apart < nearest ? apart : nearest;
        farthest = s->n > 0 && apart > farthest ? apart : farthest;
        last = step;
    }
    for (size_t k = 0; k < s->each; k++)
        s->set_bytes += s->h->at[s->begin + k].bytes;
    return s->n >= SETS_SEEN_LEAST && farthest <= STEPS_APART * nearest;
}

/* How many sets were there when the recording began, by its largest size. */
static size_t sets_before(const struct sets *s)
{
    uint64_t most = 0;
    size_t in_set = 0, before = 0;
    for (size_t k = 0; k < s->each; k++)
        most = s->h->at[s->begin + k].bytes > most ? s->h->at[s->begin + k].bytes : most;
    for (size_t k = 0; k < s->each; k++)
        in_set += s->h->at[s->begin + k].bytes == most;
    for (size_t i = 0; i < s->h->n; i++)
        before += s->h->at[i].born < 0 && s->h->at[i].bytes == most;
    return before / in_set;
}

static enum err take_growth(struct trace_reader *trace, const struct sets *s, size_t before, struct growth *out,
                            struct err_detail *err)
{
    struct holdings kept = { .at = &s->h->at[s->begin], .n = s->kept - s->begin };
    out->is_found = true;
    out->turn = TURN_RUN;
    out->before_requests = before * s->each;
    out->before_bytes = before * s->set_bytes;
    out->turns = s->n + before;
    out->of_two_sets = out->turns < SETS_LEAST;
    out->bytes_per_turn = s->set_bytes;
    out->held_requests = out->before_requests + kept.n;
    out->bytes = out->before_bytes;
    for (size_t i = 0; i < kept.n; i++)
        out->bytes += kept.at[i].bytes;
    out->held_bytes = out->bytes;
    out->since = (uint64_t)s->h->at[before > 0 ? s->begin : s->begin + s->each].born;
    out->phases = 1U << s->phases->of_stack[s->h->at[s->begin].stack];
    return telling_lines_group(trace, &kept, &out->lines, err);
}

/* Whether a line's requests are such a growth; *before: how many sets of it are from before the recording. */
static bool is_growth(struct sets *s, const uint32_t *freed, uint64_t need_bytes, size_t *before)
{
    const struct holding *first = &s->h->at[s->begin];
    *before = 0;
    if (line_of(s->phases, first) == UINT32_MAX || freed[line_of(s->phases, first)] > 0 ||
        s->phases->of_stack[first->stack] == PHASE_OPTIMIZER || !count_sets(s))
        return false;
    const size_t there = s->n < SETS_LEAST ? sets_before(s) : 0;
    *before = there >= SETS_BEFORE_LEAST ? there - SETS_OF_TRAINING : 0;
    return (s->n + *before) * s->set_bytes >= need_bytes / NEED_SHARE;
}

static enum err find_sets(struct trace_reader *trace, const struct phases *phases, const uint32_t *freed,
                          const struct holdings *h, uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    struct sets s = { .phases = phases, .h = h, .steps = &phases->starts[PHASE_OPTIMIZER] };
    size_t before;
    if (s.steps->n == 0)
        s.steps = &phases->starts[PHASE_FORWARD];
    for (s.begin = 0; s.begin < h->n; s.begin = s.end) {
        for (s.end = s.begin; s.end < h->n && h->at[s.end].died == h->at[s.begin].died;)
            s.end++;
        if (is_growth(&s, freed, need_bytes, &before))
            return take_growth(trace, &s, before, out, err);
    }
    return ERR_OK;
}

enum err growth_sets_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *freed,
                          uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    enum err e = holdings_read(trace, MOMENT_EVENT, moment, &h, err);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < h.n; i++)
        h.at[i].died = line_of(phases, &h.at[i]);
    qsort(h.at, h.n, sizeof *h.at, compare_lines);
    e = find_sets(trace, phases, freed, &h, need_bytes, out, err);
    out->until = moment;
    holdings_close(&h);
    return e;
}
