/*
 * Two kinds of plan. First fit in order of time is made as the events pass, with memory for what lives at once. Where the
 * lifetimes of all requests can be kept, the largest requests are placed by what is known of their future, and the rest
 * first-fit in order of time above them.
 */
#include "replay/plan/bounds.h"

#include "base/array.h"
#include "base/prefetch.h"
#include "base/units.h"
#include "replay/engine/start_state.h"
#include "replay/plan/free_stretches.h"
#include "replay/plan/placed_requests.h"
#include "sim/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAN_ROUND   = 512,
    PLAN_LARGEST = 4096,             /* placed by their lifetimes: each is compared with all that were placed before */
    LIVES_MAX    = 1 << 20,          /* requests whose lifetimes are kept: 40 MiB */
    AHEAD        = 16,               /* so many steps or events before its turn a request is fetched from memory */
};
static_assert(2 * (uint64_t)LIVES_MAX < UINT32_MAX, "steps are numbered with 32 bits");

#define NO_ADDR UINT64_MAX

/* A request's place and time. `begin` and `end` are steps: births and deaths, counted from 0. */
struct life {
    uint64_t bytes, addr;
    uint32_t begin, end;
    bool     is_placed;              /* by its lifetime */
};

struct lives {
    struct life *at;
    size_t    n, cap;
    uint32_t *steps;                 /* 2 * life + (1 for its end) */
    size_t    n_steps, cap_steps;
};

/* A live request. */
struct tenant {
    uint64_t bytes, addr;            /* as requested; in the plan in order of time */
    size_t   life;
    bool     is_retired;             /* released, but not completed */
};

struct bounds_finder {
    struct tenant *tenants;          /* by slot */
    size_t         n_tenants;
    struct free_stretches stretches;
    struct lives   lives;
    bool           has_lives;        /* none was left out so far */
    bool           has_plan;         /* the same of the addresses */
    uint64_t       live_bytes;
    int64_t        event;            /* under way; -1: the start state */
    struct bounds  bounds;           /* so far */
    enum err       error;            /* of the events taken */
};

/* ---- lifetimes ---- */

static bool lives_step(struct lives *l, size_t step)
{
    uint32_t *steps = array_grow(l->steps, l->n_steps, &l->cap_steps, sizeof *steps);
    if (steps == NULL)
        return false;
    l->steps = steps;
    l->steps[l->n_steps++] = (uint32_t)step;
    return true;
}

static bool lives_begin(struct lives *l, uint64_t bytes)
{
    struct life *lives = array_grow(l->at, l->n, &l->cap, sizeof *lives);
    if (lives == NULL)
        return false;
    l->at = lives;
    l->at[l->n] = (struct life){ .bytes = bytes, .begin = (uint32_t)l->n_steps, .end = UINT32_MAX };
    return lives_step(l, 2 * l->n++);
}

static bool lives_end(struct lives *l, size_t life)
{
    l->at[life].end = (uint32_t)l->n_steps;
    return lives_step(l, 2 * life + 1);
}

static void lives_close(struct lives *l)
{
    free(l->at);
    free(l->steps);
    *l = (struct lives){ .at = NULL };
}

/* Whose step number i is. */
static struct life *lives_at_step(const struct lives *l, size_t i)
{
    if (i + AHEAD < l->n_steps)
        prefetch(&l->at[l->steps[i + AHEAD] / 2]);
    return &l->at[l->steps[i] / 2];
}

/* ---- a plan by lifetimes ---- */

