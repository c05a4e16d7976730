/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * stalloc: a plan from one iteration, then online, as described in "STAlloc: Enhancing Memory Efficiency in Large-Scale
 * Model Training with Spatio-Temporal Planning" (arXiv 2507.16274) and its repository's README.
 *
 *   1. The iteration is what the longest repetition of request sizes repeats, of those that are found from three places
 *      of the trace. If nothing is repeated, nothing is planned.
 *   2. Planned are the requests of one iteration that end before the same request of the next one begins; of these the
 *      PLANNED_MAX largest. The others live on, and are served online, by first fit in segments of their own.
 *   3. Largest first, each gets the lowest offset at which it overlaps no other in time, this iteration's and the next.
 *   4. At run time the i-th request of an iteration gets the i-th offset. One of another size, or whose place is in
 *      use, is a mismatch, counted and served online.
 *
 * Taken otherwise than in the paper: requests up to 512 bytes have no slots of their own, the plan is greedy by size
 * and not by layers of one size, and dynamic requests do not use what lies idle in the plan. The policy looks at the
 * whole trace to find the iteration, as its profiler does, so its figures are those of an oracle.
 */
#include "policies/described/planned.h"

#include "base/array.h"
#include "base/large_pages.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PLANNED_MAX = 4096,
    ALIKE = 8,                       /* requests that must be of the same sizes for a repetition to be looked at, and
                                      * the shortest iteration; fewer in traces of fewer than four times as many */
    TRIED_MAX = 256,
};

static const struct policy_option stalloc_options[] = {
    [PLAIN_CHUNK] = PLAIN_CHUNK_OPTION,
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

/* The rounded sizes of all requests. */
struct profile {
    uint64_t *bytes;
    size_t    n;
};

/* A request of the iteration, its life in events. */
struct profiled {
    uint64_t bytes, offset;
    size_t   begin, end;             /* end: SIZE_MAX if it is never freed */
};

static enum err stalloc_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct planned *p;
    const enum err e = planned_create(cfg, &p, err);
    if (e == ERR_OK)
        *out = &p->order.plain.base;
    return e;
}

/* ---- the profile ---- */

static bool is_request(const struct event *ev)
{
    return ev->kind == EVENT_ALLOC || ev->kind == EVENT_OOM;
}

static enum err profile_read(const struct event *ev, size_t n, struct profile *out)
{
    *out = (struct profile){.bytes = malloc(array_bytes(n + 1, sizeof *out->bytes))};
    if (out->bytes == NULL)
        return ERR_HOST_NOMEM;
    large_pages_want(out->bytes, n * sizeof *out->bytes);
    for (size_t i = 0; i < n; i++) {                /* without a branch: nobody foresees which event is a request */
        out->bytes[out->n] = align_up(ev[i].bytes, PLAIN_UNIT);
        out->n += is_request(&ev[i]);
    }
    return ERR_OK;
}

/* A stretch of requests that repeats: each of [begin, end) has the size of the one `period` requests later. */
struct repetition {
    size_t begin, end, period;
};

static bool is_alike(const struct profile *p, size_t i, size_t k)
{
    return p->bytes[i] == p->bytes[k];
}

/* The stretch around request `i` that repeats after `period`. */
static struct repetition extend(const struct profile *p, size_t i, size_t period)
{
    struct repetition r = {.begin = i, .end = i, .period = period};
    while (r.begin > 0 && is_alike(p, r.begin - 1, r.begin - 1 + period))
        r.begin--;
    while (r.end + period < p->n && is_alike(p, r.end, r.end + period))
        r.end++;
    return r;
}

/* The longest repetition of what begins at request `i`, of at least two rounds; period 0 if there is none. */
static struct repetition longest_from(const struct profile *p, size_t i)
{
    const size_t wanted = p->n / 4 < ALIKE ? p->n / 4 : ALIKE;
    struct repetition best = {.period = 0};
    unsigned n_tried = 0;
    for (size_t k = i + wanted; k + wanted <= p->n && n_tried < TRIED_MAX; k++) {
        size_t same = 0;
        while (same < wanted && is_alike(p, i + same, k + same))
            same++;
        if (same < wanted)
            continue;
        n_tried++;
        const struct repetition r = extend(p, i, k - i);
        if (r.end - r.begin >= r.period && r.end - r.begin + r.period > best.end - best.begin + best.period)
            best = r;
    }
    return best;
}

/* The iteration: the longest repetition found from three places of the trace. */
static struct repetition find_iteration(const struct profile *p)
{
    struct repetition best = {.period = 0};
    for (size_t part = 4; part > 1 && p->n >= 4; part--) {
        const struct repetition r = longest_from(p, p->n / part);
        if (r.end - r.begin + r.period > best.end - best.begin + best.period)
            best = r;
    }
    return best;
}

/* ---- the plan ---- */

static int compare_size(const void *a, const void *b)
{
    const struct profiled *x = *(struct profiled *const *)a, *y = *(struct profiled *const *)b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->begin > y->begin) - (x->begin < y->begin);
}

