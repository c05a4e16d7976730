/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The tree: down to a leaf by place or by size, and up again as far as something changes. */
#include "policies/parts/first_fit.h"

#include "base/array.h"
#include "base/sixteen.h"
#include "base/large_pages.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* What is below a node in one cell. */
struct first_fit_cell {
    int32_t  largest;
    uint32_t below;
    uint64_t end;
};

/* ---- the nodes ---- */

enum err first_fit_open(struct first_fit *f, struct block_table *blocks, uint64_t unit, uint32_t n_sets)
{
    *f = (struct first_fit){.blocks = blocks, .n = 1, .n_sets = n_sets, .unit_shift = log2_floor(unit)};
    return first_fit_reserve(f);
}

void first_fit_close(struct first_fit *f)
{
    free(f->nodes);
}

enum err first_fit_grow(struct first_fit *f, uint32_t cap)
{
    const size_t bytes = array_bytes(cap, sizeof *f->nodes);
    struct first_fit_node *nodes = bytes == SIZE_MAX ? NULL : aligned_alloc(alignof(struct first_fit_node), bytes);
    if (nodes == NULL)
        return ERR_HOST_NOMEM;
    large_pages_want(nodes, bytes);
    if (f->nodes != NULL)
        memcpy(nodes, f->nodes, f->n * sizeof *nodes);
    free(f->nodes);
    f->nodes = nodes;
    f->cap = cap;
    return ERR_OK;
}

static uint32_t first_fit_node_new(struct first_fit *f, unsigned level)
{
    uint32_t i = f->vacant;
    if (i != 0)
        f->vacant = f->nodes[i].above;
    else
        i = f->n++;
    assert(i < f->cap);
    struct first_fit_node *made = &f->nodes[i];
    *made = (struct first_fit_node){.level = (uint16_t)level};
    memset(made->end, 0xff, sizeof made->end);
    return i;
}

static void first_fit_node_drop(struct first_fit *f, uint32_t i)
{
    f->nodes[i].above = f->vacant;
    f->vacant = i;
}

/* ---- one node ---- */

static inline int32_t first_fit_units(const struct first_fit *f, uint64_t size)
{
    const uint64_t units = size >> f->unit_shift;
    return units < INT32_MAX ? (int32_t)units : INT32_MAX;
}

/* The number of cells that end at or before a place: the cell where it belongs. */
static inline unsigned first_fit_cell_of(const struct first_fit_node *node, uint64_t place)
{
    unsigned k = 0;
    for (int i = 0; i < FIRST_FIT_MOST; i++)
        k += node->end[i] <= place;
    return k;
}

/* The cell in which a node has `below`. */
static inline unsigned first_fit_cell_with(const struct first_fit_node *node, uint32_t below)
{
    const uint32_t cells = sixteen_equal((const int32_t *)node->below, (int32_t)below);
    assert(cells != 0);
    return (unsigned)__builtin_ctz(cells);
}

/* What the node above says of a node, which is not empty. */
static inline struct first_fit_cell first_fit_cell_of_node(const struct first_fit *f, uint32_t i)
{
    const struct first_fit_node *node = &f->nodes[i];
    return (struct first_fit_cell){.largest = sixteen_largest(node->largest), .below = i,
                                   .end = node->end[node->n - 1]};
}

static inline struct first_fit_cell first_fit_cell_of_block(const struct first_fit *f, uint32_t b)
{
    const struct block_entry *block = &f->blocks->at[b];
    assert((block->size & ((UINT64_C(1) << f->unit_shift) - 1)) == 0);
    return (struct first_fit_cell){.largest = first_fit_units(f, block->size), .below = b,
                                   .end = block->tie + block->size};
}

static inline void first_fit_set(struct first_fit_node *node, unsigned k, struct first_fit_cell cell)
{
    node->largest[k] = cell.largest;
    node->below[k] = cell.below;
    node->end[k] = cell.end;
}

static inline struct first_fit_cell first_fit_get(const struct first_fit_node *node, unsigned k)
{
    return (struct first_fit_cell){.largest = node->largest[k], .below = node->below[k], .end = node->end[k]};
}

/* Tells what is in a cell which node it is below. */
static inline void first_fit_link(struct first_fit *f, uint32_t i, uint32_t below)
{
    if (f->nodes[i].level == 0)
        f->blocks->at[below].left = i;
    else
        f->nodes[below].above = i;
}

