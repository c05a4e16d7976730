/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Which cards CUDA_VISIBLE_DEVICES lets a process see. */
#include "cudasim/core/visible_cards.h"

#include <criterion/criterion.h>
#include <stdlib.h>

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

/* What a program read off the simulated cards, and gives to a process that it starts. */
Test(visible_cards, our_own_uuids_name_their_cards)
{
    expect_seen("GPU-02000000-0000-0000-0000-000000000000", 1, 1, 1);
    expect_seen("GPU-02000000-0000-0000-0000-000000000000,GPU-01000000", 2, 1, 0);
}

static void expect_uuid(const char *text, int card, int first, int second)
{
    unsigned char uuid[CARD_UUID_BYTES];
    visible_card_uuid(text, card, uuid);
    cr_expect(uuid[0] == first && uuid[1] == second && uuid[15] == 0, "'%s' %d: %02x%02x", text == NULL ? "" : text,
              card, uuid[0], uuid[1]);
}

Test(visible_cards, a_card_has_the_uuid_by_which_it_was_named)
{
    expect_uuid(NULL, 1, 2, 0);
    expect_uuid("1,0", 1, 2, 0);
    expect_uuid("GPU-6f0A-", 0, 0x6f, 0x0a);
    expect_uuid("GPU-6f0a, GPU-6f0b", 1, 0x6f, 0x0b);
    expect_uuid("GPU-02000000-0000", 0, 1, 0);
    expect_uuid("MIG-12,GPU-", 1, 2, 0);
}

Test(visible_cards, the_uuid_in_words_is_that_of_the_list)
{
    char text[64];
    setenv("CUDA_VISIBLE_DEVICES", "GPU-6f0a1b2c-1111-2222-3333-444455556666", 1);
    cr_expect_eq(visible_card_uuid_text(0, text, sizeof text), 40);
    cr_expect_str_eq(text, "GPU-6f0a1b2c-1111-2222-3333-444455556666");
    visible_card_uuid_text(1, text, sizeof text);
    cr_expect_str_eq(text, "GPU-02000000-0000-0000-0000-000000000000");
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
