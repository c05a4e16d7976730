/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * mlx: the buffer cache of Apple's MLX, as its source describes it (BufferCache and MetalAllocator), and not compared
 * with a Mac.
 *
 * A cache of whole buffers: a request above a page is rounded up to pages, and takes the smallest cached buffer that is
 * less than twice as large and less than two pages larger; of equal ones the one that was freed first. Nothing is
 * split, nothing coalesces, all streams share. Before a miss that would bring what is held to the limit, the buffers
 * that were freed first are given back, so many that it stays below; the same after each request if the cache is above
 * its own limit. A refusal is not tried again.
 *
 * Not modelled: the heap that Metal keeps for the smallest buffers, and its limit on their number.
 */
#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"

#include <inttypes.h>
#include <stdlib.h>

struct mlx {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                   /* each piece is one buffer */
    struct free_set free;                   /* all of stream 0; the first freed has the least tie */
    uint64_t        next_tie;
    uint64_t        page, gc_limit, cache_limit;
    uint64_t        active_bytes, cached_bytes;
};

enum { MLX_PAGE, MLX_GC, MLX_CACHE, MLX_UPSTREAM };

static const struct policy_option mlx_options[] = {
    [MLX_PAGE] = {"page", OPTION_BYTES, 512, 65536, "16KiB", "bytes",
                  "the system's page: 16 KiB on a Mac (vm_page_size)"},
    [MLX_GC] = {"gc", OPTION_RATIO, 0, 0, "0.95", NULL,
                "share of the card from which cached buffers are given back (gc_limit)"},
    [MLX_CACHE] = {"cache-limit", OPTION_BYTES, 0, INT64_MAX, NULL, "bytes",
                   "most that may be cached; without it one and a half times the card (mx.set_cache_limit)"},
    [MLX_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void mlx_destroy(struct policy *p)
{
    struct mlx *m = (struct mlx *)p;
    free_set_close(&m->free);
    heap_close(&m->heap);
    upstream_close(&m->upstream);
    free(m);
}

static void mlx_take_limits(struct mlx *m, const struct policy_config *cfg)
{
    const struct option_value *v = cfg->values;
    uint64_t free_bytes, total_bytes;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    const bool is_endless = total_bytes == DEVICE_UNLIMITED;
    m->page = v[MLX_PAGE].number;
    m->gc_limit = is_endless ? UINT64_MAX : (uint64_t)(v[MLX_GC].ratio * (double)total_bytes);
    m->cache_limit = v[MLX_CACHE].is_set ? v[MLX_CACHE].number
                     : is_endless        ? UINT64_MAX
                                         : total_bytes + total_bytes / 2;
}

static enum err mlx_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct mlx *m = calloc(1, sizeof *m);
    if (m == NULL)
        return err_no_memory(err);
    mlx_take_limits(m, cfg);
    enum err e = upstream_open(&m->upstream, cfg, &cfg->values[MLX_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&m->heap, &m->upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = free_set_open(&m->free, &m->heap.blocks, NULL, 1);
    if (e == ERR_OK)
        e = free_set_add_stream(&m->free, 0);
    if (e != ERR_OK)
        mlx_destroy(&m->base);
    else
        *out = &m->base;
    return e;
}

/* ---- the cache ---- */

static void mlx_give_back(struct mlx *m, uint32_t b)
{
    m->cached_bytes -= heap_at(&m->heap, b)->size;
    free_set_remove(&m->free, b);
    heap_give_back(&m->heap, b);
}

static void mlx_flush(struct policy *p, uint32_t stream)
{
    struct mlx *m = (struct mlx *)p;
    (void)stream;
    for (uint32_t b; (b = free_set_first(&m->free)) != BLOCK_NONE;)
        mlx_give_back(m, b);
}

/* The cached buffer that was freed first. A walk over all: it is looked for under pressure only. */
static uint32_t mlx_oldest(const struct mlx *m)
{
    uint32_t oldest = BLOCK_NONE;
    for (uint32_t b = 0; b < m->heap.blocks.n; b++) {
        const struct block_entry *e = heap_at(&m->heap, b);
        const bool is_cached = (e->flags & (BLOCK_IS_USED | BLOCK_IS_ALLOCATED)) == BLOCK_IS_USED;
        if (is_cached && (oldest == BLOCK_NONE || e->tie < heap_at(&m->heap, oldest)->tie))
            oldest = b;
    }
    return oldest;
}

/* release_cached_buffers: nearly all of the cache is all of it. */
static void mlx_release(struct mlx *m, uint64_t least)
{
    uint64_t released = 0;
    if ((double)least >= 0.9 * (double)m->cached_bytes) {
        mlx_flush(&m->base, POLICY_ALL_STREAMS);
        return;
    }
    while (released < least) {
        const uint32_t b = mlx_oldest(m);
        released += heap_at(&m->heap, b)->size;
        mlx_give_back(m, b);
    }
}

/* ---- requests ---- */

static uint64_t mlx_round(const struct mlx *m, uint64_t bytes)
{
    return bytes > m->page ? round_up(bytes, m->page) : bytes;
}

/* A buffer much larger than the request is left for a larger one. */
static uint32_t mlx_find(const struct mlx *m, uint64_t bytes)
{
    const uint64_t twice = 2 * bytes, pages = bytes + 2 * m->page;
    const uint32_t b = free_set_at_least(&m->free, 0, bytes);
    return b != BLOCK_NONE && heap_at(&m->heap, b)->size < (twice < pages ? twice : pages) ? b : BLOCK_NONE;
}

static enum err mlx_grow(struct mlx *m, uint64_t bytes, uint32_t *out)
{
    const uint64_t required = add_capped(add_capped(m->active_bytes, m->cached_bytes), bytes);
    if (required >= m->gc_limit)
        mlx_release(m, required - m->gc_limit);
    return heap_grow(&m->heap, bytes, 0, out);
}

static enum err mlx_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct mlx *m = (struct mlx *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = mlx_round(m, req->bytes);
    uint32_t b = mlx_find(m, bytes);
    if (b != BLOCK_NONE) {
        p->count.hits++;
        m->cached_bytes -= heap_at(&m->heap, b)->size;
        free_set_remove(&m->free, b);
    } else {
        const enum err e = mlx_grow(m, bytes, &b);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
    }
    m->active_bytes += heap_at(&m->heap, b)->size;
    heap_take(&m->heap, b, req->bytes, out);
    if (m->cached_bytes > m->cache_limit)
        mlx_release(m, m->cached_bytes - m->cache_limit);
    return ERR_OK;
}

static void mlx_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct mlx *m = (struct mlx *)p;
    struct block_entry *b = heap_at(&m->heap, block->cookie);
    (void)req;
    m->active_bytes -= b->size;
    heap_free(&m->heap, block->cookie);
    if (m->cached_bytes >= m->cache_limit) {
        heap_give_back(&m->heap, block->cookie);
        return;
    }
    m->cached_bytes += b->size;
    b->tie = m->next_tie++;
    free_set_insert(&m->free, block->cookie);
}

/* ---- reports ---- */

static enum err mlx_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct mlx *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t mlx_largest_free(const struct policy *p)
{
    const struct mlx *m = (const struct mlx *)p;
    return upstream_largest_free(&m->upstream, free_set_largest(&m->free));
}

static enum err mlx_check(const struct policy *p, struct err_detail *err)
{
    const struct mlx *m = (const struct mlx *)p;
    if (m->active_bytes + m->cached_bytes != m->heap.held_bytes)
        return err_set(err, ERR_CORRUPT, 0, "mlx: %" PRIu64 " B are active and %" PRIu64 " B cached of %" PRIu64,
                       m->active_bytes, m->cached_bytes, m->heap.held_bytes);
    return heap_check(&m->heap, "mlx", err);
}

const struct policy_ops policy_mlx = {
    POLICY_HEAD,
    .name = "mlx",
    .summary = "MLX's cache of whole buffers, as described by its source (buffer_cache.h, metal/allocator.cpp)",
    .options = mlx_options,
    .create = mlx_create, .destroy = mlx_destroy,
    .alloc = mlx_alloc,   .free = mlx_free,
    .flush = mlx_flush,   .walk = mlx_walk,          .largest_free = mlx_largest_free,
    .check = mlx_check,
};
