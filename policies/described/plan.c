/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * plan: the offsets of a plan that was made beforehand, as `replay plan FILE -o PLAN.csv` writes them.
 *
 *     requests --> plan_follow: which row is it? --> arena, at the row's offset, if the place is free
 *                            \                 \
 *                             no row            not free --> the policy beside, PyTorch's if none was named
 *
 * The arena is taken at the start, as a request to the policy beside. A place is given only if all of it is free, and
 * no other stream has used a part of it. So whatever the program does otherwise than planned costs memory of the policy
 * beside, and is counted; it never makes two requests share memory.
 */
#include "policies/described/plan_arena.h"
#include "policies/described/plan_follow.h"
#include "policies/spec.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAN_FILE, PLAN_BESIDE };

static const struct policy_option plan_options[] = {
    [PLAN_FILE] = {"file", OPTION_TEXT, 0, 0, NULL, "file", "the plan, id,lower,upper,size,offset; not set: nothing is "
                   "planned"},
    [PLAN_BESIDE] = {"beside", OPTION_UPSTREAM, 0, 0, NULL, NULL, "what serves the requests that are not as planned: a "
                     "policy in brackets; not set: pytorch"},
    {.name = NULL},
};

struct plan {
    struct policy base;                     /* first, so the two pointers convert */
    struct policy_spec own;                 /* the policy beside, if it was not named, or as [none] */
    struct upstream beside;                 /* the arena, too, is a request to it */
    struct plan_table  table;
    struct plan_follow follow;
    struct plan_arena  arena;
    uint64_t n_served, n_unlike, n_in_use;
};

static void plan_destroy(struct policy *base)
{
    struct plan *p = (struct plan *)base;
    upstream_close(&p->beside);
    policy_spec_close(&p->own);
    plan_arena_close(&p->arena);
    plan_follow_close(&p->follow);
    plan_table_close(&p->table);
    free(p);
}

static enum err plan_open_beside(struct plan *p, const struct policy_config *cfg, struct err_detail *err)
{
    struct policy_choice choice;
    struct option_value value = cfg->values[PLAN_BESIDE];
    if (value.choice == NULL) {
        const enum err e = policy_spec_parse(value.is_given ? "none" : "pytorch", &p->own, err);
        if (e != ERR_OK)
            return e;
        choice = (struct policy_choice){.ops = p->own.ops, .values = p->own.values};
        value.choice = &choice;
    }
    return upstream_open(&p->beside, cfg, &value, err);
}

static enum err plan_open(struct plan *p, const struct policy_config *cfg, struct err_detail *err)
{
    enum err e = plan_open_beside(p, cfg, err);
    if (e == ERR_OK && cfg->values[PLAN_FILE].is_set)
        e = plan_table_load(cfg->values[PLAN_FILE].text, POLICY_PLACE(PLAN_FILE, 0), &p->table, err);
    if (e == ERR_OK)
        e = plan_follow_open(&p->follow, &p->table);
    if (e == ERR_OK)
        e = plan_arena_open(&p->arena, &p->beside, true);
    return e == ERR_OK ? plan_arena_fill(&p->arena, p->table.arena_bytes) : e;
}

static enum err plan_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    const enum err e = plan_open(p, cfg, err);
    if (e != ERR_OK)
        plan_destroy(&p->base);
    else
        *out = &p->base;
    return e;
}

/* ---- requests and frees ---- */

/* A stretch of the arena for the next request; BLOCK_NONE: the policy beside serves it. A card's code wants addresses
 * that are multiples of PLAN_PLACE_UNIT, as PyTorch's allocator gives them. */
static uint32_t take_by_plan(struct plan *p, const struct event *req)
{
    const struct plan_place *row = plan_follow_request(&p->follow, req->bytes);
    uint32_t b = BLOCK_NONE;
    if (row == NULL || row->offset % PLAN_PLACE_UNIT != 0 || row->bytes < req->bytes)
        p->n_unlike++;
    else if ((b = plan_arena_take(&p->arena, row->offset, align_up(row->bytes, PLAN_PLACE_UNIT), req->stream)) ==
             BLOCK_NONE)
        p->n_in_use++;
    return b;
}

