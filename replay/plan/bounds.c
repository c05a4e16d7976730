/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Two kinds of plan.
 *
 * By time: first fit as the events pass. It needs memory only for the requests that are live at once.
 *
 * By lifetimes, if all lifetimes fit into memory: the largest requests are placed with their whole future known, and
 * the rest by first fit in order of time above them.
 *
 *     height ->  +----------------------+
 *                | rest: first fit      |   the rest gets its own addresses, so the two parts are
 *                +----------------------+   planned one after the other
 *                | the 16384 largest    |
 *           0 -> +----------------------+
 */
#include "replay/plan/bounds.h"

#include "base/prefetch.h"
#include "base/units.h"
#include "replay/engine/start_state.h"
#include "replay/plan/free_stretches.h"
#include "replay/plan/lifetimes.h"
#include "replay/plan/placed_requests.h"
#include "sim/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAN_ROUND   = 512,
    PLAN_LARGEST = 16384,            /* requests placed by lifetime: the work grows with the square of their number */
};

/* A live request. */
struct tenant {
    uint64_t bytes;                  /* as requested */
    uint64_t addr;                   /* in the plan by time */
    size_t   life;
    bool     is_retired;             /* freed by the program, but a stream may still touch it */
};

struct bounds_finder {
    struct tenant *tenants;          /* by slot */
    size_t         n_tenants;
    struct free_stretches stretches;
    struct lifetimes   lives;
    bool           has_lives;        /* `lives` holds every request so far */
    bool           has_plan;         /* `stretches` holds every request so far */
    uint64_t       round_bytes;      /* requests of the plans are multiples of this power of two */
    uint64_t       live_bytes;       /* now */
    uint64_t       time_ns;          /* of the current event */
    double         live_byte_ns;     /* live_bytes, each value times how long it lasted */
    int64_t        event;            /* the current one; -1: the start state */
    uint64_t       caught_before;    /* as in replay_config */
    struct bounds  bounds;           /* so far */
    enum err       error;            /* the first error: no event is taken after it */
};

/* ---- a plan by lifetimes ---- */

