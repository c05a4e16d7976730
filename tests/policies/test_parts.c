/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The parts that allocators share keep their contracts: the block table, the set of free blocks, split and coalesce.
 * First fit, heaps and upstreams have tests of their own. */
#include "policies/parts/split_coalesce.h"

#include "base/random.h"

#include <criterion/criterion.h>

enum { UNIT = 512 };

/* ---- the block table ---- */

Test(block_table, an_entry_that_was_dropped_is_used_again_first)
{
    struct block_table t = {.at = NULL};
    cr_assert_eq(block_table_hold(&t, 4), ERR_OK);
    uint32_t b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = block_table_new(&t);
        cr_expect_neq(b[i], BLOCK_NONE);
        t.at[b[i]].flags = BLOCK_IS_USED;
    }
    block_table_drop(&t, b[0]);
    block_table_drop(&t, b[2]);
    cr_expect_eq(block_table_new(&t), b[2]);
    cr_expect_eq(block_table_new(&t), b[0]);
    block_table_close(&t);
}

Test(block_table, growing_keeps_indexes_and_contents)
{
    struct block_table t = {.at = NULL};
    enum { N = 5000 };
    cr_assert_eq(block_table_hold(&t, 1), ERR_OK);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(block_table_reserve(&t, 1), ERR_OK);
        const uint32_t b = block_table_new(&t);
        t.at[b] = (struct block_entry){.addr = 3 * b, .flags = BLOCK_IS_USED};
    }
    for (uint32_t b = 1; b <= N; b++)
        cr_assert_eq(t.at[b].addr, 3 * b);
    block_table_close(&t);
}

/* "No block" reads as allocated and larger than all, so that searches need not ask for it. */
Test(block_table, no_block_is_allocated_and_larger_than_any)
{
    struct block_table t = {.at = NULL};
    cr_assert_eq(block_table_hold(&t, 1), ERR_OK);
    cr_expect_not(block_is_free(&t.at[BLOCK_NONE]));
    cr_expect_eq(t.at[BLOCK_NONE].size, UINT64_MAX);
    block_table_close(&t);
}

/* ---- the set of free blocks ---- */

enum { BLOCKS = 600, STREAMS = 3, STEPS = 12000 };

struct tried {
    struct block_table blocks;
    struct free_set    set;
    uint64_t           random;
    bool               is_in[BLOCKS + 1];
};

static void tried_open(struct tried *t, const uint16_t *places, uint64_t seed)
{
    *t = (struct tried){.random = seed};
    cr_assert_eq(block_table_hold(&t->blocks, BLOCKS), ERR_OK);
    for (uint32_t b = 1; b <= BLOCKS; b++)
        t->blocks.at[block_table_new(&t->blocks)] = (struct block_entry){.flags = BLOCK_IS_USED};
    cr_assert_eq(free_set_open(&t->set, &t->blocks, places, STREAMS), ERR_OK);
    for (uint16_t s = 0; s < STREAMS; s++)
        cr_assert_eq(free_set_add_stream(&t->set, s), ERR_OK);
}

static void tried_close(struct tried *t)
{
    free_set_close(&t->set);
    block_table_close(&t->blocks);
}

/* Whether a comes before b in order A; all streams have their number as handle. */
static bool is_before(const struct block_entry *a, const struct block_entry *b)
{
    if (a->stream != b->stream)
        return a->stream < b->stream;
    return a->size != b->size ? a->size < b->size : a->tie < b->tie;
}

static uint32_t scan_at_least(const struct tried *t, uint16_t stream, uint64_t size)
{
    const struct block_entry *at = t->blocks.at;
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (t->is_in[b] && at[b].stream == stream && at[b].size >= size &&
            (best == BLOCK_NONE || is_before(&at[b], &at[best])))
            best = b;
    return best;
}

static uint64_t scan_largest(const struct tried *t)
{
    uint64_t largest = 0;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (t->is_in[b] && t->blocks.at[b].size > largest)
            largest = t->blocks.at[b].size;
    return largest;
}

