/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * rmm-arena: RMM's arena_memory_resource of 26.10 (cpp/include/rmm/mr/detail/arena.hpp,
 * cpp/src/mr/detail/arena_memory_resource_impl.cpp), as released: sizes are rounded up to 256 bytes.
 *
 * One upstream block is taken at the start and never given back. It consists of superblocks, stretches of at least 1
 * MiB that belong to the global arena or to the arena of a stream:
 *
 *     [ superblock: global    ][ superblock: stream 1 ][ superblock: global ................... ]
 *     [ live ][ free ][ live  ][ live ][ free         ][ free                                   ]
 *
 * Requests above 1 MiB are served by the global arena, smaller ones by the stream's, which fetches superblocks from the
 * global one. Both take the lowest free block that fits, in the lowest superblock that has one: as superblocks do not
 * overlap, that is the lowest of the arena's free blocks. Blocks coalesce within a superblock. When nothing fits, all
 * streams hand their superblocks back, used ones too, and the request is tried once more.
 */
#include "policies/parts/first_fit.h"
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"

#include "base/array.h"
#include "base/prefetch.h"
#include "base/units.h"

#include <stdlib.h>

enum { ARENA_UNIT = 256 };
#define ARENA_SUPERBLOCK_MIN MIB             /* also the largest request that a stream's arena serves */
#define ARENA_GLOBAL UINT32_MAX              /* the owner that is no stream */

struct superblock {
    uint64_t bytes;                          /* 0: vacant */
    uint32_t first;                          /* its lowest block */
    uint32_t owner;                          /* dense stream, or ARENA_GLOBAL */
};

/* A block's `below` is the number of its superblock. */
struct rmm_arena {
    struct policy   base;                    /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                    /* one piece */
    struct superblock *superblocks;
    size_t    n_superblocks, cap_superblocks;
    uint32_t *vacant;                        /* stack of numbers to use again */
    size_t    n_vacant, cap_vacant;
    struct first_fit free;
    uint32_t  global_free;                   /* sets: of the global arena, and by stream */
    uint32_t *stream_free;
    uint32_t  n_streams;
};

enum { ARENA_SIZE, ARENA_UPSTREAM };

