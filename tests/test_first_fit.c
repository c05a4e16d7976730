/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The set of free blocks by address answers as a scan over all blocks does. */
#include "policies/parts/first_fit.h"

#include "base/random.h"

#include <criterion/criterion.h>

enum { BLOCKS = 300, STEPS = 6000 };

/* The block with the lowest address that a search may answer, found by looking at all. */
static uint32_t scan(const struct block_entry *at, const bool *is_in, uint64_t from, uint64_t size)
{
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && at[b].addr >= from && at[b].size >= size && (best == BLOCK_NONE || at[b].addr < at[best].addr))
            best = b;
    return best;
}

static uint32_t scan_holding(const struct block_entry *at, const bool *is_in, uint64_t addr)
{
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && at[b].addr <= addr && (best == BLOCK_NONE || at[b].addr > at[best].addr))
            best = b;
    return best;
}

static uint32_t scan_largest(const struct block_entry *at, const bool *is_in)
{
    uint32_t best = BLOCK_NONE;
    for (uint32_t b = 1; b <= BLOCKS; b++)
        if (is_in[b] && (best == BLOCK_NONE || at[b].size > at[best].size ||
                         (at[b].size == at[best].size && at[b].addr < at[best].addr)))
            best = b;
    return best;
}

Test(first_fit, it_finds_what_a_scan_finds)
{
    static struct block_entry at[BLOCKS + 1];
    static bool is_in[BLOCKS + 1];
    uint64_t random = 5;
    uint32_t root = BLOCK_NONE;
    at[BLOCK_NONE] = (struct block_entry){.addr = UINT64_MAX, .size = UINT64_MAX};
    for (int step = 0; step < STEPS; step++) {
        const uint32_t b = 1 + (uint32_t)(random_next(&random) % BLOCKS);
        if (is_in[b]) {
            first_fit_remove(at, &root, b);
        } else {                                 /* an address of its own, in another order than its number */
            at[b].addr = random_mix(b) % 1000 * 1000 + b;
            at[b].size = 1 + random_next(&random) % 40;
            first_fit_insert(at, &root, b);
        }
        is_in[b] = !is_in[b];
        const uint64_t size = random_next(&random) % 44, from = random_next(&random) % 3 == 0 ? 0 : at[b].addr;
        cr_assert_eq(first_fit_find(at, root, from, size), scan(at, is_in, from, size), "step %d", step);
        cr_assert_eq(first_fit_largest(at, root), scan_largest(at, is_in), "step %d", step);
        cr_assert_eq(first_fit_holding(at, root, from), scan_holding(at, is_in, from), "step %d", step);
    }
}

Test(first_fit, an_empty_set_has_nothing)
{
    struct block_entry at[2] = {{.addr = UINT64_MAX, .size = UINT64_MAX}, {.addr = 512, .size = 64}};
    uint32_t root = BLOCK_NONE;
    cr_expect_eq(first_fit_find(at, root, 0, 0), BLOCK_NONE);
    cr_expect_eq(first_fit_largest(at, root), BLOCK_NONE);
    first_fit_insert(at, &root, 1);
    first_fit_remove(at, &root, 1);
    cr_expect_eq(root, BLOCK_NONE);
}
