/*
 * Ordered sets of free blocks.
 *
 * The allocator's every decision goes through one order (order A): stream handle, size, and what decides ties. A set
 * keeps a table of bins for each stream: bins hold neighbouring sizes and never overlap, and a bitmap finds the next
 * bin that is not empty. A bin of few blocks is a list in order: a search is a look and one or two comparisons, and a
 * removal needs none. Nobody counts the blocks of a list; but who has taken many steps in one makes it a long bin.
 *
 * A long bin is a treap of its sizes, and the blocks of one size hang together as a pairing heap: the first in order is
 * its top, the rest is sorted no further than was asked for. A block that comes is compared with the top only, one that
 * goes from the middle with none; what a top leaves behind is compared pair by pair, a logarithm for each in the long
 * run (Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1, 1986).
 *
 * What a request or a free does to a short bin is inline: as calls it took some thirty instructions more an event.
 */
#ifndef REPLAY_POLICIES_PARTS_FREE_SET_H
#define REPLAY_POLICIES_PARTS_FREE_SET_H

#include "base/units.h"
#include "policies/parts/block_table.h"

/* ---- bins ---- */

enum {
    BIN_UNIT_SHIFT = 9,                        /* sizes are multiples of 512, but for one old release's mistake */
    BIN_SPLIT_BITS = 6,                        /* each power of two is cut into 64 bins */
    BIN_EXACT = 2 << BIN_SPLIT_BITS,           /* below this many units a bin holds one size */
    N_BINS = BIN_EXACT + (64 - BIN_UNIT_SHIFT - BIN_SPLIT_BITS - 1) * (1 << BIN_SPLIT_BITS),
    N_BIN_WORDS = 64,
};
static_assert(N_BINS + 1 < 64 * N_BIN_WORDS, "one summary word covers all");

/* Where somebody would take more than so many steps in a list, the bin becomes a long one, until it is empty: its root
 * has the bit BIN_IS_LONG. */
enum { LIST_STEPS = 64 };
#define BIN_IS_LONG BLOCKS_MAX

/* Bit i of words[w] says that root[64 w + i] is not BLOCK_NONE, bit w of `summary` that words[w] is not 0. The root
 * behind those of all bins is BLOCK_NONE, for who found none. */
struct free_bins {
    uint64_t summary;
    uint64_t words[N_BIN_WORDS];
    uint32_t root[N_BINS + 1];
};

static inline unsigned bit_lowest(uint64_t w)
{
    return (unsigned)__builtin_ctzll(w);
}

/* Without a branch: sizes come in any order, so that a guess which case is next would often be wrong. */
static inline unsigned bin_of(uint64_t size)
{
    const uint64_t units = size >> BIN_UNIT_SHIFT;
    const unsigned shift = log2_floor(units | 1u << BIN_SPLIT_BITS) - BIN_SPLIT_BITS;
    return (shift << BIN_SPLIT_BITS) + (unsigned)(units >> shift);
}

static inline void bin_mark(struct free_bins *f, unsigned bin)
{
    f->words[bin / 64] |= UINT64_C(1) << bin % 64;
    f->summary |= UINT64_C(1) << bin / 64;
}

/* Clears the bit of a bin, which is set, if it became empty; again without a branch. */
static inline void bin_unmark(struct free_bins *f, unsigned bin)
{
    const uint64_t is_empty = f->root[bin] == BLOCK_NONE;
    const uint64_t word = f->words[bin / 64] ^= is_empty << bin % 64;
    f->summary ^= (uint64_t)(word == 0) << bin / 64;
}

/* The first bin >= `bin` (<= N_BINS + 1) that is not empty, N_BINS when there is none. */
static inline unsigned bin_from(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = f->words[bin / 64] & ~UINT64_C(0) << bin % 64;
    const uint64_t above = f->summary & ~UINT64_C(1) << bin / 64;
    if ((here | above) == 0)
        return N_BINS;
    const unsigned w = here != 0 ? bin / 64 : bit_lowest(above);
    return w * 64 + bit_lowest(f->words[w] & (here != 0 ? here : ~UINT64_C(0)));
}

/* ---- the list in a short bin, linked by `left` and `right` ---- */

/* A block's place in order A among those of its stream, as one number: to compare two takes a single branch. */
__extension__ typedef unsigned __int128 block_place;
static inline block_place block_place_of(const struct block_entry *b)
{
    return (block_place)b->size << 64 | b->tie;
}

/* False: it has not been inserted, the list is too long. */
static inline bool list_insert(struct block_entry *at, uint32_t *head, uint32_t b)
{
    const block_place place = block_place_of(&at[b]);
    uint32_t *link = head, before = BLOCK_NONE;
    for (int steps = 0; block_place_of(&at[*link]) < place; steps++) {     /* the last one stops at BLOCK_NONE */
        if (steps == LIST_STEPS)
            return false;
        before = *link;
        link = &at[before].right;
    }
    const uint32_t behind = *link;
    at[b].left = before;
    at[b].right = behind;
    *link = b;
    at[behind].left = b;
    return true;
}

/* Lets *b, the first of a list, be the first of at least `size` bytes. False: the list is too long. */
static inline bool list_at_least(const struct block_entry *at, uint32_t *b, uint64_t size)
{
    for (int steps = 0; at[*b].size < size; steps++) {                   /* BLOCK_NONE is larger than all */
        if (steps == LIST_STEPS)
            return false;
        *b = at[*b].right;
    }
    return true;
}