static int compare_lives(const void *a, const void *b)
{
    const struct lifetime *x = *(struct lifetime *const *)a, *y = *(struct lifetime *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The longest-lived first, so that they lie at the bottom and short lives come and go above them. */
static int compare_durations(const void *a, const void *b)
{
    const struct lifetime *x = *(struct lifetime *const *)a, *y = *(struct lifetime *const *)b;
    const uint32_t long_x = x->end - x->begin, long_y = y->end - y->begin;
    return long_x != long_y ? (long_x > long_y ? -1 : 1) : compare_lives(a, b);
}

/* Whether a plan of `bytes` is as good as one of `more`: as many whole pages, and both within `near` or both not. */
static bool is_as_good(uint64_t bytes, uint64_t more, uint64_t near)
{
    return align_up(bytes, DEVICE_PAGE_BYTES) == align_up(more, DEVICE_PAGE_BYTES) && (bytes <= near) == (more <= near);
}

/* Places each request, in this order, at the lowest address that is free for its whole life. Returns the height with
 * `rest` bytes above, or one that is as good. Many small requests at the end need no place: wherever they lie, they
 * raise the plan by no more than their sizes together, which may not change the number of pages. */
static uint64_t plan_in_order(struct lifetime *const *order, size_t n, uint64_t rest, uint64_t near,
                              struct placed_requests *placed)
{
    size_t last = n;
    uint64_t left = 0;                           /* bytes of the requests from `last` on that have no place yet */
    while (last > 0 && left + order[last - 1]->bytes < DEVICE_PAGE_BYTES)
        left += order[--last]->bytes;
    placed_requests_clear(placed);
    for (size_t i = 0; i < n; i++) {
        const uint64_t height = add_capped(placed->height, rest);
        if (i >= last && is_as_good(height, add_capped(height, left), near))
            break;
        placed_requests_add(placed, order[i]->bytes, order[i]->begin, order[i]->end);
        left -= i >= last ? order[i]->bytes : 0;
    }
    return add_capped(placed->height, rest);
}

/* Places all requests that are not placed by lifetime, by first fit in order of time. Stops when the plan exceeds
 * `most` bytes. *height is 0 if there is no such request. */
static enum err plan_rest(struct lifetimes *l, uint64_t most, uint64_t *height)
{
    struct free_stretches stretches;
    enum err e = free_stretches_open(&stretches);
    *height = 0;
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < l->n_steps && e == ERR_OK && stretches.height <= most; i++) {
        struct lifetime *life = lifetimes_at_step(l, i);
        if (life->is_placed)
            continue;
        if (l->steps[i] % 2 == 1)
            e = free_stretches_give(&stretches, life->addr, life->bytes);
        else if (!free_stretches_take(&stretches, life->bytes, &life->addr))
            break;                               /* exceeds all addresses, as did the plan that it is compared with */
    }
    *height = stretches.height;
    free_stretches_close(&stretches);
    return e;
}

/* The height of a plan with these requests and `rest` bytes above them: in order of size, and if that is above `near`,
 * also in order of lifetime, which is seldom better. Changes the order. */
static uint64_t plan_largest(struct lifetime **order, size_t n, uint64_t rest, uint64_t near,
                             struct placed_requests *placed)
{
    const uint64_t by_size = plan_in_order(order, n, rest, near, placed);
    if (by_size <= near)
        return by_size;
    qsort(order, n, sizeof *order, compare_durations);
    const uint64_t by_duration = plan_in_order(order, n, rest, near, placed);
    return by_size < by_duration ? by_size : by_duration;
}

/* The most bytes that are live at once of all requests that are not placed by lifetime. */
static uint64_t rest_live_bytes(const struct lifetimes *l)
{
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < l->n_steps; i++) {
        const struct lifetime *life = lifetimes_at_step(l, i);
        const uint64_t bytes = life->is_placed ? 0 : life->bytes;
        live += l->steps[i] % 2 == 1 ? 0 - bytes : bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* Plans the `n` largest, given in order of size, with the rest above them. Leaves *height alone if that is no smaller
 * than the plan of `known` bytes.
 *
 * First fit for the rest takes by far the longest. So it is only begun if the plan can win: if the rest needed no more
 * than its live bytes, the plan would have `least` bytes, give or take a page. And it stops as soon as it cannot. */
static enum err plan_by_lifetimes(struct lifetimes *l, struct lifetime **order, size_t n, uint64_t live_bytes,
                                  uint64_t known, struct placed_requests *placed, uint64_t *height)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < n; i++)
        order[i]->is_placed = true;
    if (n < l->n) {
        const uint64_t rest_live = rest_live_bytes(l);
        const uint64_t least = plan_largest(order, n, rest_live, 0, placed);
        if (least >= known)
            return ERR_OK;
        const uint64_t most = add_capped(rest_live, add_capped(known - least, 2 * DEVICE_PAGE_BYTES));
        const enum err e = plan_rest(l, most, &rest);
        if (e != ERR_OK || rest > most)
            return e;
        qsort(order, n, sizeof *order, compare_lives);
    }
    *height = plan_largest(order, n, rest, live_bytes + live_bytes / 50, placed);
    return ERR_OK;
}

/* Moves heap[i] down to its place. The smallest request is on top. */
static void heap_sift(struct lifetime **heap, size_t n, size_t i)
{
    struct lifetime *const life = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare_lives(&heap[child + 1], &heap[child]) > 0)
            child++;
        if (compare_lives(&heap[child], &life) <= 0)
            break;
        heap[i] = heap[child];
    }
    heap[i] = life;
}

/* Finds the n (<= l->n) largest requests, in order of size. */
static void find_largest(struct lifetimes *l, struct lifetime **out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = &l->at[i];
    for (size_t i = n / 2; i-- > 0;)
        heap_sift(out, n, i);
    for (size_t i = n; i < l->n; i++) {
        struct lifetime *const life = &l->at[i];
        if (compare_lives(&life, &out[0]) >= 0)
            continue;
        out[0] = life;
        heap_sift(out, n, 0);
    }
    qsort(out, n, sizeof *out, compare_lives);
}

static enum err plan(struct lifetimes *l, uint64_t live_bytes, uint64_t known, uint64_t *height)
{
    const size_t n = l->n < PLAN_LARGEST ? l->n : PLAN_LARGEST;
    struct lifetime **largest = calloc(n + 1, sizeof *largest);
    struct placed_requests placed = { .room = NULL };
    enum err e = largest == NULL ? ERR_HOST_NOMEM : placed_requests_open(n, (uint32_t)l->n_steps, &placed);
    if (e == ERR_OK) {
        find_largest(l, largest, n);
        e = plan_by_lifetimes(l, largest, n, live_bytes, known, &placed, height);
    }
    placed_requests_close(&placed);
    free(largest);
    return e;
}

