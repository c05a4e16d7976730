/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Pieces of memory from an upstream, each cut into blocks: what every allocator is that splits and coalesces.
 *
 *     upstream   [ piece 0            ]      [ piece 1   ]
 *     blocks     [ 4 ][ 9      ][ 2  ]       [ 7         ]        chains by prev and next, as in block_table.h
 *
 * In these tables `segment` of a block is its piece; heap_answer translates it to the device's id. Which blocks are
 * free for whom, and in which order, is the policy's.
 *
 * "The lowest block" needs an order of the pieces. Whether a card's newest segment lies below or above the others is
 * the driver's choice, and no rule of an allocator from a paper. So a heap can have its places by age: as if each piece
 * lay after all pieces that were taken before it.
 *
 *     addresses (they may fall)   [ piece 1   ][ piece 0            ]
 *     places by age               [ piece 0            ][ piece 1   ]
 */
#ifndef REPLAY_POLICIES_PARTS_HEAP_H
#define REPLAY_POLICIES_PARTS_HEAP_H

#include "base/inline.h"
#include "base/prefetch.h"
#include "policies/parts/split_coalesce.h"
#include "policies/parts/upstream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum heap_order { HEAP_BY_ADDRESS, HEAP_BY_AGE };

/* What an upstream answered, and what it was asked for. */
struct piece {
    struct block from;
    uint64_t     bytes;                  /* 0: vacant */
    uint64_t     serial;                 /* the how-manyth piece it is */
    uint32_t     block;                  /* one of its blocks */
};

struct heap {
    struct upstream *upstream;           /* borrowed */
    struct block_table blocks;
    struct piece *pieces;
    size_t    n_pieces, cap_pieces;
    uint32_t *vacant;                    /* stack of pieces to use again */
    size_t    n_vacant, cap_vacant;
    uint64_t  n_taken;                   /* pieces taken so far */
    uint64_t  held_bytes;                /* sum of the pieces */
    uint64_t  n_held;                    /* pieces held */
    enum heap_order order;               /* of places; may be set before the first piece */
    uint64_t  places_end;                /* by age: after the newest piece */
};

/* `peak_live`: blocks to make room for; 0: unknown. ERR_HOST_NOMEM. heap_close accepts a heap of zeros, and leaves the
 * pieces to the upstream's end. Places are addresses unless `order` is set afterwards. */
MUST_USE enum err heap_open(struct heap *h, struct upstream *upstream, uint32_t peak_live);
void heap_close(struct heap *h);

/* Takes a piece of `bytes` (> 0). *out: one block that is all of it, in no set, of that stream, its tie its place.
 * upstream_alloc's errors; ERR_HOST_NOMEM. After it there is room for two more blocks. */
MUST_USE enum err heap_grow(struct heap *h, uint64_t bytes, uint16_t stream, uint32_t *out);

/* Makes the piece of `b`, which is that one block, a part of the piece that ends where it starts, if there is one whose
 * last block is `last`. `b` stays a block. */
void heap_join_pieces(struct heap *h, uint32_t last, uint32_t b);

/* Gives a piece back that is one block, in no set. */
void heap_give_back(struct heap *h, uint32_t b);

static inline struct block_entry *heap_at(const struct heap *h, uint32_t b)
{
    return &h->blocks.at[b];
}

/* Whether a block is all of its piece. */
static inline bool heap_is_whole(const struct heap *h, uint32_t b)
{
    return !block_is_split(heap_at(h, b));
}

/* Fetches what a free of a block will touch, as policy_ops.expect: the block, and before the next but few events its
 * neighbours. */
static HOT_INLINE void heap_expect(const struct heap *h, const struct block *b, bool is_next)
{
    const struct block_entry *at = h->blocks.at, *block = &at[b->cookie < h->blocks.n ? b->cookie : BLOCK_NONE];
    prefetch(is_next ? &at[block->prev] : block);
    prefetch(is_next ? &at[block->next] : block);
}

/* The blocks that are free and all of their piece, by the address or the age of the pieces: what could be given back.
 * *out is to be freed. ERR_HOST_NOMEM. */
MUST_USE enum err heap_idle_pieces(const struct heap *h, enum heap_order order, uint32_t **out, size_t *n);

/* A block as the answer to a request. */
static inline struct block heap_answer(const struct heap *h, uint32_t b)
{
    const struct block_entry *e = heap_at(h, b);
    const uint32_t segment = h->pieces[e->segment].from.segment;
    return (struct block){.addr = e->addr, .bytes = e->size, .segment = segment, .cookie = b};
}

/* Hands a block out: marks it, and notes what was asked for. */
static inline void heap_take(struct heap *h, uint32_t b, uint64_t requested, struct block *out)
{
    struct block_entry *e = heap_at(h, b);
    e->flags |= BLOCK_IS_ALLOCATED;
    e->requested = requested;
    *out = heap_answer(h, b);
}

/* The block was freed. The policy puts it into a set. */
static inline void heap_free(struct heap *h, uint32_t b)
{
    struct block_entry *e = heap_at(h, b);
    e->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    h->pieces[e->segment].block = b;
}

/* block_swallow in a heap. */
static inline void heap_swallow(struct heap *h, uint32_t b, bool is_front, bool has_numbers)
{
    block_swallow(&h->blocks, b, is_front, has_numbers);
    h->pieces[heap_at(h, b)->segment].block = b;
}

/* Shows all blocks of an upstream by address, with the blocks of the heaps in place of their pieces. All heaps stand on
 * this upstream. ERR_HOST_NOMEM; ERR_UNSUPPORTED as upstream_walk. */
MUST_USE enum err heaps_walk(const struct heap *const *heaps, size_t n, block_visit visit, void *arg);

/* Whether every chain covers its piece without gaps, and the sums are right. */
MUST_USE enum err heap_check(const struct heap *h, const char *policy, struct err_detail *err);

#ifdef __cplusplus
}
#endif

#endif
