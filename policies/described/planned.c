/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/planned.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

/* ---- the arena ---- */

enum err planned_take_arena(struct planned *p)
{
    uint32_t b;
    for (size_t i = 0; i < p->n_rows; i++)
        if (p->rows[i].bytes > 0 && add_capped(p->rows[i].offset, p->rows[i].bytes) > p->arena_bytes)
            p->arena_bytes = add_capped(p->rows[i].offset, p->rows[i].bytes);
    if (p->arena_bytes == 0)
        return ERR_OK;
    p->arena_bytes = align_up(p->arena_bytes, PLAIN_UNIT);
    const enum err e = heap_grow(&p->arena, p->arena_bytes, 0, &b);
    if (e != ERR_OK)
        return e;
    p->arena_addr = heap_at(&p->arena, b)->addr;
    first_fit_insert(&p->arena_free, &p->arena_root, b);
    return ERR_OK;
}

/* Cuts [offset, offset + bytes) out of the free blocks. BLOCK_NONE if a part of it is in use. */
static uint32_t arena_take(struct planned *p, uint64_t offset, uint64_t bytes)
{
    const struct tie_kind places = {.has_numbers = false};
    struct block_table *t = &p->arena.blocks;
    const uint32_t b = first_fit_holding(&p->arena_free, p->arena_root, offset);
    if (b == BLOCK_NONE || t->at[b].tie + t->at[b].size < offset + bytes)
        return BLOCK_NONE;
    first_fit_remove(&p->arena_free, &p->arena_root, b);
    if (t->at[b].tie < offset)
        first_fit_insert(&p->arena_free, &p->arena_root, block_split_front(t, b, offset - t->at[b].tie, places));
    if (t->at[b].size > bytes)
        first_fit_insert(&p->arena_free, &p->arena_root, block_split_back(t, b, t->at[b].size - bytes, places));
    return b;
}

static void arena_give(struct planned *p, uint32_t b)
{
    struct block_table *t = &p->arena.blocks;
    heap_free(&p->arena, b);
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? t->at[b].prev : t->at[b].next;
        if (!block_is_idle(t, neighbour))
            continue;
        first_fit_remove(&p->arena_free, &p->arena_root, neighbour);
        heap_swallow(&p->arena, b, is_front != 0, false);
    }
    first_fit_insert(&p->arena_free, &p->arena_root, b);
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
    const uint32_t b = is_alike ? arena_take(p, row->offset, row->bytes) : BLOCK_NONE;
    p->n_planned += b != BLOCK_NONE;
    p->n_mismatched += b == BLOCK_NONE;
    return b;
}

enum err planned_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct planned *p = (struct planned *)base;
    if (p->n_rows == 0)
        return address_order_alloc(base, req, out);
    if (p->arena_bytes == 0 && !p->is_refused) {
        const enum err e = planned_take_arena(p);
        p->is_refused = e == ERR_DEVICE_OOM;
        if (e != ERR_OK && e != ERR_DEVICE_OOM)
            return e;
    }
    enum err e = block_table_reserve(&p->arena.blocks, 2);
    if (e == ERR_OK)
        e = first_fit_reserve(&p->arena_free);
    if (e != ERR_OK)
        return e;
    const uint32_t b = take_by_plan(p, req->bytes);
    if (b == BLOCK_NONE)
        return address_order_alloc(base, req, out);
    base->count.hits++;
    heap_take(&p->arena, b, req->bytes, out);
    return ERR_OK;
}

static bool is_in_arena(const struct planned *p, const struct block *b)
{
    return p->arena.n_held > 0 && b->addr - p->arena_addr < p->arena_bytes;
}

void planned_expect(const struct policy *base, const struct event *ev, const struct block *b, bool is_next)
{
    const struct planned *p = (const struct planned *)base;
    (void)ev;
    heap_expect(is_in_arena(p, b) ? &p->arena : &p->order.plain.heap, b, is_next);
}

void planned_free(struct policy *base, const struct event *req, const struct block *b)
{
    struct planned *p = (struct planned *)base;
    if (is_in_arena(p, b))
        arena_give(p, b->cookie);
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
    e = heap_open(&p->arena, &order->plain.upstream, 0);
    p->arena.order = HEAP_BY_AGE;            /* one piece: a place is an offset */
    if (e == ERR_OK)                         /* the offsets of a plan are not rounded */
        e = first_fit_open(&p->arena_free, &p->arena.blocks, 1, 1);
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
    first_fit_close(&p->arena_free);
    heap_close(&p->arena);
    address_order_destroy(base);
}

enum err planned_walk(const struct policy *base, block_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    const struct heap *const heaps[] = {&p->order.plain.heap, &p->arena};
    return heaps_walk(heaps, 2, visit, arg);
}

uint64_t planned_largest_free(const struct policy *base)
{
    const struct planned *p = (const struct planned *)base;
    const uint64_t others = address_order_largest_free(base);
    const uint64_t arena = first_fit_largest_bytes(&p->arena_free, p->arena_root);
    return others > arena ? others : arena;
}

void planned_stats(const struct policy *base, stat_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    const struct own_stat own[] = {{"plan.bytes", p->arena_bytes}, {"plan.mismatched", p->n_mismatched},
                                   {"plan.served", p->n_planned}};
    upstream_stats(&p->order.plain.upstream, own, sizeof own / sizeof own[0], visit, arg);
}

enum err planned_check(const struct policy *base, struct err_detail *err)
{
    const struct planned *p = (const struct planned *)base;
    const enum err e = heap_check(&p->arena, base->ops->name, err);
    if (e == ERR_OK && !first_fit_is_sound(&p->arena_free, p->arena_root))
        return err_at(err, ERR_CORRUPT, 0, base->ops->name, "the arena's free blocks are not in order");
    return e == ERR_OK ? address_order_check(base, err) : e;
}
