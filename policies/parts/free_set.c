/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Long bins, and walks over all bins. free_set.h explains the layout. */
#include "policies/parts/free_set.h"

#include "base/array.h"

#include <stdlib.h>

/* ---- bins ---- */

/* The last bin < `bin` that is not empty; n_bins if there is none. */
static unsigned bin_before(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = bin % 64 == 0 ? 0 : f->words[bin / 64] & ~(~UINT64_C(0) << bin % 64);
    if (here != 0)
        return bin / 64 * 64 + log2_floor(here);
    const uint64_t below = f->summary & ~(~UINT64_C(0) << bin / 64);   /* bin <= N_BINS < 64 * 64 */
    if (below == 0)
        return f->n_bins;
    const unsigned w = log2_floor(below);
    return w * 64 + log2_floor(f->words[w]);
}

/* ---- the blocks of one size in a long bin ---- */

/*
 * A pairing heap, as links of its blocks:
 *
 *     treap node      top                     `left` and `right` are its children in the treap
 *                      | below
 *                      v      right
 *                      b1 ----------> b2      `left` of b1 is top, `left` of b2 is b1; both have is_below
 *                      | below
 *                      v
 *                      b3
 *
 * A block comes before all that are below it. `below` is the first block of the list below it, `right` the next block
 * in the same list, and `left` the previous one, or for the first the block above.
 */

/* Puts b at the head of the list below a. */
static void block_put_below(struct block_entry *at, uint32_t a, uint32_t b)
{
    const uint32_t first = at[a].below;
    at[b].is_below = true;
    at[b].left = a;
    at[b].right = first;
    at[first].left = b;                                  /* BLOCK_NONE's may be overwritten */
    at[a].below = b;
}

/* Melds two heaps; returns the top. */
static uint32_t blocks_meld_two(struct block_entry *at, uint32_t a, uint32_t b)
{
    const bool is_less = at[b].tie < at[a].tie;
    const uint32_t top = is_less ? b : a;
    block_put_below(at, top, is_less ? a : b);
    return top;
}

/* Melds a list of heaps: in pairs, and then the results one by one from the last to the first. Returns the top, which
 * the caller must still put into its place. */
static uint32_t blocks_meld(struct block_entry *at, uint32_t first)
{
    uint32_t done = BLOCK_NONE, next;
    for (uint32_t b = first; b != BLOCK_NONE; b = next) {
        const uint32_t second = at[b].right;
        uint32_t top = b;
        next = second;
        if (second != BLOCK_NONE) {
            next = at[second].right;
            top = blocks_meld_two(at, b, second);
        }
        at[top].right = done;
        done = top;
    }
    uint32_t top = done;
    for (uint32_t b = at[top].right; b != BLOCK_NONE; b = next) {
        next = at[b].right;
        top = blocks_meld_two(at, top, b);
    }
    return top;
}

/* Melds everything below b into one heap; returns its top, BLOCK_NONE if nothing is below b. */
static uint32_t block_heir(struct block_entry *at, uint32_t b)
{
    const uint32_t first = at[b].below;
    return first == BLOCK_NONE || at[first].right == BLOCK_NONE ? first : blocks_meld(at, first);
}

/* Puts b in the place of the block that the link points to. The `left` of the block to the right is left to the
 * caller. */
static void block_take_place(struct block_entry *at, uint32_t *link, uint32_t b)
{
    const struct block_entry *before = &at[*link];
    at[b].left = before->left;
    at[b].right = before->right;
    at[b].is_below = before->is_below;
    *link = b;
}

/* Removes a block that is below another. */
static void block_take_from_below(struct block_entry *at, uint32_t b)
{
    const uint32_t before = at[b].left, heir = block_heir(at, b);
    uint32_t *link = at[before].below == b ? &at[before].below : &at[before].right;
    if (heir == BLOCK_NONE) {
        *link = at[b].right;
        at[*link].left = before;
    } else {
        block_take_place(at, link, heir);
        at[at[heir].right].left = heir;
    }
}

/* Inserts b into the heap that the link points to: below its top, or as its new top. */
static void blocks_insert(struct block_entry *at, uint32_t *link, uint32_t b)
{
    const uint32_t top = *link;
    if (at[b].tie < at[top].tie) {
        block_take_place(at, link, b);
        block_put_below(at, b, top);
    } else {
        block_put_below(at, top, b);
    }
}

/* The next block after `b` of its size, under which all others then are; BLOCK_NONE if `b` is the last. No block beside
 * or above `b` may come after it in order. */
