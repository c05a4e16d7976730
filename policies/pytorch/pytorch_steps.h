/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The steps that requests and frees are made of: rounding, splitting, coalescing, giving up.
 *
 * They are inline because the hot pair is made of them: as calls they cost it a tenth more instructions.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_STEPS_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_STEPS_H

#include "base/units.h"
#include "policies/parts/split_coalesce.h"
#include "policies/pytorch/pytorch.h"

/* ---- sizes ---- */

#define NPU_PAD         UINT64_C(32)            /* torch_npu adds this to every request */
#define NPU_START       (UINT64_C(16) << 10)    /* and starts blocks in ranges at multiples of it, if they have 2 MiB or
                                                 * more */
#define NPU_START_MIN   (UINT64_C(2) << 20)

/* Bytes that stay free before a request of S bytes in block b: 0 except in torch_npu. */
static inline uint64_t pytorch_gap(const struct pytorch *p, const struct block_entry *b, uint64_t S)
{
    if (!p->rules.is_npu || !(b->flags & BLOCK_IS_RANGE) || S < NPU_START_MIN)
        return 0;
    return align_up(b->addr, NPU_START) - b->addr;
}

/* The size of the block that serves a request of n (> 0) bytes. */
static inline uint64_t pytorch_round(const struct pytorch *p, uint64_t n)
{
    if (n <= p->rounds_to_units)
        return align_up(n, TORCH_MIN_BLOCK);
    return pytorch_round_by_plan(p, n);
}

/* ---- blocks ---- */

/*
 * Ties, by release (policies/parts/split_coalesce.h says what they are for):
 *     ties_by_address    the block's address
 *     ties_by_block      the number of the block object: the oldest object is taken
 *     ties_by_segment    a place on a line on which each segment comes after all older ones, so that the oldest segment
 *                        is taken, and in it the lowest address
 */

static inline struct tie_kind pytorch_ties(struct pytorch *p)
{
    return (struct tie_kind){.has_numbers = p->rules.ties_by_block, .next_number = &p->next_place};
}

static inline uint32_t pytorch_split_front(struct pytorch *p, uint32_t b, uint64_t size)
{
    return block_split_front(&p->blocks, b, size, pytorch_ties(p));
}

static inline uint32_t pytorch_split_back(struct pytorch *p, uint32_t b, uint64_t size)
{
    return block_split_back(&p->blocks, b, size, pytorch_ties(p));
}

/* The home of free blocks of this half and stream. */
static inline struct pytorch_home pytorch_home(struct pytorch_half *half, uint16_t stream)
{
    return (struct pytorch_home){.half = half, .bins = free_set_bins(&half->free, stream)};
}

static inline struct pytorch_home pytorch_home_of(const struct pytorch *p, const struct block_entry *b)
{
    return pytorch_home(pytorch_half_of(p, b), b->stream);
}

/* ---- what could be given back ---- */

/* A whole block became free: the newest of its half. */
static inline void pytorch_idle_add(struct pytorch *p, struct pytorch_half *half, uint32_t b)
{
    struct pytorch_idle *idle = &half->idle;
    const struct block_entry *block = pytorch_at(p, b);
    struct pytorch_segment *segment = &p->segments[block->segment];
    segment->free_since = half->fit_calls;
    idle->free_since += half->fit_calls;
    idle->n++;
    if (block->flags & BLOCK_IS_RANGE)
        return;
    segment->older = idle->newest;
    segment->newer = BLOCK_NONE;
    *(idle->newest == BLOCK_NONE ? &idle->oldest : &p->segments[pytorch_at(p, idle->newest)->segment].newer) = b;
    idle->newest = b;
}

/* A whole free block leaves its set. */
static inline void pytorch_idle_remove(struct pytorch *p, struct pytorch_half *half, uint32_t b)
{
    struct pytorch_idle *idle = &half->idle;
    const struct block_entry *block = pytorch_at(p, b);
    const struct pytorch_segment s = p->segments[block->segment];
    idle->free_since -= s.free_since;
    idle->n--;
    if (block->flags & BLOCK_IS_RANGE)
        return;
    *(s.older == BLOCK_NONE ? &idle->oldest : &p->segments[pytorch_at(p, s.older)->segment].newer) = s.newer;
    *(s.newer == BLOCK_NONE ? &idle->newest : &p->segments[pytorch_at(p, s.newer)->segment].older) = s.older;
}

