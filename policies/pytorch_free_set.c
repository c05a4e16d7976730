/* Treaps inside the bins, and walks over them; the layout is explained in the header. */
#include "policies/pytorch_free_set.h"

#include <stdlib.h>

/* ---- bins ---- */

/* The last bin < `bin` that is not empty, N_BINS when there is none. */
static unsigned bin_before(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = bin % 64 == 0 ? 0 : f->words[bin / 64] & ~(~UINT64_C(0) << bin % 64);
    if (here != 0)
        return bin / 64 * 64 + log2_floor(here);
    const uint64_t below = f->summary & ~(~UINT64_C(0) << bin / 64);   /* bin <= N_BINS < 64 * 64 */
    if (below == 0)
        return N_BINS;
    const unsigned w = log2_floor(below);
    return w * 64 + log2_floor(f->words[w]);
}

/* ---- the treap in a bin ---- */

/* Heap order of the treap: a fixed mixing of the block's number, so that runs repeat exactly. */
static uint32_t treap_rank(uint32_t b)
{
    b = (b ^ b >> 16) * 0x7feb352du;
    b = (b ^ b >> 15) * 0x846ca68bu;
    return b ^ b >> 16;
}

/* Distributes the tree at `b` over *less and *more, around `key`. */
static void treap_split(struct pytorch_block *at, uint32_t b, const struct pytorch_block *key, uint32_t *less,
                        uint32_t *more)
{
    while (b != BLOCK_NONE) {
        if (block_before(&at[b], key)) {
            *less = b;
            less = &at[b].right;
            b = at[b].right;
        } else {
            *more = b;
            more = &at[b].left;
            b = at[b].left;
        }
    }
    *less = BLOCK_NONE;
    *more = BLOCK_NONE;
}

static void treap_insert(struct pytorch_block *at, uint32_t *root, uint32_t b)
{
    const uint32_t rank = treap_rank(b);
    while (*root != BLOCK_NONE && treap_rank(*root) >= rank)
        root = block_before(&at[b], &at[*root]) ? &at[*root].left : &at[*root].right;
    treap_split(at, *root, &at[b], &at[b].left, &at[b].right);
    *root = b;
}

static void treap_remove(struct pytorch_block *at, uint32_t *root, uint32_t b)
{
    while (*root != b)
        root = block_before(&at[b], &at[*root]) ? &at[*root].left : &at[*root].right;
    uint32_t less = at[b].left, more = at[b].right;
    while (less != BLOCK_NONE && more != BLOCK_NONE) {
        if (treap_rank(less) >= treap_rank(more)) {
            *root = less;
            root = &at[less].right;
            less = at[less].right;
        } else {
            *root = more;
            root = &at[more].left;
            more = at[more].left;
        }
    }
    *root = less != BLOCK_NONE ? less : more;
}

/* Makes a treap of a list. */
static void treap_from_list(struct pytorch_block *at, uint32_t *root)
{
    uint32_t b = *root;
    *root = BLOCK_NONE;
    while (b != BLOCK_NONE) {
        const uint32_t behind = at[b].right;
        treap_insert(at, root, b);
        b = behind;
    }
}

uint32_t free_set_at_least_tree(const struct pytorch_block *at, uint32_t root, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = root; b != BLOCK_NONE;) {
        const bool is_large = at[b].size >= size;
        found = is_large ? b : found;
        b = is_large ? at[b].left : at[b].right;
    }
    return found;
}

static uint32_t treap_first(const struct pytorch_block *at, uint32_t b)
{
    while (b != BLOCK_NONE && at[b].left != BLOCK_NONE)
        b = at[b].left;
    return b;
}

static uint32_t treap_last(const struct pytorch_block *at, uint32_t b)
{
    while (b != BLOCK_NONE && at[b].right != BLOCK_NONE)
        b = at[b].right;
    return b;
}

/* ---- a bin ---- */

/* A bin that is not empty. */
static uint32_t bin_first(const struct free_bins *f, const struct pytorch_block *at, unsigned bin)
{
    return bin_is_tree(f, bin) ? treap_first(at, f->root[bin]) : f->root[bin];
}

static uint32_t bin_last(const struct free_bins *f, const struct pytorch_block *at, unsigned bin)
{
    return treap_last(at, f->root[bin]);         /* a list is a tree whose left branches nobody looks at */
}

/* ---- the set ---- */

enum err free_set_open(struct free_set *s, struct pytorch_blocks *blocks, const struct stream_name *names,
                       uint32_t n_streams)
{
    struct free_bins **by_stream = calloc(n_streams, sizeof *by_stream);
    uint16_t *order = calloc(n_streams, sizeof *order);
    if (by_stream == NULL || order == NULL) {
        free(by_stream);
        free(order);
        return ERR_HOST_NOMEM;
    }
    *s = (struct free_set){.blocks = blocks, .names = names, .by_stream = by_stream, .order = order,
                           .n_streams = n_streams};
    return ERR_OK;
}

void free_set_close(struct free_set *s)
{
    for (uint32_t i = 0; i < s->n_order; i++)
        free(s->by_stream[s->order[i]]);
    free(s->by_stream);
    free(s->order);
}