static enum err plan_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct plan *p = (struct plan *)base;
    const enum err e = plan_arena_reserve(&p->arena);
    if (e != ERR_OK)
        return e;
    const uint32_t b = p->table.n == 0 ? BLOCK_NONE : take_by_plan(p, req);
    if (b == BLOCK_NONE)
        return upstream_alloc(&p->beside, req->bytes, req->stream, out);
    base->count.hits++;
    p->n_served++;
    heap_take(&p->arena.heap, b, req->bytes, out);
    return ERR_OK;
}

static void plan_free(struct policy *base, const struct event *req, const struct block *b)
{
    struct plan *p = (struct plan *)base;
    if (plan_arena_has(&p->arena, b->addr))
        plan_arena_give(&p->arena, b->cookie);
    else
        upstream_free(&p->beside, req->bytes, req->stream, b);
}

static void plan_flush(struct policy *base, uint32_t stream)
{
    struct policy *beside = ((struct plan *)base)->beside.policy;
    if (beside->ops->flush != NULL)
        beside->ops->flush(beside, stream);
}

/* ---- the whole ---- */

/* A walk shows a stream's past as a pool. */
struct plan_walk {
    const struct plan_arena *arena;
    block_visit visit;
    void       *arg;
};

static void walk_block(void *arg, const struct block_view *b)
{
    const struct plan_walk *w = arg;
    struct block_view shown = *b;
    shown.pool = plan_arena_has(w->arena, b->addr) ? 0 : b->pool;
    w->visit(w->arg, &shown);
}

static enum err plan_walk(const struct policy *base, block_visit visit, void *arg)
{
    const struct plan *p = (const struct plan *)base;
    const struct heap *const heaps[] = {&p->arena.heap};
    struct plan_walk w = {.arena = &p->arena, .visit = visit, .arg = arg};
    return heaps_walk(heaps, 1, walk_block, &w);
}

static uint64_t plan_largest_free(const struct policy *base)
{
    const struct plan *p = (const struct plan *)base;
    return upstream_largest_free(&p->beside, first_fit_largest_bytes(&p->arena.free, p->arena.root));
}

static void plan_stats(const struct policy *base, stat_visit visit, void *arg)
{
    const struct plan *p = (const struct plan *)base;
    const struct own_stat own[] = {{"plan.bytes", p->table.arena_bytes}, {"plan.in_use", p->n_in_use},
                                   {"plan.live_bytes", p->table.live_bytes}, {"plan.served", p->n_served},
                                   {"plan.unlike", p->n_unlike}};
    upstream_stats(&p->beside, own, sizeof own / sizeof own[0], visit, arg);
}

static void plan_remarks(const struct policy *base, remark_visit visit, void *arg)
{
    const struct plan *p = (const struct plan *)base;
    char text[200];
    if (p->table.n == 0)
        visit(arg, REMARK_WARNING, "plan: no plan was named, so nothing is planned: plan:file=PLAN.csv");
    else if (p->n_unlike + p->n_in_use > 0) {
        snprintf(text, sizeof text, "plan: %" PRIu64 " requests were not as planned, and the places of %" PRIu64
                 " were in use; they were served beside the plan", p->n_unlike, p->n_in_use);
        visit(arg, REMARK_WARNING, text);
    }
}

static enum err plan_check(const struct policy *base, struct err_detail *err)
{
    const struct plan *p = (const struct plan *)base;
    const enum err e = plan_arena_check(&p->arena, base->ops->name, err);
    return e == ERR_OK ? upstream_check(&p->beside, err) : e;
}

const struct policy_ops policy_plan = {
    POLICY_HEAD,
    .name = "plan",
    .summary = "the offsets of a plan made beforehand: plan:file=PLAN.csv (replay plan FILE -o PLAN.csv)",
    .options = plan_options,
    .create = plan_create,   .destroy = plan_destroy,
    .alloc = plan_alloc,     .free = plan_free,          .flush = plan_flush,
    .walk = plan_walk,       .largest_free = plan_largest_free,
    .stats = plan_stats,     .remarks = plan_remarks,    .check = plan_check,
};