/* ---- taking events ---- */

static void finder_reach(struct bounds_finder *f, uint64_t bytes)
{
    if (bytes <= f->bounds.live_bytes)
        return;
    f->bounds.live_bytes = bytes;
    f->bounds.live_event = f->event;
}

/* Enters a request into both plans. False without memory. */
static bool finder_place(struct bounds_finder *f, struct tenant *t, uint16_t stream)
{
    const uint64_t bytes = align_up(t->bytes, f->round_bytes);
    f->has_plan = f->has_plan && free_stretches_take(&f->stretches, bytes, &t->addr);
    if (f->has_lives && f->lives.n == LIFETIMES_MAX) {
        f->has_lives = false;
        lifetimes_close(&f->lives);
    }
    t->life = f->lives.n;
    if (!f->has_lives)
        return true;
    const bool has_room = lifetimes_begin(&f->lives, bytes, f->time_ns);
    if (has_room)
        f->lives.at[t->life].stream = stream;
    return has_room;
}

static bool finder_leave(struct bounds_finder *f, const struct tenant *t)
{
    if (f->has_plan && free_stretches_give(&f->stretches, t->addr, align_up(t->bytes, f->round_bytes)) != ERR_OK)
        return false;
    return !f->has_lives || lifetimes_end(&f->lives, t->life, f->time_ns);
}

static bool finder_begin(struct bounds_finder *f, const struct event *e)
{
    struct tenant *t = &f->tenants[e->slot];
    assert(e->slot < f->n_tenants);
    *t = (struct tenant){ .bytes = e->bytes };
    finder_reach(f, f->live_bytes += e->bytes);
    return finder_place(f, t, e->stream);
}

/* Takes a request that was refused when recorded: it has to fit for a moment at least. */
static bool finder_pass(struct bounds_finder *f, const struct event *e)
{
    struct tenant t = { .bytes = e->bytes };
    finder_reach(f, add_capped(f->live_bytes, e->bytes));
    return finder_place(f, &t, e->stream) && finder_leave(f, &t);
}

static bool finder_end(struct bounds_finder *f, struct tenant *t)
{
    assert(t->is_retired || f->live_bytes >= t->bytes);
    if (!t->is_retired)
        f->live_bytes -= t->bytes;
    return finder_leave(f, t);
}

static bool finder_take(struct bounds_finder *f, const struct event *e)
{
    f->live_byte_ns += (double)f->live_bytes * (double)(e->time_ns - f->time_ns);
    f->time_ns = e->time_ns;
    switch (e->kind) {
    case EVENT_ALLOC:
        return finder_begin(f, e);
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        return finder_end(f, &f->tenants[e->slot]);
    case EVENT_FREE_REQUESTED:
        f->live_bytes -= f->tenants[e->slot].bytes;
        f->tenants[e->slot].is_retired = true;
        return true;
    case EVENT_OOM:
        return f->event < (int64_t)f->caught_before || finder_pass(f, e);
    default:
        return true;
    }
}

/* A replay_config's `chunk`: every event of the trace passes here. */
static void finder_take_chunk(void *finder, const struct event *events, size_t n)
{
    struct bounds_finder *f = finder;
    for (size_t i = 0; i < n && f->error == ERR_OK; i++, f->event++) {
        if (i + LIFETIMES_AHEAD < n && events[i + LIFETIMES_AHEAD].slot < f->n_tenants)
            prefetch(&f->tenants[events[i + LIFETIMES_AHEAD].slot]);
        f->error = finder_take(f, &events[i]) ? ERR_OK : ERR_HOST_NOMEM;
    }
}

/* ---- the whole ---- */

static void finder_close(struct bounds_finder *f)
{
    if (f == NULL)
        return;
    lifetimes_close(&f->lives);
    free_stretches_close(&f->stretches);
    free(f->tenants);
    free(f);
}

