/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The treap: one path down, and sums only as far as they change. */
#include "policies/parts/first_fit.h"

#include "base/random.h"

enum { FIRST_FIT_DEPTH = 512 };              /* of 2^31 blocks in an order by hash: about 43 are expected */

/* The size of the largest block of a subtree. */
static inline uint64_t subtree_largest(const struct block_entry *at, uint32_t root)
{
    return root == BLOCK_NONE ? 0 : at[root].tie;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Finds the largest size of a subtree anew; its children are right. */
static inline uint64_t subtree_sum(const struct block_entry *at, uint32_t b)
{
    return larger(at[b].size, larger(subtree_largest(at, at[b].left), subtree_largest(at, at[b].right)));
}

static inline bool first_fit_is_above(uint32_t a, uint32_t b)
{
    return random_mix(a) > random_mix(b);
}

/* Divides a subtree into the blocks below an address and the others. A path of constant length in the mean. */
static void first_fit_divide(struct block_entry *at, uint32_t root, uint64_t addr, uint32_t *low, uint32_t *high)
{
    if (root == BLOCK_NONE) {
        *low = *high = BLOCK_NONE;
        return;
    }
    if (at[root].addr < addr) {
        uint32_t right;
        first_fit_divide(at, at[root].right, addr, &right, high);
        at[root].right = right;
        *low = root;
    } else {
        uint32_t left;
        first_fit_divide(at, at[root].left, addr, low, &left);
        at[root].left = left;
        *high = root;
    }
    at[root].tie = subtree_sum(at, root);
}

/* Joins two subtrees, all of whose addresses are in this order. */
static uint32_t first_fit_join(struct block_entry *at, uint32_t low, uint32_t high)
{
    if (low == BLOCK_NONE || high == BLOCK_NONE)
        return low | high;
    const uint32_t root = first_fit_is_above(low, high) ? low : high;
    if (root == low)
        at[low].right = first_fit_join(at, at[low].right, high);
    else
        at[high].left = first_fit_join(at, low, at[high].left);
    at[root].tie = subtree_sum(at, root);
    return root;
}

void first_fit_insert(struct block_entry *at, uint32_t *root, uint32_t b)
{
    uint32_t *link = root, low, high;
    while (*link != BLOCK_NONE && !first_fit_is_above(b, *link)) {
        struct block_entry *above = &at[*link];
        above->tie = larger(above->tie, at[b].size);
        link = at[b].addr < above->addr ? &above->left : &above->right;
    }
    first_fit_divide(at, *link, at[b].addr, &low, &high);
    at[b].left = low;
    at[b].right = high;
    at[b].tie = subtree_sum(at, b);
    *link = b;
}

/* The way down to a block: the blocks above it, the root first. */
struct first_fit_path {
    uint32_t above[FIRST_FIT_DEPTH];
    size_t   n;
};

/* Goes down to `b`; returns the link that leads to it. */
static uint32_t *first_fit_go_down(struct block_entry *at, uint32_t *link, uint32_t b, struct first_fit_path *path)
{
    path->n = 0;
    while (*link != b) {
        struct block_entry *above = &at[*link];
        assert(*link != BLOCK_NONE && path->n < FIRST_FIT_DEPTH);
        path->above[path->n++] = *link;
        link = at[b].addr < above->addr ? &above->left : &above->right;
    }
    return link;
}

/* Sums anew on the way up, as far as sums change. */
static void first_fit_go_up(struct block_entry *at, struct first_fit_path *path)
{
    while (path->n > 0) {
        const uint32_t above = path->above[--path->n];
        const uint64_t sum = subtree_sum(at, above);
        if (at[above].tie == sum)
            return;
        at[above].tie = sum;
    }
}

void first_fit_remove(struct block_entry *at, uint32_t *root, uint32_t b)
{
    struct first_fit_path path;
    *first_fit_go_down(at, root, b, &path) = first_fit_join(at, at[b].left, at[b].right);
    first_fit_go_up(at, &path);
}

void first_fit_update(struct block_entry *at, uint32_t root, uint32_t b)
{
    struct first_fit_path path;
    const uint64_t sum = subtree_sum(at, b);
    if (at[b].tie == sum)                        /* a larger block is below it: nothing changes above */
        return;
    first_fit_go_down(at, &root, b, &path);
    at[b].tie = sum;
    first_fit_go_up(at, &path);
}

/* The lowest block that is large enough. */
static uint32_t first_fit_find_lowest(const struct block_entry *at, uint32_t root, uint64_t size)
{
    if (root == BLOCK_NONE || at[root].tie < size)
        return BLOCK_NONE;
    for (;;) {
        const uint32_t left = at[root].left;
        if (left != BLOCK_NONE && at[left].tie >= size)
            root = left;
        else if (at[root].size >= size)
            return root;
        else
            root = at[root].right;
    }
}

uint32_t first_fit_find(const struct block_entry *at, uint32_t root, uint64_t from, uint64_t size)
{
    if (from == 0)
        return first_fit_find_lowest(at, root, size);
    if (subtree_largest(at, root) < size || root == BLOCK_NONE)
        return BLOCK_NONE;
    if (at[root].addr < from)
        return first_fit_find(at, at[root].right, from, size);
    const uint32_t left = first_fit_find(at, at[root].left, from, size);
    if (left != BLOCK_NONE || at[root].size >= size)
        return left != BLOCK_NONE ? left : root;
    return first_fit_find(at, at[root].right, from, size);
}

uint32_t first_fit_holding(const struct block_entry *at, uint32_t root, uint64_t addr)
{
    uint32_t found = BLOCK_NONE;
    while (root != BLOCK_NONE) {
        const bool is_below = at[root].addr <= addr;
        found = is_below ? root : found;
        root = is_below ? at[root].right : at[root].left;
    }
    return found;
}

uint32_t first_fit_largest(const struct block_entry *at, uint32_t root)
{
    return root == BLOCK_NONE ? BLOCK_NONE : first_fit_find(at, root, 0, at[root].tie);
}
