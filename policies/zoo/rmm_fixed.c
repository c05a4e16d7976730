/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* rmm-fixed, as a policy and as a bin: rmm_fixed.h. */
#include "policies/zoo/rmm_fixed.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

/* ---- lists ---- */

static void rmm_fixed_push(struct rmm_fixed_bin *f, uint16_t stream, uint32_t b)
{
    struct rmm_fixed_list *list = &f->lists[stream];
    heap_at(&f->heap, b)->stream = stream;
    heap_at(&f->heap, b)->right = BLOCK_NONE;
    if (list->first == BLOCK_NONE) {
        list->first = b;
        max_tree_put(&f->filled, f->streams.place[stream], 1);
    } else {
        heap_at(&f->heap, list->last)->right = b;
    }
    list->last = b;
    f->n_free++;
}

static uint32_t rmm_fixed_pop(struct rmm_fixed_bin *f, uint16_t stream)
{
    struct rmm_fixed_list *list = &f->lists[stream];
    const uint32_t b = list->first;
    if (b != BLOCK_NONE) {
        list->first = heap_at(&f->heap, b)->right;
        f->n_free--;
        if (list->first == BLOCK_NONE)
            max_tree_put(&f->filled, f->streams.place[stream], 0);
    }
    return b;
}

/* The oldest block of the first list that has one. */
static uint32_t rmm_fixed_pop_elsewhere(struct rmm_fixed_bin *f)
{
    const uint32_t place = rmm_streams_next(&f->streams, &f->filled, MAX_TREE_NONE);
    if (place == MAX_TREE_NONE)
        return BLOCK_NONE;
    device_wait_event(f->heap.upstream->device);
    return rmm_fixed_pop(f, f->streams.seen[place]);
}

/* RMM then takes over the other lists. They are empty, but it waits for their streams all the same. */
static void rmm_fixed_take_over(struct rmm_fixed_bin *f, uint16_t stream)
{
    struct rmm_streams *s = &f->streams;
    for (uint32_t i = MAX_TREE_NONE; (i = rmm_streams_next(s, &s->listed, i)) != MAX_TREE_NONE;) {
        if (s->seen[i] == stream)
            continue;
        device_wait_event(f->heap.upstream->device);
        max_tree_put(&s->listed, i, 0);
    }
}

/* Takes a piece more, and puts its blocks into the list of a stream. */
static enum err rmm_fixed_grow(struct rmm_fixed_bin *f, uint16_t stream)
{
    uint32_t rest;
    enum err e = block_table_reserve(&f->heap.blocks, f->count + 3);
    if (e == ERR_OK)
        e = heap_grow(&f->heap, f->block_bytes * f->count, stream, &rest);
    if (e != ERR_OK)
        return e;
    for (uint32_t i = 1; i < f->count; i++)
        rmm_fixed_push(f, stream, block_split_front(&f->heap.blocks, rest, f->block_bytes,
                                                    (struct tie_kind){.has_numbers = false}));
    rmm_fixed_push(f, stream, rest);
    return ERR_OK;
}

/* ---- a bin ---- */

enum err rmm_fixed_bin_open(struct rmm_fixed_bin *f, const struct policy_config *cfg, int order,
                            struct upstream *upstream, uint64_t block_bytes, uint32_t count, struct err_detail *err)
{
    *f = (struct rmm_fixed_bin){.block_bytes = align_up(block_bytes, RMM_FIXED_UNIT), .count = count};
    enum err e = rmm_streams_open(&f->streams, cfg, order, err);
    f->lists = calloc(cfg->n_streams, sizeof *f->lists);
    if (e == ERR_OK)
        e = f->lists == NULL ? ERR_HOST_NOMEM : max_tree_open(&f->filled, cfg->n_streams);
    if (e == ERR_OK)
        e = heap_open(&f->heap, upstream, 0);
    if (e == ERR_OK && f->block_bytes > UINT64_MAX / count)
        e = ERR_DEVICE_OOM;
    if (e != ERR_OK)
        return e;
    rmm_streams_see(&f->streams, 0);
    return rmm_fixed_grow(f, 0);
}

void rmm_fixed_bin_close(struct rmm_fixed_bin *f)
{
    heap_close(&f->heap);
    rmm_streams_close(&f->streams);
    max_tree_close(&f->filled);
    free(f->lists);
}