/* `with_plan`: requests are placed as they come. `with_lives`: lifetimes are kept. */
static enum err finder_open(const struct trace_reader *trace, uint64_t round_bytes, bool with_plan, bool with_lives,
                            struct bounds_finder **out, struct err_detail *err)
{
    struct start_state start;
    const size_t n_slots = (size_t)trace_info(trace)->peak_live + 1;
    struct bounds_finder *f = calloc(1, sizeof *f);
    if (f == NULL || (f->tenants = calloc(n_slots, sizeof *f->tenants)) == NULL ||
        free_stretches_open(&f->stretches) != ERR_OK) {
        finder_close(f);
        return err_no_memory(err);
    }
    const enum err e = start_state_read(trace, &start, err);
    if (e != ERR_OK) {
        finder_close(f);
        return e;
    }
    f->n_tenants = n_slots;
    f->round_bytes = round_bytes;
    f->has_plan = with_plan;
    f->has_lives = with_lives;
    f->bounds.live_event = f->event = -1;
    for (size_t i = 0; i < start.n_events && f->error == ERR_OK; i++)
        f->error = finder_take(f, &start.events[i]) ? ERR_OK : ERR_HOST_NOMEM;
    start_state_close(&start);
    f->event = 0;
    *out = f;
    return ERR_OK;
}

static enum err finder_finish(struct bounds_finder *f, struct bounds *out, struct err_detail *err)
{
    uint64_t by_lifetimes = UINT64_MAX;
    enum err e = f->error;
    assert(!f->has_plan || f->stretches.height >= f->bounds.live_bytes);
    if (e == ERR_OK && f->has_plan && f->has_lives)
        e = plan(&f->lives, f->bounds.live_bytes, f->stretches.height, &by_lifetimes);
    if (e != ERR_OK)
        return err_set(err, e, 0, "no memory for the lifetimes of the trace");
    *out = f->bounds;
    out->mean_live_bytes = f->time_ns == 0 ? 0 : (uint64_t)(f->live_byte_ns / (double)f->time_ns);
    if (f->has_plan)
        out->plan_bytes =
            align_up(f->stretches.height < by_lifetimes ? f->stretches.height : by_lifetimes, DEVICE_PAGE_BYTES);
    return ERR_OK;
}

enum err bounds_replay(struct trace_reader *trace, struct lane *lanes, size_t n_lanes, const struct replay_config *cfg,
                       bool with_plan, struct bounds *out, struct err_detail *err)
{
    struct bounds_finder *f = NULL;
    struct replay_config shown = *cfg;
    assert(cfg->chunk == NULL);
    enum err e = finder_open(trace, PLAN_ROUND, with_plan, with_plan, &f, err);
    shown.chunk = finder_take_chunk;
    shown.chunk_arg = f;
    if (e == ERR_OK) {
        f->caught_before = cfg->caught_before;
        e = replay_run(trace, lanes, n_lanes, &shown, err);
    }
    if (e == ERR_OK)
        e = finder_finish(f, out, err);
    finder_close(f);
    return e;
}

enum err bounds_find(struct trace_reader *trace, uint64_t caught_before, bool with_plan, struct bounds *out,
                     struct err_detail *err)
{
    const struct replay_config cfg = { .start = START_FRESH, .caught_before = caught_before };
    return bounds_replay(trace, NULL, 0, &cfg, with_plan, out, err);
}

enum err bounds_read_lifetimes(struct trace_reader *trace, uint64_t round_bytes, struct lifetimes *out,
                                struct bounds *bounds, struct err_detail *err)
{
    struct bounds_finder *f = NULL;
    struct replay_config cfg = { .start = START_FRESH, .chunk = finder_take_chunk };
    enum err e = finder_open(trace, round_bytes, false, true, &f, err);
    cfg.chunk_arg = f;
    if (e == ERR_OK)
        e = replay_run(trace, NULL, 0, &cfg, err);
    if (e == ERR_OK && f->error != ERR_OK)
        e = err_set(err, f->error, 0, "no memory for the lifetimes of the trace");
    if (e == ERR_OK && !f->has_lives)
        e = err_set(err, ERR_UNSUPPORTED, 0, "the trace has more than %d requests, the most that are planned",
                    LIFETIMES_MAX);
    if (e == ERR_OK) {
        for (size_t i = 0; i < f->lives.n; i++)
            if (f->lives.at[i].end == UINT32_MAX)
                f->lives.at[i].time_ns = f->time_ns - f->lives.at[i].time_ns;
        *out = f->lives;
        *bounds = f->bounds;
        f->lives = (struct lifetimes){ .at = NULL };
    }
    finder_close(f);
    return e;
}
