/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The set of free blocks by place answers as a scan over all blocks does. */
#include "policies/parts/first_fit.h"

#include "base/random.h"

#include <criterion/criterion.h>

enum { BLOCKS = 500, STEPS = 9000, SIZES = 40 };

/* The block with the lowest place that a search may answer, found by looking at all. */
static uint32_t scan(const struct block_entry *at, const bool *is_in, uint64_t from, uint64_t size)
{
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && at[b].tie >= from && at[b].size >= size && (best == BLOCK_NONE || at[b].tie < at[best].tie))
            best = b;
    return best;
}

static uint32_t scan_holding(const struct block_entry *at, const bool *is_in, uint64_t place)
{
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && at[b].tie <= place && place - at[b].tie < at[b].size)
            return b;
    return BLOCK_NONE;
}

static uint32_t scan_largest(const struct block_entry *at, const bool *is_in)
{
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && (best == BLOCK_NONE || at[b].size > at[best].size ||
                         (at[b].size == at[best].size && at[b].tie < at[best].tie)))
            best = b;
    return best;
}

/* Sets of all blocks of a table, and what is in the one under test. */
struct tried {
    struct block_table blocks;
    struct first_fit   sets;
    uint32_t           root;
    bool               is_in[BLOCKS + 1];
};

static void tried_open(struct tried *t, uint64_t unit)
{
    *t = (struct tried){.root = 0};
    cr_assert_eq(block_table_hold(&t->blocks, BLOCKS), ERR_OK);
    for (uint32_t b = 1; b <= BLOCKS; b++)
        t->blocks.at[block_table_new(&t->blocks)] = (struct block_entry){.flags = BLOCK_IS_USED};
    cr_assert_eq(first_fit_open(&t->sets, &t->blocks, unit, 1), ERR_OK);
}

static void tried_close(struct tried *t)
{
    first_fit_close(&t->sets);
    block_table_close(&t->blocks);
}

static uint64_t scan_largest_bytes(const struct tried *t)
{
    const uint32_t b = scan_largest(t->blocks.at, t->is_in);
    return b == BLOCK_NONE ? 0 : t->blocks.at[b].size;
}

/* Every block has a stretch of places of its own, in another order than their numbers. */
static uint64_t stretch_of(uint32_t b, uint64_t bytes)
{
    return (random_mix(b) % 1000 * (BLOCKS + 1) + b) * bytes;
}

/* Puts a block in, takes it out, or, if it is to stay, changes it in its place. Its size is one to SIZES steps. */
static void change(struct tried *t, uint32_t b, uint64_t step_bytes, bool stays, uint64_t *random)
{
    struct block_entry *block = &t->blocks.at[b];
    if (t->is_in[b] && !stays) {
        first_fit_remove(&t->sets, &t->root, b);
        t->is_in[b] = false;
        return;
    }
    block->size = (1 + random_next(random) % SIZES) * step_bytes;
    block->tie = stretch_of(b, 2 * SIZES * step_bytes) + random_next(random) % SIZES * step_bytes;
    if (t->is_in[b])
        first_fit_update(&t->sets, b);
    else
        first_fit_insert(&t->sets, &t->root, b);
    t->is_in[b] = true;
}

/* Random changes; the set is filled and emptied in turn. */
static void compare_with_scan(uint64_t unit, uint64_t step_bytes)
{
    struct tried t;
    uint64_t random = 5;
    tried_open(&t, unit);
    for (int step = 0; step < STEPS; step++) {
        const bool is_filling = step / (3 * BLOCKS) % 2 == 0, stays = random_next(&random) % 4 == 0;
        const uint32_t b = 1 + (uint32_t)(random_next(&random) % BLOCKS);
        if (t.is_in[b] != is_filling || stays || random_next(&random) % 8 == 0)
            change(&t, b, step_bytes, stays, &random);
        const uint64_t size = random_next(&random) % (SIZES + 4) * step_bytes + random_next(&random) % 2;
        const struct block_entry *at = t.blocks.at;
        const uint64_t inside = at[b].tie + random_next(&random) % SIZES * step_bytes;
        const uint64_t from = random_next(&random) % 3 == 0 ? 0 : inside;
        cr_assert(first_fit_is_sound(&t.sets, t.root), "step %d", step);
        cr_assert_eq(first_fit_find(&t.sets, t.root, from, size), scan(at, t.is_in, from, size), "step %d", step);
        cr_assert_eq(first_fit_largest(&t.sets, t.root), scan_largest(at, t.is_in), "step %d", step);
        cr_assert_eq(first_fit_largest_bytes(&t.sets, t.root), scan_largest_bytes(&t), "step %d", step);
        cr_assert_eq(first_fit_holding(&t.sets, t.root, from), scan_holding(at, t.is_in, from), "step %d", step);
    }
    tried_close(&t);
}

