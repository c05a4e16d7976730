/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Free blocks by address, for the lowest one that is large enough.
 *
 * A treap: a binary search tree by address that is also a heap by a hash of the block's index (Seidel and Aragon,
 * "Randomized Search Trees", Algorithmica 16, 1996). While a block is in a set, `left` and `right` are its children and
 * `tie` is the largest size in its subtree, so a search goes down one path. Insertion, removal and search take
 * logarithmic time in the mean, whatever the order of addresses.
 *
 * A set is its root; BLOCK_NONE is the empty one. If the size or the address of a block in a set changes, the set must
 * be told.
 */
#ifndef REPLAY_POLICIES_PARTS_FIRST_FIT_H
#define REPLAY_POLICIES_PARTS_FIRST_FIT_H

#include "policies/parts/block_table.h"

void first_fit_insert(struct block_entry *at, uint32_t *root, uint32_t b);
void first_fit_remove(struct block_entry *at, uint32_t *root, uint32_t b);

/* The size or the address of a block in the set has changed, and not its place among the others: half the work of
 * taking it out and putting it back. */
void first_fit_update(struct block_entry *at, uint32_t root, uint32_t b);

/* The block with the lowest address >= `from` and at least `size` bytes; BLOCK_NONE if there is none. */
uint32_t first_fit_find(const struct block_entry *at, uint32_t root, uint64_t from, uint64_t size);

/* The block with the highest address <= `addr`; BLOCK_NONE if there is none. */
uint32_t first_fit_holding(const struct block_entry *at, uint32_t root, uint64_t addr);

/* The lowest of the largest blocks; BLOCK_NONE for an empty set. */
uint32_t first_fit_largest(const struct block_entry *at, uint32_t root);

#endif