static uint32_t block_next(struct block_entry *at, uint32_t b)
{
    const uint32_t heir = block_heir(at, b);
    if (heir != BLOCK_NONE) {
        at[b].below = heir;
        at[heir].left = b;
        at[heir].right = BLOCK_NONE;
    }
    return heir;
}

/* The last block of one size before `end`, in order; `end` BLOCK_NONE: the last of all. */
static uint32_t block_last(struct block_entry *at, uint32_t top, uint32_t end)
{
    uint32_t next;
    while ((next = block_next(at, top)) != end)
        top = next;
    return top;
}

/* ---- the treap in a bin ---- */

/* The treap's heap order: a fixed mix of the size, so that runs repeat exactly. */
static uint64_t treap_rank(const struct block_entry *b)
{
    const uint64_t mixed = b->size * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* The link to the heap of that size, or to where it would be inserted. */
static uint32_t *treap_find(struct block_entry *at, uint32_t *root, uint64_t size)
{
    while (*root != BLOCK_NONE && at[*root].size != size)
        root = size < at[*root].size ? &at[*root].left : &at[*root].right;
    return root;
}

/* Splits the tree at `b` into *less and *more, by a size that it does not contain. */
static void treap_split(struct block_entry *at, uint32_t b, uint64_t size, uint32_t *less, uint32_t *more)
{
    while (b != BLOCK_NONE) {
        if (at[b].size < size) {
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

/* Inserts a block as the heap of a size that the treap does not contain. */
static void treap_insert(struct block_entry *at, uint32_t *root, uint32_t b)
{
    const uint64_t rank = treap_rank(&at[b]);
    while (*root != BLOCK_NONE && treap_rank(&at[*root]) >= rank)
        root = at[b].size < at[*root].size ? &at[*root].left : &at[*root].right;
    treap_split(at, *root, at[b].size, &at[b].left, &at[b].right);
    at[b].is_below = false;
    *root = b;
}

/* Removes the node that the link points to. */
static void treap_remove(struct block_entry *at, uint32_t *link)
{
    uint32_t less = at[*link].left, more = at[*link].right;
    while (less != BLOCK_NONE && more != BLOCK_NONE) {
        if (treap_rank(&at[less]) >= treap_rank(&at[more])) {
            *link = less;
            link = &at[less].right;
            less = at[less].right;
        } else {
            *link = more;
            link = &at[more].left;
            more = at[more].left;
        }
    }
    *link = less != BLOCK_NONE ? less : more;
}

/* The top of the smallest size of at least `size` bytes; BLOCK_NONE if there is none. */
static uint32_t treap_at_least(const struct block_entry *at, uint32_t root, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = root; b != BLOCK_NONE;) {
        const bool is_large = at[b].size >= size;
        found = is_large ? b : found;
        b = is_large ? at[b].left : at[b].right;
    }
    return found;
}

/* The top of the largest size below `size` bytes; BLOCK_NONE if there is none. */
static uint32_t treap_below(const struct block_entry *at, uint32_t root, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    for (uint32_t b = root; b != BLOCK_NONE;) {
        const bool is_small = at[b].size < size;
        found = is_small ? b : found;
        b = is_small ? at[b].right : at[b].left;
    }
    return found;
}

/* ---- a bin ---- */

/* The head of a short bin's list, or the root of a long bin's treap. */
static uint32_t bin_root(const struct free_bins *f, unsigned bin)
{
    return f->root[bin] & ~BIN_IS_LONG;
}

static void long_set_root(struct free_bins *f, unsigned bin, uint32_t root)
{
    f->root[bin] = root == BLOCK_NONE ? BLOCK_NONE : root | BIN_IS_LONG;
}

/* Turns a short bin into a long one: of one size each block is put below the one before it. */
static void bin_lengthen(struct free_bins *f, struct block_entry *at, unsigned bin)
{
    uint32_t next, last = BLOCK_NONE, root = BLOCK_NONE;
    for (uint32_t b = f->root[bin]; b != BLOCK_NONE; b = next) {
        next = at[b].right;
        at[b].below = BLOCK_NONE;
        if (last != BLOCK_NONE && at[last].size == at[b].size)
            block_put_below(at, last, b);
        else
            treap_insert(at, &root, b);
        last = b;
    }
    long_set_root(f, bin, root);
}

/* Gives empty bins a table of its own, of 2^shift bins of bin_of each. False: no memory. */
static bool bins_open_table(struct free_bins *f, unsigned shift)
{
    const unsigned n_bins = ((N_BINS - 1u) >> shift) + 1, n_words = (n_bins + 1) / 64 + 1;
    uint64_t *words = calloc(1, n_words * sizeof *f->words + (n_bins + 1) * sizeof *f->root);
    if (words == NULL)
        return false;
    f->summary = 0;
    f->words = words;
    f->root = (uint32_t *)(words + n_words);
    f->n_bins = (uint16_t)n_bins;
    f->shift = (uint8_t)shift;
    f->list_steps = shift == 0 ? LIST_STEPS : LIST_STEPS_COARSE;
    return true;
}

static void bins_close_table(struct free_bins *f)
{
    if (f->words != &f->first_word)
        free(f->words);
}

/* Moves all blocks to finer bins. False: no bins are finer, or no memory. */
static bool bins_refine(struct free_bins *f, struct block_entry *at)
{
    if (f->shift == 0)
        return false;
    free_bins_touch(f);
    struct free_bins fine = *f;
    if (!bins_open_table(&fine, f->shift - (unsigned)BIN_SPLIT_BITS))
        return false;
    for (uint32_t b; (b = free_bins_from(f, at, 0)) != BLOCK_NONE;) {
        free_bins_remove(f, at, b);
        free_bins_insert(&fine, at, b);
    }
    bins_close_table(f);
    *f = fine;
    return true;
}

unsigned free_bins_insert_long(struct free_bins *f, struct block_entry *at, uint32_t b)
{
    if (bins_refine(f, at)) {
        free_bins_insert(f, at, b);
        return at[b].bin;
    }
    const unsigned bin = at[b].bin;
    if (!bin_is_long(f, bin))
        bin_lengthen(f, at, bin);
    uint32_t root = bin_root(f, bin), *link = treap_find(at, &root, at[b].size);
    at[b].below = BLOCK_NONE;
    if (*link != BLOCK_NONE)
        blocks_insert(at, link, b);
    else
        treap_insert(at, &root, b);
    long_set_root(f, bin, root);
    return bin;
}

void free_bins_remove_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint32_t b)
{
    assert(bin_is_long(f, bin));
    if (at[b].is_below) {
        block_take_from_below(at, b);
        return;
    }
    uint32_t root = bin_root(f, bin), *link = treap_find(at, &root, at[b].size);
    const uint32_t heir = block_heir(at, b);
    if (heir == BLOCK_NONE)
        treap_remove(at, link);
    else
        block_take_place(at, link, heir);
    long_set_root(f, bin, root);
}

uint32_t free_bins_at_least_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint64_t size)
{
    if (!bin_is_long(f, bin))
        bin_lengthen(f, at, bin);
    return treap_at_least(at, bin_root(f, bin), size);
}

/* The first block of a bin; BLOCK_NONE if it is empty. */
static uint32_t bin_first(const struct free_bins *f, const struct block_entry *at, unsigned bin)
{
    uint32_t b = bin_root(f, bin);
    while (bin_is_long(f, bin) && at[b].left != BLOCK_NONE)
        b = at[b].left;
    return b;
}

/* The last block of a bin with less than `size` bytes; in a long bin the top of that size. */
static uint32_t bin_below(struct free_bins *f, struct block_entry *at, unsigned bin, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    int steps = 0;
    for (uint32_t b = f->root[bin]; !bin_is_long(f, bin) && at[b].size < size; b = at[b].right) {
        found = b;
        if (steps++ == f->list_steps)
            bin_lengthen(f, at, bin);
    }
    return bin_is_long(f, bin) ? treap_below(at, bin_root(f, bin), size) : found;
}

/* ---- the streams of a set ---- */

struct stream_handle {
    uint64_t handle;
    uint32_t stream;
};

static int stream_handle_compare(const void *a, const void *b)
{
    const struct stream_handle *x = a, *y = b;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

enum err free_set_places(const struct stream_name *names, uint32_t n_streams, uint16_t *places)
{
    struct stream_handle *order = calloc(n_streams, sizeof *order);
    if (order == NULL)
        return ERR_HOST_NOMEM;
    for (uint32_t i = 0; i < n_streams; i++)
        order[i] = (struct stream_handle){.handle = names[i].handle, .stream = i};
    qsort(order, n_streams, sizeof *order, stream_handle_compare);
    for (uint32_t i = 0; i < n_streams; i++)
        places[order[i].stream] = (uint16_t)i;
    free(order);
    return ERR_OK;
}

void free_set_reorder(struct free_set *s)
{
    struct free_streams *o = s->streams;
    if (o == NULL)
        return;
    o->n_stale = 0;
    for (uint32_t i = 0; i < o->n; i++)
        max_tree_put(&o->largest, s->by_stream[o->added[i]]->place, 0);
    for (uint32_t i = 0; i < o->n; i++) {
        struct free_bins *f = s->by_stream[o->added[i]];
        f->place = o->places[o->added[i]];
        f->is_stale = true;
        o->at[f->place] = o->added[i];
        o->stale[o->n_stale++] = f->place;
    }
}

static void free_streams_destroy(struct free_streams *o)
{
    if (o == NULL)
        return;
    max_tree_close(&o->largest);
    free(o->at);
    free(o->stale);
    free(o->added);
    free(o);
}

static struct free_streams *free_streams_create(const uint16_t *places, uint32_t n_streams)
{
    struct free_streams *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    o->places = places;
    o->at = calloc(n_streams, sizeof *o->at);
    o->stale = calloc(n_streams, sizeof *o->stale);
    o->added = calloc(n_streams, sizeof *o->added);
    if (o->at != NULL && o->stale != NULL && o->added != NULL && max_tree_open(&o->largest, n_streams) == ERR_OK)
        return o;
    free_streams_destroy(o);
    return NULL;
}

/* ---- the set ---- */

enum err free_set_open(struct free_set *s, struct block_table *blocks, const uint16_t *places, uint32_t n_streams)
{
    struct free_bins **by_stream = calloc(n_streams, sizeof *by_stream);
    struct free_streams *streams = free_streams_create(places, n_streams);
    if (by_stream == NULL || streams == NULL) {
        free(by_stream);
        free_streams_destroy(streams);
        return ERR_HOST_NOMEM;
    }
    *s = (struct free_set){.blocks = blocks, .by_stream = by_stream, .streams = streams};
    return ERR_OK;
}

void free_set_close(struct free_set *s)
{
    for (uint32_t i = 0; s->streams != NULL && i < s->streams->n; i++) {
        struct free_bins *f = s->by_stream[s->streams->added[i]];
        bins_close_table(f);
        free(f);
    }
    free(s->by_stream);
    free_streams_destroy(s->streams);
}

enum err free_set_add_stream(struct free_set *s, uint16_t stream)
{
    struct free_bins *f = malloc(sizeof *f);
    if (f == NULL)
        return ERR_HOST_NOMEM;
    struct free_streams *o = s->streams;
    assert(s->by_stream[stream] == NULL);
    *f = (struct free_bins){.words = &f->first_word, .root = f->first_root, .n_bins = 1, .shift = BIN_SHIFT_ONE,
                            .list_steps = LIST_STEPS_COARSE, .streams = o,
                            .place = o->places == NULL ? (uint16_t)o->n : o->places[stream]};
    o->at[f->place] = stream;
    o->added[o->n++] = stream;
    s->by_stream[stream] = f;
    return ERR_OK;
}

uint32_t free_bins_from(const struct free_bins *f, const struct block_entry *at, unsigned from)
{
    return bin_first(f, at, bin_from(f, from));
}

uint32_t free_bins_next(const struct free_bins *f, struct block_entry *at, uint32_t b)
{
    const unsigned bin = at[b].bin;
    uint32_t found = at[b].right;
    if (bin_is_long(f, bin) && (found = block_next(at, b)) == BLOCK_NONE)
        found = treap_at_least(at, bin_root(f, bin), at[b].size + 1);
    return found != BLOCK_NONE ? found : free_bins_from(f, at, bin + 1);
}

/* The last block with less than `size` bytes in the bins up to number `bin`; if that bin is long, the top of its
 * size. */
static uint32_t bins_below(const struct free_set *s, struct free_bins *f, unsigned bin, uint64_t size)
{
    const uint32_t found = bin_below(f, s->blocks->at, bin, size);
    return found != BLOCK_NONE ? found : bin_below(f, s->blocks->at, bin_before(f, bin), size);
}

/* The last block in order of the size that `b` is the top of; in a short bin `b` itself. */
static uint32_t last_of_size(const struct free_set *s, const struct free_bins *f, uint32_t b)
{
    struct block_entry *at = s->blocks->at;
    return b != BLOCK_NONE && bin_is_long(f, at[b].bin) ? block_last(at, b, BLOCK_NONE) : b;
}

uint32_t free_set_below(const struct free_set *s, uint16_t stream, uint64_t size)
{
    struct free_bins *f = s->by_stream[stream];
    return f == NULL ? BLOCK_NONE : last_of_size(s, f, bins_below(s, f, bin_in(f, size), size));
}

/* The bins of the stream at a place of the order; NULL for no place. */
static struct free_bins *bins_at(const struct free_set *s, uint32_t place)
{
    return place == MAX_TREE_NONE ? NULL : s->by_stream[s->streams->at[place]];
}

/* The streams of the set, with the largest blocks that they have now. A set that was never opened has none. */
static const struct max_tree *free_set_settle(const struct free_set *s)
{
    static const struct max_tree no_streams;
    struct free_streams *o = s->streams;
    if (o == NULL)
        return &no_streams;
    while (o->n_stale > 0) {
        const uint16_t place = o->stale[--o->n_stale];
        struct free_bins *f = bins_at(s, place);
        const uint32_t b = bins_below(s, f, f->n_bins, UINT64_MAX);
        f->is_stale = false;
        max_tree_put(&o->largest, place, b == BLOCK_NONE ? 0 : s->blocks->at[b].size);
    }
    return &o->largest;
}

/* The first block of at least `size` (> 0) bytes of the first stream that has one, from a place of the order on. */
static uint32_t free_set_first_from(const struct free_set *s, uint32_t place, uint64_t size)
{
    struct free_bins *f = bins_at(s, max_tree_from(free_set_settle(s), place, size));
    return f == NULL ? BLOCK_NONE : free_bins_at_least(f, s->blocks->at, size);
}

/* The last block of the streams before a place of the order. */
static uint32_t free_set_last_before(const struct free_set *s, uint32_t place)
{
    struct free_bins *f = bins_at(s, max_tree_before(free_set_settle(s), place, 1));
    return f == NULL ? BLOCK_NONE : last_of_size(s, f, bins_below(s, f, f->n_bins, UINT64_MAX));
}

uint32_t free_set_elsewhere(const struct free_set *s, uint16_t stream, uint64_t size, bool is_last_first)
{
    const struct max_tree *largest = free_set_settle(s);
    const uint64_t least = size > 0 ? size : 1;
    uint32_t place = is_last_first ? max_tree_before(largest, UINT32_MAX, least) : max_tree_from(largest, 0, least);
    if (place != MAX_TREE_NONE && s->streams->at[place] == stream)
        place = is_last_first ? max_tree_before(largest, place, least) : max_tree_from(largest, place + 1, least);
    return free_bins_at_least(bins_at(s, place), s->blocks->at, size);
}

uint32_t free_set_first(const struct free_set *s)
{
    return free_set_first_from(s, 0, 1);
}

uint32_t free_set_next(const struct free_set *s, uint32_t b)
{
    return free_set_next_large(s, b, 1);
}

uint32_t free_set_next_large(const struct free_set *s, uint32_t b, uint64_t size)
{
    if (b == BLOCK_NONE)
        return free_set_first_from(s, 0, size);
    struct block_entry *at = s->blocks->at;
    const struct free_bins *f = s->by_stream[at[b].stream];
    const uint32_t found = free_bins_next(f, at, b);
    return found != BLOCK_NONE ? found : free_set_first_from(s, f->place + 1u, size);
}

uint32_t free_set_prev(const struct free_set *s, uint32_t b)
{
    struct block_entry *at = s->blocks->at;
    struct free_bins *f = s->by_stream[at[b].stream];
    const unsigned bin = at[b].bin;
    if (!bin_is_long(f, bin) && at[b].left != BLOCK_NONE)
        return at[b].left;
    if (bin_is_long(f, bin) && at[b].is_below)
        return block_last(at, treap_at_least(at, bin_root(f, bin), at[b].size), b);
    const uint32_t found = last_of_size(s, f, bins_below(s, f, bin, at[b].size));
    return found != BLOCK_NONE ? found : free_set_last_before(s, f->place);
}

struct place_in_order {
    uint32_t place, block;                       /* of its stream */
    uint64_t size, tie;
};

static int place_compare(const void *a, const void *b)
{
    const struct place_in_order *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

enum err free_set_sort(const struct free_set *s, uint32_t *blocks, size_t n)
{
    if (n < 2)
        return ERR_OK;
    struct place_in_order *order = malloc(array_bytes(n, sizeof *order));
    if (order == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct block_entry *b = &s->blocks->at[blocks[i]];
        order[i] = (struct place_in_order){.place = s->by_stream[b->stream]->place, .block = blocks[i],
                                           .size = b->size, .tie = b->tie};
    }
    qsort(order, n, sizeof *order, place_compare);
    for (size_t i = 0; i < n; i++)
        blocks[i] = order[i].block;
    free(order);
    return ERR_OK;
}

bool free_set_has_equal(const struct free_set *s, uint32_t b)
{
    const struct block_entry *at = s->blocks->at, *block = &at[b];
    if (bin_is_long(s->by_stream[block->stream], block->bin))
        return block->is_below || block->below != BLOCK_NONE;
    return at[block->right].size == block->size || (block->left != BLOCK_NONE && at[block->left].size == block->size);
}

uint64_t free_set_largest(const struct free_set *s)
{
    return max_tree_largest(free_set_settle(s));
}