static const struct policy_option rmm_arena_options[] = {
    [ARENA_SIZE] = {"size", OPTION_BYTES, MIB, UINT64_MAX / 4, NULL, "bytes",
                    "what it takes at the start (arena_size); not set: half of the card's free memory"},
    [ARENA_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

/* ---- superblocks ---- */

static struct superblock *arena_superblock(const struct rmm_arena *a, uint32_t b)
{
    return &a->superblocks[heap_at(&a->heap, b)->below];
}

/* The free set of an owner. */
static uint32_t *arena_set(struct rmm_arena *a, uint32_t owner)
{
    return owner == ARENA_GLOBAL ? &a->global_free : &a->stream_free[owner];
}

static void arena_insert(struct rmm_arena *a, uint32_t b)
{
    first_fit_insert(&a->free, arena_set(a, arena_superblock(a, b)->owner), b);
}

static void arena_remove(struct rmm_arena *a, uint32_t b)
{
    first_fit_remove(&a->free, arena_set(a, arena_superblock(a, b)->owner), b);
}

/* Whether a free block is all of its superblock. */
static bool arena_is_empty(const struct rmm_arena *a, uint32_t b)
{
    return heap_at(&a->heap, b)->size == arena_superblock(a, b)->bytes;
}

/* Room for one superblock and two blocks more. */
static enum err arena_reserve(struct rmm_arena *a)
{
    struct superblock *made = array_grow(a->superblocks, a->n_superblocks, &a->cap_superblocks, sizeof *made);
    if (made == NULL)
        return ERR_HOST_NOMEM;
    a->superblocks = made;
    uint32_t *vacant = array_reserve(a->vacant, a->n_vacant, a->n_superblocks + 1, &a->cap_vacant, sizeof *vacant);
    if (vacant == NULL)
        return ERR_HOST_NOMEM;
    a->vacant = vacant;
    const enum err e = block_table_reserve(&a->heap.blocks, 2);
    return e == ERR_OK ? first_fit_reserve(&a->free) : e;
}

/* Makes a superblock that is one block, in no set. */
static void arena_make_superblock(struct rmm_arena *a, uint32_t b, uint32_t owner)
{
    const uint32_t number = a->n_vacant > 0 ? a->vacant[--a->n_vacant] : (uint32_t)a->n_superblocks++;
    a->superblocks[number] = (struct superblock){.bytes = heap_at(&a->heap, b)->size, .first = b, .owner = owner};
    heap_at(&a->heap, b)->below = number;
}

static void arena_drop_superblock(struct rmm_arena *a, uint32_t number)
{
    a->superblocks[number].bytes = 0;
    a->vacant[a->n_vacant++] = number;
}

static uint32_t arena_split_front(struct rmm_arena *a, uint32_t b, uint64_t bytes)
{
    return block_split_front(&a->heap.blocks, b, bytes, (struct tie_kind){.has_numbers = false});
}

/* Cuts the first `bytes` of an empty superblock off as a superblock of its own, whose one block, in no set, is
 * returned. */
static uint32_t arena_cut_superblock(struct rmm_arena *a, uint32_t b, uint64_t bytes)
{
    const uint32_t number = heap_at(&a->heap, b)->below;
    const uint32_t head = arena_split_front(a, b, bytes);
    a->superblocks[number].bytes -= bytes;
    a->superblocks[number].first = b;
    arena_make_superblock(a, head, a->superblocks[number].owner);
    first_fit_update(&a->free, b);
    return head;
}

/* Takes the first `bytes` of a free block, in its superblock. */
static uint32_t arena_carve(struct rmm_arena *a, uint32_t b, uint64_t bytes)
{
    if (heap_at(&a->heap, b)->size == bytes) {
        arena_remove(a, b);
        return b;
    }
    const uint32_t front = arena_split_front(a, b, bytes);
    heap_at(&a->heap, front)->below = heap_at(&a->heap, b)->below;
    if (arena_superblock(a, b)->first == b)
        arena_superblock(a, b)->first = front;
    first_fit_update(&a->free, b);
    a->base.count.splits++;
    return front;
}

/* Makes a superblock another arena's, with its live blocks. */
static void arena_move_superblock(struct rmm_arena *a, uint32_t number, uint32_t owner)
{
    struct superblock *s = &a->superblocks[number];
    const struct block_entry *at = a->heap.blocks.at;
    const uint32_t from = s->owner;
    for (uint32_t b = s->first; b != BLOCK_NONE && at[b].below == number; b = at[b].next) {
        if (!block_is_idle(&a->heap.blocks, b))
            continue;
        first_fit_remove(&a->free, arena_set(a, from), b);
        first_fit_insert(&a->free, arena_set(a, owner), b);
    }
    s->owner = owner;
}

/* An empty superblock of the global arena swallows the one next to it if that is such a one, too. `low`: its block,
 * which lies below. */
static void arena_join_superblocks(struct rmm_arena *a, uint32_t low)
{
    const uint32_t high = low == BLOCK_NONE ? BLOCK_NONE : heap_at(&a->heap, low)->next;
    if (high == BLOCK_NONE || !block_is_idle(&a->heap.blocks, low) || !block_is_idle(&a->heap.blocks, high))
        return;
    const uint32_t number = heap_at(&a->heap, low)->below, gone = heap_at(&a->heap, high)->below;
    if (number == gone || !arena_is_empty(a, low) || !arena_is_empty(a, high) ||
        a->superblocks[number].owner != ARENA_GLOBAL || a->superblocks[gone].owner != ARENA_GLOBAL)
        return;
    arena_remove(a, high);
    heap_swallow(&a->heap, low, false, false);
    a->superblocks[number].bytes = heap_at(&a->heap, low)->size;
    arena_drop_superblock(a, gone);
    first_fit_update(&a->free, low);
}

/* A superblock of the global arena may have become empty: it joins its empty neighbours. `b`: its free block. */
static void arena_settle(struct rmm_arena *a, uint32_t b)
{
    if (!arena_is_empty(a, b) || arena_superblock(a, b)->owner != ARENA_GLOBAL)
        return;
    arena_join_superblocks(a, b);
    arena_join_superblocks(a, heap_at(&a->heap, b)->prev);
}

/* All streams hand their superblocks back. */
static void arena_defragment(struct rmm_arena *a)
{
    device_sync(a->base.device);
    for (uint32_t i = 0; i < a->n_superblocks; i++)
        if (a->superblocks[i].bytes > 0 && a->superblocks[i].owner != ARENA_GLOBAL)
            arena_move_superblock(a, i, ARENA_GLOBAL);
    for (uint32_t i = 0; i < a->n_superblocks; i++) {
        const struct superblock *s = &a->superblocks[i];
        if (s->bytes > 0 && block_is_idle(&a->heap.blocks, s->first))
            arena_settle(a, s->first);
    }
}

/* ---- requests ---- */

/* A request above 1 MiB. BLOCK_NONE: nothing fits. */
static uint32_t arena_take_global(struct rmm_arena *a, uint64_t bytes)
{
    uint32_t b = first_fit_find(&a->free, a->global_free, 0, bytes);
    if (b == BLOCK_NONE)
        return BLOCK_NONE;
    if (arena_is_empty(a, b) && heap_at(&a->heap, b)->size >= bytes + ARENA_SUPERBLOCK_MIN)
        return arena_cut_superblock(a, b, bytes);
    return arena_carve(a, b, bytes);
}

/* Fetches a superblock that holds a request of `bytes` for a stream. Returns the block in it, in the stream's set. */
static uint32_t arena_fetch(struct rmm_arena *a, uint64_t bytes, uint16_t stream)
{
    uint32_t b = first_fit_find(&a->free, a->global_free, 0, bytes);
    if (b == BLOCK_NONE)
        return BLOCK_NONE;
    if (arena_is_empty(a, b) && heap_at(&a->heap, b)->size >= 2 * ARENA_SUPERBLOCK_MIN) {
        b = arena_cut_superblock(a, b, ARENA_SUPERBLOCK_MIN);
        arena_superblock(a, b)->owner = stream;
        arena_insert(a, b);
    } else {
        arena_move_superblock(a, heap_at(&a->heap, b)->below, stream);
    }
    return b;
}

/* A request of at most 1 MiB. */
static uint32_t arena_take_local(struct rmm_arena *a, uint64_t bytes, uint16_t stream)
{
    uint32_t b = first_fit_find(&a->free, a->stream_free[stream], 0, bytes);
    if (b == BLOCK_NONE)
        b = arena_fetch(a, bytes, stream);
    return b == BLOCK_NONE ? BLOCK_NONE : arena_carve(a, b, bytes);
}

static uint32_t arena_take(struct rmm_arena *a, uint64_t bytes, uint16_t stream)
{
    return bytes > ARENA_SUPERBLOCK_MIN ? arena_take_global(a, bytes) : arena_take_local(a, bytes, stream);
}

static enum err rmm_arena_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct rmm_arena *a = (struct rmm_arena *)p;
    if (req->bytes > a->heap.held_bytes)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = align_up(req->bytes, ARENA_UNIT);
    const enum err e = arena_reserve(a);
    if (e != ERR_OK)
        return e;
    uint32_t b = arena_take(a, bytes, req->stream);
    if (b == BLOCK_NONE) {
        arena_defragment(a);
        p->count.retries++;
        b = arena_take(a, bytes, req->stream);
    }
    if (b == BLOCK_NONE)
        return ERR_DEVICE_OOM;
    p->count.hits++;
    heap_take(&a->heap, b, req->bytes, out);
    return ERR_OK;
}

/* Whether a neighbour is free and in the same superblock. */
static bool arena_may_join(const struct rmm_arena *a, uint32_t b, uint32_t neighbour)
{
    return block_is_idle(&a->heap.blocks, neighbour) &&
           heap_at(&a->heap, neighbour)->below == heap_at(&a->heap, b)->below;
}

/* Puts a freed block into its set. It becomes a part of the free block before it, or of the one after it, which are
 * there already. Returns the free block. */
static uint32_t arena_coalesce(struct rmm_arena *a, uint32_t b)
{
    const uint32_t before = heap_at(&a->heap, b)->prev, after = heap_at(&a->heap, b)->next;
    const bool joins_before = arena_may_join(a, b, before), joins_after = arena_may_join(a, b, after);
    a->base.count.coalesces += (unsigned)joins_before + joins_after;
    if (!joins_before && !joins_after) {
        arena_insert(a, b);
        return b;
    }
    if (joins_before && joins_after)
        arena_remove(a, after);
    if (!joins_before && arena_superblock(a, b)->first == b)
        arena_superblock(a, b)->first = after;
    const uint32_t stays = joins_before ? before : after;
    heap_swallow(&a->heap, stays, !joins_before, false);
    if (joins_before && joins_after)
        heap_swallow(&a->heap, stays, false, false);
    first_fit_update(&a->free, stays);
    return stays;
}

/* The block that a free will touch; then its neighbours, and its superblock. */
static void rmm_arena_expect(const struct policy *p, const struct event *ev, const struct block *b, bool is_next)
{
    const struct rmm_arena *a = (const struct rmm_arena *)p;
    (void)ev;
    heap_expect(&a->heap, b, is_next);
    if (is_next && b->cookie < a->heap.blocks.n && heap_at(&a->heap, b->cookie)->below < a->n_superblocks)
        prefetch(arena_superblock(a, b->cookie));
}

static void rmm_arena_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct rmm_arena *a = (struct rmm_arena *)p;
    const uint32_t b = block->cookie, owner = arena_superblock(a, b)->owner;
    const bool is_large = block->bytes > ARENA_SUPERBLOCK_MIN;
    if (is_large)
        device_stream_sync(p->device);
    if (owner != req->stream && !(is_large && owner == ARENA_GLOBAL))       /* it is looked for in the other arenas */
        device_stream_sync(p->device);
    heap_free(&a->heap, b);
    arena_settle(a, arena_coalesce(a, b));
}

