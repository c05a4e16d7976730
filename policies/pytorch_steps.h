/*
 * The steps that the allocator's ways are made of: rounding, cutting, coalescing, giving up. They are inline because
 * the hot pair is made of them: as calls they cost it a tenth more instructions.
 */
#ifndef REPLAY_POLICIES_PYTORCH_STEPS_H
#define REPLAY_POLICIES_PYTORCH_STEPS_H

#include "base/units.h"
#include "policies/pytorch.h"

/* ---- sizes ---- */

/* Rounds up within the power of two below n, which is cut into `divisions` steps. */
static inline uint64_t round_to_division(uint64_t n, uint64_t divisions)
{
    if (is_power_of_two(n))
        return n;
    const uint64_t floor = UINT64_C(1) << log2_floor(n);
    const uint64_t step = floor >> log2_floor(divisions);
    if (step == 0)
        return floor << 1;
    const uint64_t below = n & ~(step - 1);
    return below == n ? n : below + step;
}

static inline uint64_t round_to_power_of_two(uint64_t n)
{
    if (n > UINT64_C(1) << 63)
        return UINT64_MAX & ~(PYTORCH_MIN_BLOCK - 1);
    return is_power_of_two(n) ? n : UINT64_C(2) << log2_floor(n);
}

#define NPU_PAD         UINT64_C(32)            /* torch_npu adds this to every request */
#define NPU_START       (UINT64_C(16) << 10)    /* and starts blocks in ranges at multiples of it, from 2 MiB on */
#define NPU_START_MIN   (UINT64_C(2) << 20)

/* Bytes left free in front of a request of S bytes that block b serves: 0 but for torch_npu. */
static inline uint64_t pytorch_gap(const struct pytorch *p, const struct pytorch_block *b, uint64_t S)
{
    if (!p->profile.is_npu || !(b->flags & BLOCK_IS_RANGE) || S < NPU_START_MIN)
        return 0;
    return align_up(b->addr, NPU_START) - b->addr;
}

/* The size a request of n (> 0) bytes is served with. */
static inline uint64_t pytorch_round(const struct pytorch *p, uint64_t n)
{
    if (p->profile.is_npu)
        n = add_capped(n, NPU_PAD);
    if (n < PYTORCH_MIN_BLOCK)
        return PYTORCH_MIN_BLOCK;
    if (p->rounds_to_power_of_two)
        return round_to_power_of_two(n);
    const unsigned last = PYTORCH_ROUNDUP_INTERVALS - 1;
    const unsigned interval = 43u - (unsigned)__builtin_clzll(n | UINT64_C(1) << 20);     /* log2 of the MiB, or 0 */
    const uint64_t divisions = p->settings.roundup_divisions[interval < last ? interval : last];
    const bool is_divided = divisions > 1 || (divisions == 1 && p->profile.has_raw_divisions_of_1);
    if (is_divided && n > PYTORCH_MIN_BLOCK * divisions)
        return divisions == 1 ? n : round_to_division(n, divisions);
    const uint64_t up = align_up(n, PYTORCH_MIN_BLOCK);
    return up == UINT64_MAX ? UINT64_MAX & ~(PYTORCH_MIN_BLOCK - 1) : up;
}

/* ---- blocks ---- */

/* A new block of the same segment, pool and stream, without neighbours. */
static inline uint32_t block_like(struct pytorch *p, uint32_t like, uint64_t addr, uint64_t size)
{
    const uint32_t b = pytorch_block_new(&p->blocks);
    const struct pytorch_block *model = pytorch_at(p, like);
    struct pytorch_block *made = pytorch_at(p, b);
    made->addr = addr;
    made->size = size;
    made->segment = model->segment;
    made->stream = model->stream;
    made->pool = model->pool;
    made->flags = BLOCK_IS_USED | (model->flags & (BLOCK_IS_RANGE | BLOCK_IS_SMALL));
    made->ord = p->profile.ties_by_segment ? model->ord : p->profile.ties_by_block ? p->next_ord++ : 0;
    return b;
}

/* Links a block in between two that are neighbours. */
static inline void block_link(struct pytorch *p, uint32_t b, uint32_t prev, uint32_t next)
{
    pytorch_at(p, b)->prev = prev;
    pytorch_at(p, b)->next = next;
    pytorch_at(p, prev)->next = b;
    pytorch_at(p, next)->prev = b;
}

/* Cuts `size` bytes off a block that is in no set, as a new block in front of it or behind it, in no set either; room
 * for it was reserved. */
static inline uint32_t pytorch_cut_front(struct pytorch *p, uint32_t b, uint64_t size)
{
    struct pytorch_block *block = pytorch_at(p, b);
    const uint32_t front = block_like(p, b, block->addr, size);
    block_link(p, front, block->prev, b);
    block->addr += size;
    block->size -= size;
    return front;
}