/* Makes room at cell k of a node, and fills it. */
static void first_fit_open_cell(struct first_fit *f, uint32_t i, unsigned k, struct first_fit_cell cell)
{
    struct first_fit_node *node = &f->nodes[i];
    assert(node->n < FIRST_FIT_MOST && k <= node->n);
    for (unsigned from = node->n++; from > k; from--)
        first_fit_set(node, from, first_fit_get(node, from - 1));
    first_fit_set(node, k, cell);
    first_fit_link(f, i, cell.below);
}

static void first_fit_close_cell(struct first_fit *f, uint32_t i, unsigned k)
{
    struct first_fit_node *node = &f->nodes[i];
    for (node->n--; k < node->n; k++)
        first_fit_set(node, k, first_fit_get(node, k + 1));
    first_fit_set(node, k, (struct first_fit_cell){.end = UINT64_MAX});
}

/* Moves the cells of a node from cell k on to the end of another on its level. */
static void first_fit_move_cells(struct first_fit *f, uint32_t from, unsigned k, uint32_t to)
{
    struct first_fit_node *node = &f->nodes[from];
    for (unsigned n = node->n; k < n; k++, node->n--) {
        first_fit_open_cell(f, to, f->nodes[to].n, first_fit_get(node, k));
        first_fit_set(node, k, (struct first_fit_cell){.end = UINT64_MAX});
    }
}

/* Changes cell k of a node, and the cells above it as far as they change. The sizes beside the new one are read before
 * it is written: a vector that is read over a number just written waits for it to reach the cache. */
static void first_fit_change(struct first_fit *f, uint32_t i, unsigned k, struct first_fit_cell cell)
{
    for (;;) {
        struct first_fit_node *node = &f->nodes[i];
        const int32_t others = sixteen_largest_but(node->largest, (int32_t)k);
        node->largest[k] = cell.largest;
        node->end[k] = cell.end;
        if (node->above == 0)
            return;
        const struct first_fit_node *above = &f->nodes[node->above];
        k = first_fit_cell_with(above, i);
        cell = (struct first_fit_cell){.largest = others > cell.largest ? others : cell.largest, .below = i,
                                       .end = node->end[node->n - 1]};
        if ((above->largest[k] == cell.largest) & (above->end[k] == cell.end))
            return;
        i = node->above;
    }
}

/* A node, which is not empty, has gained or lost a cell; `largest` is that of all its cells now. */
static void first_fit_go_up(struct first_fit *f, uint32_t i, int32_t largest)
{
    const struct first_fit_node *node = &f->nodes[i];
    if (node->above != 0)
        first_fit_change(f, node->above, first_fit_cell_with(&f->nodes[node->above], i),
                         (struct first_fit_cell){.largest = largest, .below = i, .end = node->end[node->n - 1]});
}

/* ---- changes ---- */

/* The leaf where a place belongs, in a set that is not empty. */
static uint32_t first_fit_leaf(const struct first_fit *f, uint32_t root, uint64_t place)
{
    while (f->nodes[root].level > 0) {
        const struct first_fit_node *node = &f->nodes[root];
        const unsigned k = first_fit_cell_of(node, place);
        root = node->below[k - (k == node->n)];
    }
    return root;
}

/* Moves the upper half of a full node to a new one after it, which is returned. */
static uint32_t first_fit_split(struct first_fit *f, uint32_t *root, uint32_t i)
{
    const unsigned level = f->nodes[i].level;
    if (f->nodes[i].above == 0) {
        *root = first_fit_node_new(f, level + 1);
        first_fit_open_cell(f, *root, 0, first_fit_cell_of_node(f, i));
    } else if (f->nodes[f->nodes[i].above].n == FIRST_FIT_MOST) {
        first_fit_split(f, root, f->nodes[i].above);
    }
    const uint32_t above = f->nodes[i].above, high = first_fit_node_new(f, level);
    const unsigned k = first_fit_cell_with(&f->nodes[above], i);
    first_fit_move_cells(f, i, FIRST_FIT_MOST / 2, high);
    first_fit_set(&f->nodes[above], k, first_fit_cell_of_node(f, i));
    first_fit_open_cell(f, above, k + 1, first_fit_cell_of_node(f, high));
    return high;
}