/* Puts a block in with one of `n_sizes` sizes, or takes it out. */
static void change(struct tried *t, uint32_t b, uint64_t n_sizes)
{
    struct block_entry *block = &t->blocks.at[b];
    t->is_in[b] = !t->is_in[b];
    if (!t->is_in[b]) {
        free_set_remove(&t->set, b);
        return;
    }
    block->size = (1 + random_next(&t->random) % n_sizes) * UNIT;
    block->stream = (uint16_t)(random_next(&t->random) % STREAMS);
    block->tie = random_mix(b);                       /* no two alike */
    free_set_insert(&t->set, b);
}

/* The walk over all meets every block of the set once, in order A. */
static void expect_walk_in_order(const struct tried *t)
{
    size_t n_in = 0, n_met = 0;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        n_in += t->is_in[b];
    uint32_t before = BLOCK_NONE;
    for (uint32_t b = free_set_first(&t->set); b != BLOCK_NONE; b = free_set_next(&t->set, b)) {
        cr_assert(t->is_in[b]);
        cr_assert(before == BLOCK_NONE || is_before(&t->blocks.at[before], &t->blocks.at[b]));
        before = b;
        n_met++;
    }
    cr_assert_eq(n_met, n_in);
}

static void compare_with_scan(uint64_t n_sizes)
{
    struct tried t;
    tried_open(&t, NULL, n_sizes);
    for (int step = 0; step < STEPS; step++) {
        const bool is_filling = step / (4 * BLOCKS) % 2 == 0;
        const uint32_t b = 1 + (uint32_t)(random_next(&t.random) % BLOCKS);
        if (t.is_in[b] != is_filling || random_next(&t.random) % 8 == 0)
            change(&t, b, n_sizes);
        const uint16_t stream = (uint16_t)(random_next(&t.random) % STREAMS);
        const uint64_t size = 1 + random_next(&t.random) % (n_sizes * UNIT);
        cr_assert_eq(free_set_at_least(&t.set, stream, size), scan_at_least(&t, stream, size), "step %d", step);
        if (step % 64 == 0) {
            cr_assert_eq(free_set_largest(&t.set), scan_largest(&t), "step %d", step);
            expect_walk_in_order(&t);
        }
    }
    tried_close(&t);
}

Test(free_set, it_finds_what_a_scan_finds)
{
    compare_with_scan(100);                              /* a bin for each size */
    compare_with_scan(1 << 20);                          /* several sizes to a bin */
}

/* More blocks of one size than a list may have: the bin becomes a treap of heaps. */
Test(free_set, it_finds_what_a_scan_finds_in_long_bins)
{
    compare_with_scan(2);
}

Test(free_set, another_streams_block_is_the_first_or_the_last_streams)
{
    struct tried t;
    tried_open(&t, NULL, 1);
    for (uint32_t b = 1; b <= STREAMS; b++) {
        t.blocks.at[b].size = 8 * UNIT;
        t.blocks.at[b].stream = (uint16_t)(b - 1);
        free_set_insert(&t.set, b);
    }
    cr_expect_eq(free_set_elsewhere(&t.set, 0, UNIT, false), 2);
    cr_expect_eq(free_set_elsewhere(&t.set, 0, UNIT, true), 3);
    cr_expect_eq(free_set_elsewhere(&t.set, 2, UNIT, true), 2);
    cr_expect_eq(free_set_elsewhere(&t.set, 0, 9 * UNIT, false), BLOCK_NONE);
    tried_close(&t);
}

/* ---- split and coalesce ---- */

enum { SEGMENT_UNITS = 300 };

/* A segment of many units under test, its free blocks in a set. */
struct segment_tried {
    struct tried    t;
    struct tie_kind ties;
    uint64_t        next_number;
};

