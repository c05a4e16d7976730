/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A complete binary tree in an array: the nodes below node k are 2k and 2k + 1. */
#include "base/max_tree.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

enum err max_tree_open(struct max_tree *t, uint32_t n)
{
    uint32_t n_leaves = 1;
    while (n_leaves < n && n_leaves < UINT32_C(1) << 31)
        n_leaves *= 2;
    uint64_t *node = calloc(2 * (size_t)n_leaves, sizeof *node);
    if (node == NULL)
        return ERR_HOST_NOMEM;
    *t = (struct max_tree){.node = node, .n_leaves = n_leaves};
    return ERR_OK;
}

void max_tree_close(struct max_tree *t)
{
    free(t->node);
    *t = (struct max_tree){.node = NULL};
}

void max_tree_put(struct max_tree *t, uint32_t i, uint64_t number)
{
    assert(i < t->n_leaves);
    uint32_t k = t->n_leaves + i;
    t->node[k] = number;
    for (k /= 2; k > 0; k /= 2) {
        const uint64_t left = t->node[2 * k], right = t->node[2 * k + 1], larger = left > right ? left : right;
        if (t->node[k] == larger)
            break;
        t->node[k] = larger;
    }
}

/* The first or last leaf below node k, which holds at least `least`, that does, too. */
static uint32_t max_tree_descend(const struct max_tree *t, uint32_t k, uint64_t least, bool is_last)
{
    while (k < t->n_leaves) {
        k = 2 * k + is_last;
        k ^= t->node[k] < least;
    }
    return k - t->n_leaves;
}

uint32_t max_tree_from(const struct max_tree *t, uint32_t i, uint64_t least)
{
    assert(least > 0);
    if (i >= t->n_leaves)
        return MAX_TREE_NONE;
    uint32_t k = t->n_leaves + i;
    for (; t->node[k] < least; k++) {            /* on to the node to the right of k and of all that k ends */
        while (k % 2 == 1)
            k /= 2;
        if (k == 0)
            return MAX_TREE_NONE;
    }
    return max_tree_descend(t, k, least, false);
}

uint32_t max_tree_before(const struct max_tree *t, uint32_t i, uint64_t least)
{
    assert(least > 0);
    if (i == 0 || t->n_leaves == 0)
        return MAX_TREE_NONE;
    uint32_t k = t->n_leaves + (i < t->n_leaves ? i : t->n_leaves) - 1;
    for (; t->node[k] < least; k--) {            /* on to the node to the left of k and of all that k begins */
        while (k % 2 == 0)
            k /= 2;
        if (k == 1)
            return MAX_TREE_NONE;
    }
    return max_tree_descend(t, k, least, true);
}
