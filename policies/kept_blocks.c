/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Every call goes through to the policy. A block's cookie is the index of its entry here, where the policy's own cookie
 * is kept.
 */
#include "policies/kept_blocks.h"

#include "base/array.h"
#include "policies/block_views.h"

#include <stdlib.h>

/* A block that is handed out; `state` BLOCK_FREE: the entry is vacant, and `slot` is the next vacant one. */
struct kept_block {
    struct block b;                  /* as the policy answered it */
    uint64_t requested;
    uint32_t slot;
    uint16_t stream;
    uint8_t  pool;
    uint8_t  state;                  /* enum block_state */
};

struct kept {
    struct policy base;              /* first, so the two pointers convert */
    struct policy_ops ops;           /* the policy's, but for what is done here */
    struct policy *inner;
    struct policy_observer watch;    /* the policy's observer */
    struct kept_block *blocks;
    size_t   n, room;
    uint32_t vacant;                 /* UINT32_MAX: none */
};

static struct kept *kept_of(struct policy *p)
{
    return (struct kept *)p;
}

static const struct policy *inner_of(const struct policy *p)
{
    return ((const struct kept *)p)->inner;
}

/* What the policy counted, and a failure of it, are those of the whole. */
static void mirror(struct kept *k)
{
    k->base.count = k->inner->count;
    k->base.failure = k->inner->failure;
}

static void kept_destroy(struct policy *p)
{
    struct kept *k = kept_of(p);
    policy_destroy(k->inner);
    free(k->blocks);
    free(k);
}

/* ---- the table ---- */

static enum err make_room(struct kept *k)
{
    if (k->vacant != UINT32_MAX)
        return ERR_OK;
    struct kept_block *grown = array_grow(k->blocks, k->n, &k->room, sizeof *grown);
    if (grown == NULL)
        return ERR_HOST_NOMEM;
    k->blocks = grown;
    grown[k->n] = (struct kept_block){.state = BLOCK_FREE, .slot = UINT32_MAX};
    k->vacant = (uint32_t)k->n++;
    return ERR_OK;
}

static void keep(struct kept *k, const struct event *req, struct block *out)
{
    const uint32_t i = k->vacant;
    k->vacant = k->blocks[i].slot;
    k->blocks[i] = (struct kept_block){.b = *out, .requested = req->bytes, .slot = req->slot, .stream = req->stream,
                                       .pool = req->pool, .state = BLOCK_ALLOCATED};
    out->cookie = i;
}

static void forget(struct kept *k, uint32_t i)
{
    k->blocks[i].state = BLOCK_FREE;
    k->blocks[i].slot = k->vacant;
    k->vacant = i;
}

/* The entry of the request in a slot; UINT32_MAX: there is none. */
static uint32_t find_slot(const struct kept *k, uint32_t slot, bool is_pending)
{
    for (uint32_t i = 0; i < k->n; i++)
        if (k->blocks[i].slot == slot && (k->blocks[i].state == BLOCK_PENDING || (!is_pending &&
                                                                                  k->blocks[i].state != BLOCK_FREE)))
            return i;
    return UINT32_MAX;
}

/* ---- requests ---- */

static enum err kept_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct kept *k = kept_of(p);
    enum err e = make_room(k);
    k->inner->site = p->site;
    if (e == ERR_OK)
        e = k->inner->ops->alloc(k->inner, req, out);
    if (e == ERR_OK)
        keep(k, req, out);
    mirror(k);
    return e;
}

static enum err kept_reserve(struct policy *p, const struct event *req, struct block *out)
{
    struct kept *k = kept_of(p);
    enum err e = make_room(k);
    if (e == ERR_OK)
        e = k->inner->ops->reserve(k->inner, req, out);
    if (e == ERR_OK)
        keep(k, req, out);
    mirror(k);
    return e;
}

static void kept_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct kept *k = kept_of(p);
    const struct block own = k->blocks[b->cookie].b;
    forget(k, b->cookie);
    k->inner->ops->free(k->inner, req, &own);
    mirror(k);
}

static void kept_retire(struct policy *p, const struct event *req, const struct block *b)
{
    struct kept *k = kept_of(p);
    k->blocks[b->cookie].state = BLOCK_PENDING;
    if (k->inner->ops->retire != NULL)
        k->inner->ops->retire(k->inner, req, &k->blocks[b->cookie].b);
    mirror(k);
}

static void kept_flush(struct policy *p, uint32_t stream)
{
    struct kept *k = kept_of(p);
    k->inner->ops->flush(k->inner, stream);
    mirror(k);
}

static enum err kept_control(struct policy *p, const struct control *c, const struct block *b, struct err_detail *err)
{
    struct kept *k = kept_of(p);
    const enum err e = k->inner->ops->control(k->inner, c, b == NULL ? NULL : &k->blocks[b->cookie].b, err);
    mirror(k);
    return e;
}

