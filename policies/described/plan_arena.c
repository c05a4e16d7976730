/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/plan_arena.h"

/* `pool` of a block, if the arena keeps streams apart: whether a stream has used it. */
enum { ARENA_UNUSED, ARENA_USED };

static const struct tie_kind arena_places = {.has_numbers = false};

enum err plan_arena_open(struct plan_arena *a, struct upstream *upstream, bool keeps_streams)
{
    *a = (struct plan_arena){.keeps_streams = keeps_streams};
    const enum err e = heap_open(&a->heap, upstream, 0);
    a->heap.order = HEAP_BY_AGE;                 /* one piece: a place is an offset */
    return e == ERR_OK ? first_fit_open(&a->free, &a->heap.blocks, 1, 1) : e;     /* offsets need not be rounded */
}

void plan_arena_close(struct plan_arena *a)
{
    first_fit_close(&a->free);
    heap_close(&a->heap);
}

enum err plan_arena_fill(struct plan_arena *a, uint64_t bytes)
{
    uint32_t b;
    if (bytes == 0)
        return ERR_OK;
    const enum err e = heap_grow(&a->heap, bytes, 0, &b);
    if (e != ERR_OK)
        return e;
    a->bytes = bytes;
    a->addr = heap_at(&a->heap, b)->addr;
    first_fit_insert(&a->free, &a->root, b);
    return ERR_OK;
}

enum err plan_arena_reserve(struct plan_arena *a)
{
    const enum err e = block_table_reserve(&a->heap.blocks, 2);
    return e == ERR_OK ? first_fit_reserve(&a->free) : e;
}

static uint64_t end_of(const struct plan_arena *a, uint32_t b)
{
    return heap_at(&a->heap, b)->tie + heap_at(&a->heap, b)->size;
}

/* Whether a stream may take a block, which may be BLOCK_NONE. */
static bool may_take(const struct plan_arena *a, uint32_t b, uint16_t stream)
{
    const struct block_entry *e = heap_at(&a->heap, b);
    return block_is_idle(&a->heap.blocks, b) &&
           (!a->keeps_streams || e->pool == ARENA_UNUSED || e->stream == stream);
}

/* The free block that a place begins in, if the stream may take all blocks that the place touches. */
static uint32_t first_of_place(const struct plan_arena *a, uint64_t offset, uint64_t end, uint16_t stream)
{
    const uint32_t first = first_fit_holding(&a->free, a->root, offset);
    uint32_t b = first;
    while (b != BLOCK_NONE && may_take(a, b, stream) && end_of(a, b) < end)
        b = heap_at(&a->heap, b)->next;
    return b != BLOCK_NONE && may_take(a, b, stream) ? first : BLOCK_NONE;
}

/* Cuts what lies behind `end` off a block in no set; it stays free. */
static void cut_back(struct plan_arena *a, uint32_t b, uint64_t end)
{
    if (end_of(a, b) > end)
        first_fit_insert(&a->free, &a->root, block_split_back(&a->heap.blocks, b, end_of(a, b) - end, arena_places));
}

uint32_t plan_arena_take(struct plan_arena *a, uint64_t offset, uint64_t bytes, uint16_t stream)
{
    struct block_table *t = &a->heap.blocks;
    const uint64_t end = offset + bytes;
    const uint32_t b = first_of_place(a, offset, end, stream);
    if (b == BLOCK_NONE)
        return BLOCK_NONE;
    first_fit_remove(&a->free, &a->root, b);
    if (t->at[b].tie < offset)
        first_fit_insert(&a->free, &a->root, block_split_front(t, b, offset - t->at[b].tie, arena_places));
    cut_back(a, b, end);
    while (end_of(a, b) < end) {
        first_fit_remove(&a->free, &a->root, t->at[b].next);
        cut_back(a, t->at[b].next, end);
        heap_swallow(&a->heap, b, false, false);
    }
    t->at[b].stream = stream;
    t->at[b].pool = a->keeps_streams ? ARENA_USED : ARENA_UNUSED;
    return b;
}

/* Whether two free neighbours are one block. */
static bool may_join(const struct plan_arena *a, uint32_t b, uint32_t neighbour)
{
    const struct block_entry *x = heap_at(&a->heap, b), *y = heap_at(&a->heap, neighbour);
    return block_is_idle(&a->heap.blocks, neighbour) &&
           (!a->keeps_streams || (x->pool == y->pool && x->stream == y->stream));
}

void plan_arena_give(struct plan_arena *a, uint32_t b)
{
    const struct block_table *t = &a->heap.blocks;
    heap_free(&a->heap, b);
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? t->at[b].prev : t->at[b].next;
        if (!may_join(a, b, neighbour))
            continue;
        first_fit_remove(&a->free, &a->root, neighbour);
        heap_swallow(&a->heap, b, is_front != 0, false);
    }
    first_fit_insert(&a->free, &a->root, b);
}

enum err plan_arena_check(const struct plan_arena *a, const char *policy, struct err_detail *err)
{
    const enum err e = heap_check(&a->heap, policy, err);
    if (e == ERR_OK && !first_fit_is_sound(&a->free, a->root))
        return err_at(err, ERR_CORRUPT, 0, policy, "the arena's free blocks are not in order");
    return e;
}
