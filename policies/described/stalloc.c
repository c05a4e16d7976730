/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * stalloc: a plan of a whole training, as described in "STAlloc: Enhancing Memory Efficiency in Large-Scale Model
 * Training with Spatio-Temporal Planning" (EuroSys 2026, arXiv 2507.16274) and in its released source
 * (github.com/infinigence/STAlloc, Synthesizer/ and Allocator/StaticAllocator.hpp).
 *
 *   1. A run before this one was profiled: the policy looks at the whole trace. The iteration is what the longest
 *      repetition of request sizes repeats, of those that are found from three places of the trace. If nothing is
 *      repeated, nothing is planned.
 *   2. Planned are all requests before the first iteration, and those of one iteration that end before the same request
 *      of the next one begins; of these the PLANNED_MAX largest. The others live on from iteration to iteration, and
 *      are served online, by first fit in segments of their own.
 *   3. First those that outlive the first iteration, then the others, each time the largest first, each gets the lowest
 *      offset at which it overlaps no other in time: before the first iteration, in each iteration, across its end.
 *   4. At run time the i-th request gets the i-th offset; after the first iteration the rows of the iteration begin
 *      again. A request of another size, or whose place is in use, is a mismatch, counted and served online.
 *
 * Taken otherwise than in the source: requests up to 512 bytes have no slots of their own, the plan is greedy by size
 * and not by layers of one size, and dynamic requests do not use what lies idle in the plan. The profile is that of the
 * very run, so its figures are those of an oracle.
 */
#include "policies/described/planned.h"

#include "base/array.h"
#include "base/large_pages.h"
#include "base/repetition.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLANNED_MAX = 8192 };

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

/* A request, its life in events. */
struct profiled {
    uint64_t bytes, offset;
    size_t   begin, end;             /* end: SIZE_MAX if it is never freed */
    uint32_t row;
    bool     is_repeated;            /* it is one of the iteration, begins in the first one, and again in each */
};

/* When the first iteration begins, and how long each is, in events. */
struct iterations {
    size_t begin, events;
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

/* The iteration: the longest repetition found from three places of the trace. */
static struct repetition find_iteration(const struct profile *p)
{
    struct repetition best = {.period = 0};
    for (size_t part = 4; part > 1 && p->n >= 4; part--) {
        const struct repetition r = repetition_from(p->bytes, p->n, p->n / part);
        if (repetition_length(&r) > repetition_length(&best))
            best = r;
    }
    return best;
}

/* ---- the plan ---- */

/* Those that outlive the first iteration first, then the largest. */
static int compare_order(const void *a, const void *b)
{
    const struct profiled *x = *(struct profiled *const *)a, *y = *(struct profiled *const *)b;
    const bool x_stays = x->end == SIZE_MAX, y_stays = y->end == SIZE_MAX;
    if (x_stays != y_stays)
        return x_stays ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->begin > y->begin) - (x->begin < y->begin);
}

/* Whether two requests meet, of which each may be repeated every `events`. */
static bool meet(const struct profiled *x, const struct profiled *y, size_t events)
{
    if (x->is_repeated != y->is_repeated)            /* the other one began before the first iteration */
        return x->is_repeated ? y->end > x->begin : x->end > y->begin;
    if (x->begin < y->end && y->begin < x->end)
        return true;
    return x->is_repeated && (x->begin + events < y->end || y->begin + events < x->end);
}

/* The lowest offset for x that none of the n placed requests, by offset, has in its time. */
static uint64_t lowest_offset(const struct profiled *x, struct profiled *const *placed, size_t n, size_t events)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < n && placed[i]->offset < offset + x->bytes; i++)
        if (placed[i]->offset + placed[i]->bytes > offset && meet(x, placed[i], events))
            offset = placed[i]->offset + placed[i]->bytes;
    return offset;
}

