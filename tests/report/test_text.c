/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Figures as texts. */
#include "report/text/text.h"

#include "base/random.h"
#include "base/units.h"

#include <criterion/criterion.h>
#include <string.h>

enum { DRAWN = 20000 };

/* Whoever types the size that is shown has a card that is large enough, and no more than a hundredth too large. */
Test(text, a_card_is_never_shown_smaller_than_it_is)
{
    uint64_t state = 1;
    for (int i = 0; i < DRAWN; i++) {
        char text[TEXT_NUMBER];
        uint64_t typed;
        const uint64_t bytes = (random_next(&state) >> (22 + random_next(&state) % 20)) + MIB;
        text_card(bytes, text);
        cr_assert(units_parse_bytes(text, strlen(text), &typed), "'%s' is no size", text);
        cr_assert_geq(typed, bytes, "seed 1: %s", text);
        cr_assert_leq(typed - bytes, bytes / 50 + 1, "seed 1: %s", text);
    }
}

Test(text, a_size_that_is_shown_whole_is_not_rounded)
{
    char text[TEXT_NUMBER];
    cr_expect_str_eq(text_card(UINT64_C(234) << 20, text), "234 MiB");
    cr_expect_str_eq(text_card(UINT64_C(24) << 30, text), "24.00 GiB");
    cr_expect_str_eq(text_card((UINT64_C(24) << 30) + 1, text), "24.01 GiB");
}