enum err free_set_add_stream(struct free_set *s, uint16_t stream)
{
    struct free_bins *f = calloc(1, sizeof *f);
    if (f == NULL)
        return ERR_HOST_NOMEM;
    s->by_stream[stream] = f;
    uint32_t i = s->n_order++;
    for (; i > 0 && s->names[s->order[i - 1]].handle > s->names[stream].handle; i--)
        s->order[i] = s->order[i - 1];
    s->order[i] = stream;
    return ERR_OK;
}

void free_bins_insert_tree(struct free_bins *f, struct pytorch_block *at, unsigned bin, uint32_t b)
{
    if (!bin_is_tree(f, bin))
        treap_from_list(at, &f->root[bin]);
    f->length[bin] = BIN_IS_TREE;
    treap_insert(at, &f->root[bin], b);
}

void free_bins_remove_tree(struct free_bins *f, struct pytorch_block *at, unsigned bin, uint32_t b)
{
    treap_remove(at, &f->root[bin], b);
    f->length[bin] = f->root[bin] == BLOCK_NONE ? 0 : BIN_IS_TREE;
}

uint32_t free_bins_from(const struct free_bins *f, const struct pytorch_block *at, unsigned from)
{
    const unsigned bin = bin_from(f, from);
    return bin == N_BINS ? BLOCK_NONE : bin_first(f, at, bin);
}

static uint32_t bins_last(const struct free_set *s, const struct free_bins *f, unsigned before)
{
    const unsigned bin = bin_before(f, before);
    return bin == N_BINS ? BLOCK_NONE : bin_last(f, s->blocks->at, bin);
}

/* The last block of a bin with less than `size` bytes. */
static uint32_t bin_below(const struct free_bins *f, const struct pytorch_block *at, unsigned bin, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = f->root[bin]; b != BLOCK_NONE;) {
        const bool is_small = at[b].size < size;
        if (!is_small && !bin_is_tree(f, bin))
            break;
        found = is_small ? b : found;
        b = is_small ? at[b].right : at[b].left;
    }
    return found;
}

uint32_t free_set_below(const struct free_set *s, uint16_t stream, uint64_t size)
{
    const struct free_bins *f = s->by_stream[stream];
    if (f == NULL)
        return BLOCK_NONE;
    const unsigned bin = bin_of(size);
    const uint32_t found = bin_below(f, s->blocks->at, bin, size);
    return found != BLOCK_NONE ? found : bins_last(s, f, bin);
}

/* The first block of the streams at place i of the order and behind. */
static uint32_t free_set_first_from(const struct free_set *s, uint32_t i)
{
    for (; i < s->n_order; i++) {
        const uint32_t b = free_bins_from(s->by_stream[s->order[i]], s->blocks->at, 0);
        if (b != BLOCK_NONE)
            return b;
    }
    return BLOCK_NONE;
}

/* The last block of the streams before place i of the order. */
static uint32_t free_set_last_before(const struct free_set *s, uint32_t i)
{
    while (i-- > 0) {
        const uint32_t b = bins_last(s, s->by_stream[s->order[i]], N_BINS);
        if (b != BLOCK_NONE)
            return b;
    }
    return BLOCK_NONE;
}

static uint32_t free_set_place(const struct free_set *s, uint16_t stream)
{
    uint32_t i = 0;
    while (s->order[i] != stream)
        i++;
    return i;
}

uint32_t free_set_first(const struct free_set *s)
{
    return free_set_first_from(s, 0);
}

/* The neighbour of b in its treap, behind it in order A or before it; BLOCK_NONE where b is its last or first. */
static uint32_t treap_beside(const struct pytorch_block *at, uint32_t root, uint32_t b, bool is_behind)
{
    uint32_t found = BLOCK_NONE;
    while (root != BLOCK_NONE) {
        const bool may_be = is_behind ? block_before(&at[b], &at[root]) : block_before(&at[root], &at[b]);
        found = may_be ? root : found;
        root = may_be == is_behind ? at[root].left : at[root].right;
    }
    return found;
}

uint32_t free_set_next(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = bin_is_tree(f, bin) ? treap_beside(at, f->root[bin], b, true) : at[b].right;
    if (found == BLOCK_NONE)
        found = free_bins_from(f, at, bin + 1);
    return found != BLOCK_NONE ? found : free_set_first_from(s, free_set_place(s, at[b].stream) + 1);
}

uint32_t free_set_prev(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = bin_is_tree(f, bin) ? treap_beside(at, f->root[bin], b, false) : at[b].left;
    if (found == BLOCK_NONE)
        found = bins_last(s, f, bin);
    return found != BLOCK_NONE ? found : free_set_last_before(s, free_set_place(s, at[b].stream));
}

uint64_t free_set_largest(const struct free_set *s)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < s->n_order; i++) {
        const uint32_t b = bins_last(s, s->by_stream[s->order[i]], N_BINS);
        if (b != BLOCK_NONE && s->blocks->at[b].size > largest)
            largest = s->blocks->at[b].size;
    }
    return largest;
}
