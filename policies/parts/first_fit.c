/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The treap: splits and merges along one path. */
#include "policies/parts/first_fit.h"

#include "base/random.h"

/* The larger of two blocks, of equal ones the first. `a` and `b` may be BLOCK_NONE, but not both. */
static uint32_t larger(const struct block_entry *at, uint32_t a, uint32_t b)
{
    if (a == BLOCK_NONE || b == BLOCK_NONE)
        return a | b;
    return at[b].size > at[a].size ? b : a;
}

/* Finds the largest block of a subtree anew. Its children are right. */
static void first_fit_sum(struct block_entry *at, uint32_t b)
{
    const uint32_t left = first_fit_largest(at, at[b].left), right = first_fit_largest(at, at[b].right);
    at[b].below = larger(at, larger(at, left, b), right);
}

static bool first_fit_is_above(uint32_t a, uint32_t b)
{
    return random_mix(a) > random_mix(b);
}

/* Divides a subtree into the blocks below an address and the others. */
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
    first_fit_sum(at, root);
}

/* Joins two subtrees, all of whose addresses are in this order. */
static uint32_t first_fit_join(struct block_entry *at, uint32_t low, uint32_t high)
{
    if (low == BLOCK_NONE || high == BLOCK_NONE)
        return low | high;
    uint32_t root;
    if (first_fit_is_above(low, high)) {
        at[low].right = first_fit_join(at, at[low].right, high);
        root = low;
    } else {
        at[high].left = first_fit_join(at, low, at[high].left);
        root = high;
    }
    first_fit_sum(at, root);
    return root;
}

void first_fit_insert(struct block_entry *at, uint32_t *root, uint32_t b)
{
    if (*root == BLOCK_NONE || first_fit_is_above(b, *root)) {
        uint32_t low, high;
        first_fit_divide(at, *root, at[b].addr, &low, &high);
        at[b].left = low;
        at[b].right = high;
        *root = b;
    } else {
        uint32_t *child = at[b].addr < at[*root].addr ? &at[*root].left : &at[*root].right;
        first_fit_insert(at, child, b);
    }
    first_fit_sum(at, *root);
}

void first_fit_remove(struct block_entry *at, uint32_t *root, uint32_t b)
{
    if (*root == b) {
        *root = first_fit_join(at, at[b].left, at[b].right);
        return;
    }
    assert(*root != BLOCK_NONE);
    uint32_t *child = at[b].addr < at[*root].addr ? &at[*root].left : &at[*root].right;
    first_fit_remove(at, child, b);
    first_fit_sum(at, *root);
}

uint32_t first_fit_find(const struct block_entry *at, uint32_t root, uint64_t from, uint64_t size)
{
    if (root == BLOCK_NONE || at[at[root].below].size < size)
        return BLOCK_NONE;
    if (at[root].addr < from)
        return first_fit_find(at, at[root].right, from, size);
    const uint32_t left = first_fit_find(at, at[root].left, from, size);
    if (left != BLOCK_NONE || at[root].size >= size)
        return left != BLOCK_NONE ? left : root;
    return first_fit_find(at, at[root].right, from, size);
}
