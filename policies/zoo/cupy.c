/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cupy: CuPy's memory pool, cupy.cuda.MemoryPool of 14.2 (cupy/cuda/memory.pyx).
 *
 * Each stream has an arena of free chunks. A request is rounded up to 512 bytes, takes the smallest chunk that fits,
 * and all that it does not need is split off. Of chunks of one size CuPy takes the one with the lowest Python object
 * id; here that is the chunk whose object was made first. A device block keeps its object for the lowest part: a split
 * makes a new object for the tail, and merging keeps that of the lower part. A miss asks the device for exactly the
 * rounded size.
 *
 * Memory is given back when a limit or the device refuses: chunks that are whole device blocks, arena by arena in order
 * of creation. An arena without a chunk disappears, and comes last when it is made again.
 */
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

enum { CUPY_UNIT = 512, CUPY_ATTEMPTS = 3 };

enum { CUPY_NONE = UINT16_MAX + 1 };

struct cupy_arena {
    uint32_t n_chunks;                      /* free or in use */
    uint32_t prev, next;                    /* if there are any: the arenas that were created before and after it */
};

struct cupy {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;
    struct free_set free;                   /* the arenas; ties are numbers of objects */
    uint64_t        next_object;
    uint64_t        limit_bytes;            /* UINT64_MAX: none */
    uint64_t        free_bytes, n_free;
    struct cupy_arena *arenas;              /* by stream */
    uint32_t        first, last;            /* arenas that have a chunk, in order of creation; CUPY_NONE at the ends */
};

enum { CUPY_LIMIT, CUPY_LIMIT_FRACTION, CUPY_UPSTREAM };

