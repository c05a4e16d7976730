/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * rmm-pool: RMM's pool_memory_resource of 26.10 (cpp/src/mr/detail/pool_memory_resource_impl.cpp,
 * cpp/include/rmm/mr/detail/{stream_ordered_memory_resource,coalescing_free_list}.hpp).
 *
 * Each stream has a list of free blocks. A request is rounded up to 256 bytes and looks for the smallest block that
 * fits, the lowest of them: in its own stream's list; in each other list; then it takes over one list after the other,
 * and coalesces. A block is cut to the exact size, and the tail stays in the list that it came from. If nothing fits
 * the pool grows: by all that it has, or, with a maximum, by half of what is left.
 *
 * A freed block goes to the list of the stream that frees it, and coalesces there. With a maximum a request that does
 * not fit gives back whole free upstream blocks first (since 26.10).
 */
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"
#include "policies/zoo/rmm_streams.h"

#include "base/units.h"

#include <stdlib.h>

enum { RMM_POOL_UNIT = 256 };

struct rmm_pool {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;
    struct free_set free;                   /* a block is in the bins of its stream, the streams are in the order of
                                             * first sight; ties are addresses */
    struct rmm_streams streams;
    uint64_t        maximum_bytes;          /* UINT64_MAX: none */
    bool            reclaims;
};

enum { RMM_POOL_INITIAL, RMM_POOL_MAXIMUM, RMM_POOL_RECLAIM, RMM_POOL_ORDER, RMM_POOL_UPSTREAM };

static const struct policy_option rmm_pool_options[] = {
    [RMM_POOL_INITIAL] = {"initial", OPTION_BYTES, 0, UINT64_MAX / 4, "0", "bytes",
                          "taken at the start; a multiple of 256 (initial_pool_size)"},
    [RMM_POOL_MAXIMUM] = {"maximum", OPTION_BYTES, RMM_POOL_UNIT, UINT64_MAX / 4, NULL, "bytes",
                          "the most to hold; a multiple of 256 (maximum_pool_size)"},
    [RMM_POOL_RECLAIM] = {"reclaim", OPTION_SWITCH, 0, 0, "on", NULL,
                          "with a maximum, give whole free upstream blocks back before a request is refused (since RMM "
                          "26.10)"},
    [RMM_POOL_ORDER] = RMM_ORDER_OPTION,
    [RMM_POOL_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void rmm_pool_destroy(struct policy *base)
{
    struct rmm_pool *p = (struct rmm_pool *)base;
    free_set_close(&p->free);
    heap_close(&p->heap);
    upstream_close(&p->upstream);
    rmm_streams_close(&p->streams);
    free(p);
}

/* ---- lists ---- */

/* Makes sure that a stream has a list, and room for the blocks that a request may make. */
static enum err rmm_pool_prepare(struct rmm_pool *p, uint16_t stream)
{
    rmm_streams_see(&p->streams, stream);
    if (free_set_bins(&p->free, stream) == NULL) {
        const enum err e = free_set_add_stream(&p->free, stream);
        if (e != ERR_OK)
            return e;
    }
    return block_table_reserve(&p->heap.blocks, 2);
}

/* Whether `b` is a free block in the list of a stream. */
static bool rmm_pool_is_listed(const struct rmm_pool *p, uint32_t b, uint16_t stream)
{
    return block_is_idle(&p->heap.blocks, b) && heap_at(&p->heap, b)->stream == stream;
}

/* Puts a block into the list of its stream, and coalesces it with its neighbours there. */
static void rmm_pool_insert(struct rmm_pool *p, uint32_t b)
{
    struct block_table *t = &p->heap.blocks;
    const uint16_t stream = t->at[b].stream;
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? t->at[b].prev : t->at[b].next;
        if (!rmm_pool_is_listed(p, neighbour, stream))
            continue;
        free_set_remove(&p->free, neighbour);
        heap_swallow(&p->heap, b, is_front != 0, false);
        p->base.count.coalesces++;
    }
    free_set_insert(&p->free, b);
}

/* Moves the list of another stream to `stream`. */
static void rmm_pool_take_over(struct rmm_pool *p, uint16_t other, uint16_t stream)
{
    struct free_bins *bins = free_set_bins(&p->free, other);
    struct block_entry *at = p->heap.blocks.at;
    max_tree_put(&p->streams.listed, p->streams.place[other], 0);
    for (uint32_t b; bins != NULL && (b = free_bins_from(bins, at, 0)) != BLOCK_NONE;) {
        free_bins_remove(bins, at, b);
        at[b].stream = stream;
        rmm_pool_insert(p, b);
    }
}

/* The best fit in the lists of other streams, as they are. */
static uint32_t rmm_pool_find_elsewhere(struct rmm_pool *p, uint64_t bytes, uint16_t stream)
{
    const uint32_t b = free_set_elsewhere(&p->free, stream, bytes, p->streams.is_last_first);
    if (b != BLOCK_NONE)
        device_wait_event(p->base.device);
    return b;
}

/* The best fit in the own list after it has taken over one other list more. */
static uint32_t rmm_pool_find_merged(struct rmm_pool *p, uint64_t bytes, uint16_t stream)
{
    const struct rmm_streams *s = &p->streams;
    for (uint32_t i = MAX_TREE_NONE; (i = rmm_streams_next(s, &s->listed, i)) != MAX_TREE_NONE;) {
        const uint16_t other = s->seen[i];
        if (other == stream)
            continue;
        device_wait_event(p->base.device);
        rmm_pool_take_over(p, other, stream);
        const uint32_t b = free_set_at_least(&p->free, stream, bytes);
        if (b != BLOCK_NONE)
            return b;
    }
    return BLOCK_NONE;
}

/* ---- the pool's size ---- */

static uint64_t rmm_pool_room(const struct rmm_pool *p)
{
    return align_up(p->maximum_bytes - p->heap.held_bytes, RMM_POOL_UNIT);
}

/* Gives back upstream blocks that lie whole in a stream's list, by address, until a request of `bytes` may grow the
 * pool. */
static enum err rmm_pool_reclaim(struct rmm_pool *p, uint64_t bytes, uint16_t stream)
{
    uint32_t *idle;
    size_t n;
    const enum err e = heap_idle_pieces(&p->heap, HEAP_BY_ADDRESS, &idle, &n);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < n && p->maximum_bytes - p->heap.held_bytes < bytes; i++) {
        if (heap_at(&p->heap, idle[i])->stream != stream)
            continue;
        free_set_remove(&p->free, idle[i]);
        heap_give_back(&p->heap, idle[i]);
    }
    free(idle);
    return ERR_OK;
}