static enum err kept_foresee(struct policy *p, const struct event *ev, size_t n)
{
    return kept_of(p)->inner->ops->foresee(kept_of(p)->inner, ev, n);
}

static void kept_mark(struct policy *p, uint32_t label)
{
    kept_of(p)->inner->ops->mark(kept_of(p)->inner, label);
    mirror(kept_of(p));
}

/* ---- what the policy tells ---- */

static void kept_record(void *arg, const struct policy_record *r)
{
    const struct policy_observer *o = ((struct kept *)arg)->base.observer;
    if (o->record != NULL)
        o->record(o->arg, r);
}

static void kept_completed(void *arg, uint32_t slot)
{
    struct kept *k = arg;
    const uint32_t i = find_slot(k, slot, true);
    if (i != UINT32_MAX)
        forget(k, i);
    if (k->base.observer->completed != NULL)
        k->base.observer->completed(k->base.observer->arg, slot);
}

static void kept_moved(void *arg, uint32_t slot, const struct block *to)
{
    struct kept *k = arg;
    const uint32_t i = find_slot(k, slot, false);
    struct block shown = *to;
    if (i != UINT32_MAX)
        k->blocks[i].b = *to;
    shown.cookie = i;
    if (k->base.observer->moved != NULL)
        k->base.observer->moved(k->base.observer->arg, slot, &shown);
}

/* ---- showing ---- */

static enum err kept_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct kept *k = (const struct kept *)p;
    struct block_views all = {.n = 0};
    for (size_t i = 0; i < k->n; i++) {
        const struct kept_block *at = &k->blocks[i];
        const uint64_t segment_addr = p->device->segments[at->b.segment].addr;
        if (at->state != BLOCK_FREE)
            block_views_add(&all, &(struct block_view){.addr = at->b.addr, .bytes = at->b.bytes,
                                                       .requested = at->requested, .segment_addr = segment_addr,
                                                       .segment = at->b.segment, .stream = at->stream, .pool = at->pool,
                                                       .state = at->state});
    }
    return block_views_show(&all, k->inner->ops->walk_free(k->inner, block_views_add, &all), visit, arg);
}

static uint64_t kept_largest_free(const struct policy *p)
{
    return inner_of(p)->ops->largest_free(inner_of(p));
}

static void kept_stats(const struct policy *p, stat_visit visit, void *arg)
{
    inner_of(p)->ops->stats(inner_of(p), visit, arg);
}

static void kept_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    inner_of(p)->ops->remarks(inner_of(p), visit, arg);
}

static void kept_refusal(const struct policy *p, struct refusal *out)
{
    inner_of(p)->ops->refusal(inner_of(p), out);
}

static enum err kept_check(const struct policy *p, struct err_detail *err)
{
    return inner_of(p)->ops->check(inner_of(p), err);
}

/* The policy's table, but for what goes through here. Hints are not passed on: they may name blocks long gone. */
static struct policy_ops ops_of(const struct policy_ops *inner)
{
    struct policy_ops ops = *inner;
    ops.destroy = kept_destroy;
    ops.alloc = kept_alloc;
    ops.free = kept_free;
    ops.retire = kept_retire;
    ops.flush = inner->flush != NULL ? kept_flush : NULL;
    ops.reserve = inner->reserve != NULL ? kept_reserve : NULL;
    ops.control = inner->control != NULL ? kept_control : NULL;
    ops.foresee = inner->foresee != NULL ? kept_foresee : NULL;
    ops.mark = inner->mark != NULL ? kept_mark : NULL;
    ops.walk = kept_walk;
    ops.largest_free = inner->largest_free != NULL ? kept_largest_free : NULL;
    ops.stats = inner->stats != NULL ? kept_stats : NULL;
    ops.remarks = inner->remarks != NULL ? kept_remarks : NULL;
    ops.refusal = inner->refusal != NULL ? kept_refusal : NULL;
    ops.check = inner->check != NULL ? kept_check : NULL;
    ops.restore = NULL;
    ops.expect = NULL;
    ops.repeats = NULL;
    return ops;
}

enum err kept_blocks_wrap(struct policy **p)
{
    struct kept *k = calloc(1, sizeof *k);
    if (k == NULL)
        return ERR_HOST_NOMEM;
    k->inner = *p;
    k->vacant = UINT32_MAX;
    k->ops = ops_of((*p)->ops);
    k->base = **p;
    k->base.ops = &k->ops;
    k->watch = (struct policy_observer){.record = kept_record, .completed = kept_completed, .moved = kept_moved,
                                        .arg = k};
    (*p)->observer = &k->watch;
    *p = &k->base;
    return ERR_OK;
}