static int compare_offset(const void *a, const void *b)
{
    const struct profiled *x = *(struct profiled *const *)a, *y = *(struct profiled *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whether two requests of an iteration of `events` meet, in it or across its end. */
static bool meet(const struct profiled *x, const struct profiled *y, size_t events)
{
    return (x->begin < y->end && y->begin < x->end) || (x->begin + events < y->end && y->begin < x->end + events) ||
           (y->begin + events < x->end && x->begin < y->end + events);
}

/* The lowest offset for x that none of the n placed requests has in its time; `near` has room for n. */
static uint64_t lowest_offset(const struct profiled *x, struct profiled *const *placed, size_t n, size_t events,
                              struct profiled **near)
{
    size_t n_near = 0;
    uint64_t offset = 0;
    for (size_t i = 0; i < n; i++)
        if (meet(x, placed[i], events))
            near[n_near++] = placed[i];
    if (n_near > 0)
        qsort(near, n_near, sizeof *near, compare_offset);
    for (size_t i = 0; i < n_near && near[i]->offset < offset + x->bytes; i++)
        if (near[i]->offset + near[i]->bytes > offset)
            offset = near[i]->offset + near[i]->bytes;
    return offset;
}

/* The lives of the `n` requests from number `first` on. */
static enum err lives_read(const struct event *ev, size_t n_events, size_t first, struct profiled *lives, size_t n)
{
    size_t n_slots = 0, number = 0;
    for (size_t i = 0; i < n_events; i++)
        if (ev[i].kind == EVENT_ALLOC && ev[i].slot >= n_slots)
            n_slots = (size_t)ev[i].slot + 1;
    struct profiled **in_slot = calloc(n_slots + 1, sizeof *in_slot);
    if (in_slot == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < n_events; i++) {
        if (is_request(&ev[i])) {
            const bool is_refused = ev[i].kind == EVENT_OOM;
            struct profiled *life = number >= first && number - first < n ? &lives[number - first] : NULL;
            number++;
            if (life != NULL)
                *life = (struct profiled){.bytes = align_up(ev[i].bytes, PLAIN_UNIT), .begin = i,
                                          .end = is_refused ? i + 1 : SIZE_MAX};
            if (!is_refused)
                in_slot[ev[i].slot] = life;
        } else if ((ev[i].kind == EVENT_FREE || ev[i].kind == EVENT_FREE_COMPLETED) && in_slot[ev[i].slot] != NULL) {
            in_slot[ev[i].slot]->end = i;
        }
    }
    free(in_slot);
    return ERR_OK;
}

/* Plans an iteration of `period` requests, which takes `events` events. */
static enum err plan_iteration(struct profiled *lives, size_t period, size_t events, struct planned *p)
{
    struct profiled **order = calloc(period + 1, sizeof *order), **near = calloc(period + 1, sizeof *near);
    size_t n = 0;
    p->rows = calloc(period + 1, sizeof *p->rows);
    if (order == NULL || near == NULL || p->rows == NULL) {
        free(order);
        free(near);
        return ERR_HOST_NOMEM;
    }
    for (size_t i = 0; i < period; i++)
        if (lives[i].end != SIZE_MAX && lives[i].end - lives[i].begin <= events)
            order[n++] = &lives[i];
    if (n > 0)
        qsort(order, n, sizeof *order, compare_size);
    for (size_t i = 0; i < n && i < PLANNED_MAX; i++) {
        order[i]->offset = lowest_offset(order[i], order, i, events, near);
        p->rows[order[i] - lives] = (struct planned_row){.bytes = order[i]->bytes, .offset = order[i]->offset};
    }
    p->n_rows = n > 0 ? period : 0;
    free(order);
    free(near);
    return ERR_OK;
}

/* Plans the last iteration that is followed by another. */
static enum err plan_repetition(const struct event *ev, size_t n, const struct repetition *r, struct planned *p)
{
    const size_t first = r->end - r->period;                /* it and the next one are alike */
    struct profiled *lives = calloc(r->period + 1, sizeof *lives);
    enum err e = lives == NULL ? ERR_HOST_NOMEM : lives_read(ev, n, first, lives, r->period + 1);
    p->first = r->begin + (first - r->begin) % r->period;   /* the rows are in phase with it */
    p->is_repeated = true;
    if (e == ERR_OK)
        e = plan_iteration(lives, r->period, lives[r->period].begin - lives[0].begin, p);
    free(lives);
    return e;
}

/* Finds the iteration, and plans it. */
static enum err stalloc_foresee(struct policy *base, const struct event *ev, size_t n)
{
    struct profile profile;
    enum err e = profile_read(ev, n, &profile);
    if (e != ERR_OK)
        return e;
    const struct repetition r = find_iteration(&profile);
    if (r.period > 0)
        e = plan_repetition(ev, n, &r, (struct planned *)base);
    free(profile.bytes);
    return e;
}

static void stalloc_remarks(const struct policy *base, remark_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    char text[256];
    if (p->n_rows == 0) {
        visit(arg, REMARK_WARNING, "stalloc: the trace repeats no sequence of requests, so nothing was planned");
        return;
    }
    snprintf(text, sizeof text, "stalloc: its plan knows the recorded iteration of %zu requests; %" PRIu64
             " requests went by plan, %" PRIu64 " were not as planned", p->n_rows, p->n_planned, p->n_mismatched);
    visit(arg, REMARK_ASSUMPTION, text);
}

const struct policy_ops policy_stalloc = {
    POLICY_HEAD,
    .name = "stalloc",
    .summary = "a plan of one iteration, the rest online (as described: STAlloc, arXiv 2507.16274)",
    .options = stalloc_options,
    .needs = POLICY_NEEDS_FUTURE,
    .create = stalloc_create, .destroy = planned_destroy,
    .alloc = planned_alloc,   .free = planned_free,       .expect = planned_expect,
    .flush = plain_flush,     .foresee = stalloc_foresee, .walk = planned_walk, .largest_free = planned_largest_free,
    .stats = planned_stats,   .remarks = stalloc_remarks, .check = planned_check,
};
