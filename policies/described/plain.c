/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests and frees of the textbook allocators: plain.h. */
#include "policies/described/plain.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

enum err plain_create(const struct policy_config *cfg, size_t size, const struct plain_set *set, struct plain **out,
                      struct err_detail *why)
{
    struct plain *p = calloc(1, size);
    if (p == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for a policy");
    p->set = set;
    p->chunk_bytes = cfg->values[PLAIN_CHUNK].number;
    p->unit_bytes = DEVICE_PAGE_BYTES;
    enum err e = upstream_open(&p->upstream, cfg, &cfg->values[PLAIN_UPSTREAM], why);
    if (e == ERR_OK)
        e = heap_open(&p->heap, &p->upstream, cfg->peak_live);
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
    if (heap_idle_pieces(&p->heap, HEAP_BY_ADDRESS, &idle, &n) != ERR_OK) {
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
        p->set->remove(p, b);
    } else if ((e = plain_grow(p, bytes, req->stream, &b)) == ERR_OK) {
        base->count.misses++;
        if (p->set->grown != NULL)
            p->set->grown(p, b);
    } else {
        return e;
    }
    const uint64_t size = heap_at(&p->heap, b)->size;
    if (size > bytes) {
        const struct tie_kind places = {.has_numbers = false};
        p->set->insert(p, block_split_back(&p->heap.blocks, b, size - bytes, places));
        base->count.splits++;
    }
    heap_take(&p->heap, b, req->bytes, out);
    return ERR_OK;
}

void plain_free(struct policy *base, const struct event *req, const struct block *block)
{
    struct plain *p = (struct plain *)base;
    struct block_table *t = &p->heap.blocks;
    const uint32_t b = block->cookie;
    t->at[b].flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    t->at[b].stream = req->stream;
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? t->at[b].prev : t->at[b].next;
        if (!block_is_idle(t, neighbour) || (p->set->may_join != NULL && !p->set->may_join(p, b, neighbour)))
            continue;
        p->set->remove(p, neighbour);
        block_swallow(t, b, is_front != 0, false);
        base->count.coalesces++;
    }
    p->set->insert(p, b);
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

enum err plain_check(const struct policy *base, struct err_detail *why)
{
    return heap_check(&((const struct plain *)base)->heap, base->ops->name, why);
}