/* Puts x among the n placed requests. */
static void place(struct profiled *x, struct profiled **placed, size_t n)
{
    for (; n > 0 && placed[n - 1]->offset > x->offset; n--)
        placed[n] = placed[n - 1];
    placed[n] = x;
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

/* Places the requests of `order`, and writes their rows. ERR_HOST_NOMEM. */
static enum err place_all(struct profiled **order, size_t n, size_t events, struct planned_row *rows)
{
    const size_t n_placed = n < PLANNED_MAX ? n : PLANNED_MAX;
    struct profiled **placed = malloc(array_bytes(n_placed + 1, sizeof *placed));
    if (placed == NULL)
        return ERR_HOST_NOMEM;
    qsort(order, n, sizeof *order, compare_order);
    for (size_t i = 0; i < n_placed; i++) {
        order[i]->offset = lowest_offset(order[i], placed, i, events);
        place(order[i], placed, i);
        rows[order[i]->row] = (struct planned_row){.bytes = order[i]->bytes, .offset = order[i]->offset};
    }
    free(placed);
    return ERR_OK;
}

/* Moves the profiled iteration to where the first one is, and says which of all lives are planned; returns how many. */
static size_t choose(struct profiled *lives, size_t n, size_t first, struct iterations when, struct profiled **order)
{
    const size_t profiled_at = lives[first].begin;
    size_t n_chosen = 0;
    for (size_t i = 0; i < n; i++) {
        struct profiled *life = &lives[i];
        life->row = (uint32_t)i;
        life->is_repeated = i >= first;
        if (life->is_repeated && (life->end == SIZE_MAX || life->end - life->begin > when.events))
            continue;
        if (life->is_repeated) {
            life->begin = life->begin - profiled_at + when.begin;
            life->end = life->end - profiled_at + when.begin;
        } else if (life->end >= when.begin + when.events) {
            life->end = SIZE_MAX;
        }
        order[n_chosen++] = life;
    }
    return n_chosen;
}

/* Plans `first` requests and then an iteration of `period`; `lives` are theirs. ERR_HOST_NOMEM. */
static enum err plan_all(struct profiled *lives, size_t first, size_t period, struct iterations when,
                         struct planned *p)
{
    const size_t n = first + period;
    struct profiled **order = malloc(array_bytes(n + 1, sizeof *order));
    p->rows = calloc(n + 1, sizeof *p->rows);
    enum err e = order == NULL || p->rows == NULL ? ERR_HOST_NOMEM : ERR_OK;
    if (e == ERR_OK) {
        const size_t n_chosen = choose(lives, n, first, when, order);
        p->n_rows = n_chosen > 0 ? n : 0;
        e = place_all(order, n_chosen, when.events, p->rows);
    }
    free(order);
    return e;
}

/* Plans by the last iteration that is followed by another. */
static enum err plan_repetition(const struct event *ev, size_t n, const struct repetition *r, struct planned *p)
{
    const size_t profiled = r->end - r->period;             /* it and the next one are alike */
    const size_t first = r->begin + (profiled - r->begin) % r->period;         /* in phase with it */
    struct profiled *lives = calloc(first + r->period + 1, sizeof *lives), *iteration = lives + first;
    enum err e = lives == NULL ? ERR_HOST_NOMEM : lives_read(ev, n, 0, lives, first + 1);
    struct iterations when = {.begin = 0};
    if (e == ERR_OK) {
        when.begin = iteration[0].begin;
        e = lives_read(ev, n, profiled, iteration, r->period + 1);
    }
    p->first = first;
    p->is_repeated = true;
    if (e == ERR_OK) {
        when.events = iteration[r->period].begin - iteration[0].begin;
        e = plan_all(lives, first, r->period, when, p);
    }
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
    snprintf(text, sizeof text, "stalloc: its plan knows the run, with an iteration of %zu requests; %" PRIu64
             " requests went by plan, %" PRIu64 " were not as planned", p->n_rows - p->first, p->n_planned,
             p->n_mismatched);
    visit(arg, REMARK_ASSUMPTION, text);
}

const struct policy_ops policy_stalloc = {
    POLICY_HEAD,
    .name = "stalloc",
    .summary = "a plan of a profiled run, the rest online (as described: STAlloc, arXiv 2507.16274)",
    .options = stalloc_options,
    .needs = POLICY_NEEDS_FUTURE,
    .create = stalloc_create, .destroy = planned_destroy,
    .alloc = planned_alloc,   .free = planned_free,       .expect = planned_expect,
    .flush = plain_flush,     .foresee = stalloc_foresee, .walk = planned_walk, .largest_free = planned_largest_free,
    .stats = planned_stats,   .remarks = stalloc_remarks, .check = planned_check,
};
