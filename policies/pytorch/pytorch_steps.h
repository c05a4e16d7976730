/*
 * The steps that the allocator's ways are made of: rounding, cutting, coalescing, giving up. They are inline because
 * the hot pair is made of them: as calls they cost it a tenth more instructions.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_STEPS_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_STEPS_H

#include "base/units.h"
#include "policies/pytorch/pytorch.h"

/* ---- sizes ---- */

#define NPU_PAD         UINT64_C(32)            /* torch_npu adds this to every request */
#define NPU_START       (UINT64_C(16) << 10)    /* and starts blocks in ranges at multiples of it, from 2 MiB on */
#define NPU_START_MIN   (UINT64_C(2) << 20)

/* Bytes left free in front of a request of S bytes that block b serves: 0 but for torch_npu. */
static inline uint64_t pytorch_gap(const struct pytorch *p, const struct pytorch_block *b, uint64_t S)
{
    if (!p->rules.is_npu || !(b->flags & BLOCK_IS_RANGE) || S < NPU_START_MIN)
        return 0;
    return align_up(b->addr, NPU_START) - b->addr;
}

/* The size a request of n (> 0) bytes is served with. */
static inline uint64_t pytorch_round(const struct pytorch *p, uint64_t n)
{
    if (n <= p->rounds_to_units)
        return align_up(n, PYTORCH_MIN_BLOCK);
    return pytorch_round_by_plan(p, n);
}

/* ---- blocks ---- */

/*
 * Of free blocks of one size the one with the least tie is taken. A tie is, by release, the address; the number of the
 * block object; or a place on a line on which each segment lies behind all that were made before it, so that the oldest
 * segment comes first, and in it the lowest address.
 */

/* How far a tie moves with the start of its block. */
static inline uint64_t tie_step(const struct pytorch *p, uint64_t bytes)
{
    return p->rules.ties_by_block ? 0 : bytes;
}

/* A new block of the same segment, pool and stream, `offset` bytes behind the start of `like`, between two that are
 * neighbours. */
static inline uint32_t block_between(struct pytorch *p, uint32_t like, uint64_t offset, uint64_t size, uint32_t prev,
                                     uint32_t next)
{
    const uint32_t b = pytorch_block_new(&p->blocks);
    const struct pytorch_block *model = pytorch_at(p, like);
    struct pytorch_block *made = pytorch_at(p, b);       /* its links come with a bin; a literal would be built twice */
    made->addr = model->addr + offset;
    made->size = size;
    made->requested = 0;
    made->tie = p->rules.ties_by_block ? p->next_place++ : model->tie + offset;
    made->prev = prev;
    made->next = next;
    made->segment = model->segment;
    made->stream = model->stream;
    made->pool = model->pool;
    made->flags = BLOCK_IS_USED | (model->flags & (BLOCK_IS_RANGE | BLOCK_IS_SMALL));
    pytorch_at(p, prev)->next = b;
    pytorch_at(p, next)->prev = b;
    return b;
}

/* Cuts `size` bytes off a block that is in no set, as a new block in front of it or behind it, in no set either; room
 * for it was reserved. */
static inline uint32_t pytorch_cut_front(struct pytorch *p, uint32_t b, uint64_t size)
{
    struct pytorch_block *block = pytorch_at(p, b);
    const uint32_t front = block_between(p, b, 0, size, block->prev, b);
    block->addr += size;
    block->tie += tie_step(p, size);
    block->size -= size;
    return front;
}

static inline uint32_t pytorch_cut_back(struct pytorch *p, uint32_t b, uint64_t size)
{
    struct pytorch_block *block = pytorch_at(p, b);
    block->size -= size;
    return block_between(p, b, block->size, size, b, block->next);
}

/* Where a block goes when it is free. */
static inline struct pytorch_home pytorch_home(struct pytorch_half *half, uint16_t stream)
{
    return (struct pytorch_home){.half = half, .bins = free_set_bins(&half->free, stream)};
}

static inline struct pytorch_home pytorch_home_of(const struct pytorch *p, const struct pytorch_block *b)
{
    return pytorch_home(pytorch_half_of(p, b), b->stream);
}

