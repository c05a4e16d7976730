/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Private pools: their users, the requests that go to them, and when their memory may be given back.
 */
#include "policies/pytorch/pytorch.h"

#include "base/array.h"

#include <stdlib.h>

/* PyTorch's hash of a pool id. */
static uint64_t pool_hash(const struct pytorch *p, uint8_t pool)
{
    const uint64_t *id = p->pool_names[pool].id;
    return id[0] != 0 ? id[0] : id[1];
}

static void table_drop_pool(const struct pytorch *p, struct order_table *t, uint8_t pool)
{
    const struct order_slot *slot = order_table_find(t, pool_hash(p, pool), pool);
    if (slot != NULL)
        order_table_remove(t, (uint32_t)(slot - t->slots));
}

enum err pytorch_place_streams(struct pytorch *p)
{
    for (uint32_t i = 0; i < p->n_streams; i++)
        p->placed_handles[i] = p->streams[i].handle;
    return free_set_places(p->streams, p->n_streams, p->stream_places);
}

enum err pytorch_add_stream(struct pytorch *p, struct pytorch_half *half, uint16_t stream)
{
    if (p->placed_handles[stream] != p->streams[stream].handle) {
        const enum err e = pytorch_place_streams(p);
        if (e != ERR_OK)
            return e;
        for (uint32_t i = 0; i < 2 * p->n_pools; i++)
            free_set_reorder(&p->halves[i].free);
    }
    return free_set_add_stream(&half->free, stream);
}

enum err pytorch_pool_open(struct pytorch *p, uint8_t pool, uint64_t flags)
{
    struct pytorch_pool *made = &p->pools[pool];
    for (enum pytorch_size_class c = CLASS_SMALL; c <= CLASS_LARGE; c++) {
        struct pytorch_half *half = pytorch_half(p, pool, c);
        if (half->free.by_stream != NULL)
            continue;                              /* it existed before, and its sets are empty now */
        const enum err e = free_set_open(&half->free, &p->blocks, p->stream_places, p->n_streams);
        if (e != ERR_OK)
            return e;
    }
    table_drop_pool(p, &p->lenders, pool);
    if ((flags & POOL_USE_ON_OOM) != 0) {
        const enum err e = order_table_insert(&p->lenders, pool_hash(p, pool), pool);
        if (e != ERR_OK)
            return e;
    }
    made->exists = true;
    made->no_split = (flags & POOL_NO_SPLIT) != 0;
    made->uses = pool == 0 ? 0 : 1;
    made->device_allocs = 0;
    return ERR_OK;
}

static enum err pool_acquire(struct pytorch *p, uint8_t pool)
{
    struct pytorch_pool *owned = &p->pools[pool];
    if (!owned->exists)
        return pytorch_pool_open(p, pool, 0);
    if (owned->uses++ == 0)
        table_drop_pool(p, &p->freeable, pool);
    return ERR_OK;
}

static enum err pool_give_up(struct pytorch *p, uint8_t pool)
{
    struct pytorch_pool *owned = &p->pools[pool];
    if (!owned->exists || owned->uses == 0 || --owned->uses > 0)
        return ERR_OK;
    return order_table_insert(&p->freeable, pool_hash(p, pool), pool);
}

/* More than this at a time are nobody's program, and each request looks through all of them. */
enum { DIVERSIONS_MAX = 256 };

static enum err diversion_push(struct pytorch *p, struct pytorch_diversion d, struct err_detail *err)
{
    if (p->n_diversions == DIVERSIONS_MAX)
        return err_set(err, ERR_FORMAT, 0, "more than %d captures and pool regions at a time", DIVERSIONS_MAX);
    struct pytorch_diversion *diversions = array_grow(p->diversions, p->n_diversions, &p->cap_diversions,
                                                      sizeof *diversions);
    if (diversions == NULL)
        return ERR_HOST_NOMEM;
    p->diversions = diversions;
    p->diversions[p->n_diversions++] = d;
    return ERR_OK;
}

