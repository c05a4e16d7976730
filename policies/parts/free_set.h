/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The free blocks of a pool, in order.
 *
 * Every search of the allocator uses one order, called order A: by stream handle, then size, then tie. A set keeps one
 * table of bins per stream. A bin holds the blocks of some neighbouring sizes, and a bitmap finds the next bin that is
 * not empty.
 *
 *     summary   one bit per word:  ...0000101
 *     words     one bit per bin:   word 0: 0010...1    word 2: 1000...0
 *     root      one per bin:       root[0] -> [512] -> [512]                       a short bin: a list in order A
 *                                  root[61] -> treap of sizes, each with a heap    a long bin
 *
 * A short bin is a list: a search takes one or two comparisons, and a removal none. No one counts the blocks of a list,
 * but a walk that has taken LIST_STEPS steps turns the bin into a long one.
 *
 * A long bin is a treap of its sizes. The blocks of one size form a pairing heap by tie: its top is the first in order,
 * and the others are sorted only as far as someone asked. An insertion compares a block with the top, the removal of a
 * block below the top compares nothing, and the removal of the top compares its heirs in pairs, which costs a logarithm
 * each in the long run (Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1, 1986).
 *
 * A stream begins with one bin for all sizes. When one of its lists gets long, it gets bins of a power of two each, and
 * then those of bin_of. So a stream takes memory in proportion to its blocks: 64 bytes while it has a handful, and a
 * recording with a stream for each request takes little. Order A does not depend on it: bins are ranges of sizes.
 *
 * The steps that a request or a free takes in a short bin are inline: as calls they cost thirty more instructions per
 * event.
 */
#ifndef REPLAY_POLICIES_PARTS_FREE_SET_H
#define REPLAY_POLICIES_PARTS_FREE_SET_H

#include "base/max_tree.h"
#include "base/units.h"
#include "policies/parts/block_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bins ---- */

enum {
    BIN_UNIT_SHIFT = 9,                        /* sizes are multiples of 512, except by one old release's mistake */
    BIN_SPLIT_BITS = 6,                        /* each power of two is cut into 64 bins */
    BIN_EXACT = 2 << BIN_SPLIT_BITS,           /* below this many units each bin holds one size */
    N_BINS = BIN_EXACT + (64 - BIN_UNIT_SHIFT - BIN_SPLIT_BITS - 1) * (1 << BIN_SPLIT_BITS),
    N_BIN_WORDS = 64,
};
static_assert(N_BINS + 1 < 64 * N_BIN_WORDS, "one summary word covers all");

/* Coarse bins are so many bins of bin_of as one: first all of them, then a power of two. */
enum { BIN_SHIFT_ONE = 2 * BIN_SPLIT_BITS };
static_assert((N_BINS - 1) >> BIN_SHIFT_ONE == 0, "one bin holds all sizes");

/* A walk of more than so many steps in a list gets the stream finer bins. If there are none, or no memory for them, it
 * turns the bin into a long one. It stays long until it is empty: its root has the bit BIN_IS_LONG. */
enum { LIST_STEPS = 64, LIST_STEPS_COARSE = 8 };
#define BIN_IS_LONG BLOCKS_MAX

/*
 * The streams of a set, in its order. `largest` holds the size of each stream's largest block, 0 if it has none. It is
 * put in only when someone asks for a block of any stream: until then a stream whose blocks changed is on the list
 * `stale`. So a change costs one test, and a question a logarithm for each stream that changed.
 */
struct free_streams {
    struct max_tree largest;                   /* by place in the order */
    const uint16_t *places;                    /* by stream, borrowed; NULL: the order in which they were added */
    uint16_t *at;                              /* the stream at a place */
    uint16_t *stale;                           /* places */
    uint32_t  n_stale;
    uint16_t *added;                           /* streams, in the order in which they were added */
    uint32_t  n;
};

/* Bit i of words[w]: root[64 w + i] is not BLOCK_NONE. Bit w of `summary`: words[w] is not 0. One root more than there
 * are bins is always BLOCK_NONE: bin_from may return its index. */
struct free_bins {
    uint64_t  summary;
    uint64_t *words;                           /* and the roots after them; of the coarsest table: first_word */
    uint32_t *root;
    struct free_streams *streams;              /* of its set */
    uint16_t  place;
    uint16_t  n_bins;
    uint8_t   shift;                           /* 2^shift bins of bin_of are one here */
    uint8_t   list_steps;                      /* at most, before something is done about the list */
    bool      is_stale;
    uint64_t  first_word;
    uint32_t  first_root[2];
};
static_assert(sizeof(struct free_bins) <= 64, "a recording may have 65,535 streams and 255 pools");

static inline unsigned bit_lowest(uint64_t w)
{
    return (unsigned)__builtin_ctzll(w);
}