void first_fit_insert(struct first_fit *f, uint32_t *root, uint32_t b)
{
    const uint64_t place = f->blocks->at[b].tie;
    if (*root == 0)
        *root = first_fit_node_new(f, 0);
    uint32_t leaf = first_fit_leaf(f, *root, place);
    if (f->nodes[leaf].n == FIRST_FIT_MOST) {
        const uint32_t high = first_fit_split(f, root, leaf);
        leaf = f->nodes[leaf].end[f->nodes[leaf].n - 1] <= place ? high : leaf;
    }
    const struct first_fit_cell cell = first_fit_cell_of_block(f, b);
    const int32_t others = sixteen_largest(f->nodes[leaf].largest);
    first_fit_open_cell(f, leaf, first_fit_cell_of(&f->nodes[leaf], place), cell);
    first_fit_go_up(f, leaf, others > cell.largest ? others : cell.largest);
}

/* How many cells the nodes in two neighbouring cells have. */
static unsigned first_fit_cells_of_two(const struct first_fit *f, const struct first_fit_node *above, unsigned low)
{
    return (unsigned)f->nodes[above->below[low]].n + f->nodes[above->below[low + 1]].n;
}

/* Moves all of the node in cell k + 1 to that in cell k. */
static void first_fit_join(struct first_fit *f, uint32_t above, unsigned k)
{
    const uint32_t low = f->nodes[above].below[k], high = f->nodes[above].below[k + 1];
    first_fit_move_cells(f, high, 0, low);
    first_fit_node_drop(f, high);
    first_fit_close_cell(f, above, k + 1);
    first_fit_set(&f->nodes[above], k, first_fit_cell_of_node(f, low));
}

/* A root with one node below it is not needed, and one with none is an empty set. */
static void first_fit_lower_root(struct first_fit *f, uint32_t *root)
{
    while (f->nodes[*root].level > 0 && f->nodes[*root].n == 1) {
        const uint32_t below = f->nodes[*root].below[0];
        first_fit_node_drop(f, *root);
        f->nodes[below].above = 0;
        *root = below;
    }
    if (f->nodes[*root].n == 0) {
        first_fit_node_drop(f, *root);
        *root = 0;
    }
}

/* A node has lost a cell. */
static void first_fit_shrink(struct first_fit *f, uint32_t *root, uint32_t i)
{
    while (f->nodes[i].above != 0 && f->nodes[i].n < FIRST_FIT_FEW) {
        const uint32_t above = f->nodes[i].above;
        const struct first_fit_node *node = &f->nodes[above];
        const unsigned k = first_fit_cell_with(node, i);
        if (f->nodes[i].n == 0) {
            first_fit_node_drop(f, i);
            first_fit_close_cell(f, above, k);
            if (node->n > 0)
                first_fit_go_up(f, above, sixteen_largest(node->largest));
        } else if (k + 1 < node->n && first_fit_cells_of_two(f, node, k) <= FIRST_FIT_FEW) {
            first_fit_join(f, above, k);
        } else if (k > 0 && first_fit_cells_of_two(f, node, k - 1) <= FIRST_FIT_FEW) {
            first_fit_join(f, above, k - 1);
        } else {
            return;
        }
        i = above;
    }
    if (f->nodes[i].above == 0)
        first_fit_lower_root(f, root);
}

void first_fit_remove(struct first_fit *f, uint32_t *root, uint32_t b)
{
    const uint32_t leaf = f->blocks->at[b].left;
    const unsigned k = first_fit_cell_with(&f->nodes[leaf], b);
    const int32_t others = sixteen_largest_but(f->nodes[leaf].largest, (int32_t)k);
    first_fit_close_cell(f, leaf, k);
    if (f->nodes[leaf].n > 0)
        first_fit_go_up(f, leaf, others);
    first_fit_shrink(f, root, leaf);
}

void first_fit_update(struct first_fit *f, uint32_t b)
{
    const uint32_t leaf = f->blocks->at[b].left;
    first_fit_change(f, leaf, first_fit_cell_with(&f->nodes[leaf], b), first_fit_cell_of_block(f, b));
}

/* ---- searches ---- */

