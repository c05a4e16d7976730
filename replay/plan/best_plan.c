/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Every step keeps the best plan so far, and stops as soon as that is as low as the lower bound. */
#include "replay/plan/best_plan.h"

#include "base/random.h"
#include "base/units.h"
#include "replay/plan/free_stretches.h"
#include "replay/plan/plan_pairs.h"
#include "replay/plan/placed_requests.h"
#include "replay/plan/plan_search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCHED_MAX = 1024,             /* requests that are searched at most: memory grows with the square */
    REST_PART    = 256,              /* the others are at most this part of the live peak, if there are few enough */
    PROOF_FIRST  = 6,                /* requests of the first search for a proof; then twice as many, and so on */
    PROOF_MAX    = 256,
    SHRINK_WORK  = 1 << 21,
    PLACING_WORK = 128,              /* to place a request where few others are */
    STEPS_A_WORK = 4,                /* a look at so many steps is a unit of work */
};

/* The order in which requests are placed, and the state of the whole search. */
struct planner {
    const struct lifetimes       *lives;
    const struct plan_limits *limits;
    struct best_plan         *best;
    uint32_t *order;                 /* all requests: by size, or as the step at work puts them */
    uint64_t *offsets;               /* of the plan in the making, by request */
    struct placed_requests placed;
    uint64_t  work_left;
    uint64_t  proof_work;            /* what the last search took that ended without a plan */
    struct plan_item *items;         /* of a search: SEARCHED_MAX */
    uint64_t *item_offsets;
    uint32_t *item_of;               /* by request: its item + 1 while a search is prepared, else 0 */
};

/* ---- the state ---- */

/* No plan below it is looked for. */
static uint64_t target_bytes(const struct planner *p)
{
    const uint64_t enough = p->limits->enough_bytes;
    return enough > p->best->lower_bytes ? enough : p->best->lower_bytes;
}

static bool is_done(const struct planner *p)
{
    return p->best->plan_bytes <= target_bytes(p);
}

static void spend(struct planner *p, uint64_t work)
{
    p->work_left -= work < p->work_left ? work : p->work_left;
    if (p->limits->interrupted != NULL && *p->limits->interrupted != 0)
        p->work_left = 0;
    if (p->limits->progress != NULL)
        p->limits->progress(p->limits->progress_arg, p->limits->work - p->work_left, p->limits->work);
}

/* Takes the plan in the making if it is better. */
static void keep(struct planner *p, uint64_t height)
{
    if (height >= p->best->plan_bytes)
        return;
    p->best->plan_bytes = height;
    memcpy(p->best->offsets, p->offsets, p->lives->n * sizeof *p->offsets);
}

/* ---- the live peak ---- */

