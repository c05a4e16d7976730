/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The set of ranks finds the same neighbours as a plain array. */
#include "traces/rank_set.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint32_t naive_next(const bool *in, uint32_t n, uint32_t rank, int step)
{
    for (int64_t i = (int64_t)rank + step; i >= 0 && i < (int64_t)n; i += step)
        if (in[i])
            return (uint32_t)i;
    return RANK_NONE;
}

static void expect_like_an_array(uint32_t n, unsigned seed)
{
    struct rank_set t;
    bool *in = calloc(n, sizeof *in);
    srand(seed);
    cr_assert(rank_set_open(&t, n));
    for (int i = 0; i < 4000; i++) {
        const uint32_t rank = (uint32_t)rand() % n, asked = (uint32_t)rand() % n;
        in[rank] = rand() % 3 == 0;
        if (in[rank])
            rank_set_add(&t, rank);
        else
            rank_set_remove(&t, rank);
        cr_assert_eq(rank_set_has(&t, asked), in[asked], "n %u seed %u step %d", n, seed, i);
        cr_assert_eq(rank_set_below(&t, asked), naive_next(in, n, asked, -1), "n %u seed %u step %d", n, seed, i);
        cr_assert_eq(rank_set_above(&t, asked), naive_next(in, n, asked, 1), "n %u seed %u step %d", n, seed, i);
    }
    rank_set_close(&t);
    free(in);
}

Test(rank_set, neighbours_are_those_of_a_plain_array)
{
    const uint32_t sizes[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 20000};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        expect_like_an_array(sizes[i], i + 1);
}

Test(rank_set, an_empty_set_has_no_neighbours)
{
    struct rank_set t;
    cr_assert(rank_set_open(&t, 0));
    rank_set_close(&t);
    cr_assert(rank_set_open(&t, 300000));
    cr_expect_eq(rank_set_below(&t, 299999), RANK_NONE);
    cr_expect_eq(rank_set_above(&t, 0), RANK_NONE);
    rank_set_close(&t);
}
