/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Who would have to give what: each answer of the judge, and the limits where it changes. */
#include "base/units.h"
#include "replay/why/memory_account.h"

#include <criterion/criterion.h>

/* A card of 40,000 MiB. `others`, `live` and `cached` are in MiB; the rest is free. */
static enum memory_giver judge(uint64_t asked, uint64_t others, uint64_t live, uint64_t cached)
{
    const struct memory_account a = {
        .asked = asked * MIB, .least_asked = asked * MIB, .total = 40000 * MIB,
        .free = (40000 - others - live - cached) * MIB, .allowed = MEMORY_UNKNOWN, .others = others * MIB,
        .allocated = live * MIB, .cached = cached * MIB,
    };
    return memory_judge(&a).giver;
}

Test(memory_account, what_may_be_gained_matters_from_a_twentieth_of_the_card_on)
{
    cr_expect_eq(40000 / MEMORY_GAIN_SHARE, 2000, "the figures below are of one part in twenty");
    cr_expect_eq(judge(500, 0, 38000, 1600), GIVER_LIVE, "2000 MiB are free or cached: a scrap");
    cr_expect_eq(judge(500, 0, 37999, 1601), GIVER_CACHE, "2001 MiB are not");
}

Test(memory_account, a_request_larger_than_all_that_is_live_is_the_story)
{
    cr_expect_eq(judge(24000, 0, 20000, 4000), GIVER_REQUEST);
    cr_expect_eq(judge(20000, 0, 24000, 4000), GIVER_LIVE);
    cr_expect_eq(judge(41000, 0, 100, 0), GIVER_REQUEST, "no card of that size holds it");
}

Test(memory_account, others_are_the_story_if_they_hold_more_than_the_program)
{
    cr_expect_eq(judge(900, 37000, 2000, 500), GIVER_OTHERS, "though what is cached and free would nearly serve it");
    cr_expect_eq(judge(900, 100, 38900, 500), GIVER_LIVE);
}

Test(memory_account, a_rest_that_nobody_names_counts_from_a_twentieth_on)
{
    struct memory_account a = { .asked = 3000 * MIB, .least_asked = 3000 * MIB, .total = 40000 * MIB, .free = 500 * MIB,
                                .allowed = MEMORY_UNKNOWN, .others = 1900 * MIB, .allocated = 36600 * MIB,
                                .cached = 1000 * MIB };
    cr_expect_eq(memory_judge(&a).giver, GIVER_LIVE, "it may be contexts and libraries");
    a.are_others_named = true;
    cr_expect_eq(memory_judge(&a).giver, GIVER_OTHERS);
}

Test(memory_account, others_are_not_the_story_where_a_larger_cache_serves_the_request)
{
    struct memory_account a = { .asked = 1000 * MIB, .least_asked = 1000 * MIB, .total = 40000 * MIB, .free = 500 * MIB,
                                .allowed = MEMORY_UNKNOWN, .others = 1200 * MIB, .allocated = 36900 * MIB,
                                .cached = 1400 * MIB, .are_others_named = true };
    cr_expect_eq(memory_judge(&a).giver, GIVER_LIVE, "1900 MiB are free or cached: a scrap, but more than others hold");
    a.others = 1950 * MIB;
    a.allocated = 36150 * MIB;
    cr_expect_eq(memory_judge(&a).giver, GIVER_OTHERS);
}

Test(memory_account, room_on_the_card_is_a_limit_only_if_one_is_known)
{
    struct memory_account a = { .asked = 100 * MIB, .least_asked = 100 * MIB, .total = 40000 * MIB,
                                .free = 20000 * MIB, .allowed = MEMORY_UNKNOWN, .allocated = 19950 * MIB,
                                .cached = 50 * MIB };
    cr_expect_eq(memory_judge(&a).giver, GIVER_ROOM);
    a.allowed = 20000 * MIB;
    cr_expect_eq(memory_judge(&a).giver, GIVER_LIMIT);
}

Test(memory_account, more_live_data_than_the_card_has_lies_in_memory_of_the_host)
{
    const struct memory_account a = { .asked = 100 * MIB, .least_asked = 100 * MIB, .total = 8000 * MIB,
                                      .allowed = MEMORY_UNKNOWN, .allocated = 22000 * MIB };
    cr_expect_eq(memory_judge(&a).giver, GIVER_HOST);
}