/* The bin of a size. Without a branch, which would mispredict: sizes come in any order. */
static inline unsigned bin_of(uint64_t size)
{
    const uint64_t units = size >> BIN_UNIT_SHIFT;
    const unsigned shift = log2_floor(units | 1u << BIN_SPLIT_BITS) - BIN_SPLIT_BITS;
    return (shift << BIN_SPLIT_BITS) + (unsigned)(units >> shift);
}

/* The bin of a size in a stream's table. */
static inline unsigned bin_in(const struct free_bins *f, uint64_t size)
{
    return bin_of(size) >> f->shift;
}

static inline void bin_mark(struct free_bins *f, unsigned bin)
{
    f->words[bin / 64] |= UINT64_C(1) << bin % 64;
    f->summary |= UINT64_C(1) << bin / 64;
}

/* Clears the bit of a bin, now set, if the bin became empty. Without a branch, too. */
static inline void bin_unmark(struct free_bins *f, unsigned bin)
{
    const uint64_t is_empty = f->root[bin] == BLOCK_NONE;
    const uint64_t word = f->words[bin / 64] ^= is_empty << bin % 64;
    f->summary ^= (uint64_t)(word == 0) << bin / 64;
}

/* The first bin >= `bin` (<= n_bins + 1) that is not empty; n_bins if there is none. */
static inline unsigned bin_from(const struct free_bins *f, unsigned bin)
{
    const uint64_t here = f->words[bin / 64] & ~UINT64_C(0) << bin % 64;
    const uint64_t above = f->summary & ~UINT64_C(1) << bin / 64;
    if ((here | above) == 0)
        return f->n_bins;
    const unsigned w = here != 0 ? bin / 64 : bit_lowest(above);
    return w * 64 + bit_lowest(f->words[w] & (here != 0 ? here : ~UINT64_C(0)));
}

/* ---- the list in a short bin, linked by `left` and `right` ---- */

/* A block's place in order A among those of its stream, as one number, so that a comparison is one branch. */
__extension__ typedef unsigned __int128 block_place;
static inline block_place block_place_of(const struct block_entry *b)
{
    return (block_place)b->size << 64 | b->tie;
}

/* False: not inserted, because the list is too long. */
static inline bool list_insert(struct block_entry *at, uint32_t *head, uint32_t b, int steps_most)
{
    const block_place place = block_place_of(&at[b]);
    uint32_t *link = head, before = BLOCK_NONE;
    for (int steps = 0; block_place_of(&at[*link]) < place; steps++) {     /* BLOCK_NONE, larger than all, ends it */
        if (steps == steps_most)
            return false;
        before = *link;
        link = &at[before].right;
    }
    const uint32_t after = *link;
    at[b].left = before;
    at[b].right = after;
    *link = b;
    at[after].left = b;
    return true;
}

/* Moves *b, the first of a list, on to the first block of at least `size` bytes. False: the list is too long. */
static inline bool list_at_least(const struct block_entry *at, uint32_t *b, uint64_t size, int steps_most)
{
    for (int steps = 0; at[*b].size < size; steps++) {                   /* BLOCK_NONE, larger than all, ends it */
        if (steps == steps_most)
            return false;
        *b = at[*b].right;
    }
    return true;
}

static inline void list_remove(struct block_entry *at, uint32_t *head, uint32_t b)
{
    const uint32_t before = at[b].left, after = at[b].right;
    at[before].right = after;
    at[after].left = before;
    *head = *head == b ? after : *head;
}

static inline bool bin_is_long(const struct free_bins *f, unsigned bin)
{
    return (f->root[bin] & BIN_IS_LONG) != 0;
}

/* ---- the set ---- */

/* Free blocks of one pool, in order A. */
struct free_set {
    struct block_table *blocks;             /* borrowed */
    struct free_bins **by_stream;              /* by dense stream; NULL until the stream is seen */
    struct free_streams *streams;
};

/* Writes the place of each stream in order A, ascending by handle. ERR_HOST_NOMEM. */
MUST_USE enum err free_set_places(const struct stream_name *names, uint32_t n_streams, uint16_t *places);

/* `places` (borrowed): of free_set_places; NULL if the order is that in which streams are added. ERR_HOST_NOMEM. */
MUST_USE enum err free_set_open(struct free_set *s, struct block_table *blocks, const uint16_t *places,
                                uint32_t n_streams);
void free_set_close(struct free_set *s);

/* Adds the bins of a stream, once, before its first block. ERR_HOST_NOMEM. */
MUST_USE enum err free_set_add_stream(struct free_set *s, uint16_t stream);

/* After the content of `places` changed: puts the set's streams into their new order. A set need not be open. */
void free_set_reorder(struct free_set *s);

/* The bins of a stream; NULL if it was not added yet. */
static inline struct free_bins *free_set_bins(const struct free_set *s, uint16_t stream)
{
    return s->by_stream[stream];
}