/* Makes a free, mapped block available at its home. Ages are asked of whole segments only. */
static inline void pytorch_take_home(struct pytorch *p, struct pytorch_home home, uint32_t b)
{
    const struct pytorch_block *block = pytorch_at(p, b);
    if (!pytorch_block_is_split(block))
        p->segments[block->segment].free_since = home.half->fit_calls;
    free_bins_insert(home.bins, p->blocks.at, b);
}

static inline void pytorch_put_free(struct pytorch *p, uint32_t b)
{
    pytorch_take_home(p, pytorch_home_of(p, pytorch_at(p, b)), b);
}

/* ---- coalescing ---- */

/* A block swallows its neighbour in front or behind, which is in no set any more; returns the bytes won. */
static inline uint64_t pytorch_swallow(struct pytorch *p, uint32_t b, bool is_front)
{
    struct pytorch_block *block = pytorch_at(p, b);
    const uint32_t neighbour = is_front ? block->prev : block->next;
    const struct pytorch_block *swallowed = pytorch_at(p, neighbour);
    const uint64_t won = swallowed->size;
    if (is_front) {
        block->addr = swallowed->addr;
        block->tie = p->rules.ties_by_block ? block->tie : swallowed->tie;
        block->prev = swallowed->prev;
        pytorch_at(p, block->prev)->next = b;
    } else {
        block->next = swallowed->next;
        pytorch_at(p, block->next)->prev = b;
    }
    block->size += won;
    pytorch_block_drop(&p->blocks, neighbour);
    p->base.count.coalesces++;
    return won;
}

/* Whether a neighbour is free and has memory, so that it is in the bins of its home. */
static inline bool neighbour_is_idle(const struct pytorch *p, uint32_t b)
{
    return (pytorch_at(p, b)->flags & (BLOCK_IS_ALLOCATED | BLOCK_IS_BUSY | BLOCK_IS_UNMAPPED)) == 0;
}

/* A block with memory, in no set, swallows its idle neighbours; returns how many, and the bytes won. */
static inline int pytorch_coalesce(struct pytorch *p, struct pytorch_home home, uint32_t b, uint64_t *won)
{
    const struct pytorch_block *block = pytorch_at(p, b);
    int n = 0;
    *won = 0;
    if (neighbour_is_idle(p, block->prev)) {
        free_bins_remove(home.bins, p->blocks.at, block->prev);
        *won += pytorch_swallow(p, b, true);
        n++;
    }
    if (neighbour_is_idle(p, block->next)) {
        free_bins_remove(home.bins, p->blocks.at, block->next);
        *won += pytorch_swallow(p, b, false);
        n++;
    }
    return n;
}

/* ---- the beginning and the end of a request ---- */

/* Sizes, home and room for the blocks that an attempt can make; `pool`: what pytorch_choose_pool says. */
static inline enum err pytorch_attempt_begin(struct pytorch *p, const struct event *req, uint8_t pool,
                                             struct pytorch_attempt *a)
{
    /* One by one: a literal would be built in memory, and the hot path needs registers only. */
    a->S = pytorch_round(p, req->bytes);
    a->G = 0;
    a->stream = req->stream;
    a->pool = pool;
    a->class = a->S <= PYTORCH_SMALL_MAX ? CLASS_SMALL : CLASS_LARGE;
    a->is_rejected = false;
    a->failure = ERR_OK;
    a->is_borrowed = false;
    enum err e = pytorch_blocks_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS);
    if (e == ERR_OK && a->pool != 0 && !p->pools[a->pool].exists)
        e = pytorch_pool_open(p, a->pool, 0);
    if (e != ERR_OK)                             /* the pool may have no bins at all */
        return e;
    struct pytorch_half *half = pytorch_half(p, a->pool, a->class);
    a->home = pytorch_home(half, a->stream);
    if (a->home.bins == NULL && (e = free_set_add_stream(&half->free, a->stream)) == ERR_OK)
        a->home = pytorch_home(half, a->stream);
    return e;
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

#endif