/* The lowest block of at least `size` bytes in some cells of a node, or after them in the tree. */
static uint32_t first_fit_search(const struct first_fit *f, uint32_t i, uint32_t cells, uint64_t size)
{
    const int32_t units = first_fit_units(f, size), least = units > 0 ? units : 1;
    for (;;) {
        const struct first_fit_node *node = &f->nodes[i];
        const uint32_t fit = sixteen_at_least(node->largest, least) & cells;
        if (fit == 0) {                          /* on the way down only if the search did not begin in the root */
            if (node->above == 0)
                return BLOCK_NONE;
            cells = ~UINT32_C(1) << first_fit_cell_with(&f->nodes[node->above], i);
            i = node->above;
            continue;
        }
        const unsigned k = (unsigned)__builtin_ctz(fit);
        if (node->level > 0) {
            i = node->below[k];
            cells = ~UINT32_C(0);
        } else if (f->blocks->at[node->below[k]].size >= size) {
            return node->below[k];
        } else {                                 /* both are larger than `largest` can tell */
            cells = ~UINT32_C(1) << k;
        }
    }
}

uint32_t first_fit_find(const struct first_fit *f, uint32_t root, uint64_t from, uint64_t size)
{
    if (root == 0)
        return BLOCK_NONE;
    if (from == 0)
        return first_fit_search(f, root, ~UINT32_C(0), size);
    const uint32_t leaf = first_fit_leaf(f, root, from);
    const struct first_fit_node *node = &f->nodes[leaf];
    const unsigned k = first_fit_cell_of(node, from);
    const bool is_inside = k < node->n && f->blocks->at[node->below[k]].tie < from;
    return first_fit_search(f, leaf, ~UINT32_C(0) << (k + is_inside), size);
}

uint32_t first_fit_holding(const struct first_fit *f, uint32_t root, uint64_t place)
{
    if (root == 0)
        return BLOCK_NONE;
    const struct first_fit_node *node = &f->nodes[first_fit_leaf(f, root, place)];
    const unsigned k = first_fit_cell_of(node, place);
    return k < node->n && f->blocks->at[node->below[k]].tie <= place ? node->below[k] : BLOCK_NONE;
}

uint32_t first_fit_largest(const struct first_fit *f, uint32_t root)
{
    const int32_t units = root == 0 ? 0 : sixteen_largest(f->nodes[root].largest);
    uint32_t best = first_fit_find(f, root, 0, (uint64_t)units << f->unit_shift), b = best;
    while (units == INT32_MAX && b != BLOCK_NONE) {      /* that many or more */
        best = b;
        b = first_fit_find(f, root, 0, f->blocks->at[b].size + 1);
    }
    return best;
}

uint64_t first_fit_largest_bytes(const struct first_fit *f, uint32_t root)
{
    const int32_t units = root == 0 ? 0 : sixteen_largest(f->nodes[root].largest);
    return units < INT32_MAX ? (uint64_t)units << f->unit_shift : f->blocks->at[first_fit_largest(f, root)].size;
}

/* ---- checking ---- */

/* Whether what is below cell k is as the cell says. */
static bool first_fit_is_cell_sound(const struct first_fit *f, uint32_t i, unsigned k)
{
    const struct first_fit_node *node = &f->nodes[i];
    const struct first_fit_cell is = first_fit_get(node, k);
    const bool is_leaf = node->level == 0;
    const struct first_fit_cell want = is_leaf ? first_fit_cell_of_block(f, is.below)
                                               : first_fit_cell_of_node(f, is.below);
    const uint32_t above = is_leaf ? f->blocks->at[is.below].left : f->nodes[is.below].above;
    return is.largest == want.largest && is.end == want.end && above == i && (k == 0 || node->end[k - 1] < is.end) &&
           (is_leaf || (f->nodes[is.below].level + 1 == node->level && first_fit_is_sound(f, is.below)));
}

bool first_fit_is_sound(const struct first_fit *f, uint32_t root)
{
    const struct first_fit_node *node = &f->nodes[root];
    bool is_sound = root == 0 || node->n > 0;
    for (unsigned k = 0; root != 0 && k < node->n && is_sound; k++)
        is_sound = first_fit_is_cell_sound(f, root, k) &&
                   (node->level == 0 || k + 1u == node->n || first_fit_cells_of_two(f, node, k) > FIRST_FIT_MOST / 2);
    return is_sound;
}
