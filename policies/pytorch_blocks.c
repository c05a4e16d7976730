/* Bins by size, treaps inside; the layout is explained in the header. */
#include "policies/pytorch_blocks.h"

#include "base/units.h"

#include <stdlib.h>

/* ---- the table ---- */

enum err pytorch_blocks_grow(struct pytorch_blocks *t, uint32_t n)
{
    uint32_t spare = t->cap - t->n;
    for (uint32_t b = t->vacant; spare < n && b != BLOCK_NONE && t->cap > 0; b = t->at[b].next)
        spare++;
    if (spare >= n)
        return ERR_OK;
    uint64_t cap = t->cap == 0 ? 256 : 2 * (uint64_t)t->cap;
    while (cap - t->n < n)
        cap *= 2;
    if (cap >= BLOCK_NONE)
        return ERR_HOST_NOMEM;
    struct pytorch_block *at = realloc(t->at, cap * sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    if (t->cap == 0)
        t->vacant = BLOCK_NONE;
    t->at = at;
    t->cap = (uint32_t)cap;
    return ERR_OK;
}

void pytorch_blocks_close(struct pytorch_blocks *t)
{
    free(t->at);
}

uint32_t pytorch_block_new(struct pytorch_blocks *t)
{
    uint32_t b = t->vacant;
    if (b != BLOCK_NONE) {
        t->vacant = t->at[b].next;
    } else {
        assert(t->n < t->cap);
        b = t->n++;
    }
    t->at[b] = (struct pytorch_block){.prev = BLOCK_NONE, .next = BLOCK_NONE, .flags = BLOCK_IS_USED};
    return b;
}

void pytorch_block_drop(struct pytorch_blocks *t, uint32_t b)
{
    t->at[b].flags = 0;
    t->at[b].next = t->vacant;
    t->vacant = b;
}

/* ---- bins ---- */

enum {
    BIN_UNIT_SHIFT = 9,                        /* sizes are multiples of 512, but for one old release's mistake */
    BIN_SPLIT_BITS = 6,                        /* each power of two is cut into 64 bins */
    BIN_EXACT = 2 << BIN_SPLIT_BITS,           /* below this many units a bin holds one size */
    N_BINS = BIN_EXACT + (64 - BIN_UNIT_SHIFT - BIN_SPLIT_BITS - 1) * (1 << BIN_SPLIT_BITS),
    N_BIN_WORDS = (N_BINS + 63) / 64,
};
static_assert(N_BIN_WORDS <= 64, "one summary word covers all");

/* Bit i of words[w] says that root[64 w + i] is not empty, bit w of `summary` that words[w] is not 0. */
struct free_bins {
    uint64_t summary;
    uint64_t words[N_BIN_WORDS];
    uint32_t root[N_BINS];
};

static unsigned bit_lowest(uint64_t w)
{
    return (unsigned)__builtin_ctzll(w);
}

static unsigned bit_highest(uint64_t w)
{
    return 63u - (unsigned)__builtin_clzll(w);
}

static unsigned bin_of(uint64_t size)
{
    const uint64_t units = size >> BIN_UNIT_SHIFT;
    if (units < BIN_EXACT)
        return (unsigned)units;
    const unsigned e = bit_highest(units);
    const unsigned part = (unsigned)(units >> (e - BIN_SPLIT_BITS)) & ((1u << BIN_SPLIT_BITS) - 1);
    return BIN_EXACT + (e - BIN_SPLIT_BITS - 1) * (1u << BIN_SPLIT_BITS) + part;
}

static void bin_mark(struct free_bins *f, unsigned bin)
{
    f->words[bin / 64] |= UINT64_C(1) << bin % 64;
    f->summary |= UINT64_C(1) << bin / 64;
}

static void bin_unmark(struct free_bins *f, unsigned bin)
{
    f->words[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    if (f->words[bin / 64] == 0)
        f->summary &= ~(UINT64_C(1) << bin / 64);
}

/* The first bin >= `bin` that is not empty, N_BINS when there is none. */
static unsigned bin_from(const struct free_bins *f, unsigned bin)
{
    if (bin >= N_BINS)
        return N_BINS;
    const uint64_t here = f->words[bin / 64] & ~UINT64_C(0) << bin % 64;
    if (here != 0)
        return bin / 64 * 64 + bit_lowest(here);
    const uint64_t above = bin / 64 == 63 ? 0 : f->summary & ~UINT64_C(0) << (bin / 64 + 1);
    if (above == 0)
        return N_BINS;
    const unsigned w = bit_lowest(above);
    return w * 64 + bit_lowest(f->words[w]);
}

/* The last bin < `bin` that is not empty, N_BINS when there is none. */
static unsigned bin_before(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = bin % 64 == 0 ? 0 : f->words[bin / 64] & ~(~UINT64_C(0) << bin % 64);
    if (here != 0)
        return bin / 64 * 64 + bit_highest(here);
    const uint64_t below = f->summary & ~(~UINT64_C(0) << bin / 64);   /* bin <= N_BINS < 64 * 64 */
    if (below == 0)
        return N_BINS;
    const unsigned w = bit_highest(below);
    return w * 64 + bit_highest(f->words[w]);
}

/* ---- the treap in a bin ---- */

/* Heap order of the treap: a fixed mixing of the block's number, so that runs repeat exactly. */
static uint32_t treap_rank(uint32_t b)
{
    b = (b ^ b >> 16) * 0x7feb352du;
    b = (b ^ b >> 15) * 0x846ca68bu;
    return b ^ b >> 16;
}

static bool block_before(const struct pytorch_block *a, const struct pytorch_block *b)
{
    if (a->size != b->size)
        return a->size < b->size;
    if (a->ord != b->ord)
        return a->ord < b->ord;
    return a->addr < b->addr;
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
    if (*root == BLOCK_NONE) {                   /* most bins are empty */
        at[b].left = at[b].right = BLOCK_NONE;
        *root = b;
        return;
    }
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
    for (unsigned i = 0; i < N_BINS; i++)
        f->root[i] = BLOCK_NONE;
    s->by_stream[stream] = f;
    uint32_t i = s->n_order++;
    for (; i > 0 && s->names[s->order[i - 1]].handle > s->names[stream].handle; i--)
        s->order[i] = s->order[i - 1];
    s->order[i] = stream;
    return ERR_OK;
}

void free_set_insert(struct free_set *s, uint32_t b)
{
    struct pytorch_block *at = s->blocks->at;
    struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    treap_insert(at, &f->root[bin], b);
    bin_mark(f, bin);
}

void free_set_remove(struct free_set *s, uint32_t b)
{
    struct pytorch_block *at = s->blocks->at;
    struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    treap_remove(at, &f->root[bin], b);
    if (f->root[bin] == BLOCK_NONE)
        bin_unmark(f, bin);
}

uint32_t free_set_at_least(const struct free_set *s, uint16_t stream, uint64_t size)
{
    const struct free_bins *f = s->by_stream[stream];
    if (f == NULL)
        return BLOCK_NONE;
    const struct pytorch_block *at = s->blocks->at;
    const unsigned bin = bin_of(size);
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = f->root[bin]; b != BLOCK_NONE;) {
        if (at[b].size >= size) {
            found = b;
            b = at[b].left;
        } else {
            b = at[b].right;
        }
    }
    if (found != BLOCK_NONE)
        return found;
    const unsigned above = bin_from(f, bin + 1);
    return above == N_BINS ? BLOCK_NONE : treap_first(at, f->root[above]);
}

static uint32_t bins_first(const struct free_set *s, const struct free_bins *f, unsigned from)
{
    const unsigned bin = bin_from(f, from);
    return bin == N_BINS ? BLOCK_NONE : treap_first(s->blocks->at, f->root[bin]);
}

static uint32_t bins_last(const struct free_set *s, const struct free_bins *f, unsigned before)
{
    const unsigned bin = bin_before(f, before);
    return bin == N_BINS ? BLOCK_NONE : treap_last(s->blocks->at, f->root[bin]);
}

uint32_t free_set_below(const struct free_set *s, uint16_t stream, uint64_t size)
{
    const struct free_bins *f = s->by_stream[stream];
    if (f == NULL)
        return BLOCK_NONE;
    const struct pytorch_block *at = s->blocks->at;
    const unsigned bin = bin_of(size);
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = f->root[bin]; b != BLOCK_NONE;) {
        if (at[b].size < size) {
            found = b;
            b = at[b].right;
        } else {
            b = at[b].left;
        }
    }
    return found != BLOCK_NONE ? found : bins_last(s, f, bin);
}

/* The first block of the streams at place i of the order and behind. */
static uint32_t free_set_first_from(const struct free_set *s, uint32_t i)
{
    for (; i < s->n_order; i++) {
        const uint32_t b = bins_first(s, s->by_stream[s->order[i]], 0);
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

uint32_t free_set_next(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = BLOCK_NONE;
    for (uint32_t i = f->root[bin]; i != BLOCK_NONE;) {
        if (block_before(&at[b], &at[i])) {
            found = i;
            i = at[i].left;
        } else {
            i = at[i].right;
        }
    }
    if (found == BLOCK_NONE)
        found = bins_first(s, f, bin + 1);
    return found != BLOCK_NONE ? found : free_set_first_from(s, free_set_place(s, at[b].stream) + 1);
}

uint32_t free_set_prev(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = BLOCK_NONE;
    for (uint32_t i = f->root[bin]; i != BLOCK_NONE;) {
        if (block_before(&at[i], &at[b])) {
            found = i;
            i = at[i].right;
        } else {
            i = at[i].left;
        }
    }
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
