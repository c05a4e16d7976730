/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Which cards CUDA_VISIBLE_DEVICES lets a process see. */
#include "cudasim/core/visible_cards.h"

#include <criterion/criterion.h>

enum { MOST = 4 };

static int places[MOST];

static void expect_seen(const char *text, int n, int first, int last)
{
    const int seen = visible_cards_read(text, 2, MOST, places);
    cr_expect_eq(seen, n, "'%s': %d", text == NULL ? "not set" : text, seen);
    cr_expect(n == 0 || (places[0] == first && places[n - 1] == last), "'%s'", text == NULL ? "not set" : text);
}

Test(visible_cards, all_are_seen_if_nobody_says_which)
{
    expect_seen(NULL, 2, 0, 1);
}

Test(visible_cards, a_list_has_its_order)
{
    expect_seen("1,0", 2, 1, 0);
    expect_seen(" 1 , 0 ", 2, 1, 0);
}

Test(visible_cards, a_card_of_another_machine_is_there)
{
    expect_seen("3", 1, 3, 3);
    expect_seen("GPU-6f0a,MIG-12", 2, 0, 1);
}

Test(visible_cards, nothing_after_a_negative_number_is_seen)
{
    expect_seen("", 0, 0, 0);
    expect_seen("-1", 0, 0, 0);
    expect_seen("1,-1,0", 1, 1, 1);
    expect_seen("0,,1", 1, 0, 0);
}

Test(visible_cards, no_more_are_seen_than_there_is_room_for)
{
    expect_seen("0,1,2,3,4,5", MOST, 0, 3);
}
