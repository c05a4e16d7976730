/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * paddle: PaddlePaddle's default strategy "auto_growth", AutoGrowthBestFitAllocator of 3.3
 * (paddle/phi/core/memory/allocation/auto_growth_best_fit_allocator.cc, allocator_facade.cc, paddle/common/flags.cc).
 *
 * Each stream has an allocator of its own. A request takes the high end of the smallest free block that fits, of these
 * the lowest; the rest stays. A miss takes a chunk from the device, of the request's size or a set one. Chunks that are
 * wholly free are given back when the device refuses, in the order of their creation, and with flags at other times,
 * too.
 */
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

/* Two sizes of requests may be kept apart: the free sets by size class. */
enum paddle_class { PADDLE_LARGE, PADDLE_SMALL, PADDLE_CLASSES };

struct paddle {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                   /* its pieces are chunks; those of small requests are marked small */
    struct free_set free[PADDLE_CLASSES];   /* ties are addresses */
    uint64_t        chunk_bytes[PADDLE_CLASSES];     /* a new chunk has at least so much */
    uint64_t        pre_alloc_bytes[PADDLE_CLASSES]; /* taken when a stream is first seen */
    uint64_t        small_bytes;            /* requests up to here are small; 0: none is */
    uint64_t        alignment, padding_bytes;
    bool            frees_idle, frees_on_miss, may_free;
    uint64_t        n_idle;                 /* chunks that are one free block */
    uint64_t        used_bytes, used_peak_bytes;
};

enum {
    PADDLE_CHUNK, PADDLE_ALIGNMENT, PADDLE_PADDING, PADDLE_FREE_IDLE, PADDLE_FREE_ON_MISS, PADDLE_ALLOW_FREE,
    PADDLE_SMALL_POOL, PADDLE_SMALL_CHUNK, PADDLE_LARGE_CHUNK, PADDLE_PRE_ALLOC, PADDLE_SMALL_PRE_ALLOC,
    PADDLE_LARGE_PRE_ALLOC, PADDLE_UPSTREAM
};