/* Asks the upstream for `bytes` and, while it refuses, for half as much, but never for less than `least`. */
static enum err rmm_pool_obtain(struct rmm_pool *p, uint64_t bytes, uint64_t least, uint16_t stream, uint32_t *out)
{
    for (;;) {
        const enum err e = heap_grow(&p->heap, bytes, stream, out);
        if (e != ERR_DEVICE_OOM || bytes == least)
            return e;
        bytes = bytes / 2 > least ? bytes / 2 : least;
    }
}

static enum err rmm_pool_grow(struct rmm_pool *p, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    uint64_t wanted = p->heap.held_bytes;
    if (p->maximum_bytes != UINT64_MAX) {
        if (bytes > rmm_pool_room(p) && p->reclaims && bytes <= p->maximum_bytes) {
            const enum err e = rmm_pool_reclaim(p, bytes, stream);
            if (e != ERR_OK)
                return e;
        }
        if (bytes > rmm_pool_room(p))
            return ERR_DEVICE_OOM;
        wanted = rmm_pool_room(p) / 2;
    }
    return rmm_pool_obtain(p, wanted > bytes ? wanted : bytes, bytes, stream, out);
}

/* ---- the policy ---- */

static enum err rmm_pool_begin(struct rmm_pool *p, uint64_t initial_bytes)
{
    if (initial_bytes == 0)
        return ERR_OK;
    uint32_t b;
    enum err e = rmm_pool_prepare(p, 0);
    if (e == ERR_OK)
        e = heap_grow(&p->heap, initial_bytes, 0, &b);
    if (e == ERR_OK)
        free_set_insert(&p->free, b);
    return e;
}

