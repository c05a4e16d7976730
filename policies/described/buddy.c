/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * buddy: the binary buddy system, as described in Knowlton, "A fast storage allocator", CACM 8(10), 1965, and Knuth,
 * The Art of Computer Programming, vol. 1, section 2.5.
 *
 * A request is rounded up to a power of two, at least `min`. It takes the smallest free block, of these the lowest
 * (the oldest arena's), and halves it until it fits, keeping the low half. A freed block joins its buddy, the other
 * half of the block that both were cut from, while that is free and whole. If nothing fits, the device is asked for
 * an arena, or for the rounded request if that is larger; if it refuses, arenas that are one free block are given
 * back and it is asked once more, and then for the rounded request alone.
 */
#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

struct buddy {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                   /* its pieces are the arenas */
    struct free_set free;                   /* all of stream 0; ties are places by age */
    uint64_t        min_bytes, arena_bytes; /* powers of two */
};

enum { BUDDY_HALVES = 64 };                 /* a request halves no block more often */
enum { BUDDY_MIN, BUDDY_ARENA, BUDDY_UPSTREAM };

static const struct policy_option buddy_options[] = {
    [BUDDY_MIN] = {"min", OPTION_BYTES, 1, GIB, "512", "bytes", "the smallest block, a power of two"},
    [BUDDY_ARENA] = {"arena", OPTION_BYTES, 1, 64 * TIB, "64MiB", "bytes",
                     "what the device is asked for, a power of two"},
    [BUDDY_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void buddy_destroy(struct policy *p)
{
    struct buddy *y = (struct buddy *)p;
    free_set_close(&y->free);
    heap_close(&y->heap);
    upstream_close(&y->upstream);
    free(y);
}

static enum err buddy_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    for (int i = BUDDY_MIN; i <= BUDDY_ARENA; i++)
        if (!is_power_of_two(cfg->values[i].number))
            return err_set(err, ERR_USAGE, POLICY_PLACE(i, 0), "%s is a power of two", buddy_options[i].name);
    struct buddy *y = calloc(1, sizeof *y);
    if (y == NULL)
        return err_no_memory(err);
    y->min_bytes = cfg->values[BUDDY_MIN].number;
    y->arena_bytes = cfg->values[BUDDY_ARENA].number;
    enum err e = upstream_open(&y->upstream, cfg, &cfg->values[BUDDY_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&y->heap, &y->upstream, cfg->peak_live);
    y->heap.order = HEAP_BY_AGE;
    if (e == ERR_OK)
        e = free_set_open(&y->free, &y->heap.blocks, NULL, 1);
    if (e == ERR_OK)
        e = free_set_add_stream(&y->free, 0);
    if (e != ERR_OK)
        buddy_destroy(&y->base);
    else
        *out = &y->base;
    return e;
}

static void buddy_flush(struct policy *p, uint32_t stream)
{
    struct buddy *y = (struct buddy *)p;
    uint32_t *idle;
    size_t n;
    (void)stream;
    if (heap_idle_pieces(&y->heap, HEAP_BY_AGE, &idle, &n) != ERR_OK) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        free_set_remove(&y->free, idle[i]);
        heap_give_back(&y->heap, idle[i]);
    }
    free(idle);
}

static enum err buddy_grow(struct buddy *y, uint64_t bytes, uint32_t *out)
{
    const uint64_t wanted = bytes > y->arena_bytes ? bytes : y->arena_bytes;
    enum err e = heap_grow(&y->heap, wanted, 0, out);
    if (e == ERR_DEVICE_OOM) {
        y->base.count.retries++;
        buddy_flush(&y->base, POLICY_ALL_STREAMS);
        e = heap_grow(&y->heap, wanted, 0, out);
    }
    if (e == ERR_DEVICE_OOM && bytes < wanted)
        e = heap_grow(&y->heap, bytes, 0, out);
    return e;
}

static uint64_t buddy_round(const struct buddy *y, uint64_t bytes)
{
    return bytes <= y->min_bytes ? y->min_bytes : UINT64_C(1) << (log2_floor(bytes - 1) + 1);
}

static enum err buddy_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct buddy *y = (struct buddy *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = buddy_round(y, req->bytes);
    enum err e = block_table_reserve(&y->heap.blocks, BUDDY_HALVES);
    if (e != ERR_OK)
        return e;
    uint32_t b = free_set_at_least(&y->free, 0, bytes);
    if (b != BLOCK_NONE) {
        p->count.hits++;
        free_set_remove(&y->free, b);
    } else {
        e = buddy_grow(y, bytes, &b);
        if (e == ERR_OK)
            e = block_table_reserve(&y->heap.blocks, BUDDY_HALVES);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
    }
    for (uint64_t size = heap_at(&y->heap, b)->size; size > bytes; p->count.splits++) {
        size /= 2;
        free_set_insert(&y->free, block_split_back(&y->heap.blocks, b, size, (struct tie_kind){.has_numbers = false}));
    }
    heap_take(&y->heap, b, req->bytes, out);
    return ERR_OK;
}

/* The buddy of a block if it is free and whole; *is_front: it lies before the block. */
static uint32_t buddy_of(const struct buddy *y, uint32_t b, bool *is_front)
{
    const struct block_entry *e = heap_at(&y->heap, b);
    *is_front = ((e->addr - y->heap.pieces[e->segment].from.addr) & e->size) != 0;
    const uint32_t buddy = *is_front ? e->prev : e->next;
    return block_is_idle(&y->heap.blocks, buddy) && heap_at(&y->heap, buddy)->size == e->size ? buddy : BLOCK_NONE;
}

static void buddy_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct buddy *y = (struct buddy *)p;
    const uint32_t b = block->cookie;
    bool is_front;
    (void)req;
    heap_free(&y->heap, b);
    for (uint32_t buddy; (buddy = buddy_of(y, b, &is_front)) != BLOCK_NONE; p->count.coalesces++) {
        free_set_remove(&y->free, buddy);
        heap_swallow(&y->heap, b, is_front, false);
    }
    free_set_insert(&y->free, b);
}

static enum err buddy_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct buddy *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t buddy_largest_free(const struct policy *p)
{
    const struct buddy *y = (const struct buddy *)p;
    return upstream_largest_free(&y->upstream, free_set_largest(&y->free));
}

static void buddy_stats(const struct policy *p, stat_visit visit, void *arg)
{
    upstream_stats(&((const struct buddy *)p)->upstream, NULL, 0, visit, arg);
}

static enum err buddy_check(const struct policy *p, struct err_detail *err)
{
    const struct buddy *y = (const struct buddy *)p;
    for (uint32_t b = 1; b < y->heap.blocks.n; b++) {
        const struct block_entry *e = heap_at(&y->heap, b);
        if ((e->flags & BLOCK_IS_USED) != 0 && !is_power_of_two(e->size))
            return err_set(err, ERR_CORRUPT, 0, "buddy: a block's size is not a power of two");
    }
    return heap_check(&y->heap, "buddy", err);
}

const struct policy_ops policy_buddy = {
    POLICY_HEAD,
    .name = "buddy",
    .summary = "the binary buddy system (as described: Knowlton, 1965)",
    .options = buddy_options,
    .create = buddy_create, .destroy = buddy_destroy,
    .alloc = buddy_alloc,   .free = buddy_free,
    .flush = buddy_flush,   .walk = buddy_walk,       .largest_free = buddy_largest_free,
    .stats = buddy_stats,   .check = buddy_check,
};