static const struct policy_option paddle_options[] = {
    [PADDLE_CHUNK] = {"chunk", OPTION_BYTES, 0, TIB, "0", "bytes",
                      "least size of a chunk; 0: that of the request (auto_growth_chunk_size_in_mb)"},
    [PADDLE_ALIGNMENT] = {"alignment", OPTION_BYTES, 1, GIB, "256", "bytes",
                          "sizes are multiples of it; a power of two (alignment_size)"},
    [PADDLE_PADDING] = {"padding", OPTION_BYTES, 0, GIB, "0", "bytes", "added to each request before it is rounded"},
    [PADDLE_FREE_IDLE] = {"free-idle", OPTION_SWITCH, 0, 0, "off", NULL,
                          "give wholly free chunks back after each free (free_idle_chunk)"},
    [PADDLE_FREE_ON_MISS] = {"free-on-miss", OPTION_SWITCH, 0, 0, "off", NULL,
                             "and before each new chunk (free_when_no_cache_hit)"},
    [PADDLE_ALLOW_FREE] = {"allow-free", OPTION_SWITCH, 0, 0, "on", NULL,
                           "off: chunks are never given back (allow_free_idle_chunk)"},
    [PADDLE_SMALL_POOL] = {"small-pool", OPTION_BYTES, 0, TIB, "0", "bytes",
                           "requests up to this size have free blocks of their own; 0: none (small_pool_size_in_mb)"},
    [PADDLE_SMALL_CHUNK] = {"small-chunk", OPTION_BYTES, 0, TIB, "0", "bytes",
                            "`chunk` for these (small_pool_auto_growth_chunk_size_in_mb)"},
    [PADDLE_LARGE_CHUNK] = {"large-chunk", OPTION_BYTES, 0, TIB, "0", "bytes",
                            "`chunk` for the others, with small-pool (large_pool_auto_growth_chunk_size_in_mb)"},
    [PADDLE_PRE_ALLOC] = {"pre-alloc", OPTION_SWITCH, 0, 0, "off", NULL, "take first chunks at the start"},
    [PADDLE_SMALL_PRE_ALLOC] = {"small-pre-alloc", OPTION_BYTES, 0, TIB, "0", "bytes",
                                "of this size for small requests (small_pool_pre_alloc_in_mb)"},
    [PADDLE_LARGE_PRE_ALLOC] = {"large-pre-alloc", OPTION_BYTES, 0, TIB, "0", "bytes",
                                "of this size for the others (large_pool_pre_alloc_in_mb)"},
    [PADDLE_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void paddle_destroy(struct policy *p)
{
    struct paddle *a = (struct paddle *)p;
    free_set_close(&a->free[PADDLE_LARGE]);
    free_set_close(&a->free[PADDLE_SMALL]);
    heap_close(&a->heap);
    upstream_close(&a->upstream);
    free(a);
}

/* ---- free blocks ---- */

static struct free_set *paddle_set(struct paddle *a, uint32_t b)
{
    return &a->free[(heap_at(&a->heap, b)->flags & BLOCK_IS_SMALL) != 0 ? PADDLE_SMALL : PADDLE_LARGE];
}

static void paddle_insert(struct paddle *a, uint32_t b)
{
    a->n_idle += heap_is_whole(&a->heap, b);
    free_set_insert(paddle_set(a, b), b);
}

static void paddle_remove(struct paddle *a, uint32_t b)
{
    a->n_idle -= heap_is_whole(&a->heap, b);
    free_set_remove(paddle_set(a, b), b);
}

/* ---- chunks ---- */

/* Gives the wholly free chunks of a stream, or of all, back in the order of their creation. If the host has no memory
 * to sort them, they stay, and the policy has failed. */
static void paddle_release(struct paddle *a, uint32_t stream)
{
    uint32_t *idle;
    size_t n;
    if (!a->may_free || a->n_idle == 0)
        return;
    if (heap_idle_pieces(&a->heap, HEAP_BY_AGE, &idle, &n) != ERR_OK) {
        a->base.failure = ERR_HOST_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (stream != POLICY_ALL_STREAMS && heap_at(&a->heap, idle[i])->stream != stream)
            continue;
        paddle_remove(a, idle[i]);
        heap_give_back(&a->heap, idle[i]);
    }
    free(idle);
}

/* After a free with `free-idle`: as a rule the only such chunk is the one just freed. */
static void paddle_release_freed(struct paddle *a, uint32_t b)
{
    if (a->may_free && a->n_idle == 1 && heap_is_whole(&a->heap, b)) {
        paddle_remove(a, b);
        heap_give_back(&a->heap, b);
    } else {
        paddle_release(a, heap_at(&a->heap, b)->stream);
    }
}

/* Takes a chunk, as one block in no set. */
static enum err paddle_add_chunk(struct paddle *a, uint64_t bytes, uint16_t stream, enum paddle_class class,
                                 uint32_t *out)
{
    const enum err e = heap_grow(&a->heap, bytes, stream, out);
    if (e == ERR_OK && class == PADDLE_SMALL)
        heap_at(&a->heap, *out)->flags |= BLOCK_IS_SMALL;
    return e;
}

static enum err paddle_grow(struct paddle *a, uint64_t bytes, uint16_t stream, enum paddle_class class, uint32_t *out)
{
    const uint64_t chunk = bytes > a->chunk_bytes[class] ? bytes : a->chunk_bytes[class];
    if (a->frees_on_miss)
        paddle_release(a, stream);
    enum err e = paddle_add_chunk(a, chunk, stream, class, out);
    if (e == ERR_DEVICE_OOM) {
        a->base.count.retries++;
        paddle_release(a, stream);
        e = paddle_add_chunk(a, chunk, stream, class, out);
    }
    return e;
}

/* Makes the allocator of a stream, with its first chunks. */
static enum err paddle_see_stream(struct paddle *a, uint16_t stream)
{
    if (free_set_bins(&a->free[PADDLE_LARGE], stream) != NULL)
        return ERR_OK;
    enum err e = free_set_add_stream(&a->free[PADDLE_SMALL], stream);
    if (e == ERR_OK)
        e = free_set_add_stream(&a->free[PADDLE_LARGE], stream);
    for (int class = PADDLE_CLASSES; class-- > 0 && e == ERR_OK;) {
        uint32_t b;
        if (a->pre_alloc_bytes[class] == 0)
            continue;
        e = paddle_add_chunk(a, a->pre_alloc_bytes[class], stream, (enum paddle_class)class, &b);
        if (e == ERR_OK)
            paddle_insert(a, b);
    }
    return e;
}

/* ---- the policy ---- */

static void paddle_read_options(struct paddle *a, const struct option_value *v)
{
    a->alignment = v[PADDLE_ALIGNMENT].number;
    a->padding_bytes = v[PADDLE_PADDING].number;
    a->frees_idle = v[PADDLE_FREE_IDLE].number != 0;
    a->frees_on_miss = v[PADDLE_FREE_ON_MISS].number != 0;
    a->may_free = v[PADDLE_ALLOW_FREE].number != 0;
    a->small_bytes = v[PADDLE_SMALL_POOL].number;
    a->chunk_bytes[PADDLE_LARGE] = align_up(v[PADDLE_CHUNK].number, a->alignment);
    if (a->small_bytes > 0) {                /* then the general size counts for nothing */
        a->chunk_bytes[PADDLE_LARGE] = align_up(v[PADDLE_LARGE_CHUNK].number, a->alignment);
        a->chunk_bytes[PADDLE_SMALL] = align_up(v[PADDLE_SMALL_CHUNK].number, a->alignment);
    }
    if (v[PADDLE_PRE_ALLOC].number != 0) {
        a->pre_alloc_bytes[PADDLE_LARGE] = v[PADDLE_LARGE_PRE_ALLOC].number;
        a->pre_alloc_bytes[PADDLE_SMALL] = a->small_bytes > 0 ? v[PADDLE_SMALL_PRE_ALLOC].number : 0;
    }
}

static enum err paddle_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    if (!is_power_of_two(cfg->values[PADDLE_ALIGNMENT].number))
        return err_set(err, ERR_USAGE, POLICY_PLACE(PADDLE_ALIGNMENT, 0), "alignment is a power of two");
    struct paddle *a = calloc(1, sizeof *a);
    if (a == NULL)
        return err_no_memory(err);
    paddle_read_options(a, cfg->values);
    enum err e = upstream_open(&a->upstream, cfg, &cfg->values[PADDLE_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&a->heap, &a->upstream, cfg->peak_live);
    for (int class = 0; class < PADDLE_CLASSES && e == ERR_OK; class++)
        e = free_set_open(&a->free[class], &a->heap.blocks, NULL, cfg->n_streams);
    if (e == ERR_OK)
        e = paddle_see_stream(a, 0);
    if (e != ERR_OK)
        paddle_destroy(&a->base);
    else
        *out = &a->base;
    return e;
}

/* The high end of a block; the rest is free. */
static uint32_t paddle_cut(struct paddle *a, uint32_t b, uint64_t bytes)
{
    if (heap_at(&a->heap, b)->size == bytes)
        return b;
    const uint32_t high = block_split_back(&a->heap.blocks, b, bytes, (struct tie_kind){.has_numbers = false});
    paddle_insert(a, b);
    a->base.count.splits++;
    return high;
}

static enum err paddle_find(struct paddle *a, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    const enum paddle_class class = bytes <= a->small_bytes ? PADDLE_SMALL : PADDLE_LARGE;
    const uint32_t b = free_set_at_least(&a->free[class], stream, bytes);
    if (b == BLOCK_NONE) {
        a->base.count.misses++;
        return paddle_grow(a, bytes, stream, class, out);
    }
    a->base.count.hits++;
    paddle_remove(a, b);
    *out = b;
    return ERR_OK;
}

static enum err paddle_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct paddle *a = (struct paddle *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = align_up(req->bytes + a->padding_bytes, a->alignment);
    uint32_t b;
    enum err e = block_table_reserve(&a->heap.blocks, 2);
    if (e == ERR_OK)
        e = paddle_see_stream(a, req->stream);
    if (e == ERR_OK)
        e = paddle_find(a, bytes, req->stream, &b);
    if (e != ERR_OK)
        return e;
    heap_take(&a->heap, paddle_cut(a, b, bytes), req->bytes, out);
    a->used_bytes += bytes;
    a->used_peak_bytes = a->used_bytes > a->used_peak_bytes ? a->used_bytes : a->used_peak_bytes;
    return ERR_OK;
}

static void paddle_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct paddle *a = (struct paddle *)p;
    const uint32_t b = block->cookie;
    uint64_t won;
    (void)req;                               /* it returns to the allocator of its own stream */
    a->used_bytes -= block->bytes;
    heap_free(&a->heap, b);
    block_coalesce(&a->heap.blocks, free_set_bins(paddle_set(a, b), heap_at(&a->heap, b)->stream), b, false, &won,
                   &p->count.coalesces);
    paddle_insert(a, b);
    if (a->frees_idle)
        paddle_release_freed(a, b);
}

static void paddle_flush(struct policy *p, uint32_t stream)
{
    paddle_release((struct paddle *)p, stream);
}

/* ---- reports ---- */

static enum err paddle_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct paddle *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t paddle_largest_free(const struct policy *p)
{
    const struct paddle *a = (const struct paddle *)p;
    const uint64_t large = free_set_largest(&a->free[PADDLE_LARGE]), small = free_set_largest(&a->free[PADDLE_SMALL]);
    return upstream_largest_free(&a->upstream, large > small ? large : small);
}

static void paddle_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct paddle *a = (const struct paddle *)p;
    const struct own_stat own[] = {
        {"bytes_in_use", a->used_bytes},
        {"peak_bytes_in_use", a->used_peak_bytes},
    };
    upstream_stats(&a->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static void paddle_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "paddle: a refused request is refused at once; Paddle waits up to gpu_allocator_retry_time (10 s) for others "
          "to free memory");
}

static enum err paddle_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct paddle *)p)->heap, "paddle", err);
}

const struct policy_ops policy_paddle = {
    POLICY_HEAD,
    .name = "paddle",
    .summary = "Paddle's auto_growth: best fit, requests at the high end (Paddle 3.3, AutoGrowthBestFitAllocator)",
    .options = paddle_options,
    .create = paddle_create, .destroy = paddle_destroy,
    .alloc = paddle_alloc,   .free = paddle_free,
    .flush = paddle_flush,   .walk = paddle_walk,       .largest_free = paddle_largest_free,
    .stats = paddle_stats,   .remarks = paddle_remarks, .check = paddle_check,
};