static enum err rmm_pool_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const uint64_t initial_bytes = cfg->values[RMM_POOL_INITIAL].number;
    const struct option_value *maximum = &cfg->values[RMM_POOL_MAXIMUM];
    if (initial_bytes % RMM_POOL_UNIT != 0)
        return err_set(err, ERR_USAGE, POLICY_PLACE(RMM_POOL_INITIAL, 0), "RMM wants a multiple of 256 bytes");
    if (maximum->is_set && (maximum->number % RMM_POOL_UNIT != 0 || maximum->number < initial_bytes))
        return err_set(err, ERR_USAGE, POLICY_PLACE(RMM_POOL_MAXIMUM, 0),
                       "RMM wants a multiple of 256 bytes, not below the initial size");
    struct rmm_pool *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    p->maximum_bytes = maximum->is_set ? maximum->number : UINT64_MAX;
    p->reclaims = cfg->values[RMM_POOL_RECLAIM].number != 0;
    enum err e = rmm_streams_open(&p->streams, cfg, RMM_POOL_ORDER, err);
    if (e == ERR_OK)
        e = upstream_open(&p->upstream, cfg, &cfg->values[RMM_POOL_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&p->heap, &p->upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = free_set_open(&p->free, &p->heap.blocks, NULL, cfg->n_streams);
    if (e == ERR_OK)
        e = rmm_pool_begin(p, initial_bytes);
    if (e != ERR_OK) {
        rmm_pool_destroy(&p->base);
        return e;
    }
    *out = &p->base;
    return ERR_OK;
}

/* Finds a block for a request, or makes one. */
static enum err rmm_pool_find(struct rmm_pool *p, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    uint32_t b = free_set_at_least(&p->free, stream, bytes);
    if (b == BLOCK_NONE)
        b = rmm_pool_find_elsewhere(p, bytes, stream);
    if (b == BLOCK_NONE)
        b = rmm_pool_find_merged(p, bytes, stream);
    if (b == BLOCK_NONE) {
        p->base.count.misses++;
        return rmm_pool_grow(p, bytes, stream, out);
    }
    p->base.count.hits++;
    free_set_remove(&p->free, b);
    *out = b;
    return ERR_OK;
}

static enum err rmm_pool_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct rmm_pool *p = (struct rmm_pool *)base;
    if (req->bytes > UINT64_MAX - RMM_POOL_UNIT)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = align_up(req->bytes, RMM_POOL_UNIT);
    uint32_t b;
    enum err e = rmm_pool_prepare(p, req->stream);
    if (e != ERR_OK || (e = rmm_pool_find(p, bytes, req->stream, &b)) != ERR_OK)
        return e;
    if (heap_at(&p->heap, b)->size > bytes) {
        const uint64_t rest = heap_at(&p->heap, b)->size - bytes;
        free_set_insert(&p->free, block_split_back(&p->heap.blocks, b, rest, (struct tie_kind){.has_numbers = false}));
        p->base.count.splits++;
    }
    heap_take(&p->heap, b, req->bytes, out);
    return ERR_OK;
}

static void rmm_pool_free(struct policy *base, const struct event *req, const struct block *block)
{
    struct rmm_pool *p = (struct rmm_pool *)base;
    const enum err e = rmm_pool_prepare(p, req->stream);
    if (e != ERR_OK) {                       /* the stream has no list: the block stays taken, and the run ends */
        p->base.failure = e;
        return;
    }
    heap_free(&p->heap, block->cookie);
    heap_at(&p->heap, block->cookie)->stream = req->stream;
    rmm_pool_insert(p, block->cookie);
}

/* ---- reports ---- */

static enum err rmm_pool_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct rmm_pool *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t rmm_pool_largest_free(const struct policy *base)
{
    const struct rmm_pool *p = (const struct rmm_pool *)base;
    return upstream_largest_free(&p->upstream, free_set_largest(&p->free));
}

static void rmm_pool_stats(const struct policy *base, stat_visit visit, void *arg)
{
    const struct rmm_pool *p = (const struct rmm_pool *)base;
    const struct own_stat own[] = {
        {"pool_size", p->heap.held_bytes},
    };
    upstream_stats(&p->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static void rmm_pool_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "rmm-pool: other streams are asked for memory in the order in which they were first seen; in a real process "
          "the order is that of the handles of RMM's CUDA events");
}

static enum err rmm_pool_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct rmm_pool *)p)->heap, "rmm-pool", err);
}

const struct policy_ops policy_rmm_pool = {
    POLICY_HEAD,
    .name = "rmm-pool",
    .summary = "RMM's pool: coalescing best fit per stream, doubling growth (rmm 26.10, pool_memory_resource)",
    .options = rmm_pool_options,
    .create = rmm_pool_create,   .destroy = rmm_pool_destroy,
    .alloc = rmm_pool_alloc,     .free = rmm_pool_free,
    .walk = rmm_pool_walk,       .largest_free = rmm_pool_largest_free,
    .stats = rmm_pool_stats,     .remarks = rmm_pool_remarks,           .check = rmm_pool_check,
};