enum err best_plan_prove_by_live_peak(const struct lifetimes *l, struct best_plan *out)
{
    out->proof = PROOF_LIVE;
    out->lower_bytes = out->live_bytes;
    out->proof_lives = calloc(l->n + 1, sizeof *out->proof_lives);
    if (out->proof_lives == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        if (lifetime_is_at(&l->at[i], out->live_step))
            out->proof_lives[out->n_proof++] = (uint32_t)i;
    return ERR_OK;
}

/* ---- greedy plans ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* A request with what orders it, for qsort. */
struct ranked {
    double   key;                    /* the largest first */
    uint64_t tie;                    /* the largest first */
    uint32_t life;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const int by_key = (y->key > x->key) - (y->key < x->key), by_tie = compare_numbers(y->tie, x->tie);
    return by_key != 0 ? by_key : by_tie != 0 ? by_tie : compare_numbers(x->life, y->life);
}

enum greedy { BY_SIZE, BY_AREA, BY_DURATION, N_GREEDY, BY_PEAK };

/* BY_PEAK: what is live at the live peak by size, then the others by area. */
static double greedy_key(const struct planner *p, const struct lifetime *life, enum greedy by)
{
    const uint64_t steps = (life->end == UINT32_MAX ? p->lives->n_steps : life->end) - life->begin;
    switch (by) {
    case BY_PEAK:
        return lifetime_is_at(life, p->best->live_step) ? INFINITY : (double)life->time_ns * (double)life->bytes;
    case BY_AREA:
        return (double)(steps * (life->bytes >> 6));
    case BY_DURATION:
        return (double)steps;
    default:
        return (double)life->bytes;
    }
}

/* Puts all requests into an order. */
static enum err put_in_order(struct planner *p, enum greedy by)
{
    const struct lifetimes *l = p->lives;
    struct ranked *ranked = malloc((l->n + 1) * sizeof *ranked);
    if (ranked == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        ranked[i] = (struct ranked){ .key = greedy_key(p, &l->at[i], by), .tie = l->at[i].bytes,
                                     .life = (uint32_t)i };
    qsort(ranked, l->n, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < l->n; i++)
        p->order[i] = ranked[i].life;
    free(ranked);
    return ERR_OK;
}

static uint64_t place(struct planner *p, const struct lifetime *life)
{
    if (life->resume == 0)
        return placed_requests_add(&p->placed, life->bytes, life->begin, life->end);
    return placed_requests_add_paused(&p->placed, life->bytes, (const uint32_t[]){ life->begin, life->pause },
                                      (const uint32_t[]){ life->resume, life->end });
}

/* Places the requests order[from, to) above and between those that have a place. Stops at the height of the best plan.
 * Returns the height; UINT64_MAX: the work was spent before all had a place. */
static uint64_t place_in_order(struct planner *p, const uint32_t *order, size_t from, size_t to)
{
    for (size_t i = from; i < to && p->placed.height < p->best->plan_bytes; i++) {
        const struct lifetime *life = &p->lives->at[order[i]];
        if (p->work_left == 0)
            return UINT64_MAX;
        p->offsets[order[i]] = place(p, life);
        spend(p, PLACING_WORK + p->placed.n);        /* it looks at many requests for each group */
    }
    return p->placed.height;
}

/* Places each request as it begins, at the lowest address that is free then, and as if no life had a pause. This takes
 * n log n operations, so it is done whatever the effort. No plan is kept if there is no such address. */
static enum err plan_by_time(struct planner *p)
{
    const struct lifetimes *l = p->lives;
    struct free_stretches line;
    bool has_room = true;
    enum err e = free_stretches_open(&line);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < l->n_steps && e == ERR_OK && has_room; i++) {
        const struct lifetime *life = lifetimes_at_step(l, i);
        uint64_t *offset = &p->offsets[l->steps[i] / 2];
        if (lifetime_pauses_at(life, i))
            continue;
        if (l->steps[i] % 2 == 1)
            e = free_stretches_give(&line, *offset, life->bytes);
        else
            has_room = free_stretches_take(&line, life->bytes, offset);
    }
    spend(p, PLACING_WORK * l->n);
    if (e == ERR_OK && has_room)
        keep(p, line.height);
    free_stretches_close(&line);
    return e;
}

static enum err plan_greedily(struct planner *p)
{
    enum err e = plan_by_time(p);
    for (enum greedy by = N_GREEDY; by-- > BY_SIZE && e == ERR_OK && !is_done(p) && p->work_left > 0;) {
        e = put_in_order(p, by);
        if (e != ERR_OK)
            break;
        placed_requests_clear(&p->placed);
        keep(p, place_in_order(p, p->order, 0, p->lives->n));
    }
    return e == ERR_OK ? put_in_order(p, BY_SIZE) : e;
}

/* ---- what matters ---- */

/* How many of the largest requests are searched: so many that all others are at most a REST_PARTth of the live peak. */
static uint32_t count_searched(const struct planner *p, const uint32_t *order)
{
    const struct lifetimes *l = p->lives;
    uint32_t n = 0;
    uint64_t rest = 0, most = 0;
    do {
        n = n == 0 ? 32 : n + n / 4;
        n = n < l->n ? n : (uint32_t)l->n;
        for (uint32_t i = 0; i < n; i++)
            p->item_of[order[i]] = 1;
        rest = most = 0;
        for (size_t i = 0; i < l->n_steps; i++) {
            const struct lifetime *life = lifetimes_at_step(l, i);
            const uint64_t bytes = p->item_of[l->steps[i] / 2] ? 0 : life->bytes;
            rest += l->steps[i] % 2 == 1 ? 0 - bytes : bytes;
            most = rest > most ? rest : most;
        }
    } while (n < l->n && n < SEARCHED_MAX && most > p->best->live_bytes / REST_PART);
    memset(p->item_of, 0, l->n * sizeof *p->item_of);
    return n < SEARCHED_MAX ? n : SEARCHED_MAX;
}

/* Makes items of n requests, as if no life had a pause. A section ends where a request begins after another has
 * ended. */
static void make_items(struct planner *p, const uint32_t *which, uint32_t n)
{
    const struct lifetimes *l = p->lives;
    uint32_t section = 0;
    bool has_ended = false;
    for (uint32_t i = 0; i < n; i++)
        p->item_of[which[i]] = i + 1;
    for (size_t step = 0; step < l->n_steps; step++) {
        const uint32_t life = l->steps[step] / 2, item = p->item_of[life];
        if (item == 0 || lifetime_pauses_at(&l->at[life], step))
            continue;
        if (l->steps[step] % 2 == 1) {
            p->items[item - 1].last = section + 1;
            has_ended = true;
            continue;
        }
        section += has_ended;
        has_ended = false;
        p->items[item - 1] = (struct plan_item){ .bytes = l->at[life].bytes, .first = section, .last = UINT32_MAX,
                                                 .width = l->at[life].time_ns };
    }
    for (uint32_t i = 0; i < n; i++) {
        p->item_of[which[i]] = 0;
        if (p->items[i].last == UINT32_MAX)
            p->items[i].last = section + 1;
    }
    spend(p, l->n_steps / STEPS_A_WORK);
}

/* Completes a plan of the n searched requests by the others, in order of size. */
static void complete(struct planner *p, const uint32_t *order, uint32_t n)
{
    placed_requests_clear(&p->placed);
    for (uint32_t i = 0; i < n; i++) {
        const struct lifetime *life = &p->lives->at[order[i]];
        p->offsets[order[i]] = p->item_offsets[i];
        placed_requests_put(&p->placed, p->item_offsets[i], life->bytes, life->begin, life->end);
    }
    keep(p, place_in_order(p, order, n, p->lives->n));
}

/* One search of the items with a part of the work left. */
static enum err try_height(struct planner *p, struct plan_search *s, uint64_t height, uint64_t work,
                           enum plan_verdict *verdict)
{
    uint64_t left = work;
    const enum err e = plan_search_run(s, height, &left, p->item_offsets, verdict);
    spend(p, work - left);
    if (*verdict == PLAN_IMPOSSIBLE)
        p->proof_work = work - left;
    return e;
}

/* ---- a better lower bound ---- */

static bool is_impossible(struct planner *p, const uint32_t *which, uint32_t n, uint64_t height, uint64_t work,
                          enum err *error)
{
    enum plan_verdict verdict = PLAN_UNKNOWN;
    struct plan_search *s = NULL;
    make_items(p, which, n);
    *error = plan_search_open(p->items, n, p->limits->interrupted, &s);
    if (*error == ERR_OK)
        *error = try_height(p, s, height, work < p->work_left ? work : p->work_left, &verdict);
    plan_search_close(s);
    return *error == ERR_OK && verdict == PLAN_IMPOSSIBLE;
}

/* Leaves out of the proof what is not needed for it, as far as the work allows, of which it takes as much as the
 * proof took, or a little. Fewer requests seldom take longer. */
static enum err shrink_proof(struct planner *p, uint32_t *which, uint32_t *n, uint64_t height)
{
    const uint64_t work = 2 * p->proof_work, all = p->proof_work + SHRINK_WORK;
    const uint64_t until = p->work_left > all ? p->work_left - all : 0;
    enum err e = ERR_OK;
    for (uint32_t i = *n; i-- > 0 && e == ERR_OK && p->work_left > until;) {
        const uint32_t without = which[i];
        memmove(which + i, which + i + 1, (*n - i - 1) * sizeof *which);
        if (is_impossible(p, which, *n - 1, height, work, &e)) {
            --*n;
            continue;
        }
        memmove(which + i + 1, which + i, (*n - i - 1) * sizeof *which);
        which[i] = without;
    }
    return e;
}

static int compare_ids(const void *a, const void *b)
{
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* The n largest requests have no plan of `height`: keeps the proof. */
static enum err keep_proof(struct planner *p, const uint32_t *order, uint32_t n, uint64_t height)
{
    uint32_t *which = malloc(n * sizeof *which);
    if (which == NULL)
        return ERR_HOST_NOMEM;
    memcpy(which, order, n * sizeof *which);
    const enum err e = shrink_proof(p, which, &n, height);
    qsort(which, n, sizeof *which, compare_ids);
    free(p->best->proof_lives);
    p->best->proof_lives = which;
    p->best->n_proof = n;
    p->best->proof = PROOF_SEARCH;
    p->best->lower_bytes = height + p->limits->align_bytes;
    return e;
}

/* Raises the lower bound as far as the n largest requests alone prove it. */
static enum err prove_by_largest(struct planner *p, const uint32_t *order, uint32_t n, uint64_t work)
{
    const uint64_t align = p->limits->align_bytes;
    uint64_t low = p->best->lower_bytes, high = p->best->plan_bytes;     /* impossible below low, found at high */
    uint64_t proved = 0;
    enum err e = ERR_OK;
    while (low < high && e == ERR_OK && p->work_left > 0) {
        const uint64_t height = proved == 0 ? low : low + (high - low) / 2 / align * align;
        if (is_impossible(p, order, n, height, work, &e)) {
            proved = height;
            low = height + align;
        } else if (proved == 0) {
            return e;
        } else {
            high = height;
        }
    }
    return e == ERR_OK && proved > 0 ? keep_proof(p, order, n, proved) : e;
}

static enum err raise_lower_bound(struct planner *p, const uint32_t *order, uint32_t most)
{
    const uint64_t work = p->work_left / 64;
    enum err e = ERR_OK;
    for (uint32_t n = PROOF_FIRST; e == ERR_OK && !is_done(p) && p->work_left > work; n *= 2) {
        e = prove_by_largest(p, order, n < most ? n : most, work);
        if (n >= most)
            break;
    }
    return e;
}

/* ---- plans of the largest ---- */

/* Searches a plan of `height` and completes it. False: none was found. If none exists, that is the new lower bound; its
 * proof is still to be kept. */
static bool is_found(struct planner *p, struct plan_search *s, const uint32_t *order, uint32_t n, uint64_t height,
                     uint64_t work, enum err *error)
{
    enum plan_verdict verdict = PLAN_UNKNOWN;
    *error = try_height(p, s, height, work < p->work_left ? work : p->work_left, &verdict);
    if (*error == ERR_OK && verdict == PLAN_FOUND)
        complete(p, order, n);
    if (*error == ERR_OK && verdict == PLAN_IMPOSSIBLE && !p->lives->has_pauses)    /* a proof without pauses is none */
        p->best->lower_bytes = height + p->limits->align_bytes;
    return verdict == PLAN_FOUND && p->best->plan_bytes <= height;
}

/* Tries heights by bisection between `low`, where nothing was found, and the best plan, each with `work`, until
 * `reserve` is left. A search that gives up counts as one that finds nothing, for this time. */
static enum err bisect(struct planner *p, struct plan_search *s, const uint32_t *order, uint32_t n, uint64_t low,
                       uint64_t work, uint64_t reserve)
{
    const uint64_t align = p->limits->align_bytes;
    enum err e = ERR_OK;
    while (e == ERR_OK && !is_done(p) && p->work_left > reserve) {
        uint64_t height = low + (p->best->plan_bytes - low) / 2 / align * align;
        height += height == low ? align : 0;
        if (height >= p->best->plan_bytes)
            break;
        if (!is_found(p, s, order, n, height, work, &e))
            low = height;
    }
    return e;
}

/* Searches plans of the n largest requests: at the target with half of the work, then by bisection, where each
 * height gets a quarter, until an eighth is left. */
static enum err search_largest(struct planner *p, const uint32_t *order, uint32_t n)
{
    const uint64_t all = p->work_left, known = p->best->lower_bytes, first = target_bytes(p);
    struct plan_search *s = NULL;
    make_items(p, order, n);
    enum err e = plan_search_open(p->items, n, p->limits->interrupted, &s);
    if (e == ERR_OK && !is_done(p) && !is_found(p, s, order, n, first, all / 2, &e) && e == ERR_OK)
        e = bisect(p, s, order, n, first, all / 4, all / 8);
    plan_search_close(s);
    return e == ERR_OK && p->best->lower_bytes > known
               ? keep_proof(p, order, n, p->best->lower_bytes - p->limits->align_bytes) : e;
}

/* ---- better orders ---- */

/* The place in the order of a request that reaches the height. */
static size_t find_top(const struct planner *p, const uint32_t *order, size_t n, uint64_t height)
{
    for (size_t i = 0; i < n; i++)
        if (p->offsets[order[i]] + p->lives->at[order[i]].bytes >= height)
            return i;
    return n - 1;
}

static void move_forward(uint32_t *order, size_t from, size_t to)
{
    const uint32_t moved = order[from];
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

static void move_back(uint32_t *order, size_t from, size_t to)
{
    const uint32_t moved = order[from];
    memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    order[to] = moved;
}

/* Places the requests again and again; the one on top each time comes earlier the next time, at a random place. A
 * change that makes the plan higher is taken back. */
static void improve_order(struct planner *p, uint32_t *order, size_t n, uint64_t work)
{
    uint64_t state = 1, height = UINT64_MAX;
    const uint64_t until = p->work_left - (work < p->work_left ? work : p->work_left);
    size_t from = 0, to = 0;
    while (p->work_left > until && !is_done(p)) {
        const uint64_t best = p->best->plan_bytes;
        placed_requests_clear(&p->placed);
        p->best->plan_bytes = UINT64_MAX;            /* every plan is made to its end */
        const uint64_t reached = place_in_order(p, order, 0, n);
        p->best->plan_bytes = best;
        if (reached < best)
            keep(p, place_in_order(p, order, n, p->lives->n));
        if (reached <= height) {
            height = reached;
            from = find_top(p, order, n, height);
        } else {
            move_back(order, to, from);
        }
        to = from == 0 ? 0 : random_next(&state) % from;
        if (from == 0)
            break;
        move_forward(order, from, to);
    }
}

/* The one on top each time comes first of all the next time, whether the plan becomes higher or not. Of large programs,
 * which mostly are their live peak and small requests around it, this finds plans that a search cannot. */
static enum err improve_from_peak(struct planner *p, uint64_t work)
{
    const size_t n = p->lives->n;
    const uint64_t until = p->work_left - work;
    enum err e = put_in_order(p, BY_PEAK);
    while (e == ERR_OK && p->work_left > until && !is_done(p)) {
        const uint64_t best = p->best->plan_bytes;
        placed_requests_clear(&p->placed);
        p->best->plan_bytes = UINT64_MAX;            /* every plan is made to its end */
        const uint64_t height = place_in_order(p, p->order, 0, n);
        p->best->plan_bytes = best;
        const size_t top = find_top(p, p->order, n, height);
        keep(p, height);
        if (top == 0)
            break;
        move_forward(p->order, top, 0);
    }
    return e == ERR_OK ? put_in_order(p, BY_SIZE) : e;
}

/* ---- the whole ---- */

static enum err planner_open(struct planner *p)
{
    const size_t n = p->lives->n + 1;
    p->order = calloc(n, sizeof *p->order);
    p->offsets = calloc(n, sizeof *p->offsets);
    p->items = calloc(SEARCHED_MAX, sizeof *p->items);
    p->item_offsets = calloc(SEARCHED_MAX, sizeof *p->item_offsets);
    p->item_of = calloc(n, sizeof *p->item_of);
    p->best->offsets = calloc(n, sizeof *p->best->offsets);
    if (p->order == NULL || p->offsets == NULL || p->items == NULL || p->item_offsets == NULL || p->item_of == NULL ||
        p->best->offsets == NULL)
        return ERR_HOST_NOMEM;
    return placed_requests_open((p->lives->has_pauses ? 2 : 1) * p->lives->n, (uint32_t)p->lives->n_steps, &p->placed);
}

static void planner_close(struct planner *p)
{
    placed_requests_close(&p->placed);
    free(p->order);
    free(p->offsets);
    free(p->items);
    free(p->item_offsets);
    free(p->item_of);
}

static enum err improve(struct planner *p)
{
    const size_t all = p->lives->n;
    const uint32_t n = count_searched(p, p->order);
    uint32_t *order = malloc((all + 1) * sizeof *order);
    enum err e = order == NULL ? ERR_HOST_NOMEM : all > SEARCHED_MAX ? improve_from_peak(p, p->work_left / 2) : ERR_OK;
    if (e == ERR_OK && !is_done(p) && !p->lives->has_pauses && all > PAIR_ITEMS)    /* a proof without pauses is none */
        e = raise_lower_bound(p, p->order, n < PROOF_MAX ? n : PROOF_MAX);
    if (e == ERR_OK && !is_done(p) && n < all && all <= SEARCHED_MAX)
        e = search_largest(p, p->order, (uint32_t)all);
    if (e == ERR_OK && !is_done(p))
        e = search_largest(p, p->order, n);
    if (e == ERR_OK && !is_done(p)) {
        memcpy(order, p->order, all * sizeof *order);
        improve_order(p, order, n, p->work_left);
    }
    free(order);
    return e;
}

enum err best_plan_find(const struct lifetimes *l, const struct plan_limits *limits, struct best_plan *out,
                        struct err_detail *err)
{
    struct planner p = { .lives = l, .limits = limits, .best = out, .work_left = limits->work };
    assert(limits->align_bytes > 0);
    *out = (struct best_plan){ .plan_bytes = UINT64_MAX };
    out->live_bytes = lifetimes_live_peak(l, &out->live_step);
    enum err e = planner_open(&p);
    if (e == ERR_OK)
        e = best_plan_prove_by_live_peak(l, out);
    if (e == ERR_OK)
        e = plan_greedily(&p);
    if (e == ERR_OK && !is_done(&p) && p.work_left > 0)
        e = improve(&p);
    out->work = limits->work - p.work_left;
    planner_close(&p);
    if (e == ERR_OK && out->plan_bytes < UINT64_MAX)
        return ERR_OK;
    best_plan_close(out);
    return e != ERR_OK ? err_set(err, e, 0, "no memory to plan %zu requests", l->n)
                       : err_set(err, ERR_UNSUPPORTED, 0, "no plan within 2^64 bytes was found");
}

void best_plan_close(struct best_plan *p)
{
    free(p->offsets);
    free(p->proof_lives);
    *p = (struct best_plan){ .offsets = NULL };
}