enum err rmm_fixed_bin_alloc(struct rmm_fixed_bin *f, const struct event *req, struct policy_counters *count,
                             struct block *out)
{
    rmm_streams_see(&f->streams, req->stream);
    uint32_t b = rmm_fixed_pop(f, req->stream);
    if (b == BLOCK_NONE)
        b = rmm_fixed_pop_elsewhere(f);
    if (b != BLOCK_NONE) {
        count->hits++;
    } else {
        rmm_fixed_take_over(f, req->stream);
        const enum err e = rmm_fixed_grow(f, req->stream);
        if (e != ERR_OK)
            return e;
        count->misses++;
        b = rmm_fixed_pop(f, req->stream);
    }
    heap_take(&f->heap, b, req->bytes, out);
    return ERR_OK;
}

void rmm_fixed_bin_free(struct rmm_fixed_bin *f, const struct event *req, const struct block *b)
{
    rmm_streams_see(&f->streams, req->stream);
    heap_free(&f->heap, b->cookie);
    rmm_fixed_push(f, req->stream, b->cookie);
}

/* ---- the policy ---- */

struct rmm_fixed {
    struct policy        base;              /* first, so the two pointers convert */
    struct upstream      upstream;
    struct rmm_fixed_bin bin;
};

enum { RMM_FIXED_BLOCK, RMM_FIXED_BLOCKS, RMM_FIXED_ORDER, RMM_FIXED_UPSTREAM };

static const struct policy_option rmm_fixed_options[] = {
    [RMM_FIXED_BLOCK] = {"block", OPTION_BYTES, 1, TIB, "1MiB", "bytes",
                         "the size of all blocks; larger requests are refused (block_size)"},
    [RMM_FIXED_BLOCKS] = {"count", OPTION_NUMBER, 1, 1 << 24, "128", "blocks",
                          "taken at the start and whenever none is left (blocks_to_preallocate)"},
    [RMM_FIXED_ORDER] = RMM_ORDER_OPTION,
    [RMM_FIXED_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void rmm_fixed_destroy(struct policy *p)
{
    struct rmm_fixed *f = (struct rmm_fixed *)p;
    rmm_fixed_bin_close(&f->bin);
    upstream_close(&f->upstream);
    free(f);
}

static enum err rmm_fixed_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct rmm_fixed *f = calloc(1, sizeof *f);
    if (f == NULL)
        return err_no_memory(err);
    enum err e = upstream_open(&f->upstream, cfg, &cfg->values[RMM_FIXED_UPSTREAM], err);
    if (e == ERR_OK)
        e = rmm_fixed_bin_open(&f->bin, cfg, RMM_FIXED_ORDER, &f->upstream, cfg->values[RMM_FIXED_BLOCK].number,
                               (uint32_t)cfg->values[RMM_FIXED_BLOCKS].number, err);
    if (e != ERR_OK)
        rmm_fixed_destroy(&f->base);
    else
        *out = &f->base;
    return e;
}

static enum err rmm_fixed_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct rmm_fixed *f = (struct rmm_fixed *)p;
    return req->bytes > f->bin.block_bytes ? ERR_DEVICE_OOM : rmm_fixed_bin_alloc(&f->bin, req, &p->count, out);
}

static void rmm_fixed_free(struct policy *p, const struct event *req, const struct block *b)
{
    rmm_fixed_bin_free(&((struct rmm_fixed *)p)->bin, req, b);
}

static enum err rmm_fixed_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct rmm_fixed *)p)->bin.heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t rmm_fixed_largest_free(const struct policy *p)
{
    const struct rmm_fixed *f = (const struct rmm_fixed *)p;
    return upstream_largest_free(&f->upstream, f->bin.n_free > 0 ? f->bin.block_bytes : 0);
}

static void rmm_fixed_stats(const struct policy *p, stat_visit visit, void *arg)
{
    upstream_stats(&((const struct rmm_fixed *)p)->upstream, NULL, 0, visit, arg);
}

static enum err rmm_fixed_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct rmm_fixed *)p)->bin.heap, "rmm-fixed", err);
}

const struct policy_ops policy_rmm_fixed = {
    POLICY_HEAD,
    .name = "rmm-fixed",
    .summary = "RMM's blocks of one size; larger requests are refused (rmm 26.10, fixed_size_memory_resource)",
    .options = rmm_fixed_options,
    .create = rmm_fixed_create, .destroy = rmm_fixed_destroy,
    .alloc = rmm_fixed_alloc,   .free = rmm_fixed_free,
    .walk = rmm_fixed_walk,     .largest_free = rmm_fixed_largest_free,
    .stats = rmm_fixed_stats,   .check = rmm_fixed_check,
};