/* Removes the last diversion to a pool. */
static bool diversion_remove(struct pytorch *p, uint8_t pool, bool is_capture)
{
    for (uint32_t i = p->n_diversions; i-- > 0;) {
        if (p->diversions[i].pool != pool || p->diversions[i].is_capture != is_capture)
            continue;
        for (p->n_diversions--; i < p->n_diversions; i++)
            p->diversions[i] = p->diversions[i + 1];
        return true;
    }
    return false;
}

static bool diversion_accepts(const struct pytorch_diversion *d, uint16_t stream)
{
    return !d->is_capture || d->stream == stream;
}

uint8_t pytorch_choose_pool(const struct pytorch *p, const struct event *req)
{
    if (req->pool != 0 || p->n_diversions == 0)
        return req->pool;
    for (uint32_t i = 0; i < p->n_diversions; i++) {
        const uint32_t at = p->rules.has_outer_pool_first ? i : p->n_diversions - 1 - i;
        if (diversion_accepts(&p->diversions[at], req->stream))
            return p->diversions[at].pool;
    }
    return 0;
}

static enum err capture_begin(struct pytorch *p, const struct control *c, struct err_detail *err)
{
    enum err e = pool_acquire(p, c->pool);
    if (e == ERR_OK)
        e = diversion_push(p, (struct pytorch_diversion){.pool = c->pool, .is_capture = true, .stream = c->stream},
                           err);
    if (e == ERR_OK)
        p->n_captures++;
    return e;
}

static enum err capture_end(struct pytorch *p, const struct control *c, struct err_detail *err)
{
    if (!diversion_remove(p, c->pool, true))
        return err_set(err, ERR_FORMAT, 0, "a capture ends that was not begun");
    p->n_captures--;
    return ERR_OK;
}

static enum err pool_enter(struct pytorch *p, const struct control *c, struct err_detail *err)
{
    const enum err e = pool_acquire(p, c->pool);
    return e == ERR_OK ? diversion_push(p, (struct pytorch_diversion){.pool = c->pool}, err) : e;
}

static enum err pool_leave(struct pytorch *p, const struct control *c, struct err_detail *err)
{
    if (!diversion_remove(p, c->pool, false))
        return err_set(err, ERR_FORMAT, 0, "a pool region is left that was not entered");
    return p->rules.keeps_user_pools ? ERR_OK : pool_give_up(p, c->pool);
}

static enum err pool_drop(struct pytorch *p, const struct control *c)
{
    table_drop_pool(p, &p->lenders, c->pool);
    const enum err e = pool_give_up(p, c->pool);
    if (e == ERR_OK && p->rules.gives_back_by_pool)
        pytorch_give_back_all(p, c->pool, pytorch_is_capturing(p));
    return e;
}

enum err pytorch_pool_control(struct pytorch *p, const struct control *c, struct err_detail *err)
{
    if (c->pool == 0 || c->pool >= p->n_pools)
        return err_set(err, ERR_FORMAT, 0, "command on pool %u, of %u", c->pool, p->n_pools);
    switch (c->kind) {
    case CONTROL_POOL_CREATE:
        return pytorch_pool_open(p, c->pool, c->flags);
    case CONTROL_POOL_ENTER:
        return pool_enter(p, c, err);
    case CONTROL_POOL_LEAVE:
        return pool_leave(p, c, err);
    case CONTROL_POOL_DROP:
        return pool_drop(p, c);
    case CONTROL_CAPTURE_BEGIN:
        return capture_begin(p, c, err);
    case CONTROL_CAPTURE_END:
        return capture_end(p, c, err);
    case CONTROL_GRAPH_RESET:
        return pool_give_up(p, c->pool);
    default:
        return ERR_UNSUPPORTED;
    }
}

void pytorch_pools_close(struct pytorch *p)
{
    for (uint32_t i = 0; p->halves != NULL && i < 2 * p->n_pools; i++) {
        free_set_close(&p->halves[i].free);
        free(p->halves[i].unmapped);
    }
    free(p->halves);
    free(p->pools);
    free(p->diversions);
    order_table_close(&p->freeable);
    order_table_close(&p->lenders);
}
