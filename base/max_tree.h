/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A row of numbers that finds its next one of at least some size, and its largest, in logarithmic time.
 *
 * Each node holds the larger of the two below it, so a search skips what is too small:
 *
 *                  9                    node 1
 *             4         9               nodes 2, 3
 *           4   1     0   9             nodes 4 to 7: the numbers themselves
 *
 * A row of 0 and 1 is a set of small numbers in order.
 */
#ifndef REPLAY_BASE_MAX_TREE_H
#define REPLAY_BASE_MAX_TREE_H

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_TREE_NONE UINT32_MAX

/* All zero: no numbers. */
struct max_tree {
    uint64_t *node;
    uint32_t  n_leaves;                  /* a power of two */
};

/* `n` numbers, all 0. ERR_HOST_NOMEM. */
MUST_USE enum err max_tree_open(struct max_tree *t, uint32_t n);
void max_tree_close(struct max_tree *t);

void max_tree_put(struct max_tree *t, uint32_t i, uint64_t number);

static inline uint64_t max_tree_at(const struct max_tree *t, uint32_t i)
{
    return t->node[t->n_leaves + i];
}

/* The largest of all. */
static inline uint64_t max_tree_largest(const struct max_tree *t)
{
    return t->n_leaves == 0 ? 0 : t->node[1];
}

/* The first place from `i` on whose number is at least `least` (> 0); MAX_TREE_NONE if there is none. */
uint32_t max_tree_from(const struct max_tree *t, uint32_t i, uint64_t least);

/* The last place before `i` whose number is at least `least` (> 0); MAX_TREE_NONE if there is none. */
uint32_t max_tree_before(const struct max_tree *t, uint32_t i, uint64_t least);

#ifdef __cplusplus
}
#endif

#endif
