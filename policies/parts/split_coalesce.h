/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Splitting a block in two, and coalescing it with its free neighbours.
 *
 *     split_front    [ b              ]   ->   [ new ][ b        ]
 *     split_back     [ b              ]   ->   [ b        ][ new ]
 *     swallow        [ x ][ b ][ y ]      ->   [ b      ][ y ]  or  [ x ][ b      ]
 *
 * All of it is inline: a policy's hot pair is made of these steps, and as calls they cost it a tenth more instructions.
 * A block that is split or swallows another is in no free set at that moment, because its size is its place there.
 *
 * Ties. Of free blocks of one size a free set takes the one with the least tie. There are two kinds of ties. A place is
 * the position of the block's start on some line, so it moves with the start. A number belongs to the table entry and
 * stays with it; new entries take theirs from a counter.
 */
#ifndef REPLAY_POLICIES_PARTS_SPLIT_COALESCE_H
#define REPLAY_POLICIES_PARTS_SPLIT_COALESCE_H

#include "policies/parts/block_table.h"
#include "policies/parts/free_set.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a policy's ties. */
struct tie_kind {
    bool      has_numbers;           /* if not: places */
    uint64_t *next_number;
};

/* A new block of `size` bytes, `offset` bytes after the start of `like` and like it in segment, stream and pool. It
 * stands between two neighbours. */
static inline uint32_t block_insert_between(struct block_table *t, uint32_t like, uint64_t offset, uint64_t size,
                                            uint32_t prev, uint32_t next, struct tie_kind ties)
{
    const uint32_t b = block_table_new(t);
    const struct block_entry *model = &t->at[like];
    struct block_entry *made = &t->at[b];        /* one by one: a literal would also clear the links, for nothing */
    made->addr = model->addr + offset;
    made->size = size;
    made->requested = 0;
    made->tie = ties.has_numbers ? (*ties.next_number)++ : model->tie + offset;
    made->prev = prev;
    made->next = next;
    made->segment = model->segment;
    made->stream = model->stream;
    made->pool = model->pool;
    made->flags = BLOCK_IS_USED | (model->flags & (BLOCK_IS_RANGE | BLOCK_IS_SMALL));
    t->at[prev].next = b;
    t->at[next].prev = b;
    return b;
}

/* Splits the first `size` bytes off as a new block, which is returned. Room for it was reserved;
 * 0 < size < b's size. */
static inline uint32_t block_split_front(struct block_table *t, uint32_t b, uint64_t size, struct tie_kind ties)
{
    struct block_entry *block = &t->at[b];
    assert(size > 0 && size < block->size);
    const uint32_t front = block_insert_between(t, b, 0, size, block->prev, b, ties);
    block->addr += size;
    block->tie += ties.has_numbers ? 0 : size;
    block->size -= size;
    return front;
}

/* The same for the last `size` bytes. */
static inline uint32_t block_split_back(struct block_table *t, uint32_t b, uint64_t size, struct tie_kind ties)
{
    struct block_entry *block = &t->at[b];
    assert(size > 0 && size < block->size);
    block->size -= size;
    return block_insert_between(t, b, block->size, size, b, block->next, ties);
}

/* A block swallows the neighbour before it (is_front) or after it, which is in no set. Returns the bytes gained. */
static inline uint64_t block_swallow(struct block_table *t, uint32_t b, bool is_front, bool has_numbers)
{
    struct block_entry *block = &t->at[b];
    const uint32_t neighbour = is_front ? block->prev : block->next;
    assert(neighbour != BLOCK_NONE && t->at[neighbour].segment == block->segment);
    const struct block_entry *swallowed = &t->at[neighbour];
    const uint64_t won = swallowed->size;
    if (is_front) {
        block->addr = swallowed->addr;
        block->tie = has_numbers ? block->tie : swallowed->tie;
        block->prev = swallowed->prev;
        t->at[block->prev].next = b;
    } else {
        block->next = swallowed->next;
        t->at[block->next].prev = b;
    }
    block->size += won;
    block_table_drop(t, neighbour);
    return won;
}

/* Whether a neighbour is free and has memory, and so is in the bins. BLOCK_NONE is neither. */
static inline bool block_is_idle(const struct block_table *t, uint32_t b)
{
    return (t->at[b].flags & (BLOCK_IS_ALLOCATED | BLOCK_IS_BUSY | BLOCK_IS_UNMAPPED)) == 0;
}

/* A block in no set swallows its idle neighbours, which are in `bins`. Returns how many, and adds them to *count;
 * *won: the bytes gained. */
static inline int block_coalesce(struct block_table *t, struct free_bins *bins, uint32_t b, bool has_numbers,
                                 uint64_t *won, uint64_t *count)
{
    const struct block_entry *block = &t->at[b];
    int n = 0;
    *won = 0;
    if (block_is_idle(t, block->prev)) {
        free_bins_remove(bins, t->at, block->prev);
        *won += block_swallow(t, b, true, has_numbers);
        n++;
        ++*count;
    }
    if (block_is_idle(t, block->next)) {
        free_bins_remove(bins, t->at, block->next);
        *won += block_swallow(t, b, false, has_numbers);
        n++;
        ++*count;
    }
    return n;
}

#ifdef __cplusplus
}
#endif

#endif
