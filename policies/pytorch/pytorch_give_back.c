/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Giving memory back to the device: by age (garbage collection), by size (oversize blocks), or everything.
 *
 * Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp: garbage_collect_cached_blocks, release_available_cached_blocks,
 * release_cached_blocks.
 */
#include "policies/pytorch/pytorch_steps.h"

#include <stdlib.h>

void pytorch_give_back_segment(struct pytorch *p, uint32_t b)
{
    const struct block_entry block = *pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(&block);
    p->stats.num_device_free++;
    pytorch_record(p, RECORD_SEGMENT_FREE, block.stream, block.pool, block.addr, block.size);
    pytorch_leave_home(p, pytorch_home_of(p, &block), b);
    device_segment_free(p->base.device,
                        &(struct segment){.addr = block.addr, .bytes = block.size, .id = block.segment});
    pytorch_unhold(p, block.pool, c, block.size);
    if (block.pool != 0)
        p->pools[block.pool].device_allocs--;
    pytorch_stat_subtract(&p->stats.segment, c, 1);
    if (block.size >= p->settings.max_split_size)
        pytorch_stat_subtract(&p->stats.oversize_segments, CLASS_LARGE, 1);
    block_table_drop(&p->blocks, b);
}

/* ---- whole segments ---- */

/* Searches since a whole block became free. */
static uint64_t gc_age(const struct pytorch *p, const struct pytorch_half *half, uint32_t b)
{
    return half->fit_calls - p->segments[pytorch_at(p, b)->segment].free_since;
}

static uint32_t newer_than(const struct pytorch *p, uint32_t b)
{
    return p->segments[pytorch_at(p, b)->segment].newer;
}

/* The whole free segments that are at least that old, in the set's order; *n of them. NULL if there are none, or the
 * host has no memory. */
static uint32_t *older_than(struct pytorch *p, const struct pytorch_half *half, double least_age, uint32_t *n)
{
    uint32_t found = 0, *old = NULL;
    uint32_t b = half->idle.oldest;
    for (; b != BLOCK_NONE && (double)gc_age(p, half, b) >= least_age; b = newer_than(p, b))
        found++;
    *n = 0;
    if (found == 0)
        return NULL;
    if ((old = malloc(found * sizeof *old)) == NULL) {
        p->base.failure = ERR_HOST_NOMEM;
        return NULL;
    }
    for (b = half->idle.oldest; *n < found; b = newer_than(p, b))
        old[(*n)++] = b;
    if (free_set_sort(&half->free, old, found) != ERR_OK)
        p->base.failure = ERR_HOST_NOMEM;
    return old;
}

/* Gives all these back. Ranges stay. Returns the bytes. */
static uint64_t give_back_older(struct pytorch *p, struct pytorch_half *half, double least_age, bool is_garbage)
{
    uint64_t given_back = 0;
    uint32_t n;
    uint32_t *old = older_than(p, half, least_age, &n);
    for (uint32_t i = 0; i < n && p->base.failure == ERR_OK; i++) {
        p->base.count.collected += is_garbage;
        given_back += pytorch_at(p, old[i])->size;
        pytorch_give_back_segment(p, old[i]);
    }
    free(old);
    return given_back;
}

/* ---- by age ---- */

/* One pass: gives back every whole segment that is at least as old as the average whole block. Returns the bytes. */
static uint64_t gc_pass(struct pytorch *p, struct pytorch_half *half)
{
    const struct pytorch_idle *idle = &half->idle;
    const uint64_t ages = idle->n * half->fit_calls - idle->free_since;
    return give_back_older(p, half, (double)ages / (double)idle->n, true);
}

uint64_t pytorch_gc_start(const struct pytorch *p)
{
    const double start = p->settings.garbage_collection_threshold * (double)p->limit;
    return pytorch_has_gc(p) ? (uint64_t)start : PYTORCH_UNLIMITED;
}

void pytorch_collect_garbage(struct pytorch *p)
{
    const uint64_t start = pytorch_gc_start(p);
    if (p->held <= start)
        return;
    const uint64_t target = p->held - start;
    struct pytorch_half *half = pytorch_half(p, 0, CLASS_LARGE);
    uint64_t reclaimed = 0, given_back = 1;
    while (reclaimed < target && given_back > 0 && half->idle.n > 0) {
        given_back = gc_pass(p, half);
        reclaimed += given_back;
    }
    p->gc_runs += reclaimed > 0;
    p->gc_bytes += reclaimed;
}

