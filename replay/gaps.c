/* Stretches are split from their low end only, so taking never makes a node; giving back makes one at most. */
#include "replay/gaps.h"

#include <stdlib.h>

struct gap {
    uint64_t addr, bytes;
    uint64_t longest;                /* of this node and all below it */
    uint32_t left, right;
    uint32_t priority;               /* not less than that of any node below */
};

enum { NONE = 0 };

static void gap_measure(struct gaps *g, uint32_t i)
{
    struct gap *x = &g->at[i];
    const uint64_t left = g->at[x->left].longest, right = g->at[x->right].longest;
    x->longest = x->bytes;
    x->longest = left > x->longest ? left : x->longest;
    x->longest = right > x->longest ? right : x->longest;
}

/* ---- the tree ---- */

/* Puts all of `low`, whose addresses are lower, and all of `high` together. */
static uint32_t tree_join(struct gaps *g, uint32_t low, uint32_t high)
{
    if (low == NONE || high == NONE)
        return low != NONE ? low : high;
    if (g->at[low].priority > g->at[high].priority) {
        g->at[low].right = tree_join(g, g->at[low].right, high);
        gap_measure(g, low);
        return low;
    }
    g->at[high].left = tree_join(g, low, g->at[high].left);
    gap_measure(g, high);
    return high;
}

/* Cuts a tree into what begins before `addr` and the rest. */
static void tree_cut(struct gaps *g, uint32_t tree, uint64_t addr, uint32_t *low, uint32_t *high)
{
    if (tree == NONE) {
        *low = *high = NONE;
        return;
    }
    if (g->at[tree].addr < addr) {
        tree_cut(g, g->at[tree].right, addr, &g->at[tree].right, high);
        *low = tree;
    } else {
        tree_cut(g, g->at[tree].left, addr, low, &g->at[tree].left);
        *high = tree;
    }
    gap_measure(g, tree);
}

static void node_release(struct gaps *g, uint32_t i)
{
    g->at[i].left = g->free;
    g->free = i;
}

/* Takes the first stretch, or the last one, off a tree that is not empty. */
static uint32_t tree_drop_edge(struct gaps *g, uint32_t tree, bool is_last, struct gap *edge)
{
    const uint32_t below = is_last ? g->at[tree].right : g->at[tree].left;
    if (below == NONE) {
        *edge = g->at[tree];
        node_release(g, tree);
        return is_last ? edge->left : edge->right;
    }
    const uint32_t rest = tree_drop_edge(g, below, is_last, edge);
    *(is_last ? &g->at[tree].right : &g->at[tree].left) = rest;
    gap_measure(g, tree);
    return tree;
}

/* The first stretch of a tree, or the last one; NONE of an empty tree. */
static const struct gap *tree_edge(const struct gaps *g, uint32_t tree, bool is_last)
{
    uint32_t below;
    while ((below = is_last ? g->at[tree].right : g->at[tree].left) != NONE)
        tree = below;
    return &g->at[tree];
}

/* ---- the line ---- */

static enum err node_reserve(struct gaps *g)
{
    if (g->free != NONE || g->n < g->cap)
        return ERR_OK;
    const uint32_t more = g->cap == 0 ? 64 : g->cap * 2;
    struct gap *grown = more > g->cap ? realloc(g->at, more * sizeof *grown) : NULL;
    if (grown == NULL)
        return ERR_HOST_NOMEM;
    g->at = grown;
    g->cap = more;
    return ERR_OK;
}

/* A tree of one stretch; room was reserved. */
static uint32_t node_make(struct gaps *g, uint64_t addr, uint64_t bytes)
{
    const uint32_t i = g->free != NONE ? g->free : g->n++;
    if (i == g->free)
        g->free = g->at[i].left;
    g->random ^= g->random << 13;                /* xorshift (Marsaglia, "Xorshift RNGs", 2003) */
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    g->at[i] = (struct gap){ .addr = addr, .bytes = bytes, .longest = bytes, .priority = (uint32_t)(g->random >> 32) };
    return i;
}

enum err gaps_open(struct gaps *out)
{
    struct gaps g = { .random = UINT64_C(0x9e3779b97f4a7c15) };
    if (node_reserve(&g) != ERR_OK)
        return ERR_HOST_NOMEM;
    g.at[g.n++] = (struct gap){ .bytes = 0 };
    g.root = node_make(&g, 0, UINT64_MAX);
    *out = g;
    return ERR_OK;
}

void gaps_close(struct gaps *g)
{
    free(g->at);
    *g = (struct gaps){ .at = NULL };
}

/* Takes from the leftmost stretch that is long enough; the tree has one. Returns the tree that is left. */
static uint32_t tree_take(struct gaps *g, uint32_t tree, uint64_t bytes, uint64_t *addr)
{
    struct gap *x = &g->at[tree];
    if (g->at[x->left].longest >= bytes) {
        x->left = tree_take(g, x->left, bytes, addr);
    } else if (x->bytes >= bytes) {
        *addr = x->addr;
        x->addr += bytes;
        x->bytes -= bytes;
        if (x->bytes == 0) {
            const uint32_t rest = tree_join(g, x->left, x->right);
            node_release(g, tree);
            return rest;
        }
    } else {
        x->right = tree_take(g, x->right, bytes, addr);
    }
    gap_measure(g, tree);
    return tree;
}

bool gaps_take(struct gaps *g, uint64_t bytes, uint64_t *addr)
{
    if (g->at[g->root].longest < bytes)
        return false;
    g->root = tree_take(g, g->root, bytes, addr);
    if (*addr + bytes > g->height)
        g->height = *addr + bytes;
    return true;
}

enum err gaps_give(struct gaps *g, uint64_t addr, uint64_t bytes)
{
    struct gap beside;
    uint32_t low, high;
    if (node_reserve(g) != ERR_OK)
        return ERR_HOST_NOMEM;
    tree_cut(g, g->root, addr, &low, &high);
    if (low != NONE && tree_edge(g, low, true)->addr + tree_edge(g, low, true)->bytes == addr) {
        low = tree_drop_edge(g, low, true, &beside);
        addr = beside.addr;
        bytes += beside.bytes;
    }
    if (high != NONE && tree_edge(g, high, false)->addr == addr + bytes) {
        high = tree_drop_edge(g, high, false, &beside);
        bytes += beside.bytes;
    }
    g->root = tree_join(g, tree_join(g, low, node_make(g, addr, bytes)), high);
    return ERR_OK;
}