/* ---- the policy ---- */

static void rmm_arena_destroy(struct policy *p)
{
    struct rmm_arena *a = (struct rmm_arena *)p;
    heap_close(&a->heap);
    upstream_close(&a->upstream);
    first_fit_close(&a->free);
    free(a->superblocks);
    free(a->vacant);
    free(a->stream_free);
    free(a);
}

/* What to take at the start; 0: the card has no end, so there is no half of it. */
static uint64_t rmm_arena_size(const struct policy_config *cfg)
{
    uint64_t free_bytes, total_bytes, bytes = cfg->values[ARENA_SIZE].number;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    if (!cfg->values[ARENA_SIZE].is_set)
        bytes = total_bytes == DEVICE_UNLIMITED ? 0 : free_bytes / 2;
    return bytes - bytes % ARENA_UNIT;
}

static enum err rmm_arena_begin(struct rmm_arena *a, const struct policy_config *cfg, uint64_t bytes)
{
    uint32_t b;
    a->base.device = cfg->device;
    a->n_streams = cfg->n_streams;
    a->stream_free = calloc(cfg->n_streams, sizeof *a->stream_free);
    enum err e = a->stream_free == NULL ? ERR_HOST_NOMEM : ERR_OK;
    if (e == ERR_OK)
        e = heap_open(&a->heap, &a->upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = first_fit_open(&a->free, &a->heap.blocks, ARENA_UNIT, cfg->n_streams + 1);
    if (e == ERR_OK)
        e = arena_reserve(a);
    if (e == ERR_OK)
        e = heap_grow(&a->heap, bytes, 0, &b);
    if (e != ERR_OK)
        return e;
    arena_make_superblock(a, b, ARENA_GLOBAL);
    arena_insert(a, b);
    device_stream_sync(cfg->device);
    return ERR_OK;
}

static enum err rmm_arena_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const uint64_t bytes = rmm_arena_size(cfg);
    if (bytes == 0)
        return err_set(err, ERR_USAGE, 0, "rmm-arena takes half of the card's free memory at the start; on a card "
                                          "without an end say how much: rmm-arena:size=16GiB");
    if (bytes < ARENA_SUPERBLOCK_MIN)
        return ERR_DEVICE_OOM;
    struct rmm_arena *a = calloc(1, sizeof *a);
    if (a == NULL)
        return err_no_memory(err);
    enum err e = upstream_open(&a->upstream, cfg, &cfg->values[ARENA_UPSTREAM], err);
    if (e == ERR_OK)
        e = rmm_arena_begin(a, cfg, bytes);
    if (e != ERR_OK)
        rmm_arena_destroy(&a->base);
    else
        *out = &a->base;
    return e;
}

