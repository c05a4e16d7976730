/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* base/max_tree, against an array that is searched from end to end. */
#include "base/max_tree.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>

enum { NUMBERS_MAX = 70, ROUNDS = 4000 };

static uint32_t naive_from(const uint64_t *numbers, uint32_t n, uint32_t i, uint64_t least)
{
    for (; i < n; i++)
        if (numbers[i] >= least)
            return i;
    return MAX_TREE_NONE;
}

static uint32_t naive_before(const uint64_t *numbers, uint32_t n, uint32_t i, uint64_t least)
{
    for (i = i < n ? i : n; i-- > 0;)
        if (numbers[i] >= least)
            return i;
    return MAX_TREE_NONE;
}

static void tree_compare(const struct max_tree *t, const uint64_t *numbers, uint32_t n, uint64_t least)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < n; i++)
        largest = numbers[i] > largest ? numbers[i] : largest;
    cr_assert_eq(max_tree_largest(t), largest);
    for (uint32_t i = 0; i <= n + 1; i++) {
        cr_assert_eq(max_tree_from(t, i, least), naive_from(numbers, n, i, least), "%u numbers, from %u", n, i);
        cr_assert_eq(max_tree_before(t, i, least), naive_before(numbers, n, i, least), "%u numbers, before %u", n, i);
    }
    cr_assert_eq(max_tree_before(t, UINT32_MAX, least), naive_before(numbers, n, n, least));
}

Test(max_tree, finds_what_a_search_from_end_to_end_finds)
{
    uint64_t state = 5;
    for (uint32_t n = 1; n <= NUMBERS_MAX; n += n < 20 ? 1 : 7) {
        struct max_tree t;
        uint64_t numbers[NUMBERS_MAX] = {0};
        cr_assert_eq(max_tree_open(&t, n), ERR_OK);
        for (int round = 0; round < ROUNDS / NUMBERS_MAX; round++) {
            const uint32_t i = (uint32_t)(random_next(&state) % n);
            numbers[i] = random_next(&state) % 3 == 0 ? random_next(&state) % 9 : 0;
            max_tree_put(&t, i, numbers[i]);
            tree_compare(&t, numbers, n, 1 + random_next(&state) % 9);
        }
        max_tree_close(&t);
    }
}

Test(max_tree, one_of_zeros_holds_nothing)
{
    const struct max_tree t = {.node = NULL};
    cr_assert_eq(max_tree_largest(&t), 0);
    cr_assert_eq(max_tree_from(&t, 0, 1), MAX_TREE_NONE);
    cr_assert_eq(max_tree_before(&t, UINT32_MAX, 1), MAX_TREE_NONE);
}
