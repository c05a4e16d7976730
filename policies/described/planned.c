/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/planned.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

/* Takes the arena of the plan. ERR_DEVICE_OOM, ERR_HOST_NOMEM. */
static enum err planned_take_arena(struct planned *p)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        if (p->rows[i].bytes > 0 && add_capped(p->rows[i].offset, p->rows[i].bytes) > bytes)
            bytes = add_capped(p->rows[i].offset, p->rows[i].bytes);
    return plan_arena_fill(&p->arena, align_up(bytes, PLAIN_UNIT));
}

/* ---- requests and frees ---- */

/* The row of the next request; NULL: it has none. */
static const struct planned_row *next_row(struct planned *p)
{
    uint64_t number = p->n_requests++;
    if (number >= p->n_rows && !p->is_repeated)
        return NULL;
    if (number >= p->n_rows)
        number = p->first + (number - p->first) % (p->n_rows - p->first);
    const struct planned_row *row = &p->rows[number];
    return row->bytes > 0 ? row : NULL;
}

/* A stretch of the arena for the next request; BLOCK_NONE: it is served without the plan. */
static uint32_t take_by_plan(struct planned *p, uint64_t bytes)
{
    const struct planned_row *row = next_row(p);
    if (row == NULL || p->is_refused)
        return BLOCK_NONE;
    const bool is_alike = bytes <= row->bytes && row->bytes - bytes < PLAIN_UNIT;
    const uint32_t b = is_alike ? plan_arena_take(&p->arena, row->offset, row->bytes, 0) : BLOCK_NONE;
    p->n_planned += b != BLOCK_NONE;
    p->n_mismatched += b == BLOCK_NONE;
    return b;
}

enum err planned_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct planned *p = (struct planned *)base;
    if (p->n_rows == 0)
        return address_order_alloc(base, req, out);
    if (p->arena.bytes == 0 && !p->is_refused) {
        const enum err e = planned_take_arena(p);
        p->is_refused = e == ERR_DEVICE_OOM;
        if (e != ERR_OK && e != ERR_DEVICE_OOM)
            return e;
    }
    const enum err e = plan_arena_reserve(&p->arena);
    if (e != ERR_OK)
        return e;
    const uint32_t b = take_by_plan(p, req->bytes);
    if (b == BLOCK_NONE)
        return address_order_alloc(base, req, out);
    base->count.hits++;
    heap_take(&p->arena.heap, b, req->bytes, out);
    return ERR_OK;
}

void planned_expect(const struct policy *base, const struct event *ev, const struct block *b, bool is_next)
{
    const struct planned *p = (const struct planned *)base;
    (void)ev;
    heap_expect(plan_arena_has(&p->arena, b->addr) ? &p->arena.heap : &p->order.plain.heap, b, is_next);
}

void planned_free(struct policy *base, const struct event *req, const struct block *b)
{
    struct planned *p = (struct planned *)base;
    if (plan_arena_has(&p->arena, b->addr))
        plan_arena_give(&p->arena, b->cookie);
    else
        plain_free(base, req, b);
}

/* ---- the whole ---- */

static const struct plain_set planned_set = {ADDRESS_ORDER_SET, .find = address_order_find};

enum err planned_create(const struct policy_config *cfg, struct planned **out, struct err_detail *err)
{
    struct address_order *order;
    enum err e = address_order_create(cfg, sizeof(struct planned), &planned_set, &order, err);
    if (e != ERR_OK)
        return e;
    struct planned *p = (struct planned *)order;
    e = plan_arena_open(&p->arena, &order->plain.upstream, false);
    if (e != ERR_OK)
        planned_destroy(&order->plain.base);
    else
        *out = p;
    return e;
}

void planned_destroy(struct policy *base)
{
    struct planned *p = (struct planned *)base;
    free(p->rows);
    plan_arena_close(&p->arena);
    address_order_destroy(base);
}

enum err planned_walk(const struct policy *base, block_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    const struct heap *const heaps[] = {&p->order.plain.heap, &p->arena.heap};
    return heaps_walk(heaps, 2, visit, arg);
}

uint64_t planned_largest_free(const struct policy *base)
{
    const struct planned *p = (const struct planned *)base;
    const uint64_t others = address_order_largest_free(base);
    const uint64_t arena = first_fit_largest_bytes(&p->arena.free, p->arena.root);
    return others > arena ? others : arena;
}

void planned_stats(const struct policy *base, stat_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    const struct own_stat own[] = {{"plan.bytes", p->arena.bytes}, {"plan.mismatched", p->n_mismatched},
                                   {"plan.served", p->n_planned}};
    upstream_stats(&p->order.plain.upstream, own, sizeof own / sizeof own[0], visit, arg);
}

enum err planned_check(const struct policy *base, struct err_detail *err)
{
    const struct planned *p = (const struct planned *)base;
    const enum err e = plan_arena_check(&p->arena, base->ops->name, err);
    return e == ERR_OK ? address_order_check(base, err) : e;
}
