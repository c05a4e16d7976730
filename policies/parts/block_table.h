/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * All blocks of a caching allocator, in one table; links are 32-bit indexes into it.
 *
 * A segment is a chain of blocks in order of address, linked by `prev` and `next`:
 *
 *     segment   [ block 7 ]<->[ block 3 ]<->[ block 9 ]          each neighbour starts where the one before it ends
 *               prev = 0                    next = 0             0: BLOCK_NONE
 *
 * Entries that are no blocks any more are on a list and are used again first. An index stays valid until its block is
 * dropped; a pointer into the table only until the table grows.
 */
#ifndef REPLAY_POLICIES_PARTS_BLOCK_TABLE_H
#define REPLAY_POLICIES_PARTS_BLOCK_TABLE_H

#include "base/err.h"
#include "base/event.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entry 0 means "no block": no neighbour, or the end of a list. Its flags say allocated and its size is larger than any
 * other, and its links may be overwritten at will. So the hot paths can read and write it without asking whether there
 * is a block. */
#define BLOCK_NONE UINT32_C(0)

/* No table is larger, so a link to a block has a bit to spare. */
#define BLOCKS_MAX (UINT32_C(1) << 31)

enum block_flags {
    BLOCK_IS_USED      = 1 << 0,     /* this entry is a block */
    BLOCK_IS_ALLOCATED = 1 << 1,     /* handed out */
    BLOCK_IS_BUSY      = 1 << 2,     /* freed, but a stream may still use it */
    BLOCK_IS_UNMAPPED  = 1 << 3,     /* an address range without memory */
    BLOCK_IS_RANGE     = 1 << 4,     /* lies in an expandable segment */
    BLOCK_IS_SMALL     = 1 << 5,     /* belongs to a small pool */
    BLOCK_HAS_USES     = 1 << 6,     /* `left` is the index of its record of stream uses */
    BLOCK_IS_RETIRED   = 1 << 7,     /* the trace tells its end of use; linked by left and right, `below` is its slot */
};

struct block_entry {
    uint64_t addr, size;
    uint64_t requested;              /* bytes of the last request that it served; kept when it is freed */
    uint64_t tie;                    /* of free blocks of one size the least tie is taken: split_coalesce.h */
    uint32_t prev, next;             /* neighbours in the segment by address, or BLOCK_NONE */
    uint32_t left, right, below;     /* while free: its links (free_set.h) */
    uint32_t segment;                /* the device's id */
    uint16_t stream;                 /* dense */
    uint8_t  pool;                   /* dense */
    uint8_t  flags;
    bool     is_below;               /* while free, in a long bin: it is in the list below another block (free_set.c) */
    uint16_t bin;                    /* while free: its bin's number (free_set.h) */
};
static_assert(sizeof(struct block_entry) == 64, "one cache line");

struct block_table {
    struct block_entry *at;
    uint32_t n, cap;
    uint32_t vacant;                 /* list of unused entries, linked by `next` */
};

/* Makes room for `n` blocks in all. ERR_HOST_NOMEM leaves the table as it was. */
MUST_USE enum err block_table_hold(struct block_table *t, uint64_t n);

/* block_table_reserve's way if the last entries are not enough. */
MUST_USE enum err block_table_grow(struct block_table *t, uint32_t n);

/* Makes sure that the next `n` calls of block_table_new have room. ERR_HOST_NOMEM leaves the table as it was. */
static inline enum err block_table_reserve(struct block_table *t, uint32_t n)
{
    return t->cap - t->n >= n ? ERR_OK : block_table_grow(t, n);
}

void block_table_close(struct block_table *t);

/* A new block, for which room was reserved. The caller must set its members: they hold anything. */
static inline uint32_t block_table_new(struct block_table *t)
{
    uint32_t b = t->vacant;
    if (b != BLOCK_NONE) {
        assert(t->at[b].flags == 0);
        t->vacant = t->at[b].next;
    } else {
        assert(t->n < t->cap);
        b = t->n++;
    }
    return b;
}

/* The entry is a block no more. Nothing may link to it. */
static inline void block_table_drop(struct block_table *t, uint32_t b)
{
    assert(b != BLOCK_NONE && b < t->n);
    t->at[b].flags = 0;
    t->at[b].next = t->vacant;
    t->vacant = b;
}

/* Whether a block is only a part of its segment. */
static inline bool block_is_split(const struct block_entry *b)
{
    return (b->prev | b->next) != BLOCK_NONE;
}

/* Whether a block is neither handed out nor waiting for streams. An unmapped block is free in this sense. */
static inline bool block_is_free(const struct block_entry *b)
{
    return (b->flags & (BLOCK_IS_ALLOCATED | BLOCK_IS_BUSY)) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