/* Puts a free, mapped block into its set. */
static inline void pytorch_take_home(struct pytorch *p, struct pytorch_home home, uint32_t b)
{
    const struct block_entry *block = pytorch_at(p, b);
    if (!block_is_split(block))
        pytorch_idle_add(p, home.half, b);
    free_bins_insert(home.bins, p->blocks.at, b);
}

/* Takes a free, mapped block out of its set. Neighbours that are swallowed are never whole, and need only leave the
 * bins. */
static inline void pytorch_leave_home(struct pytorch *p, struct pytorch_home home, uint32_t b)
{
    if (!block_is_split(pytorch_at(p, b)))
        pytorch_idle_remove(p, home.half, b);
    free_bins_remove(home.bins, p->blocks.at, b);
}

static inline void pytorch_put_free(struct pytorch *p, uint32_t b)
{
    pytorch_take_home(p, pytorch_home_of(p, pytorch_at(p, b)), b);
}

/* ---- coalescing ---- */

static inline void pytorch_swallow(struct pytorch *p, uint32_t b, bool is_front)
{
    block_swallow(&p->blocks, b, is_front, p->rules.ties_by_block);
    p->base.count.coalesces++;
}

/* A block with memory, in no set, swallows its idle neighbours. Returns how many; *won: the bytes gained. */
static inline int pytorch_coalesce(struct pytorch *p, struct pytorch_home home, uint32_t b, uint64_t *won)
{
    return block_coalesce(&p->blocks, home.bins, b, p->rules.ties_by_block, won, &p->base.count.coalesces);
}

/* ---- the beginning and the end of a request ---- */

/* Fills in the sizes and the home of an attempt, and makes room for the blocks it can make. `pool`:
 * pytorch_choose_pool's answer. */
static inline enum err pytorch_attempt_begin(struct pytorch *p, const struct event *req, uint8_t pool,
                                             struct pytorch_attempt *a)
{
    /* one by one: a literal would be built in memory, and the hot path needs only registers */
    a->S = pytorch_round(p, req->bytes);
    a->G = 0;
    a->stream = req->stream;
    a->pool = pool;
    a->class = a->S <= p->small_max ? CLASS_SMALL : CLASS_LARGE;
    a->is_rejected = false;
    a->failure = ERR_OK;
    a->is_borrowed = false;
    enum err e = block_table_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS);
    if (e == ERR_OK && a->pool != 0 && !p->pools[a->pool].exists)
        e = pytorch_pool_open(p, a->pool, 0);
    if (e != ERR_OK)                             /* the pool may have no bins: its home is not asked for */
        return e;
    struct pytorch_half *half = pytorch_half(p, a->pool, a->class);
    a->home = pytorch_home(half, a->stream);
    if (a->home.bins == NULL && (e = pytorch_add_stream(p, half, a->stream)) == ERR_OK)
        a->home = pytorch_home(half, a->stream);
    return e;
}

/* The program gives up a block that no stream uses any more: counters and record. */
static inline void pytorch_request_free(struct pytorch *p, uint32_t b)
{
    struct block_entry *block = pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(block);
    block->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    pytorch_stats_give_up(&p->stats, c, block->size);
    pytorch_record(p, RECORD_FREE_REQUESTED, block->stream, block->pool, block->addr, block->requested);
    if (block->size >= p->settings.max_split_size)
        pytorch_stat_subtract(&p->stats.oversize_allocations, CLASS_LARGE, 1);
}

/* The same for a block that stays in use for a while. */
static inline void pytorch_request_late_free(struct pytorch *p, uint32_t b)
{
    pytorch_stats_wait(&p->stats);
    pytorch_request_free(p, b);
}

#endif
