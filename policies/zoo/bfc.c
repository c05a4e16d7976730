/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Chunks and regions: bfc.h. Sources: xla/tsl/framework/bfc_allocator.cc, onnxruntime/core/framework/bfc_arena.cc. */
#include "policies/zoo/bfc.h"

#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

enum err bfc_open(struct bfc *f, const struct policy_config *cfg, struct upstream *upstream)
{
    enum err e = heap_open(&f->heap, upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = free_set_open(&f->free, &f->heap.blocks, NULL, 1);
    return e == ERR_OK ? free_set_add_stream(&f->free, 0) : e;
}

void bfc_close(struct bfc *f)
{
    free_set_close(&f->free);
    heap_close(&f->heap);
}

bool bfc_round(uint64_t requested, uint64_t *bytes)
{
    if (requested > INT64_MAX)
        return false;
    *bytes = align_up(requested, BFC_UNIT);
    return true;
}

bool bfc_raise_step(struct bfc *f, uint64_t bytes)
{
    const bool is_raised = bytes > f->step_bytes;
    while (bytes > f->step_bytes)
        f->step_bytes *= 2;                     /* bytes <= 2^63 */
    return is_raised;
}

uint64_t bfc_room(const struct bfc *f)
{
    const uint64_t room = f->heap.held_bytes > f->limit_bytes ? 0 : f->limit_bytes - f->heap.held_bytes;
    return room - room % BFC_UNIT;
}

uint64_t bfc_backpedal(uint64_t bytes)
{
    const uint64_t less = align_up((uint64_t)((float)bytes * 0.9f), BFC_UNIT);
    return less < bytes ? less : bytes - BFC_UNIT;
}

enum err bfc_add_region(struct bfc *f, uint64_t bytes, uint32_t *out)
{
    return heap_grow(&f->heap, bytes, 0, out);
}

bool bfc_take(struct bfc *f, uint64_t bytes, uint64_t requested, struct policy_counters *count, struct block *out)
{
    const uint32_t b = free_set_at_least(&f->free, 0, bytes);
    if (b == BLOCK_NONE)
        return false;
    free_set_remove(&f->free, b);
    const uint64_t size = heap_at(&f->heap, b)->size;
    if (size > bytes && (size - bytes >= bytes || size - bytes >= f->slack_bytes)) {
        const struct tie_kind places = {.has_numbers = false};
        free_set_insert(&f->free, block_split_back(&f->heap.blocks, b, size - bytes, places));
        count->splits++;
    }
    heap_take(&f->heap, b, requested, out);
    return true;
}

void bfc_free(struct bfc *f, uint32_t chunk, struct policy_counters *count)
{
    uint64_t won;
    heap_free(&f->heap, chunk);
    block_coalesce(&f->heap.blocks, free_set_bins(&f->free, 0), chunk, false, &won, &count->coalesces);
    free_set_insert(&f->free, chunk);
}

void bfc_give_back(struct bfc *f, uint32_t chunk)
{
    free_set_remove(&f->free, chunk);
    heap_give_back(&f->heap, chunk);
}

enum err bfc_walk(const struct bfc *f, block_visit visit, void *arg)
{
    const struct heap *heap = &f->heap;
    return heaps_walk(&heap, 1, visit, arg);
}
