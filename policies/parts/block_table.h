/*
 * Blocks of the caching allocator, in one table.
 */
#ifndef REPLAY_POLICIES_PARTS_BLOCK_TABLE_H
#define REPLAY_POLICIES_PARTS_BLOCK_TABLE_H

#include "base/err.h"
#include "base/event.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "No block" is entry 0 of the table: no neighbour, end of a list. It is never free and larger than all, and its links
 * may be written in vain, so that the hot paths need not ask for it first. */
#define BLOCK_NONE UINT32_C(0)

/* No table is larger, so that the links to a block leave a bit to others. */
#define BLOCKS_MAX (UINT32_C(1) << 31)

enum block_flags {
    BLOCK_IS_USED      = 1 << 0,     /* this table entry is a block */
    BLOCK_IS_ALLOCATED = 1 << 1,     /* handed out */
    BLOCK_IS_BUSY      = 1 << 2,     /* freed, but stream uses or events are outstanding */
    BLOCK_IS_UNMAPPED  = 1 << 3,     /* an address range without memory */
    BLOCK_IS_RANGE     = 1 << 4,     /* lies in an expandable segment */
    BLOCK_IS_SMALL     = 1 << 5,     /* belongs to a small pool */
    BLOCK_HAS_USES     = 1 << 6,     /* `left` is the number of its record of stream uses */
    BLOCK_IS_RETIRED   = 1 << 7,     /* its end of use comes from the trace; linked by left, right, `below` its slot */
};

struct block_entry {
    uint64_t addr, size;
    uint64_t requested;              /* of the last request this object served; kept on free */
    uint64_t tie;                    /* of blocks of one size the one with the least is taken: pytorch_steps.h */
    uint32_t prev, next;             /* neighbours in the segment by address, or BLOCK_NONE */
    uint32_t left, right, below;     /* while free: its links (free_set.h) */
    uint32_t segment;                /* the device's id */
    uint16_t stream;                 /* dense */
    uint8_t  pool;                   /* dense */
    uint8_t  flags;
    bool     is_below;               /* while free, in a long bin: another block of its size goes before it */
    uint16_t bin;                    /* while free: its bin's number (free_set.h) */
};
static_assert(sizeof(struct block_entry) == 64, "one cache line");

struct block_table {
    struct block_entry *at;
    uint32_t n, cap;
    uint32_t vacant;                 /* list of unused entries, linked by `next` */
};

/* Makes room for `n` blocks in all. */
MUST_USE enum err block_table_hold(struct block_table *t, uint64_t n);

MUST_USE enum err block_table_grow(struct block_table *t, uint32_t n);

/* Makes sure that `n` blocks can be made without failing. */
static inline enum err block_table_reserve(struct block_table *t, uint32_t n)
{
    return t->cap - t->n >= n ? ERR_OK : block_table_grow(t, n);
}
void block_table_close(struct block_table *t);

/* A new block, for which room was reserved. Its members are the caller's to set: anything is in them. */
static inline uint32_t block_table_new(struct block_table *t)
{
    uint32_t b = t->vacant;
    if (b != BLOCK_NONE) {
        t->vacant = t->at[b].next;
    } else {
        assert(t->n < t->cap);
        b = t->n++;
    }
    return b;
}

static inline void block_table_drop(struct block_table *t, uint32_t b)
{
    t->at[b].flags = 0;
    t->at[b].next = t->vacant;
    t->vacant = b;
}

static inline bool block_is_split(const struct block_entry *b)
{
    return (b->prev | b->next) != BLOCK_NONE;
}

/* Free: neither handed out nor waiting for streams. An unmapped block is free in this sense. */
static inline bool block_is_free(const struct block_entry *b)
{
    return (b->flags & (BLOCK_IS_ALLOCATED | BLOCK_IS_BUSY)) == 0;
}

#endif
