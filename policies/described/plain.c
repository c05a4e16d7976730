/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests and frees of the textbook allocators: plain.h. */
#include "policies/described/plain.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

static const struct tie_kind plain_ties = {.has_numbers = false};

enum err plain_create(const struct policy_config *cfg, size_t size, const struct plain_set *set, struct plain **out,
                      struct err_detail *err)
{
    struct plain *p = calloc(1, size);
    if (p == NULL)
        return err_no_memory(err);
    p->set = set;
    p->chunk_bytes = cfg->values[PLAIN_CHUNK].number;
    p->unit_bytes = DEVICE_PAGE_BYTES;
    enum err e = upstream_open(&p->upstream, cfg, &cfg->values[PLAIN_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&p->heap, &p->upstream, cfg->peak_live);
    p->heap.order = HEAP_BY_AGE;
    if (e != ERR_OK)
        plain_destroy(&p->base);
    else
        *out = p;
    return e;
}

void plain_destroy(struct policy *base)
{
    struct plain *p = (struct plain *)base;
    heap_close(&p->heap);
    upstream_close(&p->upstream);
    free(p);
}

void plain_flush(struct policy *base, uint32_t stream)
{
    struct plain *p = (struct plain *)base;
    uint32_t *idle;
    size_t n;
    (void)stream;
    if (heap_idle_pieces(&p->heap, HEAP_BY_AGE, &idle, &n) != ERR_OK) {
        base->failure = ERR_HOST_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        p->set->remove(p, idle[i]);
        heap_give_back(&p->heap, idle[i]);
    }
    free(idle);
}

enum err plain_grow(struct plain *p, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    const uint64_t least = align_up(bytes, p->unit_bytes), chunk = align_up(p->chunk_bytes, p->unit_bytes);
    const uint64_t wanted = least > chunk ? least : chunk;
    enum err e = heap_grow(&p->heap, wanted, stream, out);
    if (e == ERR_DEVICE_OOM) {
        p->base.count.retries++;
        plain_flush(&p->base, POLICY_ALL_STREAMS);
        e = heap_grow(&p->heap, wanted, stream, out);
    }
    if (e == ERR_DEVICE_OOM && least < wanted)
        e = heap_grow(&p->heap, least, stream, out);
    return e;
}

/* Takes the first `bytes` of a free block in the set. */
static uint32_t plain_take(struct plain *p, uint32_t b, uint64_t bytes)
{
    if (p->set->update == NULL || heap_at(&p->heap, b)->size == bytes) {
        p->set->remove(p, b);
        return b;
    }
    const uint32_t front = block_split_front(&p->heap.blocks, b, bytes, plain_ties);
    p->set->update(p, b);
    p->base.count.splits++;
    return front;
}

enum err plain_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct plain *p = (struct plain *)base;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = p->set->round != NULL ? p->set->round(req->bytes) : align_up(req->bytes, PLAIN_UNIT);
    enum err e = block_table_reserve(&p->heap.blocks, 2);
    if (e != ERR_OK)
        return e;
    uint32_t b = p->set->find(p, bytes, req->stream);
    if (b != BLOCK_NONE) {
        base->count.hits++;
        b = plain_take(p, b, bytes);
    } else if ((e = plain_grow(p, bytes, req->stream, &b)) == ERR_OK) {
        base->count.misses++;
        if (p->set->grown != NULL)
            p->set->grown(p, b);
    } else {
        return e;
    }
    const uint64_t size = heap_at(&p->heap, b)->size;
    if (size > bytes) {
        p->set->insert(p, block_split_back(&p->heap.blocks, b, size - bytes, plain_ties));
        base->count.splits++;
    }
    heap_take(&p->heap, b, req->bytes, out);
    return ERR_OK;
}

static bool plain_may_join(const struct plain *p, uint32_t b, uint32_t neighbour)
{
    return block_is_idle(&p->heap.blocks, neighbour) && (p->set->may_join == NULL || p->set->may_join(p, b, neighbour));
}

/* A freed block becomes a part of its neighbours, of which at least one is free and stays in the set. */
static void plain_join(struct plain *p, uint32_t b, bool joins_before, bool joins_after)
{
    struct block_table *t = &p->heap.blocks;
    const uint32_t before = t->at[b].prev, after = t->at[b].next, stays = joins_before ? before : after;
    if (joins_before && joins_after)
        p->set->remove(p, after);
    t->at[stays].stream = t->at[b].stream;
    heap_swallow(&p->heap, stays, !joins_before, false);
    if (joins_before && joins_after)
        heap_swallow(&p->heap, stays, false, false);
    p->set->update(p, stays);
}

void plain_free(struct policy *base, const struct event *req, const struct block *block)
{
    struct plain *p = (struct plain *)base;
    struct block_table *t = &p->heap.blocks;
    const uint32_t b = block->cookie;
    heap_free(&p->heap, b);
    t->at[b].stream = req->stream;
    const uint32_t before = t->at[b].prev, after = t->at[b].next;
    const bool joins_before = plain_may_join(p, b, before), joins_after = plain_may_join(p, b, after);
    base->count.coalesces += (unsigned)joins_before + joins_after;
    if (p->set->update != NULL && (joins_before || joins_after)) {
        plain_join(p, b, joins_before, joins_after);
        return;
    }
    for (int is_front = 0; is_front < 2; is_front++)
        if (is_front ? joins_before : joins_after) {
            p->set->remove(p, is_front ? before : after);
            heap_swallow(&p->heap, b, is_front != 0, false);
        }
    p->set->insert(p, b);
}

void plain_expect(const struct policy *p, const struct event *ev, const struct block *b, bool is_next)
{
    (void)ev;
    heap_expect(&((const struct plain *)p)->heap, b, is_next);
}

enum err plain_walk(const struct policy *base, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct plain *)base)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

void plain_stats(const struct policy *base, stat_visit visit, void *arg)
{
    upstream_stats(&((const struct plain *)base)->upstream, NULL, 0, visit, arg);
}

enum err plain_check(const struct policy *base, struct err_detail *err)
{
    return heap_check(&((const struct plain *)base)->heap, base->ops->name, err);
}