/* ---- by size ---- */

/* Whether a free block is a whole segment of its own. A block of at least max_split_size always is, or lies in a range,
 * unless the setting was larger before: then PyTorch would free a part of a segment, which fails. */
static bool is_whole_segment(const struct pytorch *p, uint32_t b)
{
    return !(pytorch_at(p, b)->flags & BLOCK_IS_RANGE) && !block_is_split(pytorch_at(p, b));
}

bool pytorch_give_back_oversize(struct pytorch *p, struct pytorch_half *half, uint64_t S, uint16_t stream)
{
    const uint64_t min = p->settings.max_split_size;
    if (min == PYTORCH_UNLIMITED)
        return false;
    const uint64_t enough = S > min ? S : min;
    uint32_t it = free_set_at_least(&half->free, stream, enough);
    if (it != BLOCK_NONE && is_whole_segment(p, it)) {
        pytorch_give_back_segment(p, it);
        return true;
    }
    /* No single block is enough: give back the largest, from the size below `enough` down. */
    it = free_set_below(&half->free, stream, enough);
    uint64_t given_back = 0;
    while (it != BLOCK_NONE && given_back < enough && pytorch_at(p, it)->size >= min &&
           pytorch_at(p, it)->stream == stream) {
        const uint32_t below = free_set_prev(&half->free, it);
        if (is_whole_segment(p, it)) {
            given_back += pytorch_at(p, it)->size;
            pytorch_give_back_segment(p, it);
        }
        it = below;
    }
    return given_back >= enough;
}

/* ---- ranges ---- */

/* The next free block in the set's order that has whole pages of a range; after BLOCK_NONE the first. It looks only at
 * blocks of a page or more, of which the card holds no more than pages. */
static uint32_t next_with_pages(const struct pytorch *p, const struct pytorch_half *half, uint32_t b)
{
    do
        b = free_set_next_large(&half->free, b, half->least_page_bytes);
    while (b != BLOCK_NONE && !pytorch_has_pages(p, pytorch_at(p, b)));
    return b;
}

/* Unmaps the whole pages in free blocks, in the set's order. */
static void give_back_pages(struct pytorch *p, struct pytorch_half *half)
{
    if (half->least_page_bytes == 0)
        return;
    uint32_t n = 0;
    for (uint32_t b = BLOCK_NONE; (b = next_with_pages(p, half, b)) != BLOCK_NONE;)
        n++;
    if (n == 0)
        return;
    uint32_t *to_unmap = malloc(n * sizeof *to_unmap);
    if (to_unmap == NULL) {
        p->base.failure = ERR_HOST_NOMEM;
        return;
    }
    n = 0;
    for (uint32_t b = BLOCK_NONE; (b = next_with_pages(p, half, b)) != BLOCK_NONE;)
        to_unmap[n++] = b;
    for (uint32_t i = 0; i < n; i++)
        pytorch_unmap(p, to_unmap[i]);
    free(to_unmap);
}

/* ---- all of it ---- */

/* Whole segments first, then the memory of expandable segments. */
static void give_back_half(struct pytorch *p, struct pytorch_half *half)
{
    give_back_older(p, half, 0, false);
    give_back_pages(p, half);
}

void pytorch_give_back_all(struct pytorch *p, uint8_t pool, bool is_capturing)
{
    if (pool == 0 && !is_capturing) {
        pytorch_wait_all(p, 0, false);
        give_back_half(p, pytorch_half(p, 0, CLASS_LARGE));
        give_back_half(p, pytorch_half(p, 0, CLASS_SMALL));
    }
    for (uint32_t i = 0; (i = order_table_from(&p->freeable, i)) != MAX_TREE_NONE;) {
        const struct order_slot slot = p->freeable.slots[i];
        if (pool != 0 && slot.value != pool) {
            i++;
            continue;
        }
        struct pytorch_pool *private = &p->pools[slot.value];
        if (pool != 0)
            pytorch_wait_all(p, pool, is_capturing);
        give_back_half(p, pytorch_half(p, slot.value, CLASS_SMALL));
        give_back_half(p, pytorch_half(p, slot.value, CLASS_LARGE));
        if (private->device_allocs == 0) {
            private->exists = false;
            order_table_remove(&p->freeable, i);
        } else {
            i++;
        }
    }
}