Test(first_fit, it_finds_what_a_scan_finds)
{
    compare_with_scan(1, 1);
    compare_with_scan(512, 512);
}

/* Sizes around the largest that a node tells apart. */
Test(first_fit, it_finds_what_a_scan_finds_among_huge_blocks)
{
    compare_with_scan(1, INT32_MAX / (SIZES / 2));
}

Test(first_fit, an_empty_set_has_nothing)
{
    struct tried t;
    tried_open(&t, 64);
    t.blocks.at[1].tie = 512;
    t.blocks.at[1].size = 64;
    cr_expect_eq(first_fit_find(&t.sets, t.root, 0, 0), BLOCK_NONE);
    cr_expect_eq(first_fit_largest(&t.sets, t.root), BLOCK_NONE);
    first_fit_insert(&t.sets, &t.root, 1);
    first_fit_remove(&t.sets, &t.root, 1);
    cr_expect_eq(t.root, 0);
    tried_close(&t);
}

/* Room is made as blocks appear, and what was in the set before stays there. */
Test(first_fit, growing_keeps_what_is_in_the_set)
{
    struct tried t = {.root = 0};
    cr_assert_eq(block_table_hold(&t.blocks, 1), ERR_OK);
    cr_assert_eq(first_fit_open(&t.sets, &t.blocks, 512, 1), ERR_OK);
    const uint32_t cap = t.sets.cap;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        cr_assert_eq(block_table_reserve(&t.blocks, 1), ERR_OK);
        cr_assert_eq(first_fit_reserve(&t.sets), ERR_OK);
        const uint32_t b = block_table_new(&t.blocks);
        t.blocks.at[b] = (struct block_entry){
            .tie = stretch_of(b, 2 * SIZES * 512), .size = 512 * (1 + b % SIZES), .flags = BLOCK_IS_USED};
        first_fit_insert(&t.sets, &t.root, b);
        t.is_in[b] = true;
        cr_assert(first_fit_is_sound(&t.sets, t.root), "after %u blocks", b);
    }
    cr_expect_gt(t.sets.cap, cap, "it grew");
    for (uint64_t size = 512; size <= SIZES * 512; size += 512)
        cr_expect_eq(first_fit_find(&t.sets, t.root, 0, size), scan(t.blocks.at, t.is_in, 0, size));
    tried_close(&t);
}

/* Neighbours that are full take no cells over, so a node in their middle loses its last one. */
Test(first_fit, a_stretch_between_full_ones_can_be_emptied)
{
    struct tried t;
    tried_open(&t, 1);
    for (uint32_t i = 0; i < BLOCKS; i++) {              /* 7 apart: the gaps are filled again and again */
        const uint32_t b = 1 + 7 * i % BLOCKS;
        t.blocks.at[b].tie = 10 * b;
        t.blocks.at[b].size = 1 + b % 9;
        first_fit_insert(&t.sets, &t.root, b);
        t.is_in[b] = true;
    }
    for (uint32_t from = 1; from + 20 <= BLOCKS; from += 60)
        for (uint32_t b = from; b < from + 20; b++) {
            first_fit_remove(&t.sets, &t.root, b);
            t.is_in[b] = false;
            cr_assert(first_fit_is_sound(&t.sets, t.root), "without block %u", b);
            for (uint64_t size = 1; size < 10; size++)
                cr_assert_eq(first_fit_find(&t.sets, t.root, 10 * from, size),
                             scan(t.blocks.at, t.is_in, 10 * from, size));
        }
    tried_close(&t);
}