static int compare_lives(const void *a, const void *b)
{
    const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The longest-lived first: they lie at the bottom, and what comes and goes above them. */
static int compare_durations(const void *a, const void *b)
{
    const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;
    const uint32_t long_x = x->end - x->begin, long_y = y->end - y->begin;
    return long_x != long_y ? (long_x > long_y ? -1 : 1) : compare_lives(a, b);
}

/* Where a plan of `bytes` is as good as one of `more`: in whole pages, and whether it is within `near`. */
static bool is_as_good(uint64_t bytes, uint64_t more, uint64_t near)
{
    return align_up(bytes, DEVICE_PAGE_BYTES) == align_up(more, DEVICE_PAGE_BYTES) && (bytes <= near) == (more <= near);
}

/* Each in this order at the lowest address that is free for its whole life, and `rest` bytes above them; returns the
 * height, or one that is as good. Of the small ones at the end many need no place: however they lie, they rise above
 * what is there by no more than they have together. */
static uint64_t plan_in_order(struct life *const *order, size_t n, uint64_t rest, uint64_t near,
                              struct placed_requests *placed)
{
    size_t last = n;
    uint64_t left = 0;                           /* bytes from `last` on, less than a page; then of those not placed */
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

/* First fit in order of time for all that is not placed by its lifetime, up to where it is above `most` bytes; *height is
 * left at 0 where there is none. */
static enum err plan_rest(struct lives *l, uint64_t most, uint64_t *height)
{
    struct free_stretches stretches;
    enum err e = free_stretches_open(&stretches);
    *height = 0;
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < l->n_steps && e == ERR_OK && stretches.height <= most; i++) {
        struct life *life = lives_at_step(l, i);
        if (life->is_placed)
            continue;
        if (l->steps[i] % 2 == 1)
            e = free_stretches_give(&stretches, life->addr, life->bytes);
        else if (!free_stretches_take(&stretches, life->bytes, &life->addr))
            break;                               /* beyond all addresses: so was the plan that it is compared with */
    }
    *height = stretches.height;
    free_stretches_close(&stretches);
    return e;
}

/* The height of a plan with these, in the order of sizes, and `rest` bytes above them: by size, and where that is not
 * `near`, also by the length of their life, which is seldom better. The order is lost. */
static uint64_t plan_largest(struct life **order, size_t n, uint64_t rest, uint64_t near,
                             struct placed_requests *placed)
{
    const uint64_t by_size = plan_in_order(order, n, rest, near, placed);
    if (by_size <= near)
        return by_size;
    qsort(order, n, sizeof *order, compare_durations);
    const uint64_t by_duration = plan_in_order(order, n, rest, near, placed);
    return by_size < by_duration ? by_size : by_duration;
}

/* Most bytes at once of all that is not placed by its lifetime. */
static uint64_t rest_live_bytes(const struct lives *l)
{
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < l->n_steps; i++) {
        const struct life *life = lives_at_step(l, i);
        const uint64_t bytes = life->is_placed ? 0 : life->bytes;
        live += l->steps[i] % 2 == 1 ? 0 - bytes : bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* The `n` largest, in the order of sizes, with the rest above them; *height is left where that is no smaller than a plan
 * of `known` bytes. First fit for the rest takes by far the longest, and goes no further than it has to: with the rest in
 * one piece the plan is `least` bytes, up to a page. */
static enum err plan_by_lifetimes(struct lives *l, struct life **order, size_t n, uint64_t live_bytes, uint64_t known,
                                  struct placed_requests *placed, uint64_t *height)
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

/* Lets heap[i] down to its place in a heap with the last in the order of sizes on top. */
static void heap_sift(struct life **heap, size_t n, size_t i)
{
    struct life *const life = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare_lives(&heap[child + 1], &heap[child]) > 0)
            child++;
        if (compare_lives(&heap[child], &life) <= 0)
            break;
        heap[i] = heap[child];
    }
    heap[i] = life;
}

/* The n <= l->n largest, in the order of sizes. */
static void find_largest(struct lives *l, struct life **out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = &l->at[i];
    for (size_t i = n / 2; i-- > 0;)
        heap_sift(out, n, i);
    for (size_t i = n; i < l->n; i++) {
        struct life *const life = &l->at[i];
        if (compare_lives(&life, &out[0]) >= 0)
            continue;
        out[0] = life;
        heap_sift(out, n, 0);
    }
    qsort(out, n, sizeof *out, compare_lives);
}