/* The functions below for a long bin, or for one that has to become long. The first one gets finer bins before it makes
 * one long, and returns the bin that `b` is in. */
unsigned free_bins_insert_long(struct free_bins *f, struct block_entry *at, uint32_t b);
void free_bins_remove_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint32_t b);
uint32_t free_bins_at_least_long(struct free_bins *f, struct block_entry *at, unsigned bin, uint64_t size);

/* The blocks of a stream change. */
static inline void free_bins_touch(struct free_bins *f)
{
    if (f->is_stale)
        return;
    f->is_stale = true;
    f->streams->stale[f->streams->n_stale++] = f->place;
}

/* Inserts `b`, which is in no set, into the bins of its stream. */
static inline void free_bins_insert(struct free_bins *f, struct block_entry *at, uint32_t b)
{
    unsigned bin = bin_in(f, at[b].size);
    at[b].bin = (uint16_t)bin;
    if (bin_is_long(f, bin) || !list_insert(at, &f->root[bin], b, f->list_steps))
        bin = free_bins_insert_long(f, at, b);
    bin_mark(f, bin);
    free_bins_touch(f);
}

/* Removes `b` from the bins that it is in. */
static inline void free_bins_remove(struct free_bins *f, struct block_entry *at, uint32_t b)
{
    const unsigned bin = at[b].bin;
    if (bin_is_long(f, bin))
        free_bins_remove_long(f, at, bin, b);
    else
        list_remove(at, &f->root[bin], b);
    bin_unmark(f, bin);
    free_bins_touch(f);
}

/* The first block in the bins from number `from` on; BLOCK_NONE if there is none. */
uint32_t free_bins_from(const struct free_bins *f, const struct block_entry *at, unsigned from);

/* The first block in order A with at least `size` bytes; BLOCK_NONE if there is none. `f` may be NULL. */
static inline uint32_t free_bins_at_least(struct free_bins *f, struct block_entry *at, uint64_t size)
{
    if (f == NULL)
        return BLOCK_NONE;
    const unsigned bin = bin_from(f, bin_in(f, size));
    uint32_t b = f->root[bin];
    if (bin_is_long(f, bin) || !list_at_least(at, &b, size, f->list_steps))
        b = free_bins_at_least_long(f, at, bin, size);
    return b != BLOCK_NONE ? b : free_bins_from(f, at, bin + 1);
}

/* The next block after `b`; BLOCK_NONE if `b` is the last. `b` must be the first block, or an answer of
 * free_bins_at_least or of this function, and the set must not have grown or been searched since. */
uint32_t free_bins_next(const struct free_bins *f, struct block_entry *at, uint32_t b);

/* Whether `b` is the last block. Tells so only of a short bin; false for a block of a long one. */
static inline bool free_bins_end_with(const struct free_bins *f, const struct block_entry *at, uint32_t b)
{
    const unsigned bin = at[b].bin;
    return at[b].right == BLOCK_NONE && bin_from(f, bin + 1) == f->n_bins && !bin_is_long(f, bin);
}

/* The same for callers that have the set and not the bins. */
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

/* The last block in order A of the stream with less than `size` bytes; BLOCK_NONE if there is none. Takes time in
 * proportion to the blocks of its size. */
uint32_t free_set_below(const struct free_set *s, uint16_t stream, uint64_t size);

/* Walks in order A over all streams; BLOCK_NONE at the ends. free_set_next: as free_bins_next. free_set_prev: for any
 * block in the set; takes time in proportion to the blocks of its size and of the size before it. Both sort as far as
 * they go. */
uint32_t free_set_first(const struct free_set *s);
uint32_t free_set_next(const struct free_set *s, uint32_t b);
uint32_t free_set_prev(const struct free_set *s, uint32_t b);

/* The same walk over blocks of at least `size` (> 0) bytes only. `b`: BLOCK_NONE for the first, or the last answer. */
uint32_t free_set_next_large(const struct free_set *s, uint32_t b, uint64_t size);

/* Sorts blocks of the set into order A. ERR_HOST_NOMEM leaves them as they were. */
MUST_USE enum err free_set_sort(const struct free_set *s, uint32_t *blocks, size_t n);

/* The first block with at least `size` bytes in the bins of the first stream in order, or the last one, that has such a
 * block and is not `stream`; BLOCK_NONE if there is none. */
uint32_t free_set_elsewhere(const struct free_set *s, uint16_t stream, uint64_t size, bool is_last_first);

/* Whether another block of its stream has the same size as `b`, which is in the set. */
bool free_set_has_equal(const struct free_set *s, uint32_t b);

/* Bytes of the largest block of all streams; 0 if the set is empty. */
uint64_t free_set_largest(const struct free_set *s);

#ifdef __cplusplus
}
#endif

#endif
