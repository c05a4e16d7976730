/* Bins by size, treaps inside; the layout is explained in the header. */
#include "policies/pytorch_blocks.h"

#include "base/units.h"

#include <stdlib.h>

/* ---- the table ---- */

enum err pytorch_blocks_hold(struct pytorch_blocks *t, uint64_t n)
{
    if (n < t->cap)                              /* entry 0 is none of them */
        return ERR_OK;
    const uint64_t doubled = t->cap < 128 ? 256 : 2 * (uint64_t)t->cap, cap = n < doubled ? doubled : n + 1;
    if (cap > UINT32_MAX)
        return ERR_HOST_NOMEM;
    struct pytorch_block *at = realloc(t->at, cap * sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    if (t->cap == 0) {
        at[BLOCK_NONE] = (struct pytorch_block){.addr = UINT64_MAX, .size = UINT64_MAX, .ord = UINT64_MAX,
                                                .flags = BLOCK_IS_ALLOCATED};
        t->n = 1;
    }
    t->at = at;
    t->cap = (uint32_t)cap;
    return ERR_OK;
}

enum err pytorch_blocks_grow(struct pytorch_blocks *t, uint32_t n)
{
    uint32_t spare = t->cap - t->n;
    for (uint32_t b = t->vacant; spare < n && b != BLOCK_NONE; b = t->at[b].next)
        spare++;
    return spare >= n ? ERR_OK : pytorch_blocks_hold(t, (uint64_t)t->n + n);
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
    t->at[b] = (struct pytorch_block){.flags = BLOCK_IS_USED};
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
    N_BIN_WORDS = 64,
};
static_assert(N_BINS < 64 * N_BIN_WORDS, "one summary word covers all");

/* A short bin is a list in order, linked by `left` and `right`, so that most searches are a look and a removal needs
 * none; one that would grow beyond LIST_MAX becomes a treap, until it is empty. */
enum { LIST_MAX = 64, BIN_IS_TREE = LIST_MAX + 1 };

/* Bit i of words[w] says that root[64 w + i] is not empty, bit w of `summary` that words[w] is not 0. `length` is that
 * of a list, or BIN_IS_TREE. */
struct free_bins {
    uint64_t summary;
    uint64_t words[N_BIN_WORDS];
    uint32_t root[N_BINS];
    uint8_t  length[N_BINS];
};

static unsigned bit_lowest(uint64_t w)
{
    return (unsigned)__builtin_ctzll(w);
}

static unsigned bit_highest(uint64_t w)
{
    return 63u - (unsigned)__builtin_clzll(w);
}

/* Without a branch: sizes come in any order, so that a guess which case is next would often be wrong. */
static unsigned bin_of(uint64_t size)
{
    const uint64_t units = size >> BIN_UNIT_SHIFT;
    const unsigned shift = bit_highest(units | 1u << BIN_SPLIT_BITS) - BIN_SPLIT_BITS;
    return (shift << BIN_SPLIT_BITS) + (unsigned)(units >> shift);
}

static void bin_mark(struct free_bins *f, unsigned bin)
{
    f->words[bin / 64] |= UINT64_C(1) << bin % 64;
    f->summary |= UINT64_C(1) << bin / 64;
}

/* Clears the bit of a bin that became empty, again without a branch. */
static void bin_unmark(struct free_bins *f, unsigned bin)
{
    const uint64_t is_empty = f->root[bin] == BLOCK_NONE;
    const uint64_t word = f->words[bin / 64] &= ~(is_empty << bin % 64);
    f->summary &= ~((uint64_t)(word == 0) << bin / 64);
}

/* The first bin >= `bin` (<= N_BINS) that is not empty, N_BINS when there is none. */
static unsigned bin_from(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = f->words[bin / 64] & ~UINT64_C(0) << bin % 64;
    const uint64_t above = f->summary & ~UINT64_C(1) << bin / 64;
    if ((here | above) == 0)
        return N_BINS;
    const unsigned w = here != 0 ? bin / 64 : bit_lowest(above);
    return w * 64 + bit_lowest(f->words[w] & (here != 0 ? here : ~UINT64_C(0)));
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

/* ---- the list in a bin ---- */

/* Whether a comes before b in order A; both belong to the same stream. */
static inline bool block_before(const struct pytorch_block *a, const struct pytorch_block *b)
{
    const bool is_first = (a->ord < b->ord) | ((a->ord == b->ord) & (a->addr < b->addr));
    return (a->size < b->size) | ((a->size == b->size) & is_first);
}

static void list_insert(struct pytorch_block *at, uint32_t *head, uint32_t b)
{
    uint32_t *link = head, before = BLOCK_NONE;
    while (block_before(&at[*link], &at[b])) {           /* the last one stops at BLOCK_NONE */
        before = *link;
        link = &at[before].right;
    }
    const uint32_t behind = *link;
    at[b].left = before;
    at[b].right = behind;
    *link = b;
    at[behind].left = b;
}

static void list_remove(struct pytorch_block *at, uint32_t *head, uint32_t b)
{
    const uint32_t before = at[b].left, behind = at[b].right;
    at[before].right = behind;
    at[behind].left = before;
    *head = *head == b ? behind : *head;
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

static bool bin_is_tree(const struct free_bins *f, unsigned bin)
{
    return f->length[bin] == BIN_IS_TREE;
}

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

void free_set_insert(struct free_set *s, uint32_t b)
{
    struct pytorch_block *at = s->blocks->at;
    struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    if (f->length[bin] >= LIST_MAX) {
        if (f->length[bin] == LIST_MAX)
            treap_from_list(at, &f->root[bin]);
        f->length[bin] = BIN_IS_TREE;
        treap_insert(at, &f->root[bin], b);
        return;
    }
    f->length[bin]++;
    list_insert(at, &f->root[bin], b);
    bin_mark(f, bin);
}

void free_set_remove(struct free_set *s, uint32_t b)
{
    struct pytorch_block *at = s->blocks->at;
    struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    if (bin_is_tree(f, bin)) {
        treap_remove(at, &f->root[bin], b);
        f->length[bin] = f->root[bin] == BLOCK_NONE ? 0 : BIN_IS_TREE;
    } else {
        list_remove(at, &f->root[bin], b);
        f->length[bin]--;
    }
    bin_unmark(f, bin);
}

/* The first block of a bin with at least `size` bytes. */
static uint32_t bin_at_least(const struct free_bins *f, const struct pytorch_block *at, unsigned bin, uint64_t size)
{
    uint32_t b = f->root[bin];
    if (!bin_is_tree(f, bin)) {
        while (at[b].size < size)
            b = at[b].right;
        return b;
    }
    uint32_t found = BLOCK_NONE;
    while (b != BLOCK_NONE) {
        const bool is_large = at[b].size >= size;
        found = is_large ? b : found;
        b = is_large ? at[b].left : at[b].right;
    }
    return found;
}

static uint32_t bins_first(const struct free_set *s, const struct free_bins *f, unsigned from)
{
    const unsigned bin = bin_from(f, from);
    return bin == N_BINS ? BLOCK_NONE : bin_first(f, s->blocks->at, bin);
}

static uint32_t bins_last(const struct free_set *s, const struct free_bins *f, unsigned before)
{
    const unsigned bin = bin_before(f, before);
    return bin == N_BINS ? BLOCK_NONE : bin_last(f, s->blocks->at, bin);
}

uint32_t free_set_at_least(const struct free_set *s, uint16_t stream, uint64_t size)
{
    const struct free_bins *f = s->by_stream[stream];
    if (f == NULL)
        return BLOCK_NONE;
    const struct pytorch_block *at = s->blocks->at;
    const unsigned bin = bin_from(f, bin_of(size));
    if (bin == N_BINS)
        return BLOCK_NONE;
    const uint32_t found = bin_at_least(f, at, bin, size);
    return found != BLOCK_NONE ? found : bins_first(s, f, bin + 1);
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

/* The neighbour of b in its treap, in order A; BLOCK_NONE where b is its first or last. */
static uint32_t treap_next(const struct pytorch_block *at, uint32_t root, uint32_t b)
{
    uint32_t found = BLOCK_NONE;
    while (root != BLOCK_NONE) {
        const bool is_behind = block_before(&at[b], &at[root]);
        found = is_behind ? root : found;
        root = is_behind ? at[root].left : at[root].right;
    }
    return found;
}

static uint32_t treap_prev(const struct pytorch_block *at, uint32_t root, uint32_t b)
{
    uint32_t found = BLOCK_NONE;
    while (root != BLOCK_NONE) {
        const bool is_before = block_before(&at[root], &at[b]);
        found = is_before ? root : found;
        root = is_before ? at[root].right : at[root].left;
    }
    return found;
}

uint32_t free_set_next(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = bin_is_tree(f, bin) ? treap_next(at, f->root[bin], b) : at[b].right;
    if (found == BLOCK_NONE)
        found = bins_first(s, f, bin + 1);
    return found != BLOCK_NONE ? found : free_set_first_from(s, free_set_place(s, at[b].stream) + 1);
}

uint32_t free_set_prev(const struct free_set *s, uint32_t b)
{
    const struct pytorch_block *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = bin_of(at[b].size);
    uint32_t found = bin_is_tree(f, bin) ? treap_prev(at, f->root[bin], b) : at[b].left;
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