static enum err plan(struct lives *l, uint64_t live_bytes, uint64_t known, uint64_t *height)
{
    const size_t n = l->n < PLAN_LARGEST ? l->n : PLAN_LARGEST;
    struct life **largest = calloc(n + 1, sizeof *largest);
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

/* Gives a request its place in the plans. */
static bool finder_place(struct bounds_finder *f, struct tenant *t)
{
    const uint64_t bytes = align_up(t->bytes, PLAN_ROUND);
    f->has_plan = f->has_plan && free_stretches_take(&f->stretches, bytes, &t->addr);
    if (f->has_lives && f->lives.n == LIVES_MAX) {
        f->has_lives = false;
        lives_close(&f->lives);
    }
    t->life = f->lives.n;
    return !f->has_lives || lives_begin(&f->lives, bytes);
}

static bool finder_leave(struct bounds_finder *f, const struct tenant *t)
{
    if (f->has_plan && free_stretches_give(&f->stretches, t->addr, align_up(t->bytes, PLAN_ROUND)) != ERR_OK)
        return false;
    return !f->has_lives || lives_end(&f->lives, t->life);
}

static bool finder_begin(struct bounds_finder *f, const struct event *e)
{
    struct tenant *t = &f->tenants[e->slot];
    *t = (struct tenant){ .bytes = e->bytes };
    finder_reach(f, f->live_bytes += e->bytes);
    return finder_place(f, t);
}

/* A request that was refused when recorded: it would have to be there for a moment at least. */
static bool finder_pass(struct bounds_finder *f, const struct event *e)
{
    struct tenant t = { .bytes = e->bytes };
    finder_reach(f, add_capped(f->live_bytes, e->bytes));
    return finder_place(f, &t) && finder_leave(f, &t);
}

static bool finder_end(struct bounds_finder *f, struct tenant *t)
{
    if (!t->is_retired)
        f->live_bytes -= t->bytes;
    return finder_leave(f, t);
}

static bool finder_take(struct bounds_finder *f, const struct event *e)
{
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
        return finder_pass(f, e);
    default:
        return true;
    }
}

/* A replay_config's `chunk`. */
static void finder_take_chunk(void *finder, const struct event *events, size_t n)
{
    struct bounds_finder *f = finder;
    for (size_t i = 0; i < n && f->error == ERR_OK; i++, f->event++) {
        if (i + AHEAD < n && events[i + AHEAD].slot < f->n_tenants)
            prefetch(&f->tenants[events[i + AHEAD].slot]);
        f->error = finder_take(f, &events[i]) ? ERR_OK : ERR_HOST_NOMEM;
    }
}

/* ---- the whole ---- */

static void finder_close(struct bounds_finder *f)
{
    if (f == NULL)
        return;
    lives_close(&f->lives);
    free_stretches_close(&f->stretches);
    free(f->tenants);
    free(f);
}

static enum err finder_open(const struct trace_reader *trace, struct bounds_finder **out, struct err_detail *why)
{
    struct start_state start;
    const size_t n_slots = (size_t)trace_info(trace)->peak_live + 1;
    struct bounds_finder *f = calloc(1, sizeof *f);
    if (f == NULL || (f->tenants = calloc(n_slots, sizeof *f->tenants)) == NULL ||
        free_stretches_open(&f->stretches) != ERR_OK) {
        finder_close(f);
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %zu live requests", n_slots);
    }
    const enum err e = start_state_read(trace, &start, why);
    if (e != ERR_OK) {
        finder_close(f);
        return e;
    }
    f->n_tenants = n_slots;
    f->has_plan = f->has_lives = true;
    f->bounds.live_event = f->event = -1;
    for (size_t i = 0; i < start.n_events && f->error == ERR_OK; i++)
        f->error = finder_take(f, &start.events[i]) ? ERR_OK : ERR_HOST_NOMEM;
    start_state_close(&start);
    f->event = 0;
    *out = f;
    return ERR_OK;
}

static enum err finder_finish(struct bounds_finder *f, struct bounds *out, struct err_detail *why)
{
    uint64_t by_lifetimes = UINT64_MAX;
    enum err e = f->error;
    if (e == ERR_OK && f->has_plan && f->has_lives)
        e = plan(&f->lives, f->bounds.live_bytes, f->stretches.height, &by_lifetimes);
    if (e != ERR_OK)
        return err_set(why, e, 0, "no memory for the lifetimes of the trace");
    *out = f->bounds;
    if (f->has_plan)
        out->plan_bytes =
            align_up(f->stretches.height < by_lifetimes ? f->stretches.height : by_lifetimes, DEVICE_PAGE_BYTES);
    return ERR_OK;
}

enum err bounds_replay(struct trace_reader *trace, struct lane *lanes, size_t n_lanes, const struct replay_config *cfg,
                       struct bounds *out, struct err_detail *why)
{
    struct bounds_finder *f = NULL;
    struct replay_config shown = *cfg;
    enum err e = finder_open(trace, &f, why);
    shown.chunk = finder_take_chunk;
    shown.chunk_arg = f;
    if (e == ERR_OK)
        e = replay_run(trace, lanes, n_lanes, &shown, why);
    if (e == ERR_OK)
        e = finder_finish(f, out, why);
    finder_close(f);
    return e;
}

enum err bounds_find(struct trace_reader *trace, struct bounds *out, struct err_detail *why)
{
    const struct replay_config cfg = { .start = START_FRESH };
    return bounds_replay(trace, NULL, 0, &cfg, out, why);
}
