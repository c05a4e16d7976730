/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* policies/pytorch/pytorch_order_table: hashes that a recording chose. */
#include "policies/pytorch/pytorch_order_table.h"

#include <criterion/criterion.h>

#include <stdbool.h>

Test(order_table, a_walk_finds_each_entry_once_while_others_come_and_go)
{
    enum { NUMBERS = 500 };
    struct order_table t = {.slots = NULL};
    bool is_in[NUMBERS] = {false};
    for (uint32_t round = 0; round < 6 * NUMBERS; round++) {
        const uint32_t number = round * 7919 % NUMBERS;
        const struct order_slot *slot = order_table_find(&t, number << 4, number);
        cr_assert_eq(slot != NULL, is_in[number]);
        if (slot == NULL)
            cr_assert_eq(order_table_insert(&t, number << 4, number), ERR_OK);
        else
            order_table_remove(&t, (uint32_t)(slot - t.slots));
        is_in[number] = !is_in[number];
        if (round % 50 != 0)
            continue;
        uint32_t n = 0;
        for (uint32_t i = 0; (i = order_table_from(&t, i)) != MAX_TREE_NONE; i++, n++)
            cr_assert(is_in[t.slots[i].value]);
        cr_assert_eq(n, t.count);
    }
    order_table_clear(&t);
    cr_assert_eq(order_table_from(&t, 0), MAX_TREE_NONE);
    order_table_close(&t);
}

/* Without an end, forty entries of one hash would take 2^40 slots. */
Test(order_table, hashes_that_meet_on_purpose_are_refused_before_the_table_is_large)
{
    struct order_table t = {.slots = NULL};
    uint32_t n = 0;
    while (n < 40 && order_table_insert(&t, 5, n) == ERR_OK)
        n++;
    cr_assert_lt(n, 40);
    cr_assert_geq(n, 8);
    cr_assert_leq(t.n_slots, 1 << 16);
    cr_assert_eq(order_table_insert(&t, 5, n), ERR_FORMAT);
    order_table_close(&t);
}