static const struct policy_option cupy_options[] = {
    [CUPY_LIMIT] = {"limit", OPTION_BYTES, 1, UINT64_MAX, NULL, "bytes",
                    "the most to hold (MemoryPool.set_limit(size), CUPY_GPU_MEMORY_LIMIT)"},
    [CUPY_LIMIT_FRACTION] = {"limit-fraction", OPTION_RATIO, 0, 0, NULL, NULL,
                             "the most to hold, as a share of the card (set_limit(fraction))"},
    [CUPY_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void cupy_destroy(struct policy *p)
{
    struct cupy *c = (struct cupy *)p;
    free_set_close(&c->free);
    heap_close(&c->heap);
    upstream_close(&c->upstream);
    free(c->arenas);
    free(c);
}

static uint64_t cupy_limit(const struct policy_config *cfg)
{
    uint64_t free_bytes, total_bytes;
    const struct option_value *limit = &cfg->values[CUPY_LIMIT], *fraction = &cfg->values[CUPY_LIMIT_FRACTION];
    if (limit->is_set)
        return limit->number;
    if (!fraction->is_set)
        return UINT64_MAX;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    return (uint64_t)((double)total_bytes * fraction->ratio);
}

static enum err cupy_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct cupy *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_no_memory(err);
    enum err e = upstream_open(&c->upstream, cfg, &cfg->values[CUPY_UPSTREAM], err);
    c->first = c->last = CUPY_NONE;
    c->arenas = calloc(cfg->n_streams, sizeof *c->arenas);
    if (e == ERR_OK && c->arenas == NULL)
        e = ERR_HOST_NOMEM;
    if (e == ERR_OK)
        e = heap_open(&c->heap, &c->upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = free_set_open(&c->free, &c->heap.blocks, NULL, cfg->n_streams);
    if (e != ERR_OK) {
        cupy_destroy(&c->base);
        return e;
    }
    c->limit_bytes = cupy_limit(cfg);
    *out = &c->base;
    return ERR_OK;
}

/* ---- arenas ---- */

static void cupy_count_chunk(struct cupy *c, uint16_t stream)
{
    struct cupy_arena *arena = &c->arenas[stream];
    if (arena->n_chunks++ > 0)
        return;
    arena->prev = c->last;
    arena->next = CUPY_NONE;
    *(c->last == CUPY_NONE ? &c->first : &c->arenas[c->last].next) = stream;
    c->last = stream;
}

/* The arena of `stream` lost a chunk; without one it disappears. */
static void cupy_drop_chunk(struct cupy *c, uint16_t stream)
{
    const struct cupy_arena *arena = &c->arenas[stream];
    if (--c->arenas[stream].n_chunks > 0)
        return;
    *(arena->prev == CUPY_NONE ? &c->first : &c->arenas[arena->prev].next) = arena->next;
    *(arena->next == CUPY_NONE ? &c->last : &c->arenas[arena->next].prev) = arena->prev;
}

static void cupy_insert(struct cupy *c, uint32_t b)
{
    c->free_bytes += heap_at(&c->heap, b)->size;
    c->n_free++;
    free_set_insert(&c->free, b);
}

static void cupy_remove(struct cupy *c, uint32_t b)
{
    c->free_bytes -= heap_at(&c->heap, b)->size;
    c->n_free--;
    free_set_remove(&c->free, b);
}

/* Gives back the chunks of an arena that are whole device blocks. */
static void cupy_release_arena(struct cupy *c, uint16_t stream)
{
    struct free_bins *bins = free_set_bins(&c->free, stream);
    uint32_t b = bins == NULL ? BLOCK_NONE : free_bins_from(bins, c->heap.blocks.at, 0);
    while (b != BLOCK_NONE) {
        const uint32_t next = free_bins_next(bins, c->heap.blocks.at, b);
        if (heap_is_whole(&c->heap, b)) {
            cupy_remove(c, b);
            heap_give_back(&c->heap, b);
            cupy_drop_chunk(c, stream);
        }
        b = next;
    }
}

static void cupy_release_all(struct cupy *c)
{
    uint32_t next;
    for (uint32_t stream = c->first; stream != CUPY_NONE; stream = next) {
        next = c->arenas[stream].next;       /* the arena may be gone afterwards */
        cupy_release_arena(c, (uint16_t)stream);
    }
}

static void cupy_flush(struct policy *p, uint32_t stream)
{
    struct cupy *c = (struct cupy *)p;
    if (stream == POLICY_ALL_STREAMS)
        cupy_release_all(c);
    else
        cupy_release_arena(c, (uint16_t)stream);
}

/* ---- requests ---- */

static bool cupy_passes_limit(const struct cupy *c, uint64_t bytes)
{
    return bytes > c->limit_bytes || c->heap.held_bytes > c->limit_bytes - bytes;
}

/* Takes a device block of exactly `bytes`, giving back what is idle if the limit or the device wants it. */
static enum err cupy_obtain(struct cupy *c, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    if (bytes > c->limit_bytes)
        return ERR_DEVICE_OOM;
    if (cupy_passes_limit(c, bytes))
        cupy_release_all(c);
    if (cupy_passes_limit(c, bytes))
        return ERR_DEVICE_OOM;
    enum err e = ERR_DEVICE_OOM;
    for (int attempt = 0; attempt < CUPY_ATTEMPTS && e == ERR_DEVICE_OOM; attempt++) {
        if (attempt == 1)
            cupy_release_all(c);            /* before the third attempt CuPy only collects Python's garbage */
        c->base.count.retries += attempt == 1;
        e = heap_grow(&c->heap, bytes, stream, out);
    }
    return e;
}

static enum err cupy_grow(struct cupy *c, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    cupy_count_chunk(c, stream);             /* an arena that is asked does not disappear meanwhile */
    const enum err e = cupy_obtain(c, bytes, stream, out);
    if (e != ERR_OK) {
        cupy_drop_chunk(c, stream);
        return e;
    }
    heap_at(&c->heap, *out)->tie = c->next_object++;
    c->base.count.misses++;
    return ERR_OK;
}

static struct tie_kind cupy_ties(struct cupy *c)
{
    return (struct tie_kind){.has_numbers = true, .next_number = &c->next_object};
}

/* Takes the front of a free chunk. */
static void cupy_hit(struct cupy *c, uint32_t b, uint64_t bytes)
{
    c->base.count.hits++;
    cupy_remove(c, b);
    if (heap_at(&c->heap, b)->size == bytes)
        return;
    cupy_insert(c, block_split_back(&c->heap.blocks, b, heap_at(&c->heap, b)->size - bytes, cupy_ties(c)));
    cupy_count_chunk(c, heap_at(&c->heap, b)->stream);
    c->base.count.splits++;
}

static enum err cupy_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct cupy *c = (struct cupy *)p;
    if (req->bytes > UINT64_MAX - CUPY_UNIT)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = align_up(req->bytes, CUPY_UNIT);
    enum err e = block_table_reserve(&c->heap.blocks, 1);
    if (e == ERR_OK && free_set_bins(&c->free, req->stream) == NULL)
        e = free_set_add_stream(&c->free, req->stream);
    if (e != ERR_OK)
        return e;
    uint32_t b = free_set_at_least(&c->free, req->stream, bytes);
    if (b != BLOCK_NONE)
        cupy_hit(c, b, bytes);
    else if ((e = cupy_grow(c, bytes, req->stream, &b)) != ERR_OK)
        return e;
    heap_take(&c->heap, b, req->bytes, out);
    return ERR_OK;
}

/* `low` swallows its upper neighbour, and keeps its object. */
static void cupy_merge(struct cupy *c, uint32_t low)
{
    cupy_drop_chunk(c, heap_at(&c->heap, low)->stream);
    heap_swallow(&c->heap, low, false, true);
    c->base.count.coalesces++;
}

static void cupy_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct cupy *c = (struct cupy *)p;
    struct block_entry *at = c->heap.blocks.at;
    uint32_t b = block->cookie;
    (void)req;                               /* whatever stream frees it, the chunk returns to where it came from */
    heap_free(&c->heap, b);
    if (block_is_idle(&c->heap.blocks, at[b].next)) {
        cupy_remove(c, at[b].next);
        cupy_merge(c, b);
    }
    if (block_is_idle(&c->heap.blocks, at[b].prev)) {
        b = at[b].prev;
        cupy_remove(c, b);
        cupy_merge(c, b);
    }
    cupy_insert(c, b);
}

/* ---- reports ---- */

static enum err cupy_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct cupy *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t cupy_largest_free(const struct policy *p)
{
    const struct cupy *c = (const struct cupy *)p;
    return upstream_largest_free(&c->upstream, free_set_largest(&c->free));
}

static void cupy_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct cupy *c = (const struct cupy *)p;
    const struct own_stat own[] = {
        {"free_bytes", c->free_bytes},
        {"n_free_blocks", c->n_free},
        {"total_bytes", c->heap.held_bytes},
        {"used_bytes", c->heap.held_bytes - c->free_bytes},
    };
    upstream_stats(&c->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static void cupy_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "cupy: of free chunks of one size the one whose object was made first is taken; in a real process the order "
          "is that of Python's object ids");
}

static enum err cupy_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct cupy *)p)->heap, "cupy", err);
}

const struct policy_ops policy_cupy = {
    POLICY_HEAD,
    .name = "cupy",
    .summary = "CuPy's memory pool: best fit per stream, exact splits (cupy 14.2, cupy/cuda/memory.pyx)",
    .options = cupy_options,
    .create = cupy_create,   .destroy = cupy_destroy,
    .alloc = cupy_alloc,     .free = cupy_free,
    .flush = cupy_flush,     .walk = cupy_walk,       .largest_free = cupy_largest_free,
    .stats = cupy_stats,     .remarks = cupy_remarks, .check = cupy_check,
};
