/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Giving memory back to the device: by age (garbage collection), by size (oversize blocks), or everything.
 *
 * Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp: garbage_collect_cached_blocks, release_available_cached_blocks,
 * release_cached_blocks.
 */
#include "policies/pytorch/pytorch.h"

#include "base/units.h"

#include <stdlib.h>

void pytorch_give_back_segment(struct pytorch *p, uint32_t b)
{
    const struct block_entry block = *pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(&block);
    p->stats.num_device_free++;
    pytorch_record(p, RECORD_SEGMENT_FREE, block.stream, block.pool, block.addr, block.size);
    free_set_remove(&pytorch_half_of(p, &block)->free, b);
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

/* ---- by age ---- */

/* Sum of the ages of the whole free segments, and their number. */
struct ages {
    uint64_t sum, count;
};

/* The age of a whole free segment: searches since it became free. */
static uint64_t gc_age(const struct pytorch *p, const struct pytorch_half *half, const struct block_entry *b)
{
    return half->fit_calls - p->segments[b->segment].free_since;
}

static struct ages gc_ages(const struct pytorch *p, const struct pytorch_half *half)
{
    struct ages a = {0};
    for (uint32_t b = free_set_first(&half->free); b != BLOCK_NONE; b = free_set_next(&half->free, b)) {
        if (block_is_split(pytorch_at(p, b)))
            continue;
        a.sum += gc_age(p, half, pytorch_at(p, b));
        a.count++;
    }
    return a;
}

/* One pass: gives back every whole segment that is at least as old as the average at the pass's start. Returns the
 * bytes. */
static uint64_t gc_pass(struct pytorch *p, struct pytorch_half *half, struct ages *a)
{
    const double average = (double)a->sum / (double)a->count;
    uint64_t given_back = 0;
    uint32_t next;
    for (uint32_t b = free_set_first(&half->free); b != BLOCK_NONE; b = next) {
        next = free_set_next(&half->free, b);
        const struct block_entry *block = pytorch_at(p, b);
        const uint64_t age = gc_age(p, half, block);
        if (block_is_split(block) || block->flags & BLOCK_IS_RANGE || (double)age < average)
            continue;
        given_back += block->size;
        a->sum -= age;
        a->count--;
        p->base.count.collected++;
        pytorch_give_back_segment(p, b);
    }
    return given_back;
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
    struct ages ages = gc_ages(p, half);
    uint64_t reclaimed = 0, given_back = 1;
    while (reclaimed < target && given_back > 0 && ages.count > 0) {
        given_back = gc_pass(p, half, &ages);
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

/* ---- all of it ---- */

/* Gives back whole segments at once, in the set's order, then the memory of expandable segments, in the same order. */
static void give_back_half(struct pytorch *p, struct pytorch_half *half)
{
    uint32_t next, n_ranges = 0;
    for (uint32_t b = free_set_first(&half->free); b != BLOCK_NONE; b = next) {
        next = free_set_next(&half->free, b);
        if (pytorch_at(p, b)->flags & BLOCK_IS_RANGE)
            n_ranges++;
        else if (!block_is_split(pytorch_at(p, b)))
            pytorch_give_back_segment(p, b);
    }
    if (n_ranges == 0)
        return;
    uint32_t *to_unmap = malloc(n_ranges * sizeof *to_unmap);
    if (to_unmap == NULL) {
        p->base.failure = ERR_HOST_NOMEM;
        return;
    }
    uint32_t n = 0;
    for (uint32_t b = free_set_first(&half->free); b != BLOCK_NONE; b = free_set_next(&half->free, b))
        if (pytorch_at(p, b)->flags & BLOCK_IS_RANGE)
            to_unmap[n++] = b;
    for (uint32_t i = 0; i < n; i++)
        pytorch_unmap(p, to_unmap[i]);
    free(to_unmap);
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