static enum err rmm_arena_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct rmm_arena *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t rmm_arena_largest_free(const struct policy *p)
{
    const struct rmm_arena *a = (const struct rmm_arena *)p;
    uint64_t largest = first_fit_largest_bytes(&a->free, a->global_free);
    for (uint32_t i = 0; i < a->n_streams; i++) {
        const uint64_t local = first_fit_largest_bytes(&a->free, a->stream_free[i]);
        largest = local > largest ? local : largest;
    }
    return upstream_largest_free(&a->upstream, largest);
}

static void rmm_arena_stats(const struct policy *p, stat_visit visit, void *arg)
{
    upstream_stats(&((const struct rmm_arena *)p)->upstream, NULL, 0, visit, arg);
}

static enum err rmm_arena_check(const struct policy *p, struct err_detail *err)
{
    const struct rmm_arena *a = (const struct rmm_arena *)p;
    uint64_t bytes = 0;
    for (size_t i = 0; i < a->n_superblocks; i++)
        bytes += a->superblocks[i].bytes;
    if (bytes != a->heap.held_bytes)
        return err_set(err, ERR_CORRUPT, 0, "rmm-arena: the superblocks do not make up the arena");
    for (uint32_t i = 0; i <= a->n_streams; i++)
        if (!first_fit_is_sound(&a->free, i < a->n_streams ? a->stream_free[i] : a->global_free))
            return err_set(err, ERR_CORRUPT, 0, "rmm-arena: the free blocks are not in order");
    return heap_check(&a->heap, "rmm-arena", err);
}

const struct policy_ops policy_rmm_arena = {
    POLICY_HEAD,
    .name = "rmm-arena",
    .summary = "RMM's arenas: one block for life, first fit by address (rmm 26.10, arena_memory_resource)",
    .options = rmm_arena_options,
    .create = rmm_arena_create, .destroy = rmm_arena_destroy,
    .alloc = rmm_arena_alloc,   .free = rmm_arena_free,
    .walk = rmm_arena_walk,     .largest_free = rmm_arena_largest_free,
    .stats = rmm_arena_stats,   .expect = rmm_arena_expect, .check = rmm_arena_check,
};