static void segment_open(struct segment_tried *s, bool has_numbers)
{
    *s = (struct segment_tried){.ties.has_numbers = has_numbers};
    s->ties.next_number = &s->next_number;
    s->t = (struct tried){.random = 3};
    cr_assert_eq(block_table_hold(&s->t.blocks, SEGMENT_UNITS + 1), ERR_OK);
    cr_assert_eq(free_set_open(&s->t.set, &s->t.blocks, NULL, 1), ERR_OK);
    cr_assert_eq(free_set_add_stream(&s->t.set, 0), ERR_OK);
    const uint32_t b = block_table_new(&s->t.blocks);
    s->t.blocks.at[b] = (struct block_entry){
        .addr = 1 << 20, .size = SEGMENT_UNITS * UNIT, .tie = s->next_number++, .flags = BLOCK_IS_USED};
    free_set_insert(&s->t.set, b);
}

/* Each block starts where the one before it ends, all of the segment is covered, and no two neighbours are free.
 * Returns the number of blocks. */
static int expect_chain(const struct segment_tried *s)
{
    const struct block_entry *at = s->t.blocks.at;
    uint64_t addr = 1 << 20;
    uint32_t b = 1, before = BLOCK_NONE;
    int n = 0;
    while ((at[b].flags & BLOCK_IS_USED) == 0)
        b++;
    while (at[b].prev != BLOCK_NONE)
        b = at[b].prev;
    for (; b != BLOCK_NONE; before = b, b = at[b].next) {
        cr_assert_eq(at[b].addr, addr);
        cr_assert_eq(at[b].prev, before);
        cr_assert_not(before != BLOCK_NONE && block_is_free(&at[b]) && block_is_free(&at[before]));
        cr_assert(s->ties.has_numbers || at[b].tie == at[b].addr - (1 << 20), "a place moves with its block");
        addr += at[b].size;
        n++;
    }
    cr_assert_eq(addr, (1 << 20) + SEGMENT_UNITS * UNIT);
    return n;
}

/* Takes `bytes` from the low or the high end of the best fit. BLOCK_NONE: no block is large enough. */
static uint32_t take(struct segment_tried *s, uint64_t bytes, bool at_back)
{
    struct block_table *t = &s->t.blocks;
    uint32_t b = free_set_at_least(&s->t.set, 0, bytes);
    if (b == BLOCK_NONE)
        return b;
    free_set_remove(&s->t.set, b);
    if (t->at[b].size > bytes) {
        const uint32_t rest = b;
        b = at_back ? block_split_back(t, rest, bytes, s->ties) : block_split_front(t, rest, bytes, s->ties);
        free_set_insert(&s->t.set, rest);
    }
    cr_assert_eq(t->at[b].size, bytes);
    t->at[b].flags |= BLOCK_IS_ALLOCATED;
    return b;
}

static void put_back(struct segment_tried *s, uint32_t b)
{
    struct block_entry *at = s->t.blocks.at;
    const uint64_t size = at[b].size;
    uint64_t won = 0, count = 0;
    at[b].flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    const int n = block_coalesce(&s->t.blocks, free_set_bins(&s->t.set, 0), b, s->ties.has_numbers, &won, &count);
    cr_assert_eq(count, (uint64_t)n);
    cr_assert_eq(at[b].size, size + won);
    free_set_insert(&s->t.set, b);
}

static void split_and_coalesce(bool has_numbers)
{
    enum { LIVE = 80 };
    struct segment_tried s;
    uint32_t live[LIVE] = {BLOCK_NONE};
    segment_open(&s, has_numbers);
    for (int step = 0; step < 4000; step++) {
        uint32_t *slot = &live[random_next(&s.t.random) % LIVE];
        if (*slot == BLOCK_NONE) {
            *slot = take(&s, (1 + random_next(&s.t.random) % 12) * UNIT, random_next(&s.t.random) % 2 == 0);
        } else {
            put_back(&s, *slot);
            *slot = BLOCK_NONE;
        }
        expect_chain(&s);
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i] != BLOCK_NONE)
            put_back(&s, live[i]);
    cr_expect_eq(expect_chain(&s), 1, "all of it is one block again");
    tried_close(&s.t);
}

Test(split_coalesce, a_segment_stays_covered_and_ends_as_one_block)
{
    split_and_coalesce(false);
}

Test(split_coalesce, a_segment_stays_covered_where_ties_are_numbers)
{
    split_and_coalesce(true);
}