static inline void list_remove(struct block_entry *at, uint32_t *head, uint32_t b)
{
    const uint32_t before = at[b].left, behind = at[b].right;
    at[before].right = behind;
    at[behind].left = before;
    *head = *head == b ? behind : *head;
}

static inline bool bin_is_long(const struct free_bins *f, unsigned bin)
{
    return (f->root[bin] & BIN_IS_LONG) != 0;
}

/* ---- the set ---- */

/* Free blocks of one pool, in order A. */
struct free_set {
    struct block_table *blocks;             /* borrowed */
    const struct stream_name *names;           /* borrowed */
    struct free_bins **by_stream;              /* by dense stream; NULL until the stream is seen */
    uint16_t *order;                           /* streams seen, ascending by handle */
    uint32_t  n_order;
};

MUST_USE enum err free_set_open(struct free_set *s, struct block_table *blocks, const struct stream_name *names,
                                uint32_t n_streams);
void free_set_close(struct free_set *s);

/* Makes room for a stream's blocks, once, before the first of them exists. */
MUST_USE enum err free_set_add_stream(struct free_set *s, uint16_t stream);

/* Where the blocks of a stream go; NULL: it has to be added first. */
static inline struct free_bins *free_set_bins(const struct free_set *s, uint16_t stream)
{
    return s->by_stream[stream];
}

/* What those below do with a long bin, or one that has to become long. */
void free_bins_insert_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint32_t b);
void free_bins_remove_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint32_t b);
uint32_t free_bins_at_least_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint64_t size);

/* `b` is in no set, and `f` are the bins of its stream. */
static inline void free_bins_insert(struct free_bins *f, struct block_entry *at, uint32_t b)
{
    const unsigned bin = bin_of(at[b].size);
    at[b].bin = (uint16_t)bin;
    if (bin_is_long(f, bin) || !list_insert(at, &f->root[bin], b))
        free_bins_insert_long(f, at, bin, b);
    bin_mark(f, bin);
}

/* `b` is in these bins. */
static inline void free_bins_remove(struct free_bins *f, struct block_entry *at, uint32_t b)
{
    const unsigned bin = at[b].bin;
    if (bin_is_long(f, bin))
        free_bins_remove_long(f, at, bin, b);
    else
        list_remove(at, &f->root[bin], b);
    bin_unmark(f, bin);
}

/* The first block in bin number `from` and behind; BLOCK_NONE when there is none. */
uint32_t free_bins_from(const struct free_bins *f, const struct block_entry *at, unsigned from);

/* The first block with at least `size` bytes, in order A; BLOCK_NONE: there is none. `f` may be NULL. */
static inline uint32_t free_bins_at_least(struct free_bins *f, struct block_entry *at, uint64_t size)
{
    if (f == NULL)
        return BLOCK_NONE;
    const unsigned bin = bin_from(f, bin_of(size));
    uint32_t b = f->root[bin];
    if (bin_is_long(f, bin) || !list_at_least(at, &b, size))
        b = free_bins_at_least_long(f, at, bin, size);
    return b != BLOCK_NONE ? b : free_bins_from(f, at, bin + 1);
}

/* The block behind `b`, which is the first, or the answer of free_bins_at_least, or what this function has said since
 * the set last grew or was searched; BLOCK_NONE: it is the last. */
uint32_t free_bins_next(const struct free_bins *f, struct block_entry *at, uint32_t b);

/* Whether that is BLOCK_NONE, for a block of a short bin; false for one of a long bin. */
static inline bool free_bins_end_with(const struct free_bins *f, const struct block_entry *at, uint32_t b)
{
    const unsigned bin = at[b].bin;
    return at[b].right == BLOCK_NONE && bin_from(f, bin + 1) == N_BINS && !bin_is_long(f, bin);
}

/* The same for who has the set only. */
static inline void free_set_insert(struct free_set *s, uint32_t b)
{
    free_bins_insert(free_set_bins(s, s->blocks->at[b].stream), s->blocks->at, b);
}

static inline void free_set_remove(struct free_set *s, uint32_t b)
{
    free_bins_remove(free_set_bins(s, s->blocks->at[b].stream), s->blocks->at, b);
}

static inline uint32_t free_set_at_least(const struct free_set *s, uint16_t stream, uint64_t size)
{
    return free_bins_at_least(free_set_bins(s, stream), s->blocks->at, size);
}

/* The last block of the stream with less than `size` bytes, in order A; BLOCK_NONE when there is none. Costs time by
 * the blocks of its size. */
uint32_t free_set_below(const struct free_set *s, uint16_t stream, uint64_t size);

/* In order A over all streams; BLOCK_NONE at the ends. For `next` `b` is the first, the answer of free_set_at_least, or
 * what `next` has said since the set last grew or was searched, and for `prev` any in the set, which costs time by the
 * blocks of its size and of the one before it. Both sort as far as they go. */
uint32_t free_set_first(const struct free_set *s);
uint32_t free_set_next(const struct free_set *s, uint32_t b);
uint32_t free_set_prev(const struct free_set *s, uint32_t b);

/* Whether another block of its stream has the size of `b`, which is in the set. */
bool free_set_has_equal(const struct free_set *s, uint32_t b);

/* Bytes of the largest block over all streams; 0 when empty. */
uint64_t free_set_largest(const struct free_set *s);

#endif