static inline uint32_t pytorch_cut_back(struct pytorch *p, uint32_t b, uint64_t size)
{
    struct pytorch_block *block = pytorch_at(p, b);
    block->size -= size;
    const uint32_t back = block_like(p, b, block->addr + block->size, size);
    block_link(p, back, b, block->next);
    return back;
}

/* Makes a free, mapped block available. */
static inline void pytorch_put_free(struct pytorch *p, uint32_t b)
{
    struct pytorch_block *block = pytorch_at(p, b);
    struct pytorch_half *half = pytorch_half_of(p, block);
    block->age_base = half->fit_calls;
    free_set_insert(&half->free, b);
}

/* dst swallows its neighbour src where both are free and alike in having memory; returns the bytes won. */
static inline uint64_t pytorch_coalesce(struct pytorch *p, uint32_t dst, uint32_t src)
{
    struct pytorch_block *d = pytorch_at(p, dst);
    const struct pytorch_block *s = pytorch_at(p, src);
    const unsigned alike = BLOCK_IS_ALLOCATED | BLOCK_IS_BUSY | BLOCK_IS_UNMAPPED;
    if ((s->flags & alike) != (d->flags & BLOCK_IS_UNMAPPED))
        return 0;
    if (s->flags & BLOCK_IS_UNMAPPED)
        pytorch_remove_unmapped(p, src);
    else
        free_set_remove(&pytorch_half_of(p, s)->free, src);
    const bool is_front = d->prev == src;
    block_link(p, dst, is_front ? s->prev : d->prev, is_front ? d->next : s->next);
    d->addr = is_front ? s->addr : d->addr;
    const uint64_t won = s->size;
    d->size += won;
    pytorch_block_drop(&p->blocks, src);
    p->base.count.coalesces++;
    return won;
}

/* ---- the beginning and the end of a request ---- */

/* Sizes, pool and room for the blocks that an attempt can make. */
static inline enum err pytorch_attempt_begin(struct pytorch *p, const struct event *req, struct pytorch_attempt *a)
{
    const uint64_t S = pytorch_round(p, req->bytes);
    *a = (struct pytorch_attempt){
        .S = S,
        .stream = req->stream,
        .pool = p->n_diversions == 0 ? req->pool : pytorch_choose_pool(p, req),
        .class = S <= PYTORCH_SMALL_MAX ? CLASS_SMALL : CLASS_LARGE,
    };
    a->exp = p->settings.expandable_segments && (a->pool == 0 || p->profile.has_shared_expandable);
    enum err e = pytorch_blocks_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS);
    if (e == ERR_OK && a->pool != 0 && !p->pools[a->pool].exists)
        e = pytorch_pool_open(p, a->pool, 0);
    return e == ERR_OK ? free_set_prepare(&p->pools[a->pool].half[a->class].free, a->stream) : e;
}

/* The program gives the block up, which is then no longer in use: counters and record. */
static inline void pytorch_request_free(struct pytorch *p, uint32_t b)
{
    struct pytorch_block *block = pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(block);
    block->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    pytorch_stats_give_up(&p->stats, c, block->size);
    pytorch_record(p, RECORD_FREE_REQUESTED, block->stream, block->pool, block->addr, block->requested);
    if (block->size >= p->settings.max_split_size)
        pytorch_stat_subtract(&p->stats.oversize_allocations, CLASS_LARGE, 1);
}

/* The same of a block that stays in use for a while. */
static inline void pytorch_request_late_free(struct pytorch *p, uint32_t b)
{
    pytorch_stats_wait(&p->stats);
    pytorch_request_free(p, b);
}

/* The block is no longer in use: merges it with its neighbours and makes it available. */
static inline void pytorch_complete_free(struct pytorch *p, uint32_t b)
{
    struct pytorch_block *block = pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(block);
    const uint64_t size = block->size, requested = block->requested;
    pytorch_record(p, RECORD_FREE_COMPLETED, block->stream, block->pool, block->addr, requested);
    int64_t net = 0, net_bytes = 0;
    const uint32_t neighbours[2] = {block->prev, block->next};
    for (int i = 0; i < 2; i++) {
        const uint64_t won = pytorch_coalesce(p, b, neighbours[i]);
        net -= won > 0;
        net_bytes -= (int64_t)won;
    }
    pytorch_put_free(p, b);
    if (pytorch_block_is_split(block)) {
        net++;
        net_bytes += (int64_t)block->size;
    }
    if (!(block->flags & BLOCK_IS_RANGE)) {
        pytorch_stat_move(&p->stats.inactive_split, c, net);
        pytorch_stat_move(&p->stats.inactive_split_bytes, c, net_bytes);
    }
    pytorch_stats_end_use(&p->stats, c, size, requested);
}

#endif
