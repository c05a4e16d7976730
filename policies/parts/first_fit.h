/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Free blocks by place, for the lowest one that is large enough. A block's place is its tie (split_coalesce.h): its
 * address, or where it lies if the pieces stood one after another by age (heap.h).
 *
 * A B-tree (Bayer and McCreight, "Organization and maintenance of large ordered indexes", Acta Informatica 1, 1972)
 * whose nodes also hold, for each node or block below them, the size of the largest block there:
 *
 *                     largest  [  9 |  4 ]
 *                     end      [ 80 | 96 ]
 *                     below       /    \
 *       largest  [  2 |  9 |  1 ]       [  4 ]        in a leaf: the size of the block itself
 *       end      [ 10 | 40 | 80 ]       [ 96 ]        and the place after it
 *       below    [ b7 | b3 | b9 ]       [ b4 ]
 *
 * A search reads two cache lines on each level, and compares all sizes in one of them without a branch. A block knows
 * its leaf (`left`), so a block that grows or shrinks where it is is not looked for. The order is that of the blocks'
 * ends, which do not move when a request takes a block's front.
 *
 * Two neighbours below one node that become small are joined, so that all sets together have no more nodes than
 * first_fit_reserve makes room for, and insertions cannot fail.
 *
 * A set is its root; 0 is the empty one. The blocks of a set do not overlap. If the size or the place of a block in a
 * set changes, the set must be told.
 */
#ifndef REPLAY_POLICIES_PARTS_FIRST_FIT_H
#define REPLAY_POLICIES_PARTS_FIRST_FIT_H

#include "policies/parts/block_table.h"

#include <stdalign.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A node has at most FIRST_FIT_MOST cells in use; those after them are 0, so that all can be compared at once. */
enum { FIRST_FIT_CELLS = 16, FIRST_FIT_MOST = 14 };

struct first_fit_node {
    alignas(64)                          /* each array but the last in cache lines of its own */
    int32_t  largest[FIRST_FIT_CELLS];   /* in units; not above INT32_MAX */
    uint32_t below[FIRST_FIT_CELLS];     /* a block in a leaf, else a node */
    uint64_t end[FIRST_FIT_MOST];        /* of the last block there; UINT64_MAX in cells that are not in use */
    uint32_t above;                      /* 0: this is the root. Of a vacant node, the next vacant one */
    uint16_t level;                      /* 0: a leaf */
    uint16_t n;                          /* cells in use */
};

/* The nodes of all sets of a block table; entry 0 is no node. */
struct first_fit {
    struct block_table *blocks;          /* borrowed */
    struct first_fit_node *nodes;
    uint32_t n, cap, vacant;
    uint32_t n_sets;
    unsigned unit_shift;
};

/* The sizes of all blocks are multiples of `unit`, a power of two. ERR_HOST_NOMEM. */
MUST_USE enum err first_fit_open(struct first_fit *f, struct block_table *blocks, uint64_t unit, uint32_t n_sets);
void first_fit_close(struct first_fit *f);

/* first_fit_reserve's way if there is not room enough. */
MUST_USE enum err first_fit_grow(struct first_fit *f, uint32_t cap);

/* Two neighbours below one node are joined when one of them loses a cell and both have no more than FIRST_FIT_FEW. */
enum { FIRST_FIT_FEW = 11 };

/* The most nodes that sets of `n_blocks` blocks in all have. Two neighbours have at least eight cells together, because
 * a split leaves seven in each half: on every level at least three cells for each node. */
static inline uint32_t first_fit_most_nodes(const struct first_fit *f, uint32_t n_blocks)
{
    return n_blocks / 2 + f->n_sets + 8;
}

/* Makes room for all blocks that the table has room for. To be called after the table may have grown, before a block of
 * it is inserted. ERR_HOST_NOMEM leaves the sets as they are. */
MUST_USE static inline enum err first_fit_reserve(struct first_fit *f)
{
    const uint32_t most = first_fit_most_nodes(f, f->blocks->cap);
    return f->cap >= most ? ERR_OK : first_fit_grow(f, most);
}

void first_fit_insert(struct first_fit *f, uint32_t *root, uint32_t b);
void first_fit_remove(struct first_fit *f, uint32_t *root, uint32_t b);

/* The size or the place of a block in a set has changed, and not the order. */
void first_fit_update(struct first_fit *f, uint32_t b);

/* The block with the lowest place >= `from` and at least `size` bytes; BLOCK_NONE if there is none. */
uint32_t first_fit_find(const struct first_fit *f, uint32_t root, uint64_t from, uint64_t size);

/* The block that the byte at a place is in; BLOCK_NONE if there is none. */
uint32_t first_fit_holding(const struct first_fit *f, uint32_t root, uint64_t place);

/* The lowest of the largest blocks; BLOCK_NONE for an empty set. */
uint32_t first_fit_largest(const struct first_fit *f, uint32_t root);

/* The size of the largest block; 0 for an empty set. */
uint64_t first_fit_largest_bytes(const struct first_fit *f, uint32_t root);

/* Whether every node says what is below it, in order, and no two neighbours have too few cells. */
bool first_fit_is_sound(const struct first_fit *f, uint32_t root);

#ifdef __cplusplus
}
#endif

#endif
